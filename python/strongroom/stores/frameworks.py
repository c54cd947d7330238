"""FrameworkStore on SQL."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.models.base import Id, JsonObject, JsonValue, Record
from strongroom.models.frameworks import (
    AppendedFrameworkRecord,
    FoundFrameworkRecord,
    FrameworkCheckpoint,
    FrameworkPath,
    FrameworkPrefix,
    FrameworkRecord,
    FrameworkSession,
    NewFrameworkRecord,
    PutFrameworkRecord,
    Word,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.principal_memory import Embedding
from strongroom.ports.arguments import port_method
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
from strongroom.stores.base import SqlStore
from strongroom.stores.framework_checkpoints import checkpoints_of
from strongroom.transports.base import Argument, Bytes, Document


class _Deleted(Record):
    deleted: int


class _Forked(Record):
    forked: int


class _Expired(Record):
    expired: int


class _Pruned(Record):
    pruned: int


def _written(records: Sequence[NewFrameworkRecord]) -> dict[str, Argument]:
    """Return records as arguments: JSON, in which bytes are places in the list beside it."""
    documents: list[JsonValue] = []
    data: list[bytes] = []
    for record in records:
        document = record.document()
        if record.data is not None:
            document["data"] = len(data)
            data.append(record.data)
        documents.append(document)
    return {"records": Document(documents), "data": Bytes(data) if data else None}


class SqlFrameworkStore(SqlStore):
    """See :class:`strongroom.ports.FrameworkStore`."""

    @port_method
    async def append(
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
        rows = await self._rows(
            AppendedFrameworkRecord,
            "append_framework_records",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            **_written(records),
            collection=collection,
            principal_id=principal_id,
            refuse_conflicts=refuse_conflicts,
        )
        return tuple(rows)

    @port_method
    async def list(
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
        return await self._page(
            FrameworkRecord,
            "list_framework_records",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            collection=collection,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            principal_id=principal_id,
        )

    @port_method
    async def delete(
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
        rows = await self._rows(
            FrameworkRecord,
            "delete_framework_records",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            collection=collection,
            keys=keys,
            last=last,
            principal_id=principal_id,
        )
        return tuple(rows)

    @port_method
    async def put(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        records: FrameworkRecordChanges,
        principal_id: Id | None = None,
    ) -> tuple[PutFrameworkRecord, ...]:
        """See the port."""
        rows = await self._rows(
            PutFrameworkRecord,
            "put_framework_records",
            tenant_id=tenant_id,
            framework=framework,
            **_written(records),
            principal_id=principal_id,
        )
        return tuple(rows)

    @port_method
    async def find(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        wanted: WantedRecords,
        refresh: bool = False,
        principal_id: Id | None = None,
    ) -> tuple[FrameworkRecord, ...]:
        """See the port."""
        rows = await self._rows(
            FrameworkRecord,
            "find_framework_records",
            tenant_id=tenant_id,
            framework=framework,
            wanted=Document([one.model_dump() for one in wanted]),
            refresh=refresh,
            principal_id=principal_id,
        )
        return tuple(rows)

    @port_method
    async def search(
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
        rows = await self._rows(
            FoundFrameworkRecord,
            "search_framework_records",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            collection=collection,
            filter=Document([one.model_dump() for one in filter]),
            embedding=None if embedding is None else Document([*embedding]),
            limit=limit,
            skip=skip,
            key_prefix=key_prefix,
            after_key=after_key,
            refresh=refresh,
            principal_id=principal_id,
        )
        return tuple(rows)

    @port_method
    async def expire(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        row = await self._one(
            _Expired, "expire_framework_records", tenant_id=tenant_id, limit=limit
        )
        return row.expired

    @port_method
    async def find_session(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        principal_id: Id | None = None,
    ) -> FrameworkSession | None:
        """See the port."""
        return await self._find(
            FrameworkSession,
            "find_framework_session",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            principal_id=principal_id,
        )

    @port_method
    async def put_session(
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
        return await self._one(
            FrameworkSession,
            "put_framework_session",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            state=Document(state),
            expected_version=expected_version,
            principal_id=principal_id,
        )

    @port_method
    async def list_sessions(
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
        return await self._page(
            FrameworkSession,
            "list_framework_sessions",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            principal_id=principal_id,
            collection=collection,
        )

    @port_method
    async def delete_sessions(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        exact: bool = False,
        principal_id: Id | None = None,
    ) -> int:
        """See the port."""
        row = await self._one(
            _Deleted,
            "delete_framework_sessions",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            exact=exact,
            principal_id=principal_id,
        )
        return row.deleted

    @port_method
    async def fork_session(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        from_path: FrameworkPath,
        path: FrameworkPath,
        principal_id: Id | None = None,
    ) -> int:
        """See the port."""
        row = await self._one(
            _Forked,
            "fork_framework_session",
            tenant_id=tenant_id,
            framework=framework,
            from_path=from_path,
            path=path,
            principal_id=principal_id,
        )
        return row.forked

    @port_method
    async def read_checkpoints(
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
        text, data = await self._transport.call_for_bytes(
            "read_framework_checkpoints",
            {
                "tenant_id": tenant_id,
                "framework": framework,
                "path": path,
                "exact": exact,
                "checkpoint_id": checkpoint_id,
                "before_id": before_id,
                "filter": Document(filter) if filter else None,
                "limit": limit,
                "principal_id": principal_id,
            },
        )
        return checkpoints_of(text, data)

    @port_method
    async def prune_checkpoints(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath | None = None,
        run_ids: Keys | None = None,
        principal_id: Id | None = None,
    ) -> int:
        """See the port."""
        row = await self._one(
            _Pruned,
            "prune_framework_checkpoints",
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            run_ids=run_ids,
            principal_id=principal_id,
        )
        return row.pruned
