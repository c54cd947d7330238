"""The parts of the Vercel AI SDK's UI messages and our typed parts, both ways, without losing anything.

What both forms have is translated: text, reasoning, files, images, sources, tool calls with their
approvals and results. What only the UI form has is kept under ``provider_metadata["vercel-ai"]`` of the
part that it belongs to, and what only ours has under the UI part's own provider metadata, in the
namespace ``strongroom``; parts that a UI has no form for become its data parts (``data-question``). So
``to_ui_parts(from_ui_parts(parts))`` is ``parts``, and the other way round.

A browser's message is a caller's text like any other: a decision in it decides nothing. Decide approvals
with ``interactions.decide``, and see
``strongroom.ui_messages`` for who wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.json_values import check_json_object
from strongroom.models.parts import (
    PART_TYPES,
    ApprovalPart,
    FilePart,
    ImagePart,
    MessagePart,
    Part,
    ReasoningPart,
    SourcePart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

NAMESPACE = "vercel-ai"
OURS = "strongroom"

_PARTS: TypeAdapter[list[MessagePart]] = TypeAdapter(list[MessagePart])
_DECISIONS = {True: "allow-once", False: "deny"}


# --- one UI part -> typed parts -------------------------------------------------------------------


def from_ui_parts(parts: Sequence[JsonObject]) -> list[MessagePart]:
    """Return typed parts; one UI part of a tool becomes its call, approval and result.

    Raises:
        InvalidArgument: SR001, a part is no JSON object.

    Example:
        >>> [part.type for part in from_ui_parts([
        ...     {"type": "step-start"},
        ...     {"type": "tool-weather", "toolCallId": "c1", "state": "output-available",
        ...      "input": {"city": "Zürich"}, "output": {"celsius": 21}},
        ... ])]
        ['status', 'tool-call', 'tool-result']
    """
    typed: list[MessagePart] = []
    for index in reversed(range(len(parts))):
        group = _from_ui(checked_object(parts[index], f"parts[{index}]"))
        if len([*_of_one_call([*group, *typed])]) > len(group) and _kept_of(group) is None:
            # On the way back, what follows would be taken for a part of this call.
            group = _kept(group, {}, [])
        typed = [*group, *typed]
    return typed


def checked_object(value: object, path: str) -> JsonObject:
    """Return a copy of a JSON object, or raise InvalidArgument naming the path."""
    try:
        return check_json_object(value)
    except Exception as error:
        raise InvalidArgument(
            f"{path} is not a JSON object",
            detail={"path": path, "reason": str(error)},
            hint="Give UI messages as they come in a request: parsed JSON.",
        ) from error


def _from_ui(ui: JsonObject) -> list[MessagePart]:
    known = _of_ours(ui)
    if known is not None:
        return known
    typed = _typed(ui)
    base = _ui_of(typed)
    changed = {key: value for key, value in ui.items() if not same_json(base.get(key, ...), value)}
    without: list[JsonValue] = [key for key in base if key not in ui]
    return typed if not changed and not without else _kept(typed, changed, without)


def _kept(
    typed: list[MessagePart], changed: JsonObject, without: list[JsonValue]
) -> list[MessagePart]:
    """Return the parts with what else the UI part had, in a namespace that is this module's alone."""
    native: JsonObject = {"part": changed, "without": without, "parts": len(typed)}
    metadata = {**(typed[0].provider_metadata or {}), NAMESPACE: native}
    return [typed[0].replace(provider_metadata=metadata), *typed[1:]]


def _of_ours(ui: JsonObject) -> list[MessagePart] | None:
    """Return the typed parts that a UI part was made of, where it still is what they make."""
    metadata = ui.get(_metadata_key(ui))
    kept = metadata.get(OURS) if isinstance(metadata, dict) else None
    if kept is None and ui.get("type") == f"data-{OURS}":
        kept = ui.get("data")
    if not isinstance(kept, dict) or not isinstance(kept.get("parts"), list):
        return None
    try:
        parts = _PARTS.validate_python(kept["parts"])
    except (ValidationError, StrongroomError):
        return None
    is_one = bool(parts) and _kept_of(parts) is None and len(_grouped(parts)) == 1
    return parts if is_one and not _is_plain(parts) and same_json(_marked(parts), ui) else None


def _typed(ui: JsonObject) -> list[MessagePart]:
    """Return what a UI part means; what it has beside that is looked for afterwards."""
    kind = str(ui.get("type"))
    single: MessagePart | None
    try:
        if kind == "dynamic-tool" or kind.startswith("tool-"):
            return _tool_parts(ui, kind)
        single = _single(ui, kind)
    except (StrongroomError, ValidationError):
        single = None
    if single is None or _is_reserved(single):
        # Of the SDK, and still not what a part of ours can be: an id of 300 characters, a long data URL.
        return [StatusPart(status=kind[:255] or "unknown")]
    return [single]


