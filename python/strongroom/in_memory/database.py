"""What is stored, and how writes become atomic.

Everything of one tenant is one :class:`Tables` of immutable rows. A write copies the tables (the rows
are shared, not copied), changes the copy, and puts it in the place of the committed one in one step. So a
reader never sees half a write, and a write that fails or is cancelled leaves no trace.

Writers of a tenant take turns on its lock. A unit of work takes it at its first write and keeps it to its
end; until then others read what was committed before. PostgreSQL locks single conversations instead.
"""

from __future__ import annotations

import asyncio
import copy
import datetime as dt
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from strongroom.errors import InvalidTransition, TenantMismatch, Unavailable
from strongroom.models.artifacts import Artifact, ArtifactExport, ArtifactVersion
from strongroom.models.audit import AuditEvent
from strongroom.models.base import Record
from strongroom.models.blobs import BlobRemoval
from strongroom.models.catalog import Agent, AgentVersion, Skill, SkillVersion
from strongroom.models.conversations import Conversation
from strongroom.models.evaluations import EvaluationCase, EvaluationResult, EvaluationRun
from strongroom.models.files import File, FileVersion
from strongroom.models.frameworks import FrameworkRecord, FrameworkSession
from strongroom.models.interactions import ApprovalGrant, Interaction
from strongroom.models.jobs import Job
from strongroom.models.knowledge import Chunk, Collection, Source
from strongroom.models.lifecycle import DeletionReceipt, RetentionPolicy
from strongroom.models.locks import Lock
from strongroom.models.messages import Message
from strongroom.models.principal_memory import MemoryFact
from strongroom.models.realtime import Topic, TopicEvent
from strongroom.models.runs import Checkpoint, Run, RunEvent
from strongroom.models.session_state import SessionState
from strongroom.models.summaries import ThreadSummary
from strongroom.models.tenants import Membership, Tenant
from strongroom.models.tool_outputs import ToolOutput
from strongroom.models.usage import UsageEvent

R = TypeVar("R", bound=Record)
T = TypeVar("T")

WAIT_SECONDS = 30.0
"""How long a write waits for the unit of work of another task."""

_UNIT_FAILED = "Let the error leave the block, or put the call in a nested unit of work."


@dataclass(frozen=True, slots=True)
class Row(Generic[R]):
    """A mutable record's present state, and what it was created with, to know a repeated create."""

    record: R
    created_with: Any


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact of a principal's memory, with what only searches and repeated puts look at."""

    record: MemoryFact
    created_with: Any
    embedding: tuple[float, ...] | None
    terms: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The state of a principal's memory as a whole."""

    disabled_at: dt.datetime | None = None
    disabled_by: str | None = None
    generation: int = 0
    forgotten_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk, its direction and its terms.

    Attributes:
        chunk: the chunk.
        direction: the embedding at length 1; None when it is not embedded.
        terms: how often each term occurs; None when the chunk is out of the search by words.
    """

    chunk: Chunk
    direction: tuple[float, ...] | None
    terms: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class Person:
    """Someone that an audit event names. Forgetting them keeps the digest, which tells nobody who."""

    salt: str | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An audit event, and what the chain covers of the people in it."""

    record: AuditEvent
    actor: Person
    principal: Person


@dataclass(frozen=True, slots=True)
class SealRow:
    """One sealed batch of audit events."""

    last_position: int
    digest: str
    created_at: dt.datetime | None


TranscriptKey = tuple[str, str, str]
"""A transcript's kind, name and user (empty for none)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRaw:
    """A raw message of a transcript; what says where it came from is there for sessions only."""

    message: Any
    created_at: dt.datetime
    message_id: str | None = None
    run_id: str | None = None
    turn: int | None = None
    append_id: str | None = None
    append_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFailure:
    """A failed run of a session."""

    id: str
    run_id: str
    error: Any
    messages: tuple[Any, ...]
    created_at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTranscript:
    """A scope's or session's transcript, with all that hangs on it."""

    id: str
    conversation_id: str | None
    created_at: dt.datetime
    updated_at: dt.datetime
    metadata: dict[str, Any] = field(default_factory=dict)
    version: int = 0
    digest: str | None = None
    messages: tuple[StoredRaw, ...] = ()
    errors: tuple[StoredFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt, and the salted hash that stands for the person it is about."""

    receipt: DeletionReceipt
    salt: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A framework's record, with what only searches and refreshes look at."""

    record: FrameworkRecord
    ttl_seconds: float | None = None
    embeddings: tuple[tuple[float, ...], ...] = ()

    def at(self, path: tuple[str, ...]) -> StoredRecord:
        """Return it as it is in another session."""
        return replace(self, record=self.record.replace(path=path))

    def until(self, moment: dt.datetime) -> StoredRecord:
        """Return it as it is when it expires at another moment."""
        return replace(self, record=self.record.replace(expires_at=moment))


