"""KnowledgeStore in memory."""

from __future__ import annotations

from typing import Any

from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort
from strongroom.in_memory.knowledge_functions import (
    create_collection,
    find_collection,
    purge_collection,
    replace_source,
    update_collection,
)
from strongroom.in_memory.knowledge_search import search_knowledge
from strongroom.in_memory.source_functions import (
    find_chunk,
    find_source,
    list_chunks,
    list_collections,
    list_sources,
    list_stale_sources,
    purge_source,
    restore_source,
    soft_delete_source,
    update_source,
)
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.knowledge import (
    Chunk,
    ChunkNumber,
    Collection,
    CreatedCollection,
    Embedding,
    EmbeddingModel,
    ReplacedSource,
    SearchMode,
    SearchResult,
    Source,
    Uri,
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
from strongroom.stores.base import existing
from strongroom.stores.knowledge import chunk_document, of_model


class MemoryKnowledgeStore(MemoryPort):
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
        return await self._write(
            tenant_id,
            create_collection,
            name=name,
            collection_id=collection_id or new_id(),
            language=language,
            **of_model(embedding_model),
            metadata=metadata or {},
        )

    @port_method
    async def get_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection:
        """See the port."""
        found = await self._read(tenant_id, find_collection, collection_id=collection_id)
        return existing(found, "collection", "collection_id")

    @port_method
    async def find_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection | None:
        """See the port."""
        return await self._read(tenant_id, find_collection, collection_id=collection_id)

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
        return await self._read(
            tenant_id,
            list_collections,
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
        return await self._write(
            tenant_id,
            update_collection,
            collection_id=collection_id,
            changes={k: v for k, v in changes.items() if v != UNSET},
            expected_version=expected_version,
        )

    @port_method
    async def purge_collection(self, *, tenant_id: Id, collection_id: Id) -> PurgeReceipt:
        """See the port."""
        return await self._write(tenant_id, purge_collection, collection_id=collection_id)

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
        return await self._write(
            tenant_id,
            replace_source,
            collection_id=collection_id,
            external_ref=external_ref,
            chunks=[chunk_document(chunk) for chunk in chunks],
            source_id=source_id,
            new_id=new_id(),
            source_type=source_type,
            title=title,
            uri=uri,
            file_id=file_id,
            metadata=metadata or {},
            auth_subjects=[*auth_subjects],
            content_digest=content_digest,
            model=dict(embedding_model) if embedding_model else None,
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
        return await self._read(
            tenant_id,
            find_source,
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
        return await self._read(
            tenant_id,
            list_sources,
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
        return await self._read(
            tenant_id,
            list_stale_sources,
            collection_id=collection_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            model=dict(embedding_model) if embedding_model else None,
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
        return await self._write(
            tenant_id,
            update_source,
            source_id=source_id,
            changes={k: v for k, v in changes.items() if v != UNSET},
            expected_version=expected_version,
        )

    @port_method
    async def soft_delete_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return await self._write(tenant_id, soft_delete_source, source_id=source_id)

    @port_method
    async def restore_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return await self._write(tenant_id, restore_source, source_id=source_id)

    @port_method
    async def purge_source(self, *, tenant_id: Id, source_id: Id) -> PurgeReceipt:
        """See the port."""
        return await self._write(tenant_id, purge_source, source_id=source_id)

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
        return await self._read(
            tenant_id,
            find_chunk,
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
        return await self._read(
            tenant_id,
            list_chunks,
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
        return await self._read(
            tenant_id,
            search_knowledge,
            collection_id=collection_id,
            text=text,
            mode=mode,
            limit=limit,
            neighbours=neighbours,
            **search_filters(tenant_id, embedding, min_score, source_types, metadata, viewer),
        )


def search_filters(
    tenant_id: str,
    embedding: Embedding | None,
    min_score: float | None,
    source_types: SourceTypes | None,
    metadata: JsonObject | None,
    viewer: Viewer | None,
) -> dict[str, Any]:
    """Return what every search takes besides the collection and the text."""
    return {
        "embedding": None if embedding is None else [*embedding],
        "min_score": min_score,
        "source_types": None if source_types is None else [*source_types],
        "metadata": metadata,
        "viewer_id": viewer_id(tenant_id, viewer),
        "viewer_role_ids": viewer_role_ids(viewer),
    }
