# Written by scripts/generate_sync.py from strongroom/stores/skills.py: change that, and run `make generate`.
"""SkillStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
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
from strongroom.stores.base import existing
from strongroom.stores.tenants import PurgedTable, receipt_of
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlSkillStore(SqlStore):
    """See :class:`strongroom.ports.SkillStore`."""

    @port_method
    def create(
        self,
        *,
        tenant_id: Id,
        name: Name,
        skill_id: Id | None = None,
        description: Description | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedSkill:
        """See the port."""
        return self._one(
            CreatedSkill,
            "create_skill",
            tenant_id=tenant_id,
            name=name,
            skill_id=skill_id or new_id(),
            description=description,
            metadata=Document(metadata or {}),
        )

    @port_method
    def get(self, *, tenant_id: Id, skill_id: Id, deleted: bool = False) -> Skill:
        """See the port."""
        found = self._find_one(tenant_id, skill_id, deleted)
        return existing(found, "skill", "skill_id")

    @port_method
    def find(self, *, tenant_id: Id, skill_id: Id, deleted: bool = False) -> Skill | None:
        """See the port."""
        return self._find_one(tenant_id, skill_id, deleted)

    def _find_one(self, tenant_id: str, skill_id: str, deleted: bool) -> Skill | None:
        return self._find(
            Skill, "find_skill", tenant_id=tenant_id, skill_id=skill_id, deleted=deleted
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
    ) -> Page[Skill]:
        """See the port."""
        return self._page(
            Skill,
            "list_skills",
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
        skill_id: Id,
        expected_version: Version,
        name: Name | Unset = UNSET,
        description: Description | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
        actor_id: Id | None = None,
    ) -> Skill:
        """See the port."""
        changes: dict[str, JsonValue] = {
            "name": name,
            "description": description,
            "metadata": metadata,
        }
        changes = {k: v for k, v in changes.items() if v is not UNSET}
        return self._update(tenant_id, skill_id, expected_version, changes, actor_id)

    @port_method
    def archive(
        self,
        *,
        tenant_id: Id,
        skill_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Skill:
        """See the port."""
        return self._update(tenant_id, skill_id, expected_version, {"archived": True}, actor_id)

    @port_method
    def unarchive(
        self,
        *,
        tenant_id: Id,
        skill_id: Id,
        expected_version: Version,
        actor_id: Id | None = None,
    ) -> Skill:
        """See the port."""
        return self._update(tenant_id, skill_id, expected_version, {"archived": False}, actor_id)

    def _update(
        self,
        tenant_id: str,
        skill_id: str,
        expected_version: int,
        changes: dict[str, JsonValue],
        actor_id: str | None,
    ) -> Skill:
        return self._one(
            Skill,
            "update_skill",
            tenant_id=tenant_id,
            skill_id=skill_id,
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
        skill_id: Id,
        definition: JsonObject,
        version_id: Id | None = None,
        actor_id: Id | None = None,
    ) -> PublishedSkillVersion:
        """See the port."""
        return self._one(
            PublishedSkillVersion,
            "publish_skill_version",
            tenant_id=tenant_id,
            skill_id=skill_id,
            definition=Document(definition),
            version_id=version_id or new_id(),
            actor_id=actor_id,
        )

    @port_method
    def get_version(
        self, *, tenant_id: Id, skill_id: Id, version: CatalogVersion | None = None
    ) -> SkillVersion:
        """See the port."""
        found = self._find_one_version(tenant_id, skill_id, version)
        return existing(found, "skill version", "version" if version else "skill_id")

    @port_method
    def find_version(
        self, *, tenant_id: Id, skill_id: Id, version: CatalogVersion | None = None
    ) -> SkillVersion | None:
        """See the port."""
        return self._find_one_version(tenant_id, skill_id, version)

    def _find_one_version(
        self, tenant_id: str, skill_id: str, version: int | None
    ) -> SkillVersion | None:
        return self._find(
            SkillVersion,
            "find_skill_version",
            tenant_id=tenant_id,
            skill_id=skill_id,
            version=version,
        )

    @port_method
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
        """See the port."""
        return self._page(
            SkillVersionHead,
            "list_skill_versions",
            tenant_id=tenant_id,
            skill_id=skill_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
    def resolve(
        self, *, tenant_id: Id, skill_id: Id, version: CatalogVersion | None = None
    ) -> ResolvedSkill:
        """See the port."""
        return self._one(
            ResolvedSkill, "resolve_skill", tenant_id=tenant_id, skill_id=skill_id, version=version
        )

    @port_method
    def list_catalog(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[CatalogSkill]:
        """See the port."""
        return self._page(
            CatalogSkill,
            "list_skill_catalog",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
    def soft_delete(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> Skill:
        """See the port."""
        return self._one(
            Skill,
            "soft_delete_skill",
            tenant_id=tenant_id,
            skill_id=skill_id,
            actor_id=actor_id,
        )

    @port_method
    def restore(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> Skill:
        """See the port."""
        return self._one(
            Skill, "restore_skill", tenant_id=tenant_id, skill_id=skill_id, actor_id=actor_id
        )

    @port_method
    def purge(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> PurgeReceipt:
        """See the port."""
        rows = self._rows(
            PurgedTable,
            "purge_skill",
            tenant_id=tenant_id,
            skill_id=skill_id,
            actor_id=actor_id,
        )
        return receipt_of(rows)
