"""Connections: B67 (dead ones) and B69 (units of work in a small pool)."""

# ruff: noqa: PT012 (a unit of work is a block)

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

import strongroom
import strongroom.sync
from strongroom.client import Strongroom
from strongroom.conformance.helpers import (
    OWNER,
    Where,
    all_messages,
    at,
    new_talk,
    new_tenant,
    said,
    say,
)
from strongroom.errors import (
    InvalidArgument,
    InvalidText,
    NotFound,
    StrongroomError,
    Unavailable,
)
from strongroom.transports.psycopg import Connection
from tests.servers import Database, LocalServer, PgBouncer
from tests.servers.databases import VARIANTS, grant_host, install

KILL_ALL = """
    select count(pg_terminate_backend(pid))
    from pg_stat_activity
    where datname = current_database()
        and pid <> pg_backend_pid()
        and backend_type = 'client backend'
"""


async def _kill_all(admin: Connection) -> int:
    row = await (await admin.execute(KILL_ALL)).fetchone()
    assert row is not None
    return int(row[0])


async def test_killed_connections_are_replaced_without_the_caller_noticing_b67(
    database: Database, admin: Connection
) -> None:
    async with strongroom.connect(database.host_url, pool_min=3, pool_max=3) as store:
        talk = await new_talk(store)
        for number in range(5):
            assert await _kill_all(admin) >= 3
            calls = await asyncio.gather(
                store.messages.append(**at(talk), messages=[said(str(number), id=f"m{number}")]),
                store.conversations.get(**at(talk)),
                store.tenants.get(tenant_id=talk.tenant_id),
                store.messages.list(**at(talk)),
            )
            assert [item.outcome for item in calls[0].items] == ["inserted"]
        assert [row.id for row in await all_messages(store, talk)] == [f"m{n}" for n in range(5)]


async def test_killed_behind_a_pooler_b67(
    database: Database, admin: Connection, make_pgbouncer: Callable[..., PgBouncer]
) -> None:
    url = make_pgbouncer(database.server, pool_size=2).url(database)
    async with strongroom.connect(url, pooler="transaction", pool_max=4) as store:
        talk = await new_talk(store)
        for number in range(3):
            await _kill_all(admin)
            done = await store.messages.append(
                **at(talk), messages=[said(str(number), id=f"m{number}")]
            )
            assert done.items[0].position == number + 1


async def test_a_restarted_server_is_found_again_b67(durable_server: LocalServer) -> None:
    database = _install(durable_server)
    async with strongroom.connect(database.host_url, pool_min=2, pool_max=2, timeout=3) as store:
        talk = await new_talk(store)
        await say(store, talk, "before")
        await asyncio.to_thread(durable_server.stop)
        # While it is down: a typed error within the time that the caller has set, never a hang.
        async with asyncio.timeout(10):
            with pytest.raises(Unavailable) as caught:
                await store.messages.append(**at(talk), messages=[said("down", id="m")])
        assert caught.value.retryable
        await asyncio.to_thread(durable_server.start)
        assert await _until_available(store, at(talk)) == "inserted"
        assert len(await all_messages(store, talk)) == 2


def _install(server: LocalServer) -> Database:
    way = VARIANTS["superuser"]
    database = way.describe(server, server.create_database())
    way.prepare(server, database.name)
    install(database)
    grant_host(database)
    return database


async def _until_available(store: Strongroom, where: Where) -> str:
    async with asyncio.timeout(60):
        while True:
            try:
                done = await store.messages.append(**where, messages=[said("back", id="m")])
            except Unavailable:
                continue
            return done.items[0].outcome


