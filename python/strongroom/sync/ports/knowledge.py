# Written by scripts/generate_sync.py from strongroom/ports/knowledge.py: change that, and run `make generate`.
"""The port for knowledge."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject, Name, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.knowledge import (
    Chunk,
    ChunkNumber,
    Collection,
    CreatedCollection,
    Embedding,
    EmbeddingModel,
    ReplacedSource,
    SearchMode,
    SearchResult,
    Source,
    Uri,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.knowledge import (
    Chunks,
    MinScore,
    Neighbours,
    OptionalVersion,
    SourceTypes,
    Subjects,
)


class KnowledgeStore(Protocol):
    """Collections of sources, cut into chunks, and the search among them.

    A source says who may see it (``auth_subjects``), a chunk may narrow that. What a caller may not see
    does not exist for them: it is in no list, and changes no count, score or rank of a search. A host that
    names no viewer sees everything; a ``conversation:<id>`` admits whoever may read that conversation.

    All methods raise NotFound (SR010) for what is absent or may not be seen, InvalidArgument (SR001) and
    LimitExceeded (SR004) for arguments of the wrong shape, PermissionDenied (SR020) and TenantMismatch
    (SR021) for callers who may not, Unavailable (SR050) without a database. Writes are for hosts.
    """

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
        """Create a collection; the same call with the same id again says ``duplicate``.

        Args:
            tenant_id: the tenant.
            name: unique in the tenant.
            collection_id: the binding makes a UUIDv7 when it is None.
            language: how words are stemmed, such as ``english``; ``simple`` stems nothing and has no stop
                words, which is safe for every language. It never changes.
            embedding_model: the model that embeds its chunks and queries; None: search by words alone.
                It may be named, too, where the server has no vector search.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            AlreadyExists: SR011, the id was created with other content, or the name is taken.

        SQL: ``strongroom.create_collection``
        """
        ...

    def get_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection:
        """Return the collection, or raise NotFound. SQL: ``strongroom.find_collection``."""
        ...

    def find_collection(self, *, tenant_id: Id, collection_id: Id) -> Collection | None:
        """Return the collection, or None. SQL: ``strongroom.find_collection``."""
        ...

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
        """Return a page of collections, forward newest first; everyone in the tenant may see them.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: the ``next_cursor`` of the page before.
            before: the ``previous_cursor`` of the page after.
            direction: ``forward`` or ``backward``.
            name: only the one with this name.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_collections``
        """
        ...

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
        """Change a collection, given the version that was read.

        After a change of the model, what was embedded with another one is in no vector search any more,
        and ``list_stale_sources`` lists it.

        Raises:
            VersionConflict: SR012, with ``detail["current_version"]``.
            AlreadyExists: SR011, the name is taken.

        SQL: ``strongroom.update_collection``
        """
        ...

    def purge_collection(self, *, tenant_id: Id, collection_id: Id) -> PurgeReceipt:
        """Delete a collection with its sources and chunks for good.

        SQL: ``strongroom.purge_collection``
        """
        ...

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
        """Make this the whole content of a source, in one step for readers.

        The same call again changes nothing and says ``duplicate``. A call that fails leaves what was
        there. Two calls for one source take turns; the later one wins, unless both say what they expect.

        Args:
            tenant_id: the tenant.
            collection_id: the collection.
            external_ref: the host's own name for the source, such as a path; a source that has it is
                replaced and keeps its id.
            chunks: 0..5,000, in order; all with an embedding, or none.
            source_id: the id of a new source; one is made when it is None.
            source_type: what it is, for filters.
            title: for people.
            uri: where it can be read, for citations.
            file_id: the file it was read from.
            metadata: the host's own JSON object, at most 16 KiB.
            auth_subjects: who may see it, at most 100; none of them: hosts alone.
            content_digest: the host's own hash of the original, to know later that it is unchanged.
            embedding_model: the model that the embeddings are of; it must be the collection's. None: the
                collection's, whichever that is.
            expected_version: the version that was read; 0: there is none yet; None: whatever there is.

        Raises:
            InvalidArgument: SR001; for an embedding of the wrong size ``detail`` has ``path``, ``expected``
                and ``actual``.
            AlreadyExists: SR011, source_id is another source's.
            VersionConflict: SR012, with ``detail["current_version"]``.
            MissingCapability: SR040, embeddings where the server has no vector search.

        SQL: ``strongroom.replace_source``

        Example:
            >>> import strongroom.sync
            >>> from strongroom import NewChunk
            >>> def main() -> str:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         docs = store.knowledge.create_collection(tenant_id="acme", name="docs")
            ...         store.knowledge.replace_source(
            ...             tenant_id="acme", collection_id=docs.id, external_ref="delivery.md",
            ...             chunks=[NewChunk(content="Parcels arrive on Monday.")],
            ...         )
            ...         found = store.knowledge.search(
            ...             tenant_id="acme", collection_id=docs.id, text="When do parcels arrive?"
            ...         )
            ...         return f"{found.items[0].content} [{found.items[0].external_ref}]"
            >>> main()
            'Parcels arrive on Monday. [delivery.md]'
        """
        ...

    def get_source(
        self, *, tenant_id: Id, source_id: Id, viewer: Viewer | None = None, deleted: bool = False
    ) -> Source:
        """Return the source, or raise NotFound. SQL: ``strongroom.find_source``."""
        ...

    def find_source(
        self, *, tenant_id: Id, source_id: Id, viewer: Viewer | None = None, deleted: bool = False
    ) -> Source | None:
        """Return the source, or None; ``deleted`` looks among the soft-deleted.

        SQL: ``strongroom.find_source``
        """
        ...

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
        """Return a page of a collection's sources, forward newest first.

        Args:
            tenant_id: the tenant.
            collection_id: the collection.
            limit: rows, 1..500.
            after: the ``next_cursor`` of the page before.
            before: the ``previous_cursor`` of the page after.
            direction: ``forward`` or ``backward``.
            viewer: only what this principal may see; None lists as the host.
            external_ref: only the one with this name.
            source_type: only those of this type.
            deleted: the soft-deleted ones instead, which hosts alone see.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_sources``
        """
        ...

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
        """Return a page of the sources that are not embedded with a model: what is to be embedded again.

        Args:
            tenant_id: the tenant.
            collection_id: the collection.
            embedding_model: the model; None: the collection's.
            limit: rows, 1..500.
            after: the ``next_cursor`` of the page before.
            before: the ``previous_cursor`` of the page after.
            direction: ``forward`` (newest first) or ``backward``.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_stale_sources``
        """
        ...

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
        """Change what is said about a source, and who may see it, given the version that was read.

        Raises:
            VersionConflict: SR012, with ``detail["current_version"]``.

        SQL: ``strongroom.update_source``
        """
        ...

    def soft_delete_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """Hide a source and its chunks, restorably; a repeat changes nothing.

        SQL: ``strongroom.soft_delete_source``
        """
        ...

    def restore_source(self, *, tenant_id: Id, source_id: Id) -> Source:
        """Bring a soft-deleted source back.

        Raises:
            AlreadyExists: SR011, another source has taken its external_ref.

        SQL: ``strongroom.restore_source``
        """
        ...

    def purge_source(self, *, tenant_id: Id, source_id: Id) -> PurgeReceipt:
        """Delete a source and its chunks for good. SQL: ``strongroom.purge_source``."""
        ...

    def get_chunk(
        self, *, tenant_id: Id, source_id: Id, number: ChunkNumber, viewer: Viewer | None = None
    ) -> Chunk:
        """Return a chunk, or raise NotFound. SQL: ``strongroom.find_chunk``."""
        ...

    def find_chunk(
        self, *, tenant_id: Id, source_id: Id, number: ChunkNumber, viewer: Viewer | None = None
    ) -> Chunk | None:
        """Return a chunk, or None. SQL: ``strongroom.find_chunk``."""
        ...

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
        """Return a page of a source's chunks, in order.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_chunks``
        """
        ...

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
        """Return the chunks that fit best, as many as asked for or as there are.

        By words (``text``), a chunk fits when it holds any of them; nothing in the text is an operator, and
        a text without words, or of stop words alone, finds nothing by words. By nearness (``embedding``)
        every chunk that is embedded with the collection's model fits, by cosine. With both, the two orders
        are fused by reciprocal rank: first in both scores 1.

        Args:
            tenant_id: the tenant.
            collection_id: the collection.
            text: words to search for, at most 64 KiB; its first 512 different ones count, and of a chunk
                the first 32,768 characters.
            embedding: an embedding of what is searched for, by the collection's model.
            mode: ``keyword``, ``vector`` or ``hybrid``; None: by what is given.
            limit: hits, 1..500.
            min_score: leave out what scores less: by words 0 to 1, by nearness -1 to 1, fused 0 to 1.
            source_types: only of these types.
            metadata: only chunks whose metadata, with their source's, contains this.
            neighbours: with each hit so many chunks before and after it in its source, 0..10.
            viewer: find what this principal may see; None searches as the host.

        Raises:
            MissingCapability: SR040, ``embedding`` where the server has no vector search.

        SQL: ``strongroom.search_knowledge``
        """
        ...
