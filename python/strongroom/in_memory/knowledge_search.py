"""The search in knowledge, in memory."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from strongroom.errors import InvalidArgument, LimitExceeded
from strongroom.in_memory.collection_functions import Eyes, require_collection
from strongroom.in_memory.database import IndexedChunk, Tables
from strongroom.in_memory.knowledge_functions import check_embedding, direction_of
from strongroom.in_memory.source_functions import visible_chunks
from strongroom.in_memory.terms import keyword_score, searched_terms
from strongroom.in_memory.values import METADATA_BYTES, check_size, cosine
from strongroom.models.base import JsonValue
from strongroom.models.knowledge import (
    Collection,
    IndexMatch,
    SearchHit,
    SearchMode,
    SearchResult,
    Source,
)

_TEXT_BYTES = 65_536
_SMOOTHING = 60

Place = tuple[str, int]
Ranked = list[tuple[Place, float]]
"""Source and number of chunks with their scores, best first."""


def contains(whole: JsonValue, part: JsonValue) -> bool:
    """Whether a JSON value contains another, as jsonb's ``@>`` says."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and contains(whole[key], item) for key, item in part.items())
    if isinstance(whole, list) and isinstance(part, list):
        return all(any(contains(candidate, item) for candidate in whole) for item in part)
    if isinstance(whole, bool) or isinstance(part, bool):
        return whole is part
    if isinstance(whole, int | float) and isinstance(part, int | float):
        return Decimal(repr(whole)) == Decimal(repr(part))
    return whole == part


def _candidates(
    tables: Tables,
    collection_id: str,
    eyes: Eyes,
    source_types: list[str] | None,
    metadata: dict[str, Any] | None,
) -> list[tuple[Source, IndexedChunk]]:
    return [
        (source, chunk)
        for row in tables.sources.values()
        if (source := row.record).collection_id == collection_id
        and source.deleted_at is None
        and (source_types is None or source.source_type in source_types)
        and eyes.see(tables, source.auth_subjects)
        for chunk in tables.chunks[source.id]
        if (chunk.chunk.auth_subjects is None or eyes.see(tables, chunk.chunk.auth_subjects))
        and (metadata is None or contains({**source.metadata, **chunk.chunk.metadata}, metadata))
    ]


def _ranked(
    candidates: list[tuple[Source, IndexedChunk]],
    score_of: Callable[[Source, IndexedChunk], float | None],
    depth: int,
    least: float | None,
) -> Ranked:
    scored = [
        ((source.id, chunk.chunk.number), score)
        for source, chunk in candidates
        if (score := score_of(source, chunk)) is not None and (least is None or score >= least)
    ]
    return sorted(scored, key=lambda found: (-found[1], found[0]))[:depth]


def _check(collection: Collection, mode: SearchMode, embedding: list[float] | None) -> None:
    if mode != "keyword":
        if collection.embedding_dimensions is None:
            raise InvalidArgument(
                "embedding: the collection names no embedding model",
                detail={"path": "embedding"},
                hint="Search by text alone, or set the collection's model and embed its sources.",
            )
        if embedding is None:
            raise InvalidArgument(
                "embedding must be a list of numbers",
                detail={"path": "embedding"},
                hint="Give the values of the embedding, as the model returned them.",
            )
        check_embedding("embedding", embedding, collection.embedding_dimensions)


def _check_text(mode: SearchMode, text: str | None) -> None:
    if mode != "vector" and text is None:
        raise InvalidArgument(
            "text is required",
            detail={"path": "text"},
            hint="Give the words to search for, an embedding, or both.",
        )
    size = len((text or "").encode())
    if size > _TEXT_BYTES:
        raise LimitExceeded(
            f"text has {size} bytes; at most {_TEXT_BYTES} are allowed",
            detail={"path": "text", "limit": _TEXT_BYTES, "actual": size},
            hint="Search for what matters in it.",
        )


