"""What a call reads does not grow with the tenant's data: every function, each filter, for hosts and users.

Everything is multiplied: the rows beside what a call is about, those of other parents, of other people
and of other tenants. A call may read more only where the list below says why.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

import strongroom
from strongroom.conformance.calls import Target
from tests.plans.growth import READ, Grower, furnish
from tests.plans.growth_calls import Call, calls
from tests.servers.databases import Database, Templates, dropped_after

FEW, MANY = 60, 200
GROWTH = 100
"""Rows, and calls of functions, by which a call may differ: of each kind of copies there are 140 more."""

# By function, or by function and filter.
_REASONS = {
    "copies, empties or deletes all that is there, or reads it as a whole": """
        clear_memory_session compare_evaluation_runs copy_transcript delete_framework_sessions
        delete_transcript erase_principal expire_tool_outputs find_memory_session forget_memories
        fork_conversation fork_framework_session list_evaluation_comparison prune_checkpoints
        prune_framework_checkpoints prune_jobs prune_locks purge_agent purge_artifact
        purge_collection purge_conversation purge_evaluation_case purge_evaluation_run purge_file
        purge_skill purge_source purge_tenant put_keywords read_memory_session read_transcript
        remove_keywords replace_source save_transcript schedule_conversation_file_deletion
    """,
    "counts or sums up what there is": """
        disable_memory enable_memory list_usage_rollup read_audit_queue read_blob_removal_queue
        read_file_queue read_job_queue read_memory_status read_run_queue read_usage_totals
    """,
    "a sweep, which takes what it finds up to its limit": """
        reap_expired_runs seal_audits sweep_retention
    """,
    "compares with all that it searches": """
        search_index search_knowledge search_memories
    """,
    "all that a run waits for ends, or is waited for, with it": """
        answer_question decide_approval finish_run pause_run
    """,
    "the part of a history that no summary covers says where it begins": "read_history",
    "follows what the viewer may read": """
        list_interactions list_usage list_runs list_artifacts list_files list_conversations
    """,
    "who signs in reads one membership; the policy is asked for each": "list_members",
    "a filter without an index of its own passes over what does not fit": """
        list_agents list_skills list_skill_catalog list_audit_events list_deletion_receipts
        list_evaluation_results list_grants list_jobs list_memories list_sources list_stale_sources
        list_tool_outputs
    """,
    "index entries alone of one run, topic, session, case or artifact, where a plan for any of them"
    " takes the beginning of the key": """
        append_memory_session append_run_events create_evaluation_case find_artifact_version
        finish_evaluation_run publish_events record_evaluation_results start_evaluation_run
        trim_topic
    """,
    "a small table is read and sorted where that is as cheap as its index": """
        list_evaluation_run_cases list_memory_session_errors
    """,
    "what frameworks keep: looked at by tests/plans/test_framework_records.py": """
        delete_framework_records find_framework_records list_framework_sessions
        read_framework_checkpoints search_framework_records
    """,
}
MAY_GROW = {name: why for why, names in _REASONS.items() for name in names.split()}

_REFUSED = {
    "diagnose": "for owners alone",
    "put_embeddings": "wants one for each chunk, and chunks have become more",
}
"""Functions whose plain call is refused here, and why."""


@dataclass(frozen=True)
class Cost:
    """What a call has read, and how many functions it has called."""

    rows: int
    functions: int


class Measure:
    """Calls functions as hosts and as users, each in a transaction that leaves nothing."""

    def __init__(self, database: Database, target: Target) -> None:
        self._target = target
        self._host = database.connect(user=database.host)
        self._user = database.connect(user="authenticator")
        for connection in (self._host, self._user):
            # As in a connection that has been used for a while.
            connection.execute("set plan_cache_mode = force_generic_plan")

    def close(self) -> None:
        self._host.close()
        self._user.close()

    def cost(self, call: Call, *, as_user: bool) -> Cost | str:
        """Return what it costs, or the code of its refusal."""
        connection = self._user if as_user else self._host
        with connection.transaction(force_rollback=True):
            if as_user:
                claims = {
                    "sub": call.principal_id,
                    "app_metadata": {"tenant_id": self._target.tenant_id},
                }
                connection.execute("set local role authenticated")
                connection.execute(
                    "select set_config('request.jwt.claims', %s, true)", [json.dumps(claims)]
                )
            before = connection.execute(READ).fetchone()
            try:
                with connection.transaction():
                    connection.execute(call.query.encode())
            except psycopg.Error as error:
                return str(error.sqlstate)
            after = connection.execute(READ).fetchone()
        assert before is not None
        assert after is not None
        return Cost(after[0] - before[0], after[1] - before[1])


def _costs(database: Database, target: Target) -> dict[str, Cost | str]:
    costs: dict[str, Cost | str] = {}
    measure = Measure(database, target)
    try:
        with database.connect() as admin:
            found = list(calls(admin, target))
        for call in found:
            costs[call.name] = measure.cost(call, as_user=False)
            if call.is_for_users:
                costs[f"{call.name} as user"] = measure.cost(call, as_user=True)
    finally:
        measure.close()
    return costs


async def _furnish(database: Database) -> Target:
    async with strongroom.connect(database.host_url) as store:
        return await furnish(store)


@pytest.fixture(scope="module")
def costs(templates: Templates) -> Iterator[tuple[dict[str, Cost | str], dict[str, Cost | str]]]:
    # On one server: what a planner takes for cheaper differs between versions.
    with dropped_after(templates.copy(server="pg18")) as database:
        target = asyncio.run(_furnish(database))
        with database.connect() as admin:
            admin.execute(f"alter database {database.name} set track_functions = 'all'".encode())
            grower = Grower(admin, target.tenant_id)
            grower.grow(0, FEW, (0, 5))
            few = _costs(database, target)
            grower.grow(FEW, MANY, (5, 20))
            yield few, _costs(database, target)


def test_a_call_reads_no_more_where_there_is_more(
    costs: tuple[dict[str, Cost | str], dict[str, Cost | str]],
) -> None:
    few, many = costs
    grown, refused = {}, set()
    for name, cost in many.items():
        before, function = few[name], name.split()[0]
        if isinstance(cost, str) or isinstance(before, str):
            refused.add(name)
            continue
        more = max(cost.rows - before.rows, cost.functions - before.functions)
        # Nothing may grow by more than its data.
        linear = 2 * MANY / FEW * max(before.rows, GROWTH)
        if cost.rows > linear or (more > GROWTH and function not in MAY_GROW):
            grown[name] = (before, cost)
    assert grown == {}
    # What is refused has read nothing.
    assert {name for name in refused if " " not in name} <= _REFUSED.keys()
