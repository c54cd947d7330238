"""How records end: people are erased, tenants purged, old records swept, each with its receipt."""

from __future__ import annotations

import datetime as dt
from typing import Any, TypedDict

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls import READS, everything, everything_beside, fill
from strongroom.conformance.helpers import (
    OWNER,
    PARTICIPANT,
    at,
    new_talk,
    new_tenant,
    result_of,
    said,
    say,
    texts_of,
    walk,
)
from strongroom.conformance.run_helpers import (
    approval_of,
    asked,
    claimed,
    delta,
    finished,
    held,
    paused,
    queued,
    where,
)
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    StrongroomError,
    TenantMismatch,
    VersionConflict,
)
from strongroom.models import Conversation, ExpiryQueue, NewChunk, NewTopicEvent
from strongroom.retention import EXPIRY_JOB, expire_until_done, run_expiry_job

PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
FUTURE = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)

# Erasing a person


class Docs(TypedDict):
    """A collection's place, for calls."""

    tenant_id: str
    collection_id: str


class Person(TypedDict):
    """A person's place, for calls."""

    tenant_id: str
    principal_id: str


async def _somebody_elses(store: Ports, tenant_id: str) -> Conversation:
    """Make a conversation of the participant in which the owner of the others has a say."""
    talk = await store.conversations.create(
        tenant_id=tenant_id, owner_id=PARTICIPANT, participant_ids=[OWNER, "cleo"]
    )
    await store.messages.append(
        **at(talk),
        messages=[
            said("first", author_id=PARTICIPANT),
            said("mine", author_id=OWNER, metadata={"mood": "mine"}),
            said("last", author_id=PARTICIPANT),
        ],
    )
    return talk


async def test_what_a_person_owns_goes_with_all_that_hangs_on_it(adapter: Adapter) -> None:
    store = adapter.store
    target = await fill(store)
    receipt = await store.lifecycle.erase_principal(tenant_id=target.tenant_id, principal_id=OWNER)
    assert receipt.erased
    assert not receipt.dry_run
    for table in ("conversations", "messages", "runs", "run_events", "checkpoints", "interactions"):
        assert receipt.count(table) >= 1, table
    for method, read in READS.items():
        absent = await result_of(read(store, target.absent(), None))
        assert await result_of(read(store, target, None)) == absent, method
    assert await store.tenants.find_member(tenant_id=target.tenant_id, principal_id=OWNER) is None


async def test_in_others_conversations_their_place_stays_and_their_words_go(
    adapter: Adapter,
) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    talk = await _somebody_elses(store, tenant_id)
    early = await store.summaries.append(**at(talk), text="first", covers_to_position=1)
    await store.summaries.append(**at(talk), text="mine", covers_to_position=2)
    receipt = await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id=OWNER)
    assert {(i.table_name, i.action): i.row_count for i in receipt.items} == {
        ("conversation_participants", "delete"): 1,
        ("messages", "erase"): 1,
        ("thread_summaries", "erase"): 1,
    }
    page = await store.messages.list(**at(talk))
    assert [message.position for message in page.items] == [1, 2, 3]
    erased = page.items[1]
    assert (erased.author_id, erased.metadata) == (None, {})
    assert [part.to_json() for part in erased.parts] == [
        {"type": "status", "schema_version": 1, "status": "erased"}
    ]
    assert texts_of([page.items[0], page.items[2]]) == ["first", "last"]
    latest = await store.summaries.latest(**at(talk))
    assert latest is not None
    assert latest.id == early.id
    kept = await store.conversations.get(**at(talk))
    assert list(kept.participant_ids) == ["cleo"]
    again = await store.messages.append(
        **at(talk), messages=[said("mine", author_id=OWNER, id=erased.id)]
    )
    assert again.items[0].outcome == "conflict"
    assert (await say(store, talk, "next")).items[0].position == 4


