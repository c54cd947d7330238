"""Tenants in SQL: B31 (claims), B33 (soft delete), B35 (foreign keys), B39 (look-alike names)."""

import json
import re
from collections.abc import AsyncIterator
from typing import LiteralString

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.rows import TupleRow

import strongroom
from strongroom.client import Strongroom
from strongroom.conformance.calls import READS, fill
from strongroom.conformance.helpers import OWNER, fresh, new_tenant, said
from strongroom.errors import PermissionDenied, StrongroomError
from strongroom.migrations import load_migrations
from strongroom.transports.psycopg import Connection
from tests.conformance.adapters import claims_of
from tests.servers import Database

TABLES = """
    select c.relname::text
    from pg_catalog.pg_class as c
    where c.relnamespace = 'strongroom'::regnamespace
        and c.relkind in ('r', 'p', 'v')
    order by c.relname
"""

NO_TENANT: dict[str, str | None] = {
    "no claims": None,
    "empty claims": "",
    "not JSON": "{oops",
    "an array": "[]",
    "a text": '"acme"',
    "null": "null",
    "without a tenant": '{"sub": "ada"}',
    "without app_metadata": '{"sub": "ada", "tenant_id": "T"}',
    "only user_metadata": '{"sub": "ada", "user_metadata": {"tenant_id": "T"}}',
    "an empty tenant": '{"sub": "ada", "app_metadata": {"tenant_id": ""}}',
    "a null tenant": '{"sub": "ada", "app_metadata": {"tenant_id": null}}',
    "a tenant of another kind": '{"sub": "ada", "app_metadata": {"tenant_id": 7}}',
    "a list of tenants": '{"sub": "ada", "app_metadata": {"tenant_id": ["T"]}}',
    "an object": '{"sub": "ada", "app_metadata": {"tenant_id": {"id": "T"}}}',
    "app_metadata as an array": '{"sub": "ada", "app_metadata": ["T"]}',
    "app_metadata as a text": '{"sub": "ada", "app_metadata": "T"}',
    "a tenant that is too long": json.dumps(
        {"sub": "ada", "app_metadata": {"tenant_id": "T" * 5_000}}
    ),
    "a tenant that does not exist": '{"sub": "ada", "app_metadata": {"tenant_id": "nowhere"}}',
    "SQL": '{"sub": "ada", "app_metadata": {"tenant_id": "T\' or true --"}}',
}


@pytest.fixture
async def authenticator(database: Database) -> AsyncIterator[Connection]:
    """A connection as PostgREST has it: login as authenticator, then ``set local role``."""
    async with await psycopg.AsyncConnection[TupleRow].connect(
        database.url(user="authenticator")
    ) as connection:
        yield connection


async def _sign_in(connection: Connection, claims: str | None) -> None:
    await connection.execute("set local role authenticated")
    if claims is not None:
        await connection.execute("select set_config('request.jwt.claims', %s, true)", [claims])


async def _refusal(connection: Connection, statement: sql.Composed) -> type[psycopg.Error] | None:
    try:
        async with connection.transaction():
            await connection.execute(statement)
    except psycopg.Error as error:
        return type(error)
    return None


