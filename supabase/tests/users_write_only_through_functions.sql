-- An end user has no right to write a table. Functions let them create a conversation of their own,
-- append to it as themselves, and delete it; nothing else.
begin;
\ir support/stories.psql
select plan((select (3 * count(*))::integer from stories.tables()) + 37);
select stories.found_a_world();
select stories.become_user('ada', 'acme');

select is(
    stories.message_of(stories.insertion(t, 'acme')),
    format('permission denied for table %s', split_part(t, '.', 2)),
    format('a user has no right to insert into %s', t)
)
from stories.tables() as t;
select is(
    stories.message_of(format('update %s set tenant_id = tenant_id where true', t)),
    format('permission denied for table %s', split_part(t, '.', 2)),
    format('a user has no right to update %s', t)
)
from stories.tables() as t;
select is(
    stories.message_of(format('delete from %s where true', t)),
    format('permission denied for table %s', split_part(t, '.', 2)),
    format('a user has no right to delete from %s', t)
)
from stories.tables() as t;

-- Creating

select is(
    (select c.outcome from strongroom.create_conversation('acme', 'ada', 'mine') as c),
    'inserted',
    'a user creates a conversation of their own'
);
select is(
    (select c.outcome from strongroom.create_conversation('acme', 'ada', 'mine') as c),
    'duplicate',
    'once'
);
select is(
    stories.outcome('select * from strongroom.create_conversation(''acme'', ''bob'', ''his'')'),
    'SR020',
    'but not somebody else''s'
);
select is(
    stories.outcome('select * from strongroom.create_conversation(''globex'', ''ada'', ''far'')'),
    'SR021',
    'and not in another tenant'
);
select is(
    stories.outcome(
        'select * from strongroom.create_conversation(''acme'', ''ada'', ''open'')'
    ),
    'SR011',
    'an id that somebody else''s conversation has is taken'
);

-- Appending

select is(
    (
        select a.outcome
        from strongroom.append_messages(
            'acme', 'mine', jsonb_build_array(stories.text_message('u1', 'hello'))
        ) as a
    ),
    'inserted',
    'a user appends to their own conversation'
);
select is(
    (
        select a.outcome
        from strongroom.append_messages(
            'acme', 'mine', jsonb_build_array(stories.text_message('u1', 'hello'))
        ) as a
    ),
    'duplicate',
    'and a repeat changes nothing'
);
select is(
    (select m.author_id from strongroom.find_message('acme', 'u1') as m),
    'ada',
    'the author is the signed-in user'
);
select is(
    stories.message_of(
        format(
            'select * from strongroom.append_messages(''acme'', ''mine'', %L)',
            jsonb_build_array(stories.text_message('u2', 'hello') || m.extra)
        )
    ),
    format(
        'messages[0].%s: a user appends only as themselves, with role user and no run', m.field
    ),
    format('a user does not choose %s', m.field)
)
from (
    values
        ('role', '{"role": "assistant"}'::jsonb),
        ('role', '{"role": "system"}'),
        ('role', '{"role": "tool"}'),
        ('author_id', '{"author_id": "bob"}'),
        ('run_id', '{"run_id": "r"}'),
        ('turn', '{"turn": 1}')
) as m (field, extra);
select is(
    stories.outcome(
        format(
            'select * from strongroom.append_messages(''acme'', ''open'', %L)',
            jsonb_build_array(stories.text_message('u3', 'hello'))
        )
    ),
    'SR020',
    'reading what is open to the tenant is not writing to it'
);
select stories.become_user('bob', 'acme');
select is(
    (
        select a.outcome
        from strongroom.append_messages(
            'acme', 'shared', jsonb_build_array(stories.text_message('u4', 'hello'))
        ) as a
    ),
    'inserted',
    'a participant appends'
);
select is(
    stories.message_of(
        format(
            'select * from strongroom.append_messages(''acme'', ''private'', %L)',
            jsonb_build_array(stories.text_message('u5', 'hello'))
        )
    ),
    'the conversation does not exist',
    'to an unreadable conversation nobody can append, as if it were absent'
);
select is(
    (
        select array_agg(concat(a.conflict, a.position, a.created_at))
        from strongroom.append_messages(
            'acme', 'shared', jsonb_build_array(stories.text_message('private-1', 'hello'))
        ) as a
    ),
    '{other-conversation}',
    'an id from an unreadable conversation is a conflict that shows nothing of it'
);

-- Deleting

select is(
    stories.message_of('select * from strongroom.soft_delete_conversation(''acme'', ''shared'')'),
    'the conversation does not exist',
    'a participant cannot delete'
);
select stories.become_user('ada', 'acme');
select is(
    (
        select d.deleted_at is not null
        from strongroom.soft_delete_conversation('acme', 'mine') as d
    ),
    true,
    'an owner deletes'
);
select is_empty(
    $$ select * from strongroom.find_conversation('acme', 'mine') $$,
    'and it is gone'
);
select is_empty(
    $$ select * from strongroom.conversations where id = 'mine' $$,
    'from the table, too'
);
select stories.become_host();
select is(
    (select f.id from strongroom.find_conversation('acme', 'mine', p_deleted => true) as f),
    'mine',
    'a host still finds it among the deleted ones'
);
select stories.become_user('bob', 'acme');

-- Everything else is refused by grant, also with the signed-in user's own tenant.

select is(
    stories.outcome(f.statement),
    '42501',
    format('a user cannot: %s', f.statement)
)
from (
    values
        ('select strongroom.create_tenant(''new'', ''New'')'),
        ('select strongroom.update_tenant(''acme'', ''{}'', 1)'),
        ('select strongroom.purge_tenant(''acme'')'),
        ('select strongroom.add_member(''acme'', ''eve'')'),
        ('select strongroom.set_member_roles(''acme'', ''bob'', ''{admin}'', 1)'),
        ('select strongroom.remove_member(''acme'', ''ada'')'),
        ('select strongroom.update_conversation(''acme'', ''open'', ''{}'', 1)'),
        ('select strongroom.share_conversation(''acme'', ''open'', ''tenant'', ''{}'', 1)'),
        ('select strongroom.purge_conversation(''acme'', ''open'')'),
        ('select strongroom.put_session_state(''acme'', ''open'', ''{}'', 1)'),
        ('select strongroom.append_thread_summary(''acme'', ''open'', ''x'', 2)'),
        ('select strongroom.fork_conversation(''acme'', ''open'')'),
        ('select strongroom_private.lock_conversation(''acme'', ''open'')'),
        ('select strongroom_private.apply_grants()')
) as f (statement);

select * from finish();
rollback;
