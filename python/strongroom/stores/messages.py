"""MessageStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, Record
from strongroom.models.context import Viewer
from strongroom.models.messages import AppendItem, AppendResult, Message
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.messages import AfterPosition, Batch
from strongroom.stores.base import SqlStore, existing
from strongroom.transports.base import Document


class _Count(Record):
    message_count: int


class SqlMessageStore(SqlStore):
    """See :class:`strongroom.ports.MessageStore`."""

    @port_method
    async def append(self, *, tenant_id: Id, conversation_id: Id, messages: Batch) -> AppendResult:
        """See the port."""
        batch = [message.to_json() for message in messages]
        for message in batch:
            message["id"] = message["id"] or new_id()
        items = await self._rows(
            AppendItem,
            "append_messages",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            messages=Document([*batch]),
        )
        return AppendResult.model_construct(items=tuple(items))

    @port_method
    async def list(
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
        return await self._page(
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
    async def latest(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 50,
        viewer: Viewer | None = None,
    ) -> Page[Message]:
        """See the port."""
        return await self._page(
            Message,
            "list_messages",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            limit=limit,
            latest=True,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def get(self, *, tenant_id: Id, message_id: Id, viewer: Viewer | None = None) -> Message:
        """See the port."""
        return existing(
            await self._find_one(tenant_id, message_id, viewer), "message", "message_id"
        )

    @port_method
    async def find(
        self, *, tenant_id: Id, message_id: Id, viewer: Viewer | None = None
    ) -> Message | None:
        """See the port."""
        return await self._find_one(tenant_id, message_id, viewer)

    async def _find_one(
        self, tenant_id: str, message_id: str, viewer: Viewer | None
    ) -> Message | None:
        return await self._find(
            Message,
            "find_message",
            tenant_id=tenant_id,
            message_id=message_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def count(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> int:
        """See the port."""
        row = await self._one(
            _Count,
            "count_messages",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return row.message_count
