"""``strongroom usage``: what was used and cost, by day or another key, as a table and a chart."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import print_page, printable, table
from strongroom.models.usage import Cost, UsageKey, UsageSum

BAR = 24
"""Cells of the longest bar."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


@command
async def usage(
    tenant: options.Tenant = None,
    by: Annotated[str, typer.Option(help="day, model, agent, principal or conversation.")] = "day",
    time_zone: Annotated[str, typer.Option(help="Whose days, by an IANA name.")] = "UTC",
    since: Annotated[
        dt.datetime | None, typer.Option(help="Only from this day on (UTC).", show_default=False)
    ] = None,
    until: Annotated[
        dt.datetime | None, typer.Option(help="Only before this day (UTC).", show_default=False)
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="Only this conversation's.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 31,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Show what was used and cost: sums by day, newest first, or by another key."""
    tenant_id = require_tenant(tenant)
    wanted: UsageKey = by  # type: ignore[assignment] # the port checks it
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.usage.rollup(
            tenant_id=tenant_id,
            by=wanted,
            time_zone=time_zone,
            conversation_id=conversation,
            since=since and since.replace(tzinfo=dt.UTC),
            until=until and until.replace(tzinfo=dt.UTC),
            limit=limit,
            after=after,
            direction="backward" if by == "day" else "forward",
        )
    print_page(
        page, chart(page.items, by), empty=f"No usage of {printable(tenant_id)}.", as_json=as_json
    )
    return Exit.OK


def chart(rows: Sequence[UsageSum], by: str) -> Table:
    """Return a table of sums with a bar for the tokens of each."""
    most = max((row.input_tokens + row.output_tokens for row in rows), default=0)
    made = table(by.capitalize(), "Calls", "Input", "Output", "", "Cost")
    for number in (1, 2, 3, 5):
        made.columns[number].justify = "right"
    for row in rows:
        made.add_row(
            Text("-" if row.key is None else printable(row.key), overflow="fold"),
            f"{row.event_count:,}",
            f"{row.input_tokens:,}",
            f"{row.output_tokens:,}",
            Text(bar(row.input_tokens + row.output_tokens, most), style="cyan", no_wrap=True),
            Text("\n".join(money(cost) for cost in row.costs) or "-"),
        )
    return made


def bar(value: int, most: int) -> str:
    """Return a bar for a value, as long as its share of the largest one.

    Example:
        >>> bar(50, 100)
        '████████████'
    """
    if most <= 0 or value <= 0:
        return ""
    eighths = max(1, value * BAR * 8 // most)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def money(cost: Cost) -> str:
    """Return a sum of money for people, with all its decimals.

    Example:
        >>> money(Cost(currency="EUR", cost=123450, decimals=6))
        '0.12345 EUR'
    """
    text = f"{cost.amount:,f}"
    whole, _, decimals = text.partition(".")
    kept = decimals.rstrip("0").ljust(2, "0") if decimals else ""
    return f"{whole}.{kept} {cost.currency}" if kept else f"{whole} {cost.currency}"
