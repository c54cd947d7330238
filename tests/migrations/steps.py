"""The migrations as files, ways of running them, and what they leave in the catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from strongroom import drift
from tests.servers import Database
from tests.servers.databases import MIGRATIONS, ROOT, run_script

# What separates statements, and what may hide a semicolon.
_TOKEN = re.compile(
    r"(\$\w*\$).*?\1|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|(?P<end>;)", re.DOTALL
)


@dataclass(frozen=True)
class Step:
    """A migration of the checkout."""

    version: int
    name: str
    up: str
    down: str

    def __str__(self) -> str:
        return f"{self.version:04d}_{self.name}"


def _load() -> list[Step]:
    steps = []
    for path in sorted(MIGRATIONS.glob("*.up.sql")):
        number, name = path.name.removesuffix(".up.sql").split("_", 1)
        down = path.with_name(path.name.replace(".up.sql", ".down.sql"))
        steps.append(Step(int(number), name, path.read_text(), down.read_text()))
    return steps


STEPS = _load()
VERSIONS = [step.version for step in STEPS]
FINGERPRINT: drift.Fingerprint = json.loads((ROOT / "sql/snapshot/fingerprint.json").read_text())


def split(script: str) -> Iterator[str]:
    """Split a script as psql does: at semicolons outside of quotes, comments and bodies."""
    start = 0
    for token in _TOKEN.finditer(script):
        if token["end"]:
            yield script[start : token.end()].strip()
            start = token.end()
    assert not re.sub(r"--[^\n]*", "", script[start:]).strip(), "the last statement has no end"


def go_up(database: Database, to: int = len(STEPS), *, after: int = 0) -> None:
    """Run the migrations after one version up to another, as the migrating role."""
    with database.connect(user=database.migrator) as connection:
        for step in STEPS[after:to]:
            run_script(connection, step.up)


def go_down(database: Database, to: int = 0, *, allow_data_loss: bool = False) -> None:
    """Take the newest migrations back, as the migrating role."""
    with database.connect(user=database.migrator) as connection:
        for step in reversed(STEPS[to : version_of(database)]):
            with connection.transaction():
                if allow_data_loss:
                    connection.execute("set local strongroom.allow_data_loss = 'on'")
                connection.execute(step.down.encode())


def version_of(database: Database) -> int:
    if query(database, "select to_regclass('strongroom.schema_history')") == [(None,)]:
        return 0
    return int(query(database, "select max(version) from strongroom.schema_history")[0][0])


def query(database: Database, text: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Read as the superuser; without JIT, which would compile for seconds what is asked once."""
    with database.connect() as connection:
        connection.execute("set jit = off")
        return connection.execute(text.encode(), values or None).fetchall()


def objects(database: Database) -> list[drift.Row]:
    return query(database, drift.QUERY)


def skipped(database: Database) -> list[int]:
    """Return the versions that the database was given without."""
    if version_of(database) == 0:
        return []
    rows = query(database, "select version from strongroom.schema_history where status = 'skipped'")
    return [int(version) for (version,) in rows]


def drifts(database: Database, version: int = len(STEPS)) -> list[str]:
    without = skipped(database)
    found = drift.find_drift(objects(database), FINGERPRINT, version, without)
    return [str(one) for one in found]


def catalog(database: Database) -> set[tuple[Any, ...]]:
    """Everything a migration could leave in the database, whatever its schema."""
    parts = [
        f"select '{table}', i.type, i.identity from {table} as o"
        f" cross join pg_identify_object('{table}'::regclass, o.oid, 0) as i"
        " where i.identity !~ '^pg_toast'"
        for table in (
            "pg_namespace",
            "pg_class",
            "pg_type",
            "pg_proc",
            "pg_constraint",
            "pg_policy",
            "pg_trigger",
            "pg_cast",
            "pg_operator",
            "pg_default_acl",
            "pg_event_trigger",
            "pg_extension",
            "pg_publication",
        )
    ]
    parts.append("select 'comment', classoid::regclass::text, objoid::text from pg_description")
    parts.append(
        "select 'right', n.nspname::text, a::text"
        " from pg_namespace as n cross join aclexplode(n.nspacl) as a"
    )
    return set(query(database, " union all ".join(parts)))


def refusal(error: psycopg.Error) -> tuple[str | None, str, dict[str, Any]]:
    """Return SQLSTATE, message and the machine-readable detail."""
    return (
        error.sqlstate,
        str(error.diag.message_primary),
        json.loads(error.diag.message_detail or "{}"),
    )
