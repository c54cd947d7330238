"""What the calls of KnowledgeStore about collections do, and who may see what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, NotFound
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable, is_readable
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.knowledge import (
    Collection,
    CreatedCollection,
    EmbeddingModel,
)
from strongroom.models.tenants import PurgeReceipt

LANGUAGES = (
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "irish",
    "italian",
    "lithuanian",
    "nepali",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "serbian",
    "simple",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
    "yiddish",
)
"""What every supported server knows. Here they are only names: nothing is stemmed in memory."""

_GONE = "It may have been deleted, or this caller may not see it."
_MODEL = ("embedding_model", "embedding_version", "embedding_dimensions")


@dataclass(frozen=True, slots=True)
class Eyes:
    """Who is looking: a host that sees all when there is no viewer."""

    viewer_id: str | None
    subjects: frozenset[str]

    @classmethod
    def of(cls, viewer_id: str | None, role_ids: list[str] | None) -> Eyes:
        """Return the eyes of a viewer with these roles."""
        roles = {f"role:{role_id}" for role_id in role_ids or ()}
        return cls(viewer_id, frozenset({"tenant", f"principal:{viewer_id}", *roles}))

    def see(self, tables: Tables, subjects: tuple[str, ...]) -> bool:
        """Whether one of the subjects admits the viewer."""
        return self.viewer_id is None or any(
            subject in self.subjects
            or (
                subject.startswith("conversation:")
                and (row := tables.conversations.get(subject.removeprefix("conversation:")))
                is not None
                and is_readable(row.record, self.viewer_id)
            )
            for subject in subjects
        )


def not_found(record: str) -> NotFound:
    """Return the error for what is absent, deleted, or not to be seen."""
    return NotFound(f"the {record} does not exist", detail={"record": record}, hint=_GONE)


def create_collection(
    tables: Tables,
    *,
    name: str,
    collection_id: str,
    language: str,
    embedding_model: str | None,
    embedding_version: str | None,
    embedding_dimensions: int | None,
    metadata: dict[str, Any],
) -> CreatedCollection:
    """Create a collection, or know a repeated create by its content."""
    check_writable(tables)
    if language not in LANGUAGES:
        raise InvalidArgument(
            f"language must be one of: {', '.join(LANGUAGES)}",
            detail={"path": "language", "choices": [*LANGUAGES], "actual": language},
            hint="Use one of the listed values.",
        )
    check_size("metadata", metadata, METADATA_BYTES)
    values: dict[str, Any] = {
        "name": name,
        "language": language,
        "embedding_model": embedding_model,
        "embedding_version": embedding_version,
        "embedding_dimensions": embedding_dimensions,
        "metadata": metadata,
    }
    row = tables.collections.get(collection_id)
    if row is not None and row.created_with == comparable(values):
        return CreatedCollection(**dict(row.record), outcome="duplicate")
    if row is not None:
        raise _collection_exists(
            "a collection with this id was created with other content", collection_id
        )
    if any(other.record.name == name for other in tables.collections.values()):
        raise _collection_exists("another collection has this name", collection_id)
    collection = Collection(
        **values,
        tenant_id=tables.tenant_id,
        id=collection_id,
        version=1,
        created_at=tables.now,
        updated_at=tables.now,
    )
    tables.collections[collection_id] = Row(collection, comparable(values))
    return CreatedCollection(**dict(collection), outcome="inserted")


def _collection_exists(message: str, collection_id: str) -> AlreadyExists:
    return AlreadyExists(
        message,
        detail={"record": "collection", "id": collection_id},
        hint="Read the existing one, or choose another id or name.",
    )


def find_collection(tables: Tables, *, collection_id: str) -> Collection | None:
    """Return the collection."""
    row = tables.collections.get(collection_id)
    return row.record if row else None


def require_collection(
    tables: Tables, collection_id: str, model: EmbeddingModel | None = None
) -> Collection:
    """Return the collection, which must have the model that embeddings are said to be of."""
    collection = find_collection(tables, collection_id=collection_id)
    if collection is None:
        raise not_found("collection")
    if model is not None and model != collection.model:
        mine = collection.model
        raise InvalidArgument(
            f"the embeddings are of {model.name} {model.version} with {model.dimensions} dimensions,"
            " the collection's model is "
            + (f"{mine.name} {mine.version} with {mine.dimensions}" if mine else "not set"),
            detail={
                "path": "embedding_model",
                "expected": [getattr(collection, name) for name in _MODEL],
                "actual": [model.name, model.version, model.dimensions],
            },
            hint="Embed with the collection's model, or change the collection's model first.",
        )
    return collection


def update_collection(
    tables: Tables, *, collection_id: str, expected_version: int, changes: dict[str, Any]
) -> Collection:
    """Change fields, given the version that was read."""
    check_writable(tables)
    if "metadata" in changes:
        check_size("changes.metadata", changes["metadata"], METADATA_BYTES)
    row = tables.collections.get(collection_id)
    if row is None:
        raise not_found("collection")
    check_version("collection", expected_version, row.record.version)
    if any(
        other.record.name == changes.get("name") and other is not row
        for other in tables.collections.values()
    ):
        raise AlreadyExists(
            "another collection has this name",
            detail={"path": "changes.name", "record": "collection"},
            hint="Choose another name.",
        )
    changed = row.record.replace(**changes, version=row.record.version + 1, updated_at=tables.now)
    tables.collections[collection_id] = Row(changed, row.created_with)
    return changed


def purge_collection(tables: Tables, *, collection_id: str) -> PurgeReceipt:
    """Delete it with its sources and chunks."""
    check_writable(tables)
    sources = [
        row.record.id
        for row in tables.sources.values()
        if row.record.collection_id == collection_id
    ]
    receipt = PurgeReceipt(
        tables={
            "collections": 1 if tables.collections.pop(collection_id, None) else 0,
            "chunks": sum(len(tables.chunks.get(source, ())) for source in sources),
            "sources": len(sources),
        }
    )
    for source in sources:
        del tables.sources[source]
        tables.chunks.pop(source, None)
    if receipt.tables["collections"]:
        record_audit(tables, "collection.purge", "collection", collection_id)
    return receipt
