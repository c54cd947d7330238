"""Thread summaries, and the history that a model needs to go on."""

from __future__ import annotations

from strongroom.models.base import Id, JsonObject, Position, Record, Text, Timestamp, Version
from strongroom.models.messages import Message
from strongroom.models.tenants import CreateOutcome


class ThreadSummary(Record):
    """A text that stands for the messages up to a position."""

    tenant_id: Id
    conversation_id: Id
    version: Version
    id: Id
    covers_to_position: Position
    text: Text
    metadata: JsonObject
    created_at: Timestamp


class CreatedThreadSummary(ThreadSummary):
    """A summary as ``append`` returns it."""

    outcome: CreateOutcome


class History(Record):
    """The latest summary and the messages after it, verbatim.

    Attributes:
        summary: the latest summary; None before the first, and on following pages.
        messages: the messages, oldest first. They start earlier than the summary ends where a tool
            result would otherwise stand without its call, and never with an orphaned tool result.
        next_cursor: give it as ``after`` to read on; None when nothing follows.
    """

    summary: ThreadSummary | None
    messages: tuple[Message, ...]
    next_cursor: str | None
