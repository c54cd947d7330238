"""An agent of Pydantic AI whose history lives in strongroom.

Run it with `python -m examples.pydantic_ai.program`. The model is a function; the agent and its tool are
Pydantic AI's.
"""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import strongroom
from strongroom.integrations.pydantic_ai import StrongroomHistory


def scripted(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Looks the order up once; then answers from what it sees in the history."""
    requests = [part for m in messages if isinstance(m, ModelRequest) for part in m.parts]
    results = [part for part in requests if isinstance(part, ToolReturnPart)]
    if not results:
        return ModelResponse([ToolCallPart("find_parcel", {"order": "A-1"}, tool_call_id="call-1")])
    asked = sum(isinstance(part, UserPromptPart) for part in requests)
    return ModelResponse([TextPart(f"[{asked} questions so far] {results[-1].content}")])


agent = Agent(FunctionModel(scripted))


@agent.tool_plain
def find_parcel(order: str) -> str:
    """Say where the parcel of an order is."""
    return f"{order}: in Porto, since this morning"


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    async with strongroom.connect(url, schema_mode="auto") as store:
        await store.tenants.create(tenant_id=tenant_id, name="Acme")
        for question in ("Where is my parcel?", "And now?"):
            history = StrongroomHistory(
                store, tenant_id=tenant_id, session_id="talk-1", principal_id="ada"
            )
            result = await agent.run(question, message_history=await history.load())
            await history.append(result.new_messages())
            print(result.output)
        print(", ".join(message.kind for message in await history.load()))


if __name__ == "__main__":
    asyncio.run(main())
