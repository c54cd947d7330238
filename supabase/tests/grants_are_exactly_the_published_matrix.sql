-- The table strongroom_private.grants says who may do what. Here it is compared with what the
-- server itself answers, for every role, object and privilege, so that neither can drift.
begin;
\ir support/stories.psql

create table stories.roles (role_name text);
insert into stories.roles (role_name)
values
    ('strongroom_host'),
    ('service_role'),
    ('supabase_auth_admin'),
    ('authenticated'),
    ('anon');

-- What the server answers; a role's rights through membership and through PUBLIC count.
create table stories.answers as
select
    'schema' as object_kind,
    n.nspname::text as object_name,
    lower(p.privilege) as privilege,
    r.role_name,
    has_schema_privilege(r.role_name, n.oid, p.privilege) as held
from pg_namespace as n
cross join stories.roles as r
cross join unnest('{usage,create}'::text[]) as p (privilege)
where n.nspname in ('strongroom', 'strongroom_private')
union all
select
    'table',
    format('%s.%s', c.relnamespace::regnamespace, c.relname),
    p.privilege,
    r.role_name,
    has_table_privilege(r.role_name, c.oid, p.privilege)
from pg_class as c
cross join stories.roles as r
cross join unnest(
    '{select,insert,update,delete,truncate,references,trigger}'::text[]
) as p (privilege)
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind in ('r', 'p', 'v', 'm', 'f')
union all
select
    'sequence',
    format('%s.%s', c.relnamespace::regnamespace, c.relname),
    p.privilege,
    r.role_name,
    -- Not in the planner's order: the answer for a table would be an error.
    case when c.relkind = 'S' then has_sequence_privilege(r.role_name, c.oid, p.privilege) end
from pg_class as c
cross join stories.roles as r
cross join unnest('{usage,select,update}'::text[]) as p (privilege)
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind = 'S'
union all
select
    'function',
    format('%s.%s', p.pronamespace::regnamespace, p.proname),
    'execute',
    r.role_name,
    has_function_privilege(r.role_name, p.oid, 'execute')
from pg_proc as p
cross join stories.roles as r
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private');

select plan((select count(*)::integer from stories.answers) + 11);

select is(
    a.held,
    exists (
        select
        from strongroom_private.grants as g
        where g.object_kind = a.object_kind
            and g.object_name = a.object_name
            and g.column_name = ''
            and g.privilege = a.privilege
            and g.role_name = a.role_name
    ),
    format('%s: %s on %s %s', a.role_name, a.privilege, a.object_kind, a.object_name)
)
from stories.answers as a;

