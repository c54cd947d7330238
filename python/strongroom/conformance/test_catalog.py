"""AgentStore and SkillStore: immutable versions, and references that say what they stand for."""

from __future__ import annotations

import asyncio
import hashlib
import random
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, at, fresh, new_talk, new_tenant, walk
from strongroom.conformance.strategies import json_objects, numbers_as_stored, quick
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from strongroom.models import AgentBinding, Conversation
from strongroom.models.base import JsonValue


@dataclass(frozen=True, slots=True)
class Shelf:
    """The agents or the skills of one tenant, called the same way."""

    store: Ports
    kind: str
    tenant_id: str

    @property
    def port(self) -> Any:
        return getattr(self.store, f"{self.kind}s")

    def at(self, entry_id: str) -> dict[str, Any]:
        return {"tenant_id": self.tenant_id, f"{self.kind}_id": entry_id}

    async def made(self, entry_id: str | None = None, versions: int = 0) -> str:
        """Create an entry with so many published versions; return its id."""
        entry_id = entry_id or fresh(self.kind)
        await self.port.create(**self.at(entry_id), name="Support")
        for number in range(1, versions + 1):
            await self.publish(entry_id, {"number": number})
        return entry_id

    async def publish(self, entry_id: str, definition: Any = None, **options: Any) -> Any:
        return await self.port.publish_version(
            **self.at(entry_id), definition=definition or {}, **options
        )

    def id_of(self, version: Any) -> str:
        return str(getattr(version, f"{self.kind}_id"))


async def shelf_of(adapter: Adapter, kind: str) -> Shelf:
    return Shelf(adapter.store, kind, await new_tenant(adapter.store))


# --- Creating and changing --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_a_repeated_create_is_known(adapter: Adapter, kind: str) -> None:
    shelf = await shelf_of(adapter, kind)
    content: dict[str, Any] = {"name": "N", "description": "D", "metadata": {"a": 1, "b": 2}}
    first = await shelf.port.create(**shelf.at("x"), **content)
    assert (first.outcome, first.version, first.latest_version) == ("inserted", 1, 0)
    await shelf.port.update(**shelf.at("x"), name="Later", expected_version=1)
    again = await shelf.port.create(**shelf.at("x"), **{**content, "metadata": {"b": 2, "a": 1}})
    assert (again.outcome, again.name) == ("duplicate", "Later")
    others: list[dict[str, Any]] = [{"name": "Other"}, {"description": None}, {"metadata": {}}]
    for other in others:
        with pytest.raises(AlreadyExists):
            await shelf.port.create(**shelf.at("x"), **{**content, **other})
    assert (await shelf.port.get(**shelf.at("x"))).version == 2


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_an_update_names_the_version_it_read(adapter: Adapter, kind: str) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id = await shelf.made()
    changed = await shelf.port.update(
        **shelf.at(entry_id), description="D", metadata={"k": 1}, expected_version=1
    )
    assert (changed.name, changed.description, changed.metadata, changed.version) == (
        *("Support", "D", {"k": 1}),
        2,
    )
    with pytest.raises(VersionConflict) as caught:
        await shelf.port.update(**shelf.at(entry_id), name="Late", expected_version=1)
    assert caught.value.detail["current_version"] == 2
    cleared = await shelf.port.update(**shelf.at(entry_id), description=None, expected_version=2)
    assert (cleared.description, cleared.metadata) == (None, {"k": 1})
    assert await shelf.port.get(**shelf.at(entry_id)) == cleared


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_names_descriptions_and_definitions_have_limits_b53(
    adapter: Adapter, kind: str
) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id = await shelf.made()
    long = "".join(random.choices("äöüabcdef😀", k=5_000))
    for call, path in (
        (shelf.port.create(tenant_id=shelf.tenant_id, name=long), "name"),
        (shelf.port.create(tenant_id=shelf.tenant_id, name="x", description=long), "description"),
        (shelf.port.update(**shelf.at(entry_id), name=long, expected_version=1), "name"),
        (shelf.port.update(**shelf.at(entry_id), description=long, expected_version=1), "desc"),
        (shelf.publish(entry_id, version_id=long), "version_id"),
        (shelf.publish(entry_id, {"k": "ä" * 524_290}), "definition"),
        (
            shelf.port.update(**shelf.at(entry_id), metadata={"k": long * 4}, expected_version=1),
            "changes.metadata",
        ),
    ):
        with pytest.raises(LimitExceeded) as caught:
            await call
        assert caught.value.detail["path"].startswith(path)
    for call, path in (
        (shelf.port.create(tenant_id=shelf.tenant_id, name=""), "name"),
        (shelf.port.create(tenant_id=shelf.tenant_id, name="x", description=""), "description"),
        (shelf.publish(entry_id, [1]), "definition"),
        (shelf.publish(entry_id, {"a": [b"bytes"]}), "definition.a[0]"),
        (shelf.publish(entry_id, {"a": float("nan")}), "definition.a"),
        (shelf.port.get_version(**shelf.at(entry_id), version=0), "version"),
        (shelf.port.get_version(**shelf.at(entry_id), version=True), "version"),
    ):
        with pytest.raises(InvalidArgument) as refused:
            await call
        assert refused.value.detail["path"].startswith(path)
    entry = await shelf.port.get(**shelf.at(entry_id))
    assert (entry.version, entry.latest_version) == (1, 0)
    assert len((await shelf.port.list(tenant_id=shelf.tenant_id)).items) == 1
    longest = "ä" * 4_000
    made = await shelf.port.create(tenant_id=shelf.tenant_id, name="x", description=longest)
    assert made.description == longest
    largest = await shelf.publish(entry_id, {"k": "ä" * 524_000})
    assert (await shelf.port.get_version(**shelf.at(entry_id))).size_bytes == largest.size_bytes


