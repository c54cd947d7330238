"""Jobs: work to be done once, by any worker, with retries."""

from __future__ import annotations

from typing import Literal

from strongroom.models.base import Id, JsonObject, Record, Timestamp
from strongroom.models.runs import ClaimToken

JobStatus = Literal["queued", "running", "retry_pending", "completed", "failed", "cancelled"]
EnqueueOutcome = Literal["created", "duplicate"]


class Job(Record):
    """A job.

    Attributes:
        queue: workers claim from the queues that they name.
        kind: what is to be done, for the worker to choose a handler.
        dedupe_key: one job of the queue holds it at a time, until that job has ended.
        attempt: how often it has been claimed: 1 for the first time.
        backoff_seconds: the wait before the second attempt; it doubles with each further one.
        claim_token: the newest claim's token; every write on behalf of the job names it.
    """

    tenant_id: Id
    id: Id
    queue: Id
    kind: Id
    payload: JsonObject
    dedupe_key: Id | None
    priority: int
    status: JobStatus
    attempt: int
    max_attempts: int
    backoff_seconds: float
    max_backoff_seconds: float
    available_at: Timestamp
    lease_expires_at: Timestamp | None
    claim_token: int | None
    worker_id: Id | None
    error: JsonObject | None
    created_at: Timestamp
    started_at: Timestamp | None
    finished_at: Timestamp | None
    updated_at: Timestamp

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.status in {"completed", "failed", "cancelled"}

    @property
    def claim(self) -> JobClaim:
        """The newest claim on it, as ``complete_and_claim`` takes it; InvalidArgument before the first."""
        return JobClaim(tenant_id=self.tenant_id, id=self.id, claim_token=self.claim_token)


class EnqueuedJob(Job):
    """A job as ``enqueue`` returns it.

    Attributes:
        outcome: ``created``, or ``duplicate`` of this job: the same call before, or the job that holds
            the dedupe key.
        ended_job_id: for a created one, the ended job that had its dedupe key before.
    """

    outcome: EnqueueOutcome
    ended_job_id: Id | None


class JobClaim(Record):
    """A claim on a job."""

    tenant_id: Id
    id: Id
    claim_token: ClaimToken


class JobLease(Record):
    """What a heartbeat returns: until when the claim holds without another one."""

    lease_expires_at: Timestamp


class JobQueue(Record):
    """How many of a tenant's jobs stand where.

    Attributes:
        ready: can be claimed now.
        queued: with those for later, and those that were given back.
        expired_leases: running, and no longer heard of.
        oldest_ready_at: since when the oldest ready one waits.
    """

    ready: int
    queued: int
    running: int
    retry_pending: int
    expired_leases: int
    oldest_ready_at: Timestamp | None
