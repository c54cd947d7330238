"""Writers at once: B13 (lost updates) and B17 (deadlocks), with races that are seen."""

import asyncio

import pytest

import strongroom
from strongroom.client import Strongroom
from strongroom.conformance.helpers import at, new_talk, new_tenant, said
from strongroom.errors import NotFound, VersionConflict
from tests.faults.conftest import Blocked
from tests.servers import Database


async def test_of_two_writers_that_meet_the_second_is_told_b13(
    store: Strongroom, blocked: Blocked
) -> None:
    talk = await new_talk(store)
    async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
        await uow.session_state.put(**at(talk), state={"a": 1}, expected_version=0)
        await uow.conversations.update(**at(talk), metadata={"a": 1}, expected_version=1)
        late = [
            asyncio.create_task(
                store.session_state.put(**at(talk), state={"b": 1}, expected_version=0)
            ),
            asyncio.create_task(
                store.session_state.patch(**at(talk), patch={"b": 1}, expected_version=0)
            ),
            asyncio.create_task(
                store.conversations.update(**at(talk), metadata={"b": 1}, expected_version=1)
            ),
        ]
        await blocked(3)
    for task, current in zip(late, (1, 1, 2), strict=True):
        with pytest.raises(VersionConflict) as caught:
            await task
        assert caught.value.detail["current_version"] == current
    assert (await store.session_state.get(**at(talk))).state == {"a": 1}
    assert (await store.conversations.get(**at(talk))).metadata == {"a": 1}


async def test_a_writer_that_meets_a_deletion_is_told_b13(
    store: Strongroom, blocked: Blocked
) -> None:
    talk = await new_talk(store)
    async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
        await uow.conversations.soft_delete(**at(talk))
        late = [
            asyncio.create_task(store.messages.append(**at(talk), messages=[said("late")])),
            asyncio.create_task(store.session_state.put(**at(talk), state={}, expected_version=0)),
            asyncio.create_task(
                store.conversations.update(**at(talk), title="late", expected_version=1)
            ),
        ]
        await blocked(3)
    for task in late:
        with pytest.raises(NotFound):
            await task
    restored = await store.conversations.restore(**at(talk))
    assert (restored.last_position, restored.title) == (0, None)


async def test_batches_in_opposite_order_into_two_conversations_b17(
    every_database: Database,
) -> None:
    async with strongroom.connect(every_database.host_url, pool_min=2, pool_max=2) as store:
        tenant_id = await new_tenant(store)
        for round_number in range(15):
            talks = [await new_talk(store, tenant_id) for _ in range(2)]
            batch = [said(str(n), id=f"{round_number}.{n}") for n in range(200)]
            results = await asyncio.gather(
                store.messages.append(**at(talks[0]), messages=batch),
                store.messages.append(**at(talks[1]), messages=batch[::-1]),
            )
            kinds = sorted({item.outcome for item in result.items}.pop() for result in results)
            assert kinds == ["conflict", "inserted"]
            counts = [await store.messages.count(**at(talk)) for talk in talks]
            assert sum(counts) == 200


async def test_the_slower_of_two_opposite_batches_waits_and_loses_b17(
    store: Strongroom, blocked: Blocked
) -> None:
    tenant_id = await new_tenant(store)
    one, other = await new_talk(store, tenant_id), await new_talk(store, tenant_id)
    batch = [said(str(number), id=f"m{number}") for number in range(200)]
    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        await uow.messages.append(**at(one), messages=batch)
        late = asyncio.create_task(store.messages.append(**at(other), messages=batch[::-1]))
        await blocked(1)
    assert {item.conflict for item in (await late).items} == {"other-conversation"}
