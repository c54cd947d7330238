"""The ledgers' part of :mod:`~strongroom.conformance.calls`: usage and audit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from strongroom.client import Ports
from strongroom.conformance.helpers import PageOf, fresh, new_tenant
from strongroom.models import Conversation, NewAuditEvent, NewUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerIds:
    """A usage event, and an audit event of the host's own."""

    usage_id: str
    event_id: str

    def absent(self) -> LedgerIds:
        """Return ids of the same form that name nothing."""
        return replace(self, usage_id=self.usage_id[::-1], event_id=self.event_id[::-1])


async def fill_ledgers(store: Ports, tenant_id: str, conversation_id: str) -> LedgerIds:
    """Record usage of a conversation and an audit event, and seal what there is."""
    ids = LedgerIds(usage_id=fresh("usage"), event_id=fresh("event"))
    usage = NewUsage(id=ids.usage_id, conversation_id=conversation_id, input_tokens=7)
    await store.usage.record(tenant_id=tenant_id, events=[usage])
    event = NewAuditEvent(
        id=ids.event_id, action="secret.read", record="secret", record_id=ids.event_id
    )
    await store.audit.append(tenant_id=tenant_id, events=[event])
    await store.audit.seal(tenant_id=tenant_id)
    return ids


Call = Callable[[Ports, str, LedgerIds], Awaitable[object]]

HOST_READS: dict[str, Call] = {
    "audit.get": lambda s, t, i: s.audit.get(tenant_id=t, event_id=i.event_id),
    "audit.find": lambda s, t, i: s.audit.find(tenant_id=t, event_id=i.event_id),
    "audit.list": lambda s, t, i: s.audit.list(tenant_id=t, record_id=i.event_id),
    "audit.queue": lambda s, t, _: s.audit.queue(tenant_id=t),
}
"""Reads that hosts alone may do."""


async def _usage(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    done = await store.usage.record(tenant_id=tenant_id, events=[NewUsage() for _ in range(count)])
    made = sorted(done, key=lambda event: (event.occurred_at, event.id))
    return (
        lambda **page: store.usage.list(tenant_id=tenant_id, **page),
        [event.id for event in made],
    )


async def _audit(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    event = NewAuditEvent(action="report.read", record="report", record_id="r")
    done = await store.audit.append(tenant_id=tenant_id, events=[event] * count)
    made = sorted(done, key=lambda row: (row.created_at, row.sequence))
    return (
        lambda **page: store.audit.list(tenant_id=tenant_id, record_id="r", **page),
        [row.id for row in made],
    )


LISTS: dict[str, Callable[[Ports, int], Awaitable[tuple[PageOf, list[str]]]]] = {
    "usage": _usage,
    "audit events": _audit,
}

Given = Callable[[Ports, Conversation, Any], Awaitable[object]]

ID_PATHS: dict[str, Given] = {
    "usage_id": lambda s, t, x: s.usage.find(tenant_id=t.tenant_id, usage_id=x),
    "event_id": lambda s, t, x: s.audit.find(tenant_id=t.tenant_id, event_id=x),
}

TEXT_PATHS: dict[str, Given] = {
    "events[0].model": lambda s, t, x: s.usage.record(
        tenant_id=t.tenant_id, events=[NewUsage(model=x)]
    ),
    "events[0].metadata.k": lambda s, t, x: s.usage.record(
        tenant_id=t.tenant_id, events=[NewUsage(metadata={"k": x})]
    ),
    "events[0].details.k": lambda s, t, x: s.audit.append(
        tenant_id=t.tenant_id,
        events=[NewAuditEvent(action="a.b", record="r", record_id="r", details={"k": x})],
    ),
    "usage_id": lambda s, t, x: s.usage.find(tenant_id=t.tenant_id, usage_id=x),
    "event_id": lambda s, t, x: s.audit.find(tenant_id=t.tenant_id, event_id=x),
}
