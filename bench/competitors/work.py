"""strongroom's jobs and runs as queues, through its own bindings, as a host that row security binds."""

from __future__ import annotations

from collections.abc import Sequence

from bench.competitors.product import Strongroom
from bench.competitors.queues import LEASE_SECONDS, PAYLOAD, WORKER, analyze
from bench.loading import TENANTS
from bench.server import Server
from strongroom.models.jobs import Job
from strongroom.models.runs import Run

JOBS = "strongroom_jobs"
RUNS = "strongroom_runs"


class StrongroomJobs:
    """Jobs, spread over tenants; the worker serves all of them in turn."""

    name = "strongroom's jobs"

    def __init__(self, database: str, tenants: int = 1, backlog: int = 0) -> None:
        self._product = Strongroom(database)
        self._tenants = tenants
        self._backlog = backlog
        self._enqueued = 0
        self._last_tenant: str | None = None

    async def open(self, server: Server) -> None:
        await self._product.open(server)
        with server.connect(self._product.database) as connection:
            connection.execute(
                "select count(*) from generate_series(1, %s) as n,"
                " lateral strongroom.enqueue_job("
                "p_tenant_id => 'tenant-' || n %% %s, p_kind => 'index',"
                " p_job_id => 'backlog-' || n, p_payload => '{\"document_id\": \"d-4711\"}')",
                (self._backlog, self._tenants),
            )
        analyze(server, self._product.database)

    async def close(self) -> None:
        await self._product.close()

    async def fill(self, count: int) -> None:
        for _ in range(count):
            await self._product.store.jobs.enqueue(
                tenant_id=f"tenant-{self._enqueued % self._tenants}", kind="index", payload=PAYLOAD
            )
            self._enqueued += 1

    async def claim(self, count: int) -> Sequence[Job]:
        jobs = await self._product.store.jobs.claim(
            worker_id=WORKER,
            lease_seconds=LEASE_SECONDS,
            limit=count,
            after_tenant_id=self._last_tenant,
        )
        return self._taken(jobs, count)

    def _taken(self, jobs: Sequence[Job], count: int) -> Sequence[Job]:
        assert len(jobs) == count
        self._last_tenant = jobs[-1].tenant_id
        return jobs

    async def complete(self, claimed: Sequence[Job]) -> None:
        if len(claimed) > 1:
            await self._product.store.jobs.complete_and_claim(
                completed=[job.claim for job in claimed], worker_id=WORKER, limit=0
            )
            return
        for job in claimed:
            assert job.claim_token is not None
            await self._product.store.jobs.complete(
                tenant_id=job.tenant_id, job_id=job.id, claim_token=job.claim_token
            )

    async def drain(self, count: int) -> None:
        """Every call completes a job and claims the next one; the last claims none."""
        jobs = await self.claim(1)
        for left in reversed(range(count)):
            jobs = await self._product.store.jobs.complete_and_claim(
                completed=[job.claim for job in jobs],
                worker_id=WORKER,
                lease_seconds=LEASE_SECONDS,
                limit=min(left, 1),
                after_tenant_id=self._last_tenant,
            )
            if left:
                self._taken(jobs, 1)
        assert not jobs


class StrongroomRuns:
    """Runs, each in a conversation of its own; finished without a message, as a job is."""

    name = "strongroom's runs"

    def __init__(self, database: str, tenants: int = 1, backlog: int = 0) -> None:
        self._product = Strongroom(database)
        self._tenants = tenants
        self._backlog = backlog
        self._created = 0
        self._last_tenant: str | None = None

    async def open(self, server: Server) -> None:
        await self._product.open(server)
        with server.connect(self._product.database) as connection:
            connection.execute(
                "insert into strongroom.conversations"
                " (id, tenant_id, owner_id, creation_digest)"
                " select 'backlog-' || n, 'tenant-' || n %% %s, 'ada', 'bench'"
                " from generate_series(1, %s) as n",
                (self._tenants, self._backlog),
            )
            # As many conversations as there are rounds to take them from.
            connection.execute(
                "insert into strongroom.conversations"
                " (id, tenant_id, owner_id, creation_digest)"
                " select 'turn-' || n, 'tenant-' || n %% %s, 'ada', 'bench'"
                " from generate_series(0, %s - 1) as n",
                (TENANTS, 1000),
            )
            connection.execute("analyze strongroom.conversations")
            connection.execute(
                "select count(*) from generate_series(1, %s) as n,"
                " lateral strongroom.create_run("
                "p_tenant_id => 'tenant-' || n %% %s, p_conversation_id => 'backlog-' || n,"
                " p_run_id => 'backlog-' || n)",
                (self._backlog, self._tenants),
            )
        analyze(server, self._product.database)

    async def close(self) -> None:
        await self._product.close()

    async def fill(self, count: int) -> None:
        """One run in each of the next conversations."""
        for _ in range(count):
            number = (self._created % (1000 // TENANTS * self._tenants)) * (
                TENANTS // self._tenants
            )
            await self._product.store.runs.create(
                tenant_id=f"tenant-{number % TENANTS}",
                conversation_id=f"turn-{number}",
                input=PAYLOAD,
            )
            self._created += 1

    async def claim(self, count: int) -> Sequence[Run]:
        runs = await self._product.store.runs.claim_next(
            worker_id=WORKER,
            lease_seconds=LEASE_SECONDS,
            limit=count,
            after_tenant_id=self._last_tenant,
        )
        assert len(runs) == count
        self._last_tenant = runs[-1].tenant_id
        return runs

    async def complete(self, claimed: Sequence[Run]) -> None:
        for run in claimed:
            assert run.claim_token is not None
            await self._product.store.runs.finish(
                tenant_id=run.tenant_id,
                run_id=run.id,
                claim_token=run.claim_token,
                status="completed",
            )
