"""`supabase db advisors` and `supabase db lint` find nothing, and would find something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strongroom.supabase_project import emit
from tests.push.releases import NOW, package
from tests.push.supabase_cli import Project
from tests.servers import Database, require

# A fresh database has not used any index yet.
NOT_ABOUT_US = {"unused_index"}
SCHEMAS = "strongroom,strongroom_private"


@pytest.fixture
def installed(hosted: Database, project: Project) -> Database:
    emit(project.folder, now=NOW, migrations=package())
    project.push(hosted)
    return hosted


def advise(project: Project, database: Database) -> list[dict[str, Any]]:
    done = project.run(database, "db", "advisors", "--type", "all", "--level", "info")
    return [finding for finding in done.json() if finding["name"] not in NOT_ABOUT_US]


def test_the_advisors_have_no_advice(installed: Database, project: Project) -> None:
    assert advise(project, installed) == []


def test_the_advisors_look_at_our_schema(installed: Database, project: Project) -> None:
    with installed.connect(user="postgres") as connection:
        connection.execute(
            """
            create table strongroom.bad (
                id text primary key,
                parent_id text constraint bad_has_a_parent references strongroom.bad
            );
            create function strongroom.bad() returns int language sql return 1;
            """
        )
    found = {(finding["name"], finding["level"]) for finding in advise(project, installed)}
    assert ("unindexed_foreign_keys", "INFO") in found
    assert ("function_search_path_mutable", "WARN") in found


@pytest.fixture
def checked(make_database: Callable[..., Database], project: Project) -> Database:
    """PostgreSQL 15 with plpgsql_check, which `db lint` calls."""
    require("plpgsql_check")
    database = make_database("supabase", server="pg15", installed=False)
    emit(project.folder, now=NOW, migrations=package())
    project.push(database)
    with database.connect() as connection:
        connection.execute("create extension plpgsql_check with schema extensions")
    return database


def lint(project: Project, database: Database) -> list[dict[str, Any]]:
    done = project.run(database, "db", "lint", "--schema", SCHEMAS, "--level", "warning")
    findings: list[dict[str, Any]] = done.json()
    return findings


def test_lint_finds_nothing(checked: Database, project: Project) -> None:
    assert lint(project, checked) == []


def test_lint_looks_into_bodies_of_both_schemas(checked: Database, project: Project) -> None:
    with checked.connect(user="postgres") as connection:
        for schema in SCHEMAS.split(","):
            connection.execute(
                f"""
                create function {schema}.bad_column() returns void language plpgsql as $$
                begin
                    perform t.no_such_column from strongroom.tenants as t;
                end
                $$;
                create function {schema}.bad_variable() returns void language plpgsql as $$
                declare v_unused int;
                begin
                    return;
                end
                $$;
                """
            )
    found = {finding["function"]: finding["issues"] for finding in lint(project, checked)}
    for schema in SCHEMAS.split(","):
        assert "no_such_column" in found[f"{schema}.bad_column"][0]["message"]
        assert "v_unused" in found[f"{schema}.bad_variable"][0]["message"]
