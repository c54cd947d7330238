"""The way up and the way back: whole, repeatable, and never at the cost of somebody's data."""

from __future__ import annotations

from collections.abc import Callable
from typing import LiteralString

import psycopg
import pytest

from tests.migrations import stories
from tests.migrations.steps import (
    STEPS,
    catalog,
    drifts,
    go_down,
    go_up,
    objects,
    query,
    refusal,
    skipped,
    version_of,
)
from tests.servers import NEWEST_AND_OLDEST, Database
from tests.servers.databases import copy_of, grant_host, run_script

EmptyDatabase = Callable[..., Database]


@pytest.mark.parametrize("server", NEWEST_AND_OLDEST)
def test_up_and_down_twice_leaves_nothing(server: str, make_database: EmptyDatabase) -> None:
    """On the newest and on the oldest server; that all servers get one schema is seen in test_installs."""
    database = make_database(server=server, installed=False)
    for step in STEPS:
        before = catalog(database)
        rows = objects(database)
        installed = []
        for _ in range(2):
            go_up(database, step.version, after=step.version - 1)
            installed.append(objects(database))
            if step.name == "vectors":
                # A column and its comment, where the server has pgvector; nothing where it has not.
                assert len(installed[-1]) == len(rows) + (0 if skipped(database) else 2)
            else:
                assert len(installed[-1]) > len(rows) + 50, step
            go_down(database, step.version - 1)
            assert objects(database) == rows, step
            assert catalog(database) == before, step
        assert installed[0] == installed[1], step
        go_up(database, step.version, after=step.version - 1)


@pytest.mark.parametrize("way", ["superuser", "owner", "owner_bare", "supabase"])
def test_all_the_way_down_and_up_again(way: str, make_database: EmptyDatabase) -> None:
    database = make_database(way, installed=False)
    before = catalog(database)
    go_up(database)
    go_down(database)
    assert catalog(database) == before
    assert (
        query(
            database,
            "select nspname from pg_namespace where nspname like 'strongroom%'",
        )
        == []
    )
    go_up(database)
    grant_host(database)
    assert drifts(database) == []
    stories.fill_all(database)


def test_every_step_back_leaves_a_schema_that_works(make_database: EmptyDatabase) -> None:
    database = make_database()
    go_down(database, 1)
    assert version_of(database) == 1
    assert drifts(database, 1) == []
    assert query(database, "select * from strongroom_private.list_grant_differences()") == []
    stories.fill(database, 1)
    go_up(database, after=1)
    assert drifts(database) == []
    assert query(database, "select * from strongroom_private.list_grant_differences()") == []
    stories.fill_all(database, after=1)


@pytest.mark.parametrize("way", ["superuser", "owner", "owner_bare"])
def test_a_way_back_that_would_lose_data_is_refused(way: str, make_database: EmptyDatabase) -> None:
    """At every version; also where row security hides the rows from the owner who runs it."""
    database = make_database(way, installed=False)
    for step in STEPS:
        go_up(database, step.version, after=step.version - 1)
        grant_host(database)
        stories.fill(database, step.version)
        kept = stories.contents(database)
        with pytest.raises(psycopg.Error) as caught:
            go_down(database, step.version - 1)
        code, message, detail = refusal(caught.value)
        assert code == "SR041", step
        assert stories.FIRST_TABLE[step.version] in message
        assert detail == {"version": step.version, "table": stories.FIRST_TABLE[step.version]}
        assert drifts(database, step.version) == []
        assert stories.contents(database) == kept, step

        with copy_of(database) as copy:
            go_down(copy, step.version - 1, allow_data_loss=True)
            assert version_of(copy) == step.version - 1


@pytest.mark.parametrize("table", ["strongroom.memberships", "strongroom.tenants"])
def test_no_table_is_forgotten(table: str, database: Database) -> None:
    """Each table that has rows of users stands in the list of some way back."""
    listed = {
        name.strip()
        for step in STEPS
        for name in step.down.split("begin_reversal(")[1].split("{")[1].split("}")[0].split(",")
    }
    tables = {
        name
        for (name,) in query(
            database,
            "select c.oid::regclass::text from pg_class as c where c.relkind = 'r'"
            " and c.relnamespace = 'strongroom'::regnamespace and c.relname <> 'schema_history'",
        )
    }
    assert table in tables
    assert listed == tables


def test_the_setting_does_not_outlive_its_transaction(database: Database) -> None:
    stories.fill_all(database)
    with database.connect(user=database.migrator) as connection:
        with connection.transaction(force_rollback=True):
            connection.execute("set local strongroom.allow_data_loss = 'on'")
            connection.execute(STEPS[-1].down.encode())
        with pytest.raises(psycopg.Error) as caught:
            run_script(connection, STEPS[-1].down)
    assert refusal(caught.value)[0] == "SR041"
    assert drifts(database) == []


DEPENDENTS: list[tuple[int, LiteralString, str]] = [
    (
        1,
        'create table public.notes (tenant_id text collate "C" references strongroom.tenants)',
        "public.notes",
    ),
    (1, "create view public.customers as select t.name from strongroom.tenants as t", "customers"),
    (
        1,
        (
            "create table public.mine (t text); create policy p on public.mine"
            " using (t = strongroom_private.current_tenant())"
        ),
        "policy p on table public.mine",
    ),
    (1, "create table strongroom.extras (id int)", "table strongroom.extras"),
    (1, "create function strongroom_private.extra() returns int language sql return 1", "extra()"),
    (
        2,
        (
            'create table public.marks (t text collate "C", c text collate "C",'
            " foreign key (t, c) references strongroom.conversations)"
        ),
        "public.marks",
    ),
    (
        2,
        "create view public.said as select m.parts from strongroom.messages as m",
        "view public.said",
    ),
    (2, "create table public.kept (c strongroom.created_conversation)", "public.kept"),
    (
        2,
        (
            "create function public.f() returns setof strongroom.message_parts language sql"
            " as 'select * from strongroom.message_parts'"
        ),
        "function public.f()",
    ),
]


@pytest.mark.parametrize("dependent", DEPENDENTS, ids=lambda dependent: dependent[2])
def test_what_users_have_built_on_it_stops_the_way_back(
    dependent: tuple[int, LiteralString, str], make_database: EmptyDatabase
) -> None:
    version, statement, name = dependent
    database = make_database(installed=False)
    go_up(database, version)
    with database.connect() as connection:
        connection.execute(statement)
    before = objects(database)
    with pytest.raises(psycopg.errors.DependentObjectsStillExist) as caught:
        go_down(database, version - 1)
    assert name.split()[-1].removeprefix("public.") in str(caught.value.diag.message_detail)
    assert objects(database) == before
    assert version_of(database) == version


def test_only_the_newest_is_taken_back(database: Database) -> None:
    with database.connect() as connection, pytest.raises(psycopg.Error) as caught:
        run_script(connection, STEPS[0].down)
    code, _, detail = refusal(caught.value)
    assert (code, detail) == ("SR041", {"version": 1})
    assert drifts(database) == []
