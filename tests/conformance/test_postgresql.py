"""The suite on real servers: each version, each way of installing, each way of connecting."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from strongroom.conformance import *  # noqa: F403
from strongroom.conformance import Adapter
from tests.conformance.adapters import open_adapter
from tests.conformance.conftest import HAS_FAILED
from tests.servers import Database, PgBouncer, ServerPark, Templates


@dataclass(frozen=True)
class Way:
    """One line of the matrix."""

    server: str | None
    variant: str = "superuser"
    connect: str = "pool"


# None is the main server: PostgreSQL 18, or what STRONGROOM_TEST_SERVER says.
MATRIX = {
    "host": Way(None),
    "signed-in": Way(None, connect="signed_in"),
    "pgbouncer": Way(None, connect="pooler"),
    "plain-owner-callers-pool": Way(None, variant="owner", connect="callers_pool"),
    "plain-owner-is-host-callers-connection": Way(
        None, variant="owner_bare", connect="callers_connection"
    ),
    "pg17": Way("pg17"),
    "pg16": Way("pg16"),
    "pg15": Way("pg15"),
    "pg15-supabase-signed-in": Way("pg15", variant="supabase", connect="signed_in"),
}


@dataclass(frozen=True)
class Place:
    """A database for one line of the matrix; its tests share it."""

    way: Way
    database: Database
    bouncer: PgBouncer | None


@pytest.fixture(scope="session", params=list(MATRIX))
def place(
    request: pytest.FixtureRequest, servers: ServerPark, templates: Templates
) -> Iterator[Place]:
    way = MATRIX[request.param]
    database = templates.copy(way.variant, way.server)
    bouncer = PgBouncer(database.server, pool_size=4) if way.connect == "pooler" else None
    try:
        yield Place(way, database, bouncer)
    finally:
        if bouncer:
            bouncer.close()
        database.drop()


@dataclass
class Opened:
    """The adapter of one place. It stays open from test to test, as it does in a program.

    A new connection has to learn the catalog and to compile every function that is called on it,
    which costs a short test far more than what it is about.
    """

    place: Place
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _adapter: Adapter | None = None

    async def get(self) -> Adapter:
        if self._adapter is None:
            self._adapter = await self._stack.enter_async_context(
                open_adapter(self.place.database, self.place.way.connect, self.place.bouncer)
            )
        return self._adapter

    async def close(self) -> None:
        self._adapter = None
        await self._stack.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(place: Place) -> AsyncIterator[Opened]:
    opened = Opened(place)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def adapter(request: pytest.FixtureRequest, opened: Opened) -> AsyncIterator[Adapter]:
    yield await opened.get()
    if request.node.stash.get(HAS_FAILED, False):
        # Whatever it has left behind is no reason for the next one to fail.
        await opened.close()