def _single(ui: dict[str, Any], kind: str) -> MessagePart:  # noqa: PLR0911 (one a kind)
    metadata = _namespaced(ui.get("providerMetadata"))
    if kind == "text":
        return TextPart(text=ui.get("text"), provider_metadata=metadata)
    if kind == "reasoning":
        return ReasoningPart(text=ui.get("text"), provider_metadata=metadata)
    if kind in {"source-url", "source-document"}:
        return SourcePart(
            source_id=ui.get("sourceId"),
            source_type=kind.removeprefix("source-"),
            title=ui.get("title"),
            url=ui.get("url"),
            provider_metadata=metadata,
        )
    if kind in {"file", "reasoning-file"}:
        media_type, url = ui.get("mediaType"), ui.get("url")
        if kind == "file" and str(media_type).startswith("image"):
            return ImagePart(media_type=media_type, url=url, provider_metadata=metadata)
        name = ui.get("filename")
        return FilePart(media_type=media_type, url=url, name=name, provider_metadata=metadata)
    ours = kind.removeprefix("data-")
    if kind != ours and ours in PART_TYPES and isinstance(ui.get("data"), dict):
        return _PARTS.validate_python([{**ui["data"], "type": ours}])[0]
    text = ui["data"] if isinstance(ui.get("data"), str) else None
    return StatusPart(status=kind[:255], text=text)


def _tool_parts(ui: dict[str, Any], kind: str) -> list[MessagePart]:
    state, approval = ui.get("state"), ui.get("approval")
    call = ToolCallPart(
        tool_call_id=ui.get("toolCallId"),
        tool_name=ui.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-"),
        input=ui.get("input"),
        provider_metadata=_namespaced(ui.get("callProviderMetadata")),
    )
    parts: list[MessagePart] = [call]
    of = {"tool_call_id": call.tool_call_id, "tool_name": call.tool_name}
    if isinstance(approval, dict):
        approved = approval.get("approved")
        decision = "pending" if not isinstance(approved, bool) else _DECISIONS[approved]
        parts.append(
            ApprovalPart(**of, approval_id=approval.get("id"), input=call.input, decision=decision)
        )
    if state == "output-available":
        parts.append(ToolResultPart(**of, output=ui.get("output")))
    elif state == "output-error":
        parts.append(ToolResultPart(**of, output=ui.get("errorText"), is_error=True))
    return parts


def _namespaced(metadata: object) -> dict[str, JsonObject] | None:
    """Return a UI part's provider metadata where it has the form that ours has."""
    if not isinstance(metadata, dict) or not metadata or NAMESPACE in metadata or OURS in metadata:
        return None
    fits = all(isinstance(v, dict) and 0 < len(k) <= 255 for k, v in metadata.items())  # noqa: PLR2004
    return cast("dict[str, JsonObject]", metadata) if fits else None


# --- typed parts -> UI parts ----------------------------------------------------------------------


def to_ui_parts(parts: Sequence[MessagePart]) -> list[JsonObject]:
    """Return UI parts; a tool's call, approval and result, one after the other, become one.

    Example:
        >>> from strongroom import QuestionPart, TextPart
        >>> to_ui_parts([TextPart(text="Hello"), QuestionPart(question_id="q", text="Which?")])[1]["type"]
        'data-question'
    """
    return [_to_ui(group) for group in _grouped(parts)]


def _to_ui(group: list[MessagePart]) -> JsonObject:
    kept = _kept_of(group)
    if kept is not None and kept[0] == len(group):
        return kept[1]
    return _ui_of(group) if _is_plain(group) else _marked(group)


def _is_plain(group: list[MessagePart]) -> bool:
    """Whether nothing is lost when the parts are taken for what a UI part means."""
    if _is_reserved(group[0]):
        return False
    found = _from_ui(_ui_of(group))
    return same_json([part.to_json() for part in found], [part.to_json() for part in group])


def _is_reserved(part: MessagePart) -> bool:
    return bool({NAMESPACE, OURS} & {*(part.provider_metadata or {})})


def _marked(group: list[MessagePart]) -> JsonObject:
    """Return the UI part that also carries the typed parts it was made of."""
    kept: JsonObject = {"parts": [part.to_json() for part in group]}
    ui = _ui_of(group)
    if ui["type"].startswith("data-"):
        return {"type": f"data-{OURS}", "data": kept}
    key = _metadata_key(ui)
    return {**ui, key: {**ui.get(key, {}), OURS: kept}}


