"""What the calls on sources and their chunks do, and the pages of knowledge."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import AlreadyExists
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable
from strongroom.in_memory.collection_functions import Eyes, not_found, require_collection
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.knowledge_functions import check_subjects
from strongroom.in_memory.pages import Key, check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size
from strongroom.models.base import JsonValue
from strongroom.models.knowledge import Chunk, Collection, EmbeddingModel, Source
from strongroom.models.pages import Direction, Page
from strongroom.models.tenants import PurgeReceipt


def _by_creation(record: Collection | Source) -> Key:
    since_1970 = record.created_at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return [since_1970 // dt.timedelta(microseconds=1), record.id]


def list_collections(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    name: str | None,
) -> Page[Collection]:
    """Return a page of collections, forward newest first."""
    check_page(after, before)
    return page_of(
        (row.record for row in tables.collections.values() if name in (None, row.record.name)),
        key=_by_creation,
        descending=direction == "forward",
        scope=cursor_scope("collections", [name], direction),
        limit=limit,
        after=after,
        before=before,
    )


def find_source(
    tables: Tables,
    *,
    source_id: str,
    viewer_id: str | None,
    viewer_role_ids: list[str] | None,
    deleted: bool,
) -> Source | None:
    """Return a source that the viewer may see."""
    row = tables.sources.get(source_id)
    eyes = Eyes.of(viewer_id, viewer_role_ids)
    return (
        _as_seen(tables, row.record, eyes, viewer_id)
        if row
        and (row.record.deleted_at is not None) == deleted
        and eyes.see(tables, row.record.auth_subjects)
        else None
    )


def _as_seen(tables: Tables, source: Source, eyes: Eyes, viewer_id: str | None) -> Source:
    """Return the source with the count of what the viewer may see of it."""
    if viewer_id is None:
        return source
    return source.replace(chunk_count=len(_shown(tables, source.id, eyes)))


def _shown(tables: Tables, source_id: str, eyes: Eyes) -> list[Chunk]:
    return [
        indexed.chunk
        for indexed in tables.chunks[source_id]
        if indexed.chunk.auth_subjects is None or eyes.see(tables, indexed.chunk.auth_subjects)
    ]


def list_sources(
    tables: Tables,
    *,
    collection_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    viewer_role_ids: list[str] | None,
    external_ref: str | None,
    source_type: str | None,
    deleted: bool,
) -> Page[Source]:
    """Return a page of sources, forward newest first."""
    check_page(after, before)
    eyes = Eyes.of(viewer_id, viewer_role_ids)
    filters: list[JsonValue] = [
        collection_id,
        viewer_id,
        sorted(eyes.subjects) if viewer_id else None,  # type: ignore[list-item]
        external_ref,
        source_type,
        deleted,
    ]
    scope = cursor_scope("sources", filters, direction)
    require_collection(tables, collection_id)
    return page_of(
        (
            _as_seen(tables, source, eyes, viewer_id)
            for row in tables.sources.values()
            if (source := row.record).collection_id == collection_id
            and (source.deleted_at is not None) == deleted
            and external_ref in (None, source.external_ref)
            and source_type in (None, source.source_type)
            and eyes.see(tables, source.auth_subjects)
        ),
        key=_by_creation,
        descending=direction == "forward",
        scope=scope,
        limit=limit,
        after=after,
        before=before,
    )


def list_stale_sources(
    tables: Tables,
    *,
    collection_id: str,
    model: dict[str, Any] | None,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
) -> Page[Source]:
    """Return a page of the living sources that are not embedded with a model."""
    check_page(after, before)
    scope = cursor_scope(
        "stale_sources", [collection_id, [*model.values()] if model else None], direction
    )
    collection = require_collection(tables, collection_id)
    wanted = EmbeddingModel(**model) if model else collection.model
    return page_of(
        (
            row.record
            for row in tables.sources.values()
            if row.record.collection_id == collection_id
            and row.record.deleted_at is None
            and row.record.model != wanted
        ),
        key=_by_creation,
        descending=direction == "forward",
        scope=scope,
        limit=limit,
        after=after,
        before=before,
    )


def living_source(tables: Tables, source_id: str) -> Row[Source]:
    """Return the source, or raise NotFound."""
    row = tables.sources.get(source_id)
    if row is None or row.record.deleted_at is not None:
        raise not_found("source")
    return row


def update_source(
    tables: Tables, *, source_id: str, expected_version: int, changes: dict[str, Any]
) -> Source:
    """Change fields, given the version that was read."""
    check_writable(tables)
    if "metadata" in changes:
        check_size("changes.metadata", changes["metadata"], METADATA_BYTES)
    if "auth_subjects" in changes:
        check_subjects("changes.auth_subjects", changes["auth_subjects"])
        changes = {**changes, "auth_subjects": tuple(sorted({*changes["auth_subjects"]}))}
    row = living_source(tables, source_id)
    check_version("source", expected_version, row.record.version)
    changed = changed_source(tables, row.record, **changes)
    if "auth_subjects" in changes:
        record_audit(
            tables, "source.share", "source", source_id, details={"version": changed.version}
        )
    return changed


def changed_source(tables: Tables, source: Source, **changes: Any) -> Source:
    """Store a change; what it was replaced with is no longer known."""
    changed = source.replace(**changes, version=source.version + 1, updated_at=tables.now)
    tables.sources[source.id] = Row(changed, None)
    return changed


def soft_delete_source(tables: Tables, *, source_id: str) -> Source:
    """Hide it."""
    check_writable(tables)
    row = tables.sources.get(source_id)
    if row is None:
        raise not_found("source")
    if row.record.deleted_at is not None:
        return row.record
    record_audit(tables, "source.delete", "source", source_id)
    return _marked(tables, row, deleted_at=tables.now)


def _marked(tables: Tables, row: Row[Source], **changes: Any) -> Source:
    changed = row.record.replace(**changes, version=row.record.version + 1, updated_at=tables.now)
    tables.sources[changed.id] = Row(changed, row.created_with)
    return changed


def restore_source(tables: Tables, *, source_id: str) -> Source:
    """Bring it back, unless its name is taken."""
    check_writable(tables)
    row = tables.sources.get(source_id)
    if row is None:
        raise not_found("source")
    source = row.record
    if source.deleted_at is None:
        return source
    for other in tables.sources.values():
        if (
            other.record.deleted_at is None
            and other.record.collection_id == source.collection_id
            and other.record.external_ref == source.external_ref
        ):
            raise AlreadyExists(
                "another source has taken the external_ref meanwhile",
                detail={"path": "external_ref", "record": "source"},
                hint="Delete the other source, and restore again.",
            )
    record_audit(tables, "source.restore", "source", source_id)
    return _marked(tables, row, deleted_at=None)


def purge_source(tables: Tables, *, source_id: str) -> PurgeReceipt:
    """Delete it with its chunks."""
    check_writable(tables)
    chunks = tables.chunks.pop(source_id, ())
    gone = tables.sources.pop(source_id, None)
    if gone:
        record_audit(tables, "source.purge", "source", source_id)
    return PurgeReceipt(tables={"sources": 1 if gone else 0, "chunks": len(chunks)})


def find_chunk(
    tables: Tables,
    *,
    source_id: str,
    number: int,
    viewer_id: str | None,
    viewer_role_ids: list[str] | None,
) -> Chunk | None:
    """Return a chunk that the viewer may see."""
    for chunk in visible_chunks(tables, source_id, viewer_id, viewer_role_ids):
        if chunk.number == number:
            return chunk
    return None


def visible_chunks(
    tables: Tables, source_id: str, viewer_id: str | None, viewer_role_ids: list[str] | None
) -> list[Chunk]:
    """Return the chunks of a source that the viewer may see, in order."""
    source = find_source(
        tables,
        source_id=source_id,
        viewer_id=viewer_id,
        viewer_role_ids=viewer_role_ids,
        deleted=False,
    )
    return _shown(tables, source_id, Eyes.of(viewer_id, viewer_role_ids)) if source else []


def list_chunks(
    tables: Tables,
    *,
    source_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    viewer_role_ids: list[str] | None,
) -> Page[Chunk]:
    """Return a page of chunks, in order."""
    check_page(after, before)
    eyes = Eyes.of(viewer_id, viewer_role_ids)
    seen_by: JsonValue = sorted(eyes.subjects) if viewer_id else None  # type: ignore[assignment]
    page = page_of(
        visible_chunks(tables, source_id, viewer_id, viewer_role_ids),
        key=lambda chunk: [chunk.number],
        descending=direction == "backward",
        scope=cursor_scope("chunks", [source_id, seen_by], direction),
        limit=limit,
        after=after,
        before=before,
    )
    found = find_source(
        tables,
        source_id=source_id,
        viewer_id=viewer_id,
        viewer_role_ids=viewer_role_ids,
        deleted=False,
    )
    if found is None:
        raise not_found("source")
    return page
