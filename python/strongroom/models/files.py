"""Files and their versions: what is known of bytes that lie in a blob store."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from strongroom.models.base import BoundedText, Id, JsonObject, Record, Timestamp
from strongroom.models.blobs import BlobKey
from strongroom.models.tenants import CreateOutcome

FileState = Literal["pending", "stored", "deleting", "deleted"]
"""pending: its bytes are on their way; stored: they are whole; deleting: they are on the list of bytes to
remove; deleted: they are gone."""

FileSource = Literal["uploaded", "generated"]
ExtractionStatus = Literal["none", "pending", "done", "failed", "skipped"]


def _check_path(path: str) -> str:
    if any(segment in {"", ".", ".."} for segment in path.split("/")):
        raise PydanticCustomError("path_segment", "has a segment that is empty, . or ..")
    return path


FilePath = Annotated[str, BoundedText(1, 1024), AfterValidator(_check_path)]
"""What a file is called: 1 to 1,024 characters, in segments with a slash between them. No segment is
empty, ``.`` or ``..``; every other character means itself."""

Summary = Annotated[str, BoundedText(0, 16_384)]
"""A short text that was read from a file: at most 16,384 characters."""

VersionNumber = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
"""The number of a version: 1, 2, 3, ... without gaps."""

Sha256 = Annotated[str, StringConstraints(strict=True, pattern="^[0-9a-f]{64}$")]
"""The SHA-256 of bytes: 64 hexadecimal digits, in lower case."""

SizeBytes = Annotated[int, Field(strict=True, ge=0, le=2**53 - 1)]


class File(Record):
    """A file, with the state and bytes of its newest version.

    Attributes:
        conversation_id: the conversation that it hangs on; None for one that is its owner's alone.
        path: what it is called. Several files may have the same.
        latest_version: the number of the newest version, to which the next five fields belong.
        deleted_at: when it was soft-deleted.
    """

    tenant_id: Id
    id: Id
    conversation_id: Id | None
    owner_id: Id
    path: FilePath
    metadata: JsonObject
    latest_version: int
    state: FileState
    blob_key: BlobKey
    media_type: Id
    size_bytes: int | None
    sha256: str | None
    deleted_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class CreatedFile(File):
    """A file as ``create`` returns it."""

    outcome: CreateOutcome


class FileVersion(Record):
    """A version of a file.

    Attributes:
        id: the version's own id, to know a repeated ``add_version``.
        blob_key: the key of the bytes in the blob store.
        size_bytes: how many there are, known once they are stored.
        source: ``uploaded`` by somebody, or ``generated`` by the run ``run_id``.
        extraction_status: what became of reading text from it.
        extraction_summary: the text, where it is short.
        extraction_blob_key: the key of the text in the blob store, where it is long.
        extraction_error: why no text could be read.
        state_changed_at: since when it is in its state.
    """

    tenant_id: Id
    file_id: Id
    version: VersionNumber
    id: Id
    conversation_id: Id | None
    state: FileState
    blob_key: BlobKey
    media_type: Id
    size_bytes: int | None
    sha256: str | None
    source: FileSource
    run_id: Id | None
    created_by: Id | None
    extraction_status: ExtractionStatus
    extraction_summary: str | None
    extraction_blob_key: BlobKey | None
    extraction_error: JsonObject | None
    created_at: Timestamp
    state_changed_at: Timestamp
    updated_at: Timestamp


class AddedFileVersion(FileVersion):
    """A version as ``add_version`` returns it."""

    outcome: CreateOutcome


class ScheduledDeletion(Record):
    """What ``schedule_conversation_deletion`` did: how many files and versions it deleted."""

    files: int
    versions: int


class FileQueue(Record):
    """How many versions of a tenant wait for something.

    Attributes:
        pending: for their bytes.
        overdue: for longer than was asked about.
        deleting: for their bytes to be removed.
        oldest_pending_at: since when the oldest pending one waits.
    """

    pending: int
    overdue: int
    deleting: int
    oldest_pending_at: Timestamp | None
