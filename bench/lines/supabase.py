"""P13: what Supabase adds: Realtime to an append, and a user's row security to a page."""

from __future__ import annotations

from functools import partial

from bench.competitors.supabase import SUPERUSER, Realtime, SupabaseStrongroom
from bench.context import DEEP, Context
from bench.measure import Contestant, repeat
from bench.report import ratio_line
from bench.server import running_server

LIMIT = 50
PAGES = {"last": 0, "middle": DEEP // 2, "first": DEEP - 500}


async def supabase(context: Context) -> None:
    """P13: on a server of its own, since there postgres is no superuser and the WAL is logical."""
    with running_server(SUPERUSER, {"wal_level": "logical"}) as server:
        sides: dict[Realtime, SupabaseStrongroom] = {}
        names: tuple[Realtime, ...] = ("realtime", "no realtime", "no triggers")
        try:
            for name in names:
                done = context.begin(f"strongroom, {name}: load {DEEP:,} messages", 1)
                sides[name] = SupabaseStrongroom(name)
                await sides[name].open(server)
                await sides[name].check(server)
                done()
            await _appends(context, sides)
            # Of a row-secured page, who reads is all that differs.
            product = sides["realtime"]
            user = await product.sign_in(server)
            contestants: dict[str, Contestant] = {}
            for where, behind in PAGES.items():
                statement = await product.statement(DEEP, LIMIT, behind=behind)
                contestants[f"host, {where}"] = repeat(partial(product.host.run, statement), 20)
                contestants[f"user, {where}"] = repeat(partial(user.run, statement), 20)
            rounds = await context.measure("P13 pages", contestants, rounds=60)
            for where in PAGES:
                context.report.lines.append(
                    ratio_line(
                        "P13",
                        f"page of 50, {where} of {DEEP:,}: as a signed-in user / as host",
                        rounds.ratio(f"user, {where}", f"host, {where}"),
                        ("<=", 1.5),
                    )
                )
        finally:
            for side in sides.values():
                await side.close()


async def _appends(context: Context, sides: dict[Realtime, SupabaseStrongroom]) -> None:
    contestants = {
        f"{count}, {name}": repeat(partial(side.append, 0, count), 20 if count == 1 else 8)
        for name, side in sides.items()
        for count in (1, 10)
    }
    rounds = await context.measure("P13", contestants, rounds=100)
    for count in (1, 10):
        for name, what in (
            ("realtime", "broadcast and published"),
            ("no realtime", "where there is no Realtime"),
        ):
            context.report.lines.append(
                ratio_line(
                    "P13",
                    f"append {count}: {what} / without the triggers",
                    rounds.ratio(f"{count}, {name}", f"{count}, no triggers"),
                    ("<=", 1.25),
                )
            )
