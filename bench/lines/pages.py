"""P4 and P5: reading the last messages."""

from __future__ import annotations

from bench.context import DEEP, SHALLOW, Context
from bench.measure import repeat
from bench.report import Line, ratio_line

LIMIT = 50


async def last_fifty(context: Context) -> None:
    """P4: the statement of the bindings, unprepared, on a warm connection, as the host role."""
    product = context.product
    deep, shallow, middle = (
        await product.statement(DEEP, LIMIT),
        await product.statement(SHALLOW, LIMIT),
        await product.statement(DEEP, LIMIT, behind=DEEP // 2),
    )
    host, superuser = product.host, product.superuser
    rounds = await context.measure(
        "P4",
        {
            "host, of 20,000": repeat(lambda: host.run(deep), 20),
            "host, of 1,000": repeat(lambda: host.run(shallow), 20),
            "host, middle of 20,000": repeat(lambda: host.run(middle), 20),
            "superuser, of 20,000": repeat(lambda: superuser.run(deep), 20),
        },
        rounds=60,
    )
    add = context.report.lines.append
    for what, statement in (("the end", deep), ("the middle", middle)):
        buffers = await host.buffers(statement)
        text = f"last 50, {what} of 20,000: buffers, row-secured, unprepared"
        add(Line("P4", text, buffers, "buffers", ("<=", 60)))
    for what, over, under, limit in (
        ("last 50: with / without row security", "host, of 20,000", "superuser, of 20,000", 1.2),
        ("last 50: of 20,000 / of 1,000", "host, of 20,000", "host, of 1,000", 1.3),
        (
            "last 50: in the middle of 20,000 / of 1,000",
            "host, middle of 20,000",
            "host, of 1,000",
            1.3,
        ),
    ):
        add(ratio_line("P4", what, rounds.ratio(over, under), ("<=", limit)))


async def validated_page(context: Context) -> None:
    """P5: 50 messages as validated models, through the bindings."""
    raw, product, openai, graph = context.raw, context.product, context.openai, context.langgraph
    contestants = {
        "raw + validate_python": repeat(lambda: raw.page(SHALLOW, LIMIT), 15),
        "strongroom": repeat(lambda: product.page(SHALLOW, LIMIT), 15),
    }
    if openai:
        contestants["openai-agents"] = repeat(lambda: openai.page(SHALLOW, LIMIT), 15)
    if graph:
        contestants["langgraph"] = repeat(lambda: graph.page(1, LIMIT), 5)
    rounds = await context.measure("P5", contestants, rounds=60)
    add = context.report.lines.append
    add(
        ratio_line(
            "P5",
            "page of 50: strongroom / raw rows + validate_python",
            rounds.ratio("strongroom", "raw + validate_python"),
            ("<=", 0.85),
        )
    )
    if rounds.has("openai-agents"):
        add(
            ratio_line(
                "P5",
                "page of 50: OpenAI get_items(limit=50), not validated / strongroom",
                rounds.ratio("openai-agents", "strongroom"),
                (">=", 1.5),
            )
        )
    if rounds.has("langgraph"):
        add(
            ratio_line(
                "P5",
                "page of 50: LangGraph aget_tuple of a thread of 100 messages / strongroom",
                rounds.ratio("langgraph", "strongroom"),
            )
        )
