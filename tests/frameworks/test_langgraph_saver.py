"""LangGraph's checkpoints: its own conformance suite, blocking use, deltas, growth, and who may."""

import asyncio
import operator
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest
from examples.langgraph import program
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph

from strongroom.client import Strongroom
from strongroom.conformance.helpers import fresh, new_tenant
from strongroom.errors import AlreadyExists, InvalidArgument, InvalidText, InvalidTransition
from strongroom.integrations.bridge import ThreadedStore
from strongroom.integrations.langgraph import StrongroomSaver
from tests.servers import Database

THREAD: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


async def test_langgraphs_own_suite_passes_whole(store: Strongroom) -> None:
    @checkpointer_test(name="strongroom")
    async def saver() -> AsyncIterator[StrongroomSaver]:
        yield StrongroomSaver(store, tenant_id=await new_tenant(store))

    report = await validate(saver)
    assert len(report.results) == 8
    for capability, result in report.results.items():
        assert result.detected, capability
        assert result.failures == []
        assert result.passed is True, capability
        assert result.tests_passed > 0
    assert report.passed_all()


class _State(TypedDict):
    items: Annotated[list[int], operator.add]


def _graph(saver: StrongroomSaver, state: type = _State) -> Any:
    builder = StateGraph(state)
    builder.add_node("add", lambda s: {"items": [len(s["items"])]})
    builder.add_node("more", lambda s: {"items": [len(s["items"]), -1]})
    builder.add_edge(START, "add")
    builder.add_edge("add", "more")
    builder.add_edge("more", END)
    return builder.compile(checkpointer=saver)


def test_blocking_use_from_a_thread(threaded: ThreadedStore, thread_tenant: str) -> None:
    saver = StrongroomSaver(threaded, tenant_id=thread_tenant)
    graph = _graph(saver)
    for n in (1, 2):
        assert len(graph.invoke({"items": [9]}, THREAD)["items"]) == 4 * n
    history = list(graph.get_state_history(THREAD))
    assert len(history) == len(list(saver.list(THREAD))) == 8
    saver.copy_thread("t", "copy")
    saver.prune(["t"])
    assert len(list(saver.list(THREAD, limit=9))) == 1
    assert len(graph.invoke({"items": [9]}, THREAD)["items"]) == 12
    saver.delete_for_runs(["none"])
    saver.delete_thread("t")
    assert saver.get_tuple(THREAD) is None
    copied = saver.get_tuple({"configurable": {"thread_id": "copy"}})
    assert copied is not None
    assert len(copied.checkpoint["channel_values"]["items"]) == 8


async def test_blocking_on_the_loop_of_the_store_is_refused(
    store: Strongroom, tenant_id: str
) -> None:
    with pytest.raises(InvalidTransition, match="would wait for itself"):
        StrongroomSaver(store, tenant_id=tenant_id).get_tuple(THREAD)


async def _delta_add(saver: StrongroomSaver, thread: Any, times: int) -> list[int]:
    def joined(state: list[int], writes: Any) -> list[int]:
        return [*state, *(item for write in writes for item in write)]

    class Deltas(TypedDict):
        items: Annotated[list[int], DeltaChannel(joined)]

    graph = _graph(saver, Deltas)
    for _ in range(times):
        await graph.ainvoke({"items": [7]}, thread)
    found: list[int] = (await graph.aget_state(thread)).values["items"]
    return found


async def test_channels_kept_as_deltas_survive_pruning(store: Strongroom, tenant_id: str) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    before = await _delta_add(saver, THREAD, 3)
    assert len(before) == 12
    history = await saver.aget_delta_channel_history(config=THREAD, channels=["items"])
    assert history["items"]["writes"]
    await saver.aprune(["t"])
    assert await _delta_add(saver, THREAD, 0) == before
    assert await _delta_add(saver, THREAD, 1) == [*before, 7, 13, 14, -1]


async def test_a_late_writer_replaces_nothing_newer_b15(store: Strongroom, tenant_id: str) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    old, new = empty_checkpoint(), empty_checkpoint()
    assert old["id"] < new["id"]

    async def put(checkpoint: Any, value: str) -> Any:
        version = saver.get_next_version(None, None)
        whole = {
            **checkpoint,
            "channel_values": {"a": value},
            "channel_versions": {"a": version},
        }
        return await saver.aput(THREAD, whole, {"source": "loop"}, {"a": version})

    await put(new, "new")
    await put(old, "old")
    latest = await saver.aget_tuple(THREAD)
    assert latest is not None
    assert latest.checkpoint["channel_values"] == {"a": "new"}
    # Two branches of one checkpoint never meet in a version, whoever comes first.
    branches = [empty_checkpoint() for _ in range(8)]
    configs = await asyncio.gather(*(put(one, str(n)) for n, one in enumerate(branches)))
    for n, config in enumerate(configs):
        found = await saver.aget_tuple(config)
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": str(n)}