# --- Published versions -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_versions_are_numbered_without_gaps_and_stay_as_they_are(
    adapter: Adapter, kind: str
) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id, other_id = await shelf.made(), await shelf.made(versions=2)
    assert await shelf.port.find_version(**shelf.at(entry_id)) is None
    published = [await shelf.publish(entry_id, {"number": n}) for n in (1, 2, 3)]
    assert [(one.version, one.outcome) for one in published] == [
        (number, "inserted") for number in (1, 2, 3)
    ]
    await shelf.publish(other_id)
    before = [await shelf.port.get_version(**shelf.at(entry_id), version=n) for n in (1, 2, 3)]
    assert [one.definition for one in before] == [{"number": n} for n in (1, 2, 3)]
    assert await shelf.port.get_version(**shelf.at(entry_id)) == before[2]
    await shelf.port.update(**shelf.at(entry_id), name="Renamed", expected_version=1)
    await shelf.publish(entry_id, {"number": 4})
    after = [await shelf.port.get_version(**shelf.at(entry_id), version=n) for n in (1, 2, 3)]
    assert after == before
    entry = await shelf.port.get(**shelf.at(entry_id))
    assert (entry.latest_version, entry.version) == (4, 2)
    for absent in (5, 2**31 - 1):
        assert await shelf.port.find_version(**shelf.at(entry_id), version=absent) is None
        with pytest.raises(NotFound):
            await shelf.port.get_version(**shelf.at(entry_id), version=absent)
    heads = await walk(
        lambda **page: shelf.port.list_versions(**shelf.at(entry_id), **page), limit=3, back=True
    )
    assert [head.version for head in heads] == [1, 2, 3, 4]
    assert [head.id for head in heads[:3]] == [one.id for one in published]
    assert not any(hasattr(head, "definition") for head in heads)


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_a_repeated_publication_is_known_by_its_id(adapter: Adapter, kind: str) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id, other_id = await shelf.made(), await shelf.made()
    first = await shelf.publish(entry_id, {"a": 1, "b": [2]}, version_id="v")
    await shelf.publish(entry_id, {"a": 2})
    again = await shelf.publish(entry_id, {"b": [2], "a": 1}, version_id="v")
    assert again == first.replace(outcome="duplicate")
    for call in (
        shelf.publish(entry_id, {"a": 3}, version_id="v"),
        shelf.publish(other_id, {"a": 1, "b": [2]}, version_id="v"),
    ):
        with pytest.raises(AlreadyExists) as caught:
            await call
        assert caught.value.detail["path"] == "version_id"
    # The same content under a new id is a new version: publishing it again may be meant.
    assert (await shelf.publish(entry_id, {"a": 1, "b": [2]})).version == 3
    assert (await shelf.port.get(**shelf.at(entry_id))).latest_version == 3
    assert (await shelf.port.get(**shelf.at(other_id))).latest_version == 0


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_the_digest_is_that_of_the_json(adapter: Adapter, kind: str) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id = await shelf.made()
    done = await shelf.publish(entry_id, {"bb": [True, None, 1.5], "a": "ä\n", "c": 1e23})
    written = '{"a": "ä\\n", "c": 100000000000000000000000, "bb": [true, null, 1.5]}'
    assert done.content_digest == hashlib.sha256(written.encode()).hexdigest()
    assert done.size_bytes == len(written.encode())
    again = await shelf.publish(entry_id, {"c": 10**23, "a": "ä\n", "bb": [True, None, 1.5]})
    assert again.content_digest == done.content_digest
    assert (await shelf.publish(entry_id, {"a": "a"})).content_digest != done.content_digest


