# Written by scripts/generate_sync.py from strongroom/ports/artifacts.py: change that, and run `make generate`.
"""The port for artifacts, their versions and exports."""

from __future__ import annotations

from typing import Protocol

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
from strongroom.models.base import Id, Json, JsonObject, Name, Text, Version
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.parts import MediaType
from strongroom.models.runs import ClaimToken
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.runs import LeaseSeconds


class ArtifactStore(Protocol):
    """Artifacts with immutable versions 1, 2, 3, ..., and exports that are made once.

    An artifact hangs on a conversation and has its readers, or has an owner, who alone reads it. What is
    absent, deleted or unreadable is NotFound (SR010). Content is a text or a JSON value of at most 4 MiB,
    or a blob of any size. A write with a claim_token is made on behalf of ``provenance.run_id`` and
    raises StaleClaim (SR031) once that claim is lost. Every method raises InvalidArgument (SR001),
    LimitExceeded (SR004), PermissionDenied (SR020), TenantMismatch (SR021), Unavailable (SR050).
    """

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
        """Create an artifact with version 1; the same call with the same id again says ``duplicate``.

        Args:
            tenant_id: the tenant.
            name: what programs call it, once among the living of its conversation or owner.
            conversation_id: what it hangs on; this or an owner.
            owner_id: who alone reads it; this or a conversation.
            artifact_id: the binding makes a UUIDv7 when it is None.
            title: for people, 1 to 255 characters.
            metadata: the host's own JSON object, at most 16 KiB.
            text: the content as text; exactly one of text, value and blob.
            value: the content as JSON; None is no content.
            blob: the content in the blob store.
            media_type: text/plain, application/json or application/octet-stream when it is None.
            provenance: where it comes from.
            claim_token: the claim of ``provenance.run_id``.

        Raises:
            AlreadyExists: SR011, the id was created with other content, or the name is taken.
            InvalidTransition: SR030, the blob is being removed: put it under a new key.

        SQL: ``strongroom.create_artifact``

        Example:
            >>> import strongroom.sync
            >>> def main() -> tuple[int, str | None]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         made = store.artifacts.create(
            ...             tenant_id="acme", owner_id="ada", name="notes.md", text="One."
            ...         )
            ...         store.artifacts.add_version(
            ...             tenant_id="acme", artifact_id=made.id, expected_latest=1, text="Two."
            ...         )
            ...         new = store.artifacts.get_version(tenant_id="acme", artifact_id=made.id)
            ...         return new.version, new.text
            >>> main()
            (2, 'Two.')
        """
        ...

    def get(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Artifact:
        """Return the artifact, or raise NotFound; a soft-deleted one for hosts with ``deleted``.

        SQL: ``strongroom.find_artifact``
        """
        ...

    def find(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> Artifact | None:
        """Return the artifact, or None. SQL: ``strongroom.find_artifact``."""
        ...

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
        """Return a page of artifacts, forward newest first.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: forward: newest first; backward: oldest first.
            viewer: read with this principal's permissions; None reads as the host.
            conversation_id: only this conversation's.
            owner_id: only this owner's.
            name: only what has exactly this name.
            name_prefix: only what has this name, or this name and a slash before the rest; every
                character stands for itself. None for all; an empty one is refused.
            deleted: the soft-deleted ones instead, for hosts.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_artifacts``
        """
        ...

    def update(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        expected_version: Version,
        title: Name | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
    ) -> Artifact:
        """Change title or metadata, given the record's version that was read.

        Raises:
            VersionConflict: SR012, it has changed.

        SQL: ``strongroom.update_artifact``
        """
        ...

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
        """Add a version on top of the newest one that you know; a repeat changes nothing.

        Args:
            tenant_id: the tenant.
            artifact_id: the artifact.
            expected_latest: the newest version that you know.
            version_id: makes a repeat known; the binding makes a UUIDv7 when it is None.
            text: as for ``create``.
            value: as for ``create``.
            blob: as for ``create``.
            media_type: as for ``create``.
            provenance: as for ``create``.
            claim_token: as for ``create``.

        Raises:
            AlreadyExists: SR011, the version id has other content.
            InvalidTransition: SR030, the blob is being removed: put it under a new key.
            VersionConflict: SR012, there is a newer version.

        SQL: ``strongroom.add_artifact_version``
        """
        ...

    def get_version(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        version: VersionNumber | None = None,
        viewer: Viewer | None = None,
    ) -> ArtifactVersion:
        """Return a version with its content, the newest when it is None.

        SQL: ``strongroom.find_artifact_version``
        """
        ...

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
        """Return a page of versions without their content, forward oldest first.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_artifact_versions``
        """
        ...

    def soft_delete(self, *, tenant_id: Id, artifact_id: Id) -> Artifact:
        """Hide it, restorably, and free its name; a repeat changes nothing.

        SQL: ``strongroom.soft_delete_artifact``
        """
        ...

    def restore(self, *, tenant_id: Id, artifact_id: Id) -> Artifact:
        """Bring a soft-deleted one back; a repeat changes nothing.

        Raises:
            AlreadyExists: SR011, another artifact has taken the name.

        SQL: ``strongroom.restore_artifact``
        """
        ...

    def purge(self, *, tenant_id: Id, artifact_id: Id) -> PurgeReceipt:
        """Delete it with versions and exports for good; their blobs are scheduled for removal.

        SQL: ``strongroom.purge_artifact``
        """
        ...

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
        """Claim the export of a version in a format; of two at once exactly one has claimed it.

        A failed one, and one whose lease has ended, is claimed anew with a higher token.

        SQL: ``strongroom.claim_artifact_export``
        """
        ...

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
        """End a claimed export with its blob; a repeat changes nothing.

        Raises:
            InvalidTransition: SR030, this claim has ended it otherwise, or the blob is being removed.
            StaleClaim: SR031, another exporter has taken over: delete the blob.

        SQL: ``strongroom.finish_artifact_export``
        """
        ...

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
        """End a claimed export without a result; it may be claimed again.

        Raises:
            InvalidTransition: SR030, this claim has ended it otherwise.
            StaleClaim: SR031, another exporter has taken over.

        SQL: ``strongroom.fail_artifact_export``
        """
        ...

    def find_export(
        self,
        *,
        tenant_id: Id,
        artifact_id: Id,
        version: VersionNumber,
        format: Id,
        viewer: Viewer | None = None,
    ) -> ArtifactExport | None:
        """Return an export; None before somebody claims it. SQL: ``strongroom.find_artifact_export``."""
        ...
