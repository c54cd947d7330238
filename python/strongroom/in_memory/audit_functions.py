"""What the calls of AuditStore do to the tables, and what the functions that change them record."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import uuid
from dataclasses import replace
from typing import Any

from strongroom.errors import InvalidArgument
from strongroom.ids import new_id
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.database import AuditRow, Person, SealRow, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.audit import (
    AppendedAuditEvent,
    AuditEvent,
    AuditQueue,
    AuditSeal,
    AuditSource,
    AuditVerification,
)
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.pages import Direction, Page

_SEQUENCE = itertools.count(1)
OUTLINED = 8
"""How many ids of a list the details of an event name; a longer one is told by its length."""


def record_audit(
    tables: Tables,
    action: str,
    record: str,
    record_id: str,
    *,
    details: JsonObject | None = None,
    actor_id: str | None = None,
    principal_id: str | None = None,
) -> None:
    """Record an event, with the write that it tells of."""
    _write(
        tables,
        id=new_id(),
        source="strongroom",
        action=action,
        record=record,
        record_id=record_id,
        details=details or {},
        actor_id=actor_id,
        principal_id=principal_id,
    )


def outline_ids(name: str, ids: list[str]) -> JsonObject:
    """Return how many ids there are and the first eight, for the details of an event."""
    return {f"{name}_count": len(ids), f"{name}_ids": [*ids[:OUTLINED]]}


def _write(tables: Tables, *, source: AuditSource, **content: Any) -> AuditRow:
    event = AuditEvent(
        tenant_id=tables.tenant_id,
        sequence=next(_SEQUENCE),
        source=source,
        created_at=tables.now,
        **content,
    )
    row = AuditRow(event, _person(event.actor_id), _person(event.principal_id))
    tables.audit_events[event.id] = row
    return row


def _person(principal_id: str | None) -> Person:
    if principal_id is None:
        return Person(None, None)
    salt = str(uuid.uuid4())
    return Person(salt, _digest(salt + principal_id))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def append_audit_events(
    tables: Tables, *, events: list[dict[str, Any]]
) -> tuple[AppendedAuditEvent, ...]:
    """Append events of the host's own; know repeated ones by id and content."""
    check_writable(tables)
    for index, event in enumerate(events):
        check_size(f"events[{index}].details", event.get("details", {}), METADATA_BYTES)
    if len({event["id"] for event in events}) < len(events):
        raise InvalidArgument(
            "events names an id twice",
            detail={"path": "events"},
            hint="Each event of a batch has its own id.",
        )
    done = []
    for event in events:
        row, outcome = tables.audit_events.get(event["id"]), "duplicate"
        if row is None:
            row, outcome = _write(tables, source="host", **event), "inserted"
        elif not _is_same(row, event):
            outcome = "conflict"
        done.append(AppendedAuditEvent(**dict(row.record), outcome=outcome))
    return tuple(done)


def _is_same(row: AuditRow, event: dict[str, Any]) -> bool:
    known = row.record
    people = (
        (known.actor_id, row.actor, "actor_id"),
        (known.principal_id, row.principal, "principal_id"),
    )
    return (
        known.source == "host"
        and all(getattr(known, name) == event[name] for name in ("action", "record", "record_id"))
        and comparable(known.details) == comparable(event.get("details", {}))
        and all(
            (person.digest is None) == (event.get(name) is None)
            and (name_known is None or name_known == event.get(name))
            for name_known, person, name in people
        )
    )


def find_audit_event(tables: Tables, *, event_id: str) -> AuditEvent | None:
    """Return the event."""
    row = tables.audit_events.get(event_id)
    return row.record if row else None


def list_audit_events(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    since: dt.datetime | None,
    until: dt.datetime | None,
    **filters: str | None,
) -> Page[AuditEvent]:
    """Return a page of events, forward oldest first."""
    check_page(after, before)
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    bounds: list[JsonValue] = [moment.isoformat() if moment else None for moment in (since, until)]
    return page_of(
        [
            row.record
            for row in tables.audit_events.values()
            if all(value in (None, getattr(row.record, name)) for name, value in filters.items())
            and (since is None or row.record.created_at >= since)
            and (until is None or row.record.created_at < until)
        ],
        key=lambda event: [
            (event.created_at - start) // dt.timedelta(microseconds=1),
            event.sequence,
        ],
        descending=direction == "backward",
        scope=cursor_scope("audit_events", [*filters.values(), *bounds], direction),
        limit=limit,
        after=after,
        before=before,
    )


