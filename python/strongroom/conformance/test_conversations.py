"""Conversations: create, read, page, change, delete, restore. Forks have a module of their own."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    PARTICIPANT,
    Where,
    at,
    fresh,
    new_talk,
    new_tenant,
    records_in,
    said,
    say,
    walk,
)
from strongroom.conformance.strategies import ids, json_objects, numbers_as_stored, quick
from strongroom.errors import AlreadyExists, NotFound, StrongroomError, VersionConflict
from strongroom.models import AgentBinding, Conversation


def _without_outcome(created: Conversation) -> dict[str, object]:
    return {name: value for name, value in dict(created).items() if name != "outcome"}


async def test_create_get_find(adapter: Adapter) -> None:
    talks, tenant_id = adapter.store.conversations, await new_tenant(adapter.store)
    made = await talks.create(
        tenant_id=tenant_id,
        owner_id=OWNER,
        conversation_id="c1",
        title="Returns",
        external_ref="crm-1",
        visibility="tenant",
        participant_ids=["zoe", PARTICIPANT, "zoe"],
        agent=AgentBinding(agent_id="helper", policy="pinned", version=3),
        metadata={"source": "web"},
    )
    assert made.outcome == "inserted"
    expected = {
        "tenant_id": tenant_id,
        "id": "c1",
        "owner_id": OWNER,
        "participant_ids": (PARTICIPANT, "zoe"),
        "title": "Returns",
        "external_ref": "crm-1",
        "visibility": "tenant",
        "agent_id": "helper",
        "agent_policy": "pinned",
        "agent_version": 3,
        "metadata": {"source": "web"},
        "last_position": 0,
        "last_message_at": None,
        "forked_from_id": None,
        "forked_from_position": None,
        "version": 1,
        "archived_at": None,
        "deleted_at": None,
        "created_at": made.created_at,
        "updated_at": made.created_at,
    }
    assert _without_outcome(made) == expected
    assert made.created_at.tzinfo is dt.UTC
    found = await talks.get(tenant_id=tenant_id, conversation_id="c1")
    assert type(found) is Conversation
    assert dict(found) == expected
    assert await talks.find(tenant_id=tenant_id, conversation_id="c1") == found
    assert await talks.find(tenant_id=tenant_id, conversation_id="c2") is None
    with pytest.raises(NotFound) as caught:
        await talks.get(tenant_id=tenant_id, conversation_id="c2")
    assert caught.value.detail["path"] == "conversation_id"


async def test_an_id_is_made_when_none_is_given(adapter: Adapter) -> None:
    tenant_id = await new_tenant(adapter.store)
    made = [await new_talk(adapter.store, tenant_id) for _ in range(3)]
    assert len({talk.id for talk in made}) == 3
    with pytest.raises(NotFound):
        await new_talk(adapter.store, fresh())


async def test_a_repeated_create_is_a_duplicate_also_after_changes(adapter: Adapter) -> None:
    talks, tenant_id = adapter.store.conversations, await new_tenant(adapter.store)

    async def create(**fields: object) -> object:
        arguments = {
            "tenant_id": tenant_id,
            "owner_id": OWNER,
            "conversation_id": "c1",
            "participant_ids": ["x", "y"],
            "metadata": {"b": 1, "a": {"d": 2, "c": 3}},
            **fields,
        }
        made = await talks.create(**arguments)  # type: ignore[arg-type]
        return made.outcome

    assert await create() == "inserted"
    assert await create() == "duplicate"
    assert await create(participant_ids=["y", "x", "y"]) == "duplicate"
    assert await create(metadata={"a": {"c": 3, "d": 2}, "b": 1}) == "duplicate"
    where = Where(tenant_id=tenant_id, conversation_id="c1")
    changed = await talks.update(**where, expected_version=1, title="Later")
    assert await create() == "duplicate"
    different: list[dict[str, object]] = [
        {"owner_id": "other"},
        {"title": "Later"},
        {"visibility": "tenant"},
        {"participant_ids": ["x"]},
        {"metadata": {}},
        {"metadata": {"b": True, "a": {"d": 2, "c": 3}}},
        {"external_ref": "crm"},
        {"agent": AgentBinding(agent_id="a")},
    ]
    for fields in different:
        with pytest.raises(AlreadyExists):
            await create(**fields)
    assert await talks.get(**where) == changed


async def test_an_external_ref_names_one_living_conversation(adapter: Adapter) -> None:
    talks, tenant_id = adapter.store.conversations, await new_tenant(adapter.store)
    first = await talks.create(tenant_id=tenant_id, owner_id=OWNER, external_ref="crm-1")
    with pytest.raises(AlreadyExists):
        await talks.create(tenant_id=tenant_id, owner_id=OWNER, external_ref="crm-1")
    other = await new_talk(adapter.store, tenant_id)
    with pytest.raises(AlreadyExists):
        await talks.update(**at(other), expected_version=1, external_ref="crm-1")
    assert (await talks.get(**at(other))).version == 1
    await talks.soft_delete(**at(first))
    second = await talks.create(tenant_id=tenant_id, owner_id=OWNER, external_ref="crm-1")
    with pytest.raises(AlreadyExists):
        await talks.restore(**at(first))
    assert await talks.find(**at(first)) is None
    await talks.update(**at(second), expected_version=1, external_ref=None)
    assert (await talks.restore(**at(first))).external_ref == "crm-1"
    page = await talks.list(tenant_id=tenant_id, external_ref="crm-1")
    assert [talk.id for talk in page.items] == [first.id]


async def test_update_changes_what_is_named(adapter: Adapter) -> None:
    talks = adapter.store.conversations
    talk = await new_talk(adapter.store)
    one = await talks.update(
        **at(talk), expected_version=1, title="T", external_ref="e", metadata={"a": 1}
    )
    assert (one.title, one.external_ref, one.metadata, one.version) == ("T", "e", {"a": 1}, 2)
    two = await talks.update(**at(talk), expected_version=2, title=None)
    assert (two.title, two.external_ref, two.metadata) == (None, "e", {"a": 1})
    three = await talks.update(**at(talk), expected_version=3, external_ref=None, metadata={})
    assert (three.external_ref, three.metadata, three.version) == (None, {}, 4)
    archived = await talks.update(**at(talk), expected_version=4, archived=True)
    assert archived.archived_at is not None
    again = await talks.update(**at(talk), expected_version=5, archived=True)
    assert again.archived_at == archived.archived_at
    assert (await talks.update(**at(talk), expected_version=6, archived=False)).archived_at is None
    assert await talks.get(**at(talk)) == await talks.find(**at(talk))


async def test_binding_an_agent(adapter: Adapter) -> None:
    talks = adapter.store.conversations
    talk = await new_talk(adapter.store)
    latest = await talks.bind_agent(
        **at(talk), agent=AgentBinding(agent_id="a"), expected_version=1
    )
    assert (latest.agent_id, latest.agent_policy, latest.agent_version) == ("a", "latest", None)
    pinned = await talks.bind_agent(
        **at(talk),
        agent=AgentBinding(agent_id="b", policy="pinned", version=7),
        expected_version=2,
    )
    assert (pinned.agent_id, pinned.agent_policy, pinned.agent_version) == ("b", "pinned", 7)
    none = await talks.bind_agent(**at(talk), agent=None, expected_version=3)
    assert (none.agent_id, none.agent_policy, none.agent_version) == (None, None, None)
    for wrong in (
        AgentBinding(agent_id="b", policy="pinned"),
        AgentBinding(agent_id="b", policy="latest", version=1),
    ):
        with pytest.raises(StrongroomError) as caught:
            await talks.bind_agent(**at(talk), agent=wrong, expected_version=4)
        assert caught.value.code == "SR001"
    assert await talks.get(**at(talk)) == none


async def test_sharing_replaces_the_participants(adapter: Adapter) -> None:
    talks = adapter.store.conversations
    talk = await new_talk(adapter.store)
    one = await talks.share(
        **at(talk), visibility="tenant", participant_ids=["z", "b", "z"], expected_version=1
    )
    assert (one.visibility, one.participant_ids, one.version) == ("tenant", ("b", "z"), 2)
    two = await talks.share(
        **at(talk), visibility="private", participant_ids=["c", "b"], expected_version=2
    )
    assert (two.visibility, two.participant_ids, two.version) == ("private", ("b", "c"), 3)
    assert await talks.get(**at(talk)) == two


async def test_a_stale_write_changes_nothing_b13(adapter: Adapter) -> None:
    talks = adapter.store.conversations
    talk = await new_talk(adapter.store)
    current = await talks.update(**at(talk), expected_version=1, metadata={"newer": True})
    stale = [
        talks.update(**at(talk), expected_version=1, title="stale"),
        talks.update(**at(talk), expected_version=3, title="from the future"),
        talks.bind_agent(**at(talk), agent=None, expected_version=1),
        talks.share(**at(talk), visibility="tenant", participant_ids=["x"], expected_version=1),
    ]
    for write in stale:
        with pytest.raises(VersionConflict) as caught:
            await write
        assert caught.value.detail["current_version"] == 2
    assert await talks.get(**at(talk)) == current


async def test_messages_do_not_count_as_changes(adapter: Adapter) -> None:
    talk = await new_talk(adapter.store)
    await say(adapter.store, talk, "one", "two")
    found = await adapter.store.conversations.get(**at(talk))
    assert (found.version, found.last_position, found.updated_at) == (1, 2, talk.updated_at)
    assert found.last_message_at is not None
    assert found.last_message_at >= talk.created_at


async def test_soft_delete_hides_and_restore_brings_back(adapter: Adapter) -> None:
    talks = adapter.store.conversations
    talk = await new_talk(adapter.store)
    await say(adapter.store, talk, "kept")
    deleted = await talks.soft_delete(**at(talk))
    assert (deleted.version, deleted.deleted_at is not None) == (2, True)
    assert await talks.soft_delete(**at(talk)) == deleted
    assert await talks.find(**at(talk)) is None
    assert await talks.get(**at(talk), deleted=True) == deleted
    assert (await talks.list(tenant_id=talk.tenant_id)).items == ()
    assert (await talks.list(tenant_id=talk.tenant_id, deleted=True)).items == (deleted,)
    restored = await talks.restore(**at(talk))
    assert (restored.version, restored.deleted_at) == (3, None)
    assert await talks.restore(**at(talk)) == restored
    assert await talks.find(**at(talk), deleted=True) is None
    assert (await talks.list(tenant_id=talk.tenant_id)).items == (restored,)
    assert await adapter.store.messages.count(**at(talk)) == 1
    absent = Where(tenant_id=talk.tenant_id, conversation_id="absent")
    for call in (talks.soft_delete(**absent), talks.restore(**absent)):
        with pytest.raises(NotFound):
            await call


async def test_purge_counts_every_row_and_is_repeatable(adapter: Adapter) -> None:
    store = adapter.store
    talk, other = await new_talk(store), None
    other = await new_talk(store, talk.tenant_id)
    for one in (talk, other):
        await say(store, one, "one", "two")
        await store.session_state.put(**at(one), state={"a": 1}, expected_version=0)
        await store.summaries.append(**at(one), text="s", covers_to_position=1)
    await store.conversations.share(
        **at(talk), visibility="private", participant_ids=["x", "y"], expected_version=1
    )
    await store.conversations.soft_delete(**at(talk))
    receipt = await store.conversations.purge(**at(talk))
    assert records_in(receipt) == {
        "conversations": 1,
        "conversation_participants": 2,
        "messages": 2,
        "session_states": 1,
        "thread_summaries": 1,
    }
    assert receipt.purged
    again = await store.conversations.purge(**at(talk))
    assert not again.purged
    assert again.tables == {}
    assert await store.conversations.find(**at(talk), deleted=True) is None
    assert await store.messages.count(**at(other)) == 2
    assert (await store.session_state.get(**at(other))).version == 1
    reborn = await store.conversations.create(
        tenant_id=talk.tenant_id, owner_id=OWNER, conversation_id=talk.id
    )
    assert (reborn.outcome, reborn.last_position, reborn.participant_ids) == ("inserted", 0, ())
    assert (await store.session_state.get(**at(talk))).version == 0


async def test_filters_of_the_list(adapter: Adapter) -> None:
    talks, tenant_id = adapter.store.conversations, await new_tenant(adapter.store)
    mine = await talks.create(tenant_id=tenant_id, owner_id=OWNER, external_ref="r")
    theirs = await talks.create(tenant_id=tenant_id, owner_id="bob")
    await talks.update(**at(theirs), expected_version=1, archived=True)

    async def listed(**filters: object) -> set[str]:
        page = await talks.list(tenant_id=tenant_id, **filters)  # type: ignore[arg-type]
        return {talk.id for talk in page.items}

    assert await listed() == {mine.id, theirs.id}
    assert await listed(owner_id=OWNER) == {mine.id}
    assert await listed(owner_id="nobody") == set()
    assert await listed(archived=True) == {theirs.id}
    assert await listed(archived=False) == {mine.id}
    assert await listed(external_ref="r") == {mine.id}
    assert await listed(external_ref="r", owner_id="bob") == set()
    assert await listed(deleted=True) == set()


async def test_creating_at_once_makes_one(adapter: Adapter) -> None:
    tenant_id = await new_tenant(adapter.store)
    made = await asyncio.gather(
        *(
            adapter.store.conversations.create(
                tenant_id=tenant_id, owner_id=OWNER, conversation_id="c"
            )
            for _ in range(5)
        )
    )
    assert sorted(one.outcome for one in made) == ["duplicate"] * 4 + ["inserted"]


async def test_of_updates_at_once_one_wins_b13(adapter: Adapter) -> None:
    talk = await new_talk(adapter.store)
    results = await asyncio.gather(
        *(
            adapter.store.conversations.update(**at(talk), expected_version=1, title=f"t{number}")
            for number in range(5)
        ),
        return_exceptions=True,
    )
    won = [result for result in results if isinstance(result, Conversation)]
    lost = [result for result in results if isinstance(result, BaseException)]
    assert [type(error) for error in lost] == [VersionConflict] * 4
    assert await adapter.store.conversations.get(**at(talk)) == won[0]


async def test_a_late_write_to_a_deleted_conversation_leaves_nothing(adapter: Adapter) -> None:
    for _ in range(5):
        talk = await new_talk(adapter.store)
        results = await asyncio.gather(
            adapter.store.conversations.purge(**at(talk)),
            *(
                adapter.store.messages.append(**at(talk), messages=[said("late", id=fresh("m"))])
                for _ in range(4)
            ),
            return_exceptions=True,
        )
        refused = [result for result in results if isinstance(result, BaseException)]
        assert {type(error) for error in refused} <= {NotFound}
        assert await adapter.store.conversations.find(**at(talk)) is None
        assert not (await adapter.store.conversations.purge(**at(talk))).purged


@quick
@given(
    owner=ids,
    title=st.none() | ids,
    ref=st.none() | ids,
    participants=st.lists(ids, max_size=3),
    metadata=json_objects,
)
async def test_any_conversation_comes_back_as_given(
    adapter: Adapter,
    owner: str,
    title: str | None,
    ref: str | None,
    participants: list[str],
    metadata: dict[str, object],
) -> None:
    tenant_id = await new_tenant(adapter.store)
    for outcome in ("inserted", "duplicate"):
        made = await adapter.store.conversations.create(
            tenant_id=tenant_id,
            owner_id=owner,
            conversation_id=owner,
            title=title,
            external_ref=ref,
            participant_ids=participants,
            metadata=metadata,  # type: ignore[arg-type]
        )
        assert made.outcome == outcome
    found = await adapter.store.conversations.get(tenant_id=tenant_id, conversation_id=owner)
    assert (found.owner_id, found.title, found.external_ref) == (owner, title, ref)
    assert found.participant_ids == tuple(sorted(set(participants)))
    assert numbers_as_stored(found.metadata) == numbers_as_stored(metadata)
    rows = await walk(
        lambda **page: adapter.store.conversations.list(tenant_id=tenant_id, **page), limit=1
    )
    assert rows == [found]
