"""TranscriptStore in memory, and what both kinds of transcripts share."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace

from strongroom.errors import AlreadyExists, InvalidArgument, LimitExceeded, NotFound
from strongroom.ids import new_id
from strongroom.in_memory.base import (
    MemoryPort,
    check_version,
    check_writable,
    is_readable,
    readable_conversation,
)
from strongroom.in_memory.database import StoredRaw, StoredTranscript, Tables, TranscriptKey
from strongroom.in_memory.pages import Key, check_page, cursor_scope, page_of
from strongroom.in_memory.values import comparable
from strongroom.models.base import Id, JsonValue, Version
from strongroom.models.json_values import stored_size
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.transcripts import RawMessages, SavedTranscript, TranscriptHead
from strongroom.ports.arguments import port_method
from strongroom.stores.transcripts import digests_of

MESSAGES = 100_000
MESSAGE_BYTES = 1_048_576
TRANSCRIPT_BYTES = 67_108_864

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def creation(created_at: dt.datetime, id: str) -> Key:
    """Return what lists are ordered by: the moment of creation, then the id."""
    return [(created_at - _EPOCH) // dt.timedelta(microseconds=1), id]


def check_raw(path: str, messages: Sequence[JsonValue], most_bytes: int, before: int = 0) -> int:
    """Refuse a message or a list that is too large; return all bytes, those before included."""
    total = before
    for place, message in enumerate(messages):
        size = stored_size(message)
        total += size
        if size > MESSAGE_BYTES:
            raise LimitExceeded(
                f"{path}[{place}] has {size} bytes; at most {MESSAGE_BYTES} are allowed",
                detail={"path": f"{path}[{place}]", "limit": MESSAGE_BYTES, "actual": size},
                hint="Keep large output in the tool-output store, and its id here.",
            )
    if total > most_bytes:
        raise LimitExceeded(
            f"{path} has {total} bytes; at most {most_bytes} are allowed",
            detail={"path": path, "limit": most_bytes, "actual": total},
            hint="Store less at a time, or begin a new transcript.",
        )
    return total


def found_transcript(tables: Tables, key: TranscriptKey) -> StoredTranscript | None:
    """Return a transcript; while its conversation is deleted that is an error."""
    found = tables.transcripts.get(key)
    if found is not None and found.conversation_id is not None:
        readable_conversation(tables, found.conversation_id)
    return found


def written_transcript(
    tables: Tables, key: TranscriptKey, conversation_id: str | None
) -> StoredTranscript:
    """Return a transcript to write to; an unsaved new one where there is none."""
    found = tables.transcripts.get(key)
    if found is not None and conversation_id not in {None, found.conversation_id}:
        raise InvalidArgument(
            "conversation_id is not the conversation that the transcript is bound to",
            detail={"path": "conversation_id"},
            hint="What a transcript is bound to is decided when it is made. Leave it out.",
        )
    bound = conversation_id if found is None else found.conversation_id
    if bound is not None:
        readable_conversation(tables, bound)
    return found or StoredTranscript(
        id=new_id(), conversation_id=bound, created_at=tables.now, updated_at=tables.now
    )


def drop_transcripts(
    tables: Tables, goes: Callable[[TranscriptKey, StoredTranscript], bool]
) -> dict[str, int]:
    """Delete transcripts with their messages and errors; count the rows."""
    gone = [key for key, transcript in tables.transcripts.items() if goes(key, transcript)]
    dropped = [tables.transcripts.pop(key) for key in gone]
    return {
        "transcripts": len(dropped),
        "transcript_messages": sum(len(transcript.messages) for transcript in dropped),
        "transcript_errors": sum(len(transcript.errors) for transcript in dropped),
    }


def delete_named(tables: Tables, *, kind: str, name: str, user_id: str | None) -> bool:
    """Delete one transcript; say whether there was one."""
    check_writable(tables)
    key = (kind, name, user_id or "")
    there = found_transcript(tables, key) is not None
    tables.transcripts.pop(key, None)
    return there


def is_shown(tables: Tables, transcript: StoredTranscript) -> bool:
    """Whether lists show it: not while the conversation that it is bound to is deleted."""
    if transcript.conversation_id is None:
        return True
    row = tables.conversations.get(transcript.conversation_id)
    return row is not None and is_readable(row.record, None)


def _head(tables: Tables, key: TranscriptKey, found: StoredTranscript) -> TranscriptHead:
    return TranscriptHead(
        tenant_id=tables.tenant_id,
        scope=key[1],
        conversation_id=found.conversation_id,
        message_count=len(found.messages),
        digest=found.digest,
        version=found.version,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def read_transcript(tables: Tables, *, scope: str) -> list[JsonValue]:
    """Return all messages."""
    found = found_transcript(tables, ("scope", scope, ""))
    return [] if found is None else [stored.message for stored in found.messages]


def find_transcript(tables: Tables, *, scope: str) -> TranscriptHead | None:
    """Return it without its messages."""
    key = ("scope", scope, "")
    found = found_transcript(tables, key)
    return None if found is None else _head(tables, key, found)


def save_transcript(
    tables: Tables,
    *,
    scope: str,
    messages: list[JsonValue],
    expected_version: int | None = None,
    conversation_id: str | None = None,
) -> SavedTranscript:
    """Keep the common beginning, and replace what follows."""
    check_writable(tables)
    check_raw("messages", messages, TRANSCRIPT_BYTES)
    key = ("scope", scope, "")
    found = written_transcript(tables, key, conversation_id)
    if expected_version is not None:
        check_version("transcript", expected_version, found.version)
    kept = 0
    for stored, message in zip(found.messages, messages, strict=False):
        if comparable(stored.message) != comparable(message):
            break
        kept += 1
    new = tuple(StoredRaw(message=message, created_at=tables.now) for message in messages[kept:])
    deleted = len(found.messages) - kept
    changed = bool(new or deleted or found.version == 0)
    saved = replace(
        found,
        messages=(*found.messages[:kept], *new),
        digest=digests_of(messages, 0)[1],
        version=found.version + changed,
        updated_at=tables.now if changed else found.updated_at,
    )
    tables.transcripts[key] = saved
    return SavedTranscript(
        tenant_id=tables.tenant_id,
        scope=scope,
        outcome="saved" if changed else "duplicate",
        version=saved.version,
        message_count=len(messages),
        kept=kept,
        inserted=len(new),
        deleted=deleted,
    )


def copy_transcript(
    tables: Tables, *, from_scope: str, to_scope: str, conversation_id: str | None = None
) -> int:
    """Copy to a scope that has none."""
    check_writable(tables)
    if from_scope == to_scope:
        return 0
    source = found_transcript(tables, ("scope", from_scope, ""))
    if source is None:
        raise NotFound(
            "the transcript does not exist",
            detail={"path": "from_scope", "record": "transcript"},
            hint="Save one to this scope first.",
        )
    key = ("scope", to_scope, "")
    if found_transcript(tables, key) is not None:
        raise AlreadyExists(
            "the target scope has a transcript",
            detail={"path": "to_scope", "record": "transcript"},
            hint="Copy to a scope without one, or delete that first.",
        )
    target = written_transcript(tables, key, conversation_id or source.conversation_id)
    messages = tuple(replace(stored, created_at=tables.now) for stored in source.messages)
    tables.transcripts[key] = replace(target, messages=messages, digest=source.digest, version=1)
    return len(messages)


def list_transcripts(
    tables: Tables,
    *,
    limit: int,
    direction: Direction,
    after: str | None = None,
    before: str | None = None,
) -> Page[TranscriptHead]:
    """Return a page of scopes, forward newest first."""
    check_page(after, before)
    shown = {
        key: transcript
        for key, transcript in tables.transcripts.items()
        if key[0] == "scope" and is_shown(tables, transcript)
    }
    return page_of(
        [_head(tables, key, transcript) for key, transcript in shown.items()],
        key=lambda head: creation(head.created_at, shown["scope", head.scope, ""].id),
        descending=direction == "forward",
        scope=cursor_scope("transcripts", ["scope", None], direction),
        limit=limit,
        after=after,
        before=before,
    )


class MemoryTranscriptStore(MemoryPort):
    """See :class:`strongroom.ports.TranscriptStore`."""

    @property
    def kind(self) -> str:
        """See the port."""
        return "in-memory"

    @port_method
    async def load(self, *, tenant_id: Id, scope: Id) -> list[JsonValue]:
        """See the port."""
        return await self._read(tenant_id, read_transcript, scope=scope)

    @port_method
    async def find(self, *, tenant_id: Id, scope: Id) -> TranscriptHead | None:
        """See the port."""
        return await self._read(tenant_id, find_transcript, scope=scope)

    @port_method
    async def save(
        self,
        *,
        tenant_id: Id,
        scope: Id,
        messages: RawMessages,
        expected_version: Version | None = None,
        conversation_id: Id | None = None,
    ) -> SavedTranscript:
        """See the port."""
        return await self._write(
            tenant_id,
            save_transcript,
            scope=scope,
            messages=[*messages],
            expected_version=expected_version,
            conversation_id=conversation_id,
        )

    @port_method
    async def copy(
        self, *, tenant_id: Id, from_scope: Id, to_scope: Id, conversation_id: Id | None = None
    ) -> int:
        """See the port."""
        return await self._write(
            tenant_id,
            copy_transcript,
            from_scope=from_scope,
            to_scope=to_scope,
            conversation_id=conversation_id,
        )

    @port_method
    async def delete(self, *, tenant_id: Id, scope: Id) -> bool:
        """See the port."""
        return await self._write(tenant_id, delete_named, kind="scope", name=scope, user_id=None)

    @port_method
    async def list_scopes(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[TranscriptHead]:
        """See the port."""
        return await self._read(
            tenant_id,
            list_transcripts,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )
