"""Sweeps and comparisons: no byte is forgotten, and none is removed that something refers to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom import (
    InvalidArgument,
    LimitExceeded,
    MissingCapability,
    NotFound,
    Strongroom,
    Unavailable,
    VersionConflict,
    file_transfer,
)
from strongroom.blob_upkeep import (
    RECONCILE_KIND,
    SWEEP_KIND,
    reconcile_blobs,
    run_blob_job,
    sweep_removals,
)
from strongroom.infrastructure.filesystem_blobs import FilesystemBlobStore
from strongroom.infrastructure.memory_blobs import MemoryBlobStore

T = "acme"


class Moody(MemoryBlobStore):
    """A blob store whose calls fail while ``fails`` names them."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: dict[str, Exception] = {}
        self.deleted: list[str] = []

    async def put(self, **arguments: Any) -> Any:
        done = await super().put(**arguments)
        if "put" in self.fails:
            raise self.fails["put"]
        return done

    async def delete(self, **arguments: Any) -> bool:
        if "delete" in self.fails:
            raise self.fails["delete"]
        self.deleted.append(arguments["key"])
        return await super().delete(**arguments)


@pytest.fixture
def blobs() -> Moody:
    return Moody()


@pytest.fixture
async def store(blobs: Moody) -> AsyncIterator[Strongroom]:
    async with strongroom.connect("memory:", blobs=blobs) as opened:
        await opened.tenants.create(tenant_id=T, name="Acme")
        yield opened


async def upload(store: Strongroom, data: bytes = b"hello", **fields: Any) -> Any:
    given = {"owner_id": "ada", "path": "notes/plan.txt", **fields}
    return await file_transfer.upload(store, tenant_id=T, data=data, **given)


async def keys(store: Strongroom) -> list[str]:
    return [blob.key for blob in (await store.blobs.list(tenant_id=T, limit=500)).items]


async def test_a_file_goes_in_and_comes_out_whole(store: Strongroom) -> None:
    content = bytes(range(256)) * 10_000
    file = await upload(store, content)
    assert (file.state, file.size_bytes, file.media_type) == ("stored", len(content), "text/plain")
    assert await file_transfer.download(store, tenant_id=T, file_id=file.id) == content
    pieces = [p async for p in file_transfer.stream(store, tenant_id=T, file_id=file.id)]
    assert b"".join(pieces) == content
    assert (await store.blobs.head(tenant_id=T, key=file.blob_key)).media_type == "text/plain"
    with pytest.raises(LimitExceeded):
        await file_transfer.download(store, tenant_id=T, file_id=file.id, max_bytes=10)
    second = await file_transfer.upload_version(
        store, tenant_id=T, file_id=file.id, expected_latest=1, data=b"two"
    )
    assert (second.version, second.state, second.media_type) == (2, "stored", "text/plain")
    assert await file_transfer.download(store, tenant_id=T, file_id=file.id) == b"two"
    assert await file_transfer.download(store, tenant_id=T, file_id=file.id, version=1) == content
    with pytest.raises(VersionConflict):
        await file_transfer.upload_version(
            store, tenant_id=T, file_id=file.id, expected_latest=1, data=b"late"
        )
    assert (await reconcile_blobs(store, tenant_id=T, grace_seconds=0)).findings == ()


async def test_a_repeated_upload_changes_nothing(store: Strongroom) -> None:
    first = await upload(store, file_id="f")
    again = await upload(store, file_id="f")
    assert again == first
    with pytest.raises(strongroom.AlreadyExists):
        await upload(store, b"other", file_id="f")
    assert await file_transfer.download(store, tenant_id=T, file_id="f") == b"hello"


