"""What people do with strongroom, in SQL: the least that must work however it was installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg

from tests.migrations.steps import query
from tests.servers import Database

_HELLO = json.dumps(
    [
        {
            "id": "m1",
            "role": "user",
            "parts": [{"type": "text", "schema_version": 1, "text": "Grüße 🌍"}],
        }
    ]
)

_FILL: dict[int, list[LiteralString]] = {
    1: [
        "select * from strongroom.create_tenant('acme', 'Acme')",
        "select * from strongroom.create_tenant('umbrella', 'Umbrella', '{\"tier\": 2}')",
        "select * from strongroom.add_member('acme', 'ada', '{admin}', 'membership-1')",
    ],
    2: [
        (
            "select * from strongroom.create_conversation('acme', 'ada', 'talk', 'Returns', 'ref-1',"
            " p_participant_ids => '{grace}')"
        ),
        "select * from strongroom.create_conversation('umbrella', 'eve', 'talk')",
        (
            "select * from strongroom.append_messages('acme', 'talk', '[{\"id\": \"m0\","
            ' "role": "user", "parts": [{"type": "text", "schema_version": 1, "text": "Hi"}]}]\')'
        ),
        "select * from strongroom.put_session_state('acme', 'talk', '{\"step\": 1}', 0)",
        "select * from strongroom.append_thread_summary('acme', 'talk', 'A greeting.', 1, 's1')",
    ],
}


def fill(database: Database, version: int) -> None:
    """Write what a database of this version can hold, as a host."""
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        for statement in _FILL[version]:
            connection.execute(statement)


def contents(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table but the grants and the history, which migrations write."""
    tables = query(
        database,
        "select c.oid::regclass::text from pg_class as c where c.relkind = 'r'"
        " and c.relnamespace = 'strongroom'::regnamespace and c.relname <> 'schema_history'"
        " order by 1",
    )
    return {
        table: sorted(
            (row for (row,) in query(database, f"select to_jsonb(t) from {table} as t")), key=str
        )
        for (table,) in tables
    }


@contextmanager
def as_host(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        yield connection


@contextmanager
def as_user(database: Database, principal: str, tenant: str) -> Iterator[psycopg.Connection]:
    """One request, as PostgREST makes it."""
    claims = {"sub": principal, "role": "authenticated", "app_metadata": {"tenant_id": tenant}}
    with psycopg.connect(database.url(user="authenticator")) as connection:
        connection.execute("set local role authenticated")
        connection.execute(
            "select set_config('request.jwt.claims', %s, true)", [json.dumps(claims)]
        )
        yield connection


def refused(connection: psycopg.Connection, statement: LiteralString) -> str | None:
    """Run what must be refused, and return the SQLSTATE."""
    try:
        connection.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def create(connection: psycopg.Connection, tenant: str, owner: str, conversation: str) -> Any:
    row = connection.execute(
        "select outcome from strongroom.create_conversation(%s, %s, %s)",
        [tenant, owner, conversation],
    ).fetchone()
    return row and row[0]


def append(connection: psycopg.Connection, tenant: str, conversation: str) -> Any:
    return connection.execute(
        "select outcome, position from strongroom.append_messages(%s, %s, %s::jsonb)",
        [tenant, conversation, _HELLO],
    ).fetchall()


def texts(connection: psycopg.Connection, tenant: str, conversation: str) -> Any:
    return connection.execute(
        "select parts -> 0 ->> 'text' from strongroom.list_messages(%s, %s)",
        [tenant, conversation],
    ).fetchall()


def conversations(connection: psycopg.Connection, tenant: str) -> list[str]:
    rows = connection.execute(
        "select id from strongroom.list_conversations(%s)", [tenant]
    ).fetchall()
    return [row[0] for row in rows]
