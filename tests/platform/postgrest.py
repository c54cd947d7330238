"""A stand-in for PostgREST's rpc protocol, on loopback, in front of a real database.

No PostgREST binary can be had for these tests, so this is NOT PostgREST: it is its documented behaviour as
far as strongroom depends on it. What is real: the database, the roles, the claims, one transaction per
request as ``authenticator``, functions chosen by argument names, typed arguments from one JSON object, the
cut at max-rows, the schema cache and its reload by NOTIFY, error codes and HTTP statuses. The same tests run
against a real project with ``STRONGROOM_TEST_SUPABASE_URL`` set.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
import psycopg
import uvicorn
from psycopg import sql
from psycopg_pool import ConnectionPool
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SECRET = "a secret of at least thirty-two characters, for tests"
"""What the stand-in's JWTs are signed with."""

RESERVED = {"select", "order", "limit", "offset", "columns"}

STATUSES = {
    "42501": 403,
    "23505": 409,
    "23503": 409,
    "40001": 500,
    "P0001": 400,
    "42883": 404,
    "42P01": 404,
    "25006": 405,
    "54000": 413,
    "57014": 500,
}
"""HTTP statuses of SQLSTATEs; anything that is not here, class SR included, is 400."""

CLASSES = {"08": 503, "53": 503, "54": 500, "57": 500, "58": 500, "XX": 500, "28": 403, "0L": 403}


KEYS_LAST = 10 * 365 * 86_400
"""Seconds a project's own keys are good for, as Supabase makes them; a user's token lasts an hour."""


def make_token(
    role: str, *, secret: str = SECRET, expires_in: float = KEYS_LAST, **claims: Any
) -> str:
    """Return a signed JWT, as Supabase makes them."""
    now = int(time.time())
    body = {"role": role, "iat": now, "exp": int(now + expires_in), **claims}
    return jwt.encode(body, secret, algorithm="HS256")


def user_token(tenant_id: str, principal_id: str, *, expires_in: float = 3600, **more: Any) -> str:
    """Return the access token of a signed-in user."""
    return make_token(
        "authenticated",
        expires_in=expires_in,
        sub=principal_id,
        app_metadata={"tenant_id": tenant_id},
        user_metadata={"tenant_id": "forged", "role_ids": ["admin"]},
        **more,
    )


class Refused(Exception):
    """An answer of the API itself."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message, "details": None, "hint": hint}


@dataclass(frozen=True)
class Argument:
    name: str
    type: str
    is_optional: bool


@dataclass(frozen=True)
class Function:
    schema: str
    name: str
    arguments: tuple[Argument, ...]
    is_volatile: bool
    returns_set: bool
    returns_row: bool

    def takes(self, names: set[str]) -> bool:
        known = {argument.name for argument in self.arguments}
        needed = {argument.name for argument in self.arguments if not argument.is_optional}
        return needed <= names <= known


_FUNCTIONS = """
    select
        n.nspname,
        p.proname,
        coalesce(
            (
                select json_agg(json_build_array(
                    a.name, format_type(a.type, null), a.place > p.pronargs - p.pronargdefaults
                ) order by a.place)
                from unnest(
                    coalesce(p.proargnames[1:p.pronargs], '{}'), p.proargtypes::oid[]
                ) with ordinality as a (name, type, place)
            ),
            '[]'
        ),
        p.provolatile = 'v',
        p.proretset,
        t.typtype = 'c' or coalesce(p.proargmodes::text[] && '{t,b,o}', false)
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    join pg_catalog.pg_type as t on t.oid = p.prorettype
    where n.nspname = any (%s)