@quick
@given(definition=json_objects)
async def test_any_definition_comes_back_whole(
    adapter: Adapter, definition: dict[str, JsonValue]
) -> None:
    shelf = await shelf_of(adapter, "agent")
    entry_id = await shelf.made()
    await shelf.publish(entry_id, definition)
    stored = (await shelf.port.get_version(**shelf.at(entry_id))).definition
    assert numbers_as_stored(stored) == numbers_as_stored(definition)


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_publishers_at_once_get_one_number_each(adapter: Adapter, kind: str) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id = await shelf.made()
    done = await asyncio.gather(*(shelf.publish(entry_id, {"by": n}) for n in range(12)))
    assert sorted(one.version for one in done) == list(range(1, 13))
    heads = await shelf.port.list_versions(**shelf.at(entry_id))
    assert [head.version for head in heads.items] == list(range(1, 13))


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_the_same_ids_live_in_two_tenants_apart_b07(adapter: Adapter, kind: str) -> None:
    shelves = [await shelf_of(adapter, kind) for _ in range(2)]
    for number, shelf in enumerate(shelves):
        made = await shelf.port.create(**shelf.at("x"), name=f"of {number}")
        done = await shelf.publish("x", {"of": number}, version_id="v")
        assert (made.outcome, done.outcome, done.version) == ("inserted", "inserted", 1)
    await shelves[0].port.purge(**shelves[0].at("x"))
    kept = await shelves[1].port.get_version(**shelves[1].at("x"))
    assert kept.definition == {"of": 1}
    assert await shelves[0].port.find(**shelves[0].at("x")) is None


async def test_a_unit_of_work_undoes_a_publication(adapter: Adapter) -> None:
    adapter.needs("transactions")
    shelf = await shelf_of(adapter, "agent")
    entry_id = await shelf.made(versions=1)

    class Stop(Exception):
        pass

    async def fail() -> None:
        async with adapter.store.unit_of_work(tenant_id=shelf.tenant_id) as uow:
            inside = Shelf(uow, "agent", shelf.tenant_id)
            assert (await inside.publish(entry_id)).version == 2
            await inside.made("lost", versions=1)
            raise Stop

    with pytest.raises(Stop):
        await fail()
    assert (await shelf.port.get(**shelf.at(entry_id))).latest_version == 1
    assert await shelf.port.find(**shelf.at("lost")) is None
    assert (await shelf.publish(entry_id)).version == 2


