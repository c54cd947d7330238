"""BlobRemovalStore in memory."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from typing import Any

from strongroom.errors import InvalidTransition
from strongroom.in_memory.base import MemoryPort
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import moment
from strongroom.models.base import Id
from strongroom.models.blobs import (
    BlobKey,
    BlobReference,
    BlobRemoval,
    BlobRemovalOutcome,
    BlobRemovalQueue,
)
from strongroom.models.files import FileVersion
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.ports.arguments import port_method
from strongroom.ports.blob_removals import FailedRemovals, RemovalClaims
from strongroom.ports.runs import DelaySeconds, LeaseSeconds

_TOKENS = itertools.count(1)
"""Claim tokens of this process: strictly growing, whatever is undone."""


class MemoryBlobRemovalStore(MemoryPort):
    """See :class:`strongroom.ports.BlobRemovalStore`."""

    @port_method
    async def schedule(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval:
        """See the port."""
        return await self._write(tenant_id, schedule_unreferenced, blob_key=blob_key)

    @port_method
    async def find(self, *, tenant_id: Id, blob_key: BlobKey) -> BlobRemoval | None:
        """See the port."""
        return await self._read(tenant_id, find_removal, blob_key=blob_key)

    @port_method
    async def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[BlobRemoval]:
        """See the port."""
        return await self._read(
            tenant_id, list_removals, limit=limit, after=after, before=before, direction=direction
        )

    @port_method
    async def list_references(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[BlobReference]:
        """See the port."""
        return await self._read(
            tenant_id, list_references, limit=limit, after=after, before=before, direction=direction
        )

    @port_method
    async def claim(
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
            due = (*due, *await self._read(tenant, due_removals))
        claimed: tuple[BlobRemoval, ...] = ()
        for removal in sorted(due, key=lambda r: r.due_at):
            if len(claimed) == limit:
                break
            taken = await self._write(
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
    async def complete(self, *, removals: RemovalClaims) -> tuple[BlobRemovalOutcome, ...]:
        """See the port."""
        self._session.writable_tenants()  # no unit of work serves all tenants
        outcomes: tuple[BlobRemovalOutcome, ...] = ()
        for claim in sorted(removals, key=lambda r: (r.tenant_id, r.blob_key)):
            done = await self._write(
                claim.tenant_id,
                complete_removal,
                blob_key=claim.blob_key,
                claim_token=claim.claim_token,
            )
            outcomes = (*outcomes, done)
        return outcomes

    @port_method
    async def retry_later(
        self, *, removals: FailedRemovals, delay_seconds: DelaySeconds | None = None
    ) -> tuple[BlobRemovalOutcome, ...]:
        """See the port."""
        self._session.writable_tenants()
        for claim in removals:
            self._storable(claim.tenant_id, {"blob_key": claim.blob_key, "error": claim.error})
        outcomes: tuple[BlobRemovalOutcome, ...] = ()
        for claim in sorted(removals, key=lambda r: (r.tenant_id, r.blob_key)):
            done = await self._write(
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
    async def queue(self, *, tenant_id: Id) -> BlobRemovalQueue:
        """See the port."""
        return await self._read(tenant_id, read_removal_queue)


def references(tables: Tables) -> dict[str, BlobReference]:
    """Return the keys of the bytes that living records refer to, each with one who does."""
    found: dict[str, BlobReference] = {}

    def add(key: str | None, table: str, *, pending: bool) -> None:
        if key is None:
            return
        known = found.get(key)
        found[key] = BlobReference(
            tenant_id=tables.tenant_id,
            blob_key=key,
            table_name=min(table, known.table_name) if known else table,
            is_pending=pending and (known is None or known.is_pending),
        )

    for rows in tables.file_versions.values():
        for version in (row.record for row in rows):
            if version.state in {"pending", "stored"}:
                add(version.blob_key, "file_versions", pending=version.state == "pending")
                add(version.extraction_blob_key, "file_versions", pending=False)
    for made in (v for versions in tables.artifact_versions.values() for v in versions):
        add(made.blob_key, "artifact_versions", pending=False)
    for export in tables.artifact_exports.values():
        add(export.blob_key, "artifact_exports", pending=False)
    for output in tables.tool_outputs.values():
        add(output.blob_key, "tool_outputs", pending=False)
    return found


def list_references(
    tables: Tables, *, limit: int, after: str | None, before: str | None, direction: Direction
) -> Page[BlobReference]:
    """Return a page of the keys that living records refer to, forward by key."""
    check_page(after, before)
    return page_of(
        list(references(tables).values()),
        key=lambda reference: [reference.blob_key],
        descending=direction == "backward",
        scope=cursor_scope("blob_references", [], direction),
        limit=limit,
        after=after,
        before=before,
    )


def _drop(tables: Tables, blob_key: str) -> None:
    """Take a key off the list; versions that waited for it are deleted."""
    tables.blob_removals.pop(blob_key)
    for file_id, rows in tables.file_versions.items():
        tables.file_versions[file_id] = tuple(_settled(row, blob_key) for row in rows)
        newest = tables.file_versions[file_id][-1].record
        file = tables.files[file_id]
        tables.files[file_id] = Row(file.record.replace(state=newest.state), file.created_with)


def _settled(row: Row[FileVersion], blob_key: str) -> Row[FileVersion]:
    if (row.record.blob_key, row.record.state) != (blob_key, "deleting"):
        return row
    gone = row.record.replace(state="deleted", state_changed_at=moment(), updated_at=moment())
    return Row(gone, row.created_with)


def schedule_removal(tables: Tables, blob_key: str) -> None:
    """Put a key on the list; whoever is removing its bytes does it again."""
    found = tables.blob_removals.get(blob_key)
    if found is None:
        tables.blob_removals[blob_key] = BlobRemoval(
            tenant_id=tables.tenant_id,
            blob_key=blob_key,
            requested_at=moment(),
            due_at=moment(),
            attempts=0,
            last_error=None,
            claim_token=None,
            worker_id=None,
            claimed_at=None,
        )
    elif found.claim_token is not None:
        tables.blob_removals[blob_key] = found.replace(requested_at=moment())


def keep_blob(tables: Tables, blob_key: str) -> None:
    """Take a key that is being referred to off the list.

    Raises:
        InvalidTransition: SR030, its bytes are being removed.
    """
    found = tables.blob_removals.get(blob_key)
    if found is None:
        return
    if found.claim_token is not None:
        raise InvalidTransition(
            "the bytes under this blob_key are being removed",
            detail={"path": "blob_key", "record": "blob_removal"},
            hint="Put the bytes under a new key, and name that one.",
        )
    _drop(tables, blob_key)


def schedule_unreferenced(tables: Tables, *, blob_key: str) -> BlobRemoval:
    """Put a key that nothing refers to on the list."""
    if blob_key in references(tables):
        raise InvalidTransition(
            "a record refers to the bytes under this blob_key",
            detail={"path": "blob_key", "record": "blob_removal"},
            hint="Delete what refers to them; that schedules their removal.",
        )
    schedule_removal(tables, blob_key)
    return tables.blob_removals[blob_key]


def find_removal(tables: Tables, *, blob_key: str) -> BlobRemoval | None:
    """Return the removal that waits."""
    return tables.blob_removals.get(blob_key)


def list_removals(
    tables: Tables, *, limit: int, after: str | None, before: str | None, direction: Direction
) -> Page[BlobRemoval]:
    """Return a page of what waits, forward by key."""
    check_page(after, before)
    return page_of(
        list(tables.blob_removals.values()),
        key=lambda removal: [removal.blob_key],
        descending=direction == "backward",
        scope=cursor_scope("blob_removals", [], direction),
        limit=limit,
        after=after,
        before=before,
    )


def due_removals(tables: Tables) -> list[BlobRemoval]:
    """Return what may be claimed."""
    return [removal for removal in tables.blob_removals.values() if removal.due_at <= moment()]


def claim_removal(
    tables: Tables, *, blob_key: str, worker_id: str, lease_seconds: float
) -> BlobRemoval | None:
    """Claim a key that is due; one that a record refers to is taken off the list."""
    found = tables.blob_removals.get(blob_key)
    if found is None or found.due_at > moment():
        return None
    if blob_key in references(tables):
        _drop(tables, blob_key)
        return None
    claimed = found.replace(
        attempts=found.attempts + 1,
        claim_token=next(_TOKENS),
        worker_id=worker_id,
        claimed_at=moment(),
        due_at=moment() + dt.timedelta(seconds=lease_seconds),
    )
    tables.blob_removals[blob_key] = claimed
    return claimed


def complete_removal(tables: Tables, *, blob_key: str, claim_token: int) -> BlobRemovalOutcome:
    """Take a key off the list, unless it was let go once more meanwhile."""
    found = _claimed(tables, blob_key, claim_token)
    if found is None or found.claimed_at is None:
        return _outcome(tables, blob_key, "stale")
    if found.requested_at > found.claimed_at:
        tables.blob_removals[blob_key] = _unclaimed(found, due_at=moment())
        return _outcome(tables, blob_key, "requested_again")
    _drop(tables, blob_key)
    return _outcome(tables, blob_key, "removed")


def retry_removal_later(
    tables: Tables, *, blob_key: str, claim_token: int, error: str, delay_seconds: float | None
) -> BlobRemovalOutcome:
    """Give a key back, to be claimed again after a delay that doubles with each attempt."""
    found = _claimed(tables, blob_key, claim_token)
    if found is None:
        return _outcome(tables, blob_key, "stale")
    if delay_seconds is None:
        longest = min(10 * 2 ** min(found.attempts - 1, 20), 3600)
        delay_seconds = longest * random.uniform(0.5, 1)  # noqa: S311
    due_at = moment() + dt.timedelta(seconds=delay_seconds)
    tables.blob_removals[blob_key] = _unclaimed(found, due_at=due_at, last_error=error)
    return _outcome(tables, blob_key, "waiting")


def read_removal_queue(tables: Tables) -> BlobRemovalQueue:
    """Count what waits."""
    removals = tables.blob_removals.values()
    return BlobRemovalQueue(
        waiting=sum(removal.claim_token is None for removal in removals),
        claimed=sum(removal.claim_token is not None for removal in removals),
        failing=sum(removal.last_error is not None for removal in removals),
        oldest_requested_at=min((removal.requested_at for removal in removals), default=None),
    )


def _claimed(tables: Tables, blob_key: str, claim_token: int) -> BlobRemoval | None:
    found = tables.blob_removals.get(blob_key)
    return found if found is not None and found.claim_token == claim_token else None


def _unclaimed(removal: BlobRemoval, **changes: Any) -> BlobRemoval:
    return removal.replace(claim_token=None, worker_id=None, claimed_at=None, **changes)


def _outcome(tables: Tables, blob_key: str, outcome: Any) -> BlobRemovalOutcome:
    return BlobRemovalOutcome(tenant_id=tables.tenant_id, blob_key=blob_key, outcome=outcome)
