# Written by scripts/generate_sync.py from strongroom/in_memory/memory_sessions.py: change that, and run `make generate`.
"""MemoryStore in memory: the port. What its calls do is in ``memory_session_functions``."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.memory_session_functions import (
    append_session,
    find_failure,
    find_session,
    list_failures,
    list_sessions,
    read_session,
    record_failure,
)
from strongroom.in_memory.transcripts import delete_named
from strongroom.models.base import Id, Json, JsonValue
from strongroom.models.memory_sessions import (
    FailedRun,
    FailedRunMessages,
    MemoryAppendResult,
    MemoryContext,
    MemoryConversation,
    MemoryConversationSummary,
    RecordedFailedRun,
    SavedMessages,
    Turn,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.ports.memory_sessions import MemoryInspector


class MemoryMemoryStore(MemoryPort):
    """See :class:`strongroom.ports.MemoryStore`."""

    @property
    def inspector(self) -> MemoryInspector:
        """See the port."""
        return self

    @port_method
    def load(self, *, tenant_id: Id, context: MemoryContext) -> list[JsonValue]:
        """See the port."""
        return self._read(
            tenant_id, read_session, session_id=context.session_id, user_id=context.user_id
        )

    @port_method
    def append(
        self,
        *,
        tenant_id: Id,
        context: MemoryContext,
        run_id: Id,
        turn: Turn,
        messages: SavedMessages,
        append_id: Id | None = None,
    ) -> MemoryAppendResult:
        """See the port."""
        return self._write(
            tenant_id,
            append_session,
            session_id=context.session_id,
            user_id=context.user_id,
            metadata=context.metadata,
            conversation_id=context.conversation_id,
            run_id=run_id,
            turn=turn,
            messages=[*messages],
            append_id=append_id or new_id(),
        )

    @port_method
    def clear(self, *, tenant_id: Id, context: MemoryContext) -> bool:
        """See the port."""
        return self._write(
            tenant_id,
            delete_named,
            kind="session",
            name=context.session_id,
            user_id=context.user_id,
        )

    @port_method
    def record_error(
        self,
        *,
        tenant_id: Id,
        context: MemoryContext,
        run_id: Id,
        error: Json,
        messages: SavedMessages = (),
        error_id: Id | None = None,
    ) -> RecordedFailedRun:
        """See the port."""
        return self._write(
            tenant_id,
            record_failure,
            session_id=context.session_id,
            user_id=context.user_id,
            metadata=context.metadata,
            conversation_id=context.conversation_id,
            run_id=run_id,
            error=error,
            messages=[*messages],
            error_id=error_id or new_id(),
        )

    @port_method
    def find_error(
        self, *, tenant_id: Id, context: MemoryContext, error_id: Id
    ) -> FailedRunMessages | None:
        """See the port."""
        return self._read(
            tenant_id,
            find_failure,
            session_id=context.session_id,
            user_id=context.user_id,
            error_id=error_id,
        )

    @port_method
    def list_errors(
        self,
        *,
        tenant_id: Id,
        context: MemoryContext,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[FailedRun]:
        """See the port."""
        return self._read(
            tenant_id,
            list_failures,
            session_id=context.session_id,
            user_id=context.user_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
    def list_conversations(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        user_id: Id | None = None,
    ) -> Page[MemoryConversationSummary]:
        """See the port."""
        return self._read(
            tenant_id,
            list_sessions,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            user_id=user_id,
        )

    @port_method
    def get_conversation(self, *, tenant_id: Id, ref: Id) -> MemoryConversation | None:
        """See the port."""
        return self._read(tenant_id, find_session, ref=ref)
