"""Sealing as a job."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.errors import InvalidArgument
from strongroom.models import NewAuditEvent
from strongroom.sealing import SEAL_JOB, run_seal_job


async def test_a_job_seals_its_tenant_until_nothing_is_left() -> None:
    async with strongroom.connect("memory:") as store:
        event = NewAuditEvent(action="report.read", record="report", record_id="r")
        for tenant_id in ("acme", "globex"):
            await store.tenants.create(tenant_id=tenant_id, name="Acme")
            for _ in range(2):
                await store.audit.append(tenant_id=tenant_id, events=[event] * 300)
        await store.jobs.enqueue(tenant_id="acme", kind=SEAL_JOB)
        await store.jobs.enqueue(tenant_id="acme", kind="mail")
        (job, other) = await store.jobs.claim(
            worker_id="w", queues=["default"], limit=2, lease_seconds=60
        )
        seal = await run_seal_job(store, job)
        assert (seal.tenant_id, seal.sealed, seal.last_position) == ("acme", 601, 601)
        assert (await store.audit.queue(tenant_id="globex")).unsealed == 601
        with pytest.raises(InvalidArgument):
            await run_seal_job(store, other)
