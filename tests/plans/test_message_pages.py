"""A page costs what the page costs, at any depth and in any size of table, as the row-secured role."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.plans.conftest import LONG, SHORT
from tests.servers.databases import Database

BUFFERS_OF_A_PAGE = 60
TENANT, CONVERSATION = "t1", "c0"


@pytest.fixture
def host(million: Database) -> Iterator[psycopg.Connection]:
    """A connection as the host's login role: neither superuser nor BYPASSRLS."""
    with million.connect(user=million.host) as connection:
        row = connection.execute(
            "select rolsuper or rolbypassrls from pg_roles where rolname = current_user"
        ).fetchone()
        assert row == (False,)
        yield connection


def explain(connection: psycopg.Connection, query: str) -> dict[str, Any]:
    """Run a query as text, unprepared, three times; return what the last one did."""
    for _ in range(2):
        connection.execute(query.encode(), prepare=False)
    row = connection.execute(
        f"explain (analyze, buffers, format json) {query}".encode(), prepare=False
    ).fetchone()
    assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def buffers(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def sequential_scans(database: Database) -> int:
    with database.connect() as connection:
        connection.execute("select pg_stat_force_next_flush()")
        row = connection.execute(
            "select sum(seq_scan) from pg_stat_user_tables where schemaname = 'strongroom'"
            " and relname in ('messages', 'conversations', 'conversation_participants')"
        ).fetchone()
    assert row is not None
    return int(row[0])


PAGES = {
    "latest": "p_latest => true",
    "first": "p_direction => 'forward'",
    "newest first": "p_direction => 'backward'",
    "from the middle": "p_after_position => 10000",
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_50_of_20000_stays_within_its_buffers(
    host: psycopg.Connection, million: Database, page: str
) -> None:
    total = host.execute("select strongroom.find_tenant(%s)", [TENANT]).fetchall()
    assert len(total) == 1
    scans = sequential_scans(million)
    plan = explain(
        host,
        f"select * from strongroom.list_messages('{TENANT}', '{CONVERSATION}', 50, {PAGES[page]})",
    )
    assert plan["Actual Rows"] == 50
    assert buffers(plan) <= BUFFERS_OF_A_PAGE
    assert sequential_scans(million) == scans


def test_a_page_costs_the_same_at_any_depth(host: psycopg.Connection) -> None:
    cursor = host.execute(
        "select cursor from strongroom.list_messages(%s, %s, 1, p_after_position => 19000)",
        [TENANT, CONVERSATION],
    ).fetchone()
    assert cursor is not None
    costs = []
    for start in (0, 5_000, 10_000, 19_000):
        plan = explain(
            host,
            f"select * from strongroom.list_messages("
            f"'{TENANT}', '{CONVERSATION}', 50, p_after_position => {start})",
        )
        assert plan["Actual Rows"] == 50
        costs.append(buffers(plan))
    assert max(costs) <= BUFFERS_OF_A_PAGE
    assert max(costs) - min(costs) <= 10


def test_the_table_is_read_through_its_primary_key_under_row_security(
    host: psycopg.Connection,
) -> None:
    """What a reader of the table itself gets, with the policy's own predicate in the plan."""
    host.execute("select set_config('strongroom.tenant_id', %s, false)", [TENANT])
    plan = explain(
        host,
        "select m.position, m.parts from strongroom.messages as m"
        f" where m.tenant_id = '{TENANT}' and m.conversation_id = '{CONVERSATION}'"
        " order by m.position desc limit 50",
    )
    found = list(nodes(plan))
    assert [n["Index Name"] for n in found if "Index Name" in n] == ["messages_pkey"]
    assert not [n for n in found if n["Node Type"] == "Seq Scan"]
    assert any(n.get("Subplan Name", "").startswith("InitPlan") for n in found), "no row security"
    assert buffers(plan) <= BUFFERS_OF_A_PAGE


def test_row_security_costs_a_page_no_buffers_to_speak_of(
    host: psycopg.Connection, million: Database
) -> None:
    query = f"select * from strongroom.list_messages('{TENANT}', '{CONVERSATION}', 50, p_latest => true)"
    bound = buffers(explain(host, query))
    with million.connect() as superuser:
        unbound = buffers(explain(superuser, query))
    assert bound <= unbound * 1.2


def test_an_append_costs_the_same_in_a_short_and_a_long_conversation(
    host: psycopg.Connection, million: Database
) -> None:
    scans = sequential_scans(million)
    costs = {}
    for conversation in (CONVERSATION, "c50"):
        with host.transaction(force_rollback=True):
            costs[conversation] = buffers(
                explain(
                    host,
                    f"select * from strongroom.append_messages('{TENANT}', '{conversation}',"
                    """ '[{"role": "user", "parts":"""
                    """ [{"type": "text", "schema_version": 1, "text": "hi"}]}]')""",
                )
            )
    assert abs(costs[CONVERSATION] - costs["c50"]) <= 10
    assert max(costs.values()) <= 80
    assert sequential_scans(million) == scans
    assert LONG > SHORT


@pytest.mark.parametrize("viewer", ["null", "'u0'", "'guest'"])
def test_a_page_of_conversations_walks_indexes(
    host: psycopg.Connection, million: Database, viewer: str
) -> None:
    scans = sequential_scans(million)
    plan = explain(
        host,
        f"select * from strongroom.list_conversations('{TENANT}', 20, p_viewer_id => {viewer})",
    )
    assert plan["Actual Rows"] >= 1
    assert buffers(plan) <= 400
    assert sequential_scans(million) == scans
