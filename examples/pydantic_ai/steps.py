"""An agent that is stopped in the middle of its work, and goes on from what its steps have left.

Run it with `python -m examples.pydantic_ai.steps`. The model is a function; the agent, its tools and
`StepPersistence` are Pydantic AI's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness import StepPersistence
from pydantic_ai_harness.step_persistence import StepStore, continue_run

import strongroom
from strongroom.integrations.pydantic_ai import StrongroomStepStore


class PowerCut(BaseException):
    """What no program expects."""


def scripted(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Look the order up, then write to the customer, then say so."""
    parts = [part for message in messages for part in message.parts]
    done = {part.tool_name: part.content for part in parts if isinstance(part, ToolReturnPart)}
    if "find_parcel" not in done:
        return ModelResponse([ToolCallPart("find_parcel", {"order": "A-1"}, tool_call_id="call-1")])
    if "write_letter" not in done:
        return ModelResponse([ToolCallPart("write_letter", {}, tool_call_id="call-2")])
    return ModelResponse([TextPart(f"{done['find_parcel']}; {done['write_letter']}")])


def agent_with(steps: StepStore, *, run_id: str) -> Agent[Callable[[], None], str]:
    made = Agent(
        FunctionModel(scripted),
        deps_type=Callable[[], None],  # type: ignore[arg-type]
        capabilities=[StepPersistence(store=steps, run_id=run_id)],
    )

    @made.tool_plain
    def find_parcel(order: str) -> str:
        print("looking up", order)
        return f"{order} is in Porto"

    @made.tool
    def write_letter(context: RunContext[Callable[[], None]]) -> str:
        context.deps()
        return "the letter is written"

    return made


async def begin(steps: StepStore, write: Callable[[], None]) -> None:
    agent = agent_with(steps, run_id="run-1")
    await agent.run("Where is it? Tell the customer.", deps=write, conversation_id="talk-1")


async def go_on(steps: StepStore) -> str:
    """Look at what is not known to have ended; then run what is left of the work."""
    for effect in await steps.list_unresolved_tool_effects(run_id="run-1"):
        print(effect.tool_name, "may have been done")
    history = await continue_run(steps, run_id="run-1")
    agent = agent_with(steps, run_id="run-2")
    result = await agent.run(message_history=history, deps=lambda: None, conversation_id="talk-1")
    return result.output


def cut() -> None:
    raise PowerCut


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    async with strongroom.connect(url, schema_mode="auto") as store:
        await store.tenants.create(tenant_id=tenant_id, name="Acme")
        steps = StrongroomStepStore(store, tenant_id=tenant_id, principal_id="ada")
        try:
            await begin(steps, cut)
        except PowerCut:
            print("stopped")
        print(await go_on(StrongroomStepStore(store, tenant_id=tenant_id, principal_id="ada")))
        runs = await steps.list_runs(conversation_id="talk-1")
        print(", ".join(run.run_id for run in runs))


if __name__ == "__main__":
    asyncio.run(main())
