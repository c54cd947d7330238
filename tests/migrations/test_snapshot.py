"""The generated present is complete, the same every time, and its check finds what is stale."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from tests.migrations.steps import query
from tests.servers import Database
from tests.servers.databases import ROOT


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module("generate_snapshot")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="module")
def files(generator: ModuleType) -> dict[str, str]:
    made: dict[str, str] = generator.wanted()
    return made


def test_the_checkout_is_up_to_date(generator: ModuleType, files: dict[str, str]) -> None:
    assert generator.find_stale(files, generator.TARGET) == []


def test_it_comes_out_the_same_every_time(generator: ModuleType, files: dict[str, str]) -> None:
    assert generator.wanted() == files


def test_the_check_names_each_stale_file_and_the_command(
    generator: ModuleType,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    generator.write(files, tmp_path)
    assert generator.find_stale(files, tmp_path) == []
    (tmp_path / "functions" / "strongroom.append_messages.sql").unlink()
    (tmp_path / "reference.md").write_text("old", encoding="utf-8")
    (tmp_path / "tables" / "strongroom.gone.sql").write_text("old", encoding="utf-8")
    stale = generator.find_stale(files, tmp_path)
    assert sorted(stale) == [
        "functions/strongroom.append_messages.sql is missing",
        "reference.md differs from what the migrations make",
        "tables/strongroom.gone.sql belongs to no object",
    ]
    monkeypatch.setattr(generator, "wanted", lambda: files)
    monkeypatch.setattr(sys, "argv", ["generate_snapshot.py", "--check"])
    assert generator.main(tmp_path) == 1
    told = capsys.readouterr().err
    assert "sql/snapshot/reference.md" in told
    assert "make generate" in told
    monkeypatch.setattr(sys, "argv", ["generate_snapshot.py"])
    assert generator.main(tmp_path) == 0
    assert generator.find_stale(files, tmp_path) == []


def test_every_object_has_its_file(files: dict[str, str], database: Database) -> None:
    found = query(
        database,
        """
        select case c.relkind when 'r' then 'tables' when 'v' then 'views' else 'types' end
            || '/' || c.oid::regclass || '.sql'
        from pg_class as c
        where c.relnamespace::regnamespace::text like 'strongroom%' and c.relkind in ('r', 'v', 'c')
        union all
        select 'functions/' || p.oid::regproc || '.sql' from pg_proc as p
        where p.pronamespace::regnamespace::text like 'strongroom%'
        union all
        select 'schemas/' || n.nspname || '.sql' from pg_namespace as n
        where n.nspname like 'strongroom%'
        """,
    )
    assert {name for name in files if name.endswith(".sql")} == {name for (name,) in found}


def test_no_file_tells_of_the_server_or_the_machine(files: dict[str, str]) -> None:
    for name, text in files.items():
        assert text.endswith("\n"), name
        assert not re.search(r"PostgreSQL 1\d\.\d|/tmp/|/root|x86_64|supabase_admin", text), name


def test_the_tables_can_be_made_from_their_files(files: dict[str, str], database: Database) -> None:
    """A file is true SQL: what it says, run in a database without tables, gives the same table."""
    with database.connect() as connection:
        columns = "select count(*) from pg_attribute where attrelid = 'strongroom.{}'::regclass"
        for name in ("session_states", "conversation_participants", "thread_summaries"):
            before = connection.execute(columns.format(name).encode()).fetchone()
            connection.execute(f"drop table strongroom.{name} cascade".encode())
            connection.execute(files[f"tables/strongroom.{name}.sql"].encode())
            assert connection.execute(columns.format(name).encode()).fetchone() == before


def test_the_reference_has_every_public_function_with_its_callers(
    files: dict[str, str], database: Database
) -> None:
    reference = files["reference.md"]
    functions = query(
        database,
        "select proname::text from pg_proc where pronamespace = 'strongroom'::regnamespace",
    )
    for (name,) in functions:
        section = reference.split(f"#### `{name}`\n")[1].split("####")[0]
        assert re.search(r"^Callers: \w+", section, re.MULTILINE), name
    # Every code that a comment names is in the registry.
    codes = {
        code for (code,) in query(database, "select code from strongroom_private.error_codes()")
    }
    assert set(re.findall(r"SR\d{3}", reference)) == codes
    assert not re.search(r"Errors: [^·|\n]*SR\d{3}[^,. \n|w]", reference)


def test_the_grant_matrix_is_the_published_one(files: dict[str, str], database: Database) -> None:
    told = set()
    for line in files["grants.md"].splitlines():
        if not line.startswith("| `"):
            continue
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        roles = (
            "strongroom_host",
            "service_role",
            "authenticated",
            "supabase_auth_admin",
            "anon",
            "PUBLIC",
        )
        for role, cell in zip(roles, cells, strict=True):
            told |= {(name.strip("`"), verb, role) for verb in cell.split(", ") if verb != "-"}
    published = query(
        database, "select object_name, privilege, role_name from strongroom_private.grants"
    )
    assert told == set(published)
    assert {role for *_, role in told} == {
        "strongroom_host",
        "service_role",
        "authenticated",
        "supabase_auth_admin",
    }


def test_the_diagram_shows_every_table_column_and_relation(
    files: dict[str, str], database: Database
) -> None:
    root = ET.fromstring(files["erd.svg"])  # noqa: S314 (our own file)
    space = "{http://www.w3.org/2000/svg}"
    words = [str(text.text) for text in root.iter(f"{space}text")]
    tables = query(
        database,
        "select c.relname::text, array(select a.attname::text from pg_attribute as a"
        " where a.attrelid = c.oid and a.attnum > 0) from pg_class as c"
        " where c.relnamespace = 'strongroom'::regnamespace and c.relkind = 'r'",
    )
    for table, columns in tables:
        assert table in words
        assert set(columns) <= set(words)
    lines = [path for path in root.iter(f"{space}path") if path.get("class") == "line"]
    keys = query(
        database,
        "select count(*) from pg_constraint where contype = 'f' and conparentid = 0"
        " and connamespace::regnamespace::text like 'strongroom%'",
    )
    assert [(len(lines),)] == keys
    # Nothing stands outside of the picture, and no two cards overlap.
    _, _, width, height = map(float, root.get("viewBox", "").split())
    cards = [
        tuple(float(rect.get(key, "0")) for key in ("x", "y", "width", "height"))
        for rect in root.iter(f"{space}rect")
        if rect.get("stroke")
    ]
    assert len(cards) > len(tables)
    for x, y, w, h in cards:
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for number, (x, y, w, h) in enumerate(cards):
        for u, v, a, b in cards[number + 1 :]:
            assert x + w < u or u + a < x or y + h < v or v + b < y
