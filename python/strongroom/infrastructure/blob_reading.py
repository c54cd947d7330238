"""What every blob store does alike: read with a cap, hash, check, and page over keys."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator

from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidCursor,
    InvalidText,
    LimitExceeded,
    NotFound,
)
from strongroom.models.blobs import Blob
from strongroom.models.json_values import unstorable_paths
from strongroom.ports.blobs import MIB, Bytes

CHUNK = MIB
_SCOPE = 12
_SUM = 8


class Reading:
    """Bytes as they are read: never more than the cap and a chunk, counted and hashed.

    Attributes:
        size_bytes: how many there were so far.
    """

    def __init__(self, data: Bytes, max_bytes: int) -> None:
        """Read from here, at most so much."""
        self._data = data
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        self.size_bytes = 0

    @property
    def sha256(self) -> str:
        """The hash of what was read so far."""
        return self._hash.hexdigest()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield pieces of about a megabyte, whatever pieces came in.

        Raises:
            LimitExceeded: SR004, as soon as there is more than the cap.
            InvalidArgument: SR001, a chunk is no bytes.
        """
        waiting: list[bytes] = []
        size = 0
        async for piece in self._pieces():
            self.size_bytes += len(piece)
            if self.size_bytes > self._max_bytes:
                raise LimitExceeded(
                    f"data has more than {self._max_bytes} bytes",
                    detail={"path": "data", "limit": self._max_bytes},
                    hint="Nothing was stored. Send less, or raise max_bytes.",
                )
            self._hash.update(piece)
            waiting.append(piece)
            size += len(piece)
            if size >= CHUNK:
                yield b"".join(waiting)
                waiting, size = [], 0
        if waiting:
            yield b"".join(waiting)

    async def _pieces(self) -> AsyncIterator[bytes]:
        if isinstance(self._data, bytes | bytearray | memoryview):
            view = memoryview(self._data).cast("B")
            for piece in _cut(view):
                yield piece
            return
        async for chunk in self._data:
            if not isinstance(chunk, bytes | bytearray | memoryview):
                raise InvalidArgument(
                    f"data must give bytes, not {type(chunk).__name__}",
                    detail={"path": "data"},
                    hint="Encode text first.",
                )
            for piece in _cut(memoryview(chunk).cast("B")):
                yield piece

    def check(self, sha256: str | None, size_bytes: int | None) -> None:
        """Refuse other bytes than were announced.

        Raises:
            InvalidArgument: SR001.
        """
        if size_bytes is not None and size_bytes != self.size_bytes:
            raise InvalidArgument(
                f"data has {self.size_bytes} bytes, not {size_bytes}",
                detail={"path": "size_bytes", "expected": size_bytes, "actual": self.size_bytes},
                hint="Nothing was stored. The bytes were cut off, or are others: send them again.",
            )
        if sha256 is not None and sha256 != self.sha256:
            raise InvalidArgument(
                "data has another sha256 than was announced",
                detail={"path": "sha256", "expected": sha256, "actual": self.sha256},
                hint="Nothing was stored. The bytes were damaged, or are others: send them again.",
            )


def _cut(view: memoryview) -> Iterator[bytes]:
    for start in range(0, len(view), CHUNK):
        yield bytes(view[start : start + CHUNK])


def check_texts(**texts: str | None) -> None:
    """Refuse text that cannot be stored everywhere: U+0000, and halves of surrogate pairs.

    Raises:
        InvalidText: SR003, naming the argument.
    """
    for name, text in texts.items():
        found = next(unstorable_paths(text, name), None)
        if found is not None:
            raise InvalidText(
                f"{found[0]} holds {found[1]}, which cannot be stored",
                detail={"path": found[0], "character": found[1]},
                hint="Remove it.",
            )


def absent() -> NotFound:
    """Return the error for a key without bytes."""
    return NotFound(
        "there are no bytes under this key",
        detail={"path": "key", "record": "blob"},
        hint="They may have been removed, or were never put.",
    )


def other_bytes() -> AlreadyExists:
    """Return the error for a key with other bytes."""
    return AlreadyExists(
        "other bytes are under this key",
        detail={"path": "key", "record": "blob"},
        hint="A key is written once. Put new bytes under a new key.",
    )


def too_long_to_read(size: int, max_bytes: int) -> LimitExceeded:
    """Return the error for a read of too many bytes."""
    return LimitExceeded(
        f"there are {size} bytes to read; at most {max_bytes} are allowed",
        detail={"path": "max_bytes", "limit": max_bytes, "actual": size},
        hint="Read a range, stream them, or raise max_bytes.",
    )


def span(blob: Blob, offset: int, length: int | None) -> tuple[int, int]:
    """Return the beginning and end of a range, cut at the end of the bytes."""
    start = min(offset, blob.size_bytes)
    return start, blob.size_bytes if length is None else min(start + length, blob.size_bytes)


def blob_scope(tenant_id: str, prefix: str | None) -> str:
    """Return what the cursors of a list of keys are bound to."""
    return _hash(json.dumps([tenant_id, prefix]))[:_SCOPE]


def encode_blob_cursor(scope: str, key: str) -> str:
    """Return the cursor of a key."""
    payload = scope + key
    text = (_hash(payload)[:_SUM] + payload).encode()
    return "1" + base64.urlsafe_b64encode(text).decode().rstrip("=")


def decode_blob_cursor(cursor: str | None, scope: str) -> str | None:
    """Return the key in a cursor; None without one.

    Raises:
        InvalidCursor: SR002, it is damaged, or belongs to another list.
    """
    if cursor is None:
        return None
    problem = "is damaged"
    try:
        text = base64.urlsafe_b64decode(cursor[1:] + "===").decode()
    except ValueError:
        text = ""
    payload = text[_SUM:]
    if payload and cursor == encode_blob_cursor(payload[:_SCOPE], payload[_SCOPE:]):
        if payload[:_SCOPE] == scope:
            return payload[_SCOPE:]
        problem = "belongs to another list"
    raise InvalidCursor(
        f"after {problem}",
        detail={"path": "after"},
        hint="Use a cursor of the same list with the same prefix, or start without one.",
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
