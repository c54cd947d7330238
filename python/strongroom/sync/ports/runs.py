# Written by scripts/generate_sync.py from strongroom/ports/runs.py: change that, and run `make generate`.
"""The ports for runs and checkpoints."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, Json, JsonObject, Moment
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import (
    Checkpoint,
    CheckpointHead,
    ClaimToken,
    CreatedRun,
    FinalStatus,
    Lease,
    Run,
    RunEvent,
    RunEventItem,
    RunQueue,
    RunStatus,
    SavedCheckpoint,
    WaitingStatus,
)
from strongroom.ports.runs import (
    AfterSequence,
    Attempts,
    DelaySeconds,
    Events,
    LeaseSeconds,
    Priority,
    Turn,
)
from strongroom.ports.usage import TurnUsage


class RunStore(Protocol):
    """Runs: queued in a conversation, claimed by workers, ended exactly once.

    queued > running; running > waiting_for_question | waiting_for_approval | retry_pending | completed |
    failed | cancelled; the waiting states and retry_pending > queued; all of them but running may be
    cancelled at once. completed, failed and cancelled are final.

    Every method that takes a claim_token raises StaleClaim (SR031) when it is not the run's newest one or
    the run is not running, and changes nothing. All raise NotFound (SR010) for what is absent, deleted or
    unreadable, InvalidArgument (SR001), LimitExceeded (SR004), PermissionDenied (SR020), Unavailable
    (SR050).
    """

    def create(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        run_id: Id | None = None,
        input: JsonObject | None = None,
        agent_id: Id | None = None,
        agent_version: Attempts | None = None,
        priority: Priority = 0,
        max_attempts: Attempts = 3,
        available_at: Moment | None = None,
    ) -> CreatedRun:
        """Queue a run behind the conversation's other runs; a repeat with the same id changes nothing.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            run_id: the binding makes a UUIDv7 when it is None.
            input: what the handler gets, at most 1 MiB.
            agent_id: the agent that runs.
            agent_version: its version.
            priority: higher ones are claimed first within the tenant.
            max_attempts: how often it may be tried in all.
            available_at: not before this moment. A repeat with another one changes nothing, so it may be
                worked out anew, from now.

        Raises:
            AlreadyExists: SR011, the id was created with other content.

        SQL: ``strongroom.create_run``
        """
        ...

    def get(self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None) -> Run:
        """Return the run, or raise NotFound. SQL: ``strongroom.find_run``."""
        ...

    def find(self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None) -> Run | None:
        """Return the run, or None. SQL: ``strongroom.find_run``."""
        ...

    def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        conversation_id: Id | None = None,
        status: RunStatus | None = None,
    ) -> Page[Run]:
        """Return a page of runs, forward newest first. SQL: ``strongroom.list_runs``."""
        ...

    def claim_next(
        self,
        *,
        worker_id: Id,
        lease_seconds: LeaseSeconds = 30.0,
        limit: Limit = 1,
        after_tenant_id: Id | None = None,
        tenant_id: Id | None = None,
    ) -> tuple[Run, ...]:
        """Claim up to ``limit`` ready runs, of all tenants in turn; running ones with an ended lease too.

        Of the latter, one without an attempt left ends as failed instead, and one that was to be
        cancelled as cancelled.

        The one method that a tenant need not be named for: a worker serves all of them.

        Args:
            worker_id: who claims.
            lease_seconds: how long the claim holds without a heartbeat.
            limit: how many at the most, 1..500.
            after_tenant_id: the tenant that was served last, so that the others come first.
            tenant_id: only this tenant.

        SQL: ``strongroom.claim_next_runs``
        """
        ...

    def claim(
        self, *, tenant_id: Id, run_id: Id, worker_id: Id, lease_seconds: LeaseSeconds = 30.0
    ) -> Run | None:
        """Claim this run; None when it is not claimable now. SQL: ``strongroom.claim_run``."""
        ...

    def heartbeat(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        lease_seconds: LeaseSeconds = 30.0,
    ) -> Lease:
        """Prolong the lease, and learn whether to cancel. SQL: ``strongroom.heartbeat_run``."""
        ...

    def append_events(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, events: Events
    ) -> tuple[RunEventItem, ...]:
        """Append 1 to 500 events in order. SQL: ``strongroom.append_run_events``."""
        ...

    def list_events(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        limit: Limit = 50,
        after_sequence: AfterSequence = 0,
        viewer: Viewer | None = None,
    ) -> tuple[RunEvent, ...]:
        """Return events after a sequence, oldest first: resume with the last one that you have seen.

        SQL: ``strongroom.list_run_events``
        """
        ...

    def transition(
        self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken, status: WaitingStatus
    ) -> Run:
        """Pause the run until its interactions are resolved; it carries no message.

        It is queued at once when they are resolved already, and cancelled when somebody had asked for
        that. A repeat changes nothing.

        Raises:
            InvalidTransition: SR030, the run has asked nothing.

        SQL: ``strongroom.pause_run``
        """
        ...

    def retry_later(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        delay_seconds: DelaySeconds,
        error: JsonObject,
    ) -> Run:
        """Give the run back, to be claimed again after a delay; cancelled when somebody asked for that.

        A repeat changes nothing.

        Raises:
            InvalidTransition: SR030, it has no attempts left.

        SQL: ``strongroom.retry_run_later``
        """
        ...

    def release(self, *, tenant_id: Id, run_id: Id, claim_token: ClaimToken) -> Run:
        """Give the run back at once for another worker; it costs no attempt.

        SQL: ``strongroom.release_run``
        """
        ...

    def finish(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        status: FinalStatus,
        messages: Turn = (),
        error: JsonObject | None = None,
        state: JsonObject | None = None,
        state_expected_version: AfterSequence | None = None,
        usage: TurnUsage = (),
    ) -> CreatedRun:
        """End the run and commit its turn, all in one transaction.

        Args:
            tenant_id: the tenant.
            run_id: the run.
            claim_token: the claim.
            status: ``completed``, ``failed`` or ``cancelled``.
            messages: the turn, of role assistant and tool. A failed or cancelled run without any keeps
                the text that it streamed.
            error: why it failed; given exactly with ``failed``.
            state: the conversation's new session state.
            state_expected_version: the version of the state that the turn began with.
            usage: what the turn used and cost, as ``usage.record_for_run`` takes it.

        Returns:
            The run; outcome ``duplicate`` for a repeat with the same claim, which changes nothing.

        Raises:
            AlreadyExists: SR011, a message or usage with one of the ids has other content.
            VersionConflict: SR012, the session state has changed: nothing of the turn was written.

        SQL: ``strongroom.finish_run``
        """
        ...

    def request_cancel(self, *, tenant_id: Id, run_id: Id) -> Run:
        """Cancel at once when no worker holds it, else ask its worker.

        SQL: ``strongroom.request_run_cancel``
        """
        ...

    def reap_expired(self, *, tenant_id: Id, limit: Limit = 100) -> int:
        """End what lost its last worker; return how many. ``claim_next`` does so on its way, too.

        SQL: ``strongroom.reap_expired_runs``
        """
        ...

    def queue(self, *, tenant_id: Id) -> RunQueue:
        """Return how many runs stand where. SQL: ``strongroom.read_run_queue``."""
        ...


class CheckpointStore(Protocol):
    """Where a run can go on after a crash. Errors as for RunStore."""

    def save(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        expected_sequence: AfterSequence,
        state: Json = None,
        data: bytes | None = None,
        checkpoint_id: Id | None = None,
    ) -> SavedCheckpoint:
        """Save on top of the checkpoint that you know; a repeat with the same id changes nothing.

        Args:
            tenant_id: the tenant.
            run_id: the run.
            claim_token: the claim.
            expected_sequence: the newest sequence that you know, 0 before the first.
            state: JSON, together with data at most 16 MiB.
            data: bytes.
            checkpoint_id: the binding makes a UUIDv7 when it is None.

        Raises:
            AlreadyExists: SR011, the id was used for another checkpoint of the run.
            VersionConflict: SR012, there is a newer checkpoint.

        SQL: ``strongroom.save_checkpoint``
        """
        ...

    def latest(
        self, *, tenant_id: Id, run_id: Id, viewer: Viewer | None = None
    ) -> Checkpoint | None:
        """Return the newest checkpoint; None before the first. SQL: ``strongroom.find_checkpoint``."""
        ...

    def get(
        self, *, tenant_id: Id, run_id: Id, sequence: ClaimToken, viewer: Viewer | None = None
    ) -> Checkpoint:
        """Return one checkpoint, or raise NotFound. SQL: ``strongroom.find_checkpoint``."""
        ...

    def list(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        limit: Limit = 50,
        after_sequence: AfterSequence = 0,
        viewer: Viewer | None = None,
    ) -> tuple[CheckpointHead, ...]:
        """Return checkpoints without payloads, oldest first. SQL: ``strongroom.list_checkpoints``."""
        ...

    def prune(self, *, tenant_id: Id, run_id: Id, keep: Attempts) -> int:
        """Delete all but the newest ``keep``; return how many. SQL: ``strongroom.prune_checkpoints``."""
        ...
