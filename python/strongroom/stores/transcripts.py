"""TranscriptStore on SQL."""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Sequence
from typing import Literal, cast

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonValue, Record, Version
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.transcripts import RawMessages, SavedTranscript, TranscriptHead
from strongroom.ports.arguments import port_method
from strongroom.stores.base import SqlStore
from strongroom.transports.base import Document, storable

SHORT = 32
"""Messages up to which a list is sent as a whole, without asking first what is stored."""


class _Transcript(Record):
    tenant_id: Id
    scope: Id
    message_count: int
    version: Version
    messages: list[JsonValue]


class _Saved(SavedTranscript):
    outcome: Literal["saved", "duplicate", "stale"]  # type: ignore[assignment]


class _Copied(Record):
    copied: int


class _Deleted(Record):
    deleted: bool


def digests_of(messages: Sequence[JsonValue], count: int) -> tuple[str, str]:
    """Return a digest of the first messages, and of all of them.

    It depends on nothing but the JSON values and their order. A number that is written in another way
    gives another digest: then all is sent, and the database compares.
    """
    digest = hashlib.sha256()
    first = digest.copy()
    for place, message in enumerate(messages, 1):
        text = json.dumps(message, sort_keys=True, separators=(",", ":"))
        digest.update(f"{len(text)}:{text}".encode())
        if place == count:
            first = digest.copy()
    return first.hexdigest(), digest.hexdigest()


class SqlTranscriptStore(SqlStore):
    """See :class:`strongroom.ports.TranscriptStore`."""

    @property
    def kind(self) -> str:
        """See the port."""
        return "postgresql"

    @port_method
    async def load(self, *, tenant_id: Id, scope: Id) -> list[JsonValue]:
        """See the port."""
        found = await self._find(_Transcript, "read_transcript", tenant_id=tenant_id, scope=scope)
        return [] if found is None else found.messages

    @port_method
    async def find(self, *, tenant_id: Id, scope: Id) -> TranscriptHead | None:
        """See the port."""
        return await self._head(tenant_id, scope)

    async def _head(self, tenant_id: str, scope: str) -> TranscriptHead | None:
        return await self._find(TranscriptHead, "find_transcript", tenant_id=tenant_id, scope=scope)

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
        whole = self._storable(messages)
        head = await self._head(tenant_id, scope) if len(whole) > SHORT else None
        stored = head.message_count if head is not None else 0
        beginning, digest = digests_of(whole, stored)
        write_id = new_id()

        async def save(keep: int) -> _Saved:
            return await self._one(
                _Saved,
                "save_transcript",
                tenant_id=tenant_id,
                scope=scope,
                messages=Document([*whole[keep:]]),
                digest=digest,
                keep=keep or None,
                keep_digest=beginning if keep else None,
                expected_version=expected_version,
                conversation_id=conversation_id,
                write_id=write_id,
            )

        saved = None
        if head is not None and 0 < stored <= len(whole) and head.digest == beginning:
            saved = await save(stored)
        if saved is None or saved.outcome == "stale":
            # There is nothing to add to, or somebody else has saved in between.
            saved = await save(0)
        return SavedTranscript.model_construct(**dict(saved))

    def _storable(self, messages: Sequence[JsonValue]) -> builtins.list[JsonValue]:
        """Return what will be stored, so that digests are about that."""
        document = storable({"messages": Document([*messages])}, self._transport.text_policy)
        return cast("list[JsonValue]", cast("Document", document["messages"]).value)

    @port_method
    async def copy(
        self, *, tenant_id: Id, from_scope: Id, to_scope: Id, conversation_id: Id | None = None
    ) -> int:
        """See the port."""
        row = await self._one(
            _Copied,
            "copy_transcript",
            tenant_id=tenant_id,
            from_scope=from_scope,
            to_scope=to_scope,
            conversation_id=conversation_id,
            write_id=new_id(),
        )
        return row.copied

    @port_method
    async def delete(self, *, tenant_id: Id, scope: Id) -> bool:
        """See the port."""
        row = await self._one(_Deleted, "delete_transcript", tenant_id=tenant_id, scope=scope)
        return row.deleted

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
        return await self._page(
            TranscriptHead,
            "list_transcripts",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )
