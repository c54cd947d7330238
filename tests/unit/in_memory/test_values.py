"""JSON goes in and comes out as copies, and is equal as jsonb is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom import (
    AlreadyExists,
    InvalidCursor,
    InvalidText,
    NewMessage,
    Strongroom,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from strongroom.in_memory import Database, memory_store
from strongroom.in_memory.pages import cursor_scope, decode_cursor, encode_cursor
from strongroom.in_memory.values import comparable, merge_json

TALK = {"tenant_id": "acme", "conversation_id": "talk"}


@pytest.fixture
async def store() -> Strongroom:
    store = memory_store(text_policy="reject")
    await store.tenants.create(tenant_id="acme", name="Acme", metadata={"a": [1]})
    await store.conversations.create(tenant_id="acme", conversation_id="talk", owner_id="ada")
    return store


async def test_nothing_that_went_in_or_came_out_is_a_handle_on_what_is_stored(store):
    state: Any = {"deep": {"list": [1]}}
    message = NewMessage(
        id="m",
        role="assistant",
        parts=[ToolCallPart(tool_call_id="c", tool_name="t", input={"deep": [1]})],
        metadata={"deep": [1]},
    )
    put = await store.session_state.put(**TALK, state=state, expected_version=0)
    await store.messages.append(**TALK, messages=[message])
    tenant = await store.tenants.get(tenant_id="acme")

    state["deep"]["list"].append(2)
    put.state["deep"]["list"].append(3)
    (await store.session_state.get(**TALK)).state.clear()
    message.parts[0].input["deep"].append(2)
    message.metadata["deep"].append(2)
    (await store.messages.get(tenant_id="acme", message_id="m")).parts[0].input.clear()
    (await store.messages.list(**TALK)).items[0].metadata.clear()
    (await store.summaries.history(**TALK)).messages[0].metadata.clear()
    tenant.metadata["a"].append(2)
    async with store.unit_of_work(tenant_id="acme") as uow:
        (await uow.session_state.get(**TALK)).state.clear()

    assert (await store.session_state.get(**TALK)).state == {"deep": {"list": [1]}}
    stored = await store.messages.get(tenant_id="acme", message_id="m")
    assert stored.parts[0].input == {"deep": [1]}
    assert stored.metadata == {"deep": [1]}
    assert (await store.tenants.get(tenant_id="acme")).metadata == {"a": [1]}


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ({"a": 1, "b": None}, {"b": None, "a": 1.0}, "duplicate"),
        ({"a": True}, {"a": 1}, "conflict"),
        ({"a": 0}, {"a": False}, "conflict"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "conflict"),
        ({"a": None}, {}, "conflict"),
        ({"a": 1.5e300}, {"a": 15 * 10**299}, "duplicate"),
        ({"a": 2**53 + 1}, {"a": float(2**53)}, "conflict"),
    ],
)
async def test_a_repeat_is_known_by_content_as_jsonb_compares(store, first, second, outcome):
    def message(metadata: dict[str, Any]) -> list[NewMessage]:
        return [NewMessage(id="m", role="user", parts=[TextPart(text="x")], metadata=metadata)]

    await store.messages.append(**TALK, messages=message(first))
    again = await store.messages.append(**TALK, messages=message(second))
    assert [item.outcome for item in again.items] == [outcome]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return value


@given(target=JSON, patch=JSON)
def test_a_merge_patch_is_idempotent_and_ends_at_what_it_says(target, patch):
    merged = merge_json(target, patch)
    assert comparable(merge_json(merged, patch)) == comparable(merged)
    assert comparable(merge_json({}, patch)) == comparable(without_nulls(patch))


@given(
    key=st.lists(st.integers() | st.text(st.characters(exclude_categories=["Cs"]))), cut=st.data()
)
def test_a_cursor_survives_whole_and_is_refused_with_any_character_changed(key, cut):
    scope = cursor_scope("list", ["a"], "forward")
    cursor = encode_cursor(scope, key)
    assert decode_cursor("after", cursor, scope) == key
    place = cut.draw(st.integers(0, len(cursor) - 1))
    other = cut.draw(st.characters().filter(lambda c: c != cursor[place]))
    for damaged in (cursor[:place] + other + cursor[place + 1 :], cursor[:place], cursor + other):
        with pytest.raises(InvalidCursor) as refused:
            decode_cursor("after", damaged, scope)
        assert refused.value.detail == {"path": "after"}
    with pytest.raises(InvalidCursor, match="another list, filter or direction"):
        decode_cursor("after", cursor, cursor_scope("list", ["a"], "backward"))


async def test_text_that_postgresql_cannot_hold_is_refused_or_replaced():
    database = Database()
    strict = memory_store(text_policy="reject", database=database)
    lenient = memory_store(text_policy="replace", database=database)
    with pytest.raises(InvalidText) as refused:
        await strict.tenants.create(tenant_id="acme", name="Acme", metadata={"a": ["\x00"]})
    assert refused.value.detail == {"path": "metadata.a[0]", "character": "U+0000"}
    made = await lenient.tenants.create(tenant_id="acme", name="A\x00", metadata={"a": ["\ud800"]})
    assert (made.name, made.metadata) == ("A\ufffd", {"a": ["\ufffd"]})
    assert await strict.tenants.find(tenant_id="acme") is not None
    with pytest.raises(AlreadyExists):
        await strict.tenants.create(tenant_id="acme", name="A")


async def test_history_finds_the_call_of_a_result_when_call_ids_are_used_again(store):
    """Some models number their calls anew in every turn."""

    def turn() -> list[NewMessage]:
        return [
            NewMessage(
                role="assistant", parts=[ToolCallPart(tool_call_id="1", tool_name="t", input={})]
            ),
            NewMessage(
                role="tool", parts=[ToolResultPart(tool_call_id="1", tool_name="t", output=1)]
            ),
        ]

    await store.messages.append(**TALK, messages=[*turn(), *turn()])
    await store.summaries.append(**TALK, text="called", covers_to_position=1)
    history = await store.summaries.history(**TALK)
    assert [message.position for message in history.messages] == [1, 2, 3, 4]
