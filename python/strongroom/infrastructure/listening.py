"""One connection that LISTENs for all subscriptions of a store, and says honestly whether it can.

What it tells is a hint. A subscription reads the table after its last sequence whenever it is woken, and
also when nothing woke it for a while; so the worst that a deaf listener does is to make it slow.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import psycopg

CHANNEL = "strongroom_topics"

Connection = psycopg.AsyncConnection[Any]
ConnectToListen = Callable[[], AbstractAsyncContextManager[Connection]]
"""Opens a connection of its own, in autocommit mode and not through a transaction pooler."""

Key = tuple[str, str]
_LONGEST_PAUSE = 5.0


def listening_connection(url: str) -> ConnectToListen:
    """Return how to open single connections to a URL, for listening."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Connection]:
        async with await psycopg.AsyncConnection.connect(
            url, autocommit=True, keepalives_idle=30, keepalives_interval=10, keepalives_count=3
        ) as connection:
            yield connection

    return connect


class Listener:
    """Listens while there is a subscription, on one connection, which it makes again when it is lost."""

    def __init__(self, connect: ConnectToListen) -> None:
        """Connect with this, when the first subscription comes."""
        self._connect = connect
        self._waiting: defaultdict[Key, set[asyncio.Event]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self.has_heard = False

    @contextlib.asynccontextmanager
    async def subscription(self, key: Key) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set whenever there may be something new under the key."""
        woken = asyncio.Event()
        self._waiting[key].add(woken)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen(), name="strongroom: listen")
        try:
            yield woken
        finally:
            self._waiting[key].discard(woken)
            if not self._waiting[key]:
                del self._waiting[key]
            if not self._waiting:
                await self._stop()

    def doubt(self) -> None:
        """Something new was found that nothing told of: trust no silence until the next one is told."""
        self.has_heard = False

    async def _stop(self) -> None:
        task, self._task = self._task, None
        self.has_heard = False
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _listen(self) -> None:
        pause = 0.05
        while True:
            # Without a connection subscriptions poll, and their own calls say what is wrong.
            with contextlib.suppress(psycopg.Error, OSError):
                async with self._connect() as connection:
                    await connection.execute(f"listen {CHANNEL}")
                    pause = 0.05
                    self._wake_all()
                    async for notification in connection.notifies():
                        self._hear(notification.payload)
            self.has_heard = False
            self._wake_all()
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _hear(self, payload: str) -> None:
        try:
            told = json.loads(payload)
            key = (str(told["tenant_id"]), str(told["topic"]))
        except (ValueError, TypeError, KeyError):
            return  # somebody else's: anyone may notify on any channel
        self.has_heard = True
        for woken in self._waiting.get(key, ()):
            woken.set()

    def _wake_all(self) -> None:
        for events in self._waiting.values():
            for woken in events:
                woken.set()
