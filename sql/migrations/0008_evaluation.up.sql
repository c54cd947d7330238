-- strongroom 0008: evaluation
--
-- Purpose     Evaluation cases with immutable versions, runs over a fixed set of them, results, and
--             the comparison of two runs.
-- Versions    A case's content is numbered 1..n without gaps under the lock of the case's row, and
--             never changed. A run names the exact versions that it is about, when it starts.
-- Results     One per run, case and repeat; never changed. A result may name the conversation that
--             it came from. When that is purged, the result keeps its verdict and its scores, and
--             loses what was said: output, error and metadata. That is the only change there is.
-- Locks       A recorder locks the run's row for share: recorders of one run do not wait for each
--             other, a finish waits for them, and they for it. Then the cases, and then the
--             conversations that its results name, each in the order of their ids (FOR KEY SHARE).
--             A start locks its cases alike; so both wait for the purge of a case.
-- Reading     Hosts alone: cases hold what an agent is tested with.

select strongroom_private.begin_migration(8, 'evaluation');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '8';
select strongroom_private.require_transaction(8);

create function strongroom_private.check_payload(p_field text, p_value jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bytes integer := octet_length(p_value::text);
begin
    if v_bytes > 1048576 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s bytes; at most 1048576 are allowed', p_field, v_bytes),
            jsonb_build_object('path', p_field, 'limit', 1048576, 'actual', v_bytes),
            'Keep large data in a file or artifact, and its id here.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_payload(text, jsonb) is
    'Any JSON value of at most 1 MiB as text. Errors: SR004.';


-- ---------------------------------------------------------------------------------------------
-- Cases
-- ---------------------------------------------------------------------------------------------

create table strongroom.evaluation_cases (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    suite text collate "C",
    latest_version integer not null default 1,
    creation_digest text collate "C" not null,
    archived_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint evaluation_cases_pkey primary key (tenant_id, id),
    constraint case_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint suite_has_1_to_255_characters check (char_length(suite) between 1 and 255),
    constraint latest_version_is_positive check (latest_version > 0)
);
comment on table strongroom.evaluation_cases is
    'What agents are tested with: each case has versions of its content.';
comment on column strongroom.evaluation_cases.tenant_id is 'The tenant.';
comment on column strongroom.evaluation_cases.id is 'The case''s id, unique in the tenant.';
comment on column strongroom.evaluation_cases.suite is 'What it is grouped by, for lists.';
comment on column strongroom.evaluation_cases.latest_version is
    'The number of its newest version, which updates name.';
comment on column strongroom.evaluation_cases.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.evaluation_cases.archived_at is
    'When it was archived: it stays readable, and takes no new versions.';
comment on column strongroom.evaluation_cases.created_at is 'When it was created.';
comment on column strongroom.evaluation_cases.updated_at is 'When it last changed.';

create index evaluation_cases_by_suite
    on strongroom.evaluation_cases (tenant_id, suite, id)
    where suite is not null;
comment on index strongroom.evaluation_cases_by_suite is 'Pages of a suite''s cases.';

alter table strongroom.evaluation_cases enable row level security;
alter table strongroom.evaluation_cases force row level security;
create policy host_reads on strongroom.evaluation_cases
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_reads on strongroom.evaluation_cases is 'Hosts.';
create policy host_inserts on strongroom.evaluation_cases
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.evaluation_cases is 'Hosts.';
create policy host_updates on strongroom.evaluation_cases
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.evaluation_cases is 'Hosts.';
create policy host_deletes on strongroom.evaluation_cases
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.evaluation_cases is
    'Hosts, through purge_evaluation_case.';
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.evaluation_cases',
    p_column => '',
    p_action => 'keep',
    p_reason => 'Cases are the tenant''s and belong to nobody: purge_evaluation_case.'
);

create table strongroom.evaluation_case_versions (
    tenant_id text collate "C" not null,
    case_id text collate "C" not null,
    version integer not null,
    name text not null,
    input jsonb not null,
    expected jsonb,
    metadata jsonb not null default '{}',
    content_digest text collate "C" not null,
    write_id text collate "C",
    created_at timestamptz not null default now(),
    constraint evaluation_case_versions_pkey primary key (tenant_id, case_id, version),
    constraint version_belongs_to_a_case
        foreign key (tenant_id, case_id)
        references strongroom.evaluation_cases (tenant_id, id)
        on delete cascade,
    constraint version_is_positive check (version > 0),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint input_has_at_most_1_mib check (octet_length(input::text) <= 1048576),
    constraint expected_has_at_most_1_mib check (octet_length(expected::text) <= 1048576),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object')
);
comment on table strongroom.evaluation_case_versions is
    'The content of cases: versions 1..n without gaps, never changed.';
comment on column strongroom.evaluation_case_versions.tenant_id is 'The tenant.';
comment on column strongroom.evaluation_case_versions.case_id is 'The case.';
comment on column strongroom.evaluation_case_versions.version is 'Its number: 1, 2, 3, ...';
comment on column strongroom.evaluation_case_versions.name is 'A name for people.';
comment on column strongroom.evaluation_case_versions.input is
    'What the agent is given: any JSON value, at most 1 MiB.';
comment on column strongroom.evaluation_case_versions.expected is
    'What is expected of it: any JSON value, at most 1 MiB.';
comment on column strongroom.evaluation_case_versions.metadata is
    'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.evaluation_case_versions.content_digest is
    'SHA-256 of the content in hexadecimal.';
comment on column strongroom.evaluation_case_versions.write_id is
    'Id of the update that made it, to know a repeated one.';
comment on column strongroom.evaluation_case_versions.created_at is 'When it was made.';

create trigger case_versions_are_insert_only
    before update or delete on strongroom.evaluation_case_versions
    for each row
    execute function strongroom_private.keep_history(
        'strongroom.evaluation_cases', 'id', 'case_id'
    );
comment on trigger case_versions_are_insert_only on strongroom.evaluation_case_versions is
    'See keep_history.';
create trigger case_versions_are_never_truncated
    before truncate on strongroom.evaluation_case_versions
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger case_versions_are_never_truncated on strongroom.evaluation_case_versions is
    'See keep_history.';

alter table strongroom.evaluation_case_versions enable row level security;
alter table strongroom.evaluation_case_versions force row level security;
create policy host_reads on strongroom.evaluation_case_versions
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_reads on strongroom.evaluation_case_versions is 'Hosts.';
create policy host_inserts on strongroom.evaluation_case_versions
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.evaluation_case_versions is 'Hosts.';
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.evaluation_case_versions',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They are the tenant''s, and name nobody.'
);

