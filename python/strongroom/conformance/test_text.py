"""Text: byte-exact where PostgreSQL can hold it, and one policy on every path where it cannot."""

# ruff: noqa: RUF001 (look-alikes on purpose)

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given

from strongroom.client import Ports
from strongroom.conformance import (
    calls_catalog,
    calls_evaluations,
    calls_frameworks,
    calls_ledgers,
    calls_memory,
)
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    all_messages,
    at,
    new_talk,
    new_tenant,
    said,
    say,
    texts_of,
)
from strongroom.conformance.strategies import TRICKY_TEXTS, quick, texts
from strongroom.errors import InvalidText
from strongroom.models import (
    AgentBinding,
    Conversation,
    ErrorPart,
    NewMessage,
    QuestionPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Viewer,
)
from strongroom.models.base import JsonValue

Call = Callable[[Ports, Conversation, str], Awaitable[object]]


def _append(*messages: NewMessage) -> Callable[[Ports, Conversation], Awaitable[object]]:
    return lambda store, talk: store.messages.append(**at(talk), messages=list(messages))


def _tool(output: JsonValue) -> NewMessage:
    part = ToolResultPart(tool_call_id="c", tool_name="t", output=output)
    return NewMessage(role="tool", parts=[part])


def _run(talk: Conversation) -> dict[str, Any]:
    return {"tenant_id": talk.tenant_id, "run_id": "no-run", "claim_token": 1}


TEXT_PATHS: dict[str, Call] = {
    "messages[0].parts[0].text": lambda s, t, x: _append(said(x))(s, t),
    "messages[1].parts[1].text": lambda s, t, x: _append(
        said("fine"), NewMessage(role="user", parts=[TextPart(text="fine"), TextPart(text=x)])
    )(s, t),
    "messages[0].id": lambda s, t, x: _append(said("fine", id=x))(s, t),
    "messages[0].author_id": lambda s, t, x: _append(said("fine", author_id=x))(s, t),
    "messages[0].run_id": lambda s, t, x: _append(said("fine", run_id=x))(s, t),
    "messages[0].parts[0].output": lambda s, t, x: _append(_tool(x))(s, t),
    "messages[0].parts[0].output.a[1].b": lambda s, t, x: _append(_tool({"a": [0, {"b": x}]}))(
        s, t
    ),
    "messages[0].parts[0].detail": lambda s, t, x: _append(
        NewMessage(role="user", parts=[ErrorPart(code="c", message="m", detail=x)])
    )(s, t),
    "messages[0].parts[0].options[1]": lambda s, t, x: _append(
        NewMessage(role="user", parts=[QuestionPart(question_id="q", text="?", options=["a", x])])
    )(s, t),
    "messages[0].parts[0].provider_metadata.p.k": lambda s, t, x: _append(
        NewMessage(role="user", parts=[TextPart(text="", provider_metadata={"p": {"k": x}})])
    )(s, t),
    "messages[0].metadata.k": lambda s, t, x: _append(said("fine", metadata={"k": x}))(s, t),
    "state.k": lambda s, t, x: s.session_state.put(**at(t), state={"k": x}, expected_version=0),
    "patch.k[0]": lambda s, t, x: s.session_state.patch(
        **at(t), patch={"k": [x]}, expected_version=0
    ),
    "text": lambda s, t, x: s.summaries.append(**at(t), text=x, covers_to_position=1),
    "metadata.k": lambda s, t, x: s.summaries.append(
        **at(t), text="fine", covers_to_position=1, metadata={"k": x}
    ),
    "title": lambda s, t, x: s.conversations.create(tenant_id=t.tenant_id, owner_id=OWNER, title=x),
    "external_ref": lambda s, t, x: s.conversations.create(
        tenant_id=t.tenant_id, owner_id=OWNER, external_ref=x
    ),
    "owner_id": lambda s, t, x: s.conversations.create(tenant_id=t.tenant_id, owner_id=x),
    "participant_ids[1]": lambda s, t, x: s.conversations.create(
        tenant_id=t.tenant_id, owner_id=OWNER, participant_ids=["fine", x]
    ),
    "agent_id": lambda s, t, x: s.conversations.bind_agent(
        **at(t), agent=AgentBinding(agent_id=x), expected_version=1
    ),
    "changes.title": lambda s, t, x: s.conversations.update(**at(t), title=x, expected_version=1),
    "changes.metadata.k": lambda s, t, x: s.conversations.update(
        **at(t), metadata={"k": x}, expected_version=1
    ),
    "name": lambda s, t, x: s.tenants.create(tenant_id=t.tenant_id + "2", name=x),
    "principal_id": lambda s, t, x: s.tenants.add_member(tenant_id=t.tenant_id, principal_id=x),
    "role_ids[0]": lambda s, t, x: s.tenants.add_member(
        tenant_id=t.tenant_id, principal_id="p", role_ids=[x]
    ),
    "conversation_id": lambda s, t, x: s.conversations.find(
        tenant_id=t.tenant_id, conversation_id=x
    ),
    "message_id": lambda s, t, x: s.messages.find(tenant_id=t.tenant_id, message_id=x),
    "prompt": lambda s, t, x: s.interactions.ask(**_run(t), prompt=x),
    "options[1]": lambda s, t, x: s.interactions.ask(**_run(t), prompt="?", options=["fine", x]),
    "addressee_id": lambda s, t, x: s.interactions.ask(**_run(t), prompt="?", addressee_id=x),
    "input.a[0]": lambda s, t, x: s.interactions.request_approval(
        **_run(t), tool_name="pay", input={"a": [x]}
    ),
    "tool_name": lambda s, t, x: s.interactions.request_approval(**_run(t), tool_name=x, input={}),
    "viewer_id": lambda s, t, x: s.messages.list(**at(t), viewer=Viewer(principal_id=x)),
    "after": lambda s, t, x: s.messages.list(**at(t), after=x),
    **calls_catalog.TEXT_PATHS,
    **calls_memory.TEXT_PATHS,
    **calls_frameworks.TEXT_PATHS,
    **calls_evaluations.TEXT_PATHS,
    **calls_ledgers.TEXT_PATHS,
}
"""Every kind of place where a caller's text goes to the database, by the path of its refusal."""

