"""supabase emit: the result, twice, and into the wrong place."""

from __future__ import annotations

from pathlib import Path

from strongroom.migrations import load_migrations
from tests.cli.conftest import Cli

COUNT = len(load_migrations())


def test_the_files_are_written_once(cli_alone: Cli, tmp_path: Path) -> None:
    first = cli_alone("supabase", "emit", tmp_path, "--json")
    assert first.code == 0, first.err
    told = first.json()
    assert told["directory"] == str(tmp_path / "supabase" / "migrations")
    assert len(told["written"]) == COUNT
    assert all(Path(path).is_file() for path in told["written"])
    assert told["exposed"] is None
    assert any("Exposed schemas" in step for step in told["next_steps"])
    again = cli_alone("supabase", "emit", tmp_path, "--json").json()
    assert (again["written"], again["present"]) == ([], told["written"])


def test_a_person_is_told_what_remains(cli_alone: Cli, tmp_path: Path) -> None:
    told = cli_alone("supabase", "emit", tmp_path).out
    assert told.count("written  ") == COUNT
    assert "What remains for you:" in told
    assert "Nothing to write" in cli_alone("supabase", "emit", tmp_path).out


def test_a_wrong_place_is_bad_input(cli_alone: Cli, tmp_path: Path) -> None:
    done = cli_alone("supabase", "emit", tmp_path / "none", "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == "SR001"


def test_an_edited_copy_is_refused(cli_alone: Cli, tmp_path: Path) -> None:
    written = cli_alone("supabase", "emit", tmp_path, "--json").json()["written"]
    Path(written[0]).write_text("select 1;")
    done = cli_alone("supabase", "emit", tmp_path, "--json")
    assert done.code == 5
    assert done.json()["error"]["code"] == "SR041"
