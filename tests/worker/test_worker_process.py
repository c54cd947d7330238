"""`strongroom worker` as a process: it is woken by NOTIFY, and SIGTERM ends it well."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import strongroom
from tests.servers.databases import Database
from tests.servers.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]


def strongroom_command(*arguments: str, **environment: str) -> list[str]:
    return [sys.executable, "-m", "strongroom.cli", *arguments]


async def test_a_worker_process_serves_runs_and_ends_well_on_sigterm(
    database: Database, tmp_path: Path
) -> None:
    log = (tmp_path / "log").open("w+")
    worker = subprocess.Popen(
        strongroom_command(
            "worker",
            "examples.durable_agent.agent:handler",
            "--url",
            database.host_url,
            "--poll",
            "30",
        ),
        cwd=ROOT,
        env={**os.environ, "DURABLE_AGENT_LEDGER": str(tmp_path / "payments")},
        stderr=log,
    )
    try:
        with database.connect() as admin:

            def listens() -> bool:
                rows = admin.execute(
                    "select from pg_stat_activity where query like 'listen strongroom_work%%'"
                    " and datname = %s",
                    [database.name],
                ).fetchall()
                return bool(rows)

            eventually(listens, "the worker listens")
        async with strongroom.connect(database.host_url) as store:
            await store.tenants.create(tenant_id="acme", name="Acme")
            await store.conversations.create(
                tenant_id="acme", owner_id="ada", conversation_id="talk"
            )
            # The next poll is half a minute away: only the notification can bring it here in time.
            await store.runs.create(
                tenant_id="acme", conversation_id="talk", run_id="r1", input={"order": "A-2"}
            )
            with database.connect() as admin:

                def is_waiting() -> bool:
                    row = admin.execute("select status from strongroom.runs").fetchone()
                    return row == ("waiting_for_approval",)

                eventually(is_waiting, "the run asks for approval", timeout=15)
            queue = (await store.health(tenant_id="acme")).runs
            assert queue is not None
            assert (queue.waiting, queue.ready, queue.expired_leases) == (1, 0, 0)
            told = await asyncio.to_thread(
                subprocess.run,
                strongroom_command("health", "--tenant", "acme", "--url", database.host_url),
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            assert "1 for a person" in told.stdout
            pending = await store.interactions.list(tenant_id="acme", run_id="r1")
            await store.interactions.decide(
                tenant_id="acme",
                interaction_id=pending.items[0].id,
                decision="allow-once",
                resolved_by="ada",
            )
            with database.connect() as admin:

                def is_done() -> bool:
                    row = admin.execute("select status from strongroom.runs").fetchone()
                    return row == ("completed",)

                eventually(is_done, "the run is completed", timeout=15)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=20) == 0
    finally:
        worker.kill()
        worker.wait()
    log.seek(0)
    said = log.read()
    log.close()
    assert "completed 1" in said
    payments = list((tmp_path / "payments").glob("*.json"))
    assert [json.loads(file.read_text()) for file in payments] == [{"order": "A-2", "cents": 4550}]

    shown = subprocess.run(
        strongroom_command(
            "runs", "show", "r1", "--tenant", "acme", "--url", database.host_url, "--json"
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(shown.stdout)
    assert seen["run"]["status"] == "completed"
    assert [item["decision"] for item in seen["interactions"]] == ["allow-once"]
    for arguments in (("runs", "list"), ("runs", "show", "r1")):
        told = subprocess.run(
            strongroom_command(*arguments, "--tenant", "acme", "--url", database.host_url),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "r1" in told.stdout


async def test_a_process_ends_although_its_handler_swallows_the_cancellation(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "stubborn.py").write_text(
        """
import asyncio

async def handler(context):
    await context.emit("begun")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
"""
    )
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        await store.conversations.create(tenant_id="acme", owner_id="ada", conversation_id="talk")
        await store.runs.create(tenant_id="acme", conversation_id="talk", run_id="r1", input={})
    worker = subprocess.Popen(
        strongroom_command(
            "worker", "stubborn:handler", "--url", database.host_url, "--grace", "0"
        ),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with database.connect() as admin:

            def has_begun() -> bool:
                row = admin.execute(
                    "select count(*) from strongroom.run_events where kind = 'begun'"
                ).fetchone()
                return row == (1,)

            eventually(has_begun, "the handler has begun")
        worker.send_signal(signal.SIGTERM)
        _, said = worker.communicate(timeout=30)
    finally:
        worker.kill()
        worker.wait()
    assert worker.returncode == 1
    assert "the handler of run r1 goes on although it was cancelled" in said
    assert "given back 0  lost 1" in said


def test_a_handler_that_is_not_there_is_said(database: Database) -> None:
    for name in ("nonsense", "no.such.module:handler", "examples.durable_agent.agent:nothing"):
        told = subprocess.run(
            strongroom_command("worker", name, "--url", database.host_url),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 2, told.stderr
        assert "handler" in told.stderr


def test_the_smallest_host_prints_its_conversation(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "examples.durable_agent.program"],
        cwd=ROOT,
        env={**os.environ, "DURABLE_AGENT_LEDGER": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert told.stdout.splitlines() == [
        "the run is waiting_for_approval",
        "approve pay {'cents': 1999, 'order': 'A-1'}",
        "user: Please refund order A-1.",
        "assistant: Order A-1: 19.99 are on their way back to you.",
    ]
