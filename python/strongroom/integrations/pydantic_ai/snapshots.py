"""Snapshots of a run: each message of it stored once, however many snapshots hold it.

A run's *frontier* is one record: the numbers that come next, and for every message of the newest snapshot
its number and its SHA-256. A save reads it, writes the messages that it does not know, the snapshot (as
ranges of numbers) and the frontier on top of the version that was read, in one call: all or none, and of
two that save at once one begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai_harness.step_persistence import ContinuableSnapshot

from strongroom.errors import NotFound, VersionConflict
from strongroom.ids import new_id
from strongroom.integrations.pages import all_values
from strongroom.integrations.plain import plain
from strongroom.integrations.pydantic_ai.messages import digest, read, written
from strongroom.integrations.pydantic_ai.places import FRAMEWORK, TRIES, Steps, known_by, run_path
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.frameworks import (
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
)

DIGEST = 32
_SNAPSHOT = TypeAdapter(ContinuableSnapshot)
Ranges = list[list[int]]


@dataclass(kw_only=True)
class _Frontier:
    version: int = 0
    next_snapshot: int = 1
    next_message: int = 1
    sequence: int = -1
    keys: list[str] = field(default_factory=list)
    newest: int | None = None
    complete: int | None = None
    known: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def of(cls, record: FrameworkRecord | None) -> _Frontier:
        if record is None:
            return cls()
        content = cast("dict[str, Any]", record.content)
        digests = record.data or b""
        numbers = content.pop("messages")
        return cls(
            version=record.version,
            known={
                digests[place * DIGEST : (place + 1) * DIGEST]: number
                for place, number in enumerate(_numbers(numbers))
            },
            **content,
        )

    def has_seen(self, key: str | None) -> bool:
        """Whether a key's save was made, or a later one: the harness counts its saves in the key."""
        sequence = _sequence(key)
        return sequence is not None and (
            sequence < self.sequence or (sequence == self.sequence and key in self.keys)
        )

    def change(self, run_id: str, history: list[bytes]) -> FrameworkRecordChange:
        content = {
            "next_snapshot": self.next_snapshot,
            "next_message": self.next_message,
            "sequence": self.sequence,
            "keys": self.keys,
            "newest": self.newest,
            "complete": self.complete,
            "messages": _ranges(self.known[one] for one in history),
        }
        return FrameworkRecordChange(
            path=run_path(run_id),
            collection="frontier",
            key="frontier",
            content=cast("JsonObject", content),
            data=b"".join(history),
            expected_version=self.version,
        )


async def save(steps: Steps, snapshot: ContinuableSnapshot, most: int | None) -> None:
    """Save a snapshot; with ``most`` forget the oldest of the run beyond that many."""
    fields = plain(
        snapshot,
        "snapshot",
        lambda value: _SNAPSHOT.dump_python(
            value, mode="json", exclude={"messages"}, warnings="error"
        ),
    )
    messages = written(snapshot.messages)
    save_id = new_id()
    for last in (*[False] * (TRIES - 1), True):
        frontier, is_known = await _look(steps, snapshot.run_id, snapshot.idempotency_key)
        if is_known:
            return
        changes = _changes(frontier, snapshot, fields, messages, save_id)
        if most is not None:
            changes.extend(await _forgotten(steps, snapshot.run_id, changes[1], most))
        try:
            await steps.put(changes)
        except VersionConflict:
            # Perhaps it was this very save, whose answer was lost on the way.
            if await _is_saved(steps, snapshot.run_id, changes[1].key, save_id):
                return
            if last:
                raise
        else:
            return


async def latest(
    steps: Steps, run_id: str, *, include_interrupted: bool
) -> ContinuableSnapshot | None:
    """Return a run's newest snapshot, or its newest that is complete."""
    for _ in range(TRIES):
        frontier, _ = await _look(steps, run_id, None)
        number = frontier.newest if include_interrupted else frontier.complete
        if number is None:
            return None
        found = await steps.find([_reference(run_id, "snapshots", number)])
        snapshots = await _read(steps, run_id, found)
        if snapshots:
            return snapshots[0]
        # It was forgotten in between: another is the newest.
    raise NotFound(
        "the newest snapshot of the run, or a message of it, is not there",
        detail={"path": "run_id", "record": "framework record"},
        hint="Something else than this store deletes records of the run.",
    )


async def every(
    steps: Steps, run_id: str, *, include_interrupted: bool
) -> list[ContinuableSnapshot]:
    """Return a run's snapshots in the order in which they were saved."""
    found = await _records(steps, run_id)
    return await _read(
        steps, run_id, [one for one in found if include_interrupted or _is_complete(one)]
    )


