"""sql/README.md is true: the verbs are those of the catalog, and what it names exists."""

from __future__ import annotations

import re

from tests.servers import Database
from tests.servers.databases import ROOT

README = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
VERBS = README.split("## Verbs", 1)[1].split("\n## ", 1)[0]
PUBLIC, HELPERS = VERBS.split("Helpers add these.")
HELPERS, NOUNS = HELPERS.split("And these helpers are named after")


def verbs(text: str) -> set[str]:
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    return {verb for row in rows for verb in re.findall(r"`(\w+)`", row)}


def functions(database: Database, schema: str) -> set[str]:
    with database.connect() as connection:
        found = connection.execute(
            "select proname::text from pg_proc where pronamespace = %s::regnamespace", [schema]
        ).fetchall()
    return {str(name) for (name,) in found}


def test_public_functions_use_the_listed_verbs(database: Database) -> None:
    used = {name.split("_")[0] for name in functions(database, "strongroom")}
    assert used == verbs(PUBLIC)


def test_helpers_use_the_listed_verbs_or_are_listed(database: Database) -> None:
    nouns = set(re.findall(r"`(\w+)`", NOUNS))
    helpers = functions(database, "strongroom_private")
    assert nouns <= helpers
    used = {name.split("_")[0] for name in helpers - nouns}
    assert used <= verbs(PUBLIC) | verbs(HELPERS)
    assert verbs(HELPERS) <= used, "a verb that nothing uses"


def test_functions_that_the_text_names_exist(database: Database) -> None:
    known = functions(database, "strongroom") | functions(database, "strongroom_private")
    text = README.replace(VERBS, "")
    called = set(re.findall(r"`(?:strongroom(?:_private)?\.)?(\w+)\([^`]*\)`", text))
    assert len(called) > 5
    assert called <= known


def test_files_that_the_text_names_exist() -> None:
    named = re.findall(r"`((?:\.\./|migrations/|snapshot/)[\w./]*)`", README)
    named = [name for name in named if "NNNN" not in name]
    assert len(named) > 5
    assert [name for name in named if not (ROOT / "sql" / name).exists()] == []
