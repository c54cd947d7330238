"""ThreadSummaryStore in memory."""

from __future__ import annotations

from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, InvalidTransition, LimitExceeded
from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort, check_writable, readable_conversation
from strongroom.in_memory.database import Tables
from strongroom.in_memory.pages import (
    check_page,
    cursor_scope,
    decode_cursor,
    encode_cursor,
    page_of,
)
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.base import Id, JsonObject, Position, Text
from strongroom.models.context import Viewer
from strongroom.models.messages import Message
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.parts import ToolCallPart, ToolResultPart
from strongroom.models.summaries import CreatedThreadSummary, History, ThreadSummary
from strongroom.ports.arguments import port_method, viewer_id

TEXT_BYTES = 1_048_576


class MemoryThreadSummaryStore(MemoryPort):
    """See :class:`strongroom.ports.ThreadSummaryStore`."""

    @port_method
    async def append(
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
        return await self._write(
            tenant_id,
            append_thread_summary,
            conversation_id=conversation_id,
            text=text,
            covers_to_position=covers_to_position,
            summary_id=summary_id or new_id(),
            metadata=metadata or {},
        )

    @port_method
    async def latest(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> ThreadSummary | None:
        """See the port."""
        return await self._read(
            tenant_id,
            find_latest_thread_summary,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
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
        viewer: Viewer | None = None,
    ) -> Page[ThreadSummary]:
        """See the port."""
        return await self._read(
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
    async def history(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 500,
        after: Cursor | None = None,
        viewer: Viewer | None = None,
    ) -> History:
        """See the port."""
        return await self._read(
            tenant_id,
            read_history,
            conversation_id=conversation_id,
            limit=limit,
            after=after,
            viewer_id=viewer_id(tenant_id, viewer),
        )


def append_thread_summary(
    tables: Tables,
    *,
    conversation_id: str,
    text: str,
    covers_to_position: int,
    summary_id: str,
    metadata: dict[str, Any],
) -> CreatedThreadSummary:
    """Append a summary, or know a repeated call by its id and content."""
    check_writable(tables)
    check_size("metadata", metadata, METADATA_BYTES)
    _check_text(text)
    last_position = readable_conversation(tables, conversation_id).last_position
    stored = {s.id: s for summaries in tables.summaries.values() for s in summaries}.get(summary_id)
    if stored is not None:
        if (
            stored.conversation_id != conversation_id
            or stored.covers_to_position != covers_to_position
            or stored.text != text
            or comparable(stored.metadata) != comparable(metadata)
        ):
            raise AlreadyExists(
                "a summary with this id has other content or belongs to another conversation",
                detail={"path": "summary_id", "record": "thread summary"},
                hint="Use a new id for a new summary.",
            )
        return CreatedThreadSummary(**dict(stored), outcome="duplicate")
    if covers_to_position > last_position:
        raise InvalidArgument(
            f"covers_to_position must be between 1 and the last position, {last_position}",
            detail={"path": "covers_to_position", "last_position": last_position},
            hint="Summarise messages that the conversation has.",
        )
    summaries = tables.summaries.get(conversation_id, ())
    if summaries and covers_to_position < summaries[-1].covers_to_position:
        latest = summaries[-1].covers_to_position
        raise InvalidTransition(
            f"the latest summary covers up to {latest} already",
            detail={"path": "covers_to_position", "latest": latest},
            hint="Read the latest summary and go on from there; coverage never goes back.",
        )
    summary = ThreadSummary(
        tenant_id=tables.tenant_id,
        conversation_id=conversation_id,
        version=summaries[-1].version + 1 if summaries else 1,
        id=summary_id,
        covers_to_position=covers_to_position,
        text=text,
        metadata=metadata,
        created_at=tables.now,
    )
    tables.summaries[conversation_id] = (*summaries, summary)
    return CreatedThreadSummary(**dict(summary), outcome="inserted")


def _check_text(text: str) -> None:
    if not text:
        raise InvalidArgument(
            "text is required", detail={"path": "text"}, hint="Give the summary's text."
        )
    size = len(text.encode())
    if size > TEXT_BYTES:
        raise LimitExceeded(
            f"text has {size} bytes; at most {TEXT_BYTES} are allowed",
            detail={"path": "text", "limit": TEXT_BYTES, "actual": size},
            hint="A summary should be shorter than what it stands for.",
        )


def find_latest_thread_summary(
    tables: Tables, *, conversation_id: str, viewer_id: str | None
) -> ThreadSummary | None:
    """Return the newest summary."""
    readable_conversation(tables, conversation_id, viewer_id)
    summaries = tables.summaries.get(conversation_id, ())
    return summaries[-1] if summaries else None


def list_thread_summaries(
    tables: Tables,
    *,
    conversation_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
) -> Page[ThreadSummary]:
    """Return a page of summaries, forward oldest first."""
    check_page(after, before)
    readable_conversation(tables, conversation_id, viewer_id)
    return page_of(
        tables.summaries.get(conversation_id, ()),
        key=lambda summary: [summary.version],
        descending=direction == "backward",
        scope=cursor_scope("thread_summaries", [conversation_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def read_history(
    tables: Tables,
    *,
    conversation_id: str,
    limit: int,
    after: str | None,
    viewer_id: str | None,
) -> History:
    """Return the latest summary and the messages after it; a following page goes on at its cursor."""
    summary = find_latest_thread_summary(
        tables, conversation_id=conversation_id, viewer_id=viewer_id
    )
    messages = tables.messages.get(conversation_id, ())
    scope = cursor_scope("history", [conversation_id], "forward")
    key = decode_cursor("after", after, scope)
    if key is not None:
        summary = None
        start = int(key[0]) + 1
    else:
        start = find_history_start(messages, summary.covers_to_position if summary else 0)
    following = messages[start - 1 :]
    page = following[:limit]
    return History(
        summary=summary,
        messages=page,
        next_cursor=(
            encode_cursor(scope, [page[-1].position]) if len(following) > len(page) else None
        ),
    )


def find_history_start(messages: tuple[Message, ...], covers_to_position: int) -> int:
    """Return where the messages after a summary start, so that no tool result lacks its call.

    A summary that ends between the two makes the messages start at the call, which may lead further back
    once more. Tool messages at the start whose call is nowhere are left out.
    """
    start = covers_to_position + 1
    calls: dict[str, int] = {}
    results: list[tuple[int, int]] = []  # (position of a result, position of its call)
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = message.position
            elif isinstance(part, ToolResultPart) and part.tool_call_id in calls:
                results.append((message.position, calls[part.tool_call_id]))
    while earlier := [call for result, call in results if call < start <= result]:
        start = min(earlier)
    while start <= len(messages) and messages[start - 1].role == "tool":
        start += 1
    return start
