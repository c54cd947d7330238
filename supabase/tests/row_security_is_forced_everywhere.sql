-- The second wall stands on every table and binds the owner, too; views look through it with the
-- reader's eyes; no policy asks for more than the first wall lets through.
begin;
\ir support/stories.psql

create table stories.policies as
select
    p.polrelid::regclass as relation,
    p.polname as name,
    p.polcmd as command,
    p.polroles as roles,
    p.polpermissive as is_permissive,
    pg_get_expr(p.polqual, p.polrelid) as condition,
    pg_get_expr(p.polwithcheck, p.polrelid) as condition_of_new_rows
from pg_policy as p
inner join pg_class as c on c.oid = p.polrelid
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private');

select plan(
    (
        select 3 * count(*)::integer
        from pg_class as c
        where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and c.relkind in ('r', 'p')
    )
    + (
        select count(*)::integer
        from pg_class as c
        where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and c.relkind = 'v'
    )
    + (select 4 * count(*)::integer from stories.policies)
    + 3
);

select ok(c.relrowsecurity, format('%s has row security', c.oid::regclass))
from pg_class as c
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind in ('r', 'p');
select ok(c.relforcerowsecurity, format('%s forces it on the owner', c.oid::regclass))
from pg_class as c
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind in ('r', 'p');
select isnt_empty(
    format(
        'select from stories.policies where relation = %L::regclass and command in (''r'', ''*'')',
        c.oid::regclass
    ),
    format('%s has a policy for reading', c.oid::regclass)
)
from pg_class as c
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind in ('r', 'p');
select ok(
    'security_invoker=true' = any(c.reloptions),
    format('%s is a view with the rights of its reader', c.oid::regclass)
)
from pg_class as c
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind = 'v';

select ok(
    p.is_permissive and p.roles = '{0}',
    format('%s: %s is permissive and for every role', p.relation, p.name)
)
from stories.policies as p;
select is(
    (
        select count(*)
        from stories.policies as o
        where o.relation = p.relation
            and (o.command = p.command or '*' in (o.command, p.command))
    ),
    1::bigint,
    format('%s: %s is the only one for its command', p.relation, p.name)
)
from stories.policies as p;
select ok(
    p.relation::text in (
        'strongroom.schema_history',
        'strongroom_private.grants',
        'strongroom_private.erasure_rules',
        'strongroom_private.retention_kinds'
    )
    or (
        coalesce(p.condition, p.condition_of_new_rows) ~ '^\(*tenant_id = \( SELECT '
        and coalesce(p.condition_of_new_rows, p.condition) ~ '^\(*tenant_id = \( SELECT '
    ),
    format('%s: %s asks for the bound tenant first, and once per statement', p.relation, p.name)
)
from stories.policies as p;
select ok(
    p.command = 'r'
    or coalesce(p.condition_of_new_rows, p.condition) ~ 'is_trusted\(\)',
    format('%s: %s lets nobody write but hosts and reviewed functions', p.relation, p.name)
)
from stories.policies as p;

select is(
    (
        select array_agg(p.relation || ': ' || p.name)
        from stories.policies as p
        where concat(p.condition, p.condition_of_new_rows) ~ 'user_metadata|auth\.'
    ),
    null,
    'no policy looks at what a user can edit'
);
select is(
    (
        select array_agg(p.relation || ': ' || p.name)
        from stories.policies as p
        where concat(p.condition, p.condition_of_new_rows)
            ~ '(?<!SELECT strongroom_private\.)(current_|bound_|is_trusted)[a-z]*\(\)'
    ),
    null,
    'who is calling is asked once per statement, not per row'
);
select is(
    (
        select array_agg(d.check_name || ' ' || d.object_name)
        from strongroom.diagnose() as d
        where d.check_name <> 'role'
    ),
    null,
    'diagnose() agrees'
);

select * from finish();
rollback;
