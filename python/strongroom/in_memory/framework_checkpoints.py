"""What the calls of FrameworkStore do with the checkpoints of a graph."""

from __future__ import annotations

from typing import Any, cast

from strongroom.errors import InvalidArgument
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.database import Tables
from strongroom.in_memory.framework_records import METADATA_BYTES, drop_records
from strongroom.in_memory.framework_sessions import (
    check_path,
    check_principal,
    live_records,
    sessions_below,
)
from strongroom.in_memory.values import check_size, comparable
from strongroom.models.base import JsonValue
from strongroom.models.frameworks import (
    ChannelValue,
    ChannelWrite,
    FrameworkCheckpoint,
    FrameworkRecord,
    FrameworkSession,
)

DELTAS = ("counters_since_delta_snapshot", "delta_writes_versioned")


def _contains(value: JsonValue, part: JsonValue) -> bool:
    """Whether JSON contains other JSON, as the operator ``@>`` of jsonb."""
    if isinstance(part, dict):
        return isinstance(value, dict) and all(
            key in value and _contains(value[key], item) for key, item in part.items()
        )
    if isinstance(part, list):
        return isinstance(value, list) and all(
            any(_contains(one, item) for one in value) for item in part
        )
    return bool(comparable(value) == comparable(part))


def _records(tables: Tables, session: FrameworkSession, collection: str) -> list[FrameworkRecord]:
    return [stored.record for stored in live_records(tables, session, collection)]


def _content(record: FrameworkRecord) -> dict[str, Any]:
    return cast("dict[str, Any]", record.content)


def _channels(checkpoint: FrameworkRecord) -> dict[str, str]:
    """Return the channels that a checkpoint names, by the key of their value."""
    named = _content(checkpoint).get("channels") or {}
    return {f"{version}:{channel}": channel for channel, version in named.items()}


def read_checkpoints(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    exact: bool,
    filter: dict[str, JsonValue],
    limit: int,
    checkpoint_id: str | None = None,
    before_id: str | None = None,
    principal_id: str | None = None,
) -> tuple[FrameworkCheckpoint, ...]:
    """Return checkpoints with their values and writes, newest id first."""
    check_path("path", path)
    check_size("filter", filter, METADATA_BYTES)
    sessions = [
        session
        for session in sessions_below(tables, framework, path)
        if not exact or [*session.path] == path
    ]
    if path:
        for session in sessions:
            check_principal(session, principal_id)
    found = [
        (record, session)
        for session in sessions
        if principal_id in {None, session.principal_id}
        for record in _records(tables, session, "checkpoints")
        if checkpoint_id in {None, record.key}
        and (before_id is None or record.key < before_id)
        and _contains(record.metadata, filter)
    ]
    found.sort(key=lambda one: one[0].key, reverse=True)
    return tuple(
        FrameworkCheckpoint(
            path=session.path,
            id=record.key,
            content=_content(record),
            data=record.data,
            metadata=record.metadata,
            channels=_values(tables, session, record),
            writes=_writes(tables, session, record),
        )
        for record, session in found[:limit]
    )


def _values(
    tables: Tables, session: FrameworkSession, checkpoint: FrameworkRecord
) -> tuple[ChannelValue, ...] | None:
    named = _channels(checkpoint)
    return (
        tuple(
            (named[value.key], _content(value)["type"], _whole(tables, session, value))
            for value in _records(tables, session, "channels")
            if value.key in named
        )
        or None
    )


def _part_names(value: FrameworkRecord) -> list[str]:
    names = _content(value).get("parts")
    return names if isinstance(names, list) else []


def _whole(tables: Tables, session: FrameworkSession, value: FrameworkRecord) -> bytes | None:
    """Return the bytes of a value; of a large one from its parts."""
    names = _part_names(value)
    if value.data_base64 is not None or not names:
        return value.data
    parts = {part.key: part.data or b"" for part in _records(tables, session, "parts")}
    if any(name not in parts for name in names):
        return None
    return b"".join(parts[name] for name in names)


def _writes(
    tables: Tables, session: FrameworkSession, checkpoint: FrameworkRecord
) -> tuple[ChannelWrite, ...] | None:
    writes = [
        write
        for write in _records(tables, session, "writes")
        if write.key.startswith(f"{checkpoint.key}:")
    ]
    writes.sort(key=lambda w: tuple(_content(w)[name] for name in ("task_path", "task_id", "idx")))
    return (
        tuple(
            (
                _content(write)["task_id"],
                _content(write)["channel"],
                _content(write)["type"],
                write.data,
            )
            for write in writes
        )
        or None
    )


def prune_checkpoints(
    tables: Tables,
    *,
    framework: str,
    path: list[str] | None = None,
    run_ids: list[str] | None = None,
    principal_id: str | None = None,
) -> int:
    """Delete all but the newest checkpoint of sessions, or those of runs."""
    check_writable(tables)
    if (path is None) == (run_ids is None):
        raise InvalidArgument(
            "path or run_ids is required, and only one of them",
            detail={"path": "path"},
            hint="Name the sessions, or the runs whose checkpoints go.",
        )
    check_path("path", path or [])
    pruned = 0
    for session in sessions_below(tables, framework, path or []):
        checkpoints = _records(tables, session, "checkpoints")
        if run_ids is not None:
            gone = [c for c in checkpoints if c.metadata.get("run_id") in run_ids]
        else:
            kept = _kept(checkpoints)
            gone = [c for c in checkpoints if c.key not in kept]
        if run_ids is None or gone:
            check_principal(session, principal_id)
        if gone:
            _drop(tables, session, checkpoints, gone)
            pruned += len(gone)
    return pruned


def _kept(checkpoints: list[FrameworkRecord]) -> set[str]:
    by_id = {checkpoint.key: checkpoint for checkpoint in checkpoints}
    newest = by_id.get(max(by_id, default=""))
    if newest is None:
        return set()
    kept = {newest.key}
    if any(name in newest.metadata for name in DELTAS):
        parent = _content(newest).get("parent")
        while parent in by_id and parent not in kept:
            kept.add(parent)
            parent = _content(by_id[parent]).get("parent")
    return kept


def _drop(
    tables: Tables,
    session: FrameworkSession,
    checkpoints: list[FrameworkRecord],
    gone: list[FrameworkRecord],
) -> None:
    ids = {checkpoint.key for checkpoint in gone}
    named = {key for c in checkpoints if c.key not in ids for key in _channels(c)}
    writes = _records(tables, session, "writes")
    values = _records(tables, session, "channels")
    shared = {name for value in values if value.key in named for name in _part_names(value)}
    parts = _records(tables, session, "parts")
    drop_records(
        tables,
        session,
        [
            *gone,
            *(write for write in writes if write.key.split(":")[0] in ids),
            *(value for value in values if value.key not in named),
            *(part for part in parts if part.key not in shared),
        ],
    )
    record_audit(
        tables,
        "framework_checkpoints.prune",
        "framework_session",
        session.id,
        details={"framework": session.framework, "count": len(gone)},
    )
