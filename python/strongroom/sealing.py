"""Sealing the audit as a sweep or a job: all tenants, or one, until nothing is left to seal.

Enqueue it like any other job, and call :func:`run_seal_job` where a worker claims one of its kind:

    await store.jobs.enqueue(tenant_id="acme", kind=SEAL_JOB, dedupe_key=SEAL_JOB)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strongroom.errors import InvalidArgument
from strongroom.models.audit import AuditSeal
from strongroom.models.jobs import Job

if TYPE_CHECKING:
    from strongroom.client import Ports

SEAL_JOB = "strongroom.seal-audit"
"""The kind of a job that seals its tenant's audit."""


async def seal_until_done(
    store: Ports, *, tenant_id: str | None = None, limit: int = 100
) -> tuple[AuditSeal, ...]:
    """Seal in bounded steps, one transaction each, until no step leaves more to do.

    Args:
        store: an open store.
        tenant_id: the tenant; None: all tenants.
        limit: events per step; of all tenants, how many tenants, and events of each; 1..500.

    Returns:
        A seal per tenant that had something to seal, or of the tenant that was named: how many events
        all steps sealed together, and where the chain ends.

    Example:
        >>> import asyncio, strongroom
        >>> from strongroom.sealing import seal_until_done
        >>> async def main() -> list[tuple[str, int]]:
        ...     async with strongroom.connect("memory:") as store:
        ...         for tenant_id in ("acme", "globex"):
        ...             await store.tenants.create(tenant_id=tenant_id, name=tenant_id)
        ...         done = await seal_until_done(store, limit=1)
        ...         return [(seal.tenant_id, seal.sealed) for seal in done]
        >>> asyncio.run(main())
        [('acme', 1), ('globex', 1)]
    """
    totals: dict[str, AuditSeal] = {}
    while True:
        if tenant_id is None:
            step = await store.audit.seal_all(limit=limit)
        else:
            step = (await store.audit.seal(tenant_id=tenant_id, limit=limit),)
        for one in step:
            before = totals[one.tenant_id].sealed if one.tenant_id in totals else 0
            totals[one.tenant_id] = one.replace(sealed=before + one.sealed)
        # Somebody else may have sealed the rest meanwhile: a step that seals nothing is the last one.
        more = any(one.has_more for one in step) or (tenant_id is None and len(step) == limit)
        if not more or not any(one.sealed for one in step):
            return tuple(totals[tenant] for tenant in sorted(totals))


async def run_seal_job(store: Ports, job: Job) -> AuditSeal:
    """Do what a claimed job of the kind :data:`SEAL_JOB` asks for; the caller completes it.

    Raises:
        InvalidArgument: SR001, a job of another kind.
    """
    if job.kind != SEAL_JOB:
        raise InvalidArgument(
            f"this is no job of the kind {SEAL_JOB}",
            detail={"path": "job"},
            hint="Claim jobs of that kind, or run others in another way.",
        )
    (seal,) = await seal_until_done(store, tenant_id=job.tenant_id, limit=500)
    return seal
