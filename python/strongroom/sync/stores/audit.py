# Written by scripts/generate_sync.py from strongroom/stores/audit.py: change that, and run `make generate`.
"""AuditStore on SQL."""

from __future__ import annotations

from strongroom.models.audit import (
    AppendedAuditEvent,
    AuditEvent,
    AuditQueue,
    AuditSeal,
    AuditVerification,
)
from strongroom.models.base import Id, Moment
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.audit import AuditBatch, ChainDigest, ChainPosition
from strongroom.stores.audit import audit_documents
from strongroom.stores.base import existing
from strongroom.stores.usage import iso
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlAuditStore(SqlStore):
    """See :class:`strongroom.ports.AuditStore`."""

    @port_method
    def append(self, *, tenant_id: Id, events: AuditBatch) -> tuple[AppendedAuditEvent, ...]:
        """See the port."""
        rows = self._rows(
            AppendedAuditEvent,
            "append_audit_events",
            tenant_id=tenant_id,
            events=Document([*audit_documents(events)]),
        )
        return tuple(rows)

    @port_method
    def get(self, *, tenant_id: Id, event_id: Id) -> AuditEvent:
        """See the port."""
        found = self._find(AuditEvent, "find_audit_event", tenant_id=tenant_id, event_id=event_id)
        return existing(found, "audit event", "event_id")

    @port_method
    def find(self, *, tenant_id: Id, event_id: Id) -> AuditEvent | None:
        """See the port."""
        return self._find(AuditEvent, "find_audit_event", tenant_id=tenant_id, event_id=event_id)

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        action: Id | None = None,
        record: Id | None = None,
        record_id: Id | None = None,
        actor_id: Id | None = None,
        principal_id: Id | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> Page[AuditEvent]:
        """See the port."""
        return self._page(
            AuditEvent,
            "list_audit_events",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            action=action,
            record=record,
            record_id=record_id,
            actor_id=actor_id,
            principal_id=principal_id,
            since=iso(since),
            until=iso(until),
        )

    @port_method
    def seal(self, *, tenant_id: Id, limit: Limit = 500) -> AuditSeal:
        """See the port."""
        return self._one(AuditSeal, "seal_audit", tenant_id=tenant_id, limit=limit)

    @port_method
    def seal_all(self, *, limit: Limit = 100) -> tuple[AuditSeal, ...]:
        """See the port."""
        return tuple(self._rows(AuditSeal, "seal_audits", limit=limit))

    @port_method
    def queue(self, *, tenant_id: Id) -> AuditQueue:
        """See the port."""
        return self._one(AuditQueue, "read_audit_queue", tenant_id=tenant_id)

    @port_method
    def verify(
        self,
        *,
        tenant_id: Id,
        after_position: ChainPosition = 0,
        limit: Limit = 500,
        known_position: ChainPosition | None = None,
        known_digest: ChainDigest | None = None,
    ) -> AuditVerification:
        """See the port."""
        return self._one(
            AuditVerification,
            "verify_audit",
            tenant_id=tenant_id,
            after_position=after_position,
            limit=limit,
            known_position=known_position,
            known_digest=known_digest,
        )
