"""Uploading what is read piece by piece, in the thread that reads it: whole, or nothing is there."""

from __future__ import annotations

from collections.abc import Iterator

from strongroom.sync.infrastructure.s3_objects import Bucket


def upload(bucket: Bucket, path: str, chunks: Iterator[bytes], media_type: str) -> None:
    """Upload chunks as they come, in parts; when they fail, that is raised, and nothing is there."""
    failures: list[BaseException] = []

    def fed() -> Iterator[bytes]:
        try:
            yield from chunks
        except BaseException as error:
            failures.append(error)
            raise

    try:
        bucket.write(path, fed(), media_type)
    except BaseException as error:
        if failures and failures[0] is not error:
            raise failures[0] from None  # and not what the client has made of it
        raise
