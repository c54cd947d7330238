"""RunStore and CheckpointStore on SQL."""

from __future__ import annotations

import base64

from strongroom.ids import new_id
from strongroom.models.base import Id, Json, JsonObject, JsonValue, Moment, Record
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import (
    Checkpoint,
    CheckpointHead,
    ClaimToken,
    CreatedRun,
    FinalStatus,
    Lease,
    Run,
    RunEvent,
    RunEventItem,
    RunQueue,
    RunStatus,
    SavedCheckpoint,
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
from strongroom.stores.base import SqlStore, existing
from strongroom.stores.usage import usage_documents
from strongroom.transports.base import Document


class _Reaped(Record):
    reaped: int


class _Pruned(Record):
    pruned: int


class SqlRunStore(SqlStore):
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
        return await self._one(
            CreatedRun,
            "create_run",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            run_id=run_id or new_id(),
            input=Document(input or {}),
            agent_id=agent_id,
            agent_version=agent_version,
            priority=priority,
            max_attempts=max_attempts,
            available_at=available_at.isoformat() if available_at else None,
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
        return await self._find(
            Run,
            "find_run",
            tenant_id=tenant_id,
            run_id=run_id,
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
        status: RunStatus | None = None,
    ) -> Page[Run]:
        """See the port."""
        return await self._page(
            Run,
            "list_runs",
            tenant_id=tenant_id,
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
        rows = await self._rows(
            Run,
            "claim_next_runs",
            worker_id=worker_id,
            lease_seconds=lease_seconds,
            limit=limit,
            after_tenant_id=after_tenant_id,
            tenant_id=tenant_id,
        )
        return tuple(rows)

    @port_method
    async def claim(
        self, *, tenant_id: Id, run_id: Id, worker_id: Id, lease_seconds: LeaseSeconds = 30.0
    ) -> Run | None:
        """See the port."""
        return await self._find(
            Run,
            "claim_run",
            tenant_id=tenant_id,
            run_id=run_id,
            worker_id=worker_id,
            lease_seconds=lease_seconds,
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
        return await self._one(
            Lease,
            "heartbeat_run",
            tenant_id=tenant_id,
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
        rows = await self._rows(
            RunEventItem,
            "append_run_events",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            events=Document(batch),
        )
        return tuple(rows)

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
        page = await self._page(
            RunEvent,
            "list_run_events",
            tenant_id=tenant_id,
            run_id=run_id,
            limit=limit,
            after_sequence=after_sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return page.items

    @port_method
    async def transition(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, status: WaitingStatus
    ) -> Run:
        """See the port."""
        return await self._one(
            Run,
            "pause_run",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            status=status,
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
        return await self._one(
            Run,
            "retry_run_later",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            delay_seconds=delay_seconds,
            error=Document(error),
        )

    @port_method
    async def release(self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken) -> Run:
        """See the port."""
        return await self._one(
            Run, "release_run", tenant_id=tenant_id, run_id=run_id, claim_token=claim_token
        )

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
        return await self._one(
            CreatedRun,
            "finish_run",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            status=status,
            messages=Document([message.to_json() for message in messages]),
            error=None if error is None else Document(error),
            state=None if state is None else Document(state),
            state_expected_version=state_expected_version,
            usage=Document([*usage_documents(usage)]) if usage else None,
        )

    @port_method
    async def request_cancel(self, *, tenant_id: Id, run_id: Id) -> Run:
        """See the port."""
        return await self._one(Run, "request_run_cancel", tenant_id=tenant_id, run_id=run_id)

    @port_method
    async def reap_expired(self, *, tenant_id: Id, limit: Limit = 100) -> int:
        """See the port."""
        row = await self._one(_Reaped, "reap_expired_runs", tenant_id=tenant_id, limit=limit)
        return row.reaped

    @port_method
    async def queue(self, *, tenant_id: Id) -> RunQueue:
        """See the port."""
        return await self._one(RunQueue, "read_run_queue", tenant_id=tenant_id)


class SqlCheckpointStore(SqlStore):
    """See :class:`strongroom.ports.CheckpointStore`."""

    @port_method
    async def save(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        expected_sequence: AfterSequence,
        state: Json = None,
        data: bytes | None = None,
        checkpoint_id: Id | None = None,
    ) -> SavedCheckpoint:
        """See the port."""
        return await self._one(
            SavedCheckpoint,
            "save_checkpoint",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            expected_sequence=expected_sequence,
            state=None if state is None else Document(state),
            data=None if data is None else base64.b64encode(data).decode(),
            checkpoint_id=checkpoint_id or new_id(),
        )

    @port_method
    async def latest(
        self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None
    ) -> Checkpoint | None:
        """See the port."""
        return await self._find(
            Checkpoint,
            "find_checkpoint",
            tenant_id=tenant_id,
            run_id=run_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def get(
        self, *, tenant_id: Id, run_id: Id, sequence: ClaimToken, viewer: Viewer | None = None
    ) -> Checkpoint:
        """See the port."""
        found = await self._find(
            Checkpoint,
            "find_checkpoint",
            tenant_id=tenant_id,
            run_id=run_id,
            sequence=sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return existing(found, "checkpoint", "sequence")

    @port_method
    async def list(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        limit: Limit = 50,
        after_sequence: AfterSequence = 0,
        viewer: Viewer | None = None,
    ) -> tuple[CheckpointHead, ...]:
        """See the port."""
        page = await self._page(
            CheckpointHead,
            "list_checkpoints",
            tenant_id=tenant_id,
            run_id=run_id,
            limit=limit,
            after_sequence=after_sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return page.items

    @port_method
    async def prune(self, *, tenant_id: Id, run_id: Id, keep: Attempts) -> int:
        """See the port."""
        row = await self._one(
            _Pruned, "prune_checkpoints", tenant_id=tenant_id, run_id=run_id, keep=keep
        )
        return row.pruned
