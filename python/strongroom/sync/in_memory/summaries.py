# Written by scripts/generate_sync.py from strongroom/in_memory/summaries.py: change that, and run `make generate`.
"""ThreadSummaryStore in memory."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.summaries import (
    append_thread_summary,
    find_latest_thread_summary,
    list_thread_summaries,
    read_history,
)
from strongroom.models.base import Id, JsonObject, Position, Text
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.summaries import CreatedThreadSummary, History, ThreadSummary
from strongroom.ports.arguments import viewer_id
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryThreadSummaryStore(MemoryPort):
    """See :class:`strongroom.ports.ThreadSummaryStore`."""

    @port_method
    def append(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        text: Text,
        covers_to_position: Position,
        summary_id: Id | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedThreadSummary:
        """See the port."""
        return self._write(
            tenant_id,
            append_thread_summary,
            conversation_id=conversation_id,
            text=text,
            covers_to_position=covers_to_position,
            summary_id=summary_id or new_id(),
            metadata=metadata or {},
        )

    @port_method
    def latest(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> ThreadSummary | None:
        """See the port."""
        return self._read(
            tenant_id,
            find_latest_thread_summary,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
    ) -> Page[ThreadSummary]:
        """See the port."""
        return self._read(
            tenant_id,
            list_thread_summaries,
            conversation_id=conversation_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def history(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 500,
        after: Cursor | None = None,
        viewer: Viewer | None = None,
    ) -> History:
        """See the port."""
        return self._read(
            tenant_id,
            read_history,
            conversation_id=conversation_id,
            limit=limit,
            after=after,
            viewer_id=viewer_id(tenant_id, viewer),
        )
