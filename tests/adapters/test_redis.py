"""Redis by itself: killed in the middle, away and back, bounded, purged, and refused when it forgets."""

# ruff: noqa: PT012, ASYNC110 (a unit of work is a block; what another task does is awaited)

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

import strongroom
from strongroom.client import Strongroom
from strongroom.errors import MissingCapability, NotFound, StaleClaim, Unavailable
from strongroom.infrastructure import extras, redis_realtime_units
from strongroom.infrastructure.redis_realtime import RedisRealtimePublisher
from strongroom.infrastructure.redis_server import RedisServer
from strongroom.infrastructure.redis_upkeep import discard_purged, registry
from strongroom.infrastructure.tenant_states import TenantStates
from strongroom.models.locks import Lock
from strongroom.models.realtime import NewTopicEvent, PublishedItem
from tests.servers.redis_server import RedisProcess

PLACE: dict[str, Any] = {"tenant_id": "acme", "name": "door"}
LEASE = 600.0


@pytest.fixture
def own_redis() -> Iterator[RedisProcess]:
    """A Redis of this test's own, to be killed."""
    server = RedisProcess()
    try:
        yield server
    finally:
        server.close()


def at(redis: RedisProcess, **options: str) -> dict[str, str]:
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return {"locks": f"{redis.url}?{query}", "realtime": f"{redis.url}?{query}"}


@pytest.fixture
async def store(own_redis: RedisProcess) -> AsyncIterator[Strongroom]:
    async with strongroom.connect("memory:", **at(own_redis, timeout="30")) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        yield store


async def take(store: Strongroom, owner: str = "a", **more: Any) -> Lock:
    lock = await store.locks.acquire(**PLACE, owner_id=owner, wait_seconds=20, **more)
    assert lock is not None
    return lock


async def test_a_kill_takes_no_lock_no_token_and_no_event(
    store: Strongroom, own_redis: RedisProcess
) -> None:
    held = await take(store, ttl_seconds=600)
    published = await store.realtime.publish(
        tenant_id="acme", topic="t", events=[NewTopicEvent(kind="k")]
    )
    server = RedisServer.of(f"{own_redis.url}?timeout=0.3")
    await server.check()
    own_redis.kill_hard()
    with pytest.raises(Unavailable) as caught:
        await server.check()
    assert caught.value.retryable
    own_redis.start()
    await server.check()
    await server.close()
    # No restart of the host: the next call finds everything.
    assert await store.locks.find(**PLACE) == held
    assert await store.locks.acquire(**PLACE, owner_id="b") is None
    (event,) = await store.realtime.list(tenant_id="acme", topic="t")
    assert event.id == published[0].id
    assert await store.locks.release(**PLACE, owner_id="a", token=held.token)
    assert (await take(store)).token > held.token


async def test_tokens_grow_even_when_redis_has_lost_everything_b27(
    store: Strongroom, own_redis: RedisProcess
) -> None:
    first = await take(store, ttl_seconds=600)
    server = RedisServer.of(own_redis.url)
    await server.client.flushall()
    await server.close()
    second = await take(store, "b")
    assert second.token > first.token
    with pytest.raises(StaleClaim):
        await store.locks.renew(**PLACE, owner_id="a", token=first.token)


