"""A database that was upgraded step by step, with data in it, is the same as a fresh one (B59)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.migrations import stories
from tests.migrations.steps import STEPS, VERSIONS, drifts, go_up, objects, query
from tests.servers import NEWEST_AND_OLDEST, Database
from tests.servers.databases import grant_host

RIGHTS = """
select n.nspname || '.' || c.relname as object, c.relacl::text as rights
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where n.nspname like 'strongroom%' and c.relkind in ('r', 'v')
union all
select p.oid::regprocedure::text, p.proacl::text
from pg_proc as p
where p.pronamespace::regnamespace::text like 'strongroom%'
order by 1
"""


@pytest.mark.parametrize("server", NEWEST_AND_OLDEST)
def test_an_upgraded_database_equals_a_fresh_one(
    server: str, make_database: Callable[..., Database]
) -> None:
    """At each version all that it can hold is written; each next migration leaves it untouched.

    So what was written at any version comes through all the later ones.
    """
    upgraded = make_database(server=server, installed=False)
    kept: dict[str, list[dict[str, Any]]] = {}
    for version in VERSIONS:
        go_up(upgraded, version, after=version - 1)
        if version == 1:
            grant_host(upgraded)
        now = stories.contents(upgraded)
        for table, rows in kept.items():
            # Later migrations may add columns; what was there is untouched.
            assert [
                {key: new[key] for key in old} for old, new in zip(rows, now[table], strict=True)
            ] == rows, (version, table)
        assert drifts(upgraded, version) == []
        stories.fill(upgraded, version)
        kept = stories.contents(upgraded)
        assert all(kept.values()), version

    fresh = make_database(server=server)
    assert objects(upgraded) == objects(fresh)
    assert _rights(upgraded) == _rights(fresh)
    assert query(upgraded, "select schema_version from strongroom.read_health()") == [(len(STEPS),)]


def _rights(database: Database) -> list[tuple[str, str]]:
    """The rights by object, whoever granted them first."""
    return [
        (name, ",".join(sorted(str(rights).strip("{}").split(","))))
        for name, rights in query(database, RIGHTS)
    ]


def test_the_history_tells_who_when_and_what(database: Database) -> None:
    assert query(
        database,
        "select version, name, status, reason, applied_by, applied_at <= now()"
        " from strongroom.schema_history order by version",
    ) == [(step.version, step.name, "applied", None, database.migrator, True) for step in STEPS]
