# Written by scripts/generate_sync.py from strongroom/ports/evaluations.py: change that, and run `make generate`.
"""The port for evaluation."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, Json, JsonObject, Name
from strongroom.models.catalog import CatalogVersion
from strongroom.models.evaluations import (
    CaseChange,
    CaseComparison,
    CreatedEvaluationCase,
    EvaluationCase,
    EvaluationCaseHead,
    EvaluationComparison,
    EvaluationResult,
    EvaluationRun,
    EvaluationRunCase,
    EvaluationStatus,
    FinalEvaluationStatus,
    RecordedItem,
    StartedEvaluationRun,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.tenants import PurgeReceipt
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.evaluations import CaseReferences, NewResults


class EvaluationStore(Protocol):
    """Cases with immutable versions, evaluation runs over a fixed set of them, results, comparisons.

    For hosts alone. Every method raises NotFound (SR010) for what is absent, InvalidArgument (SR001) or
    LimitExceeded (SR004) for arguments of the wrong shape, PermissionDenied (SR020), Unavailable (SR050).
    Lists take limit (rows, 1..500), after (a page's next_cursor), before (a page's previous_cursor) and
    direction (``backward`` is the exact reverse), and raise InvalidCursor (SR002).
    """

    def create_case(
        self,
        *,
        tenant_id: Id,
        name: Name,
        input: Json,
        case_id: Id | None = None,
        suite: Id | None = None,
        expected: Json | None = None,
        metadata: JsonObject | None = None,
    ) -> CreatedEvaluationCase:
        """Create a case with version 1; the same call with the same id again says ``duplicate``.

        Args:
            tenant_id: the tenant.
            name: for people, 1 to 255 characters.
            input: what the agent is given: any JSON value, at most 1 MiB.
            case_id: the binding makes a UUIDv7 when it is None.
            suite: what it is grouped by, for lists.
            expected: what is expected of the agent: any JSON value, at most 1 MiB.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            AlreadyExists: SR011, the id was created with other content.

        SQL: ``strongroom.create_evaluation_case``

        Example:
            >>> import strongroom.sync
            >>> from strongroom import CaseReference, NewEvaluationResult
            >>> def main() -> tuple[int, int, float]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         case = store.evaluations.create_case(
            ...             tenant_id="acme", name="Refund", input="Where is my money?"
            ...         )
            ...         runs = []
            ...         for passed in (False, True):
            ...             run = store.evaluations.start_run(
            ...                 tenant_id="acme", cases=[CaseReference(case_id=case.id)]
            ...             )
            ...             store.evaluations.record(
            ...                 tenant_id="acme", run_id=run.id,
            ...                 results=[NewEvaluationResult(
            ...                     case_id=case.id, passed=passed, scores={"tone": 2.0 + passed}
            ...                 )],
            ...             )
            ...             runs.append(run.id)
            ...         found = store.evaluations.compare(
            ...             tenant_id="acme", base_run_id=runs[0], other_run_id=runs[1]
            ...         )
            ...         return found.improved, found.regressed, found.scores[0].delta
            >>> main()
            (1, 0, 1.0)
        """
        ...

    def get_case(
        self, *, tenant_id: Id, case_id: Id, version: CatalogVersion | None = None
    ) -> EvaluationCase:
        """Return a case with the content of one version, the latest without a number.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.find_evaluation_case``
        """
        ...

    def find_case(
        self, *, tenant_id: Id, case_id: Id, version: CatalogVersion | None = None
    ) -> EvaluationCase | None:
        """Return a case, or None. SQL: ``strongroom.find_evaluation_case``."""
        ...

    def list_cases(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        suite: Id | None = None,
        archived: bool | None = None,
    ) -> Page[EvaluationCaseHead]:
        """Return a page of cases by id, without their content.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            suite: only this suite's.
            archived: only archived ones, or only others.

        SQL: ``strongroom.list_evaluation_cases``
        """
        ...

    def update_case(
        self,
        *,
        tenant_id: Id,
        case_id: Id,
        expected_version: CatalogVersion,
        name: Name | Unset = UNSET,
        input: Json | Unset = UNSET,
        expected: Json | Unset | None = UNSET,
        metadata: JsonObject | Unset = UNSET,
    ) -> EvaluationCase:
        """Make the next version of a case; fields that are left out stay as they are.

        Args:
            tenant_id: the tenant.
            case_id: the case.
            expected_version: the ``latest_version`` that you read.
            name: the new name.
            input: the new input.
            expected: the new expectation; None clears it.
            metadata: the whole new metadata.

        Raises:
            VersionConflict: SR012, with ``detail["current_version"]``.
            InvalidTransition: SR030, the case is archived.

        SQL: ``strongroom.update_evaluation_case``
        """
        ...

    def archive_case(self, *, tenant_id: Id, case_id: Id) -> EvaluationCase:
        """Retire a case: it stays readable, but takes no new versions. A repeat changes nothing.

        SQL: ``strongroom.set_evaluation_case_archived``
        """
        ...

    def unarchive_case(self, *, tenant_id: Id, case_id: Id) -> EvaluationCase:
        """Take a case out of the archive; a repeat changes nothing.

        SQL: ``strongroom.set_evaluation_case_archived``
        """
        ...

    def purge_case(self, *, tenant_id: Id, case_id: Id) -> PurgeReceipt:
        """Delete a case, its versions, and its results in every run, for good.

        Returns:
            How many rows each table lost; for an id that does not exist, none: ``purged`` is False.

        SQL: ``strongroom.purge_evaluation_case``
        """
        ...

    def start_run(
        self,
        *,
        tenant_id: Id,
        cases: CaseReferences,
        run_id: Id | None = None,
        name: Name | None = None,
        agent_id: Id | None = None,
        agent_version: CatalogVersion | None = None,
        metadata: JsonObject | None = None,
    ) -> StartedEvaluationRun:
        """Start an evaluation over exact case versions; a repeat by id says ``duplicate``.

        Args:
            tenant_id: the tenant.
            cases: 1 to 1,000 different cases; each in its latest version where none is named.
            run_id: the binding makes a UUIDv7 when it is None.
            name: for people.
            agent_id: the agent that is evaluated.
            agent_version: its version; None records the latest one where the catalog has it.
            metadata: the host's own JSON object, at most 16 KiB.

        Raises:
            NotFound: SR010, a case or version that is not there, with its path.
            AlreadyExists: SR011, the id was started otherwise.

        SQL: ``strongroom.start_evaluation_run``
        """
        ...

    def get_run(self, *, tenant_id: Id, run_id: Id) -> EvaluationRun:
        """Return the evaluation run.

        Raises:
            NotFound: SR010.

        SQL: ``strongroom.find_evaluation_run``
        """
        ...

    def find_run(self, *, tenant_id: Id, run_id: Id) -> EvaluationRun | None:
        """Return the evaluation run, or None. SQL: ``strongroom.find_evaluation_run``."""
        ...

    def list_runs(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        status: EvaluationStatus | None = None,
    ) -> Page[EvaluationRun]:
        """Return a page of evaluation runs, forward newest first, by their start.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            status: only those that stand so.

        SQL: ``strongroom.list_evaluation_runs``
        """
        ...

    def list_run_cases(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[EvaluationRunCase]:
        """Return a page of the case versions that the run is about, by case id.

        SQL: ``strongroom.list_evaluation_run_cases``
        """
        ...

    def finish_run(
        self, *, tenant_id: Id, run_id: Id, status: FinalEvaluationStatus = "completed"
    ) -> EvaluationRun:
        """End the run and count its results; a repeat changes nothing.

        Raises:
            InvalidTransition: SR030, it has ended otherwise.

        SQL: ``strongroom.finish_evaluation_run``
        """
        ...

    def purge_run(self, *, tenant_id: Id, run_id: Id) -> PurgeReceipt:
        """Delete a run and its results for good.

        Returns:
            How many rows each table lost; for an id that does not exist, none: ``purged`` is False.

        SQL: ``strongroom.purge_evaluation_run``
        """
        ...

    def record(self, *, tenant_id: Id, run_id: Id, results: NewResults) -> list[RecordedItem]:
        """Record results of a running run: all of them or none, and say what became of each.

        A repeat is known by its id, and by its case and ``repeat`` number; see :class:`RecordedItem`.

        Args:
            tenant_id: the tenant.
            run_id: the run.
            results: 1 to 500.

        Raises:
            NotFound: SR010, also for a source conversation that is not there (any more).
            InvalidArgument: SR001, also for a case that is not the run's.
            InvalidTransition: SR030, the run has ended.

        SQL: ``strongroom.record_evaluation_results``
        """
        ...

    def list_results(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        case_id: Id | None = None,
        passed: bool | None = None,
    ) -> Page[EvaluationResult]:
        """Return a page of the run's results, by case id and repeat.

        Args:
            tenant_id: the tenant.
            run_id: the run.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            case_id: only this case's.
            passed: only those with this verdict.

        SQL: ``strongroom.list_evaluation_results``
        """
        ...

    def compare(self, *, tenant_id: Id, base_run_id: Id, other_run_id: Id) -> EvaluationComparison:
        """Compare two runs in figures.

        Verdicts alone decide whether a case has improved, for a score may be better when it is lower.

        SQL: ``strongroom.compare_evaluation_runs``
        """
        ...

    def compare_cases(
        self,
        *,
        tenant_id: Id,
        base_run_id: Id,
        other_run_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        change: CaseChange | None = None,
    ) -> Page[CaseComparison]:
        """Return a page of the cases of two runs, by case id, with what has become of each.

        Args:
            tenant_id: the tenant.
            base_run_id: the one run.
            other_run_id: the other.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            change: only cases that went this way.

        SQL: ``strongroom.list_evaluation_comparison``
        """
        ...
