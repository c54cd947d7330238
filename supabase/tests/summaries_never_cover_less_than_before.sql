-- Thread summaries are numbered from 1, cover messages that are there, and never go back; the
-- history for a model is the latest one and what follows, never starting with an orphaned tool
-- result.
begin;
\ir support/stories.psql
select plan(20);
select stories.found_a_world();

create function stories.part(p_type text, p_call text)
returns jsonb
language sql
as $$
    select jsonb_build_object(
        'type', p_type, 'schema_version', 1, 'tool_call_id', p_call, 'tool_name', 'weather'
    ) || case p_type when 'tool-call' then '{"input": {}}' else '{"output": 7}' end::jsonb
$$;
create function stories.history()
returns text
language sql
as $$
    select string_agg(coalesce(h.position::text, h.text), ' ' order by h.position nulls first)
    from strongroom.read_history('acme', 'stateless') as h
$$;
create function stories.summarise(p_id text, p_covers_to bigint)
returns text
language sql
as $$
    select format('%s %s', s.outcome, s.version)
    from strongroom.append_thread_summary('acme', 'stateless', p_id, p_covers_to, p_id) as s
$$;

select stories.become_host();
select is(
    (
        select count(*)
        from strongroom.append_messages('acme', 'stateless', jsonb_build_array(
            stories.text_message('1', 'What is the weather?'),
            stories.text_message('2', '', 'assistant')
            || jsonb_build_object('parts', jsonb_build_array(
                stories.part('tool-call', 'a'), stories.part('tool-call', 'b')
            )),
            stories.text_message('3', '', 'tool')
            || jsonb_build_object('parts', jsonb_build_array(stories.part('tool-result', 'a'))),
            stories.text_message('4', '', 'tool')
            || jsonb_build_object('parts', jsonb_build_array(stories.part('tool-result', 'b'))),
            stories.text_message('5', 'Fine.', 'assistant'),
            stories.text_message('6', 'And tomorrow?')
        ))
    ),
    6::bigint,
    'a conversation with two parallel tool calls'
);
select is(stories.history(), '1 2 3 4 5 6', 'without a summary the history is all messages');
select is(
    stories.outcome(format('select stories.summarise(''x'', %s)', p.covers)),
    'SR001',
    format('no summary up to %s', p.covers)
)
from (
    values ('0'), ('7'), ('null')
) as p (covers);
select is(stories.summarise('s1', 1), 'inserted 1', 'a first summary');
select is(stories.history(), 's1 2 3 4 5 6', 'and what follows it');
select is(stories.summarise('s1', 1), 'duplicate 1', 'a repeat changes nothing');
select is(
    stories.outcome('select stories.summarise(''s1'', 2)'),
    'SR011',
    'other content under the same id is refused'
);
select is(
    stories.outcome('select stories.summarise(''open-s'', 1)'),
    'SR011',
    'so is an id that another conversation has'
);
select is(stories.summarise('s2', 3), 'inserted 2', 'a summary that ends between call and result');
select is(
    stories.history(),
    's2 2 3 4 5 6',
    'lets the history start at the call, so that no result is an orphan'
);
select is(
    stories.outcome('select stories.summarise(''s0'', 2)'),
    'SR030',
    'coverage never goes back'
);
select is(stories.summarise('s3', 3), 'inserted 3', 'but it may stay');
select is(stories.summarise('s4', 4), 'inserted 4', 'and go on');
select is(stories.history(), 's4 5 6', 'after the last result nothing is an orphan');
select is(stories.summarise('s5', 6), 'inserted 5', 'a summary of everything');
select is(stories.history(), 's5', 'is the whole history');
select is(
    (
        select string_agg(format('%s:%s', s.version, s.covers_to_position), ' ')
        from strongroom.list_thread_summaries('acme', 'stateless') as s
    ),
    '1:1 2:3 3:3 4:4 5:6',
    'all of them can be read'
);
select is(
    (select s.id from strongroom.find_latest_thread_summary('acme', 'stateless') as s),
    's5',
    'and the latest alone'
);

select * from finish();
rollback;
