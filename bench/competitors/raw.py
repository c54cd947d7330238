"""The floor: plain psycopg on strongroom's own table, without any of strongroom's promises.

It writes positions that it counts itself, to conversations that nobody else writes to, as a
superuser whom no row security binds. The statements are prepared.
"""

from __future__ import annotations

from typing import Any

import psycopg
import uuid_utils
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from bench.competitors import MESSAGE_TEXT
from bench.loading import CLIENTS, TENANT, raw_conversation, shared_conversation
from bench.server import Server
from strongroom.models import Message

INSERT = """
insert into strongroom.messages (tenant_id, conversation_id, position, id, role, parts)
values (%s, %s, %s, %s, 'user', %s)
"""
SELECT = """
select tenant_id, conversation_id, position, id, role, parts, author_id, run_id, turn, metadata,
    forked_from_id, created_at
from strongroom.messages
where tenant_id = %s and conversation_id = %s
order by position desc
limit %s
"""
MESSAGES = TypeAdapter(list[Message])


class RawPsycopg:
    """One connection per conversation that is written to."""

    name = "raw psycopg"

    def __init__(self, database: str) -> None:
        self._database = database
        self._connections: list[psycopg.AsyncConnection[Any]] = []
        self._positions = [0] * CLIENTS

    async def open(self, server: Server) -> None:
        for _ in range(CLIENTS):
            connection = await psycopg.AsyncConnection.connect(
                server.dsn(self._database), autocommit=True, prepare_threshold=0
            )
            self._connections.append(connection)

    def _row(self, conversation: int) -> tuple[object, ...]:
        self._positions[conversation] += 1
        parts = [{"type": "text", "schema_version": 1, "text": MESSAGE_TEXT}]
        return (
            TENANT,
            raw_conversation(conversation),
            self._positions[conversation],
            str(uuid_utils.uuid7()),
            Jsonb(parts),
        )

    async def append(self, conversation: int, count: int) -> None:
        connection = self._connections[conversation]
        if count == 1:
            await connection.execute(INSERT, self._row(conversation))
            return
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(INSERT, [self._row(conversation) for _ in range(count)])

    async def page(self, conversation: int, limit: int) -> list[Message]:
        """Rows as dicts, validated as the models that strongroom returns, oldest first."""
        async with self._connections[0].cursor(row_factory=dict_row) as cursor:
            await cursor.execute(SELECT, (TENANT, shared_conversation(conversation), limit))
            rows = await cursor.fetchall()
        messages = MESSAGES.validate_python(rows[::-1])
        assert len(messages) == limit
        return messages

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()
