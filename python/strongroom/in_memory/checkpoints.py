"""CheckpointStore in memory."""

from __future__ import annotations

import base64
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, LimitExceeded
from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort, check_version, check_writable
from strongroom.in_memory.database import Tables
from strongroom.in_memory.run_steps import change_run, claimed_run, living_run
from strongroom.in_memory.values import comparable
from strongroom.models.base import Id, Json, JsonValue
from strongroom.models.context import Viewer
from strongroom.models.json_values import stored_size
from strongroom.models.pages import Limit
from strongroom.models.runs import Checkpoint, CheckpointHead, ClaimToken, SavedCheckpoint
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.runs import AfterSequence, Attempts
from strongroom.stores.base import existing

CHECKPOINT_BYTES = 16_777_216


class MemoryCheckpointStore(MemoryPort):
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
        return await self._write(
            tenant_id,
            save_checkpoint,
            run_id=run_id,
            claim_token=claim_token,
            expected_sequence=expected_sequence,
            state=state,
            data_base64=None if data is None else base64.b64encode(data).decode(),
            checkpoint_id=checkpoint_id or new_id(),
        )

    @port_method
    async def latest(
        self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None
    ) -> Checkpoint | None:
        """See the port."""
        return await self._find_one(tenant_id, run_id, None, viewer)

    @port_method
    async def get(
        self, *, tenant_id: Id, run_id: Id, sequence: ClaimToken, viewer: Viewer | None = None
    ) -> Checkpoint:
        """See the port."""
        found = await self._find_one(tenant_id, run_id, sequence, viewer)
        return existing(found, "checkpoint", "sequence")

    async def _find_one(
        self, tenant_id: str, run_id: str, sequence: int | None, viewer: Viewer | None
    ) -> Checkpoint | None:
        return await self._read(
            tenant_id,
            find_checkpoint,
            run_id=run_id,
            sequence=sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )

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
        return await self._read(
            tenant_id,
            list_checkpoints,
            run_id=run_id,
            limit=limit,
            after_sequence=after_sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def prune(self, *, tenant_id: Id, run_id: Id, keep: Attempts) -> int:
        """See the port."""
        return await self._write(tenant_id, prune_checkpoints, run_id=run_id, keep=keep)


def save_checkpoint(
    tables: Tables,
    *,
    run_id: str,
    claim_token: int,
    expected_sequence: int,
    state: JsonValue,
    data_base64: str | None,
    checkpoint_id: str,
) -> SavedCheckpoint:
    """Save on top of the checkpoint that the worker knows; a repeat changes nothing."""
    check_writable(tables)
    size = _checked_size(state, data_base64)
    run = claimed_run(tables, run_id, claim_token)
    saved = tables.checkpoints.get(run_id, ())
    for known in saved:
        if known.id == checkpoint_id:
            if comparable([known.state, known.data_base64]) != comparable([state, data_base64]):
                raise AlreadyExists(
                    "a checkpoint with this id was saved with other content",
                    detail={"path": "checkpoint_id", "record": "checkpoint"},
                    hint="Use a new id for a new checkpoint.",
                )
            return SavedCheckpoint(**_head(known), outcome="duplicate")
    check_version("checkpoint", expected_sequence, run.last_checkpoint_sequence)
    checkpoint = Checkpoint(
        tenant_id=tables.tenant_id,
        run_id=run_id,
        sequence=run.last_checkpoint_sequence + 1,
        conversation_id=run.conversation_id,
        id=checkpoint_id,
        size_bytes=size,
        event_sequence=run.last_event_sequence,
        claim_token=claim_token,
        created_at=tables.now,
        state=state,
        data_base64=data_base64,
    )
    tables.checkpoints[run_id] = (*saved, checkpoint)
    change_run(tables, run, last_checkpoint_sequence=checkpoint.sequence, updated_at=run.updated_at)
    return SavedCheckpoint(**_head(checkpoint), outcome="inserted")


def _checked_size(state: JsonValue, data_base64: str | None) -> int:
    if state is None and data_base64 is None:
        raise InvalidArgument(
            "state or data is required",
            detail={"path": "state"},
            hint="Give the JSON state, the bytes, or both.",
        )
    size = 0 if state is None else stored_size(state)
    size += 0 if data_base64 is None else len(base64.b64decode(data_base64))
    if size > CHECKPOINT_BYTES:
        raise LimitExceeded(
            f"the checkpoint has {size} bytes; at most {CHECKPOINT_BYTES} are allowed",
            detail={"path": "state", "limit": CHECKPOINT_BYTES, "actual": size},
            hint="Keep large data in a file or tool output, and its id in the checkpoint.",
        )
    return size


def _head(checkpoint: Checkpoint) -> dict[str, Any]:
    return {name: getattr(checkpoint, name) for name in CheckpointHead.model_fields}


def find_checkpoint(
    tables: Tables, *, run_id: str, sequence: int | None, viewer_id: str | None
) -> Checkpoint | None:
    """Return one checkpoint, the newest without a sequence."""
    living_run(tables, run_id, viewer_id)
    found = [c for c in tables.checkpoints.get(run_id, ()) if sequence in {None, c.sequence}]
    return found[-1] if found else None


def list_checkpoints(
    tables: Tables, *, run_id: str, limit: int, after_sequence: int, viewer_id: str | None
) -> tuple[CheckpointHead, ...]:
    """Return checkpoints after a sequence, oldest first, without payloads."""
    living_run(tables, run_id, viewer_id)
    following = [c for c in tables.checkpoints.get(run_id, ()) if c.sequence > after_sequence]
    return tuple(CheckpointHead(**_head(checkpoint)) for checkpoint in following[:limit])


def prune_checkpoints(tables: Tables, *, run_id: str, keep: int) -> int:
    """Delete all but the newest."""
    check_writable(tables)
    living_run(tables, run_id)
    saved = tables.checkpoints.get(run_id, ())
    if saved:
        tables.checkpoints[run_id] = saved[-keep:]
    return max(len(saved) - keep, 0)
