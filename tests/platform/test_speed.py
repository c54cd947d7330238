"""What signed-in users pay, as far as it can be asserted; SUPABASE.md says what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import strongroom
from strongroom import NewMessage, TextPart
from tests.platform.postgrest import make_token, postgrest, user_token
from tests.servers import Database, Templates
from tests.servers.databases import dropped_after

Connection = psycopg.Connection[Any]
MESSAGES = 3000
PAGE = "select * from strongroom.list_messages('acme', 'talk', 50, p_after_position => {})"


@pytest.fixture(scope="module")
def loaded(templates: Templates) -> Iterator[Database]:
    with dropped_after(templates.copy("supabase")) as database:
        part = {"type": "text", "schema_version": 1, "text": "x" * 500}
        with psycopg.connect(database.host_url, autocommit=True) as host:
            host.execute("select strongroom.create_tenant('acme', 'Acme')")
            for talk in ("talk", "other"):
                host.execute("select strongroom.create_conversation('acme', 'ada', %s)", [talk])
                for start in range(0, MESSAGES, 500):
                    batch = [
                        {"id": f"{talk}-{n}", "role": "user", "parts": [part]}
                        for n in range(start, start + 500)
                    ]
                    host.execute(
                        "select strongroom.append_messages('acme', %s, %s::jsonb)",
                        [talk, json.dumps(batch)],
                    )
        with database.connect() as admin:
            admin.execute("vacuum analyze strongroom.messages, strongroom.conversations")
        yield database


@pytest.fixture
def user(loaded: Database) -> Iterator[Connection]:
    claims = {"sub": "ada", "role": "authenticated", "app_metadata": {"tenant_id": "acme"}}
    with psycopg.connect(loaded.url(user="authenticator"), autocommit=True) as connection:
        connection.execute("set role authenticated")
        connection.execute(
            "select set_config('request.jwt.claims', %s, false)", [json.dumps(claims)]
        )
        yield connection


def explain(connection: Connection, query: str) -> dict[str, Any]:
    for _ in range(3):
        row = connection.execute(
            f"explain (analyze, buffers, format json) {query}".encode(), prepare=False
        ).fetchone()
        assert row is not None
    plan: dict[str, Any] = row[0][0]["Plan"]  # type: ignore[index]
    return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def test_a_direct_select_keeps_its_index(user: Connection) -> None:
    plan = explain(
        user,
        "select * from strongroom.messages where tenant_id = 'acme' and conversation_id = 'talk'"
        " and position > 1500 order by position limit 50",
    )
    scans = [node for node in nodes(plan) if "Scan" in node["Node Type"]]
    assert [node.get("Index Name") for node in scans] == ["messages_pkey"]
    assert "position > 1500" in scans[0]["Index Cond"].replace('"', "")
    assert plan["Actual Rows"] == 50


@pytest.mark.parametrize("position", [0, MESSAGES // 2, MESSAGES - 60])
def test_a_users_page_asks_once_and_not_for_every_row(
    loaded: Database, user: Connection, position: int
) -> None:
    """Asking for every row reads some 250 buffers more, and takes three times as long."""
    query = PAGE.format(position)

    def buffers(connection: Connection) -> int:
        plan = explain(connection, query)
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    with psycopg.connect(loaded.host_url, autocommit=True) as host:
        as_host = buffers(host)
    assert buffers(user) <= as_host + 20


async def test_an_append_over_the_api_is_one_request_and_one_transaction(loaded: Database) -> None:
    with postgrest(loaded.url(user="authenticator")) as api:
        async with strongroom.connect_supabase(
            api.url, make_token("anon"), access_token=user_token("acme", "ada")
        ) as store:
            api.requests.clear()
            messages = [
                NewMessage(id=f"api-{n}", role="user", parts=[TextPart(text="hi")])
                for n in range(3)
            ]
            await store.messages.append(tenant_id="acme", conversation_id="talk", messages=messages)
        assert api.requests == {"append_messages": 1}
    with loaded.connect() as admin:
        rows = admin.execute(
            "select count(*), count(distinct xmin::text) from strongroom.messages"
            " where id like 'api-%'"
        ).fetchone()
    assert rows == (3, 1)
