# Written by scripts/generate_sync.py from strongroom/stores/summaries.py: change that, and run `make generate`.
"""ThreadSummaryStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, Position, Text
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.summaries import CreatedThreadSummary, History, ThreadSummary
from strongroom.ports.arguments import viewer_id
from strongroom.stores.rows import rows_from
from strongroom.stores.summaries import _HISTORY, _MessageRow, _SummaryRow
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlThreadSummaryStore(SqlStore):
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
        return self._one(
            CreatedThreadSummary,
            "append_thread_summary",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            text=text,
            covers_to_position=covers_to_position,
            summary_id=summary_id or new_id(),
            metadata=Document(metadata or {}),
        )

    @port_method
    def latest(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> ThreadSummary | None:
        """See the port."""
        return self._find(
            ThreadSummary,
            "find_latest_thread_summary",
            tenant_id=tenant_id,
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
        return self._page(
            ThreadSummary,
            "list_thread_summaries",
            tenant_id=tenant_id,
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
        text = self._transport.call(
            "read_history",
            {
                "tenant_id": tenant_id,
                "conversation_id": conversation_id,
                "limit": limit,
                "after": after,
                "viewer_id": viewer_id(tenant_id, viewer),
            },
        )
        rows = rows_from(_HISTORY, text, "read_history")
        messages = [row for row in rows if isinstance(row, _MessageRow)]
        return History(
            summary=next((row.record() for row in rows if isinstance(row, _SummaryRow)), None),
            messages=tuple(row.record() for row in messages),
            next_cursor=messages[-1].cursor if messages and messages[-1].has_more else None,
        )
