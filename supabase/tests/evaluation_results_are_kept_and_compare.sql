-- A run is about exact versions of cases; its results are known again, never changed, outlive the
-- conversation that they came from without what was said, and compare with another run's.
begin;
\ir support/stories.psql
select plan(32);
set local client_min_messages = warning;
select stories.found_a_world();

-- Nobody changes what was recorded.

select stories.become_owner('acme');
select is(
    stories.outcome(s.statement),
    'SR020',
    format('the owner is refused: %s', s.statement)
)
from (
    values
        ('update strongroom.evaluation_results set passed = false where tenant_id = ''acme'''),
        ('update strongroom.evaluation_results set source_conversation_id = null where true'),
        ('delete from strongroom.evaluation_results where tenant_id = ''acme'''),
        ('truncate strongroom.evaluation_results'),
        ('update strongroom.evaluation_case_versions set input = ''2'' where true'),
        ('delete from strongroom.evaluation_case_versions where tenant_id = ''acme''')
) as s (statement);
select stories.become_host('acme');
select is(
    stories.outcome(s.statement),
    '42501',
    format('a host has no right: %s', s.statement)
)
from (
    values
        ('update strongroom.evaluation_results set passed = false where true'),
        ('delete from strongroom.evaluation_results where true'),
        ('update strongroom.evaluation_case_versions set input = ''2'' where true'),
        ('update strongroom.evaluation_run_cases set case_version = 2 where true')
) as s (statement);
select stories.become_user('ada', 'acme');
select is(
    stories.outcome(s.statement),
    '42501',
    format('a user has no right: %s', s.statement)
)
from (
    values
        ('select id from strongroom.evaluation_cases'),
        ('select strongroom.find_evaluation_case(''acme'', ''private'')'),
        ('select strongroom.list_evaluation_results(''acme'', ''private'')'),
        ('select strongroom.compare_evaluation_runs(''acme'', ''private'', ''private'')')
) as s (statement);

-- Versions

select stories.become_host();
select is(
    (
        select u.version
        from strongroom.update_evaluation_case('acme', 'private', '{"input": 2}', 1, 'w') as u
    ),
    2,
    'an update makes a version'
);
select is(
    (
        select u.version
        from strongroom.update_evaluation_case('acme', 'private', '{"input": 2}', 1, 'w') as u
    ),
    2,
    'a repeat of it is known'
);
select is(
    stories.outcome(
        'select strongroom.update_evaluation_case(''acme'', ''private'', ''{"input": 3}'', 1)'
    ),
    'SR012',
    'another one from the old version is refused'
);
select is(
    (select f.input from strongroom.find_evaluation_case('acme', 'private', 1) as f),
    '1',
    'the old version stays'
);
select is(
    (select c.case_version from strongroom.list_evaluation_run_cases('acme', 'private') as c),
    1,
    'and the run stays with it'
);

-- Results

select results_eq(
    $$
        select r.outcome, r.conflict
        from strongroom.record_evaluation_results(
            'acme',
            'private',
            '[
                {"case_id": "private", "passed": true, "output": "x",
                    "source_conversation_id": "private"},
                {"case_id": "private", "passed": false},
                {"case_id": "private", "repeat": 2, "id": "private"},
                {"case_id": "private", "repeat": 3, "id": "third", "scores": {"tone": 2}}
            ]'
        ) as r
    $$,
    $$
        values
            ('duplicate', null),
            ('conflict', 'other-content'),
            ('conflict', 'other-place'),
            ('inserted', null)
    $$,
    'each result is told what became of it'
);
select is(
    stories.outcome(
        'select strongroom.record_evaluation_results('
        '''acme'', ''private'', ''[{"case_id": "private-other"}]'')'
    ),
    'SR001',
    'a case that is not the run''s is refused'
);
select is(
    (
        select format('%s %s %s %s', f.status, f.result_count, f.passed_count, f.failed_count)
        from strongroom.finish_evaluation_run('acme', 'private', 'completed') as f
    ),
    'completed 2 1 0',
    'a finished run is counted'
);
select is(
    stories.outcome(
        'select strongroom.record_evaluation_results('
        '''acme'', ''private'', ''[{"case_id": "private", "repeat": 4}]'')'
    ),
    'SR030',
    'and takes no more results'
);

-- Comparison

select is(
    (
        select r.id
        from strongroom.start_evaluation_run(
            'acme', '[{"case_id": "private"}, {"case_id": "private-other"}]', 'second'
        ) as r
    ),
    'second',
    'another run'
);
select is(
    (
        select count(*)
        from strongroom.record_evaluation_results(
            'acme', 'second',
            '[{"case_id": "private", "error": {"code": "timeout"}, "scores": {"tone": 5}}]'
        )
    ),
    1::bigint,
    'with a result of its own'
);
select results_eq(
    $$
        select c.case_id, c.change, c.base_version, c.other_version
        from strongroom.list_evaluation_comparison('acme', 'private', 'second') as c
    $$,
    $$ values ('private', 'regressed', 1, 2), ('private-other', 'only_other', null, 1) $$,
    'compares case by case'
);
select results_eq(
    $$
        select
            c.improved,
            c.regressed,
            c.only_other,
            (c.scores #>> '{0,delta}')::numeric::integer
        from strongroom.compare_evaluation_runs('acme', 'private', 'second') as c
    $$,
    $$ values (0::bigint, 1::bigint, 1::bigint, 3) $$,
    'and in figures'
);

-- The conversation goes; what was said goes with it.

select is(
    (
        select sum(p.row_count) filter (where p.table_name = 'conversations')
        from strongroom.purge_conversation('acme', 'private') as p
    ),
    1::numeric,
    'a conversation is purged'
);
select results_eq(
    $$
        select r.passed, r.output, r.source_conversation_id, r.source_purged_at is not null
        from strongroom.list_evaluation_results('acme', 'private', p_passed => true) as r
    $$,
    $$ values (true, null::jsonb, null, true) $$,
    'its result keeps the verdict, and loses what was said'
);
select is(
    (
        select r.output
        from strongroom.list_evaluation_results('globex', 'private') as r
    ),
    '"x"',
    'the other tenant has lost nothing'
);
select is(
    (
        select sum(p.row_count)
        from strongroom.purge_evaluation_case('acme', 'private') as p
    ),
    8::numeric,
    'a purged case takes its versions and results along'
);
select is_empty(
    $$ select * from strongroom.list_evaluation_results('acme', 'private') $$,
    'and none is left'
);

select * from finish();
rollback;
