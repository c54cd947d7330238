"""Who calls over Supabase's API, in a program that cannot await an answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from strongroom.errors import InvalidArgument

AccessToken = str | Callable[[], str]
"""A user's token, or a function that returns the present one and is asked before every call."""


def present(given: AccessToken | None) -> str | None:
    """Return the present token; None where none is given.

    Raises:
        InvalidArgument: SR001, the function is asynchronous.
    """
    if given is None or isinstance(given, str):
        return given
    token = given()
    if inspect.isawaitable(token):
        if inspect.iscoroutine(token):
            token.close()
        raise InvalidArgument(
            "access_token is an asynchronous function",
            detail={"path": "access_token"},
            hint="Give strongroom.sync.connect_supabase a plain function, or use"
            " strongroom.connect_supabase.",
        )
    return token
