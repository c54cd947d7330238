"""Purging a tenant: everything that is its, and the receipt that outlives it."""

from __future__ import annotations

from collections import Counter

from strongroom.in_memory.catalog_entries import drop_catalog
from strongroom.in_memory.database import Tables
from strongroom.in_memory.dropping import drop_made_things
from strongroom.in_memory.erasure import Touched, find_receipt, items_of, store_receipt
from strongroom.in_memory.evaluation_results import drop_evaluations
from strongroom.in_memory.file_functions import drop_files
from strongroom.in_memory.run_steps import drop_runs
from strongroom.in_memory.transcripts import drop_transcripts
from strongroom.models.tenants import PurgeReceipt


def purge_tenant(tables: Tables, *, dry_run: bool, receipt_id: str) -> PurgeReceipt:
    """Delete everything but receipts, and say how many rows of each table that were."""
    known = find_receipt(tables, "tenant", receipt_id)
    if known is not None:
        lost = {item.table_name: item.row_count for item in known.items}
        return PurgeReceipt(tables=lost, receipt_id=receipt_id, dry_run=dry_run)
    if dry_run:
        tables = tables.draft(tables.now)
    lost = {name: n for name, n in _drop_everything(tables).items() if n}
    if dry_run:
        return PurgeReceipt(tables=lost, dry_run=True)
    touched: Touched = Counter({(name, "delete"): n for name, n in lost.items()})
    store_receipt(tables, "tenant", receipt_id, items_of(touched))
    return PurgeReceipt(tables=lost, receipt_id=receipt_id if lost else None)


def _drop_everything(tables: Tables) -> dict[str, int]:
    """Delete everything, and say how many rows of each table of the database that would be."""
    conversations = [row.record for row in tables.conversations.values()]
    lost = {
        "audit_events": len(tables.audit_events),
        "audit_seals": len(tables.audit_seals),
        "chunks": sum(len(chunks) for chunks in tables.chunks.values()),
        "collections": len(tables.collections),
        "conversation_participants": sum(len(c.participant_ids) for c in conversations),
        "conversations": len(conversations),
        "framework_records": sum(len(kept) for kept in tables.framework_records.values()),
        "framework_sessions": len(tables.framework_sessions),
        "jobs": len(tables.jobs),
        "locks": len(tables.locks),
        "memberships": len(tables.members),
        "memories": len(tables.facts),
        "memory_settings": len(tables.memory_settings),
        "memory_tombstones": len(tables.tombstones),
        "messages": len(tables.messages_by_id),
        "retention_policies": len(tables.retention_policies),
        "session_states": len(tables.session_states),
        "sources": len(tables.sources),
        "tenants": 1 if tables.tenant else 0,
        "topic_events": sum(len(events) for events in tables.topic_events.values()),
        "topics": len(tables.topics),
        "thread_summaries": sum(len(summaries) for summaries in tables.summaries.values()),
        "usage_events": len(tables.usage_events),
        **drop_runs(tables),
        **drop_catalog(tables),
        **drop_evaluations(tables),
        **drop_files(tables),
        **drop_made_things(tables),
        **drop_transcripts(tables, lambda *_: True),
    }
    tables.tenant = None
    tables.audit_seals = ()
    for rows in (
        tables.members,
        tables.conversations,
        tables.messages,
        tables.messages_by_id,
        tables.session_states,
        tables.summaries,
        tables.jobs,
        tables.locks,
        tables.topics,
        tables.topic_events,
        tables.audit_events,
        tables.facts,
        tables.memory_settings,
        tables.tombstones,
        tables.collections,
        tables.sources,
        tables.chunks,
        tables.usage_events,
        tables.usage_by_step,
        tables.framework_sessions,
        tables.framework_records,
        tables.retention_policies,
    ):
        rows.clear()
    return lost
