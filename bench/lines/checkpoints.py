"""P7: checkpoints of two sizes."""

from __future__ import annotations

from functools import partial

from bench.competitors.checkpoints import SIZES, LangGraphCheckpoints, StrongroomCheckpoints
from bench.context import Context
from bench.measure import Contestant, repeat
from bench.report import ratio_line


async def checkpoints(context: Context) -> None:
    """P7: put, get the newest, list 20."""
    product = StrongroomCheckpoints("strongroom_checkpoints")
    await context.opened(product, "strongroom's checkpoints: set up")
    peer = await context.opened(LangGraphCheckpoints(), "langgraph's checkpoints: set up")
    contestants: dict[str, Contestant] = {}
    for size in SIZES:
        contestants[f"raw put {size}"] = repeat(partial(product.put_raw, size), 10)
        contestants[f"put {size}"] = repeat(partial(product.put, size), 10)
        contestants[f"get {size}"] = repeat(partial(product.get, size), 10)
        contestants[f"list {size}"] = repeat(partial(product.list, size), 10)
        if peer:
            contestants[f"langgraph put {size}"] = repeat(partial(peer.put, size), 5)
            contestants[f"langgraph get {size}"] = repeat(partial(peer.get, size), 5)
            contestants[f"langgraph list {size}"] = repeat(partial(peer.list, size), 2)
    rounds = await context.measure("P7", contestants, rounds=45)
    add = context.report.lines.append
    for size in SIZES:
        add(
            ratio_line(
                "P7",
                f"put {size}: strongroom / raw prepared INSERT",
                rounds.ratio(f"put {size}", f"raw put {size}"),
                ("<=", 1.25),
            )
        )
    add(
        ratio_line(
            "P7",
            "list 20: of 50 KB / of 2 KB each",
            rounds.ratio("list 50 KB", "list 2 KB"),
            ("<=", 1.3),
        )
    )
    if not peer:
        return
    for what, goal in (("put", None), ("get", 2.0), ("list", 10.0)):
        for size in SIZES:
            add(
                ratio_line(
                    "P7",
                    f"{what}{' 20' if what == 'list' else ''} {size}: LangGraph saver / strongroom",
                    rounds.ratio(f"langgraph {what} {size}", f"{what} {size}"),
                    (">=", goal) if goal else None,
                )
            )
