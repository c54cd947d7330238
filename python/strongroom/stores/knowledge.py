"""KnowledgeStore on SQL."""

from __future__ import annotations

from strongroom.models.base import Id, JsonObject, Text
from strongroom.models.context import Viewer
from strongroom.models.knowledge import (
    Embedding,
    SearchHit,
    SearchMode,
    SearchResult,
    VectorMethod,
)
from strongroom.models.pages import Limit
from strongroom.ports.arguments import port_method, viewer_id, viewer_role_ids
from strongroom.ports.knowledge import (
    MinScore,
    Neighbours,
    SourceTypes,
)
from strongroom.stores.collections import SqlCollections
from strongroom.stores.sources import SqlSources
from strongroom.transports.base import Argument, Document


class _FoundRow(SearchHit):
    place: int
    vector_method: VectorMethod | None


def search_result(rows: list[_FoundRow]) -> SearchResult:
    """Return the hits without what stands in every row."""
    hits = (
        SearchHit(**{name: getattr(row, name) for name in SearchHit.model_fields}) for row in rows
    )
    return SearchResult(items=tuple(hits), vector_method=rows[0].vector_method if rows else None)


class SqlKnowledgeStore(SqlCollections, SqlSources):
    """See :class:`strongroom.ports.KnowledgeStore`."""

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
