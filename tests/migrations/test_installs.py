"""The same schema, and a working one, whoever installs it and on whichever server."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import psycopg
import pytest

from strongroom import drift
from tests.migrations import stories
from tests.migrations.steps import FINGERPRINT, STEPS, drifts, objects, query
from tests.servers import Database, LocalServer


def test_the_fingerprint_knows_every_migration() -> None:
    assert FINGERPRINT["version"] == len(STEPS)
    newest = {max(map(int, history)) for history in FINGERPRINT["objects"].values()}
    assert newest == set(range(1, len(STEPS) + 1))


def test_each_server_gets_the_same_schema(every_database: Database) -> None:
    assert drifts(every_database) == []


def test_each_way_of_installing_gets_the_same_schema(every_install: Database) -> None:
    assert drifts(every_install) == []


def test_each_way_of_installing_leaves_the_published_rights(every_install: Database) -> None:
    assert query(every_install, "select * from strongroom_private.list_grant_differences()") == []


def test_a_host_may_read_the_catalog_for_drift(every_install: Database) -> None:
    with stories.as_host(every_install) as connection:
        rows = connection.execute(drift.QUERY).fetchall()
    assert rows == objects(every_install)


def test_settings_of_the_session_do_not_look_like_drift(database: Database) -> None:
    wanted = objects(database)
    with database.connect() as connection:
        connection.execute("set search_path = strongroom, strongroom_private, public")
        connection.execute("set quote_all_identifiers = on")
        connection.execute("set timezone = 'Asia/Kathmandu'")
        connection.execute("set datestyle = 'SQL, DMY'")
        connection.execute("set intervalstyle = sql_standard")
        connection.execute("set bytea_output = escape")
        connection.execute("set standard_conforming_strings = off")
        assert connection.execute(drift.QUERY).fetchall() == wanted
        # And they are as they were.
        assert connection.execute("show datestyle").fetchone() == ("SQL, DMY",)


def test_a_dump_that_is_restored_has_not_drifted(
    database: Database, empty_database: Database
) -> None:
    """And works: PostgreSQL may write a definition otherwise than it was read, which is no change.

    A check that begins with ``between`` and goes on with ``and`` is such a one.
    """
    stories.fill(database, 1)
    with stories.as_host(database) as connection:
        assert stories.create(connection, "acme", "ada", "before") == "inserted"
    server = database.server
    if not isinstance(server, LocalServer):
        pytest.skip("the programs of somebody else's server are not known")
    dumped = subprocess.run(
        [server.binaries / "pg_dump", "--dbname", database.admin_url],
        check=True,
        capture_output=True,
    ).stdout
    subprocess.run(
        [server.binaries / "psql", "--quiet", "--set", "ON_ERROR_STOP=1", empty_database.admin_url],
        input=dumped,
        check=True,
        capture_output=True,
    )
    assert drifts(empty_database) == []
    assert query(empty_database, "select * from strongroom_private.list_grant_differences()") == []
    with stories.as_host(empty_database) as connection:
        assert stories.conversations(connection, "acme") == ["before"]
        assert stories.create(connection, "acme", "ada", "before") == "duplicate"


def test_a_host_works(every_install: Database) -> None:
    stories.fill(every_install, 1)
    with stories.as_host(every_install) as connection:
        assert stories.create(connection, "acme", "ada", "talk") == "inserted"
        assert stories.create(connection, "acme", "ada", "talk") == "duplicate"
        assert stories.append(connection, "acme", "talk") == [("inserted", 1)]
        assert stories.append(connection, "acme", "talk") == [("duplicate", 1)]
        assert stories.texts(connection, "acme", "talk") == [("Grüße 🌍",)]
        assert stories.conversations(connection, "acme") == ["talk"]
        assert stories.conversations(connection, "umbrella") == []


@pytest.fixture(params=["superuser", "owner", "supabase"])
def with_users(request: pytest.FixtureRequest, make_database: Callable[..., Database]) -> Database:
    """A database with end users and two tenants, by each way of installing that has them."""
    database: Database = make_database(request.param)
    stories.fill(database, 1)
    return database


def test_users_work_through_definer_functions(with_users: Database) -> None:
    with stories.as_user(with_users, "ada", "acme") as connection:
        assert stories.create(connection, "acme", "ada", "mine") == "inserted"
        assert stories.append(connection, "acme", "mine") == [("inserted", 1)]
        assert stories.append(connection, "acme", "mine") == [("duplicate", 1)]
        assert stories.texts(connection, "acme", "mine") == [("Grüße 🌍",)]
        assert stories.conversations(connection, "acme") == ["mine"]
        connection.execute("select * from strongroom.soft_delete_conversation('acme', 'mine')")
        assert stories.conversations(connection, "acme") == []


def test_users_see_and_write_nothing_of_others(with_users: Database) -> None:
    with stories.as_user(with_users, "ada", "acme") as connection:
        stories.create(connection, "acme", "ada", "mine")
        stories.append(connection, "acme", "mine")
    for principal, tenant in (("eve", "umbrella"), ("grace", "acme")):
        for table in ("conversations", "messages"):
            with stories.as_user(with_users, principal, tenant) as connection:
                assert connection.execute(f"select from strongroom.{table}").fetchall() == []
    with stories.as_user(with_users, "eve", "umbrella") as connection:
        assert (
            stories.refused(connection, "select strongroom.list_conversations('acme')") == "SR021"
        )
    with stories.as_user(with_users, "grace", "acme") as connection:
        assert (
            stories.refused(
                connection, "select strongroom.soft_delete_conversation('acme', 'mine')"
            )
            == "SR010"
        )
    with stories.as_user(with_users, "eve", "umbrella") as connection:
        # Another tenant may use the same id.
        assert stories.create(connection, "umbrella", "eve", "mine") == "inserted"


@pytest.mark.parametrize("way", ["owner", "owner_bare"])
def test_row_security_binds_the_plain_owner(
    way: str, make_database: Callable[..., Database]
) -> None:
    database = make_database(way)
    stories.fill_all(database)
    tables = [
        table
        for (table,) in query(
            database,
            "select c.oid::regclass::text from pg_class as c join pg_attribute as a"
            " on a.attrelid = c.oid and a.attname = 'tenant_id' and c.relkind = 'r'"
            " where c.relnamespace = 'strongroom'::regnamespace",
        )
    ]
    assert len(tables) > 6
    with database.connect(user=database.migrator) as connection:
        for table in tables:
            count = f"select count(*), count(*) filter (where tenant_id <> 'acme') from {table}"
            assert connection.execute(count.encode()).fetchone() == (0, 0)
            with connection.transaction():
                connection.execute("select set_config('strongroom.tenant_id', 'acme', true)")
                seen = connection.execute(count.encode()).fetchone()
            assert seen
            assert seen[0] > 0, table
            assert seen[1] == 0, table
        with connection.transaction():
            connection.execute("select set_config('strongroom.tenant_id', 'acme', true)")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    "insert into strongroom.conversation_participants values"
                    " ('umbrella', 'talk', 'ada')"
                )


def test_only_the_role_is_a_finding(every_install: Database) -> None:
    with every_install.connect(user=every_install.migrator) as connection:
        found = connection.execute("select check_name from strongroom.diagnose()").fetchall()
        bypasses = connection.execute(
            "select rolsuper or rolbypassrls from pg_roles where rolname = current_user"
        ).fetchone()
    assert found == ([("role",)] if bypasses == (True,) else [])


def test_a_bare_owner_gets_the_host_role_later(make_database: Callable[..., Database]) -> None:
    """An administrator makes the role after the schema was installed without it."""
    database = make_database("owner_bare")
    assert query(database, "select to_regrole('strongroom_host')") == [(None,)]
    differences = "select count(*) from strongroom_private.list_grant_differences()"
    with database.connect() as connection:
        connection.execute("create role strongroom_host nologin")
    try:
        assert query(database, differences)[0][0] > 50
        with database.connect(user=database.migrator) as connection:
            connection.execute("select strongroom_private.apply_grants()")
        assert query(database, differences) == [(0,)]
    finally:
        with database.connect() as connection:
            connection.execute("drop owned by strongroom_host")
            connection.execute("drop role strongroom_host")


WRONG = [
    "grant usage on schema strongroom_private to public",
    "grant delete on strongroom.messages to public",
    "grant update (tenant_id) on strongroom.conversations to public",
    "grant select on strongroom.runs to strongroom_host with grant option",
    "grant usage on sequence strongroom.lock_tokens to public",
    "grant execute on function strongroom_private.apply_grants to public",
    "revoke execute on function strongroom.list_messages from strongroom_host",
]
WRITTEN = """
select p.oid::regprocedure::text as name, p.xmin::text as writer
from pg_proc as p
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
union all
select c.oid::regclass::text, c.xmin::text
from pg_class as c
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
"""


@pytest.mark.parametrize("way", ["owner", "supabase"])
def test_rights_that_differ_are_mended_and_no_others_written_again(
    way: str, make_database: Callable[..., Database]
) -> None:
    database = make_database(way)
    differences = "select count(*) from strongroom_private.list_grant_differences()"
    with database.connect(user=database.migrator) as connection:
        connection.execute("select strongroom_private.apply_grants()")
        before = dict(connection.execute(WRITTEN).fetchall())
        for number, wrong in enumerate(WRONG, 1):
            connection.execute(wrong.encode())
            assert connection.execute(differences.encode()).fetchone() == (number,), wrong
        connection.execute("select strongroom_private.apply_grants()")
        assert connection.execute(differences.encode()).fetchone() == (0,)
        after = dict(connection.execute(WRITTEN).fetchall())
    assert {name.split("(")[0] for name in before if after[name] != before[name]} == {
        "strongroom.messages",
        "strongroom.conversations",
        "strongroom.runs",
        "strongroom.lock_tokens",
        "strongroom.list_messages",
        "strongroom_private.apply_grants",
    }
