"""Content of artifacts and tool outputs, measured and hashed as the database does."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from strongroom.errors import InvalidArgument, LimitExceeded
from strongroom.in_memory.blob_removals import keep_blob
from strongroom.in_memory.database import Tables
from strongroom.in_memory.run_steps import claimed_run, living_run
from strongroom.models.base import JsonValue

_MEDIA_TYPES = {"text": "text/plain", "json": "application/json"}
_PATHS = {"text": "text", "json": "value", "bytes": "data"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One content: what was given, and what is known of it."""

    kind: Literal["text", "json", "bytes", "blob"]
    size_bytes: int
    sha256: str
    media_type: str
    characters: int | None = None
    text: str | None = None
    value: JsonValue = None
    data_base64: str | None = None
    blob_key: str | None = None


def checked_content(
    *,
    limit: int,
    text: str | None = None,
    value: JsonValue = None,
    data_base64: str | None = None,
    blob_key: str | None = None,
    sha256: str | None = None,
    size_bytes: int | None = None,
    media_type: str | None = None,
) -> Content:
    """Measure the one content that was given.

    Raises:
        InvalidArgument: SR001, none or several, or not the digest that was given.
        LimitExceeded: SR004, more bytes than the limit.
    """
    if sum(given is not None for given in (text, value, data_base64, blob_key)) != 1:
        raise InvalidArgument(
            "exactly one kind of content is required",
            detail={"path": "text"},
            hint="Give a text, a JSON value, bytes, or the key of a blob.",
        )
    if blob_key is not None:
        return Content(
            kind="blob",
            size_bytes=size_bytes or 0,
            sha256=sha256 or "",
            media_type=media_type or "application/octet-stream",
            blob_key=blob_key,
        )
    if data_base64 is not None:
        kind: Literal["text", "json", "bytes"] = "bytes"
        body, stored = None, base64.b64decode(data_base64)
    else:
        kind = "json" if text is None else "text"
        body = jsonb_text(value) if text is None else text
        stored = body.encode()
    _check_size(kind, len(stored), limit)
    digest = hashlib.sha256(stored).hexdigest()
    if sha256 not in {None, digest}:
        raise InvalidArgument(
            "sha256 is not that of the content",
            detail={"path": "sha256", "actual": sha256},
            hint="The content was changed on its way, or it is other content.",
        )
    return Content(
        kind=kind,
        size_bytes=len(stored),
        sha256=digest,
        media_type=media_type or _MEDIA_TYPES.get(kind, "application/octet-stream"),
        characters=None if body is None else len(body),
        text=text,
        value=value,
        data_base64=data_base64,
    )


def _check_size(kind: str, size: int, limit: int) -> None:
    if size > limit:
        raise LimitExceeded(
            f"the content has {size} bytes; at most {limit} are allowed inline",
            detail={"path": _PATHS[kind], "limit": limit, "actual": size},
            hint="Put it into the blob store, and give its key, size and SHA-256.",
        )


def jsonb_text(value: JsonValue) -> str:
    """Return the value as PostgreSQL writes jsonb: shorter keys first, numbers without exponents."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{_quoted(key)}: {jsonb_text(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(jsonb_text(item) for item in value) + "]"
    if isinstance(value, float):
        # The database has no negative zero.
        return format(abs(Decimal(repr(value))) if value == 0 else Decimal(repr(value)), "f")
    return json.dumps(value) if not isinstance(value, str) else _quoted(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def keep_content(tables: Tables, content: Content) -> None:
    """Keep the bytes that a record will refer to.

    Raises:
        InvalidTransition: SR030, they are being removed.
    """
    if content.blob_key is not None:
        keep_blob(tables, content.blob_key)


def hold_claim(
    tables: Tables, conversation_id: str | None, run_id: str | None, claim_token: int | None
) -> None:
    """Make sure that a write on behalf of a run is one of its newest claim.

    Raises:
        InvalidArgument: SR001, the run is not named, or of another conversation.
        NotFound: SR010.
        StaleClaim: SR031.
    """
    if claim_token is None:
        return
    if run_id is None:
        raise InvalidArgument(
            "run_id is required",
            detail={"path": "run_id"},
            hint="Say which run the claim is of.",
        )
    row = tables.runs.get(run_id)
    if row is not None and conversation_id not in {None, row.record.conversation_id}:
        raise InvalidArgument(
            "run_id is a run of another conversation",
            detail={"path": "run_id"},
            hint="A run writes to its own conversation.",
        )
    living_run(tables, run_id)
    claimed_run(tables, run_id, claim_token)
