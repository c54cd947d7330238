"""Who waits for something new, and one background task that listens for all of them.

What is heard is a hint. A subscription reads after its last sequence whenever it is woken, and also when
nothing woke it for a while; so the worst that a deaf listener does is to make it slow.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from strongroom.infrastructure.tasks import end_task

Key = TypeVar("Key", bound=Hashable)

LONGEST_PAUSE = 5.0
"""Seconds between two tries to listen, at the most."""


class WakingListener(ABC, Generic[Key]):
    """Listens while there is a subscription, and says honestly whether it hears.

    Attributes:
        has_heard: whether something was told since listening began, so that silence means something.
    """

    def __init__(self) -> None:
        """Listen when the first subscription comes."""
        self._waiting: defaultdict[Key, set[asyncio.Event]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self.has_heard = False

    @asynccontextmanager
    async def subscription(self, key: Key) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set whenever there may be something new under the key."""
        woken = asyncio.Event()
        self._waiting[key].add(woken)
        self._keys_changed()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(
                self._listen(), name=f"strongroom: {type(self).__name__}"
            )
        try:
            yield woken
        finally:
            self._waiting[key].discard(woken)
            if not self._waiting[key]:
                del self._waiting[key]
                self._keys_changed()
            if not self._waiting:
                await self.close()

    def doubt(self) -> None:
        """Something new was found that nothing told of: trust no silence until the next one is told."""
        self.has_heard = False

    async def close(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        self.has_heard = False
        await end_task(task)

    @abstractmethod
    async def _listen(self) -> None:
        """Listen for ever, over all that is lost, and wake."""

    def _keys_changed(self) -> None:
        """Do what a first or a last subscription of a key needs."""

    def _wake(self, *keys: Key) -> None:
        for key in keys:
            for woken in self._waiting.get(key, ()):
                woken.set()

    def _wake_all(self) -> None:
        self._wake(*self._waiting)
