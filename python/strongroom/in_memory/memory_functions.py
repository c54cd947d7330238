"""What the SQL functions about principal memory do, on tables in memory."""

from __future__ import annotations

import datetime as dt
import struct
from dataclasses import replace
from typing import Any

from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidTransition,
    NotFound,
    PermissionDenied,
    VersionConflict,
)
from strongroom.in_memory.base import check_version, check_writable
from strongroom.in_memory.database import MemorySettings, StoredFact, Tables
from strongroom.in_memory.memory_words import index_terms, normal_form
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import moment
from strongroom.in_memory.values import METADATA_BYTES, check_size, comparable
from strongroom.models.pages import Direction, Page
from strongroom.models.principal_memory import MemoryFact, MemoryPut

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def settings_of(tables: Tables, principal_id: str) -> MemorySettings:
    """Return the state of a principal's memory, that of a new one where there is none."""
    return tables.memory_settings.get(principal_id, MemorySettings())


def is_living(fact: MemoryFact) -> bool:
    """Whether its time has not passed."""
    return fact.expires_at is None or fact.expires_at > moment()


def is_within(namespace: str, prefix: str) -> bool:
    """Whether a namespace is this one or lies below it; everything lies below the empty one."""
    return prefix in {"", namespace} or namespace.startswith(prefix + "/")


def living_facts(tables: Tables, principal_id: str, prefix: str = "") -> list[StoredFact]:
    """Return a principal's facts in a namespace and below it."""
    return [
        stored
        for (owner, _), stored in tables.facts.items()
        if owner == principal_id
        and is_living(stored.record)
        and is_within(stored.record.namespace, prefix)
    ]


def is_seen_by(principal_id: str, viewer_id: str | None) -> bool:
    """Whether this viewer may see the memory; without one, a host looks."""
    return viewer_id in {None, principal_id}


def find_memory(
    tables: Tables, *, principal_id: str, memory_id: str, viewer_id: str | None = None
) -> MemoryFact | None:
    """Return the fact, when it is there and the viewer's."""
    stored = tables.facts.get((principal_id, memory_id))
    if stored is None or not is_living(stored.record) or not is_seen_by(principal_id, viewer_id):
        return None
    return stored.record


