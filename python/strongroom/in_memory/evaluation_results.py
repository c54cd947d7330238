"""What the calls of EvaluationStore do with results."""

from __future__ import annotations

from typing import Any

from strongroom.errors import InvalidArgument, InvalidTransition, NotFound
from strongroom.in_memory.base import check_writable, is_readable
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.evaluation_cases import PAYLOAD_BYTES
from strongroom.in_memory.evaluation_runs import existing_run, results_of
from strongroom.in_memory.pages import Key, check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size, digest
from strongroom.models.evaluations import EvaluationResult, EvaluationRun, RecordedItem
from strongroom.models.pages import Direction, Page

ERROR_BYTES = 65_536


def record_results(
    tables: Tables, *, run_id: str, results: list[dict[str, Any]]
) -> list[RecordedItem]:
    """Record results of a running run, all or none; say what became of each."""
    check_writable(tables)
    for place, result in enumerate(results):
        _check_result(f"results[{place}]", result)
    run = existing_run(tables, run_id)
    for place, result in enumerate(results):
        if (run_id, result["case_id"]) not in tables.evaluation_run_cases:
            raise InvalidArgument(
                f"results[{place}].case_id is not a case of this evaluation run",
                detail={"path": f"results[{place}].case_id"},
                hint="list_evaluation_run_cases lists them.",
            )
    ids = {row.record.id for row in tables.evaluation_results.values()}
    for place, result in enumerate(results):
        source = result["source_conversation_id"]
        talk = tables.conversations.get(source) if source is not None else None
        if source is None or result["id"] in ids or (talk and is_readable(talk.record, None)):
            continue
        raise NotFound(
            f"results[{place}]: the conversation does not exist",
            detail={
                "path": f"results[{place}].source_conversation_id",
                "record": "conversation",
            },
            hint="It may have been deleted; leave the source out to keep the result alone.",
        )
    items = [_record(tables, run, result, ids) for result in results]
    if run.status != "running" and None in items:
        raise InvalidTransition(
            f"the evaluation run is {run.status} and takes no more results",
            detail={"path": "run_id", "record": "evaluation run", "status": run.status},
            hint="Start another evaluation run.",
        )
    return [item for item in items if item is not None]


def _check_result(path: str, result: dict[str, Any]) -> None:
    check_size(f"{path}.scores", result["scores"], ERROR_BYTES)
    check_size(f"{path}.output", result["output"], PAYLOAD_BYTES)
    check_size(f"{path}.metadata", result["metadata"], METADATA_BYTES)
    if result["error"] is not None:
        check_size(f"{path}.error", result["error"], ERROR_BYTES)
        if result["passed"]:
            raise InvalidArgument(
                f"{path}.passed cannot be true beside an error",
                detail={"path": f"{path}.passed"},
                hint="A result with an error has not passed.",
            )


def _record(
    tables: Tables, run: EvaluationRun, result: dict[str, Any], ids: set[str]
) -> RecordedItem | None:
    """Record one result; None where the run has ended, so that it cannot be."""
    content = {**result, "passed": False if result["error"] is not None else result["passed"]}
    place = (run.id, content.pop("case_id"), content.pop("repeat"))
    result_id = content.pop("id")
    created_with = digest(content)
    row = tables.evaluation_results.get(place)
    named: dict[str, Any] = {"case_id": place[1], "repeat": place[2]}
    if row is not None:
        same = row.created_with == created_with
        return RecordedItem(
            **named,
            id=row.record.id,
            outcome="duplicate" if same else "conflict",
            recorded_at=row.record.recorded_at,
            conflict=None if same else "other-content",
        )
    if run.status != "running":
        return None
    if result_id in ids:
        return RecordedItem(
            **named, id=result_id, outcome="conflict", recorded_at=None, conflict="other-place"
        )
    stored = EvaluationResult(
        **content,
        **named,
        tenant_id=tables.tenant_id,
        run_id=run.id,
        case_version=tables.evaluation_run_cases[run.id, place[1]],
        id=result_id,
        source_purged_at=None,
        recorded_at=tables.now,
    )
    ids.add(result_id)
    tables.evaluation_results[place] = Row(stored, created_with)
    return RecordedItem(
        **named, id=result_id, outcome="inserted", recorded_at=tables.now, conflict=None
    )


def list_results(
    tables: Tables,
    *,
    run_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    case_id: str | None,
    passed: bool | None,
) -> Page[EvaluationResult]:
    """Return a page of results, by case id and repeat."""
    check_page(after, before)
    existing_run(tables, run_id)

    def place(result: EvaluationResult) -> Key:
        return [result.case_id, result.repeat]

    return page_of(
        [
            result
            for result in results_of(tables, run_id)
            if case_id in {None, result.case_id} and (passed is None or result.passed is passed)
        ],
        key=place,
        descending=direction == "backward",
        scope=cursor_scope("evaluation_results", [run_id, case_id, passed], direction),
        limit=limit,
        after=after,
        before=before,
    )


def empty_results_of(tables: Tables, conversation_id: str) -> None:
    """Take what was said out of the results that came from a conversation, as it is purged."""
    for key, row in tables.evaluation_results.items():
        if row.record.source_conversation_id == conversation_id:
            emptied = row.record.replace(
                source_conversation_id=None,
                source_purged_at=tables.now,
                output=None,
                error=None,
                metadata={},
            )
            tables.evaluation_results[key] = Row(emptied, row.created_with)


def drop_evaluations(tables: Tables) -> dict[str, int]:
    """Delete all of it with its tenant; count the rows."""
    counts = {
        "evaluation_cases": len(tables.evaluation_cases),
        "evaluation_case_versions": sum(len(v) for v in tables.evaluation_cases.values()),
        "evaluation_runs": len(tables.evaluation_runs),
        "evaluation_run_cases": len(tables.evaluation_run_cases),
        "evaluation_results": len(tables.evaluation_results),
    }
    for rows in (
        tables.evaluation_cases,
        tables.evaluation_digests,
        tables.evaluation_runs,
        tables.evaluation_run_cases,
        tables.evaluation_results,
    ):
        rows.clear()
    return counts
