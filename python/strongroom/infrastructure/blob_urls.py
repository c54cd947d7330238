"""From what ``connect(blobs=...)`` is given to a blob store."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from strongroom.errors import InvalidArgument
from strongroom.infrastructure.filesystem_blobs import FilesystemBlobStore
from strongroom.infrastructure.memory_blobs import MemoryBlobStore
from strongroom.infrastructure.s3_blobs import open_s3
from strongroom.ports.blobs import BlobStore


def open_blobs(blobs: str | BlobStore) -> BlobStore:
    """Return the blob store that a URL names, or the one that is given.

    Raises:
        InvalidArgument: SR001, the URL is of no known kind.
    """
    if not isinstance(blobs, str):
        return blobs
    if blobs == "memory:":
        return MemoryBlobStore()
    if blobs.startswith("s3://"):
        return open_s3(blobs)
    try:
        parts = urlsplit(blobs)
    except ValueError:
        parts = None
    if parts and parts.scheme == "file" and not (parts.netloc or parts.query or parts.fragment):
        return FilesystemBlobStore(unquote(parts.path))
    raise InvalidArgument(
        "blobs is of no known kind",
        detail={"path": "blobs"},
        hint="Use memory:, file:///absolute/folder, s3://bucket/prefix?endpoint=..., or an object that"
        " is a strongroom.ports.BlobStore.",
    )
