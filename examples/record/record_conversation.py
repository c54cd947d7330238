"""Record the example conversation: a real pydantic-ai agent with tools, and a scripted model.

Only the model is scripted. It sits behind the HTTP client, as a chat-completions server that
answers from ``conversation_script.py``; the framework's own code builds the requests, runs the
tools (in parallel where the model asks for it), turns their failures into messages and keeps the
history. Nothing goes over the network.

    python examples/record/record_conversation.py            # writes examples/data/
    python examples/record/record_conversation.py --into DIR

Two files come out: the history in the framework's own form, and the messages as they went over the
wire to the model. Ids are given and clocks are pinned, so every run writes the same bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime as dt
import json
from pathlib import Path
from typing import Any

import httpx2 as http
from conversation_script import SYSTEM_PROMPT, TURNS
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from travel_tools import TOOLS

CONVERSATION_ID = "travel-desk-kz-4821"
RECORDED_WITH = "2.68.0"
"""The version of pydantic-ai that wrote the files in examples/data."""

STARTED_AT = dt.datetime(2026, 10, 1, 8, 30, tzinfo=dt.UTC)
STEP = dt.timedelta(seconds=7, microseconds=250_001)
DATA = Path(__file__).resolve().parent.parent / "data"


class ScriptedServer:
    """A chat-completions server in this process: it answers in order and keeps the last request."""

    def __init__(self, responses: list[dict[str, Any]]) -> None:
        self._responses = iter(responses)
        self.served = 0
        self.last_request: dict[str, Any] = {}
        self.last_message: dict[str, Any] = {}

    def __call__(self, request: http.Request) -> http.Response:
        self.last_request = json.loads(request.content)
        self.last_message = next(self._responses)
        self.served += 1
        created = STARTED_AT + STEP * self.served
        sent = len(json.dumps(self.last_request["messages"], ensure_ascii=False))
        made = len(json.dumps(self.last_message, ensure_ascii=False))
        return http.Response(
            200,
            json={
                "id": f"chatcmpl-kaze-{self.served:04}",
                "object": "chat.completion",
                "created": int(created.timestamp()),
                "model": "scripted-1",
                "choices": [
                    {
                        "index": 0,
                        "message": self.last_message,
                        "finish_reason": "tool_calls"
                        if "tool_calls" in self.last_message
                        else "stop",
                    }
                ],
                "usage": {
                    "prompt_tokens": sent // 3,
                    "completion_tokens": made // 3,
                    "total_tokens": sent // 3 + made // 3,
                },
            },
        )


def build_agent(server: ScriptedServer) -> Agent[None, str]:
    client = AsyncOpenAI(
        api_key="not-used",
        base_url="http://scripted.invalid/v1",
        max_retries=0,
        http_client=http.AsyncClient(transport=http.MockTransport(server)),
    )
    profile = OpenAIModelProfile(
        openai_chat_thinking_field="reasoning_content",
        openai_chat_send_back_thinking_parts="field",
    )
    model = OpenAIChatModel(
        "scripted-1", provider=OpenAIProvider(openai_client=client), profile=profile
    )
    return Agent(model, name="travel_desk", system_prompt=SYSTEM_PROMPT, tools=TOOLS, retries=2)


def pin_clocks(history: list[ModelMessage]) -> None:
    """Replace the times that the framework read from the wall clock by fixed, rising ones."""
    for index, message in enumerate(history):
        moment = STARTED_AT + STEP * index
        message.timestamp = moment
        if isinstance(message, ModelRequest):
            for part in message.parts:
                part.timestamp = moment  # type: ignore[union-attr]


async def record() -> tuple[bytes, bytes]:
    """Run the conversation; return the framework's form and the chat-completions form."""
    server = ScriptedServer([response for turn in TURNS for response in turn.responses])
    agent = build_agent(server)
    history: list[ModelMessage] = []
    for number, turn in enumerate(TURNS, 1):
        result = await agent.run(
            turn.user,
            message_history=history,
            conversation_id=CONVERSATION_ID,
            run_id=f"{CONVERSATION_ID}-run-{number}",
        )
        assert result.output == turn.responses[-1]["content"]
        history = result.all_messages()
    pin_clocks(history)
    native = ModelMessagesTypeAdapter.dump_json(history, indent=1, by_alias=True) + b"\n"
    wire = [*server.last_request["messages"], server.last_message]
    chat = "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in wire)
    return native, chat.encode()


def main() -> None:
    parser = argparse.ArgumentParser(description="Record the example conversation.")
    parser.add_argument("--into", type=Path, default=DATA, help="folder to write to")
    folder: Path = parser.parse_args().into
    native, chat = asyncio.run(record())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "support.pydantic_ai.json").write_bytes(native)
    (folder / "support.chat.jsonl").write_bytes(chat)
    print(f"Wrote support.pydantic_ai.json and support.chat.jsonl into {folder}")


if __name__ == "__main__":
    main()
