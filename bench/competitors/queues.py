"""What the lines about jobs ask of a queue, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from bench.measure import Contestant, repeat
from bench.server import Server

PAYLOAD: dict[str, Any] = {"document_id": "d-4711", "pages": [1, 2, 3], "language": "en"}
"""What every job carries."""
LEASE_SECONDS = 600
WORKER = "bench"


class Queue(Protocol):
    """A queue of jobs with one worker."""

    name: str

    async def open(self, server: Server) -> None: ...

    async def close(self) -> None: ...

    async def fill(self, count: int) -> None:
        """Enqueue so many jobs that can be claimed at once."""
        ...

    async def claim(self, count: int) -> Sequence[Any]:
        """Claim exactly so many jobs as a worker does, in one call where there is one."""
        ...

    async def complete(self, claimed: Sequence[Any]) -> None:
        """End them, in one call where there is one."""
        ...


def one_by_one(queue: Queue, jobs: int) -> Contestant:
    """Claim 1 and complete 1, again and again; the jobs are enqueued before, not timed."""

    async def work() -> None:
        await queue.complete(await queue.claim(1))

    return repeat(work, jobs, lambda: queue.fill(jobs))


def in_batches(queue: Queue, batches: int, size: int = 10) -> Contestant:
    """The same in batches; an operation is one job of them."""

    async def work() -> None:
        for _ in range(batches):
            await queue.complete(await queue.claim(size))

    return Contestant(work, batches * size, lambda: queue.fill(batches * size))


def claims_alone(queue: Queue, jobs: int) -> Contestant:
    """Claim 1, again and again; enqueued before and completed afterwards, not timed."""
    claimed: list[Any] = []

    async def prepare() -> None:
        for job in claimed:
            await queue.complete([job])
        claimed.clear()
        await queue.fill(jobs)

    async def work() -> None:
        claimed.extend(await queue.claim(1))

    return repeat(work, jobs, prepare)


def analyze(server: Server, database: str) -> None:
    """What autovacuum would have done by now."""
    with server.connect(database) as connection:
        connection.execute("vacuum (analyze)")
