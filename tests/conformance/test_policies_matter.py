"""The isolation section can fail: it does, where row security is off. So it passes for a reason."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

from strongroom.conformance import Adapter, test_isolation
from tests.conformance.adapters import open_adapter
from tests.conformance.test_ledger import run_pytest
from tests.servers import Database

MODULE = "tests/conformance/isolation_on_a_given_database.py"
TABLES = """
    select c.oid::regclass::text
    from pg_catalog.pg_class as c
    where c.relnamespace = 'strongroom'::regnamespace
        and c.relkind in ('r', 'p')
"""


def run_isolation(database: Database, folder: Path, *only: str) -> dict[str, str]:
    """Run the isolation section on a database; return each test's outcome."""
    report = folder / "report.xml"
    run = run_pytest(
        MODULE,
        *only,
        f"--junit-xml={report}",
        GIVEN_HOST=database.server.host,
        GIVEN_PORT=str(database.server.port),
        GIVEN_SUPERUSER=database.server.superuser,
        GIVEN_DATABASE=database.name,
        GIVEN_MIGRATOR=database.migrator,
        STRONGROOM_EXAMPLES="1",
    )
    assert report.exists(), run.stdout + run.stderr
    outcomes = {}
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 (pytest wrote it)
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        outcomes[str(case.get("name"))] = kinds.pop() if kinds else "passed"
    assert outcomes, run.stdout + run.stderr
    return outcomes


def drop_policies(database: Database) -> None:
    with database.connect() as connection:
        for table, policy in connection.execute(
            "select polrelid::regclass::text, polname::text from pg_catalog.pg_policy"
        ).fetchall():
            connection.execute(f"drop policy {policy} on {table}")


def disable_row_security(database: Database) -> None:
    with database.connect() as connection:
        for (table,) in connection.execute(TABLES).fetchall():
            connection.execute(f"alter table {table} no force row level security")
            connection.execute(f"alter table {table} disable row level security")


ROW_SECURITY_TESTS = {
    "test_row_security_shows_a_host_the_bound_tenant_alone",
    "test_row_security_shows_a_user_their_tenant_alone",
}


def test_isolation_fails_without_policies_and_row_security(
    make_database: Callable[..., Database], tmp_path: Path
) -> None:
    database = make_database()
    drop_policies(database)
    disable_row_security(database)
    outcomes = run_isolation(
        database, tmp_path, "-k", "row_security or reading_anothers_id or the_same_ids"
    )
    assert "error" not in outcomes.values(), "a test could not even be set up"
    assert "skipped" not in outcomes.values()
    failed = {name for name, outcome in outcomes.items() if outcome == "failure"}
    assert failed >= ROW_SECURITY_TESTS
    # The other wall stands alone: every function names the tenant in each of its predicates.
    assert "test_the_same_ids_live_in_two_tenants_apart_b07" not in failed
    assert not [name for name in failed if name.startswith("test_reading_anothers_id")]


async def test_isolation_fails_when_any_one_table_is_left_open(
    make_database: Callable[..., Database],
) -> None:
    database = make_database()
    with database.connect() as connection:
        tables: dict[str, bool] = dict(
            connection.execute(
                f"select t.name, has_table_privilege('authenticated', t.name, 'select')"
                f" from ({TABLES}) as t (name)"
            ).fetchall()
        )
        # Where there is Realtime, what is published has rows, too.
        connection.execute("create schema realtime")
        connection.execute(
            "create function realtime.send(jsonb, text, text, boolean) returns void"
            " language sql return null"
        )
    del tables["strongroom.schema_history"]
    assert len(tables) > 40
    assert set(tables.values()) == {True, False}
    async with open_adapter(database) as adapter:
        await _expect(adapter, hosts="passes", users="passes")
        for table, users_may_read in tables.items():
            with database.connect() as connection:
                connection.execute(f"alter table {table} disable row level security".encode())
            # Of some tables no user reads a row, whatever their policies say.
            await _expect(
                adapter, table, hosts="fails", users="fails" if users_may_read else "passes"
            )
            with database.connect() as connection:
                connection.execute(f"alter table {table} enable row level security".encode())
        await _expect(adapter, hosts="passes", users="passes")


async def _expect(adapter: Adapter, table: str = "", **wanted: str) -> None:
    """Say how the two tests of row security itself end."""
    ends = {}
    for who, test in (
        ("hosts", test_isolation.test_row_security_shows_a_host_the_bound_tenant_alone),
        ("users", test_isolation.test_row_security_shows_a_user_their_tenant_alone),
    ):
        try:
            await test(adapter)
            ends[who] = "passes"
        except AssertionError:
            ends[who] = "fails"
    assert ends == wanted, table
