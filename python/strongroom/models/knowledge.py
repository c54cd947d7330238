"""Knowledge: collections of sources, cut into chunks, and what a search finds among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import (
    BoundedText,
    Id,
    JsonObject,
    Name,
    Record,
    Text,
    Timestamp,
    Version,
)
from strongroom.models.tenants import CreateOutcome

Dimensions = Annotated[int, Field(strict=True, ge=1, le=4000)]
"""Values of one embedding: 1 to 4,000."""

_Value = Annotated[float, Field(strict=True, allow_inf_nan=False)]

Embedding = Annotated[Sequence[_Value], Field(min_length=1, max_length=4000)]
"""An embedding, as the model returned it: finite numbers. Its length does not count, its direction does."""

ChunkNumber = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
"""A chunk's place in its source: 1, 2, 3, ..."""

Uri = Annotated[str, BoundedText(1, 8192)]
"""Where something can be read: 1 to 8,192 characters."""

SearchMode = Literal["vector", "keyword", "hybrid"]
"""By nearness of embeddings, by words, or by both, fused by reciprocal rank."""

VectorMethod = Literal["exact", "index", "index, then exact"]
"""Every embedding compared; the index on nearness; the index, which found too few, and then every one."""

ReplaceOutcome = Literal["inserted", "replaced", "duplicate"]


class EmbeddingModel(Record):
    """The model that embeds: embeddings of different ones are never compared.

    Attributes:
        name: such as ``all-MiniLM-L6-v2``.
        version: whatever changes when its embeddings do.
        dimensions: how many values an embedding has.
    """

    name: Id
    version: Id
    dimensions: Dimensions


def _model_of(
    name: str | None, version: str | None, dimensions: int | None
) -> EmbeddingModel | None:
    if name is None or version is None or dimensions is None:
        return None
    return EmbeddingModel(name=name, version=version, dimensions=dimensions)


class Collection(Record):
    """What is searched together: sources in one language, embedded with one model.

    Attributes:
        language: a text-search configuration of the server; ``simple`` stems nothing.
        embedding_model: None for a collection that is searched by words alone.
    """

    tenant_id: Id
    id: Id
    name: Name
    language: Id
    embedding_model: Id | None
    embedding_version: Id | None
    embedding_dimensions: int | None
    metadata: JsonObject
    version: Version
    created_at: Timestamp
    updated_at: Timestamp

    @property
    def model(self) -> EmbeddingModel | None:
        """The model that its chunks and queries are embedded with."""
        return _model_of(self.embedding_model, self.embedding_version, self.embedding_dimensions)


class CreatedCollection(Collection):
    """A collection as ``create_collection`` returns it."""

    outcome: CreateOutcome


class Source(Record):
    """What chunks were cut from.

    Attributes:
        external_ref: the host's own name for it, unique among the collection's living sources.
        source_type: what it is, for filters.
        uri: where it can be read.
        auth_subjects: who may see it: ``tenant``, ``principal:<id>``, ``role:<id>``,
            ``conversation:<id>``; none of them: hosts alone.
        content_digest: the host's own hash of the original.
        embedding_model: the model that its chunks were embedded with; None when they were not.
        chunk_count: how many chunks the reader may see; for a host that names no viewer, all.
    """

    tenant_id: Id
    id: Id
    collection_id: Id
    external_ref: Id
    source_type: Id
    title: Name | None
    uri: Uri | None
    file_id: Id | None
    metadata: JsonObject
    auth_subjects: tuple[str, ...]
    content_digest: Id | None
    embedding_model: Id | None
    embedding_version: Id | None
    embedding_dimensions: int | None
    chunk_count: int
    version: Version
    deleted_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp

    @property
    def model(self) -> EmbeddingModel | None:
        """The model that its chunks were embedded with."""
        return _model_of(self.embedding_model, self.embedding_version, self.embedding_dimensions)


class ReplacedSource(Source):
    """A source as ``replace_source`` returns it.

    Attributes:
        outcome: ``inserted``, ``replaced``, or ``duplicate``: it was exactly so already.
    """

    outcome: ReplaceOutcome


class NewChunk(Record):
    """A chunk to be stored.

    Attributes:
        content: the text, at most 1 MiB.
        locator: where in the source it stands, as the host likes; at most 16 KiB.
        token_count: how many tokens it has for the host's model.
        auth_subjects: who of those who may see the source may see it; None: all of them.
        metadata: the host's own JSON object, at most 16 KiB.
        embedding: by the collection's model.

    Example:
        >>> from strongroom import NewChunk
        >>> NewChunk(content="Parcels arrive on Monday.", locator={"page": 2}).locator
        {'page': 2}
    """

    content: Annotated[str, BoundedText(1, 1_048_576)]
    locator: JsonObject = Field(default_factory=dict)
    token_count: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] | None = None
    auth_subjects: Annotated[tuple[Text, ...], Field(max_length=100)] | None = None
    metadata: JsonObject = Field(default_factory=dict)
    embedding: Annotated[tuple[_Value, ...], Field(min_length=1, max_length=4000)] | None = None


class Chunk(Record):
    """A piece of a source.

    Attributes:
        number: its place in the source.
        auth_subjects: who of those who may see the source may see it; None: all of them.
    """

    tenant_id: Id
    collection_id: Id
    source_id: Id
    number: ChunkNumber
    content: Text
    locator: JsonObject
    token_count: int | None
    auth_subjects: tuple[str, ...] | None
    metadata: JsonObject


class SearchHit(Chunk):
    """A chunk that a search has found, with what a citation needs.

    Attributes:
        score: how well it fits, by the mode of the search.
        keyword_score: 0 to 1: how much of what was searched for it holds, and how often; None when it was
            not found by words.
        vector_score: -1 to 1: the cosine to the embedding that was searched for; None when it was not
            found by nearness.
        before: the neighbours before it, in order, as far as the caller may see them.
        after: the neighbours after it.
    """

    external_ref: Id
    source_type: Id
    title: Name | None
    uri: Uri | None
    source_metadata: JsonObject
    source_version: Version
    score: float
    keyword_score: float | None
    vector_score: float | None
    before: tuple[Chunk, ...] = ()
    after: tuple[Chunk, ...] = ()


class SearchResult(Record):
    """What a search has found.

    Attributes:
        items: best first; equally good ones in the order of source and number.
        vector_method: how embeddings were compared; None when they were not, when nothing was found, and
            for a viewer or user, since it depends on chunks that they may not see.
    """

    items: tuple[SearchHit, ...]
    vector_method: VectorMethod | None


class IndexMatch(Record):
    """A chunk that an index has found: which one, and how well it fits."""

    source_id: Id
    number: ChunkNumber
    score: float
