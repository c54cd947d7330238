"""Follow a conversation or a run while others write: every record in order, each once.

The tables are read after the last record that was seen; Realtime, where the store has it, says when. Without
it, and whenever it falls silent, the tables are read every second: slow at worst, and never silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from strongroom.client import Strongroom
from strongroom.errors import Unavailable
from strongroom.models.messages import Message
from strongroom.models.runs import RunEvent

PAGE = 500
PATIENCE = 30.0
"""Seconds without any answer of the database after which following raises."""

POLL_SECONDS = 1.0
IDLE_SECONDS = 10.0
"""How often to look nevertheless, while hints are heard."""

Row = TypeVar("Row")


async def follow_messages(
    store: Strongroom, *, tenant_id: str, conversation_id: str, after_position: int = 0
) -> AsyncIterator[Message]:
    """Yield every message of a conversation after a position, in order, each once, while you iterate.

    Close it with ``aclose()`` (``contextlib.aclosing``).

    Args:
        store: an open store; over Supabase's API it is woken by Realtime.
        tenant_id: the tenant.
        conversation_id: the conversation.
        after_position: of the last message that you have; 0 for all.

    Raises:
        NotFound: SR010, the conversation does not exist, or is readable no more.
        Unavailable: SR050, the database has not answered for 30 seconds.

    Example:
        >>> import asyncio, strongroom
        >>> from contextlib import aclosing
        >>> from strongroom import NewMessage, TextPart
        >>> async def main() -> list[int]:
        ...     async with strongroom.connect("memory:") as store:
        ...         await store.tenants.create(tenant_id="acme", name="Acme")
        ...         talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
        ...         where = {"tenant_id": "acme", "conversation_id": talk.id}
        ...         await store.messages.append(
        ...             **where, messages=[NewMessage(role="user", parts=[TextPart(text="Hi")])]
        ...         )
        ...         async with aclosing(follow_messages(store, **where)) as messages:
        ...             return [(await anext(messages)).position]
        >>> asyncio.run(main())
        [1]
    """
    position = after_position

    async def read() -> Sequence[Message]:
        nonlocal position
        page = await store.messages.list(
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            after_position=position,
            limit=PAGE,
        )
        if page.items:
            position = page.items[-1].position
        return page.items

    async for message in _follow(store, ("conversation", tenant_id, conversation_id), read):
        yield message


async def follow_run_events(
    store: Strongroom, *, tenant_id: str, run_id: str, after_sequence: int = 0
) -> AsyncIterator[RunEvent]:
    """Yield every event of a run after a sequence, such as streamed deltas, in order, each once.

    It ends when the run has ended and all its events were yielded; ``runs.get`` says how it ended.

    Args:
        store: an open store; over Supabase's API it is woken by Realtime.
        tenant_id: the tenant.
        run_id: the run.
        after_sequence: of the last event that you have; 0 for all.

    Raises:
        NotFound: SR010, the run does not exist, or is readable no more.
        Unavailable: SR050, the database has not answered for 30 seconds.
    """
    sequence = after_sequence
    has_ended = False
    run = await store.runs.get(tenant_id=tenant_id, run_id=run_id)

    async def read() -> Sequence[RunEvent]:
        nonlocal sequence, has_ended
        events = await read_events()
        if run.is_final:
            has_ended = len(events) < PAGE
        elif not events:
            now = await store.runs.get(tenant_id=tenant_id, run_id=run_id)
            events = await read_events() if now.is_final else ()  # what came between the two
            has_ended = now.is_final and not events
        if events:
            sequence = events[-1].sequence
        return events

    async def read_events() -> Sequence[RunEvent]:
        return await store.runs.list_events(
            tenant_id=tenant_id, run_id=run_id, after_sequence=sequence, limit=PAGE
        )

    names = ("conversation", tenant_id, run.conversation_id)
    async for event in _follow(store, names, read, lambda: has_ended):
        yield event


async def _follow(
    store: Strongroom,
    names: tuple[str, ...],
    read: Callable[[], Awaitable[Sequence[Row]]],
    has_ended: Callable[[], bool] = bool,
) -> AsyncIterator[Row]:
    hints = store.hints
    async with _silence() if hints is None else hints.subscription(names) as woken:
        was_told = True
        while True:
            woken.clear()  # before reading: what comes during the read wakes again
            rows = await _patiently(read)
            if rows and not was_told and hints is not None:
                hints.doubt()
            for row in rows:
                yield row
            if has_ended():
                return
            if len(rows) == PAGE:
                continue
            was_told = True
            try:
                hears = hints is not None and hints.has_heard
                async with asyncio.timeout(IDLE_SECONDS if hears else POLL_SECONDS):
                    await woken.wait()
            except TimeoutError:
                was_told = False


async def _patiently(read: Callable[[], Awaitable[Sequence[Row]]]) -> Sequence[Row]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while True:
        try:
            return await read()
        except Unavailable:
            if loop.time() >= deadline:
                raise
            await asyncio.sleep(0.1)


@asynccontextmanager
async def _silence() -> AsyncIterator[asyncio.Event]:
    yield asyncio.Event()
