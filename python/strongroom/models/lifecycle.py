"""How records end: receipts of deletions, retention policies, and what a sweep did."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import Id, Record, Timestamp, Version

DeletionAction = Literal["delete", "clear", "erase"]
"""delete: the rows are gone. clear: they no longer name the person. erase: they have lost the person
and their words, and keep their place."""

DeletionKind = Literal["principal", "tenant"]

KeepSeconds = Annotated[int, Field(strict=True, ge=0, le=3_155_760_000)]
"""How long records are kept, in seconds: 0 to a hundred years."""


class DeletedRows(Record):
    """One line of a receipt: what became of how many rows of a table."""

    table_name: str
    action: DeletionAction
    row_count: int


class ErasureReceipt(Record):
    """What erasing a person did.

    Attributes:
        receipt_id: where the receipt is stored; None when nothing was erased, and for a dry run.
        dry_run: whether it was only tried: nothing has changed.
        items: by table and action; empty when nothing of the person was there.
    """

    receipt_id: Id | None
    dry_run: bool
    items: tuple[DeletedRows, ...]

    @property
    def erased(self) -> bool:
        """Whether there was anything to erase."""
        return bool(self.items)

    def count(self, table_name: str, action: DeletionAction = "delete") -> int:
        """Return how many rows of a table this happened to."""
        return sum(
            item.row_count
            for item in self.items
            if (item.table_name, item.action) == (table_name, action)
        )


class DeletionReceipt(Record):
    """A stored receipt: that a person was erased, or a tenant purged. It names no person."""

    tenant_id: Id
    id: Id
    kind: DeletionKind
    items: tuple[DeletedRows, ...]
    created_at: Timestamp


class RetentionPolicy(Record):
    """How long a tenant keeps records of a kind.

    Attributes:
        kind: which records, for example ``conversations`` or ``run_events``.
        keep_seconds: how long, from the moment that the kind says.
        swept_at: when a sweep last left nothing to do; None: not yet, with this policy.
    """

    tenant_id: Id
    kind: Id
    keep_seconds: int
    version: Version
    swept_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class ExpiredRecords(Record):
    """What one bounded step of expiry did with one kind, in all tenants that it served.

    Attributes:
        kind: ``framework_records``, ``memories`` or ``tool_outputs``.
        expired: records that are deleted.
        has_more: whether more is left; also where somebody else has it locked.
    """

    kind: Id
    expired: int
    has_more: bool


class ExpiryQueue(Record):
    """Which of a tenant's records have expired and are still there.

    Attributes:
        expired: how many.
        oldest_at: since when the one that waits longest has expired; None where nothing waits.
    """

    expired: int
    oldest_at: Timestamp | None


class SweptRecords(Record):
    """What one bounded step of a sweep did with one kind.

    Attributes:
        row_count: records that ended.
        held: conversations that had to stay because of a run or an interaction, of those looked at.
        has_more: whether more is left for the next step.
    """

    tenant_id: Id
    kind: Id
    row_count: int
    held: int
    has_more: bool
