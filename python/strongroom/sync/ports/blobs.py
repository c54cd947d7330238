# Written by scripts/generate_sync.py from strongroom/ports/blobs.py: change that, and run `make generate`.
"""The port for bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Protocol

from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

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


def _check_data(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview) or hasattr(value, "__next__"):
        return value
    raise PydanticCustomError(
        "not_bytes",
        "must be bytes or an iterator of bytes, not {kind}",
        {"kind": type(value).__name__},
    )


Bytes = Annotated[bytes | bytearray | memoryview | Iterator[bytes], PlainValidator(_check_data)]
"""Bytes at hand, or chunks as they come."""


class BlobStore(Protocol):
    """Bytes under keys of a tenant, outside of the database.

    A key is written once: putting the same bytes again changes nothing, putting others is refused, so a
    retry is safe and nobody reads half of one and half of another. Bytes are there whole or not at all,
    also when the process dies in the middle of ``put``.

    Keys are opaque text of 1 to 1,024 bytes; whatever is in them, they name something in the tenant's
    own place and nothing else. Nothing here knows who may read what: ask ``store.files`` first.

    All methods raise InvalidArgument (SR001), InvalidText (SR003, U+0000 or half of a surrogate pair in
    a key), LimitExceeded (SR004), and Unavailable (SR050): the store cannot be reached, is full, or
    gives other bytes than it was given.
    """

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
        """Store bytes; they are there, whole and on disk, when this returns.

        Args:
            tenant_id: the tenant.
            key: where.
            data: the bytes, or an iterator of chunks, which is read as it comes.
            media_type: what they are.
            max_bytes: refuse more than this, while reading: no more is read than a chunk beyond it.
            sha256: refuse bytes with another hash.
            size_bytes: refuse another number of bytes.

        Raises:
            LimitExceeded: SR004, there are more than ``max_bytes``. Nothing is kept.
            InvalidArgument: SR001, hash or number of the bytes are others. Nothing is kept.
            AlreadyExists: SR011, other bytes are under this key.

        Example:
            >>> import strongroom.sync
            >>> def main() -> bytes:
            ...     with strongroom.sync.connect("memory:", blobs="memory:") as store:
            ...         store.blobs.put(tenant_id="acme", key="greeting", data=b"hello")
            ...         return store.blobs.read(tenant_id="acme", key="greeting", offset=1)
            >>> main()
            b'ello'
        """
        ...

    def head(self, *, tenant_id: Id, key: BlobKey) -> Blob:
        """Return what is known of the bytes, or raise NotFound (SR010)."""
        ...

    def find(self, *, tenant_id: Id, key: BlobKey) -> Blob | None:
        """Return what is known of the bytes, or None."""
        ...

    def read(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        offset: Length = 0,
        length: Length | None = None,
        max_bytes: MaxBytes = DEFAULT_READ_BYTES,
    ) -> bytes:
        """Return the bytes, or some of them.

        Args:
            tenant_id: the tenant.
            key: which.
            offset: the first byte to return; from the end on, nothing is returned.
            length: how many at most; None: to the end.
            max_bytes: refuse to return more than this.

        Raises:
            NotFound: SR010.
            LimitExceeded: SR004, there are more than ``max_bytes``: read a range, or stream.
        """
        ...

    def stream(
        self, *, tenant_id: Id, key: BlobKey, offset: Length = 0, length: Length | None = None
    ) -> Iterator[bytes]:
        """Return the bytes, or some of them, in chunks. Errors come with the first chunk, or later.

        Raises:
            NotFound: SR010.
        """
        ...

    def list(
        self,
        *,
        tenant_id: Id,
        prefix: str | None = None,
        limit: Limit = 50,
        after: Cursor | None = None,
    ) -> Page[Blob]:
        """Return a page of what the tenant has, by key, byte by byte.

        Args:
            tenant_id: the tenant.
            prefix: only keys that begin so. Every character means itself, and no character ends a
                segment: ``a/`` finds ``a/b`` and ``a//c``, ``a`` also ``ab``.
            limit: rows, 1..500.
            after: a cursor of the same list: go on after it.

        Raises:
            InvalidCursor: SR002.
        """
        ...

    def delete(self, *, tenant_id: Id, key: BlobKey) -> bool:
        """Remove the bytes; say whether there were any. A repeat finds none."""
        ...

    def presign(
        self,
        *,
        tenant_id: Id,
        key: BlobKey,
        method: Literal["GET", "PUT"] = "GET",
        expires_seconds: ExpirySeconds = 900,
    ) -> PresignedUrl:
        """Return a URL with which a client gets or puts the bytes itself.

        Raises:
            MissingCapability: SR040, this store serves no URLs.
        """
        ...

    def discard_unfinished(self, *, older_than_seconds: Length = 86_400) -> int:
        """Remove what puts that never ended have left, of all tenants; return how many.

        Args:
            older_than_seconds: leave what was touched since: a put may still be running.
        """
        ...
