"""The suite on the in-memory reference adapter."""

from collections.abc import AsyncIterator

import pytest

import strongroom
from strongroom.conformance import *  # noqa: F403
from strongroom.conformance import Adapter


@pytest.fixture
async def adapter() -> AsyncIterator[Adapter]:
    async with strongroom.connect("memory:") as store:
        yield Adapter(store=store)
