"""The migrations that this package carries: plain SQL files, read from the wheel or the checkout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from strongroom.errors import SchemaVersionError

_NAME = re.compile(r"^(\d{4})_([a-z][a-z0-9_]*)\.up\.sql$")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema.

    Attributes:
        version: 1, 2, 3, ...
        name: the domain that it builds.
        up: the SQL that makes it.
        down: the SQL that takes it back.
    """

    version: int
    name: str
    up: str
    down: str


def sql_folder() -> Traversable:
    """Return the folder with ``migrations/``: in the installed package, else in the checkout."""
    packaged = files("strongroom") / "_sql"
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parents[2] / "sql"


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Return the migrations in order.

    Raises:
        SchemaVersionError: SR041, the package was built without its SQL, or numbers are missing.
    """
    folder = sql_folder() / "migrations"
    found = {}
    if folder.is_dir():
        for entry in folder.iterdir():
            match = _NAME.match(entry.name)
            if match:
                down = folder / entry.name.replace(".up.sql", ".down.sql")
                found[int(match[1])] = Migration(
                    int(match[1]),
                    match[2],
                    entry.read_text(encoding="utf-8"),
                    down.read_text(encoding="utf-8"),
                )
    if sorted(found) != list(range(1, len(found) + 1)) or not found:
        raise SchemaVersionError(
            "the package carries no complete set of migrations",
            detail={"found": sorted(found)},
            hint="Reinstall strongroom from a wheel that was built with its SQL.",
        )
    return tuple(found[version] for version in sorted(found))
