"""LangGraph's ``BaseCheckpointSaver``."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from strongroom.errors import InvalidArgument, LimitExceeded
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.langgraph.blocking import BlockingSaver
from strongroom.integrations.langgraph.listing import (
    FIRST_PAGE,
    CheckpointHead,
    kind_of,
    next_size,
    parent_of,
    searchable,
    without_the_last_id,
)
from strongroom.integrations.langgraph.places import (
    FRAMEWORK,
    config_of,
    place_of,
    prefix_of,
    thread_of,
)
from strongroom.integrations.langgraph.writing import CheckpointWriter, Values
from strongroom.integrations.pages import all_values
from strongroom.integrations.plain import FAULTS, refused
from strongroom.models.base import JsonObject
from strongroom.models.frameworks import (
    FrameworkCheckpoint,
    FrameworkRecordChange,
    PutMode,
)

MOST = 16_777_216


class StrongroomSaver(BlockingSaver):
    """Checkpoints of graphs: ``graph.compile(checkpointer=StrongroomSaver(store, tenant_id="acme"))``.

    A checkpoint is stored in one call, and read in one, with the values of its channels and its pending
    writes. Values are stored once per version, however many checkpoints name them. The latest
    checkpoint is the one with the largest id, which grows with time: one that comes late replaces
    nothing newer.

    ``delete_thread``, ``delete_for_runs`` and ``prune`` delete for good; the audit has how many
    checkpoints. ``prune`` keeps the newest checkpoint of every namespace, and its ancestors where the
    graph keeps channels as deltas.

    Args:
        store: an open store. The blocking methods need one whose loop runs on another thread:
            ``connect_in_thread``.
        tenant_id: whose data it is. No thread id leads out of it.
        principal_id: the person whose threads they are; erasing them deletes the threads. Another
            person's thread is refused (AlreadyExists), and not listed.
        serde: LangGraph's own serializer, such as one that encrypts.
    """

    def __init__(
        self,
        store: AnyStore,
        *,
        tenant_id: str,
        principal_id: str | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """See the class."""
        super().__init__(serde=serde)
        self._bridge = Bridge(store)
        self._frameworks = self._bridge.store.frameworks
        self._tenant_id = tenant_id
        self._principal_id = principal_id
        self._writer = CheckpointWriter(self._bridge.store, tenant_id, principal_id)

    # -- Reading ------------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, the latest where it names none."""
        found = await self._bridge.run(
            self._frameworks.read_checkpoints(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=place_of(config),
                exact=True,
                checkpoint_id=get_checkpoint_id(config) or None,
                limit=1,
                principal_id=self._principal_id,
            )
        )
        return self._tuple(found[0]) if found else None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the newest first: of a thread, of one of its namespaces, or of all."""
        path, exact = prefix_of(config)
        before_id = get_checkpoint_id(before) if before else None
        left = limit
        most = FIRST_PAGE
        while left is None or left > 0:
            size = most if left is None else min(most, left)
            page = await self._bridge.run(
                self._frameworks.read_checkpoints(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    path=path,
                    exact=exact,
                    checkpoint_id=(get_checkpoint_id(config) or None) if config else None,
                    before_id=before_id,
                    filter=cast("JsonObject | None", filter),
                    limit=size,
                    principal_id=self._principal_id,
                )
            )
            is_last = len(page) < size or left == size
            whole = page if is_last or exact else without_the_last_id(page)
            for one in whole:
                yield self._tuple(one)
            if is_last:
                return
            before_id = whole[-1].id
            left = None if left is None else left - len(whole)
            most = next_size(page, least=1 if exact else FIRST_PAGE)

    async def alist_heads(self, config: RunnableConfig) -> list[CheckpointHead]:
        """Return what checkpoints of a thread's namespace there are, the newest first, without values.

        LangGraph has no such method: its ``alist`` gives every checkpoint with its whole state.
        """
        found = await self._bridge.run(
            all_values(
                self._bridge.store,
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=place_of(config),
                collection="checkpoints",
                principal_id=self._principal_id,
            )
        )
        return [
            CheckpointHead(
                config=config_of(one.path, one.key),
                metadata=self._loads(kind_of(one), one.data)["metadata"],
                parent_config=parent_of(one),
            )
            for one in reversed(found)
        ]

    def _tuple(self, stored: FrameworkCheckpoint) -> CheckpointTuple:
        state = self._loads(kind_of(stored), stored.data)
        values = {
            channel: self._loads(kind, data)
            for channel, kind, data in stored.channels or ()
            if kind != "empty"
        }
        return CheckpointTuple(
            config=config_of(stored.path, stored.id),
            checkpoint=cast("Checkpoint", {**state["checkpoint"], "channel_values": values}),
            metadata=state["metadata"],
            parent_config=parent_of(stored),
            pending_writes=[
                (task, channel, self._loads(kind, data))
                for task, channel, kind, data in stored.writes or ()
            ],
        )

    def _loads(self, kind: str, data: bytes | None) -> Any:
        return self.serde.loads_typed((kind, data or b""))

    # -- Writing ------------------------------------------------------------------------------

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with the values of its new versions, whole or not at all.

        Raises:
            AlreadyExists: SR011, the thread is another person's.
            InvalidArgument: SR001, a value that the serializer cannot write; the path leads to it.
            NotFound: SR010, the parent was deleted, and the values are changes to what was there.
            InvalidText: SR003, the metadata hold text that PostgreSQL cannot store.
            LimitExceeded: SR004, a value of more than 16 MiB.
        """
        path = place_of(config)
        values = checkpoint["channel_values"]
        whole = get_checkpoint_metadata(config, metadata)
        state = {
            "checkpoint": {k: v for k, v in checkpoint.items() if k != "channel_values"},
            "metadata": whole,
        }
        kind, data = self._dumps(state, "checkpoint")
        record = FrameworkRecordChange(
            path=path,
            collection="checkpoints",
            key=checkpoint["id"],
            content={
                "type": kind,
                "parent": get_checkpoint_id(config) or None,
                "channels": {k: str(v) for k, v in checkpoint["channel_versions"].items()},
            },
            data=data,
            metadata=searchable(whole),
        )

        def written(versions: ChannelVersions) -> Values:
            return {
                channel: (
                    f"{version}:{channel}",
                    *self._dumps(values[channel], f"channel_values.{channel}"),
                )
                for channel, version in versions.items()
                if channel in values
            }

        await self._bridge.run(
            self._writer.put_checkpoint(
                record,
                written(new_versions),
                everything=lambda: written(checkpoint["channel_versions"]),
            )
        )
        return config_of(path, checkpoint["id"])

    def _dumps(self, value: Any, path: str) -> tuple[str, bytes]:
        try:
            kind, data = self.serde.dumps_typed(value)
        except FAULTS as error:
            how = "by LangGraph's serializer"
            raise refused(value, path, self.serde.dumps_typed, how) from error
        if len(data) > MOST:
            raise LimitExceeded(
                f"{path} has {len(data)} bytes; at most {MOST} are allowed",
                detail={"path": path, "limit": MOST, "actual": len(data)},
                hint="Keep large data in a file or artifact, and its id in the state.",
            )
        return kind, data

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task has written on top of a checkpoint. A repeat keeps what is there.

        Raises:
            AlreadyExists: SR011, the thread is another person's.
            InvalidArgument: SR001, a value that the serializer cannot write; the path leads to it.
            LimitExceeded: SR004, a value of more than 16 MiB.
        """
        path = place_of(config)
        checkpoint_id = config["configurable"]["checkpoint_id"]
        records = []
        for place, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, place)
            mode: PutMode = "replace" if index < 0 else "keep"
            kind, data = self._dumps(value, f"writes[{place}]")
            records.append(
                FrameworkRecordChange(
                    path=path,
                    collection="writes",
                    key=f"{checkpoint_id}:{task_id}:{index}",
                    content={
                        "type": kind,
                        "channel": channel,
                        "task_id": task_id,
                        "task_path": task_path,
                        "idx": index,
                    },
                    data=data,
                    mode=mode,
                )
            )
        if records:
            await self._bridge.run(self._writer.put(records))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread with all its namespaces, for good."""
        await self._bridge.run(
            self._frameworks.delete_sessions(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=[thread_of(thread_id)],
                principal_id=self._principal_id,
            )
        )

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs, and the values that no other checkpoint names."""
        if run_ids:
            await self._bridge.run(
                self._frameworks.prune_checkpoints(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    run_ids=[str(run_id) for run_id in run_ids],
                    principal_id=self._principal_id,
                )
            )

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, whole, to one that does not exist.

        Raises:
            AlreadyExists: SR011, there is such a thread.
        """
        await self._bridge.run(
            self._frameworks.fork_session(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                from_path=[thread_of(source_thread_id)],
                path=[thread_of(target_thread_id)],
                principal_id=self._principal_id,
            )
        )

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the newest checkpoint of every namespace, or (``delete``) nothing."""
        if isinstance(thread_ids, str) or strategy not in {"keep_latest", "delete"}:
            raise InvalidArgument(
                "thread_ids is a list, and strategy is keep_latest or delete",
                detail={"path": "strategy", "actual": strategy},
                hint="For example aprune(['thread-1'], strategy='keep_latest').",
            )
        for thread_id in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread_id)
            else:
                await self._bridge.run(
                    self._frameworks.prune_checkpoints(
                        tenant_id=self._tenant_id,
                        framework=FRAMEWORK,
                        path=[thread_of(thread_id)],
                        principal_id=self._principal_id,
                    )
                )

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """Return a version that grows, and that no fork of the same checkpoint comes to as well."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311
