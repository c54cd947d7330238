"""An agent of Google ADK whose sessions, memory and artifacts live in strongroom.

Run it with `python -m examples.google_adk.program`. The model is a script; the runner, the agent and its tool
are ADK's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.tools import ToolContext
from google.genai import types

import strongroom
from strongroom.integrations.google_adk import (
    StrongroomArtifactService,
    StrongroomMemoryService,
    StrongroomSessionService,
)


async def find_parcel(order: str, tool_context: ToolContext) -> dict[str, str]:
    """Say where the parcel of an order is."""
    tool_context.state["user:last_order"] = order
    await tool_context.save_artifact("label.txt", types.Part(text=f"To Ada, {order}"))
    return {"where": f"{order}: in Porto, since this morning"}


class ScriptedLlm(BaseLlm):
    """Looks the order up once; then answers from what it sees in the history."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        assert not stream
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        results = [part.function_response for part in parts if part.function_response]
        if not results:
            call = types.FunctionCall(name="find_parcel", args={"order": "A-1"})
            part = types.Part(function_call=call)
        else:
            asked = sum(
                content.role == "user" and bool(content.parts[0].text)
                for content in llm_request.contents
            )
            part = types.Part(text=f"[{asked} questions so far] {results[-1].response['where']}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    agent = LlmAgent(name="support", model=ScriptedLlm(), tools=[find_parcel])
    async with strongroom.connect(url, schema_mode="auto") as store:
        await store.tenants.create(tenant_id=tenant_id, name="Acme")
        sessions = StrongroomSessionService(store, tenant_id=tenant_id)
        memory = StrongroomMemoryService(store, tenant_id=tenant_id)
        artifacts = StrongroomArtifactService(store, tenant_id=tenant_id)
        runner = Runner(
            app_name="desk",
            agent=agent,
            session_service=sessions,
            memory_service=memory,
            artifact_service=artifacts,
        )
        await sessions.create_session(app_name="desk", user_id="ada", session_id="talk-1")
        for question in ("Where is my parcel?", "And now?"):
            said = types.Content(role="user", parts=[types.Part(text=question)])
            async for event in runner.run_async(
                user_id="ada", session_id="talk-1", new_message=said
            ):
                if event.is_final_response() and event.content and event.content.parts:
                    print(event.content.parts[0].text)
        found = await sessions.get_session(app_name="desk", user_id="ada", session_id="talk-1")
        assert found is not None
        print(len(found.events), "events;", found.state["user:last_order"])
        await memory.add_session_to_memory(found)
        known = await memory.search_memory(app_name="desk", user_id="ada", query="Porto?")
        print(len(known.memories), "memories of Porto")
        names = await artifacts.list_artifact_keys(
            app_name="desk", user_id="ada", session_id="talk-1"
        )
        print(", ".join(names))


if __name__ == "__main__":
    asyncio.run(main())
