"""Where the server has pg_cron, the database sweeps, expires and seals by itself."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.migrations.steps import query
from tests.servers import Database, ServerPark
from tests.servers.databases import VARIANTS, grant_host, install
from tests.servers.requirements import require
from tests.servers.waiting import eventually


def test_pg_cron_sweeps_what_policies_say_and_seals_the_audit(servers: ServerPark) -> None:
    # It starts what is due at the next full minute.
    require("pg_cron")
    settings: dict[str, Any] = {
        "shared_preload_libraries": "pg_cron",
        "cron.database_name": "kept",
        "cron.use_background_workers": "on",
    }
    server = servers.launch("pg15", **settings)
    try:
        way = VARIANTS["owner"]
        database: Database = way.describe(server, server.create_database("kept"))
        way.prepare(server, database.name)
        with database.connect() as connection:
            connection.execute(f"alter database kept owner to {database.migrator}".encode())
            connection.execute("create extension pg_cron")
            connection.execute(f"grant usage on schema cron to {database.migrator}".encode())
        install(database)
        grant_host(database)
        with psycopg.connect(database.host_url, autocommit=True) as host:
            for statement in (
                "select strongroom.create_tenant('acme', 'Acme')",
                "select strongroom.create_conversation('acme', 'ada', 'talk')",
                "select strongroom.set_retention_policy('acme', 'conversations', 0, 0)",
                (
                    'select strongroom.put_memory(\'acme\', \'ada\', \'{"id": "old", "text": "Likes tea.",'
                    ' "source": "extracted", "expires_at": "2020-01-01T00:00:00Z"}\')'
                ),
            ):
                host.execute(statement.encode())
        with database.connect(user=database.migrator) as owner:
            jobs = [
                owner.execute(
                    "select strongroom_private.schedule_retention('* * * * *'),"
                    " strongroom_private.schedule_audit_seals('* * * * *'),"
                    " strongroom_private.schedule_expiry('* * * * *')"
                ).fetchone()
                for _ in range(2)
            ]
        assert jobs[0] == jobs[1], "a repeat must not schedule a second job"
        assert jobs[0] is not None
        assert len({*jobs[0]}) == 3

        def swept() -> bool:
            return query(
                database,
                "select p.swept_at is not null, exists (select from strongroom.audit_seals),"
                " exists (select from strongroom.memories) from strongroom.retention_policies as p",
            ) == [(True, True, False)]

        try:
            eventually(
                swept,
                "the policy was swept, the audit sealed, and what had expired is gone",
                timeout=90,
            )
        except AssertionError:
            told = query(database, "select status, return_message from cron.job_run_details")
            pytest.fail(f"{told}\n{server.log[-2000:]}")
        assert query(database, "select deleted_at is not null from strongroom.conversations") == [
            (True,)
        ]
        runs = query(database, "select distinct status from cron.job_run_details")
        assert ("failed",) not in runs
    finally:
        server.close()