@pytest.mark.parametrize("after", ["fresh", "after a scoped transaction"])
@pytest.mark.parametrize("claims", sorted(NO_TENANT))
async def test_claims_without_a_tenant_read_nothing_and_write_nothing_b31(
    store: Strongroom, authenticator: Connection, admin: Connection, claims: str, after: str
) -> None:
    target = await fill(store, visibility="tenant")
    text = NO_TENANT[claims]
    text = text.replace('"T', f'"{target.tenant_id}') if text else text
    if after != "fresh":
        async with authenticator.transaction():
            await _sign_in(authenticator, json.dumps(claims_of(target.tenant_id, OWNER)))
            seen = await authenticator.execute("select count(*) from strongroom.messages")
            assert await seen.fetchone() == (2,)
    tables = [row[0] for row in await (await admin.execute(TABLES)).fetchall()]
    readable = await admin.execute(
        "select t, has_table_privilege('authenticated', 'strongroom.' || t, 'select')"
        " from unnest(%s::text[]) as t",
        [tables],
    )
    may_read = dict(await readable.fetchall())
    assert may_read["messages"]
    assert not may_read["schema_history"]
    async with authenticator.transaction(force_rollback=True):
        await _sign_in(authenticator, text)
        for table in tables:
            name = sql.Identifier("strongroom", table)
            if not may_read[table]:
                select = sql.SQL("select * from {}").format(name)
                assert await _refusal(authenticator, select) is errors.InsufficientPrivilege
            else:
                rows = await authenticator.execute(sql.SQL("select * from {}").format(name))
                assert await rows.fetchall() == [], table
            for write in (
                sql.SQL("insert into {} default values").format(name),
                sql.SQL("update {} set tenant_id = 'x'").format(name),
                sql.SQL("delete from {}").format(name),
                sql.SQL("truncate {}").format(name),
            ):
                refused = await _refusal(authenticator, write)
                if table == "schema_history" and b"tenant_id" in write.as_bytes():
                    assert refused in {errors.InsufficientPrivilege, errors.UndefinedColumn}
                elif table.endswith(("details", "parts")):
                    # Views; some of these do not even make sense on them.
                    assert refused is not None, (table, write)
                else:
                    assert refused is errors.InsufficientPrivilege, (table, write)


@pytest.mark.parametrize("claims", sorted(NO_TENANT))
async def test_claims_without_a_tenant_may_call_nothing_b31(
    store: Strongroom, authenticator: Connection, claims: str
) -> None:
    target = await fill(store, visibility="tenant")
    text = NO_TENANT[claims]
    text = text.replace('"T', f'"{target.tenant_id}') if text else text
    async with authenticator.transaction(force_rollback=True):
        await _sign_in(authenticator, text)
        async with strongroom.connect(connection=authenticator) as user:
            for tenant_id in (target.tenant_id, "nowhere", fresh()):
                for read in READS.values():
                    with pytest.raises(StrongroomError) as caught:
                        await read(user, target.within(tenant_id), None)
                    assert caught.value.code in {"SR020", "SR021"}
                for write in (
                    user.messages.append(
                        tenant_id=tenant_id,
                        conversation_id=target.conversation_id,
                        messages=[said("x")],
                    ),
                    user.conversations.create(tenant_id=tenant_id, owner_id=OWNER),
                    user.conversations.list(tenant_id=tenant_id),
                    user.tenants.find(tenant_id=tenant_id),
                ):
                    with pytest.raises(StrongroomError) as refused:
                        await write
                    # A user of a tenant that does not exist may ask for it, and finds nothing.
                    assert refused.value.code in {"SR020", "SR021"}


async def test_a_host_without_a_tenant_reads_nothing_also_after_one_b31(
    database: Database, store: Strongroom, admin: Connection
) -> None:
    target = await fill(store)
    tables = [row[0] for row in await (await admin.execute(TABLES)).fetchall()]
    async with await psycopg.AsyncConnection.connect(database.host_url) as connection:
        for used in (False, True):
            if used:
                async with strongroom.connect(connection=connection) as host:
                    assert await host.messages.count(**target.where) == 2
            async with connection.transaction():
                for table in set(tables) - {"schema_history"}:
                    rows = await connection.execute(
                        sql.SQL("select * from {}").format(sql.Identifier("strongroom", table))
                    )
                    assert await rows.fetchall() == [], (table, used)


async def test_a_direct_soft_delete_is_refused_by_grant_b33(
    store: Strongroom, authenticator: Connection, admin: Connection
) -> None:
    target = await fill(store)
    claims = json.dumps(claims_of(target.tenant_id, OWNER))
    async with authenticator.transaction(force_rollback=True):
        await _sign_in(authenticator, claims)
        update = sql.SQL("update strongroom.conversations set deleted_at = now()").format()
        assert await _refusal(authenticator, update) is errors.InsufficientPrivilege
        rows = await authenticator.execute(
            "select deleted_at from strongroom.soft_delete_conversation(%s, %s)",
            [target.tenant_id, target.conversation_id],
        )
        row = await rows.fetchone()
        assert row is not None
        assert row[0] is not None
        listed = await authenticator.execute(
            "select * from strongroom.list_conversations(%s)", [target.tenant_id]
        )
        assert await listed.fetchall() == []
    comment = "select obj_description('strongroom.soft_delete_conversation'::regproc)"
    row = await (await admin.execute(comment)).fetchone()
    assert row is not None
    assert "users for their own" in row[0]


