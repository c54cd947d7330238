"""Pages of lists."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field, StringConstraints

from strongroom.models.base import Record

T = TypeVar("T")

Limit = Annotated[int, Field(strict=True, ge=1, le=500)]
"""Rows of a page: 1 to 500. Refused outside of that, never clamped."""

Direction = Literal["forward", "backward"]
"""forward: the list's own order; backward: its exact reverse."""

Cursor = Annotated[str, StringConstraints(strict=True)]
"""An opaque place in one list, with one filter, in one direction."""


class Page(Record, Generic[T]):
    """Some rows of a list, and how to go on.

    Attributes:
        items: the rows, in the list's order.
        next_cursor: give it as ``after`` to get the following page; None when nothing follows.
        previous_cursor: give it as ``before`` to get the page before; None at the beginning.
    """

    items: tuple[T, ...]
    next_cursor: str | None = None
    previous_cursor: str | None = None
