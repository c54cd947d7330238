"""The migration that needs pgvector: applied, or skipped with a reason and applied later."""

from __future__ import annotations

import json
from collections.abc import Callable

import psycopg
import pytest

import strongroom
from strongroom import MissingCapability
from strongroom.postgres import owner_connection
from strongroom.schema import SqlSchemaManager
from tests.migrations import stories
from tests.migrations.steps import STEPS, drifts, go_down, go_up, query, refusal, skipped
from tests.servers import Database, Server
from tests.servers.databases import grant_host, run_script

MakeDatabase = Callable[..., Database]
(VECTORS,) = (step for step in STEPS if step.name == "vectors")
HAVE_PGVECTOR = {"pg18", "pg16"}


def history(database: Database) -> list[tuple[str, str | None]]:
    return [
        (status, reason)
        for status, reason in query(
            database,
            "select status, reason from strongroom.schema_history where name = 'vectors'",
        )
    ]


def create_pgvector(database: Database, schema: str = "public") -> None:
    with database.connect() as connection:
        connection.execute(f'create schema if not exists "{schema}"'.encode())
        connection.execute(f'create extension vector with schema "{schema}"'.encode())
        connection.execute(f'grant usage on schema "{schema}" to {database.migrator}'.encode())


def embedded_is_found(database: Database) -> None:
    """Embed and search as a host."""
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        stored = connection.execute(
            "select outcome from strongroom.replace_source('acme', 'docs', 'v.md', %s)",
            [json.dumps([{"content": "near", "embedding": [1, 2, 3]}])],
        ).fetchall()
        assert stored == [("inserted",)]
        found = connection.execute(
            "select source_id is not null, number, round(score::numeric, 4), vector_method"
            " from strongroom.search_index('acme', 'docs', p_embedding => '[2, 4, 6]')"
            " order by score desc limit 1"
        ).fetchall()
        assert [(*row[:2], float(row[2]), row[3]) for row in found] == [(True, 1, 1.0, "exact")]


def test_each_server_says_what_it_has(every_server: Server, make_database: MakeDatabase) -> None:
    database = make_database(server=every_server.name)
    ((status, reason),) = history(database)
    if every_server.name in HAVE_PGVECTOR:
        assert (status, reason) == ("applied", None)
    else:
        assert (status, reason) == ("skipped", "the server has no pgvector")
    assert drifts(database) == []
    stories.fill_all(database)
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        found = connection.execute(
            "select content from strongroom.search_knowledge('acme', 'docs', p_text => 'parcel')"
        ).fetchall()
        assert found == [("Where is my parcel?",)]
        if status == "skipped":
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(
                    "select strongroom.search_knowledge('acme', 'docs', p_embedding => '[1, 1, 1]')"
                )
            code, _, detail = refusal(caught.value)
            assert (code, detail) == ("SR040", {"capability": "vector_search"})
            assert "create extension vector" in str(caught.value.diag.message_hint)


async def test_capabilities_are_those_of_the_database(
    every_server: Server, make_database: MakeDatabase
) -> None:
    database = make_database(server=every_server.name)
    has_it = every_server.name in HAVE_PGVECTOR
    async with strongroom.connect(database.host_url) as store:
        assert "full_text_search" in store.capabilities
        assert ("vector_search" in store.capabilities) == has_it
        assert (await store.health()).capabilities == tuple(sorted(store.capabilities))
        assert (await store.health()).status == "ok"
    if not has_it:
        with pytest.raises(MissingCapability) as caught:
            async with strongroom.connect(database.host_url, features=["vector_search"]):
                pytest.fail("it opened without a feature that is needed")
        assert "pgvector" in str(caught.value.hint)


async def test_the_embedded_server_has_vector_search() -> None:
    async with strongroom.connect("embedded:", features=["vector_search"]) as store:
        assert await store.schema.plan() == ()


def test_a_superuser_gets_pgvector_with_the_migration(make_database: MakeDatabase) -> None:
    database = make_database(installed=False, pgvector=False)
    go_up(database)
    grant_host(database)
    assert history(database) == [("applied", None)]
    assert query(
        database,
        "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'",
    ) == [("public",)]
    stories.fill_all(database)
    embedded_is_found(database)


