"""P6: jobs and runs, claimed and completed."""

from __future__ import annotations

from bench.competitors.absurd_tasks import AbsurdTasks
from bench.competitors.adapters import StrongroomBullMQJobs
from bench.competitors.bullmq_jobs import BullMQJobs
from bench.competitors.pgqueuer_jobs import PgQueuerJobs
from bench.competitors.procrastinate_jobs import ProcrastinateJobs
from bench.competitors.queues import Queue, claims_alone, in_batches, one_by_one
from bench.competitors.work import StrongroomJobs, StrongroomRuns
from bench.context import Context
from bench.loading import TENANTS
from bench.measure import Contestant, Rounds
from bench.report import ratio_line

JOBS = 20
"""Jobs in a round of one contestant, one by one or in two batches of ten."""
GOALS = {"procrastinate": 2.5, "absurd": 3.0}


async def jobs_and_runs(context: Context) -> None:
    """P6: without a backlog, and then with one."""
    await _backlog(context, await _empty_queues(context))


async def _empty_queues(context: Context) -> list[Queue]:
    """Nothing is there but what the round claims. Returns the peers that there are."""
    jobs, runs = StrongroomJobs("strongroom_jobs"), StrongroomRuns("strongroom_runs")
    peers: tuple[Queue, ...] = (
        ProcrastinateJobs(),
        PgQueuerJobs(),
        AbsurdTasks(),
        BullMQJobs(durable=True),
        BullMQJobs(durable=False),
        StrongroomBullMQJobs("strongroom_bullmq_jobs"),
    )
    await context.opened(jobs, "strongroom's jobs: set up")
    await context.opened(runs, "strongroom's runs: set up")
    opened: list[Queue] = []
    for peer in peers:
        if await context.opened(peer, f"{peer.name}: set up"):
            opened.append(peer)  # noqa: PERF401
    contestants: dict[str, Contestant] = {
        "jobs": one_by_one(jobs, JOBS),
        "jobs, 10": in_batches(jobs, JOBS // 10),
        "jobs, complete and claim": Contestant(
            lambda: jobs.drain(JOBS), JOBS, lambda: jobs.fill(JOBS)
        ),
        "runs": one_by_one(runs, JOBS),
    }
    for peer in opened:
        contestants[peer.name] = one_by_one(peer, JOBS // 2)
        if peer.name == "pgqueuer":
            contestants["pgqueuer, 10"] = in_batches(peer, JOBS // 10)
    rounds = await context.measure("P6", contestants, rounds=45)
    _report(context, rounds)
    return opened


def _report(context: Context, rounds: Rounds) -> None:
    add = context.report.lines.append
    for peer in (
        "procrastinate", "absurd", "pgqueuer", "BullMQ on a durable Redis",
        "BullMQ on a Redis in memory",
    ):  # fmt: skip
        goal = GOALS.get(peer)
        for what in ("jobs", "runs"):
            if rounds.has(peer):
                text = f"claim 1 + complete 1: {peer} / strongroom's {what}"
                ratio = rounds.ratio(peer, what)
                add(ratio_line("P6", text, ratio, (">=", goal) if goal else None))
    through = StrongroomBullMQJobs.name
    for peer in ("jobs", "BullMQ on a durable Redis"):
        if rounds.has(through) and rounds.has(peer):
            what = "strongroom's jobs" if peer == "jobs" else peer
            text = f"claim 1 + complete 1: {through} / {what}"
            add(ratio_line("P6", text, rounds.ratio(through, peer)))
    ratio = rounds.ratio("jobs", "jobs, 10")
    add(ratio_line("P6", "a job: claim 1 + complete 1 / in batches of 10", ratio, (">=", 3.0)))
    ratio = rounds.ratio("jobs, complete and claim", "jobs")
    add(ratio_line("P6", "a job: complete-and-claim-next / claim 1 + complete 1", ratio))
    if rounds.has("pgqueuer, 10"):
        ratio = rounds.ratio("pgqueuer, 10", "jobs, 10")
        add(ratio_line("P6", "a job in batches of 10: pgqueuer / strongroom", ratio))


async def _backlog(context: Context, peers: list[Queue]) -> None:
    """Claiming among many others that are ready against among none; ours lie in many tenants."""
    backlog = 5_000 if context.quick else 50_000
    many_of: dict[str, Queue] = {
        "procrastinate": ProcrastinateJobs(backlog),
        "pgqueuer": PgQueuerJobs(backlog),
        "absurd": AbsurdTasks(backlog),
    }
    ours: list[tuple[Queue, Queue]] = [
        (
            StrongroomJobs("strongroom_jobs_few", TENANTS),
            StrongroomJobs("strongroom_jobs_many", TENANTS, backlog),
        ),
        (
            StrongroomRuns("strongroom_runs_few", TENANTS),
            StrongroomRuns("strongroom_runs_many", TENANTS, backlog),
        ),
    ]
    for few, _ in ours:
        await context.opened(few, f"{few.name} in {TENANTS} tenants: set up")
    pairs = ours + [(peer, many_of[peer.name]) for peer in peers if peer.name in many_of]
    contestants: dict[str, Contestant] = {}
    for few, many in pairs:
        await context.opened(many, f"{many.name}: {backlog:,} ready ones")
        size = 2 if few.name == "absurd" else 10
        contestants[few.name] = claims_alone(few, size)
        contestants[f"{many.name}, many"] = claims_alone(many, size)
    rounds = await context.measure("P6 backlog", contestants, rounds=45)
    for few, _ in pairs:
        is_ours = few.name.startswith("strongroom")
        where = f" in {TENANTS} tenants" if is_ours else ""
        context.report.lines.append(
            ratio_line(
                "P6",
                f"claim 1: {few.name}, {backlog:,} ready{where} / none",
                rounds.ratio(f"{few.name}, many", few.name),
                ("<=", 1.5) if is_ours else None,
            )
        )
