# Written by scripts/generate_sync.py from strongroom/infrastructure/filesystem_blobs.py: change that, and run `make generate`.
"""BlobStore in a folder of the local filesystem."""

from __future__ import annotations

import datetime as dt
import heapq
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from strongroom import blocking
from strongroom.errors import InvalidArgument
from strongroom.infrastructure import filesystem_steps as steps
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
from strongroom.infrastructure.filesystem_blobs import T
from strongroom.infrastructure.filesystem_layout import Layout
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


class FilesystemBlobStore:
    """See :class:`strongroom.sync.ports.blobs.BlobStore`.

    The folder is the store's alone; several processes may share it, on one machine.
    """

    def __init__(self, folder: str | Path) -> None:
        """Use this folder, which is made when it is first written to.

        Raises:
            InvalidArgument: SR001, the path is not absolute, or no folder is there.
        """
        path = Path(folder)
        if not path.is_absolute() or (path.exists() and not path.is_dir()):
            raise InvalidArgument(
                "blobs: the folder must be an absolute path to a folder",
                detail={"path": "blobs"},
                hint="For example blobs='file:///var/lib/strongroom/blobs'.",
            )
        self._layout = Layout(path.resolve())

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
        unfinished = _in_thread(lambda: steps.Unfinished(self._layout))
        try:
            for chunk in reading.chunks():
                _in_thread(partial(unfinished.write, chunk))
            reading.check(sha256, size_bytes)
            blob = Blob(
                tenant_id=tenant_id,
                key=key,
                size_bytes=reading.size_bytes,
                sha256=reading.sha256,
                media_type=media_type,
                created_at=dt.datetime.now(dt.UTC),
            )
            if _in_thread(lambda: unfinished.keep(blob)):
                return StoredBlob(**dict(blob), outcome="inserted")
        finally:
            # Not in a thread: also a cancelled put leaves nothing behind.
            unfinished.discard()
        known = self._find(tenant_id, key)
        if known is None or known.sha256 != reading.sha256:
            raise other_bytes()
        return StoredBlob(**dict(known), outcome="duplicate")

    @port_method
    def head(self, *, tenant_id: Id, key: BlobKey) -> Blob:
        """See the port."""
        return self._get(tenant_id, key)

    @port_method
    def find(self, *, tenant_id: Id, key: BlobKey) -> Blob | None:
        """See the port."""
        return self._find(tenant_id, key)

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
        blob = self._get(tenant_id, key)
        start, end = span(blob, offset, length)
        if end - start > max_bytes:
            raise too_long_to_read(end - start, max_bytes)

        def work() -> bytes:
            reader = steps.Reader(self._layout, blob, start)
            try:
                return reader.read(end - start)
            finally:
                reader.close()

        return _in_thread(work)

    def stream(
        self, *, tenant_id: Id, key: BlobKey, offset: Length = 0, length: Length | None = None
    ) -> Iterator[bytes]:
        """See the port."""
        # An empty read checks the arguments, and that the bytes are there.
        self.read(tenant_id=tenant_id, key=key, offset=offset, length=0)
        blob = self._get(tenant_id, key)
        start, end = span(blob, offset, length)
        reader = _in_thread(lambda: steps.Reader(self._layout, blob, start))
        try:
            while start < end:
                size = min(CHUNK, end - start)
                yield _in_thread(partial(reader.read, size))
                start += size
        finally:
            reader.close()

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        prefix: str | None = None,
        limit: Limit = 50,
        after: Cursor | None = None,
    ) -> Page[Blob]:
        """See the port. Every page walks the tenant's folder."""
        check_texts(tenant_id=tenant_id, prefix=prefix)
        scope = blob_scope(tenant_id, prefix)
        last = decode_blob_cursor(after, scope)

        def work() -> tuple[list[str], list[Blob]]:
            wanted = (
                key
                for key in steps.all_keys(self._layout, tenant_id)
                if key.startswith(prefix or "") and (last is None or key > last)
            )
            keys = heapq.nsmallest(limit + 1, wanted)
            known = (steps.read_about(self._layout, tenant_id, key) for key in keys[:limit])
            return keys, [blob for blob in known if blob is not None]

        keys, items = _in_thread(work)
        more = len(keys) > limit
        return Page[Blob](
            items=tuple(items),
            next_cursor=encode_blob_cursor(scope, keys[limit - 1]) if more else None,
        )

    @port_method
    def delete(self, *, tenant_id: Id, key: BlobKey) -> bool:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        return _in_thread(lambda: steps.remove(self._layout, tenant_id, key))

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
        raise no_urls("in a local folder", method, expires_seconds)

    @port_method
    def discard_unfinished(self, *, older_than_seconds: Length = 86_400) -> int:
        """See the port."""
        return _in_thread(lambda: steps.discard_unfinished(self._layout, older_than_seconds))

    def _find(self, tenant_id: str, key: str) -> Blob | None:
        check_texts(tenant_id=tenant_id, key=key)
        return _in_thread(lambda: steps.read_about(self._layout, tenant_id, key))

    def _get(self, tenant_id: str, key: str) -> Blob:
        blob = self._find(tenant_id, key)
        if blob is None:
            raise absent()
        return blob


def _in_thread(work: Callable[[], T]) -> T:
    """Run what blocks in a thread. A cancelled caller waits until the step has ended."""

    def translated() -> T:
        with steps.translated_os_errors():
            return work()

    running = blocking.ensure_future(blocking.to_thread(translated))
    try:
        return blocking.shield(running)
    except blocking.CancelledError:
        # The step may be using what the caller is about to clean up.
        blocking.wait({running})
        raise
