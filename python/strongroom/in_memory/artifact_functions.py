"""What the calls of ArtifactStore for artifacts themselves do."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.in_memory.artifact_versions import (
    INLINE_BYTES,
    check_provenance,
    identity_of,
    living_artifact,
    may_read,
    new_version,
)
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable, readable_conversation
from strongroom.in_memory.contents import checked_content, hold_claim, keep_content
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.dropping import drop_artifacts
from strongroom.in_memory.pages import Key, check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.artifacts import Artifact, CreatedArtifact
from strongroom.models.pages import Direction, Page
from strongroom.models.tenants import PurgeReceipt


def create_artifact(
    tables: Tables,
    *,
    artifact_id: str,
    conversation_id: str | None,
    owner_id: str | None,
    name: str,
    title: str | None,
    metadata: dict[str, Any],
    provenance: dict[str, Any],
    claim_token: int | None,
    **content: Any,
) -> CreatedArtifact:
    """Create an artifact with version 1, or know a repeated create by its content."""
    check_writable(tables)
    check_size("metadata", metadata, METADATA_BYTES)
    check_provenance(provenance, claim_token)
    if (conversation_id is None) == (owner_id is None):
        raise InvalidArgument(
            "an artifact has a conversation or an owner, and not both",
            detail={"path": "conversation_id"},
            hint="Give the conversation that it hangs on, or the one principal whose it is.",
        )
    measured = checked_content(limit=INLINE_BYTES, **content)
    hold_claim(tables, conversation_id, provenance.get("run_id"), claim_token)
    if conversation_id is not None:
        readable_conversation(tables, conversation_id)
    values: dict[str, Any] = {
        "conversation_id": conversation_id,
        "owner_id": owner_id,
        "name": name,
        "title": title,
        "metadata": metadata,
    }
    created_with = comparable([*values.values(), *identity_of(measured), provenance])
    row = tables.artifacts.get(artifact_id)
    if row is None:
        if _holder_of(tables, conversation_id, owner_id, name) is not None:
            raise _already_exists("another artifact has this name", artifact_id)
        keep_content(tables, measured)
        artifact = Artifact(
            **values,
            tenant_id=tables.tenant_id,
            id=artifact_id,
            latest_version=1,
            version=1,
            deleted_at=None,
            created_at=tables.now,
            updated_at=tables.now,
        )
        tables.artifacts[artifact_id] = Row(artifact, created_with)
        tables.artifact_versions[artifact_id] = (
            new_version(tables, artifact_id, 1, artifact_id, measured, provenance),
        )
        return CreatedArtifact(**dict(artifact), outcome="inserted")
    if row.created_with != created_with:
        raise _already_exists(
            "an artifact with this id was created with other content", artifact_id
        )
    return CreatedArtifact(**dict(row.record), outcome="duplicate")


def _already_exists(message: str, artifact_id: str) -> AlreadyExists:
    return AlreadyExists(
        message,
        detail={"path": "name", "record": "artifact", "id": artifact_id},
        hint="Add a version to the existing one, or choose another id or name.",
    )


def _holder_of(
    tables: Tables, conversation_id: str | None, owner_id: str | None, name: str
) -> str | None:
    """Return the id of the living artifact with this name."""
    for row in tables.artifacts.values():
        artifact = row.record
        place = (artifact.conversation_id, artifact.owner_id, artifact.name)
        if artifact.deleted_at is None and place == (conversation_id, owner_id, name):
            return artifact.id
    return None


def find_artifact(
    tables: Tables, *, artifact_id: str, viewer_id: str | None, deleted: bool
) -> Artifact | None:
    """Return it, where the viewer may read it; a soft-deleted one for hosts alone."""
    row = tables.artifacts.get(artifact_id)
    return row.record if row and _is_listed(tables, row.record, viewer_id, deleted) else None


def _is_listed(tables: Tables, artifact: Artifact, viewer_id: str | None, deleted: bool) -> bool:
    if deleted:
        return artifact.deleted_at is not None and viewer_id is None
    return artifact.deleted_at is None and may_read(tables, artifact, viewer_id)


def list_artifacts(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    conversation_id: str | None,
    owner_id: str | None,
    name: str | None,
    name_prefix: str | None,
    deleted: bool,
) -> Page[Artifact]:
    """Return a page of artifacts, forward newest first."""
    check_page(after, before)
    return page_of(
        [
            row.record
            for row in tables.artifacts.values()
            if _is_listed(tables, row.record, viewer_id, deleted)
            and may_read(tables, row.record, viewer_id)
            and conversation_id in {None, row.record.conversation_id}
            and owner_id in {None, row.record.owner_id}
            and name in {None, row.record.name}
            and _is_below(row.record.name, name_prefix)
        ],
        key=creation,
        descending=direction == "forward",
        scope=cursor_scope(
            "artifacts",
            [viewer_id, conversation_id, owner_id, name, name_prefix, deleted],
            direction,
        ),
        limit=limit,
        after=after,
        before=before,
    )


def _is_below(name: str, prefix: str | None) -> bool:
    return prefix is None or name == prefix or name.startswith(prefix.rstrip("/") + "/")


def creation(record: Any) -> Key:
    """Return what pages by creation are ordered by."""
    since_1970 = record.created_at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return [since_1970 // dt.timedelta(microseconds=1), record.id]


def update_artifact(
    tables: Tables, *, artifact_id: str, changes: dict[str, Any], expected_version: int
) -> Artifact:
    """Change title or metadata."""
    check_writable(tables)
    if "metadata" in changes:
        check_size("changes.metadata", changes["metadata"], METADATA_BYTES)
    row = living_artifact(tables, artifact_id)
    check_version("artifact", expected_version, row.record.version)
    return _changed(tables, row, **changes)


def _changed(tables: Tables, row: Row[Artifact], **changes: Any) -> Artifact:
    artifact = row.record.replace(**changes, version=row.record.version + 1, updated_at=tables.now)
    tables.artifacts[artifact.id] = Row(artifact, row.created_with)
    return artifact


def soft_delete_artifact(tables: Tables, *, artifact_id: str) -> Artifact:
    """Hide it; a repeat changes nothing."""
    check_writable(tables)
    row = living_artifact(tables, artifact_id, deleted=True)
    if row.record.deleted_at is not None:
        return row.record
    return _changed(tables, row, deleted_at=tables.now)


def restore_artifact(tables: Tables, *, artifact_id: str) -> Artifact:
    """Bring it back; a repeat changes nothing."""
    check_writable(tables)
    row = living_artifact(tables, artifact_id, deleted=True)
    artifact = row.record
    if artifact.deleted_at is None:
        return artifact
    if _holder_of(tables, artifact.conversation_id, artifact.owner_id, artifact.name) is not None:
        raise AlreadyExists(
            "another artifact has taken the name meanwhile",
            detail={"path": "name", "record": "artifact"},
            hint="Delete the other artifact, and restore again.",
        )
    return _changed(tables, row, deleted_at=None)


def purge_artifact(tables: Tables, *, artifact_id: str) -> PurgeReceipt:
    """Delete it with its versions and exports; say how many rows of each table that were."""
    check_writable(tables)
    receipt = PurgeReceipt(
        tables=drop_artifacts(tables, lambda artifact: artifact.id == artifact_id)
    )
    if receipt.purged:
        record_audit(tables, "artifact.purge", "artifact", artifact_id)
    return receipt
