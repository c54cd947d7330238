"""Install the migrations on a fresh embedded server, one by one, and read what they make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from snapshot.model import (
    Column,
    Constraint,
    Function,
    Grant,
    Named,
    Present,
    Relation,
)
from strongroom import drift
from strongroom.embedded import EmbeddedServer

_ROLES = """
create role anon nologin noinherit;
create role authenticated nologin noinherit;
create role service_role nologin noinherit bypassrls;
create role supabase_auth_admin nologin noinherit;
"""

_COLUMNS = """
select
    a.attname::text as name,
    format_type(a.atttypid, a.atttypmod) as type,
    (
        select quote_ident(l.collname)
        from pg_collation as l
        join pg_type as t on t.oid = a.atttypid
        where l.oid = a.attcollation and a.attcollation <> t.typcollation
    ) as collation,
    a.attnotnull as not_null,
    pg_get_expr(d.adbin, d.adrelid) as default,
    col_description(a.attrelid, a.attnum) as comment
from pg_attribute as a
left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""

_RELATIONS = """
select
    c.oid,
    n.nspname::text as schema,
    c.relname::text as name,
    c.relkind::text as kind,
    coalesce(obj_description(c.oid, 'pg_class'), obj_description(c.reltype, 'pg_type')) as comment,
    coalesce(c.reloptions, '{}') as options,
    c.relrowsecurity as row_security,
    c.relforcerowsecurity as forced,
    case c.relkind when 'v' then pg_get_viewdef(c.oid, true) end as query
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
where n.nspname in ('strongroom', 'strongroom_private') and c.relkind in ('r', 'p', 'v', 'c')
order by n.nspname, c.relname
"""

_CONSTRAINTS = """
select
    k.conname::text as name,
    pg_get_constraintdef(k.oid, true) as definition,
    obj_description(k.oid, 'pg_constraint') as comment,
    k.contype::text as kind,
    array(
        select a.attname::text from unnest(k.conkey) with ordinality as u (num, place)
        join pg_attribute as a on a.attrelid = k.conrelid and a.attnum = u.num order by u.place
    ) as columns,
    nullif(k.confrelid, 0)::regclass::text as target,
    array(
        select a.attname::text from unnest(k.confkey) with ordinality as u (num, place)
        join pg_attribute as a on a.attrelid = k.confrelid and a.attnum = u.num order by u.place
    ) as target_columns
from pg_constraint as k
where k.conrelid = %s and k.contype <> 'n'
order by array_position('{p,u,f,c}', k.contype::text), k.conname
"""

_INDEXES = """
select
    c.relname::text as name,
    pg_get_indexdef(i.indexrelid) as definition,
    obj_description(i.indexrelid, 'pg_class') as comment
from pg_index as i
join pg_class as c on c.oid = i.indexrelid
where i.indrelid = %s and not exists (
    select from pg_constraint as k where k.conindid = i.indexrelid and k.contype <> 'f'
)
order by c.relname
"""

_POLICIES = """
select
    p.polname::text as name,
    concat_ws(
        e'\\n    ',
        format('create policy %%I on %%s', p.polname, p.polrelid::regclass),
        case when not p.polpermissive then 'as restrictive' end,
        'for ' || case p.polcmd
            when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
            when 'd' then 'delete' else 'all'
        end,
        'to ' || case when p.polroles <> '{0}' then (
            select string_agg(quote_ident(r.rolname), ', ' order by r.rolname)
            from pg_roles as r where r.oid = any (p.polroles)
        ) end,
        'using (' || pg_get_expr(p.polqual, p.polrelid, true) || ')',
        'with check (' || pg_get_expr(p.polwithcheck, p.polrelid, true) || ')'
    ) as definition,
    obj_description(p.oid, 'pg_policy') as comment
from pg_policy as p
where p.polrelid = %s
order by p.polname
"""

_TRIGGERS = """
select
    t.tgname::text as name,
    pg_get_triggerdef(t.oid, true) as definition,
    obj_description(t.oid, 'pg_trigger') as comment
from pg_trigger as t
where t.tgrelid = %s and not t.tgisinternal
order by t.tgname
"""

_FUNCTIONS = """
select
    n.nspname::text as schema,
    p.proname::text as name,
    obj_description(p.oid, 'pg_proc') as comment,
    pg_get_function_arguments(p.oid) as signature,
    oidvectortypes(p.proargtypes) as types,
    pg_get_function_result(p.oid) as returns,
    p.prosecdef as definer,
    pg_get_functiondef(p.oid) as definition
from pg_proc as p
join pg_namespace as n on n.oid = p.pronamespace
where n.nspname in ('strongroom', 'strongroom_private')
order by n.nspname, p.proname
"""

_GRANTS = """
with acls as (
    select n.nspname::text as object, '' as column, n.nspowner as owner, a.*
    from pg_namespace as n
    cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as a
    where n.nspname in ('strongroom', 'strongroom_private')
    union all
    select c.oid::regclass::text, '', c.relowner, a.*
    from pg_class as c
    cross join aclexplode(c.relacl) as a
    where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    union all
    select t.attrelid::regclass::text, t.attname::text, c.relowner, a.*
    from pg_attribute as t
    join pg_class as c on c.oid = t.attrelid
    cross join aclexplode(t.attacl) as a
    where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    union all
    select p.oid::regproc::text, '', p.proowner, a.*
    from pg_proc as p
    cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
    where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
)
select
    object,
    a.column,
    lower(a.privilege_type) as privilege,
    case a.grantee when 0 then 'PUBLIC' else a.grantee::regrole::text end as role
from acls as a
where a.grantee <> a.owner
order by
    object,
    a.column,
    array_position(
        '{usage,select,insert,update,delete,execute}', lower(a.privilege_type)
    ),
    role
"""

