"""AuditStore in memory."""

from __future__ import annotations

from strongroom.in_memory.audit_functions import (
    append_audit_events,
    find_audit_event,
    list_audit_events,
    oldest_unsealed,
    read_audit_queue,
    seal_audit,
    verify_audit,
)
from strongroom.in_memory.base import MemoryPort
from strongroom.models.audit import (
    AppendedAuditEvent,
    AuditEvent,
    AuditQueue,
    AuditSeal,
    AuditVerification,
)
from strongroom.models.base import Id, Moment
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.arguments import port_method
from strongroom.ports.audit import AuditBatch, ChainDigest, ChainPosition
from strongroom.stores.audit import audit_documents
from strongroom.stores.base import existing


class MemoryAuditStore(MemoryPort):
    """See :class:`strongroom.ports.AuditStore`."""

    @port_method
    async def append(self, *, tenant_id: Id, events: AuditBatch) -> tuple[AppendedAuditEvent, ...]:
        """See the port."""
        return await self._write(tenant_id, append_audit_events, events=[*audit_documents(events)])

    @port_method
    async def get(self, *, tenant_id: Id, event_id: Id) -> AuditEvent:
        """See the port."""
        found = await self._read(tenant_id, find_audit_event, event_id=event_id)
        return existing(found, "audit event", "event_id")

    @port_method
    async def find(self, *, tenant_id: Id, event_id: Id) -> AuditEvent | None:
        """See the port."""
        return await self._read(tenant_id, find_audit_event, event_id=event_id)

    @port_method
    async def list(
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
        return await self._read(
            tenant_id,
            lambda tables, **given: list_audit_events(tables, since=since, until=until, **given),
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            action=action,
            record=record,
            record_id=record_id,
            actor_id=actor_id,
            principal_id=principal_id,
        )

    @port_method
    async def seal(self, *, tenant_id: Id, limit: Limit = 500) -> AuditSeal:
        """See the port."""
        return await self._write(tenant_id, seal_audit, limit=limit)

    @port_method
    async def seal_all(self, *, limit: Limit = 100) -> tuple[AuditSeal, ...]:
        """See the port."""
        waiting: list[tuple[int, str]] = []
        for tenant_id in self._session.writable_tenants():
            oldest = await self._read(tenant_id, oldest_unsealed)
            if oldest is not None:
                waiting.append((oldest, tenant_id))
        return tuple(
            [
                await self._write(tenant_id, seal_audit, limit=limit)
                for _, tenant_id in sorted(waiting)[:limit]
            ]
        )

    @port_method
    async def queue(self, *, tenant_id: Id) -> AuditQueue:
        """See the port."""
        return await self._read(tenant_id, read_audit_queue)

    @port_method
    async def verify(
        self,
        *,
        tenant_id: Id,
        after_position: ChainPosition = 0,
        limit: Limit = 500,
        known_position: ChainPosition | None = None,
        known_digest: ChainDigest | None = None,
    ) -> AuditVerification:
        """See the port."""
        return await self._read(
            tenant_id,
            verify_audit,
            after_position=after_position,
            limit=limit,
            known_position=known_position,
            known_digest=known_digest,
        )
