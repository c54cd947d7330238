"""A reader that polls by position beside many writers never misses a message."""

import asyncio
import random

import psycopg

import strongroom
from strongroom import NewMessage, TextPart
from tests.servers.databases import Database

WRITERS = 8
BATCHES = 60


async def write(store: strongroom.Strongroom, writer: int) -> int:
    chance = random.Random(writer)
    written = 0
    for number in range(BATCHES):
        size = chance.choice([1, 1, 3, 10])
        messages = [
            NewMessage(id=f"w{writer}-{number}-{i}", role="user", parts=[TextPart(text="x")])
            for i in range(size)
        ]
        if number % 5 == 0:
            # Hold the conversation for a while: more of it, with another call in the same unit.
            async with store.unit_of_work(tenant_id="acme") as uow:
                await uow.messages.append(
                    tenant_id="acme", conversation_id="talk", messages=messages
                )
                await uow.messages.count(tenant_id="acme", conversation_id="talk")
                await asyncio.sleep(0)
        else:
            await store.messages.append(tenant_id="acme", conversation_id="talk", messages=messages)
        written += size
    return written


async def read(store: strongroom.Strongroom, writing: asyncio.Future[list[int]]) -> list[int]:
    seen: list[int] = []
    position = 0
    while True:
        finished = writing.done()
        page = await store.messages.list(
            tenant_id="acme", conversation_id="talk", after_position=position, limit=37
        )
        for message in page.items:
            seen.append(message.position)
            position = message.position
        if finished and not page.items:
            return seen


async def test_a_reader_that_polls_by_position_misses_nothing(database: Database) -> None:
    async with (
        strongroom.connect(database.host_url, pool_max=WRITERS) as writers,
        strongroom.connect(database.host_url, pool_max=1) as reader,
    ):
        await writers.tenants.create(tenant_id="acme", name="Acme")
        await writers.conversations.create(tenant_id="acme", owner_id="ada", conversation_id="talk")
        writing = asyncio.gather(*(write(writers, number) for number in range(WRITERS)))
        seen, written = await asyncio.gather(read(reader, writing), writing)
    # Each position once, none skipped: had a lower position been committed after a higher one was
    # read, the reader would have passed it and the list would have a gap.
    assert seen == list(range(1, sum(written) + 1))


async def test_an_open_append_holds_back_later_positions_of_its_conversation_only(
    database: Database,
) -> None:
    """The reason for the property above, with the interleaving forced."""
    async with strongroom.connect(database.host_url, pool_max=4) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        for name in ("talk", "other"):
            await store.conversations.create(tenant_id="acme", owner_id="ada", conversation_id=name)

        def message(name: str) -> NewMessage:
            return NewMessage(id=name, role="user", parts=[TextPart(text=name)])

        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.messages.append(
                tenant_id="acme", conversation_id="talk", messages=[message("first")]
            )
            waiting = asyncio.create_task(
                store.messages.append(
                    tenant_id="acme", conversation_id="talk", messages=[message("second")]
                )
            )
            await until_blocked(database)
            # Another conversation of the same tenant waits for nobody.
            done = await store.messages.append(
                tenant_id="acme", conversation_id="other", messages=[message("elsewhere")]
            )
            assert done.items[0].position == 1
            page = await store.messages.list(tenant_id="acme", conversation_id="talk")
            assert page.items == ()
            assert not waiting.done()
        items = (await waiting).items
        assert [(i.outcome, i.position) for i in items] == [("inserted", 2)]


async def until_blocked(database: Database) -> None:
    """Return when one session of this database is seen waiting for a lock."""
    async with await psycopg.AsyncConnection.connect(
        database.admin_url, autocommit=True
    ) as connection:
        while True:
            cursor = await connection.execute(
                "select count(*) from pg_stat_activity"
                " where datname = %s and wait_event_type = 'Lock'",
                [database.name],
            )
            row = await cursor.fetchone()
            if row is not None and row[0] > 0:
                return
