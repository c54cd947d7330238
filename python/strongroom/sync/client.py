# Written by scripts/generate_sync.py from strongroom/client.py: change that, and run `make generate`.
"""The object that hosts use: one attribute per port, units of work, health."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from strongroom.models.health import Capability, Health
from strongroom.sync.infrastructure.hints import Hints
from strongroom.sync.infrastructure.work_signals import WorkSignals
from strongroom.sync.ports.agents import AgentStore
from strongroom.sync.ports.artifacts import ArtifactStore
from strongroom.sync.ports.audit import AuditStore
from strongroom.sync.ports.blob_removals import BlobRemovalStore
from strongroom.sync.ports.blobs import BlobStore
from strongroom.sync.ports.conversations import ConversationStore
from strongroom.sync.ports.evaluations import EvaluationStore
from strongroom.sync.ports.files import FileMetadataStore
from strongroom.sync.ports.frameworks import FrameworkStore
from strongroom.sync.ports.indexes import KeywordIndex, VectorIndex
from strongroom.sync.ports.interactions import InteractionStore
from strongroom.sync.ports.jobs import JobDispatcher
from strongroom.sync.ports.knowledge import KnowledgeStore
from strongroom.sync.ports.lifecycle import LifecycleStore
from strongroom.sync.ports.locks import DistributedLockStore
from strongroom.sync.ports.memory_sessions import MemoryStore
from strongroom.sync.ports.messages import MessageStore
from strongroom.sync.ports.principal_memory import PrincipalMemoryStore
from strongroom.sync.ports.realtime import RealtimePublisher
from strongroom.sync.ports.runs import CheckpointStore, RunStore
from strongroom.sync.ports.schema import SchemaManager
from strongroom.sync.ports.session_state import SessionStateStore
from strongroom.sync.ports.skills import SkillStore
from strongroom.sync.ports.summaries import ThreadSummaryStore
from strongroom.sync.ports.tenants import TenantStore
from strongroom.sync.ports.tool_outputs import ToolOutputStore
from strongroom.sync.ports.transcripts import TranscriptStore
from strongroom.sync.ports.usage import UsageStore
from strongroom.sync.retention import read_retention


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
    begin_nested: Callable[[str], AbstractContextManager[UnitOfWork]]

    def unit_of_work(self, *, tenant_id: str) -> AbstractContextManager[UnitOfWork]:
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
    begin: Callable[[str], AbstractContextManager[UnitOfWork]]
    read_health: Callable[[], Health]
    hints: Hints | None = None

    def unit_of_work(self, *, tenant_id: str) -> AbstractContextManager[UnitOfWork]:
        """Join calls of any ports in one transaction, on one connection.

        Args:
            tenant_id: the one tenant that every call inside names.

        Raises:
            MissingCapability: SR040, the adapter has no transactions.
            Unavailable: SR050, no connection could be had, or it was lost: then nothing is saved.

        Example:
            >>> import strongroom.sync
            >>> from strongroom import NewMessage, TextPart
            >>> def main() -> int:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         talk = store.conversations.create(tenant_id="acme", owner_id="ada")
            ...         with store.unit_of_work(tenant_id="acme") as uow:
            ...             uow.messages.append(
            ...                 tenant_id="acme", conversation_id=talk.id,
            ...                 messages=[NewMessage(role="user", parts=[TextPart(text="Hi")])],
            ...             )
            ...             uow.session_state.put(
            ...                 tenant_id="acme", conversation_id=talk.id,
            ...                 state={"mood": "fine"}, expected_version=0,
            ...             )
            ...         return store.messages.count(tenant_id="acme", conversation_id=talk.id)
            >>> main()
            1
        """
        return self.begin(tenant_id)

    def health(self, *, tenant_id: str | None = None) -> Health:
        """Return the state of the store: version, capabilities, role, warnings.

        Args:
            tenant_id: also say how many of this tenant's runs stand where, how many uploads are
                pending, how many keys wait for their bytes to be removed, how many retention policies
                no sweep has finished for a day, how much has expired and is still there, and since when
                its audit waits to be sealed.

        Raises:
            Unavailable: SR050, the database cannot be reached.
        """
        health = self.read_health()
        if tenant_id is None or health.schema_version is None:
            return health
        return health.replace(
            runs=self.runs.queue(tenant_id=tenant_id),
            files=self.files.queue(tenant_id=tenant_id),
            blob_removals=self.blob_removals.queue(tenant_id=tenant_id),
            retention=read_retention(self.lifecycle, tenant_id),
            expiry=self.lifecycle.expiry_queue(tenant_id=tenant_id),
            audit=self.audit.queue(tenant_id=tenant_id),
        )


def with_blobs(
    capabilities: frozenset[Capability], blobs: BlobStore | None
) -> frozenset[Capability]:
    """Return what an adapter can do with this blob store, or without one."""
    return capabilities if blobs is None else capabilities | {"blob_storage"}
