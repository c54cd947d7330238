"""Network ports that nobody else takes between two starts of a server."""

import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

_FIRST = 20_000


class ReservedPort:
    """A free port of 127.0.0.1, reserved among a user's test runs by a lock.

    It lies below the range from which the kernel hands out ports by itself, so it is still free
    when a killed server starts again.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir()) / f"strongroom-test-ports-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        count = _first_of_kernel() - _FIRST
        # Each user starts elsewhere, as these locks are out of sight for the other users.
        for step in range(os.geteuid() * 997, os.geteuid() * 997 + count):
            number = _FIRST + step % count
            fd = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_free(number):
                    self.number = number
                    self._fd = fd
                    return
            os.close(fd)
        raise RuntimeError("no free port is left on 127.0.0.1")

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _is_free(number: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return False
    return True


def _first_of_kernel() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        return 32_768
