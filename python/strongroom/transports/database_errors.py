"""The one map from the database's errors to ours: SQLSTATE in, class out. Never by message text."""

from __future__ import annotations

import json
from typing import Any

from strongroom.errors import (
    BY_CODE,
    AlreadyExists,
    InvalidArgument,
    InvalidText,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    SchemaVersionError,
    StrongroomError,
    Unavailable,
)

_STATES: dict[str, type[StrongroomError]] = {
    "21000": InvalidArgument,
    "22001": LimitExceeded,
    "22003": LimitExceeded,
    "22P02": InvalidArgument,
    "22P05": InvalidText,
    "22021": InvalidText,
    "23503": NotFound,
    "23505": AlreadyExists,
    "23514": InvalidArgument,
    "23502": InvalidArgument,
    "25P02": InvalidTransition,
    "25006": Unavailable,
    "42501": PermissionDenied,
    "3F000": SchemaVersionError,
    "42883": SchemaVersionError,
    "42P01": SchemaVersionError,
    "42703": SchemaVersionError,
    "42704": SchemaVersionError,
    "54000": LimitExceeded,
    "54001": LimitExceeded,
}

_CLASSES: dict[str, type[StrongroomError]] = {
    "08": Unavailable,
    "40": Unavailable,
    "53": Unavailable,
    "55": Unavailable,
    "57": Unavailable,
    "58": Unavailable,
    "22": InvalidArgument,
    "23": InvalidArgument,
}

_HINTS: dict[type[StrongroomError], str] = {
    SchemaVersionError: "Run `strongroom migrate apply`, or connect with schema_mode='auto'.",
    InvalidTransition: "The unit of work has failed already: leave its block, and begin a new one.",
    PermissionDenied: "Connect as a member of strongroom_host; see `strongroom doctor`.",
    Unavailable: "The call may be repeated: every write is idempotent or versioned.",
}


def database_error(
    sqlstate: str | None, message: str, detail: str | None = None, hint: str | None = None
) -> StrongroomError:
    """Return our error for what a database said.

    Args:
        sqlstate: five characters, or None when there was no answer at all.
        message: the primary message.
        detail: for our own codes JSON, else text.
        hint: what the database suggests.
    """
    kind = Unavailable if sqlstate is None else BY_CODE.get(sqlstate)
    if kind is not None and sqlstate is not None:
        return kind(message, detail=_fields(detail), hint=hint)
    state = sqlstate or ""
    kind = kind or _STATES.get(state) or _CLASSES.get(state[:2]) or StrongroomError
    fields: dict[str, Any] = {"sqlstate": sqlstate} if sqlstate else {}
    if detail:
        fields["database_detail"] = detail
    return kind(message, detail=fields, hint=hint or _HINTS.get(kind))


def _fields(detail: str | None) -> dict[str, Any]:
    try:
        fields = json.loads(detail or "{}")
    except ValueError:
        return {"database_detail": detail}
    return fields if isinstance(fields, dict) else {"value": fields}