@pytest.mark.parametrize("fault", ["too large", "another hash", "the source", "the store"])
async def test_a_refused_upload_leaves_nothing_to_see(
    store: Strongroom, blobs: Moody, fault: str
) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x"
        raise ZeroDivisionError

    given: dict[str, Any] = {
        "too large": {"max_bytes": 4},
        "another hash": {"sha256": "0" * 64},
        "the source": {"data": broken()},
        "the store": {},
    }[fault]
    if fault == "the store":
        blobs.fails["put"] = Unavailable("the disk is full")
    with pytest.raises((strongroom.StrongroomError, ZeroDivisionError)):
        await upload(store, **given)
    assert (await store.files.list(tenant_id=T)).items == ()
    # Also where the store failed after it had the bytes: they are on the list, and go.
    blobs.fails.clear()
    report = await sweep_removals(store)
    assert (report.removed, report.failed) == (1, 0)
    assert await keys(store) == []
    # A version keeps its number.
    file = await upload(store)
    given = {"data": broken()} if fault == "the source" else {"data": b"hello", **given}
    if fault == "the store":
        blobs.fails["put"] = Unavailable("the disk is full")
    with pytest.raises((strongroom.StrongroomError, ZeroDivisionError)):
        await file_transfer.upload_version(
            store, tenant_id=T, file_id=file.id, expected_latest=1, **given
        )
    version = await store.files.get_version(tenant_id=T, file_id=file.id, version=2)
    assert version.state == "deleting"
    assert await file_transfer.download(store, tenant_id=T, file_id=file.id) == b"hello"


async def test_other_bytes_than_were_stored_are_never_given_out(
    store: Strongroom, blobs: Moody
) -> None:
    file = await upload(store)
    await MemoryBlobStore.delete(blobs, tenant_id=T, key=file.blob_key)
    with pytest.raises(NotFound):
        await file_transfer.download(store, tenant_id=T, file_id=file.id)
    await MemoryBlobStore.put(blobs, tenant_id=T, key=file.blob_key, data=b"hellO")
    with pytest.raises(Unavailable) as caught:
        await file_transfer.download(store, tenant_id=T, file_id=file.id)
    assert not caught.value.retryable
    with pytest.raises(Unavailable):
        async for _ in file_transfer.stream(store, tenant_id=T, file_id=file.id):
            pass


async def test_a_store_that_fails_once_loses_nothing_b85(store: Strongroom, blobs: Moody) -> None:
    file = await upload(store)
    await store.files.purge(tenant_id=T, file_id=file.id)
    for error in (Unavailable("down"), OSError("no route\x00\ud83d"), ValueError("x" * 10_000)):
        blobs.fails["delete"] = error
        report = await sweep_removals(store)
        assert (report.removed, report.failed, report.claimed) == (0, 1, 1)
        assert type(error).__name__ in report.errors[0]
        removal = await store.blob_removals.find(tenant_id=T, blob_key=file.blob_key)
        assert removal is not None
        assert removal.last_error == report.errors[0]
        # Waiting, and not claimed again before its time.
        assert (await sweep_removals(store)).claimed == 0
        (claimed,) = await _hurry(store, file.blob_key)
        await store.blob_removals.retry_later(removals=[claimed.failed("hurried")], delay_seconds=0)
    blobs.fails.clear()
    assert (await sweep_removals(store)).removed == 1
    assert await keys(store) == []
    assert (await store.blob_removals.queue(tenant_id=T)).waiting == 0


async def _hurry(store: Strongroom, key: str) -> Any:
    """Make a key due now, as an hour would."""
    from strongroom.in_memory.database import Database

    session = store.blob_removals._session  # type: ignore[attr-defined]
    assert isinstance(session, Database)
    tables = session.committed(T)
    removal = tables.blob_removals[key]
    tables.blob_removals[key] = removal.replace(due_at=removal.requested_at)
    return await store.blob_removals.claim(worker_id="hurry", tenant_id=T)


async def test_a_sweep_serves_purged_tenants_and_spares_what_is_referred_to(
    store: Strongroom, blobs: Moody
) -> None:
    kept = await upload(store, b"kept", path="kept")
    await store.tenants.create(tenant_id="gone", name="Gone")
    for number in range(5):
        await file_transfer.upload(
            store, tenant_id="gone", owner_id="eve", path=f"f{number}", data=b"x"
        )
    await store.tenants.purge(tenant_id="gone")
    first = await sweep_removals(store, limit=3)
    second = await sweep_removals(store, limit=3)
    assert (first.removed, second.removed) == (3, 2)
    assert (await sweep_removals(store)).claimed == 0
    assert (await store.blobs.list(tenant_id="gone")).items == ()
    assert await keys(store) == [kept.blob_key]
    assert kept.blob_key not in blobs.deleted