async def test_a_unit_of_work_needs_one_connection_b69(database: Database) -> None:
    async with strongroom.connect(database.host_url, pool_min=1, pool_max=1, timeout=5) as store:
        tenant_id = await new_tenant(store)
        with pytest.raises(NotFound):
            async with store.unit_of_work(tenant_id=tenant_id) as uow:
                talk = await uow.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
                await say(uow, talk, "1")
                async with uow.unit_of_work(tenant_id=tenant_id) as inner:
                    await inner.session_state.put(**at(talk), state={}, expected_version=0)
                await uow.summaries.append(**at(talk), text="s", covers_to_position=1)
                await uow.messages.get(tenant_id=tenant_id, message_id="absent")
        assert (await store.conversations.list(tenant_id=tenant_id)).items == ()


async def test_as_many_units_as_connections_never_wait_for_each_other_b69(
    every_database: Database,
) -> None:
    async with strongroom.connect(
        every_database.host_url, pool_min=4, pool_max=4, timeout=10
    ) as store:
        tenant_id = await new_tenant(store)
        all_inside = asyncio.Barrier(4)

        async def work() -> str:
            async with store.unit_of_work(tenant_id=tenant_id) as uow:
                talk = await uow.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
                await all_inside.wait()  # from here on the pool is empty
                await say(uow, talk, "1")
                await uow.session_state.put(**at(talk), state={}, expected_version=0)
                await uow.tenants.get(tenant_id=tenant_id)
            return talk.id

        made = await asyncio.gather(*(work() for _ in range(4)))
        page = await store.conversations.list(tenant_id=tenant_id)
        assert {talk.id for talk in page.items} == set(made)


async def test_an_empty_pool_is_a_typed_error_b69(database: Database) -> None:
    async with strongroom.connect(database.host_url, pool_min=1, pool_max=1, timeout=0.2) as store:
        tenant_id = await new_tenant(store)
        async with store.unit_of_work(tenant_id=tenant_id):
            with pytest.raises(Unavailable) as caught:
                await store.tenants.get(tenant_id=tenant_id)
            assert caught.value.retryable
        assert (await store.tenants.get(tenant_id=tenant_id)).version == 1


async def test_a_session_that_the_server_ends_is_a_lost_connection_b67(
    database: Database, admin: Connection
) -> None:
    """Limits on sessions: an idle one is replaced, a unit that waited is told, and is gone."""
    tenant_id = "ended"

    async def until_ended() -> None:
        async with asyncio.timeout(20):
            while (await (await admin.execute(SESSIONS)).fetchall()) != []:
                pass

    limited = database.url(user="app_host", options="-c idle_session_timeout=50ms")
    async with strongroom.connect(limited, pool_max=1) as store:
        await until_ended()
        await store.tenants.create(tenant_id=tenant_id, name="Ended")
        await until_ended()
        assert (await store.health()).schema_version
    limited = database.url(user="app_host", options="-c idle_in_transaction_session_timeout=50ms")
    async with strongroom.connect(limited, pool_max=1) as store:
        with pytest.raises(Unavailable, match="idle-in-transaction") as caught:
            async with store.unit_of_work(tenant_id=tenant_id) as uow:
                await uow.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
                await until_ended()
        assert "outside of units of work" in str(caught.value.hint)
        assert (await store.conversations.list(tenant_id=tenant_id)).items == ()


@pytest.mark.parametrize("encoding", ["latin1", "sql_ascii"])
async def test_an_encoding_of_the_role_loses_no_character_b47(
    database: Database, encoding: str
) -> None:
    name = "Ünïcödé 📦"
    url = database.url(user="app_host", client_encoding=encoding)
    async with strongroom.connect(url) as store:
        await store.tenants.create(tenant_id=encoding, name=name)
        assert (await store.tenants.get(tenant_id=encoding)).name == name
    if encoding == "latin1":
        async with (
            await psycopg.AsyncConnection.connect(url, autocommit=True) as theirs,
            strongroom.connect(connection=theirs) as store,
        ):
            with pytest.raises(InvalidText, match="client_encoding is LATIN1"):
                await store.tenants.create(tenant_id="theirs", name=name)
            with pytest.raises(InvalidText):
                await store.tenants.get(tenant_id=encoding)


