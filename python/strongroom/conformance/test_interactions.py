"""Questions and approvals: resolved once, and the run goes on once, after the last."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    STRANGER,
    fresh,
    new_talk,
    new_tenant,
    walk,
)
from strongroom.conformance.run_helpers import (
    approval_of,
    approved,
    asked,
    claimed,
    everything_of,
    finished,
    held,
    next_of,
    of,
    queued,
    where,
)
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidTransition,
    NotFound,
    PermissionDenied,
)
from strongroom.models import Viewer
from strongroom.models.interactions import Interaction, ResolvedInteraction

PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)

HOUR = dt.timedelta(hours=1)


def this(interaction: Interaction) -> dict[str, Any]:
    return {"tenant_id": interaction.tenant_id, "interaction_id": interaction.id}


async def test_a_question_and_its_answer(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    expires_at = dt.datetime.now(dt.UTC) + HOUR
    question = await asked(
        store, run, prompt="Röd?", options=["ja", "nej"], addressee_id="bob", expires_at=expires_at
    )
    assert (question.outcome, question.kind, question.status) == ("inserted", "question", "pending")
    assert (question.prompt, question.options) == ("Röd?", ["ja", "nej"])
    assert (question.addressee_id, question.expires_at) == ("bob", expires_at)
    waiting = await store.runs.transition(**held(run), status="waiting_for_question")
    assert (waiting.status, waiting.lease_expires_at) == ("waiting_for_question", None)
    assert await store.runs.transition(**held(run), status="waiting_for_question") == waiting
    assert await next_of(store, run.tenant_id) == []
    done = await store.interactions.answer(
        **this(question), answer={"choice": "ja"}, resolved_by="bob"
    )
    assert (done.outcome, done.status, done.answer) == ("resolved", "answered", {"choice": "ja"})
    assert done.resolved_by == "bob"
    assert done.resolved_at is not None
    assert (await store.runs.get(**of(run))).status == "queued"
    again = await store.interactions.answer(**this(question), answer="nej", resolved_by="eve")
    assert again == done.replace(outcome="already_resolved")
    found = await store.interactions.get(**this(question))
    assert found == await store.interactions.find(**this(question))
    assert dict(found) == {k: v for k, v in dict(done).items() if k != "outcome"}
    assert await next_of(store, run.tenant_id) == [run.id]
    # Asking the same again, as a worker does that starts from a checkpoint, tells the answer.
    successor = await store.runs.get(**of(run))
    repeat = await asked(
        store,
        successor,
        prompt="Röd?",
        options=["ja", "nej"],
        addressee_id="bob",
        interaction_id=question.id,
    )
    assert (repeat.outcome, repeat.answer) == ("duplicate", {"choice": "ja"})
    with pytest.raises(AlreadyExists):
        await asked(store, successor, prompt="Blå?", interaction_id=question.id)


@pytest.mark.parametrize("order", ["answers then pause", "pause then answers", "in between"])
async def test_a_run_goes_on_once_after_its_last_answer(adapter: Adapter, order: str) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    questions = [await asked(store, run, prompt=f"{number}?") for number in range(3)]
    approval = await approval_of(store, run)

    async def answer(question: Interaction) -> None:
        await store.interactions.answer(**this(question), answer=1, resolved_by="ada")

    async def decide() -> None:
        await store.interactions.decide(**this(approval), decision="deny", resolved_by="ada")

    async def pause() -> str:
        return (await store.runs.transition(**held(run), status="waiting_for_approval")).status

    if order == "answers then pause":
        for question in questions:
            await answer(question)
        await decide()
        assert (await store.runs.get(**of(run))).status == "running"
        assert await pause() == "queued"
    elif order == "in between":
        await answer(questions[2])
        assert await pause() == "waiting_for_approval"
        await decide()
        await answer(questions[0])
        assert await next_of(store, run.tenant_id) == []
        await answer(questions[1])
    else:
        assert await pause() == "waiting_for_approval"
        await decide()
        for question in questions:
            assert await next_of(store, run.tenant_id) == []
            await answer(question)
    assert (await store.runs.get(**of(run))).status == "queued"
    assert await next_of(store, run.tenant_id, 10) == [run.id]
    assert await next_of(store, run.tenant_id, 10) == []


async def test_a_run_that_has_asked_nothing_cannot_wait(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    for status in ("waiting_for_question", "waiting_for_approval"):
        with pytest.raises(InvalidTransition):
            await store.runs.transition(**held(run), status=status)
    await asked(store, run)
    with pytest.raises(InvalidTransition):
        await store.runs.transition(**held(run), status="waiting_for_approval")
    for status in ("queued", "completed", "running"):
        with pytest.raises(InvalidArgument):
            await store.runs.transition(**held(run), status=status)  # type: ignore[arg-type]
    assert (await store.runs.get(**of(run))).status == "running"


async def test_what_is_overdue_expires_and_its_run_goes_on(adapter: Adapter) -> None:
    store = adapter.store
    # What is overdue in a deleted conversation rests, and is in nobody's way: it is the oldest here.
    deleted = await claimed(store)
    await asked(store, deleted, expires_at=PAST)
    await store.conversations.soft_delete(**where(deleted))
    run = await claimed(store, await queued(store, await new_talk(store, deleted.tenant_id)))
    overdue = [await asked(store, run, expires_at=PAST) for _ in range(3)]
    pending = await asked(store, run, expires_at=dt.datetime.now(dt.UTC) + HOUR)
    await store.runs.transition(**held(run), status="waiting_for_question")
    assert await store.interactions.expire_due(tenant_id=run.tenant_id, limit=1) == 1
    assert await store.interactions.expire_due(tenant_id=run.tenant_id) == 2
    assert await store.interactions.expire_due(tenant_id=run.tenant_id) == 0
    for question in overdue:
        found = await store.interactions.get(**this(question))
        assert (found.status, found.resolved_by) == ("expired", None)
        late = await store.interactions.answer(**this(question), answer=1, resolved_by="ada")
        assert late.outcome == "already_resolved"
    assert await next_of(store, run.tenant_id) == []
    await store.interactions.answer(**this(pending), answer=1, resolved_by="ada")
    assert await next_of(store, run.tenant_id) == [run.id]
    # An answer that comes too late lets the run go on as well.
    run = await claimed(store)
    question = await asked(store, run, expires_at=PAST)
    await store.runs.transition(**held(run), status="waiting_for_question")
    late = await store.interactions.answer(**this(question), answer=1, resolved_by="ada")
    assert (late.outcome, late.answer) == ("expired", None)
    assert await next_of(store, run.tenant_id) == [run.id]


async def test_one_sweep_serves_all_tenants(adapter: Adapter) -> None:
    store, waiting = adapter.store, []
    for _ in range(3):
        run = await claimed(store)
        await asked(store, run, expires_at=PAST)
        waiting.append(await store.runs.transition(**held(run), status="waiting_for_question"))
    suspended = waiting.pop()
    await store.tenants.suspend(tenant_id=suspended.tenant_id, expected_version=1)
    while await store.interactions.expire_due():
        pass
    for run in waiting:
        assert (await store.runs.get(**of(run))).status == "queued"
    assert (await store.runs.get(**of(suspended))).status == "waiting_for_question"


async def test_the_end_of_a_run_ends_what_it_asked(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    question, kept = await asked(store, run), await approved(store, run)
    await finished(store, run)
    assert (await store.interactions.get(**this(question))).status == "cancelled"
    assert (await store.interactions.get(**this(kept))).status == "approved"


async def test_pages_filters_and_viewers(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    runs = [
        await claimed(store, await queued(store, await new_talk(store, tenant_id)))
        for _ in range(2)
    ]
    made = [(await asked(store, runs[number % 2])).id for number in range(7)]
    listed = store.interactions.list
    rows = await walk(lambda **page: listed(tenant_id=tenant_id, **page), limit=3, back=True)
    assert [row.id for row in rows] == made
    backward = await walk(
        lambda **page: listed(tenant_id=tenant_id, **page),
        limit=2,
        direction="backward",
        back=True,
    )
    assert backward == rows[::-1]
    assert [row.id for row in (await listed(**of(runs[1]))).items] == made[1::2]
    assert [row.id for row in (await listed(**where(runs[0]))).items] == made[::2]
    await store.interactions.answer(**this(rows[3]), answer=None, resolved_by="ada")
    answered = (await listed(tenant_id=tenant_id, status="answered")).items
    assert [(row.id, row.answer) for row in answered] == [(made[3], None)]
    assert len((await listed(tenant_id=tenant_id, status="pending")).items) == 6
    owner, stranger = Viewer(principal_id=OWNER), Viewer(principal_id=STRANGER)
    assert len((await listed(tenant_id=tenant_id, viewer=owner)).items) == 7
    assert (await listed(tenant_id=tenant_id, viewer=stranger)).items == ()
    assert await store.interactions.get(**this(rows[0]), viewer=owner) == rows[0]
    assert await store.interactions.find(**this(rows[0]), viewer=stranger) is None


async def test_what_is_not_well_formed_is_refused_and_nothing_is_written(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    question, approval = await asked(store, run), await approval_of(store, run)
    before = await everything_of(store, run)
    port = store.interactions
    for call in (
        asked(store, run, prompt=""),
        asked(store, run, prompt="x" * 65_537),
        asked(store, run, options=["x" * 65_537]),
        asked(store, run, addressee_id=""),
        approval_of(store, run, tool_name=""),
        approval_of(store, run, tool_name="x" * 256),
        approval_of(store, run, input={"x": "ä" * 524_288}),
        port.answer(**this(question), answer="x" * 65_537, resolved_by="ada"),
        port.answer(**this(approval), answer=1, resolved_by="ada"),
        port.decide(**this(question), decision="allow-once", resolved_by="ada"),
        port.decide(**this(approval), decision="maybe", resolved_by="ada"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidArgument):
            await call
    absent: dict[str, Any] = {"tenant_id": run.tenant_id, "interaction_id": fresh()}
    foreign: dict[str, Any] = {"tenant_id": await new_tenant(store), "interaction_id": question.id}
    for place in (absent, foreign):
        assert await port.find(**place) is None
        for missing in (
            port.get(**place),
            port.answer(**place, answer=1, resolved_by="ada"),
            port.decide(**place, decision="deny", resolved_by="ada"),
            port.claim_approval(**place, claim_token=held(run)["claim_token"]),
        ):
            with pytest.raises(NotFound):
                await missing
    assert await everything_of(store, run) == before
    assert isinstance(question, ResolvedInteraction)


async def test_who_is_asked_answers_and_nobody_else(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    question = await asked(store, run, prompt="Which?", addressee_id=OWNER)
    approval = await approval_of(store, run)
    foreign = await asked(store, run, prompt="Which?", addressee_id=STRANGER)
    async with adapter.user(run.tenant_id, STRANGER) as user:
        # Who cannot read the conversation learns nothing of it, even when asked.
        for hidden in (question, foreign):
            with pytest.raises(NotFound):
                await user.interactions.answer(**this(hidden), answer=1, resolved_by=STRANGER)
        with pytest.raises(NotFound):
            await user.interactions.decide(
                **this(approval), decision="allow-once", resolved_by=STRANGER
            )
    async with adapter.user(run.tenant_id, OWNER) as user:
        for resolved_by, this_one in ((OWNER, foreign), (STRANGER, question)):
            with pytest.raises(PermissionDenied):
                await user.interactions.answer(**this(this_one), answer=1, resolved_by=resolved_by)
        done = await user.interactions.answer(**this(question), answer=1, resolved_by=OWNER)
        assert (done.outcome, done.resolved_by) == ("resolved", OWNER)
        decided = await user.interactions.decide(
            **this(approval), decision="allow-conversation", resolved_by=OWNER
        )
        assert (decided.outcome, decided.decision) == ("resolved", "allow-conversation")
        again = await user.interactions.decide(**this(approval), decision="deny", resolved_by=OWNER)
        assert again == decided.replace(outcome="already_resolved")
