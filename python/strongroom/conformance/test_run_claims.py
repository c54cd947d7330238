"""Claims: in turn, first in first out, and by one worker at a time."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import at, fresh, new_talk, new_tenant
from strongroom.conformance.run_helpers import (
    AT_ONCE,
    claimed,
    finished,
    held,
    next_of,
    of,
    queued,
    streamed,
    taken_over,
    where,
)
from strongroom.errors import (
    PermissionDenied,
    StaleClaim,
)
from strongroom.models.runs import Run

HOUR = dt.timedelta(hours=1)


async def test_a_conversations_runs_go_first_in_first_out(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    runs = [await queued(store, talk, priority=priority) for priority in (0, 5, 9)]
    assert [run.number for run in runs] == [1, 2, 3]
    for place, run in enumerate(runs):
        for later in runs[place + 1 :]:
            assert await store.runs.claim(**of(later), worker_id="w") is None
        assert await next_of(store, talk.tenant_id, 10) == [run.id]
        assert await next_of(store, talk.tenant_id, 10) == []
        await finished(store, await store.runs.get(**of(run)))
    assert await next_of(store, talk.tenant_id, 10) == []


async def test_a_head_for_later_holds_back_what_is_behind_it(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    now = dt.datetime.now(dt.UTC)
    later = await queued(store, talk, available_at=now + HOUR)
    behind = await queued(store, talk)
    assert later.available_at == now + HOUR
    assert await next_of(store, talk.tenant_id, 10) == []
    assert await store.runs.claim(**of(later), worker_id="w") is None
    assert (await store.runs.request_cancel(**of(later))).status == "cancelled"
    assert await next_of(store, talk.tenant_id, 10) == [behind.id]
    due = await queued(store, await new_talk(store, talk.tenant_id), available_at=now - HOUR)
    assert await next_of(store, talk.tenant_id, 10) == [due.id]


async def test_within_a_tenant_by_priority_then_age(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    runs = [
        await queued(store, await new_talk(store, tenant_id), priority=priority)
        for priority in (0, 7, 0, -3, 7)
    ]
    order = [runs[i].id for i in (1, 4, 0, 2, 3)]
    assert await next_of(store, tenant_id, 2) == order[:2]
    assert [(await next_of(store, tenant_id))[0] for _ in range(3)] == order[2:]


async def test_tenants_are_served_in_turn(adapter: Adapter) -> None:
    store = adapter.store
    # Ids that follow each other, so that nobody else's tenant comes in between.
    prefix = fresh()
    tenants = [f"{prefix}-{letter}" for letter in "abc"]
    for tenant_id, amount in zip(tenants, (50, 2, 1), strict=True):
        await store.tenants.create(tenant_id=tenant_id, name="Fair")
        for _ in range(amount):
            await queued(store, await new_talk(store, tenant_id))

    async def serve(after: str, limit: int) -> list[str]:
        runs = await store.runs.claim_next(
            worker_id="w", limit=limit, after_tenant_id=after, lease_seconds=600
        )
        return [run.tenant_id[-1] for run in runs]

    assert await serve(prefix, 3) == ["a", "b", "c"]
    assert await serve(tenants[0], 1) == ["b"]
    # Both are served out: their 49 fellows do not stand in the way of anybody.
    assert await next_of(store, tenants[1]) == await next_of(store, tenants[2]) == []
    assert await serve(prefix, 1) == ["a"]


async def test_a_suspended_tenant_is_not_served(adapter: Adapter) -> None:
    store = adapter.store
    run, waiting = await claimed(store), await queued(store)
    for tenant_id in (run.tenant_id, waiting.tenant_id):
        await store.tenants.suspend(tenant_id=tenant_id, expected_version=1)
    assert await next_of(store, waiting.tenant_id) == []
    for call in (
        store.runs.claim(**of(waiting), worker_id="w"),
        store.runs.heartbeat(**held(run)),
        store.runs.create(**where(run)),
        store.runs.request_cancel(**of(run)),
    ):
        with pytest.raises(PermissionDenied):
            await call
    for tenant_id in (run.tenant_id, waiting.tenant_id):
        await store.tenants.resume(tenant_id=tenant_id, expected_version=2)
    assert await next_of(store, waiting.tenant_id) == [waiting.id]
    await store.runs.heartbeat(**held(run))


async def test_a_claim_and_its_end(adapter: Adapter) -> None:
    store, before = adapter.store, dt.datetime.now(dt.UTC)
    run = await claimed(store, worker_id="first")
    assert (run.status, run.attempt, run.worker_id) == ("running", 1, "first")
    assert run.lease_expires_at is not None
    assert run.lease_expires_at > before + dt.timedelta(seconds=300)
    assert run.started_at is not None
    assert await store.runs.get(**of(run)) == run
    # While the lease holds nobody else gets it.
    assert await store.runs.claim(**of(run), worker_id="second") is None
    assert await next_of(store, run.tenant_id) == []
    await store.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
    (again,) = await store.runs.claim_next(worker_id="second", tenant_id=run.tenant_id)
    assert (again.id, again.status, again.attempt) == (run.id, "running", 2)
    assert held(again)["claim_token"] > held(run)["claim_token"]
    assert again.started_at == run.started_at
    assert await next_of(store, run.tenant_id) == []


async def test_claim_tokens_grow_whatever_is_deleted_b27(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    tokens = []
    for number in range(20):
        run = await claimed(store, await queued(store, await new_talk(store, tenant_id)))
        tokens.append(held(run)["claim_token"])
        run = await taken_over(store, run)
        tokens.append(held(run)["claim_token"])
        if number % 2:
            await store.conversations.purge(**where(run))
    assert tokens == sorted(set(tokens))


async def test_of_workers_at_once_each_run_has_one_b21(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    runs = [await queued(store, await new_talk(store, tenant_id)) for _ in range(12)]

    async def work(name: str) -> list[Run]:
        mine: list[Run] = []
        while taken := await store.runs.claim_next(
            worker_id=name, tenant_id=tenant_id, lease_seconds=600
        ):
            mine += taken
        return mine

    shares = await asyncio.gather(*(work(f"w{number}") for number in range(4)))
    taken = [run for share in shares for run in share]
    assert sorted(run.id for run in taken) == sorted(run.id for run in runs)
    assert len({run.claim_token for run in taken}) == 12
    again = await queued(store, await new_talk(store, tenant_id))
    claims = await asyncio.gather(
        *(store.runs.claim(**of(again), worker_id=f"w{number}") for number in range(5))
    )
    assert sum(claim is not None for claim in claims) == 1


async def test_heartbeats_keep_others_away_b19(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    last = run.lease_expires_at
    assert last is not None
    for seconds in (700, 800, 900):
        lease = await store.runs.heartbeat(**held(run), lease_seconds=seconds)
        assert lease.lease_expires_at > last
        assert not lease.cancel_requested
        assert await next_of(store, run.tenant_id) == []
        last = lease.lease_expires_at
    # Late, but nobody else has it: the claim goes on.
    await store.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
    await store.runs.heartbeat(**held(run))
    assert await next_of(store, run.tenant_id) == []
    await taken_over(store, run)
    with pytest.raises(StaleClaim):
        await store.runs.heartbeat(**held(run))


async def test_a_run_that_loses_every_worker_fails_and_keeps_what_it_said(
    adapter: Adapter,
) -> None:
    store = adapter.store
    for number, ends in enumerate(("claim_next", "reap_expired")):
        talk = await new_talk(store)
        run = await claimed(store, await queued(store, talk, max_attempts=2))
        following = await queued(store, talk)
        run = await taken_over(store, run)
        await streamed(store, run, "Half an ", "answer")
        assert await store.runs.reap_expired(tenant_id=talk.tenant_id) == 0
        await store.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
        assert await store.runs.claim(**of(run), worker_id="w") is None
        if ends == "reap_expired":
            assert await store.runs.reap_expired(tenant_id=talk.tenant_id) == 1
            assert await store.runs.reap_expired(tenant_id=talk.tenant_id) == 0
        assert await next_of(store, talk.tenant_id) == [following.id], number
        lost = await store.runs.get(**of(run))
        assert (lost.status, lost.error and lost.error["code"]) == ("failed", "worker_lost")
        assert lost.attempt == lost.max_attempts == 2, "nobody worked on it a third time"
        (message,) = (await store.messages.list(**at(talk))).items
        assert (message.id, message.run_id) == (lost.message_id, run.id)
        assert [part.to_json().get("text") for part in message.parts] == ["Half an answer", None]
        # What its last worker still has to say comes too late, whatever it is.
        for status, error in (("failed", {"code": "x"}), ("cancelled", None)):
            with pytest.raises(StaleClaim):
                await store.runs.finish(**held(run), status=status, error=error)  # type: ignore[arg-type]
