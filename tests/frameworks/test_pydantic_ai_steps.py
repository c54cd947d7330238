"""The step store of Pydantic AI's harness: what is resumed, what is stored once, and who may."""

import asyncio
import random
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from examples.pydantic_ai import steps as example
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai_harness.step_persistence import (
    ContinuableSnapshot,
    InMemoryStepStore,
    RunRecord,
    StepEvent,
    StepStore,
    ToolEffectRecord,
)

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import AlreadyExists, InvalidArgument, InvalidText, LimitExceeded
from strongroom.integrations.pydantic_ai import StrongroomStepStore
from tests.servers import Database

BEGUN = datetime(2026, 1, 1, 12, tzinfo=UTC)

KILLED = """
import asyncio, os, signal, sys
import strongroom
from examples.pydantic_ai import steps
from strongroom.integrations.pydantic_ai import StrongroomStepStore

async def main(url, tenant_id):
    async with strongroom.connect(url) as store:
        made = StrongroomStepStore(store, tenant_id=tenant_id, principal_id="ada")
        await steps.begin(made, lambda: os.kill(os.getpid(), signal.SIGKILL))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def steps(store: Strongroom, tenant_id: str) -> StrongroomStepStore:
    return StrongroomStepStore(store, tenant_id=tenant_id, principal_id="ada")


def _said(*texts: str) -> list[ModelMessage]:
    return [ModelRequest([UserPromptPart(text, timestamp=BEGUN)]) for text in texts]


def _snapshot(
    messages: list[ModelMessage], key: str | None = None, **fields: Any
) -> ContinuableSnapshot:
    given: dict[str, Any] = {"run_id": "r", "step_index": 1, "timestamp": BEGUN, **fields}
    return ContinuableSnapshot(messages=messages, idempotency_key=key, **given)


def _effect(**fields: Any) -> ToolEffectRecord:
    given: dict[str, Any] = {"tool_call_id": "c", "tool_name": "pay", "run_id": "r"}
    return ToolEffectRecord(**{**given, "status": "started", "started_at": BEGUN, **fields})


async def test_a_killed_run_goes_on_in_another_process(
    steps: StrongroomStepStore,
    place: Database,
    tenant_id: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, place.host_url, tenant_id, stdout=asyncio.subprocess.PIPE
    )
    await child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert isinstance(steps, StepStore)
    kinds = [event.kind for event in await steps.list_events(run_id="run-1")]
    assert kinds[-3:] == ["model_request_started", "model_request_completed", "tool_call_started"]
    looked_up = await steps.get_tool_effect(run_id="run-1", tool_call_id="call-1")
    assert looked_up is not None
    assert looked_up.status == "completed"
    assert await example.go_on(steps) == "A-1 is in Porto; the letter is written"
    # The first tool was not run again.
    assert capsys.readouterr().out == "write_letter may have been done\n"
    runs = await steps.list_runs(conversation_id="talk-1")
    assert [run.run_id for run in runs] == ["run-1", "run-2"]
    with pytest.raises(ValueError, match="already in the store"):
        await example.begin(steps, lambda: None)


async def test_it_does_what_the_harness_s_own_store_does(store: Strongroom, tenant_id: str) -> None:
    for most in (None, 1, 3):
        await _compare(
            InMemoryStepStore(max_snapshots_per_run=most),
            StrongroomStepStore(
                store, tenant_id=await new_tenant(store), max_snapshots_per_run=most
            ),
            random.Random(f"{most}"),
        )


async def _compare(
    known: InMemoryStepStore, ours: StrongroomStepStore, dice: random.Random
) -> None:
    history: list[ModelMessage] = []
    for number in range(60):
        run, now = dice.choice("ab"), BEGUN + timedelta(seconds=number)
        kind = dice.choice(["run", "event", "effect", "effect", "snapshot", "snapshot", "snapshot"])
        record: Any
        if kind == "run":
            record = _next_run(number, dice)
        elif kind == "event":
            record = StepEvent(run_id=run, kind="run_started", step_index=number, timestamp=now)
            record.idempotency_key = dice.choice([None, f"{dice.randrange(4)}"])
        elif kind == "effect":
            record = await _next_effect(known, run, now, dice)
        else:
            history = _next_history(history, number, dice)
            record = _snapshot(history, run_id=run, step_index=number)
            record.state = dice.choice(["complete", "interrupted"])
            # Some come late, and some twice.
            record.idempotency_key = dice.choice([None, f"{number}:1", f"{number // 2}:1"])
        call = CALLS[kind]
        await getattr(known, call)(record)
        await getattr(ours, call)(record)
    await _same(known, ours)


CALLS = {
    "run": "register_run",
    "event": "append_event",
    "effect": "record_tool_effect",
    "snapshot": "save_snapshot",
}


async def _same(known: InMemoryStepStore, ours: StrongroomStepStore) -> None:
    for run_id in ("a", "b", "none"):
        for reading, given in (
            ("list_events", {}),
            ("latest_snapshot", {}),
            ("latest_snapshot", {"include_interrupted": True}),
            ("list_snapshots", {}),
            ("list_snapshots", {"include_interrupted": True}),
            ("list_unresolved_tool_effects", {}),
            ("get_tool_effect", {"tool_call_id": "1"}),
            ("get_run", {}),
        ):
            expected = await getattr(known, reading)(run_id=run_id, **given)
            assert await getattr(ours, reading)(run_id=run_id, **given) == expected, reading
    for parent in (None, "a"):
        for conversation in (None, "x", "y", "none"):
            groups = {"parent_run_id": parent, "conversation_id": conversation}
            assert await ours.list_runs(**groups) == await known.list_runs(**groups)


def _next_run(number: int, dice: random.Random) -> RunRecord:
    return RunRecord(
        run_id=f"run-{number}",
        conversation_id=dice.choice([None, "x", "y"]),
        parent_run_id=dice.choice([None, "a"]),
        metadata={"n": "é"},
        started_at=BEGUN + timedelta(seconds=dice.randrange(1000)),
    )


def _next_history(
    history: list[ModelMessage], number: int, dice: random.Random
) -> list[ModelMessage]:
    """One that has grown, after some of it was perhaps left out."""
    first = dice.randrange(len(history) + 1) if dice.random() < 0.2 else 0
    return [*history[first:], *_said(*map(str, range(number, number + dice.randrange(3))))]


async def _next_effect(
    known: InMemoryStepStore, run: str, now: datetime, dice: random.Random
) -> ToolEffectRecord:
    """What the harness may record next: a call begins, is annotated, ends, or begins anew."""
    call_id = f"{dice.randrange(5)}"
    before = await known.get_tool_effect(run_id=run, tool_call_id=call_id)
    if before is None or (before.status == "failed" and dice.random() < 0.5):
        return _effect(run_id=run, tool_call_id=call_id, started_at=now)
    if before.status == "started" and dice.random() < 0.7:
        return replace(before, status=dice.choice(["completed", "failed"]), ended_at=now)
    return replace(before, effect_summary=f"{now}")


async def test_messages_are_stored_once_and_forgotten_with_their_snapshots(
    store: Strongroom, tenant_id: str
) -> None:
    steps = StrongroomStepStore(store, tenant_id=tenant_id, max_snapshots_per_run=2)

    async def stored(collection: str) -> int:
        at: dict[str, Any] = {"tenant_id": tenant_id, "framework": "pydantic_ai_steps"}
        found = await store.frameworks.search(
            **at, path=["run", "r"], collection=collection, key_prefix="", limit=500
        )
        return len(found)

    history = _said(*map(str, range(1, 601)))
    for number in range(1, 6):
        await steps.save_snapshot(_snapshot(history[: number * 20], f"{number}:1:complete"))
    assert (await stored("snapshots"), await stored("messages")) == (2, 100)
    image = ModelRequest([UserPromptPart([BinaryContent(b"\x00\xff", media_type="image/png")])])
    await steps.save_snapshot(_snapshot([image, *_said("👩‍👩‍👧")], "6:1:complete"))
    await steps.save_snapshot(_snapshot([image], "7:1:complete"))
    assert (await stored("snapshots"), await stored("messages")) == (2, 2)
    latest = await steps.latest_snapshot(run_id="r")
    assert latest is not None
    assert latest.messages[0].parts[0].content[0].data == b"\x00\xff"  # type: ignore[union-attr, index]
    # More than one call takes, in one transaction.
    await steps.save_snapshot(_snapshot(history, "8:1:complete"))
    latest = await steps.latest_snapshot(run_id="r")
    assert latest is not None
    assert latest.messages == history
    # One that was made when others were made already changes nothing.
    await steps.save_snapshot(_snapshot([image], "7:2:complete"))
    assert await steps.latest_snapshot(run_id="r") == latest


async def test_saves_at_once_are_all_there_b03(steps: StrongroomStepStore) -> None:
    saves = [_snapshot(_said("all", str(number)), step_index=number) for number in range(12)]
    await asyncio.gather(*map(steps.save_snapshot, saves))
    found = await steps.list_snapshots(run_id="r")
    assert sorted(found, key=lambda one: one.step_index) == saves
    # The same save, by its key, is there once.
    await asyncio.gather(*(steps.save_snapshot(_snapshot([], "20:1:complete")) for _ in range(6)))
    await asyncio.gather(*(steps.save_snapshot(_snapshot([], "word")) for _ in range(6)))
    assert len(await steps.list_snapshots(run_id="r")) == 14


async def test_of_many_that_claim_a_tool_call_one_has_it(
    steps: StrongroomStepStore, store: Strongroom, tenant_id: str
) -> None:
    workers = [
        StrongroomStepStore(store, tenant_id=tenant_id, principal_id="ada") for _ in range(8)
    ]

    async def claim(number: int) -> int | None:
        mine = _effect(started_at=BEGUN + timedelta(seconds=number))
        try:
            await workers[number].record_tool_effect(mine)
        except AlreadyExists:
            return None
        return number

    for status in ("failed", "completed"):
        won = [one for one in await asyncio.gather(*map(claim, range(8))) if one is not None]
        assert len(won) == 1
        held = await steps.get_tool_effect(run_id="r", tool_call_id="c")
        assert held is not None
        assert held.started_at == BEGUN + timedelta(seconds=won[0])
        assert await steps.list_unresolved_tool_effects(run_id="r") == [held]
        # A repeat of the claim, whose answer was lost, is no other claim.
        assert await claim(won[0]) == won[0]
        with pytest.raises(AlreadyExists):
            await steps.record_tool_effect(replace(held, started_at=BEGUN - timedelta(1)))
        ends = [replace(held, status=status, effect_summary=f"{n}") for n in range(2)]
        await steps.record_tool_effect(replace(ends[0], effect_summary="done"))
        other = "completed" if status == "failed" else "failed"
        with pytest.raises(AlreadyExists):
            await steps.record_tool_effect(replace(held, status=other))
    assert await claim(0) is None
    assert await steps.list_unresolved_tool_effects(run_id="r") == []


async def test_a_run_is_registered_once_b09(
    steps: StrongroomStepStore, store: Strongroom, tenant_id: str
) -> None:
    async def register(record: RunRecord) -> bool:
        try:
            await steps.register_run(record)
        except AlreadyExists:
            return False
        return True

    runs = [
        RunRecord(run_id="r", conversation_id=f"talk-{n}", registration_id=f"{n}") for n in range(8)
    ]
    done = await asyncio.gather(*map(register, runs))
    assert sum(done) == 1
    winner = runs[done.index(True)]
    assert await register(replace(winner, started_at=BEGUN)), "a repeat of the same registration"
    assert await steps.list_runs() == [winner]
    for run in runs:
        listed = await steps.list_runs(conversation_id=run.conversation_id)
        assert listed == ([run] if run is winner else [])
    await steps.append_event(StepEvent(run_id="r", kind="run_started", step_index=0))
    assert await steps.delete_run(run_id="r")
    assert not await steps.delete_run(run_id="r")
    assert await steps.list_runs(conversation_id=winner.conversation_id) == []
    assert await steps.list_events(run_id="r") == []
    page = await store.frameworks.search(
        tenant_id=tenant_id, framework="pydantic_ai_steps", collection="runs"
    )
    assert page == ()


async def test_runs_are_their_tenants_and_their_principals(
    steps: StrongroomStepStore, store: Strongroom, tenant_id: str
) -> None:
    await steps.register_run(RunRecord(run_id="r", conversation_id="talk"))
    await steps.save_snapshot(_snapshot(_said("secret")))
    await steps.append_event(StepEvent(run_id="r", kind="run_started", step_index=0))
    await steps.record_tool_effect(_effect())
    other = StrongroomStepStore(store, tenant_id=await new_tenant(store))
    assert await other.get_run(run_id="r") is None
    assert await other.list_runs() == []
    assert await other.list_runs(conversation_id="talk") == []
    assert await other.list_events(run_id="r") == []
    assert await other.latest_snapshot(run_id="r") is None
    assert await other.list_snapshots(run_id="r") == []
    assert await other.list_unresolved_tool_effects(run_id="r") == []
    eves = StrongroomStepStore(store, tenant_id=tenant_id, principal_id="eve")
    for writing in (
        eves.append_event(StepEvent(run_id="r", kind="run_failed", step_index=0)),
        eves.save_snapshot(_snapshot(_said("mine"))),
        eves.record_tool_effect(_effect(status="completed")),
    ):
        with pytest.raises(AlreadyExists):
            await writing
    mine = RunRecord(run_id="e", conversation_id="talk", parent_run_id="r")
    await eves.register_run(mine)
    assert [run.run_id for run in await steps.list_runs(conversation_id="talk")] == ["r"]
    assert await eves.list_runs() == await eves.list_runs(parent_run_id="r") == [mine]
    anyones = StrongroomStepStore(store, tenant_id=tenant_id)
    assert len(await anyones.list_runs(conversation_id="talk")) == 2
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert await steps.list_runs() == await steps.list_runs(conversation_id="talk") == []
    assert await anyones.list_runs() == await anyones.list_runs(conversation_id="talk") == [mine]
    assert await steps.latest_snapshot(run_id="r") is None


async def test_what_cannot_be_stored_is_refused_before_a_write_b47_b49_b51(
    steps: StrongroomStepStore,
) -> None:
    for bad in ("a\0b", "\ud83d"):
        for writing in (
            steps.register_run(RunRecord(run_id="r", metadata={"k": bad})),
            steps.register_run(RunRecord(run_id=f"r{bad}")),
            steps.append_event(
                StepEvent(
                    run_id="r", kind="run_failed", step_index=0, error=bad, idempotency_key=bad
                )
            ),
            steps.save_snapshot(_snapshot(_said("fine", bad), bad)),
            steps.record_tool_effect(_effect(tool_call_id=bad)),
        ):
            with pytest.raises(InvalidText):
                await writing
    returned = ModelRequest([ToolReturnPart("t", {"rows": [1, object()]}, tool_call_id="c")])
    with pytest.raises(InvalidArgument) as refused:
        await steps.save_snapshot(_snapshot([*_said("fine"), returned]))
    assert refused.value.detail["path"] == "messages[1].parts[0].content.rows[1]"
    wrong: Any = {"k": b"\xff\xfe"}
    with pytest.raises(InvalidArgument) as refused:
        await steps.register_run(RunRecord(run_id="r", metadata=wrong))
    assert refused.value.detail["path"] == "record.metadata.k"
    with pytest.raises(LimitExceeded):
        await steps.save_snapshot(_snapshot(_said("fine", "x" * 17_000_000)))
    with pytest.raises(InvalidArgument):
        StrongroomStepStore(steps._steps.store, tenant_id="t", max_snapshots_per_run=0)
    assert await steps.list_runs() == []
    assert await steps.list_events(run_id="r") == []
    assert await steps.list_snapshots(run_id="r", include_interrupted=True) == []
    assert await steps.list_unresolved_tool_effects(run_id="r") == []
    # What Pydantic AI writes to JSON comes back as JSON.
    kinds = ModelResponse([TextPart("👩‍👩‍👧 e\u0301")], timestamp=BEGUN)
    await steps.save_snapshot(_snapshot([kinds]))
    latest = await steps.latest_snapshot(run_id="r")
    assert latest is not None
    assert latest.messages == [kinds]


async def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await example.main(place.host_url, "steps-example")
    assert capsys.readouterr().out.splitlines() == [
        "looking up A-1",
        "stopped",
        "write_letter may have been done",
        "A-1 is in Porto; the letter is written",
        "run-1, run-2",
    ]
