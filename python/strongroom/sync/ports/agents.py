# Written by scripts/generate_sync.py from strongroom/ports/agents.py: change that, and run `make generate`.
"""The port for agents."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject, Name, Version
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


class AgentStore(Protocol):
    """Agents and their published versions.

    Everyone in the tenant reads living agents and their versions, signed-in users included: keep secrets
    elsewhere. Hosts alone write, and see soft-deleted ones. An agent need not be here: a conversation or a
    run may name one that lives in the host's own code.

    Every method raises InvalidArgument (SR001) or LimitExceeded (SR004) for arguments of the wrong shape,
    PermissionDenied (SR020) and TenantMismatch (SR021) for callers who may not, Unavailable (SR050) without
    a database. ``actor_id`` is the principal who acts, for the audit log.
    """

    def create(
        self,
        *,
        tenant_id: Id,
        name: Name,
        agent_id: Id | None = None,
        description: Description | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedAgent:
        """Create an agent without a version; the same call with the same id again says ``duplicate``.

        Args:
            tenant_id: the tenant.
            name: for people, 1 to 255 characters.
            agent_id: unique in the tenant for ever; the binding makes a UUIDv7 when it is None.
            description: what it is for, 1 to 4,000 characters.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            NotFound: SR010, no such tenant.
            AlreadyExists: SR011, the id was created with other content, or is that of a purged agent.

        SQL: ``strongroom.create_agent``

        Example:
            >>> import strongroom.sync
            >>> def main() -> tuple[int, str]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         agent = store.agents.create(tenant_id="acme", name="Support")
            ...         done = store.agents.publish_version(
            ...             tenant_id="acme", agent_id=agent.id, definition={"model": "small"}
            ...         )
            ...         return done.version, done.outcome
            >>> main()
            (1, 'inserted')
        """
        ...

    def get(self, *, tenant_id: Id, agent_id: Id, deleted: bool = False) -> Agent:
        """Return the agent.

        Args:
            tenant_id: the tenant.
            agent_id: the agent.
            deleted: look among the soft-deleted ones instead, which hosts alone see.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.find_agent``
        """
        ...

    def find(self, *, tenant_id: Id, agent_id: Id, deleted: bool = False) -> Agent | None:
        """Return the agent, or None. SQL: ``strongroom.find_agent``."""
        ...

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
        """Return a page of agents, by id.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            archived: only archived ones, or only others.
            deleted: the soft-deleted ones instead of the living; hosts alone see them.

        Raises:
            InvalidCursor: SR002, also for a cursor of another filter.

        SQL: ``strongroom.list_agents``
        """
        ...

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
        """Change fields of the agent; those left out stay as they are.

        Args:
            tenant_id: the tenant.
            agent_id: the agent.
            expected_version: the ``version`` that you read.
            name: the new name.
            description: the new description; None clears it.
            metadata: the whole new metadata.
            actor_id: who acts.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012, with ``detail["current_version"]``.

        SQL: ``strongroom.update_agent``
        """
        ...

    def archive(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Agent:
        """Retire the agent: it stays readable and resolves to ``archived``, but takes no new versions.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.update_agent``
        """
        ...

    def unarchive(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Agent:
        """Take the agent out of the archive.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.update_agent``
        """
        ...

    def publish_version(
        self,
        *,
        tenant_id: Id,
        agent_id: Id,
        definition: JsonObject,
        version_id: Id | None = None,
        actor_id: Id | None = None,
    ) -> PublishedAgentVersion:
        """Publish the next version, which is never changed again; a repeat by id says ``duplicate``.

        Versions are numbered 1, 2, 3, ... without gaps; of two publishers at once, one gets n and the
        other n + 1.

        Args:
            tenant_id: the tenant.
            agent_id: the agent.
            definition: the host's own JSON object, at most 1 MiB. The whole tenant may read it.
            version_id: the binding makes a UUIDv7 when it is None.
            actor_id: who acts.

        Raises:
            NotFound: SR010, no such agent, or it is deleted.
            AlreadyExists: SR011, the id has other content or belongs to another agent.
            InvalidTransition: SR030, the agent is archived.

        SQL: ``strongroom.publish_agent_version``
        """
        ...

    def get_version(
        self, *, tenant_id: Id, agent_id: Id, version: CatalogVersion | None = None
    ) -> AgentVersion:
        """Return a published version, the latest without a number.

        Raises:
            NotFound: SR010, also when the agent is deleted or has no published version.

        SQL: ``strongroom.find_agent_version``
        """
        ...

    def find_version(
        self, *, tenant_id: Id, agent_id: Id, version: CatalogVersion | None = None
    ) -> AgentVersion | None:
        """Return a published version, or None. SQL: ``strongroom.find_agent_version``."""
        ...

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
        """Return a page of published versions, from 1 up, without definitions.

        Raises:
            NotFound: SR010, no such agent, or it is deleted.
            InvalidCursor: SR002.

        SQL: ``strongroom.list_agent_versions``
        """
        ...

    def resolve(self, *, tenant_id: Id, conversation_id: Id) -> ResolvedAgent:
        """Say what a conversation's agent binding stands for now, for whoever resumes it.

        A pinned version stays, whatever is published later; ``latest`` moves. An agent that is gone, or
        was never here, is no error: ``status`` says so.

        Raises:
            NotFound: SR010, no such conversation, or it is deleted.

        SQL: ``strongroom.resolve_agent``

        Example:
            >>> import strongroom.sync
            >>> from strongroom import AgentBinding
            >>> def main() -> tuple[str, int | None]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         talk = store.conversations.create(
            ...             tenant_id="acme", owner_id="ada",
            ...             agent=AgentBinding(agent_id="in-code", policy="pinned", version=3),
            ...         )
            ...         found = store.agents.resolve(tenant_id="acme", conversation_id=talk.id)
            ...         return found.status, found.version
            >>> main()
            ('uncatalogued', 3)
        """
        ...

    def soft_delete(self, *, tenant_id: Id, agent_id: Id, actor_id: Id | None = None) -> Agent:
        """Hide it and its versions, restorably; what names it resolves to ``deleted``.

        A repeat changes nothing.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.soft_delete_agent``
        """
        ...

    def restore(self, *, tenant_id: Id, agent_id: Id, actor_id: Id | None = None) -> Agent:
        """Bring a soft-deleted agent back; a repeat changes nothing.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.restore_agent``
        """
        ...

    def purge(self, *, tenant_id: Id, agent_id: Id, actor_id: Id | None = None) -> PurgeReceipt:
        """Delete it and its versions for good. Its id is never used again, so what names it stays true.

        Returns:
            How many rows each table lost; for an id that does not exist, none: ``purged`` is False.

        SQL: ``strongroom.purge_agent``
        """
        ...
