"""However a migration is run: it runs whole, once, in order and alone, or leaves nothing."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool

from strongroom.postgres import owner_connection
from strongroom.schema import SqlSchemaManager
from tests.migrations import stories
from tests.migrations.steps import (
    STEPS,
    Step,
    catalog,
    drifts,
    go_down,
    go_up,
    objects,
    query,
    refusal,
    split,
    version_of,
)
from tests.servers import Database, PgBouncer, eventually
from tests.servers.databases import MIGRATIONS, grant_host, run_script

EmptyDatabase = Callable[..., Database]
LOCKS = "select count(*) from pg_locks where locktype = 'advisory'"


# Names and texts: B57, B61


def test_names_sort_as_their_numbers_do() -> None:
    ups = sorted(path.name for path in MIGRATIONS.glob("*.up.sql"))
    downs = sorted(path.name for path in MIGRATIONS.glob("*.down.sql"))
    assert all(re.fullmatch(r"[0-9]{4}_[a-z_]+\.up\.sql", name) for name in ups)
    assert [int(name[:4]) for name in ups] == list(range(1, len(ups) + 1))
    assert downs == [name.replace(".up.", ".down.") for name in ups]
    assert {path.name for path in MIGRATIONS.iterdir()} == {*ups, *downs}
    assert len({name[5:] for name in ups}) == len(ups)


FORBIDDEN = re.compile(
    r"^(begin|start transaction|commit|end|rollback|abort|savepoint|release|prepare transaction"
    r"|vacuum|cluster|reindex|alter system|create database|drop database|create tablespace"
    r"|create extension|create subscription|copy|listen|discard|\\.*)\b"
    r"|\bconcurrently\b|\badd value\b|^set (?!local)",
    re.IGNORECASE,
)


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("way", ["up", "down"])
def test_no_statement_minds_a_transaction(step: Step, way: str) -> None:
    for statement in split(getattr(step, way)):
        bare = re.sub(r"--[^\n]*|\$\$.*?\$\$|'(?:[^']|'')*'", " ", statement, flags=re.DOTALL)
        assert not FORBIDDEN.search(bare.strip()), bare[:100]
        assert bare.isascii(), "identifiers and keywords are plain"


def test_the_search_for_forbidden_statements_finds_some() -> None:
    for statement in (
        "commit;",
        "BEGIN;",
        "create index concurrently i on t (c);",
        "alter type t add value 'x';",
        "set search_path = x;",
        "vacuum t;",
    ):
        assert FORBIDDEN.search(statement)
    assert not FORBIDDEN.search("create function f() returns int language sql as  ;")
    assert list(split("do $$ a; $$; select 'x;y'; -- c;\nselect 1;")) == [
        "do $$ a; $$;",
        "select 'x;y';",
        "-- c;\nselect 1;",
    ]


# Transactions


def test_a_connection_without_autocommit_is_fine(empty_database: Database) -> None:
    for step in STEPS:
        with psycopg.connect(empty_database.migrator_url) as connection:
            connection.execute(step.up.encode())
    assert drifts(empty_database) == []


def test_all_in_one_transaction_is_fine(empty_database: Database) -> None:
    with psycopg.connect(empty_database.migrator_url) as connection:
        for step in STEPS:
            connection.execute(step.up.encode())
    assert drifts(empty_database) == []
    with psycopg.connect(empty_database.migrator_url) as connection:
        for step in reversed(STEPS):
            connection.execute(step.down.encode())
    assert objects(empty_database) == []


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_other_isolation_levels_are_fine(
    level: str, step: Step, make_database: EmptyDatabase
) -> None:
    database = make_database(version=step.version - 1)
    with psycopg.connect(database.migrator_url) as connection:
        connection.execute(f"set transaction isolation level {level}".encode())
        connection.execute(step.up.encode())
    assert drifts(database, step.version) == []


def _run_on(
    connection: psycopg.Connection, script: str, at_most: int = 10_000
) -> list[psycopg.Error]:
    """Run a script as `psql --file` does: one statement at a time, by default past every error."""
    errors = []
    for statement in split(script):
        try:
            connection.execute(statement.encode())
        except psycopg.Error as error:
            errors.append(error)
            if len(errors) == at_most:
                break
    return errors


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_statement_by_statement_is_refused_at_the_start(
    step: Step, make_database: EmptyDatabase
) -> None:
    database = make_database(version=step.version - 1)
    before = catalog(database)
    with database.connect(user=database.migrator) as connection:
        error = _run_on(connection, step.up, at_most=1)[0]
    code, message, detail = refusal(error)
    assert (code, detail) == ("SR041", {"version": step.version})
    assert "one transaction" in message
    assert "--single-transaction" in str(error.diag.message_hint)
    assert catalog(database) == before


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_way_back_run_past_its_refusal_deletes_nothing(
    step: Step, make_database: EmptyDatabase
) -> None:
    database = make_database(version=step.version)
    if step.version == 1:
        grant_host(database)
        stories.fill(database, 1)
    before = catalog(database)
    with database.connect(user=database.migrator) as connection:
        errors = _run_on(connection, step.down)
    assert refusal(errors[0])[0] == "SR041"
    assert len(errors) > 5
    assert catalog(database) == before
    assert drifts(database, step.version) == []


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_an_up_run_past_its_refusal_makes_nothing(step: Step, make_database: EmptyDatabase) -> None:
    database = make_database(version=step.version - 1)
    before = catalog(database)
    with database.connect(user=database.migrator) as connection:
        errors = _run_on(connection, step.up)
    assert refusal(errors[0])[0] == "SR041"
    assert catalog(database) == before


# Once, in order, alone


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_second_run_says_that_it_is_applied(step: Step, database: Database) -> None:
    with (
        database.connect(user=database.migrator) as connection,
        pytest.raises(psycopg.Error) as caught,
    ):
        run_script(connection, step.up)
    code, message, detail = refusal(caught.value)
    assert (code, detail) == ("SR041", {"version": step.version})
    assert "applied already" in message
    assert step.name in message
    assert drifts(database) == []


def _empty(version: int) -> str:
    return (
        f"select strongroom_private.begin_migration({version}, 'later');"
        f"select strongroom_private.require_transaction({version});"
        f"select strongroom_private.finish_migration({version}, 'later');"
    )


def test_a_migration_before_its_turn_is_refused(empty_database: Database) -> None:
    go_up(empty_database, 1)
    with (
        empty_database.connect(user=empty_database.migrator) as connection,
        pytest.raises(psycopg.Error) as caught,
    ):
        run_script(connection, _empty(3))
    code, message, detail = refusal(caught.value)
    assert (code, detail) == ("SR041", {"version": 3})
    assert message == "strongroom 0003 needs 0002 first"
    assert drifts(empty_database, 1) == []


def test_without_the_first_nothing_is_made(empty_database: Database) -> None:
    before = catalog(empty_database)
    with (
        empty_database.connect(user=empty_database.migrator) as connection,
        pytest.raises(psycopg.errors.InvalidSchemaName),
    ):
        run_script(connection, STEPS[1].up)
    assert catalog(empty_database) == before


@dataclass
class Rival:
    """Another process that applies the same migration at the same time."""

    pid: int
    thread: threading.Thread
    errors: list[psycopg.Error] = field(default_factory=list)

    def finish(self) -> list[psycopg.Error]:
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.errors


@contextmanager
def _rival(database: Database, script: str) -> Iterator[Rival]:
    connection = database.connect(user=database.migrator)

    def apply_too() -> None:
        with connection:
            try:
                run_script(connection, script)
            except psycopg.Error as error:
                rival.errors.append(error)

    rival = Rival(connection.info.backend_pid, threading.Thread(target=apply_too))
    rival.thread.start()
    try:
        yield rival
    finally:
        if rival.thread.is_alive():
            query(database, "select pg_terminate_backend(%s)", [rival.pid])
            rival.thread.join()


def _waits_for(database: Database, rival: Rival, other: psycopg.Connection) -> Callable[[], bool]:
    return lambda: (
        query(
            database,
            "select wait_event from pg_stat_activity where pid = %s"
            " and wait_event_type = 'Lock' and pg_blocking_pids(pid) = array[%s]::integer[]",
            [rival.pid, other.info.backend_pid],
        )
        == [("advisory",)]
    )


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_two_appliers_take_turns(step: Step, make_database: EmptyDatabase) -> None:
    database = make_database(version=step.version - 1)
    with psycopg.connect(database.migrator_url) as first:
        first.execute(step.up.encode())
        with _rival(database, step.up) as rival:
            eventually(
                _waits_for(database, rival, first),
                "the second applier waits for the first one's advisory lock",
            )
            first.commit()
            errors = rival.finish()
    assert [refusal(error)[0] for error in errors] == ["SR041"]
    assert "applied already" in refusal(errors[0])[1]
    assert drifts(database, step.version) == []


@pytest.mark.parametrize(
    "settings",
    [
        "-c default_transaction_isolation=serializable",
        "-c statement_timeout=200ms -c idle_in_transaction_session_timeout=1s",
    ],
)
async def test_the_manager_that_waited_finds_it_done_whatever_the_roles_settings(
    settings: str, make_database: EmptyDatabase
) -> None:
    """What it looks at is younger than the lock, and it waits longer than a program may."""
    last = STEPS[-1]
    database = make_database(version=last.version - 1)
    url = database.url(user=database.migrator, options=settings)
    manager = SqlSchemaManager(owner_connection(url))
    with psycopg.connect(database.migrator_url) as first:
        first.execute(last.up.encode())
        second = asyncio.create_task(manager.apply())
        waiting = (
            "select count(*) from pg_stat_activity where datname = current_database()"
            " and wait_event = 'advisory' and query_start < clock_timestamp() - interval '0.3 s'"
        )
        async with asyncio.timeout(20):
            while query(database, waiting) != [(1,)]:
                assert not second.done(), second.exception()
                await asyncio.sleep(0)
        first.commit()
        await second
    assert drifts(database) == []


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_second_applier_goes_on_when_the_first_fails(
    step: Step, make_database: EmptyDatabase
) -> None:
    database = make_database(version=step.version - 1)
    with psycopg.connect(database.migrator_url) as first:
        first.execute(step.up.encode())
        with _rival(database, step.up) as rival:
            eventually(_waits_for(database, rival, first), "the second applier waits")
            first.rollback()
            assert rival.finish() == []
    assert drifts(database, step.version) == []


# What a failure leaves: report B29

BROKEN = """
select strongroom_private.begin_migration({version}, 'novelty');
select strongroom_private.require_transaction({version});
create table strongroom.novelties (tenant_id text not null, id text not null);
create function strongroom.count_novelties() returns bigint language sql as
    'select count(*) from strongroom.novelties';
