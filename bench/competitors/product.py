"""strongroom through its own bindings, as a host that row security binds."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

import strongroom
from bench.competitors import MESSAGE_TEXT
from bench.loading import HOST, TENANT, load, own_conversation, shared_conversation
from bench.server import Server
from strongroom import NewMessage, TextPart


@dataclass(frozen=True)
class Statement:
    """A statement of the bindings, for connections of the benchmark's own."""

    text: sql.Composed
    arguments: list[object]
    limit: int


class PlainConnection:
    """A warm connection that never prepares: what a host behind a transaction pooler has."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def run(self, statement: Statement) -> None:
        cursor = await self._connection.execute(statement.text, statement.arguments, prepare=False)
        row = await cursor.fetchone()
        assert row is not None
        assert row[0].count('"position"') == statement.limit

    async def buffers(self, statement: Statement) -> int:
        """Buffers that one execution touches, those of the statements in its functions included."""
        explain = sql.SQL("explain (analyze, buffers, format json) ") + statement.text
        await self.run(statement)
        cursor = await self._connection.execute(explain, statement.arguments, prepare=False)
        row = await cursor.fetchone()
        assert row is not None
        plan = row[0][0]["Plan"]
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


class Strongroom:
    """The conversations of the measured tenant, in one database."""

    name = "strongroom"

    def __init__(self, database: str, rows: int = 0, read_only: tuple[int, ...] = ()) -> None:
        self.database = database
        self._rows = rows
        self._read_only = read_only
        self._stack = AsyncExitStack()
        self.options: dict[str, Any] = {}
        """More of ``connect``, such as adapters."""

    async def open(self, server: Server) -> None:
        """Install the schema the way a host does, load, and connect as a host."""
        server.create_database(self.database)
        await self.install(server)
        with server.connect(self.database) as connection:
            known = connection.execute("select from pg_roles where rolname = %s", (HOST,))
            if known.fetchone() is None:
                create = sql.SQL("create role {} login in role strongroom_host")
                connection.execute(create.format(sql.Identifier(HOST)))
        load(server, self.database, self._rows, self._read_only)
        await self.connect(server)
        self.host = await self._plain(server, HOST)
        self.superuser = await self._plain(server, server.superuser)

    async def install(self, server: Server) -> None:
        """Make the schema in the new database."""
        async with strongroom.connect(server.dsn(self.database), schema_mode="auto"):
            pass

    async def connect(self, server: Server, clients: int = 1) -> None:
        """Open the store as the host role, with one connection per client."""
        self.store = await self._stack.enter_async_context(
            strongroom.connect(
                server.dsn(self.database, HOST),
                schema_mode="off",
                pool_min=clients,
                pool_max=clients,
                **self.options,
            )
        )

    async def _plain(self, server: Server, user: str) -> PlainConnection:
        connection = await psycopg.AsyncConnection.connect(
            server.dsn(self.database, user), autocommit=True, prepare_threshold=None
        )
        self._stack.push_async_callback(connection.close)
        return PlainConnection(connection)

    async def append(self, conversation: int, count: int) -> None:
        done = await self.store.messages.append(
            tenant_id=TENANT,
            conversation_id=own_conversation(conversation),
            messages=[
                NewMessage(role="user", parts=[TextPart(text=MESSAGE_TEXT)]) for _ in range(count)
            ],
        )
        assert done.items[-1].outcome == "inserted"

    async def page(self, conversation: int, limit: int) -> tuple[strongroom.Message, ...]:
        page = await self.store.messages.latest(
            tenant_id=TENANT, conversation_id=shared_conversation(conversation), limit=limit
        )
        assert len(page.items) == limit
        return page.items

    async def statement(self, messages: int, limit: int, *, behind: int = 0) -> Statement:
        """The bindings' statement for the last messages, or for those before the newest ``behind``."""
        conversation = shared_conversation(messages)
        arguments: dict[str, object] = {
            "p_tenant_id": TENANT,
            "p_conversation_id": conversation,
            "p_limit": limit,
        }
        if behind:
            arguments["p_before"] = await self._cursor(conversation, messages - behind)
        else:
            arguments["p_latest"] = True
        named = sql.SQL(", ").join(
            sql.SQL("{} => %s").format(sql.Identifier(name)) for name in arguments
        )
        call = sql.SQL(
            "select coalesce(json_agg(r), '[]')::text from strongroom.list_messages({}) as r"
        )
        return Statement(call.format(named), list(arguments.values()), limit)

    async def _cursor(self, conversation: str, position: int) -> str:
        """The cursor of a message in the middle, got by paging there."""
        after = None
        for _ in range(position // 500):
            page = await self.store.messages.list(
                tenant_id=TENANT, conversation_id=conversation, limit=500, after=after
            )
            after = page.next_cursor
        assert after is not None
        assert page.items[-1].position == position
        return after

    async def close(self) -> None:
        await self._stack.aclose()
