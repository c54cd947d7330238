"""Vector search: strongroom's (with its index, and without any), LangChain's PGVector, LangGraph's store."""

from __future__ import annotations

import uuid
import warnings
from contextlib import AsyncExitStack
from typing import Any, Protocol

import psycopg

import strongroom
from bench.competitors import MissingPeer
from bench.loading import HOST
from bench.server import Server
from bench.vector_data import DIMENSIONS, LIMIT, PER_SOURCE, VectorData
from strongroom.models.knowledge import SearchResult

INDEX = f"chunks_near_in_{DIMENSIONS}_dimensions"
ARRIVAL = f"hashtextextended(tenant || '/' || place / {PER_SOURCE}, 0), place"
"""Document after document, of all tenants in turn, as they are stored in life."""
_LOAD = (
    f"drop index if exists strongroom.{INDEX}",
    "select strongroom.create_tenant('t' || t, 't' || t) from (select distinct tenant as t from staged) as s",
    f"""
    select strongroom.create_collection('t' || t, 'docs', 'docs', 'simple', 'model', '1', {DIMENSIONS})
    from (select distinct tenant as t from staged) as s
    """,
    # Foreign keys are right by construction; everything else is checked as always.
    "set session_replication_role = replica",
    f"""
    insert into strongroom.sources (
        tenant_id, id, collection_id, external_ref, source_type, auth_subjects, embedding_model,
        embedding_version, embedding_dimensions, open_chunk_count
    )
    select 't' || tenant, 's' || place / {PER_SOURCE}, 'docs', 's' || place / {PER_SOURCE}, 'document',
        '{{tenant}}', 'model', '1', {DIMENSIONS}, count(*)
    from staged
    group by tenant, place / {PER_SOURCE}
    """,
    f"""
    insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content, embedding)
    select 't' || tenant, 'docs', 's' || place / {PER_SOURCE}, place % {PER_SOURCE} + 1,
        'word' || abs(hashint4(place)) % 3000 || repeat(' common words', 40), embedding
    from staged
    order by {ARRIVAL}
    """,
    """
    insert into strongroom_private.chunk_terms (tenant_id, collection_id, source_id, number, terms)
    select c.tenant_id, c.collection_id, c.source_id, c.number, format(
        '''%s'':1 ''%s'':1 ''common'':2 ''words'':3',
        strongroom_private.encode_scope('c', c.tenant_id, c.collection_id), split_part(c.content, ' ', 1)
    )::tsvector
    from strongroom.chunks as c
    """,
    "set session_replication_role = origin",
)


class Searcher(Protocol):
    """Searches a tenant's chunks; returns their places in it."""

    name: str

    async def search(self, tenant: int, query: list[float]) -> list[int]: ...


class StrongroomKnowledge:
    """Through the bindings, as a host that row security binds."""

    def __init__(self, database: str, data: VectorData, *, indexed: bool = True) -> None:
        self.name = "strongroom" if indexed else "strongroom, exact"
        self.database = database
        self._data = data
        self._indexed = indexed
        self._stack = AsyncExitStack()

    async def open(self, server: Server) -> None:
        """Load everything, or open what was loaded under another name."""
        if self._indexed:
            await self._load(server)
        self._store = await self._stack.enter_async_context(
            strongroom.connect(server.dsn(self.database, HOST), schema_mode="off", pool_max=1)
        )

    async def _load(self, server: Server) -> None:
        server.create_database(self.database)
        async with strongroom.connect(server.dsn(self.database), schema_mode="auto"):
            pass
        with server.connect(self.database) as connection:
            if not connection.execute("select from pg_roles where rolname = %s", (HOST,)).rowcount:
                connection.execute(f"create role {HOST} login in role strongroom_host".encode())
            self._data.stage(connection)
            for statement in _LOAD:
                connection.execute(statement.encode())
        with server.connect(self.database) as connection:
            connection.execute("vacuum (analyze)")
        with server.connect("postgres") as connection:
            connection.execute(
                f"create database {self.database}_exact template {self.database}".encode()
            )
        with server.connect(self.database) as connection:
            _for_building(connection)
            connection.execute(
                f"select strongroom_private.create_vector_index({DIMENSIONS})".encode()
            )
        for name in (self.database, f"{self.database}_exact"):
            with server.connect(name) as connection:
                connection.execute("vacuum (analyze)")
        _checkpoint(server)

    async def close(self) -> None:
        await self._stack.aclose()

    async def find(self, tenant: int, **search: Any) -> SearchResult:
        return await self._store.knowledge.search(
            tenant_id=f"t{tenant}", collection_id="docs", limit=LIMIT, **search
        )

    async def search(self, tenant: int, query: list[float]) -> list[int]:
        found = await self.find(tenant, embedding=query)
        return [int(hit.source_id[1:]) * PER_SOURCE + hit.number - 1 for hit in found.items]


