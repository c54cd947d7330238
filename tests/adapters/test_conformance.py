"""The suite's sections for jobs, locks and change feed, and what the generic ones say of these ports."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

import strongroom
import strongroom.conformance as suite
from strongroom.client import Strongroom
from strongroom.conformance import Adapter
from tests.conformance.adapters import LookAt, Users, has_users
from tests.servers import Database, Templates
from tests.servers.redis_server import RedisProcess

for _section in (
    *("jobs", "locks", "realtime", "transactions"),
    *("isolation", "deletion", "text", "arguments"),  # see conftest.py: what is about these ports
):
    globals().update(suite.tests_of(_section))


@pytest.fixture(scope="module")
def home(templates: Templates) -> Iterator[Database]:
    database = templates.copy("superuser", None)
    yield database
    database.drop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapter(home: Database, redis: RedisProcess) -> AsyncIterator[Adapter]:
    options: dict[str, Any] = {
        "schema_url": home.migrator_url,
        "pool_max": 4,
        "timeout": 20.0,
        "locks": redis.url,
        "realtime": redis.url,
        "jobs": f"bullmq+{redis.url}",
    }

    @asynccontextmanager
    async def opened(**more: Any) -> AsyncIterator[Strongroom]:
        async with strongroom.connect(home.host_url, **options, **more) as store:
            yield store

    users = Users(home)
    async with opened() as store:
        yield Adapter(
            store=store,
            open_second=opened,
            open_replacing=lambda: opened(text_policy="replace"),
            as_user=users.store if has_users(home) else None,
            visible_tenants=LookAt(home),
        )
    await users.close()
