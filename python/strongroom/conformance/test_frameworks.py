"""What frameworks keep: items in order, keyed values, checkpoints of graphs."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, fresh, new_tenant, walk
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    VersionConflict,
)
from strongroom.models import (
    FrameworkCondition,
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
    NewFrameworkRecord,
)
from strongroom.ports import FrameworkStore


async def _place(store: Ports, *path: str) -> dict[str, Any]:
    return {
        "tenant_id": await new_tenant(store),
        "framework": "suite",
        "path": [*path] or ["session"],
    }


def _home(at: dict[str, Any]) -> dict[str, Any]:
    return {"tenant_id": at["tenant_id"], "framework": at["framework"]}


def _item(key: str, content: Any = None, **fields: Any) -> NewFrameworkRecord:
    return NewFrameworkRecord(key=key, content={"n": key} if content is None else content, **fields)


def _keys(records: Any) -> list[str]:
    return [record.key for record in records]


async def test_items_come_back_as_they_were_appended_b01_b09(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    keys = [fresh(str(9 - n)) for n in range(8)]
    odd = {"text": "שלום 👩‍👩‍👧 e\u0301", "number": 1.5, "null": None, "list": [True, {}]}
    batch = [_item(keys[0], odd), _item(keys[1], data=b"\x00\xff"), *map(_item, keys[2:])]
    with pytest.raises(InvalidArgument):
        await store.frameworks.append(**at, records=[*batch, NewFrameworkRecord(key="nothing")])
    assert (await store.frameworks.list(**at)).items == ()
    done = await store.frameworks.append(**at, records=batch)
    assert [(one.position, one.outcome) for one in done] == [(n, "inserted") for n in range(1, 9)]
    again = await store.frameworks.append(**at, records=[*batch, batch[0], _item(keys[1], 1)])
    assert [one.outcome for one in again] == ["duplicate"] * 9 + ["conflict"]
    assert [one.position for one in again] == [*range(1, 9), 1, 2]
    with pytest.raises(AlreadyExists) as caught:
        await store.frameworks.append(
            **at, records=[_item("new"), _item(keys[1], 1)], refuse_conflicts=True
        )
    assert caught.value.detail["path"] == "records[1].key"
    with pytest.raises(AlreadyExists):
        await store.frameworks.append(
            **at, records=[_item("new", 1), _item("new", 2)], refuse_conflicts=True
        )
    await store.frameworks.append(**at, records=batch, refuse_conflicts=True)
    page = await store.frameworks.list(**at)
    assert _keys(page.items) == keys
    assert page.items[0].content == odd
    assert page.items[1].data == b"\x00\xff"
    for limit in (1, 3, 8):
        forward = await walk(
            lambda **page: store.frameworks.list(**at, **page), limit=limit, back=True
        )
        assert _keys(forward) == keys
    backward = await store.frameworks.list(**at, limit=2, direction="backward")
    assert _keys(backward.items) == keys[:5:-1]
    assert (await store.frameworks.list(**at, collection="others")).items == ()


async def test_writers_of_one_session_take_turns_b03(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    batches = [[_item(f"{writer}-{n}") for n in range(3)] for writer in range(12)]
    await asyncio.gather(
        *(store.frameworks.append(**at, records=batch) for batch in [*batches, *batches])
    )
    page = await store.frameworks.list(**at, limit=500)
    assert [record.position for record in page.items] == [*range(1, 37)]
    for batch in batches:
        places = [_keys(page.items).index(item.key) for item in batch]
        assert places == [*range(places[0], places[0] + 3)]


async def test_what_is_taken_back_is_gone_and_the_audit_says_so(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    await store.frameworks.append(**at, records=[_item(key) for key in "abcd"])
    assert _keys(await store.frameworks.delete(**at, last=1)) == ["d"]
    assert _keys(await store.frameworks.delete(**at, keys=["c", "a", "no"])) == ["a", "c"]
    (done,) = await store.frameworks.append(**at, records=[_item("d")])
    assert (done.position, done.outcome) == (5, "inserted")
    assert _keys((await store.frameworks.list(**at)).items) == ["b", "d"]
    assert _keys(await store.frameworks.delete(**at, last=500)) == ["b", "d"]
    assert await store.frameworks.delete(**at, last=1) == ()
    assert await store.frameworks.delete(**{**at, "path": ["none"]}, last=1) == ()
    wrongs: list[dict[str, Any]] = [{}, {"keys": ["a"], "last": 1}]
    for wrong in wrongs:
        with pytest.raises(InvalidArgument) as caught:
            await store.frameworks.delete(**at, **wrong)
        assert caught.value.detail["path"] == "keys"
    events = (await store.audit.list(tenant_id=at["tenant_id"])).items
    told = [e.details for e in events if e.action == "framework_records.delete"]
    assert sorted((e["count"], e["first_position"], e["last_position"]) for e in told) == [
        (1, 4, 4),
        (2, 1, 3),
        (2, 2, 5),
    ]


def _value(path: list[str], key: str, content: Any = 1, **fields: Any) -> FrameworkRecordChange:
    return FrameworkRecordChange(path=path, key=key, content=content, **fields)


async def _find(store: Ports, at: dict[str, Any], *keys: str) -> dict[str, FrameworkRecord]:
    found = await store.frameworks.find(
        **_home(at),
        wanted=[FrameworkRecordReference(path=at["path"], key=key) for key in keys],
    )
    return {record.key: record for record in found}


async def test_values_are_replaced_kept_and_deleted(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    path = at["path"]

    async def put(*records: FrameworkRecordChange) -> list[tuple[int | None, str]]:
        done = await store.frameworks.put(**_home(at), records=records)
        return [(one.version, one.outcome) for one in done]

    first = [_value(path, "b", [1]), _value(path, "a", {"x": 1}, data=b"\xff"), _value(["z"], "a")]
    assert await put(*first) == [(1, "inserted")] * 3
    assert await put(_value(path, "b", [2]), _value(path, "a", mode="keep")) == [
        (2, "replaced"),
        (1, "conflict"),
    ]
    assert await put(first[1].replace(mode="keep")) == [(1, "duplicate")]
    found = await _find(store, at, "a", "b", "c")
    assert found["a"].data == b"\xff"
    assert found["b"].content == [2]
    assert found["b"].created_at < found["b"].updated_at
    assert await put(*(_value(path, key, mode="delete") for key in "ac")) == [
        (1, "deleted"),
        (None, "absent"),
    ]
    assert [*await _find(store, at, "a", "b")] == ["b"]
    # A key that comes several times is taken in turn; of the others each is known by its own key.
    assert await put(
        _value(path, "n", mode="delete"),
        _value(path, "n", 1),
        _value(path, "b", mode="delete"),
        _value(path, "n", 1, mode="keep"),
        _value(path, "b", [3], mode="keep", expected_version=0),
    ) == [(None, "absent"), (1, "inserted"), (2, "deleted"), (1, "duplicate"), (1, "inserted")]
    assert await put(
        _value(path, "n", 2, mode="keep"),
        _value(path, "m", 1, mode="keep"),
        _value(path, "b", [3], mode="keep", expected_version=1),
        _value(path, "o", 1, expected_version=0),
    ) == [(1, "conflict"), (1, "inserted"), (1, "duplicate"), (1, "inserted")]
    with pytest.raises(VersionConflict):
        await put(_value(path, "p", 1), _value(path, "b", mode="keep", expected_version=2))
    assert [*await _find(store, at, "b", "m", "n", "o", "p")] == ["b", "m", "n", "o"]
    # What was appended is history: a put does not write over it.
    await store.frameworks.append(**at, collection="values", records=[_item("h", 1)])
    assert await put(_value(path, "h", 2)) == [(1, "conflict")]


async def test_a_stale_write_of_a_value_or_a_state_is_refused_b13(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    value = _value(at["path"], "k", 1, expected_version=0)
    await store.frameworks.put(**_home(at), records=[value])

    async def put(content: int) -> object:
        change = value.replace(content=content, expected_version=1)
        return await store.frameworks.put(**_home(at), records=[_value(["o"], "x"), change])

    results = await asyncio.gather(put(2), put(3), return_exceptions=True)
    (conflict,) = [one for one in results if isinstance(one, BaseException)]
    assert isinstance(conflict, VersionConflict)
    assert conflict.detail["current_version"] == 2
    with pytest.raises(VersionConflict):
        await store.frameworks.put(**_home(at), records=[_value(["new"], "x"), value])
    assert await store.frameworks.find_session(**{**at, "path": ["new"]}) is None

    session = {**at, "path": ["state"]}
    with pytest.raises(NotFound):
        await store.frameworks.put_session(**session, state={}, expected_version=1)
    made = await store.frameworks.put_session(**session, state={"a": 1}, expected_version=0)
    again = await store.frameworks.put_session(**session, state={"a": 1}, expected_version=0)
    assert made == again
    states = await asyncio.gather(
        *(
            store.frameworks.put_session(**session, state={"b": n}, expected_version=1)
            for n in (1, 2)
        ),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in states) == ["FrameworkSession", "VersionConflict"]


async def test_what_expires_is_seen_by_nobody(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    short, long = (_value(at["path"], str(t), ttl_seconds=t) for t in (0.001, 500))
    await store.frameworks.put(**_home(at), records=[short, long])
    async with asyncio.timeout(20):
        while len(await _find(store, at, "0.001", "500")) == 2:  # noqa: ASYNC110 (time is awaited)
            await asyncio.sleep(0.001)
    assert _keys(await store.frameworks.search(**at)) == ["500"]
    (done,) = await store.frameworks.put(**_home(at), records=[short.replace(mode="keep")])
    assert (done.version, done.outcome) == (1, "inserted")
    before = (await _find(store, at, "500"))["500"]
    (after,) = await store.frameworks.find(
        **_home(at), wanted=[FrameworkRecordReference(path=at["path"], key="500")], refresh=True
    )
    assert before.expires_at
    assert after.expires_at
    assert after.expires_at > before.expires_at
    async with asyncio.timeout(20):
        while not await store.frameworks.expire(tenant_id=at["tenant_id"], limit=1):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert await store.frameworks.expire(tenant_id=at["tenant_id"]) == 0


async def test_a_search_stays_below_its_path_b39(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    labels = ["john_doe", "john-doe", "johnXdoe", "user_1", "user_10", "100%", "a\\b", "user", "é"]
    paths = [["users", label] for label in labels] + [["users", label, "in"] for label in labels]
    await store.frameworks.put(**_home(at), records=[_value(path, "k", {}) for path in paths])
    for label in labels:
        found = await store.frameworks.search(**_home(at), path=["users", label])
        assert sorted(record.path for record in found) == [
            ("users", label),
            ("users", label, "in"),
        ]
        sessions = await store.frameworks.list_sessions(**_home(at), path=["users", label])
        assert [one.path for one in sessions.items] == sorted(record.path for record in found)
    assert len(await store.frameworks.search(**_home(at))) == 18
    deleted = await store.frameworks.delete_sessions(**_home(at), path=["users", "user_1"])
    assert deleted == 2
    exact = await store.frameworks.delete_sessions(
        **_home(at), path=["users", "user_10"], exact=True
    )
    assert exact == 1
    assert len(await store.frameworks.search(**_home(at), path=["users"])) == 15


async def test_a_search_filters_and_ranks(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    contents: dict[str, Any] = {
        "a": {"n": 1, "s": "x"},
        "b": {"n": 2.5, "s": "y"},
        "c": {"n": "2"},
        "d": [1],
    }
    embeddings = {"a": [[1.0, 0.0]], "b": [[0.0, 1.0], [1.0, 0.1]], "c": [[-1.0, 0.0]]}
    for key, content in contents.items():
        record = _value(at["path"], key, content, embeddings=embeddings.get(key))
        await store.frameworks.put(**_home(at), records=[record])

    async def found(*conditions: tuple[str, str, Any], **fields: Any) -> str:
        wanted = [FrameworkCondition(field=f, operator=o, value=v) for f, o, v in conditions]
        return "".join(_keys(await store.frameworks.search(**at, filter=wanted, **fields)))

    assert await found() == "dcba"
    assert await found(("n", "eq", 1.0)) == "a"
    assert await found(("n", "ne", 1)) == "dcb"
    assert await found(("n", "gt", 0)) == "ba"
    assert await found(("n", "gte", 2.5)) == "b"
    assert await found(("n", "lt", "3"), ("n", "lte", "2")) == "c"
    assert await found(("s", "gt", "w"), ("n", "lt", 2)) == "a"
    assert await found(embedding=[1.0, 0.0]) == "abcd"
    assert await found(embedding=[0.0, 2.0], limit=2) == "bc"
    assert await found(skip=1, limit=2) == "cb"
    assert await found(key_prefix="b") == "b"
    assert await found(key_prefix="") == "abcd"
    assert await found(key_prefix="", after_key="b", limit=1) == "c"
    with pytest.raises(InvalidArgument) as needs:
        await found(after_key="b")
    assert needs.value.detail["path"] == "after_key"
    ranked = await store.frameworks.search(**at, embedding=[1.0, 0.0], refresh=True)
    assert [one.score and round(one.score, 3) for one in ranked] == [1.0, 0.995, -1.0, None]
    for wrong in ([0.0, 0.0], [1e-39]):
        with pytest.raises(InvalidArgument) as caught:
            await found(embedding=wrong)
        assert caught.value.detail["path"] == "embedding"


async def test_a_session_is_its_principals_and_goes_with_them(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    await store.frameworks.append(**at, records=[_item("a")], principal_id=OWNER)
    await store.frameworks.append(**at, records=[_item("b")])
    with pytest.raises(AlreadyExists) as caught:
        await store.frameworks.append(**at, records=[_item("c")], principal_id="eve")
    assert caught.value.detail["path"] == "principal_id"
    others = {**at, "path": ["others"]}
    await store.frameworks.append(**others, records=[_item("a")])
    theirs = await store.frameworks.list_sessions(**_home(at), principal_id=OWNER)
    assert [one.path for one in theirs.items] == [("session",)]
    receipt = await store.lifecycle.erase_principal(tenant_id=at["tenant_id"], principal_id=OWNER)
    assert {item.table_name: item.row_count for item in receipt.items} == {
        "framework_sessions": 1,
        "framework_records": 2,
    }
    assert (await store.frameworks.list(**at)).items == ()
    assert len((await store.frameworks.list(**others)).items) == 1


async def test_what_is_the_same_is_no_nearer_than_one(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    vectors = [[math.sin(n * k + 1) for k in range(1, 8)] for n in range(1, 41)]
    await store.frameworks.put(
        **_home(at),
        records=[
            _value(at["path"], f"{n:02}", embeddings=[vector]) for n, vector in enumerate(vectors)
        ],
    )
    for n, vector in enumerate(vectors):
        for embedding, place in ((vector, 0), ([-number for number in vector], -1)):
            found = await store.frameworks.search(**at, embedding=embedding)
            scores = [one.score for one in found if one.score is not None]
            assert -1 <= min(scores) <= max(scores) <= 1
            assert found[place].key == f"{n:02}"


def _calls_of_a_person(
    store: Ports, at: dict[str, Any], principal_id: str, run_id: str
) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return, for every call that may name a principal, one that names the session and the principal."""
    port = store.frameworks
    mine: dict[str, Any] = {"principal_id": principal_id}
    reference = FrameworkRecordReference(path=at["path"], key="v")
    change = FrameworkRecordChange(path=at["path"], key="v", content=2)
    removal = FrameworkRecordChange(path=at["path"], key="v", mode="delete")
    other = [fresh("other")]

    async def put() -> None:
        for records in ([change], [removal]):
            with pytest.raises(AlreadyExists):
                await port.put(**_home(at), records=records, **mine)
        await port.put(**_home(at), records=[change, removal], **mine)

    async def prune() -> None:
        with pytest.raises(AlreadyExists):
            await port.prune_checkpoints(**_home(at), run_ids=[run_id], **mine)
        await port.prune_checkpoints(**at, **mine)

    async def delete() -> None:
        with pytest.raises(AlreadyExists):
            await port.delete(**at, keys=["a"], **mine)
        await port.delete(**at, last=1, **mine)

    async def find() -> None:
        with pytest.raises(AlreadyExists):
            await port.find(**_home(at), wanted=[reference], refresh=True, **mine)
        await port.find(**_home(at), wanted=[reference], **mine)

    return {
        "append": lambda: port.append(**at, records=[_item("c")], **mine),
        "list": lambda: port.list(**at, **mine),
        "delete": delete,
        "put": put,
        "find": find,
        "find_session": lambda: port.find_session(**at, **mine),
        "put_session": lambda: port.put_session(**at, state={"s": 2}, expected_version=1, **mine),
        "delete_sessions": lambda: port.delete_sessions(**at, **mine),
        "fork_session": lambda: port.fork_session(
            **_home(at), from_path=at["path"], path=other, **mine
        ),
        "read_checkpoints": lambda: port.read_checkpoints(**at, **mine),
        "prune_checkpoints": prune,
    }


