"""LangGraph's store: namespaces, filters, embeddings, expiry, batches, and who may."""

import asyncio
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import AlreadyExists, InvalidArgument, InvalidText
from strongroom.integrations.bridge import ThreadedStore
from strongroom.integrations.langgraph import StrongroomStore


async def _embed(texts: list[str]) -> list[list[float]]:
    return [[float("cat" in text), float("dog" in text), 0.1] for text in texts]


@pytest.fixture
def values(store: Strongroom, tenant_id: str) -> StrongroomStore:
    return StrongroomStore(
        store,
        tenant_id=tenant_id,
        principal_id="ada",
        index={"dims": 3, "embed": _embed, "fields": ["text", "more[*]"]},
        ttl={"default_ttl": None, "refresh_on_read": True},
    )


async def test_values_are_put_replaced_and_deleted(values: StrongroomStore) -> None:
    assert await values.aget(("a",), "k") is None
    await values.aput(("a", "b"), "k", {"n": 1, "t": "👩‍👩‍👧"})
    first = await values.aget(("a", "b"), "k")
    assert first is not None
    assert (first.namespace, first.key, first.value) == (("a", "b"), "k", {"n": 1, "t": "👩‍👩‍👧"})
    await values.aput(("a", "b"), "k", {"n": 2})
    second = await values.aget(("a", "b"), "k")
    assert second is not None
    assert second.value == {"n": 2}
    assert second.created_at == first.created_at < second.updated_at
    await values.adelete(("a", "b"), "k")
    await values.adelete(("a", "b"), "k")
    assert await values.aget(("a", "b"), "k") is None
    assert await values.alist_namespaces() == []


async def test_a_search_never_leaves_its_namespace_b39(values: StrongroomStore) -> None:
    labels = ["john_doe", "john-doe", "user_1", "user_10", "100%", "a\\b"]
    for label in labels:
        await values.aput(("users", label), "k", {"label": label})
        await values.aput(("users", label, "deep"), "k", {"label": label})
    for label in labels:
        found = await values.asearch(("users", label))
        assert [item.value["label"] for item in found] == [label] * 2
    assert len(await values.asearch((), limit=100)) == 12
    assert sorted(await values.alist_namespaces(prefix=("users", "user_1"))) == [
        ("users", "user_1"),
        ("users", "user_1", "deep"),
    ]
    assert len(await values.alist_namespaces(suffix=("deep",))) == 6
    assert await values.alist_namespaces(prefix=("users", "*", "deep"), limit=1, offset=5) != []
    assert await values.alist_namespaces(max_depth=1) == [("users",)]


async def test_filters_and_embeddings(values: StrongroomStore) -> None:
    await values.aput(("d",), "1", {"text": "a cat", "n": 1})
    await values.aput(("d",), "2", {"text": "none", "more": ["a dog", "x"], "n": 2})
    await values.aput(("d",), "3", {"text": "a cat", "n": 3}, index=False)
    found = await values.asearch(("d",), query="dog")
    assert [item.key for item in found] == ["2", "1", "3"]
    assert found[0].score is not None
    assert found[0].score > 0.9
    assert found[2].score is None
    by_filter = await values.asearch(("d",), filter={"n": {"$gte": 2, "$lt": 3}})
    assert [item.key for item in by_filter] == ["2"]
    assert [i.key for i in await values.asearch(("d",), filter={"n": 3})] == ["3"]
    assert [i.key for i in await values.asearch(("d",), limit=1, offset=1)] == ["2"]
    with pytest.raises(InvalidArgument) as caught:
        await values.asearch(("d",), filter={"n": {"$in": [1]}})
    assert caught.value.detail["path"] == "filter.n"


async def test_what_expires_is_gone(values: StrongroomStore) -> None:
    await values.aput(("t",), "short", {"n": 1}, ttl=0.00002)
    await values.aput(("t",), "long", {"n": 1}, ttl=60)
    async with asyncio.timeout(20):
        while await values.aget(("t",), "short", refresh_ttl=False) is not None:  # noqa: ASYNC110 (time is awaited)
            await asyncio.sleep(0.001)
    assert [item.key for item in await values.asearch(("t",))] == ["long"]


async def test_a_batch_reads_first_and_writes_all_or_nothing_b09(values: StrongroomStore) -> None:
    await values.aput(("n",), "a", {"v": 1})
    ops: list[Any] = [
        PutOp(("n",), "a", {"v": 2}),
        GetOp(("n",), "a"),
        PutOp(("m",), "b", {"v": 3}),
        PutOp(("m",), "b", {"v": 4}),
        SearchOp(("m",)),
    ]
    results = await values.abatch(ops)
    assert getattr(results[1], "value", None) == {"v": 1}
    assert results[4] == []
    latest = await values.aget(("m",), "b")
    assert latest is not None
    assert latest.value == {"v": 4}
    for bad, error in (({"x": "a\0b"}, InvalidText), ({"x": b"\xff"}, InvalidArgument)):
        with pytest.raises(error):
            await values.abatch([PutOp(("m",), "c", {"v": 1}), PutOp(("m",), "d", bad)])
    assert await values.aget(("m",), "c") is None
    await asyncio.gather(*(values.aput(("race",), f"{n % 5}", {"n": n}) for n in range(40)))
    assert len(await values.asearch(("race",), limit=50)) == 5


async def test_namespaces_are_their_tenants_and_their_principals(
    values: StrongroomStore, store: Strongroom, tenant_id: str
) -> None:
    await values.aput(("a",), "k", {"secret": 1})
    other = StrongroomStore(store, tenant_id=await new_tenant(store))
    assert await other.aget(("a",), "k") is None
    assert await other.asearch(()) == []
    await other.adelete(("a",), "k")
    eves = StrongroomStore(store, tenant_id=tenant_id, principal_id="eve")
    with pytest.raises(AlreadyExists):
        await eves.aput(("a",), "k", {"mine": 1})
    assert (await values.aget(("a",), "k")) is not None
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert await values.aget(("a",), "k") is None


def test_blocking_use_from_a_thread(threaded: ThreadedStore, thread_tenant: str) -> None:
    values = StrongroomStore(threaded, tenant_id=thread_tenant)
    values.put(("a",), "k", {"n": 1})
    found = values.get(("a",), "k")
    assert found is not None
    assert [item.key for item in values.search(("a",))] == ["k"]
    values.delete(("a",), "k")
    assert values.list_namespaces() == []
