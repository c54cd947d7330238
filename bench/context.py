"""What the lines of the benchmark share: the server, the contestants and how long to measure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bench.competitors.langgraph_saver import LangGraphSaver
from bench.competitors.openai_agents import OpenAISessions
from bench.competitors.product import Strongroom
from bench.competitors.raw import RawPsycopg
from bench.loading import CLIENTS as CLIENTS
from bench.measure import Contestant, Rounds, interleave
from bench.report import Report
from bench.server import Server

DEEP, SHALLOW = 20_000, 1_000
"""Messages in the two conversations whose pages are read."""


class Openable(Protocol):
    """What can be opened for a line; a missing package or program is MissingPeer."""

    name: str

    async def open(self, server: Server) -> None: ...

    async def close(self) -> None: ...


Opened = TypeVar("Opened", bound=Openable)


class Opener(Protocol):
    """Opens a contestant until the end of the run; None, and named as skipped, when it is missing."""

    def __call__(self, contestant: Opened, what: str, /) -> Awaitable[Opened | None]: ...


@dataclass
class Context:
    """One run."""

    server: Server
    report: Report
    raw: RawPsycopg
    product: Strongroom
    small: Strongroom
    openai: OpenAISessions | None
    langgraph: LangGraphSaver | None
    quick: bool
    chunks: int
    """Chunks in the table of the vector search."""
    begin: Callable[[str, int], Callable[[], None]]
    """Starts a progress bar: (what, rounds) to the function that moves it by one round."""
    opened: Opener

    async def measure(
        self, line: str, contestants: Mapping[str, Contestant], *, rounds: int
    ) -> Rounds:
        """Interleave the contestants, and keep their times for the footnote."""
        if self.quick:
            rounds = max(8, rounds // 6)
        result = await interleave(contestants, rounds=rounds, tick=self.begin(line, rounds))
        self.report.milliseconds[line] = result.median_ms()
        return result
