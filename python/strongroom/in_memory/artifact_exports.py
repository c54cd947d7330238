"""What the calls of ArtifactStore for exports do."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import InvalidTransition, StaleClaim
from strongroom.in_memory.artifact_versions import living_artifact
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.contents import checked_content, keep_content
from strongroom.in_memory.database import Tables
from strongroom.in_memory.run_steps import missing, moment, next_token
from strongroom.in_memory.values import check_size, comparable
from strongroom.models.artifacts import ArtifactExport, ClaimedArtifactExport, ExportOutcome

ERROR_BYTES = 65_536


def find_artifact_export(
    tables: Tables, *, artifact_id: str, version: int, format: str, viewer_id: str | None
) -> ArtifactExport | None:
    """Return the export of a version in a format."""
    living_artifact(tables, artifact_id, viewer_id)
    return tables.artifact_exports.get((artifact_id, version, format))


def claim_artifact_export(
    tables: Tables,
    *,
    artifact_id: str,
    version: int,
    format: str,
    worker_id: str,
    lease_seconds: float,
) -> ClaimedArtifactExport:
    """Claim it, unless another holds it or it is finished."""
    check_writable(tables)
    artifact = living_artifact(tables, artifact_id).record
    if version > artifact.latest_version:
        raise missing("artifact version")
    key = (artifact_id, version, format)
    known = tables.artifact_exports.get(key)
    if known is not None and known.status == "finished":
        return _with(known, "already_finished")
    if known is not None and known.lease_expires_at and known.lease_expires_at > moment():
        return _with(known, "already_claimed")
    claimed = ArtifactExport(
        tenant_id=tables.tenant_id,
        artifact_id=artifact_id,
        version=version,
        format=format,
        status="claimed",
        attempt=known.attempt + 1 if known else 1,
        claim_token=next_token(),
        worker_id=worker_id,
        lease_expires_at=moment() + dt.timedelta(seconds=lease_seconds),
        blob_key=None,
        size_bytes=None,
        sha256=None,
        media_type=None,
        error=None,
        created_at=known.created_at if known else tables.now,
        updated_at=tables.now,
    )
    tables.artifact_exports[key] = claimed
    return _with(claimed, "claimed")


def _with(export: ArtifactExport, outcome: ExportOutcome) -> ClaimedArtifactExport:
    return ClaimedArtifactExport(**dict(export), outcome=outcome)


def finish_artifact_export(
    tables: Tables,
    *,
    artifact_id: str,
    version: int,
    format: str,
    claim_token: int,
    **blob: Any,
) -> ArtifactExport:
    """End it with its blob; a repeat changes nothing."""
    check_writable(tables)
    content = checked_content(limit=0, **blob)
    export = _held_export(tables, artifact_id, version, format, claim_token)
    result: dict[str, Any] = {
        "blob_key": content.blob_key,
        "size_bytes": content.size_bytes,
        "sha256": content.sha256,
        "media_type": content.media_type,
    }
    if export.status == "claimed":
        keep_content(tables, content)
        return _ended(tables, export, status="finished", **result)
    if {name: getattr(export, name) for name in result} != result:
        raise _ended_otherwise(export)
    return export


def fail_artifact_export(
    tables: Tables,
    *,
    artifact_id: str,
    version: int,
    format: str,
    claim_token: int,
    error: dict[str, Any],
) -> ArtifactExport:
    """End it without a result; a repeat changes nothing."""
    check_writable(tables)
    check_size("error", error, ERROR_BYTES)
    export = _held_export(tables, artifact_id, version, format, claim_token)
    if export.status == "claimed":
        return _ended(tables, export, status="failed", error=error)
    if comparable(export.error) != comparable(error):
        raise _ended_otherwise(export)
    return export


def _held_export(
    tables: Tables, artifact_id: str, version: int, format: str, claim_token: int
) -> ArtifactExport:
    living_artifact(tables, artifact_id)
    export = tables.artifact_exports.get((artifact_id, version, format))
    if export is None:
        raise missing("artifact export")
    if export.claim_token != claim_token:
        raise StaleClaim(
            f"the claim of the export is no longer valid; the export is {export.status}",
            detail={
                "record": "artifact export",
                "claim_token": claim_token,
                "status": export.status,
            },
            hint="Stop exporting, and delete what you put into the blob store.",
        )
    return export


def _ended(tables: Tables, export: ArtifactExport, **changes: Any) -> ArtifactExport:
    ended = export.replace(lease_expires_at=None, updated_at=tables.now, **changes)
    tables.artifact_exports[export.artifact_id, export.version, export.format] = ended
    return ended


def _ended_otherwise(export: ArtifactExport) -> InvalidTransition:
    return InvalidTransition(
        f"the export has ended already: it is {export.status}",
        detail={"record": "artifact export", "status": export.status},
        hint="Claim it again, if it failed.",
    )
