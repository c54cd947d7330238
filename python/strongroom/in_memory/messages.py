"""MessageStore in memory."""

from __future__ import annotations

from typing import Any

from strongroom.errors import InvalidArgument, LimitExceeded
from strongroom.ids import new_id
from strongroom.in_memory.base import (
    MemoryPort,
    check_writable,
    is_readable,
    readable_conversation,
)
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, comparable
from strongroom.models.base import Id
from strongroom.models.context import Viewer
from strongroom.models.json_values import stored_size
from strongroom.models.messages import AppendItem, AppendResult, Message
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.messages import AfterPosition, Batch
from strongroom.stores.base import existing

MESSAGE_BYTES = 1_048_576


class MemoryMessageStore(MemoryPort):
    """See :class:`strongroom.ports.MessageStore`."""

    @port_method
    async def append(self, *, tenant_id: Id, conversation_id: Id, messages: Batch) -> AppendResult:
        """See the port."""
        batch = [message.to_json() for message in messages]
        for message in batch:
            message["id"] = message["id"] or new_id()
        return await self._write(
            tenant_id, append_messages, conversation_id=conversation_id, messages=[*batch]
        )

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
        return await self._read(
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
    async def latest(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 50,
        viewer: Viewer | None = None,
    ) -> Page[Message]:
        """See the port."""
        return await self._read(
            tenant_id,
            list_messages,
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
        return await self._read(
            tenant_id,
            find_message,
            message_id=message_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def count(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> int:
        """See the port."""
        return await self._read(
            tenant_id,
            count_messages,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )


def append_messages(
    tables: Tables, *, conversation_id: str, messages: list[dict[str, Any]]
) -> AppendResult:
    """Append what is new, in order; say what became of each message."""
    check_writable(tables)
    _check_messages(messages)
    conversation = readable_conversation(tables, conversation_id)
    appended = list(tables.messages.get(conversation_id, ()))
    items = []
    for plain in messages:
        stored = tables.messages_by_id.get(plain["id"])
        if stored is None:
            message = _new_message(tables, conversation_id, len(appended) + 1, plain)
            appended.append(message)
            items.append(_item(message, "inserted"))
        elif stored.conversation_id != conversation_id:
            items.append(_conflict(stored, "other-conversation"))
        elif _content(stored) != _content(
            _new_message(tables, conversation_id, stored.position, plain)
        ):
            items.append(_conflict(stored, "other-content"))
        else:
            items.append(_item(stored, "duplicate"))
    if len(appended) > conversation.last_position:
        tables.messages[conversation_id] = tuple(appended)
        for message in appended[conversation.last_position :]:
            tables.messages_by_id[message.id] = message
        advanced = conversation.replace(last_position=len(appended), last_message_at=tables.now)
        row = tables.conversations[conversation_id]
        tables.conversations[conversation_id] = Row(advanced, row.created_with)
    return AppendResult(items=tuple(items))


def _check_messages(messages: list[dict[str, Any]]) -> None:
    """Check what the models do not: the sizes, and that ids do not repeat."""
    for i, message in enumerate(messages):
        if stored_size(message["parts"]) > MESSAGE_BYTES:
            raise _too_large(
                f"messages[{i}].parts",
                "is larger than 1 MiB; large output belongs in the tool-output store",
            )
        if stored_size(message.get("metadata", {})) > METADATA_BYTES:
            raise _too_large(f"messages[{i}].metadata", f"has more than {METADATA_BYTES} bytes")
    places: dict[str, int] = {}
    for i, message in enumerate(messages):
        first = places.setdefault(message["id"], i)
        if first != i:
            raise InvalidArgument(
                f"messages[{i}].id repeats messages[{first}].id",
                detail={"path": f"messages[{i}].id"},
                hint="Each message of a batch has its own id.",
            )


def _too_large(path: str, reason: str) -> LimitExceeded:
    return LimitExceeded(
        f"{path} {reason}",
        detail={"path": path, "reason": reason},
        hint="Mend it and repeat the whole batch; nothing was written.",
    )


def _new_message(
    tables: Tables, conversation_id: str, position: int, plain: dict[str, Any]
) -> Message:
    optional: dict[str, Any] = {"author_id": None, "run_id": None, "turn": None, "metadata": {}}
    return Message(
        **{**optional, **plain},
        tenant_id=tables.tenant_id,
        conversation_id=conversation_id,
        position=position,
        forked_from_id=None,
        created_at=tables.now,
    )


def _content(message: Message) -> Any:
    parts = [part.to_json() for part in message.parts]
    return comparable(
        [message.role, [*parts], message.author_id, message.run_id, message.turn, message.metadata]
    )


def _item(message: Message, outcome: str) -> AppendItem:
    return AppendItem(
        id=message.id,
        outcome=outcome,
        position=message.position,
        created_at=message.created_at,
        conflict=None,
    )


def _conflict(stored: Message, conflict: str) -> AppendItem:
    return AppendItem(
        id=stored.id, outcome="conflict", position=None, created_at=None, conflict=conflict
    )


def list_messages(
    tables: Tables,
    *,
    conversation_id: str,
    viewer_id: str | None,
    limit: int,
    after: str | None = None,
    before: str | None = None,
    direction: Direction = "forward",
    after_position: int | None = None,
    latest: bool = False,
) -> Page[Message]:
    """Return a page of messages, forward oldest first."""
    check_page(after, before)
    readable_conversation(tables, conversation_id, viewer_id)
    return page_of(
        tables.messages.get(conversation_id, ())[after_position or 0 :],
        key=lambda message: [message.position],
        descending=direction == "backward",
        scope=cursor_scope("messages", [conversation_id, after_position], direction),
        limit=limit,
        after=after,
        before=before,
        latest=latest,
    )


def find_message(tables: Tables, *, message_id: str, viewer_id: str | None) -> Message | None:
    """Return the message, where the viewer may read its conversation."""
    message = tables.messages_by_id.get(message_id)
    if message is None:
        return None
    conversation = tables.conversations[message.conversation_id].record
    return message if is_readable(conversation, viewer_id) else None


def count_messages(tables: Tables, *, conversation_id: str, viewer_id: str | None) -> int:
    """Return the last position: positions have no gaps."""
    return readable_conversation(tables, conversation_id, viewer_id).last_position
