"""The port for usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field, StringConstraints

from strongroom.models.base import Id, Moment
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import ClaimToken
from strongroom.models.usage import (
    NewUsage,
    RecordedUsage,
    RunUsage,
    UsageEvent,
    UsageItem,
    UsageKey,
    UsageSum,
    UsageTotals,
)

UsageBatch = Annotated[Sequence[NewUsage], Field(min_length=1, max_length=500)]
RunUsageBatch = Annotated[Sequence[RunUsage], Field(min_length=1, max_length=500)]
TurnUsage = Annotated[Sequence[RunUsage], Field(max_length=500)]
TimeZone = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=255)]


class UsageStore(Protocol):
    """The ledger of what models and tools used and cost. Events are only added, never changed.

    Usage outlives the conversation and the run that it names, and leaves only with its tenant; it may
    also be recorded when they are gone, because what was used was used. Erasing a person takes their
    name off it. A viewer sees the usage of conversations that they may read; without one, a host sees
    everything.

    All raise InvalidArgument (SR001), LimitExceeded (SR004), NotFound (SR010), PermissionDenied (SR020),
    TenantMismatch (SR021), Unavailable (SR050).
    """

    async def record(self, *, tenant_id: Id, events: UsageBatch) -> tuple[RecordedUsage, ...]:
        """Record 1 to 500 events, all or none; return what is stored, in the same order.

        An event is known by its id, and by run and step together: a retry of the very same attempt is a
        ``duplicate`` and is counted once, and another attempt is another step. The same key with other
        content is a ``conflict``. Neither changes anything. What occurred more than 5 minutes in the
        future is refused.

        Raises:
            InvalidArgument: SR001, also when corrections would exceed what they correct.
            NotFound: SR010, the event to correct is not there.

        SQL: ``strongroom.record_usage``

        Example:
            >>> import asyncio, strongroom
            >>> from strongroom.models import NewUsage
            >>> async def main() -> tuple[int, str]:
            ...     async with strongroom.connect("memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         call = NewUsage(id="call-1", model="small", input_tokens=800, output_tokens=60)
            ...         for _ in range(2):
            ...             (stored,) = await store.usage.record(tenant_id="acme", events=[call])
            ...         totals = await store.usage.totals(tenant_id="acme")
            ...         return totals.input_tokens, stored.outcome
            >>> asyncio.run(main())
            (800, 'duplicate')
        """
        ...

    async def record_for_run(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, events: RunUsageBatch
    ) -> tuple[UsageItem, ...]:
        """Record usage of a claimed run before it ends; ``runs.finish`` takes the rest.

        Run and conversation are the run's own; agent and principal (the conversation's owner) are, too,
        where the event names none.

        Raises:
            AlreadyExists: SR011, an id or step was recorded with other content; nothing was written.
            StaleClaim: SR031, somebody else has the run; nothing was written.

        SQL: ``strongroom.record_run_usage``
        """
        ...

    async def get(self, *, tenant_id: Id, usage_id: Id, viewer: Viewer | None = None) -> UsageEvent:
        """Return one event, or raise NotFound. SQL: ``strongroom.find_usage``."""
        ...

    async def find(
        self, *, tenant_id: Id, usage_id: Id, viewer: Viewer | None = None
    ) -> UsageEvent | None:
        """Return one event, or None. SQL: ``strongroom.find_usage``."""
        ...

    async def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        conversation_id: Id | None = None,
        run_id: Id | None = None,
        principal_id: Id | None = None,
        agent_id: Id | None = None,
        model: Id | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> Page[UsageEvent]:
        """Return a page of events by the time they occurred, oldest first.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's ``next_cursor``.
            before: a page's ``previous_cursor``.
            direction: ``backward`` for newest first.
            viewer: whose eyes to look with.
            conversation_id: only of this conversation, also when it is gone.
            run_id: only of this run.
            principal_id: only on behalf of this principal.
            agent_id: only of this agent.
            model: only of this model.
            since: only what occurred then or later.
            until: only what occurred before.

        SQL: ``strongroom.list_usage``
        """
        ...

    async def totals(
        self,
        *,
        tenant_id: Id,
        viewer: Viewer | None = None,
        conversation_id: Id | None = None,
        run_id: Id | None = None,
        principal_id: Id | None = None,
        agent_id: Id | None = None,
        model: Id | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> UsageTotals:
        """Return the sum of the events that ``list`` would return with the same filters.

        SQL: ``strongroom.read_usage_totals``
        """
        ...

    async def rollup(
        self,
        *,
        tenant_id: Id,
        by: UsageKey,
        time_zone: TimeZone = "UTC",
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        conversation_id: Id | None = None,
        run_id: Id | None = None,
        principal_id: Id | None = None,
        agent_id: Id | None = None,
        model: Id | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> Page[UsageSum]:
        """Return a page of sums, one per key, in the order of the keys. The filters are those of ``list``.

        Args:
            tenant_id: the tenant.
            by: ``day``, ``model``, ``agent``, ``principal`` or ``conversation``.
            time_zone: whose days, by an IANA name such as ``Europe/Lisbon``.
            limit: rows, 1..500.
            after: a page's ``next_cursor``.
            before: a page's ``previous_cursor``.
            direction: ``backward`` for the newest day first.
            viewer: whose eyes to look with.
            conversation_id: only of this conversation.
            run_id: only of this run.
            principal_id: only on behalf of this principal.
            agent_id: only of this agent.
            model: only of this model.
            since: only what occurred then or later.
            until: only what occurred before.

        SQL: ``strongroom.list_usage_rollup``
        """
        ...
