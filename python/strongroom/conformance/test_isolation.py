"""Tenant isolation: whatever is another tenant's is, for every method, as if it did not exist."""

from __future__ import annotations

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls import (
    HOST_READS,
    HOST_WRITES,
    OWN_READS,
    OWN_WRITES,
    READS,
    TENANT_READS,
    WRITES,
    everything,
    everything_beside,
    fill,
    fill_lifecycle,
)
from strongroom.conformance.helpers import (
    OWNER,
    Where,
    at,
    fresh,
    new_talk,
    new_tenant,
    result_of,
    said,
    say,
    walk,
)
from strongroom.conformance.kept import kept
from strongroom.errors import NotFound, StrongroomError, TenantMismatch
from strongroom.models import ExecutionContext, Viewer


@pytest.mark.parametrize("method", sorted(READS))
async def test_reading_anothers_id_is_reading_an_absent_one(adapter: Adapter, method: str) -> None:
    theirs = await kept(adapter)
    mine = await kept(adapter, "mine")
    foreign = await result_of(READS[method](adapter.store, theirs.within(mine.tenant_id), None))
    absent = await result_of(READS[method](adapter.store, mine.absent(), None))
    assert foreign == absent
    assert await result_of(READS[method](adapter.store, theirs, None)) != absent


@pytest.mark.parametrize("method", sorted(WRITES))
async def test_writing_to_anothers_id_is_writing_to_an_absent_one_b35_b87(
    adapter: Adapter, method: str
) -> None:
    theirs = await kept(adapter)
    mine = await kept(adapter, "mine")
    before = await everything(adapter.store, theirs)
    foreign = await result_of(WRITES[method](adapter.store, theirs.within(mine.tenant_id)))
    absent = await result_of(WRITES[method](adapter.store, mine.absent()))
    assert foreign == absent
    assert isinstance(foreign, tuple), f"it succeeded: {foreign}"
    assert foreign[0] is NotFound
    assert await everything(adapter.store, theirs) == before


@pytest.mark.parametrize("method", sorted({**HOST_READS, **TENANT_READS}))
async def test_reading_what_another_has_beside_is_reading_what_is_absent(
    adapter: Adapter, method: str
) -> None:
    read = {**HOST_READS, **TENANT_READS}[method]
    theirs = await kept(adapter)
    mine = await kept(adapter, "mine")
    foreign = await result_of(read(adapter.store, theirs.within(mine.tenant_id)))
    absent = await result_of(read(adapter.store, mine.absent()))
    assert foreign == absent
    assert await result_of(read(adapter.store, theirs)) != absent


@pytest.mark.parametrize("method", sorted(OWN_READS))
async def test_reading_what_is_anothers_own_is_reading_what_is_absent(
    adapter: Adapter, method: str
) -> None:
    theirs = await kept(adapter)
    mine = await kept(adapter, "mine")
    read = OWN_READS[method]
    foreign = await result_of(read(adapter.store, theirs.within(mine.tenant_id), None))
    assert foreign == await result_of(read(adapter.store, mine.absent(), None))
    assert await result_of(read(adapter.store, theirs, None)) != foreign


@pytest.mark.parametrize("method", sorted(OWN_READS))
async def test_a_user_has_nothing_of_their_own_in_another_tenant(
    adapter: Adapter, method: str
) -> None:
    theirs = await kept(adapter)
    mine = await kept(adapter, "mine")
    read = OWN_READS[method]
    foreign = await result_of(read(adapter.store, mine.absent(), None))
    async with adapter.user(mine.tenant_id, theirs.memory.principal_id) as user:
        own = await result_of(read(user, theirs.within(mine.tenant_id), None))
        assert own == foreign
        with pytest.raises(TenantMismatch):
            await read(user, theirs, None)


@pytest.mark.parametrize("method", sorted({**HOST_WRITES, **OWN_WRITES}))
async def test_writing_to_what_another_has_beside_changes_nothing_b87(
    adapter: Adapter, method: str
) -> None:
    theirs = await fill(adapter.store)
    mine = await kept(adapter, "mine")
    before = await everything_beside(adapter.store, theirs)
    write = {**HOST_WRITES, **OWN_WRITES}[method]
    foreign = await result_of(write(adapter.store, theirs.within(mine.tenant_id)))
    # The same tokens, so that nothing differs but the name itself, which an error may repeat.
    nobodys = theirs.absent().within(mine.tenant_id)
    absent = await result_of(write(adapter.store, nobodys))
    told = str(foreign)
    for name in ("job_id", "lock_name"):
        told = told.replace(getattr(theirs, name), getattr(nobodys, name))
    assert told == str(absent)
    assert isinstance(foreign, tuple) or not foreign, f"it succeeded: {foreign}"
    assert await everything_beside(adapter.store, theirs) == before
    done = await result_of(write(adapter.store, theirs))
    assert done
    assert not isinstance(done, tuple)


