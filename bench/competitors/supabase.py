"""strongroom in databases that look like a Supabase project's, with Realtime and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import psycopg

import strongroom
from bench.competitors.product import PlainConnection, Strongroom
from bench.context import DEEP
from bench.loading import TENANT
from bench.server import Server

SHIM = Path(__file__).parents[2] / "tests" / "platform" / "shim.sql"
SUPERUSER = "supabase_admin"
"""On Supabase the name postgres belongs to a role that is no superuser."""

Realtime = Literal["realtime", "no realtime", "no triggers"]


class SupabaseStrongroom(Strongroom):
    """Installed as postgres, which owns the schema there."""

    def __init__(self, realtime: Realtime) -> None:
        super().__init__(f"strongroom_{realtime}".replace(" ", "_"), DEEP, (DEEP,))
        self.name = f"strongroom, {realtime}"
        self._realtime = realtime

    async def install(self, server: Server) -> None:
        with server.connect(self.database) as connection:
            connection.execute(SHIM.read_bytes())
            if self._realtime == "realtime":
                # Partitions for the broadcasts, as the Realtime server makes them.
                connection.execute("select shim.connect_realtime()")
            else:
                connection.execute("drop publication supabase_realtime")
                connection.execute("drop schema realtime cascade")
        async with strongroom.connect(server.dsn(self.database, "postgres"), schema_mode="auto"):
            pass
        if self._realtime == "no triggers":
            with server.connect(self.database) as connection:
                connection.execute(
                    "do $$ declare v_drop text; begin"
                    " for v_drop in"
                    " select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)"
                    " from pg_trigger as t"
                    " inner join pg_proc as p on p.oid = t.tgfoid"
                    " where p.proname like 'tell\\_of\\_%'"
                    " loop execute v_drop; end loop; end $$"
                )

    async def check(self, server: Server) -> None:
        """Say so when what is compared is not what its name says: a lost broadcast costs little."""
        if self._realtime != "realtime":
            return
        with server.connect(self.database) as connection:
            before = connection.execute("select count(*) from realtime.messages").fetchone()
            await self.append(0, 1)
            after = connection.execute("select count(*) from realtime.messages").fetchone()
        assert before is not None
        assert after == (before[0] + 1,)

    async def sign_in(self, server: Server) -> PlainConnection:
        """A warm connection as PostgREST's, with the claims of the owner of all conversations."""
        connection = await psycopg.AsyncConnection.connect(
            server.dsn(self.database, "authenticator"), autocommit=True, prepare_threshold=None
        )
        self._stack.push_async_callback(connection.close)
        claims = {"sub": "ada", "role": "authenticated", "app_metadata": {"tenant_id": TENANT}}
        await connection.execute(
            "select set_config('request.jwt.claims', %s, false), set_config('role', %s, false)",
            [json.dumps(claims), claims["role"]],
        )
        return PlainConnection(connection)
