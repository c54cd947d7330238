"""What the calls of JobDispatcher do."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from typing import Any

from strongroom.errors import AlreadyExists, StaleClaim
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import missing, moment
from strongroom.in_memory.values import check_size, comparable
from strongroom.models.base import JsonValue
from strongroom.models.jobs import EnqueuedJob, Job, JobLease, JobQueue, JobStatus
from strongroom.models.pages import Direction, Page

JOB_BYTES = 65_536

_TOKENS = itertools.count(1)
"""Claim tokens of this process: strictly growing, whatever is deleted or undone."""


def enqueue_job(
    tables: Tables, *, job_id: str, delay_seconds: float, **content: Any
) -> EnqueuedJob:
    """Enqueue a job, or return the one that was enqueued so before, or that holds the dedupe key."""
    check_writable(tables)
    check_size("payload", content["payload"], JOB_BYTES)
    created_with = comparable([delay_seconds, content])
    row = tables.jobs.get(job_id)
    if row is not None:
        if row.created_with != created_with:
            raise AlreadyExists(
                "a job with this id was enqueued with other content",
                detail={"path": "job_id", "record": "job"},
                hint="Use a new id for a new job.",
            )
        return EnqueuedJob(**dict(row.record), outcome="duplicate", ended_job_id=None)
    had_key = [
        row.record
        for row in tables.jobs.values()
        if content["dedupe_key"] is not None
        and (row.record.queue, row.record.dedupe_key) == (content["queue"], content["dedupe_key"])
    ]
    for holder in had_key:
        if not holder.is_final:
            return EnqueuedJob(**dict(holder), outcome="duplicate", ended_job_id=None)
    unset: dict[str, Any] = dict.fromkeys(Job.model_fields)
    now = moment()
    job = Job(
        **{
            **unset,
            **content,
            "tenant_id": tables.tenant_id,
            "id": job_id,
            "status": "queued",
            "attempt": 0,
            "available_at": now + dt.timedelta(seconds=delay_seconds),
            "created_at": now,
            "updated_at": now,
        }
    )
    tables.jobs[job_id] = Row(job, created_with)
    ended = max(had_key, key=lambda holder: holder.created_at).id if had_key else None
    return EnqueuedJob(**dict(job), outcome="created", ended_job_id=ended)


def find_job(tables: Tables, *, job_id: str) -> Job | None:
    """Return the job."""
    row = tables.jobs.get(job_id)
    return row.record if row else None


def list_jobs(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    queue: str | None,
    status: JobStatus | None,
) -> Page[Job]:
    """Return a page of jobs, forward newest first."""
    check_page(after, before)
    since = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return page_of(
        [
            row.record
            for row in tables.jobs.values()
            if queue in {None, row.record.queue} and status in {None, row.record.status}
        ],
        key=lambda job: [(job.created_at - since) // dt.timedelta(microseconds=1), job.id],
        descending=direction == "forward",
        scope=cursor_scope("jobs", [queue, status], direction),
        limit=limit,
        after=after,
        before=before,
    )


def _is_due(job: Job) -> bool:
    due = job.lease_expires_at if job.status == "running" else job.available_at
    return not job.is_final and due is not None and due <= moment()


def has_due_job(tables: Tables, *, queues: list[str]) -> bool:
    """Whether there is anything to claim, in a tenant that takes writes."""
    return (
        tables.tenant is not None
        and tables.tenant.record.status == "active"
        and any(_is_due(row.record) and row.record.queue in queues for row in tables.jobs.values())
    )


def claim_job(
    tables: Tables, *, worker_id: str, queues: list[str], lease_seconds: float
) -> Job | None:
    """Claim the first job that is ready; a running one that was in its last attempt fails instead."""
    if not has_due_job(tables, queues=queues):
        return None
    due = [row.record for row in tables.jobs.values() if _is_due(row.record)]
    for job in due:
        if job.status == "running" and job.attempt >= job.max_attempts:
            lost: JsonValue = {
                "code": "worker_lost",
                "message": f"no worker finished the job in {job.attempt} attempts",
            }
            _end(tables, job, "failed", error=lost)
    ready = [job for job in due if not tables.jobs[job.id].record.is_final and job.queue in queues]
    if not ready:
        return None
    job = min(ready, key=lambda j: (queues.index(j.queue), -j.priority, j.created_at, j.id))
    return _claim(tables, job, worker_id, lease_seconds)


def claim_one_job(
    tables: Tables, *, job_id: str, worker_id: str, lease_seconds: float
) -> Job | None:
    """Claim this job when it is claimable now."""
    check_writable(tables)
    job = find_job(tables, job_id=job_id)
    if job is None:
        raise missing("job")
    if not _is_due(job) or (job.status == "running" and job.attempt >= job.max_attempts):
        return None
    return _claim(tables, job, worker_id, lease_seconds)


def _claim(tables: Tables, job: Job, worker_id: str, lease_seconds: float) -> Job:
    return _change(
        tables,
        job,
        status="running",
        attempt=job.attempt + 1,
        claim_token=next(_TOKENS),
        worker_id=worker_id,
        lease_expires_at=moment() + dt.timedelta(seconds=lease_seconds),
        started_at=job.started_at or moment(),
    )


def check_claims(tables: Tables, *, claims: list[dict[str, Any]]) -> None:
    """Refuse unless every job is running under its claim, or was completed under it before."""
    check_writable(tables)
    stale: list[JsonValue] = []
    for claim in claims:
        row = tables.jobs.get(claim["id"])
        if (
            row is None
            or row.record.claim_token != claim["claim_token"]
            or row.record.status not in {"running", "completed"}
        ):
            stale.append({**claim, "status": row.record.status if row else "absent"})
    if stale:
        raise _stale(tables, stale)


def complete_jobs(tables: Tables, *, claims: list[dict[str, Any]]) -> None:
    """Complete jobs under their claims, all or none."""
    check_claims(tables, claims=claims)
    for claim in claims:
        job = tables.jobs[claim["id"]].record
        if job.status == "running":
            _end(tables, job, "completed", error=None)


def complete_job(tables: Tables, *, job_id: str, claim_token: int) -> Job:
    """Complete one job."""
    complete_jobs(tables, claims=[{"id": job_id, "claim_token": claim_token}])
    return tables.jobs[job_id].record


def heartbeat_job(
    tables: Tables, *, job_id: str, claim_token: int, lease_seconds: float
) -> JobLease:
    """Prolong the lease; also one that has ended, while nobody else has claimed the job."""
    job = _claimed(tables, job_id, claim_token)
    expiry = moment() + dt.timedelta(seconds=lease_seconds)
    _change(tables, job, lease_expires_at=expiry)
    return JobLease(lease_expires_at=expiry)


def retry_job_later(
    tables: Tables,
    *,
    job_id: str,
    claim_token: int,
    error: dict[str, Any],
    delay_seconds: float | None,
) -> Job:
    """Give the job back, to be claimed again after a delay; without attempts left it fails."""
    check_size("error", error, JOB_BYTES)
    job = _claimed(tables, job_id, claim_token, {"retry_pending", "queued", "failed"}, error)
    if job.status != "running":
        return job
    if job.attempt >= job.max_attempts:
        return _end(tables, job, "failed", error=error)
    if delay_seconds is None:
        longest = min(job.backoff_seconds * 2 ** min(job.attempt - 1, 40), job.max_backoff_seconds)
        delay_seconds = longest * random.uniform(0.5, 1)  # noqa: S311
    return _change(
        tables,
        job,
        status="retry_pending",
        error=error,
        lease_expires_at=None,
        available_at=moment() + dt.timedelta(seconds=delay_seconds),
    )


def fail_job(tables: Tables, *, job_id: str, claim_token: int, error: dict[str, Any]) -> Job:
    """End the job as failed."""
    check_size("error", error, JOB_BYTES)
    job = _claimed(tables, job_id, claim_token, {"failed"}, error)
    return job if job.status != "running" else _end(tables, job, "failed", error=error)


def release_job(tables: Tables, *, job_id: str, claim_token: int) -> Job:
    """Give the job back at once, without costing an attempt."""
    job = _claimed(tables, job_id, claim_token, {"queued"})
    if job.status != "running":
        return job
    return _change(tables, job, status="queued", lease_expires_at=None, attempt=job.attempt - 1)


def cancel_job(tables: Tables, *, job_id: str) -> Job:
    """End the job as cancelled, unless it has ended."""
    check_writable(tables)
    row = tables.jobs.get(job_id)
    if row is None:
        raise missing("job")
    job = row.record
    return job if job.is_final else _end(tables, job, "cancelled", error=job.error)


def read_job_queue(tables: Tables, *, queue: str | None) -> JobQueue:
    """Count the jobs that have not ended."""
    jobs = [row.record for row in tables.jobs.values() if queue in {None, row.record.queue}]
    ready = [job for job in jobs if _is_due(job)]
    return JobQueue(
        ready=len(ready),
        queued=sum(job.status == "queued" for job in jobs),
        running=sum(job.status == "running" for job in jobs),
        retry_pending=sum(job.status == "retry_pending" for job in jobs),
        expired_leases=sum(job.status == "running" for job in ready),
        oldest_ready_at=min((job.available_at for job in ready), default=None),
    )


def prune_jobs(tables: Tables, *, ended_before: str, limit: int) -> int:
    """Delete the oldest jobs that have ended before a moment."""
    check_writable(tables)
    end = dt.datetime.fromisoformat(ended_before)
    old = sorted(
        (row.record for row in tables.jobs.values() if _ended_before(row.record, end)),
        key=lambda job: (job.created_at, job.id),
    )
    for job in old[:limit]:
        del tables.jobs[job.id]
    return len(old[:limit])


def _ended_before(job: Job, end: dt.datetime) -> bool:
    return job.finished_at is not None and job.finished_at < end


def _claimed(
    tables: Tables,
    job_id: str,
    claim_token: int,
    repeated: set[str] | frozenset[str] = frozenset(),
    error: JsonValue = None,
) -> Job:
    """Return a job that this claim holds, or that the same call has brought into a state before."""
    check_writable(tables)
    row = tables.jobs.get(job_id)
    if row is None:
        raise missing("job")
    job = row.record
    is_repeat = job.status in repeated and error in (None, job.error)
    if job.claim_token != claim_token or not (job.status == "running" or is_repeat):
        raise _stale(tables, [{"id": job_id, "claim_token": claim_token, "status": job.status}])
    return job


def _stale(tables: Tables, jobs: list[Any]) -> StaleClaim:
    return StaleClaim(
        f"the claim of job {jobs[0]['id']} is no longer valid; the job is {jobs[0]['status']}",
        detail={"record": "job", "tenant_id": tables.tenant_id, "jobs": jobs},
        hint="Stop working on these jobs: nothing of this call was written.",
    )


def _end(tables: Tables, job: Job, status: JobStatus, *, error: JsonValue) -> Job:
    return _change(
        tables, job, status=status, error=error, lease_expires_at=None, finished_at=moment()
    )


def _change(tables: Tables, job: Job, **changes: Any) -> Job:
    changed = job.replace(**changes, updated_at=moment())
    tables.jobs[job.id] = Row(changed, tables.jobs[job.id].created_with)
    return changed
