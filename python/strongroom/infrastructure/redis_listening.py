"""One connection that hears of publications in Redis for all subscriptions of a store."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import Any

from strongroom.infrastructure.extras import import_extra
from strongroom.infrastructure.redis_server import RedisServer
from strongroom.infrastructure.waking import LONGEST_PAUSE, WakingListener


class RedisListener(WakingListener[str]):
    """Hears keys of topics; subscriptions read the stream."""

    def __init__(self, server: RedisServer, channel: str) -> None:
        """Listen there, when the first subscription comes."""
        super().__init__()
        self._server = server
        self._channel = channel

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
                            self._wake_all()  # what was published meanwhile told nobody
                        elif message["type"] == "message":
                            self._wake(str(message["data"]))
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, LONGEST_PAUSE)
