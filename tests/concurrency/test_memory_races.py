"""Races of principal memory: one transaction is open, the other is seen to wait for it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

import strongroom
from strongroom import StrongroomError
from strongroom.client import Ports
from strongroom.conformance.calls_memory import Whose
from strongroom.conformance.helpers import fresh
from tests.concurrency.test_run_races import _BLOCKED, UndoneError
from tests.servers.databases import Database

TENANT = "acme"
ROUNDS = 20

Call = Callable[[Ports], Awaitable[Any]]


@dataclass
class Arena:
    """Two stores whose sessions can be told apart, and a session that watches them."""

    first: strongroom.Strongroom
    second: strongroom.Strongroom
    watcher: psycopg.AsyncConnection[Any]

    async def race(self, first: Call, second: Call, *, commit: bool) -> Any:
        """Return what the second call gives, after it was seen to wait for the first."""
        with suppress(UndoneError):
            async with self.first.unit_of_work(tenant_id=TENANT) as unit:
                await first(unit)
                waiting = asyncio.create_task(_outcome(second(self.second)))
                while not waiting.done():
                    cursor = await self.watcher.execute(_BLOCKED)
                    if await cursor.fetchone() == (True,):
                        break
                else:
                    pytest.fail(f"the second call did not wait: {waiting.result()}")
                if not commit:
                    raise UndoneError
        return await waiting


async def _outcome(call: Awaitable[Any]) -> Any:
    try:
        done = await call
    except StrongroomError as error:
        return error.code
    return getattr(done, "outcome", done)


@pytest.fixture
async def arena(database: Database) -> AsyncIterator[Arena]:
    def url(name: str) -> str:
        return database.url(user=database.host, application_name=name)

    async with (
        strongroom.connect(url("first"), pool_min=1, pool_max=1) as first,
        strongroom.connect(url("second"), pool_min=1, pool_max=1) as second,
        await psycopg.AsyncConnection.connect(database.admin_url, autocommit=True) as watcher,
    ):
        await first.tenants.create(tenant_id=TENANT, name="Acme")
        yield Arena(first, second, watcher)


def _put(whose: Whose, text: str, **fields: Any) -> Call:
    fact: dict[str, Any] = {"source": "extracted", **fields}
    return lambda store: store.principal_memory.put(**whose, text=text, **fact)


@pytest.mark.parametrize("source", ["extracted", "user-stated"])
@pytest.mark.parametrize("is_known", [True, False], ids=["with-facts", "never-seen"])
async def test_a_put_that_waits_while_everything_is_forgotten_stores_nothing(
    arena: Arena, source: str, is_known: bool
) -> None:
    for number in range(ROUNDS):
        whose = Whose(tenant_id=TENANT, principal_id=fresh("ada"))
        if is_known:
            await _put(whose, "old")(arena.second)
        commit = number % 2 == 0
        result = await arena.race(
            lambda store, whose=whose: store.principal_memory.forget_all(**whose),
            _put(whose, "entirely new", source=source),
            commit=commit,
        )
        page = await arena.second.principal_memory.list(**whose)
        if commit:
            assert result == "forgotten"
            assert page.items == ()
        else:
            assert result == "inserted"
            assert len(page.items) == 1 + is_known


async def test_a_put_that_waits_for_a_deletion_does_not_bring_it_back(arena: Arena) -> None:
    for number in range(ROUNDS):
        whose = Whose(tenant_id=TENANT, principal_id=fresh("ada"))
        fact = (await _put(whose, "Likes tea", key="k")(arena.second)).fact
        commit = number % 2 == 0
        result = await arena.race(
            lambda store, whose=whose, fact=fact: store.principal_memory.delete(
                **whose, memory_id=fact.id
            ),
            _put(whose, "likes TEA", key="k", expected_version=None),
            commit=commit,
        )
        # Undone, the key is still taken, by a fact with another text.
        assert result == ("forgotten" if commit else "SR012")
        assert (await arena.second.principal_memory.status(**whose)).fact_count == (not commit)


async def test_an_update_that_waits_for_a_deletion_finds_nothing(arena: Arena) -> None:
    for number in range(ROUNDS):
        whose = Whose(tenant_id=TENANT, principal_id=fresh("ada"))
        fact = (await _put(whose, "Likes tea")(arena.second)).fact
        commit = number % 2 == 0
        result = await arena.race(
            lambda store, whose=whose, fact=fact: store.principal_memory.delete(
                **whose, memory_id=fact.id
            ),
            lambda store, whose=whose, fact=fact: store.principal_memory.update(
                **whose, memory_id=fact.id, text="Likes coffee", expected_version=1
            ),
            commit=commit,
        )
        assert (result == "SR010") == commit


async def test_a_put_that_waits_for_the_switch_obeys_it(arena: Arena) -> None:
    for number in range(ROUNDS):
        whose = Whose(tenant_id=TENANT, principal_id=fresh("ada"))
        commit = number % 2 == 0
        result = await arena.race(
            lambda store, whose=whose: store.principal_memory.disable(**whose),
            _put(whose, "x"),
            commit=commit,
        )
        assert result == ("SR020" if commit else "inserted")


async def test_of_two_puts_with_one_key_one_is_told_of_the_other(arena: Arena) -> None:
    for number in range(ROUNDS):
        whose = Whose(tenant_id=TENANT, principal_id=fresh("ada"))
        commit = number % 2 == 0
        result = await arena.race(
            _put(whose, "Bonn", key="city"), _put(whose, "Rome", key="city"), commit=commit
        )
        assert result == ("SR012" if commit else "inserted")


async def test_writers_of_different_principals_do_not_wait_for_each_other(arena: Arena) -> None:
    for call in (
        lambda store, whose: store.principal_memory.forget_all(**whose),
        lambda store, whose: store.principal_memory.disable(**whose),
        lambda store, whose: store.principal_memory.put(**whose, text="x", source="extracted"),
    ):
        one, other = (Whose(tenant_id=TENANT, principal_id=fresh("p")) for _ in range(2))
        async with arena.first.unit_of_work(tenant_id=TENANT) as unit:
            await call(unit, one)
            async with asyncio.timeout(20):
                await call(arena.second, other)


@pytest.mark.parametrize("commit", [True, False])
async def test_an_erasure_takes_what_it_has_waited_for(arena: Arena, commit: bool) -> None:
    """A fact that is being stored, beside others: its writer is waited for before any of them goes."""
    whose = Whose(tenant_id=TENANT, principal_id=fresh("ada"))
    writes = (
        _put(whose, "new"),
        _put(whose, "other", key="k", expected_version=1),
        lambda store: store.principal_memory.forget_all(**whose),
    )
    for write in writes:
        await _put(whose, "old", key="k")(arena.second)
        await arena.race(
            write,
            lambda store: store.lifecycle.erase_principal(**whose),
            commit=commit,
        )
        assert (await arena.second.principal_memory.list(**whose)).items == ()
        assert not (await arena.second.lifecycle.erase_principal(**whose)).items


async def test_erasures_of_a_tenant_and_its_seals_take_turns(arena: Arena) -> None:
    """They write to the same events and to the same person's rows: whoever is second only waits."""
    whose = Whose(tenant_id=TENANT, principal_id=fresh("ada"))
    other = Whose(tenant_id=TENANT, principal_id=fresh("bob"))

    def erase(whom: Whose) -> Call:
        return lambda store: store.lifecycle.erase_principal(**whom)

    def seal(store: Ports) -> Awaitable[Any]:
        return store.audit.seal(tenant_id=TENANT)

    for first, second in ((seal, erase(whose)), (erase(whose), erase(other)), (erase(other), seal)):
        for whom in (whose, other):
            await _put(whom, "old")(arena.second)
            await arena.second.principal_memory.forget_all(**whom, actor_id=whom["principal_id"])
        await arena.race(first, second, commit=True)
    assert (await arena.second.audit.verify(tenant_id=TENANT)).is_sound
