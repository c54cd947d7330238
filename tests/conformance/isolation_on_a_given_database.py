"""Not collected by itself: test_policies_matter.py runs it on a database that it has prepared."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from strongroom.conformance import Adapter
from strongroom.conformance.test_isolation import *  # noqa: F403
from tests.conformance.adapters import open_adapter
from tests.conformance.opened import Opened
from tests.servers import Database
from tests.servers.server import Server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened() -> AsyncIterator[Opened]:
    server = Server(
        "given",
        "of the test that runs this",
        host=os.environ["GIVEN_HOST"],
        port=int(os.environ["GIVEN_PORT"]),
        superuser=os.environ["GIVEN_SUPERUSER"],
    )
    name, migrator = os.environ["GIVEN_DATABASE"], os.environ["GIVEN_MIGRATOR"]
    opened = Opened(lambda: open_adapter(Database(server, name, migrator, "app_host")))
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def adapter(request: pytest.FixtureRequest, opened: Opened) -> AsyncIterator[Adapter]:
    async for adapter in opened.lend(request):
        yield adapter
