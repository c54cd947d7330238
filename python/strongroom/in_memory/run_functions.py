"""What the calls of RunStore do, but for those in ``run_endings``."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.in_memory.base import check_writable, readable_conversation
from strongroom.in_memory.catalog_versions import agent_of_run
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import (
    change_run,
    claimable_runs,
    claimed_run,
    end_lost_run,
    is_given_up,
    is_lost,
    living_run,
    moment,
    readable_runs,
    take_claim,
)
from strongroom.in_memory.values import check_size, comparable
from strongroom.models.pages import Direction, Page
from strongroom.models.runs import (
    CreatedRun,
    Lease,
    Run,
    RunEvent,
    RunEventItem,
    RunQueue,
    RunStatus,
)

INPUT_BYTES = 1_048_576


def create_run(
    tables: Tables, *, run_id: str, available_at: dt.datetime | None, **content: Any
) -> CreatedRun:
    """Queue a run behind the conversation's other runs, or know a repeated create by its content."""
    check_writable(tables)
    check_size("input", content["input"], INPUT_BYTES)
    if content["agent_version"] is not None and content["agent_id"] is None:
        raise InvalidArgument(
            "agent_version is a version of agent_id; versions start at 1",
            detail={"path": "agent_version"},
            hint="Give the agent and its version, the agent alone, or neither.",
        )
    readable_conversation(tables, content["conversation_id"])
    created_with = comparable(content)
    row = tables.runs.get(run_id)
    if row is None:
        row = Row(_new_run(tables, run_id, available_at, content), created_with)
        tables.runs[run_id] = row
        return CreatedRun(**dict(row.record), outcome="inserted")
    if row.created_with != created_with:
        raise AlreadyExists(
            "a run with this id was created with other content",
            detail={"path": "run_id", "record": "run"},
            hint="Use a new id for a new run.",
        )
    return CreatedRun(**dict(row.record), outcome="duplicate")


def _new_run(
    tables: Tables, run_id: str, available_at: dt.datetime | None, content: dict[str, Any]
) -> Run:
    numbers = [
        row.record.number
        for row in tables.runs.values()
        if row.record.conversation_id == content["conversation_id"]
    ]
    unset: dict[str, Any] = dict.fromkeys(Run.model_fields)
    return Run(
        **{
            **unset,
            **content,
            **agent_of_run(tables, content["conversation_id"], content),
            "tenant_id": tables.tenant_id,
            "id": run_id,
            "number": max(numbers, default=0) + 1,
            "status": "queued",
            "attempt": 0,
            "available_at": available_at,
            "last_event_sequence": 0,
            "last_checkpoint_sequence": 0,
            "created_at": tables.now,
            "updated_at": tables.now,
        }
    )


def find_run(tables: Tables, *, run_id: str, viewer_id: str | None) -> Run | None:
    """Return the run, where the viewer may read its conversation."""
    runs = [run for run in readable_runs(tables, viewer_id) if run.id == run_id]
    return runs[0] if runs else None


