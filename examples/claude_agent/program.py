"""The Claude Agent SDK with its transcripts mirrored into strongroom, and a session resumed from there.

Run it with `python -m examples.claude_agent.program`. The SDK and the agent's process that it starts are
real; the model behind the process is a script on this machine, so that nothing leaves it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage, TextBlock, query

import strongroom
from strongroom.integrations.claude_agent import StrongroomSessionStore


class ScriptedModel(BaseHTTPRequestHandler):
    """Answers every request for a message with how many questions it has seen."""

    def log_message(self, *_: Any) -> None: ...

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        self._answer(b"{}", "application/json")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self._answer(b'{"input_tokens": 1}', "application/json")
            return
        seen = json.dumps(request.get("messages", []))
        asked = seen.count("Where is my parcel?") + seen.count("And now?")
        events = list(_events(f"[{asked} questions so far] In Porto."))
        if request.get("stream"):
            lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events]
            self._answer("".join(lines).encode(), "text/event-stream")
        else:
            whole = {**events[0]["message"], "stop_reason": "end_turn"}
            whole["content"] = [{"type": "text", "text": f"[{asked}] In Porto."}]
            self._answer(json.dumps(whole).encode(), "application/json")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _events(text: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    block = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    delta = {"type": "text_delta", "text": text}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}


@contextmanager
def scripted_model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


async def ask(
    question: str, transcripts: StrongroomSessionStore, home: Path, url: str, resume: str | None
) -> str:
    options = ClaudeAgentOptions(
        cwd=home,
        resume=resume,
        session_store=transcripts,
        allowed_tools=[],
        model="scripted",
        env={
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": str(home / "config"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )
    session_id = ""
    async for message in query(prompt=question, options=options):
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, TextBlock):
                    print(block.text)
        elif isinstance(message, ResultMessage):
            session_id = message.session_id
    return session_id


async def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    with tempfile.TemporaryDirectory() as folder, scripted_model() as model:
        async with strongroom.connect(url, schema_mode="auto") as store:
            await store.tenants.create(tenant_id=tenant_id, name="Acme")
            transcripts = StrongroomSessionStore(store, tenant_id=tenant_id, principal_id="ada")
            home = Path(folder) / "work"
            home.mkdir()
            first = await ask("Where is my parcel?", transcripts, home, model, None)
            await ask("And now?", transcripts, home, model, first)
            known = await store.frameworks.list_sessions(
                tenant_id=tenant_id, framework="claude_agent"
            )
            print(len(known.items), "transcript of", known.items[0].principal_id)


if __name__ == "__main__":
    asyncio.run(main())
