"""Messages: append, outcomes, order, parts."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    Where,
    all_messages,
    at,
    fresh,
    new_talk,
    new_tenant,
    said,
    say,
    texts_of,
)
from strongroom.conformance.strategies import PARTS, messages, numbers_as_stored, quick
from strongroom.errors import InvalidArgument, LimitExceeded, NotFound, StrongroomError
from strongroom.models import (
    AppendResult,
    Message,
    MessagePart,
    NewMessage,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def _outcomes(result: AppendResult) -> list[tuple[str, int | None, str | None]]:
    return [(item.outcome, item.position, item.conflict) for item in result.items]


async def test_append_and_read(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    new = [
        said("Where is my parcel?", id="m1", author_id="ada", metadata={"channel": "web"}),
        NewMessage(
            id="m2",
            role="assistant",
            parts=[
                ReasoningPart(text="A tool knows."),
                ToolCallPart(tool_call_id="c1", tool_name="track", input={"parcel": 7}),
            ],
            run_id="r1",
            turn=0,
        ),
        NewMessage(
            id="m3",
            role="tool",
            parts=[ToolResultPart(tool_call_id="c1", tool_name="track", output=["Zürich", None])],
        ),
    ]
    done = await store.messages.append(**at(talk), messages=new)
    assert [item.id for item in done.items] == ["m1", "m2", "m3"]
    assert _outcomes(done) == [("inserted", position, None) for position in (1, 2, 3)]
    stored = await all_messages(store, talk)
    for item, given_message, message in zip(done.items, new, stored, strict=True):
        assert type(message) is Message
        assert dict(message) == {
            "tenant_id": talk.tenant_id,
            "conversation_id": talk.id,
            "position": item.position,
            "id": given_message.id,
            "role": given_message.role,
            "parts": given_message.parts,
            "author_id": given_message.author_id,
            "run_id": given_message.run_id,
            "turn": given_message.turn,
            "metadata": given_message.metadata,
            "forked_from_id": None,
            "created_at": item.created_at,
        }
        for read in (store.messages.get, store.messages.find):
            assert await read(tenant_id=talk.tenant_id, message_id=message.id) == message
    assert await store.messages.count(**at(talk)) == 3
    assert await store.messages.find(tenant_id=talk.tenant_id, message_id="m4") is None
    with pytest.raises(NotFound) as caught:
        await store.messages.get(tenant_id=talk.tenant_id, message_id="m4")
    assert caught.value.detail["path"] == "message_id"


async def test_an_empty_conversation(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for page in (
        await store.messages.list(**at(talk)),
        await store.messages.list(**at(talk), direction="backward"),
        await store.messages.latest(**at(talk)),
    ):
        assert (page.items, page.next_cursor, page.previous_cursor) == ((), None, None)
    assert await store.messages.count(**at(talk)) == 0


async def test_a_repeat_is_a_no_op_that_says_so(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    message = said("hi", id="m", metadata={"b": 1, "a": [{"y": 1, "x": 2}]})
    first = await store.messages.append(**at(talk), messages=[message])
    reordered = message.replace(metadata={"a": [{"x": 2, "y": 1}], "b": 1})
    for again in (message, reordered):
        repeat = await store.messages.append(**at(talk), messages=[again])
        assert _outcomes(repeat) == [("duplicate", 1, None)]
        assert repeat.items[0].created_at == first.items[0].created_at
    assert len(await all_messages(store, talk)) == 1


CHANGED: dict[str, dict[str, object]] = {
    "text": {"parts": (TextPart(text="hi!"),)},
    "more parts": {"parts": (TextPart(text="hi"), TextPart(text="!"))},
    "type": {"parts": (ReasoningPart(text="hi"),)},
    "provider data": {"parts": (TextPart(text="hi", provider_metadata={"p": {"a": 1}}),)},
    "role": {"role": "assistant"},
    "author": {"author_id": "eve"},
    "run": {"run_id": "r"},
    "turn": {"turn": 0},
    "metadata": {"metadata": {"a": 2}},
    "true is not 1": {"metadata": {"a": True}},
    "text is not a number": {"metadata": {"a": "1"}},
    "null is not absent": {"metadata": {"a": 1, "b": None}},
}


@pytest.mark.parametrize("what", sorted(CHANGED))
async def test_other_content_under_a_used_id_is_a_conflict(adapter: Adapter, what: str) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    message = said("hi", id="m", metadata={"a": 1})
    await store.messages.append(**at(talk), messages=[message])
    before = await all_messages(store, talk)
    result = await store.messages.append(
        **at(talk), messages=[said("before"), message.replace(**CHANGED[what]), said("after")]
    )
    assert _outcomes(result) == [
        ("inserted", 2, None),
        ("conflict", None, "other-content"),
        ("inserted", 3, None),
    ]
    assert (await all_messages(store, talk))[:1] == before
    assert texts_of(await all_messages(store, talk)) == ["hi", "before", "after"]


async def test_numbers_that_json_holds_equal_are_no_difference(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for first, second in ((1, 1.0), (100, 1e2), (0.5, 0.50), (10**22, 1e22)):
        new = said("n", id=fresh("m"), metadata={"n": first})
        await store.messages.append(**at(talk), messages=[new])
        again = await store.messages.append(
            **at(talk), messages=[new.replace(metadata={"n": second})]
        )
        assert again.items[0].outcome == "duplicate", (first, second)


async def test_an_id_never_moves_to_another_conversation_b07(adapter: Adapter) -> None:
    store, one = adapter.store, await new_talk(adapter.store)
    other = await new_talk(store, one.tenant_id)
    message = said("mine", id="m")
    await store.messages.append(**at(one), messages=[message])
    for attempt in (message, said("moved", id="m")):
        result = await store.messages.append(**at(other), messages=[attempt])
        assert _outcomes(result) == [("conflict", None, "other-conversation")]
    assert await all_messages(store, other) == []
    assert await store.messages.count(**at(other)) == 0
    found = await store.messages.get(tenant_id=one.tenant_id, message_id="m")
    assert (found.conversation_id, texts_of([found])) == (one.id, ["mine"])


async def test_a_batch_is_all_or_nothing_b09(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    call = NewMessage(
        id="call",
        role="assistant",
        parts=[ToolCallPart(tool_call_id="c", tool_name="t", input={})],
    )
    result = NewMessage(
        id="result",
        role="tool",
        parts=[ToolResultPart(tool_call_id="c", tool_name="t", output="x" * 1_100_000)],
    )
    with pytest.raises(LimitExceeded) as caught:
        await store.messages.append(**at(talk), messages=[call, result])
    assert caught.value.detail["path"].startswith("messages[1].parts")
    assert await all_messages(store, talk) == []
    mended = result.replace(
        parts=(ToolResultPart(tool_call_id="c", tool_name="t", output="short"),)
    )
    done = await store.messages.append(**at(talk), messages=[call, mended])
    assert _outcomes(done) == [("inserted", 1, None), ("inserted", 2, None)]
    repeat = await store.messages.append(**at(talk), messages=[call, mended])
    assert _outcomes(repeat) == [("duplicate", 1, None), ("duplicate", 2, None)]
    assert [message.id for message in await all_messages(store, talk)] == ["call", "result"]


async def test_a_repeat_that_has_grown_appends_the_new_tail(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    batch = [said(f"n{number}", id=f"m{number}") for number in range(4)]
    await store.messages.append(**at(talk), messages=batch[1:3])
    result = await store.messages.append(**at(talk), messages=batch)
    assert _outcomes(result) == [
        ("inserted", 3, None),
        ("duplicate", 1, None),
        ("duplicate", 2, None),
        ("inserted", 4, None),
    ]
    assert [message.position for message in await all_messages(store, talk)] == [1, 2, 3, 4]


async def test_an_id_twice_in_a_batch_is_refused(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    with pytest.raises(InvalidArgument) as caught:
        await store.messages.append(
            **at(talk), messages=[said("a", id="m"), said("b"), said("a", id="m")]
        )
    assert caught.value.detail["path"] == "messages[2].id"
    assert await all_messages(store, talk) == []


async def test_order_is_append_order_whatever_the_ids_b01(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    names = ["z", "a", "m", "Z", "0", "ä", "_"]
    for start in (0, 7):
        await store.messages.append(
            **at(talk),
            messages=[said(f"{start + n}", id=f"{name}{start}") for n, name in enumerate(names)],
        )
    for _ in range(3):
        assert texts_of(await all_messages(store, talk)) == [str(n) for n in range(14)]
    newest = await store.messages.latest(**at(talk), limit=3)
    assert texts_of(newest.items) == ["11", "12", "13"]


async def test_parts_keep_their_order_b01(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    parts: list[MessagePart] = [TextPart(text=str(number)) for number in range(50)]
    parts.insert(25, ReasoningPart(text="in between"))
    await store.messages.append(**at(talk), messages=[NewMessage(role="assistant", parts=parts)])
    assert list((await all_messages(store, talk))[0].parts) == parts


async def test_the_latest_are_the_newest_oldest_first_b45(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "1", "2", "3", "4", "5")
    page = await store.messages.latest(**at(talk), limit=2)
    assert texts_of(page.items) == ["4", "5"]
    assert page.next_cursor is None
    earlier = await store.messages.list(**at(talk), before=page.previous_cursor, limit=2)
    assert texts_of(earlier.items) == ["2", "3"]
    assert earlier.previous_cursor is not None
    first = await store.messages.list(**at(talk), before=earlier.previous_cursor, limit=2)
    assert (texts_of(first.items), first.previous_cursor) == (["1"], None)
    whole = await store.messages.latest(**at(talk), limit=5)
    assert (texts_of(whole.items), whole.previous_cursor) == (["1", "2", "3", "4", "5"], None)


async def test_polling_by_position(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "1", "2", "3", "4")

    async def after(position: int, limit: int = 50) -> list[str]:
        found = await store.messages.list(**at(talk), after_position=position, limit=limit)
        return texts_of(found.items)

    assert await after(0) == ["1", "2", "3", "4"]
    assert await after(2) == ["3", "4"]
    assert await after(4) == []
    assert await after(2**63 - 1) == []
    await say(store, talk, "5")
    assert await after(4) == ["5"]
    page = await store.messages.list(**at(talk), after_position=1, limit=2)
    rest = await store.messages.list(**at(talk), after_position=1, after=page.next_cursor)
    assert texts_of([*page.items, *rest.items]) == ["2", "3", "4", "5"]
    newest = await store.messages.list(
        **at(talk), after_position=1, direction="backward", limit=500
    )
    assert texts_of(newest.items) == ["5", "4", "3", "2"]


async def test_five_hundred_at_once_and_no_more(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    done = await say(store, talk, *(str(number) for number in range(500)))
    assert [item.position for item in done.items] == list(range(1, 501))
    with pytest.raises(LimitExceeded) as caught:
        await say(store, talk, *("x" for _ in range(501)))
    assert caught.value.detail["path"] == "messages"
    with pytest.raises(InvalidArgument):
        await store.messages.append(**at(talk), messages=[])
    page = await store.messages.list(**at(talk), limit=500)
    assert (len(page.items), page.next_cursor) == (500, None)


async def test_more_messages_than_an_api_answers_with_b43(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for start in (0, 500, 1000):
        await say(store, talk, *(str(start + number) for number in range(500)))
    await say(store, talk, "1500")
    assert texts_of(await all_messages(store, talk)) == [str(number) for number in range(1501)]
    assert await store.messages.count(**at(talk)) == 1501


async def test_many_writers_of_one_conversation_leave_no_gap_b03(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)

    async def write(writer: int) -> None:
        for batch in range(5):
            size = 1 if (writer + batch) % 2 else 9
            done = await say(store, talk, *(f"{writer}.{batch}.{n}" for n in range(size)))
            positions = [item.position for item in done.items]
            first = positions[0]
            assert first is not None
            assert positions == list(range(first, first + size)), "a batch is torn apart"

    await asyncio.gather(*(write(writer) for writer in range(20)))
    rows = await all_messages(store, talk)
    assert [message.position for message in rows] == list(range(1, 501))
    assert len({message.id for message in rows}) == 500
    for writer in range(20):
        own = [text for text in texts_of(rows) if text.startswith(f"{writer}.")]
        assert own == sorted(own), "a writer's own order is not kept"


async def test_the_same_batch_from_many_at_once_is_stored_once_b09(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    batch = [said(str(number), id=f"m{number}") for number in range(10)]
    results = await asyncio.gather(
        *(store.messages.append(**at(talk), messages=batch) for _ in range(6))
    )
    kinds = sorted({item.outcome for item in result.items}.pop() for result in results)
    assert kinds == ["duplicate"] * 5 + ["inserted"]
    assert texts_of(await all_messages(store, talk)) == [str(number) for number in range(10)]


async def test_batches_in_opposite_order_never_deadlock_b17(adapter: Adapter) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    for _ in range(3):
        one, other = await new_talk(store, tenant_id), await new_talk(store, tenant_id)
        batch = [said(str(number), id=fresh("m")) for number in range(40)]
        results = await asyncio.gather(
            store.messages.append(**at(one), messages=batch),
            store.messages.append(**at(other), messages=batch[::-1]),
        )
        outcomes = [{item.outcome for item in result.items} for result in results]
        assert sorted(outcomes, key=str) == [{"conflict"}, {"inserted"}]
        counts = [await store.messages.count(**at(talk)) for talk in (one, other)]
        assert sorted(counts) == [0, 40]


async def test_writers_and_readers_of_another_process(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    async with adapter.second() as second:
        await say(store, talk, "one")
        await say(second, talk, "two")
        assert texts_of(await all_messages(store, talk)) == ["one", "two"]
        assert await all_messages(second, talk) == await all_messages(store, talk)
        repeat = said("three", id="m3")
        await store.messages.append(**at(talk), messages=[repeat])
        done = await second.messages.append(**at(talk), messages=[repeat])
        assert _outcomes(done) == [("duplicate", 3, None)]


async def test_what_hangs_on_no_conversation_is_not_found(adapter: Adapter) -> None:
    where = Where(tenant_id=await new_tenant(adapter.store), conversation_id="absent")
    messages_port = adapter.store.messages
    for call in (
        messages_port.append(**where, messages=[said("x")]),
        messages_port.list(**where),
        messages_port.latest(**where),
        messages_port.count(**where),
    ):
        with pytest.raises(NotFound) as caught:
            await call
        assert caught.value.detail["path"] == "conversation_id"


@pytest.mark.parametrize("kind", sorted(PARTS))
async def test_any_part_comes_back_as_given(adapter: Adapter, kind: str) -> None:
    talk = await new_talk(adapter.store)

    @quick
    @given(parts=st.lists(PARTS[kind], min_size=1, max_size=12))
    def gather(parts: list[MessagePart]) -> None:
        batches.append(parts)

    batches: list[list[MessagePart]] = []
    gather()
    new = [NewMessage(role="assistant", parts=parts) for parts in batches]
    await adapter.store.messages.append(**at(talk), messages=new)
    stored = await all_messages(adapter.store, talk)
    for given_message, message in zip(new, stored, strict=True):
        for part, back in zip(given_message.parts, message.parts, strict=True):
            assert type(back) is type(part)
            assert numbers_as_stored(back.to_json()) == numbers_as_stored(part.to_json())


@quick
@given(batch=st.lists(messages, min_size=1, max_size=4))
async def test_any_batch_comes_back_as_given_and_repeats_as_duplicates(
    adapter: Adapter, batch: list[NewMessage]
) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    named = [message.replace(id=fresh("m")) for message in batch]
    first = await store.messages.append(**at(talk), messages=named)
    assert {item.outcome for item in first.items} == {"inserted"}
    shuffled = json.loads(
        json.dumps([message.to_json() for message in reversed(named)], sort_keys=True)
    )
    again = await store.messages.append(
        **at(talk), messages=[NewMessage(**message) for message in shuffled]
    )
    assert {item.outcome for item in again.items} == {"duplicate"}
    stored = await all_messages(store, talk)
    for message, back in zip(named, stored, strict=True):
        as_new = NewMessage(**{name: getattr(back, name) for name in NewMessage.model_fields})
        assert numbers_as_stored(as_new.to_json()) == numbers_as_stored(message.to_json())


async def test_no_way_to_change_or_delete_a_message(adapter: Adapter) -> None:
    names = {name for name in dir(type(adapter.store.messages)) if not name.startswith("_")}
    forbidden = ("update", "delete", "remove", "edit", "replace", "purge")
    assert not [name for name in names if name.startswith(forbidden)]
    talk = await new_talk(adapter.store)
    assert talk.owner_id == OWNER
    with pytest.raises((StrongroomError, AttributeError, TypeError)):
        await adapter.store.messages.update(**at(talk))  # type: ignore[attr-defined]
