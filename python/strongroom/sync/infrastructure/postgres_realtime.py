# Written by scripts/generate_sync.py from strongroom/infrastructure/postgres_realtime.py: change that, and run `make generate`.
"""RealtimePublisher on PostgreSQL: a table of events, and NOTIFY to say that there are new ones.

With a connection to listen on, a subscriber hears of an event when its transaction commits. Without one
(behind a transaction pooler, or where NOTIFY is turned off) it asks every ``poll_seconds``. Either way it
reads the table after the last sequence it has, so it misses nothing and sees nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from strongroom import blocking
from strongroom.errors import InvalidTransition, Unavailable
from strongroom.ids import new_id
from strongroom.infrastructure.postgres_realtime import PAGE, PATIENCE, _Trimmed
from strongroom.models.base import Id, JsonValue
from strongroom.models.pages import Limit
from strongroom.models.realtime import PublishedItem, Topic, TopicEvent
from strongroom.ports.realtime import TopicEvents
from strongroom.ports.runs import AfterSequence
from strongroom.sync.infrastructure.listening import ConnectToListen, Listener
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.sync.transports.base import Transport
from strongroom.transports.base import Document


class PostgresRealtimePublisher(SqlStore):
    """See :class:`strongroom.ports.RealtimePublisher`."""

    def __init__(
        self,
        transport: Transport,
        *,
        connect: ConnectToListen | None = None,
        poll_seconds: float = 1.0,
        idle_seconds: float = 10.0,
        in_unit: bool = False,
    ) -> None:
        """Publish and read over the transport.

        Args:
            transport: for every call.
            connect: opens the connection to listen on; None polls.
            poll_seconds: how often to look while no notification has been heard on that connection.
            idle_seconds: how often to look nevertheless, once one has been heard.
            in_unit: whether this is the port of a unit of work, in which nobody can subscribe.
        """
        super().__init__(transport)
        self._listener = None if connect is None else Listener(connect)
        self._poll_seconds = poll_seconds
        self._idle_seconds = idle_seconds
        self._in_unit = in_unit

    @port_method
    def publish(
        self, *, tenant_id: Id, topic: Id, events: TopicEvents
    ) -> tuple[PublishedItem, ...]:
        """See the port."""
        batch: JsonValue = [
            {"id": event.id or new_id(), "kind": event.kind, "payload": event.payload}
            for event in events
        ]
        rows = self._rows(
            PublishedItem,
            "publish_events",
            tenant_id=tenant_id,
            topic=topic,
            events=Document(batch),
        )
        return tuple(rows)

    @port_method
    def find(self, *, tenant_id: Id, topic: Id) -> Topic | None:
        """See the port."""
        return self._find(Topic, "find_topic", tenant_id=tenant_id, topic=topic)

    @port_method
    def list(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence = 0, limit: Limit = 50
    ) -> tuple[TopicEvent, ...]:
        """See the port."""
        rows = self._rows(
            TopicEvent,
            "list_topic_events",
            tenant_id=tenant_id,
            topic=topic,
            after_sequence=after_sequence,
            limit=limit,
        )
        return tuple(rows)

    @port_method
    def trim(
        self, *, tenant_id: Id, topic: Id, up_to_sequence: AfterSequence, limit: Limit = 500
    ) -> int:
        """See the port."""
        row = self._one(
            _Trimmed,
            "trim_topic",
            tenant_id=tenant_id,
            topic=topic,
            up_to_sequence=up_to_sequence,
            limit=limit,
        )
        return row.trimmed

    def subscribe(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence | None = None
    ) -> Iterator[TopicEvent]:
        """See the port."""
        if self._in_unit:
            raise InvalidTransition(
                "nobody can subscribe in a unit of work: it would see nothing that others commit",
                hint="Subscribe on the store itself.",
            )
        if after_sequence is None:
            found = self.find(tenant_id=tenant_id, topic=topic)
            after_sequence = found.last_sequence if found else 0
        reader = _Reader(self, tenant_id, topic, after_sequence)
        with self._woken((tenant_id, topic)) as woken:
            was_told = True
            while True:
                woken.clear()  # before reading: what comes during the read wakes again
                page = reader.read()
                if page and not was_told and self._listener is not None:
                    self._listener.doubt()
                for event in page:
                    yield event
                if len(page) == PAGE:
                    continue
                was_told = self._wait(woken)

    def _woken(self, key: tuple[str, str]) -> AbstractContextManager[blocking.Event]:
        return _never() if self._listener is None else self._listener.subscription(key)

    def _wait(self, woken: blocking.Event) -> bool:
        """Wait until there may be something new; return whether that was told."""
        hears = self._listener is not None and self._listener.has_heard
        try:
            with blocking.timeout(self._idle_seconds if hears else self._poll_seconds):
                woken.wait()
        except TimeoutError:
            return False
        return True


class _Reader:
    """Reads one topic on from where it is, and bears a database that does not answer for a while."""

    def __init__(
        self, publisher: PostgresRealtimePublisher, tenant_id: str, topic: str, sequence: int
    ) -> None:
        self._publisher = publisher
        self._tenant_id = tenant_id
        self._topic = topic
        self._sequence = sequence

    def read(self) -> tuple[TopicEvent, ...]:
        loop = blocking.get_running_loop()
        deadline = loop.time() + PATIENCE
        while True:
            try:
                page = self._publisher.list(
                    tenant_id=self._tenant_id,
                    topic=self._topic,
                    after_sequence=self._sequence,
                    limit=PAGE,
                )
            except Unavailable:
                if loop.time() >= deadline:
                    raise
                blocking.sleep(0.1)
                continue
            if page:
                self._sequence = page[-1].sequence
            return page


@contextmanager
def _never() -> Iterator[blocking.Event]:
    yield blocking.Event()
