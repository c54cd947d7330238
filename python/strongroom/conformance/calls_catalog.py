"""The catalog's part of :mod:`~strongroom.conformance.calls`: agents, skills and their versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from strongroom.client import Ports
from strongroom.conformance.helpers import PageOf, fresh, new_tenant
from strongroom.models import Conversation
from strongroom.models.base import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogIds:
    """An agent and a skill, each with a published version."""

    agent_id: str
    skill_id: str

    def absent(self) -> CatalogIds:
        """Return ids of the same form that name nothing."""
        return replace(self, agent_id=self.agent_id[::-1], skill_id=self.skill_id[::-1])


class _Agent(TypedDict):
    tenant_id: str
    agent_id: str


class _Skill(TypedDict):
    tenant_id: str
    skill_id: str


async def fill_catalog(store: Ports, tenant_id: str) -> CatalogIds:
    """Make an agent and a skill with a version each, and the tombstone of another agent."""
    ids = CatalogIds(agent_id=fresh("agent"), skill_id=fresh("skill"))
    secret: JsonObject = {"secret": 1}
    agent = _Agent(tenant_id=tenant_id, agent_id=ids.agent_id)
    await store.agents.create(**agent, name="Secret", description="secret")
    await store.agents.publish_version(**agent, definition=secret)
    skill = _Skill(tenant_id=tenant_id, skill_id=ids.skill_id)
    await store.skills.create(**skill, name="Secret", description="secret")
    await store.skills.publish_version(**skill, definition=secret)
    gone = await store.agents.create(tenant_id=tenant_id, name="Gone")
    await store.agents.purge(tenant_id=tenant_id, agent_id=gone.id)
    return ids


Call = Callable[[Ports, str, CatalogIds], Awaitable[object]]

TENANT_READS: dict[str, Call] = {
    "agents.get": lambda s, t, i: s.agents.get(tenant_id=t, agent_id=i.agent_id),
    "agents.find": lambda s, t, i: s.agents.find(tenant_id=t, agent_id=i.agent_id),
    "agents.get_version": lambda s, t, i: s.agents.get_version(tenant_id=t, agent_id=i.agent_id),
    "agents.find_version": lambda s, t, i: s.agents.find_version(
        tenant_id=t, agent_id=i.agent_id, version=1
    ),
    "agents.list_versions": lambda s, t, i: s.agents.list_versions(
        tenant_id=t, agent_id=i.agent_id
    ),
    "skills.get": lambda s, t, i: s.skills.get(tenant_id=t, skill_id=i.skill_id),
    "skills.find": lambda s, t, i: s.skills.find(tenant_id=t, skill_id=i.skill_id),
    "skills.get_version": lambda s, t, i: s.skills.get_version(
        tenant_id=t, skill_id=i.skill_id, version=1
    ),
    "skills.find_version": lambda s, t, i: s.skills.find_version(tenant_id=t, skill_id=i.skill_id),
    "skills.list_versions": lambda s, t, i: s.skills.list_versions(
        tenant_id=t, skill_id=i.skill_id
    ),
}
"""Reads of one agent or skill, which everyone in the tenant may do."""

HOST_WRITES: dict[str, Call] = {
    "agents.update": lambda s, t, i: s.agents.update(
        tenant_id=t, agent_id=i.agent_id, name="Taken", expected_version=1
    ),
    "agents.archive": lambda s, t, i: s.agents.archive(
        tenant_id=t, agent_id=i.agent_id, expected_version=1
    ),
    "agents.unarchive": lambda s, t, i: s.agents.unarchive(
        tenant_id=t, agent_id=i.agent_id, expected_version=1
    ),
    "agents.publish_version": lambda s, t, i: s.agents.publish_version(
        tenant_id=t, agent_id=i.agent_id, definition={"late": 1}
    ),
    "agents.soft_delete": lambda s, t, i: s.agents.soft_delete(tenant_id=t, agent_id=i.agent_id),
    "agents.restore": lambda s, t, i: s.agents.restore(tenant_id=t, agent_id=i.agent_id),
    "skills.update": lambda s, t, i: s.skills.update(
        tenant_id=t, skill_id=i.skill_id, name="Taken", expected_version=1
    ),
    "skills.archive": lambda s, t, i: s.skills.archive(
        tenant_id=t, skill_id=i.skill_id, expected_version=1
    ),
    "skills.unarchive": lambda s, t, i: s.skills.unarchive(
        tenant_id=t, skill_id=i.skill_id, expected_version=1
    ),
    "skills.publish_version": lambda s, t, i: s.skills.publish_version(
        tenant_id=t, skill_id=i.skill_id, definition={"late": 1}
    ),
    "skills.soft_delete": lambda s, t, i: s.skills.soft_delete(tenant_id=t, skill_id=i.skill_id),
    "skills.restore": lambda s, t, i: s.skills.restore(tenant_id=t, skill_id=i.skill_id),
}
"""Writes to one agent or skill that exists; for hosts alone."""


ArgumentCall = Callable[[Ports, Conversation, Any], Awaitable[object]]

ID_PATHS: dict[str, ArgumentCall] = {
    "agent_id": lambda s, t, x: s.agents.get(tenant_id=t.tenant_id, agent_id=x),
    "skill_id": lambda s, t, x: s.skills.publish_version(
        tenant_id=t.tenant_id, skill_id=x, definition={}
    ),
}
OPTIONAL_ID_PATHS: dict[str, ArgumentCall] = {
    "agent_id": lambda s, t, x: s.agents.create(tenant_id=t.tenant_id, name="x", agent_id=x),
    "version_id": lambda s, t, x: s.agents.publish_version(
        tenant_id=t.tenant_id, agent_id="a", definition={}, version_id=x
    ),
    "actor_id": lambda s, t, x: s.skills.purge(tenant_id=t.tenant_id, skill_id="a", actor_id=x),
}
TEXT_PATHS: dict[str, ArgumentCall] = {
    "description": lambda s, t, x: s.agents.create(tenant_id=t.tenant_id, name="x", description=x),
    "definition.a[1].b": lambda s, t, x: s.agents.publish_version(
        tenant_id=t.tenant_id, agent_id="a", definition={"a": [0, {"b": x}]}
    ),
    "definition.k": lambda s, t, x: s.skills.publish_version(
        tenant_id=t.tenant_id, skill_id="a", definition={"k": x}
    ),
    "version_id": lambda s, t, x: s.skills.publish_version(
        tenant_id=t.tenant_id, skill_id="a", definition={}, version_id=x
    ),
    "changes.description": lambda s, t, x: s.skills.update(
        tenant_id=t.tenant_id, skill_id="a", description=x, expected_version=1
    ),
    "skill_id": lambda s, t, x: s.skills.find_version(tenant_id=t.tenant_id, skill_id=x),
    "actor_id": lambda s, t, x: s.agents.soft_delete(
        tenant_id=t.tenant_id, agent_id="a", actor_id=x
    ),
}


async def _agents(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [await store.agents.create(tenant_id=tenant_id, name="x") for _ in range(count)]
    return (
        lambda **page: store.agents.list(tenant_id=tenant_id, **page),
        sorted(one.id for one in made),
    )


async def _skills(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [await store.skills.create(tenant_id=tenant_id, name="x") for _ in range(count)]
    return (
        lambda **page: store.skills.list(tenant_id=tenant_id, **page),
        sorted(one.id for one in made),
    )


async def _agent_versions(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    agent = await store.agents.create(tenant_id=tenant_id, name="x")
    where = _Agent(tenant_id=tenant_id, agent_id=agent.id)
    made = [await store.agents.publish_version(**where, definition={}) for _ in range(count)]
    return lambda **page: store.agents.list_versions(**where, **page), [one.id for one in made]


async def _skill_versions(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    skill = await store.skills.create(tenant_id=tenant_id, name="x")
    where = _Skill(tenant_id=tenant_id, skill_id=skill.id)
    made = [await store.skills.publish_version(**where, definition={}) for _ in range(count)]
    return lambda **page: store.skills.list_versions(**where, **page), [one.id for one in made]


async def _skill_catalog(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    await store.skills.create(tenant_id=tenant_id, name="never published")
    made = [await store.skills.create(tenant_id=tenant_id, name="x") for _ in range(count)]
    for skill in made:
        await store.skills.publish_version(tenant_id=tenant_id, skill_id=skill.id, definition={})
    return (
        lambda **page: store.skills.list_catalog(tenant_id=tenant_id, **page),
        sorted(one.id for one in made),
    )


LISTS: dict[str, Callable[[Ports, int], Awaitable[tuple[PageOf, list[str]]]]] = {
    "agents": _agents,
    "skills": _skills,
    "agent versions": _agent_versions,
    "skill versions": _skill_versions,
    "the catalog of skills": _skill_catalog,
}
"""Each list with the ids of its rows in order. They are ordered by id or number, so nothing is tied."""
