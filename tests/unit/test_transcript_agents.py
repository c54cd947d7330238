"""The example agents: each port, each save policy, with a run that fails."""

from __future__ import annotations

import asyncio
import math
from typing import Any, get_args

import pytest
from examples.transcript_agents import program
from examples.transcript_agents.agents import prompt_in_session, prompt_with_transcript
from examples.transcript_agents.model import LineIsDeadError

import strongroom
from strongroom import InvalidArgument, MemoryContext, MemorySession
from strongroom.models.memory_sessions import SavePolicy


async def test_an_agent_saves_its_list_and_keeps_its_pinned_prompt() -> None:
    async with strongroom.connect("memory:") as store:
        await store.tenants.create(tenant_id="t", name="T")
        place: dict[str, Any] = {"tenant_id": "t", "scope": "s"}
        asked = ["Where is A-1001?", "And A-1002?", "How much did I ask?"]
        answers = [
            await prompt_with_transcript(store, **place, text=text, system=f"prompt {n}")
            for n, text in enumerate(asked)
        ]
        messages: list[Any] = await store.transcripts.load(**place)
        head = await store.transcripts.find(**place)
    assert answers == [
        "Your order is on its way, arriving on Tuesday.",
        "Your order is delivered.",
        "You have asked me 3 things so far.",
    ]
    assert [message["role"] for message in messages] == [
        "system",
        *("user", "assistant", "tool", "assistant") * 2,
        *("user", "assistant"),
    ]
    assert messages[0]["content"] == "prompt 0"
    # Five saves, each of which wrote its own messages only.
    assert head is not None
    assert (head.version, head.message_count) == (5, 11)


STORED_OF_A_FAILED_RUN: dict[SavePolicy, int] = {"message": 1, "turn": 0, "run": 0}


@pytest.mark.parametrize("policy", get_args(SavePolicy))
async def test_an_agent_in_a_session_stores_by_its_policy(policy: SavePolicy) -> None:
    async with strongroom.connect("memory:") as store:
        await store.tenants.create(tenant_id="t", name="T")
        of: dict[str, Any] = {
            "tenant_id": "t",
            "context": MemoryContext(session_id="s", user_id="u"),
        }
        session = MemorySession(store.memory, **of, save_policy=policy)
        assert await prompt_in_session(session, "Where is A-1001?") == (
            "Your order is on its way, arriving on Tuesday."
        )
        assert len(await session.load()) == 4
        with pytest.raises(LineIsDeadError):
            await prompt_in_session(session, "Where is A-1002!  A-1002")
        assert len(await session.load()) == 4 + STORED_OF_A_FAILED_RUN[policy]
        (failed,) = (await store.memory.list_errors(**of)).items
        assert failed.error == {
            "type": "LineIsDeadError",
            "message": "the provider does not answer",
        }
        assert failed.message_count == 1
        asked = 2 + STORED_OF_A_FAILED_RUN[policy]
        answer = await prompt_in_session(session, "How much did I ask?")
        assert answer == f"You have asked me {asked} things so far."


class Speechless(Exception):
    def __str__(self) -> str:
        raise LookupError


@pytest.mark.parametrize("failure", [Speechless(), SystemExit(2), asyncio.CancelledError()])
async def test_whatever_ends_a_run_is_recorded_and_raised(failure: BaseException) -> None:
    async with strongroom.connect("memory:") as store:
        await store.tenants.create(tenant_id="t", name="T")
        place: dict[str, Any] = {"tenant_id": "t", "context": MemoryContext(session_id="s")}
        session = MemorySession(store.memory, **place)

        async def prompt() -> None:
            async with session.run() as run:
                for wrong in (math.nan, {1}):
                    with pytest.raises(InvalidArgument) as refused:
                        await run.add({"role": "user"}, {"n": wrong})
                    assert refused.value.detail["path"] == "messages[1].n"
                await run.add({"role": "user", "content": "said"})
                raise failure

        with pytest.raises(type(failure)) as raised:
            await prompt()
        assert raised.value is failure
        assert await session.load() == [{"role": "user", "content": "said"}]
        errors = await store.memory.list_errors(**place)
    kept: list[Any] = [failed.error for failed in errors.items]
    assert [error["type"] for error in kept] == [type(failure).__name__]


async def test_the_program_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    await program.main("memory:")
    said = capsys.readouterr().out.splitlines()
    assert sorted(said[-3:]) == [
        "by message: 11 messages, 1 failed run",
        "by run: 10 messages, 1 failed run",
        "by turn: 10 messages, 1 failed run",
    ]
