-- Supabase's service_role has BYPASSRLS, so only the first wall holds it: every function works on
-- the tenant that the call names, and on no other. What history forbids is forbidden to it, too.
begin;
\ir support/stories.psql
select plan(16);
select stories.found_a_world();
select stories.become_service();

select is(strongroom_private.caller_kind(), 'host', 'service_role is a host');
select is(
    stories.outcome('select * from strongroom.list_conversations('''')'),
    'SR001',
    'it names a tenant like everybody else'
);
select set_eq(
    $$ select distinct c.tenant_id from strongroom.list_conversations('acme') as c $$,
    array['acme'],
    'conversations of the named tenant only'
);
select set_eq(
    $$ select distinct m.tenant_id from strongroom.list_members('acme') as m $$,
    array['acme'],
    'members of the named tenant only'
);
select set_eq(
    $$ select distinct m.tenant_id from strongroom.list_messages('acme', 'private') as m $$,
    array['acme'],
    'messages of the named tenant only'
);
select is(
    (select f.tenant_id from strongroom.find_message('globex', 'private-1') as f),
    'globex',
    'the same message id in another tenant is another message'
);
select set_eq(
    $$ select distinct h.tenant_id from strongroom.read_history('acme', 'private') as h $$,
    array['acme'],
    'history of the named tenant only'
);
select is_empty(
    $$ select * from strongroom.find_conversation('initech', 'private') $$,
    'nothing in a tenant that does not exist'
);
select is(
    stories.outcome('select * from strongroom.create_conversation(''initech'', ''ada'')'),
    'SR010',
    'and nothing can be written there'
);
select is(
    stories.outcome('update strongroom.messages set turn = 1 where tenant_id = ''acme'''),
    '42501',
    'it cannot change messages'
);
select is(
    stories.outcome('delete from strongroom.messages where tenant_id = ''acme'''),
    '42501',
    'it cannot delete messages'
);
select is(
    stories.outcome('truncate strongroom.messages'),
    '42501',
    'it cannot truncate messages'
);
select is(
    stories.outcome('select * from strongroom_private.grants'),
    '42501',
    'it cannot read or change the grant matrix'
);

-- Claims decide nothing for a host.
select stories.become(
    'service_role', '{"sub": "ada", "app_metadata": {"tenant_id": "globex"}}', ''
);
select is(
    (select f.title from strongroom.find_conversation('acme', 'private') as f),
    'acme private',
    'the claims of a token do not choose the tenant of a host'
);
select is(strongroom_private.current_principal(), null, 'nor do they make it a principal');

select lives_ok(
    $$ select * from strongroom.purge_tenant('acme') $$,
    'it purges the tenant that it names'
);

select * from finish();
rollback;
