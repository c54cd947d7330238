"""A subscription that hears of publications in Redis in the thread that iterates."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from strongroom import blocking
from strongroom.infrastructure.extras import import_extra
from strongroom.sync.infrastructure.redis_server import RedisServer

POLL_SECONDS = 1.0
"""How often a subscription looks while it cannot listen."""


class _Told(blocking.Event):
    """What the thread waits for that iterates: a publication under its key, on a connection of its own."""

    def __init__(self, server: RedisServer, channel: str, key: str) -> None:
        """Listen at once, so that what is published from now on is told."""
        super().__init__()
        self._errors = import_extra("redis.exceptions", "redis", "a Redis adapter")
        self._server = server
        self._channel = channel
        self._key = key
        self._listening: Any = None
        self._client = server.new_client()

    def close(self) -> None:
        """Close the connection."""
        self._deaf()
        self._client.close()

    def _deaf(self) -> None:
        """Let go of a connection that may have failed."""
        listening, self._listening = self._listening, None
        if listening is not None:
            with suppress(self._errors.RedisError, OSError):
                listening.close()

    def wait(self) -> None:
        """Return when there may be something new."""
        while True:
            remaining = blocking.left()
            if remaining is not None and remaining <= 0:
                raise TimeoutError
            try:
                if self._listening is None:
                    self._listening = self._client.pubsub()
                    self._listening.subscribe(self._channel)
                told = self._listening.get_message(timeout=remaining)
            except (self._errors.RedisError, OSError):
                # What is published meanwhile tells nobody: look again, and listen anew.
                self._deaf()
                time.sleep(POLL_SECONDS if remaining is None else min(POLL_SECONDS, remaining))
                return
            if told is not None and (
                told["type"] == "subscribe"
                or (told["type"] == "message" and told["data"] == self._key)
            ):
                return


class RedisListener:
    """Gives every subscription a connection of its own: no thread listens beside the caller's."""

    def __init__(self, server: RedisServer, channel: str) -> None:
        """Listen there."""
        self._server = server
        self._channel = channel

    @contextmanager
    def subscription(self, key: str) -> Iterator[blocking.Event]:
        """Yield what waits for publications under the key."""
        told = _Told(self._server, self._channel, key)
        try:
            yield told
        finally:
            told.close()

    def close(self) -> None:
        """Do nothing: subscriptions end themselves."""
