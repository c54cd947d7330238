"""What a handler may rely on, whatever happens around it."""

import asyncio
import datetime as dt
import functools
from collections.abc import AsyncIterator
from typing import Any

import pytest

import strongroom
import strongroom.sync
from strongroom import (
    BullMQWorker,
    DurableWorker,
    InvalidArgument,
    NewMessage,
    RetryLater,
    RunContext,
    RunUsage,
    Strongroom,
    TextPart,
    TurnResult,
)
from tests.servers.databases import Database

T = "acme"


@pytest.fixture(params=["memory", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Strongroom]:
    if request.param == "memory":
        url = "memory:"
    else:
        database: Database = request.getfixturevalue("database")
        url = database.host_url
    async with strongroom.connect(url) as opened:
        await opened.tenants.create(tenant_id=T, name="Acme")
        await opened.conversations.create(tenant_id=T, owner_id="ada", conversation_id="talk")
        yield opened


async def new_run(store: Strongroom, run_id: str = "r1", **more: object) -> None:
    await store.runs.create(
        tenant_id=T, conversation_id="talk", run_id=run_id, input={"n": run_id}, **more
    )


async def texts(store: Strongroom) -> list[tuple[str, str]]:
    page = await store.messages.list(tenant_id=T, conversation_id="talk", limit=500)
    return [
        (message.role, part.text)
        for message in page.items
        for part in message.parts
        if isinstance(part, TextPart)
    ]


async def status(store: Strongroom, run_id: str = "r1") -> str:
    return (await store.runs.get(tenant_id=T, run_id=run_id)).status


async def test_runs_of_a_conversation_are_answered_in_order(store: Strongroom) -> None:
    async def handler(context: RunContext) -> str:
        return f"answer {context.run.id}"

    for number in range(5):
        await new_run(store, f"r{number}")
    counts = await DurableWorker(store=store, handler=handler, concurrency=3).run_until_idle()
    assert counts.completed == 5
    assert await texts(store) == [("assistant", f"answer r{n}") for n in range(5)]


async def test_a_crash_goes_on_from_the_last_checkpoint(store: Strongroom) -> None:
    seen: list[object] = []

    async def handler(context: RunContext) -> str:
        seen.append(context.checkpoint.state if context.checkpoint else None)
        if len(seen) < 3:
            await context.save_checkpoint({"step": len(seen)})
            raise RetryLater("the provider is away", delay_seconds=0)
        return "done"

    await new_run(store, max_attempts=5)
    counts = await DurableWorker(store=store, handler=handler).run_until_idle()
    assert seen == [None, {"step": 1}, {"step": 2}]
    assert (counts.retried, counts.completed) == (2, 1)


async def test_a_given_wait_is_honoured(store: Strongroom) -> None:
    async def handler(_: RunContext) -> str:
        raise RetryLater("rate limited", delay_seconds=3600)

    await new_run(store)
    await DurableWorker(store=store, handler=handler).run_until_idle()
    run = await store.runs.get(tenant_id=T, run_id="r1")
    assert run.status == "retry_pending"
    assert run.error == {"code": "RetryLater", "message": "rate limited"}
    assert run.available_at is not None
    assert (run.available_at - run.updated_at).total_seconds() > 3500


async def test_attempts_end_and_what_was_streamed_is_kept(store: Strongroom) -> None:
    async def handler(context: RunContext) -> str:
        await context.stream_text("Half an ans")
        raise ValueError("boom \x00 \ud83d")

    await new_run(store, max_attempts=2)
    worker = DurableWorker(store=store, handler=handler, backoff_seconds=0)
    counts = await worker.run_until_idle()
    assert (counts.retried, counts.failed) == (1, 1)
    run = await store.runs.get(tenant_id=T, run_id="r1")
    assert run.error == {"code": "ValueError", "message": "boom \ufffd \ufffd"}
    assert await texts(store) == [("assistant", "Half an ans")]


async def test_text_that_cannot_be_stored_does_not_keep_a_run_from_ending(
    store: Strongroom,
) -> None:
    async def handler(_: RunContext) -> TurnResult:
        message = NewMessage(role="assistant", parts=[TextPart(text="cut \ud83d and \x00")])
        return TurnResult(messages=(message,), state={"last": "\x00"})

    await new_run(store)
    await DurableWorker(store=store, handler=handler).run_until_idle()
    assert await status(store) == "completed"
    assert await texts(store) == [("assistant", "cut \ufffd and \ufffd")]
    state = await store.session_state.get(tenant_id=T, conversation_id="talk")
    assert state.state == {"last": "\ufffd"}


async def test_a_turn_that_is_too_large_ends_the_run_and_tells_the_person(
    store: Strongroom,
) -> None:
    async def handler(_: RunContext) -> str:
        return "x" * 2_000_000

    await new_run(store)
    counts = await DurableWorker(store=store, handler=handler).run_until_idle()
    assert counts.failed == 1
    page = await store.messages.list(tenant_id=T, conversation_id="talk")
    assert [part.type for part in page.items[0].parts] == ["error"]


async def test_a_cancelled_run_keeps_what_it_said_and_the_next_one_runs(
    store: Strongroom,
) -> None:
    started = asyncio.Event()

    async def handler(context: RunContext) -> str:
        if context.run.id == "r2":
            return "next"
        await context.stream_text("I was say")
        started.set()
        await asyncio.Event().wait()
        return "never"

    await new_run(store, "r1")
    await new_run(store, "r2")
    worker = DurableWorker(store=store, handler=handler, lease_seconds=0.6)
    working = asyncio.create_task(worker.run_until_idle())
    await started.wait()
    asked = await store.runs.request_cancel(tenant_id=T, run_id="r1")
    assert asked.status == "running"
    await working
    assert (await status(store, "r1"), await status(store, "r2")) == ("cancelled", "completed")
    assert await texts(store) == [("assistant", "I was say"), ("assistant", "next")]


async def test_a_question_pauses_and_its_answer_goes_on(store: Strongroom) -> None:
    async def handler(context: RunContext) -> str:
        seat = await context.ask("seat", "Window or aisle?", options=["window", "aisle"])
        return f"{seat} it is"

    await new_run(store)
    worker = DurableWorker(store=store, handler=handler)
    await worker.run_until_idle()
    assert await status(store) == "waiting_for_question"
    page = await store.interactions.list(tenant_id=T, run_id="r1")
    await store.interactions.answer(
        tenant_id=T, interaction_id=page.items[0].id, answer="aisle", resolved_by="ada"
    )
    await worker.run_until_idle()
    assert await texts(store) == [("assistant", "aisle it is")]
    assert (await store.runs.get(tenant_id=T, run_id="r1")).attempt == 1


@pytest.mark.parametrize(
    ("decision", "answer", "asks_again"),
    [("deny", "no", True), ("allow-once", "yes", True), ("allow-always", "yes", False)],
)
async def test_an_approval_is_asked_decided_and_remembered_as_it_says(
    store: Strongroom, decision: str, answer: str, asks_again: bool
) -> None:
    async def handler(context: RunContext) -> str:
        approval = await context.request_approval("pay", "pay", {"cents": 5})
        return "yes" if approval.is_allowed and approval.input == {"cents": 5} else "no"

    await new_run(store, "r1")
    await new_run(store, "r2")
    worker = DurableWorker(store=store, handler=handler)
    await worker.run_until_idle()
    assert await status(store) == "waiting_for_approval"
    page = await store.interactions.list(tenant_id=T, run_id="r1")
    await store.interactions.decide(
        tenant_id=T, interaction_id=page.items[0].id, decision=decision, resolved_by="ada"
    )
    await worker.run_until_idle()
    assert (await texts(store))[0] == ("assistant", answer)
    expected = "waiting_for_approval" if asks_again else "completed"
    assert await status(store, "r2") == expected


async def test_an_approval_that_expires_counts_as_not_given(store: Strongroom) -> None:
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(milliseconds=300)

    async def handler(context: RunContext) -> str:
        approval = await context.request_approval("pay", "pay", {"cents": 5}, expires_at=moment)
        return "yes" if approval.is_allowed else f"no, {approval.decision}"

    await new_run(store)
    await DurableWorker(store=store, handler=handler).run_until_idle()
    while await status(store) != "completed":
        # Each worker sweeps once at its start.
        await DurableWorker(store=store, handler=handler).run_until_idle()
        await asyncio.sleep(0.01)
    assert await texts(store) == [("assistant", "no, None")]


async def test_a_worker_that_lost_its_claim_changes_nothing(store: Strongroom) -> None:
    """The first worker's heartbeats are cut off; a second one takes over and finishes."""
    started, release = asyncio.Event(), asyncio.Event()
    calls = 0

    async def handler(context: RunContext) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            started.set()
            await release.wait()
            return "from the first"
        return "from the second"

    await new_run(store)
    first = DurableWorker(store=store, handler=handler, lease_seconds=0.2)
    first._beat = lambda *_: asyncio.Event().wait()  # type: ignore[method-assign,assignment]
    slow = asyncio.create_task(first.run_until_idle())
    await started.wait()
    second = DurableWorker(store=store, handler=handler)
    while not second.counts.completed:
        await second.run_until_idle()
        await asyncio.sleep(0.01)
    release.set()
    await slow
    assert (first.counts.completed, first.counts.lost) == (0, 1)
    assert await texts(store) == [("assistant", "from the second")]


async def test_stopping_gives_back_what_does_not_finish_in_time(store: Strongroom) -> None:
    started = asyncio.Event()

    async def slow(_: RunContext) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    async def quick(_: RunContext) -> str:
        return "done"

    await new_run(store)
    worker = DurableWorker(store=store, handler=slow, grace_seconds=0.05, poll_seconds=0.05)
    working = asyncio.create_task(worker.run_forever())
    await started.wait()
    worker.stop()
    await working
    assert worker.counts.released == 1
    counts = await DurableWorker(store=store, handler=quick).run_until_idle()
    assert counts.completed == 1
    assert (await store.runs.get(tenant_id=T, run_id="r1")).attempt == 1


async def tokens(store: Strongroom) -> int:
    return (await store.usage.totals(tenant_id=T)).input_tokens


@pytest.mark.parametrize(
    "end", ["completed", "failed", "cancelled", "paused", "retried", "deleted"]
)
async def test_usage_is_kept_however_the_run_ends(store: Strongroom, end: str) -> None:
    await new_run(store, max_attempts=1 if end == "failed" else 2)

    async def handler(context: RunContext) -> TurnResult:
        context.record_usage(RunUsage(step_id=f"{context.run.attempt}/plan", input_tokens=1))
        await context.save_checkpoint({"step": 1})
        context.record_usage(RunUsage(input_tokens=10, model="odd \ud83d"))
        if end == "failed":
            raise RuntimeError
        if end == "cancelled":
            context.cancel_requested = True
            context.check_cancelled()
        if end == "paused":
            await context.ask("q", "Which?")
        if end == "retried" and context.run.attempt == 1:
            raise RetryLater("busy", delay_seconds=0)
        if end == "deleted":
            await store.conversations.soft_delete(tenant_id=T, conversation_id="talk")
        return TurnResult(usage=(RunUsage(input_tokens=100),))

    await DurableWorker(store=store, handler=handler).run_until_idle()
    expected = {"completed": 111, "retried": 122, "deleted": 111}
    assert await tokens(store) == expected.get(end, 11)


async def test_usage_that_the_ledger_refuses_does_not_keep_a_run_from_ending(
    store: Strongroom,
) -> None:
    await new_run(store)

    async def handler(context: RunContext) -> str:
        with pytest.raises(InvalidArgument):
            context.record_usage(
                RunUsage(occurred_at=dt.datetime.now(dt.UTC) + dt.timedelta(days=1))
            )
        context.record_usage(RunUsage(input_tokens=7), RunUsage(id="u", input_tokens=3))
        context.record_usage(RunUsage(corrects_id="u", input_tokens=-4))
        return "done"

    await DurableWorker(store=store, handler=handler).run_until_idle()
    assert (await store.runs.get(tenant_id=T, run_id="r1")).status == "failed"
    assert await tokens(store) == 10


async def test_a_worker_that_lost_its_claim_writes_no_usage(store: Strongroom) -> None:
    await new_run(store)

    async def handler(context: RunContext) -> str:
        context.record_usage(RunUsage(input_tokens=7))
        await store.runs.heartbeat(
            tenant_id=T, run_id="r1", claim_token=context.claim_token, lease_seconds=0.000001
        )
        taken = await store.runs.claim(
            tenant_id=T, run_id="r1", worker_id="other", lease_seconds=600
        )
        assert taken is not None
        return "too late"

    worker = DurableWorker(store=store, handler=handler)
    await worker.run_until_idle()
    assert worker.counts.lost == 1
    assert await tokens(store) == 0


class Agent:
    async def __call__(self, context: RunContext) -> str:
        return str(context.run.input)


async def test_what_blocks_is_refused_before_anything_is_claimed() -> None:
    def blocks(context: RunContext) -> str:
        raise AssertionError

    handler: Any = blocks
    async with strongroom.connect("memory:") as store:
        DurableWorker(store=store, handler=Agent())
        DurableWorker(store=store, handler=functools.partial(Agent.__call__, Agent()))
        for worker in (DurableWorker, BullMQWorker):
            with pytest.raises(InvalidArgument, match="blocks is no async function") as caught:
                worker(store=store, handler=handler)
            assert "async def blocks" in str(caught.value.hint)
            assert "asyncio.to_thread" in str(caught.value.hint)
    with strongroom.sync.connect("memory:") as blocking:
        other: Any = blocking
        with pytest.raises(InvalidArgument, match="store is a blocking one") as caught:
            DurableWorker(store=other, handler=Agent())
    assert "strongroom worker" in str(caught.value.hint)