# --- Archive, deletion, purge -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_an_archived_one_stays_readable_and_takes_no_version(
    adapter: Adapter, kind: str
) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id, other_id = await shelf.made(), await shelf.made(versions=1)
    await shelf.publish(entry_id, {"a": 1}, version_id="v")
    archived = await shelf.port.archive(**shelf.at(entry_id), expected_version=1, actor_id="ada")
    assert archived.archived_at is not None
    assert (await shelf.port.get_version(**shelf.at(entry_id))).definition == {"a": 1}
    with pytest.raises(InvalidTransition):
        await shelf.publish(entry_id, {"a": 2})
    # A publication whose answer was lost had happened before.
    assert (await shelf.publish(entry_id, {"a": 1}, version_id="v")).outcome == "duplicate"
    for wanted, expected in ((True, [entry_id]), (False, [other_id])):
        page = await shelf.port.list(tenant_id=shelf.tenant_id, archived=wanted)
        assert [one.id for one in page.items] == expected
    back = await shelf.port.unarchive(**shelf.at(entry_id), expected_version=2)
    assert (back.archived_at, back.version) == (None, 3)
    assert (await shelf.publish(entry_id, {"a": 2})).version == 2


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_a_soft_deleted_one_is_hidden_and_comes_back_whole(
    adapter: Adapter, kind: str
) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id = await shelf.made(versions=2)
    before = await shelf.port.get_version(**shelf.at(entry_id))
    deleted = await shelf.port.soft_delete(**shelf.at(entry_id), actor_id="ada")
    assert deleted.deleted_at is not None
    assert await shelf.port.soft_delete(**shelf.at(entry_id)) == deleted
    assert await shelf.port.find(**shelf.at(entry_id)) is None
    assert await shelf.port.find_version(**shelf.at(entry_id)) is None
    assert (await shelf.port.list(tenant_id=shelf.tenant_id)).items == ()
    for late in (
        shelf.port.update(**shelf.at(entry_id), name="x", expected_version=2),
        shelf.port.archive(**shelf.at(entry_id), expected_version=2),
        shelf.publish(entry_id),
        shelf.port.list_versions(**shelf.at(entry_id)),
    ):
        with pytest.raises(NotFound):
            await late
    # For a host it is not as if it had never been.
    assert await shelf.port.get(**shelf.at(entry_id), deleted=True) == deleted
    assert (await shelf.port.list(tenant_id=shelf.tenant_id, deleted=True)).items == (deleted,)
    with pytest.raises(AlreadyExists):
        await shelf.port.create(**shelf.at(entry_id), name="Other")
    restored = await shelf.port.restore(**shelf.at(entry_id), actor_id="ada")
    assert (restored.deleted_at, restored.latest_version) == (None, 2)
    assert await shelf.port.restore(**shelf.at(entry_id)) == restored
    assert await shelf.port.get_version(**shelf.at(entry_id)) == before
    assert (await shelf.publish(entry_id)).version == 3


@pytest.mark.parametrize("kind", ["agent", "skill"])
async def test_a_purge_leaves_nothing_but_an_id_that_is_never_used_again_b87(
    adapter: Adapter, kind: str
) -> None:
    shelf = await shelf_of(adapter, kind)
    entry_id, other_id = await shelf.made(), await shelf.made(versions=1)
    await shelf.publish(entry_id, version_id="v")
    await shelf.publish(entry_id)
    receipt = await shelf.port.purge(**shelf.at(entry_id), actor_id="ada")
    assert receipt.tables == {f"{kind}s": 1, f"{kind}_versions": 2}
    assert receipt.purged
    for nothing in (entry_id, "never was"):
        assert not (await shelf.port.purge(**shelf.at(nothing))).purged
    assert await shelf.port.find(**shelf.at(entry_id), deleted=True) is None
    for late in (
        shelf.port.update(**shelf.at(entry_id), name="x", expected_version=1),
        shelf.publish(entry_id),
        shelf.port.soft_delete(**shelf.at(entry_id)),
        shelf.port.restore(**shelf.at(entry_id)),
    ):
        with pytest.raises(NotFound):
            await late
    # What still names the id must not find a stranger's version.
    with pytest.raises(AlreadyExists) as caught:
        await shelf.port.create(**shelf.at(entry_id), name="Support")
    assert caught.value.detail["purged"] is True
    assert await shelf.port.find(**shelf.at(entry_id)) is None
    assert (await shelf.port.get(**shelf.at(other_id))).latest_version == 1
    assert (await shelf.publish(other_id, version_id="v")).outcome == "inserted"


async def test_signed_in_users_see_living_ones_only(adapter: Adapter) -> None:
    for kind in ("agent", "skill"):
        shelf = await shelf_of(adapter, kind)
        living, gone = await shelf.made(versions=1), await shelf.made(versions=1)
        await shelf.port.soft_delete(**shelf.at(gone))
        async with adapter.user(shelf.tenant_id, OWNER) as user:
            port = Shelf(user, kind, shelf.tenant_id).port
            page = await port.list(tenant_id=shelf.tenant_id)
            assert page == await shelf.port.list(tenant_id=shelf.tenant_id)
            assert [one.id for one in page.items] == [living]
            assert (await port.list(tenant_id=shelf.tenant_id, deleted=True)).items == ()
            assert await port.find(**shelf.at(gone), deleted=True) is None
            if kind == "skill":
                catalog = await user.skills.list_catalog(tenant_id=shelf.tenant_id)
                assert [one.id for one in catalog.items] == [living]


