# Written by scripts/generate_sync.py from strongroom/in_memory/transcripts.py: change that, and run `make generate`.
"""TranscriptStore in memory, and what both kinds of transcripts share."""

from __future__ import annotations

from strongroom.in_memory.transcripts import (
    copy_transcript,
    delete_named,
    find_transcript,
    list_transcripts,
    read_transcript,
    save_transcript,
)
from strongroom.models.base import Id, JsonValue, Version
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.transcripts import RawMessages, SavedTranscript, TranscriptHead
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryTranscriptStore(MemoryPort):
    """See :class:`strongroom.ports.TranscriptStore`."""

    @property
    def kind(self) -> str:
        """See the port."""
        return "in-memory"

    @port_method
    def load(self, *, tenant_id: Id, scope: Id) -> list[JsonValue]:
        """See the port."""
        return self._read(tenant_id, read_transcript, scope=scope)

    @port_method
    def find(self, *, tenant_id: Id, scope: Id) -> TranscriptHead | None:
        """See the port."""
        return self._read(tenant_id, find_transcript, scope=scope)

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
        return self._write(
            tenant_id,
            save_transcript,
            scope=scope,
            messages=[*messages],
            expected_version=expected_version,
            conversation_id=conversation_id,
        )

    @port_method
    def copy(
        self, *, tenant_id: Id, from_scope: Id, to_scope: Id, conversation_id: Id | None = None
    ) -> int:
        """See the port."""
        return self._write(
            tenant_id,
            copy_transcript,
            from_scope=from_scope,
            to_scope=to_scope,
            conversation_id=conversation_id,
        )

    @port_method
    def delete(self, *, tenant_id: Id, scope: Id) -> bool:
        """See the port."""
        return self._write(tenant_id, delete_named, kind="scope", name=scope, user_id=None)

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
        return self._read(
            tenant_id,
            list_transcripts,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )
