"""Adapters for the suite: each way of reaching a database, with every hook that it can have."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import psycopg
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

import strongroom
from strongroom.client import Strongroom
from strongroom.conformance.adapter import Adapter
from strongroom.postgres import find_capabilities, owner_connection, sql_store
from strongroom.supabase import supabase_store
from strongroom.transports.base import Arguments, Transport, storable
from strongroom.transports.postgrest import PostgrestTransport
from strongroom.transports.psycopg import PoolTransport
from tests.platform.postgrest import SECRET, make_token, user_token
from tests.servers import Database, PgBouncer


def claims_of(tenant_id: str, principal_id: str) -> dict[str, Any]:
    """Return the claims of a JWT as Supabase makes it."""
    return {
        "sub": principal_id,
        "role": "authenticated",
        "app_metadata": {"tenant_id": tenant_id},
        # Never to be trusted: every user can write it.
        "user_metadata": {"tenant_id": "forged", "role_ids": ["admin"]},
    }


def has_users(database: Database) -> bool:
    """Return whether the server has the roles that signed-in users come as."""
    return database.host == "app_host"


@dataclass(frozen=True)
class Users:
    """Stores over a caller's own connection, which acts as a signed-in user.

    Connections are used again, by whoever signs in next: as behind an API that has a pool of them.
    """

    database: Database
    _free: list[psycopg.AsyncConnection[Any]] = field(default_factory=list)

    @asynccontextmanager
    async def store(self, tenant_id: str, principal_id: str) -> AsyncIterator[Strongroom]:
        connection = (
            self._free.pop()
            if self._free
            else await psycopg.AsyncConnection.connect(
                self.database.url(user="authenticator"), autocommit=True
            )
        )
        try:
            await connection.execute("set role authenticated")
            await connection.execute(
                "select set_config('request.jwt.claims', %s, false)",
                [json.dumps(claims_of(tenant_id, principal_id))],
            )
            async with strongroom.connect(connection=connection) as store:
                yield store
        except BaseException:
            await connection.close()
            raise
        self._free.append(connection)

    async def close(self) -> None:
        while self._free:
            await self._free.pop().close()


@dataclass(frozen=True)
class LookAt:
    """See ``strongroom.conformance.LookAtTables``: plain SELECTs under row security."""

    database: Database | None = None
    owner_url: str = ""
    """Instead: the URL of the project's postgres, who may act as every role of ours."""

    def _url(self, principal_id: str | None) -> str:
        if self.database is None:
            return self.owner_url
        return self.database.url(
            user=self.database.host if principal_id is None else "authenticator"
        )

    async def __call__(
        self, *, tenant_id: str, principal_id: str | None = None
    ) -> Mapping[str, frozenset[str]]:
        async with (
            await psycopg.AsyncConnection.connect(self._url(principal_id)) as connection,
            connection.transaction(force_rollback=True),
        ):
            if principal_id is None:
                if self.database is None:
                    await connection.execute("grant strongroom_host to current_user")
                    await connection.execute("set local role strongroom_host")
                await connection.execute(
                    "select set_config('strongroom.tenant_id', %s, true)", [tenant_id]
                )
            else:
                await connection.execute("set local role authenticated")
                await connection.execute(
                    "select set_config('request.jwt.claims', %s, true)",
                    [json.dumps(claims_of(tenant_id, principal_id))],
                )
            tables = await connection.execute(
                """select c.relname::text
                from pg_catalog.pg_class as c
                join pg_catalog.pg_attribute as a on a.attrelid = c.oid
                where c.relnamespace = 'strongroom'::regnamespace
                    and c.relkind in ('r', 'p', 'v')
                    and a.attname = 'tenant_id'
                    and not a.attisdropped
                    and pg_catalog.has_table_privilege(c.oid, 'select')"""
            )
            seen = {}
            for (table,) in await tables.fetchall():
                rows = await connection.execute(
                    sql.SQL("select distinct tenant_id from strongroom.{}").format(
                        sql.Identifier(table)
                    )
                )
                tenants = frozenset(row[0] for row in await rows.fetchall())
                if tenants or table != "conversation_changes":
                    seen[table] = tenants  # where there is no Realtime, nothing writes that one
            return seen


@dataclass(frozen=True)
class AsSignedInViewer:
    """A transport on which a read with a viewer really is that user's, with a JWT and row security.

    Everything else goes to the host's transport. With it the whole suite says: what a host sees
    through a viewer, the signed-in user sees, and no more.
    """

    host: PoolTransport
    users: AsyncConnectionPool[Any]

    @property
    def text_policy(self) -> str:
        return self.host.text_policy

    async def call(self, function: str, arguments: Arguments) -> str:
        arguments = storable(arguments, self.host.text_policy)
        principal_id = arguments.get("viewer_id")
        if principal_id is None:
            return await self.host.call(function, arguments)
        tenant_id = str(arguments["tenant_id"])
        async with self.users.connection() as connection, connection.transaction():
            claims = json.dumps(claims_of(tenant_id, str(principal_id)))
            await connection.execute("set local role authenticated")
            await connection.execute("select set_config('request.jwt.claims', %s, true)", [claims])
            async with strongroom.connect(connection=connection) as user:
                transport = cast("Any", user.messages)._transport
                rest = {
                    name: value
                    for name, value in arguments.items()
                    if name not in ("viewer_id", "viewer_role_ids")
                }
                return cast("str", await transport.call(function, rest))

    def connection(self) -> Any:
        return self.host.connection()

    async def call_for_bytes(self, function: str, arguments: Arguments) -> Any:
        return await self.host.call_for_bytes(function, arguments)

    def unit_of_work(self, tenant_id: str) -> Any:
        return self.host.unit_of_work(tenant_id)


@dataclass(frozen=True)
class AsApiViewer:
    """Like AsSignedInViewer, over the API: a read with a viewer is that user's request."""

    host: PostgrestTransport
    project: "Project"

    @property
    def text_policy(self) -> str:
        return self.host.text_policy

    async def call(self, function: str, arguments: Arguments) -> str:
        arguments = storable(arguments, self.host.text_policy)
        principal_id = arguments.get("viewer_id")
        if principal_id is None:
            return await self.host.call(function, arguments)
        token = self.project.as_user(str(arguments["tenant_id"]), str(principal_id))
        user = PostgrestTransport(self.host.client, access_token=token)
        rest = {
            name: value
            for name, value in arguments.items()
            if name not in ("viewer_id", "viewer_role_ids")
        }
        return await user.call(function, rest)

    async def call_for_bytes(self, function: str, arguments: Arguments) -> Any:
        return await self.host.call_for_bytes(function, arguments)

    def unit_of_work(self, tenant_id: str) -> Any:
        return self.host.unit_of_work(tenant_id)


@dataclass(frozen=True)
class Project:
    """A Supabase project, or what stands in for one."""

    url: str
    look: LookAt
    service_key: str = field(default_factory=lambda: make_token("service_role"))
    anon_key: str = field(default_factory=lambda: make_token("anon"))
    secret: str = SECRET

    def as_user(self, tenant_id: str, principal_id: str) -> str:
        return user_token(tenant_id, principal_id, secret=self.secret)


@asynccontextmanager
async def open_api_adapter(project: Project) -> AsyncIterator[Adapter]:
    """Open an adapter over Supabase's API; reads with a viewer are that user's own requests."""

    @asynccontextmanager
    async def open_plain(**more: Any) -> AsyncIterator[Strongroom]:
        async with strongroom.connect_supabase(
            project.url, project.service_key, timeout=20, **more
        ) as store:
            yield store

    async with open_plain() as host:
        transport = cast("Any", host.messages)._transport
        yield Adapter(
            store=supabase_store(
                AsApiViewer(transport, project),  # type: ignore[arg-type]
                capabilities=host.capabilities,
            ),
            open_second=open_plain,
            open_replacing=lambda: open_plain(text_policy="replace"),
            as_user=lambda tenant_id, principal_id: strongroom.connect_supabase(
                project.url,
                project.anon_key,
                access_token=lambda: project.as_user(tenant_id, principal_id),
            ),
            visible_tenants=project.look,
        )


@asynccontextmanager
async def open_adapter(
    database: Database, way: str = "pool", bouncer: PgBouncer | None = None
) -> AsyncIterator[Adapter]:
    """Open an adapter on a database.

    Args:
        database: with the schema.
        way: ``pool`` (our own), ``pooler`` (through PgBouncer), ``callers_pool`` (autocommit off),
            ``callers_connection`` (autocommit off), or ``signed_in`` (see AsSignedInViewer).
        bouncer: for ``pooler``.
    """
    as_owner: dict[str, Any] = {"schema_url": database.migrator_url}
    options: dict[str, Any] = {"pool_max": 4, "timeout": 20.0, **as_owner}

    @asynccontextmanager
    async def open_plain(**more: Any) -> AsyncIterator[Strongroom]:
        async with strongroom.connect(database.host_url, **options, **more) as store:
            yield store

    users = Users(database)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(users.close)
        if way == "pool":
            store = await stack.enter_async_context(open_plain())
        elif way == "pooler":
            assert bouncer is not None
            url = bouncer.url(database)
            store = await stack.enter_async_context(
                strongroom.connect(url, pooler="transaction", **options)
            )
        elif way == "callers_connection":
            connection = await stack.enter_async_context(
                await psycopg.AsyncConnection.connect(database.host_url)
            )
            store = await stack.enter_async_context(
                strongroom.connect(connection=connection, **as_owner)
            )
        else:
            pool = await stack.enter_async_context(
                AsyncConnectionPool[Any](database.host_url, min_size=1, max_size=4, open=False)
            )
            if way == "callers_pool":
                store = await stack.enter_async_context(strongroom.connect(pool=pool, **as_owner))
            else:
                viewers = await stack.enter_async_context(
                    AsyncConnectionPool[Any](
                        database.url(user="authenticator"), min_size=1, max_size=2, open=False
                    )
                )
                transport: Transport = AsSignedInViewer(PoolTransport(pool), viewers)  # type: ignore[assignment]
                store = sql_store(
                    cast("PoolTransport", transport),
                    owner_connection(database.migrator_url),
                    capabilities=await find_capabilities(PoolTransport(pool)),
                )
        yield Adapter(
            store=store,
            open_second=open_plain,
            open_replacing=lambda: open_plain(text_policy="replace"),
            as_user=users.store if has_users(database) else None,
            visible_tenants=LookAt(database),
            parallel_units=way != "callers_connection",
        )