async def test_purging_anothers_conversation_deletes_nothing_b87(adapter: Adapter) -> None:
    theirs = await fill(adapter.store)
    mine = await fill(adapter.store)
    before = await everything(adapter.store, theirs)
    foreign = await adapter.store.conversations.purge(
        tenant_id=mine.tenant_id, conversation_id=theirs.conversation_id
    )
    absent = await adapter.store.conversations.purge(
        tenant_id=mine.tenant_id, conversation_id=mine.absent().conversation_id
    )
    assert not foreign.purged
    assert foreign == absent
    assert await everything(adapter.store, theirs) == before


async def test_the_same_ids_live_in_two_tenants_apart_b07(adapter: Adapter) -> None:
    tenants = [await new_tenant(adapter.store) for _ in range(2)]
    for number, tenant_id in enumerate(tenants):
        made = await adapter.store.conversations.create(
            tenant_id=tenant_id, owner_id=OWNER, conversation_id="c", external_ref="crm-1"
        )
        assert made.outcome == "inserted"
        where = Where(tenant_id=tenant_id, conversation_id="c")
        done = await adapter.store.messages.append(**where, messages=[said(f"of {number}", id="m")])
        assert [(item.outcome, item.position) for item in done.items] == [("inserted", 1)]
        summary = await adapter.store.summaries.append(
            **where, text=f"of {number}", covers_to_position=1, summary_id="s"
        )
        assert (summary.outcome, summary.version) == ("inserted", 1)
        member = await adapter.store.tenants.add_member(
            tenant_id=tenant_id, principal_id=OWNER, membership_id="p", role_ids=[f"r{number}"]
        )
        assert member.outcome == "inserted"
    await adapter.store.conversations.purge(tenant_id=tenants[0], conversation_id="c")
    message = await adapter.store.messages.get(tenant_id=tenants[1], message_id="m")
    assert message.parts[0].to_json()["text"] == "of 1"
    assert await adapter.store.messages.find(tenant_id=tenants[0], message_id="m") is None


async def test_lists_show_one_tenant(adapter: Adapter) -> None:
    theirs = await fill(adapter.store)
    mine = await new_tenant(adapter.store)
    assert (await adapter.store.conversations.list(tenant_id=mine)).items == ()
    assert (await adapter.store.tenants.list_members(tenant_id=mine)).items == ()
    talk = await new_talk(adapter.store, mine)
    page = await adapter.store.conversations.list(tenant_id=mine)
    assert [item.id for item in page.items] == [talk.id]
    assert page.items[0].id != theirs.conversation_id


async def test_a_cursor_of_another_tenant_shows_nothing_of_it(adapter: Adapter) -> None:
    theirs, mine = await new_tenant(adapter.store), await new_tenant(adapter.store)
    for tenant_id in (theirs, mine):
        for _ in range(3):
            await new_talk(adapter.store, tenant_id)
    cursor = (await adapter.store.conversations.list(tenant_id=theirs, limit=1)).next_cursor
    try:
        page = await adapter.store.conversations.list(tenant_id=mine, after=cursor)
    except StrongroomError:
        return
    assert {talk.tenant_id for talk in page.items} <= {mine}


async def test_a_viewer_of_another_tenant_is_refused(adapter: Adapter) -> None:
    mine = await fill(adapter.store)
    other = ExecutionContext(tenant_id=fresh(), principal_id=OWNER, request_id="r")
    for method, read in READS.items():
        with pytest.raises(TenantMismatch) as caught:
            await read(adapter.store, mine, other)
        assert caught.value.detail["path"] == "viewer.tenant_id", method
    with pytest.raises(TenantMismatch):
        await adapter.store.conversations.list(tenant_id=mine.tenant_id, viewer=other)
    own = ExecutionContext(tenant_id=mine.tenant_id, principal_id=OWNER, request_id="r")
    for read in READS.values():
        await read(adapter.store, mine, own)


async def test_members_of_another_tenant_are_absent(adapter: Adapter) -> None:
    theirs = await fill(adapter.store)
    mine = await new_tenant(adapter.store)
    tenants = adapter.store.tenants
    assert await tenants.find_member(tenant_id=mine, principal_id=OWNER) is None
    with pytest.raises(NotFound):
        await tenants.get_member(tenant_id=mine, principal_id=OWNER)
    with pytest.raises(NotFound):
        await tenants.set_member_roles(
            tenant_id=mine, principal_id=OWNER, role_ids=["boss"], expected_version=1
        )
    assert await tenants.remove_member(tenant_id=mine, principal_id=OWNER) is False
    kept = await tenants.get_member(tenant_id=theirs.tenant_id, principal_id=OWNER)
    assert (kept.role_ids, kept.version) == ((), 1)


