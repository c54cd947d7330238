-- A save of a scope's transcript deletes and writes what follows the common beginning, and nothing
-- else; an append to a session is known by its call and by the ids of its messages.
begin;
\ir support/stories.psql
select plan(14);
select stories.found_a_world();
select stories.become_host();

create function pg_temp.saved(
    p_messages jsonb,
    p_digest text default null,
    p_keep integer default 0,
    p_keep_digest text default null
)
returns text
language sql
as $$
    select concat_ws(' ', s.outcome, s.version, s.kept, s.inserted, s.deleted, s.message_count)
    from strongroom.save_transcript(
        'acme', 'scope', p_messages, p_digest, p_keep, p_keep_digest
    ) as s
$$;

select is(
    pg_temp.saved((select jsonb_agg(n) from generate_series(1, 10000) as n), 'd1'),
    'saved 1 0 10000 0 10000',
    'a new transcript is written'
);
select is(
    pg_temp.saved('[10001, 10002]', 'd2', 10000, 'd1'), 'saved 2 10000 2 0 10002',
    'what is known to follow writes two rows'
);
select is(
    pg_temp.saved('[10003]', 'd3', 10000, 'd1'), 'stale 2 0 0 0 10002',
    'not when something else is stored by then'
);
select is(
    pg_temp.saved('[10003]', 'd3', 10002, 'd1'), 'stale 2 0 0 0 10002',
    'nor when it is other messages'
);
select is(
    pg_temp.saved((select jsonb_agg(n) from generate_series(1, 10003) as n)),
    'saved 3 10002 1 0 10003',
    'the whole list is compared where it is given'
);
select is(
    pg_temp.saved((select jsonb_agg(n) from generate_series(1, 10003) as n)),
    'duplicate 3 10003 0 0 10003',
    'the same list changes nothing'
);
select is(
    pg_temp.saved('[1, 2, "x"]'), 'saved 4 2 1 10001 3',
    'a shorter and changed one replaces what follows the common beginning'
);
select is(
    (select r.messages::jsonb from strongroom.read_transcript('acme', 'scope') as r),
    '[1, 2, "x"]',
    'and it is read as one list'
);
select is(
    stories.outcome($$
        select * from strongroom.save_transcript('acme', 'scope', '[]', p_expected_version => 3)
    $$),
    'SR012',
    'a version that was read is held to'
);
select is(
    stories.outcome($$
        select * from strongroom.save_transcript(
            'acme', 'large', (
                select jsonb_agg(repeat('x', 1048000))
                from generate_series(1, 65)
            )
        )
    $$),
    'SR004',
    'a transcript has at most 64 MiB'
);

create function pg_temp.appended(p_messages jsonb, p_append_id text)
returns text
language sql
as $$
    select string_agg(concat_ws(':', a.outcome, a.message_position), ' ' order by a.item)
    from strongroom.append_memory_session(
        'acme', 'thread', 'run', 0, p_messages, p_append_id, 'ada'
    ) as a
$$;

select is(
    pg_temp.appended('["a", "a", {"id": "m"}, {"id": "m"}, {"id": "m", "x": 1}]', '1'),
    'inserted:1 inserted:2 inserted:3 duplicate:3 conflict:3',
    'equal content is stored again, an equal id is not'
);
select is(
    pg_temp.appended('["a", "b", {"id": "m"}, "c"]', '1'),
    'duplicate:1 conflict:2 duplicate:3 conflict',
    'a known call stores nothing'
);
select is(
    pg_temp.appended('[{"id": "m"}, "c"]', '2'), 'duplicate:3 inserted:4',
    'another call stores what is new'
);
select results_eq(
    $$
        select s.user_id, s.message_count
        from strongroom.list_memory_sessions('acme', p_user_id => 'ada') as s
        order by s.message_count
    $$,
    $$ values ('ada'::text, 1), ('ada', 4) $$,
    'and the session says how many it has'
);

select * from finish();
rollback;
