"""Which sessions of agent frameworks retention ends, when some of their parts are old and some in use."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.servers import Database

PUT = "select * from strongroom.put_framework_records('acme', %s, %s::jsonb)"
LEFT = "select framework || ':' || array_to_string(path, '/') from strongroom.framework_sessions"
SWEEP = "select row_count, has_more from strongroom.sweep_retention('acme')"
DAY_AGO = "now() - interval '1 day'"

Connection = psycopg.Connection[Any]


def _put(host: Connection, framework: str, path: str, collection: str, key: str = "k") -> None:
    labels = ", ".join(f'"{label}"' for label in path.split("/"))
    host.execute(
        PUT.encode(),
        [
            framework,
            f'[{{"path": [{labels}], "collection": "{collection}", "key": "{key}", "content": 1}}]',
        ],
    )


def _state(host: Connection, path: str) -> None:
    host.execute(
        b"select * from strongroom.put_framework_session('acme', 'adk', %s, '{\"a\": 1}', 0)",
        [path.split("/")],
    )


@pytest.fixture
def host(database: Database) -> Any:
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        connection.execute("select strongroom.create_tenant('acme', 'Acme')")
        connection.execute(
            "select strongroom.set_retention_policy('acme', 'framework_sessions', 7200, 0)"
        )
        yield connection


def _grow_old(database: Database) -> None:
    with database.connect() as owner:
        for table in ("sessions", "records"):
            owner.execute(
                f"update strongroom.framework_{table} set updated_at = {DAY_AGO}".encode()
            )


def _left(database: Database) -> set[str]:
    with database.connect() as owner:
        return {row[0] for row in owner.execute(LEFT)}


def test_what_is_in_use_keeps_what_is_a_part_of_it(database: Database, host: Connection) -> None:
    for path in ("above/below", "both", "both/below", "old/below", "old", "above"):
        _put(host, "langgraph", path, "checkpoints")
    _put(host, "langgraph_store", "memories/ada", "values")
    for path in ("app", "app/ada", "app/ada/talk", "app/bob", "app/bob/talk"):
        _state(host, path)
    _grow_old(database)
    # Written now: a thread whose subgraph rests, a subgraph, what is shared by an application's users.
    _put(host, "langgraph", "above", "checkpoints", "later")
    _put(host, "langgraph", "both/below", "checkpoints", "later")
    with database.connect() as owner:
        # As long as puts within an hour leave it: the records alone say that the thread is in use.
        owner.execute(
            f"update strongroom.framework_sessions set updated_at = {DAY_AGO}"
            " where path = '{above}'".encode()
        )
        owner.execute(
            b"update strongroom.framework_sessions set updated_at = now()"
            b" where path in ('{app}', '{app,bob,talk}')"
        )
    assert host.execute(SWEEP.encode()).fetchall() == [(4, False)]
    assert _left(database) == {
        "langgraph:above",
        "langgraph:above/below",
        "langgraph:both",
        "langgraph:both/below",
        "langgraph_store:memories/ada",
        "adk:app",
        "adk:app/bob",
        "adk:app/bob/talk",
    }
    assert host.execute(SWEEP.encode()).fetchall() == [(0, False)]


def test_a_put_that_is_under_way_keeps_its_session_and_is_not_waited_for(
    database: Database, host: Connection
) -> None:
    for path in ("used", "idle"):
        _put(host, "langgraph", path, "checkpoints")
    _grow_old(database)
    with psycopg.connect(database.host_url) as writer:
        _put(writer, "langgraph", "used", "checkpoints", "later")
        with host.transaction():
            host.execute("set local lock_timeout = '2s'")
            assert host.execute(SWEEP.encode()).fetchall() == [(1, False)]
        writer.commit()
        assert _left(database) == {"langgraph:used"}
        # It has told its session of it; within the hour no put writes there again.
        told = b"select xmin::text, updated_at > now() - interval '1 minute'"
        told += b" from strongroom.framework_sessions"
        with database.connect() as owner:
            before = owner.execute(told).fetchall()
            _put(writer, "langgraph", "used", "checkpoints", "last")
            writer.commit()
            assert owner.execute(told).fetchall() == before
        assert [row[1] for row in before] == [True]
    assert host.execute(SWEEP.encode()).fetchall() == [(0, False)]