def _grouped(parts: Sequence[MessagePart]) -> list[list[MessagePart]]:
    """Put together what becomes one UI part."""
    groups: list[list[MessagePart]] = []
    place = 0
    while place < len(parts):
        kept = _kept_of(parts[place:])
        size = sum(1 for _ in _of_one_call(parts[place:])) if kept is None else kept[0]
        groups.append([*parts[place : place + size]])
        place += size
    return groups


def _of_one_call(parts: Sequence[MessagePart]) -> Iterator[MessagePart]:
    first = parts[0]
    yield first
    if not isinstance(first, ToolCallPart):
        return
    of = (first.tool_call_id, first.tool_name)
    expected: list[type[Part]] = [ApprovalPart, ToolResultPart]
    for part in parts[1:]:
        if _native(part) is not None:
            return
        while expected and not isinstance(part, expected[0]):
            expected.pop(0)
        if not expected or (part.tool_call_id, part.tool_name) != of:  # type: ignore[union-attr]
            return
        expected.pop(0)
        yield part


def _native(part: MessagePart) -> dict[str, Any] | None:
    """Return what is kept of the UI part, where it has the form that this module writes."""
    kept = (part.provider_metadata or {}).get(NAMESPACE)
    if not isinstance(kept, dict) or set(kept) != {"part", "without", "parts"}:
        return None
    is_ours = (
        isinstance(kept["part"], dict)
        and isinstance(kept["without"], list)
        and all(isinstance(key, str) for key in kept["without"])
        and type(kept["parts"]) is int
    )
    return kept if is_ours else None


def _kept_of(parts: Sequence[MessagePart]) -> tuple[int, JsonObject] | None:
    """Return how many parts come of the UI part that the first one keeps, and that UI part.

    Anybody can write such metadata: it counts where the UI part means these very parts, so that it
    hides none of them.
    """
    native = _native(parts[0])
    if native is None or not 0 < native["parts"] <= len(parts):
        return None
    group = [_without_native(parts[0]), *parts[1 : native["parts"]]]
    ui = {**_ui_of(group), **native["part"]}
    ui = {key: value for key, value in ui.items() if key not in native["without"]}
    meant = [part.to_json() for part in _typed(ui)]
    return (len(group), ui) if same_json(meant, [part.to_json() for part in group]) else None


def _without_native(part: MessagePart) -> MessagePart:
    rest = {k: v for k, v in (part.provider_metadata or {}).items() if k != NAMESPACE}
    return part.replace(provider_metadata=rest or None)


def _ui_of(group: Sequence[MessagePart]) -> dict[str, Any]:
    """Return the UI part that these typed parts mean, without what is kept of another form."""
    part = group[0]
    ui: dict[str, Any]
    if isinstance(part, ToolCallPart):
        return _tool_ui(part, group[1:])
    if isinstance(part, TextPart | ReasoningPart):
        ui = {"type": part.type, "text": part.text}
    elif isinstance(part, SourcePart) and part.source_type in {"url", "document"}:
        ui = {"type": f"source-{part.source_type}", "sourceId": part.source_id}
        ui |= {k: v for k, v in (("url", part.url), ("title", part.title)) if v is not None}
    elif isinstance(part, FilePart | ImagePart) and part.url is not None:
        ui = {"type": "file", "mediaType": part.media_type, "url": part.url}
        if isinstance(part, FilePart) and part.name is not None:
            ui["filename"] = part.name
    else:
        data = part.to_json()
        return {"type": f"data-{part.type}", "data": {k: v for k, v in data.items() if k != "type"}}
    if part.provider_metadata:
        ui["providerMetadata"] = part.provider_metadata
    return ui


def _tool_ui(call: ToolCallPart, rest: Sequence[MessagePart]) -> dict[str, Any]:
    ui: dict[str, Any] = {
        "type": "dynamic-tool",
        "toolName": call.tool_name,
        "toolCallId": call.tool_call_id,
        "state": "input-available",
        "input": call.input,
    }
    if call.provider_metadata:
        ui["callProviderMetadata"] = call.provider_metadata
    for part in rest:
        if isinstance(part, ApprovalPart):
            ui["approval"] = {"id": part.approval_id}
            ui["state"] = "approval-requested"
            if part.decision != "pending":
                ui["approval"]["approved"] = part.decision != "deny"
                ui["state"] = "approval-responded"
        elif isinstance(part, ToolResultPart):
            ui["state"] = "output-error" if part.is_error else "output-available"
            ui["errorText" if part.is_error else "output"] = part.output
    return ui


def _metadata_key(ui: Mapping[str, Any]) -> str:
    kind = str(ui.get("type"))
    is_tool = kind == "dynamic-tool" or kind.startswith("tool-")
    return "callProviderMetadata" if is_tool else "providerMetadata"


def same_json(one: object, other: object) -> bool:
    """Say whether two values are the same JSON: 1, 1.0 and true are three things."""
    if one is ... or other is ...:
        return False
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
