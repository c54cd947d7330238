"""Late writers against what ends records: none of them brings anything back.

Every write that the suite knows is started while a tenant is being purged, a person erased or a conversation
purged, and is seen to wait, or to be refused at once. When the deletion is done, nothing of it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

import strongroom
from strongroom import StrongroomError
from strongroom.client import Ports
from strongroom.conformance import calls
from strongroom.conformance.calls import Target, fill
from strongroom.conformance.helpers import OWNER
from tests.lifecycle.test_what_is_left import SURVIVORS
from tests.migrations.stories import contents
from tests.servers.databases import Database

AT_ONCE = 30
"""Writers that wait together."""

Write = Callable[[Ports, Target], Awaitable[object]]

OF_CONVERSATIONS: dict[str, Write] = dict(calls.WRITES)
OF_PEOPLE: dict[str, Write] = {**calls.WRITES, **calls.OWN_WRITES}
# That all extractions which began before it are void is noted, also for who has no memory yet.
del OF_PEOPLE["principal_memory.forget_all"]
OF_TENANTS: dict[str, Write] = {
    **OF_PEOPLE,
    **calls.HOST_WRITES,
    **calls.MORE_WRITES,
    "lifecycle.set_policy": lambda s, t: s.lifecycle.set_policy(
        tenant_id=t.tenant_id, kind="jobs", keep_seconds=1, expected_version=0
    ),
    "conversations.create": lambda s, t: s.conversations.create(
        tenant_id=t.tenant_id, owner_id=OWNER
    ),
    "jobs.enqueue": lambda s, t: s.jobs.enqueue(tenant_id=t.tenant_id, kind="late"),
    "locks.acquire": lambda s, t: s.locks.acquire(
        tenant_id=t.tenant_id, name="late", owner_id="late", ttl_seconds=60
    ),
    "tenants.add_member": lambda s, t: s.tenants.add_member(
        tenant_id=t.tenant_id, principal_id="late"
    ),
}

READS_ALONE = {
    *("conversations.restore", "agents.restore", "skills.restore"),
    *("evaluations.unarchive_case", "knowledge.restore_source"),
}
"""What is not deleted yet needs no restoring: these read what is there, and write nothing."""

_BUSY = """
    select
        count(*) filter (where s.wait_event_type = 'Lock'),
        count(*) filter (where cardinality(pg_blocking_pids(s.pid)) > 0)
    from pg_stat_activity as s
    where s.application_name = 'late'
        and s.datname = current_database()
        and s.state = 'active'
"""


async def _purge_tenant(store: Ports, target: Target) -> None:
    await store.tenants.purge(tenant_id=target.tenant_id)


async def _erase_person(store: Ports, target: Target) -> None:
    for person in (OWNER, target.memory.principal_id):
        await store.lifecycle.erase_principal(tenant_id=target.tenant_id, principal_id=person)


async def _purge_conversation(store: Ports, target: Target) -> None:
    await store.conversations.purge(**target.where)


async def _outcome(write: Awaitable[object]) -> object:
    try:
        return await write
    except StrongroomError as error:
        return error


@pytest.mark.parametrize(
    ("end", "writes"),
    [
        pytest.param(_purge_tenant, OF_TENANTS, id="a purged tenant"),
        pytest.param(_erase_person, OF_PEOPLE, id="an erased person"),
        pytest.param(_purge_conversation, OF_CONVERSATIONS, id="a purged conversation"),
    ],
)
async def test_no_late_write_brings_anything_back_b83(
    database: Database,
    end: Callable[[Ports, Target], Awaitable[None]],
    writes: dict[str, Write],
) -> None:
    names = sorted(writes)
    waited = 0
    async with (
        strongroom.connect(database.url(user=database.host, application_name="first")) as first,
        strongroom.connect(
            database.url(user=database.host, application_name="late"),
            pool_min=AT_ONCE,
            pool_max=AT_ONCE,
        ) as late,
        await psycopg.AsyncConnection.connect(database.admin_url, autocommit=True) as watcher,
    ):
        for start in range(0, len(names), AT_ONCE):
            target = await fill(first)
            async with first.unit_of_work(tenant_id=target.tenant_id) as unit:
                await end(unit, target)
                tasks = {
                    name: asyncio.create_task(_outcome(writes[name](late, target)), name=name)
                    for name in names[start : start + AT_ONCE]
                }
                while True:
                    open_ = sum(not task.done() for task in tasks.values())
                    cursor = await watcher.execute(_BUSY)
                    row: Any = await cursor.fetchone()
                    if row == (open_, open_):
                        break
                waited += open_
            outcomes = {name: await task for name, task in tasks.items()}
            for name in READS_ALONE & set(outcomes):
                del outcomes[name]
            assert {
                name: outcome
                for name, outcome in outcomes.items()
                if getattr(outcome, "code", None) not in {"SR010", "SR030", "SR031"}
                and not (isinstance(outcome, int | list | tuple) and not outcome)
            } == {}
            left = contents(database)
            of_tenant = {
                table: [row for row in rows if row.get("tenant_id") == target.tenant_id]
                for table, rows in left.items()
            }
            _expect_nothing(end, target, of_tenant)
    assert waited > len(names) / 3, "hardly any write was under way"


def _expect_nothing(
    end: object, target: Target, of_tenant: dict[str, list[dict[str, Any]]]
) -> None:
    if end is _purge_tenant:
        assert {table for table, rows in of_tenant.items() if rows} <= SURVIVORS
        return
    words = {target.conversation_id, target.run_id}
    if end is _erase_person:
        words |= {OWNER, target.memory.principal_id}
    kept = {
        # These say what was done, by whom it was paid, and which bytes are to go.
        *("strongroom.audit_events", "strongroom.usage_events", "strongroom.blob_removals"),
    }
    for table, rows in of_tenant.items():
        named = [row for row in rows if words & {str(value) for value in row.values()}]
        assert table in kept or named == [], (table, named)