async def test_answers_and_decisions_lose_their_person_and_open_questions_expire(
    adapter: Adapter,
) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    talk = await _somebody_elses(store, tenant_id)
    run = await claimed(store, await queued(store, talk))
    answered = await asked(store, run)
    decided = await approval_of(store, run)
    waiting = await asked(store, run, addressee_id=OWNER)
    await store.interactions.answer(
        tenant_id=tenant_id, interaction_id=answered.id, answer="my address", resolved_by=OWNER
    )
    await store.interactions.decide(
        tenant_id=tenant_id,
        interaction_id=decided.id,
        decision="allow-always",
        resolved_by=OWNER,
    )
    await store.runs.transition(**held(run), status="waiting_for_question")
    receipt = await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id=OWNER)
    assert receipt.count("interactions", "erase") == 3
    assert receipt.count("approval_grants") == 1
    found = {
        one.id: one
        for one in (await store.interactions.list(tenant_id=tenant_id, run_id=run.id)).items
    }
    assert (found[answered.id].status, found[answered.id].resolved_by) == ("answered", None)
    assert found[answered.id].answer == {"erased": True}
    assert (found[decided.id].status, found[decided.id].resolved_by) == ("approved", None)
    assert (found[waiting.id].status, found[waiting.id].addressee_id) == ("expired", None)
    assert (await store.runs.get(tenant_id=tenant_id, run_id=run.id)).status == "queued"


async def test_a_second_erasure_finds_nothing_and_others_lose_nothing(adapter: Adapter) -> None:
    store = adapter.store
    target = await fill(store)
    other = await fill(store)
    theirs = await new_talk_of(store, target.tenant_id, PARTICIPANT)
    await say(store, theirs, "kept")
    before = await everything(store, other), await everything_beside(store, other)
    await store.lifecycle.erase_principal(tenant_id=target.tenant_id, principal_id=OWNER)
    again = await store.lifecycle.erase_principal(tenant_id=target.tenant_id, principal_id=OWNER)
    assert (again.erased, again.items, again.receipt_id) == (False, (), None)
    receipts = await store.lifecycle.list_receipts(tenant_id=target.tenant_id)
    assert len(receipts.items) == 1
    assert (await everything(store, other), await everything_beside(store, other)) == before
    assert await store.messages.count(**at(theirs)) == 1


async def new_talk_of(store: Ports, tenant_id: str, owner_id: str) -> Conversation:
    """Create a conversation of this owner."""
    return await store.conversations.create(tenant_id=tenant_id, owner_id=owner_id)


async def test_a_late_worker_of_an_erased_person_is_refused(adapter: Adapter) -> None:
    store = adapter.store
    run = await claimed(store)
    await store.lifecycle.erase_principal(tenant_id=run.tenant_id, principal_id=OWNER)
    for write in (
        store.runs.append_events(**held(run), events=[delta("late")]),
        store.checkpoints.save(**held(run), expected_sequence=0, state={}),
        store.runs.finish(**held(run), status="completed"),
    ):
        with pytest.raises(StrongroomError) as caught:
            await write
        assert caught.value.code in {"SR010", "SR031"}
    receipt = await store.lifecycle.erase_principal(tenant_id=run.tenant_id, principal_id=OWNER)
    assert not receipt.erased


async def test_a_dry_run_says_the_same_and_changes_nothing(adapter: Adapter) -> None:
    store = adapter.store
    target = await fill(store)
    await _somebody_elses(store, target.tenant_id)
    before = await everything(store, target), await everything_beside(store, target)
    ids = Person(tenant_id=target.tenant_id, principal_id=OWNER)
    tried = await store.lifecycle.erase_principal(**ids, dry_run=True)
    purge = await store.conversations.purge(**target.where, dry_run=True)
    whole = await store.tenants.purge(tenant_id=target.tenant_id, dry_run=True)
    assert (tried.dry_run, tried.receipt_id) == (True, None)
    assert (purge.dry_run, whole.dry_run, whole.receipt_id) == (True, True, None)
    assert (await everything(store, target), await everything_beside(store, target)) == before
    assert (await store.lifecycle.list_receipts(tenant_id=target.tenant_id)).items == ()
    assert (
        whole.tables == (await store.tenants.purge(tenant_id=target.tenant_id, dry_run=True)).tables
    )
    done = await store.lifecycle.erase_principal(**ids)
    assert done.items == tried.items
    assert purge.tables["conversations"] == 1


