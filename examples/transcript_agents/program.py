"""Both agents at work: ``python -m examples.transcript_agents.program [URL]``."""

from __future__ import annotations

import asyncio
import sys
from typing import get_args

import strongroom
from examples.transcript_agents.agents import prompt_in_session, prompt_with_transcript
from examples.transcript_agents.model import LineIsDeadError
from strongroom import MemoryContext, MemorySession
from strongroom.models.memory_sessions import SavePolicy

QUESTIONS = ["Where is A-1001?", "And A-1002?", "Where is A-1001 now!", "How much did I ask?"]


async def main(url: str) -> None:
    """Ask the same questions in a scope, and in a session of each save policy."""
    async with strongroom.connect(url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        for text in (QUESTIONS[0], QUESTIONS[1], QUESTIONS[3]):
            answer = await prompt_with_transcript(
                store, tenant_id="acme", scope="support/ada", text=text, system="Be brief."
            )
            print(f"scope    {text} {answer}")
        for policy in get_args(SavePolicy):
            context = MemoryContext(session_id=f"by {policy}", user_id="ada")
            session = MemorySession(
                store.memory, tenant_id="acme", context=context, save_policy=policy
            )
            for text in QUESTIONS:
                try:
                    answer = await prompt_in_session(session, text)
                except LineIsDeadError as error:
                    answer = f"-- {error} --"
                print(f"{policy:8} {text} {answer}")
        page = await store.memory.inspector.list_conversations(tenant_id="acme", user_id="ada")
        for row in page.items:
            context = MemoryContext(session_id=row.session_id, user_id=row.user_id)
            failed = await store.memory.list_errors(tenant_id="acme", context=context)
            print(f"{row.session_id}: {row.message_count} messages, {len(failed.items)} failed run")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
