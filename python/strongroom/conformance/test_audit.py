"""The audit: who did what, recorded with what was done, and sealed so that a change shows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, at, new_talk, new_tenant, walk
from strongroom.conformance.run_helpers import (
    answered,
    approval_of,
    claimed,
    finished,
    held,
    queued,
)
from strongroom.errors import (
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    TenantMismatch,
    VersionConflict,
)
from strongroom.models import AgentBinding, AuditEvent, AuditSeal, NewAuditEvent


async def events_of(store: Ports, tenant_id: str, **filters: Any) -> list[AuditEvent]:
    """Return all events, oldest first."""
    return await walk(
        lambda **page: store.audit.list(tenant_id=tenant_id, **filters, **page), limit=500
    )


async def told(store: Ports, tenant_id: str) -> list[tuple[str, str | None, str | None]]:
    """Return what happened, who did it, and whom it is about."""
    return [(e.action, e.actor_id, e.principal_id) for e in await events_of(store, tenant_id)]


def exported(number: int = 1, **fields: Any) -> NewAuditEvent:
    """Return an event of the host's own."""
    return NewAuditEvent(
        **{"action": "report.export", "record": "report", "record_id": f"r{number}", **fields}
    )


# What the functions record.


async def test_tenants_and_members_leave_their_trace(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    where: dict[str, Any] = {"tenant_id": tenant_id}
    await store.tenants.create(**where, name="Conformance")  # a repeat is nothing new
    await store.tenants.update(**where, expected_version=1, name="New")
    await store.tenants.suspend(**where, expected_version=2)
    await store.tenants.resume(**where, expected_version=3)
    with pytest.raises(VersionConflict):
        await store.tenants.update(**where, expected_version=1, name="Stale")
    await store.tenants.add_member(**where, principal_id="bob", role_ids=["admin"])
    await store.tenants.set_member_roles(
        **where, principal_id="bob", role_ids=[f"r{n}" for n in range(20)], expected_version=1
    )
    await store.tenants.remove_member(**where, principal_id="bob")
    await store.tenants.remove_member(**where, principal_id="bob")
    assert await told(store, tenant_id) == [
        ("tenant.create", None, None),
        ("tenant.update", None, None),
        ("tenant.suspend", None, None),
        ("tenant.resume", None, None),
        ("member.add", None, "bob"),
        ("member.set_roles", None, "bob"),
        ("member.remove", None, "bob"),
    ]
    events = {e.action: e for e in await events_of(store, tenant_id)}
    assert events["tenant.update"].details == {"version": 2, "changed": ["name"]}
    assert events["member.add"].details == {"role_count": 1, "role_ids": ["admin"]}
    assert events["member.set_roles"].details == {
        "role_count": 20,
        "role_ids": [f"r{n}" for n in range(8)],
        "version": 2,
    }
    assert {e.source for e in events.values()} == {"strongroom"}


async def test_conversations_leave_their_trace(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await store.conversations.share(
        **at(talk), visibility="tenant", participant_ids=["eve", "bob"], expected_version=1
    )
    await store.conversations.share(
        **at(talk), visibility="private", participant_ids=["bob", "cleo"], expected_version=2
    )
    agent = AgentBinding(agent_id="helper", policy="pinned", version=3)
    await store.conversations.bind_agent(**at(talk), agent=agent, expected_version=3)
    for _ in range(2):
        await store.conversations.soft_delete(**at(talk))
    for _ in range(2):
        await store.conversations.restore(**at(talk))
    for _ in range(2):
        await store.conversations.purge(**at(talk))
    assert (await told(store, talk.tenant_id))[1:] == [
        ("conversation.share", None, None),
        ("conversation.add_participant", None, "bob"),
        ("conversation.add_participant", None, "eve"),
        ("conversation.share", None, None),
        ("conversation.add_participant", None, "cleo"),
        ("conversation.remove_participant", None, "eve"),
        ("conversation.bind_agent", None, None),
        ("conversation.soft_delete", None, None),
        ("conversation.restore", None, None),
        ("conversation.purge", None, None),
    ]
    events = await events_of(store, talk.tenant_id, record="conversation", record_id=talk.id)
    assert len(events) == 10
    assert [e.details for e in events if e.action == "conversation.share"] == [
        {"visibility": "tenant", "version": 2},
        {"visibility": "private", "version": 3},
    ]


async def test_runs_approvals_and_grants_leave_their_trace(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    run = await claimed(store, await queued(store, talk))
    approval = await approval_of(store, run)
    this = {"tenant_id": tenant_id, "interaction_id": approval.id}
    for _ in range(2):
        await store.interactions.decide(**this, decision="allow-once", resolved_by="cleo")
    for _ in range(2):
        await store.interactions.claim_approval(**this, claim_token=held(run)["claim_token"])
    for _ in range(2):
        grant = await store.interactions.grant(
            tenant_id=tenant_id,
            principal_id=OWNER,
            tool_name="refund",
            granted_by="cleo",
            grant_id="g",
        )
    for _ in range(2):
        await store.interactions.revoke_grant(tenant_id=tenant_id, grant_id=grant.id)
    for _ in range(2):
        await finished(store, run, messages=[answered("a secret")])
    assert (await told(store, tenant_id))[1:] == [
        ("approval.decide", "cleo", None),
        ("approval.claim", None, None),
        ("grant.grant", "cleo", OWNER),
        ("grant.revoke", None, OWNER),
        ("run.finish", None, None),
    ]
    finish = (await events_of(store, tenant_id, action="run.finish"))[0]
    assert (finish.record, finish.record_id) == ("run", run.id)
    assert finish.details == {"status": "completed", "attempt": 1, "conversation_id": talk.id}
    assert "secret" not in str(await events_of(store, tenant_id))


async def test_every_end_of_a_run_is_told(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    waiting = await queued(store, await new_talk(store, tenant_id))
    await store.runs.request_cancel(tenant_id=tenant_id, run_id=waiting.id)
    run = await claimed(store, await queued(store, await new_talk(store, tenant_id)))
    await finished(store, run, status="failed", error={"code": "x"})
    events = await events_of(store, tenant_id, action="run.finish")
    assert [(e.record_id, e.details["status"]) for e in events] == [
        (waiting.id, "cancelled"),
        (run.id, "failed"),
    ]


async def test_what_is_rolled_back_leaves_no_trace(adapter: Adapter) -> None:
    if "transactions" not in adapter.store.capabilities:
        pytest.skip("this adapter has no transactions")
    store, talk = adapter.store, await new_talk(adapter.store)

    async def purge_and_stumble() -> None:
        async with store.unit_of_work(tenant_id=talk.tenant_id) as uow:
            await uow.conversations.purge(**at(talk))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await purge_and_stumble()
    assert await told(store, talk.tenant_id) == [("tenant.create", None, None)]


# The host's own events.


async def test_an_event_comes_back_as_it_was_given(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    given = exported(id="e1", details={"rows": 7}, actor_id="ada", principal_id="bob")
    (event,) = await store.audit.append(tenant_id=tenant_id, events=[given])
    assert event.outcome == "inserted"
    assert {k: getattr(event, k) for k in dict(given)} == dict(given)
    assert (event.source, event.position, event.chain_digest) == ("host", None, None)
    found = await store.audit.get(tenant_id=tenant_id, event_id="e1")
    assert dict(found) == {k: v for k, v in dict(event).items() if k != "outcome"}
    assert await store.audit.find(tenant_id=tenant_id, event_id="e2") is None
    with pytest.raises(NotFound):
        await store.audit.get(tenant_id=tenant_id, event_id="e2")
    for changed, outcome in (
        (given, "duplicate"),
        (given.replace(details={"rows": 8}), "conflict"),
        (given.replace(actor_id="eve"), "conflict"),
        (given.replace(principal_id=None), "conflict"),
        (given.replace(action="report.read"), "conflict"),
    ):
        (again,) = await store.audit.append(tenant_id=tenant_id, events=[changed])
        assert (again.outcome, again.details) == (outcome, {"rows": 7})
    assert len(await events_of(store, tenant_id)) == 2


async def test_a_bad_batch_is_refused_whole(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for batch, kind in (
        ([exported(id="a"), exported(id="a")], InvalidArgument),
        ([exported(), exported(details={"x": "x" * 17_000})], LimitExceeded),
        ([], InvalidArgument),
        ([exported() for _ in range(501)], LimitExceeded),
    ):
        with pytest.raises(kind):
            await store.audit.append(tenant_id=tenant_id, events=batch)
    assert len(await events_of(store, tenant_id)) == 1
    bad: list[dict[str, Any]] = [{"action": "Export"}, {"action": "export"}, {"record": ""}]
    for fields in (*bad, {"source": "x"}):
        with pytest.raises(InvalidArgument):
            exported(**fields)


async def test_filters_select(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await store.audit.append(
        tenant_id=tenant_id,
        events=[
            exported(1, actor_id="ada"),
            exported(2, principal_id="bob"),
            exported(3, action="report.read"),
        ],
    )
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({"action": "report.export"}, ["r1", "r2"]),
        ({"record": "report"}, ["r1", "r2", "r3"]),
        ({"record": "report", "record_id": "r3"}, ["r3"]),
        ({"actor_id": "ada"}, ["r1"]),
        ({"principal_id": "bob"}, ["r2"]),
        ({"actor_id": "bob"}, []),
        ({"until": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, []),
    ]
    for filters, ids in expected:
        events = await events_of(store, tenant_id, **filters)
        assert sorted(e.record_id for e in events) == ids
    everything = await events_of(store, tenant_id)
    after = everything[0].created_at
    assert await events_of(store, tenant_id, since=after) == everything


# The chain.


async def test_sealing_goes_in_bounded_steps_and_holds(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await store.audit.append(tenant_id=tenant_id, events=[exported(n) for n in range(6)])
    steps = []
    while True:
        seal = await store.audit.seal(tenant_id=tenant_id, limit=3)
        steps.append((seal.sealed, seal.last_position, seal.has_more))
        if not seal.has_more:
            break
    assert steps == [(3, 3, True), (3, 6, True), (1, 7, False)]
    nothing = await store.audit.seal(tenant_id=tenant_id)
    assert (nothing.sealed, nothing.last_position, nothing.digest) == (0, 7, seal.digest)
    events = await events_of(store, tenant_id)
    assert [e.position for e in sorted(events, key=lambda e: e.sequence)] == [*range(1, 8)]
    assert len({e.chain_digest for e in events}) == 7
    place, seen = 0, []
    while True:
        checked = await store.audit.verify(tenant_id=tenant_id, after_position=place, limit=4)
        assert checked.is_sound
        seen.append(checked.verified_to)
        if not checked.has_more:
            break
        place = checked.verified_to
    assert seen == [4, 7]
    # What comes later goes on top.
    await store.audit.append(tenant_id=tenant_id, events=[exported(9)])
    known: dict[str, Any] = {"known_position": seal.last_position, "known_digest": seal.digest}
    assert (await store.audit.verify(tenant_id=tenant_id, **known)).is_sound
    assert (await store.audit.seal(tenant_id=tenant_id)).last_position == 8
    assert (await store.audit.verify(tenant_id=tenant_id, **known)).verified_to == 8


async def test_a_sweep_seals_what_every_tenant_has_the_longest_waiting_first(
    adapter: Adapter,
) -> None:
    store = adapter.store
    first, second, asleep = [await new_tenant(store) for _ in range(3)]
    for tenant_id in (first, second):
        await store.audit.append(tenant_id=tenant_id, events=[exported(1), exported(2)])
    await store.tenants.suspend(tenant_id=asleep, expected_version=1)
    mine = {first: 3, second: 3, asleep: 2}
    waiting = await store.audit.queue(tenant_id=second)
    assert (waiting.unsealed, waiting.last_position, waiting.sealed_at) == (3, 0, None)
    assert waiting.oldest_at is not None
    # Whoever has waited for longer comes first: the tenants of others.
    seals: list[AuditSeal] = []
    while step := await store.audit.seal_all(limit=250):
        assert len(step) <= 250
        assert all(0 < seal.sealed <= 250 for seal in step)
        seals += step
    places = {seal.tenant_id: place for place, seal in enumerate(seals)}
    assert places[first] < places[second] < places[asleep]
    assert {seal.tenant_id: seal.sealed for seal in seals if seal.tenant_id in mine} == mine
    for tenant_id, count in mine.items():
        checked = await store.audit.verify(tenant_id=tenant_id)
        assert (checked.is_sound, checked.verified_to) == (True, count)
    done = (await store.health(tenant_id=second)).audit
    assert done is not None
    assert (done.unsealed, done.oldest_at, done.last_position) == (0, None, 3)
    assert done.sealed_at is not None
    # A bounded step: one tenant, and one event of it.
    for tenant_id in (second, first):
        await store.audit.append(tenant_id=tenant_id, events=[exported(3), exported(4)])
    step = await store.audit.seal_all(limit=1)
    assert [(seal.tenant_id, seal.sealed, seal.has_more) for seal in step] == [(second, 1, True)]
    assert (await store.audit.queue(tenant_id=first)).unsealed == 2


async def test_a_unit_of_work_seals_its_own_tenant_only(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        with pytest.raises(TenantMismatch):
            await uow.audit.seal_all()
        assert (await uow.audit.seal(tenant_id=tenant_id)).sealed == 1
    assert (await store.audit.queue(tenant_id=tenant_id)).unsealed == 0


async def test_a_kept_hash_shows_a_chain_that_was_rewritten(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    seal = await store.audit.seal(tenant_id=tenant_id)
    rewritten = await store.audit.verify(
        tenant_id=tenant_id, known_position=1, known_digest="0" * 64
    )
    assert (rewritten.is_sound, rewritten.problem, rewritten.bad_position) == (False, "changed", 1)
    cut = await store.audit.verify(tenant_id=tenant_id, known_position=2, known_digest=seal.digest)
    assert (cut.is_sound, cut.problem, cut.bad_position) == (False, "removed", 2)
    halves: list[dict[str, Any]] = [{"known_position": 1}, {"known_digest": seal.digest}]
    for half in halves:
        with pytest.raises(InvalidArgument):
            await store.audit.verify(tenant_id=tenant_id, **half)


async def test_an_empty_chain_is_sound(adapter: Adapter) -> None:
    tenant_id = await new_tenant(adapter.store)
    checked = await adapter.store.audit.verify(tenant_id=tenant_id)
    assert (checked.is_sound, checked.verified_to, checked.has_more) == (True, 0, False)


async def test_the_purge_of_a_tenant_leaves_nothing(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await store.audit.append(tenant_id=tenant_id, events=[exported()])
    await store.audit.seal(tenant_id=tenant_id)
    receipt = await store.tenants.purge(tenant_id=tenant_id)
    assert (receipt.tables["audit_events"], receipt.tables["audit_seals"]) == (2, 1)
    assert await events_of(store, tenant_id) == []
    assert (await store.audit.verify(tenant_id=tenant_id)).verified_to == 0


# For hosts.


async def test_users_see_and_write_nothing(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    async with adapter.user(tenant_id, OWNER) as user:
        for call in (
            user.audit.append(tenant_id=tenant_id, events=[exported()]),
            user.audit.find(tenant_id=tenant_id, event_id="e"),
            user.audit.list(tenant_id=tenant_id),
            user.audit.seal(tenant_id=tenant_id),
            user.audit.seal_all(),
            user.audit.queue(tenant_id=tenant_id),
            user.audit.verify(tenant_id=tenant_id),
        ):
            with pytest.raises(PermissionDenied):
                await call
    assert len(await events_of(store, tenant_id)) == 1


async def test_a_user_acts_as_themselves(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    async with adapter.user(talk.tenant_id, OWNER) as user:
        await user.conversations.soft_delete(**at(talk))
    assert (await told(store, talk.tenant_id))[1:] == [("conversation.soft_delete", OWNER, None)]
