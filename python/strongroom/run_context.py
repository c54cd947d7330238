"""What a run's handler gets: everything it may do, and never a database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Self

from strongroom.client import Strongroom
from strongroom.errors import NotFound, StaleClaim
from strongroom.handler_errors import Paused as Paused
from strongroom.handler_errors import RetryLater as RetryLater
from strongroom.handler_errors import RunCancelled as RunCancelled
from strongroom.models.base import Json, JsonObject, Record
from strongroom.models.interactions import ApprovalGrant, Decision, Interaction
from strongroom.models.messages import NewMessage
from strongroom.models.parts import TextPart
from strongroom.models.runs import Checkpoint, FinalStatus, NewRunEvent, Run, WaitingStatus
from strongroom.models.session_state import SessionState
from strongroom.models.summaries import History
from strongroom.models.usage import RunUsage
from strongroom.run_products import RunProducts
from strongroom.run_usage import UsageBuffer


class Approval(Record):
    """How a person decided about one tool call.

    Attributes:
        interaction_id: use it as the idempotency key of what the tool does.
        is_allowed: whether the call may run.
        was_claimed_before: an earlier attempt has taken the call and may have run it.
        input: the stored input: run exactly this.
        decision: the decision; None when it expired or was cancelled.
        grant: the standing grant that allowed it without asking.
    """

    interaction_id: str
    is_allowed: bool
    was_claimed_before: bool = False
    input: Json = None
    decision: Decision | None = None
    grant: ApprovalGrant | None = None


class TurnResult(Record):
    """What a handler returns: the turn's messages, the session state if it changed, and usage."""

    messages: tuple[NewMessage, ...] = ()
    state: JsonObject | None = None
    usage: tuple[RunUsage, ...] = ()

    @classmethod
    def of(cls, value: TurnResult | str | Sequence[NewMessage] | None) -> Self:
        """Take a result, a text, messages, or nothing."""
        if isinstance(value, TurnResult):
            return cls(messages=value.messages, state=value.state, usage=value.usage)
        if value is None:
            return cls()
        if isinstance(value, str):
            return cls(messages=(NewMessage(role="assistant", parts=[TextPart(text=value)]),))
        return cls(messages=tuple(value))