@pytest.mark.parametrize("owner", [OWNER, None])
async def test_no_call_of_one_person_reaches_a_session_of_another(
    adapter: Adapter, owner: str | None
) -> None:
    store = adapter.store
    at = await _place(store, "shared", "theirs")
    below = {**at, "path": [*at["path"], "below"]}
    everywhere: list[tuple[dict[str, Any], str | None]] = [
        (at, owner),
        (below, owner),
        ({**at, "path": ["shared", "eves"]}, "eve"),
    ]
    for place, who in everywhere:
        await store.frameworks.append(**place, records=[_item("a")], principal_id=who)
        records = [
            FrameworkRecordChange(path=place["path"], key="v", content={"n": 1}, ttl_seconds=600),
            *(
                FrameworkRecordChange(
                    path=place["path"],
                    collection="checkpoints",
                    key=key,
                    content={"type": "x", "channels": {}},
                    metadata={"run_id": f"r{who}"},
                )
                for key in ("c1", "c2")
            ),
        ]
        await store.frameworks.put(**_home(at), records=records, principal_id=who)

    async def everything() -> list[Any]:
        sessions = await store.frameworks.list_sessions(**_home(at))
        return [
            sessions.items,
            *[
                await read(**{**_home(at), "path": session.path})
                for session in sessions.items
                for read in (store.frameworks.list, store.frameworks.read_checkpoints)
            ],
            await store.frameworks.search(**_home(at)),
        ]

    before = await everything()
    calls = _calls_of_a_person(store, at, "eve", f"r{owner}")
    named = {
        name
        for name, method in vars(FrameworkStore).items()
        if callable(method) and "principal_id" in inspect.signature(method).parameters
    }
    everyone = {name for name in vars(FrameworkStore) if not name.startswith("_")}
    assert named == calls.keys() | {"search", "list_sessions"} == everyone - {"expire"}
    for name, call in calls.items():
        with pytest.raises(AlreadyExists) as caught:
            await call()
        assert caught.value.detail["path"] == "principal_id", name
    # What takes the beginning of a path leaves out what is another's.
    beginning: dict[str, Any] = {**_home(at), "path": ["shared"], "principal_id": "eve"}
    sessions = await store.frameworks.list_sessions(**beginning)
    assert [one.path for one in sessions.items] == [("shared", "eves")]
    found = await store.frameworks.search(**beginning)
    assert [one.path for one in found] == [("shared", "eves")]
    checkpoints = await store.frameworks.read_checkpoints(**_home(at), principal_id="eve")
    assert {one.path for one in checkpoints} == {("shared", "eves")}
    for read in (store.frameworks.read_checkpoints, store.frameworks.delete_sessions):
        with pytest.raises(AlreadyExists):
            await read(**beginning)
    assert await everything() == before
    # What is new below a person's is theirs, or refused; below nobody's it is whose it is made for.
    new = {**at, "path": [*at["path"], "below", "new"]}
    item = FrameworkRecordChange(path=new["path"], key="v", content=1)
    makers: list[Callable[[str | None], Awaitable[Any]]] = [
        lambda who: store.frameworks.append(**new, records=[_item("a")], principal_id=who),
        lambda who: store.frameworks.put(**_home(at), records=[item], principal_id=who),
        lambda who: store.frameworks.put_session(
            **new, state={}, expected_version=0, principal_id=who
        ),
        lambda who: store.frameworks.fork_session(
            **_home(at), from_path=["shared", who or "nobodys"], path=new["path"], principal_id=who
        ),
    ]
    await store.frameworks.append(
        **{**at, "path": ["shared", "nobodys"]}, records=[_item("a")], principal_id=None
    )
    await store.frameworks.append(
        **{**at, "path": ["shared", "eve"]}, records=[_item("a")], principal_id="eve"
    )
    for make in makers:
        if owner is not None:
            with pytest.raises(AlreadyExists):
                await make("eve")
            assert await store.frameworks.find_session(**new) is None
        for who in (None,) if owner else (None, "eve"):
            await make(who)
            made = await store.frameworks.find_session(**new)
            assert made is not None
            assert made.principal_id == (owner or who)
            await store.frameworks.delete_sessions(**new)
    # Whose it is, and who names nobody, are let in.
    for who in (owner, None):
        assert len((await store.frameworks.list(**at, principal_id=who)).items) == 1
    await store.frameworks.prune_checkpoints(**_home(at), run_ids=[f"r{owner}"], principal_id=owner)
    assert await store.frameworks.delete_sessions(**at, principal_id=owner) == 2


