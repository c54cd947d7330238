"""The part of ``strongroom demo`` about runs: a worker that dies, an approval, a turn written once."""

from __future__ import annotations

from strongroom.cli.demo_story import OWNER, TENANT, Story
from strongroom.client import Strongroom
from strongroom.ids import new_id
from strongroom.models.base import JsonValue
from strongroom.models.messages import NewMessage
from strongroom.models.parts import TextPart
from strongroom.run_context import RunContext
from strongroom.worker import DurableWorker

SEAT = {"code": "KZ-4821", "seat": "14A"}


async def run_with_approval(story: Story, store: Strongroom) -> None:
    """Let a run lose its worker, wait for a person, and go on; claim what was seen."""
    done: list[JsonValue] = []
    passes: list[JsonValue] = []

    async def handler(context: RunContext) -> str:
        passes.append(context.checkpoint.state if context.checkpoint else None)
        if context.checkpoint is None:
            await context.stream_text("14A is free. ")
            await context.save_checkpoint({"found": "14A"})
        approval = await context.request_approval("seat", "change_seat", {**SEAT}, risk="booking")
        if not approval.is_allowed:
            return "I have left your seat as it is."
        done.append(approval.input)
        return "You are in 14A, by the window."

    talk = await store.conversations.create(
        tenant_id=TENANT, owner_id=OWNER, conversation_id=new_id(), title="Seat 14A, please"
    )
    ask = NewMessage(role="user", parts=[TextPart(text="Please move me to 14A.")])
    await store.messages.append(tenant_id=TENANT, conversation_id=talk.id, messages=[ask])
    run = await store.runs.create(
        tenant_id=TENANT, conversation_id=talk.id, run_id=new_id(), input={}
    )
    # A worker claims the run and is never heard of again; its lease is over at once.
    dead = await store.runs.claim(
        tenant_id=TENANT, run_id=run.id, worker_id="a worker that dies", lease_seconds=0.000001
    )
    worker = DurableWorker(store=store, handler=handler, tenant_id=TENANT)
    await worker.run_until_idle()
    waiting = await store.runs.get(tenant_id=TENANT, run_id=run.id)
    story.claim(
        "A run whose worker died is taken over by another one",
        holds=dead is not None and waiting.attempt > dead.attempt,
        found=f"attempt {waiting.attempt}",
    )
    story.claim(
        "A run that needs approval waits, and has done nothing yet",
        holds=waiting.status == "waiting_for_approval" and not done,
        found=waiting.status,
    )

    pending = await store.interactions.list(tenant_id=TENANT, run_id=run.id, status="pending")
    item = pending.items[0]
    outcomes = [
        (
            await store.interactions.decide(
                tenant_id=TENANT,
                interaction_id=item.id,
                decision=decision,
                resolved_by=OWNER,
            )
        ).outcome
        for decision in ("allow-once", "deny")
    ]
    story.claim(
        "The first decision counts; a second one changes nothing",
        holds=outcomes == ["resolved", "already_resolved"],
        found=", ".join(outcomes),
    )
    await worker.run_until_idle()
    ended = await store.runs.get(tenant_id=TENANT, run_id=run.id)
    story.claim(
        "Approved, the tool runs once, with the input that was approved",
        holds=done == [SEAT] and passes == [None, {"found": "14A"}],
        found=f"{len(done)} call, {done[0] if done else 'none'}",
    )
    page = await store.messages.list(tenant_id=TENANT, conversation_id=talk.id)
    said = [f"{message.role} {message.position}" for message in page.items]
    story.claim(
        "The turn is in the conversation, once",
        holds=ended.status == "completed" and said == ["user 1", "assistant 2"],
        found=f"{ended.status}: {', '.join(said)}",
    )
