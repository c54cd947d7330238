-- Foreign keys are checked without row security, so each of them carries the tenant: a child that
-- names a parent of another tenant is refused just as one that names no parent at all.
begin;
\ir support/stories.psql
select plan(
    (
        select (4 * count(*))::integer
        from pg_constraint as k
        where k.contype = 'f'
            and k.connamespace = 'strongroom'::regnamespace
            and k.confrelid <> 'strongroom.tenants'::regclass
    )
    + (select count(*)::integer from stories.tables())
    + 15
);
select stories.found_a_world();

-- A conversation that only globex has.
select stories.become_host();
select is(
    (select c.outcome from strongroom.create_conversation('globex', 'ada', 'only-globex') as c),
    'inserted',
    'globex has a conversation that acme has not'
);
select is(
    (select r.id from strongroom.create_run('globex', 'only-globex', 'only-globex-run') as r),
    'only-globex-run',
    'with a run'
);
select is(
    (
        select e.outcome
        from strongroom.publish_events('globex', 'only-globex', '[{"kind": "new"}]') as e
    ),
    'inserted',
    'and a topic'
);
select is(
    (select c.outcome from strongroom.create_agent('globex', 'x', 'only-globex') as c),
    'inserted',
    'and an agent'
);
select is(
    (select c.outcome from strongroom.create_skill('globex', 'x', 'only-globex') as c),
    'inserted',
    'and a skill'
);
select is(
    (
        select r.outcome
        from strongroom.create_evaluation_case('globex', 'x', '1', 'only-globex')
        cross join lateral strongroom.start_evaluation_run(
            'globex', '[{"case_id": "only-globex"}]', 'only-globex'
        ) as r
    ),
    'inserted',
    'and an evaluation'
);
select is(
    stories.outcome(
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path)'
        ' values (''globex'', ''only-globex'', ''x'', ''{x}'')'
    ),
    '1 row',
    'and a framework''s session'
);
select is(
    (select c.outcome from strongroom.create_collection('globex', 'x', 'only-globex') as c),
    'inserted',
    'and a collection'
);
select is(
    (
        select r.outcome
        from strongroom.replace_source(
            'globex', 'only-globex', 'x', '[]', 'only-globex'
        ) as r
    ),
    'inserted',
    'with a source'
);

select is(
    (
        select f.outcome
        from strongroom.create_file(
            'globex', 'ada', 'x', 'x', 'only-globex', 'only-globex-file'
        ) as f
    ),
    'inserted',
    'and a file'
);
select is(
    (
        select a.outcome
        from strongroom.create_artifact(
            'globex', 'x', 'only-globex', p_artifact_id => 'only-globex-artifact', p_text => 'x'
        ) as a
    ),
    'inserted',
    'and an artifact'
);

