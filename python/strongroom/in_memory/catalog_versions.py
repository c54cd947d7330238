"""What the calls of AgentStore and SkillStore do with published versions, and with references to them."""

from __future__ import annotations

from typing import Any

from strongroom.errors import AlreadyExists, InvalidTransition
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable, readable_conversation
from strongroom.in_memory.catalog_entries import (
    MODELS,
    Kind,
    change_entry,
    living_entry,
    missing_entry,
)
from strongroom.in_memory.database import Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import check_size, digest
from strongroom.models.catalog import Agent, CatalogSkill, ResolvedAgent, ResolvedSkill, Skill
from strongroom.models.json_values import stored_size
from strongroom.models.pages import Direction, Page

DEFINITION_BYTES = 1_048_576


def publish_version(
    tables: Tables,
    kind: Kind,
    *,
    entry_id: str,
    definition: dict[str, Any],
    version_id: str,
    actor_id: str | None,
) -> Any:
    """Publish the next version, or know a repeated call by its id and content."""
    check_writable(tables)
    check_size("definition", definition, DEFINITION_BYTES)
    row = living_entry(tables, kind, entry_id)
    if row is None:
        raise missing_entry(kind)
    models = MODELS[kind]
    content_digest = digest(definition)
    stored = _versions_by_id(tables, kind).get(version_id)
    if stored is not None:
        if (stored.content_digest, getattr(stored, f"{kind}_id")) != (content_digest, entry_id):
            raise AlreadyExists(
                f"a version with this id has other content or belongs to another {kind}",
                detail={"path": "version_id", "record": f"{kind} version"},
                hint="Use a new id for a new version.",
            )
        return models.published(**_head(stored), outcome="duplicate")
    if row.record.archived_at is not None:
        raise InvalidTransition(
            f"the {kind} is archived and takes no new version",
            detail={"path": f"{kind}_id", "record": kind},
            hint="Take it out of the archive first.",
        )
    version = models.version(
        **{f"{kind}_id": entry_id},
        tenant_id=tables.tenant_id,
        version=row.record.latest_version + 1,
        id=version_id,
        content_digest=content_digest,
        size_bytes=stored_size(definition),
        published_at=tables.now,
        definition=definition,
    )
    versions = tables.catalog_versions.get((kind, entry_id), ())
    tables.catalog_versions[kind, entry_id] = (*versions, version)
    change_entry(tables, kind, row, latest_version=version.version)
    record_audit(
        tables,
        f"{kind}.publish",
        kind,
        entry_id,
        details={"version": version.version, "content_digest": content_digest},
        actor_id=actor_id,
    )
    return models.published(**_head(version), outcome="inserted")


def _versions_by_id(tables: Tables, kind: Kind) -> dict[str, Any]:
    return {
        version.id: version
        for (found, _), versions in tables.catalog_versions.items()
        if found == kind
        for version in versions
    }


def _head(version: Any) -> dict[str, Any]:
    return {name: value for name, value in dict(version).items() if name != "definition"}


def find_version(tables: Tables, kind: Kind, *, entry_id: str, version: int | None) -> Any:
    """Return a version of a living entry, the latest without a number."""
    row = living_entry(tables, kind, entry_id)
    return _version_of(tables, kind, row.record, version) if row else None


def _version_of(tables: Tables, kind: Kind, entry: Any, version: int | None) -> Any:
    number = version or entry.latest_version
    versions = tables.catalog_versions.get((kind, entry.id), ())
    return versions[number - 1] if 1 <= number <= len(versions) else None


def list_versions(
    tables: Tables,
    kind: Kind,
    *,
    entry_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
) -> Page[Any]:
    """Return a page of versions without definitions, from 1 up."""
    check_page(after, before)
    if living_entry(tables, kind, entry_id) is None:
        raise missing_entry(kind)
    versions = tables.catalog_versions.get((kind, entry_id), ())
    return page_of(
        [MODELS[kind].head(**_head(version)) for version in versions],
        key=lambda head: [head.version],
        descending=direction == "backward",
        scope=cursor_scope(f"{kind}_versions", [entry_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def resolve_agent(tables: Tables, *, conversation_id: str) -> ResolvedAgent:
    """Say what a conversation's agent binding stands for now."""
    conversation = readable_conversation(tables, conversation_id)
    named = {
        "tenant_id": tables.tenant_id,
        "conversation_id": conversation_id,
        "agent_id": conversation.agent_id,
        "agent_policy": conversation.agent_policy,
    }
    if conversation.agent_id is None:
        nothing = dict.fromkeys(("version", "name", "definition", "content_digest"))
        return ResolvedAgent(**named, **nothing, status="unbound")
    found = _resolved(tables, "agent", conversation.agent_id, conversation.agent_version)
    return ResolvedAgent(**named, **found)


def resolve_skill(
    tables: Tables, kind: Kind, *, entry_id: str, version: int | None
) -> ResolvedSkill:
    """Say what a reference to a skill stands for now."""
    found = _resolved(tables, kind, entry_id, version)
    return ResolvedSkill(**found, tenant_id=tables.tenant_id, skill_id=entry_id)


def _resolved(tables: Tables, kind: Kind, entry_id: str, number: int | None) -> dict[str, Any]:
    row = tables.catalog.get((kind, entry_id))
    version = None
    if row is None:
        status = "deleted" if (kind, entry_id) in tables.catalog_tombstones else "uncatalogued"
    elif row.record.deleted_at is not None:
        status = "deleted"
    else:
        version = _version_of(tables, kind, row.record, number)
        status = "archived" if row.record.archived_at else "active"
        status = status if version else "unpublished"
    return {
        "status": status,
        "version": number or (version.version if version else None),
        "name": row.record.name if row else None,
        "definition": version.definition if version else None,
        "content_digest": version.content_digest if version else None,
    }


def agent_of_run(tables: Tables, conversation_id: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the agent and version that a run records: those it names, else what its conversation binds."""
    agent_id, version = content["agent_id"], content["agent_version"]
    if version is None:
        bound = tables.conversations[conversation_id].record
        agent_id = agent_id or bound.agent_id
        if agent_id is not None and agent_id == bound.agent_id:
            version = bound.agent_version
    if (
        version is None
        and agent_id is not None
        and (row := living_entry(tables, "agent", agent_id))
    ):
        version = row.record.latest_version or None
    return {"agent_id": agent_id, "agent_version": version}


def list_skill_catalog(
    tables: Tables,
    kind: Kind,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
) -> Page[CatalogSkill]:
    """Return a page of what can be used, by id."""
    check_page(after, before)
    skills = [row.record for (found, _), row in tables.catalog.items() if found == kind]
    return page_of(
        [
            _usable(tables, skill)
            for skill in skills
            if skill.latest_version and skill.archived_at is None and skill.deleted_at is None
        ],
        key=lambda skill: [skill.id],
        descending=direction == "backward",
        scope=cursor_scope("skill_catalog", [], direction),
        limit=limit,
        after=after,
        before=before,
    )


def _usable(tables: Tables, skill: Agent | Skill) -> CatalogSkill:
    version = _version_of(tables, "skill", skill, None)
    return CatalogSkill(
        tenant_id=skill.tenant_id,
        id=skill.id,
        name=skill.name,
        description=skill.description,
        metadata=skill.metadata,
        version=version.version,
        content_digest=version.content_digest,
        size_bytes=version.size_bytes,
        published_at=version.published_at,
    )
