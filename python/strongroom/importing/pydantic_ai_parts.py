"""The parts of pydantic-ai's messages, turned into ours."""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import JsonValue

from strongroom.importing.locations import data_url, located_part, media_type_of
from strongroom.importing.place import Fields, Place, metadata_of
from strongroom.importing.strict_json import parse_arguments
from strongroom.models.messages import Role
from strongroom.models.parts import (
    ErrorPart,
    MessagePart,
    ReasoningPart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

NAMESPACE = "pydantic_ai"
_BYTES = "application/octet-stream"
_URL_KINDS = {
    "image-url": "image/*",
    "audio-url": "audio/*",
    "video-url": "video/*",
    "document-url": _BYTES,
}
_MARKS = {
    "compaction",
    "instruction-baseline",
    "instruction-delta",
    "tool-availability-delta",
    "capability-load-delta",
    "model-settings-delta",
}
_REQUEST_ROLES: dict[str, Role] = {
    "system-prompt": "system",
    "user-prompt": "user",
    "speech": "user",
    "tool-return": "tool",
    "retry-prompt": "tool",
    "retry-feedback": "system",
    **dict.fromkeys(_MARKS, "system"),
}
_RESPONSE_KINDS = {
    "text",
    "thinking",
    "tool-call",
    "builtin-tool-call",
    "builtin-tool-return",
    "file",
    "speech",
    "compaction",
}


def role_of(kind: str, part_kind: str, part: Fields) -> Role:
    """Return the role that a part's message gets, or refuse a part of an unknown kind.

    Args:
        kind: ``request`` or ``response``.
        part_kind: what the framework calls the part.
        part: its other fields.
    """
    known = _REQUEST_ROLES if kind == "request" else _RESPONSE_KINDS
    if part_kind not in known:
        raise part.place.fault(
            part.at("part_kind"),
            f"{part_kind!r} is not a known part of a {kind}",
            hint="A newer version of the framework may have written it; nothing was imported.",
        )
    if kind == "response":
        return "assistant"
    if part_kind == "retry-prompt" and part.peek("tool_name") is None:
        return "system"
    return _REQUEST_ROLES[part_kind]


def parts_of(part_kind: str, part: Fields) -> list[MessagePart]:
    """Return our parts for one part of the framework; only a user prompt may give several.

    Args:
        kind: ``request`` or ``response``.
        part_kind: what the framework calls the part.
        part: its other fields.
    """
    made = _MAKERS[part_kind](part_kind, part)
    return made if isinstance(made, list) else [made]


def _text(_kind: str, part: Fields) -> MessagePart:
    text = part.required_text("content")
    return TextPart(text=text, provider_metadata=metadata_of(NAMESPACE, part.rest()))


def _thinking(_kind: str, part: Fields) -> MessagePart:
    text = part.required_text("content")
    return ReasoningPart(text=text, provider_metadata=metadata_of(NAMESPACE, part.rest()))


def _file(kind: str, part: Fields) -> MessagePart:
    return _binary(part.object("content"), {"part_kind": kind}, part)


def _marked(kind: str, part: Fields) -> MessagePart:
    text = part.text("content") if isinstance(part.peek("content"), str) else None
    return _mark(kind, text, part)


def _mark(status: str, text: str | None, part: Fields) -> MessagePart:
    return StatusPart(
        status=status, text=text, provider_metadata=metadata_of(NAMESPACE, part.rest())
    )


def _call(part_kind: str, part: Fields) -> MessagePart:
    marks: dict[str, JsonValue] = {}
    value = part.take("args")
    if isinstance(value, str):
        value, marks = parse_arguments(value)
        value = part.place.check(value, part.at("args"))
    if part_kind != "tool-call":
        marks = {**marks, "part_kind": part_kind}
    return part.place.make(
        ToolCallPart,
        part.path,
        tool_call_id=part.required_text("tool_call_id"),
        tool_name=part.required_text("tool_name"),
        input=value,
        provider_metadata=metadata_of(NAMESPACE, marks, part.rest()),
    )


def _result(part_kind: str, part: Fields) -> MessagePart:
    outcome = part.peek("outcome")
    if not part.has("content"):
        raise part.place.fault(part.at("content"), "is required")
    marks: dict[str, JsonValue] = {} if part_kind == "tool-return" else {"part_kind": part_kind}
    return part.place.make(
        ToolResultPart,
        part.path,
        tool_call_id=part.required_text("tool_call_id"),
        tool_name=part.required_text("tool_name"),
        output=part.take("content"),
        is_error=outcome not in (None, "success"),
        provider_metadata=metadata_of(NAMESPACE, marks, part.rest()),
    )


def _retry(part_kind: str, part: Fields) -> MessagePart:
    """Older histories have one kind for both: with a tool's name it answers a call."""
    content = part.take("content")
    name = part.text("tool_name")
    if name is not None:
        return part.place.make(
            ToolResultPart,
            part.path,
            tool_call_id=part.required_text("tool_call_id"),
            tool_name=name,
            output=content,
            is_error=True,
            provider_metadata=metadata_of(NAMESPACE, {"part_kind": part_kind}, part.rest()),
        )
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return ErrorPart(
        code=part_kind,
        message=text,
        retryable=True,
        detail=None if isinstance(content, str) else content,
        provider_metadata=metadata_of(NAMESPACE, part.rest()),
    )


def _speech(_kind: str, part: Fields) -> list[MessagePart]:
    transcript = part.text("transcript")
    heard: list[MessagePart] = []
    if part.peek("audio") is not None:
        heard.append(_binary(part.object("audio"), {"part_kind": "speech"}))
    extras: dict[str, JsonValue] = {"part_kind": "speech", **part.rest()}
    spoken = TextPart(text=transcript or "", provider_metadata=metadata_of(NAMESPACE, extras))
    return [spoken, *heard]


def _prompt(_kind: str, part: Fields) -> list[MessagePart]:
    content = part.peek("content")
    if isinstance(content, str):
        return [_text("user-prompt", part)]
    if not isinstance(content, list):
        raise part.place.fault(part.at("content"), "must be a string or a list")
    path = part.at("content")
    part.take("content")
    made = [_item(item, part.place, f"{path}[{i}]") for i, item in enumerate(content)]
    extras = part.rest()
    if not extras:
        return made
    # What the prompt as a whole says (its time) is kept with its first part.
    first = made[0] if made else TextPart(text="")
    held = {**extras, **(first.provider_metadata or {}).get(NAMESPACE, {})}
    return [first.replace(provider_metadata={NAMESPACE: held}), *made[1:]]


def _item(value: JsonValue, place: Place, path: str) -> MessagePart:
    if isinstance(value, str):
        return TextPart(text=value)
    item = Fields(value, place, path)
    kind = item.required_text("kind")
    if kind in ("text-content", "structured-content"):
        extras: dict[str, JsonValue] = {} if kind == "text-content" else {"kind": kind}
        text = item.required_text("content")
        return TextPart(text=text, provider_metadata=metadata_of(NAMESPACE, extras, item.rest()))
    if kind == "binary":
        return _binary(item, {})
    if kind in _URL_KINDS:
        url = item.required_text("url")
        media_type = item.text("media_type") or media_type_of(url, _URL_KINDS[kind])
        return located_part(
            place,
            item.at("url"),
            NAMESPACE,
            url=url,
            media_type=media_type,
            extras={"kind": kind, **item.rest()},
        )
    if kind == "uploaded-file":
        # A provider's file id must never be taken for one of ours, so it goes into a url.
        provider = item.required_text("provider_name")
        return located_part(
            place,
            item.at("file_id"),
            NAMESPACE,
            url=f"urn:{provider}:file:{item.required_text('file_id')}",
            media_type=item.text("media_type") or _BYTES,
            extras={"kind": kind, **item.rest()},
        )
    if kind == "cache-point":
        return _mark(kind, None, item)
    raise place.fault(item.at("kind"), f"{kind!r} is not a known kind of content")


def _binary(
    item: Fields, extras: dict[str, JsonValue], around: Fields | None = None
) -> MessagePart:
    media_type = item.required_text("media_type")
    url = data_url(item.required_text("data"), media_type)
    held: dict[str, JsonValue] = {**extras, **item.rest()}
    if around is not None and around.rest():
        held["part"] = around.rest()
    return located_part(
        item.place, item.at("data"), NAMESPACE, url=url, media_type=media_type, extras=held
    )


_MAKERS: dict[str, Callable[[str, Fields], MessagePart | list[MessagePart]]] = {
    "system-prompt": _text,
    "user-prompt": _prompt,
    "text": _text,
    "thinking": _thinking,
    "tool-call": _call,
    "builtin-tool-call": _call,
    "tool-return": _result,
    "builtin-tool-return": _result,
    "retry-prompt": _retry,
    "retry-feedback": _retry,
    "speech": _speech,
    "file": _file,
    **dict.fromkeys(_MARKS, _marked),
}
