"""``python -m bench``: strongroom beside its floor and its peers, as ratios in one run."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.competitors import MissingPeer
from bench.competitors.langgraph_saver import LangGraphSaver
from bench.competitors.openai_agents import OpenAISessions
from bench.competitors.product import Strongroom
from bench.competitors.raw import RawPsycopg
from bench.context import DEEP, SHALLOW, Context, Opened
from bench.lines import LINES
from bench.plot import write_plot, write_vector_plot
from bench.report import Report
from bench.server import Server, running_server

OUT = Path(__file__).parent / "out"
SMALL_ROWS = 10_000
MESSAGE_LINES = {"P1", "P2", "P3", "P4", "P5", "P10"}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer rounds, 60,000 rows, 20,000 chunks, a backlog of 5,000",
    )
    parser.add_argument(
        "--only",
        type=lambda text: [name.strip().upper() for name in text.split(",")],
        default=list(LINES),
        metavar="P1,P4",
        help=f"lines to measure, of {', '.join(LINES)}",
    )
    parser.add_argument("--rows", type=int, help="messages in the table (1,000,000)")
    parser.add_argument("--chunks", type=int, help="chunks in the table of P8 (200,000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here, too")
    parser.add_argument("--plot", type=Path, default=OUT / "bench.png", metavar="FILE")
    arguments = parser.parse_args()
    if unknown := set(arguments.only) - set(LINES):
        parser.error(f"no such line: {', '.join(sorted(unknown))} (there are {', '.join(LINES)})")
    if arguments.rows is None:
        arguments.rows = 60_000 if arguments.quick else 1_000_000
    if arguments.chunks is None:
        arguments.chunks = 20_000 if arguments.quick else 200_000
    if arguments.chunks < 12_000:
        parser.error("--chunks must be at least 12,000: four times a tenant of 3,000")
    if arguments.rows < 30_000:
        parser.error("--rows must be at least 30,000: two conversations alone hold 21,000")
    return arguments


async def _run(arguments: argparse.Namespace, server: Server, progress: Progress) -> Report:
    asked = set(arguments.only)
    report = Report(arguments.rows if asked & MESSAGE_LINES else 0, server.version())

    def begin(what: str, rounds: int | None) -> Callable[[], None]:
        task = progress.add_task(what, total=rounds)
        return lambda: progress.advance(task)

    async with AsyncExitStack() as stack:

        async def opened(competitor: Opened, what: str) -> Opened | None:
            done = begin(what, 1)
            try:
                await competitor.open(server)
            except MissingPeer as missing:
                report.skipped.append(f"{competitor.name}, for want of {missing}")
                return None
            finally:
                done()
            stack.push_async_callback(competitor.close)
            return competitor

        product = Strongroom("strongroom", arguments.rows, (SHALLOW, DEEP))
        small = Strongroom("strongroom_small", SMALL_ROWS, (SHALLOW,))
        raw = RawPsycopg(product.database)
        openai: OpenAISessions | None = None
        langgraph: LangGraphSaver | None = None
        rows = f"load {arguments.rows:,} messages"
        if asked & MESSAGE_LINES:
            await opened(product, f"strongroom: {rows}")
        if asked & {"P1", "P2", "P3", "P5"}:
            await opened(raw, "raw psycopg: connect")
            sessions = OpenAISessions(arguments.rows, SHALLOW, SHALLOW)
            openai = await opened(sessions, f"openai-agents: {rows}")
        if asked & {"P1", "P5"}:
            langgraph = await opened(LangGraphSaver(100), "langgraph: set up")
        if "P10" in asked:
            await opened(small, f"strongroom: load {SMALL_ROWS:,} messages")
        context = Context(
            server,
            report,
            raw,
            product,
            small,
            openai,
            langgraph,
            arguments.quick,
            arguments.chunks,
            begin,
            opened,
        )
        for name in LINES:
            if name in arguments.only:
                await LINES[name](context)
    return report


def main() -> None:
    """Measure, print, and write the plot and the JSON."""
    arguments = _arguments()
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        starting = progress.add_task("start PostgreSQL", total=1)
        with running_server() as server:
            progress.advance(starting)
            report = asyncio.run(_run(arguments, server, progress))
    try:
        write_plot(report, arguments.plot)
        vectors = write_vector_plot(report, arguments.plot)
    except MissingPeer as missing:
        report.skipped.append(str(missing))
        vectors = None
    if arguments.json:
        report.write_json(arguments.json)
    report.print(console)
    if arguments.plot.exists():
        console.print(f"Plot: {arguments.plot}")
    if vectors:
        console.print(f"Plot of the vector search: {vectors}")


if __name__ == "__main__":
    main()
