# Written by scripts/generate_sync.py from strongroom/infrastructure/blob_reading.py: change that, and run `make generate`.
"""What every blob store does alike: read with a cap, hash, check, and page over keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from strongroom.errors import InvalidArgument, LimitExceeded
from strongroom.infrastructure.blob_reading import CHUNK, _cut
from strongroom.sync.ports.blobs import Bytes


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

    def chunks(self) -> Iterator[bytes]:
        """Yield pieces of about a megabyte, whatever pieces came in.

        Raises:
            LimitExceeded: SR004, as soon as there is more than the cap.
            InvalidArgument: SR001, a chunk is no bytes.
        """
        waiting: list[bytes] = []
        size = 0
        for piece in self._pieces():
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

    def _pieces(self) -> Iterator[bytes]:
        if isinstance(self._data, bytes | bytearray | memoryview):
            view = memoryview(self._data).cast("B")
            for piece in _cut(view):
                yield piece
            return
        for chunk in self._data:
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
