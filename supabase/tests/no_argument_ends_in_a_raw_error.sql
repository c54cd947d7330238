-- Whatever is given for an argument of a public function, the answer is rows or an error of the
-- registry: no cast error, no violated constraint, no null where none belongs.
begin;
\ir support/stories.psql

-- A sound call of every public function, argument by argument.
create table stories.sound (parameter text, value text);
insert into stories.sound (parameter, value)
values
    ('p_tenant_id', '''acme'''),
    ('p_conversation_id', '''shared'''),
    ('p_principal_id', '''ada'''),
    ('p_owner_id', '''ada'''),
    ('p_message_id', '''open-1'''),
    ('p_name', '''Name'''),
    ('p_role_ids', '''{a}'''),
    ('p_participant_ids', '''{bob}'''),
    ('p_visibility', '''private'''),
    ('p_agent_id', '''helper'''),
    ('p_agent_policy', '''latest'''),
    ('p_skill_id', '''helper'''),
    ('p_definition', '''{}'''),
    ('p_input', '''1'''),
    ('p_case_id', '''private'''),
    ('p_cases', '''[{"case_id": "private"}]'''),
    ('p_results', '''[{"case_id": "private", "repeat": 2}]'''),
    ('p_is_archived', 'true'),
    ('p_base_run_id', '''private'''),
    ('p_other_run_id', '''private'''),
    ('p_run_id of an evaluation', '''private'''),
    ('p_expected_version', '1'),
    ('p_changes', '''{}'''),
    ('p_state', '''{}'''),
    ('p_patch', '''{}'''),
    ('p_text', '''text'''),
    ('p_covers_to_position', '2'),
    ('p_run_id', '''run'''),
    ('p_claim_token', '(select claim_token from strongroom.find_run(''acme'', ''run''))'),
    ('p_worker_id', '''worker'''),
    ('p_lease_seconds', '30'),
    ('p_events', '''[{"kind": "step"}]'''),
    ('p_events of audit', '''[{"action": "x.x", "record": "x", "record_id": "x"}]'''),
    ('p_events of usage', '''[{"input_tokens": 7}]'''),
    ('p_usage', '''[{"input_tokens": 7}]'''),
    ('p_usage_id', '''private-u'''),
    ('p_event_id', '''event'''),
    ('p_by', '''day'''),
    ('p_expected_sequence', '0'),
    ('p_keep', '1'),
    ('p_kind', '''question'''),
    ('p_status', '''completed'''),
    ('p_interaction_id', '''question'''),
    ('p_answer', '''1'''),
    ('p_decision', '''deny'''),
    ('p_resolved_by', '''ada'''),
    ('p_granted_by', '''ada'''),
    ('p_tool_name', '''refund'''),
    ('p_grant_id', '''grant'''),
    ('p_delay_seconds', '1'),
    ('p_error', '''{}'''),
    ('p_job_id', '''job'''),
    ('p_claim_token of a job', '(select claim_token from strongroom.find_job(''acme'', ''job''))'),
    ('p_jobs', '''[]'''),
    ('p_queues', '''{default}'''),
    ('p_ended_before', '''now'''),
    ('p_token', '(select token from strongroom.find_lock(''acme'', ''lock''))'),
    ('p_topic', '''private'''),
    ('p_collection_id', '''private'''),
    ('p_source_id', '''open'''),
    ('p_external_ref', '''open.md'''),
    ('p_chunks', '''[{"content": "x"}]'''),
    ('p_number', '1'),
    ('p_embedding_model', '''model'''),
    ('p_embedding_version', '''1'''),
    ('p_embedding_dimensions', '3'),
    ('p_embeddings', '''[[1, 2, 3]]'''),
    ('p_kind of a policy', '''jobs'''),
    ('p_keep_seconds', '60'),
    ('p_up_to_sequence', '1'),
    ('p_memory_id', '''fact'''),
    ('p_memory_ids', '''{fact}'''),
    ('p_fact', '''{"text": "x", "source": "extracted"}'''),
    ('p_blob_key', '''orphan'''),
    ('p_removals', '''[]'''),
    ('p_file_id', '''private-file'''),
    ('p_path', '''a/b'''),
    ('p_media_type', '''text/plain'''),
    ('p_version', '1'),
    ('p_expected_latest', '1'),
    ('p_from_state', '''stored'''),
    ('p_to_state', '''deleting'''),
    ('p_artifact_id', '''open-artifact'''),
    ('p_format', '''pdf'''),
    (
        'p_claim_token of an export',
        '(select claim_token from strongroom.find_artifact_export('
        '''acme'', ''open-artifact'', 1, ''pdf''))'
    ),
    ('p_scope', '''private'''),
    ('p_from_scope', '''private'''),
    ('p_to_scope', '''copy'''),
    ('p_session_id', '''private'''),
    ('p_turn', '0'),
    ('p_append_id', '''append'''),
    ('p_error_id', '''private'''),
    ('p_ref', '''session'''),
    ('p_framework', '''stories'''),
    ('p_path of a framework', '''{private}'''),
    ('p_from_path', '''{private}'''),
    ('p_records', '''[{"path": ["x"], "collection": "values", "key": "x", "content": 1}]'''),
    ('p_wanted', '''[{"path": ["private"], "collection": "items", "key": "a"}]'''),
    ('p_sha256', 'repeat(''0'', 64)'),
    ('p_size_bytes', '1'),
    ('p_output_id', '(select id from strongroom.list_tool_outputs(''acme'', ''open''))'),
    (
        'p_messages',
        '''[{"role": "user", "parts": [{"type": "text", "schema_version": 1, "text": "x"}]}]'''
    );

create table stories.odd (type regtype, value text);
insert into stories.odd (type, value)
select
    t.type,
    v.value
from (
    values
        ('text'::regtype),
        ('text[]'),
        ('jsonb'),
        ('integer'),
        ('bigint'),
        ('boolean'),
        ('double precision'),
        ('timestamptz')
) as t (type)
cross join (values ('null')) as v (value)
union all
select
    'text',
    v.value
from (
    values
        (''''''),
        (''' '''),
        ('''no such thing'''),
        ('repeat(''x'', 255)'),
        ('repeat(''x'', 256)'),
        ('repeat(''🦆'', 255)'),
        ('repeat(''x'', 20000)'),
        ('E''a\nb'''),
        ('''%s %I %'''),
        ('''{"a": 1}'''),
        ('''1AAAA'''),
        ('strongroom_private.encode_cursor(''x'', ''{1}'')')
) as v (value)
union all
select
    'text[]',
    v.value
