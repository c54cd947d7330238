"""Buckets: not in the blocking API, whose ``open_blobs`` says so."""

from __future__ import annotations


class S3BlobStore:
    """What no blob store is here; ``connect`` asks whether one is."""

    def check(self) -> None:
        """There is nothing to ask."""
