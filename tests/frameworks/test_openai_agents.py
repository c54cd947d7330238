"""The OpenAI Agents SDK's session: order, concurrency, repeats, taking back, and who may."""

import asyncio
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner
from agents.memory import Session
from examples.openai_agents import program

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import AlreadyExists, InvalidArgument, InvalidText
from strongroom.integrations.openai_agents import StrongroomSession
from tests.servers import Database


def _user(text: str) -> Any:
    return {"role": "user", "content": text}


def _call(number: int) -> Any:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": "call",
        "name": "look",
        "arguments": "{}",
    }


def _output(text: str) -> Any:
    return {"type": "function_call_output", "call_id": "call", "output": text}


@pytest.fixture
def session(store: Strongroom, tenant_id: str) -> StrongroomSession:
    return StrongroomSession(store, tenant_id=tenant_id, session_id="s", principal_id="ada")


async def test_items_keep_their_order_b01(session: StrongroomSession) -> None:
    assert isinstance(session, Session)
    assert await session.get_items() == []
    items = [_user("one"), _call(1), _output("x"), _user("👩‍👩‍👧 e\u0301 שלום"), _user("one")]
    await session.add_items(items)
    await session.add_items([])
    assert await session.get_items() == items
    assert await session.get_items(limit=2) == items[-2:]
    assert await session.get_items(limit=0) == []
    many = [_user(str(n)) for n in range(1203)]
    await session.add_items(many)
    assert await session.get_items() == [*items, *many]
    assert await session.get_items(limit=1001) == many[-1001:]
    assert session.session_settings is not None
    session.session_settings.limit = 3
    assert await session.get_items() == many[-3:]


async def test_many_processes_add_at_once_b03(store: Strongroom, tenant_id: str) -> None:
    async def add(writer: int) -> None:
        mine = StrongroomSession(store, tenant_id=tenant_id, session_id="s")
        for n in range(5):
            await mine.add_items([_user(f"{writer}.{n}"), _user(f"{writer}.{n}!")])

    await asyncio.gather(*map(add, range(10)))
    items = await StrongroomSession(store, tenant_id=tenant_id, session_id="s").get_items()
    texts = [str(item["content"]) for item in items]
    assert len(texts) == 100
    assert all(second == f"{first}!" for first, second in zip(texts[::2], texts[1::2], strict=True))
    for writer in range(10):
        mine = [text for text in texts if text.startswith(f"{writer}.")]
        assert mine == sorted(mine, key=lambda text: (text.removesuffix("!"), text))


async def test_a_repeated_batch_is_there_once_b09(session: StrongroomSession) -> None:
    batch = [_call(1), _output("x"), _call(2), _output("x")]
    with pytest.raises(InvalidText) as caught:
        await session.add_items([*batch, _user("cut \ud83d")])
    assert caught.value.detail["path"] == "records[4].content.content"
    assert await session.get_items() == []
    for _ in range(3):
        await session.add_items(batch)
    assert await session.get_items() == batch
    # The same words again are something new; the id of another item is not.
    await session.add_items([_user("x")])
    await session.add_items([_user("x")])
    assert len(await session.get_items()) == 6
    with pytest.raises(AlreadyExists):
        await session.add_items([_user("new"), {**_call(1), "name": "other"}])
    assert len(await session.get_items()) == 6
    fakes = [{"id": "__fake_id__", "role": "assistant", "content": text} for text in "ab"]
    await session.add_items(fakes)
    assert (await session.get_items())[-2:] == fakes


@pytest.mark.parametrize("text", ["a\0b", "\ud83d", "\ude00 x"])
async def test_text_that_cannot_be_stored_is_refused_b47_b49(
    session: StrongroomSession, text: str
) -> None:
    for item in (_user(text), {"role": "user", "content": [{text: 1}]}):
        with pytest.raises(InvalidText):
            await session.add_items([_user("fine"), item])
    assert await session.get_items() == []


async def test_what_is_not_json_is_refused_b51(session: StrongroomSession) -> None:
    for value in (b"\xff\xfe", {1, 2}, float("nan"), object()):
        with pytest.raises(InvalidArgument) as caught:
            await session.add_items([_user("fine"), _output(value)])  # type: ignore[arg-type]
        assert caught.value.detail["path"] == "content.output"
    assert await session.get_items() == []


async def test_items_are_taken_back_for_good(
    session: StrongroomSession, store: Strongroom, tenant_id: str
) -> None:
    assert await session.pop_item() is None
    await session.add_items([_user("one"), _call(1)])
    assert await session.pop_item() == _call(1)
    await session.add_items([_call(1)])
    assert await session.get_items() == [_user("one"), _call(1)]
    await session.clear_session()
    await session.clear_session()
    assert await session.get_items() == []
    await session.add_items([_user("again")])
    assert await session.get_items() == [_user("again")]
    told = [event.action for event in (await store.audit.list(tenant_id=tenant_id)).items]
    assert told.count("framework_records.delete") == 1
    assert told.count("framework_session.delete") == 1


async def test_items_with_long_ids_and_their_neighbours_are_kept_once(
    session: StrongroomSession,
) -> None:
    batch: list[Any] = []
    for length in (250, 254, 255, 256, 5000):
        batch += [{**_user(str(length)), "id": f"{length}".ljust(length, "x")}, _user("after")]
    for _ in range(2):
        await session.add_items(batch)
    assert await session.get_items() == batch
    for wrong in ("text", None, 5):
        with pytest.raises(InvalidArgument) as refused:
            await session.add_items([_user("kept?"), wrong])
        assert refused.value.detail["path"] == "items[1]"
    assert await session.get_items() == batch


async def test_a_session_is_its_tenants_and_its_principals(
    session: StrongroomSession, store: Strongroom, tenant_id: str
) -> None:
    await session.add_items([_user("secret")])
    other = await new_tenant(store)
    theirs = StrongroomSession(store, tenant_id=other, session_id="s")
    assert await theirs.get_items() == []
    assert await theirs.pop_item() is None
    await theirs.clear_session()
    eves = StrongroomSession(store, tenant_id=tenant_id, session_id="s", principal_id="eve")
    for call in (
        lambda: eves.add_items([_user("mine")]),
        eves.get_items,
        eves.pop_item,
        eves.clear_session,
    ):
        with pytest.raises(AlreadyExists):
            await call()
    assert await session.get_items() == [_user("secret")]
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert await session.get_items() == []


async def test_a_run_that_fails_leaves_whole_turns(session: StrongroomSession) -> None:
    agent = Agent(name="a", tools=[program.find_parcel], model=program.ScriptedModel())
    quiet = RunConfig(tracing_disabled=True)
    with pytest.raises(Exception, match="Max turns"):
        await Runner.run(agent, "Where?", session=session, max_turns=1, run_config=quiet)
    items = await session.get_items()
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert calls == outputs
    result = await Runner.run(agent, "And?", session=session, run_config=quiet)
    assert "in Porto" in str(result.final_output)


async def test_the_example_runs(
    place: Database, capsys: pytest.CaptureFixture[str], store: Strongroom
) -> None:
    await program.main(place.host_url, "openai-example")
    assert capsys.readouterr().out.splitlines() == [
        "[1 questions so far] A-1: in Porto, since this morning",
        "[2 questions so far] A-1: in Porto, since this morning",
        "user, function_call, function_call_output, message, user, message",
    ]
    theirs = await store.frameworks.list_sessions(
        tenant_id="openai-example", framework="openai_agents"
    )
    assert [(one.path, one.principal_id) for one in theirs.items] == [(("talk-1",), "ada")]
