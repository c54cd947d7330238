"""The server is killed with SIGKILL during a storm of appends; nothing acknowledged may be lost."""

import asyncio
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import strongroom
from tests.concurrency.storm_worker import append_until_answered
from tests.servers.databases import VARIANTS, grant_host, install
from tests.servers.server import LocalServer
from tests.servers.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 4
BATCHES = 150
CONVERSATIONS = ["one", "two", "three"]
KILLS = 2


def lines(logs: list[Path]) -> list[str]:
    return [line for log in logs if log.exists() for line in log.read_text().splitlines()]


async def prepare(url: str) -> None:
    async with strongroom.connect(url) as store:
        await store.tenants.create(tenant_id="storm", name="Storm")
        for name in CONVERSATIONS:
            await store.conversations.create(
                tenant_id="storm", owner_id="ada", conversation_id=name
            )


async def read_all(url: str) -> dict[str, list[strongroom.Message]]:
    found: dict[str, list[strongroom.Message]] = defaultdict(list)
    async with strongroom.connect(url) as store:
        for name in CONVERSATIONS:
            cursor = None
            while True:
                page = await store.messages.list(
                    tenant_id="storm", conversation_id=name, limit=500, after=cursor
                )
                found[name] += page.items
                cursor = page.next_cursor
                if cursor is None:
                    break
            count = await store.messages.count(tenant_id="storm", conversation_id=name)
            assert count == len(found[name])
    return found


async def retry_everything(url: str, expected: dict[str, list[list[str]]]) -> list[str]:
    """Append every batch of every worker once more."""
    outcomes = []
    async with strongroom.connect(url) as store:
        for conversation_id, batches in expected.items():
            for ids in batches:
                messages = [
                    strongroom.NewMessage(
                        id=name,
                        role="user",
                        parts=[strongroom.TextPart(text=name.replace("-", " "))],
                    )
                    for name in ids
                ]
                items = await append_until_answered(store, conversation_id, messages)
                outcomes += [item.outcome for item in items]
    return outcomes


def test_every_acknowledged_message_survives_once_gapless_and_in_order(
    durable_server: LocalServer, tmp_path: Path
) -> None:
    variant = VARIANTS["superuser"]
    database = variant.describe(durable_server, durable_server.create_database())
    variant.prepare(durable_server, database.name)
    install(database)
    grant_host(database)
    asyncio.run(prepare(database.host_url))

    logs = [tmp_path / f"worker{i}.log" for i in range(WORKERS)]
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.concurrency.storm_worker",
                database.host_url,
                f"w{i}",
                ",".join(CONVERSATIONS),
                str(BATCHES),
                str(log),
            ],
            cwd=ROOT,
        )
        for i, log in enumerate(logs)
    ]
    try:
        for kill in range(1, KILLS + 1):
            # In the middle of the work: so much has been acknowledged, and nobody has finished.
            enough = kill * WORKERS * BATCHES // (KILLS + 1)
            eventually(
                lambda n=enough: len(lines(logs)) >= n and all(lines([log]) for log in logs),
                f"{enough} messages are acknowledged, some to each worker",
                timeout=120,
            )
            assert any(worker.poll() is None for worker in workers)
            durable_server.kill_hard()
            durable_server.start()
        for worker in workers:
            assert worker.wait(timeout=180) == 0
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()

    acknowledged = [line.split(" ") for line in lines(logs)]
    assert len({(c, i) for c, _, i in acknowledged}) == len(acknowledged)
    stored = asyncio.run(read_all(database.host_url))
    for conversation_id in CONVERSATIONS:
        messages = stored[conversation_id]
        # Gapless and in order; every acknowledged message where it was acknowledged; nothing else.
        assert [m.position for m in messages] == list(range(1, len(messages) + 1))
        assert {(str(m.position), m.id) for m in messages} == {
            (position, name) for c, position, name in acknowledged if c == conversation_id
        }

    # Each batch is contiguous, in its own order, and stored whole.
    batches: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for conversation_id, _, name in acknowledged:
        batches[conversation_id][name.rsplit("-", 1)[0]].append(name)
    for conversation_id, by_name in batches.items():
        positions = {m.id: m.position for m in stored[conversation_id]}
        for ids in by_name.values():
            first = positions[ids[0]]
            assert [positions[name] for name in ids] == list(range(first, first + len(ids)))

    # Retrying everything once more changes nothing.
    expected = {c: list(by_name.values()) for c, by_name in batches.items()}
    outcomes = asyncio.run(retry_everything(database.host_url, expected))
    assert set(outcomes) == {"duplicate"}
    assert asyncio.run(read_all(database.host_url)) == stored
