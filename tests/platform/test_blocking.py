"""The blocking API over Supabase's: what test_postgrest.py and test_storage.py say, in blocking calls."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from supabase import Client, ClientOptions, create_async_client, create_client

import strongroom
import strongroom.conformance as suite
import strongroom.sync
from strongroom import (
    InvalidArgument,
    MissingCapability,
    NewMessage,
    TextPart,
    Unavailable,
    blocking,
)
from strongroom.conformance.blobs import BlobAdapter
from strongroom.conformance.helpers import fresh
from strongroom.conformance.ledger import PORTS
from strongroom.sync import Strongroom
from strongroom.sync.following import follow_messages
from strongroom.sync.infrastructure.supabase_blobs import SupabaseBlobStore
from strongroom.sync.transports.http import http_client
from tests.conformance.blocking_store import Port, entered, presented
from tests.platform.postgrest import PostgrestStandIn, make_token, postgrest, user_token
from tests.platform.storage import StorageStandIn
from tests.platform.test_postgrest import (
    ANON,
    SERVICE,
    test_a_cut_at_max_rows_is_an_error_never_a_shorter_page_b43,
    test_a_port_method_is_one_request_and_one_transaction,
    test_a_schema_that_is_not_exposed_says_where_to_click,
    test_an_answer_that_is_lost_after_the_commit_is_asked_for_again,
    test_fifteen_hundred_rows_arrive_whole_in_pages_b43,
    test_no_answer_is_unavailable_and_the_store_recovers,
    test_what_the_api_cannot_do_is_refused_with_what_to_do,
    test_without_url_and_key_or_with_a_client_too_it_says_so,
)
from tests.servers import Database, Templates
from tests.servers.databases import dropped_after

SHARED = (
    test_a_cut_at_max_rows_is_an_error_never_a_shorter_page_b43,
    test_a_port_method_is_one_request_and_one_transaction,
    test_a_schema_that_is_not_exposed_says_where_to_click,
    test_an_answer_that_is_lost_after_the_commit_is_asked_for_again,
    test_fifteen_hundred_rows_arrive_whole_in_pages_b43,
    test_no_answer_is_unavailable_and_the_store_recovers,
    test_what_the_api_cannot_do_is_refused_with_what_to_do,
    test_without_url_and_key_or_with_a_client_too_it_says_so,
)
"""Tests that are run here on the blocking API: see ``in_blocking_calls``."""

OF_BLOBS = (
    "a_key_is_written_once",
    "of_racing_puts_one_wins_whole",
    "what_is_absent_is_not_found",
    "urls_are_signed_or_the_store_says_that_it_cannot",
)
"""Of the section for blob stores, what the way to Supabase Storage could break."""

globals().update(
    {
        name: test
        for name, test in suite.tests_of("blobs").items()
        if name.removeprefix("test_blobs_") in OF_BLOBS
        or (
            os.environ.get("STRONGROOM_TEST_WHOLE_SUITE") == "1"
            # A call that blocks is not cancelled: it goes on in its thread until its source ends.
            and "cancelled" not in name
        )
    }
)


@pytest.fixture(scope="module")
def project(templates: Templates) -> Iterator[Database]:
    with dropped_after(templates.copy("supabase")) as database:
        yield database


@pytest.fixture(scope="module")
def api(project: Database) -> Iterator[PostgrestStandIn]:
    url, storage = project.url(user="authenticator"), StorageStandIn(project)
    with postgrest(url, routes=storage.routes) as api:
        yield api


@pytest.fixture(autouse=True)
def in_blocking_calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests that are shared open a blocking store, each call of which is made in a thread."""
    if request.function not in SHARED:
        return

    def opened(*args: Any, **kwargs: Any) -> Any:
        return _presented(strongroom.sync.connect_supabase(*args, **kwargs))

    monkeypatch.setattr(strongroom, "connect_supabase", opened)


class _presented:  # noqa: N801 (called as a function is)
    def __init__(self, manager: Any) -> None:
        self._entered = entered(manager)

    async def __aenter__(self) -> strongroom.Strongroom:
        return presented(await self._entered.__aenter__())

    async def __aexit__(self, *error: object) -> Any:
        return await self._entered.__aexit__(*error)


@pytest.fixture
async def blob_adapter(api: PostgrestStandIn) -> AsyncIterator[BlobAdapter]:
    with httpx.Client(timeout=30) as http:
        client = _client(api, SERVICE, http)
        yield BlobAdapter(store=_blobs(client), open_second=lambda: _blobs(client), presigns=True)


def _blobs(client: Client) -> Any:
    return Port(SupabaseBlobStore(client), PORTS["blobs"])


def _client(api: PostgrestStandIn, key: str, http: httpx.Client) -> Client:
    return create_client(api.url, key, ClientOptions(httpx_client=http))


def _new_talk(store: Strongroom) -> Any:
    tenant_id = fresh("tenant")
    store.tenants.create(tenant_id=tenant_id, name="T")
    return store.conversations.create(tenant_id=tenant_id, owner_id="ada", title="Hers")


def _message(text: str) -> NewMessage:
    return NewMessage(role="user", parts=[TextPart(text=text)])


