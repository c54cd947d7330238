"""A claim costs what the claim costs, however many jobs have ended, are for later, or wait (B23)."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.servers.databases import Database, Templates, dropped_after

ENDED, FUTURE, DUE, TENANTS = 200_000, 50_000, 10, 20
BUFFERS_OF_A_CLAIM = 80
LOAD = (
    f"select strongroom.create_tenant('t' || i, 'T') from generate_series(1, {TENANTS}) as i",
    # Foreign keys are right by construction; everything else is checked as always.
    "set session_replication_role = replica",
    f"""
    insert into strongroom.jobs (
        tenant_id, id, queue, kind, status, is_ready, attempt, available_at, created_at,
        finished_at, error, creation_digest
    )
    select 't' || 1 + i % {TENANTS}, 'ended' || i, 'default', 'k',
        (array['completed', 'failed', 'cancelled'])[1 + i % 3], false, 1, now(),
        now() - make_interval(secs => i), now(), '{{}}', 'loaded'
    from generate_series(1, {ENDED}) as i
    """,
    f"""
    insert into strongroom.jobs (
        tenant_id, id, queue, kind, is_ready, available_at, claimable_at, created_at,
        creation_digest
    )
    select 't' || 1 + i % {TENANTS}, 'future' || i, 'default', 'k', false,
        now() + interval '1 day', now() + interval '1 day', now() - make_interval(secs => i),
        'loaded'
    from generate_series(1, {FUTURE}) as i
    """,
    "set session_replication_role = origin",
    "vacuum analyze strongroom.jobs",
    "vacuum analyze strongroom.tenants",
)


@pytest.fixture(scope="module", params=["superuser", "owner"])
def full(request: pytest.FixtureRequest, templates: Templates) -> Iterator[Database]:
    """200,000 ended and 50,000 future jobs of 20 tenants; owned by a superuser or a plain role."""
    with dropped_after(templates.copy(request.param)) as database:
        with database.connect() as connection:
            connection.execute("select set_config('search_path', 'pg_catalog', false)")
            for statement in LOAD:
                connection.execute(statement.encode())
        yield database


@pytest.fixture
def host(full: Database) -> Iterator[psycopg.Connection]:
    with full.connect(user=full.host) as connection:
        for number in range(DUE):
            connection.execute(
                "select strongroom.enqueue_job(%s, 'k')", [f"t{1 + number % TENANTS}"]
            )
        yield connection
        connection.execute(
            """select strongroom.complete_and_claim_jobs(
                coalesce(jsonb_agg(jsonb_build_object(
                    'tenant_id', j.tenant_id, 'id', j.id, 'claim_token', j.claim_token
                )), '[]'), 'w', p_limit => 0)
            from strongroom.claim_jobs('w', p_limit => 500) as j"""
        )


def explain(connection: psycopg.Connection, query: str) -> dict[str, Any]:
    row = connection.execute(
        f"explain (analyze, buffers, format json) {query}".encode(), prepare=False
    ).fetchone()
    assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def sequential_scans(database: Database) -> int:
    with database.connect() as connection:
        connection.execute("select pg_stat_force_next_flush()")
        row = connection.execute(
            "select sum(seq_scan) from pg_stat_user_tables where schemaname = 'strongroom'"
            " and relname = 'jobs'"
        ).fetchone()
    assert row is not None
    return int(row[0])


def warmed(connection: psycopg.Connection) -> None:
    """A first call reads the catalog; what is counted comes after it."""
    connection.execute("select strongroom.claim_jobs('w', p_queues => '{nothing}')")
    connection.execute("select strongroom.claim_jobs('w', p_queues => '{nothing}', p_limit => 5)")
    connection.execute("select pg_stat_force_next_flush()")


def test_a_claim_reads_nothing_that_is_not_due_b23(
    full: Database, host: psycopg.Connection
) -> None:
    warmed(host)
    host.execute("select strongroom.claim_jobs('w')")
    scans = sequential_scans(full)
    used = []
    for after in ("t1", "t18", "zz"):
        plan = explain(
            host, f"select * from strongroom.claim_jobs('w', p_after_tenant_id => '{after}')"
        )
        assert plan["Actual Rows"] == 1
        used.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
    assert max(used) <= BUFFERS_OF_A_CLAIM
    host.execute("select pg_stat_force_next_flush()")
    assert sequential_scans(full) == scans


def test_a_claim_with_nothing_due_costs_next_to_nothing_b23(
    full: Database, host: psycopg.Connection
) -> None:
    warmed(host)
    scans = sequential_scans(full)
    plan = explain(host, "select * from strongroom.claim_jobs('w', p_queues => '{empty}')")
    assert plan["Actual Rows"] == 0
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 30
    host.execute("select pg_stat_force_next_flush()")
    assert sequential_scans(full) == scans


def test_a_backlog_makes_a_claim_no_dearer_b23(
    make_database: Callable[..., Database],
) -> None:
    database = make_database("owner")
    with database.connect(user=database.host) as host:
        host.execute("select strongroom.create_tenant('t1', 'T')")
        used = {}
        for backlog in (5, 20_000):
            host.execute(
                """select count(*) from generate_series(1, %s) as i,
                lateral strongroom.enqueue_job('t1', 'k')""",
                [backlog],
            )
            with database.connect() as connection:
                connection.execute("vacuum analyze strongroom.jobs")
            warmed(host)
            plans = [explain(host, "select * from strongroom.claim_jobs('w')") for _ in range(3)]
            used[backlog] = min(p["Shared Hit Blocks"] + p["Shared Read Blocks"] for p in plans)
    assert used[20_000] <= 1.5 * used[5] + 10


JOBS_OF_A_DAY = """
    do $$
    begin
        for _ in 1 .. {rounds} loop
            perform strongroom.enqueue_job('t1', 'k') from generate_series(1, 100);
            perform strongroom.complete_jobs('t1', (
                select jsonb_agg(jsonb_build_object('id', j.id, 'claim_token', j.claim_token))
                from strongroom.claim_jobs('w', p_lease_seconds => 0.001, p_limit => 100) as j
            ));
            commit;
        end loop;
    end $$
