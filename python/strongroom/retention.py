"""Retention and expiry, in steps until nothing is left to do, of all tenants, or as jobs of one.

Enqueue one like any other job, and call :func:`run_retention_job` or :func:`run_expiry_job` where a worker
claims one of its kind:

    await store.jobs.enqueue(tenant_id="acme", kind=RETENTION_JOB, dedupe_key=RETENTION_JOB)
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from strongroom.errors import InvalidArgument
from strongroom.models.health import RetentionState
from strongroom.models.jobs import Job
from strongroom.models.lifecycle import ExpiredRecords, RetentionPolicy, SweptRecords
from strongroom.ports import LifecycleStore

if TYPE_CHECKING:
    from strongroom.client import Ports

RETENTION_JOB = "strongroom.sweep-retention"
"""The kind of such a job. Its payload may say {"limit": records per policy and step, 1 to 500}."""
EXPIRY_JOB = "strongroom.expire-records"
"""The kind of a job that deletes what has expired of its tenant."""


async def sweep_until_done(
    store: Ports, *, tenant_id: str | None = None, limit: int = 100
) -> tuple[SweptRecords, ...]:
    """Sweep in bounded steps, one transaction each, until no step leaves more to do.

    Args:
        store: an open store.
        tenant_id: the tenant; None: all tenants whose sweep is due.
        limit: records per policy and step, 1..500.

    Returns:
        By tenant and kind, how many records ended in all steps together, and how many conversations had
        to stay in the last one.

    Raises:
        NotFound: SR010, no such tenant.

    Example:
        >>> import asyncio, strongroom
        >>> from strongroom.retention import sweep_until_done
        >>> async def main() -> int:
        ...     async with strongroom.connect("memory:") as store:
        ...         await store.tenants.create(tenant_id="acme", name="Acme")
        ...         for _ in range(3):
        ...             await store.conversations.create(tenant_id="acme", owner_id="ada")
        ...         await store.lifecycle.set_policy(
        ...             tenant_id="acme", kind="conversations", keep_seconds=0, expected_version=0
        ...         )
        ...         done = await sweep_until_done(store, tenant_id="acme", limit=2)
        ...         return done[0].row_count
        >>> asyncio.run(main())
        3
    """
    totals: dict[tuple[str, str], SweptRecords] = {}
    while True:
        step = await store.lifecycle.sweep(tenant_id=tenant_id, limit=limit)
        for one in step:
            place = (one.tenant_id, one.kind)
            before = totals[place].row_count if place in totals else 0
            totals[place] = one.replace(row_count=before + one.row_count)
        # What a sweep of all tenants has finished is not due any more, so the next step shows others.
        if not step or not (tenant_id is None or any(one.has_more for one in step)):
            return tuple(totals[place] for place in sorted(totals))


async def read_retention(lifecycle: LifecycleStore, tenant_id: str) -> RetentionState:
    """Return how far the sweeps of a tenant have come, for :meth:`strongroom.Strongroom.health`."""
    policies: list[RetentionPolicy] = []
    cursor = None
    while True:
        page = await lifecycle.list_policies(tenant_id=tenant_id, limit=500, after=cursor)
        policies += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    day_ago = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    swept = [policy.swept_at for policy in policies]
    return RetentionState(
        policies=len(policies),
        overdue=sum((policy.swept_at or policy.updated_at) < day_ago for policy in policies),
        swept_at=min((at for at in swept if at), default=None) if all(swept) else None,
    )


async def run_retention_job(store: Ports, job: Job) -> tuple[SweptRecords, ...]:
    """Do what a claimed job of the kind :data:`RETENTION_JOB` asks for; the caller completes it.

    Raises:
        InvalidArgument: SR001, a job of another kind, or a limit that is no number.
    """
    limit = job.payload.get("limit", 100)
    if job.kind != RETENTION_JOB or not isinstance(limit, int):
        raise InvalidArgument(
            f"this is no job of the kind {RETENTION_JOB}, or its limit is no number",
            detail={"path": "job"},
            hint='Enqueue {"limit": 1 to 500}, or an empty payload.',
        )
    return await sweep_until_done(store, tenant_id=job.tenant_id, limit=limit)


async def expire_until_done(
    store: Ports, *, tenant_id: str | None = None, limit: int = 500
) -> tuple[ExpiredRecords, ...]:
    """Delete what has an expires_at that has passed, in bounded steps, until a step finds nothing.

    Args:
        store: an open store.
        tenant_id: the tenant; None: all tenants.
        limit: records per step, which is one transaction, 1..500.

    Returns:
        By kind, how many records all steps deleted together; has_more where others have some locked.

    Raises:
        NotFound: SR010, no such tenant.
    """
    totals: dict[str, ExpiredRecords] = {}
    while True:
        step = await store.lifecycle.expire(tenant_id=tenant_id, limit=limit)
        for one in step:
            before = totals[one.kind].expired if one.kind in totals else 0
            totals[one.kind] = one.replace(expired=before + one.expired)
        if not any(one.has_more for one in step) or not any(one.expired for one in step):
            return tuple(totals.values())


async def run_expiry_job(store: Ports, job: Job) -> tuple[ExpiredRecords, ...]:
    """Do what a claimed job of the kind :data:`EXPIRY_JOB` asks for; the caller completes it.

    Raises:
        InvalidArgument: SR001, a job of another kind.
    """
    if job.kind != EXPIRY_JOB:
        raise InvalidArgument(
            f"this is no job of the kind {EXPIRY_JOB}",
            detail={"path": "job"},
            hint="Claim jobs of that kind, or run others in another way.",
        )
    return await expire_until_done(store, tenant_id=job.tenant_id)
