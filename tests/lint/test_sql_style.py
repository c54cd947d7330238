"""The SQL looks as sql/README.md says: sqlfluff, squawk, and what neither can see between $$."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.databases import ROOT

MIGRATIONS = sorted((ROOT / "sql" / "migrations").glob("*.sql"))
UPS = [path for path in MIGRATIONS if path.name.endswith(".up.sql")]
STORIES = sorted((ROOT / "supabase" / "tests").rglob("*.sql"))
SUPPORT = sorted((ROOT / "supabase" / "tests").rglob("*.psql"))
WIDTH = 100

# The rows of error_codes() are compared with sql/errors.toml as text, so each stays on its line.
_REGISTRY_ROW = re.compile(r"^ {8}\('SR\d{3}', ")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    # A lint tool that warns about its configuration says so on stderr.
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def sqlfluff(*paths: Path) -> subprocess.CompletedProcess[str]:
    # The schema's files in one run, in one process: its start costs more than its work.
    program = (sys.executable, "-m", "sqlfluff")
    return run(*program, "lint", "--disable-progress-bar", "--config", ".sqlfluff", *paths)


def squawk(*paths: Path) -> subprocess.CompletedProcess[str]:
    return run(Path(sys.executable).with_name("squawk"), "--config", ".squawk.toml", *paths)


def test_lint_reads_every_file() -> None:
    """What `make lint` gives to sqlfluff, which it runs itself: it takes minutes."""
    recipe = (ROOT / "Makefile").read_text().split("lint: ")[1].split(".PHONY")[0]
    assert "sql/migrations/*.sql" in recipe
    assert "find supabase/tests -name '*.sql'" in recipe
    assert "sqlfluff lint" in recipe
    assert MIGRATIONS
    assert STORIES


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("SELECT t.id\nfrom strongroom.tenants as t;\n", "CP01"),
        ("select t.id\nfrom strongroom.tenants t;\n", "AL01"),
        ("select a.id, b.id as other\nfrom x as a;\n", "LT09"),
        ("select   1;\n", "LT01"),
        (f"select '{'x' * WIDTH}';\n", "LT05"),
        ("select 1\n", "CV06"),
        ("select a.id\nfrom x as a where;\n", "PRS"),
    ],
)
def test_sqlfluff_would_complain(tmp_path: Path, text: str, rule: str) -> None:
    file = tmp_path / "bad.sql"
    file.write_text(text)
    done = sqlfluff(file)
    assert done.returncode != 0
    assert rule in done.stdout


def test_squawk_has_no_complaint() -> None:
    done = squawk(*UPS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        (
            "alter table strongroom.tenants add column colour text not null;",
            "adding-required-field",
        ),
        ("alter table strongroom.tenants rename column name to title;", "renaming-column"),
        ("create index concurrently x on strongroom.tenants (name);", "concurrent"),
    ],
)
def test_squawk_would_complain(tmp_path: Path, statement: str, rule: str) -> None:
    file = tmp_path / "bad.up.sql"
    file.write_text(statement + "\n")
    done = squawk(file)
    assert done.returncode != 0
    assert rule in done.stdout + done.stderr


@pytest.mark.parametrize(
    "path", [*MIGRATIONS, *STORIES, *SUPPORT], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_layout_also_between_dollars(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    complaints = [
        f"{path.name}:{number}: {complaint}"
        for number, line in enumerate(text.split("\n"), 1)
        if (complaint := complaint_about(line))
    ]
    assert complaints == []
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def complaint_about(line: str) -> str | None:
    if len(line) > WIDTH and not _REGISTRY_ROW.match(line):
        return f"{len(line)} columns"
    if "\t" in line:
        return "a tab"
    if line != line.rstrip():
        return "blanks at the end"
    blanks = len(line) - len(line.lstrip(" "))
    if blanks % 4:
        return f"indented by {blanks}"
    return None


_COMMENT_OR_TEXT = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_LITERAL = re.compile(r"--[^\n]*|(?P<prefix>[a-zA-Z]?&?)'(?:[^']|'')*'")
_KEYWORDS = re.compile(
    r"\b(SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|CREATE|RETURN|RETURNS|BEGIN|END|IF|THEN|ELSE|LOOP"
    r"|PERFORM|DECLARE|AND|OR|NOT|NULL|JOIN|ON|AS|IS|IN|EXISTS|ORDER|GROUP|LIMIT)\b"
)


def plain_with_backslash(text: str) -> list[str]:
    """Return the literals whose meaning depends on a setting; a text goes on on the next line."""
    found, extends, end = [], False, 0
    for match in _LITERAL.finditer(text):
        if match["prefix"] is None:
            continue  # a comment
        goes_on = not match["prefix"] and re.fullmatch(r"[ ]*\n\s*", text[end : match.start()])
        extends = match["prefix"].lower() == "e" or bool(goes_on and extends)
        end = match.end()
        if "\\" in match[0] and not extends:
            found.append(match[0])
    return found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (r"select 'a\d', E'a\\d', 'ad' -- '\d'", 1),
        ("select E'\\\\d'\n    '\\\\d'", 0),
        ("select 'd'\n    '\\d'", 1),
        (r"select u&'\03C2'", 1),
    ],
)
def test_a_plain_literal_with_a_backslash_is_found(text: str, count: int) -> None:
    assert len(plain_with_backslash(text)) == count


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: path.name)
def test_rules_of_the_house(path: Path) -> None:
    code = _COMMENT_OR_TEXT.sub("", path.read_text(encoding="utf-8"))
    assert _KEYWORDS.findall(code) == []
    assert re.findall(r"select \*", code) == []
    assert re.findall(r"raise exception (?!using)\S+", code) == [], "no bare raise exception"
    # `offset 0` skips nothing: it keeps a subquery from being merged into the one around it.
    assert re.findall(r"\boffset\b(?! 0\b)", code) == [], "pages are keyset"
    assert re.findall(r"\bcreate (?:type \S+ as enum|domain|rule)\b", code) == []
    assert re.findall(r"\bconcurrently\b|^(?:begin|commit|rollback);", code, re.MULTILINE) == []
    assert re.findall(r"create or replace", code) == [], (
        "an unreleased migration is edited in place"
    )
    assert plain_with_backslash(path.read_text(encoding="utf-8")) == [], (
        "a role may have standard_conforming_strings off: E'' says the same to all"
    )
    bare = re.findall(r"create (?:table|view|function|type) (?!strongroom(?:_private)?\.)\S+", code)
    assert bare == [], "always schema-qualified"
