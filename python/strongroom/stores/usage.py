"""UsageStore on SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, Moment
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import ClaimToken
from strongroom.models.usage import (
    NewUsage,
    RecordedUsage,
    UsageEvent,
    UsageItem,
    UsageKey,
    UsageSum,
    UsageTotals,
)
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.usage import RunUsageBatch, TimeZone, UsageBatch
from strongroom.stores.base import SqlStore, existing
from strongroom.transports.base import Argument, Document


def usage_documents(events: Sequence[NewUsage]) -> list[JsonObject]:
    """Return events as the JSON that SQL takes, each with an id, made before the first try."""
    documents: list[JsonObject] = []
    for event in events:
        given = {name: value for name, value in dict(event).items() if value is not None}
        if event.occurred_at is not None:
            given["occurred_at"] = event.occurred_at.isoformat()
        documents.append({**given, "id": event.id or new_id()})
    return documents


def iso(moment: dt.datetime | None) -> str | None:
    """Return a moment as SQL takes it."""
    return None if moment is None else moment.isoformat()


class SqlUsageStore(SqlStore):
    """See :class:`strongroom.ports.UsageStore`."""

    @port_method
    async def record(self, *, tenant_id: Id, events: UsageBatch) -> tuple[RecordedUsage, ...]:
        """See the port."""
        rows = await self._rows(
            RecordedUsage,
            "record_usage",
            tenant_id=tenant_id,
            events=Document([*usage_documents(events)]),
        )
        return tuple(rows)

    @port_method
    async def record_for_run(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, events: RunUsageBatch
    ) -> tuple[UsageItem, ...]:
        """See the port."""
        rows = await self._rows(
            UsageItem,
            "record_run_usage",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            usage=Document([*usage_documents(events)]),
        )
        return tuple(rows)

    @port_method
    async def get(self, *, tenant_id: Id, usage_id: Id, viewer: Viewer | None = None) -> UsageEvent:
        """See the port."""
        found = await self._find_one(tenant_id, usage_id, viewer)
        return existing(found, "usage", "usage_id")

    @port_method
    async def find(
        self, *, tenant_id: Id, usage_id: Id, viewer: Viewer | None = None
    ) -> UsageEvent | None:
        """See the port."""
        return await self._find_one(tenant_id, usage_id, viewer)

    async def _find_one(
        self, tenant_id: str, usage_id: str, viewer: Viewer | None
    ) -> UsageEvent | None:
        return await self._find(
            UsageEvent,
            "find_usage",
            tenant_id=tenant_id,
            usage_id=usage_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
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
        """See the port."""
        return await self._page(
            UsageEvent,
            "list_usage",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            **_filters(
                tenant_id,
                viewer,
                since,
                until,
                conversation_id=conversation_id,
                run_id=run_id,
                principal_id=principal_id,
                agent_id=agent_id,
                model=model,
            ),
        )

    @port_method
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
        """See the port."""
        return await self._one(
            UsageTotals,
            "read_usage_totals",
            tenant_id=tenant_id,
            **_filters(
                tenant_id,
                viewer,
                since,
                until,
                conversation_id=conversation_id,
                run_id=run_id,
                principal_id=principal_id,
                agent_id=agent_id,
                model=model,
            ),
        )

    @port_method
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
        """See the port."""
        return await self._page(
            UsageSum,
            "list_usage_rollup",
            tenant_id=tenant_id,
            by=by,
            time_zone=time_zone,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            **_filters(
                tenant_id,
                viewer,
                since,
                until,
                conversation_id=conversation_id,
                run_id=run_id,
                principal_id=principal_id,
                agent_id=agent_id,
                model=model,
            ),
        )


def _filters(
    tenant_id: str,
    viewer: Viewer | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    **names: str | None,
) -> dict[str, Argument]:
    return {
        "viewer_id": viewer_id(tenant_id, viewer),
        "since": iso(since),
        "until": iso(until),
        **names,
    }
