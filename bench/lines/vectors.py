"""P8, and P10 of search: recall and time for tenants of every size in one table."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable
from itertools import cycle

from bench.competitors.vectors import (
    LangChainPGVector,
    LangGraphStore,
    Searcher,
    StrongroomKnowledge,
)
from bench.context import Context
from bench.measure import Contestant, repeat
from bench.report import Line, VectorPoint, ratio_line
from bench.vector_data import LIMIT, VectorData

SIZES = (100, 300, 1_000, 3_000, 10_000, 50_000)
_GROWING = 3_000
_AT_A_TIME = 10


async def vectors(context: Context) -> None:
    """P8: the nearest 10 of tenants of 100 to 50,000 chunks in a table of 200,000."""
    rows = context.chunks
    data = VectorData(tuple(size for size in SIZES if 4 * size <= rows), rows)
    loading = f"load {rows:,} chunks"
    product = await context.opened(
        StrongroomKnowledge("strongroom_vectors", data), f"strongroom: {loading}"
    )
    assert product is not None
    exact = await context.opened(
        StrongroomKnowledge("strongroom_vectors_exact", data, indexed=False), "strongroom, exact"
    )
    assert exact is not None
    peers: list[Searcher | None] = [
        await context.opened(LangChainPGVector(data, indexed=True), f"PGVector: {loading}"),
        await context.opened(LangChainPGVector(data, indexed=False), "PGVector without an index"),
        await context.opened(LangGraphStore(data), f"LangGraph's store: {loading}"),
    ]
    searchers: list[Searcher] = [product, exact, *(peer for peer in peers if peer)]
    for tenant, size in enumerate(data.sizes):
        await _tenant(context, data, tenant, size, searchers)
    await _growth(context, product)


async def _tenant(
    context: Context, data: VectorData, tenant: int, size: int, searchers: list[Searcher]
) -> None:
    queries, nearest = data.queries(tenant), data.nearest(tenant)
    recalls, found = {}, {}
    for searcher in searchers:
        results = [await searcher.search(tenant, query) for query in queries]
        found[searcher.name] = statistics.mean(len(one) for one in results)
        recalls[searcher.name] = statistics.mean(
            len({*one} & best) / len(best) for one, best in zip(results, nearest, strict=True)
        )
    rounds = await context.measure(
        f"P8, {size:,} chunks",
        {searcher.name: _one_after_another(searcher, tenant, queries) for searcher in searchers},
        rounds=24,
    )
    times = rounds.median_ms()
    context.report.vectors += [
        VectorPoint(name, size, recalls[name], found[name], times[name]) for name in recalls
    ]
    add = context.report.lines.append
    of = f"nearest {LIMIT} of {size:,} chunks"
    add(Line("P8", f"{of}: recall", recalls["strongroom"], "recall", (">=", 0.95)))
    add(Line("P8", f"{of}: rows", found["strongroom"], "rows", (">=", min(LIMIT, size))))
    ratio = rounds.ratio("strongroom", "strongroom, exact")
    add(ratio_line("P8", f"{of}: strongroom / comparing every one", ratio, ("<=", 1.2)))
    for name in [name for name in recalls if not name.startswith("strongroom")]:
        add(Line("P8", f"{of}: recall of {name}", recalls[name], "recall"))
        if found[name] < LIMIT:
            add(Line("P8", f"{of}: rows of {name}", found[name], "rows"))
        ratio = rounds.ratio(name, "strongroom")
        add(ratio_line("P8", f"{of}: {name} / strongroom", ratio))


def _one_after_another(searcher: Searcher, tenant: int, queries: list[list[float]]) -> Contestant:
    turn = cycle(queries)

    def search() -> Awaitable[object]:
        return searcher.search(tenant, next(turn))

    return repeat(search, _AT_A_TIME)


async def _growth(context: Context, large: StrongroomKnowledge) -> None:
    """P10: a tenant of the same size, in a small table and in the large one."""
    small_data = VectorData((_GROWING,), 10_000)
    small = await context.opened(
        StrongroomKnowledge("strongroom_vectors_small", small_data),
        "strongroom: load 10,000 chunks",
    )
    assert small is not None
    tenant = SIZES.index(_GROWING)
    if context.chunks < 4 * _GROWING:
        return
    query = small_data.queries(0)[0]
    searches: dict[str, Callable[[StrongroomKnowledge, int], Awaitable[object]]] = {
        "nearness": lambda store, of: store.find(of, embedding=query),
        "words": lambda store, of: store.find(of, text="word7 word8 nothing"),
        "both": lambda store, of: store.find(of, text="word7", embedding=query),
    }
    contestants = {}
    for what, search in searches.items():
        contestants[f"{what}, small"] = repeat(lambda s=search: s(small, 0), _AT_A_TIME)
        contestants[f"{what}, large"] = repeat(lambda s=search: s(large, tenant), _AT_A_TIME)
    rounds = await context.measure("P10, search", contestants, rounds=40)
    for what in searches:
        ratio = rounds.ratio(f"{what}, large", f"{what}, small")
        text = f"search by {what}: {_GROWING:,} chunks among {context.chunks:,} / 10,000"
        context.report.lines.append(ratio_line("P10", text, ratio, ("<=", 1.5)))
