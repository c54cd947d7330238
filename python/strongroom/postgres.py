"""The PostgreSQL adapter: the ports on psycopg, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal, cast

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests
from pydantic import TypeAdapter

from strongroom.client import Strongroom, UnitOfWork, with_blobs
from strongroom.errors import SchemaVersionError
from strongroom.infrastructure import PostgresRealtimePublisher
from strongroom.infrastructure.listening import ConnectToListen
from strongroom.infrastructure.missing_blobs import MissingBlobStore
from strongroom.infrastructure.work_signals import listening
from strongroom.migrations import load_migrations
from strongroom.models.base import Record
from strongroom.models.health import Capability, Health
from strongroom.ports.blobs import BlobStore
from strongroom.schema import Connect, SqlSchemaManager
from strongroom.stores import (
    SqlAgentStore,
    SqlArtifactStore,
    SqlAuditStore,
    SqlBlobRemovalStore,
    SqlCheckpointStore,
    SqlConversationStore,
    SqlDistributedLockStore,
    SqlEvaluationStore,
    SqlFileMetadataStore,
    SqlFrameworkStore,
    SqlInteractionStore,
    SqlJobDispatcher,
    SqlKeywordIndex,
    SqlKnowledgeStore,
    SqlLifecycleStore,
    SqlMemoryStore,
    SqlMessageStore,
    SqlPrincipalMemoryStore,
    SqlRunStore,
    SqlSessionStateStore,
    SqlSkillStore,
    SqlTenantStore,
    SqlThreadSummaryStore,
    SqlToolOutputStore,
    SqlTranscriptStore,
    SqlUsageStore,
    SqlVectorIndex,
)
from strongroom.stores.rows import rows_from
from strongroom.transports.base import Transport
from strongroom.transports.psycopg import (
    Connection,
    ConnectionTransport,
    PoolTransport,
    cursor_of,
    translated,
)

CAPABILITIES: frozenset[Capability] = frozenset(
    {
        "transactions",
        "row_level_security",
        "managed_schema",
        "durable_jobs",
        "distributed_locking",
        "realtime",
        "full_text_search",
    }
)


class _HealthRow(Record):
    schema_version: int | None
    server_version: str
    role_name: str
    role_is_superuser: bool
    role_bypasses_row_security: bool
    caller_kind: str | None
    in_recovery: bool
    pgvector_version: str | None
    skipped_migrations: tuple[str, ...]


_HEALTH = TypeAdapter(list[_HealthRow])

_HAS_VECTORS = """
select exists (
    select
    from pg_catalog.pg_namespace as n
    inner join pg_catalog.pg_class as c on c.relnamespace = n.oid
    inner join pg_catalog.pg_attribute as a on a.attrelid = c.oid
    where n.nspname = 'strongroom'
        and c.relname = 'chunks'
        and a.attname = 'embedding'
        and not a.attisdropped
)
"""


async def find_capabilities(
    transport: PoolTransport | ConnectionTransport,
) -> frozenset[Capability]:
    """Return what the adapter can do on this database, as it is now.

    Raises:
        Unavailable: SR050, the database cannot be reached.
    """
    try:
        async with transport.connection() as connection, connection.transaction():
            cursor = await cursor_of(connection).execute(_HAS_VECTORS)
            row = await cursor.fetchone()
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


def _unit_of_work(transport: Transport, tenant_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
    @asynccontextmanager
    async def begin() -> AsyncIterator[UnitOfWork]:
        async with transport.unit_of_work(tenant_id) as inner:
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

    async def read_health() -> Health:
        target = schema.target_version()
        try:
            return await health_of(
                transport, adapter="postgresql", target=target, capabilities=capabilities
            )
        except SchemaVersionError:
            if await schema.current_version() != 0:
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


async def health_of(
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
    told = await transport.call("read_health", {})
    row = rows_from(_HEALTH, told, "read_health", _HealthRow.model_fields)[0]
    warnings = (*_warnings(row, target), *await _realtime_warnings(transport, row))
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


def _has_migration(row: _HealthRow, name: str) -> bool:
    known = {migration.name: migration.version for migration in load_migrations()}
    return (
        row.schema_version is not None
        and row.schema_version >= known[name]
        and name not in row.skipped_migrations
    )


def _vector_search(row: _HealthRow) -> frozenset[Capability]:
    return frozenset({"vector_search"} if _has_migration(row, "vectors") else ())


class _RealtimeFinding(Record):
    check_name: str
    object_name: str
    problem: str
    hint: str


_FINDINGS = TypeAdapter(list[_RealtimeFinding])


async def _realtime_warnings(transport: Transport, row: _HealthRow) -> list[str]:
    if row.caller_kind != "host" or not _has_migration(row, "realtime"):
        return []
    told = await transport.call("diagnose_realtime", {})
    found = rows_from(_FINDINGS, told, "diagnose_realtime", _RealtimeFinding.model_fields)
    return [f"Realtime, {f.object_name}: {f.problem}. {f.hint}" for f in found]


def _warnings(row: _HealthRow, target: int) -> list[str]:
    found = []
    if row.schema_version is None or row.schema_version < target:
        found.append(
            f"the schema has version {row.schema_version}, this package {target}:"
            " run `strongroom migrate apply`"
        )
    elif row.schema_version > target:
        found.append(
            f"the schema has version {row.schema_version}, this package only {target}:"
            " upgrade the package"
        )
    if row.role_is_superuser or row.role_bypasses_row_security:
        found.append(
            f"role {row.role_name} is not bound by row security:"
            " connect as a member of strongroom_host that is neither superuser nor BYPASSRLS"
        )
    if row.in_recovery:
        found.append("the server is a standby and takes no writes: connect to the primary")
    return found


def owner_connection(url: str) -> Connect:
    """Return how to open single connections to a URL, for the schema manager."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Connection]:
        async with await psycopg.AsyncConnection.connect(
            url, autocommit=True, client_encoding="utf8"
        ) as connection:
            yield connection

    return connect
