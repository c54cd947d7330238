"""Calling what embeds, whichever kind of callable it is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from strongroom.handler_errors import HandlerInterrupted, call_handler

Embed = Callable[[list[str]], Any]
"""Takes texts and returns one embedding for each: lists of numbers, or an array of numpy; async or not."""


def is_asynchronous(call: Embed) -> bool:
    """Whether it is an async function, or an object with an async ``__call__``."""
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
        getattr(call, "__call__", None)  # noqa: B004 (an object with an async __call__)
    )


async def call_embedder(call: Embed, texts: list[str], turn: asyncio.Lock) -> Any:
    """Return what it makes of the texts; one that is not async is called in a thread.

    Args:
        call: the callable.
        texts: to embed.
        turn: lets one thread at a time into it.

    Raises:
        Exception: whatever it raises; what is meant to end programs or tasks, as HandlerInterrupted.
    """

    async def made_of(texts: list[str]) -> Any:
        if is_asynchronous(call):
            return await call(texts)
        async with turn:
            made, error = await asyncio.to_thread(_outcome, call, texts)
        if error is not None:
            raise error
        return await made if inspect.isawaitable(made) else made

    return await call_handler(made_of, texts)


def _outcome(call: Embed, texts: list[str]) -> tuple[Any, BaseException | None]:
    """Return what it makes, or raises: a thread hands over neither StopIteration nor SystemExit."""
    try:
        return call(texts), None
    except (StopIteration, SystemExit) as error:
        return None, HandlerInterrupted(error)
    except BaseException as error:  # noqa: BLE001 (it is raised where it is awaited)
        return None, error
