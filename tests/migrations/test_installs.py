"""The same schema, and a working one, whoever installs it and on whichever server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import strongroom
from strongroom import drift
from tests.migrations import stories
from tests.migrations.steps import FINGERPRINT, STEPS, drifts, objects, query
from tests.servers import Database, LocalServer

README = Path(__file__).resolve().parents[2] / "README.md"


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


def test_rows_alone_are_restored_into_an_installed_schema(
    database: Database, make_database: Callable[..., Database]
) -> None:
    """What the README says to leave out is what migrations have written, and nothing else."""
    stories.fill(database, 1)
    with stories.as_host(database) as connection:
        assert stories.create(connection, "acme", "ada", "before") == "inserted"
        assert stories.append(connection, "acme", "before") == [("inserted", 1)]
    server = database.server
    if not isinstance(server, LocalServer):
        pytest.skip("the programs of somebody else's server are not known")
    installed = make_database("superuser")
    tables = query(
        installed,
        "select c.oid::regclass::text from pg_class as c where c.relkind in ('r', 'p')"
        " and c.relnamespace in ('strongroom'::regnamespace, 'strongroom_private'::regnamespace)",
    )
    written = {name for (name,) in tables if query(installed, f"select from {name} limit 1")}
    said = set(re.findall(r"--exclude-table-data=([\w.]+)", README.read_text(encoding="utf-8")))
    assert said == written
    dumped = subprocess.run(
        [
            *(server.binaries / "pg_dump", "--data-only", "--schema=strongroom*"),
            *(f"--exclude-table-data={name}" for name in sorted(said)),
            *("--dbname", database.admin_url),
        ],
        check=True,
        capture_output=True,
    ).stdout
    subprocess.run(
        [server.binaries / "psql", "--quiet", "--set", "ON_ERROR_STOP=1", installed.admin_url],
        input=b"set session_replication_role = replica;\n" + dumped,
        check=True,
        capture_output=True,
    )
    assert drifts(installed) == []
    with stories.as_host(installed) as connection:
        assert stories.conversations(connection, "acme") == ["before"]
        assert stories.append(connection, "acme", "before") == [("duplicate", 1)]


async def test_tokens_grow_although_the_sequences_fell_back(database: Database) -> None:
    """A switch to a logical replica brings rows, and no values of sequences."""
    sequences = query(
        database,
        "select sequencename from pg_sequences where schemaname = 'strongroom'"
        " and sequencename like '%\\_tokens'",
    )
    assert len(sequences) == 4
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        await store.conversations.create(tenant_id="acme", owner_id="ada", conversation_id="c")
        await store.runs.create(tenant_id="acme", conversation_id="c", run_id="r", input={})
        await store.jobs.enqueue(tenant_id="acme", kind="k", job_id="j")
        artifact = await store.artifacts.create(
            tenant_id="acme", conversation_id="c", name="a", text="x"
        )
        await store.blob_removals.schedule(tenant_id="acme", blob_key="b")

        async def tokens() -> list[int]:
            (run,) = await store.runs.claim_next(worker_id="w")
            (job,) = await store.jobs.claim(worker_id="w")
            lock = await store.locks.acquire(tenant_id="acme", name="l", owner_id="w")
            export = await store.artifacts.claim_export(
                tenant_id="acme", artifact_id=artifact.id, version=1, format="pdf", worker_id="w"
            )
            (removal,) = await store.blob_removals.claim(worker_id="w")
            assert lock is not None
            found = (run.claim_token, job.claim_token, lock.token, export.claim_token)
            assert None not in found
            return [int(token) for token in (*found, removal.claim_token) if token is not None]

        first = await tokens()
        with database.connect() as connection:
            for (name,) in sequences:
                connection.execute(f"select setval('strongroom.{name}', 1, false)")
            for change in (
                "runs set lease_expires_at = now(), claimable_at = null, is_ready = true",
                "jobs set lease_expires_at = now(), claimable_at = null, is_ready = true",
                "locks set expires_at = now()",
                "artifact_exports set lease_expires_at = now()",
                "blob_removals set due_at = now()",
            ):
                connection.execute(f"update strongroom.{change}")
        second = await tokens()
    assert all(new > old for new, old in zip(second, first, strict=True)), (first, second)


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
