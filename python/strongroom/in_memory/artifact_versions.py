"""Reading rules, provenance and versions of artifacts in memory."""

from __future__ import annotations

from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.in_memory.base import check_version, check_writable, is_readable
from strongroom.in_memory.contents import Content, checked_content, hold_claim, keep_content
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import missing
from strongroom.models.artifacts import (
    AddedArtifactVersion,
    Artifact,
    ArtifactVersion,
    ArtifactVersionHead,
)
from strongroom.models.pages import Direction, Page

INLINE_BYTES = 4_194_304
_PROVENANCE = ("run_id", "message_id", "tool_call_id", "source_artifact_id", "source_version")


def may_read(tables: Tables, artifact: Artifact, viewer_id: str | None) -> bool:
    """Whether this viewer may read it while it lives; without a viewer, whether its place lives."""
    if artifact.conversation_id is None:
        return viewer_id in {None, artifact.owner_id}
    return is_readable(tables.conversations[artifact.conversation_id].record, viewer_id)


def living_artifact(
    tables: Tables, artifact_id: str, viewer_id: str | None = None, *, deleted: bool = False
) -> Row[Artifact]:
    """Return a living artifact that the viewer may read; also a soft-deleted one with ``deleted``.

    Raises:
        NotFound: SR010.
    """
    row = tables.artifacts.get(artifact_id)
    if (
        row is None
        or not may_read(tables, row.record, viewer_id)
        or (row.record.deleted_at is not None and not deleted)
    ):
        raise missing("artifact")
    return row


def check_provenance(provenance: dict[str, Any], claim_token: int | None) -> None:
    """Refuse half a source, and a claim of no run."""
    if ("source_artifact_id" in provenance) != ("source_version" in provenance):
        raise InvalidArgument(
            "provenance.source_version is a version of provenance.source_artifact_id, from 1 up",
            detail={"path": "provenance.source_version"},
            hint="Give the source artifact and its version, or neither.",
        )
    if claim_token is not None and "run_id" not in provenance:
        raise InvalidArgument(
            "a claim token needs provenance.run_id",
            detail={"path": "provenance.run_id"},
            hint="Say which run the claim is of.",
        )


def identity_of(content: Content) -> list[Any]:
    """Return what tells content from other content."""
    return [
        content.kind,
        content.sha256,
        content.size_bytes,
        content.media_type,
        content.blob_key,
    ]


def new_version(
    tables: Tables,
    artifact_id: str,
    version: int,
    version_id: str,
    content: Content,
    provenance: dict[str, Any],
) -> ArtifactVersion:
    """Return a version of this content."""
    return ArtifactVersion(
        tenant_id=tables.tenant_id,
        artifact_id=artifact_id,
        version=version,
        id=version_id,
        kind=content.kind,
        size_bytes=content.size_bytes,
        sha256=content.sha256,
        media_type=content.media_type,
        blob_key=content.blob_key,
        created_at=tables.now,
        text=content.text,
        value=content.value,
        **{name: provenance.get(name) for name in _PROVENANCE},
    )


def add_artifact_version(
    tables: Tables,
    *,
    artifact_id: str,
    expected_latest: int,
    version_id: str,
    provenance: dict[str, Any],
    claim_token: int | None,
    **content: Any,
) -> AddedArtifactVersion:
    """Add a version on top of the newest one that the caller knows; a repeat changes nothing."""
    check_writable(tables)
    check_provenance(provenance, claim_token)
    measured = checked_content(limit=INLINE_BYTES, **content)
    known = tables.artifacts.get(artifact_id)
    if known is not None:
        hold_claim(tables, known.record.conversation_id, provenance.get("run_id"), claim_token)
    row = living_artifact(tables, artifact_id)
    versions = tables.artifact_versions[artifact_id]
    version = new_version(
        tables, artifact_id, row.record.latest_version + 1, version_id, measured, provenance
    )
    for stored in versions:
        if stored.id == version_id:
            if stored.replace(version=version.version, created_at=tables.now) != version:
                raise AlreadyExists(
                    "a version with this id was added with other content",
                    detail={"path": "version_id", "record": "artifact version"},
                    hint="Use a new id for a new version.",
                )
            return AddedArtifactVersion(**_head(stored), outcome="duplicate")
    check_version("artifact", expected_latest, row.record.latest_version)
    keep_content(tables, measured)
    tables.artifact_versions[artifact_id] = (*versions, version)
    artifact = row.record.replace(latest_version=version.version, updated_at=tables.now)
    tables.artifacts[artifact_id] = Row(artifact, row.created_with)
    return AddedArtifactVersion(**_head(version), outcome="inserted")


def _head(version: ArtifactVersion) -> dict[str, Any]:
    return {name: getattr(version, name) for name in ArtifactVersionHead.model_fields}


def find_artifact_version(
    tables: Tables, *, artifact_id: str, version: int | None, viewer_id: str | None
) -> ArtifactVersion | None:
    """Return one version with its content, the newest without a number."""
    living_artifact(tables, artifact_id, viewer_id)
    found = [v for v in tables.artifact_versions[artifact_id] if version in {None, v.version}]
    return found[-1] if found else None


def list_artifact_versions(
    tables: Tables,
    *,
    artifact_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
) -> Page[ArtifactVersionHead]:
    """Return a page of versions without their content, forward oldest first."""
    check_page(after, before)
    living_artifact(tables, artifact_id, viewer_id)
    return page_of(
        [ArtifactVersionHead(**_head(v)) for v in tables.artifact_versions[artifact_id]],
        key=lambda version: [version.version],
        descending=direction == "backward",
        scope=cursor_scope("artifact_versions", [artifact_id], direction),
        limit=limit,
        after=after,
        before=before,
    )
