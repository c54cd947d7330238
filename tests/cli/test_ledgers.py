"""Usage as a table and a chart; the audit listed, sealed and verified."""

from __future__ import annotations

import datetime as dt

import psycopg
import pytest

import strongroom
from strongroom.models import NewUsage
from tests.cli.conftest import Cli
from tests.servers import Database


@pytest.fixture
async def ledgers(database: Database) -> None:
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        await store.tenants.create(tenant_id="other", name="Other")
        await store.tenants.add_member(tenant_id="acme", principal_id="ada")
        await store.usage.record(
            tenant_id="acme",
            events=[
                NewUsage(
                    model=model,
                    input_tokens=tokens,
                    cost=tokens,
                    cost_decimals=6,
                    currency="EUR",
                    occurred_at=dt.datetime(2026, 3, day, 23, 30, tzinfo=dt.UTC),
                )
                for day, model, tokens in ((1, "small", 1000), (2, "large", 500), (2, "small", 1))
            ],
        )


def test_usage_by_day_newest_first_with_a_bar(cli: Cli, ledgers: None) -> None:
    shown = cli("usage").out
    lines = [line for line in shown.splitlines() if "2026" in line]
    assert [line.split()[:3] for line in lines] == [
        ["2026-03-02", "2", "501"],
        ["2026-03-01", "1", "1,000"],
    ]
    assert lines[1].count("█") > lines[0].count("█") > 0
    assert "0.001 EUR" in lines[1]
    rows = cli("usage", "--time-zone", "Europe/Lisbon", "--json").json()["items"]
    assert [row["key"] for row in rows] == ["2026-03-02", "2026-03-01"]
    rows = cli("usage", "--time-zone", "Asia/Tokyo", "--json").json()["items"]
    assert [row["key"] for row in rows] == ["2026-03-03", "2026-03-02"]
    assert rows[0]["input_tokens"] == "501", "sums are texts: a browser would lose digits"
    by_model = cli("usage", "--by", "model", "--since", "2026-03-02", "--json").json()["items"]
    assert [(row["key"], row["input_tokens"]) for row in by_model] == [
        ("large", "500"),
        ("small", "1"),
    ]
    page = cli("usage", "--limit", 1).out
    assert "Next page: --after " in page
    assert cli("usage", "--tenant", "other").out == "No usage of other.\n"
    assert cli("usage", "--by", "colour").code == 2


def test_the_audit_is_listed_sealed_and_verified(
    cli: Cli, ledgers: None, database: Database
) -> None:
    shown = cli("audit", "list").out
    assert shown.index("member.add") < shown.index("tenant.create")
    assert "ada" in shown
    assert [
        e["action"]
        for e in cli("audit", "list", "--action", "member.add", "--json").json()["items"]
    ] == ["member.add"]
    sealed = cli("audit", "seal", "--json").json()
    assert (sealed["sealed"], sealed["last_position"]) == (2, 2)
    assert cli("audit", "seal").out.startswith("0 events sealed; the chain ends at 2.")
    known = f"2:{sealed['digest']}"
    assert cli("audit", "verify", "--known", known).out == "The chain holds: 2 events.\n"
    with psycopg.connect(database.admin_url) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute("update strongroom.audit_events set record_id = 'x' where position = 2")
    broken = cli("audit", "verify")
    assert broken.code == 1
    assert "Broken at 2, event " in broken.out
    assert ": changed." in broken.out
    assert cli("audit", "verify", "--json").json()["problem"] == "changed"
    assert cli("audit", "verify", "--known", "nonsense").code == 2
    others = cli("audit", "list", "--tenant", "other", "--json").json()["items"]
    assert [event["action"] for event in others] == ["tenant.create"]


def test_the_audit_of_all_tenants_is_sealed_and_health_and_doctor_say_since_when(
    cli: Cli, ledgers: None, database: Database
) -> None:
    assert "2 events not sealed, the oldest since" in cli("health").out
    with psycopg.connect(database.admin_url) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute("update strongroom.audit_events set created_at = now() - interval '2d'")
    schema_url = database.migrator_url
    found = cli("doctor", "--json", STRONGROOM_SCHEMA_URL=schema_url).json()["findings"]
    assert [(f["check"], f["object"]) for f in found] == [("audit", "2 tenants")]
    assert "strongroom audit seal" in found[0]["hint"]
    done = cli("audit", "seal", "--json", STRONGROOM_TENANT="").json()["sealed"]
    assert [(seal["tenant_id"], seal["sealed"]) for seal in done] == [("acme", 2), ("other", 1)]
    assert cli("audit", "seal", STRONGROOM_TENANT="").out == "Everything is sealed.\n"
    assert "0 events not sealed; last sealed" in cli("health").out
    assert cli("doctor", STRONGROOM_SCHEMA_URL=schema_url).code == 0


def test_what_expired_of_all_tenants_is_deleted_and_health_and_doctor_say_since_when(
    cli: Cli, ledgers: None, database: Database
) -> None:
    with psycopg.connect(database.host_url, autocommit=True) as host:
        for tenant_id in ("acme", "other"):
            host.execute(
                'select strongroom.put_memory(%s, \'ada\', \'{"id": "old", "text": "Likes tea.",'
                ' "source": "extracted", "expires_at": "2020-01-01T00:00:00Z"}\')',
                [tenant_id],
            )
    said = "1 records not deleted, the oldest since 2020-01-01"
    assert said in " ".join(cli("health").out.split())
    schema_url = database.migrator_url
    found = cli("doctor", "--json", STRONGROOM_SCHEMA_URL=schema_url).json()["findings"]
    assert [(f["check"], f["object"]) for f in found] == [("expiry", "2 tenants")]
    assert "strongroom retention expire" in found[0]["hint"]
    assert cli("retention", "expire", "--json").json()["expired"][1]["expired"] == 1
    done = cli("retention", "expire", "--json", STRONGROOM_TENANT="").json()["expired"]
    assert [(one["kind"], one["expired"], one["has_more"]) for one in done] == [
        ("framework_records", 0, False),
        ("memories", 1, False),
        ("tool_outputs", 0, False),
    ]
    assert "memories" in cli("retention", "expire", STRONGROOM_TENANT="").out
    assert "0 records not deleted" in cli("health").out
    assert cli("doctor", STRONGROOM_SCHEMA_URL=schema_url).code == 0
