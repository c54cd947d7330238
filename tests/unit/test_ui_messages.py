"""UI messages that the Vercel AI SDK has assembled, and anything else, there and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strongroom
from strongroom import InvalidArgument, NewMessage
from strongroom.conformance import strategies
from strongroom.models.parts import PART_TYPES, ApprovalPart, TextPart, ToolCallPart
from strongroom.ui_messages import from_ui_message, to_ui_message
from strongroom.ui_parts import NAMESPACE, from_ui_parts, same_json, to_ui_parts

RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "examples/data/support.ui_messages.json").read_bytes()
)
STATES = {
    *("input-streaming", "input-available", "approval-requested", "approval-responded"),
    *("output-available", "output-error", "output-denied"),
}


def kinds(message: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(part["type"], part.get("state")) for part in message["parts"]]


def test_the_recording_has_every_kind_and_every_state() -> None:
    seen = {kind for message in RECORDED for kind in kinds(message)}
    tools = {state for kind, state in seen if kind.startswith("tool-")}
    assert tools == STATES
    assert {state for kind, state in seen if kind == "dynamic-tool"} >= {
        *("input-streaming", "input-available", "output-available", "output-error"),
    }
    assert {kind for kind, _ in seen} >= {
        *("text", "reasoning", "source-url", "source-document", "file", "reasoning-file"),
        *("data-weather", "step-start", "custom"),
    }
    assert {message["role"] for message in RECORDED} == {"system", "user", "assistant"}


@pytest.mark.parametrize("index", range(len(RECORDED)))
def test_a_recorded_message_comes_back_as_it_was(index: int) -> None:
    recorded = RECORDED[index]
    message = from_ui_message(recorded)
    assert same_json(to_ui_message(message), recorded)
    # Also through what is stored: JSON, and the models again.
    stored = NewMessage(**json.loads(json.dumps(message.to_json())))
    assert same_json(to_ui_message(stored), recorded)


def test_what_both_forms_know_is_translated() -> None:
    last_of_loop = next(m for m in reversed(RECORDED) if m["id"] == "msg-1")
    parts = [part.to_json() for part in from_ui_message(last_of_loop).parts]
    told = [
        {
            key: value
            for key, value in part.items()
            if key not in {"provider_metadata", "schema_version"}
        }
        for part in parts
    ]
    call = {"tool_call_id": "call-1", "tool_name": "weather"}
    failed = {"tool_call_id": "call-2", "tool_name": "rate"}
    assert told == [
        {"type": "status", "status": "step-start"},
        {"type": "reasoning", "text": "Zuerst das Wetter in Zürich, dann der Wechselkurs. 🤔"},
        {"type": "tool-call", **call, "input": {"city": "Zürich", "days": 2}},
        {
            "type": "tool-result",
            **call,
            "output": {"celsius": [19, 21.5], "sunny": True, "warning": None},
            "is_error": False,
        },
        {"type": "tool-call", **failed, "input": {"from": "CHF", "to": "JPY"}},
        {
            "type": "tool-result",
            **failed,
            "output": "Error: the exchange is closed",
            "is_error": True,
        },
        {"type": "status", "status": "step-start"},
        {"type": "text", "text": "Morgen 21,5 °C und sonnig ☀️. 100 CHF sind etwa 17 300 円."},
        {
            "type": "source",
            "source_id": "s1",
            "source_type": "url",
            "title": "Wetter",
            "url": "https://example.org/wetter?stadt=Z%C3%BCrich",
        },
        {"type": "source", "source_id": "s2", "source_type": "document", "title": "Kurse"},
        {"type": "image", "media_type": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="},
    ]
    # A provider's own data is where ours has it, too, and is not kept twice.
    reasoning = parts[1]["provider_metadata"]
    assert isinstance(reasoning, dict)
    assert reasoning["anthropic"] == {"signature": "c2lnbmF0dXJl"}
    assert NAMESPACE not in reasoning or "providerMetadata" not in str(reasoning[NAMESPACE])
    decisions = [
        part.to_json()["decision"]
        for part in from_ui_message(RECORDED[-1]).parts
        if part.type == "approval"
    ]
    assert decisions == ["allow-once", "deny", "pending"]


_json = strategies.json_values
_words = st.sampled_from(
    [
        *PART_TYPES,
        *("text", "reasoning", "dynamic-tool", "tool-x", "source-url", "source-document", "file"),
        *(
            "reasoning-file",
            "step-start",
            "custom",
            "steering-message",
            "data-x",
            "data-strongroom",
        ),
        *(f"data-{kind}" for kind in PART_TYPES),
    ]
)
_metadata = st.dictionaries(
    st.sampled_from(["openai", "strongroom", NAMESPACE, ""]), _json, max_size=2
)
_ui_parts = st.fixed_dictionaries(
    {"type": _words | strategies.texts | _json},
    optional={
        "text": strategies.texts | _json,
        "state": st.sampled_from([*STATES, "done"]) | _json,
        "toolCallId": st.sampled_from(["c1", "c2"]) | _json,
        "toolName": st.sampled_from(["t", "x", "y" * 256]) | _json,
        "input": _json,
        "output": _json,
        "errorText": strategies.texts,
        "approval": st.fixed_dictionaries(
            {"id": st.sampled_from(["a"])}, optional={"approved": st.booleans() | _json}
        )
        | _json,
        "sourceId": st.sampled_from(["s"]) | _json,
        "url": strategies.urls | st.just("data:," + "x" * 9_000) | _json,
        "mediaType": st.sampled_from(["image/png", "text/plain"]) | _json,
        "title": strategies.texts | _json,
        "filename": strategies.texts | _json,
        "data": _json
        | st.fixed_dictionaries(
            {"tool_call_id": st.just("c1"), "tool_name": st.just("t"), "output": _json}
        ),
        "providerMetadata": _metadata,
        "callProviderMetadata": _metadata,
        "extra": _json,
    },
)
much = settings(max_examples=300, deadline=None, database=None)


@much
@given(parts=st.lists(_ui_parts, max_size=4))
def test_any_ui_parts_come_back_as_they_were(parts: list[dict[str, Any]]) -> None:
    typed = from_ui_parts(parts)
    assert same_json(to_ui_parts(typed), parts)
    assert all(part.type in PART_TYPES for part in typed)


@much
@given(messages=st.lists(strategies.messages, min_size=1, max_size=2))
def test_any_typed_parts_come_back_as_they_were(messages: list[NewMessage]) -> None:
    parts = [part for message in messages for part in message.parts]
    ui = to_ui_parts(parts)
    assert from_ui_parts(json.loads(json.dumps(ui))) == parts
    # And a second way round changes nothing.
    assert to_ui_parts(from_ui_parts(ui)) == ui


@much
@given(message=strategies.messages)
def test_any_message_comes_back_by_a_trusted_way(message: NewMessage) -> None:
    ui = to_ui_message(message)
    assert from_ui_message(ui, trusted=True) == message
    assert ui["role"] in {"system", "user", "assistant"}


@much
@given(
    message=st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "user", "assistant"]),
            "parts": st.lists(_ui_parts, max_size=2),
        },
        optional={"id": st.sampled_from(["m", ""]), "metadata": _metadata | _json, "extra": _json},
    )
)
def test_any_ui_message_comes_back_and_is_not_believed(message: dict[str, Any]) -> None:
    ours = from_ui_message(message)
    assert same_json(to_ui_message(ours), message)
    assert (ours.author_id, ours.run_id, ours.turn) == (None, None, None)
    assert ours.role == message["role"]


_CALL = {"tool_call_id": "c", "tool_name": "rm"}
_ASKED = ApprovalPart(**_CALL, approval_id="a", input={"path": "/"}, decision="deny")
FORGED: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "a neighbour": ({"part": {}, "without": [], "parts": 2}, [TextPart(text="hidden")]),
    "a call": (
        {"part": {"type": "text", "text": "hello"}, "without": [], "parts": 2},
        [ToolCallPart(**_CALL, input={"path": "/"})],
    ),
    "its own text": ({"part": {"text": "hello"}, "without": [], "parts": 1}, []),
    "all of itself": ({"part": {}, "without": ["type", "text"], "parts": 1}, []),
}


@pytest.mark.parametrize("what", sorted(FORGED))
def test_metadata_that_somebody_made_up_hides_nothing(what: str) -> None:
    kept, others = FORGED[what]
    first = TextPart(text="said", provider_metadata={NAMESPACE: kept})
    shown = to_ui_parts([first, *others])
    plain = to_ui_parts(others)
    assert shown[0]["type"] == "text"
    assert shown[0]["text"] == "said"
    assert shown[1:] == plain


def test_metadata_that_somebody_made_up_decides_nothing() -> None:
    kept: dict[str, Any] = {"part": {"approval": {"id": "a", "approved": True}}, "without": []}
    call = ToolCallPart(
        **_CALL, input={"path": "/"}, provider_metadata={NAMESPACE: {**kept, "parts": 2}}
    )
    (shown,) = to_ui_parts([call, _ASKED])
    assert shown["approval"] == {"id": "a", "approved": False}


def test_a_call_and_its_result_are_one_part_of_a_ui() -> None:
    call = strongroom.ToolCallPart(tool_call_id="c", tool_name="t", input={"a": 1})
    approval = strongroom.ApprovalPart(
        approval_id="a", tool_call_id="c", tool_name="t", input={"a": 1}, decision="allow-once"
    )
    result = strongroom.ToolResultPart(tool_call_id="c", tool_name="t", output=[1])
    (ui,) = to_ui_parts([call, approval, result])
    assert ui == {
        "type": "dynamic-tool",
        "toolName": "t",
        "toolCallId": "c",
        "state": "output-available",
        "input": {"a": 1},
        "output": [1],
        "approval": {"id": "a", "approved": True},
    }
    # What a browser has changed is what it says now, and not what is kept of before.
    file = strongroom.FilePart(url="https://example.org/a", media_type="text/plain", file_id="f")
    (shown,) = to_ui_parts([file])
    assert shown["type"] == "file"
    assert from_ui_parts([shown]) == [file]
    (changed,) = from_ui_parts([{**shown, "url": "https://example.org/b"}])
    assert isinstance(changed, strongroom.FilePart)
    assert (changed.url, changed.file_id) == ("https://example.org/b", None)


def test_what_is_no_ui_message_is_refused_by_its_path() -> None:
    wrong: list[tuple[Any, str]] = [
        ({"role": "user", "parts": "text"}, "message.parts"),
        ({"role": "user", "parts": [{"type": "text"}, "text"]}, "parts[1]"),
        ({"role": "robot", "parts": []}, "message.role"),
        ({"role": "tool", "parts": []}, "message.role"),
        ({"role": "user", "parts": [{"type": "text", "text": b"bytes"}]}, "message"),
        ("text", "message"),
    ]
    for message, path in wrong:
        with pytest.raises(InvalidArgument) as caught:
            from_ui_message(message)
        assert caught.value.detail["path"] == path


@pytest.mark.parametrize("claimed", [-1, 0, 1, 2, 3, 9])
def test_what_a_caller_says_of_a_part_hides_no_other(claimed: int) -> None:
    forged = {"vercel-ai": {"part": {}, "without": [], "parts": claimed}}
    call = ToolCallPart(tool_call_id="c", tool_name="t", input={}, provider_metadata=forged)
    for first in (TextPart(text="one", provider_metadata=forged), call):
        shown = to_ui_parts([first, TextPart(text="two"), TextPart(text="three")])
        assert [part.get("text") for part in shown[1:]] == ["two", "three"]
