"""Agents and skills: entries of the catalog, their published versions, and what a reference stands for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import BoundedText, Id, JsonObject, Name, Record, Timestamp, Version
from strongroom.models.conversations import AgentPolicy
from strongroom.models.tenants import CreateOutcome

Description = Annotated[str, BoundedText(1, 4000)]
"""What an agent or skill is for: 1 to 4,000 characters."""

CatalogVersion = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
"""The number of a published version: 1, 2, 3, ... without gaps."""

ReferenceStatus = Literal["active", "archived", "deleted", "unpublished", "uncatalogued", "unbound"]
"""What stands behind a reference.

active: a published version, which is given. archived: the same, of what takes no new versions.
deleted: soft-deleted or purged. unpublished: the version that is asked for is not there (yet).
uncatalogued: the catalog has never had it, so it lives in the host's own code. unbound: the conversation
names no agent.
"""


class CatalogEntry(Record):
    """What agents and skills have in common.

    Attributes:
        latest_version: number of the newest published version; 0 before the first.
        version: one more at every change of the entry itself; publishing does not count.
    """

    tenant_id: Id
    id: Id
    name: Name
    description: Description | None
    metadata: JsonObject
    latest_version: Annotated[int, Field(ge=0)]
    version: Version
    archived_at: Timestamp | None
    deleted_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class Agent(CatalogEntry):
    """An agent of the tenant's catalog."""


class Skill(CatalogEntry):
    """A skill of the tenant's catalog."""


class CreatedAgent(Agent):
    """An agent as ``create`` returns it."""

    outcome: CreateOutcome


class CreatedSkill(Skill):
    """A skill as ``create`` returns it."""

    outcome: CreateOutcome


class _VersionHead(Record):
    tenant_id: Id
    version: CatalogVersion
    id: Id
    content_digest: str
    size_bytes: Annotated[int, Field(ge=1)]
    published_at: Timestamp


class AgentVersionHead(_VersionHead):
    """A published version of an agent without its definition.

    Attributes:
        version: its number, 1..n without gaps.
        id: the id of the publication.
        content_digest: SHA-256 of the definition, the same for the same JSON however it is written.
        size_bytes: bytes of the definition.
    """

    agent_id: Id


class SkillVersionHead(_VersionHead):
    """A published version of a skill without its definition; see :class:`AgentVersionHead`."""

    skill_id: Id


class AgentVersion(AgentVersionHead):
    """A published version of an agent."""

    definition: JsonObject


class SkillVersion(SkillVersionHead):
    """A published version of a skill."""

    definition: JsonObject


class PublishedAgentVersion(AgentVersionHead):
    """A version as ``publish_version`` returns it."""

    outcome: CreateOutcome


class PublishedSkillVersion(SkillVersionHead):
    """A version as ``publish_version`` returns it."""

    outcome: CreateOutcome


class CatalogSkill(Record):
    """A skill that can be used, with its latest published version, without the definition."""

    tenant_id: Id
    id: Id
    name: Name
    description: Description | None
    metadata: JsonObject
    version: CatalogVersion
    content_digest: str
    size_bytes: Annotated[int, Field(ge=1)]
    published_at: Timestamp


class _Resolved(Record):
    tenant_id: Id
    status: ReferenceStatus
    version: CatalogVersion | None
    name: Name | None
    definition: JsonObject | None
    content_digest: str | None


class ResolvedAgent(_Resolved):
    """What a conversation's agent binding stands for now.

    Attributes:
        status: what stands behind it.
        version: the exact version: the pinned one, whatever its status; else the latest, where there is one.
        name: the agent's name; None where the catalog has none, and of a purged agent.
        definition: the version's definition, when the status is active or archived.
        content_digest: the definition's digest.
    """

    conversation_id: Id
    agent_id: Id | None
    agent_policy: AgentPolicy | None


class ResolvedSkill(_Resolved):
    """What a reference to a skill stands for now; see :class:`ResolvedAgent`."""

    skill_id: Id
