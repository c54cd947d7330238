"""Retention in memory: policies, and how each kind of record ends."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from strongroom.errors import InvalidArgument
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable, versioned
from strongroom.in_memory.conversation_functions import drop_conversation
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.dropping import drop_tool_outputs
from strongroom.in_memory.framework_sessions import sweep_sessions
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.realtime import trim_topic
from strongroom.in_memory.transcripts import drop_transcripts
from strongroom.models.conversations import Conversation
from strongroom.models.lifecycle import RetentionPolicy, SweptRecords
from strongroom.models.pages import Direction, Page

Sweeper = Callable[[Tables, dt.datetime, int], tuple[int, int]]
"""End up to a number of records that are older than a moment; return how many, and how many stay."""


def _is_held(tables: Tables, conversation_id: str) -> bool:
    return any(
        row.record.conversation_id == conversation_id and not row.record.is_final
        for row in tables.runs.values()
    ) or any(
        row.record.conversation_id == conversation_id and row.record.status == "pending"
        for row in tables.interactions.values()
    )


def _is_idle(tables: Tables, conversation: Conversation, before: dt.datetime) -> bool:
    messages = tables.messages.get(conversation.id, ())
    return (
        conversation.updated_at < before
        and not (messages and messages[-1].created_at >= before)
        and not any(
            row.record.conversation_id == conversation.id and row.record.updated_at >= before
            for row in tables.runs.values()
        )
    )


def _ended(tables: Tables, run_id: str, before: dt.datetime) -> bool:
    finished_at = tables.runs[run_id].record.finished_at
    return finished_at is not None and finished_at < before


def _unheld(
    tables: Tables, conversations: list[Conversation], limit: int
) -> tuple[list[Conversation], int]:
    """Return those that may go, up to the limit, and how many had to stay among those looked at."""
    going: list[Conversation] = []
    held = 0
    for conversation in conversations:
        if _is_held(tables, conversation.id):
            held += 1
        elif len(going) == limit:
            break
        else:
            going.append(conversation)
    return going, held


def _sweep_conversations(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    idle = [
        row.record
        for row in tables.conversations.values()
        if row.record.deleted_at is None and _is_idle(tables, row.record, before)
    ]
    going, held = _unheld(tables, sorted(idle, key=lambda c: (c.created_at, c.id)), limit)
    for conversation in going:
        row = tables.conversations[conversation.id]
        gone = conversation.replace(
            deleted_at=tables.now, updated_at=tables.now, version=conversation.version + 1
        )
        tables.conversations[conversation.id] = Row(gone, row.created_with)
    return len(going), held


def _sweep_deleted(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    deleted = [
        (row.record.deleted_at, row.record.id, row.record)
        for row in tables.conversations.values()
        if row.record.deleted_at is not None and row.record.deleted_at < before
    ]
    going, held = _unheld(tables, [record for *_, record in sorted(deleted)], limit)
    for conversation in going:
        drop_conversation(tables, conversation.id)
    return len(going), held


def _sweep_run_events(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    count = 0
    for run_id, events in [*tables.run_events.items()]:
        if _ended(tables, run_id, before):
            taken = min(len(events), limit - count)
            tables.run_events[run_id] = events[taken:]
            count += taken
    return count, 0


def _sweep_checkpoints(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    count = 0
    for run_id, checkpoints in [*tables.checkpoints.items()]:
        if _ended(tables, run_id, before):
            taken = min(len(checkpoints), limit - count)
            tables.checkpoints[run_id] = checkpoints[taken:]
            count += taken
    return count, 0


def _sweep_interactions(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    old = [
        row.record.id
        for row in tables.interactions.values()
        if row.record.resolved_at is not None
        and row.record.resolved_at < before
        and _ended(tables, row.record.run_id, before)
    ][:limit]
    for interaction_id in old:
        del tables.interactions[interaction_id]
        tables.approval_claims.pop(interaction_id, None)
    return len(old), 0


def _sweep_grants(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    old = [
        grant.id
        for grant in tables.approval_grants.values()
        if any(end is not None and end < before for end in (grant.revoked_at, grant.expires_at))
    ][:limit]
    for grant_id in old:
        del tables.approval_grants[grant_id]
    return len(old), 0


def _sweep_jobs(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    old = [
        row.record.id
        for row in tables.jobs.values()
        if row.record.finished_at is not None and row.record.finished_at < before
    ][:limit]
    for job_id in old:
        del tables.jobs[job_id]
    return len(old), 0


def _sweep_topic_events(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    count = 0
    for topic, events in sorted(tables.topic_events.items()):
        last = 0
        for event in events:
            if event.created_at >= before:
                break
            last = event.sequence
        if last and count < limit:
            count += trim_topic(tables, topic=topic, up_to_sequence=last, limit=limit - count)
    return count, 0


def _sweep_memories(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    old = [
        place
        for place, stored in tables.facts.items()
        if max(stored.record.updated_at, stored.record.last_used_at or stored.record.updated_at)
        < before
    ][:limit]
    for place in old:
        del tables.facts[place]
    return len(old), 0


def _sweep_tool_outputs(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    busy = {run.record.conversation_id for run in tables.runs.values() if not run.record.is_final}
    old = {
        key
        for key, output in [*tables.tool_outputs.items()]
        if output.created_at < before and key[0] not in busy
    }
    going = sorted(old)[:limit]
    drop_tool_outputs(tables, lambda output: (output.conversation_id, output.id) in going)
    return len(going), 0


def _sweep_transcripts(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    old = [
        key
        for key, transcript in tables.transcripts.items()
        if transcript.conversation_id is None and transcript.updated_at < before
    ][:limit]
    drop_transcripts(tables, lambda key, _: key in old)
    return len(old), 0


SWEEPERS: dict[str, Sweeper] = {
    "approval_grants": _sweep_grants,
    "checkpoints": _sweep_checkpoints,
    "conversations": _sweep_conversations,
    "deleted_conversations": _sweep_deleted,
    "framework_sessions": sweep_sessions,
    "interactions": _sweep_interactions,
    "jobs": _sweep_jobs,
    "memories": _sweep_memories,
    "run_events": _sweep_run_events,
    "tool_outputs": _sweep_tool_outputs,
    "topic_events": _sweep_topic_events,
    "transcripts": _sweep_transcripts,
}
"""The kinds that a policy can be about."""


def set_policy(
    tables: Tables, *, kind: str, keep_seconds: int, expected_version: int
) -> RetentionPolicy:
    """Set how long records of a kind are kept."""
    check_writable(tables)
    if kind not in SWEEPERS:
        raise InvalidArgument(
            f"kind must be one of: {', '.join(sorted(SWEEPERS))}",
            detail={"path": "kind", "choices": sorted(SWEEPERS), "actual": kind},
            hint="Use one of the listed values.",
        )
    row = tables.retention_policies.get(kind)
    if row is None and expected_version == 0:
        policy = RetentionPolicy(
            tenant_id=tables.tenant_id,
            kind=kind,
            keep_seconds=keep_seconds,
            version=1,
            swept_at=None,
            created_at=tables.now,
            updated_at=tables.now,
        )
    else:
        old = versioned(row, "retention policy", expected_version).record
        check_version("retention policy", expected_version, old.version)
        policy = old.replace(
            keep_seconds=keep_seconds,
            version=old.version + 1,
            swept_at=None,
            updated_at=tables.now,
        )
    tables.retention_policies[kind] = Row(policy, None)
    record_audit(
        tables,
        "retention.set",
        "retention_policy",
        kind,
        details={"keep_seconds": keep_seconds, "version": policy.version},
    )
    return policy


def remove_policy(tables: Tables, *, kind: str) -> bool:
    """Remove a policy; say whether there was one."""
    check_writable(tables)
    removed = tables.retention_policies.pop(kind, None) is not None
    if removed:
        record_audit(tables, "retention.remove", "retention_policy", kind)
    return removed


def list_policies(
    tables: Tables, *, limit: int, after: str | None, before: str | None, direction: Direction
) -> Page[RetentionPolicy]:
    """Return a page of policies by kind."""
    check_page(after, before)
    return page_of(
        [row.record for row in tables.retention_policies.values()],
        key=lambda policy: [policy.kind],
        descending=direction == "backward",
        scope=cursor_scope("retention_policies", [], direction),
        limit=limit,
        after=after,
        before=before,
    )


def is_due(tables: Tables) -> bool:
    """Whether an active tenant has a policy that no sweep has finished for an hour."""
    hour_ago = tables.now - dt.timedelta(hours=1)
    return (
        tables.tenant is not None
        and tables.tenant.record.status == "active"
        and any(
            row.record.swept_at is None or row.record.swept_at < hour_ago
            for row in tables.retention_policies.values()
        )
    )


def sweep(
    tables: Tables, *, limit: int, only_if_due: bool, dry_run: bool = False
) -> list[SweptRecords]:
    """Do one bounded step for each policy of the tenant."""
    if only_if_due and not is_due(tables):
        return []
    check_writable(tables)
    if dry_run:
        tables = tables.draft(tables.now)
    done = []
    for kind, row in sorted(tables.retention_policies.items()):
        policy = row.record
        before = tables.now - dt.timedelta(seconds=policy.keep_seconds)
        count, held = SWEEPERS[kind](tables, before, limit)
        has_more = count >= limit
        if not has_more:
            tables.retention_policies[kind] = Row(policy.replace(swept_at=tables.now), None)
        done.append(
            SweptRecords(
                tenant_id=tables.tenant_id,
                kind=kind,
                row_count=count,
                held=held,
                has_more=has_more,
            )
        )
    return done
