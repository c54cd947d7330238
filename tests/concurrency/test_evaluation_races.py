"""Races of evaluation: one transaction is open, the other is seen to wait for it."""

from __future__ import annotations

from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.errors import InvalidArgument, NotFound
from strongroom.models import CaseReference, NewEvaluationResult
from tests.concurrency.test_memory_races import TENANT, Arena, Call
from tests.concurrency.test_memory_races import arena as arena

CASE = "refund"
OF_CASE: dict[str, Any] = {"tenant_id": TENANT, "case_id": CASE}
WAYS = pytest.mark.parametrize("commit", [True, False], ids=["committed", "rolled back"])


async def _case(arena: Arena) -> None:
    await arena.first.evaluations.create_case(**OF_CASE, name="Refund", input="Where is it?")


async def _run(arena: Arena, run_id: str = "run") -> dict[str, Any]:
    """Start a run over the case, made where it is missing; return its place."""
    await _case(arena)
    await arena.first.evaluations.start_run(
        tenant_id=TENANT, run_id=run_id, cases=[CaseReference(case_id=CASE)]
    )
    return {"tenant_id": TENANT, "run_id": run_id}


def _record(run: dict[str, Any], result_id: str, *, passed: bool) -> Call:
    result = NewEvaluationResult(id=result_id, case_id=CASE, passed=passed)
    return lambda store: store.evaluations.record(**run, results=[result])


async def _stored(arena: Arena, run: dict[str, Any]) -> list[tuple[str, bool | None]]:
    page = await arena.first.evaluations.list_results(**run)
    return [(result.id, result.passed) for result in page.items]


@WAYS
async def test_of_two_that_write_the_next_version_of_a_case_one_is_told(
    arena: Arena,
    commit: bool,
) -> None:
    await _case(arena)
    update: dict[str, Any] = {**OF_CASE, "expected_version": 1}
    outcome = await arena.race(
        lambda store: store.evaluations.update_case(**update, input="first"),
        lambda store: store.evaluations.update_case(**update, input="second"),
        commit=commit,
    )
    assert outcome == "SR012" if commit else outcome.version == 2
    case = await arena.first.evaluations.get_case(**OF_CASE)
    assert (case.version, case.input) == (2, "first" if commit else "second")
    assert (await arena.first.evaluations.get_case(**OF_CASE, version=1)).input == "Where is it?"


async def test_of_two_results_for_one_try_the_second_is_told_what_is_there(
    arena: Arena,
) -> None:
    for number, (commit, passed, outcome, conflict) in enumerate(
        (
            (True, False, "conflict", "other-content"),
            (True, True, "duplicate", None),
            (False, False, "inserted", None),
        )
    ):
        run = await _run(arena, f"run-{number}")
        first, second = f"first-{number}", f"second-{number}"
        (item,) = await arena.race(
            _record(run, first, passed=True), _record(run, second, passed=passed), commit=commit
        )
        assert (item.outcome, item.conflict) == (outcome, conflict)
        assert item.id == (first if commit else second)
        assert await _stored(arena, run) == [(first, True) if commit else (second, passed)]


@WAYS
async def test_a_result_that_waits_for_the_end_of_its_run_is_refused(
    arena: Arena,
    commit: bool,
) -> None:
    run = await _run(arena)
    outcome = await arena.race(
        lambda store: store.evaluations.finish_run(**run),
        _record(run, "late", passed=True),
        commit=commit,
    )
    assert outcome == "SR030" if commit else [item.outcome for item in outcome] == ["inserted"]
    assert await _stored(arena, run) == ([] if commit else [("late", True)])
    ended = await arena.first.evaluations.finish_run(**run)
    assert (ended.result_count, ended.passed_count) == ((0, 0) if commit else (1, 1))


@WAYS
async def test_the_end_of_a_run_waits_for_results_and_counts_them(
    arena: Arena,
    commit: bool,
) -> None:
    run = await _run(arena)
    ended = await arena.race(
        _record(run, "last", passed=False),
        lambda store: store.evaluations.finish_run(**run),
        commit=commit,
    )
    counts = (ended.status, ended.result_count, ended.failed_count)
    assert counts == ("completed", *((1, 1) if commit else (0, 0)))
    assert len(await _stored(arena, run)) == ended.result_count


@pytest.mark.parametrize("late", ["start", "record"])
async def test_what_is_about_a_case_that_is_being_purged_is_told_so(
    arena: Arena, late: str
) -> None:
    run = await _run(arena)

    async def call(store: Ports) -> object:
        try:
            if late == "record":
                await _record(run, "late", passed=True)(store)
            await store.evaluations.start_run(
                tenant_id=TENANT, run_id="late", cases=[CaseReference(case_id=CASE)]
            )
        except (NotFound, InvalidArgument) as error:
            return error.detail.get("path")
        return None

    told = await arena.race(
        lambda store: store.evaluations.purge_case(**OF_CASE), call, commit=True
    )
    assert told == ("cases[0]" if late == "start" else "results[0].case_id")
    assert await arena.first.evaluations.find_run(tenant_id=TENANT, run_id="late") is None
    assert await _stored(arena, run) == []
