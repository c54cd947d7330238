"""health and doctor: sound is 0, and each thing that can be wrong is found and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import CHAT, Cli, Ran, run_process
from tests.servers import Database, PgBouncer

Doctor = Callable[..., Ran]


@pytest.fixture
def doctor(database: Database) -> Doctor:
    """Examine as a host, with the schema's owner beside."""

    def call(*options: object, url: str | None = None) -> Ran:
        return run_process(
            "doctor",
            *options,
            database=database,
            STRONGROOM_SCHEMA_URL=database.migrator_url,
            STRONGROOM_URL=url or database.host_url,
        )

    return call


def findings(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 1, ran.err
    return list(ran.json()["findings"])


def test_a_sound_database_is_sound(doctor: Doctor, database: Database) -> None:
    done = doctor("--json")
    assert done.code == 0, done.out
    told = done.json()
    assert (told["sound"], told["findings"]) == (True, [])
    assert told["facts"] == told["facts"] | {
        "role": "app_host",
        "login": "app_host",
        "database": database.name,
        "superuser": False,
        "bypasses_row_security": False,
        "schema_installed": True,
        "caller": "host",
        "pooler": "none",
    }
    assert "Nothing is wrong." in doctor().out


@pytest.mark.parametrize(
    ("damage", "check", "named"),
    [
        (
            "alter table strongroom.messages disable row level security",
            "row_security",
            "strongroom.messages",
        ),
        (
            "alter function strongroom.count_messages reset search_path",
            "search_path",
            "strongroom.count_messages",
        ),
        (
            "grant select on strongroom.messages to anon",
            "grants",
            "strongroom.messages",
        ),
        (
            "alter function strongroom.count_messages security definer",
            "security_definer",
            "strongroom.count_messages",
        ),
        ("drop index strongroom.{index}", "drift", "{index}"),
    ],
)
def test_what_is_wrong_with_the_schema_is_found(
    doctor: Doctor, database: Database, damage: str, check: str, named: str
) -> None:
    with database.connect() as connection:
        index = connection.execute(
            "select i.indexrelid::regclass::text from pg_index as i"
            " where i.indrelid = 'strongroom.conversations'::regclass and not i.indisprimary"
            " and not i.indisunique order by 1 limit 1"
        ).fetchone()
        assert index is not None
        name = index[0].removeprefix("strongroom.")
        connection.execute(damage.format(index=name))
    found = [
        finding
        for finding in findings(doctor("--json"))
        if finding["check"] == check and named.format(index=name) in finding["object"]
    ]
    assert found
    assert all(finding["hint"] for finding in found)
    table = doctor()
    assert table.code == 1
    assert check in table.out


def test_a_restore_without_privileges_is_told_by_kind_and_count(
    doctor: Doctor, database: Database
) -> None:
    """What pg_restore --no-privileges leaves: no rights but the ones that PostgreSQL gives by itself."""
    schemas = "strongroom, strongroom_private"
    roles = "strongroom_host, service_role, authenticated, supabase_auth_admin"
    with database.connect() as connection:
        for kind in ("tables", "sequences", "functions"):
            connection.execute(f"revoke all on all {kind} in schema {schemas} from {roles}")
        connection.execute(f"revoke all on schema {schemas} from {roles}")
        connection.execute(f"grant execute on all functions in schema {schemas} to public")
    found = [finding for finding in findings(doctor("--json")) if finding["check"] == "grants"]
    assert len(found) < 40
    told = {finding["problem"]: finding["object"] for finding in found}
    count, kind = told["unexpected right: execute for public"].split()
    assert (kind, int(count) > 500) == ("functions", True)
    assert all("apply_grants()" in finding["hint"] for finding in found)
    with database.connect() as connection:
        connection.execute("select strongroom_private.apply_grants()")
    assert doctor("--json").code == 0


def test_pending_migrations_are_findings(empty_database: Database) -> None:
    done = run_process("doctor", "--json", database=None, STRONGROOM_URL=empty_database.admin_url)
    checks = [finding["check"] for finding in findings(done)]
    assert "schema" in checks


def test_a_superuser_is_not_bound_by_row_security(doctor: Doctor, database: Database) -> None:
    found = findings(doctor("--json", url=database.admin_url))
    assert [(f["check"], f["object"]) for f in found] == [("role", database.server.superuser)]
    assert "row security does not bind it" in found[0]["problem"]


def test_a_login_that_is_no_host_is_told_what_it_lacks(doctor: Doctor, database: Database) -> None:
    with database.connect() as connection:
        connection.execute("create role doctor_stranger login")
    try:
        found = findings(doctor("--json", url=database.url(user="doctor_stranger")))
        assert [f["check"] for f in found] == ["role"]
        assert 'grant strongroom_host to "doctor_stranger"' in found[0]["hint"]
    finally:
        with database.connect() as connection:
            connection.execute("drop role doctor_stranger")


def test_the_owner_alone_is_asked_for_when_a_host_may_not_look(database: Database) -> None:
    found = findings(run_process("doctor", "--json", database=database))
    assert [f["check"] for f in found] == ["permissions"]
    assert "--schema-url" in found[0]["hint"]


@pytest.mark.parametrize("variant", ["owner", "owner_bare", "supabase"])
def test_every_way_of_installing_is_sound(
    make_database: Callable[..., Database], variant: str
) -> None:
    database = make_database(variant)
    done = run_process(
        "doctor", "--json", database=database, STRONGROOM_SCHEMA_URL=database.migrator_url
    )
    assert done.code == 0, done.out


def test_a_pooler_in_transaction_mode_is_recognised(
    doctor: Doctor, database: Database, make_pgbouncer: Callable[..., PgBouncer]
) -> None:
    url = make_pgbouncer(database.server, pool_size=2).url(database)
    found = findings(doctor("--json", url=url))
    assert [f["check"] for f in found] == ["pooler"]
    assert "--pooler transaction" in found[0]["hint"]
    told = doctor("--json", "--pooler", "transaction", url=url)
    assert told.code == 0, told.out
    assert told.json()["facts"]["pooler"] == "transaction"


def test_health_of_a_host(cli: Cli, database: Database) -> None:
    assert "acme does not exist" in cli("health", "--json").json()["warnings"][0]
    assert cli("import", CHAT, "--create-tenant").code == 0
    done = cli("health", "--json")
    assert done.code == 0
    told = done.json()
    assert (told["status"], told["adapter"], told["role"]) == ("ok", "postgresql", "app_host")
    assert told["schema_version"] == told["target_version"]
    assert "status" in cli("health").out


def test_health_warns_of_a_role_that_row_security_does_not_bind(
    cli: Cli, database: Database
) -> None:
    done = cli("health", "--url", database.admin_url, "--json")
    assert done.code == 1
    assert done.json()["status"] == "degraded"
    assert "not bound by row security" in done.json()["warnings"][0]
    assert "warning" in cli("health", "--url", database.admin_url).out


def test_health_without_a_schema_says_what_to_do(empty_database: Database) -> None:
    done = run_process("health", "--json", STRONGROOM_URL=empty_database.host_url)
    assert done.code == 1
    assert "strongroom migrate apply" in done.json()["warnings"][0]
