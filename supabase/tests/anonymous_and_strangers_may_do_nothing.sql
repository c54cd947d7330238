-- anon, with or without claims, and a role that strongroom does not know have no right on any
-- table, view or function.
begin;
\ir support/stories.psql
create role stories_stranger;
select plan(
    (
        select (2 * 4 * count(*))::integer
        from pg_class as c
        where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and c.relkind in ('r', 'p', 'v')
    )
    + (
        select (2 * 2 * count(*))::integer
        from pg_proc as p
        where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    )
    + 4
);
select stories.found_a_world();

create table stories.nobodies (role_name text);
insert into stories.nobodies (role_name)
values
    ('anon'),
    ('stories_stranger');

create function stories.outcome_as(p_role text, p_statement text)
returns text
language plpgsql
as $$
begin
    -- With the claims of a real user: a nobody with a token is a nobody still.
    perform stories.become_user('ada', 'acme');
    perform set_config('role', p_role, true);
    return stories.outcome(p_statement);
end
$$;
grant select on stories.nobodies to public;

select is(
    stories.outcome_as(n.role_name, format(v.statement, c.oid::regclass)),
    '42501',
    format('%s: %s', n.role_name, format(v.statement, c.oid::regclass))
)
from pg_class as c
cross join stories.nobodies as n
cross join (
    values
        ('select * from %s'),
        ('insert into %s default values'),
        ('update %s set ctid = ctid'),
        ('delete from %s where true')
) as v (statement)
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind in ('r', 'p', 'v');

select ok(
    not has_function_privilege(n.role_name, p.oid, 'execute'),
    format('%s may not execute %s', n.role_name, p.oid::regprocedure)
)
from pg_proc as p
cross join stories.nobodies as n
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private');

select is(
    stories.outcome_as(
        n.role_name,
        format(
            'select %I.%I(%s)',
            p.pronamespace::regnamespace,
            p.proname,
            (
                select string_agg(format('null::%s', format_type(a.type, null)), ', ' order by a.n)
                from unnest(p.proargtypes::oid[]) with ordinality as a (type, n)
            )
        )
    ),
    '42501',
    format('%s calls %s in vain', n.role_name, p.oid::regprocedure)
)
from pg_proc as p
cross join stories.nobodies as n
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private');

select stories.become_owner();
select is(
    strongroom_private.role_kind('anon'),
    null,
    'anon is no kind of caller'
);
select is(
    strongroom_private.role_kind('stories_stranger'),
    null,
    'nor is a role that nobody introduced'
);
grant strongroom_host to stories_stranger;
select is(
    strongroom_private.role_kind('stories_stranger'),
    'host',
    'membership in strongroom_host makes a host'
);
select is(
    stories.outcome_as('stories_stranger', 'select * from strongroom.find_tenant(''acme'')'),
    '1 row',
    'who then may do what hosts may'
);

select * from finish();
rollback;
