"""Blocking subscriptions do not listen: they look into the table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import psycopg

from strongroom import blocking

Connection = psycopg.Connection[Any]
ConnectToListen = Callable[[], AbstractContextManager[Connection]]


class Listener:
    """A listener that there never is: ``listening_connection`` gives it nothing to listen on."""

    has_heard = False

    def __init__(self, connect: ConnectToListen) -> None:
        """Refuse: a thread of its own would be needed."""
        raise NotImplementedError(f"blocking subscriptions poll, and do not listen on {connect}")

    def doubt(self) -> None:
        """Nothing is believed."""

    def subscription(self, key: tuple[str, str]) -> AbstractContextManager[blocking.Event]:
        """There is none."""
        raise NotImplementedError(key)


def listening_connection(url: str) -> ConnectToListen | None:  # noqa: ARG001 (as where one listens)
    """Return None: subscriptions poll."""
    return None
