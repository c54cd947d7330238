"""Not collected by itself: test_policies_matter.py runs it on a database that it has prepared."""

import os
from collections.abc import AsyncIterator

import pytest

from strongroom.conformance import Adapter
from strongroom.conformance.test_isolation import *  # noqa: F403
from tests.conformance.adapters import open_adapter
from tests.servers import Database
from tests.servers.server import Server


@pytest.fixture
async def adapter() -> AsyncIterator[Adapter]:
    server = Server(
        "given",
        "of the test that runs this",
        host=os.environ["GIVEN_HOST"],
        port=int(os.environ["GIVEN_PORT"]),
        superuser=os.environ["GIVEN_SUPERUSER"],
    )
    name, migrator = os.environ["GIVEN_DATABASE"], os.environ["GIVEN_MIGRATOR"]
    async with open_adapter(Database(server, name, migrator, "app_host")) as adapter:
        yield adapter