async def test_a_repeat_with_its_receipt_id_gets_the_stored_receipt(adapter: Adapter) -> None:
    store = adapter.store
    target = await fill(store)
    ids = Person(tenant_id=target.tenant_id, principal_id=OWNER)
    first = await store.lifecycle.erase_principal(**ids, receipt_id="r1")
    assert first.receipt_id == "r1"
    assert await store.lifecycle.erase_principal(**ids, receipt_id="r1") == first
    for call in (
        store.lifecycle.erase_principal(
            tenant_id=target.tenant_id, principal_id=PARTICIPANT, receipt_id="r1"
        ),
        store.tenants.purge(tenant_id=target.tenant_id, receipt_id="r1"),
    ):
        with pytest.raises(AlreadyExists):
            await call
    purged = await store.tenants.purge(tenant_id=target.tenant_id, receipt_id="r2")
    assert purged.purged
    assert await store.tenants.purge(tenant_id=target.tenant_id, receipt_id="r2") == purged


async def test_receipts_outlive_the_tenant_and_name_nobody(adapter: Adapter) -> None:
    store = adapter.store
    target = await fill(store)
    lifecycle = store.lifecycle
    erased = await lifecycle.erase_principal(tenant_id=target.tenant_id, principal_id=OWNER)
    purged = await store.tenants.purge(tenant_id=target.tenant_id)
    page = await lifecycle.list_receipts(tenant_id=target.tenant_id)
    assert [(r.kind, r.id) for r in page.items] == [
        ("tenant", purged.receipt_id),
        ("principal", erased.receipt_id),
    ]
    assert page.items[1].items == erased.items
    assert {i.table_name: i.row_count for i in page.items[0].items} == purged.tables
    assert OWNER not in {str(v) for r in page.items for v in dict(r).values()}
    about = await lifecycle.list_receipts(tenant_id=target.tenant_id, principal_id=OWNER)
    assert [r.id for r in about.items] == [erased.receipt_id]
    nobody = await lifecycle.list_receipts(tenant_id=target.tenant_id, principal_id="zoe")
    assert nobody.items == ()
    elsewhere = await lifecycle.list_receipts(tenant_id=await new_tenant(store))
    assert elsewhere.items == ()


async def test_erasure_needs_a_tenant_and_works_in_a_suspended_one(adapter: Adapter) -> None:
    store = adapter.store
    with pytest.raises(NotFound):
        await store.lifecycle.erase_principal(tenant_id="nobody's", principal_id=OWNER)
    talk = await new_talk(store)
    await store.tenants.suspend(tenant_id=talk.tenant_id, expected_version=1)
    receipt = await store.lifecycle.erase_principal(tenant_id=talk.tenant_id, principal_id=OWNER)
    assert receipt.count("conversations") == 1


async def test_pages_of_receipts_cover_each_once(adapter: Adapter) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    made = []
    for name in ("a", "b", "c", "d", "e"):
        await new_talk_of(store, tenant_id, name)
        receipt = await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id=name)
        made.append(receipt.receipt_id)
    rows = await walk(
        lambda **page: store.lifecycle.list_receipts(tenant_id=tenant_id, **page),
        limit=2,
        back=True,
    )
    assert [row.id for row in rows] == made[::-1]


# Retention policies


async def test_a_policy_is_versioned(adapter: Adapter) -> None:
    lifecycle, tenant_id = adapter.store.lifecycle, await new_tenant(adapter.store)
    ids = {"tenant_id": tenant_id, "kind": "jobs"}
    made = await lifecycle.set_policy(**ids, keep_seconds=60, expected_version=0)
    assert (made.keep_seconds, made.version, made.swept_at) == (60, 1, None)
    with pytest.raises(VersionConflict) as conflict:
        await lifecycle.set_policy(**ids, keep_seconds=70, expected_version=0)
    assert conflict.value.detail["current_version"] == 1
    changed = await lifecycle.set_policy(**ids, keep_seconds=70, expected_version=1)
    assert (changed.keep_seconds, changed.version) == (70, 2)
    assert (await lifecycle.list_policies(tenant_id=tenant_id)).items == (changed,)
    assert await lifecycle.remove_policy(**ids)
    assert not await lifecycle.remove_policy(**ids)
    assert (await lifecycle.list_policies(tenant_id=tenant_id)).items == ()
    with pytest.raises(NotFound):
        await lifecycle.set_policy(**ids, keep_seconds=70, expected_version=2)


