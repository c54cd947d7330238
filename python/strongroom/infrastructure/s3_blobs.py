"""BlobStore in an S3-compatible bucket."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
from collections.abc import AsyncIterator
from typing import Any, Literal

from strongroom.infrastructure import s3_layout as layout
from strongroom.infrastructure.blob_reading import (
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
from strongroom.infrastructure.extras import import_extra
from strongroom.infrastructure.s3_lists import list_records
from strongroom.infrastructure.s3_objects import Bucket
from strongroom.infrastructure.s3_puts import Head, create
from strongroom.infrastructure.s3_records import HEAD_BYTES, Record, damaged, decode, encode
from strongroom.infrastructure.s3_uploads import upload
from strongroom.infrastructure.s3_urls import read_s3_url
from strongroom.infrastructure.turns import Turns
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

LONGEST_EXPIRY_SECONDS = 604_800


def open_s3(url: str, **config: Any) -> S3BlobStore:
    """Open a bucket: ``s3://bucket/prefix?endpoint=https://...&region=...&path_style=true``.

    Args:
        url: bucket, prefix within it, and for servers that are not Amazon's the endpoint. Credentials may
            stand in it, percent-encoded (``s3://KEY:SECRET@bucket``); without, they come from the
            environment, as usual.
        **config: more of obstore's settings, such as ``session_token``.

    Raises:
        InvalidArgument: SR001, the URL names no bucket, or something in it would be ignored.
        MissingCapability: SR040, the extra is not installed.
    """
    bucket, prefix, settings = read_s3_url(url)
    stores = import_extra("obstore.store", "s3", "the S3 blob store")
    plain = settings.get("endpoint", "").startswith("http://")
    return S3BlobStore(
        stores.S3Store(
            bucket,
            prefix=prefix,
            config={**settings, **config},
            client_options={
                "allow_http": plain,
                "connect_timeout": dt.timedelta(seconds=5),
                "timeout": dt.timedelta(minutes=5),
            },
            retry_config={
                "max_retries": 4,
                "retry_timeout": dt.timedelta(seconds=15),
                "backoff": {
                    "init_backoff": dt.timedelta(milliseconds=50),
                    "max_backoff": dt.timedelta(seconds=2),
                    "base": 2,
                },
            },
        )
    )


class S3BlobStore:
    """See :class:`strongroom.ports.BlobStore`.

    Small blobs are one object and one request; larger ones are uploaded in parts as they are read, and
    then come to be by one small object. What is put with a signed URL lies apart until somebody first
    asks for it; then it is hashed and kept, and the URL cannot change it any more.
    """

    def __init__(self, store: Any) -> None:
        """Use an object store of obstore's: ``open_s3`` makes one from a URL."""
        self._bucket = Bucket(store)
        self._turns = Turns()

    async def check(self) -> None:
        """Try whether the bucket can be written to, and what its server can do.

        Raises:
            Unavailable: SR050.
        """
        await self._bucket.is_conditional()

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
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key, media_type=media_type)
        reading = Reading(data, max_bytes)
        head = Head(reading)
        await head.fill()
        data_path = None
        if not head.is_all and await self._known(tenant_id, key) is not None:
            await head.drain()
            reading.check(sha256, size_bytes)
            return await self._same(tenant_id, key, reading.sha256)
        try:
            if not head.is_all:
                data_path = layout.new_data_path(tenant_id, key)
                await upload(self._bucket, data_path, head.rest(), _header(media_type))
            reading.check(sha256, size_bytes)
        except BaseException:
            if data_path is not None:
                await asyncio.shield(self._bucket.remove(data_path))
            raise
        blob = Blob(
            tenant_id=tenant_id,
            key=key,
            size_bytes=reading.size_bytes,
            sha256=reading.sha256,
            media_type=media_type,
            created_at=dt.datetime.now(dt.UTC),
        )
        # Should this fail, nobody knows whether it was done: bytes that are nobody's are found later.
        if await create(
            self._bucket,
            layout.key_path(tenant_id, key),
            layout.claims_folder(tenant_id, key),
            encode(blob, data_path, b"" if data_path else head.first),
        ):
            return StoredBlob(**dict(blob), outcome="inserted")
        known = await self._known(tenant_id, key)
        if known is not None and (known.blob, known.data_path) == (blob, data_path):
            # This very call has created it: the request was repeated when its answer was lost.
            return StoredBlob(**dict(blob), outcome="inserted")
        if data_path is not None:
            await self._bucket.remove(data_path)
        return await self._same(tenant_id, key, reading.sha256)

    async def _same(self, tenant_id: str, key: str, sha256: str) -> StoredBlob:
        """Return the bytes that are there, when they have this hash."""
        known = await self._known(tenant_id, key)
        if known is None or known.blob.sha256 != sha256:
            raise other_bytes()
        return StoredBlob(**dict(known.blob), outcome="duplicate")

    @port_method
    async def head(self, *, tenant_id: Id, key: BlobKey) -> Blob:
        """See the port."""
        return (await self._get(tenant_id, key)).blob

    @port_method
    async def find(self, *, tenant_id: Id, key: BlobKey) -> Blob | None:
        """See the port."""
        check_texts(tenant_id=tenant_id, key=key)
        known = await self._find(tenant_id, key)
        return None if known is None else known.blob

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
        record, content = await self._get_whole(tenant_id, key)
        start, end = span(record.blob, offset, length)
        if end - start > max_bytes:
            raise too_long_to_read(end - start, max_bytes)
        if record.data_path is None:
            return content[start:end]
        return b"".join([chunk async for chunk in self._data(record, start, end)])

    async def stream(
        self, *, tenant_id: Id, key: BlobKey, offset: Length = 0, length: Length | None = None
    ) -> AsyncIterator[bytes]:
        """See the port."""
        # An empty read checks the arguments, and that the bytes are there.
        await self.read(tenant_id=tenant_id, key=key, offset=offset, length=0)
        record, content = await self._get_whole(tenant_id, key)
        start, end = span(record.blob, offset, length)
        if record.data_path is None:
            if start < end:
                yield content[start:end]
            return
        async for chunk in self._data(record, start, end):
            for at in range(0, len(chunk), MIB):
                yield chunk[at : at + MIB]

    @port_method
    async def list(
        self,
        *,
        tenant_id: Id,
        prefix: str | None = None,
        limit: Limit = 50,
        after: Cursor | None = None,
    ) -> Page[Blob]:
        """See the port. A page reads what is known of each of its keys, several at a time."""
        check_texts(tenant_id=tenant_id, prefix=prefix)
        scope = blob_scope(tenant_id, prefix)
        last = decode_blob_cursor(after, scope)
        found = await list_records(self._bucket, tenant_id, prefix or "", last, limit + 1)
        items = tuple(record.blob for record in found[:limit])
        more = len(found) > limit
        return Page[Blob](
            items=items, next_cursor=encode_blob_cursor(scope, items[-1].key) if more else None
        )

    @port_method
    async def delete(self, *, tenant_id: Id, key: BlobKey) -> bool:
        """See the port. Of two processes that remove the same bytes at one moment both may say so."""
        check_texts(tenant_id=tenant_id, key=key)
        path = layout.key_path(tenant_id, key)
        async with self._turns.of(path):
            known = await self._known(tenant_id, key)
            inbox = layout.inbox_path(tenant_id, key)
            was_put = known is not None or await self._bucket.media_type(inbox) is not None
            # The bytes last: a crash leaves bytes that discard_unfinished finds, never a key without.
            await self._bucket.remove(path, inbox)
            if known is not None:
                await self._bucket.remove(known.data_path or layout.signed_path(tenant_id, key))
        return was_put

    @port_method
    async def presign(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        method: Literal["GET", "PUT"] = "GET",
        expires_seconds: ExpirySeconds = 900,
    ) -> PresignedUrl:
        """See the port. GET raises NotFound (SR010), PUT AlreadyExists (SR011).

        What is put with the URL is there when somebody asks for it: hashed then, and refused
        (LimitExceeded) above 1 GiB.
        """
        check_texts(tenant_id=tenant_id, key=key)
        expires_at = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=expires_seconds)
        if method == "PUT":
            if await self._known(tenant_id, key) is not None:
                raise other_bytes()
            path = layout.inbox_path(tenant_id, key)
        else:
            record, content = await self._get_whole(tenant_id, key)
            path = record.data_path or layout.signed_path(tenant_id, key)
            if record.data_path is None:
                await self._bucket.write(path, content, _header(record.blob.media_type))
        url = await self._bucket.sign(method, path, expires_seconds)
        return PresignedUrl(url=url, method=method, headers={}, expires_at=expires_at)

    @port_method
    async def discard_unfinished(self, *, older_than_seconds: Length = 86_400) -> int:
        """See the port; also what clients have put with a URL and nobody has asked for.

        Parts of uploads that never ended are the bucket's own: give it a lifecycle rule.
        """
        now = dt.datetime.now(dt.UTC)
        before = now - dt.timedelta(seconds=older_than_seconds)
        # A URL may still name such a copy.
        before_copies = min(before, now - dt.timedelta(seconds=LONGEST_EXPIRY_SECONDS))
        count = 0
        async for found in self._bucket.list("data"):
            is_copy = layout.is_signed_copy(found.path)
            if found.last_modified < (before_copies if is_copy else before) and (
                is_copy or not await self._is_used(found.path)
            ):
                await self._bucket.remove(found.path)
                count += 1
        for folder in ("claims", "probe", "inbox"):
            async for found in self._bucket.list(folder):
                if found.last_modified < before:
                    await self._bucket.remove(found.path)
                    count += 1
        return count

    async def _is_used(self, data_path: str) -> bool:
        try:
            line = await self._bucket.read(layout.key_path_of_data(data_path), 0, HEAD_BYTES)
        except FileNotFoundError:
            return False
        return decode(line).data_path == data_path

    async def _data(self, record: Record, start: int, end: int) -> AsyncIterator[bytes]:
        """Return bytes that lie apart; all of them are hashed on the way."""
        seen, size = hashlib.sha256(), 0
        is_all = (start, end) == (0, record.blob.size_bytes)
        try:
            async for chunk in self._bucket.stream(str(record.data_path), start, end):
                size += len(chunk)
                if is_all:
                    seen.update(chunk)
                yield chunk
        except FileNotFoundError:
            raise damaged() from None
        if size != end - start or (is_all and seen.hexdigest() != record.blob.sha256):
            raise damaged()

    async def _get(self, tenant_id: str, key: str) -> Record:
        check_texts(tenant_id=tenant_id, key=key)
        record = await self._find(tenant_id, key)
        if record is None:
            raise absent()
        return record

    async def _get_whole(self, tenant_id: str, key: str) -> tuple[Record, bytes]:
        """Return what is known, and the bytes where they lie beside it."""
        check_texts(tenant_id=tenant_id, key=key)
        path = layout.key_path(tenant_id, key)
        try:
            content = await self._bucket.read(path)
        except FileNotFoundError:
            record = await self._get(tenant_id, key)  # a client may have put it
            content = await self._bucket.read(path)
        record = decode(content, tenant_id, key)
        content = content[record.line_bytes :]
        if record.data_path is None and (
            len(content) != record.blob.size_bytes
            or hashlib.sha256(content).hexdigest() != record.blob.sha256
        ):
            raise damaged()
        return record, content

    async def _known(self, tenant_id: str, key: str) -> Record | None:
        try:
            line = await self._bucket.read(layout.key_path(tenant_id, key), 0, HEAD_BYTES)
        except FileNotFoundError:
            return None
        return decode(line, tenant_id, key)

    async def _find(self, tenant_id: str, key: str) -> Record | None:
        known = await self._known(tenant_id, key)
        if known is not None:
            return known
        inbox = layout.inbox_path(tenant_id, key)
        media_type = await self._bucket.media_type(inbox)
        if media_type is None:
            return None
        await self.put(
            tenant_id=tenant_id,
            key=key,
            data=self._bucket.stream(inbox),
            media_type=media_type,
            max_bytes=DEFAULT_MAX_BYTES,
        )
        await self._bucket.remove(inbox)
        return await self._known(tenant_id, key)


def _header(media_type: str) -> str:
    """Return a media type as an HTTP header can hold it."""
    is_plain = media_type.isascii() and media_type.isprintable()
    return media_type if is_plain else "application/octet-stream"
