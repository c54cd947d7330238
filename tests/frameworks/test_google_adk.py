"""Google ADK's services: sessions with scoped state, memory, artifacts, and who may."""

import asyncio
from typing import Any

import pytest
from examples.google_adk import program
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.genai import types

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import AlreadyExists, InvalidArgument, InvalidText, NotFound
from strongroom.integrations.google_adk import (
    StrongroomArtifactService,
    StrongroomMemoryService,
    StrongroomSessionService,
)
from tests.servers import Database

AT: Any = {"app_name": "app", "user_id": "ada"}


def _event(text: str, author: str = "user", **fields: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(author=author, invocation_id="i", content=content, **fields)


def _changing(**state: Any) -> Event:
    return _event("change", actions=EventActions(state_delta=state))


@pytest.fixture
def sessions(store: Strongroom, tenant_id: str) -> StrongroomSessionService:
    return StrongroomSessionService(store, tenant_id=tenant_id)


async def _get(sessions: StrongroomSessionService, **more: Any) -> Session:
    found = await sessions.get_session(**AT, session_id="s", **more)
    assert found is not None
    return found


async def test_events_keep_their_order_b01_b09(sessions: StrongroomSessionService) -> None:
    session = await sessions.create_session(**AT, session_id="s")
    events = [_event(f"👩‍👩‍👧 {n}", timestamp=5.0) for n in range(12)]
    blob = types.Part(inline_data=types.Blob(data=b"\x00\xff", mime_type="image/png"))
    events.append(Event(author="model", content=types.Content(role="model", parts=[blob])))
    for event in events:
        await sessions.append_event(session, event)
    assert len(session.events) == 13
    found = await _get(sessions)
    assert found.events == events
    assert found.last_update_time == session.last_update_time
    recent = await _get(sessions, config=GetSessionConfig(num_recent_events=3))
    assert recent.events == events[-3:]
    none = await _get(sessions, config=GetSessionConfig(num_recent_events=0))
    assert none.events == []
    since = await _get(sessions, config=GetSessionConfig(after_timestamp=6.0))
    assert since.events == events[-1:]
    await sessions.append_event(await _get(sessions), events[0])
    assert len((await _get(sessions)).events) == 13, "the same event again is one event"
    other = events[0].model_copy(update={"author": "other"})
    with pytest.raises(AlreadyExists):
        await sessions.append_event(session, other)
    for text in ("a\0b", "\ud83d"):
        with pytest.raises(InvalidText):
            await sessions.append_event(session, _event(text))
    with pytest.raises(InvalidArgument):
        await sessions.append_event(session, _changing(key=object()))
    partial = await sessions.append_event(session, _event("...", partial=True))
    assert partial.partial
    assert len((await _get(sessions)).events) == 13


async def test_two_writers_of_state_lose_nothing_b03_b13(
    sessions: StrongroomSessionService,
) -> None:
    given = {"own": 0, "app:all": 1, "user:mine": 2, "temp:gone": 3}
    first = await sessions.create_session(**AT, session_id="s", state=given)
    assert first.state == {"own": 0, "app:all": 1, "user:mine": 2}
    second = await _get(sessions)
    await asyncio.gather(
        *(
            sessions.append_event(
                (first, second)[n % 2],
                _changing(**{f"k{n}": n, f"app:k{n}": n, f"user:k{n}": n, "temp:x": n}),
            )
            for n in range(10)
        )
    )
    state = (await _get(sessions)).state
    for n in range(10):
        assert [state[f"{scope}k{n}"] for scope in ("", "app:", "user:")] == [n] * 3
    assert "temp:x" not in state
    assert state["own"] == 0
    other = await sessions.create_session(app_name="app", user_id="bob", session_id="s")
    assert other.state["app:k3"] == 3
    assert "user:k3" not in other.state
    assert (await sessions.get_user_state(**AT))["mine"] == 2


async def test_sessions_are_listed_and_deleted(
    sessions: StrongroomSessionService, store: Strongroom, tenant_id: str
) -> None:
    made = [await sessions.create_session(**AT, session_id=name) for name in ("s", "t")]
    await sessions.create_session(app_name="app", user_id="bob")
    with pytest.raises(AlreadyExistsError):
        await sessions.create_session(**AT, session_id=" s ")
    await sessions.append_event(made[0], _changing(n=1))
    listed = (await sessions.list_sessions(**AT)).sessions
    assert [one.id for one in listed] == ["t", "s"]
    assert listed[1].state == {"n": 1}
    assert len((await sessions.list_sessions(app_name="app")).sessions) == 3
    assert (await sessions.list_sessions(app_name="none")).sessions == []
    await sessions.delete_session(**AT, session_id="s")
    assert await sessions.get_session(**AT, session_id="s") is None
    with pytest.raises(NotFound):
        await sessions.append_event(made[0], _event("late"))
    assert await sessions.get_session(**AT, session_id="s") is None
    other = StrongroomSessionService(store, tenant_id=await new_tenant(store))
    assert await other.get_session(**AT, session_id="t") is None
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert (await sessions.list_sessions(**AT)).sessions == []
    assert len((await sessions.list_sessions(app_name="app")).sessions) == 1


async def test_memory_finds_and_forgets(store: Strongroom, tenant_id: str) -> None:
    memory = StrongroomMemoryService(store, tenant_id=tenant_id)
    events = [
        _event("I live in Porto."),
        _event("京都が好きです", author="model"),
        _event("x" * 9000),
    ]
    session = Session(app_name="app", user_id="ada", id="s", events=events)
    for _ in range(2):
        await memory.add_session_to_memory(session)
    found = (await memory.search_memory(**AT, query="where is porto?")).memories
    assert [entry.content.parts[0].text for entry in found] == ["I live in Porto."]
    assert found[0].author == "user"
    kyoto = (await memory.search_memory(**AT, query="京都")).memories
    assert [entry.author for entry in kyoto] == ["model"]
    assert (await memory.search_memory(app_name="app", user_id="bob", query="porto")).memories == []
    assert (await memory.search_memory(app_name="ap", user_id="ada", query="porto")).memories == []
    await memory.delete_memory(**AT, memory_id=found[0].id)
    await memory.add_session_to_memory(session)
    assert (await memory.search_memory(**AT, query="porto")).memories == []


async def test_artifacts_have_versions(store: Strongroom, tenant_id: str) -> None:
    artifacts = StrongroomArtifactService(store, tenant_id=tenant_id)
    at: Any = {**AT, "session_id": "s", "filename": "a.png"}
    blob = types.Part(inline_data=types.Blob(data=b"\x00\xff", mime_type="image/png"))
    assert await artifacts.load_artifact(**at) is None
    assert await artifacts.save_artifact(**at, artifact=blob, custom_metadata={"k": 1}) == 0
    numbers = await asyncio.gather(
        *(artifacts.save_artifact(**at, artifact=types.Part(text=str(n))) for n in range(8))
    )
    assert sorted(numbers) == [*range(1, 9)]
    assert await artifacts.list_versions(**at) == [*range(9)]
    assert await artifacts.load_artifact(**at, version=0) == blob
    for n, number in enumerate(numbers):
        loaded = await artifacts.load_artifact(**at, version=number)
        assert loaded is not None
        assert loaded.text == str(n)
    first = await artifacts.get_artifact_version(**at, version=0)
    assert first is not None
    assert (first.mime_type, first.custom_metadata) == ("image/png", {"k": 1})
    assert len(await artifacts.list_artifact_versions(**at)) == 9
    mine: Any = {**AT, "filename": "user:notes:1"}
    await artifacts.save_artifact(**mine, artifact=types.Part(text="notes"))
    assert await artifacts.list_artifact_keys(**AT, session_id="s") == ["a.png", "user:notes:1"]
    assert await artifacts.list_artifact_keys(**AT) == ["user:notes:1"]
    assert await artifacts.load_artifact(**{**mine, "filename": "user:notes"}) is None
    with pytest.raises(InvalidArgument):
        await artifacts.save_artifact(**AT, filename="a", artifact=types.Part(text="x"))
    other = StrongroomArtifactService(store, tenant_id=await new_tenant(store))
    assert await other.load_artifact(**at) is None
    await artifacts.delete_artifact(**at)
    assert await artifacts.list_versions(**at) == []
    assert await artifacts.list_artifact_keys(**AT, session_id="s") == ["user:notes:1"]


async def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await program.main(place.host_url, "adk-example")
    assert capsys.readouterr().out.splitlines() == [
        "[1 questions so far] A-1: in Porto, since this morning",
        "[2 questions so far] A-1: in Porto, since this morning",
        "6 events; A-1",
        "2 memories of Porto",
        "label.txt",
    ]
