# Written by scripts/generate_sync.py from strongroom/ports/tenants.py: change that, and run `make generate`.
"""The port for tenants and their members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from strongroom.models.base import Id, JsonObject, Name
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import (
    CreatedMembership,
    CreatedTenant,
    Membership,
    PurgeReceipt,
    Tenant,
)


class TenantStore(Protocol):
    """Tenants and memberships. There is no list of tenants: a host sees the tenant it names.

    Every method raises PermissionDenied (SR020) for a caller that is neither a host nor, for reading,
    a user of the tenant; TenantMismatch (SR021) for a user of another tenant; InvalidArgument (SR001)
    or LimitExceeded (SR004) for arguments of the wrong shape; Unavailable (SR050) without a database.
    """

    def create(
        self, *, tenant_id: Id, name: Name, metadata: JsonObject | None = None
    ) -> CreatedTenant:
        """Create a tenant; the same call again changes nothing and says ``duplicate``.

        Args:
            tenant_id: 1 to 255 characters.
            name: for people, 1 to 255 characters.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            AlreadyExists: SR011, the id was created with other content.

        SQL: ``strongroom.create_tenant``
        """
        ...

    def get(self, *, tenant_id: Id) -> Tenant:
        """Return the tenant.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.find_tenant``
        """
        ...

    def find(self, *, tenant_id: Id) -> Tenant | None:
        """Return the tenant, or None. SQL: ``strongroom.find_tenant``."""
        ...

    def update(
        self,
        *,
        tenant_id: Id,
        expected_version: int,
        name: Name | None = None,
        metadata: JsonObject | None = None,
    ) -> Tenant:
        """Change name or metadata; what is None stays as it is.

        Args:
            tenant_id: the tenant.
            expected_version: the version that you read.
            name: the new name.
            metadata: the whole new metadata.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012, with ``detail["current_version"]``.

        SQL: ``strongroom.update_tenant``
        """
        ...

    def suspend(self, *, tenant_id: Id, expected_version: int) -> Tenant:
        """Refuse all writes, and hide everything from users, until ``resume``.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.update_tenant``
        """
        ...

    def resume(self, *, tenant_id: Id, expected_version: int) -> Tenant:
        """Take back a suspension. SQL: ``strongroom.update_tenant``."""
        ...

    def purge(
        self, *, tenant_id: Id, dry_run: bool = False, receipt_id: Id | None = None
    ) -> PurgeReceipt:
        """Delete the tenant and everything that is its, for good, in one transaction.

        What is only about deleting outlives it: receipts, and bytes that are still to be removed.

        Args:
            tenant_id: the tenant.
            dry_run: return the same counts, and change nothing.
            receipt_id: a repeat of the call with it returns the stored receipt; the binding makes a
                UUIDv7 when it is None.

        Returns:
            How many rows each table lost; a repeat deletes nothing and says so.

        Raises:
            AlreadyExists: SR011, the receipt's id is that of another deletion.

        SQL: ``strongroom.purge_tenant``
        """
        ...

    def add_member(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        role_ids: Sequence[Id] = (),
        membership_id: Id | None = None,
    ) -> CreatedMembership:
        """Add a principal to the tenant; a repeat with the same membership id changes nothing.

        Args:
            tenant_id: the tenant.
            principal_id: the user or service.
            role_ids: its roles there, at most 1,000.
            membership_id: the binding makes a UUIDv7 when it is None.

        Raises:
            NotFound: SR010, no such tenant.
            AlreadyExists: SR011, the principal is a member already.

        SQL: ``strongroom.add_member``
        """
        ...

    def get_member(self, *, tenant_id: Id, principal_id: Id) -> Membership:
        """Return a principal's membership, or raise NotFound. SQL: ``strongroom.find_member``."""
        ...

    def find_member(self, *, tenant_id: Id, principal_id: Id) -> Membership | None:
        """Return a principal's membership, or None. SQL: ``strongroom.find_member``."""
        ...

    def set_member_roles(
        self, *, tenant_id: Id, principal_id: Id, role_ids: Sequence[Id], expected_version: int
    ) -> Membership:
        """Replace a member's roles.

        Raises:
            NotFound: SR010.
            VersionConflict: SR012.

        SQL: ``strongroom.set_member_roles``
        """
        ...

    def remove_member(self, *, tenant_id: Id, principal_id: Id) -> bool:
        """Remove a member; return whether there was one. SQL: ``strongroom.remove_member``."""
        ...

    def list_members(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[Membership]:
        """Return a page of members, forward by principal id.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_members``
        """
        ...
