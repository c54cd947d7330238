# Written by scripts/generate_sync.py from strongroom/ports/messages.py: change that, and run `make generate`.
"""The port for messages."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id
from strongroom.models.context import Viewer
from strongroom.models.messages import AppendResult, Message
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.messages import AfterPosition, Batch


class MessageStore(Protocol):
    """Messages of a conversation: appended and read, never changed and never deleted alone.

    Every method raises NotFound (SR010) for a conversation that is absent, deleted or unreadable;
    InvalidArgument (SR001), InvalidText (SR003) or LimitExceeded (SR004) for bad input, before anything
    is written; PermissionDenied (SR020), TenantMismatch (SR021), Unavailable (SR050).
    """

    def append(self, *, tenant_id: Id, conversation_id: Id, messages: Batch) -> AppendResult:
        """Append 1 to 500 messages: all or none, in order, at contiguous positions.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            messages: each has an id, or gets a UUIDv7 before the first try, so a retry is safe.

        Returns:
            One item per message, in the order given: ``inserted``, ``duplicate`` or ``conflict``.
            A conflict changes nothing and does not stop the other messages.

        SQL: ``strongroom.append_messages``
        Source: the specification of the domain, section "MessageStore.append (#157)"

        Example:
            >>> import strongroom.sync
            >>> from strongroom import NewMessage, TextPart
            >>> def main() -> list[str]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         talk = store.conversations.create(tenant_id="acme", owner_id="ada")
            ...         hello = NewMessage(id="m1", role="user", parts=[TextPart(text="Hello")])
            ...         done = [
            ...             store.messages.append(
            ...                 tenant_id="acme", conversation_id=talk.id, messages=[hello]
            ...             )
            ...             for _ in range(2)
            ...         ]
            ...         return [item.outcome for result in done for item in result.items]
            >>> main()
            ['inserted', 'duplicate']
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
        after_position: AfterPosition | None = None,
        viewer: Viewer | None = None,
    ) -> Page[Message]:
        """Return a page of messages, forward oldest first.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse: newest first.
            after_position: only later positions, for readers who poll: whoever has seen position N will
                never see a lower one appear later.
            viewer: read with this principal's permissions; None reads as the host.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_messages``
        """
        ...

    def latest(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 50,
        viewer: Viewer | None = None,
    ) -> Page[Message]:
        """Return the newest messages, still oldest first; page back with previous_cursor.

        SQL: ``strongroom.list_messages``
        """
        ...

    def get(self, *, tenant_id: Id, message_id: Id, viewer: Viewer | None = None) -> Message:
        """Return the message, or raise NotFound. SQL: ``strongroom.find_message``."""
        ...

    def find(
        self, *, tenant_id: Id, message_id: Id, viewer: Viewer | None = None
    ) -> Message | None:
        """Return the message, or None. SQL: ``strongroom.find_message``."""
        ...

    def count(self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None) -> int:
        """Return how many messages the conversation has. SQL: ``strongroom.count_messages``."""
        ...
