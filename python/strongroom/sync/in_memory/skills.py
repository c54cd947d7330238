# Written by scripts/generate_sync.py from strongroom/in_memory/skills.py: change that, and run `make generate`.
"""SkillStore in memory: the port. What its calls do is in ``catalog_entries`` and ``catalog_versions``."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.catalog_entries import (
    create_entry,
    find_entry,
    list_entries,
    purge_entry,
    set_deleted,
    update_entry,
)
from strongroom.in_memory.catalog_versions import (
    find_version,
    list_skill_catalog,
    list_versions,
    publish_version,
    resolve_skill,
)
from strongroom.in_memory.skills import _on
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
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemorySkillStore(MemoryPort):
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
        return self._write(
            tenant_id,
            _on(create_entry),
            name=name,
            skill_id=skill_id or new_id(),
            description=description,
            metadata=metadata or {},
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
        return self._read(tenant_id, _on(find_entry), skill_id=skill_id, deleted=deleted)

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
        return self._read(
            tenant_id,
            _on(list_entries),
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
        return self._write(
            tenant_id,
            _on(update_entry),
            skill_id=skill_id,
            changes=changes,
            expected_version=expected_version,
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
        return self._write(
            tenant_id,
            _on(publish_version),
            skill_id=skill_id,
            definition=definition,
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
        return self._read(
            tenant_id,
            _on(find_version),
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
        return self._read(
            tenant_id,
            _on(list_versions),
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
        return self._read(tenant_id, _on(resolve_skill), skill_id=skill_id, version=version)

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
        return self._read(
            tenant_id,
            _on(list_skill_catalog),
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
    def soft_delete(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> Skill:
        """See the port."""
        return self._write(
            tenant_id,
            _on(set_deleted),
            skill_id=skill_id,
            actor_id=actor_id,
            is_deleted=True,
        )

    @port_method
    def restore(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> Skill:
        """See the port."""
        return self._write(
            tenant_id, _on(set_deleted), skill_id=skill_id, actor_id=actor_id, is_deleted=False
        )

    @port_method
    def purge(self, *, tenant_id: Id, skill_id: Id, actor_id: Id | None = None) -> PurgeReceipt:
        """See the port."""
        return self._write(
            tenant_id,
            _on(purge_entry),
            skill_id=skill_id,
            actor_id=actor_id,
        )
