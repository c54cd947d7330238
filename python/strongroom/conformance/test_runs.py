"""Runs: created once, found, listed and counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, STRANGER, at, new_talk, new_tenant, walk
from strongroom.conformance.run_helpers import (
    AT_ONCE,
    claimed,
    finished,
    held,
    next_of,
    of,
    queued,
)
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
)
from strongroom.models import Viewer


async def test_a_new_run_and_its_ways_to_be_read(adapter: Adapter) -> None:
    port, talk = adapter.store.runs, await new_talk(adapter.store)
    created = await port.create(
        **at(talk), input={"ask": "ä"}, agent_id="agent", agent_version=2, priority=-1
    )
    assert (created.outcome, created.status, created.number) == ("inserted", "queued", 1)
    assert (created.attempt, created.max_attempts, created.claim_token) == (0, 3, None)
    assert (created.input, created.agent_id, created.agent_version) == ({"ask": "ä"}, "agent", 2)
    run = await port.get(**of(created))
    assert dict(run) == {name: value for name, value in dict(created).items() if name != "outcome"}
    assert await port.find(**of(created)) == run
    assert (await port.list(tenant_id=talk.tenant_id)).items == (run,)
    for principal_id, seen in ((OWNER, run), (STRANGER, None)):
        viewer = Viewer(principal_id=principal_id)
        assert await port.find(**of(run), viewer=viewer) == seen
        page = await port.list(tenant_id=talk.tenant_id, viewer=viewer)
        assert page.items == ((run,) if seen else ())
    with pytest.raises(NotFound):
        await port.get(tenant_id=talk.tenant_id, run_id="absent")
    with pytest.raises(NotFound):
        await port.create(tenant_id=talk.tenant_id, conversation_id="absent")


async def test_a_repeated_create_says_so_and_what_became_of_the_run_b25(adapter: Adapter) -> None:
    port, talk = adapter.store.runs, await new_talk(adapter.store)
    run = await port.create(**at(talk), run_id="once", input={"n": 1, "m": 2})
    for status in ("queued", "running", "completed"):
        again = await port.create(**at(talk), run_id="once", input={"m": 2, "n": 1})
        assert (again.outcome, again.status, again.number) == ("duplicate", status, 1)
        if status == "queued":
            run_ = await claimed(adapter.store, run)
        elif status == "running":
            await finished(adapter.store, run_)
    other = await new_talk(adapter.store, talk.tenant_id)
    for different in (
        {**at(talk), "input": {"n": 2}},
        {**at(talk), "input": {"n": 1, "m": 2}, "priority": 1},
        {**at(other), "input": {"n": 1, "m": 2}},
    ):
        with pytest.raises(AlreadyExists):
            await port.create(**different, run_id="once")  # type: ignore[arg-type]
    assert len((await port.list(tenant_id=talk.tenant_id)).items) == 1
    elsewhere = await new_talk(adapter.store)
    assert (await port.create(**at(elsewhere), run_id="once")).outcome == "inserted"


async def test_numbers_that_are_equal_make_a_repeat_b25(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    run = await claimed(store, await queued(store, talk))
    calls: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
        "run": lambda value: store.runs.create(**at(talk), run_id="r", input=value),
        "job": lambda value: store.jobs.enqueue(
            tenant_id=tenant_id, kind="k", queue="q", job_id="j", payload=value
        ),
        "approval": lambda value: store.interactions.request_approval(
            **held(run), interaction_id="i", tool_name="t", input=value
        ),
        "conversation": lambda value: store.conversations.create(
            tenant_id=tenant_id, owner_id="ada", conversation_id="c", metadata=value
        ),
    }
    for name, call in calls.items():
        first = await call({"n": 1.0, "m": [2.50, 100, 0], "1.0": 'x 1.0 "'})
        assert first.outcome in ("inserted", "created"), name
        again = await call({"n": 1, "m": [2.5, 100.0, 0.0], "1.0": 'x 1.0 "'})
        assert again.outcome == "duplicate", name
        for other in (
            {"n": 10, "m": [2.5, 100, 0], "1.0": 'x 1.0 "'},
            {"n": 1, "m": [2.5, 100, 0], "1.0": 'x 1 "'},
            {"n": 1, "m": [2.5, 100, 0], "1": 'x 1.0 "'},
            {"n": True, "m": [2.5, 100, 0], "1.0": 'x 1.0 "'},
        ):
            with pytest.raises(AlreadyExists):
                await call(other)


async def test_pages_and_filters(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    talks = [await new_talk(store, tenant_id) for _ in range(3)]
    made = [(await queued(store, talks[number % 3])).id for number in range(7)]
    runs = await walk(
        lambda **page: store.runs.list(tenant_id=tenant_id, **page), limit=3, back=True
    )
    assert [run.id for run in runs] == made[::-1]
    backward = await walk(
        lambda **page: store.runs.list(tenant_id=tenant_id, **page),
        limit=2,
        direction="backward",
        back=True,
    )
    assert backward == runs[::-1]
    await next_of(store, tenant_id)
    page = await store.runs.list(tenant_id=tenant_id, status="running")
    assert [run.id for run in page.items] == made[:1]
    page = await store.runs.list(**at(talks[0]))
    assert [run.id for run in page.items] == [made[6], made[3], made[0]]


async def test_the_queues_figures(adapter: Adapter) -> None:
    store = adapter.store
    first = await queued(store)
    tenant_id = first.tenant_id
    talk = await new_talk(store, tenant_id)
    second = await queued(store, talk)
    await queued(store, talk)
    queue = await store.runs.queue(tenant_id=tenant_id)
    assert (queue.ready, queue.queued, queue.running) == (2, 3, 0)
    assert queue.oldest_ready_at == first.created_at
    run = await claimed(store, first)
    await store.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
    other = await claimed(store, second)
    await store.runs.retry_later(**held(other), delay_seconds=600, error={"code": "busy"})
    queue = await store.runs.queue(tenant_id=tenant_id)
    assert (queue.queued, queue.running, queue.expired_leases) == (1, 1, 1)
    assert (queue.retry_pending, queue.waiting) == (1, 0)


async def test_arguments_are_refused_before_anything_is_written(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for options, error in (
        ({"input": {"x": "ä" * 524_288}}, LimitExceeded),
        ({"agent_version": 1}, InvalidArgument),
        ({"agent_id": "a", "agent_version": 0}, InvalidArgument),
        ({"max_attempts": 0}, InvalidArgument),
        ({"priority": 2**31}, InvalidArgument),
        ({"run_id": ""}, InvalidArgument),
    ):
        with pytest.raises(error):
            await store.runs.create(**at(talk), **options)
    assert (await store.runs.list(tenant_id=talk.tenant_id)).items == ()
    run = await queued(store, talk)
    for seconds in (0, -1, 86_401, float("nan"), float("inf")):
        with pytest.raises(InvalidArgument):
            await store.runs.claim(**of(run), worker_id="w", lease_seconds=seconds)
        with pytest.raises(InvalidArgument):
            await store.runs.claim_next(worker_id="w", tenant_id="x", lease_seconds=seconds)
    assert (await store.runs.get(**of(run))).status == "queued"
