"""The isolation section can fail: it does, where row security is off. So it passes for a reason."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg import sql

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


def test_isolation_holds_on_a_sound_database(
    make_database: Callable[..., Database], tmp_path: Path
) -> None:
    assert set(run_isolation(make_database(), tmp_path).values()) == {"passed"}


def test_isolation_fails_without_policies_and_row_security(
    make_database: Callable[..., Database], tmp_path: Path
) -> None:
    database = make_database()
    drop_policies(database)
    disable_row_security(database)
    outcomes = run_isolation(database, tmp_path)
    assert "error" not in outcomes.values(), "a test could not even be set up"
    assert "skipped" not in outcomes.values()
    failed = {name for name, outcome in outcomes.items() if outcome == "failure"}
    assert failed >= ROW_SECURITY_TESTS
    # The other wall stands alone: every function names the tenant in each of its predicates.
    assert "test_the_same_ids_live_in_two_tenants_apart_b07" not in failed
    assert not [name for name in failed if name.startswith("test_reading_anothers_id")]


HOSTS_ONLY = {
    *("catalog_tombstones", "jobs", "locks", "topics", "topic_events", "audit_events"),
    "memory_tombstones",
    "evaluation_cases",
    "evaluation_case_versions",
    "evaluation_runs",
    "evaluation_run_cases",
    "evaluation_results",
    "audit_seals",
    "blob_removals",
}
"""Tables that no signed-in user may read, whatever its policies say."""


@pytest.mark.parametrize(
    "table",
    [
        "tenants",
        "memberships",
        "conversations",
        "conversation_participants",
        "messages",
        "session_states",
        "thread_summaries",
        "runs",
        "run_events",
        "checkpoints",
        "interactions",
        "approval_grants",
        "agents",
        "agent_versions",
        "skills",
        "skill_versions",
        "catalog_tombstones",
        "evaluation_cases",
        "evaluation_case_versions",
        "evaluation_runs",
        "evaluation_run_cases",
        "evaluation_results",
        "jobs",
        "locks",
        "topics",
        "topic_events",
        "audit_events",
        "audit_seals",
        "usage_events",
        "memories",
        "memory_settings",
        "memory_tombstones",
        "collections",
        "sources",
        "chunks",
        "blob_removals",
        "files",
        "file_versions",
    ],
)
def test_isolation_fails_when_one_table_is_left_open(
    make_database: Callable[..., Database], tmp_path: Path, table: str
) -> None:
    database = make_database()
    with database.connect() as connection:
        names = {
            row[0].removeprefix("strongroom.") for row in connection.execute(TABLES).fetchall()
        }
        connection.execute(
            sql.SQL("alter table strongroom.{} disable row level security").format(
                sql.Identifier(table)
            )
        )
    assert table in names
    outcomes = run_isolation(database, tmp_path, "-k", "row_security")
    assert "error" not in outcomes.values(), "a test could not even be set up"
    failed = {name for name, outcome in outcomes.items() if outcome == "failure"}
    of_users = {"test_row_security_shows_a_user_their_tenant_alone"}
    assert failed == (ROW_SECURITY_TESTS - of_users if table in HOSTS_ONLY else ROW_SECURITY_TESTS)


def test_every_table_is_tried_alone(make_database: Callable[..., Database]) -> None:
    with make_database().connect() as connection:
        names = {
            row[0].removeprefix("strongroom.") for row in connection.execute(TABLES).fetchall()
        }
    mark = test_isolation_fails_when_one_table_is_left_open.pytestmark[0]
    assert names - {"schema_history"} == set(mark.args[1])
