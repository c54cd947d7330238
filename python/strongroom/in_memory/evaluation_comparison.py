"""How two evaluation runs compare."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal

from strongroom.in_memory.database import Tables
from strongroom.in_memory.evaluation_runs import existing_run, results_of
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.models.evaluations import (
    CaseChange,
    CaseComparison,
    EvaluationComparison,
    EvaluationResult,
    ScoreComparison,
)
from strongroom.models.pages import Direction, Page


def compare_runs(tables: Tables, *, base_run_id: str, other_run_id: str) -> EvaluationComparison:
    """Return the figures of both runs."""
    changes = Counter(case.change for case in _cases(tables, base_run_id, other_run_id))
    base, other = results_of(tables, base_run_id), results_of(tables, other_run_id)
    base_scores, other_scores = _scores(base), _scores(other)
    return EvaluationComparison(
        tenant_id=tables.tenant_id,
        base_run_id=base_run_id,
        other_run_id=other_run_id,
        **{
            change: changes[change]
            for change in ("improved", "regressed", "same", "unjudged", "only_base", "only_other")
        },
        base_pass_rate=_pass_rate(base),
        other_pass_rate=_pass_rate(other),
        scores=tuple(
            _compare_score(name, base_scores.get(name, []), other_scores.get(name, []))
            for name in sorted(base_scores | other_scores)
        ),
    )


def _compare_score(name: str, base: list[Decimal], other: list[Decimal]) -> ScoreComparison:
    base_mean, other_mean = _mean(base), _mean(other)
    delta = None if base_mean is None or other_mean is None else float(other_mean - base_mean)
    return ScoreComparison(
        name=name,
        base_mean=_number(base_mean),
        other_mean=_number(other_mean),
        delta=None if delta is None or math.isinf(delta) else delta,
        base_count=len(base),
        other_count=len(other),
    )


def compare_cases(
    tables: Tables,
    *,
    base_run_id: str,
    other_run_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    change: CaseChange | None,
) -> Page[CaseComparison]:
    """Return a page of cases with what has become of each, by case id."""
    check_page(after, before)
    return page_of(
        [
            case
            for case in _cases(tables, base_run_id, other_run_id)
            if change in {None, case.change}
        ],
        key=lambda case: [case.case_id],
        descending=direction == "backward",
        scope=cursor_scope("evaluation_comparison", [base_run_id, other_run_id, change], direction),
        limit=limit,
        after=after,
        before=before,
    )


def _cases(tables: Tables, base_run_id: str, other_run_id: str) -> list[CaseComparison]:
    existing_run(tables, base_run_id, "base_run_id")
    existing_run(tables, other_run_id, "other_run_id")
    named = {case_id for run, case_id in tables.evaluation_run_cases if run == base_run_id}
    named |= {case_id for run, case_id in tables.evaluation_run_cases if run == other_run_id}
    return [_case(tables, case_id, base_run_id, other_run_id) for case_id in named]


def _case(tables: Tables, case_id: str, base_run_id: str, other_run_id: str) -> CaseComparison:
    base_version = tables.evaluation_run_cases.get((base_run_id, case_id))
    other_version = tables.evaluation_run_cases.get((other_run_id, case_id))
    base = [result for result in results_of(tables, base_run_id) if result.case_id == case_id]
    other = [result for result in results_of(tables, other_run_id) if result.case_id == case_id]
    base_rate, other_rate = _pass_rate(base), _pass_rate(other)
    change: CaseChange = "same"
    if other_version is None:
        change = "only_base"
    elif base_version is None:
        change = "only_other"
    elif base_rate is None or other_rate is None:
        change = "unjudged"
    elif base_rate != other_rate:
        change = "improved" if other_rate > base_rate else "regressed"
    return CaseComparison(
        case_id=case_id,
        change=change,
        base_version=base_version,
        other_version=other_version,
        base_results=len(base),
        other_results=len(other),
        base_pass_rate=base_rate,
        other_pass_rate=other_rate,
        base_scores={name: float(_mean(values) or 0) for name, values in _scores(base).items()},
        other_scores={name: float(_mean(values) or 0) for name, values in _scores(other).items()},
    )


def _pass_rate(results: Iterable[EvaluationResult]) -> float | None:
    return _number(_mean([Decimal(r.passed) for r in results if r.passed is not None]))


def _scores(results: Iterable[EvaluationResult]) -> dict[str, list[Decimal]]:
    scores: defaultdict[str, list[Decimal]] = defaultdict(list)
    for result in results:
        for name, value in result.scores.items():
            scores[name].append(Decimal(repr(value)))
    return dict(scores)


def _mean(values: list[Decimal]) -> Decimal | None:
    return sum(values, Decimal(0)) / len(values) if values else None


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
