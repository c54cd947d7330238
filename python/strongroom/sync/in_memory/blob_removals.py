# Written by scripts/generate_sync.py from strongroom/in_memory/blob_removals.py: change that, and run `make generate`.
"""BlobRemovalStore in memory."""

from __future__ import annotations

from strongroom.in_memory.blob_removals import (
    claim_removal,
    complete_removal,
    due_removals,
    find_removal,
    list_references,
    list_removals,
    read_removal_queue,
    retry_removal_later,
    schedule_unreferenced,
)
from strongroom.models.base import Id
from strongroom.models.blobs import (
    BlobKey,
    BlobReference,
    BlobRemoval,
    BlobRemovalOutcome,
    BlobRemovalQueue,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.blob_removals import FailedRemovals, RemovalClaims
from strongroom.ports.runs import DelaySeconds, LeaseSeconds
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryBlobRemovalStore(MemoryPort):
    """See :class:`strongroom.ports.BlobRemovalStore`."""

    @port_method
    def schedule(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval:
        """See the port."""
        return self._write(tenant_id, schedule_unreferenced, blob_key=blob_key)

    @port_method
    def find(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval | None:
        """See the port."""
        return self._read(tenant_id, find_removal, blob_key=blob_key)

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[BlobRemoval]:
        """See the port."""
        return self._read(
            tenant_id, list_removals, limit=limit, after=after, before=before, direction=direction
        )

    @port_method
    def list_references(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[BlobReference]:
        """See the port."""
        return self._read(
            tenant_id, list_references, limit=limit, after=after, before=before, direction=direction
        )

    @port_method
    def claim(
        self,
        *,
        worker_id: Id,
        lease_seconds: LeaseSeconds = 60.0,
        limit: Limit = 100,
        tenant_id: Id | None = None,
    ) -> tuple[BlobRemoval, ...]:
        """See the port."""
        tenants = [tenant_id] if tenant_id else self._session.writable_tenants()
        due: tuple[BlobRemoval, ...] = ()
        for tenant in tenants:
            due = (*due, *self._read(tenant, due_removals))
        claimed: tuple[BlobRemoval, ...] = ()
        for removal in sorted(due, key=lambda r: r.due_at):
            if len(claimed) == limit:
                break
            taken = self._write(
                removal.tenant_id,
                claim_removal,
                blob_key=removal.blob_key,
                worker_id=worker_id,
                lease_seconds=lease_seconds,
            )
            if taken is not None:
                claimed = (*claimed, taken)
        return claimed

    @port_method
    def complete(self, *, removals: RemovalClaims) -> tuple[BlobRemovalOutcome, ...]:
        """See the port."""
        self._session.writable_tenants()  # no unit of work serves all tenants
        outcomes: tuple[BlobRemovalOutcome, ...] = ()
        for claim in sorted(removals, key=lambda r: (r.tenant_id, r.blob_key)):
            done = self._write(
                claim.tenant_id,
                complete_removal,
                blob_key=claim.blob_key,
                claim_token=claim.claim_token,
            )
            outcomes = (*outcomes, done)
        return outcomes

    @port_method
    def retry_later(
        self, *, removals: FailedRemovals, delay_seconds: DelaySeconds | None = None
    ) -> tuple[BlobRemovalOutcome, ...]:
        """See the port."""
        self._session.writable_tenants()
        for claim in removals:
            self._storable(claim.tenant_id, {"blob_key": claim.blob_key, "error": claim.error})
        outcomes: tuple[BlobRemovalOutcome, ...] = ()
        for claim in sorted(removals, key=lambda r: (r.tenant_id, r.blob_key)):
            done = self._write(
                claim.tenant_id,
                retry_removal_later,
                blob_key=claim.blob_key,
                claim_token=claim.claim_token,
                error=claim.error,
                delay_seconds=delay_seconds,
            )
            outcomes = (*outcomes, done)
        return outcomes

    @port_method
    def queue(self, *, tenant_id: Id) -> BlobRemovalQueue:
        """See the port."""
        return self._read(tenant_id, read_removal_queue)
