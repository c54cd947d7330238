"""UsageStore in memory."""

from __future__ import annotations

from strongroom.in_memory.base import MemoryPort, check_writable
from strongroom.in_memory.database import Tables
from strongroom.in_memory.run_steps import claimed_run
from strongroom.in_memory.usage_functions import (
    find_usage,
    list_usage,
    list_usage_rollup,
    read_usage_totals,
    record_usage,
    write_run_usage,
)
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
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.usage import RunUsageBatch, TimeZone, UsageBatch
from strongroom.stores.base import existing
from strongroom.stores.usage import usage_documents


def record_run_usage(
    tables: Tables, *, run_id: str, claim_token: int, usage: list[dict[str, object]]
) -> tuple[UsageItem, ...]:
    """Record usage of a claimed run."""
    check_writable(tables)
    return write_run_usage(tables, claimed_run(tables, run_id, claim_token), usage)


class MemoryUsageStore(MemoryPort):
    """See :class:`strongroom.ports.UsageStore`."""

    @port_method
    async def record(self, *, tenant_id: Id, events: UsageBatch) -> tuple[RecordedUsage, ...]:
        """See the port."""
        return await self._write(tenant_id, record_usage, events=[*usage_documents(events)])

    @port_method
    async def record_for_run(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, events: RunUsageBatch
    ) -> tuple[UsageItem, ...]:
        """See the port."""
        return await self._write(
            tenant_id,
            record_run_usage,
            run_id=run_id,
            claim_token=claim_token,
            usage=[*usage_documents(events)],
        )

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
        return await self._read(
            tenant_id,
            find_usage,
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
        return await self._read(
            tenant_id,
            lambda tables, **given: list_usage(tables, since=since, until=until, **given),
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            conversation_id=conversation_id,
            run_id=run_id,
            principal_id=principal_id,
            agent_id=agent_id,
            model=model,
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
        return await self._read(
            tenant_id,
            lambda tables, **given: read_usage_totals(tables, since=since, until=until, **given),
            viewer_id=viewer_id(tenant_id, viewer),
            conversation_id=conversation_id,
            run_id=run_id,
            principal_id=principal_id,
            agent_id=agent_id,
            model=model,
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
        return await self._read(
            tenant_id,
            lambda tables, **given: list_usage_rollup(tables, since=since, until=until, **given),
            by=by,
            time_zone=time_zone,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            conversation_id=conversation_id,
            run_id=run_id,
            principal_id=principal_id,
            agent_id=agent_id,
            model=model,
        )
