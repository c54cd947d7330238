"""The shim is what it says: a hosted project's roles, owners and refusals on a plain server."""

from __future__ import annotations

import json
from contextlib import closing

import psycopg
import pytest

from tests.platform.conftest import MakeHosted
from tests.servers import Database, ServerPark
from tests.servers.databases import SHIM, run_script


@pytest.fixture(params=["pg18", "pg17", "pg16", "pg15"])
def hosted(request: pytest.FixtureRequest, make_hosted: MakeHosted) -> Database:
    """A hosted project's database without strongroom, on every server."""
    return make_hosted(request.param, installed=False)


def one(connection: psycopg.Connection, query: str, *values: object) -> object:
    row = connection.execute(query.encode(), values).fetchone()
    assert row
    return row[0]


def test_roles_have_the_attributes_of_hosted_ones(hosted: Database) -> None:
    with hosted.connect() as connection:
        found = connection.execute(
            """
            select rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin,
                rolreplication, rolbypassrls
            from pg_roles
            where rolname in
                ('anon', 'authenticated', 'service_role', 'authenticator', 'postgres',
                'supabase_admin')
            order by rolname
            """
        ).fetchall()
    assert found == [
        ("anon", False, False, False, False, False, False, False),
        ("authenticated", False, False, False, False, False, False, False),
        ("authenticator", False, False, False, False, True, False, False),
        ("postgres", False, True, True, True, True, True, True),
        ("service_role", False, False, False, False, False, False, True),
        ("supabase_admin", True, True, True, True, True, True, True),
    ]


def test_it_runs_again_and_in_another_database_of_the_cluster(
    hosted: Database, make_hosted: MakeHosted
) -> None:
    with hosted.connect() as connection:
        run_script(connection, SHIM.read_text(encoding="utf-8"))
    make_hosted(hosted.server.name, installed=False)


def test_it_refuses_to_run_as_postgres(hosted: Database) -> None:
    with (
        hosted.connect(user="postgres") as connection,
        pytest.raises(psycopg.Error, match="not called postgres"),
    ):
        run_script(connection, SHIM.read_text(encoding="utf-8"))


def test_it_refuses_a_cluster_whose_roles_are_others(servers: ServerPark) -> None:
    with closing(servers.launch("pg18")) as server:
        with server.connect() as connection:
            connection.execute("create role postgres login superuser")
        database = server.create_database()
        with (
            server.connect(database) as connection,
            pytest.raises(
                psycopg.Error, match="role postgres exists in this cluster with other attributes"
            ),
        ):
            run_script(connection, SHIM.read_text(encoding="utf-8"))


def test_claims_are_read_from_the_setting_that_postgrest_makes(hosted: Database) -> None:
    claims = {
        "sub": "11111111-2222-3333-4444-555555555555",
        "role": "authenticated",
        "email": "ada@example.com",
        "app_metadata": {"tenant_id": "acme"},
    }
    query = "select auth.uid()::text, auth.role(), auth.email(), auth.jwt()"
    with psycopg.connect(hosted.url(user="authenticator")) as connection:
        connection.execute("set local role authenticated")
        assert connection.execute(query).fetchone() == (None, None, None, None)
        connection.execute(
            "select set_config('request.jwt.claims', %s, true)", [json.dumps(claims)]
        )
        assert connection.execute(query).fetchone() == (
            claims["sub"],
            "authenticated",
            "ada@example.com",
            claims,
        )
        connection.commit()
        connection.execute("set local role authenticated")
        # What a transaction has set locally is an empty text afterwards, not NULL.
        assert connection.execute(query).fetchone() == (None, None, None, None)