async def test_a_fork_is_a_copy_of_its_own(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store, "thread")
    await store.frameworks.append(**at, records=[_item("a", data=b"x"), _item("b")])
    await store.frameworks.append(**{**at, "path": ["thread", "in"]}, records=[_item("c")])
    to = {**_home(at), "path": ["copy"]}
    assert await store.frameworks.fork_session(**to, from_path=["thread"]) == 2
    await store.frameworks.append(**to, records=[_item("d")])
    original = (await store.frameworks.list(**at)).items
    copied = (await store.frameworks.list(**to)).items
    assert [one.replace(path=("copy",)) for one in original] == [*copied[:2]]
    assert [one.position for one in copied] == [1, 2, 3]
    with pytest.raises(AlreadyExists):
        await store.frameworks.fork_session(**to, from_path=["thread"])
    with pytest.raises(InvalidArgument):
        await store.frameworks.fork_session(**_home(at), path=["copy", "in"], from_path=["copy"])
    assert await store.frameworks.fork_session(**_home(at), from_path=["no"], path=["x"]) == 0


def _checkpoint(number: int, parent: int | None = None, **fields: Any) -> list[Any]:
    """Return a checkpoint that names the values a of its own and b of the first, and its writes."""
    return [
        FrameworkRecordChange(
            path=["thread"],
            collection="checkpoints",
            key=f"c{number}",
            content={
                "type": "x",
                "parent": parent and f"c{parent}",
                "channels": {"a": f"v{number}", "b": "v1", "gone": "v9"},
            },
            data=b"state",
            metadata={"step": number, **fields},
        ),
        *(
            FrameworkRecordChange(
                path=["thread"],
                collection="channels",
                key=f"v{number}:{channel}",
                content={"type": "y"},
                data=f"{channel}{number}".encode(),
                mode="keep",
            )
            for channel in "ab"
        ),
        *(
            FrameworkRecordChange(
                path=["thread"],
                collection="writes",
                key=f"c{number}:{task}:{index}",
                content={
                    "type": "z",
                    "channel": "a",
                    "task_id": task,
                    "task_path": path,
                    "idx": index,
                },
                data=b"",
                mode="keep",
            )
            for task, path, index in (("t2", "", 10), ("t2", "", 9), ("t1", "~p", 0))
        ),
    ]


