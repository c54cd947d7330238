"""What stands where a store has no blob store: every call says what to do."""

from __future__ import annotations

from typing import NoReturn

from strongroom.errors import MissingCapability

REMEDY = (
    "Give connect() a blob store: blobs='file:///some/folder', blobs='memory:', or an object that is a"
    " strongroom.ports.BlobStore. On the command line: --blobs file:///some/folder, or STRONGROOM_BLOBS."
)


class MissingBlobStore:
    """A BlobStore that is not there."""

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse.

        Raises:
            MissingCapability: SR040; AttributeError for what no blob store has.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingCapability(
            "no blob store is configured",
            detail={"capability": "blob_storage"},
            hint=REMEDY,
        )
