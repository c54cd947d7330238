"""KnowledgeStore in memory."""

from __future__ import annotations

from typing import Any

from strongroom.in_memory.collections import MemoryCollections
from strongroom.in_memory.knowledge_search import search_knowledge
from strongroom.in_memory.sources import MemorySources
from strongroom.models.base import Id, JsonObject, Text
from strongroom.models.context import Viewer
from strongroom.models.knowledge import (
    Embedding,
    SearchMode,
    SearchResult,
)
from strongroom.models.pages import Limit
from strongroom.ports.arguments import port_method, viewer_id, viewer_role_ids
from strongroom.ports.knowledge import (
    MinScore,
    Neighbours,
    SourceTypes,
)


class MemoryKnowledgeStore(MemoryCollections, MemorySources):
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
