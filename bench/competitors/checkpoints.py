"""Checkpoints: strongroom's, the floor under them, and LangGraph's saver."""

from __future__ import annotations

import hashlib
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import uuid_utils
from psycopg.types.json import Jsonb

from bench.competitors import MissingPeer
from bench.competitors.product import Strongroom
from bench.competitors.queues import WORKER, analyze
from bench.loading import TENANT, own_conversation
from bench.server import Server

HISTORY = 100
"""Checkpoints of what is read."""
SIZES = {"2 KB": 2_000, "50 KB": 50_000}
INSERT = """
insert into strongroom.checkpoints (tenant_id, run_id, sequence, conversation_id, id, state, size_bytes,
    event_sequence, claim_token)
values (%s, %s, %s, %s, %s, %s, %s, 0, %s)
"""


def state_of(size: int, number: int) -> dict[str, Any]:
    """JSON of about that size, which does not compress away: half of it is hexadecimal digits."""
    notes = [hashlib.sha256(f"{number} {line}".encode()).hexdigest() for line in range(size // 136)]
    return {
        "step": number,
        "notes": [
            f"{note}: the parcel left the depot and was scanned; it is on its way."
            for note in notes
        ],
    }


class StrongroomCheckpoints:
    """Per size a run that is written to, one that is read, and one for the floor."""

    name = "strongroom's checkpoints"

    def __init__(self, database: str) -> None:
        self._product = Strongroom(database)
        self._database = database
        self._runs: dict[str, tuple[str, int]] = {}
        self._sequences: dict[str, int] = {}
        self._raw: psycopg.AsyncConnection[Any] | None = None

    async def open(self, server: Server) -> None:
        await self._product.open(server)
        self._raw = await psycopg.AsyncConnection.connect(
            server.dsn(self._database), autocommit=True, prepare_threshold=0
        )
        names = [f"{use} {size}" for use in ("write", "read", "raw") for size in SIZES]
        runs = self._product.store.runs
        for number, name in enumerate(names):
            await runs.create(
                tenant_id=TENANT, conversation_id=own_conversation(number), run_id=name
            )
            run = await runs.claim(
                tenant_id=TENANT, run_id=name, worker_id=WORKER, lease_seconds=86_400
            )
            assert run is not None
            assert run.claim_token is not None
            self._runs[name] = (own_conversation(number), run.claim_token)
            self._sequences[name] = 0
        for size in SIZES:
            for _ in range(HISTORY):
                await self._save(f"read {size}", size)
        analyze(server, self._database)

    async def close(self) -> None:
        await self._product.close()
        if self._raw is not None:
            await self._raw.close()

    async def _save(self, name: str, size: str) -> None:
        sequence = self._sequences[name]
        saved = await self._product.store.checkpoints.save(
            tenant_id=TENANT,
            run_id=name,
            claim_token=self._runs[name][1],
            expected_sequence=sequence,
            state=state_of(SIZES[size], sequence),
        )
        assert saved.sequence == sequence + 1
        self._sequences[name] = saved.sequence

    async def put(self, size: str) -> None:
        await self._save(f"write {size}", size)

    async def put_raw(self, size: str) -> None:
        """The row alone, by a superuser who counts himself; nothing is checked."""
        name = f"raw {size}"
        conversation, token = self._runs[name]
        self._sequences[name] += 1
        state = state_of(SIZES[size], self._sequences[name])
        assert self._raw is not None
        await self._raw.execute(
            INSERT,
            (
                TENANT, name, self._sequences[name], conversation, str(uuid_utils.uuid7()),
                Jsonb(state), SIZES[size], token,
            ),
        )  # fmt: skip

    async def get(self, size: str) -> None:
        checkpoint = await self._product.store.checkpoints.latest(
            tenant_id=TENANT, run_id=f"read {size}"
        )
        assert checkpoint is not None
        assert checkpoint.sequence == HISTORY

    async def list(self, size: str) -> None:
        heads = await self._product.store.checkpoints.list(
            tenant_id=TENANT, run_id=f"read {size}", limit=20, after_sequence=HISTORY - 20
        )
        assert len(heads) == 20


class LangGraphCheckpoints:
    """``AsyncPostgresSaver``: per size a thread that is written to and one that is read."""

    name = "langgraph's checkpoints"

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._steps: dict[str, int] = {}
        self._configs: dict[str, Any] = {}

    async def open(self, server: Server) -> None:
        try:
            from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415
        except ImportError as error:
            raise MissingPeer(f"the package langgraph-checkpoint-postgres ({error})") from error
        database = "langgraph_checkpoints"
        server.create_database(database)
        saver = AsyncPostgresSaver.from_conn_string(server.dsn(database))
        self._saver: Any = await self._stack.enter_async_context(saver)
        await self._saver.setup()
        self._empty: Any = empty_checkpoint
        for size in SIZES:
            for _ in range(HISTORY):
                await self._put(f"read {size}", size)
        analyze(server, database)

    async def close(self) -> None:
        await self._stack.aclose()

    async def _put(self, thread: str, size: str) -> None:
        step = self._steps.get(thread, 0) + 1
        config = self._configs.get(
            thread, {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        )
        version = self._saver.get_next_version(None if step == 1 else step - 1, None)
        checkpoint = {
            **self._empty(),
            "channel_values": {"state": state_of(SIZES[size], step)},
            "channel_versions": {"state": version},
        }
        metadata = {"source": "loop", "step": step, "parents": {}}
        self._configs[thread] = await self._saver.aput(
            config, checkpoint, metadata, {"state": version}
        )
        self._steps[thread] = step

    async def put(self, size: str) -> None:
        await self._put(f"write {size}", size)

    async def get(self, size: str) -> None:
        saved = await self._saver.aget_tuple(_latest(f"read {size}"))
        assert saved.checkpoint["channel_values"]["state"]["step"] == HISTORY

    async def list(self, size: str) -> None:
        found = [item async for item in self._saver.alist(_latest(f"read {size}"), limit=20)]
        assert len(found) == 20


def _latest(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
