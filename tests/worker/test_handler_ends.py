"""However a handler ends, its run ends or goes on at once, with the reason, and never the worker."""

# ruff: noqa: ASYNC110 (that a lease ends is awaited)

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import strongroom
from strongroom import (
    BullMQWorker,
    DurableWorker,
    InvalidArgument,
    NewMessage,
    RetryLater,
    RunContext,
    RunUsage,
    StaleClaim,
    Strongroom,
    TextPart,
)
from strongroom.following import follow_run_events
from strongroom.infrastructure import tasks
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
        yield opened


async def new_run(store: Strongroom, name: str, *, max_attempts: int = 1) -> None:
    await store.conversations.create(tenant_id=T, owner_id="ada", conversation_id=name)
    await store.runs.create(
        tenant_id=T, conversation_id=name, run_id=name, input={}, max_attempts=max_attempts
    )


class OfSomeLibrary(BaseException):
    pass


class Speechless(Exception):
    def __str__(self) -> str:
        raise LookupError


def raising(error: BaseException) -> Callable[[RunContext], Awaitable[None]]:
    async def end(_: RunContext) -> None:
        raise error

    return end


async def absent(context: RunContext) -> None:
    await context.read_tool_output("o")


async def both(context: RunContext) -> None:
    """Ask twice at once, in what calls tools and gives their errors to the model."""
    try:
        async with asyncio.TaskGroup() as calls:
            calls.create_task(context.request_approval("a", "mail", {}))
            calls.create_task(context.request_approval("b", "pay", {}))
    except Exception as error:
        raise AssertionError("a pause is no error of a tool") from error


async def failed_beside_a_question(context: RunContext) -> None:
    async def fail() -> None:
        raise OSError("disk")

    async with asyncio.TaskGroup() as calls:
        calls.create_task(context.ask("q", "Which?"))
        calls.create_task(fail())


async def known_message(_: RunContext) -> list[NewMessage]:
    return [NewMessage(id="m", role="assistant", parts=[TextPart(text="other")])]


async def known_usage(context: RunContext) -> str:
    context.record_usage(RunUsage(id="u", model="m", input_tokens=2))
    return "said"


ENDS: dict[str, tuple[Callable[[RunContext], Awaitable[Any]], str, str, str]] = {
    "cancelled": (
        raising(asyncio.CancelledError("x")), "failed", "HandlerInterrupted", "CancelledError: x"
    ),
    "exits": (raising(SystemExit(2)), "failed", "HandlerInterrupted", "SystemExit: 2"),
    "foreign": (raising(OfSomeLibrary()), "failed", "HandlerInterrupted", "OfSomeLibrary"),
    "speechless": (raising(Speechless()), "failed", "Speechless", "LookupError"),
    "of_another": (raising(StaleClaim("of a lock")), "failed", "stale_claim", "of a lock"),
    "absent": (absent, "failed", "not_found", "tool output"),
    "group": (
        raising(ExceptionGroup("two", [ValueError("a"), OSError("b")])),
        "failed", "ExceptionGroup", "ValueError: a; OSError: b",
    ),
    "beside": (failed_beside_a_question, "failed", "OSError", "disk"),
    "both": (both, "waiting_for_approval", "", ""),
    "known_message": (known_message, "failed", "already_exists", "message m"),
    "known_usage": (known_usage, "failed", "already_exists", "usage"),
}  # fmt: skip


async def test_every_end_of_a_handler_is_the_end_of_one_run(store: Strongroom) -> None:
    await new_run(store, "other")
    await store.messages.append(
        tenant_id=T,
        conversation_id="other",
        messages=[NewMessage(id="m", role="user", parts=[TextPart(text="mine")])],
    )
    await store.usage.record(
        tenant_id=T, events=[strongroom.NewUsage(id="u", model="m", input_tokens=1)]
    )
    await store.runs.request_cancel(tenant_id=T, run_id="other")
    for name in ENDS:
        await new_run(store, name)

    async def handler(context: RunContext) -> Any:
        return await ENDS[context.run.id][0](context)

    async with asyncio.timeout(20):  # less than a lease: nobody waits for one to end
        counts = await DurableWorker(store=store, handler=handler, concurrency=3).run_until_idle()
    assert counts.claimed == len(ENDS)
    for name, (_, status, code, said) in ENDS.items():
        run = await store.runs.get(tenant_id=T, run_id=name)
        error: dict[str, Any] = run.error or {"code": "", "message": ""}
        assert (name, run.status, error["code"]) == (name, status, code)
        assert said in str(error["message"])


