"""Databases like those of hosted projects, with strongroom, old style and new style."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.servers import Database, ServerPark
from tests.servers.databases import SHIM, install, run_script

MakeHosted = Callable[..., Database]


@pytest.fixture
def make_hosted(servers: ServerPark) -> Iterator[MakeHosted]:
    """Make databases with the shim: ``make_hosted("pg15", automatic_grants=False)``."""
    made: list[Database] = []

    def make(
        server: str = "pg18", *, automatic_grants: bool = True, installed: bool = True
    ) -> Database:
        running = servers.get(server, "supabase")
        database = Database(running, running.create_database(), "postgres", "service_role")
        made.append(database)
        with database.connect() as connection:
            connection.execute(
                "select set_config('shim.automatic_grants', %s, false)",
                ["on" if automatic_grants else "off"],
            )
            run_script(connection, SHIM.read_text(encoding="utf-8"))
        if installed:
            install(database)
        return database

    yield make
    for database in made:
        database.drop()


@pytest.fixture(params=["pg18", "pg15"])
def hosted(request: pytest.FixtureRequest, make_database: Callable[..., Database]) -> Database:
    """A hosted project's database with strongroom, on PostgreSQL 18 and 15 in turn."""
    return make_database("supabase", server=request.param)
