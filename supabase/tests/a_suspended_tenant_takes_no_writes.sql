-- Hosts still read a suspended tenant; nobody writes to it, and its users see only its own row.
begin;
\ir support/stories.psql
select plan(
    (
        select (2 * count(*))::integer
        from stories.tables() as t
        where not stories.is_for_hosts_alone(t)
    )
    + 20
);
select stories.found_a_world();

select stories.become_host();
select is(
    (select u.status from strongroom.update_tenant('acme', '{"status": "suspended"}', 1) as u),
    'suspended',
    'a host suspends a tenant'
);
select is(
    stories.outcome('select * from strongroom.list_conversations(''acme'')'),
    '4 rows',
    'and still reads it'
);
select is(
    stories.message_of(f.statement),
    'the tenant is suspended and takes no writes',
    format('but cannot: %s', f.statement)
)
from (
    values
        ('select strongroom.create_conversation(''acme'', ''ada'')'),
        ('select strongroom.add_member(''acme'', ''eve'')'),
        ('select strongroom.soft_delete_conversation(''acme'', ''open'')'),
        ('select strongroom.put_session_state(''acme'', ''open'', ''{}'', 1)'),
        ('select strongroom.create_run(''acme'', ''open'')'),
        ('select strongroom.create_agent(''acme'', ''x'')'),
        ('select strongroom.publish_skill_version(''acme'', ''private'', ''{}'')'),
        ('select strongroom.finish_evaluation_run(''acme'', ''private'', ''failed'')'),
        ('select strongroom.delete_framework_sessions(''acme'', ''stories'', ''{private}'')'),
        ('select strongroom.replace_source(''acme'', ''private'', ''x'', ''[]'')'),
        ('select strongroom.enqueue_job(''acme'', ''index'')'),
        ('select strongroom.acquire_lock(''acme'', ''other'', ''worker'')'),
        ('select strongroom.publish_events(''acme'', ''private'', ''[{"kind": "x"}]'')'),
        ('select strongroom.prune_jobs(''acme'', now())')
) as f (statement);

select stories.become_user('ada', 'acme');
select is(
    stories.tenants_in(t),
    case t when 'strongroom.tenants' then '{acme}' else '{}' end::text[],
    format('what a user of a suspended tenant sees in %s', t)
)
from stories.tables() as t
where not stories.is_for_hosts_alone(t);
select is(
    stories.outcome('select * from strongroom.list_conversations(''acme'')'),
    'SR020',
    'functions refuse the users of a suspended tenant'
);
select stories.become_user('ada', 'globex');
select is(
    stories.tenants_in(t),
    '{globex}',
    format('another tenant''s users go on seeing theirs in %s', t)
)
from stories.tables() as t
where not stories.is_for_hosts_alone(t);

select stories.become_host();
select is(
    (select u.status from strongroom.update_tenant('acme', '{"status": "active"}', 2) as u),
    'active',
    'a host resumes it'
);
select stories.become_user('ada', 'acme');
select is(
    stories.outcome('select * from strongroom.list_conversations(''acme'')'),
    '4 rows',
    'and all is as before'
);
select stories.become_host();
select is(
    stories.message_of('select strongroom.create_conversation(''initech'', ''ada'')'),
    'the tenant does not exist',
    'an absent tenant takes no writes either'
);

select * from finish();
rollback;
