# Written by scripts/generate_sync.py from strongroom/in_memory/tenants.py: change that, and run `make generate`.
"""TenantStore in memory."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.ids import new_id
from strongroom.in_memory.purging import purge_tenant
from strongroom.in_memory.tenants import (
    add_member,
    create_tenant,
    find_member,
    find_tenant,
    list_members,
    remove_member,
    set_member_roles,
    update_tenant,
)
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import (
    CreatedMembership,
    CreatedTenant,
    Membership,
    PurgeReceipt,
    Tenant,
)
from strongroom.stores.base import existing
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryTenantStore(MemoryPort):
    """See :class:`strongroom.ports.TenantStore`."""

    @port_method
    def create(
        self, *, tenant_id: Id, name: Name, metadata: JsonObject | None = None
    ) -> CreatedTenant:
        """See the port."""
        return self._write(tenant_id, create_tenant, name=name, metadata=metadata or {})

    @port_method
    def get(self, *, tenant_id: Id) -> Tenant:
        """See the port."""
        return existing(self._read(tenant_id, find_tenant), "tenant", "tenant_id")

    @port_method
    def find(self, *, tenant_id: Id) -> Tenant | None:
        """See the port."""
        return self._read(tenant_id, find_tenant)

    @port_method
    def update(
        self,
        *,
        tenant_id: Id,
        expected_version: Version,
        name: Name | None = None,
        metadata: JsonObject | None = None,
    ) -> Tenant:
        """See the port."""
        changes: dict[str, JsonValue] = {"name": name, "metadata": metadata}
        given: JsonValue = {k: v for k, v in changes.items() if v is not None}
        return self._write(
            tenant_id, update_tenant, changes=given, expected_version=expected_version
        )

    @port_method
    def suspend(self, *, tenant_id: Id, expected_version: Version) -> Tenant:
        """See the port."""
        return self._write(
            tenant_id,
            update_tenant,
            changes={"status": "suspended"},
            expected_version=expected_version,
        )

    @port_method
    def resume(self, *, tenant_id: Id, expected_version: Version) -> Tenant:
        """See the port."""
        return self._write(
            tenant_id,
            update_tenant,
            changes={"status": "active"},
            expected_version=expected_version,
        )

    @port_method
    def purge(
        self, *, tenant_id: Id, dry_run: bool = False, receipt_id: Id | None = None
    ) -> PurgeReceipt:
        """See the port."""
        return self._write(
            tenant_id, purge_tenant, dry_run=dry_run, receipt_id=receipt_id or new_id()
        )

    @port_method
    def add_member(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        role_ids: Sequence[Id] = (),
        membership_id: Id | None = None,
    ) -> CreatedMembership:
        """See the port."""
        return self._write(
            tenant_id,
            add_member,
            principal_id=principal_id,
            role_ids=[*role_ids],
            membership_id=membership_id or new_id(),
        )

    @port_method
    def get_member(self, *, tenant_id: Id, principal_id: Id) -> Membership:
        """See the port."""
        found = self._read(tenant_id, find_member, principal_id=principal_id)
        return existing(found, "membership", "principal_id")

    @port_method
    def find_member(self, *, tenant_id: Id, principal_id: Id) -> Membership | None:
        """See the port."""
        return self._read(tenant_id, find_member, principal_id=principal_id)

    @port_method
    def set_member_roles(
        self, *, tenant_id: Id, principal_id: Id, role_ids: Sequence[Id], expected_version: Version
    ) -> Membership:
        """See the port."""
        return self._write(
            tenant_id,
            set_member_roles,
            principal_id=principal_id,
            role_ids=[*role_ids],
            expected_version=expected_version,
        )

    @port_method
    def remove_member(self, *, tenant_id: Id, principal_id: Id) -> bool:
        """See the port."""
        return self._write(tenant_id, remove_member, principal_id=principal_id)

    @port_method
    def list_members(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[Membership]:
        """See the port."""
        return self._read(
            tenant_id, list_members, limit=limit, after=after, before=before, direction=direction
        )