async def test_purging_a_tenant_leaves_the_others(adapter: Adapter) -> None:
    theirs = await fill(adapter.store)
    mine = await fill(adapter.store)
    before = await everything(adapter.store, theirs)
    receipt = await adapter.store.tenants.purge(tenant_id=mine.tenant_id)
    assert receipt.purged
    assert await adapter.store.tenants.find(tenant_id=mine.tenant_id) is None
    assert await everything(adapter.store, theirs) == before


async def test_row_security_shows_a_host_the_bound_tenant_alone(adapter: Adapter) -> None:
    look = adapter.look
    mine, theirs = await fill(adapter.store), await fill(adapter.store)
    for tenant_id in (mine.tenant_id, theirs.tenant_id):
        await fill_lifecycle(adapter.store, tenant_id)
    for tenant_id in (mine.tenant_id, theirs.tenant_id):
        seen = await look(tenant_id=tenant_id)
        assert seen, "there is no table to look at"
        assert seen == {table: frozenset({tenant_id}) for table in seen}
    seen = await look(tenant_id=fresh())
    assert set().union(*seen.values()) == set(), "a tenant that does not exist sees rows"


async def test_row_security_shows_a_user_their_tenant_alone(adapter: Adapter) -> None:
    look = adapter.look
    if adapter.as_user is None:
        pytest.skip("the adapter fixture gives no 'as_user': signed-in end users")
    mine = await fill(adapter.store)
    theirs = await fill(adapter.store, visibility="tenant")
    for tenant_id in (mine.tenant_id, theirs.tenant_id):
        seen = await look(tenant_id=tenant_id, principal_id=OWNER)
        assert seen, "there is no table to look at"
        assert seen == {table: frozenset({tenant_id}) for table in seen}
    seen = await look(tenant_id=fresh(), principal_id=OWNER)
    assert set().union(*seen.values()) == set(), "a tenant that does not exist sees rows"


@pytest.mark.parametrize("method", sorted(READS))
async def test_a_user_of_another_tenant_reads_nothing(adapter: Adapter, method: str) -> None:
    theirs = await kept(adapter, visibility="tenant")
    mine = await kept(adapter, "mine")
    async with adapter.user(mine.tenant_id, OWNER) as user:
        foreign = await result_of(READS[method](user, theirs.within(mine.tenant_id), None))
        absent = await result_of(READS[method](user, mine.absent(), None))
        assert foreign == absent
        assert await result_of(READS[method](user, mine, None)) != absent
        with pytest.raises(TenantMismatch):
            await READS[method](user, theirs, None)


async def test_a_user_of_another_tenant_writes_nothing_b87(adapter: Adapter) -> None:
    theirs = await fill(adapter.store, visibility="tenant")
    mine = await fill(adapter.store)
    before = await everything(adapter.store, theirs)
    async with adapter.user(mine.tenant_id, OWNER) as user:
        for method, write in WRITES.items():
            refused = await result_of(write(user, theirs))
            assert isinstance(refused, tuple), f"{method} succeeded: {refused}"
            foreign = await result_of(write(user, theirs.within(mine.tenant_id)))
            assert isinstance(foreign, tuple), f"{method} succeeded: {foreign}"
            assert foreign == await result_of(write(user, mine.absent())), method
        for purge in (theirs, theirs.within(mine.tenant_id)):
            with pytest.raises(StrongroomError):
                await user.conversations.purge(
                    tenant_id=purge.tenant_id, conversation_id=purge.conversation_id
                )
        with pytest.raises(TenantMismatch):
            await user.conversations.create(tenant_id=theirs.tenant_id, owner_id=OWNER)
    assert await everything(adapter.store, theirs) == before


async def test_a_users_lists_show_their_tenant(adapter: Adapter) -> None:
    await fill(adapter.store, visibility="tenant")
    mine = await fill(adapter.store)
    async with adapter.user(mine.tenant_id, OWNER) as user:
        talks = await walk(
            lambda **page: user.conversations.list(tenant_id=mine.tenant_id, **page), limit=1
        )
        members = await user.tenants.list_members(tenant_id=mine.tenant_id)
    assert [talk.id for talk in talks] == [mine.conversation_id]
    assert [member.tenant_id for member in members.items] == [mine.tenant_id]


async def test_an_append_to_one_tenant_is_seen_in_no_other(adapter: Adapter) -> None:
    mine, theirs = await new_talk(adapter.store), await new_talk(adapter.store)
    await say(adapter.store, mine, "one", "two")
    assert await adapter.store.messages.count(**at(theirs)) == 0
    viewer = Viewer(principal_id=OWNER)
    page = await adapter.store.conversations.list(tenant_id=theirs.tenant_id, viewer=viewer)
    assert [talk.id for talk in page.items] == [theirs.id]
