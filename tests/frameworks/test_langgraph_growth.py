"""LangGraph's checkpoints of a state that grows: what they take, what is left, what is too large."""

import operator
import os
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph

from strongroom.client import Strongroom
from strongroom.errors import LimitExceeded, NotFound
from strongroom.integrations.langgraph import StrongroomSaver
from tests.servers import Database

STEPS = 300
THREAD: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}, "recursion_limit": 1000}


class _State(TypedDict):
    items: Annotated[list[str], operator.add]


def _graph(saver: StrongroomSaver) -> Any:
    builder = StateGraph(_State)
    builder.add_node("add", lambda _: {"items": [os.urandom(3_500).hex()]})
    builder.add_edge(START, "add")
    builder.add_conditional_edges("add", lambda s: END if len(s["items"]) >= STEPS else "add")
    return builder.compile(checkpointer=saver)


class _Size:
    """What the records of a tenant take: their bytes, and the table's with its indexes and TOAST."""

    def __init__(self, place: Database, tenant_id: str) -> None:
        self._place, self._tenant_id = place, tenant_id
        self._before = self.table()

    def table(self, *, vacuumed: bool = True) -> int:
        with self._place.connect() as connection:
            connection.autocommit = True
            if vacuumed:
                connection.execute("vacuum (full) strongroom.framework_records")
            row = connection.execute(
                "select pg_total_relation_size('strongroom.framework_records')"
            ).fetchone()
        assert row is not None
        return int(row[0])

    def growth(self, **how: bool) -> int:
        return self.table(**how) - self._before

    def of(self, collection: str) -> tuple[int, int]:
        with self._place.connect() as connection:
            row = connection.execute(
                "select count(*), coalesce(sum(octet_length(data)), 0)"
                " from strongroom.framework_records where tenant_id = %s and collection = %s",
                [self._tenant_id, collection],
            ).fetchone()
        assert row is not None
        return int(row[0]), int(row[1])


async def test_a_state_that_grows_is_stored_once_and_pruned_b89(
    store: Strongroom, tenant_id: str, place: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = _Size(place, tenant_id)
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    items = (await _graph(saver).ainvoke({"items": []}, THREAD))["items"]
    assert (len(items), sum(map(len, items))) == (STEPS, 2_100_000)
    # Every version is there, 310 million bytes in all, but of each only what is new was stored.
    assert size.of("channels")[0] > STEPS
    assert size.of("parts")[1] < 14_000_000
    assert size.growth(vacuumed=False) < 40_000_000

    with monkeypatch.context() as patched:
        patched.delattr(type(store.frameworks), "read_checkpoints")
        heads = await saver.alist_heads(THREAD)
    assert len(heads) == STEPS + 2
    assert [head.metadata["step"] for head in heads] == [*range(STEPS, -2, -1)]
    middle = await saver.aget_tuple(heads[100].config)
    assert middle is not None
    assert middle.checkpoint["channel_values"]["items"] == items[: STEPS - 100]
    assert middle.parent_config == heads[100].parent_config == heads[101].config

    # Another process goes on from the latest; then the old ones go, and the first goes on from that.
    other = StrongroomSaver(store, tenant_id=tenant_id)
    grown = (await _graph(other).ainvoke({"items": ["more"]}, THREAD))["items"]
    assert grown[:-1] == [*items, "more"]
    await other.aprune(["t"])
    assert len(await saver.alist_heads(THREAD)) == 1
    assert size.of("parts")[1] < 2_200_000
    assert size.growth() < 4_000_000
    again = (await _graph(saver).ainvoke({"items": ["again"]}, THREAD))["items"]
    assert again[:-1] == [*grown, "again"]
    state = await _graph(StrongroomSaver(store, tenant_id=tenant_id)).aget_state(THREAD)
    assert state.values["items"] == again
    await saver.adelete_thread("t")
    assert size.of("parts") == (0, 0)


async def _put(saver: StrongroomSaver, values: dict[str, Any]) -> Any:
    versions: Any = dict.fromkeys(values, saver.get_next_version(None, None))
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": values,
        "channel_versions": versions,
    }
    return await saver.aput(THREAD, checkpoint, {"source": "loop"}, versions)


async def test_what_was_known_to_be_stored_and_is_gone_is_stored_again_b89(
    store: Strongroom, tenant_id: str
) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    large = [os.urandom(100_000) for _ in range(4)]
    await _put(saver, {"a": large})
    await StrongroomSaver(store, tenant_id=tenant_id).adelete_thread("t")
    config = await _put(saver, {"a": [*large, 1], "b": large})
    found = await saver.aget_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": [*large, 1], "b": large}
    # More than one call takes, in one transaction.
    many = {f"n{number}": [number] for number in range(600)}
    config = await _put(saver, {**many, "large": [os.urandom(16_000_000)]})
    found = await saver.aget_tuple(config)
    assert found is not None
    assert len(found.checkpoint["channel_values"]) == 601
    listed = [one.checkpoint["id"] async for one in saver.alist(THREAD)]
    assert len(listed) == 2


async def test_a_run_goes_on_whole_when_its_thread_was_pruned_or_deleted_b89(
    store: Strongroom, tenant_id: str
) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    kept = {"kept": "k", "large": os.urandom(200_000)}
    first = await _put(saver, {**kept, "n": 0})
    parent = await saver.aget_tuple(first)
    assert parent is not None

    async def go_on(number: int, **metadata: Any) -> dict[str, Any]:
        """Put what LangGraph puts after a step of a run that has begun at the first checkpoint."""
        version = saver.get_next_version(None, None)
        after: Any = {
            **parent.checkpoint,
            "id": empty_checkpoint()["id"],
            "channel_values": {**kept, "n": number},
            "channel_versions": {**parent.checkpoint["channel_versions"], "n": version},
        }
        await saver.aput(first, after, {"source": "loop", **metadata}, {"n": version})
        found = await saver.aget_tuple(THREAD)
        assert found is not None
        assert found.checkpoint["id"] == after["id"]
        return found.checkpoint["channel_values"]

    assert await go_on(1) == {**kept, "n": 1}
    await _put(saver, {"other": "branch"})
    await saver.aprune(["t"])
    assert await go_on(2) == {**kept, "n": 2}, "its parent was pruned"
    await saver.adelete_thread("t")
    assert await go_on(3) == {**kept, "n": 3}, "all of its thread was deleted"
    with pytest.raises(NotFound):
        await go_on(4, counters_since_delta_snapshot={"n": 1})
    latest = await saver.aget_tuple(THREAD)
    assert latest is not None
    assert latest.checkpoint["channel_values"]["n"] == 3


async def test_a_checkpoint_that_is_too_large_is_refused_by_name_b89(
    store: Strongroom, tenant_id: str, place: Database
) -> None:
    saver = StrongroomSaver(store, tenant_id=tenant_id)
    config = await _put(saver, {"fine": 1})
    size = _Size(place, tenant_id)
    with pytest.raises(LimitExceeded) as refused:
        await _put(saver, {"fine": 2, "large": "x" * 50_000_000})
    assert refused.value.detail["path"] == "channel_values.large"
    assert refused.value.detail["limit"] == 16_777_216
    with pytest.raises(LimitExceeded) as refused:
        await saver.aput_writes(config, [("a", 1), ("a", "x" * 50_000_000)], "task")
    assert refused.value.detail["path"] == "writes[1]"
    latest = await saver.aget_tuple(THREAD)
    assert latest is not None
    assert latest.config == config
    assert size.of("channels")[0] == 1
    assert size.of("writes") == (0, 0)
