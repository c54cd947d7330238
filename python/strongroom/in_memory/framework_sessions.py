"""What the calls of FrameworkStore do with sessions."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, LimitExceeded, NotFound
from strongroom.ids import new_id
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable
from strongroom.in_memory.database import StoredRecord, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import check_size, comparable
from strongroom.models.frameworks import FrameworkSession
from strongroom.models.pages import Direction, Page

PATH_BYTES = 1_000
STATE_BYTES = 1_048_576
TOUCHED_EVERY = dt.timedelta(hours=1)
LASTING = {"values", "versions"}
"""Collections of what was put to last: a session that holds some does not end by its age."""


def check_path(field: str, path: list[str]) -> None:
    """Refuse a path of more bytes than an index takes."""
    size = len("".join(path).encode(errors="replace"))
    if size > PATH_BYTES:
        raise LimitExceeded(
            f"{field} has {size} bytes; at most {PATH_BYTES} are allowed",
            detail={"path": field, "limit": PATH_BYTES, "actual": size},
            hint="Use shorter labels.",
        )


def sessions_below(tables: Tables, framework: str, path: list[str]) -> list[FrameworkSession]:
    """Return the sessions at and below a path, by path."""
    return sorted(
        (
            session
            for (owner, at), session in tables.framework_sessions.items()
            if owner == framework and [*at[: len(path)]] == path
        ),
        key=lambda session: session.path,
    )


def hold_session(
    tables: Tables, framework: str, path: list[str], principal_id: str | None
) -> FrameworkSession:
    """Return the session with this path, made where it is missing."""
    found = tables.framework_sessions.get((framework, tuple(path)))
    if found is None:
        principal_id = _owner_of(tables, framework, path, principal_id)
        found = keep_session(
            tables,
            FrameworkSession(
                tenant_id=tables.tenant_id,
                id=new_id(),
                framework=framework,
                path=tuple(path),
                principal_id=principal_id,
                state={},
                version=1,
                last_position=0,
                created_at=tables.now,
                updated_at=tables.now,
            ),
        )
    check_principal(found, principal_id)
    if found.updated_at < tables.now - TOUCHED_EVERY:
        found = keep_session(tables, found.replace(updated_at=tables.now))
    return found


def _owner_of(
    tables: Tables, framework: str, path: list[str], principal_id: str | None
) -> str | None:
    """Return whose a session that is new is: below a person's it is theirs."""
    for depth in range(len(path) - 1, 0, -1):
        above = tables.framework_sessions.get((framework, tuple(path[:depth])))
        if above is None or above.principal_id is None:
            continue
        if principal_id is None:
            return above.principal_id
        check_principal(above, principal_id)
    return principal_id


def check_principal(session: FrameworkSession, principal_id: str | None) -> None:
    """Refuse another principal than the one whose session it is."""
    if principal_id not in {None, session.principal_id}:
        raise AlreadyExists(
            "this session is not that principal's",
            detail={"path": "principal_id", "record": "framework session"},
            hint="Use the principal that it was made for, or another path.",
        )


def keep_session(tables: Tables, session: FrameworkSession) -> FrameworkSession:
    """Write a session."""
    tables.framework_sessions[session.framework, session.path] = session
    return session


def live_records(
    tables: Tables, session: FrameworkSession, collection: str | None = None
) -> list[StoredRecord]:
    """Return the records of a session that have not expired, by collection and key."""
    found = tables.framework_records.get(session.id, {})
    return [
        stored
        for (owner, _), stored in sorted(found.items())
        if collection in {None, owner} and not is_expired(tables, stored)
    ]


def is_expired(tables: Tables, stored: StoredRecord) -> bool:
    """Whether its time to live has passed."""
    # Reads look at what was committed before: its moment is not now.
    now = max(tables.now, dt.datetime.now(dt.UTC))
    return stored.record.expires_at is not None and stored.record.expires_at <= now


def find_session(
    tables: Tables, *, framework: str, path: list[str], principal_id: str | None = None
) -> FrameworkSession | None:
    """Return one session."""
    check_path("path", path)
    found = tables.framework_sessions.get((framework, tuple(path)))
    if found is not None:
        check_principal(found, principal_id)
    return found


