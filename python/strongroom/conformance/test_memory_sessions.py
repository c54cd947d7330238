"""MemoryStore: raw messages of sessions, appended once, inspected without a trace, and save policies."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, at, fresh, new_talk, new_tenant, walk
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidText,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    StrongroomError,
)
from strongroom.memory_sessions import MemorySession
from strongroom.models import MemoryAppendResult, MemoryContext
from strongroom.models.memory_sessions import SavePolicy

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
ANSWER: dict[str, Any] = {"role": "assistant", "content": "Good day"}


async def _session(store: Ports, **fields: Any) -> dict[str, Any]:
    context = MemoryContext(session_id=fresh("session"), **fields)
    return {"tenant_id": await new_tenant(store), "context": context}


def _outcomes(done: MemoryAppendResult) -> list[tuple[str, int | None]]:
    return [(item.outcome, item.message_position) for item in done.items]


# --- load, append, clear ------------------------------------------------------------------------


async def test_a_session_is_its_id_and_its_user_and_begins_empty(adapter: Adapter) -> None:
    memory, tenant_id = adapter.store.memory, await new_tenant(adapter.store)
    contexts = [
        MemoryContext(session_id="one"),
        MemoryContext(session_id="one", user_id="ada"),
        MemoryContext(session_id="one", user_id="bob"),
        MemoryContext(session_id="ada", user_id="one"),
    ]
    for context in contexts:
        assert await memory.load(tenant_id=tenant_id, context=context) == []
    assert (await memory.list_conversations(tenant_id=tenant_id)).items == ()
    for number, context in enumerate(contexts):
        done = await memory.append(
            tenant_id=tenant_id, context=context, run_id="r", turn=0, messages=[number, HELLO]
        )
        assert _outcomes(done) == [("inserted", 1), ("inserted", 2)]
    for number, context in enumerate(contexts):
        assert await memory.load(tenant_id=tenant_id, context=context) == [number, HELLO]
    assert await memory.clear(tenant_id=tenant_id, context=contexts[1]) is True
    assert await memory.clear(tenant_id=tenant_id, context=contexts[1]) is False
    left = [await memory.load(tenant_id=tenant_id, context=context) for context in contexts]
    assert [len(messages) for messages in left] == [2, 0, 2, 2]
    for wrong in ("", "x" * 256):
        with pytest.raises(InvalidArgument):
            MemoryContext(session_id=wrong)
        with pytest.raises(InvalidArgument):
            MemoryContext(session_id="s", user_id=wrong)


async def test_a_repeated_append_is_known_and_equal_content_is_none_b09(adapter: Adapter) -> None:
    memory, of = adapter.store.memory, await _session(adapter.store)
    run: dict[str, Any] = {**of, "run_id": "r", "turn": 0}
    first = await memory.append(**run, messages=[HELLO, HELLO], append_id="a")
    assert _outcomes(first) == [("inserted", 1), ("inserted", 2)]
    again = await memory.append(**run, messages=[HELLO, HELLO], append_id="a")
    assert _outcomes(again) == [("duplicate", 1), ("duplicate", 2)]
    # The same words in another call are said again.
    for append_id in ("b", None, None):
        said = await memory.append(**run, messages=[HELLO], append_id=append_id)
        assert said.items[0].outcome == "inserted"
    # A known call with other messages stores none of them, and says so.
    other = await memory.append(**run, messages=[HELLO, ANSWER, ANSWER], append_id="a")
    assert _outcomes(other) == [("duplicate", 1), ("conflict", 2), ("conflict", None)]
    assert len(other.conflicts) == 2
    assert await memory.load(**of) == [HELLO] * 5
    assert (await memory.append(**run, messages=[], append_id="c")).items == ()
    # Half of a call can never be stored: one message that cannot be refuses all.
    with pytest.raises(InvalidText):
        await memory.append(**run, messages=[ANSWER, "\x00"], append_id="d")
    done = await memory.append(**run, messages=[ANSWER, "fine"], append_id="d")
    assert _outcomes(done) == [("inserted", 6), ("inserted", 7)]


async def test_a_message_with_an_id_is_stored_once_in_its_session_b07(adapter: Adapter) -> None:
    memory, of = adapter.store.memory, await _session(adapter.store)
    one: Any = {"id": "m1", "text": "one"}
    two: Any = {"id": "m2", "text": "two"}
    changed: Any = {**one, "text": "changed"}
    long: Any = {"id": "ä" * 5_000, "text": "long"}
    first = await memory.append(**of, run_id="r", turn=0, messages=[one, one, changed, long])
    assert _outcomes(first) == [
        ("inserted", 1),
        ("duplicate", 1),
        ("conflict", 1),
        ("inserted", 2),
    ]
    # By another call, of another run, the order of its keys changed: the message is known.
    turned: Any = dict(reversed(one.items()))
    again = await memory.append(**of, run_id="r2", turn=5, messages=[two, turned, long])
    assert _outcomes(again) == [("inserted", 3), ("duplicate", 1), ("duplicate", 2)]
    late = await memory.append(**of, run_id="r3", turn=0, messages=[changed])
    assert _outcomes(late) == [("conflict", 1)]
    # What is no text is no id, and another session is another place.
    ids_that_are_none: list[Any] = [{"id": 7}, {"id": None}, {"id": ""}, {"id": ["m1"]}, "m1"]
    for no_id in ids_that_are_none:
        done = await memory.append(**of, run_id="r", turn=0, messages=[no_id, no_id])
        assert [item.outcome for item in done.items] == ["inserted"] * 2
    elsewhere = {**of, "context": MemoryContext(session_id="elsewhere")}
    done = await memory.append(**elsewhere, run_id="r", turn=0, messages=[changed])
    assert _outcomes(done) == [("inserted", 1)]
    assert (await memory.load(**of))[:3] == [one, long, two]


async def test_writers_of_one_session_take_turns_b03(adapter: Adapter) -> None:
    memory, of = adapter.store.memory, await _session(adapter.store, user_id="ada")
    batches = [[f"{writer}/{n}" for n in range(3)] for writer in range(8)]
    done = await asyncio.gather(
        *(
            memory.append(**of, run_id=f"r{number}", turn=0, messages=batch)
            for number, batch in enumerate(batches)
        )
    )
    stored = await memory.load(**of)
    assert len(stored) == 24
    positions = [item.message_position for result in done for item in result.items]
    assert sorted(position for position in positions if position) == [*range(1, 25)]
    for batch, result in zip(batches, done, strict=True):
        first = result.items[0].message_position
        assert first
        assert stored[first - 1 : first + 2] == batch


async def test_more_than_an_api_hands_out_at_once_comes_back_in_order_b01_b43(
    adapter: Adapter,
) -> None:
    memory, of = adapter.store.memory, await _session(adapter.store)
    for turn in range(3):
        await memory.append(
            **of, run_id="r", turn=turn, messages=[*range(turn * 500, turn * 500 + 500)]
        )
    assert await memory.load(**of) == [*range(1_500)]
    (summary,) = (await memory.list_conversations(tenant_id=of["tenant_id"])).items
    found = await memory.get_conversation(tenant_id=of["tenant_id"], ref=summary.ref)
    assert found is not None
    assert [stored.position for stored in found.messages] == [*range(1, 1_501)]
    with pytest.raises(LimitExceeded) as many:
        await memory.append(**of, run_id="r", turn=9, messages=[0] * 501)
    assert many.value.detail["path"] == "messages"


async def test_what_is_wrong_is_named_before_anything_is_written_b47_b49_b51(
    adapter: Adapter,
) -> None:
    memory, of = adapter.store.memory, await _session(adapter.store)
    good: dict[str, Any] = {**of, "run_id": "r", "turn": 0, "messages": [HELLO]}
    wrong: list[tuple[str, dict[str, Any], type[StrongroomError]]] = [
        ("messages[1].a", {"messages": [HELLO, {"a": "\ud83d"}]}, InvalidText),
        ("messages[1].a", {"messages": [HELLO, {"a": b"bytes"}]}, InvalidArgument),
        ("messages[1]", {"messages": [HELLO, "ä" * 530_000]}, LimitExceeded),
        ("messages", {"messages": None}, InvalidArgument),
        ("messages", {"messages": "text"}, InvalidArgument),
        ("run_id", {"run_id": ""}, InvalidArgument),
        ("run_id", {"run_id": "x" * 256}, LimitExceeded),
        ("run_id", {"run_id": "\x00"}, InvalidText),
        ("turn", {"turn": -1}, InvalidArgument),
        ("turn", {"turn": None}, InvalidArgument),
        ("turn", {"turn": 1.5}, InvalidArgument),
        ("append_id", {"append_id": ""}, InvalidArgument),
    ]
    for path, change, error in wrong:
        with pytest.raises(error) as caught:
            await memory.append(**{**good, **change})
        assert caught.value.detail["path"].startswith(path), (path, caught.value.detail)
    large = MemoryContext(session_id="s", metadata={"k": "ä" * 9_000})
    with pytest.raises(LimitExceeded) as metadata:
        await memory.append(**{**good, "context": large})
    assert metadata.value.detail["path"] == "metadata"
    failure: dict[str, Any] = {**of, "run_id": "r", "error": "e"}
    for path, change in (("error", {"error": "e" * 70_000}), ("messages", {"messages": [0] * 501})):
        with pytest.raises(LimitExceeded) as refused:
            await memory.record_error(**{**failure, **change})
        assert refused.value.detail["path"].startswith(path)
    assert (await memory.list_conversations(tenant_id=of["tenant_id"])).items == ()


# --- errors -------------------------------------------------------------------------------------


async def test_failed_runs_are_kept_apart_from_the_session(adapter: Adapter) -> None:
    memory, of = adapter.store.memory, await _session(adapter.store, user_id="ada")
    await memory.append(**of, run_id="r1", turn=0, messages=[HELLO])
    made = [
        await memory.record_error(
            **of, run_id=f"r{n}", error={"code": n}, messages=[ANSWER] * n, error_id=f"e{n}"
        )
        for n in range(4)
    ]
    assert [one.outcome for one in made] == ["inserted"] * 4
    assert await memory.load(**of) == [HELLO]
    again = await memory.record_error(
        **of, run_id="r2", error={"code": 2}, messages=[ANSWER] * 2, error_id="e2"
    )
    assert again == made[2].replace(outcome="duplicate")
    for other in (
        {"run_id": "r9", "error": {"code": 2}, "messages": [ANSWER] * 2},
        {"run_id": "r2", "error": {"code": 9}, "messages": [ANSWER] * 2},
        {"run_id": "r2", "error": {"code": 2}, "messages": []},
    ):
        with pytest.raises(AlreadyExists):
            await memory.record_error(**of, **other, error_id="e2")
    rows = await walk(lambda **page: memory.list_errors(**of, **page), limit=3, back=True)
    assert {row.id: (row.run_id, row.error, row.message_count) for row in rows} == {
        f"e{n}": (f"r{n}", {"code": n}, n) for n in range(4)
    }
    moments = [(row.created_at, row.id) for row in rows]
    assert moments == sorted(moments, reverse=True)
    found = await memory.find_error(**of, error_id="e3")
    assert found is not None
    assert found.messages == (ANSWER,) * 3
    assert await memory.find_error(**of, error_id="e9") is None
    # A first run may fail as well: there is a session then, and no history.
    new = {**of, "context": MemoryContext(session_id="new")}
    await memory.record_error(**new, run_id="r", error=None, messages=[HELLO])
    assert await memory.load(**new) == []
    assert len((await memory.list_errors(**new)).items) == 1
    await memory.clear(**of)
    assert (await memory.list_errors(**of)).items == ()


# --- the inspector ------------------------------------------------------------------------------


async def test_the_inspector_lists_newest_first_by_user_and_shows_positions_b41(
    adapter: Adapter,
) -> None:
    memory, tenant_id = adapter.store.memory, await new_tenant(adapter.store)
    inspector = memory.inspector
    for number in range(5):
        context = MemoryContext(
            session_id=f"s{number}",
            user_id=["ada", "bob", None][number % 3],
            metadata={"number": number} if number else None,
        )
        for turn in range(2):
            await memory.append(
                tenant_id=tenant_id,
                context=context,
                run_id=f"run {turn}",
                turn=turn,
                messages=[HELLO, ANSWER],
            )
    before = await inspector.list_conversations(tenant_id=tenant_id)
    made = [(row.created_at, row.ref) for row in before.items]
    assert made == sorted(made, reverse=True)
    assert {row.session_id for row in before.items} == {f"s{n}" for n in range(5)}
    for user_id, sessions in (("ada", {"s0", "s3"}), ("bob", {"s1", "s4"}), ("eve", set())):
        rows = await walk(
            lambda u=user_id, **page: memory.list_conversations(
                tenant_id=tenant_id, user_id=u, **page
            ),
            limit=1,
            back=True,
        )
        assert {row.session_id for row in rows} == sessions
        assert {row.user_id for row in rows} <= {user_id}
    assert len((await memory.list_conversations(tenant_id=tenant_id, limit=2)).items) == 2
    with pytest.raises(LimitExceeded):
        await memory.list_conversations(tenant_id=tenant_id, limit=501)
    for row in before.items:
        found = await inspector.get_conversation(tenant_id=tenant_id, ref=row.ref)
        assert found is not None
        summary = {name: getattr(found, name) for name in type(row).model_fields}
        assert summary == dict(row)
        assert row.message_count == 4
        assert row.metadata == (
            {} if row.session_id == "s0" else {"number": int(row.session_id[1])}
        )
        assert row.created_at <= row.updated_at
        assert [(one.position, one.run_id, one.turn, one.message) for one in found.messages] == [
            (1, "run 0", 0, HELLO),
            (2, "run 0", 0, ANSWER),
            (3, "run 1", 1, HELLO),
            (4, "run 1", 1, ANSWER),
        ]
        # The reference is the row's, and the session's name is none.
        assert await memory.get_conversation(tenant_id=tenant_id, ref=row.session_id) is None
    # Looking has changed nothing.
    assert await inspector.list_conversations(tenant_id=tenant_id) == before


async def test_metadata_is_the_last_that_was_given(adapter: Adapter) -> None:
    memory, tenant_id = adapter.store.memory, await new_tenant(adapter.store)
    seen = []
    for number, metadata in enumerate(({"a": 1}, None, {"b": 2}, {})):
        context = MemoryContext(session_id="s", metadata=metadata)
        await memory.append(
            tenant_id=tenant_id, context=context, run_id="r", turn=number, messages=[number]
        )
        (row,) = (await memory.list_conversations(tenant_id=tenant_id)).items
        seen.append(row.metadata)
    assert seen == [{"a": 1}, {"a": 1}, {"b": 2}, {}]


# --- what surrounds it --------------------------------------------------------------------------


async def test_failures_are_raised_and_never_an_empty_history_b83(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    context = MemoryContext(session_id="s", user_id=OWNER, conversation_id=talk.id)
    of: dict[str, Any] = {"tenant_id": talk.tenant_id, "context": context}
    await store.memory.append(**of, run_id="r", turn=0, messages=[HELLO])
    await store.memory.record_error(**of, run_id="r", error="e")
    (row,) = (await store.memory.list_conversations(tenant_id=talk.tenant_id)).items
    assert row.conversation_id == talk.id
    other = context.replace(conversation_id=(await new_talk(store, talk.tenant_id)).id)
    with pytest.raises(InvalidArgument):
        await store.memory.append(**{**of, "context": other}, run_id="r", turn=0, messages=[1])
    await store.conversations.soft_delete(**at(talk))
    for call in (
        store.memory.load(**of),
        store.memory.append(**of, run_id="r", turn=1, messages=[1]),
        store.memory.clear(**of),
        store.memory.record_error(**of, run_id="r", error="e"),
        store.memory.list_errors(**of),
    ):
        with pytest.raises(NotFound):
            await call
    assert (await store.memory.list_conversations(tenant_id=talk.tenant_id)).items == ()
    assert await store.memory.get_conversation(tenant_id=talk.tenant_id, ref=row.ref) is None
    await store.conversations.restore(**at(talk))
    assert await store.memory.load(**of) == [HELLO]
    # A person who is erased takes their sessions along, and so does a conversation.
    free = {**of, "context": MemoryContext(session_id="free", user_id=OWNER)}
    bobs = {**of, "context": MemoryContext(session_id="free", user_id="bob")}
    for place in (free, bobs):
        await store.memory.append(**place, run_id="r", turn=0, messages=[HELLO])
    receipt = await store.lifecycle.erase_principal(tenant_id=talk.tenant_id, principal_id=OWNER)
    assert receipt.count("transcripts") == 2
    assert receipt.count("transcript_messages") == 2
    assert receipt.count("transcript_errors") == 1
    assert await store.memory.load(**free) == []
    assert await store.memory.load(**bobs) == [HELLO]
    tenant = await store.tenants.get(tenant_id=talk.tenant_id)
    await store.tenants.suspend(tenant_id=tenant.tenant_id, expected_version=tenant.version)
    with pytest.raises(PermissionDenied):
        await store.memory.append(**bobs, run_id="r", turn=1, messages=[1])


# --- save policies ------------------------------------------------------------------------------


class _Broken(Exception):
    """What a model's provider raises."""


