"""Counting round trips: a proxy on a unix socket that counts turns from question to answer."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from bench.server import Server


@dataclass
class Turns:
    """Turns seen so far; a turn begins when the client speaks after the server spoke."""

    through: Server
    """The same server, reached by way of the proxy."""
    count: int = 0

    async def during(self, operation: Callable[[], Awaitable[object]], times: int = 20) -> float:
        """Round trips per operation, once statements are prepared."""
        for _ in range(10):
            await operation()
        before = self.count
        for _ in range(times):
            await operation()
        return (self.count - before) / times


@asynccontextmanager
async def counting_proxy(server: Server) -> AsyncIterator[Turns]:
    """Forward everything to the server, and count."""
    with tempfile.TemporaryDirectory(prefix="strongroom-turns-") as folder:
        turns = Turns(replace(server, socket_dir=folder))
        target = f"{server.socket_dir}/.s.PGSQL.{server.port}"

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            server_reader, server_writer = await asyncio.open_unix_connection(target)
            server_spoke = True

            async def up() -> None:
                nonlocal server_spoke
                while data := await reader.read(1 << 16):
                    if server_spoke:
                        turns.count += 1
                        server_spoke = False
                    server_writer.write(data)
                    await server_writer.drain()
                server_writer.close()

            async def down() -> None:
                nonlocal server_spoke
                while data := await server_reader.read(1 << 16):
                    server_spoke = True
                    writer.write(data)
                    await writer.drain()
                writer.close()

            await asyncio.gather(up(), down(), return_exceptions=True)

        listener = await asyncio.start_unix_server(serve, f"{folder}/.s.PGSQL.{server.port}")
        try:
            yield turns
        finally:
            listener.close()
