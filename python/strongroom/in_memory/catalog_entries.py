"""What the calls of AgentStore and SkillStore do to entries: the same, but for what names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from strongroom.errors import AlreadyExists, NotFound
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable, versioned
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size, digest
from strongroom.models.catalog import (
    Agent,
    AgentVersion,
    AgentVersionHead,
    CreatedAgent,
    CreatedSkill,
    PublishedAgentVersion,
    PublishedSkillVersion,
    Skill,
    SkillVersion,
    SkillVersionHead,
)
from strongroom.models.pages import Direction, Page
from strongroom.models.tenants import PurgeReceipt

Kind = Literal["agent", "skill"]


@dataclass(frozen=True, slots=True)
class _Models:
    entry: Any
    created: Any
    version: Any
    head: Any
    published: Any


MODELS: dict[Kind, _Models] = {
    "agent": _Models(Agent, CreatedAgent, AgentVersion, AgentVersionHead, PublishedAgentVersion),
    "skill": _Models(Skill, CreatedSkill, SkillVersion, SkillVersionHead, PublishedSkillVersion),
}


def of_kind(kind: Kind, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function for agents or for skills: ``agent_id`` or ``skill_id`` is its entry's id."""

    def call(tables: Tables, **arguments: Any) -> Any:
        given = {
            "entry_id" if name == f"{kind}_id" else name: value for name, value in arguments.items()
        }
        return work(tables, kind, **given)

    return call


def create_entry(tables: Tables, kind: Kind, *, entry_id: str, **content: Any) -> Any:
    """Create an entry without versions, or know a repeated create by its content."""
    check_writable(tables)
    check_size("metadata", content["metadata"], METADATA_BYTES)
    created_with = digest(content)
    row = tables.catalog.get((kind, entry_id))
    if row is None:
        if (kind, entry_id) in tables.catalog_tombstones:
            raise AlreadyExists(
                f"the id was used by {_a(kind)} that has been purged",
                detail={"path": f"{kind}_id", "record": kind, "purged": True},
                hint="Choose another id: what still names the old one must not find the new one.",
            )
        entry = MODELS[kind].entry(
            **content,
            tenant_id=tables.tenant_id,
            id=entry_id,
            latest_version=0,
            version=1,
            archived_at=None,
            deleted_at=None,
            created_at=tables.now,
            updated_at=tables.now,
        )
        tables.catalog[kind, entry_id] = Row(entry, created_with)
        return MODELS[kind].created(**dict(entry), outcome="inserted")
    if row.created_with != created_with:
        raise AlreadyExists(
            f"{_a(kind)} with this id was created with other content",
            detail={"path": f"{kind}_id", "record": kind},
            hint="Read it and update it, or choose another id.",
        )
    return MODELS[kind].created(**dict(row.record), outcome="duplicate")


def _a(kind: Kind) -> str:
    return "an agent" if kind == "agent" else "a skill"


def find_entry(tables: Tables, kind: Kind, *, entry_id: str, deleted: bool) -> Any:
    """Return the living or the soft-deleted entry."""
    row = tables.catalog.get((kind, entry_id))
    return row.record if row and (row.record.deleted_at is not None) == deleted else None


def living_entry(tables: Tables, kind: Kind, entry_id: str) -> Row[Any] | None:
    """Return the entry's row, unless it is deleted."""
    row = tables.catalog.get((kind, entry_id))
    return row if row and row.record.deleted_at is None else None


def missing_entry(kind: Kind) -> NotFound:
    """Return the error for an absent or deleted entry."""
    return NotFound(
        f"the {kind} does not exist",
        detail={"record": kind},
        hint="It may have been deleted, or this caller may not see it.",
    )


def list_entries(
    tables: Tables,
    kind: Kind,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    archived: bool | None,
    deleted: bool,
) -> Page[Any]:
    """Return a page of entries by id."""
    check_page(after, before)
    entries = [row.record for (found, _), row in tables.catalog.items() if found == kind]
    return page_of(
        [
            entry
            for entry in entries
            if (entry.deleted_at is not None) == deleted
            and archived in {None, entry.archived_at is not None}
        ],
        key=lambda entry: [entry.id],
        descending=direction == "backward",
        scope=cursor_scope(f"{kind}s", [archived, deleted], direction),
        limit=limit,
        after=after,
        before=before,
    )


def update_entry(
    tables: Tables,
    kind: Kind,
    *,
    entry_id: str,
    changes: dict[str, Any],
    expected_version: int,
    actor_id: str | None,
) -> Any:
    """Change name, description, metadata or archived."""
    check_writable(tables)
    if "metadata" in changes:
        check_size("changes.metadata", changes["metadata"], METADATA_BYTES)
    row = versioned(living_entry(tables, kind, entry_id), kind, expected_version)
    fields = {name: value for name, value in changes.items() if name != "archived"}
    if "archived" in changes:
        fields["archived_at"] = (
            (row.record.archived_at or tables.now) if changes["archived"] else None
        )
        action = "archive" if changes["archived"] else "unarchive"
        record_audit(tables, f"{kind}.{action}", kind, entry_id, actor_id=actor_id)
    return change_entry(tables, kind, row, version=row.record.version + 1, **fields)


def change_entry(tables: Tables, kind: Kind, row: Row[Any], **changes: Any) -> Any:
    """Write the entry with these fields changed."""
    entry = row.record.replace(**changes, updated_at=tables.now)
    tables.catalog[kind, entry.id] = Row(entry, row.created_with)
    return entry


def set_deleted(
    tables: Tables, kind: Kind, *, entry_id: str, is_deleted: bool, actor_id: str | None
) -> Any:
    """Soft-delete or restore; a repeat changes nothing."""
    check_writable(tables)
    row = tables.catalog.get((kind, entry_id))
    if row is None:
        raise missing_entry(kind)
    if (row.record.deleted_at is not None) == is_deleted:
        return row.record
    action = "delete" if is_deleted else "restore"
    record_audit(tables, f"{kind}.{action}", kind, entry_id, actor_id=actor_id)
    return change_entry(
        tables,
        kind,
        row,
        deleted_at=tables.now if is_deleted else None,
        version=row.record.version + 1,
    )


def purge_entry(tables: Tables, kind: Kind, *, entry_id: str, actor_id: str | None) -> PurgeReceipt:
    """Delete it and its versions; only its id stays."""
    check_writable(tables)
    row = tables.catalog.pop((kind, entry_id), None)
    versions = tables.catalog_versions.pop((kind, entry_id), ())
    if row is not None:
        tables.catalog_tombstones[kind, entry_id] = tables.now
        record_audit(tables, f"{kind}.purge", kind, entry_id, actor_id=actor_id)
    return PurgeReceipt(
        tables={f"{kind}s": 1 if row else 0, f"{kind}_versions": len(versions)},
    )


def drop_catalog(tables: Tables) -> dict[str, int]:
    """Delete all of it with its tenant; count the rows."""
    counts = {
        "agents": sum(kind == "agent" for kind, _ in tables.catalog),
        "skills": sum(kind == "skill" for kind, _ in tables.catalog),
        "agent_versions": _count_versions(tables, "agent"),
        "skill_versions": _count_versions(tables, "skill"),
        "catalog_tombstones": len(tables.catalog_tombstones),
    }
    for rows in (tables.catalog, tables.catalog_versions, tables.catalog_tombstones):
        rows.clear()
    return counts


def _count_versions(tables: Tables, kind: Kind) -> int:
    return sum(
        len(versions) for (found, _), versions in tables.catalog_versions.items() if found == kind
    )
