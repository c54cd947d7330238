"""Who calls over Supabase's API: a token, or what gives the present one."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

AccessToken = str | Callable[[], str | Awaitable[str]]
"""A user's token, or a function that returns the present one and is asked before every call."""


async def present(given: AccessToken | None) -> str | None:
    """Return the present token; None where none is given.

    Args:
        given: what the store was opened with.
    """
    if given is None or isinstance(given, str):
        return given
    token = given()
    return await token if inspect.isawaitable(token) else token