async def test_checkpoints_are_read_with_their_values_and_writes_b15(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store, "thread")
    # The newest first: which is the latest depends on the id, not on who comes last.
    for number in (3, 1, 2):
        done = await store.frameworks.put(
            **_home(at), records=_checkpoint(number, number - 1 or None)
        )
        assert {one.outcome for one in done} == {"inserted"}
    await store.frameworks.put(
        **_home(at),
        records=[
            FrameworkRecordChange(
                path=["thread", "sub"], collection="checkpoints", key="c9", content={"channels": {}}
            )
        ],
    )
    (latest,) = await store.frameworks.read_checkpoints(**at, exact=True, limit=1)
    assert (latest.id, latest.data, latest.metadata) == ("c3", b"state", {"step": 3})
    assert sorted(latest.channels or ()) == [("a", "y", b"a3"), ("b", "y", b"b1")]
    assert [write[0] for write in latest.writes or ()] == ["t2", "t2", "t1"]

    async def ids(**fields: Any) -> list[str]:
        return [one.id for one in await store.frameworks.read_checkpoints(**at, **fields)]

    assert await ids() == ["c9", "c3", "c2", "c1"]
    assert await ids(before_id="c3") == ["c2", "c1"]
    assert await ids(checkpoint_id="c2", exact=True) == ["c2"]
    assert await ids(filter={"step": 1}) == ["c1"]
    assert await ids(limit=2, exact=True) == ["c3", "c2"]