create function strongroom.find_evaluation_case(
    p_tenant_id text,
    p_case_id text,
    p_version integer default null
)
returns table (
    tenant_id text,
    id text,
    suite text,
    name text,
    version integer,
    latest_version integer,
    content_digest text,
    archived_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    input jsonb,
    expected jsonb,
    metadata jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_version integer;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('case_id', p_case_id);
    perform strongroom_private.check_catalog_version(p_version);
    select coalesce(p_version, c.latest_version)
    into v_version
    from strongroom.evaluation_cases as c
    where c.tenant_id = p_tenant_id
        and c.id = p_case_id;
    return query
    select
        c.tenant_id,
        c.id,
        c.suite,
        v.name,
        v.version,
        c.latest_version,
        v.content_digest,
        c.archived_at,
        c.created_at,
        c.updated_at,
        v.input,
        v.expected,
        v.metadata
    from strongroom.evaluation_cases as c
    inner join strongroom.evaluation_case_versions as v
        on v.tenant_id = c.tenant_id
        and v.case_id = c.id
    where c.tenant_id = p_tenant_id
        and c.id = p_case_id
        -- The whole key, however many versions there are.
        and v.version = v_version;
end
$$;
comment on function strongroom.find_evaluation_case(text, text, integer) is
    'A case with the content of one version, the latest without a number; or no row. Errors: SR001,'
    ' SR004, SR020. Callers: hosts.';

create function strongroom_private.write_case_version(
    p_tenant_id text,
    p_case_id text,
    p_version integer,
    p_name text,
    p_input jsonb,
    p_expected jsonb,
    p_metadata jsonb,
    p_write_id text
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into strongroom.evaluation_case_versions (
        tenant_id, case_id, version, name, input, expected, metadata, content_digest, write_id
    )
    values (
        p_tenant_id,
        p_case_id,
        p_version,
        p_name,
        p_input,
        p_expected,
        p_metadata,
        strongroom_private.digest(jsonb_build_array(p_name, p_input, p_expected, p_metadata)),
        p_write_id
    )
$$;
comment on function strongroom_private.write_case_version(
    text, text, integer, text, jsonb, jsonb, jsonb, text
) is
    'The one place that makes a version of a case, under the lock of its row.';

create function strongroom.create_evaluation_case(
    p_tenant_id text,
    p_name text,
    p_input jsonb,
    p_case_id text default null,
    p_suite text default null,
    p_expected jsonb default null,
    p_metadata jsonb default '{}'
)
returns table (
    tenant_id text,
    id text,
    suite text,
    name text,
    version integer,
    latest_version integer,
    content_digest text,
    archived_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    input jsonb,
    expected jsonb,
    metadata jsonb,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_id text := coalesce(p_case_id, gen_random_uuid()::text);
    -- PostgREST hands over JSON's null as SQL's: here they mean the same.
    v_input jsonb := coalesce(p_input, 'null');
    v_expected jsonb := nullif(p_expected, 'null');
    v_digest text;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('case_id', v_id);
    perform strongroom_private.check_name('name', p_name);
    perform strongroom_private.check_optional_id('suite', p_suite);
    perform strongroom_private.check_payload('input', v_input);
    perform strongroom_private.check_payload('expected', v_expected);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    v_digest := strongroom_private.digest(
        jsonb_build_array(p_suite, p_name, v_input, v_expected, p_metadata)
    );

    insert into strongroom.evaluation_cases (tenant_id, id, suite, creation_digest)
    values (p_tenant_id, v_id, p_suite, v_digest)
    on conflict on constraint evaluation_cases_pkey do nothing;
    if found then
        v_outcome := 'inserted';
        perform strongroom_private.write_case_version(
            p_tenant_id, v_id, 1, p_name, v_input, v_expected, p_metadata, null
        );
    end if;

    return query
    select
        f.*,
        v_outcome
    from strongroom.find_evaluation_case(p_tenant_id, v_id) as f
    inner join strongroom.evaluation_cases as c
        on c.tenant_id = f.tenant_id
        and c.id = f.id
    where c.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'an evaluation case with this id was created with other content',
            jsonb_build_object('path', 'case_id', 'record', 'evaluation case'),
            'Read it and update it, or choose another id.'
        );
    end if;
end
$$;
comment on function strongroom.create_evaluation_case(
    text, text, jsonb, text, text, jsonb, jsonb
) is
    'Create a case, with version 1 of its content. A repeat with the same id and arguments changes'
    ' nothing and returns the stored case with outcome duplicate, also after later changes. Errors:'
    ' SR001, SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.update_evaluation_case(
    p_tenant_id text,
    p_case_id text,
    p_changes jsonb,
    p_expected_version integer,
    p_write_id text default null
)
returns table (
    tenant_id text,
    id text,
    suite text,
    name text,
    version integer,
    latest_version integer,
    content_digest text,
    archived_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    input jsonb,
    expected jsonb,
    metadata jsonb
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_case strongroom.evaluation_cases;
    v_latest strongroom.evaluation_case_versions;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('case_id', p_case_id);
    perform strongroom_private.check_keys('changes', p_changes, '{name,input,expected,metadata}');
    perform strongroom_private.check_text('changes.name', p_changes -> 'name');
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    if p_changes ? 'name' then
        perform strongroom_private.check_name('changes.name', p_changes ->> 'name');
    end if;
    perform strongroom_private.check_payload('changes.input', p_changes -> 'input');
    perform strongroom_private.check_payload('changes.expected', p_changes -> 'expected');
    if p_changes ? 'metadata' then
        perform strongroom_private.check_object('changes.metadata', p_changes -> 'metadata', 16384);
    end if;

    -- The race: two updates read the same version. The second one waits here, and is told.
    select c.*
    into v_case
    from strongroom.evaluation_cases as c
    where c.tenant_id = p_tenant_id
        and c.id = p_case_id
    for no key update;
    select v.*
    into v_latest
    from strongroom.evaluation_case_versions as v
    where v.tenant_id = p_tenant_id
        and v.case_id = p_case_id
        and v.version = v_case.latest_version;
    if v_case.latest_version is distinct from p_expected_version then
        -- A repeat of the very same call, whose answer was lost, has happened already.
        if v_latest.write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write(
                'evaluation case', p_expected_version, v_case.latest_version
            );
        end if;
    elsif v_case.archived_at is not null then
        perform strongroom_private.fail(
            'invalid_transition',
            'the evaluation case is archived and takes no new version',
            jsonb_build_object('path', 'case_id', 'record', 'evaluation case'),
            'Take it out of the archive first.'
        );
    else
        perform strongroom_private.write_case_version(
            p_tenant_id,
            p_case_id,
            p_expected_version + 1,
            coalesce(p_changes ->> 'name', v_latest.name),
            coalesce(p_changes -> 'input', v_latest.input),
            case
                when p_changes ? 'expected' then nullif(p_changes -> 'expected', 'null')
                else v_latest.expected
            end,
            coalesce(p_changes -> 'metadata', v_latest.metadata),
            p_write_id
        );
        update strongroom.evaluation_cases as c
        set latest_version = p_expected_version + 1,
            updated_at = now()
        where c.tenant_id = p_tenant_id
            and c.id = p_case_id;
    end if;
    return query
    select f.*
    from strongroom.find_evaluation_case(p_tenant_id, p_case_id) as f;
end
$$;
comment on function strongroom.update_evaluation_case(text, text, jsonb, integer, text) is
    'Make the next version of a case, from the version that was read: name, input, expected or'
    ' metadata change, null clears expected, a missing key leaves a field alone. Errors: SR001,'
    ' SR004, SR010, SR012, SR020, SR030. Callers: hosts.';

create function strongroom.set_evaluation_case_archived(
    p_tenant_id text,
    p_case_id text,
    p_is_archived boolean
)
returns table (
    tenant_id text,
    id text,
    suite text,
    name text,
    version integer,
    latest_version integer,
    content_digest text,
    archived_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    input jsonb,
    expected jsonb,
    metadata jsonb
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('case_id', p_case_id);
    if p_is_archived is null then
        perform strongroom_private.fail(
            'invalid_argument', 'is_archived is required', '{"path": "is_archived"}',
            'Give true or false.'
        );
    end if;
    update strongroom.evaluation_cases as c
    set archived_at = case when p_is_archived then now() end,
        updated_at = now()
    where c.tenant_id = p_tenant_id
        and c.id = p_case_id
        and (c.archived_at is not null) <> p_is_archived;
    return query
    select f.*
    from strongroom.find_evaluation_case(p_tenant_id, p_case_id) as f;
    if not found then
        perform strongroom_private.fail_missed_write('evaluation case', null, null);
    end if;
end
$$;
comment on function strongroom.set_evaluation_case_archived(text, text, boolean) is
    'Put a case into the archive, or take it out. A repeat changes nothing. Errors: SR001, SR004,'
    ' SR010, SR020. Callers: hosts.';

create function strongroom.list_evaluation_cases(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_suite text default null,
    p_archived boolean default null
)
returns table (
    tenant_id text,
    id text,
    suite text,
    name text,
    version integer,
    latest_version integer,
    content_digest text,
    archived_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'evaluation_cases', jsonb_build_array(p_suite, p_archived), p_direction
    );
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('suite', p_suite);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.id,
                s.suite,
                v.name,
                v.version,
                s.latest_version,
                v.content_digest,
                s.archived_at,
                s.created_at,
                s.updated_at,
                strongroom_private.encode_cursor($3, array[s.id]),
                s.total > $4
            from (
                select
                    c.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select c.*
                    from strongroom.evaluation_cases as c
                    where c.tenant_id = $1
                        and ($5 is null or c.suite = $5)
                        and ($6 is null or (c.archived_at is not null) = $6)
                        and ($2 is null or c.id %1$s $2)
                    order by c.id %2$s
                    limit $4 + 1
                ) as c
            ) as s
            inner join strongroom.evaluation_case_versions as v
                on v.tenant_id = s.tenant_id
                and v.case_id = s.id
                and v.version = s.latest_version
            where s.place <= $4
            order by s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit, p_suite, p_archived;
end
$$;
comment on function strongroom.list_evaluation_cases(
    text, integer, text, text, text, text, boolean
) is
    'A page of cases by id, with their latest version but without its content. Filters: suite,'
    ' archived. has_more: whether rows follow in the paging direction. Errors: SR001, SR002, SR004,'
    ' SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Runs
-- ---------------------------------------------------------------------------------------------

create table strongroom.evaluation_runs (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    name text,
    status text collate "C" not null default 'running',
    agent_id text collate "C",
    agent_version integer,
    metadata jsonb not null default '{}',
    case_count integer not null,
    result_count integer,
    passed_count integer,
    failed_count integer,
    creation_digest text collate "C" not null,
    started_at timestamptz not null default now(),
    finished_at timestamptz,
    constraint evaluation_runs_pkey primary key (tenant_id, id),
    constraint evaluation_run_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint status_is_known check (status in ('running', 'completed', 'failed', 'cancelled')),
    constraint agent_id_has_1_to_255_characters check (char_length(agent_id) between 1 and 255),
    constraint only_an_agent_has_a_version check (agent_version is null or agent_id is not null),
    constraint agent_version_is_positive check (agent_version > 0),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint case_count_is_positive check (case_count > 0),
    constraint a_finished_run_knows_when check ((finished_at is not null) = (status <> 'running')),
    constraint a_finished_run_has_its_counts check (
        (status <> 'running') = (num_nulls(result_count, passed_count, failed_count) = 0)
    )
);
comment on table strongroom.evaluation_runs is 'One evaluation of an agent, over a set of cases.';
comment on column strongroom.evaluation_runs.tenant_id is 'The tenant.';
comment on column strongroom.evaluation_runs.id is 'The run''s id, unique in the tenant.';
comment on column strongroom.evaluation_runs.name is 'A name for people.';
comment on column strongroom.evaluation_runs.status is
    'running, completed, failed or cancelled; the last three are final.';
comment on column strongroom.evaluation_runs.agent_id is 'The agent that is evaluated.';
comment on column strongroom.evaluation_runs.agent_version is
    'Its exact version, where the catalog has it or the host has named it.';
comment on column strongroom.evaluation_runs.metadata is
    'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.evaluation_runs.case_count is 'How many cases it was started with.';
comment on column strongroom.evaluation_runs.result_count is
    'How many results it had when it finished.';
comment on column strongroom.evaluation_runs.passed_count is 'How many of them had passed.';
comment on column strongroom.evaluation_runs.failed_count is
    'How many of them had not; the rest has no verdict.';
comment on column strongroom.evaluation_runs.creation_digest is
    'Hash of what it was started with, to know a repeated start.';
comment on column strongroom.evaluation_runs.started_at is 'When it started.';
comment on column strongroom.evaluation_runs.finished_at is 'When it finished.';

create index evaluation_runs_by_start
    on strongroom.evaluation_runs (tenant_id, started_at, id);
comment on index strongroom.evaluation_runs_by_start is 'Pages of a tenant''s evaluation runs.';

alter table strongroom.evaluation_runs enable row level security;
alter table strongroom.evaluation_runs force row level security;
create policy host_reads on strongroom.evaluation_runs
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_reads on strongroom.evaluation_runs is 'Hosts.';
create policy host_inserts on strongroom.evaluation_runs
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.evaluation_runs is 'Hosts.';
create policy host_updates on strongroom.evaluation_runs
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.evaluation_runs is
    'Hosts, through finish_evaluation_run.';
create policy host_deletes on strongroom.evaluation_runs
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.evaluation_runs is
    'Hosts, through purge_evaluation_run.';
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.evaluation_runs',
    p_column => '',
    p_action => 'keep',
    p_reason => 'Runs are the tenant''s and belong to nobody: purge_evaluation_run.'
);

create view strongroom.evaluation_run_details
with (security_invoker = true)
as
select
    r.tenant_id,
    r.id,
    r.name,
    r.status,
    r.agent_id,
    r.agent_version,
    r.metadata,
    r.case_count,
    r.result_count,
    r.passed_count,
    r.failed_count,
    r.started_at,
    r.finished_at
from strongroom.evaluation_runs as r;
comment on view strongroom.evaluation_run_details is
    'An evaluation run as the functions return it, without bookkeeping columns. Under the row'
    ' security of the reader.';

create table strongroom.evaluation_run_cases (
    tenant_id text collate "C" not null,
    run_id text collate "C" not null,
    case_id text collate "C" not null,
    case_version integer not null,
    constraint evaluation_run_cases_pkey primary key (tenant_id, run_id, case_id),
    constraint case_belongs_to_an_evaluation_run
        foreign key (tenant_id, run_id)
        references strongroom.evaluation_runs (tenant_id, id)
        on delete cascade,
    constraint a_run_names_cases_that_there_are
        foreign key (tenant_id, case_id)
        references strongroom.evaluation_cases (tenant_id, id)
        on delete cascade,
    constraint case_version_is_positive check (case_version > 0)
);
comment on table strongroom.evaluation_run_cases is
    'The cases that an evaluation run is about, each in an exact version.';
comment on column strongroom.evaluation_run_cases.tenant_id is 'The tenant.';
comment on column strongroom.evaluation_run_cases.run_id is 'The evaluation run.';
comment on column strongroom.evaluation_run_cases.case_id is 'The case.';
comment on column strongroom.evaluation_run_cases.case_version is 'Its version.';

create index evaluation_runs_by_case
    on strongroom.evaluation_run_cases (tenant_id, case_id);
comment on index strongroom.evaluation_runs_by_case is 'What leaves with a case.';

alter table strongroom.evaluation_run_cases enable row level security;
alter table strongroom.evaluation_run_cases force row level security;
create policy host_reads on strongroom.evaluation_run_cases
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_reads on strongroom.evaluation_run_cases is 'Hosts.';
create policy host_inserts on strongroom.evaluation_run_cases
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.evaluation_run_cases is 'Hosts.';
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.evaluation_run_cases',
    p_column => '',
    p_action => 'keep',
    p_reason => 'Case versions by number, and nothing more.'
);