# --- What a conversation's agent stands for -----------------------------------------------------------


async def _bound(store: Ports, tenant_id: str, agent: AgentBinding | None) -> Conversation:
    return await store.conversations.create(tenant_id=tenant_id, owner_id=OWNER, agent=agent)


async def test_a_pinned_agent_stays_and_the_latest_moves(adapter: Adapter) -> None:
    store, shelf = adapter.store, await shelf_of(adapter, "agent")
    agent_id = await shelf.made(versions=2)
    pinned = await _bound(
        store, shelf.tenant_id, AgentBinding(agent_id=agent_id, policy="pinned", version=2)
    )
    latest = await _bound(store, shelf.tenant_id, AgentBinding(agent_id=agent_id))
    first = await store.agents.resolve(**at(pinned))
    assert (first.status, first.version, first.definition) == ("active", 2, {"number": 2})
    assert (first.agent_id, first.agent_policy, first.name) == (agent_id, "pinned", "Support")
    assert (await store.agents.resolve(**at(latest))).version == 2
    await shelf.publish(agent_id, {"number": 3})
    assert await store.agents.resolve(**at(pinned)) == first
    moved = await store.agents.resolve(**at(latest))
    assert (moved.status, moved.version, moved.definition) == ("active", 3, {"number": 3})
    version = await store.agents.get_version(tenant_id=shelf.tenant_id, agent_id=agent_id)
    assert moved.content_digest == version.content_digest


async def test_a_binding_without_a_version_behind_it_says_why(adapter: Adapter) -> None:
    store, shelf = adapter.store, await shelf_of(adapter, "agent")
    agent_id = await shelf.made(versions=1)
    pinned = await _bound(
        store, shelf.tenant_id, AgentBinding(agent_id=agent_id, policy="pinned", version=1)
    )
    latest = await _bound(store, shelf.tenant_id, AgentBinding(agent_id=agent_id))

    async def said() -> list[tuple[str, int | None, bool]]:
        found = [await store.agents.resolve(**at(talk)) for talk in (pinned, latest)]
        return [(one.status, one.version, one.definition is not None) for one in found]

    await store.agents.archive(tenant_id=shelf.tenant_id, agent_id=agent_id, expected_version=1)
    assert await said() == [("archived", 1, True)] * 2
    await store.agents.soft_delete(tenant_id=shelf.tenant_id, agent_id=agent_id)
    assert await said() == [("deleted", 1, False), ("deleted", None, False)]
    await store.agents.restore(tenant_id=shelf.tenant_id, agent_id=agent_id)
    assert await said() == [("archived", 1, True)] * 2
    await store.agents.purge(tenant_id=shelf.tenant_id, agent_id=agent_id)
    assert await said() == [("deleted", 1, False), ("deleted", None, False)]
    # A purged agent keeps no name.
    assert (await store.agents.resolve(**at(latest))).name is None

    draft_id = await shelf.made()
    for binding, status in (
        (None, "unbound"),
        (AgentBinding(agent_id="in-code", policy="pinned", version=7), "uncatalogued"),
        (AgentBinding(agent_id="in-code"), "uncatalogued"),
        (AgentBinding(agent_id=draft_id), "unpublished"),
        (AgentBinding(agent_id=draft_id, policy="pinned", version=1), "unpublished"),
    ):
        talk = await _bound(store, shelf.tenant_id, binding)
        found = await store.agents.resolve(**at(talk))
        assert (found.status, found.definition) == (status, None)
        assert found.version == (binding.version if binding else None)
    with pytest.raises(NotFound):
        await store.agents.resolve(tenant_id=shelf.tenant_id, conversation_id="absent")
    await store.conversations.soft_delete(**at(latest))
    with pytest.raises(NotFound):
        await store.agents.resolve(**at(latest))


