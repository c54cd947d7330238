"""The port for jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from strongroom.models.base import Id, JsonObject, Moment
from strongroom.models.jobs import EnqueuedJob, Job, JobClaim, JobLease, JobQueue, JobStatus
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import ClaimToken
from strongroom.ports.runs import Attempts, DelaySeconds, LeaseSeconds, Priority

Queues = Annotated[Sequence[Id], Field(min_length=1, max_length=100)]
"""Queues to claim from, the preferred ones first."""
Claims = Annotated[Sequence[JobClaim], Field(max_length=500)]
ClaimLimit = Annotated[int, Field(strict=True, ge=0, le=500)]


class JobDispatcher(Protocol):
    """Jobs: enqueued once, claimed under a lease by any worker, ended exactly once.

    queued > running > completed | failed | cancelled, or retry_pending > queued. completed, failed and
    cancelled are final.

    Every method that takes a claim_token raises StaleClaim (SR031) when it is not the job's newest one or
    the job is not running, naming the jobs in ``detail["jobs"]``, and changes nothing; a repeat of the
    same call is no error. All raise NotFound (SR010) for what is absent, InvalidArgument (SR001),
    LimitExceeded (SR004), PermissionDenied (SR020), Unavailable (SR050).
    """

    async def enqueue(
        self,
        *,
        tenant_id: Id,
        kind: Id,
        payload: JsonObject | None = None,
        queue: Id = "default",
        job_id: Id | None = None,
        dedupe_key: Id | None = None,
        priority: Priority = 0,
        delay_seconds: DelaySeconds = 0.0,
        max_attempts: Attempts = 5,
        backoff_seconds: DelaySeconds = 1.0,
        max_backoff_seconds: DelaySeconds = 3600.0,
    ) -> EnqueuedJob:
        """Enqueue a job; in a unit of work, together with what it is about.

        Args:
            tenant_id: the tenant.
            kind: what is to be done.
            payload: the particulars, at most 64 KiB.
            queue: the queue.
            job_id: the binding makes a UUIDv7 when it is None; a repeat with it changes nothing.
            dedupe_key: held by one job of the queue until that job has ended. Meanwhile no other is
                created with it; with the key of an ended job a new one is.
            priority: higher ones are claimed first within tenant and queue.
            delay_seconds: not before so many seconds from now, by the database's clock.
            max_attempts: how often it may be tried in all.
            backoff_seconds: the wait before the second attempt; it doubles with each further one.
            max_backoff_seconds: the longest such wait.

        Returns:
            With outcome ``created`` the new job, and in ``ended_job_id`` who had the key before; with
            ``duplicate`` the job that there is, with its status. Nothing is dropped in silence.

        Raises:
            AlreadyExists: SR011, a job with this id was enqueued with other content.

        SQL: ``strongroom.enqueue_job``
        """
        ...

    async def get(self, *, tenant_id: Id, job_id: Id) -> Job:
        """Return the job, or raise NotFound. SQL: ``strongroom.find_job``."""
        ...

    async def find(self, *, tenant_id: Id, job_id: Id) -> Job | None:
        """Return the job, or None. SQL: ``strongroom.find_job``."""
        ...

    async def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        queue: Id | None = None,
        status: JobStatus | None = None,
    ) -> Page[Job]:
        """Return a page of jobs, forward newest first.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_jobs``
        """
        ...

    async def claim(
        self,
        *,
        worker_id: Id,
        queues: Queues = ("default",),
        lease_seconds: LeaseSeconds = 30.0,
        limit: Limit = 1,
        after_tenant_id: Id | None = None,
        tenant_id: Id | None = None,
    ) -> tuple[Job, ...]:
        """Claim up to ``limit`` ready jobs, of all tenants in turn; running ones with an ended lease too.

        Args:
            worker_id: who claims.
            queues: within a tenant a later one is looked at when the earlier ones have nothing ready.
            lease_seconds: until when the claims hold without a heartbeat.
            limit: jobs, 1..500, shared evenly between the tenants that have any.
            after_tenant_id: begin after this tenant: the last one that the worker was given.
            tenant_id: only this tenant's.

        SQL: ``strongroom.claim_jobs``
        """
        ...

    async def claim_one(
        self, *, tenant_id: Id, job_id: Id, worker_id: Id, lease_seconds: LeaseSeconds = 30.0
    ) -> Job | None:
        """Claim this job; None when it is not claimable now. SQL: ``strongroom.claim_job``."""
        ...

    async def complete(self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken) -> Job:
        """End a job as completed; in a unit of work, together with what it did.

        SQL: ``strongroom.complete_jobs``
        """
        ...

    async def complete_and_claim(
        self,
        *,
        completed: Claims,
        worker_id: Id,
        queues: Queues = ("default",),
        lease_seconds: LeaseSeconds = 30.0,
        limit: ClaimLimit = 1,
        after_tenant_id: Id | None = None,
        claim_tenant_id: Id | None = None,
    ) -> tuple[Job, ...]:
        """Complete jobs of any tenants, all or none, and claim the next ones, in one round trip.

        Args:
            completed: claims of finished jobs (``job.claim``), 0..500.
            worker_id: who claims.
            queues: as for ``claim``.
            lease_seconds: as for ``claim``.
            limit: jobs to claim, 0..500; with 0 jobs are only completed.
            after_tenant_id: as for ``claim``.
            claim_tenant_id: claim only this tenant's.

        SQL: ``strongroom.complete_and_claim_jobs``
        """
        ...

    async def heartbeat(
        self,
        *,
        tenant_id: Id,
        job_id: Id,
        claim_token: ClaimToken,
        lease_seconds: LeaseSeconds = 30.0,
    ) -> JobLease:
        """Prolong the lease from now on. SQL: ``strongroom.heartbeat_job``."""
        ...

    async def retry_later(
        self,
        *,
        tenant_id: Id,
        job_id: Id,
        claim_token: ClaimToken,
        error: JsonObject,
        delay_seconds: DelaySeconds | None = None,
    ) -> Job:
        """Give the job back with the reason, to be claimed again after a delay.

        Without attempts left it fails, which the returned status says.

        Args:
            tenant_id: the tenant.
            job_id: the job.
            claim_token: the claim.
            error: why, at most 64 KiB.
            delay_seconds: how long to wait; None takes the job's own backoff with jitter.

        SQL: ``strongroom.retry_job_later``
        """
        ...

    async def fail(
        self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken, error: JsonObject
    ) -> Job:
        """End the job as failed, whatever attempts it has left. SQL: ``strongroom.fail_job``."""
        ...

    async def release(self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken) -> Job:
        """Give the job back at once, undone; it costs no attempt. SQL: ``strongroom.release_job``."""
        ...

    async def cancel(self, *, tenant_id: Id, job_id: Id) -> Job:
        """End the job as cancelled, also while a worker holds it: that worker's writes are refused.

        A job that has ended stays as it is, which the returned status says.

        SQL: ``strongroom.cancel_job``
        """
        ...

    async def queue(self, *, tenant_id: Id, queue: Id | None = None) -> JobQueue:
        """Return how many jobs stand where. SQL: ``strongroom.read_job_queue``."""
        ...

    async def prune(self, *, tenant_id: Id, ended_before: Moment, limit: Limit = 500) -> int:
        """Delete jobs that ended before a moment, oldest first; return how many.

        SQL: ``strongroom.prune_jobs``
        """
        ...
