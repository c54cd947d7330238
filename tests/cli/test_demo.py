"""The demo claims only what it has seen, and says so when it is not so."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from rich.cells import cell_len

from strongroom.embedded import EmbeddedServer
from strongroom.migrations import load_migrations
from tests.cli.conftest import Cli, Ran, run_process
from tests.servers.waiting import remove_folder


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that the server's user can reach: pytest's own are closed to it when we are root."""
    made = Path(tempfile.mkdtemp(prefix="strongroom-demo-"))
    made.chmod(0o755)
    yield made
    remove_folder(made)


@pytest.fixture
def folder(reachable: Path) -> Path:
    return reachable / "a folder, 記憶"


def failed_claims(ran: Ran) -> list[str]:
    return [claim["text"] for claim in ran.json()["claims"] if not claim["holds"]]


def test_the_demo_shows_what_it_claims() -> None:
    done = run_process("demo", "--json")
    assert done.code == 0, done.err
    told = done.json()
    assert told["ok"] is True
    assert told["messages"] == 25
    assert told["schema_version"] == load_migrations()[-1].version
    assert told["parts"]["tool-call"] == 8
    assert told["kept_in"] is None
    assert len(told["claims"]) >= 21
    assert all(claim["holds"] for claim in told["claims"])
    assert done.err == ""


@pytest.mark.parametrize("width", [80, 120])
def test_a_person_can_read_it(cli_alone: Cli, width: int) -> None:
    done = cli_alone("demo", width=width)
    assert done.code == 0, done.out
    assert all(cell_len(line.rstrip()) <= width for line in done.out.splitlines())
    assert "✗ change_seat" in done.out
    assert "✓ Appending the last three messages again doubles nothing" in done.out
    assert "What to try next" in done.out
    assert "23 of 23 claims hold" in done.out


def test_the_kept_data_is_there_for_the_other_commands(folder: Path) -> None:
    first = run_process("demo", "--keep", folder, "--json").json()
    assert first["kept_in"] == str(folder)
    variables = {
        "STRONGROOM_URL": f"embedded://{quote(str(folder))}",
        "STRONGROOM_TENANT": first["tenant_id"],
    }
    shown = run_process("conversations", "show", first["conversation_id"], "--json", **variables)
    assert len(shown.json()["messages"]) == 25
    for command in (("health",), ("doctor",), ("migrate", "plan")):
        done = run_process(*command, **variables)
        assert done.code == 0, done.out
    again = run_process("demo", "--keep", folder, "--json")
    assert again.code == 0
    assert "25 from an earlier demo" in again.json()["claims"][0]["found"]


def test_a_wall_that_is_down_is_seen(folder: Path) -> None:
    assert run_process("demo", "--keep", folder, "--json").code == 0
    with (
        EmbeddedServer.start(f"embedded://{quote(str(folder))}") as server,
        psycopg.connect(server.admin_url, autocommit=True) as connection,
    ):
        connection.execute("alter table strongroom.messages disable row level security")
    done = run_process("demo", "--keep", folder, "--json")
    assert done.code == 1
    assert done.json()["ok"] is False
    assert failed_claims(done) == [
        "A signed-in user of another tenant, writing SQL of their own, sees no row",
        "The role `authenticated` without a valid JWT sees no row",
    ]
    told = run_process("demo", "--keep", folder)
    assert told.code == 1
    assert "21 of 23 claims hold" in told.out


def test_a_missing_message_is_seen(folder: Path) -> None:
    assert run_process("demo", "--keep", folder, "--json").code == 0
    with (
        EmbeddedServer.start(f"embedded://{quote(str(folder))}") as server,
        psycopg.connect(server.admin_url, autocommit=True) as connection,
    ):
        connection.execute("set session_replication_role = replica")
        connection.execute("delete from strongroom.messages where position = 12")
    done = run_process("demo", "--keep", folder, "--json")
    assert done.code == 1, done.out


def test_a_folder_that_holds_something_else_is_refused(reachable: Path) -> None:
    (reachable / "letters.txt").write_text("Dear Ada")
    done = run_process("demo", "--keep", reachable, "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == "SR001"
    assert "is not empty" in done.err
    assert (reachable / "letters.txt").read_text() == "Dear Ada"
