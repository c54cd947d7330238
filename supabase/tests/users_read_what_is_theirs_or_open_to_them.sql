-- An end user reads what they own, take part in, or what is open to the tenant of their token; what
-- hangs on a conversation has its rule; an unreadable row and an absent one are the same.
begin;
\ir support/stories.psql
select plan(
    (
        select (2 * count(*))::integer
        from stories.relations() as r
        where not stories.is_for_hosts_alone(r)
    )
    + (
        select count(*)::integer
        from stories.relations() as r
        where stories.is_for_hosts_alone(r)
    )
    + 29
);
select stories.found_a_world();

-- Tables, directly

select stories.become_user('ada', 'acme');
select is(
    stories.tenants_in(r),
    '{acme}',
    format('ada of acme sees acme and nobody else in %s', r)
)
from stories.relations() as r
where not stories.is_for_hosts_alone(r);
select is(
    stories.outcome(format('select * from %s', r)),
    '42501',
    format('ada has no right on %s', r)
)
from stories.relations() as r
where stories.is_for_hosts_alone(r);
select set_eq(
    'select id from strongroom.conversations',
    array['private', 'shared', 'open', 'stateless'],
    'ada sees what she owns, and what is open to the tenant'
);
select stories.become_user('ada', 'globex');
select is(
    stories.tenants_in(r),
    '{globex}',
    format('ada of globex sees globex and nobody else in %s', r)
)
from stories.relations() as r
where not stories.is_for_hosts_alone(r);

select stories.become_user('bob', 'acme');
select set_eq(
    'select id from strongroom.conversations',
    array['shared', 'open'],
    'bob sees what he owns and where he takes part'
);
select set_eq(
    'select distinct conversation_id from strongroom.messages',
    array['shared', 'open'],
    'and the messages of just these'
);

select stories.become_user('cleo', 'acme');
select set_eq(
    format('select distinct %I from strongroom.%I', c.attname, c.relname),
    array['open'],
    format('cleo, who takes part in nothing, sees only the open one in %s', c.relname)
)
from (
    values
        ('conversations', 'id'),
        ('conversation_details', 'id'),
        ('messages', 'conversation_id'),
        ('message_parts', 'conversation_id'),
        ('session_states', 'conversation_id'),
        ('thread_summaries', 'conversation_id')
) as c (relname, attname);
select is_empty(
    'select * from strongroom.conversation_participants',
    'cleo does not see who takes part in what she may not read'
);
select set_eq(
    'select principal_id from strongroom.memberships',
    array['cleo'],
    'cleo sees her own membership only'
);
select is(
    stories.outcome('select * from strongroom.schema_history'),
    '42501',
    'the history of the schema is not for users'
);

-- Functions

select set_eq(
    $$ select c.id from strongroom.list_conversations('acme') as c $$,
    array['open'],
    'a list shows the same as the table'
);
select is_empty(
    $$ select * from strongroom.find_conversation('acme', 'private') $$,
    'an unreadable conversation is no row'
);
select is_empty(
    $$ select * from strongroom.find_message('acme', 'private-1') $$,
    'an unreadable message is no row'
);
select is_empty(
    $$ select * from strongroom.find_session_state('acme', 'private') $$,
    'an unreadable session state is no row'
);
select is(
    stories.message_of(format(q.call, 'private')),
    stories.message_of(format(q.call, 'absent')),
    format('unreadable and absent are the same: %s', q.call)
)
from (
    values
        ('select * from strongroom.list_messages(''acme'', %L)'),
        ('select * from strongroom.count_messages(''acme'', %L)'),
        ('select * from strongroom.read_history(''acme'', %L)'),
        ('select * from strongroom.list_thread_summaries(''acme'', %L)'),
        ('select * from strongroom.find_latest_thread_summary(''acme'', %L)')
) as q (call);
select is(
    stories.outcome('select * from strongroom.list_conversations(''globex'')'),
    'SR021',
    'a tenant that differs from the claim is refused'
);
select is(
    stories.outcome(
        'select * from strongroom.list_conversations(''acme'', p_viewer_id => ''ada'')'
    ),
    'SR020',
    'a user cannot look through somebody else''s eyes'
);
select is(
    (select m.message_count from strongroom.count_messages('acme', 'open') as m),
    2::bigint,
    'what is open can be read'
);

-- A host's viewer gets the same filtering without a token.

select stories.become_host();
select set_eq(
    $$ select c.id from strongroom.list_conversations('acme', p_viewer_id => 'cleo') as c $$,
    array['open'],
    'a host that names a viewer sees what the viewer would see'
);
select is(
    stories.outcome(
        'select * from strongroom.list_messages(''acme'', ''private'', p_viewer_id => ''bob'')'
    ),
    'SR010',
    'also for what hangs on a conversation'
);

-- Soft deletion hides from everybody but the host.

select lives_ok(
    $$ select * from strongroom.soft_delete_conversation('acme', 'open') $$,
    'the host deletes the open conversation'
);
select stories.become_user('cleo', 'acme');
select is_empty('select * from strongroom.conversations', 'and it is gone for cleo');
select is_empty('select * from strongroom.messages', 'with its messages');

select * from finish();
rollback;
