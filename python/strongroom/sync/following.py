# Written by scripts/generate_sync.py from strongroom/following.py: change that, and run `make generate`.
"""Follow a conversation or a run while others write: every record in order, each once.

The tables are read after the last record that was seen; Realtime, where the store has it, says when. Without
it, and whenever it falls silent, the tables are read every second: slow at worst, and never silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from strongroom import blocking
from strongroom.errors import Unavailable
from strongroom.following import IDLE_SECONDS, PAGE, PATIENCE, POLL_SECONDS, Row
from strongroom.models.messages import Message
from strongroom.models.runs import RunEvent
from strongroom.sync.client import Strongroom


def follow_messages(
    store: Strongroom, *, tenant_id: str, conversation_id: str, after_position: int = 0
) -> Iterator[Message]:
    """Yield every message of a conversation after a position, in order, each once, while you iterate.

    Close it with ``close()`` (``contextlib.closing``).

    Args:
        store: an open store.
        tenant_id: the tenant.
        conversation_id: the conversation.
        after_position: of the last message that you have; 0 for all.

    Raises:
        NotFound: SR010, the conversation does not exist, or is readable no more.
        Unavailable: SR050, the database has not answered for 30 seconds.

    Example:
        >>> import strongroom.sync
        >>> from contextlib import closing
        >>> from strongroom import NewMessage, TextPart
        >>> def main() -> list[int]:
        ...     with strongroom.sync.connect("memory:") as store:
        ...         store.tenants.create(tenant_id="acme", name="Acme")
        ...         talk = store.conversations.create(tenant_id="acme", owner_id="ada")
        ...         where = {"tenant_id": "acme", "conversation_id": talk.id}
        ...         store.messages.append(
        ...             **where, messages=[NewMessage(role="user", parts=[TextPart(text="Hi")])]
        ...         )
        ...         with closing(follow_messages(store, **where)) as messages:
        ...             return [(next(messages)).position]
        >>> main()
        [1]
    """
    position = after_position

    def read() -> Sequence[Message]:
        nonlocal position
        page = store.messages.list(
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            after_position=position,
            limit=PAGE,
        )
        if page.items:
            position = page.items[-1].position
        return page.items

    for message in _follow(store, ("conversation", tenant_id, conversation_id), read):
        yield message


def follow_run_events(
    store: Strongroom, *, tenant_id: str, run_id: str, after_sequence: int = 0
) -> Iterator[RunEvent]:
    """Yield every event of a run after a sequence, such as streamed deltas, in order, each once.

    It ends when the run has ended and all its events were yielded; ``runs.get`` says how it ended.

    Args:
        store: an open store.
        tenant_id: the tenant.
        run_id: the run.
        after_sequence: of the last event that you have; 0 for all.

    Raises:
        NotFound: SR010, the run does not exist, or is readable no more.
        Unavailable: SR050, the database has not answered for 30 seconds.
    """
    sequence = after_sequence
    has_ended = False
    run = store.runs.get(tenant_id=tenant_id, run_id=run_id)

    def read() -> Sequence[RunEvent]:
        nonlocal sequence, has_ended
        events = read_events()
        if run.is_final:
            has_ended = len(events) < PAGE
        elif not events:
            now = store.runs.get(tenant_id=tenant_id, run_id=run_id)
            events = read_events() if now.is_final else ()  # what came between the two
            has_ended = now.is_final and not events
        if events:
            sequence = events[-1].sequence
        return events

    def read_events() -> Sequence[RunEvent]:
        return store.runs.list_events(
            tenant_id=tenant_id, run_id=run_id, after_sequence=sequence, limit=PAGE
        )

    names = ("conversation", tenant_id, run.conversation_id)
    for event in _follow(store, names, read, lambda: has_ended):
        yield event


def _follow(
    store: Strongroom,
    names: tuple[str, ...],
    read: Callable[[], Sequence[Row]],
    has_ended: Callable[[], bool] = bool,
) -> Iterator[Row]:
    hints = store.hints
    with _silence() if hints is None else hints.subscription(names) as woken:
        was_told = True
        while True:
            woken.clear()  # before reading: what comes during the read wakes again
            rows = _patiently(read)
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
                with blocking.timeout(IDLE_SECONDS if hears else POLL_SECONDS):
                    woken.wait()
            except TimeoutError:
                was_told = False


def _patiently(read: Callable[[], Sequence[Row]]) -> Sequence[Row]:
    loop = blocking.get_running_loop()
    deadline = loop.time() + PATIENCE
    while True:
        try:
            return read()
        except Unavailable:
            if loop.time() >= deadline:
                raise
            blocking.sleep(0.1)


@contextmanager
def _silence() -> Iterator[blocking.Event]:
    yield blocking.Event()