async def _agent(session: MemorySession, stored: list[int], *, fails: bool) -> None:
    """A run of two turns, a tool call in the first; notes how much is stored after each step."""
    async with session.run("run") as run:
        messages: list[Any] = [HELLO, {"role": "assistant", "tool_calls": ["t"]}, {"role": "tool"}]
        for message in messages:
            await run.add(message)
            stored.append(len(await session.load()))
        await run.end_turn()
        stored.append(len(await session.load()))
        await run.add(ANSWER)
        stored.append(len(await session.load()))
        if fails:
            raise _Broken("the line \x00 is dead")


STORED: dict[SavePolicy, tuple[list[int], int]] = {
    "message": ([1, 2, 3, 3, 4], 4),
    "turn": ([0, 0, 0, 3, 3], 3),
    "run": ([0, 0, 0, 0, 0], 0),
}
"""What is stored after each step, and when the run has failed."""


@pytest.mark.parametrize("policy", sorted(STORED))
async def test_a_policy_says_when_messages_are_stored(adapter: Adapter, policy: SavePolicy) -> None:
    steps, after_failure = STORED[policy]
    memory, of = adapter.store.memory, await _session(adapter.store, user_id="ada")
    stored: list[int] = []
    await _agent(MemorySession(memory, **of, save_policy=policy), stored, fails=False)
    assert stored == steps
    assert len(await memory.load(**of)) == 4
    assert (await memory.list_errors(**of)).items == ()
    (row,) = (await memory.list_conversations(tenant_id=of["tenant_id"])).items
    found = await memory.get_conversation(tenant_id=of["tenant_id"], ref=row.ref)
    assert found is not None
    turns = [one.turn for one in found.messages]
    assert turns == ([1] * 4 if policy == "run" else [0, 0, 0, 1])
    assert {one.run_id for one in found.messages} == {"run"}
    # A run that fails is recorded with all its messages, whatever was stored of them.
    failing = {**of, "context": MemoryContext(session_id="fails")}
    stored.clear()
    with pytest.raises(_Broken):
        await _agent(MemorySession(memory, **failing, save_policy=policy), stored, fails=True)
    assert stored == steps
    assert len(await memory.load(**failing)) == after_failure
    (failed,) = (await memory.list_errors(**failing)).items
    assert failed.error == {"type": "_Broken", "message": "the line \ufffd is dead"}
    record = await memory.find_error(**failing, error_id=failed.id)
    assert record is not None
    assert [message["role"] for message in record.messages] == [  # type: ignore[index,call-overload]
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


async def test_a_session_loads_what_was_said_before_and_raises_what_goes_wrong(
    adapter: Adapter,
) -> None:
    memory, of = adapter.store.memory, await _session(adapter.store)
    session = MemorySession(memory, **of)
    assert session.save_policy == "message"
    async with session.run() as run:
        assert run.history == []
        await run.add({**HELLO, "id": "m1"})
    async with session.run() as run:
        assert run.history == [{**HELLO, "id": "m1"}]
    # What is not stored because another message has its id is an error, and no silent loss.
    with pytest.raises(AlreadyExists):
        async with session.run() as run:
            await run.add({**ANSWER, "id": "m1"})
    (failed,) = (await memory.list_errors(**of)).items
    assert failed.error["code"] == "SR011"  # type: ignore[index,call-overload]
    with pytest.raises(InvalidArgument):
        MemorySession(None, **of)
    with pytest.raises(InvalidArgument):
        MemorySession(memory, **of, save_policy="never")  # type: ignore[arg-type]
    nowhere = MemorySession(memory, tenant_id=fresh("nowhere"), context=of["context"])
    with pytest.raises(NotFound):
        async with nowhere.run() as run:
            await run.add(HELLO)
    assert await session.clear() is True
    assert await session.load() == []