@pytest.mark.parametrize(
    "options",
    [{"row_factory": dict_row}, {"cursor_factory": psycopg.AsyncRawCursor, "autocommit": False}],
    ids=["rows that are dicts", "cursors that are raw"],
)
async def test_a_pool_or_connection_may_be_set_to_what_its_owner_likes_b67(
    database: Database, options: dict[str, Any]
) -> None:
    """One pool for LangGraph and for this: its rows are dicts."""
    options = {"autocommit": True, **options}
    pool = AsyncConnectionPool[Any](database.admin_url, kwargs=options, min_size=1, open=False)
    async with (
        pool,
        await psycopg.AsyncConnection.connect(database.admin_url, **options) as connection,
        strongroom.connect(pool=pool) as on_pool,
        strongroom.connect(connection=connection) as on_connection,
    ):
        for store in (on_pool, on_connection):
            talk = await new_talk(store)
            async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
                await say(uow, talk, "%s $1 %% 'q'")
            assert [m.position for m in await all_messages(store, talk)] == [1]
            assert (await store.health()).schema_version == store.schema.target_version()
            assert await store.schema.plan() == ()
    with database.connect() as blocking, pytest.raises(InvalidArgument, match="of another kind"):
        async with strongroom.connect(connection=blocking):  # type: ignore[arg-type]
            pytest.fail("it opened")


FORKING = """
import os, sys, strongroom.sync

def told(look):
    try:
        return look()
    except strongroom.InvalidTransition as error:
        return f"{error.code}: {error.hint}"

with strongroom.sync.connect(sys.argv[1]) as store:
    store.tenants.create(tenant_id="parent", name="Parent")
    if os.fork() == 0:
        print(told(lambda: store.tenants.get(tenant_id="parent").name), flush=True)
        print(told(lambda: store.unit_of_work(tenant_id="parent").__enter__()), flush=True)
        with strongroom.sync.connect(sys.argv[1]) as own:
            print(own.tenants.get(tenant_id="parent").name, flush=True)
        os._exit(0)
    os.wait()
    print(store.tenants.get(tenant_id="parent").name)
"""


def test_a_child_is_refused_its_parents_connections_b67(database: Database) -> None:
    """Two processes on one socket read each other's answers, which may be another tenant's."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING, database.host_url],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["SR030", "SR030", "Parent", "Parent"]
    assert "after the fork" in lines[0]


SESSIONS = """
    select pid
    from pg_stat_activity
    where datname = current_database()
        and usename = 'app_host'
"""

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("url", "error", "told"),
    [
        ("postgresql://app_host:s3cr3t@127.0.0.1:1/db", Unavailable, "port 1 failed"),
        ("postgresql://app_host:@s3cr3t@127.0.0.1:1/db", InvalidArgument, "%40"),
        ("postgresql://app_host:a@s3cr3t/a@127.0.0.1:1/db", InvalidArgument, "%2F"),
        ("postgresql://app_host:s3cr3t/a@127.0.0.1:1/db", InvalidArgument, "%2F"),
        ("postgresql://app_host:%s3cr3t@127.0.0.1:1/db", InvalidArgument, "%25"),
        (
            "postgresql://app_host:s3cr3t@127.0.0.1:1/db?pgbouncer=true",
            InvalidArgument,
            "parameters",
        ),
        ("host=127.0.0.1 password='s3cr3t", InvalidArgument, "parameters"),
    ],
)
async def test_what_cannot_be_reached_says_why_and_no_secret_b67(
    url: str, error: type[StrongroomError], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(error) as caught:
        async with strongroom.connect(url, timeout=0.3):
            pytest.fail("it opened")
    assert told in f"{caught.value} {caught.value.hint}"
    assert SECRET not in f"{caught.value} {caught.value.detail} {caught.value.hint} {caplog.text}"
    with pytest.raises(error), strongroom.sync.connect(url, timeout=0.3):
        pytest.fail("it opened")
