"""The step store of Pydantic AI's harness."""

from __future__ import annotations

from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai_harness.step_persistence import (
    ContinuableSnapshot,
    RunRecord,
    StepEvent,
    ToolEffectRecord,
)

from strongroom.errors import AlreadyExists, InvalidArgument, VersionConflict
from strongroom.ids import new_id
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.pages import all_records, all_sessions, all_values
from strongroom.integrations.plain import plain
from strongroom.integrations.pydantic_ai import effects, snapshots
from strongroom.integrations.pydantic_ai.places import FRAMEWORK, Steps, known_by, run_path
from strongroom.models.base import JsonObject
from strongroom.models.frameworks import (
    FrameworkRecordChange,
    FrameworkRecordReference,
    NewFrameworkRecord,
)

_RUN = TypeAdapter(RunRecord)
_EVENT = TypeAdapter(StepEvent)


class StrongroomStepStore:
    """Runs, steps and snapshots of agents: ``StepPersistence(store=StrongroomStepStore(...))``.

    A run whose process is gone is continued in another: ``continue_run(store, run_id=...)`` gives its
    messages. What holds on top of the harness's protocol:

    - A run id is registered once; a repeat of the same registration changes nothing.
    - A message is stored once, however many snapshots hold it, and a save sends what is new.
    - A save that comes late (its key counts less than that of a save which was made) changes nothing.
    - Of two that claim one tool call exactly one has it. Only the attempt that has it ends it, what was
      completed stays completed, and what failed may begin anew.

    Args:
        store: an open store, or one from ``connect_in_thread``.
        tenant_id: whose data it is. No run or conversation id leads out of it.
        principal_id: the person whose runs they are; erasing them deletes the runs. Another person's run
            is refused (AlreadyExists), and not listed.
        max_snapshots_per_run: how many snapshots of a run are kept, and the newest complete one in any
            case; None: all. What goes, goes for good, with the messages that no other holds.
    """

    def __init__(
        self,
        store: AnyStore,
        *,
        tenant_id: str,
        principal_id: str | None = None,
        max_snapshots_per_run: int | None = None,
    ) -> None:
        """See the class."""
        if max_snapshots_per_run is not None and (
            type(max_snapshots_per_run) is not int or max_snapshots_per_run < 1
        ):
            raise InvalidArgument(
                "max_snapshots_per_run must be a whole number that is at least 1, or None",
                detail={"path": "max_snapshots_per_run"},
                hint="None keeps all of them.",
            )
        self._bridge = Bridge(store)
        self._steps = Steps(self._bridge.store, tenant_id, principal_id)
        self._most = max_snapshots_per_run

    # -- Runs ---------------------------------------------------------------------------------

    async def register_run(self, record: RunRecord) -> None:
        """Register a run: once.

        Raises:
            AlreadyExists: SR011, the run is registered, or it (or its conversation) is another person's.
            InvalidText: SR003, text that PostgreSQL cannot store.
        """
        await self._bridge.run(self._register(record))

    async def _register(self, record: RunRecord) -> None:
        content = cast("JsonObject", _written(_RUN, record, "record"))
        changes = [
            FrameworkRecordChange(
                path=run_path(record.run_id),
                collection="run",
                key="run",
                content=content,
                expected_version=0,
            ),
            *(
                FrameworkRecordChange(
                    path=[*group, *self._whose()],
                    collection="runs",
                    key=record.run_id,
                    content=True,
                    mode="keep",
                )
                for group in _groups(record)
            ),
        ]
        try:
            await self._steps.put(changes)
        except VersionConflict as error:
            known = await self._run(record.run_id)
            if known is not None and (
                known == record or (known.registration_id == record.registration_id is not None)
            ):
                return
            raise AlreadyExists(
                "this run is registered already",
                detail={"path": "record.run_id", "record": "run"},
                hint="A run id is used once; group runs by their conversation_id.",
            ) from error

    async def get_run(self, *, run_id: str) -> RunRecord | None:
        """Return a run; None when it is not registered."""
        return await self._bridge.run(self._run(run_id))

    async def _run(self, run_id: str) -> RunRecord | None:
        found = await self._runs([run_id])
        return found[0] if found else None

    async def list_runs(
        self, *, parent_run_id: str | None = None, conversation_id: str | None = None
    ) -> list[RunRecord]:
        """Return the runs of a conversation, of a parent, of both, or all; by when they began."""
        return await self._bridge.run(self._list_runs(parent_run_id, conversation_id))

    async def _list_runs(
        self, parent_run_id: str | None, conversation_id: str | None
    ) -> list[RunRecord]:
        if conversation_id is not None:
            run_ids = await self._members(["conversation", conversation_id])
        elif parent_run_id is not None:
            run_ids = await self._members(["parent", parent_run_id])
        else:
            run_ids = [path[1] for path in await self._paths(["run"], "run")]
        found = [
            run
            for run in await self._runs(run_ids)
            if (parent_run_id is None or run.parent_run_id == parent_run_id)
            and (conversation_id is None or run.conversation_id == conversation_id)
        ]
        return sorted(found, key=lambda run: run.started_at)

    async def _members(self, path: list[str]) -> list[str]:
        return [
            record.key
            for whose in await self._paths(path, "runs")
            for record in await all_values(
                self._steps.store,
                tenant_id=self._steps.tenant_id,
                framework=FRAMEWORK,
                path=[*whose],
                collection="runs",
                principal_id=self._steps.principal_id,
            )
        ]

    async def _paths(self, path: list[str], collection: str) -> list[tuple[str, ...]]:
        found = await all_sessions(
            self._steps.store,
            tenant_id=self._steps.tenant_id,
            framework=FRAMEWORK,
            path=path,
            collection=collection,
            principal_id=self._steps.principal_id,
        )
        return [session.path for session in found]

    async def _runs(self, run_ids: list[str]) -> list[RunRecord]:
        found = await self._steps.find(
            [
                FrameworkRecordReference(path=run_path(run_id), collection="run", key="run")
                for run_id in run_ids
            ]
        )
        found.sort(key=lambda record: record.created_at)
        return [_RUN.validate_python(record.content) for record in found]

    async def delete_run(self, *, run_id: str) -> bool:
        """Delete a run with its events, snapshots and effects, for good; say whether there was one.

        The harness has no such method. The run's id may be registered again afterwards.
        """
        return await self._bridge.run(self._delete(run_id))

    async def _delete(self, run_id: str) -> bool:
        run = await self._run(run_id)
        changes = [
            FrameworkRecordChange(path=[*path], collection="runs", key=run_id, mode="delete")
            for group in (_groups(run) if run else [])
            for path in await self._paths(group, "runs")
        ]
        async with self._steps.store.unit_of_work(tenant_id=self._steps.tenant_id) as uow:
            await self._steps.put(changes, uow)
            deleted = await uow.frameworks.delete_sessions(
                tenant_id=self._steps.tenant_id,
                framework=FRAMEWORK,
                path=run_path(run_id),
                principal_id=self._steps.principal_id,
            )
        return deleted > 0

    def _whose(self) -> list[str]:
        """Keep the groups of each person apart, so that erasing one takes theirs."""
        return [] if self._steps.principal_id is None else [self._steps.principal_id]

    # -- Events -------------------------------------------------------------------------------

    async def append_event(self, event: StepEvent) -> None:
        """Append an event; with an ``idempotency_key`` that is there nothing changes.

        Raises:
            AlreadyExists: SR011, the run is another person's.
            InvalidText: SR003, text that PostgreSQL cannot store.
        """
        key = event.idempotency_key
        record = NewFrameworkRecord(
            key=new_id() if key is None else known_by(key),
            content=_written(_EVENT, event, "event"),
        )
        await self._bridge.run(
            self._steps.store.frameworks.append(
                tenant_id=self._steps.tenant_id,
                framework=FRAMEWORK,
                path=run_path(event.run_id),
                collection="events",
                records=[record],
                principal_id=self._steps.principal_id,
            )
        )

    async def list_events(self, *, run_id: str) -> list[StepEvent]:
        """Return a run's events in order."""
        found = await self._bridge.run(
            all_records(
                self._steps.store,
                tenant_id=self._steps.tenant_id,
                framework=FRAMEWORK,
                path=run_path(run_id),
                collection="events",
                principal_id=self._steps.principal_id,
            )
        )
        return [_EVENT.validate_python(record.content) for record in found]

    # -- Snapshots ----------------------------------------------------------------------------

    async def save_snapshot(self, snapshot: ContinuableSnapshot) -> None:
        """Save a snapshot, whole or not at all; with a key whose save was made nothing changes.

        Raises:
            AlreadyExists: SR011, the run is another person's.
            InvalidArgument: SR001, a message holds what Pydantic AI cannot write as JSON.
            InvalidText: SR003, text that PostgreSQL cannot store.
            LimitExceeded: SR004, a message of more than 16 MiB, or more than half a million of them.
        """
        await self._bridge.run(snapshots.save(self._steps, snapshot, self._most))

    async def latest_snapshot(
        self, *, run_id: str, include_interrupted: bool = False
    ) -> ContinuableSnapshot | None:
        """Return a run's newest complete snapshot, or its newest; None when there is none."""
        return await self._bridge.run(
            snapshots.latest(self._steps, run_id, include_interrupted=include_interrupted)
        )

    async def list_snapshots(
        self, *, run_id: str, include_interrupted: bool = False
    ) -> list[ContinuableSnapshot]:
        """Return a run's snapshots in the order in which they were saved."""
        return await self._bridge.run(
            snapshots.every(self._steps, run_id, include_interrupted=include_interrupted)
        )

    # -- Tool effects -------------------------------------------------------------------------

    async def record_tool_effect(self, record: ToolEffectRecord) -> None:
        """Claim a tool call, or say how it ended.

        Raises:
            AlreadyExists: SR011, another attempt has it, or it ended; or the run is another person's.
            InvalidText: SR003, text that PostgreSQL cannot store.
        """
        await self._bridge.run(effects.record(self._steps, record))

    async def get_tool_effect(self, *, run_id: str, tool_call_id: str) -> ToolEffectRecord | None:
        """Return what is known of a tool call; None when it is nothing."""
        return await self._bridge.run(effects.find(self._steps, run_id, tool_call_id))

    async def list_unresolved_tool_effects(self, *, run_id: str) -> list[ToolEffectRecord]:
        """Return the tool calls of a run that have begun and not ended, the earliest first."""
        return await self._bridge.run(effects.unresolved(self._steps, run_id))


def _written(adapter: TypeAdapter[Any], value: Any, path: str) -> Any:
    return plain(
        value, path, lambda given: adapter.dump_python(given, mode="json", warnings="error")
    )


def _groups(run: RunRecord) -> list[list[str]]:
    """Return where a run is listed."""
    groups = (("conversation", run.conversation_id), ("parent", run.parent_run_id))
    return [[kind, name] for kind, name in groups if name is not None]