async def test_a_policy_is_about_a_known_kind_and_a_sane_time(adapter: Adapter) -> None:
    lifecycle, tenant_id = adapter.store.lifecycle, await new_tenant(adapter.store)
    with pytest.raises(InvalidArgument) as unknown:
        await lifecycle.set_policy(
            tenant_id=tenant_id, kind="tenants", keep_seconds=1, expected_version=0
        )
    assert unknown.value.detail["path"] == "kind"
    for kind in ("conversations", "deleted_conversations", "run_events", "jobs"):
        assert kind in unknown.value.detail["choices"]
    for seconds in (-1, 3_155_760_001):
        with pytest.raises((InvalidArgument, LimitExceeded)):
            await lifecycle.set_policy(
                tenant_id=tenant_id, kind="jobs", keep_seconds=seconds, expected_version=0
            )


async def test_pages_of_policies_cover_each_once(adapter: Adapter) -> None:
    lifecycle, tenant_id = adapter.store.lifecycle, await new_tenant(adapter.store)
    kinds = ["conversations", "interactions", "jobs", "run_events", "topic_events"]
    for kind in reversed(kinds):
        await lifecycle.set_policy(
            tenant_id=tenant_id, kind=kind, keep_seconds=1, expected_version=0
        )
    rows = await walk(
        lambda **page: lifecycle.list_policies(tenant_id=tenant_id, **page), limit=2, back=True
    )
    assert [row.kind for row in rows] == kinds


# The sweep


async def _keep(store: Ports, tenant_id: str, **kinds: int) -> None:
    for kind, seconds in kinds.items():
        await store.lifecycle.set_policy(
            tenant_id=tenant_id, kind=kind, keep_seconds=seconds, expected_version=0
        )


async def _swept(
    store: Ports, tenant_id: str, limit: int = 100
) -> dict[str, tuple[int, int, bool]]:
    done = await store.lifecycle.sweep(tenant_id=tenant_id, limit=limit)
    assert {one.tenant_id for one in done} <= {tenant_id}
    return {one.kind: (one.row_count, one.held, one.has_more) for one in done}


