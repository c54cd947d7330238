"""How runs end and go back: one commit for the turn, cancelled when asked for, retried within a bound."""

from __future__ import annotations

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import at, new_talk, say
from strongroom.conformance.run_helpers import (
    AT_ONCE,
    answered,
    asked,
    claimed,
    delta,
    everything_of,
    finished,
    held,
    next_of,
    of,
    paused,
    queued,
    streamed,
    taken_over,
    where,
    worked_on,
)
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidTransition,
    StaleClaim,
    VersionConflict,
)
from strongroom.models import NewMessage, TextPart, ToolResultPart
from strongroom.models.base import JsonObject


async def test_a_turn_is_committed_whole(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "What is it?")
    run = await claimed(store, await queued(store, talk))
    following = await queued(store, talk)
    result = ToolResultPart(tool_call_id="c1", tool_name="look", output=42)
    done = await store.runs.finish(
        **held(run),
        status="completed",
        messages=[answered("Let me see"), NewMessage(role="tool", parts=[result]), answered()],
        state={"turns": 1},
        state_expected_version=0,
    )
    assert (done.outcome, done.status, done.error) == ("inserted", "completed", None)
    assert (done.lease_expires_at, done.is_final) == (None, True)
    assert done.finished_at is not None
    messages = (await store.messages.list(**at(talk))).items
    assert [(m.position, m.role, m.run_id) for m in messages] == [
        (1, "user", None),
        (2, "assistant", run.id),
        (3, "tool", run.id),
        (4, "assistant", run.id),
    ]
    assert done.message_id == messages[3].id
    assert (await store.session_state.get(**at(talk))).state == {"turns": 1}
    assert await next_of(store, talk.tenant_id, 10) == [following.id]
    # The very same call once more, its answer having been lost.
    again = await store.runs.finish(
        **held(run),
        status="completed",
        messages=[answered("Let me see"), NewMessage(role="tool", parts=[result]), answered()],
        state={"turns": 1},
        state_expected_version=0,
    )
    assert again == done.replace(outcome="duplicate")
    assert (await store.messages.list(**at(talk))).items == messages
    assert (await store.session_state.get(**at(talk))).version == 1


async def test_a_changed_state_stops_the_whole_turn(adapter: Adapter) -> None:
    store = adapter.store
    run, _ = await worked_on(store)
    await queued(store, await store.conversations.get(**where(run)))
    await store.session_state.put(**where(run), state={"other": 1}, expected_version=0)
    before = await everything_of(store, run)
    with pytest.raises(VersionConflict) as caught:
        await finished(
            store, run, messages=[answered()], state={"mine": 1}, state_expected_version=0
        )
    assert caught.value.detail["current_version"] == 1
    assert await everything_of(store, run) == before
    assert await next_of(store, run.tenant_id) == []
    done = await finished(
        store, run, messages=[answered()], state={"mine": 1}, state_expected_version=1
    )
    assert done.outcome == "inserted"


async def test_what_is_not_a_turn_is_refused_and_nothing_is_written(adapter: Adapter) -> None:
    store = adapter.store
    run, _ = await worked_on(store)
    taken = await say(store, await new_talk(store, run.tenant_id), "mine")
    before = await everything_of(store, run)
    error = {"code": "x"}
    for options, kind in (
        ({"messages": [answered(role="user")]}, InvalidArgument),
        ({"messages": [answered(), answered(role="system")]}, InvalidArgument),
        ({"messages": [answered()], "error": error}, InvalidArgument),
        ({"status": "failed"}, InvalidArgument),
        ({"status": "cancelled", "error": error}, InvalidArgument),
        ({"state": {"a": 1}}, InvalidArgument),
        ({"status": "running"}, InvalidArgument),
        ({"messages": [answered(), answered(id=taken.items[0].id)]}, AlreadyExists),
        ({"messages": [answered(id="m"), answered(id="m")]}, InvalidArgument),
        ({"messages": [answered("x" * 1_100_000)]}, InvalidArgument),
    ):
        with pytest.raises(kind):
            await finished(store, run, **options)
    assert await everything_of(store, run) == before
    done = await finished(store, run)
    assert (done.status, done.message_id) == ("completed", None)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
