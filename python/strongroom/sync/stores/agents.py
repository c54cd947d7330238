# Written by scripts/generate_sync.py from strongroom/stores/agents.py: change that, and run `make generate`.
"""AgentStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
from strongroom.models.catalog import (
    Agent,
    AgentVersion,
    AgentVersionHead,
    CatalogVersion,
    CreatedAgent,
    Description,
    PublishedAgentVersion,
    ResolvedAgent,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset
from strongroom.stores.base import existing
from strongroom.stores.tenants import PurgedTable, receipt_of
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlAgentStore(SqlStore):
    """See :class:`strongroom.ports.AgentStore`."""

    @port_method
    def create(
        self,
        *,
        tenant_id: Id,
        name: Name,
        agent_id: Id | None = None,
        description: Description | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedAgent:
        """See the port."""
        return self._one(
            CreatedAgent,
            "create_agent",
            tenant_id=tenant_id,
            name=name,
            agent_id=agent_id or new_id(),
            description=description,
            metadata=Document(metadata or {}),
        )

    @port_method
    def get(self, *, tenant_id: Id, agent_id: Id, deleted: bool = False) -> Agent:
        """See the port."""
        found = self._find_one(tenant_id, agent_id, deleted)
        return existing(found, "agent", "agent_id")

    @port_method
    def find(self, *, tenant_id: Id, agent_id: Id, deleted: bool = False) -> Agent | None:
        """See the port."""
        return self._find_one(tenant_id, agent_id, deleted)

    def _find_one(self, tenant_id: str, agent_id: str, deleted: bool) -> Agent | None:
        return self._find(
            Agent, "find_agent", tenant_id=tenant_id, agent_id=agent_id, deleted=deleted
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
        archived: bool | None = None,
        deleted: bool = False,
    ) -> Page[Agent]:
        """See the port."""
        return self._page(
            Agent,
            "list_agents",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            archived=archived,
            deleted=deleted,
        )

    @port_method
    def update(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        expected_version: Version,
        name: Name | Unset = UNSET,
        description: Description | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
        actor_id: Id | None = None,
    ) -> Agent:
        """See the port."""
        changes: dict[str, JsonValue] = {
            "name": name,
            "description": description,
            "metadata": metadata,
        }
        changes = {k: v for k, v in changes.items() if v is not UNSET}
        return self._update(tenant_id, agent_id, expected_version, changes, actor_id)

    @port_method
    def archive(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Agent:
        """See the port."""
        return self._update(tenant_id, agent_id, expected_version, {"archived": True}, actor_id)

    @port_method
    def unarchive(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Agent:
        """See the port."""
        return self._update(tenant_id, agent_id, expected_version, {"archived": False}, actor_id)

    def _update(
        self,
        tenant_id: str,
        agent_id: str,
        expected_version: int,
        changes: dict[str, JsonValue],
        actor_id: str | None,
    ) -> Agent:
        return self._one(
            Agent,
            "update_agent",
            tenant_id=tenant_id,
            agent_id=agent_id,
            changes=Document(changes),
            expected_version=expected_version,
            write_id=new_id(),
            actor_id=actor_id,
        )

    @port_method
    def publish_version(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        definition: JsonObject,
        version_id: Id | None = None,
        actor_id: Id | None = None,
    ) -> PublishedAgentVersion:
        """See the port."""
        return self._one(
            PublishedAgentVersion,
            "publish_agent_version",
            tenant_id=tenant_id,
            agent_id=agent_id,
            definition=Document(definition),
            version_id=version_id or new_id(),
            actor_id=actor_id,
        )

    @port_method
    def get_version(
        self, *, tenant_id: Id, agent_id: Id, version: CatalogVersion | None = None
    ) -> AgentVersion:
        """See the port."""
        found = self._find_one_version(tenant_id, agent_id, version)
        return existing(found, "agent version", "version" if version else "agent_id")

    @port_method
    def find_version(
        self, *, tenant_id: Id, agent_id: Id, version: CatalogVersion | None = None
    ) -> AgentVersion | None:
        """See the port."""
        return self._find_one_version(tenant_id, agent_id, version)

    def _find_one_version(
        self, tenant_id: str, agent_id: str, version: int | None
    ) -> AgentVersion | None:
        return self._find(
            AgentVersion,
            "find_agent_version",
            tenant_id=tenant_id,
            agent_id=agent_id,
            version=version,
        )

    @port_method
    def list_versions(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[AgentVersionHead]:
        """See the port."""
        return self._page(
            AgentVersionHead,
            "list_agent_versions",
            tenant_id=tenant_id,
            agent_id=agent_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
    def resolve(self, *, tenant_id: Id, conversation_id: Id) -> ResolvedAgent:
        """See the port."""
        return self._one(
            ResolvedAgent,
            "resolve_agent",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
        )

    @port_method
    def soft_delete(self, *, tenant_id: Id, agent_id: Id, actor_id: Id | None = None) -> Agent:
        """See the port."""
        return self._one(
            Agent,
            "soft_delete_agent",
            tenant_id=tenant_id,
            agent_id=agent_id,
            actor_id=actor_id,
        )

    @port_method
    def restore(self, *, tenant_id: Id, agent_id: Id, actor_id: Id | None = None) -> Agent:
        """See the port."""
        return self._one(
            Agent, "restore_agent", tenant_id=tenant_id, agent_id=agent_id, actor_id=actor_id
        )

    @port_method
    def purge(self, *, tenant_id: Id, agent_id: Id, actor_id: Id | None = None) -> PurgeReceipt:
        """See the port."""
        rows = self._rows(
            PurgedTable,
            "purge_agent",
            tenant_id=tenant_id,
            agent_id=agent_id,
            actor_id=actor_id,
        )
        return receipt_of(rows)
