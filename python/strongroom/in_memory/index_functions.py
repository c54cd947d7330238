"""What VectorIndex and KeywordIndex write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strongroom.errors import InvalidArgument
from strongroom.in_memory.base import check_version, check_writable
from strongroom.in_memory.collection_functions import require_collection
from strongroom.in_memory.database import Tables
from strongroom.in_memory.knowledge_functions import check_embedding, direction_of
from strongroom.in_memory.source_functions import changed_source, living_source
from strongroom.in_memory.terms import count_terms
from strongroom.models.knowledge import EmbeddingModel, Source

_MODEL = ("embedding_model", "embedding_version", "embedding_dimensions")


def put_embeddings(
    tables: Tables,
    *,
    source_id: str,
    embeddings: list[list[float]],
    model: dict[str, Any],
    expected_version: int,
) -> Source:
    """Embed the chunks of a source anew."""
    check_writable(tables)
    source = living_source(tables, source_id).record
    check_version("source", expected_version, source.version)
    wanted = EmbeddingModel(**model)
    require_collection(tables, source.collection_id, wanted)
    if len(embeddings) != source.chunk_count:
        raise InvalidArgument(
            f"embeddings has {len(embeddings)} entries, the source {source.chunk_count} chunks",
            detail={
                "path": "embeddings",
                "expected": source.chunk_count,
                "actual": len(embeddings),
            },
            hint="Give one embedding for each chunk of the source, in order.",
        )
    for index, embedding in enumerate(embeddings):
        check_embedding(f"embeddings[{index}]", embedding, wanted.dimensions)
    tables.chunks[source_id] = tuple(
        replace(chunk, direction=direction_of(embedding))
        for chunk, embedding in zip(tables.chunks[source_id], embeddings, strict=True)
    )
    values = (wanted.name, wanted.version, wanted.dimensions)
    return changed_source(tables, source, **dict(zip(_MODEL, values, strict=True)))


def remove_embeddings(tables: Tables, *, source_id: str) -> Source:
    """Take the chunks of a source out of the search by embeddings."""
    check_writable(tables)
    source = living_source(tables, source_id).record
    if source.model is None:
        return source
    tables.chunks[source_id] = tuple(
        replace(chunk, direction=None) for chunk in tables.chunks[source_id]
    )
    return changed_source(tables, source, **dict.fromkeys(_MODEL))


def put_keywords(tables: Tables, *, source_id: str) -> int:
    """Put the chunks of a source into the search by words."""
    check_writable(tables)
    living_source(tables, source_id)
    tables.chunks[source_id] = tuple(
        replace(chunk, terms=count_terms(chunk.chunk.content)) for chunk in tables.chunks[source_id]
    )
    return len(tables.chunks[source_id])


def remove_keywords(tables: Tables, *, source_id: str) -> int:
    """Take the chunks of a source out of the search by words."""
    check_writable(tables)
    living_source(tables, source_id)
    found = sum(chunk.terms is not None for chunk in tables.chunks[source_id])
    tables.chunks[source_id] = tuple(
        replace(chunk, terms=None) for chunk in tables.chunks[source_id]
    )
    return found
