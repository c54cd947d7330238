"""Order: B01 (ties in time), B03 (positions under many writers), B45 is in the conformance suite."""

# ruff: noqa: PT012 (a unit of work is a block)

import asyncio

import pytest

import strongroom
from strongroom.client import Strongroom
from strongroom.conformance.helpers import OWNER, all_messages, at, new_talk, said, say, texts_of
from strongroom.models import (
    Conversation,
    NewMessage,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from strongroom.transports.psycopg import Connection
from tests.faults.conftest import Blocked
from tests.servers import Database

TURN = [
    said("What is the weather?", id="zzz"),
    NewMessage(
        id="mmm",
        role="assistant",
        parts=[
            ReasoningPart(text="A tool knows."),
            ToolCallPart(tool_call_id="c", tool_name="weather", input={}),
        ],
    ),
    NewMessage(
        id="aaa",
        role="tool",
        parts=[ToolResultPart(tool_call_id="c", tool_name="weather", output="sunny")],
    ),
    NewMessage(id="000", role="assistant", parts=[TextPart(text="Sunny.")]),
]


@pytest.mark.parametrize(
    "rewrite",
    [
        "vacuum full strongroom.messages",
        "cluster strongroom.messages using a_message_id_is_used_once_in_a_tenant",
    ],
)
async def test_rows_of_one_transaction_keep_their_order_wherever_they_lie_b01(
    database: Database, store: Strongroom, admin: Connection, rewrite: str
) -> None:
    talk = await new_talk(store)
    async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
        for message in TURN:
            await uow.messages.append(**at(talk), messages=[message])
    rows = await all_messages(store, talk)
    assert len({row.created_at for row in rows}) == 1, "the fault needs ties"
    await admin.execute(rewrite)
    cursor = await admin.execute("select id from strongroom.messages order by ctid")
    physical = [row[0] for row in await cursor.fetchall()]
    if rewrite.startswith("cluster"):
        assert physical == ["000", "aaa", "mmm", "zzz"], "the rows were to lie in another order"
    for _ in range(50):
        page = await store.messages.list(**at(talk))
        assert [row.id for row in page.items] == ["zzz", "mmm", "aaa", "000"]
        assert page.items == tuple(rows)
        history = await store.summaries.history(**at(talk))
        assert history.messages == page.items
    latest = await store.messages.latest(**at(talk), limit=3)
    assert [row.id for row in latest.items] == ["mmm", "aaa", "000"]


async def test_twenty_connections_append_to_one_conversation_b03(every_database: Database) -> None:
    async with strongroom.connect(
        every_database.host_url, pool_min=20, pool_max=20, timeout=60
    ) as store:
        talk = await new_talk(store)

        async def write(writer: int) -> None:
            for step in range(5):
                if (writer + step) % 2:
                    for number in range(5):
                        await say(store, talk, f"{writer:02} {step} {number}")
                else:
                    done = await say(store, talk, *(f"{writer:02} {step} {n}" for n in range(5)))
                    positions = [item.position or 0 for item in done.items]
                    assert positions == list(range(positions[0], positions[0] + 5))

        await asyncio.gather(*(write(writer) for writer in range(20)))
        rows = await all_messages(store, talk)
    assert [row.position for row in rows] == list(range(1, 501))
    for writer in range(20):
        own = [text for text in texts_of(rows) if text.startswith(f"{writer:02} ")]
        assert own == sorted(own)
        assert len(own) == 25


async def test_a_writer_waits_for_the_one_before_and_goes_on_from_there_b03(
    store: Strongroom, blocked: Blocked
) -> None:
    talk = await new_talk(store)
    async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
        first = await say(uow, talk, "1", "2")
        waiting = asyncio.create_task(say(store, talk, "3"))
        await blocked(1)
        # Nobody sees a position before all lower ones are committed.
        assert await store.messages.count(**at(talk)) == 0
        assert not waiting.done()
    second = await waiting
    assert [item.position for item in (*first.items, *second.items)] == [1, 2, 3]


async def test_a_rolled_back_writer_leaves_no_gap_b03(store: Strongroom, blocked: Blocked) -> None:
    talk = await new_talk(store)
    with pytest.raises(ZeroDivisionError):
        async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
            await say(uow, talk, "lost", "lost")
            waiting = asyncio.create_task(say(store, talk, "kept"))
            await blocked(1)
            raise ZeroDivisionError
    assert [item.position for item in (await waiting).items] == [1]
    assert texts_of(await all_messages(store, talk)) == ["kept"]


async def test_writers_of_different_conversations_never_wait_b03(store: Strongroom) -> None:
    one = await new_talk(store)
    other: Conversation = await new_talk(store, one.tenant_id)
    async with store.unit_of_work(tenant_id=one.tenant_id) as uow:
        await say(uow, one, "1")
        async with asyncio.timeout(10):
            await say(store, other, "1")
            await store.session_state.put(**at(other), state={}, expected_version=0)
            await store.conversations.update(**at(other), title="x", expected_version=1)
            await store.conversations.create(tenant_id=one.tenant_id, owner_id=OWNER)
            await store.conversations.fork(**at(other))
            await store.tenants.add_member(tenant_id=one.tenant_id, principal_id=OWNER)
