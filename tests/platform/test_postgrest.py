"""What is particular to the way over Supabase's API, with the real client, on the stand-in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from supabase import AsyncClientOptions, create_async_client

import strongroom
from strongroom import (
    LimitExceeded,
    MissingCapability,
    NewMessage,
    PermissionDenied,
    SchemaVersionError,
    TextPart,
    Unavailable,
)
from strongroom.conformance.helpers import OWNER, at, fresh, new_talk, new_tenant, said
from tests.conformance.adapters import LookAt
from tests.platform.postgrest import PostgrestStandIn, make_token, postgrest, user_token
from tests.servers import Database, Templates

SERVICE = make_token("service_role")
ANON = make_token("anon")


@pytest.fixture(scope="module")
def project(templates: Templates) -> Iterator[Database]:
    database = templates.copy("supabase")
    yield database
    database.drop()


@pytest.fixture(scope="module")
def api(project: Database) -> Iterator[PostgrestStandIn]:
    with postgrest(project.url(user="authenticator")) as api:
        yield api


async def test_a_port_method_is_one_request_and_one_transaction(api: PostgrestStandIn) -> None:
    async with strongroom.connect_supabase(api.url, SERVICE) as store:
        talk = await new_talk(store)
        before = dict(api.requests)
        await store.messages.append(**at(talk), messages=[said("one"), said("two")])
        after = {name: n - before.get(name, 0) for name, n in api.requests.items()}
    assert {name: n for name, n in after.items() if n} == {"append_messages": 1}


async def test_fifteen_hundred_rows_arrive_whole_in_pages_b43(api: PostgrestStandIn) -> None:
    async with strongroom.connect_supabase(api.url, SERVICE) as store:
        talk = await new_talk(store)
        for start in range(0, 1500, 500):
            batch = [said(str(n)) for n in range(start, start + 500)]
            await store.messages.append(**at(talk), messages=batch)
        seen: list[int] = []
        after = None
        while True:
            page = await store.messages.list(**at(talk), limit=500, after=after)
            seen += [message.position for message in page.items]
            if page.next_cursor is None:
                break
            after = page.next_cursor
    assert seen == list(range(1, 1501))


async def test_a_cut_at_max_rows_is_an_error_never_a_shorter_page_b43(project: Database) -> None:
    with postgrest(project.url(user="authenticator"), max_rows=10) as api:
        async with strongroom.connect_supabase(api.url, SERVICE) as store:
            talk = await new_talk(store)
            await store.messages.append(**at(talk), messages=[said(str(n)) for n in range(10)])
            assert len((await store.messages.list(**at(talk), limit=10)).items) == 10
            await store.messages.append(**at(talk), messages=[said("one too many")])
            with pytest.raises(LimitExceeded, match="10 of 11 rows of list_messages") as caught:
                await store.messages.list(**at(talk), limit=50)
    assert "max-rows" in str(caught.value.hint)


async def test_an_expired_token_is_renewed_once_and_then_refused_b73(api: PostgrestStandIn) -> None:
    async with strongroom.connect_supabase(api.url, SERVICE) as host:
        tenant_id = await new_tenant(host)
    expired = user_token(tenant_id, "ada", expires_in=-60)
    tokens = [expired, user_token(tenant_id, "ada")]
    asked = []

    async def fresh_token() -> str:
        asked.append(1)
        return tokens.pop(0)

    async with strongroom.connect_supabase(api.url, ANON, access_token=fresh_token) as user:
        assert (await user.conversations.list(tenant_id=tenant_id)).items == ()
    assert len(asked) == 2
    for never in (expired, lambda: expired):
        async with strongroom.connect_supabase(api.url, ANON, access_token=never) as user:
            with pytest.raises(PermissionDenied, match="JWT expired") as caught:
                await user.conversations.list(tenant_id=tenant_id)
            assert "fresh token" in str(caught.value.hint)


async def test_the_callers_own_client_is_followed_through_its_sessions(
    api: PostgrestStandIn,
) -> None:
    async with strongroom.connect_supabase(api.url, SERVICE) as host:
        tenant_id = await new_tenant(host)
        await host.conversations.create(tenant_id=tenant_id, owner_id="ada", title="Hers")
    async with httpx.AsyncClient() as http:
        client = await create_async_client(api.url, ANON, AsyncClientOptions(httpx_client=http))
        async with strongroom.connect_supabase(client=client) as store:
            with pytest.raises(PermissionDenied):
                await store.conversations.list(tenant_id=tenant_id)
            # What its auth module does at every sign-in and token refresh.
            client.options.headers["Authorization"] = f"Bearer {user_token(tenant_id, 'ada')}"
            client._postgrest = None
            page = await store.conversations.list(tenant_id=tenant_id)
            assert [talk.title for talk in page.items] == ["Hers"]
        assert not http.is_closed


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"app_metadata": {}},
        {"app_metadata": {"tenant_id": ""}},
        {"app_metadata": {"tenant_id": ["acme"]}},
        {"app_metadata": {"tenant_id": {"id": "acme"}}},
        {"app_metadata": "acme"},
        {"user_metadata": {"tenant_id": "acme"}},
        {"sub": "", "app_metadata": {"tenant_id": "acme"}},
    ],
    ids=repr,
)
async def test_damaged_claims_are_no_claims_b31(api: PostgrestStandIn, claims: Any) -> None:
    async with strongroom.connect_supabase(api.url, SERVICE) as host:
        tenant_id = await new_tenant(host)
    body = str(claims).replace("acme", tenant_id)
    token = make_token("authenticated", **{"sub": "ada", **eval(body)})  # noqa: S307 (our own text)
    async with strongroom.connect_supabase(api.url, ANON, access_token=token) as user:
        with pytest.raises(PermissionDenied):
            await user.conversations.list(tenant_id=tenant_id)
        with pytest.raises(PermissionDenied):
            await user.conversations.create(tenant_id=tenant_id, owner_id="ada")


async def test_what_the_api_cannot_do_is_refused_with_what_to_do(api: PostgrestStandIn) -> None:
    async with strongroom.connect_supabase(api.url, SERVICE) as store:
        with pytest.raises(MissingCapability, match="transactions"):
            async with store.unit_of_work(tenant_id="acme"):
                raise AssertionError
        with pytest.raises(MissingCapability, match="schema cannot be changed"):
            await store.schema.apply()
        assert await store.schema.plan() == ()
        assert await store.schema.current_version() == store.schema.target_version()
    with pytest.raises(MissingCapability, match="transactions"):
        async with strongroom.connect_supabase(api.url, SERVICE, features=["transactions"]):
            raise AssertionError


async def test_vector_search_is_what_the_project_has_said(templates: Templates) -> None:
    database = templates.copy("supabase")
    with database.connect() as connection, postgrest(database.url(user="authenticator")) as api:
        user = user_token("acme", "ada")
        connection.execute("alter table strongroom.chunks rename column embedding to another")
        for key, token in ((SERVICE, None), (ANON, user)):
            async with strongroom.connect_supabase(api.url, key, access_token=token) as store:
                assert "vector_search" not in store.capabilities
            with pytest.raises(MissingCapability, match="vector_search"):
                async with strongroom.connect_supabase(
                    api.url, key, access_token=token, features=["vector_search"]
                ):
                    raise AssertionError
        connection.execute("alter table strongroom.chunks rename column another to embedding")
        for key, token in ((ANON, user), (SERVICE, None)):
            asked = api.requests.get("list_capabilities", 0)
            for _ in range(2):
                async with strongroom.connect_supabase(api.url, key, access_token=token) as store:
                    assert "vector_search" in store.capabilities
            # Once a project has said so, no store that is opened costs a request.
            assert api.requests.get("list_capabilities", 0) - asked == (1 if key == ANON else 0)
    database.drop()
    with pytest.raises(Unavailable):
        async with strongroom.connect_supabase(
            "http://127.0.0.1:9", SERVICE, features=["vector_search"]
        ):
            raise AssertionError


async def test_a_schema_that_is_not_exposed_says_where_to_click(project: Database) -> None:
    with postgrest(project.url(user="authenticator"), schemas=["public"]) as api:
        async with strongroom.connect_supabase(api.url, SERVICE) as store:
            with pytest.raises(SchemaVersionError, match="not exposed") as caught:
                await store.tenants.find(tenant_id="acme")
    assert "Exposed schemas" in str(caught.value.hint)


def test_the_migrations_tell_the_api_that_there_are_new_functions_b65(
    make_database: Callable[..., Database],
) -> None:
    """A project that runs already is migrated; its API knows the functions without a restart."""
    database = make_database("supabase", installed=False)

    async def look(url: str) -> str:
        async with strongroom.connect_supabase(url, SERVICE) as store:
            try:
                await store.tenants.find(tenant_id="acme")
            except SchemaVersionError as error:
                return error.message
            return "found"

    with postgrest(database.url(user="authenticator")) as api:
        assert "schema cache" in asyncio.run(look(api.url))

        async def migrate() -> None:
            async with strongroom.connect(
                database.migrator_url, schema_url=database.migrator_url, schema_mode="auto"
            ):
                pass

        asyncio.run(migrate())
        api.wait_for_reload()
        assert asyncio.run(look(api.url)) == "found"


async def test_no_answer_is_unavailable_and_the_store_recovers(project: Database) -> None:
    """The API goes away and comes back on the same address; a write in between is there once."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    async with strongroom.connect_supabase(url, SERVICE, timeout=5) as store:
        with pytest.raises(Unavailable):
            await store.tenants.find(tenant_id="acme")
        with postgrest(project.url(user="authenticator"), port=port):
            talk = await new_talk(store)
        with pytest.raises(Unavailable):
            await store.messages.append(**at(talk), messages=[said("lost?")])
        with postgrest(project.url(user="authenticator"), port=port):
            message = NewMessage(id=fresh("m"), role="user", parts=[TextPart(text="once")])
            for _ in range(2):
                await store.messages.append(**at(talk), messages=[message])
            assert await store.messages.count(**at(talk)) == 1


