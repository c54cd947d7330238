"""Uploading what is read piece by piece: whole, or nothing is there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from strongroom.infrastructure.s3_objects import Bucket


class _Stopped(Exception):
    """The source of an upload has failed, or its caller was cancelled."""


async def upload(bucket: Bucket, path: str, chunks: AsyncIterator[bytes], media_type: str) -> None:
    """Upload chunks as they come, in parts; when they fail, or the caller is cancelled, nothing is there.

    The source is read by the caller's own task, so that cancelling it reaches both.
    """
    waiting: asyncio.Queue[bytes | _Stopped | None] = asyncio.Queue(maxsize=4)

    async def fed() -> AsyncIterator[bytes]:
        while (chunk := await waiting.get()) is not None:
            if isinstance(chunk, _Stopped):
                raise chunk
            yield chunk

    writing = asyncio.ensure_future(bucket.write(path, fed(), media_type))
    try:
        async for chunk in chunks:
            await _put_or_fail(waiting, chunk, writing)
        await _put_or_fail(waiting, None, writing)
        await asyncio.shield(writing)
    except BaseException:
        while not writing.done():
            with contextlib.suppress(asyncio.QueueEmpty):
                while True:
                    waiting.get_nowait()
            waiting.put_nowait(_Stopped())
            await asyncio.wait({writing}, timeout=0.2)
        writing.exception()
        raise


async def _put_or_fail(
    waiting: asyncio.Queue[bytes | _Stopped | None],
    chunk: bytes | None,
    writing: asyncio.Future[None],
) -> None:
    """Hand a chunk on, or raise what the upload has failed with."""
    putting = asyncio.ensure_future(waiting.put(chunk))
    try:
        await asyncio.wait({putting, writing}, return_when=asyncio.FIRST_COMPLETED)
        if writing.done():
            writing.result()
    finally:
        putting.cancel()
