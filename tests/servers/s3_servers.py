"""Two S3-compatible servers for tests: moto (honours If-None-Match), rclone (checks signatures)."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from shutil import rmtree

from .ports import ReservedPort
from .waiting import eventually

BUCKET = "strongroom-test"
KEY, SECRET = "KEYKEYKEY", "SECRETSECRET"


class S3Process:
    """A running server with one bucket; it ends with its Python process, whatever ends that."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self.home = Path(tempfile.mkdtemp(prefix=f"strongroom-{kind}-"))
        (self.home / "data" / BUCKET).mkdir(parents=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, prefix: str = "some/prefix", *, secret: str = SECRET) -> str:
        return f"s3://{KEY}:{secret}@{BUCKET}/{prefix}?endpoint={self.endpoint}&region=us-east-1"

    def start(self) -> None:
        programs = Path(sys.executable).parent
        command = {
            "moto": [str(programs / "moto_server"), "-H", "127.0.0.1", "-p", str(self.port)],
            "rclone": [
                *(str(programs / "rclone"), "serve", "s3", "--addr", f"127.0.0.1:{self.port}"),
                *("--auth-key", f"{KEY},{SECRET}", str(self.home / "data")),
            ],
        }[self.kind]
        leash = '"$@" <&- & child=$!; echo $child >pid; read -r _; kill -KILL $child; wait $child'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", leash, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.home,
            env={**os.environ, "RCLONE_CONFIG": str(self.home / "rclone.conf")},
            start_new_session=True,
        )
        eventually(self._answers, f"{self.kind} answers", timeout=60)
        if self.kind == "moto":
            self._make_bucket()

    def kill_hard(self) -> None:
        assert self._process is not None
        os.kill(int((self.home / "pid").read_text()), signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=15)
        self._process = None

    def _make_bucket(self) -> None:
        # moto looks at no signature, only at whether there is one.
        request = urllib.request.Request(  # noqa: S310
            f"{self.endpoint}/{BUCKET}",
            method="PUT",
            headers={
                "Authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/20260101/us-east-1/s3/aws4_request,"
                " SignedHeaders=host, Signature=x"
            },
        )
        urllib.request.urlopen(request, timeout=15).close()  # noqa: S310

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def close(self) -> None:
        if self._process is not None:
            self.kill_hard()
        self._reserved.release()
        rmtree(self.home, ignore_errors=True)
