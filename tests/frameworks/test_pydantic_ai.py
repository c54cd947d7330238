"""Pydantic AI's history: order, repeats, bytes, and who may."""

import asyncio

import pytest
from examples.pydantic_ai import program
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import AlreadyExists, InvalidArgument, InvalidText
from strongroom.integrations.pydantic_ai import StrongroomHistory
from tests.servers import Database


def _turn(text: str) -> list[ModelMessage]:
    return [ModelRequest([UserPromptPart(text)]), ModelResponse([TextPart(f"{text}!")])]


@pytest.fixture
def history(store: Strongroom, tenant_id: str) -> StrongroomHistory:
    return StrongroomHistory(store, tenant_id=tenant_id, session_id="s", principal_id="ada")


async def test_messages_come_back_whole_b01_b51(history: StrongroomHistory) -> None:
    assert await history.load() == []
    image = BinaryContent(b"\x00\xff\xfe", media_type="image/png")
    turn: list[ModelMessage] = [
        ModelRequest([UserPromptPart(["👩‍👩‍👧 e\u0301", image])]),
        *_turn("two"),
    ]
    await history.append(turn)
    await history.append([])
    await history.append(_turn("three"))
    loaded = await history.load()
    assert loaded[1:3] == turn[1:]
    first = loaded[0].parts[0].content  # type: ignore[union-attr]
    assert first[0] == "👩‍👩‍👧 e\u0301"  # type: ignore[index]
    assert first[1].data == b"\x00\xff\xfe"  # type: ignore[index, union-attr]
    assert len(loaded) == 5


async def test_a_repeated_append_is_there_once_b09_b47_b49(history: StrongroomHistory) -> None:
    turn = _turn("one")
    for bad in ("a\0b", "\ud83d"):
        with pytest.raises(InvalidText):
            await history.append([*turn, *_turn(bad)], append_id="run-1")
    for none in ("text", {"kind": "request", "parts": []}, turn):
        with pytest.raises(InvalidArgument, match=r"messages\[2\]"):
            await history.append([*turn, none])  # type: ignore[list-item]
    assert await history.load() == [], "what could not be read again is not there"
    for _ in range(3):
        await history.append(turn, append_id="run-1")
    assert await history.load() == turn
    with pytest.raises(AlreadyExists):
        await history.append(_turn("other"), append_id="run-1")
    await history.append(turn)
    assert len(await history.load()) == 4


async def test_turns_of_many_processes_stay_whole_b03(history: StrongroomHistory) -> None:
    await asyncio.gather(*(history.append(_turn(str(n))) for n in range(20)))
    loaded = await history.load()
    kinds = [message.kind for message in loaded]
    assert kinds == ["request", "response"] * 20
    for request, response in zip(loaded[::2], loaded[1::2], strict=True):
        assert f"{request.parts[0].content}!" == response.parts[0].content  # type: ignore[union-attr]


async def test_a_history_is_its_tenants_and_its_principals(
    history: StrongroomHistory, store: Strongroom, tenant_id: str
) -> None:
    await history.append(_turn("secret"))
    other = StrongroomHistory(store, tenant_id=await new_tenant(store), session_id="s")
    assert await other.load() == []
    eves = StrongroomHistory(store, tenant_id=tenant_id, session_id="s", principal_id="eve")
    with pytest.raises(AlreadyExists):
        await eves.append(_turn("mine"))
    assert len(await history.load()) == 2
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert await history.load() == []


async def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await program.main(place.host_url, "pydantic-example")
    assert capsys.readouterr().out.splitlines() == [
        "[1 questions so far] A-1: in Porto, since this morning",
        "[2 questions so far] A-1: in Porto, since this morning",
        "request, response, request, response, request, response",
    ]
