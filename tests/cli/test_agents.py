"""Looking into the catalog of agents."""

from __future__ import annotations

import pytest

import strongroom
from tests.cli.conftest import Cli
from tests.servers import Database


@pytest.fixture
async def agents(database: Database) -> None:
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        await store.tenants.create(tenant_id="other", name="Other")
        for agent_id in ("draft", "gone", "support"):
            await store.agents.create(tenant_id="acme", agent_id=agent_id, name=agent_id.title())
        for model in ("small", "größer"):
            await store.agents.publish_version(
                tenant_id="acme", agent_id="support", definition={"model": model}
            )
        await store.agents.archive(tenant_id="acme", agent_id="support", expected_version=1)
        await store.agents.soft_delete(tenant_id="acme", agent_id="gone")


def test_the_list_is_a_page_of_records_with_cursors(cli: Cli, agents: None) -> None:
    first = cli("agents", "list", "--limit", 1, "--json").json()
    assert [item["id"] for item in first["items"]] == ["draft"]
    rest = cli("agents", "list", "--after", first["next_cursor"], "--json").json()
    assert [(item["id"], item["latest_version"]) for item in rest["items"]] == [("support", 2)]
    assert rest["next_cursor"] is None
    shown = cli("agents", "list", "--limit", 1).out
    assert "Next page: --after " in shown
    assert "archived" in cli("agents", "list").out
    assert "gone" not in cli("agents", "list").out
    assert "deleted" in cli("agents", "list", "--deleted").out
    assert cli("agents", "list", "--tenant", "other").out == "No agents of other.\n"


def test_an_agent_is_shown_with_the_version_that_is_asked_for(cli: Cli, agents: None) -> None:
    latest = cli("agents", "show", "support", "--json").json()
    assert (latest["agent"]["name"], latest["version"]["version"]) == ("Support", 2)
    assert latest["version"]["definition"] == {"model": "größer"}
    assert '"model": "größer"' in cli("agents", "show", "support").out
    first = cli("agents", "show", "support", "--version", 1).out
    assert "version 1" in first
    assert '"model": "small"' in first
    assert cli("agents", "show", "draft", "--json").json()["version"] is None
    assert cli("agents", "show", "draft").code == 0


def test_what_is_not_there_says_so(cli: Cli, agents: None) -> None:
    for missing in (("gone",), ("never",), ("support", "--version", 3)):
        done = cli("agents", "show", *missing, "--json")
        assert done.code != 0
        assert done.json()["error"]["code"] == "SR010"
