"""Permission filtering: who may read a conversation, as a viewer of a host and as a signed-in user."""

from __future__ import annotations

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls import (
    HOST_READS,
    HOST_WRITES,
    MORE_WRITES,
    OWN_READS,
    OWN_WRITES,
    READS,
    TENANT_READS,
    WRITES,
    everything,
    everything_beside,
    fill,
)
from strongroom.conformance.helpers import (
    OWNER,
    PARTICIPANT,
    STRANGER,
    fresh,
    new_talk,
    new_tenant,
    result_of,
    said,
    walk,
)
from strongroom.conformance.kept import kept
from strongroom.errors import AlreadyExists, NotFound, PermissionDenied, TenantMismatch
from strongroom.models import Viewer

READERS = [OWNER, PARTICIPANT]


@pytest.mark.parametrize("method", sorted(READS))
async def test_owner_and_participants_read_and_nobody_else(adapter: Adapter, method: str) -> None:
    target = await kept(adapter)
    as_host = await result_of(READS[method](adapter.store, target, None))
    for principal_id in READERS:
        viewer = Viewer(principal_id=principal_id)
        assert await result_of(READS[method](adapter.store, target, viewer)) == as_host
    stranger = Viewer(principal_id=STRANGER, role_ids=[OWNER, "admin"])
    unreadable = await result_of(READS[method](adapter.store, target, stranger))
    assert unreadable == await result_of(READS[method](adapter.store, target.absent(), stranger))
    assert unreadable != as_host


@pytest.mark.parametrize("method", sorted(READS))
async def test_the_whole_tenant_reads_what_is_open_to_it(adapter: Adapter, method: str) -> None:
    target = await kept(adapter, visibility="tenant")
    stranger = Viewer(principal_id=STRANGER)
    as_host = await result_of(READS[method](adapter.store, target, None))
    assert await result_of(READS[method](adapter.store, target, stranger)) == as_host


