# Written by scripts/generate_sync.py from strongroom/infrastructure/redis_realtime.py: change that, and run `make generate`.
"""RealtimePublisher on Redis: a stream of bounded length for every topic."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from strongroom import blocking
from strongroom.errors import NotFound, Unavailable
from strongroom.ids import new_id
from strongroom.in_memory.values import check_size, digest
from strongroom.infrastructure import redis_realtime_scripts as scripts
from strongroom.infrastructure.redis_locks import moment
from strongroom.infrastructure.redis_realtime import (
    IDLE_SECONDS,
    MAX_EVENTS,
    PAGE,
    PATIENCE,
    PAYLOAD_BYTES,
    Event,
    _event,
)
from strongroom.infrastructure.redis_upkeep import registered
from strongroom.models.base import Id
from strongroom.models.health import TextPolicy
from strongroom.models.pages import Limit
from strongroom.models.realtime import NewTopicEvent, PublishedItem, Topic, TopicEvent
from strongroom.ports.realtime import TopicEvents
from strongroom.ports.runs import AfterSequence
from strongroom.sync.infrastructure.redis_listening import RedisListener
from strongroom.sync.infrastructure.redis_server import RedisServer
from strongroom.sync.infrastructure.redis_upkeep import registry
from strongroom.sync.infrastructure.tenant_states import TenantStates
from strongroom.sync.ports.arguments import port_method
from strongroom.transports.base import Document, storable


class RedisRealtimePublisher:
    """See :class:`strongroom.ports.RealtimePublisher`.

    A topic keeps its newest ``max_events``: publishing trims the oldest, as ``trim`` does, and whoever
    asks for them is told. What a unit of work publishes is numbered at once, kept by the database in its
    transaction, and there for subscribers when it has committed.
    """

    def __init__(
        self,
        server: RedisServer,
        tenants: TenantStates,
        text_policy: TextPolicy = "reject",
        *,
        max_events: int = MAX_EVENTS,
    ) -> None:
        """Publish on a server.

        Args:
            server: where.
            tenants: whether a tenant exists and is active.
            text_policy: what to do with text that PostgreSQL could not hold either.
            max_events: of a topic, the newest, at least 500: more than one call publishes.
        """
        self._server = server
        self._tenants = tenants
        self._text_policy: TextPolicy = text_policy
        self._max_events = max(max_events, PAGE)
        self._channel = server.key("published")
        self._listener = RedisListener(server, self._channel)

    @port_method
    def publish(
        self, *, tenant_id: Id, topic: Id, events: TopicEvents
    ) -> tuple[PublishedItem, ...]:
        """See the port."""
        tenant, topic, ready = self.storable(tenant_id, topic, events)
        return self.send(tenant, topic, ready)

    @port_method
    def find(self, *, tenant_id: Id, topic: Id) -> Topic | None:
        """See the port."""
        tenant, topic, _ = self.storable(tenant_id, topic, ())
        which = self._tenants.which(tenant)
        if which is None:
            return None
        key = self._keys(which, tenant, topic)[0]
        found = self._server.patiently(lambda: self._server.client.hgetall(key))
        if "last" not in found:
            return None
        return Topic(
            tenant_id=tenant,
            id=topic,
            last_sequence=int(found["last"]),
            trimmed_to_sequence=int(found["trimmed"]),
            created_at=moment(found["created"]),
        )

    @port_method
    def list(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence = 0, limit: Limit = 50
    ) -> tuple[TopicEvent, ...]:
        """See the port."""
        tenant, topic, _ = self.storable(tenant_id, topic, ())
        which = self._tenants.which(tenant)
        if which is None:
            return ()
        state, found = self._server.run(
            scripts.LIST, self._keys(which, tenant, topic)[:2], [after_sequence, limit]
        )
        if state == "trimmed":
            raise NotFound(
                f"the events up to {found} of the topic have been trimmed",
                detail={
                    "path": "after_sequence",
                    "record": "topic event",
                    "after_sequence": after_sequence,
                    "trimmed_to_sequence": int(found),
                },
                hint="Read the present state anew, and go on after trimmed_to_sequence.",
            )
        return tuple(_event(tenant, topic, entry) for entry in found)

    @port_method
    def trim(
        self, *, tenant_id: Id, topic: Id, up_to_sequence: AfterSequence, limit: Limit = 500
    ) -> int:
        """See the port."""
        tenant, topic, _ = self.storable(tenant_id, topic, ())
        which = self._tenants.check_writable(tenant)
        keys = self._keys(which, tenant, topic)[:3]
        return int(self._server.run(scripts.TRIM, keys, [up_to_sequence, limit]))

    def subscribe(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence | None = None
    ) -> Iterator[TopicEvent]:
        """See the port."""
        if after_sequence is None:
            found = self.find(tenant_id=tenant_id, topic=topic)
            after_sequence = found.last_sequence if found else 0
        key = self._told(tenant_id, topic)
        with self._listener.subscription(key) as woken:
            while True:
                woken.clear()  # before reading: what comes during the read wakes again
                page = self._read(tenant_id, topic, after_sequence)
                for event in page:
                    yield event
                    after_sequence = event.sequence
                if len(page) < PAGE:
                    _told_or_idle(woken)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _read(self, tenant_id: str, topic: str, after_sequence: int) -> tuple[TopicEvent, ...]:
        """Read on, and bear a server that is away for a while."""
        loop = blocking.get_running_loop()
        deadline = loop.time() + PATIENCE
        while True:
            try:
                return self.list(
                    tenant_id=tenant_id, topic=topic, after_sequence=after_sequence, limit=PAGE
                )
            except Unavailable:
                if loop.time() >= deadline:
                    raise
                blocking.sleep(0.1)

    def storable(
        self, tenant_id: str, topic: str, events: Sequence[NewTopicEvent]
    ) -> tuple[str, str, tuple[Event, ...]]:
        """Return the arguments with only text that can be stored everywhere, and ids for all events.

        Raises:
            InvalidText: SR003; LimitExceeded: SR004, a payload is too large.
        """
        batch: Any = [
            {"id": event.id or new_id(), "kind": event.kind, "payload": event.payload}
            for event in events
        ]
        ready = storable(
            {"tenant_id": tenant_id, "topic": topic, "events": Document(batch)}, self._text_policy
        )
        document = ready["events"]
        if not isinstance(document, Document):  # for mypy: it came in as one
            raise TypeError
        kept: Any = document.value
        for index, event in enumerate(kept):
            check_size(f"events[{index}].payload", event["payload"], PAYLOAD_BYTES)
        return str(ready["tenant_id"]), str(ready["topic"]), tuple(kept)

    def send(
        self,
        tenant_id: str,
        topic: str,
        events: Sequence[Event],
        *,
        unit: str = "",
        turn_ms: int = 0,
    ) -> tuple[PublishedItem, ...]:
        """Publish storable events, or with ``turn_ms`` only say what would come of it, and take the turn.

        Raises:
            Unavailable: SR050, a unit of work has had the topic's turn for too long.
        """
        which = self._tenants.check_writable(tenant_id)
        arguments: Any = [
            unit,
            turn_ms or "",
            self._max_events,
            self._channel,
            self._told(tenant_id, topic),
            registered(which, tenant_id),
        ]
        for event in events:
            text = json.dumps(event["payload"], ensure_ascii=False, separators=(",", ":"))
            arguments += [
                event["id"],
                event["kind"],
                text,
                digest([event["kind"], event["payload"]]),
            ]
        keys = self._keys(which, tenant_id, topic)
        deadline = blocking.get_running_loop().time() + PATIENCE
        while (answer := self._server.run(scripts.PUBLISH, keys, arguments)) == ["busy"]:
            if blocking.get_running_loop().time() >= deadline:
                raise Unavailable(
                    "a unit of work that publishes to the topic has not ended",
                    detail={"path": "topic"},
                    hint="Publish at the end of short units of work.",
                )
            blocking.sleep(random.uniform(0.005, 0.02))  # noqa: S311
        return tuple(
            PublishedItem(id=event["id"], outcome=outcome, sequence=int(place) if place else None)
            for event, outcome, place in zip(events, answer[::2], answer[1::2], strict=True)
        )

    def turn_key(self, tenant_id: str, topic: str) -> str:
        """Return the key that says which unit of work has a topic to itself."""
        which = self._tenants.check_writable(tenant_id)
        return self._keys(which, tenant_id, topic)[3]

    def keep_turn(self, turn: str, unit: str, turn_ms: int) -> bool:
        """Have a topic for longer; False when it is no longer the unit's."""
        return bool(self._server.run(scripts.TURN_AGAIN, [turn], [unit, turn_ms]))

    def _keys(self, which: str, tenant_id: str, topic: str) -> tuple[str, ...]:
        names = ("topic", "events", "event_ids", "turn")
        return (
            *(self._server.key(name, which, tenant_id, topic) for name in names),
            self._server.key("topics", which, tenant_id),
            registry(self._server),
        )

    def _told(self, tenant_id: str, topic: str) -> str:
        """Return what is told of a topic on the channel."""
        return json.dumps([tenant_id, topic])


def _told_or_idle(woken: blocking.Event) -> None:
    try:
        with blocking.timeout(IDLE_SECONDS):
            woken.wait()
    except TimeoutError:
        return