def search_chunks(
    tables: Tables,
    *,
    collection_id: str,
    text: str | None = None,
    embedding: list[float] | None = None,
    mode: SearchMode | None = None,
    limit: int,
    min_score: float | None,
    source_types: list[str] | None,
    metadata: dict[str, Any] | None,
    viewer_id: str | None,
    viewer_role_ids: list[str] | None,
) -> tuple[Ranked, dict[Place, float], dict[Place, float], SearchMode]:
    """Return what is found, best first, and the scores by words and by nearness."""
    if mode is None:
        mode = "keyword" if embedding is None else "vector" if text is None else "hybrid"
    if metadata is not None:
        check_size("metadata", metadata, METADATA_BYTES)
    _check_text(mode, text)
    collection = require_collection(tables, collection_id)
    _check(collection, mode, embedding)
    eyes = Eyes.of(viewer_id, viewer_role_ids)
    candidates = _candidates(tables, collection_id, eyes, source_types, metadata)
    depth = max(2 * limit, 50) if mode == "hybrid" else limit
    least = None if mode == "hybrid" else min_score
    words: Ranked = []
    near: Ranked = []
    terms = searched_terms(text or "") if mode != "vector" else []
    if terms:
        words = _ranked(
            candidates,
            lambda _, chunk: (
                keyword_score(chunk.terms, terms)
                if chunk.terms is not None and not chunk.terms.keys().isdisjoint(terms)
                else None
            ),
            depth,
            least,
        )
    if mode != "keyword" and embedding is not None:
        direction = direction_of(embedding)
        near = _ranked(
            candidates,
            lambda source, chunk: (
                cosine(sum(a * b for a, b in zip(chunk.direction, direction, strict=True)), 1.0)
                if chunk.direction is not None and source.model == collection.model
                else None
            ),
            depth,
            least,
        )
    ranked = words if mode == "keyword" else near
    if mode == "hybrid":
        ranked = _fused(words, near)
    return (
        [(place, score) for place, score in ranked if min_score is None or score >= min_score][
            :limit
        ],
        dict(words),
        dict(near),
        mode,
    )


def _fused(words: Ranked, near: Ranked) -> Ranked:
    scores: dict[Place, float] = {}
    for ranked in (words, near):
        for rank, (place, _) in enumerate(ranked, 1):
            scores[place] = scores.get(place, 0) + 30.5 / (_SMOOTHING + rank)
    return sorted(scores.items(), key=lambda found: (-found[1], found[0]))


def search_knowledge(tables: Tables, *, neighbours: int, **arguments: Any) -> SearchResult:
    """Return the chunks that fit best, with their neighbours."""
    found, words, near, mode = search_chunks(tables, **arguments)
    hits = []
    for (source_id, number), score in found:
        source = tables.sources[source_id].record
        around = visible_chunks(
            tables, source_id, arguments["viewer_id"], arguments["viewer_role_ids"]
        )
        (chunk,) = (one for one in around if one.number == number)
        hits.append(
            SearchHit(
                **dict(chunk),
                external_ref=source.external_ref,
                source_type=source.source_type,
                title=source.title,
                uri=source.uri,
                source_metadata=source.metadata,
                source_version=source.version,
                score=score,
                keyword_score=words.get((source_id, number)),
                vector_score=near.get((source_id, number)),
                before=tuple(c for c in around if number - neighbours <= c.number < number),
                after=tuple(c for c in around if number < c.number <= number + neighbours),
            )
        )
    told = hits and mode != "keyword" and arguments["viewer_id"] is None
    return SearchResult(items=tuple(hits), vector_method="exact" if told else None)


def search_index(tables: Tables, **arguments: Any) -> tuple[IndexMatch, ...]:
    """Return which chunks fit best."""
    found, *_ = search_chunks(tables, **arguments)
    return tuple(
        IndexMatch(source_id=source_id, number=number, score=score)
        for (source_id, number), score in found
    )
