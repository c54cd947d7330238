"""Putting messages together: their ids, their size, and what is kept beside the parts."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from strongroom.errors import LimitExceeded
from strongroom.importing.place import Place
from strongroom.models.json_values import stored_size
from strongroom.models.messages import NewMessage, Role
from strongroom.models.parts import MessagePart, TextPart

NAMESPACE = uuid.UUID("5b3ce9c4-6bd1-5d0e-9a55-0f2e6b1d7a10")
"""Of every id that an import derives."""

MAX_MESSAGE = 1024 * 1024
MAX_METADATA = 16 * 1024

_TOO_LARGE = "Large tool output and files belong in stores of their own; keep a reference here."


def derived_id(*names: str) -> str:
    """Return the id that always belongs to these names."""
    return str(uuid.uuid5(NAMESPACE, json.dumps(names)))


class Assembler:
    """Makes the messages of one conversation, each with an id that depends on all before it.

    An id is derived from the conversation, the ids before it, the role and the parts (without
    provider metadata). So the same file gives the same ids, a file that grew gives the same ids and
    then new ones, two equal messages in a row have different ids, and one id proves that everything
    up to it is equal.
    """

    def __init__(self, conversation_id: str, namespace: str) -> None:
        """Start at the beginning of a conversation."""
        self._last_id = conversation_id
        self._namespace = namespace

    def message(
        self,
        place: Place,
        path: str,
        role: Role,
        parts: Sequence[MessagePart],
        extras: dict[str, JsonValue],
    ) -> NewMessage:
        """Return the next message.

        Args:
            place: the file and line.
            path: where the message stands in its line or document.
            role: whose message it is.
            parts: its parts; a message without any gets one empty text.
            extras: what has no place in the parts; kept in the message's metadata, or, where that
                has no room for it, in the first part's provider metadata.
        """
        made = list(parts) or [TextPart(text="")]
        metadata: dict[str, Any] = {self._namespace: extras} if extras else {}
        if stored_size(metadata) > MAX_METADATA:
            made[0] = self._with_extras(made[0], extras)
            metadata = {self._namespace: {"message_metadata": "in the first part"}}
        size = stored_size([part.to_json() for part in made])
        if size > MAX_MESSAGE:
            raise place.fault(
                path,
                f"the message has {size} bytes; a message may have {MAX_MESSAGE}",
                kind=LimitExceeded,
                hint=_TOO_LARGE,
            )
        self._last_id = derived_id(self._last_id, role, _canonical(made))
        return place.make(
            NewMessage, path, id=self._last_id, role=role, parts=made, metadata=metadata
        )

    def _with_extras(self, part: MessagePart, extras: dict[str, JsonValue]) -> MessagePart:
        held = dict(part.provider_metadata or {})
        held[self._namespace] = {**held.get(self._namespace, {}), "message": extras}
        return part.replace(provider_metadata=held)


def _canonical(parts: Sequence[MessagePart]) -> str:
    # Without defaults, so that a field that parts get one day changes no id.
    core = [
        {"type": p.type, **p.model_dump(exclude_defaults=True, exclude={"provider_metadata"})}
        for p in parts
    ]
    return json.dumps(core, sort_keys=True, separators=(",", ":"))
