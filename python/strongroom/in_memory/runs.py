"""RunStore in memory: the port. What its calls do is in ``run_functions`` and ``run_endings``."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort
from strongroom.in_memory.run_endings import (
    finish_run,
    pause_run,
    reap_expired_runs,
    release_run,
    request_run_cancel,
    retry_run_later,
)
from strongroom.in_memory.run_functions import (
    append_run_events,
    claim_next_run,
    claim_run,
    create_run,
    find_run,
    has_claimable_run,
    heartbeat_run,
    list_run_events,
    list_runs,
    read_run_queue,
)
from strongroom.models.base import Id, JsonObject, JsonValue, Moment
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import (
    ClaimToken,
    CreatedRun,
    FinalStatus,
    Lease,
    Run,
    RunEvent,
    RunEventItem,
    RunQueue,
    RunStatus,
    WaitingStatus,
)
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.runs import (
    AfterSequence,
    Attempts,
    DelaySeconds,
    Events,
    LeaseSeconds,
    Priority,
    Turn,
)
from strongroom.ports.usage import TurnUsage
from strongroom.stores.base import existing
from strongroom.stores.usage import usage_documents


class MemoryRunStore(MemoryPort):
    """See :class:`strongroom.ports.RunStore`."""

    @port_method
    async def create(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        run_id: Id | None = None,
        input: JsonObject | None = None,
        agent_id: Id | None = None,
        agent_version: Attempts | None = None,
        priority: Priority = 0,
        max_attempts: Attempts = 3,
        available_at: Moment | None = None,
    ) -> CreatedRun:
        """See the port."""
        return await self._write(
            tenant_id,
            lambda tables, **content: create_run(tables, available_at=available_at, **content),
            conversation_id=conversation_id,
            run_id=run_id or new_id(),
            input=input or {},
            agent_id=agent_id,
            agent_version=agent_version,
            priority=priority,
            max_attempts=max_attempts,
        )

    @port_method
    async def get(self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None) -> Run:
        """See the port."""
        return existing(await self._find_one(tenant_id, run_id, viewer), "run", "run_id")

    @port_method
    async def find(self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None) -> Run | None:
        """See the port."""
        return await self._find_one(tenant_id, run_id, viewer)

    async def _find_one(self, tenant_id: str, run_id: str, viewer: Viewer | None) -> Run | None:
        return await self._read(
            tenant_id, find_run, run_id=run_id, viewer_id=viewer_id(tenant_id, viewer)
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
        status: RunStatus | None = None,
    ) -> Page[Run]:
        """See the port."""
        return await self._read(
            tenant_id,
            list_runs,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            conversation_id=conversation_id,
            status=status,
        )

    @port_method
    async def claim_next(
        self,
        *,
        worker_id: Id,
        lease_seconds: LeaseSeconds = 30.0,
        limit: Limit = 1,
        after_tenant_id: Id | None = None,
        tenant_id: Id | None = None,
    ) -> tuple[Run, ...]:
        """See the port."""
        tenants = self._session.writable_tenants() if tenant_id is None else [tenant_id]
        passed = after_tenant_id or ""
        turn = [t for t in tenants if t > passed] + [t for t in tenants if t <= passed]
        claimed: list[Run] = []
        # One of each tenant in turn, until nobody has any more.
        while turn and len(claimed) < limit:
            tenant = turn.pop(0)
            run = await self._claim_next_of(tenant, worker_id, lease_seconds)
            if run is not None:
                claimed.append(run)
                turn.append(tenant)
        return tuple(claimed)

    async def _claim_next_of(self, tenant: str, worker_id: str, seconds: float) -> Run | None:
        if not await self._read(tenant, has_claimable_run):
            return None
        return await self._write(tenant, claim_next_run, worker_id=worker_id, lease_seconds=seconds)

    @port_method
    async def claim(
        self, *, tenant_id: Id, run_id: Id, worker_id: Id, lease_seconds: LeaseSeconds = 30.0
    ) -> Run | None:
        """See the port."""
        return await self._write(
            tenant_id, claim_run, run_id=run_id, worker_id=worker_id, lease_seconds=lease_seconds
        )

    @port_method
    async def heartbeat(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        lease_seconds: LeaseSeconds = 30.0,
    ) -> Lease:
        """See the port."""
        return await self._write(
            tenant_id,
            heartbeat_run,
            run_id=run_id,
            claim_token=claim_token,
            lease_seconds=lease_seconds,
        )

    @port_method
    async def append_events(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, events: Events
    ) -> tuple[RunEventItem, ...]:
        """See the port."""
        batch: JsonValue = [
            {"id": event.id or new_id(), "kind": event.kind, "data": event.data} for event in events
        ]
        return await self._write(
            tenant_id, append_run_events, run_id=run_id, claim_token=claim_token, events=batch
        )

    @port_method
    async def list_events(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        limit: Limit = 50,
        after_sequence: AfterSequence = 0,
        viewer: Viewer | None = None,
    ) -> tuple[RunEvent, ...]:
        """See the port."""
        return await self._read(
            tenant_id,
            list_run_events,
            run_id=run_id,
            limit=limit,
            after_sequence=after_sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def transition(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, status: WaitingStatus
    ) -> Run:
        """See the port."""
        return await self._write(
            tenant_id, pause_run, run_id=run_id, claim_token=claim_token, status=status
        )

    @port_method
    async def retry_later(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        delay_seconds: DelaySeconds,
        error: JsonObject,
    ) -> Run:
        """See the port."""
        return await self._write(
            tenant_id,
            retry_run_later,
            run_id=run_id,
            claim_token=claim_token,
            delay_seconds=delay_seconds,
            error=error,
        )

    @port_method
    async def release(self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken) -> Run:
        """See the port."""
        return await self._write(tenant_id, release_run, run_id=run_id, claim_token=claim_token)

    @port_method
    async def finish(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        status: FinalStatus,
        messages: Turn = (),
        error: JsonObject | None = None,
        state: JsonObject | None = None,
        state_expected_version: AfterSequence | None = None,
        usage: TurnUsage = (),
    ) -> CreatedRun:
        """See the port."""
        return await self._write(
            tenant_id,
            finish_run,
            run_id=run_id,
            claim_token=claim_token,
            status=status,
            messages=[message.to_json() for message in messages],
            error=error,
            state=state,
            state_expected_version=state_expected_version,
            usage=[*usage_documents(usage)],
        )

    @port_method
    async def request_cancel(self, *, tenant_id: Id, run_id: Id) -> Run:
        """See the port."""
        return await self._write(tenant_id, request_run_cancel, run_id=run_id)

    @port_method
    async def reap_expired(self, *, tenant_id: Id, limit: Limit = 100) -> int:
        """See the port."""
        return await self._write(tenant_id, reap_expired_runs, limit=limit)

    @port_method
    async def queue(self, *, tenant_id: Id) -> RunQueue:
        """See the port."""
        return await self._read(tenant_id, read_run_queue)
