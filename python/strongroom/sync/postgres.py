# Written by scripts/generate_sync.py from strongroom/postgres.py: change that, and run `make generate`.
"""The PostgreSQL adapter: the ports on psycopg, put together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, cast

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from strongroom.errors import SchemaVersionError
from strongroom.infrastructure.missing_blobs import MissingBlobStore
from strongroom.models.health import Capability, Health
from strongroom.postgres import (
    _FINDINGS,
    _HAS_VECTORS,
    _HEALTH,
    CAPABILITIES,
    _has_migration,
    _HealthRow,
    _RealtimeFinding,
    _vector_search,
    _warnings,
)
from strongroom.stores.rows import rows_from
from strongroom.sync.client import Strongroom, UnitOfWork, with_blobs
from strongroom.sync.infrastructure.listening import ConnectToListen
from strongroom.sync.infrastructure.postgres_realtime import PostgresRealtimePublisher
from strongroom.sync.infrastructure.work_signals import listening
from strongroom.sync.ports.blobs import BlobStore
from strongroom.sync.schema import Connect, SqlSchemaManager
from strongroom.sync.stores.agents import SqlAgentStore
from strongroom.sync.stores.artifacts import SqlArtifactStore
from strongroom.sync.stores.audit import SqlAuditStore
from strongroom.sync.stores.blob_removals import SqlBlobRemovalStore
from strongroom.sync.stores.conversations import SqlConversationStore
from strongroom.sync.stores.evaluations import SqlEvaluationStore
from strongroom.sync.stores.files import SqlFileMetadataStore
from strongroom.sync.stores.frameworks import SqlFrameworkStore
from strongroom.sync.stores.indexes import SqlKeywordIndex, SqlVectorIndex
from strongroom.sync.stores.interactions import SqlInteractionStore
from strongroom.sync.stores.jobs import SqlJobDispatcher
from strongroom.sync.stores.knowledge import SqlKnowledgeStore
from strongroom.sync.stores.lifecycle import SqlLifecycleStore
from strongroom.sync.stores.locks import SqlDistributedLockStore
from strongroom.sync.stores.memory_sessions import SqlMemoryStore
from strongroom.sync.stores.messages import SqlMessageStore
from strongroom.sync.stores.principal_memory import SqlPrincipalMemoryStore
from strongroom.sync.stores.runs import SqlCheckpointStore, SqlRunStore
from strongroom.sync.stores.session_state import SqlSessionStateStore
from strongroom.sync.stores.skills import SqlSkillStore
from strongroom.sync.stores.summaries import SqlThreadSummaryStore
from strongroom.sync.stores.tenants import SqlTenantStore
from strongroom.sync.stores.tool_outputs import SqlToolOutputStore
from strongroom.sync.stores.transcripts import SqlTranscriptStore
from strongroom.sync.stores.usage import SqlUsageStore
from strongroom.sync.transports.base import Transport
from strongroom.sync.transports.psycopg import (
    Connection,
    ConnectionTransport,
    PoolTransport,
    cursor_of,
)
from strongroom.transports.psycopg import translated


def find_capabilities(
    transport: PoolTransport | ConnectionTransport,
) -> frozenset[Capability]:
    """Return what the adapter can do on this database, as it is now.

    Raises:
        Unavailable: SR050, the database cannot be reached.
    """
    try:
        with transport.connection() as connection, connection.transaction():
            cursor = cursor_of(connection).execute(_HAS_VECTORS)
            row = cursor.fetchone()
    except (psycopg.Error, PoolTimeout, PoolClosed, TooManyRequests, OSError) as error:
        raise translated(error) from error
    return CAPABILITIES | {"vector_search"} if row and row[0] else CAPABILITIES


def sql_ports(
    transport: Transport,
    connect_to_listen: ConnectToListen | None = None,
    *,
    in_unit: bool = False,
) -> dict[str, object]:
    """Return the ports on a transport, by attribute."""
    return {
        "tenants": SqlTenantStore(transport),
        "agents": SqlAgentStore(transport),
        "skills": SqlSkillStore(transport),
        "conversations": SqlConversationStore(transport),
        "messages": SqlMessageStore(transport),
        "session_state": SqlSessionStateStore(transport),
        "summaries": SqlThreadSummaryStore(transport),
        "principal_memory": SqlPrincipalMemoryStore(transport),
        "runs": SqlRunStore(transport),
        "checkpoints": SqlCheckpointStore(transport),
        "interactions": SqlInteractionStore(transport),
        "evaluations": SqlEvaluationStore(transport),
        "frameworks": SqlFrameworkStore(transport),
        "knowledge": SqlKnowledgeStore(transport),
        "vectors": SqlVectorIndex(transport),
        "keywords": SqlKeywordIndex(transport),
        "artifacts": SqlArtifactStore(transport),
        "tool_outputs": SqlToolOutputStore(transport),
        "transcripts": SqlTranscriptStore(transport),
        "memory": SqlMemoryStore(transport),
        "jobs": SqlJobDispatcher(transport),
        "lifecycle": SqlLifecycleStore(transport),
        "locks": SqlDistributedLockStore(transport),
        "usage": SqlUsageStore(transport),
        "audit": SqlAuditStore(transport),
        "realtime": PostgresRealtimePublisher(
            transport, connect=connect_to_listen, in_unit=in_unit
        ),
        "files": SqlFileMetadataStore(transport),
        "blob_removals": SqlBlobRemovalStore(transport),
    }


def _unit_of_work(transport: Transport, tenant_id: str) -> AbstractContextManager[UnitOfWork]:
    @contextmanager
    def begin() -> Iterator[UnitOfWork]:
        with transport.unit_of_work(tenant_id) as inner:
            yield UnitOfWork(
                **sql_ports(inner, in_unit=True),  # type: ignore[arg-type]
                tenant_id=tenant_id,
                begin_nested=lambda nested: _unit_of_work(inner, nested),
            )

    return begin()


def sql_store(
    transport: PoolTransport | ConnectionTransport,
    connect_as_owner: Connect | None = None,
    connect_to_listen: ConnectToListen | None = None,
    capabilities: frozenset[Capability] = CAPABILITIES,
    blobs: BlobStore | None = None,
) -> Strongroom:
    """Put a store together on a transport.

    Args:
        transport: how calls reach the database.
        connect_as_owner: how the schema manager does; None uses the transport's connections.
        connect_to_listen: how subscriptions get a connection of their own; None makes them poll.
        capabilities: what can be done here: ``find_capabilities``.
        blobs: where bytes lie.
    """
    schema = SqlSchemaManager(connect_as_owner or transport.connection)
    capabilities = with_blobs(capabilities, blobs)

    def read_health() -> Health:
        target = schema.target_version()
        try:
            return health_of(
                transport, adapter="postgresql", target=target, capabilities=capabilities
            )
        except SchemaVersionError:
            if schema.current_version() != 0:
                raise
        return Health(
            adapter="postgresql",
            status="degraded",
            schema_version=None,
            target_version=target,
            capabilities=tuple(sorted(capabilities)),
            warnings=("there is no schema: run `strongroom migrate apply`",),
        )

    return Strongroom(
        **sql_ports(transport, connect_to_listen),  # type: ignore[arg-type]
        schema=schema,
        capabilities=capabilities,
        blobs=blobs or cast("BlobStore", MissingBlobStore()),
        work_signals=listening(connect_to_listen),
        begin=lambda tenant_id: _unit_of_work(transport, tenant_id),
        read_health=read_health,
    )


def health_of(
    transport: Transport,
    *,
    adapter: Literal["postgresql", "supabase"],
    target: int,
    capabilities: frozenset[Capability],
) -> Health:
    """Ask a database that has the schema for its health.

    Args:
        transport: how calls reach the database.
        adapter: the name of the adapter.
        target: the version that this package carries.
        capabilities: what the adapter can do, whether or not it has vector search here.
    """
    told = transport.call("read_health", {})
    row = rows_from(_HEALTH, told, "read_health", _HealthRow.model_fields)[0]
    warnings = (*_warnings(row, target), *_realtime_warnings(transport, row))
    return Health(
        adapter=adapter,
        status="degraded" if warnings else "ok",
        schema_version=row.schema_version,
        target_version=target,
        capabilities=tuple(sorted(capabilities - {"vector_search"} | _vector_search(row))),
        server_version=row.server_version,
        role=row.role_name,
        warnings=warnings,
    )


def _realtime_warnings(transport: Transport, row: _HealthRow) -> list[str]:
    if row.caller_kind != "host" or not _has_migration(row, "realtime"):
        return []
    told = transport.call("diagnose_realtime", {})
    found = rows_from(_FINDINGS, told, "diagnose_realtime", _RealtimeFinding.model_fields)
    return [f"Realtime, {f.object_name}: {f.problem}. {f.hint}" for f in found]


def owner_connection(url: str) -> Connect:
    """Return how to open single connections to a URL, for the schema manager."""

    @contextmanager
    def connect() -> Iterator[Connection]:
        with psycopg.Connection.connect(url, autocommit=True, client_encoding="utf8") as connection:
            yield connection

    return connect
