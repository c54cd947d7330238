-- Messages, summaries and events are never updated, deleted or truncated, whoever asks; they leave
-- with what they belong to, and old events of a topic by trim_topic.
begin;
\ir support/stories.psql
select plan(79);
set local client_min_messages = warning;
select stories.found_a_world();

create table stories.histories (history text, changed text, known_id text);
insert into stories.histories (history, changed, known_id)
values
    ('strongroom.messages', 'role = ''user''', 'private-1'),
    ('strongroom.thread_summaries', 'text = ''rewritten''', 'private-s');
grant select on stories.histories to public;

create function stories.refusal(p_statement text)
returns text
language plpgsql
as $$
declare
    v_hint text;
begin
    execute p_statement;
    return 'not refused';
exception
    when others then
        get stacked diagnostics v_hint = pg_exception_hint;
        return format('%s %s %s', sqlstate, sqlerrm, v_hint);
end
$$;

-- Whoever owns the schema, a superuser included, meets the triggers.

select stories.become_owner('acme');
select matches(
    stories.refusal(format('update %s set %s where tenant_id = ''acme''', h.history, h.changed)),
    '^SR020 .* is insert-only: UPDATE is refused .*leave with what they belong to',
    format('%s cannot be updated by the owner', h.history)
)
from stories.histories as h;
select matches(
    stories.refusal(format('delete from %s where tenant_id = ''acme''', h.history)),
    '^SR020 .* is insert-only: DELETE is refused .*leave with what they belong to',
    format('%s cannot be deleted from by the owner', h.history)
)
from stories.histories as h;
select matches(
    stories.refusal(format('truncate %s', h.history)),
    '^SR020 .* is insert-only: TRUNCATE is refused .*leave with what they belong to',
    format('%s cannot be truncated by the owner', h.history)
)
from stories.histories as h;
select matches(
    stories.refusal('truncate strongroom.conversations cascade'),
    '^SR020 .* is insert-only: TRUNCATE is refused',
    'nor by truncating what they hang on'
);
select matches(
    stories.refusal('truncate strongroom.tenants cascade'),
    '^SR020 .* is insert-only: TRUNCATE is refused',
    'nor by truncating all tenants'
);
select is(
    stories.outcome(
        format('update %s set tenant_id = ''globex'' where tenant_id = ''acme''', h.history)
    ),
    'SR020',
    format('%s cannot be moved to another tenant', h.history)
)
from stories.histories as h;
select is(
    stories.outcome(
        format(
            '%s on conflict (tenant_id, id) do update set %s',
            replace(
                stories.insertion(h.history, 'acme'), '99, ''new''', format('99, %L', h.known_id)
            ),
            h.changed
        )
    ),
    'SR020',
    format('an upsert into %s is an update where the id is there', h.history)
)
from stories.histories as h;

-- API roles have not even the right.

select is(
    (
        select array_agg(r.role_name || ' ' || p.privilege)
        from unnest('{strongroom_host,service_role,authenticated,anon}'::text[]) as r (role_name)
        cross join unnest('{update,delete,truncate,references,trigger}'::text[]) as p (privilege)
        where has_table_privilege(r.role_name, h.history, p.privilege)
    ),
    null,
    format('no API role may change %s', h.history)
)
from stories.histories as h;
select stories.become_host('acme');
select is(
    stories.outcome(format('update %s set %s where true', h.history, h.changed)),
    '42501',
    format('a host cannot update %s', h.history)
)
from stories.histories as h;
select is(
    stories.outcome(format('delete from %s where true', h.history)),
    '42501',
    format('a host cannot delete from %s', h.history)
)
from stories.histories as h;
select is(
    stories.outcome(format('truncate %s', h.history)),
    '42501',
    format('a host cannot truncate %s', h.history)
)
from stories.histories as h;
select is(
    (select count(*) from strongroom.messages),
    6::bigint,
    'after all that, the messages are there'
);
select is(
    (
        select string_agg(m.parts -> 0 ->> 'text', ', ' order by m.position)
        from strongroom.messages as m
        where m.conversation_id = 'open'
    ),
    'acme asks, acme hears',
    'as they were said'
);

-- Events of runs and of topics, and what a checkpoint says.

select stories.become_owner('acme');
create table stories.events (history text, changed text);
insert into stories.events (history, changed)
values
    ('strongroom.run_events', 'kind = ''other'''),
    ('strongroom.topic_events', 'kind = ''other'''),
    ('strongroom.artifact_versions', 'content = ''other''');