UNSTORABLE = {
    "NUL": "a\x00b",
    "high half": "cut \ud83d",
    "low half": "\ude00 cut",
    "halves in the wrong order": "\ude00\ud83d",
}


@pytest.mark.parametrize("path", sorted(TEXT_PATHS))
async def test_text_that_cannot_be_stored_is_refused_before_any_write_b47_b49(
    adapter: Adapter, path: str
) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "1")
    before = await store.conversations.get(**at(talk))
    for what, text in UNSTORABLE.items():
        with pytest.raises(InvalidText) as caught:
            await TEXT_PATHS[path](store, talk, text)
        assert caught.value.code == "SR003"
        assert caught.value.detail["path"] == path, what
        assert caught.value.hint
    assert await store.conversations.get(**at(talk)) == before
    assert texts_of(await all_messages(store, talk)) == ["1"]
    assert (await store.session_state.get(**at(talk))).version == 0
    assert await store.summaries.latest(**at(talk)) is None
    assert len((await store.conversations.list(tenant_id=talk.tenant_id)).items) == 1
    assert (await store.tenants.list_members(tenant_id=talk.tenant_id)).items == ()


async def test_keys_of_objects_are_text_too_b47(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for text in UNSTORABLE.values():
        for call in (
            _append(_tool({"a": {text: 1}}))(store, talk),
            _append(said("fine", metadata={text: 1}))(store, talk),
            store.session_state.put(**at(talk), state={"a": [{text: 1}]}, expected_version=0),
        ):
            with pytest.raises(InvalidText) as caught:
                await call
            assert caught.value.detail["path"].split(".")[0] in {"messages[0]", "state"}
    assert await all_messages(store, talk) == []


async def test_one_bad_message_of_ten_refuses_the_batch_b47(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    batch = [
        said("a\x00b" if number == 6 else str(number), id=f"m{number}") for number in range(10)
    ]
    with pytest.raises(InvalidText) as caught:
        await store.messages.append(**at(talk), messages=batch)
    assert caught.value.detail["path"] == "messages[6].parts[0].text"
    assert await all_messages(store, talk) == []
    batch[6] = said("6", id="m6")
    done = await store.messages.append(**at(talk), messages=batch)
    assert {item.outcome for item in done.items} == {"inserted"}


async def test_the_replacing_policy_stores_u_fffd_everywhere_b47_b49(adapter: Adapter) -> None:
    async with adapter.replacing() as store:
        talk = await new_talk(store)
        bad = "a\x00b\ud83d\U0001f600\ude00c"
        good = "a\ufffdb\ufffd\U0001f600\ufffdc"
        await store.messages.append(
            **at(talk),
            messages=[
                said(bad, id="m\x00", metadata={bad: bad}),
                _tool({bad: [bad, {"k": bad}]}),
                NewMessage(
                    role="assistant",
                    parts=[ToolCallPart(tool_call_id=bad, tool_name=bad, input=bad)],
                ),
            ],
        )
        first, second, third = await all_messages(adapter.store, talk)
        assert (first.id, texts_of([first]), first.metadata) == ("m\ufffd", [good], {good: good})
        assert second.parts[0].to_json()["output"] == {good: [good, {"k": good}]}
        assert third.parts[0].to_json()["input"] == good
        state = await store.session_state.put(**at(talk), state={bad: bad}, expected_version=0)
        assert state.state == {good: good}
        summary = await store.summaries.append(**at(talk), text=bad, covers_to_position=1)
        assert summary.text == good
        named = await store.conversations.create(
            tenant_id=talk.tenant_id, owner_id=bad, title=bad, participant_ids=[bad]
        )
        assert (named.owner_id, named.title, named.participant_ids) == (good, good, (good,))
        # Repeats are known, and what was written can be found under the name that it was given.
        repeat = await store.messages.append(
            **at(talk), messages=[said(bad, id="m\x00", metadata={bad: bad})]
        )
        assert repeat.items[0].outcome == "duplicate"
        found = await store.messages.get(tenant_id=talk.tenant_id, message_id="m\x00")
        assert found == first


@pytest.mark.parametrize("text", TRICKY_TEXTS, ids=range(len(TRICKY_TEXTS)))
async def test_well_formed_text_is_exact_everywhere_b49(adapter: Adapter, text: str) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    talk = await store.conversations.create(
        tenant_id=tenant_id,
        owner_id=text,
        conversation_id=text,
        title=text,
        external_ref=text,
        participant_ids=[text],
        metadata={text: [text]},
    )
    await store.messages.append(
        **at(talk), messages=[said(text, id=text, author_id=text, metadata={text: text})]
    )
    await store.session_state.put(**at(talk), state={text: {text: text}}, expected_version=0)
    await store.summaries.append(**at(talk), text=text, covers_to_position=1, summary_id=text)
    found = await store.conversations.get(tenant_id=tenant_id, conversation_id=text)
    for value in (found.id, found.owner_id, found.title, found.external_ref):
        assert value is not None
        assert value.encode() == text.encode()
    assert (found.participant_ids, found.metadata) == ((text,), {text: [text]})
    message = await store.messages.get(tenant_id=tenant_id, message_id=text)
    assert (texts_of([message]), message.author_id) == ([text], text)
    assert message.metadata == {text: text}
    assert (await store.session_state.get(**at(talk))).state == {text: {text: text}}
    summary = await store.summaries.latest(**at(talk))
    assert summary is not None
    assert (summary.id, summary.text) == (text, text)
    viewer = Viewer(principal_id=text)
    page = await store.conversations.list(
        tenant_id=tenant_id, viewer=viewer, owner_id=text, external_ref=text
    )
    assert page.items == (found,)


async def test_text_that_looks_alike_is_not_the_same_b49(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    alike = ["é", "e\u0301", "E\u0301", "e", "e ", " e", "ｅ", "е", "ß", "ss", "a", "A", "\u200da"]
    for name in alike:
        made = await store.conversations.create(
            tenant_id=tenant_id, owner_id=OWNER, conversation_id=name, external_ref=name
        )
        assert made.outcome == "inserted", repr(name)
    for name in alike:
        found = await store.conversations.get(tenant_id=tenant_id, conversation_id=name)
        assert found.id == name


@quick
@given(text=texts, cut=texts)
async def test_a_text_in_pieces_is_the_sum_of_its_pieces_b49(
    adapter: Adapter, text: str, cut: str
) -> None:
    """Streamed deltas, cut wherever a character ends, with nothing lost or normalised."""
    store, talk = adapter.store, await new_talk(adapter.store)
    pieces = [*text, *cut]
    message = NewMessage(role="assistant", parts=[TextPart(text=piece) for piece in [*pieces, ""]])
    await store.messages.append(**at(talk), messages=[message])
    stored = (await all_messages(store, talk))[0]
    joined = "".join(str(part.to_json()["text"]) for part in stored.parts)
    assert joined.encode() == (text + cut).encode()
