"""Bytes and rows in step without an event loop: sweeps in threads, both directions, as jobs."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom.sync
from strongroom.errors import StrongroomError
from strongroom.sync import file_transfer
from strongroom.sync.blob_reconciling import reconcile_blobs
from strongroom.sync.blob_upkeep import run_blob_job, sweep_removals
from strongroom.sync.infrastructure.memory_blobs import MemoryBlobStore

T = "acme"


class Moody(MemoryBlobStore):
    """Refuses to remove the keys that it is told to keep."""

    keeps: frozenset[str] = frozenset()

    def delete(self, **arguments: Any) -> bool:
        if arguments["key"] in self.keeps:
            raise OSError("no")
        return super().delete(**arguments)


def test_sweeps_and_reconciliation() -> None:
    blobs = Moody()
    with strongroom.sync.connect("memory:", blobs=blobs) as store:
        store.tenants.create(tenant_id=T, name="Acme")
        whole = file_transfer.upload(store, tenant_id=T, owner_id="ada", path="a", data=b"whole")
        names = [f"k{n:02}" for n in range(20)]
        for name in names:
            store.blobs.put(tenant_id=T, key=name, data=b"bytes")
        found = reconcile_blobs(store, tenant_id=T, grace_seconds=0).findings
        assert {(one.problem, one.blob_key) for one in found} == {("orphan", n) for n in names}
        reconcile_blobs(store, tenant_id=T, grace_seconds=0, mend=True)
        blobs.keeps = frozenset(names[:3])
        report = sweep_removals(store)
        assert (report.removed, report.failed, report.left) == (17, 3, 0)
        assert report.errors == ("OSError: no",)
        left = [blob.key for blob in store.blobs.list(tenant_id=T).items]
        assert sorted(left) == sorted([*names[:3], whole.blob_key])
        for kind in ("blobs.reconcile", "mail"):
            store.jobs.enqueue(tenant_id=T, kind=kind, payload={"grace_seconds": 0})
            (job,) = store.jobs.claim(worker_id="w")
            if kind == "mail":
                with pytest.raises(StrongroomError, match="no job of the blob store"):
                    run_blob_job(store, job)
                continue
            run_blob_job(store, job)
            assert store.jobs.get(tenant_id=T, job_id=job.id).status == "completed"