select is(
    (
        select array_agg(format('%s on %s', g.privilege, g.object_name))
        from strongroom_private.grants as g
        where not exists (
            select
            from stories.answers as a
            where a.object_kind = g.object_kind
                and a.object_name = g.object_name
                and a.privilege = g.privilege
                and a.role_name = g.role_name
        )
    ),
    null,
    'the matrix names nothing that is not there'
);
select is_empty(
    'select * from strongroom_private.list_grant_differences()',
    'the function that watches the matrix agrees'
);
select is_empty(
    'select * from strongroom_private.grants as g where g.role_name in (''anon'', ''public'')',
    'anon and PUBLIC are not in it'
);
select is(
    (
        select array_agg(a.role_name || ': ' || a.object_name)
        from stories.answers as a
        where a.role_name = 'anon'
            and a.held
    ),
    null,
    'anon holds nothing, not through PUBLIC either'
);
select is(
    (
        select array_agg(c.oid::regclass || '.' || a.attname)
        from pg_attribute as a
        inner join pg_class as c on c.oid = a.attrelid
        where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and a.attacl is not null
    ),
    null,
    'nobody holds a right on a single column'
);
select is(
    (
        select array_agg(distinct acl.object)
        from (
            select
                n.nspname::text as object,
                (aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner)))).grantee
            from pg_namespace as n
            where n.nspname in ('strongroom', 'strongroom_private')
            union all
            select
                c.oid::regclass::text,
                (aclexplode(coalesce(c.relacl, acldefault('r', c.relowner)))).grantee
            from pg_class as c
            where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
                and c.relkind in ('r', 'p', 'v', 'm', 'S')
            union all
            select
                p.oid::regprocedure::text,
                (aclexplode(coalesce(p.proacl, acldefault('f', p.proowner)))).grantee
            from pg_proc as p
            where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
        ) as acl
        where acl.grantee = 0
    ),
    null,
    'PUBLIC holds nothing'
);
select is(
    (
        select array_agg(acl.object || ' to ' || acl.grantee::regrole)
        from (
            select
                c.oid::regclass::text as object,
                (aclexplode(c.relacl)).*
            from pg_class as c
            where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            union all
            select
                p.oid::regprocedure::text,
                (aclexplode(p.proacl)).*
            from pg_proc as p
            where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
        ) as acl
        where acl.is_grantable
            and acl.grantee not in (
                select n.nspowner
                from pg_namespace as n
                where n.nspname = 'strongroom'
            )
    ),
    null,
    'nobody may pass a right on'
);
select is_empty(
    $$
        select *
        from strongroom_private.grants as g
        where g.role_name = 'authenticated'
            and g.object_kind = 'table'
            and g.privilege <> 'select'
    $$,
    'users only read tables'
);
select set_eq(
    $$
        select r
        from stories.relations() as r
        where not has_table_privilege('authenticated', r, 'select')
    $$,
    'select r from stories.relations() as r where stories.is_for_hosts_alone(r)',
    'and not those that workers and subscribers on the host''s side work with'
);
select set_eq(
    $$
        select g.object_name
        from strongroom_private.grants as g
        where g.object_kind = 'table'
            and g.privilege = 'delete'
    $$,
    array[
        'strongroom.agents',
        'strongroom.blob_removals',
        'strongroom.artifacts',
        'strongroom.checkpoints',
        'strongroom.chunks',
        'strongroom.collections',
        'strongroom.conversation_participants',
        'strongroom.conversations',
        'strongroom.evaluation_cases',
        'strongroom.evaluation_runs',
        'strongroom.files',
        'strongroom.framework_records',
        'strongroom.framework_sessions',
        'strongroom.jobs',
        'strongroom.locks',
        'strongroom.memberships',
        'strongroom.skills',
        'strongroom.memories',
        'strongroom.memory_settings',
        'strongroom.memory_tombstones',
        'strongroom.retention_policies',
        'strongroom.sources',
        'strongroom.tenants',
        'strongroom.tool_outputs',
        'strongroom.topic_events',
        'strongroom.transcript_messages',
        'strongroom.transcripts'
    ],
    'hosts delete from these tables only; the rest goes by cascade'
);
select is(
    (
        select array_agg(g.role_name || ' ' || g.object_name)
        from strongroom_private.grants as g
        inner join pg_proc as p
            on format('%s.%s', p.pronamespace::regnamespace, p.proname) = g.object_name
        where p.prosecdef
            and g.role_name <> 'authenticated'
            and g.object_name not in (
                'strongroom_private.is_active_tenant',
                'strongroom_private.is_participant',
                -- Supabase Auth's alone.
                'strongroom_private.add_token_claims',
                'strongroom_private.dispatch_runs',
                'strongroom_private.list_overdue_tenants',
                'strongroom_private.erase_person',
                'strongroom_private.sweep_records',
                'strongroom_private.list_retention_kinds',
                'strongroom_private.list_tenants_to_sweep',
                'strongroom_private.dispatch_jobs',
                'strongroom_private.search_chunks',
                'strongroom_private.read_found_chunks',
                'strongroom_private.count_chunks_of_user',
                'strongroom_private.write_chunks',
                'strongroom_private.write_terms',
                'strongroom_private.write_embeddings',
                'strongroom_private.write_audit_seal',
                'strongroom_private.list_tenants_to_seal',
                'strongroom_private.list_tenants_to_expire',
                'strongroom_private.dispatch_blob_removals'
            )
    ),
    null,
    'hosts need no definer function but those of policies, workers, search, seal and lifecycle'
);

select * from finish();
rollback;
