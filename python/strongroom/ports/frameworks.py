"""The port for what agent frameworks keep in their own form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from strongroom.models.base import BoundedText, Id, JsonObject
from strongroom.models.frameworks import (
    AppendedFrameworkRecord,
    FoundFrameworkRecord,
    FrameworkCheckpoint,
    FrameworkCondition,
    FrameworkPath,
    FrameworkPrefix,
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
    FrameworkSession,
    NewFrameworkRecord,
    PutFrameworkRecord,
    Word,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.principal_memory import Embedding

NewFrameworkRecords = Annotated[Sequence[NewFrameworkRecord], Field(min_length=1, max_length=500)]
FrameworkRecordChanges = Annotated[
    Sequence[FrameworkRecordChange], Field(min_length=1, max_length=500)
]
WantedRecords = Annotated[Sequence[FrameworkRecordReference], Field(min_length=1, max_length=500)]
FrameworkConditions = Annotated[Sequence[FrameworkCondition], Field(max_length=100)]
ExpectedVersion = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
Skip = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
KeyPrefix = Annotated[str, BoundedText(0, 255)]
Keys = Annotated[list[Id], Field(max_length=1000)]


class FrameworkStore(Protocol):
    """Sessions of agent frameworks, with records in order, keyed records, and checkpoints of graphs.

    ``strongroom.integrations`` is made of it; use it for a framework that has no integration. For hosts
    alone. Every writing method raises NotFound (SR010) for an absent tenant; a session is made by the
    first write to it.

    A call that names a ``principal_id`` is for that person's sessions alone: one that was made for another
    person, or for nobody, is refused. A call that names none is for any. What is made below a person's
    session is theirs.

    Example:
        >>> import asyncio, strongroom
        >>> from strongroom import NewFrameworkRecord
        >>> async def main():
        ...     async with strongroom.connect("memory:") as store:
        ...         await store.tenants.create(tenant_id="acme", name="Acme")
        ...         at = {"tenant_id": "acme", "framework": "mine", "path": ["session-1"]}
        ...         record = NewFrameworkRecord(key="m1", content={"role": "user"})
        ...         done = await store.frameworks.append(**at, records=[record, record])
        ...         page = await store.frameworks.list(**at)
        ...         return [one.outcome for one in done], [one.content for one in page.items]
        >>> asyncio.run(main())
        (['inserted', 'duplicate'], [{'role': 'user'}])
    """

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
        """Append 1..500 records in this order, all or none; say what became of each.

        Args:
            tenant_id: the tenant.
            framework: whose session it is.
            path: the session.
            records: what to append; a key that is there changes nothing.
            collection: what kind of thing they are.
            principal_id: the person whose session it is. Another than it was made for is refused.
            refuse_conflicts: raise instead of saying ``conflict``; then nothing is appended.

        Raises:
            AlreadyExists: SR011, the session is another principal's, or a conflict is refused.

        SQL: ``strongroom.append_framework_records``
        """
        ...

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
        """Return a page of the appended records in order; nothing for a session that is not there.

        Raises:
            InvalidCursor: SR002.
            AlreadyExists: SR011, the session is another principal's than the one that is given.

        SQL: ``strongroom.list_framework_records``
        """
        ...

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
        """Delete records by key, or the ``last`` of the appended ones; return what they were, in order.

        The audit has how many, and their positions.

        Raises:
            InvalidArgument: SR001, neither keys nor last, or both.
            AlreadyExists: SR011, the session is another principal's than the one that is given.

        SQL: ``strongroom.delete_framework_records``
        """
        ...

    async def put(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        records: FrameworkRecordChanges,
        principal_id: Id | None = None,
    ) -> tuple[PutFrameworkRecord, ...]:
        """Write 1..500 keyed records of any sessions, all or none; say what became of each.

        Raises:
            VersionConflict: SR012, a record has another version than ``expected_version``.
            AlreadyExists: SR011, a session is another principal's.

        SQL: ``strongroom.put_framework_records``
        """
        ...

    async def find(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        wanted: WantedRecords,
        refresh: bool = False,
        principal_id: Id | None = None,
    ) -> tuple[FrameworkRecord, ...]:
        """Return those of the wanted records that there are; ``refresh`` begins their times to live anew.

        Raises:
            AlreadyExists: SR011, a session is another principal's than the one that is given.

        SQL: ``strongroom.find_framework_records``
        """
        ...

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
        """Return records of the sessions at and below a path that pass a filter.

        The nearest to the embedding first; without one the newest first, with a ``key_prefix`` by path
        and key, after ``after_key`` of this very session. Every embedding is compared. With
        a principal only of their sessions.

        SQL: ``strongroom.search_framework_records``
        """
        ...

    async def expire(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """Delete records whose time to live has passed; return how many. Nobody sees them before, either.

        SQL: ``strongroom.expire_framework_records``
        """
        ...

    async def find_session(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        principal_id: Id | None = None,
    ) -> FrameworkSession | None:
        """Return a session; None when there is none.

        Raises:
            AlreadyExists: SR011, it is another principal's than the one that is given.

        SQL: ``strongroom.find_framework_session``
        """
        ...

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
        """Make a session (expected version 0), or replace its state; at most 1 MiB.

        Raises:
            NotFound: SR010, there is none with this path.
            VersionConflict: SR012, with ``detail["current_version"]``.
            AlreadyExists: SR011, it is another principal's.

        SQL: ``strongroom.put_framework_session``
        """
        ...

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
        """Return a page of the sessions at and below a path, by path.

        Args:
            tenant_id: the tenant.
            framework: whose sessions.
            path: the beginning of their paths.
            limit: rows, 1..500.
            after: a cursor: only sessions after it.
            before: a cursor: only sessions before it.
            direction: by path, or its reverse.
            principal_id: only this person's.
            collection: only those with a record in it that has not expired.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_framework_sessions``
        """
        ...

    async def delete_sessions(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath,
        exact: bool = False,
        principal_id: Id | None = None,
    ) -> int:
        """Delete the session and those below it (unless ``exact``) for good; return how many.

        Raises:
            AlreadyExists: SR011, one is another principal's than the one that is given; none is deleted.

        SQL: ``strongroom.delete_framework_sessions``
        """
        ...

    async def fork_session(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        from_path: FrameworkPath,
        path: FrameworkPath,
        principal_id: Id | None = None,
    ) -> int:
        """Copy the session and those below it to a path where nothing is; return how many.

        Raises:
            InvalidArgument: SR001, one path lies in the other.
            AlreadyExists: SR011, there is something, or a session is another principal's than the one
                that is given.

        SQL: ``strongroom.fork_framework_session``
        """
        ...

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
        """Return checkpoints of the sessions at and below a path (only at it: ``exact``), newest id first.

        Each comes with the channel values that it names and its writes, in one call. ``filter`` is JSON
        that their metadata must contain. With a principal and no path, those of their sessions.

        Raises:
            AlreadyExists: SR011, a session there is another principal's than the one that is given.

        SQL: ``strongroom.read_framework_checkpoints``
        """
        ...

    async def prune_checkpoints(
        self,
        *,
        tenant_id: Id,
        framework: Word,
        path: FrameworkPath | None = None,
        run_ids: Keys | None = None,
        principal_id: Id | None = None,
    ) -> int:
        """Delete all but the newest checkpoint of the sessions at and below a path, or those of runs.

        Their writes go, and the values that no checkpoint names any more. Where channels are kept as
        deltas, the ancestors of the newest stay.

        Raises:
            InvalidArgument: SR001, neither path nor run_ids, or both.
            AlreadyExists: SR011, one is in another principal's session than the one that is given.

        SQL: ``strongroom.prune_framework_checkpoints``
        """
        ...
