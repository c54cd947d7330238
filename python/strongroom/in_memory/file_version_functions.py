"""What the calls of FileMetadataStore do with the versions of files."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, InvalidTransition, VersionConflict
from strongroom.in_memory.blob_removals import keep_blob, schedule_removal
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.file_functions import (
    change_file,
    check_source,
    microseconds,
    new_version,
    readable_file,
    release_version,
    writable_file,
)
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import missing, moment
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.files import AddedFileVersion, FileQueue, FileState, FileVersion
from strongroom.models.pages import Direction, Page

_TRANSITIONS = {
    ("pending", "stored"),
    ("pending", "deleting"),
    ("stored", "deleting"),
    ("deleting", "deleted"),
}


def add_file_version(
    tables: Tables, *, file_id: str, expected_latest: int, version_id: str, **content: Any
) -> AddedFileVersion:
    """Add the next version, or know a repeated add by its id and content."""
    check_source(content)
    file = writable_file(tables, file_id)
    created_with = comparable([file_id, expected_latest, content])
    for rows in tables.file_versions.values():
        for row in rows:
            if row.record.id == version_id:
                if row.created_with != created_with:
                    raise AlreadyExists(
                        "a file version with this id was added with other content",
                        detail={"path": "version_id", "record": "file_version"},
                        hint="Use a new id for a new version.",
                    )
                return AddedFileVersion(**dict(row.record), outcome="duplicate")
    if file.latest_version != expected_latest:
        raise VersionConflict(
            f"the file has version {file.latest_version}, not {expected_latest}",
            detail={
                "record": "file",
                "expected_version": expected_latest,
                "current_version": file.latest_version,
            },
            hint="Read it again, apply the change to what you read, and write with its version.",
        )
    version = new_version(
        tables, file_id, file.conversation_id, expected_latest + 1, version_id, content
    )
    tables.file_versions[file_id] = (
        *tables.file_versions[file_id],
        Row(version, created_with),
    )
    change_file(tables, file_id, updated_at=moment())
    return AddedFileVersion(**dict(version), outcome="inserted")


def find_file_version(
    tables: Tables, *, file_id: str, version: int | None, viewer_id: str | None
) -> FileVersion | None:
    """Return a version; without a number the newest one whose bytes are stored."""
    readable_file(tables, file_id, viewer_id)
    for row in reversed(tables.file_versions[file_id]):
        found = row.record
        if found.version == version or (version is None and found.state == "stored"):
            return found
    return None


def list_file_versions(
    tables: Tables,
    *,
    file_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
) -> Page[FileVersion]:
    """Return a page of a file's versions, forward from the first."""
    readable_file(tables, file_id, viewer_id)
    check_page(after, before)
    return page_of(
        [row.record for row in tables.file_versions[file_id]],
        key=lambda version: [version.version],
        descending=direction == "backward",
        scope=cursor_scope("file_versions", [file_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def list_file_versions_by_state(
    tables: Tables,
    *,
    state: FileState,
    older_than_seconds: float,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
) -> Page[FileVersion]:
    """Return a page of versions that have been in a state for so long, the longest first."""
    check_page(after, before)
    until = moment() - dt.timedelta(seconds=older_than_seconds)
    return page_of(
        [
            row.record
            for rows in tables.file_versions.values()
            for row in rows
            if row.record.state == state and row.record.state_changed_at <= until
        ],
        key=lambda v: [microseconds(v.state_changed_at), v.file_id, v.version],
        descending=direction == "backward",
        scope=cursor_scope("file_versions_by_state", [state, older_than_seconds], direction),
        limit=limit,
        after=after,
        before=before,
    )


def set_file_version_state(
    tables: Tables,
    *,
    file_id: str,
    version: int,
    from_state: FileState,
    to_state: FileState,
    size_bytes: int | None,
    sha256: str | None,
) -> FileVersion:
    """Take a version from one state to the next; a repeat changes nothing."""
    knows_bytes = size_bytes is not None and sha256 is not None
    if (to_state == "stored") != knows_bytes or (size_bytes is None) != (sha256 is None):
        raise InvalidArgument(
            "size_bytes and sha256 are needed when the version becomes stored, and only then",
            detail={"path": "size_bytes"},
            hint="Give what the blob store counted while it read the bytes.",
        )
    writable_file(tables, file_id)
    current = _version(tables, file_id, version)
    is_step = (from_state, to_state) in _TRANSITIONS
    if current.state == to_state and is_step:
        if to_state != "stored" or (current.size_bytes, current.sha256) == (size_bytes, sha256):
            return current
    elif current.state == from_state and is_step:
        if to_state == "deleting":
            release_version(tables, current)
        changes: dict[str, Any] = {"size_bytes": size_bytes, "sha256": sha256}
        return _change(
            tables,
            current,
            state=to_state,
            state_changed_at=moment(),
            **(changes if knows_bytes else {}),
        )
    raise InvalidTransition(
        f"the file version is {current.state} and cannot go from {from_state} to {to_state}",
        detail={
            "record": "file_version",
            "from": from_state,
            "to": to_state,
            "current_state": current.state,
        },
        hint="Read the version; a deleted one is final, and new bytes are a new version.",
    )


def record_file_extraction(
    tables: Tables,
    *,
    file_id: str,
    version: int,
    status: str,
    expected_status: str,
    summary: str | None,
    blob_key: str | None,
    error: dict[str, Any] | None,
) -> FileVersion:
    """Say what became of reading text from a stored version; a repeat changes nothing."""
    if status != "done" and (summary is not None or blob_key is not None):
        raise InvalidArgument(
            "summary and blob_key are for a status of done",
            detail={"path": "status"},
            hint="Leave them out, or say that it is done.",
        )
    if (status == "failed") != (error is not None):
        raise InvalidArgument(
            "error is needed when the status is failed, and only then",
            detail={"path": "error"},
            hint="Say why no text could be read.",
        )
    if error is not None:
        check_size("error", error, METADATA_BYTES)
    writable_file(tables, file_id)
    current = _version(tables, file_id, version)
    known = (
        current.extraction_status,
        current.extraction_summary,
        current.extraction_blob_key,
        comparable(current.extraction_error),
    )
    if known == (status, summary, blob_key, comparable(error)):
        return current
    if current.state != "stored" or current.extraction_status != expected_status:
        raise InvalidTransition(
            f"the file version is {current.state} and its extraction {current.extraction_status},"
            f" not {expected_status}",
            detail={
                "record": "file_version",
                "current_state": current.state,
                "current_status": current.extraction_status,
            },
            hint="Read the version; only stored bytes are extracted.",
        )
    if current.extraction_blob_key != blob_key:
        if blob_key is not None:
            keep_blob(tables, blob_key)
        if current.extraction_blob_key is not None:
            schedule_removal(tables, current.extraction_blob_key)
    return _change(
        tables,
        current,
        extraction_status=status,
        extraction_summary=summary,
        extraction_blob_key=blob_key,
        extraction_error=error,
    )


def read_file_queue(tables: Tables, *, overdue_seconds: float) -> FileQueue:
    """Count the versions that wait."""
    versions = [row.record for rows in tables.file_versions.values() for row in rows]
    pending = [version.state_changed_at for version in versions if version.state == "pending"]
    until = moment() - dt.timedelta(seconds=overdue_seconds)
    return FileQueue(
        pending=len(pending),
        overdue=sum(since <= until for since in pending),
        deleting=sum(version.state == "deleting" for version in versions),
        oldest_pending_at=min(pending, default=None),
    )


def _version(tables: Tables, file_id: str, number: int) -> FileVersion:
    rows = tables.file_versions[file_id]
    if number > len(rows):
        raise missing("file version")
    return rows[number - 1].record


def _change(tables: Tables, version: FileVersion, **changes: Any) -> FileVersion:
    changed = version.replace(**changes, updated_at=moment())
    rows = tables.file_versions[version.file_id]
    place = version.version - 1
    tables.file_versions[version.file_id] = (
        *rows[:place],
        Row(changed, rows[place].created_with),
        *rows[place + 1 :],
    )
    # What is read from a version does not change the file.
    file = tables.files[version.file_id].record
    changed_at = file.updated_at if changed.state == version.state else moment()
    change_file(tables, version.file_id, updated_at=changed_at)
    return changed
