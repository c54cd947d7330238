"""Creating what is under a key exactly once: with a conditional request, or by claims that all agree on."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator

from strongroom.infrastructure.blob_reading import Reading
from strongroom.infrastructure.s3_objects import Bucket, Listed
from strongroom.infrastructure.s3_records import INLINE

_COARSE_SECONDS = 1.1
_FINE_SECONDS = 0.02
"""How long the server's clock takes to go on, where it tells whole seconds or thousandths of them."""


class Head:
    """The first bytes of what is read, and the rest as it comes."""

    def __init__(self, reading: Reading) -> None:
        """Read from here."""
        self._chunks = reading.chunks()
        self.first = b""
        self.is_all = False

    async def fill(self) -> None:
        """Read until it is known whether the bytes are few."""
        async for chunk in self._chunks:
            self.first += chunk
            if len(self.first) > INLINE:
                return
        self.is_all = True

    async def drain(self) -> None:
        """Read the rest, for its hash."""
        async for _ in self._chunks:
            pass

    async def rest(self) -> AsyncIterator[bytes]:
        """Return all bytes."""
        yield self.first
        async for chunk in self._chunks:
            yield chunk


async def create(bucket: Bucket, path: str, claims: str, content: bytes) -> bool:
    """Create an object unless there is one; say whether this call has created it.

    On a server that creates conditionally that is one request. On any other a put writes a claim, waits
    until the server's clock has gone on, and lists: the earliest claim wins, and all who look agree. Who
    comes later finds the object, or the earlier claim. The winner removes its claim after the object is
    there; so whoever finds no earlier claim looks for the object once more. On such a server do not remove
    a key while others put it.
    """
    if await bucket.is_conditional():
        return await bucket.create(path, content)
    if await _is_there(bucket, path):
        return False
    mine = f"{claims}/{uuid.uuid4().hex}"
    await bucket.write(mine, content)
    try:
        await _settle(bucket, claims, mine)
        first = min(
            await _listed(bucket, claims), key=lambda found: (found.last_modified, found.path)
        )
        if first.path == mine:
            if await _is_there(bucket, path):
                return False
            await bucket.write(path, content)
            return True
        await _finish(bucket, path, first.path)
        return False
    finally:
        await bucket.remove(mine)


async def _settle(bucket: Bucket, claims: str, mine: str) -> None:
    written = [found for found in await _listed(bucket, claims) if found.path == mine]
    is_fine = bool(written) and written[0].last_modified.microsecond > 0
    await asyncio.sleep(_FINE_SECONDS if is_fine else _COARSE_SECONDS)


async def _finish(bucket: Bucket, path: str, winner: str) -> None:
    """Wait until the winner has written the object; write it for one that has died."""
    content = None
    with contextlib.suppress(FileNotFoundError):
        content = await bucket.read(winner)
    for _ in range(100):
        if await _is_there(bucket, path):
            return
        await asyncio.sleep(_FINE_SECONDS)
    if content is not None:
        await bucket.write(path, content)


async def _listed(bucket: Bucket, folder: str) -> list[Listed]:
    return [found async for found in bucket.list(folder)]


async def _is_there(bucket: Bucket, path: str) -> bool:
    return await bucket.media_type(path) is not None
