# Written by scripts/generate_sync.py from strongroom/ports/conversations.py: change that, and run `make generate`.
"""The port for conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from strongroom.models.base import Id, JsonObject, Name
from strongroom.models.context import Viewer
from strongroom.models.conversations import (
    AgentBinding,
    Conversation,
    CreatedConversation,
    Visibility,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset, UpToPosition


class ConversationStore(Protocol):
    """Conversations: who owns them, who may read them, which agent answers.

    An unreadable conversation and an absent one are the same: NotFound (SR010). Every method raises
    InvalidArgument (SR001) or LimitExceeded (SR004) for arguments of the wrong shape, PermissionDenied
    (SR020) and TenantMismatch (SR021) for callers who may not, Unavailable (SR050) without a database.
    """

    def create(
        self,
        *,
        tenant_id: Id,
        owner_id: Id,
        conversation_id: Id | None = None,
        title: Name | None = None,
        external_ref: Id | None = None,
        visibility: Visibility = "private",
        participant_ids: Sequence[Id] = (),
        agent: AgentBinding | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedConversation:
        """Create a conversation; the same call with the same id again says ``duplicate``.

        Args:
            tenant_id: the tenant.
            owner_id: the principal it belongs to.
            conversation_id: the binding makes a UUIDv7 when it is None.
            title: for people, 1 to 255 characters.
            external_ref: the host's own name for it, unique among the tenant's living conversations.
            visibility: ``private`` or ``tenant``.
            participant_ids: who else may read and write, at most 1,000.
            agent: who answers.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            NotFound: SR010, no such tenant.
            AlreadyExists: SR011, the id was created with other content, or external_ref is taken.

        SQL: ``strongroom.create_conversation``

        Example:
            >>> import strongroom.sync
            >>> def main() -> str:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         talk = store.conversations.create(tenant_id="acme", owner_id="ada")
            ...         return talk.outcome
            >>> main()
            'inserted'
        """
        ...

    def get(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Conversation:
        """Return the conversation.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            viewer: read with this principal's permissions; None reads as the host.
            deleted: look among the soft-deleted ones instead, which hosts alone see.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.find_conversation``
        """
        ...

    def find(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Conversation | None:
        """Return the conversation, or None. SQL: ``strongroom.find_conversation``."""
        ...

    def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        owner_id: Id | None = None,
        external_ref: Id | None = None,
        archived: bool | None = None,
        deleted: bool = False,
    ) -> Page[Conversation]:
        """Return a page of conversations, forward newest first, by creation.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            viewer: only what this principal may read.
            owner_id: only what this principal owns.
            external_ref: only the one with this name.
            archived: only archived ones, or only others.
            deleted: the soft-deleted ones instead of the living; hosts alone see them.

        Raises:
            InvalidCursor: SR002, also for a cursor of another filter.

        SQL: ``strongroom.list_conversations``
        """
        ...

    def update(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        expected_version: int,
        title: Name | Unset | None = UNSET,
        external_ref: Id | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
        archived: bool | Unset = UNSET,
    ) -> Conversation:
        """Change fields of the conversation; those left out stay as they are.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            expected_version: the version that you read.
            title: the new title; None clears it.
            external_ref: the new name; None clears it.
            metadata: the whole new metadata.
            archived: put into the archive, or take out.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012, with ``detail["current_version"]``.
            AlreadyExists: SR011, external_ref is taken.

        SQL: ``strongroom.update_conversation``
        """
        ...

    def bind_agent(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        agent: AgentBinding | None,
        expected_version: int,
    ) -> Conversation:
        """Say which agent answers; None unbinds.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.bind_agent``
        """
        ...

    def share(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        visibility: Visibility,
        participant_ids: Sequence[Id],
        expected_version: int,
    ) -> Conversation:
        """Set the visibility and the whole list of participants.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.share_conversation``
        """
        ...

    def fork(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        fork_id: Id | None = None,
        up_to_position: UpToPosition | None = None,
        owner_id: Id | None = None,
        title: Name | None = None,
    ) -> CreatedConversation:
        """Copy the conversation up to a position into a new, private one.

        Messages keep their positions and get new ids (``forked_from_id`` names the original);
        summaries that cover no more come along; session state and participants stay behind.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation to copy.
            fork_id: the new conversation's id; the binding makes a UUIDv7 when it is None.
            up_to_position: the last message to copy, 0 for none; None for all.
            owner_id: the fork's owner; None keeps the owner.
            title: the fork's title; None keeps the title.

        Raises:
            NotFound: SR010.
            AlreadyExists: SR011, fork_id is taken.

        SQL: ``strongroom.fork_conversation``
        """
        ...

    def soft_delete(self, *, tenant_id: Id, conversation_id: Id) -> Conversation:
        """Hide it and all that hangs on it, restorably; a repeat changes nothing.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.soft_delete_conversation``
        """
        ...

    def restore(self, *, tenant_id: Id, conversation_id: Id) -> Conversation:
        """Bring a soft-deleted conversation back; a repeat changes nothing.

        Raises:
            NotFound: SR010.
            AlreadyExists: SR011, external_ref has been taken meanwhile.

        SQL: ``strongroom.restore_conversation``
        """
        ...

    def purge(self, *, tenant_id: Id, conversation_id: Id, dry_run: bool = False) -> PurgeReceipt:
        """Delete it and all that hangs on it, for good, in one transaction; live runs, too.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation, soft-deleted or not.
            dry_run: return the same counts, and change nothing.

        Returns:
            How many rows each table lost; for an id that does not exist, none: ``purged`` is False.

        SQL: ``strongroom.purge_conversation``
        """
        ...
