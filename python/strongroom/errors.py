"""The one error tree. GENERATED from sql/errors.toml by scripts/generate_errors.py: do not edit.

    StrongroomError
      InvalidArgument  (SR001)
        InvalidCursor  (SR002)
        InvalidText  (SR003)
        LimitExceeded  (SR004)
      NotFound  (SR010)
      AlreadyExists  (SR011)
      VersionConflict  (SR012)
      PermissionDenied  (SR020)
      TenantMismatch  (SR021)
      InvalidTransition  (SR030)
      StaleClaim  (SR031)
      MissingCapability  (SR040)
      SchemaVersionError  (SR041)
      Unavailable  (SR050)

Every failure of every adapter is one of these, with the same code over psycopg and over PostgREST.
Decide by class or by ``code``; the message is for people and may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class StrongroomError(Exception):
    """The root of every error that strongroom raises.

    Attributes:
        code: the SQLSTATE of class ``SR`` (or the SQLSTATE of an unforeseen database error).
        message: what went wrong, and where, for a person.
        detail: machine-readable fields, such as ``{"path": "messages[3].parts[0].text"}``.
        hint: what to do next.
        retryable: True when the same call may succeed if it is made again unchanged.
    """

    code: ClassVar[str] = "SR000"
    name: ClassVar[str] = "error"
    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        detail: Mapping[str, Any] | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        """Keep the parts apart, so that callers need not parse the message."""
        super().__init__(message)
        self.message = message
        self.detail: dict[str, Any] = dict(detail or {})
        self.hint = hint
        self.retryable = self.default_retryable if retryable is None else retryable

    def __str__(self) -> str:
        """Return the message, followed by the hint where there is one."""
        return f"{self.message} [{self.code}]" + (f" Hint: {self.hint}" if self.hint else "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the error travel between processes with all its fields."""
        return (_rebuild, (type(self), self.message, self.detail, self.hint, self.retryable))


def _rebuild(
    kind: type[StrongroomError],
    message: str,
    detail: dict[str, Any],
    hint: str | None,
    retryable: bool,
) -> StrongroomError:
    return kind(message, detail=detail, hint=hint, retryable=retryable)


class InvalidArgument(StrongroomError):
    """An argument has the wrong type or shape. Nothing was written."""

    code = "SR001"
    name = "invalid_argument"
    default_retryable = False


class InvalidCursor(InvalidArgument):
    """A cursor is damaged, or belongs to another list, filter or direction."""

    code = "SR002"
    name = "invalid_cursor"
    default_retryable = False


class InvalidText(InvalidArgument):
    """A text holds a character that PostgreSQL cannot store: U+0000 or half of a surrogate pair."""

    code = "SR003"
    name = "invalid_text"
    default_retryable = False


class LimitExceeded(InvalidArgument):
    """A value is larger than its documented limit. Nothing was cut and nothing was written."""

    code = "SR004"
    name = "limit_exceeded"
    default_retryable = False


class NotFound(StrongroomError):
    """The record does not exist, is deleted, or may not be read by this caller."""

    code = "SR010"
    name = "not_found"
    default_retryable = False


class AlreadyExists(StrongroomError):
    """Another record holds this id or unique name, with other content."""

    code = "SR011"
    name = "already_exists"
    default_retryable = False


class VersionConflict(StrongroomError):
    """The record has changed since the version that the caller read."""

    code = "SR012"
    name = "version_conflict"
    default_retryable = False


class PermissionDenied(StrongroomError):
    """This caller may not do this."""

    code = "SR020"
    name = "permission_denied"
    default_retryable = False


class TenantMismatch(StrongroomError):
    """The tenant of the call is not the tenant of the caller's claims or unit of work."""

    code = "SR021"
    name = "tenant_mismatch"
    default_retryable = False


class InvalidTransition(StrongroomError):
    """The record's state does not allow this step."""

    code = "SR030"
    name = "invalid_transition"
    default_retryable = False


class StaleClaim(StrongroomError):
    """The claim token is no longer the record's newest one: somebody else has taken over."""

    code = "SR031"
    name = "stale_claim"
    default_retryable = False


class MissingCapability(StrongroomError):
    """This adapter or server lacks a capability that the call or an enabled feature needs."""

    code = "SR040"
    name = "missing_capability"
    default_retryable = False


class SchemaVersionError(StrongroomError):
    """The database's strongroom schema is missing, older or newer than this package, or changed by hand."""

    code = "SR041"
    name = "schema_version"
    default_retryable = False


class Unavailable(StrongroomError):
    """The database cannot be reached, or did not answer in time. The call may be repeated."""

    code = "SR050"
    name = "unavailable"
    default_retryable = True


BY_CODE: dict[str, type[StrongroomError]] = {
    "SR001": InvalidArgument,
    "SR002": InvalidCursor,
    "SR003": InvalidText,
    "SR004": LimitExceeded,
    "SR010": NotFound,
    "SR011": AlreadyExists,
    "SR012": VersionConflict,
    "SR020": PermissionDenied,
    "SR021": TenantMismatch,
    "SR030": InvalidTransition,
    "SR031": StaleClaim,
    "SR040": MissingCapability,
    "SR041": SchemaVersionError,
    "SR050": Unavailable,
}
"""SQLSTATE -> class. One map serves psycopg's ``sqlstate`` and PostgREST's ``code``."""
