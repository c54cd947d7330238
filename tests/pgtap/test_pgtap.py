"""The pgTAP stories pass, on Debian 15 and on 18, however the schema was installed; and can fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pgtap.damages import DAMAGES
from tests.pgtap.prove import FILES, STORIES, load_pgtap, prove
from tests.servers import Database, Templates, require
from tests.servers.databases import copy_of

# The oldest and the newest server, and every way of installing.
STAGES = [("pg15", "superuser"), ("pg18", "owner"), ("pg18", "supabase")]


@pytest.fixture(scope="module")
def stages(templates: Templates) -> Callable[[str, str], Database]:
    """One database per server and way of installing: every file rolls back what it did."""
    made: dict[tuple[str, str], Database] = {}

    def get(server: str, variant: str) -> Database:
        require("pg_prove")
        if (server, variant) not in made:
            database = templates.copy(variant, server)
            load_pgtap(database)
            made[server, variant] = database
        return made[server, variant]

    return get


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize(("server", "variant"), STAGES)
def test_story(
    stages: Callable[[str, str], Database], server: str, variant: str, file: Path
) -> None:
    result = prove(stages(server, variant), file)
    assert result.passed, result.report
    assert result.tests > 0, f"{file.name} ran no test:\n{result.report}"


@pytest.mark.parametrize(("server", "variant"), STAGES)
def test_stories_leave_nothing_behind(
    stages: Callable[[str, str], Database], server: str, variant: str
) -> None:
    with stages(server, variant).connect() as connection:
        left = connection.execute(
            "select nspname::text from pg_namespace where nspname = 'stories'"
            " union all select rolname::text from pg_roles where rolname like 'stories%'"
            " union all select tenant_id from strongroom.tenants"
        ).fetchall()
    assert left == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_file_has_the_form_of_a_story(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert text.startswith("-- "), "first a sentence that says what is promised"
    assert file.stem.count("_") >= 2, "the name is a sentence"
    assert "begin;" in lines
    assert "\\ir support/stories.psql" in lines
    assert any(line.startswith("select plan(") for line in lines), "no_plan() would hide a loss"
    assert lines[-2:] == ["select * from finish();", "rollback;"]
    assert "commit" not in text.lower().replace("committed", "")


def test_no_test_file_is_overlooked() -> None:
    assert sorted(STORIES.rglob("*.sql")) == FILES
    assert len(FILES) > 20


@pytest.mark.parametrize(("story", "damage"), DAMAGES)
def test_story_can_fail(stages: Callable[[str, str], Database], story: str, damage: str) -> None:
    stage = stages("pg15", "superuser")
    with copy_of(stage) as database:
        with database.connect() as connection:
            connection.execute(damage.encode())
        result = prove(database, STORIES / f"{story}.sql")
    assert not result.passed, f"{story} does not notice:\n{damage}\n{result.report}"
    assert result.failed, f"{story} breaks off instead of saying what is wrong:\n{result.report}"


def test_every_story_can_fail() -> None:
    assert {story for story, _ in DAMAGES} == {file.stem for file in FILES}


def test_a_file_without_a_test_does_not_pass(database: Database, tmp_path: Path) -> None:
    """Else an empty file, or one that stops early, would count as a success."""
    require("pg_prove")
    load_pgtap(database)
    for text in ("select 1;\n", "begin;\nselect plan(2);\nselect pass();\nrollback;\n"):
        file = tmp_path / "an_empty_promise.sql"
        file.write_text(text)
        assert not prove(database, file).passed
