# Written by scripts/generate_sync.py from strongroom/in_memory/artifacts.py: change that, and run `make generate`.
"""ArtifactStore in memory: the port. What its calls do is in ``artifact_functions`` and beside it."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.artifact_exports import (
    claim_artifact_export,
    fail_artifact_export,
    find_artifact_export,
    finish_artifact_export,
)
from strongroom.in_memory.artifact_functions import (
    create_artifact,
    find_artifact,
    list_artifacts,
    purge_artifact,
    restore_artifact,
    soft_delete_artifact,
    update_artifact,
)
from strongroom.in_memory.artifact_versions import (
    add_artifact_version,
    find_artifact_version,
    list_artifact_versions,
)
from strongroom.in_memory.artifacts import blob_of, content_of
from strongroom.models.artifacts import (
    AddedArtifactVersion,
    Artifact,
    ArtifactExport,
    ArtifactVersion,
    ArtifactVersionHead,
    BlobRef,
    ClaimedArtifactExport,
    CreatedArtifact,
    Provenance,
    VersionNumber,
)
from strongroom.models.base import Id, Json, JsonObject, JsonValue, Name, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.parts import MediaType
from strongroom.models.runs import ClaimToken
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.arguments import viewer_id
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.runs import LeaseSeconds
from strongroom.stores.base import existing
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryArtifactStore(MemoryPort):
    """See :class:`strongroom.ports.ArtifactStore`."""

    @port_method
    def create(
        self,
        *,
        tenant_id: Id,
        name: Id,
        conversation_id: Id | None = None,
        owner_id: Id | None = None,
        artifact_id: Id | None = None,
        title: Name | None = None,
        metadata: JsonObject | None = None,
        text: Text | None = None,
        value: Json = None,
        blob: BlobRef | None = None,
        media_type: MediaType | None = None,
        provenance: Provenance | None = None,
        claim_token: ClaimToken | None = None,
    ) -> CreatedArtifact:
        """See the port."""
        return self._write(
            tenant_id,
            create_artifact,
            name=name,
            conversation_id=conversation_id,
            owner_id=owner_id,
            artifact_id=artifact_id or new_id(),
            title=title,
            metadata=metadata or {},
            provenance=provenance.to_json() if provenance else {},
            claim_token=claim_token,
            **content_of(text=text, value=value, blob=blob, media_type=media_type),
        )

    @port_method
    def get(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Artifact:
        """See the port."""
        found = self._find_one(tenant_id, artifact_id, viewer, deleted)
        return existing(found, "artifact", "artifact_id")

    @port_method
    def find(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Artifact | None:
        """See the port."""
        return self._find_one(tenant_id, artifact_id, viewer, deleted)

    def _find_one(
        self, tenant_id: str, artifact_id: str, viewer: Viewer | None, deleted: bool
    ) -> Artifact | None:
        return self._read(
            tenant_id,
            find_artifact,
            artifact_id=artifact_id,
            viewer_id=viewer_id(tenant_id, viewer),
            deleted=deleted,
        )

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        conversation_id: Id | None = None,
        owner_id: Id | None = None,
        name: Id | None = None,
        name_prefix: Id | None = None,
        deleted: bool = False,
    ) -> Page[Artifact]:
        """See the port."""
        return self._read(
            tenant_id,
            list_artifacts,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            conversation_id=conversation_id,
            owner_id=owner_id,
            name=name,
            name_prefix=name_prefix,
            deleted=deleted,
        )

    @port_method
    def update(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        expected_version: Version,
        title: Name | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
    ) -> Artifact:
        """See the port."""
        changes: dict[str, JsonValue] = {"title": title, "metadata": metadata}
        return self._write(
            tenant_id,
            update_artifact,
            artifact_id=artifact_id,
            changes={k: v for k, v in changes.items() if v is not UNSET},
            expected_version=expected_version,
        )

    @port_method
    def add_version(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        expected_latest: VersionNumber,
        version_id: Id | None = None,
        text: Text | None = None,
        value: Json = None,
        blob: BlobRef | None = None,
        media_type: MediaType | None = None,
        provenance: Provenance | None = None,
        claim_token: ClaimToken | None = None,
    ) -> AddedArtifactVersion:
        """See the port."""
        return self._write(
            tenant_id,
            add_artifact_version,
            artifact_id=artifact_id,
            expected_latest=expected_latest,
            version_id=version_id or new_id(),
            provenance=provenance.to_json() if provenance else {},
            claim_token=claim_token,
            **content_of(text=text, value=value, blob=blob, media_type=media_type),
        )

    @port_method
    def get_version(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        version: VersionNumber | None = None,
        viewer: Viewer | None = None,
    ) -> ArtifactVersion:
        """See the port."""
        found = self._read(
            tenant_id,
            find_artifact_version,
            artifact_id=artifact_id,
            version=version,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return existing(found, "artifact version", "version")

    @port_method
    def list_versions(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
    ) -> Page[ArtifactVersionHead]:
        """See the port."""
        return self._read(
            tenant_id,
            list_artifact_versions,
            artifact_id=artifact_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def soft_delete(self, *, tenant_id: Id, artifact_id: Id) -> Artifact:
        """See the port."""
        return self._write(tenant_id, soft_delete_artifact, artifact_id=artifact_id)

    @port_method
    def restore(self, *, tenant_id: Id, artifact_id: Id) -> Artifact:
        """See the port."""
        return self._write(tenant_id, restore_artifact, artifact_id=artifact_id)

    @port_method
    def purge(self, *, tenant_id: Id, artifact_id: Id) -> PurgeReceipt:
        """See the port."""
        return self._write(tenant_id, purge_artifact, artifact_id=artifact_id)

    @port_method
    def claim_export(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        version: VersionNumber,
        format: Id,
        worker_id: Id,
        lease_seconds: LeaseSeconds = 300.0,
    ) -> ClaimedArtifactExport:
        """See the port."""
        return self._write(
            tenant_id,
            claim_artifact_export,
            artifact_id=artifact_id,
            version=version,
            format=format,
            worker_id=worker_id,
            lease_seconds=lease_seconds,
        )

    @port_method
    def finish_export(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        version: VersionNumber,
        format: Id,
        claim_token: ClaimToken,
        blob: BlobRef,
        media_type: MediaType | None = None,
    ) -> ArtifactExport:
        """See the port."""
        return self._write(
            tenant_id,
            finish_artifact_export,
            artifact_id=artifact_id,
            version=version,
            format=format,
            claim_token=claim_token,
            **blob_of(blob),
            media_type=media_type,
        )

    @port_method
    def fail_export(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        version: VersionNumber,
        format: Id,
        claim_token: ClaimToken,
        error: JsonObject,
    ) -> ArtifactExport:
        """See the port."""
        return self._write(
            tenant_id,
            fail_artifact_export,
            artifact_id=artifact_id,
            version=version,
            format=format,
            claim_token=claim_token,
            error=error,
        )

    @port_method
    def find_export(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        version: VersionNumber,
        format: Id,
        viewer: Viewer | None = None,
    ) -> ArtifactExport | None:
        """See the port."""
        return self._read(
            tenant_id,
            find_artifact_export,
            artifact_id=artifact_id,
            version=version,
            format=format,
            viewer_id=viewer_id(tenant_id, viewer),
        )