@dataclass(slots=True)
class Tables:
    """Everything of one tenant. Rows are replaced, never changed; messages and summaries in order."""

    tenant_id: str
    now: dt.datetime
    tenant: Row[Tenant] | None = None
    members: dict[str, Row[Membership]] = field(default_factory=dict)
    conversations: dict[str, Row[Conversation]] = field(default_factory=dict)
    messages: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    messages_by_id: dict[str, Message] = field(default_factory=dict)
    session_states: dict[str, SessionState] = field(default_factory=dict)
    summaries: dict[str, tuple[ThreadSummary, ...]] = field(default_factory=dict)
    runs: dict[str, Row[Run]] = field(default_factory=dict)
    resumed_after: dict[str, int] = field(default_factory=dict)
    run_events: dict[str, tuple[RunEvent, ...]] = field(default_factory=dict)
    checkpoints: dict[str, tuple[Checkpoint, ...]] = field(default_factory=dict)
    interactions: dict[str, Row[Interaction]] = field(default_factory=dict)
    approval_claims: dict[str, str] = field(default_factory=dict)
    approval_grants: dict[str, ApprovalGrant] = field(default_factory=dict)
    catalog: dict[tuple[str, str], Row[Agent | Skill]] = field(default_factory=dict)
    catalog_versions: dict[tuple[str, str], tuple[AgentVersion | SkillVersion, ...]] = field(
        default_factory=dict
    )
    catalog_tombstones: dict[tuple[str, str], dt.datetime] = field(default_factory=dict)
    evaluation_cases: dict[str, tuple[EvaluationCase, ...]] = field(default_factory=dict)
    evaluation_digests: dict[str, str] = field(default_factory=dict)
    evaluation_runs: dict[str, Row[EvaluationRun]] = field(default_factory=dict)
    evaluation_run_cases: dict[tuple[str, str], int] = field(default_factory=dict)
    evaluation_results: dict[tuple[str, str, int], Row[EvaluationResult]] = field(
        default_factory=dict
    )
    jobs: dict[str, Row[Job]] = field(default_factory=dict)
    locks: dict[str, tuple[int, Lock | None]] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    topic_events: dict[str, tuple[TopicEvent, ...]] = field(default_factory=dict)
    facts: dict[tuple[str, str], StoredFact] = field(default_factory=dict)
    memory_settings: dict[str, MemorySettings] = field(default_factory=dict)
    tombstones: dict[tuple[str, ...], dt.datetime] = field(default_factory=dict)
    collections: dict[str, Row[Collection]] = field(default_factory=dict)
    sources: dict[str, Row[Source]] = field(default_factory=dict)
    chunks: dict[str, tuple[IndexedChunk, ...]] = field(default_factory=dict)
    audit_events: dict[str, AuditRow] = field(default_factory=dict)
    audit_seals: tuple[SealRow, ...] = ()
    usage_events: dict[str, UsageEvent] = field(default_factory=dict)
    usage_by_step: dict[tuple[str, str], str] = field(default_factory=dict)
    blob_removals: dict[str, BlobRemoval] = field(default_factory=dict)
    files: dict[str, Row[File]] = field(default_factory=dict)
    file_versions: dict[str, tuple[Row[FileVersion], ...]] = field(default_factory=dict)
    artifacts: dict[str, Row[Artifact]] = field(default_factory=dict)
    artifact_versions: dict[str, tuple[ArtifactVersion, ...]] = field(default_factory=dict)
    artifact_exports: dict[tuple[str, int, str], ArtifactExport] = field(default_factory=dict)
    tool_outputs: dict[tuple[str, str], ToolOutput] = field(default_factory=dict)
    transcripts: dict[TranscriptKey, StoredTranscript] = field(default_factory=dict)
    framework_sessions: dict[tuple[str, tuple[str, ...]], FrameworkSession] = field(
        default_factory=dict
    )
    framework_records: dict[str, dict[tuple[str, str], StoredRecord]] = field(default_factory=dict)
    retention_policies: dict[str, Row[RetentionPolicy]] = field(default_factory=dict)
    deletion_receipts: dict[str, StoredReceipt] = field(default_factory=dict)

    def draft(self, now: dt.datetime) -> Tables:
        """Return tables of the same rows that can be changed on their own, at this moment."""
        return replace(
            self,
            now=now,
            members=dict(self.members),
            conversations=dict(self.conversations),
            messages=dict(self.messages),
            messages_by_id=dict(self.messages_by_id),
            session_states=dict(self.session_states),
            summaries=dict(self.summaries),
            runs=dict(self.runs),
            resumed_after=dict(self.resumed_after),
            run_events=dict(self.run_events),
            checkpoints=dict(self.checkpoints),
            interactions=dict(self.interactions),
            approval_claims=dict(self.approval_claims),
            approval_grants=dict(self.approval_grants),
            catalog=dict(self.catalog),
            catalog_versions=dict(self.catalog_versions),
            catalog_tombstones=dict(self.catalog_tombstones),
            evaluation_cases=dict(self.evaluation_cases),
            evaluation_digests=dict(self.evaluation_digests),
            evaluation_runs=dict(self.evaluation_runs),
            evaluation_run_cases=dict(self.evaluation_run_cases),
            evaluation_results=dict(self.evaluation_results),
            jobs=dict(self.jobs),
            locks=dict(self.locks),
            topics=dict(self.topics),
            topic_events=dict(self.topic_events),
            audit_events=dict(self.audit_events),
            facts=dict(self.facts),
            memory_settings=dict(self.memory_settings),
            tombstones=dict(self.tombstones),
            collections=dict(self.collections),
            sources=dict(self.sources),
            chunks=dict(self.chunks),
            usage_events=dict(self.usage_events),
            usage_by_step=dict(self.usage_by_step),
            blob_removals=dict(self.blob_removals),
            files=dict(self.files),
            file_versions=dict(self.file_versions),
            artifacts=dict(self.artifacts),
            artifact_versions=dict(self.artifact_versions),
            artifact_exports=dict(self.artifact_exports),
            tool_outputs=dict(self.tool_outputs),
            transcripts=dict(self.transcripts),
            framework_sessions=dict(self.framework_sessions),
            framework_records=dict(self.framework_records),
            retention_policies=dict(self.retention_policies),
            deletion_receipts=dict(self.deletion_receipts),
        )