select stories.become_owner();
select is(
    (
        select array_agg(distinct k.confrelid::regclass order by k.confrelid::regclass)
        from pg_constraint as k
        where k.contype = 'f'
            and k.conrelid = t::regclass
    ),
    case
        when t = 'strongroom.tenants' then null
        -- The bytes of a purged tenant must still go.
        when t = 'strongroom.blob_removals' then null
        -- Receipts outlive their tenant.
        when t = 'strongroom.deletion_receipts' then null
        when t = 'strongroom.deletion_receipt_items' then '{strongroom.deletion_receipts}'
        -- Usage outlives the conversation that it names.
        when t in (
            'strongroom.jobs', 'strongroom.locks', 'strongroom.topics', 'strongroom.usage_events'
        )
        then '{strongroom.tenants}'::regclass[]
        when t = 'strongroom.agent_versions' then '{strongroom.agents}'
        when t = 'strongroom.evaluation_case_versions' then '{strongroom.evaluation_cases}'
        when t = 'strongroom.evaluation_run_cases'
        then '{strongroom.evaluation_cases,strongroom.evaluation_runs}'
        when t = 'strongroom.evaluation_results'
        then '{strongroom.conversations,strongroom.evaluation_cases,strongroom.evaluation_runs}'
        when t = 'strongroom.framework_records' then '{strongroom.framework_sessions}'
        when t = 'strongroom.skill_versions' then '{strongroom.skills}'
        when t = 'strongroom.topic_events' then '{strongroom.topics}'
        when t = 'strongroom.sources' then '{strongroom.collections}'
        when t = 'strongroom.chunks' then '{strongroom.sources}'
        when t in ('strongroom.transcript_messages', 'strongroom.transcript_errors')
        then '{strongroom.transcripts}'
        when t = 'strongroom.artifact_versions' then '{strongroom.artifacts}'
        when t = 'strongroom.artifact_exports' then '{strongroom.artifact_versions}'
        when t in ('strongroom.run_events', 'strongroom.checkpoints', 'strongroom.interactions')
        then '{strongroom.runs}'
        when t = 'strongroom.file_versions' then '{strongroom.files}'
        when t in (
            'strongroom.approval_grants',
            'strongroom.files',
            'strongroom.artifacts',
            'strongroom.transcripts'
        )
        then '{strongroom.tenants,strongroom.conversations}'
        when exists (
            select
            from pg_attribute as a
            where a.attrelid = t::regclass
                and a.attname = 'conversation_id'
        )
        then '{strongroom.conversations}'
        else '{strongroom.tenants}'
    end,
    format('%s hangs on what its columns name', t)
)
from stories.tables() as t;
create temporary table pairs as
select
    k.conname,
    k.conrelid::regclass as child,
    replace(stories.insertion(k.conrelid::regclass::text, 'acme'), '''stateless''', '''private''')
        as statement
from pg_constraint as k
where k.contype = 'f'
    and k.connamespace = 'strongroom'::regnamespace
    and k.confrelid <> 'strongroom.tenants'::regclass;
grant select on pairs to public;

create function stories.refusal(p_statement text)
returns text
language plpgsql
as $$
declare
    v_detail text;
begin
    execute p_statement;
    return 'not refused';
exception
    when others then
        get stacked diagnostics v_detail = pg_exception_detail;
        return format('%s %s %s', sqlstate, sqlerrm, v_detail);
end
$$;

select ok(
    p.statement like '%''private''%',
    format('%s: there is a statement to try', p.conname)
)
from pairs as p;
select stories.become_host('acme');
select is(
    left(stories.refusal(replace(p.statement, '''private', '''only-globex')), 5),
    -- What only triggers write is refused before its parent is looked for.
    case when has_table_privilege(p.child, 'insert') then '23503' else '42501' end,
    format('%s: a host cannot let a row of acme point into globex', p.conname)
)
from pairs as p;
select stories.become_service('acme');
select is(
    left(stories.refusal(replace(p.statement, '''private', '''only-globex')), 5),
    case when has_table_privilege(p.child, 'insert') then '23503' else '42501' end,
    format('%s: nor can service_role, which row security does not bind', p.conname)
)
from pairs as p;
select stories.become_owner('acme');
select is(
    replace(
        stories.refusal(replace(p.statement, '''private', '''only-globex')),
        'only-globex',
        '?'
    ),
    replace(stories.refusal(replace(p.statement, '''private', '''absent')), 'absent', '?'),
    format('%s: the refusal does not tell whether the parent exists elsewhere', p.conname)
)
from pairs as p;

-- Through the functions, a foreign parent is as absent as any other.

select stories.become_host();
select is(
    stories.message_of(format(f.call, 'only-globex')),
    'the conversation does not exist',
    format('as absent: %s', f.call)
)
from (
    values
        (
            'select strongroom.append_messages(''acme'', %L,'
            ' ''[{"role": "user", "parts": [{"type": "text", "schema_version": 1, "text": ""}]}]'')'
        ),
        ('select strongroom.put_session_state(''acme'', %L, ''{}'', 0)'),
        ('select strongroom.append_thread_summary(''acme'', %L, ''x'', 1)'),
        ('select strongroom.fork_conversation(''acme'', %L)')
) as f (call);

select * from finish();
rollback;
