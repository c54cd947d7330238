"""Checkpoints: a chain that only the worker that holds the run prolongs."""

from __future__ import annotations

import asyncio

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, STRANGER, new_tenant
from strongroom.conformance.run_helpers import (
    claimed,
    finished,
    held,
    of,
    queued,
    streamed,
    taken_over,
)
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    StaleClaim,
    VersionConflict,
)
from strongroom.models import Viewer
from strongroom.models.base import JsonValue
from strongroom.models.runs import SavedCheckpoint


async def test_before_the_first_there_is_none(adapter: Adapter) -> None:
    store, run = adapter.store, await queued(adapter.store)
    assert await store.checkpoints.latest(**of(run)) is None
    assert await store.checkpoints.list(**of(run)) == ()
    with pytest.raises(NotFound):
        await store.checkpoints.get(**of(run), sequence=1)
    tenant_id = await new_tenant(store)
    for call in (
        store.checkpoints.latest(tenant_id=tenant_id, run_id=run.id),
        store.checkpoints.list(tenant_id=tenant_id, run_id=run.id),
        store.checkpoints.get(tenant_id=tenant_id, run_id=run.id, sequence=1),
        store.checkpoints.prune(tenant_id=tenant_id, run_id=run.id, keep=1),
    ):
        with pytest.raises(NotFound):
            await call


async def test_state_and_bytes_come_back(adapter: Adapter) -> None:
    port, run = adapter.store.checkpoints, await claimed(adapter.store)
    payloads: list[tuple[JsonValue, bytes | None]] = [
        ({"step": 1, "ä": [None, 1.5]}, None),
        (None, bytes(range(256)) * 400),
        ([1, 2], b""),
        ("text", b"\x00"),
    ]
    for number, (state, data) in enumerate(payloads):
        saved = await port.save(
            **held(run),
            expected_sequence=number,
            state=state,
            data=data,
        )
        assert (saved.sequence, saved.outcome) == (number + 1, "inserted")
        latest = await port.latest(**of(run))
        assert latest is not None
        assert (latest.state, latest.data) == (state, data)
        assert await port.get(**of(run), sequence=number + 1) == latest
    assert (await adapter.store.runs.get(**of(run))).last_checkpoint_sequence == 4
    with pytest.raises(InvalidArgument):
        await port.save(**held(run), expected_sequence=4)


async def test_a_late_one_does_not_replace_a_newer_one_b15(adapter: Adapter) -> None:
    port, run = adapter.store.checkpoints, await claimed(adapter.store)
    for number in range(5):
        await port.save(**held(run), expected_sequence=number, state={"seq": number + 1})
    for stale in (0, 3, 4, 6):
        with pytest.raises(VersionConflict) as caught:
            await port.save(**held(run), expected_sequence=stale, state={"seq": "late"})
        assert caught.value.detail["current_version"] == 5
    latest = await port.latest(**of(run))
    assert latest is not None
    assert (latest.sequence, latest.state) == (5, {"seq": 5})
    assert [head.sequence for head in await port.list(**of(run))] == [1, 2, 3, 4, 5]


async def test_of_saves_at_once_one_wins_b15(adapter: Adapter) -> None:
    port, run = adapter.store.checkpoints, await claimed(adapter.store)
    for number in range(3):
        results = await asyncio.gather(
            *(
                port.save(**held(run), expected_sequence=number, state={"branch": branch})
                for branch in range(4)
            ),
            return_exceptions=True,
        )
        won = [result for result in results if isinstance(result, SavedCheckpoint)]
        lost = [result for result in results if isinstance(result, VersionConflict)]
        assert (len(won), len(lost)) == (1, 3)
        latest = await port.latest(**of(run))
        assert latest is not None
        assert (latest.sequence, latest.id) == (number + 1, won[0].id)
    assert len(await port.list(**of(run))) == 3


async def test_a_repeated_save_is_known(adapter: Adapter) -> None:
    port, run = adapter.store.checkpoints, await claimed(adapter.store)
    first = await port.save(
        **held(run), expected_sequence=0, state={"a": 1}, data=b"x", checkpoint_id="k"
    )
    await port.save(**held(run), expected_sequence=1, state={"b": 1})
    again = await port.save(
        **held(run), expected_sequence=0, state={"a": 1.0}, data=b"x", checkpoint_id="k"
    )
    assert again == first.replace(outcome="duplicate")
    others: list[tuple[JsonValue, bytes | None]] = [
        ({"a": 2}, b"x"),
        ({"a": 1}, b"y"),
        ({"a": 1}, None),
    ]
    for state, data in others:
        with pytest.raises(AlreadyExists):
            await port.save(
                **held(run),
                expected_sequence=2,
                state=state,
                data=data,
                checkpoint_id="k",
            )
    assert len(await port.list(**of(run))) == 2
    other = await claimed(adapter.store)
    assert (
        await port.save(**held(other), expected_sequence=0, state={}, checkpoint_id="k")
    ).outcome == "inserted"


