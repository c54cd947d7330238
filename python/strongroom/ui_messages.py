"""The Vercel AI SDK's UI messages and our messages, in both directions, without losing anything.

A UI message is one message of ours; its parts are those of ``strongroom.ui_parts``. What else it has is kept
under ``metadata["vercel-ai"]``, and what only ours has under its ``metadata.strongroom``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from strongroom.errors import InvalidArgument
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.messages import Message, NewMessage
from strongroom.models.parts import StatusPart
from strongroom.ui_parts import (
    NAMESPACE,
    OURS,
    checked_object,
    from_ui_parts,
    same_json,
    to_ui_parts,
)

_ROLES = ("system", "user", "assistant")


def from_ui_message(ui: JsonObject, *, trusted: bool = False) -> NewMessage:
    """Return a message to append.

    Args:
        ui: the UI message, as parsed JSON.
        trusted: whether it comes from ``to_ui_message`` by a way that nobody else can write to. Only
            then is it believed who wrote it (author, run, turn, the role ``tool``).

    Raises:
        InvalidArgument: SR001, it has no role or parts of a UI message.

    Example:
        >>> message = from_ui_message(
        ...     {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}
        ... )
        >>> message.id, message.parts[0].text
        ('m1', 'Hello')
    """
    ui = checked_object(ui, "message")
    given = ui.get("parts")
    if not isinstance(given, list):
        raise InvalidArgument(
            "message.parts must be a list",
            detail={"path": "message.parts"},
            hint="Give UI messages as they come in a request: parsed JSON.",
        )
    if ui.get("role") not in _ROLES:
        raise InvalidArgument(
            f"message.role must be one of: {', '.join(_ROLES)}",
            detail={"path": "message.role", "choices": [*_ROLES]},
            hint="Give UI messages as they come in a request: a tool's results are parts.",
        )
    parts = from_ui_parts(cast("list[JsonObject]", given))
    metadata = ui.get("metadata")
    plain = dict(metadata) if isinstance(metadata, dict) else {}
    plain.pop(NAMESPACE, None)
    fields = plain.pop(OURS, None) if trusted else None
    given_fields: dict[str, Any] = {
        "id": ui.get("id") or None,
        "role": ui.get("role"),
        **(fields if isinstance(fields, dict) else {}),
        "parts": parts or [StatusPart(status="no parts")],
        "metadata": plain,
    }
    message = NewMessage(**given_fields)
    base = _ui_message_of(message, given or to_ui_parts(message.parts))
    changed = {key: value for key, value in ui.items() if not same_json(base.get(key, ...), value)}
    without: list[JsonValue] = [key for key in base if key not in ui]
    if not changed and not without:
        return message
    native: JsonObject = {"message": changed, "without": without}
    return message.replace(metadata={**plain, NAMESPACE: native})


def to_ui_message(message: NewMessage | Message) -> JsonObject:
    """Return a UI message.

    The roles that a UI knows are system, user and assistant: a tool's message is the assistant's, and
    ``metadata.strongroom`` says so, as it says author, run and turn.
    """
    metadata = dict(message.metadata)
    native = metadata.pop(NAMESPACE, None)
    is_ours = isinstance(native, dict) and set(native) == {"message", "without"}
    if native is not None and not is_ours:
        metadata[NAMESPACE] = native
    plain = NewMessage(
        id=message.id,
        role=message.role,
        parts=message.parts,
        author_id=message.author_id,
        run_id=message.run_id,
        turn=message.turn,
        metadata=metadata,
    )
    ui = _ui_message_of(plain, to_ui_parts(message.parts))
    if is_ours:
        kept = cast("dict[str, Any]", native)
        ui |= kept["message"]
        for key in kept["without"]:
            ui.pop(key, None)
    return ui


def _ui_message_of(message: NewMessage, parts: Sequence[JsonValue]) -> JsonObject:
    fields: JsonObject = {
        name: value
        for name in ("author_id", "run_id", "turn")
        if (value := getattr(message, name)) is not None
    }
    if message.role == "tool":
        fields["role"] = "tool"
    metadata = {**message.metadata, OURS: fields} if fields else message.metadata
    ui: JsonObject = {
        "id": message.id or "",
        "role": "assistant" if message.role == "tool" else message.role,
        "parts": [*parts],
    }
    return {**ui, "metadata": metadata} if metadata else ui
