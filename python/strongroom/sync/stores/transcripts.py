# Written by scripts/generate_sync.py from strongroom/stores/transcripts.py: change that, and run `make generate`.
"""TranscriptStore on SQL."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import cast

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonValue, Version
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.transcripts import RawMessages, SavedTranscript, TranscriptHead
from strongroom.stores.transcripts import SHORT, _Copied, _Deleted, _Saved, _Transcript, digests_of
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document, storable


class SqlTranscriptStore(SqlStore):
    """See :class:`strongroom.ports.TranscriptStore`."""

    @property
    def kind(self) -> str:
        """See the port."""
        return "postgresql"

    @port_method
    def load(self, *, tenant_id: Id, scope: Id) -> list[JsonValue]:
        """See the port."""
        found = self._find(_Transcript, "read_transcript", tenant_id=tenant_id, scope=scope)
        return [] if found is None else found.messages

    @port_method
    def find(self, *, tenant_id: Id, scope: Id) -> TranscriptHead | None:
        """See the port."""
        return self._head(tenant_id, scope)

    def _head(self, tenant_id: str, scope: str) -> TranscriptHead | None:
        return self._find(TranscriptHead, "find_transcript", tenant_id=tenant_id, scope=scope)

    @port_method
    def save(
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
        head = self._head(tenant_id, scope) if len(whole) > SHORT else None
        stored = head.message_count if head is not None else 0
        beginning, digest = digests_of(whole, stored)
        write_id = new_id()

        def save(keep: int) -> _Saved:
            return self._one(
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
            saved = save(stored)
        if saved is None or saved.outcome == "stale":
            # There is nothing to add to, or somebody else has saved in between.
            saved = save(0)
        return SavedTranscript.model_construct(**dict(saved))

    def _storable(self, messages: Sequence[JsonValue]) -> builtins.list[JsonValue]:
        """Return what will be stored, so that digests are about that."""
        document = storable({"messages": Document([*messages])}, self._transport.text_policy)
        return cast("list[JsonValue]", cast("Document", document["messages"]).value)

    @port_method
    def copy(
        self, *, tenant_id: Id, from_scope: Id, to_scope: Id, conversation_id: Id | None = None
    ) -> int:
        """See the port."""
        row = self._one(
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
    def delete(self, *, tenant_id: Id, scope: Id) -> bool:
        """See the port."""
        row = self._one(_Deleted, "delete_transcript", tenant_id=tenant_id, scope=scope)
        return row.deleted

    @port_method
    def list_scopes(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[TranscriptHead]:
        """See the port."""
        return self._page(
            TranscriptHead,
            "list_transcripts",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )
