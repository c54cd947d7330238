"""Not a test: a process that uploads, to be killed in the middle or to run into a full disk."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import AsyncIterator

import strongroom
from strongroom import StrongroomError, file_transfer

MIB = 1024 * 1024


async def chunks(count: int, *, then_wait: bool) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * MIB
    if then_wait:
        sys.stdout.write("halfway\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def main(what: str, url: str, blobs: str) -> None:
    async with strongroom.connect(url, blobs=blobs) as store:
        if what == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, 3 * MIB))
        try:
            await file_transfer.upload(
                store,
                tenant_id="acme",
                owner_id="ada",
                path="big.bin",
                file_id="big",
                data=chunks(5, then_wait=what == "halfway"),
            )
        except StrongroomError as error:
            sys.stdout.write(f"{error.code} {error.detail.get('errno')}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
