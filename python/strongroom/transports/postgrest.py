"""The way to the database over Supabase's API: one rpc call of PostgREST, in one transaction of its own."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import httpx
from postgrest.exceptions import APIError
from postgrest.types import CountMethod
from supabase import AsyncClient

from strongroom.errors import (
    LimitExceeded,
    MissingCapability,
    PermissionDenied,
    SchemaVersionError,
    StrongroomError,
    Unavailable,
)
from strongroom.models.health import TextPolicy
from strongroom.transports.access_tokens import AccessToken, present
from strongroom.transports.base import Argument, Arguments, Bytes, Document, Transport, storable
from strongroom.transports.database_errors import database_error, is_worth_repeating

ATTEMPTS = 5
"""How often a call is tried in all, when there was no answer or the database asks for it."""

_NO_DATABASE = {"PGRST000", "PGRST001", "PGRST002", "PGRST003"}
"""PostgREST has no connection to the database, or no schema cache yet."""

_BAD_TOKEN = {"PGRST300", "PGRST301", "PGRST302", "PGRST303"}
_GATEWAY = {"500", "502", "503", "504", "520", "521", "522", "523", "524", "429"}

SQLSTATE_LENGTH = 5

_EXPOSE = (
    "Expose it: on hosted Supabase under Project Settings > API > Exposed schemas; locally"
    " `schemas` of [api] in supabase/config.toml."
)


def api_error(error: APIError) -> StrongroomError:
    """Return our error for what PostgREST, or a gateway before it, said."""
    code = str(error.code or "")
    message = error.message or code
    if code in _BAD_TOKEN:
        return PermissionDenied(
            f"the API refused the token: {message}",
            detail={"api_code": code},
            hint="Sign in again, or give access_token as a function that returns a fresh token.",
        )
    if code == "PGRST106":
        return SchemaVersionError(
            "schema strongroom is not exposed by the API", detail={"api_code": code}, hint=_EXPOSE
        )
    if code in ("PGRST202", "PGRST203"):
        return SchemaVersionError(
            message,
            detail={"api_code": code},
            hint="Push the migrations of this package's version (`supabase db push`); they tell the API"
            " to reload its schema cache.",
        )
    if code in _NO_DATABASE or code in _GATEWAY:
        return Unavailable(
            f"the API could not answer: {message}",
            detail={"api_code": code},
            hint="The call may be repeated: every write is idempotent or versioned.",
        )
    if code.startswith("PGRST") or len(code) != SQLSTATE_LENGTH:
        return StrongroomError(
            f"the API refused the call: {message}",
            detail={"api_code": code, "api_detail": error.details},
            hint=error.hint,
        )
    return database_error(code, message, error.details, error.hint)


def _is_worth_repeating(error: Exception) -> bool:
    if isinstance(error, APIError):
        code = str(error.code or "")
        return is_worth_repeating(code) or code in _NO_DATABASE or code in _GATEWAY
    return isinstance(error, httpx.TransportError)


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
    ) -> tuple[str, dict[str, bytes]]:
        """Call a function whose row has bytes, which come as hexadecimal digits."""
        rows = await self._call(function, arguments)
        if not rows:
            return "[]", {}
        row = rows[0]
        found = (bytes.fromhex(data.removeprefix("\\x")) for data in row["data"])
        return _json(row["document"]), dict(zip(row["names"], found, strict=True))

    async def _call(self, function: str, arguments: Arguments) -> list[Any]:
        ready = storable(arguments, self.text_policy)
        body = {f"p_{name}": _plain(value) for name, value in ready.items()}
        try:
            async with asyncio.timeout(self._timeout):
                return await self._with_retries(function, body)
        except APIError as error:
            raise api_error(error) from error
        except (httpx.HTTPError, OSError, TimeoutError) as error:
            raise database_error(None, str(error) or type(error).__name__) from error

    async def _with_retries(self, function: str, body: dict[str, Any]) -> list[Any]:
        renewed = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._once(function, body)
            except (APIError, httpx.TransportError) as error:
                if (
                    isinstance(error, APIError)
                    and str(error.code) in _BAD_TOKEN
                    and callable(self._access_token)
                    and not renewed
                ):
                    # It expired on the way: the function is asked for another one, once.
                    renewed = True
                    continue
                if attempt == ATTEMPTS or not _is_worth_repeating(error):
                    raise
            # Full jitter: 0 to 50, 100, 200, 400 milliseconds.
            await asyncio.sleep(random.uniform(0, 0.05 * 2 ** (attempt - 1)))  # noqa: S311
        raise AssertionError

    async def _once(self, function: str, body: dict[str, Any]) -> list[Any]:
        api = self.client.schema("strongroom")
        token = await self.token()
        if token is not None:
            api.auth(token)
        answer = await api.rpc(function, body, count=CountMethod.exact).execute()
        rows = cast("list[Any]", answer.data)
        if answer.count is not None and answer.count > len(rows):
            # The API cuts what is longer than its max-rows, and says so only in a count. A write may
            # have happened; it can be repeated.
            raise LimitExceeded(
                f"the API returned {len(rows)} of {answer.count} rows of {function}",
                detail={"function": function, "returned": len(rows), "rows": answer.count},
                hint="Raise max-rows of the API (at least 1,000) under Project Settings > API, or ask"
                " for smaller pages.",
            )
        return rows

    def unit_of_work(self, tenant_id: str) -> AbstractAsyncContextManager[Transport]:
        """Refuse: every call over the API is a transaction of its own."""
        raise MissingCapability(
            "units of work need the capability 'transactions', which the Supabase API lacks",
            detail={"capability": "transactions", "tenant_id": tenant_id},
            hint="Connect over psycopg (postgresql://...), or use a call that does it all, such as"
            " runs.finish.",
        )
