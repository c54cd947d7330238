# Written by scripts/generate_sync.py from strongroom/stores/collections.py: change that, and run `make generate`.
"""The collections of KnowledgeStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
from strongroom.models.knowledge import Collection, CreatedCollection, EmbeddingModel
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset
from strongroom.stores.base import existing
from strongroom.stores.knowledge_documents import of_model
from strongroom.stores.tenants import PurgedTable, receipt_of
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlCollections(SqlStore):
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
        return self._one(
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
    def get_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection:
        """See the port."""
        found = self._find(
            Collection, "find_collection", tenant_id=tenant_id, collection_id=collection_id
        )
        return existing(found, "collection", "collection_id")

    @port_method
    def find_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection | None:
        """See the port."""
        return self._find(
            Collection, "find_collection", tenant_id=tenant_id, collection_id=collection_id
        )

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
        return self._page(
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
        return self._one(
            Collection,
            "update_collection",
            tenant_id=tenant_id,
            collection_id=collection_id,
            changes=Document({k: v for k, v in changes.items() if v != UNSET}),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    def purge_collection(self, *, tenant_id: Id, collection_id: Id) -> PurgeReceipt:
        """See the port."""
        rows = self._rows(
            PurgedTable, "purge_collection", tenant_id=tenant_id, collection_id=collection_id
        )
        return receipt_of(rows)
