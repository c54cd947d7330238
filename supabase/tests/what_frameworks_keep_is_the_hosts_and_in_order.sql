-- What an agent framework keeps is for hosts alone, has the order in which it was appended, and is
-- written over or taken away only where the framework says so.
begin;
\ir support/stories.psql
select plan(11);
select stories.found_a_world();

select stories.become_user('ada', 'acme');
select is(
    stories.outcome(s.statement),
    '42501',
    format('users cannot: %s', s.statement)
)
from (
    values
        ('select key from strongroom.framework_records'),
        ('select key from strongroom.framework_record_details'),
        ('select strongroom.list_framework_records(''acme'', ''stories'', ''{private}'')')
) as s (statement);

select stories.become_host('acme');
select results_eq(
    $$
        select
            a.key,
            a.position,
            a.outcome
        from strongroom.append_framework_records(
            'acme', 'stories', '{private}',
            '[{"key": "z", "content": 1}, {"key": "a", "content": 2}, {"key": "b", "data": 0}]',
            p_data => array['\x00'::bytea]
        ) as a
    $$,
    $$ values ('z', 2::bigint, 'inserted'), ('a', 1, 'conflict'), ('b', 3, 'inserted') $$,
    'an append gives the next places, and says what it did not do'
);
select is(
    stories.outcome(
        $$
            select strongroom.append_framework_records(
                'acme', 'stories', '{private}', '[{"key": "c", "data": 1}]',
                p_data => array['\x00'::bytea]
            )
        $$
    ),
    'SR001',
    'the bytes that a record names must come with it'
);
select results_eq(
    $$
        select r.key
        from strongroom.list_framework_records('acme', 'stories', '{private}') as r
    $$,
    '{a,z,b}'::text[],
    'they come back in that order'
);
select is(
    (
        select array_agg(d.key)
        from strongroom.delete_framework_records('acme', 'stories', '{private}', p_last => 1) as d
    ),
    '{b}',
    'the newest can be taken back'
);
select is(
    (
        select e.details ->> 'last_position'
        from strongroom.list_audit_events('acme') as e
        where e.action = 'framework_records.delete'
    ),
    '3',
    'which the audit knows'
);
select is(
    (
        select p.outcome
        from strongroom.put_framework_records(
            'acme', 'stories',
            '[{"path": ["private"], "collection": "items", "key": "a", "content": 9}]'
        ) as p
    ),
    'conflict',
    'what was appended is not written over'
);
select is(
    (
        select d.deleted
        from strongroom.delete_framework_sessions('acme', 'stories', '{private}') as d
    ),
    1::bigint,
    'a session goes with its records'
);
select is(
    (
        select count(*)
        from strongroom.list_framework_records('globex', 'stories', '{private}')
    ),
    1::bigint,
    'and that of another tenant stays'
);

select * from finish();
rollback;
