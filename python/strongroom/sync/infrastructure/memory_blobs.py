# Written by scripts/generate_sync.py from strongroom/infrastructure/memory_blobs.py: change that, and run `make generate`.
"""BlobStore in memory: gone at the end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Literal

from strongroom.infrastructure.blob_reading import (
    CHUNK,
    absent,
    blob_scope,
    check_texts,
    decode_blob_cursor,
    encode_blob_cursor,
    other_bytes,
    span,
    too_long_to_read,
)
from strongroom.infrastructure.memory_blobs import no_urls
from strongroom.models.base import Id
from strongroom.models.blobs import Blob, BlobKey, PresignedUrl, StoredBlob
from strongroom.models.files import Sha256, SizeBytes
from strongroom.models.pages import Cursor, Limit, Page
from strongroom.ports.blobs import (
    DEFAULT_MAX_BYTES,
    DEFAULT_READ_BYTES,
    ExpirySeconds,
    Length,
    MaxBytes,
)
from strongroom.sync.infrastructure.blob_reading import Reading
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.ports.blobs import Bytes


class MemoryBlobStore:
    """See :class:`strongroom.sync.ports.blobs.BlobStore`."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[tuple[str, str], tuple[Blob, bytes]] = {}

    @port_method
    def put(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        data: Bytes,
        media_type: Id = "application/octet-stream",
        max_bytes: MaxBytes = DEFAULT_MAX_BYTES,
        sha256: Sha256 | None = None,
        size_bytes: SizeBytes | None = None,
    ) -> StoredBlob:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key, media_type=media_type)
        reading = Reading(data, max_bytes)
        chunks = [chunk for chunk in reading.chunks()]
        reading.check(sha256, size_bytes)
        blob = Blob(
            tenant_id=tenant_id,
            key=key,
            size_bytes=reading.size_bytes,
            sha256=reading.sha256,
            media_type=media_type,
            created_at=dt.datetime.now(dt.UTC),
        )
        # In one step: of threads that write the same key, too, one is the first.
        kept, _ = self._kept.setdefault((tenant_id, key), (blob, b"".join(chunks)))
        if kept is blob:
            return StoredBlob(**dict(blob), outcome="inserted")
        if kept.sha256 != blob.sha256:
            raise other_bytes()
        return StoredBlob(**dict(kept), outcome="duplicate")

    @port_method
    def head(self, *, tenant_id: Id, key: BlobKey) -> Blob:
        """See the port."""
        return self._of(tenant_id, key)[0]

    @port_method
    def find(self, *, tenant_id: Id, key: BlobKey) -> Blob | None:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        kept = self._kept.get((tenant_id, key))
        return kept[0] if kept else None

    @port_method
    def read(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        offset: Length = 0,
        length: Length | None = None,
        max_bytes: MaxBytes = DEFAULT_READ_BYTES,
    ) -> bytes:
        """See the port."""
        blob, content = self._of(tenant_id, key)
        start, end = span(blob, offset, length)
        if end - start > max_bytes:
            raise too_long_to_read(end - start, max_bytes)
        return content[start:end]

    def stream(
        self, *, tenant_id: Id, key: BlobKey, offset: Length = 0, length: Length | None = None
    ) -> Iterator[bytes]:
        """See the port."""
        content = self.read(
            tenant_id=tenant_id, key=key, offset=offset, length=length, max_bytes=2**53 - 1
        )
        for start in range(0, len(content), CHUNK):
            yield content[start : start + CHUNK]

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        prefix: str | None = None,
        limit: Limit = 50,
        after: Cursor | None = None,
    ) -> Page[Blob]:
        """See the port."""
        check_texts(tenant_id=tenant_id, prefix=prefix)
        scope = blob_scope(tenant_id, prefix)
        last = decode_blob_cursor(after, scope)
        kept = self._kept.copy()  # in one step: other threads go on writing
        keys = sorted(
            key
            for tenant, key in kept
            if tenant == tenant_id and key.startswith(prefix or "") and (last is None or key > last)
        )
        items = tuple(kept[tenant_id, key][0] for key in keys[:limit])
        more = len(keys) > limit
        return Page[Blob](
            items=items, next_cursor=encode_blob_cursor(scope, items[-1].key) if more else None
        )

    @port_method
    def delete(self, *, tenant_id: Id, key: BlobKey) -> bool:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        return self._kept.pop((tenant_id, key), None) is not None

    @port_method
    def presign(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        method: Literal["GET", "PUT"] = "GET",
        expires_seconds: ExpirySeconds = 900,
    ) -> PresignedUrl:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        raise no_urls("in memory", method, expires_seconds)

    @port_method
    def discard_unfinished(self, *, older_than_seconds: Length = 86_400) -> int:
        """See the port: a put that does not end leaves nothing."""
        del older_than_seconds
        return 0

    def _of(self, tenant_id: str, key: str) -> tuple[Blob, bytes]:
        check_texts(tenant_id=tenant_id, key=key)
        kept = self._kept.get((tenant_id, key))
        if kept is None:
            raise absent()
        return kept