class LangChainPGVector:
    """``langchain_postgres.PGVector``: a collection a tenant, in one table, with an HNSW index or none."""

    def __init__(self, data: VectorData, *, indexed: bool) -> None:
        self.name = "PGVector, HNSW" if indexed else "PGVector"
        self._data = data
        self._indexed = indexed
        self._stores: dict[int, Any] = {}

    async def open(self, server: Server) -> None:
        try:
            from langchain_core.embeddings import Embeddings  # noqa: PLC0415
            from langchain_postgres import PGVector  # noqa: PLC0415
            from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package langchain-postgres ({error})") from error

        class NoModel(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                raise AssertionError(texts)

            def embed_query(self, text: str) -> list[float]:
                raise AssertionError(text)

        database = "pgvector_exact" if not self._indexed else "pgvector"
        if self._indexed:
            server.create_database(database)
        url = server.dsn(database).replace("postgresql://", "postgresql+psycopg://")
        self._engine = create_async_engine(url, pool_size=1)
        for tenant in range(len(self._data.sizes)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._stores[tenant] = PGVector(
                    NoModel(),
                    connection=self._engine,
                    collection_name=f"t{tenant}",
                    embedding_length=DIMENSIONS,
                    async_mode=True,
                )
            if self._indexed:
                await self._stores[tenant].__apost_init__()
        if self._indexed:
            await self._engine.dispose()  # a database in use is no template
            self._load(server, database)

    def _load(self, server: Server, database: str) -> None:
        with server.connect(database) as connection:
            self._data.stage(connection)
            known = dict(
                connection.execute("select name, uuid from langchain_pg_collection").fetchall()
            )
            for tenant in range(len(self._data.tenants)):
                if f"t{tenant}" not in known:
                    connection.execute(
                        "insert into langchain_pg_collection (uuid, name) values (%s, %s)",
                        (uuid.uuid4(), f"t{tenant}"),
                    )
            connection.execute(
                "insert into langchain_pg_embedding (id, collection_id, embedding, document, cmetadata)"
                " select s.tenant || '-' || s.place, c.uuid, s.embedding,"
                " 'word' || repeat(' common words', 40), jsonb_build_object('place', s.place)"
                " from staged as s inner join langchain_pg_collection as c on c.name = 't' || s.tenant"
                f" order by {ARRIVAL}"
            )
        with server.connect(database) as connection:
            connection.execute("vacuum (analyze)")
        with server.connect("postgres") as connection:
            connection.execute(f"create database {database}_exact template {database}".encode())
        with server.connect(database) as connection:
            _for_building(connection)
            connection.execute(
                "create index on langchain_pg_embedding using hnsw (embedding vector_cosine_ops)"
            )
        for name in (database, f"{database}_exact"):
            with server.connect(name) as connection:
                connection.execute("vacuum (analyze)")
        _checkpoint(server)

    async def close(self) -> None:
        await self._engine.dispose()

    async def search(self, tenant: int, query: list[float]) -> list[int]:
        found = await self._stores[tenant].asimilarity_search_with_score_by_vector(query, k=LIMIT)
        return [document.metadata["place"] for document, _ in found]


class LangGraphStore:
    """``AsyncPostgresStore.asearch``: a namespace a tenant, with the HNSW index that it makes."""

    name = "LangGraph store"

    def __init__(self, data: VectorData) -> None:
        self._data = data
        self._query: list[float] = []
        self._stack = AsyncExitStack()

    async def open(self, server: Server) -> None:
        try:
            from langgraph.store.postgres.aio import AsyncPostgresStore  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package langgraph-checkpoint-postgres ({error})") from error

        async def embed(texts: list[str]) -> list[list[float]]:
            assert texts == ["query"]
            return [self._query]

        server.create_database("langgraph_store")
        self._store: Any = await self._stack.enter_async_context(
            AsyncPostgresStore.from_conn_string(
                server.dsn("langgraph_store"),
                index={"dims": DIMENSIONS, "embed": embed, "fields": ["text"]},
            )
        )
        await self._store.setup()
        with server.connect("langgraph_store") as connection:
            self._data.stage(connection)
            row = connection.execute(
                "select pg_get_indexdef('store_vectors_embedding_idx'::regclass)"
            ).fetchone()
            assert row is not None
            connection.execute("drop index store_vectors_embedding_idx")
            connection.execute(
                "insert into store (prefix, key, value) select 't' || tenant, place::text,"
                " jsonb_build_object('text', 'word' || repeat(' common words', 40)) from staged"
                f" order by {ARRIVAL}"
            )
            connection.execute(
                "insert into store_vectors (prefix, key, field_name, embedding)"
                " select 't' || tenant, place::text, 'text', embedding from staged"
                f" order by {ARRIVAL}"
            )
            _for_building(connection)
            connection.execute(row[0].encode())
        with server.connect("langgraph_store") as connection:
            connection.execute("vacuum (analyze)")
        _checkpoint(server)

    async def close(self) -> None:
        await self._stack.aclose()

    async def search(self, tenant: int, query: list[float]) -> list[int]:
        self._query = query
        found = await self._store.asearch((f"t{tenant}",), query="query", limit=LIMIT)
        return [int(item.key) for item in found]


def _for_building(connection: psycopg.Connection) -> None:
    connection.execute("set maintenance_work_mem = '1GB'")
    connection.execute("set max_parallel_maintenance_workers = 1")


def _checkpoint(server: Server) -> None:
    with server.connect("postgres") as connection:
        connection.execute("checkpoint")
