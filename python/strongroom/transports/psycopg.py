"""The way to the database over psycopg: our own pool, a caller's pool, a caller's connection."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import lru_cache
from typing import Any, TypeVar, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from strongroom.errors import (
    InvalidText,
    InvalidTransition,
    StrongroomError,
    TenantMismatch,
    Unavailable,
)
from strongroom.models.health import TextPolicy
from strongroom.transports.base import Arguments, Bytes, Document, OneProcess, Transport, storable
from strongroom.transports.database_errors import database_error, is_worth_repeating, one_line

Connection = psycopg.AsyncConnection[Any]
Pool = AsyncConnectionPool[Any]
T = TypeVar("T")

ATTEMPTS = 5
"""How often a call is tried in all, when the connection is lost or the database asks for it."""


@lru_cache(maxsize=512)
def _statement(function: str, arguments: str) -> str:
    """Return the one statement of a call: rows as the text of a JSON array, for one validator."""
    return (
        "select coalesce(json_agg(r), '[]')::text"
        f" from (select * from strongroom.{function}({arguments})) as r"
    )


@lru_cache(maxsize=512)
def _statement_for_bytes(function: str, arguments: str) -> str:
    """Return the one statement of a call whose row has bytes beside JSON."""
    return f"select document::text, data from strongroom.{function}({arguments})"


def _given(arguments: Arguments) -> tuple[str, list[Any]]:
    """Return the arguments as they stand in a statement, and its parameters."""
    placeholders: list[str] = []
    parameters: list[Any] = []
    for name, value in arguments.items():
        if isinstance(value, Bytes):
            # In binary: psycopg would write a list of bytes as text.
            placeholders.append(f"p_{name} => %b")
            parameters.append(value.values)
        else:
            placeholders.append(f"p_{name} => %s")
            parameters.append(value.text if isinstance(value, Document) else value)
    return ", ".join(placeholders), parameters


def cursor_of(connection: Connection) -> psycopg.AsyncCursor[Any]:
    """Return a cursor that is as ours, whatever kinds of rows and cursors the connection is set to.

    Args:
        connection: ours or the caller's.
    """
    return psycopg.AsyncCursor(connection, row_factory=tuple_row)


@contextmanager
def _in_all_characters(connection: Any) -> Iterator[None]:
    """Say what a connection of the caller's cannot: ours speak UTF-8."""
    try:
        yield
    except UnicodeError as error:
        encoding = connection.info.parameter_status("client_encoding")
        raise InvalidText(
            f"the connection's client_encoding is {encoding}, which has not every character",
            detail={"client_encoding": encoding},
            hint="Open it with client_encoding='utf8'.",
        ) from error


async def _execute(connection: Connection, function: str, arguments: Arguments) -> str:
    placeholders, parameters = _given(arguments)
    statement = _statement(function, placeholders)
    with _in_all_characters(connection):
        cursor = await cursor_of(connection).execute(statement, parameters)
        row = await cursor.fetchone()
    return cast("str", row[0]) if row else "[]"


async def _execute_for_bytes(
    connection: Connection, function: str, arguments: Arguments
) -> tuple[str, list[bytes | None]]:
    placeholders, parameters = _given(arguments)
    statement = _statement_for_bytes(function, placeholders)
    # In binary, so that bytes are neither written as text nor read from it.
    with _in_all_characters(connection):
        cursor = await cursor_of(connection).execute(statement, parameters, binary=True)
        row = await cursor.fetchone()
    if row is None:
        return "[]", []
    return cast("str", row[0]), cast("list[bytes | None]", row[1])


def translated(
    error: BaseException, failures: Sequence[psycopg.Error] = (), seconds: float | None = None
) -> StrongroomError:
    """Return our error for whatever psycopg or its pool raised.

    Args:
        error: what was raised.
        failures: why a pool of ours could not connect, when it has just tried.
        seconds: how long was waited, when that was the end of it.
    """
    if isinstance(error, StrongroomError):
        return error
    if isinstance(error, psycopg.Error) and error.sqlstate is not None:
        diagnosis = error.diag
        return database_error(
            error.sqlstate,
            diagnosis.message_primary or str(error),
            diagnosis.message_detail,
            diagnosis.message_hint,
        )
    if isinstance(error, psycopg.Error | OSError | TimeoutError):
        return _without_an_answer(error, failures, seconds)
    return StrongroomError(f"unforeseen: {error!r}")


def _without_an_answer(
    error: BaseException, failures: Sequence[psycopg.Error], seconds: float | None
) -> StrongroomError:
    if failures and isinstance(error, PoolTimeout | TimeoutError):
        return Unavailable(
            f"the database cannot be reached: {one_line(str(failures[-1]))}",
            hint="Look at host, port, database and role of the URL, and whether the server runs.",
        )
    if isinstance(error, PoolClosed):
        return Unavailable(
            f"no connection could be had: {error}",
            hint="Call a store inside its block only, and open a pool of yours before.",
        )
    if isinstance(error, PoolTimeout | TooManyRequests):
        return Unavailable(
            f"no connection could be had from the pool: {error}",
            hint="Raise pool_max or timeout, or look whether connections are held too long.",
        )
    if seconds is not None and isinstance(error, TimeoutError):
        return Unavailable(
            f"no answer within {seconds:g} seconds",
            hint="The call may be repeated. Raise timeout, or look what it waits for.",
        )
    return database_error(None, str(error) or type(error).__name__)


