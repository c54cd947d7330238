"""The change feed: gapless, in commit order, from any place, and never silent."""

# ruff: noqa: PT012 (a unit of work is a block)

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import fresh, new_tenant
from strongroom.errors import (
    InvalidArgument,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    PermissionDenied,
)
from strongroom.models.realtime import NewTopicEvent, PublishedItem, TopicEvent


async def _publish(
    store: Ports, tenant_id: str, *kinds: str, topic: str = "talk"
) -> tuple[PublishedItem, ...]:
    return await store.realtime.publish(
        tenant_id=tenant_id, topic=topic, events=[NewTopicEvent(kind=kind) for kind in kinds]
    )


async def _take(events: AsyncIterator[TopicEvent], count: int) -> list[TopicEvent]:
    async with asyncio.timeout(30):
        return [await anext(events) for _ in range(count)]


def _follow(store: Ports, tenant_id: str, after_sequence: int | None = None) -> Any:
    return aclosing(
        store.realtime.subscribe(tenant_id=tenant_id, topic="talk", after_sequence=after_sequence)
    )


async def test_events_are_numbered_without_gaps_b05(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    assert await store.realtime.find(tenant_id=tenant_id, topic="talk") is None
    assert await store.realtime.list(tenant_id=tenant_id, topic="talk") == ()
    items = await _publish(store, tenant_id, "1", "2", "3")
    assert [(item.outcome, item.sequence) for item in items] == [
        ("inserted", 1),
        ("inserted", 2),
        ("inserted", 3),
    ]
    await _publish(store, tenant_id, "4")
    await _publish(store, tenant_id, "other", topic="other")
    events = await store.realtime.list(tenant_id=tenant_id, topic="talk")
    assert [(event.sequence, event.kind) for event in events] == [(n, str(n)) for n in range(1, 5)]
    assert [event.id for event in events[:3]] == [item.id for item in items]
    page = await store.realtime.list(tenant_id=tenant_id, topic="talk", after_sequence=1, limit=2)
    assert page == events[1:3]
    topic = await store.realtime.find(tenant_id=tenant_id, topic="talk")
    assert topic is not None
    assert (topic.last_sequence, topic.trimmed_to_sequence) == (4, 0)


async def test_events_of_one_transaction_keep_their_order_b05(adapter: Adapter) -> None:
    adapter.needs("realtime")
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        for number in range(5):
            await _publish(uow, tenant_id, str(number))
    async with _follow(store, tenant_id, 0) as events:
        seen = await _take(events, 5)
    assert [(event.sequence, event.kind) for event in seen] == [
        (number + 1, str(number)) for number in range(5)
    ]


async def test_what_is_rolled_back_is_never_seen(adapter: Adapter) -> None:
    adapter.needs("realtime")
    adapter.needs("transactions")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)

    class Stop(Exception):
        pass

    async with _follow(store, tenant_id, 0) as events:
        with pytest.raises(Stop):
            async with store.unit_of_work(tenant_id=tenant_id) as uow:
                await _publish(uow, tenant_id, "lost")
                raise Stop
        await _publish(store, tenant_id, "kept")
        (event,) = await _take(events, 1)
    assert (event.sequence, event.kind) == (1, "kept")