FOREIGN_KEYS = """
    select
        k.conname::text,
        k.conrelid::regclass::text,
        k.confrelid::regclass::text,
        array(
            select a.attname::text
            from unnest(k.conkey) with ordinality as c (attnum, place)
            join pg_catalog.pg_attribute as a
                on a.attrelid = k.conrelid and a.attnum = c.attnum
            order by c.place
        )
    from pg_catalog.pg_constraint as k
    where k.connamespace = 'strongroom'::regnamespace
        and k.contype = 'f'
    order by 1
"""


async def test_every_foreign_key_starts_with_the_tenant_b35(admin: Connection) -> None:
    keys = await (await admin.execute(FOREIGN_KEYS)).fetchall()
    assert len(keys) >= 6
    for name, _, _, columns in keys:
        assert columns[0] == "tenant_id", name


CHILDREN: dict[str, LiteralString] = {
    "strongroom.conversation_participants": (
        "(tenant_id, conversation_id, principal_id) values (%s, %s, 'x')"
    ),
    "strongroom.messages": (
        "(tenant_id, conversation_id, position, id, role, parts) values"
        """ (%s, %s, 1, 'x', 'user', '[{"type": "text", "text": "x", "schema_version": 1}]')"""
    ),
    "strongroom.runs": (
        "(tenant_id, conversation_id, id, number, is_head, is_ready, creation_digest) values"
        " (%s, %s, 'x', 1, true, false, 'x')"
    ),
    "strongroom.approval_grants": (
        "(tenant_id, conversation_id, id, principal_id, tool_name, scope, granted_by) values"
        " (%s, %s, 'x', 'x', 'x', 'conversation', 'x')"
    ),
    "strongroom.evaluation_results": (
        "(tenant_id, source_conversation_id, run_id, case_id, case_version, id, content_digest)"
        " values (%s, %s, 'r', 'c', 1, 'x', 'x')"
    ),
    "strongroom.files": (
        "(tenant_id, conversation_id, id, owner_id, path, creation_digest) values"
        " (%s, %s, 'x', 'x', 'x', 'x')"
    ),
    "strongroom.conversation_changes": (
        "(tenant_id, conversation_id, kind, record_id, sequence) values"
        " (%s, %s, 'messages', 'x', 1)"
    ),
    "strongroom.session_states": (
        "(tenant_id, conversation_id, state, version) values (%s, %s, '{}', 1)"
    ),
    "strongroom.thread_summaries": (
        "(tenant_id, conversation_id, version, id, covers_to_position, text) values"
        " (%s, %s, 1, 'x', 1, 'x')"
    ),
    "strongroom.transcripts": (
        "(tenant_id, conversation_id, id, kind, name) values (%s, %s, 'x', 'scope', 'x')"
    ),
    "strongroom.artifacts": (
        "(tenant_id, conversation_id, id, name, creation_digest) values (%s, %s, 'x', 'x', 'x')"
    ),
    "strongroom.tool_outputs": (
        "(tenant_id, conversation_id, id, kind, sha256, size_bytes, characters, media_type, content)"
        " values (%s, %s, 'text:' || repeat('0', 64), 'text', repeat('0', 64), 1, 1, 'x', 'x')"
    ),
}


async def test_no_child_of_conversations_is_forgotten_here_b35(admin: Connection) -> None:
    keys = await (await admin.execute(FOREIGN_KEYS)).fetchall()
    children = {child for _, child, parent, _ in keys if parent == "strongroom.conversations"}
    assert children == set(CHILDREN)