async def test_a_sweep_whose_lease_is_nearly_over_removes_nothing_more(
    store: Strongroom, blobs: Moody
) -> None:
    file = await upload(store)
    await store.files.purge(tenant_id=T, file_id=file.id)
    report = await sweep_removals(store, lease_seconds=1e-6)
    assert (report.removed, report.left) == (0, 1)
    assert blobs.deleted == []
    assert (await sweep_removals(store)).removed == 1, "its claim has ended, and another goes on"


async def test_without_a_blob_store_nothing_is_claimed() -> None:
    async with strongroom.connect("memory:") as store:
        await store.blob_removals.schedule(tenant_id=T, blob_key="key")
        for call in (
            sweep_removals(store),
            reconcile_blobs(store, tenant_id=T),
            store_put(store),
        ):
            with pytest.raises(MissingCapability) as caught:
                await call
            assert "blobs=" in str(caught.value.hint)
        assert (await store.blob_removals.queue(tenant_id=T)).waiting == 1


async def store_put(store: Strongroom) -> None:
    await store.blobs.put(tenant_id=T, key="k", data=b"")


async def test_reconciliation_finds_both_directions_and_mends_only_when_told(
    store: Strongroom, blobs: Moody
) -> None:
    whole = await upload(store, b"whole", path="whole")
    lost = await upload(store, b"lost", path="lost")
    await MemoryBlobStore.delete(blobs, tenant_id=T, key=lost.blob_key)
    await store.blobs.put(tenant_id=T, key="orphan", data=b"orphan")
    await store.blobs.put(tenant_id=T, key="known", data=b"known")
    await store.blob_removals.schedule(tenant_id=T, blob_key="known")
    halfway = await store.files.create(
        tenant_id=T, owner_id="ada", path="halfway", media_type="text/plain"
    )
    await store.blobs.put(tenant_id=T, key=halfway.blob_key, data=b"halfway")
    abandoned = await store.files.create(
        tenant_id=T, owner_id="ada", path="abandoned", media_type="text/plain"
    )
    expected = {
        ("orphan", "orphan"),
        ("lost", lost.blob_key),
        ("unfinished", halfway.blob_key),
        ("abandoned", abandoned.blob_key),
    }
    # What is young may be on its way; lost bytes are lost whatever their age.
    young = await reconcile_blobs(store, tenant_id=T)
    assert [(f.problem, f.blob_key) for f in young.findings] == [("lost", lost.blob_key)]
    for _ in range(2):
        report = await reconcile_blobs(store, tenant_id=T, grace_seconds=0)
        assert {(f.problem, f.blob_key) for f in report.findings} == expected
        assert all(finding.mended is None for finding in report.findings)
        assert (report.blobs, report.references, report.discarded) == (4, 4, None)
        assert not report.is_sound
    mended = await reconcile_blobs(store, tenant_id=T, grace_seconds=0, mend=True)
    assert {(f.problem, f.mended) for f in mended.findings} == {
        ("orphan", "scheduled for removal"),
        ("lost", None),
        ("unfinished", "stored"),
        ("abandoned", "deleted"),
    }
    assert not mended.is_sound, "lost bytes stay lost"
    assert (await sweep_removals(store)).removed == 3
    assert await keys(store) == sorted([whole.blob_key, halfway.blob_key])
    assert await file_transfer.download(store, tenant_id=T, file_id=halfway.id) == b"halfway"
    assert (await store.files.get(tenant_id=T, file_id=abandoned.id)).state == "deleted"
    after = await reconcile_blobs(store, tenant_id=T, grace_seconds=0, mend=True)
    assert [(f.problem, f.blob_key) for f in after.findings] == [("lost", lost.blob_key)]


