"""JobDispatcher with BullMQ: jobs are rows of the database, and BullMQ brings workers their ids.

The row decides: whether a job is new, a duplicate or ended, when it is due, who holds it. BullMQ decides
when a worker hears of it, and in which order. So a delivery that is lost, late, stalled or doubled changes
nothing: the worker claims the job by its id, and gets it once. A delivery is a BullMQ job of the queue's name
with the data ``{"tenant_id": ..., "job_id": ...}``; it is added after the row is saved.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
import re
from typing import Any

from strongroom.errors import StrongroomError
from strongroom.infrastructure.extras import import_extra
from strongroom.infrastructure.redis_server import RedisServer
from strongroom.models.jobs import EnqueuedJob, Job
from strongroom.ports.jobs import JobDispatcher

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_MIDDLE = 2**20
"""BullMQ's number of priority 0: its numbers go from 1 to 2 to the 21st, and lower ones come first."""
_AWAY_SECONDS = 5.0

log = logging.getLogger("strongroom.bullmq")


def bullmq_queue_name(queue: str) -> str:
    """Return the name of a queue in BullMQ: the same where BullMQ can have it, else of its hash."""
    if _NAME.fullmatch(queue):
        return queue
    return f"queue-{hashlib.sha256(queue.encode()).hexdigest()[:40]}"


def bullmq_priority(priority: int) -> int:
    """Return BullMQ's priority; beyond a million all are alike, for the order of deliveries only."""
    return min(max(_MIDDLE - priority, 1), 2 * _MIDDLE)


def delivery_id(job: Job) -> str:
    """Return the id of one delivery: the same as long as the job stands where it stands."""
    name = hashlib.sha256(f"{len(job.tenant_id)}:{job.tenant_id}{job.id}".encode()).hexdigest()[:40]
    return f"{name}-{job.attempt}-{job.claim_token or 0}-{job.status}"


def bullmq_server(jobs: str) -> str:
    """Return the URL of the Redis server that ``connect(jobs=...)`` names; '' when it names none.

    Example:
        >>> bullmq_server("bullmq+redis://127.0.0.1:6379/0")
        'redis://127.0.0.1:6379/0'
    """
    kind, _, url = str(jobs).partition("+")
    return url if kind == "bullmq" else ""


class Deliveries:
    """Adds deliveries to BullMQ, and bears that it is away: workers also look into the database."""

    def __init__(self, server: RedisServer) -> None:
        """Add them on a server.

        Raises:
            MissingCapability: SR040, the extra is not installed.
        """
        self.server = server
        self._bullmq = import_extra("bullmq", "bullmq", "the BullMQ job dispatcher")
        self._queues: dict[str, Any] = {}
        self._away_until = 0.0
        self.missed = 0

    async def add(self, job: Job, *, at: dt.datetime | None = None) -> bool:
        """Add a delivery of a job for when it is due; say whether it was added."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._away_until:
            self.missed += 1
            return False
        due = at or job.available_at
        delay = max((due - dt.datetime.now(dt.UTC)).total_seconds(), 0.0)
        options = {
            "jobId": delivery_id(job),
            "delay": round(delay * 1000),
            "priority": bullmq_priority(job.priority),
            # For a worker that cannot reach the database; how often the job is tried the row says.
            "attempts": 1_000_000,
            "backoff": {"type": "fixed", "delay": 2000},
            "removeOnComplete": True,
            "removeOnFail": True,
        }
        data = {"tenant_id": job.tenant_id, "job_id": job.id}
        try:
            await self.server.patiently(lambda: self._queue(job.queue).add(job.kind, data, options))
        except StrongroomError as error:
            self._away_until = loop.time() + _AWAY_SECONDS
            self.missed += 1
            log.warning("job %s is brought to a worker later: %s", job.id, error)
            return False
        return True

    def _queue(self, queue: str) -> Any:
        found = self._queues.get(queue)
        if found is None:
            found = self._queues[queue] = self._bullmq.Queue(
                bullmq_queue_name(queue),
                {"connection": self.server.client, "prefix": self.server.prefix},
            )
        return found


class _Announcing:
    """What the dispatcher and its units of work do alike: hand calls on, and tell of jobs that wait."""

    def __init__(self, jobs: JobDispatcher) -> None:
        self._jobs = jobs

    def __getattr__(self, name: str) -> Any:
        """Return the database's method: what a row decides, the row decides."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._jobs, name)

    async def _tell(self, job: Job) -> None:
        raise NotImplementedError

    async def enqueue(self, **arguments: Any) -> EnqueuedJob:
        """See the port; also a duplicate that waits is brought to a worker once more."""
        made = await self._jobs.enqueue(**arguments)
        if made.status in {"queued", "retry_pending"}:
            await self._tell(made)
        return made

    async def retry_later(self, **arguments: Any) -> Job:
        """See the port."""
        return await self._told(await self._jobs.retry_later(**arguments))

    async def release(self, **arguments: Any) -> Job:
        """See the port."""
        return await self._told(await self._jobs.release(**arguments))

    async def _told(self, job: Job) -> Job:
        if not job.is_final:
            await self._tell(job)
        return job


class BullMQJobDispatcher(_Announcing):
    """See :class:`strongroom.ports.JobDispatcher`, and the head of this module.

    Attributes:
        deliveries: how workers are told.
    """

    def __init__(self, jobs: JobDispatcher, deliveries: Deliveries) -> None:
        """Keep jobs in the database, and bring them to workers through BullMQ."""
        super().__init__(jobs)
        self.deliveries = deliveries

    async def _tell(self, job: Job) -> None:
        await self.deliveries.add(job)

    def join(self, unit: Any) -> UnitJobs:
        """Return the jobs of a unit of work."""
        return UnitJobs(unit.jobs, self.deliveries)


class UnitJobs(_Announcing):
    """The jobs of one unit of work: workers are told when it has committed."""

    def __init__(self, jobs: JobDispatcher, deliveries: Deliveries) -> None:
        """Belong to a unit of work."""
        super().__init__(jobs)
        self._deliveries = deliveries
        self._waiting: list[Job] = []

    async def _tell(self, job: Job) -> None:
        self._waiting.append(job)

    def nested(self, unit: Any) -> UnitJobs:
        """Return the jobs of a nested unit."""
        return UnitJobs(unit.jobs, self._deliveries)

    def merge(self, nested: UnitJobs) -> None:
        """Take over what a nested unit has enqueued."""
        self._waiting += nested._waiting

    async def prepare(self) -> None:
        """Do nothing: the rows are in the transaction."""

    async def committed(self) -> None:
        """Tell workers. Should the process die before that, they find the jobs in the database."""
        for job in self._waiting:
            await self._deliveries.add(job)

    async def undone(self) -> None:
        """Do nothing: nobody was told."""


def brought_by_bullmq(jobs: JobDispatcher, server: RedisServer) -> BullMQJobDispatcher:
    """Return the dispatcher that tells workers of jobs through BullMQ.

    Args:
        jobs: the database's.
        server: BullMQ's.

    Raises:
        MissingCapability: SR040, the extra is not installed.
    """
    return BullMQJobDispatcher(jobs, Deliveries(server))
