"""From the options of a command to an open store, or to the role that owns the schema."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from strongroom.cli.options import PoolerChoice
from strongroom.client import Strongroom
from strongroom.connecting import connect
from strongroom.errors import InvalidArgument, Unavailable
from strongroom.transports.database_errors import one_line
from strongroom.transports.pools import check_url
from strongroom.transports.psycopg import Connection, translated

_KINDS = (
    "Use postgresql://user@host/database, or embedded:///some/folder for a server of your own that"
    " needs no installation."
)


@dataclass(frozen=True)
class Owner:
    """Where the schema is managed.

    Attributes:
        url: the connection string of the role that owns the schema.
        host_url: the one that hosts use; the same where only one was given.
        pooler: what the user said about a pooler.
    """

    url: str
    host_url: str
    pooler: PoolerChoice | None


def require_tenant(tenant: str | None) -> str:
    """Return the tenant, or refuse to guess one.

    Raises:
        InvalidArgument: SR001.
    """
    if not tenant:
        raise InvalidArgument(
            "no tenant is named",
            detail={"path": "--tenant"},
            hint="Give --tenant ID, or set STRONGROOM_TENANT.",
        )
    return tenant


def _check_url(url: str | None, option: str, *, temporary: bool) -> str:
    if not url:
        raise InvalidArgument(
            "no database is named",
            detail={"path": option},
            hint=f"Give {option}, or set STRONGROOM_URL. {_KINDS}",
        )
    if url.startswith(("embedded:", "memory:")):
        if not temporary and url in ("embedded:", "memory:"):
            raise InvalidArgument(
                f"{option}: {url} ends with this command, and everything in it",
                detail={"path": option},
                hint=_KINDS,
            )
        return url
    check_url(url, option)
    return url


@asynccontextmanager
async def single_connection(url: str, seconds: float) -> AsyncIterator[Connection]:
    """Open one connection; whatever fails is one of our errors.

    Raises:
        Unavailable: SR050, it cannot be had, with the database's own reason.
    """
    wait = max(2, round(seconds))  # libpq takes whole seconds, and 2 at least
    try:
        async with asyncio.timeout(seconds):
            opened = await psycopg.AsyncConnection.connect(
                make_conninfo(url, connect_timeout=wait, client_encoding="utf8"), autocommit=True
            )
    except TimeoutError as error:
        raise Unavailable(
            f"the database did not answer within {seconds:g} seconds",
            hint="Look at host, port and firewall, or raise --timeout.",
        ) from error
    except (psycopg.Error, OSError) as error:
        found = translated(error)
        raise Unavailable(
            one_line(found.message),
            detail=found.detail,
            hint="Look at host, port, database and role of the URL, and whether the server runs.",
        ) from error
    async with opened:
        try:
            yield opened
        except (psycopg.Error, OSError) as error:
            raise translated(error) from error


@asynccontextmanager
async def open_store(
    url: str | None,
    *,
    pooler: PoolerChoice | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109 (an option of the store, not of this call)
    temporary: bool = False,
    blobs: str | None = None,
    tenant_id: str | None = None,
) -> AsyncIterator[Strongroom]:
    """Open the store that the options name.

    Args:
        url: what ``--url`` or STRONGROOM_URL says.
        pooler: what ``--pooler`` says.
        timeout: seconds for connecting and for each call.
        temporary: whether a server that ends with the command makes sense for it.
        blobs: what ``--blobs`` or STRONGROOM_BLOBS says.
        tenant_id: whose records are read: a tenant that is not there is an error, and no empty list.

    Raises:
        InvalidArgument: SR001, no database is named, or it is no URL.
        NotFound: SR010, there is no such tenant.
        Unavailable: SR050.
    """
    checked = _check_url(url, "--url", temporary=temporary)
    if not checked.startswith(("embedded:", "memory:")):
        # A pool would try again and again until its time is over; this says at once what is wrong.
        async with single_connection(checked, timeout):
            pass
    options: dict[str, Any] = {"pooler": "transaction"} if pooler else {}
    async with connect(checked, timeout=timeout, pool_max=4, blobs=blobs, **options) as store:
        if tenant_id is not None:
            await store.tenants.get(tenant_id=tenant_id)
        yield store


@asynccontextmanager
async def open_owner(
    url: str | None,
    schema_url: str | None,
    *,
    pooler: PoolerChoice | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109 (an option of the command, not of this call)
    temporary: bool = False,
) -> AsyncIterator[Owner]:
    """Find the role that owns the schema; an embedded server is started, and changed by nobody.

    Raises:
        InvalidArgument: SR001, no database is named, or it is none that has a schema.
        Unavailable: SR050.
    """
    option = "--schema-url" if schema_url else "--url"
    checked = _check_url(schema_url or url, option, temporary=temporary)
    if checked.startswith("memory:"):
        raise InvalidArgument(
            f"{option}: {checked} has no schema", detail={"path": option}, hint=_KINDS
        )
    if checked.startswith("embedded:"):
        from strongroom.embedded import EmbeddedServer  # noqa: PLC0415 (an optional extra)

        async with await EmbeddedServer.start_async(checked) as server:
            yield Owner(server.admin_url, server.host_url, pooler)
        return
    host = _check_url(url, "--url", temporary=temporary) if url else checked
    async with single_connection(checked, timeout):
        pass
    yield Owner(checked, host, pooler)