async def test_reconciliation_walks_any_number_of_keys(store: Strongroom) -> None:
    for number in range(620):
        key = f"k{number:04}"
        if number % 3:
            await store.blobs.put(tenant_id=T, key=key, data=b"x")
        if number % 2:
            await store.files.create(
                tenant_id=T, owner_id="ada", path=key, media_type="x/y", blob_key=key, file_id=key
            )
            await store.files.transition(
                tenant_id=T,
                file_id=key,
                version=1,
                from_state="pending",
                to_state="stored",
                size_bytes=1,
                sha256="0" * 64,
            )
    report = await reconcile_blobs(store, tenant_id=T, grace_seconds=0)
    found = {(finding.problem, finding.blob_key) for finding in report.findings}
    numbers = range(620)
    assert found == {
        *(("orphan", f"k{n:04}") for n in numbers if n % 3 and not n % 2),
        *(("lost", f"k{n:04}") for n in numbers if n % 2 and not n % 3),
    }
    assert (report.blobs, report.references) == (413, 310)


async def test_both_are_jobs(store: Strongroom, blobs: Moody) -> None:
    file = await upload(store)
    await store.files.purge(tenant_id=T, file_id=file.id)
    await store.blobs.put(tenant_id=T, key="orphan", data=b"x")

    async def enqueue(kind: str, **payload: Any) -> Any:
        await store.jobs.enqueue(tenant_id=T, kind=kind, queue="blobs", payload=payload)
        (job,) = await store.jobs.claim(worker_id="w", queues=["blobs"])
        return job

    job = await enqueue(SWEEP_KIND, limit=10)
    report = await run_blob_job(store, job)
    assert report.removed == 1  # type: ignore[union-attr]
    assert (await store.jobs.get(tenant_id=T, job_id=job.id)).status == "completed"
    job = await enqueue(RECONCILE_KIND, grace_seconds=0, mend=True)
    found = await run_blob_job(store, job)
    assert [f.mended for f in found.findings] == ["scheduled for removal"]  # type: ignore[union-attr]
    for payload in ({"grace_seconds": "x"}, {"grace_seconds": -1}, {"grace_seconds": 1e300}):
        job = await enqueue(RECONCILE_KIND, **payload)
        with pytest.raises(InvalidArgument):
            await run_blob_job(store, job)
        waiting = await store.jobs.get(tenant_id=T, job_id=job.id)
        assert (waiting.status, waiting.error and waiting.error["code"]) == (
            "retry_pending",
            "SR001",
        )
    job = await enqueue("send-mail")
    with pytest.raises(InvalidArgument):
        await run_blob_job(store, job)
    assert (await store.jobs.get(tenant_id=T, job_id=job.id)).status == "running", "not ours"
    assert blobs.deleted == [file.blob_key]


async def test_health_tells_what_waits(store: Strongroom) -> None:
    await store.files.create(tenant_id=T, owner_id="ada", path="p", media_type="x/y")
    await store.blob_removals.schedule(tenant_id=T, blob_key="key")
    health = await store.health(tenant_id=T)
    assert "blob_storage" in health.capabilities
    assert health.files is not None
    assert health.blob_removals is not None
    assert (health.files.pending, health.files.overdue) == (1, 0)
    assert health.blob_removals.waiting == 1


@pytest.mark.parametrize(
    "wrong", ["", "ftp://bucket", "file:relative", "file://host/x", "memory", "/x", "file:///x?y=1"]
)
async def test_a_blob_url_of_no_known_kind_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        async with strongroom.connect("memory:", blobs=wrong):
            pass
    assert caught.value.detail["path"] == "blobs"


async def test_a_feature_needs_a_blob_store(tmp_path: Path) -> None:
    with pytest.raises(MissingCapability) as caught:
        async with strongroom.connect("memory:", features=["blob_storage"]):
            pass
    assert "blobs=" in str(caught.value.hint)
    for blobs in ("memory:", f"file://{tmp_path}/a%20b", FilesystemBlobStore(tmp_path)):
        async with strongroom.connect("memory:", features=["blob_storage"], blobs=blobs) as store:
            await store_put(store)
    assert (tmp_path / "a b" / "blobs").is_dir()
