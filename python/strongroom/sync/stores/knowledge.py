# Written by scripts/generate_sync.py from strongroom/stores/knowledge.py: change that, and run `make generate`.
"""KnowledgeStore on SQL."""

from __future__ import annotations

from strongroom.models.base import Id, JsonObject, Text
from strongroom.models.context import Viewer
from strongroom.models.knowledge import Embedding, SearchMode, SearchResult
from strongroom.models.pages import Limit
from strongroom.ports.knowledge import MinScore, Neighbours, SourceTypes
from strongroom.stores.knowledge import _FoundRow, search_arguments, search_result
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.collections import SqlCollections
from strongroom.sync.stores.sources import SqlSources
from strongroom.transports.base import Argument


class SqlKnowledgeStore(SqlCollections, SqlSources):
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
        arguments: dict[str, Argument] = search_arguments(
            tenant_id, embedding, min_score, source_types, metadata, viewer
        )
        rows = self._rows(
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
