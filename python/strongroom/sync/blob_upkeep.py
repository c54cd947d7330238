# Written by scripts/generate_sync.py from strongroom/blob_upkeep.py: change that, and run `make generate`.
"""Keeping a blob store and the database in step: removing what was let go, and finding what is lost.

:func:`sweep_removals` removes the bytes on the list of ``store.blob_removals``; run it all the time.
:func:`reconcile_blobs` compares what the records of a tenant refer to with what the blob store has, in
both directions; it reports, and mends only when told.

Both are also jobs (``store.jobs``), of the kinds ``blobs.sweep`` (payload ``{"limit": 100}``) and
``blobs.reconcile`` (payload ``{"grace_seconds": 86400, "mend": false}``): :func:`run_blob_job` does one.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from strongroom.blob_reconciling import ReconcileReport
from strongroom.blob_upkeep import (
    AT_ONCE,
    LEASE_SECONDS,
    RECONCILE_KIND,
    SWEEP_KIND,
    SweepReport,
    storable_reason,
)
from strongroom.errors import InvalidArgument, StrongroomError
from strongroom.models.blobs import BlobRemoval, FailedBlobRemoval
from strongroom.models.jobs import Job
from strongroom.sync.blob_reconciling import reconcile_blobs
from strongroom.sync.client import Strongroom
from strongroom.sync.infrastructure.at_once import ask_each


def sweep_removals(
    store: Strongroom,
    *,
    limit: int = 100,
    tenant_id: str | None = None,
    worker_id: str | None = None,
    lease_seconds: float = LEASE_SECONDS,
) -> SweepReport:
    """Remove the bytes of up to ``limit`` keys that are due, of all tenants, purged ones too.

    Call it again while ``report.claimed`` is not 0. A blob store that fails loses nothing: the key is
    due again, later and later, with the reason. A process that dies loses nothing either: its claims
    end, and another sweep goes on.

    Args:
        store: a store with a blob store.
        limit: keys, 1..500.
        tenant_id: only this tenant's.
        worker_id: who sweeps, for people to see.
        lease_seconds: how long the claims hold. What has not begun by half of that is left alone:
            whoever is given the key then must not find its new bytes removed.

    Raises:
        MissingCapability: SR040, there is no blob store.
        Unavailable: SR050, the database cannot be reached.
    """
    # Before anything is claimed: without a blob store nothing can be removed.
    delete = store.blobs.delete
    began = time.monotonic()
    claimed = store.blob_removals.claim(
        worker_id=worker_id or f"sweep-{socket.gethostname()[:100]}-{os.getpid()}",
        lease_seconds=lease_seconds,
        limit=limit,
        tenant_id=tenant_id,
    )
    done: list[BlobRemoval] = []
    failed: list[FailedBlobRemoval] = []

    def remove(removal: BlobRemoval) -> None:
        if time.monotonic() - began > lease_seconds / 2:
            return
        try:
            delete(tenant_id=removal.tenant_id, key=removal.blob_key)
        except Exception as error:  # noqa: BLE001 (whatever it is, the key must not be forgotten)
            reason = f"{type(error).__name__}: {error}"
            failed.append(removal.failed(storable_reason(reason)))
        else:
            done.append(removal)

    ask_each(remove, claimed, at_once=AT_ONCE)
    outcomes = store.blob_removals.complete(removals=[removal.claim for removal in done])
    store.blob_removals.retry_later(removals=failed)
    removed = sum(outcome.outcome == "removed" for outcome in outcomes)
    return SweepReport(
        removed=removed,
        failed=len(failed),
        left=len(claimed) - removed - len(failed),
        errors=tuple(sorted({failure.error for failure in failed}))[:5],
    )


def run_blob_job(store: Strongroom, job: Job) -> SweepReport | ReconcileReport:
    """Do a claimed job of one of the two kinds, and complete it, or give it back with the reason.

    A worker claims jobs with ``store.jobs.claim`` and gives those of the kinds ``blobs.sweep`` and
    ``blobs.reconcile`` to this function.

    Raises:
        InvalidArgument: SR001, the job is of another kind.
        StrongroomError: what went wrong; the job waits to be tried again.
    """
    if job.kind not in {SWEEP_KIND, RECONCILE_KIND}:
        raise InvalidArgument(
            f"{job.kind} is no job of the blob store",
            detail={"path": "kind", "choices": [SWEEP_KIND, RECONCILE_KIND]},
            hint="Give it to the worker of its own kind.",
        )
    token = job.claim.claim_token
    try:
        report = _do(store, job)
    except StrongroomError as error:
        store.jobs.retry_later(
            tenant_id=job.tenant_id,
            job_id=job.id,
            claim_token=token,
            error={"code": error.code, "message": storable_reason(error.message)},
        )
        raise
    store.jobs.complete(tenant_id=job.tenant_id, job_id=job.id, claim_token=token)
    return report


def _do(store: Strongroom, job: Job) -> SweepReport | ReconcileReport:
    payload: dict[str, Any] = dict(job.payload)
    if job.kind == SWEEP_KIND:
        return sweep_removals(store, limit=payload.get("limit", 500))
    grace = payload.get("grace_seconds", 86_400)
    if isinstance(grace, bool) or not isinstance(grace, int | float):
        raise InvalidArgument(
            "payload.grace_seconds must be a number",
            detail={"path": "payload.grace_seconds"},
            hint="Enqueue the job with seconds, or without.",
        )
    return reconcile_blobs(
        store,
        tenant_id=job.tenant_id,
        grace_seconds=grace,
        mend=payload.get("mend", False) is True,
    )
