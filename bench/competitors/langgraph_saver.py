"""LangGraph's ``AsyncPostgresSaver``: what storing one more message costs at a given history.

Two ways are measured, both on the saver's own kind of connection (autocommit, prepared, pipelined):

- ``append``: only the saver's writes of one graph step: ``aput_writes`` of the new message and
  ``aput`` of the checkpoint whose ``messages`` channel got it. Nothing is read.
- ``update_state``: ``graph.aupdate_state``, the public call that appends a message to a thread
  (it reads the latest state first);
- ``update_state_delta``: the same with the beta ``DeltaChannel``, which stores each write instead
  of the whole list.

Every call starts from the same checkpoint, so the history stays as long as it was.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Annotated, Any, TypedDict

from bench.competitors import MESSAGE_TEXT, MissingPeer
from bench.server import Server

DATABASE = "langgraph"


class LangGraphSaver:
    """One connection; a conversation is one thread with a fixed number of messages."""

    name = "langgraph"

    def __init__(self, history: int) -> None:
        self._history = history
        self._stack = AsyncExitStack()

    async def open(self, server: Server) -> None:
        try:
            from langchain_core.messages import HumanMessage  # noqa: PLC0415
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415
            from langgraph.graph import MessagesState  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"langgraph and langgraph-checkpoint-postgres: {error}") from error
        server.create_database(DATABASE)
        saver = AsyncPostgresSaver.from_conn_string(server.dsn(DATABASE))
        self._saver: Any = await self._stack.enter_async_context(saver)
        await self._saver.setup()
        self._message_class = HumanMessage

        self._graph = self._compile(MessagesState)
        self._delta_graph = self._compile(_delta_state())
        self._threads: dict[str, Any] = {}

    def _compile(self, state: Any) -> Any:
        """The smallest graph with a list of messages: one step."""
        from langgraph.graph import END, START, StateGraph  # noqa: PLC0415

        async def reply(_state: Any) -> dict[str, Any]:
            return {"messages": []}

        builder: Any = StateGraph(state)
        builder.add_node("reply", reply)
        builder.add_edge(START, "reply")
        builder.add_edge("reply", END)
        return builder.compile(checkpointer=self._saver)

    async def _thread(self, thread_id: str, graph: Any) -> Any:
        """The thread's saved checkpoint, which holds the whole history."""
        if thread_id not in self._threads:
            messages = [self._message() for _ in range(self._history)]
            await graph.ainvoke({"messages": messages}, _config(thread_id))
            state = await graph.aget_state(_config(thread_id))
            assert len(state.values["messages"]) == self._history
            self._threads[thread_id] = await self._saver.aget_tuple(_config(thread_id))
        return self._threads[thread_id]

    def _message(self) -> Any:
        return self._message_class(content=MESSAGE_TEXT)

    async def append(self, conversation: int, count: int) -> None:
        """The writes of one graph step that adds the messages."""
        saved = await self._thread(f"c-{conversation}", self._graph)
        added = [self._message() for _ in range(count)]
        await self._saver.aput_writes(saved.config, [("messages", added)], task_id="reply")
        before = saved.checkpoint
        version = self._saver.get_next_version(before["channel_versions"]["messages"], None)
        checkpoint = {
            **before,
            "id": _next_id(),
            "channel_values": {
                **before["channel_values"],
                "messages": [*before["channel_values"]["messages"], *added],
            },
            "channel_versions": {**before["channel_versions"], "messages": version},
        }
        metadata = {"source": "loop", "step": saved.metadata["step"] + 1, "parents": {}}
        await self._saver.aput(saved.config, checkpoint, metadata, {"messages": version})

    async def update_state(self, conversation: int) -> None:
        """Append one message through the graph's public call."""
        await self._update(f"c-{conversation}", self._graph)

    async def update_state_delta(self, conversation: int) -> None:
        """The same with the channel that keeps only the changes."""
        await self._update(f"d-{conversation}", self._delta_graph)

    async def _update(self, thread_id: str, graph: Any) -> None:
        saved = await self._thread(thread_id, graph)
        await graph.aupdate_state(saved.config, {"messages": [self._message()]}, as_node="reply")

    async def page(self, conversation: int, limit: int) -> list[Any]:
        """There is no page: the state comes whole, and the tail is cut from it."""
        thread_id = f"c-{conversation}"
        await self._thread(thread_id, self._graph)
        saved = await self._saver.aget_tuple(_config(thread_id))
        messages: list[Any] = saved.checkpoint["channel_values"]["messages"][-limit:]
        assert len(messages) == limit
        return messages

    async def close(self) -> None:
        await self._stack.aclose()


def _config(thread_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def _delta_state() -> Any:
    from langgraph.channels.delta import DeltaChannel  # noqa: PLC0415
    from langgraph.graph.message import add_messages  # noqa: PLC0415

    def extend(state: Any, writes: Any) -> Any:
        for write in writes:
            state = add_messages(state, write)
        return state

    messages = Annotated[list[Any], DeltaChannel(extend)]
    return TypedDict("DeltaState", {"messages": messages})  # type: ignore[operator]


def _next_id() -> str:
    from langgraph.checkpoint.base.id import uuid6  # noqa: PLC0415

    return str(uuid6())
