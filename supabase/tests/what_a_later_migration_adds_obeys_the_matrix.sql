-- A migration that adds objects and says nothing of rights gives nobody any; what it publishes, the
-- named roles get. Also where a project grants everything by default. A migration runs once, in
-- order, in one transaction.
begin;
\ir support/stories.psql
select plan(25);

select set_config('stories.last', max(h.version)::text, true)
from strongroom.schema_history as h;
create function stories.next()
returns integer
language sql
as $$ select current_setting('stories.last')::integer + 1 $$;

-- As on Supabase, in the worst case.
alter default privileges grant all on tables to public, anon, authenticated, service_role;
alter default privileges grant all on functions to public, anon, authenticated, service_role;
alter default privileges grant all on sequences to public, anon, authenticated, service_role;

select is(
    stories.outcome(format('select strongroom_private.require_transaction(%s)', stories.next())),
    'SR041',
    'a migration that was not begun in this transaction is refused'
);
select is(
    stories.outcome(
        format('select strongroom_private.finish_migration(%s, ''x'')', stories.next())
    ),
    'SR041',
    'and cannot be finished'
);
select is(
    stories.outcome(
        format('select strongroom_private.begin_migration(%s, ''x'')', stories.next() + 1)
    ),
    'SR041',
    'none can be left out'
);
select is(
    stories.outcome('select strongroom_private.begin_migration(1, ''foundation'')'),
    'SR041',
    'none runs twice'
);

select lives_ok(
    format('select strongroom_private.begin_migration(%s, ''later'')', stories.next()),
    'a migration begins'
);
create table strongroom.later_things (
    tenant_id text collate "C" not null,
    serial_number bigint generated always as identity,
    primary key (tenant_id, serial_number)
);
create view strongroom.later_view
with (security_invoker = true)
as
select t.tenant_id
from strongroom.later_things as t;
create function strongroom.list_later()
returns integer
language sql
set search_path = pg_catalog, pg_temp
as $$ select 1 $$;
create function strongroom.find_later()
returns integer
language sql
set search_path = pg_catalog, pg_temp
as $$ select 1 $$;
select ok(
    has_function_privilege('anon', 'strongroom.list_later()', 'execute'),
    'before it is finished, anon has what the project grants by default'
);
select lives_ok(
    $$
        select strongroom_private.publish_grant(
            'function', '{strongroom.find_later}', '{execute}', '{strongroom_host}'
        )
    $$,
    'it publishes one grant'
);
select is(
    stories.message_of(
        format('select strongroom_private.finish_migration(%s, ''later'')', stories.next())
    ),
    format(
        'strongroom %s leaves open what erasing a person does: strongroom.later_things has no'
        ' erasure rule',
        to_char(stories.next(), 'FM0000')
    ),
    'it is not finished before its tables say what erasing a person does to them'
);
select strongroom_private.publish_erasure_rule('strongroom.later_things', '', 'keep', 'Numbers.');
select lives_ok(
    format('select strongroom_private.finish_migration(%s, ''later'')', stories.next()),
    'and is finished'
);

select is(
    (
        select array_agg(p.privilege || ' on ' || o.relation)
        from unnest(
            '{strongroom.later_things,strongroom.later_view}'::text[]
        ) as o (relation)
        cross join unnest(
            '{select,insert,update,delete,truncate,references,trigger}'::text[]
        ) as p (privilege)
        where has_table_privilege(r.role_name, o.relation, p.privilege)
    ),
    null,
    format('%s has no right on the new table and view', r.role_name)
)
from unnest('{anon,authenticated,service_role,strongroom_host}'::text[]) as r (role_name);
select ok(
    not has_function_privilege(r.role_name, 'strongroom.list_later()', 'execute'),
    format('%s may not execute the function that was not published', r.role_name)
)
from unnest('{anon,authenticated,service_role,strongroom_host}'::text[]) as r (role_name);
select is(
    has_function_privilege(r.role_name, 'strongroom.find_later()', 'execute'),
    r.role_name = 'strongroom_host',
    format('%s and the function that was published for hosts', r.role_name)
)
from unnest('{anon,authenticated,service_role,strongroom_host}'::text[]) as r (role_name);
select is(
    (
        select array_agg(s.privilege)
        from unnest('{usage,select,update}'::text[]) as s (privilege)
        where has_sequence_privilege(
            'anon', 'strongroom.later_things_serial_number_seq', s.privilege
        )
    ),
    null,
    'anon has no right on the new sequence'
);
select is_empty(
    'select * from strongroom_private.list_grant_differences()',
    'the catalog is the matrix again'
);
select is(
    (
        select format('%s %s', h.name, h.status)
        from strongroom.schema_history as h
        where h.version = stories.next()
    ),
    'later applied',
    'the migration has recorded itself'
);

-- Grants by hand are seen, and taken back.

grant select on strongroom.messages to anon;
select is(
    (
        select array_agg(format('%s %s %s', d.object_name, d.role_name, d.problem))
        from strongroom_private.list_grant_differences() as d
    ),
    '{strongroom.messages anon unexpected}',
    'a grant by hand is seen'
);

select * from finish();
rollback;
