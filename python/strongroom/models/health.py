"""What a store says about itself."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from strongroom.models.audit import AuditQueue
from strongroom.models.base import Record
from strongroom.models.blobs import BlobRemovalQueue
from strongroom.models.files import FileQueue
from strongroom.models.lifecycle import ExpiryQueue
from strongroom.models.runs import RunQueue

Capability = Literal[
    "transactions",
    "row_level_security",
    "full_text_search",
    "vector_search",
    "realtime",
    "distributed_locking",
    "durable_jobs",
    "managed_schema",
    "blob_storage",
]
SchemaMode = Literal["auto", "plan", "off"]
TextPolicy = Literal["reject", "replace"]


class SchemaChange(Record):
    """One step that ``apply`` would take, or one difference that it cannot mend.

    Attributes:
        version: the migration's number.
        name: its domain.
        action: ``apply`` a migration, or ``drift``: an object differs from what the migrations made.
        description: what would happen, or what differs, for a person.
        object: the object that differs, such as ``index strongroom.conversations_by_owner``.
    """

    version: int
    name: str
    action: Literal["apply", "drift"]
    description: str
    object: str | None = None


class RetentionState(Record):
    """How far a tenant's retention has come.

    Attributes:
        policies: how many policies the tenant has.
        overdue: how many of them no sweep has finished for a day: is anybody sweeping?
        swept_at: when the one that waits longest was last finished; None: not yet, or no policy.
    """

    policies: int
    overdue: int
    swept_at: dt.datetime | None


class Health(Record):
    """The state of a store, for health checks and people.

    Attributes:
        adapter: ``memory``, ``postgresql`` or ``supabase``.
        status: ``ok``, or ``degraded`` when there are warnings.
        schema_version: the version that the database has; None when there is no schema.
        target_version: the version that this package has.
        capabilities: what the adapter can do here.
        server_version: the server's version, None in memory.
        role: the database role that calls run as.
        runs: how many of one tenant's runs stand where, when a tenant was named.
        files: how many of its uploads are pending, and since when, when a tenant was named.
        blob_removals: how many of its keys wait for their bytes to be removed, when a tenant was named.
        retention: how many of its policies no sweep has finished for a day, when a tenant was named.
        expiry: how many of its records have expired and are still there, when a tenant was named.
        audit: how many events of its audit are not sealed, and since when, when a tenant was named.
        warnings: what someone should look at, each with what to do.
    """

    adapter: Literal["memory", "postgresql", "supabase"]
    status: Literal["ok", "degraded"]
    schema_version: int | None
    target_version: int
    capabilities: tuple[Capability, ...]
    server_version: str | None = None
    role: str | None = None
    runs: RunQueue | None = None
    files: FileQueue | None = None
    blob_removals: BlobRemovalQueue | None = None
    retention: RetentionState | None = None
    expiry: ExpiryQueue | None = None
    audit: AuditQueue | None = None
    warnings: tuple[str, ...] = ()


class Finding(Record):
    """Something that ``doctor`` found wrong.

    Attributes:
        check: which check found it, such as ``row_security``.
        object: what it is about.
        problem: what is wrong.
        hint: what to do.
    """

    check: str
    object: str
    problem: str
    hint: str
