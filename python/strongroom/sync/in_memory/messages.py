# Written by scripts/generate_sync.py from strongroom/in_memory/messages.py: change that, and run `make generate`.
"""MessageStore in memory."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.messages import (
    append_messages,
    count_messages,
    find_message,
    list_messages,
)
from strongroom.models.base import Id
from strongroom.models.context import Viewer
from strongroom.models.messages import AppendResult, Message
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.arguments import viewer_id
from strongroom.ports.messages import AfterPosition, Batch
from strongroom.stores.base import existing
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryMessageStore(MemoryPort):
    """See :class:`strongroom.ports.MessageStore`."""

    @port_method
    def append(self, *, tenant_id: Id, conversation_id: Id, messages: Batch) -> AppendResult:
        """See the port."""
        batch = [message.to_json() for message in messages]
        for message in batch:
            message["id"] = message["id"] or new_id()
        return self._write(
            tenant_id, append_messages, conversation_id=conversation_id, messages=[*batch]
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
        after_position: AfterPosition | None = None,
        viewer: Viewer | None = None,
    ) -> Page[Message]:
        """See the port."""
        return self._read(
            tenant_id,
            list_messages,
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
        return self._read(
            tenant_id,
            list_messages,
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
        return self._read(
            tenant_id,
            find_message,
            message_id=message_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def count(self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None) -> int:
        """See the port."""
        return self._read(
            tenant_id,
            count_messages,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )
