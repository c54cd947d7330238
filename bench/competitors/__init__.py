"""The contestants behind one plain interface: open, append, page, close."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from bench.server import Server

MESSAGE_TEXT = ("The parcel left the depot at noon and was scanned twice on its way. " * 16)[:1000]
"""The text of every message: with its envelope about 1 KB."""


class MissingPeer(Exception):
    """A contestant whose packages are not installed; it is named and left out."""


class Competitor(Protocol):
    """What the lines of the benchmark ask of a contestant. Conversations are plain numbers."""

    name: str

    async def open(self, server: Server) -> None:
        """Make its database and tables, load the history it needs, and connect."""
        ...

    def append(self, conversation: int, count: int) -> Awaitable[object]:
        """Store that many messages of 1 KB at the end of a conversation, durably."""
        ...

    def page(self, conversation: int, limit: int) -> Awaitable[object]:
        """Read the last messages of a conversation as the objects its users get."""
        ...

    async def close(self) -> None: ...
