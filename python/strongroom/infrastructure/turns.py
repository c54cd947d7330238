"""One call at a time may change what is under a name."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Locks by name, kept for as long as somebody has one or waits for it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._counts: defaultdict[str, int] = defaultdict(int)

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Have the name to oneself for as long as the block lasts."""
        self._counts[name] += 1
        try:
            async with self._locks[name]:
                yield
        finally:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name], self._locks[name]
