"""How checkpoints are written: in one call where they fit in one, and of large values what is new."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, cast

from strongroom.client import Strongroom
from strongroom.errors import NotFound, VersionConflict
from strongroom.integrations.langgraph.parts import parts_of, value_records
from strongroom.integrations.langgraph.places import FRAMEWORK
from strongroom.integrations.pages import PAGE
from strongroom.models.base import JsonObject
from strongroom.models.frameworks import FrameworkRecordChange, FrameworkRecordReference

Values = dict[str, tuple[str, str, bytes]]
"""Key, type and bytes of what channels hold."""

DELTAS = ("counters_since_delta_snapshot", "delta_writes_versioned")
"""What LangGraph writes into the metadata where channels are kept as changes."""

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
        self, checkpoint: FrameworkRecordChange, news: Values, *, everything: Callable[[], Values]
    ) -> None:
        """Put a checkpoint with its new values; of a large one only what its last version had not.

        What is not sent must be there: the parent, whose other values it shares, and the parts that
        this process has stored. If it is not, since the thread was pruned or deleted, all is sent.
        """
        path = tuple(checkpoint.path)
        values = news
        known = {channel: self._known.get((path, channel), frozenset()) for channel in values}
        shared = _parent(checkpoint)
        while True:
            records = {
                channel: value_records([*path], *value, known[channel])
                for channel, value in values.items()
            }
            try:
                await self.put([*chain(*records.values()), *shared, checkpoint])
                break
            except VersionConflict:
                await self._check_ancestors(checkpoint, shared)
                values, shared = everything(), []
                known = dict.fromkeys(values, frozenset())
        for channel, some in records.items():
            self._known.pop((path, channel), None)
            if parts := parts_of(some):
                self._known[path, channel] = parts
        while len(self._known) > REMEMBERED:
            self._known.pop(next(iter(self._known)), None)

    async def _check_ancestors(
        self, checkpoint: FrameworkRecordChange, shared: list[FrameworkRecordChange]
    ) -> None:
        """Refuse what is made of its ancestors when they are gone."""
        if not any(name in checkpoint.metadata for name in DELTAS):
            return
        wanted = [
            FrameworkRecordReference(path=one.path, collection=one.collection, key=one.key)
            for one in shared
        ]
        if wanted and not await self._store.frameworks.find(
            tenant_id=self._tenant_id,
            framework=FRAMEWORK,
            wanted=wanted,
            principal_id=self._principal_id,
        ):
            raise NotFound(
                "the parent of the checkpoint was deleted, and its values are changes to what was there",
                detail={"path": "config.configurable.checkpoint_id", "record": "checkpoint"},
                hint="The thread was deleted or pruned meanwhile: run it anew.",
            )

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


def _parent(checkpoint: FrameworkRecordChange) -> list[FrameworkRecordChange]:
    """Return the demand that the parent is there, as it was put."""
    parent = cast("JsonObject", checkpoint.content)["parent"]
    if parent is None or parent == checkpoint.key:
        return []
    return [
        FrameworkRecordChange(
            path=checkpoint.path,
            collection=checkpoint.collection,
            key=cast("str", parent),
            content=True,
            mode="keep",
            expected_version=1,
        )
    ]
