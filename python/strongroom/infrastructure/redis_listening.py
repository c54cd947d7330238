"""One connection that hears of publications in Redis for all subscriptions of a store."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

from strongroom.infrastructure.extras import import_extra
from strongroom.infrastructure.redis_server import RedisServer
from strongroom.infrastructure.tasks import end_task

_LONGEST_PAUSE = 5.0


class RedisListener:
    """Listens while there is a subscription. What it tells is a hint: subscriptions read the stream."""

    def __init__(self, server: RedisServer, channel: str) -> None:
        """Listen there, when the first subscription comes."""
        self._server = server
        self._channel = channel
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def subscription(self, topic_key: str) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set whenever there may be something new in a topic."""
        woken = asyncio.Event()
        self._waiting[topic_key].add(woken)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._listen(), name="strongroom: listen to Redis")
        try:
            yield woken
        finally:
            self._waiting[topic_key].discard(woken)
            if not self._waiting[topic_key]:
                del self._waiting[topic_key]
            if not self._waiting:
                await self.close()

    async def close(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        await end_task(task)

    async def _listen(self) -> None:
        errors = import_extra("redis.exceptions", "redis", "a Redis adapter")
        pause = 0.05
        while True:
            with contextlib.suppress(errors.RedisError, OSError):
                async with self._server.client.pubsub() as channel:
                    await channel.subscribe(self._channel)
                    while True:
                        message: dict[str, Any] | None = await channel.get_message(timeout=None)
                        if message is None:
                            continue
                        if message["type"] == "subscribe":
                            pause = 0.05
                            self._wake(*self._waiting)  # what was published meanwhile told nobody
                        elif message["type"] == "message":
                            self._wake(str(message["data"]))
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _wake(self, *topic_keys: str) -> None:
        for key in topic_keys:
            for woken in self._waiting.get(key, ()):
                woken.set()
