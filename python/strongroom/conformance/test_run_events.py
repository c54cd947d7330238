"""Run events: gapless, once each, resumable, and only by the worker that holds the run."""

from __future__ import annotations

import asyncio

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, STRANGER
from strongroom.conformance.run_helpers import claimed, delta, held, of, streamed, taken_over
from strongroom.errors import InvalidArgument, LimitExceeded, NotFound
from strongroom.models import Viewer
from strongroom.models.runs import NewRunEvent, RunEvent


async def test_events_of_one_append_are_numbered_in_order_b05(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    items = await store.runs.append_events(
        **held(run), events=[delta(str(number), id=f"e{9 - number}") for number in range(5)]
    )
    assert [(i.id, i.outcome, i.sequence) for i in items] == [
        (f"e{9 - number}", "inserted", number + 1) for number in range(5)
    ]
    events = await store.runs.list_events(**of(run))
    assert [(e.sequence, e.data, e.kind) for e in events] == [
        (number + 1, {"text": str(number)}, "text-delta") for number in range(5)
    ]
    assert {event.claim_token for event in events} == {run.claim_token}
    assert (await store.runs.get(**of(run))).last_event_sequence == 5


async def test_a_repeat_writes_nothing_and_a_conflict_is_told(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    await store.runs.append_events(**held(run), events=[delta("a", id="e1"), delta("b", id="e2")])
    items = await store.runs.append_events(
        **held(run),
        events=[delta("c", id="e3"), delta("b", id="e2"), delta("x", id="e1"), delta("d", id="e4")],
    )
    assert [(i.id, i.outcome, i.sequence) for i in items] == [
        ("e3", "inserted", 3),
        ("e2", "duplicate", 2),
        ("e1", "conflict", None),
        ("e4", "inserted", 4),
    ]
    events = await store.runs.list_events(**of(run))
    assert [event.data["text"] for event in events] == ["a", "b", "c", "d"]


async def test_a_reader_resumes_after_what_it_has_seen(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    seen: list[RunEvent] = []
    for number in range(4):
        await streamed(store, run, *(f"{number}-{i}" for i in range(5)))
        while new := await store.runs.list_events(
            **of(run), after_sequence=seen[-1].sequence if seen else 0, limit=3
        ):
            seen += new
    assert [event.sequence for event in seen] == list(range(1, 21))
    assert await store.runs.list_events(**of(run), after_sequence=20) == ()
    for principal_id in (OWNER, STRANGER):
        viewer = Viewer(principal_id=principal_id)
        if principal_id == OWNER:
            assert await store.runs.list_events(**of(run), viewer=viewer, limit=500) == tuple(seen)
        else:
            with pytest.raises(NotFound):
                await store.runs.list_events(**of(run), viewer=viewer)


async def test_appends_at_once_leave_no_gap(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    await asyncio.gather(*(streamed(store, run, *"abc") for _ in range(6)))
    events = await store.runs.list_events(**of(run), limit=500)
    assert [event.sequence for event in events] == list(range(1, 19))
    texts = [event.data["text"] for event in events]
    assert texts == [*"abc"] * 6, "a batch was torn apart"


async def test_events_say_after_which_one_their_claim_went_on(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    await streamed(store, run, "a")
    await store.checkpoints.save(**held(run), expected_sequence=0, state={"step": 1})
    await streamed(store, run, "b", "c")
    successor = await taken_over(store, run)
    await streamed(store, successor, "B", "C")
    events = await store.runs.list_events(**of(run))
    assert [(event.data["text"], event.resumes_after) for event in events] == [
        ("a", 0),
        ("b", 0),
        ("c", 0),
        ("B", 1),
        ("C", 1),
    ]


async def test_what_is_not_well_formed_is_refused_and_nothing_is_written(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    append = store.runs.append_events
    for events in (
        [],
        [delta("x")] * 501,
        [delta("a", id="same"), delta("b", id="same")],
    ):
        with pytest.raises(InvalidArgument):
            await append(**held(run), events=events)
    with pytest.raises(LimitExceeded) as caught:
        await append(**held(run), events=[delta("a"), delta("ä" * 524_288)])
    assert caught.value.detail["path"] == "events[1].data"
    with pytest.raises(InvalidArgument):
        NewRunEvent(kind="")
    assert await store.runs.list_events(**of(run)) == ()
    assert len(await append(**held(run), events=[delta("x")] * 500)) == 500
