"""TenantStore in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strongroom.errors import AlreadyExists
from strongroom.ids import new_id
from strongroom.in_memory.audit_functions import outline_ids, record_audit
from strongroom.in_memory.base import MemoryPort, check_writable, versioned
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.purging import purge_tenant
from strongroom.in_memory.values import METADATA_BYTES, check_ids, check_size, comparable
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import (
    CreatedMembership,
    CreatedTenant,
    Membership,
    PurgeReceipt,
    Tenant,
)
from strongroom.ports.arguments import port_method
from strongroom.stores.base import existing


class MemoryTenantStore(MemoryPort):
    """See :class:`strongroom.ports.TenantStore`."""

    @port_method
    async def create(
        self, *, tenant_id: Id, name: Name, metadata: JsonObject | None = None
    ) -> CreatedTenant:
        """See the port."""
        return await self._write(tenant_id, create_tenant, name=name, metadata=metadata or {})

    @port_method
    async def get(self, *, tenant_id: Id) -> Tenant:
        """See the port."""
        return existing(await self._read(tenant_id, find_tenant), "tenant", "tenant_id")

    @port_method
    async def find(self, *, tenant_id: Id) -> Tenant | None:
        """See the port."""
        return await self._read(tenant_id, find_tenant)

    @port_method
    async def update(
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
        return await self._write(
            tenant_id, update_tenant, changes=given, expected_version=expected_version
        )

    @port_method
    async def suspend(self, *, tenant_id: Id, expected_version: Version) -> Tenant:
        """See the port."""
        return await self._write(
            tenant_id,
            update_tenant,
            changes={"status": "suspended"},
            expected_version=expected_version,
        )

    @port_method
    async def resume(self, *, tenant_id: Id, expected_version: Version) -> Tenant:
        """See the port."""
        return await self._write(
            tenant_id,
            update_tenant,
            changes={"status": "active"},
            expected_version=expected_version,
        )

    @port_method
    async def purge(
        self, *, tenant_id: Id, dry_run: bool = False, receipt_id: Id | None = None
    ) -> PurgeReceipt:
        """See the port."""
        return await self._write(
            tenant_id, purge_tenant, dry_run=dry_run, receipt_id=receipt_id or new_id()
        )

    @port_method
    async def add_member(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        role_ids: Sequence[Id] = (),
        membership_id: Id | None = None,
    ) -> CreatedMembership:
        """See the port."""
        return await self._write(
            tenant_id,
            add_member,
            principal_id=principal_id,
            role_ids=[*role_ids],
            membership_id=membership_id or new_id(),
        )

    @port_method
    async def get_member(self, *, tenant_id: Id, principal_id: Id) -> Membership:
        """See the port."""
        found = await self._read(tenant_id, find_member, principal_id=principal_id)
        return existing(found, "membership", "principal_id")

    @port_method
    async def find_member(self, *, tenant_id: Id, principal_id: Id) -> Membership | None:
        """See the port."""
        return await self._read(tenant_id, find_member, principal_id=principal_id)

    @port_method
    async def set_member_roles(
        self, *, tenant_id: Id, principal_id: Id, role_ids: Sequence[Id], expected_version: Version
    ) -> Membership:
        """See the port."""
        return await self._write(
            tenant_id,
            set_member_roles,
            principal_id=principal_id,
            role_ids=[*role_ids],
            expected_version=expected_version,
        )

    @port_method
    async def remove_member(self, *, tenant_id: Id, principal_id: Id) -> bool:
        """See the port."""
        return await self._write(tenant_id, remove_member, principal_id=principal_id)

    @port_method
    async def list_members(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[Membership]:
        """See the port."""
        return await self._read(
            tenant_id, list_members, limit=limit, after=after, before=before, direction=direction
        )


def create_tenant(tables: Tables, *, name: str, metadata: dict[str, Any]) -> CreatedTenant:
    """Create the tenant, or know a repeated create by its content."""
    check_size("metadata", metadata, METADATA_BYTES)
    created_with = comparable([name, metadata])
    inserted = tables.tenant is None
    if tables.tenant is None:
        tenant = Tenant(
            tenant_id=tables.tenant_id,
            name=name,
            status="active",
            metadata=metadata,
            version=1,
            created_at=tables.now,
            updated_at=tables.now,
        )
        tables.tenant = Row(tenant, created_with)
        record_audit(tables, "tenant.create", "tenant", tables.tenant_id)
    if tables.tenant.created_with != created_with:
        raise AlreadyExists(
            "a tenant with this id was created with other content",
            detail={"path": "tenant_id", "record": "tenant"},
            hint="Read it and update it, or choose another id.",
        )
    return CreatedTenant(
        **dict(tables.tenant.record), outcome="inserted" if inserted else "duplicate"
    )


def find_tenant(tables: Tables) -> Tenant | None:
    """Return the tenant."""
    return tables.tenant.record if tables.tenant else None


def update_tenant(tables: Tables, *, changes: dict[str, Any], expected_version: int) -> Tenant:
    """Change name, metadata or status; a suspended tenant can be changed, too."""
    if "metadata" in changes:
        check_size("changes.metadata", changes["metadata"], METADATA_BYTES)
    row = versioned(tables.tenant, "tenant", expected_version)
    tenant = row.record.replace(**changes, version=row.record.version + 1, updated_at=tables.now)
    tables.tenant = Row(tenant, row.created_with)
    record_audit(
        tables,
        _STATUS_ACTIONS.get(str(changes.get("status")), "tenant.update"),
        "tenant",
        tables.tenant_id,
        details={"version": tenant.version, "changed": [*sorted(changes)]},
    )
    return tenant


_STATUS_ACTIONS = {"suspended": "tenant.suspend", "active": "tenant.resume"}


def add_member(
    tables: Tables, *, principal_id: str, role_ids: list[str], membership_id: str
) -> CreatedMembership:
    """Add a member, or know a repeated call by the membership's id and content."""
    check_writable(tables)
    check_ids("role_ids", role_ids)
    created_with = (principal_id, role_ids)
    by_id = {row.record.id: row for row in tables.members.values()}
    inserted = membership_id not in by_id and principal_id not in tables.members
    if inserted:
        member = Membership(
            tenant_id=tables.tenant_id,
            id=membership_id,
            principal_id=principal_id,
            role_ids=role_ids,
            version=1,
            created_at=tables.now,
            updated_at=tables.now,
        )
        by_id[membership_id] = tables.members[principal_id] = Row(member, created_with)
        record_audit(
            tables,
            "member.add",
            "membership",
            membership_id,
            details=outline_ids("role", role_ids),
            principal_id=principal_id,
        )
    row = by_id.get(membership_id)
    if row is None or row.created_with != created_with:
        raise AlreadyExists(
            "this principal is a member already, or the membership id is taken",
            detail={"path": "principal_id", "record": "membership"},
            hint="Read the membership and set its roles.",
        )
    return CreatedMembership(**dict(row.record), outcome="inserted" if inserted else "duplicate")