grant select on stories.events to public;
select matches(
    stories.refusal(format(s.statement, e.history, e.changed)),
    format('^SR020 .* is insert-only: %s is refused', s.operation),
    format('%s meets the triggers also of the owner: %s', e.history, s.operation)
)
from stories.events as e
cross join (
    values
        ('UPDATE', 'update %1$s set %2$s where tenant_id = ''acme'''),
        ('DELETE', 'delete from %1$s where tenant_id = ''acme'''),
        ('TRUNCATE', 'truncate %1$s cascade')
) as s (operation, statement);
select stories.become_host('acme');
select is(
    stories.outcome(s.statement),
    s.outcome,
    format('a host meets the grants, or the trigger: %s', s.statement)
)
from (
    values
        ('update strongroom.run_events set kind = ''other'' where true', '42501'),
        ('delete from strongroom.run_events where true', '42501'),
        ('truncate strongroom.run_events', '42501'),
        ('update strongroom.topic_events set kind = ''other'' where true', '42501'),
        ('delete from strongroom.topic_events where true', 'SR020'),
        ('truncate strongroom.topic_events', '42501'),
        ('update strongroom.artifact_versions set content = ''other'' where true', '42501'),
        ('delete from strongroom.artifact_versions where true', '42501'),
        ('truncate strongroom.artifact_versions', '42501'),
        ('update strongroom.tool_outputs set content = ''other'' where true', 'SR020'),
        ('update strongroom.tool_outputs set expires_at = null where true', '3 rows'),
        ('update strongroom.checkpoints set state = ''{}'' where true', '42501'),
        ('truncate strongroom.checkpoints', '42501')
) as s (statement, outcome);

-- Ledgers, but for what an erasure clears and a seal writes once.

select stories.become_owner('acme');
select matches(
    stories.refusal(format(s.statement, l.ledger, l.changed)),
    format('^SR020 .* is insert-only: %s is refused .*purge_tenant', s.operation),
    format('%s: %s meets the triggers also of the owner', l.ledger, s.operation)
)
from (
    values
        ('strongroom.audit_events', 'action = ''x.x'''),
        ('strongroom.audit_seals', 'digest = ''x'''),
        ('strongroom.usage_events', 'input_tokens = 1')
) as l (ledger, changed)
cross join (
    values
        ('UPDATE', 'update %1$s set %2$s where tenant_id = ''acme'''),
        ('DELETE', 'delete from %1$s where tenant_id = ''acme'''),
        ('TRUNCATE', 'truncate %1$s')
) as s (operation, statement);
select is(stories.outcome(s.statement), s.outcome, s.description)
from (
    values
        (
            'update strongroom.audit_events set principal_id = null, principal_salt = null'
            ' where tenant_id = ''acme'' and principal_id = ''cleo''',
            '1 row',
            'but a person can be forgotten'
        ),
        (
            'update strongroom.audit_events set principal_digest = null'
            ' where tenant_id = ''acme'' and principal_digest is not null',
            'SR020',
            'whose hash stays'
        ),
        (
            'update strongroom.audit_events set position = 99, chain_digest = ''x'''
            ' where tenant_id = ''acme'' and record_id = ''m-cleo''',
            '1 row',
            'and a seal be written'
        ),
        (
            'update strongroom.audit_events set chain_digest = ''y'''
            ' where tenant_id = ''acme'' and record_id = ''m-cleo''',
            'SR020',
            'once'
        ),
        (
            'update strongroom.audit_events set position = null, chain_digest = null'
            ' where tenant_id = ''acme'' and record_id = ''m-cleo''',
            'SR020',
            'and for ever'
        )
) as s (statement, outcome, description);
select stories.become_host('acme');
select is(
    stories.outcome(format(s.statement, l.ledger)),
    '42501',
    format('a host has not even the right: %s', format(s.statement, l.ledger))
)
from (
    values
        ('strongroom.audit_events'),
        ('strongroom.audit_seals'),
        ('strongroom.usage_events')
) as l (ledger)
cross join (
    values
        ('update %s set tenant_id = tenant_id where true'),
        ('delete from %s where true'),
        ('truncate %s')
) as s (statement);

-- They leave with their conversation, and with their tenant. Usage and audit leave with their
-- tenant.

