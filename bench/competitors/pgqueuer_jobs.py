"""pgqueuer: its queries, which its queue manager calls, too, on psycopg."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Sequence
from typing import Any

import psycopg

from bench.competitors import MissingPeer
from bench.competitors.queues import PAYLOAD, analyze
from bench.server import Server

HEARTBEAT_TIMEOUT = dt.timedelta(seconds=600)


class PgQueuerJobs:
    """One entry point and one worker. Ended jobs move to its log."""

    name = "pgqueuer"

    def __init__(self, backlog: int = 0) -> None:
        self._backlog = backlog
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def open(self, server: Server) -> None:
        try:
            from pgqueuer.queries import EntrypointExecutionParameter, Queries  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package pgqueuer ({error})") from error
        database = f"pgqueuer_{self._backlog}"
        server.create_database(database)
        self._connection = await psycopg.AsyncConnection.connect(
            server.dsn(database), autocommit=True
        )
        self._queries: Any = Queries.from_psycopg_connection(self._connection)
        await self._queries.install()
        self._entrypoints = {"index": EntrypointExecutionParameter(concurrency_limit=0)}
        self._worker = uuid.uuid4()
        await self.fill(self._backlog)
        analyze(server, database)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def fill(self, count: int) -> None:
        payload = json.dumps(PAYLOAD).encode()
        for start in range(0, count, 1000):
            size = min(1000, count - start)
            await self._queries.enqueue(["index"] * size, [payload] * size, [0] * size)

    async def claim(self, count: int) -> Sequence[Any]:
        jobs: list[Any] = await self._queries.dequeue(
            batch_size=count,
            entrypoints=self._entrypoints,
            queue_manager_id=self._worker,
            global_concurrency_limit=None,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
        )
        assert len(jobs) == count
        return jobs

    async def complete(self, claimed: Sequence[Any]) -> None:
        await self._queries.log_jobs([(job, "successful", None) for job in claimed])
