"""What the calls of EvaluationStore do with runs and results."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidTransition,
    NotFound,
)
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.catalog_entries import living_entry
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.evaluation_cases import find_case
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size, digest
from strongroom.models.evaluations import (
    EvaluationResult,
    EvaluationRun,
    EvaluationRunCase,
    EvaluationStatus,
    FinalEvaluationStatus,
    StartedEvaluationRun,
)
from strongroom.models.pages import Direction, Page
from strongroom.models.tenants import PurgeReceipt

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def start_run(
    tables: Tables, *, run_id: str, cases: list[dict[str, Any]], **content: Any
) -> StartedEvaluationRun:
    """Start a run over exact case versions, or know a repeated start by its content."""
    check_writable(tables)
    check_size("metadata", content["metadata"], METADATA_BYTES)
    if content["agent_version"] is not None and content["agent_id"] is None:
        raise InvalidArgument(
            "agent_version is a version of agent_id; versions start at 1",
            detail={"path": "agent_version"},
            hint="Give the agent and its version, the agent alone, or neither.",
        )
    if len({case["case_id"] for case in cases}) < len(cases):
        raise InvalidArgument(
            "cases names a case twice",
            detail={"path": "cases"},
            hint="Name each case once; a result has a repeat number for further tries.",
        )
    created_with = digest([content, [*cases]])
    row = tables.evaluation_runs.get(run_id)
    if row is None:
        run = _new_run(tables, run_id, cases, content)
        tables.evaluation_runs[run_id] = Row(run, created_with)
        return StartedEvaluationRun(**dict(run), outcome="inserted")
    if row.created_with != created_with:
        raise AlreadyExists(
            "an evaluation run with this id was started otherwise",
            detail={"path": "run_id", "record": "evaluation run"},
            hint="Use a new id for a new evaluation run.",
        )
    return StartedEvaluationRun(**dict(row.record), outcome="duplicate")


def _new_run(
    tables: Tables, run_id: str, cases: list[dict[str, Any]], content: dict[str, Any]
) -> EvaluationRun:
    for place, case in enumerate(cases):
        found = find_case(tables, case_id=case["case_id"], version=case.get("version"))
        if found is None:
            raise NotFound(
                f"cases[{place}]: there is no such evaluation case or version",
                detail={"path": f"cases[{place}]", "record": "evaluation case"},
                hint="Create the case first, or name a version that it has.",
            )
        tables.evaluation_run_cases[run_id, found.id] = found.version
    version = content["agent_version"]
    if version is None and content["agent_id"] is not None:
        agent = living_entry(tables, "agent", content["agent_id"])
        version = (agent.record.latest_version or None) if agent else None
    return EvaluationRun(
        **{**content, "agent_version": version},
        tenant_id=tables.tenant_id,
        id=run_id,
        status="running",
        case_count=len(cases),
        result_count=None,
        passed_count=None,
        failed_count=None,
        started_at=tables.now,
        finished_at=None,
    )


def find_run(tables: Tables, *, run_id: str) -> EvaluationRun | None:
    """Return the run."""
    row = tables.evaluation_runs.get(run_id)
    return row.record if row else None


def existing_run(tables: Tables, run_id: str, path: str = "run_id") -> EvaluationRun:
    """Return the run.

    Raises:
        NotFound: SR010.
    """
    run = find_run(tables, run_id=run_id)
    if run is None:
        raise NotFound(
            "the evaluation run does not exist",
            detail={"path": path, "record": "evaluation run"},
            hint="It may have been purged.",
        )
    return run


def list_runs(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    status: EvaluationStatus | None,
) -> Page[EvaluationRun]:
    """Return a page of runs, forward newest first."""
    check_page(after, before)
    return page_of(
        [
            row.record
            for row in tables.evaluation_runs.values()
            if status in {None, row.record.status}
        ],
        key=lambda run: [(run.started_at - _EPOCH) // dt.timedelta(microseconds=1), run.id],
        descending=direction == "forward",
        scope=cursor_scope("evaluation_runs", [status], direction),
        limit=limit,
        after=after,
        before=before,
    )


def list_run_cases(
    tables: Tables,
    *,
    run_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
) -> Page[EvaluationRunCase]:
    """Return a page of the run's case versions."""
    check_page(after, before)
    existing_run(tables, run_id)
    return page_of(
        [
            EvaluationRunCase(
                tenant_id=tables.tenant_id, run_id=run_id, case_id=case_id, case_version=version
            )
            for (of_run, case_id), version in tables.evaluation_run_cases.items()
            if of_run == run_id
        ],
        key=lambda case: [case.case_id],
        descending=direction == "backward",
        scope=cursor_scope("evaluation_run_cases", [run_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def results_of(tables: Tables, run_id: str) -> list[EvaluationResult]:
    """Return the run's results."""
    return [row.record for key, row in tables.evaluation_results.items() if key[0] == run_id]


def finish_run(tables: Tables, *, run_id: str, status: FinalEvaluationStatus) -> EvaluationRun:
    """End the run and count its results; a repeat changes nothing."""
    check_writable(tables)
    run = existing_run(tables, run_id)
    if run.status == "running":
        verdicts = [result.passed for result in results_of(tables, run_id)]
        ended = run.replace(
            status=status,
            finished_at=tables.now,
            result_count=len(verdicts),
            passed_count=verdicts.count(True),
            failed_count=verdicts.count(False),
        )
        tables.evaluation_runs[run_id] = Row(ended, tables.evaluation_runs[run_id].created_with)
        return ended
    if run.status != status:
        raise InvalidTransition(
            f"the evaluation run is {run.status} already",
            detail={"record": "evaluation run", "from": run.status, "to": status},
            hint="completed, failed and cancelled are final.",
        )
    return run


def purge_run(tables: Tables, *, run_id: str) -> PurgeReceipt:
    """Delete it and its results."""
    check_writable(tables)
    row = tables.evaluation_runs.pop(run_id, None)
    if row:
        record_audit(tables, "evaluation_run.purge", "evaluation_run", run_id)
    cases = [key for key in tables.evaluation_run_cases if key[0] == run_id]
    results = [key for key in tables.evaluation_results if key[0] == run_id]
    for key in cases:
        del tables.evaluation_run_cases[key]
    for result_key in results:
        del tables.evaluation_results[result_key]
    return PurgeReceipt(
        tables={
            "evaluation_runs": 1 if row else 0,
            "evaluation_run_cases": len(cases),
            "evaluation_results": len(results),
        }
    )
