# Written by scripts/generate_sync.py from strongroom/infrastructure/supabase_blobs.py: change that, and run `make generate`.
"""BlobStore in a bucket of Supabase Storage, through the ``supabase`` client.

An object lies at ``<tenant>/<key in hexadecimal digits>``; what is known of it is in its own metadata,
written with the bytes in one request. Row security on ``storage.objects`` lets a signed-in user read the
bytes of files that they may read, and nothing else. Bytes are deleted through the API, never with SQL.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import httpx
from storage3.exceptions import StorageApiError

from strongroom import blocking
from strongroom.errors import MissingCapability, Unavailable
from strongroom.infrastructure import s3_layout as layout
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
from strongroom.infrastructure.supabase_blobs import (
    _ABSENT,
    _AT_ONCE,
    _IN_MEMORY,
    _LISTED,
    BUCKET,
    Infos,
    Paths,
    _AbsentError,
    _error_of,
    _key_in,
    _path,
    _TakenError,
    folder_of,
)
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
from strongroom.sync.infrastructure.at_once import ask_each
from strongroom.sync.infrastructure.blob_reading import Reading
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.ports.blobs import Bytes

if TYPE_CHECKING:
    from supabase import Client


class SupabaseBlobStore:
    """See :class:`strongroom.sync.ports.blobs.BlobStore`. For hosts, with a client that has the service key."""

    def __init__(self, client: Client, bucket: str = BUCKET) -> None:
        """Use a bucket that is there.

        Args:
            client: a ``supabase.Client`` with the service key; it stays the caller's.
            bucket: its name. Policies for users are about the bucket ``strongroom``.
        """
        self._bucket = client.storage.from_(bucket)

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
        """See the port. Bytes wait in a temporary file until all are read; then they are one request."""
        check_texts(tenant_id=tenant_id, key=key, media_type=media_type)
        reading = Reading(data, max_bytes)
        with tempfile.TemporaryFile() as waiting:
            for chunk in reading.chunks():
                blocking.to_thread(waiting.write, chunk)
            reading.check(sha256, size_bytes)
            blob = Blob(
                tenant_id=tenant_id,
                key=key,
                size_bytes=reading.size_bytes,
                sha256=reading.sha256,
                media_type=media_type,
                created_at=dt.datetime.now(dt.UTC),
            )
            waiting.seek(0)
            # The client takes bytes, or a file that can only be read.
            with open(waiting.fileno(), "rb", closefd=False) as file:  # noqa: ASYNC230
                content = file.read() if reading.size_bytes <= _IN_MEMORY else file
                if self._create(blob, content):
                    return StoredBlob(**dict(blob), outcome="inserted")
        known = self._find(tenant_id, key)
        if known is None or known.sha256 != reading.sha256:
            raise other_bytes()
        # This very call may have made it: an answer can be lost, and the request repeated.
        outcome: Literal["inserted", "duplicate"] = "inserted" if known == blob else "duplicate"
        return StoredBlob(**dict(known), outcome=outcome)

    def _create(self, blob: Blob, content: Any) -> bool:
        """Upload, unless something is there."""
        plain = blob.media_type.isascii() and blob.media_type.isprintable()
        try:
            with _translated():
                self._bucket.upload(
                    _path(blob.tenant_id, blob.key),
                    content,
                    {
                        "content-type": blob.media_type if plain else "application/octet-stream",
                        "upsert": "false",
                        "metadata": blob.model_dump(mode="json"),
                    },
                )
        except _TakenError:
            return False
        return True

    @port_method
    def head(self, *, tenant_id: Id, key: BlobKey) -> Blob:
        """See the port."""
        return self._get(tenant_id, key)

    @port_method
    def find(self, *, tenant_id: Id, key: BlobKey) -> Blob | None:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
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
        return b"".join([chunk for chunk in self._chunks(blob, start, end)])

    def stream(
        self, *, tenant_id: Id, key: BlobKey, offset: Length = 0, length: Length | None = None
    ) -> Iterator[bytes]:
        """See the port."""
        # An empty read checks the arguments, and that the bytes are there.
        self.read(tenant_id=tenant_id, key=key, offset=offset, length=0)
        blob = self._get(tenant_id, key)
        start, end = span(blob, offset, length)
        for chunk in self._chunks(blob, start, end):
            yield chunk

    def _chunks(self, blob: Blob, start: int, end: int) -> Iterator[bytes]:
        if start == end:
            return
        seen, size = hashlib.sha256(), 0
        with _translated():
            signed = self._bucket.create_signed_url(_path(blob.tenant_id, blob.key), 300)
            with (
                httpx.Client(timeout=60) as http,
                http.stream(
                    "GET", str(signed["signedURL"]), headers={"Range": f"bytes={start}-{end - 1}"}
                ) as answer,
            ):
                if answer.status_code == _ABSENT:
                    raise absent()
                answer.raise_for_status()
                for chunk in answer.iter_bytes(CHUNK):
                    size += len(chunk)
                    seen.update(chunk)
                    yield chunk
        is_all = end - start == blob.size_bytes
        if size != end - start or (is_all and seen.hexdigest() != blob.sha256):
            raise Unavailable(
                "the store gives other bytes than it was given",
                detail={"record": "blob"},
                hint="Restore the object from a backup of the bucket.",
            )

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        prefix: str | None = None,
        limit: Limit = 50,
        after: Cursor | None = None,
    ) -> Page[Blob]:
        """See the port. Every page walks the names under the prefix, and asks about each of its keys."""
        check_texts(tenant_id=tenant_id, prefix=prefix)
        scope = blob_scope(tenant_id, prefix)
        last = decode_blob_cursor(after, scope)
        keys: list[str] = []
        long_paths: list[str] = []
        for path in self._paths(tenant_id, prefix or ""):
            key = _key_in(path)
            if key is None:
                long_paths.append(path)
            else:
                keys.append(key)
        keys += [blob.key for blob in self._infos(long_paths) if blob is not None]
        wanted = sorted(
            k for k in keys if k.startswith(prefix or "") and (last is None or k > last)
        )
        found = self._infos([_path(tenant_id, key) for key in wanted[:limit]])
        return Page[Blob](
            items=tuple(blob for blob in found if blob is not None),
            next_cursor=encode_blob_cursor(scope, wanted[limit - 1])
            if len(wanted) > limit
            else None,
        )

    def _paths(self, tenant_id: str, prefix: str) -> Iterator[str]:
        cursor: str | None = None
        while True:
            with _translated():
                page = self._bucket.list_v2(
                    {
                        "prefix": f"{folder_of(tenant_id)}/{layout.beginning(prefix)}",
                        "limit": _LISTED,
                        "with_delimiter": False,
                        **({"cursor": cursor} if cursor else {}),
                    }
                )
            for found in page.objects:
                yield found.key or found.name
            cursor = page.nextCursor
            if not page.hasNext or cursor is None:
                return

    def _infos(self, paths: Paths) -> Infos:
        return ask_each(self._info, paths, at_once=_AT_ONCE)

    @port_method
    def delete(self, *, tenant_id: Id, key: BlobKey) -> bool:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        with _translated():
            return bool(self._bucket.remove([_path(tenant_id, key)]))

    @port_method
    def presign(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        method: Literal["GET", "PUT"] = "GET",
        expires_seconds: ExpirySeconds = 900,
    ) -> PresignedUrl:
        """See the port. GET alone: what is put past this store would not be hashed."""
        check_texts(tenant_id=tenant_id, key=key)
        if method == "PUT":
            raise MissingCapability(
                "Supabase Storage takes no signed uploads that are hashed on the way",
                detail={"capability": "presign", "method": method},
                hint="Put the bytes through your own program (store.blobs.put).",
            )
        self._get(tenant_id, key)
        expires_at = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=expires_seconds)
        with _translated():
            signed = self._bucket.create_signed_url(_path(tenant_id, key), expires_seconds)
        return PresignedUrl(
            url=str(signed["signedURL"]), method=method, headers={}, expires_at=expires_at
        )

    @port_method
    def discard_unfinished(self, *, older_than_seconds: Length = 86_400) -> int:
        """See the port: a put is one request, and leaves nothing when it does not end."""
        del older_than_seconds
        return 0

    def _get(self, tenant_id: str, key: str) -> Blob:
        check_texts(tenant_id=tenant_id, key=key)
        blob = self._find(tenant_id, key)
        if blob is None:
            raise absent()
        return blob

    def _find(self, tenant_id: str, key: str) -> Blob | None:
        return self._info(_path(tenant_id, key))

    def _info(self, path: str) -> Blob | None:
        try:
            with _translated():
                told = self._bucket.info(path)
        except _AbsentError:
            return None
        try:
            return Blob.model_validate_json(httpx.Response(200, json=told["metadata"]).content)
        except (ValueError, KeyError) as error:
            raise Unavailable(
                "an object in the bucket was not put by strongroom",
                detail={"object": path},
                hint="The tenants' folders are strongroom's alone: remove it.",
            ) from error


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except StorageApiError as error:
        raise _error_of(error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(
            "Supabase Storage's answer is not in the form of one",
            detail={"path": "blobs"},
            hint="Look whether the project's URL leads to Supabase, and repeat the call.",
        ) from error
    except (httpx.HTTPError, OSError) as error:
        raise Unavailable(
            f"Supabase Storage could not answer: {type(error).__name__}",
            detail={"path": "blobs"},
            hint="The call may be repeated: a key is written once.",
        ) from error
