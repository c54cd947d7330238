# Written by scripts/generate_sync.py from strongroom/schema.py: change that, and run `make generate`.
"""Creating, upgrading and taking back strongroom's schema, and saying where it has drifted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast

import psycopg
from psycopg.pq import TransactionStatus

from strongroom import drift
from strongroom.errors import InvalidArgument, PermissionDenied, SchemaVersionError, StrongroomError
from strongroom.migrations import Migration, load_migrations
from strongroom.models.health import Finding, SchemaChange, SchemaMode
from strongroom.schema import _LIMITS, _PGVECTOR, LOCK_SECONDS, OWNER_HINT, _fingerprint, _told
from strongroom.sync.transports.psycopg import Connection, cursor_of
from strongroom.transports.psycopg import translated

Connect = Callable[[], AbstractContextManager[Connection]]


class SqlSchemaManager:
    """See :class:`strongroom.ports.SchemaManager`."""

    def __init__(self, connect: Connect) -> None:
        """Manage the schema over connections whose role owns it, or will own it."""
        self._connect = connect

    def current_version(self) -> int:
        """Return the newest migration that the database has recorded; 0 without a schema."""
        try:
            with self._connect() as connection:
                return _current_version(connection)
        except (psycopg.Error, OSError) as error:
            raise _told(error) from error

    def target_version(self) -> int:
        """Return the newest migration that this package carries."""
        return load_migrations()[-1].version

    def plan(self) -> tuple[SchemaChange, ...]:
        """Return the migrations that ``apply`` would run, and every object that has drifted."""
        try:
            with self._connect() as connection:
                version = _current_version(connection)
                rows = _read_catalog(connection)
                skipped = _skipped(connection) if version else {}
                able = bool(skipped) and _can_have_pgvector(connection)
        except (psycopg.Error, OSError) as error:
            raise _told(error) from error
        self._refuse_newer(version)
        differences = (
            SchemaChange(
                version=version,
                name=found.kind,
                action="drift",
                description=str(found),
                object=f"{found.kind} {found.name}",
            )
            for found in drift.find_drift(rows, _fingerprint(), version, skipped)
        )
        again = (
            SchemaChange(
                version=migration.version,
                name=migration.name,
                action="apply",
                description=f"apply migration {migration.version:04d} ({migration.name}),"
                f" skipped before: {skipped[migration.version]}",
            )
            for migration in load_migrations()
            if able and migration.version in skipped
        )
        pending = (
            SchemaChange(
                version=migration.version,
                name=migration.name,
                action="apply",
                description=f"apply migration {migration.version:04d} ({migration.name})",
            )
            for migration in load_migrations()
            if migration.version > version
        )
        return (*differences, *again, *pending)

    def skipped(self) -> dict[int, str]:
        """Return the migrations that this database was given without, and why."""
        try:
            with self._connect() as connection:
                version = _current_version(connection)
                return _skipped(connection) if version else {}
        except (psycopg.Error, OSError) as error:
            raise _told(error) from error

    def apply(self) -> None:
        """Run what is missing, one migration a transaction; a second applier waits and finds it done.

        What was skipped because the server lacked something is run again when the server has it now.
        """
        for migration in load_migrations():
            try:
                with self._connect() as connection:
                    _apply(connection, migration)
            except (psycopg.Error, OSError) as error:
                raise _told(error) from error
        self._refuse_newer(self.current_version())

    def downgrade(self, *, to_version: int, allow_data_loss: bool = False) -> None:
        """Take migrations back, newest first, each in a transaction of its own."""
        if not 0 <= to_version <= self.target_version():
            raise InvalidArgument(
                f"to_version must be between 0 and {self.target_version()}",
                detail={"path": "to_version", "actual": to_version},
                hint="`strongroom migrate status` lists the versions.",
            )
        self._refuse_newer(self.current_version())
        for migration in reversed(load_migrations()):
            if migration.version > to_version:
                try:
                    with self._connect() as connection:
                        _take_back(connection, migration, allow_data_loss=allow_data_loss)
                except (psycopg.Error, OSError) as error:
                    raise _told(error) from error

    def diagnose(self) -> tuple[Finding, ...]:
        """Return what is wrong with the database: pending or drifted objects, and its own findings."""
        changes = self.plan()
        findings = [
            Finding(
                check="schema" if change.action == "apply" else "drift",
                object=change.object or f"{change.version:04d} {change.name}",
                problem=change.description,
                hint="Run `strongroom migrate apply`."
                if change.action == "apply"
                else "Restore the object from the migration, or take your own objects elsewhere.",
            )
            for change in changes
        ]
        if self.current_version() == 0:
            return tuple(findings)
        try:
            with self._connect() as connection:
                cursor = cursor_of(connection).execute(
                    "select d.check_name, d.object_name, d.problem, d.hint"
                    " from strongroom.diagnose() as d"
                )
                rows = cursor.fetchall()
                if _has_realtime_checks(connection):
                    cursor = cursor_of(connection).execute(
                        "select d.check_name, d.object_name, d.problem, d.hint"
                        " from strongroom.diagnose_realtime() as d"
                    )
                    rows += cursor.fetchall()
        except (psycopg.Error, OSError) as error:
            raise _told(error) from error
        findings += [Finding(check=r[0], object=r[1], problem=r[2], hint=r[3]) for r in rows]
        return tuple(findings)

    def _refuse_newer(self, version: int) -> None:
        if version > self.target_version():
            raise SchemaVersionError(
                f"the database has strongroom {version}, this package only {self.target_version()}",
                detail={"current_version": version, "target_version": self.target_version()},
                hint="Upgrade the package: pip install --upgrade strongroom.",
            )


def provision(manager: SqlSchemaManager, mode: SchemaMode) -> None:
    """Do at start-up what the mode says.

    Raises:
        SchemaVersionError: SR041, in mode ``plan`` when there is something to do.
    """
    if mode == "auto":
        manager.apply()
    elif mode == "plan":
        changes = manager.plan()
        if changes:
            listed = "; ".join(change.description for change in changes)
            raise SchemaVersionError(
                f"the schema is not at version {manager.target_version()}: {listed}",
                detail={"changes": [change.description for change in changes]},
                hint="Run `strongroom migrate apply`, or connect with schema_mode='auto'.",
            )


def _read_catalog(connection: Connection) -> list[drift.Row]:
    """Read it without JIT, which takes seconds to compile what is run once in a tenth of one."""
    with connection.transaction():
        cursor_of(connection).execute("set local jit = off")
        cursor = cursor_of(connection).execute(drift.QUERY)
        return cast("list[drift.Row]", cursor.fetchall())


def _current_version(connection: Connection) -> int:
    cursor = cursor_of(connection).execute(
        "select to_regclass('strongroom.schema_history') is not null"
    )
    row = cursor.fetchone()
    if row is None or not row[0]:
        return 0
    cursor = cursor_of(connection).execute(
        "select coalesce(max(h.version), 0) from strongroom.schema_history as h"
    )
    row = cursor.fetchone()
    return int(row[0]) if row else 0


def _has_realtime_checks(connection: Connection) -> bool:
    cursor = cursor_of(connection).execute(
        "select to_regprocedure('strongroom.diagnose_realtime()') is not null"
    )
    row = cursor.fetchone()
    return bool(row and row[0])


def _skipped(connection: Connection) -> dict[int, str]:
    cursor = cursor_of(connection).execute(
        "select h.version, h.reason from strongroom.schema_history as h where h.status = 'skipped'"
    )
    return {int(row[0]): str(row[1]) for row in cursor.fetchall()}


def _can_have_pgvector(connection: Connection) -> bool:
    """Return whether a migration that was skipped for want of pgvector would be applied now.

    pgvector 0.8 or newer is in the database, or this role may surely create it: some servers let others
    create it, too, which only trying tells.
    """
    cursor = cursor_of(connection).execute(_PGVECTOR)
    row = cursor.fetchone()
    return bool(row and row[0])


def _begin(connection: Connection, *, nested: bool) -> None:
    """Take the lock that ends with the transaction: no pooler can orphan it.

    What an applier that waited looks at is younger than the lock, which takes read committed; and a
    migration takes the time that it takes, whatever a role is given for statements of programs.
    """
    if not nested:
        cursor_of(connection).execute("set transaction isolation level read committed")
    for setting in _LIMITS:
        cursor_of(connection).execute(
            "select set_config(%s, '0', true) where current_setting(%s, true) is not null",
            (setting, setting),
        )
    cursor_of(connection).execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
    cursor_of(connection).execute(
        "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('strongroom.migrate', 0))"
    )


def _apply(connection: Connection, migration: Migration) -> None:
    nested = connection.info.transaction_status != TransactionStatus.IDLE
    with connection.transaction():
        _begin(connection, nested=nested)
        version = _current_version(connection)
        if version < migration.version or (
            migration.version in _skipped(connection) and _can_have_pgvector(connection)
        ):
            _run(connection, migration.up, f"{migration.version:04d}_{migration.name}.up.sql")


def _take_back(connection: Connection, migration: Migration, *, allow_data_loss: bool) -> None:
    nested = connection.info.transaction_status != TransactionStatus.IDLE
    with connection.transaction():
        _begin(connection, nested=nested)
        if _current_version(connection) == migration.version:
            if allow_data_loss:
                cursor_of(connection).execute("set local strongroom.allow_data_loss = 'on'")
            _run(connection, migration.down, f"{migration.version:04d}_{migration.name}.down.sql")


def _run(connection: Connection, script: str, name: str) -> None:
    """Run one migration file, whole, as the simple protocol takes it."""
    try:
        cursor_of(connection).execute(script)
    except psycopg.Error as error:
        ours: StrongroomError = translated(error)
        if error.sqlstate and error.sqlstate.startswith("SR"):
            raise ours from error
        fields: dict[str, Any] = {"migration": name, **ours.detail}
        raise SchemaVersionError(
            f"{name} failed and was rolled back: {ours.message}",
            detail=fields,
            hint=OWNER_HINT
            if isinstance(ours, PermissionDenied)
            else "Mend the cause and apply again; the database has the last whole version.",
        ) from error
