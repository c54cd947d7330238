# Written by scripts/generate_sync.py from strongroom/ports/skills.py: change that, and run `make generate`.
"""The port for skills."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject, Name, Version
from strongroom.models.catalog import (
    CatalogSkill,
    CatalogVersion,
    CreatedSkill,
    Description,
    PublishedSkillVersion,
    ResolvedSkill,
    Skill,
    SkillVersion,
    SkillVersionHead,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset


class SkillStore(Protocol):
    """Skills and their published versions.

    Everyone in the tenant reads living skills and their versions, signed-in users included: keep secrets
    elsewhere. Hosts alone write, and see soft-deleted ones.

    Every method raises InvalidArgument (SR001) or LimitExceeded (SR004) for arguments of the wrong shape,
    PermissionDenied (SR020) and TenantMismatch (SR021) for callers who may not, Unavailable (SR050) without
    a database. ``actor_id`` is the principal who acts, for the audit log.
    """

    def create(
        self,
        *,
        tenant_id: Id,
        name: Name,
        skill_id: Id | None = None,
        description: Description | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedSkill:
        """Create a skill without a version; the same call with the same id again says ``duplicate``.

        Args:
            tenant_id: the tenant.
            name: for people, 1 to 255 characters.
            skill_id: unique in the tenant for ever; the binding makes a UUIDv7 when it is None.
            description: what it is for, 1 to 4,000 characters.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            NotFound: SR010, no such tenant.
            AlreadyExists: SR011, the id was created with other content, or is that of a purged skill.

        SQL: ``strongroom.create_skill``

        Example:
            >>> import strongroom.sync
            >>> def main() -> tuple[int, str]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         skill = store.skills.create(tenant_id="acme", name="Refunds")
            ...         done = store.skills.publish_version(
            ...             tenant_id="acme", skill_id=skill.id, definition={"steps": ["look", "ask"]}
            ...         )
            ...         return done.version, done.outcome
            >>> main()
            (1, 'inserted')
        """
        ...

    def get(self, *, tenant_id: Id, skill_id: Id, deleted: bool = False) -> Skill:
        """Return the skill.

        Args:
            tenant_id: the tenant.
            skill_id: the skill.
            deleted: look among the soft-deleted ones instead, which hosts alone see.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.find_skill``
        """
        ...

    def find(self, *, tenant_id: Id, skill_id: Id, deleted: bool = False) -> Skill | None:
        """Return the skill, or None. SQL: ``strongroom.find_skill``."""
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
    ) -> Page[Skill]:
        """Return a page of skills, by id.

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

        SQL: ``strongroom.list_skills``
        """
        ...

    def update(
        self,
        *,
        tenant_id: Id,
        skill_id: Id,
        expected_version: Version,
        name: Name | Unset = UNSET,
        description: Description | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
        actor_id: Id | None = None,
    ) -> Skill:
        """Change fields of the skill; those left out stay as they are.

        Args:
            tenant_id: the tenant.
            skill_id: the skill.
            expected_version: the ``version`` that you read.
            name: the new name.
            description: the new description; None clears it.
            metadata: the whole new metadata.
            actor_id: who acts.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012, with ``detail["current_version"]``.

        SQL: ``strongroom.update_skill``
        """
        ...

    def archive(
        self,
        *,
        tenant_id: Id,
        skill_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Skill:
        """Retire the skill: it stays readable and resolves to ``archived``, but takes no new versions.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.update_skill``
        """
        ...

    def unarchive(
        self,
        *,
        tenant_id: Id,
        skill_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Skill:
        """Take the skill out of the archive.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.update_skill``
        """
        ...

    def publish_version(
        self,
        *,
        tenant_id: Id,
        skill_id: Id,
        definition: JsonObject,
        version_id: Id | None = None,
        actor_id: Id | None = None,
    ) -> PublishedSkillVersion:
        """Publish the next version, which is never changed again; a repeat by id says ``duplicate``.

        Versions are numbered 1, 2, 3, ... without gaps; of two publishers at once, one gets n and the
        other n + 1.

        Args:
            tenant_id: the tenant.
            skill_id: the skill.
            definition: the host's own JSON object, at most 1 MiB. The whole tenant may read it.
            version_id: the binding makes a UUIDv7 when it is None.
            actor_id: who acts.

        Raises:
            NotFound: SR010, no such skill, or it is deleted.
            AlreadyExists: SR011, the id has other content or belongs to another skill.
            InvalidTransition: SR030, the skill is archived.

        SQL: ``strongroom.publish_skill_version``
        """
        ...

    def get_version(
        self, *, tenant_id: Id, skill_id: Id, version: CatalogVersion | None = None
    ) -> SkillVersion:
        """Return a published version, the latest without a number.

        Raises:
            NotFound: SR010, also when the skill is deleted or has no published version.

        SQL: ``strongroom.find_skill_version``
        """
        ...

    def find_version(
        self, *, tenant_id: Id, skill_id: Id, version: CatalogVersion | None = None
    ) -> SkillVersion | None:
        """Return a published version, or None. SQL: ``strongroom.find_skill_version``."""
        ...

    def list_versions(
        self,
        *,
        tenant_id: Id,
        skill_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[SkillVersionHead]:
        """Return a page of published versions, from 1 up, without definitions.

        Raises:
            NotFound: SR010, no such skill, or it is deleted.
            InvalidCursor: SR002.

        SQL: ``strongroom.list_skill_versions``
        """
        ...

    def resolve(
        self, *, tenant_id: Id, skill_id: Id, version: CatalogVersion | None = None
    ) -> ResolvedSkill:
        """Say what a reference to a skill stands for now: that version, or the latest without a number.

        A skill that is gone, or was never here, is no error: ``status`` says so.

        SQL: ``strongroom.resolve_skill``
        """
        ...

    def list_catalog(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[CatalogSkill]:
        """Return a page of what can be used, by id: each skill with its latest published version.

        Skills without a published version, archived and deleted ones are left out. Definitions are not
        loaded: ``get_version`` gives the one that was chosen.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_skill_catalog``
        """
        ...

    def soft_delete(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> Skill:
        """Hide it and its versions, restorably; what names it resolves to ``deleted``.

        A repeat changes nothing.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.soft_delete_skill``
        """
        ...

    def restore(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> Skill:
        """Bring a soft-deleted skill back; a repeat changes nothing.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.restore_skill``
        """
        ...

    def purge(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> PurgeReceipt:
        """Delete it and its versions for good. Its id is never used again, so what names it stays true.

        Returns:
            How many rows each table lost; for an id that does not exist, none: ``purged`` is False.

        SQL: ``strongroom.purge_skill``
        """
        ...
