# Written by scripts/generate_sync.py from strongroom/transports/base.py: change that, and run `make generate`.
"""What a store needs from a connection to the database: call one SQL function, get rows as JSON text."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from strongroom.models.health import TextPolicy
from strongroom.transports.base import Arguments


class Transport(Protocol):
    """One way to the functions of the database: psycopg, or PostgREST's rpc."""

    text_policy: TextPolicy

    def call(self, function: str, arguments: Arguments) -> str:
        """Call ``strongroom.<function>``; return its rows as the text of one JSON array.

        Raises:
            StrongroomError: whatever goes wrong, as one of our errors.
        """
        ...

    def call_for_bytes(self, function: str, arguments: Arguments) -> tuple[str, list[bytes | None]]:
        """Call a function whose one row is a JSON document, and a list of bytes beside it.

        Raises:
            StrongroomError: whatever goes wrong, as one of our errors.
        """
        ...

    def unit_of_work(self, tenant_id: str) -> AbstractContextManager[Transport]:
        """Begin a transaction that every call of the yielded transport joins."""
        ...
