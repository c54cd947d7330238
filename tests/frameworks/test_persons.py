"""Whatever an integration offers, nothing of one person's reaches another of the same tenant."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from claude_agent_sdk.types import SessionKey
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.base import PutOp
from llama_index.core.base.llms.types import ChatMessage
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai_harness.step_persistence import (
    ContinuableSnapshot,
    RunRecord,
    StepEvent,
    ToolEffectRecord,
)

from strongroom.client import Strongroom
from strongroom.errors import AlreadyExists
from strongroom.integrations.claude_agent import StrongroomSessionStore
from strongroom.integrations.langchain import StrongroomByteStore
from strongroom.integrations.langgraph import StrongroomSaver, StrongroomStore
from strongroom.integrations.llama_index import StrongroomChatStore
from strongroom.integrations.openai_agents import StrongroomSession
from strongroom.integrations.pydantic_ai import StrongroomHistory, StrongroomStepStore

Call = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class Offer:
    """What an integration offers.

    Attributes:
        framework: where it keeps what it is given.
        fill: makes what is of a person.
        named: calls that name what was made: another person's are refused.
        listed: calls that list: another person's are left out; what a list has when it is empty.
        beside: public names that touch nobody's records.
    """

    framework: str
    fill: Call
    named: dict[str, Call]
    listed: dict[str, tuple[Call, Any]]
    beside: Iterable[str] = ()


async def _all(items: Any) -> list[Any]:
    return [item async for item in items]


def _openai(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomSession(store, tenant_id=tenant_id, session_id="s", principal_id=person)
    item: Any = {"role": "user", "content": "secret"}
    return made, Offer(
        framework="openai_agents",
        fill=lambda: made.add_items([item]),
        named={
            "get_items": made.get_items,
            "add_items": lambda: made.add_items([item]),
            "pop_item": made.pop_item,
            "clear_session": made.clear_session,
        },
        listed={},
    )


def _history(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomHistory(store, tenant_id=tenant_id, session_id="s", principal_id=person)
    said = [ModelRequest([UserPromptPart("secret")])]
    return made, Offer(
        framework="pydantic_ai",
        fill=lambda: made.append(said),
        named={"load": made.load, "append": lambda: made.append(said)},
        listed={},
    )


def _steps(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomStepStore(store, tenant_id=tenant_id, principal_id=person)
    run = RunRecord(run_id="r", conversation_id="talk", parent_run_id="p")
    event = StepEvent(run_id="r", kind="run_started", step_index=0)
    snapshot = ContinuableSnapshot(
        run_id="r", step_index=0, messages=[ModelRequest([UserPromptPart("secret")])]
    )
    effect = ToolEffectRecord(
        run_id="r",
        tool_call_id="c",
        tool_name="t",
        status="started",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )

    async def fill() -> None:
        await made.register_run(run)
        await made.append_event(event)
        await made.save_snapshot(snapshot)
        await made.record_tool_effect(effect)

    return made, Offer(
        framework="pydantic_ai_steps",
        fill=fill,
        named={
            "register_run": lambda: made.register_run(run),
            "get_run": lambda: made.get_run(run_id="r"),
            "delete_run": lambda: made.delete_run(run_id="r"),
            "append_event": lambda: made.append_event(event),
            "list_events": lambda: made.list_events(run_id="r"),
            "save_snapshot": lambda: made.save_snapshot(snapshot),
            "latest_snapshot": lambda: made.latest_snapshot(run_id="r"),
            "list_snapshots": lambda: made.list_snapshots(run_id="r"),
            "record_tool_effect": lambda: made.record_tool_effect(effect),
            "get_tool_effect": lambda: made.get_tool_effect(run_id="r", tool_call_id="c"),
            "list_unresolved_tool_effects": lambda: made.list_unresolved_tool_effects(run_id="r"),
        },
        listed={"list_runs": (made.list_runs, [])},
    )


def _chat(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomChatStore(store, tenant_id=tenant_id, principal_id=person)
    said = ChatMessage(role="user", content="secret")
    return made, Offer(
        framework="llama_index",
        fill=lambda: made.async_add_message("k", said),
        named={
            "async_add_message": lambda: made.async_add_message("k", said),
            "aset_messages": lambda: made.aset_messages("k", [said, said]),
            "aget_messages": lambda: made.aget_messages("k"),
            "adelete_messages": lambda: made.adelete_messages("k"),
            "adelete_message": lambda: made.adelete_message("k", 0),
            "adelete_last_message": lambda: made.adelete_last_message("k"),
        },
        listed={"aget_keys": (made.aget_keys, [])},
        beside={"class_name", "add_message"},
    )


def _claude(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomSessionStore(store, tenant_id=tenant_id, principal_id=person)
    key: SessionKey = {"project_key": "p", "session_id": "s"}
    below: SessionKey = {**key, "subpath": "agents/one"}
    entries: Any = [{"type": "user", "uuid": "u", "message": {"content": "secret"}}]

    async def fill() -> None:
        await made.append(key, entries)
        await made.append(below, entries)

    return made, Offer(
        framework="claude_agent",
        fill=fill,
        named={
            "append": lambda: made.append(key, entries),
            "load": lambda: made.load(below),
            "delete": lambda: made.delete(key),
        },
        listed={
            "list_sessions": (lambda: made.list_sessions("p"), []),
            "list_session_summaries": (lambda: made.list_session_summaries("p"), []),
            "list_subkeys": (
                lambda: made.list_subkeys({"project_key": "p", "session_id": "s"}),
                [],
            ),
        },
    )


def _bytes(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomByteStore(store, tenant_id=tenant_id, principal_id=person)
    return made, Offer(
        framework="langchain",
        fill=lambda: made.amset([("k", b"secret")]),
        named={
            "amset": lambda: made.amset([("k", b"mine")]),
            "amget": lambda: made.amget(["k"]),
            "amdelete": lambda: made.amdelete(["k"]),
            "ayield_keys": lambda: _all(made.ayield_keys()),
        },
        listed={},
    )


def _values(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomStore(store, tenant_id=tenant_id, principal_id=person)
    namespace = ("shared", "theirs")
    return made, Offer(
        framework="langgraph_store",
        fill=lambda: made.aput(namespace, "k", {"secret": 1}),
        named={
            "aput": lambda: made.aput(namespace, "k", {"mine": 1}),
            "aget": lambda: made.aget(namespace, "k"),
            "adelete": lambda: made.adelete(namespace, "k"),
            "abatch": lambda: made.abatch([PutOp(namespace, "new", {"mine": 1})]),
        },
        listed={
            "asearch": (lambda: made.asearch(("shared",)), []),
            "alist_namespaces": (lambda: made.alist_namespaces(prefix=("shared",)), []),
        },
    )


def _saver(store: Strongroom, tenant_id: str, person: str | None) -> tuple[Any, Offer]:
    made = StrongroomSaver(store, tenant_id=tenant_id, principal_id=person)
    thread: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    at: Any = {"configurable": {**thread["configurable"], "checkpoint_id": "c"}}

    async def put() -> None:
        await made.aput(thread, {**empty_checkpoint(), "id": "c"}, {"run_id": "r"}, {})

    async def fill() -> None:
        await put()
        await made.aput_writes(at, [("x", "secret")], "task")

    return made, Offer(
        framework="langgraph",
        fill=fill,
        named={
            "aput": put,
            "aput_writes": lambda: made.aput_writes(at, [("x", "mine")], "task"),
            "aget": lambda: made.aget(thread),
            "aget_tuple": lambda: made.aget_tuple(thread),
            "alist": lambda: _all(made.alist(thread)),
            "alist_heads": lambda: made.alist_heads(thread),
            "adelete_thread": lambda: made.adelete_thread("t"),
            "adelete_for_runs": lambda: made.adelete_for_runs(["r"]),
            "acopy_thread": lambda: made.acopy_thread("t", "mine"),
            "aprune": lambda: made.aprune(["t"]),
        },
        listed={"alist of all": (lambda: _all(made.alist(None)), [])},
        beside={"get_next_version", "with_allowlist", "aget_delta_channel_history"},
    )


OFFERS = [_openai, _history, _steps, _chat, _claude, _bytes, _values, _saver]


def _public(made: Any) -> set[str]:
    """Return the names of what is asynchronous; blocking methods call those."""
    return {
        name
        for name in dir(made)
        if not name.startswith("_")
        and (
            inspect.iscoroutinefunction(method := inspect.getattr_static(made, name, None))
            or inspect.isasyncgenfunction(method)
        )
    }


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.__name__.strip("_"))
@pytest.mark.parametrize("owner", ["ada", None])
async def test_another_person_reaches_nothing(
    store: Strongroom,
    tenant_id: str,
    owner: str | None,
    offer: Callable[[Strongroom, str, str | None], tuple[Any, Offer]],
) -> None:
    _, theirs = offer(store, tenant_id, owner)
    await theirs.fill()
    frameworks = store.frameworks
    where: dict[str, Any] = {"tenant_id": tenant_id, "framework": theirs.framework}

    async def everything() -> list[Any]:
        sessions = (await frameworks.list_sessions(**where, limit=500)).items
        kept: list[Any] = [sessions]
        for collection in ("items", "events", "values", "checkpoints", "writes", "run", "effects"):
            kept.append(await frameworks.search(**where, collection=collection, limit=500))
            for one in sessions:
                at = {**where, "path": one.path}
                kept.append((await frameworks.list(**at, collection=collection)).items)
        return kept

    before = await everything()
    assert before[0], "something is kept"
    other, eves = offer(store, tenant_id, "eve")
    called = {name.split()[0] for name in (*eves.named, *eves.listed)}
    assert _public(other) - called <= {*eves.beside}, "every call is tried"
    for name, call in eves.named.items():
        with pytest.raises(AlreadyExists) as caught:
            await call()
        assert caught.value.detail["path"] in {"principal_id", "record.run_id"}, name
    for name, (call, nothing) in eves.listed.items():
        assert await call() == nothing, name
    assert await everything() == before
    for name, (call, nothing) in theirs.listed.items():
        assert await call() != nothing, name
