# Written by scripts/generate_sync.py from strongroom/in_memory/knowledge.py: change that, and run `make generate`.
"""KnowledgeStore in memory."""

from __future__ import annotations

from strongroom.in_memory.knowledge import search_filters
from strongroom.in_memory.knowledge_search import search_knowledge
from strongroom.models.base import Id, JsonObject, Text
from strongroom.models.context import Viewer
from strongroom.models.knowledge import Embedding, SearchMode, SearchResult
from strongroom.models.pages import Limit
from strongroom.ports.knowledge import MinScore, Neighbours, SourceTypes
from strongroom.sync.in_memory.collections import MemoryCollections
from strongroom.sync.in_memory.sources import MemorySources
from strongroom.sync.ports.arguments import port_method


class MemoryKnowledgeStore(MemoryCollections, MemorySources):
    """See :class:`strongroom.ports.KnowledgeStore`."""

    @port_method
    def search(
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
        return self._read(
            tenant_id,
            search_knowledge,
            collection_id=collection_id,
            text=text,
            mode=mode,
            limit=limit,
            neighbours=neighbours,
            **search_filters(tenant_id, embedding, min_score, source_types, metadata, viewer),
        )