async def test_an_answer_that_is_lost_after_the_commit_is_asked_for_again(
    api: PostgrestStandIn,
) -> None:
    """The first answer never arrives: the retry finds the message there, and it is there once."""
    async with strongroom.connect_supabase(api.url, SERVICE) as store:
        talk = await new_talk(store)
        api.lose_next_answer()
        before = api.requests.get("append_messages", 0)
        done = await store.messages.append(**at(talk), messages=[said("once")])
        assert api.requests["append_messages"] - before == 2
        assert done.items[0].outcome == "duplicate"
        assert await store.messages.count(**at(talk)) == 1


async def test_without_url_and_key_or_with_a_client_too_it_says_so(api: PostgrestStandIn) -> None:
    with pytest.raises(strongroom.InvalidArgument, match="project_url and key, or client"):
        async with strongroom.connect_supabase(api.url):
            raise AssertionError
    with pytest.raises(strongroom.InvalidArgument, match="timeout"):
        async with strongroom.connect_supabase(api.url, SERVICE, timeout=0):
            raise AssertionError


async def test_a_real_projects_owner_can_look_as_hosts_and_users_do(
    project: Database, api: PostgrestStandIn
) -> None:
    """What the suite would do on a real project, where only its postgres can log in."""
    async with strongroom.connect_supabase(api.url, SERVICE) as store:
        talk = await new_talk(store)
    look = LookAt(owner_url=project.migrator_url)
    for principal_id in (None, OWNER):
        seen = await look(tenant_id=talk.tenant_id, principal_id=principal_id)
        assert seen["conversations"] == {talk.tenant_id}
    assert (await look(tenant_id=talk.tenant_id, principal_id="eve"))[
        "conversations"
    ] == frozenset()
