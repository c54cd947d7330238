"""Supabase Realtime as what it is: hints. Subscriptions read the tables, and are woken by broadcasts.

A broadcast can be lost: the socket drops, the token expires, a channel is joined again while others write. So
a subscription reads after its last sequence whenever it is told, whenever its channel has been joined, and
when nothing was heard for a while; where no channel can be joined, it polls. It never trusts a silence.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

from realtime import AsyncRealtimeClient, RealtimeSubscribeStates

from strongroom.infrastructure.listening import Listener
from strongroom.infrastructure.postgres_realtime import PostgresRealtimePublisher
from strongroom.infrastructure.waking import LONGEST_PAUSE, WakingListener
from strongroom.transports.base import Transport

if TYPE_CHECKING:
    from supabase import AsyncClient

log = logging.getLogger("strongroom.realtime")

Names = tuple[str, ...]
Token = Callable[[], Awaitable[str]]

JOIN_SECONDS = 10
"""How long a join may take."""

TOKEN_SECONDS = 20.0
"""How often the token is asked for, to renew that of the channels."""


def topic_of(*names: str) -> str:
    """Return the private topic of Realtime, as the database spells it.

    Args:
        names: ``conversation``, tenant and conversation; ``tenant`` and tenant; ``principal``, tenant and
            principal; or ``topic``, tenant and topic (hosts).

    Example:
        >>> topic_of("conversation", "acme", "a:b")
        'strongroom:conversation:acme:a%3Ab'
    """
    return ":".join(
        ["strongroom", *(name.replace("%", "%25").replace(":", "%3A") for name in names)]
    )


class RealtimeListener(WakingListener[Names]):
    """One socket for all subscriptions of a store, made again when it is lost."""

    def __init__(self, url: str, key: str, token: Token) -> None:
        """Connect when the first subscription comes.

        Args:
            url: of Realtime, such as ``https://x.supabase.co/realtime/v1``.
            key: the project's key.
            token: returns the present token of whoever listens.
        """
        super().__init__()
        self._url = url
        self._key = key
        self._token = token
        self._joined: dict[Names, Any] = {}
        self._changed = asyncio.Event()
        self.joins = 0

    def _keys_changed(self) -> None:
        """Join or leave now, and not when the token is asked for next."""
        self._changed.set()

    async def _listen(self) -> None:
        pause = 0.05
        while True:
            client = AsyncRealtimeClient(
                self._url, self._key, auto_reconnect=False, timeout=JOIN_SECONDS
            )
            joins = self.joins
            try:
                await client.connect()
                await self._serve(client)
            except Exception as error:  # noqa: BLE001 (whatever it is, subscriptions poll meanwhile)
                log.warning("Realtime is lost, and polling goes on: %s", error)
            finally:
                self._joined.clear()
                self.has_heard = False
                with contextlib.suppress(Exception):
                    await client.close()
            self._wake_all()
            pause = 0.05 if self.joins > joins else min(2 * pause, LONGEST_PAUSE)
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311

    async def _serve(self, client: AsyncRealtimeClient) -> None:
        """Keep the channels joined for as long as the socket lives."""
        token = ""
        while client.is_connected:
            self._changed.clear()
            current = await self._token()
            if current != token:
                token = current
                await client.set_auth(token)
            for names in [*self._joined]:
                if names not in self._waiting:
                    await self._joined.pop(names).unsubscribe()
            for names in [*self._waiting]:
                if names not in self._joined:
                    await self._join(client, names)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TOKEN_SECONDS):
                    await self._changed.wait()

    async def _join(self, client: AsyncRealtimeClient, names: Names) -> None:
        channel = client.channel(
            topic_of(*names),
            {
                "config": {
                    "broadcast": {"ack": False, "self": False},
                    "presence": {"key": "", "enabled": False},
                    "private": True,
                }
            },
        )
        self._joined[names] = channel

        def hear(_: object) -> None:
            self.has_heard = True
            self._wake(names)

        def follow_state(state: RealtimeSubscribeStates, error: Exception | None) -> None:
            if state is RealtimeSubscribeStates.SUBSCRIBED:
                self.joins += 1
            else:
                self.has_heard = False
                if names in self._waiting and self._joined.get(names) is channel:
                    log.warning("Realtime: %s for %s: %s", state, topic_of(*names), error)
                if state is RealtimeSubscribeStates.CLOSED and self._joined.get(names) is channel:
                    # By the server, as when a token has expired: with the next token, anew.
                    del self._joined[names]
                self._changed.set()
            # Whatever was written while nobody listened is read now.
            self._wake(names)

        channel.on_broadcast("*", hear)
        await channel.subscribe(follow_state)


def listen_to(client: AsyncClient, token: Token) -> RealtimeListener:
    """Return what wakes the subscriptions of a store.

    Args:
        client: of the project.
        token: returns the present token of whoever listens.
    """
    url = f"{str(client.supabase_url).rstrip('/')}/realtime/v1"
    return RealtimeListener(url, client.supabase_key, token)


class SupabaseRealtimePublisher(PostgresRealtimePublisher):
    """See :class:`strongroom.ports.RealtimePublisher`: over the API, woken by Realtime."""

    def __init__(self, transport: Transport, hints: RealtimeListener | None = None) -> None:
        """Publish and read over the transport.

        Args:
            transport: for every call.
            hints: what wakes subscriptions; None polls.
        """
        super().__init__(transport)
        self._hints = hints
        self._listener = cast("Listener | None", hints)

    def _woken(self, key: tuple[str, str]) -> AbstractAsyncContextManager[asyncio.Event]:
        return (
            super()._woken(key)
            if self._hints is None
            else self._hints.subscription(("topic", *key))
        )
