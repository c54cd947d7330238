"""The change feed: topics and their events."""

from __future__ import annotations

from pydantic import Field

from strongroom.models.base import Id, JsonObject, Record, Timestamp
from strongroom.models.messages import AppendOutcome


class Topic(Record):
    """How far a topic goes.

    Attributes:
        id: the topic's name.
        last_sequence: of its newest event; 0 when there is none.
        trimmed_to_sequence: events up to this one have been deleted, all later ones are there.
    """

    tenant_id: Id
    id: Id
    last_sequence: int
    trimmed_to_sequence: int
    created_at: Timestamp


class NewTopicEvent(Record):
    """An event to publish.

    Attributes:
        id: makes a repeated publication harmless; the binding makes a UUIDv7 when it is None.
        kind: what happened.
        payload: ids of what changed, at most 4 KiB; subscribers read the content where it belongs.
    """

    id: Id | None = None
    kind: Id
    payload: JsonObject = Field(default_factory=dict)


class TopicEvent(Record):
    """What has changed. Sequences have no gaps, and commit order is their order."""

    tenant_id: Id
    topic: Id
    sequence: int
    id: Id
    kind: Id
    payload: JsonObject
    created_at: Timestamp


class PublishedItem(Record):
    """What became of one event; the sequence is None for a conflict."""

    id: Id
    outcome: AppendOutcome
    sequence: int | None
