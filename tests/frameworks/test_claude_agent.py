"""The Claude Agent SDK's session store: its own conformance suite, repeats, races, and who may."""

import asyncio
from typing import Any

import pytest
from claude_agent_sdk.testing import run_session_store_conformance
from examples.claude_agent import program

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import AlreadyExists, InvalidArgument, InvalidText
from strongroom.integrations.claude_agent import StrongroomSessionStore
from tests.servers import Database

KEY: Any = {"project_key": "p", "session_id": "s"}


def _entry(number: int, **more: Any) -> Any:
    return {"type": "user", "uuid": f"u{number}", "n": number, **more}


async def test_the_sdks_own_suite_passes_whole(store: Strongroom) -> None:
    async def fresh() -> StrongroomSessionStore:
        return StrongroomSessionStore(store, tenant_id=await new_tenant(store))

    made = await fresh()
    for optional in ("list_sessions", "list_session_summaries", "delete", "list_subkeys"):
        assert optional in vars(type(made)), "nothing may be skipped"
    await run_session_store_conformance(fresh)


async def test_batches_that_are_retried_are_there_once_b09(
    store: Strongroom, tenant_id: str
) -> None:
    mine = StrongroomSessionStore(store, tenant_id=tenant_id)
    batch = [_entry(n) for n in range(1100)]
    with pytest.raises(InvalidText):
        await mine.append(KEY, [*batch, _entry(1100, text="a\0b")])
    with pytest.raises(InvalidText):
        await mine.append(KEY, [*batch, _entry(1100, text="\ud83d")])
    with pytest.raises(InvalidArgument):
        await mine.append(KEY, [*batch, _entry(1100, text=b"\xff")])
    assert await mine.load(KEY) is None
    for _ in range(2):
        await mine.append(KEY, batch)
    assert await mine.load(KEY) == batch
    unnamed: Any = [{"type": "tag"}, {"type": "tag"}]
    await mine.append(KEY, unnamed)
    assert await mine.load(KEY) == [*batch, *unnamed]


async def test_many_append_at_once_b01_b03(store: Strongroom, tenant_id: str) -> None:
    mine = StrongroomSessionStore(store, tenant_id=tenant_id)
    batches = [
        [_entry(10 * w + n, timestamp="2026-01-01T00:00:00Z") for n in range(3)] for w in range(10)
    ]
    await asyncio.gather(*(mine.append(KEY, batch) for batch in batches))
    loaded = await mine.load(KEY)
    assert loaded is not None
    assert len(loaded) == 30
    for batch in batches:
        place = loaded.index(batch[0])
        assert loaded[place : place + 3] == batch
    assert len(await mine.list_session_summaries("p")) == 1


async def test_a_session_is_its_tenants_and_its_principals(
    store: Strongroom, tenant_id: str
) -> None:
    mine = StrongroomSessionStore(store, tenant_id=tenant_id, principal_id="ada")
    await mine.append(KEY, [_entry(1)])
    other = StrongroomSessionStore(store, tenant_id=await new_tenant(store))
    assert await other.load(KEY) is None
    await other.delete(KEY)
    with pytest.raises(AlreadyExists):
        await StrongroomSessionStore(store, tenant_id=tenant_id, principal_id="eve").append(
            KEY, [_entry(2)]
        )
    assert await mine.load(KEY) == [_entry(1)]
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert await mine.load(KEY) is None


async def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await program.main(place.host_url, "claude-example")
    assert capsys.readouterr().out.splitlines() == [
        "[1 questions so far] In Porto.",
        "[2 questions so far] In Porto.",
        "1 transcript of ada",
    ]
