"""Doing tasks once each: as jobs where the store has them, so that nothing is lost with a process."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strongroom.client import Strongroom
from strongroom.errors import (
    InvalidArgument,
    StaleClaim,
    StrongroomError,
    Unavailable,
    VersionConflict,
)
from strongroom.handler_errors import short, text_of
from strongroom.ids import new_id
from strongroom.models.jobs import Job
from strongroom.models.json_values import replace_unstorable

KIND = "ingest-file"
_ATTEMPTS = 3
BACKOFF_SECONDS = 1.0
"""The wait before a second attempt."""
_POLL_SECONDS = 0.2

Work = Callable[[str], Awaitable[None]]
Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Task:
    """A file that is to be stored, and the digest of what it was when that was found out."""

    ref: str
    digest: str


async def run_tasks(
    store: Strongroom,
    *,
    tenant_id: str,
    queue: str,
    tasks: Sequence[Task],
    work: Work,
    concurrency: int,
    lease_seconds: float,
    on_progress: Tell,
) -> list[dict[str, Any]]:
    """Do every task; return what failed, with the reason.

    Args:
        store: where jobs are, if it has any.
        tenant_id: the tenant.
        queue: one for each folder, collection and recipe.
        tasks: what is to be done.
        work: does one of them, by its ref; it is done again where nobody knows whether it was.
        concurrency: how many at a time.
        lease_seconds: how long a claim holds without a heartbeat.
        on_progress: is told how many are done, and how many there are.
    """
    on_progress(0, len(tasks))
    if not tasks:
        return []
    if "durable_jobs" in store.capabilities:
        return await _Jobs(store, tenant_id, queue, tasks, work, lease_seconds, on_progress).run(
            concurrency
        )
    failures: list[dict[str, Any]] = []
    for done, task in enumerate(tasks, 1):
        try:
            await work(task.ref)
        except StrongroomError as error:
            if not isinstance(error, InvalidArgument | VersionConflict):
                raise
            failures.append(_failure(task.ref, error))
        on_progress(done, len(tasks))
    return failures


@dataclass
class _Jobs:
    store: Strongroom
    tenant_id: str
    queue: str
    tasks: Sequence[Task]
    work: Work
    lease_seconds: float
    tell: Tell
    worker_id: str = field(default_factory=lambda: f"ingest-{new_id()}")

    async def run(self, concurrency: int) -> list[dict[str, Any]]:
        jobs = {}
        for task in self.tasks:
            key = hashlib.sha256(f"{task.ref}\n{task.digest}".encode()).hexdigest()
            made = await self.store.jobs.enqueue(
                tenant_id=self.tenant_id,
                queue=self.queue,
                kind=KIND,
                payload={"file": task.ref},
                dedupe_key=key,
                max_attempts=_ATTEMPTS,
                backoff_seconds=BACKOFF_SECONDS,
            )
            jobs[task.ref] = made.id
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(jobs))):
                    group.create_task(self._serve())
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        failures = []
        for ref, job_id in jobs.items():
            job = await self.store.jobs.find(tenant_id=self.tenant_id, job_id=job_id)
            if job is not None and job.status != "completed":
                error = job.error or {"code": "SR030", "message": f"{ref}: its job was cancelled"}
                failures.append({"file": ref, "code": error["code"], "message": error["message"]})
        return failures

    async def _serve(self) -> None:
        """Work until the queue is empty, also of what others had claimed and may have lost."""
        while True:
            claimed = await self.store.jobs.claim(
                tenant_id=self.tenant_id,
                queues=(self.queue,),
                worker_id=self.worker_id,
                lease_seconds=self.lease_seconds,
            )
            for job in claimed:
                await self._do(job)
            state = await self.store.jobs.queue(tenant_id=self.tenant_id, queue=self.queue)
            left = state.queued + state.running + state.retry_pending
            self.tell(max(0, len(self.tasks) - left), len(self.tasks))
            if not left:
                return
            if not claimed:
                await asyncio.sleep(min(_POLL_SECONDS, self.lease_seconds / 2))

    async def _do(self, job: Job) -> None:
        mine: dict[str, Any] = {
            "tenant_id": job.tenant_id,
            "job_id": job.id,
            "claim_token": job.claim.claim_token,
        }
        ref = str(job.payload["file"])
        # Whoever has taken it over, or has cancelled it, decides what becomes of it.
        with contextlib.suppress(StaleClaim):
            async with self._held(mine):
                try:
                    await self.work(ref)
                except asyncio.CancelledError:
                    await self.store.jobs.release(**mine)
                    raise
                except (InvalidArgument, VersionConflict) as error:
                    await self.store.jobs.fail(**mine, error=_failure(ref, error))
                except Exception as error:  # noqa: BLE001 (an embedder may raise anything)
                    await self.store.jobs.retry_later(**mine, error=_failure(ref, error))
                else:
                    await self.store.jobs.complete(**mine)

    @contextlib.asynccontextmanager
    async def _held(self, mine: dict[str, Any]) -> AsyncIterator[None]:
        """Keep the claim while the block works."""

        async def beat() -> None:
            with contextlib.suppress(StaleClaim):
                while True:
                    await asyncio.sleep(self.lease_seconds / 3)
                    with contextlib.suppress(Unavailable):  # the next one may come through
                        await self.store.jobs.heartbeat(**mine, lease_seconds=self.lease_seconds)

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)


def _failure(ref: str, error: Exception) -> dict[str, Any]:
    if isinstance(error, StrongroomError):
        code, message = error.code, error.message
    else:
        code, message = StrongroomError.code, f"{ref}: {type(error).__name__}: {text_of(error)}"
    cleaned: dict[str, Any] = replace_unstorable(
        {"file": ref, "code": code, "message": short(message)}
    )
    return cleaned
