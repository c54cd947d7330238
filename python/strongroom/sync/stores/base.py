# Written by scripts/generate_sync.py from strongroom/stores/base.py: change that, and run `make generate`.
"""What every store has: a transport, and one way to turn a call's rows into records."""

from __future__ import annotations

from typing import Any

from strongroom.models.pages import Page
from strongroom.stores.base import R, _page_rows_of, _rows_of, _strip
from strongroom.stores.rows import rows_from
from strongroom.sync.transports.base import Transport
from strongroom.transports.base import Argument


class SqlStore:
    """A port on top of a transport: one public method is one call of one SQL function."""

    def __init__(self, transport: Transport) -> None:
        """Use this transport for every call."""
        self._transport = transport

    def _rows(self, kind: type[R], function: str, /, **arguments: Argument) -> list[R]:
        text = self._transport.call(function, arguments)
        return rows_from(_rows_of(kind), text, function, kind.model_fields)

    def _one(self, kind: type[R], function: str, /, **arguments: Argument) -> R:
        return (self._rows(kind, function, **arguments))[0]

    def _find(self, kind: type[R], function: str, /, **arguments: Argument) -> R | None:
        rows = self._rows(kind, function, **arguments)
        return rows[0] if rows else None

    def _page(self, kind: type[R], function: str, /, **arguments: Argument) -> Page[R]:
        text = self._transport.call(function, arguments)
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
