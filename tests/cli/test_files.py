"""Files and their bytes on the command line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from strongroom.infrastructure.filesystem_layout import Layout
from tests.cli.conftest import Cli, Ran, run_process
from tests.servers import Database

Call = Callable[..., Ran]


@pytest.fixture
def call(cli: Cli, database: Database, tmp_path: Path) -> Call:
    """Call a command with a blob store."""
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        connection.execute("select * from strongroom.create_tenant('acme', 'Acme')")

    def run(group: str, verb: str, *arguments: object) -> Ran:
        if (group, verb) != ("files", "list"):
            arguments = (*arguments, "--blobs", f"file://{tmp_path}/blobs")
        return cli(group, verb, *arguments)

    return run


def put(call: Call, folder: Path, content: bytes, *more: object) -> dict[str, Any]:
    source = folder / "plan.txt"
    source.write_bytes(content)
    done = call("files", "put", source, "--owner", "ada", "--json", *more)
    assert done.code == 0, done.err
    return dict(done.json())


def test_a_file_goes_in_and_comes_out_whole(call: Call, tmp_path: Path) -> None:
    content = os.urandom(3_000_001)
    file = put(call, tmp_path, content, "--name", "notes/plan.txt")
    assert (file["state"], file["size_bytes"]) == ("stored", len(content))
    assert file["sha256"] == hashlib.sha256(content).hexdigest()
    assert (file["path"], file["media_type"]) == ("notes/plan.txt", "text/plain")
    target = tmp_path / "out.txt"
    done = call("files", "get", file["id"], "--output", target)
    assert done.code == 0, done.err
    assert target.read_bytes() == content
    # A file that is there already is not overwritten, and no piece of a failed get stays.
    again = call("files", "get", file["id"], "--output", target)
    assert again.code == 2
    missing = call("files", "get", "none", "--output", tmp_path / "none")
    assert missing.code == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["blobs", "out.txt", "plan.txt"]


def test_damaged_bytes_take_no_place(call: Call, tmp_path: Path) -> None:
    file = put(call, tmp_path, b"right")
    place = Layout(tmp_path / "blobs").blob("acme", file["blob_key"])
    (place / "data").write_bytes(b"wrong")
    done = call("files", "get", file["id"], "--output", tmp_path / "out")
    assert done.code == 3
    assert not (tmp_path / "out").exists()


def test_the_list_shows_what_lies_under_a_path(call: Call, tmp_path: Path) -> None:
    for name in ("a/b", "a/b/c", "a/bc"):
        put(call, tmp_path, name.encode(), "--name", name)
    listed = call("files", "list", "--prefix", "a/b", "--json").json()
    assert sorted(item["path"] for item in listed["items"]) == ["a/b", "a/b/c"]
    assert "a/bc" in call("files", "list").out
    assert call("files", "list", "--owner", "eve").out == "No files of acme.\n"


def test_what_is_refused_says_why(call: Call, cli: Cli, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * (1024 * 1024 + 1))
    done = call("files", "put", large, "--owner", "ada", "--max-mib", "1", "--json")
    assert (done.code, done.json()["error"]["code"]) == (2, "SR004")
    assert call("files", "list", "--json").json()["items"] == []
    assert call("files", "put", tmp_path / "none", "--owner", "ada").code == 2
    assert call("files", "put", "-", "--owner", "ada").code == 2, "standard input needs a name"
    without = cli("files", "put", large, "--owner", "ada", "--json")
    assert (without.code, without.json()["error"]["code"]) == (6, "SR040")


def test_a_sweep_removes_what_a_deletion_let_go(
    call: Call, database: Database, tmp_path: Path
) -> None:
    file = put(call, tmp_path, b"bytes")
    assert call("blobs", "sweep", "--json").json() == {
        "removed": 0,
        "failed": 0,
        "left": 0,
        "errors": [],
    }
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        connection.execute("select * from strongroom.purge_file('acme', %s)", [file["id"]])
    place = Layout(tmp_path / "blobs").blob("acme", file["blob_key"])
    assert place.exists()
    done = call("blobs", "sweep")
    assert done.code == 0, done.err
    assert "removed  1" in done.out
    assert not place.exists()


def test_reconciling_reports_and_mends_only_when_told(
    call: Call, database: Database, tmp_path: Path
) -> None:
    file = put(call, tmp_path, b"bytes")
    assert call("blobs", "reconcile", "--grace", "0").code == 0
    with psycopg.connect(database.url(), autocommit=True) as connection:
        # What no program of ours does: the row goes, and its trigger does not run.
        connection.execute("set session_replication_role = replica")
        connection.execute("delete from strongroom.file_versions")
        connection.execute("delete from strongroom.files")
    for _ in range(2):
        found = call("blobs", "reconcile", "--grace", "0", "--json")
        assert found.code == 1
        assert [f["problem"] for f in found.json()["findings"]] == ["orphan"]
    mended = call("blobs", "reconcile", "--grace", "0", "--mend")
    assert mended.code == 0, mended.err
    assert "scheduled for removal" in mended.out
    call("blobs", "sweep")
    assert not Layout(tmp_path / "blobs").blob("acme", file["blob_key"]).exists()


def test_health_tells_what_waits(call: Call, cli: Cli, tmp_path: Path) -> None:
    put(call, tmp_path, b"bytes")
    told = cli("health", "--tenant", "acme")
    assert "uploads pending" in told.out
    assert "bytes to remove" in told.out
    assert cli("health", "--tenant", "acme", "--json").json()["blob_removals"]["waiting"] == 0


def test_bytes_go_to_standard_output(call: Call, database: Database, tmp_path: Path) -> None:
    file = put(call, tmp_path, "Grüße\n".encode() * 1000)
    blobs = f"file://{tmp_path}/blobs"
    done = run_process("files", "get", file["id"], "-o", "-", "--blobs", blobs, database=database)
    assert done.code == 0, done.err
    assert done.out == "Grüße\n" * 1000
