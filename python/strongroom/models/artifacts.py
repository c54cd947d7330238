"""Artifacts: what runs and people make, in versions, and their exports."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from strongroom.models.base import (
    Id,
    Json,
    JsonObject,
    Name,
    Record,
    Text,
    Timestamp,
    Version,
)
from strongroom.models.blobs import Blob, BlobKey
from strongroom.models.files import Sha256
from strongroom.models.parts import Count, MediaType
from strongroom.models.runs import ClaimToken
from strongroom.models.tenants import CreateOutcome

VersionNumber = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
"""A version of an artifact's content: 1, 2, 3, ... without gaps."""

ArtifactKind = Literal["text", "json", "blob"]
ExportStatus = Literal["claimed", "finished", "failed"]
ExportOutcome = Literal["claimed", "already_claimed", "already_finished"]


class BlobRef(Record):
    """Content that is in the blob store, which computed its digest and counted its bytes."""

    key: BlobKey
    sha256: Sha256
    size_bytes: Count

    @classmethod
    def of(cls, blob: Blob) -> Self:
        """Return a reference to what ``store.blobs.put`` has stored.

        Example:
            >>> import asyncio, strongroom
            >>> from strongroom import BlobRef
            >>> async def main() -> int:
            ...     async with strongroom.connect("memory:", blobs="memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         film = await store.blobs.put(tenant_id="acme", key="f1", data=b"film")
            ...         made = await store.artifacts.create(
            ...             tenant_id="acme", owner_id="ada", name="film", blob=BlobRef.of(film)
            ...         )
            ...         return (
            ...             await store.artifacts.get_version(tenant_id="acme", artifact_id=made.id)
            ...         ).size_bytes
            >>> asyncio.run(main())
            4
        """
        return cls(key=blob.key, sha256=blob.sha256, size_bytes=blob.size_bytes)


class Provenance(Record):
    """Where a version comes from. The names stay when what they name is gone.

    Attributes:
        run_id: the run that made it.
        message_id: the message that it came with.
        tool_call_id: the tool call that made it.
        source_artifact_id: the artifact that it was made from; together with source_version.
        source_version: which version of that one.
    """

    run_id: Id | None = None
    message_id: Id | None = None
    tool_call_id: Id | None = None
    source_artifact_id: Id | None = None
    source_version: VersionNumber | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the object that the SQL functions take: without what was left out."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


class Artifact(Record):
    """A document, program or picture, with its versions.

    Attributes:
        conversation_id: what it hangs on, whose readers read it; None for one with an owner.
        owner_id: who alone reads it; None for one of a conversation.
        name: what programs call it; slashes make segments.
        latest_version: its newest version, and how many it has.
        version: of the record itself, for ``update``; a new version of the content is no change of it.
    """

    tenant_id: Id
    id: Id
    conversation_id: Id | None
    owner_id: Id | None
    name: Id
    title: Name | None
    metadata: JsonObject
    latest_version: int
    version: Version
    deleted_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class CreatedArtifact(Artifact):
    """An artifact as ``create`` returns it."""

    outcome: CreateOutcome


class ArtifactVersionHead(Record):
    """A version of an artifact without its content. It is never changed.

    Attributes:
        kind: ``text``, ``json``, or ``blob`` for content in the blob store.
        sha256: of the content; of JSON as PostgreSQL's jsonb writes it.
        blob_key: where the blob store has the content.
    """

    tenant_id: Id
    artifact_id: Id
    version: VersionNumber
    id: Id
    kind: ArtifactKind
    size_bytes: int
    sha256: Sha256
    media_type: MediaType
    blob_key: BlobKey | None
    run_id: Id | None
    message_id: Id | None
    tool_call_id: Id | None
    source_artifact_id: Id | None
    source_version: VersionNumber | None
    created_at: Timestamp


class AddedArtifactVersion(ArtifactVersionHead):
    """A version as ``add_version`` returns it."""

    outcome: CreateOutcome


class ArtifactVersion(ArtifactVersionHead):
    """A version with its content: a text, a JSON value, or neither for a blob."""

    text: Text | None = Field(default=None, repr=False)
    value: Json = Field(default=None, repr=False)


class ArtifactExport(Record):
    """A version turned into another format.

    Attributes:
        attempt: how often it was claimed.
        claim_token: the newest claim's; strictly growing.
        lease_expires_at: after this another exporter may take a claimed one over.
        error: why it failed; it may be claimed again.
    """

    tenant_id: Id
    artifact_id: Id
    version: VersionNumber
    format: Id
    status: ExportStatus
    attempt: int
    claim_token: ClaimToken
    worker_id: Id
    lease_expires_at: Timestamp | None
    blob_key: BlobKey | None
    size_bytes: int | None
    sha256: Sha256 | None
    media_type: MediaType | None
    error: JsonObject | None
    created_at: Timestamp
    updated_at: Timestamp


class ClaimedArtifactExport(ArtifactExport):
    """An export as ``claim_export`` returns it.

    Attributes:
        outcome: ``claimed``: make it; ``already_claimed``: another exporter is at it;
            ``already_finished``: use its blob.
    """

    outcome: ExportOutcome