@pytest.mark.parametrize("role", ["app_host", "service_role", "supabase_admin"])
@pytest.mark.parametrize("table", sorted(CHILDREN))
async def test_a_child_cannot_have_anothers_parent_b35(
    database: Database, store: Strongroom, table: str, role: str
) -> None:
    theirs = await fill(store)
    mine = await new_tenant(store)
    login = {"service_role": "authenticator", "app_host": "app_host"}.get(role)
    async with await psycopg.AsyncConnection.connect(database.url(user=login)) as connection:
        messages = []
        for parent in (theirs.conversation_id, theirs.conversation_id[::-1]):
            async with connection.transaction(force_rollback=True):
                if role == "service_role":
                    await connection.execute("set local role service_role")
                await connection.execute(
                    "select set_config('strongroom.tenant_id', %s, true)", [mine]
                )
                insert: LiteralString = f"insert into {table} {CHILDREN[table]}"
                only_triggers_write = table == "strongroom.conversation_changes"
                refusal = (
                    errors.InsufficientPrivilege
                    if only_triggers_write and role != "supabase_admin"
                    else errors.ForeignKeyViolation
                )
                with pytest.raises(refusal) as caught:
                    await connection.execute(insert, [mine, parent])
                told = str(caught.value).replace(parent, "<the parent>")
                messages.append(told)
        assert messages[0] == messages[1], "an existing parent can be told from an absent one"
        assert theirs.tenant_id not in messages[0]


LOOK_ALIKES = [
    "john_doe",
    "john-doe",
    "johnXdoe",
    "user_1",
    "user_10",
    "user%",
    "100%",
    "100",
    "a\\b",
    "a",
]


async def test_names_are_matched_whole_and_without_wildcards_b39(store: Strongroom) -> None:
    tenant_id = await new_tenant(store)
    for name in LOOK_ALIKES:
        await store.conversations.create(
            tenant_id=tenant_id, owner_id=name, conversation_id=name, external_ref=name
        )
        await store.tenants.add_member(tenant_id=tenant_id, principal_id=name)
    for name in [*LOOK_ALIKES, "%", "_", "user", "john", "100_", "a\\", ""]:
        if name:
            found = await store.conversations.find(tenant_id=tenant_id, conversation_id=name)
            assert (found is not None) == (name in LOOK_ALIKES), name
            for filters in ({"external_ref": name}, {"owner_id": name}):
                page = await store.conversations.list(tenant_id=tenant_id, **filters)  # type: ignore[arg-type]
                assert [talk.id for talk in page.items] == [name] * (name in LOOK_ALIKES), name
            member = await store.tenants.find_member(tenant_id=tenant_id, principal_id=name)
            assert (member is not None) == (name in LOOK_ALIKES), name


def test_no_function_matches_a_callers_text_as_a_pattern_b39() -> None:
    for migration in load_migrations():
        for line in migration.up.splitlines():
            code = line.partition("--")[0].lower()
            # A prefix is literal, and bound to a segment.
            code = re.sub(r"starts_with\([\w.]+, [$\w.]+ \|\| '+/'+\)", "", code)
            # A pattern that stands in the migration itself is no caller's text.
            literal = r"e?'[^']*'(?!\s*\|\|)"
            made = r"format\('\^?\[%s\]', strongroom_private\.\w+_characters\(\)"
            likes = rf"\b(i?like|similar\s+to)\b(?!\s+{literal})|\bstarts_with\b"
            tildes = rf"[^-]~\*?\s+(?!{literal}|{made})"
            assert not re.search(f"{likes}|{tildes}", code), line


async def test_anonymous_may_not_even_look_b31(database: Database, store: Strongroom) -> None:
    target = await fill(store, visibility="tenant")
    async with await psycopg.AsyncConnection.connect(
        database.url(user="authenticator")
    ) as connection:
        for role in ("anon", None):
            async with connection.transaction(force_rollback=True):
                if role:
                    await connection.execute("set local role anon")
                await connection.execute(
                    "select set_config('request.jwt.claims', %s, true)",
                    [json.dumps(claims_of(target.tenant_id, OWNER))],
                )
                async with strongroom.connect(connection=connection) as user:
                    for read in READS.values():
                        with pytest.raises(PermissionDenied):
                            await read(user, target, None)