def seal_audit(tables: Tables, *, limit: int) -> AuditSeal:
    """Give unsealed events their places in the chain, in the order of recording."""
    last = _last_seal(tables)
    position, digest = last.last_position, last.digest
    unsealed = _unsealed(tables)
    for row in unsealed[:limit]:
        position += 1
        digest = _link(digest, position, row)
        sealed = row.record.replace(position=position, chain_digest=digest)
        tables.audit_events[sealed.id] = replace(row, record=sealed)
    if unsealed:
        tables.audit_seals = (*tables.audit_seals, SealRow(position, digest, tables.now))
    return AuditSeal(
        tenant_id=tables.tenant_id,
        sealed=position - last.last_position,
        last_position=position,
        digest=digest,
        has_more=len(unsealed) > limit,
    )


def _unsealed(tables: Tables) -> list[AuditRow]:
    return sorted(
        (row for row in tables.audit_events.values() if row.record.position is None),
        key=lambda row: row.record.sequence,
    )


def _last_seal(tables: Tables) -> SealRow:
    return tables.audit_seals[-1] if tables.audit_seals else SealRow(0, "", None)


def oldest_unsealed(tables: Tables) -> int | None:
    """Return the place in the order of recording of the oldest event that is not sealed."""
    unsealed = _unsealed(tables)
    return unsealed[0].record.sequence if unsealed else None


def read_audit_queue(tables: Tables) -> AuditQueue:
    """Return how many events are not sealed, and since when."""
    unsealed, last = _unsealed(tables), _last_seal(tables)
    return AuditQueue(
        unsealed=len(unsealed),
        oldest_at=unsealed[0].record.created_at if unsealed else None,
        last_position=last.last_position,
        sealed_at=last.created_at,
    )


def _link(previous: str, position: int, row: AuditRow) -> str:
    event = row.record
    said = [event.tenant_id, event.id, event.sequence, event.action, event.record, event.record_id]
    said += [json.dumps(event.details, sort_keys=True), event.source]
    said += [row.actor.digest, row.principal.digest, event.created_at.isoformat()]
    return _digest(f"{previous}:{position}:{_digest(json.dumps(said))}")


def verify_audit(  # noqa: PLR0911 (one for each thing that can be wrong)
    tables: Tables,
    *,
    after_position: int,
    limit: int,
    known_position: int | None,
    known_digest: str | None,
) -> AuditVerification:
    """Follow the chain, and name the first event that does not fit."""
    if (known_position is None) != (known_digest is None):
        raise InvalidArgument(
            "known_position and known_digest are given together",
            detail={"path": "known_digest"},
            hint="Give both as seal returned them, or none.",
        )
    seals = {seal.last_position: seal.digest for seal in tables.audit_seals}
    sealed_to = max(seals, default=0)
    if known_position is not None and known_position > sealed_to:
        return _bad(after_position, "removed", sealed_to + 1)
    chain = {
        row.record.position: row for row in tables.audit_events.values() if row.record.position
    }
    verified_to, digest = after_position, ""
    if after_position:
        if after_position not in chain:
            return _bad(after_position, "removed", after_position)
        digest = chain[after_position].record.chain_digest or ""
    following = sorted(position for position in chain if position > after_position)
    for position in following[:limit]:
        row = chain[position]
        if position > sealed_to:
            return _bad(verified_to, "inserted", position, row)
        if position > verified_to + 1:
            return _bad(verified_to, "removed", verified_to + 1)
        digest = _link(digest, position, row)
        known = known_digest if position == known_position else digest
        people = ((row.record.actor_id, row.actor), (row.record.principal_id, row.principal))
        if {digest} != {row.record.chain_digest, seals.get(position, digest), known} or any(
            name is not None and person.digest != _digest(f"{person.salt}{name}")
            for name, person in people
        ):
            return _bad(verified_to, "changed", position, row)
        verified_to = position
    has_more = len(following) > limit
    if not has_more and verified_to < sealed_to:
        return _bad(verified_to, "removed", verified_to + 1)
    return AuditVerification(
        is_sound=True,
        verified_to=verified_to,
        has_more=has_more,
        problem=None,
        bad_position=None,
        event_id=None,
    )


def _bad(
    verified_to: int, problem: Any, position: int, row: AuditRow | None = None
) -> AuditVerification:
    return AuditVerification(
        is_sound=False,
        verified_to=verified_to,
        has_more=False,
        problem=problem,
        bad_position=position,
        event_id=row.record.id if row else None,
    )
