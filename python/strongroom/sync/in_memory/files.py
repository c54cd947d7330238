# Written by scripts/generate_sync.py from strongroom/in_memory/files.py: change that, and run `make generate`.
"""FileMetadataStore in memory: the port. What its calls do is in ``file_functions``."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.file_functions import (
    create_file,
    find_file,
    list_files,
    purge_file,
    restore_file,
    schedule_conversation_file_deletion,
    soft_delete_file,
)
from strongroom.in_memory.file_version_functions import (
    add_file_version,
    find_file_version,
    list_file_versions,
    list_file_versions_by_state,
    read_file_queue,
    record_file_extraction,
    set_file_version_state,
)
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
from strongroom.ports.arguments import viewer_id
from strongroom.ports.files import AgeSeconds
from strongroom.stores.base import existing
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemoryFileMetadataStore(MemoryPort):
    """See :class:`strongroom.ports.FileMetadataStore`."""

    @port_method
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
        """See the port."""
        return self._write(
            tenant_id,
            create_file,
            owner_id=owner_id,
            path=path,
            media_type=media_type,
            conversation_id=conversation_id,
            file_id=file_id or new_id(),
            blob_key=blob_key,
            source=source,
            run_id=run_id,
            created_by=created_by,
            metadata=metadata or {},
        )

    @port_method
    def get(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> File:
        """See the port."""
        found = self._find_one(tenant_id, file_id, viewer, deleted)
        return existing(found, "file", "file_id")

    @port_method
    def find(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        viewer: Viewer | None = None,
        deleted: bool = False,
    ) -> File | None:
        """See the port."""
        return self._find_one(tenant_id, file_id, viewer, deleted)

    def _find_one(
        self, tenant_id: str, file_id: str, viewer: Viewer | None, deleted: bool
    ) -> File | None:
        return self._read(
            tenant_id,
            find_file,
            file_id=file_id,
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
        path_prefix: FilePath | None = None,
        deleted: bool = False,
    ) -> Page[File]:
        """See the port."""
        return self._read(
            tenant_id,
            list_files,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            conversation_id=conversation_id,
            owner_id=owner_id,
            path_prefix=path_prefix,
            deleted=deleted,
        )

    @port_method
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
        """See the port."""
        return self._write(
            tenant_id,
            add_file_version,
            file_id=file_id,
            expected_latest=expected_latest,
            media_type=media_type,
            version_id=version_id or new_id(),
            blob_key=blob_key,
            source=source,
            run_id=run_id,
            created_by=created_by,
        )

    @port_method
    def get_version(
        self,
        *,
        tenant_id: Id,
        file_id: Id,
        version: VersionNumber | None = None,
        viewer: Viewer | None = None,
    ) -> FileVersion:
        """See the port."""
        found = self._read(
            tenant_id,
            find_file_version,
            file_id=file_id,
            version=version,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return existing(found, "file version", "version")

    @port_method
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
        """See the port."""
        return self._read(
            tenant_id,
            list_file_versions,
            file_id=file_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
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
        """See the port."""
        return self._read(
            tenant_id,
            list_file_versions_by_state,
            state=state,
            older_than_seconds=older_than_seconds,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
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
        """See the port."""
        return self._write(
            tenant_id,
            set_file_version_state,
            file_id=file_id,
            version=version,
            from_state=from_state,
            to_state=to_state,
            size_bytes=size_bytes,
            sha256=sha256,
        )

    @port_method
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
        """See the port."""
        return self._write(
            tenant_id,
            record_file_extraction,
            file_id=file_id,
            version=version,
            status=status,
            expected_status=expected_status,
            summary=summary,
            blob_key=blob_key,
            error=error,
        )

    @port_method
    def soft_delete(self, *, tenant_id: Id, file_id: Id) -> File:
        """See the port."""
        return self._write(
            tenant_id,
            soft_delete_file,
            file_id=file_id,
        )

    @port_method
    def restore(self, *, tenant_id: Id, file_id: Id) -> File:
        """See the port."""
        return self._write(
            tenant_id,
            restore_file,
            file_id=file_id,
        )

    @port_method
    def purge(self, *, tenant_id: Id, file_id: Id) -> PurgeReceipt:
        """See the port."""
        return self._write(tenant_id, purge_file, file_id=file_id)

    @port_method
    def schedule_conversation_deletion(
        self, *, tenant_id: Id, conversation_id: Id
    ) -> ScheduledDeletion:
        """See the port."""
        return self._write(
            tenant_id,
            schedule_conversation_file_deletion,
            conversation_id=conversation_id,
        )

    @port_method
    def queue(self, *, tenant_id: Id, overdue_seconds: AgeSeconds = 3600.0) -> FileQueue:
        """See the port."""
        return self._read(
            tenant_id,
            read_file_queue,
            overdue_seconds=overdue_seconds,
        )
