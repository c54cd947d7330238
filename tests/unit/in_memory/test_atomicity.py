"""Units of work and lone writes are whole or absent, and nobody sees half of one."""

import asyncio

import pytest

from strongroom import (
    AlreadyExists,
    InvalidTransition,
    NewMessage,
    NotFound,
    Strongroom,
    TenantMismatch,
    TextPart,
    Unavailable,
    VersionConflict,
)
from strongroom.in_memory import database, memory_store

TALK = {"tenant_id": "acme", "conversation_id": "talk"}


@pytest.fixture
async def store() -> Strongroom:
    store = memory_store(text_policy="reject")
    await store.tenants.create(tenant_id="acme", name="Acme")
    await store.conversations.create(tenant_id="acme", conversation_id="talk", owner_id="ada")
    return store


def said(text: str) -> list[NewMessage]:
    return [NewMessage(role="user", parts=[TextPart(text=text)])]


async def heard(store: Strongroom) -> list[str]:
    page = await store.messages.list(**TALK, limit=500)
    assert [message.position for message in page.items] == list(range(1, len(page.items) + 1))
    return [message.parts[0].text for message in page.items]


async def test_what_a_unit_writes_is_seen_by_the_unit_alone_until_it_ends(store):
    async with store.unit_of_work(tenant_id="acme") as uow:
        await uow.messages.append(**TALK, messages=said("one"))
        await uow.session_state.put(**TALK, state={"a": 1}, expected_version=0)
        assert await uow.messages.count(**TALK) == 1
        assert await store.messages.count(**TALK) == 0
        assert (await store.session_state.get(**TALK)).version == 0
    assert await heard(store) == ["one"]
    assert (await store.session_state.get(**TALK)).state == {"a": 1}


async def test_an_error_undoes_every_aggregate_of_the_unit(store):
    async def work() -> None:
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.messages.append(**TALK, messages=said("one"))
            await uow.summaries.append(**TALK, text="s", covers_to_position=1)
            await uow.session_state.put(**TALK, state={"a": 1}, expected_version=0)
            await uow.conversations.purge(**TALK)
            await uow.tenants.add_member(tenant_id="acme", principal_id="bob")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()
    assert await heard(store) == []
    assert await store.summaries.latest(**TALK) is None
    assert (await store.session_state.get(**TALK)).version == 0
    assert await store.tenants.find_member(tenant_id="acme", principal_id="bob") is None


async def test_a_batch_that_is_refused_leaves_nothing(store):
    await store.messages.append(**TALK, messages=said("one"))

    async def work() -> None:
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.messages.append(**TALK, messages=said("two"))
            await uow.session_state.put(**TALK, state={}, expected_version=7)

    with pytest.raises(VersionConflict):
        await work()
    assert await heard(store) == ["one"]


async def test_a_nested_unit_undoes_only_its_own_part(store):
    async with store.unit_of_work(tenant_id="acme") as uow:
        await uow.messages.append(**TALK, messages=said("outer"))

        async def work() -> None:
            async with uow.unit_of_work(tenant_id="acme") as nested:
                await nested.messages.append(**TALK, messages=said("lost"))
                async with nested.unit_of_work(tenant_id="acme") as innermost:
                    await innermost.messages.append(**TALK, messages=said("lost, too"))
                await nested.messages.append(
                    tenant_id="acme", conversation_id="nowhere", messages=said("x")
                )

        with pytest.raises(NotFound):
            await work()
        async with uow.unit_of_work(tenant_id="acme") as nested:
            await nested.messages.append(**TALK, messages=said("kept"))
    assert await heard(store) == ["outer", "kept"]


