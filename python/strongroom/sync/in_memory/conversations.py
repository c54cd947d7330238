# Written by scripts/generate_sync.py from strongroom/in_memory/conversations.py: change that, and run `make generate`.
"""ConversationStore in memory: the port. What its calls do is in ``conversation_functions``."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.ids import new_id
from strongroom.in_memory.conversation_functions import (
    bind_agent,
    create_conversation,
    find_conversation,
    list_conversations,
    purge_conversation,
    restore_conversation,
    share_conversation,
    soft_delete_conversation,
    update_conversation,
)
from strongroom.in_memory.forks import fork_conversation
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
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryConversationStore(MemoryPort):
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
        return self._write(
            tenant_id,
            create_conversation,
            owner_id=owner_id,
            conversation_id=conversation_id or new_id(),
            title=title,
            external_ref=external_ref,
            visibility=visibility,
            participant_ids=[*participant_ids],
            agent_id=agent.agent_id if agent else None,
            agent_policy=agent.policy if agent else None,
            agent_version=agent.version if agent else None,
            metadata=metadata or {},
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
        return self._read(
            tenant_id,
            find_conversation,
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
        return self._read(
            tenant_id,
            list_conversations,
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
        return self._write(
            tenant_id,
            update_conversation,
            conversation_id=conversation_id,
            changes={k: v for k, v in changes.items() if v is not UNSET},
            expected_version=expected_version,
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
        return self._write(
            tenant_id,
            bind_agent,
            conversation_id=conversation_id,
            agent_id=agent.agent_id if agent else None,
            agent_policy=agent.policy if agent else None,
            agent_version=agent.version if agent else None,
            expected_version=expected_version,
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
        return self._write(
            tenant_id,
            share_conversation,
            conversation_id=conversation_id,
            visibility=visibility,
            participant_ids=[*participant_ids],
            expected_version=expected_version,
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
        return self._write(
            tenant_id,
            fork_conversation,
            conversation_id=conversation_id,
            fork_id=fork_id or new_id(),
            up_to_position=up_to_position,
            owner_id=owner_id,
            title=title,
        )

    @port_method
    def soft_delete(self, *, tenant_id: Id, conversation_id: Id) -> Conversation:
        """See the port."""
        return self._write(tenant_id, soft_delete_conversation, conversation_id=conversation_id)

    @port_method
    def restore(self, *, tenant_id: Id, conversation_id: Id) -> Conversation:
        """See the port."""
        return self._write(tenant_id, restore_conversation, conversation_id=conversation_id)

    @port_method
    def purge(self, *, tenant_id: Id, conversation_id: Id, dry_run: bool = False) -> PurgeReceipt:
        """See the port."""
        return self._write(
            tenant_id, purge_conversation, conversation_id=conversation_id, dry_run=dry_run
        )
