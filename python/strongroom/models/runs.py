"""Runs, their events and their checkpoints."""

from __future__ import annotations

import base64
from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import Id, Json, JsonObject, Record, Timestamp
from strongroom.models.messages import AppendOutcome
from strongroom.models.tenants import CreateOutcome

RunStatus = Literal[
    "queued",
    "running",
    "waiting_for_question",
    "waiting_for_approval",
    "retry_pending",
    "completed",
    "failed",
    "cancelled",
]
WaitingStatus = Literal["waiting_for_question", "waiting_for_approval"]
FinalStatus = Literal["completed", "failed", "cancelled"]
ClaimToken = Annotated[int, Field(strict=True, ge=1)]
"""Strictly growing from claim to claim, whatever is deleted in between."""


class Run(Record):
    """One turn of an agent in a conversation, durable across workers.

    Attributes:
        number: its place among the conversation's runs: 1, 2, 3, ...
        attempt: how often it was claimed anew; going on after an answer is no new attempt.
        claim_token: the newest claim's token; every write on behalf of the run names it.
        message_id: the assistant message that ended it.
    """

    tenant_id: Id
    id: Id
    conversation_id: Id
    number: int
    status: RunStatus
    priority: int
    agent_id: Id | None
    agent_version: int | None
    input: JsonObject
    error: JsonObject | None
    attempt: int
    max_attempts: int
    available_at: Timestamp | None
    lease_expires_at: Timestamp | None
    claim_token: int | None
    worker_id: Id | None
    cancel_requested_at: Timestamp | None
    last_event_sequence: int
    last_checkpoint_sequence: int
    message_id: Id | None
    created_at: Timestamp
    started_at: Timestamp | None
    finished_at: Timestamp | None
    updated_at: Timestamp

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.status in {"completed", "failed", "cancelled"}


class CreatedRun(Run):
    """A run as ``create`` and ``finish`` return it."""

    outcome: CreateOutcome


class Lease(Record):
    """What a heartbeat returns.

    Attributes:
        lease_expires_at: until when the claim holds without another heartbeat.
        cancel_requested: whether somebody asked to cancel the run.
    """

    lease_expires_at: Timestamp
    cancel_requested: bool


class RunQueue(Record):
    """How many of a tenant's runs stand where."""

    ready: int
    queued: int
    running: int
    waiting: int
    retry_pending: int
    expired_leases: int
    oldest_ready_at: Timestamp | None


class NewRunEvent(Record):
    """An event to append to a run.

    Attributes:
        id: makes a repeated append harmless; the binding makes a UUIDv7 when it is None.
        kind: what happened; ``text-delta`` with ``{"text": ...}`` is text that a person saw streaming.
        data: the particulars.
    """

    id: Id | None = None
    kind: Id
    data: JsonObject = Field(default_factory=dict)


class RunEvent(Record):
    """What a run streamed or did. Sequences have no gaps, and commit order is their order.

    Attributes:
        resumes_after: the event after which the claim that wrote this one went on. What earlier claims
            streamed after that event has been streamed anew.
    """

    tenant_id: Id
    run_id: Id
    sequence: int
    id: Id
    kind: Id
    data: JsonObject
    claim_token: int
    resumes_after: int
    created_at: Timestamp


class RunEventItem(Record):
    """What became of one event of an append; the sequence is None for a conflict."""

    id: Id
    outcome: AppendOutcome
    sequence: int | None


class CheckpointHead(Record):
    """A checkpoint without its payload. Its parent is the checkpoint before it."""

    tenant_id: Id
    run_id: Id
    sequence: int
    conversation_id: Id
    id: Id
    size_bytes: int
    event_sequence: int
    claim_token: int
    created_at: Timestamp


class SavedCheckpoint(CheckpointHead):
    """A checkpoint as ``save`` returns it."""

    outcome: CreateOutcome


class Checkpoint(CheckpointHead):
    """A checkpoint with its payload: JSON state, bytes, or both."""

    state: Json = None
    data_base64: str | None = Field(default=None, repr=False)

    @property
    def data(self) -> bytes | None:
        """The bytes."""
        return None if self.data_base64 is None else base64.b64decode(self.data_base64)