create function strongroom.find_evaluation_run(p_tenant_id text, p_run_id text)
returns setof strongroom.evaluation_run_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    return query
    select d.*
    from strongroom.evaluation_run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.find_evaluation_run(text, text) is
    'The evaluation run, or no row. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom_private.check_case_references(p_cases jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_case jsonb;
    v_place integer := 0;
    v_path text;
begin
    if coalesce(jsonb_typeof(p_cases), 'null') <> 'array' or p_cases = '[]' then
        perform strongroom_private.fail(
            'invalid_argument', 'cases must be a list of at least one case', '{"path": "cases"}',
            'Give objects with case_id and, where it is not the latest, version.'
        );
    elsif jsonb_array_length(p_cases) > 1000 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('cases has %s entries; at most 1000 are allowed', jsonb_array_length(p_cases)),
            jsonb_build_object(
                'path', 'cases', 'limit', 1000, 'actual', jsonb_array_length(p_cases)
            ),
            'Start several evaluation runs.'
        );
    end if;
    for v_case in
        select c
        from jsonb_array_elements(p_cases) as c
    loop
        v_path := format('cases[%s]', v_place);
        perform strongroom_private.check_keys(v_path, v_case, '{case_id,version}');
        perform strongroom_private.check_text(v_path || '.case_id', v_case -> 'case_id');
        perform strongroom_private.check_id(v_path || '.case_id', v_case ->> 'case_id');
        if coalesce(jsonb_typeof(v_case -> 'version'), 'null') <> 'null'
            and (
                not strongroom_private.is_whole_number(v_case -> 'version', 1)
                or (v_case -> 'version')::numeric > 2147483647
            )
        then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.version must be a whole number from 1', v_path),
                jsonb_build_object('path', v_path || '.version'),
                'Name a version of the case, or leave it out for the latest.'
            );
        end if;
        v_place := v_place + 1;
    end loop;
end
$$;
comment on function strongroom_private.check_case_references(jsonb) is
    'The cases of an evaluation run: 1 to 1,000 objects with case_id and maybe version. Errors:'
    ' SR001, SR004.';

