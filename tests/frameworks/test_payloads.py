"""What is not JSON, given to every integration: it comes back as documented, or is refused by name (B51)."""

import datetime as dt
import enum
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types
from langgraph.checkpoint.base import empty_checkpoint
from llama_index.core.llms import ChatMessage
from pydantic import BaseModel
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai_harness.step_persistence import ContinuableSnapshot
from strands.types.session import SessionAgent, SessionMessage

from strongroom.errors import InvalidArgument
from strongroom.integrations.bridge import ThreadedStore
from strongroom.integrations.claude_agent import StrongroomSessionStore
from strongroom.integrations.google_adk import StrongroomArtifactService, StrongroomSessionService
from strongroom.integrations.langchain import StrongroomByteStore
from strongroom.integrations.langgraph import StrongroomSaver, StrongroomStore
from strongroom.integrations.llama_index import StrongroomChatStore
from strongroom.integrations.openai_agents import StrongroomSession
from strongroom.integrations.pydantic_ai import StrongroomHistory, StrongroomStepStore
from strongroom.integrations.strands import StrongroomSessionRepository
from tests.servers import Database


class Colour(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int = 1


GIVEN: dict[str, Any] = {
    "bytes": b"\xff\xfe",
    "Decimal": Decimal("1.50"),
    "set": {1},
    "datetime": dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC),
    "Point": Point(),
    "Colour": Colour.RED,
    "object": object(),
}
AS_IT_WAS = {name: value for name, value in GIVEN.items() if name != "object"}
AS_JSON = {
    "Decimal": "1.50",
    "set": [1],
    "datetime": "2026-01-02T03:00:00Z",
    "Point": {"x": 1},
    "Colour": "red",
}

USER: Any = {"app_name": "app", "user_id": "ada"}


async def _openai_agents(at: dict[str, Any], name: str, value: Any) -> Any:
    session = StrongroomSession(**at, session_id=name)
    item: Any = {"role": "user", "content": [value]}
    await session.add_items([{"role": "user", "content": "fine"}, item])
    found: Any = await session.get_items()
    return found[1]["content"][0]


async def _claude_agent(at: dict[str, Any], name: str, value: Any) -> Any:
    sessions, key = StrongroomSessionStore(**at), {"project_key": "p", "session_id": name}
    entries: Any = [{"type": "user", "uuid": "1"}, {"type": "user", "uuid": "2", "x": [value]}]
    await sessions.append(key, entries)
    found: Any = await sessions.load(key)
    return found[1]["x"][0]


async def _saver(at: dict[str, Any], name: str, value: Any) -> Any:
    saver, thread = StrongroomSaver(**at), {"thread_id": name, "checkpoint_ns": ""}
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": {"fine": 1, "a": [value]},
        "channel_versions": {"fine": "1", "a": "1"},
    }
    metadata: Any = {"source": "loop", "m": [value] if name != "object" else 1}
    versions: Any = {"fine": "1", "a": "1"}
    config = await saver.aput({"configurable": thread}, checkpoint, metadata, versions)
    await saver.aput_writes(config, [("a", [value])], "task")
    found: Any = await saver.aget_tuple(config)
    assert found.metadata["m"] == found.pending_writes[0][2] == [value]
    return found.checkpoint["channel_values"]["a"][0]


