"""Jobs: what is enqueued is done once, by one worker at a time, and nothing is dropped in silence."""

# ruff: noqa: PT012 (a unit of work is a block)

from __future__ import annotations

import asyncio
import datetime as dt
from collections import Counter
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import fresh, new_tenant, walk
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    StaleClaim,
    StrongroomError,
)
from strongroom.models.jobs import EnqueuedJob, Job, JobClaim

SHORT = 0.05
LONG = 600.0


async def _enqueue(store: Ports, tenant_id: str, **fields: Any) -> EnqueuedJob:
    return await store.jobs.enqueue(**{"tenant_id": tenant_id, "kind": "mail", **fields})


async def _claim(store: Ports, tenant_id: str, **fields: Any) -> Job:
    claimed = await store.jobs.claim(
        **{"worker_id": "w", "tenant_id": tenant_id, "lease_seconds": LONG, **fields}
    )
    assert len(claimed) == 1
    return claimed[0]


async def _claim_when_due(store: Ports, tenant_id: str, **fields: Any) -> Job:
    """Claim, asking again until time has made a job ready."""
    async with asyncio.timeout(20):
        while True:
            claimed = await store.jobs.claim(
                **{"worker_id": "w", "tenant_id": tenant_id, "lease_seconds": LONG, **fields}
            )
            if claimed:
                return claimed[0]
            await asyncio.sleep(0.01)


def _at(job: Job) -> dict[str, Any]:
    return {"tenant_id": job.tenant_id, "job_id": job.id, "claim_token": job.claim_token}