def _is_worth_repeating(error: psycopg.Error) -> bool:
    if error.sqlstate is not None:
        return is_worth_repeating(error.sqlstate)
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


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

    async def call(self, function: str, arguments: Arguments) -> str:
        """Call one function, again when the connection was lost: every write can be repeated."""
        return await self._call(_execute, function, arguments)

    async def call_for_bytes(
        self, function: str, arguments: Arguments
    ) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes, again when the connection was lost."""
        return await self._call(_execute_for_bytes, function, arguments)

    async def _call(
        self,
        execute: Callable[[Connection, str, Arguments], Awaitable[T]],
        function: str,
        arguments: Arguments,
    ) -> T:
        ready = storable(arguments, self.text_policy)

        async def once() -> T:
            async with self.connection() as connection:
                if connection.autocommit:
                    return await execute(connection, function, ready)
                async with connection.transaction():
                    return await execute(connection, function, ready)

        return await self._with_retries(once)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection of the pool."""
        self._process.check()
        async with self.pool.connection(timeout=self._timeout) as connection:
            yield connection

    @asynccontextmanager
    async def unit_of_work(self, tenant_id: str) -> AsyncIterator[Transport]:
        """Begin a transaction on one connection; commit at the end, roll back on an error."""
        try:
            async with self.connection() as connection, _transaction(connection):
                unit = UnitTransport(connection, tenant_id, self.text_policy)
                try:
                    yield unit
                finally:
                    unit.end()
        except (psycopg.Error, PoolTimeout, PoolClosed, TooManyRequests, OSError) as error:
            raise translated(error, self._failures) from error

    async def _with_retries(self, once: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._timeout):
                for attempt in range(1, ATTEMPTS + 1):
                    try:
                        return await once()
                    except psycopg.Error as error:
                        if attempt == ATTEMPTS or not _is_worth_repeating(error):
                            raise
                    # Full jitter: 0 to 50, 100, 200, 400 milliseconds.
                    await asyncio.sleep(random.uniform(0, 0.05 * 2 ** (attempt - 1)))  # noqa: S311
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
        self._turn = asyncio.Lock()
        self.text_policy: TextPolicy = text_policy

    async def call(self, function: str, arguments: Arguments) -> str:
        """Call one function. Nothing is retried: the transaction belongs to the caller."""
        return await self._call(_execute, function, arguments)

    async def call_for_bytes(
        self, function: str, arguments: Arguments
    ) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes. Nothing is retried."""
        return await self._call(_execute_for_bytes, function, arguments)

    async def _call(
        self,
        execute: Callable[[Connection, str, Arguments], Awaitable[T]],
        function: str,
        arguments: Arguments,
    ) -> T:
        self._process.check()
        ready = storable(arguments, self.text_policy)
        try:
            async with self._turn:
                idle = self._connection.info.transaction_status == TransactionStatus.IDLE
                if self._connection.autocommit and idle:
                    return await execute(self._connection, function, ready)
                async with self._connection.transaction():
                    return await execute(self._connection, function, ready)
        except (psycopg.Error, OSError) as error:
            raise translated(error) from error

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend the caller's connection."""
        yield self._connection

    @asynccontextmanager
    async def unit_of_work(self, tenant_id: str) -> AsyncIterator[Transport]:
        """Begin a transaction, or a savepoint within the caller's."""
        self._process.check()
        try:
            async with _transaction(self._connection):
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

    async def call(self, function: str, arguments: Arguments) -> str:
        """Call one function in the transaction. After an error the unit only takes its end."""
        return await self._call(_execute, function, arguments)

    async def call_for_bytes(
        self, function: str, arguments: Arguments
    ) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes, in the transaction."""
        return await self._call(_execute_for_bytes, function, arguments)

    async def _call(
        self,
        execute: Callable[[Connection, str, Arguments], Awaitable[T]],
        function: str,
        arguments: Arguments,
    ) -> T:
        self._check_tenant(str(arguments.get("tenant_id")))
        ready = storable(arguments, self.text_policy)
        try:
            return await execute(self._connection, function, ready)
        except (psycopg.Error, OSError) as error:
            raise translated(error) from error

    def unit_of_work(self, tenant_id: str) -> AbstractAsyncContextManager[Transport]:
        """Nest: the inner unit shares the connection; an error in it undoes only its own part."""
        self._check_tenant(tenant_id)
        return self._nested()

    @asynccontextmanager
    async def _nested(self) -> AsyncIterator[Transport]:
        try:
            async with _transaction(self._connection):
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


@asynccontextmanager
async def _transaction(connection: Connection) -> AsyncIterator[None]:
    """Like psycopg's, and refuse to end well when a call inside has failed and was swallowed.

    PostgreSQL answers COMMIT in a failed transaction with a silent rollback; without this check a
    caller who caught the error inside the block would believe that the rest was saved.
    """
    async with connection.transaction():
        yield
        if connection.info.transaction_status == TransactionStatus.INERROR:
            raise InvalidTransition(
                "a call inside the unit of work failed, so nothing of the unit was saved",
                hint="Let the error leave the block, or put the call in a nested unit of work.",
            )
