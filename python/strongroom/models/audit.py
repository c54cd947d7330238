"""The audit: what changed the security of a tenant's data, event by event."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from strongroom.models.base import Id, JsonObject, Record, Timestamp
from strongroom.models.messages import AppendOutcome

AuditSource = Literal["strongroom", "host"]

AuditAction = Annotated[
    str,
    StringConstraints(strict=True, pattern=r"^[a-z][a-z_]*\.[a-z][a-z_]*$", max_length=255),
]
"""What happened, as noun.verb in lower case."""


class AuditEvent(Record):
    """Something that happened to a record. Never updated; it leaves only with its tenant.

    Attributes:
        sequence: the order of recording within the database; gaps are normal.
        action: what happened, as noun.verb: ``conversation.share``, ``grant.revoke``.
        record: the kind of record it happened to.
        record_id: that record, which may be gone by now.
        details: ids, versions and states; never content, never names of people.
        source: ``strongroom`` when the function that did it wrote the event, ``host`` when the host
            appended it.
        actor_id: who acted, where that is known; None also when the person was erased.
        principal_id: whom it is about; None also when the person was erased.
        position: its place in the tenant's chain of hashes; None until it is sealed.
        chain_digest: the hash of the event and of all before it; None until it is sealed.
    """

    tenant_id: Id
    id: Id
    sequence: int
    action: Id
    record: Id
    record_id: Id
    details: JsonObject = Field(default_factory=dict)
    source: AuditSource = "strongroom"
    actor_id: Id | None = None
    principal_id: Id | None = None
    position: int | None = None
    chain_digest: str | None = None
    created_at: Timestamp


class NewAuditEvent(Record):
    """An event of the host's own.

    Attributes:
        id: makes a repeated append harmless; the binding makes a UUIDv7 when it is None.
        details: ids, versions and states, at most 16 KiB; never content, never names of people.
    """

    id: Id | None = None
    action: AuditAction
    record: Id
    record_id: Id
    details: JsonObject = Field(default_factory=dict)
    actor_id: Id | None = None
    principal_id: Id | None = None


class AppendedAuditEvent(AuditEvent):
    """The stored event, and whether this call wrote it; with ``conflict`` another one has its id."""

    outcome: AppendOutcome


class AuditQueue(Record):
    """How much of a tenant's audit is not sealed yet.

    Attributes:
        unsealed: how many events.
        oldest_at: since when the oldest of them waits; None: nothing does.
        last_position: the last place of the chain.
        sealed_at: when it was last sealed; None: never.
    """

    unsealed: int
    oldest_at: Timestamp | None
    last_position: int
    sealed_at: Timestamp | None


class AuditSeal(Record):
    """What sealing did to a tenant's audit, and where its chain ends now.

    Attributes:
        tenant_id: the tenant.
        sealed: how many events it sealed.
        last_position: the last place of the chain.
        digest: the chain's hash there. Kept elsewhere, it proves the chain up to there.
        has_more: whether there are events that are not sealed yet.
    """

    tenant_id: Id
    sealed: int
    last_position: int
    digest: str
    has_more: bool


class AuditVerification(Record):
    """How far a part of the chain holds.

    Attributes:
        is_sound: whether everything that was looked at fits.
        verified_to: the last place that does: go on after it while ``has_more``.
        has_more: whether sealed events follow that were not looked at.
        problem: what is wrong with the first event that does not fit: ``changed`` (or moved),
            ``removed``, ``inserted``.
        bad_position: its place in the chain.
        event_id: that event; None when it was removed.
    """

    is_sound: bool
    verified_to: int
    has_more: bool
    problem: Literal["changed", "removed", "inserted"] | None
    bad_position: int | None
    event_id: Id | None
