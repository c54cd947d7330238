-- A conversation has one JSON object; whoever writes names the version they read, and a repeat of
-- the same write changes nothing.
begin;
\ir support/stories.psql
select plan(21);
select stories.found_a_world();

create function stories.state()
returns text
language sql
as $$
    select format('%s at %s', s.state, s.version)
    from strongroom.find_session_state('acme', 'stateless') as s
$$;

select stories.become_host();
select is(stories.state(), '{} at 0', 'before the first write it is {} at version 0');
select is(
    (
        select format('%s at %s', s.state, s.version)
        from strongroom.put_session_state(
            'acme', 'stateless', '{"a": 1, "b": {"c": 2}}', 0, 'w1'
        ) as s
    ),
    '{"a": 1, "b": {"c": 2}} at 1',
    'the first write makes version 1'
);
select is(
    stories.outcome('select strongroom.put_session_state(''acme'', ''stateless'', ''{}'', 0)'),
    'SR012',
    'a stale version is refused'
);
select is(
    stories.message_of('select strongroom.put_session_state(''acme'', ''stateless'', ''{}'', 5)'),
    'the session state has version 1, not 5',
    'so is one from the future, naming the current one'
);
select is(
    (
        select s.version
        from strongroom.put_session_state(
            'acme', 'stateless', '{"a": 1, "b": {"c": 2}}', 0, 'w1'
        ) as s
    ),
    1::bigint,
    'a repeat of the same write changes nothing'
);
select is(
    (
        select format('%s at %s', s.state, s.version)
        from strongroom.patch_session_state('acme', 'stateless', p.patch, p.version) as s
    ),
    p.state,
    format('patch %s', p.patch)
)
from (
    values
        ('{"b": {"d": 3}}'::jsonb, 1, '{"a": 1, "b": {"c": 2, "d": 3}} at 2'),
        ('{"b": {"c": null}}', 2, '{"a": 1, "b": {"d": 3}} at 3'),
        ('{"a": [1, {"x": null}]}', 3, '{"a": [1, {"x": null}], "b": {"d": 3}} at 4'),
        ('{"a": null, "b": null}', 4, '{} at 5'),
        ('{"n": {"m": null}}', 5, '{"n": {}} at 6'),
        ('{}', 6, '{"n": {}} at 7')
) as p (patch, version, state);
select is(
    (
        select format('%s at %s', s.state, s.version)
        from strongroom.clear_session_state('acme', 'stateless', 7) as s
    ),
    '{} at 8',
    'clearing empties it, and the version goes on'
);
select is(
    stories.outcome(
        format('select strongroom.put_session_state(''acme'', ''stateless'', %s, 8)', v.state)
    ),
    v.code,
    format('no state: %s', left(v.state, 30))
)
from (
    values
        ('null', 'SR001'),
        ('''[]''', 'SR001'),
        ('''7''', 'SR001'),
        ('''null''', 'SR001'),
        ('jsonb_build_object(''x'', repeat(''x'', 65536))', 'SR004')
) as v (state, code);
select is(
    stories.outcome(
        'select strongroom.put_session_state(''acme'', ''stateless'', ''{}'', null)'
    ),
    'SR001',
    'no write without a version'
);
select is(stories.state(), '{} at 8', 'what was refused has changed nothing');
select is(
    stories.outcome('select strongroom.put_session_state(''acme'', ''absent'', ''{}'', 0)'),
    'SR010',
    'an absent conversation has no state'
);
select is(
    (
        select s.state
        from strongroom.find_session_state('globex', 'stateless') as s
    ),
    '{}'::jsonb,
    'the other tenant''s is its own'
);

select * from finish();
rollback;