create function strongroom.start_evaluation_run(
    p_tenant_id text,
    p_cases jsonb,
    p_run_id text default null,
    p_name text default null,
    p_agent_id text default null,
    p_agent_version integer default null,
    p_metadata jsonb default '{}'
)
returns table (
    tenant_id text,
    id text,
    name text,
    status text,
    agent_id text,
    agent_version integer,
    metadata jsonb,
    case_count integer,
    result_count integer,
    passed_count integer,
    failed_count integer,
    started_at timestamptz,
    finished_at timestamptz,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_id text := coalesce(p_run_id, gen_random_uuid()::text);
    v_digest text;
    v_missing bigint;
    v_outcome text := 'duplicate';
    v_case_ids text[];
    v_versions integer[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', v_id);
    perform strongroom_private.check_optional_name('name', p_name);
    perform strongroom_private.check_optional_id('agent_id', p_agent_id);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    perform strongroom_private.check_case_references(p_cases);
    if p_agent_version < 1 or (p_agent_version is not null and p_agent_id is null) then
        perform strongroom_private.fail(
            'invalid_argument',
            'agent_version is a version of agent_id; versions start at 1',
            '{"path": "agent_version"}',
            'Give the agent and its version, the agent alone, or neither.'
        );
    end if;
    if (
        select count(distinct c ->> 'case_id') < count(*)
        from jsonb_array_elements(p_cases) as c
    ) then
        perform strongroom_private.fail(
            'invalid_argument', 'cases names a case twice', '{"path": "cases"}',
            'Name each case once; a result has a repeat number for further tries.'
        );
    end if;
    v_digest := strongroom_private.digest(
        jsonb_build_array(p_name, p_agent_id, p_agent_version, p_metadata, p_cases)
    );
    -- What the JSON names, as arrays: what is read from it row by row is no condition of an index
    -- below row security.
    select
        array_agg(i.value ->> 'case_id' order by i.place),
        array_agg((i.value ->> 'version')::integer order by i.place)
    into
        v_case_ids,
        v_versions
    from jsonb_array_elements(p_cases) with ordinality as i (value, place);

    insert into strongroom.evaluation_runs (
        tenant_id, id, name, agent_id, agent_version, metadata, case_count, creation_digest
    )
    values (
        p_tenant_id,
        v_id,
        p_name,
        p_agent_id,
        coalesce(
            p_agent_version,
            (
                select nullif(a.latest_version, 0)
                from strongroom.agents as a
                where a.tenant_id = p_tenant_id
                    and a.id = p_agent_id
                    and a.deleted_at is null
            )
        ),
        p_metadata,
        jsonb_array_length(p_cases),
        v_digest
    )
    on conflict on constraint evaluation_runs_pkey do nothing;
    if found then
        v_outcome := 'inserted';
        -- Locked against their purge, so that one which is under way leaves no raw error.
        perform
        from strongroom.evaluation_cases as c
        where c.tenant_id = p_tenant_id
            and c.id = any (v_case_ids)
        order by c.id
        for key share;
        insert into strongroom.evaluation_run_cases (tenant_id, run_id, case_id, case_version)
        select
            p_tenant_id,
            v_id,
            v.case_id,
            v.version
        from unnest(v_case_ids, v_versions) as i (case_id, version)
        inner join strongroom.evaluation_cases as c
            on c.tenant_id = p_tenant_id
            and c.id = i.case_id
        inner join strongroom.evaluation_case_versions as v
            on v.tenant_id = c.tenant_id
            and v.case_id = c.id
            and v.version = case when i.version is null then c.latest_version else i.version end;
        select min(i.place) - 1
        into v_missing
        from unnest(v_case_ids) with ordinality as i (case_id, place)
        left join strongroom.evaluation_run_cases as rc
            on rc.tenant_id = p_tenant_id
            and rc.run_id = v_id
            and rc.case_id = i.case_id
        where rc.case_id is null;
        if v_missing is not null then
            perform strongroom_private.fail(
                'not_found',
                format('cases[%s]: there is no such evaluation case or version', v_missing),
                jsonb_build_object(
                    'path', format('cases[%s]', v_missing), 'record', 'evaluation case'
                ),
                'Create the case first, or name a version that it has.'
            );
        end if;
    end if;

    return query
    select
        d.*,
        v_outcome
    from strongroom.evaluation_run_details as d
    inner join strongroom.evaluation_runs as r
        on r.tenant_id = d.tenant_id
        and r.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_id
        and r.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'an evaluation run with this id was started otherwise',
            jsonb_build_object('path', 'run_id', 'record', 'evaluation run'),
            'Use a new id for a new evaluation run.'
        );
    end if;
end
$$;
comment on function strongroom.start_evaluation_run(
    text, jsonb, text, text, text, integer, jsonb
) is
    'Start an evaluation over exact versions of 1 to 1,000 cases, the latest where none is named,'
    ' and record the agent''s version where the catalog has it. A repeat with the same id and'
    ' arguments changes nothing. Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.list_evaluation_runs(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_status text default null
)
returns table (
    tenant_id text,
    id text,
    name text,
    status text,
    agent_id text,
    agent_version integer,
    metadata jsonb,
    case_count integer,
    result_count integer,
    passed_count integer,
    failed_count integer,
    started_at timestamptz,
    finished_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'evaluation_runs', jsonb_build_array(p_status), p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    if p_status is not null then
        perform strongroom_private.check_choice(
            'status', p_status, '{running,completed,failed,cancelled}'
        );
    end if;
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.id,
                s.name,
                s.status,
                s.agent_id,
                s.agent_version,
                s.metadata,
                s.case_count,
                s.result_count,
                s.passed_count,
                s.failed_count,
                s.started_at,
                s.finished_at,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(s.started_at), s.id]
                ),
                s.total > $4
            from (
                select
                    d.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select d.*
                    from strongroom.evaluation_run_details as d
                    where d.tenant_id = $1
                        and ($5 is null or d.status = $5)
                        and ($2 is null or (d.started_at, d.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by d.started_at %2$s, d.id %2$s
                    limit $4 + 1
                ) as d
            ) as s
            where s.place <= $4
            order by s.started_at %3$s, s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_keys, v_scope, p_limit, p_status;
end
$$;
comment on function strongroom.list_evaluation_runs(text, integer, text, text, text, text) is
    'A page of evaluation runs, forward newest first, by their start. Filter: status. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020. Callers:'
    ' hosts.';

create function strongroom_private.require_evaluation_run(
    p_field text,
    p_tenant_id text,
    p_run_id text
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_id(p_field, p_run_id);
    if not exists (
        select
        from strongroom.evaluation_runs as r
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id
    ) then
        perform strongroom_private.fail(
            'not_found',
            'the evaluation run does not exist',
            jsonb_build_object('path', p_field, 'record', 'evaluation run'),
            'It may have been purged.'
        );
    end if;
end
$$;
comment on function strongroom_private.require_evaluation_run(text, text, text) is
    'The evaluation run must be there. Errors: SR001, SR004, SR010.';

create function strongroom.list_evaluation_run_cases(
    p_tenant_id text,
    p_run_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    run_id text,
    case_id text,
    case_version integer,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'evaluation_run_cases', jsonb_build_array(p_run_id), p_direction
    );
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.require_evaluation_run('run_id', p_tenant_id, p_run_id);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.run_id,
                s.case_id,
                s.case_version,
                strongroom_private.encode_cursor($4, array[s.case_id]),
                s.total > $5
            from (
                select
                    c.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select c.*
                    from strongroom.evaluation_run_cases as c
                    where c.tenant_id = $1
                        and c.run_id = $2
                        and ($3 is null or c.case_id %1$s $3)
                    order by c.case_id %2$s
                    limit $5 + 1
                ) as c
            ) as s
            where s.place <= $5
            order by s.case_id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, p_run_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_evaluation_run_cases(
    text, text, integer, text, text, text
) is
    'A page of the case versions that an evaluation run is about, by case id. has_more: whether'
    ' rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020. Callers:'
    ' hosts.';


-- ---------------------------------------------------------------------------------------------
-- Results
-- ---------------------------------------------------------------------------------------------

create table strongroom.evaluation_results (
    tenant_id text collate "C" not null,
    run_id text collate "C" not null,
    case_id text collate "C" not null,
    case_version integer not null,
    repeat integer not null default 1,
    id text collate "C" not null,
    passed boolean,
    scores jsonb not null default '{}',
    output jsonb,
    error jsonb,
    metadata jsonb not null default '{}',
    source_conversation_id text collate "C",
    source_purged_at timestamptz,
    usage_event_id text collate "C",
    content_digest text collate "C" not null,
    recorded_at timestamptz not null default now(),
    constraint evaluation_results_pkey primary key (tenant_id, run_id, case_id, repeat),
    constraint a_result_id_is_used_once_in_a_tenant unique (tenant_id, id),
    constraint result_belongs_to_an_evaluation_run
        foreign key (tenant_id, run_id)
        references strongroom.evaluation_runs (tenant_id, id)
        on delete cascade,
    constraint result_belongs_to_a_case
        foreign key (tenant_id, case_id)
        references strongroom.evaluation_cases (tenant_id, id)
        on delete cascade,
    constraint a_source_is_a_conversation_that_there_is
        foreign key (tenant_id, source_conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete set null (source_conversation_id),
    constraint case_version_is_positive check (case_version > 0),
    constraint repeat_is_positive check (repeat > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint scores_is_an_object check (jsonb_typeof(scores) = 'object'),
    constraint output_has_at_most_1_mib check (octet_length(output::text) <= 1048576),
    constraint error_is_an_object check (jsonb_typeof(error) = 'object'),
    constraint a_result_with_an_error_has_not_passed check (error is null or not passed),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint usage_event_id_has_1_to_255_characters
        check (char_length(usage_event_id) between 1 and 255),
    constraint a_purged_source_says_nothing check (
        source_purged_at is null
        or (num_nulls(source_conversation_id, output, error) = 3 and metadata = '{}')
    )
);
comment on table strongroom.evaluation_results is
    'What an agent made of a case: verdict, scores and output, one per run, case and repeat.';
comment on column strongroom.evaluation_results.tenant_id is 'The tenant.';
comment on column strongroom.evaluation_results.run_id is 'The evaluation run.';
comment on column strongroom.evaluation_results.case_id is 'The case, one of the run''s.';
comment on column strongroom.evaluation_results.case_version is
    'The version of it that the run is about.';
comment on column strongroom.evaluation_results.repeat is 'Which try at the case: 1, 2, 3, ...';
comment on column strongroom.evaluation_results.id is 'The result''s id, unique in the tenant.';
comment on column strongroom.evaluation_results.passed is
    'The verdict; null where nobody has judged. A result with an error has not passed.';
comment on column strongroom.evaluation_results.scores is
    'Numbers by name: at most 100 of them.';
comment on column strongroom.evaluation_results.output is
    'What the agent answered: any JSON value, at most 1 MiB.';
comment on column strongroom.evaluation_results.error is
    'Why there is no answer, at most 64 KiB.';
comment on column strongroom.evaluation_results.metadata is
    'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.evaluation_results.source_conversation_id is
    'The conversation that it came from. Its purge takes output, error and metadata along.';
comment on column strongroom.evaluation_results.source_purged_at is 'When that has happened.';
comment on column strongroom.evaluation_results.usage_event_id is
    'The usage event that says what it cost: a soft reference.';
comment on column strongroom.evaluation_results.content_digest is
    'Hash of what was recorded, to know a repeat.';
comment on column strongroom.evaluation_results.recorded_at is 'When it was recorded.';

create index results_by_case
    on strongroom.evaluation_results (tenant_id, case_id);
comment on index strongroom.results_by_case is 'What leaves with a case.';
create index results_by_source
    on strongroom.evaluation_results (tenant_id, source_conversation_id);
comment on index strongroom.results_by_source is 'What the purge of a conversation empties.';

create function strongroom_private.keep_evaluation_results()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_level = 'ROW' and tg_op = 'UPDATE' then
        -- The foreign key clears the source when its conversation is purged: and nothing else can,
        -- for what is left of the row must be the same.
        if old.source_conversation_id is not null
            and to_jsonb(new) - 'source_conversation_id'
                = to_jsonb(old) - 'source_conversation_id'
            and new.source_conversation_id is null
            and not exists (
                select
                from strongroom.conversations as c
                where c.tenant_id = old.tenant_id
                    and c.id = old.source_conversation_id
            )
        then
            new.output := null;
            new.error := null;
            new.metadata := '{}';
            new.source_purged_at := now();
            return new;
        end if;
    elsif tg_level = 'ROW' and tg_op = 'DELETE' then
        -- A cascading delete comes when the run or the case is already gone.
        if not exists (
            select
            from strongroom.evaluation_runs as r
            inner join strongroom.evaluation_cases as c on c.tenant_id = r.tenant_id
            where r.tenant_id = old.tenant_id
                and r.id = old.run_id
                and c.id = old.case_id
        ) then
            return old;
        end if;
    end if;
    perform strongroom_private.fail(
        'permission_denied',
        format('%s.%s is insert-only: %s is refused', tg_table_schema, tg_table_name, tg_op),
        jsonb_build_object('table', format('%s.%s', tg_table_schema, tg_table_name)),
        'Record a further repeat. Rows leave with their run or case: purge_evaluation_run.'
    );
    return null;
end
$$;
comment on function strongroom_private.keep_evaluation_results() is
    'For triggers of evaluation_results: a result is never changed but by the purge of the'
    ' conversation that it came from, and leaves only with its run or case.';

create trigger evaluation_results_are_insert_only
    before update or delete on strongroom.evaluation_results
    for each row
    execute function strongroom_private.keep_evaluation_results();
comment on trigger evaluation_results_are_insert_only on strongroom.evaluation_results is
    'See keep_evaluation_results.';
create trigger evaluation_results_are_never_truncated
    before truncate on strongroom.evaluation_results
    for each statement
    execute function strongroom_private.keep_evaluation_results();
comment on trigger evaluation_results_are_never_truncated on strongroom.evaluation_results is
    'See keep_evaluation_results.';

alter table strongroom.evaluation_results enable row level security;
alter table strongroom.evaluation_results force row level security;
create policy host_reads on strongroom.evaluation_results
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_reads on strongroom.evaluation_results is 'Hosts.';
create policy host_inserts on strongroom.evaluation_results
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.evaluation_results is 'Hosts.';
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.evaluation_results',
    p_column => '',
    p_action => 'keep',
    p_reason => 'What was said goes with the conversation that it came from.'
);

create function strongroom_private.check_result(p_path text, p_result jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text;
    v_score jsonb;
begin
    perform strongroom_private.check_keys(
        p_path,
        p_result,
        '{id,case_id,repeat,passed,scores,output,error,metadata,source_conversation_id,'
        'usage_event_id}'
    );
    foreach v_name in array '{id,case_id,source_conversation_id,usage_event_id}'::text[] loop
        perform strongroom_private.check_text(p_path || '.' || v_name, p_result -> v_name);
        perform strongroom_private.check_optional_id(p_path || '.' || v_name, p_result ->> v_name);
    end loop;
    perform strongroom_private.check_id(p_path || '.case_id', p_result ->> 'case_id');
    if p_result ? 'repeat'
        and (
            not strongroom_private.is_whole_number(p_result -> 'repeat', 1)
            or (p_result -> 'repeat')::numeric > 2147483647
        )
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.repeat must be a whole number from 1', p_path),
            jsonb_build_object('path', p_path || '.repeat'),
            'Count the tries at a case from 1.'
        );
    end if;
    if coalesce(jsonb_typeof(p_result -> 'passed'), 'null') not in ('boolean', 'null') then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.passed must be true, false or null', p_path),
            jsonb_build_object('path', p_path || '.passed'),
            'Leave it out where nobody has judged.'
        );
    end if;
    perform strongroom_private.check_object(
        p_path || '.scores', coalesce(p_result -> 'scores', '{}'), 65536
    );
    if (select count(*) from jsonb_object_keys(coalesce(p_result -> 'scores', '{}'))) > 100 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s.scores has more than 100 entries', p_path),
            jsonb_build_object('path', p_path || '.scores', 'limit', 100),
            'Keep further numbers in the output.'
        );
    end if;
    for v_name, v_score in
        select
            s.key,
            s.value
        from jsonb_each(coalesce(p_result -> 'scores', '{}')) as s
    loop
        perform strongroom_private.check_id(p_path || '.scores (a key)', v_name);
        if jsonb_typeof(v_score) <> 'number' then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.scores.%s must be a number', p_path, v_name),
                jsonb_build_object('path', format('%s.scores.%s', p_path, v_name)),
                'A score is a number; a verdict is `passed`.'
            );
        end if;
    end loop;
    perform strongroom_private.check_payload(p_path || '.output', p_result -> 'output');
    if coalesce(p_result -> 'error', 'null') <> 'null' then
        perform strongroom_private.check_object(p_path || '.error', p_result -> 'error', 65536);
        if p_result -> 'passed' = 'true' then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.passed cannot be true beside an error', p_path),
                jsonb_build_object('path', p_path || '.passed'),
                'A result with an error has not passed.'
            );
        end if;
    end if;
    perform strongroom_private.check_object(
        p_path || '.metadata', coalesce(p_result -> 'metadata', '{}'), 16384
    );
