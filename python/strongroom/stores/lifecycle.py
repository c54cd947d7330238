"""LifecycleStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, Record, Version
from strongroom.models.lifecycle import (
    DeletedRows,
    DeletionAction,
    DeletionReceipt,
    ErasureReceipt,
    ExpiredRecords,
    ExpiryQueue,
    KeepSeconds,
    RetentionPolicy,
    SweptRecords,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.arguments import port_method
from strongroom.stores.base import SqlStore


class _ErasedRows(Record):
    receipt_id: str | None
    table_name: str
    action: DeletionAction
    row_count: int


class _Removed(Record):
    removed: bool


class SqlLifecycleStore(SqlStore):
    """See :class:`strongroom.ports.LifecycleStore`."""

    @port_method
    async def erase_principal(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        dry_run: bool = False,
        receipt_id: Id | None = None,
    ) -> ErasureReceipt:
        """See the port."""
        rows = await self._rows(
            _ErasedRows,
            "erase_principal",
            tenant_id=tenant_id,
            principal_id=principal_id,
            dry_run=dry_run,
            receipt_id=receipt_id or new_id(),
        )
        return ErasureReceipt(
            receipt_id=rows[0].receipt_id if rows else None,
            dry_run=dry_run,
            items=tuple(
                DeletedRows(table_name=row.table_name, action=row.action, row_count=row.row_count)
                for row in rows
            ),
        )

    @port_method
    async def list_receipts(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        principal_id: Id | None = None,
    ) -> Page[DeletionReceipt]:
        """See the port."""
        return await self._page(
            DeletionReceipt,
            "list_deletion_receipts",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            principal_id=principal_id,
        )

    @port_method
    async def set_policy(
        self, *, tenant_id: Id, kind: Id, keep_seconds: KeepSeconds, expected_version: Version
    ) -> RetentionPolicy:
        """See the port."""
        return await self._one(
            RetentionPolicy,
            "set_retention_policy",
            tenant_id=tenant_id,
            kind=kind,
            keep_seconds=keep_seconds,
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    async def remove_policy(self, *, tenant_id: Id, kind: Id) -> bool:
        """See the port."""
        row = await self._one(_Removed, "remove_retention_policy", tenant_id=tenant_id, kind=kind)
        return row.removed

    @port_method
    async def list_policies(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[RetentionPolicy]:
        """See the port."""
        return await self._page(
            RetentionPolicy,
            "list_retention_policies",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
    async def sweep(
        self, *, tenant_id: Id | None = None, limit: Limit = 100, dry_run: bool = False
    ) -> tuple[SweptRecords, ...]:
        """See the port."""
        return tuple(
            await self._rows(
                SweptRecords, "sweep_retention", tenant_id=tenant_id, limit=limit, dry_run=dry_run
            )
        )

    @port_method
    async def expire(
        self, *, tenant_id: Id | None = None, limit: Limit = 500
    ) -> tuple[ExpiredRecords, ...]:
        """See the port."""
        return tuple(
            await self._rows(ExpiredRecords, "expire_records", tenant_id=tenant_id, limit=limit)
        )

    @port_method
    async def expiry_queue(self, *, tenant_id: Id) -> ExpiryQueue:
        """See the port."""
        return await self._one(ExpiryQueue, "read_expiry_queue", tenant_id=tenant_id)
