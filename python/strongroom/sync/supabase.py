# Written by scripts/generate_sync.py from strongroom/supabase.py: change that, and run `make generate`.
"""The Supabase adapter: the same ports and functions, through Supabase's own client and API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

from strongroom import blocking
from strongroom.client import check_features
from strongroom.errors import InvalidArgument, MissingCapability, StrongroomError, Unavailable
from strongroom.infrastructure.missing_blobs import MissingBlobStore
from strongroom.migrations import load_migrations
from strongroom.models.health import Capability, Health, SchemaChange, TextPolicy
from strongroom.supabase import _ASKING_SECONDS, _WITH_VECTORS, CAPABILITIES, _unmanaged
from strongroom.sync.client import Strongroom, UnitOfWork, with_blobs
from strongroom.sync.infrastructure.blob_urls import open_blobs
from strongroom.sync.infrastructure.work_signals import polling
from strongroom.sync.ports.blobs import BlobStore
from strongroom.sync.postgres import health_of, sql_ports
from strongroom.sync.transports.access_tokens import AccessToken
from strongroom.sync.transports.base import Transport

if TYPE_CHECKING:
    from supabase import Client

    from strongroom.sync.infrastructure.supabase_realtime import RealtimeListener


Unit = AbstractContextManager[UnitOfWork]


class ApiSchemaManager:
    """See :class:`strongroom.ports.SchemaManager`: an API can say its version, and change nothing."""

    def __init__(self, transport: Transport) -> None:
        """Ask over the transport."""
        self._transport = transport

    def current_version(self) -> int:
        """Return the newest migration that the database has recorded.

        Raises:
            SchemaVersionError: SR041, there is no schema, or the API does not expose it.
            PermissionDenied: SR020, a signed-in user asks; hosts may.
        """
        health = health_of(self._transport, adapter="supabase", target=0, capabilities=CAPABILITIES)
        return health.schema_version or 0

    def target_version(self) -> int:
        """Return the newest migration that this package carries."""
        return load_migrations()[-1].version

    def plan(self) -> tuple[SchemaChange, ...]:
        """Return the migrations that the project lacks. Drift is told by `strongroom doctor`."""
        current = self.current_version()
        return tuple(
            SchemaChange(
                version=migration.version,
                name=migration.name,
                action="apply",
                description=f"apply {migration.version:04d} {migration.name}",
            )
            for migration in load_migrations()
            if migration.version > current
        )

    def apply(self) -> None:
        """Refuse: an API cannot run migrations."""
        raise _unmanaged()

    def downgrade(self, *, to_version: int, allow_data_loss: bool = False) -> None:
        """Refuse: an API cannot run migrations."""
        del to_version, allow_data_loss
        raise _unmanaged()


@contextmanager
def connect_supabase(
    project_url: str | None = None,
    key: str | None = None,
    access_token: AccessToken | None = None,
    *,
    client: Client | None = None,
    features: Iterable[str] = (),
    blobs: str | BlobStore | None = None,
    text_policy: TextPolicy = "reject",
    timeout: float = 30.0,  # noqa: ASYNC109 (an option of the store, not of this call)
) -> Iterator[Strongroom]:
    """Open a store over Supabase's API, and close it at the end of the block.

    With the service key it acts as a host; with a user's access token as that user, who sees and does
    what row security and the permission rules allow. There are no units of work: every call is a
    transaction of its own.

    Subscriptions look once a second: Realtime's client is asynchronous.

    Args:
        project_url: such as ``https://abcdefgh.supabase.co``.
        key: the project's service (secret) key for hosts, or its anon (publishable) key for users.
        access_token: the signed-in user's JWT, or a function that returns the present
            one; it is asked before every call, and once more when the API says that it has expired.
        client: the caller's own ``supabase.Client`` instead of URL and key; it stays open, and its
            session, with its refreshed tokens, is followed.
        features: capabilities that the host needs; the store refuses to open without one of them. Vector
            search is advertised when the project has said that it has it.
        blobs: where the bytes of files lie, as for :func:`strongroom.connect`, or for hosts
            ``supabase:``, Supabase Storage: the private bucket ``strongroom``, or ``supabase:BUCKET``.
        text_policy: ``reject`` text that PostgreSQL cannot hold (U+0000, half of a surrogate pair), or
            ``replace`` it by U+FFFD.
        timeout: seconds that one call may take in all, retries included. A request on a
            client of yours takes as long as that client lets it.

    Raises:
        InvalidArgument: SR001, neither or both of URL with key, and client; or a client of another kind.
        MissingCapability: SR040, a feature that the API lacks, or the extra is not installed.

    Example:
        >>> import strongroom.sync
        >>> def titles(url: str, key: str, jwt: str) -> list[str | None]:
        ...     with strongroom.sync.connect_supabase(url, key, access_token=jwt) as store:
        ...         page = store.conversations.list(tenant_id="acme")
        ...         return [talk.title for talk in page.items]
    """
    try:
        import httpx  # noqa: PLC0415 (comes with it)
        from supabase import (  # noqa: PLC0415 (an extra)
            Client,
            ClientOptions,
            SyncSupabaseException,
            create_client,
        )

        from strongroom.sync.infrastructure.supabase_realtime import listen_to  # noqa: PLC0415 (needs it)
        from strongroom.sync.transports.http import http_client  # noqa: PLC0415 (comes with it)
        from strongroom.sync.transports.postgrest import PostgrestTransport  # noqa: PLC0415 (needs it)
    except ImportError as error:
        raise MissingCapability(
            "connect_supabase needs the extra 'supabase'",
            detail={"extra": "supabase"},
            hint="Install it: pip install 'strongroom[supabase]'.",
        ) from error
    if (client is None) != bool(project_url and key):
        raise InvalidArgument(
            "give project_url and key, or client",
            detail={"path": "project_url"},
            hint="For example strongroom.sync.connect_supabase('https://x.supabase.co', key).",
        )
    if client is not None and not isinstance(client, Client):
        raise InvalidArgument(
            f"client is of another kind: {type(client).__module__}.{type(client).__qualname__}",
            detail={"path": "client"},
            hint="strongroom.connect_supabase takes what supabase.create_async_client returns, and"
            " strongroom.sync.connect_supabase what supabase.create_client returns.",
        )
    if timeout <= 0:
        raise InvalidArgument(
            f"timeout is {timeout}", detail={"path": "timeout"}, hint="Give seconds above 0."
        )
    with ExitStack() as stack:
        if client is None:
            http = stack.enter_context(http_client(timeout))
            options = ClientOptions(
                httpx_client=http, auto_refresh_token=False, persist_session=False
            )
            try:
                client = create_client(str(project_url), str(key), options)
            except (SyncSupabaseException, ValueError, httpx.InvalidURL) as error:
                raise InvalidArgument(
                    "project_url or key has not the form of one",
                    detail={"path": "project_url"},
                    hint="For example strongroom.sync.connect_supabase('https://x.supabase.co', key).",
                ) from error
        transport = PostgrestTransport(
            client, access_token=access_token, text_policy=text_policy, timeout=timeout
        )
        hints = listen_to(client, transport.present_token)
        features = {*features}
        capabilities = _ask_capabilities(
            transport, str(client.supabase_url), needed="vector_search" in features
        )
        store = supabase_store(
            transport,
            _blobs_of(client, blobs),
            hints,
            capabilities=capabilities,
        )
        check_features(features, store.capabilities, "Supabase")
        yield store


def _ask_capabilities(transport: Transport, url: str, *, needed: bool) -> frozenset[Capability]:
    """What has not been said is not advertised; the store opens all the same, and may recover."""
    if url not in _WITH_VECTORS:
        try:
            with blocking.timeout(_ASKING_SECONDS):
                found = json.loads(transport.call("list_capabilities", {}))
        except (StrongroomError, TimeoutError) as error:
            if needed:
                raise (
                    error
                    if isinstance(error, StrongroomError)
                    else Unavailable(
                        "the API did not say whether it has vector search",
                        hint="Try again, or leave vector_search out of features.",
                    )
                ) from error
            return CAPABILITIES
        if {"capability": "vector_search"} not in found:
            return CAPABILITIES
        _WITH_VECTORS.add(url)
    return CAPABILITIES | {"vector_search"}


def _blobs_of(client: Client, blobs: str | BlobStore | None) -> BlobStore | None:
    from strongroom.sync.infrastructure.supabase_blobs import (  # noqa: PLC0415 (needs the extra)
        SupabaseBlobStore,
    )

    if isinstance(blobs, str) and blobs.startswith("supabase:"):
        return SupabaseBlobStore(client, blobs.removeprefix("supabase:") or "strongroom")
    return None if blobs is None else open_blobs(blobs)


def supabase_store(
    transport: Transport,
    blobs: BlobStore | None = None,
    hints: RealtimeListener | None = None,
    *,
    capabilities: frozenset[Capability] = CAPABILITIES,
) -> Strongroom:
    """Put a store together on a transport over the API.

    Args:
        transport: how calls reach the API.
        blobs: where bytes lie.
        hints: what wakes subscriptions; None polls.
        capabilities: what the project has said that it can do.
    """
    from strongroom.sync.infrastructure.supabase_realtime import (  # noqa: PLC0415 (needs the extra)
        SupabaseRealtimePublisher,
    )

    schema = ApiSchemaManager(transport)
    capabilities = with_blobs(capabilities, blobs)

    def read_health() -> Health:
        return health_of(
            transport,
            adapter="supabase",
            target=schema.target_version(),
            capabilities=capabilities,
        )

    def begin(tenant_id: str) -> Unit:
        return cast("Unit", transport.unit_of_work(tenant_id))

    return Strongroom(
        **{**sql_ports(transport), "realtime": SupabaseRealtimePublisher(transport, hints)},  # type: ignore[arg-type]
        schema=schema,
        capabilities=capabilities,
        hints=hints,
        blobs=blobs or cast("BlobStore", MissingBlobStore()),
        work_signals=polling,
        begin=begin,
        read_health=read_health,
    )
