"""Tasks are cancelled at random points on a small pool: writes are whole or absent, the pool healthy."""

import asyncio
import random

import pytest

import strongroom
from strongroom import NewMessage, TextPart
from tests.servers.databases import Database

TASKS = 200


async def one_append(
    store: strongroom.Strongroom, number: int, size: int
) -> tuple[strongroom.AppendItem, ...]:
    done = await store.messages.append(
        tenant_id="acme",
        conversation_id="talk",
        messages=[
            NewMessage(id=f"m{number}-{i}", role="user", parts=[TextPart(text=f"{number} {i}")])
            for i in range(size)
        ],
    )
    return done.items


async def one_unit(store: strongroom.Strongroom, number: int) -> None:
    async with store.unit_of_work(tenant_id="acme") as uow:
        for i in range(2):
            await uow.messages.append(
                tenant_id="acme",
                conversation_id="talk",
                messages=[NewMessage(id=f"u{number}-{i}", role="user", parts=[TextPart(text="u")])],
            )


@pytest.mark.parametrize("seed", range(3))
async def test_cancelled_writes_are_whole_or_absent_and_the_pool_stays_healthy(
    database: Database, seed: int
) -> None:
    chance = random.Random(seed)
    async with strongroom.connect(database.host_url, pool_min=1, pool_max=2) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        await store.conversations.create(tenant_id="acme", owner_id="ada", conversation_id="talk")
        sizes = {number: chance.choice([1, 2, 5]) for number in range(TASKS)}
        tasks: dict[int, asyncio.Task[object]] = {}
        for number in range(TASKS):
            running = (
                one_unit(store, number)
                if number % 4 == 0
                else one_append(store, number, sizes[number])
            )
            tasks[number] = asyncio.create_task(running)  # type: ignore[arg-type]
            if number % 3 == 0:
                # Anywhere: before it starts, in the queue of the pool, in the middle of the call.
                asyncio.get_running_loop().call_later(
                    chance.uniform(0, 0.05), tasks[chance.randrange(number + 1)].cancel
                )
            if number % 10 == 9:
                await asyncio.wait(list(tasks.values())[-3:], return_when=asyncio.FIRST_COMPLETED)
        outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
        cancelled = {n for n, o in enumerate(outcomes) if isinstance(o, asyncio.CancelledError)}
        failed = [o for o in outcomes if isinstance(o, Exception)]
        assert failed == []
        assert cancelled, "no task was cancelled: the test proves nothing"
        assert len(cancelled) < TASKS

        messages = []
        cursor = None
        while True:
            page = await store.messages.list(
                tenant_id="acme", conversation_id="talk", limit=500, after=cursor
            )
            messages += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        assert [m.position for m in messages] == list(range(1, len(messages) + 1))
        stored = {m.id for m in messages}
        for number in range(TASKS):
            prefix, size = ("u", 2) if number % 4 == 0 else ("m", sizes[number])
            ids = {f"{prefix}{number}-{i}" for i in range(size)}
            assert ids <= stored or (number in cancelled and not ids & stored)

        # The pool serves all its connections again, and a retry of everything completes it.
        for number in range(TASKS):
            await (
                one_unit(store, number)
                if number % 4 == 0
                else one_append(store, number, sizes[number])
            )
        total = sum(2 if n % 4 == 0 else sizes[n] for n in range(TASKS))
        assert await store.messages.count(tenant_id="acme", conversation_id="talk") == total
        both = await asyncio.gather(
            *(store.messages.count(tenant_id="acme", conversation_id="talk") for _ in range(20))
        )
        assert set(both) == {total}
