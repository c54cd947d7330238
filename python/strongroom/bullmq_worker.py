"""BullMQWorker: works on jobs whose ids BullMQ brings, under claims that the database gives.

A handler is an async callable that gets the claimed :class:`~strongroom.models.Job`. It returns when the job
is done; it raises ``RetryLater`` or anything else to have it tried again, until its attempts are used up.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import os
import random
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from strongroom.client import Strongroom
from strongroom.errors import (
    InvalidArgument,
    MissingCapability,
    NotFound,
    PermissionDenied,
    StaleClaim,
    StrongroomError,
)
from strongroom.handler_errors import RetryLater, call_handler, error_object
from strongroom.handlers import check_options, check_worker
from strongroom.infrastructure.bullmq_jobs import BullMQJobDispatcher, bullmq_queue_name
from strongroom.infrastructure.extras import import_extra
from strongroom.infrastructure.tasks import HANDLER_SECONDS, end_task, handler_ends
from strongroom.models.jobs import Job
from strongroom.worker import DurableWorker

JobHandler = Callable[[Job], Awaitable[None]]
RUN_KIND = "strongroom.run"
"""The kind of jobs whose payload names a run: ``{"run_id": ...}``."""
_AGAIN_SECONDS = 1.0
_MARGIN = dt.timedelta(milliseconds=50)
_GIVEN = ("kind", "payload", "dedupe_key", "priority", "delay_seconds", "max_attempts")

log = logging.getLogger("strongroom.bullmq")


@dataclass(slots=True)
class JobCounts:
    """What a worker has done so far; ``idle`` deliveries found nothing to do."""

    completed: int = 0
    retried: int = 0
    lost: int = 0
    idle: int = 0


@dataclass(kw_only=True)
class BullMQWorker:
    """Takes deliveries, claims their jobs by id, runs the handler, heartbeats, ends the claims.

    A delivery may come late, twice or never: a job is claimed once at a time whatever BullMQ does, and every
    ``sweep_seconds`` the worker also claims what is ready and was brought to nobody.

    Deliveries may come from other programs, too: ``{"tenant_id", "job_id"}`` for a job that there is, or
    ``{"tenant_id", "kind", "payload", ...}``, which is enqueued first, with the arguments of ``enqueue``.

    Attributes:
        store: opened with ``connect(..., jobs="bullmq+redis://...")``.
        handler: what to do with a job.
        queues: which queues to serve.
        concurrency: jobs at a time.
        lease_seconds: how long a claim holds without a heartbeat; heartbeats come three times as often.
        sweep_seconds: how often to look into the database.
        stalled_seconds: when a delivery whose worker is silent is brought to another one.
        grace_seconds: how long ``stop`` lets jobs end; those that do not are claimed again by their leases.
        worker_id: who holds the claims.
    """

    store: Strongroom
    handler: JobHandler
    queues: Sequence[str] = ("default",)
    concurrency: int = 4
    lease_seconds: float = 30.0
    sweep_seconds: float = 15.0
    stalled_seconds: float = 30.0
    grace_seconds: float = 20.0
    worker_id: str = field(
        default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{random.randrange(10**6)}"  # noqa: S311
    )
    counts: JobCounts = field(default_factory=JobCounts)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _last_tenant_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse a handler or a store that blocks, and options that no worker can work with.

        Raises:
            InvalidArgument: SR001.
        """
        check_worker(self.store, self.handler)
        check_options(
            concurrency=self.concurrency,
            lease_seconds=self.lease_seconds,
            above_zero={
                "sweep_seconds": self.sweep_seconds,
                "stalled_seconds": self.stalled_seconds,
            },
            grace_seconds=self.grace_seconds,
        )

    async def run_forever(self) -> None:
        """Work until ``stop`` is called, and end what is held.

        Raises:
            MissingCapability: SR040, the store's jobs are not BullMQ's.
        """
        dispatcher = cast("Any", self.store.jobs)
        if not isinstance(dispatcher, BullMQJobDispatcher):
            raise MissingCapability(
                "the store's jobs are not brought by BullMQ",
                detail={"feature": "BullMQWorker", "capability": "durable_jobs"},
                hint="Open it with strongroom.connect(..., jobs='bullmq+redis://host:port/0').",
            )
        server = dispatcher.deliveries.server
        bullmq = import_extra("bullmq", "bullmq", "BullMQWorker")
        gate = asyncio.Semaphore(self.concurrency)
        workers = [
            bullmq.Worker(
                bullmq_queue_name(queue),
                self._process(queue, gate, bullmq.UnrecoverableError),
                {
                    "connection": server.new_client(),
                    "prefix": server.prefix,
                    "concurrency": self.concurrency,
                    "drainDelay": 1,
                    "runRetryDelay": 500,
                    "lockDuration": round(self.stalled_seconds * 1000),
                    "stalledInterval": round(self.stalled_seconds * 1000),
                    "maxStalledCount": 1_000_000,
                },
            )
            for queue in self.queues
        ]
        try:
            await self._sweep(gate)
        finally:
            await asyncio.gather(*(self._close(worker) for worker in workers))

    def stop(self) -> None:
        """Take no more; ``run_forever`` returns when what is held has ended."""
        self._stopping.set()

    async def _close(self, worker: Any) -> None:
        """Let a worker's jobs end; after a while, or when Redis is away, end without them."""
        closing = asyncio.ensure_future(worker.close())
        await asyncio.wait({closing}, timeout=self.grace_seconds)
        if not closing.done():
            await asyncio.wait({asyncio.ensure_future(worker.close(force=True))}, timeout=5.0)
        await end_task(closing)

    async def _sweep(self, gate: asyncio.Semaphore) -> None:
        """Now and then claim what is ready although nobody was told."""
        tasks: set[asyncio.Task[None]] = set()
        try:
            while not self._stopping.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.sweep_seconds * random.uniform(0.5, 1.0)):  # noqa: S311
                        await self._stopping.wait()
                while not (self._stopping.is_set() or gate.locked()):
                    await gate.acquire()  # so that no claim waits for hands
                    job = await self._claim_any()
                    if job is None:
                        gate.release()
                        break
                    task = asyncio.create_task(self._work_and_release(job, gate))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        finally:
            if tasks:
                await asyncio.wait(tasks, timeout=self.grace_seconds)
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=HANDLER_SECONDS + 1)
            for task in [*tasks]:
                await end_task(task)

    async def _claim_any(self) -> Job | None:
        try:
            jobs = await self.store.jobs.claim(
                worker_id=self.worker_id,
                queues=self.queues,
                lease_seconds=self.lease_seconds,
                after_tenant_id=self._last_tenant_id,
            )
        except StrongroomError as error:
            log.warning("the database is looked into later: %s", error)
            return None
        for job in jobs:
            self._last_tenant_id = job.tenant_id
            return job
        return None

    async def _work_and_release(self, job: Job, gate: asyncio.Semaphore) -> None:
        try:
            await self._work(job)
        except StrongroomError as error:
            # Nothing is lost: the lease ends, and the job is claimed again.
            self.counts.lost += 1
            log.warning("job %s could not be ended: %s", job.id, error)
        finally:
            gate.release()

    def _process(
        self, queue: str, gate: asyncio.Semaphore, refused: type[Exception]
    ) -> Callable[[Any, str], Awaitable[None]]:
        async def process(delivery: Any, token: str) -> None:
            del token
            while True:
                try:
                    place = await self._place(queue, delivery)
                    break
                except (InvalidArgument, NotFound) as error:
                    raise refused(str(error)) from error  # no retry makes it right; BullMQ keeps it
                except StrongroomError as error:
                    if not error.retryable:
                        raise
                    # What another program has thought of is nowhere else yet: keep it until it is.
                    log.warning("delivery %s waits for the database: %s", delivery.id, error)
                    await asyncio.sleep(min(self.sweep_seconds, _AGAIN_SECONDS))
            async with gate:
                await self._deliver(place)

        return process

    async def _place(self, queue: str, delivery: Any) -> dict[str, str]:
        """Return which job a delivery is about; enqueue one that another program has thought of."""
        data = delivery.data if isinstance(delivery.data, dict) else {}
        place = {"tenant_id": data.get("tenant_id"), "job_id": data.get("job_id")}
        if data.get("job_id") is None:
            given = {name: data[name] for name in _GIVEN if name in data}
            # One id for all deliveries of this BullMQ job; its own id starts again when Redis is emptied.
            job_id = f"bullmq-{delivery.timestamp}-{delivery.id}"
            try:
                made = await self.store.jobs.enqueue(
                    **{"kind": delivery.name, **given},
                    tenant_id=place["tenant_id"],  # type: ignore[arg-type]
                    queue=queue,
                    job_id=job_id,
                )
            except TypeError as error:
                raise InvalidArgument(
                    "the delivery has wrong data", detail={"path": "data"}, hint=str(error)
                ) from error
            place["job_id"] = made.id
        return cast("dict[str, str]", place)

    async def _deliver(self, place: dict[str, str]) -> None:
        try:
            job = await self.store.jobs.claim_one(
                **place, worker_id=self.worker_id, lease_seconds=self.lease_seconds
            )
        except (NotFound, PermissionDenied):
            self.counts.idle += 1  # purged; or its tenant rests, and a sweep finds it afterwards
            return
        if job is not None:
            await self._work(job)
            return
        self.counts.idle += 1
        found = await self.store.jobs.find(**place)
        if found is None or found.is_final:
            return
        # Somebody holds it, or it is for later: be told again when that may have changed.
        due = found.lease_expires_at if found.status == "running" else found.available_at
        dispatcher = cast("BullMQJobDispatcher", self.store.jobs)
        await dispatcher.deliveries.add(found, at=(due or found.available_at) + _MARGIN)

    async def _work(self, job: Job) -> None:
        """Run the handler for one claim, and end the claim."""
        mine: dict[str, Any] = {
            "tenant_id": job.tenant_id,
            "job_id": job.id,
            "claim_token": job.claim_token,
        }
        handling = asyncio.create_task(call_handler(self.handler, job))
        beating = asyncio.create_task(self._beat(mine, handling))
        try:
            await asyncio.shield(handling)
        except asyncio.CancelledError:
            if not handling.done() or not beating.done():
                raise
            self.counts.lost += 1  # the heartbeat has found that the claim is lost
        except Exception as error:  # noqa: BLE001 (whatever a handler raises ends its job, not the worker)
            log.info("job %s, attempt %s: %r", job.id, job.attempt, error)
            delay = error.delay_seconds if isinstance(error, RetryLater) else None
            await self._end("retried", mine, error=error_object(error), delay_seconds=delay)
        else:
            await self._end("completed", mine)
        finally:
            await handler_ends(handling, f"job {job.id}")
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _end(self, how: str, mine: dict[str, Any], **more: Any) -> None:
        try:
            if how == "completed":
                await self.store.jobs.complete(**mine)
            else:
                await self.store.jobs.retry_later(**mine, **more)
        except (StaleClaim, NotFound) as error:
            self.counts.lost += 1
            log.warning("another worker has the job: %s", error)
        else:
            setattr(self.counts, how, getattr(self.counts, how) + 1)

    async def _beat(self, mine: dict[str, Any], handling: asyncio.Future[None]) -> None:
        while True:
            await asyncio.sleep(self.lease_seconds / 3)
            try:
                await self.store.jobs.heartbeat(**mine, lease_seconds=self.lease_seconds)
            except (StaleClaim, NotFound):
                handling.cancel()
                return
            except StrongroomError as error:
                log.warning("no heartbeat for job %s: %s", mine["job_id"], error)


def run_handler(worker: DurableWorker, *, again_seconds: float = 2.0) -> JobHandler:
    """Return a handler for jobs of the kind ``strongroom.run``: it claims the run by its id, and works on it.

    A run that is not claimable yet (another of its conversation comes first, or it waits for a person) is
    looked at again after ``again_seconds``; give such jobs attempts enough.
    """

    async def handle(job: Job) -> None:
        place: Any = {"tenant_id": job.tenant_id, "run_id": job.payload.get("run_id")}
        run = await worker.store.runs.claim(
            **place, worker_id=worker.worker_id, lease_seconds=worker.lease_seconds
        )
        if run is not None:
            await worker.work_on(run)
        if not (await worker.store.runs.get(**place)).is_final:
            raise RetryLater("the run has not ended yet", delay_seconds=again_seconds)

    return handle
