"""Units of work: all of it or nothing, on one connection, for one tenant."""

# ruff: noqa: PT012 (a unit of work is a block)

from __future__ import annotations

import asyncio

import pytest

from strongroom.client import UnitOfWork
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    all_messages,
    at,
    fresh,
    new_talk,
    new_tenant,
    said,
    say,
    texts_of,
)
from strongroom.errors import (
    InvalidTransition,
    MissingCapability,
    NotFound,
    StrongroomError,
    TenantMismatch,
    VersionConflict,
)


class _Stop(Exception):
    """Not an error of ours."""


async def test_all_ports_join_one_transaction_b69(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        assert isinstance(uow, UnitOfWork)
        assert uow.tenant_id == tenant_id
        talk = await uow.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
        await say(uow, talk, "1", "2")
        await uow.session_state.put(**at(talk), state={"a": 1}, expected_version=0)
        await uow.summaries.append(**at(talk), text="s", covers_to_position=1)
        await uow.tenants.add_member(tenant_id=tenant_id, principal_id=OWNER)
        # The unit sees what it has written.
        assert texts_of(await all_messages(uow, talk)) == ["1", "2"]
        assert (await uow.session_state.get(**at(talk))).version == 1
    assert texts_of(await all_messages(store, talk)) == ["1", "2"]
    assert (await store.session_state.get(**at(talk))).state == {"a": 1}
    assert await store.summaries.latest(**at(talk)) is not None
    assert await store.tenants.find_member(tenant_id=tenant_id, principal_id=OWNER) is not None


@pytest.mark.parametrize("kind", ["ours", "somebody else's", "cancellation"])
async def test_an_error_rolls_everything_back_b69(adapter: Adapter, kind: str) -> None:
    adapter.needs("transactions")
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "before")
    before = await store.conversations.get(**at(talk))
    expected: type[BaseException] = {
        "ours": VersionConflict,
        "somebody else's": _Stop,
        "cancellation": asyncio.CancelledError,
    }[kind]
    with pytest.raises(expected):
        async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
            await say(uow, talk, "lost")
            await uow.session_state.put(**at(talk), state={"lost": 1}, expected_version=0)
            await uow.conversations.update(**at(talk), title="lost", expected_version=1)
            other = await new_talk(uow, talk.tenant_id)
            if kind == "ours":
                await uow.conversations.update(**at(talk), title="x", expected_version=1)
            raise expected
    assert await store.conversations.get(**at(talk)) == before
    assert texts_of(await all_messages(store, talk)) == ["before"]
    assert (await store.session_state.get(**at(talk))).version == 0
    assert await store.conversations.find(**at(other)) is None
    assert (await say(store, talk, "after")).items[0].position == 2


async def test_what_is_not_saved_yet_is_seen_by_nobody_else(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    async with adapter.second() as second:
        async with store.unit_of_work(tenant_id=tenant_id) as uow:
            talk = await uow.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
            await say(uow, talk, "1")
            assert await second.conversations.find(**at(talk)) is None
            assert (await second.conversations.list(tenant_id=tenant_id)).items == ()
        assert texts_of(await all_messages(second, talk)) == ["1"]


async def test_a_unit_serves_one_tenant(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store = adapter.store
    mine, theirs = await new_talk(store), await new_talk(store)
    async with store.unit_of_work(tenant_id=mine.tenant_id) as uow:
        for call in (
            uow.messages.append(**at(theirs), messages=[said("x")]),
            uow.messages.list(**at(theirs)),
            uow.tenants.get(tenant_id=theirs.tenant_id),
            uow.tenants.create(tenant_id=fresh(), name="x"),
            uow.conversations.purge(**at(theirs)),
        ):
            with pytest.raises(TenantMismatch) as caught:
                await call
            assert caught.value.detail["path"] == "tenant_id"
        with pytest.raises(TenantMismatch):
            async with uow.unit_of_work(tenant_id=theirs.tenant_id):
                pytest.fail("a nested unit of another tenant began")
        # Nothing of this has touched the database, so the unit is still good.
        await say(uow, mine, "1")
    assert await store.messages.count(**at(mine)) == 1
    assert await store.messages.count(**at(theirs)) == 0


async def test_a_nested_unit_undoes_only_its_own_part(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store, talk = adapter.store, await new_talk(adapter.store)
    async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
        await say(uow, talk, "1")
        with pytest.raises(NotFound):
            async with uow.unit_of_work(tenant_id=talk.tenant_id) as inner:
                await say(inner, talk, "lost")
                async with inner.unit_of_work(tenant_id=talk.tenant_id) as innermost:
                    await say(innermost, talk, "lost, too")
                await inner.messages.get(tenant_id=talk.tenant_id, message_id="absent")
        async with uow.unit_of_work(tenant_id=talk.tenant_id) as inner:
            await say(inner, talk, "2")
        await say(uow, talk, "3")
    rows = await all_messages(store, talk)
    assert [(row.position, *texts_of([row])) for row in rows] == [(1, "1"), (2, "2"), (3, "3")]
    with pytest.raises(_Stop):
        async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
            async with uow.unit_of_work(tenant_id=talk.tenant_id) as inner:
                await say(inner, talk, "lost with the outer unit")
            raise _Stop
    assert len(await all_messages(store, talk)) == 3


async def test_a_swallowed_error_is_not_taken_for_success(adapter: Adapter) -> None:
    """Whether the rest was saved is up to the adapter, but it never keeps silent about a loss."""
    adapter.needs("transactions")
    store, talk = adapter.store, await new_talk(adapter.store)
    refused = False
    try:
        async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
            await say(uow, talk, "1")
            with pytest.raises(VersionConflict):
                await uow.conversations.update(**at(talk), title="x", expected_version=9)
    except InvalidTransition:
        refused = True
    assert await store.messages.count(**at(talk)) == (0 if refused else 1)


async def test_bad_arguments_leave_the_unit_good(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store, talk = adapter.store, await new_talk(adapter.store)
    async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
        await say(uow, talk, "1")
        for bad in (said("\x00"), "no message"):
            with pytest.raises(StrongroomError):
                await uow.messages.append(**at(talk), messages=[bad])  # type: ignore[list-item]
        await say(uow, talk, "2")
    assert texts_of(await all_messages(store, talk)) == ["1", "2"]


async def test_many_units_at_once_share_few_connections_b69(adapter: Adapter) -> None:
    adapter.needs_parallel_units()
    store, tenant_id = adapter.store, await new_tenant(adapter.store)

    async def work(number: int) -> str:
        async with store.unit_of_work(tenant_id=tenant_id) as uow:
            talk = await uow.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
            await say(uow, talk, "1")
            async with uow.unit_of_work(tenant_id=tenant_id) as inner:
                await inner.session_state.put(**at(talk), state={}, expected_version=0)
            await uow.summaries.append(**at(talk), text="s", covers_to_position=1)
            if number % 3 == 0:
                raise _Stop
        return talk.id

    results = await asyncio.gather(*(work(n) for n in range(24)), return_exceptions=True)
    saved = {result for result in results if isinstance(result, str)}
    assert len(saved) == 16
    assert {type(result) for result in results if not isinstance(result, str)} == {_Stop}
    page = await store.conversations.list(tenant_id=tenant_id, limit=500)
    assert {talk.id for talk in page.items} == saved


async def test_without_the_capability_a_unit_is_refused(adapter: Adapter) -> None:
    if "transactions" in adapter.capabilities:
        pytest.skip("this adapter has transactions")
    with pytest.raises(MissingCapability):
        async with adapter.store.unit_of_work(tenant_id=fresh()):
            pytest.fail("a unit of work began")
