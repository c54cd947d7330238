# Written by scripts/generate_sync.py from strongroom/retention.py: change that, and run `make generate`.
"""Retention and expiry, in steps until nothing is left to do, of all tenants, or as jobs of one.

Enqueue one like any other job, and call :func:`run_retention_job` or :func:`run_expiry_job` where a worker
claims one of its kind:

    await store.jobs.enqueue(tenant_id="acme", kind=RETENTION_JOB, dedupe_key=RETENTION_JOB)
"""

from __future__ import annotations

import datetime as dt

from strongroom.models.health import RetentionState
from strongroom.models.lifecycle import RetentionPolicy
from strongroom.sync.ports.lifecycle import LifecycleStore


def read_retention(lifecycle: LifecycleStore, tenant_id: str) -> RetentionState:
    """Return how far the sweeps of a tenant have come, for :meth:`strongroom.Strongroom.health`."""
    policies: list[RetentionPolicy] = []
    cursor = None
    while True:
        page = lifecycle.list_policies(tenant_id=tenant_id, limit=500, after=cursor)
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
