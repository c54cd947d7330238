"""The same question about many things, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


async def ask_each(
    ask: Callable[[Thing], Awaitable[Answer]], things: Sequence[Thing], *, at_once: int
) -> list[Answer]:
    """Return the answers, in the order of the things.

    Args:
        ask: one question.
        things: what to ask about.
        at_once: how many questions may be open at a time.
    """
    gate = asyncio.Semaphore(at_once)

    async def one(thing: Thing) -> Answer:
        async with gate:
            return await ask(thing)

    return await asyncio.gather(*(one(thing) for thing in things))
