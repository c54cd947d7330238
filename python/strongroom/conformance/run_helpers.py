"""Short names for what the tests of runs do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from strongroom.client import Ports
from strongroom.conformance.helpers import Where, at, new_talk
from strongroom.models import Conversation, NewMessage, RunUsage, TextPart
from strongroom.models.interactions import ResolvedInteraction
from strongroom.models.runs import CreatedRun, NewRunEvent, Run

AT_ONCE = 0.000001
"""A lease or delay of a microsecond: it has ended when the next call is made."""

ANSWER = "42"


class Of(TypedDict):
    """A run's place, for calls."""

    tenant_id: str
    run_id: str


class Held(Of):
    """A run's place and its claim, for calls on its behalf."""

    claim_token: int


def of(run: Run) -> Of:
    """Return the run's place."""
    return Of(tenant_id=run.tenant_id, run_id=run.id)


def held(run: Run) -> Held:
    """Return the run's place and its claim."""
    assert run.claim_token is not None
    return Held(**of(run), claim_token=run.claim_token)


def where(run: Run) -> Where:
    """Return the place of the run's conversation."""
    return Where(tenant_id=run.tenant_id, conversation_id=run.conversation_id)


async def queued(store: Ports, talk: Conversation | None = None, **options: Any) -> CreatedRun:
    """Queue a run, in a conversation of its own unless one is given."""
    talk = talk or await new_talk(store)
    return await store.runs.create(**at(talk), **options)


async def claimed(store: Ports, run: Run | None = None, worker_id: str = "worker") -> Run:
    """Claim a run, a new one unless one is given."""
    run = run or await queued(store)
    taken = await store.runs.claim(**of(run), worker_id=worker_id, lease_seconds=600)
    assert taken is not None, "the run cannot be claimed"
    return taken


async def taken_over(store: Ports, run: Run, worker_id: str = "successor") -> Run:
    """Let the lease end, and let another worker claim the run."""
    await store.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
    return await claimed(store, run, worker_id)


async def next_of(store: Ports, tenant_id: str, limit: int = 1) -> list[str]:
    """Claim the tenant's next runs; return their ids."""
    runs = await store.runs.claim_next(
        worker_id="worker", tenant_id=tenant_id, limit=limit, lease_seconds=600
    )
    return [run.id for run in runs]


def answered(text: str = ANSWER, **fields: Any) -> NewMessage:
    """Return an assistant's message of one text."""
    return NewMessage(**{"role": "assistant", "parts": (TextPart(text=text),), **fields})


def delta(text: str, **fields: Any) -> NewRunEvent:
    """Return an event of streamed text."""
    return NewRunEvent(kind="text-delta", data={"text": text}, **fields)


async def streamed(store: Ports, run: Run, *texts: str) -> None:
    """Stream texts on behalf of the run."""
    await store.runs.append_events(**held(run), events=[delta(text) for text in texts])


async def finished(store: Ports, run: Run, **options: Any) -> CreatedRun:
    """End the run as completed."""
    return await store.runs.finish(**{**held(run), "status": "completed", **options})


async def asked(store: Ports, run: Run, **options: Any) -> ResolvedInteraction:
    """Ask a question on behalf of the run."""
    return await store.interactions.ask(**{**held(run), "prompt": "Which one?", **options})


async def approval_of(store: Ports, run: Run, **options: Any) -> ResolvedInteraction:
    """Request an approval on behalf of the run."""
    return await store.interactions.request_approval(
        **{**held(run), "tool_name": "refund", "input": {"parcel": 7}, **options}
    )


async def paused(store: Ports, run: Run) -> tuple[Run, ResolvedInteraction]:
    """Ask, and pause the run."""
    question = await asked(store, run)
    return await store.runs.transition(**held(run), status="waiting_for_question"), question


async def approved(store: Ports, run: Run, decision: str = "allow-once") -> ResolvedInteraction:
    """Request an approval on behalf of the run, and give it."""
    approval = await approval_of(store, run)
    return await store.interactions.decide(
        tenant_id=run.tenant_id,
        interaction_id=approval.id,
        decision=decision,  # type: ignore[arg-type]
        resolved_by="ada",
    )


async def everything_of(store: Ports, run: Run) -> dict[str, object]:
    """Return all that hangs on the run and its conversation, to see that nothing has changed it."""
    return {
        "run": await store.runs.get(**of(run)),
        "events": await store.runs.list_events(**of(run), limit=500),
        "checkpoints": await store.checkpoints.list(**of(run), limit=500),
        "latest": await store.checkpoints.latest(**of(run)),
        "interactions": await store.interactions.list(**of(run), limit=500),
        "messages": await store.messages.list(**where(run), limit=500),
        "state": await store.session_state.get(**where(run)),
        "usage": await store.usage.list(**where(run), limit=500),
        "artifacts": await store.artifacts.list(**where(run), limit=500),
        "outputs": await store.tool_outputs.list(**where(run), limit=500),
    }


Behalf = Callable[[Ports, Held, str], Awaitable[object]]

ON_BEHALF: dict[str, Behalf] = {
    "runs.heartbeat": lambda s, h, _: s.runs.heartbeat(**h),
    "runs.append_events": lambda s, h, _: s.runs.append_events(**h, events=[delta("late")]),
    "runs.transition": lambda s, h, _: s.runs.transition(**h, status="waiting_for_question"),
    "runs.retry_later": lambda s, h, _: s.runs.retry_later(
        **h, delay_seconds=0, error={"code": "late"}
    ),
    "runs.release": lambda s, h, _: s.runs.release(**h),
    "runs.finish completed": lambda s, h, _: s.runs.finish(
        **h,
        status="completed",
        messages=[answered("late")],
        state={"late": True},
        state_expected_version=0,
    ),
    "runs.finish failed": lambda s, h, _: s.runs.finish(
        **h, status="failed", messages=[answered("late")], error={"code": "late"}
    ),
    "runs.finish cancelled": lambda s, h, _: s.runs.finish(
        **h, status="cancelled", messages=[answered("late")]
    ),
    "usage.record_for_run": lambda s, h, _: s.usage.record_for_run(
        **h, events=[RunUsage(input_tokens=1)]
    ),
    "checkpoints.save": lambda s, h, _: s.checkpoints.save(
        **h, expected_sequence=1, state={"late": True}
    ),
    "interactions.ask": lambda s, h, _: s.interactions.ask(**h, prompt="Late?"),
    "interactions.request_approval": lambda s, h, _: s.interactions.request_approval(
        **h, tool_name="late", input={}
    ),
    "interactions.claim_approval": lambda s, h, approval_id: s.interactions.claim_approval(
        tenant_id=h["tenant_id"], interaction_id=approval_id, claim_token=h["claim_token"]
    ),
}
"""Every write on behalf of a run; the last argument is an approval that was given."""


async def worked_on(store: Ports) -> tuple[Run, str]:
    """Return a claimed run with something of everything, and an approval that was given."""
    run = await claimed(store)
    await streamed(store, run, "early")
    await store.checkpoints.save(**held(run), expected_sequence=0, state={"step": 1})
    await asked(store, run)
    approval = await approved(store, run)
    return await store.runs.get(**of(run)), approval.id
