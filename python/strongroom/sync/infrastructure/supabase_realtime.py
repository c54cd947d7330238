"""Realtime's client is asynchronous: blocking subscriptions over Supabase's API poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from strongroom.sync.infrastructure.hints import Hints
from strongroom.sync.infrastructure.postgres_realtime import PostgresRealtimePublisher
from strongroom.sync.transports.base import Transport

if TYPE_CHECKING:
    from supabase import Client

RealtimeListener = Hints
"""What would wake them."""


def listen_to(client: Client, token: Callable[[], str]) -> RealtimeListener | None:  # noqa: ARG001
    """Return None: subscriptions poll."""
    return None


class SupabaseRealtimePublisher(PostgresRealtimePublisher):
    """See :class:`strongroom.sync.ports.realtime.RealtimePublisher`: over the API, once a second."""

    def __init__(self, transport: Transport, hints: Hints | None = None) -> None:  # noqa: ARG002
        """Publish and read over the transport."""
        super().__init__(transport)
