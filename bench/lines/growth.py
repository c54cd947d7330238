"""P10: the same work in a small and in a large table."""

from __future__ import annotations

import time

from bench.competitors.product import Strongroom
from bench.context import SHALLOW, Context
from bench.measure import repeat
from bench.report import Line, ratio_line


async def growth(context: Context) -> None:
    """P10: append and page, in a table of 10,000 messages and in the large one."""
    small, large = context.small, context.product
    rounds = await context.measure(
        "P10",
        {
            "append, small": repeat(lambda: small.append(1, 1), 15),
            "append, large": repeat(lambda: large.append(1, 1), 15),
            "page, small": repeat(lambda: small.page(SHALLOW, 50), 15),
            "page, large": repeat(lambda: large.page(SHALLOW, 50), 15),
        },
        rounds=60,
    )
    rows = f"{context.report.rows:,} / 10,000 rows"
    for what in ("append", "page"):
        ratio = rounds.ratio(f"{what}, large", f"{what}, small")
        context.report.lines.append(ratio_line("P10", f"{what}: {rows}", ratio, ("<=", 1.5)))
    await _new_installation(context)


async def _new_installation(context: Context) -> None:
    """The same connection from the first message to the 10,000th, before anything is analyzed.

    Plans that a connection made for an empty table stay with it, so this is where a bad one shows.
    """
    new = Strongroom("strongroom_new")
    await new.open(context.server)
    try:
        with context.server.connect(new.database) as connection:
            connection.execute("alter table strongroom.messages set (autovacuum_enabled = off)")
        for _ in range(50):
            await new.append(1, 1)
        early = await _seconds(new)
        for _ in range(20):
            await new.append(1, 500)
        late = await _seconds(new)
    finally:
        await new.close()
    what = "append: the 10,000th / the first of a new installation, nothing analyzed"
    context.report.lines.append(Line("P10", what, late / early, goal=("<=", 1.5)))


async def _seconds(product: Strongroom) -> float:
    started = time.perf_counter()
    for _ in range(300):
        await product.append(1, 1)
    return time.perf_counter() - started
