"""What replacing a source does: every check first, then all of it."""

from __future__ import annotations

import re
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, LimitExceeded
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable
from strongroom.in_memory.collection_functions import not_found, require_collection
from strongroom.in_memory.database import IndexedChunk, Row, Tables
from strongroom.in_memory.terms import count_terms
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.knowledge import (
    Chunk,
    EmbeddingModel,
    ReplacedSource,
    Source,
)

CONTENT_BYTES = 1_048_576
_SUBJECT = re.compile("tenant|(?:principal|role|conversation):.{1,255}", re.DOTALL)
_MODEL = ("embedding_model", "embedding_version", "embedding_dimensions")
_MOST, _LEAST = 1e15, 1e-15


def check_subjects(path: str, subjects: list[str]) -> None:
    """Refuse what is no subject."""
    for index, subject in enumerate(subjects):
        if not _SUBJECT.fullmatch(subject):
            raise InvalidArgument(
                f"{path}[{index}] is not a subject",
                detail={"path": f"{path}[{index}]"},
                hint="Use tenant, principal:<id>, role:<id> or conversation:<id>.",
            )


def check_embedding(path: str, embedding: list[float], dimensions: int) -> None:
    """Refuse an embedding of another size, or without a direction."""
    if len(embedding) != dimensions:
        raise InvalidArgument(
            f"{path} has {len(embedding)} dimensions, the collection's model {dimensions}",
            detail={"path": path, "expected": dimensions, "actual": len(embedding)},
            hint="Embed with the collection's model, or change the collection's model first.",
        )
    if not _LEAST < max(abs(value) for value in embedding) <= _MOST:
        raise InvalidArgument(
            f"{path} has no direction",
            detail={"path": path},
            hint="Give values of at most 1e15, and at least one that is not 0: nearness is by cosine.",
        )


def direction_of(embedding: list[float]) -> tuple[float, ...]:
    """Return the embedding at length 1."""
    length = sum(value * value for value in embedding) ** 0.5
    return tuple(value / length for value in embedding)


def _check_chunks(chunks: list[dict[str, Any]], dimensions: int | None) -> bool:
    embedded = bool(chunks) and "embedding" in chunks[0]
    for index, chunk in enumerate(chunks):
        path = f"chunks[{index}]"
        size = len(chunk["content"].encode())
        if size > CONTENT_BYTES:
            raise LimitExceeded(
                f"{path}.content has {size} bytes; at most {CONTENT_BYTES} are allowed",
                detail={"path": f"{path}.content", "limit": CONTENT_BYTES, "actual": size},
                hint="Cut it into smaller chunks; nothing was written.",
            )
        check_size(f"{path}.locator", chunk["locator"], METADATA_BYTES)
        check_size(f"{path}.metadata", chunk["metadata"], METADATA_BYTES)
        check_subjects(f"{path}.auth_subjects", chunk.get("auth_subjects", []))
        if ("embedding" in chunk) != embedded:
            raise InvalidArgument(
                f"{path}.embedding: either all chunks have one, or none",
                detail={"path": f"{path}.embedding"},
                hint="Embed all chunks of the source.",
            )
        if embedded and dimensions is None:
            raise InvalidArgument(
                f"{path}.embedding: the collection names no embedding model",
                detail={"path": f"{path}.embedding"},
                hint="Set the collection's model first: update_collection.",
            )
        if embedded and dimensions is not None:
            check_embedding(f"{path}.embedding", chunk["embedding"], dimensions)
    return embedded


def _living(tables: Tables, collection_id: str, external_ref: str) -> Row[Source] | None:
    for row in tables.sources.values():
        source = row.record
        if (
            source.collection_id == collection_id
            and source.external_ref == external_ref
            and source.deleted_at is None
        ):
            return row
    return None


def replace_source(
    tables: Tables,
    *,
    collection_id: str,
    external_ref: str,
    chunks: list[dict[str, Any]],
    source_id: str | None,
    new_id: str,
    auth_subjects: list[str],
    model: dict[str, Any] | None,
    expected_version: int | None,
    **fields: Any,
) -> ReplacedSource:
    """Make this the whole content of a source."""
    check_writable(tables)
    check_size("metadata", fields["metadata"], METADATA_BYTES)
    check_subjects("auth_subjects", auth_subjects)
    collection = require_collection(
        tables, collection_id, EmbeddingModel(**model) if model else None
    )
    embedded = _check_chunks(chunks, collection.embedding_dimensions)
    of_model = {name: getattr(collection, name) if embedded else None for name in _MODEL}
    fields |= {**of_model, "auth_subjects": tuple(sorted({*auth_subjects}))}
    content = (comparable(fields), comparable(chunks))  # type: ignore[arg-type]
    row = _living(tables, collection_id, external_ref)
    if row is None and (source_id or new_id) in tables.sources and not expected_version:
        raise _source_exists("another source has this id")
    if row is None and expected_version:
        raise not_found("source")
    if row is not None and row.record.id != (source_id or row.record.id):
        raise _source_exists("the source with this external_ref has another id")
    if row is not None and row.created_with == content:
        return ReplacedSource(**dict(row.record), outcome="duplicate")
    if row is not None and expected_version is not None:
        check_version("source", expected_version, row.record.version)
    before = row.record if row else None
    source = Source(
        **fields,
        tenant_id=tables.tenant_id,
        id=before.id if before else source_id or new_id,
        collection_id=collection_id,
        external_ref=external_ref,
        chunk_count=len(chunks),
        version=before.version + 1 if before else 1,
        deleted_at=None,
        created_at=before.created_at if before else tables.now,
        updated_at=tables.now,
    )
    tables.sources[source.id] = Row(source, content)
    tables.chunks[source.id] = tuple(
        IndexedChunk(
            chunk=Chunk(
                tenant_id=tables.tenant_id,
                collection_id=collection_id,
                source_id=source.id,
                number=index + 1,
                content=chunk["content"],
                locator=chunk["locator"],
                token_count=chunk.get("token_count"),
                auth_subjects=chunk.get("auth_subjects"),
                metadata=chunk["metadata"],
            ),
            direction=direction_of(chunk["embedding"]) if embedded else None,
            terms=count_terms(chunk["content"]),
        )
        for index, chunk in enumerate(chunks)
    )
    if before and before.auth_subjects != source.auth_subjects:
        record_audit(
            tables, "source.share", "source", source.id, details={"version": source.version}
        )
    return ReplacedSource(**dict(source), outcome="replaced" if before else "inserted")


def _source_exists(message: str) -> AlreadyExists:
    return AlreadyExists(
        message,
        detail={"path": "source_id", "record": "source"},
        hint="Leave source_id out, or use the id that the source has.",
    )
