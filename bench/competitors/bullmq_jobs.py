"""BullMQ's Python worker, driven by hand: getNextJob, then the script that completes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.competitors import MissingPeer
from bench.competitors.queues import PAYLOAD, WORKER
from bench.redis import RedisServer
from bench.server import Server


class BullMQJobs:
    """One queue and one worker on a Redis that syncs every write, or on one that keeps nothing."""

    def __init__(self, *, durable: bool, backlog: int = 0) -> None:
        self.name = "BullMQ on a durable Redis" if durable else "BullMQ on a Redis in memory"
        self._backlog = backlog
        self._redis = RedisServer(durable=durable)

    async def open(self, server: Server) -> None:  # noqa: ARG002
        try:
            from bullmq import (  # type: ignore[import-untyped] # noqa: PLC0415
                Queue,
                Worker,
            )
        except ImportError as error:
            raise MissingPeer(f"the package bullmq ({error})") from error
        client = await self._redis.start()
        self._queue: Any = Queue("bench", {"connection": client})
        self._worker: Any = Worker("bench", _nothing, {"connection": client, "autorun": False})
        await self.fill(self._backlog)

    async def close(self) -> None:
        await self._redis.stop()

    async def fill(self, count: int) -> None:
        for start in range(0, count, 1000):
            size = min(1000, count - start)
            await self._queue.addBulk([{"name": "index", "data": PAYLOAD, "opts": {}}] * size)

    async def claim(self, count: int) -> Sequence[Any]:
        assert count == 1, "it has no call for several"
        job = await self._worker.getNextJob(WORKER)
        assert job is not None
        return [job]

    async def complete(self, claimed: Sequence[Any]) -> None:
        for job in claimed:
            await self._worker.scripts.moveToCompleted(
                job, None, removeOnComplete=False, token=WORKER, fetchNext=False
            )


async def _nothing(_job: Any, _token: str) -> None:
    """It is never run: the benchmark completes the jobs itself."""