async def until_acknowledged(call: Callable[[], Awaitable[Any]]) -> Any:
    """Call again while Redis is away: ids, owners and tokens make that harmless."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await call()
            except Unavailable:
                continue


@dataclass
class Workshop:
    """Workers that publish one event each time that they have the lock."""

    store: Strongroom
    acknowledged: list[tuple[int, str]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    inside: set[str] = field(default_factory=set)
    stopping: bool = False

    async def publish(self, event: NewTopicEvent) -> PublishedItem:
        (item,) = await self.store.realtime.publish(tenant_id="acme", topic="t", events=[event])
        return item

    async def work(self, owner: str) -> None:
        for number in count(1):
            if self.stopping:
                return
            event = NewTopicEvent(id=f"{owner}-{number}", kind="k")
            lock: Lock = await until_acknowledged(
                lambda: take(self.store, owner, ttl_seconds=LEASE)
            )
            assert not self.inside, "two are inside"
            self.inside.add(owner)
            self.tokens.append(lock.token)
            item = await until_acknowledged(lambda event=event: self.publish(event))
            self.acknowledged.append((item.sequence, item.id))
            self.inside.remove(owner)
            mine: dict[str, Any] = {**PLACE, "owner_id": owner, "token": lock.token}
            await until_acknowledged(lambda mine=mine: self.store.locks.release(**mine))

    async def follow(self) -> list[tuple[int, str]]:
        seen = []
        feed = self.store.realtime.subscribe(tenant_id="acme", topic="t", after_sequence=0)
        async with aclosing(feed) as events:  # type: ignore[type-var]
            async for event in events:
                seen.append((event.sequence, event.id))
                if event.kind == "end":
                    break
        return seen


async def test_killed_in_the_middle_nothing_acknowledged_is_lost_and_nobody_is_inside_twice(
    store: Strongroom, own_redis: RedisProcess
) -> None:
    shop = Workshop(store)
    follower = asyncio.create_task(shop.follow())
    workers = [asyncio.create_task(shop.work(f"w{number}")) for number in range(3)]
    for kill in range(1, 4):
        async with asyncio.timeout(60):
            while len(shop.acknowledged) < 40 * kill:
                await asyncio.sleep(0.005)
        await asyncio.to_thread(own_redis.kill_hard)
        await asyncio.to_thread(own_redis.start)
    shop.stopping = True
    async with asyncio.timeout(60):
        await asyncio.gather(*workers)
        await shop.publish(NewTopicEvent(kind="end"))
        seen = await follower
    assert [sequence for sequence, _ in seen] == list(range(1, len(seen) + 1))
    assert sorted(shop.acknowledged) == seen[:-1]
    assert len({event_id for _, event_id in seen}) == len(seen)
    assert shop.tokens == sorted(set(shop.tokens))
    assert len(shop.tokens) == len(shop.acknowledged)


async def test_a_topic_is_bounded_and_says_so(own_redis: RedisProcess) -> None:
    async with strongroom.connect("memory:") as memory:
        await memory.tenants.create(tenant_id="acme", name="Acme")
        server = RedisServer.of(own_redis.url)
        tenants = TenantStates(lambda tenant_id: memory.tenants.find(tenant_id=tenant_id))
        feed = RedisRealtimePublisher(server, tenants, max_events=500)
        for _ in range(2):
            await feed.publish(tenant_id="acme", topic="t", events=[NewTopicEvent(kind="k")] * 400)
        topic = await feed.find(tenant_id="acme", topic="t")
        assert topic is not None
        assert (topic.last_sequence, topic.trimmed_to_sequence) == (800, 300)
        kept = await feed.list(tenant_id="acme", topic="t", after_sequence=300, limit=500)
        assert [event.sequence for event in kept] == list(range(301, 801))
        with pytest.raises(NotFound) as caught:
            async with aclosing(
                feed.subscribe(tenant_id="acme", topic="t", after_sequence=200)
            ) as events:
                await anext(events)
        assert caught.value.detail["trimmed_to_sequence"] == 300
        ids = server.key("event_ids", *[await tenants.which("acme") or "", "acme", "t"])
        assert await server.client.hlen(ids) == 500
        await server.close()


async def test_what_a_unit_has_published_is_sent_though_redis_died_at_its_commit(
    own_redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_realtime_units, "TURN_MS", 50)
    async with strongroom.connect("memory:", **at(own_redis, timeout="1")) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        feed: Any = store.realtime
        committing = feed.send_committed

        async def killed_first(*args: Any) -> None:
            own_redis.kill_hard()
            await committing(*args)
            own_redis.start()

        monkeypatch.setattr(feed, "send_committed", killed_first)
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.conversations.create(tenant_id="acme", owner_id="ada")
            (item,) = await uow.realtime.publish(
                tenant_id="acme", topic="t", events=[NewTopicEvent(kind="k", payload={"x": 1})]
            )
        assert len((await store.conversations.list(tenant_id="acme")).items) == 1
        assert await store.realtime.list(tenant_id="acme", topic="t") == ()
        async with asyncio.timeout(20):
            while not await feed.send_unsent():
                await asyncio.sleep(0.02)
        (event,) = await store.realtime.list(tenant_id="acme", topic="t")
        assert (event.id, event.sequence, event.payload) == (item.id, 1, {"x": 1})


async def test_a_unit_that_swallows_a_lost_lock_does_not_commit(store: Strongroom) -> None:
    with pytest.raises(StaleClaim):
        async with store.unit_of_work(tenant_id="acme") as uow:
            await uow.conversations.create(tenant_id="acme", owner_id="ada")
            with pytest.raises(StaleClaim):
                await uow.locks.check(**PLACE, token=1)
    assert (await store.conversations.list(tenant_id="acme")).items == ()
    with pytest.raises(ZeroDivisionError):
        async with store.unit_of_work(tenant_id="acme") as uow:
            assert await uow.locks.acquire(**PLACE, owner_id="a", ttl_seconds=600)
            raise ZeroDivisionError
    assert await store.locks.find(**PLACE) is None, "what a failed unit took is given back"


async def test_a_purged_tenant_leaves_nothing_in_redis(
    store: Strongroom, own_redis: RedisProcess
) -> None:
    async def fill() -> None:
        await take(store, ttl_seconds=600)
        await store.realtime.publish(tenant_id="acme", topic="t", events=[NewTopicEvent(kind="k")])

    await fill()
    await store.tenants.purge(tenant_id="acme")
    server = RedisServer.of(own_redis.url)
    assert await server.client.keys("*") == [server.key("lock_tokens")]
    await store.tenants.create(tenant_id="acme", name="Another")
    await fill()
    # A purge by another process: the next one of this name has nothing of it, and upkeep deletes it.
    inner: Any = store.tenants
    await inner._port.purge(tenant_id="acme")
    await store.tenants.create(tenant_id="acme", name="A third")
    assert await store.locks.find(**PLACE) is None
    assert await store.realtime.find(tenant_id="acme", topic="t") is None
    tenants = TenantStates(lambda tenant_id: store.tenants.find(tenant_id=tenant_id))
    await discard_purged(server, tenants)
    assert await server.client.keys("*") == [server.key("lock_tokens")]
    assert await server.client.exists(registry(server)) == 0
    await server.close()


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        (("--appendonly", "no"), "appendonly"),
        (("--appendonly", "yes", "--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"), None),
    ],
)
async def test_a_server_that_forgets_is_refused_at_the_start(
    options: tuple[str, ...], setting: str | None
) -> None:
    redis = RedisProcess(*options)
    try:
        with pytest.raises(MissingCapability) as caught:
            async with strongroom.connect("memory:", locks=redis.url):
                pass
        assert caught.value.detail["setting"] == (setting or "maxmemory-policy")
        assert caught.value.hint
        if setting:
            async with strongroom.connect(
                "memory:", locks=f"{redis.url}?durability=relaxed"
            ) as store:
                health = await store.health()
            assert health.status == "degraded"
            assert "appendonly yes" in " ".join(health.warnings)
    finally:
        redis.close()


async def test_without_the_extra_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    with pytest.raises(MissingCapability) as caught:
        async with strongroom.connect("memory:", locks="redis://127.0.0.1:1/0"):
            pass
    assert caught.value.hint == "pip install 'strongroom[redis]'"
    with pytest.raises(strongroom.InvalidArgument) as wrong:
        async with strongroom.connect("memory:", realtime="http://127.0.0.1"):
            pass
    assert wrong.value.detail["path"] == "realtime"