def test_pgvector_goes_into_extensions_where_that_is(make_database: MakeDatabase) -> None:
    database = make_database(installed=False, pgvector=False)
    with database.connect() as connection:
        connection.execute("create schema extensions")
    go_up(database)
    assert query(
        database,
        "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'",
    ) == [("extensions",)]
    assert drifts(database) == []


async def test_it_is_applied_once_pgvector_is_there(make_database: MakeDatabase) -> None:
    """By an administrator, later, in whatever schema, with data and a later migration in between."""
    database = make_database("owner", installed=False, pgvector=False)
    go_up(database)
    grant_host(database)
    ((status, reason),) = history(database)
    assert status == "skipped"
    assert "may not create the extension vector" in str(reason)
    assert skipped(database) == [VECTORS.version]
    stories.fill_all(database)
    kept = stories.contents(database)
    manager = SqlSchemaManager(owner_connection(database.migrator_url))
    assert await manager.plan() == ()
    assert await manager.skipped() == {VECTORS.version: reason}
    await manager.apply()
    assert history(database) == [(status, reason)]

    create_pgvector(database, "Odd Schema")
    (change,) = await manager.plan()
    assert (change.version, change.name, change.action) == (VECTORS.version, "vectors", "apply")
    assert str(reason) in change.description
    await manager.apply()
    assert await manager.plan() == ()
    assert history(database) == [("applied", None)]
    assert await manager.current_version() == len(STEPS)
    assert drifts(database) == []
    now = stories.contents(database)
    for row in now["strongroom.chunks"]:
        assert row.pop("embedding") is None
    assert now == kept
    embedded_is_found(database)
    with database.connect(user=database.migrator) as connection, pytest.raises(psycopg.Error):
        run_script(connection, VECTORS.up)


def test_it_is_applied_after_later_ones(make_database: MakeDatabase) -> None:
    database = make_database("owner", installed=False, pgvector=False)
    go_up(database)
    later = len(STEPS) + 1
    with database.connect(user=database.migrator) as connection:
        run_script(
            connection,
            f"select strongroom_private.begin_migration({later}, 'later');"
            f"select strongroom_private.require_transaction({later});"
            f"select strongroom_private.finish_migration({later}, 'later')",
        )
        create_pgvector(database)
        run_script(connection, VECTORS.up)
    assert history(database) == [("applied", None)]
    assert query(database, "select count(*), max(version) from strongroom.schema_history") == [
        (later, later)
    ]


def test_a_pgvector_that_is_too_old_is_none(make_database: MakeDatabase) -> None:
    database = make_database(installed=False)
    with database.connect() as connection:
        connection.execute("update pg_extension set extversion = '0.7.4' where extname = 'vector'")
    go_up(database)
    assert history(database) == [("skipped", "pgvector is 0.7.4 here, and 0.8 is needed")]


def test_the_way_back_of_what_was_skipped_loses_nothing(make_database: MakeDatabase) -> None:
    database = make_database("owner", installed=False, pgvector=False)
    go_up(database, VECTORS.version)
    grant_host(database)
    for version in range(1, VECTORS.version + 1):
        stories.fill(database, version)
    go_down(database, VECTORS.version - 1)
    assert drifts(database, VECTORS.version - 1) == []
    go_up(database, VECTORS.version, after=VECTORS.version - 1)
    assert skipped(database) == [VECTORS.version]


def test_sources_no_longer_say_that_they_are_embedded(make_database: MakeDatabase) -> None:
    database = make_database("owner")
    stories.fill_all(database)
    go_down(database, VECTORS.version - 1, allow_data_loss=True)
    go_up(database, after=VECTORS.version - 1)
    assert query(database, "select embedding_model from strongroom.sources") == [(None,), (None,)]
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        stale = connection.execute(
            "select id from strongroom.list_stale_sources('acme', 'docs')"
        ).fetchall()
    assert stale == [("source",)]


@pytest.mark.parametrize("way", ["superuser", "owner", "owner_bare", "supabase"])
def test_pgvector_may_live_anywhere(way: str, make_database: MakeDatabase) -> None:
    """Also in a schema that hosts have no right to use: see VECTOR_SCHEMAS."""
    database = make_database(way)
    assert history(database) == [("applied", None)]
    stories.fill_all(database)
    embedded_is_found(database)
