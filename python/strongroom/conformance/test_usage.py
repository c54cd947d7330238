"""Usage: counted once, never changed, summed exactly, and still there when its conversation is gone."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    PARTICIPANT,
    STRANGER,
    at,
    new_talk,
    new_tenant,
    walk,
)
from strongroom.conformance.run_helpers import (
    answered,
    claimed,
    finished,
    held,
    of,
    queued,
    taken_over,
    where,
)
from strongroom.conformance.strategies import quick
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    StaleClaim,
    VersionConflict,
)
from strongroom.models import Conversation, NewUsage, RunUsage, Viewer
from strongroom.models.usage import TOKENS, UsageEvent

LARGEST = 2**53 - 1


async def recorded(store: Ports, tenant_id: str, **fields: Any) -> UsageEvent:
    """Record one event that is new."""
    (event,) = await store.usage.record(tenant_id=tenant_id, events=[NewUsage(**fields)])
    assert event.outcome == "inserted"
    return UsageEvent(**{k: v for k, v in dict(event).items() if k != "outcome"})


async def counted(store: Ports, tenant_id: str) -> int:
    """Return the input tokens of the tenant."""
    return (await store.usage.totals(tenant_id=tenant_id)).input_tokens


# Recording.


async def test_an_event_comes_back_as_it_was_given(adapter: Adapter) -> None:
    store = adapter.store
    talk = await new_talk(store)
    moment = dt.datetime(2026, 3, 1, 23, 30, 0, 123456, tzinfo=dt.UTC)
    given_fields: dict[str, Any] = {
        "id": "u1",
        "conversation_id": talk.id,
        "run_id": "r1",
        "step_id": "1/plan",
        "tool_call_id": "c1",
        "principal_id": OWNER,
        "agent_id": "helper",
        "agent_version": 3,
        "model": "small",
        "input_tokens": LARGEST,
        "output_tokens": 1,
        "cached_input_tokens": 2,
        "cache_write_tokens": 3,
        "reasoning_tokens": 4,
        "cost": 1240,
        "cost_decimals": 6,
        "currency": "USD",
        "metadata": {"region": "eu"},
        "occurred_at": moment,
    }
    event = await recorded(store, talk.tenant_id, **given_fields)
    assert {name: getattr(event, name) for name in given_fields} == given_fields
    assert event.corrects_id is None
    found = await store.usage.get(tenant_id=talk.tenant_id, usage_id="u1")
    assert found == event
    assert (await store.usage.list(tenant_id=talk.tenant_id)).items == (event,)
    assert await store.usage.find(tenant_id=talk.tenant_id, usage_id="u2") is None
    with pytest.raises(NotFound):
        await store.usage.get(tenant_id=talk.tenant_id, usage_id="u2")


async def test_a_retry_counts_once_and_another_attempt_counts_again_b11(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    other = await new_tenant(store)
    first = NewUsage(run_id="r", step_id="1/step", input_tokens=10, occurred_at=None)
    (one,) = await store.usage.record(tenant_id=tenant_id, events=[first])
    (again,) = await store.usage.record(tenant_id=tenant_id, events=[first])
    assert (one.outcome, again.outcome, again.id) == ("inserted", "duplicate", one.id)
    assert again.created_at == one.created_at
    second = first.replace(step_id="2/step")
    assert (await store.usage.record(tenant_id=tenant_id, events=[second]))[0].outcome == "inserted"
    assert (await store.usage.record(tenant_id=other, events=[first]))[0].outcome == "inserted"
    assert (await counted(store, tenant_id), await counted(store, other)) == (20, 10)
    (clash,) = await store.usage.record(
        tenant_id=tenant_id, events=[first.replace(input_tokens=11)]
    )
    assert (clash.outcome, clash.id, clash.input_tokens) == ("conflict", one.id, 10)
    assert await counted(store, tenant_id) == 20
    with pytest.raises(InvalidArgument) as caught:
        await store.usage.record(
            tenant_id=tenant_id,
            events=[NewUsage(occurred_at=dt.datetime.now(dt.UTC) + dt.timedelta(days=1))],
        )
    assert "future" in str(caught.value)
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)
    await recorded(store, tenant_id, input_tokens=1, occurred_at=soon)
    assert await counted(store, tenant_id) == 21


@pytest.mark.parametrize(
    "change",
    [
        {"input_tokens": 8},
        {"model": "large"},
        {"principal_id": "eve"},
        {"principal_id": None},
        {"cost": 6},
        {"currency": "USD"},
        {"cost_decimals": 3},
        {"metadata": {"a": 2}},
        {"conversation_id": "other"},
        {"run_id": "other"},
        {"occurred_at": dt.datetime(2026, 1, 1, 0, 0, 1, tzinfo=dt.UTC)},
        {"agent_id": "other", "agent_version": 1},
    ],
    ids=str,
)
async def test_the_same_id_with_other_content_is_a_conflict(
    adapter: Adapter, change: dict[str, Any]
) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    event = NewUsage(
        id="u",
        conversation_id="talk",
        run_id="r",
        principal_id=OWNER,
        model="small",
        agent_id="helper",
        agent_version=1,
        input_tokens=7,
        cost=5,
        currency="EUR",
        metadata={"a": 1},
        occurred_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )
    await store.usage.record(tenant_id=tenant_id, events=[event])
    same = event.replace(cost_decimals=2, metadata={"a": 1})
    before = await store.usage.list(tenant_id=tenant_id)
    outcomes = [
        (await store.usage.record(tenant_id=tenant_id, events=[e]))[0].outcome
        for e in (event, same, event.replace(**change))
    ]
    assert outcomes == ["duplicate", "duplicate", "conflict"]
    assert await store.usage.list(tenant_id=tenant_id) == before


async def test_a_batch_is_recorded_whole_and_answers_in_order(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    batch = [NewUsage(id=f"u{9 - number}", input_tokens=number) for number in range(9)]
    done = await store.usage.record(tenant_id=tenant_id, events=batch)
    assert [(event.id, event.input_tokens) for event in done] == [
        (event.id, event.input_tokens) for event in batch
    ]
    for bad, kind in (
        ([*batch, NewUsage(id="u1")], InvalidArgument),
        ([NewUsage(id="new"), NewUsage(corrects_id="none", input_tokens=-1)], NotFound),
        ([NewUsage(id="new"), NewUsage(metadata={"x": "x" * 17_000})], LimitExceeded),
        ([], InvalidArgument),
        ([NewUsage() for _ in range(501)], LimitExceeded),
    ):
        with pytest.raises(kind):
            await store.usage.record(tenant_id=tenant_id, events=bad)
    assert len((await store.usage.list(tenant_id=tenant_id)).items) == 9


@pytest.mark.parametrize(
    "fields",
    [
        {"input_tokens": -1},
        {"input_tokens": 1.5},
        {"input_tokens": True},
        {"cost": 1},
        {"currency": "EUR"},
        {"cost": 1, "currency": "euro"},
        {"cost": 1, "currency": "eur"},
        {"cost": 1, "currency": "EUR", "cost_decimals": 13},
        {"cost_decimals": 2},
        {"step_id": "1"},
        {"agent_version": 1},
        {"agent_id": "a", "agent_version": 0},
        {"model": ""},
        {"occurred_at": dt.datetime(2026, 1, 1)},  # noqa: DTZ001 (that is what is refused)
        {"corrects_id": "u", "input_tokens": 1},
        {"corrects_id": "u", "model": "small"},
        {"corrects_id": "u", "cost": -1, "currency": "EUR"},
        {"tokens": 1},
    ],
    ids=str,
)
def test_what_is_not_usage_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        NewUsage(**fields)


def test_what_is_too_large_cannot_be_made() -> None:
    for fields in ({"input_tokens": LARGEST + 1}, {"model": "x" * 256}):
        with pytest.raises(LimitExceeded):
            NewUsage(**fields)


# Corrections.


async def test_a_correction_takes_back_and_never_more_than_there_was(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    await recorded(
        store,
        tenant_id,
        id="u",
        conversation_id=talk.id,
        model="small",
        principal_id=OWNER,
        input_tokens=100,
        cost=50,
        currency="EUR",
        cost_decimals=4,
    )
    credit = NewUsage(id="c1", corrects_id="u", input_tokens=-30, cost=-50)
    first = await recorded(store, tenant_id, **dict(credit))
    assert (first.model, first.conversation_id, first.principal_id) == ("small", talk.id, OWNER)
    assert (first.currency, first.cost_decimals, first.cost) == ("EUR", 4, -50)
    (again,) = await store.usage.record(tenant_id=tenant_id, events=[credit])
    (other,) = await store.usage.record(
        tenant_id=tenant_id, events=[credit.replace(input_tokens=-31)]
    )
    assert (again.outcome, other.outcome) == ("duplicate", "conflict")
    for bad in (
        NewUsage(corrects_id="u", input_tokens=-71),
        NewUsage(corrects_id="u", cost=-1),
        NewUsage(corrects_id="u", output_tokens=-1),
        NewUsage(corrects_id="c1", input_tokens=0),
    ):
        with pytest.raises(InvalidArgument):
            await store.usage.record(tenant_id=tenant_id, events=[bad])
    await recorded(store, tenant_id, corrects_id="u", input_tokens=-70)
    totals = await store.usage.totals(tenant_id=tenant_id, conversation_id=talk.id)
    assert (totals.input_tokens, totals.event_count) == (0, 3)
    assert [(cost.currency, cost.cost) for cost in totals.costs] == [("EUR", 0)]


async def test_a_batch_may_correct_what_it_records(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    done = await store.usage.record(
        tenant_id=tenant_id,
        events=[
            NewUsage(corrects_id="u", input_tokens=-4),
            NewUsage(id="u", input_tokens=10),
            NewUsage(corrects_id="u", input_tokens=-6),
        ],
    )
    assert [event.input_tokens for event in done] == [-4, 10, -6]
    assert await counted(store, tenant_id) == 0


# Sums.

_KEYS = {"model": "model", "agent": "agent_id", "principal": "principal_id"}
_START = dt.datetime(2026, 3, 28, tzinfo=dt.UTC)

_EVENTS = st.lists(
    st.builds(
        lambda tokens, money, names, minutes: NewUsage(
            **dict(zip(TOKENS, tokens, strict=True)),
            **money,
            **names,
            occurred_at=_START + dt.timedelta(minutes=minutes),
        ),
        st.tuples(*(st.integers(0, LARGEST) for _ in TOKENS)),
        st.one_of(
            st.just({}),
            st.fixed_dictionaries(
                {
                    "cost": st.integers(0, LARGEST),
                    "currency": st.sampled_from(["EUR", "USD", "JPY"]),
                    "cost_decimals": st.integers(0, 12),
                }
            ),
        ),
        st.fixed_dictionaries(
            {
                name: st.sampled_from([None, "a", "b", "é"])
                for name in (*_KEYS.values(), "conversation_id")
            }
        ),
        st.integers(0, 5000),
    ),
    min_size=1,
    max_size=12,
)


def _sums(events: list[UsageEvent]) -> dict[str, Any]:
    money: defaultdict[str, Fraction] = defaultdict(Fraction)
    for event in events:
        if event.currency and event.cost is not None and event.cost_decimals is not None:
            money[event.currency] += Fraction(event.cost, 10**event.cost_decimals)
    return {
        "event_count": len(events),
        "money": dict(money),
        **{name: sum(getattr(event, name) for event in events) for name in TOKENS},
    }


def _of(totals: Any) -> dict[str, Any]:
    return {
        "event_count": totals.event_count,
        "money": {c.currency: Fraction(c.cost, 10**c.decimals) for c in totals.costs},
        **{name: getattr(totals, name) for name in TOKENS},
    }


@quick
@given(batch=_EVENTS, zone=st.sampled_from(["UTC", "Europe/Lisbon", "Pacific/Auckland"]))
async def test_sums_equal_the_sum_of_their_events(
    adapter: Adapter, batch: list[NewUsage], zone: str
) -> None:
    """Whatever was recorded: in all, by every key, and by the days of any zone; of any size."""
    store = adapter.store
    tenant_id = await new_tenant(store)
    events: list[Any] = list(await store.usage.record(tenant_id=tenant_id, events=batch))
    correction = NewUsage(corrects_id=events[0].id, input_tokens=-events[0].input_tokens)
    events += await store.usage.record(tenant_id=tenant_id, events=[correction])
    assert _of(await store.usage.totals(tenant_id=tenant_id)) == _sums(events)
    middle = _START + dt.timedelta(minutes=2500)
    assert _of(await store.usage.totals(tenant_id=tenant_id, since=middle)) == _sums(
        [event for event in events if event.occurred_at >= middle]
    )
    for by in ("day", "model", "agent", "principal", "conversation"):
        groups: defaultdict[str | None, list[UsageEvent]] = defaultdict(list)
        for event in events:
            local = event.occurred_at.astimezone(zoneinfo.ZoneInfo(zone))
            field = {**_KEYS, "conversation": "conversation_id"}.get(by)
            key = local.date().isoformat() if field is None else getattr(event, field)
            groups[key].append(event)
        rows = await walk(
            lambda by=by, **page: store.usage.rollup(
                tenant_id=tenant_id, by=by, time_zone=zone, **page
            ),
            limit=2,
        )
        assert {row.key: _of(row) for row in rows} == {k: _sums(e) for k, e in groups.items()}


async def test_sums_may_be_larger_than_any_number_of_a_browser_b55(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    batch = [
        NewUsage(input_tokens=LARGEST, cost=LARGEST, currency="EUR", cost_decimals=decimals)
        for decimals in (0, 12, 2)
    ] * 500
    for start in range(0, 1500, 500):
        await store.usage.record(tenant_id=tenant_id, events=batch[start : start + 500])
    totals = await store.usage.totals(tenant_id=tenant_id)
    assert totals.input_tokens == 1500 * LARGEST
    assert totals.costs[0].cost == 500 * LARGEST * (10**12 + 1 + 10**10)
    assert (
        str(totals.costs[0].amount)
        == str(totals.costs[0].cost)[:-12] + "." + (str(totals.costs[0].cost)[-12:])
    )


async def test_no_event_is_cut_off_a_list_or_a_sum_b43(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for start in range(0, 1500, 500):
        await store.usage.record(
            tenant_id=tenant_id,
            events=[NewUsage(input_tokens=1, model=f"m{start + number}") for number in range(500)],
        )
    events = await walk(lambda **page: store.usage.list(tenant_id=tenant_id, **page), limit=500)
    assert len({event.id for event in events}) == 1500
    assert (await store.usage.totals(tenant_id=tenant_id)).event_count == 1500
    models = await walk(
        lambda **page: store.usage.rollup(tenant_id=tenant_id, by="model", **page), limit=500
    )
    assert len(models) == 1500


async def test_an_empty_ledger_sums_to_nothing(adapter: Adapter) -> None:
    tenant_id = await new_tenant(adapter.store)
    totals = await adapter.store.usage.totals(tenant_id=tenant_id)
    assert _of(totals) == _sums([])
    assert (await adapter.store.usage.rollup(tenant_id=tenant_id, by="day")).items == ()


async def test_filters_select(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    names = ("conversation_id", "run_id", "principal_id", "agent_id", "model")
    for name in names:
        await recorded(store, tenant_id, id=name, **{name: "x"}, input_tokens=1)
    for name in names:
        only: dict[str, Any] = {name: "x"}
        page = await store.usage.list(tenant_id=tenant_id, **only)
        assert [event.id for event in page.items] == [name]
        assert (await store.usage.totals(tenant_id=tenant_id, **only)).event_count == 1
        assert (
            await store.usage.totals(tenant_id=tenant_id, **{**only, name: "y"})
        ).event_count == 0
        rows = await store.usage.rollup(tenant_id=tenant_id, by="day", **only)
        assert [row.event_count for row in rows.items] == [1]


async def test_an_unknown_time_zone_is_refused(adapter: Adapter) -> None:
    tenant_id = await new_tenant(adapter.store)
    for zone in ("Mars/Olympus", "", "UTC; drop"):
        with pytest.raises(InvalidArgument):
            await adapter.store.usage.rollup(tenant_id=tenant_id, by="day", time_zone=zone)


# Whose it is, and how long it stays.


async def test_usage_has_the_rule_of_its_conversation(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    talk = await store.conversations.create(
        tenant_id=tenant_id, owner_id=OWNER, participant_ids=[PARTICIPANT]
    )
    event = await recorded(store, tenant_id, conversation_id=talk.id, input_tokens=5)
    loose = await recorded(store, tenant_id, principal_id=STRANGER, input_tokens=7)
    for person, seen in ((OWNER, 5), (PARTICIPANT, 5), (STRANGER, 0)):
        viewer = Viewer(principal_id=person)
        found = await store.usage.find(tenant_id=tenant_id, usage_id=event.id, viewer=viewer)
        assert (found == event) is bool(seen)
        page = await store.usage.list(tenant_id=tenant_id, viewer=viewer)
        assert [e.id for e in page.items] == ([event.id] if seen else [])
        totals = await store.usage.totals(tenant_id=tenant_id, viewer=viewer)
        assert totals.input_tokens == seen
        rows = (await store.usage.rollup(tenant_id=tenant_id, by="day", viewer=viewer)).items
        assert sum(row.input_tokens for row in rows) == seen
        assert await store.usage.find(tenant_id=tenant_id, usage_id=loose.id, viewer=viewer) is None
    assert await counted(store, tenant_id) == 12


async def test_a_user_reads_by_the_same_rule_and_records_nothing(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    event = await recorded(store, tenant_id, conversation_id=talk.id, input_tokens=5)
    await recorded(store, tenant_id, input_tokens=7)
    for person, seen in ((OWNER, 5), (STRANGER, 0)):
        async with adapter.user(tenant_id, person) as user:
            assert (await user.usage.totals(tenant_id=tenant_id)).input_tokens == seen
            found = await user.usage.find(tenant_id=tenant_id, usage_id=event.id)
            assert (found == event) is bool(seen)
            assert len((await user.usage.list(tenant_id=tenant_id)).items) == bool(seen)
            rows = (await user.usage.rollup(tenant_id=tenant_id, by="day")).items
            assert sum(row.input_tokens for row in rows) == seen
            with pytest.raises(PermissionDenied):
                await user.usage.record(tenant_id=tenant_id, events=[NewUsage()])
    assert await counted(store, tenant_id) == 12


async def test_usage_outlives_its_conversation_b83(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id, viewer = talk.tenant_id, Viewer(principal_id=OWNER)
    event = await recorded(store, tenant_id, conversation_id=talk.id, input_tokens=5)
    await store.conversations.soft_delete(**at(talk))
    assert await store.usage.find(tenant_id=tenant_id, usage_id=event.id, viewer=viewer) is None
    receipt = await store.conversations.purge(**at(talk))
    assert "usage_events" not in receipt.tables
    # A late report of what was used, by somebody who did not know.
    await recorded(store, tenant_id, conversation_id=talk.id, input_tokens=2)
    totals = await store.usage.totals(tenant_id=tenant_id, conversation_id=talk.id)
    assert totals.input_tokens == 7
    # Whoever takes the id afterwards does not see what was before.
    await store.conversations.create(
        tenant_id=tenant_id, owner_id=STRANGER, conversation_id=talk.id
    )
    theirs = Viewer(principal_id=STRANGER)
    assert (await store.usage.totals(tenant_id=tenant_id, viewer=theirs)).event_count == 0
    assert (await store.usage.list(tenant_id=tenant_id, viewer=theirs)).items == ()
    await recorded(store, tenant_id, conversation_id=talk.id, input_tokens=3)
    assert (await store.usage.totals(tenant_id=tenant_id, viewer=theirs)).input_tokens == 3
    purged = await store.tenants.purge(tenant_id=tenant_id)
    assert purged.tables["usage_events"] == 3
    with pytest.raises(NotFound):
        await store.usage.record(tenant_id=tenant_id, events=[NewUsage()])


# With a run.


async def _run_totals(store: Ports, talk: Conversation) -> int:
    return (await store.usage.totals(**at(talk))).input_tokens


async def test_a_run_ends_with_its_usage_in_one_transaction(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    run = await claimed(
        store, await queued(store, talk, agent_id="helper", agent_version=2, run_id="r")
    )
    usage = [
        RunUsage(id="u1", step_id="1/plan", model="small", input_tokens=10),
        RunUsage(id="u2", step_id="1/act", input_tokens=5, principal_id="bob", agent_id="other"),
    ]
    # Whatever stops the turn stops its usage, too.
    with pytest.raises(VersionConflict):
        await finished(
            store, run, messages=[answered()], usage=usage, state={}, state_expected_version=7
        )
    assert await _run_totals(store, talk) == 0
    assert (await store.runs.get(**of(run))).status == "running"
    await finished(store, run, messages=[answered()], usage=usage)
    again = await finished(store, run, messages=[answered()], usage=usage)
    assert again.outcome == "duplicate"
    events = {e.id: e for e in (await store.usage.list(**at(talk))).items}
    assert {e.run_id for e in events.values()} == {"r"}
    one, two = events["u1"], events["u2"]
    assert (one.principal_id, one.agent_id, one.agent_version) == (OWNER, "helper", 2)
    assert (two.principal_id, two.agent_id, two.agent_version) == ("bob", "other", None)
    assert await _run_totals(store, talk) == 15


@pytest.mark.parametrize("status", ["failed", "cancelled"])
async def test_usage_of_a_run_that_did_not_complete_is_kept(adapter: Adapter, status: str) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    run = await claimed(store, await queued(store, talk))
    error = {"code": "x"} if status == "failed" else None
    await finished(store, run, status=status, error=error, usage=[RunUsage(input_tokens=3)])
    assert await _run_totals(store, talk) == 3


async def test_usage_before_the_end_needs_the_claim(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    run = await claimed(store, await queued(store, talk))
    step = RunUsage(step_id="1/plan", input_tokens=4)
    (item,) = await store.usage.record_for_run(**held(run), events=[step])
    (same,) = await store.usage.record_for_run(**held(run), events=[step])
    assert (item.outcome, same.outcome, same.id) == ("inserted", "duplicate", item.id)
    with pytest.raises(AlreadyExists):
        await store.usage.record_for_run(
            **held(run), events=[RunUsage(input_tokens=1), step.replace(input_tokens=5)]
        )
    successor = await taken_over(store, run)
    for late in (
        store.usage.record_for_run(**held(run), events=[RunUsage(input_tokens=1)]),
        finished(store, run, usage=[RunUsage(input_tokens=1)]),
    ):
        with pytest.raises(StaleClaim):
            await late
    assert await _run_totals(store, talk) == 4
    with pytest.raises(AlreadyExists):
        await finished(store, successor, usage=[step.replace(input_tokens=9)])
    assert (await store.runs.get(**of(run))).status == "running"
    await finished(store, successor, usage=[step.replace(step_id="2/plan")])
    assert await _run_totals(store, talk) == 8
    await store.conversations.soft_delete(**where(run))
    with pytest.raises(NotFound):
        await store.usage.record_for_run(**held(run), events=[RunUsage()])


def test_run_and_conversation_come_from_the_run() -> None:
    for fields in ({"run_id": "r"}, {"conversation_id": "c"}):
        with pytest.raises(InvalidArgument):
            RunUsage(**fields)
