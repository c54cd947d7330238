"""Ingesting and searching: what scripts get, what people are told, and what a kill leaves."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, command_line, environment, run_process
from tests.servers import Database, eventually

EMBEDDER = '''
import os, pathlib, time

HERE = pathlib.Path(__file__).parent

def embed(texts):
    """Note what is embedded; the process that has STOP_AT stays at that text for ever."""
    for text in texts:
        with (HERE / "log").open("a") as log:
            log.write(text.splitlines()[-1] + "\\\\n")
        while os.environ.get("STOP_AT") and os.environ["STOP_AT"] in text:
            time.sleep(1)
    return [[float(len(text)), 1.0] for text in texts]
'''.replace("\\\\n", "\\n")


def stored(database: Database) -> dict[str, tuple[int, int]]:
    with database.connect() as connection:
        rows = connection.execute(
            "select external_ref, version, chunk_count from strongroom.source_details"
            " where deleted_at is null"
        ).fetchall()
    return {ref: (version, chunks) for ref, version, chunks in rows}


def has_vectors(cli: Cli) -> bool:
    return "vector_search" in cli("health", "--json").json()["capabilities"]


def test_ingest_then_search(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "faq.md").write_text("# Delivery\n\nParcels arrive on Monday.\n")
    (folder / "bad.md").write_bytes(b"ok\n\xff")
    arguments = ("ingest", folder, "--collection", "help")
    refused = cli(*arguments, "--create-tenant", "--json")
    assert refused.code == 2
    assert refused.json()["error"]["detail"]["file"] == "docs/bad.md"
    assert "docs/bad.md: line 2: is not UTF-8" in refused.err
    assert cli("search", "parcels", "--collection", "help").code == 4
    skipped = cli(*arguments, "--skip-unreadable", "--json")
    assert skipped.code == 1, skipped.err
    assert (skipped.json()["inserted"], skipped.json()["embedding_model"]) == (
        ["docs/faq.md"],
        None,
    )
    (folder / "bad.md").unlink()
    again = cli(*arguments)
    assert again.code == 0
    assert "Nothing to ingest: all 1 files are there already." in again.out
    found = cli("search", "parcels & | ! ''", "--collection", "help", "--json")
    assert found.code == 0, found.err
    hit = found.json()["items"][0]
    assert (found.json()["mode"], hit["citation"]) == ("keyword", "docs/faq.md:1-3")
    shown = cli("search", "parcels", "--collection", "help")
    assert "docs/faq.md:1-3" in shown.out
    assert "Parcels arrive on Monday." in shown.out
    nothing = cli("search", "zeppelin", "--collection", "help")
    assert (nothing.code, nothing.out) == (1, "Nothing found.\n")
    (folder / "faq.md").unlink()
    gone = cli(*arguments)
    assert gone.code == 1
    assert "docs/faq.md" in gone.out
    assert "--vanished delete" in gone.out
    assert cli(*arguments, "--vanished", "delete").code == 0
    assert cli("search", "parcels", "--collection", "help").code == 1


def test_hybrid_search_with_the_collections_own_model(cli: Cli, tmp_path: Path) -> None:
    if not has_vectors(cli):
        pytest.skip("this server has no pgvector")
    (tmp_path / "a.md").write_text("The package comes on Monday.")
    (tmp_path / "b.md").write_text("Row security binds every table.")
    options = ("--collection", "help", "--json")
    made = cli("ingest", tmp_path, *options, "--create-tenant", "--embed", "wordllama")
    assert made.json()["embedding_model"] == "wordllama-l2-supercat-256"
    # Neither needs to be told the model again.
    assert cli("ingest", tmp_path, *options).json()["unchanged"] == 2
    found = cli("search", "delivery of a parcel", *options).json()
    assert (found["mode"], found["vector_method"]) == ("hybrid", "exact")
    assert found["items"][0]["external_ref"].endswith("/a.md")
    other = cli("search", "x", *options, "--embed", "json:loads")
    assert other.code == 2
    assert cli("ingest", tmp_path, *options, "--embed", "json:loads").code == 2


def test_after_kill_9_in_the_middle_others_go_on(
    cli: Cli, database: Database, tmp_path: Path
) -> None:
    if not has_vectors(cli):
        pytest.skip("this server has no pgvector")
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "embedder.py").write_text(EMBEDDER)
    (tmp_path / "log").touch()
    for number in range(12):
        (folder / f"{number:02}.md").write_text(f"Text {number:02}.")
    arguments = ("ingest", folder, "--collection", "docs", "--lease", "1", "--json")
    arguments += ("--embed", "embedder:embed")
    first = start(
        database, tmp_path, *arguments, "--create-tenant", "--concurrency", "1", STOP_AT="Text 05"
    )
    eventually(
        lambda: "Text 05." in (tmp_path / "log").read_text(), "it has come to the sixth file"
    )
    assert len(stored(database)) == 5
    # Another process does all that the first one does not hold.
    second = start(database, tmp_path, *arguments)
    eventually(lambda: len(stored(database)) == 11, "the others are there")
    assert "docs/05.md" not in stored(database), "the first one is alive, and keeps its file"
    first.kill()
    first.communicate(timeout=30)
    assert first.returncode == -signal.SIGKILL
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert json.loads(out)["failed"] == []
    log = (tmp_path / "log").read_text().splitlines()
    assert sorted(line for line in log if line.startswith("Text")) == sorted(
        [f"Text {number:02}." for number in range(12)] + ["Text 05."]
    ), "nothing is embedded again but what was under way"
    done = run_process(*arguments, database=database, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json()["unchanged"] == 12
    assert stored(database) == {f"docs/{number:02}.md": (1, 1) for number in range(12)}
    with database.connect() as connection:
        jobs = connection.execute(
            "select status, count(*) from strongroom.jobs group by status"
        ).fetchall()
    assert jobs == [("completed", 12)]


def start(
    database: Database, cwd: Path, *arguments: object, **variables: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command_line(*arguments),
        cwd=cwd,
        env=environment(database, **variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
