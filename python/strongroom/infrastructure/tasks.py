"""Ending background tasks for certain."""

from __future__ import annotations

import asyncio
from typing import Any


async def end_task(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task until it has ended.

    A client library may take a cancellation for a connection that has failed; then the next one ends it.
    """
    while task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.5)
    if task is not None and not task.cancelled():
        task.exception()  # it is looked at: a task that ends here has nobody to tell