"""


class PostgrestStandIn:
    """One server on a free port of the loopback interface; see the module.

    Attributes:
        url: the project's URL, for ``supabase`` clients.
        requests: how many requests it has answered, by function.
    """

    def __init__(
        self,
        authenticator_url: str,
        *,
        schemas: Sequence[str] = ("strongroom",),
        max_rows: int = 1000,
        secret: str = SECRET,
        port: int = 0,
        routes: Sequence[Any] = (),
    ) -> None:
        self.schemas = tuple(schemas)
        self.max_rows = max_rows
        self.requests: dict[str, int] = {}
        self._secret = secret
        self._authenticator_url = authenticator_url
        self._cache: dict[tuple[str, str], list[Function]] = {}
        self._stopping = threading.Event()
        self._listening = threading.Event()
        self._reloaded = threading.Event()
        self._loses_answers = 0
        self._pool = ConnectionPool(
            authenticator_url, min_size=1, max_size=8, kwargs={"autocommit": True}, open=True
        )
        self._load_cache()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._listening.wait(20)
        app = Starlette(
            routes=[
                Route("/rest/v1/rpc/{function}", self._rpc, methods=["GET", "POST", "HEAD"]),
                *routes,
            ]
        )
        # Named as TCP, so that asyncio sends without delay: else each answer, written in two parts,
        # waits 40 ms for an acknowledgement once a connection is no longer young.
        self._socket = socket.socket(proto=socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(app, log_level="error", lifespan="off", ws="websockets-sansio")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self._server.started

    def close(self) -> None:
        self._stopping.set()
        self._server.should_exit = True
        self._thread.join(20)
        self._listener.join(20)
        self._pool.close()
        self._socket.close()

    # The schema cache ------------------------------------------------------------------------

    def _load_cache(self) -> None:
        cache: dict[tuple[str, str], list[Function]] = {}
        with self._pool.connection() as connection:
            for schema, name, arguments, *facts in connection.execute(
                _FUNCTIONS, [list(self.schemas)]
            ).fetchall():
                function = Function(schema, name, tuple(Argument(*a) for a in arguments), *facts)
                cache.setdefault((schema, name), []).append(function)
        self._cache = cache

    def _listen(self) -> None:
        with psycopg.connect(self._authenticator_url, autocommit=True) as connection:
            connection.execute("listen pgrst")
            self._listening.set()
            while not self._stopping.is_set():
                with contextlib.suppress(psycopg.OperationalError):
                    for notice in connection.notifies(timeout=0.2):
                        if notice.payload in ("", "reload schema"):
                            self._load_cache()
                            self._reloaded.set()

    def wait_for_reload(self) -> None:
        """Wait until a NOTIFY has made it load its schema cache again."""
        assert self._reloaded.wait(20)

    def lose_next_answer(self) -> None:
        """Do what the next request asks, commit, and then cut its connection."""
        self._loses_answers = 1

    # Requests --------------------------------------------------------------------------------

    async def _rpc(self, request: Request) -> Response:
        body = await request.body()
        answer = await run_in_threadpool(self._answer, request, body)
        if self._loses_answers:
            self._loses_answers -= 1
            return _Cut()
        return answer

    def _answer(self, request: Request, body: bytes) -> Response:
        try:
            return self._call(request, body)
        except Refused as refusal:
            return _json(refusal.body, refusal.status)
        except psycopg.Error as error:
            return self._database_error(request, error)

    def _call(self, request: Request, body: bytes) -> Response:
        claims = self.claims(request.headers)
        role = str(claims.get("role", "anon"))
        schema = request.headers.get(
            "content-profile" if request.method == "POST" else "accept-profile", self.schemas[0]
        )
        if schema not in self.schemas:
            raise Refused(
                406,
                "PGRST106",
                f"Invalid schema: {schema}",
                f"Only the following schemas are exposed: {', '.join(self.schemas)}",
            )
        name = request.path_params["function"]
        if request.method == "POST":
            try:
                arguments = json.loads(body or b"{}")
            except ValueError as error:
                raise Refused(400, "PGRST102", "Empty or invalid json") from error
            if not isinstance(arguments, dict):
                raise Refused(400, "PGRST102", "Empty or invalid json")
        else:
            arguments = {k: v for k, v in request.query_params.items() if k not in RESERVED}
            body = json.dumps(arguments).encode()
        function = self._choose(schema, name, set(arguments))
        self.requests[name] = self.requests.get(name, 0) + 1
        is_counted = "count=exact" in request.headers.get("prefer", "")
        read_only = request.method != "POST" or not function.is_volatile
        with self._pool.connection() as connection, connection.transaction():
            if read_only:
                connection.execute("set transaction read only")
            self._set_up(connection, request, role, claims, schema)
            rows, total, shown = connection.execute(
                self._statement(function, set(arguments)),
                {"body": body.decode(), "max": self.max_rows},
            ).fetchone() or ("[]", 0, 0)
        end = shown - 1
        headers = {
            "content-range": f"{f'0-{end}' if shown else '*'}/{total if is_counted else '*'}"
        }
        status = 206 if is_counted and shown < total else 200
        if "vnd.pgrst.object" in request.headers.get("accept", ""):
            if shown != 1:
                raise Refused(406, "PGRST116", "Cannot coerce the result to a single JSON object")
            return Response(
                json.dumps(json.loads(rows)[0], ensure_ascii=False),
                status,
                headers,
                "application/vnd.pgrst.object+json",
            )
        text = rows if function.returns_set else json.dumps(json.loads(rows)[0], ensure_ascii=False)
        return Response(text, status, headers, "application/json")

    def claims(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """Return the verified claims of a request, as the API and its gateway do."""
        if not headers.get("apikey"):
            raise Refused(401, "PGRST301", "No API key found in request")
        token = headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not token:
            return {"role": "anon"}
        return self.verified(token)

    def verified(self, token: str) -> dict[str, Any]:
        """Return the claims in a token, or refuse it."""
        try:
            return jwt.decode(
                token, self._secret, algorithms=["HS256"], options={"verify_aud": False}
            )
        except jwt.ExpiredSignatureError as error:
            raise Refused(401, "PGRST303", "JWT expired") from error
        except jwt.InvalidTokenError as error:
            raise Refused(401, "PGRST301", f"JWT invalid: {error}") from error

    def _choose(self, schema: str, name: str, names: set[str]) -> Function:
        fitting = [f for f in self._cache.get((schema, name), []) if f.takes(names)]
        if not fitting:
            listed = ", ".join(sorted(names))
            raise Refused(
                404,
                "PGRST202",
                f"Could not find the function {schema}.{name}({listed}) in the schema cache",
                "Reload the schema cache, or check the names of the arguments.",
            )
        if len(fitting) > 1:
            raise Refused(
                300, "PGRST203", f"Could not choose the best candidate of {schema}.{name}"
            )
        return fitting[0]

    @staticmethod
    def _set_up(
        connection: psycopg.Connection[Any],
        request: Request,
        role: str,
        claims: dict[str, Any],
        schema: str,
    ) -> None:
        settings = {
            "search_path": f'"{schema}", "public", "extensions"',
            "role": role,
            "request.jwt.claims": json.dumps(claims),
            "request.method": request.method,
            "request.path": request.url.path,
            "request.headers": json.dumps(dict(request.headers)),
        }
        connection.execute(
            sql.SQL("select {}").format(
                sql.SQL(", ").join(
                    sql.SQL("set_config({}, {}, true)").format(key, value)
                    for key, value in settings.items()
                )
            )
        )

    @staticmethod
    def _statement(function: Function, names: set[str]) -> sql.Composed:
        given = [argument for argument in function.arguments if argument.name in names]
        call = sql.SQL("{}.{}({})").format(
            sql.Identifier(function.schema),
            sql.Identifier(function.name),
            sql.SQL(", ").join(
                sql.SQL("{} := (select {} from arguments)").format(
                    sql.Identifier(argument.name), sql.Identifier(argument.name)
                )
                for argument in given
            ),
        )
        columns = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(argument.name), sql.SQL(argument.type))
            for argument in given
        )
        arguments = (
            sql.SQL(
                "with body as (select %(body)s::json as b), arguments as"
                " (select a.* from body, json_to_record(body.b) as a ({})), "
            ).format(columns)
            if given
            else sql.SQL("with body as (select %(body)s::json as b), ")
        )
        source = (
            sql.SQL("source as materialized (select r.* from {} as r)").format(call)
            if function.returns_row
            else sql.SQL("source as materialized (select {} as r)").format(call)
        )
        value = sql.SQL("s") if function.returns_row else sql.SQL("s.r")
        return (
            arguments
            + source
            + sql.SQL(
                " select coalesce(json_agg({value}), '[]')::text, (select count(*) from source),"
                " count(*) from (select * from source limit %(max)s) as s"
            ).format(value=value)
        )

    def _database_error(self, request: Request, error: psycopg.Error) -> Response:
        if error.sqlstate is None:
            code = {"code": "PGRST000", "message": str(error), "details": None, "hint": None}
            return _json(code, 503)
        state = error.sqlstate
        status = STATUSES.get(state) or CLASSES.get(state[:2], 400)
        if state == "42501" and not request.headers.get("authorization"):
            status = 401
        if state.startswith("PT"):
            status = int(state[2:])
        diagnosis = error.diag
        return _json(
            {
                "code": state,
                "message": diagnosis.message_primary,
                "details": diagnosis.message_detail,
                "hint": diagnosis.message_hint,
            },
            status,
        )


class _Cut(Response):
    """An answer whose connection breaks in the middle."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        headers = [(b"content-length", b"100")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"[", "more_body": False})


def _json(body: object, status: int) -> Response:
    return Response(json.dumps(body, ensure_ascii=False), status, None, "application/json")


def unverified_claims(token: str) -> dict[str, Any]:
    """Return what a token says, unverified."""
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


@contextlib.contextmanager
def postgrest(authenticator_url: str, **options: Any) -> Iterator[PostgrestStandIn]:
    """Run a stand-in for as long as the block lasts."""
    server = PostgrestStandIn(authenticator_url, **options)
    try:
        yield server
    finally:
        server.close()
