"""Cursors and pages: keyset paging over rows that are all at hand.

A cursor is opaque text: a version, a checksum, the scope it is bound to, and the key of one row. The scope
is a hash of the list, its filter and its direction, so a cursor of another list is refused, not misread.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable
from typing import TypeVar

from strongroom.errors import InvalidArgument, InvalidCursor
from strongroom.models.base import JsonValue, Record
from strongroom.models.pages import Direction, Page

R = TypeVar("R", bound=Record)
Key = list[int | str]

_VERSION = "1"


def cursor_scope(name: str, filters: list[JsonValue], direction: Direction) -> str:
    """Return what the cursors of a list, filtered and in a direction, are bound to."""
    return _hash(json.dumps([name, filters, direction]))[:12]


def encode_cursor(scope: str, key: Key) -> str:
    """Return the cursor of the row with this key."""
    payload = scope + json.dumps(key)
    return _armoured(_hash(payload)[:8] + payload)


def decode_cursor(path: str, cursor: str | None, scope: str) -> Key | None:
    """Return the key in a cursor; None without one.

    Raises:
        InvalidCursor: SR002, it is damaged, or belongs to another list, filter or direction.
    """
    if cursor is None:
        return None
    problem = "is damaged"
    try:
        text = base64.urlsafe_b64decode(cursor[1:] + "===").decode()
    except ValueError:
        text = ""
    if cursor == _armoured(text) and _hash(text[8:])[:8] == text[:8]:
        if text[8:20] == scope:
            key: Key = json.loads(text[20:])
            return key
        problem = "belongs to another list, filter or direction"
    raise InvalidCursor(
        f"{path} {problem}",
        detail={"path": path},
        hint="Use a cursor of the same list with the same filter and direction, or start without one.",
    )


def _armoured(text: str) -> str:
    return _VERSION + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check_page(after: str | None, before: str | None) -> None:
    """Refuse two cursors at once."""
    if after is not None and before is not None:
        raise InvalidArgument(
            "after and before exclude each other",
            detail={"path": "before"},
            hint="Page on with `after`, or back with `before`.",
        )


def page_of(
    rows: Iterable[R],
    *,
    key: Callable[[R], Key],
    descending: bool,
    scope: str,
    limit: int,
    after: str | None = None,
    before: str | None = None,
    latest: bool = False,
) -> Page[R]:
    """Return one page.

    Args:
        rows: all rows of the list, in any order.
        key: what they are ordered by; no two rows have the same.
        descending: the order in which they are shown.
        scope: what cursors are bound to.
        limit: rows, 1..500.
        after: only rows that are shown after this cursor's; the first of them.
        before: only rows that are shown before this cursor's; the last of them.
        latest: the last rows of all.
    """
    after_key = decode_cursor("after", after, scope)
    before_key = decode_cursor("before", before, scope)

    def is_shown_first(one: Key, other: Key) -> bool:
        return one > other if descending else one < other

    shown = [
        row
        for row in sorted(rows, key=key, reverse=descending)
        if (after_key is None or is_shown_first(after_key, key(row)))
        and (before_key is None or is_shown_first(key(row), before_key))
    ]
    from_the_end = before is not None or latest
    items = shown[-limit:] if from_the_end else shown[:limit]
    if not items:
        return Page[R].model_construct(items=(), next_cursor=None, previous_cursor=None)
    has_more = len(shown) > limit
    follows = before is not None if from_the_end else has_more
    precedes = has_more if from_the_end else after is not None
    return Page[R].model_construct(
        items=tuple(items),
        next_cursor=encode_cursor(scope, key(items[-1])) if follows else None,
        previous_cursor=encode_cursor(scope, key(items[0])) if precedes else None,
    )
