"""Workers are killed at random, the server once, while a client answers approvals; then all is counted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import strongroom
from strongroom import NewMessage, TextPart, Unavailable
from tests.servers.databases import VARIANTS, Database, grant_host, install
from tests.servers.server import LocalServer

ROOT = Path(__file__).resolve().parents[2]
TENANTS = ("acme", "beta", "gamma")
CONVERSATIONS = 4
WORKERS = 4


@dataclass
class Counts:
    """What the soak saw."""

    created: int = 0
    approved: int = 0
    denied: int = 0
    workers_killed: int = 0
    server_restarts: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    payments: int = 0
    messages: int = 0


class Soak:
    """One run of the experiment."""

    def __init__(self, server: LocalServer, folder: Path, seconds: float, seed: int = 1) -> None:
        self.server = server
        self.seconds = seconds
        self.chance = random.Random(seed)
        self.ledger = folder / "payments"
        self.counts = Counts()
        self.workers: list[subprocess.Popen[bytes]] = []
        self.allowed: set[str] = set()
        self.database = self._prepare()

    def _prepare(self) -> Database:
        variant = VARIANTS["superuser"]
        database = variant.describe(self.server, self.server.create_database())
        variant.prepare(self.server, database.name)
        install(database)
        grant_host(database)
        return database

    def _start_worker(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "strongroom.cli",
                "worker",
                "examples.durable_agent.agent:handler",
                "--url",
                self.database.host_url,
                "--lease",
                "1.5",
                "--poll",
                "0.3",
                "--grace",
                "3",
            ],
            cwd=ROOT,
            env={**os.environ, "DURABLE_AGENT_LEDGER": str(self.ledger)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    async def run(self) -> Counts:
        async with strongroom.connect(self.database.host_url, timeout=60) as store:
            for tenant_id in TENANTS:
                await store.tenants.create(tenant_id=tenant_id, name=tenant_id)
                for number in range(CONVERSATIONS):
                    await store.conversations.create(
                        tenant_id=tenant_id, owner_id="ada", conversation_id=f"talk{number}"
                    )
            self.workers = [self._start_worker() for _ in range(WORKERS)]
            try:
                end = time.monotonic() + self.seconds
                await asyncio.gather(
                    self._create(store, end), self._answer(store, end), self._kill(end)
                )
                await self._settle(store)
            finally:
                for worker in self.workers:
                    worker.terminate()
                for worker in self.workers:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        worker.wait(timeout=20)
                    worker.kill()
            await self._count(store)
        return self.counts

    async def _create(self, store: strongroom.Strongroom, end: float) -> None:
        while time.monotonic() < end - self.seconds * 0.25:
            tenant_id = self.chance.choice(TENANTS)
            talk = f"talk{self.chance.randrange(CONVERSATIONS)}"
            number = self.counts.created
            await patiently(
                lambda t=tenant_id, c=talk, n=number: store.messages.append(
                    tenant_id=t,
                    conversation_id=c,
                    messages=[
                        NewMessage(id=f"ask-{n}", role="user", parts=[TextPart(text=f"Refund {n}")])
                    ],
                )
            )
            await patiently(
                lambda t=tenant_id, c=talk, n=number: store.runs.create(
                    tenant_id=t,
                    conversation_id=c,
                    run_id=f"run-{n}",
                    input={"order": f"O-{n}"},
                    max_attempts=50,
                )
            )
            self.counts.created += 1
            await asyncio.sleep(self.chance.uniform(0.02, 0.2))

    async def _answer(self, store: strongroom.Strongroom, end: float) -> None:
        while time.monotonic() < end:
            await self._answer_once(store)
            await asyncio.sleep(0.1)

    async def _answer_once(self, store: strongroom.Strongroom) -> None:
        for tenant_id in TENANTS:
            page = await patiently(
                lambda t=tenant_id: store.interactions.list(tenant_id=t, status="pending", limit=50)
            )
            for item in page.items:
                decision = "deny" if int(item.run_id.split("-")[1]) % 7 == 0 else "allow-once"
                done = await patiently(
                    lambda t=tenant_id, i=item.id, d=decision: store.interactions.decide(
                        tenant_id=t, interaction_id=i, decision=d, resolved_by="ada"
                    )
                )
                if done.decision == "allow-once":
                    self.allowed.add(item.run_id)

    async def _kill(self, end: float) -> None:
        restart_at = end - self.seconds / 2
        while time.monotonic() < end - 1:
            await asyncio.sleep(self.chance.uniform(0.5, 2.0))
            index = self.chance.randrange(WORKERS)
            self.workers[index].send_signal(signal.SIGKILL)
            self.workers[index].wait()
            self.workers[index] = self._start_worker()
            self.counts.workers_killed += 1
            if not self.counts.server_restarts and time.monotonic() > restart_at:
                await asyncio.to_thread(self.server.kill_hard)
                await asyncio.to_thread(self.server.start)
                self.counts.server_restarts += 1

    async def _settle(self, store: strongroom.Strongroom) -> None:
        """Go on answering, and keep the workers alive, until every run has ended."""
        deadline = time.monotonic() + 120
        while True:
            await self._answer_once(store)
            for index, worker in enumerate(self.workers):
                if worker.poll() is not None:
                    self.workers[index] = self._start_worker()
            open_runs = 0
            for tenant_id in TENANTS:
                queue = await patiently(lambda t=tenant_id: store.runs.queue(tenant_id=t))
                open_runs += queue.queued + queue.running + queue.waiting + queue.retry_pending
            if not open_runs:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"{open_runs} runs have not ended")
            await asyncio.sleep(0.2)

    async def _count(self, store: strongroom.Strongroom) -> None:
        counts = self.counts
        for tenant_id in TENANTS:
            for number in range(CONVERSATIONS):
                await self._check_conversation(store, tenant_id, f"talk{number}")
        paid = {path.stem.split("_")[0] for path in self.ledger.glob("*.json")}
        counts.payments = len(list(self.ledger.glob("*.json")))
        assert paid == self.allowed, paid ^ self.allowed
        assert counts.payments == len(self.allowed)
        assert sum(counts.statuses.values()) == counts.created
        counts.approved = len(self.allowed)
        counts.denied = counts.created - counts.approved
        assert set(counts.statuses) == {"completed"}, counts.statuses

    async def _check_conversation(
        self, store: strongroom.Strongroom, tenant_id: str, talk: str
    ) -> None:
        runs: list[strongroom.Run] = []
        cursor = None
        while True:
            page = await store.runs.list(
                tenant_id=tenant_id,
                conversation_id=talk,
                limit=500,
                after=cursor,
                direction="backward",
            )
            runs += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        messages: list[strongroom.Message] = []
        while True:
            found = await store.messages.list(
                tenant_id=tenant_id, conversation_id=talk, limit=500, after=cursor
            )
            messages += found.items
            cursor = found.next_cursor
            if cursor is None:
                break
        self.counts.messages += len(messages)
        self.counts.statuses.update(run.status for run in runs)
        assert [m.position for m in messages] == list(range(1, len(messages) + 1))
        # Each run's assistant turn once, in the order of the runs; each question once.
        turns = [m.run_id for m in messages if m.role == "assistant"]
        assert turns == [run.id for run in sorted(runs, key=lambda run: run.number)]
        asked = [m.id for m in messages if m.role == "user"]
        assert len(asked) == len(set(asked)) == len(runs)


async def patiently(call):
    """Make a call until the server answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return await call()
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
