"""Who may do what on Supabase: the published matrix, whatever a project grants by itself."""

from __future__ import annotations

import json

import psycopg
import pytest
from psycopg import sql

from tests.platform.conftest import MakeHosted
from tests.push.releases import next_release, package
from tests.servers import Database
from tests.servers.databases import run_script

ACLS = """
    select n.nspname::text as object, a.*
    from pg_namespace as n
    cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as a
    where n.nspname like 'strongroom%'
    union all
    select c.oid::regclass::text, a.*
    from pg_class as c
    cross join lateral aclexplode(coalesce(
        c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner)
    )) as a
    where c.relnamespace::regnamespace::text like 'strongroom%'
        and c.relkind in ('r', 'p', 'v', 'S')
    union all
    select format('%s.%s', t.attrelid::regclass, t.attname), a.*
    from pg_attribute as t
    join pg_class as c on c.oid = t.attrelid
    cross join lateral aclexplode(t.attacl) as a
    where c.relnamespace::regnamespace::text like 'strongroom%'
    union all
    select p.oid::regprocedure::text, a.*
    from pg_proc as p
    cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
    where p.pronamespace::regnamespace::text like 'strongroom%'
"""
GRANTS = f"""
    select object, grantor::regrole::text, coalesce(nullif(grantee, 0)::regrole::text, 'public'),
        privilege_type, is_grantable
    from ({ACLS}) as acls
    order by 1, 3, 4
"""


def grants(database: Database) -> list[tuple[object, ...]]:
    with database.connect() as connection:
        return connection.execute(GRANTS).fetchall()


def upgrade(database: Database) -> None:
    with database.connect(user="postgres") as connection:
        run_script(connection, next_release(package()).up)


@pytest.mark.parametrize("server", ["pg18", "pg15"])
def test_automatic_grants_change_nothing(make_hosted: MakeHosted, server: str) -> None:
    old = make_hosted(server, automatic_grants=True)
    new = make_hosted(server, automatic_grants=False)
    assert grants(old) == grants(new)
    upgrade(old)
    upgrade(new)
    assert grants(old) == grants(new)
    assert any("novelties" in str(row[0]) for row in grants(new))


def test_the_switch_of_the_shim_really_switches(make_hosted: MakeHosted) -> None:
    """Else the test above would compare a thing with itself."""
    allowed = []
    for automatic in (True, False):
        database = make_hosted(automatic_grants=automatic, installed=False)
        with database.connect(user="postgres") as connection:
            connection.execute("create table public.plain (id int)")
            row = connection.execute(
                "select has_table_privilege('anon', 'public.plain', 'select')"
            ).fetchone()
            assert row
            allowed.append(row[0])
    assert allowed == [True, False]


def test_grants_by_default_for_every_schema_are_taken_back(make_hosted: MakeHosted) -> None:
    """Some projects grant everything, in every schema, to the API roles."""
    clean = make_hosted()
    wide = make_hosted(installed=False)
    with wide.connect(user="postgres") as connection:
        for kind in ("tables", "sequences", "functions", "schemas"):
            connection.execute(
                sql.SQL(
                    "alter default privileges grant all on {} to anon, authenticated, service_role"
                ).format(sql.SQL(kind))
            )
        for migration in package():
            run_script(connection, migration.up)
    assert grants(wide) == grants(clean)


def test_the_catalog_holds_the_published_matrix_also_after_an_upgrade(hosted: Database) -> None:
    differences = "select * from strongroom_private.list_grant_differences()"
    with hosted.connect(user="postgres") as connection:
        assert connection.execute(differences).fetchall() == []
        upgrade(hosted)
        assert connection.execute(differences).fetchall() == []
        connection.execute("grant select on strongroom.tenants to anon")
        assert len(connection.execute(differences).fetchall()) == 1


# As PostgREST does it: log in as authenticator, then become the role of the token.


