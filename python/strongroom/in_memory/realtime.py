"""RealtimePublisher in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from strongroom.errors import InvalidTransition, NotFound
from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort, check_writable
from strongroom.in_memory.database import Session, Tables, Unit
from strongroom.in_memory.values import check_size, comparable
from strongroom.models.base import Id
from strongroom.models.health import TextPolicy
from strongroom.models.pages import Limit
from strongroom.models.realtime import PublishedItem, Topic, TopicEvent
from strongroom.ports.arguments import port_method
from strongroom.ports.realtime import TopicEvents
from strongroom.ports.runs import AfterSequence

PAYLOAD_BYTES = 4096
PAGE = 500
POLL_SECONDS = 0.02


class MemoryRealtimePublisher(MemoryPort):
    """See :class:`strongroom.ports.RealtimePublisher`. Subscribers look every 20 milliseconds."""

    def __init__(self, session: Session, text_policy: TextPolicy) -> None:
        """Run every call in this session."""
        super().__init__(session, text_policy)
        self._in_unit = isinstance(session, Unit)

    @port_method
    async def publish(
        self, *, tenant_id: Id, topic: Id, events: TopicEvents
    ) -> tuple[PublishedItem, ...]:
        """See the port."""
        return await self._write(
            tenant_id,
            publish_events,
            topic=topic,
            events=[
                {"id": event.id or new_id(), "kind": event.kind, "payload": event.payload}
                for event in events
            ],
        )

    @port_method
    async def find(self, *, tenant_id: Id, topic: Id) -> Topic | None:
        """See the port."""
        return await self._read(tenant_id, find_topic, topic=topic)

    @port_method
    async def list(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence = 0, limit: Limit = 50
    ) -> tuple[TopicEvent, ...]:
        """See the port."""
        return await self._read(
            tenant_id, list_topic_events, topic=topic, after_sequence=after_sequence, limit=limit
        )

    @port_method
    async def trim(
        self, *, tenant_id: Id, topic: Id, up_to_sequence: AfterSequence, limit: Limit = 500
    ) -> int:
        """See the port."""
        return await self._write(
            tenant_id, trim_topic, topic=topic, up_to_sequence=up_to_sequence, limit=limit
        )

    async def subscribe(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence | None = None
    ) -> AsyncIterator[TopicEvent]:
        """See the port."""
        if self._in_unit:
            raise InvalidTransition(
                "nobody can subscribe in a unit of work: it would see nothing that others commit",
                hint="Subscribe on the store itself.",
            )
        if after_sequence is None:
            found = await self.find(tenant_id=tenant_id, topic=topic)
            after_sequence = found.last_sequence if found else 0
        while True:
            page = await self.list(
                tenant_id=tenant_id, topic=topic, after_sequence=after_sequence, limit=PAGE
            )
            for event in page:
                yield event
                after_sequence = event.sequence
            if not page:
                await asyncio.sleep(POLL_SECONDS)


def publish_events(
    tables: Tables, *, topic: str, events: list[dict[str, Any]]
) -> tuple[PublishedItem, ...]:
    """Number the events that are new; know the others by their ids."""
    check_writable(tables)
    for index, event in enumerate(events):
        check_size(f"events[{index}].payload", event["payload"], PAYLOAD_BYTES)
    known = {event.id: event for event in tables.topic_events.get(topic, ())}
    place = tables.topics.get(topic) or Topic(
        tenant_id=tables.tenant_id,
        id=topic,
        last_sequence=0,
        trimmed_to_sequence=0,
        created_at=tables.now,
    )
    items = []
    for event in events:
        stored = known.get(event["id"])
        if stored is None:
            place = place.replace(last_sequence=place.last_sequence + 1)
            stored = TopicEvent(
                tenant_id=tables.tenant_id,
                topic=topic,
                sequence=place.last_sequence,
                created_at=tables.now,
                **event,
            )
            known[stored.id] = stored
            items.append(PublishedItem(id=stored.id, outcome="inserted", sequence=stored.sequence))
        elif comparable([stored.kind, stored.payload]) == comparable(
            [event["kind"], event["payload"]]
        ):
            items.append(PublishedItem(id=stored.id, outcome="duplicate", sequence=stored.sequence))
        else:
            items.append(PublishedItem(id=stored.id, outcome="conflict", sequence=None))
    tables.topics[topic] = place
    tables.topic_events[topic] = tuple(known.values())
    return tuple(items)


def find_topic(tables: Tables, *, topic: str) -> Topic | None:
    """Return how far the topic goes."""
    return tables.topics.get(topic)


def list_topic_events(
    tables: Tables, *, topic: str, after_sequence: int, limit: int
) -> tuple[TopicEvent, ...]:
    """Return events after a sequence; refuse when some of them have been trimmed."""
    place = tables.topics.get(topic)
    trimmed = place.trimmed_to_sequence if place else 0
    if trimmed > after_sequence:
        raise NotFound(
            f"the events up to {trimmed} of the topic have been trimmed",
            detail={
                "path": "after_sequence",
                "record": "topic event",
                "after_sequence": after_sequence,
                "trimmed_to_sequence": trimmed,
            },
            hint="Read the present state anew, and go on after trimmed_to_sequence.",
        )
    return tables.topic_events.get(topic, ())[after_sequence - trimmed :][:limit]


def trim_topic(tables: Tables, *, topic: str, up_to_sequence: int, limit: int) -> int:
    """Delete the oldest events."""
    check_writable(tables)
    place = tables.topics.get(topic)
    if place is None:
        return 0
    up_to = min(up_to_sequence, place.last_sequence, place.trimmed_to_sequence + limit)
    count = max(up_to - place.trimmed_to_sequence, 0)
    tables.topic_events[topic] = tables.topic_events[topic][count:]
    tables.topics[topic] = place.replace(trimmed_to_sequence=place.trimmed_to_sequence + count)
    return count
