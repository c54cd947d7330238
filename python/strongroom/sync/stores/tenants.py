# Written by scripts/generate_sync.py from strongroom/stores/tenants.py: change that, and run `make generate`.
"""TenantStore on SQL."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.ids import new_id
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
from strongroom.stores.tenants import _PurgedTenantTable, _Removed, receipt_of
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlTenantStore(SqlStore):
    """See :class:`strongroom.ports.TenantStore`."""

    @port_method
    def create(
        self, *, tenant_id: Id, name: Name, metadata: JsonObject | None = None
    ) -> CreatedTenant:
        """See the port."""
        return self._one(
            CreatedTenant,
            "create_tenant",
            tenant_id=tenant_id,
            name=name,
            metadata=Document(metadata or {}),
        )

    @port_method
    def get(self, *, tenant_id: Id) -> Tenant:
        """See the port."""
        found = self._find(Tenant, "find_tenant", tenant_id=tenant_id)
        return existing(found, "tenant", "tenant_id")

    @port_method
    def find(self, *, tenant_id: Id) -> Tenant | None:
        """See the port."""
        return self._find(Tenant, "find_tenant", tenant_id=tenant_id)

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
        return self._update(
            tenant_id, expected_version, {k: v for k, v in changes.items() if v is not None}
        )

    @port_method
    def suspend(self, *, tenant_id: Id, expected_version: Version) -> Tenant:
        """See the port."""
        return self._update(tenant_id, expected_version, {"status": "suspended"})

    @port_method
    def resume(self, *, tenant_id: Id, expected_version: Version) -> Tenant:
        """See the port."""
        return self._update(tenant_id, expected_version, {"status": "active"})

    def _update(
        self, tenant_id: str, expected_version: int, changes: dict[str, JsonValue]
    ) -> Tenant:
        return self._one(
            Tenant,
            "update_tenant",
            tenant_id=tenant_id,
            changes=Document(changes),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    def purge(
        self, *, tenant_id: Id, dry_run: bool = False, receipt_id: Id | None = None
    ) -> PurgeReceipt:
        """See the port."""
        rows = self._rows(
            _PurgedTenantTable,
            "purge_tenant",
            tenant_id=tenant_id,
            dry_run=dry_run,
            receipt_id=receipt_id or new_id(),
        )
        stored_as = rows[0].receipt_id if rows else None
        return receipt_of(rows).replace(receipt_id=stored_as, dry_run=dry_run)

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
        return self._one(
            CreatedMembership,
            "add_member",
            tenant_id=tenant_id,
            principal_id=principal_id,
            role_ids=list(role_ids),
            membership_id=membership_id or new_id(),
        )

    @port_method
    def get_member(self, *, tenant_id: Id, principal_id: Id) -> Membership:
        """See the port."""
        found = self._find(
            Membership, "find_member", tenant_id=tenant_id, principal_id=principal_id
        )
        return existing(found, "membership", "principal_id")

    @port_method
    def find_member(self, *, tenant_id: Id, principal_id: Id) -> Membership | None:
        """See the port."""
        return self._find(Membership, "find_member", tenant_id=tenant_id, principal_id=principal_id)

    @port_method
    def set_member_roles(
        self, *, tenant_id: Id, principal_id: Id, role_ids: Sequence[Id], expected_version: Version
    ) -> Membership:
        """See the port."""
        return self._one(
            Membership,
            "set_member_roles",
            tenant_id=tenant_id,
            principal_id=principal_id,
            role_ids=list(role_ids),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    def remove_member(self, *, tenant_id: Id, principal_id: Id) -> bool:
        """See the port."""
        row = self._one(_Removed, "remove_member", tenant_id=tenant_id, principal_id=principal_id)
        return row.removed

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
        return self._page(
            Membership,
            "list_members",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )
