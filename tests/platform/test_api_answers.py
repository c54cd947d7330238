"""What gateways say, and answers that are no rows: typed errors, and repeats where they help."""

from __future__ import annotations

import json

import httpx
import pytest
from supabase import AsyncClientOptions, ClientOptions, create_async_client, create_client

import strongroom
import strongroom.sync
from strongroom.errors import (
    InvalidArgument,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    StrongroomError,
    Unavailable,
)
from tests.platform.postgrest import make_token

URL = "https://project.example"
KEY = make_token("service_role")
PAGE = "<html>" + "secret of a page" * 100 + "</html>"


Answer = tuple[int, bytes, dict[str, str]]


def _json(status: int, body: object) -> Answer:
    return status, json.dumps(body).encode(), {"content-type": "application/json"}


def _page(status: int) -> Answer:
    return status, PAGE.encode(), {"content-type": "text/html"}


ANSWERS: dict[str, tuple[Answer, type[StrongroomError], str, bool]] = {
    "no rows": (_json(200, []), NotFound, "tenant", False),
    "a page for rows": (_page(200), Unavailable, "no JSON rows", True),
    "rows cut in the middle": ((200, b'[{"id": 1', {}), Unavailable, "no JSON rows", True),
    "nothing": ((200, b"", {}), Unavailable, "no JSON rows", True),
    "204": ((204, b"", {}), Unavailable, "no JSON rows", True),
    "no list": (_json(200, {"a": 1}), Unavailable, "no JSON rows", True),
    "wrong key": (_json(401, {"message": "Invalid API key"}), PermissionDenied, "key", False),
    "a wall": (_page(403), PermissionDenied, "403", False),
    "elsewhere": (_page(404), InvalidArgument, "404", False),
    "moved": (
        (301, b"", {"location": "https://other.example/?k=secret"}),
        InvalidArgument,
        "https://other.example/",
        False,
    ),
    "too large": (_page(413), LimitExceeded, "413", False),
    "too many": (_json(429, {"message": "slow down"}), Unavailable, "slow down", True),
    "too late": (_json(408, {"msg": "late"}), Unavailable, "late", True),
    "a bad gateway": (_page(502), Unavailable, "502", True),
    "paused": (_json(540, {"message": "Project paused"}), Unavailable, "paused", True),
    "a code of a gateway's own": (_json(503, {"code": "NO_BACKEND"}), Unavailable, "503", True),
    "an error that is no object": (_json(400, ["x"]), StrongroomError, "400", False),
    "an error of nulls": (_json(400, {"code": None}), StrongroomError, "400", False),
    "bytes that cannot be unpacked": (
        (200, b"plain", {"content-encoding": "gzip"}),
        Unavailable,
        "decompress",
        True,
    ),
    "a session that was ended": (
        _json(500, {"code": "57P05", "message": "idle"}),
        Unavailable,
        "idle",
        True,
    ),
}
"""By what they are: the answer, its error, a word of it, and whether it is asked for again."""


@pytest.mark.parametrize("name", ANSWERS)
async def test_whatever_answers_it_is_our_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, error, told, is_repeated = ANSWERS[name]
    asked = 0

    def respond(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        if request.url.path.endswith("/list_capabilities"):
            return httpx.Response(200, json=[])
        asked += 1
        status, content, headers = answer
        # As a stream: what is packed is unpacked where it is read.
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))

    monkeypatch.setattr("random.uniform", lambda *_: 0)
    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as http:
        client = await create_async_client(URL, KEY, AsyncClientOptions(httpx_client=http))
        async with strongroom.connect_supabase(client=client) as store:
            with pytest.raises(error) as caught:
                await store.tenants.get(tenant_id="acme")
    assert (asked > 1) == is_repeated
    assert told in str(caught.value)
    assert "secret" not in f"{caught.value} {json.dumps(caught.value.detail)} {caught.value.hint}"
    asked = 0
    with httpx.Client(transport=httpx.MockTransport(respond)) as blocking_http:
        blocking = create_client(URL, KEY, ClientOptions(httpx_client=blocking_http))
        with strongroom.sync.connect_supabase(client=blocking) as there, pytest.raises(error):
            there.tenants.get(tenant_id="acme")
    assert (asked > 1) == is_repeated


STORAGE: dict[str, tuple[Answer, type[StrongroomError]]] = {
    "a page for bytes": (_page(200), Unavailable),
    "elsewhere": (_page(404), InvalidArgument),
    "wrong key": (_json(401, {"message": "Invalid API key"}), PermissionDenied),
    "too large": (_page(413), LimitExceeded),
    "too many": (_json(429, {"message": "slow down"}), Unavailable),
    "a bad gateway": (_page(502), Unavailable),
    "no number": (_json(400, {"statusCode": "x", "error": "e", "message": "m"}), StrongroomError),
    "not there": (_json(400, {"statusCode": "404", "error": "e", "message": "m"}), NotFound),
}


@pytest.mark.parametrize("name", STORAGE)
async def test_whatever_answers_for_storage_it_is_our_error_b85(name: str) -> None:
    """A gateway's 404 above all: bytes that seem gone would be given up."""
    (status, content, headers), error = STORAGE[name]

    def respond(request: httpx.Request) -> httpx.Response:
        if "/storage/" not in request.url.path:
            return httpx.Response(200, json=[])
        return httpx.Response(status, headers=headers, content=content)

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client_http:
        client = await create_async_client(URL, KEY, AsyncClientOptions(httpx_client=client_http))
        async with strongroom.connect_supabase(client=client, blobs="supabase:") as store:
            blobs = store.blobs
            for call in (
                lambda: blobs.put(tenant_id="acme", key="k", data=b"x"),
                lambda: blobs.head(tenant_id="acme", key="k"),
                lambda: blobs.delete(tenant_id="acme", key="k"),
                lambda: blobs.list(tenant_id="acme"),
            ):
                with pytest.raises(error) as caught:
                    await call()
                assert "secret" not in f"{caught.value} {caught.value.detail} {caught.value.hint}"
            if error is not NotFound:
                with pytest.raises(error):
                    await blobs.find(tenant_id="acme", key="k")


@pytest.mark.parametrize("url", ["abc", "ftp://x", "https://", "http://host:99999"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument, match="form"):
        async with strongroom.connect_supabase(url, KEY):
            pytest.fail("it opened")
