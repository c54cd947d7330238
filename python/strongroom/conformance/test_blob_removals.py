"""Bytes to remove: nothing is forgotten, nothing is removed that something refers to."""

from __future__ import annotations

import asyncio

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import fresh, new_tenant, walk
from strongroom.errors import InvalidArgument, LimitExceeded, TenantMismatch
from strongroom.models.blobs import BlobRemoval, BlobRemovalClaim


async def _one(store: Ports, tenant_id: str, key: str = "key") -> BlobRemoval:
    """Schedule a key and claim it."""
    await store.blob_removals.schedule(tenant_id=tenant_id, blob_key=key)
    (claimed,) = await store.blob_removals.claim(worker_id="sweep", tenant_id=tenant_id)
    assert claimed.blob_key == key
    return claimed


async def test_a_key_waits_until_its_bytes_are_gone(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    removals = store.blob_removals
    place = {"tenant_id": tenant_id, "blob_key": "key"}
    scheduled = await removals.schedule(**place)
    assert (scheduled.attempts, scheduled.claim_token, scheduled.last_error) == (0, None, None)
    assert await removals.schedule(**place) == scheduled
    assert await removals.find(**place) == scheduled
    assert (await removals.queue(tenant_id=tenant_id)).waiting == 1
    (claimed,) = await removals.claim(worker_id="sweep", tenant_id=tenant_id)
    assert (claimed.attempts, claimed.worker_id) == (1, "sweep")
    assert (await removals.queue(tenant_id=tenant_id)).claimed == 1
    # Nobody else is handed it meanwhile.
    assert await removals.claim(worker_id="other", tenant_id=tenant_id) == ()
    done = await removals.complete(removals=[claimed.claim])
    assert [(item.tenant_id, item.blob_key, item.outcome) for item in done] == [
        (tenant_id, "key", "removed")
    ]
    assert await removals.find(**place) is None
    queue = await removals.queue(tenant_id=tenant_id)
    assert (queue.waiting, queue.claimed, queue.oldest_requested_at) == (0, 0, None)
    # A repeat of the confirmation says so, and does nothing.
    again = await removals.complete(removals=[claimed.claim])
    assert [item.outcome for item in again] == ["stale"]


async def test_a_failure_is_remembered_and_tried_again_b85(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    removals = store.blob_removals
    claimed = await _one(store, tenant_id)
    failed = claimed.failed("the store is down")
    done = await removals.retry_later(removals=[failed], delay_seconds=0)
    assert [item.outcome for item in done] == ["waiting"]
    queue = await removals.queue(tenant_id=tenant_id)
    assert (queue.waiting, queue.failing) == (1, 1)
    (second,) = await removals.claim(worker_id="sweep", tenant_id=tenant_id)
    assert (second.attempts, second.last_error) == (2, "the store is down")
    assert second.claim_token is not None
    assert claimed.claim_token is not None
    assert second.claim_token > claimed.claim_token
    # Without a delay of its own it waits, longer and longer.
    await removals.retry_later(removals=[second.failed("still down")])
    waiting = await removals.find(tenant_id=tenant_id, blob_key="key")
    assert waiting is not None
    assert second.claimed_at is not None
    assert 9 < (waiting.due_at - second.claimed_at).total_seconds() < 60
    assert await removals.claim(worker_id="sweep", tenant_id=tenant_id) == ()


async def test_a_lost_sweep_is_taken_over_and_its_confirmation_counts_no_more(
    adapter: Adapter,
) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    removals = store.blob_removals
    await removals.schedule(tenant_id=tenant_id, blob_key="key")
    (lost,) = await removals.claim(worker_id="lost", tenant_id=tenant_id, lease_seconds=0.01)
    await asyncio.sleep(0.05)  # past the lease
    (taken,) = await removals.claim(worker_id="other", tenant_id=tenant_id)
    assert (taken.worker_id, taken.attempts) == ("other", 2)
    assert (await removals.complete(removals=[lost.claim]))[0].outcome == "stale"
    late = await removals.retry_later(removals=[lost.failed("late")], delay_seconds=0)
    assert late[0].outcome == "stale"
    still = await removals.find(tenant_id=tenant_id, blob_key="key")
    assert still == taken
    assert (await removals.complete(removals=[taken.claim]))[0].outcome == "removed"


async def test_a_key_that_is_let_go_again_meanwhile_is_removed_again(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    removals = store.blob_removals
    claimed = await _one(store, tenant_id)
    again = await removals.schedule(tenant_id=tenant_id, blob_key="key")
    assert again.claim_token == claimed.claim_token
    assert (await removals.complete(removals=[claimed.claim]))[0].outcome == "requested_again"
    (second,) = await removals.claim(worker_id="sweep", tenant_id=tenant_id)
    assert (await removals.complete(removals=[second.claim]))[0].outcome == "removed"


async def test_the_list_outlives_its_tenant_b85(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    removals = store.blob_removals
    await removals.schedule(tenant_id=tenant_id, blob_key="key")
    receipt = await store.tenants.purge(tenant_id=tenant_id)
    assert "blob_removals" not in receipt.tables, "what stays was not deleted"
    assert not (await store.tenants.purge(tenant_id=tenant_id)).purged
    assert (await removals.queue(tenant_id=tenant_id)).waiting == 1
    # A sweep of all tenants is handed it; what others have left comes along, and is given back.
    mine: list[BlobRemoval] = []
    others = []
    while not mine:
        claimed = await removals.claim(worker_id="sweep", limit=500)
        assert claimed, "no sweep was ever handed it"
        mine = [one for one in claimed if one.tenant_id == tenant_id]
        others.append([one.failed("not mine") for one in claimed if one.tenant_id != tenant_id])
    assert [one.blob_key for one in mine] == ["key"]
    for batch in others:
        await removals.retry_later(removals=batch, delay_seconds=0)
    assert (await removals.complete(removals=[mine[0].claim]))[0].outcome == "removed"
    # Bytes that are found later can still be scheduled.
    await removals.schedule(tenant_id=tenant_id, blob_key="found later")
    assert (await removals.queue(tenant_id=tenant_id)).waiting == 1


async def test_one_sweep_confirms_for_several_tenants(adapter: Adapter) -> None:
    store = adapter.store
    tenants = sorted([await new_tenant(store), await new_tenant(store)])
    claims = [(await _one(store, tenant_id)).claim for tenant_id in tenants]
    wrong = claims[0].replace(claim_token=2**53 - 1, blob_key="none")
    done = await store.blob_removals.complete(removals=[*claims, wrong])
    assert [(item.tenant_id, item.blob_key, item.outcome) for item in done] == [
        (tenants[0], "key", "removed"),
        (tenants[0], "none", "stale"),
        (tenants[1], "key", "removed"),
    ]
    assert await store.blob_removals.complete(removals=[]) == ()


async def test_claims_come_in_bounded_batches_longest_due_first(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    keys = [f"key-{number}" for number in range(5)]
    for key in keys:
        await store.blob_removals.schedule(tenant_id=tenant_id, blob_key=key)
    seen: list[str] = []
    while batch := await store.blob_removals.claim(worker_id="sweep", tenant_id=tenant_id, limit=2):
        assert len(batch) <= 2
        seen += [one.blob_key for one in batch]
    assert seen == keys


async def test_two_sweeps_share_the_work(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    keys = {fresh("key") for _ in range(20)}
    for key in keys:
        await store.blob_removals.schedule(tenant_id=tenant_id, blob_key=key)

    async def sweep(name: str) -> list[str]:
        taken: list[str] = []
        while batch := await store.blob_removals.claim(
            worker_id=name, tenant_id=tenant_id, limit=3
        ):
            taken += [one.blob_key for one in batch]
        return taken

    shares = await asyncio.gather(*(sweep(f"sweep-{number}") for number in range(3)))
    handed = [key for share in shares for key in share]
    assert sorted(handed) == sorted(keys), "each key is handed out once"


async def test_pages_of_removals_b41(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    keys = sorted(["a", "b/c", "b", "%", "_", "\\", "Ä", "日本", "~"])
    for key in keys:
        await store.blob_removals.schedule(tenant_id=tenant_id, blob_key=key)
    for limit in (1, 2, 4, 500):
        rows = await walk(
            lambda **page: store.blob_removals.list(tenant_id=tenant_id, **page),
            limit=limit,
            back=True,
        )
        assert [row.blob_key for row in rows] == keys
        backward = await walk(
            lambda **page: store.blob_removals.list(tenant_id=tenant_id, **page),
            limit=limit,
            direction="backward",
            back=True,
        )
        assert backward == rows[::-1]


async def test_keys_have_1_to_1024_bytes_b53(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    removals = store.blob_removals
    for key in ("x" * 1024, "😀" * 256):
        assert (await removals.schedule(tenant_id=tenant_id, blob_key=key)).blob_key == key
    for long in ("x" * 1025, "😀" * 257, "x" * 5000):
        for call in (removals.schedule, removals.find):
            with pytest.raises(LimitExceeded) as caught:
                await call(tenant_id=tenant_id, blob_key=long)
            assert caught.value.detail["path"] == "blob_key"
    with pytest.raises(InvalidArgument):
        await removals.schedule(tenant_id=tenant_id, blob_key="")
    with pytest.raises(LimitExceeded):
        BlobRemovalClaim(tenant_id=tenant_id, blob_key="x" * 1025, claim_token=1)
    with pytest.raises(LimitExceeded):
        await removals.claim(worker_id="sweep", limit=501)
    claimed = await removals.claim(worker_id="sweep", tenant_id=tenant_id, limit=1)
    with pytest.raises(LimitExceeded):
        claimed[0].failed("x" * 4097)


async def test_a_unit_of_work_sweeps_nothing(adapter: Adapter) -> None:
    """Bytes cannot be rolled back, and a sweep serves all tenants."""
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    claimed = await _one(store, tenant_id)
    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        for call in (
            uow.blob_removals.claim(worker_id="sweep"),
            uow.blob_removals.complete(removals=[claimed.claim]),
            uow.blob_removals.retry_later(removals=[claimed.failed("x")]),
        ):
            with pytest.raises(TenantMismatch):
                await call
        # Putting a key on the list joins the unit.
        await uow.blob_removals.schedule(tenant_id=tenant_id, blob_key="other")
    assert await store.blob_removals.find(tenant_id=tenant_id, blob_key="other") is not None
