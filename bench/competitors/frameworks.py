"""The integrations of agent frameworks beside the frameworks' own stores on PostgreSQL.

The same calls on both sides: a session of the OpenAI Agents SDK, and a saver of LangGraph, each at a given
number of messages.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from bench.competitors import MESSAGE_TEXT, MissingPeer
from bench.competitors.product import Strongroom
from bench.loading import TENANT
from bench.server import Server

MESSAGES = (10, 100, 1_000)
LISTED = 20
LIMIT = 50


class Sessions:
    """Sessions of the OpenAI Agents SDK: one to read, one to write, for each number of messages."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._made: dict[str, Any] = {}

    def make(self, session_id: str) -> Any:
        raise NotImplementedError

    async def fill(self) -> None:
        for count in MESSAGES:
            for kind in ("read", "write"):
                self._made[f"{kind}-{count}"] = session = self.make(f"{kind}-{count}")
                await session.add_items([_item() for _ in range(count)])

    async def append(self, count: int, items: int) -> None:
        await self._made[f"write-{count}"].add_items([_item() for _ in range(items)])

    async def page(self, count: int) -> None:
        limit = min(count, LIMIT)
        items = await self._made[f"read-{count}"].get_items(limit=limit)
        assert len(items) == limit


class StrongroomSessions(Sessions):
    """``StrongroomSession``, as a host that row security binds."""

    def __init__(self) -> None:
        super().__init__("strongroom's sessions")
        self._product = Strongroom("strongroom_frameworks")

    def make(self, session_id: str) -> Any:
        return self._class(self._product.store, tenant_id=TENANT, session_id=session_id)

    async def open(self, server: Server) -> None:
        from strongroom.integrations.openai_agents import StrongroomSession  # noqa: PLC0415

        self._class = StrongroomSession
        await self._product.open(server)
        await self.fill()

    async def close(self) -> None:
        await self._product.close()


class OpenAIOwnSessions(Sessions):
    """``SQLAlchemySession`` through asyncpg."""

    def __init__(self) -> None:
        super().__init__("openai-agents' sessions")
        self._first = True

    def make(self, session_id: str) -> Any:
        first, self._first = self._first, False
        return self._class(session_id, engine=self._engine, create_tables=first)

    async def open(self, server: Server) -> None:
        try:
            from agents.extensions.memory import SQLAlchemySession  # noqa: PLC0415
            from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"openai-agents[sqlalchemy] and asyncpg: {error}") from error
        server.create_database("openai_agents_sizes")
        url = server.dsn("openai_agents_sizes").replace("postgresql://", "postgresql+asyncpg://")
        self._engine: Any = create_async_engine(url, pool_size=10)
        self._class = SQLAlchemySession
        await self.fill()

    async def close(self) -> None:
        await self._engine.dispose()


class Savers:
    """A saver of LangGraph: for each number of messages a thread of 20 checkpoints."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stack = AsyncExitStack()
        self.saver: Any = None
        self._latest: dict[int, Any] = {}

    async def fill(self) -> None:
        from langchain_core.messages import HumanMessage  # noqa: PLC0415
        from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415

        self._message = HumanMessage(content=MESSAGE_TEXT)
        self._empty = empty_checkpoint
        for count in MESSAGES:
            config = _config(f"read-{count}")
            for _ in range(LISTED):
                config = await self._put(config, count)
            self._latest[count] = await self._put(_config(f"write-{count}"), count)

    async def _put(self, config: Any, count: int) -> Any:
        version = self.saver.get_next_version(None, None)
        checkpoint = {
            **self._empty(),
            "channel_values": {"messages": [self._message] * count},
            "channel_versions": {"messages": version},
        }
        metadata = {"source": "loop", "step": 1, "parents": {}}
        return await self.saver.aput(config, checkpoint, metadata, {"messages": version})

    async def put(self, count: int) -> None:
        """The writes of one step that adds a message; the history stays as long as it was."""
        base = self._latest[count]
        await self.saver.aput_writes(base, [("messages", [self._message])], task_id="reply")
        await self._put(base, count)

    async def get(self, count: int) -> None:
        found = await self.saver.aget_tuple(_config(f"read-{count}"))
        assert len(found.checkpoint["channel_values"]["messages"]) == count

    async def list(self, count: int) -> None:
        found = [one async for one in self.saver.alist(_config(f"read-{count}"), limit=LISTED)]
        assert len(found) == LISTED

    async def close(self) -> None:
        await self._stack.aclose()


class StrongroomSavers(Savers):
    """``StrongroomSaver``, as a host that row security binds."""

    def __init__(self) -> None:
        super().__init__("strongroom's saver")
        self._product = Strongroom("strongroom_savers")

    async def open(self, server: Server) -> None:
        from strongroom.integrations.langgraph import StrongroomSaver  # noqa: PLC0415

        await self._product.open(server)
        self._stack.push_async_callback(self._product.close)
        self.saver = StrongroomSaver(self._product.store, tenant_id=TENANT)
        await self.fill()


class LangGraphSavers(Savers):
    """``AsyncPostgresSaver`` on its own kind of connection."""

    def __init__(self) -> None:
        super().__init__("langgraph's saver")

    async def open(self, server: Server) -> None:
        try:
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"langgraph-checkpoint-postgres: {error}") from error
        server.create_database("langgraph_sizes")
        made = AsyncPostgresSaver.from_conn_string(server.dsn("langgraph_sizes"))
        self.saver = await self._stack.enter_async_context(made)
        await self.saver.setup()
        await self.fill()


def _config(thread_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _item() -> dict[str, str]:
    return {"role": "user", "content": MESSAGE_TEXT}
