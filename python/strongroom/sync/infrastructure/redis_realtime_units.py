# Written by scripts/generate_sync.py from strongroom/infrastructure/redis_realtime_units.py: change that, and run `make generate`.
"""The change feed in Redis within units of work: numbered at once, sent after the commit, and never lost.

Redis cannot join the database's transaction. So what a unit publishes is written, in its transaction, as a
job of the queue ``strongroom.outbox``. After the commit it is sent and the job is done away with; when the
process dies before that, the upkeep of any host sends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strongroom.errors import InvalidTransition, StrongroomError, Unavailable
from strongroom.ids import new_id
from strongroom.infrastructure import redis_realtime_scripts as scripts
from strongroom.infrastructure.composing import same_tenant
from strongroom.infrastructure.redis_realtime import Event
from strongroom.infrastructure.redis_realtime_units import OUTBOX, TURN_MS, _batches, log
from strongroom.models.base import Id
from strongroom.models.health import TextPolicy
from strongroom.models.realtime import PublishedItem, TopicEvent
from strongroom.ports.realtime import TopicEvents
from strongroom.sync.infrastructure.redis_realtime import RedisRealtimePublisher
from strongroom.sync.infrastructure.redis_server import RedisServer
from strongroom.sync.infrastructure.tenant_states import TenantStates
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.ports.jobs import JobDispatcher


class TransactionalRedisRealtime(RedisRealtimePublisher):
    """RedisRealtimePublisher with a database beside it, whose units of work can publish."""

    def __init__(
        self,
        server: RedisServer,
        tenants: TenantStates,
        jobs: JobDispatcher,
        text_policy: TextPolicy = "reject",
        **options: Any,
    ) -> None:
        """Publish on a server.

        Args:
            server: where.
            tenants: whether a tenant exists and is active.
            jobs: the database's, for the outbox.
            text_policy: as for the store.
            **options: as for RedisRealtimePublisher.
        """
        super().__init__(server, tenants, text_policy, **options)
        self._jobs = jobs
        self._options = options

    def join(self, unit: Any) -> UnitRealtime:
        """Return the change feed of a unit of work."""
        tenants = TenantStates(lambda tenant_id: unit.tenants.find(tenant_id=tenant_id))
        inside = RedisRealtimePublisher(self._server, tenants, self._text_policy, **self._options)
        return UnitRealtime(self, inside, unit, new_id(), {})

    def send_unsent(self, *, limit: int = 100) -> int:
        """Send what units of work have published and nobody has sent; return how many batches."""
        jobs = self._jobs.claim(worker_id="strongroom.outbox", queues=(OUTBOX,), limit=limit)
        for job in jobs:
            # The ids of the events make it harmless when they had been sent after all.
            self.send(job.tenant_id, str(job.payload["topic"]), job.payload["events"])  # type: ignore[arg-type]
            self._jobs.complete(
                tenant_id=job.tenant_id, job_id=job.id, claim_token=job.claim_token or 0
            )
        return len(jobs)

    def send_committed(
        self, tenant_id: str, unit_id: str, staged: dict[str, list[Event]], job_ids: list[str]
    ) -> None:
        """Send what a unit has published, and do away with its jobs; on failure they remain."""
        try:
            for topic, events in staged.items():
                self.send(tenant_id, topic, events, unit=unit_id)
            for job_id in job_ids:
                self._jobs.cancel(tenant_id=tenant_id, job_id=job_id)
        except StrongroomError as error:
            log.warning("events of a unit of work are sent later, from the outbox: %s", error)

    def end_turns(self, turns: list[str], unit_id: str) -> None:
        """Let others publish, after a unit that failed."""
        for turn in turns:
            try:
                self._server.run(scripts.END_TURN, [turn], [unit_id])
            except StrongroomError as error:
                log.warning("a topic takes no events for %g s: %s", TURN_MS / 1000, error)


class UnitRealtime:
    """The change feed of one unit of work."""

    def __init__(
        self,
        outer: TransactionalRedisRealtime,
        inside: RedisRealtimePublisher,
        unit: Any,
        unit_id: str,
        staged: dict[str, list[Event]],
    ) -> None:
        """Belong to a unit of work."""
        self._outer = outer
        self._inside = inside
        self._unit = unit
        self._unit_id = unit_id
        self._staged = staged
        self._turns: dict[str, str] = {}
        self._job_ids: list[str] = []
        self._error: StrongroomError | None = None

    @port_method
    def publish(
        self, *, tenant_id: Id, topic: Id, events: TopicEvents
    ) -> tuple[PublishedItem, ...]:
        """See the port: others see it after the commit; the topic is this unit's until then."""
        same_tenant(self._unit.tenant_id, tenant_id)
        tenant, topic, ready = self._inside.storable(tenant_id, topic, events)
        before = self._staged.get(topic, [])
        try:
            items = self._inside.send(
                tenant, topic, [*before, *ready], unit=self._unit_id, turn_ms=TURN_MS
            )
        except StrongroomError as error:
            self._error = error
            raise
        self._staged[topic] = [*before, *ready]
        self._turns[topic] = self._inside.turn_key(tenant, topic)
        return items[len(before) :]

    def find(self, **arguments: Any) -> Any:
        """See the port: what has been sent."""
        return self._reading("find", arguments)

    def list(self, **arguments: Any) -> Any:
        """See the port: what has been sent."""
        return self._reading("list", arguments)

    def trim(self, **arguments: Any) -> Any:
        """See the port: at once, whatever becomes of the unit."""
        return self._reading("trim", arguments)

    def subscribe(self, **arguments: Any) -> Iterator[TopicEvent]:
        """Refuse at the first step, as the port says."""

        def refused() -> Iterator[TopicEvent]:
            if self._unit_id:
                raise InvalidTransition(
                    "nobody can subscribe in a unit of work: it would see nothing that others commit",
                    hint="Subscribe on the store itself.",
                )
            yield next(self._inside.subscribe(**arguments))

        return refused()

    def _reading(self, name: str, arguments: dict[str, Any]) -> Any:
        if isinstance(arguments.get("tenant_id"), str):
            same_tenant(self._unit.tenant_id, arguments["tenant_id"])
        return getattr(self._inside, name)(**arguments)

    def nested(self, unit: Any) -> UnitRealtime:
        """Return the change feed of a nested unit: it goes on after what this one has published."""
        staged = {topic: [*events] for topic, events in self._staged.items()}
        child = UnitRealtime(self._outer, self._inside, unit, self._unit_id, staged)
        child._turns = self._turns
        return child

    def merge(self, nested: UnitRealtime) -> None:
        """Take over what a nested unit has published."""
        self._staged = nested._staged

    def prepare(self) -> None:
        """Before the commit: write the outbox.

        Raises:
            Unavailable: SR050, the unit took so long that others may have published meanwhile.
        """
        if self._error is not None:
            raise self._error  # whoever swallowed it must not take the unit for a success
        for topic, events in self._staged.items():
            if not self._inside.keep_turn(self._turns[topic], self._unit_id, TURN_MS):
                raise Unavailable(
                    f"the unit of work took more than {TURN_MS // 1000} seconds after it had published",
                    detail={"path": "topic"},
                    hint="Nothing was saved. Publish at the end of short units of work.",
                )
            for batch in _batches(events):
                job = self._unit.jobs.enqueue(
                    tenant_id=self._unit.tenant_id,
                    kind="strongroom.publish",
                    queue=OUTBOX,
                    payload={"topic": topic, "events": batch},
                    delay_seconds=TURN_MS / 1000,
                    max_attempts=1000,
                )
                self._job_ids.append(job.id)

    def committed(self) -> None:
        """After the commit: send it."""
        self._outer.send_committed(self._unit.tenant_id, self._unit_id, self._staged, self._job_ids)
        # Also those that only a failed nested unit had taken.
        self._outer.end_turns([*self._turns.values()], self._unit_id)

    def undone(self) -> None:
        """After a failure: nothing was sent."""
        self._outer.end_turns([*self._turns.values()], self._unit_id)
