"""P12: the integrations of agent frameworks beside those frameworks' own stores."""

from __future__ import annotations

from functools import partial

from bench.competitors import MissingPeer
from bench.competitors.frameworks import (
    MESSAGES,
    LangGraphSavers,
    OpenAIOwnSessions,
    StrongroomSavers,
    StrongroomSessions,
)
from bench.context import Context
from bench.measure import Contestant, repeat
from bench.report import ratio_line

GOALS = {"append 1": 4.0, "append 10": 2.5, "page": 1.5, "get": 2.0, "list 20": 10.0}
"""The goals of P1, P2, P5 and P7 for the ports; here they are asked of the integrations."""


async def frameworks(context: Context) -> None:
    """P12: at 10, 100 and 1,000 messages."""
    await _sessions(context)
    await _savers(context)


async def _sessions(context: Context) -> None:
    try:
        product = await context.opened(StrongroomSessions(), "strongroom's sessions: fill")
    except ImportError as error:
        raise MissingPeer(f"openai-agents: {error}") from error
    peer = await context.opened(OpenAIOwnSessions(), "openai-agents' sessions: fill")
    if product is None or peer is None:
        return
    contestants: dict[str, Contestant] = {}
    for count in MESSAGES:
        for name, side in (("strongroom", product), ("own", peer)):
            contestants[f"{name} append 1 {count}"] = repeat(partial(side.append, count, 1), 5)
            contestants[f"{name} append 10 {count}"] = repeat(partial(side.append, count, 10), 3)
            contestants[f"{name} page {count}"] = repeat(partial(side.page, count), 5)
    rounds = await context.measure("P12", contestants, rounds=30)
    for what in ("append 1", "append 10", "page"):
        for count in MESSAGES:
            context.report.lines.append(
                ratio_line(
                    "P12",
                    f"{what} at {count:,}: OpenAI's SQLAlchemySession / StrongroomSession",
                    rounds.ratio(f"own {what} {count}", f"strongroom {what} {count}"),
                    (">=", GOALS[what]),
                )
            )


async def _savers(context: Context) -> None:
    product = await context.opened(StrongroomSavers(), "strongroom's saver: fill")
    peer = await context.opened(LangGraphSavers(), "langgraph's saver: fill")
    if product is None or peer is None:
        return
    contestants: dict[str, Contestant] = {}
    for count in MESSAGES:
        for name, side in (("strongroom", product), ("own", peer)):
            contestants[f"{name} put {count}"] = repeat(partial(side.put, count), 3)
            contestants[f"{name} get {count}"] = repeat(partial(side.get, count), 3)
            contestants[f"{name} list 20 {count}"] = repeat(partial(side.list, count), 1)
    rounds = await context.measure("P12", contestants, rounds=20)
    for what in ("put", "get", "list 20"):
        for count in MESSAGES:
            context.report.lines.append(
                ratio_line(
                    "P12",
                    f"{what} at {count:,}: LangGraph's AsyncPostgresSaver / StrongroomSaver",
                    rounds.ratio(f"own {what} {count}", f"strongroom {what} {count}"),
                    (">=", GOALS[what]) if what in GOALS else None,
                )
            )
