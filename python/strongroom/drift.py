"""Where a database's strongroom objects differ from what the migrations make.

``QUERY`` reads the catalog as rows (kind, name, definition). ``fingerprint.json`` holds a hash per
object and migration, generated from a fresh database, and is the same on PostgreSQL 15 to 18.
Everything here is pure: the caller runs the query and loads the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, TypedDict

from .drift_query import QUERY

__all__ = [
    "QUERY",
    "Drift",
    "Fingerprint",
    "expected_objects",
    "find_drift",
    "hash_objects",
    "make_fingerprint",
]

Row = tuple[str, str, str]
Problem = Literal["changed", "missing", "unexpected"]


class Fingerprint(TypedDict):
    """The content of ``fingerprint.json``.

    Attributes:
        version: the newest migration that it knows.
        objects: ``"kind name"`` -> migration -> hash of the definition from that migration on; None
            where a migration removes the object.
    """

    version: int
    objects: dict[str, dict[str, str | None]]


@dataclass(frozen=True, order=True)
class Drift:
    """One object that is not as the migrations make it.

    Attributes:
        kind: schema, table, column, constraint, index, policy, trigger, function, view, type,
            sequence, comment, or, never made by strongroom: rule, relation.
        name: its qualified name; for a comment, the kind and name of what it describes.
        problem: ``changed``, ``missing`` or ``unexpected``.
    """

    kind: str
    name: str
    problem: Problem

    def __str__(self) -> str:
        """Say it in a line, such as ``missing: index strongroom.conversations_by_owner``."""
        return f"{self.problem}: {self.kind} {self.name}"


def hash_objects(rows: Iterable[Row]) -> dict[str, str]:
    """Return ``"kind name"`` -> hash of the definition, for the rows of ``QUERY``."""
    return {
        f"{kind} {name}": hashlib.sha256(definition.encode()).hexdigest()[:16]
        for kind, name, definition in rows
    }


def make_fingerprint(steps: Iterable[tuple[int, Iterable[Row]]]) -> Fingerprint:
    """Make the fingerprint from the rows that each migration in turn leaves behind.

    Args:
        steps: (version, rows of ``QUERY`` after that version), in order of the versions.
    """
    newest = 0
    objects: dict[str, dict[str, str | None]] = {}
    before: dict[str, str] = {}
    for version, rows in steps:
        now = hash_objects(rows)
        for key in before.keys() | now.keys():
            if before.get(key) != now.get(key):
                objects.setdefault(key, {})[str(version)] = now.get(key)
        newest, before = version, now
    return {"version": newest, "objects": dict(sorted(objects.items()))}


def expected_objects(
    fingerprint: Fingerprint, version: int, skipped: Collection[int] = ()
) -> dict[str, str]:
    """Return ``"kind name"`` -> hash, as a database at this version has to be.

    Args:
        fingerprint: what ``make_fingerprint`` made.
        version: the newest migration of the database; 0 for none.
        skipped: migrations that are recorded as skipped, whose objects are not expected.
    """
    expected: dict[str, str] = {}
    for key, history in fingerprint["objects"].items():
        counted = [v for v in map(int, history) if v <= version and v not in skipped]
        found = history[str(max(counted))] if counted else None
        if found is not None:
            expected[key] = found
    return expected


def find_drift(
    actual_rows: Iterable[Row],
    fingerprint: Fingerprint,
    version: int,
    skipped: Collection[int] = (),
) -> list[Drift]:
    """Compare a database with the fingerprint.

    Args:
        actual_rows: the rows of ``QUERY`` in that database.
        fingerprint: the content of ``fingerprint.json``.
        version: the newest migration of the database; 0 for none.
        skipped: migrations that are recorded as skipped there.

    Returns:
        One entry per object that differs, sorted; none when the database is as it should be.
        An object that is missing is named without its columns, policies and comments.
    """
    expected = expected_objects(fingerprint, version, skipped)
    actual = hash_objects(actual_rows)
    found = [
        _drift(key, problem)
        for key in expected.keys() | actual.keys()
        if (problem := _judge(expected.get(key), actual.get(key))) is not None
    ]
    return sorted(_without_consequences(found))


def _judge(expected: str | None, actual: str | None) -> Problem | None:
    if expected == actual:
        return None
    if actual is None:
        return "missing"
    return "unexpected" if expected is None else "changed"


def _drift(key: str, problem: Problem) -> Drift:
    kind, name = key.split(" ", 1)
    return Drift(kind, name, problem)


def _without_consequences(found: list[Drift]) -> Iterable[Drift]:
    """Leave out what follows from another entry: a missing table's columns, a new one's comment."""
    whole = {(drift.kind, drift.name, drift.problem) for drift in found}
    parents = ("table", "view", "sequence", "relation")
    for drift in found:
        if drift.problem == "changed":
            yield drift
            continue
        kind, name = drift.kind, drift.name
        if kind == "comment":
            kind, name = name.split(" ", 1)
            if (kind, name, drift.problem) in whole:
                continue
        owner = name.rsplit(".", 1)[0]
        if kind in ("column", "constraint", "policy", "trigger", "rule") and any(
            (parent, owner, drift.problem) in whole for parent in parents
        ):
            continue
        yield drift
