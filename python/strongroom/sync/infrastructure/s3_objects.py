# Written by scripts/generate_sync.py from strongroom/infrastructure/s3_objects.py: change that, and run `make generate`.
"""One bucket through obstore: its calls with our errors, and what this server can do."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Literal

from strongroom.errors import Unavailable
from strongroom.infrastructure.extras import import_extra
from strongroom.infrastructure.s3_objects import _LISTED_AT_ONCE, MIB, PART, Listed


class Bucket:
    """A bucket: paths in, bytes out."""

    def __init__(self, store: Any) -> None:
        """Use this object store of obstore's."""
        self._store = store
        self._obstore = import_extra("obstore", "s3", "the S3 blob store")
        errors = import_extra("obstore.exceptions", "s3", "the S3 blob store")
        self._error: type[Exception] = errors.BaseError
        self._exists: type[Exception] = errors.AlreadyExistsError
        self._is_conditional: bool | None = None
        self._has_ranges = True

    @contextmanager
    def _translated(self, *, reads: bool = False) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if reads:
                raise
            raise Unavailable(
                "the bucket does not exist, or an upload to it was cut off",
                detail={"adapter": "s3"},
                hint="Create the bucket; calls may be repeated.",
            ) from error
        except (self._error, OSError) as error:
            raise Unavailable(
                f"the bucket cannot be reached or refuses: {str(error).splitlines()[0][:300]}",
                detail={"adapter": "s3"},
                hint="Check endpoint, region, bucket and credentials; calls may be repeated.",
            ) from error

    def is_conditional(self) -> bool:
        """Say whether the server refuses to create an object that is there (tried once).

        Raises:
            Unavailable: SR050.
        """
        if self._is_conditional is None:
            path = f"probe/{uuid.uuid4().hex}"
            with self._translated():
                try:
                    self._obstore.put(self._store, path, b"probe", mode="create")
                except self._error:
                    # It may not know such requests at all; whether it can be written to is seen here.
                    self._obstore.put(self._store, path, b"probe")
                try:
                    self._obstore.put(self._store, path, b"probe", mode="create")
                except self._exists:
                    self._is_conditional = True
                except self._error:
                    self._is_conditional = False
                else:
                    self._is_conditional = False
                self._obstore.delete(self._store, path)
        return self._is_conditional

    def create(self, path: str, content: bytes) -> bool:
        """Create an object unless there is one; say whether it was created. Needs ``is_conditional``."""
        with self._translated():
            try:
                self._obstore.put(self._store, path, content, mode="create", use_multipart=False)
            except self._exists:
                return False
        return True

    def write(
        self, path: str, content: bytes | Iterator[bytes], media_type: str | None = None
    ) -> None:
        """Write an object; an iterator is uploaded in parts as it comes."""
        attributes = {"Content-Type": media_type} if media_type else None
        options: dict[str, Any] = (
            {"use_multipart": False}
            if isinstance(content, bytes)
            else {"use_multipart": True, "chunk_size": PART, "max_concurrency": 4}
        )
        with self._translated():
            self._obstore.put(self._store, path, content, attributes=attributes, **options)

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """Return bytes of an object.

        Raises:
            FileNotFoundError: there is none.
        """
        return b"".join([chunk for chunk in self.stream(path, start, end)])

    def stream(self, path: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Return bytes of an object in chunks.

        Raises:
            FileNotFoundError: there is none.
        """
        if end is not None and start >= end:
            return
        ranged = self._has_ranges and (start > 0 or end is not None)
        options: dict[str, Any] = {}
        if ranged:
            options["range"] = {"offset": start} if end is None else (start, end)
        with self._translated(reads=True):
            try:
                found = self._obstore.get(self._store, path, options=options)
            except self._error as error:
                if not ranged or "NotPartial" not in str(error):
                    raise
                self._has_ranges = ranged = False  # it gives everything: take what was asked for
                found = self._obstore.get(self._store, path)
            at = start if ranged else 0
            for piece in found.stream(min_chunk_size=MIB):
                chunk = bytes(piece)
                skip = max(start - at, 0)
                at += len(chunk)
                if end is not None and at > end:
                    chunk = chunk[: len(chunk) - (at - end)]
                if chunk[skip:]:
                    yield chunk[skip:]
                if end is not None and at >= end:
                    return

    def media_type(self, path: str) -> str | None:
        """Return what an object is said to be, None when there is none."""
        with self._translated():
            try:
                found = self._obstore.get(self._store, path, options={"head": True})
            except FileNotFoundError:
                return None
        return str(found.attributes.get("Content-Type", "application/octet-stream"))

    def remove(self, *paths: str) -> None:
        """Remove objects, or find that there are none."""
        with self._translated():
            for path in paths:
                try:
                    self._obstore.delete(self._store, path)
                except FileNotFoundError:
                    continue

    def list(self, folder: str, after: str | None = None) -> Iterator[Listed]:
        """Return the objects of a folder by path, byte by byte, those after a path."""
        with self._translated():
            pages = self._obstore.list(
                self._store, prefix=folder, offset=after, chunk_size=_LISTED_AT_ONCE
            )
            for page in pages:
                for found in page:
                    yield Listed(found["path"], found["last_modified"])

    def sign(self, method: Literal["GET", "PUT"], path: str, seconds: int) -> str:
        """Return a signed URL."""
        with self._translated():
            url = self._obstore.sign(self._store, method, path, timedelta(seconds=seconds))
        return str(url)