async def test_sharing_and_unsharing_takes_effect_at_once(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    store, stranger = adapter.store, Viewer(principal_id=STRANGER)
    where = target.where
    assert await store.conversations.find(**where, viewer=stranger) is None
    shared = await store.conversations.share(
        **where, visibility="private", participant_ids=[STRANGER], expected_version=1
    )
    assert shared.participant_ids == (STRANGER,)
    assert await store.messages.count(**where, viewer=stranger) == 2
    with pytest.raises(NotFound):
        await store.messages.count(**where, viewer=Viewer(principal_id=PARTICIPANT))
    await store.conversations.share(
        **where, visibility="private", participant_ids=[], expected_version=2
    )
    with pytest.raises(NotFound):
        await store.messages.count(**where, viewer=stranger)


async def _make_talks(store: Ports) -> tuple[str, dict[str, set[str]]]:
    """Make conversations of every kind; return the tenant and who may read which."""
    tenant_id = await new_tenant(store)
    readable: dict[str, set[str]] = {name: set() for name in (OWNER, PARTICIPANT, STRANGER)}
    for owner in (OWNER, STRANGER):
        for participants in ([], [PARTICIPANT], [PARTICIPANT, owner]):
            for visibility in ("private", "tenant"):
                talk = await store.conversations.create(
                    tenant_id=tenant_id,
                    owner_id=owner,
                    participant_ids=participants,
                    visibility=visibility,
                )
                for name, talks in readable.items():
                    if visibility == "tenant" or name == owner or name in participants:
                        talks.add(talk.id)
    return tenant_id, readable


@pytest.mark.parametrize("direction", ["forward", "backward"])
async def test_a_viewers_pages_hold_what_they_may_read_once(
    adapter: Adapter, direction: str
) -> None:
    tenant_id, readable = await _make_talks(adapter.store)
    for principal_id, expected in readable.items():
        viewer = Viewer(principal_id=principal_id)
        rows = await walk(
            lambda v=viewer, **page: adapter.store.conversations.list(
                tenant_id=tenant_id, viewer=v, **page
            ),
            limit=3,
            direction=direction,
            back=True,
        )
        assert len(rows) == len(expected), principal_id
        assert {talk.id for talk in rows} == expected, principal_id
        order = [(talk.created_at, talk.id) for talk in rows]
        assert order == sorted(order, reverse=direction == "forward")


async def test_a_deleted_conversation_is_shown_to_hosts_only(
    adapter: Adapter,
) -> None:
    target = await fill(adapter.store, visibility="tenant")
    where = target.where
    store = adapter.store
    await store.conversations.soft_delete(**where)
    viewers = [None, *(Viewer(principal_id=name) for name in (OWNER, PARTICIPANT, STRANGER))]
    shown = [
        await store.conversations.find(**where, deleted=True, viewer=viewer) for viewer in viewers
    ]
    assert [found is not None for found in shown] == [True, False, False, False]
    listed = [
        await store.conversations.list(tenant_id=target.tenant_id, deleted=True, viewer=viewer)
        for viewer in viewers
    ]
    assert [len(page.items) for page in listed] == [1, 0, 0, 0]


@pytest.mark.parametrize("method", sorted(READS))
async def test_a_signed_in_user_reads_what_a_viewer_reads(adapter: Adapter, method: str) -> None:
    private = await kept(adapter)
    shared = await kept(adapter, visibility="tenant", beside=private)
    for principal_id in (OWNER, PARTICIPANT, STRANGER):
        viewer = Viewer(principal_id=principal_id)
        async with adapter.user(private.tenant_id, principal_id) as user:
            for target in (private, shared, private.absent()):
                as_viewer = await result_of(READS[method](adapter.store, target, viewer))
                assert await result_of(READS[method](user, target, None)) == as_viewer
                assert await result_of(READS[method](user, target, viewer)) == as_viewer


async def test_a_signed_in_user_cannot_look_through_other_eyes(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    owner = Viewer(principal_id=OWNER)
    async with adapter.user(target.tenant_id, STRANGER) as user:
        for method, read in READS.items():
            with pytest.raises(PermissionDenied):
                await read(user, target, owner)
            assert method
        with pytest.raises(PermissionDenied):
            await user.conversations.list(tenant_id=target.tenant_id, viewer=owner)


async def test_a_signed_in_users_list_is_the_viewers_list(adapter: Adapter) -> None:
    tenant_id, readable = await _make_talks(adapter.store)
    for principal_id, expected in readable.items():
        async with adapter.user(tenant_id, principal_id) as user:
            rows = await walk(
                lambda u=user, **page: u.conversations.list(tenant_id=tenant_id, **page),
                limit=5,
                back=True,
            )
        assert {talk.id for talk in rows} == expected, principal_id


async def test_a_signed_in_user_appends_as_themselves(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    where = target.where
    for principal_id in READERS:
        async with adapter.user(target.tenant_id, principal_id) as user:
            first = await user.messages.append(**where, messages=[said("hi", id=principal_id)])
            again = await user.messages.append(**where, messages=[said("hi", id=principal_id)])
            assert [first.items[0].outcome, again.items[0].outcome] == ["inserted", "duplicate"]
            stored = await user.messages.get(tenant_id=target.tenant_id, message_id=principal_id)
            assert stored.author_id == principal_id
            for forged in (
                {"role": "assistant"},
                {"role": "system"},
                {"author_id": STRANGER},
                {"run_id": "r"},
                {"turn": 1},
            ):
                with pytest.raises(PermissionDenied) as caught:
                    await user.messages.append(
                        **where, messages=[said("fine"), said("forged", **forged)]
                    )
                assert caught.value.detail["path"] == f"messages[1].{next(iter(forged))}"
    assert await adapter.store.messages.count(**where) == 2 + len(READERS)


async def test_reading_is_not_writing(adapter: Adapter) -> None:
    target = await fill(adapter.store, visibility="tenant")
    where = target.where
    async with adapter.user(target.tenant_id, STRANGER) as user:
        assert await user.messages.count(**where) == 2
        with pytest.raises(PermissionDenied):
            await user.messages.append(**where, messages=[said("let me in")])
    assert await adapter.store.messages.count(**where) == 2


async def test_a_signed_in_user_creates_only_their_own(adapter: Adapter) -> None:
    tenant_id = await new_tenant(adapter.store)
    theirs = await new_talk(adapter.store, tenant_id)
    async with adapter.user(tenant_id, STRANGER) as user:
        made = await user.conversations.create(
            tenant_id=tenant_id, owner_id=STRANGER, conversation_id="mine"
        )
        again = await user.conversations.create(
            tenant_id=tenant_id, owner_id=STRANGER, conversation_id="mine"
        )
        assert (made.outcome, again.outcome) == ("inserted", "duplicate")
        assert again.replace(outcome="inserted") == made
        with pytest.raises(PermissionDenied):
            await user.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
        with pytest.raises(AlreadyExists):
            await user.conversations.create(
                tenant_id=tenant_id, owner_id=STRANGER, conversation_id=theirs.id
            )
        assert await user.conversations.find(tenant_id=tenant_id, conversation_id=theirs.id) is None


async def test_a_signed_in_user_soft_deletes_only_their_own_b33(adapter: Adapter) -> None:
    target = await fill(adapter.store, visibility="tenant")
    where = target.where
    for principal_id in (PARTICIPANT, STRANGER):
        async with adapter.user(target.tenant_id, principal_id) as user:
            with pytest.raises(NotFound):
                await user.conversations.soft_delete(**where)
    async with adapter.user(target.tenant_id, OWNER) as user:
        deleted = await user.conversations.soft_delete(**where)
        assert deleted.deleted_at is not None
        again = await user.conversations.soft_delete(**where)
        assert again == deleted
        assert (await user.conversations.list(tenant_id=target.tenant_id)).items == ()
        assert await user.conversations.find(**where) is None
        with pytest.raises(NotFound):
            await user.messages.list(**where)


HOSTS_ONLY = sorted(
    set(WRITES)
    - {
        "messages.append",
        "conversations.soft_delete",
        "interactions.answer",
        "interactions.decide",
    }
)


async def test_what_only_hosts_may_do_is_refused_to_the_owner(adapter: Adapter) -> None:
    target = await kept(adapter)
    before = await everything(adapter.store, target)
    async with adapter.user(target.tenant_id, OWNER) as user:
        for method in HOSTS_ONLY:
            refused = await result_of(WRITES[method](user, target))
            assert isinstance(refused, tuple), f"{method} succeeded: {refused}"
            assert refused[0] is PermissionDenied, method
    assert await everything(adapter.store, target) == before


async def test_what_stands_beside_conversations_is_for_hosts_alone(adapter: Adapter) -> None:
    target = await kept(adapter, visibility="tenant")
    before = await everything_beside(adapter.store, target)
    async with adapter.user(target.tenant_id, OWNER) as user:
        for method, call in {**HOST_READS, **HOST_WRITES}.items():
            refused = await result_of(call(user, target))
            assert isinstance(refused, tuple), f"{method} succeeded: {refused}"
            assert refused[0] is PermissionDenied, method
    assert await everything_beside(adapter.store, target) == before


@pytest.mark.parametrize("method", sorted(TENANT_READS))
async def test_what_is_the_tenants_is_read_by_its_users_and_no_others(
    adapter: Adapter, method: str
) -> None:
    target, other = await kept(adapter), await kept(adapter, "mine")
    as_host = await TENANT_READS[method](adapter.store, target)
    async with adapter.user(target.tenant_id, STRANGER) as user:
        assert await TENANT_READS[method](user, target) == as_host
    async with adapter.user(other.tenant_id, OWNER) as user:
        foreign = await result_of(TENANT_READS[method](user, target.within(other.tenant_id)))
        assert foreign == await result_of(TENANT_READS[method](user, other.absent()))
        with pytest.raises(TenantMismatch):
            await TENANT_READS[method](user, target)


@pytest.mark.parametrize("method", sorted(OWN_READS))
async def test_what_is_a_principals_own_is_seen_by_nobody_else(
    adapter: Adapter, method: str
) -> None:
    target = await fill(adapter.store, visibility="tenant")
    read = OWN_READS[method]
    as_host = await result_of(read(adapter.store, target, None))
    own = Viewer(principal_id=target.memory.principal_id)
    assert await result_of(read(adapter.store, target, own)) == as_host
    stranger = Viewer(principal_id=STRANGER, role_ids=[OWNER, "admin"])
    absent = await result_of(read(adapter.store, target.absent(), stranger))
    assert await result_of(read(adapter.store, target, stranger)) == absent
    assert absent != as_host
    async with adapter.user(target.tenant_id, target.memory.principal_id) as user:
        for viewer in (None, own):
            assert await result_of(read(user, target, viewer)) == as_host
        with pytest.raises(PermissionDenied):
            await read(user, target, stranger)
    async with adapter.user(target.tenant_id, STRANGER) as user:
        assert await result_of(read(user, target, None)) == absent


@pytest.mark.parametrize("method", sorted({**OWN_WRITES, **MORE_WRITES}))
async def test_what_is_a_principals_own_is_changed_by_nobody_else(
    adapter: Adapter, method: str
) -> None:
    target = await fill(adapter.store, visibility="tenant")
    write = {**OWN_WRITES, **MORE_WRITES}[method]
    before = await everything_beside(adapter.store, target)
    async with adapter.user(target.tenant_id, STRANGER) as user:
        refused = await result_of(write(user, target))
        assert isinstance(refused, tuple)
        assert refused[0] is PermissionDenied
        assert await result_of(write(user, target.absent())) == refused
    assert await everything_beside(adapter.store, target) == before
    async with adapter.user(target.tenant_id, target.memory.principal_id) as user:
        done = await result_of(write(user, target))
    is_theirs = method in OWN_WRITES or method == "principal_memory.put"
    assert isinstance(done, tuple) != is_theirs
    assert (await everything_beside(adapter.store, target) != before) == is_theirs


async def test_a_user_of_no_tenant_sees_and_does_nothing(adapter: Adapter) -> None:
    target = await fill(adapter.store, visibility="tenant")
    nowhere = target.within(fresh("nowhere"))
    async with adapter.user(nowhere.tenant_id, OWNER) as user:
        for read in (*READS.values(), *OWN_READS.values()):
            with pytest.raises(PermissionDenied):
                await read(user, nowhere, None)
        with pytest.raises(PermissionDenied):
            await user.conversations.create(tenant_id=nowhere.tenant_id, owner_id=OWNER)


async def test_a_suspended_tenant_shows_its_users_nothing(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    await adapter.store.tenants.suspend(tenant_id=target.tenant_id, expected_version=1)
    async with adapter.user(target.tenant_id, OWNER) as user:
        for read in READS.values():
            with pytest.raises(PermissionDenied):
                await read(user, target, None)
        await adapter.store.tenants.resume(tenant_id=target.tenant_id, expected_version=2)
        assert await everything(user, target) == await everything(adapter.store, target)
