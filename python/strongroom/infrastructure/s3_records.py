"""What lies under a key's name in a bucket: one line that says what the bytes are, then the bytes or none."""

from __future__ import annotations

import json
from dataclasses import dataclass

from strongroom.errors import InvalidArgument, Unavailable
from strongroom.models.blobs import Blob

INLINE = 256 * 1024
"""So many bytes at most lie beside what is known of them: one request puts them, one gets them."""
HEAD_BYTES = 16 * 1024
"""The line is shorter."""


@dataclass(frozen=True)
class Record:
    """What is known of a key's bytes.

    Attributes:
        blob: that.
        data_path: where the bytes are; None: behind the line.
        line_bytes: how long the line is.
    """

    blob: Blob
    data_path: str | None
    line_bytes: int


def encode(blob: Blob, data_path: str | None, content: bytes = b"") -> bytes:
    """Return the object's content."""
    about = {**blob.model_dump(mode="json"), "data_path": data_path}
    return json.dumps(about, ensure_ascii=False).encode() + b"\n" + content


def decode(content: bytes, tenant_id: str | None = None, key: str | None = None) -> Record:
    """Read the line.

    Raises:
        Unavailable: SR050, it is damaged, or about another key.
    """
    line, end, _ = content.partition(b"\n")
    try:
        about = json.loads(line) if end else {}
        data_path = about.pop("data_path")
        blob = Blob(**about)
    except (ValueError, AttributeError, KeyError, TypeError, InvalidArgument) as error:
        raise damaged() from error
    if (tenant_id or blob.tenant_id, key or blob.key) != (blob.tenant_id, blob.key):
        raise damaged()
    return Record(blob, data_path, len(line) + 1)


def damaged() -> Unavailable:
    """Return the error for bytes that are not those that were put."""
    return Unavailable(
        "the bytes in the bucket are not those that were put",
        detail={"adapter": "s3", "record": "blob"},
        hint="Something else writes into the bucket, or it is damaged: restore the object.",
        retryable=False,
    )
