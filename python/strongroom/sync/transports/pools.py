# Written by scripts/generate_sync.py from strongroom/transports/pools.py: change that, and run `make generate`.
"""A pool of our own: what its URL has to be, and why it has no connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from strongroom.transports.pools import SETTINGS
from strongroom.transports.psycopg import translated


@contextmanager
def open_pool(
    url: str, *, prepares: bool, smallest: int, largest: int, seconds: float
) -> Iterator[tuple[ConnectionPool[Any], list[psycopg.Error]]]:
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

    class Telling(psycopg.Connection[Any]):
        @classmethod
        def connect(cls, conninfo: str = "", **kwargs: Any) -> Telling:
            try:
                made = super().connect(conninfo, **kwargs)
            except psycopg.Error as error:
                failures[:] = [error]
                raise
            failures.clear()
            return made

    pool = ConnectionPool[Any](
        url,
        connection_class=Telling,
        kwargs=options,
        min_size=smallest,
        max_size=largest,
        timeout=seconds,
        open=False,
    )
    try:
        pool.open(wait=True, timeout=seconds)
    except PoolTimeout as error:
        pool.close()
        raise translated(error, failures) from error
    try:
        yield pool, failures
    finally:
        pool.close()
