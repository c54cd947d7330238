-- A host sees and writes the rows of the tenant that is bound, and no other's.
begin;
\ir support/stories.psql
select plan(
    (3 * count(*))::integer
    + (select (4 * count(*))::integer from stories.tables())
    + 6
)
from stories.relations();
select stories.found_a_world();

select stories.become_host('acme');
select is(
    stories.tenants_in(r),
    '{acme}',
    format('bound to acme, a host sees acme and nobody else in %s', r)
)
from stories.relations() as r;

select stories.become_host('globex');
select is(
    stories.tenants_in(r),
    '{globex}',
    format('bound to globex, a host sees globex and nobody else in %s', r)
)
from stories.relations() as r;

select stories.become_host();
select is(
    stories.tenants_in(r),
    '{}',
    format('bound to no tenant, a host sees nothing in %s', r)
)
from stories.relations() as r;

select stories.become_host('initech');
select is(
    stories.outcome(stories.insertion('strongroom.tenants', 'initech')),
    '1 row',
    'bound to initech, a host can insert initech into strongroom.tenants'
);
select stories.become_host('acme');
select is(
    stories.outcome(stories.insertion(t, 'acme')),
    -- What is told to Realtime only triggers write.
    case when has_table_privilege(t::regclass, 'insert') then '1 row' else '42501' end,
    format('bound to acme, a host can insert for acme into %s, or nobody can', t)
)
from stories.tables() as t
where t <> 'strongroom.tenants';
select is(
    stories.outcome(stories.insertion(t, 'globex')),
    '42501',
    format('bound to acme, a host cannot insert for globex into %s', t)
)
from stories.tables() as t;
select ok(
    stories.outcome(
        format('update %s set tenant_id = tenant_id where tenant_id = ''globex''', t)
    ) in ('0 rows', '42501'),
    format('bound to acme, a host cannot update rows of globex in %s', t)
)
from stories.tables() as t;
select ok(
    stories.outcome(format('delete from %s where tenant_id = ''globex''', t))
    in ('0 rows', '42501'),
    format('bound to acme, a host cannot delete rows of globex in %s', t)
)
from stories.tables() as t;

select is(
    stories.outcome(
        'update strongroom.conversations set tenant_id = ''globex'' where id = ''stateless'''
    ),
    '42501',
    'a host cannot move a conversation into another tenant'
);
select is(
    (
        select f.title
        from strongroom.find_conversation('globex', 'private') as f
    ),
    'globex private',
    'a function binds the tenant that the call names'
);
select is(
    current_setting('strongroom.tenant_id'),
    'globex',
    'and it stays bound to the end of the transaction'
);
select is(
    stories.message_of(
        'select * from strongroom.list_messages(''globex'', ''no such conversation'')'
    ),
    'the conversation does not exist',
    'an absent conversation is not found'
);
select is_empty(
    $$ select * from strongroom.find_tenant('nobody') $$,
    'an absent tenant is no row'
);
select is(
    stories.outcome('select * from strongroom.find_tenant('''')'),
    'SR001',
    'no function works without a tenant'
);

select * from finish();
rollback;
