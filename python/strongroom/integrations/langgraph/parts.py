"""Large values in parts: a value that grows shares with its next version all but what is new.

What was appended to changes at its end, and in the few bytes at its beginning that say how long it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from strongroom.models.frameworks import FrameworkRecordChange

HEAD = 64
PART = 65_536
LARGE = 2 * PART


def value_records(
    path: list[str], key: str, kind: str, data: bytes, known: frozenset[str]
) -> list[FrameworkRecordChange]:
    """Return what is put for a channel's value: the value, or its name for its parts, and those.

    Args:
        path: the thread and namespace.
        key: the channel's version and name.
        kind: its type, as the serializer calls it.
        data: its bytes.
        known: the parts that this process knows to be stored: they are not sent again, but must be there.
    """
    at: dict[str, Any] = {"path": path, "mode": "keep"}
    if len(data) <= LARGE:
        return [
            FrameworkRecordChange(
                **at, collection="channels", key=key, content={"type": kind}, data=data
            )
        ]
    parts = [(hashlib.sha256(part).hexdigest(), part) for part in _cut(data)]
    names = [name for name, _ in parts]
    value = FrameworkRecordChange(
        **at, collection="channels", key=key, content={"type": kind, "parts": names}
    )
    return [
        value,
        *(
            FrameworkRecordChange(
                **at, collection="parts", key=name, content=True, expected_version=1
            )
            if name in known
            else FrameworkRecordChange(**at, collection="parts", key=name, data=part)
            for name, part in dict(parts).items()
        ),
    ]


def parts_of(records: Iterable[FrameworkRecordChange]) -> frozenset[str]:
    """Return the parts that records name."""
    return frozenset(record.key for record in records if record.collection == "parts")


def _cut(data: bytes) -> list[bytes]:
    places = [0, *range(HEAD, len(data), PART), len(data)]
    return [data[start:end] for start, end in pairwise(places)]
