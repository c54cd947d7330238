"""strongroom's own adapters beside its database: locks in Redis, jobs that BullMQ brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.competitors import MissingPeer
from bench.competitors.locks import StrongroomLocks
from bench.competitors.queues import LEASE_SECONDS, WORKER
from bench.competitors.work import StrongroomJobs
from bench.redis import RedisServer
from bench.server import Server
from strongroom.models.jobs import Job


class StrongroomRedisLocks(StrongroomLocks):
    """The same leases with fencing tokens, in a Redis that syncs every write."""

    name = "strongroom's locks in a durable Redis"

    def __init__(self, database: str) -> None:
        super().__init__(database)
        self._redis = RedisServer(durable=True)

    async def open(self, server: Server) -> None:
        await self._redis.start()
        self._product.options = {"locks": self._redis.url}
        await super().open(server)

    async def close(self) -> None:
        await super().close()
        await self._redis.stop()


class StrongroomBullMQJobs(StrongroomJobs):
    """A delivery taken from a durable Redis, the job claimed by its id, completed, the delivery ended."""

    name = "strongroom's jobs through BullMQ"

    def __init__(self, database: str) -> None:
        super().__init__(database)
        self._redis = RedisServer(durable=True)

    async def open(self, server: Server) -> None:
        try:
            from bullmq import Worker  # type: ignore[import-untyped] # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package bullmq ({error})") from error
        client = await self._redis.start()
        self._product.options = {"jobs": f"bullmq+{self._redis.url}"}
        await super().open(server)
        options = {"connection": client, "prefix": "strongroom", "autorun": False}
        self._worker: Any = Worker("default", _nothing, options)
        self._deliveries: list[Any] = []

    async def close(self) -> None:
        await super().close()
        await self._redis.stop()

    async def claim(self, count: int) -> Sequence[Job]:
        assert count == 1, "a delivery is one job"
        delivery = await self._worker.getNextJob(WORKER)
        job = await self._product.store.jobs.claim_one(
            tenant_id=delivery.data["tenant_id"],
            job_id=delivery.data["job_id"],
            worker_id=WORKER,
            lease_seconds=LEASE_SECONDS,
        )
        assert job is not None
        self._deliveries.append(delivery)
        return [job]

    async def complete(self, claimed: Sequence[Job]) -> None:
        await super().complete(claimed)
        for delivery in self._deliveries:
            await self._worker.scripts.moveToCompleted(
                delivery, None, removeOnComplete=True, token=WORKER, fetchNext=False
            )
        self._deliveries.clear()


async def _nothing(_job: Any, _token: str) -> None:
    """It is never run: the benchmark completes the jobs itself."""
