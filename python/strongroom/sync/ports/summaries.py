# Written by scripts/generate_sync.py from strongroom/ports/summaries.py: change that, and run `make generate`.
"""The port for thread summaries."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject, Position, Text
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.summaries import CreatedThreadSummary, History, ThreadSummary


class ThreadSummaryStore(Protocol):
    """Summaries of a conversation, each standing for the messages up to a position.

    Every method raises NotFound (SR010) for a conversation that is absent, deleted or unreadable.
    """

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
        """Append a summary; the same call with the same id again says ``duplicate``.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            text: the summary, at most 1 MiB.
            covers_to_position: the last message that it stands for: it never goes back.
            summary_id: the binding makes a UUIDv7 when it is None.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            InvalidArgument: SR001, the conversation has no such position.
            InvalidTransition: SR030, the latest summary covers more already.
            AlreadyExists: SR011, the id has other content.

        SQL: ``strongroom.append_thread_summary``
        """
        ...

    def latest(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> ThreadSummary | None:
        """Return the newest summary, None before the first.

        SQL: ``strongroom.find_latest_thread_summary``
        """
        ...

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
        """Return a page of summaries, forward oldest first.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_thread_summaries``
        """
        ...

    def history(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 500,
        after: Cursor | None = None,
        viewer: Viewer | None = None,
    ) -> History:
        """Return what a model needs to go on: the latest summary and the messages after it.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            limit: messages, 1..500.
            after: a history's next_cursor.
            viewer: read with this principal's permissions; None reads as the host.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.read_history``
        """
        ...