def put_session(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    state: dict[str, Any],
    expected_version: int,
    principal_id: str | None = None,
) -> FrameworkSession:
    """Make a session, or replace the state of one."""
    check_writable(tables)
    check_path("path", path)
    check_size("state", state, STATE_BYTES)
    found = tables.framework_sessions.get((framework, tuple(path)))
    if found is None:
        if expected_version:
            raise NotFound(
                "the framework session does not exist",
                detail={"path": "path", "record": "framework session"},
                hint="Make it with expected_version 0.",
            )
        made = hold_session(tables, framework, path, principal_id)
        return keep_session(tables, made.replace(state=state))
    check_principal(found, principal_id)
    repeats = comparable(found.state) == comparable(state)
    if found.version == expected_version + 1 and repeats:
        return found
    check_version("framework session", expected_version, found.version)
    return keep_session(
        tables, found.replace(state=state, version=found.version + 1, updated_at=tables.now)
    )


def list_sessions(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    limit: int,
    direction: Direction,
    after: str | None = None,
    before: str | None = None,
    principal_id: str | None = None,
    collection: str | None = None,
) -> Page[FrameworkSession]:
    """Return a page of sessions by path."""
    check_page(after, before)
    check_path("path", path)
    return page_of(
        [
            session
            for session in sessions_below(tables, framework, path)
            if principal_id in {None, session.principal_id}
            and (collection is None or live_records(tables, session, collection))
        ],
        key=lambda session: [*session.path],
        descending=direction == "backward",
        scope=cursor_scope(
            "framework_sessions", [framework, [*path], principal_id, collection], direction
        ),
        limit=limit,
        after=after,
        before=before,
    )


def delete_sessions(
    tables: Tables,
    *,
    framework: str,
    path: list[str],
    exact: bool,
    principal_id: str | None = None,
) -> int:
    """Delete a session and those below it."""
    check_writable(tables)
    check_path("path", path)
    gone = [
        session
        for session in sessions_below(tables, framework, path)
        if not exact or [*session.path] == path
    ]
    for session in gone:
        check_principal(session, principal_id)
    for session in gone:
        drop_session(tables, session)
        record_audit(
            tables,
            "framework_session.delete",
            "framework_session",
            session.id,
            details={"framework": framework, "last_position": session.last_position},
        )
    return len(gone)


def drop_session(tables: Tables, session: FrameworkSession) -> int:
    """Take a session out, and say how many records went with it."""
    del tables.framework_sessions[session.framework, session.path]
    return len(tables.framework_records.pop(session.id, {}))


def fork_session(
    tables: Tables,
    *,
    framework: str,
    from_path: list[str],
    path: list[str],
    principal_id: str | None = None,
) -> int:
    """Copy a session and those below it."""
    check_writable(tables)
    check_path("from_path", from_path)
    check_path("path", path)
    if path[: len(from_path)] == from_path or from_path[: len(path)] == path:
        raise InvalidArgument(
            "path lies in from_path, or the other way round",
            detail={"path": "path"},
            hint="Copy to a path of its own.",
        )
    sources = sessions_below(tables, framework, from_path)
    for source in sources:
        check_principal(source, principal_id)
        target = [*path, *source.path[len(from_path) :]]
        check_path("path", target)
        if (framework, tuple(target)) in tables.framework_sessions:
            raise AlreadyExists(
                "there is a session with this path",
                detail={"path": "path", "record": "framework session"},
                hint="Delete it first, or copy to another path.",
            )
        made = hold_session(tables, framework, target, source.principal_id)
        keep_session(tables, made.replace(state=source.state, last_position=source.last_position))
        tables.framework_records[made.id] = {
            (stored.record.collection, stored.record.key): stored.at(made.path)
            for stored in live_records(tables, source)
        }
    return len(sources)


def sweep_sessions(tables: Tables, before: dt.datetime, limit: int) -> tuple[int, int]:
    """End sessions in which nothing was written since, the deepest first."""
    old = sorted(
        (session for session in tables.framework_sessions.values() if session.updated_at < before),
        key=lambda session: (-len(session.path), session.updated_at, session.id),
    )
    count = 0
    for session in old:
        if count == limit:
            break
        if _may_end(tables, session, before):
            drop_session(tables, session)
            count += 1
    return count, 0


def _may_end(tables: Tables, session: FrameworkSession, before: dt.datetime) -> bool:
    above = [
        tables.framework_sessions.get((session.framework, session.path[:depth]))
        for depth in range(1, len(session.path))
    ]
    return (
        not any(name in LASTING for name, _ in tables.framework_records.get(session.id, {}))
        and len(sessions_below(tables, session.framework, [*session.path])) == 1
        and _is_idle(tables, session, before)
        and not any(
            other is not None
            and tables.framework_records.get(other.id)
            and not _is_idle(tables, other, before)
            for other in above
        )
    )


def _is_idle(tables: Tables, session: FrameworkSession, before: dt.datetime) -> bool:
    return session.updated_at < before and not any(
        stored.record.updated_at >= before
        for stored in tables.framework_records.get(session.id, {}).values()
    )