def list_runs(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    conversation_id: str | None,
    status: RunStatus | None,
) -> Page[Run]:
    """Return a page of runs, forward newest first."""
    check_page(after, before)
    since = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return page_of(
        [
            run
            for run in readable_runs(tables, viewer_id)
            if conversation_id in {None, run.conversation_id} and status in {None, run.status}
        ],
        key=lambda run: [(run.created_at - since) // dt.timedelta(microseconds=1), run.id],
        descending=direction == "forward",
        scope=cursor_scope("runs", [viewer_id, conversation_id, status], direction),
        limit=limit,
        after=after,
        before=before,
    )


def has_claimable_run(tables: Tables) -> bool:
    """Whether there is anything to claim."""
    return bool(claimable_runs(tables))


def claim_next_run(tables: Tables, *, worker_id: str, lease_seconds: float) -> Run | None:
    """Claim the tenant's next ready run; end those that nobody may claim again."""
    if tables.tenant is None or tables.tenant.record.status != "active":
        return None
    while ready := claimable_runs(tables):
        if not is_given_up(ready[0]):
            return take_claim(tables, ready[0], worker_id, lease_seconds)
        end_lost_run(tables, ready[0])
    return None


def claim_run(tables: Tables, *, run_id: str, worker_id: str, lease_seconds: float) -> Run | None:
    """Claim this run when it may be claimed now."""
    check_writable(tables)
    run = living_run(tables, run_id)
    if is_given_up(run) or run.id not in {ready.id for ready in claimable_runs(tables)}:
        return None
    return take_claim(tables, run, worker_id, lease_seconds)


def heartbeat_run(tables: Tables, *, run_id: str, claim_token: int, lease_seconds: float) -> Lease:
    """Prolong the lease; one that has ended, too, while nobody else has claimed the run."""
    check_writable(tables)
    run = claimed_run(tables, run_id, claim_token)
    expires_at = moment() + dt.timedelta(seconds=lease_seconds)
    change_run(tables, run, lease_expires_at=expires_at)
    return Lease(lease_expires_at=expires_at, cancel_requested=run.cancel_requested_at is not None)


def append_run_events(
    tables: Tables, *, run_id: str, claim_token: int, events: list[dict[str, Any]]
) -> tuple[RunEventItem, ...]:
    """Append what is new, in order; say what became of each event."""
    check_writable(tables)
    places: set[str] = set()
    for index, event in enumerate(events):
        check_size(f"events[{index}].data", event["data"], INPUT_BYTES)
        if event["id"] in places:
            raise InvalidArgument(
                f"events[{index}].id stands in the batch already",
                detail={"path": f"events[{index}].id"},
                hint="Each event of a batch has its own id.",
            )
        places.add(event["id"])
    run = claimed_run(tables, run_id, claim_token)
    stored = tables.run_events.get(run_id, ())
    by_id = {event.id: event for event in stored}
    new: list[RunEvent] = []
    items = []
    for plain in events:
        known = by_id.get(plain["id"])
        if known is None:
            known = RunEvent(
                **plain,
                tenant_id=tables.tenant_id,
                run_id=run_id,
                sequence=run.last_event_sequence + len(new) + 1,
                claim_token=claim_token,
                resumes_after=tables.resumed_after[run_id],
                created_at=tables.now,
            )
            new.append(known)
            items.append(RunEventItem(id=known.id, outcome="inserted", sequence=known.sequence))
        elif known.kind == plain["kind"] and comparable(known.data) == comparable(plain["data"]):
            items.append(RunEventItem(id=known.id, outcome="duplicate", sequence=known.sequence))
        else:
            items.append(RunEventItem(id=known.id, outcome="conflict", sequence=None))
    tables.run_events[run_id] = (*stored, *new)
    last = run.last_event_sequence + len(new)
    change_run(tables, run, last_event_sequence=last, updated_at=run.updated_at)
    return tuple(items)


def list_run_events(
    tables: Tables, *, run_id: str, limit: int, after_sequence: int, viewer_id: str | None
) -> tuple[RunEvent, ...]:
    """Return events after a sequence, oldest first."""
    living_run(tables, run_id, viewer_id)
    return tables.run_events.get(run_id, ())[after_sequence:][:limit]


def read_run_queue(tables: Tables) -> RunQueue:
    """Count where runs stand."""
    runs = [row.record for row in tables.runs.values() if not row.record.is_final]
    now = moment()
    ready = claimable_runs(tables)

    def standing(*statuses: str) -> int:
        return sum(run.status in statuses for run in runs)

    return RunQueue(
        ready=len(ready),
        queued=standing("queued"),
        running=standing("running"),
        waiting=standing("waiting_for_question", "waiting_for_approval"),
        retry_pending=standing("retry_pending"),
        expired_leases=sum(run.status == "running" and is_lost(run, now) for run in runs),
        oldest_ready_at=min((run.created_at for run in ready), default=None),
    )
