# Written by scripts/generate_sync.py from strongroom/in_memory/realtime.py: change that, and run `make generate`.
"""RealtimePublisher in memory."""

from __future__ import annotations

from collections.abc import Iterator

from strongroom import blocking
from strongroom.errors import InvalidTransition
from strongroom.ids import new_id
from strongroom.in_memory.realtime import (
    PAGE,
    POLL_SECONDS,
    find_topic,
    list_topic_events,
    publish_events,
    trim_topic,
)
from strongroom.models.base import Id
from strongroom.models.health import TextPolicy
from strongroom.models.pages import Limit
from strongroom.models.realtime import PublishedItem, Topic, TopicEvent
from strongroom.ports.realtime import TopicEvents
from strongroom.ports.runs import AfterSequence
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.in_memory.database import Session, Unit
from strongroom.sync.ports.arguments import port_method


class MemoryRealtimePublisher(MemoryPort):
    """See :class:`strongroom.ports.RealtimePublisher`. Subscribers look every 20 milliseconds."""

    def __init__(self, session: Session, text_policy: TextPolicy) -> None:
        """Run every call in this session."""
        super().__init__(session, text_policy)
        self._in_unit = isinstance(session, Unit)

    @port_method
    def publish(
        self, *, tenant_id: Id, topic: Id, events: TopicEvents
    ) -> tuple[PublishedItem, ...]:
        """See the port."""
        return self._write(
            tenant_id,
            publish_events,
            topic=topic,
            events=[
                {"id": event.id or new_id(), "kind": event.kind, "payload": event.payload}
                for event in events
            ],
        )

    @port_method
    def find(self, *, tenant_id: Id, topic: Id) -> Topic | None:
        """See the port."""
        return self._read(tenant_id, find_topic, topic=topic)

    @port_method
    def list(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence = 0, limit: Limit = 50
    ) -> tuple[TopicEvent, ...]:
        """See the port."""
        return self._read(
            tenant_id, list_topic_events, topic=topic, after_sequence=after_sequence, limit=limit
        )

    @port_method
    def trim(
        self, *, tenant_id: Id, topic: Id, up_to_sequence: AfterSequence, limit: Limit = 500
    ) -> int:
        """See the port."""
        return self._write(
            tenant_id, trim_topic, topic=topic, up_to_sequence=up_to_sequence, limit=limit
        )

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
        while True:
            page = self.list(
                tenant_id=tenant_id, topic=topic, after_sequence=after_sequence, limit=PAGE
            )
            for event in page:
                yield event
                after_sequence = event.sequence
            if not page:
                blocking.sleep(POLL_SECONDS)