async def test_a_nested_unit_that_wrote_first_leaves_nothing_when_it_fails(store):
    async with store.unit_of_work(tenant_id="acme") as uow:

        async def work() -> None:
            async with uow.unit_of_work(tenant_id="acme") as nested:
                await nested.messages.append(**TALK, messages=said("lost"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await work()
        assert await uow.messages.count(**TALK) == 0
    assert await heard(store) == []


async def test_a_swallowed_error_saves_nothing_and_says_so(store):
    async def work() -> None:
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.messages.append(**TALK, messages=said("one"))
            with pytest.raises(AlreadyExists):
                await uow.tenants.create(tenant_id="acme", name="Other")
            with pytest.raises(InvalidTransition):
                await uow.messages.count(**TALK)

    with pytest.raises(InvalidTransition, match="nothing of the unit was saved"):
        await work()
    assert await heard(store) == []


async def test_not_finding_a_record_does_not_fail_the_unit(store):
    async with store.unit_of_work(tenant_id="acme") as uow:
        with pytest.raises(NotFound):
            await uow.messages.get(tenant_id="acme", message_id="nowhere")
        await uow.messages.append(**TALK, messages=said("one"))
    assert await heard(store) == ["one"]


async def test_a_unit_serves_one_tenant_and_ends_with_its_block(store):
    async with store.unit_of_work(tenant_id="acme") as uow:
        with pytest.raises(TenantMismatch):
            await uow.tenants.find(tenant_id="umbra")
        with pytest.raises(TenantMismatch):
            async with uow.unit_of_work(tenant_id="umbra"):
                pytest.fail("a nested unit of another tenant began")
    with pytest.raises(InvalidTransition, match="has ended"):
        await uow.messages.append(**TALK, messages=said("late"))
    assert await heard(store) == []


async def test_a_write_outside_of_the_own_unit_is_refused_instead_of_waiting_for_ever(store):
    async with store.unit_of_work(tenant_id="acme") as uow:
        await store.messages.append(**TALK, messages=said("before the unit writes"))
        await uow.messages.append(**TALK, messages=said("in the unit"))
        with pytest.raises(InvalidTransition, match="wait for itself") as refused:
            await store.messages.append(**TALK, messages=said("beside the unit"))
        assert "ports of the unit" in refused.value.hint
    assert await heard(store) == ["before the unit writes", "in the unit"]


async def test_another_task_waits_for_the_unit_and_comes_after_it(store):
    async with store.unit_of_work(tenant_id="acme") as uow:
        await uow.messages.append(**TALK, messages=said("one"))
        other = asyncio.create_task(store.messages.append(**TALK, messages=said("three")))
        other_tenant = asyncio.create_task(store.tenants.create(tenant_id="umbra", name="Umbra"))
        await other_tenant
        assert not other.done()
        await uow.messages.append(**TALK, messages=said("two"))
    await other
    assert await heard(store) == ["one", "two", "three"]


async def test_a_unit_that_waits_for_a_writer_behind_it_gets_an_error_in_the_end(
    store, monkeypatch
):
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.01)

    async def work() -> None:
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.messages.append(**TALK, messages=said("one"))
            await asyncio.gather(store.messages.append(**TALK, messages=said("two")))

    with pytest.raises(Unavailable):
        await work()
    await store.messages.append(**TALK, messages=said("three"))
    assert await heard(store) == ["three"]


async def test_a_units_own_calls_may_run_at_once(store):
    async with store.unit_of_work(tenant_id="acme") as uow:
        await asyncio.gather(
            *(uow.messages.append(**TALK, messages=said(f"{i}")) for i in range(20))
        )
    assert sorted(await heard(store), key=int) == [f"{i}" for i in range(20)]


@pytest.mark.parametrize("moment", range(8))
async def test_a_cancelled_task_leaves_its_writes_whole_or_absent(store, moment):
    async def work() -> None:
        async with store.unit_of_work(tenant_id="acme") as uow:
            for text in ("one", "two"):
                await asyncio.sleep(0)
                await uow.messages.append(**TALK, messages=said(text))
            await asyncio.sleep(0)

    async def lone() -> None:
        await store.messages.append(**TALK, messages=[*said("lone"), *said("pair")])

    tasks = [asyncio.create_task(work()), asyncio.create_task(lone())]
    for _ in range(moment):
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    texts = await heard(store)
    cancelled = [isinstance(result, asyncio.CancelledError) for result in results]
    assert ({"one", "two"} <= {*texts}) == (not cancelled[0])
    assert ({"lone", "pair"} <= {*texts}) == (not cancelled[1])
    assert len(texts) == 4 - 2 * sum(cancelled)
    # The lock is free again.
    await store.messages.append(**TALK, messages=said("after"))
