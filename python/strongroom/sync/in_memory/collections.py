# Written by scripts/generate_sync.py from strongroom/in_memory/collections.py: change that, and run `make generate`.
"""The collections of KnowledgeStore in memory."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.collection_functions import (
    create_collection,
    find_collection,
    purge_collection,
    update_collection,
)
from strongroom.in_memory.source_functions import list_collections
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
from strongroom.models.knowledge import Collection, CreatedCollection, EmbeddingModel
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset
from strongroom.stores.base import existing
from strongroom.stores.knowledge_documents import of_model
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryCollections(MemoryPort):
    """The part of :class:`strongroom.ports.KnowledgeStore` about collections."""

    @port_method
    def create_collection(
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
        return self._write(
            tenant_id,
            create_collection,
            name=name,
            collection_id=collection_id or new_id(),
            language=language,
            **of_model(embedding_model),
            metadata=metadata or {},
        )

    @port_method
    def get_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection:
        """See the port."""
        found = self._read(tenant_id, find_collection, collection_id=collection_id)
        return existing(found, "collection", "collection_id")

    @port_method
    def find_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection | None:
        """See the port."""
        return self._read(tenant_id, find_collection, collection_id=collection_id)

    @port_method
    def list_collections(
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
        return self._read(
            tenant_id,
            list_collections,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            name=name,
        )

    @port_method
    def update_collection(
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
        return self._write(
            tenant_id,
            update_collection,
            collection_id=collection_id,
            changes={k: v for k, v in changes.items() if v != UNSET},
            expected_version=expected_version,
        )

    @port_method
    def purge_collection(self, *, tenant_id: Id, collection_id: Id) -> PurgeReceipt:
        """See the port."""
        return self._write(tenant_id, purge_collection, collection_id=collection_id)