from (
    values
        ('''{}'''),
        ('''{null}'''),
        ('''{""}'''),
        ('''{{a,b},{c,d}}'''),
        ('array_fill(''x''::text, ''{1001}'')'),
        ('array[repeat(''x'', 256)]'),
        ('''[5:6]={a,b}'''),
        ('''{a,a}''')
) as v (value)
union all
select
    'jsonb',
    format('%L', v.value)
from (
    values
        ('null'),
        ('7'),
        ('1e300'),
        ('"x"'),
        ('true'),
        ('[]'),
        ('[null]'),
        ('[7]'),
        ('[[]]'),
        ('[{}]'),
        ('[{"role": null}]'),
        ('[{"role": "assistant"}]'),
        ('[{"role": "assistant", "parts": [{"type": "text", "schema_version": 1, "text": "x"}]}]'),
        ('[{"role": 7, "parts": {}}]'),
        ('[{"case_id": 7}]'),
        ('[{"case_id": "private", "version": 1.5}]'),
        ('[{"case_id": "private", "version": 1e300}]'),
        ('[{"case_id": "private", "repeat": 0}]'),
        ('[{"case_id": "private", "repeat": null}]'),
        ('[{"case_id": "private", "repeat": 3, "scores": {"x": "1"}}]'),
        ('[{"case_id": "private", "repeat": 3, "scores": {"": 1}}]'),
        ('[{"case_id": "private", "repeat": 3, "scores": []}]'),
        ('[{"case_id": "private", "repeat": 3, "passed": "true"}]'),
        ('[{"case_id": "private", "repeat": 3, "error": 7}]'),
        ('[{"case_id": "private", "repeat": 3, "source_conversation_id": "none"}]'),
        ('[{"case_id": "private"}, {"case_id": "private"}]'),
        ('[{"kind": 7}]'),
        ('{"text": "x", "source": "extracted", "confidence": "1"}'),
        ('{"text": "x", "source": "extracted", "confidence": null}'),
        ('{"text": "x", "source": "extracted", "confidence": 1e400}'),
        ('{"text": "x", "source": "extracted", "expires_at": "never"}'),
        ('{"text": "x", "source": "extracted", "expires_at": "infinity"}'),
        ('{"text": "x", "source": "extracted", "expires_at": "300000-01-01"}'),
        ('{"text": "x", "source": "extracted", "embedding": [1e400], "embedding_model": "m"}'),
        ('{"text": "x", "source": "extracted", "embedding": [1e-400, 1], "embedding_model": "m"}'),
        ('{"text": "x", "source": "extracted", "embedding": [null], "embedding_model": "m"}'),
        ('{"text": "x", "source": "extracted", "embedding": {}, "embedding_model": "m"}'),
        ('{"text": "x", "source": "extracted", "embedding_model": 7}'),
        ('{"text": "x", "source": "extracted", "namespace": null}'),
        ('{"text": "x", "source": "extracted", "namespace": "a//b"}'),
        ('{"text": "x", "source": "extracted", "key": "k", "metadata": null}'),
        ('{"text": 7, "source": "extracted"}'),
        ('{"text": "x"}'),
        ('{"source": "extracted"}'),
        ('{"expires_at": "never"}'),
        ('{"embedding": [1], "embedding_model": null}'),
        ('{"text": null}'),
        ('[1, 2, "3"]'),
        ('[0.5, -1e300]'),
        ('[{"kind": "x", "data": null}]'),
        ('[{"kind": "x", "id": null, "data": {}}]'),
        ('[{"kind": "x", "id": ""}]'),
        ('[{"kind": "x", "payload": {}}]'),
        ('[{"kind": "x", "payload": 7}]'),
        ('[{"id": "job", "claim_token": 1}]'),
        ('[{"id": "job", "claim_token": "1"}]'),
        ('[{"id": "job", "claim_token": 1e300}]'),
        ('[{"id": "job", "claim_token": 9999999999999999}]'),
        ('[{"tenant_id": "acme", "id": "job", "claim_token": 1}]'),
        ('[{"tenant_id": "no such thing", "id": "job", "claim_token": 1}]'),
        ('[{"tenant_id": null, "id": null, "claim_token": null}]'),
        ('[{"tenant_id": "acme", "blob_key": "orphan", "claim_token": 1}]'),
        ('[{"tenant_id": "acme", "blob_key": "orphan", "claim_token": 1, "error": "x"}]'),
        ('[{"tenant_id": "acme", "blob_key": "", "claim_token": 1, "error": ""}]'),
        ('[{"tenant_id": 7, "blob_key": 7, "claim_token": "1", "error": 7}]'),
        ('["x"]'),
        ('[{"role": "user", "parts": null}]'),
        ('{}'),
        ('{"a": 1}'),
        ('{"": null}'),
        ('{"name": null, "metadata": null, "status": null}'),
        ('{"name": 7}'),
        ('{"name": {}}'),
        ('{"status": "gone"}'),
        ('{"status": ["active"]}'),
        ('{"embedding_model": 7}'),
        ('{"embedding_model": "m", "embedding_version": "1", "embedding_dimensions": 1e300}'),
        ('{"embedding_model": "m", "embedding_version": "1", "embedding_dimensions": 1.5}'),
        ('{"embedding_model": "m", "embedding_version": "1", "embedding_dimensions": 7}'),
        ('{"embedding_dimensions": 7}'),
        ('{"auth_subjects": [7]}'),
        ('{"auth_subjects": "tenant"}'),
        ('{"auth_subjects": ["role:"]}'),
        ('{"uri": ""}'),
        ('[1, 2, 3]'),
        ('[0, 0, 0]'),
        ('[1e300, 1, 1]'),
        ('[1, "2", 3]'),
        ('[{"content": 7}]'),
        ('[{"content": "x", "locator": 7}]'),
        ('[{"content": "x", "token_count": 1e300}]'),
        ('[{"content": "x", "auth_subjects": {}}]'),
        ('[{"content": "x", "auth_subjects": ["x"]}]'),
        ('[{"content": "x", "embedding": [1]}]'),
        ('[{"content": "x", "embedding": [1, 2, 3]}]'),
        ('[{"content": "x", "embedding": {}}, {"content": "x"}]'),
        ('[{"content": "x", "unknown": 1}]'),
        ('{"description": 7}'),
        ('{"description": ""}'),
        ('{"metadata": []}'),
        ('{"title": 7}'),
        ('{"title": ""}'),
        ('{"title": ["x"]}'),
        ('{"title": null, "external_ref": null, "archived": null}'),
        ('{"external_ref": {}}'),
        ('{"archived": "true"}'),
        ('{"archived": 1}'),
        ('{"archived": [true]}'),
        ('{"run_id": 7}'),
        ('{"run_id": "", "message_id": null}'),
        ('{"source_artifact_id": "x"}'),
        ('{"source_artifact_id": "x", "source_version": 1.5}'),
        ('{"source_artifact_id": "x", "source_version": 1e300}'),
        ('{"source_artifact_id": "x", "source_version": "1"}'),
        ('{"source_artifact_id": null, "source_version": null}')
) as v (value)
union all
select
    t.type,
    v.value
