"""The benchmark's own Redis: the program redis-server, where there is one, on a unix socket."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

from bench.competitors import MissingPeer

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
"""Every write is on disk before its answer, as with PostgreSQL."""
NOT_DURABLE = ("--appendonly", "no")


class RedisServer:
    """A server in a folder of its own; it and the folder are gone after ``stop``."""

    def __init__(self, *, durable: bool) -> None:
        self._options = DURABLE if durable else NOT_DURABLE
        self._process: asyncio.subprocess.Process | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    async def start(self) -> Any:
        """Start it, and return a client of it; MissingPeer without the program or the package."""
        program = shutil.which("redis-server")
        if program is None:
            raise MissingPeer("the program redis-server (on Debian: apt-get install redis-server)")
        try:
            import redis.asyncio as redis  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package redis ({error})") from error
        self._folder = tempfile.TemporaryDirectory(prefix="strongroom-redis-")
        socket = str(Path(self._folder.name) / "redis.sock")
        self.url = f"unix://{socket}"
        self._process = await asyncio.create_subprocess_exec(
            program, "--port", "0", "--unixsocket", socket, "--dir", self._folder.name,
            "--save", "", *self._options,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        assert self._process.stdout is not None
        said = b""
        async for line in self._process.stdout:
            said += line
            if b"ready to accept connections" in line.lower():
                break
        else:
            raise RuntimeError(f"redis-server did not start: {said.decode(errors='replace')}")
        client_class: Any = redis.Redis
        self._client = client_class(
            unix_socket_path=socket, decode_responses=True, single_connection_client=True
        )
        await self._client.ping()
        return self._client

    async def stop(self) -> None:
        if self._process is not None:
            await self._client.aclose()
            self._process.terminate()
            await self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()
