"""The suite on the in-memory reference adapter."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from strongroom.client import Strongroom
from strongroom.conformance import *  # noqa: F403
from strongroom.conformance import Adapter
from strongroom.in_memory import Database, memory_store
from strongroom.models.health import TextPolicy


@pytest.fixture
def adapter() -> Adapter:
    database = Database()

    @asynccontextmanager
    async def opened(text_policy: TextPolicy = "reject") -> AsyncIterator[Strongroom]:
        yield memory_store(text_policy=text_policy, database=database)

    return Adapter(
        store=memory_store(text_policy="reject", database=database),
        open_second=opened,
        open_replacing=lambda: opened("replace"),
    )
