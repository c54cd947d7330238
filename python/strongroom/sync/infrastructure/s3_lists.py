# Written by scripts/generate_sync.py from strongroom/infrastructure/s3_lists.py: change that, and run `make generate`.
"""Lists of a bucket's keys: in the order of their bytes, from any place, whatever the server does."""

from __future__ import annotations

from collections.abc import Iterator

from strongroom.errors import Unavailable
from strongroom.infrastructure import s3_layout as layout
from strongroom.infrastructure.s3_lists import _AT_ONCE
from strongroom.infrastructure.s3_records import HEAD_BYTES, Record, decode
from strongroom.sync.infrastructure.at_once import ask_each
from strongroom.sync.infrastructure.s3_objects import Bucket


def list_records(
    bucket: Bucket, tenant_id: str, prefix: str, after: str | None, most: int
) -> list[Record]:
    """Return what is known of a tenant's keys that begin with a prefix, those after a key, in order.

    Very long keys that begin alike are put in order when all of them have been read.
    """
    found: list[Record] = []
    batch: list[str] = []
    for group in _groups(_paths(bucket, tenant_id, prefix, after)):
        if isinstance(group, list):
            found += _read(bucket, batch, prefix, after)
            batch = []
            alike = _read(bucket, group, prefix, after)
            found += sorted(alike, key=lambda record: record.blob.key.encode())
        else:
            batch.append(group)
            if len(batch) >= most:
                found += _read(bucket, batch, prefix, after)
                batch = []
        if len(found) >= most:
            break
    else:
        found += _read(bucket, batch, prefix, after)
    return found[:most]


def _paths(bucket: Bucket, tenant_id: str, prefix: str, after: str | None) -> Iterator[str]:
    """Return the paths of keys, in order, none before the prefix or the key to go on after."""
    folder = f"keys/{layout.tenant_folder(tenant_id)}"
    first = f"{folder}/{layout.beginning(prefix)}"
    start = first
    if after is not None:
        place = layout.key_path(tenant_id, after)
        # Of long keys that begin alike, any may come after this one.
        start = max(start, layout.group_of(place) or place)
    last = ""
    for listed in bucket.list(folder, start if start != f"{folder}/" else None):
        if listed.path <= last:
            raise Unavailable(
                "the server lists a bucket out of order",
                detail={"adapter": "s3"},
                hint="Use a server that lists by name, byte by byte, as S3 does.",
                retryable=False,
            )
        last = listed.path
        if last.startswith(first):
            if last > start:
                yield last
        elif last > first:
            return


def _groups(paths: Iterator[str]) -> Iterator[str | list[str]]:
    """Return paths one by one, and those of long keys that begin alike together."""
    group: list[str] = []
    for path in paths:
        beginning = layout.group_of(path)
        if group and layout.group_of(group[0]) != beginning:
            yield group
            group = []
        if beginning:
            group.append(path)
        else:
            yield path
    if group:
        yield group


def _read(bucket: Bucket, paths: list[str], prefix: str, after: str | None) -> list[Record]:
    def read(path: str) -> Record | None:
        try:
            return decode(bucket.read(path, 0, HEAD_BYTES))
        except FileNotFoundError:
            return None  # it was removed meanwhile

    # A long key's prefix or place is only known now.
    return [
        record
        for record in ask_each(read, paths, at_once=_AT_ONCE)
        if record is not None
        and record.blob.key.startswith(prefix)
        and (after is None or record.blob.key.encode() > after.encode())
    ]
