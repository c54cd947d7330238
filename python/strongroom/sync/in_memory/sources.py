# Written by scripts/generate_sync.py from strongroom/in_memory/sources.py: change that, and run `make generate`.
"""The sources and chunks of KnowledgeStore in memory."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.knowledge_functions import replace_source
from strongroom.in_memory.source_functions import (
    find_chunk,
    find_source,
    list_chunks,
    list_sources,
    list_stale_sources,
    purge_source,
    restore_source,
    soft_delete_source,
    update_source,
)
from strongroom.models.base import Id, JsonObject, JsonValue, Name, Version
from strongroom.models.context import Viewer
from strongroom.models.knowledge import (
    Chunk,
    ChunkNumber,
    EmbeddingModel,
    ReplacedSource,
    Source,
    Uri,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.arguments import viewer_id, viewer_role_ids
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.knowledge import Chunks, OptionalVersion, Subjects
from strongroom.stores.base import existing
from strongroom.stores.knowledge_documents import chunk_document
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemorySources(MemoryPort):
    """The part of :class:`strongroom.ports.KnowledgeStore` about sources and chunks."""

    @port_method
    def replace_source(
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
        return self._write(
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
    def get_source(
        self, *, tenant_id: Id, source_id: Id, viewer: Viewer | None = None, deleted: bool = False
    ) -> Source:
        """See the port."""
        found = self._find_source(tenant_id, source_id, viewer, deleted)
        return existing(found, "source", "source_id")

    @port_method
    def find_source(
        self, *, tenant_id: Id, source_id: Id, viewer: Viewer | None = None, deleted: bool = False
    ) -> Source | None:
        """See the port."""
        return self._find_source(tenant_id, source_id, viewer, deleted)

    def _find_source(
        self, tenant_id: str, source_id: str, viewer: Viewer | None, deleted: bool
    ) -> Source | None:
        return self._read(
            tenant_id,
            find_source,
            source_id=source_id,
            viewer_id=viewer_id(tenant_id, viewer),
            viewer_role_ids=viewer_role_ids(viewer),
            deleted=deleted,
        )

    @port_method
    def list_sources(
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
        return self._read(
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
    def list_stale_sources(
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
        return self._read(
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
    def update_source(
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
        return self._write(
            tenant_id,
            update_source,
            source_id=source_id,
            changes={k: v for k, v in changes.items() if v != UNSET},
            expected_version=expected_version,
        )

    @port_method
    def soft_delete_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return self._write(tenant_id, soft_delete_source, source_id=source_id)

    @port_method
    def restore_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """See the port."""
        return self._write(tenant_id, restore_source, source_id=source_id)

    @port_method
    def purge_source(self, *, tenant_id: Id, source_id: Id) -> PurgeReceipt:
        """See the port."""
        return self._write(tenant_id, purge_source, source_id=source_id)

    @port_method
    def get_chunk(
        self, *, tenant_id: Id, source_id: Id, number: ChunkNumber, viewer: Viewer | None = None
    ) -> Chunk:
        """See the port."""
        found = self._find_chunk(tenant_id, source_id, number, viewer)
        return existing(found, "chunk", "number")

    @port_method
    def find_chunk(
        self, *, tenant_id: Id, source_id: Id, number: ChunkNumber, viewer: Viewer | None = None
    ) -> Chunk | None:
        """See the port."""
        return self._find_chunk(tenant_id, source_id, number, viewer)

    def _find_chunk(
        self, tenant_id: str, source_id: str, number: int, viewer: Viewer | None
    ) -> Chunk | None:
        return self._read(
            tenant_id,
            find_chunk,
            source_id=source_id,
            number=number,
            viewer_id=viewer_id(tenant_id, viewer),
            viewer_role_ids=viewer_role_ids(viewer),
        )

    @port_method
    def list_chunks(
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
        return self._read(
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
