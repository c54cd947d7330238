"""What the calls of FrameworkStore do with records."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, LimitExceeded
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable
from strongroom.in_memory.database import StoredRecord, Tables
from strongroom.in_memory.framework_sessions import (
    check_path,
    find_session,
    hold_session,
    is_expired,
    keep_session,
    live_records,
    sessions_below,
)
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import check_size, comparable, cosine
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.frameworks import (
    AppendedFrameworkRecord,
    FoundFrameworkRecord,
    FrameworkRecord,
    FrameworkSession,
    NewFrameworkRecord,
    PutFrameworkRecord,
)
from strongroom.models.json_values import stored_size
from strongroom.models.pages import Direction, Page

RECORD_BYTES = 16_777_216
METADATA_BYTES = 65_536


def documents(records: Sequence[NewFrameworkRecord]) -> list[JsonValue]:
    """Return records as they are kept, with their bytes as base64."""
    found: list[JsonValue] = []
    for record in records:
        document = record.document()
        if record.data is not None:
            document["data"] = base64.b64encode(record.data).decode()
        found.append(document)
    return found


def _check_records(records: list[dict[str, Any]]) -> None:
    for i, record in enumerate(records):
        if record.get("mode") == "delete":
            continue
        check_size(f"records[{i}].metadata", record["metadata"], METADATA_BYTES)
        if record.get("content") is None and record.get("data") is None:
            raise InvalidArgument(
                f"records[{i}].content or records[{i}].data is required",
                detail={"path": f"records[{i}].content"},
                hint="Give JSON, bytes, or both.",
            )
        size = 0 if record.get("content") is None else stored_size(record["content"])
        size += len(base64.b64decode(record.get("data") or ""))
        if size > RECORD_BYTES:
            raise LimitExceeded(
                f"records[{i}] has {size} bytes; at most {RECORD_BYTES} are allowed",
                detail={
                    "path": f"records[{i}].content",
                    "limit": RECORD_BYTES,
                    "actual": size,
                },
                hint="Keep large data in a file or artifact, and its id here.",
            )
        if len({len(embedding) for embedding in record.get("embeddings") or []}) > 1:
            raise InvalidArgument(
                f"records[{i}].embeddings must all have as many numbers",
                detail={"path": f"records[{i}].embeddings"},
                hint="Make all of them with one model.",
            )
        for embedding in record.get("embeddings") or []:
            check_direction(f"records[{i}].embeddings", embedding)


def check_direction(field: str, embedding: list[float]) -> None:
    """Refuse an embedding of zeros."""
    if not any(abs(number) >= 1e-37 for number in embedding):  # noqa: PLR2004 (real's least)
        raise InvalidArgument(
            f"{field} must have 1 to 4000 numbers up to 3e38, not all of them zero",
            detail={"path": field},
            hint="An embedding needs a direction to be compared.",
        )


def _is_same(stored: StoredRecord, given: dict[str, Any]) -> bool:
    record = stored.record
    known = comparable([record.content, record.data_base64, record.metadata])
    return bool(known == comparable([given.get("content"), given.get("data"), given["metadata"]]))


def _made(
    tables: Tables, session: FrameworkSession, collection: str, given: dict[str, Any]
) -> FrameworkRecord:
    return FrameworkRecord(
        tenant_id=tables.tenant_id,
        framework=session.framework,
        path=session.path,
        collection=collection,
        key=given["key"],
        position=None,
        content=given.get("content"),
        data_base64=given.get("data"),
        metadata=given["metadata"],
        expires_at=None,
        version=1,
        created_at=tables.now,
        updated_at=tables.now,
    )


def _keep(tables: Tables, session: FrameworkSession, stored: StoredRecord) -> None:
    place = (stored.record.collection, stored.record.key)
    known = tables.framework_records.get(session.id, {})
    tables.framework_records[session.id] = {**known, place: stored}


def drop_records(tables: Tables, session: FrameworkSession, gone: list[FrameworkRecord]) -> None:
    """Take records out of a session."""
    places = {(record.collection, record.key) for record in gone}
    known = tables.framework_records.get(session.id, {})
    tables.framework_records[session.id] = {
        place: stored for place, stored in known.items() if place not in places
    }


def append_records(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    records: list[dict[str, Any]],
    collection: str,
    refuse_conflicts: bool,
    principal_id: str | None = None,
) -> tuple[AppendedFrameworkRecord, ...]:
    """Append records in order; a key that is there changes nothing."""
    check_writable(tables)
    check_path("path", path)
    _check_records(records)
    session = hold_session(tables, framework, path, principal_id)
    done = []
    for i, given in enumerate(records):
        known = tables.framework_records.get(session.id, {}).get((collection, given["key"]))
        outcome = "inserted"
        if known is None:
            session = keep_session(
                tables,
                session.replace(last_position=session.last_position + 1, updated_at=tables.now),
            )
            made = _made(tables, session, collection, given)
            known = StoredRecord(record=made.replace(position=session.last_position))
            _keep(tables, session, known)
        else:
            outcome = "duplicate" if _is_same(known, given) else "conflict"
        if refuse_conflicts and outcome == "conflict":
            raise AlreadyExists(
                f"records[{i}] has the key of another record",
                detail={"path": f"records[{i}].key", "record": "framework record"},
                hint="The same key is the same record: nothing was appended.",
            )
        done.append(
            AppendedFrameworkRecord(
                key=given["key"],
                position=known.record.position,
                created_at=known.record.created_at,
                outcome=outcome,
            )
        )
    return tuple(done)


def list_records(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    collection: str,
    limit: int,
    direction: Direction,
    after: str | None = None,
    before: str | None = None,
    principal_id: str | None = None,
) -> Page[FrameworkRecord]:
    """Return a page of the appended records."""
    check_page(after, before)
    session = find_session(tables, framework=framework, path=path, principal_id=principal_id)
    stored = [] if session is None else live_records(tables, session, collection)
    return page_of(
        [one.record for one in stored if one.record.position is not None],
        key=lambda record: [record.position or 0],
        descending=direction == "backward",
        scope=cursor_scope("framework_records", [framework, [*path], collection], direction),
        limit=limit,
        after=after,
        before=before,
    )


def delete_records(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    collection: str,
    keys: list[str] | None = None,
    last: int | None = None,
    principal_id: str | None = None,
) -> tuple[FrameworkRecord, ...]:
    """Delete records by key, or the newest appended ones."""
    check_writable(tables)
    if (keys is None) == (last is None):
        raise InvalidArgument(
            "keys or last is required, and only one of them",
            detail={"path": "keys"},
            hint="Name the records, or say how many of the newest.",
        )
    session = find_session(tables, framework=framework, path=path, principal_id=principal_id)
    if session is None:
        return ()
    found = [one.record for one in live_records(tables, session, collection)]
    ordered = sorted((r for r in found if r.position is not None), key=lambda r: r.position or 0)
    if keys is None:
        gone = ordered[-(last or 0) :]
    else:
        unordered = [r for r in found if r.position is None]
        gone = [r for r in [*ordered, *unordered] if r.key in keys]
    if gone:
        drop_records(tables, session, gone)
        keep_session(tables, session.replace(updated_at=tables.now))
        positions = [record.position for record in gone if record.position is not None]
        details: JsonObject = {
            "framework": framework,
            "collection": collection,
            "count": len(gone),
        }
        if positions:
            details |= {"first_position": min(positions), "last_position": max(positions)}
        record_audit(
            tables, "framework_records.delete", "framework_session", session.id, details=details
        )
    return tuple(gone)


def put_records(
    tables: Tables,
    *,
    framework: str,
    records: list[dict[str, Any]],
    principal_id: str | None = None,
) -> tuple[PutFrameworkRecord, ...]:
    """Write keyed records."""
    check_writable(tables)
    _check_records(records)
    for i, given in enumerate(records):
        check_path(f"records[{i}].path", given["path"])
    return tuple(_put(tables, framework, given, principal_id) for given in records)


def _put(
    tables: Tables, framework: str, given: dict[str, Any], principal_id: str | None
) -> PutFrameworkRecord:
    collection, key, mode = given["collection"], given["key"], given["mode"]
    if mode == "delete":
        session = find_session(
            tables, framework=framework, path=given["path"], principal_id=principal_id
        )
    else:
        session = hold_session(tables, framework, given["path"], principal_id)
    known = tables.framework_records.get(session.id, {}).get((collection, key)) if session else None
    if known is not None and is_expired(tables, known):
        known = None
    version = known.record.version if known else None
    expected = given.get("expected_version")
    if expected is not None:
        check_version("framework record", expected, version or 0)
    if mode == "delete":
        outcome = "absent"
        if session is not None and known is not None:
            outcome = "deleted"
            drop_records(tables, session, [known.record])
    elif known is not None and (mode == "keep" or known.record.position is not None):
        outcome = "duplicate" if _is_same(known, given) else "conflict"
    else:
        assert session is not None  # noqa: S101 (held above)
        outcome = "replaced" if known else "inserted"
        made = _made(tables, session, collection, given)
        ttl = given.get("ttl_seconds")
        if ttl is not None:
            made = made.replace(expires_at=tables.now + dt.timedelta(seconds=ttl))
        if known is not None:
            made = made.replace(
                version=known.record.version + 1, created_at=known.record.created_at
            )
        version = made.version
        embeddings = tuple(tuple(one) for one in given.get("embeddings") or ())
        _keep(tables, session, StoredRecord(made, ttl_seconds=ttl, embeddings=embeddings))
    return PutFrameworkRecord(
        path=tuple(given["path"]),
        collection=collection,
        key=key,
        version=version,
        outcome=outcome,
    )


def _refreshed(tables: Tables, session: FrameworkSession, stored: StoredRecord) -> StoredRecord:
    if stored.ttl_seconds is None:
        return stored
    until = tables.now + dt.timedelta(seconds=stored.ttl_seconds)
    kept = stored.until(until)
    _keep(tables, session, kept)
    return kept


def find_records(
    tables: Tables,
    *,
    framework: str,
    wanted: list[dict[str, Any]],
    refresh: bool,
    principal_id: str | None = None,
) -> tuple[FrameworkRecord, ...]:
    """Return those of the wanted records that there are."""
    found = {}
    for i, one in enumerate(wanted):
        check_path(f"wanted[{i}].path", one["path"])
    for one in wanted:
        session = find_session(
            tables, framework=framework, path=one["path"], principal_id=principal_id
        )
        if session is None:
            continue
        stored = tables.framework_records.get(session.id, {}).get((one["collection"], one["key"]))
        if stored is None or is_expired(tables, stored):
            continue
        kept = _refreshed(tables, session, stored) if refresh else stored
        found[session.path, one["collection"], one["key"]] = kept.record
    return tuple(record for _, record in sorted(found.items(), key=lambda item: item[0]))


def search_records(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    collection: str,
    filter: list[dict[str, Any]],
    limit: int,
    skip: int,
    refresh: bool,
    embedding: list[float] | None = None,
    key_prefix: str | None = None,
    after_key: str | None = None,
    principal_id: str | None = None,
) -> tuple[FoundFrameworkRecord, ...]:
    """Return records that pass a filter, the nearest or newest first."""
    check_path("path", path)
    if embedding is not None:
        check_direction("embedding", embedding)
    if after_key is not None and (key_prefix is None or not path):
        raise InvalidArgument(
            "after_key needs key_prefix and path",
            detail={"path": "after_key"},
            hint="Keys are in order within one session; the prefix may be empty.",
        )
    found = [
        (_score(stored, embedding), stored, session)
        for session in sessions_below(tables, framework, path)
        if principal_id in {None, session.principal_id}
        for stored in live_records(tables, session, collection)
        if stored.record.key.startswith(key_prefix or "")
        and (after_key is None or ([*session.path] == path and stored.record.key > after_key))
        and all(_passes(stored.record.content, condition) for condition in filter)
    ]
    found.sort(key=lambda one: (one[1].record.path, one[1].record.key))
    if embedding is not None or key_prefix is None:
        found.sort(key=lambda one: one[1].record.updated_at, reverse=True)
    found.sort(key=lambda one: -math.inf if one[0] is None else one[0], reverse=True)
    return tuple(
        FoundFrameworkRecord(
            **dict((_refreshed(tables, session, stored) if refresh else stored).record),
            score=score,
        )
        for score, stored, session in found[skip : skip + limit]
    )


def _score(stored: StoredRecord, embedding: list[float] | None) -> float | None:
    if embedding is None:
        return None
    scores = [
        cosine(
            sum(a * b for a, b in zip(one, embedding, strict=True)),
            math.hypot(*one) * math.hypot(*embedding),
        )
        for one in stored.embeddings
        if len(one) == len(embedding)
    ]
    return max(scores, default=None)


_KINDS: dict[type, str] = {bool: "boolean", int: "number", float: "number", str: "text"}


def _passes(content: JsonValue, condition: dict[str, Any]) -> bool:
    is_there = isinstance(content, dict) and condition["field"] in content
    value = content[condition["field"]] if isinstance(content, dict) and is_there else None
    wanted = condition["value"]
    is_equal = is_there and comparable(value) == comparable(wanted)
    operator = condition["operator"]
    if operator in ("eq", "ne"):
        return bool(is_equal == (operator == "eq"))
    if not is_there or _KINDS.get(type(value)) != _KINDS.get(type(wanted), "none"):
        return False
    if operator in ("gt", "lt"):
        return bool((value > wanted) if operator == "gt" else (value < wanted))
    return bool((value >= wanted) if operator == "gte" else (value <= wanted))


def expired_records(
    tables: Tables,
) -> list[tuple[dt.datetime, FrameworkSession, FrameworkRecord]]:
    """Return what has expired, the oldest first, with its session."""
    return sorted(
        (
            (stored.record.expires_at, session, stored.record)
            for session in tables.framework_sessions.values()
            for stored in tables.framework_records.get(session.id, {}).values()
            if is_expired(tables, stored) and stored.record.expires_at is not None
        ),
        key=lambda one: one[0],
    )


def expire_records(tables: Tables, *, limit: int) -> int:
    """Delete what has expired."""
    check_writable(tables)
    gone = expired_records(tables)[:limit]
    for _, session, record in gone:
        drop_records(tables, session, [record])
    return len(gone)
