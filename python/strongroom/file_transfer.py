"""Whole files, in and out: metadata and bytes together.

The row comes first, then the bytes, then the row says that they are whole. So a crash at any moment
leaves either nothing, a pending row, or a whole file, and never bytes that nobody knows:
:func:`strongroom.blob_upkeep.reconcile_blobs` finds a pending row that is too old and ends it.

Example:
    >>> import asyncio, strongroom
    >>> from strongroom import file_transfer
    >>> async def main() -> bytes:
    ...     async with strongroom.connect("memory:", blobs="memory:") as store:
    ...         await store.tenants.create(tenant_id="acme", name="Acme")
    ...         file = await file_transfer.upload(
    ...             store, tenant_id="acme", owner_id="ada", path="notes/plan.txt", data=b"Call Bob."
    ...         )
    ...         return await file_transfer.download(store, tenant_id="acme", file_id=file.id)
    >>> asyncio.run(main())
    b'Call Bob.'
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from strongroom.client import Strongroom
from strongroom.errors import StrongroomError, Unavailable
from strongroom.models.base import JsonObject
from strongroom.models.blobs import StoredBlob
from strongroom.models.context import Viewer
from strongroom.models.files import File, FileSource, FileVersion
from strongroom.ports.blobs import DEFAULT_MAX_BYTES, DEFAULT_READ_BYTES, Bytes


async def upload(
    store: Strongroom,
    *,
    tenant_id: str,
    owner_id: str,
    path: str,
    data: Bytes,
    media_type: str | None = None,
    conversation_id: str | None = None,
    file_id: str | None = None,
    source: FileSource = "uploaded",
    run_id: str | None = None,
    created_by: str | None = None,
    metadata: JsonObject | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    sha256: str | None = None,
    size_bytes: int | None = None,
) -> File:
    """Store a new file.

    A repeat with the same ``file_id`` and the same bytes goes on where the first call stopped, and
    changes nothing when that one ended.

    Args:
        store: a store with a blob store.
        tenant_id: the tenant.
        owner_id: whose it is.
        path: what it is called.
        data: the bytes, or an async iterable of chunks.
        media_type: what they are; None guesses from the path.
        conversation_id: the conversation that it hangs on.
        file_id: None makes an id.
        source: ``generated`` needs ``run_id``.
        run_id: the run that generated it.
        created_by: who added it, when that is not the owner.
        metadata: the host's own object, at most 16 KiB.
        max_bytes: refuse more than this, while reading.
        sha256: refuse bytes with another hash.
        size_bytes: refuse another number of bytes.

    Returns:
        The file, stored.

    Raises:
        LimitExceeded: SR004, there are more than ``max_bytes``.
        InvalidArgument: SR001, hash or number of the bytes are others.
        NotFound: SR010, the conversation is absent or deleted.
        AlreadyExists: SR011, a file with this id, or its bytes, are others.
        MissingCapability: SR040, there is no blob store.
        Unavailable: SR050. Whatever is raised, the new file is taken back where that is possible.
    """
    file = await store.files.create(
        tenant_id=tenant_id,
        owner_id=owner_id,
        path=path,
        media_type=media_type or guess_media_type(path),
        conversation_id=conversation_id,
        file_id=file_id,
        source=source,
        run_id=run_id,
        created_by=created_by,
        metadata=metadata,
    )
    try:
        blob = await _put(store, file.blob_key, file, data, max_bytes, sha256, size_bytes)
    except Exception:
        # Not after a cancellation: then there may be no time, and the row stays pending.
        if file.outcome == "inserted":
            await _taken_back(lambda: store.files.purge(tenant_id=tenant_id, file_id=file.id))
        raise
    await _stored(store, tenant_id, file.id, 1, blob)
    return await store.files.get(tenant_id=tenant_id, file_id=file.id)


async def upload_version(
    store: Strongroom,
    *,
    tenant_id: str,
    file_id: str,
    expected_latest: int,
    data: Bytes,
    media_type: str | None = None,
    version_id: str | None = None,
    source: FileSource = "uploaded",
    run_id: str | None = None,
    created_by: str | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    sha256: str | None = None,
    size_bytes: int | None = None,
) -> FileVersion:
    """Store a new version of a file; the arguments are those of ``upload`` and ``files.add_version``.

    Args:
        store: a store with a blob store.
        tenant_id: the tenant.
        file_id: the file.
        expected_latest: the newest version that the caller knows.
        data: the bytes, or an async iterable of chunks.
        media_type: what they are; None takes that of the newest version.
        version_id: None makes an id; a repeat with it goes on where the first call stopped.
        source: ``generated`` needs ``run_id``.
        run_id: the run that generated it.
        created_by: who added it.
        max_bytes: refuse more than this, while reading.
        sha256: refuse bytes with another hash.
        size_bytes: refuse another number of bytes.

    Returns:
        The version, stored. When the bytes are refused, the version stays behind as deleted: numbers
        have no gaps.

    Raises:
        VersionConflict: SR012, there is a newer version.
        StrongroomError: as ``upload``.
    """
    if media_type is None:
        media_type = (await store.files.get(tenant_id=tenant_id, file_id=file_id)).media_type
    version = await store.files.add_version(
        tenant_id=tenant_id,
        file_id=file_id,
        expected_latest=expected_latest,
        media_type=media_type,
        version_id=version_id,
        source=source,
        run_id=run_id,
        created_by=created_by,
    )
    try:
        blob = await _put(store, version.blob_key, version, data, max_bytes, sha256, size_bytes)
    except Exception:
        if version.outcome == "inserted":
            await _taken_back(
                lambda: store.files.transition(
                    tenant_id=tenant_id,
                    file_id=file_id,
                    version=version.version,
                    from_state="pending",
                    to_state="deleting",
                )
            )
        raise
    return await _stored(store, tenant_id, file_id, version.version, blob)


async def download(
    store: Strongroom,
    *,
    tenant_id: str,
    file_id: str,
    version: int | None = None,
    viewer: Viewer | None = None,
    max_bytes: int = DEFAULT_READ_BYTES,
) -> bytes:
    """Return the bytes of a file, whole, and the ones that were stored.

    Args:
        store: a store with a blob store.
        tenant_id: the tenant.
        file_id: the file.
        version: None: the newest version that is stored.
        viewer: only what this one may read.
        max_bytes: refuse to return more than this.

    Raises:
        NotFound: SR010, the file, the version, or the bytes.
        LimitExceeded: SR004, there are more than ``max_bytes``.
        Unavailable: SR050, the bytes are others than were stored.
    """
    found = await store.files.get_version(
        tenant_id=tenant_id, file_id=file_id, version=version, viewer=viewer
    )
    content = await store.blobs.read(tenant_id=tenant_id, key=found.blob_key, max_bytes=max_bytes)
    _check(found, len(content), hashlib.sha256(content).hexdigest())
    return content


async def stream(
    store: Strongroom,
    *,
    tenant_id: str,
    file_id: str,
    version: int | None = None,
    viewer: Viewer | None = None,
) -> AsyncIterator[bytes]:
    """Return the bytes of a file in chunks; the arguments are those of ``download``.

    Raises:
        StrongroomError: as ``download``. That the bytes are others is known, and raised, after the last
            chunk: do not take the file for whole before the iteration has ended.
    """
    found = await store.files.get_version(
        tenant_id=tenant_id, file_id=file_id, version=version, viewer=viewer
    )
    counted, size = hashlib.sha256(), 0
    async for chunk in store.blobs.stream(tenant_id=tenant_id, key=found.blob_key):
        counted.update(chunk)
        size += len(chunk)
        yield chunk
    _check(found, size, counted.hexdigest())


def guess_media_type(path: str) -> str:
    """Return what a file of this name probably is.

    Example:
        >>> guess_media_type("a/b.png"), guess_media_type("b")
        ('image/png', 'application/octet-stream')
    """
    return mimetypes.guess_type(path, strict=False)[0] or "application/octet-stream"


async def _put(
    store: Strongroom,
    key: str,
    record: File | FileVersion,
    data: Bytes,
    max_bytes: int,
    sha256: str | None,
    size_bytes: int | None,
) -> StoredBlob:
    return await store.blobs.put(
        tenant_id=record.tenant_id,
        key=key,
        data=data,
        media_type=record.media_type,
        max_bytes=max_bytes,
        sha256=sha256,
        size_bytes=size_bytes,
    )


async def _stored(
    store: Strongroom, tenant_id: str, file_id: str, version: int, blob: StoredBlob
) -> FileVersion:
    return await store.files.transition(
        tenant_id=tenant_id,
        file_id=file_id,
        version=version,
        from_state="pending",
        to_state="stored",
        size_bytes=blob.size_bytes,
        sha256=blob.sha256,
    )


async def _taken_back(undo: Callable[[], Awaitable[object]]) -> None:
    """Undo what can be undone; what cannot stays pending, and is found by reconciliation."""
    with suppress(StrongroomError):
        await undo()


def _check(version: FileVersion, size: int, sha256: str) -> None:
    if (version.size_bytes, version.sha256) != (size, sha256):
        raise Unavailable(
            "the bytes of this file are others than were stored",
            detail={
                "record": "file_version",
                "expected_size": version.size_bytes,
                "actual_size": size,
            },
            hint="Something else has changed the blob store: restore it.",
            retryable=False,
        )
