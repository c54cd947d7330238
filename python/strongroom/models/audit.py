"""The audit: what changed the security of a tenant's data, event by event."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from strongroom.models.base import Id, JsonObject, Record, Timestamp

AuditSource = Literal["strongroom", "host"]


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
