"""Touching, forgetting, expiring and switching a principal's memory, on tables in memory."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.database import MemorySettings, Tables
from strongroom.in_memory.memory_functions import (
    find_memory,
    graves_of,
    is_living,
    is_seen_by,
    living_facts,
    settings_of,
)
from strongroom.models.principal_memory import MemoryStatus

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def touch_memories(tables: Tables, *, principal_id: str, memory_ids: list[str]) -> int:
    """Say that facts were used now."""
    check_writable(tables)
    known = [
        memory_id
        for memory_id in sorted(set(memory_ids))
        if find_memory(tables, principal_id=principal_id, memory_id=memory_id) is not None
    ]
    for memory_id in known:
        stored = tables.facts[principal_id, memory_id]
        tables.facts[principal_id, memory_id] = replace(
            stored, record=stored.record.replace(last_used_at=tables.now)
        )
    return len(known)


def _forget(tables: Tables, principal_id: str, memory_ids: list[str]) -> int:
    for memory_id in memory_ids:
        record = tables.facts.pop((principal_id, memory_id)).record
        for grave in graves_of(principal_id, dict(record)).values():
            tables.tombstones.setdefault(grave, tables.now)
    tables.memory_settings.setdefault(principal_id, MemorySettings())
    return len(memory_ids)


def delete_memory(tables: Tables, *, principal_id: str, memory_id: str) -> bool:
    """Forget a fact for good."""
    check_writable(tables)
    known = [memory_id] if (principal_id, memory_id) in tables.facts else []
    return _forget(tables, principal_id, known) > 0


def forget_memories(tables: Tables, *, principal_id: str, actor_id: str | None) -> int:
    """Forget all facts of a principal for good."""
    check_writable(tables)
    count = _forget(tables, principal_id, [key for who, key in tables.facts if who == principal_id])
    settings = settings_of(tables, principal_id)
    tables.memory_settings[principal_id] = replace(
        settings, generation=settings.generation + 1, forgotten_at=tables.now
    )
    record_audit(
        tables,
        "memory.forget_all",
        "memory",
        str(settings.generation + 1),
        details={"forgotten": count, "generation": settings.generation + 1},
        actor_id=actor_id,
        principal_id=principal_id,
    )
    return count


def switch_memory(
    tables: Tables, *, principal_id: str, is_enabled: bool, actor_id: str | None
) -> MemoryStatus:
    """Enable or disable a principal's memory; a repeat changes nothing."""
    check_writable(tables)
    settings = settings_of(tables, principal_id)
    if (settings.disabled_at is None) != is_enabled:
        settings = replace(
            settings,
            disabled_at=None if is_enabled else tables.now,
            disabled_by=None if is_enabled else actor_id,
        )
        record_audit(
            tables,
            "memory.enable" if is_enabled else "memory.disable",
            "memory",
            str(settings.generation),
            details={"generation": settings.generation},
            actor_id=actor_id,
            principal_id=principal_id,
        )
    tables.memory_settings[principal_id] = settings
    return read_memory_status(tables, principal_id=principal_id, viewer_id=None)


def read_memory_status(tables: Tables, *, principal_id: str, viewer_id: str | None) -> MemoryStatus:
    """Return the state of a principal's memory."""
    is_seen = is_seen_by(principal_id, viewer_id)
    settings = settings_of(tables, principal_id) if is_seen else MemorySettings()
    return MemoryStatus(
        tenant_id=tables.tenant_id,
        principal_id=principal_id,
        is_enabled=settings.disabled_at is None,
        disabled_at=settings.disabled_at,
        disabled_by=settings.disabled_by,
        generation=settings.generation,
        forgotten_at=settings.forgotten_at,
        fact_count=len(living_facts(tables, principal_id)) if is_seen else 0,
    )


def expired_memories(tables: Tables) -> list[tuple[dt.datetime, tuple[str, str]]]:
    """Return where facts are whose time has passed, the oldest first."""
    return sorted(
        (stored.record.expires_at or _EPOCH, place)
        for place, stored in tables.facts.items()
        if not is_living(stored.record)
    )


def expire_memories(tables: Tables, *, limit: int) -> int:
    """Delete facts whose time has passed, the oldest first."""
    check_writable(tables)
    overdue = expired_memories(tables)[:limit]
    for _, place in overdue:
        del tables.facts[place]
    return len(overdue)
