# Written by scripts/generate_sync.py from strongroom/stores/blob_removals.py: change that, and run `make generate`.
"""BlobRemovalStore on SQL."""

from __future__ import annotations

from strongroom.models.base import Id, JsonValue
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
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlBlobRemovalStore(SqlStore):
    """See :class:`strongroom.ports.BlobRemovalStore`."""

    @port_method
    def schedule(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval:
        """See the port."""
        return self._one(
            BlobRemoval, "schedule_blob_removal", tenant_id=tenant_id, blob_key=blob_key
        )

    @port_method
    def find(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval | None:
        """See the port."""
        return self._find(BlobRemoval, "find_blob_removal", tenant_id=tenant_id, blob_key=blob_key)

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
        return self._page(
            BlobRemoval,
            "list_blob_removals",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
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
        return self._page(
            BlobReference,
            "list_blob_references",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
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
        rows = self._rows(
            BlobRemoval,
            "claim_blob_removals",
            worker_id=worker_id,
            lease_seconds=lease_seconds,
            limit=limit,
            tenant_id=tenant_id,
        )
        return tuple(rows)

    @port_method
    def complete(self, *, removals: RemovalClaims) -> tuple[BlobRemovalOutcome, ...]:
        """See the port."""
        claims: JsonValue = [
            {"tenant_id": r.tenant_id, "blob_key": r.blob_key, "claim_token": r.claim_token}
            for r in removals
        ]
        rows = self._rows(BlobRemovalOutcome, "complete_blob_removals", removals=Document(claims))
        return tuple(rows)

    @port_method
    def retry_later(
        self, *, removals: FailedRemovals, delay_seconds: DelaySeconds | None = None
    ) -> tuple[BlobRemovalOutcome, ...]:
        """See the port."""
        failed: JsonValue = [dict(removal) for removal in removals]
        rows = self._rows(
            BlobRemovalOutcome,
            "retry_blob_removals_later",
            removals=Document(failed),
            delay_seconds=delay_seconds,
        )
        return tuple(rows)

    @port_method
    def queue(self, *, tenant_id: Id) -> BlobRemovalQueue:
        """See the port."""
        return self._one(BlobRemovalQueue, "read_blob_removal_queue", tenant_id=tenant_id)