_Rows = Callable[..., list[dict[str, Any]]]


_CASCADES = """
with recursive gone (root, relation) as (
    select r.root::regclass, r.root::regclass
    from (values ('strongroom.conversations'), ('strongroom.tenants')) as r (root)
    union
    select g.root, f.conrelid::regclass
    from gone as g
    join pg_constraint as f
        on f.confrelid = g.relation and f.contype = 'f' and f.confdeltype = 'c'
)
select
    c.relname::text as name,
    exists (
        select from gone as g
        where g.root = 'strongroom.conversations'::regclass and g.relation = c.oid
    ) as conversation,
    exists (
        select from gone as g
        where g.root = 'strongroom.tenants'::regclass and g.relation = c.oid
    ) as tenant
from pg_class as c
where c.relnamespace = 'strongroom'::regnamespace
    and c.relkind in ('r', 'p')
    and c.relname <> 'schema_history'
order by 1
"""


def read_present(migrations: list[Path]) -> Present:
    """Run the migrations on an embedded server of this call's own, and read the result."""
    with (
        EmbeddedServer.start("embedded:") as server,
        psycopg.connect(server.admin_url, autocommit=True, row_factory=dict_row) as connection,
    ):
        connection.execute(_ROLES.encode())
        # Without these names in the path, everything is spelled with its schema.
        connection.execute("set search_path = pg_catalog")

        def rows(query: str, *values: object) -> list[dict[str, Any]]:
            return connection.execute(query.encode(), values or None).fetchall()

        steps = []
        born: dict[str, str] = {}
        for path in migrations:
            number, domain = path.name.removesuffix(".up.sql").split("_", 1)
            with connection.transaction():
                connection.execute(path.read_bytes())
            found = [(row["kind"], row["name"], row["definition"]) for row in rows(drift.QUERY)]
            steps.append((int(number), found))
            for kind, name, _ in found:
                born.setdefault(f"{kind} {name}", domain)
        return _read(rows, born, drift.make_fingerprint(steps))


def _read(rows: _Rows, born: dict[str, str], fingerprint: drift.Fingerprint) -> Present:
    relations: dict[str, list[Relation]] = {"r": [], "v": [], "c": []}
    names = {"r": "table", "p": "table", "v": "view", "c": "type"}
    for row in rows(_RELATIONS):
        oid, kind = row.pop("oid"), row.pop("kind")
        row["options"] = tuple(row["options"])
        row["columns"] = tuple(Column(**column) for column in rows(_COLUMNS, oid))
        row["domain"] = born[f"{names[kind]} {row['schema']}.{row['name']}"]
        if kind in ("r", "p"):
            row["constraints"] = tuple(_constraint(found) for found in rows(_CONSTRAINTS, oid))
            row["indexes"] = tuple(Named(**found) for found in rows(_INDEXES, oid))
            row["policies"] = tuple(Named(**found) for found in rows(_POLICIES, oid))
            row["triggers"] = tuple(Named(**found) for found in rows(_TRIGGERS, oid))
        relations["r" if kind == "p" else kind].append(Relation(**row))
    functions = [
        Function(domain=born[f"function {row['schema']}.{row['name']}({row['types']})"], **row)
        for row in rows(_FUNCTIONS)
    ]
    return Present(
        domains=tuple(
            row["name"]
            for row in rows("select name from strongroom.schema_history order by version")
        ),
        tables=tuple(relations["r"]),
        views=tuple(relations["v"]),
        types=tuple(relations["c"]),
        functions=tuple(functions),
        sequences=tuple(sorted(key.split(" ")[1] for key in born if key.startswith("sequence "))),
        grants=tuple(Grant(**row) for row in rows(_GRANTS)),
        errors=tuple(
            (row["code"], row["name"], row["retryable"], row["meaning"])
            for row in rows("select * from strongroom_private.error_codes() order by code")
        ),
        cascades=tuple(
            (row["name"], row["conversation"], row["tenant"]) for row in rows(_CASCADES)
        ),
        erasure=tuple(
            (row["name"], row["column_name"], row["action"], row["reason"])
            for row in rows(
                "select split_part(table_name, '.', 2) as name, column_name, action, reason"
                " from strongroom_private.erasure_rules order by 1, 2"
            )
        ),
        retention=tuple(
            (row["kind"], row["description"], row["name"])
            for row in rows(
                "select kind, description, split_part(table_name, '.', 2) as name"
                " from strongroom_private.retention_kinds order by 1"
            )
        ),
        schemas={
            row["name"]: row["comment"]
            for row in rows(
                "select nspname::text as name, obj_description(oid, 'pg_namespace') as comment"
                " from pg_namespace where nspname like 'strongroom%' order by 1"
            )
        },
        fingerprint=fingerprint,
    )


def _constraint(row: dict[str, Any]) -> Constraint:
    row["columns"] = tuple(row["columns"])
    row["target_columns"] = tuple(row["target_columns"])
    return Constraint(**row)
