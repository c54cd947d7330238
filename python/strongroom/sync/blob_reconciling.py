# Written by scripts/generate_sync.py from strongroom/blob_reconciling.py: change that, and run `make generate`.
"""Comparing a blob store with what records refer to: the other half of :mod:`strongroom.blob_upkeep`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from strongroom.blob_reconciling import LONGEST_GRACE, BlobFinding, ReconcileReport
from strongroom.errors import InvalidArgument, InvalidTransition, NotFound
from strongroom.models.blobs import Blob, BlobReference
from strongroom.models.files import FileVersion
from strongroom.sync.client import Strongroom


def reconcile_blobs(
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
    for blob, reference in _pairs(store, tenant_id):
        blobs += blob is not None
        references += reference is not None
        if blob is not None and reference is None and blob.created_at <= until:
            findings += _orphan(store, blob, mend=mend)
        elif reference is not None and blob is None and not reference.is_pending:
            findings += _lost(store, reference)
    for version in _old_uploads(store, tenant_id, grace_seconds):
        findings += _old_upload(store, version, mend=mend)
    discarded = None
    if mend:
        discarded = store.blobs.discard_unfinished(older_than_seconds=int(grace_seconds))
    return ReconcileReport(
        blobs=blobs, references=references, findings=tuple(findings), discarded=discarded
    )


def _pairs(store: Strongroom, tenant_id: str) -> Iterator[tuple[Blob | None, BlobReference | None]]:
    """Go through both lists at once, in the order of their keys; what has no partner comes alone."""
    blobs, references = _blobs(store, tenant_id), _references(store, tenant_id)
    blob, reference = next(blobs, None), next(references, None)
    while blob is not None or reference is not None:
        keys = [*([blob.key] if blob else []), *([reference.blob_key] if reference else [])]
        has_blob = blob is not None and blob.key == min(keys)
        has_reference = reference is not None and reference.blob_key == min(keys)
        yield blob if has_blob else None, reference if has_reference else None
        if has_blob:
            blob = next(blobs, None)
        if has_reference:
            reference = next(references, None)


def _blobs(store: Strongroom, tenant_id: str) -> Iterator[Blob]:
    after = None
    while True:
        page = store.blobs.list(tenant_id=tenant_id, limit=500, after=after)
        for blob in page.items:
            yield blob
        after = page.next_cursor
        if after is None:
            return


def _references(store: Strongroom, tenant_id: str) -> Iterator[BlobReference]:
    after = None
    while True:
        page = store.blob_removals.list_references(tenant_id=tenant_id, limit=500, after=after)
        for reference in page.items:
            yield reference
        after = page.next_cursor
        if after is None:
            return


def _orphan(store: Strongroom, blob: Blob, *, mend: bool) -> list[BlobFinding]:
    place = {"tenant_id": blob.tenant_id, "blob_key": blob.key}
    if store.blob_removals.find(**place) is not None:
        return []  # known: it waits for a sweep
    finding = BlobFinding(problem="orphan", blob_key=blob.key, size_bytes=blob.size_bytes)
    if not mend:
        return [finding]
    try:
        store.blob_removals.schedule(**place)
    except InvalidTransition:
        return []  # referred to since the list was read
    return [finding.replace(mended="scheduled for removal")]


def _lost(store: Strongroom, reference: BlobReference) -> list[BlobFinding]:
    # Put, or let go, since the lists were read?
    key, tenant_id = reference.blob_key, reference.tenant_id
    if store.blobs.find(tenant_id=tenant_id, key=key) is not None:
        return []
    if store.blob_removals.find(tenant_id=tenant_id, blob_key=key) is not None:
        return []
    return [BlobFinding(problem="lost", blob_key=key, table_name=reference.table_name)]


def _old_uploads(store: Strongroom, tenant_id: str, grace_seconds: float) -> Iterator[FileVersion]:
    after = None
    while True:
        page = store.files.list_by_state(
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


def _old_upload(store: Strongroom, version: FileVersion, *, mend: bool) -> list[BlobFinding]:
    blob = store.blobs.find(tenant_id=version.tenant_id, key=version.blob_key)
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
        store.files.transition(
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
