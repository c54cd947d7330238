"""KnowledgeStore on SQL."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.knowledge import (
    Chunk,
    ChunkNumber,
    Collection,
    CreatedCollection,
    Embedding,
    EmbeddingModel,
    NewChunk,
    ReplacedSource,
    SearchHit,
    SearchMode,
    SearchResult,
    Source,
    Uri,
    VectorMethod,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.arguments import port_method, viewer_id, viewer_role_ids
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.knowledge import (
    Chunks,
    MinScore,
    Neighbours,
    OptionalVersion,
    SourceTypes,
    Subjects,
)
from strongroom.stores.base import SqlStore, existing
from strongroom.stores.tenants import PurgedTable, receipt_of
from strongroom.transports.base import Argument, Document


class _FoundRow(Chunk):
    """A hit, or a neighbour of one: ``distance`` chunks after the hit at this ``place``."""

    place: int
    distance: int
    external_ref: Id
    source_type: Id
    title: Name | None
    uri: Uri | None
    source_metadata: JsonObject
    source_version: Version
    score: float
    keyword_score: float | None
    vector_score: float | None
    vector_method: VectorMethod | None


def of_model(model: EmbeddingModel | None) -> dict[str, Any]:
    """Return the three arguments that name a model."""
    return {
        "embedding_model": model.name if model else None,
        "embedding_version": model.version if model else None,
        "embedding_dimensions": model.dimensions if model else None,
    }


def chunk_document(chunk: NewChunk) -> dict[str, JsonValue]:
    """Return a chunk as the database takes it."""
    document: dict[str, JsonValue] = {
        "content": chunk.content,
        "locator": chunk.locator,
        "token_count": chunk.token_count,
        "auth_subjects": None if chunk.auth_subjects is None else [*chunk.auth_subjects],
        "metadata": chunk.metadata,
        "embedding": None if chunk.embedding is None else [*chunk.embedding],
    }
    return {key: value for key, value in document.items() if value is not None}


def search_result(rows: list[_FoundRow]) -> SearchResult:
    """Put each hit together with its neighbours."""
    hits = []
    for _, group in groupby(rows, key=lambda row: row.place):
        around = [*group]
        (hit,) = (row for row in around if row.distance == 0)
        neighbours = [
            (row.distance, Chunk(**{name: getattr(row, name) for name in Chunk.model_fields}))
            for row in around
            if row.distance != 0
        ]
        kept = dict(hit)
        for name in ("place", "distance", "vector_method"):
            kept.pop(name)
        hits.append(
            SearchHit(
                **kept,
                before=tuple(chunk for distance, chunk in neighbours if distance < 0),
                after=tuple(chunk for distance, chunk in neighbours if distance > 0),
            )
        )
    return SearchResult(items=tuple(hits), vector_method=rows[0].vector_method if rows else None)


class SqlKnowledgeStore(SqlStore):
    """See :class:`strongroom.ports.KnowledgeStore`."""

    @port_method
    async def create_collection(
        self,
        *,
        tenant_id: Id,
        name: Name,
        collection_id: Id | None = None,
        language: Id = "simple",
        embedding_model: EmbeddingModel | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedCollection:
        """See the port."""
        return await self._one(
            CreatedCollection,
            "create_collection",
            tenant_id=tenant_id,
            name=name,
            collection_id=collection_id or new_id(),
            language=language,
            **of_model(embedding_model),
            metadata=Document(metadata or {}),
        )

    @port_method
    async def get_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection:
        """See the port."""
        found = await self._find(
            Collection, "find_collection", tenant_id=tenant_id, collection_id=collection_id
        )
        return existing(found, "collection", "collection_id")

    @port_method
    async def find_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection | None:
        """See the port."""
        return await self._find(
            Collection, "find_collection", tenant_id=tenant_id, collection_id=collection_id
        )

    @port_method
    async def list_collections(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        name: Name | None = None,
    ) -> Page[Collection]:
        """See the port."""
        return await self._page(
            Collection,
            "list_collections",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            name=name,
        )

    @port_method
    async def update_collection(
        self,
        *,
        tenant_id: Id,
        collection_id: Id,
        expected_version: Version,
        name: Name | Unset = UNSET,
        embedding_model: EmbeddingModel | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
    ) -> Collection:
        """See the port."""
        changes: dict[str, JsonValue] = {"name": name, "metadata": metadata}
        if not isinstance(embedding_model, str):
            changes |= of_model(embedding_model)
        return await self._one(
            Collection,
            "update_collection",
            tenant_id=tenant_id,
            collection_id=collection_id,
            changes=Document({k: v for k, v in changes.items() if v != UNSET}),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    async def purge_collection(self, *, tenant_id: Id, collection_id: Id) -> PurgeReceipt:
        """See the port."""
        rows = await self._rows(
            PurgedTable, "purge_collection", tenant_id=tenant_id, collection_id=collection_id
        )
        return receipt_of(rows)

    @port_method
    async def replace_source(
        self,
        *,
        tenant_id: Id,
        collection_id: Id,
        external_ref: Id,
        chunks: Chunks,
        source_id: Id | None = None,
        source_type: Id = "document",
        title: Name | None = None,
        uri: Uri | None = None,
        file_id: Id | None = None,
        metadata: JsonObject | None = None,
        auth_subjects: Subjects = ("tenant",),
        content_digest: Id | None = None,
        embedding_model: EmbeddingModel | None = None,
        expected_version: OptionalVersion = None,
    ) -> ReplacedSource:
        """See the port."""
        return await self._one(
            ReplacedSource,
            "replace_source",
            tenant_id=tenant_id,
            collection_id=collection_id,
            external_ref=external_ref,
            chunks=Document([chunk_document(chunk) for chunk in chunks]),
            source_id=source_id,
            source_type=source_type,
            title=title,
            uri=uri,
            file_id=file_id,
            metadata=Document(metadata or {}),
            auth_subjects=[*auth_subjects],
            content_digest=content_digest,
            **of_model(embedding_model),
            expected_version=expected_version,
        )

    @port_method
    async def get_source(
        self, *, tenant_id: Id, source_id: Id, viewer: Viewer | None = None, deleted: bool = False
    ) -> Source:
        """See the port."""
        found = await self._find_source(tenant_id, source_id, viewer, deleted)
        return existing(found, "source", "source_id")

    @port_method
    async def find_source(
        self, *, tenant_id: Id, source_id: Id, viewer: Viewer | None = None, deleted: bool = False
    ) -> Source | None:
        """See the port."""
        return await self._find_source(tenant_id, source_id, viewer, deleted)

    async def _find_source(
        self, tenant_id: str, source_id: str, viewer: Viewer | None, deleted: bool
    ) -> Source | None:
        return await self._find(
            Source,
            "find_source",
            tenant_id=tenant_id,
            source_id=source_id,
            viewer_id=viewer_id(tenant_id, viewer),
            viewer_role_ids=viewer_role_ids(viewer),
            deleted=deleted,
        )

    @port_method
    async def list_sources(
        self,
        *,
        tenant_id: Id,
        collection_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        external_ref: Id | None = None,
        source_type: Id | None = None,
        deleted: bool = False,
    ) -> Page[Source]:
        """See the port."""
        return await self._page(
            Source,
            "list_sources",
            tenant_id=tenant_id,
            collection_id=collection_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            viewer_role_ids=viewer_role_ids(viewer),
            external_ref=external_ref,
            source_type=source_type,
            deleted=deleted,
        )

    @port_method
    async def list_stale_sources(
        self,
        *,
        tenant_id: Id,
        collection_id: Id,
        embedding_model: EmbeddingModel | None = None,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[Source]:
        """See the port."""
        return await self._page(
            Source,
            "list_stale_sources",
            tenant_id=tenant_id,
            collection_id=collection_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            **of_model(embedding_model),
        )

    @port_method
    async def update_source(
        self,
        *,
        tenant_id: Id,
        source_id: Id,
        expected_version: Version,
        title: Name | Unset | None = UNSET,
        uri: Uri | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
        auth_subjects: Subjects | Unset = UNSET,
    ) -> Source:
        """See the port."""
        changes: dict[str, JsonValue] = {
            "title": title,
            "uri": uri,
            "metadata": metadata,
            "auth_subjects": auth_subjects if isinstance(auth_subjects, str) else [*auth_subjects],
        }
        return await self._one(
            Source,
            "update_source",
            tenant_id=tenant_id,
            source_id=source_id,
            changes=Document({k: v for k, v in changes.items() if v != UNSET}),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    async def soft_delete_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return await self._one(
            Source, "soft_delete_source", tenant_id=tenant_id, source_id=source_id
        )

    @port_method
    async def restore_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return await self._one(Source, "restore_source", tenant_id=tenant_id, source_id=source_id)

    @port_method
    async def purge_source(self, *, tenant_id: Id, source_id: Id) -> PurgeReceipt:
        """See the port."""
        rows = await self._rows(
            PurgedTable, "purge_source", tenant_id=tenant_id, source_id=source_id
        )
        return receipt_of(rows)

    @port_method
    async def get_chunk(
        self, *, tenant_id: Id, source_id: Id, number: ChunkNumber, viewer: Viewer | None = None
    ) -> Chunk:
        """See the port."""
        found = await self._find_chunk(tenant_id, source_id, number, viewer)
        return existing(found, "chunk", "number")

    @port_method
    async def find_chunk(
        self, *, tenant_id: Id, source_id: Id, number: ChunkNumber, viewer: Viewer | None = None
    ) -> Chunk | None:
        """See the port."""
        return await self._find_chunk(tenant_id, source_id, number, viewer)

    async def _find_chunk(
        self, tenant_id: str, source_id: str, number: int, viewer: Viewer | None
    ) -> Chunk | None:
        return await self._find(
            Chunk,
            "find_chunk",
            tenant_id=tenant_id,
            source_id=source_id,
            number=number,
            viewer_id=viewer_id(tenant_id, viewer),
            viewer_role_ids=viewer_role_ids(viewer),
        )

    @port_method
    async def list_chunks(
        self,
        *,
        tenant_id: Id,
        source_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
    ) -> Page[Chunk]:
        """See the port."""
        return await self._page(
            Chunk,
            "list_chunks",
            tenant_id=tenant_id,
            source_id=source_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            viewer_role_ids=viewer_role_ids(viewer),
        )

    @port_method
    async def search(
        self,
        *,
        tenant_id: Id,
        collection_id: Id,
        text: Text | None = None,
        embedding: Embedding | None = None,
        mode: SearchMode | None = None,
        limit: Limit = 10,
        min_score: MinScore | None = None,
        source_types: SourceTypes | None = None,
        metadata: JsonObject | None = None,
        neighbours: Neighbours = 0,
        viewer: Viewer | None = None,
    ) -> SearchResult:
        """See the port."""
        arguments: dict[str, Argument] = search_arguments(
            tenant_id, embedding, min_score, source_types, metadata, viewer
        )
        rows = await self._rows(
            _FoundRow,
            "search_knowledge",
            tenant_id=tenant_id,
            collection_id=collection_id,
            mode=mode,
            text=text,
            limit=limit,
            neighbours=neighbours,
            **arguments,
        )
        return search_result(rows)


def search_arguments(
    tenant_id: str,
    embedding: Embedding | None,
    min_score: float | None,
    source_types: SourceTypes | None,
    metadata: JsonObject | None,
    viewer: Viewer | None,
) -> dict[str, Argument]:
    """Return what every search takes besides the collection and the text."""
    return {
        "embedding": None if embedding is None else Document([*embedding]),
        "min_score": min_score,
        "source_types": None if source_types is None else [*source_types],
        "metadata": None if metadata is None else Document(metadata),
        "viewer_id": viewer_id(tenant_id, viewer),
        "viewer_role_ids": viewer_role_ids(viewer),
    }