from (
    values ('integer'::regtype), ('bigint')
) as t (type)
cross join (
    values ('0'), ('-1'), ('1'), ('2147483647'), ('-2147483648')
) as v (value)
union all
select
    'bigint',
    v.value
from (
    values ('9223372036854775807'), ('-9223372036854775808')
) as v (value)
union all
select
    'double precision',
    v.value
from (
    values
        ('0'),
        ('-1'),
        ('1e-300'),
        ('1e300'),
        ('86400'),
        ('''NaN'''),
        ('''Infinity'''),
        ('''-Infinity''')
) as v (value)
union all
select
    'timestamptz',
    v.value
from (
    values
        ('''infinity'''),
        ('''-infinity'''),
        ('''0044-03-15 BC'''),
        ('''294276-01-01'''),
        ('''now''')
) as v (value)
union all
select
    'boolean',
    v.value
from (
    values ('true'), ('false')
) as v (value);

create table stories.calls as
with parameters as (
    select
        p.oid,
        format('strongroom.%s', p.proname) as function,
        a.name,
        a.type::regtype as type,
        a.place,
        p.pronargs - p.pronargdefaults >= a.place as is_required
    from pg_proc as p
    cross join lateral unnest(p.proargnames, p.proargtypes::oid[])
        with ordinality as a (name, type, place)
    where p.pronamespace = 'strongroom'::regnamespace
        and a.place <= p.pronargs
)

