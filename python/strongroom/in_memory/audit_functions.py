"""The audit in memory: what the functions that change what matters for security record."""

from __future__ import annotations

import itertools

from strongroom.ids import new_id
from strongroom.in_memory.database import Tables
from strongroom.models.audit import AuditEvent
from strongroom.models.base import JsonObject

_SEQUENCE = itertools.count(1)


def record_audit(
    tables: Tables,
    action: str,
    record: str,
    record_id: str,
    *,
    details: JsonObject | None = None,
    actor_id: str | None = None,
    principal_id: str | None = None,
) -> None:
    """Record an event, with the write that it tells of."""
    event = AuditEvent(
        tenant_id=tables.tenant_id,
        id=new_id(),
        sequence=next(_SEQUENCE),
        action=action,
        record=record,
        record_id=record_id,
        details=details or {},
        actor_id=actor_id,
        principal_id=principal_id,
        created_at=tables.now,
    )
    tables.audit_events[event.id] = event
