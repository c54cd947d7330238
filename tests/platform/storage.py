"""A stand-in for Supabase Storage's HTTP interface, on loopback, on the real tables ``storage.*``.

No Storage server can be had for these tests, so this is NOT Storage: it is its documented behaviour as far
as strongroom depends on it. What is real: the routes and bodies of the client, row security on
storage.objects as the role of the token, uploads that refuse what is there, ranges, signed URLs that expire,
deletes through the API alone.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import jwt
import psycopg
from psycopg import sql
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.platform.postgrest import SECRET, Refused
from tests.servers import Database

NAME = re.compile(r"(\w|/|!|-|\.|\*|'|\(|\)| |&|\$|@|=|;|:|\+|,|\?)*", re.ASCII)
LONGEST = 1024
"""What names Storage takes."""


class StorageStandIn:
    """Routes for a PostgREST stand-in; see the module.

    Attributes:
        contents: bytes, by bucket and name.
        is_down: while true every request fails, as when the service restarts.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.contents: dict[tuple[str, str], bytes] = {}
        self.is_down = False
        path = "/storage/v1/object"
        self.routes = (
            Route(path + "/list-v2/{bucket}", self._handle, methods=["POST"], name="list"),
            Route(path + "/info/{bucket}/{name:path}", self._handle, methods=["GET"], name="info"),
            Route(path + "/sign/{bucket}/{name:path}", self._handle, methods=["POST"], name="sign"),
            Route(
                path + "/sign/{bucket}/{name:path}", self._handle, methods=["GET"], name="signed"
            ),
            Route(path + "/{bucket}", self._handle, methods=["DELETE"], name="remove"),
            Route(path + "/{bucket}/{name:path}", self._handle, methods=["POST"], name="upload"),
            Route(path + "/{bucket}/{name:path}", self._handle, methods=["GET"], name="read"),
        )

    async def _handle(self, request: Request) -> Response:
        work = getattr(self, f"_{request.scope['route'].name}")
        try:
            self._check_up()
            fields: dict[str, Any] = {**request.path_params}
            if request.scope["route"].name == "upload":
                async with request.form() as form:
                    file: Any = form["file"]
                    fields["content"] = await file.read()
                    fields["media_type"] = file.content_type
                    fields["metadata"] = json.loads(str(form.get("metadata", "{}")))
            elif request.method in ("POST", "DELETE"):
                fields["body"] = json.loads(await request.body() or b"{}")
            return await run_in_threadpool(work, request, **fields)
        except Refused as refusal:
            code = refusal.body["code"]
            body = {"statusCode": str(refusal.status), "error": code, "message": str(refusal)}
            # Storage says most of its refusals with status 400, and the real one in the body.
            status = refusal.status if refusal.status >= 500 else 400
            return Response(json.dumps(body), status, None, "application/json")
        except psycopg.errors.InsufficientPrivilege:
            body = {
                "statusCode": "403",
                "error": "Unauthorized",
                "message": "new row violates row-level security policy",
            }
            return Response(json.dumps(body), 400, None, "application/json")

    def _check_up(self) -> None:
        if self.is_down:
            raise Refused(503, "ServiceUnavailable", "restarting")

    @contextlib.contextmanager
    def _as(self, request: Request) -> Iterator[psycopg.Connection[Any]]:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            claims = jwt.decode(token, SECRET, algorithms=["HS256"], options={"verify_aud": False})
        except jwt.InvalidTokenError as error:
            raise Refused(403, "Unauthorized", str(error)) from error
        with self._database.connect() as connection, connection.transaction():
            connection.execute(
                sql.SQL("set local role {}").format(sql.Identifier(str(claims["role"])))
            )
            connection.execute(
                "select set_config('request.jwt.claims', %s, true),"
                " set_config('storage.allow_delete_query', 'true', true)",
                [json.dumps(claims)],
            )
            yield connection

    def _row(self, connection: psycopg.Connection[Any], bucket: str, name: str) -> tuple[Any, ...]:
        row = connection.execute(
            "select id::text, metadata, user_metadata, to_jsonb(created_at) #>> '{}' from storage.objects"
            " where bucket_id = %s and name = %s",
            [bucket, name],
        ).fetchone()
        if row is None:
            raise Refused(404, "not_found", "Object not found")
        return row

    def _upload(self, request: Request, bucket: str, name: str, **fields: Any) -> Response:
        if not NAME.fullmatch(name) or len(name) > LONGEST or "//" in name:
            raise Refused(400, "InvalidKey", f"Invalid key: {name}")
        content: bytes = fields["content"]
        metadata = {"size": len(content), "mimetype": fields["media_type"]}
        with self._as(request) as connection:
            try:
                connection.execute(
                    "insert into storage.objects (bucket_id, name, metadata, user_metadata)"
                    " values (%s, %s, %s::jsonb, %s::jsonb)",
                    [bucket, name, json.dumps(metadata), json.dumps(fields["metadata"])],
                )
            except psycopg.errors.UniqueViolation as error:
                raise Refused(409, "Duplicate", "The resource already exists") from error
            except psycopg.errors.ForeignKeyViolation as error:
                raise Refused(404, "Bucket not found", "Bucket not found") from error
            self.contents[bucket, name] = content
        return _json({"Id": "1", "Key": f"{bucket}/{name}"})

    def _read(self, request: Request, bucket: str, name: str) -> Response:
        with self._as(request) as connection:
            self._row(connection, bucket, name)
        return _ranged(request, self.contents[bucket, name])

    def _info(self, request: Request, bucket: str, name: str) -> Response:
        with self._as(request) as connection:
            number, metadata, user_metadata, created_at = self._row(connection, bucket, name)
        return _json(
            {
                "id": number,
                "name": name,
                "bucket_id": bucket,
                "size": metadata["size"],
                "content_type": metadata["mimetype"],
                "metadata": user_metadata,
                "created_at": created_at,
            }
        )

    def _list(self, request: Request, bucket: str, body: dict[str, Any]) -> Response:
        limit = min(body.get("limit", 100), 1000)
        with self._as(request) as connection:
            rows = connection.execute(
                "select id::text, name, to_jsonb(created_at) #>> '{}', metadata from storage.objects"
                ' where bucket_id = %s and starts_with(name, %s) and name collate "C" > %s'
                ' order by name collate "C" limit %s',
                [bucket, body.get("prefix", ""), body.get("cursor", ""), limit + 1],
            ).fetchall()
        objects = [
            {"id": i, "name": n, "key": n, "created_at": c, "updated_at": c, "metadata": m}
            for i, n, c, m in rows[:limit]
        ]
        more = len(rows) > limit
        cursor = {"nextCursor": rows[limit - 1][1]} if more else {}
        return _json({"hasNext": more, "folders": [], "objects": objects, **cursor})

    def _remove(self, request: Request, bucket: str, body: dict[str, Any]) -> Response:
        with self._as(request) as connection:
            rows = connection.execute(
                "delete from storage.objects where bucket_id = %s and name = any (%s)"
                " returning name",
                [bucket, body["prefixes"]],
            ).fetchall()
        for (name,) in rows:
            self.contents.pop((bucket, name), None)
        return _json([{"name": name} for (name,) in rows])

    def _sign(self, request: Request, bucket: str, name: str, body: dict[str, Any]) -> Response:
        with self._as(request) as connection:
            self._row(connection, bucket, name)
        claims = {"url": f"{bucket}/{name}", "exp": int(time.time() + int(body["expiresIn"]))}
        token = jwt.encode(claims, SECRET, algorithm="HS256")
        return _json({"signedURL": f"/object/sign/{bucket}/{name}?token={token}"})

    def _signed(self, request: Request, bucket: str, name: str) -> Response:
        try:
            claims = jwt.decode(request.query_params["token"], SECRET, algorithms=["HS256"])
        except jwt.InvalidTokenError as error:
            raise Refused(400, "InvalidJWT", str(error)) from error
        if claims["url"] != f"{bucket}/{name}" or (bucket, name) not in self.contents:
            raise Refused(404, "not_found", "Object not found")
        return _ranged(request, self.contents[bucket, name])


def _ranged(request: Request, content: bytes) -> Response:
    found = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
    if not found:
        return Response(content, media_type="application/octet-stream")
    start, end = int(found[1]), int(found[2]) + 1
    return Response(content[start:end], 206, None, "application/octet-stream")


def _json(body: object) -> Response:
    return Response(json.dumps(body), media_type="application/json")
