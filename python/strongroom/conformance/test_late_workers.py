"""Late workers: who does not hold the run any more, and whose conversation is gone, changes nothing."""

from __future__ import annotations

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import new_talk
from strongroom.conformance.run_helpers import (
    AT_ONCE,
    ON_BEHALF,
    Held,
    answered,
    claimed,
    everything_of,
    finished,
    held,
    next_of,
    of,
    paused,
    queued,
    taken_over,
    where,
    worked_on,
)
from strongroom.errors import (
    NotFound,
    StaleClaim,
)
from strongroom.models.runs import Run

STALE = ("taken over", "released", "finished by another", "never held", "cancelled meanwhile")


async def outdated(adapter: Adapter, how: str) -> tuple[Run, Held, str]:
    """Return a run, a claim on it that holds no more, and an approval of it."""
    store = adapter.store
    run, approval_id = await worked_on(store)
    late = held(run)
    if how == "never held":
        return run, Held(**of(run), claim_token=late["claim_token"] + 1_000_000_000), approval_id
    if how == "released":
        await store.runs.release(**late)
    elif how == "cancelled meanwhile":
        await paused(store, run)
        await store.runs.request_cancel(**of(run))
    else:
        successor = await taken_over(store, run)
        if how == "finished by another":
            await finished(store, successor, messages=[answered("the successor's")])
    return await store.runs.get(**of(run)), late, approval_id


@pytest.mark.parametrize("how", STALE)
@pytest.mark.parametrize("method", sorted(ON_BEHALF))
async def test_a_late_workers_writes_are_refused_and_change_nothing_b21(
    adapter: Adapter, method: str, how: str
) -> None:
    run, late, approval_id = await outdated(adapter, how)
    before = await everything_of(adapter.store, run)
    with pytest.raises(StaleClaim):
        await ON_BEHALF[method](adapter.store, late, approval_id)
    assert await everything_of(adapter.store, run) == before


@pytest.mark.parametrize("method", sorted(ON_BEHALF))
async def test_who_holds_the_run_may_do_all_of_that(adapter: Adapter, method: str) -> None:
    run, approval_id = await worked_on(adapter.store)
    before = await everything_of(adapter.store, run)
    await ON_BEHALF[method](adapter.store, held(run), approval_id)
    assert await everything_of(adapter.store, run) != before


@pytest.mark.parametrize("method", sorted(ON_BEHALF))
async def test_a_late_write_to_a_deleted_conversation_leaves_no_row_b83(
    adapter: Adapter, method: str
) -> None:
    store = adapter.store
    run, approval_id = await worked_on(store)
    before = await everything_of(store, run)
    await store.conversations.soft_delete(**where(run))
    for call in (
        ON_BEHALF[method](store, held(run), approval_id),
        store.runs.claim(**of(run), worker_id="w"),
        store.runs.request_cancel(**of(run)),
        store.checkpoints.prune(**of(run), keep=1),
        store.interactions.answer(
            tenant_id=run.tenant_id, interaction_id=approval_id, answer=1, resolved_by="ada"
        ),
    ):
        with pytest.raises(NotFound):
            await call
    assert await store.runs.find(**of(run)) is None
    await store.conversations.restore(**where(run))
    assert await everything_of(store, run) == before
    await ON_BEHALF[method](store, held(run), approval_id)
    await store.conversations.purge(**where(run))
    with pytest.raises(NotFound):
        await ON_BEHALF[method](store, held(run), approval_id)
    assert not (await store.conversations.purge(**where(run))).purged


async def test_a_deleted_conversations_runs_rest_and_come_back_b83(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, (await new_talk(adapter.store)).tenant_id
    waiting = await queued(store, await new_talk(store, tenant_id))
    running = await claimed(store, await queued(store, await new_talk(store, tenant_id)))
    lost = await claimed(store, await queued(store, await new_talk(store, tenant_id)))
    await store.runs.heartbeat(**held(lost), lease_seconds=AT_ONCE)
    for run in (waiting, running, lost):
        await store.conversations.soft_delete(**where(run))
    with pytest.raises(NotFound):
        await store.runs.heartbeat(**held(running), lease_seconds=AT_ONCE)
    assert await next_of(store, tenant_id, 10) == []
    assert await store.runs.reap_expired(tenant_id=tenant_id) == 0
    for run in (waiting, running, lost):
        await store.conversations.restore(**where(run))
    assert sorted(await next_of(store, tenant_id, 10)) == sorted([waiting.id, lost.id])
    await finished(store, running, messages=[answered()])
    receipt = await store.conversations.purge(**where(running))
    assert {name: receipt.tables.get(name, 0) for name in ("runs", "messages", "run_events")} == {
        "runs": 1,
        "messages": 1,
        "run_events": 0,
    }
    with pytest.raises(NotFound):
        await store.runs.create(**where(running))
