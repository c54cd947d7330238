-- Soft deletion hides a conversation and all that hangs on it, refuses late writes, and frees its
-- external_ref; restoring brings all of it back.
begin;
\ir support/stories.psql
select plan(24);
select stories.found_a_world();
select stories.become_host();

select is(
    (
        select c.external_ref
        from strongroom.update_conversation('acme', 'open', '{"external_ref": "t7"}', 1) as c
    ),
    't7',
    'a conversation has a name'
);
select is(
    (select c.deleted_at is not null from strongroom.soft_delete_conversation('acme', 'open') as c),
    true,
    'it is deleted'
);
select is(
    (select c.version from strongroom.soft_delete_conversation('acme', 'open') as c),
    3::bigint,
    'a repeat changes nothing'
);
select is_empty(
    $$ select * from strongroom.find_conversation('acme', 'open') $$,
    'it is not found'
);
select set_eq(
    $$ select c.id from strongroom.list_conversations('acme') as c $$,
    array['private', 'shared', 'stateless'],
    'it is not listed'
);
select set_eq(
    $$ select c.id from strongroom.list_conversations('acme', p_deleted => true) as c $$,
    array['open'],
    'but among the deleted ones'
);
select is(
    stories.outcome(f.statement),
    f.outcome,
    format('while it is deleted: %s', f.statement)
)
from (
    values
        ('select * from strongroom.list_messages(''acme'', ''open'')', 'SR010'),
        ('select * from strongroom.read_history(''acme'', ''open'')', 'SR010'),
        ('select * from strongroom.find_message(''acme'', ''open-1'')', '0 rows'),
        ('select * from strongroom.find_session_state(''acme'', ''open'')', '0 rows'),
        ('select * from strongroom.update_conversation(''acme'', ''open'', ''{}'', 3)', 'SR010'),
        ('select * from strongroom.put_session_state(''acme'', ''open'', ''{}'', 1)', 'SR010'),
        ('select * from strongroom.append_thread_summary(''acme'', ''open'', ''x'', 2)', 'SR010'),
        ('select * from strongroom.fork_conversation(''acme'', ''open'')', 'SR010'),
        (
            'select * from strongroom.append_messages(''acme'', ''open'','
            ' jsonb_build_array(stories.text_message(''late'', ''late'')))',
            'SR010'
        )
) as f (statement, outcome);
select is(
    (
        select c.outcome
        from strongroom.create_conversation('acme', 'ada', 'new', p_external_ref => 't7') as c
    ),
    'inserted',
    'its name is free again'
);
select is(
    stories.message_of('select strongroom.restore_conversation(''acme'', ''open'')'),
    'another conversation has taken the external_ref meanwhile',
    'while somebody else has the name, it cannot come back'
);
select lives_ok(
    $$ select * from strongroom.soft_delete_conversation('acme', 'new') $$,
    'when the other one is gone'
);
select is(
    (select c.external_ref from strongroom.restore_conversation('acme', 'open') as c),
    't7',
    'it comes back, with its name'
);
select is(
    (select c.deleted_at from strongroom.restore_conversation('acme', 'open') as c),
    null,
    'a repeat changes nothing'
);
select is(
    (
        select string_agg(m.id, ' ' order by m.position)
        from strongroom.list_messages('acme', 'open') as m
    ),
    'open-1 open-2',
    'with its messages and without the late one'
);
select is(
    (select s.version from strongroom.find_session_state('acme', 'open') as s),
    1::bigint,
    'its state'
);
select is(
    (select s.id from strongroom.find_latest_thread_summary('acme', 'open') as s),
    'open-s',
    'and its summary'
);
select is(
    stories.outcome('select strongroom.restore_conversation(''acme'', ''absent'')'),
    'SR010',
    'what never was cannot come back'
);

select * from finish();
rollback;