def _changes(
    frontier: _Frontier,
    snapshot: ContinuableSnapshot,
    fields: JsonValue,
    messages: list[JsonValue],
    save_id: str,
) -> list[FrameworkRecordChange]:
    """Return the frontier, the snapshot, and what is new for both."""
    path = run_path(snapshot.run_id)
    number = frontier.next_snapshot
    history = [digest(message) for message in messages]
    known = dict(frontier.known)
    news: list[FrameworkRecordChange] = []
    for one, message in zip(history, messages, strict=True):
        if one not in known:
            known[one] = frontier.next_message + len(news)
            news.append(
                FrameworkRecordChange(
                    path=path, collection="messages", key=_key(known[one]), content=message
                )
            )
    key = snapshot.idempotency_key
    sequence = _sequence(key)
    moved = replace(
        frontier,
        next_snapshot=number + 1,
        next_message=frontier.next_message + len(news),
        newest=number,
        complete=number if snapshot.state == "complete" else frontier.complete,
        known=known,
    )
    if key is not None and sequence is not None:
        earlier = frontier.keys if sequence == frontier.sequence else []
        moved = replace(moved, sequence=sequence, keys=[*earlier, key])
    elif key is not None:
        news.append(
            FrameworkRecordChange(
                path=path, collection="snapshot_keys", key=known_by(key), content=number
            )
        )
    content = {
        "snapshot": fields,
        "messages": _ranges(known[one] for one in history),
        "save_id": save_id,
    }
    return [
        moved.change(snapshot.run_id, history),
        FrameworkRecordChange(
            path=path,
            collection="snapshots",
            key=_key(number),
            content=cast("JsonObject", content),
        ),
        *news,
    ]


async def _forgotten(
    steps: Steps, run_id: str, newest: FrameworkRecordChange, most: int
) -> list[FrameworkRecordChange]:
    """Return what goes: all but the newest snapshots and the newest complete one; their messages."""
    stored: list[Any] = [*await _records(steps, run_id), newest]
    kept = {one.key for one in stored[-most:]}
    kept.update([one.key for one in stored if _is_complete(one)][-1:])
    gone = [one for one in stored if one.key not in kept]
    needed = set(chain(*(_numbers(one.content["messages"]) for one in stored if one.key in kept)))
    orphans = set(chain(*(_numbers(one.content["messages"]) for one in gone))) - needed
    places = [("snapshots", one.key) for one in gone]
    places.extend(("messages", _key(number)) for number in sorted(orphans))
    return [
        FrameworkRecordChange(path=run_path(run_id), collection=collection, key=key, mode="delete")
        for collection, key in places
    ]


async def _look(steps: Steps, run_id: str, key: str | None) -> tuple[_Frontier, bool]:
    """Return a run's frontier, and whether the save with this key was made."""
    path = run_path(run_id)
    wanted = [FrameworkRecordReference(path=path, collection="frontier", key="frontier")]
    if key is not None:
        wanted.append(
            FrameworkRecordReference(path=path, collection="snapshot_keys", key=known_by(key))
        )
    found = {one.collection: one for one in await steps.find(wanted)}
    frontier = _Frontier.of(found.get("frontier"))
    return frontier, "snapshot_keys" in found or frontier.has_seen(key)


async def _is_saved(steps: Steps, run_id: str, key: str, save_id: str) -> bool:
    found = await steps.find(
        [FrameworkRecordReference(path=run_path(run_id), collection="snapshots", key=key)]
    )
    return bool(found) and cast("dict[str, Any]", found[0].content)["save_id"] == save_id


async def _records(steps: Steps, run_id: str) -> Sequence[FrameworkRecord]:
    return await all_values(
        steps.store,
        tenant_id=steps.tenant_id,
        framework=FRAMEWORK,
        path=run_path(run_id),
        collection="snapshots",
        principal_id=steps.principal_id,
    )


async def _read(
    steps: Steps, run_id: str, records: Sequence[FrameworkRecord]
) -> list[ContinuableSnapshot]:
    """Return snapshots with their messages; without those that were forgotten in between."""
    contents = [cast("dict[str, Any]", record.content) for record in records]
    numbers = sorted(set(chain(*(_numbers(content["messages"]) for content in contents))))
    found = await steps.find([_reference(run_id, "messages", number) for number in numbers])
    stored = {int(record.key): record.content for record in found}
    return [
        replace(
            _SNAPSHOT.validate_python({**content["snapshot"], "messages": []}),
            messages=read([stored[number] for number in _numbers(content["messages"])]),
        )
        for content in contents
        if all(number in stored for number in _numbers(content["messages"]))
    ]


def _is_complete(record: Any) -> bool:
    return bool(record.content["snapshot"]["state"] == "complete")


def _reference(run_id: str, collection: str, number: int) -> FrameworkRecordReference:
    return FrameworkRecordReference(path=run_path(run_id), collection=collection, key=_key(number))


def _key(number: int) -> str:
    return f"{number:015}"


def _sequence(key: str | None) -> int | None:
    """Return the number that the harness's own keys begin with."""
    prefix, colon, _ = (key or "").partition(":")
    return int(prefix) if colon and prefix.isascii() and prefix.isdigit() else None


def _ranges(numbers: Iterable[int]) -> Ranges:
    found: Ranges = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _numbers(ranges: Ranges) -> list[int]:
    return [number for first, last in ranges for number in range(first, last + 1)]
