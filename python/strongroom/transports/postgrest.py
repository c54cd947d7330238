"""The way to the database over Supabase's API: one rpc call of PostgREST, in one transaction of its own."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
from supabase import AsyncClient

from strongroom.errors import MissingCapability, Unavailable
from strongroom.models.health import TextPolicy
from strongroom.transports.access_tokens import AccessToken, present
from strongroom.transports.api_answers import Refusal, rows_of
from strongroom.transports.base import (
    Argument,
    Arguments,
    Bytes,
    Document,
    OneProcess,
    Transport,
    storable,
)
from strongroom.transports.database_errors import database_error

ATTEMPTS = 5
"""How often a call is tried in all, when there was no answer or the database asks for it."""


def _plain(argument: Argument) -> Any:
    """Return an argument as it goes into the JSON of a request."""
    if isinstance(argument, Document):
        return argument.value
    if isinstance(argument, Bytes):
        return [f"\\x{value.hex()}" for value in argument.values]
    return argument


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class PostgrestTransport:
    """Calls through a ``supabase`` client: one HTTP round trip and one transaction each."""

    def __init__(
        self,
        client: AsyncClient,
        *,
        access_token: AccessToken | None = None,
        text_policy: TextPolicy = "reject",
        timeout: float = 30.0,
    ) -> None:
        """Use a client that is open.

        Args:
            client: ours or the caller's; a session that it is signed in with is followed.
            access_token: whom to act as instead: a JWT, or a function that returns the present one.
            text_policy: what to do with text that PostgreSQL cannot hold.
            timeout: seconds that one call may take in all, with its retries.
        """
        self.client = client
        self.text_policy: TextPolicy = text_policy
        self._access_token = access_token
        self._timeout = timeout
        self._process = OneProcess()

    async def token(self) -> str | None:
        """Return the present token of the user; None follows the client's own session or key."""
        return await present(self._access_token)

    async def present_token(self) -> str:
        """Return the token that calls are made with now: given, of the client's session, or its key."""
        token = await self.token()
        if token is not None:
            return token
        session = await self.client.auth.get_session()
        return session.access_token if session else self.client.supabase_key

    async def call(self, function: str, arguments: Arguments) -> str:
        """Call one function, again when there was no answer: every write can be repeated."""
        return _json(await self._call(function, arguments))

    async def call_for_bytes(
        self, function: str, arguments: Arguments
    ) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes, which come as hexadecimal digits."""
        rows = await self._call(function, arguments)
        if not rows:
            return "[]", []
        row = rows[0]
        return _json(row["document"]), [
            None if data is None else bytes.fromhex(data.removeprefix("\\x"))
            for data in row["data"]
        ]

    async def _call(self, function: str, arguments: Arguments) -> list[Any]:
        self._process.check()
        ready = storable(arguments, self.text_policy)
        body = {f"p_{name}": _plain(value) for name, value in ready.items()}
        try:
            async with asyncio.timeout(self._timeout):
                return await self._with_retries(function, body)
        except Refusal as refusal:
            raise refusal.error() from refusal
        except TimeoutError as error:
            raise Unavailable(
                f"no answer within {self._timeout:g} seconds",
                hint="The call may be repeated. Raise timeout, or look what it waits for.",
            ) from error
        except (httpx.HTTPError, OSError) as error:
            raise database_error(None, str(error) or type(error).__name__) from error

    async def _with_retries(self, function: str, body: dict[str, Any]) -> list[Any]:
        renewed = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._once(function, body)
            except (httpx.TransportError, httpx.DecodingError):
                if attempt == ATTEMPTS:
                    raise
            except Refusal as refusal:
                if refusal.is_of_the_token() and callable(self._access_token) and not renewed:
                    # It expired on the way: the function is asked for another one, once.
                    renewed = True
                    continue
                if attempt == ATTEMPTS or not refusal.is_worth_repeating():
                    raise
            # Full jitter: 0 to 50, 100, 200, 400 milliseconds.
            await asyncio.sleep(random.uniform(0, 0.05 * 2 ** (attempt - 1)))  # noqa: S311
        raise AssertionError

    async def _once(self, function: str, body: dict[str, Any]) -> list[Any]:
        api = self.client.schema("strongroom")
        token = await self.token()
        if token is not None:
            api.auth(token)
        # Not through the client's own method: it hides the status, and takes any body for rows.
        answer = await api.session.request(
            "POST",
            str(api.base_url.joinpath("rpc", function)),
            content=_json(body).encode(),
            headers={**api.headers, "Content-Type": "application/json", "Prefer": "count=exact"},
            auth=None if "Authorization" in api.headers else api.session.auth,
            follow_redirects=False,
        )
        return rows_of(function, answer)

    def unit_of_work(self, tenant_id: str) -> AbstractAsyncContextManager[Transport]:
        """Refuse: every call over the API is a transaction of its own."""
        raise MissingCapability(
            "units of work need the capability 'transactions', which the Supabase API lacks",
            detail={"capability": "transactions", "tenant_id": tenant_id},
            hint="Connect over psycopg (postgresql://...), or use a call that does it all, such as"
            " runs.finish.",
        )
