"""The HTTP client of a store over Supabase's API."""

from __future__ import annotations

import httpx


def http_client(timeout: float) -> httpx.AsyncClient:
    """Return a client that is not open yet.

    Args:
        timeout: seconds that each step of a request may take; a call's own limit is looked at beside it.
    """
    return httpx.AsyncClient(timeout=timeout, http2=True, follow_redirects=True)
