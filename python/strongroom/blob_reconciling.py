"""Comparing a blob store with what records refer to: the other half of :mod:`strongroom.blob_upkeep`."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from typing import Any, Literal

from strongroom.client import Strongroom
from strongroom.errors import InvalidArgument, InvalidTransition, NotFound
from strongroom.models.base import Record
from strongroom.models.blobs import Blob, BlobReference
from strongroom.models.files import FileVersion

LONGEST_GRACE = 3_153_600_000


class BlobFinding(Record):
    """Something that blob store and records do not agree on.

    Attributes:
        problem: ``orphan``: bytes that no record refers to, older than the grace. ``lost``: a record
            refers to bytes that are not there; only a backup helps. ``unfinished``: an upload has been
            pending for longer than the grace, and its bytes are there. ``abandoned``: and they are not.
        mended: what was done about it; None when nothing was.
    """

    problem: Literal["orphan", "lost", "unfinished", "abandoned"]
    blob_key: str
    table_name: str | None = None
    size_bytes: int | None = None
    mended: Literal["scheduled for removal", "stored", "deleted"] | None = None


class ReconcileReport(Record):
    """What a comparison found.

    Attributes:
        blobs: how many keys the blob store has.
        references: how many keys records refer to.
        findings: what does not agree.
        discarded: what puts that never ended have left, and was removed; None when not mending.
    """

    blobs: int
    references: int
    findings: tuple[BlobFinding, ...]
    discarded: int | None

    @property
    def is_sound(self) -> bool:
        """Whether nothing is left to do."""
        return all(finding.mended is not None for finding in self.findings)


async def reconcile_blobs(
    store: Strongroom,
    *,
    tenant_id: str,
    grace_seconds: float = 86_400.0,
    mend: bool = False,
) -> ReconcileReport:
    """Compare the bytes of a tenant with the records that refer to them, in both directions.

    Both lists are read page by page in the order of their keys, so it costs no memory but for findings.

    Args:
        store: a store with a blob store.
        tenant_id: the tenant; it may be purged.
        grace_seconds: bytes and uploads that are younger are left alone: they may be on their way.
        mend: put orphans on the list of bytes to remove, end old uploads (stored where their bytes are
            whole, deleted where they are not), and discard what unfinished puts have left. Lost bytes
            are only reported, always.

    Raises:
        MissingCapability: SR040, there is no blob store.
        Unavailable: SR050.
    """
    if not 0 <= grace_seconds <= LONGEST_GRACE:
        raise InvalidArgument(
            f"grace_seconds must be between 0 and {LONGEST_GRACE}",
            detail={"path": "grace_seconds", "actual": grace_seconds},
            hint="Give seconds; a day is plenty.",
        )
    until = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=grace_seconds)
    findings: list[BlobFinding] = []
    blobs = references = 0
    async for blob, reference in _pairs(store, tenant_id):
        blobs += blob is not None
        references += reference is not None
        if blob is not None and reference is None and blob.created_at <= until:
            findings += await _orphan(store, blob, mend=mend)
        elif reference is not None and blob is None and not reference.is_pending:
            findings += await _lost(store, reference)
    async for version in _old_uploads(store, tenant_id, grace_seconds):
        findings += await _old_upload(store, version, mend=mend)
    discarded = None
    if mend:
        discarded = await store.blobs.discard_unfinished(older_than_seconds=int(grace_seconds))
    return ReconcileReport(
        blobs=blobs, references=references, findings=tuple(findings), discarded=discarded
    )


async def _pairs(
    store: Strongroom, tenant_id: str
) -> AsyncIterator[tuple[Blob | None, BlobReference | None]]:
    """Go through both lists at once, in the order of their keys; what has no partner comes alone."""
    blobs, references = _blobs(store, tenant_id), _references(store, tenant_id)
    blob, reference = await anext(blobs, None), await anext(references, None)
    while blob is not None or reference is not None:
        keys = [*([blob.key] if blob else []), *([reference.blob_key] if reference else [])]
        has_blob = blob is not None and blob.key == min(keys)
        has_reference = reference is not None and reference.blob_key == min(keys)
        yield blob if has_blob else None, reference if has_reference else None
        if has_blob:
            blob = await anext(blobs, None)
        if has_reference:
            reference = await anext(references, None)


async def _blobs(store: Strongroom, tenant_id: str) -> AsyncIterator[Blob]:
    after = None
    while True:
        page = await store.blobs.list(tenant_id=tenant_id, limit=500, after=after)
        for blob in page.items:
            yield blob
        after = page.next_cursor
        if after is None:
            return


async def _references(store: Strongroom, tenant_id: str) -> AsyncIterator[BlobReference]:
    after = None
    while True:
        page = await store.blob_removals.list_references(
            tenant_id=tenant_id, limit=500, after=after
        )
        for reference in page.items:
            yield reference
        after = page.next_cursor
        if after is None:
            return


async def _orphan(store: Strongroom, blob: Blob, *, mend: bool) -> list[BlobFinding]:
    place = {"tenant_id": blob.tenant_id, "blob_key": blob.key}
    if await store.blob_removals.find(**place) is not None:
        return []  # known: it waits for a sweep
    finding = BlobFinding(problem="orphan", blob_key=blob.key, size_bytes=blob.size_bytes)
    if not mend:
        return [finding]
    try:
        await store.blob_removals.schedule(**place)
    except InvalidTransition:
        return []  # referred to since the list was read
    return [finding.replace(mended="scheduled for removal")]


async def _lost(store: Strongroom, reference: BlobReference) -> list[BlobFinding]:
    # Put, or let go, since the lists were read?
    key, tenant_id = reference.blob_key, reference.tenant_id
    if await store.blobs.find(tenant_id=tenant_id, key=key) is not None:
        return []
    if await store.blob_removals.find(tenant_id=tenant_id, blob_key=key) is not None:
        return []
    return [BlobFinding(problem="lost", blob_key=key, table_name=reference.table_name)]


async def _old_uploads(
    store: Strongroom, tenant_id: str, grace_seconds: float
) -> AsyncIterator[FileVersion]:
    after = None
    while True:
        page = await store.files.list_by_state(
            tenant_id=tenant_id,
            state="pending",
            older_than_seconds=grace_seconds,
            limit=500,
            after=after,
        )
        for version in page.items:
            yield version
        after = page.next_cursor
        if after is None:
            return


async def _old_upload(store: Strongroom, version: FileVersion, *, mend: bool) -> list[BlobFinding]:
    blob = await store.blobs.find(tenant_id=version.tenant_id, key=version.blob_key)
    finding = BlobFinding(
        problem="abandoned" if blob is None else "unfinished",
        blob_key=version.blob_key,
        table_name="file_versions",
        size_bytes=blob.size_bytes if blob else None,
    )
    if not mend:
        return [finding]
    facts: dict[str, Any] = (
        {"to_state": "deleting"}
        if blob is None
        else {"to_state": "stored", "size_bytes": blob.size_bytes, "sha256": blob.sha256}
    )
    try:
        await store.files.transition(
            tenant_id=version.tenant_id,
            file_id=version.file_id,
            version=version.version,
            from_state="pending",
            **facts,
        )
    except (NotFound, InvalidTransition):
        # Ended, or deleted, in this moment; or its file is soft-deleted, and may come back.
        return [finding]
    return [finding.replace(mended="deleted" if blob is None else "stored")]
