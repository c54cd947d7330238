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
    "25P03": Unavailable,
    "25P04": Unavailable,
    "25006": Unavailable,
    "26000": Unavailable,
    "42P05": Unavailable,
    "42501": PermissionDenied,
    "3F000": SchemaVersionError,
    "42883": SchemaVersionError,
    "42P01": SchemaVersionError,
    "42703": SchemaVersionError,
    "42704": SchemaVersionError,
    "54000": LimitExceeded,
    "54001": LimitExceeded,
}

RETRIED = frozenset({"40001", "40P01", "SR050", "57P01", "57P02", "57P03", "57P05", "53300"})
"""Serialization failure, deadlock, lost race for an id, server going down or coming up, a session ended
while it was idle, too many connections."""

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

_POOLER = "Behind PgBouncer or Supavisor in transaction mode connect with pooler='transaction'."
_HINTS_OF_STATES = {
    "26000": _POOLER,
    "42P05": _POOLER,
    "25006": "Connect to the primary (target_session_attrs=read-write finds it among several hosts), and"
    " see that default_transaction_read_only is off for this role.",
    "25P03": "The server ended a transaction that waited too long, and nothing of it was saved: repeat"
    " it, and wait for models and people outside of units of work.",
    "25P04": "The server ended a transaction that took too long, and nothing of it was saved: repeat it"
    " in smaller parts, or raise transaction_timeout for this role.",
    "57014": "A statement_timeout of this role, or somebody, ended the call, and nothing of it was saved."
    " It may be repeated.",
}


def is_worth_repeating(sqlstate: str) -> bool:
    """Tell whether the same call may well succeed at once; class 08 is a connection that was lost.

    Args:
        sqlstate: what the database, or a pooler before it, said.
    """
    return sqlstate in RETRIED or sqlstate.startswith("08")


def one_line(message: str) -> str:
    """Return a report of libpq on one line.

    Args:
        message: it may have several, and be indented.
    """
    return "; ".join(line.strip() for line in message.splitlines() if line.strip())


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
    return kind(
        message, detail=fields, hint=hint or _HINTS_OF_STATES.get(state) or _HINTS.get(kind)
    )


def _fields(detail: str | None) -> dict[str, Any]:
    try:
        fields = json.loads(detail or "{}")
    except ValueError:
        return {"database_detail": detail}
    return fields if isinstance(fields, dict) else {"value": fields}