"""
RUNS_OF_A_DAY = """
    do $$
    begin
        for _ in 1 .. {rounds} loop
            perform strongroom.create_run('t1', 'c' || i) from generate_series(1, 20) as i;
            perform strongroom.finish_run('t1', r.id, r.claim_token, 'completed')
            from strongroom.claim_next_runs('w', 0.001, 20) as r;
            commit;
        end loop;
    end $$
"""


@pytest.mark.parametrize(
    ("table", "day", "one_more", "claim", "rounds"),
    [
        ("jobs", JOBS_OF_A_DAY, "enqueue_job('t1', 'k')", "claim_jobs('w')", 200),
        ("runs", RUNS_OF_A_DAY, "create_run('t1', 'd' || %s)", "claim_next_runs('w')", 150),
    ],
)
def test_what_has_ended_makes_a_claim_no_dearer_even_before_a_vacuum_b23(
    make_database: Callable[..., Database],
    table: str,
    day: str,
    one_more: str,
    claim: str,
    rounds: int,
) -> None:
    """On one connection, whose plans are those of an empty table, and without new statistics.

    The backlog is small: entries of a long one leave index pages behind, which only a vacuum frees.
    """
    database = make_database("owner")
    with database.connect() as connection:
        connection.execute(
            f"alter table strongroom.{table} set (autovacuum_enabled = off)".encode()
        )
    with database.connect(user=database.host) as host:
        host.execute("select strongroom.create_tenant('t1', 'T')")
        host.execute(
            """select count(*)
            from generate_series(1, 100) as i,
            lateral unnest(array['c', 'd']) as kind,
            lateral strongroom.create_conversation('t1', 'u', kind || i)"""
        )
        costs = []
        for more in (1, rounds):
            host.execute(day.format(rounds=more).encode())
            for number in range(1, 4):
                values = [number + 10 * len(costs)] if "%s" in one_more else []
                host.execute(f"select strongroom.{one_more}".encode(), values)
            plans = [explain(host, f"select * from strongroom.{claim}") for _ in range(3)]
            assert [plan["Actual Rows"] for plan in plans] == [1, 1, 1]
            costs.append(sorted(p["Shared Hit Blocks"] + p["Shared Read Blocks"] for p in plans)[1])
    assert costs[1] <= 1.5 * costs[0], costs
