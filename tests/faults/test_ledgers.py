"""The ledgers under attack: changed behind the store's back, sealed late, killed in the middle."""

from __future__ import annotations

import asyncio
import re
from typing import LiteralString

import psycopg
import pytest

import strongroom
from strongroom import RunUsage, Strongroom
from strongroom.conformance.helpers import at, new_talk, new_tenant
from strongroom.conformance.run_helpers import answered, claimed, held, of, queued
from strongroom.models import NewAuditEvent, NewUsage
from strongroom.transports.psycopg import Connection
from tests.servers import Database
from tests.servers.databases import ROOT

AUDITED = {
    "0001_foundation": {
        "strongroom.create_tenant",
        "strongroom.update_tenant",
        "strongroom.add_member",
        "strongroom.set_member_roles",
        "strongroom.remove_member",
    },
    "0002_conversations": {
        "strongroom.share_conversation",
        "strongroom.bind_agent",
        "strongroom.soft_delete_conversation",
        "strongroom.restore_conversation",
        "strongroom.purge_conversation",
    },
    "0004_runs": {
        "strongroom_private.end_run",
        "strongroom.decide_approval",
        "strongroom.claim_approval",
        "strongroom.grant_approval",
        "strongroom.revoke_grant",
    },
    "0006_catalog": {
        "strongroom.update_agent",
        "strongroom.publish_agent_version",
        "strongroom_private.set_agent_deleted",
        "strongroom.purge_agent",
        "strongroom.update_skill",
        "strongroom.publish_skill_version",
        "strongroom_private.set_skill_deleted",
        "strongroom.purge_skill",
    },
    "0007_memory": {"strongroom.forget_memories", "strongroom_private.switch_memory"},
    "0008_evaluation": {"strongroom.purge_evaluation_case", "strongroom.purge_evaluation_run"},
    "0009_knowledge": {
        "strongroom.purge_collection",
        "strongroom.purge_source",
        "strongroom.replace_source",
        "strongroom.restore_source",
        "strongroom.soft_delete_source",
        "strongroom.update_source",
    },
    "0016_frameworks": {
        "strongroom.delete_framework_records",
        "strongroom.delete_framework_sessions",
        "strongroom.prune_framework_checkpoints",
    },
    "0011_files": {"strongroom.purge_file"},
    "0012_artifacts": {"strongroom.purge_artifact"},
    "0013_lifecycle": {
        "strongroom.erase_principal",
        "strongroom.set_retention_policy",
        "strongroom.remove_retention_policy",
    },
}
"""Who records audit events. What ends a run comes through end_run; purge_tenant leaves nothing."""


def test_a_new_audited_function_is_a_decision() -> None:
    found: dict[str, set[str]] = {}
    for file in sorted((ROOT / "sql/migrations").glob("*.up.sql")):
        bodies = re.split(r"^create function (\S+?)\(", file.read_text(), flags=re.MULTILINE)
        calls = {
            name
            for name, body in zip(bodies[1::2], bodies[2::2], strict=True)
            if "perform strongroom_private.record_audit(" in body.partition("\ncomment on")[0]
        }
        if calls:
            found[file.name.removesuffix(".up.sql")] = calls
    assert found == AUDITED


async def chain(store: Strongroom, count: int = 6) -> str:
    """Make a tenant with a sealed chain of events, named e1, e2, ... from place 2 on."""
    tenant_id = await new_tenant(store)
    for number in range(1, count):
        event = NewAuditEvent(
            id=f"e{number}",
            action="report.read",
            record="report",
            record_id=str(number),
            actor_id="ada",
            principal_id="bob",
        )
        await store.audit.append(tenant_id=tenant_id, events=[event])
    await store.audit.seal(tenant_id=tenant_id, limit=4)
    await store.audit.seal(tenant_id=tenant_id)
    assert (await store.audit.verify(tenant_id=tenant_id)).is_sound
    return tenant_id


