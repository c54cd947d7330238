"""An agent of the OpenAI Agents SDK whose conversation lives in strongroom.

Run it with `python -m examples.openai_agents.program`. The model is a script, so that nothing leaves the
machine; everything else is the SDK's: the runner, the tool, the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import strongroom
from strongroom.integrations.openai_agents import StrongroomSession


@function_tool
def find_parcel(order: str) -> str:
    """Say where the parcel of an order is."""
    return f"{order}: in Porto, since this morning"


class ScriptedModel(Model):
    """Looks the order up in the first turn; then answers from what it sees in the history."""

    async def get_response(self, *_: Any, **request: Any) -> ModelResponse:
        items = request["input"]
        outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
        output: Any
        if not outputs:
            output = ResponseFunctionToolCall(
                id="fc_1",
                call_id="call_1",
                name="find_parcel",
                arguments='{"order": "A-1"}',
                type="function_call",
            )
        else:
            asked = [item for item in items if item.get("role") == "user"]
            text = f"[{len(asked)} questions so far] {outputs[-1]}"
            output = ResponseOutputMessage(
                id=f"msg_{len(items)}",
                content=[ResponseOutputText(text=text, type="output_text", annotations=[])],
                role="assistant",
                status="completed",
                type="message",
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    agent = Agent(name="Support", tools=[find_parcel], model=ScriptedModel())
    quiet = RunConfig(tracing_disabled=True)
    async with strongroom.connect(url, schema_mode="auto") as store:
        await store.tenants.create(tenant_id=tenant_id, name="Acme")
        for question in ("Where is my parcel?", "And now?"):
            # A new session object each time, as in another process: the history is in the database.
            session = StrongroomSession(
                store, tenant_id=tenant_id, session_id="talk-1", principal_id="ada"
            )
            result = await Runner.run(agent, question, session=session, run_config=quiet)
            print(result.final_output)
        kinds = [item.get("type") or item["role"] for item in await session.get_items()]
        print(", ".join(kinds))


if __name__ == "__main__":
    asyncio.run(main())
