"""Thread summaries, and the history that a model needs to go on."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    Where,
    all_messages,
    at,
    new_talk,
    new_tenant,
    say,
    texts_of,
    walk,
)
from strongroom.conformance.strategies import json_objects, numbers_as_stored, quick, texts
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidTransition,
    LimitExceeded,
    NotFound,
)
from strongroom.models import (
    Conversation,
    History,
    Message,
    NewMessage,
    TextPart,
    ThreadSummary,
    ToolCallPart,
    ToolResultPart,
)


async def test_append_latest_list(adapter: Adapter) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    assert await port.latest(**at(talk)) is None
    await say(adapter.store, talk, "1", "2", "3")
    one = await port.append(
        **at(talk), text="so far", covers_to_position=2, summary_id="s1", metadata={"by": "m"}
    )
    assert dict(one) == {
        "tenant_id": talk.tenant_id,
        "conversation_id": talk.id,
        "version": 1,
        "id": "s1",
        "covers_to_position": 2,
        "text": "so far",
        "metadata": {"by": "m"},
        "created_at": one.created_at,
        "outcome": "inserted",
    }
    latest = await port.latest(**at(talk))
    assert type(latest) is ThreadSummary
    assert dict(latest) == {k: v for k, v in dict(one).items() if k != "outcome"}
    two = await port.append(**at(talk), text="again", covers_to_position=2)
    three = await port.append(**at(talk), text="all", covers_to_position=3)
    assert (two.version, three.version) == (2, 3)
    assert [item.version for item in (await port.list(**at(talk))).items] == [1, 2, 3]
    backward = await port.list(**at(talk), direction="backward")
    assert [item.version for item in backward.items] == [3, 2, 1]


async def test_a_repeat_is_a_duplicate_also_after_newer_ones(adapter: Adapter) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    await say(adapter.store, talk, "1", "2", "3")
    first = await port.append(**at(talk), text="a", covers_to_position=1, summary_id="s")
    await port.append(**at(talk), text="b", covers_to_position=3)
    again = await port.append(**at(talk), text="a", covers_to_position=1, summary_id="s")
    assert again == first.replace(outcome="duplicate")
    other = await new_talk(adapter.store, talk.tenant_id)
    await say(adapter.store, other, "1", "2", "3")
    for place, text, covers in ((talk, "A", 1), (talk, "a", 2), (other, "a", 1)):
        with pytest.raises(AlreadyExists):
            await port.append(**at(place), text=text, covers_to_position=covers, summary_id="s")
    assert len((await port.list(**at(talk))).items) == 2
    assert await port.latest(**at(other)) is None


async def test_coverage_never_goes_back_and_never_ahead(adapter: Adapter) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    with pytest.raises(InvalidArgument):
        await port.append(**at(talk), text="nothing yet", covers_to_position=1)
    await say(adapter.store, talk, "1", "2", "3")
    await port.append(**at(talk), text="a", covers_to_position=2)
    with pytest.raises(InvalidTransition):
        await port.append(**at(talk), text="back", covers_to_position=1)
    for beyond in (4, 2**53):
        with pytest.raises(InvalidArgument):
            await port.append(**at(talk), text="ahead", covers_to_position=beyond)
    assert len((await port.list(**at(talk))).items) == 1


async def test_bad_summaries_are_refused(adapter: Adapter) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    await say(adapter.store, talk, "1")
    with pytest.raises(LimitExceeded) as too_long:
        await port.append(**at(talk), text="ä" * 600_000, covers_to_position=1)
    assert too_long.value.detail["path"] == "text"
    with pytest.raises(InvalidArgument) as empty:
        await port.append(**at(talk), text="", covers_to_position=1)
    assert empty.value.detail["path"] == "text"
    with pytest.raises(InvalidArgument) as zero:
        await port.append(**at(talk), text="x", covers_to_position=0)
    assert zero.value.detail["path"] == "covers_to_position"
    assert await port.latest(**at(talk)) is None
    absent = Where(tenant_id=await new_tenant(adapter.store), conversation_id="absent")
    for call in (
        port.append(**absent, text="x", covers_to_position=1),
        port.latest(**absent),
        port.list(**absent),
        port.history(**absent),
    ):
        with pytest.raises(NotFound):
            await call


async def test_summaries_at_once_get_contiguous_versions(adapter: Adapter) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    await say(adapter.store, talk, "1")
    made = await asyncio.gather(
        *(port.append(**at(talk), text=str(n), covers_to_position=1) for n in range(6))
    )
    assert sorted(one.version for one in made) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("direction", ["forward", "backward"])
async def test_pages_of_summaries(adapter: Adapter, direction: str) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    await say(adapter.store, talk, "1")
    for number in range(7):
        await port.append(**at(talk), text=str(number), covers_to_position=1)
    rows = await walk(
        lambda **page: port.list(**at(talk), **page), limit=2, direction=direction, back=True
    )
    expected = [str(number) for number in range(7)]
    assert [row.text for row in rows] == (expected if direction == "forward" else expected[::-1])


async def test_history_is_the_latest_summary_and_what_follows(adapter: Adapter) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    empty = await port.history(**at(talk))
    assert (empty.summary, empty.messages, empty.next_cursor) == (None, (), None)
    await say(adapter.store, talk, *(str(number) for number in range(1, 8)))
    whole = await port.history(**at(talk))
    assert (whole.summary, texts_of(whole.messages)) == (None, [str(n) for n in range(1, 8)])
    assert list(whole.messages) == await all_messages(adapter.store, talk)
    await port.append(**at(talk), text="1 to 3", covers_to_position=3)
    short = await port.history(**at(talk), limit=2)
    assert short.summary == await port.latest(**at(talk))
    assert texts_of(short.messages) == ["4", "5"]
    # A summary that comes between two pages does not make the second one skip anything.
    await port.append(**at(talk), text="1 to 6", covers_to_position=6)
    rest = await port.history(**at(talk), after=short.next_cursor)
    assert (rest.summary, texts_of(rest.messages), rest.next_cursor) == (None, ["6", "7"], None)
    await port.append(**at(talk), text="all", covers_to_position=7)
    nothing = await port.history(**at(talk))
    assert nothing.messages == ()
    assert nothing.summary is not None
    assert nothing.summary.text == "all"


Kind = tuple[str, str]


def _message(number: int, kind: Kind) -> NewMessage:
    what, call_id = kind
    if what == "call":
        part = ToolCallPart(tool_call_id=call_id, tool_name="t", input={})
        return NewMessage(role="assistant", parts=[TextPart(text=str(number)), part])
    if what == "result":
        return NewMessage(
            role="tool", parts=[ToolResultPart(tool_call_id=call_id, tool_name="t", output=number)]
        )
    return NewMessage(role="user", parts=[TextPart(text=str(number))])


async def _history(
    adapter: Adapter, kinds: list[Kind], covers: int
) -> tuple[Conversation, History]:
    talk = await new_talk(adapter.store)
    await adapter.store.messages.append(
        **at(talk), messages=[_message(number, kind) for number, kind in enumerate(kinds, 1)]
    )
    if covers:
        await adapter.store.summaries.append(**at(talk), text="s", covers_to_position=covers)
    return talk, await adapter.store.summaries.history(**at(talk))


def _calls(
    messages: tuple[Message, ...], kind: type[ToolCallPart | ToolResultPart]
) -> list[tuple[int, str]]:
    return [
        (message.position, part.tool_call_id)
        for message in messages
        for part in message.parts
        if isinstance(part, kind)
    ]


async def test_history_never_starts_with_an_orphaned_tool_result(adapter: Adapter) -> None:
    kinds = [("text", ""), ("call", "a"), ("call", "b"), ("result", "a"), ("result", "b")]
    for covers, first in ((0, 1), (1, 2), (2, 2), (3, 2), (4, 2), (5, None)):
        _, history = await _history(adapter, [*kinds, ("text", "")][:6], covers)
        positions = [message.position for message in history.messages]
        expected = list(range(first, 7)) if first else [6]
        assert positions == expected, covers


async def test_a_result_whose_call_is_nowhere_does_not_start_a_history(adapter: Adapter) -> None:
    kinds = [("text", ""), ("result", "lost"), ("result", "lost too"), ("text", "")]
    _, history = await _history(adapter, kinds, 1)
    assert [message.position for message in history.messages] == [4]


async def test_history_with_call_ids_that_are_used_again(adapter: Adapter) -> None:
    # Some models number their calls from the start in each turn.
    turn = [("call", "0"), ("result", "0"), ("text", "")]
    _, history = await _history(adapter, turn * 3, 4)
    assert [message.position for message in history.messages] == [4, 5, 6, 7, 8, 9]
    _, history = await _history(adapter, turn * 3, 1)
    assert [message.position for message in history.messages] == list(range(1, 10))


@quick
@given(
    steps=st.lists(st.sampled_from(["call", "text", "answer"]), min_size=1, max_size=12),
    data=st.data(),
)
async def test_every_result_in_a_history_has_its_call(
    adapter: Adapter, steps: list[str], data: st.DataObject
) -> None:
    """In sound conversations, wherever the summary ends, with calls answered in any order."""
    kinds: list[Kind] = []
    open_calls: list[str] = []
    for number, step in enumerate(steps):
        if step == "call":
            open_calls.append(f"c{number}")
            kinds.append(("call", f"c{number}"))
        elif step == "answer" and open_calls:
            call_id = data.draw(st.sampled_from(open_calls))
            open_calls.remove(call_id)
            kinds.append(("result", call_id))
        else:
            kinds.append(("text", ""))
    covers = data.draw(st.integers(min_value=0, max_value=len(kinds)))
    talk, history = await _history(adapter, kinds, covers)
    positions = [message.position for message in history.messages]
    assert positions == list(range(positions[0], len(kinds) + 1)) if positions else True
    assert set(range(covers + 1, len(kinds) + 1)) <= set(positions), "a message is missing"
    called = {call_id: place for place, call_id in _calls(history.messages, ToolCallPart)}
    for place, call_id in _calls(history.messages, ToolResultPart):
        assert called[call_id] < place
    earlier = [place for place in positions if place <= covers]
    if earlier:
        stored = {message.position: message for message in await all_messages(adapter.store, talk)}
        first = stored[earlier[0]]
        answered = {call_id for _, call_id in _calls(history.messages, ToolResultPart)}
        assert {call_id for _, call_id in _calls((first,), ToolCallPart)} & answered, (
            "it starts earlier than a result needs"
        )


@quick
@given(text=texts.filter(bool), metadata=json_objects)
async def test_any_summary_comes_back_as_given(
    adapter: Adapter, text: str, metadata: dict[str, object]
) -> None:
    port, talk = adapter.store.summaries, await new_talk(adapter.store)
    await say(adapter.store, talk, "1")
    await port.append(**at(talk), text=text, covers_to_position=1, metadata=metadata)  # type: ignore[arg-type]
    found = await port.latest(**at(talk))
    assert found is not None
    assert found.text == text
    assert numbers_as_stored(found.metadata) == numbers_as_stored(metadata)