ATTACKS: dict[str, tuple[LiteralString, str, int]] = {
    "a detail is changed": (
        (
            "update strongroom.audit_events set details = '{\"x\": 1}'"
            " where tenant_id = %(t)s and id = 'e2'"
        ),
        "changed",
        3,
    ),
    "another actor is named": (
        "update strongroom.audit_events set actor_id = 'eve' where tenant_id = %(t)s and id = 'e3'",
        "changed",
        4,
    ),
    "another is said to be concerned": (
        (
            "update strongroom.audit_events set principal_id = 'eve'"
            " where tenant_id = %(t)s and id = 'e3'"
        ),
        "changed",
        4,
    ),
    "the time is changed": (
        (
            "update strongroom.audit_events set created_at = created_at - interval '1 second'"
            " where tenant_id = %(t)s and id = 'e1'"
        ),
        "changed",
        2,
    ),
    "one is removed from the middle": (
        "delete from strongroom.audit_events where tenant_id = %(t)s and id = 'e3'",
        "removed",
        4,
    ),
    "the first is removed": (
        "delete from strongroom.audit_events where tenant_id = %(t)s and position = 1",
        "removed",
        1,
    ),
    "the last is removed": (
        "delete from strongroom.audit_events where tenant_id = %(t)s and id = 'e5'",
        "removed",
        6,
    ),
    "two are exchanged": (
        (
            "update strongroom.audit_events as a set position = b.position,"
            " chain_digest = b.chain_digest from strongroom.audit_events as b"
            " where a.tenant_id = %(t)s and b.tenant_id = %(t)s and a.id in ('e2', 'e3')"
            " and b.id in ('e2', 'e3') and a.id <> b.id"
        ),
        "changed",
        3,
    ),
    "one is inserted at the end": (
        (
            "insert into strongroom.audit_events"
            " (tenant_id, id, action, record, record_id, position, chain_digest)"
            " values (%(t)s, 'x', 'report.read', 'report', '9', 7, 'x')"
        ),
        "inserted",
        7,
    ),
    "one is inserted into the past": (
        (
            "with moved as (update strongroom.audit_events set position = position + 100"
            " where tenant_id = %(t)s and position > 3 returning 1)"
            " insert into strongroom.audit_events"
            " (tenant_id, id, action, record, record_id, position, chain_digest)"
            " values (%(t)s, 'x', 'report.read', 'report', '9', 4, 'x')"
        ),
        "changed",
        4,
    ),
    "a seal is changed": (
        "update strongroom.audit_seals set digest = 'x' where tenant_id = %(t)s and number = 1",
        "changed",
        4,
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_verify_names_the_first_event_that_does_not_fit(
    store: Strongroom, database: Database, attack: str
) -> None:
    statement, problem, position = ATTACKS[attack]
    tenant_id, other = await chain(store), await chain(store)
    async with await psycopg.AsyncConnection.connect(database.admin_url) as connection:
        # As somebody who owns the server, with every trigger and constraint out of the way.
        await connection.execute("set session_replication_role = replica")
        if "exchanged" in attack or "into the past" in attack:
            await connection.execute(
                "alter table strongroom.audit_events"
                " drop constraint if exists a_place_in_the_chain_is_taken_once"
            )
        await connection.execute(statement, {"t": tenant_id})
        await connection.commit()
    for limit in (1, 2, 500):
        place = 0
        while True:
            found = await store.audit.verify(tenant_id=tenant_id, after_position=place, limit=limit)
            place = found.verified_to
            if not found.is_sound or not found.has_more:
                break
        assert (found.is_sound, found.problem, found.bad_position) == (False, problem, position)
        assert found.verified_to == position - 1
    assert (await store.audit.verify(tenant_id=other)).is_sound


async def test_the_chain_holds_when_a_person_is_forgotten(
    store: Strongroom, admin: Connection
) -> None:
    tenant_id = await chain(store)
    await admin.execute(
        "update strongroom.audit_events set actor_id = null, actor_salt = null"
        " where tenant_id = %s and actor_id = 'ada'",
        [tenant_id],
    )
    await admin.execute(
        "update strongroom.audit_events set principal_id = null, principal_salt = null"
        " where tenant_id = %s and principal_id = 'bob'",
        [tenant_id],
    )
    assert (await store.audit.verify(tenant_id=tenant_id)).is_sound
    events = (await store.audit.list(tenant_id=tenant_id)).items
    assert {(e.actor_id, e.principal_id) for e in events} == {(None, None)}
    repeated = NewAuditEvent(
        id="e1",
        action="report.read",
        record="report",
        record_id="1",
        actor_id="ada",
        principal_id="bob",
    )
    (again,) = await store.audit.append(tenant_id=tenant_id, events=[repeated])
    assert again.outcome == "duplicate"


async def test_what_commits_after_a_seal_is_sealed_next(
    store: Strongroom, database: Database
) -> None:
    tenant_id = await new_tenant(store)
    async with await psycopg.AsyncConnection.connect(database.host_url) as late:
        await late.execute(
            "select * from strongroom.append_audit_events(%s,"
            ' \'[{"id": "late", "action": "a.b", "record": "r", "record_id": "r"}]\')',
            [tenant_id],
        )
        event = NewAuditEvent(id="soon", action="a.b", record="r", record_id="r")
        await store.audit.append(tenant_id=tenant_id, events=[event])
        # The open transaction holds up neither writers nor the sweep.
        first = await store.audit.seal(tenant_id=tenant_id)
        assert (first.sealed, first.has_more) == (2, False)
        await late.commit()
    second = await store.audit.seal(tenant_id=tenant_id)
    assert (second.sealed, second.last_position) == (1, 3)
    events = {e.id: e for e in (await store.audit.list(tenant_id=tenant_id)).items}
    assert events["late"].sequence < events["soon"].sequence
    assert (events["soon"].position, events["late"].position) == (2, 3)
    assert (await store.audit.verify(tenant_id=tenant_id)).is_sound


async def test_sealers_take_turns_and_writers_do_not_wait(
    store: Strongroom, database: Database
) -> None:
    tenant_id = await new_tenant(store)
    event = NewAuditEvent(action="a.b", record="r", record_id="r")
    await store.audit.append(tenant_id=tenant_id, events=[event] * 50)
    async with await psycopg.AsyncConnection.connect(database.host_url) as sealer:
        await sealer.execute("select * from strongroom.seal_audit(%s, 10)", [tenant_id])
        await store.audit.append(tenant_id=tenant_id, events=[event])
        waiting = [
            asyncio.create_task(store.audit.seal(tenant_id=tenant_id, limit=20)) for _ in range(3)
        ]
        await sealer.commit()
    done = await asyncio.gather(*waiting)
    assert sorted(seal.sealed for seal in done) == [2, 20, 20]
    found = await store.audit.verify(tenant_id=tenant_id)
    assert (found.is_sound, found.verified_to) == (True, 52)


async def test_sweeps_over_all_tenants_pass_over_what_another_one_seals(
    store: Strongroom, database: Database
) -> None:
    first, second = await new_tenant(store), await new_tenant(store)
    event = NewAuditEvent(action="a.b", record="r", record_id="r")
    async with await psycopg.AsyncConnection.connect(database.host_url) as sweeper:
        cursor = await sweeper.execute("select tenant_id, sealed from strongroom.seal_audits(1)")
        assert await cursor.fetchall() == [(first, 1)]
        # Neither a writer of that tenant nor another sweep waits for the open transaction.
        async with asyncio.timeout(10):
            await store.audit.append(tenant_id=first, events=[event])
            seals = await store.audit.seal_all()
        assert [(seal.tenant_id, seal.sealed) for seal in seals] == [(second, 1)]
        await sweeper.commit()
    seals = await store.audit.seal_all()
    assert [(seal.tenant_id, seal.sealed) for seal in seals] == [(first, 1)]
    for tenant_id, count in ((first, 2), (second, 1)):
        checked = await store.audit.verify(tenant_id=tenant_id)
        assert (checked.is_sound, checked.verified_to) == (True, count)


async def test_a_turn_that_is_killed_in_the_middle_leaves_nothing(
    store: Strongroom, database: Database, admin: Connection
) -> None:
    """Status, message, usage, session state, audit and promotion: all of them, or none."""
    talk = await new_talk(store)
    run = await claimed(store, await queued(store, talk))
    following = await queued(store, talk)
    audited = (await store.audit.list(tenant_id=talk.tenant_id)).items
    turn = {
        "messages": '[{"role": "assistant", "parts": [{"type": "text", "schema_version": 1,'
        ' "text": "42"}]}]',
        "usage": '[{"id": "u1", "input_tokens": 7}]',
    }
    connection = await psycopg.AsyncConnection.connect(database.host_url)
    await connection.execute(
        "select * from strongroom.finish_run(%s, %s, %s, 'completed', %s::jsonb,"
        " p_state => '{\"a\": 1}', p_state_expected_version => 0, p_usage => %s::jsonb)",
        [run.tenant_id, run.id, run.claim_token, turn["messages"], turn["usage"]],
    )
    await admin.execute("select pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])
    await connection.close()
    assert await store.runs.get(**of(run)) == run
    assert await store.messages.count(**at(talk)) == 0
    assert (await store.usage.list(**at(talk))).items == ()
    assert (await store.session_state.get(**at(talk))).version == 0
    assert (await store.audit.list(tenant_id=talk.tenant_id)).items == audited
    assert await store.runs.claim(**of(following), worker_id="w", lease_seconds=60) is None
    await store.runs.finish(
        **held(run),
        status="completed",
        messages=[answered()],
        state={"a": 1},
        state_expected_version=0,
        usage=[RunUsage(id="u1", input_tokens=7)],
    )
    assert await store.messages.count(**at(talk)) == 1
    assert (await store.usage.totals(**at(talk))).input_tokens == 7
    assert (await store.session_state.get(**at(talk))).version == 1
    assert len((await store.audit.list(tenant_id=talk.tenant_id)).items) == len(audited) + 1
    assert await store.runs.claim(**of(following), worker_id="w", lease_seconds=60) is not None


async def test_the_same_batch_from_two_sides_ends_well_b17(store: Strongroom) -> None:
    tenant_id = await new_tenant(store)
    batch = [NewUsage(id=f"u{n}", run_id="r", step_id=str(n), input_tokens=1) for n in range(200)]
    for _ in range(20):
        await asyncio.gather(
            store.usage.record(tenant_id=tenant_id, events=batch),
            store.usage.record(tenant_id=tenant_id, events=batch[::-1]),
        )
    assert (await store.usage.totals(tenant_id=tenant_id)).input_tokens == 200


async def test_corrections_from_two_sides_never_exceed_the_event(store: Strongroom) -> None:
    tenant_id = await new_tenant(store)
    await store.usage.record(tenant_id=tenant_id, events=[NewUsage(id="u", input_tokens=10)])
    credit = NewUsage(corrects_id="u", input_tokens=-6)
    done = await asyncio.gather(
        *(store.usage.record(tenant_id=tenant_id, events=[credit]) for _ in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(one, tuple) for one in done) == 1
    assert {type(one) for one in done} == {tuple, strongroom.InvalidArgument}
    assert (await store.usage.totals(tenant_id=tenant_id)).input_tokens == 4


async def test_totals_find_their_events_by_an_index(store: Strongroom, admin: Connection) -> None:
    tenant_id = await new_tenant(store)
    await admin.execute(
        "insert into strongroom.usage_events"
        " (tenant_id, id, conversation_id, principal_id, model, input_tokens, occurred_at)"
        " select %s, n::text, 'c' || n %% 500, 'p' || n %% 500, 'm', 1,"
        " now() - n * interval '1 minute' from generate_series(1, 50000) as n",
        [tenant_id],
    )
    await admin.execute("analyze strongroom.usage_events")
    await admin.execute("set strongroom.tenant_id = ''")
    for condition, index in (
        ("conversation_id = 'c7'", "usage_by_conversation"),
        ("principal_id = 'p7'", "usage_by_principal"),
        ("run_id = 'r7'", "a_step_of_a_run_is_counted_once"),
        ("occurred_at >= now() - interval '1 hour'", "usage_by_time"),
    ):
        cursor = await admin.execute(
            "explain select sum(input_tokens) from strongroom.usage_events as u"
            f" where u.tenant_id = '{tenant_id}' and u.{condition}".encode()
        )
        plan = "\n".join(row[0] for row in await cursor.fetchall())
        assert index in plan, plan
        assert "Seq Scan" not in plan
