"""The same question about many things, some at a time: in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


def ask_each(
    ask: Callable[[Thing], Answer], things: Sequence[Thing], *, at_once: int
) -> list[Answer]:
    """Return the answers, in the order of the things."""
    with ThreadPoolExecutor(at_once, "strongroom") as threads:
        return [*threads.map(ask, things)]
