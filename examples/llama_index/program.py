"""An agent of LlamaIndex whose chat history lives in strongroom.

Run it with `python -m examples.llama_index.program`. The model is a script; the agent, its tool and its
memory are LlamaIndex's.
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import ChatMessage, CompletionResponse, LLMMetadata, MessageRole
from llama_index.core.llms.custom import CustomLLM
from llama_index.core.memory import ChatMemoryBuffer

import strongroom
from strongroom.integrations.llama_index import StrongroomChatStore


def find_parcel(order: str) -> str:
    """Say where the parcel of an order is."""
    return f"{order}: in Porto, since this morning"


class ScriptedLLM(CustomLLM):
    """Looks the order up, then says what it found and how many questions it has seen."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=100_000)

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        seen = prompt[prompt.rindex("## Current Conversation") :]
        asked = seen.count("user: Where") + seen.count("user: And")
        if "Observation: A-1" in seen.rsplit("user: ", 2)[-1] or "Observation: A-1" in seen[-200:]:
            text = f"Thought: I know.\nAnswer: [{asked} questions so far] It is in Porto."
        else:
            text = 'Thought: I look.\nAction: find_parcel\nAction Input: {"order": "A-1"}'
        return CompletionResponse(text=text, delta=text)

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        yield self.complete(prompt)


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    async with strongroom.connect(url, schema_mode="auto") as store:
        await store.tenants.create(tenant_id=tenant_id, name="Acme")
        for question in ("Where is my parcel?", "And now?"):
            # A new memory each time, as in another process: the history is in the database.
            chats = StrongroomChatStore(store, tenant_id=tenant_id, principal_id="ada")
            memory = ChatMemoryBuffer.from_defaults(
                chat_store=chats, chat_store_key="talk-1", token_limit=10_000
            )
            agent = ReActAgent(tools=[find_parcel], llm=ScriptedLLM(), streaming=False)
            print(str(await agent.run(question, memory=memory)).strip())
        history = await chats.aget_messages("talk-1")
        print(", ".join(message.role.value for message in history))
        assert isinstance(history[0], ChatMessage)
        assert history[0].role is MessageRole.USER


if __name__ == "__main__":
    asyncio.run(main())
