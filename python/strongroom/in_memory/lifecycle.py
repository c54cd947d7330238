"""LifecycleStore in memory."""

from __future__ import annotations

import datetime as dt

from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort, check_writable
from strongroom.in_memory.erasure import erase_principal, list_receipts
from strongroom.in_memory.expiry import KINDS, expire_kind, expired_since, read_expiry_queue
from strongroom.in_memory.retention import list_policies, remove_policy, set_policy, sweep
from strongroom.models.base import Id, Version
from strongroom.models.lifecycle import (
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


class MemoryLifecycleStore(MemoryPort):
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
        return await self._write(
            tenant_id,
            erase_principal,
            principal_id=principal_id,
            dry_run=dry_run,
            receipt_id=receipt_id or new_id(),
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
        return await self._read(
            tenant_id,
            list_receipts,
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
        return await self._write(
            tenant_id,
            set_policy,
            kind=kind,
            keep_seconds=keep_seconds,
            expected_version=expected_version,
        )

    @port_method
    async def remove_policy(self, *, tenant_id: Id, kind: Id) -> bool:
        """See the port."""
        return await self._write(tenant_id, remove_policy, kind=kind)

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
        return await self._read(
            tenant_id, list_policies, limit=limit, after=after, before=before, direction=direction
        )

    @port_method
    async def sweep(
        self, *, tenant_id: Id | None = None, limit: Limit = 100, dry_run: bool = False
    ) -> tuple[SweptRecords, ...]:
        """See the port."""
        tenants = self._session.writable_tenants() if tenant_id is None else [tenant_id]
        done: list[SweptRecords] = []
        for tenant in tenants:
            done += await self._write(
                tenant, sweep, limit=limit, only_if_due=tenant_id is None, dry_run=dry_run
            )
        return tuple(done)

    @port_method
    async def expire(
        self, *, tenant_id: Id | None = None, limit: Limit = 500
    ) -> tuple[ExpiredRecords, ...]:
        """See the port."""
        counts = dict.fromkeys(KINDS, 0)
        for _, tenant, kind in await self._expired(tenant_id):
            left = limit - sum(counts.values())
            if left:
                counts[kind] += await self._write(tenant, expire_kind, kind=kind, limit=left)
        more = {kind for *_, kind in await self._expired(tenant_id)}
        return tuple(
            ExpiredRecords(kind=kind, expired=count, has_more=kind in more)
            for kind, count in counts.items()
        )

    async def _expired(self, tenant_id: str | None) -> list[tuple[dt.datetime, str, str]]:
        if tenant_id is None:
            tenants = self._session.writable_tenants()
        else:
            tenants = [tenant_id]
            await self._write(tenant_id, check_writable)
        found = [
            (since, tenant, kind)
            for tenant in tenants
            for kind, since in (await self._read(tenant, expired_since)).items()
        ]
        return sorted(found)

    @port_method
    async def expiry_queue(self, *, tenant_id: Id) -> ExpiryQueue:
        """See the port."""
        return await self._read(tenant_id, read_expiry_queue)
