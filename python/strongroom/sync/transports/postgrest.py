# Written by scripts/generate_sync.py from strongroom/transports/postgrest.py: change that, and run `make generate`.
"""The way to the database over Supabase's API: one rpc call of PostgREST, in one transaction of its own."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager
from typing import Any

import httpx
from supabase import Client

from strongroom import blocking
from strongroom.errors import MissingCapability, Unavailable
from strongroom.models.health import TextPolicy
from strongroom.sync.transports.access_tokens import AccessToken, present
from strongroom.sync.transports.base import Transport
from strongroom.transports.api_answers import Refusal, rows_of
from strongroom.transports.base import Arguments, OneProcess, storable
from strongroom.transports.database_errors import database_error
from strongroom.transports.postgrest import ATTEMPTS, _json, _plain


class PostgrestTransport:
    """Calls through a ``supabase`` client: one HTTP round trip and one transaction each."""

    def __init__(
        self,
        client: Client,
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

    def token(self) -> str | None:
        """Return the present token of the user; None follows the client's own session or key."""
        return present(self._access_token)

    def present_token(self) -> str:
        """Return the token that calls are made with now: given, of the client's session, or its key."""
        token = self.token()
        if token is not None:
            return token
        session = self.client.auth.get_session()
        return session.access_token if session else self.client.supabase_key

    def call(self, function: str, arguments: Arguments) -> str:
        """Call one function, again when there was no answer: every write can be repeated."""
        return _json(self._call(function, arguments))

    def call_for_bytes(self, function: str, arguments: Arguments) -> tuple[str, list[bytes | None]]:
        """Call a function whose row has bytes, which come as hexadecimal digits."""
        rows = self._call(function, arguments)
        if not rows:
            return "[]", []
        row = rows[0]
        return _json(row["document"]), [
            None if data is None else bytes.fromhex(data.removeprefix("\\x"))
            for data in row["data"]
        ]

    def _call(self, function: str, arguments: Arguments) -> list[Any]:
        self._process.check()
        ready = storable(arguments, self.text_policy)
        body = {f"p_{name}": _plain(value) for name, value in ready.items()}
        try:
            with blocking.timeout(self._timeout):
                return self._with_retries(function, body)
        except Refusal as refusal:
            raise refusal.error() from refusal
        except TimeoutError as error:
            raise Unavailable(
                f"no answer within {self._timeout:g} seconds",
                hint="The call may be repeated. Raise timeout, or look what it waits for.",
            ) from error
        except (httpx.HTTPError, OSError) as error:
            raise database_error(None, str(error) or type(error).__name__) from error

    def _with_retries(self, function: str, body: dict[str, Any]) -> list[Any]:
        renewed = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(function, body)
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
            blocking.sleep(random.uniform(0, 0.05 * 2 ** (attempt - 1)))  # noqa: S311
        raise AssertionError

    def _once(self, function: str, body: dict[str, Any]) -> list[Any]:
        api = self.client.schema("strongroom")
        token = self.token()
        if token is not None:
            api.auth(token)
        # Not through the client's own method: it hides the status, and takes any body for rows.
        answer = api.session.request(
            "POST",
            str(api.base_url.joinpath("rpc", function)),
            content=_json(body).encode(),
            headers={**api.headers, "Content-Type": "application/json", "Prefer": "count=exact"},
            auth=None if "Authorization" in api.headers else api.session.auth,
            follow_redirects=False,
        )
        return rows_of(function, answer)

    def unit_of_work(self, tenant_id: str) -> AbstractContextManager[Transport]:
        """Refuse: every call over the API is a transaction of its own."""
        raise MissingCapability(
            "units of work need the capability 'transactions', which the Supabase API lacks",
            detail={"capability": "transactions", "tenant_id": tenant_id},
            hint="Connect over psycopg (postgresql://...), or use a call that does it all, such as"
            " runs.finish.",
        )
