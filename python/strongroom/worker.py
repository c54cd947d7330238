"""DurableWorker: runs handlers for claimed runs, and survives what happens to processes.

A handler is an async callable that gets a :class:`~strongroom.run_context.RunContext` and never a
database. It returns what the assistant says; the worker commits the turn. When the process dies, the
lease ends and another worker runs the handler again, from its last checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from strongroom.client import Strongroom
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    StaleClaim,
    StrongroomError,
    Unavailable,
    VersionConflict,
)
from strongroom.handler_errors import (
    Paused,
    RetryLater,
    RunCancelled,
    call_handler,
    error_object,
    short,
    text_of,
)
from strongroom.handlers import check_options, check_worker
from strongroom.infrastructure.tasks import end_task, handler_ends
from strongroom.models.base import JsonObject
from strongroom.models.json_values import replace_unstorable
from strongroom.models.messages import NewMessage
from strongroom.models.parts import ErrorPart
from strongroom.models.runs import FinalStatus, Run
from strongroom.run_context import RunContext, TurnResult

Handler = Callable[[RunContext], Awaitable["TurnResult | str | Sequence[NewMessage] | None"]]

log = logging.getLogger("strongroom.worker")

SWEEP_SECONDS = 10.0
"""How often a worker looks for overdue questions and approvals."""


@dataclass(slots=True)
class WorkerCounts:
    """What a worker has done so far."""

    claimed: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    paused: int = 0
    retried: int = 0
    released: int = 0
    lost: int = 0


@dataclass(kw_only=True)
class DurableWorker:
    """Claims runs, runs the handler, heartbeats, commits turns.

    Attributes:
        store: where runs are.
        handler: the agent.
        concurrency: runs at a time.
        lease_seconds: how long a claim holds without a heartbeat; heartbeats come three times as often.
        poll_seconds: the longest time between two looks for work when nothing is notified.
        backoff_seconds: the first retry's longest delay; it doubles from attempt to attempt, with jitter.
        backoff_limit_seconds: and never gets longer than this.
        grace_seconds: how long ``stop`` lets handlers finish before it gives their runs back.
        tenant_id: serve only this tenant.
        worker_id: who holds the claims.
        counts: what was done so far.
        unending: handlers that swallowed their cancellation; they go on, and their claims end with the lease.

    Example:
        >>> import asyncio, strongroom
        >>> async def handler(context: strongroom.RunContext) -> str:
        ...     return f"You said {context.run.input['question']}"
        >>> async def main() -> str:
        ...     async with strongroom.connect("memory:") as store:
        ...         await store.tenants.create(tenant_id="acme", name="Acme")
        ...         talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
        ...         await store.runs.create(
        ...             tenant_id="acme", conversation_id=talk.id, run_id="r1",
        ...             input={"question": "hi"},
        ...         )
        ...         await strongroom.DurableWorker(store=store, handler=handler).run_until_idle()
        ...         return (await store.runs.get(tenant_id="acme", run_id="r1")).status
        >>> asyncio.run(main())
        'completed'
    """

    store: Strongroom
    handler: Handler
    concurrency: int = 4
    lease_seconds: float = 30.0
    poll_seconds: float = 2.0
    backoff_seconds: float = 1.0
    backoff_limit_seconds: float = 300.0
    grace_seconds: float = 20.0
    tenant_id: str | None = None
    worker_id: str = field(
        default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{random.randrange(10**6)}"  # noqa: S311
    )
    counts: WorkerCounts = field(default_factory=WorkerCounts)
    unending: set[asyncio.Task[TurnResult]] = field(default_factory=set)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _last_tenant_id: str | None = None
    _next_sweep: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a handler or a store that blocks, and options that no worker can work with.

        Raises:
            InvalidArgument: SR001.
        """
        check_worker(self.store, self.handler)
        check_options(
            concurrency=self.concurrency,
            lease_seconds=self.lease_seconds,
            above_zero={"poll_seconds": self.poll_seconds},
            backoff_seconds=self.backoff_seconds,
            backoff_limit_seconds=self.backoff_limit_seconds,
            grace_seconds=self.grace_seconds,
        )

    async def run_forever(self) -> None:
        """Work until ``stop`` is called, then finish or give back what is held.

        Cancelling it gives back what is held at once.
        """
        async with self._holding(), self.store.work_signals() as wait:
            while not self._stopping.is_set():
                claimed = await self._claim_safely()
                if claimed and len(self._tasks) < self.concurrency:
                    continue  # there may be more
                await self._wait_for_change(wait, busy=len(self._tasks) >= self.concurrency)

    async def run_until_idle(self) -> WorkerCounts:
        """Work until nothing is claimable and nothing runs: for tests, scripts and demos."""
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            async with self._holding():
                while not self._stopping.is_set():
                    await self._claim()
                    if not self._tasks:
                        break
                    await asyncio.wait(
                        {*self._tasks, stopping}, return_when=asyncio.FIRST_COMPLETED
                    )
        finally:
            await end_task(stopping)
        return self.counts

    def stop(self) -> None:
        """Claim no more; ``run_forever`` returns when what is held is finished or given back.

        A handler that is cancelled and does not end within five seconds is waited for no more.
        """
        self._stopping.set()

    async def work_on(self, run: Run) -> None:
        """Work on a run that was claimed for this worker, by its id for example, and end the claim."""
        self.counts.claimed += 1
        await self._work(run)

    async def _wait_for_change(
        self, wait: Callable[[float], Awaitable[None]], *, busy: bool
    ) -> None:
        """Wait for a notification (unless all hands are busy), a finished task, the poll or ``stop``."""
        jittered = self.poll_seconds * random.uniform(0.5, 1.0)  # noqa: S311
        waiters: set[asyncio.Task[object]] = {asyncio.create_task(self._stopping.wait())}
        waiters.add(
            asyncio.create_task(asyncio.sleep(jittered) if busy else _nothing(wait(jittered)))
        )
        try:
            await asyncio.wait(waiters | self._tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)

    async def _claim_safely(self) -> bool:
        try:
            return await self._claim()
        except Unavailable as error:
            log.warning("no work can be claimed now: %s", error)
            await asyncio.sleep(random.uniform(0, self.poll_seconds))  # noqa: S311
            return False

    async def _claim(self) -> bool:
        await self._sweep()
        free = self.concurrency - len(self._tasks)
        if free <= 0:
            return False
        runs = await self.store.runs.claim_next(
            worker_id=self.worker_id,
            lease_seconds=self.lease_seconds,
            limit=free,
            after_tenant_id=self._last_tenant_id,
            tenant_id=self.tenant_id,
        )
        for run in runs:
            self.counts.claimed += 1
            self._last_tenant_id = run.tenant_id
            task = asyncio.create_task(self._work(run), name=f"run {run.tenant_id}/{run.id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return bool(runs)

    async def _sweep(self) -> None:
        """Now and then let overdue questions and approvals expire, so that their runs go on."""
        now = asyncio.get_running_loop().time()
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            await self.store.interactions.expire_due(tenant_id=self.tenant_id)

    @asynccontextmanager
    async def _holding(self) -> AsyncIterator[None]:
        """Leave nothing behind that is held: finish it, or give it back; at once when this is cancelled."""
        try:
            yield
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self.grace_seconds)
        finally:
            await self._give_back()

    async def _give_back(self) -> None:
        for task in list(self._tasks):
            task.cancel("give back")
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, run: Run) -> None:
        """Run the handler for one claim, and end the claim in one of the ways there are."""
        context = RunContext(self.store, run)
        handling = asyncio.create_task(self._handle(context))
        beating = asyncio.create_task(self._beat(context, handling))
        try:
            await self._end(context, handling)
        except StaleClaim:
            self.counts.lost += 1
            log.warning("run %s was taken over by another worker", run.id)
        except NotFound:
            self.counts.lost += 1
            log.warning("run %s is gone: its conversation was deleted", run.id)
            # What was used was used; the ledger takes it also when the run is gone.
            await context.usage.salvage(of_a_living_run=False)
        except StrongroomError as error:
            # Nothing is lost: the lease ends, and another attempt begins from the last checkpoint.
            self.counts.lost += 1
            log.warning("run %s could not be ended, and will be claimed again: %s", run.id, error)
        finally:
            await self._has_ended(handling, run)
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _has_ended(self, handling: asyncio.Task[TurnResult], run: Run) -> bool:
        """Let a handler end, and say whether it has; nobody waits twice for one that does not."""
        if handling not in self.unending and not await handler_ends(handling, f"run {run.id}"):
            self.unending.add(handling)
            handling.add_done_callback(self.unending.discard)
        return handling.done()

    async def _handle(self, context: RunContext) -> TurnResult:
        if context.run.attempt > context.run.max_attempts:
            raise AttemptsExhausted(context.run)
        await context.load()
        return TurnResult.of(await call_handler(self.handler, context))

    async def _beat(self, context: RunContext, handling: asyncio.Task[TurnResult]) -> None:
        """Prolong the lease; stop the handler when the claim is lost or somebody asks to cancel."""
        while True:
            await asyncio.sleep(self.lease_seconds / 3)
            try:
                lease = await self.store.runs.heartbeat(
                    tenant_id=context.run.tenant_id,
                    run_id=context.run.id,
                    claim_token=context.claim_token,
                    lease_seconds=self.lease_seconds,
                )
            except (StaleClaim, NotFound) as error:
                context.lost = error
                handling.cancel()
                return
            except StrongroomError as error:
                log.warning("no heartbeat for run %s: %s", context.run.id, error)
                continue
            if lease.cancel_requested:
                context.cancel_requested = True
                handling.cancel()
                return

    async def _end(self, context: RunContext, handling: asyncio.Task[TurnResult]) -> None:
        try:
            result = await asyncio.shield(handling)
        except asyncio.CancelledError:
            if context.lost is not None:
                raise context.lost from None
            if context.cancel_requested:
                await self._finish(context, "cancelled", ())
                return
            # The worker winds down. The run is given back when its handler has ended, and not before:
            # nobody else may begin it while this one still tidies up.
            if not await self._has_ended(handling, context.run):
                self.counts.lost += 1
                raise
            if not handling.cancelled() and not isinstance(handling.exception(), Exception):
                await self._end(context, handling)  # it ended well, or paused, at this moment
                return
            with suppress(StrongroomError):
                await context.release()
                self.counts.released += 1
            raise
        except Paused as pause:
            await context.pause(pause.status)
            self.counts.paused += 1
        except RunCancelled:
            await self._finish(context, "cancelled", ())
        except Exception as error:  # noqa: BLE001 (whatever a handler raises ends its run, not the worker)
            # A StaleClaim or NotFound may be about something else: whether the run is lost, its end tells.
            await self._fail_or_retry(context, error)
        else:
            await self._complete(context, result)

    async def _complete(self, context: RunContext, result: TurnResult) -> None:
        try:
            context.record_usage(*result.usage)
            await self._finish(context, "completed", result.messages, result.state)
        except VersionConflict as error:
            # Somebody changed the session state meanwhile: the turn begins again from what is there now.
            await self._fail_or_retry(context, error)
        except (InvalidArgument, AlreadyExists) as error:
            # What cannot be stored must not keep the run from ending; the person is told.
            log.warning("the turn of run %s cannot be stored: %s", context.run.id, error)
            await context.usage.salvage()
            part = ErrorPart(code=error.name, message=short(text_of(error)))
            told = NewMessage(role="assistant", parts=[part])
            await self._finish(context, "failed", (told,), error=error_object(error))

    async def _finish(
        self,
        context: RunContext,
        status: FinalStatus,
        messages: Sequence[NewMessage],
        state: JsonObject | None = None,
        *,
        error: JsonObject | None = None,
    ) -> None:
        clean = tuple(_storable(message) for message in messages)
        await context.finish(
            status, clean, None if state is None else replace_unstorable(state), error
        )
        setattr(self.counts, status, getattr(self.counts, status) + 1)

    async def _fail_or_retry(self, context: RunContext, error: Exception) -> None:
        run = context.run
        log.info("run %s, attempt %s: %r", run.id, run.attempt, error)
        if isinstance(error, AttemptsExhausted) or run.attempt >= run.max_attempts:
            await self._finish(context, "failed", (), error=error_object(error))
            return
        delay = error.delay_seconds if isinstance(error, RetryLater) else None
        if delay is None:
            longest = min(self.backoff_limit_seconds, self.backoff_seconds * 2 ** (run.attempt - 1))
            delay = random.uniform(0, longest)  # noqa: S311
        await context.retry_later(delay, error_object(error))
        self.counts.retried += 1


class AttemptsExhausted(Exception):
    """The run's last worker died in its last attempt."""

    def __init__(self, run: Run) -> None:
        """Say how often it was tried."""
        super().__init__(f"no worker finished the run in {run.max_attempts} attempts")


def _storable(message: NewMessage) -> NewMessage:
    """Replace what PostgreSQL cannot hold: a finished run must end, whatever its model said."""
    plain = message.to_json()
    cleaned = replace_unstorable(plain)
    if cleaned == plain:
        return message
    return NewMessage(**{key: value for key, value in cleaned.items() if value is not None})


async def _nothing(waiting: Awaitable[None]) -> object:
    await waiting
    return None
