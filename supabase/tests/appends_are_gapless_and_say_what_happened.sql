-- Positions are 1, 2, 3, ... without gaps; a repeat is a duplicate, other content under the same id
-- a conflict, and neither changes anything; a batch is all or nothing.
begin;
\ir support/stories.psql
select plan(34);
select stories.found_a_world();

create function stories.append(variadic p_messages jsonb[])
returns text
language sql
as $$
    select string_agg(
        concat_ws(' ', a.id, a.outcome, a.position, a.conflict), ', ' order by a.place
    )
    from strongroom.append_messages('acme', 'stateless', to_jsonb(p_messages))
        with ordinality as a (id, outcome, position, created_at, conflict, place)
$$;

select stories.become_host();
select is(
    stories.append(
        stories.text_message('z', 'one'),
        stories.text_message('a', 'two'),
        stories.text_message('m', 'three')
    ),
    'z inserted 1, a inserted 2, m inserted 3',
    'a batch gets contiguous positions in the order given'
);
select is(
    stories.append(stories.text_message('b', 'four')),
    'b inserted 4',
    'the next one goes on'
);
select is(
    stories.append(stories.text_message('a', 'two')),
    'a duplicate 2',
    'a repeat is a duplicate at its old position'
);
select is(
    stories.append(
        '{"parts": [{"text": "two",   "type": "text", "schema_version": 1}],
            "role": "user", "id": "a"}'
    ),
    'a duplicate 2',
    'the order of keys and white space make no difference'
);
select is(
    stories.append(
        stories.text_message('a', 'two') || '{"metadata": {}, "author_id": null, "turn": null}'
    ),
    'a duplicate 2',
    'nor does it to name a field that is empty'
);
select is(
    stories.append(stories.text_message('a', 'two') || m.change),
    'a conflict other-content',
    format('the same id with %s is a conflict', m.change)
)
from (
    values
        ('{"role": "assistant"}'::jsonb),
        ('{"author_id": "ada"}'),
        ('{"run_id": "r"}'),
        ('{"turn": 0}'),
        ('{"metadata": {"a": 1}}'),
        ('{"parts": [{"type": "text", "schema_version": 1, "text": "deux"}]}')
) as m (change);
select is(
    stories.append(stories.text_message('private-1', 'acme asks')),
    'private-1 conflict other-conversation',
    'an id that another conversation has is a conflict'
);
select is(
    stories.append(
        stories.text_message('z', 'one'),
        stories.text_message('n', 'five'),
        stories.text_message('a', 'changed'),
        stories.text_message('o', 'six')
    ),
    'z duplicate 1, n inserted 5, a conflict other-content, o inserted 6',
    'a mixed batch says for each, and leaves no gap'
);
select is(
    (
        select string_agg(m.position || m.id, ' ' order by m.position)
        from strongroom.list_messages('acme', 'stateless') as m
    ),
    '1z 2a 3m 4b 5n 6o',
    'and this is what stands there'
);
select is(
    (select m.parts -> 0 ->> 'text' from strongroom.find_message('acme', 'a') as m),
    'two',
    'a conflict has changed nothing'
);
select is(
    (select c.last_position from strongroom.find_conversation('acme', 'stateless') as c),
    6::bigint,
    'the conversation knows its last position'
);
select is(
    (select c.version from strongroom.find_conversation('acme', 'stateless') as c),
    1::bigint,
    'and messages do not count as changes of the conversation'
);
select matches(
    stories.append(stories.text_message('x', 'no id') - 'id'),
    '^[0-9a-f-]{36} inserted 7$',
    'a message without an id gets one'
);

-- All or nothing

select is(
    stories.message_of(
        'select stories.append(stories.text_message(''p'', ''fine''), ''{"role": "robot"}'')'
    ),
    'messages[1].role must be system, user, assistant or tool',
    'a batch with one bad message is refused'
);
select is_empty(
    $$ select * from strongroom.find_message('acme', 'p') $$,
    'as a whole'
);
select is(
    stories.message_of(
        'select stories.append('
        'stories.text_message(''p'', ''a''), stories.text_message(''p'', ''b''))'
    ),
    'messages[1].id repeats messages[0].id',
    'an id stands once in a batch'
);
select is(
    stories.outcome(
        format(
            'select strongroom.append_messages(''acme'', ''stateless'', %L)',
            (
                select jsonb_agg(stories.text_message('many-' || i, 'x'))
                from generate_series(1, 501) as i
            )
        )
    ),
    'SR004',
    'a batch has at most 500 messages'
);
select is(
    stories.outcome(
        format('select strongroom.append_messages(''acme'', ''stateless'', %L)', m.messages)
    ),
    'SR001',
    format('no batch: %s', m.messages)
)
from (
    values ('[]'), ('{}'), ('null'), ('[7]')
) as m (messages);
select is(
    stories.message_of(
        format(
            'select strongroom.append_messages(''acme'', ''stateless'', %L)',
            jsonb_build_array(
                stories.text_message('t', 'x') || format('{"turn": %s}', t.turn)::jsonb
            )
        )
    ),
    'messages[0].turn must be a whole number from 0 to 2147483647',
    format('no turn: %s', t.turn)
)
from (
    values ('-1'), ('1.5'), ('7.0'), ('2147483648'), ('1e40'), ('"1"'), ('[1]')
) as t (turn);

-- The same ids in another tenant are other messages.

select is(
    (
        select string_agg(concat_ws(' ', a.id, a.outcome, a.position), ', ')
        from strongroom.append_messages(
            'globex', 'stateless', jsonb_build_array(stories.text_message('a', 'two'))
        ) as a
    ),
    'a inserted 1',
    'the same id in another tenant is another message'
);

select * from finish();
rollback;
