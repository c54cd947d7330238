"""The pytest fixtures; tests/conftest.py makes them known to every test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from . import catalog
from .catalog import SERVER_NAMES, ServerPark
from .databases import Database, Templates, dropped_after
from .pgbouncer import PgBouncer
from .server import LocalServer, Server


def pytest_report_header() -> list[str]:
    return catalog.describe()


@pytest.fixture(scope="session")
def servers() -> Iterator[ServerPark]:
    """All servers of this session: ``servers.get("pg16")``, ``servers.launch(durable=True)``."""
    park = ServerPark()
    try:
        yield park
    finally:
        park.close()


@pytest.fixture(scope="session")
def templates(servers: ServerPark) -> Templates:
    """The template databases, each built when it is first needed."""
    return Templates(servers)


@pytest.fixture(scope="session")
def server(servers: ServerPark) -> Server:
    """The main server: PostgreSQL 18, or what STRONGROOM_TEST_SERVER says."""
    return servers.get()


@pytest.fixture(scope="session", params=SERVER_NAMES)
def every_server(request: pytest.FixtureRequest, servers: ServerPark) -> Server:
    """Each of the servers in turn: PostgreSQL 18, 17, 16 and 15."""
    return servers.get(request.param)


@pytest.fixture
def make_database(templates: Templates) -> Iterator[Callable[..., Database]]:
    """Make databases, dropped afterwards: ``make_database("owner", server="pg16")``.

    The first argument is the way of installing: ``superuser`` (default), ``owner``, ``owner_bare``
    or ``supabase``. With ``version=3`` only the first three migrations have run. With ``installed=False``
    all is prepared for the migrations, and none has run; then with ``pgvector=False`` that extension is
    not there yet.
    """
    with ExitStack() as stack:

        def make(
            variant: str = "superuser",
            *,
            server: str | None = None,
            version: int | None = None,
            installed: bool = True,
            pgvector: bool = True,
        ) -> Database:
            if installed:
                copy = templates.copy(variant, server, version=version)
                return stack.enter_context(dropped_after(copy))
            empty = templates.empty(variant, server, pgvector=pgvector)
            return stack.enter_context(dropped_after(empty))

        yield make


@pytest.fixture
def database(make_database: Callable[..., Database]) -> Database:
    """A database of this test's own on the main server, with the schema."""
    return make_database()


@pytest.fixture
def empty_database(make_database: Callable[..., Database]) -> Database:
    """A database of this test's own on the main server, without the schema, with the roles."""
    return make_database(installed=False)


@pytest.fixture
def every_database(every_server: Server, make_database: Callable[..., Database]) -> Database:
    """A database of this test's own, with the schema, on each of the servers in turn."""
    return make_database(server=every_server.name)


@pytest.fixture(params=["superuser", "owner", "owner_bare", "supabase"])
def every_install(
    request: pytest.FixtureRequest, make_database: Callable[..., Database]
) -> Database:
    """A database of this test's own on the main server, by each way of installing in turn."""
    return make_database(request.param)


@pytest.fixture
def durable_server(servers: ServerPark) -> Iterator[LocalServer]:
    """A server of this test's own that syncs to disk: ``kill_hard()``, then ``start()``."""
    server = servers.launch("pg18", durable=True)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def make_pgbouncer() -> Iterator[Callable[..., PgBouncer]]:
    """Start PgBouncer, transaction mode: ``make_pgbouncer(server, pool_size=2).url(database)``."""
    with ExitStack() as stack:

        def make(server: Server, **settings: int) -> PgBouncer:
            bouncer = PgBouncer(server, **settings)
            stack.callback(bouncer.close)
            return bouncer

        yield make
