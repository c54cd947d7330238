"""The port for how records end: erasing people, receipts, retention."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id
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


class LifecycleStore(Protocol):
    """Erasure of people, receipts of deletions, and retention policies with their sweep. For hosts.

    Every method raises PermissionDenied (SR020) for a caller that is no host; InvalidArgument (SR001) or
    LimitExceeded (SR004) for arguments of the wrong shape; Unavailable (SR050) without a database.
    """

    async def erase_principal(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        dry_run: bool = False,
        receipt_id: Id | None = None,
    ) -> ErasureReceipt:
        """Erase a person: everything that is theirs in every table, in one transaction.

        Conversations they own go with all that hangs on them, live runs included; a worker's next write
        is refused. In others' conversations their messages keep the place and lose author, words and
        metadata. Take their access away first: what they write later is new.

        Args:
            tenant_id: the tenant; a suspended one, too.
            principal_id: the person.
            dry_run: return the same counts, and change nothing.
            receipt_id: a repeat of the call with it returns the stored receipt; the binding makes a
                UUIDv7 when it is None.

        Returns:
            Rows by table and action; a second erasure finds nothing, and stores no receipt.

        Raises:
            NotFound: SR010, no such tenant.
            AlreadyExists: SR011, the receipt's id is that of another deletion.

        SQL: ``strongroom.erase_principal``

        Example:
            >>> import asyncio, strongroom
            >>> async def main() -> bool:
            ...     async with strongroom.connect("memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         await store.conversations.create(tenant_id="acme", owner_id="ada")
            ...         receipt = await store.lifecycle.erase_principal(
            ...             tenant_id="acme", principal_id="ada"
            ...         )
            ...         return receipt.count("conversations") == 1
            >>> asyncio.run(main())
            True
        """
        ...

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
        """Return a page of stored receipts, forward newest first, also of a tenant that is gone.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            principal_id: only receipts about this person. A receipt does not say whom it is about; it
                can only be compared with a name that the caller knows.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_deletion_receipts``
        """
        ...

    async def set_policy(
        self, *, tenant_id: Id, kind: Id, keep_seconds: KeepSeconds, expected_version: int
    ) -> RetentionPolicy:
        """Say how long the tenant keeps records of a kind.

        Args:
            tenant_id: the tenant.
            kind: ``conversations``, ``run_events``, ...; the error for an unknown one lists them.
            keep_seconds: how long, 0 to a hundred years.
            expected_version: the version of the policy that you read; 0 where there is none.

        Raises:
            NotFound: SR010, no such tenant or policy.
            VersionConflict: SR012, with ``detail["current_version"]``.

        SQL: ``strongroom.set_retention_policy``
        """
        ...

    async def remove_policy(self, *, tenant_id: Id, kind: Id) -> bool:
        """Keep records of a kind for ever; return whether there was a policy.

        SQL: ``strongroom.remove_retention_policy``
        """
        ...

    async def list_policies(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[RetentionPolicy]:
        """Return a page of the tenant's policies, forward by kind.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_retention_policies``
        """
        ...

    async def sweep(
        self, *, tenant_id: Id | None = None, limit: Limit = 100, dry_run: bool = False
    ) -> tuple[SweptRecords, ...]:
        """Do one bounded step of retention; repeat it while any item says ``has_more``.

        It touches no live run, no pending interaction and no conversation that has one. It can be stopped
        anywhere: the next call goes on.

        Args:
            tenant_id: the tenant; None: up to ``limit`` tenants whose sweep is due.
            limit: records per policy, 1..500.
            dry_run: return the counts of this step, and change nothing.

        Raises:
            NotFound: SR010, no such tenant.

        SQL: ``strongroom.sweep_retention``
        """
        ...

    async def expire(
        self, *, tenant_id: Id | None = None, limit: Limit = 500
    ) -> tuple[ExpiredRecords, ...]:
        """Do one bounded step of deleting what has an expires_at that has passed.

        :func:`strongroom.retention.expire_until_done` repeats it. Facts and records of frameworks are hidden
        from that moment on anyway; tool outputs wait for the end of their conversation's unfinished runs.
        What others have locked, suspended tenants, and one that is being purged are passed over.

        Args:
            tenant_id: the tenant; None: all tenants, the one that waits longest first.
            limit: records of all kinds together, 1..500.

        Returns:
            An item per kind. A step that deletes nothing is the last one, whatever it says of more.

        Raises:
            NotFound: SR010, no such tenant.
            TenantMismatch: SR021, without a tenant inside a unit of work, which serves one.

        SQL: ``strongroom.expire_records``

        Example:
            >>> import asyncio, strongroom
            >>> async def main() -> int:
            ...     async with strongroom.connect("memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
            ...         await store.tool_outputs.put(
            ...             tenant_id="acme", conversation_id=talk.id, text="4 parcels",
            ...             expires_at="2020-01-01T00:00:00Z",
            ...         )
            ...         return sum(one.expired for one in await store.lifecycle.expire())
            >>> asyncio.run(main())
            1
        """
        ...

    async def expiry_queue(self, *, tenant_id: Id) -> ExpiryQueue:
        """Return how much has expired and is still there, and since when: is anybody deleting it?

        SQL: ``strongroom.read_expiry_queue``
        """
        ...
