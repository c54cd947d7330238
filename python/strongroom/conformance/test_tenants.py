"""Tenants and members."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    all_messages,
    at,
    fresh,
    new_talk,
    new_tenant,
    records_in,
    said,
    say,
    texts_of,
    walk,
)
from strongroom.conformance.strategies import ids, json_objects, numbers_as_stored, quick
from strongroom.errors import AlreadyExists, NotFound, PermissionDenied, VersionConflict
from strongroom.models.base import JsonObject


async def test_create_get_find(adapter: Adapter) -> None:
    tenants, tenant_id = adapter.store.tenants, fresh()
    assert await tenants.find(tenant_id=tenant_id) is None
    with pytest.raises(NotFound) as caught:
        await tenants.get(tenant_id=tenant_id)
    assert caught.value.detail["path"] == "tenant_id"
    made = await tenants.create(tenant_id=tenant_id, name="Acme", metadata={"plan": "gold"})
    assert (made.outcome, made.status, made.version) == ("inserted", "active", 1)
    assert made.created_at == made.updated_at
    found = await tenants.get(tenant_id=tenant_id)
    assert found == await tenants.find(tenant_id=tenant_id)
    assert dict(found) == {k: v for k, v in dict(made).items() if k != "outcome"}


async def test_a_repeated_create_is_a_duplicate_also_after_changes(adapter: Adapter) -> None:
    tenants, tenant_id = adapter.store.tenants, fresh()
    content: JsonObject = {"b": [1, {"x": None}], "a": "ä"}
    await tenants.create(tenant_id=tenant_id, name="Acme", metadata=content)
    reordered: JsonObject = {"a": "ä", "b": [1, {"x": None}]}
    again = await tenants.create(tenant_id=tenant_id, name="Acme", metadata=reordered)
    assert (again.outcome, again.version) == ("duplicate", 1)
    changed = await tenants.update(tenant_id=tenant_id, expected_version=1, name="Acme & Co")
    after = await tenants.create(tenant_id=tenant_id, name="Acme", metadata=content)
    assert (after.outcome, after.name, after.version) == ("duplicate", "Acme & Co", 2)
    assert await tenants.get(tenant_id=tenant_id) == changed
    for other in ({"name": "Other", "metadata": content}, {"name": "Acme", "metadata": {}}):
        with pytest.raises(AlreadyExists):
            await tenants.create(tenant_id=tenant_id, **other)  # type: ignore[arg-type]
    assert await tenants.get(tenant_id=tenant_id) == changed


async def test_update_changes_what_is_named(adapter: Adapter) -> None:
    tenants, tenant_id = adapter.store.tenants, fresh()
    await tenants.create(tenant_id=tenant_id, name="Acme", metadata={"a": 1})
    renamed = await tenants.update(tenant_id=tenant_id, expected_version=1, name="New")
    assert (renamed.name, renamed.metadata, renamed.version) == ("New", {"a": 1}, 2)
    tagged = await tenants.update(tenant_id=tenant_id, expected_version=2, metadata={"b": 2})
    assert (tagged.name, tagged.metadata, tagged.version) == ("New", {"b": 2}, 3)
    emptied = await tenants.update(tenant_id=tenant_id, expected_version=3, metadata={})
    assert emptied.metadata == {}
    assert emptied.updated_at >= emptied.created_at


async def test_a_stale_update_changes_nothing_b13(adapter: Adapter) -> None:
    tenants, tenant_id = adapter.store.tenants, fresh()
    await tenants.create(tenant_id=tenant_id, name="Acme")
    current = await tenants.update(tenant_id=tenant_id, expected_version=1, name="First")
    for change in (
        tenants.update(tenant_id=tenant_id, expected_version=1, name="Second"),
        tenants.suspend(tenant_id=tenant_id, expected_version=1),
        tenants.resume(tenant_id=tenant_id, expected_version=3),
    ):
        with pytest.raises(VersionConflict) as caught:
            await change
        assert caught.value.detail["current_version"] == 2
    assert await tenants.get(tenant_id=tenant_id) == current
    with pytest.raises(NotFound):
        await tenants.update(tenant_id=fresh(), expected_version=1, name="Nobody")


async def test_a_suspended_tenant_is_readable_and_takes_no_writes(adapter: Adapter) -> None:
    store = adapter.store
    talk = await new_talk(store)
    await say(store, talk, "before")
    tenants, tenant_id = store.tenants, talk.tenant_id
    suspended = await tenants.suspend(tenant_id=tenant_id, expected_version=1)
    assert (suspended.status, suspended.version) == ("suspended", 2)
    for write in (
        store.messages.append(**at(talk), messages=[said("after")]),
        store.conversations.create(tenant_id=tenant_id, owner_id=OWNER),
        store.conversations.soft_delete(**at(talk)),
        store.session_state.put(**at(talk), state={}, expected_version=0),
        store.summaries.append(**at(talk), text="s", covers_to_position=1),
        tenants.add_member(tenant_id=tenant_id, principal_id=OWNER),
    ):
        with pytest.raises(PermissionDenied):
            await write
    assert texts_of(await all_messages(store, talk)) == ["before"]
    resumed = await tenants.resume(tenant_id=tenant_id, expected_version=2)
    assert (resumed.status, resumed.version) == ("active", 3)
    assert (await say(store, talk, "after")).items[0].position == 2


async def test_purge_counts_every_row_and_is_repeatable(adapter: Adapter) -> None:
    store = adapter.store
    talk = await new_talk(store)
    await say(store, talk, "one", "two", "three")
    await store.session_state.put(**at(talk), state={"a": 1}, expected_version=0)
    await store.summaries.append(**at(talk), text="s", covers_to_position=2)
    await store.tenants.add_member(tenant_id=talk.tenant_id, principal_id=OWNER)
    receipt = await store.tenants.purge(tenant_id=talk.tenant_id)
    assert records_in(receipt) == {
        "audit_events": 2,
        "conversations": 1,
        "memberships": 1,
        "messages": 3,
        "session_states": 1,
        "tenants": 1,
        "thread_summaries": 1,
    }
    again = await store.tenants.purge(tenant_id=talk.tenant_id)
    assert not again.purged
    assert again.tables == {}
    with pytest.raises(NotFound):
        await store.messages.append(**at(talk), messages=[said("late")])
    assert await store.tenants.find(tenant_id=talk.tenant_id) is None
    reborn = await store.tenants.create(tenant_id=talk.tenant_id, name="Again")
    assert (reborn.outcome, reborn.version) == ("inserted", 1)
    assert (await store.conversations.list(tenant_id=talk.tenant_id)).items == ()


async def test_a_suspended_tenant_can_be_purged(adapter: Adapter) -> None:
    tenant_id = await new_tenant(adapter.store)
    await adapter.store.tenants.suspend(tenant_id=tenant_id, expected_version=1)
    assert (await adapter.store.tenants.purge(tenant_id=tenant_id)).tables["tenants"] == 1


async def test_members(adapter: Adapter) -> None:
    tenants, tenant_id = adapter.store.tenants, await new_tenant(adapter.store)
    who = {"tenant_id": tenant_id, "principal_id": OWNER}
    assert await tenants.find_member(**who) is None
    with pytest.raises(NotFound):
        await tenants.get_member(**who)
    added = await tenants.add_member(
        tenant_id=tenant_id, principal_id=OWNER, role_ids=["b", "a"], membership_id="m1"
    )
    assert (added.outcome, added.id, added.version) == ("inserted", "m1", 1)
    assert added.role_ids == ("b", "a")
    assert dict(await tenants.get_member(**who)) == {
        k: v for k, v in dict(added).items() if k != "outcome"
    }
    changed = await tenants.set_member_roles(
        tenant_id=tenant_id, principal_id=OWNER, role_ids=["boss"], expected_version=1
    )
    assert (changed.role_ids, changed.version) == (("boss",), 2)
    with pytest.raises(VersionConflict) as caught:
        await tenants.set_member_roles(
            tenant_id=tenant_id, principal_id=OWNER, role_ids=[], expected_version=1
        )
    assert caught.value.detail["current_version"] == 2
    with pytest.raises(NotFound):
        await tenants.set_member_roles(
            tenant_id=tenant_id, principal_id="nobody", role_ids=[], expected_version=1
        )
    assert await tenants.find_member(**who) == changed
    assert await tenants.remove_member(**who) is True
    assert await tenants.remove_member(**who) is False
    assert await tenants.find_member(**who) is None
    back = await tenants.add_member(**who)
    assert (back.outcome, back.role_ids, back.version) == ("inserted", (), 1)


async def test_adding_a_member_twice(adapter: Adapter) -> None:
    tenants, tenant_id = adapter.store.tenants, await new_tenant(adapter.store)
    first = await tenants.add_member(
        tenant_id=tenant_id, principal_id=OWNER, role_ids=["a"], membership_id="m1"
    )
    again = await tenants.add_member(
        tenant_id=tenant_id, principal_id=OWNER, role_ids=["a"], membership_id="m1"
    )
    assert again == first.replace(outcome="duplicate")
    for other in (
        {"membership_id": "m2", "principal_id": OWNER, "role_ids": ["a"]},
        {"membership_id": "m1", "principal_id": "bob", "role_ids": ["a"]},
        {"membership_id": "m1", "principal_id": OWNER, "role_ids": []},
    ):
        with pytest.raises(AlreadyExists):
            await tenants.add_member(tenant_id=tenant_id, **other)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        await tenants.add_member(tenant_id=fresh(), principal_id=OWNER)
    page = await tenants.list_members(tenant_id=tenant_id)
    assert [member.principal_id for member in page.items] == [OWNER]


@pytest.mark.parametrize("direction", ["forward", "backward"])
async def test_pages_of_members_are_by_principal_id(adapter: Adapter, direction: str) -> None:
    tenants, tenant_id = adapter.store.tenants, await new_tenant(adapter.store)
    # The order is by code point, whatever language the server sorts in.
    principals = ["a", "B", "ä", "_", "Z", "aa", "9", "😀", "\uffff", "-"]
    for principal_id in principals:
        await tenants.add_member(tenant_id=tenant_id, principal_id=principal_id)
    rows = await walk(
        lambda **page: tenants.list_members(tenant_id=tenant_id, **page),
        limit=3,
        direction=direction,
        back=True,
    )
    assert [member.principal_id for member in rows] == sorted(
        principals, reverse=direction == "backward"
    )


async def test_two_updates_at_once_one_wins(adapter: Adapter) -> None:
    tenants, tenant_id = adapter.store.tenants, await new_tenant(adapter.store)
    results = await asyncio.gather(
        *(
            tenants.update(tenant_id=tenant_id, expected_version=1, name=f"n{number}")
            for number in range(5)
        ),
        return_exceptions=True,
    )
    lost = [result for result in results if isinstance(result, BaseException)]
    assert [type(error) for error in lost] == [VersionConflict] * 4
    assert (await tenants.get(tenant_id=tenant_id)).version == 2


async def test_creating_at_once_makes_one(adapter: Adapter) -> None:
    tenant_id = fresh()
    made = await asyncio.gather(
        *(adapter.store.tenants.create(tenant_id=tenant_id, name="Acme") for _ in range(5))
    )
    assert sorted(one.outcome for one in made) == ["duplicate"] * 4 + ["inserted"]


@quick
@given(name=ids, metadata=json_objects, roles=st.lists(ids, max_size=3))
async def test_any_tenant_and_member_comes_back_as_given(
    adapter: Adapter, name: str, metadata: dict[str, object], roles: list[str]
) -> None:
    tenants, tenant_id = adapter.store.tenants, fresh()
    await tenants.create(tenant_id=tenant_id, name=name, metadata=metadata)  # type: ignore[arg-type]
    found = await tenants.get(tenant_id=tenant_id)
    assert found.name == name
    assert numbers_as_stored(found.metadata) == numbers_as_stored(metadata)
    await tenants.add_member(tenant_id=tenant_id, principal_id=name, role_ids=roles)
    assert (await tenants.get_member(tenant_id=tenant_id, principal_id=name)).role_ids == tuple(
        roles
    )
