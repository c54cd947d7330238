"""Ending background tasks for certain."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

HANDLER_SECONDS = 5.0
"""How long a handler that is told to end may tidy up before nobody waits for it any more."""

log = logging.getLogger("strongroom.worker")


async def end_task(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task until it has ended.

    A client library may take a cancellation for a connection that has failed; then the next one ends it.
    """
    while task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.5)
    if task is not None and not task.cancelled():
        task.exception()  # it is looked at: a task that ends here has nobody to tell


async def handler_ends(handling: asyncio.Task[Any], what: str) -> bool:
    """Cancel a handler, give it time to tidy up, and say whether it has ended.

    One that swallows its cancellation cannot be ended. Nobody waits for it for ever: its claim is prolonged
    no more, and what it still writes under that claim is refused once somebody else has it.

    Args:
        handling: the handler's task.
        what: the name of its run or job, for the log.
    """
    if not handling.done():
        handling.cancel("give back")
        await asyncio.wait({handling}, timeout=HANDLER_SECONDS)
    if handling.done():
        return True
    log.error(
        "the handler of %s goes on although it was cancelled: nobody waits for it any more, and the claim"
        " ends with its lease. A handler that catches CancelledError must raise it again",
        what,
    )
    return False
