"""The HTTP client of a blocking store: a request that waits gets no more time than its call has left."""

from __future__ import annotations

import httpx

from strongroom import blocking


def http_client(timeout: float) -> httpx.Client:
    """Return a client that is not open yet; each thread that calls has a connection of its own.

    Args:
        timeout: seconds that each step of a request may take, and less when its call has less left.
    """

    def limit(request: httpx.Request) -> None:
        left = blocking.left()
        if left is not None:
            if left <= 0:
                raise TimeoutError
            steps = ("connect", "read", "write", "pool")
            request.extensions["timeout"] = dict.fromkeys(steps, min(timeout, left))

    return httpx.Client(timeout=timeout, follow_redirects=True, event_hooks={"request": [limit]})
