"""migrate status, plan, apply, down and print: for people, scripts and DBAs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom.migrations import load_migrations
from tests.cli.conftest import ROOT, Cli, Ran, run_process
from tests.servers import Database

NEWEST = load_migrations()[-1].version
NAMES = [migration.name for migration in load_migrations()]


@pytest.fixture
def migrate(empty_database: Database) -> Callable[..., Ran]:
    def call(*arguments: object) -> Ran:
        return run_process("migrate", *arguments, STRONGROOM_SCHEMA_URL=empty_database.migrator_url)

    return call


def test_the_whole_way_up_and_down(migrate: Callable[..., Ran], empty_database: Database) -> None:
    before = migrate("status", "--json").json()
    assert (before["current_version"], before["target_version"]) == (0, NEWEST)
    assert [row["state"] for row in before["migrations"]] == ["pending"] * NEWEST
    planned = migrate("plan", "--json")
    assert planned.code == 1, "something is to be done"
    assert [(c["action"], c["name"]) for c in planned.json()["changes"]] == [
        ("apply", name) for name in NAMES
    ]
    assert migrate("status", "--json").json() == before, "planning changes nothing"

    applied = migrate("apply", "--json")
    assert applied.code == 0, applied.err
    assert applied.err == ""
    rows = applied.json()["migrations"]
    assert [row["state"] for row in rows] == ["applied"] * NEWEST
    assert {row["applied_by"] for row in rows} == {empty_database.migrator}
    assert all(row["applied_at"].endswith("+00:00") for row in rows)
    assert migrate("apply").out.startswith("Nothing to do.")
    assert migrate("status", "--json").json()["migrations"] == rows

    down = migrate("down", "--to", 1, "--json").json()
    assert down["current_version"] == 1
    assert [row["state"] for row in down["migrations"]] == ["applied", *["pending"] * (NEWEST - 1)]
    assert migrate("down", "--to", 0).code == 0
    with empty_database.connect() as connection:
        found = connection.execute("select to_regnamespace('strongroom')").fetchone()
    assert found == (None,)


def test_a_sound_schema_leaves_nothing_to_do(database: Database) -> None:
    done = run_process("migrate", "plan", "--json", "--url", database.migrator_url)
    assert done.json()["changes"] == []
    assert done.code == 0
    assert "Nothing to do" in run_process("migrate", "plan", "--url", database.migrator_url).out


def test_drift_is_named(database: Database) -> None:
    with database.connect() as connection:
        connection.execute("drop function strongroom.count_messages")
    done = run_process("migrate", "plan", "--url", database.migrator_url)
    assert done.code == 1
    assert "missing: function strongroom.count_messages" in done.out
    status = run_process("migrate", "status", "--url", database.migrator_url)
    assert status.code == 0
    assert "missing: function strongroom.count_messages" in status.out


def test_rows_are_not_dropped_unless_one_says_so(database: Database) -> None:
    with database.connect(user=database.host) as connection:
        connection.execute("select strongroom.create_tenant(p_tenant_id => 'a', p_name => 'A')")
    url = database.migrator_url
    refused = run_process("migrate", "down", "--to", 0, "--json", "--url", url)
    assert refused.code == 5
    error = refused.json()["error"]
    assert (error["code"], error["detail"]["table"]) == ("SR041", "strongroom.tenants")
    assert "--allow-data-loss" in error["hint"]
    assert f"Took {NEWEST - 1} migrations back and stopped at 0001:" in refused.err
    again = run_process("migrate", "down", "--to", 0, "--url", url)
    assert again.code == 5
    assert "migrations back" not in again.err
    allowed = run_process("migrate", "down", "--to", 0, "--allow-data-loss", "--url", url)
    assert allowed.code == 0, allowed.err


def test_a_version_that_does_not_exist_is_bad_input(database: Database) -> None:
    done = run_process("migrate", "down", "--to", 99, "--url", database.migrator_url)
    assert done.code == 2
    assert "to_version must be between 0 and" in done.err


def test_who_does_not_own_the_schema_is_told_who_does(
    database: Database, empty_database: Database
) -> None:
    with database.connect() as connection:
        connection.execute("create role migrate_stranger login")
    calls = [
        (database.host_url, "down", "--to", "1"),
        (empty_database.host_url, "apply"),
        *(
            (database.url(user="migrate_stranger"), *words)
            for words in (("status",), ("plan",), ("apply",), ("down", "--to", "1"))
        ),
    ]
    try:
        for url, *words in calls:
            done = run_process("migrate", *words, "--json", database=None, STRONGROOM_URL=url)
            told = done.json()["error"]
            assert "--schema-url" in told["hint"], (words, told)
    finally:
        with database.connect() as connection:
            connection.execute("drop role migrate_stranger")


def test_a_newer_database_is_not_touched(database: Database) -> None:
    with database.connect() as connection:
        connection.execute(
            "insert into strongroom.schema_history (version, name, status)"
            " values (999, 'the_future', 'applied')"
        )
    url = database.migrator_url
    assert run_process("migrate", "apply", "--url", url).code == 5
    refused = run_process("migrate", "plan", "--url", url)
    assert refused.code == 5
    assert "pip install --upgrade strongroom" in refused.err
    rows = run_process("migrate", "status", "--json", "--url", url).json()["migrations"]
    assert (rows[-1]["version"], rows[-1]["state"]) == (999, "unknown")


@pytest.mark.parametrize("direction", ["up", "down"])
def test_print_gives_the_files_byte_for_byte(cli_alone: Cli, direction: str) -> None:
    option = ["--down"] if direction == "down" else []
    texts = []
    for migration in load_migrations():
        file = ROOT / f"sql/migrations/{migration.version:04d}_{migration.name}.{direction}.sql"
        printed = cli_alone("migrate", "print", migration.version, *option)
        assert printed.out == file.read_text(encoding="utf-8")
        texts.append(printed.out)
    if direction == "down":
        texts.reverse()
    assert cli_alone("migrate", "print", *option).out == "".join(texts)
    listed = cli_alone("migrate", "print", "--json", *option).json()["migrations"]
    assert [entry["sql"] for entry in listed] == texts
    assert {entry["direction"] for entry in listed} == {direction}


@pytest.mark.parametrize("pieces", [[[]], [[number] for number in range(1, NEWEST + 1)]])
def test_a_dba_can_run_what_is_printed(
    cli_alone: Cli, empty_database: Database, pieces: list[list[int]]
) -> None:
    with empty_database.connect(user=empty_database.migrator) as connection:
        for piece in pieces:
            with connection.transaction():
                connection.execute(cli_alone("migrate", "print", *piece).out.encode())
    done = run_process("migrate", "plan", "--json", "--url", empty_database.migrator_url)
    assert done.json()["changes"] == []


def test_there_is_no_such_migration(cli_alone: Cli) -> None:
    done = cli_alone("migrate", "print", 99)
    assert done.code == 2
    assert "there is no migration 99" in done.err
