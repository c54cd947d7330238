"""The port for the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field, StringConstraints

from strongroom.models.audit import (
    AppendedAuditEvent,
    AuditEvent,
    AuditQueue,
    AuditSeal,
    AuditVerification,
    NewAuditEvent,
)
from strongroom.models.base import Id, Moment
from strongroom.models.pages import Cursor, Direction, Limit, Page

AuditBatch = Annotated[Sequence[NewAuditEvent], Field(min_length=1, max_length=500)]
ChainPosition = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
ChainDigest = Annotated[str, StringConstraints(strict=True, max_length=255)]


class AuditStore(Protocol):
    """What changed the security of a tenant's data: recorded by the functions that changed it.

    Tenants, members, sharing and deleting of conversations, ends of runs, approvals and grants leave an
    event in their own transaction, and the host may append its own. Events are only added; writers never
    wait for each other. A sweep (``seal``) gives the events their places in a chain of hashes, and
    ``verify`` follows it. Erasing a person takes their name off events, and the chain still holds. A
    purge of the tenant leaves nothing.

    For hosts. All raise InvalidArgument (SR001), LimitExceeded (SR004), NotFound (SR010),
    PermissionDenied (SR020), Unavailable (SR050).
    """

    async def append(self, *, tenant_id: Id, events: AuditBatch) -> tuple[AppendedAuditEvent, ...]:
        """Append 1 to 500 events of the host's own, all or none; return what is stored, in order.

        A repeat with the same id changes nothing and says ``duplicate``; another event with that id is a
        ``conflict``, and changes nothing either.

        SQL: ``strongroom.append_audit_events``

        Example:
            >>> import asyncio, strongroom
            >>> from strongroom.models import NewAuditEvent
            >>> async def main() -> list[str]:
            ...     async with strongroom.connect("memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         export = NewAuditEvent(action="report.export", record="report", record_id="r1")
            ...         await store.audit.append(tenant_id="acme", events=[export])
            ...         return [e.action for e in (await store.audit.list(tenant_id="acme")).items]
            >>> asyncio.run(main())
            ['tenant.create', 'report.export']
        """
        ...

    async def get(self, *, tenant_id: Id, event_id: Id) -> AuditEvent:
        """Return one event, or raise NotFound. SQL: ``strongroom.find_audit_event``."""
        ...

    async def find(self, *, tenant_id: Id, event_id: Id) -> AuditEvent | None:
        """Return one event, or None. SQL: ``strongroom.find_audit_event``."""
        ...

    async def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        action: Id | None = None,
        record: Id | None = None,
        record_id: Id | None = None,
        actor_id: Id | None = None,
        principal_id: Id | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> Page[AuditEvent]:
        """Return a page of events by the time they were recorded, oldest first.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's ``next_cursor``.
            before: a page's ``previous_cursor``.
            direction: ``backward`` for newest first.
            action: only this action.
            record: only about this kind of record.
            record_id: only about this record.
            actor_id: only what this principal did.
            principal_id: only what is about this principal.
            since: only what was recorded then or later.
            until: only what was recorded before.

        SQL: ``strongroom.list_audit_events``
        """
        ...

    async def seal(self, *, tenant_id: Id, limit: Limit = 500) -> AuditSeal:
        """Seal events that are not sealed yet, at most ``limit``, oldest first; a sweep calls it.

        Only another sealer of the tenant waits. What commits late has no place yet and is sealed next.

        SQL: ``strongroom.seal_audit``

        Example:
            >>> import asyncio, strongroom
            >>> async def main() -> tuple[int, bool]:
            ...     async with strongroom.connect("memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         seal = await store.audit.seal(tenant_id="acme")
            ...         checked = await store.audit.verify(
            ...             tenant_id="acme", known_position=seal.last_position, known_digest=seal.digest
            ...         )
            ...         return seal.sealed, checked.is_sound
            >>> asyncio.run(main())
            (1, True)
        """
        ...

    async def seal_all(self, *, limit: Limit = 100) -> tuple[AuditSeal, ...]:
        """Do one bounded step of sealing for all tenants; :mod:`strongroom.sealing` repeats it.

        Suspended tenants are sealed, too. A tenant that somebody else is sealing at the moment is passed
        over, so sweeps never wait for each other.

        Args:
            limit: how many tenants, those whose oldest event waits longest first, and how many events of
                each; 1..500.

        Returns:
            A seal for every tenant that had something to seal.

        Raises:
            TenantMismatch: SR021, in a unit of work, which serves one tenant.

        SQL: ``strongroom.seal_audits``

        Example:
            >>> import asyncio, strongroom
            >>> async def main() -> list[tuple[str, int]]:
            ...     async with strongroom.connect("memory:") as store:
            ...         for tenant_id in ("acme", "globex"):
            ...             await store.tenants.create(tenant_id=tenant_id, name=tenant_id)
            ...         return [(seal.tenant_id, seal.sealed) for seal in await store.audit.seal_all()]
            >>> asyncio.run(main())
            [('acme', 1), ('globex', 1)]
        """
        ...

    async def queue(self, *, tenant_id: Id) -> AuditQueue:
        """Return how many events are not sealed, and since when: is anybody sealing?

        SQL: ``strongroom.read_audit_queue``
        """
        ...

    async def verify(
        self,
        *,
        tenant_id: Id,
        after_position: ChainPosition = 0,
        limit: Limit = 500,
        known_position: ChainPosition | None = None,
        known_digest: ChainDigest | None = None,
    ) -> AuditVerification:
        """Follow the chain over up to ``limit`` sealed events; name the first that does not fit.

        Args:
            tenant_id: the tenant.
            after_position: go on after this place: the last answer's ``verified_to``.
            limit: events, 1..500.
            known_position: a place whose hash was kept elsewhere.
            known_digest: that hash, as ``seal`` returned it. It proves that nobody rewrote the whole.

        SQL: ``strongroom.verify_audit``
        """
        ...
