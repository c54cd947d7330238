"""Measuring side by side: rounds in random order, and medians of the ratios of each round."""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

Work = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Ratio:
    """One contestant's time over another's: median over the rounds, with its quartiles."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Rounds:
    """Seconds per operation, per contestant, round by round."""

    seconds: dict[str, list[float]]

    def has(self, name: str) -> bool:
        return name in self.seconds

    def ratio(self, over: str, under: str) -> Ratio:
        """How many times longer ``over`` takes than ``under``."""
        pairs = zip(self.seconds[over], self.seconds[under], strict=True)
        low, median, high = statistics.quantiles([a / b for a, b in pairs], n=4)
        return Ratio(median, low, high)

    def median_ms(self) -> dict[str, float]:
        return {name: statistics.median(times) * 1000 for name, times in self.seconds.items()}


@dataclass(frozen=True)
class Contestant:
    """What one contestant does in a round, and how many operations that is."""

    work: Work
    operations: int
    prepare: Work | None = None
    """What it needs before every round, such as jobs to claim. It is not timed."""


async def interleave(
    contestants: Mapping[str, Contestant],
    *,
    rounds: int,
    tick: Callable[[], None] = lambda: None,
    warm_up: int = 2,
) -> Rounds:
    """Run every contestant once per round, in a new random order each round."""
    for contestant in contestants.values():
        for _ in range(warm_up):
            if contestant.prepare:
                await contestant.prepare()
            await contestant.work()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name in random.sample(list(contestants), len(contestants)):
            contestant = contestants[name]
            if contestant.prepare:
                await contestant.prepare()
            gc.collect()
            gc.disable()
            started = time.perf_counter()
            await contestant.work()
            elapsed = time.perf_counter() - started
            gc.enable()
            seconds[name].append(elapsed / contestant.operations)
        tick()
    return Rounds(seconds)


def repeat(operation: Work, times: int, prepare: Work | None = None) -> Contestant:
    """One client that does the same operation again and again."""

    async def work() -> None:
        for _ in range(times):
            await operation()

    return Contestant(work, times, prepare)


def together(operations: list[Work], times: int) -> Contestant:
    """Several clients (asyncio tasks, each with its own connection) at the same time."""

    async def client(operation: Work) -> None:
        for _ in range(times):
            await operation()

    async def work() -> None:
        await asyncio.gather(*(client(operation) for operation in operations))

    return Contestant(work, times * len(operations))
