"""BlobStore in a bucket of Supabase Storage, through the ``supabase`` client.

An object lies at ``<tenant>/<key in hexadecimal digits>``; what is known of it is in its own metadata,
written with the bytes in one request. Row security on ``storage.objects`` lets a signed-in user read the
bytes of files that they may read, and nothing else. Bytes are deleted through the API, never with SQL.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import http.client
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import httpx
from storage3.exceptions import StorageApiError

from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    MissingCapability,
    NotFound,
    PermissionDenied,
    StrongroomError,
    Unavailable,
)
from strongroom.infrastructure import s3_layout as layout
from strongroom.infrastructure.at_once import ask_each
from strongroom.infrastructure.blob_reading import (
    CHUNK,
    Reading,
    absent,
    blob_scope,
    check_texts,
    decode_blob_cursor,
    encode_blob_cursor,
    other_bytes,
    span,
    too_long_to_read,
)
from strongroom.models.base import Id
from strongroom.models.blobs import Blob, BlobKey, PresignedUrl, StoredBlob
from strongroom.models.files import Sha256, SizeBytes
from strongroom.models.pages import Cursor, Limit, Page
from strongroom.ports.arguments import port_method
from strongroom.ports.blobs import (
    DEFAULT_MAX_BYTES,
    DEFAULT_READ_BYTES,
    MIB,
    Bytes,
    ExpirySeconds,
    Length,
    MaxBytes,
)
from strongroom.transports.api_answers import Refusal

if TYPE_CHECKING:
    from supabase import AsyncClient

BUCKET = "strongroom"
"""The bucket that the migrations make, and that their policies are about."""

_IN_MEMORY = 8 * MIB
_AT_ONCE = 8
_LISTED = 1000
_UNSAFE = re.compile(r"[^a-z0-9]+")
_BAD_REQUEST, _FORBIDDEN, _ABSENT, _TAKEN, _TOO_LARGE = 400, 403, 404, 409, 413


def folder_of(tenant_id: str) -> str:
    """Return a tenant's folder, as ``strongroom_private.storage_folder`` does.

    Example:
        >>> folder_of("Acme & Co")
        'acme-co-aa60a9fc7d3d38eeaf17d7e9f809c5cf3d849b13'
    """
    lowered = "".join(c.lower() if c.isascii() else c for c in tenant_id)
    known_by = _UNSAFE.sub("-", lowered)[:24].strip("-")
    return f"{known_by}-{hashlib.sha256(tenant_id.encode()).hexdigest()[:40]}"


Paths: TypeAlias = list[str]
Infos: TypeAlias = list[Blob | None]


class SupabaseBlobStore:
    """See :class:`strongroom.ports.BlobStore`. For hosts, with a client that has the service key."""

    def __init__(self, client: AsyncClient, bucket: str = BUCKET) -> None:
        """Use a bucket that is there.

        Args:
            client: a ``supabase.AsyncClient`` with the service key; it stays the caller's.
            bucket: its name. Policies for users are about the bucket ``strongroom``.
        """
        self._bucket = client.storage.from_(bucket)

    @port_method
    async def put(
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
            async for chunk in reading.chunks():
                await asyncio.to_thread(waiting.write, chunk)
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
                if await self._create(blob, content):
                    return StoredBlob(**dict(blob), outcome="inserted")
        known = await self._find(tenant_id, key)
        if known is None or known.sha256 != reading.sha256:
            raise other_bytes()
        # This very call may have made it: an answer can be lost, and the request repeated.
        outcome: Literal["inserted", "duplicate"] = "inserted" if known == blob else "duplicate"
        return StoredBlob(**dict(known), outcome=outcome)

    async def _create(self, blob: Blob, content: Any) -> bool:
        """Upload, unless something is there."""
        plain = blob.media_type.isascii() and blob.media_type.isprintable()
        try:
            async with _translated():
                await self._bucket.upload(
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
    async def head(self, *, tenant_id: Id, key: BlobKey) -> Blob:
        """See the port."""
        return await self._get(tenant_id, key)

    @port_method
    async def find(self, *, tenant_id: Id, key: BlobKey) -> Blob | None:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        return await self._find(tenant_id, key)

    @port_method
    async def read(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        offset: Length = 0,
        length: Length | None = None,
        max_bytes: MaxBytes = DEFAULT_READ_BYTES,
    ) -> bytes:
        """See the port."""
        blob = await self._get(tenant_id, key)
        start, end = span(blob, offset, length)
        if end - start > max_bytes:
            raise too_long_to_read(end - start, max_bytes)
        return b"".join([chunk async for chunk in self._chunks(blob, start, end)])

    async def stream(
        self, *, tenant_id: Id, key: BlobKey, offset: Length = 0, length: Length | None = None
    ) -> AsyncIterator[bytes]:
        """See the port."""
        # An empty read checks the arguments, and that the bytes are there.
        await self.read(tenant_id=tenant_id, key=key, offset=offset, length=0)
        blob = await self._get(tenant_id, key)
        start, end = span(blob, offset, length)
        async for chunk in self._chunks(blob, start, end):
            yield chunk

    async def _chunks(self, blob: Blob, start: int, end: int) -> AsyncIterator[bytes]:
        if start == end:
            return
        seen, size = hashlib.sha256(), 0
        async with _translated():
            signed = await self._bucket.create_signed_url(_path(blob.tenant_id, blob.key), 300)
            async with (
                httpx.AsyncClient(timeout=60) as http,
                http.stream(
                    "GET", str(signed["signedURL"]), headers={"Range": f"bytes={start}-{end - 1}"}
                ) as answer,
            ):
                if answer.status_code == _ABSENT:
                    raise absent()
                answer.raise_for_status()
                async for chunk in answer.aiter_bytes(CHUNK):
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
    async def list(
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
        async for path in self._paths(tenant_id, prefix or ""):
            key = _key_in(path)
            if key is None:
                long_paths.append(path)
            else:
                keys.append(key)
        keys += [blob.key for blob in await self._infos(long_paths) if blob is not None]
        wanted = sorted(
            k for k in keys if k.startswith(prefix or "") and (last is None or k > last)
        )
        found = await self._infos([_path(tenant_id, key) for key in wanted[:limit]])
        return Page[Blob](
            items=tuple(blob for blob in found if blob is not None),
            next_cursor=encode_blob_cursor(scope, wanted[limit - 1])
            if len(wanted) > limit
            else None,
        )

    async def _paths(self, tenant_id: str, prefix: str) -> AsyncIterator[str]:
        cursor: str | None = None
        while True:
            async with _translated():
                page = await self._bucket.list_v2(
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

    async def _infos(self, paths: Paths) -> Infos:
        return await ask_each(self._info, paths, at_once=_AT_ONCE)

    @port_method
    async def delete(self, *, tenant_id: Id, key: BlobKey) -> bool:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        async with _translated():
            return bool(await self._bucket.remove([_path(tenant_id, key)]))

    @port_method
    async def presign(
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
        await self._get(tenant_id, key)
        expires_at = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=expires_seconds)
        async with _translated():
            signed = await self._bucket.create_signed_url(_path(tenant_id, key), expires_seconds)
        return PresignedUrl(
            url=str(signed["signedURL"]), method=method, headers={}, expires_at=expires_at
        )

    @port_method
    async def discard_unfinished(self, *, older_than_seconds: Length = 86_400) -> int:
        """See the port: a put is one request, and leaves nothing when it does not end."""
        del older_than_seconds
        return 0

    async def _get(self, tenant_id: str, key: str) -> Blob:
        check_texts(tenant_id=tenant_id, key=key)
        blob = await self._find(tenant_id, key)
        if blob is None:
            raise absent()
        return blob

    async def _find(self, tenant_id: str, key: str) -> Blob | None:
        return await self._info(_path(tenant_id, key))

    async def _info(self, path: str) -> Blob | None:
        try:
            async with _translated():
                told = await self._bucket.info(path)
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


class _TakenError(AlreadyExists):
    """Something is there already."""

    def __init__(self) -> None:
        super().__init__("there are bytes under this key already", detail={"path": "key"})


class _AbsentError(NotFound):
    """Nothing is there."""

    def __init__(self) -> None:
        super().__init__(
            "Supabase Storage does not find what the call is about",
            detail={"path": "key", "record": "blob"},
        )


def _path(tenant_id: str, key: str) -> str:
    return f"{folder_of(tenant_id)}/{layout.name_of(key)}"


def _key_in(path: str) -> str | None:
    """Return the key that a path spells out; None for a long one, of which it has only the hash."""
    name = path.partition("/")[2]
    if layout.group_of(name):
        return None
    return bytes.fromhex(name.rstrip("-").replace("/", "")).decode()


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
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


def _error_of(error: StorageApiError) -> Exception:  # noqa: PLR0911 (a case each)
    status = int(error.status) if str(error.status).isdecimal() else 0
    if isinstance(error.__cause__, KeyError | TypeError | ValueError):
        # It was not Storage that answered: the 404 of a gateway must not mean that bytes are gone.
        return Refusal(status, http.client.responses.get(status, "no reason is given")).error()
    if status == _TAKEN or error.code == "Duplicate":
        return _TakenError()
    if error.code == "Bucket not found" or "bucket" in error.message.lower():
        return InvalidArgument(
            f"the bucket cannot be used: {error.message}",
            detail={"path": "blobs"},
            hint="The migrations make the private bucket 'strongroom'; another one is yours to make.",
        )
    if status == _ABSENT:
        return _AbsentError()
    if status == _TOO_LARGE:
        return LimitExceeded(
            f"Supabase Storage takes no more: {error.message}",
            detail={"path": "data"},
            hint="Raise the bucket's file size limit in the dashboard.",
        )
    if status in (_FORBIDDEN, 401):
        return PermissionDenied(
            f"Supabase Storage refused the call: {error.message}",
            detail={"path": "blobs"},
            hint="Blob stores are for hosts: use the service key.",
        )
    if status >= 500 or status == 429:  # noqa: PLR2004 (HTTP)
        return Unavailable(
            f"Supabase Storage could not answer: {error.message}",
            detail={"status": status},
            hint="The call may be repeated: a key is written once.",
        )
    return StrongroomError(
        f"Supabase Storage refused the call: {error.message}", detail={"status": status}
    )
