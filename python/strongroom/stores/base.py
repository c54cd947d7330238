"""What every store has: a transport, and one way to turn a call's rows into records."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, create_model

from strongroom.errors import NotFound
from strongroom.models.base import Record
from strongroom.models.pages import Page
from strongroom.stores.rows import rows_from
from strongroom.transports.base import Argument, Transport

R = TypeVar("R", bound=Record)


@lru_cache(maxsize=128)
def _rows_of(kind: type[R]) -> TypeAdapter[list[R]]:
    return TypeAdapter(list[kind])  # type: ignore[valid-type]


@lru_cache(maxsize=128)
def _page_rows_of(kind: type[R]) -> TypeAdapter[list[R]]:
    """Rows of a page function: the record's own columns, the row's cursor, whether more rows follow."""
    row = create_model(
        f"{kind.__name__}Row", __base__=kind, cursor=(str, ...), has_more=(bool, ...)
    )
    return TypeAdapter(list[row])  # type: ignore[valid-type]


class SqlStore:
    """A port on top of a transport: one public method is one call of one SQL function."""

    def __init__(self, transport: Transport) -> None:
        """Use this transport for every call."""
        self._transport = transport

    async def _rows(self, kind: type[R], function: str, /, **arguments: Argument) -> list[R]:
        text = await self._transport.call(function, arguments)
        return rows_from(_rows_of(kind), text, function, kind.model_fields)

    async def _one(self, kind: type[R], function: str, /, **arguments: Argument) -> R:
        return (await self._rows(kind, function, **arguments))[0]

    async def _find(self, kind: type[R], function: str, /, **arguments: Argument) -> R | None:
        rows = await self._rows(kind, function, **arguments)
        return rows[0] if rows else None

    async def _page(self, kind: type[R], function: str, /, **arguments: Argument) -> Page[R]:
        text = await self._transport.call(function, arguments)
        fields = {*kind.model_fields, "cursor", "has_more"}
        rows: list[Any] = rows_from(_page_rows_of(kind), text, function, fields)
        has_more = bool(rows) and rows[0].has_more
        cursors = [_strip(row, kind) for row in rows]
        if not rows:
            return Page[R].model_construct(items=(), next_cursor=None, previous_cursor=None)
        from_the_end = arguments.get("before") is not None or arguments.get("latest") is True
        if from_the_end:
            following = cursors[-1] if arguments.get("before") is not None else None
            preceding = cursors[0] if has_more else None
        else:
            following = cursors[-1] if has_more else None
            preceding = cursors[0] if arguments.get("after") is not None else None
        return Page[R].model_construct(
            items=tuple(rows), next_cursor=following, previous_cursor=preceding
        )


def _strip(row: Any, kind: type[Record]) -> str:
    """Turn a page's row into the plain record and return its cursor.

    The row was validated as a subclass with two more fields; taking them off in place costs a
    fraction of building the record again, and a record of a page equals the one that ``get`` returns.
    """
    values = row.__dict__
    cursor: str = values.pop("cursor")
    values.pop("has_more")
    row.__pydantic_fields_set__.difference_update(("cursor", "has_more"))
    object.__setattr__(row, "__class__", kind)
    return cursor


def existing(record: R | None, name: str, path: str) -> R:
    """Return the record.

    Raises:
        NotFound: SR010, when there is none.
    """
    if record is None:
        raise NotFound(
            f"the {name} does not exist",
            detail={"path": path, "record": name},
            hint="It may have been deleted, or this caller may not see it.",
        )
    return record
