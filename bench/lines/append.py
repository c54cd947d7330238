"""P1 to P3: appending."""

from __future__ import annotations

from functools import partial

from bench.competitors.openai_agents import OpenAISessions
from bench.competitors.product import Strongroom
from bench.context import CLIENTS, Context
from bench.measure import Contestant, repeat, together
from bench.report import Line, ratio_line
from bench.roundtrips import counting_proxy


async def append_one(context: Context) -> None:
    """P1: one message of 1 KB, durably."""
    raw, product, openai, graph = context.raw, context.product, context.openai, context.langgraph
    contestants: dict[str, Contestant] = {
        "raw": repeat(lambda: raw.append(0, 1), 20),
        "strongroom": repeat(lambda: product.append(1, 1), 20),
    }
    if openai:
        contestants["openai-agents"] = repeat(lambda: openai.append(1, 1), 5)
    if graph:
        contestants["langgraph update_state"] = repeat(lambda: graph.update_state(1), 2)
        contestants["langgraph delta"] = repeat(lambda: graph.update_state_delta(1), 2)
        contestants["langgraph writes only"] = repeat(lambda: graph.append(1, 1), 3)
    rounds = await context.measure("P1", contestants, rounds=60)
    add = context.report.lines.append
    add(
        ratio_line(
            "P1",
            "append 1: strongroom / raw prepared INSERT",
            rounds.ratio("strongroom", "raw"),
            ("<=", 1.25),
        )
    )
    await _round_trips(context)
    for name, what, goal in (
        ("openai-agents", "append 1: OpenAI session add_items / strongroom", 4.0),
        (
            "langgraph update_state",
            "append 1: LangGraph aupdate_state at 100 messages / strongroom",
            15.0,
        ),
        ("langgraph delta", "append 1: the same with the beta DeltaChannel / strongroom", None),
        (
            "langgraph writes only",
            "append 1: only aput_writes + aput of such a step / strongroom",
            None,
        ),
    ):
        if rounds.has(name):
            ratio = rounds.ratio(name, "strongroom")
            add(ratio_line("P1", what, ratio, (">=", goal) if goal else None))


async def _round_trips(context: Context) -> None:
    """Turns from question to answer, counted by a proxy that all the bytes pass."""
    async with counting_proxy(context.server) as turns:
        product = Strongroom(context.product.database)
        await product.connect(turns.through)
        count = await turns.during(lambda: product.append(2, 1))
        await product.close()
        add = context.report.lines.append
        add(Line("P1", "append 1: round trips of strongroom", count, "trips", ("<=", 1.0)))
        if context.openai:
            openai = OpenAISessions(0, 0, 0)
            openai.connect(turns.through)
            count = await turns.during(lambda: openai.append(2, 1))
            await openai.close()
            add(Line("P1", "append 1: round trips of OpenAI's session", count, "trips"))


async def append_ten(context: Context) -> None:
    """P2: ten messages in one transaction."""
    raw, product, openai = context.raw, context.product, context.openai
    contestants = {
        "executemany": repeat(lambda: raw.append(0, 10), 8),
        "strongroom": repeat(lambda: product.append(1, 10), 8),
    }
    if openai:
        contestants["openai-agents"] = repeat(lambda: openai.append(1, 10), 4)
    rounds = await context.measure("P2", contestants, rounds=60)
    add = context.report.lines.append
    add(
        ratio_line(
            "P2",
            "append 10: strongroom / raw executemany in one transaction",
            rounds.ratio("strongroom", "executemany"),
            ("<=", 0.85),
        )
    )
    if rounds.has("openai-agents"):
        add(
            ratio_line(
                "P2",
                "append 10: OpenAI session add_items / strongroom",
                rounds.ratio("openai-agents", "strongroom"),
                (">=", 2.5),
            )
        )


async def eight_clients(context: Context) -> None:
    """P3: eight clients at once, each with its own connection."""
    raw, openai = context.raw, context.openai
    product = Strongroom(context.product.database)
    await product.connect(context.server, clients=CLIENTS)
    clients = range(CLIENTS)
    contestants = {
        "raw": together([partial(raw.append, c, 1) for c in clients], 8),
        "strongroom on eight": together([partial(product.append, c, 1) for c in clients], 8),
        "strongroom on one": together([partial(product.append, 0, 1) for _ in clients], 8),
    }
    if openai:
        contestants["openai on eight"] = together(
            [partial(openai.append, c, 1) for c in clients], 3
        )
        contestants["openai on one"] = together([partial(openai.append, 0, 1) for _ in clients], 3)
    rounds = await context.measure("P3", contestants, rounds=45)
    await product.close()
    add = context.report.lines.append
    for where, goal in (("eight", 1.5), ("one", 3.5)):
        add(
            ratio_line(
                "P3",
                f"8 clients on {where}: strongroom / raw on eight",
                rounds.ratio(f"strongroom on {where}", "raw"),
                ("<=", goal),
            )
        )
    for where in ("eight", "one"):
        if rounds.has(f"openai on {where}"):
            add(
                ratio_line(
                    "P3",
                    f"8 clients on {where}: OpenAI session / strongroom",
                    rounds.ratio(f"openai on {where}", f"strongroom on {where}"),
                )
            )
