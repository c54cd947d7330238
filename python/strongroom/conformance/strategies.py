"""Hypothesis strategies: any text, any JSON, any of the 13 parts, any message."""

# ruff: noqa: RUF001 (look-alikes on purpose)

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from strongroom.models import (
    ApprovalPart,
    ArtifactPart,
    CitationPart,
    ErrorPart,
    FilePart,
    ImagePart,
    MessagePart,
    NewMessage,
    QuestionPart,
    ReasoningPart,
    SourcePart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from strongroom.models.base import JsonValue

TRICKY_TEXTS = [
    "👩‍👩‍👧‍👦 family, joined by U+200D",
    "👍🏽 skin tone, 🏳️‍🌈 flag, 🇩🇪 country, 1️⃣ keycap",
    "שלום עולם \u200f(right to left)\u200e",
    "مرحبا بالعالم",
    "e\u0301 is not é, and \u1112\u1161\u11ab is not 한",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
    "\ufeffa byte order mark, a noncharacter \uffff, private \ue000, \U0010ffff",
    "\u2028\u2029 line separators, \r\n, \x01\x1f\x7f control characters",
    "back\\slash \\u0000 written out, 'quotes' \"both\", $$dollars$$, %s, {braces}",
    "  spaces at both ends \t",
    "日本語のテキスト",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 outside of the first plane",
]

quick = settings(
    max_examples=int(os.environ.get("STRONGROOM_EXAMPLES", "25")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For properties whose every example talks to the adapter. STRONGROOM_EXAMPLES asks for more of them."""

_characters = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
texts = st.one_of(st.sampled_from(TRICKY_TEXTS), st.text(_characters, max_size=40))
"""Any text that PostgreSQL can hold."""

ids = st.text(_characters, min_size=1, max_size=255) | st.sampled_from(TRICKY_TEXTS)
urls = st.sampled_from(["https://example.org/ä?q=%20#f", "file:///x", "data:,x"]) | ids

_numbers = (
    st.integers(min_value=-(2**80), max_value=2**80)
    | st.integers(min_value=-3, max_value=3)
    | st.floats(allow_nan=False, allow_infinity=False)
)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | _numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
json_objects: st.SearchStrategy[dict[str, JsonValue]] = st.dictionaries(
    texts, json_values, max_size=4
)

_counts = st.integers(min_value=0, max_value=2**53 - 1)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def _part(kind: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    namespaces = st.dictionaries(
        st.sampled_from(["openai", "anthropic", "名前"]), json_objects, max_size=2
    )
    return st.builds(kind, provider_metadata=_maybe(namespaces), **fields)


_located = st.one_of(
    st.fixed_dictionaries({"file_id": ids, "url": _maybe(urls)}),
    st.fixed_dictionaries({"file_id": st.none(), "url": urls}),
)


def _located_part(kind: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    others = st.fixed_dictionaries({"media_type": ids, **fields})
    return st.builds(lambda place, rest: kind(**place, **rest), _located, others)


PARTS: dict[str, st.SearchStrategy[MessagePart]] = {
    "text": _part(TextPart, text=texts),
    "reasoning": _part(ReasoningPart, text=texts),
    "tool-call": _part(ToolCallPart, tool_call_id=ids, tool_name=ids, input=json_values),
    "tool-result": _part(
        ToolResultPart, tool_call_id=ids, tool_name=ids, output=json_values, is_error=st.booleans()
    ),
    "question": _part(
        QuestionPart, question_id=ids, text=texts, options=_maybe(st.lists(texts, max_size=3))
    ),
    "approval": _part(
        ApprovalPart,
        approval_id=ids,
        tool_call_id=ids,
        tool_name=ids,
        input=json_values,
        decision=st.sampled_from(
            ["pending", "allow-once", "allow-conversation", "allow-always", "deny"]
        ),
    ),
    "file": _located_part(FilePart, name=_maybe(ids), size_bytes=_maybe(_counts)),
    "image": _located_part(
        ImagePart, alt=_maybe(texts), width=_maybe(_counts), height=_maybe(_counts)
    ),
    "citation": _part(
        CitationPart,
        source_id=ids,
        quote=_maybe(texts),
        locator=_maybe(texts),
        start=_maybe(_counts),
        end=_maybe(_counts),
    ),
    "source": _part(
        SourcePart, source_id=ids, source_type=ids, title=_maybe(texts), url=_maybe(urls)
    ),
    "artifact": _part(
        ArtifactPart,
        artifact_id=ids,
        version=st.integers(min_value=1, max_value=2**53 - 1),
        title=_maybe(texts),
        media_type=_maybe(ids),
    ),
    "status": _part(StatusPart, status=ids, text=_maybe(texts)),
    "error": _part(ErrorPart, code=ids, message=texts, retryable=st.booleans(), detail=json_values),
}
"""A strategy for each part type."""

parts: st.SearchStrategy[MessagePart] = st.one_of(list(PARTS.values()))

messages = st.builds(
    NewMessage,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    parts=st.lists(parts, min_size=1, max_size=5),
    author_id=_maybe(ids),
    run_id=_maybe(ids),
    turn=_maybe(st.integers(min_value=0, max_value=2**31 - 1)),
    metadata=json_objects,
)
"""Any message without an id."""


def numbers_as_stored(value: Any) -> Any:
    """Return a JSON value with its numbers as they come back.

    JSON knows no difference between 1e23 and 100000000000000000000000, so a float may come back as an
    int of the same digits. Nothing else changes.
    """
    if isinstance(value, dict):
        return {key: numbers_as_stored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [numbers_as_stored(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return ("number", float(value))
