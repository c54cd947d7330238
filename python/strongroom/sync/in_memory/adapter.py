# Written by scripts/generate_sync.py from strongroom/in_memory/adapter.py: change that, and run `make generate`.
"""The in-memory adapter, put together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from strongroom.errors import InvalidArgument, SchemaVersionError
from strongroom.in_memory.adapter import CAPABILITIES
from strongroom.infrastructure.missing_blobs import MissingBlobStore
from strongroom.migrations import load_migrations
from strongroom.models.health import Health, SchemaChange, TextPolicy
from strongroom.sync.client import Strongroom, UnitOfWork, with_blobs
from strongroom.sync.in_memory.agents import MemoryAgentStore
from strongroom.sync.in_memory.artifacts import MemoryArtifactStore
from strongroom.sync.in_memory.audit import MemoryAuditStore
from strongroom.sync.in_memory.blob_removals import MemoryBlobRemovalStore
from strongroom.sync.in_memory.checkpoints import MemoryCheckpointStore
from strongroom.sync.in_memory.conversations import MemoryConversationStore
from strongroom.sync.in_memory.database import Database, Session, Unit
from strongroom.sync.in_memory.evaluations import MemoryEvaluationStore
from strongroom.sync.in_memory.files import MemoryFileMetadataStore
from strongroom.sync.in_memory.frameworks import MemoryFrameworkStore
from strongroom.sync.in_memory.indexes import MemoryKeywordIndex, MemoryVectorIndex
from strongroom.sync.in_memory.interactions import MemoryInteractionStore
from strongroom.sync.in_memory.jobs import MemoryJobDispatcher
from strongroom.sync.in_memory.knowledge import MemoryKnowledgeStore
from strongroom.sync.in_memory.lifecycle import MemoryLifecycleStore
from strongroom.sync.in_memory.locks import MemoryDistributedLockStore
from strongroom.sync.in_memory.memory_sessions import MemoryMemoryStore
from strongroom.sync.in_memory.messages import MemoryMessageStore
from strongroom.sync.in_memory.principal_memory import MemoryPrincipalMemoryStore
from strongroom.sync.in_memory.realtime import MemoryRealtimePublisher
from strongroom.sync.in_memory.runs import MemoryRunStore
from strongroom.sync.in_memory.session_state import MemorySessionStateStore
from strongroom.sync.in_memory.skills import MemorySkillStore
from strongroom.sync.in_memory.summaries import MemoryThreadSummaryStore
from strongroom.sync.in_memory.tenants import MemoryTenantStore
from strongroom.sync.in_memory.tool_outputs import MemoryToolOutputStore
from strongroom.sync.in_memory.transcripts import MemoryTranscriptStore
from strongroom.sync.in_memory.usage import MemoryUsageStore
from strongroom.sync.infrastructure.work_signals import polling
from strongroom.sync.ports.blobs import BlobStore


def memory_store(
    *,
    text_policy: TextPolicy,
    database: Database | None = None,
    blobs: BlobStore | None = None,
) -> Strongroom:
    """Return a store that lives as long as the object.

    Args:
        text_policy: what to do with text that PostgreSQL cannot hold: ``reject`` or ``replace``.
        database: what it stores into, for several stores on the same data; None starts empty.
        blobs: where bytes lie.
    """
    database = database or Database()
    schema = MemorySchemaManager()
    capabilities = with_blobs(CAPABILITIES, blobs)

    @contextmanager
    def begin(tenant_id: str) -> Iterator[UnitOfWork]:
        with database.unit_of_work(tenant_id) as unit:
            yield _unit_of_work(unit, tenant_id, text_policy)

    def read_health() -> Health:
        return Health(
            adapter="memory",
            status="ok",
            schema_version=schema.target_version(),
            target_version=schema.target_version(),
            capabilities=tuple(sorted(capabilities)),
        )

    return Strongroom(
        **_ports(database, text_policy),  # type: ignore[arg-type]
        work_signals=polling,
        schema=schema,
        capabilities=capabilities,
        blobs=blobs or cast("BlobStore", MissingBlobStore()),
        begin=begin,
        read_health=read_health,
    )


def _ports(session: Session, text_policy: TextPolicy) -> dict[str, object]:
    return {
        "tenants": MemoryTenantStore(session, text_policy),
        "agents": MemoryAgentStore(session, text_policy),
        "skills": MemorySkillStore(session, text_policy),
        "conversations": MemoryConversationStore(session, text_policy),
        "messages": MemoryMessageStore(session, text_policy),
        "session_state": MemorySessionStateStore(session, text_policy),
        "summaries": MemoryThreadSummaryStore(session, text_policy),
        "principal_memory": MemoryPrincipalMemoryStore(session, text_policy),
        "runs": MemoryRunStore(session, text_policy),
        "checkpoints": MemoryCheckpointStore(session, text_policy),
        "interactions": MemoryInteractionStore(session, text_policy),
        "evaluations": MemoryEvaluationStore(session, text_policy),
        "frameworks": MemoryFrameworkStore(session, text_policy),
        "knowledge": MemoryKnowledgeStore(session, text_policy),
        "vectors": MemoryVectorIndex(session, text_policy),
        "keywords": MemoryKeywordIndex(session, text_policy),
        "artifacts": MemoryArtifactStore(session, text_policy),
        "tool_outputs": MemoryToolOutputStore(session, text_policy),
        "transcripts": MemoryTranscriptStore(session, text_policy),
        "memory": MemoryMemoryStore(session, text_policy),
        "jobs": MemoryJobDispatcher(session, text_policy),
        "lifecycle": MemoryLifecycleStore(session, text_policy),
        "locks": MemoryDistributedLockStore(session, text_policy),
        "usage": MemoryUsageStore(session, text_policy),
        "audit": MemoryAuditStore(session, text_policy),
        "realtime": MemoryRealtimePublisher(session, text_policy),
        "files": MemoryFileMetadataStore(session, text_policy),
        "blob_removals": MemoryBlobRemovalStore(session, text_policy),
    }


def _unit_of_work(unit: Unit, tenant_id: str, text_policy: TextPolicy) -> UnitOfWork:
    @contextmanager
    def begin_nested(nested_tenant_id: str) -> Iterator[UnitOfWork]:
        with unit.nested(nested_tenant_id):
            yield _unit_of_work(unit, tenant_id, text_policy)

    return UnitOfWork(
        **_ports(unit, text_policy),  # type: ignore[arg-type]
        tenant_id=tenant_id,
        begin_nested=begin_nested,
    )


class MemorySchemaManager:
    """See :class:`strongroom.ports.SchemaManager`. Memory always has the newest schema."""

    def current_version(self) -> int:
        """Return the target version."""
        return self.target_version()

    def target_version(self) -> int:
        """Return the newest migration that this package carries."""
        return load_migrations()[-1].version

    def plan(self) -> tuple[SchemaChange, ...]:
        """Return nothing: there is never anything to do."""
        return ()

    def apply(self) -> None:
        """Do nothing."""

    def downgrade(self, *, to_version: int, allow_data_loss: bool = False) -> None:  # noqa: ARG002
        """Do nothing for the target version; there are no older ones.

        Raises:
            InvalidArgument: SR001, no such version.
            SchemaVersionError: SR041, an older version.
        """
        target = self.target_version()
        if not 0 <= to_version <= target:
            raise InvalidArgument(
                f"to_version must be between 0 and {target}",
                detail={"path": "to_version", "actual": to_version},
                hint="`strongroom migrate status` lists the versions.",
            )
        if to_version < target:
            raise SchemaVersionError(
                "memory has no older schema to go back to",
                detail={"current_version": target, "to_version": to_version},
                hint="Open a new store to start empty.",
            )
