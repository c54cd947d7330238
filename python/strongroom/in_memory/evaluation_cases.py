"""What the calls of EvaluationStore do with cases."""

from __future__ import annotations

from typing import Any

from strongroom.errors import AlreadyExists, InvalidTransition, NotFound
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_version, check_writable
from strongroom.in_memory.database import Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.values import METADATA_BYTES, check_size, digest
from strongroom.models.base import JsonValue
from strongroom.models.evaluations import CreatedEvaluationCase, EvaluationCase, EvaluationCaseHead
from strongroom.models.pages import Direction, Page
from strongroom.models.tenants import PurgeReceipt

PAYLOAD_BYTES = 1_048_576


def create_case(
    tables: Tables, *, case_id: str, suite: str | None, **content: Any
) -> CreatedEvaluationCase:
    """Create a case with version 1, or know a repeated create by its content."""
    check_writable(tables)
    for field in ("input", "expected"):
        check_size(field, content[field], PAYLOAD_BYTES)
    check_size("metadata", content["metadata"], METADATA_BYTES)
    created_with = digest([suite, *_ordered(content)])
    if case_id not in tables.evaluation_cases:
        case = EvaluationCase(
            **content,
            tenant_id=tables.tenant_id,
            id=case_id,
            suite=suite,
            version=1,
            latest_version=1,
            content_digest=digest(_ordered(content)),
            archived_at=None,
            created_at=tables.now,
            updated_at=tables.now,
        )
        tables.evaluation_cases[case_id] = (case,)
        tables.evaluation_digests[case_id] = created_with
        return CreatedEvaluationCase(**dict(case), outcome="inserted")
    if tables.evaluation_digests[case_id] != created_with:
        raise AlreadyExists(
            "an evaluation case with this id was created with other content",
            detail={"path": "case_id", "record": "evaluation case"},
            hint="Read it and update it, or choose another id.",
        )
    return CreatedEvaluationCase(**dict(tables.evaluation_cases[case_id][-1]), outcome="duplicate")


def _ordered(content: dict[str, Any]) -> list[JsonValue]:
    return [content[field] for field in ("name", "input", "expected", "metadata")]


def find_case(tables: Tables, *, case_id: str, version: int | None) -> EvaluationCase | None:
    """Return a case with one version's content."""
    versions = tables.evaluation_cases.get(case_id, ())
    number = version or len(versions)
    return versions[number - 1] if 1 <= number <= len(versions) else None


def list_cases(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    suite: str | None,
    archived: bool | None,
) -> Page[EvaluationCaseHead]:
    """Return a page of cases without content, by id."""
    check_page(after, before)
    latest = [versions[-1] for versions in tables.evaluation_cases.values()]
    return page_of(
        [
            EvaluationCaseHead(**{name: getattr(case, name) for name in _HEAD})
            for case in latest
            if suite in {None, case.suite} and archived in {None, case.archived_at is not None}
        ],
        key=lambda case: [case.id],
        descending=direction == "backward",
        scope=cursor_scope("evaluation_cases", [suite, archived], direction),
        limit=limit,
        after=after,
        before=before,
    )


_HEAD = tuple(EvaluationCaseHead.model_fields)


def update_case(
    tables: Tables, *, case_id: str, changes: dict[str, Any], expected_version: int
) -> EvaluationCase:
    """Make the next version."""
    check_writable(tables)
    for field, value in changes.items():
        limit = METADATA_BYTES if field == "metadata" else PAYLOAD_BYTES
        check_size(f"changes.{field}", value, limit)
    latest = _existing(tables, case_id)[-1]
    check_version("evaluation case", expected_version, latest.version)
    if latest.archived_at is not None:
        raise InvalidTransition(
            "the evaluation case is archived and takes no new version",
            detail={"path": "case_id", "record": "evaluation case"},
            hint="Take it out of the archive first.",
        )
    content = {field: getattr(latest, field) for field in ("name", "input", "expected", "metadata")}
    content |= changes
    made = latest.replace(
        **content, version=latest.version + 1, content_digest=digest(_ordered(content))
    )
    _keep(tables, (*tables.evaluation_cases[case_id], made), latest_version=made.version)
    return tables.evaluation_cases[case_id][-1]


def _existing(tables: Tables, case_id: str) -> tuple[EvaluationCase, ...]:
    versions = tables.evaluation_cases.get(case_id)
    if versions is None:
        raise NotFound(
            "the evaluation case does not exist",
            detail={"record": "evaluation case"},
            hint="It may have been deleted, or this caller may not see it.",
        )
    return versions


def _keep(tables: Tables, versions: tuple[EvaluationCase, ...], **changes: Any) -> None:
    """Write what every version says of its case."""
    tables.evaluation_cases[versions[0].id] = tuple(
        version.replace(**changes, updated_at=tables.now) for version in versions
    )


def set_case_archived(tables: Tables, *, case_id: str, is_archived: bool) -> EvaluationCase:
    """Put it into the archive or take it out; a repeat changes nothing."""
    check_writable(tables)
    versions = _existing(tables, case_id)
    if (versions[-1].archived_at is not None) != is_archived:
        _keep(tables, versions, archived_at=tables.now if is_archived else None)
    return tables.evaluation_cases[case_id][-1]


def purge_case(tables: Tables, *, case_id: str) -> PurgeReceipt:
    """Delete it, its versions and its results in every run."""
    check_writable(tables)
    versions = tables.evaluation_cases.pop(case_id, ())
    tables.evaluation_digests.pop(case_id, None)
    if versions:
        record_audit(tables, "evaluation_case.purge", "evaluation_case", case_id)
    in_runs = [key for key in tables.evaluation_run_cases if key[1] == case_id]
    results = [key for key in tables.evaluation_results if key[1] == case_id]
    for key in in_runs:
        del tables.evaluation_run_cases[key]
    for result_key in results:
        del tables.evaluation_results[result_key]
    return PurgeReceipt(
        tables={
            "evaluation_cases": 1 if versions else 0,
            "evaluation_case_versions": len(versions),
            "evaluation_run_cases": len(in_runs),
            "evaluation_results": len(results),
        }
    )
