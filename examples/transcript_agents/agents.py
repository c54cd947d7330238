"""An agent on ``store.transcripts``, and one on ``store.memory``; the model is the same."""

from __future__ import annotations

from typing import Any

from examples.transcript_agents.model import Raw, respond, run_tool
from strongroom import MemorySession, Strongroom


async def prompt_with_transcript(
    store: Strongroom, *, tenant_id: str, scope: str, text: str, system: str
) -> str:
    """Load the whole list, let the model go on, save the whole list: after each step, so that none is lost.

    The system prompt of a new scope is its first message; later episodes use what is pinned there.
    """
    messages: list[Any] = await store.transcripts.load(tenant_id=tenant_id, scope=scope)
    if not messages:
        messages.append({"role": "system", "content": system})
    messages.append({"role": "user", "content": text})
    while True:
        answer = respond(messages)
        messages.append(answer)
        messages += [run_tool(call) for call in answer.get("tool_calls", ())]
        await store.transcripts.save(tenant_id=tenant_id, scope=scope, messages=messages)
        if answer["content"] is not None:
            return str(answer["content"])


async def prompt_in_session(session: MemorySession, text: str) -> str:
    """Say something in a session; the session's policy decides when what is stored."""
    async with session.run() as run:
        said: list[Raw] = [{"role": "user", "content": text}]
        await run.add(*said)
        while True:
            answer = respond([*run.history, *said])
            said.append(answer)
            await run.add(answer)
            for call in answer.get("tool_calls", ()):
                said.append(run_tool(call))
                await run.add(said[-1])
            await run.end_turn()
            if answer["content"] is not None:
                return str(answer["content"])