async def test_a_repeated_publication_is_known_by_its_ids(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    first = NewTopicEvent(id="a", kind="k", payload={"x": 1, "y": 2})
    again = NewTopicEvent(id="a", kind="k", payload={"y": 2, "x": 1.0})
    other = NewTopicEvent(id="a", kind="k", payload={"x": 2})
    new = NewTopicEvent(id="b", kind="k")

    async def publish(*events: NewTopicEvent) -> list[tuple[str, str, int | None]]:
        items = await store.realtime.publish(tenant_id=tenant_id, topic="talk", events=events)
        return [(item.id, item.outcome, item.sequence) for item in items]

    assert await publish(first, again, other) == [
        ("a", "inserted", 1),
        ("a", "duplicate", 1),
        ("a", "conflict", None),
    ]
    assert await publish(other, new, again) == [
        ("a", "conflict", None),
        ("b", "inserted", 2),
        ("a", "duplicate", 1),
    ]
    assert await publish(again) == [("a", "duplicate", 1)]
    events = await store.realtime.list(tenant_id=tenant_id, topic="talk")
    assert [(event.id, event.payload) for event in events] == [
        ("a", {"x": 1, "y": 2}),
        ("b", {}),
    ]


async def test_a_subscriber_sees_each_event_once_from_where_it_was_b05(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await _publish(store, tenant_id, "1", "2")
    async with _follow(store, tenant_id, 0) as events:
        assert [event.sequence for event in await _take(events, 2)] == [1, 2]
        waiting = asyncio.create_task(_take(events, 1))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await _publish(store, tenant_id, "3")
        assert [event.kind for event in await waiting] == ["3"]
    await _publish(store, tenant_id, "4", "5")
    async with _follow(store, tenant_id, 3) as events:
        assert [event.kind for event in await _take(events, 2)] == ["4", "5"]


async def test_a_subscriber_from_now_on_sees_what_comes(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    await _publish(store, tenant_id, "before")
    async with _follow(store, tenant_id) as events:
        waiting = asyncio.create_task(_take(events, 1))
        # From its first step on: publish until it has seen something.
        published = 0
        async with asyncio.timeout(30):
            while not waiting.done():
                await _publish(store, tenant_id, "after")
                published += 1
                await asyncio.sleep(0.01)
        (event,) = await waiting
    assert event.kind == "after"
    assert published >= 1


async def test_subscribers_beside_parallel_publishers_miss_nothing_b05(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)

    async def write(writer: int) -> None:
        for number in range(10):
            await _publish(store, tenant_id, f"{writer}-{number}", f"{writer}-{number}b")

    async def read() -> list[TopicEvent]:
        async with _follow(store, tenant_id, 0) as events:
            return await _take(events, 80)

    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(read()) for _ in range(2)]
        for writer in range(4):
            group.create_task(write(writer))
    for reader in readers:
        seen = reader.result()
        assert [event.sequence for event in seen] == list(range(1, 81))
        for writer in range(4):
            mine = [event.kind for event in seen if event.kind.startswith(f"{writer}-")]
            assert mine == [f"{writer}-{n}{b}" for n in range(10) for b in ("", "b")]


async def test_a_subscriber_of_more_than_a_page_gets_all(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for _ in range(3):
        await _publish(store, tenant_id, *(["k"] * 500))
    async with _follow(store, tenant_id, 100) as events:
        seen = await _take(events, 1400)
    assert [event.sequence for event in seen] == list(range(101, 1501))


async def test_what_was_trimmed_is_never_passed_over_in_silence(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    place: dict[str, Any] = {"tenant_id": tenant_id, "topic": "talk"}
    assert await store.realtime.trim(**place, up_to_sequence=5) == 0
    await _publish(store, tenant_id, *"123456")
    assert await store.realtime.trim(**place, up_to_sequence=4, limit=3) == 3
    assert await store.realtime.trim(**place, up_to_sequence=4, limit=3) == 1
    assert await store.realtime.trim(**place, up_to_sequence=4) == 0
    for after in (0, 3):
        with pytest.raises(NotFound) as caught:
            await store.realtime.list(**place, after_sequence=after)
        assert caught.value.detail["trimmed_to_sequence"] == 4
        with pytest.raises(NotFound):
            async with _follow(store, tenant_id, after) as events:
                await _take(events, 1)
    rest = await store.realtime.list(**place, after_sequence=4)
    assert [event.sequence for event in rest] == [5, 6]
    assert await store.realtime.trim(**place, up_to_sequence=99) == 2
    assert [item.sequence for item in await _publish(store, tenant_id, "7")] == [7]


async def test_nobody_subscribes_in_a_unit_of_work(adapter: Adapter) -> None:
    adapter.needs("realtime")
    adapter.needs("transactions")
    tenant_id = await new_tenant(adapter.store)
    with pytest.raises(InvalidTransition):
        async with (
            adapter.store.unit_of_work(tenant_id=tenant_id) as uow,
            _follow(uow, tenant_id, 0) as events,
        ):
            await _take(events, 1)


async def test_topics_of_tenants_are_apart(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store = adapter.store
    mine, other = await new_tenant(store), await new_tenant(store)
    await _publish(store, mine, "secret")
    assert await store.realtime.find(tenant_id=other, topic="talk") is None
    assert await store.realtime.list(tenant_id=other, topic="talk") == ()
    assert await store.realtime.trim(tenant_id=other, topic="talk", up_to_sequence=9) == 0
    await _publish(store, other, "own")
    async with _follow(store, other, 0) as events:
        (event,) = await _take(events, 1)
    assert (event.tenant_id, event.kind, event.sequence) == (other, "own", 1)


async def test_a_payload_holds_ids_only_b75(adapter: Adapter) -> None:
    adapter.needs("realtime")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)

    async def publish(**fields: Any) -> None:
        await store.realtime.publish(
            tenant_id=tenant_id, topic="talk", events=[NewTopicEvent(**{"kind": "k", **fields})]
        )

    with pytest.raises(LimitExceeded):
        await publish(payload={"text": "x" * 20_000})
    with pytest.raises(InvalidArgument):
        await publish(payload={"x": float("nan")})
    assert await store.realtime.find(tenant_id=tenant_id, topic="talk") is None
    # The longest names, of characters that JSON escapes, are announced like any other.
    longest = "\x01" * 255
    items = await store.realtime.publish(
        tenant_id=tenant_id,
        topic=longest,
        events=[NewTopicEvent(kind="k", payload={"x": "y" * 4000})],
    )
    assert items[0].sequence == 1
    with pytest.raises(NotFound):
        await _publish(store, fresh("tenant"), "k")
    await store.tenants.suspend(tenant_id=tenant_id, expected_version=1)
    with pytest.raises(PermissionDenied):
        await _publish(store, tenant_id, "k")
