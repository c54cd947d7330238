"""Sessions of agents: raw provider messages, appended run by run, and the runs that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import Id, Json, JsonObject, Record, Timestamp
from strongroom.models.messages import AppendOutcome
from strongroom.models.tenants import CreateOutcome

SavedMessages = Annotated[Sequence[Json], Field(max_length=500)]
"""At most 500 raw messages of at most 1 MiB: any JSON."""

Turn = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
"""Which model and tool loop of a run: 0, 1, 2, ... as the framework counts."""

SavePolicy = Literal["message", "turn", "run"]
"""When a session's messages are stored.

message: each completed message at once. turn: after each model and tool loop. run: only after a
successful final response.
"""


class MemoryContext(Record):
    """Whose messages: the scope that is loaded and saved.

    Attributes:
        session_id: the product's own name of the session.
        user_id: the user whose session it is; the same name without or of another user is another one.
        metadata: kept with the session; None leaves what is there.
        conversation_id: what the session is bound to when it is made, and goes with.
    """

    session_id: Id
    user_id: Id | None = None
    metadata: JsonObject | None = None
    conversation_id: Id | None = None


class MemoryAppendItem(Record):
    """What became of one message.

    Attributes:
        item: its index in the call.
        outcome: inserted; duplicate: this call, or this message's own id, has stored it; conflict: it
            has stored another one, which stays.
        message_position: where what is stored stands; None for a conflict that stored nothing there.
    """

    item: int
    outcome: AppendOutcome
    message_position: int | None


class MemoryAppendResult(Record):
    """What became of each message, in the order of the call."""

    items: tuple[MemoryAppendItem, ...]

    @property
    def conflicts(self) -> tuple[MemoryAppendItem, ...]:
        """The messages that are not stored because others have their place or id."""
        return tuple(item for item in self.items if item.outcome == "conflict")


class MemoryConversationSummary(Record):
    """A session, for an inspector.

    Attributes:
        ref: an opaque reference to the row; ``session_id`` is the product's name.
    """

    tenant_id: Id
    ref: Id
    session_id: Id
    user_id: Id | None
    conversation_id: Id | None
    metadata: JsonObject
    message_count: int
    created_at: Timestamp
    updated_at: Timestamp


class MemoryConversationMessage(Record):
    """A stored message of a session, and where it came from."""

    position: int
    run_id: Id
    turn: int
    created_at: Timestamp
    message: Json


class MemoryConversation(MemoryConversationSummary):
    """A session with its messages, in order of position."""

    messages: tuple[MemoryConversationMessage, ...]


class FailedRun(Record):
    """A run of a session that failed.

    Attributes:
        id: the record's own id.
        error: what was raised, as JSON.
        message_count: how many messages the run had got to; ``find_error`` returns them.
    """

    tenant_id: Id
    session_id: Id
    user_id: Id | None
    id: Id
    run_id: Id
    error: Json
    message_count: int
    created_at: Timestamp


class RecordedFailedRun(FailedRun):
    """A failed run as ``record_error`` returns it; ``duplicate``: it was recorded already."""

    outcome: CreateOutcome


class FailedRunMessages(FailedRun):
    """A failed run with the messages that it had got to. They are not part of the session."""

    messages: tuple[Json, ...]
