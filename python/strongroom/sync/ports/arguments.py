# Written by scripts/generate_sync.py from strongroom/ports/arguments.py: change that, and run `make generate`.
"""Checking the arguments of port methods, the same way in every adapter."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, cast

from pydantic import ConfigDict, ValidationError, validate_call

from strongroom.models.validation import argument_error
from strongroom.ports.arguments import P, R, S


def port_method(
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[S, P], R]:
    """Check a method's keyword arguments against its annotations before it runs.

    A wrong one raises InvalidArgument or LimitExceeded, naming the method and the argument, before
    anything is sent or written.
    """
    checked = validate_call(config=ConfigDict(arbitrary_types_allowed=True))(method)

    @functools.wraps(method)
    def call(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return checked(self, *args, **kwargs)
        except ValidationError as error:
            if error.title != method.__qualname__:
                raise  # not about the arguments: the database answered what no model knows
            raise argument_error(error, method.__qualname__.partition(".")[2]) from error

    return cast("Callable[Concatenate[S, P], R]", call)
