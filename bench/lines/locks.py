"""P9: a lock taken and given back."""

from __future__ import annotations

from bench.competitors.adapters import StrongroomRedisLocks
from bench.competitors.locks import AdvisoryLocks, RedisLocks, StrongroomLocks
from bench.context import Context
from bench.measure import Contestant, repeat
from bench.report import ratio_line


async def locks(context: Context) -> None:
    """P9: acquire and release."""
    opened = [
        await context.opened(locks, f"{locks.name}: set up")
        for locks in (
            StrongroomLocks("strongroom_locks"),
            StrongroomRedisLocks("strongroom_redis_locks"),
            AdvisoryLocks(),
            RedisLocks(durable=True),
            RedisLocks(durable=False),
        )
    ]
    contestants: dict[str, Contestant] = {
        locks.name: repeat(locks.lock, 20) for locks in opened if locks is not None
    }
    rounds = await context.measure("P9", contestants, rounds=60)
    for peer, limit in (
        ("advisory locks", 4.0),
        ("locks in a durable Redis", 1.2),
        ("locks in a Redis in memory", None),
    ):
        if rounds.has(peer):
            context.report.lines.append(
                ratio_line(
                    "P9",
                    f"acquire + release: strongroom / {peer}",
                    rounds.ratio("strongroom's locks", peer),
                    ("<=", limit) if limit else None,
                )
            )
    own = StrongroomRedisLocks.name
    if rounds.has(own):
        for peer in ("strongroom's locks", "locks in a durable Redis"):
            if rounds.has(peer):
                context.report.lines.append(
                    ratio_line(
                        "P9", f"acquire + release: {own} / {peer}", rounds.ratio(own, peer), None
                    )
                )
