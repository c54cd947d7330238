"""Repeats: B07 (an id in two conversations at once) and B09 (a batch whose connection is lost)."""

# ruff: noqa: PT012 (a unit of work is a block)

import asyncio

import pytest

import strongroom
from strongroom.client import Strongroom
from strongroom.conformance.helpers import all_messages, at, new_talk, said, texts_of
from strongroom.errors import Unavailable
from strongroom.transports.psycopg import Connection
from tests.faults.conftest import Blocked
from tests.servers import Database


async def test_one_id_in_two_conversations_at_the_same_moment_b07(
    store: Strongroom, blocked: Blocked
) -> None:
    one = await new_talk(store)
    other = await new_talk(store, one.tenant_id)
    async with store.unit_of_work(tenant_id=one.tenant_id) as uow:
        await uow.messages.append(**at(one), messages=[said("first", id="m")])
        racing = asyncio.create_task(
            store.messages.append(
                **at(other), messages=[said("a"), said("second", id="m"), said("b")]
            )
        )
        await blocked(1)
    # The loser is repeated by the store, and then knows where the id has gone.
    result = await racing
    assert [(item.outcome, item.conflict) for item in result.items] == [
        ("inserted", None),
        ("conflict", "other-conversation"),
        ("inserted", None),
    ]
    assert [item.position for item in result.items] == [1, None, 2]
    assert texts_of(await all_messages(store, one)) == ["first"]
    assert [row.position for row in await all_messages(store, other)] == [1, 2]


async def test_an_id_that_was_rolled_back_is_free_b07(store: Strongroom, blocked: Blocked) -> None:
    one = await new_talk(store)
    other = await new_talk(store, one.tenant_id)
    with pytest.raises(ZeroDivisionError):
        async with store.unit_of_work(tenant_id=one.tenant_id) as uow:
            await uow.messages.append(**at(one), messages=[said("first", id="m")])
            racing = asyncio.create_task(
                store.messages.append(**at(other), messages=[said("second", id="m")])
            )
            await blocked(1)
            raise ZeroDivisionError
    assert [item.outcome for item in (await racing).items] == ["inserted"]
    assert await all_messages(store, one) == []


async def test_a_batch_whose_connection_is_lost_is_repeated_whole_b09(
    store: Strongroom, admin: Connection, blocked: Blocked
) -> None:
    talk = await new_talk(store)
    batch = [said(str(number), id=f"m{number}") for number in range(10)]
    async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
        await uow.messages.append(**at(talk), messages=[said("before", id="before")])
        racing = asyncio.create_task(store.messages.append(**at(talk), messages=batch))
        await blocked(1)
        killed = await admin.execute(
            """select pg_terminate_backend(pid)
            from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'"""
        )
        assert killed.rowcount == 1
        await blocked(1)  # the store has tried again, on another connection
    result = await racing
    assert [item.outcome for item in result.items] == ["inserted"] * 10
    assert [item.position for item in result.items] == list(range(2, 12))
    again = await store.messages.append(**at(talk), messages=batch)
    assert [item.outcome for item in again.items] == ["duplicate"] * 10
    assert len(await all_messages(store, talk)) == 11


async def test_a_unit_whose_connection_is_lost_saves_nothing_b09(
    database: Database, admin: Connection
) -> None:
    async with strongroom.connect(database.host_url, pool_max=2, timeout=20) as store:
        talk = await new_talk(store)
        with pytest.raises(Unavailable):
            async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
                await uow.messages.append(**at(talk), messages=[said("call", id="call")])
                await admin.execute(
                    """select pg_terminate_backend(pid)
                    from pg_stat_activity
                    where datname = current_database() and state = 'idle in transaction'"""
                )
                await uow.messages.append(**at(talk), messages=[said("result", id="result")])
        assert await all_messages(store, talk) == []
        batch = [said("call", id="call"), said("result", id="result")]
        for outcome in ("inserted", "duplicate", "duplicate"):
            done = await store.messages.append(**at(talk), messages=batch)
            assert {item.outcome for item in done.items} == {outcome}
