"""The part of ``strongroom demo`` about the ledgers: usage counted once, an audit that holds."""

from __future__ import annotations

import datetime as dt

from rich.table import Table

from strongroom.cli.demo_story import TENANT, Story
from strongroom.cli.usage import chart
from strongroom.client import Strongroom
from strongroom.models import NewUsage

DAYS = ((4, 1800, 240), (3, 5200, 810), (2, 3100, 450), (1, 9400, 1320), (0, 4700, 600))


async def keep_the_books(story: Story, store: Strongroom) -> Table:
    """Record a few days of usage, twice; seal and verify the audit. Return the usage as a chart."""
    today = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    calls = [
        NewUsage(
            id=f"demo {(today - dt.timedelta(days=ago)).date()} {read}",
            model="small",
            input_tokens=read,
            output_tokens=written,
            cost=read * 3 + written * 15,
            cost_decimals=7,
            currency="USD",
            occurred_at=today - dt.timedelta(days=ago),
        )
        for ago, read, written in DAYS
    ]
    await store.usage.record(tenant_id=TENANT, events=calls)
    once = await store.usage.totals(tenant_id=TENANT)
    done = await store.usage.record(tenant_id=TENANT, events=calls)
    twice = await store.usage.totals(tenant_id=TENANT)
    rows = (
        await store.usage.rollup(tenant_id=TENANT, by="day", direction="backward", limit=len(DAYS))
    ).items
    story.claim(
        "Usage that is reported twice is counted once",
        holds={item.outcome for item in done} == {"duplicate"} and once == twice,
        found=f"{twice.event_count} events, {twice.input_tokens:,} input tokens",
    )
    seal = await store.audit.seal(tenant_id=TENANT)
    checked = await store.audit.verify(
        tenant_id=TENANT, known_position=seal.last_position, known_digest=seal.digest
    )
    story.claim(
        "What changed the security of data was recorded; its hash chain holds",
        holds=checked.is_sound and seal.last_position > 0,
        found=f"{seal.last_position} events sealed",
    )
    return chart(rows, "day")
