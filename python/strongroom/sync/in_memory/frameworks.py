# Written by scripts/generate_sync.py from strongroom/in_memory/frameworks.py: change that, and run `make generate`.
"""FrameworkStore in memory: the port. What its calls do is in the modules called ``framework_...``."""

from __future__ import annotations

from strongroom.in_memory.framework_checkpoints import prune_checkpoints, read_checkpoints
from strongroom.in_memory.framework_records import (
    append_records,
    delete_records,
    documents,
    expire_records,
    find_records,
    list_records,
    put_records,
    search_records,
)
from strongroom.in_memory.framework_sessions import (
    delete_sessions,
    find_session,
    fork_session,
    list_sessions,
    put_session,
)
from strongroom.models.base import Id, JsonObject
from strongroom.models.frameworks import (
    AppendedFrameworkRecord,
    FoundFrameworkRecord,
    FrameworkCheckpoint,
    FrameworkPath,
    FrameworkPrefix,
    FrameworkRecord,
    FrameworkSession,
    PutFrameworkRecord,
    Word,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.principal_memory import Embedding
from strongroom.ports.frameworks import (
    ExpectedVersion,
    FrameworkConditions,
    FrameworkRecordChanges,
    KeyPrefix,
    Keys,
    NewFrameworkRecords,
    Skip,
    WantedRecords,
)
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryFrameworkStore(MemoryPort):
    """See :class:`strongroom.ports.FrameworkStore`."""

    @port_method
    def append(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        records: NewFrameworkRecords,
        collection: Word = "items",
        principal_id: Id | None = None,
        refuse_conflicts: bool = False,
    ) -> tuple[AppendedFrameworkRecord, ...]:
        """See the port."""
        return self._write(
            tenant_id,
            append_records,
            framework=framework,
            path=[*path],
            records=documents(records),
            collection=collection,
            principal_id=principal_id,
            refuse_conflicts=refuse_conflicts,
        )

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        collection: Word = "items",
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        principal_id: Id | None = None,
    ) -> Page[FrameworkRecord]:
        """See the port."""
        return self._read(
            tenant_id,
            list_records,
            framework=framework,
            path=[*path],
            collection=collection,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            principal_id=principal_id,
        )

    @port_method
    def delete(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        collection: Word = "items",
        keys: Keys | None = None,
        last: Limit | None = None,
        principal_id: Id | None = None,
    ) -> tuple[FrameworkRecord, ...]:
        """See the port."""
        return self._write(
            tenant_id,
            delete_records,
            framework=framework,
            path=[*path],
            collection=collection,
            keys=None if keys is None else [*keys],
            last=last,
            principal_id=principal_id,
        )

    @port_method
    def put(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        records: FrameworkRecordChanges,
        principal_id: Id | None = None,
    ) -> tuple[PutFrameworkRecord, ...]:
        """See the port."""
        return self._write(
            tenant_id,
            put_records,
            framework=framework,
            records=documents(records),
            principal_id=principal_id,
        )

    @port_method
    def find(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        wanted: WantedRecords,
        refresh: bool = False,
        principal_id: Id | None = None,
    ) -> tuple[FrameworkRecord, ...]:
        """See the port."""
        return (self._write if refresh else self._read)(
            tenant_id,
            find_records,
            framework=framework,
            wanted=[one.model_dump() for one in wanted],
            refresh=refresh,
            principal_id=principal_id,
        )

    @port_method
    def search(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPrefix = [],  # noqa: B006 (never changed)
        collection: Word = "values",
        filter: FrameworkConditions = (),
        embedding: Embedding | None = None,
        limit: Limit = 50,
        skip: Skip = 0,
        key_prefix: KeyPrefix | None = None,
        after_key: Id | None = None,
        refresh: bool = False,
        principal_id: Id | None = None,
    ) -> tuple[FoundFrameworkRecord, ...]:
        """See the port."""
        return (self._write if refresh else self._read)(
            tenant_id,
            search_records,
            framework=framework,
            path=[*path],
            collection=collection,
            filter=[one.model_dump() for one in filter],
            embedding=None if embedding is None else [*embedding],
            limit=limit,
            skip=skip,
            key_prefix=key_prefix,
            after_key=after_key,
            refresh=refresh,
            principal_id=principal_id,
        )

    @port_method
    def expire(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        return self._write(tenant_id, expire_records, limit=limit)

    @port_method
    def find_session(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        principal_id: Id | None = None,
    ) -> FrameworkSession | None:
        """See the port."""
        return self._read(
            tenant_id,
            find_session,
            framework=framework,
            path=[*path],
            principal_id=principal_id,
        )

    @port_method
    def put_session(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        state: JsonObject,
        expected_version: ExpectedVersion,
        principal_id: Id | None = None,
    ) -> FrameworkSession:
        """See the port."""
        return self._write(
            tenant_id,
            put_session,
            framework=framework,
            path=[*path],
            state=state,
            expected_version=expected_version,
            principal_id=principal_id,
        )

    @port_method
    def list_sessions(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPrefix = [],  # noqa: B006 (never changed)
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        principal_id: Id | None = None,
        collection: Word | None = None,
    ) -> Page[FrameworkSession]:
        """See the port."""
        return self._read(
            tenant_id,
            list_sessions,
            framework=framework,
            path=[*path],
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            principal_id=principal_id,
            collection=collection,
        )

    @port_method
    def delete_sessions(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        exact: bool = False,
        principal_id: Id | None = None,
    ) -> int:
        """See the port."""
        return self._write(
            tenant_id,
            delete_sessions,
            framework=framework,
            path=[*path],
            exact=exact,
            principal_id=principal_id,
        )

    @port_method
    def fork_session(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        from_path: FrameworkPath,
        path: FrameworkPath,
        principal_id: Id | None = None,
    ) -> int:
        """See the port."""
        return self._write(
            tenant_id,
            fork_session,
            framework=framework,
            from_path=[*from_path],
            path=[*path],
            principal_id=principal_id,
        )

    @port_method
    def read_checkpoints(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPrefix = [],  # noqa: B006 (never changed)
        exact: bool = False,
        checkpoint_id: Id | None = None,
        before_id: Id | None = None,
        filter: JsonObject | None = None,
        limit: Limit = 50,
        principal_id: Id | None = None,
    ) -> tuple[FrameworkCheckpoint, ...]:
        """See the port."""
        return self._read(
            tenant_id,
            read_checkpoints,
            framework=framework,
            path=[*path],
            exact=exact,
            checkpoint_id=checkpoint_id,
            before_id=before_id,
            filter=filter or {},
            limit=limit,
            principal_id=principal_id,
        )

    @port_method
    def prune_checkpoints(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath | None = None,
        run_ids: Keys | None = None,
        principal_id: Id | None = None,
    ) -> int:
        """See the port."""
        return self._write(
            tenant_id,
            prune_checkpoints,
            framework=framework,
            path=None if path is None else [*path],
            run_ids=None if run_ids is None else [*run_ids],
            principal_id=principal_id,
        )
