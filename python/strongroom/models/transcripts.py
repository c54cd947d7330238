"""Lists of raw provider messages, which frameworks keep in their own form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import Id, Json, Record, Timestamp, Version

RawMessages = Annotated[Sequence[Json], Field(max_length=100_000)]
"""A whole transcript: at most 100,000 messages of at most 1 MiB, 64 MiB together."""

SaveOutcome = Literal["saved", "duplicate"]
"""saved: the transcript has changed; duplicate: it was so already, and nothing was written."""


class TranscriptHead(Record):
    """A scope's transcript without its messages.

    Attributes:
        scope: the memory scope that it belongs to.
        conversation_id: the conversation that it is bound to and goes with.
        message_count: how many messages it has.
        digest: what the last save computed over all of them; None where it gave none.
        version: one more at every change; give it to ``save`` as ``expected_version``.
    """

    tenant_id: Id
    scope: Id
    conversation_id: Id | None
    message_count: int
    digest: str | None
    version: Version
    created_at: Timestamp
    updated_at: Timestamp


class SavedTranscript(Record):
    """What a save did.

    Attributes:
        message_count: how many messages the transcript has now.
        kept: messages at the beginning that were stored already, and were not touched.
        inserted: messages that were written.
        deleted: stored messages that are gone.
    """

    tenant_id: Id
    scope: Id
    outcome: SaveOutcome
    version: Version
    message_count: int
    kept: int
    inserted: int
    deleted: int