end
$$;
comment on function strongroom_private.check_result(text, jsonb) is
    'One evaluation result, field by field. Errors: SR001, SR004.';

create function strongroom.record_evaluation_results(
    p_tenant_id text,
    p_run_id text,
    p_results jsonb
)
returns table (
    id text,
    outcome text,
    case_id text,
    repeat integer,
    recorded_at timestamptz,
    conflict text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_status text;
    v_place bigint;
    v_results jsonb;
    v_inserted text[];
    v_ids text[];
    v_case_ids text[];
    v_repeats integer[];
    v_sources text[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    if coalesce(jsonb_typeof(p_results), 'null') <> 'array' or p_results = '[]' then
        perform strongroom_private.fail(
            'invalid_argument', 'results must be a list of at least one result',
            '{"path": "results"}', 'Give 1 to 500 results.'
        );
    elsif jsonb_array_length(p_results) > 500 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('results has %s entries; at most 500 are allowed',
                jsonb_array_length(p_results)),
            jsonb_build_object(
                'path', 'results', 'limit', 500, 'actual', jsonb_array_length(p_results)
            ),
            'Record them in several calls.'
        );
    end if;
    for v_place in 0 .. jsonb_array_length(p_results) - 1 loop
        perform strongroom_private.check_result(
            format('results[%s]', v_place), p_results -> v_place::integer
        );
    end loop;
    -- For share: recorders of one run go on beside each other. A finish waits for all of them.
    select r.status
    into v_status
    from strongroom.evaluation_runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
    for share;
    if not found then
        perform strongroom_private.require_evaluation_run('run_id', p_tenant_id, p_run_id);
    end if;
    -- Every result with an id and the defaults, so that all that follows sees the same.
    v_results := (
        select jsonb_agg(
            jsonb_build_object(
                'id', coalesce(i.value ->> 'id', gen_random_uuid()::text),
                'case_id', i.value ->> 'case_id',
                'repeat', coalesce((i.value ->> 'repeat')::integer, 1),
                'passed', case
                    when coalesce(i.value -> 'error', 'null') <> 'null' then 'false'
                    else coalesce(i.value -> 'passed', 'null')
                end,
                'scores', coalesce(i.value -> 'scores', '{}'),
                'output', coalesce(i.value -> 'output', 'null'),
                'error', coalesce(i.value -> 'error', 'null'),
                'metadata', coalesce(i.value -> 'metadata', '{}'),
                'source', i.value -> 'source_conversation_id',
                'usage', i.value -> 'usage_event_id'
            )
            order by i.place
        )
        from jsonb_array_elements(p_results) with ordinality as i (value, place)
    );
    -- What they name, as arrays: what is read from JSON row by row is no condition of an index
    -- below row security.
    select
        array_agg(i.value ->> 'id' order by i.place),
        array_agg(i.value ->> 'case_id' order by i.place),
        array_agg((i.value ->> 'repeat')::integer order by i.place),
        array_agg(i.value ->> 'source' order by i.place)
    into
        v_ids,
        v_case_ids,
        v_repeats,
        v_sources
    from jsonb_array_elements(v_results) with ordinality as i (value, place);
    -- The race: a case is purged meanwhile, and its place in the run with it. Look after the lock.
    perform
    from strongroom.evaluation_cases as c
    where c.tenant_id = p_tenant_id
        and c.id = any (v_case_ids)
    order by c.id
    for key share;
    select min(i.place) - 1
    into v_place
    from unnest(v_case_ids) with ordinality as i (case_id, place)
    left join strongroom.evaluation_run_cases as c
        on c.tenant_id = p_tenant_id
        and c.run_id = p_run_id
        and c.case_id = i.case_id
    where c.case_id is null;
    if v_place is not null then
        perform strongroom_private.fail(
            'invalid_argument',
            format('results[%s].case_id is not a case of this evaluation run', v_place),
            jsonb_build_object('path', format('results[%s].case_id', v_place)),
            'list_evaluation_run_cases lists them.'
        );
    end if;
    -- Locked against their purge until the results are there.
    perform
    from strongroom.conversations as c
    where c.tenant_id = p_tenant_id
        and c.id = any (v_sources)
    order by c.id
    for key share;
    select min(i.place) - 1
    into v_place
    from unnest(v_ids, v_sources) with ordinality as i (id, source, place)
    left join strongroom.conversations as c
        on c.tenant_id = p_tenant_id
        and c.id = i.source
        and c.deleted_at is null
    left join strongroom.evaluation_results as r
        on r.tenant_id = p_tenant_id
        and r.id = i.id
    where i.source is not null
        and c.id is null
        -- A repeat of what was recorded while the conversation was there.
        and r.id is null;
    if v_place is not null then
        perform strongroom_private.fail(
            'not_found',
            format('results[%s]: the conversation does not exist', v_place),
            jsonb_build_object(
                'path', format('results[%s].source_conversation_id', v_place),
                'record', 'conversation'
            ),
            'It may have been deleted; leave the source out to keep the result alone.'
        );
    end if;

    with fresh as (
        insert into strongroom.evaluation_results (
            tenant_id, run_id, case_id, case_version, repeat, id, passed, scores, output, error,
            metadata, source_conversation_id, usage_event_id, content_digest
        )
        select
            p_tenant_id,
            p_run_id,
            c.case_id,
            c.case_version,
            (i.value ->> 'repeat')::integer,
            i.value ->> 'id',
            (i.value ->> 'passed')::boolean,
            i.value -> 'scores',
            nullif(i.value -> 'output', 'null'),
            nullif(i.value -> 'error', 'null'),
            i.value -> 'metadata',
            i.value ->> 'source',
            i.value ->> 'usage',
            strongroom_private.digest(i.value - '{id,case_id,repeat}'::text[])
        from unnest(v_case_ids) with ordinality as named (case_id, place)
        inner join strongroom.evaluation_run_cases as c
            on c.tenant_id = p_tenant_id
            and c.run_id = p_run_id
            and c.case_id = named.case_id
        cross join lateral (
            select
                v_results -> (named.place::integer - 1) as value,
                named.place
        ) as i
        -- After the run's end nothing is added; what follows still knows a repeat.
        where v_status = 'running'
        order by
            i.value ->> 'case_id',
            (i.value ->> 'repeat')::integer,
            i.place
        on conflict do nothing
        returning id
    )

    select coalesce(array_agg(f.id), '{}')
    into v_inserted
    from fresh as f;

    if v_status <> 'running' and exists (
        select
        from unnest(v_case_ids, v_repeats) as i (case_id, repeat)
        left join strongroom.evaluation_results as r
            on r.tenant_id = p_tenant_id
            and r.run_id = p_run_id
            and r.case_id = i.case_id
            and r.repeat = i.repeat
        where r.id is null
    ) then
        perform strongroom_private.fail(
            'invalid_transition',
            format('the evaluation run is %s and takes no more results', v_status),
            jsonb_build_object('path', 'run_id', 'record', 'evaluation run', 'status', v_status),
            'Start another evaluation run.'
        );
    end if;

    return query
    select
        coalesce(r.id, i.value ->> 'id'),
        case
            when r.content_digest is distinct from j.digest then 'conflict'
            when r.id = any(v_inserted) and r.id = i.value ->> 'id' and j.nth = 1
                then 'inserted'
            else 'duplicate'
        end,
        i.value ->> 'case_id',
        (i.value ->> 'repeat')::integer,
        r.recorded_at,
        case
            when r.id is null then 'other-place'
            when r.content_digest <> j.digest then 'other-content'
        end
    from unnest(v_case_ids, v_repeats) with ordinality as named (case_id, repeat, place)
    cross join lateral (
        select
            v_results -> (named.place::integer - 1) as value,
            named.place
    ) as i
    cross join lateral (
        select
            strongroom_private.digest(i.value - '{id,case_id,repeat}'::text[]) as digest,
            (
                select count(*)
                from jsonb_array_elements(v_results) with ordinality as o (value, place)
                where o.value ->> 'id' = i.value ->> 'id'
                    and o.place <= i.place
            ) as nth
    ) as j
    left join strongroom.evaluation_results as r
        on r.tenant_id = p_tenant_id
        and r.run_id = p_run_id
        and r.case_id = named.case_id
        and r.repeat = named.repeat
    order by i.place;
end
$$;
comment on function strongroom.record_evaluation_results(text, text, jsonb) is
    'Record 1 to 500 results of a running evaluation run, all or none. Outcome per result:'
    ' inserted, duplicate (the same content for that case and repeat is there: its id is returned),'
    ' or conflict (other-content for that case and repeat, or other-place: the id is that of'
    ' another case, repeat or run), which changes nothing. Errors: SR001, SR004, SR010, SR020,'
    ' SR030. Callers: hosts.';

create function strongroom.list_evaluation_results(
    p_tenant_id text,
    p_run_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_case_id text default null,
    p_passed boolean default null
)
returns table (
    tenant_id text,
    run_id text,
    case_id text,
    case_version integer,
    repeat integer,
    id text,
    passed boolean,
    scores jsonb,
    output jsonb,
    error jsonb,
    metadata jsonb,
    source_conversation_id text,
    source_purged_at timestamptz,
    usage_event_id text,
    recorded_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'evaluation_results', jsonb_build_array(p_run_id, p_case_id, p_passed), p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('case_id', p_case_id);
    perform strongroom_private.require_evaluation_run('run_id', p_tenant_id, p_run_id);
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.run_id,
                s.case_id,
                s.case_version,
                s.repeat,
                s.id,
                s.passed,
                s.scores,
                s.output,
                s.error,
                s.metadata,
                s.source_conversation_id,
                s.source_purged_at,
                s.usage_event_id,
                s.recorded_at,
                strongroom_private.encode_cursor($4, array[s.case_id, s.repeat::text]),
                s.total > $5
            from (
                select
                    r.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select r.*
                    from strongroom.evaluation_results as r
                    where r.tenant_id = $1
                        and r.run_id = $2
                        and ($6 is null or r.case_id = $6)
                        and ($7 is null or r.passed = $7)
                        and ($3 is null or (r.case_id, r.repeat) %1$s ($3[1], $3[2]::integer))
                    order by r.case_id %2$s, r.repeat %2$s
                    limit $5 + 1
                ) as r
            ) as s
            where s.place <= $5
            order by s.case_id %3$s, s.repeat %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, p_run_id, v_keys, v_scope, p_limit, p_case_id, p_passed;
end
$$;
comment on function strongroom.list_evaluation_results(
    text, text, integer, text, text, text, text, boolean
) is
    'A page of an evaluation run''s results, by case id and repeat. Filters: case, passed.'
    ' has_more: whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010,'
    ' SR020. Callers: hosts.';

create function strongroom.finish_evaluation_run(
    p_tenant_id text,
    p_run_id text,
    p_status text
)
returns setof strongroom.evaluation_run_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_status text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    perform strongroom_private.check_choice('status', p_status, '{completed,failed,cancelled}');
    select r.status
    into v_status
    from strongroom.evaluation_runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
    for no key update;
    if not found then
        perform strongroom_private.require_evaluation_run('run_id', p_tenant_id, p_run_id);
    elsif v_status = 'running' then
        update strongroom.evaluation_runs as r
        set status = p_status,
            finished_at = now(),
            result_count = t.result_count,
            passed_count = t.passed_count,
            failed_count = t.failed_count
        from (
            select
                count(*) as result_count,
                count(*) filter (where e.passed) as passed_count,
                count(*) filter (where not e.passed) as failed_count
            from strongroom.evaluation_results as e
            where e.tenant_id = p_tenant_id
                and e.run_id = p_run_id
        ) as t
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id;
    elsif v_status <> p_status then
        perform strongroom_private.fail(
            'invalid_transition',
            format('the evaluation run is %s already', v_status),
            jsonb_build_object('record', 'evaluation run', 'from', v_status, 'to', p_status),
            'completed, failed and cancelled are final.'
        );
    end if;
    return query
    select d.*
    from strongroom.evaluation_run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.finish_evaluation_run(text, text, text) is
    'End an evaluation run as completed, failed or cancelled, and count its results. A repeat'
    ' changes nothing. Errors: SR001, SR004, SR010, SR020, SR030. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Comparing two runs
-- ---------------------------------------------------------------------------------------------
-- Invariant: only verdicts decide what has improved, since a score may be better when it is lower.
-- A case's pass rate is the share of its judged repeats that have passed.

create function strongroom_private.compare_evaluation_cases(
    p_tenant_id text,
    p_base_run_id text,
    p_other_run_id text
)
returns table (
    case_id text,
    change text,
    base_version integer,
    other_version integer,
    base_results bigint,
    other_results bigint,
    base_pass_rate numeric,
    other_pass_rate numeric
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with sides as (
        select
            s.is_base,
            c.case_id,
            c.case_version,
            count(r.id) as results,
            avg(r.passed::integer) as pass_rate
        from (
            values (true, p_base_run_id), (false, p_other_run_id)
        ) as s (is_base, run_id)
        inner join strongroom.evaluation_run_cases as c
            on c.tenant_id = p_tenant_id
            and c.run_id = s.run_id
        left join strongroom.evaluation_results as r
            on r.tenant_id = c.tenant_id
            and r.run_id = c.run_id
            and r.case_id = c.case_id
        group by
            s.is_base,
            c.case_id,
            c.case_version
    )

    select
        coalesce(b.case_id, o.case_id),
        case
            when o.case_id is null then 'only_base'
            when b.case_id is null then 'only_other'
            when b.pass_rate is null or o.pass_rate is null then 'unjudged'
            when o.pass_rate > b.pass_rate then 'improved'
            when o.pass_rate < b.pass_rate then 'regressed'
            else 'same'
        end,
        b.case_version,
        o.case_version,
        coalesce(b.results, 0),
        coalesce(o.results, 0),
        b.pass_rate,
        o.pass_rate
    from (select s.* from sides as s where s.is_base) as b
    full join (select s.* from sides as s where not s.is_base) as o on o.case_id = b.case_id
$$;
comment on function strongroom_private.compare_evaluation_cases(text, text, text) is
    'How each case of two evaluation runs did in the one and in the other.';

create function strongroom_private.read_mean_scores(
    p_tenant_id text,
    p_run_id text,
    p_case_id text
)
returns jsonb
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_object_agg(m.name, m.mean), '{}')
    from (
        select
            s.key as name,
            avg(s.value::numeric) as mean
        from strongroom.evaluation_results as r
        cross join lateral jsonb_each(r.scores) as s
        where r.tenant_id = p_tenant_id
            and r.run_id = p_run_id
            and r.case_id = p_case_id
        group by s.key
    ) as m
$$;
comment on function strongroom_private.read_mean_scores(text, text, text) is
    'The mean of each score over the repeats of a case in an evaluation run.';

create function strongroom.compare_evaluation_runs(
    p_tenant_id text,
    p_base_run_id text,
    p_other_run_id text
)
returns table (
    tenant_id text,
    base_run_id text,
    other_run_id text,
    improved bigint,
    regressed bigint,
    same bigint,
    unjudged bigint,
    only_base bigint,
    only_other bigint,
    base_pass_rate numeric,
    other_pass_rate numeric,
    scores jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_evaluation_run('base_run_id', p_tenant_id, p_base_run_id);
    perform strongroom_private.require_evaluation_run('other_run_id', p_tenant_id, p_other_run_id);
    return query
    select
        p_tenant_id,
        p_base_run_id,
        p_other_run_id,
        count(*) filter (where c.change = 'improved'),
        count(*) filter (where c.change = 'regressed'),
        count(*) filter (where c.change = 'same'),
        count(*) filter (where c.change = 'unjudged'),
        count(*) filter (where c.change = 'only_base'),
        count(*) filter (where c.change = 'only_other'),
        (
            select avg(r.passed::integer)
            from strongroom.evaluation_results as r
            where r.tenant_id = p_tenant_id
                and r.run_id = p_base_run_id
        ),
        (
            select avg(r.passed::integer)
            from strongroom.evaluation_results as r
            where r.tenant_id = p_tenant_id
                and r.run_id = p_other_run_id
        ),
        (
            select coalesce(
                jsonb_agg(
                    jsonb_build_object(
                        'name', m.name,
                        'base_mean', m.base_mean,
                        'other_mean', m.other_mean,
                        'delta', case
                            -- More than double precision holds, and so more than most JSON readers.
                            when abs(m.other_mean - m.base_mean) <= 1.7976931348623157e308
                                then m.other_mean - m.base_mean
                        end,
                        'base_count', m.base_count,
                        'other_count', m.other_count
                    )
                    order by m.name collate "C"
                ),
                '[]'
            )
            from (
                select
                    s.key as name,
                    avg(s.value::numeric) filter (where r.run_id = p_base_run_id) as base_mean,
                    avg(s.value::numeric) filter (where r.run_id = p_other_run_id) as other_mean,
                    count(*) filter (where r.run_id = p_base_run_id) as base_count,
                    count(*) filter (where r.run_id = p_other_run_id) as other_count
                from strongroom.evaluation_results as r
                cross join lateral jsonb_each(r.scores) as s
                where r.tenant_id = p_tenant_id
                    and r.run_id in (p_base_run_id, p_other_run_id)
                group by s.key
            ) as m
        )
    from strongroom_private.compare_evaluation_cases(
        p_tenant_id, p_base_run_id, p_other_run_id
    ) as c;
end
$$;
comment on function strongroom.compare_evaluation_runs(text, text, text) is
    'Two evaluation runs in figures: how many cases have improved, regressed, stayed the same, were'
    ' not judged in both, or are in one only; the pass rates over all results; and each score''s'
    ' means and their difference. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.list_evaluation_comparison(
    p_tenant_id text,
    p_base_run_id text,
    p_other_run_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_change text default null
)
returns table (
    case_id text,
    change text,
    base_version integer,
    other_version integer,
    base_results bigint,
    other_results bigint,
    base_pass_rate numeric,
    other_pass_rate numeric,
    base_scores jsonb,
    other_scores jsonb,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'evaluation_comparison',
        jsonb_build_array(p_base_run_id, p_other_run_id, p_change),
        p_direction
    );
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    if p_change is not null then
        perform strongroom_private.check_choice(
            'change', p_change, '{improved,regressed,same,unjudged,only_base,only_other}'
        );
    end if;
    perform strongroom_private.require_evaluation_run('base_run_id', p_tenant_id, p_base_run_id);
    perform strongroom_private.require_evaluation_run('other_run_id', p_tenant_id, p_other_run_id);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    return query execute format(
        $query$
            select
                s.case_id,
                s.change,
                s.base_version,
                s.other_version,
                s.base_results,
                s.other_results,
                s.base_pass_rate,
                s.other_pass_rate,
                strongroom_private.read_mean_scores($1, $2, s.case_id),
                strongroom_private.read_mean_scores($1, $3, s.case_id),
                strongroom_private.encode_cursor($5, array[s.case_id]),
                s.total > $6
            from (
                select
                    c.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select c.*
                    from strongroom_private.compare_evaluation_cases($1, $2, $3) as c
                    where ($7 is null or c.change = $7)
                        and ($4 is null or c.case_id collate "C" %1$s $4 collate "C")
                    order by c.case_id collate "C" %2$s
                    limit $6 + 1
                ) as c
            ) as s
            where s.place <= $6
            order by s.case_id collate "C" %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, p_base_run_id, p_other_run_id, v_key, v_scope, p_limit, p_change;
end
$$;
comment on function strongroom.list_evaluation_comparison(
    text, text, text, integer, text, text, text, text
) is
    'A page of the cases of two evaluation runs, by case id: what has become of each, its version,'
    ' pass rate and mean scores in the one and in the other. Filter: change. has_more: whether rows'
    ' follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Purging
-- ---------------------------------------------------------------------------------------------

create function strongroom.purge_evaluation_case(p_tenant_id text, p_case_id text)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('case_id', p_case_id);
    -- Locked first, so that no run takes it up between the count and the deletion.
    perform
    from strongroom.evaluation_cases as c
    where c.tenant_id = p_tenant_id
        and c.id = p_case_id
    for update;
    return query
    select
        'evaluation_cases',
        count(*)
    from strongroom.evaluation_cases as c
    where c.tenant_id = p_tenant_id
        and c.id = p_case_id
    union all
    select
        'evaluation_case_versions',
        count(*)
    from strongroom.evaluation_case_versions as v
    where v.tenant_id = p_tenant_id
        and v.case_id = p_case_id
    union all
    select
        'evaluation_run_cases',
        count(*)
    from strongroom.evaluation_run_cases as c
    where c.tenant_id = p_tenant_id
        and c.case_id = p_case_id
    union all
    select
        'evaluation_results',
        count(*)
    from strongroom.evaluation_results as r
    where r.tenant_id = p_tenant_id
        and r.case_id = p_case_id;
    delete from strongroom.evaluation_cases as c
    where c.tenant_id = p_tenant_id
        and c.id = p_case_id;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'evaluation_case.purge', 'evaluation_case', p_case_id
        );
    end if;