class Session(Protocol):
    """Where the ports run their functions: outside of units of work, or within one."""

    async def read(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Run a function that only reads; return a copy of what it returns."""
        ...

    async def write(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Run a function that may change the tables; return a copy of what it returns."""
        ...

    def writable_tenants(self) -> list[str]:
        """Return the tenants that can be written without waiting, for calls that serve all of them."""
        ...


class _Lock:
    """A tenant's lock for writers, which knows the task that it would be in vain to wait for."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None

    async def acquire(self, task: asyncio.Task[Any] | None) -> None:
        if task is not None and self._holder is task:
            raise InvalidTransition(
                "this task's own unit of work is writing, so the call would wait for itself",
                hint="Inside the block, write through the ports of the unit of work.",
            )
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._lock.acquire()
        except TimeoutError as error:
            raise Unavailable(
                f"a unit of work of another task has been writing for {WAIT_SECONDS:g} seconds",
                hint="End units of work soon, and do not wait for other writers inside of one.",
            ) from error
        self._holder = task

    def is_held(self) -> bool:
        return self._lock.locked()

    def release(self) -> None:
        self._holder = None
        self._lock.release()


class Database:
    """The committed tables of every tenant, and the session for calls outside of units of work."""

    def __init__(self) -> None:
        """Start empty."""
        self._committed: dict[str, Tables] = {}
        self._locks: dict[str, _Lock] = {}

    def committed(self, tenant_id: str) -> Tables:
        """Return what everyone may read now. Only for reading: change a draft of it."""
        found = self._committed.get(tenant_id)
        return found or Tables(tenant_id=tenant_id, now=dt.datetime.now(dt.UTC))

    def commit(self, draft: Tables) -> None:
        """Make a draft what everyone reads."""
        self._committed[draft.tenant_id] = draft

    def lock(self, tenant_id: str) -> _Lock:
        """Return the lock of the tenant's writers."""
        # In one step: in the blocking form two threads may ask for it at once.
        return self._locks.setdefault(tenant_id, _Lock())

    def writable_tenants(self) -> list[str]:
        """Return the tenants that no unit of work is writing to, in order."""
        return sorted(t for t in [*self._committed] if not self.lock(t).is_held())

    async def read(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Read what is committed, also while a unit of work is open."""
        return copy.deepcopy(work(self.committed(tenant_id)))

    async def write(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Write in a transaction of its own. Between taking the lock and the end nothing awaits."""
        lock = self.lock(tenant_id)
        await lock.acquire(asyncio.current_task())
        try:
            draft = self.committed(tenant_id).draft(dt.datetime.now(dt.UTC))
            result = copy.deepcopy(work(draft))
            self.commit(draft)
        finally:
            lock.release()
        return result

    @asynccontextmanager
    async def unit_of_work(self, tenant_id: str) -> AsyncIterator[Unit]:
        """Begin a unit; save it at the end of the block, or nothing of it when an error leaves it."""
        unit = Unit(self, tenant_id)
        try:
            yield unit
            unit.save()
        finally:
            unit.end()


class Unit:
    """The session within one unit of work: its own draft of one tenant's tables."""

    def __init__(self, database: Database, tenant_id: str) -> None:
        """Begin; nothing is locked before the first write."""
        self._database = database
        self._tenant_id = tenant_id
        self._now = dt.datetime.now(dt.UTC)
        self._task = asyncio.current_task()
        self._turn = asyncio.Lock()
        self._draft: Tables | None = None
        self._holds_lock = False
        self._failed = False
        self._ended = False

    def writable_tenants(self) -> list[str]:
        """Refuse: a unit of work serves one tenant, so calls inside name it."""
        self._check("")
        return []

    async def read(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Read what the unit has written, on top of what is committed."""
        async with self._turn:
            with self._call(tenant_id):
                return copy.deepcopy(work(self._draft or self._database.committed(tenant_id)))

    async def write(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Write into the unit's draft."""
        async with self._turn:
            with self._call(tenant_id):
                if not self._holds_lock:
                    await self._database.lock(tenant_id).acquire(self._task)
                    self._holds_lock = True
                if self._draft is None:
                    self._draft = self._database.committed(tenant_id).draft(self._now)
                return copy.deepcopy(work(self._draft))

    @contextmanager
    def _call(self, tenant_id: str) -> Iterator[None]:
        """Refuse a call that may not be made; after one that fails the unit only takes its end."""
        self._check(tenant_id)
        try:
            yield
        except BaseException:
            self._failed = True
            raise

    @asynccontextmanager
    async def nested(self, tenant_id: str) -> AsyncIterator[None]:
        """Begin a nested unit: an error that leaves it undoes only what was written in it."""
        self._check(tenant_id)
        before = self._draft.draft(self._now) if self._draft else None
        try:
            yield
            self._check_sound()
        except BaseException:
            self._draft = before
            self._failed = False
            raise

    def save(self) -> None:
        """Commit the draft, where there is one.

        Raises:
            InvalidTransition: SR030, a call in the unit failed and the error was swallowed.
        """
        self._check_sound()
        if self._draft is not None:
            self._database.commit(self._draft)

    def end(self) -> None:
        """Let the next writer in."""
        self._ended = True
        if self._holds_lock:
            self._database.lock(self._tenant_id).release()

    def _check(self, tenant_id: str) -> None:
        if tenant_id != self._tenant_id:
            raise TenantMismatch(
                "tenant_id is not the tenant of the unit of work",
                detail={"path": "tenant_id"},
                hint="One unit of work serves one tenant; begin another for another tenant.",
            )
        if self._ended:
            raise InvalidTransition(
                "the unit of work has ended", hint="Use its ports inside its block only."
            )
        if self._failed:
            raise InvalidTransition("a call in this unit of work failed before", hint=_UNIT_FAILED)

    def _check_sound(self) -> None:
        if self._failed:
            raise InvalidTransition(
                "a call inside the unit of work failed, so nothing of the unit was saved",
                hint=_UNIT_FAILED,
            )
