"""Tenants and memberships."""

from __future__ import annotations

from typing import Literal

from strongroom.models.base import Id, JsonObject, Name, Record, Timestamp, Version

TenantStatus = Literal["active", "suspended"]
CreateOutcome = Literal["inserted", "duplicate"]
"""inserted: it is new; duplicate: the same create had happened already, and nothing was changed."""


class Tenant(Record):
    """Who owns everything else: one customer, team or project."""

    tenant_id: Id
    name: Name
    status: TenantStatus
    metadata: JsonObject
    version: Version
    created_at: Timestamp
    updated_at: Timestamp


class CreatedTenant(Tenant):
    """A tenant as ``create`` returns it."""

    outcome: CreateOutcome


class Membership(Record):
    """A principal's place in a tenant."""

    tenant_id: Id
    id: Id
    principal_id: Id
    role_ids: tuple[str, ...]
    version: Version
    created_at: Timestamp
    updated_at: Timestamp


class CreatedMembership(Membership):
    """A membership as ``add_member`` returns it."""

    outcome: CreateOutcome


class PurgeReceipt(Record):
    """What a purge deleted.

    Attributes:
        tables: rows deleted, by table.
        receipt_id: where the receipt is stored, for the purge of a tenant that deleted something.
        dry_run: whether it was only tried: nothing has changed.
    """

    tables: dict[str, int]
    receipt_id: Id | None = None
    dry_run: bool = False

    @property
    def purged(self) -> bool:
        """Whether there was anything to delete."""
        return any(self.tables.values())
