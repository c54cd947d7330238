"""Subscriptions over Supabase Realtime, the real Python client on a stand-in: no gap, no double, no leak."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from supabase import AsyncClientOptions, create_async_client

import strongroom
from strongroom import NewMessage, TextPart, following
from strongroom.client import Strongroom
from strongroom.conformance.helpers import fresh
from strongroom.following import follow_messages, follow_run_events
from strongroom.infrastructure.supabase_realtime import topic_of
from strongroom.models.realtime import NewTopicEvent
from strongroom.models.runs import NewRunEvent
from tests.platform.postgrest import make_token, user_token
from tests.platform.realtime import Platform, platform
from tests.servers import Templates
from tests.servers.databases import dropped_after

SERVICE, ANON = make_token("service_role"), make_token("anon")
Where = dict[str, str]


@pytest.fixture(scope="module")
def project(templates: Templates) -> Iterator[Platform]:
    with dropped_after(templates.copy("supabase")) as database, platform(database) as running:
        yield running


@pytest.fixture
async def host(project: Platform) -> AsyncIterator[Strongroom]:
    project.realtime.is_deaf = project.realtime.is_closed = False
    async with strongroom.connect_supabase(project.url, SERVICE) as store:
        yield store


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Where hints are lost, tests wait less than people may; elsewhere only hints can be this fast."""
    if "disturbance" in request.fixturenames:
        monkeypatch.setattr(following, "POLL_SECONDS", 0.2)
        monkeypatch.setattr(following, "IDLE_SECONDS", 0.5)


async def new_talk(host: Strongroom, owner: str = "ada") -> Where:
    tenant = await host.tenants.create(tenant_id=fresh("tenant"), name="T")
    talk = await host.conversations.create(tenant_id=tenant.tenant_id, owner_id=owner)
    return {"tenant_id": talk.tenant_id, "conversation_id": talk.id}


def as_user(project: Platform, where: Where, name: str = "ada", **more: Any) -> Any:
    return strongroom.connect_supabase(
        project.url, ANON, access_token=lambda: user_token(where["tenant_id"], name, **more)
    )


async def say(host: Strongroom, where: Where, *texts: str) -> None:
    for text in texts:
        await host.messages.append(
            **where, messages=[NewMessage(role="user", parts=[TextPart(text=text)])]
        )


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


class Follower:
    """Collects what a subscription yields."""

    def __init__(self, feed: AsyncIterator[Any], key: str) -> None:
        self.seen: list[int] = []
        self._task = asyncio.create_task(self._run(feed, key))

    async def _run(self, feed: AsyncIterator[Any], key: str) -> None:
        async with aclosing(feed) as rows:  # type: ignore[type-var]
            async for row in rows:
                self.seen.append(getattr(row, key))

    async def has(self, count: int) -> None:
        await until(lambda: len(self.seen) >= count or self._task.done())
        if self._task.done():
            await self._task
        assert self.seen == list(range(1, count + 1))

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_messages_and_deltas_arrive_at_once_and_once(
    project: Platform, host: Strongroom
) -> None:
    where = await new_talk(host)
    run = await host.runs.create(**where)
    claimed = await host.runs.claim(
        tenant_id=run.tenant_id, run_id=run.id, worker_id="w", lease_seconds=600
    )
    assert claimed is not None
    assert claimed.claim_token is not None
    joins = project.realtime.joins
    async with as_user(project, where) as user:
        messages = Follower(follow_messages(user, **where), "position")
        deltas = Follower(
            follow_run_events(user, tenant_id=run.tenant_id, run_id=run.id), "sequence"
        )
        await until(lambda: project.realtime.joins > joins)
        await say(host, where, "before")
        await messages.has(1)
        assert user.hints is not None
        await until(lambda: user.hints.has_heard)  # type: ignore[union-attr]
        started = time.monotonic()
        for number in range(5):
            await host.runs.append_events(
                tenant_id=run.tenant_id,
                run_id=run.id,
                claim_token=claimed.claim_token,
                events=[NewRunEvent(kind="text-delta", data={"text": str(number)})],
            )
            await say(host, where, str(number))
            await messages.has(number + 2)
            await deltas.has(number + 1)
        # Polling would have taken a second for each.
        assert time.monotonic() - started < 5
        await messages.stop()
        await deltas.stop()


DISTURBANCES: list[str] = ["dropped socket", "expired token", "deaf server", "closed server"]


