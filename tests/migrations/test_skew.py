"""A package and a schema of different versions: processes are upgraded one after the other."""

from __future__ import annotations

import datetime as dt
import re

import psycopg
import pytest

import strongroom
from strongroom.conformance.helpers import OWNER, new_tenant
from strongroom.errors import SchemaVersionError
from strongroom.models.usage import NewUsage
from tests.servers import Database

SIGNATURE = """
    select pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.proargnames, p.pronargs
    from pg_proc as p
    where p.oid = pg_catalog.format('strongroom.%%I', %s::text)::regproc
"""


def _answer_otherwise(admin: psycopg.Connection, name: str, *, renames: str | None = None) -> None:
    """Let a function answer as a later version may: with one column more, or another name of one."""
    row = admin.execute(SIGNATURE, [name]).fetchone()
    assert row is not None
    arguments, result, names, count = row
    columns = result.removeprefix("TABLE(").removesuffix(")")
    if renames:
        columns = re.sub(rf"\b{renames} text", "another text", columns)
    given = ", ".join(f"{one} => {one}" for one in (names or [])[:count])
    older = f"{name}_older"
    admin.execute(f"alter function strongroom.{name} rename to {older}")
    admin.execute(
        f"""create function strongroom.{name}({arguments}) returns table ({columns}, newer text)
        language sql security invoker
        begin atomic; select o.*, 'x'::text from strongroom.{older}({given}) as o; end"""
    )
    admin.execute(f"grant execute on function strongroom.{name} to strongroom_host")


async def test_columns_of_a_newer_schema_are_left_out_and_other_forms_are_told(
    database: Database,
) -> None:
    async with strongroom.connect(database.host_url) as store:
        tenant_id = await new_tenant(store)
        await store.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
        wanted = await store.conversations.list(tenant_id=tenant_id)
        tenant = await store.tenants.get(tenant_id=tenant_id)
        with database.connect() as admin:
            for name in ("find_tenant", "list_conversations", "read_health"):
                _answer_otherwise(admin, name)
        with pytest.warns(RuntimeWarning, match="newer.*upgrade the package"):
            assert await store.tenants.get(tenant_id=tenant_id) == tenant
        with pytest.warns(RuntimeWarning, match="list_conversations"):
            assert await store.conversations.list(tenant_id=tenant_id) == wanted
        with pytest.warns(RuntimeWarning, match="read_health"):
            assert (await store.health()).status == "ok"
        with database.connect() as admin:
            admin.execute("drop function strongroom.find_tenant")
            admin.execute("alter function strongroom.find_tenant_older rename to find_tenant")
            _answer_otherwise(admin, "find_tenant", renames="name")
        with pytest.warns(RuntimeWarning), pytest.raises(SchemaVersionError) as caught:
            await store.tenants.get(tenant_id=tenant_id)
        assert caught.value.detail["function"] == "find_tenant"
        assert caught.value.detail["where"] == "0.name"
        with database.connect() as admin:
            admin.execute("drop function strongroom.find_tenant")
            admin.execute(
                """create function strongroom.find_tenant(p_tenant_id text) returns table (name text)
                language sql begin atomic; select p_tenant_id; end"""
            )
            admin.execute("grant execute on function strongroom.find_tenant to strongroom_host")
        with pytest.raises(SchemaVersionError, match="in a form") as caught:
            await store.tenants.get(tenant_id=tenant_id)
        assert tenant_id not in str(caught.value.detail)


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "America/St_Johns"])
async def test_moments_of_long_ago_are_read_in_every_time_zone(
    database: Database, zone: str
) -> None:
    """Before about 1900 the offset of many zones has seconds, which no JSON reader expects."""
    moments = [dt.datetime(1800, 1, 1, 12, 0, 0, 5, tzinfo=dt.UTC), dt.datetime.now(dt.UTC)]
    url = database.url(user=database.host, options=f"-c timezone={zone}")
    async with strongroom.connect(url) as store:
        tenant_id = await new_tenant(store)
        events = [NewUsage(model=str(m), occurred_at=m, input_tokens=1) for m in moments]
        recorded = await store.usage.record(tenant_id=tenant_id, events=events)
        assert [event.occurred_at for event in recorded] == moments
        page = await store.usage.list(tenant_id=tenant_id)
        assert {event.occurred_at: event.model for event in page.items} == {
            moment: str(moment) for moment in moments
        }
