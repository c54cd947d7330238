"""The object that hosts use: one attribute per port, units of work, health."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import get_args

from strongroom.errors import InvalidArgument, MissingCapability
from strongroom.infrastructure.hints import Hints
from strongroom.infrastructure.missing_blobs import REMEDY
from strongroom.infrastructure.work_signals import WorkSignals
from strongroom.models.health import Capability, Health
from strongroom.ports import (
    AgentStore,
    ArtifactStore,
    AuditStore,
    BlobRemovalStore,
    BlobStore,
    CheckpointStore,
    ConversationStore,
    DistributedLockStore,
    EvaluationStore,
    FileMetadataStore,
    FrameworkStore,
    InteractionStore,
    JobDispatcher,
    KeywordIndex,
    KnowledgeStore,
    LifecycleStore,
    MemoryStore,
    MessageStore,
    PrincipalMemoryStore,
    RealtimePublisher,
    RunStore,
    SchemaManager,
    SessionStateStore,
    SkillStore,
    TenantStore,
    ThreadSummaryStore,
    ToolOutputStore,
    TranscriptStore,
    UsageStore,
    VectorIndex,
)
from strongroom.retention import read_retention


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The storage ports, one attribute each."""

    tenants: TenantStore
    agents: AgentStore
    skills: SkillStore
    conversations: ConversationStore
    messages: MessageStore
    session_state: SessionStateStore
    summaries: ThreadSummaryStore
    principal_memory: PrincipalMemoryStore
    runs: RunStore
    checkpoints: CheckpointStore
    interactions: InteractionStore
    evaluations: EvaluationStore
    frameworks: FrameworkStore
    knowledge: KnowledgeStore
    vectors: VectorIndex
    keywords: KeywordIndex
    artifacts: ArtifactStore
    tool_outputs: ToolOutputStore
    transcripts: TranscriptStore
    memory: MemoryStore
    jobs: JobDispatcher
    locks: DistributedLockStore
    realtime: RealtimePublisher
    usage: UsageStore
    audit: AuditStore
    files: FileMetadataStore
    blob_removals: BlobRemovalStore
    lifecycle: LifecycleStore


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitOfWork(Ports):
    """The ports within one transaction of one tenant.

    What its calls wrote is saved when the block ends, all of it, or none when an error leaves it.
    """

    tenant_id: str
    begin_nested: Callable[[str], AbstractAsyncContextManager[UnitOfWork]]

    def unit_of_work(self, *, tenant_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """Begin a nested unit on the same connection: an error undoes only its own part.

        Raises:
            TenantMismatch: SR021, another tenant.
        """
        return self.begin_nested(tenant_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strongroom(Ports):
    """An open store. Get one from :func:`strongroom.connect`.

    Attributes:
        schema: creates and upgrades the tables.
        capabilities: what this adapter can do here.
        work_signals: how a worker waits for work.
        blobs: where bytes lie; without one, every call says what to do.
        hints: what wakes :mod:`strongroom.following`; None: it polls.
    """

    schema: SchemaManager
    blobs: BlobStore
    capabilities: frozenset[Capability]
    work_signals: WorkSignals
    begin: Callable[[str], AbstractAsyncContextManager[UnitOfWork]]
    read_health: Callable[[], Awaitable[Health]]
    hints: Hints | None = None

    def unit_of_work(self, *, tenant_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """Join calls of any ports in one transaction, on one connection.

        Args:
            tenant_id: the one tenant that every call inside names.

        Raises:
            MissingCapability: SR040, the adapter has no transactions.
            Unavailable: SR050, no connection could be had, or it was lost: then nothing is saved.

        Example:
            >>> import asyncio, strongroom
            >>> from strongroom import NewMessage, TextPart
            >>> async def main() -> int:
            ...     async with strongroom.connect("memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
            ...         async with store.unit_of_work(tenant_id="acme") as uow:
            ...             await uow.messages.append(
            ...                 tenant_id="acme", conversation_id=talk.id,
            ...                 messages=[NewMessage(role="user", parts=[TextPart(text="Hi")])],
            ...             )
            ...             await uow.session_state.put(
            ...                 tenant_id="acme", conversation_id=talk.id,
            ...                 state={"mood": "fine"}, expected_version=0,
            ...             )
            ...         return await store.messages.count(tenant_id="acme", conversation_id=talk.id)
            >>> asyncio.run(main())
            1
        """
        return self.begin(tenant_id)

    async def health(self, *, tenant_id: str | None = None) -> Health:
        """Return the state of the store: version, capabilities, role, warnings.

        Args:
            tenant_id: also say how many of this tenant's runs stand where, how many uploads are
                pending, how many keys wait for their bytes to be removed, how many retention policies
                no sweep has finished for a day, how much has expired and is still there, and since when
                its audit waits to be sealed.

        Raises:
            Unavailable: SR050, the database cannot be reached.
        """
        health = await self.read_health()
        if tenant_id is None or health.schema_version is None:
            return health
        return health.replace(
            runs=await self.runs.queue(tenant_id=tenant_id),
            files=await self.files.queue(tenant_id=tenant_id),
            blob_removals=await self.blob_removals.queue(tenant_id=tenant_id),
            retention=await read_retention(self.lifecycle, tenant_id),
            expiry=await self.lifecycle.expiry_queue(tenant_id=tenant_id),
            audit=await self.audit.queue(tenant_id=tenant_id),
        )


_REMEDIES: dict[str, str] = {
    "blob_storage": REMEDY,
    "vector_search": "Install pgvector 0.8 or newer (create extension vector), and run"
    " `strongroom migrate apply`.",
    "transactions": "Connect over psycopg (postgresql://...) instead of through an API.",
    "row_level_security": "Use a PostgreSQL or Supabase adapter.",
    "distributed_locking": "Use a PostgreSQL adapter, or connect(locks='redis://host:6379/0')"
    " with pip install 'strongroom[redis]'.",
    "realtime": "Use a PostgreSQL adapter, or connect(realtime='redis://host:6379/0')"
    " with pip install 'strongroom[redis]'.",
    "durable_jobs": "Use a PostgreSQL adapter; connect(jobs='bullmq+redis://host:6379/0') brings its"
    " jobs to workers, with pip install 'strongroom[bullmq]'.",
    "full_text_search": "Use a PostgreSQL adapter.",
    "managed_schema": "Use a PostgreSQL adapter, or run the migrations elsewhere.",
}

FEATURES: dict[str, Capability] = {
    "files": "blob_storage",
    "background_jobs": "durable_jobs",
    "locks": "distributed_locking",
    "live_updates": "realtime",
    "semantic_search": "vector_search",
    "keyword_search": "full_text_search",
    "units_of_work": "transactions",
}
"""What hosts call a feature -> the capability that it needs. A capability's own name does as well."""


def with_blobs(
    capabilities: frozenset[Capability], blobs: BlobStore | None
) -> frozenset[Capability]:
    """Return what an adapter can do with this blob store, or without one."""
    return capabilities if blobs is None else capabilities | {"blob_storage"}


def check_features(features: Iterable[str], available: frozenset[Capability], adapter: str) -> None:
    """Refuse to start when the host needs what the adapter lacks.

    Raises:
        InvalidArgument: SR001, a name that is no feature and no capability.
        MissingCapability: SR040, naming the feature, the capability that it needs, and what to do.
    """
    capabilities = get_args(Capability)
    known = (*capabilities, *FEATURES)
    for feature in features:
        if feature not in known:
            raise InvalidArgument(
                f"features: {feature!r} is no feature and no capability",
                detail={"path": "features", "choices": list(known)},
                hint=f"Use any of: {', '.join(known)}.",
            )
        capability = FEATURES.get(feature, feature)
        if capability not in available:
            needs = "" if capability == feature else f", which needs {capability},"
            raise MissingCapability(
                f"the feature {feature!r}{needs} is enabled, but the {adapter} adapter lacks it here",
                detail={
                    "feature": feature,
                    "capability": capability,
                    "available": sorted(available),
                },
                hint=_REMEDIES[capability],
            )