async def test_branches_of_an_old_checkpoint_are_all_whole_b15(
    store: Strongroom, tenant_id: str
) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    graph = _graph(saver)
    await graph.ainvoke({"items": [9]}, THREAD)
    before = [one async for one in saver.alist(THREAD)]
    states = [one async for one in graph.aget_state_history(THREAD)]
    (old,) = [one for one in states if one.next == ("more",)]

    async def branch(number: int) -> tuple[Any, list[int]]:
        changed = await graph.aupdate_state(old.config, {"items": [number]})
        done: list[int] = (await graph.ainvoke(None, changed))["items"]
        return changed, done

    branches = await asyncio.gather(*(branch(number) for number in range(100, 106)))
    after = [one async for one in saver.alist(THREAD)]
    ids = [one.checkpoint["id"] for one in after]
    assert ids == sorted(ids, reverse=True)
    # Nothing of what was there has changed, and every branch is there from its parent to its end.
    assert [
        one for one in after if one.checkpoint["id"] in {b.checkpoint["id"] for b in before}
    ] == before
    children: dict[Any, list[Any]] = {}
    for one in after:
        children.setdefault(str(one.parent_config), []).append(one)
    assert len(children[str(old.config)]) == 1 + len(branches)
    for number, (changed, done) in enumerate(branches, start=100):
        assert done == [*old.values["items"], number, 3, -1]
        start = await saver.aget_tuple(changed)
        assert start is not None
        assert start.parent_config == old.config
        end = start
        while following := children.pop(str(end.config), None):
            (end,) = following
        assert end.checkpoint["channel_values"]["items"] == done
        assert (await graph.aget_state(end.config)).next == ()
    # No checkpoint is outside of its branch: what is left is the first run's.
    assert sum(map(len, children.values())) == len(before) + len(branches)
    latest = await saver.aget_tuple(THREAD)
    assert latest == after[0]


async def test_storage_grows_with_what_is_new_b89(
    store: Strongroom, tenant_id: str, place: Database
) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    large = {"large": "x" * 200_000, "n": 0}
    parent = THREAD
    for n in range(40):
        checkpoint: Any = {
            **empty_checkpoint(),
            "channel_values": {"large": large, "n": n},
            "channel_versions": {"large": "1.1", "n": f"{n}.1"},
        }
        changed = {"n": f"{n}.1"} if n else {"large": "1.1", "n": "0.1"}
        parent = await saver.aput(parent, checkpoint, {"source": "loop", "step": n}, changed)
        await saver.aput_writes(parent, [("n", n)], "task")

    def stored() -> tuple[int, int]:
        with place.connect() as connection:
            row = connection.execute(
                "select count(*), sum(octet_length(data)) from strongroom.framework_records"
                " where tenant_id = %s",
                [tenant_id],
            ).fetchone()
        assert row is not None
        return int(row[0]), int(row[1])

    assert stored()[1] < 250_000
    before = await saver.aget_tuple(THREAD)
    await saver.aprune(["t"])
    # A checkpoint, two values, a write, and of the large value three parts: most of it is the same.
    assert stored()[0] == 7
    assert await saver.aget_tuple(THREAD) == before


async def test_text_and_values_b47_b49_b51(store: Strongroom, tenant_id: str) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)

    async def put(value: Any, **metadata: Any) -> Any:
        checkpoint: Any = {
            **empty_checkpoint(),
            "channel_values": {"a": value},
            "channel_versions": {"a": "1"},
        }
        thread: Any = {"configurable": {"thread_id": fresh(), "checkpoint_ns": ""}}
        config = await saver.aput(thread, checkpoint, {"source": "loop", **metadata}, {"a": "1"})
        await saver.aput_writes(config, [("a", value)], "task")
        return await saver.aget_tuple(config)

    # Values are bytes, so they take any text and all that LangGraph's serializer knows.
    for value in ("a\0b", {"k\0": b"\xff\xfe"}, {1, 2}, "👩‍👩‍👧 e\u0301"):
        found = await put(value, odd={"set": {1}})
        assert found.checkpoint["channel_values"]["a"] == value
        assert found.pending_writes == [("task", "a", value)]
        assert found.metadata["odd"] == {"set": {1}}
    # Metadata can be filtered by, so they are JSON: the framework itself drops U+0000 at the top.
    assert (await put(1, top="a\0b")).metadata["top"] == "ab"
    with pytest.raises(InvalidText) as caught:
        await put(1, deep={"k": "a\0b"})
    assert caught.value.detail["path"] == "records[1].metadata.deep.k"


async def test_a_thread_is_its_tenants_and_its_principals(
    store: Strongroom, tenant_id: str
) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id, principal_id="ada")
    await _graph(saver).ainvoke({"items": []}, THREAD)
    other = StrongroomSaver(store, tenant_id=await new_tenant(store))
    assert await other.aget_tuple(THREAD) is None
    assert [one async for one in other.alist(None)] == []
    await other.adelete_thread("t")
    await other.adelete_for_runs(["r"])
    eves = StrongroomSaver(store, tenant_id=tenant_id, principal_id="eve")
    with pytest.raises(AlreadyExists):
        await _graph(eves).ainvoke({"items": []}, THREAD)
    assert await saver.aget_tuple(THREAD) is not None
    # Who forgets it must not come to share a thread named None.
    with pytest.raises(InvalidArgument, match="thread_id is None"):
        await _graph(saver).ainvoke({"items": []}, {"configurable": {"thread_id": None}})
    with pytest.raises(InvalidArgument):
        await saver.aprune(["t"], strategy="some")
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert await saver.aget_tuple(THREAD) is None


async def test_long_lists_are_whole(store: Strongroom, tenant_id: str) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    graph = _graph(saver)
    for _ in range(30):
        await graph.ainvoke({"items": []}, THREAD)
    await saver.acopy_thread("t", "copy")
    everything = [one.config async for one in saver.alist(None)]
    assert len(everything) == 240
    ids = [one["configurable"]["checkpoint_id"] for one in everything]
    assert ids == sorted(ids, reverse=True)
    assert len({str(one) for one in everything}) == 240
    assert len([one async for one in saver.alist(None, limit=121)]) == 121


async def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await program.main(place.host_url, "langgraph-example")
    assert capsys.readouterr().out.splitlines() == [
        "waits for {'amount': '19.99'}",
        "paid",
        "human: Refund A-1, please.",
        "ai: Shall I refund 19.99?",
        "ai: It is on its way.",
    ]
