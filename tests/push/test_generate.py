"""supabase/migrations of this repository is generated, and staleness shows."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.push.supabase_cli import ROOT

SCRIPT = ROOT / "scripts/generate_supabase.py"


@pytest.fixture
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_supabase", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path, generator: ModuleType) -> Path:
    folder = tmp_path / "sql/migrations"
    folder.mkdir(parents=True)
    (folder / "0001_foundation.up.sql").write_text("select 1;\n")
    (folder / "0001_foundation.down.sql").write_text("select -1;\n")
    (folder / "0060_later.up.sql").write_text("select 60;\n")
    generator.write(tmp_path)
    return tmp_path


def test_the_committed_copies_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_only_ups_are_copied_in_order_under_real_times(checkout: Path) -> None:
    assert sorted(path.name for path in (checkout / "supabase/migrations").iterdir()) == [
        "20261130000001_strongroom_0001_foundation.sql",
        "20261130000100_strongroom_0060_later.sql",
    ]


def test_a_copy_says_that_it_is_generated_and_from_what(checkout: Path) -> None:
    path = checkout / "supabase/migrations/20261130000001_strongroom_0001_foundation.sql"
    first, *_, last = path.read_text().splitlines()
    assert first.startswith("-- GENERATED from strongroom's migration 0001_foundation")
    assert last == "select 1;"


def test_what_is_current_is_not_stale(checkout: Path, generator: ModuleType) -> None:
    assert generator.stale(checkout) == []


def test_a_changed_migration_is_named(checkout: Path, generator: ModuleType) -> None:
    (checkout / "sql/migrations/0060_later.up.sql").write_text("select 61;\n")
    assert generator.stale(checkout) == [
        "supabase/migrations/20261130000100_strongroom_0060_later.sql differs from sql/migrations"
    ]


def test_a_missing_and_a_foreign_file_are_named_and_repaired(
    checkout: Path, generator: ModuleType
) -> None:
    target = checkout / "supabase/migrations"
    (target / "20261130000001_strongroom_0001_foundation.sql").unlink()
    (target / "20250101000000_old.sql").write_text("")
    assert generator.stale(checkout) == [
        "supabase/migrations/20261130000001_strongroom_0001_foundation.sql is missing",
        "supabase/migrations/20250101000000_old.sql belongs to no migration",
    ]
    generator.write(checkout)
    assert generator.stale(checkout) == []


def test_check_names_the_file_and_the_command_and_writes_nothing(
    checkout: Path,
    generator: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stray = checkout / "supabase/migrations/20250101000000_old.sql"
    stray.write_text("")
    monkeypatch.setattr(sys, "argv", ["generate_supabase.py", "--check"])
    assert generator.main(checkout) == 1
    assert "20250101000000_old.sql" in (said := capsys.readouterr().err)
    assert "make generate" in said
    assert stray.exists()


def test_a_migration_with_an_odd_name_is_refused(checkout: Path, generator: ModuleType) -> None:
    (checkout / "sql/migrations/61_short.up.sql").write_text("")
    with pytest.raises(SystemExit, match="NNNN_domain"):
        generator.write(checkout)