def test_an_expired_token_is_renewed_once_and_then_refused_b73(api: PostgrestStandIn) -> None:
    with strongroom.sync.connect_supabase(api.url, SERVICE) as host:
        talk = _new_talk(host)
    expired = user_token(talk.tenant_id, "ada", expires_in=-60)
    tokens = [expired, user_token(talk.tenant_id, "ada")]
    with strongroom.sync.connect_supabase(
        api.url, ANON, access_token=lambda: tokens.pop(0)
    ) as user:
        page = user.conversations.list(tenant_id=talk.tenant_id)
    assert [found.id for found in page.items] == [talk.id]
    assert tokens == []
    for never in (expired, lambda: expired):
        with (
            strongroom.sync.connect_supabase(api.url, ANON, access_token=never) as user,
            pytest.raises(strongroom.PermissionDenied, match="JWT expired"),
        ):
            user.conversations.list(tenant_id=talk.tenant_id)


async def test_what_is_asynchronous_is_refused_with_what_to_do(api: PostgrestStandIn) -> None:
    async def token() -> str:
        raise AssertionError

    asynchronous: Any = token
    with (
        pytest.raises(InvalidArgument, match="asynchronous function") as caught,
        strongroom.sync.connect_supabase(api.url, ANON, access_token=asynchronous) as store,
    ):
        store.tenants.find(tenant_id="acme")
    assert "plain function" in str(caught.value.hint)
    client: Any = await create_async_client(api.url, ANON)
    with (
        pytest.raises(InvalidArgument, match="of another kind") as caught,
        strongroom.sync.connect_supabase(client=client),
    ):
        raise AssertionError
    assert "supabase.create_client" in str(caught.value.hint)
    with httpx.Client() as http:
        other: Any = _client(api, ANON, http)
        with pytest.raises(InvalidArgument, match="of another kind"):
            async with strongroom.connect_supabase(client=other):
                raise AssertionError


def test_the_callers_own_client_is_followed_and_stays_open(api: PostgrestStandIn) -> None:
    with strongroom.sync.connect_supabase(api.url, SERVICE) as host:
        talk = _new_talk(host)
    with httpx.Client() as http:
        client = _client(api, ANON, http)
        with strongroom.sync.connect_supabase(client=client) as store:
            with pytest.raises(strongroom.PermissionDenied):
                store.conversations.list(tenant_id=talk.tenant_id)
            # What its auth module does at every sign-in and token refresh.
            token = user_token(talk.tenant_id, "ada")
            client.options.headers["Authorization"] = f"Bearer {token}"
            client._postgrest = None
            page = store.conversations.list(tenant_id=talk.tenant_id)
            assert [found.title for found in page.items] == ["Hers"]
        assert not http.is_closed


def test_a_request_gets_what_its_call_has_left_and_not_the_whole_again() -> None:
    """A request that waits cannot be interrupted, so it is given less time instead."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        started = time.monotonic()
        with http_client(60) as http:
            with blocking.timeout(0.2), pytest.raises(httpx.ReadTimeout):
                http.get(url)
            with blocking.timeout(0), pytest.raises(TimeoutError):
                http.get(url)
        with (
            strongroom.sync.connect_supabase(url, SERVICE, timeout=0.2) as store,
            pytest.raises(Unavailable),
        ):
            store.tenants.find(tenant_id="acme")
        assert time.monotonic() - started < 30


def test_threads_share_a_store(api: PostgrestStandIn) -> None:
    """As in a threaded web server: one store, many threads, every message once and in an order."""
    with strongroom.sync.connect_supabase(api.url, SERVICE) as store:
        talk = _new_talk(store)
        place = {"tenant_id": talk.tenant_id, "conversation_id": talk.id}

        def write(name: str) -> None:
            for n in range(5):
                store.messages.append(**place, messages=[_message(f"{name}{n}")])

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with closing(follow_messages(store, **place)) as following:
            seen = [next(following) for _ in range(20)]
    assert [message.position for message in seen] == list(range(1, 21))
    said = [part.text for message in seen for part in message.parts if part.type == "text"]
    assert {text[0]: [t for t in said if t[0] == text[0]] for text in said} == {
        name: [f"{name}{n}" for n in range(5)] for name in "abcd"
    }


def test_bytes_lie_in_supabase_storage(api: PostgrestStandIn) -> None:
    with strongroom.sync.connect_supabase(
        api.url, make_token("service_role"), blobs="supabase:", features=["files"]
    ) as store:
        tenant_id = _new_talk(store).tenant_id
        store.blobs.put(tenant_id=tenant_id, key="a ä", data=iter([b"by", b"tes"]))
        assert b"".join(store.blobs.stream(tenant_id=tenant_id, key="a ä")) == b"bytes"
        assert [blob.key for blob in store.blobs.list(tenant_id=tenant_id).items] == ["a ä"]
    with (
        strongroom.sync.connect_supabase(api.url, SERVICE) as store,
        pytest.raises(MissingCapability, match="blob"),
    ):
        store.blobs.find(tenant_id=tenant_id, key="a ä")


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supabase", None)
    with (
        pytest.raises(MissingCapability) as caught,
        strongroom.sync.connect_supabase("http://127.0.0.1:9", "key"),
    ):
        raise AssertionError
    assert "pip install 'strongroom[supabase]'" in str(caught.value.hint)