def find_member(tables: Tables, *, principal_id: str) -> Membership | None:
    """Return the principal's membership."""
    row = tables.members.get(principal_id)
    return row.record if row else None


def set_member_roles(
    tables: Tables, *, principal_id: str, role_ids: list[str], expected_version: int
) -> Membership:
    """Replace a member's roles."""
    check_writable(tables)
    check_ids("role_ids", role_ids)
    row = versioned(tables.members.get(principal_id), "membership", expected_version)
    member = row.record.replace(
        role_ids=role_ids, version=row.record.version + 1, updated_at=tables.now
    )
    tables.members[principal_id] = Row(member, row.created_with)
    record_audit(
        tables,
        "member.set_roles",
        "membership",
        member.id,
        details={**outline_ids("role", role_ids), "version": member.version},
        principal_id=principal_id,
    )
    return member


def remove_member(tables: Tables, *, principal_id: str) -> bool:
    """Remove a member; what the principal owns stays."""
    check_writable(tables)
    removed = tables.members.pop(principal_id, None)
    if removed is not None:
        member = removed.record
        record_audit(tables, "member.remove", "membership", member.id, principal_id=principal_id)
    return removed is not None


def list_members(
    tables: Tables, *, limit: int, after: str | None, before: str | None, direction: Direction
) -> Page[Membership]:
    """Return a page of members, forward by principal id."""
    check_page(after, before)
    return page_of(
        [row.record for row in tables.members.values()],
        key=lambda member: [member.principal_id],
        descending=direction == "backward",
        scope=cursor_scope("members", [], direction),
        limit=limit,
        after=after,
        before=before,
    )
