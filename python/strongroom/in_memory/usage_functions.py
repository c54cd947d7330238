"""What the calls of UsageStore do to the tables."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, NotFound
from strongroom.in_memory.base import check_writable, is_readable
from strongroom.in_memory.database import Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.base import JsonValue
from strongroom.models.messages import AppendOutcome
from strongroom.models.pages import Direction, Page
from strongroom.models.runs import Run
from strongroom.models.usage import (
    TOKENS,
    Cost,
    RecordedUsage,
    UsageEvent,
    UsageItem,
    UsageKey,
    UsageSum,
    UsageTotals,
)

AHEAD = dt.timedelta(minutes=5)
"""How far in the future usage may lie: clocks differ."""

Given = dict[str, Any]
_KEYS = {
    "model": "model",
    "agent": "agent_id",
    "principal": "principal_id",
    "conversation": "conversation_id",
}


def check_usage(path: str, events: list[Given]) -> list[Given]:
    """Refuse what no model can know to be wrong; return the events with their moments."""
    now = dt.datetime.now(dt.UTC)
    checked = []
    for index, event in enumerate(events):
        check_size(f"{path}[{index}].metadata", event.get("metadata", {}), METADATA_BYTES)
        occurred_at = event.get("occurred_at")
        moment = dt.datetime.fromisoformat(occurred_at) if occurred_at else None
        if moment is not None and moment > now + AHEAD:
            raise _refused(
                f"{path}[{index}].occurred_at",
                f"{path}[{index}].occurred_at is more than 5 minutes in the future",
            )
        checked.append({**event, "occurred_at": moment})
    if len({event["id"] for event in events}) < len(events):
        raise _refused(path, f"{path} names an id twice")
    return checked


def _refused(path: str, message: str) -> InvalidArgument:
    return InvalidArgument(
        message, detail={"path": path}, hint="Mend it and repeat; nothing was written."
    )


def record_usage(tables: Tables, *, events: list[Given]) -> tuple[RecordedUsage, ...]:
    """Record events, all or none."""
    check_writable(tables)
    written = write_usage(tables, check_usage("events", events))
    return tuple(RecordedUsage(**dict(event), outcome=outcome) for event, outcome in written)


def write_usage(tables: Tables, events: list[Given]) -> list[tuple[UsageEvent, AppendOutcome]]:
    """Write checked events; what is corrected before its corrections."""
    done: dict[str, tuple[UsageEvent, AppendOutcome]] = {}
    for event in sorted(events, key=lambda given: given.get("corrects_id") is not None):
        done[event["id"]] = _write_one(tables, event)
    return [done[event["id"]] for event in events]


def _write_one(tables: Tables, given: Given) -> tuple[UsageEvent, AppendOutcome]:
    step = (given.get("run_id"), given.get("step_id"))
    known_id = given["id"] if given["id"] in tables.usage_events else None
    if known_id is None and None not in step:
        known_id = tables.usage_by_step.get(step)  # type: ignore[arg-type]
    if known_id is not None:
        known = tables.usage_events[known_id]
        return known, "duplicate" if _is_same(known, given) else "conflict"
    content = _correction(tables, given) if given.get("corrects_id") else _normal(given)
    event = UsageEvent(
        **{
            **dict.fromkeys(UsageEvent.model_fields),
            **dict.fromkeys(TOKENS, 0),
            "metadata": {},
            **content,
            "tenant_id": tables.tenant_id,
            "occurred_at": given["occurred_at"] or tables.now,
            "created_at": dt.datetime.now(dt.UTC),
        }
    )
    tables.usage_events[event.id] = event
    if event.run_id is not None and event.step_id is not None:
        tables.usage_by_step[event.run_id, event.step_id] = event.id
    return event, "inserted"


def _normal(given: Given) -> Given:
    if given.get("cost") is None:
        return given
    return {"cost_decimals": 2, **given}


def _correction(tables: Tables, given: Given) -> Given:
    """Return the correction with what it shares with the event that it corrects."""
    corrected = tables.usage_events.get(given["corrects_id"])
    if corrected is None:
        raise NotFound(
            "the usage event that is to be corrected does not exist",
            detail={"path": "corrects_id", "record": "usage"},
            hint="Name an event of this tenant.",
        )
    if corrected.corrects_id is not None:
        raise _refused("corrects_id", "a correction cannot be corrected")
    earlier = [e for e in tables.usage_events.values() if e.corrects_id == corrected.id]
    for name in (*TOKENS, "cost"):
        amounts = [getattr(event, name) or 0 for event in (corrected, *earlier)]
        if sum(amounts) + (given.get(name) or 0) < 0:
            raise _refused("corrects_id", "the corrections would exceed what they correct")
    shared = (
        *("conversation_id", "run_id", "tool_call_id", "principal_id", "agent_id"),
        *("agent_version", "model", "cost_decimals", "currency"),
    )
    cost = None if corrected.cost is None else given.get("cost") or 0
    return {**given, **{name: getattr(corrected, name) for name in shared}, "cost": cost}


def _is_same(known: UsageEvent, given: Given) -> bool:
    if known.occurred_at != (given["occurred_at"] or known.occurred_at) or (
        comparable(known.metadata) != comparable(given.get("metadata", {}))
    ):
        return False
    if known.corrects_id is not None or given.get("corrects_id") is not None:
        return known.corrects_id == given.get("corrects_id") and all(
            (getattr(known, name) or 0) == (given.get(name) or 0) for name in (*TOKENS, "cost")
        )
    principal_id = given.get("principal_id")
    if known.principal_id != principal_id and (known.principal_id or not principal_id):
        return False  # erasure forgets the person, and not what was used
    names = (
        *("conversation_id", "run_id", "step_id", "tool_call_id", "agent_id", "agent_version"),
        *("model", "cost", "currency"),
    )
    return (
        all(getattr(known, name) == given.get(name) for name in names)
        and all(getattr(known, name) == given.get(name, 0) for name in TOKENS)
        and (known.cost_decimals or 2) == given.get("cost_decimals", 2)
    )


def write_run_usage(tables: Tables, run: Run, usage: list[Given]) -> tuple[UsageItem, ...]:
    """Write usage of a run: run and conversation are its own; agent and principal, where none is named."""
    owner_id = tables.conversations[run.conversation_id].record.owner_id
    ready = []
    for given in check_usage("usage", usage):
        if given.get("corrects_id"):
            ready.append(given)
            continue
        agent: Given = {} if "agent_id" in given else {"agent_id": run.agent_id}
        if "agent_id" not in given and run.agent_version is not None:
            agent["agent_version"] = run.agent_version
        place = {"run_id": run.id, "conversation_id": run.conversation_id}
        ready.append({"principal_id": owner_id, **agent, **given, **place})
    written = write_usage(tables, ready)
    for event, outcome in written:
        if outcome == "conflict":
            raise AlreadyExists(
                "usage with one of these ids or steps exists with other content",
                detail={"path": "usage", "id": event.id},
                hint="Another attempt of a step is another step: give it an id of its own.",
            )
    return tuple(UsageItem(id=event.id, outcome=outcome) for event, outcome in written)


def find_usage(tables: Tables, *, usage_id: str, viewer_id: str | None) -> UsageEvent | None:
    """Return the event, if the viewer may read it."""
    event = tables.usage_events.get(usage_id)
    return event if event is not None and _is_readable(tables, event, viewer_id) else None


def _is_readable(tables: Tables, event: UsageEvent, viewer_id: str | None) -> bool:
    """As the conversation, which must be the one that was there when it was recorded."""
    if viewer_id is None:
        return True
    row = tables.conversations.get(event.conversation_id or "")
    return (
        row is not None
        and row.record.created_at <= event.created_at
        and is_readable(row.record, viewer_id)
    )


def _filtered(
    tables: Tables,
    viewer_id: str | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    filters: dict[str, str | None],
) -> list[UsageEvent]:
    return [
        event
        for event in tables.usage_events.values()
        if all(value in (None, getattr(event, name)) for name, value in filters.items())
        and (since is None or event.occurred_at >= since)
        and (until is None or event.occurred_at < until)
        and _is_readable(tables, event, viewer_id)
    ]


def _bounds(*moments: dt.datetime | None) -> list[JsonValue]:
    return [moment.isoformat() if moment else None for moment in moments]


def list_usage(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    **filters: str | None,
) -> Page[UsageEvent]:
    """Return a page of events, forward by the time they occurred."""
    check_page(after, before)
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    scope = [viewer_id, *filters.values(), *_bounds(since, until)]
    return page_of(
        _filtered(tables, viewer_id, since, until, filters),
        key=lambda event: [
            (event.occurred_at - start) // dt.timedelta(microseconds=1),
            event.id,
        ],
        descending=direction == "backward",
        scope=cursor_scope("usage", scope, direction),
        limit=limit,
        after=after,
        before=before,
    )


def _sum(events: Iterable[UsageEvent]) -> dict[str, Any]:
    rows = list(events)
    by_currency: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for event in rows:
        if event.currency is not None:
            by_currency[event.currency].append((event.cost or 0, event.cost_decimals or 0))
    costs = []
    for currency, amounts in sorted(by_currency.items()):
        finest = max(decimals for _, decimals in amounts)
        cost = sum(amount * 10 ** (finest - decimals) for amount, decimals in amounts)
        costs.append(Cost(currency=currency, cost=cost, decimals=finest))
    tokens = {name: sum(getattr(event, name) for event in rows) for name in TOKENS}
    return {"event_count": len(rows), **tokens, "costs": tuple(costs)}


def read_usage_totals(
    tables: Tables,
    *,
    viewer_id: str | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    **filters: str | None,
) -> UsageTotals:
    """Return the sum of the events."""
    return UsageTotals(**_sum(_filtered(tables, viewer_id, since, until, filters)))


def list_usage_rollup(
    tables: Tables,
    *,
    by: UsageKey,
    time_zone: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    **filters: str | None,
) -> Page[UsageSum]:
    """Return a page of sums, by key."""
    check_page(after, before)
    try:
        zone = zoneinfo.ZoneInfo(time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidArgument(
            "time_zone is not known",
            detail={"path": "time_zone"},
            hint="Give an IANA name: UTC, Europe/Lisbon, America/New_York.",
        ) from error
    groups: defaultdict[str | None, list[UsageEvent]] = defaultdict(list)
    for event in _filtered(tables, viewer_id, since, until, filters):
        if by == "day":
            key: str | None = event.occurred_at.astimezone(zone).date().isoformat()
        else:
            key = getattr(event, _KEYS[by])
        groups[key].append(event)
    scope = [by, time_zone, viewer_id, *filters.values(), *_bounds(since, until)]
    return page_of(
        [UsageSum(key=key, **_sum(events)) for key, events in groups.items()],
        key=lambda row: [row.key or ""],
        descending=direction == "backward",
        scope=cursor_scope("usage_rollup", scope, direction),
        limit=limit,
        after=after,
        before=before,
    )
