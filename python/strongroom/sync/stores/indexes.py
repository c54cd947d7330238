# Written by scripts/generate_sync.py from strongroom/stores/indexes.py: change that, and run `make generate`.
"""VectorIndex and KeywordIndex on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.knowledge import Embedding, EmbeddingModel, IndexMatch, Source
from strongroom.models.pages import Limit
from strongroom.ports.indexes import Embeddings
from strongroom.ports.knowledge import MinScore, SourceTypes
from strongroom.stores.indexes import _Indexed, _Matched
from strongroom.stores.knowledge import search_arguments
from strongroom.stores.knowledge_documents import of_model
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Argument, Document


class _SqlIndex(SqlStore):
    def _search(self, **arguments: Argument) -> tuple[IndexMatch, ...]:
        rows = self._rows(_Matched, "search_index", **arguments)
        return tuple(
            IndexMatch(source_id=row.source_id, number=row.number, score=row.score) for row in rows
        )


class SqlVectorIndex(_SqlIndex):
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
        return self._one(
            Source,
            "put_embeddings",
            tenant_id=tenant_id,
            source_id=source_id,
            embeddings=Document([[*embedding] for embedding in embeddings]),
            **of_model(embedding_model),
            expected_version=expected_version,
            write_id=new_id(),
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
        return self._search(
            tenant_id=tenant_id,
            collection_id=collection_id,
            limit=limit,
            **search_arguments(tenant_id, embedding, min_score, source_types, metadata, viewer),
        )

    @port_method
    def delete(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return self._one(Source, "remove_embeddings", tenant_id=tenant_id, source_id=source_id)


class SqlKeywordIndex(_SqlIndex):
    """See :class:`strongroom.ports.KeywordIndex`."""

    @port_method
    def put(self, *, tenant_id: Id, source_id: Id) -> int:
        """See the port."""
        row = self._one(_Indexed, "put_keywords", tenant_id=tenant_id, source_id=source_id)
        return row.chunks

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
        return self._search(
            tenant_id=tenant_id,
            collection_id=collection_id,
            text=text,
            limit=limit,
            **search_arguments(tenant_id, None, min_score, source_types, metadata, viewer),
        )

    @port_method
    def delete(self, *, tenant_id: Id, source_id: Id) -> int:
        """See the port."""
        row = self._one(_Indexed, "remove_keywords", tenant_id=tenant_id, source_id=source_id)
        return row.chunks
