"""The suite on real servers: each version, each way of installing, each way of connecting."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from strongroom.conformance import *  # noqa: F403
from strongroom.conformance import Adapter
from tests.conformance.adapters import open_adapter
from tests.conformance.opened import Opened
from tests.servers import Database, PgBouncer, ServerPark, Templates


@dataclass(frozen=True)
class Way:
    """One line of the matrix."""

    server: str | None
    variant: str = "superuser"
    connect: str = "pool"


# None is the main server: PostgreSQL 18, or what STRONGROOM_TEST_SERVER says. Each version, each way of
# installing and each way of connecting is in a line; that one of them fails only together with one of the
# others is what nobody has seen, and all products would take most of an hour.
MATRIX = {
    "host": Way(None),
    "supabase-signed-in": Way(None, variant="supabase", connect="signed_in"),
    "pg17-pgbouncer": Way("pg17", connect="pooler"),
    "pg16-plain-owner-callers-pool": Way("pg16", variant="owner", connect="callers_pool"),
    "pg15-plain-owner-is-host-callers-connection": Way(
        "pg15", variant="owner_bare", connect="callers_connection"
    ),
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(place: Place) -> AsyncIterator[Opened]:
    opened = Opened(lambda: open_adapter(place.database, place.way.connect, place.bouncer))
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def adapter(request: pytest.FixtureRequest, opened: Opened) -> AsyncIterator[Adapter]:
    async for adapter in opened.lend(request):
        yield adapter
