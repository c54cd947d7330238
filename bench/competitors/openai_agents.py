"""OpenAI Agents' ``SQLAlchemySession`` on PostgreSQL through asyncpg, as its documentation shows it."""

from __future__ import annotations

from typing import Any

from bench.competitors import MESSAGE_TEXT, MissingPeer
from bench.server import Server

DATABASE = "openai_agents"


class OpenAISessions:
    """One engine with a warm pool; a conversation is one session."""

    name = "openai-agents"

    def __init__(self, rows: int, page_conversation: int, page_messages: int) -> None:
        self._rows = rows
        self._deep = (page_conversation, page_messages)
        self._engine: Any = None
        self._sessions: dict[int, Any] = {}

    async def open(self, server: Server) -> None:
        self.connect(server)
        server.create_database(DATABASE)
        await self._session(0).add_items([_item()])
        self._load(server)

    def connect(self, server: Server) -> None:
        """Make the engine; it connects when it is first used."""
        try:
            import asyncpg  # type: ignore[import-untyped]  # noqa: F401, PLC0415
            from agents.extensions.memory import SQLAlchemySession  # noqa: PLC0415
            from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"openai-agents[sqlalchemy] and asyncpg: {error}") from error
        url = server.dsn(DATABASE).replace("postgresql://", "postgresql+asyncpg://")
        self._engine = create_async_engine(url, pool_size=10)
        self._session_class = SQLAlchemySession

    def _load(self, server: Server) -> None:
        """As many rows as strongroom's table has: 200 in a session, and one deep session."""
        deep, messages = self._deep
        with server.connect(DATABASE) as connection:
            connection.execute(
                "insert into agent_sessions (session_id)"
                " select 'load-' || g from generate_series(0, %s) g"
                " union all select 'c-' || %s",
                (self._rows // 200, deep),
            )
            data = '{"role":"user","content":"' + MESSAGE_TEXT + '"}'
            connection.execute(
                "insert into agent_messages (session_id, message_data, created_at)"
                " select 'load-' || g / 200, %s, now() + g * interval '1 ms'"
                " from generate_series(0, %s - 1) g",
                (data, self._rows),
            )
            connection.execute(
                "insert into agent_messages (session_id, message_data, created_at)"
                " select 'c-' || %s, %s, now() + g * interval '1 ms'"
                " from generate_series(1, %s) g",
                (deep, data, messages),
            )
            connection.execute("vacuum (analyze) agent_messages")
            connection.execute("vacuum (analyze) agent_sessions")

    def _session(self, conversation: int) -> Any:
        if conversation not in self._sessions:
            self._sessions[conversation] = self._session_class(
                f"c-{conversation}", engine=self._engine, create_tables=not self._sessions
            )
        return self._sessions[conversation]

    async def append(self, conversation: int, count: int) -> None:
        await self._session(conversation).add_items([_item() for _ in range(count)])

    async def page(self, conversation: int, limit: int) -> list[Any]:
        items: list[Any] = await self._session(conversation).get_items(limit=limit)
        assert len(items) == limit
        return items

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.dispose()


def _item() -> dict[str, str]:
    return {"role": "user", "content": MESSAGE_TEXT}