async def test_without_a_policy_everything_stays(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    before = await everything(adapter.store, target)
    assert await adapter.store.lifecycle.sweep(tenant_id=target.tenant_id) == ()
    assert await everything(adapter.store, target) == before


async def test_a_sweep_leaves_what_is_not_old_enough(adapter: Adapter) -> None:
    store = adapter.store
    target = await fill(store)
    kinds = ["approval_grants", "checkpoints", "conversations", "deleted_conversations"]
    kinds += ["interactions", "jobs", "memories", "run_events", "tool_outputs", "topic_events"]
    kinds += ["framework_sessions", "transcripts"]
    await _keep(store, target.tenant_id, **dict.fromkeys(kinds, 3600))
    before = await everything(store, target), await everything_beside(store, target)
    assert set((await _swept(store, target.tenant_id)).values()) == {(0, 0, False)}
    assert (await everything(store, target), await everything_beside(store, target)) == before
    policies = (await store.lifecycle.list_policies(tenant_id=target.tenant_id)).items
    assert all(policy.swept_at is not None for policy in policies)


async def test_live_runs_and_pending_interactions_hold_their_conversation(
    adapter: Adapter,
) -> None:
    """Also where everything is older than its policy: nothing of them is touched."""
    store = adapter.store
    target = await fill(store)
    await _keep(store, target.tenant_id, conversations=0, run_events=0, checkpoints=0)
    await _keep(store, target.tenant_id, deleted_conversations=0)
    before = await everything(store, target)
    swept = await _swept(store, target.tenant_id)
    assert swept["conversations"] == (0, 1, False)
    assert (swept["run_events"], swept["checkpoints"]) == ((0, 0, False), (0, 0, False))
    assert await everything(store, target) == before
    await store.conversations.soft_delete(**target.where)
    swept = await _swept(store, target.tenant_id)
    assert swept["deleted_conversations"] == (0, 1, False)
    await store.conversations.restore(**target.where)


async def test_idle_conversations_are_soft_deleted_and_then_purged_in_bounded_steps(
    adapter: Adapter,
) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    talks = [await new_talk(store, tenant_id) for _ in range(5)]
    for talk in talks:
        await say(store, talk, "old")
    run, _ = await paused(store, await claimed(store, await queued(store, talks[0])))
    await _keep(store, tenant_id, conversations=0)
    for _ in range(2):
        (tried,) = await store.lifecycle.sweep(tenant_id=tenant_id, limit=3, dry_run=True)
        assert (tried.row_count, tried.held, tried.has_more) == (3, 1, True)
    assert len((await store.conversations.list(tenant_id=tenant_id)).items) == 5
    policies = await store.lifecycle.list_policies(tenant_id=tenant_id)
    assert [policy.swept_at for policy in policies.items] == [None]
    assert (await _swept(store, tenant_id, 3))["conversations"] == (3, 1, True)
    assert (await _swept(store, tenant_id, 3))["conversations"] == (1, 1, False)
    listed = await store.conversations.list(tenant_id=tenant_id)
    assert [talk.id for talk in listed.items] == [talks[0].id]
    await _keep(store, tenant_id, deleted_conversations=0)
    assert (await _swept(store, tenant_id, 2))["deleted_conversations"] == (2, 0, True)
    assert (await _swept(store, tenant_id, 3))["deleted_conversations"] == (2, 0, False)
    assert (await store.conversations.list(tenant_id=tenant_id, deleted=True)).items == ()
    assert await store.runs.find(tenant_id=tenant_id, run_id=run.id) is not None


async def test_of_ended_runs_events_and_checkpoints_go_and_the_answer_stays(
    adapter: Adapter,
) -> None:
    store = adapter.store
    run = await claimed(store)
    await store.runs.append_events(**held(run), events=[delta(str(n)) for n in range(3)])
    await store.checkpoints.save(**held(run), expected_sequence=0, state={"step": 1})
    question = await asked(store, run)
    await store.interactions.answer(
        tenant_id=run.tenant_id, interaction_id=question.id, answer="x", resolved_by=OWNER
    )
    await finished(store, run, messages=[said("done", role="assistant")])
    await _keep(store, run.tenant_id, run_events=0, checkpoints=0, interactions=0)
    swept = await _swept(store, run.tenant_id, 2)
    assert swept == {
        "checkpoints": (1, 0, False),
        "interactions": (1, 0, False),
        "run_events": (2, 0, True),
    }
    assert (await _swept(store, run.tenant_id, 2))["run_events"] == (1, 0, False)
    assert await store.runs.list_events(tenant_id=run.tenant_id, run_id=run.id) == ()
    assert texts_of((await store.messages.list(**where(run))).items) == ["done"]
    ended = await store.runs.get(tenant_id=run.tenant_id, run_id=run.id)
    assert ended.status == "completed"


async def test_ended_jobs_grants_and_old_events_go(adapter: Adapter) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    await store.jobs.enqueue(tenant_id=tenant_id, kind="k", queue="q", job_id="waits")
    await store.jobs.enqueue(tenant_id=tenant_id, kind="k", queue="other", job_id="ends")
    await store.jobs.cancel(tenant_id=tenant_id, job_id="ends")
    grant = await store.interactions.grant(
        tenant_id=tenant_id, principal_id=OWNER, tool_name="refund", granted_by=OWNER
    )
    other = await store.interactions.grant(
        tenant_id=tenant_id, principal_id=OWNER, tool_name="call", granted_by=OWNER
    )
    await store.interactions.revoke_grant(tenant_id=tenant_id, grant_id=grant.id)
    events = [NewTopicEvent(kind="said") for _ in range(3)]
    await store.realtime.publish(tenant_id=tenant_id, topic="t", events=events)
    await _keep(store, tenant_id, jobs=0, approval_grants=0, topic_events=0)
    assert await _swept(store, tenant_id, 2) == {
        "approval_grants": (1, 0, False),
        "jobs": (1, 0, False),
        "topic_events": (2, 0, True),
    }
    assert await store.jobs.find(tenant_id=tenant_id, job_id="ends") is None
    assert await store.jobs.find(tenant_id=tenant_id, job_id="waits") is not None
    left = await store.realtime.list(tenant_id=tenant_id, topic="t", after_sequence=2)
    assert [event.sequence for event in left] == [3]
    kept = await store.interactions.list_grants(tenant_id=tenant_id)
    assert [one.id for one in kept.items] == [other.id]


async def test_unused_facts_and_old_tool_outputs_go_but_not_under_a_live_run(
    adapter: Adapter,
) -> None:
    store = adapter.store
    target = await fill(store)
    tenant_id = target.tenant_id
    whose: Person = {"tenant_id": tenant_id, "principal_id": target.memory.principal_id}
    quiet = await new_talk(store, tenant_id)
    await store.tool_outputs.put(**at(quiet), text="old")
    facts = len((await store.principal_memory.list(**whose)).items)
    await _keep(store, tenant_id, memories=0, tool_outputs=0)
    swept = await _swept(store, tenant_id)
    assert swept["memories"][0] >= facts > 0
    assert swept["tool_outputs"] == (1, 0, False)
    assert (await store.principal_memory.list(**whose)).items == ()
    assert (await store.tool_outputs.list(**at(quiet))).items == ()
    assert (await store.tool_outputs.list(**target.where)).items != ()


async def test_of_knowledge_what_they_alone_could_see_goes_and_elsewhere_their_name(
    adapter: Adapter,
) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    theirs, other = f"principal:{OWNER}", f"principal:{PARTICIPANT}"
    docs: Docs = {"tenant_id": tenant_id, "collection_id": "docs"}
    await store.knowledge.create_collection(**docs, name="docs")
    for name, subjects in (("alone", [theirs]), ("shared", [theirs, other])):
        await store.knowledge.replace_source(
            **docs, external_ref=name, auth_subjects=subjects, chunks=[NewChunk(content=name)]
        )
    everyones = await store.knowledge.replace_source(
        **docs,
        external_ref="all",
        chunks=[
            NewChunk(content="everyone's"),
            NewChunk(content="theirs", auth_subjects=(theirs,)),
            NewChunk(content="both", auth_subjects=(theirs, other)),
        ],
    )
    receipt = await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id=OWNER)
    assert (receipt.count("sources", "erase"), receipt.count("chunks", "erase")) == (2, 2)
    left = {
        source.external_ref: source for source in (await store.knowledge.list_sources(**docs)).items
    }
    assert {name: source.auth_subjects for name, source in left.items()} == {
        "shared": (other,),
        "all": ("tenant",),
    }
    assert left["all"].chunk_count == 2
    chunks = (await store.knowledge.list_chunks(tenant_id=tenant_id, source_id=everyones.id)).items
    assert [(chunk.number, chunk.content, chunk.auth_subjects) for chunk in chunks] == [
        (1, "everyone's", None),
        (3, "both", (other,)),
    ]


