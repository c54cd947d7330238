"""A pool of our own: what its URL has to be, and why it has no connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from strongroom.errors import InvalidArgument
from strongroom.transports.psycopg import translated

SETTINGS = {"client_encoding": "utf8"}
"""What connections of ours say, whatever a role or the environment says: others have not all text."""


def check_url(url: str | None, path: str = "url") -> None:
    """Refuse what is no connection string, in our own words: the driver's may quote a password.

    Args:
        url: as it was given; None and an empty one are looked at elsewhere.
        path: the name of the option.

    Raises:
        InvalidArgument: SR001.
    """
    if not url:
        return
    if not url.startswith(("postgresql://", "postgres://")) and "=" not in url:
        raise InvalidArgument(
            f"{path} is of no known kind",
            detail={"path": path},
            hint="Use memory:, embedded:, embedded:///folder or postgresql://user@host/database.",
        )
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        parts = None
    # Where a password has a bare "@", "/" or ":", a piece of it is taken for host, port or database.
    if parts is None or _has_split(url, parts):
        raise InvalidArgument(
            f"{path} is not a connection string",
            detail={"path": path},
            hint="Percent-encode what is special in user and password (@ is %40, / is %2F, : is %3A,"
            " % is %25), and look at the names of its parameters.",
        )


def _has_split(url: str, parts: dict[str, Any]) -> bool:
    before = url.split("?", maxsplit=1)[0]
    ports = [port for port in str(parts.get("port") or "").split(",") if port]
    return (
        not all(port.isdecimal() for port in ports)
        or "@" in str(parts.get("host") or "")[1:]
        or ("=" not in before and before.count("@") > 1)
    )


@asynccontextmanager
async def open_pool(
    url: str, *, prepares: bool, smallest: int, largest: int, seconds: float
) -> AsyncIterator[tuple[AsyncConnectionPool[Any], list[psycopg.Error]]]:
    """Open a pool, and close it at the end of the block; yield it with why it cannot connect, if so.

    Args:
        url: where to; a database that is only just starting is waited for.
        prepares: whether statements may be prepared on its connections.
        smallest: connections that are kept open.
        largest: connections at the most.
        seconds: how long to wait for the first ones, and for one that is lent.

    Raises:
        Unavailable: SR050, with the reason that the database gave last.
    """
    options: dict[str, Any] = {"autocommit": True, **SETTINGS}
    if not prepares:
        options["prepare_threshold"] = None
    failures: list[psycopg.Error] = []

    class Telling(psycopg.AsyncConnection[Any]):
        @classmethod
        async def connect(cls, conninfo: str = "", **kwargs: Any) -> Telling:
            try:
                made = await super().connect(conninfo, **kwargs)
            except psycopg.Error as error:
                failures[:] = [error]
                raise
            failures.clear()
            return made

    pool = AsyncConnectionPool[Any](
        url,
        connection_class=Telling,
        kwargs=options,
        min_size=smallest,
        max_size=largest,
        timeout=seconds,
        open=False,
    )
    try:
        await pool.open(wait=True, timeout=seconds)
    except PoolTimeout as error:
        await pool.close()
        raise translated(error, failures) from error
    try:
        yield pool, failures
    finally:
        await pool.close()
