"""How checkpoints are written: in one call where they fit in one, and of large values what is new."""

from __future__ import annotations

from itertools import chain
from typing import Any

from strongroom.client import Strongroom
from strongroom.errors import VersionConflict
from strongroom.integrations.langgraph.parts import parts_of, value_records
from strongroom.integrations.langgraph.places import FRAMEWORK
from strongroom.integrations.pages import PAGE
from strongroom.models.frameworks import FrameworkRecordChange

REMEMBERED = 256
"""Of how many large channels a process remembers the parts that it has stored."""


class CheckpointWriter:
    """Writes the checkpoints of one tenant.

    Args:
        store: the open store.
        tenant_id: whose data it is.
        principal_id: the person whose threads they are.
    """

    def __init__(self, store: Strongroom, tenant_id: str, principal_id: str | None) -> None:
        """See the class."""
        self._store = store
        self._tenant_id = tenant_id
        self._principal_id = principal_id
        self._known: dict[tuple[tuple[str, ...], str], frozenset[str]] = {}

    async def put_checkpoint(
        self,
        path: list[str],
        checkpoint: FrameworkRecordChange,
        values: dict[str, tuple[str, str, bytes]],
    ) -> None:
        """Put a checkpoint with its new values; of a large one only what its last version had not."""
        known = {
            channel: self._known.get((tuple(path), channel), frozenset()) for channel in values
        }
        while True:
            records = {
                channel: value_records(path, *value, known[channel])
                for channel, value in values.items()
            }
            try:
                await self.put([*chain(*records.values()), checkpoint])
                break
            except VersionConflict:
                # A part is not there any more: the thread was pruned or deleted. All of it, then.
                known = dict.fromkeys(values, frozenset())
        for channel, some in records.items():
            self._known.pop((tuple(path), channel), None)
            if parts := parts_of(some):
                self._known[tuple(path), channel] = parts
        while len(self._known) > REMEMBERED:
            self._known.pop(next(iter(self._known)), None)

    async def put(self, records: list[FrameworkRecordChange]) -> None:
        """Put records, all or none."""
        at: dict[str, Any] = {
            "tenant_id": self._tenant_id,
            "framework": FRAMEWORK,
            "principal_id": self._principal_id,
        }
        if len(records) <= PAGE:
            await self._store.frameworks.put(**at, records=records)
            return
        # In one order, so that two of them never wait for each other.
        records.sort(key=lambda record: (record.collection, record.key))
        async with self._store.unit_of_work(tenant_id=self._tenant_id) as uow:
            for start in range(0, len(records), PAGE):
                await uow.frameworks.put(**at, records=records[start : start + PAGE])
