"""What a list costs somebody who may read little of a large tenant, and a sum over many keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import LiteralString

import psycopg
import pytest

from tests.servers import Templates
from tests.servers.databases import dropped_after

_CONVERSATIONS = 20_000

_FILL: tuple[LiteralString, ...] = (
    "set session_replication_role = replica",
    "insert into strongroom.tenants (tenant_id, name, creation_digest) values ('t', 'T', 'x')",
    """
    insert into strongroom.conversations
        (tenant_id, id, owner_id, visibility, creation_digest, created_at)
    select 't', 'c' || n, 'o' || n %% 5000, 'private', 'x', now() - n * interval '1 s'
    from generate_series(1, %(n)s) as n
    """,
    """
    insert into strongroom.usage_events
        (tenant_id, id, conversation_id, input_tokens, cost, cost_decimals, currency)
    select 't', 'u' || n, 'c' || n, 1, 1, 2, 'EUR'
    from generate_series(1, %(n)s) as n
    """,
    """
    insert into strongroom.runs
        (
            tenant_id, id, conversation_id, number, status, is_ready, is_head, creation_digest,
            created_at, finished_at
        )
    select
        't', 'r' || n, 'c' || n, 1, 'completed', false, false, 'x', now() - n * interval '1 s', now()
    from generate_series(1, %(n)s) as n
    """,
    """
    insert into strongroom.artifacts
        (tenant_id, id, conversation_id, name, creation_digest, created_at)
    select 't', 'a' || n, 'c' || n, 'name', 'x', now() - n * interval '1 s'
    from generate_series(1, %(n)s) as n
    """,
    """
    insert into strongroom.files
        (tenant_id, id, owner_id, conversation_id, path, creation_digest, created_at)
    select 't', 'f' || n, 'o', 'c' || n, 'path', 'x', now() - n * interval '1 s'
    from generate_series(1, %(n)s) as n
    """,
    "analyze",
    "set session_replication_role = origin",
)

_LISTS: dict[str, tuple[LiteralString, int]] = {
    "runs": ("select id from strongroom.list_runs('t', p_viewer_id => %(viewer)s)", 4),
    "artifacts": ("select id from strongroom.list_artifacts('t', p_viewer_id => %(viewer)s)", 4),
    # They have no versions, so they are not shown: only what is looked at counts here.
    "files": ("select id from strongroom.list_files('t', p_viewer_id => %(viewer)s)", 0),
    "usage": ("select id from strongroom.list_usage('t', p_viewer_id => %(viewer)s)", 4),
    "sums of usage": (
        "select key from strongroom.list_usage_rollup('t', 'model', p_viewer_id => %(viewer)s)",
        1,
    ),
}


@pytest.fixture(scope="module")
def large(templates: Templates) -> Iterator[psycopg.Connection]:
    with dropped_after(templates.copy()) as database, database.connect() as connection:
        for statement in _FILL:
            connection.execute(statement, {"n": _CONVERSATIONS})
        connection.execute("set track_functions = 'all'")
        yield connection


def _calls(connection: psycopg.Connection) -> int:
    (calls,) = connection.execute(
        "select coalesce(sum(calls), 0) from pg_catalog.pg_stat_xact_user_functions"
    ).fetchone() or (0,)
    return int(calls)


@pytest.mark.parametrize("role", ["app_host", "authenticated"])
@pytest.mark.parametrize("what", _LISTS)
def test_a_viewer_pays_for_what_they_may_read(
    large: psycopg.Connection, what: str, role: LiteralString
) -> None:
    query, readable = _LISTS[what]
    for viewer, expected in (("o77", readable), ("nobody", 0)):
        claims = {"sub": viewer, "app_metadata": {"tenant_id": "t"}}
        with large.transaction(force_rollback=True):
            large.execute("select set_config('request.jwt.claims', %s, true)", [json.dumps(claims)])
            large.execute(f"set local role {role}")
            before = _calls(large)
            rows = large.execute(
                query, {"viewer": viewer if role == "app_host" else None}
            ).fetchall()
            assert len(rows) == expected
            # A call for each row of the tenant would be 20,000.
            assert _calls(large) - before < 1_000


def test_a_sum_over_many_keys_is_not_quadratic(large: psycopg.Connection) -> None:
    with large.transaction(force_rollback=True):
        # It takes a fifth of a second; each key times each key takes minutes.
        large.execute("set local statement_timeout = '15s'")
        large.execute("set local role app_host")
        rows = large.execute(
            "select costs from strongroom.list_usage_rollup('t', 'conversation')"
        ).fetchall()
    assert [costs for (costs,) in rows] == [[{"cost": "1", "currency": "EUR", "decimals": 2}]] * 50


@pytest.mark.parametrize("more", ["", ", p_owner_id => 'o'", ", p_viewer_id => 'o77'"])
def test_files_under_a_path_are_found_by_index(large: psycopg.Connection, more: str) -> None:
    # Row security lets an index take no expression of a column but what cannot leak.
    with large.transaction(force_rollback=True):
        large.execute("set local role app_host")
        row = large.execute(
            "explain (analyze, buffers, format json)"
            f" select * from strongroom.list_files('t', p_path_prefix => 'nowhere'{more})".encode()
        ).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    assert plan["Actual Rows"] == 0
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 60