def list_memories(
    tables: Tables,
    *,
    principal_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    namespace_prefix: str,
    sensitivity: str | None,
    source: str | None,
    viewer_id: str | None,
) -> Page[MemoryFact]:
    """Return a page of facts, forward newest first."""
    check_page(after, before)
    rows = living_facts(tables, principal_id, namespace_prefix)
    return page_of(
        [
            stored.record
            for stored in rows
            if sensitivity in {None, stored.record.sensitivity}
            and source in {None, stored.record.source}
            and is_seen_by(principal_id, viewer_id)
        ],
        key=lambda fact: [(fact.created_at - _EPOCH) // dt.timedelta(microseconds=1), fact.id],
        descending=direction == "forward",
        scope=cursor_scope(
            "memories", [principal_id, namespace_prefix, sensitivity, source, viewer_id], direction
        ),
        limit=limit,
        after=after,
        before=before,
    )


def _check_enabled(settings: MemorySettings) -> None:
    if settings.disabled_at is not None:
        raise PermissionDenied(
            "memory is disabled for this principal",
            detail={"path": "principal_id", "record": "memory"},
            hint="Store nothing; principal_memory.enable allows it again.",
        )


def graves_of(principal_id: str, fact: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return what a fact is known by after it was forgotten: its id, its key, its text."""
    graves: dict[str, tuple[str, ...]] = {"text": (principal_id, "text", normal_form(fact["text"]))}
    if fact.get("key") is not None:
        graves["key"] = (principal_id, "key", fact["namespace"], fact["key"])
    if fact.get("id") is not None:
        graves["id"] = (principal_id, "id", fact["id"])
    return graves


def rounded_embedding(numbers: list[float] | None) -> tuple[float, ...] | None:
    """Return the numbers as four-byte floats keep them."""
    if numbers is None:
        return None
    form = f"{len(numbers)}f"
    return struct.unpack(form, struct.pack(form, *numbers))


def _content(fact: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that a put sets, of what it was given."""
    expires_at = fact["expires_at"]
    return {
        "text": fact["text"],
        "source": fact["source"],
        "confidence": float(fact["confidence"]),
        "sensitivity": fact["sensitivity"],
        "expires_at": None if expires_at is None else dt.datetime.fromisoformat(expires_at),
        "embedding_model": fact["embedding_model"],
        "embedding_dimensions": None if fact["embedding"] is None else len(fact["embedding"]),
        "metadata": fact["metadata"],
    }


def _store(tables: Tables, stored: StoredFact) -> None:
    """Put it into the tables, with the terms of its key and text."""
    fact = stored.record
    text = fact.text if fact.key is None else f"{fact.key} {fact.text}"
    tables.facts[fact.principal_id, fact.id] = replace(stored, terms=index_terms(text))


def put_memory(
    tables: Tables,
    *,
    principal_id: str,
    fact: dict[str, Any],
    expected_version: int | None,
    generation: int,
) -> MemoryPut:
    """Store a fact, or say why not."""
    check_writable(tables)
    check_size("fact.metadata", fact["metadata"], METADATA_BYTES)
    if expected_version is not None and fact["key"] is None:
        raise InvalidArgument(
            "expected_version is for a fact with a key",
            detail={"path": "expected_version"},
            hint="Use update for a fact without one.",
        )
    settings = settings_of(tables, principal_id)
    _check_enabled(settings)
    tables.memory_settings.setdefault(principal_id, settings)
    created_with = comparable({name: value for name, value in fact.items() if name != "id"})
    known = tables.facts.get((principal_id, fact["id"]))
    if known is not None:
        if known.created_with != created_with:
            raise AlreadyExists(
                "a fact with this id was put with other content",
                detail={"path": "memory_id", "record": "memory"},
                hint="Read it and update it, or choose another id.",
            )
        return MemoryPut(outcome="duplicate", fact=known.record)
    graves = graves_of(principal_id, fact)
    is_stated = fact["source"] == "user-stated"
    looked_at = [graves["id"]] if is_stated else list(graves.values())
    if settings.generation != generation or any(grave in tables.tombstones for grave in looked_at):
        return MemoryPut(outcome="forgotten", fact=None)
    if is_stated:
        for grave in graves.values():
            tables.tombstones.pop(grave, None)
    content, embedding = _content(fact), rounded_embedding(fact["embedding"])
    holder = _holder(tables, principal_id, fact["namespace"], fact["key"])
    sources = {f"source_{name}": fact[name] for name in ("conversation_id", "message_id", "run_id")}
    if holder is None:
        return _insert(tables, principal_id, fact, content, sources, embedding, expected_version)
    held = holder.record
    if holder.embedding == embedding and all(
        comparable(getattr(held, name)) == comparable(value) for name, value in content.items()
    ):
        return MemoryPut(outcome="duplicate", fact=held)
    if expected_version != held.version:
        raise VersionConflict(
            f"the memory with this key has version {held.version}, not {expected_version or 0}",
            detail={
                "record": "memory",
                "id": held.id,
                "expected_version": expected_version or 0,
                "current_version": held.version,
            },
            hint="Read it, decide which one is right, and put with its version as expected_version.",
        )
    changed = held.replace(**content, **sources, version=held.version + 1, updated_at=tables.now)
    _store(tables, replace(holder, record=changed, embedding=embedding))
    return MemoryPut(outcome="updated", fact=changed)


def _holder(
    tables: Tables, principal_id: str, namespace: str, key: str | None
) -> StoredFact | None:
    """Return the fact that has the key; one that has expired gives it away."""
    for place, stored in list(tables.facts.items()):
        record = stored.record
        if key is not None and (record.principal_id, record.namespace, record.key) == (
            principal_id,
            namespace,
            key,
        ):
            if is_living(record):
                return stored
            del tables.facts[place]
    return None


def _insert(
    tables: Tables,
    principal_id: str,
    fact: dict[str, Any],
    content: dict[str, Any],
    sources: dict[str, Any],
    embedding: tuple[float, ...] | None,
    expected_version: int | None,
) -> MemoryPut:
    if expected_version:
        raise NotFound(
            "the memory does not exist",
            detail={"record": "memory"},
            hint="It may have been deleted, or this caller may not see it.",
        )
    record = MemoryFact(
        tenant_id=tables.tenant_id,
        principal_id=principal_id,
        id=fact["id"],
        namespace=fact["namespace"],
        key=fact["key"],
        **content,
        **sources,
        last_used_at=None,
        version=1,
        created_at=tables.now,
        updated_at=tables.now,
    )
    created_with = comparable({name: value for name, value in fact.items() if name != "id"})
    _store(tables, StoredFact(record, created_with, embedding))
    return MemoryPut(outcome="inserted", fact=record)


def update_memory(
    tables: Tables,
    *,
    principal_id: str,
    memory_id: str,
    changes: dict[str, Any],
    expected_version: int,
) -> MemoryFact:
    """Change a fact, given the version that was read."""
    check_writable(tables)
    if "metadata" in changes:
        check_size("changes.metadata", changes["metadata"], METADATA_BYTES)
    if "text" in changes:
        changes = {"embedding": None, "embedding_model": None, **changes}
    settings = settings_of(tables, principal_id)
    _check_enabled(settings)
    current = find_memory(tables, principal_id=principal_id, memory_id=memory_id)
    if current is None:
        raise NotFound(
            "the memory does not exist",
            detail={"record": "memory"},
            hint="It may have been deleted, or this caller may not see it.",
        )
    check_version("memory", expected_version, current.version)
    if "text" in changes:
        grave = graves_of(principal_id, {"text": changes["text"]})["text"]
        if changes.get("source", current.source) == "user-stated":
            tables.tombstones.pop(grave, None)
        elif grave in tables.tombstones:
            raise InvalidTransition(
                "the principal has forgotten this fact",
                detail={"path": "changes.text", "record": "memory"},
                hint="Only the principal brings it back, by stating it: source user-stated.",
            )
    stored = tables.facts[principal_id, memory_id]
    values = dict(changes)
    if "expires_at" in values and values["expires_at"] is not None:
        values["expires_at"] = dt.datetime.fromisoformat(values["expires_at"])
    embedding = stored.embedding
    if "embedding" in values:
        embedding = rounded_embedding(values.pop("embedding"))
        values["embedding_dimensions"] = None if embedding is None else len(embedding)
    changed = current.replace(**values, version=current.version + 1, updated_at=tables.now)
    _store(tables, replace(stored, record=changed, embedding=embedding))
    return changed