async def test_pruning_keeps_what_the_newest_needs_b89(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store, "thread")
    for number in range(1, 6):
        run = {"run_id": "r" * 300} if number < 3 else {}
        records = _checkpoint(number, number - 1 or None, **run)
        await store.frameworks.put(**_home(at), records=records)

    async def kept() -> tuple[list[str], list[str]]:
        read = await store.frameworks.read_checkpoints(**at)
        named = [f"v{number}:{channel}" for number in range(1, 6) for channel in "ab"]
        values = await store.frameworks.find(
            **_home(at),
            wanted=[
                FrameworkRecordReference(path=["thread"], collection="channels", key=key)
                for key in named
            ],
        )
        return [one.id for one in read], _keys(values)

    with pytest.raises(LimitExceeded):
        await store.frameworks.prune_checkpoints(**_home(at), run_ids=["r" * 300])
    assert await store.frameworks.prune_checkpoints(**_home(at), run_ids=["r"]) == 0
    assert await store.frameworks.prune_checkpoints(**at) == 4
    assert await kept() == (["c5"], ["v1:b", "v5:a"])
    assert await store.frameworks.prune_checkpoints(**at) == 0
    await store.frameworks.put(**_home(at), records=_checkpoint(6, 5, run_id="run"))
    await store.frameworks.put(
        **_home(at), records=_checkpoint(7, 6, counters_since_delta_snapshot={"a": 1})
    )
    await store.frameworks.put(**_home(at), records=_checkpoint(0))
    assert await store.frameworks.prune_checkpoints(**at) == 1
    assert (await kept())[0] == ["c7", "c6", "c5"]
    assert await store.frameworks.prune_checkpoints(**_home(at), run_ids=["run"]) == 1
    assert (await kept())[0] == ["c7", "c5"]


