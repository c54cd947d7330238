"""The steps of a run: found, claimed, ended; what the three ports of runs share."""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from typing import Any, cast

from strongroom.errors import AlreadyExists, NotFound, StaleClaim
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import is_readable
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.messages import append_messages
from strongroom.in_memory.usage_functions import write_run_usage
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.json_values import stored_size
from strongroom.models.runs import FinalStatus, Run

STREAMED_BYTES = 1_000_000

_TOKENS = itertools.count(1)
"""Claim tokens of this process: strictly growing, whatever is deleted or undone."""

Plain = dict[str, Any]


def moment() -> dt.datetime:
    """Return the time now, also within a unit of work that began earlier."""
    return dt.datetime.now(dt.UTC)


def missing(name: str) -> NotFound:
    """Return the error for a record that is absent, deleted or unreadable."""
    return NotFound(
        f"the {name} does not exist",
        detail={"record": name},
        hint="It may have been deleted, or this caller may not see it.",
    )


def living_run(tables: Tables, run_id: str, viewer_id: str | None = None) -> Run:
    """Return a run of a living conversation that the viewer may read.

    Raises:
        NotFound: SR010.
    """
    row = tables.runs.get(run_id)
    if row is None or not _is_readable(tables, row.record, viewer_id):
        raise missing("run")
    return row.record


def _is_readable(tables: Tables, run: Run, viewer_id: str | None) -> bool:
    return is_readable(tables.conversations[run.conversation_id].record, viewer_id)


def readable_runs(tables: Tables, viewer_id: str | None) -> list[Run]:
    """Return the runs whose living conversations the viewer may read."""
    runs = [row.record for row in tables.runs.values()]
    return [run for run in runs if _is_readable(tables, run, viewer_id)]


def claimed_run(tables: Tables, run_id: str, claim_token: int) -> Run:
    """Return the run that the caller holds: the first step of every write on its behalf.

    Raises:
        NotFound: SR010.
        StaleClaim: SR031.
    """
    run = living_run(tables, run_id)
    if run.status != "running" or run.claim_token != claim_token:
        raise stale(run, claim_token)
    return run


def stale(run: Run, claim_token: int) -> StaleClaim:
    """Return the error for a write by somebody who does not hold the run (any more)."""
    return StaleClaim(
        f"the claim of run {run.id} is no longer valid; the run is {run.status}",
        detail={"record": "run", "claim_token": claim_token, "status": run.status},
        hint="Stop working on the run: nothing of this call was written.",
    )


def change_run(tables: Tables, run: Run, **changes: Any) -> Run:
    """Put a changed run in the place of the old one."""
    changed = run.replace(**{"updated_at": tables.now, **changes})
    tables.runs[run.id] = Row(changed, tables.runs[run.id].created_with)
    return changed


def next_token() -> int:
    """Return a token that no claim has had."""
    return next(_TOKENS)


def claimable_runs(tables: Tables) -> list[Run]:
    """Return what may be claimed now, first the one whose turn it is."""
    heads: dict[str, Run] = {}
    for run in readable_runs(tables, None):
        head = heads.get(run.conversation_id)
        if not run.is_final and (head is None or run.number < head.number):
            heads[run.conversation_id] = run
    now = moment()
    ready = [run for run in heads.values() if _is_due(run, now)]
    return sorted(ready, key=lambda run: (-run.priority, run.created_at, run.id))


def _is_due(run: Run, now: dt.datetime) -> bool:
    if run.status == "running":
        return is_lost(run, now)
    return run.status in {"queued", "retry_pending"} and (
        run.available_at is None or run.available_at <= now
    )


def is_lost(run: Run, now: dt.datetime) -> bool:
    """Whether a running run's lease has ended."""
    return run.lease_expires_at is not None and run.lease_expires_at <= now


def is_given_up(run: Run) -> bool:
    """Whether nobody may claim the running run again, once its lease has ended."""
    return run.status == "running" and (
        run.attempt >= run.max_attempts or run.cancel_requested_at is not None
    )


def take_claim(tables: Tables, run: Run, worker_id: str, lease_seconds: float) -> Run:
    """Write a claim. Going on after an answer is no new attempt; a start, a retry, a lost lease are."""
    is_attempt = run.started_at is None or run.status == "running" or run.error is not None
    saved = tables.checkpoints.get(run.id, ())
    tables.resumed_after[run.id] = saved[-1].event_sequence if saved else 0
    return change_run(
        tables,
        run,
        status="running",
        attempt=run.attempt + (1 if is_attempt else 0),
        claim_token=next_token(),
        worker_id=worker_id,
        lease_expires_at=moment() + dt.timedelta(seconds=lease_seconds),
        available_at=None,
        started_at=run.started_at or tables.now,
    )


def queue_waiting_run(tables: Tables, run_id: str) -> None:
    """Queue a waiting run when none of its interactions is pending any more."""
    run = tables.runs[run_id].record
    if run.status in {"waiting_for_question", "waiting_for_approval"} and not any(
        row.record.run_id == run_id and row.record.status == "pending"
        for row in tables.interactions.values()
    ):
        change_run(tables, run, status="queued", error=None)


