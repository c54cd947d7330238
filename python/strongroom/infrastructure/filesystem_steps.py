"""The steps of the filesystem's blob store that block, each called in a thread."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from strongroom.errors import PermissionDenied, Unavailable
from strongroom.infrastructure.blob_reading import absent
from strongroom.infrastructure.filesystem_layout import ABOUT, DATA, Layout, text_of
from strongroom.models.blobs import Blob

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}


@contextmanager
def translated_os_errors() -> Iterator[None]:
    """Turn what the operating system says into Unavailable; paths are not repeated to callers."""
    try:
        yield
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, str(error.errno))
        full = error.errno in _FULL
        raise Unavailable(
            f"the blob store's folder cannot be used: {os.strerror(error.errno or errno.EIO)}",
            detail={"errno": code},
            hint="Free some space, or raise the quota; nothing was kept of this call."
            if full
            else "Look at the folder, its filesystem, and the rights of this process.",
        ) from error


def require_own(layout: Layout, path: Path) -> bool:
    """Say whether a folder is there, when every step to it from the root is a real folder.

    Raises:
        PermissionDenied: SR020, a symbolic link or a file stands in the way.
    """
    step = layout.root
    for part in path.relative_to(layout.root).parts:
        step = step / part
        try:
            mode = step.lstat().st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(mode):
            raise PermissionDenied(
                "something that is no folder stands in the blob store's folder",
                detail={"path": "key", "found": "link" if stat.S_ISLNK(mode) else "file"},
                hint="Nothing but the blob store may write there; look who did.",
            )
    return True


class Unfinished:
    """A put that has not ended: a folder of its own, which becomes the blob in one rename."""

    def __init__(self, layout: Layout) -> None:
        """Make the folder and open the file of the bytes."""
        self._layout = layout
        self._folder = layout.unfinished / uuid.uuid4().hex
        self._folder.mkdir(parents=True, mode=0o700)
        self._file = (self._folder / DATA).open("xb")

    def write(self, chunk: bytes) -> None:
        """Write some bytes."""
        self._file.write(chunk)

    def keep(self, blob: Blob) -> bool:
        """Make it the blob, whole and on disk; False when the key has bytes already."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        with (self._folder / ABOUT).open("x", encoding="utf-8") as about:
            about.write(blob.model_dump_json())
            about.flush()
            os.fsync(about.fileno())
        sync_folder(self._folder)
        place = self._layout.blob(blob.tenant_id, blob.key)
        require_own(self._layout, place.parent)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            # A folder cannot be renamed onto another that is not empty: so the first one wins.
            self._folder.rename(place)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            return False
        step = place.parent
        while step != self._layout.root:
            sync_folder(step)
            step = step.parent
        sync_folder(self._layout.root)
        return True

    def discard(self) -> None:
        """Remove what was written, if it has not become the blob."""
        with suppress(OSError):
            self._file.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Make what happened in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_about(layout: Layout, tenant_id: str, key: str) -> Blob | None:
    """Return what is known of a key's bytes.

    Raises:
        Unavailable: SR050, what is there is not what was put.
    """
    folder = layout.blob(tenant_id, key)
    if not require_own(layout, folder):
        return None
    blob = _about(folder)
    if blob is not None and (blob.tenant_id, blob.key) != (tenant_id, key):
        raise damaged()
    return blob


def _about(folder: Path) -> Blob | None:
    try:
        with open_own(folder / ABOUT) as descriptor, os.fdopen(descriptor, closefd=False) as file:
            return Blob.model_validate_json(file.read())
    except FileNotFoundError:
        return None  # removed in this moment
    except ValidationError as error:
        raise damaged() from error


@contextmanager
def open_own(path: Path) -> Iterator[int]:
    """Open a file to read, and never what a symbolic link leads to."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PermissionDenied(
                "a symbolic link stands in the blob store's folder",
                detail={"path": "key", "found": "link"},
                hint="Nothing but the blob store may write there; look who did.",
            ) from error
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def damaged() -> Unavailable:
    """Return the error for bytes that are not what was put."""
    return Unavailable(
        "the bytes under this key are damaged",
        detail={"path": "key", "record": "blob"},
        hint="Something else has changed the blob store's folder, or the disk fails: restore it.",
        retryable=False,
    )


class Reader:
    """The open bytes of a blob: they can be read to the end, also when the blob is removed."""

    def __init__(self, layout: Layout, blob: Blob, start: int) -> None:
        """Open them at a place."""
        path = layout.blob(blob.tenant_id, blob.key) / DATA
        try:
            with open_own(path) as descriptor:
                if os.fstat(descriptor).st_size != blob.size_bytes:
                    raise damaged()
                self._file = os.fdopen(os.dup(descriptor), "rb")
        except FileNotFoundError as error:
            raise absent() from error
        self._file.seek(start)

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes."""
        chunk = self._file.read(size)
        if len(chunk) != size:
            raise damaged()
        return chunk

    def close(self) -> None:
        """Close them."""
        self._file.close()


def remove(layout: Layout, tenant_id: str, key: str) -> bool:
    """Take the blob out of its place in one step, then remove it."""
    folder = layout.blob(tenant_id, key)
    if not require_own(layout, folder):
        return False
    layout.unfinished.mkdir(parents=True, exist_ok=True, mode=0o700)
    taken_out = layout.unfinished / uuid.uuid4().hex
    try:
        folder.rename(taken_out)
    except FileNotFoundError:
        return False  # somebody else did in this moment
    sync_folder(folder.parent)
    shutil.rmtree(taken_out, ignore_errors=True)  # what is left is found by discard_unfinished
    return True


def all_keys(layout: Layout, tenant_id: str) -> Iterator[str]:
    """Yield every key of the tenant, in no order."""
    tenant = layout.tenant(tenant_id)
    if not require_own(layout, tenant):
        return
    for shard in tenant.iterdir():
        if shard.is_symlink() or not shard.is_dir():
            continue
        for folder in shard.iterdir():
            key = text_of(folder.name) or _key_in(folder)
            if key is not None and layout.blob(tenant_id, key) == folder:
                yield key


def _key_in(folder: Path) -> str | None:
    """Return the key of a folder that is named after a hash of it."""
    if folder.is_symlink() or not folder.is_dir():
        return None
    blob = _about(folder)
    return blob.key if blob else None


def discard_unfinished(layout: Layout, older_than_seconds: int) -> int:
    """Remove what has not been touched for so long."""
    if not layout.unfinished.is_dir():
        return 0
    until = time.time() - older_than_seconds
    count = 0
    for folder in layout.unfinished.iterdir():
        with suppress(FileNotFoundError):
            touched = [folder.lstat().st_mtime, *(e.lstat().st_mtime for e in folder.iterdir())]
            if max(touched) <= until:
                shutil.rmtree(folder, ignore_errors=True)
                count += not folder.exists()
    return count
