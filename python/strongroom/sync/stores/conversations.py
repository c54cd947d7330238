# Written by scripts/generate_sync.py from strongroom/stores/conversations.py: change that, and run `make generate`.
"""ConversationStore on SQL."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
from strongroom.models.context import Viewer
from strongroom.models.conversations import (
    AgentBinding,
    Conversation,
    CreatedConversation,
    Visibility,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.arguments import viewer_id
from strongroom.ports.conversations import UNSET, Unset, UpToPosition
from strongroom.stores.base import existing
from strongroom.stores.tenants import PurgedTable, receipt_of
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlConversationStore(SqlStore):
    """See :class:`strongroom.ports.ConversationStore`."""

    @port_method
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
        """See the port."""
        return self._one(
            CreatedConversation,
            "create_conversation",
            tenant_id=tenant_id,
            owner_id=owner_id,
            conversation_id=conversation_id or new_id(),
            title=title,
            external_ref=external_ref,
            visibility=visibility,
            participant_ids=list(participant_ids),
            agent_id=agent.agent_id if agent else None,
            agent_policy=agent.policy if agent else None,
            agent_version=agent.version if agent else None,
            metadata=Document(metadata or {}),
        )

    @port_method
    def get(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Conversation:
        """See the port."""
        found = self._find_one(tenant_id, conversation_id, viewer, deleted)
        return existing(found, "conversation", "conversation_id")

    @port_method
    def find(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Conversation | None:
        """See the port."""
        return self._find_one(tenant_id, conversation_id, viewer, deleted)

    def _find_one(
        self, tenant_id: str, conversation_id: str, viewer: Viewer | None, deleted: bool
    ) -> Conversation | None:
        return self._find(
            Conversation,
            "find_conversation",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
            deleted=deleted,
        )

    @port_method
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
        """See the port."""
        return self._page(
            Conversation,
            "list_conversations",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            owner_id=owner_id,
            external_ref=external_ref,
            archived=archived,
            deleted=deleted,
        )

    @port_method
    def update(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        expected_version: Version,
        title: Name | Unset | None = UNSET,
        external_ref: Id | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
        archived: bool | Unset = UNSET,
    ) -> Conversation:
        """See the port."""
        changes: dict[str, JsonValue] = {
            "title": title,
            "external_ref": external_ref,
            "metadata": metadata,
            "archived": archived,
        }
        return self._one(
            Conversation,
            "update_conversation",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            changes=Document({k: v for k, v in changes.items() if v is not UNSET}),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    def bind_agent(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        agent: AgentBinding | None,
        expected_version: Version,
    ) -> Conversation:
        """See the port."""
        return self._one(
            Conversation,
            "bind_agent",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            agent_id=agent.agent_id if agent else None,
            agent_policy=agent.policy if agent else None,
            agent_version=agent.version if agent else None,
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    def share(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        visibility: Visibility,
        participant_ids: Sequence[Id],
        expected_version: Version,
    ) -> Conversation:
        """See the port."""
        return self._one(
            Conversation,
            "share_conversation",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            visibility=visibility,
            participant_ids=[*participant_ids],
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
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
        """See the port."""
        return self._one(
            CreatedConversation,
            "fork_conversation",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            fork_id=fork_id or new_id(),
            up_to_position=up_to_position,
            owner_id=owner_id,
            title=title,
        )

    @port_method
    def soft_delete(self, *, tenant_id: Id, conversation_id: Id) -> Conversation:
        """See the port."""
        return self._one(
            Conversation,
            "soft_delete_conversation",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
        )

    @port_method
    def restore(self, *, tenant_id: Id, conversation_id: Id) -> Conversation:
        """See the port."""
        return self._one(
            Conversation,
            "restore_conversation",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
        )

    @port_method
    def purge(self, *, tenant_id: Id, conversation_id: Id, dry_run: bool = False) -> PurgeReceipt:
        """See the port."""
        rows = self._rows(
            PurgedTable,
            "purge_conversation",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            dry_run=dry_run,
        )
        return receipt_of(rows).replace(dry_run=dry_run)
