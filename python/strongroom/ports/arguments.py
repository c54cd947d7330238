"""Checking the arguments of port methods, the same way in every adapter."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from pydantic import ConfigDict, ValidationError, validate_call

from strongroom.errors import TenantMismatch
from strongroom.models.context import ExecutionContext, Viewer
from strongroom.models.validation import argument_error

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


def port_method(
    method: Callable[Concatenate[S, P], Awaitable[R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Check a method's keyword arguments against its annotations before it runs.

    A wrong one raises InvalidArgument or LimitExceeded, naming the method and the argument, before
    anything is sent or written.
    """
    checked = validate_call(config=ConfigDict(arbitrary_types_allowed=True))(method)

    @functools.wraps(method)
    async def call(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await checked(self, *args, **kwargs)
        except ValidationError as error:
            if error.title != method.__qualname__:
                raise  # not about the arguments: the database answered what no model knows
            raise argument_error(error, method.__qualname__.partition(".")[2]) from error

    return cast("Callable[Concatenate[S, P], Coroutine[Any, Any, R]]", call)


def viewer_id(tenant_id: str, viewer: Viewer | None) -> str | None:
    """Return the principal that a read is filtered by, None for all.

    Raises:
        TenantMismatch: the viewer is an execution context of another tenant.
    """
    if viewer is None:
        return None
    if isinstance(viewer, ExecutionContext) and viewer.tenant_id != tenant_id:
        raise TenantMismatch(
            "viewer.tenant_id is not the tenant of the call",
            detail={"path": "viewer.tenant_id"},
            hint="Build the execution context for the tenant that you call with.",
        )
    return viewer.principal_id


def viewer_role_ids(viewer: Viewer | None) -> list[Any] | None:
    """Return the roles that a read with a viewer is filtered by; None without a viewer."""
    return None if viewer is None else [*viewer.role_ids]
