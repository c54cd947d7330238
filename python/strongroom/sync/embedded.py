"""The embedded server, started by a thread that waits."""

from __future__ import annotations

from strongroom import embedded


class EmbeddedServer:
    """Starts the server as ``strongroom.embedded.EmbeddedServer`` does."""

    @staticmethod
    def start_async(url: str, *, timeout: float = 60.0) -> embedded.EmbeddedServer:
        """Start it, or join the one that runs; a context manager."""
        return embedded.EmbeddedServer.start(url, timeout=timeout)
