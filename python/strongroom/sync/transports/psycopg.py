# Written by scripts/generate_sync.py from strongroom/transports/psycopg.py: change that, and run `make generate`.
"""The way to the database over psycopg: our own pool, a caller's pool, a caller's connection."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from strongroom import blocking
from strongroom.errors import InvalidTransition, TenantMismatch
from strongroom.models.health import TextPolicy
from strongroom.sync.transports.base import Transport
from strongroom.transports.base import Arguments, OneProcess, storable
from strongroom.transports.psycopg import (
    ATTEMPTS,
    T,
    _given,
    _in_all_characters,
    _is_worth_repeating,
    _statement,
    _statement_for_bytes,
    translated,
)

Connection = psycopg.Connection[Any]


Pool = ConnectionPool[Any]


def cursor_of(connection: Connection) -> psycopg.Cursor[Any]:
    """Return a cursor that is as ours, whatever kinds of rows and cursors the connection is set to.

    Args:
        connection: ours or the caller's.
    """
    return psycopg.Cursor(connection, row_factory=tuple_row)


def _execute(connection: Connection, function: str, arguments: Arguments) -> str:
    placeholders, parameters = _given(arguments)
    statement = _statement(function, placeholders)
    with _in_all_characters(connection):
        cursor = cursor_of(connection).execute(statement, parameters)
        row = cursor.fetchone()
    return cast("str", row[0]) if row else "[]"


def _execute_for_bytes(
    connection: Connection, function: str, arguments: Arguments
) -> tuple[str, list[bytes | None]]:
    placeholders, parameters = _given(arguments)
    statement = _statement_for_bytes(function, placeholders)
    # In binary, so that bytes are neither written as text nor read from it.
    with _in_all_characters(connection):
        cursor = cursor_of(connection).execute(statement, parameters, binary=True)
        row = cursor.fetchone()
    if row is None:
        return "[]", []
    return cast("str", row[0]), cast("list[bytes | None]", row[1])


class PoolTransport:
    """Calls on connections of a pool: one round trip each, retried within a bound."""

    def __init__(
        self,
        pool: Pool,
        *,
        text_policy: TextPolicy = "reject",
        timeout: float = 30.0,
        failures: Sequence[psycopg.Error] = (),
    ) -> None:
        """Use a pool that is open.

        Args:
            pool: ours or the caller's.
            text_policy: what to do with text that PostgreSQL cannot hold.
            timeout: seconds that one call may take in all, with its retries.
            failures: why a pool of ours cannot connect, as long as it cannot.
        """
        self._failures = failures
        self._process = OneProcess()
        self.pool = pool
        self.text_policy: TextPolicy = text_policy
        self._timeout = timeout

    def call(self, function: str, arguments: Arguments) -> str:
        """Call one function, again when the connection was lost: every write can be repeated."""
        return self._call(_execute, function, arguments)

    def call_for_bytes(self, function: str, arguments: Arguments) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes, again when the connection was lost."""
        return self._call(_execute_for_bytes, function, arguments)

    def _call(
        self,
        execute: Callable[[Connection, str, Arguments], T],
        function: str,
        arguments: Arguments,
    ) -> T:
        ready = storable(arguments, self.text_policy)

        def once() -> T:
            with self.connection() as connection:
                if connection.autocommit:
                    return execute(connection, function, ready)
                with connection.transaction():
                    return execute(connection, function, ready)

        return self._with_retries(once)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection of the pool."""
        self._process.check()
        with self.pool.connection(timeout=self._timeout) as connection:
            yield connection

    @contextmanager
    def unit_of_work(self, tenant_id: str) -> Iterator[Transport]:
        """Begin a transaction on one connection; commit at the end, roll back on an error."""
        try:
            with self.connection() as connection, _transaction(connection):
                unit = UnitTransport(connection, tenant_id, self.text_policy)
                try:
                    yield unit
                finally:
                    unit.end()
        except (psycopg.Error, PoolTimeout, PoolClosed, TooManyRequests, OSError) as error:
            raise translated(error, self._failures) from error

    def _with_retries(self, once: Callable[[], T]) -> T:
        try:
            with blocking.timeout(self._timeout):
                for attempt in range(1, ATTEMPTS + 1):
                    try:
                        return once()
                    except psycopg.Error as error:
                        if attempt == ATTEMPTS or not _is_worth_repeating(error):
                            raise
                    # Full jitter: 0 to 50, 100, 200, 400 milliseconds.
                    blocking.sleep(random.uniform(0, 0.05 * 2 ** (attempt - 1)))  # noqa: S311
        except (psycopg.Error, OSError, TimeoutError) as error:
            raise translated(error, self._failures, self._timeout) from error
        raise AssertionError


class ConnectionTransport:
    """Calls on a caller's connection: they join the caller's transaction, each in a savepoint.

    Calls of several tasks take turns, since savepoints that overlap would end the wrong one's work.
    Units of work are for one task at a time.
    """

    def __init__(self, connection: Connection, *, text_policy: TextPolicy = "reject") -> None:
        """Use a connection that the caller opens and closes."""
        self._process = OneProcess()
        self._connection = connection
        self._turn = blocking.Lock()
        self.text_policy: TextPolicy = text_policy

    def call(self, function: str, arguments: Arguments) -> str:
        """Call one function. Nothing is retried: the transaction belongs to the caller."""
        return self._call(_execute, function, arguments)

    def call_for_bytes(self, function: str, arguments: Arguments) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes. Nothing is retried."""
        return self._call(_execute_for_bytes, function, arguments)

    def _call(
        self,
        execute: Callable[[Connection, str, Arguments], T],
        function: str,
        arguments: Arguments,
    ) -> T:
        self._process.check()
        ready = storable(arguments, self.text_policy)
        try:
            with self._turn:
                idle = self._connection.info.transaction_status == TransactionStatus.IDLE
                if self._connection.autocommit and idle:
                    return execute(self._connection, function, ready)
                with self._connection.transaction():
                    return execute(self._connection, function, ready)
        except (psycopg.Error, OSError) as error:
            raise translated(error) from error

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend the caller's connection."""
        yield self._connection

    @contextmanager
    def unit_of_work(self, tenant_id: str) -> Iterator[Transport]:
        """Begin a transaction, or a savepoint within the caller's."""
        self._process.check()
        try:
            with _transaction(self._connection):
                unit = UnitTransport(self._connection, tenant_id, self.text_policy)
                try:
                    yield unit
                finally:
                    unit.end()
        except (psycopg.Error, OSError) as error:
            raise translated(error) from error


