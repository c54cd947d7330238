"""A world with rows in every table, and what is left of it after each way to delete, row by row.

The tables come from the catalog and the expectations from the erasure rules: a new table fails here until
the world of the stories has a row of it for both tenants.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.migrations.steps import query
from tests.migrations.stories import contents
from tests.servers import Database
from tests.servers.databases import ROOT

Rows = dict[str, list[dict[str, Any]]]

SURVIVORS = {
    "strongroom.blob_removals",
    "strongroom.deletion_receipts",
    "strongroom.deletion_receipt_items",
}
"""What is only about deleting outlives its tenant."""

WORDS = [
    (
        'select * from strongroom.append_messages(\'acme\', \'open\', \'[{"id": "said", "role": "user",'
        ' "author_id": "ada", "metadata": {"of": "ada"}, "parts": [{"type": "text", "schema_version": 1,'
        ' "text": "ada was here"}]}]\')'
    ),
    "select * from strongroom.append_thread_summary('acme', 'open', 'ada was here', 3, 'said-s')",
]


@pytest.fixture
def world(database: Database) -> Database:
    with database.connect() as connection:
        text = (ROOT / "supabase/tests/support/stories.psql").read_text(encoding="utf-8")
        connection.execute(text.encode())
        connection.execute("select stories.found_a_world()")
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        for statement in WORDS:
            connection.execute(statement.encode())
    return database


def _of(rows: Rows, tenant: str) -> Rows:
    return {t: [row for row in all_ if row.get("tenant_id") == tenant] for t, all_ in rows.items()}


def _call(database: Database, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        return connection.execute(statement.encode()).fetchall()


def _rules(database: Database) -> list[tuple[str, str, str]]:
    found = query(
        database,
        "select table_name, column_name, action from strongroom_private.erasure_rules",
    )
    return [(str(t), str(c), str(a)) for t, c, a in found]


def test_the_world_has_a_row_of_every_table_for_both_tenants(world: Database) -> None:
    rows = contents(world)
    for tenant in ("acme", "globex"):
        assert [table for table, found in _of(rows, tenant).items() if not found] == []
    assert {table for table, _, _ in _rules(world)} == set(rows)


def test_a_conversation_takes_along_what_hangs_on_it_and_nothing_else(world: Database) -> None:
    before = contents(world)
    receipt = dict(_call(world, "select * from strongroom.purge_conversation('acme', 'open')"))
    after = contents(world)
    assert _of(after, "globex") == _of(before, "globex")
    lost = {table: [row for row in before[table] if row not in after[table]] for table in before}
    for table, rows in lost.items():
        for row in rows:
            named = (row.get("conversation_id"), row.get("source_conversation_id"), row.get("id"))
            assert "open" in named, (table, row)
    # What tells of the deletion grows.
    gone = {t: len(before[t]) - len(after[t]) for t in before if len(before[t]) > len(after[t])}
    assert gone == {f"strongroom.{table}": count for table, count in receipt.items()}
    for table in ("strongroom.usage_events", "strongroom.audit_events"):
        assert [r for r in after[table] if r in before[table]] == before[table], table


def test_a_person_is_gone_as_the_rules_say_and_nobody_else_is(world: Database) -> None:
    before = contents(world)
    tried = _call(world, "select * from strongroom.erase_principal('acme', 'ada', true)")
    assert contents(world) == before
    done = _call(world, "select * from strongroom.erase_principal('acme', 'ada')")
    assert [row[1:] for row in tried] == [row[1:] for row in done]
    after = contents(world)
    assert _of(after, "globex") == _of(before, "globex")
    mine = _of(after, "acme")
    for table, column, action in _rules(world):
        if column and action != "keep":
            named = [row for row in mine[table] if "ada" in str(row[column])]
            assert named == [], (table, column)
    assert "ada was here" not in str(mine)
    receipt = {(str(t), str(a)): int(n) for _, t, a, n in done}
    for table, rows in before.items():
        name = table.removeprefix("strongroom.")
        deleted = len(rows) - len(after[table])
        counted = receipt.get((name, "delete"), 0)
        erased = receipt.get((name, "erase"), 0)
        if table not in SURVIVORS and name != "audit_events":
            assert counted <= deleted <= counted + erased, table
    kept = {row["id"] for row in mine["strongroom.conversations"]}
    assert kept == {
        row["id"]
        for row in _of(before, "acme")["strongroom.conversations"]
        if row["owner_id"] != "ada"
    }
    positions = [
        row["position"] for row in mine["strongroom.messages"] if row["conversation_id"] == "open"
    ]
    assert sorted(positions) == [1, 2, 3]
    assert _call(world, "select * from strongroom.erase_principal('acme', 'ada')") == []


def test_of_a_purged_tenant_only_its_receipts_are_left(world: Database) -> None:
    before = contents(world)
    receipt = {
        str(table): int(count)
        for _, table, count in _call(world, "select * from strongroom.purge_tenant('acme')")
    }
    after = contents(world)
    assert _of(after, "globex") == _of(before, "globex")
    left = {table for table, rows in _of(after, "acme").items() if rows}
    assert left == SURVIVORS
    assert receipt == {
        table.removeprefix("strongroom."): len(rows)
        for table, rows in _of(before, "acme").items()
        if table not in SURVIVORS
    }
