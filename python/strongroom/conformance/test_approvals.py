"""Approvals: decided once, claimed once, and nothing runs that was not allowed."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    at,
    new_talk,
    new_tenant,
    walk,
)
from strongroom.conformance.run_helpers import (
    approval_of,
    approved,
    asked,
    claimed,
    held,
    taken_over,
    where,
)
from strongroom.errors import AlreadyExists, NotFound
from strongroom.models.interactions import Interaction, RevokedGrant

PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def this(interaction: Interaction) -> dict[str, Any]:
    return {"tenant_id": interaction.tenant_id, "interaction_id": interaction.id}


@pytest.mark.parametrize("decision", ["allow-once", "allow-conversation", "allow-always", "deny"])
async def test_a_decision_and_its_grant(adapter: Adapter, decision: str) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    approval = await approval_of(store, run, tool_call_id="c1", risk="high", prompt="Sure?")
    assert (approval.kind, approval.tool_name, approval.input) == (
        "approval",
        "refund",
        {"parcel": 7},
    )
    assert (approval.tool_call_id, approval.risk, approval.prompt) == ("c1", "high", "Sure?")
    done = await store.interactions.decide(
        **this(approval),
        decision=decision,  # type: ignore[arg-type]
        resolved_by="bob",
    )
    assert (done.outcome, done.decision) == ("resolved", decision)
    assert done.status == ("denied" if decision == "deny" else "approved")
    again = await store.interactions.decide(
        **this(approval), decision="allow-always", resolved_by="eve"
    )
    assert again == done.replace(outcome="already_resolved")
    claim = await store.interactions.claim_approval(
        **this(approval), claim_token=held(run)["claim_token"]
    )
    assert claim.outcome == ("not_approved" if decision == "deny" else "claimed")
    assert claim.input == {"parcel": 7}
    elsewhere = await new_talk(store, run.tenant_id)

    async def granted(**other: str) -> str | None:
        asked_for = {
            **where(run),
            "principal_id": OWNER,
            "tool_name": "refund",
            **other,
        }
        found = await store.interactions.find_active_grant(**asked_for)  # type: ignore[arg-type]
        return found.scope if found else None

    scope = {"allow-conversation": "conversation", "allow-always": "always"}.get(decision)
    assert await granted() == scope
    assert await granted(conversation_id=elsewhere.id) == (scope if scope == "always" else None)
    assert await granted(tool_name="refund2") is None
    assert await granted(principal_id="bob") is None
    if scope:
        revoke = {"tenant_id": run.tenant_id, "grant_id": approval.id}
        assert (await store.interactions.revoke_grant(**revoke)).revoked
        assert not (await store.interactions.revoke_grant(**revoke)).revoked
        assert await granted() is None


async def test_an_approved_call_is_claimed_once(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    approval = await approved(store, run)
    token = held(run)["claim_token"]
    first = await store.interactions.claim_approval(
        **this(approval), claim_token=token, claim_id="call-1"
    )
    assert first.outcome == "claimed"
    assert first.claimed_at is not None
    # The same call, its answer having been lost, is no second one.
    again = await store.interactions.claim_approval(
        **this(approval), claim_token=token, claim_id="call-1"
    )
    assert again == first
    other = await store.interactions.claim_approval(**this(approval), claim_token=token)
    assert other == first.replace(outcome="already_claimed")
    successor = await taken_over(store, run)
    late = await store.interactions.claim_approval(
        **this(approval), claim_token=held(successor)["claim_token"]
    )
    assert late.outcome == "already_claimed"


async def test_of_claims_and_answers_at_once_one_wins(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    approval, question = await approved(store, run), await asked(store, run)
    token = held(run)["claim_token"]
    claims = await asyncio.gather(
        *(store.interactions.claim_approval(**this(approval), claim_token=token) for _ in range(5))
    )
    assert sorted(claim.outcome for claim in claims) == ["already_claimed"] * 4 + ["claimed"]
    answers = await asyncio.gather(
        *(
            store.interactions.answer(**this(question), answer=n, resolved_by=f"p{n}")
            for n in range(5)
        )
    )
    (winner,) = [answer for answer in answers if answer.outcome == "resolved"]
    assert {answer.answer for answer in answers} == {winner.answer}


async def test_what_is_pending_denied_expired_or_cancelled_is_not_run(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    token = held(run)["claim_token"]
    pending = await approval_of(store, run)
    denied = await approved(store, run, "deny")
    expired = await approval_of(store, run, expires_at=PAST)
    late = await store.interactions.decide(
        **this(expired), decision="allow-always", resolved_by="ada"
    )
    assert (late.outcome, late.status, late.decision) == ("expired", "expired", None)
    assert (
        await store.interactions.find_active_grant(
            **where(run), principal_id=OWNER, tool_name="refund"
        )
        is None
    )
    for approval in (pending, denied, expired):
        claim = await store.interactions.claim_approval(**this(approval), claim_token=token)
        assert (claim.outcome, claim.claimed_at) == ("not_approved", None)


async def test_grants_that_a_host_gives(adapter: Adapter) -> None:
    port, talk = adapter.store.interactions, await new_talk(adapter.store)
    asked_for: dict[str, Any] = {**at(talk), "principal_id": OWNER, "tool_name": "refund"}
    given: dict[str, Any] = {
        "tenant_id": talk.tenant_id,
        "principal_id": OWNER,
        "tool_name": "refund",
        "granted_by": "admin",
    }
    expired = await port.grant(**given, expires_at=PAST)
    assert (expired.scope, expired.conversation_id, expired.revoked_at) == ("always", None, None)
    assert await port.find_active_grant(**asked_for) is None
    grant = await port.grant(**given, conversation_id=talk.id, grant_id="g")
    assert (grant.scope, grant.granted_by) == ("conversation", "admin")
    assert await port.find_active_grant(**asked_for) == grant
    assert await port.grant(**given, conversation_id=talk.id, grant_id="g") == grant
    for other in (
        {"conversation_id": None},
        {"tool_name": "other"},
        {"principal_id": "bob"},
        {"granted_by": "bob"},
        {"expires_at": PAST},
    ):
        with pytest.raises(AlreadyExists):
            await port.grant(**{**given, "conversation_id": talk.id, "grant_id": "g", **other})
    with pytest.raises(NotFound):
        await port.grant(**given, conversation_id="absent")
    for elsewhere in (
        {"tenant_id": talk.tenant_id, "grant_id": "absent"},
        {"tenant_id": await new_tenant(adapter.store), "grant_id": "g"},
    ):
        assert await port.revoke_grant(**elsewhere) == RevokedGrant(revoked=False, others=0)
    assert await port.find_active_grant(**asked_for) == grant
    always = await port.grant(**given)
    assert await port.find_active_grant(**asked_for) == always
    await port.revoke_grant(tenant_id=talk.tenant_id, grant_id=always.id)
    await adapter.store.conversations.purge(**at(talk))
    assert await port.find_active_grant(**asked_for) is None


async def test_revoking_says_what_still_allows_the_tool(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    port, tenant_id = store.interactions, talk.tenant_id
    elsewhere = await new_talk(store, tenant_id)
    given: dict[str, Any] = {"tenant_id": tenant_id, "principal_id": OWNER, "granted_by": "admin"}
    here = [
        await port.grant(**given, tool_name="refund", conversation_id=talk.id) for _ in range(2)
    ]
    there = await port.grant(**given, tool_name="refund", conversation_id=elsewhere.id)
    always = await port.grant(**given, tool_name="refund")
    expired = await port.grant(**given, tool_name="refund", expires_at=PAST)
    of_others = [
        await port.grant(**given, tool_name="mail"),
        await port.grant(**{**given, "principal_id": "bob"}, tool_name="refund"),
    ]

    async def listed(**wanted: Any) -> list[str]:
        return [one.id for one in (await port.list_grants(tenant_id=tenant_id, **wanted)).items]

    mine = {"principal_id": OWNER, "tool_name": "refund"}
    assert await listed(**mine) == [one.id for one in (expired, always, there, *here[::-1])]
    assert await listed(**mine, active=False) == [expired.id]
    assert await listed(**mine, conversation_id=talk.id, active=True) == [
        one.id for one in (always, *here[::-1])
    ]
    pages = await walk(
        lambda **page: port.list_grants(tenant_id=tenant_id, **page), limit=2, back=True
    )
    assert [one.id for one in pages] == [
        one.id for one in (*of_others[::-1], expired, always, there, *here[::-1])
    ]

    async def revoked(grant_id: str) -> tuple[bool, int]:
        done = await port.revoke_grant(tenant_id=tenant_id, grant_id=grant_id)
        return done.revoked, done.others

    assert await revoked(here[0].id) == (True, 2)
    assert await revoked(here[0].id) == (False, 2)
    assert await revoked(always.id) == (True, 2)
    assert await revoked(here[1].id) == (True, 0)
    assert await revoked(expired.id) == (True, 1)
    assert await listed(**mine, active=True) == [there.id]
    asked_for: dict[str, Any] = {**at(talk), **mine}
    assert await port.find_active_grant(**asked_for) is None