def request(
    database: Database, role: str, query: str, claims: dict[str, object] | None = None
) -> list[tuple[object, ...]]:
    with psycopg.connect(database.url(user="authenticator")) as connection:
        connection.execute("select set_config('role', %s, true)", [role])
        connection.execute(
            "select set_config('request.jwt.claims', %s, true)", [json.dumps(claims or {})]
        )
        return connection.execute(query.encode()).fetchall()


CREATE = "select tenant_id from strongroom.create_tenant(p_tenant_id => 'acme', p_name => 'Acme')"
FIND = "select tenant_id from strongroom.find_tenant(p_tenant_id => 'acme')"
COUNT = "select total from strongroom.count_novelties(p_tenant_id => 'acme')"
CLAIMS: dict[str, object] = {
    "sub": "ada",
    "role": "authenticated",
    "app_metadata": {"tenant_id": "acme"},
}


def test_service_role_and_authenticated_work_with_no_grant_by_hand(hosted: Database) -> None:
    assert request(hosted, "service_role", CREATE) == [("acme",)]
    assert request(hosted, "service_role", FIND) == [("acme",)]
    assert request(hosted, "authenticated", FIND, CLAIMS) == [("acme",)]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        request(hosted, "authenticated", CREATE, CLAIMS)


def test_a_new_function_and_table_work_with_no_grant_by_hand(hosted: Database) -> None:
    request(hosted, "service_role", CREATE)
    upgrade(hosted)
    assert request(hosted, "service_role", COUNT) == [(0,)]
    assert request(hosted, "authenticated", "select * from strongroom.novelties", CLAIMS) == []
    for role in ("authenticated", "anon"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            request(hosted, role, COUNT, CLAIMS)


def test_anonymous_may_do_nothing_at_all(hosted: Database) -> None:
    upgrade(hosted)
    with hosted.connect() as connection:
        functions = connection.execute(
            """
            select p.oid::regprocedure::text
            from pg_proc as p
            where p.pronamespace::regnamespace::text like 'strongroom%'
            """
        ).fetchall()
        tables = connection.execute(
            """
            select c.oid::regclass::text
            from pg_class as c
            where c.relnamespace::regnamespace::text like 'strongroom%'
                and c.relkind in ('r', 'p', 'v')
            """
        ).fetchall()
        assert len(functions) > 20
        assert len(tables) > 3
        for (name,) in functions:
            right = "select has_function_privilege('anon', %s, 'execute')"
            assert connection.execute(right, [name]).fetchone() == (False,), name
        for (name,) in tables:
            right = (
                "select has_table_privilege('anon', %s, 'select, insert, update, delete, truncate,"
                " references, trigger') or has_any_column_privilege('anon', %s,"
                " 'select, insert, update, references')"
            )
            assert connection.execute(right, [name, name]).fetchone() == (False,), name
    for query in (
        FIND,
        CREATE,
        "select * from strongroom.tenants",
        "insert into strongroom.tenants default values returning 1",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
            request(hosted, "anon", query)


def test_optional_arguments_may_be_left_out_of_every_exposed_function(hosted: Database) -> None:
    """PostgREST finds a function by the names that a request gives."""
    with hosted.connect() as connection:
        functions = connection.execute(
            """
            select
                format('%s.%s', p.pronamespace::regnamespace, p.proname),
                p.proargnames[:p.pronargs - p.pronargdefaults],
                (string_to_array(oidvectortypes(p.proargtypes), ', '))
                    [:p.pronargs - p.pronargdefaults]
            from pg_proc as p
            where p.pronamespace = 'strongroom'::regnamespace
                and p.prorettype <> 'trigger'::regtype
            """
        ).fetchall()
        assert functions
        for name, names, types in functions:
            arguments = ", ".join(
                f"{argument} => null::{kind}"
                for argument, kind in zip(names or [], types or [], strict=True)
            )
            # EXPLAIN resolves the call and does not make it.
            connection.execute(f"explain select * from {name}({arguments})".encode())
