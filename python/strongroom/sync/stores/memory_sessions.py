# Written by scripts/generate_sync.py from strongroom/stores/memory_sessions.py: change that, and run `make generate`.
"""MemoryStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, Json, JsonValue
from strongroom.models.memory_sessions import (
    FailedRun,
    FailedRunMessages,
    MemoryAppendItem,
    MemoryAppendResult,
    MemoryContext,
    MemoryConversation,
    MemoryConversationSummary,
    RecordedFailedRun,
    SavedMessages,
    Turn,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.stores.memory_sessions import _Deleted, _Messages, _metadata
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.ports.memory_sessions import MemoryInspector
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlMemoryStore(SqlStore):
    """See :class:`strongroom.ports.MemoryStore`."""

    @property
    def inspector(self) -> MemoryInspector:
        """See the port."""
        return self

    @port_method
    def load(self, *, tenant_id: Id, context: MemoryContext) -> list[JsonValue]:
        """See the port."""
        row = self._one(
            _Messages,
            "read_memory_session",
            tenant_id=tenant_id,
            session_id=context.session_id,
            user_id=context.user_id,
        )
        return row.messages

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
        items = self._rows(
            MemoryAppendItem,
            "append_memory_session",
            tenant_id=tenant_id,
            session_id=context.session_id,
            user_id=context.user_id,
            metadata=_metadata(context),
            conversation_id=context.conversation_id,
            run_id=run_id,
            turn=turn,
            messages=Document([*messages]),
            append_id=append_id or new_id(),
        )
        return MemoryAppendResult.model_construct(items=tuple(items))

    @port_method
    def clear(self, *, tenant_id: Id, context: MemoryContext) -> bool:
        """See the port."""
        row = self._one(
            _Deleted,
            "clear_memory_session",
            tenant_id=tenant_id,
            session_id=context.session_id,
            user_id=context.user_id,
        )
        return row.deleted

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
        return self._one(
            RecordedFailedRun,
            "record_memory_session_error",
            tenant_id=tenant_id,
            session_id=context.session_id,
            user_id=context.user_id,
            metadata=_metadata(context),
            conversation_id=context.conversation_id,
            run_id=run_id,
            error=Document(error),
            messages=Document([*messages]),
            error_id=error_id or new_id(),
        )

    @port_method
    def find_error(
        self, *, tenant_id: Id, context: MemoryContext, error_id: Id
    ) -> FailedRunMessages | None:
        """See the port."""
        return self._find(
            FailedRunMessages,
            "find_memory_session_error",
            tenant_id=tenant_id,
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
        return self._page(
            FailedRun,
            "list_memory_session_errors",
            tenant_id=tenant_id,
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
        return self._page(
            MemoryConversationSummary,
            "list_memory_sessions",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            user_id=user_id,
        )

    @port_method
    def get_conversation(self, *, tenant_id: Id, ref: Id) -> MemoryConversation | None:
        """See the port."""
        return self._find(MemoryConversation, "find_memory_session", tenant_id=tenant_id, ref=ref)
