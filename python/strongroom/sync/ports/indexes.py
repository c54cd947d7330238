# Written by scripts/generate_sync.py from strongroom/ports/indexes.py: change that, and run `make generate`.
"""The ports for the two indexes that a search in knowledge stands on."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.knowledge import Embedding, EmbeddingModel, IndexMatch, Source
from strongroom.models.pages import Limit
from strongroom.ports.indexes import Embeddings
from strongroom.ports.knowledge import MinScore, SourceTypes


class VectorIndex(Protocol):
    """Nearness of embeddings, over the chunks of a collection.

    ``KnowledgeStore`` keeps it with every source that it replaces. Here it is by itself: to embed sources
    with another model without writing their chunks again, and to search for ids and scores alone.

    All methods raise MissingCapability (SR040) where the server has no vector search, NotFound (SR010)
    for what is absent, and else as KnowledgeStore does.
    """

    def put(
        self,
        *,
        tenant_id: Id,
        source_id: Id,
        embeddings: Embeddings,
        embedding_model: EmbeddingModel,
        expected_version: Version,
    ) -> Source:
        """Embed the chunks of a source anew: all or none.

        Args:
            tenant_id: the tenant.
            source_id: the source.
            embeddings: one for each chunk, in order.
            embedding_model: the model that they are of; it must be the collection's.
            expected_version: the version of the source whose chunks were read.

        Raises:
            InvalidArgument: SR001, not one for each chunk, or of another size than the model has; with
                ``expected`` and ``actual`` in ``detail``.
            VersionConflict: SR012, the source has changed meanwhile.

        SQL: ``strongroom.put_embeddings``
        """
        ...

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
        """Return the nearest chunks, by cosine, as ``KnowledgeStore.search`` does.

        SQL: ``strongroom.search_index``
        """
        ...

    def delete(self, *, tenant_id: Id, source_id: Id) -> Source:
        """Take the chunks of a source out; a repeat changes nothing.

        SQL: ``strongroom.remove_embeddings``
        """
        ...


class KeywordIndex(Protocol):
    """Words, over the chunks of a collection.

    ``KnowledgeStore`` keeps it with every source that it replaces. Here it is by itself: to keep a source
    out of the search by words, and to search for ids and scores alone.
    """

    def put(self, *, tenant_id: Id, source_id: Id) -> int:
        """Put the chunks of a source in, from their content; return how many.

        SQL: ``strongroom.put_keywords``
        """
        ...

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
        """Return the chunks that hold any of the words, as ``KnowledgeStore.search`` does.

        SQL: ``strongroom.search_index``
        """
        ...

    def delete(self, *, tenant_id: Id, source_id: Id) -> int:
        """Take the chunks of a source out, until ``put`` or another content; return how many.

        SQL: ``strongroom.remove_keywords``
        """
        ...
