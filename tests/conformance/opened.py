"""An adapter that stays open from test to test, as it does in a program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field

import pytest

from strongroom.conformance import Adapter
from tests.conformance.conftest import HAS_FAILED


@dataclass
class Opened:
    """The adapter of one place.

    A new connection has to learn the catalog and to compile every function that is called on it,
    which costs a short test far more than what it is about.
    """

    open: Callable[[], AbstractAsyncContextManager[Adapter]]
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _adapter: Adapter | None = None

    async def lend(self, request: pytest.FixtureRequest) -> AsyncIterator[Adapter]:
        """Yield it to a test; one that fails leaves it closed.

        Whatever that has left behind is no reason for the next one to fail.
        """
        if self._adapter is None:
            self._adapter = await self._stack.enter_async_context(self.open())
        yield self._adapter
        if request.node.stash.get(HAS_FAILED, False):
            await self.close()

    async def close(self) -> None:
        self._adapter = None
        await self._stack.aclose()
