# Written by scripts/generate_sync.py from strongroom/stores/messages.py: change that, and run `make generate`.
"""MessageStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id
from strongroom.models.context import Viewer
from strongroom.models.messages import AppendItem, AppendResult, Message
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.arguments import viewer_id
from strongroom.ports.messages import AfterPosition, Batch
from strongroom.stores.base import existing
from strongroom.stores.messages import _Count
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlMessageStore(SqlStore):
    """See :class:`strongroom.ports.MessageStore`."""

    @port_method
    def append(self, *, tenant_id: Id, conversation_id: Id, messages: Batch) -> AppendResult:
        """See the port."""
        batch = [message.to_json() for message in messages]
        for message in batch:
            message["id"] = message["id"] or new_id()
        items = self._rows(
            AppendItem,
            "append_messages",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            messages=Document([*batch]),
        )
        return AppendResult.model_construct(items=tuple(items))

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
        after_position: AfterPosition | None = None,
        viewer: Viewer | None = None,
    ) -> Page[Message]:
        """See the port."""
        return self._page(
            Message,
            "list_messages",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            after_position=after_position,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def latest(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 50,
        viewer: Viewer | None = None,
    ) -> Page[Message]:
        """See the port."""
        return self._page(
            Message,
            "list_messages",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            limit=limit,
            latest=True,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def get(self, *, tenant_id: Id, message_id: Id, viewer: Viewer | None = None) -> Message:
        """See the port."""
        return existing(self._find_one(tenant_id, message_id, viewer), "message", "message_id")

    @port_method
    def find(
        self, *, tenant_id: Id, message_id: Id, viewer: Viewer | None = None
    ) -> Message | None:
        """See the port."""
        return self._find_one(tenant_id, message_id, viewer)

    def _find_one(self, tenant_id: str, message_id: str, viewer: Viewer | None) -> Message | None:
        return self._find(
            Message,
            "find_message",
            tenant_id=tenant_id,
            message_id=message_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def count(self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None) -> int:
        """See the port."""
        row = self._one(
            _Count,
            "count_messages",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return row.message_count
