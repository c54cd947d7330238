"""What frameworks keep is found by index, however many sessions and records there are."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from tests.servers.databases import Database, Templates, dropped_after

FEW, MANY = 10, 5_000
FILL = """
    with sessions as (
        insert into strongroom.framework_sessions (tenant_id, id, framework, path)
        select 'acme', 's' || n, 'graphs', array['s' || n]
        from generate_series({first}, {last}) as n
        returning id
    )

    insert into strongroom.framework_records (
        tenant_id, session_id, collection, key, position, content, data
    )
    select
        'acme',
        's1',
        c.collection,
        lpad(n::text, 6, '0') || case c.collection when 'writes' then ':task:0' else ':a' end,
        case c.collection when 'items' then 1000000 + n end,
        '{{"type": "x", "channels": {{}}, "parts": []}}',
        case c.collection when 'parts' then decode('00', 'hex') end
    from generate_series({first}, {last}) as n
    cross join unnest('{{items,checkpoints,channels,parts,writes}}'::text[]) as c (collection)
    -- So that the session is there first.
    where (select count(*) from sessions) > 0
"""
RECORDS = [
    {"path": ["s1"], "collection": "checkpoints", "key": "000001:a", "mode": "keep", "content": 1}
    | {"expected_version": 1, "metadata": {}},
    {"path": ["s1"], "collection": "channels", "key": "new:{0}", "content": {"type": "x"}},
]
WANTED = [{"path": ["s1"], "collection": "channels", "key": "000001:a"}]
CALLS = {
    "find_framework_records": ("", json.dumps(WANTED), ""),
    "append_framework_records": ("'{s1}'", json.dumps([{"key": "new{0}", "content": 1}]), ""),
    "put_framework_records": ("", json.dumps(RECORDS), ""),
    "list_framework_records": ("'{s1}'", "", "p_limit => 10, p_direction => 'backward'"),
    "read_framework_checkpoints": ("'{s1}'", "", "p_exact => true, p_limit => 2"),
    # All whose paths begin alike.
    "list_framework_sessions": ("'{s2}'", "", ""),
    "search_framework_records": ("'{s2}'", "", ""),
    "delete_framework_sessions": ("'{s0}'", "", ""),
    "prune_framework_checkpoints": ("'{s2}'", "", ""),
    "read_framework_checkpoints below": ("'{s2}'", "", ""),
    "prune_framework_checkpoints of runs": ("null", "", "p_run_ids => '{nobodys}'"),
}


@pytest.fixture
def database(templates: Templates) -> Iterator[Database]:
    with dropped_after(templates.copy()) as made:
        yield made


def _buffers(host: psycopg.Connection, function: str, turn: int) -> int:
    path, records, rest = CALLS[function]
    given = f"'{records.replace('{0}', str(turn))}'" if records else ""
    arguments = ", ".join(filter(None, ("'acme'", "'graphs'", path, given, rest)))
    query = (
        "explain (analyze, buffers, format json)"
        f" select * from strongroom.{function.split(maxsplit=1)[0]}({arguments})"
    )
    row = host.execute(query.encode()).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_calls_touch_as_much_of_many_sessions_and_records_as_of_few(database: Database) -> None:
    found: dict[int, dict[str, int]] = {}
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        with database.connect() as owner:
            owner.autocommit = True
            owner.execute(
                "insert into strongroom.tenants (tenant_id, name, creation_digest)"
                " values ('acme', 'Acme', '') on conflict do nothing"
            )
            owner.execute(FILL.format(first=first, last=last).encode())
            owner.execute("vacuum analyze strongroom.framework_sessions")
            owner.execute("vacuum analyze strongroom.framework_records")
        with psycopg.connect(database.host_url, autocommit=True) as host:
            for function in CALLS:
                _buffers(host, function, last)
            found[last] = {name: _buffers(host, name, last + 1) for name in CALLS}
    # An index that has grown is a level or two deeper.
    for name in CALLS:
        assert found[MANY][name] <= found[FEW][name] + 15, (name, found)
