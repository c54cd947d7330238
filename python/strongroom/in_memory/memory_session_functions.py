"""What the calls of MemoryStore do."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from strongroom.errors import AlreadyExists, LimitExceeded
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.database import StoredFailure, StoredRaw, StoredTranscript, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.transcripts import (
    MESSAGES,
    TRANSCRIPT_BYTES,
    check_raw,
    creation,
    found_transcript,
    is_shown,
    written_transcript,
)
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.base import JsonValue
from strongroom.models.json_values import stored_size
from strongroom.models.memory_sessions import (
    FailedRun,
    FailedRunMessages,
    MemoryAppendItem,
    MemoryAppendResult,
    MemoryConversation,
    MemoryConversationMessage,
    MemoryConversationSummary,
    RecordedFailedRun,
)
from strongroom.models.pages import Direction, Page

ERROR_BYTES = 65_536
FAILED_BYTES = 16_777_216
_ID_BYTES = 255


def own_id(message: JsonValue) -> str | None:
    """Return the id that a raw message carries, a long one as its hash; None without."""
    found = message.get("id") if isinstance(message, dict) else None
    if not isinstance(found, str) or not found:
        return None
    if len(found.encode()) <= _ID_BYTES:
        return found
    return f"sha256:{hashlib.sha256(found.encode()).hexdigest()}"


def read_session(tables: Tables, *, session_id: str, user_id: str | None = None) -> list[JsonValue]:
    """Return all messages."""
    found = found_transcript(tables, ("session", session_id, user_id or ""))
    return [] if found is None else [stored.message for stored in found.messages]


def _written(
    tables: Tables,
    session_id: str,
    user_id: str | None,
    metadata: dict[str, JsonValue] | None,
    conversation_id: str | None,
) -> StoredTranscript:
    key = ("session", session_id, user_id or "")
    found = written_transcript(tables, key, conversation_id)
    given = found.metadata if metadata is None else metadata
    if found.version and comparable(given) == comparable(found.metadata):
        return found
    changed = replace(found, metadata=given, version=found.version + 1, updated_at=tables.now)
    tables.transcripts[key] = changed
    return changed


def append_session(
    tables: Tables,
    *,
    session_id: str,
    run_id: str,
    turn: int,
    messages: list[JsonValue],
    append_id: str,
    user_id: str | None = None,
    metadata: dict[str, JsonValue] | None = None,
    conversation_id: str | None = None,
) -> MemoryAppendResult:
    """Append what is new, and say of each message what became of it."""
    check_writable(tables)
    if metadata is not None:
        check_size("metadata", metadata, METADATA_BYTES)
    check_raw("messages", messages, TRANSCRIPT_BYTES)
    if not messages:
        return MemoryAppendResult(items=())
    found = _written(tables, session_id, user_id, metadata, conversation_id)
    stored = [*found.messages]
    by_call = {m.append_index: i for i, m in enumerate(stored) if m.append_id == append_id}
    by_id = {m.message_id: i for i, m in enumerate(stored) if m.message_id is not None}
    is_known = bool(by_call)
    items = []
    for index, message in enumerate(messages):
        message_id = own_id(message)
        place = by_call.get(index)
        if place is None and message_id is not None:
            place = by_id.get(message_id)
        outcome = "duplicate"
        if place is None and is_known:
            outcome = "conflict"
        elif place is None:
            outcome = "inserted"
            place = len(stored)
            stored.append(
                StoredRaw(
                    message=message,
                    created_at=tables.now,
                    message_id=message_id,
                    run_id=run_id,
                    turn=turn,
                    append_id=append_id,
                    append_index=index,
                )
            )
            if message_id is not None:
                by_id[message_id] = place
        elif comparable(stored[place].message) != comparable(message) or (
            index in by_call and (stored[place].run_id, stored[place].turn) != (run_id, turn)
        ):
            outcome = "conflict"
        items.append(
            MemoryAppendItem(
                item=index,
                outcome=outcome,
                message_position=None if place is None else place + 1,
            )
        )
    if len(stored) > len(found.messages):
        _check_whole(stored)
        tables.transcripts["session", session_id, user_id or ""] = replace(
            found, messages=tuple(stored), version=found.version + 1, updated_at=tables.now
        )
    return MemoryAppendResult(items=tuple(items))


def _check_whole(stored: list[StoredRaw]) -> None:
    size = sum(stored_size(raw.message) for raw in stored)
    if len(stored) > MESSAGES or size > TRANSCRIPT_BYTES:
        raise LimitExceeded(
            f"the session would have more than {MESSAGES} messages or {TRANSCRIPT_BYTES} bytes",
            detail={
                "path": "messages",
                "limit": TRANSCRIPT_BYTES,
                "actual": size,
                "message_count": len(stored),
            },
            hint="Begin a new session.",
        )


def record_failure(
    tables: Tables,
    *,
    session_id: str,
    run_id: str,
    messages: list[JsonValue],
    error_id: str,
    error: JsonValue,
    user_id: str | None = None,
    metadata: dict[str, JsonValue] | None = None,
    conversation_id: str | None = None,
) -> RecordedFailedRun:
    """Record a failed run, or know it again."""
    check_writable(tables)
    if metadata is not None:
        check_size("metadata", metadata, METADATA_BYTES)
    check_raw("error", [error], ERROR_BYTES)
    check_raw("messages", messages, FAILED_BYTES)
    found = _written(tables, session_id, user_id, metadata, conversation_id)
    failure = StoredFailure(
        id=error_id, run_id=run_id, error=error, messages=tuple(messages), created_at=tables.now
    )
    known = next((stored for stored in found.errors if stored.id == error_id), None)
    if known is None:
        tables.transcripts["session", session_id, user_id or ""] = replace(
            found, errors=(*found.errors, failure)
        )
    elif comparable(_content(known)) != comparable(_content(failure)):
        raise AlreadyExists(
            "an error with this id is recorded, and it is another one",
            detail={"path": "error_id", "record": "session error"},
            hint="Give every failure an id of its own, and repeat a call with its own.",
        )
    return RecordedFailedRun(
        **_shown(tables, session_id, user_id, known or failure),
        outcome="duplicate" if known else "inserted",
    )


def _content(failure: StoredFailure) -> JsonValue:
    return [failure.run_id, failure.error, [*failure.messages]]


def _shown(
    tables: Tables, session_id: str, user_id: str | None, failure: StoredFailure
) -> dict[str, Any]:
    return {
        "tenant_id": tables.tenant_id,
        "session_id": session_id,
        "user_id": user_id,
        "id": failure.id,
        "run_id": failure.run_id,
        "error": failure.error,
        "message_count": len(failure.messages),
        "created_at": failure.created_at,
    }


def find_failure(
    tables: Tables, *, session_id: str, error_id: str, user_id: str | None = None
) -> FailedRunMessages | None:
    """Return one recorded error."""
    found = found_transcript(tables, ("session", session_id, user_id or ""))
    for failure in found.errors if found else ():
        if failure.id == error_id:
            shown = _shown(tables, session_id, user_id, failure)
            return FailedRunMessages(**shown, messages=failure.messages)
    return None


def list_failures(
    tables: Tables,
    *,
    session_id: str,
    limit: int,
    direction: Direction,
    after: str | None = None,
    before: str | None = None,
    user_id: str | None = None,
) -> Page[FailedRun]:
    """Return a page of recorded errors, forward newest first."""
    check_page(after, before)
    found = found_transcript(tables, ("session", session_id, user_id or ""))
    return page_of(
        [
            FailedRun(**_shown(tables, session_id, user_id, failure))
            for failure in (found.errors if found else ())
        ],
        key=lambda failure: creation(failure.created_at, failure.id),
        descending=direction == "forward",
        scope=cursor_scope("memory_session_errors", [session_id, user_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def _summary(tables: Tables, name: str, user_id: str, found: StoredTranscript) -> dict[str, Any]:
    return {
        "tenant_id": tables.tenant_id,
        "ref": found.id,
        "session_id": name,
        "user_id": user_id or None,
        "conversation_id": found.conversation_id,
        "metadata": found.metadata,
        "message_count": len(found.messages),
        "created_at": found.created_at,
        "updated_at": found.updated_at,
    }


def list_sessions(
    tables: Tables,
    *,
    limit: int,
    direction: Direction,
    after: str | None = None,
    before: str | None = None,
    user_id: str | None = None,
) -> Page[MemoryConversationSummary]:
    """Return a page of sessions, forward newest first."""
    check_page(after, before)
    return page_of(
        [
            MemoryConversationSummary(**_summary(tables, name, user, found))
            for (kind, name, user), found in tables.transcripts.items()
            if kind == "session" and user_id in {None, user} and is_shown(tables, found)
        ],
        key=lambda session: creation(session.created_at, session.ref),
        descending=direction == "forward",
        scope=cursor_scope("transcripts", ["session", user_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def find_session(tables: Tables, *, ref: str) -> MemoryConversation | None:
    """Return a session by its reference."""
    for (kind, name, user), found in tables.transcripts.items():
        if kind == "session" and found.id == ref and is_shown(tables, found):
            return MemoryConversation(
                **_summary(tables, name, user, found),
                messages=tuple(
                    MemoryConversationMessage(
                        position=position,
                        run_id=stored.run_id or "",
                        turn=stored.turn or 0,
                        created_at=stored.created_at,
                        message=stored.message,
                    )
                    for position, stored in enumerate(found.messages, 1)
                ),
            )
    return None