async def test_after_a_crash_the_successor_goes_on_from_the_last_one(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    await streamed(store, run, "one")
    saved = await store.checkpoints.save(**held(run), expected_sequence=0, state={"step": 1})
    assert (saved.event_sequence, saved.claim_token) == (1, run.claim_token)
    successor = await taken_over(store, run)
    with pytest.raises(StaleClaim):
        await store.checkpoints.save(**held(run), expected_sequence=1, state={"step": "late"})
    latest = await store.checkpoints.latest(**of(run))
    assert latest is not None
    assert latest.state == {"step": 1}
    await store.checkpoints.save(
        **held(successor), expected_sequence=latest.sequence, state={"step": 2}
    )
    await finished(store, successor)
    with pytest.raises(StaleClaim):
        await store.checkpoints.save(**held(successor), expected_sequence=2, state={})
    assert [c.sequence for c in await store.checkpoints.list(**of(run))] == [1, 2]


async def test_the_limit_is_16_mib_b89(adapter: Adapter) -> None:
    port, run = adapter.store.checkpoints, await claimed(adapter.store)
    kept = await port.save(**held(run), expected_sequence=0, data=b"\xff" * 16_777_216)
    assert kept.size_bytes == 16_777_216
    payloads: list[tuple[JsonValue, bytes | None]] = [
        (None, b"\xff" * 50_000_000),
        (None, b"\xff" * 16_777_217),
        ({"x": "ä" * 8_400_000}, None),
        ({"x": "ä" * 4_200_000}, b"\xff" * 8_400_000),
    ]
    for state, data in payloads:
        with pytest.raises(LimitExceeded) as caught:
            await port.save(**held(run), expected_sequence=1, state=state, data=data)
        assert caught.value.detail["limit"] == 16_777_216
    assert [head.sequence for head in await port.list(**of(run))] == [1]


async def test_pruning_keeps_the_newest_b89(adapter: Adapter) -> None:
    port, run = adapter.store.checkpoints, await claimed(adapter.store)
    for number in range(30):
        await port.save(
            **held(run), expected_sequence=number, state={"step": number}, data=b"x" * number * 100
        )
    assert await port.prune(**of(run), keep=50) == 0
    assert await port.prune(**of(run), keep=3) == 27
    assert await port.prune(**of(run), keep=3) == 0
    heads = await port.list(**of(run))
    assert [head.sequence for head in heads] == [28, 29, 30]
    latest = await port.latest(**of(run))
    assert latest is not None
    assert (latest.sequence, latest.state, latest.data) == (30, {"step": 29}, b"x" * 2900)
    following = await port.save(**held(run), expected_sequence=30, state={"step": 30})
    assert following.sequence == 31
    assert await port.prune(**of(run), keep=1) == 3
    with pytest.raises(NotFound):
        await port.get(**of(run), sequence=30)
    with pytest.raises(InvalidArgument):
        await port.prune(**of(run), keep=0)
    assert (await port.get(**of(run), sequence=31)).state == {"step": 30}


async def test_a_list_has_no_payloads_and_resumes_after_a_sequence_b89(adapter: Adapter) -> None:
    port, run = adapter.store.checkpoints, await claimed(adapter.store)
    for number in range(7):
        await port.save(**held(run), expected_sequence=number, state={"step": number})
    heads = await port.list(**of(run), limit=3)
    heads += await port.list(**of(run), limit=3, after_sequence=3)
    heads += await port.list(**of(run), limit=3, after_sequence=6)
    assert [head.sequence for head in heads] == list(range(1, 8))
    assert not {"state", "data", "data_base64"} & set(type(heads[0]).model_fields)
    owner, stranger = Viewer(principal_id=OWNER), Viewer(principal_id=STRANGER)
    assert len(await port.list(**of(run), viewer=owner)) == 7
    latest = await port.latest(**of(run))
    assert await port.latest(**of(run), viewer=owner) == latest
    assert await port.get(**of(run), sequence=7, viewer=owner) == latest
    for call in (
        port.list(**of(run), viewer=stranger),
        port.latest(**of(run), viewer=stranger),
        port.get(**of(run), sequence=7, viewer=stranger),
    ):
        with pytest.raises(NotFound):
            await call
