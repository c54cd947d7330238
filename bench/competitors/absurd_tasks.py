"""absurd: tasks with one empty handler, executed by its own client; the schema is absurdctl's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import psycopg

from bench.competitors import MissingPeer
from bench.competitors.queues import LEASE_SECONDS, PAYLOAD, WORKER, analyze
from bench.server import Server

QUEUE = "bench"


class AbsurdTasks:
    """One queue and one worker."""

    name = "absurd"

    def __init__(self, backlog: int = 0) -> None:
        self._backlog = backlog
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def open(self, server: Server) -> None:
        try:
            from absurd_sdk import AsyncAbsurd  # noqa: PLC0415
            from absurdctl import (  # type: ignore[import-untyped] # noqa: PLC0415
                BUNDLED_SCHEMA_SQL,
            )
        except ImportError as error:
            raise MissingPeer(f"the packages absurd-sdk and absurdctl ({error})") from error
        database = f"absurd_{self._backlog}"
        server.create_database(database)
        with server.connect(database) as connection:
            connection.execute(BUNDLED_SCHEMA_SQL.encode())
        self._connection = await psycopg.AsyncConnection.connect(
            server.dsn(database), autocommit=True
        )
        self._client: Any = AsyncAbsurd(self._connection, queue_name=QUEUE)

        @self._client.register_task("index")
        async def index(_params: Any, _context: Any) -> None:
            """Do nothing: what the queue costs is measured."""

        await self._client.create_queue()
        with server.connect(database) as connection:
            connection.execute(
                "select count(*) from generate_series(1, %s),"
                " lateral absurd.spawn_task(%s, 'index', %s, '{}')",
                (self._backlog, QUEUE, json.dumps(PAYLOAD)),
            )
        analyze(server, database)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def fill(self, count: int) -> None:
        for _ in range(count):
            await self._client.spawn("index", PAYLOAD)

    async def claim(self, count: int) -> Sequence[Any]:
        tasks: list[Any] = await self._client.claim_tasks(
            batch_size=count, claim_timeout=LEASE_SECONDS, worker_id=WORKER
        )
        assert len(tasks) == count
        return tasks

    async def complete(self, claimed: Sequence[Any]) -> None:
        """Execute them, as its ``work_batch`` does with what it has claimed."""
        for task in claimed:
            await self._client._execute_task(task, LEASE_SECONDS)  # noqa: SLF001