async def test_a_run_that_does_not_complete_keeps_what_it_streamed(
    adapter: Adapter, status: str
) -> None:
    store = adapter.store
    error = {"code": "boom"} if status == "failed" else None
    run = await claimed(store)
    await streamed(store, run, "Half ", "an ", "änswer 🙂")
    done = await finished(store, run, status=status, error=error)
    (message,) = (await store.messages.list(**where(run))).items
    assert (message.role, message.run_id, message.id) == ("assistant", run.id, done.message_id)
    assert [part.to_json() for part in message.parts] == [
        {"type": "text", "schema_version": 1, "text": "Half an änswer 🙂"},
        {"type": "status", "schema_version": 1, "status": status},
    ]
    # Its own words go before what it streamed; and nothing streamed is no message.
    for texts, said, expected in ((["a"], [answered("mine")], ["mine"]), ([], [], [])):
        run = await claimed(store)
        for text in texts:
            await streamed(store, run, text)
        await finished(store, run, status=status, error=error, messages=said)
        messages = (await store.messages.list(**where(run))).items
        assert [m.parts[0].to_json()["text"] for m in messages] == expected


async def test_what_was_streamed_again_after_a_crash_is_kept_once(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    await streamed(store, run, "a")
    await store.checkpoints.save(**held(run), expected_sequence=0, state={})
    await streamed(store, run, "b", "lost")
    second = await taken_over(store, run)
    await streamed(store, second, "b")
    await store.checkpoints.save(**held(second), expected_sequence=1, state={})
    await store.checkpoints.prune(**of(run), keep=1)
    await streamed(store, second, "c")
    third = await taken_over(store, second)
    await store.runs.append_events(**held(third), events=[delta("c"), delta("d")])
    await finished(store, third, status="cancelled")
    (message,) = (await store.messages.list(**where(run))).items
    assert message.parts[0].to_json()["text"] == "abcd"


async def test_no_amount_of_streamed_text_keeps_a_run_from_ending(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    for _ in range(3):
        await streamed(store, run, '"\n' * 200_000)
    done = await finished(store, run, status="cancelled")
    assert done.status == "cancelled"
    message = await store.messages.get(tenant_id=run.tenant_id, message_id=str(done.message_id))
    assert len(str(message.parts[0].to_json()["text"])) > 100_000


async def test_cancelling_what_nobody_works_on_ends_it_at_once(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    head, middle, last = [await queued(store, talk) for _ in range(3)]
    assert (await store.runs.request_cancel(**of(middle))).status == "cancelled"
    assert await store.runs.claim(**of(last), worker_id="w") is None, "the head is still there"
    cancelled = await store.runs.request_cancel(**of(head))
    assert (cancelled.status, cancelled.message_id) == ("cancelled", None)
    assert cancelled.cancel_requested_at is not None
    assert await store.runs.request_cancel(**of(head)) == cancelled
    run = await claimed(store, last)
    await streamed(store, run, "I wonder")
    _, question = await paused(store, run)
    cancelled = await store.runs.request_cancel(**of(run))
    assert cancelled.status == "cancelled"
    (message,) = (await store.messages.list(**at(talk))).items
    assert message.id == cancelled.message_id
    found = await store.interactions.get(tenant_id=talk.tenant_id, interaction_id=question.id)
    assert found.status == "cancelled"
    late = await store.interactions.answer(
        tenant_id=talk.tenant_id, interaction_id=question.id, answer="x", resolved_by="ada"
    )
    assert late.outcome == "already_resolved"
    run = await claimed(store)
    await store.runs.retry_later(**held(run), delay_seconds=60, error={"code": "busy"})
    assert (await store.runs.request_cancel(**of(run))).status == "cancelled"
    run = await claimed(store)
    await store.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
    assert (await store.runs.request_cancel(**of(run))).status == "cancelled"
    with pytest.raises(StaleClaim):
        await store.runs.heartbeat(**held(run))


async def test_cancelling_what_a_worker_holds_asks_the_worker(adapter: Adapter) -> None:
    store = adapter.store
    for ending in ("finish", "complete", "pause", "retry", "release", "lose"):
        run = await claimed(store)
        await streamed(store, run, "So ", "far")
        await asked(store, run)
        told = await store.runs.request_cancel(**of(run))
        assert (told.status, told.claim_token) == ("running", run.claim_token)
        assert told.cancel_requested_at is not None
        assert (await store.runs.request_cancel(**of(run))).cancel_requested_at == (
            told.cancel_requested_at
        )
        assert (await store.runs.heartbeat(**held(run))).cancel_requested
        if ending == "finish":
            await finished(store, run, status="cancelled")
        elif ending == "complete":
            await finished(store, run, messages=[answered("So far")])
        elif ending == "pause":
            await store.runs.transition(**held(run), status="waiting_for_question")
        elif ending == "retry":
            await store.runs.retry_later(**held(run), delay_seconds=0, error={"code": "busy"})
        elif ending == "release":
            await store.runs.release(**held(run))
        else:
            await store.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
            assert await store.runs.claim(**of(run), worker_id="w") is None
            assert await next_of(store, run.tenant_id) == []
        ended = await store.runs.get(**of(run))
        assert ended.status == ("completed" if ending == "complete" else "cancelled"), ending
        (message,) = (await store.messages.list(**where(run))).items
        assert message.parts[0] == TextPart(text="So far"), ending
        assert await next_of(store, run.tenant_id) == []


async def test_retries_are_counted_and_bounded_b11(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    error: JsonObject = {"code": "busy", "message": "try later"}
    for attempt in (1, 2):
        assert run.attempt == attempt
        waiting = await store.runs.retry_later(**held(run), delay_seconds=0, error=error)
        assert (waiting.status, waiting.error, waiting.attempt) == ("retry_pending", error, attempt)
        again = await store.runs.retry_later(**held(run), delay_seconds=600, error=error)
        assert again == waiting, "a repeat changes nothing"
        run = await claimed(store, run)
    assert (run.attempt, run.max_attempts) == (3, 3)
    before = await everything_of(store, run)
    with pytest.raises(InvalidTransition):
        await store.runs.retry_later(**held(run), delay_seconds=0, error=error)
    assert await everything_of(store, run) == before
    done = await finished(store, run)
    assert (done.attempt, done.error) == (3, None)
    run = await claimed(store)
    later = await store.runs.retry_later(**held(run), delay_seconds=600, error=error)
    assert later.available_at is not None
    assert later.available_at > later.updated_at
    assert await store.runs.claim(**of(run), worker_id="w") is None
    for seconds in (-1, 31_536_001, float("nan")):
        with pytest.raises(InvalidArgument):
            await store.runs.retry_later(**held(run), delay_seconds=seconds, error=error)


async def test_going_on_and_giving_back_cost_no_attempt_b11(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    for _ in range(3):
        given_back = await store.runs.release(**held(run))
        assert held(given_back)["claim_token"] > held(run)["claim_token"]
        run = await claimed(store, run)
        assert run.attempt == 1
    for _ in range(3):
        _, question = await paused(store, run)
        await store.interactions.answer(
            tenant_id=run.tenant_id, interaction_id=question.id, answer=1, resolved_by="ada"
        )
        run = await claimed(store, run)
        assert run.attempt == 1
    await store.runs.retry_later(**held(run), delay_seconds=0, error={"code": "x"})
    run = await claimed(store, run)
    assert run.attempt == 2
    run = await taken_over(store, run)
    assert run.attempt == 3
