-- A tool output's id is its kind and SHA-256, computed here. The same content is there once in its
-- conversation, and shows in no other.
begin;
\ir support/stories.psql
select plan(12);
select stories.found_a_world();
select stories.become_host();

select is(
    (
        select o.outcome || ' ' || o.id
        from strongroom.put_tool_output('acme', 'open', p_text => 'long') as o
    ),
    'duplicate text:' || encode(sha256('long'), 'hex'),
    'what is there already is a duplicate'
);
select is(
    (
        select o.outcome
        from strongroom.put_tool_output('acme', 'stateless', p_text => 'long') as o
    ),
    'inserted',
    'another conversation learns nothing of it'
);
select is(
    (
        select o.outcome
        from strongroom.put_tool_output('acme', 'open', p_data => encode('long', 'base64')) as o
    ),
    'inserted',
    'the same bytes as bytes are another output'
);
select is(
    stories.message_of(
        'select * from strongroom.put_tool_output(''acme'', ''open'', p_text => ''short'','
        ' p_sha256 => repeat(''0'', 64))'
    ),
    'sha256 is not that of the content',
    'a digest that is given is verified'
);
select is(
    stories.outcome(
        'select * from strongroom.put_tool_output(''acme'', ''open'','
        ' p_text => repeat(''x'', 16777217))'
    ),
    'SR004',
    'inline content has at most 16 MiB'
);
select strongroom.put_tool_output('acme', 'open', p_text => 'aé🌍bc');
select strongroom.put_tool_output('acme', 'open', p_value => '{"bb": 1, "a": 2}');
select results_eq(
    $$
        select s.text, s.total, s.next_start
        from strongroom.list_tool_outputs('acme', 'open') as o
        cross join lateral strongroom.find_tool_output_slice('acme', 'open', o.id, 1, 2) as s
        where o.characters = 5
    $$,
    $$ values ('é🌍'::text, 5, 3::bigint) $$,
    'a slice of a text is whole characters'
);
select results_eq(
    $$
        select s.text, s.next_start
        from strongroom.list_tool_outputs('acme', 'open') as o
        cross join lateral strongroom.find_tool_output_slice('acme', 'open', o.id) as s
        where o.kind = 'json'
    $$,
    $$ values ('{"a": 2, "bb": 1}'::text, null::bigint) $$,
    'a slice of JSON is text as jsonb writes it'
);

-- Expiry

select is(
    (select e.expired from strongroom.expire_tool_outputs('acme') as e),
    0::bigint,
    'what has expired stays while a run of its conversation is unfinished'
);
select is(
    stories.outcome(
        'select * from strongroom.request_run_cancel(''acme'', ''open-run'');'
    ),
    '1 row',
    'somebody asks to cancel a run'
);
select stories.become_owner('acme');
update strongroom.runs as r
set status = 'cancelled',
    is_head = false,
    is_ready = false,
    claimable_at = null,
    lease_expires_at = null,
    finished_at = now()
where r.tenant_id = 'acme'
    and r.id = 'open-run';
select stories.become_host();
select is(
    (select e.expired from strongroom.expire_tool_outputs('acme') as e),
    0::bigint,
    'who puts it again without an expiry needs it for ever'
);
select is(
    (
        select o.expires_at
        from strongroom.put_tool_output('acme', 'shared', p_text => 'long',
            p_expires_at => '2030-01-01') as o
    ),
    '2030-01-01'::timestamptz,
    'or as long as they say'
);
select stories.become_user('cleo', 'acme');
select is(
    stories.outcome(
        'select * from strongroom.put_tool_output(''acme'', ''open'', p_text => ''x'')'
    ),
    '42501',
    'a user stores nothing'
);

select * from finish();
rollback;
