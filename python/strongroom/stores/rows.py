"""Rows of the database as records, also of one that is newer than this package."""

from __future__ import annotations

import datetime as dt
import json
import re
import warnings
from collections.abc import Collection
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from strongroom.errors import SchemaVersionError

R = TypeVar("R")


def rows_from(
    adapter: TypeAdapter[list[R]], text: str, function: str, fields: Collection[str] = ()
) -> list[R]:
    """Return the rows of a call as records.

    A column that this package does not know comes from a newer schema: it is left out, with a warning, so
    that a process goes on while others are upgraded.

    Args:
        adapter: of the list of them.
        text: the rows as JSON.
        function: what was called.
        fields: the columns that the records have.

    Raises:
        SchemaVersionError: SR041, the rows are of another form.
    """
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        known, unknown = _known(json.loads(text), fields)
        if not _mend_moments(known, error) and not unknown:
            raise _another_form(function, error) from None
    if unknown:
        warnings.warn(
            f"{function} has columns that this package does not know ({', '.join(unknown)}): the schema"
            " is newer, upgrade the package",
            RuntimeWarning,
            stacklevel=2,
        )
    try:
        return adapter.validate_json(json.dumps(known))
    except ValidationError as error:
        raise _another_form(function, error) from None


_WITH_SECONDS = re.compile(r"(.+)([+-])(\d\d):(\d\d):(\d\d)")


def _mend_moments(rows: Any, error: ValidationError) -> bool:
    """Write moments anew that a session's time zone spells with an offset in seconds, as before 1900.

    Only what was to be a moment is touched, never a text that looks like one.
    """
    mended = False
    for fault in error.errors(include_url=False, include_context=False):
        spelt = fault["input"]
        found = _WITH_SECONDS.fullmatch(spelt) if isinstance(spelt, str) else None
        if found is None or not fault["type"].startswith("datetime"):
            continue
        local, sign, hours, minutes, seconds = found.groups()
        offset = dt.timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
        zone = dt.timezone(offset if sign == "+" else -offset)
        try:
            moment = dt.datetime.fromisoformat(local).replace(tzinfo=zone).astimezone(dt.UTC)
            place = rows
            for step in fault["loc"][:-1]:
                place = place[step]
            place[fault["loc"][-1]] = moment.isoformat()
        except (ValueError, OverflowError, KeyError, IndexError, TypeError):
            continue
        mended = True
    return mended


def _another_form(function: str, error: ValidationError) -> SchemaVersionError:
    """Say where and what, and nothing of what the rows hold."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return SchemaVersionError(
        f"the database answers {function} in a form that this package does not read",
        detail={
            "function": function,
            "where": ".".join(str(step) for step in first["loc"]),
            "reason": first["msg"],
        },
        hint="Schema and package are of different versions: see `strongroom migrate status`.",
    )


def _known(rows: Any, fields: Collection[str]) -> tuple[Any, list[str]]:
    if not fields or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return rows, []
    unknown = sorted({name for row in rows for name in row} - {*fields})
    return [{name: row[name] for name in row if name in fields} for row in rows], unknown
