"""Races of runs, with the interleaving forced: one transaction is open, the other is seen to wait for it.

Each race is run a few hundred times both ways: the first transaction is committed, or undone.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

import strongroom
from strongroom import NewMessage, StrongroomError, TextPart
from strongroom.client import Ports
from strongroom.models.interactions import ResolvedInteraction
from strongroom.models.runs import Run
from tests.servers.databases import Database

ROUNDS = 100
AT_ONCE = 0.000001
TENANT = "acme"
TURN = [NewMessage(role="assistant", parts=[TextPart(text="Done.")])]

Call = Callable[[Ports], Awaitable[Any]]

_BLOCKED = """
    select exists (
        select
        from pg_stat_activity as s
        inner join pg_stat_activity as f on f.pid = any (pg_blocking_pids(s.pid))
        where s.application_name = 'second'
            and s.wait_event_type = 'Lock'
            and f.application_name = 'first'
            and f.datname = current_database()
    )
"""


class UndoneError(Exception):
    """Leaves the first transaction, to undo it."""


@dataclass
class Arena:
    """Two stores whose sessions can be told apart, and a session that watches them."""

    first: strongroom.Strongroom
    second: strongroom.Strongroom
    watcher: psycopg.AsyncConnection[Any]
    numbers: "itertools.count[int]"

    async def race(self, first: Call, second: Call, *, commit: bool) -> Any:
        """Return what the second call gives, after it was seen to wait for the first."""

        def end() -> None:
            if not commit:
                raise UndoneError

        with suppress(UndoneError):
            async with self.first.unit_of_work(tenant_id=TENANT) as unit:
                await first(unit)
                waiting = asyncio.create_task(outcome(second(self.second)))
                await self._until_blocked(waiting)
                end()
        return await waiting

    async def _until_blocked(self, waiting: asyncio.Task[Any]) -> None:
        while not waiting.done():
            cursor = await self.watcher.execute(_BLOCKED)
            if await cursor.fetchone() == (True,):
                return
        pytest.fail(f"the second call did not wait for the first: {waiting.result()}")

    async def queued(self, **options: Any) -> Run:
        """Queue a run in a conversation of its own."""
        name = f"talk-{next(self.numbers)}"
        await self.second.conversations.create(
            tenant_id=TENANT, owner_id="ada", conversation_id=name
        )
        return await self.second.runs.create(tenant_id=TENANT, conversation_id=name, **options)

    async def claimed(self, **options: Any) -> Run:
        """Claim a new run."""
        run = await self.queued(**options)
        taken = await claim(run)(self.second)
        assert isinstance(taken, Run)
        return taken

    async def lost(self, **options: Any) -> Run:
        """Claim a new run whose lease ends at once."""
        run = await self.claimed(**options)
        await self.second.runs.heartbeat(**held(run), lease_seconds=AT_ONCE)
        return run

    async def asked(self) -> tuple[Run, ResolvedInteraction]:
        """Claim a new run that asks a question."""
        run = await self.claimed()
        return run, await self.second.interactions.ask(**held(run), prompt="Which?")

    async def now(self, run: Run) -> Run:
        """Return the run as it stands."""
        return await self.second.runs.get(tenant_id=TENANT, run_id=run.id)

    async def texts(self, run: Run) -> list[str]:
        """Return what was said in the run's conversation."""
        page = await self.second.messages.list(
            tenant_id=TENANT, conversation_id=run.conversation_id
        )
        return [str(message.parts[0].to_json()["text"]) for message in page.items]

    async def is_claimed_once(self, run: Run) -> None:
        """Check that the run is claimable, and then no more."""
        assert await claim(run)(self.second) is not None
        assert await claim(run)(self.second) is None


@pytest.fixture
async def arena(database: Database) -> AsyncIterator[Arena]:
    def url(name: str) -> str:
        return database.url(user=database.host, application_name=name)

    async with (
        strongroom.connect(url("first"), pool_min=1, pool_max=1) as first,
        strongroom.connect(url("second"), pool_min=1, pool_max=1) as second,
        await psycopg.AsyncConnection.connect(database.admin_url, autocommit=True) as watcher,
    ):
        await first.tenants.create(tenant_id=TENANT, name="Acme")
        yield Arena(first, second, watcher, itertools.count(1))


