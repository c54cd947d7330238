"""One database, reached as a host that row security binds; a fresh tenant for every test."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

import strongroom
from strongroom.client import Strongroom
from strongroom.conformance.helpers import fresh
from strongroom.integrations.bridge import ThreadedStore, connect_in_thread
from tests.servers import Database, Templates


@pytest.fixture(scope="session")
def place(templates: Templates) -> Iterator[Database]:
    database = templates.copy("superuser")
    yield database
    database.drop()


@pytest_asyncio.fixture
async def store(place: Database) -> AsyncIterator[Strongroom]:
    async with strongroom.connect(place.host_url) as store:
        health = await store.health()
        assert health.warnings == (), "the role must be one that row security binds"
        yield store


@pytest_asyncio.fixture
async def tenant_id(store: Strongroom) -> str:
    tenant_id = fresh("tenant")
    await store.tenants.create(tenant_id=tenant_id, name="Frameworks")
    return tenant_id


@pytest.fixture
def threaded(place: Database) -> Iterator[ThreadedStore]:
    with connect_in_thread(place.host_url) as store:
        yield store


@pytest.fixture
def thread_tenant(threaded: ThreadedStore) -> str:
    tenant_id = fresh("tenant")
    threaded.run(threaded.store.tenants.create(tenant_id=tenant_id, name="Frameworks"))
    return tenant_id
