"""Supabase's database advisors as catalog queries, for strongroom's two schemas.

The Supabase CLI runs some of them; the dashboard of a hosted project shows all. A query returns one
text per finding. Its violation is an offence that the query must find, by the text ``expects``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Advisor:
    """One rule: the query that finds offenders, and an offence that proves that it does."""

    name: str
    query: str
    violation: str
    expects: str


OURS = "('strongroom', 'strongroom_private')"
EXPOSED = "('strongroom')"
TABLES = f"""
    from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname in {OURS}
        and c.relkind in ('r', 'p')
"""
FUNCTIONS = f"""
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in {OURS}
"""
BARE_CALLS = (
    """
    select format('%s on %s: %s', p.policyname, p.tablename, call[1])
    from pg_policies as p
    cross join lateral regexp_matches(
        regexp_replace(
            concat_ws(' ', p.qual, p.with_check), 'SELECT [\\w.]+\\(', 'wrapped', 'g'
        ),
        '({call})', 'g'
    ) as call
    where p.schemaname in """
    + OURS
)
TABLE = "create table strongroom.bad (tenant_id text, id text, primary key (tenant_id, id));"
SECURED = TABLE + "alter table strongroom.bad enable row level security;"

ADVISORS = (
    Advisor(
        name="unindexed_foreign_keys",
        query=f"""
            select format('%s.%s', k.conrelid::regclass, k.conname)
            from pg_constraint as k
            join pg_class as c on c.oid = k.conrelid
            join pg_namespace as n on n.oid = c.relnamespace
            where k.contype = 'f'
                and n.nspname in {OURS}
                and not exists (
                    select
                    from pg_index as i
                    where i.indrelid = k.conrelid
                        and i.indpred is null
                        and i.indisvalid
                        -- The leading columns are the key's, in its order.
                        and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] = k.conkey
                )
        """,
        violation=TABLE
        + """
            create table strongroom.worse (
                tenant_id text, id text, bad_id text, primary key (tenant_id, id),
                constraint bad_exists foreign key (tenant_id, bad_id) references strongroom.bad
            );
            create index on strongroom.worse (bad_id, tenant_id);
        """,
        expects="bad_exists",
    ),
    Advisor(
        name="auth_rls_initplan",
        # A call that is not the whole of a sub-select runs once per row.
        query=BARE_CALLS.format(call="(?:auth\\.\\w+|current_setting|pg_has_role)\\("),
        violation=SECURED
        + """
            create policy slow on strongroom.bad for select
            using (id = current_setting('x.y', true));
        """,
        expects="slow on bad: current_setting",
    ),
    Advisor(
        name="helper_rls_initplan",
        # The same for our helpers, but for those that ask about the row and so take its columns.
        query=BARE_CALLS.format(call="strongroom_private\\.\\w+\\((?:\\)|'')"),
        violation=SECURED
        + """
            create policy slow on strongroom.bad for select
            using ((select strongroom_private.is_trusted()) or strongroom_private.is_trusted());
        """,
        expects="slow on bad: strongroom_private.is_trusted()",
    ),
    Advisor(
        name="multiple_permissive_policies",
        query=f"""
            select format('%s: %s for %s', c.relname, cmd, coalesce(r.rolname, 'public'))
            from pg_policy as p
            join pg_class as c on c.oid = p.polrelid
            join pg_namespace as n on n.oid = c.relnamespace
            cross join unnest(array['r', 'a', 'w', 'd']) as cmd
            join (
                select oid, rolname from pg_roles where not rolsuper
            ) as r
                -- a role has the policies of the roles that it is a member of, and those of public
                on exists (
                    select
                    from unnest(p.polroles) as granted
                    where granted = 0 or pg_has_role(r.oid, granted, 'usage')
                )
            where p.polpermissive
                and p.polcmd in (cmd::"char", '*')
                and n.nspname in {OURS}
            group by c.oid, c.relname, cmd, r.rolname
            having count(*) > 1
        """,
        violation=SECURED
        + """
            create policy one on strongroom.bad for select to authenticated using (tenant_id = 'a');
            create policy two on strongroom.bad for all using (tenant_id = 'b');
        """,
        expects="bad: r for authenticated",
    ),
    Advisor(
        name="function_search_path_mutable",
        query=f"""
            select p.oid::regprocedure::text
            {FUNCTIONS}
                and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)
        """,
        violation="create function strongroom.open_path() returns int language sql return 1;",
        expects="open_path",
    ),
    Advisor(
        name="security_definer_view",
        query=f"""
            select c.oid::regclass::text
            from pg_class as c
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in {OURS}
                and c.relkind = 'v'
                and not coalesce(
                    (
                        select o.option_value::boolean
                        from pg_options_to_table(c.reloptions) as o
                        where o.option_name = 'security_invoker'
                    ),
                    false
                )
        """,
        violation="create view strongroom.peephole as select * from strongroom.tenants;",
        expects="peephole",
    ),
    Advisor(
        name="security_definer_function_executable",
        query=f"""
            select format('%s by %s', p.oid::regprocedure, r.rolname)
            from pg_proc as p
            join pg_namespace as n on n.oid = p.pronamespace
            join pg_roles as r
                on r.rolname in ('anon', 'authenticated', 'service_role', 'strongroom_host')
            where n.nspname in {EXPOSED}
                and p.prosecdef
                and has_function_privilege(r.oid, p.oid, 'execute')
        """,
        violation="""
            create function strongroom.fire() returns trigger language plpgsql security definer
            set search_path = pg_catalog, pg_temp as 'begin return null; end';
        """,
        expects="fire() by anon",
    ),
    Advisor(
        name="function_executable_by_anonymous",
        query=f"""
            select format('%s by %s', p.oid::regprocedure, r.name)
            from pg_proc as p
            join pg_namespace as n on n.oid = p.pronamespace
            cross join (values ('anon'), ('public')) as r (name)
            where n.nspname in {OURS}
                and has_function_privilege(r.name, p.oid, 'execute')
        """,
        violation="""
            create function strongroom_private.spare() returns int language sql
            set search_path = pg_catalog, pg_temp return 1;
        """,
        expects="spare() by public",
    ),
    Advisor(
        name="relation_granted_to_anonymous",
        query=f"""
            select format('%s: %s', c.oid::regclass, nullif(a.grantee, 0)::regrole)
            from pg_class as c
            join pg_namespace as n on n.oid = c.relnamespace
            cross join lateral aclexplode(c.relacl) as a
            where n.nspname in {OURS}
                and (a.grantee = 0 or a.grantee = 'anon'::regrole)
            union all
            select format('%s: %s', n.nspname, nullif(a.grantee, 0)::regrole)
            from pg_namespace as n
            cross join lateral aclexplode(n.nspacl) as a
            where n.nspname in {OURS}
                and (a.grantee = 0 or a.grantee = 'anon'::regrole)
        """,
        violation="""
            grant select on strongroom.tenants to anon;
            grant usage on schema strongroom to public;
        """,
        expects="strongroom.tenants: anon",
    ),
    Advisor(
        name="user_metadata",
        query=f"""
            select p.policyname || ' on ' || p.tablename
            from pg_policies as p
            where p.schemaname in {OURS}
                and concat_ws(' ', p.qual, p.with_check) ~ 'user_metadata|raw_user_meta_data'
            union all
            select p.oid::regprocedure::text
            {FUNCTIONS}
                and p.prokind in ('f', 'p')
                and regexp_replace(pg_get_functiondef(p.oid), '--[^\\n]*', '', 'g')
                    ~ 'user_metadata|raw_user_meta_data'
        """,
        violation=SECURED
        + """
            create policy gullible on strongroom.bad for select
            using (tenant_id = (select auth.jwt() -> 'user_metadata' ->> 'tenant_id'));
        """,
        expects="gullible on bad",
    ),
    Advisor(
        name="rls_disabled",
        query=f"""
            select c.oid::regclass::text
            {TABLES}
                and not c.relrowsecurity
        """,
        violation=TABLE,
        expects="bad",
    ),
    Advisor(
        name="rls_not_forced",
        # Else the schema's owner, as which definer functions run, would see every tenant.
        query=f"""
            select c.oid::regclass::text
            {TABLES}
                and not c.relforcerowsecurity
        """,
        violation=SECURED,
        expects="bad",
    ),
    Advisor(
        name="rls_enabled_no_policy",
        query=f"""
            select c.oid::regclass::text
            {TABLES}
                and not exists (select from pg_policy as p where p.polrelid = c.oid)
        """,
        violation=SECURED,
        expects="bad",
    ),
    Advisor(
        name="rls_policy_always_true",
        query=f"""
            select p.policyname || ' on ' || p.tablename
            from pg_policies as p
            where p.schemaname in {OURS}
                and p.cmd <> 'SELECT'
                and p.permissive = 'PERMISSIVE'
                and 'true' in (p.qual, p.with_check)
        """,
        violation=SECURED
        + "create policy open_door on strongroom.bad for insert with check (true);",
        expects="open_door on bad",
    ),
    Advisor(
        name="duplicate_index",
        query=f"""
            select string_agg(i.indexrelid::regclass::text, ', ')
            from pg_index as i
            join pg_class as c on c.oid = i.indrelid
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in {OURS}
            group by
                i.indrelid, i.indnkeyatts, i.indkey::text, i.indclass::text,
                i.indcollation::text, i.indoption::text,
                pg_get_expr(i.indexprs, i.indrelid), pg_get_expr(i.indpred, i.indrelid)
            having count(*) > 1
        """,
        violation=TABLE + "create index again on strongroom.bad (tenant_id, id);",
        expects="again",
    ),
    Advisor(
        name="extension_in_public",
        query="""
            select e.extname::text
            from pg_extension as e
            where e.extnamespace in (
                select n.oid
                from pg_namespace as n
                where n.nspname in ('public', 'strongroom', 'strongroom_private')
            )
        """,
        # No extension has to be there for this: plpgsql is.
        violation="""
            update pg_extension set extnamespace = 'public'::regnamespace
            where extname = 'plpgsql';
        """,
        expects="plpgsql",
    ),
    Advisor(
        name="no_primary_key",
        query=f"""
            select c.oid::regclass::text
            {TABLES}
                and not exists (
                    select from pg_index as i where i.indrelid = c.oid and i.indisprimary
                )
        """,
        violation="create table strongroom.bad (tenant_id text);",
        expects="bad",
    ),
    Advisor(
        name="materialized_view_or_foreign_table_in_api",
        # Neither can have row security.
        query=f"""
            select c.oid::regclass::text
            from pg_class as c
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in {OURS}
                and c.relkind in ('m', 'f')
        """,
        violation="create materialized view strongroom.frozen as select 1 as one;",
        expects="frozen",
    ),
    Advisor(
        name="auth_users_exposed",
        query=f"""
            select distinct c.oid::regclass::text
            from pg_depend as d
            join pg_rewrite as w on w.oid = d.objid and d.classid = 'pg_rewrite'::regclass
            join pg_class as c on c.oid = w.ev_class
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in {OURS}
                and d.refobjid = 'auth.users'::regclass
        """,
        violation="""
            create view strongroom.people with (security_invoker) as select id from auth.users;
        """,
        expects="people",
    ),
    Advisor(
        name="policy_exists_rls_disabled",
        query=f"""
            select p.polname || ' on ' || c.relname
            from pg_policy as p
            join pg_class as c on c.oid = p.polrelid
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in {OURS}
                and not c.relrowsecurity
        """,
        violation=TABLE + "create policy idle on strongroom.bad for select using (false);",
        expects="idle on bad",
    ),
    Advisor(
        name="rls_policy_null_auth_disjunct",
        # No policy asks whether something about the caller is missing: that would let in who has none.
        query=f"""
            select p.policyname || ' on ' || p.tablename
            from pg_policies as p
            where p.schemaname in {OURS}
                and concat_ws(' ', p.qual, p.with_check)
                    ~* '(auth\\.\\w+|current_setting|current_\\w+)\\([^()]*\\)( AS \\w+\\))? IS (NOT )?NULL'
        """,
        violation=SECURED
        + """
            create policy upside_down on strongroom.bad for select
            using ((select auth.uid()) is null or id = (select auth.uid())::text);
        """,
        expects="upside_down on bad",
    ),
    Advisor(
        name="foreign_key_to_auth",
        # Deleting a user there must not be held up by us.
        query=f"""
            select k.conname::text
            from pg_constraint as k
            join pg_class as c on c.oid = k.conrelid
            join pg_class as r on r.oid = k.confrelid
            where k.contype = 'f'
                and c.relnamespace::regnamespace::text in {OURS}
                and r.relnamespace::regnamespace::text not in {OURS}
        """,
        violation="""
            create table strongroom.bad (
                user_id uuid primary key,
                constraint bad_user foreign key (user_id) references auth.users
            );
        """,
        expects="bad_user",
    ),
    Advisor(
        name="unsupported_reg_types",
        # A major upgrade of the server refuses them.
        query=f"""
            select format('%s.%s', c.oid::regclass, a.attname)
            {TABLES.replace("where", "join pg_attribute as a on a.attrelid = c.oid where")}
                and a.atttypid::regtype::text in (
                    'regcollation', 'regconfig', 'regdictionary', 'regnamespace', 'regoper',
                    'regoperator', 'regproc', 'regprocedure'
                )
        """,
        violation="create table strongroom.bad (config regconfig primary key);",
        expects="strongroom.bad.config",
    ),
    Advisor(
        name="invalid_index_or_autovacuum_disabled",
        query=f"""
            select i.indexrelid::regclass::text
            from pg_index as i
            join pg_class as c on c.oid = i.indrelid
            where c.relnamespace::regnamespace::text in {OURS}
                and not (i.indisvalid and i.indisready)
            union all
            select c.oid::regclass::text
            {TABLES}
                and 'autovacuum_enabled=false' = any (c.reloptions)
        """,
        violation="alter table strongroom.tenants set (autovacuum_enabled = false);",
        expects="strongroom.tenants",
    ),
    Advisor(
        name="overloaded_function",
        # PostgREST chooses by argument names and cannot tell overloads apart.
        query=f"""
            select format('%s.%s', n.nspname, p.proname)
            {FUNCTIONS}
            group by n.nspname, p.proname
            having count(*) > 1
        """,
        violation="""
            create function strongroom.twice(p_a int) returns int language sql return 1;
            create function strongroom.twice(p_a text) returns int language sql return 1;
        """,
        expects="strongroom.twice",
    ),
    Advisor(
        name="unnamed_argument",
        # PostgREST calls by name.
        query=f"""
            select p.oid::regprocedure::text
            from pg_proc as p
            join pg_namespace as n on n.oid = p.pronamespace
            where n.nspname in {EXPOSED}
                and p.prorettype <> 'trigger'::regtype
                and p.pronargs > 0
                and ('' = any (p.proargnames) or p.proargnames is null)
        """,
        violation="create function strongroom.nameless(int) returns int language sql return 1;",
        expects="nameless",
    ),
)