async def outcome(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except StrongroomError as error:
        return error.code


def held(run: Run) -> dict[str, Any]:
    return {"tenant_id": TENANT, "run_id": run.id, "claim_token": run.claim_token}


def claim(run: Run) -> Call:
    return lambda s: s.runs.claim(tenant_id=TENANT, run_id=run.id, worker_id="w", lease_seconds=600)


def finish(run: Run) -> Call:
    return lambda s: s.runs.finish(**held(run), status="completed", messages=TURN)


def cancel(run: Run) -> Call:
    return lambda s: s.runs.request_cancel(tenant_id=TENANT, run_id=run.id)


def heartbeat(run: Run) -> Call:
    return lambda s: s.runs.heartbeat(**held(run), lease_seconds=600)


def pause(run: Run) -> Call:
    return lambda s: s.runs.transition(**held(run), status="waiting_for_question")


def answer(question: ResolvedInteraction, text: str = "x") -> Call:
    return lambda s: s.interactions.answer(
        tenant_id=TENANT, interaction_id=question.id, answer=text, resolved_by="ada"
    )


def delete(run: Run) -> Call:
    return lambda s: s.conversations.soft_delete(
        tenant_id=TENANT, conversation_id=run.conversation_id
    )


def follow(run: Run) -> Call:
    return lambda s: s.runs.create(tenant_id=TENANT, conversation_id=run.conversation_id)


def save(run: Run) -> Call:
    return lambda s: s.checkpoints.save(**held(run), expected_sequence=0, state={"step": 1})


both_ways = pytest.mark.parametrize("commit", [True, False], ids=["committed", "undone"])


@both_ways
async def test_two_workers_on_one_run(arena: Arena, commit: bool) -> None:
    tokens = []
    for _ in range(ROUNDS):
        run = await arena.queued()

        async def first(unit: Ports, run: Run = run) -> None:
            assert await claim(run)(unit) is not None
            # Who takes whatever is next does not even wait: it passes by.
            passed = await arena.second.runs.claim_next(worker_id="x", tenant_id=TENANT)
            assert passed == ()

        got = await arena.race(first, claim(run), commit=commit)
        now = await arena.now(run)
        assert (got is None) == commit
        assert (now.status, now.attempt) == ("running", 1)
        tokens.append(now.claim_token)
        await arena.second.conversations.purge(
            tenant_id=TENANT, conversation_id=run.conversation_id
        )
    assert tokens == sorted({token for token in tokens if token is not None})


@both_ways
async def test_two_answers_to_one_question(arena: Arena, commit: bool) -> None:
    for _ in range(ROUNDS):
        run, question = await arena.asked()
        await pause(run)(arena.second)
        got = await arena.race(answer(question, "first"), answer(question, "second"), commit=commit)
        expected = ("already_resolved", "first") if commit else ("resolved", "second")
        assert (got.outcome, got.answer) == expected
        assert (await arena.now(run)).status == "queued"
        await arena.is_claimed_once(run)


@both_ways
async def test_cancel_against_finish(arena: Arena, commit: bool) -> None:
    for number in range(ROUNDS):
        run = await arena.claimed()
        if number % 2:
            got = await arena.race(finish(run), cancel(run), commit=commit)
            if commit:
                assert (got.status, got.cancel_requested_at) == ("completed", None)
                assert await arena.texts(run) == ["Done."]
            else:
                assert got.status == "running"
                assert got.cancel_requested_at is not None
                assert await arena.texts(run) == []
        else:
            # The request comes first; the worker has finished before it could learn of it.
            got = await arena.race(cancel(run), finish(run), commit=commit)
            assert (got.status, got.outcome) == ("completed", "inserted")
            assert (got.cancel_requested_at is not None) == commit
            assert await arena.texts(run) == ["Done."]


@both_ways
async def test_cancel_of_a_waiting_run_against_its_worker(arena: Arena, commit: bool) -> None:
    for _ in range(ROUNDS // 2):
        run, question = await arena.asked()
        got = await arena.race(cancel(run), pause(run), commit=commit)
        assert got.status == ("cancelled" if commit else "waiting_for_question")
        late = await answer(question)(arena.second)
        assert late.outcome == ("already_resolved" if commit else "resolved")
        assert (await claim(run)(arena.second) is None) == commit


@both_ways
async def test_claim_against_expiry(arena: Arena, commit: bool) -> None:
    for number in range(ROUNDS):
        if number % 3 == 0:
            # The worker wakes up in the last moment, and prolongs its lease.
            run = await arena.lost()
            got = await arena.race(heartbeat(run), claim(run), commit=commit)
            assert (got is None) == commit
            alive = await outcome(heartbeat(run)(arena.second))
            assert (alive == "SR031") != commit
        elif number % 3 == 1:
            # Another worker was quicker.
            run = await arena.lost()
            got = await arena.race(claim(run), heartbeat(run), commit=commit)
            assert (got == "SR031") == commit
            assert (await arena.now(run)).attempt == (2 if commit else 1)
        else:
            # The last attempt is lost, and what ends it meets its worker after all.
            run = await arena.lost(max_attempts=1)
            got = await arena.race(
                lambda s: s.runs.reap_expired(tenant_id=TENANT), finish(run), commit=commit
            )
            now = await arena.now(run)
            if commit:
                assert (got, now.status, await arena.texts(run)) == ("SR031", "failed", [])
            else:
                assert (got.status, now.status) == ("completed", "completed")
                assert await arena.texts(run) == ["Done."]


@both_ways
async def test_pause_against_the_last_answer(arena: Arena, commit: bool) -> None:
    for number in range(ROUNDS):
        run, question = await arena.asked()
        if number % 2:
            got = await arena.race(pause(run), answer(question), commit=commit)
            assert got.outcome == "resolved"
            if not commit:
                assert (await arena.now(run)).status == "running"
                assert (await pause(run)(arena.second)).status == "queued"
        else:
            got = await arena.race(answer(question), pause(run), commit=commit)
            assert got.status == ("queued" if commit else "waiting_for_question")
            if not commit:
                assert (await answer(question)(arena.second)).outcome == "resolved"
        now = await arena.now(run)
        assert now.status == "queued"
        await arena.is_claimed_once(run)


@both_ways
async def test_finish_against_a_late_checkpoint(arena: Arena, commit: bool) -> None:
    for number in range(ROUNDS):
        run = await arena.claimed()
        if number % 2:
            got = await arena.race(finish(run), save(run), commit=commit)
            saved = await arena.second.checkpoints.list(tenant_id=TENANT, run_id=run.id)
            if commit:
                assert (got, saved) == ("SR031", ())
                assert (await arena.now(run)).last_checkpoint_sequence == 0
            else:
                assert [checkpoint.id for checkpoint in saved] == [got.id]
        else:
            got = await arena.race(save(run), finish(run), commit=commit)
            assert (got.status, got.last_checkpoint_sequence) == ("completed", int(commit))
            saved = await arena.second.checkpoints.list(tenant_id=TENANT, run_id=run.id)
            assert len(saved) == int(commit)


@both_ways
async def test_deletion_against_a_workers_write_b83(arena: Arena, commit: bool) -> None:
    """The writer is stopped between its check and its insert."""
    for number in range(ROUNDS):
        run = await arena.claimed()
        write = (finish(run), save(run), heartbeat(run))[number % 3]
        got = await arena.race(delete(run), write, commit=commit)
        assert (got == "SR010") == commit
        if commit:
            assert await arena.second.runs.claim_next(worker_id="x", tenant_id=TENANT) == ()
            await arena.second.conversations.restore(
                tenant_id=TENANT, conversation_id=run.conversation_id
            )
            now = await arena.now(run)
            assert (now.status, now.last_checkpoint_sequence) == ("running", 0)
            assert await arena.texts(run) == []


@both_ways
async def test_first_in_first_out_under_creation_and_promotion(arena: Arena, commit: bool) -> None:
    """A run that is created while the head ends is neither forgotten nor let in twice."""
    for _ in range(ROUNDS):
        run = await arena.claimed()
        created = await arena.race(finish(run), follow(run), commit=commit)
        assert created.number == 2
        assert (await claim(created)(arena.second) is not None) == commit
        if not commit:
            await finish(run)(arena.second)
            await arena.is_claimed_once(created)
