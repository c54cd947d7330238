"""Locks and change feed in Redis through the blocking API: the suite's sections, and what is particular."""

from __future__ import annotations

import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
import pytest_asyncio

import strongroom.conformance as suite
import strongroom.sync
from strongroom import MissingCapability, NewTopicEvent
from strongroom.client import Strongroom
from strongroom.conformance import Adapter
from strongroom.conformance.helpers import fresh
from strongroom.infrastructure.advertised import ADAPTERS
from strongroom.infrastructure.redis_realtime_units import OUTBOX
from tests.conformance.blocking_store import entered, presented
from tests.servers import Database, Templates
from tests.servers.redis_server import RedisProcess

for _section in ("locks", "realtime", "transactions"):
    globals().update(suite.tests_of(_section))


@pytest.fixture(scope="module")
def home(templates: Templates) -> Iterator[Database]:
    database = templates.copy("superuser", None)
    yield database
    database.drop()


def options_of(home: Database, redis: RedisProcess) -> dict[str, Any]:
    return {
        "schema_url": home.migrator_url,
        "pool_max": 8,
        "timeout": 20.0,
        "locks": redis.url,
        "realtime": redis.url,
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapter(home: Database, redis: RedisProcess) -> AsyncIterator[Adapter]:
    @asynccontextmanager
    async def opened(**more: Any) -> AsyncIterator[Strongroom]:
        async with entered(
            strongroom.sync.connect(home.host_url, **options_of(home, redis), **more)
        ) as store:
            yield presented(store)

    async with opened() as store:
        yield Adapter(
            store=store,
            open_second=opened,
            open_replacing=lambda: opened(text_policy="replace"),
        )


@pytest.fixture
def own_redis() -> Iterator[RedisProcess]:
    server = RedisProcess()
    yield server
    server.close()


def test_a_subscriber_is_told_at_once_and_misses_nothing_when_redis_is_killed(
    own_redis: RedisProcess,
) -> None:
    """It would look by itself only after ten seconds."""
    seen: queue.Queue[int] = queue.Queue()
    topic = {"tenant_id": "acme", "topic": "t"}
    with strongroom.sync.connect("memory:", realtime=own_redis.url, locks=own_redis.url) as store:
        store.tenants.create(tenant_id="acme", name="Acme")

        def follow() -> None:
            with closing(store.realtime.subscribe(**topic, after_sequence=0)) as events:
                for event in events:
                    seen.put(event.sequence)
                    if event.kind == "last":
                        return

        subscriber = threading.Thread(target=follow, daemon=True)
        subscriber.start()
        for sequence in range(1, 21):
            store.realtime.publish(**topic, events=[NewTopicEvent(kind="k")])
            assert seen.get(timeout=8) == sequence
        own_redis.kill_hard()
        own_redis.start()
        store.realtime.publish(
            **topic, events=[NewTopicEvent(kind="k"), NewTopicEvent(kind="last")]
        )
        assert [seen.get(timeout=60), seen.get(timeout=60)] == [21, 22]
        subscriber.join()
        assert {"distributed_locking", "realtime"} <= store.capabilities


def test_what_a_process_that_died_has_left_is_sent_by_a_thread_that_ends_with_the_store(
    redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strongroom.sync.infrastructure.upkeep.UPKEEP_SECONDS", 0.05)
    tenant_id = fresh("tenant")
    before = {*threading.enumerate()}

    def keeping_up() -> list[str]:
        return [t.name for t in threading.enumerate() if t not in before and "upkeep" in t.name]

    with strongroom.sync.connect("memory:", realtime=redis.url) as store:
        store.tenants.create(tenant_id=tenant_id, name="T")
        event = {"id": "e", "kind": "k", "payload": {"n": 1}}
        store.jobs.enqueue(
            tenant_id=tenant_id,
            kind="strongroom.publish",
            queue=OUTBOX,
            payload={"topic": "t", "events": [event]},
        )
        with closing(
            store.realtime.subscribe(tenant_id=tenant_id, topic="t", after_sequence=0)
        ) as events:
            assert next(events).id == "e"
        assert len(keeping_up()) == 2
    assert keeping_up() == []


def test_bullmq_is_refused_with_what_to_do_before_any_server_is_asked() -> None:
    nowhere = "redis://127.0.0.1:9/0"
    with (
        pytest.raises(MissingCapability, match="BullMQ") as caught,
        strongroom.sync.connect("memory:", jobs=f"bullmq+{nowhere}", locks=nowhere),
    ):
        raise AssertionError
    assert caught.value.detail["path"] == "jobs"
    assert "Leave jobs out" in str(caught.value.hint)
    # As the README says; all else is opened by the tests of the blocking API.
    assert [adapter.name for adapter in ADAPTERS if adapter.blocking == "no"] == ["BullMQ"]
