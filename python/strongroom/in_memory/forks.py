"""What ConversationStore.fork does."""

from __future__ import annotations

import hashlib
import uuid

from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.in_memory.base import check_writable, readable_conversation
from strongroom.in_memory.database import Row, Tables
from strongroom.models.conversations import Conversation, CreatedConversation


def fork_conversation(
    tables: Tables,
    *,
    conversation_id: str,
    fork_id: str,
    up_to_position: int | None,
    owner_id: str | None,
    title: str | None,
) -> CreatedConversation:
    """Copy a conversation up to a position, or know a repeated fork by its arguments."""
    check_writable(tables)
    created_with = ("fork", conversation_id, up_to_position, owner_id, title)
    row = tables.conversations.get(fork_id)
    if row is None:
        fork = _copy(
            tables,
            readable_conversation(tables, conversation_id),
            fork_id=fork_id,
            up_to_position=up_to_position,
            owner_id=owner_id,
            title=title,
        )
        tables.conversations[fork_id] = Row(fork, created_with)
        return CreatedConversation(**dict(fork), outcome="inserted")
    if row.created_with != created_with:
        raise AlreadyExists(
            "a conversation with this id was created otherwise",
            detail={"path": "fork_id", "record": "conversation"},
            hint="Choose another id for the fork.",
        )
    return CreatedConversation(**dict(row.record), outcome="duplicate")


def _copy(
    tables: Tables,
    source: Conversation,
    *,
    fork_id: str,
    up_to_position: int | None,
    owner_id: str | None,
    title: str | None,
) -> Conversation:
    end = source.last_position if up_to_position is None else up_to_position
    if end > source.last_position:
        raise InvalidArgument(
            f"up_to_position must be between 0 and the last position, {source.last_position}",
            detail={"path": "up_to_position", "last_position": source.last_position},
            hint="Fork at a message that the conversation has.",
        )
    messages = tuple(
        message.replace(
            conversation_id=fork_id,
            id=_copied_id(fork_id, message.id),
            forked_from_id=message.id,
            created_at=tables.now,
        )
        for message in tables.messages.get(source.id, ())[:end]
    )
    if messages:
        tables.messages[fork_id] = messages
        tables.messages_by_id.update({message.id: message for message in messages})
    summaries = tuple(
        summary.replace(
            conversation_id=fork_id,
            id=_copied_id(fork_id, summary.id),
            created_at=tables.now,
        )
        for summary in tables.summaries.get(source.id, ())
        if summary.covers_to_position <= end
    )
    if summaries:
        tables.summaries[fork_id] = summaries
    return source.replace(
        id=fork_id,
        owner_id=source.owner_id if owner_id is None else owner_id,
        participant_ids=(),
        title=source.title if title is None else title,
        external_ref=None,
        visibility="private",
        last_position=end,
        last_message_at=tables.now if end else None,
        forked_from_id=source.id,
        forked_from_position=end,
        version=1,
        archived_at=None,
        deleted_at=None,
        created_at=tables.now,
        updated_at=tables.now,
    )


def _copied_id(fork_id: str, original_id: str) -> str:
    """Return the copy's id, made from the fork's id and the original's: the same in a retry."""
    digest = hashlib.md5(f"{fork_id}\x1f{original_id}".encode(), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest))
