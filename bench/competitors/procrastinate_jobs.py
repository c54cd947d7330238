"""procrastinate: its job manager's calls, which its worker makes, too, over its own connector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.competitors import MissingPeer
from bench.competitors.queues import PAYLOAD, analyze
from bench.server import Server


class ProcrastinateJobs:
    """One queue and one registered worker."""

    name = "procrastinate"

    def __init__(self, backlog: int = 0) -> None:
        self._backlog = backlog
        self._connector: Any = None

    async def open(self, server: Server) -> None:
        try:
            import procrastinate  # noqa: PLC0415
            from procrastinate.jobs import Job, Status  # noqa: PLC0415
            from procrastinate.manager import JobManager  # noqa: PLC0415
            from procrastinate.schema import SchemaManager  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package procrastinate ({error})") from error
        database = f"procrastinate_{self._backlog}"
        server.create_database(database)
        with server.connect(database) as connection:
            connection.execute(SchemaManager.get_schema())
        self._job, self._succeeded = Job, Status.SUCCEEDED
        self._connector = procrastinate.PsycopgConnector(
            conninfo=server.dsn(database), min_size=1, max_size=1
        )
        await self._connector.open_async()
        self._manager: Any = JobManager(self._connector)
        self._worker = await self._manager.register_worker()
        await self.fill(self._backlog)
        analyze(server, database)

    async def close(self) -> None:
        if self._connector is not None:
            await self._connector.close_async()

    async def fill(self, count: int) -> None:
        for start in range(0, count, 1000):
            jobs = [
                self._job(
                    queue="bench", lock=None, queueing_lock=None, task_name="index",
                    task_kwargs=PAYLOAD,
                )
                for _ in range(min(1000, count - start))
            ]  # fmt: skip
            await self._manager.batch_defer_jobs_async(jobs)

    async def claim(self, count: int) -> Sequence[Any]:
        assert count == 1, "it has no call for several"
        job = await self._manager.fetch_job(["bench"], self._worker)
        assert job is not None
        return [job]

    async def complete(self, claimed: Sequence[Any]) -> None:
        for job in claimed:
            await self._manager.finish_job(job, self._succeeded, delete_job=False)
