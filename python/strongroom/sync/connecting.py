# Written by scripts/generate_sync.py from strongroom/connecting.py: change that, and run `make generate`.
"""``strongroom.connect``: from a URL, pool or connection to an open store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool

from strongroom.client import check_features
from strongroom.connecting import Pooler, _check_kind, _check_options
from strongroom.errors import InvalidArgument
from strongroom.models.health import SchemaMode, TextPolicy
from strongroom.sync.client import Strongroom
from strongroom.sync.infrastructure.adapters import with_adapters
from strongroom.sync.infrastructure.blob_urls import open_blobs
from strongroom.sync.infrastructure.listening import ConnectToListen, listening_connection
from strongroom.sync.infrastructure.s3_blobs import S3BlobStore
from strongroom.sync.ports.blobs import BlobStore
from strongroom.sync.postgres import find_capabilities, owner_connection, sql_store
from strongroom.sync.schema import SqlSchemaManager, provision
from strongroom.sync.transports.pools import open_pool
from strongroom.sync.transports.psycopg import Connection, ConnectionTransport, PoolTransport
from strongroom.transports.pools import check_url


@contextmanager
def connect(
    url: str | None = None,
    *,
    pool: ConnectionPool[Any] | None = None,
    connection: Connection | None = None,
    schema_url: str | None = None,
    schema_mode: SchemaMode | None = None,
    features: Iterable[str] = (),
    blobs: str | BlobStore | None = None,
    locks: str | None = None,
    realtime: str | None = None,
    jobs: str | None = None,
    pooler: Pooler | None = None,
    text_policy: TextPolicy = "reject",
    pool_min: int = 1,
    pool_max: int = 10,
    timeout: float = 30.0,  # noqa: ASYNC109 (an option of the store, not of this call)
) -> Iterator[Strongroom]:
    """Open a store, and close it at the end of the block.

    Args:
        url: ``memory:``, ``embedded:`` (temporary) or ``embedded:///some/folder``, or
            ``postgresql://...`` with a role that is a member of strongroom_host. Exactly one of url,
            pool and connection is given.
        pool: the caller's own open psycopg pool; it stays open.
        connection: the caller's own psycopg connection: calls join its transaction, in savepoints.
        schema_url: the role that owns the schema, for ``schema_mode`` and ``store.schema``; default url.
        schema_mode: ``auto`` (create and upgrade now), ``plan`` (refuse to start when there is something
            to do) or ``off`` (migrations are run elsewhere). Default: ``off`` for PostgreSQL, ``auto``
            in memory and embedded.
        features: what the host needs (``files``, ``live_updates``, ..., or names of capabilities); the store
            refuses to open without one of them.
        blobs: where the bytes of files lie: ``file:///absolute/folder``, ``memory:`` (gone at the end),
            ``s3://bucket/prefix?endpoint=...``, or an object that is a
            :class:`strongroom.sync.ports.blobs.BlobStore`. None: ``store.blobs`` says what to do.
        locks: where locks are: ``redis://host:port/database``. None: in the database.
        realtime: where the change feed is: ``redis://host:port/database``. None: in the database.
        jobs: None: BullMQ's package is asynchronous, and refused here; workers ask the database.
        pooler: ``transaction`` behind PgBouncer or Supavisor in transaction mode: nothing is prepared.
        text_policy: ``reject`` text that PostgreSQL cannot hold (U+0000, half of a surrogate pair), or
            ``replace`` it by U+FFFD.
        pool_min: connections that are kept open.
        pool_max: connections at the most.
        timeout: seconds that one call may take in all, waiting for a connection and retries included.

    Raises:
        InvalidArgument: SR001, the options contradict each other or the URL is of no known kind.
        MissingCapability: SR040, a feature that the adapter lacks, or an extra that is not installed.
        SchemaVersionError: SR041, in mode ``plan``; or ``auto`` failed.
        Unavailable: SR050, the database cannot be reached.

    Example:
        >>> import strongroom.sync
        >>> def main() -> str:
        ...     with strongroom.sync.connect("memory:") as store:
        ...         return (store.health()).status
        >>> main()
        'ok'
    """
    given = [
        name for name, value in (("url", url), ("pool", pool), ("connection", connection)) if value
    ]
    if len(given) != 1:
        raise InvalidArgument(
            f"give exactly one of url, pool and connection, not {given or 'none'}",
            detail={"path": "url"},
            hint="For example strongroom.sync.connect('embedded:').",
        )
    _check_kind("pool", pool, ConnectionPool)
    _check_kind("connection", connection, psycopg.Connection)
    blob_store = None if blobs is None else open_blobs(blobs)
    if isinstance(blob_store, S3BlobStore):
        blob_store.check()
    _check_options(schema_mode, pooler, text_policy, pool_min, pool_max, timeout)
    with ExitStack() as stack:
        store: Strongroom
        default_mode: SchemaMode = "off"
        if url is not None and url.startswith("memory:"):
            from strongroom.sync.in_memory.adapter import memory_store  # noqa: PLC0415 (only when it is used)

            store = memory_store(text_policy=text_policy, blobs=blob_store)
            adapter = "in-memory"
        else:
            if url is not None and url.startswith("embedded:"):
                from strongroom.sync.embedded import EmbeddedServer  # noqa: PLC0415 (an optional extra)

                server = stack.enter_context(EmbeddedServer.start_async(url))
                url, schema_url = server.host_url, schema_url or server.admin_url
                default_mode = "auto"
            check_url(url)
            check_url(schema_url, "schema_url")
            adapter = "PostgreSQL"
            as_owner = owner_connection(schema_url) if schema_url else None
            mode = schema_mode or default_mode
            if as_owner is not None:
                # Before the pool: the role that calls run as may be made by the first migration.
                provision(SqlSchemaManager(as_owner), mode)
            transport: PoolTransport | ConnectionTransport
            # A caller's pool or connection, or a transaction pooler, gives none to listen on.
            to_listen: ConnectToListen | None = None
            if connection is not None:
                transport = ConnectionTransport(connection, text_policy=text_policy)
            else:
                failures: Sequence[psycopg.Error] = ()
                if pool is None:
                    if pooler is None:
                        to_listen = listening_connection(str(url))
                    opened, failures = stack.enter_context(
                        open_pool(
                            str(url),
                            prepares=pooler is None,
                            smallest=pool_min,
                            largest=pool_max,
                            seconds=timeout,
                        )
                    )
                    pool = opened
                transport = PoolTransport(
                    pool, text_policy=text_policy, timeout=timeout, failures=failures
                )
            if as_owner is None:
                provision(SqlSchemaManager(transport.connection), mode)
            capabilities = find_capabilities(transport)
            store = sql_store(transport, as_owner, to_listen, capabilities, blob_store)
        store = with_adapters(
            stack,
            store,
            locks=locks,
            realtime=realtime,
            jobs=jobs,
            text_policy=text_policy,
            keeps_up=connection is None,
        )
        check_features(features, store.capabilities, adapter)
        yield store
