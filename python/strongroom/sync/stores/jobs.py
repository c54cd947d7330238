# Written by scripts/generate_sync.py from strongroom/stores/jobs.py: change that, and run `make generate`.
"""JobDispatcher on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, JsonValue, Moment
from strongroom.models.jobs import EnqueuedJob, Job, JobLease, JobQueue, JobStatus
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import ClaimToken
from strongroom.ports.jobs import ClaimLimit, Claims, Queues
from strongroom.ports.runs import Attempts, DelaySeconds, LeaseSeconds, Priority
from strongroom.stores.base import existing
from strongroom.stores.jobs import _Pruned
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlJobDispatcher(SqlStore):
    """See :class:`strongroom.ports.JobDispatcher`."""

    @port_method
    def enqueue(
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
        """See the port."""
        return self._one(
            EnqueuedJob,
            "enqueue_job",
            tenant_id=tenant_id,
            kind=kind,
            payload=Document(payload or {}),
            queue=queue,
            job_id=job_id or new_id(),
            dedupe_key=dedupe_key,
            priority=priority,
            delay_seconds=delay_seconds,
            max_attempts=max_attempts,
            backoff_seconds=backoff_seconds,
            max_backoff_seconds=max_backoff_seconds,
        )

    @port_method
    def get(self, *, tenant_id: Id, job_id: Id) -> Job:
        """See the port."""
        found = self._find(Job, "find_job", tenant_id=tenant_id, job_id=job_id)
        return existing(found, "job", "job_id")

    @port_method
    def find(self, *, tenant_id: Id, job_id: Id) -> Job | None:
        """See the port."""
        return self._find(Job, "find_job", tenant_id=tenant_id, job_id=job_id)

    @port_method
    def list(
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
        """See the port."""
        return self._page(
            Job,
            "list_jobs",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            queue=queue,
            status=status,
        )

    @port_method
    def claim(
        self,
        *,
        worker_id: Id,
        queues: Queues = ("default",),
        lease_seconds: LeaseSeconds = 30.0,
        limit: Limit = 1,
        after_tenant_id: Id | None = None,
        tenant_id: Id | None = None,
    ) -> tuple[Job, ...]:
        """See the port."""
        rows = self._rows(
            Job,
            "claim_jobs",
            worker_id=worker_id,
            queues=[*queues],
            lease_seconds=lease_seconds,
            limit=limit,
            after_tenant_id=after_tenant_id,
            tenant_id=tenant_id,
        )
        return tuple(rows)

    @port_method
    def claim_one(
        self, *, tenant_id: Id, job_id: Id, worker_id: Id, lease_seconds: LeaseSeconds = 30.0
    ) -> Job | None:
        """See the port."""
        return self._find(
            Job,
            "claim_job",
            tenant_id=tenant_id,
            job_id=job_id,
            worker_id=worker_id,
            lease_seconds=lease_seconds,
        )

    @port_method
    def complete(self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken) -> Job:
        """See the port."""
        claims: JsonValue = [{"id": job_id, "claim_token": claim_token}]
        return self._one(Job, "complete_jobs", tenant_id=tenant_id, jobs=Document(claims))

    @port_method
    def complete_and_claim(
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
        """See the port."""
        claims: JsonValue = [dict(claim) for claim in completed]
        rows = self._rows(
            Job,
            "complete_and_claim_jobs",
            jobs=Document(claims),
            worker_id=worker_id,
            queues=[*queues],
            lease_seconds=lease_seconds,
            limit=limit,
            after_tenant_id=after_tenant_id,
            claim_tenant_id=claim_tenant_id,
        )
        return tuple(rows)

    @port_method
    def heartbeat(
        self,
        *,
        tenant_id: Id,
        job_id: Id,
        claim_token: ClaimToken,
        lease_seconds: LeaseSeconds = 30.0,
    ) -> JobLease:
        """See the port."""
        return self._one(
            JobLease,
            "heartbeat_job",
            tenant_id=tenant_id,
            job_id=job_id,
            claim_token=claim_token,
            lease_seconds=lease_seconds,
        )

    @port_method
    def retry_later(
        self,
        *,
        tenant_id: Id,
        job_id: Id,
        claim_token: ClaimToken,
        error: JsonObject,
        delay_seconds: DelaySeconds | None = None,
    ) -> Job:
        """See the port."""
        return self._one(
            Job,
            "retry_job_later",
            tenant_id=tenant_id,
            job_id=job_id,
            claim_token=claim_token,
            error=Document(error),
            delay_seconds=delay_seconds,
        )

    @port_method
    def fail(self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken, error: JsonObject) -> Job:
        """See the port."""
        return self._one(
            Job,
            "fail_job",
            tenant_id=tenant_id,
            job_id=job_id,
            claim_token=claim_token,
            error=Document(error),
        )

    @port_method
    def release(self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken) -> Job:
        """See the port."""
        return self._one(
            Job, "release_job", tenant_id=tenant_id, job_id=job_id, claim_token=claim_token
        )

    @port_method
    def cancel(self, *, tenant_id: Id, job_id: Id) -> Job:
        """See the port."""
        return self._one(Job, "cancel_job", tenant_id=tenant_id, job_id=job_id)

    @port_method
    def queue(self, *, tenant_id: Id, queue: Id | None = None) -> JobQueue:
        """See the port."""
        return self._one(JobQueue, "read_job_queue", tenant_id=tenant_id, queue=queue)

    @port_method
    def prune(self, *, tenant_id: Id, ended_before: Moment, limit: Limit = 500) -> int:
        """See the port."""
        row = self._one(
            _Pruned,
            "prune_jobs",
            tenant_id=tenant_id,
            ended_before=ended_before.isoformat(),
            limit=limit,
        )
        return row.pruned
