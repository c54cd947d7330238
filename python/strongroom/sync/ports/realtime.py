# Written by scripts/generate_sync.py from strongroom/ports/realtime.py: change that, and run `make generate`.
"""The port for the change feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from strongroom.models.base import Id
from strongroom.models.pages import Limit
from strongroom.models.realtime import PublishedItem, Topic, TopicEvent
from strongroom.ports.realtime import TopicEvents
from strongroom.ports.runs import AfterSequence


class RealtimePublisher(Protocol):
    """Events of topics: published in order, without gaps, and followed from any place.

    All raise InvalidArgument (SR001), LimitExceeded (SR004), NotFound (SR010, no such tenant),
    PermissionDenied (SR020), Unavailable (SR050).
    """

    def publish(
        self, *, tenant_id: Id, topic: Id, events: TopicEvents
    ) -> tuple[PublishedItem, ...]:
        """Publish events in order; in a unit of work, together with what they are about.

        Subscribers see them when the transaction commits, never before, and nothing about telling them
        can fail it. Publishers of one topic take turns until their transactions end.

        Returns:
            One item per event, in order: ``inserted``, ``duplicate`` (same id, same content: the sequence
            that it has) or ``conflict`` (same id, other content: not published).

        SQL: ``strongroom.publish_events``
        """
        ...

    def find(self, *, tenant_id: Id, topic: Id) -> Topic | None:
        """Return how far the topic goes; None before its first event. SQL: ``strongroom.find_topic``."""
        ...

    def list(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence = 0, limit: Limit = 50
    ) -> tuple[TopicEvent, ...]:
        """Return the events after a sequence, oldest first.

        Raises:
            NotFound: SR010, events after that sequence have been trimmed; ``detail`` has
                ``trimmed_to_sequence``.

        SQL: ``strongroom.list_topic_events``
        """
        ...

    def subscribe(
        self, *, tenant_id: Id, topic: Id, after_sequence: AfterSequence | None = None
    ) -> Iterator[TopicEvent]:
        """Follow a topic: every event after a sequence, in order, each once, for as long as you iterate.

        A lost connection is made again, and what happened meanwhile is read; when that does not succeed
        in 30 seconds the iteration raises. Close it with ``close()`` (``contextlib.closing``).

        Args:
            tenant_id: the tenant.
            topic: the topic; it need not have an event yet.
            after_sequence: the last one that you have, 0 for all; None for those from now on, that is,
                from the first step of the iteration.

        Raises:
            NotFound: SR010, events after that sequence have been trimmed.
            InvalidTransition: SR030, in a unit of work.
            Unavailable: SR050, the database has not answered for 30 seconds.

        SQL: ``strongroom.list_topic_events``, ``strongroom.find_topic``
        """
        ...

    def trim(
        self, *, tenant_id: Id, topic: Id, up_to_sequence: AfterSequence, limit: Limit = 500
    ) -> int:
        """Delete a topic's oldest events, none after a sequence; return how many.

        SQL: ``strongroom.trim_topic``
        """
        ...
