"""Evaluation: cases with versions, runs over a fixed set of them, results, and comparisons."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import Id, Json, JsonObject, Name, Record, Timestamp
from strongroom.models.catalog import CatalogVersion
from strongroom.models.tenants import CreateOutcome

EvaluationStatus = Literal["running", "completed", "failed", "cancelled"]
"""completed, failed and cancelled are final."""

FinalEvaluationStatus = Literal["completed", "failed", "cancelled"]

CaseChange = Literal["improved", "regressed", "same", "unjudged", "only_base", "only_other"]
"""What has become of a case. Verdicts alone decide; unjudged: a run has no verdict on it."""

Score = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Scores = dict[Id, Score]
"""Numbers by name."""

Count = Annotated[int, Field(ge=0)]
Repeat = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
"""Which try at a case: 1, 2, 3, ..."""


class EvaluationCaseHead(Record):
    """A case without its content.

    Attributes:
        suite: what it is grouped by, for lists.
        version: the version that is shown.
        latest_version: the newest version; updates name it.
        content_digest: SHA-256 of the version's content.
    """

    tenant_id: Id
    id: Id
    suite: Id | None
    name: Name
    version: CatalogVersion
    latest_version: CatalogVersion
    content_digest: str
    archived_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class EvaluationCase(EvaluationCaseHead):
    """A case with the content of one version."""

    input: Json
    expected: Json | None
    metadata: JsonObject


class CreatedEvaluationCase(EvaluationCase):
    """A case as ``create_case`` returns it."""

    outcome: CreateOutcome


class CaseReference(Record):
    """A case to evaluate: in this version, or in the latest one when it is None."""

    case_id: Id
    version: CatalogVersion | None = None


class EvaluationRun(Record):
    """One evaluation of an agent.

    Attributes:
        agent_version: the exact version, where the host has named it or the catalog has it.
        case_count: how many cases it was started with.
        result_count: how many results it had when it finished; None before.
        passed_count: how many of them had passed.
        failed_count: how many of them had not; the rest has no verdict.
    """

    tenant_id: Id
    id: Id
    name: Name | None
    status: EvaluationStatus
    agent_id: Id | None
    agent_version: CatalogVersion | None
    metadata: JsonObject
    case_count: Count
    result_count: Count | None
    passed_count: Count | None
    failed_count: Count | None
    started_at: Timestamp
    finished_at: Timestamp | None


class StartedEvaluationRun(EvaluationRun):
    """An evaluation run as ``start_run`` returns it."""

    outcome: CreateOutcome


class EvaluationRunCase(Record):
    """A case of an evaluation run, in its exact version."""

    tenant_id: Id
    run_id: Id
    case_id: Id
    case_version: CatalogVersion


class NewEvaluationResult(Record):
    """A result to record.

    Attributes:
        case_id: a case of the run.
        repeat: which try at it.
        id: the binding makes a UUIDv7 when it is None.
        passed: the verdict; None where nobody has judged. Beside an error it is False.
        scores: numbers by name, at most 100.
        output: what the agent answered, at most 1 MiB.
        error: why there is no answer, at most 64 KiB.
        metadata: the host's own JSON object, at most 16 KiB.
        source_conversation_id: the conversation that it came from. When that is purged, the result keeps
            verdict and scores, and loses output, error and metadata. Leave it out to keep those.
        usage_event_id: the usage event that says what it cost: a soft reference.
    """

    case_id: Id
    repeat: Repeat = 1
    id: Id | None = None
    passed: Annotated[bool, Field(strict=True)] | None = None
    scores: Scores = Field(default_factory=dict, max_length=100)
    output: Json | None = None
    error: JsonObject | None = None
    metadata: JsonObject = Field(default_factory=dict)
    source_conversation_id: Id | None = None
    usage_event_id: Id | None = None


class EvaluationResult(Record):
    """A result. ``source_purged_at``: when the conversation that it came from was purged."""

    tenant_id: Id
    run_id: Id
    case_id: Id
    case_version: CatalogVersion
    repeat: Repeat
    id: Id
    passed: bool | None
    scores: dict[str, float]
    output: Json | None
    error: JsonObject | None
    metadata: JsonObject
    source_conversation_id: Id | None
    source_purged_at: Timestamp | None
    usage_event_id: Id | None
    recorded_at: Timestamp


class RecordedItem(Record):
    """What became of one result.

    Attributes:
        id: the stored result's id, which for a duplicate may be another than was given.
        outcome: ``inserted``, ``duplicate`` (the same content is there for that case and repeat), or
            ``conflict``, which changed nothing.
        conflict: ``other-content`` for that case and repeat, or ``other-place``: the id is that of another
            case, repeat or run.
    """

    id: Id
    outcome: Literal["inserted", "duplicate", "conflict"]
    case_id: Id
    repeat: Repeat
    recorded_at: Timestamp | None
    conflict: Literal["other-content", "other-place"] | None


class ScoreComparison(Record):
    """A score in two runs: means over all results that have it, and other minus base.

    ``delta`` is None where a run has none, and where the difference is more than a float holds.
    """

    name: str
    base_mean: float | None
    other_mean: float | None
    delta: float | None
    base_count: Count
    other_count: Count


class EvaluationComparison(Record):
    """Two runs in figures: how many cases went which way, pass rates over all judged results, scores."""

    tenant_id: Id
    base_run_id: Id
    other_run_id: Id
    improved: Count
    regressed: Count
    same: Count
    unjudged: Count
    only_base: Count
    only_other: Count
    base_pass_rate: float | None
    other_pass_rate: float | None
    scores: tuple[ScoreComparison, ...]


class CaseComparison(Record):
    """A case in two runs.

    Attributes:
        change: what has become of it.
        base_pass_rate: the share of its judged repeats that have passed; None without any.
        base_scores: the mean of each score over its repeats.
    """

    case_id: Id
    change: CaseChange
    base_version: CatalogVersion | None
    other_version: CatalogVersion | None
    base_results: Count
    other_results: Count
    base_pass_rate: float | None
    other_pass_rate: float | None
    base_scores: dict[str, float]
    other_scores: dict[str, float]
