"""Locks: taken and given back, over a hundred names in turn."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import psycopg

from bench.competitors.product import Strongroom
from bench.competitors.queues import WORKER
from bench.loading import TENANT
from bench.redis import RedisServer
from bench.server import Server

NAMES = [f"document:{number}" for number in range(100)]
TTL_SECONDS = 30
RELEASE = """
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0
"""
"""Only the owner's own lock is deleted."""


class StrongroomLocks:
    """Leases with fencing tokens, durable."""

    name = "strongroom's locks"

    def __init__(self, database: str) -> None:
        self.database = database
        self._product = Strongroom(database)
        self._names = cycle(NAMES)

    async def open(self, server: Server) -> None:
        await self._product.open(server)

    async def close(self) -> None:
        await self._product.close()

    async def lock(self) -> None:
        locks, name = self._product.store.locks, next(self._names)
        held = await locks.acquire(
            tenant_id=TENANT, name=name, owner_id=WORKER, ttl_seconds=TTL_SECONDS
        )
        assert held is not None
        assert await locks.release(tenant_id=TENANT, name=name, owner_id=WORKER, token=held.token)


class AdvisoryLocks:
    """Session advisory locks of the same server: gone with the connection, in memory, unfenced."""

    name = "advisory locks"

    def __init__(self) -> None:
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._names = cycle(NAMES)

    async def open(self, server: Server) -> None:
        self._connection = await psycopg.AsyncConnection.connect(
            server.dsn("postgres"), autocommit=True, prepare_threshold=0
        )

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def lock(self) -> None:
        name = next(self._names)
        for function in ("pg_try_advisory_lock", "pg_advisory_unlock"):
            assert self._connection is not None
            cursor = await self._connection.execute(
                f"select {function}(hashtextextended(%s, 0))".encode(), (name,)
            )
            assert await cursor.fetchone() == (True,)


class RedisLocks:
    """SET NX PX, and a script that deletes the owner's own."""

    def __init__(self, *, durable: bool) -> None:
        self.name = "locks in a durable Redis" if durable else "locks in a Redis in memory"
        self._redis = RedisServer(durable=durable)
        self._names = cycle(NAMES)
        self._count = 0

    async def open(self, server: Server) -> None:  # noqa: ARG002
        self._client = await self._redis.start()
        self._release = self._client.register_script(RELEASE)

    async def close(self) -> None:
        await self._redis.stop()

    async def lock(self) -> None:
        name = next(self._names)
        self._count += 1
        token = f"{WORKER}-{self._count}"
        assert await self._client.set(name, token, nx=True, px=TTL_SECONDS * 1000)
        assert await self._release(keys=[name], args=[token]) == 1
