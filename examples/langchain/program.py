"""An agent of LangChain with a tool whose answers are cached in strongroom.

Run it with `python -m examples.langchain.program`. The model is a script; the agent loop and the tool are
LangChain's and LangGraph's.
"""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolCall
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent

import strongroom
from strongroom.integrations.langchain import StrongroomByteStore


class ScriptedModel(GenericFakeChatModel):
    """Calls the tool, then says that it is done."""

    def bind_tools(self, *_: Any, **__: Any) -> ScriptedModel:
        return self


def agent_with(cache: StrongroomByteStore, asked: list[str]) -> Any:
    @tool
    async def find_parcel(order: str) -> str:
        """Say where the parcel of an order is."""
        (known,) = await cache.amget([order])
        if known is None:
            asked.append(order)
            known = f"{order}: in Porto 📦".encode()
            await cache.amset([(order, known)])
        return known.decode()

    call = ToolCall(name="find_parcel", args={"order": "A-1"}, id="call-1", type="tool_call")
    says: list[AIMessage | AIMessageChunk] = [
        AIMessage("", tool_calls=[call]),
        AIMessage("I have looked."),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it moves to the package langchain
        return create_react_agent(ScriptedModel(messages=iter(says)), [find_parcel])


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    async with strongroom.connect(url, schema_mode="auto") as store:
        await store.tenants.create(tenant_id=tenant_id, name="Acme")
        cache = StrongroomByteStore(store, tenant_id=tenant_id, namespace="parcels")
        asked: list[str] = []
        for _ in range(2):
            state = await agent_with(cache, asked).ainvoke(
                {"messages": [("user", "Where is my parcel?")]}
            )
            print(state["messages"][-2].content)
        print("asked the warehouse", len(asked), "time")
        print(", ".join([key async for key in cache.ayield_keys()]))


if __name__ == "__main__":
    asyncio.run(main())
