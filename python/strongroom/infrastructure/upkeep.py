"""What is done now and then beside a store, for as long as it is open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from strongroom.errors import StrongroomError
from strongroom.infrastructure.tasks import end_task

UPKEEP_SECONDS = 15.0
"""How often a store sends what a process that died has left in the outbox."""

log = logging.getLogger("strongroom.adapters")


@contextlib.asynccontextmanager
async def upkeep(step: Callable[[], Awaitable[int]], name: str) -> AsyncIterator[None]:
    """Take a step again and again until the block ends.

    Args:
        step: returns how much it has found to do; it is taken again at once until that is nothing.
        name: of what is kept up, for the log.
    """

    async def go_on() -> None:
        while True:
            try:
                while await step():
                    pass
            except StrongroomError as error:
                log.warning("the upkeep of %s goes on later: %s", name, error)
            await asyncio.sleep(UPKEEP_SECONDS)

    task = asyncio.create_task(go_on(), name=f"strongroom: upkeep of {name}")
    try:
        yield
    finally:
        await end_task(task)
