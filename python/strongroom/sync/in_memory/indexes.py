# Written by scripts/generate_sync.py from strongroom/in_memory/indexes.py: change that, and run `make generate`.
"""VectorIndex and KeywordIndex in memory."""

from __future__ import annotations

from strongroom.in_memory.index_functions import (
    put_embeddings,
    put_keywords,
    remove_embeddings,
    remove_keywords,
)
from strongroom.in_memory.knowledge import search_filters
from strongroom.in_memory.knowledge_search import search_index
from strongroom.models.base import Id, JsonObject, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.knowledge import Embedding, EmbeddingModel, IndexMatch, Source
from strongroom.models.pages import Limit
from strongroom.ports.indexes import Embeddings
from strongroom.ports.knowledge import MinScore, SourceTypes
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryVectorIndex(MemoryPort):
    """See :class:`strongroom.ports.VectorIndex`."""

    @port_method
    def put(
        self,
        *,
        tenant_id: Id,
        source_id: Id,
        embeddings: Embeddings,
        embedding_model: EmbeddingModel,
        expected_version: Version,
    ) -> Source:
        """See the port."""
        return self._write(
            tenant_id,
            put_embeddings,
            source_id=source_id,
            embeddings=[[*embedding] for embedding in embeddings],
            model=dict(embedding_model),
            expected_version=expected_version,
        )

    @port_method
    def search(
        self,
        *,
        tenant_id: Id,
        collection_id: Id,
        embedding: Embedding,
        limit: Limit = 10,
        min_score: MinScore | None = None,
        source_types: SourceTypes | None = None,
        metadata: JsonObject | None = None,
        viewer: Viewer | None = None,
    ) -> tuple[IndexMatch, ...]:
        """See the port."""
        return self._read(
            tenant_id,
            search_index,
            collection_id=collection_id,
            limit=limit,
            **search_filters(tenant_id, embedding, min_score, source_types, metadata, viewer),
        )

    @port_method
    def delete(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return self._write(tenant_id, remove_embeddings, source_id=source_id)


class MemoryKeywordIndex(MemoryPort):
    """See :class:`strongroom.ports.KeywordIndex`."""

    @port_method
    def put(self, *, tenant_id: Id, source_id: Id) -> int:
        """See the port."""
        return self._write(tenant_id, put_keywords, source_id=source_id)

    @port_method
    def search(
        self,
        *,
        tenant_id: Id,
        collection_id: Id,
        text: Text,
        limit: Limit = 10,
        min_score: MinScore | None = None,
        source_types: SourceTypes | None = None,
        metadata: JsonObject | None = None,
        viewer: Viewer | None = None,
    ) -> tuple[IndexMatch, ...]:
        """See the port."""
        return self._read(
            tenant_id,
            search_index,
            collection_id=collection_id,
            text=text,
            limit=limit,
            **search_filters(tenant_id, None, min_score, source_types, metadata, viewer),
        )

    @port_method
    def delete(self, *, tenant_id: Id, source_id: Id) -> int:
        """See the port."""
        return self._write(tenant_id, remove_keywords, source_id=source_id)
