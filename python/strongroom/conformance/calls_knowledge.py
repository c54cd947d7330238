"""Knowledge as data for the sections that go through every port method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from strongroom.client import Ports
from strongroom.conformance.helpers import fresh
from strongroom.models import EmbeddingModel, NewChunk, Viewer

MODEL = EmbeddingModel(name="model", version="1", dimensions=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeIds:
    """The ids of a collection with one source, which is not embedded yet."""

    collection_id: str
    source_id: str
    external_ref: str = "secret.md"

    def absent(self) -> KnowledgeIds:
        """Return ids of the same form that name nothing."""
        return replace(self, collection_id=self.collection_id[::-1], source_id=self.source_id[::-1])


async def fill_knowledge(store: Ports, tenant_id: str, *subjects: str) -> KnowledgeIds:
    """Make a collection with a source of two chunks, for these subjects (by default the tenant)."""
    collection = await store.knowledge.create_collection(
        tenant_id=tenant_id, name=fresh("docs"), embedding_model=MODEL
    )
    source = await store.knowledge.replace_source(
        tenant_id=tenant_id,
        collection_id=collection.id,
        external_ref="secret.md",
        chunks=[NewChunk(content="the secret parcel"), NewChunk(content="another secret")],
        auth_subjects=subjects or ("tenant",),
    )
    return KnowledgeIds(collection_id=collection.id, source_id=source.id)


Read = Callable[[Ports, str, KnowledgeIds, Viewer | None], Awaitable[object]]
HostCall = Callable[[Ports, str, KnowledgeIds], Awaitable[object]]

COLLECTION_READS: dict[str, Read] = {
    "knowledge.get_collection": lambda s, t, k, _: s.knowledge.get_collection(
        tenant_id=t, collection_id=k.collection_id
    ),
    "knowledge.find_collection": lambda s, t, k, _: s.knowledge.find_collection(
        tenant_id=t, collection_id=k.collection_id
    ),
}
"""What everyone in the tenant may read."""

SOURCE_READS: dict[str, Read] = {
    "knowledge.get_source": lambda s, t, k, v: s.knowledge.get_source(
        tenant_id=t, source_id=k.source_id, viewer=v
    ),
    "knowledge.find_source": lambda s, t, k, v: s.knowledge.find_source(
        tenant_id=t, source_id=k.source_id, viewer=v
    ),
    "knowledge.get_chunk": lambda s, t, k, v: s.knowledge.get_chunk(
        tenant_id=t, source_id=k.source_id, number=1, viewer=v
    ),
    "knowledge.find_chunk": lambda s, t, k, v: s.knowledge.find_chunk(
        tenant_id=t, source_id=k.source_id, number=2, viewer=v
    ),
    "knowledge.list_chunks": lambda s, t, k, v: s.knowledge.list_chunks(
        tenant_id=t, source_id=k.source_id, viewer=v
    ),
}
"""What the subjects of a source admit to, by its id."""

COLLECTION_SEARCHES: dict[str, Read] = {
    "knowledge.list_sources": lambda s, t, k, v: s.knowledge.list_sources(
        tenant_id=t, collection_id=k.collection_id, viewer=v
    ),
    "knowledge.search": lambda s, t, k, v: s.knowledge.search(
        tenant_id=t, collection_id=k.collection_id, text="secret", neighbours=1, viewer=v
    ),
    "keywords.search": lambda s, t, k, v: s.keywords.search(
        tenant_id=t, collection_id=k.collection_id, text="secret", viewer=v
    ),
}
"""What the subjects of sources admit to, by the collection: empty for who is not admitted."""

KNOWLEDGE_READS = {**COLLECTION_READS, **SOURCE_READS, **COLLECTION_SEARCHES}

HOST_READS: dict[str, HostCall] = {
    "knowledge.list_stale_sources": lambda s, t, k: s.knowledge.list_stale_sources(
        tenant_id=t, collection_id=k.collection_id
    ),
}

HOST_WRITES: dict[str, HostCall] = {
    "knowledge.update_collection": lambda s, t, k: s.knowledge.update_collection(
        tenant_id=t, collection_id=k.collection_id, name=fresh("taken"), expected_version=1
    ),
    "knowledge.replace_source": lambda s, t, k: s.knowledge.replace_source(
        tenant_id=t,
        collection_id=k.collection_id,
        external_ref=k.external_ref,
        chunks=[NewChunk(content="late")],
    ),
    "knowledge.update_source": lambda s, t, k: s.knowledge.update_source(
        tenant_id=t, source_id=k.source_id, title="late", expected_version=1
    ),
    "knowledge.soft_delete_source": lambda s, t, k: s.knowledge.soft_delete_source(
        tenant_id=t, source_id=k.source_id
    ),
    "knowledge.restore_source": lambda s, t, k: s.knowledge.restore_source(
        tenant_id=t, source_id=k.source_id
    ),
    "keywords.put": lambda s, t, k: s.keywords.put(tenant_id=t, source_id=k.source_id),
    "keywords.delete": lambda s, t, k: s.keywords.delete(tenant_id=t, source_id=k.source_id),
}
"""Writes that hosts alone may do; each refuses what does not exist."""
