"""What the calls of RunStore do that give a run back or end it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import InvalidArgument, InvalidTransition, StrongroomError
from strongroom.in_memory.base import check_writable
from strongroom.in_memory.database import Tables
from strongroom.in_memory.run_steps import (
    change_run,
    claimed_run,
    end_lost_run,
    end_run,
    is_given_up,
    is_lost,
    living_run,
    moment,
    next_token,
    queue_waiting_run,
    readable_runs,
    stale,
)
from strongroom.in_memory.session_state import put_session_state
from strongroom.in_memory.usage_functions import check_usage
from strongroom.in_memory.values import check_size
from strongroom.models.runs import CreatedRun, FinalStatus, Run, WaitingStatus

ERROR_BYTES = 65_536


def pause_run(tables: Tables, *, run_id: str, claim_token: int, status: WaitingStatus) -> Run:
    """Give the run back until its interactions are resolved; a repeat changes nothing."""
    check_writable(tables)
    run = living_run(tables, run_id)
    if run.claim_token != claim_token or run.status not in {
        "running",
        status,
        "queued",
        "cancelled",
    }:
        raise stale(run, claim_token)
    if run.status != "running":
        return run
    if not any(
        row.record.run_id == run_id and status == f"waiting_for_{row.record.kind}"
        for row in tables.interactions.values()
    ):
        raise InvalidTransition(
            "the run has asked nothing that it could wait for",
            detail={"path": "status", "record": "run"},
            hint="Create the interaction first.",
        )
    if run.cancel_requested_at is not None:
        return end_run(tables, run, "cancelled", voids_claim=False)
    change_run(tables, run, status=status, lease_expires_at=None)
    queue_waiting_run(tables, run_id)
    return tables.runs[run_id].record


def retry_run_later(
    tables: Tables,
    *,
    run_id: str,
    claim_token: int,
    delay_seconds: float,
    error: dict[str, Any],
) -> Run:
    """Give the run back, to be claimed again after a delay; a repeat changes nothing."""
    check_writable(tables)
    check_size("error", error, ERROR_BYTES)
    run = living_run(tables, run_id)
    if run.claim_token != claim_token or run.status not in {
        "running",
        "retry_pending",
        "cancelled",
    }:
        raise stale(run, claim_token)
    if run.status != "running":
        return run
    if run.cancel_requested_at is not None:
        return end_run(tables, run, "cancelled", voids_claim=False)
    if run.attempt >= run.max_attempts:
        raise InvalidTransition(
            f"the run has had {run.attempt} of {run.max_attempts} attempts",
            detail={"record": "run", "attempt": run.attempt},
            hint="Finish it as failed.",
        )
    return change_run(
        tables,
        run,
        status="retry_pending",
        error=error,
        lease_expires_at=None,
        available_at=moment() + dt.timedelta(seconds=delay_seconds),
    )


def release_run(tables: Tables, *, run_id: str, claim_token: int) -> Run:
    """Give the run back at once, without costing an attempt."""
    check_writable(tables)
    run = claimed_run(tables, run_id, claim_token)
    if run.cancel_requested_at is not None:
        return end_run(tables, run, "cancelled")
    return change_run(
        tables,
        run,
        lease_expires_at=moment(),
        claim_token=next_token(),
        attempt=max(run.attempt - 1, 0),
    )


def finish_run(
    tables: Tables,
    *,
    run_id: str,
    claim_token: int,
    status: FinalStatus,
    messages: list[dict[str, Any]],
    error: dict[str, Any] | None,
    state: dict[str, Any] | None,
    state_expected_version: int | None,
    usage: list[dict[str, Any]],
) -> CreatedRun:
    """End the run and commit its turn; a repeat with the same claim changes nothing."""
    check_writable(tables)
    _check_turn(status, messages, error)
    check_usage("usage", usage)
    run = living_run(tables, run_id)
    if run.claim_token == claim_token and run.status == status:
        return CreatedRun(**dict(run), outcome="duplicate")
    claimed_run(tables, run_id, claim_token)
    if state is not None:
        if state_expected_version is None:
            raise _refused("state_expected_version", "expected_version is required")
        put_session_state(
            tables,
            conversation_id=run.conversation_id,
            state=state,
            expected_version=state_expected_version,
        )
    ended = end_run(
        tables, run, status, messages=messages, error=error, usage=usage, voids_claim=False
    )
    return CreatedRun(**dict(ended), outcome="inserted")


def _check_turn(
    status: FinalStatus, messages: list[dict[str, Any]], error: dict[str, Any] | None
) -> None:
    if (status == "failed") != (error is not None):
        raise _refused("error", "error is given exactly when the run failed")
    if error is not None:
        check_size("error", error, ERROR_BYTES)
    for index, message in enumerate(messages):
        if message["role"] not in {"assistant", "tool"}:
            path = f"messages[{index}].role"
            raise _refused(path, f"{path} must be assistant or tool")


def _refused(path: str, message: str) -> StrongroomError:
    return InvalidArgument(
        message,
        detail={"path": path},
        hint="A run ends with its own turn: what the agent and its tools said.",
    )


def request_run_cancel(tables: Tables, *, run_id: str) -> Run:
    """Cancel at once when no worker holds it, else ask its worker."""
    check_writable(tables)
    run = living_run(tables, run_id)
    if run.is_final:
        return run
    asked = change_run(tables, run, cancel_requested_at=run.cancel_requested_at or tables.now)
    if run.status == "running" and not is_lost(run, moment()):
        return asked
    return end_run(tables, asked, "cancelled")


def reap_expired_runs(tables: Tables, *, limit: int) -> int:
    """End what lost its last worker."""
    check_writable(tables)
    now = moment()
    lost = [run for run in readable_runs(tables, None) if is_given_up(run) and is_lost(run, now)]
    for run in lost[:limit]:
        end_lost_run(tables, run)
    return len(lost[:limit])
