# Written by scripts/generate_sync.py from strongroom/stores/evaluations.py: change that, and run `make generate`.
"""EvaluationStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, Json, JsonObject, JsonValue, Name
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
from strongroom.stores.base import existing
from strongroom.stores.evaluations import case_documents, result_documents
from strongroom.stores.tenants import PurgedTable, receipt_of
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlEvaluationStore(SqlStore):
    """See :class:`strongroom.ports.EvaluationStore`."""

    @port_method
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
        """See the port."""
        return self._one(
            CreatedEvaluationCase,
            "create_evaluation_case",
            tenant_id=tenant_id,
            name=name,
            input=Document(input),
            case_id=case_id or new_id(),
            suite=suite,
            expected=Document(expected),
            metadata=Document(metadata or {}),
        )

    @port_method
    def get_case(
        self, *, tenant_id: Id, case_id: Id, version: CatalogVersion | None = None
    ) -> EvaluationCase:
        """See the port."""
        found = self._find_case(tenant_id, case_id, version)
        return existing(found, "evaluation case", "case_id")

    @port_method
    def find_case(
        self, *, tenant_id: Id, case_id: Id, version: CatalogVersion | None = None
    ) -> EvaluationCase | None:
        """See the port."""
        return self._find_case(tenant_id, case_id, version)

    def _find_case(
        self, tenant_id: str, case_id: str, version: int | None
    ) -> EvaluationCase | None:
        return self._find(
            EvaluationCase,
            "find_evaluation_case",
            tenant_id=tenant_id,
            case_id=case_id,
            version=version,
        )

    @port_method
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
        """See the port."""
        return self._page(
            EvaluationCaseHead,
            "list_evaluation_cases",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            suite=suite,
            archived=archived,
        )

    @port_method
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
        """See the port."""
        changes: dict[str, JsonValue] = {
            "name": name,
            "input": input,
            "expected": expected,
            "metadata": metadata,
        }
        return self._one(
            EvaluationCase,
            "update_evaluation_case",
            tenant_id=tenant_id,
            case_id=case_id,
            changes=Document({k: v for k, v in changes.items() if v is not UNSET}),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    def archive_case(self, *, tenant_id: Id, case_id: Id) -> EvaluationCase:
        """See the port."""
        return self._set_archived(tenant_id, case_id, is_archived=True)

    @port_method
    def unarchive_case(self, *, tenant_id: Id, case_id: Id) -> EvaluationCase:
        """See the port."""
        return self._set_archived(tenant_id, case_id, is_archived=False)

    def _set_archived(self, tenant_id: str, case_id: str, *, is_archived: bool) -> EvaluationCase:
        return self._one(
            EvaluationCase,
            "set_evaluation_case_archived",
            tenant_id=tenant_id,
            case_id=case_id,
            is_archived=is_archived,
        )

    @port_method
    def purge_case(self, *, tenant_id: Id, case_id: Id) -> PurgeReceipt:
        """See the port."""
        rows = self._rows(
            PurgedTable, "purge_evaluation_case", tenant_id=tenant_id, case_id=case_id
        )
        return receipt_of(rows)

    @port_method
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
        """See the port."""
        return self._one(
            StartedEvaluationRun,
            "start_evaluation_run",
            tenant_id=tenant_id,
            cases=Document(case_documents(cases)),
            run_id=run_id or new_id(),
            name=name,
            agent_id=agent_id,
            agent_version=agent_version,
            metadata=Document(metadata or {}),
        )

    @port_method
    def get_run(self, *, tenant_id: Id, run_id: Id) -> EvaluationRun:
        """See the port."""
        found = self._find(EvaluationRun, "find_evaluation_run", tenant_id=tenant_id, run_id=run_id)
        return existing(found, "evaluation run", "run_id")

    @port_method
    def find_run(self, *, tenant_id: Id, run_id: Id) -> EvaluationRun | None:
        """See the port."""
        return self._find(EvaluationRun, "find_evaluation_run", tenant_id=tenant_id, run_id=run_id)

    @port_method
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
        """See the port."""
        return self._page(
            EvaluationRun,
            "list_evaluation_runs",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            status=status,
        )

    @port_method
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
        """See the port."""
        return self._page(
            EvaluationRunCase,
            "list_evaluation_run_cases",
            tenant_id=tenant_id,
            run_id=run_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
        )

    @port_method
    def finish_run(
        self, *, tenant_id: Id, run_id: Id, status: FinalEvaluationStatus = "completed"
    ) -> EvaluationRun:
        """See the port."""
        return self._one(
            EvaluationRun,
            "finish_evaluation_run",
            tenant_id=tenant_id,
            run_id=run_id,
            status=status,
        )

    @port_method
    def purge_run(self, *, tenant_id: Id, run_id: Id) -> PurgeReceipt:
        """See the port."""
        rows = self._rows(PurgedTable, "purge_evaluation_run", tenant_id=tenant_id, run_id=run_id)
        return receipt_of(rows)

    @port_method
    def record(self, *, tenant_id: Id, run_id: Id, results: NewResults) -> list[RecordedItem]:
        """See the port."""
        return self._rows(
            RecordedItem,
            "record_evaluation_results",
            tenant_id=tenant_id,
            run_id=run_id,
            results=Document(result_documents(results)),
        )

    @port_method
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
        """See the port."""
        return self._page(
            EvaluationResult,
            "list_evaluation_results",
            tenant_id=tenant_id,
            run_id=run_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            case_id=case_id,
            passed=passed,
        )

    @port_method
    def compare(self, *, tenant_id: Id, base_run_id: Id, other_run_id: Id) -> EvaluationComparison:
        """See the port."""
        return self._one(
            EvaluationComparison,
            "compare_evaluation_runs",
            tenant_id=tenant_id,
            base_run_id=base_run_id,
            other_run_id=other_run_id,
        )

    @port_method
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
        """See the port."""
        return self._page(
            CaseComparison,
            "list_evaluation_comparison",
            tenant_id=tenant_id,
            base_run_id=base_run_id,
            other_run_id=other_run_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            change=change,
        )
