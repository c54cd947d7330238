"""Looking into transcripts and memory sessions."""

from __future__ import annotations

import pytest

import strongroom
from strongroom import MemoryContext
from tests.cli.conftest import Cli
from tests.servers import Database


@pytest.fixture
async def filled(database: Database) -> None:
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        await store.tenants.create(tenant_id="other", name="Other")
        for scope in ("one", "two"):
            await store.transcripts.save(
                tenant_id="acme", scope=scope, messages=[{"content": f"grüße {scope}"}, "\x1b[2J"]
            )
        for user_id in ("ada", "bob"):
            context = MemoryContext(session_id="thread", user_id=user_id)
            await store.memory.append(
                tenant_id="acme", context=context, run_id="r", turn=0, messages=[user_id]
            )


def test_scopes_and_sessions_are_listed_and_shown(cli: Cli, filled: None) -> None:
    first = cli("transcripts", "list", "--limit", 1, "--json").json()
    assert [item["scope"] for item in first["items"]] == ["two"]
    rest = cli("transcripts", "list", "--after", first["next_cursor"], "--json").json()
    assert [(item["scope"], item["message_count"]) for item in rest["items"]] == [("one", 2)]
    assert "Next page: --after " in cli("transcripts", "list", "--limit", 1).out
    shown = cli("transcripts", "show", "one").out
    assert "grüße one" in shown
    assert "\x1b[2J" not in shown
    assert cli("transcripts", "show", "one", "--json").json()["messages"][1] == "\x1b[2J"
    assert cli("transcripts", "list", "--tenant", "other").out == "No transcripts of other.\n"
    (adas,) = cli("sessions", "list", "--user", "ada", "--json").json()["items"]
    assert adas["session_id"] == "thread"
    assert "thread" in cli("sessions", "list").out
    assert '"ada"' in cli("sessions", "show", adas["ref"]).out
    found = cli("sessions", "show", adas["ref"], "--json").json()
    assert [stored["message"] for stored in found["messages"]] == ["ada"]
    assert cli("sessions", "list", "--user", "eve").out == "No sessions of acme.\n"
    for missing in (("transcripts", "show", "never"), ("sessions", "show", "thread")):
        done = cli(*missing, "--json")
        assert done.code != 0
        assert done.json()["error"]["code"] == "SR010"
