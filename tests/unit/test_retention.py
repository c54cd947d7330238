"""Retention as a job."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.errors import InvalidArgument
from strongroom.retention import RETENTION_JOB, run_retention_job, sweep_until_done


async def test_a_job_sweeps_its_tenant_until_nothing_is_left() -> None:
    async with strongroom.connect("memory:") as store:
        for tenant_id in ("acme", "globex"):
            await store.tenants.create(tenant_id=tenant_id, name="Acme")
            for _ in range(5):
                await store.conversations.create(tenant_id=tenant_id, owner_id="ada")
            await store.lifecycle.set_policy(
                tenant_id=tenant_id, kind="conversations", keep_seconds=0, expected_version=0
            )
        await store.jobs.enqueue(tenant_id="acme", kind=RETENTION_JOB, payload={"limit": 2})
        await store.jobs.enqueue(tenant_id="acme", kind="mail")
        (job, other) = await store.jobs.claim(
            worker_id="w", queues=["default"], limit=2, lease_seconds=60
        )
        done = await run_retention_job(store, job)
        assert [(one.tenant_id, one.row_count) for one in done] == [("acme", 5)]
        assert len((await store.conversations.list(tenant_id="globex")).items) == 5
        with pytest.raises(InvalidArgument):
            await run_retention_job(store, other)


async def test_a_sweep_goes_on_until_every_tenant_had_its_turn() -> None:
    async with strongroom.connect("memory:") as store:
        tenants = ("acme", "globex", "initech")
        for tenant_id in tenants:
            await store.tenants.create(tenant_id=tenant_id, name="Acme")
            await store.lifecycle.set_policy(
                tenant_id=tenant_id, kind="conversations", keep_seconds=0, expected_version=0
            )
        done = await sweep_until_done(store, limit=2)
        assert tuple(one.tenant_id for one in done) == tenants
