"""Races of transcripts: one transaction is open, the other is seen to wait for it."""

from __future__ import annotations

from typing import Any

import pytest

from strongroom import MemoryContext
from tests.concurrency.test_memory_races import TENANT, Arena, arena  # noqa: F401 (a fixture)

SCOPE: dict[str, Any] = {"tenant_id": TENANT, "scope": "s"}
SESSION: dict[str, Any] = {
    "tenant_id": TENANT,
    "context": MemoryContext(session_id="s", user_id="u"),
}


@pytest.mark.parametrize("commit", [True, False], ids=["committed", "rolled back"])
async def test_two_that_make_the_same_scope_make_one_b03(arena: Arena, commit: bool) -> None:  # noqa: F811
    outcome = await arena.race(
        lambda store: store.transcripts.save(**SCOPE, messages=[1, 2]),
        lambda store: store.transcripts.save(**SCOPE, messages=[1, 3, 4]),
        commit=commit,
    )
    assert outcome == "saved"
    head = await arena.first.transcripts.find(**SCOPE)
    assert head is not None
    assert (head.version, head.message_count) == ((2, 3) if commit else (1, 3))
    assert await arena.first.transcripts.load(**SCOPE) == [1, 3, 4]
    assert len((await arena.first.transcripts.list_scopes(tenant_id=TENANT)).items) == 1


async def test_a_save_over_what_was_read_waits_and_is_refused_b13(arena: Arena) -> None:  # noqa: F811
    await arena.first.transcripts.save(**SCOPE, messages=[1])
    outcome = await arena.race(
        lambda store: store.transcripts.save(**SCOPE, messages=[1, 2], expected_version=1),
        lambda store: store.transcripts.save(**SCOPE, messages=[1, 3], expected_version=1),
        commit=True,
    )
    assert outcome == "SR012"
    assert await arena.first.transcripts.load(**SCOPE) == [1, 2]


@pytest.mark.parametrize("commit", [True, False], ids=["committed", "rolled back"])
async def test_an_append_that_waits_for_a_clear_begins_anew(arena: Arena, commit: bool) -> None:  # noqa: F811
    of_run: dict[str, Any] = {**SESSION, "run_id": "r", "turn": 0}
    await arena.first.memory.append(**of_run, messages=["before"])
    done = await arena.race(
        lambda store: store.memory.clear(**SESSION),
        lambda store: store.memory.append(**of_run, messages=["after"]),
        commit=commit,
    )
    assert [item.message_position for item in done.items] == ([1] if commit else [2])
    left = await arena.first.memory.load(**SESSION)
    assert left == (["after"] if commit else ["before", "after"])


async def test_a_repeated_append_that_waits_for_the_first_one_adds_nothing_b09(
    arena: Arena,  # noqa: F811
) -> None:
    of_call: dict[str, Any] = {**SESSION, "run_id": "r", "turn": 0, "append_id": "a"}
    done = await arena.race(
        lambda store: store.memory.append(**of_call, messages=["once"]),
        lambda store: store.memory.append(**of_call, messages=["once"]),
        commit=True,
    )
    assert [(item.outcome, item.message_position) for item in done.items] == [("duplicate", 1)]
    assert await arena.first.memory.load(**SESSION) == ["once"]
