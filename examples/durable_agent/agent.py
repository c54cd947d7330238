"""A small agent that survives: it looks something up, asks before it pays, and pays once.

The "model" is a script, so that the example runs anywhere; everything else is what a host would write.
Run it with `strongroom worker examples.durable_agent.agent:handler`, or see program.py beside this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path

from strongroom import Approval, RunContext

# What the tools need to know; a real host has databases and services here.
ORDERS = {"A-1": 1999, "A-2": 4550}
LEDGER = Path(
    os.environ.get("DURABLE_AGENT_LEDGER", f"{tempfile.gettempdir()}/strongroom-durable-agent")
)


async def look_up(order: str) -> int:
    """A tool that changes nothing: it may run again after a crash."""
    await asyncio.sleep(0)
    return ORDERS.get(order, 100 + sum(map(ord, order)))


def pay(approval: Approval) -> None:
    """A tool that must not run twice. The approval's id is its idempotency key."""
    LEDGER.mkdir(parents=True, exist_ok=True)
    try:
        with (LEDGER / f"{approval.interaction_id.replace(':', '_')}.json").open("x") as payment:
            json.dump(approval.input, payment)
    except FileExistsError:
        pass  # paid before the crash


async def handler(context: RunContext) -> str:
    """One turn. After a crash it begins again, from its newest checkpoint."""
    known = context.checkpoint.state if context.checkpoint else None
    done = known if isinstance(known, dict) else {"step": "begin"}
    order = str(context.run.input["order"])

    if done["step"] == "begin":
        await context.stream_text(f"Let me look at order {order}. ")
        done = {"step": "looked up", "cents": await look_up(order)}
        await context.save_checkpoint(done)

    approval = await context.request_approval(
        "refund", "pay", {"order": order, "cents": done["cents"]}, risk="money"
    )
    if not approval.is_allowed:
        return f"The refund of order {order} was not approved, so nothing was paid."

    if done["step"] == "looked up":
        pay(approval)  # exactly what was approved: approval.input
        done = {**done, "step": "paid"}
        await context.save_checkpoint(done)
    return f"Order {order}: {int(str(done['cents'])) / 100:.2f} are on their way back to you."
