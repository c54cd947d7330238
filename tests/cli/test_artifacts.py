"""Listing artifacts, and showing one with its versions, for people and for programs."""

from __future__ import annotations

import pytest

import strongroom
from strongroom import BlobRef, Provenance
from tests.cli.conftest import Cli
from tests.servers import Database


@pytest.fixture
async def report(database: Database) -> str:
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        await store.tenants.create(tenant_id="other", name="Other")
        talk = await store.conversations.create(
            tenant_id="acme", owner_id="ada", conversation_id="talk"
        )
        made = await store.artifacts.create(
            tenant_id="acme",
            conversation_id=talk.id,
            artifact_id="report",
            name="reports/2026.md",
            title="A \x1b[2J year",
            text="First.",
        )
        await store.artifacts.add_version(
            tenant_id="acme",
            artifact_id=made.id,
            expected_latest=1,
            text="Second \x1b[2J.",
            provenance=Provenance(run_id="r1", source_artifact_id="other", source_version=7),
        )
        await store.artifacts.create(
            tenant_id="acme", owner_id="ada", artifact_id="plan", name="plan", value={"step": 1}
        )
        await store.artifacts.create(
            tenant_id="acme",
            owner_id="ada",
            artifact_id="film",
            name="film",
            blob=BlobRef(key="films/1", sha256="0" * 64, size_bytes=123_456_789),
        )
        await store.artifacts.soft_delete(tenant_id="acme", artifact_id="plan")
    return made.id


def test_the_list_is_a_page_of_records(cli: Cli, report: str) -> None:
    listed = cli("artifacts", "list", "--json").json()
    assert [item["id"] for item in listed["items"]] == ["film", report]
    first = cli("artifacts", "list", "--limit", 1, "--json").json()
    rest = cli("artifacts", "list", "--after", first["next_cursor"], "--json").json()
    assert [item["id"] for item in rest["items"]] == [report]
    for options, expected in (
        (("--conversation", "talk"), [report]),
        (("--owner", "ada"), ["film"]),
        (("--prefix", "reports"), [report]),
        (("--prefix", "report"), []),
        (("--deleted",), ["plan"]),
        (("--tenant", "other"), []),
    ):
        items = cli("artifacts", "list", *options, "--json").json()["items"]
        assert [item["id"] for item in items] == expected, options
    for_people = cli("artifacts", "list", "--limit", 1)
    assert "Next page: --after " in for_people.out
    assert "No artifacts of other." in cli("artifacts", "list", "--tenant", "other").out
    assert "\x1b" not in cli("artifacts", "list", width=200).out


def test_one_is_shown_with_its_versions(cli: Cli, report: str) -> None:
    shown = cli("artifacts", "show", report, "--json").json()
    assert shown["artifact"]["latest_version"] == 2
    assert shown["version"]["text"] == "Second \x1b[2J."
    assert [version["version"] for version in shown["versions"]] == [1, 2]
    for_people = cli("artifacts", "show", report, width=160)
    assert "Second ␛[2J." in for_people.out
    assert "other 7" in for_people.out
    assert "\x1b" not in for_people.out
    earlier = cli("artifacts", "show", report, "--version", 1)
    assert "First." in earlier.out
    assert "films/1" in cli("artifacts", "show", "film").out


def test_what_is_not_there_says_so(cli: Cli, report: str) -> None:
    for arguments in (("none",), (report, "--version", 3), ("plan",), (report, "--tenant", "b")):
        done = cli("artifacts", "show", *arguments, "--json")
        assert done.code == 4, arguments
        assert done.json()["error"]["name"] == "not_found"
