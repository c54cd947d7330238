# Written by scripts/generate_sync.py from strongroom/infrastructure/s3_puts.py: change that, and run `make generate`.
"""Creating what is under a key exactly once: with a conditional request, or by claims that all agree on."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator

from strongroom import blocking
from strongroom.infrastructure.s3_objects import Listed
from strongroom.infrastructure.s3_puts import _COARSE_SECONDS, _FINE_SECONDS
from strongroom.infrastructure.s3_records import INLINE
from strongroom.sync.infrastructure.blob_reading import Reading
from strongroom.sync.infrastructure.s3_objects import Bucket


class Head:
    """The first bytes of what is read, and the rest as it comes."""

    def __init__(self, reading: Reading) -> None:
        """Read from here."""
        self._chunks = reading.chunks()
        self.first = b""
        self.is_all = False

    def fill(self) -> None:
        """Read until it is known whether the bytes are few."""
        for chunk in self._chunks:
            self.first += chunk
            if len(self.first) > INLINE:
                return
        self.is_all = True

    def drain(self) -> None:
        """Read the rest, for its hash."""
        for _ in self._chunks:
            pass

    def rest(self) -> Iterator[bytes]:
        """Return all bytes."""
        yield self.first
        for chunk in self._chunks:
            yield chunk


def create(bucket: Bucket, path: str, claims: str, content: bytes) -> bool:
    """Create an object unless there is one; say whether this call has created it.

    On a server that creates conditionally that is one request. On any other a put writes a claim, waits
    until the server's clock has gone on, and lists: the earliest claim wins, and all who look agree. Who
    comes later finds the object, or the earlier claim. The winner removes its claim after the object is
    there; so whoever finds no earlier claim looks for the object once more. On such a server do not remove
    a key while others put it.
    """
    if bucket.is_conditional():
        return bucket.create(path, content)
    if _is_there(bucket, path):
        return False
    mine = f"{claims}/{uuid.uuid4().hex}"
    bucket.write(mine, content)
    try:
        _settle(bucket, claims, mine)
        first = min(_listed(bucket, claims), key=lambda found: (found.last_modified, found.path))
        if first.path == mine:
            if _is_there(bucket, path):
                return False
            bucket.write(path, content)
            return True
        _finish(bucket, path, first.path)
        return False
    finally:
        bucket.remove(mine)


def _settle(bucket: Bucket, claims: str, mine: str) -> None:
    written = [found for found in _listed(bucket, claims) if found.path == mine]
    is_fine = bool(written) and written[0].last_modified.microsecond > 0
    blocking.sleep(_FINE_SECONDS if is_fine else _COARSE_SECONDS)


def _finish(bucket: Bucket, path: str, winner: str) -> None:
    """Wait until the winner has written the object; write it for one that has died."""
    content = None
    with contextlib.suppress(FileNotFoundError):
        content = bucket.read(winner)
    for _ in range(100):
        if _is_there(bucket, path):
            return
        blocking.sleep(_FINE_SECONDS)
    if content is not None:
        bucket.write(path, content)


def _listed(bucket: Bucket, folder: str) -> list[Listed]:
    return [found for found in bucket.list(folder)]


def _is_there(bucket: Bucket, path: str) -> bool:
    return bucket.media_type(path) is not None
