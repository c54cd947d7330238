"""P11: bytes put into a bucket and got back."""

from __future__ import annotations

from functools import partial

from bench.competitors.buckets import LARGE, SMALL, Bucket
from bench.context import Context
from bench.measure import Contestant, repeat
from bench.report import ratio_line


async def bytes_in_buckets(context: Context) -> None:
    """P11: put and get, 64 KiB and 4 MiB; strongroom also hashes, writes once, and checks what it reads."""
    bucket = await context.opened(Bucket(), "S3 server: set up")
    if bucket is None:
        return
    contestants: dict[str, Contestant] = {}
    for size, content, times in (("64 KiB", SMALL, 10), ("4 MiB", LARGE, 3)):
        contestants[f"boto3, {size}"] = repeat(partial(bucket.boto3, content), times)
        contestants[f"strongroom, {size}"] = repeat(partial(bucket.strongroom, content), times)
    rounds = await context.measure("P11", contestants, rounds=40)
    for size in ("64 KiB", "4 MiB"):
        context.report.lines.append(
            ratio_line(
                "P11",
                f"put + get, {size}: strongroom's blob store / boto3",
                rounds.ratio(f"strongroom, {size}", f"boto3, {size}"),
                None,
            )
        )