async def test_the_audit_tells_of_policies_and_that_somebody_was_erased(adapter: Adapter) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    await store.tenants.add_member(tenant_id=tenant_id, principal_id=OWNER)
    ids = {"tenant_id": tenant_id, "kind": "jobs"}
    await store.lifecycle.set_policy(**ids, keep_seconds=60, expected_version=0)
    await store.lifecycle.remove_policy(**ids)
    await store.lifecycle.remove_policy(**ids)
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id=OWNER, dry_run=True)
    receipt = await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id=OWNER)
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id=OWNER)
    told = [
        (event.action, event.record_id, event.details)
        for event in (await store.audit.list(tenant_id=tenant_id)).items
        if event.action.startswith(("retention.", "principal."))
    ]
    assert sorted(told) == [
        ("principal.erase", receipt.receipt_id, {}),
        ("retention.remove", "jobs", {}),
        ("retention.set", "jobs", {"keep_seconds": 60, "version": 1}),
    ]


async def test_a_sweep_of_all_tenants_takes_those_that_are_due(adapter: Adapter) -> None:
    store = adapter.store
    talk = await new_talk(store)
    await _keep(store, talk.tenant_id, conversations=0)
    done = await store.lifecycle.sweep(limit=500)
    assert talk.tenant_id in {one.tenant_id for one in done}
    again = await store.lifecycle.sweep(limit=500)
    assert talk.tenant_id not in {one.tenant_id for one in again}, "it was swept within the hour"


async def test_health_says_how_far_retention_has_come(adapter: Adapter) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    for policies in (0, 1):
        state = (await store.health(tenant_id=tenant_id)).retention
        assert state is not None
        assert (state.policies, state.overdue, state.swept_at) == (policies, 0, None)
        await _keep(store, tenant_id, **({} if policies else {"jobs": 5}))
    await _swept(store, tenant_id)
    state = (await store.health(tenant_id=tenant_id)).retention
    assert state is not None
    assert state.swept_at is not None


