-- A worker is handed runs, jobs, overdue interactions, bytes to remove, audits to seal and what has
-- expired of every tenant by six reviewed functions; no caller sees across tenants in another way,
-- not with the setting that they use.
begin;
\ir support/stories.psql
select plan(48);
select stories.found_a_world();
select stories.become_host();
select strongroom.create_run(t, 'stateless', 'next')
from unnest('{acme,globex}'::text[]) as t;
select stories.become_host('acme');

-- Claims

select set_eq(
    $$
        select
            c.tenant_id,
            c.id
        from strongroom.claim_next_runs('worker', p_limit => 10) as c
    $$,
    $$ values ('acme', 'next'), ('globex', 'next') $$,
    'a worker claims runs of every tenant'
);
select stories.become_host('acme');
select set_eq(
    $$
        select
            c.tenant_id,
            c.id
        from strongroom.claim_jobs('worker', p_limit => 10) as c
    $$,
    $$ values ('acme', 'job'), ('globex', 'job') $$,
    'and jobs'
);
select stories.become_host('acme');
select set_eq(
    $$
        select
            c.tenant_id,
            c.blob_key
        from strongroom.claim_blob_removals('worker') as c
    $$,
    $$ values ('acme', 'orphan'), ('globex', 'orphan') $$,
    'and bytes to remove'
);
select stories.become_host('acme');
select set_eq(
    'select s.tenant_id from strongroom.seal_audits(500) as s',
    '{acme,globex}'::text[],
    'and seals the audit of every tenant'
);
select is(
    (select count(*) from strongroom_private.list_tenants_to_seal()),
    0::bigint,
    'until nothing waits'
);
select
    strongroom.create_conversation(t, 'ada', 'rest'),
    strongroom.append_framework_records(t, 'stories', '{private}', '[{"key": "b", "content": 1}]')
from unnest('{acme,globex}'::text[]) as t;
select
    strongroom.put_tool_output(t, 'rest', p_text => 'long', p_expires_at => '2020-01-03'),
    strongroom.put_memory(
        t,
        'ada',
        '{
            "id": "old", "text": "Likes snow.", "source": "extracted",
            "expires_at": "2020-01-02T00:00:00Z"
        }'
    )
from unnest('{acme,globex}'::text[]) as t;
update strongroom.framework_records
set expires_at = '2020-01-01',
    ttl_seconds = 60
where tenant_id = 'globex'
    and key = 'a';
select stories.become_host('acme');
update strongroom.framework_records
set expires_at = '2020-01-01',
    ttl_seconds = 60
where tenant_id = 'acme'
    and key = 'a';
select results_eq(
    $$
        select
            e.kind,
            e.expired,
            e.has_more
        from strongroom.expire_records(p_limit => 3) as e
    $$,
    $$
        values
            ('framework_records', 2::bigint, false),
            ('memories', 1::bigint, true),
            ('tool_outputs', 0::bigint, true)
    $$,
    'and deletes what has expired of every tenant, what has waited longest first'
);
select is_empty(
    $$
        select e.kind
        from strongroom.expire_records() as e
        where e.has_more
    $$,
    'until nothing is left'
);
select is(
    (select q.expired from strongroom.read_expiry_queue('acme') as q),
    0::bigint,
    'which the queue says, too'
);
select is(
    current_setting('strongroom.tenant_id'),
    'acme',
    'and is bound to the same tenant as before'
);
select is(
    coalesce(current_setting('strongroom.dispatching', true), ''),
    '',
    'nor does dispatching go on'
);
select is(
    stories.tenants_in(t),
    '{acme}',
    format('so in %s a worker sees one tenant', t)
)
from unnest(
    '{
        strongroom.runs,
        strongroom.jobs,
        strongroom.interactions,
        strongroom.blob_removals,
        strongroom.audit_events,
        strongroom.framework_records,
        strongroom.memories,
        strongroom.tool_outputs
    }'::text[]
) as t;

-- Nobody dispatches by saying so.

select set_config('strongroom.dispatching', 'on', true);
select is(
    stories.tenants_in(t),
    '{acme}',
    format('the setting shows a host nothing more in %s', t)
)
from unnest(
    '{
        strongroom.runs,
        strongroom.jobs,
        strongroom.interactions,
        strongroom.blob_removals,
        strongroom.audit_events,
        strongroom.framework_records,
        strongroom.memories,
        strongroom.tool_outputs
    }'::text[]
) as t;
select is(
    stories.outcome(s.statement),
    '0 rows',
    format('nor lets it write: %s', s.statement)
)
from (
    values
        ('update strongroom.runs set priority = 9 where tenant_id = ''globex'''),
        ('update strongroom.jobs set priority = 9 where tenant_id = ''globex'''),
        ('delete from strongroom.blob_removals where tenant_id = ''globex''')
) as s (statement);
select stories.become_user('cleo', 'acme');
select is(
    stories.tenants_in('strongroom.runs'),
    '{acme}',
    'it shows a user no other tenant'
);
select set_eq(
    'select r.conversation_id from strongroom.runs as r',
    array['open'],
    'and no unreadable conversation'
);
select set_config('strongroom.dispatching', '', true);

-- Users are handed nothing.

select is(
    stories.outcome(f.statement),
    '42501',
    format('a user cannot: %s', f.statement)
)
from (
    values
        ('select strongroom.claim_next_runs(''worker'')'),
        ('select strongroom.claim_jobs(''worker'')'),
        ('select strongroom.complete_and_claim_jobs(''[]'', ''worker'')'),
        ('select strongroom.expire_interactions()'),
        ('select strongroom_private.dispatch_runs(''worker'', 30, 1, null, null)'),
        (
            'select strongroom_private.dispatch_jobs('
            '''worker'', ''{default}'', 30, 1, null, null)'
        ),
        ('select strongroom_private.list_overdue_tenants(1)'),
        ('select strongroom.claim_blob_removals(''worker'')'),
        ('select strongroom_private.dispatch_blob_removals(''worker'', 30, 1, null)'),
        ('select strongroom.seal_audits()'),
        ('select strongroom_private.list_tenants_to_seal()'),
        ('select strongroom.expire_records()'),
        ('select strongroom_private.list_tenants_to_expire()')
) as f (statement);

-- A suspended tenant rests.

select stories.become_host();
select strongroom.update_tenant('globex', '{"status": "suspended"}', 1);
select strongroom.enqueue_job('acme', 'index', p_job_id => 'second');
select stories.become_owner('globex');
select is(
    stories.outcome(stories.insertion('strongroom.jobs', 'globex')),
    '1 row',
    'a suspended tenant has a ready job'
);
select stories.become_host();
select set_eq(
    $$
        select
            c.tenant_id,
            c.id
        from strongroom.claim_jobs('worker', '{default,new}', p_limit => 10) as c
    $$,
    $$ values ('acme', 'second') $$,
    'which no worker is handed'
);

-- Later writes name the tenant and the claim.

select is(
    stories.outcome(
        'select strongroom.complete_jobs(''acme'', ''[{"id": "job", "claim_token": 1000000}]'')'
    ),
    'SR031',
    'nobody completes a job without its token'
);
select is(
    stories.outcome('select strongroom.heartbeat_run(''acme'', ''next'', 1000000)'),
    'SR031',
    'or holds on to a run'
);

select * from finish();
rollback;
