"""What the tests of reported faults share: stores on real servers, and races that are seen to happen."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest
from psycopg.rows import TupleRow

import strongroom
from strongroom.client import Strongroom
from strongroom.transports.psycopg import Connection
from tests.servers import Database

Blocked = Callable[[int], Awaitable[None]]


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Strongroom]:
    """A store of a host on the main server."""
    async with strongroom.connect(database.host_url, pool_max=8, timeout=30) as opened:
        yield opened


@pytest.fixture
async def every_store(every_database: Database) -> AsyncIterator[Strongroom]:
    """A store of a host on each of the servers in turn."""
    async with strongroom.connect(every_database.host_url, pool_max=8, timeout=30) as opened:
        yield opened


@pytest.fixture
async def admin(database: Database) -> AsyncIterator[Connection]:
    """A superuser's connection, for what a test does to the database behind the store's back."""
    async with await psycopg.AsyncConnection[TupleRow].connect(
        database.admin_url, autocommit=True
    ) as connection:
        yield connection


@pytest.fixture
def blocked(admin: Connection) -> Blocked:
    """Wait until so many sessions of the database are seen waiting for a lock."""

    async def wait(sessions: int) -> None:
        async with asyncio.timeout(20):
            while True:
                cursor = await admin.execute(
                    """select count(*)
                    from pg_catalog.pg_stat_activity
                    where datname = current_database()
                        and wait_event_type = 'Lock'"""
                )
                row = await cursor.fetchone()
                if row is not None and row[0] >= sessions:
                    return

    return wait