select
    t.function,
    t.name as parameter,
    o.value as odd_value,
    format(
        'select * from %s(%s)',
        t.function,
        string_agg(
            format(
                '%s => (%s)::%s',
                a.name,
                case when a.name = t.name then o.value else s.value end,
                a.type
            ),
            ', '
            order by a.place
        )
    ) as statement
from parameters as t
inner join stories.odd as o on o.type = t.type
inner join parameters as a on a.oid = t.oid
left join stories.sound as s
    on s.parameter = a.name || case
        when a.name = 'p_claim_token' and t.function ~ '_job(_|$)' then ' of a job'
        when a.name = 'p_run_id' and t.function ~ '_evaluation_' then ' of an evaluation'
        when a.name = 'p_events' and t.function ~ 'audit' then ' of audit'
        when a.name = 'p_events' and t.function ~ 'record_usage' then ' of usage'
        when a.name = 'p_claim_token' and t.function ~ '_export$' then ' of an export'
        when a.name = 'p_kind' and t.function ~ '_retention_' then ' of a policy'
        when a.name = 'p_path' and t.function ~ '_framework_' then ' of a framework'
        else ''
    end
where a.is_required
    or a.name = t.name
group by
    t.function,
    t.name,
    o.value;
create table stories.answers (call text, answer text);
grant select on stories.calls to public;
grant select, insert on stories.answers to public;

create function stories.sqlstate_of(p_statement text)
returns text
language plpgsql
as $$
begin
    execute p_statement;
    -- Undo it, so that each call finds the same world.
    raise sqlstate 'DONE1';
exception
    when others then
        return case when sqlstate = 'DONE1' then 'rows' else sqlstate || ' ' || sqlerrm end;
end
$$;

select plan((select count(*)::integer from stories.calls) + 4);
select stories.found_a_world();

select is(
    (
        select array_agg(distinct a.name)
        from pg_proc as p
        cross join lateral unnest(p.proargnames) with ordinality as a (name, place)
        where p.pronamespace = 'strongroom'::regnamespace
            and a.place <= p.pronargs - p.pronargdefaults
            and a.name not in (select s.parameter from stories.sound as s)
    ),
    null,
    'there is a sound value for every required argument'
);
select cmp_ok(
    (select count(*) from stories.calls),
    '>',
    1000::bigint,
    'and many odd ones'
);

select stories.become_host();
select strongroom.create_agent('acme', 'Helper', 'helper');
select strongroom.create_skill('acme', 'Helper', 'helper');
select strongroom.create_run('acme', 'stateless', 'run');
select strongroom.claim_run('acme', 'run', 'worker', 600);
select strongroom.claim_jobs('worker', p_lease_seconds => 600, p_tenant_id => 'acme');
select strongroom.create_interaction(
    'acme',
    'run',
    (select r.claim_token from strongroom.find_run('acme', 'run') as r),
    k.kind,
    k.kind,
    p_prompt => 'x',
    p_tool_name => case k.kind when 'approval' then 'refund' end,
    p_input => case k.kind when 'approval' then '{}'::jsonb end
)
from (values ('question'), ('approval')) as k (kind);
insert into stories.answers (call, answer)
select
    format('%s: %s = %s', c.function, c.parameter, left(c.odd_value, 50)),
    stories.sqlstate_of(c.statement)
from stories.calls as c;
select matches(a.answer, '^(rows|SR[0-9]{3} .+)$', a.call)
from stories.answers as a;
select cmp_ok(count(*), '>', 200::bigint, format('many are %s', k.kind))
from (
    values ('taken'), ('refused')
) as k (kind)
inner join stories.answers as a on (a.answer = 'rows') = (k.kind = 'taken')
group by k.kind;

select * from finish();
rollback;
