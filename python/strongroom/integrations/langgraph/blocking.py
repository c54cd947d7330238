"""The blocking methods of LangGraph's saver: each waits for its async twin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from strongroom.integrations.bridge import Bridge


class BlockingSaver(BaseCheckpointSaver[str]):
    """For threads other than that of the store's event loop."""

    _bridge: Bridge

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See ``aget_tuple``."""
        return self._bridge.block(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """See ``alist``; all of them are read before the first is yielded."""

        async def collected() -> Sequence[CheckpointTuple]:
            found = self.alist(config, filter=filter, before=before, limit=limit)
            return [one async for one in found]

        yield from self._bridge.block(collected())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See ``aput``."""
        return self._bridge.block(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """See ``aput_writes``."""
        self._bridge.block(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """See ``adelete_thread``."""
        self._bridge.block(self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See ``adelete_for_runs``."""
        self._bridge.block(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See ``acopy_thread``."""
        self._bridge.block(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See ``aprune``."""
        self._bridge.block(self.aprune(thread_ids, strategy=strategy))