select 1 / {divisor};
create table strongroom.more (id integer);
select strongroom_private.publish_erasure_rule('strongroom.novelties', '', 'keep', 'nobody''s');
select strongroom_private.finish_migration({version}, 'novelty');
"""

# A process of its own, which has nothing of the first one's state.
APPLY = """
import sys, psycopg
url, script = sys.argv[1], sys.stdin.read()
with psycopg.connect(url, autocommit=True, options="-c lock_timeout=5s -c statement_timeout=5s") as c:
    with c.transaction():
        c.execute(script.encode())
"""


def _apply_elsewhere(database: Database, script: str) -> None:
    subprocess.run(
        [sys.executable, "-c", APPLY, database.migrator_url],
        input=script,
        text=True,
        check=True,
        timeout=30,
    )


def test_a_failure_leaves_nothing_and_no_lock_in_a_pool(empty_database: Database) -> None:
    _fail_and_mend(empty_database, empty_database.migrator_url)


def test_a_failure_leaves_nothing_and_no_lock_in_pgbouncer(
    make_pgbouncer: Callable[..., PgBouncer], make_database: EmptyDatabase
) -> None:
    database = make_database("owner", installed=False)
    bouncer = make_pgbouncer(database.server, pool_size=1)
    _fail_and_mend(database, bouncer.url(database, user=database.migrator))


def _fail_and_mend(database: Database, url: str) -> None:
    version = len(STEPS) + 1
    with ConnectionPool(url, min_size=1, max_size=1, kwargs={"prepare_threshold": None}) as pool:
        for step in STEPS:
            with pool.connection() as connection:
                connection.execute(step.up.encode())
        before = catalog(database)
        with pytest.raises(psycopg.errors.DivisionByZero), pool.connection() as connection:
            connection.execute(BROKEN.format(version=version, divisor=0).encode())
        # The pool keeps its connection open, and nothing hangs on it.
        assert query(database, LOCKS) == [(0,)]
        assert catalog(database) == before
        assert version_of(database) == version - 1
        _apply_elsewhere(database, BROKEN.format(version=version, divisor=1))
        assert version_of(database) == version
        with pool.connection() as connection:
            assert connection.info.transaction_status == TransactionStatus.IDLE
            row = connection.execute(
                "select max(version) from strongroom.schema_history"
            ).fetchone()
    assert row == (version,)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_killed_applier_leaves_nothing(step: Step, make_database: EmptyDatabase) -> None:
    database = make_database(version=step.version - 1)
    before = catalog(database)
    with database.connect(user=database.migrator) as connection:
        pid = connection.info.backend_pid
        connection.execute("begin")
        connection.execute(step.up.encode())
        assert query(database, LOCKS) == [(1,)]
        query(database, "select pg_terminate_backend(%s, 10000)", [pid])
        with pytest.raises(psycopg.OperationalError):
            connection.execute("commit")
    assert catalog(database) == before
    assert query(database, LOCKS) == [(0,)]
    _apply_elsewhere(database, step.up)
    assert drifts(database, step.version) == []


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_failure_at_any_statement_leaves_nothing(
    step: Step, make_database: EmptyDatabase
) -> None:
    """At some ten places spread over the file, after the last statement among them."""
    database = make_database(version=step.version - 1)
    before = catalog(database)
    statements = list(split(step.up))
    places = sorted({*range(2, len(statements), max(1, len(statements) // 8)), len(statements)})
    for place in places:
        broken = [*statements[:place], "select 1 / 0;", *statements[place:]]
        with database.connect(user=database.migrator) as connection:
            with pytest.raises(psycopg.errors.DivisionByZero):
                run_script(connection, "\n".join(broken))
            assert json.dumps(sorted(map(str, catalog(database) ^ before))) == "[]"
    go_up(database, step.version, after=step.version - 1)
    go_down(database, step.version - 1)
    assert catalog(database) == before
