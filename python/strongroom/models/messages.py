"""Messages, and what became of each one in an append."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import Id, Json, JsonObject, Position, Record, Timestamp
from strongroom.models.parts import MessagePart

Role = Literal["system", "user", "assistant", "tool"]
AppendOutcome = Literal["inserted", "duplicate", "conflict"]
Turn = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]


class NewMessage(Record):
    """A message to append.

    Attributes:
        id: makes a repeated append harmless; the binding makes a UUIDv7 when it is None.
        role: who speaks.
        parts: at least one typed part; 1 MiB at most in all.
        author_id: the principal who wrote it, where there is one.
        run_id: the run that produced it, where there is one.
        turn: the turn within the run.
        metadata: the host's own JSON object, at most 16 KiB.

    Example:
        >>> from strongroom import NewMessage, TextPart
        >>> NewMessage(role="user", parts=[TextPart(text="Where is my parcel?")]).role
        'user'
    """

    id: Id | None = None
    role: Role
    parts: Annotated[tuple[MessagePart, ...], Field(min_length=1)]
    author_id: Id | None = None
    run_id: Id | None = None
    turn: Turn | None = None
    metadata: JsonObject = Field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """Return the object that ``append_messages`` takes: without what was left out."""
        plain: dict[str, Json] = {
            "id": self.id,
            "role": self.role,
            "parts": [part.to_json() for part in self.parts],
        }
        if self.author_id is not None:
            plain["author_id"] = self.author_id
        if self.run_id is not None:
            plain["run_id"] = self.run_id
        if self.turn is not None:
            plain["turn"] = self.turn
        if self.metadata:
            plain["metadata"] = self.metadata
        return plain


class Message(Record):
    """A message as it is stored. Its place is its position; created_at orders nothing."""

    tenant_id: Id
    conversation_id: Id
    position: Position
    id: Id
    role: Role
    parts: tuple[MessagePart, ...]
    author_id: Id | None
    run_id: Id | None
    turn: int | None
    metadata: JsonObject
    forked_from_id: Id | None
    created_at: Timestamp


class AppendItem(Record):
    """What became of one message of an append.

    Attributes:
        id: the message's id.
        outcome: ``inserted``; ``duplicate`` (the same id with the same content: nothing changed); or
            ``conflict`` (the same id with other content, or in another conversation: nothing changed).
        position: its place, None for a conflict.
        created_at: when it was stored, None for a conflict.
        conflict: ``other-content`` or ``other-conversation``, None unless it is a conflict.
    """

    id: Id
    outcome: AppendOutcome
    position: Position | None
    created_at: Timestamp | None
    conflict: Literal["other-content", "other-conversation"] | None


class AppendResult(Record):
    """What became of an append, message by message, in the order given."""

    items: tuple[AppendItem, ...]