async def _saver_writes(at: dict[str, Any], name: str, value: Any) -> Any:
    saver = StrongroomSaver(**at)
    thread: Any = {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": "1"}
    await saver.aput_writes({"configurable": thread}, [("fine", 1), ("a", [value])], "task")
    return value  # That it comes back is seen above.


async def _langgraph_store(at: dict[str, Any], name: str, value: Any) -> Any:
    store = StrongroomStore(**at)
    await store.aput(("n",), name, {"a": [value]})
    found: Any = await store.aget(("n",), name)
    return found.value["a"][0]


async def _adk_state(at: dict[str, Any], name: str, value: Any) -> Any:
    sessions = StrongroomSessionService(**at)
    made = await sessions.create_session(**USER, session_id=name, state={"user:k": [value]})
    delta = EventActions(state_delta={"app:k": [value]})
    await sessions.append_event(made, Event(author="model", invocation_id="i", actions=delta))
    found: Any = await sessions.get_session(**USER, session_id=name)
    assert found.state["app:k"] == found.state["user:k"]
    return found.state["user:k"][0]


async def _adk_event(at: dict[str, Any], name: str, value: Any) -> Any:
    sessions = StrongroomSessionService(**at)
    made = await sessions.get_session(**USER, session_id="s")
    made = made or await sessions.create_session(**USER, session_id="s")
    response = types.FunctionResponse(name="f", response={"k": [value]})
    content = types.Content(role="user", parts=[types.Part(function_response=response)])
    await sessions.append_event(made, Event(author="u", invocation_id="i", content=content))
    found: Any = await sessions.get_session(**USER, session_id="s")
    return found.events[-1].content.parts[0].function_response.response["k"][0]


async def _adk_artifact(at: dict[str, Any], name: str, value: Any) -> Any:
    artifacts = StrongroomArtifactService(**at)
    file: Any = {**USER, "session_id": "s", "filename": name}
    part = types.Part(text="text")
    await artifacts.save_artifact(**file, artifact=part, custom_metadata={"k": [value]})
    found: Any = await artifacts.get_artifact_version(**file)
    return found.custom_metadata["k"][0]


async def _langchain(at: dict[str, Any], name: str, value: Any) -> Any:
    store = StrongroomByteStore(**at)
    await store.amset([(f"fine-{name}", b""), (name, value)])
    return (await store.amget([name]))[0]


async def _llama_index(at: dict[str, Any], name: str, value: Any) -> Any:
    chats = StrongroomChatStore(**at)
    fine = ChatMessage(role="user", content="fine")
    said = ChatMessage(role="user", content="x", additional_kwargs={"k": [value]})
    await chats.aset_messages(name, [fine, said])
    return (await chats.aget_messages(name))[1].additional_kwargs["k"][0]


async def _pydantic_ai(at: dict[str, Any], name: str, value: Any) -> Any:
    history = StrongroomHistory(**at, session_id=name)
    messages: Any = [ModelRequest([ToolReturnPart("t", {"k": [value]}, tool_call_id="c")])]
    await history.append(messages)
    found: Any = await history.load()
    steps = StrongroomStepStore(**at)
    await steps.save_snapshot(ContinuableSnapshot(run_id=name, step_index=1, messages=messages))
    saved: Any = await steps.latest_snapshot(run_id=name)
    assert saved.messages == found
    return found[0].parts[0].content["k"][0]


async def _strands(at: dict[str, Any], name: str, value: Any) -> Any:
    sessions = StrongroomSessionRepository(**at)
    content: Any = {"role": "user", "content": [{"x": [value]}]}
    sessions.create_message(name, "a", SessionMessage(message=content, message_id=0))
    sessions.create_agent(name, SessionAgent("a", {"x": [value]}, conversation_manager_state={}))
    agent: Any = sessions.read_agent(name, "a")
    message: Any = sessions.read_message(name, "a", 0)
    assert agent.state["x"] == message.message["content"][0]["x"]
    return agent.state["x"][0]


Call = Callable[[dict[str, Any], str, Any], Awaitable[Any]]

# What comes back of what is given, and where what is refused is said to be. All else is refused.
INTEGRATIONS: list[tuple[Call, dict[str, Any], str]] = [
    (_openai_agents, {}, "content.content[0]"),
    (_claude_agent, {}, "content.x[0]"),
    (_saver, AS_IT_WAS, "channel_values.a[0]"),
    (_saver_writes, AS_IT_WAS, "writes[1][0]"),
    (_langgraph_store, {}, "content.a[0]"),
    (_adk_state, AS_JSON, "state.user:k[0]"),
    (
        _adk_event,
        {**AS_JSON, "bytes": "__4="},
        "event.content.parts[0].function_response.response.k[0]",
    ),
    (_adk_artifact, {}, "content.custom_metadata.k[0]"),
    (_langchain, {"bytes": b"\xff\xfe"}, "data"),
    (_llama_index, {**AS_JSON, "bytes": "//4="}, "message.additional_kwargs.k[0]"),
    (_pydantic_ai, {**AS_JSON, "bytes": "__4="}, "messages[0].parts[0].content.k[0]"),
    (_strands, {"bytes": b"\xff\xfe"}, "content.message.content[0].x[0]"),
]


@pytest.mark.parametrize(
    ("call", "kept", "path"), INTEGRATIONS, ids=[one[0].__name__[1:] for one in INTEGRATIONS]
)
async def test_what_is_not_json_comes_back_or_is_refused_b51(
    call: Call,
    kept: dict[str, Any],
    path: str,
    threaded: ThreadedStore,
    thread_tenant: str,
    place: Database,
) -> None:
    at = {"store": threaded, "tenant_id": thread_tenant}

    def stored() -> Any:
        with place.connect() as connection:
            return connection.execute(
                "select count(*), count(distinct session_id), sum(version)"
                " from strongroom.framework_records where tenant_id = %s",
                [thread_tenant],
            ).fetchone()

    for name, value in GIVEN.items():
        if name in kept:
            assert await call(at, name, value) == kept[name], name
            continue
        before = stored()
        with pytest.raises(InvalidArgument) as refused:
            await call(at, name, value)
        assert refused.value.detail["path"] == path, name
        assert stored() == before, name
