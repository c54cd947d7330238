"""One connection that LISTENs for all subscriptions of a store."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import psycopg

from strongroom.infrastructure.waking import LONGEST_PAUSE, WakingListener

CHANNEL = "strongroom_topics"

Connection = psycopg.AsyncConnection[Any]
ConnectToListen = Callable[[], AbstractAsyncContextManager[Connection]]
"""Opens a connection of its own, in autocommit mode and not through a transaction pooler."""

Key = tuple[str, str]


def listening_connection(url: str) -> ConnectToListen:
    """Return how to open single connections to a URL, for listening."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Connection]:
        async with await psycopg.AsyncConnection.connect(
            url,
            autocommit=True,
            client_encoding="utf8",
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
        ) as connection:
            yield connection

    return connect


class Listener(WakingListener[Key]):
    """One connection, which is made again when it is lost."""

    def __init__(self, connect: ConnectToListen) -> None:
        """Connect with this, when the first subscription comes."""
        super().__init__()
        self._connect = connect

    async def _listen(self) -> None:
        pause = 0.05
        while True:
            # Without a connection subscriptions poll, and their own calls say what is wrong.
            with contextlib.suppress(psycopg.Error, OSError):
                async with self._connect() as connection:
                    await connection.execute(f"listen {CHANNEL}")
                    pause = 0.05
                    self._wake_all()
                    async for notification in connection.notifies():
                        self._hear(notification.payload)
            self.has_heard = False
            self._wake_all()
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, LONGEST_PAUSE)

    def _hear(self, payload: str) -> None:
        try:
            told = json.loads(payload)
            key = (str(told["tenant_id"]), str(told["topic"]))
        except (ValueError, TypeError, KeyError):
            return  # somebody else's: anyone may notify on any channel
        self.has_heard = True
        self._wake(key)
