"""How a worker learns that there may be work: by NOTIFY where there is one, by polling where not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import psycopg

from strongroom.infrastructure.listening import Connection, ConnectToListen

Waiter = Callable[[float], Awaitable[None]]
"""Wait at most so many seconds, or until there may be work."""

WorkSignals = Callable[[], AbstractAsyncContextManager[Waiter]]

CHANNEL = "strongroom_work"
_RECONNECT_SECONDS = 1.0


@asynccontextmanager
async def polling() -> AsyncIterator[Waiter]:
    """Wait the whole time: for adapters that cannot notify."""
    yield asyncio.sleep


def listening(connect: ConnectToListen | None) -> WorkSignals:
    """Return how to wait on a connection of its own; without one, waiting is polling."""
    if connect is None:
        return polling

    @asynccontextmanager
    async def listen() -> AsyncIterator[Waiter]:
        async with AsyncExitStack() as stack:
            held: list[Connection] = []

            async def wait(seconds: float) -> None:
                try:
                    if not held or held[0].closed:
                        held.clear()
                        held.append(await stack.enter_async_context(connect()))
                        await held[0].execute(f"listen {CHANNEL}")
                    async for _ in held[0].notifies(timeout=seconds, stop_after=1):
                        pass
                except (psycopg.Error, OSError):
                    # The worker goes on by polling, and this is tried again at its next wait.
                    held.clear()
                    await asyncio.sleep(min(seconds, _RECONNECT_SECONDS))

            yield wait

    return listen