async def test_large_values_are_in_parts_that_versions_share_b89(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store, "thread")
    parts = {"p1": b"ab", "p2": b"cd", "p3": b"e"}

    def change(collection: str, key: str, **fields: Any) -> FrameworkRecordChange:
        return FrameworkRecordChange(path=["thread"], collection=collection, key=key, **fields)

    async def read(checkpoint_id: str) -> Any:
        (found,) = await store.frameworks.read_checkpoints(**at, checkpoint_id=checkpoint_id)
        assert found.channels is not None
        return found.channels[0][2]

    values = {"c0": ["p1", "p9"], "c1": ["p1", "p2", "p1"], "c2": ["p2", "p3"]}
    for key, names in values.items():
        records = [
            change("checkpoints", key, content={"channels": {"a": key}}),
            change("channels", f"{key}:a", content={"type": "y", "parts": names}),
            *(change("parts", name, data=data, mode="keep") for name, data in parts.items()),
        ]
        await store.frameworks.put(**_home(at), records=records)
    assert await read("c1") == b"abcdab"
    assert await read("c2") == b"cde"
    assert await read("c0") is None, "whole or not at all"
    assert await store.frameworks.prune_checkpoints(**at) == 2
    wanted = [
        FrameworkRecordReference(path=["thread"], collection="parts", key=name) for name in parts
    ]
    assert _keys(await store.frameworks.find(**_home(at), wanted=wanted)) == ["p2", "p3"]
    assert await read("c2") == b"cde"


