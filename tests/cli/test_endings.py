"""`strongroom erase-principal`, `purge-tenant` and `retention`: counts first, then the deed."""

from __future__ import annotations

import psycopg

from tests.cli.conftest import Cli
from tests.servers import Database


def _fill(database: Database) -> None:
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        connection.execute("select * from strongroom.create_tenant('acme', 'Acme')")
        for number in range(3):
            connection.execute(
                "select * from strongroom.create_conversation('acme', 'ada', %s)", [f"c{number}"]
            )


def _conversations(database: Database) -> int:
    with database.connect() as connection:
        row = connection.execute("select count(*) from strongroom.conversations").fetchone()
    return int(row[0]) if row else -1


def test_a_dry_run_counts_and_changes_nothing(cli: Cli, database: Database) -> None:
    _fill(database)
    tried = cli("erase-principal", "ada", "--dry-run")
    assert tried.code == 0
    assert "conversations" in tried.out
    assert "3" in tried.out
    assert "Nothing was changed" in tried.out
    whole = cli("purge-tenant", "--dry-run", "--json")
    assert whole.json()["tables"] == {"audit_events": 1, "conversations": 3, "tenants": 1}
    assert _conversations(database) == 3


def test_a_person_and_a_tenant_go_and_leave_receipts(cli: Cli, database: Database) -> None:
    _fill(database)
    refused = cli("erase-principal", "ada", "--json")
    assert refused.code == 2
    assert refused.json()["error"]["detail"]["path"] == "--yes"
    for command in (("erase-principal", "ada"), ("purge-tenant",)):
        unanswered = cli(*command)  # there is no input, as under cron
        assert (unanswered.code, "--yes" in unanswered.err) == (2, True)
    assert _conversations(database) == 3
    done = cli("erase-principal", "ada", "--yes", "--json")
    assert done.code == 0
    assert done.json()["receipt_id"]
    assert _conversations(database) == 0
    assert "Nothing of this person" in cli("erase-principal", "ada", "--yes").out
    purged = cli("purge-tenant", "--yes")
    assert purged.code == 0
    assert "Receipt:" in purged.out
    again = cli("erase-principal", "ada", "--yes")
    assert again.code == 4


def test_retention_is_set_listed_swept_and_removed(cli: Cli, database: Database) -> None:
    _fill(database)
    assert cli("retention", "set", "conversations", 0).code == 0
    stale = cli("retention", "set", "conversations", 5)
    assert stale.code == 1
    unknown = cli("retention", "set", "letters", 5, "--json")
    assert unknown.code == 2
    assert "conversations" in unknown.json()["error"]["detail"]["choices"]
    assert "conversations" in cli("retention", "list").out
    counted = {"tenant_id": "acme", "kind": "conversations", "row_count": 3, "held": 0}
    tried = cli("retention", "sweep", "--dry-run", "--json")
    assert tried.json()["swept"] == [{**counted, "has_more": False}]
    assert "Nothing was changed." in cli("retention", "sweep", "--dry-run").out
    swept = cli("retention", "sweep", "--limit", 2, "--json")
    assert swept.json()["swept"] == [counted]
    assert cli("retention", "remove", "conversations", "--json").json() == {"removed": True}
    assert "kept" in cli("retention", "list").out
