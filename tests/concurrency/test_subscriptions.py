"""Subscriptions over lost connections, restarts, poolers, and without NOTIFY: slow at worst, never silent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import psycopg
import pytest

import strongroom
from strongroom.errors import Unavailable
from strongroom.infrastructure import postgres_realtime
from strongroom.infrastructure.listening import CHANNEL
from strongroom.models.realtime import NewTopicEvent, TopicEvent
from tests.servers.databases import Database
from tests.servers.pgbouncer import PgBouncer
from tests.servers.server import LocalServer

PLACE = {"tenant_id": "acme", "topic": "talk"}


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[strongroom.Strongroom]:
    async with strongroom.connect(url, pool_max=4, **options) as store:
        if await store.tenants.find(tenant_id="acme") is None:
            await store.tenants.create(tenant_id="acme", name="Acme")
        yield store


async def publish(store: strongroom.Strongroom, count: int = 1) -> None:
    events = [NewTopicEvent(kind="k") for _ in range(count)]
    await store.realtime.publish(**PLACE, events=events)


async def take(events: AsyncIterator[TopicEvent], count: int) -> list[int]:
    async with asyncio.timeout(60):
        return [(await anext(events)).sequence for _ in range(count)]


def follow(store: strongroom.Strongroom, after: int = 0) -> Any:
    return aclosing(store.realtime.subscribe(**PLACE, after_sequence=after))


def listeners(database: Database) -> list[int]:
    with database.connect() as connection:
        rows = connection.execute(
            "select pid from pg_stat_activity where datname = current_database() and query = %s",
            [f"listen {CHANNEL}"],
        ).fetchall()
    return [row[0] for row in rows]


async def a_listener(database: Database) -> int:
    async with asyncio.timeout(30):
        while not (found := listeners(database)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found[0]


def patient(store: strongroom.Strongroom) -> Any:
    """The publisher, when it is only woken by being told: looking by itself takes too long."""
    realtime: Any = store.realtime
    realtime._poll_seconds = realtime._idle_seconds = 3600.0
    return realtime


async def test_an_event_is_told_when_its_transaction_commits(database: Database) -> None:
    async with opened(database.host_url) as store, follow(store) as events:
        patient(store)
        first = asyncio.create_task(take(events, 1))
        await a_listener(database)
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.realtime.publish(**PLACE, events=[NewTopicEvent(kind="k")])
            await asyncio.sleep(0.1)
            assert not first.done()
        assert await first == [1]
        for number in range(2, 20):
            await publish(store)
            assert await take(events, 1) == [number]


async def test_a_dropped_connection_loses_nothing_b05(database: Database) -> None:
    """The listening connection and the pool's are terminated again and again; all events come once."""
    total = 200
    async with opened(database.host_url) as store, opened(database.host_url) as publisher:
        patient(store)

        async def read() -> list[int]:
            async with follow(store) as events:
                return await take(events, total)

        reading = asyncio.create_task(read())
        killed = set()
        for number in range(total):
            await publish(publisher)
            if number % 20 == 0:
                pid = await a_listener(database)
                killed.add(pid)
                with database.connect() as connection:
                    connection.execute(
                        """select pg_terminate_backend(pid) from pg_stat_activity
                        where datname = current_database() and usename = %s
                            and pid <> pg_backend_pid()""",
                        [database.host],
                    )
        assert len(killed) == 10
        assert await reading == list(range(1, total + 1))


async def test_one_connection_listens_for_all_and_goes_with_the_last(database: Database) -> None:
    async with opened(database.host_url) as store:
        patient(store)
        async with contextlib.AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(follow(store)) for _ in range(5)]
            waiting = [asyncio.create_task(take(stream, 1)) for stream in streams]
            await a_listener(database)
            await publish(store)
            assert await asyncio.gather(*waiting) == [[1]] * 5
            assert len(listeners(database)) == 1
        async with asyncio.timeout(30):
            while listeners(database):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_a_restart_of_the_server_is_borne(
    durable_server: LocalServer, templates: Any
) -> None:
    templates_here = type(templates)(_OnePark(durable_server))
    database = templates_here.copy()
    async with opened(database.host_url) as store:

        async def read() -> list[int]:
            async with follow(store) as events:
                return await take(events, 4)

        reading = asyncio.create_task(read())
        await publish(store, 2)
        await a_listener(database)
        await asyncio.to_thread(durable_server.kill_hard)
        await asyncio.to_thread(durable_server.start)
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(Unavailable):
                    await store.realtime.publish(
                        **PLACE, events=[NewTopicEvent(id=i, kind="k") for i in ("c", "d")]
                    )
                    break
        assert await reading == [1, 2, 3, 4]


class _OnePark:
    """A park of one server, for templates on it."""

    def __init__(self, server: LocalServer) -> None:
        self._server = server

    def get(self, _name: str | None = None, _kind: str = "main") -> LocalServer:
        return self._server


