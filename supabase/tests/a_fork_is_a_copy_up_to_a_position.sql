-- A fork is a new, private conversation with the same positions, new message ids, and the summaries
-- that cover no more than it has.
begin;
\ir support/stories.psql
select plan(17);
select stories.found_a_world();
select stories.become_host();

select is(
    (
        select format('%s %s %s %s', f.outcome, f.last_position, f.forked_from_id, f.visibility)
        from strongroom.fork_conversation('acme', 'open', 'fork-1', 1) as f
    ),
    'inserted 1 open private',
    'a fork up to position 1'
);
select is(
    (select f.outcome from strongroom.fork_conversation('acme', 'open', 'fork-1', 1) as f),
    'duplicate',
    'a repeat changes nothing'
);
select is(
    stories.outcome('select strongroom.fork_conversation(''acme'', ''open'', ''fork-1'', 2)'),
    'SR011',
    'another fork under the same id is refused'
);
select is(
    (
        select string_agg(
            concat_ws(' ', m.position, m.parts -> 0 ->> 'text', m.forked_from_id), ', '
        )
        from strongroom.list_messages('acme', 'fork-1') as m
    ),
    '1 acme asks open-1',
    'its messages say where they come from'
);
select isnt(
    (select m.id from strongroom.list_messages('acme', 'fork-1') as m),
    'open-1',
    'and have ids of their own'
);
select is(
    (
        select string_agg(concat_ws(' ', s.version, s.text), ', ')
        from strongroom.list_thread_summaries('acme', 'fork-1') as s
    ),
    '1 acme in short',
    'a summary that covers no more comes along'
);
select is(
    (
        select format('%s %s', f.last_position, f.last_message_at is null)
        from strongroom.fork_conversation('acme', 'open', 'fork-0', 0) as f
    ),
    '0 t',
    'a fork at 0 is empty'
);
select is_empty(
    $$ select * from strongroom.list_thread_summaries('acme', 'fork-0') $$,
    'and has no summary'
);
select is(
    (
        select format('%s %s %s', f.last_position, f.owner_id, f.title)
        from strongroom.fork_conversation(
            'acme', 'open', 'fork-all', p_owner_id => 'cleo', p_title => 'Mine'
        ) as f
    ),
    '2 cleo Mine',
    'without a position it has all; owner and title can be chosen'
);
select is(
    (select s.version from strongroom.find_session_state('acme', 'fork-all') as s),
    0::bigint,
    'session state stays behind'
);
select is_empty(
    $$
        select p.principal_id
        from strongroom.fork_conversation('acme', 'shared', 'fork-shared') as f
        cross join unnest(f.participant_ids) as p (principal_id)
    $$,
    'so do participants'
);
select is(
    (
        select string_agg(concat_ws(' ', a.outcome, a.position), ', ')
        from strongroom.append_messages(
            'acme', 'fork-1', jsonb_build_array(stories.text_message('next', 'next'))
        ) as a
    ),
    'inserted 2',
    'a fork goes on at the next position'
);
select is(
    (select m.message_count from strongroom.count_messages('acme', 'open') as m),
    2::bigint,
    'and the original is untouched'
);
select is(
    stories.outcome(
        format('select strongroom.fork_conversation(''acme'', ''open'', %L, %s)', 'x', p.position)
    ),
    'SR001',
    format('there is no position %s to fork at', p.position)
)
from (
    values (-1), (3)
) as p (position);
select is(
    stories.outcome('select strongroom.fork_conversation(''acme'', ''absent'', ''y'')'),
    'SR010',
    'what is absent cannot be forked'
);
select is(
    stories.outcome('select strongroom.fork_conversation(''acme'', ''open'', ''private'')'),
    'SR011',
    'nor can a fork take the id of another conversation'
);

select * from finish();
rollback;