class UnitTransport:
    """Calls within one unit of work: one connection, one transaction, one tenant."""

    def __init__(self, connection: Connection, tenant_id: str, text_policy: TextPolicy) -> None:
        """Use a connection that is in a transaction."""
        self._connection = connection
        self._tenant_id = tenant_id
        self._has_ended = False
        self.text_policy = text_policy

    def end(self) -> None:
        """Take no more calls: the connection goes back to others."""
        self._has_ended = True

    def call(self, function: str, arguments: Arguments) -> str:
        """Call one function in the transaction. After an error the unit only takes its end."""
        return self._call(_execute, function, arguments)

    def call_for_bytes(self, function: str, arguments: Arguments) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes, in the transaction."""
        return self._call(_execute_for_bytes, function, arguments)

    def _call(
        self,
        execute: Callable[[Connection, str, Arguments], T],
        function: str,
        arguments: Arguments,
    ) -> T:
        self._check_tenant(str(arguments.get("tenant_id")))
        ready = storable(arguments, self.text_policy)
        try:
            return execute(self._connection, function, ready)
        except (psycopg.Error, OSError) as error:
            raise translated(error) from error

    def unit_of_work(self, tenant_id: str) -> AbstractContextManager[Transport]:
        """Nest: the inner unit shares the connection; an error in it undoes only its own part."""
        self._check_tenant(tenant_id)
        return self._nested()

    @contextmanager
    def _nested(self) -> Iterator[Transport]:
        try:
            with _transaction(self._connection):
                yield self
        except (psycopg.Error, OSError) as error:
            raise translated(error) from error

    def _check_tenant(self, tenant_id: str) -> None:
        if self._has_ended:
            raise InvalidTransition(
                "the unit of work has ended",
                detail={"record": "unit of work"},
                hint="Make the call inside the block, or on the store itself.",
            )
        if tenant_id != self._tenant_id:
            raise TenantMismatch(
                "tenant_id is not the tenant of the unit of work",
                detail={"path": "tenant_id"},
                hint="One unit of work serves one tenant; begin another for another tenant.",
            )


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    """Like psycopg's, and refuse to end well when a call inside has failed and was swallowed.

    PostgreSQL answers COMMIT in a failed transaction with a silent rollback; without this check a
    caller who caught the error inside the block would believe that the rest was saved.
    """
    with connection.transaction():
        yield
        if connection.info.transaction_status == TransactionStatus.INERROR:
            raise InvalidTransition(
                "a call inside the unit of work failed, so nothing of the unit was saved",
                hint="Let the error leave the block, or put the call in a nested unit of work.",
            )