class RunContext(RunProducts):
    """One claimed run, as its handler sees it.

    Attributes:
        run: the run, with its input and attempt.
        checkpoint: the newest checkpoint, None before the first: go on from there.
        cancel_requested: whether somebody asked to cancel the run.
    """

    def __init__(self, store: Strongroom, run: Run) -> None:
        """For the worker."""
        self.run = run
        self.checkpoint: Checkpoint | None = None
        self.cancel_requested = run.cancel_requested_at is not None
        self.lost: StaleClaim | NotFound | None = None
        self.claim_token = run.claim_token or 0
        self._store = store
        self._sequence = run.last_checkpoint_sequence
        self._state: SessionState | None = None
        self.usage = UsageBuffer(store, run)

    async def load(self) -> None:
        """Load the newest checkpoint; the worker does it before it calls the handler."""
        self.check_cancelled()
        if self._sequence:
            self.checkpoint = await self._store.checkpoints.latest(
                tenant_id=self.run.tenant_id, run_id=self.run.id
            )

    async def history(self, *, limit: int = 500) -> History:
        """Return the latest summary and the messages after it."""
        return await self._store.summaries.history(
            tenant_id=self.run.tenant_id, conversation_id=self.run.conversation_id, limit=limit
        )

    async def session_state(self) -> JsonObject:
        """Return the conversation's working memory; a changed copy may be returned with the turn."""
        self._state = await self._store.session_state.get(
            tenant_id=self.run.tenant_id, conversation_id=self.run.conversation_id
        )
        return dict(self._state.state)

    async def save_checkpoint(self, state: Json = None, *, data: bytes | None = None) -> None:
        """Save where to go on after a crash: JSON, bytes, or both; and what was used up to here."""
        self.check_cancelled()
        await self.usage.flush()
        saved = await self._store.checkpoints.save(
            tenant_id=self.run.tenant_id,
            run_id=self.run.id,
            claim_token=self.claim_token,
            expected_sequence=self._sequence,
            state=state,
            data=data,
        )
        self._sequence = saved.sequence
        self.checkpoint = Checkpoint(
            **{
                name: getattr(saved, name) for name in type(saved).model_fields if name != "outcome"
            },
            state=state,
        )

    async def emit(self, kind: str, data: JsonObject | None = None) -> None:
        """Append an event that watchers of the run see."""
        self.check_cancelled()
        await self._store.runs.append_events(
            tenant_id=self.run.tenant_id,
            run_id=self.run.id,
            claim_token=self.claim_token,
            events=[NewRunEvent(kind=kind, data=data or {})],
        )

    def record_usage(self, *events: RunUsage) -> None:
        """Record what a step used and cost: written with the next checkpoint, pause, retry, or the end.

        However the run ends, it is written; but a worker that has lost its claim writes nothing, and
        one that dies writes what it had up to its last checkpoint.

        Args:
            *events: run, conversation, agent and principal come from the run; where ``step_id`` is given,
                it names one attempt of a step.

        Raises:
            InvalidArgument: SR001, LimitExceeded: SR004, it could not be written.
        """
        self.usage.add(*events)

    async def stream_text(self, text: str) -> None:
        """Stream a piece of the answer; it is kept even if the run fails or is cancelled."""
        await self.emit("text-delta", {"text": text})

    def check_cancelled(self) -> None:
        """Leave the handler when somebody asked to cancel the run."""
        if self.cancel_requested:
            raise RunCancelled

    async def ask(
        self,
        key: str,
        prompt: str,
        *,
        options: Sequence[str] | None = None,
        addressee_id: str | None = None,
        expires_at: dt.datetime | None = None,
    ) -> Json:
        """Return the answer to a question; the first call pauses the run until there is one.

        Args:
            key: names the question within the run, so that the handler's next pass finds the answer.
            prompt: the question.
            options: answers to choose from.
            addressee_id: who is asked; None: the conversation's owner and participants.
            expires_at: after this the answer is None.
        """
        known = await self._known(key)
        if known is None:
            self.check_cancelled()
            await self._store.interactions.ask(
                tenant_id=self.run.tenant_id,
                run_id=self.run.id,
                claim_token=self.claim_token,
                interaction_id=self._interaction_id(key),
                prompt=prompt,
                options=options,
                addressee_id=addressee_id,
                expires_at=expires_at,
            )
            known = await self._known(key)
        if known is None or known.status == "pending":
            raise Paused("waiting_for_question")
        return known.answer

    async def request_approval(
        self,
        key: str,
        tool_name: str,
        input: Json,
        *,
        prompt: str | None = None,
        risk: str | None = None,
        addressee_id: str | None = None,
        expires_at: dt.datetime | None = None,
    ) -> Approval:
        """Return how a tool call was decided; the first call pauses the run, unless a grant allows it.

        An allowed call is claimed here, once: ``was_claimed_before`` says that an earlier attempt had
        taken it. Everything unclear is not allowed.

        Args:
            key: names the call within the run.
            tool_name: the exact tool.
            input: the exact input: what ``Approval.input`` gives back to run.
            prompt: what to tell the person.
            risk: the host's word for how dangerous it is.
            addressee_id: who is asked.
            expires_at: after this it counts as not given.
        """
        known = await self._known(key)
        if known is None:
            self.check_cancelled()
            grant = await self._grant(tool_name)
            if grant is not None:
                return Approval(
                    interaction_id=self._interaction_id(key),
                    is_allowed=True,
                    input=input,
                    grant=grant,
                )
            await self._store.interactions.request_approval(
                tenant_id=self.run.tenant_id,
                run_id=self.run.id,
                claim_token=self.claim_token,
                interaction_id=self._interaction_id(key),
                tool_name=tool_name,
                input=input,
                prompt=prompt,
                risk=risk,
                addressee_id=addressee_id,
                expires_at=expires_at,
            )
            known = await self._known(key)
        if known is None or known.status == "pending":
            raise Paused("waiting_for_approval")
        taken = await self._store.interactions.claim_approval(
            tenant_id=self.run.tenant_id, interaction_id=known.id, claim_token=self.claim_token
        )
        return Approval(
            interaction_id=known.id,
            is_allowed=taken.outcome in {"claimed", "already_claimed"},
            was_claimed_before=taken.outcome == "already_claimed",
            input=taken.input,
            decision=taken.decision,
        )

    async def _grant(self, tool_name: str) -> ApprovalGrant | None:
        conversation = await self._store.conversations.get(
            tenant_id=self.run.tenant_id, conversation_id=self.run.conversation_id
        )
        return await self._store.interactions.find_active_grant(
            tenant_id=self.run.tenant_id,
            principal_id=conversation.owner_id,
            tool_name=tool_name,
            conversation_id=self.run.conversation_id,
        )

    def _interaction_id(self, key: str) -> str:
        return f"{self.run.id}:{key}"

    async def _known(self, key: str) -> Interaction | None:
        return await self._store.interactions.find(
            tenant_id=self.run.tenant_id, interaction_id=self._interaction_id(key)
        )

    # The rest is for the worker.

    async def pause(self, status: WaitingStatus) -> None:
        """Give the run back until its interactions are resolved."""
        await self.usage.flush()
        await self._store.runs.transition(
            tenant_id=self.run.tenant_id,
            run_id=self.run.id,
            claim_token=self.claim_token,
            status=status,
        )

    async def retry_later(self, delay_seconds: float, error: JsonObject) -> None:
        """Give the run back, to be claimed again after a delay."""
        await self.usage.flush()
        await self._store.runs.retry_later(
            tenant_id=self.run.tenant_id,
            run_id=self.run.id,
            claim_token=self.claim_token,
            delay_seconds=delay_seconds,
            error=error,
        )

    async def release(self) -> None:
        """Give the run back at once, at no cost of an attempt."""
        await self.usage.flush()
        await self._store.runs.release(
            tenant_id=self.run.tenant_id, run_id=self.run.id, claim_token=self.claim_token
        )

    async def finish(
        self,
        status: FinalStatus,
        messages: Sequence[NewMessage],
        state: JsonObject | None,
        error: JsonObject | None,
    ) -> None:
        """Commit the turn, and with it what is left of the usage."""
        await self.usage.flush(all_but=500)
        await self._store.runs.finish(
            tenant_id=self.run.tenant_id,
            run_id=self.run.id,
            claim_token=self.claim_token,
            status=status,
            messages=messages,
            error=error,
            state=state,
            state_expected_version=None if state is None else await self._state_version(),
            usage=self.usage.pending,
        )
        self.usage.pending.clear()

    async def _state_version(self) -> int:
        if self._state is None:
            await self.session_state()
        return self._state.version if self._state else 0