@pytest.mark.parametrize("disturbance", DISTURBANCES)
async def test_no_gap_and_no_double_b05(
    project: Platform, host: Strongroom, disturbance: str
) -> None:
    where = await new_talk(host)
    server = project.realtime
    lifetime = {"expires_in": 1.2} if disturbance == "expired token" else {}
    async with as_user(project, where, **lifetime) as user:
        joins = server.joins
        messages = Follower(follow_messages(user, **where), "position")
        await until(lambda: server.joins > joins)
        await say(host, where, "1", "2")
        await messages.has(2)
        if disturbance == "dropped socket":
            for round_ in range(3):
                server.drop_sockets()
                await say(host, where, "during", "rejoining")
                await messages.has(2 * round_ + 4)
        elif disturbance == "expired token":
            joins = server.joins
            written = 2
            while server.joins < joins + 2:
                await say(host, where, "x")
                written += 1
                await messages.has(written)
        else:
            if disturbance == "deaf server":
                server.is_deaf = True
            else:
                server.is_closed = True
                server.drop_sockets()
            await say(host, where, "3", "4")
            await messages.has(4)
            server.is_deaf = server.is_closed = False
        joins = server.joins
        if disturbance == "closed server":
            await until(lambda: server.joins > joins)
        last = len(messages.seen)
        await say(host, where, "last")
        await messages.has(last + 1)
        await messages.stop()


async def test_hosts_follow_topics(project: Platform, host: Strongroom) -> None:
    where = await new_talk(host)
    topic = {"tenant_id": where["tenant_id"], "topic": "a:b%"}
    joins = project.realtime.joins
    feed = Follower(host.realtime.subscribe(**topic, after_sequence=0), "sequence")
    await until(lambda: project.realtime.joins > joins)
    for number in range(1, 4):
        await host.realtime.publish(**topic, events=[NewTopicEvent(kind="k")] * number)
        await feed.has(number * (number + 1) // 2)
    await feed.stop()


async def test_a_refused_reader_hears_nothing_and_reads_nothing(
    project: Platform, host: Strongroom
) -> None:
    where = await new_talk(host)
    async with as_user(project, where, "eve") as user:
        with pytest.raises(strongroom.errors.NotFound):
            async with aclosing(follow_messages(user, **where)) as messages:
                await anext(messages)


Changes = list[dict[str, Any]]


async def _listen(project: Platform, token: str, topics: list[str]) -> Any:
    """A plain client of Supabase: private topics, and every change of the published table."""
    client = await create_async_client(project.url, ANON, AsyncClientOptions())
    await client.realtime.set_auth(token)
    heard: Changes = []
    states: dict[str, str] = {}
    private = {
        "config": {"broadcast": {"ack": False, "self": False}, "presence": None, "private": True}
    }
    for topic in topics:
        channel = client.channel(topic, private)  # type: ignore[arg-type]
        channel.on_broadcast("*", lambda told: heard.append({"broadcast": told}))
        await channel.subscribe(
            lambda state, _, topic=topic: states.update({topic: state.value})  # type: ignore[misc]
        )
    changes = client.channel("changes")
    changes.on_postgres_changes("*", lambda told: heard.append(told["data"]), schema="strongroom")
    await changes.subscribe(lambda state, _: states.update(changes=state.value))
    return client, heard, states


async def test_nothing_crosses_tenants_not_in_a_delete_either(
    project: Platform, host: Strongroom
) -> None:
    mine, other = await new_talk(host), await new_talk(host)
    topics = [
        topic_of("conversation", mine["tenant_id"], mine["conversation_id"]),
        topic_of("tenant", mine["tenant_id"]),
        topic_of("principal", mine["tenant_id"], "ada"),
    ]
    spy, spied, refused = await _listen(project, user_token(other["tenant_id"], "ada"), topics)
    eve, eves, _ = await _listen(project, user_token(mine["tenant_id"], "eve"), topics[:1])
    ada, heard, joined = await _listen(project, user_token(mine["tenant_id"], "ada"), topics)
    try:
        assert joined == {**dict.fromkeys(topics, "SUBSCRIBED"), "changes": "SUBSCRIBED"}
        assert refused == {**dict.fromkeys(topics, "CHANNEL_ERROR"), "changes": "SUBSCRIBED"}
        await say(host, mine, "the content that nobody else may see")
        await until(lambda: any("broadcast" in told for told in heard))
        await until(lambda: any(told.get("table") == "conversation_changes" for told in heard))
        await host.conversations.purge(**mine)
        await until(lambda: any(told.get("type") == "DELETE" for told in spied))
        # Everything that is in the way has arrived by then: events come in commit order.
        await until(lambda: any(told.get("type") == "DELETE" for told in eves))
        assert "the content" not in str([heard, eves, spied])
        for stranger in (spied, eves):
            assert {told["type"] for told in stranger} == {"DELETE"}
            for told in stranger:
                assert told["record"] in ({}, None)
                assert set(told["old_record"]) == {"change_key"}
            text = str(stranger)
            assert mine["tenant_id"] not in text
            assert mine["conversation_id"] not in text
    finally:
        for client in (spy, eve, ada):
            await client.remove_all_channels()