async def test_limits_are_refused_before_anything_is_written_b53(adapter: Adapter) -> None:
    store = adapter.store
    at = await _place(store)
    # Four bytes a character, in the longest entries that the indexes can have.
    wide = ["😀" * 250]
    await store.frameworks.append(**{**at, "path": wide}, records=[_item("😁" * 255)])
    with pytest.raises(LimitExceeded) as caught:
        await store.frameworks.append(**{**at, "path": [*wide, "x"]}, records=[_item("a")])
    assert caught.value.detail == {"path": "path", "limit": 1000, "actual": 1001}
    with pytest.raises(LimitExceeded) as caught:
        await store.frameworks.append(
            **at, records=[_item("a"), _item("b", metadata={"k": "x" * 65_536})]
        )
    assert caught.value.detail["path"] == "records[1].metadata"
    with pytest.raises(LimitExceeded):
        await store.frameworks.append(**at, records=[_item(str(n)) for n in range(501)])
    for word in ("", "Upper", "a" * 64, "a b"):
        with pytest.raises(InvalidArgument) as refused:
            await store.frameworks.append(**at, records=[_item("a")], collection=word)
        assert refused.value.detail["path"] == "collection"
    with pytest.raises(InvalidArgument) as odd:
        await store.frameworks.put(
            **_home(at), records=[_value(["p"], "k", embeddings=[[1.0], [1.0, 2.0]])]
        )
    assert odd.value.detail["path"] == "records[0].embeddings"
    assert (await store.frameworks.list(**at)).items == ()


