"""Redis for tests: the program redis-server, with every write on disk before its answer."""

import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from shutil import rmtree

from .ports import ReservedPort
from .requirements import require
from .waiting import eventually

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class RedisProcess:
    """A running redis-server on 127.0.0.1; it ends with its Python process, whatever ends that."""

    def __init__(self, *options: str) -> None:
        self._program = require("redis-server")
        self._options = options or DURABLE
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self.home = Path(tempfile.mkdtemp(prefix="strongroom-redis-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        # The configuration comes through a pipe that stays open: the shell kills Redis when it closes.
        leash = '"$@" <&- & child=$!; echo $child >pid; read -r _; kill -KILL $child; wait $child'
        self._process = subprocess.Popen(
            [
                *("/bin/sh", "-c", leash, "sh", str(self._program)),
                *("--port", str(self.port), "--bind", "127.0.0.1", "--save", ""),
                *("--logfile", str(self.home / "log"), *self._options),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.home,
            start_new_session=True,
        )
        eventually(self._answers, "redis-server answers", timeout=15)

    def kill_hard(self) -> None:
        """SIGKILL: whatever it had not written is lost."""
        assert self._process is not None
        os.kill(int((self.home / "pid").read_text()), signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=15)
        self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def close(self) -> None:
        if self._process is not None:
            self.kill_hard()
        self._reserved.release()
        rmtree(self.home, ignore_errors=True)
