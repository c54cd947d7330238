"""What a run found: a table for people, JSON for programs, a plot."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from bench.measure import Ratio

NOTES = """\
Every message has 1,000 characters of text. Ratios are medians over rounds in random order.
raw: psycopg on strongroom's own table as superuser, prepared, positions counted by the client.
strongroom: the bindings, as a role that row security binds; append validates, numbers and deduplicates.
OpenAI: agents.extensions.memory.SQLAlchemySession on asyncpg, as many rows in its table.
LangGraph: a graph of one step on AsyncPostgresSaver; every call starts from the same 100 messages.
aupdate_state is aget_tuple + aput_writes + aput, and the reducer between them.
Jobs: every queue is driven by the calls that its own worker makes, one worker, the handler does nothing;
enqueueing is not timed. procrastinate checks its connection at each borrow, as it does by default; absurd
reads a task's checkpoints before it; strongroom's runs are finished without a message.
Vectors: 384 dimensions in clusters, tenants of every size in one table, k = 10; recall is counted against
comparing every embedding. "strongroom, exact" is the same call on the same rows without an index on nearness.
PGVector: a collection a tenant, as it comes (no index), and with the HNSW index that users add; LangGraph's
store: a namespace a tenant, with the index of its set-up. Both indexes have pgvector's own settings.
A durable Redis syncs each write (appendfsync always); the other keeps nothing.
P13: databases like a Supabase project's, on a server of their own; realtime.send is the tests' stand-in."""


@dataclass(frozen=True)
class Line:
    """One measured value, and the goal it has (or none: then it is there to compare)."""

    id: str
    what: str
    value: float
    unit: str = "x"
    goal: tuple[Literal["<=", ">="], float] | None = None
    spread: tuple[float, float] | None = None

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        sign, limit = self.goal
        return self.value <= limit if sign == "<=" else self.value >= limit


def ratio_line(
    line_id: str, what: str, ratio: Ratio, goal: tuple[Literal["<=", ">="], float] | None = None
) -> Line:
    """A line whose value is the median of the ratios of the rounds."""
    return Line(line_id, what, ratio.median, goal=goal, spread=(ratio.low, ratio.high))


@dataclass(frozen=True)
class VectorPoint:
    """What one contestant does in a tenant of one size: recall@10, rows of 10, milliseconds."""

    name: str
    size: int
    recall: float
    rows: float
    milliseconds: float


@dataclass
class Report:
    """Everything that one run says."""

    rows: int
    server_version: str
    lines: list[Line] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    milliseconds: dict[str, dict[str, float]] = field(default_factory=dict)
    vectors: list[VectorPoint] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"strongroom, {self.rows:,} messages in the table" if self.rows else "strongroom"

    def print(self, console: Console) -> None:
        table = Table(title=f"{self.title}: ratios in one run")
        table.add_column("#", no_wrap=True)
        table.add_column("what")
        table.add_column("measured", justify="right", no_wrap=True)
        table.add_column("quartiles", justify="right", no_wrap=True)
        table.add_column("goal", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        before = None
        for line in self.lines:
            if before is not None and line.id != before:
                table.add_section()
            before = line.id
            table.add_row(line.id, line.what, *_cells(line))
        console.print(table)
        for skipped in self.skipped:
            console.print(f"[yellow]SKIPPED[/] {skipped}")
        goals = [line for line in self.lines if line.goal is not None]
        missed = [line for line in goals if not line.reached]
        console.print(f"{len(goals) - len(missed)} of {len(goals)} goals reached.")
        for line in missed:
            console.print(f"[red]NOT reached[/] {line.id} {line.what}: {_cells(line)[0]}")
        console.print(f"[dim]{NOTES}\n{self._footnote()}[/]")

    def _footnote(self) -> str:
        times = "; ".join(
            f"{line}: " + ", ".join(f"{name} {ms:.2f}" for name, ms in values.items())
            for line, values in self.milliseconds.items()
        )
        return (
            f"Medians in ms, on this machine only ({_machine()}, PostgreSQL {self.server_version},"
            f" fsync on, unix socket, clients are asyncio tasks of one process): {times}"
        )

    def write_json(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "rows": self.rows,
            "server_version": self.server_version,
            "machine": _machine(),
            "lines": [{**asdict(line), "reached": line.reached} for line in self.lines],
            "skipped": self.skipped,
            "milliseconds": self.milliseconds,
            "vectors": [asdict(point) for point in self.vectors],
        }
        path.write_text(json.dumps(document, indent=2) + "\n")


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _cells(line: Line) -> tuple[str, str, str, str]:
    spread = "" if line.spread is None else f"{line.spread[0]:.2f} - {line.spread[1]:.2f}"
    goal = "" if line.goal is None else f"{line.goal[0]} {line.goal[1]:g}"
    said = {None: "", True: "[green]reached[/]", False: "[red]NOT reached[/]"}[line.reached]
    return f"{line.value:.2f} {line.unit}", spread, goal, said