async def test_users_append_and_put_nothing(adapter: Adapter) -> None:
    at = await _place(adapter.store)
    async with adapter.user(at["tenant_id"], OWNER) as user:
        for call in (
            user.frameworks.append(**at, records=[_item("a")]),
            user.frameworks.put(**_home(at), records=[_value(["p"], "k")]),
            user.frameworks.expire(tenant_id=at["tenant_id"]),
        ):
            with pytest.raises(PermissionDenied):
                await call
    assert (await adapter.store.frameworks.list_sessions(**_home(at))).items == ()


async def test_old_sessions_are_swept_from_below_but_not_what_was_put_to_last(
    adapter: Adapter,
) -> None:
    store = adapter.store
    at = await _place(store, "thread")
    of: dict[str, Any] = {"tenant_id": at["tenant_id"]}
    await store.frameworks.append(**at, records=[_item("a"), _item("b")])
    await store.frameworks.put(
        **_home(at),
        records=[
            _value(["thread", "sub"], "c1", collection="checkpoints"),
            _value(["names"], "ada"),
            _value(["files"], "1", collection="versions"),
        ],
    )
    await store.frameworks.put_session(
        **{**at, "path": ["app"]}, state={"a": 1}, expected_version=0
    )

    async def left() -> list[str]:
        page = await store.frameworks.list_sessions(**_home(at))
        return ["/".join(session.path) for session in page.items]

    keep: dict[str, Any] = {**of, "kind": "framework_sessions"}
    await store.lifecycle.set_policy(**keep, keep_seconds=3600, expected_version=0)
    (swept,) = await store.lifecycle.sweep(**of)
    assert (swept.row_count, swept.held, swept.has_more) == (0, 0, False)
    await store.lifecycle.set_policy(**keep, keep_seconds=0, expected_version=1)
    (swept,) = await store.lifecycle.sweep(**of, limit=1)
    assert (swept.row_count, swept.has_more) == (1, True)
    assert await left() == ["app", "files", "names", "thread"]
    (swept,) = await store.lifecycle.sweep(**of, limit=3)
    assert (swept.row_count, swept.has_more) == (2, False)
    assert await left() == ["files", "names"]
    assert (await store.frameworks.list(**at)).items == ()
    (again,) = await store.frameworks.append(**at, records=[_item("a")])
    assert (again.position, again.outcome) == (1, "inserted")
