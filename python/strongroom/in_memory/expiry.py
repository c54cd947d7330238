"""What has an expires_at that has passed, in memory: of which kinds, since when, and its end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from strongroom.in_memory.database import Tables
from strongroom.in_memory.framework_records import expire_records, expired_records
from strongroom.in_memory.memory_forgetting import expire_memories, expired_memories
from strongroom.in_memory.tool_output_functions import expire_tool_outputs, expired_tool_outputs
from strongroom.models.lifecycle import ExpiryQueue

_FOUND: dict[str, Callable[[Tables], list[dt.datetime]]] = {
    "framework_records": lambda tables: [at for at, *_ in expired_records(tables)],
    "memories": lambda tables: [at for at, _ in expired_memories(tables)],
    "tool_outputs": lambda tables: [at for at, _ in expired_tool_outputs(tables)],
}
_ENDS: dict[str, Callable[..., int]] = {
    "framework_records": expire_records,
    "memories": expire_memories,
    "tool_outputs": expire_tool_outputs,
}
KINDS = tuple(_FOUND)
"""What is of no use after its expires_at."""


def expired_since(tables: Tables) -> dict[str, dt.datetime]:
    """Return since when the oldest of each kind has expired, where an active tenant has any."""
    if tables.tenant is None or tables.tenant.record.status != "active":
        return {}
    found = {kind: find(tables) for kind, find in _FOUND.items()}
    return {kind: min(moments) for kind, moments in found.items() if moments}


def expire_kind(tables: Tables, *, kind: str, limit: int) -> int:
    """Delete what has expired of one kind; return how many."""
    return _ENDS[kind](tables, limit=limit)


def read_expiry_queue(tables: Tables) -> ExpiryQueue:
    """Return how much has expired and is still there, and since when."""
    moments = [at for find in _FOUND.values() for at in find(tables)]
    return ExpiryQueue(expired=len(moments), oldest_at=min(moments, default=None))
