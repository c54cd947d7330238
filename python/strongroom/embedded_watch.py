"""The lifetime of an embedded server: its lock files, and a watcher that stops what nobody uses.

This file is also run as a script, by ``python -I -S``: it imports only the standard library.

A home folder holds four lock files. The kernel drops the locks of a process that dies, whatever
killed it, so no pid file is ever believed:

    start.lock   exclusive, while somebody starts, joins or stops the server
    users.lock   shared, by every process that uses the server
    server.lock  exclusive, inherited by the server's own processes: free means that none is alive
    watch.lock   exclusive, by the watcher
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import sys
import time
from pathlib import Path

SOCKET_PREFIX = "strongroom-socket-"
_PACE = 0.01
_WATCH_PACE = 0.25


class LockFile:
    """One lock file of a home folder, opened by this process."""

    def __init__(self, home: Path, name: str) -> None:
        """Open the file, making it when it is missing; it belongs to the folder's owner."""
        self.fd = os.open(home / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.geteuid() == 0:
            owner = home.stat()
            os.fchown(self.fd, owner.st_uid, owner.st_gid)

    def share(self) -> bool:
        """Take the lock shared, without waiting. Returns whether it was free for that."""
        return self._take(fcntl.LOCK_SH)

    def seize(self, timeout: float = 0.0) -> bool:
        """Take the lock exclusively. Returns False when others hold it for ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while not self._take(fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PACE)
        return True

    def _take(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let others have the lock, even where a forked child has a copy of this descriptor."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Close this descriptor; the lock stays with any process that inherited it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def is_held(home: Path, name: str, patience: float = 0.0) -> bool:
    """Return whether somebody (still, after ``patience`` seconds) holds a lock of this home."""
    lock = LockFile(home, name)
    try:
        return not lock.seize(patience)
    finally:
        lock.close()


def read_pid_file(home: Path) -> list[str]:
    """Return the lines of postmaster.pid, or none.

    They are: pid, data folder, start time, port, socket folder, address, shared memory, state.
    """
    try:
        lines = (home / "data" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []
    return [line.strip() for line in lines]


def shut_down(home: Path) -> None:
    """Stop the server of this home: fast, then at once, then hard. Waits for its last process."""
    lines = read_pid_file(home)
    for step, patience in ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
        if not is_held(home, "server.lock"):
            break
        if lines:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(lines[0]), step)
        if not is_held(home, "server.lock", patience):
            break
    remove_sockets(home)


def remove_sockets(home: Path) -> None:
    """Remove the socket folder of a server whose own path does not suit a socket."""
    link = home / "sockets"
    if link.is_symlink():
        folder = link.readlink()
        if folder.name.startswith(SOCKET_PREFIX):
            shutil.rmtree(folder, ignore_errors=True)
        link.unlink()


def stop_if_unused(home: Path, users: LockFile, *, temporary: bool) -> bool:
    """Stop the server unless another process uses it. The caller holds start.lock.

    Args:
        home: the folder of the server.
        users: the caller's own descriptor of users.lock, shared or not locked; closed afterwards.
        temporary: whether the folder goes, too.

    Returns:
        False when somebody else uses the server, which then runs on.
    """
    try:
        if not users.seize():
            return False
        shut_down(home)
        if temporary:
            shutil.rmtree(home, ignore_errors=True)
        return True
    finally:
        users.close()


def watch(home: Path, *, temporary: bool) -> None:
    """Wait until nobody uses the server any more, then stop it where its last user could not."""
    mine = LockFile(home, "watch.lock")
    if not mine.seize():
        return
    if os.fork():
        return
    os.setsid()
    while True:
        time.sleep(_WATCH_PACE)
        try:
            start = LockFile(home, "start.lock")
        except OSError:
            return  # the folder has gone, and the server with it
        if start.seize():
            users = LockFile(home, "users.lock")
            if stop_if_unused(home, users, temporary=temporary):
                mine.release()  # before start.lock, so that the next start makes a new watcher
                start.close()
                return
        start.close()


if __name__ == "__main__":
    watch(Path(sys.argv[1]), temporary=sys.argv[2] == "temporary")
