"""The suite on the blocking API: in memory, and on the main server over its own pool."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
import pytest_asyncio

import strongroom.sync
from strongroom import client
from strongroom.conformance import *  # noqa: F403
from strongroom.conformance import Adapter
from strongroom.models.health import TextPolicy
from strongroom.sync.in_memory.adapter import memory_store
from strongroom.sync.in_memory.database import Database as BlockingTables
from tests.conformance.adapters import LookAt, claims_of
from tests.conformance.blocking_store import entered, in_thread, presented
from tests.servers import Database, Templates


@pytest.fixture(scope="session", params=["in-memory", "pool"])
def place(request: pytest.FixtureRequest, templates: Templates) -> Iterator[Database | None]:
    if request.param == "in-memory":
        yield None
        return
    database = templates.copy()
    try:
        yield database
    finally:
        database.drop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def on_the_server(place: Database | None) -> AsyncIterator[Adapter | None]:
    """Open once, as in a program; in memory every test begins empty."""
    if place is None:
        yield None
        return
    async with _on_the_server(place) as opened:
        yield opened


@pytest.fixture
def adapter(on_the_server: Adapter | None) -> Adapter:
    return on_the_server or _in_memory()


def _in_memory() -> Adapter:
    tables = BlockingTables()

    @asynccontextmanager
    async def opened(text_policy: TextPolicy = "reject") -> AsyncIterator[client.Strongroom]:
        yield presented(memory_store(text_policy=text_policy, database=tables))

    return Adapter(
        store=presented(memory_store(text_policy="reject", database=tables)),
        open_second=opened,
        open_replacing=lambda: opened("replace"),
    )


@asynccontextmanager
async def _on_the_server(database: Database) -> AsyncIterator[Adapter]:
    options: Any = {"schema_url": database.migrator_url, "pool_max": 8}

    @asynccontextmanager
    async def opened(**more: Any) -> AsyncIterator[client.Strongroom]:
        async with entered(strongroom.sync.connect(database.host_url, **options, **more)) as store:
            yield presented(store)

    @asynccontextmanager
    async def as_user(tenant_id: str, principal_id: str) -> AsyncIterator[client.Strongroom]:
        def sign_in() -> psycopg.Connection[Any]:
            connection = psycopg.connect(database.url(user="authenticator"), autocommit=True)
            connection.execute("set role authenticated")
            connection.execute(
                "select set_config('request.jwt.claims', %s, false)",
                [json.dumps(claims_of(tenant_id, principal_id))],
            )
            return connection

        async with (
            entered(await in_thread(sign_in)) as connection,
            entered(strongroom.sync.connect(connection=connection)) as store,
        ):
            yield presented(store)

    async with opened() as store:
        yield Adapter(
            store=store,
            open_second=opened,
            open_replacing=lambda: opened(text_policy="replace"),
            as_user=as_user,
            visible_tenants=LookAt(database),
        )