end
$$;
comment on function strongroom.purge_evaluation_case(text, text) is
    'Delete a case with its versions and its results in every run, for good, in one transaction;'
    ' returns how many rows each table lost. A repeat, and an id that does not exist, delete'
    ' nothing. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom.purge_evaluation_run(p_tenant_id text, p_run_id text)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    -- Locked first, so that nothing is recorded between the count and the deletion.
    perform
    from strongroom.evaluation_runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
    for update;
    return query
    select
        'evaluation_runs',
        count(*)
    from strongroom.evaluation_runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
    union all
    select
        'evaluation_run_cases',
        count(*)
    from strongroom.evaluation_run_cases as c
    where c.tenant_id = p_tenant_id
        and c.run_id = p_run_id
    union all
    select
        'evaluation_results',
        count(*)
    from strongroom.evaluation_results as r
    where r.tenant_id = p_tenant_id
        and r.run_id = p_run_id;
    delete from strongroom.evaluation_runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'evaluation_run.purge', 'evaluation_run', p_run_id
        );
    end if;
end
$$;
comment on function strongroom.purge_evaluation_run(text, text) is
    'Delete an evaluation run and its results for good, in one transaction; returns how many rows'
    ' each table lost. A repeat, and an id that does not exist, delete nothing. Errors: SR001,'
    ' SR004, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

