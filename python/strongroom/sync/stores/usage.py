# Written by scripts/generate_sync.py from strongroom/stores/usage.py: change that, and run `make generate`.
"""UsageStore on SQL."""

from __future__ import annotations

from strongroom.models.base import Id, Moment
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import ClaimToken
from strongroom.models.usage import (
    RecordedUsage,
    UsageEvent,
    UsageItem,
    UsageKey,
    UsageSum,
    UsageTotals,
)
from strongroom.ports.arguments import viewer_id
from strongroom.ports.usage import RunUsageBatch, TimeZone, UsageBatch
from strongroom.stores.base import existing
from strongroom.stores.usage import _filters, usage_documents
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlUsageStore(SqlStore):
    """See :class:`strongroom.ports.UsageStore`."""

    @port_method
    def record(self, *, tenant_id: Id, events: UsageBatch) -> tuple[RecordedUsage, ...]:
        """See the port."""
        rows = self._rows(
            RecordedUsage,
            "record_usage",
            tenant_id=tenant_id,
            events=Document([*usage_documents(events)]),
        )
        return tuple(rows)

    @port_method
    def record_for_run(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, events: RunUsageBatch
    ) -> tuple[UsageItem, ...]:
        """See the port."""
        rows = self._rows(
            UsageItem,
            "record_run_usage",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            usage=Document([*usage_documents(events)]),
        )
        return tuple(rows)

    @port_method
    def get(self, *, tenant_id: Id, usage_id: Id, viewer: Viewer | None = None) -> UsageEvent:
        """See the port."""
        found = self._find_one(tenant_id, usage_id, viewer)
        return existing(found, "usage", "usage_id")

    @port_method
    def find(
        self, *, tenant_id: Id, usage_id: Id, viewer: Viewer | None = None
    ) -> UsageEvent | None:
        """See the port."""
        return self._find_one(tenant_id, usage_id, viewer)

    def _find_one(self, tenant_id: str, usage_id: str, viewer: Viewer | None) -> UsageEvent | None:
        return self._find(
            UsageEvent,
            "find_usage",
            tenant_id=tenant_id,
            usage_id=usage_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def list(
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
        return self._page(
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
    def totals(
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
        return self._one(
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
    def rollup(
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
        return self._page(
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