@pytest.mark.parametrize("way", ["cancel", "cancel an idle one", "stop an idle one"])
async def test_a_run_is_given_back_when_its_handler_has_ended_and_not_before(
    store: Strongroom, way: str
) -> None:
    started = asyncio.Event()

    async def slow(context: RunContext) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await context.save_checkpoint({"kept": True})

    await new_run(store, "r")
    worker = DurableWorker(store=store, handler=slow, grace_seconds=0, poll_seconds=0.05)
    ending = worker.run_until_idle() if "idle" in way else worker.run_forever()
    working = asyncio.ensure_future(ending)
    await started.wait()
    if way.startswith("cancel"):
        working.cancel()
    else:
        worker.stop()
    await asyncio.gather(working, return_exceptions=True)
    assert working.cancelled() == way.startswith("cancel")
    again = await store.runs.claim_next(worker_id="next")
    assert ([(run.id, run.attempt) for run in again], worker.counts.released) == ([("r", 1)], 1)
    kept = await store.checkpoints.latest(tenant_id=T, run_id="r")
    assert kept is not None
    assert kept.state == {"kept": True}


@pytest.mark.parametrize("way", ["stop", "cancel", "lost"])
async def test_a_handler_that_swallows_its_cancellation_holds_up_nobody(
    store: Strongroom,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(tasks, "HANDLER_SECONDS", 0.1)
    started, swallowed, release = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(context: RunContext) -> str:
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                swallowed.set()
        return "late"

    await new_run(store, "r", max_attempts=3)
    worker = DurableWorker(
        store=store, handler=stubborn, grace_seconds=0.1, poll_seconds=0.05, lease_seconds=1.5
    )
    working = asyncio.ensure_future(worker.run_forever())
    try:
        async with asyncio.timeout(20):
            await started.wait()
            if way == "lost":
                await store.conversations.soft_delete(tenant_id=T, conversation_id="r")
                await swallowed.wait()  # the heartbeat has found that the run is gone
            if way == "cancel":
                working.cancel()
            worker.stop()
            await asyncio.gather(working, return_exceptions=True)
            assert swallowed.is_set()
            assert "the handler of run r goes on" in caplog.text
            assert (worker.counts.released, worker.counts.lost) == (0, 1)
            (abandoned,) = worker.unending
            if way != "lost":
                # Nobody prolongs the claim: it ends, and the next one has the run for itself.
                while not (again := await store.runs.claim_next(worker_id="next")):
                    await asyncio.sleep(0.05)
                assert (again[0].id, again[0].attempt) == ("r", 2)
    finally:
        release.set()
    assert (await abandoned).messages
    assert not worker.unending


async def test_who_follows_a_run_has_all_its_events_and_its_end(store: Strongroom) -> None:
    async def handler(context: RunContext) -> str:
        for piece in ("Grüße ", "👩", "\u200d", "👧", " e", "\u0301"):  # cut inside characters
            await context.stream_text(piece)
        return "done"

    async def heard(after: int) -> str:
        events = follow_run_events(store, tenant_id=T, run_id="r", after_sequence=after)
        return "".join([str(event.data["text"]) async for event in events])

    await new_run(store, "r")
    async with asyncio.timeout(20):
        early = asyncio.create_task(heard(0))
        await DurableWorker(store=store, handler=handler).run_until_idle()
        assert await early == await heard(0) == "Grüße 👩\u200d👧 e\u0301"
        assert (await heard(4), await heard(6)) == (" e\u0301", "")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("concurrency", 0),
        ("concurrency", 501),
        ("lease_seconds", 0.0),
        ("lease_seconds", float("nan")),
        ("grace_seconds", -1.0),
        ("poll_seconds", 0.0),
        ("backoff_seconds", float("inf")),
        ("sweep_seconds", -1.0),
    ],
)
async def test_options_that_no_worker_can_work_with_are_refused(option: str, value: float) -> None:
    async def handler(_: Any) -> None: ...

    kind: Any = BullMQWorker if option == "sweep_seconds" else DurableWorker
    async with strongroom.connect("memory:") as store:
        with pytest.raises(InvalidArgument, match=option) as refused:
            kind(store=store, handler=handler, **{option: value})
    assert refused.value.detail["path"] == option
    for delay in (-1.0, float("inf"), float("nan"), 1e9):
        with pytest.raises(InvalidArgument, match="delay_seconds"):
            RetryLater("later", delay_seconds=delay)
