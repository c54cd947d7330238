"""Evaluation's part of :mod:`~strongroom.conformance.calls`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from strongroom.client import Ports
from strongroom.conformance.helpers import PageOf, fresh, new_tenant
from strongroom.models import CaseReference, Conversation, NewEvaluationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationIds:
    """A case, and a run of it with a result."""

    case_id: str
    run_id: str

    def absent(self) -> EvaluationIds:
        """Return ids of the same form that name nothing."""
        return replace(self, case_id=self.case_id[::-1], run_id=self.run_id[::-1])


async def fill_evaluations(store: Ports, tenant_id: str) -> EvaluationIds:
    """Make a case and a run of it with a result."""
    ids = EvaluationIds(case_id=fresh("case"), run_id=fresh("evaluation"))
    await store.evaluations.create_case(
        tenant_id=tenant_id, case_id=ids.case_id, name="Secret", input="secret", expected="secret"
    )
    await store.evaluations.start_run(
        tenant_id=tenant_id, run_id=ids.run_id, cases=[CaseReference(case_id=ids.case_id)]
    )
    await store.evaluations.record(
        tenant_id=tenant_id,
        run_id=ids.run_id,
        results=[NewEvaluationResult(case_id=ids.case_id, passed=True, output="secret")],
    )
    return ids


Call = Callable[[Ports, str, EvaluationIds], Awaitable[object]]

HOST_READS: dict[str, Call] = {
    "evaluations.get_case": lambda s, t, i: s.evaluations.get_case(tenant_id=t, case_id=i.case_id),
    "evaluations.find_case": lambda s, t, i: s.evaluations.find_case(
        tenant_id=t, case_id=i.case_id, version=1
    ),
    "evaluations.get_run": lambda s, t, i: s.evaluations.get_run(tenant_id=t, run_id=i.run_id),
    "evaluations.find_run": lambda s, t, i: s.evaluations.find_run(tenant_id=t, run_id=i.run_id),
    "evaluations.list_run_cases": lambda s, t, i: s.evaluations.list_run_cases(
        tenant_id=t, run_id=i.run_id
    ),
    "evaluations.list_results": lambda s, t, i: s.evaluations.list_results(
        tenant_id=t, run_id=i.run_id
    ),
    "evaluations.compare": lambda s, t, i: s.evaluations.compare(
        tenant_id=t, base_run_id=i.run_id, other_run_id=i.run_id
    ),
    "evaluations.compare_cases": lambda s, t, i: s.evaluations.compare_cases(
        tenant_id=t, base_run_id=i.run_id, other_run_id=i.run_id
    ),
}

HOST_WRITES: dict[str, Call] = {
    "evaluations.update_case": lambda s, t, i: s.evaluations.update_case(
        tenant_id=t, case_id=i.case_id, input="taken", expected_version=1
    ),
    "evaluations.archive_case": lambda s, t, i: s.evaluations.archive_case(
        tenant_id=t, case_id=i.case_id
    ),
    "evaluations.unarchive_case": lambda s, t, i: s.evaluations.unarchive_case(
        tenant_id=t, case_id=i.case_id
    ),
    "evaluations.start_run": lambda s, t, i: s.evaluations.start_run(
        tenant_id=t, cases=[CaseReference(case_id=i.case_id)]
    ),
    "evaluations.record": lambda s, t, i: s.evaluations.record(
        tenant_id=t,
        run_id=i.run_id,
        results=[NewEvaluationResult(case_id=i.case_id, repeat=2, passed=False)],
    ),
    "evaluations.finish_run": lambda s, t, i: s.evaluations.finish_run(
        tenant_id=t, run_id=i.run_id
    ),
}


ArgumentCall = Callable[[Ports, Conversation, Any], Awaitable[object]]


def _record(**fields: Any) -> Callable[[Ports, Conversation], Awaitable[object]]:
    return lambda store, talk: store.evaluations.record(
        tenant_id=talk.tenant_id,
        run_id="r",
        results=[
            NewEvaluationResult(case_id="c"),
            NewEvaluationResult(**{"case_id": "c", **fields}),
        ],
    )


ID_PATHS: dict[str, ArgumentCall] = {
    "case_id": lambda s, t, x: s.evaluations.get_case(tenant_id=t.tenant_id, case_id=x),
    "run_id": lambda s, t, x: s.evaluations.list_results(tenant_id=t.tenant_id, run_id=x),
    "base_run_id": lambda s, t, x: s.evaluations.compare(
        tenant_id=t.tenant_id, base_run_id=x, other_run_id="r"
    ),
}
OPTIONAL_ID_PATHS: dict[str, ArgumentCall] = {
    "case_id": lambda s, t, x: s.evaluations.create_case(
        tenant_id=t.tenant_id, name="x", input=1, case_id=x
    ),
    "suite": lambda s, t, x: s.evaluations.create_case(
        tenant_id=t.tenant_id, name="x", input=1, suite=x
    ),
    "run_id": lambda s, t, x: s.evaluations.start_run(
        tenant_id=t.tenant_id, cases=[CaseReference(case_id="c")], run_id=x
    ),
}
TEXT_PATHS: dict[str, ArgumentCall] = {
    "input.a[1]": lambda s, t, x: s.evaluations.create_case(
        tenant_id=t.tenant_id, name="x", input={"a": [0, x]}
    ),
    "expected": lambda s, t, x: s.evaluations.create_case(
        tenant_id=t.tenant_id, name="x", input=1, expected=x
    ),
    "suite": lambda s, t, x: s.evaluations.list_cases(tenant_id=t.tenant_id, suite=x),
    "changes.input": lambda s, t, x: s.evaluations.update_case(
        tenant_id=t.tenant_id, case_id="c", input=x, expected_version=1
    ),
    "cases[0].case_id": lambda s, t, x: s.evaluations.start_run(
        tenant_id=t.tenant_id, cases=[CaseReference(case_id=x)]
    ),
    "results[1].output.k": lambda s, t, x: _record(output={"k": x})(s, t),
    "results[1].error.message": lambda s, t, x: _record(error={"message": x})(s, t),
    "results[1].metadata.k": lambda s, t, x: _record(metadata={"k": x})(s, t),
    "results[1].usage_event_id": lambda s, t, x: _record(usage_event_id=x)(s, t),
}


async def _cases(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [
        await store.evaluations.create_case(tenant_id=tenant_id, name="x", input=1, suite="s")
        for _ in range(count)
    ]
    return (
        lambda **page: store.evaluations.list_cases(tenant_id=tenant_id, suite="s", **page),
        sorted(one.id for one in made),
    )


async def _runs(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    case = await store.evaluations.create_case(tenant_id=tenant_id, name="x", input=1)
    made = [
        await store.evaluations.start_run(
            tenant_id=tenant_id, cases=[CaseReference(case_id=case.id)]
        )
        for _ in range(count)
    ]
    made.sort(key=lambda run: (run.started_at, run.id), reverse=True)
    return (
        lambda **page: store.evaluations.list_runs(tenant_id=tenant_id, **page),
        [one.id for one in made],
    )


async def _results(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    case = await store.evaluations.create_case(tenant_id=tenant_id, name="x", input=1)
    run = await store.evaluations.start_run(
        tenant_id=tenant_id, cases=[CaseReference(case_id=case.id)]
    )
    results = [
        NewEvaluationResult(case_id=case.id, repeat=number, id=fresh("result"))
        for number in range(1, count + 1)
    ]
    await store.evaluations.record(tenant_id=tenant_id, run_id=run.id, results=results)
    return (
        lambda **page: store.evaluations.list_results(tenant_id=tenant_id, run_id=run.id, **page),
        [str(one.id) for one in results],
    )


LISTS: dict[str, Callable[[Ports, int], Awaitable[tuple[PageOf, list[str]]]]] = {
    "evaluation cases": _cases,
    "evaluation runs": _runs,
    "evaluation results": _results,
}
"""Each list with the ids of its rows in order."""
