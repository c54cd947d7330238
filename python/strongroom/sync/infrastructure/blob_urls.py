"""From what ``connect(blobs=...)`` is given to a blocking blob store."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from strongroom.errors import InvalidArgument, MissingCapability
from strongroom.sync.infrastructure.filesystem_blobs import FilesystemBlobStore
from strongroom.sync.infrastructure.memory_blobs import MemoryBlobStore
from strongroom.sync.ports.blobs import BlobStore


def open_blobs(blobs: str | BlobStore) -> BlobStore:
    """Return the blob store that a URL names, or the one that is given.

    Raises:
        InvalidArgument: SR001, the URL is of no known kind.
        MissingCapability: SR040, a URL of S3: that blob store is asynchronous.
    """
    if not isinstance(blobs, str):
        return blobs
    if blobs == "memory:":
        return MemoryBlobStore()
    if blobs.startswith("s3://"):
        raise MissingCapability(
            "the blocking API does not open s3://",
            detail={"path": "blobs", "capability": "blob_storage"},
            hint="Give an object that is a strongroom.sync.ports.blobs.BlobStore, or use strongroom.connect.",
        )
    parts = urlsplit(blobs)
    if parts.scheme == "file" and not parts.netloc and not parts.query and not parts.fragment:
        return FilesystemBlobStore(unquote(parts.path))
    raise InvalidArgument(
        "blobs is of no known kind",
        detail={"path": "blobs"},
        hint="Use memory:, file:///absolute/folder, or an object that is a strongroom.sync.ports.blobs.BlobStore.",
    )