async def test_a_database_that_stays_away_is_an_error(
    durable_server: LocalServer, templates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_realtime, "PATIENCE", 0.5)
    database = type(templates)(_OnePark(durable_server)).copy()
    async with opened(database.host_url, timeout=2.0) as store, follow(store) as events:
        await publish(store)
        assert await take(events, 1) == [1]
        reading = asyncio.create_task(take(events, 1))
        await a_listener(database)
        await asyncio.to_thread(durable_server.kill_hard)
        with pytest.raises(Unavailable):
            await reading


async def test_behind_a_transaction_pooler_it_polls(
    database: Database, make_pgbouncer: Callable[..., PgBouncer]
) -> None:
    bouncer = make_pgbouncer(database.server, pool_size=2)
    async with opened(bouncer.url(database), pooler="transaction") as store:
        realtime: Any = store.realtime
        realtime._poll_seconds = 0.05
        async with follow(store) as events:
            reading = asyncio.create_task(take(events, 3))
            await publish(store, 2)
            await publish(store)
            assert await reading == [1, 2, 3]
            assert listeners(database) == []


async def test_a_pooler_that_nobody_spoke_of_makes_it_slow_and_not_deaf(
    database: Database, make_pgbouncer: Callable[..., PgBouncer]
) -> None:
    """LISTEN through a transaction pooler succeeds and tells nothing."""
    bouncer = make_pgbouncer(database.server, pool_size=2)
    async with opened(bouncer.url(database)) as store:
        realtime: Any = store.realtime
        realtime._poll_seconds = 0.05
        realtime._idle_seconds = 0.5
        async with follow(store) as events:
            for number in range(1, 6):
                await publish(store)
                assert await take(events, 1) == [number]


async def test_without_notify_it_polls_b75(database: Database) -> None:
    with database.connect() as connection:
        connection.execute(
            f"alter role {database.host} in database {database.name} set strongroom.notify = 'off'"
        )
    async with opened(database.host_url) as store:
        realtime: Any = store.realtime
        realtime._poll_seconds = 0.05
        with database.connect() as spy:
            spy.execute(f"listen {CHANNEL}")
            async with follow(store) as events:
                reading = asyncio.create_task(take(events, 2))
                await publish(store, 2)
                assert await reading == [1, 2]
            assert list(spy.notifies(timeout=0.2)) == []


async def test_a_failing_notify_fails_no_write_b75(database: Database) -> None:
    broken = """
        create or replace function strongroom_private.{name}
        returns void language plpgsql volatile set search_path = pg_catalog, pg_temp as
        $$ begin raise exception 'the channel is broken'; end $$
    """
    with database.connect(user=database.migrator) as connection:
        connection.execute(
            broken.format(
                name="notify_topic(p_tenant_id text, p_topic text, p_sequence bigint)"
            ).encode()
        )
    heard: list[str] = []
    async with (
        await psycopg.AsyncConnection.connect(database.host_url, autocommit=True) as connection,
        strongroom.connect(connection=connection) as store,
    ):
        connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        await store.tenants.create(tenant_id="acme", name="Acme")
        async with store.unit_of_work(tenant_id="acme") as uow:
            talk = await uow.conversations.create(tenant_id="acme", owner_id="ada")
            await uow.messages.append(
                tenant_id="acme",
                conversation_id=talk.id,
                messages=[
                    strongroom.NewMessage(
                        role="user", parts=[strongroom.TextPart(text="x" * 20_000)]
                    )
                ],
            )
            await uow.realtime.publish(**PLACE, events=[NewTopicEvent(kind="k")])
        assert await store.messages.count(tenant_id="acme", conversation_id=talk.id) == 1
        assert len(await store.realtime.list(**PLACE)) == 1
    assert any("the channel is broken" in message for message in heard)


def test_only_ids_are_told_b75(database: Database) -> None:
    with database.connect(user=database.host) as host, database.connect() as spy:
        host.execute("select strongroom.create_tenant(%s, 'Acme')", ["\x01" * 255])
        spy.execute(f"listen {CHANNEL}")
        host.execute(
            "select strongroom.publish_events(%s, %s, %s)",
            [
                "\x01" * 255,
                "\x02" * 255,
                '[{"kind": "k", "payload": {"secret": "' + "x" * 4000 + '"}}]',
            ],
        )
        (told,) = spy.notifies(timeout=5, stop_after=1)
    assert "secret" not in told.payload
    assert 3000 < len(told.payload.encode()) < 8000


def test_workers_are_told_of_runs_unless_notify_is_off_b75(database: Database) -> None:
    with database.connect() as listener, database.connect(user=database.host) as host:
        listener.execute("listen strongroom_work")
        host.execute("select strongroom.create_tenant('t', 'T')")
        host.execute(
            "select strongroom.create_conversation('t', 'u', 'c' || i) from unnest('{1,2}'::int[]) as i"
        )
        host.execute("select strongroom.create_run('t', 'c1')")
        host.execute("set strongroom.notify = 'off'")
        host.execute("select strongroom.create_run('t', 'c2')")
        host.execute("select pg_notify('strongroom_work', 'end')")
        told = [notify.payload for notify in listener.notifies(timeout=20, stop_after=2)]
    assert told == ["run", "end"]