async def test_a_run_records_the_version_it_is_made_for(adapter: Adapter) -> None:
    store, shelf = adapter.store, await shelf_of(adapter, "agent")
    agent_id, other_id = await shelf.made(versions=2), await shelf.made(versions=3)
    latest = await _bound(store, shelf.tenant_id, AgentBinding(agent_id=agent_id))
    pinned = await _bound(
        store, shelf.tenant_id, AgentBinding(agent_id=agent_id, policy="pinned", version=1)
    )
    run = await store.runs.create(**at(latest), run_id="r")
    assert (run.agent_id, run.agent_version) == (agent_id, 2)
    await shelf.publish(agent_id)
    again = await store.runs.create(**at(latest), run_id="r")
    assert (again.outcome, again.agent_version) == ("duplicate", 2)
    for talk, given_agent, given_version, expected in (
        (latest, None, None, (agent_id, 3)),
        (pinned, None, None, (agent_id, 1)),
        (pinned, agent_id, None, (agent_id, 1)),
        (pinned, agent_id, 3, (agent_id, 3)),
        (pinned, other_id, None, (other_id, 3)),
        (pinned, "in-code", None, ("in-code", None)),
        (await new_talk(store, shelf.tenant_id), None, None, (None, None)),
    ):
        made = await store.runs.create(
            **at(talk), agent_id=given_agent, agent_version=given_version
        )
        assert (made.agent_id, made.agent_version) == expected
    # What is gone cannot have been what the run was made for.
    await store.agents.soft_delete(tenant_id=shelf.tenant_id, agent_id=agent_id)
    gone = await store.runs.create(**at(latest))
    assert (gone.agent_id, gone.agent_version) == (agent_id, None)
    stored = await store.runs.get(tenant_id=shelf.tenant_id, run_id="r")
    assert stored.agent_version == 2


# --- Skills ------------------------------------------------------------------------------------------


async def test_the_catalog_holds_the_latest_versions_of_what_can_be_used(adapter: Adapter) -> None:
    store, shelf = adapter.store, await shelf_of(adapter, "skill")
    await shelf.made("draft")
    for name in ("archived", "deleted", "purged", "usable"):
        await shelf.made(name, versions=2)
    await store.skills.archive(tenant_id=shelf.tenant_id, skill_id="archived", expected_version=1)
    await store.skills.soft_delete(tenant_id=shelf.tenant_id, skill_id="deleted")
    await store.skills.purge(tenant_id=shelf.tenant_id, skill_id="purged")
    (entry,) = (await store.skills.list_catalog(tenant_id=shelf.tenant_id)).items
    version = await store.skills.get_version(tenant_id=shelf.tenant_id, skill_id="usable")
    assert (entry.id, entry.name, entry.version) == ("usable", "Support", 2)
    assert entry.content_digest == version.content_digest
    await shelf.publish("usable")
    (entry,) = (await store.skills.list_catalog(tenant_id=shelf.tenant_id)).items
    assert entry.version == 3


async def test_a_reference_to_a_skill_says_what_it_stands_for(adapter: Adapter) -> None:
    store, shelf = adapter.store, await shelf_of(adapter, "skill")
    await shelf.made("x", versions=2)
    await shelf.made("draft")
    where = {"tenant_id": shelf.tenant_id, "skill_id": "x"}

    async def said(skill_id: str, version: int | None = None) -> tuple[Any, ...]:
        found = await store.skills.resolve(
            tenant_id=shelf.tenant_id, skill_id=skill_id, version=version
        )
        assert (found.tenant_id, found.skill_id) == (shelf.tenant_id, skill_id)
        return found.status, found.version, found.definition

    assert await said("x") == ("active", 2, {"number": 2})
    assert await said("x", 1) == ("active", 1, {"number": 1})
    assert await said("x", 3) == ("unpublished", 3, None)
    assert await said("draft") == ("unpublished", None, None)
    assert await said("nowhere", 4) == ("uncatalogued", 4, None)
    await store.skills.archive(**where, expected_version=1)
    assert await said("x") == ("archived", 2, {"number": 2})
    await store.skills.soft_delete(**where)
    assert await said("x", 1) == ("deleted", 1, None)
    await store.skills.purge(**where)
    assert await said("x") == ("deleted", None, None)
    # Another tenant's is not even deleted here.
    other = await new_tenant(store)
    found = await store.skills.resolve(tenant_id=other, skill_id="x")
    assert found.status == "uncatalogued"