async def _expiring(store: Ports, tenant_id: str, count: int) -> str:
    """Make count records of each kind that have expired, and one that has not; return the talk's id."""
    talk = await new_talk(store, tenant_id)
    for number in range(count + 1):
        at = PAST + dt.timedelta(minutes=number) if number < count else FUTURE
        await store.tool_outputs.put(
            tenant_id=tenant_id, conversation_id=talk.id, text=f"{number}", expires_at=at
        )
        await store.principal_memory.put(
            tenant_id=tenant_id,
            principal_id=OWNER,
            text=f"{number}",
            source="extracted",
            expires_at=at,
        )
    return talk.id


async def _expired(store: Ports, **of: Any) -> tuple[dict[str, int], set[str]]:
    done = await store.lifecycle.expire(**of)
    assert [one.kind for one in done] == ["framework_records", "memories", "tool_outputs"]
    return {one.kind: one.expired for one in done}, {one.kind for one in done if one.has_more}


async def test_what_has_expired_goes_in_bounded_steps_the_oldest_first(adapter: Adapter) -> None:
    store = adapter.store
    tenant_id = await new_tenant(store)
    await _expiring(store, tenant_id, 2)
    waiting = await store.lifecycle.expiry_queue(tenant_id=tenant_id)
    assert (waiting.expired, waiting.oldest_at) == (4, PAST)
    assert (await store.health(tenant_id=tenant_id)).expiry == waiting
    nothing = {"framework_records": 0, "memories": 0, "tool_outputs": 0}
    of = {"tenant_id": tenant_id}
    done, more = await _expired(store, **of, limit=3)
    assert done == nothing | {"memories": 2, "tool_outputs": 1}
    assert more == {"tool_outputs"}
    assert await _expired(store, **of, limit=3) == (nothing | {"tool_outputs": 1}, set())
    assert await _expired(store, **of) == (nothing, set())
    assert await store.lifecycle.expiry_queue(tenant_id=tenant_id) == ExpiryQueue(
        expired=0, oldest_at=None
    )


async def test_what_has_expired_of_all_tenants_goes_but_where_they_rest(adapter: Adapter) -> None:
    store = adapter.store
    tenants = [await new_tenant(store) for _ in range(3)]
    talks = {tenant_id: await _expiring(store, tenant_id, 2) for tenant_id in tenants}
    one, busy, asleep = tenants
    # What a run may still point at stays; nor does anything change in a suspended tenant.
    run = await store.runs.create(tenant_id=busy, conversation_id=talks[busy])
    await store.tenants.suspend(tenant_id=asleep, expected_version=1)
    await expire_until_done(store, limit=3)
    assert [
        (await store.lifecycle.expiry_queue(tenant_id=tenant_id)).expired for tenant_id in tenants
    ] == [0, 0, 4]
    kept = [
        len((await store.tool_outputs.list(tenant_id=tenant_id, conversation_id=talk)).items)
        for tenant_id, talk in talks.items()
    ]
    assert kept == [1, 3, 3]
    await store.runs.request_cancel(tenant_id=busy, run_id=run.id)
    assert (await store.lifecycle.expiry_queue(tenant_id=busy)).expired == 2
    with pytest.raises(PermissionDenied):
        await store.lifecycle.expire(tenant_id=asleep)
    with pytest.raises(NotFound):
        await store.lifecycle.expire(tenant_id="nobody's")
    with pytest.raises(LimitExceeded):
        await store.lifecycle.expire(limit=501)
    if "transactions" in adapter.capabilities:
        async with store.unit_of_work(tenant_id=busy) as uow:
            with pytest.raises(TenantMismatch):
                await uow.lifecycle.expire()
            assert (await _expired(uow, tenant_id=busy))[0]["tool_outputs"] == 2
    job = await store.jobs.enqueue(tenant_id=one, kind=EXPIRY_JOB)
    assert all(step.expired == 0 for step in await run_expiry_job(store, job))


async def test_a_sweep_needs_its_tenant(adapter: Adapter) -> None:
    with pytest.raises(NotFound):
        await adapter.store.lifecycle.sweep(tenant_id="nobody's")
