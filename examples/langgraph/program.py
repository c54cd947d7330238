"""A graph of LangGraph that asks before it pays, with its checkpoints in strongroom.

Run it with `python -m examples.langgraph.program`. The model is a script; the graph, the interrupt and the
resumption are LangGraph's.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

import strongroom
from strongroom.integrations.langgraph import StrongroomSaver


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    paid: bool


def graph_with(saver: StrongroomSaver, *says: str) -> Any:
    model = GenericFakeChatModel(messages=iter([AIMessage(text) for text in says]))

    async def propose(state: State) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def pay(_: State) -> dict[str, Any]:
        answer = interrupt({"amount": "19.99"})
        return {"paid": answer == "yes"}

    async def tell(state: State) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(State)
    builder.add_node("propose", propose)
    builder.add_node("pay", pay)
    builder.add_node("tell", tell)
    builder.add_edge(START, "propose")
    builder.add_edge("propose", "pay")
    builder.add_edge("pay", "tell")
    builder.add_edge("tell", END)
    return builder.compile(checkpointer=saver)


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    config = {"configurable": {"thread_id": "refund-1"}}
    async with strongroom.connect(url, schema_mode="auto") as store:
        await store.tenants.create(tenant_id=tenant_id, name="Acme")
        saver = StrongroomSaver(store, tenant_id=tenant_id, principal_id="ada")
        graph = graph_with(saver, "Shall I refund 19.99?")
        state = await graph.ainvoke({"messages": [HumanMessage("Refund A-1, please.")]}, config)
        print("waits for", state["__interrupt__"][0].value)

        # Another saver and graph, as in another process: it goes on from the last checkpoint.
        saver = StrongroomSaver(store, tenant_id=tenant_id, principal_id="ada")
        graph = graph_with(saver, "It is on its way.")
        state = await graph.ainvoke(Command(resume="yes"), config)
        print("paid" if state["paid"] else "not paid")
        for message in state["messages"]:
            print(f"{message.type}: {message.content}")


if __name__ == "__main__":
    asyncio.run(main())
