-- Versions of agents and skills are numbered 1..n and never changed, whoever asks. What names one
-- that is gone is told so, and an id is never used again.
begin;
\ir support/stories.psql
select plan(56);
set local client_min_messages = warning;
select stories.found_a_world();

create table stories.kinds (kind text, article text);
insert into stories.kinds (kind, article)
values
    ('agent', 'an'),
    ('skill', 'a');
grant select on stories.kinds to public;

-- The owner meets the triggers, hosts have not even the right.

select stories.become_owner('acme');
select is(
    stories.outcome(format(s.statement, k.kind)),
    'SR020',
    format('the owner is refused: ' || s.statement, k.kind)
)
from stories.kinds as k
cross join (
    values
        ('update strongroom.%1$s_versions set definition = ''{}'' where tenant_id = ''acme'''),
        ('update strongroom.%1$s_versions set version = 7 where tenant_id = ''acme'''),
        ('delete from strongroom.%1$s_versions where tenant_id = ''acme'''),
        ('truncate strongroom.%1$s_versions'),
        ('truncate strongroom.%1$ss cascade')
) as s (statement);
select stories.become_host('acme');
select is(
    stories.outcome(format(s.statement, k.kind)),
    '42501',
    format('a host has no right: ' || s.statement, k.kind)
)
from stories.kinds as k
cross join (
    values
        ('update strongroom.%1$s_versions set definition = ''{}'' where true'),
        ('delete from strongroom.%1$s_versions where true'),
        ('truncate strongroom.%1$s_versions'),
        ('update strongroom.catalog_tombstones set id = ''x'' where kind = ''%1$s'''),
        ('delete from strongroom.catalog_tombstones where kind = ''%1$s''')
) as s (statement);

-- Numbers

select results_eq(
    $$
        select v.version
        from generate_series(2, 4) as i
        cross join lateral strongroom.publish_agent_version(
            'acme', 'private', jsonb_build_object('n', i), 'v' || i
        ) as v
    $$,
    array[2, 3, 4],
    'versions follow one another'
);
select results_eq(
    $$
        select v.version, v.outcome
        from strongroom.publish_agent_version('acme', 'private', '{"n": 2}', 'v2') as v
    $$,
    $$ values (2, 'duplicate') $$,
    'a repeat is known by its id'
);
select is(
    stories.outcome(
        'select strongroom.publish_agent_version(''acme'', ''private'', ''{"n": 9}'', ''v2'')'
    ),
    'SR011',
    'and other content under that id is refused'
);
select is(
    (select v.definition from strongroom.find_agent_version('acme', 'private', 2) as v),
    '{"n": 2}',
    'a version stays as it was'
);
select is(
    (select v.version from strongroom.find_agent_version('acme', 'private') as v),
    4,
    'the latest is found without a number'
);

-- Users read what is published, and only that.

select stories.become_user('cleo', 'acme');
select set_eq(
    format('select version from strongroom.%s_versions', k.kind),
    case k.kind when 'agent' then array[1, 2, 3, 4] else array[1] end,
    format('cleo reads the versions of %s %s', k.article, k.kind)
)
from stories.kinds as k;
select is(
    stories.outcome(format(s.statement, k.kind)),
    '42501',
    format('she cannot: ' || s.statement, k.kind)
)
from stories.kinds as k
cross join (
    values
        ('select strongroom.create_%1$s(''acme'', ''x'')'),
        ('select strongroom.update_%1$s(''acme'', ''private'', ''{}'', 1)'),
        ('select strongroom.publish_%1$s_version(''acme'', ''private'', ''{}'')'),
        ('select strongroom.soft_delete_%1$s(''acme'', ''private'')'),
        ('select strongroom.restore_%1$s(''acme'', ''private'')'),
        ('select strongroom.purge_%1$s(''acme'', ''private'')'),
        ('select strongroom.resolve_%1$s(''acme'', ''open'')'),
        ('select id from strongroom.catalog_tombstones where kind = ''%1$s''')
) as s (statement);

-- References

select stories.become_host();
select is(
    (
        select c.outcome
        from strongroom.create_conversation(
            'acme', 'ada', 'pinned',
            p_agent_id => 'private', p_agent_policy => 'pinned', p_agent_version => 2
        ) as c
    ),
    'inserted',
    'a conversation is pinned to a version'
);
select results_eq(
    $$
        select r.status, r.version, r.definition
        from strongroom.resolve_agent('acme', 'pinned') as r
    $$,
    $$ values ('active', 2, '{"n": 2}'::jsonb) $$,
    'and stands for just this one'
);
select is(
    (select r.agent_version from strongroom.create_run('acme', 'pinned', 'pinned-run') as r),
    2,
    'which its runs record'
);
select is(
    (select d.deleted_at is not null from strongroom.soft_delete_agent('acme', 'private') as d),
    true,
    'the agent is deleted'
);
select results_eq(
    $$
        select r.status, r.version, r.definition
        from strongroom.resolve_agent('acme', 'pinned') as r
    $$,
    $$ values ('deleted', 2, null::jsonb) $$,
    'the conversation is told so'
);
select stories.become_user('cleo', 'acme');
select is_empty(
    format('select from strongroom.%I', r.name),
    format('and users no longer see it in %s', r.name)
)
from (
    values ('agents'), ('agent_details'), ('agent_versions')
) as r (name);
select stories.become_host();
select results_eq(
    $$ select p.table_name, p.row_count from strongroom.purge_agent('acme', 'private') as p $$,
    $$ values ('agents', 1::bigint), ('agent_versions', 4) $$,
    'a purge says what it deletes'
);
select is(
    (select r.status from strongroom.resolve_agent('acme', 'pinned') as r),
    'deleted',
    'the conversation is still told so'
);
select is(
    stories.outcome('select strongroom.create_agent(''acme'', ''Private'', ''private'')'),
    'SR011',
    'and the id is not used again'
);
select is(
    (
        select array_agg(e.action::text order by e.sequence)
        from strongroom.audit_events as e
        where e.tenant_id = 'acme'
            and e.record = 'agent'
            and e.record_id = 'private'
    ),
    array['agent.publish', 'agent.publish', 'agent.publish', 'agent.publish', 'agent.delete',
        'agent.purge'],
    'all this is in the audit log'
);
select is(
    (select f.latest_version from strongroom.find_agent('globex', 'private') as f),
    1,
    'the other tenant has lost nothing'
);

select * from finish();
rollback;
