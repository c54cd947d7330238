"""What PostgREST, or a gateway before it, answers: rows, or one of our errors, whatever the body is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx

from strongroom.errors import (
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
    SchemaVersionError,
    StrongroomError,
    Unavailable,
)
from strongroom.transports.database_errors import database_error, is_worth_repeating

SQLSTATE_LENGTH = 5

_NO_DATABASE = {"PGRST000", "PGRST001", "PGRST002", "PGRST003"}
"""PostgREST has no connection to the database, or no schema cache yet."""

_BAD_TOKEN = {"PGRST300", "PGRST301", "PGRST302", "PGRST303"}

_TOO_LATE = frozenset({408, 425, 429})
_SERVER_ERRORS = 500
_UNKNOWN = 401
_REPEAT = "The call may be repeated: every write is idempotent or versioned."
_EXPOSE = (
    "Expose it: on hosted Supabase under Project Settings > API > Exposed schemas; locally"
    " `schemas` of [api] in supabase/config.toml."
)
_URL = "Give the project's own URL, such as https://abcdefgh.supabase.co, with https and without a path."
_KEY = "Look whether key and access token are of this project, and whole."
_OF_STATUS: dict[int, tuple[type[StrongroomError], str]] = {
    _UNKNOWN: (PermissionDenied, _KEY),
    403: (PermissionDenied, _KEY),
    404: (InvalidArgument, _URL),
    407: (PermissionDenied, "A proxy on the way wants to be signed in to."),
    413: (
        LimitExceeded,
        "Send less in one call: fewer messages or records at once; large bytes as files.",
    ),
}


@dataclass
class Refusal(Exception):
    """An answer that is not the rows of a call.

    Attributes:
        status: of HTTP.
        message: what was said, of a page in HTML only the status.
        code: of PostgREST or the database; empty when a gateway answered.
        detail: what PostgREST says beside it.
        hint: what it suggests.
        is_garbled: whether it says to be a success, and is not JSON rows.
        location: where a redirection leads.
    """

    status: int
    message: str
    code: str = ""
    detail: str | None = None
    hint: str | None = None
    is_garbled: bool = False
    location: str = ""

    def is_of_the_token(self) -> bool:
        """Tell whether another token may help."""
        return self.code in _BAD_TOKEN or (not self.code and self.status == _UNKNOWN)

    def is_worth_repeating(self) -> bool:
        """Tell whether the same call may well succeed at once."""
        if self.code:
            return is_worth_repeating(self.code) or self.code in _NO_DATABASE
        return self.is_garbled or self.status in _TOO_LATE or self.status >= _SERVER_ERRORS

    def error(self) -> StrongroomError:
        """Return our error for it."""
        return self._of_a_gateway() if not self.code else self._of_the_api()

    def _of_the_api(self) -> StrongroomError:
        told: dict[str, Any] = {"api_code": self.code}
        if self.code in _BAD_TOKEN:
            return PermissionDenied(
                f"the API refused the token: {self.message}",
                detail=told,
                hint="Sign in again, or give access_token as a function that returns a fresh token.",
            )
        if self.code == "PGRST106":
            return SchemaVersionError(
                "schema strongroom is not exposed by the API", detail=told, hint=_EXPOSE
            )
        if self.code in ("PGRST202", "PGRST203"):
            return SchemaVersionError(
                self.message,
                detail=told,
                hint="Push the migrations of this package's version (`supabase db push`); they tell the"
                " API to reload its schema cache.",
            )
        if self.code in _NO_DATABASE:
            return Unavailable(
                f"the API could not answer: {self.message}", detail=told, hint=_REPEAT
            )
        if self.code.startswith("PGRST") or len(self.code) != SQLSTATE_LENGTH:
            return StrongroomError(
                f"the API refused the call: {self.message}",
                detail={**told, "api_detail": self.detail},
                hint=self.hint,
            )
        return database_error(self.code, self.message, self.detail, self.hint)

    def _of_a_gateway(self) -> StrongroomError:
        told: dict[str, Any] = {"status": self.status}
        if self.is_garbled:
            return Unavailable(
                f"the API's answer is no JSON rows: {self.message}", detail=told, hint=_URL
            )
        if self.location:
            return InvalidArgument(
                f"the API's address leads elsewhere, to {self.location}",
                detail={**told, "path": "project_url"},
                hint=_URL,
            )
        if self.is_worth_repeating():
            return Unavailable(
                f"the API could not answer, status {self.status}: {self.message}",
                detail=told,
                hint=self.hint or _REPEAT,
            )
        kind, hint = _OF_STATUS.get(self.status, (StrongroomError, None))
        return kind(
            f"the API refused the call with status {self.status}: {self.message}",
            detail=told,
            hint=self.hint or hint,
        )


def rows_of(function: str, answer: httpx.Response) -> list[Any]:
    """Return the rows of a call.

    Args:
        function: the name of the SQL function.
        answer: what came, asked for with an exact count.

    Raises:
        Refusal: it is none.
        LimitExceeded: SR004, the API has cut the rows.
    """
    if not answer.is_success:
        raise _refusal(answer)
    try:
        rows = json.loads(answer.content)
    except ValueError:
        rows = None
    if not isinstance(rows, list):
        kind = answer.headers.get("content-type", "nothing")
        message = f"{len(answer.content)} bytes of {kind}"
        raise Refusal(answer.status_code, message, is_garbled=True)
    count = answer.headers.get("content-range", "").rpartition("/")[2]
    if count.isdecimal() and int(count) > len(rows):
        # The API cuts what is longer than its max-rows, and says so only in a count. A write may
        # have happened; it can be repeated.
        raise LimitExceeded(
            f"the API returned {len(rows)} of {count} rows of {function}",
            detail={"function": function, "returned": len(rows), "rows": int(count)},
            hint="Raise max-rows of the API (at least 1,000) under Project Settings > API, or ask"
            " for smaller pages.",
        )
    return rows


def _refusal(answer: httpx.Response) -> Refusal:
    try:
        said = json.loads(answer.content)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        said = {}
    code, message, detail, hint = (
        said.get(name) for name in ("code", "message", "details", "hint")
    )
    address = answer.url.join(answer.headers["location"]) if answer.has_redirect_location else None
    return Refusal(
        answer.status_code,
        str(message or said.get("msg") or answer.reason_phrase or "no reason is given"),
        # Gateways repeat the status, or have codes of their own, where PostgREST has its.
        code if isinstance(code, str) and _is_ours(code) else "",
        detail if detail is None or isinstance(detail, str) else json.dumps(detail),
        str(hint) if hint else None,
        location=str(address.copy_with(query=None, userinfo=b"")) if address else "",
    )


def _is_ours(code: str) -> bool:
    return code.startswith("PGRST") or (len(code) == SQLSTATE_LENGTH and code.isalnum())
