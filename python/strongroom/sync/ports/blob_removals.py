# Written by scripts/generate_sync.py from strongroom/ports/blob_removals.py: change that, and run `make generate`.
"""The port for the list of bytes to remove."""

from __future__ import annotations

from typing import Protocol

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


class BlobRemovalStore(Protocol):
    """Keys whose bytes are to be removed from the blob store.

    Whatever deletes a record that refers to bytes puts their key here, in the same transaction. A
    sweep claims keys, removes the bytes, and confirms. A store that fails loses nothing: the key is
    claimed again, later and later. The list outlives its tenant.

    A key that a record refers to is never handed out, and one that is being removed cannot be referred
    to (InvalidTransition, SR030). All methods raise InvalidArgument (SR001), LimitExceeded (SR004),
    PermissionDenied (SR020), Unavailable (SR050).
    """

    def schedule(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval:
        """Put a key that nothing refers to on the list, also of a tenant that is gone.

        A repeat changes nothing. Deleting a record does it by itself; this is for bytes without one.

        Raises:
            InvalidTransition: SR030, a record refers to the bytes.

        SQL: ``strongroom.schedule_blob_removal``

        Example:
            >>> import strongroom.sync
            >>> def main() -> int:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.blob_removals.schedule(tenant_id="acme", blob_key="orphan")
            ...         queue = store.blob_removals.queue(tenant_id="acme")
            ...         return queue.waiting
            >>> main()
            1
        """
        ...

    def find(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval | None:
        """Return the removal that waits, or None. SQL: ``strongroom.find_blob_removal``."""
        ...

    def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[BlobRemoval]:
        """Return a page of what waits, forward by key.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_blob_removals``
        """
        ...

    def list_references(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[BlobReference]:
        """Return a page of the keys that living records refer to, in whatever table, by key.

        It is what :mod:`strongroom.blob_upkeep` compares with what a blob store has.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_blob_references``
        """
        ...

    def claim(
        self,
        *,
        worker_id: Id,
        lease_seconds: LeaseSeconds = 60.0,
        limit: Limit = 100,
        tenant_id: Id | None = None,
    ) -> tuple[BlobRemoval, ...]:
        """Claim keys that are due, the longest due first, of all tenants, purged ones too.

        A key that a record refers to again is taken off the list instead.

        Args:
            worker_id: who claims.
            lease_seconds: how long nobody else is handed the keys.
            limit: keys, 1..500.
            tenant_id: only this tenant's.

        SQL: ``strongroom.claim_blob_removals``
        """
        ...

    def complete(self, *, removals: RemovalClaims) -> tuple[BlobRemovalOutcome, ...]:
        """Say that the bytes are gone; the outcomes stand by tenant and key.

        Args:
            removals: claims (``removal.claim``) of any tenants, 0..500.

        SQL: ``strongroom.complete_blob_removals``
        """
        ...

    def retry_later(
        self, *, removals: FailedRemovals, delay_seconds: DelaySeconds | None = None
    ) -> tuple[BlobRemovalOutcome, ...]:
        """Give claims back with the reasons (``removal.failed(error)``), to be claimed again later.

        Args:
            removals: failed claims of any tenants, 0..500.
            delay_seconds: how long to wait; None takes ten seconds, doubling with each attempt up to an
                hour, with jitter.

        SQL: ``strongroom.retry_blob_removals_later``
        """
        ...

    def queue(self, *, tenant_id: Id) -> BlobRemovalQueue:
        """Return how many keys wait. SQL: ``strongroom.read_blob_removal_queue``."""
        ...
