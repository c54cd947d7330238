"""What the calls of FileMetadataStore do with files; with their versions: ``file_version_functions``."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, InvalidTransition, NotFound
from strongroom.ids import new_id
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable, is_readable, readable_conversation
from strongroom.in_memory.blob_removals import keep_blob, schedule_removal
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import Key, check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import missing, moment
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.files import CreatedFile, File, FileVersion, ScheduledDeletion
from strongroom.models.pages import Direction, Page
from strongroom.models.tenants import PurgeReceipt


def create_file(
    tables: Tables,
    *,
    file_id: str,
    metadata: dict[str, Any],
    path: str,
    owner_id: str,
    conversation_id: str | None,
    **content: Any,
) -> CreatedFile:
    """Create a file with its first version, or know a repeated create by its content."""
    check_writable(tables)
    check_source(content)
    check_size("metadata", metadata, METADATA_BYTES)
    if conversation_id is not None:
        readable_conversation(tables, conversation_id)
    created_with = comparable([owner_id, path, conversation_id, metadata, content])
    row = tables.files.get(file_id)
    if row is not None:
        if row.created_with != created_with or row.record.deleted_at is not None:
            raise AlreadyExists(
                "a file with this id was created with other content, or is deleted",
                detail={"path": "file_id", "record": "file"},
                hint="Add a version to it, or choose another id.",
            )
        return CreatedFile(**dict(row.record), outcome="duplicate")
    version = new_version(tables, file_id, conversation_id, 1, new_id(), content)
    file = File(
        tenant_id=tables.tenant_id,
        id=file_id,
        conversation_id=conversation_id,
        owner_id=owner_id,
        path=path,
        metadata=metadata,
        latest_version=1,
        state="pending",
        blob_key=version.blob_key,
        media_type=version.media_type,
        size_bytes=None,
        sha256=None,
        deleted_at=None,
        created_at=moment(),
        updated_at=moment(),
    )
    tables.files[file_id] = Row(file, created_with)
    tables.file_versions[file_id] = (Row(version, created_with),)
    return CreatedFile(**dict(file), outcome="inserted")


def check_source(content: dict[str, Any]) -> None:
    """Refuse a run that did not generate, and a generated version without a run."""
    if (content["source"] == "generated") != (content["run_id"] is not None):
        raise InvalidArgument(
            "run_id is needed when the source is generated, and only then",
            detail={"path": "run_id"},
            hint="Name the run that generated the file, or say that it was uploaded.",
        )


def new_version(
    tables: Tables,
    file_id: str,
    conversation_id: str | None,
    number: int,
    version_id: str,
    content: dict[str, Any],
) -> FileVersion:
    """Return a version whose bytes are pending; they are kept from now on."""
    unset: dict[str, Any] = dict.fromkeys(FileVersion.model_fields)
    blob_key = content["blob_key"] or new_id()
    keep_blob(tables, blob_key)
    return FileVersion(
        **{
            **unset,
            **content,
            "blob_key": blob_key,
            "tenant_id": tables.tenant_id,
            "file_id": file_id,
            "version": number,
            "id": version_id,
            "conversation_id": conversation_id,
            "state": "pending",
            "extraction_status": "none",
            "created_at": moment(),
            "state_changed_at": moment(),
            "updated_at": moment(),
        }
    )


def _is_living(tables: Tables, file: File, viewer_id: str | None) -> bool:
    """Whether this viewer may read it; without a viewer, whether it lives."""
    if file.deleted_at is not None:
        return False
    if file.conversation_id is None:
        return viewer_id in {None, file.owner_id}
    row = tables.conversations.get(file.conversation_id)
    return row is not None and is_readable(row.record, viewer_id)


def readable_file(tables: Tables, file_id: str, viewer_id: str | None = None) -> File:
    """Return a living file that the viewer may read.

    Raises:
        NotFound: SR010.
    """
    row = tables.files.get(file_id)
    if row is None or not _is_living(tables, row.record, viewer_id):
        raise missing("file")
    return row.record


def writable_file(tables: Tables, file_id: str, *, deleted: bool = False) -> File:
    """Return a file of a living conversation, to be changed; ``deleted``: a soft-deleted one, too."""
    check_writable(tables)
    row = tables.files.get(file_id)
    if row is None or not _is_living(
        tables, row.record.replace(deleted_at=None) if deleted else row.record, None
    ):
        raise missing("file")
    return row.record


def change_file(tables: Tables, file_id: str, **changes: Any) -> File:
    """Change a file, and let it show its newest version."""
    row = tables.files[file_id]
    newest = tables.file_versions[file_id][-1].record
    file = row.record.replace(
        latest_version=newest.version,
        state=newest.state,
        blob_key=newest.blob_key,
        media_type=newest.media_type,
        size_bytes=newest.size_bytes,
        sha256=newest.sha256,
        **changes,
    )
    tables.files[file_id] = Row(file, row.created_with)
    return file


def find_file(tables: Tables, *, file_id: str, viewer_id: str | None, deleted: bool) -> File | None:
    """Return it, where the viewer may read it; a soft-deleted one for hosts alone."""
    row = tables.files.get(file_id)
    if row is None:
        return None
    return row.record if _is_shown(tables, row.record, viewer_id, deleted=deleted) else None


def _is_shown(tables: Tables, file: File, viewer_id: str | None, *, deleted: bool) -> bool:
    if deleted:
        return file.deleted_at is not None and viewer_id is None
    return _is_living(tables, file, viewer_id)


def list_files(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    conversation_id: str | None,
    owner_id: str | None,
    path_prefix: str | None,
    deleted: bool,
) -> Page[File]:
    """Return a page of files, forward newest first."""
    check_page(after, before)
    if conversation_id is not None:
        readable_conversation(tables, conversation_id, viewer_id)
    return page_of(
        [
            row.record
            for row in tables.files.values()
            if _is_shown(tables, row.record, viewer_id, deleted=deleted)
            and conversation_id in {None, row.record.conversation_id}
            and owner_id in {None, row.record.owner_id}
            and (
                path_prefix is None
                or row.record.path == path_prefix
                or row.record.path.startswith(f"{path_prefix}/")
            )
        ],
        key=_creation,
        descending=direction == "forward",
        scope=cursor_scope(
            "files", [viewer_id, conversation_id, owner_id, path_prefix, deleted], direction
        ),
        limit=limit,
        after=after,
        before=before,
    )


def microseconds(value: dt.datetime) -> int:
    """Return a moment as whole microseconds since 1970."""
    return (value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def _creation(file: File) -> Key:
    return [microseconds(file.created_at), file.id]


def soft_delete_file(tables: Tables, *, file_id: str) -> File:
    """Hide it; a repeat changes nothing."""
    file = writable_file(tables, file_id, deleted=True)
    if file.deleted_at is not None:
        return file
    return change_file(tables, file_id, deleted_at=moment(), updated_at=moment())


def restore_file(tables: Tables, *, file_id: str) -> File:
    """Bring it back, while it has bytes; a repeat changes nothing."""
    file = writable_file(tables, file_id, deleted=True)
    if file.deleted_at is None:
        return file
    if not any(keeps_bytes(row.record) for row in tables.file_versions[file_id]):
        raise InvalidTransition(
            "the bytes of every version of the file are gone, or about to go",
            detail={"record": "file"},
            hint="Create the file anew.",
        )
    return change_file(tables, file_id, deleted_at=None, updated_at=moment())


def keeps_bytes(version: FileVersion) -> bool:
    """Whether a version refers to its bytes."""
    return version.state in {"pending", "stored"}


def release_version(tables: Tables, version: FileVersion) -> None:
    """Put the keys of a version that no longer keeps its bytes on the list of those to remove."""
    if keeps_bytes(version):
        schedule_removal(tables, version.blob_key)
        if version.extraction_blob_key is not None:
            schedule_removal(tables, version.extraction_blob_key)


def purge_file(tables: Tables, *, file_id: str) -> PurgeReceipt:
    """Delete it and its versions; say how many rows of each table that were."""
    check_writable(tables)
    if file_id not in tables.files:
        return PurgeReceipt(tables=_drop(tables, []))
    record_audit(tables, "file.purge", "file", file_id)
    return PurgeReceipt(tables=_drop(tables, [file_id]))


def drop_files(tables: Tables, conversation_id: str | None = None) -> dict[str, int]:
    """Delete the files of a conversation (of all: None); schedule their bytes; count the rows."""
    return _drop(
        tables,
        [
            row.record.id
            for row in tables.files.values()
            if conversation_id in {None, row.record.conversation_id}
        ],
    )


def drop_files_of(tables: Tables, owner_id: str) -> dict[str, int]:
    """Delete the files of an owner; schedule their bytes; count the rows."""
    return _drop(
        tables, [row.record.id for row in tables.files.values() if row.record.owner_id == owner_id]
    )


def _drop(tables: Tables, file_ids: list[str]) -> dict[str, int]:
    versions = 0
    for file_id in file_ids:
        del tables.files[file_id]
        for row in tables.file_versions.pop(file_id):
            versions += 1
            release_version(tables, row.record)
    return {"files": len(file_ids), "file_versions": versions}


def schedule_conversation_file_deletion(
    tables: Tables, *, conversation_id: str
) -> ScheduledDeletion:
    """Delete the files of a conversation, also of a soft-deleted one, and keep their records."""
    check_writable(tables)
    if conversation_id not in tables.conversations:
        raise NotFound(
            "the conversation does not exist",
            detail={"path": "conversation_id", "record": "conversation"},
            hint="It may have been deleted, or this caller may not see it.",
        )
    files = versions = 0
    for row in [*tables.files.values()]:
        file = row.record
        if file.conversation_id != conversation_id:
            continue
        kept = tables.file_versions[file.id]
        versions += sum(keeps_bytes(one.record) for one in kept)
        tables.file_versions[file.id] = tuple(_deleting(tables, one) for one in kept)
        files += file.deleted_at is None
        deleted_at = file.deleted_at or moment()
        change_file(tables, file.id, deleted_at=deleted_at, updated_at=moment())
    return ScheduledDeletion(files=files, versions=versions)


def _deleting(tables: Tables, row: Row[FileVersion]) -> Row[FileVersion]:
    if not keeps_bytes(row.record):
        return row
    release_version(tables, row.record)
    changed = row.record.replace(state="deleting", state_changed_at=moment(), updated_at=moment())
    return Row(changed, row.created_with)
