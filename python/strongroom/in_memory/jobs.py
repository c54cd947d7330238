"""JobDispatcher in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort
from strongroom.in_memory.database import Tables
from strongroom.in_memory.job_functions import (
    cancel_job,
    check_claims,
    claim_job,
    claim_one_job,
    complete_job,
    complete_jobs,
    enqueue_job,
    fail_job,
    find_job,
    has_due_job,
    heartbeat_job,
    list_jobs,
    prune_jobs,
    read_job_queue,
    release_job,
    retry_job_later,
)
from strongroom.models.base import Id, JsonObject, Moment
from strongroom.models.jobs import EnqueuedJob, Job, JobLease, JobQueue, JobStatus
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import ClaimToken
from strongroom.ports.arguments import port_method
from strongroom.ports.jobs import ClaimLimit, Claims, Queues
from strongroom.ports.runs import Attempts, DelaySeconds, LeaseSeconds, Priority
from strongroom.stores.base import existing


class MemoryJobDispatcher(MemoryPort):
    """See :class:`strongroom.ports.JobDispatcher`."""

    @port_method
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
        """See the port."""
        return await self._write(
            tenant_id,
            enqueue_job,
            kind=kind,
            payload=payload or {},
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
    async def get(self, *, tenant_id: Id, job_id: Id) -> Job:
        """See the port."""
        found = await self._read(tenant_id, find_job, job_id=job_id)
        return existing(found, "job", "job_id")

    @port_method
    async def find(self, *, tenant_id: Id, job_id: Id) -> Job | None:
        """See the port."""
        return await self._read(tenant_id, find_job, job_id=job_id)

    @port_method
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
        """See the port."""
        return await self._read(
            tenant_id,
            list_jobs,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            queue=queue,
            status=status,
        )

    @port_method
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
        """See the port."""
        tenants = self._session.writable_tenants() if tenant_id is None else [tenant_id]
        return await self._claim(tenants, limit, after_tenant_id, worker_id, queues, lease_seconds)

    @port_method
    async def claim_one(
        self, *, tenant_id: Id, job_id: Id, worker_id: Id, lease_seconds: LeaseSeconds = 30.0
    ) -> Job | None:
        """See the port."""
        return await self._write(
            tenant_id,
            claim_one_job,
            job_id=job_id,
            worker_id=worker_id,
            lease_seconds=lease_seconds,
        )

    @port_method
    async def complete(self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken) -> Job:
        """See the port."""
        return await self._write(tenant_id, complete_job, job_id=job_id, claim_token=claim_token)

    @port_method
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
        """See the port."""
        tenants = self._session.writable_tenants()
        claims: defaultdict[str, list[Any]] = defaultdict(list)
        for claim in completed:
            claims[claim.tenant_id].append({"id": claim.id, "claim_token": claim.claim_token})
        while busy := sorted(claims.keys() - set(self._session.writable_tenants())):
            # Wait for the unit of work that is writing there; then everything goes in one step.
            await self._session.write(busy[0], _nothing)
        for tenant in claims:
            await self._read(tenant, check_claims, claims=claims[tenant])
        for tenant in claims:
            await self._write(tenant, complete_jobs, claims=claims[tenant])
        return await self._claim(
            tenants if claim_tenant_id is None else [claim_tenant_id],
            limit,
            after_tenant_id,
            worker_id,
            queues,
            lease_seconds,
        )

    @port_method
    async def heartbeat(
        self,
        *,
        tenant_id: Id,
        job_id: Id,
        claim_token: ClaimToken,
        lease_seconds: LeaseSeconds = 30.0,
    ) -> JobLease:
        """See the port."""
        return await self._write(
            tenant_id,
            heartbeat_job,
            job_id=job_id,
            claim_token=claim_token,
            lease_seconds=lease_seconds,
        )

    @port_method
    async def retry_later(
        self,
        *,
        tenant_id: Id,
        job_id: Id,
        claim_token: ClaimToken,
        error: JsonObject,
        delay_seconds: DelaySeconds | None = None,
    ) -> Job:
        """See the port."""
        return await self._write(
            tenant_id,
            retry_job_later,
            job_id=job_id,
            claim_token=claim_token,
            error=error,
            delay_seconds=delay_seconds,
        )

    @port_method
    async def fail(
        self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken, error: JsonObject
    ) -> Job:
        """See the port."""
        return await self._write(
            tenant_id,
            fail_job,
            job_id=job_id,
            claim_token=claim_token,
            error=error,
        )

    @port_method
    async def release(self, *, tenant_id: Id, job_id: Id, claim_token: ClaimToken) -> Job:
        """See the port."""
        return await self._write(tenant_id, release_job, job_id=job_id, claim_token=claim_token)

    @port_method
    async def cancel(self, *, tenant_id: Id, job_id: Id) -> Job:
        """See the port."""
        return await self._write(tenant_id, cancel_job, job_id=job_id)

    @port_method
    async def queue(self, *, tenant_id: Id, queue: Id | None = None) -> JobQueue:
        """See the port."""
        return await self._read(tenant_id, read_job_queue, queue=queue)

    @port_method
    async def prune(self, *, tenant_id: Id, ended_before: Moment, limit: Limit = 500) -> int:
        """See the port."""
        return await self._write(
            tenant_id, prune_jobs, ended_before=ended_before.isoformat(), limit=limit
        )

    async def _claim(
        self,
        tenants: Sequence[str],
        limit: int,
        after_tenant_id: str | None,
        worker_id: str,
        queues: Sequence[str],
        lease_seconds: float,
    ) -> tuple[Job, ...]:
        passed = after_tenant_id or ""
        turn = [t for t in tenants if t > passed] + [t for t in tenants if t <= passed]
        claimed: tuple[Job, ...] = ()
        # One of each tenant in turn, until nobody has any more.
        while turn and len(claimed) < limit:
            tenant = turn.pop(0)
            if not await self._read(tenant, has_due_job, queues=[*queues]):
                continue
            job = await self._write(
                tenant,
                claim_job,
                worker_id=worker_id,
                queues=[*queues],
                lease_seconds=lease_seconds,
            )
            if job is not None:
                claimed = (*claimed, job)
                turn.append(tenant)
        return claimed


def _nothing(_tables: Tables) -> None:
    """Write nothing, when it is one's turn."""