select results_eq(
    -- How many changes are published depends on whether there is Realtime.
    $$
        select p.table_name, p.row_count
        from strongroom.purge_conversation('acme', 'open') as p
        where p.table_name <> 'conversation_changes'
    $$,
    $$
        values
            ('approval_grants', 1::bigint),
            ('artifact_exports', 1),
            ('artifact_versions', 1),
            ('artifacts', 1),
            ('checkpoints', 1),
            ('conversations', 1),
            ('file_versions', 1),
            ('files', 1),
            ('interactions', 1),
            ('messages', 2),
            ('run_events', 1),
            ('runs', 1),
            ('session_states', 1),
            ('thread_summaries', 1),
            ('tool_outputs', 1)
    $$,
    'a purge says what each table lost'
);
select stories.become_owner();
select is(
    (
        select count(*)
        from strongroom.messages as m
        where m.tenant_id = 'acme'
            and m.conversation_id = 'open'
    ),
    0::bigint,
    'and it did'
);
select stories.become_host();
select results_eq(
    $$ select count(*) from strongroom.purge_conversation('acme', 'open') as p $$,
    array[0::bigint],
    'a second purge loses nothing'
);
select results_eq(
    $$ select count(*) from strongroom.purge_conversation('acme', 'none') as p $$,
    array[0::bigint],
    'nor does the purge of what never was'
);
select results_eq(
    $$
        select p.table_name, p.row_count
        from strongroom.purge_tenant('acme') as p
        where p.table_name <> 'conversation_changes'
    $$,
    $$
        values
            ('agent_versions', 1::bigint),
            ('agents', 1),
            ('approval_grants', 2),
            ('artifact_exports', 2),
            ('artifact_versions', 2),
            ('artifacts', 2),
            ('audit_events', 14),
            ('audit_seals', 1),
            ('catalog_tombstones', 1),
            ('checkpoints', 2),
            ('chunks', 2),
            ('collections', 1),
            ('conversation_participants', 1),
            ('conversations', 3),
            ('evaluation_case_versions', 2),
            ('evaluation_cases', 2),
            ('evaluation_results', 1),
            ('evaluation_run_cases', 1),
            ('evaluation_runs', 1),
            ('file_versions', 3),
            ('files', 3),
            ('framework_records', 1),
            ('framework_sessions', 1),
            ('interactions', 2),
            ('jobs', 1),
            ('locks', 1),
            ('memberships', 3),
            ('memories', 2),
            ('memory_settings', 2),
            ('memory_tombstones', 4),
            ('messages', 4),
            ('retention_policies', 1),
            ('run_events', 2),
            ('runs', 2),
            ('session_states', 2),
            ('skill_versions', 1),
            ('skills', 1),
            ('sources', 2),
            ('tenants', 1),
            ('thread_summaries', 2),
            ('tool_outputs', 2),
            ('topic_events', 1),
            ('topics', 1),
            ('transcript_errors', 1),
            ('transcript_messages', 2),
            ('transcripts', 2),
            ('usage_events', 3)
    $$,
    'the purge of a tenant says it, too'
);
select stories.become_owner();
select is(
    (
        select array_agg(distinct t)
        from stories.tables() as t
        where 'acme' = any(stories.tenants_in(t))
            and not stories.outlives_its_tenant(t)
    ),
    '{strongroom.blob_removals}',
    'nothing of the tenant is left but the list of its bytes that are still to be removed'
);
select is(
    (
        select count(*)
        from stories.tables() as t
        where 'globex' = any(stories.tenants_in(t))
    ),
    (select count(*) from stories.tables()),
    'the other tenant has lost nothing'
);
select is(
    stories.count_of('strongroom.messages'),
    6::bigint,
    'not one message'
);

-- Old events of a topic leave in order, and a reader is told.

select stories.become_host();
select is(
    (select t.trimmed from strongroom.trim_topic('globex', 'private', 1) as t),
    1::bigint,
    'trim_topic deletes from the beginning'
);
select is(
    stories.outcome('select * from strongroom.list_topic_events(''globex'', ''private'')'),
    'SR010',
    'and whoever has not read what is gone is told'
);

-- A fork is a copy, so purging one leaves the other.

select stories.become_host();
select lives_ok(
    $$
        select * from strongroom.fork_conversation('globex', 'private', 'fork');
        select * from strongroom.purge_conversation('globex', 'private');
    $$,
    'the original of a fork is purged'
);
select is(
    (select m.message_count from strongroom.count_messages('globex', 'fork') as m),
    2::bigint,
    'and the fork is whole'
);

select * from finish();
rollback;
