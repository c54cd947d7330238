"""`strongroom supabase emit`: files into a user's project, each once, later than what is there."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.errors import InvalidArgument, SchemaVersionError, StrongroomError
from strongroom.migrations import Migration, load_migrations
from strongroom.supabase_project import emit, render

NOW = datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)


ONE = Migration(1, "foundation", "select 1;\n", "")
TWO = Migration(2, "conversations", "select 'zwei, ü, 🙂';\n", "")
THREE = Migration(3, "runs", "select 3;\n", "")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / "supabase" / "migrations").mkdir(parents=True)
    return folder


def migrations(project: Path) -> Path:
    return project / "supabase" / "migrations"


def names(project: Path) -> list[str]:
    return sorted(path.name for path in migrations(project).iterdir())


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_writes_every_migration_under_increasing_timestamps(project: Path) -> None:
    result = emit(project, now=NOW, migrations=[TWO, ONE])
    assert [path.name for path in result.written] == [
        "20270304050607_strongroom_0001_foundation.sql",
        "20270304050608_strongroom_0002_conversations.sql",
    ]
    assert result.present == ()
    assert names(project) == [path.name for path in result.written]
    assert result.written[1].read_text(encoding="utf-8") == render(TWO)
    assert result.written[1].read_text(encoding="utf-8").endswith("\n\n" + TWO.up)


def test_writes_the_packages_own_migrations_when_none_are_given(project: Path) -> None:
    written = emit(project, now=NOW).written
    assert [path.read_text(encoding="utf-8") for path in written] == [
        render(migration) for migration in load_migrations()
    ]


def test_a_second_time_writes_nothing_and_says_what_is_there(project: Path) -> None:
    first = emit(project, now=NOW, migrations=[ONE, TWO])
    before = snapshot(project)
    again = emit(project, now=NOW + timedelta(days=1), migrations=[ONE, TWO])
    assert (again.written, again.present) == ((), first.written)
    assert snapshot(project) == before


def test_an_upgrade_writes_only_what_is_new(project: Path) -> None:
    first = emit(project, now=NOW, migrations=[ONE])
    (migrations(project) / "20270501000000_own.sql").write_text("select 1;")
    upgraded = emit(project, now=NOW, migrations=[ONE, TWO, THREE])
    assert upgraded.present == first.written
    assert [path.name for path in upgraded.written] == [
        "20270501000001_strongroom_0002_conversations.sql",
        "20270501000002_strongroom_0003_runs.sql",
    ]


def test_names_continue_after_later_dated_files_across_midnight(project: Path) -> None:
    (migrations(project) / "20991231235959_future.sql").write_text("select 1;")
    result = emit(project, now=NOW, migrations=[ONE])
    assert result.written[0].name.startswith("21000101000000_")


def test_a_timestamp_that_is_no_date_is_continued_as_a_number(project: Path) -> None:
    (migrations(project) / "20279999000000_odd.sql").write_text("select 1;")
    assert emit(project, now=NOW, migrations=[ONE]).written[0].name.startswith("20279999000001_")


def test_the_local_time_of_the_caller_does_not_matter(project: Path) -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    assert emit(project, now=tokyo, migrations=[ONE]).written[0].name.startswith("20270304050607_")


versions = st.one_of(
    st.integers(0, 10**14 - 2).map(lambda n: f"{n:014d}"),
    st.integers(0, 10**17).map(str),
    st.integers(0, 2_000_000_000).map(lambda s: f"{datetime.fromtimestamp(s, UTC):%Y%m%d%H%M%S}"),
)


@given(taken=st.lists(versions, max_size=6))
def test_new_files_sort_after_all_others_or_nothing_is_written(
    tmp_path_factory: pytest.TempPathFactory, taken: list[str]
) -> None:
    project = tmp_path_factory.mktemp("app")
    migrations(project).mkdir(parents=True)
    for version in taken:
        (migrations(project) / f"{version}_own.sql").write_text("")
    before = names(project)
    written: list[str] | None = None
    with contextlib.suppress(InvalidArgument):
        written = [path.name for path in emit(project, now=NOW, migrations=[ONE, TWO]).written]
    if written is None:
        # Only a text such as 9 or 99999999999999, which no timestamp of our time follows.
        assert names(project) == before
        latest = max(taken)
        assert latest >= "99999999999998" or len(latest) < 14
        return
    # The CLI sorts versions as texts.
    stamps = sorted(name.split("_")[0] for name in names(project))
    assert stamps[-2:] == [name.split("_")[0] for name in written]
    assert len(set(stamps)) == len(set(taken)) + 2
    assert all(len(name.split("_")[0]) == 14 for name in written)


def test_a_version_that_no_timestamp_can_follow_is_refused_by_name(project: Path) -> None:
    (migrations(project) / "9_own.sql").write_text("")
    with pytest.raises(InvalidArgument, match="migration 9 that sorts after every timestamp"):
        emit(project, now=NOW, migrations=[ONE])
    assert names(project) == ["9_own.sql"]


# What is there has to be what was emitted.


def refused(project: Path, offender: str, saying: str, *wanted: Migration) -> None:
    before = snapshot(project)
    with pytest.raises(SchemaVersionError, match=saying) as caught:
        emit(project, now=NOW, migrations=wanted)
    assert caught.value.detail["file"].endswith(offender)
    assert offender in caught.value.message
    assert caught.value.hint
    assert snapshot(project) == before


def test_an_edited_file_is_refused_by_name(project: Path) -> None:
    path = emit(project, now=NOW, migrations=[ONE]).written[0]
    path.write_text(path.read_text(encoding="utf-8") + "drop table users;", encoding="utf-8")
    refused(project, path.name, "differs from migration 0001", ONE, TWO)


def test_a_file_of_another_package_version_is_refused_by_name(project: Path) -> None:
    path = emit(project, now=NOW, migrations=[ONE]).written[0]
    refused(project, path.name, "differs", Migration(1, "foundation", "select 'other';", ""), TWO)


def test_a_file_with_bytes_that_are_no_text_is_refused_by_name(project: Path) -> None:
    path = emit(project, now=NOW, migrations=[ONE]).written[0]
    path.write_bytes(b"\xff\xfe")
    refused(project, path.name, "differs", ONE)


def test_a_file_of_another_domain_is_refused_by_name(project: Path) -> None:
    path = emit(project, now=NOW, migrations=[ONE]).written[0]
    renamed = path.rename(path.with_name(path.name.replace("foundation", "cellar")))
    refused(project, renamed.name, "differs", ONE)


def test_a_missing_file_is_refused_at_the_next_one(project: Path) -> None:
    first, second = emit(project, now=NOW, migrations=[ONE, TWO]).written
    first.unlink()
    refused(project, second.name, "in place of migration 0001", ONE, TWO)


def test_a_doubled_file_is_refused(project: Path) -> None:
    path = emit(project, now=NOW, migrations=[ONE]).written[0]
    double = path.with_name(path.name.replace("20270304050607", "20280101000000"))
    double.write_bytes(path.read_bytes())
    refused(project, double.name, "in place of migration 0002", ONE, TWO)


def test_files_out_of_order_are_refused(project: Path) -> None:
    first, second = emit(project, now=NOW, migrations=[ONE, TWO]).written
    first.rename(first.with_name(first.name.replace("20270304050607", "20280101000000")))
    refused(project, second.name, "in place of migration 0001", ONE, TWO)


def test_a_project_of_a_newer_package_is_refused(project: Path) -> None:
    _, second = emit(project, now=NOW, migrations=[ONE, TWO]).written
    refused(project, second.name, "this package ends at 0001", ONE)


def test_line_ends_changed_by_git_are_no_difference(project: Path) -> None:
    path = emit(project, now=NOW, migrations=[ONE]).written[0]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert emit(project, now=NOW, migrations=[ONE]).written == ()


# Which folder is meant.


@pytest.mark.parametrize("inside", ["", "supabase", "supabase/migrations"])
def test_the_project_may_be_named_by_any_of_its_folders(project: Path, inside: str) -> None:
    result = emit(project / inside, now=NOW, migrations=[ONE])
    assert [path.resolve() for path in result.written] == [
        (migrations(project) / "20270304050607_strongroom_0001_foundation.sql").resolve()
    ]


def test_the_present_folder_may_be_named_by_a_dot(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(migrations(project))
    emit(".", now=NOW, migrations=[ONE])
    assert names(project) == ["20270304050607_strongroom_0001_foundation.sql"]


def test_a_project_without_migrations_gets_the_folder(tmp_path: Path) -> None:
    (tmp_path / "supabase").mkdir()
    (tmp_path / "supabase" / "config.toml").write_text("")
    emit(tmp_path, now=NOW, migrations=[ONE])
    assert len(names(tmp_path)) == 1


def test_an_empty_folder_becomes_a_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    result = emit(tmp_path, now=NOW, migrations=[ONE])
    assert result.directory == tmp_path / "supabase" / "migrations"
    assert "supabase init" in result.next_steps[0]


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidArgument, match="no supabase folder") as caught:
        emit(tmp_path, now=NOW, migrations=[ONE])
    assert caught.value.hint
    assert "supabase init" in caught.value.hint
    assert snapshot(tmp_path) == {"notes.txt": b"mine"}


@pytest.mark.parametrize("what", ["missing", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match=what if what == "file" else "does not exist"):
        emit(tmp_path / what, now=NOW, migrations=[ONE])


def test_a_time_without_zone_is_refused(project: Path) -> None:
    with pytest.raises(InvalidArgument, match="time zone"):
        emit(project, now=datetime(2027, 1, 1), migrations=[ONE])  # noqa: DTZ001
    assert names(project) == []


def test_a_folder_that_cannot_be_written_is_a_typed_error(project: Path) -> None:
    (project / "supabase" / "migrations").rmdir()
    (project / "supabase" / "migrations").write_text("a file in the folder's place")
    with pytest.raises(StrongroomError) as caught:
        emit(project, now=NOW, migrations=[ONE])
    assert isinstance(caught.value, InvalidArgument)
    assert "migrations" in caught.value.message


def test_a_full_disk_leaves_no_part_of_a_migration(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail_second(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail_second)
    with pytest.raises(InvalidArgument, match="No space left"):
        emit(project, now=NOW, migrations=[ONE, TWO])
    assert names(project) == []
    monkeypatch.undo()
    assert len(emit(project, now=NOW, migrations=[ONE, TWO]).written) == 2


# What a person has to do next.


def test_says_how_to_expose_the_schema_and_leaves_config_toml_alone(project: Path) -> None:
    config = project / "supabase" / "config.toml"
    config.write_text('[api]\nschemas = ["public"]\n')
    result = emit(project, now=NOW, migrations=[ONE])
    assert result.exposed is False
    text = "\n".join(result.next_steps)
    assert 'schemas = ["public", "strongroom"]' in text
    assert "Exposed schemas" in text
    assert "supabase db push" in text
    assert config.read_text() == '[api]\nschemas = ["public"]\n'


def test_an_exposed_schema_needs_no_change_of_config_toml(project: Path) -> None:
    config = project / "supabase" / "config.toml"
    config.write_text('[api]\nschemas = ["public", "strongroom"]\n')
    result = emit(project, now=NOW, migrations=[ONE])
    assert result.exposed is True
    assert not any("config.toml" in step for step in result.next_steps)


@pytest.mark.parametrize("text", ["[api", "api = 3", "", "[api]\nschemas = 'strongroom'"])
def test_an_odd_config_toml_is_no_obstacle(project: Path, text: str) -> None:
    (project / "supabase" / "config.toml").write_text(text)
    result = emit(project, now=NOW, migrations=[ONE])
    assert len(result.written) == 1
    assert not result.exposed
