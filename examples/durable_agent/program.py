"""The smallest complete host: a question, a run, an approval, an answer.

Run it with `python -m examples.durable_agent.program`.
"""

from __future__ import annotations

import asyncio

import strongroom
from examples.durable_agent.agent import handler
from strongroom import DurableWorker, NewMessage, TextPart


async def main() -> None:
    async with strongroom.connect("embedded:", schema_mode="auto") as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
        await store.messages.append(
            tenant_id="acme",
            conversation_id=talk.id,
            messages=[NewMessage(role="user", parts=[TextPart(text="Please refund order A-1.")])],
        )
        run = await store.runs.create(
            tenant_id="acme", conversation_id=talk.id, input={"order": "A-1"}
        )

        worker = DurableWorker(store=store, handler=handler)
        await worker.run_until_idle()
        run = await store.runs.get(tenant_id="acme", run_id=run.id)
        print("the run is", run.status)  # waiting_for_approval

        pending = await store.interactions.list(
            tenant_id="acme", conversation_id=talk.id, status="pending"
        )
        for item in pending.items:
            print("approve", item.tool_name, item.input)
            await store.interactions.decide(
                tenant_id="acme", interaction_id=item.id, decision="allow-once", resolved_by="ada"
            )

        await worker.run_until_idle()
        page = await store.messages.list(tenant_id="acme", conversation_id=talk.id)
        for message in page.items:
            for part in message.parts:
                if part.type == "text":
                    print(f"{message.role}: {part.text}")


if __name__ == "__main__":
    asyncio.run(main())
