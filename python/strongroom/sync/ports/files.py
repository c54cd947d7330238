# Written by scripts/generate_sync.py from strongroom/ports/files.py: change that, and run `make generate`.
"""The port for files: what is known of bytes that lie in a blob store."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject
from strongroom.models.blobs import BlobKey
from strongroom.models.context import Viewer
from strongroom.models.files import (
    AddedFileVersion,
    CreatedFile,
    ExtractionStatus,
    File,
    FilePath,
    FileQueue,
    FileSource,
    FileState,
    FileVersion,
    ScheduledDeletion,
    Sha256,
    SizeBytes,
    Summary,
    VersionNumber,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.files import AgeSeconds


class FileMetadataStore(Protocol):
    """Files and their versions. The bytes are in a blob store (:class:`strongroom.sync.ports.blobs.BlobStore`).

    A version is pending > stored > deleting > deleted; a pending one may also be deleted. Versions are
    numbered 1, 2, 3, ... without gaps. A file on a conversation has the conversation's permission rule
    and goes with it; one without is its owner's alone. Whatever lets go of bytes puts their keys on the
    list of ``store.blob_removals``, in the same transaction.

    :mod:`strongroom.file_transfer` uploads and downloads whole files on top of this port.

    Methods that name a file raise NotFound (SR010) for one that is absent, soft-deleted, of a deleted
    conversation, or unreadable for the viewer. All raise InvalidArgument (SR001), LimitExceeded (SR004),
    PermissionDenied (SR020), TenantMismatch (SR021), Unavailable (SR050).
    """

    def create(
        self,
        *,
        tenant_id: Id,
        owner_id: Id,
        path: FilePath,
        media_type: Id,
        conversation_id: Id | None = None,
        file_id: Id | None = None,
        blob_key: BlobKey | None = None,
        source: FileSource = "uploaded",
        run_id: Id | None = None,
        created_by: Id | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedFile:
        """Create a file with version 1, whose bytes are pending.

        Put the bytes under the ``blob_key`` that is returned, then ``transition`` the version to stored.

        Args:
            tenant_id: the tenant.
            owner_id: whose it is.
            path: what it is called.
            media_type: what the bytes are, such as ``image/png``.
            conversation_id: the conversation that it hangs on.
            file_id: the binding makes a UUIDv7 when it is None; a repeat with it changes nothing.
            blob_key: where the bytes will lie; None makes a key that nobody has used.
            source: ``generated`` needs ``run_id``.
            run_id: the run that generated it.
            created_by: who added it, when that is not the owner.
            metadata: the host's own object, at most 16 KiB.

        Raises:
            AlreadyExists: SR011, a file with this id has other content or is deleted.
            InvalidTransition: SR030, the bytes under ``blob_key`` are being removed.

        SQL: ``strongroom.create_file``

        Example:
            >>> import strongroom.sync
            >>> def main() -> str:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         file = store.files.create(
            ...             tenant_id="acme", owner_id="ada", path="notes/plan.txt",
            ...             media_type="text/plain",
            ...         )
            ...         return f"version {file.latest_version} is {file.state}"
            >>> main()
            'version 1 is pending'
        """
        ...

    def get(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> File:
        """Return the file, or raise NotFound; ``deleted``: a soft-deleted one, for hosts.

        SQL: ``strongroom.find_file``
        """
        ...

    def find(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> File | None:
        """Return the file, or None. SQL: ``strongroom.find_file``."""
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
        path_prefix: FilePath | None = None,
        deleted: bool = False,
    ) -> Page[File]:
        """Return a page of files, forward newest first.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a cursor: go on after it.
            before: a cursor: go back before it.
            direction: ``backward`` is the exact reverse.
            viewer: only what this one may read.
            conversation_id: only files of this conversation.
            owner_id: only files of this owner.
            path_prefix: only the path itself and what lies under it: ``a/b`` finds ``a/b`` and
                ``a/b/c``, not ``a/bc``. Every character means itself. None: all paths.
            deleted: only soft-deleted files, for hosts.

        Raises:
            InvalidCursor: SR002.
            NotFound: SR010, the conversation is absent or unreadable.

        SQL: ``strongroom.list_files``
        """
        ...

    def add_version(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        expected_latest: VersionNumber,
        media_type: Id,
        version_id: Id | None = None,
        blob_key: BlobKey | None = None,
        source: FileSource = "uploaded",
        run_id: Id | None = None,
        created_by: Id | None = None,
    ) -> AddedFileVersion:
        """Add version ``expected_latest + 1``, whose bytes are pending.

        Args:
            tenant_id: the tenant.
            file_id: the file.
            expected_latest: the newest version that the caller knows.
            media_type: what the bytes are.
            version_id: the binding makes a UUIDv7 when it is None; a repeat with it changes nothing.
            blob_key: where the bytes will lie; None makes a key that nobody has used.
            source: ``generated`` needs ``run_id``.
            run_id: the run that generated it.
            created_by: who added it.

        Raises:
            VersionConflict: SR012, there is a newer version, ``detail["current_version"]``.
            AlreadyExists: SR011, a version with this id was added with other content.
            InvalidTransition: SR030, the bytes under ``blob_key`` are being removed.

        SQL: ``strongroom.add_file_version``
        """
        ...

    def get_version(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        version: VersionNumber | None = None,
        viewer: Viewer | None = None,
    ) -> FileVersion:
        """Return a version; without a number the newest one whose bytes are stored.

        SQL: ``strongroom.find_file_version``
        """
        ...

    def list_versions(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
    ) -> Page[FileVersion]:
        """Return a page of the file's versions, forward from the first.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_file_versions``
        """
        ...

    def list_by_state(
        self,
        *,
        tenant_id: Id,
        state: FileState,
        older_than_seconds: AgeSeconds = 0.0,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[FileVersion]:
        """Return a page of versions that have been in a state for so long, the longest first.

        Uploads that got stuck are ``pending``. Versions of soft-deleted files and conversations are
        among them.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_file_versions_by_state``
        """
        ...

    def transition(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        version: VersionNumber,
        from_state: FileState,
        to_state: FileState,
        size_bytes: SizeBytes | None = None,
        sha256: Sha256 | None = None,
    ) -> FileVersion:
        """Take a version from one state to the next, if it is still in the first.

        ``stored`` needs what the blob store counted while it read the bytes. ``deleting`` puts the keys
        of the version on the list of bytes to remove; the sweep makes it ``deleted``. A repeat changes
        nothing.

        Raises:
            InvalidTransition: SR030, it is in another state (``detail["current_state"]``), or there is
                no such step.

        SQL: ``strongroom.set_file_version_state``
        """
        ...

    def record_extraction(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        version: VersionNumber,
        status: ExtractionStatus,
        expected_status: ExtractionStatus = "none",
        summary: Summary | None = None,
        blob_key: BlobKey | None = None,
        error: JsonObject | None = None,
    ) -> FileVersion:
        """Say what became of reading text from a stored version; a repeat changes nothing.

        Args:
            tenant_id: the tenant.
            file_id: the file.
            version: the version.
            status: ``pending``, ``done``, ``failed`` (needs ``error``), ``skipped``, or ``none``: anew.
            expected_status: the status that the caller knows.
            summary: the text, where it is short; for ``done``.
            blob_key: the key of the text in the blob store, where it is long; for ``done``. The bytes
                under an earlier key are put on the list of those to remove.
            error: why no text could be read, at most 16 KiB.

        Raises:
            InvalidTransition: SR030, the status is another one, or the version is not stored.

        SQL: ``strongroom.record_file_extraction``
        """
        ...

    def soft_delete(self, *, tenant_id: Id, file_id: Id) -> File:
        """Hide the file, restorably; its bytes stay. A repeat changes nothing.

        SQL: ``strongroom.soft_delete_file``
        """
        ...

    def restore(self, *, tenant_id: Id, file_id: Id) -> File:
        """Bring a soft-deleted file back. A repeat changes nothing.

        Raises:
            InvalidTransition: SR030, the bytes of all its versions are gone, or about to go.

        SQL: ``strongroom.restore_file``
        """
        ...

    def purge(self, *, tenant_id: Id, file_id: Id) -> PurgeReceipt:
        """Delete the file and its versions for good; their bytes are put on the list to remove.

        A repeat, and an id that does not exist, delete nothing, which the receipt says.

        SQL: ``strongroom.purge_file``
        """
        ...

    def schedule_conversation_deletion(
        self, *, tenant_id: Id, conversation_id: Id
    ) -> ScheduledDeletion:
        """Delete the files of a conversation, also of a soft-deleted one, and keep their records.

        Every file is soft-deleted, every version deleting. A repeat finds none. Purging the
        conversation schedules the bytes by itself.

        SQL: ``strongroom.schedule_conversation_file_deletion``
        """
        ...

    def queue(self, *, tenant_id: Id, overdue_seconds: AgeSeconds = 3600.0) -> FileQueue:
        """Return how many versions wait for their bytes, or for their removal.

        SQL: ``strongroom.read_file_queue``
        """
        ...
