# Written by scripts/generate_sync.py from strongroom/in_memory/checkpoints.py: change that, and run `make generate`.
"""CheckpointStore in memory."""

from __future__ import annotations

import base64

from strongroom.ids import new_id
from strongroom.in_memory.checkpoints import (
    find_checkpoint,
    list_checkpoints,
    prune_checkpoints,
    save_checkpoint,
)
from strongroom.models.base import Id, Json
from strongroom.models.context import Viewer
from strongroom.models.pages import Limit
from strongroom.models.runs import Checkpoint, CheckpointHead, ClaimToken, SavedCheckpoint
from strongroom.ports.arguments import viewer_id
from strongroom.ports.runs import AfterSequence, Attempts
from strongroom.stores.base import existing
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryCheckpointStore(MemoryPort):
    """See :class:`strongroom.ports.CheckpointStore`."""

    @port_method
    def save(
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
        return self._write(
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
    def latest(
        self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None
    ) -> Checkpoint | None:
        """See the port."""
        return self._find_one(tenant_id, run_id, None, viewer)

    @port_method
    def get(
        self, *, tenant_id: Id, run_id: Id, sequence: ClaimToken, viewer: Viewer | None = None
    ) -> Checkpoint:
        """See the port."""
        found = self._find_one(tenant_id, run_id, sequence, viewer)
        return existing(found, "checkpoint", "sequence")

    def _find_one(
        self, tenant_id: str, run_id: str, sequence: int | None, viewer: Viewer | None
    ) -> Checkpoint | None:
        return self._read(
            tenant_id,
            find_checkpoint,
            run_id=run_id,
            sequence=sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        limit: Limit = 50,
        after_sequence: AfterSequence = 0,
        viewer: Viewer | None = None,
    ) -> tuple[CheckpointHead, ...]:
        """See the port."""
        return self._read(
            tenant_id,
            list_checkpoints,
            run_id=run_id,
            limit=limit,
            after_sequence=after_sequence,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def prune(self, *, tenant_id: Id, run_id: Id, keep: Attempts) -> int:
        """See the port."""
        return self._write(tenant_id, prune_checkpoints, run_id=run_id, keep=keep)