-- Versions, sets and results have no update and no delete; they leave with what they belong to.
select strongroom_private.publish_grant(
    'table', '{strongroom.evaluation_cases,strongroom.evaluation_runs}',
    '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table',
    '{
        strongroom.evaluation_case_versions,
        strongroom.evaluation_run_cases,
        strongroom.evaluation_results
    }',
    '{select,insert}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.evaluation_run_details}', '{select}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.check_payload,
        strongroom_private.check_case_references,
        strongroom_private.check_result,
        strongroom_private.write_case_version,
        strongroom_private.require_evaluation_run,
        strongroom_private.compare_evaluation_cases,
        strongroom_private.read_mean_scores,
        strongroom.find_evaluation_case,
        strongroom.create_evaluation_case,
        strongroom.update_evaluation_case,
        strongroom.set_evaluation_case_archived,
        strongroom.list_evaluation_cases,
        strongroom.find_evaluation_run,
        strongroom.start_evaluation_run,
        strongroom.list_evaluation_runs,
        strongroom.list_evaluation_run_cases,
        strongroom.record_evaluation_results,
        strongroom.list_evaluation_results,
        strongroom.finish_evaluation_run,
        strongroom.compare_evaluation_runs,
        strongroom.list_evaluation_comparison,
        strongroom.purge_evaluation_case,
        strongroom.purge_evaluation_run
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(8, 'evaluation');
