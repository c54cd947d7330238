"""Jobs that BullMQ brings: order, delays, retries, doubles, kills, other programs; and runs."""

# ruff: noqa: PT012, ASYNC110 (a unit of work is a block; what other processes do is awaited)

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom import BullMQWorker, DurableWorker
from strongroom.bullmq_worker import RUN_KIND, run_handler
from strongroom.client import Strongroom
from strongroom.conformance.helpers import fresh
from strongroom.errors import MissingCapability, Unavailable
from strongroom.infrastructure import tasks
from strongroom.infrastructure.bullmq_jobs import bullmq_priority, bullmq_queue_name
from strongroom.infrastructure.redis_server import RedisServer
from strongroom.models.jobs import Job
from strongroom.run_context import RetryLater
from tests.servers import Database, require
from tests.servers.redis_server import RedisProcess
from tests.servers.requirements import missing

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


@pytest.fixture
def prefix() -> str:
    """Keys of this test's own in the shared Redis."""
    return fresh("test")


@pytest.fixture
async def store(redis: RedisProcess, prefix: str) -> AsyncIterator[Strongroom]:
    url = f"bullmq+{redis.url}?prefix={prefix}"
    async with strongroom.connect("memory:", jobs=url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        yield store


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def working(store: Strongroom, handler: Any, **options: Any) -> AsyncIterator[BullMQWorker]:
    """A worker that never looks into the database by itself, unless it is told to."""
    worker = BullMQWorker(**{"store": store, "handler": handler, "sweep_seconds": 1e6, **options})
    running = asyncio.create_task(worker.run_forever())
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def enqueue(store: Strongroom, **fields: Any) -> Job:
    return await store.jobs.enqueue(**{"tenant_id": "acme", "kind": "k", **fields})


async def test_deliveries_keep_priority_and_delay_and_a_double_does_nothing(
    store: Strongroom, prefix: str
) -> None:
    names: dict[str, str] = {}
    for name, fields in {
        "later": {"delay_seconds": 0.5, "priority": 9},
        "idle": {"priority": -5},
        "first": {},
        "second": {},
        "urgent": {"priority": 7},
    }.items():
        names[(await enqueue(store, **fields)).id] = name  # type: ignore[arg-type]
    # Told again of one, and a delivery of what never was: nothing comes of either.
    jobs: Any = store.jobs
    queue = jobs.deliveries._queue("default")
    for job_id in [*names, "never"]:
        await queue.add("again", {"tenant_id": "acme", "job_id": job_id}, {"priority": 2_000_000})
    seen: list[str] = []

    async def handler(job: Job) -> None:
        seen.append(names[job.id])

    async with working(store, handler, concurrency=1) as worker:
        await eventually(lambda: len(seen) == 5 and worker.counts.idle >= 6)
    assert seen == ["urgent", "first", "second", "idle", "later"]
    assert worker.counts.completed == 5
    assert bullmq_priority(2**31 - 1) == 1
    assert bullmq_priority(-(2**31)) == 2**21
    assert bullmq_queue_name("mail") == "mail"
    assert ":" not in bullmq_queue_name("a:b") != bullmq_queue_name("a::b")


async def test_a_failed_job_is_brought_again_after_its_backoff_until_its_end(
    store: Strongroom,
) -> None:
    job = await enqueue(store, max_attempts=3, backoff_seconds=0.01)
    attempts: list[int] = []

    async def handler(job: Job) -> None:
        attempts.append(job.attempt)
        if job.attempt == 1:
            raise RetryLater("not yet", delay_seconds=0.05)
        raise ZeroDivisionError

    async with working(store, handler):
        await eventually(lambda: len(attempts) == 3)
    ended = await store.jobs.get(tenant_id="acme", job_id=job.id)
    assert (ended.status, ended.attempt) == ("failed", 3)
    assert ended.error is not None
    assert ended.error["code"] == "ZeroDivisionError"
    assert attempts == [1, 2, 3]


async def test_what_a_unit_enqueues_is_brought_when_it_has_committed(store: Strongroom) -> None:
    seen: list[str] = []

    async def handler(job: Job) -> None:
        seen.append(job.id)

    async with working(store, handler):
        with pytest.raises(ZeroDivisionError):
            async with store.unit_of_work(tenant_id="acme") as uow:
                await uow.jobs.enqueue(tenant_id="acme", kind="k", job_id="undone")
                raise ZeroDivisionError
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.jobs.enqueue(tenant_id="acme", kind="k", job_id="a")
            async with uow.unit_of_work(tenant_id="acme") as inner:
                await inner.jobs.enqueue(tenant_id="acme", kind="k", job_id="b")
        await eventually(lambda: sorted(seen) == ["a", "b"])


async def test_runs_are_claimed_by_their_ids_and_the_durable_worker_is_the_same(
    store: Strongroom,
) -> None:
    async def agent(context: strongroom.RunContext) -> str:
        return f"You said {context.run.input['question']}"

    talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
    durable = DurableWorker(store=store, handler=agent)
    async with working(store, run_handler(durable, again_seconds=0.05)) as worker:
        for number in range(3):
            run = await store.runs.create(
                tenant_id="acme",
                conversation_id=talk.id,
                run_id=f"r{number}",
                input={"question": number},
            )
            for _ in range(2):  # enqueued twice, brought twice
                await enqueue(
                    store,
                    kind=RUN_KIND,
                    payload={"run_id": run.id},
                    dedupe_key=run.id,
                    max_attempts=1000,
                )
        await eventually(lambda: durable.counts.completed == 3)
        await eventually(lambda: worker.counts.completed >= 3)
    page = await store.messages.list(tenant_id="acme", conversation_id=talk.id)
    texts = [message.parts[0].to_json()["text"] for message in page.items]
    assert [text for text in texts if "You said" in text] == [f"You said {n}" for n in range(3)]
    # And by itself, on the same store.
    await store.runs.create(
        tenant_id="acme", conversation_id=talk.id, run_id="own", input={"question": "x"}
    )
    assert (await durable.run_until_idle()).completed == 4


async def test_a_node_program_shares_the_queue_both_ways(
    store: Strongroom, redis: RedisProcess, prefix: str
) -> None:
    require("node")
    if not (ROOT / "node_modules/bullmq").exists():
        missing("npm's bullmq", "make setup")
    made = [await enqueue(store, queue="to-node", kind="greet") for _ in range(3)]
    seen: list[Job] = []

    async def handler(job: Job) -> None:
        seen.append(job)

    node = await asyncio.create_subprocess_exec(
        *("node", str(HERE / "share_queue.mjs"), str(redis.port), prefix),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert node.stdin is not None
    assert node.stdout is not None
    try:
        async with working(store, handler, queues=["from-node"]):
            await eventually(lambda: len(seen) == 3 or node.returncode is not None)
        node.stdin.close()
        told = [json.loads(line) for line in (await node.stdout.read()).splitlines()]
        assert await node.wait() == 0
    finally:
        if node.returncode is None:
            node.kill()
            await node.wait()
    assert sorted(one["job_id"] for one in told) == sorted(job.id for job in made)
    assert {job.kind for job in seen} == {"echo"}
    assert {job.payload["job_id"] for job in seen} == {job.id for job in made}
    assert all(job.payload["kind"] == "greet" for job in seen)
    # What Node thought of is a job like any other: in the database, once, and ended.
    page = await store.jobs.list(tenant_id="acme", queue="from-node")
    assert [job.status for job in page.items] == ["completed"] * 3


@pytest.fixture
def own_redis() -> Iterator[RedisProcess]:
    server = RedisProcess()
    try:
        yield server
    finally:
        server.close()


def start_workers(
    count: int, database: Database, redis: RedisProcess
) -> list["subprocess.Popen[str]"]:
    workers = [_start(database, redis) for _ in range(count)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        worker.stdout.close()
    return workers


def _start(database: Database, redis: RedisProcess) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.bullmq_program", database.host_url, redis.url],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_killed_in_the_middle_every_job_is_done_once(
    database: Database, own_redis: RedisProcess
) -> None:
    workers = start_workers(2, database, own_redis)
    acknowledged: list[str] = []
    url = f"bullmq+{own_redis.url}?timeout=0.5"
    try:
        async with strongroom.connect(database.host_url, jobs=url) as store:
            await store.tenants.create(tenant_id="acme", name="Acme")
            await store.conversations.create(
                tenant_id="acme", owner_id="ada", conversation_id="effects"
            )

            async def done() -> int:
                return await store.messages.count(tenant_id="acme", conversation_id="effects")

            for batch in range(3):
                jobs = [await enqueue(store, max_attempts=100) for _ in range(20)]
                acknowledged += [job.id for job in jobs]
                async with asyncio.timeout(60):
                    while await done() < 20 * batch + 5:
                        await asyncio.sleep(0.01)
                if batch == 1:
                    workers[0].kill()  # its claims end, its deliveries are brought to another
                    workers[0].wait()
                    workers[:1] = await asyncio.to_thread(start_workers, 1, database, own_redis)
                else:
                    await asyncio.to_thread(own_redis.kill_hard)
                    # Also what is enqueued while Redis is away is acknowledged, and done.
                    acknowledged.append((await enqueue(store, max_attempts=100)).id)
                    await asyncio.to_thread(own_redis.start)
            async with asyncio.timeout(60):
                while (await store.jobs.queue(tenant_id="acme")).model_dump(
                    include={"queued", "running", "retry_pending"}
                ) != {"queued": 0, "running": 0, "retry_pending": 0}:
                    await asyncio.sleep(0.05)
            page = await store.messages.list(tenant_id="acme", conversation_id="effects", limit=500)
            effects = [message.parts[0].to_json()["text"] for message in page.items]
            assert sorted(effects) == sorted(acknowledged)
            assert len(acknowledged) == 62
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait(timeout=30)


async def test_what_was_brought_to_nobody_is_found_by_a_look_into_the_database(
    store: Strongroom, redis: RedisProcess, prefix: str
) -> None:
    job = await enqueue(store)
    server = RedisServer.of(f"{redis.url}?prefix={prefix}")
    keys = [key async for key in server.client.scan_iter(f"{prefix}:*")]
    assert keys
    await server.client.delete(*keys)  # every delivery is lost
    await server.close()
    seen: list[str] = []

    async def handler(job: Job) -> None:
        seen.append(job.id)

    async with working(store, handler, sweep_seconds=0.1) as worker:
        await eventually(lambda: worker.counts.completed == 1)
    assert seen == [job.id]


async def test_what_another_program_brings_while_the_database_is_away_is_not_lost(
    store: Strongroom, redis: RedisProcess, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bullmq

    monkeypatch.setattr("strongroom.bullmq_worker._AGAIN_SECONDS", 0.01)
    enqueue_one, refusals = store.jobs.enqueue, 3

    async def away(**fields: Any) -> Job:
        nonlocal refusals
        refusals -= 1
        if refusals >= 0:
            raise Unavailable("away")
        return await enqueue_one(**fields)

    monkeypatch.setattr(store.jobs, "enqueue", away)
    server = RedisServer.of(f"{redis.url}?prefix={prefix}")
    queue = bullmq.Queue(
        bullmq_queue_name("default"), {"connection": server.client, "prefix": prefix}
    )
    await queue.add("k", {"tenant_id": "acme", "payload": {"n": 1}})
    seen: list[Any] = []

    async def handler(job: Job) -> None:
        seen.append(job.payload)
        if len(seen) == 1:
            raise SystemExit(2)  # as a command line parser does that a tool uses

    async with working(store, handler, sweep_seconds=0.2) as worker:
        await eventually(lambda: worker.counts.completed == 1)
    await server.close()
    assert seen == [{"n": 1}] * 2
    assert (worker.counts.retried, refusals) == (1, -1)


async def test_a_worker_stops_also_while_redis_is_away(own_redis: RedisProcess) -> None:
    started = asyncio.Event()

    async def handler(job: Job) -> None:
        started.set()

    async with strongroom.connect("memory:", jobs=f"bullmq+{own_redis.url}") as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        async with asyncio.timeout(20), working(store, handler, grace_seconds=0.5):
            await enqueue(store)
            await started.wait()
            own_redis.kill_hard()


@pytest.mark.parametrize("brought_by", ["delivery", "sweep"])
async def test_a_handler_that_swallows_its_cancellation_holds_up_nobody(
    store: Strongroom,
    brought_by: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(tasks, "HANDLER_SECONDS", 0.1)
    started, release, swallowed = asyncio.Event(), asyncio.Event(), 0

    async def stubborn(job: Job) -> None:
        nonlocal swallowed
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                swallowed += 1

    sweeps = brought_by == "sweep"
    job = await enqueue(store, queue="quiet" if sweeps else "default")
    queues = ["other"] if sweeps else ["default"]
    worker = BullMQWorker(
        store=store,
        handler=stubborn,
        queues=queues,
        lease_seconds=1.5,
        grace_seconds=0.1,
        sweep_seconds=0.1 if sweeps else 1e6,
    )
    running = asyncio.create_task(worker.run_forever())
    if sweeps:
        worker.queues = ["quiet"]  # which BullMQ brings to nobody
    try:
        async with asyncio.timeout(30):
            await started.wait()
            worker.stop()
            await running
            assert swallowed
            assert f"the handler of job {job.id} goes on" in caplog.text
            # Nobody prolongs the claim: it ends, and the next one has the job for itself.
            while not (again := await store.jobs.claim(worker_id="next", queues=[job.queue])):
                await asyncio.sleep(0.05)
            assert (again[0].id, again[0].attempt) == (job.id, 2)
    finally:
        release.set()
    assert worker.counts.completed == 0


async def test_another_store_has_no_deliveries_and_says_what_to_do() -> None:
    async with strongroom.connect("memory:") as store:

        async def handler(job: Job) -> None:
            raise AssertionError(job)

        with pytest.raises(MissingCapability) as caught:
            await BullMQWorker(store=store, handler=handler).run_forever()
    assert "bullmq+redis" in str(caught.value.hint)