def end_run(
    tables: Tables,
    run: Run,
    status: FinalStatus,
    *,
    messages: list[Plain] | None = None,
    error: JsonObject | None = None,
    usage: list[Plain] | None = None,
    voids_claim: bool = True,
) -> Run:
    """End a run: the turn's messages and usage, open interactions, the status, the audit event.

    The conversation's next run is its head from then on. When somebody else than its worker ends it, its
    claim is void.
    """
    turn = messages or []
    if not turn and status != "completed":
        turn = _streamed_turn(tables, run, status)
    message_id = _write_turn(tables, run, turn) if turn else None
    for row in tuple(tables.interactions.values()):
        pending = row.record
        if pending.run_id == run.id and pending.status == "pending":
            ended = pending.replace(status="cancelled", resolved_at=tables.now)
            tables.interactions[pending.id] = Row(ended, row.created_with)
    write_run_usage(tables, run, usage or [])
    record_audit(
        tables,
        "run.finish",
        "run",
        run.id,
        details={
            "status": status,
            "attempt": run.attempt,
            "conversation_id": run.conversation_id,
        },
    )
    return change_run(
        tables,
        run,
        status=status,
        error=error,
        lease_expires_at=None,
        claim_token=next_token() if voids_claim and run.claim_token else run.claim_token,
        message_id=message_id,
        finished_at=tables.now,
    )


def _write_turn(tables: Tables, run: Run, turn: list[Plain]) -> str | None:
    """Append the turn; ids follow from the run's, so that a turn is written once."""
    ready = [
        {
            **message,
            "run_id": run.id,
            "id": message.get("id") or str(uuid.uuid5(uuid.NAMESPACE_OID, f"run {run.id} {place}")),
        }
        for place, message in enumerate(turn)
    ]
    done = append_messages(tables, conversation_id=run.conversation_id, messages=ready)
    for item in done.items:
        if item.outcome == "conflict":
            raise AlreadyExists(
                f"message {item.id} exists with other content, so the turn was not written",
                detail={"path": "messages", "id": item.id},
                hint="Give the run's messages ids of their own, or none.",
            )
    said = [message["id"] for message in ready if message["role"] == "assistant"]
    return said[-1] if said else None


def _streamed_turn(tables: Tables, run: Run, status: FinalStatus) -> list[Plain]:
    """Return what a person has seen as a message; nothing streamed, no message.

    A claim goes on after the event of the checkpoint that it started from: what earlier claims had
    streamed after that one was streamed again.
    """
    texts = []
    ends = [(event.claim_token, event.resumes_after) for event in tables.run_events.get(run.id, ())]
    for event in tables.run_events.get(run.id, ()):
        later = [after for token, after in ends if token > event.claim_token]
        text = event.data.get("text")
        survives = event.sequence <= min(later, default=event.sequence)
        if event.kind == "text-delta" and isinstance(text, str) and survives:
            texts.append(text)
    streamed = "".join(texts)
    while stored_size(cast("JsonValue", streamed)) > STREAMED_BYTES:
        streamed = streamed[: len(streamed) * 9 // 10]
    if not streamed:
        return []
    text_part = {"type": "text", "schema_version": 1, "text": streamed}
    status_part = {"type": "status", "schema_version": 1, "status": status}
    return [{"role": "assistant", "parts": [text_part, status_part]}]


def end_lost_run(tables: Tables, run: Run) -> None:
    """End a run whose last worker is gone: cancelled where that was asked for, else failed."""
    if run.cancel_requested_at is not None:
        end_run(tables, run, "cancelled")
        return
    lost: JsonObject = {
        "code": "worker_lost",
        "message": f"no worker finished the run in {run.max_attempts} attempts",
    }
    end_run(tables, run, "failed", error=lost)


def drop_runs(tables: Tables, conversation_id: str | None = None) -> dict[str, int]:
    """Delete the runs of a conversation (of all: None) and what hangs on them; count the rows."""

    def goes(record: Any) -> bool:
        return conversation_id is None or record.conversation_id == conversation_id

    runs = [row.record.id for row in tables.runs.values() if goes(row.record)]
    asked = [row.record.id for row in tables.interactions.values() if goes(row.record)]
    grants = [grant.id for grant in tables.approval_grants.values() if goes(grant)]
    counts = {
        "runs": len(runs),
        "run_events": sum(len(tables.run_events.pop(run_id, ())) for run_id in runs),
        "checkpoints": sum(len(tables.checkpoints.pop(run_id, ())) for run_id in runs),
        "interactions": len(asked),
        "approval_grants": len(grants),
    }
    for run_id in runs:
        del tables.runs[run_id]
        tables.resumed_after.pop(run_id, None)
    for interaction_id in asked:
        del tables.interactions[interaction_id]
        tables.approval_claims.pop(interaction_id, None)
    for grant_id in grants:
        del tables.approval_grants[grant_id]
    return counts
