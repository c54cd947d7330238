"""A stand-in for Supabase Realtime, on loopback, on top of a real database's logical decoding.

No Realtime server can be had for these tests, so this is NOT Realtime: it is its documented behaviour as far
as strongroom depends on it. What is real: the WebSocket protocol of both client generations (Phoenix, vsn 1
and 2), joins of private channels decided by row security on ``realtime.messages``, broadcasts read from that
table, postgres_changes read from the publication by logical decoding, with row security asked per subscriber
for INSERT and UPDATE, and DELETE handed to every subscriber with the replica identity, tokens that expire.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from starlette.concurrency import run_in_threadpool
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.platform.pgoutput import Change, Decoder
from tests.platform.postgrest import PostgrestStandIn, Refused, postgrest
from tests.servers import Database

SLOT = "realtime_stand_in"
BROADCASTS = "realtime_messages_publication"

Claims = dict[str, Any]


@dataclass(eq=False)
class Channel:
    socket: Socket
    topic: str
    join_ref: str | None
    private: bool
    claims: Claims
    changes: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return self.topic.removeprefix("realtime:")


@dataclass(eq=False)
class Socket:
    websocket: WebSocket
    is_array: bool
    api_key: str
    loop: asyncio.AbstractEventLoop
    channels: dict[str, Channel] = field(default_factory=dict)

    async def send(
        self, topic: str, event: str, payload: Any, ref: str | None = None, join: str | None = None
    ) -> None:
        body: Any = [join, ref, topic, event, payload]
        if not self.is_array:
            body = {
                "topic": topic,
                "event": event,
                "payload": payload,
                "ref": ref,
                "join_ref": join,
            }
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await self.websocket.send_text(json.dumps(body))


class RealtimeStandIn:
    """Serves ``/realtime/v1/websocket`` of a PostgREST stand-in; see the module.

    Attributes:
        joins: how many channels have been joined.
        is_deaf: while true nothing is delivered: what is decoded then is lost, as on a bad day.
        is_closed: while true new sockets are refused.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sockets: set[Socket] = set()
        self._stopping = threading.Event()
        self._decoder = Decoder()
        self._verified: Callable[[str], Claims] = lambda _: {}
        self.joins = 0
        self.is_deaf = False
        self.is_closed = False
        self.route = WebSocketRoute("/realtime/v1/websocket", self._serve)
        with database.connect() as admin:
            admin.execute("select shim.connect_realtime()")
            admin.execute(
                f"create publication {BROADCASTS} for table realtime.messages"
                " with (publish = 'insert', publish_via_partition_root = true)"
            )
            admin.execute(f"select pg_create_logical_replication_slot('{SLOT}', 'pgoutput')")
        self._thread = threading.Thread(target=self._decode, daemon=True)

    def start(self, api: PostgrestStandIn) -> None:
        self._verified = api.verified
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join(20)
        with self._database.connect() as admin:
            admin.execute(f"select pg_drop_replication_slot('{SLOT}')")

    def drop_sockets(self) -> None:
        """Cut every connection, as a network does."""
        for socket in [*self._sockets]:
            asyncio.run_coroutine_threadsafe(socket.websocket.close(1012), socket.loop).result(10)

    # Sockets ----------------------------------------------------------------------------------

    async def _serve(self, websocket: WebSocket) -> None:
        query = websocket.query_params
        try:
            self._verified(query.get("apikey", ""))
            is_welcome = not self.is_closed
        except Refused:
            is_welcome = False
        if not is_welcome:
            await websocket.close(1008)
            return
        await websocket.accept()
        socket = Socket(
            websocket,
            query.get("vsn", "1.0.0").startswith("2"),
            query["apikey"],
            asyncio.get_running_loop(),
        )
        self._sockets.add(socket)
        expiry = asyncio.create_task(self._expire(socket))
        try:
            while True:
                message = json.loads(await websocket.receive_text())
                await self._hear(socket, message)
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass
        finally:
            expiry.cancel()
            self._sockets.discard(socket)

    async def _hear(self, socket: Socket, message: Any) -> None:
        if socket.is_array:
            join, ref, topic, event, payload = message
        else:
            join, ref = message.get("join_ref"), message.get("ref")
            topic, event, payload = message["topic"], message["event"], message["payload"]
        if event == "heartbeat":
            await socket.send("phoenix", "phx_reply", {"status": "ok", "response": {}}, ref)
        elif event == "phx_join":
            await self._join(socket, topic, payload, ref, join or ref)
        elif event == "access_token" and topic in socket.channels:
            await self._renew(socket.channels[topic], payload["access_token"])
        elif event == "phx_leave":
            socket.channels.pop(topic, None)
            await socket.send(topic, "phx_reply", {"status": "ok", "response": {}}, ref, join)
            await socket.send(topic, "phx_close", {}, ref, join)

    async def _join(
        self, socket: Socket, topic: str, payload: Any, ref: str | None, join: str | None
    ) -> None:
        config = payload.get("config", {})
        changes = [
            {"id": number + 1, **change}
            for number, change in enumerate(config.get("postgres_changes") or [])
        ]
        try:
            claims = self._verified(payload.get("access_token") or socket.api_key)
            channel = Channel(socket, topic, join, bool(config.get("private")), claims, changes)
            await self._authorise(channel)
        except Refused as refusal:
            reply = {"status": "error", "response": {"reason": str(refusal)}}
            await socket.send(topic, "phx_reply", reply, ref, join)
            return
        socket.channels[topic] = channel
        self.joins += 1
        reply = {"status": "ok", "response": {"postgres_changes": changes}}
        await socket.send(topic, "phx_reply", reply, ref, join)
        if changes:
            told = {
                "channel": channel.name,
                "extension": "postgres_changes",
                "message": "Subscribed to PostgreSQL",
                "status": "ok",
            }
            await socket.send(topic, "system", told, None, join)

    async def _authorise(self, channel: Channel) -> None:
        if channel.private and not await run_in_threadpool(self._may_receive, channel):
            raise Refused(
                403,
                "Unauthorized",
                "Unauthorized: You do not have permissions to read from this Channel topic:"
                f" {channel.name}",
            )

    async def _renew(self, channel: Channel, token: str) -> None:
        try:
            channel.claims = self._verified(token)
            await self._authorise(channel)
        except Refused as refusal:
            await self._shut(channel, str(refusal))

    async def _shut(self, channel: Channel, reason: str) -> None:
        told = {
            "channel": channel.name,
            "extension": "system",
            "message": reason,
            "status": "error",
        }
        channel.socket.channels.pop(channel.topic, None)
        await channel.socket.send(channel.topic, "system", told, None, channel.join_ref)
        await channel.socket.send(channel.topic, "phx_close", {}, None, channel.join_ref)

    async def _expire(self, socket: Socket) -> None:
        while True:
            await asyncio.sleep(0.05)
            for channel in [*socket.channels.values()]:
                if channel.claims.get("exp", 0) <= time.time():
                    await self._shut(channel, "Token has expired 0 seconds ago")

    # Row security -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def _as(self, claims: Claims, topic: str = "") -> Iterator[psycopg.Connection[Any]]:
        with self._database.connect() as connection, connection.transaction(force_rollback=True):
            if topic:
                connection.execute(
                    "insert into realtime.messages (topic, extension, private)"
                    " values (%s, 'broadcast', true)",
                    [topic],
                )
            connection.execute(
                sql.SQL("set local role {}").format(sql.Identifier(str(claims["role"])))
            )
            connection.execute(
                "select set_config('request.jwt.claims', %s, true),"
                " set_config('realtime.topic', %s, true)",
                [json.dumps(claims), topic],
            )
            yield connection

    def _may_receive(self, channel: Channel) -> bool:
        with self._as(channel.claims, channel.name) as connection:
            row = connection.execute(
                "select exists (select from realtime.messages where topic = %s)", [channel.name]
            ).fetchone()
        return bool(row and row[0])

    def _may_see(self, channel: Channel, change: Change) -> bool:
        key = "change_key" if "change_key" in change.record else "id"
        with self._as(channel.claims) as connection:
            row = connection.execute(
                sql.SQL("select exists (select from {}.{} where {}::text = %s)").format(
                    sql.Identifier(change.schema),
                    sql.Identifier(change.table),
                    sql.Identifier(key),
                ),
                [change.record[key]],
            ).fetchone()
        return bool(row and row[0])

    # Decoding ---------------------------------------------------------------------------------

    def _decode(self) -> None:
        with self._database.connect() as admin:
            while not self._stopping.wait(0.02):
                rows = admin.execute(
                    "select data from pg_logical_slot_get_binary_changes(%s, null, null,"
                    " 'proto_version', '1', 'publication_names', %s)",
                    [SLOT, f"supabase_realtime,{BROADCASTS}"],
                ).fetchall()
                for change in self._decoder.read(row[0] for row in rows):
                    if not self.is_deaf:
                        self._deliver(change)

    def _deliver(self, change: Change) -> None:
        channels = [c for s in [*self._sockets] for c in [*s.channels.values()]]
        if (change.schema, change.table) == ("realtime", "messages"):
            payload = {
                "type": "broadcast",
                "event": change.record["event"],
                "payload": json.loads(change.record["payload"] or "{}"),
                "meta": {"id": change.record["id"]},
            }
            for channel in channels:
                if channel.private and channel.name == change.record["topic"]:
                    self._send(channel, "broadcast", payload)
            return
        for channel in channels:
            ids = [c["id"] for c in channel.changes if _fits(c, change)]
            if ids and (change.kind == "DELETE" or self._may_see(channel, change)):
                data = {
                    "schema": change.schema,
                    "table": change.table,
                    "type": change.kind,
                    "commit_timestamp": "2026-01-01T00:00:00Z",
                    "columns": [{"name": name, "type": "text"} for name in change.record],
                    "record": change.record,
                    "old_record": change.old,
                    "errors": None,
                }
                self._send(channel, "postgres_changes", {"ids": ids, "data": data})

    def _send(self, channel: Channel, event: str, payload: Any) -> None:
        asyncio.run_coroutine_threadsafe(
            channel.socket.send(channel.topic, event, payload, None, None), channel.socket.loop
        )


def _fits(wanted: dict[str, Any], change: Change) -> bool:
    if wanted["event"] not in ("*", change.kind) or wanted["schema"] != change.schema:
        return False
    if wanted.get("table") not in (None, "*", change.table):
        return False
    if not wanted.get("filter") or change.kind == "DELETE":
        return True  # Realtime does not filter what is deleted
    column, _, test = wanted["filter"].partition("=")
    return change.record.get(column) == test.removeprefix("eq.")


@dataclass(frozen=True)
class Platform:
    """Both stand-ins in front of one database.

    Attributes:
        url: the project's URL.
    """

    database: Database
    api: PostgrestStandIn
    realtime: RealtimeStandIn

    @property
    def url(self) -> str:
        return self.api.url


@contextlib.contextmanager
def platform(
    database: Database, routes: tuple[Any, ...] = (), **options: Any
) -> Iterator[Platform]:
    """Run both stand-ins for as long as the block lasts."""
    realtime = RealtimeStandIn(database)
    try:
        with postgrest(
            database.url(user="authenticator"), routes=[realtime.route, *routes], **options
        ) as api:
            realtime.start(api)
            yield Platform(database, api, realtime)
            realtime.close()
    except BaseException:
        realtime._stopping.set()
        raise
