"""Locks: one holder at a time, tokens that only grow, and former owners who change nothing."""

# ruff: noqa: ASYNC110 (time itself is awaited)

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import fresh, new_tenant
from strongroom.errors import InvalidArgument, NotFound, PermissionDenied, StaleClaim
from strongroom.models.locks import Lock


async def _take(store: Ports, tenant_id: str, owner: str, **fields: Any) -> Lock:
    given: dict[str, Any] = {"name": "door", "owner_id": owner, "wait_seconds": 20.0}
    lock = await store.locks.acquire(tenant_id=tenant_id, **{**given, **fields})
    assert lock is not None
    return lock


def _mine(lock: Lock) -> dict[str, Any]:
    return {
        "tenant_id": lock.tenant_id,
        "name": lock.name,
        "owner_id": lock.owner_id,
        "token": lock.token,
    }


async def test_a_lock_has_one_holder(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    place: dict[str, Any] = {"tenant_id": tenant_id, "name": "door"}
    assert await store.locks.find(**place) is None
    lock = await _take(store, tenant_id, "a", ttl_seconds=60)
    assert (lock.tenant_id, lock.name, lock.owner_id) == (tenant_id, "door", "a")
    assert await store.locks.find(**place) == lock
    assert await store.locks.acquire(**place, owner_id="b") is None
    # It is not re-entrant.
    assert await store.locks.acquire(**place, owner_id="a") is None
    assert await store.locks.check(**place, token=lock.token) == lock
    assert await store.locks.release(**_mine(lock)) is True
    assert await store.locks.find(**place) is None
    assert await store.locks.release(**_mine(lock)) is False
    other = await _take(store, tenant_id, "b")
    assert other.token > lock.token
    # Another name, and the same name in another tenant, are other locks.
    assert await store.locks.acquire(tenant_id=tenant_id, name="gate", owner_id="a") is not None
    elsewhere = await new_tenant(store)
    assert await store.locks.acquire(tenant_id=elsewhere, name="door", owner_id="a") is not None


async def test_an_expired_lock_is_taken_over_and_its_former_owner_changes_nothing_b27(
    adapter: Adapter,
) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    former = await _take(store, tenant_id, "former", ttl_seconds=0.02)
    present = await _take(store, tenant_id, "present", ttl_seconds=60)
    assert present.token > former.token
    assert await store.locks.release(**_mine(former)) is False
    with pytest.raises(StaleClaim) as caught:
        await store.locks.renew(**_mine(former), ttl_seconds=60)
    assert caught.value.detail["current_token"] == present.token
    # Neither the owner alone nor the token alone is enough.
    for mixed in ({"owner_id": "present"}, {"token": present.token}):
        assert await store.locks.release(**{**_mine(former), **mixed}) is False
        with pytest.raises(StaleClaim):
            await store.locks.renew(**{**_mine(former), **mixed})
    assert await store.locks.find(tenant_id=tenant_id, name="door") == present
    with pytest.raises(StaleClaim):
        await store.locks.check(tenant_id=tenant_id, name="door", token=former.token)
    assert await store.locks.check(tenant_id=tenant_id, name="door", token=present.token)


async def test_renewing_holds_it_longer(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    lock = await _take(store, tenant_id, "a", ttl_seconds=0.02)
    longer = await store.locks.renew(**_mine(lock), ttl_seconds=600)
    assert (longer.token, longer.acquired_at) == (lock.token, lock.acquired_at)
    assert longer.expires_at > lock.expires_at + dt.timedelta(seconds=500)
    await asyncio.sleep(0.05)  # past the first expiry
    assert await store.locks.acquire(tenant_id=tenant_id, name="door", owner_id="b") is None
    # Also one that has expired, while nobody has taken it; until then it protects nothing.
    await store.locks.renew(**_mine(lock), ttl_seconds=0.001)
    await asyncio.sleep(0.02)
    assert await store.locks.find(tenant_id=tenant_id, name="door") is None
    with pytest.raises(StaleClaim):
        await store.locks.check(tenant_id=tenant_id, name="door", token=lock.token)
    await store.locks.renew(**_mine(lock), ttl_seconds=600)
    assert await store.locks.check(tenant_id=tenant_id, name="door", token=lock.token)


async def test_tokens_grow_over_release_expiry_and_deletion_b27(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    tokens = []
    for turn in range(99):
        lock = await _take(store, tenant_id, f"o{turn}", ttl_seconds=0.002 if turn % 3 else 60)
        tokens.append(lock.token)
        if turn % 3 == 0:
            assert await store.locks.release(**_mine(lock))
        if turn % 9 == 0:
            assert await store.locks.prune(tenant_id=tenant_id) == 1
    assert tokens == sorted(set(tokens))
    await store.tenants.purge(tenant_id=tenant_id)
    await store.tenants.create(tenant_id=tenant_id, name="Again")
    assert (await _take(store, tenant_id, "a")).token > tokens[-1]


async def test_pruning_leaves_what_is_held(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    held = await _take(store, tenant_id, "a", ttl_seconds=60)
    for name in ("one", "two"):
        lock = await _take(store, tenant_id, "a", name=name)
        await store.locks.release(**_mine(lock))
    assert await store.locks.prune(tenant_id=tenant_id, limit=1) == 1
    assert await store.locks.prune(tenant_id=tenant_id) == 1
    assert await store.locks.prune(tenant_id=tenant_id) == 0
    assert await store.locks.find(tenant_id=tenant_id, name="door") == held


async def test_waiting_ends_when_the_lock_is_free_or_the_time_is_up(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    lock = await _take(store, tenant_id, "a", ttl_seconds=60)
    place: dict[str, Any] = {"tenant_id": tenant_id, "name": "door"}
    loop = asyncio.get_running_loop()
    before = loop.time()
    assert await store.locks.acquire(**place, owner_id="b", wait_seconds=0.1) is None
    assert loop.time() - before >= 0.1
    waiting = asyncio.create_task(_take(store, tenant_id, "b"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await store.locks.release(**_mine(lock))
    assert (await waiting).owner_id == "b"


async def test_many_contenders_are_never_inside_together(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    inside: list[str] = []
    tokens: list[int] = []

    async def contend(owner: str) -> None:
        for _ in range(5):
            lock = await _take(store, tenant_id, owner, ttl_seconds=60)
            inside.append(owner)
            tokens.append(lock.token)
            await asyncio.sleep(0)
            assert inside == [owner]
            inside.remove(owner)
            assert await store.locks.release(**_mine(lock))

    await asyncio.gather(*(contend(f"o{n}") for n in range(6)))
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 30


async def test_a_guarded_write_happens_only_with_the_lock_b27(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    former = await _take(store, tenant_id, "former", ttl_seconds=0.01)
    present = await _take(store, tenant_id, "present", ttl_seconds=60)
    for token in (former.token, present.token):
        try:
            async with store.unit_of_work(tenant_id=tenant_id) as uow:
                await uow.conversations.create(tenant_id=tenant_id, owner_id=str(token))
                await uow.locks.check(tenant_id=tenant_id, name="door", token=token)
        except StaleClaim:
            assert token == former.token
    page = await store.conversations.list(tenant_id=tenant_id)
    assert [talk.owner_id for talk in page.items] == [str(present.token)]


async def test_nobody_takes_over_during_a_guarded_unit_b27(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    adapter.needs("transactions")
    adapter.needs_parallel_units()
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    lock = await _take(store, tenant_id, "a", ttl_seconds=0.3)
    order: list[str] = []

    async def take_over() -> None:
        await _take(store, tenant_id, "b")
        order.append("taken over")

    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        await uow.locks.check(tenant_id=tenant_id, name="door", token=lock.token)
        contender = asyncio.create_task(take_over())
        while dt.datetime.now(dt.UTC) < lock.expires_at + dt.timedelta(seconds=0.1):
            await asyncio.sleep(0.02)
        await uow.conversations.create(tenant_id=tenant_id, owner_id="a")
        order.append("written")
    await contender
    assert order == ["written", "taken over"]


async def test_arguments_of_locks_are_checked(adapter: Adapter) -> None:
    adapter.needs("distributed_locking")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for wrong in (
        {"ttl_seconds": 0},
        {"ttl_seconds": 86_401},
        {"name": ""},
        {"owner_id": "x" * 256},
    ):
        with pytest.raises(InvalidArgument):
            await _take(store, tenant_id, "a", **wrong)
    with pytest.raises(NotFound):
        await store.locks.acquire(tenant_id=fresh("tenant"), name="door", owner_id="a")
    lock = await _take(store, tenant_id, "a")
    await store.tenants.suspend(tenant_id=tenant_id, expected_version=1)
    for call in (store.locks.release, store.locks.renew):
        with pytest.raises(PermissionDenied):
            await call(**_mine(lock))
    assert await store.locks.find(tenant_id=tenant_id, name="door") == lock