def test_postgres_makes_policies_on_platform_tables_and_nothing_else_there(
    hosted: Database,
) -> None:
    with hosted.connect(user="postgres") as connection:
        for table in ("storage.objects", "storage.buckets", "realtime.messages", "auth.users"):
            connection.execute(
                f"create policy ours on {table} for select to authenticated using (false)".encode()
            )
        for schema in ("auth", "storage", "realtime", "vault"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"create table {schema}.ours (id int)".encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"create function {schema}.ours() returns int return 1".encode())
        connection.execute("create table extensions.ours (id int)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("create role another superuser")


def test_the_publication_is_empty_and_belongs_to_postgres(hosted: Database) -> None:
    with hosted.connect(user="postgres") as connection:
        assert one(connection, "select count(*) from pg_publication_tables") == 0
        connection.execute("create table public.news (id int primary key)")
        connection.execute("alter publication supabase_realtime add table public.news")
        assert one(connection, "select count(*) from pg_publication_tables") == 1


def test_storage_rows_are_not_deleted_with_sql(hosted: Database) -> None:
    with hosted.connect(user="postgres") as connection:
        connection.execute("insert into storage.buckets (id, name) values ('b', 'b')")
        connection.execute(
            "insert into storage.objects (bucket_id, name) values ('b', 'a/c/d.txt')"
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="not deleted with SQL"):
            connection.execute("delete from storage.objects where bucket_id = 'b'")
        assert one(connection, "select storage.foldername(name) from storage.objects") == ["a", "c"]
        assert one(connection, "select storage.filename(name) from storage.objects") == "d.txt"
        assert one(connection, "select storage.extension(name) from storage.objects") == "txt"
        assert one(connection, "select storage.foldername('top.txt')") == []


def test_a_message_is_lost_with_a_warning_until_realtime_has_connected(hosted: Database) -> None:
    with hosted.connect(user="postgres") as connection:
        warnings: list[str] = []
        connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary or ""))
        send = "select realtime.send('{\"n\": 1}', 'changed', 'tenant:acme')"
        connection.execute(send.encode())
        assert len(warnings) == 1
        assert "no partition" in warnings[0]
        assert one(connection, "select count(*) from realtime.messages") == 0

        with hosted.connect() as server:
            server.execute("select shim.connect_realtime()")
        connection.execute(send.encode())
        assert connection.execute(
            "select topic, event, private, extension, payload ->> 'n' from realtime.messages"
        ).fetchall() == [("tenant:acme", "changed", True, "broadcast", "1")]

        connection.execute("select realtime.send('[1]', 'changed', 'tenant:acme')")
        assert "object" in warnings[1]
        assert one(connection, "select count(*) from realtime.messages") == 1


def test_changes_are_broadcast_from_a_row_trigger(hosted: Database) -> None:
    with hosted.connect() as server:
        server.execute("select shim.connect_realtime()")
    with hosted.connect(user="postgres") as connection:
        connection.execute(
            """
            create table public.news (id int primary key);
            create function public.tell() returns trigger language plpgsql security definer as $$
            begin
                perform realtime.broadcast_changes(
                    'news', tg_op, tg_op, tg_table_name, tg_table_schema, new, old
                );
                return null;
            end
            $$;
            create trigger tell after insert on public.news
            for each row execute function public.tell();
            """
        )
        connection.execute("insert into public.news values (7)")
        assert one(connection, "select payload from realtime.messages") == {
            "id": one(connection, "select id::text from realtime.messages"),
            "schema": "public",
            "table": "news",
            "operation": "INSERT",
            "record": {"id": 7},
            "old_record": None,
        }


def test_row_security_says_who_receives_a_private_message(hosted: Database) -> None:
    with hosted.connect() as server:
        server.execute("select shim.connect_realtime()")
    with hosted.connect(user="postgres") as connection:
        connection.execute(
            """
            create policy members_receive on realtime.messages for select to authenticated
            using (topic = (select realtime.topic()))
            """
        )
        for topic in ("mine", "yours"):
            connection.execute("select realtime.send('{}', 'e', %s)", [topic])
    with psycopg.connect(hosted.url(user="authenticator")) as connection:
        connection.execute("set local role authenticated")
        connection.execute("set local realtime.topic = 'mine'")
        assert connection.execute("select topic from realtime.messages").fetchall() == [("mine",)]