async def test_a_job_is_enqueued_claimed_and_completed(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = await _enqueue(store, tenant_id, payload={"to": "ada", "n": [1, None, 2.5]}, priority=3)
    assert (made.outcome, made.status, made.attempt) == ("created", "queued", 0)
    assert made.ended_job_id is None
    job = await _claim(store, tenant_id, worker_id="w1")
    assert (job.id, job.status, job.attempt, job.worker_id) == (made.id, "running", 1, "w1")
    assert job.payload == {"to": "ada", "n": [1, None, 2.5]}
    assert job.lease_expires_at is not None
    assert await store.jobs.claim(worker_id="w2", tenant_id=tenant_id) == ()
    done = await store.jobs.complete(**_at(job))
    assert (done.status, done.lease_expires_at, done.is_final) == ("completed", None, True)
    assert done.finished_at is not None
    assert await store.jobs.get(tenant_id=tenant_id, job_id=made.id) == done
    assert await store.jobs.find(tenant_id=tenant_id, job_id=fresh()) is None
    with pytest.raises(NotFound):
        await store.jobs.get(tenant_id=tenant_id, job_id=fresh())


async def test_a_repeated_enqueue_changes_nothing_b25(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id, job_id = adapter.store, await new_tenant(adapter.store), fresh("job")
    await _enqueue(store, tenant_id, job_id=job_id, payload={"a": 1, "b": 2})
    again = await _enqueue(store, tenant_id, job_id=job_id, payload={"b": 2, "a": 1})
    assert (again.outcome, again.id) == ("duplicate", job_id)
    with pytest.raises(AlreadyExists):
        await _enqueue(store, tenant_id, job_id=job_id, payload={"a": 2})
    job = await _claim(store, tenant_id)
    await store.jobs.complete(**_at(job))
    late = await _enqueue(store, tenant_id, job_id=job_id, payload={"a": 1, "b": 2})
    assert (late.outcome, late.status) == ("duplicate", "completed")
    # The same id in another tenant is another job.
    other = await _enqueue(store, await new_tenant(store), job_id=job_id)
    assert other.outcome == "created"


@pytest.mark.parametrize("ending", ["completed", "failed", "cancelled"])
async def test_a_dedupe_key_is_held_until_its_job_has_ended_b25(
    adapter: Adapter, ending: str
) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    first = await _enqueue(store, tenant_id, dedupe_key="k", payload={"n": 1})
    waiting = await _enqueue(store, tenant_id, dedupe_key="k", payload={"n": 2})
    assert (waiting.outcome, waiting.id, waiting.status) == ("duplicate", first.id, "queued")
    assert waiting.payload == {"n": 1}
    job = await _claim(store, tenant_id)
    running = await _enqueue(store, tenant_id, dedupe_key="k")
    assert (running.outcome, running.id, running.status) == ("duplicate", first.id, "running")
    await store.jobs.retry_later(**_at(job), error={"code": "busy"}, delay_seconds=0)
    pending = await _enqueue(store, tenant_id, dedupe_key="k")
    assert (pending.outcome, pending.id, pending.status) == ("duplicate", first.id, "retry_pending")
    job = await _claim_when_due(store, tenant_id)
    if ending == "completed":
        await store.jobs.complete(**_at(job))
    elif ending == "failed":
        await store.jobs.fail(**_at(job), error={"code": "x"})
    else:
        await store.jobs.cancel(tenant_id=tenant_id, job_id=job.id)
    second = await _enqueue(store, tenant_id, dedupe_key="k", payload={"n": 2})
    assert (second.outcome, second.ended_job_id) == ("created", first.id)
    assert second.id != first.id
    # A key belongs to its queue.
    elsewhere = await _enqueue(store, tenant_id, dedupe_key="k", queue="other")
    assert (elsewhere.outcome, elsewhere.ended_job_id) == ("created", None)


async def test_parallel_enqueues_with_one_key_make_one_job_b25(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = await asyncio.gather(
        *(_enqueue(store, tenant_id, dedupe_key="k", payload={"n": n}) for n in range(20))
    )
    assert Counter(one.outcome for one in made) == {"created": 1, "duplicate": 19}
    assert len({one.id for one in made}) == 1


async def test_order_is_priority_then_age_and_queues_as_listed(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    ids = {}
    kinds: dict[str, dict[str, Any]] = {
        "old": {},
        "new": {},
        "urgent": {"priority": 5},
        "idle": {"priority": -5},
        "other": {"queue": "other", "priority": 9},
        "unserved": {"queue": "unserved"},
    }
    for name, fields in kinds.items():
        ids[(await _enqueue(store, tenant_id, **fields)).id] = name
    seen = [ids[(await _claim(store, tenant_id, queues=["default", "other"])).id] for _ in range(5)]
    assert seen == ["urgent", "old", "new", "idle", "other"]
    assert await store.jobs.claim(worker_id="w", tenant_id=tenant_id, queues=["default"]) == ()


async def test_a_batch_has_the_order_of_single_claims(adapter: Adapter) -> None:
    """A worker begins with the first: what is urgent must not stand behind what was enqueued before."""
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    priorities = [0, -5, 3, 9, 0, 3, -5, 9, 1]
    ids = [(await _enqueue(store, tenant_id, priority=priority)).id for priority in priorities]
    ids.append((await _enqueue(store, tenant_id, queue="other", priority=99)).id)
    batch = await store.jobs.claim(
        worker_id="w", tenant_id=tenant_id, queues=["default", "other"], limit=10
    )
    assert [ids.index(job.id) for job in batch] == [3, 7, 2, 5, 8, 0, 4, 1, 6, 9]


async def test_tenants_are_served_in_turn(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, queue = adapter.store, fresh("queue")
    tenants = sorted([await new_tenant(store) for _ in range(3)])
    for tenant_id, count in zip(tenants, (20, 2, 2), strict=True):
        for _ in range(count):
            await _enqueue(store, tenant_id, queue=queue)
    # A batch is shared evenly; what one tenant lacks, another has.
    batch = await store.jobs.claim(worker_id="w", queues=[queue], limit=9, lease_seconds=LONG)
    counts = Counter(job.tenant_id for job in batch)
    assert counts == {tenants[0]: 5, tenants[1]: 2, tenants[2]: 2}
    assert len({job.id for job in batch}) == 9
    # Single claims go round, from the tenant after the last one.
    for tenant_id in tenants[1:]:
        for _ in range(2):
            await _enqueue(store, tenant_id, queue=queue)
    last, seen = tenants[0], []
    for _ in range(6):
        (job,) = await store.jobs.claim(
            worker_id="w", queues=[queue], after_tenant_id=last, lease_seconds=LONG
        )
        last = job.tenant_id
        seen.append(last)
    assert seen == [tenants[1], tenants[2], tenants[0]] * 2


async def test_a_batch_serves_all_when_it_is_large_enough(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, queue = adapter.store, fresh("queue")
    tenants = [await new_tenant(store) for _ in range(4)]
    expected = {
        (await _enqueue(store, tenant_id, queue=queue)).id
        for number, tenant_id in enumerate(tenants)
        for _ in range(1 + 3 * number)
    }
    for after in (None, min(tenants), max(tenants)):
        batch = await store.jobs.claim(
            worker_id="w", queues=[queue], limit=500, after_tenant_id=after, lease_seconds=LONG
        )
        assert {job.id for job in batch} == expected
        for job in batch:
            await store.jobs.release(**_at(job))


async def test_a_job_for_later_is_not_claimed_before(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    before = dt.datetime.now(dt.UTC)
    later = await _enqueue(store, tenant_id, delay_seconds=3600.0)
    assert later.available_at - before > dt.timedelta(minutes=59)
    soon = await _enqueue(store, tenant_id, delay_seconds=SHORT)
    job = await _claim_when_due(store, tenant_id)
    assert job.id == soon.id
    assert job.started_at is not None
    assert job.started_at >= job.available_at
    assert await store.jobs.claim(worker_id="w", tenant_id=tenant_id) == ()


async def test_parallel_claims_never_share_a_job(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = {(await _enqueue(store, tenant_id)).id for _ in range(30)}

    async def work(worker: int) -> list[Job]:
        mine: list[Job] = []
        while batch := await store.jobs.claim(
            worker_id=f"w{worker}", tenant_id=tenant_id, limit=1 + worker % 3, lease_seconds=LONG
        ):
            mine.extend(batch)
        return mine

    claimed = [job for jobs in await asyncio.gather(*map(work, range(8))) for job in jobs]
    left = await store.jobs.claim(worker_id="w", tenant_id=tenant_id, limit=500)
    claimed.extend(left)
    assert Counter(job.id for job in claimed) == Counter(made)
    assert len({job.claim_token for job in claimed}) == 30


async def test_one_job_is_claimed_by_its_id_by_one_worker(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = await _enqueue(store, tenant_id, max_attempts=3)
    at: dict[str, Any] = {"tenant_id": tenant_id, "job_id": made.id, "lease_seconds": LONG}
    claims = await asyncio.gather(
        *(store.jobs.claim_one(**at, worker_id=f"w{n}") for n in range(5))
    )
    (job,) = [claim for claim in claims if claim is not None]
    assert (job.id, job.status, job.attempt) == (made.id, "running", 1)
    assert await store.jobs.get(tenant_id=tenant_id, job_id=made.id) == job
    # A retry, when it is due and not before; a lost worker's job, when its lease has ended.
    await store.jobs.retry_later(**_at(job), error={}, delay_seconds=SHORT)
    again = await _until_claimed(store, {**at, "worker_id": "w", "lease_seconds": SHORT})
    assert (again.attempt, again.claim_token or 0) > (1, job.claim_token or 0)
    last = await _until_claimed(store, {**at, "worker_id": "w", "lease_seconds": 0.001})
    assert last.attempt == 3
    await asyncio.sleep(SHORT)
    assert await store.jobs.claim_one(**at, worker_id="w") is None, "it had no attempt left"
    later = await _enqueue(store, tenant_id, delay_seconds=3600.0)
    ended = await _enqueue(store, tenant_id)
    await store.jobs.cancel(tenant_id=tenant_id, job_id=ended.id)
    for job_id in (later.id, ended.id):
        assert await store.jobs.claim_one(**{**at, "job_id": job_id}, worker_id="w") is None
    with pytest.raises(NotFound):
        await store.jobs.claim_one(**{**at, "job_id": fresh()}, worker_id="w")


async def _until_claimed(store: Ports, at: dict[str, Any]) -> Job:
    async with asyncio.timeout(20):
        while (job := await store.jobs.claim_one(**at)) is None:  # noqa: ASYNC110 (time itself)
            await asyncio.sleep(0.01)
        return job


async def test_a_slow_worker_that_lost_its_lease_changes_nothing_b21(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = await _enqueue(store, tenant_id)
    slow = await _claim(store, tenant_id, worker_id="slow", lease_seconds=SHORT)
    quick = await _claim_when_due(store, tenant_id, worker_id="quick")
    assert (quick.id, quick.attempt) == (made.id, 2)
    assert slow.claim_token is not None
    assert quick.claim_token is not None
    assert quick.claim_token > slow.claim_token
    before = await store.jobs.get(tenant_id=tenant_id, job_id=made.id)
    for write in (
        lambda: store.jobs.complete(**_at(slow)),
        lambda: store.jobs.fail(**_at(slow), error={"code": "x"}),
        lambda: store.jobs.retry_later(**_at(slow), error={"code": "x"}),
        lambda: store.jobs.release(**_at(slow)),
        lambda: store.jobs.heartbeat(**_at(slow)),
        lambda: store.jobs.complete_and_claim(completed=[slow.claim], worker_id="slow"),
    ):
        with pytest.raises(StaleClaim) as caught:
            await write()
        assert [job["id"] for job in caught.value.detail["jobs"]] == [made.id]
        assert await store.jobs.get(tenant_id=tenant_id, job_id=made.id) == before
    done = await store.jobs.complete(**_at(quick))
    assert (done.status, done.worker_id) == ("completed", "quick")
    with pytest.raises(StaleClaim):
        await store.jobs.complete(**_at(slow))


async def test_heartbeats_keep_a_claim_b19(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await _enqueue(store, tenant_id)
    job = await _claim(store, tenant_id, lease_seconds=SHORT)
    lease = await store.jobs.heartbeat(**_at(job), lease_seconds=LONG)
    assert job.lease_expires_at is not None
    assert lease.lease_expires_at > job.lease_expires_at + dt.timedelta(seconds=LONG - 60)
    await asyncio.sleep(2 * SHORT)  # past the first lease
    assert await store.jobs.claim(worker_id="thief", tenant_id=tenant_id) == ()
    # A lease that has ended is renewed while nobody has taken the job: the token is what counts.
    await store.jobs.heartbeat(**_at(job), lease_seconds=0.001)
    await asyncio.sleep(SHORT)
    await store.jobs.heartbeat(**_at(job), lease_seconds=LONG)
    assert await store.jobs.claim(worker_id="thief", tenant_id=tenant_id) == ()
    assert (await store.jobs.complete(**_at(job))).attempt == 1


async def test_the_same_call_again_is_no_error(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for _ in range(4):
        await _enqueue(store, tenant_id)
    first = await _claim(store, tenant_id)
    done = await store.jobs.complete(**_at(first))
    assert await store.jobs.complete(**_at(first)) == done
    assert (
        await store.jobs.complete_and_claim(
            completed=[first.claim, first.claim], worker_id="w", limit=0
        )
        == ()
    )
    failed = await _claim(store, tenant_id)
    once = await store.jobs.fail(**_at(failed), error={"code": "x"})
    assert await store.jobs.fail(**_at(failed), error={"code": "x"}) == once
    later = await _claim(store, tenant_id)
    once = await store.jobs.retry_later(**_at(later), error={"code": "x"}, delay_seconds=3600)
    again = await store.jobs.retry_later(**_at(later), error={"code": "x"}, delay_seconds=3600)
    assert again == once
    given_back = await _claim(store, tenant_id)
    once = await store.jobs.release(**_at(given_back))
    assert await store.jobs.release(**_at(given_back)) == once
    # One call does not pass for another.
    with pytest.raises(StaleClaim):
        await store.jobs.complete(**_at(failed))
    with pytest.raises(StaleClaim):
        await store.jobs.fail(**_at(first), error={"code": "x"})


async def test_a_batch_completes_all_or_none(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, queue = adapter.store, fresh("queue")
    tenants = [await new_tenant(store) for _ in range(3)]
    for tenant_id in tenants:
        for _ in range(3):
            await _enqueue(store, tenant_id, queue=queue)
    batch = await store.jobs.claim(worker_id="w", queues=[queue], limit=6, lease_seconds=LONG)
    assert len(batch) == 6
    victim = max(batch, key=lambda job: job.tenant_id)
    await store.jobs.cancel(tenant_id=victim.tenant_id, job_id=victim.id)
    with pytest.raises(StaleClaim) as caught:
        await store.jobs.complete_and_claim(
            completed=[job.claim for job in batch], worker_id="w", queues=[queue], limit=9
        )
    assert [job["id"] for job in caught.value.detail["jobs"]] == [victim.id]
    assert caught.value.detail["jobs"][0]["status"] == "cancelled"
    for job in batch:
        now = await store.jobs.get(tenant_id=job.tenant_id, job_id=job.id)
        assert now.status == ("cancelled" if job == victim else "running")
    rest = [job for job in batch if job != victim]
    following = await store.jobs.complete_and_claim(
        completed=[job.claim for job in rest],
        worker_id="w",
        queues=[queue],
        limit=9,
        lease_seconds=LONG,
    )
    assert len(following) == 3
    assert not {job.id for job in following} & {job.id for job in batch}
    for job in rest:
        now = await store.jobs.get(tenant_id=job.tenant_id, job_id=job.id)
        assert now.status == "completed"
    unknown = JobClaim(tenant_id=tenants[0], id=fresh(), claim_token=1)
    with pytest.raises(StaleClaim):
        await store.jobs.complete_and_claim(completed=[unknown], worker_id="w")


async def test_retries_wait_longer_each_time_and_end(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = await _enqueue(
        store, tenant_id, max_attempts=4, backoff_seconds=0.01, max_backoff_seconds=0.015
    )
    waits = []
    for attempt in (1, 2, 3):
        job = await _claim_when_due(store, tenant_id)
        assert (job.id, job.attempt) == (made.id, attempt)
        before = dt.datetime.now(dt.UTC)
        back = await store.jobs.retry_later(**_at(job), error={"attempt": attempt})
        assert (back.status, back.error) == ("retry_pending", {"attempt": attempt})
        waits.append((back.available_at - before).total_seconds())
        with pytest.raises(StaleClaim):
            await store.jobs.heartbeat(**_at(job))
    assert waits[0] >= 0.005
    assert waits[1] >= 0.0075
    job = await _claim_when_due(store, tenant_id)
    assert job.error == {"attempt": 3}
    end = await store.jobs.retry_later(**_at(job), error={"attempt": 4}, delay_seconds=1)
    assert (end.status, end.error, end.attempt) == ("failed", {"attempt": 4}, 4)
    assert end.finished_at is not None


async def test_a_given_wait_is_honoured(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await _enqueue(store, tenant_id)
    job = await _claim(store, tenant_id)
    before = dt.datetime.now(dt.UTC)
    back = await store.jobs.retry_later(**_at(job), error={}, delay_seconds=300)
    wait = (back.available_at - before).total_seconds()
    assert 290 < wait < 330
    assert await store.jobs.claim(worker_id="w", tenant_id=tenant_id) == ()


async def test_a_job_that_kills_its_workers_ends(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = await _enqueue(store, tenant_id, max_attempts=2)
    for _ in range(2):
        await _claim_when_due(store, tenant_id, lease_seconds=0.01)
    async with asyncio.timeout(20):
        while (job := await store.jobs.get(tenant_id=tenant_id, job_id=made.id)).is_final is False:
            assert await store.jobs.claim(worker_id="w", tenant_id=tenant_id) == ()
    assert job.status == "failed"
    assert job.error is not None
    assert job.error["code"] == "worker_lost"


async def test_a_job_given_back_costs_no_attempt(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await _enqueue(store, tenant_id)
    first = await _claim(store, tenant_id)
    back = await store.jobs.release(**_at(first))
    assert (back.status, back.attempt) == ("queued", 0)
    with pytest.raises(StaleClaim):
        await store.jobs.complete(**_at(first))
    second = await _claim(store, tenant_id)
    assert second.attempt == 1
    assert second.claim_token is not None
    assert first.claim_token is not None
    assert second.claim_token > first.claim_token


async def test_cancelling_ends_a_job_wherever_it_stands(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = await _enqueue(store, tenant_id)
    ended = await store.jobs.cancel(tenant_id=tenant_id, job_id=made.id)
    assert ended.status == "cancelled"
    assert await store.jobs.cancel(tenant_id=tenant_id, job_id=made.id) == ended
    assert await store.jobs.claim(worker_id="w", tenant_id=tenant_id) == ()
    await _enqueue(store, tenant_id)
    held = await _claim(store, tenant_id)
    await store.jobs.cancel(tenant_id=tenant_id, job_id=held.id)
    with pytest.raises(StaleClaim) as caught:
        await store.jobs.heartbeat(**_at(held))
    assert caught.value.detail["jobs"][0]["status"] == "cancelled"
    await _enqueue(store, tenant_id)
    done = await _claim(store, tenant_id)
    await store.jobs.complete(**_at(done))
    assert (await store.jobs.cancel(tenant_id=tenant_id, job_id=done.id)).status == "completed"
    with pytest.raises(NotFound):
        await store.jobs.cancel(tenant_id=tenant_id, job_id=fresh())


async def test_jobs_join_a_unit_of_work_b69(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)

    class Stop(Exception):
        pass

    with pytest.raises(Stop):
        async with store.unit_of_work(tenant_id=tenant_id) as uow:
            await _enqueue(uow, tenant_id)
            raise Stop
    assert (await store.jobs.list(tenant_id=tenant_id)).items == ()
    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        made = await _enqueue(uow, tenant_id)
    job = await _claim(store, tenant_id)
    assert job.id == made.id
    with pytest.raises(Stop):
        async with store.unit_of_work(tenant_id=tenant_id) as uow:
            await uow.conversations.create(tenant_id=tenant_id, owner_id="ada")
            await uow.jobs.complete(**_at(job))
            raise Stop
    assert (await store.jobs.get(tenant_id=tenant_id, job_id=job.id)).status == "running"
    assert (await store.conversations.list(tenant_id=tenant_id)).items == ()
    for call in ("claim", "complete_and_claim"):
        with pytest.raises(StrongroomError) as caught:
            async with store.unit_of_work(tenant_id=tenant_id) as uow:
                if call == "claim":
                    await uow.jobs.claim(worker_id="w")
                else:
                    await uow.jobs.complete_and_claim(completed=[], worker_id="w")
        assert caught.value.code == "SR021"


async def test_the_queue_says_what_waits(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    nothing = await store.jobs.queue(tenant_id=tenant_id)
    assert set(dict(nothing).values()) == {0, None}
    made = [await _enqueue(store, tenant_id) for _ in range(4)]
    await _enqueue(store, tenant_id, delay_seconds=3600)
    await _enqueue(store, tenant_id, queue="other")
    await _claim(store, tenant_id)
    back = await _claim(store, tenant_id)
    await store.jobs.retry_later(**_at(back), error={}, delay_seconds=3600)
    lost = await _claim(store, tenant_id, lease_seconds=0.001)
    assert lost.id == made[2].id
    async with asyncio.timeout(20):
        while (await store.jobs.queue(tenant_id=tenant_id)).expired_leases == 0:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    found = await store.jobs.queue(tenant_id=tenant_id, queue="default")
    assert (found.queued, found.running, found.retry_pending) == (2, 2, 1)
    assert (found.ready, found.expired_leases) == (2, 1)
    assert found.oldest_ready_at == lost.available_at
    assert (await store.jobs.queue(tenant_id=tenant_id)).queued == 3


async def test_pages_of_jobs_hold_each_once_b41(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = [await _enqueue(store, tenant_id, queue="ab"[n % 2]) for n in range(7)]
    made.sort(key=lambda job: (job.created_at, job.id), reverse=True)
    for queue in (None, "a"):
        expected = [job.id for job in made if queue in {None, job.queue}]
        for limit in (1, 3, 500):

            async def page_of(queue: str | None = queue, **page: Any) -> Any:
                return await store.jobs.list(tenant_id=tenant_id, queue=queue, **page)

            forward = await walk(page_of, limit=limit, back=True)
            backward = await walk(page_of, limit=limit, direction="backward", back=True)
            assert [job.id for job in forward] == expected
            assert backward == forward[::-1]
    job = await _claim(store, tenant_id, queues=["a"])
    page = await store.jobs.list(tenant_id=tenant_id, status="running")
    assert [one.id for one in page.items] == [job.id]


async def test_pruning_takes_what_ended_before(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for _ in range(3):
        await _enqueue(store, tenant_id, dedupe_key=fresh())
    ended = [await _claim(store, tenant_id) for _ in range(2)]
    for job in ended:
        await store.jobs.complete(**_at(job))
    past = dt.datetime.now(dt.UTC) - dt.timedelta(hours=1)
    assert await store.jobs.prune(tenant_id=tenant_id, ended_before=past) == 0
    future = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
    assert await store.jobs.prune(tenant_id=tenant_id, ended_before=future, limit=1) == 1
    assert await store.jobs.find(tenant_id=tenant_id, job_id=ended[0].id) is None
    assert await store.jobs.prune(tenant_id=tenant_id, ended_before=future) == 1
    left = await store.jobs.list(tenant_id=tenant_id)
    assert [job.status for job in left.items] == ["queued"]
    # A forgotten job's claim is refused, and tokens go on growing.
    with pytest.raises(StrongroomError):
        await store.jobs.complete(**_at(ended[0]))
    job = await _claim(store, tenant_id)
    assert job.claim_token is not None
    assert job.claim_token > max(one.claim_token or 0 for one in ended)


async def test_a_tenant_sees_and_touches_only_its_own_jobs(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store = adapter.store
    mine, other = await new_tenant(store), await new_tenant(store)
    made = await _enqueue(store, mine, dedupe_key="k")
    job = await _claim(store, mine)
    assert await store.jobs.find(tenant_id=other, job_id=made.id) is None
    assert (await store.jobs.list(tenant_id=other)).items == ()
    assert (await store.jobs.queue(tenant_id=other)).running == 0
    there = {**_at(job), "tenant_id": other}
    for write in (
        lambda: store.jobs.complete(**there),
        lambda: store.jobs.fail(**there, error={}),
        lambda: store.jobs.retry_later(**there, error={}),
        lambda: store.jobs.release(**there),
        lambda: store.jobs.heartbeat(**there),
        lambda: store.jobs.cancel(tenant_id=other, job_id=job.id),
        lambda: store.jobs.claim_one(tenant_id=other, job_id=job.id, worker_id="w"),
    ):
        with pytest.raises((NotFound, StaleClaim)):
            await write()
    assert (await _enqueue(store, other, dedupe_key="k")).outcome == "created"
    assert await store.jobs.get(tenant_id=mine, job_id=made.id) == job


async def test_a_suspended_tenants_jobs_rest(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, queue = adapter.store, fresh("queue")
    tenant_id, other = sorted([await new_tenant(store), await new_tenant(store)])
    await _enqueue(store, tenant_id, queue=queue)
    await _enqueue(store, tenant_id, queue=queue)
    await _enqueue(store, other, queue=queue)
    held = await _claim(store, tenant_id, queues=[queue])
    await store.tenants.suspend(tenant_id=tenant_id, expected_version=1)
    batch = await store.jobs.claim(worker_id="w", queues=[queue], limit=5)
    assert [job.tenant_id for job in batch] == [other]
    assert await store.jobs.claim(worker_id="w", queues=[queue], tenant_id=tenant_id) == ()
    with pytest.raises(PermissionDenied):
        await store.jobs.complete(**_at(held))
    await store.tenants.resume(tenant_id=tenant_id, expected_version=2)
    await store.jobs.complete(**_at(held))
    await _claim(store, tenant_id, queues=[queue])


async def test_arguments_of_jobs_are_checked_before_anything_is_written(adapter: Adapter) -> None:
    adapter.needs("durable_jobs")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    with pytest.raises(LimitExceeded):
        await _enqueue(store, tenant_id, payload={"x": "y" * 65_536})
    with pytest.raises(LimitExceeded):
        await store.jobs.claim(worker_id="w", limit=501)
    enqueued: tuple[dict[str, Any], ...] = (
        {"delay_seconds": -1.0},
        {"delay_seconds": float("nan")},
        {"max_attempts": 0},
        {"kind": ""},
        {"payload": {"x": float("inf")}},
        {"payload": [1]},
        {"priority": 2**31},
    )
    for wrong in enqueued:
        with pytest.raises(InvalidArgument):
            await _enqueue(store, tenant_id, **wrong)
    claimed: tuple[dict[str, Any], ...] = (
        {"queues": []},
        {"lease_seconds": 0},
        {"limit": 0},
        {"worker_id": ""},
    )
    for wrong in claimed:
        with pytest.raises(InvalidArgument):
            await store.jobs.claim(**{"worker_id": "w", **wrong})
    assert (await store.jobs.list(tenant_id=tenant_id)).items == ()
    with pytest.raises(NotFound):
        await _enqueue(store, fresh("tenant"))
