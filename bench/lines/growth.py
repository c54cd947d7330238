"""P10: the same work in a small and in a large table."""

from __future__ import annotations

from bench.context import SHALLOW, Context
from bench.measure import repeat
from bench.report import ratio_line


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
