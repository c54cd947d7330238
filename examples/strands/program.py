"""An agent of Strands whose session lives in strongroom.

Run it with `python -m examples.strands.program`. The model is a script; the agent, its tool and its session
manager are Strands'.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models.model import Model
from strands.session.repository_session_manager import RepositorySessionManager

from strongroom.integrations.bridge import ThreadedStore, connect_in_thread
from strongroom.integrations.strands import StrongroomSessionRepository


@tool
def find_parcel(order: str) -> str:
    """Say where the parcel of an order is."""
    return f"{order}: in Porto, since this morning"


class ScriptedModel(Model):
    """Looks the order up once; then answers from what it sees in the history."""

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        blocks = [block for message in messages for block in message["content"]]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        yield {"messageStart": {"role": "assistant"}}
        if results:
            asked = sum(
                message["role"] == "user" and "text" in message["content"][0]
                for message in messages
            )
            text = f"[{asked} questions so far] {results[-1]['content'][0]['text']}"
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": text}}}
        else:
            start = {"toolUse": {"name": "find_parcel", "toolUseId": "call-1"}}
            yield {"contentBlockStart": {"start": start}}
            given = {"toolUse": {"input": json.dumps({"order": "A-1"})}}
            yield {"contentBlockDelta": {"delta": given}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}


def agent_of(store: ThreadedStore, tenant_id: str) -> Agent:
    """An agent as another process would make it: what it knows comes from the session."""
    repository = StrongroomSessionRepository(store, tenant_id=tenant_id, principal_id="ada")
    manager = RepositorySessionManager(session_id="talk-1", session_repository=repository)
    return Agent(
        agent_id="support",
        model=ScriptedModel(),
        tools=[find_parcel],
        session_manager=manager,
        callback_handler=None,
    )


def main(url: str = "embedded:", tenant_id: str = "acme") -> None:
    with connect_in_thread(url, schema_mode="auto") as store:
        store.run(store.store.tenants.create(tenant_id=tenant_id, name="Acme"))
        for question in ("Where is my parcel?", "And now?"):
            print(str(agent_of(store, tenant_id)(question)).strip())
        print(", ".join(message["role"] for message in agent_of(store, tenant_id).messages))


if __name__ == "__main__":
    main()
