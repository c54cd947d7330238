-- GENERATED from strongroom's migration 0016_frameworks: do not edit this copy.

-- strongroom 0016: frameworks
--
-- Purpose     What agent frameworks keep, in their own form: ordered items of a session, keyed
--             values in namespaces, and the checkpoints of a graph. One mechanism for all: a
--             session has a path, and records in named collections. strongroom.integrations is on
--             top of it.
-- Sessions    One per tenant, framework and path (a list of labels, such as app, user, session). It
--             has a versioned state, and a principal whose it is.
-- Records     JSON, bytes or both, known by collection and key. Appended ones have a position:
--             their order, given under the lock of the session, and never used again. Put ones have
--             none, and may have a time to live and embeddings.
-- Checkpoints of a graph are four collections: checkpoints (by id, which grows), channels (values
--             by version, shared by the checkpoints that name them), parts (of large values, by
--             what they hold, shared by the versions that name them) and writes (by checkpoint).
-- Removing    Frameworks may take items back, clear and delete: what is gone is gone, and the audit
--             has where, how many and which positions.
-- Locks       An append, a removal and a state locks the session's row; a put locks it FOR KEY
--             SHARE, so puts of one session do not wait for each other. Several sessions: in the
--             order of their paths; several records of a put: by path, collection and key.
-- Reading     Hosts alone: what a framework keeps is not meant for clients.
-- Retention   By policy, sessions in which nothing was written for a time go, with their records. A
--             session that has records is one with those below it: it goes after them, and while
--             it is in use they stay. What is in the collections values and versions was put to
--             last: its session stays. A put tells its session of it once an hour at most, so that
--             puts need not write there; the sweep looks at the records themselves, too.

select strongroom_private.begin_migration(16, 'frameworks');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '16';
select strongroom_private.require_transaction(16);


-- ---------------------------------------------------------------------------------------------
-- Sessions and records
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.path_digest(p_path text[])
returns bytea
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    return sha256(convert_to(array_to_json(p_path)::text, 'UTF8'));
end
$$;
comment on function strongroom_private.path_digest(text[]) is
    'What a path is looked up by: below row security no index finds an array, which is compared by'
    ' what might leak.';

create function strongroom_private.path_text(p_path text[])
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    return array_to_string(p_path, chr(1));
end
$$;
comment on function strongroom_private.path_text(text[]) is
    'What paths that begin alike are looked up by: one that begins with another does so as text,'
    ' too. The reverse does not hold, so the paths are compared besides.';

create function strongroom_private.path_text_end(p_path text[])
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    return case
        -- Longer than a path can be, of the last character.
        when cardinality(p_path) = 0 then repeat(chr(1114111), 300)
        else strongroom_private.path_text(p_path) || chr(2)
    end;
end
$$;
comment on function strongroom_private.path_text_end(text[]) is
    'A text beyond those of all paths that begin with this one.';

create table strongroom.framework_sessions (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    framework text collate "C" not null,
    path text[] collate "C" not null,
    principal_id text collate "C",
    state jsonb not null default '{}',
    version bigint not null default 1,
    last_position bigint not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    path_digest bytea
    generated always as (strongroom_private.path_digest(path)) stored,
    path_text text collate "C"
    generated always as (strongroom_private.path_text(path)) stored,
    constraint framework_sessions_pkey primary key (tenant_id, id),
    constraint framework_session_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint framework_is_a_short_word check (framework ~ '^[a-z][a-z0-9_]{0,62}$'),
    constraint path_has_1_to_20_labels
        check (array_position(path, null) is null and cardinality(path) between 1 and 20),
    constraint path_has_at_most_1000_bytes check (octet_length(array_to_string(path, '')) <= 1000),
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255),
    constraint state_is_an_object check (jsonb_typeof(state) = 'object'),
    constraint version_is_positive_and_safe_in_javascript
        check (version between 1 and 9007199254740991),
    constraint last_position_is_safe_in_javascript
        check (last_position between 0 and 9007199254740991)
);
comment on table strongroom.framework_sessions is
    'Where an agent framework keeps things: a session, a thread or a namespace.';
comment on column strongroom.framework_sessions.tenant_id is 'The tenant.';
comment on column strongroom.framework_sessions.id is 'Made by the database; frameworks use paths.';
comment on column strongroom.framework_sessions.framework is
    'Whose it is: openai_agents, langgraph, ...';
comment on column strongroom.framework_sessions.path is
    'Its name within the framework: labels, from the widest to the narrowest.';
comment on column strongroom.framework_sessions.principal_id is
    'The person whose it is, and what is made below it: erasing them deletes it. Null when it is'
    ' nobody''s.';
comment on column strongroom.framework_sessions.state is 'What the framework keeps about it.';
comment on column strongroom.framework_sessions.version is 'Grows with every write of the state.';
comment on column strongroom.framework_sessions.last_position is
    'The newest position that was given to a record.';
comment on column strongroom.framework_sessions.created_at is 'When it was made.';
comment on column strongroom.framework_sessions.updated_at is
    'When its state or its order of records last changed, or something was put: of that it may be'
    ' an hour behind.';

comment on column strongroom.framework_sessions.path_digest is
    'SHA-256 of the path, which it is looked up by.';
comment on column strongroom.framework_sessions.path_text is
    'The path as text, by which those are looked up that begin with another.';

create index framework_sessions_by_path
    on strongroom.framework_sessions (tenant_id, framework, path);
comment on index strongroom.framework_sessions_by_path is 'Sessions in the order of their paths.';
-- After that one: before a table is analyzed both seem as good, and the planner takes the last.
create unique index a_path_is_used_once_by_a_framework
    on strongroom.framework_sessions (tenant_id, framework, path_digest);
comment on index strongroom.a_path_is_used_once_by_a_framework is 'One session for each path.';
create index framework_sessions_by_path_text
    on strongroom.framework_sessions (tenant_id, framework, path_text);
comment on index strongroom.framework_sessions_by_path_text is
    'Sessions whose paths begin alike.';
create index framework_sessions_by_principal
    on strongroom.framework_sessions (tenant_id, principal_id, framework, path)
    where principal_id is not null;
comment on index strongroom.framework_sessions_by_principal is 'What is a person''s.';

create table strongroom.framework_records (
    tenant_id text collate "C" not null,
    session_id text collate "C" not null,
    collection text collate "C" not null,
    key text collate "C" not null,
    "position" bigint,
    content jsonb,
    data bytea,
    metadata jsonb not null default '{}',
    embeddings real[],
    ttl_seconds double precision,
    expires_at timestamptz,
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    run_digest text collate "C" generated always as (md5(metadata ->> 'run_id')) stored,
    constraint framework_records_pkey primary key (tenant_id, session_id, collection, key),
    constraint record_belongs_to_a_framework_session
        foreign key (tenant_id, session_id)
        references strongroom.framework_sessions (tenant_id, id)
        on delete cascade,
    constraint collection_is_a_short_word check (collection ~ '^[a-z][a-z0-9_]{0,62}$'),
    constraint key_has_1_to_255_characters check (char_length(key) between 1 and 255),
    constraint position_is_positive_and_safe_in_javascript
        check (position between 1 and 9007199254740991),
    constraint a_record_has_content_or_data check (num_nonnulls(content, data) > 0),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint embeddings_are_a_list_of_lists check (array_ndims(embeddings) = 2),
    constraint what_expires_has_a_time_to_live
        check ((expires_at is null) = (ttl_seconds is null)),
    constraint version_is_positive_and_safe_in_javascript
        check (version between 1 and 9007199254740991)
);
comment on table strongroom.framework_records is 'What is kept in a framework''s session.';
comment on column strongroom.framework_records.tenant_id is 'The tenant.';
comment on column strongroom.framework_records.session_id is 'The session that it is in.';
comment on column strongroom.framework_records.collection is
    'What kind of thing it is: items, values, checkpoints, channels, writes.';
comment on column strongroom.framework_records.key is 'What it is known by in its collection.';
comment on column strongroom.framework_records.position is
    'Its place in the order of the session; null when it was put, not appended.';
comment on column strongroom.framework_records.content is 'JSON, in the framework''s own form.';
comment on column strongroom.framework_records.data is 'Bytes, as the framework wrote them.';
comment on column strongroom.framework_records.metadata is 'What searches filter by.';
comment on column strongroom.framework_records.embeddings is
    'One list of numbers for each text of it that is searched.';
comment on column strongroom.framework_records.ttl_seconds is
    'How long it lasts after it was written, or read with a wish to refresh it.';
comment on column strongroom.framework_records.expires_at is 'From when on nobody sees it.';
comment on column strongroom.framework_records.version is 'Grows when it is replaced.';
comment on column strongroom.framework_records.created_at is 'When it was made.';
comment on column strongroom.framework_records.updated_at is 'When it was last written.';
comment on column strongroom.framework_records.run_digest is
    'MD5 of the run_id in the metadata, which checkpoints are looked up by.';

create unique index a_position_is_used_once
    on strongroom.framework_records (tenant_id, session_id, collection, position)
    where position is not null;
comment on index strongroom.a_position_is_used_once is
    'Their order; a position is used once. What was put has none, and is not in it.';
create index framework_records_by_expiry
    on strongroom.framework_records (tenant_id, expires_at)
    where expires_at is not null;
comment on index strongroom.framework_records_by_expiry is 'What has expired, to delete it.';
create index framework_checkpoints_by_run
    on strongroom.framework_records (tenant_id, run_digest)
    where collection = 'checkpoints' and run_digest is not null;
comment on index strongroom.framework_checkpoints_by_run is
    'The checkpoints of a run. A digest, since the id of a run may be of any length.';

alter table strongroom.framework_sessions enable row level security;
alter table strongroom.framework_sessions force row level security;
alter table strongroom.framework_records enable row level security;
alter table strongroom.framework_records force row level security;
create policy host_reads on strongroom.framework_sessions
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_reads on strongroom.framework_sessions is 'Hosts.';
create policy host_inserts on strongroom.framework_sessions
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.framework_sessions is 'Hosts.';
create policy host_updates on strongroom.framework_sessions
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.framework_sessions is 'Hosts.';
create policy host_deletes on strongroom.framework_sessions
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.framework_sessions is 'Hosts.';
create policy host_reads on strongroom.framework_records
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy host_reads on strongroom.framework_records is 'Hosts; and the dispatcher.';
create policy host_inserts on strongroom.framework_records
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.framework_records is 'Hosts.';
create policy host_updates on strongroom.framework_records
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.framework_records is 'Hosts.';
create policy host_deletes on strongroom.framework_records
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.framework_records is 'Hosts.';
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.framework_sessions',
    p_column => 'principal_id',
    p_action => 'delete',
    p_reason => 'A session of theirs, with all that a framework keeps in it.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.framework_records',
    p_column => '',
    p_action => 'keep',
    p_reason => 'Records go with the session that they are in.'
);

create view strongroom.framework_record_details
with (security_invoker = true)
as
select
    r.tenant_id,
    s.framework,
    s.path,
    r.collection,
    r.key,
    r.position,
    r.content,
    encode(r.data, 'base64') as data_base64,
    r.metadata,
    r.expires_at,
    r.version,
    r.created_at,
    r.updated_at
from strongroom.framework_records as r
inner join strongroom.framework_sessions as s
    on s.tenant_id = r.tenant_id
    and s.id = r.session_id
where r.expires_at is null
    or r.expires_at > now();
comment on view strongroom.framework_record_details is
    'Records that have not expired, with where they are.';
comment on column strongroom.framework_record_details.tenant_id is 'The tenant.';
comment on column strongroom.framework_record_details.framework is 'Whose it is.';
comment on column strongroom.framework_record_details.path is 'The path of its session.';
comment on column strongroom.framework_record_details.collection is 'What kind of thing it is.';
comment on column strongroom.framework_record_details.key is 'What it is known by.';
comment on column strongroom.framework_record_details.position is 'Its place, or null.';
comment on column strongroom.framework_record_details.content is 'Its JSON.';
comment on column strongroom.framework_record_details.data_base64 is 'Its bytes, as base64.';
comment on column strongroom.framework_record_details.metadata is 'What searches filter by.';
comment on column strongroom.framework_record_details.expires_at is 'From when on nobody sees it.';
comment on column strongroom.framework_record_details.version is 'Grows when it is replaced.';
comment on column strongroom.framework_record_details.created_at is 'When it was made.';
comment on column strongroom.framework_record_details.updated_at is 'When it was last written.';


-- ---------------------------------------------------------------------------------------------
-- Checks
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.check_word(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(p_value, '') !~ '^[a-z][a-z0-9_]{0,62}$' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a word of 1 to 63 letters, digits and underscores', p_field),
            jsonb_build_object('path', p_field),
            'Use small letters, such as items.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_word(text, text) is
    'A short name that is chosen by programs. Errors: SR001.';

create function strongroom_private.check_framework_path(
    p_field text,
    p_path text[],
    p_least integer default 1
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_ids(p_field, p_path);
    if cardinality(p_path) < p_least then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must have at least %s label', p_field, p_least),
            jsonb_build_object('path', p_field),
            'Give the labels from the widest to the narrowest.'
        );
    elsif cardinality(p_path) > 20 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s labels; at most 20 are allowed', p_field, cardinality(p_path)),
            jsonb_build_object('path', p_field, 'limit', 20, 'actual', cardinality(p_path)),
            'Use fewer labels.'
        );
    elsif octet_length(array_to_string(p_path, '')) > 1000 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s bytes; at most 1000 are allowed',
                p_field, octet_length(array_to_string(p_path, ''))),
            jsonb_build_object(
                'path', p_field,
                'limit', 1000,
                'actual', octet_length(array_to_string(p_path, ''))
            ),
            'Use shorter labels.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_framework_path(text, text[], integer) is
    'The name of a session, or the beginning of one. Errors: SR001, SR004.';

create function strongroom_private.read_framework_path(p_field text, p_value jsonb)
returns text[]
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_path text[];
begin
    if jsonb_typeof(p_value) is distinct from 'array'
        or exists (
            select
            from jsonb_array_elements(p_value) as e
            where jsonb_typeof(e) <> 'string'
        )
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a list of texts', p_field),
            jsonb_build_object('path', p_field),
            'Give the labels from the widest to the narrowest.'
        );
    end if;
    v_path := array(
        select e.value
        from jsonb_array_elements_text(p_value) with ordinality as e (value, place)
        order by e.place
    );
    perform strongroom_private.check_framework_path(p_field, v_path);
    return v_path;
end
$$;
comment on function strongroom_private.read_framework_path(text, jsonb) is
    'A path that came as JSON. Errors: SR001, SR004.';

create function strongroom_private.check_framework_record(
    p_field text,
    p_record jsonb,
    p_data_bytes bigint
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bytes bigint;
    v_vector jsonb;
begin
    perform strongroom_private.check_keys(
        p_field,
        p_record,
        '{path,collection,key,content,data,metadata,embeddings,ttl_seconds,mode,expected_version}'
    );
    perform strongroom_private.check_text(p_field || '.key', p_record -> 'key');
    perform strongroom_private.check_id(p_field || '.key', p_record ->> 'key');
    if p_record ->> 'mode' = 'delete' then
        return;
    end if;
    if jsonb_typeof(p_record -> 'metadata') <> 'null' then
        perform strongroom_private.check_object(
            p_field || '.metadata', p_record -> 'metadata', 65536
        );
    end if;
    if jsonb_typeof(p_record -> 'data') <> 'null' and p_data_bytes is null then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.data is no place in data', p_field),
            jsonb_build_object('path', p_field || '.data'),
            'Give the bytes in data, and here their place there, from 0.'
        );
    end if;
    v_bytes := coalesce(p_data_bytes, 0)
        + coalesce(octet_length((nullif(p_record -> 'content', 'null'))::text), 0);
    if v_bytes = 0 and p_data_bytes is null then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.content or %s.data is required', p_field, p_field),
            jsonb_build_object('path', p_field || '.content'),
            'Give JSON, bytes, or both.'
        );
    elsif v_bytes > 16777216 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s bytes; at most 16777216 are allowed', p_field, v_bytes),
            jsonb_build_object(
                'path', p_field || '.content', 'limit', 16777216, 'actual', v_bytes
            ),
            'Keep large data in a file or artifact, and its id here.'
        );
    end if;
    if jsonb_typeof(p_record -> 'ttl_seconds') <> 'null'
        and (
            jsonb_typeof(p_record -> 'ttl_seconds') <> 'number'
            or (p_record ->> 'ttl_seconds')::numeric not between 0.001 and 3153600000
        )
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.ttl_seconds must be between 0.001 and 3153600000', p_field),
            jsonb_build_object('path', p_field || '.ttl_seconds'),
            'Leave it out for what does not expire.'
        );
    end if;
    if jsonb_typeof(p_record -> 'embeddings') <> 'null' then
        if jsonb_typeof(p_record -> 'embeddings') <> 'array'
            or jsonb_array_length(p_record -> 'embeddings') not between 1 and 100
        then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.embeddings must be a list of 1 to 100 embeddings', p_field),
                jsonb_build_object('path', p_field || '.embeddings'),
                'Give one embedding for each text.'
            );
        end if;
        for v_vector in select e.* from jsonb_array_elements(p_record -> 'embeddings') as e loop
            perform strongroom_private.check_embedding(p_field || '.embeddings', v_vector);
            if jsonb_typeof(v_vector) <> 'array'
                or jsonb_array_length(v_vector)
                <> jsonb_array_length(p_record -> 'embeddings' -> 0)
            then
                perform strongroom_private.fail(
                    'invalid_argument',
                    format('%s.embeddings must all have as many numbers', p_field),
                    jsonb_build_object('path', p_field || '.embeddings'),
                    'Make all of them with one model.'
                );
            end if;
        end loop;
    end if;
end
$$;
comment on function strongroom_private.check_framework_record(text, jsonb, bigint) is
    'One record of a batch, and how many bytes its data has: null when there are none at its place.'
    ' Errors: SR001, SR004.';

create function strongroom_private.check_framework_records(p_records jsonb, p_data bytea[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_record jsonb;
    v_bytes bigint;
begin
    if jsonb_typeof(p_records) is distinct from 'array' or jsonb_array_length(p_records) = 0 then
        perform strongroom_private.fail(
            'invalid_argument',
            'records must be a list of at least one record',
            '{"path": "records"}',
            'Give 1 to 500 records.'
        );
    elsif jsonb_array_length(p_records) > 500 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('records has %s entries; at most 500 are allowed',
                jsonb_array_length(p_records)),
            jsonb_build_object(
                'path', 'records', 'limit', 500, 'actual', jsonb_array_length(p_records)
            ),
            'Write them in several calls.'
        );
    end if;
    for v_place in 0 .. jsonb_array_length(p_records) - 1 loop
        v_record := p_records -> v_place;
        v_bytes := case
            when jsonb_typeof(v_record -> 'data') = 'number'
                and v_record ->> 'data' ~ '^[0-9]{1,3}$'
            then octet_length(p_data[(v_record ->> 'data')::integer + 1])
        end;
        -- What is plainly right is seen at once; anything else is looked at closely.
        if (
            jsonb_typeof(v_record) = 'object'
            and v_record
            - '{path,collection,key,content,data,metadata,mode,expected_version}'::text[] = '{}'
            and jsonb_typeof(v_record -> 'key') = 'string'
            and octet_length(v_record ->> 'key') between 1 and 255
            and jsonb_typeof(v_record -> 'metadata') = 'object'
            and octet_length((v_record -> 'metadata')::text) <= 65536
            and (v_bytes is not null or not v_record ? 'data')
            and (v_bytes is not null or jsonb_typeof(v_record -> 'content') <> 'null')
            and coalesce(v_bytes, 0)
            + coalesce(octet_length((v_record -> 'content')::text), 0) <= 16777216
        ) is not true then
            perform strongroom_private.check_framework_record(
                format('records[%s]', v_place), v_record, v_bytes
            );
        end if;
    end loop;
end
$$;
comment on function strongroom_private.check_framework_records(jsonb, bytea[]) is
    'The records of a write, and the bytes that they name. Errors: SR001, SR004.';

create function strongroom_private.check_framework_principal(
    p_principal_id text,
    p_owner_id text
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_principal_id is not null and p_principal_id is distinct from p_owner_id then
        perform strongroom_private.fail(
            'already_exists',
            'this session is not that principal''s',
            '{"path": "principal_id", "record": "framework session"}',
            'Use the principal that it was made for, or another path.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_framework_principal(text, text) is
    'Refuse a call for another principal than the one whose session it is. A call that names none'
    ' is for any. Errors: SR011.';

create function strongroom_private.find_framework_owner(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_principal_id text
)
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_digest bytea;
    v_above text;
begin
    for v_depth in reverse cardinality(p_path) - 1 .. 1 loop
        v_digest := strongroom_private.path_digest(p_path[:v_depth]);
        select s.principal_id
        into v_above
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.framework = p_framework
            and s.path_digest = v_digest;
        if p_principal_id is null and v_above is not null then
            return v_above;
        end if;
        if v_above is not null then
            perform strongroom_private.check_framework_principal(p_principal_id, v_above);
        end if;
    end loop;
    return p_principal_id;
end
$$;
comment on function strongroom_private.find_framework_owner(text, text, text[], text) is
    'Whose a session that is new is: below a person''s it is theirs, and another person''s is'
    ' refused there. Else erasing them would leave it, or it would be in their way. Errors: SR011.';

create function strongroom_private.hold_framework_session(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_principal_id text
)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_digest bytea := strongroom_private.path_digest(p_path);
    v_id text;
    v_principal_id text;
    v_updated_at timestamptz;
begin
    loop
        -- A removal of the session waits for this transaction, or has happened.
        select
            s.id,
            s.principal_id,
            s.updated_at
        into
            v_id,
            v_principal_id,
            v_updated_at
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.framework = p_framework
            and s.path_digest = v_digest
        for key share;
        exit when found;
        insert into strongroom.framework_sessions (tenant_id, id, framework, path, principal_id)
        values (
            p_tenant_id,
            gen_random_uuid()::text,
            p_framework,
            p_path,
            strongroom_private.find_framework_owner(
                p_tenant_id, p_framework, p_path, p_principal_id
            )
        )
        on conflict (tenant_id, framework, path_digest) do nothing;
    end loop;
    perform strongroom_private.check_framework_principal(p_principal_id, v_principal_id);
    if v_updated_at < now() - interval '1 hour' then
        -- Whoever else is at it need not be waited for: then it is touched by them, or next time.
        update strongroom.framework_sessions as s
        set updated_at = now()
        where s.tenant_id = p_tenant_id
            and s.id = (
                select h.id
                from strongroom.framework_sessions as h
                where h.tenant_id = p_tenant_id
                    and h.id = v_id
                for no key update skip locked
            );
    end if;
    return v_id;
end
$$;
comment on function strongroom_private.hold_framework_session(text, text, text[], text) is
    'The session with this path, made where it is missing, which stays to the end of the'
    ' transaction. Errors: SR011.';


-- ---------------------------------------------------------------------------------------------
-- Sessions
-- ---------------------------------------------------------------------------------------------

create function strongroom.find_framework_session(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_principal_id text default null
)
returns table (
    tenant_id text,
    id text,
    framework text,
    path text[],
    principal_id text,
    state jsonb,
    version bigint,
    last_position bigint,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_digest bytea := strongroom_private.path_digest(p_path);
    v_session strongroom.framework_sessions;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    select s.*
    into v_session
    from strongroom.framework_sessions as s
    where s.tenant_id = p_tenant_id
        and s.framework = p_framework
        and s.path_digest = v_digest;
    if not found then
        return;
    end if;
    perform strongroom_private.check_framework_principal(p_principal_id, v_session.principal_id);
    return query
    select
        v_session.tenant_id,
        v_session.id,
        v_session.framework,
        v_session.path,
        v_session.principal_id,
        v_session.state,
        v_session.version,
        v_session.last_position,
        v_session.created_at,
        v_session.updated_at;
end
$$;
comment on function strongroom.find_framework_session(text, text, text[], text) is
    'One session, or no row; another principal''s than p_principal_id is refused.'
    ' Errors: SR001, SR004, SR011, SR020. Callers: hosts.';

create function strongroom.put_framework_session(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_state jsonb,
    p_expected_version bigint,
    p_principal_id text default null
)
returns table (
    tenant_id text,
    id text,
    framework text,
    path text[],
    principal_id text,
    state jsonb,
    version bigint,
    last_position bigint,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_digest bytea := strongroom_private.path_digest(p_path);
    v_session strongroom.framework_sessions;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path);
    perform strongroom_private.check_object('state', p_state, 1048576);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    if coalesce(p_expected_version, -1) < 0 then
        perform strongroom_private.fail(
            'invalid_argument', 'expected_version is required', '{"path": "expected_version"}',
            'Give the version that you read, 0 for a session that is new.'
        );
    end if;
    if p_expected_version = 0 then
        insert into strongroom.framework_sessions (
            tenant_id, id, framework, path, principal_id, state
        )
        values (
            p_tenant_id,
            gen_random_uuid()::text,
            p_framework,
            p_path,
            strongroom_private.find_framework_owner(
                p_tenant_id, p_framework, p_path, p_principal_id
            ),
            p_state
        )
        on conflict (tenant_id, framework, path_digest) do nothing
        returning *
        into v_session;
        if found then
            return query
            select
                v_session.tenant_id,
                v_session.id,
                v_session.framework,
                v_session.path,
                v_session.principal_id,
                v_session.state,
                v_session.version,
                v_session.last_position,
                v_session.created_at,
                v_session.updated_at;
            return;
        end if;
    end if;
    select s.*
    into v_session
    from strongroom.framework_sessions as s
    where s.tenant_id = p_tenant_id
        and s.framework = p_framework
        and s.path_digest = v_digest
    for no key update;
    if not found then
        perform strongroom_private.fail(
            'not_found', 'the framework session does not exist',
            '{"path": "path", "record": "framework session"}',
            'Make it with expected_version 0.'
        );
    end if;
    perform strongroom_private.check_framework_principal(p_principal_id, v_session.principal_id);
    if v_session.version <> p_expected_version then
        -- The same state again is a repeat of a write whose answer was lost.
        if v_session.version - 1 = p_expected_version and v_session.state = p_state then
            return query
            select
                v_session.tenant_id,
                v_session.id,
                v_session.framework,
                v_session.path,
                v_session.principal_id,
                v_session.state,
                v_session.version,
                v_session.last_position,
                v_session.created_at,
                v_session.updated_at;
            return;
        end if;
        perform strongroom_private.fail_missed_write(
            'framework session', p_expected_version, v_session.version
        );
    end if;
    return query
    update strongroom.framework_sessions as s
    set state = p_state,
        version = s.version + 1,
        updated_at = now()
    where s.tenant_id = p_tenant_id
        and s.id = v_session.id
    returning
        s.tenant_id,
        s.id,
        s.framework,
        s.path,
        s.principal_id,
        s.state,
        s.version,
        s.last_position,
        s.created_at,
        s.updated_at;
end
$$;
comment on function strongroom.put_framework_session(
    text, text, text[], jsonb, bigint, text
) is
    'Make a session (expected version 0), or replace its state on top of the version that was read.'
    ' A repeat with the same state changes nothing.'
    ' Errors: SR001, SR004, SR010, SR011, SR012, SR020. Callers: hosts.';

create function strongroom.list_framework_sessions(
    p_tenant_id text,
    p_framework text,
    p_path text[] default '{}',
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_principal_id text default null,
    p_collection text default null
)
returns table (
    tenant_id text,
    id text,
    framework text,
    path text[],
    principal_id text,
    state jsonb,
    version bigint,
    last_position bigint,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text;
    v_key text[];
    v_depth integer := cardinality(p_path);
    v_beyond text[];
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path, 0);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    if p_collection is not null then
        perform strongroom_private.check_word('collection', p_collection);
    end if;
    v_scope := strongroom_private.cursor_scope(
        'framework_sessions',
        jsonb_build_array(p_framework, p_path, p_principal_id, p_collection),
        p_direction
    );
    v_key := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    -- The first path beyond those that begin with p_path: nothing lies between a label and the
    -- label with the smallest character after it.
    v_beyond := p_path[:v_depth - 1] || (p_path[v_depth] || chr(1));
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.id,
                s.framework,
                s.path,
                s.principal_id,
                s.state,
                s.version,
                s.last_position,
                s.created_at,
                s.updated_at,
                strongroom_private.encode_cursor($3, s.path),
                s.total > $4
            from (
                select
                    c.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select s.*
                    from strongroom.framework_sessions as s
                    where s.tenant_id = $1
                        and s.framework = $5
                        and s.path_text >= $10
                        and s.path_text < $11
                        and s.path >= $6
                        and ($7 is null or s.path < $7)
                        and ($2 is null or s.path %1$s $2)
                        and ($8 is null or s.principal_id = $8)
                        and (
                            $9 is null
                            or exists (
                                select
                                from strongroom.framework_records as r
                                where r.tenant_id = s.tenant_id
                                    and r.session_id = s.id
                                    and r.collection = $9
                                    and (r.expires_at is null or r.expires_at > now())
                            )
                        )
                    order by s.path %2$s
                    limit $4 + 1
                ) as c
            ) as s
            where s.place <= $4
            order by s.path %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id,
        v_key,
        v_scope,
        p_limit,
        p_framework,
        p_path,
        case when v_depth > 0 then v_beyond end,
        p_principal_id,
        p_collection,
        strongroom_private.path_text(p_path),
        strongroom_private.path_text_end(p_path);
end
$$;
comment on function strongroom.list_framework_sessions(
    text, text, text[], integer, text, text, text, text, text
) is
    'A page of a framework''s sessions by path: those whose path begins with p_path, that are'
    ' p_principal_id''s, and that have a record in p_collection, each where it is given.'
    ' Errors: SR001, SR002, SR004, SR020. Callers: hosts.';

create function strongroom.delete_framework_sessions(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_exact boolean default false,
    p_principal_id text default null
)
returns table (deleted bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_depth integer := cardinality(p_path);
    v_text text := strongroom_private.path_text(p_path);
    v_text_end text := strongroom_private.path_text_end(p_path);
    v_deleted bigint := 0;
    v_session record;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    for v_session in
        select
            s.id,
            s.principal_id,
            s.last_position
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.framework = p_framework
            and s.path_text >= v_text
            and s.path_text < v_text_end
            and s.path >= p_path
            and s.path < p_path[:v_depth - 1] || (p_path[v_depth] || chr(1))
            and (s.path = p_path or not coalesce(p_exact, false))
        order by s.path
        for update
    loop
        perform strongroom_private.check_framework_principal(
            p_principal_id, v_session.principal_id
        );
        delete from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.id = v_session.id;
        v_deleted := v_deleted + 1;
        perform strongroom_private.record_audit(
            p_tenant_id, 'framework_session.delete', 'framework_session', v_session.id,
            jsonb_build_object('framework', p_framework, 'last_position', v_session.last_position)
        );
    end loop;
    return query select v_deleted;
end
$$;
comment on function strongroom.delete_framework_sessions(text, text, text[], boolean, text) is
    'Delete the session with this path and those below it (unless p_exact), with their records, for'
    ' good; says how many. Where one is another principal''s than p_principal_id, nothing is'
    ' deleted. A repeat deletes nothing. Errors: SR001, SR004, SR010, SR011, SR020.'
    ' Callers: hosts.';

create function strongroom.fork_framework_session(
    p_tenant_id text,
    p_framework text,
    p_from_path text[],
    p_path text[],
    p_principal_id text default null
)
returns table (forked bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_depth integer := cardinality(p_from_path);
    v_text text := strongroom_private.path_text(p_from_path);
    v_text_end text := strongroom_private.path_text_end(p_from_path);
    v_session strongroom.framework_sessions;
    v_path text[];
    v_id text;
    v_forked bigint := 0;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('from_path', p_from_path);
    perform strongroom_private.check_framework_path('path', p_path);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    if p_path[:v_depth] = p_from_path or p_from_path[:cardinality(p_path)] = p_path then
        perform strongroom_private.fail(
            'invalid_argument', 'path lies in from_path, or the other way round',
            '{"path": "path"}', 'Copy to a path of its own.'
        );
    end if;
    for v_session in
        select s.*
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.framework = p_framework
            and s.path_text >= v_text
            and s.path_text < v_text_end
            and s.path >= p_from_path
            and s.path < p_from_path[:v_depth - 1] || (p_from_path[v_depth] || chr(1))
        order by s.path
        for no key update
    loop
        perform strongroom_private.check_framework_principal(
            p_principal_id, v_session.principal_id
        );
        v_path := p_path || v_session.path[v_depth + 1:];
        perform strongroom_private.check_framework_path('path', v_path);
        v_id := gen_random_uuid()::text;
        insert into strongroom.framework_sessions (
            tenant_id, id, framework, path, principal_id, state, last_position
        )
        values (
            p_tenant_id,
            v_id,
            p_framework,
            v_path,
            strongroom_private.find_framework_owner(
                p_tenant_id, p_framework, v_path, v_session.principal_id
            ),
            v_session.state,
            v_session.last_position
        )
        on conflict (tenant_id, framework, path_digest) do nothing;
        if not found then
            perform strongroom_private.fail(
                'already_exists', 'there is a session with this path',
                '{"path": "path", "record": "framework session"}',
                'Delete it first, or copy to another path.'
            );
        end if;
        insert into strongroom.framework_records (
            tenant_id, session_id, collection, key, position, content, data, metadata, embeddings,
            ttl_seconds, expires_at, version, created_at, updated_at
        )
        select
            r.tenant_id,
            v_id,
            r.collection,
            r.key,
            r.position,
            r.content,
            r.data,
            r.metadata,
            r.embeddings,
            r.ttl_seconds,
            r.expires_at,
            r.version,
            r.created_at,
            r.updated_at
        from strongroom.framework_records as r
        where r.tenant_id = p_tenant_id
            and r.session_id = v_session.id
            and (r.expires_at is null or r.expires_at > now());
        v_forked := v_forked + 1;
    end loop;
    return query select v_forked;
end
$$;
comment on function strongroom.fork_framework_session(text, text, text[], text[], text) is
    'Copy the session with this path and those below it, with their records, to another path where'
    ' nothing is; says how many. Where one is another principal''s than p_principal_id, nothing is'
    ' copied. Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Records in order
-- ---------------------------------------------------------------------------------------------

create function strongroom.append_framework_records(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_records jsonb,
    p_collection text default 'items',
    p_principal_id text default null,
    p_refuse_conflicts boolean default false,
    p_data bytea[] default '{}'
)
returns table (key text, "position" bigint, created_at timestamptz, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_digest bytea := strongroom_private.path_digest(p_path);
    v_id text;
    v_last bigint;
    v_principal_id text;
    v_keys text[];
    v_count integer;
    v_conflict bigint;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path);
    perform strongroom_private.check_word('collection', p_collection);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    perform strongroom_private.check_framework_records(p_records, p_data);
    select
        s.id,
        s.last_position,
        s.principal_id
    into
        v_id,
        v_last,
        v_principal_id
    from strongroom.framework_sessions as s
    where s.tenant_id = p_tenant_id
        and s.framework = p_framework
        and s.path_digest = v_digest
    for no key update;
    if v_id is null or v_principal_id is distinct from p_principal_id then
        v_id := strongroom_private.hold_framework_session(
            p_tenant_id, p_framework, p_path, p_principal_id
        );
        select s.last_position
        into v_last
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.id = v_id
        for no key update;
    end if;
    v_count := jsonb_array_length(p_records);
    v_keys := array(
        select distinct e.record ->> 'key'
        from jsonb_array_elements(p_records) as e (record)
    );
    if cardinality(v_keys) = v_count
        and not exists (
            select
            from unnest(v_keys) as k (key)
            cross join lateral (
                select
                from strongroom.framework_records as r
                where r.tenant_id = p_tenant_id
                    and r.session_id = v_id
                    and r.collection = p_collection
                    and r.key = k.key
                limit 1
            ) as known
        )
    then
        -- All of them are new.
        update strongroom.framework_sessions as s
        set last_position = v_last + v_count,
            updated_at = now()
        where s.tenant_id = p_tenant_id
            and s.id = v_id;
        return query
        insert into strongroom.framework_records as r (
            tenant_id, session_id, collection, key, position, content, data, metadata
        )
        select
            p_tenant_id,
            v_id,
            p_collection,
            e.record ->> 'key',
            v_last + e.place,
            nullif(e.record -> 'content', 'null'),
            p_data[(e.record ->> 'data')::integer + 1],
            coalesce(nullif(e.record -> 'metadata', 'null'), '{}')
        from jsonb_array_elements(p_records) with ordinality as e (record, place)
        order by e.place
        returning
            r.key,
            r.position,
            r.created_at,
            'inserted';
        return;
    end if;
    if p_refuse_conflicts then
        select min(g.place)
        into v_conflict
        from (
            select
                e.place,
                e.record,
                first_value(e.record) over (
                    partition by e.record ->> 'key'
                    order by e.place
                ) as first_record
            from jsonb_array_elements(p_records) with ordinality as e (record, place)
        ) as g
        left join strongroom.framework_records as r
            on r.tenant_id = p_tenant_id
            and r.session_id = v_id
            and r.collection = p_collection
            and r.key = any (v_keys)
            and r.key = g.record ->> 'key'
        where g.record is distinct from g.first_record
            or (
                r.key is not null
                and (
                    r.content is distinct from nullif(g.record -> 'content', 'null')
                    or r.data is distinct from p_data[(g.record ->> 'data')::integer + 1]
                    or r.metadata <> coalesce(nullif(g.record -> 'metadata', 'null'), '{}')
                )
            );
        if v_conflict is not null then
            perform strongroom_private.fail(
                'already_exists',
                format('records[%s] has the key of another record', v_conflict - 1),
                jsonb_build_object(
                    'path', format('records[%s].key', v_conflict - 1),
                    'record', 'framework record'
                ),
                'The same key is the same record: nothing was appended.'
            );
        end if;
    end if;

    return query
    with given as materialized (
        select
            g.place,
            g.record ->> 'key' as key,
            nullif(g.record -> 'content', 'null') as content,
            p_data[(g.record ->> 'data')::integer + 1] as data,
            coalesce(nullif(g.record -> 'metadata', 'null'), '{}') as metadata
        from jsonb_array_elements(p_records) with ordinality as g (record, place)
    ),

    known as materialized (
        select
            r.key,
            r.position,
            r.content,
            r.data,
            r.metadata,
            r.created_at
        from strongroom.framework_records as r
        where r.tenant_id = p_tenant_id
            and r.session_id = v_id
            and r.collection = p_collection
            and r.key = any (v_keys)
    ),

    fresh as (
        select distinct on (g.key)
            g.place,
            g.key,
            g.content,
            g.data,
            g.metadata
        from given as g
        where not exists (select from known as k where k.key = g.key)
        order by
            g.key,
            g.place
    ),

    numbered as materialized (
        select
            f.*,
            v_last + row_number() over (order by f.place) as position
        from fresh as f
    ),

    written as (
        insert into strongroom.framework_records (
            tenant_id, session_id, collection, key, position, content, data, metadata
        )
        select
            p_tenant_id,
            v_id,
            p_collection,
            n.key,
            n.position,
            n.content,
            n.data,
            n.metadata
        from numbered as n
        order by n.position
        returning key
    ),

    advanced as (
        update strongroom.framework_sessions as s
        set last_position = w.last_position,
            updated_at = now()
        from (select max(n.position) as last_position from numbered as n) as w
        where s.tenant_id = p_tenant_id
            and s.id = v_id
            and w.last_position is not null
        returning s.id
    )

    select
        g.key,
        coalesce(k.position, n.position),
        coalesce(k.created_at, now()),
        case
            when n.place = g.place then 'inserted'
            when coalesce(k.content, n.content) is not distinct from g.content
                and coalesce(k.data, n.data) is not distinct from g.data
                and coalesce(k.metadata, n.metadata) = g.metadata
            then 'duplicate'
            else 'conflict'
        end
    from given as g
    left join known as k on k.key = g.key
    left join numbered as n on n.key = g.key
    order by g.place;
end
$$;
comment on function strongroom.append_framework_records(
    text, text, text[], jsonb, text, text, boolean, bytea[]
) is
    'Append records to a session, made where it is missing: all or none, in this order. The data of'
    ' a record is the place of its bytes in p_data, from 0. A key that is there is duplicate (the'
    ' same content) or conflict (another), and changes nothing; with p_refuse_conflicts another'
    ' raises, and nothing is appended.'
    ' Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.list_framework_records(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_collection text default 'items',
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_principal_id text default null
)
returns table (
    tenant_id text,
    framework text,
    path text[],
    collection text,
    key text,
    "position" bigint,
    content jsonb,
    data_base64 text,
    metadata jsonb,
    expires_at timestamptz,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_digest bytea := strongroom_private.path_digest(p_path);
    v_id text;
    v_owner_id text;
    v_low bigint := 0;
    v_high bigint := 9223372036854775807;
    v_scope text;
    v_key bigint;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path);
    perform strongroom_private.check_word('collection', p_collection);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    v_scope := strongroom_private.cursor_scope(
        'framework_records', jsonb_build_array(p_framework, p_path, p_collection), p_direction
    );
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1]::bigint;
    if v_key is not null and v_descending then
        v_high := v_key;
    elsif v_key is not null then
        v_low := v_key;
    end if;
    select
        s.id,
        s.principal_id
    into
        v_id,
        v_owner_id
    from strongroom.framework_sessions as s
    where s.tenant_id = p_tenant_id
        and s.framework = p_framework
        and s.path_digest = v_digest;
    if not found then
        return;
    end if;
    perform strongroom_private.check_framework_principal(p_principal_id, v_owner_id);

    -- Both branches walk an index from one end of (v_low, v_high), and stop after the page.
    if v_descending then
        return query
        select
            p_tenant_id,
            p_framework,
            p_path,
            p_collection,
            s.key,
            s.position,
            s.content,
            encode(s.data, 'base64'),
            s.metadata,
            s.expires_at,
            s.version,
            s.created_at,
            s.updated_at,
            strongroom_private.encode_cursor(v_scope, array[s.position::text]),
            s.total > p_limit
        from (
            select
                c.*,
                row_number() over () as place,
                count(*) over () as total
            from (
                select r.*
                from strongroom.framework_records as r
                where r.tenant_id = p_tenant_id
                    and r.session_id = v_id
                    and r.collection = p_collection
                    and r.position > v_low
                    and r.position < v_high
                order by r.position desc
                limit p_limit + 1
            ) as c
        ) as s
        where s.place <= p_limit
        order by case when p_direction = 'backward' then -s.position else s.position end;
    else
        return query
        select
            p_tenant_id,
            p_framework,
            p_path,
            p_collection,
            s.key,
            s.position,
            s.content,
            encode(s.data, 'base64'),
            s.metadata,
            s.expires_at,
            s.version,
            s.created_at,
            s.updated_at,
            strongroom_private.encode_cursor(v_scope, array[s.position::text]),
            s.total > p_limit
        from (
            select
                c.*,
                row_number() over () as place,
                count(*) over () as total
            from (
                select r.*
                from strongroom.framework_records as r
                where r.tenant_id = p_tenant_id
                    and r.session_id = v_id
                    and r.collection = p_collection
                    and r.position > v_low
                    and r.position < v_high
                order by r.position
                limit p_limit + 1
            ) as c
        ) as s
        where s.place <= p_limit
        order by case when p_direction = 'backward' then -s.position else s.position end;
    end if;
end
$$;
comment on function strongroom.list_framework_records(
    text, text, text[], text, integer, text, text, text, text
) is
    'A page of a session''s appended records, in order. A session that is not there is empty;'
    ' another principal''s than p_principal_id is refused. Errors: SR001, SR002, SR004, SR011,'
    ' SR020. Callers: hosts.';

create function strongroom.delete_framework_records(
    p_tenant_id text,
    p_framework text,
    p_path text[],
    p_collection text default 'items',
    p_keys text[] default null,
    p_last integer default null,
    p_principal_id text default null
)
returns setof strongroom.framework_record_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_digest bytea := strongroom_private.path_digest(p_path);
    v_id text;
    v_owner_id text;
    v_keys text[] := p_keys;
    v_rows strongroom.framework_record_details[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path);
    perform strongroom_private.check_word('collection', p_collection);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    if p_keys is not null then
        perform strongroom_private.check_ids('keys', p_keys);
    end if;
    if p_last is not null then
        perform strongroom_private.check_limit(p_last);
    end if;
    if num_nonnulls(p_keys, p_last) <> 1 then
        perform strongroom_private.fail(
            'invalid_argument', 'keys or last is required, and only one of them',
            '{"path": "keys"}', 'Name the records, or say how many of the newest.'
        );
    end if;
    select
        s.id,
        s.principal_id
    into
        v_id,
        v_owner_id
    from strongroom.framework_sessions as s
    where s.tenant_id = p_tenant_id
        and s.framework = p_framework
        and s.path_digest = v_digest
    for no key update;
    if not found then
        return;
    end if;
    perform strongroom_private.check_framework_principal(p_principal_id, v_owner_id);
    if p_keys is null then
        -- Backwards along the index, as many as are wanted.
        v_keys := array(
            select r.key
            from strongroom.framework_records as r
            where r.tenant_id = p_tenant_id
                and r.session_id = v_id
                and r.collection = p_collection
                and r.position is not null
                and (r.expires_at is null or r.expires_at > now())
            order by r.position desc
            limit p_last
        );
    end if;
    v_rows := array(
        select
            row(
                r.tenant_id,
                p_framework,
                p_path,
                r.collection,
                r.key,
                r.position,
                r.content,
                encode(r.data, 'base64'),
                r.metadata,
                r.expires_at,
                r.version,
                r.created_at,
                r.updated_at
            )::strongroom.framework_record_details
        from strongroom.framework_records as r
        where r.tenant_id = p_tenant_id
            and r.session_id = v_id
            and r.collection = p_collection
            and r.key = any (v_keys)
            and (r.expires_at is null or r.expires_at > now())
    );
    delete from strongroom.framework_records as r
    where r.tenant_id = p_tenant_id
        and r.session_id = v_id
        and r.collection = p_collection
        and r.key = any (array(select d.key from unnest(v_rows) as d));
    if cardinality(v_rows) > 0 then
        update strongroom.framework_sessions as s
        set updated_at = now()
        where s.tenant_id = p_tenant_id
            and s.id = v_id;
        perform strongroom_private.record_audit(
            p_tenant_id, 'framework_records.delete', 'framework_session', v_id,
            (
                select jsonb_strip_nulls(
                    jsonb_build_object(
                        'framework', p_framework,
                        'collection', p_collection,
                        'count', count(*),
                        'first_position', min(d.position),
                        'last_position', max(d.position)
                    )
                )
                from unnest(v_rows) as d
            )
        );
    end if;
    return query
    select d.*
    from unnest(v_rows) as d
    order by
        d.position,
        d.key;
end
$$;
comment on function strongroom.delete_framework_records(
    text, text, text[], text, text[], integer, text
) is
    'Delete records by key, or the newest of the appended ones, for good; returns what they were,'
    ' in order. The audit has how many, and their positions. Another principal''s session than'
    ' p_principal_id''s is refused. Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Keyed records
-- ---------------------------------------------------------------------------------------------

create function strongroom.put_framework_records(
    p_tenant_id text,
    p_framework text,
    p_records jsonb,
    p_principal_id text default null,
    p_data bytea[] default '{}'
)
returns table (path text[], collection text, key text, version bigint, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_one record;
    v_at record;
    v_stored strongroom.framework_records;
    v_digest bytea;
    v_id text;
    v_owner_id text;
    v_version bigint;
    v_outcome text;
    v_settled text[];
    v_record jsonb;
    v_document jsonb;
    v_collection text;
    v_versions bigint[] := array[]::bigint[];
    v_outcomes text[] := array[]::text[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    perform strongroom_private.check_framework_records(p_records, p_data);
    -- First all checks; then session after session, in the order of their paths.
    for v_place in 0 .. jsonb_array_length(p_records) - 1 loop
        v_record := p_records -> v_place;
        if v_record -> 'path' is distinct from v_document then
            perform strongroom_private.read_framework_path(
                format('records[%s].path', v_place), v_record -> 'path'
            );
            v_document := v_record -> 'path';
        end if;
        if v_record ->> 'collection' is distinct from v_collection then
            perform strongroom_private.check_word(
                format('records[%s].collection', v_place), v_record ->> 'collection'
            );
            v_collection := v_record ->> 'collection';
        end if;
        if v_record ->> 'mode' not in ('replace', 'keep', 'delete') then
            perform strongroom_private.check_choice(
                format('records[%s].mode', v_place),
                v_record ->> 'mode',
                '{replace,keep,delete}'
            );
        end if;
        if v_record ->> 'expected_version' !~ '^[0-9]{1,15}$' then
            perform strongroom_private.fail(
                'invalid_argument',
                format('records[%s].expected_version must be a version', v_place),
                jsonb_build_object('path', format('records[%s].expected_version', v_place)),
                'Give the version that you read, 0 for what is new.'
            );
        end if;
    end loop;
    for v_at in
        select
            g.document,
            array(select jsonb_array_elements_text(g.document)) as path,
            g.records,
            g.keys,
            g.is_removal
        from (
            select
                e.record -> 'path' as document,
                count(*) as records,
                count(distinct (e.record ->> 'collection') || ' ' || (e.record ->> 'key')) as keys,
                bool_and(e.record ->> 'mode' is not distinct from 'delete') as is_removal
            from jsonb_array_elements(p_records) as e (record)
            group by e.record -> 'path'
        ) as g
        order by path collate "C"
    loop
        v_settled := '{}';
        if v_at.is_removal then
            v_digest := strongroom_private.path_digest(v_at.path);
            select
                s.id,
                s.principal_id
            into
                v_id,
                v_owner_id
            from strongroom.framework_sessions as s
            where s.tenant_id = p_tenant_id
                and s.framework = p_framework
                and s.path_digest = v_digest
            for key share;
            if found then
                perform strongroom_private.check_framework_principal(p_principal_id, v_owner_id);
            end if;
        else
            v_id := strongroom_private.hold_framework_session(
                p_tenant_id, p_framework, v_at.path, p_principal_id
            );
        end if;
        -- What is new, at once, and what was there and is kept. Where a key comes twice, and to
        -- remove or replace, the records are taken one after the other.
        if not v_at.is_removal and v_at.keys = v_at.records then
            with made as (
                insert into strongroom.framework_records (
                    tenant_id, session_id, collection, key, content, data, metadata, embeddings,
                    ttl_seconds, expires_at
                )
                select
                    p_tenant_id,
                    v_id,
                    e.record ->> 'collection',
                    e.record ->> 'key',
                    nullif(e.record -> 'content', 'null'),
                    p_data[(e.record ->> 'data')::integer + 1],
                    coalesce(nullif(e.record -> 'metadata', 'null'), '{}'),
                    case
                        when jsonb_typeof(e.record -> 'embeddings') = 'array'
                        then (
                            select
                                array_agg(
                                    strongroom_private.check_embedding('embeddings', v.value)
                                    order by v.place
                                )
                            from jsonb_array_elements(e.record -> 'embeddings')
                                with ordinality as v (value, place)
                        )
                    end,
                    (e.record ->> 'ttl_seconds')::double precision,
                    now() + make_interval(secs => (e.record ->> 'ttl_seconds')::double precision)
                from jsonb_array_elements(p_records) as e (record)
                where e.record -> 'path' = v_at.document
                    and e.record ->> 'mode' is distinct from 'delete'
                    and coalesce((e.record ->> 'expected_version')::bigint, 0) = 0
                order by
                    (e.record ->> 'collection') collate "C",
                    (e.record ->> 'key') collate "C"
                on conflict on constraint framework_records_pkey do nothing
                returning collection || ' ' || key as name
            )

            select coalesce(array_agg(m.name), '{}')
            into v_settled
            from made as m;
            continue when cardinality(v_settled) = v_at.records;
            for v_one in
                select
                    e.place,
                    r.collection || ' ' || r.key as name,
                    r.version,
                    r.content is not distinct from nullif(e.record -> 'content', 'null')
                    and r.data is not distinct from p_data[(e.record ->> 'data')::integer + 1]
                    and r.metadata = coalesce(nullif(e.record -> 'metadata', 'null'), '{}')
                        as is_same
                from (
                    select
                        g.place,
                        g.record,
                        g.record ->> 'collection' as collection,
                        g.record ->> 'key' as key
                    from jsonb_array_elements(p_records) with ordinality as g (record, place)
                    where g.record -> 'path' = v_at.document
                        and g.record ->> 'mode' = 'keep'
                        and (g.record ->> 'collection') || ' ' || (g.record ->> 'key')
                        <> all (v_settled)
                    order by
                        collection collate "C",
                        key collate "C"
                ) as e
                -- One by one: row security lets a join look only through all records of a session.
                cross join lateral (
                    select k.*
                    from strongroom.framework_records as k
                    where k.tenant_id = p_tenant_id
                        and k.session_id = v_id
                        and k.collection = e.collection
                        and k.key = e.key
                        and (k.expires_at is null or k.expires_at > now())
                        and (
                            e.record ->> 'expected_version' is null
                            or k.version = (e.record ->> 'expected_version')::bigint
                        )
                    limit 1
                    for key share
                ) as r
            loop
                v_settled := v_settled || v_one.name;
                v_versions[v_one.place] := v_one.version;
                v_outcomes[v_one.place] := case
                    when v_one.is_same then 'duplicate'
                    else 'conflict'
                end;
            end loop;
        end if;
        continue when cardinality(v_settled) = v_at.records;
        -- The others one after the other.
        for v_one in
            select
                e.place,
                e.record ->> 'collection' as collection,
                e.record ->> 'key' as key,
                nullif(e.record -> 'content', 'null') as content,
                p_data[(e.record ->> 'data')::integer + 1] as data,
                coalesce(nullif(e.record -> 'metadata', 'null'), '{}') as metadata,
                case
                    when jsonb_typeof(e.record -> 'embeddings') = 'array'
                    then (
                        select
                            array_agg(
                                strongroom_private.check_embedding('embeddings', v.value)
                                order by v.place
                            )
                        from jsonb_array_elements(e.record -> 'embeddings')
                            with ordinality as v (value, place)
                    )
                end as embeddings,
                (e.record ->> 'ttl_seconds')::double precision as ttl_seconds,
                coalesce(e.record ->> 'mode', 'replace') as mode,
                (e.record ->> 'expected_version')::bigint as expected_version
            from jsonb_array_elements(p_records) with ordinality as e (record, place)
            where e.record -> 'path' = v_at.document
                and (e.record ->> 'collection') || ' ' || (e.record ->> 'key') <> all (v_settled)
            order by
                collection collate "C",
                key collate "C",
                e.place
        loop
            select r.*
            into v_stored
            from strongroom.framework_records as r
            where r.tenant_id = p_tenant_id
                and r.session_id = v_id
                and r.collection = v_one.collection
                and r.key = v_one.key
            for update;
            if v_stored.expires_at <= now() then
                delete from strongroom.framework_records as r
                where r.tenant_id = p_tenant_id
                    and r.session_id = v_id
                    and r.collection = v_one.collection
                    and r.key = v_one.key;
                v_stored := null;
            end if;
            if v_one.expected_version <> coalesce(v_stored.version, 0) then
                perform strongroom_private.fail_missed_write(
                    'framework record', v_one.expected_version, coalesce(v_stored.version, 0)
                );
            end if;
            v_version := v_stored.version;
            if v_one.mode = 'delete' then
                v_outcome := case when v_stored.key is null then 'absent' else 'deleted' end;
                delete from strongroom.framework_records as r
                where r.tenant_id = p_tenant_id
                    and r.session_id = v_id
                    and r.collection = v_one.collection
                    and r.key = v_one.key;
            elsif v_stored.key is not null
                and (v_one.mode = 'keep' or v_stored.position is not null)
            then
                v_outcome := case
                    when v_stored.content is not distinct from v_one.content
                        and v_stored.data is not distinct from v_one.data
                        and v_stored.metadata = v_one.metadata
                    then 'duplicate'
                    else 'conflict'
                end;
            else
                insert into strongroom.framework_records as r (
                    tenant_id, session_id, collection, key, content, data, metadata, embeddings,
                    ttl_seconds, expires_at
                )
                values (
                    p_tenant_id, v_id, v_one.collection, v_one.key, v_one.content, v_one.data,
                    v_one.metadata, v_one.embeddings, v_one.ttl_seconds,
                    now() + make_interval(secs => v_one.ttl_seconds)
                )
                on conflict on constraint framework_records_pkey do update
                set content = excluded.content,
                    data = excluded.data,
                    metadata = excluded.metadata,
                    embeddings = excluded.embeddings,
                    ttl_seconds = excluded.ttl_seconds,
                    expires_at = excluded.expires_at,
                    version = r.version + 1,
                    updated_at = now()
                -- One that came in between is there first for a writer who wanted none.
                where v_one.mode = 'replace'
                    and (v_one.expected_version is null or r.version = v_one.expected_version)
                returning r.version
                into v_version;
                if v_version is null and v_one.expected_version is not null then
                    perform strongroom_private.fail_missed_write('framework record', 0, 1);
                end if;
                v_outcome := case
                    when v_version is null then 'conflict'
                    when v_version = 1 then 'inserted'
                    else 'replaced'
                end;
            end if;
            v_versions[v_one.place] := v_version;
            v_outcomes[v_one.place] := v_outcome;
        end loop;
    end loop;

    return query
    select
        array(select jsonb_array_elements_text(e.record -> 'path')),
        e.record ->> 'collection',
        e.record ->> 'key',
        case when v_outcomes[e.place] is null then 1 else v_versions[e.place] end,
        coalesce(v_outcomes[e.place], 'inserted')
    from jsonb_array_elements(p_records) with ordinality as e (record, place)
    order by e.place;
end
$$;
comment on function strongroom.put_framework_records(text, text, jsonb, text, bytea[]) is
    'Write keyed records of any sessions, all or none. The data of a record is the place of its'
    ' bytes in p_data, from 0. mode replace (the default) writes over what is there, keep leaves'
    ' it, delete removes it; expected_version makes any of them depend on the version that was'
    ' read. What was appended is never written over: conflict.'
    ' Errors: SR001, SR004, SR010, SR011, SR012, SR020. Callers: hosts.';

create function strongroom.find_framework_records(
    p_tenant_id text,
    p_framework text,
    p_wanted jsonb,
    p_refresh boolean default false,
    p_principal_id text default null
)
returns setof strongroom.framework_record_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_one record;
    v_owner_id text;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    if jsonb_typeof(p_wanted) is distinct from 'array'
        or jsonb_array_length(p_wanted) not between 1 and 500
    then
        perform strongroom_private.fail(
            'invalid_argument', 'wanted must be a list of 1 to 500 records', '{"path": "wanted"}',
            'Give path, collection and key of each.'
        );
    end if;
    for v_one in
        select
            format('wanted[%s]', e.place - 1) as field,
            e.record
        from jsonb_array_elements(p_wanted) with ordinality as e (record, place)
    loop
        perform strongroom_private.check_keys(v_one.field, v_one.record, '{path,collection,key}');
        perform strongroom_private.read_framework_path(
            v_one.field || '.path', v_one.record -> 'path'
        );
        perform strongroom_private.check_word(
            v_one.field || '.collection', v_one.record ->> 'collection'
        );
        perform strongroom_private.check_text(v_one.field || '.key', v_one.record -> 'key');
        perform strongroom_private.check_id(v_one.field || '.key', v_one.record ->> 'key');
    end loop;
    if p_principal_id is not null then
        for v_owner_id in
            select s.principal_id
            from (
                select distinct
                    strongroom_private.path_digest(
                        strongroom_private.read_framework_path('path', e.record -> 'path')
                    ) as path_digest
                from jsonb_array_elements(p_wanted) as e (record)
            ) as w
            cross join lateral (
                select f.principal_id
                from strongroom.framework_sessions as f
                where f.tenant_id = p_tenant_id
                    and f.framework = p_framework
                    and f.path_digest = w.path_digest
                limit 1
            ) as s
        loop
            perform strongroom_private.check_framework_principal(p_principal_id, v_owner_id);
        end loop;
    end if;
    if coalesce(p_refresh, false) then
        -- One after the other in the same order, whoever asks: nobody waits in a circle.
        for v_one in
            select
                s.id as session_id,
                w.collection,
                w.key
            from (
                select distinct
                    strongroom_private.path_digest(
                        strongroom_private.read_framework_path('path', e.record -> 'path')
                    ) as path_digest,
                    (e.record ->> 'collection') collate "C" as collection,
                    (e.record ->> 'key') collate "C" as key
                from jsonb_array_elements(p_wanted) as e (record)
            ) as w
            cross join lateral (
                select f.id
                from strongroom.framework_sessions as f
                where f.tenant_id = p_tenant_id
                    and f.framework = p_framework
                    and f.path_digest = w.path_digest
                    and (p_principal_id is null or f.principal_id = p_principal_id)
                limit 1
            ) as s
            order by
                s.id,
                w.collection,
                w.key
        loop
            update strongroom.framework_records as r
            set expires_at = now() + make_interval(secs => r.ttl_seconds)
            where r.tenant_id = p_tenant_id
                and r.session_id = v_one.session_id
                and r.collection = v_one.collection
                and r.key = v_one.key
                and r.expires_at > now();
        end loop;
    end if;
    return query
    select
        r.tenant_id,
        p_framework,
        w.path,
        r.collection,
        r.key,
        r.position,
        r.content,
        encode(r.data, 'base64'),
        r.metadata,
        r.expires_at,
        r.version,
        r.created_at,
        r.updated_at
    from (
        select distinct
            strongroom_private.read_framework_path('path', e.record -> 'path') as path,
            e.record ->> 'collection' as collection,
            e.record ->> 'key' as key
        from jsonb_array_elements(p_wanted) as e (record)
    ) as w
    -- One by one: row security lets a join look only through all sessions and records.
    cross join lateral (
        select f.id
        from strongroom.framework_sessions as f
        where f.tenant_id = p_tenant_id
            and f.framework = p_framework
            and f.path_digest = strongroom_private.path_digest(w.path)
            and (p_principal_id is null or f.principal_id = p_principal_id)
        limit 1
    ) as s
    cross join lateral (
        select k.*
        from strongroom.framework_records as k
        where k.tenant_id = p_tenant_id
            and k.session_id = s.id
            and k.collection = w.collection
            and k.key = w.key
            and (k.expires_at is null or k.expires_at > now())
        limit 1
    ) as r
    order by
        w.path collate "C",
        r.collection,
        r.key;
end
$$;
comment on function strongroom.find_framework_records(text, text, jsonb, boolean, text) is
    'Those of the wanted records that there are, by path, collection and key; with p_refresh their'
    ' times to live begin anew. Another principal''s session than p_principal_id''s is refused.'
    ' Errors: SR001, SR004, SR011, SR020. Callers: hosts.';

create function strongroom.search_framework_records(
    p_tenant_id text,
    p_framework text,
    p_path text[] default '{}',
    p_collection text default 'values',
    p_filter jsonb default '[]',
    p_embedding jsonb default null,
    p_limit integer default 50,
    p_skip integer default 0,
    p_key_prefix text default null,
    p_after_key text default null,
    p_refresh boolean default false,
    p_principal_id text default null
)
returns table (
    tenant_id text,
    framework text,
    path text[],
    collection text,
    key text,
    "position" bigint,
    content jsonb,
    data_base64 text,
    metadata jsonb,
    expires_at timestamptz,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    score double precision
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_depth integer := cardinality(p_path);
    v_beyond text[];
    v_text text := strongroom_private.path_text(p_path);
    v_text_end text := strongroom_private.path_text_end(p_path);
    v_embedding real[] := strongroom_private.check_embedding('embedding', p_embedding);
    v_condition jsonb;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    perform strongroom_private.check_framework_path('path', p_path, 0);
    perform strongroom_private.check_word('collection', p_collection);
    perform strongroom_private.check_optional_id('key_prefix', nullif(p_key_prefix, ''));
    perform strongroom_private.check_optional_id('after_key', p_after_key);
    if p_after_key is not null and (p_key_prefix is null or v_depth = 0) then
        perform strongroom_private.fail(
            'invalid_argument', 'after_key needs key_prefix and path', '{"path": "after_key"}',
            'Keys are in order within one session; the prefix may be empty.'
        );
    end if;
    if coalesce(p_skip, -1) < 0 then
        perform strongroom_private.fail(
            'invalid_argument', 'skip must be at least 0', '{"path": "skip"}',
            'Say how many of the first rows to leave out.'
        );
    end if;
    if jsonb_typeof(p_filter) is distinct from 'array' or jsonb_array_length(p_filter) > 100 then
        perform strongroom_private.fail(
            'invalid_argument', 'filter must be a list of at most 100 conditions',
            '{"path": "filter"}', 'Give field, operator and value of each.'
        );
    end if;
    for v_condition in select e.* from jsonb_array_elements(p_filter) as e loop
        perform strongroom_private.check_keys('filter', v_condition, '{field,operator,value}');
        perform strongroom_private.check_text('filter.field', v_condition -> 'field');
        perform strongroom_private.check_id('filter.field', v_condition ->> 'field');
        perform strongroom_private.check_choice(
            'filter.operator', v_condition ->> 'operator', '{eq,ne,gt,gte,lt,lte}'
        );
    end loop;
    v_beyond := case
        when v_depth > 0 then p_path[:v_depth - 1] || (p_path[v_depth] || chr(1))
    end;
    return query
    with ordered as materialized (
        select
            s.id,
            s.path,
            r.key,
            c.score
        from strongroom.framework_sessions as s
        inner join strongroom.framework_records as r
            on r.tenant_id = s.tenant_id
            and r.session_id = s.id
        left join lateral (
            -- Rounding may lead a little beyond a cosine's bounds.
            select
                max(
                    greatest(-1, least(1, v.product / sqrt(v.length * v.other_length)))
                ) as score
            from generate_series(1, array_length(r.embeddings, 1)) as n (place)
            cross join lateral (
                select
                    sum(e.a::double precision * e.b) as product,
                    sum(e.a::double precision * e.a) as length,
                    sum(e.b::double precision * e.b) as other_length
                from unnest(r.embeddings[n.place:n.place], v_embedding) as e (a, b)
            ) as v
            where array_length(r.embeddings, 2) = cardinality(v_embedding)
        ) as c on v_embedding is not null
        where s.tenant_id = p_tenant_id
            and s.framework = p_framework
            and s.path_text >= v_text
            and s.path_text < v_text_end
            and s.path >= p_path
            and (v_beyond is null or s.path < v_beyond)
            and (p_principal_id is null or s.principal_id = p_principal_id)
            and r.collection = p_collection
            and (p_key_prefix is null or left(r.key, char_length(p_key_prefix)) = p_key_prefix)
            and (p_after_key is null or (s.path = p_path and r.key > p_after_key))
            and (r.expires_at is null or r.expires_at > now())
            and not exists (
                select
                from jsonb_array_elements(p_filter) as f (wanted)
                cross join lateral (
                    select
                        r.content -> (f.wanted ->> 'field') as is_value,
                        f.wanted -> 'value' as value,
                        jsonb_typeof(r.content -> (f.wanted ->> 'field'))
                        = jsonb_typeof(f.wanted -> 'value') as is_comparable
                ) as v
                where not coalesce(
                    case f.wanted ->> 'operator'
                        when 'eq' then v.is_value = v.value
                        when 'ne' then v.is_value is distinct from v.value
                        -- Numbers with numbers and texts with texts: jsonb orders within a type.
                        when 'gt' then v.is_comparable and v.is_value > v.value
                        when 'gte' then v.is_comparable and v.is_value >= v.value
                        when 'lt' then v.is_comparable and v.is_value < v.value
                        else v.is_comparable and v.is_value <= v.value
                    end,
                    false
                )
            )
        order by
            c.score desc nulls last,
            case when v_embedding is not null or p_key_prefix is null then r.updated_at end desc,
            s.path,
            r.key
        limit p_limit::bigint + p_skip
    ),

    -- The frameworks page by number; what they leave out is counted here.
    found as materialized (
        select
            n.id,
            n.path,
            n.key,
            n.score
        from (
            select
                o.*,
                row_number() over () as place
            from ordered as o
        ) as n
        where n.place > p_skip
    ),

    -- In the same order, whoever asks: nobody waits in a circle.
    locked as materialized (
        select
            r.session_id,
            r.key
        from found as f
        inner join strongroom.framework_records as r
            on r.tenant_id = p_tenant_id
            and r.session_id = f.id
            and r.collection = p_collection
            and r.key = f.key
        where p_refresh
            and r.expires_at is not null
        order by
            r.session_id,
            r.key
        for no key update of r
    ),

    refreshed as (
        update strongroom.framework_records as r
        set expires_at = now() + make_interval(secs => r.ttl_seconds)
        from locked as l
        where r.tenant_id = p_tenant_id
            and r.session_id = l.session_id
            and r.collection = p_collection
            and r.key = l.key
        returning r.key
    )

    select
        p_tenant_id,
        p_framework,
        f.path,
        p_collection,
        r.key,
        r.position,
        r.content,
        encode(r.data, 'base64'),
        r.metadata,
        r.expires_at,
        r.version,
        r.created_at,
        r.updated_at,
        f.score
    from found as f
    inner join strongroom.framework_records as r
        on r.tenant_id = p_tenant_id
        and r.session_id = f.id
        and r.collection = p_collection
        and r.key = f.key
    order by
        f.score desc nulls last,
        case when v_embedding is not null or p_key_prefix is null then r.updated_at end desc,
        f.path,
        r.key;
end
$$;
comment on function strongroom.search_framework_records(
    text, text, text[], text, jsonb, jsonb, integer, integer, text, text, boolean, text
) is
    'Records of the sessions whose path begins with p_path (of p_principal_id''s only, where one is'
    ' given): those whose content passes the filter (field, operator, value), the nearest to'
    ' p_embedding first, else the newest first; with p_key_prefix by path and key, after'
    ' p_after_key of the session p_path. Every embedding is compared. Errors: SR001, SR004, SR020.'
    ' Callers: hosts.';

create function strongroom.expire_framework_records(
    p_tenant_id text,
    p_limit integer default 500
)
returns table (expired bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_expired bigint;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    delete from strongroom.framework_records as r
    where (r.tenant_id, r.session_id, r.collection, r.key) in (
        select
            e.tenant_id,
            e.session_id,
            e.collection,
            e.key
        from strongroom.framework_records as e
        where e.tenant_id = p_tenant_id
            and e.expires_at <= now()
        order by e.expires_at
        limit p_limit
        for update skip locked
    );
    get diagnostics v_expired = row_count;
    return query select v_expired;
end
$$;
comment on function strongroom.expire_framework_records(text, integer) is
    'Delete records whose time to live has passed, some at a time; says how many. Nobody sees them'
    ' before that, either. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Retention
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.is_idle_framework_session(
    p_session strongroom.framework_sessions,
    p_before timestamptz
)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return p_session.updated_at < p_before
        and not exists (
            select
            from strongroom.framework_records as r
            where r.tenant_id = p_session.tenant_id
                and r.session_id = p_session.id
                and r.updated_at >= p_before
        );
end
$$;
comment on function strongroom_private.is_idle_framework_session(
    strongroom.framework_sessions, timestamptz
) is
    'Whether nothing was written in a framework''s session since: no state, and no record.';

create function strongroom_private.may_end_framework_session(
    p_session strongroom.framework_sessions,
    p_before timestamptz
)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_depth integer := cardinality(p_session.path);
begin
    return not exists (
            select
            from strongroom.framework_records as r
            where r.tenant_id = p_session.tenant_id
                and r.session_id = p_session.id
                and r.collection in ('values', 'versions')
        )
        and not exists (
            select
            from strongroom.framework_sessions as b
            where b.tenant_id = p_session.tenant_id
                and b.framework = p_session.framework
                and b.path > p_session.path
                and b.path
                < p_session.path[:v_depth - 1] || (p_session.path[v_depth] || chr(1))
        )
        and strongroom_private.is_idle_framework_session(p_session, p_before)
        and not exists (
            select
            from generate_series(1, v_depth - 1) as d (depth)
            inner join strongroom.framework_sessions as a
                on a.tenant_id = p_session.tenant_id
                and a.framework = p_session.framework
                and a.path = p_session.path[:d.depth]
            where exists (
                    select
                    from strongroom.framework_records as r
                    where r.tenant_id = a.tenant_id
                        and r.session_id = a.id
                )
                and not strongroom_private.is_idle_framework_session(a, p_before)
        );
end
$$;
comment on function strongroom_private.may_end_framework_session(
    strongroom.framework_sessions, timestamptz
) is
    'Whether retention may end a framework''s session: it is idle, holds nothing that was put to'
    ' last, nothing is below it, and it is no part of a session that is in use.';

create function strongroom_private.sweep_framework_sessions(
    p_tenant_id text,
    p_before timestamptz,
    p_limit integer
)
returns table (row_count bigint, held bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id text;
    v_session strongroom.framework_sessions;
begin
    row_count := 0;
    held := 0;
    -- The deepest first: when they are gone, nothing is below those that they were in.
    for v_id in
        select s.id
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.updated_at < p_before
        order by
            cardinality(s.path) desc,
            s.updated_at,
            s.id
    loop
        exit when row_count >= p_limit;
        select s.*
        into v_session
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.id = v_id;
        continue when v_session.id is null
            or not strongroom_private.may_end_framework_session(v_session, p_before);
        -- A writer that is at it is left alone. Under the lock nobody writes: look again.
        select s.*
        into v_session
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.id = v_id
        for update skip locked;
        if v_session.id is not null
            and strongroom_private.may_end_framework_session(v_session, p_before)
        then
            delete from strongroom.framework_sessions as s
            where s.tenant_id = p_tenant_id
                and s.id = v_id;
            row_count := row_count + 1;
        end if;
    end loop;
    return next;
end
$$;
comment on function strongroom_private.sweep_framework_sessions(text, timestamptz, integer) is
    'Retention: delete framework sessions in which nothing was written since, with their records.';

select strongroom_private.publish_retention_kind(
    p_kind => 'framework_sessions',
    p_table => 'strongroom.framework_sessions',
    p_description => 'Sessions of agent frameworks, from the last write in them, or in the session'
        ' that they are a part of: they go, with their records. Not those that hold values or'
        ' versions.',
    p_handler => 'strongroom_private.sweep_framework_sessions'
);


-- ---------------------------------------------------------------------------------------------
-- Checkpoints of a graph
-- ---------------------------------------------------------------------------------------------

create function strongroom.read_framework_checkpoints(
    p_tenant_id text,
    p_framework text,
    p_path text[] default '{}',
    p_exact boolean default false,
    p_checkpoint_id text default null,
    p_before_id text default null,
    p_filter jsonb default '{}',
    p_limit integer default 50,
    p_principal_id text default null
)
returns table (document json, data bytea[])
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_depth integer := cardinality(p_path);
    v_beyond text[];
    v_text text := strongroom_private.path_text(p_path);
    v_text_end text := case
        when p_exact then strongroom_private.path_text(p_path) || chr(1)
        else strongroom_private.path_text_end(p_path)
    end;
    v_from text := coalesce(p_checkpoint_id, '');
    v_to text := coalesce(p_checkpoint_id, p_before_id, chr(1114111));
    v_owner_id text;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_framework_path('path', p_path, 0);
    perform strongroom_private.check_optional_id('checkpoint_id', p_checkpoint_id);
    perform strongroom_private.check_optional_id('before_id', p_before_id);
    perform strongroom_private.check_object('filter', p_filter, 65536);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    v_beyond := case
        when p_exact then p_path || ''::text
        when v_depth > 0 then p_path[:v_depth - 1] || (p_path[v_depth] || chr(1))
    end;
    -- A path names sessions: another's are refused. Without one the principal's are meant.
    if p_principal_id is not null and v_depth > 0 then
        for v_owner_id in
            select s.principal_id
            from strongroom.framework_sessions as s
            where s.tenant_id = p_tenant_id
                and s.framework = p_framework
                and s.path >= p_path
                and s.path < v_beyond
                and s.path_text >= v_text
                and s.path_text < v_text_end
        loop
            perform strongroom_private.check_framework_principal(p_principal_id, v_owner_id);
        end loop;
    end if;
    return query
    with found as materialized (
        select
            s.id as session_id,
            s.path,
            r.key,
            r.content,
            r.data,
            r.metadata
        from strongroom.framework_sessions as s
        cross join lateral (
            select c.*
            from strongroom.framework_records as c
            where c.tenant_id = p_tenant_id
                and c.session_id = s.id
                and c.collection = 'checkpoints'
                -- As bounds, so that a plan for all calls walks the key; as variables, since below
                -- row security an index takes no expression that might leak.
                and c.key >= v_from
                and c.key <= v_to
                and (p_before_id is null or c.key < p_before_id)
                and c.metadata @> p_filter
            order by c.key desc
            limit p_limit
        ) as r
        where s.tenant_id = p_tenant_id
            and s.framework = p_framework
            and s.path >= p_path
            and (v_beyond is null or s.path < v_beyond)
            and s.path_text >= v_text
            and s.path_text < v_text_end
            and (p_principal_id is null or s.principal_id = p_principal_id)
        order by
            r.key desc,
            s.path
        limit p_limit
    ),

    values_of as materialized (
        select
            c.session_id,
            c.key,
            c.content,
            c.data
        from (
            -- By order: a hash table is made for many, and mostly there are few.
            select distinct on (f.session_id, v.version || ':' || v.channel)
                f.session_id,
                v.version || ':' || v.channel as key
            from found as f
            cross join lateral jsonb_each_text(f.content -> 'channels') as v (channel, version)
            order by
                f.session_id,
                v.version || ':' || v.channel
        ) as n
        -- One by one: row security lets a join look only through all records of a session.
        cross join lateral (
            select r.*
            from strongroom.framework_records as r
            where r.tenant_id = p_tenant_id
                and r.session_id = n.session_id
                and r.collection = 'channels'
                and r.key = n.key
            limit 1
        ) as c
    ),

    -- Every record once, however many checkpoints name it.
    records as (
        select
            f.session_id,
            f.path,
            f.key as checkpoint_id,
            'checkpoints' as collection,
            f.key,
            f.content,
            f.metadata,
            f.data
        from found as f
        union all
        select
            v.session_id,
            null,
            null,
            'channels',
            v.key,
            v.content,
            null,
            v.data
        from values_of as v
        union all
        select
            r.session_id,
            null,
            null,
            'parts',
            r.key,
            null,
            null,
            r.data
        from (
            select distinct on (v.session_id, e.key)
                v.session_id,
                e.key
            from values_of as v
            cross join lateral jsonb_array_elements_text(
                case jsonb_typeof(v.content -> 'parts')
                    when 'array' then v.content -> 'parts'
                end
            ) as e (key)
            where v.data is null
            order by
                v.session_id,
                e.key
        ) as p
        cross join lateral (
            select c.*
            from strongroom.framework_records as c
            where c.tenant_id = p_tenant_id
                and c.session_id = p.session_id
                and c.collection = 'parts'
                and c.key = p.key
            limit 1
        ) as r
        union all
        select
            w.session_id,
            null,
            f.key,
            'writes',
            w.key,
            w.content,
            null,
            w.data
        from found as f
        cross join lateral (
            select c.*
            from strongroom.framework_records as c
            where c.tenant_id = p_tenant_id
                and c.session_id = f.session_id
                and c.collection = 'writes'
                and c.key >= f.key || ':'
                and c.key < f.key || ';'
            offset 0
        ) as w
    )

    select
        coalesce(
            json_agg(
                json_build_array(
                    r.session_id, r.path, r.checkpoint_id, r.collection, r.key, r.content,
                    r.metadata
                )
            ),
            '[]'
        ),
        coalesce(array_agg(r.data), '{}')
    from records as r;
end
$$;
comment on function strongroom.read_framework_checkpoints(
    text, text, text[], boolean, text, text, jsonb, integer, text
) is
    'Checkpoints of the sessions whose path begins with p_path (or is it), the newest id first,'
    ' with the records of the channel values that they name, of the parts of those, and of their'
    ' writes, each record once: session, path (of checkpoints), checkpoint (of those and of'
    ' writes), collection, key, content, metadata (of checkpoints). Their bytes are beside them in'
    ' data, in the same order. For p_principal_id''s sessions: another''s at the path are refused,'
    ' and left out where p_path is empty.'
    ' Errors: SR001, SR004, SR011, SR020. Callers: hosts.';

create function strongroom.prune_framework_checkpoints(
    p_tenant_id text,
    p_framework text,
    p_path text[] default null,
    p_run_ids text[] default null,
    p_principal_id text default null
)
returns table (pruned bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_depth integer := cardinality(p_path);
    v_text text := strongroom_private.path_text(p_path);
    v_text_end text := strongroom_private.path_text_end(p_path);
    v_digests text[] := array(
        select md5(i.run_id)
        from unnest(p_run_ids) as i (run_id)
    );
    v_ids text[];
    v_session record;
    v_gone text[];
    v_pruned bigint := 0;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_word('framework', p_framework);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    if num_nonnulls(p_path, p_run_ids) <> 1 then
        perform strongroom_private.fail(
            'invalid_argument', 'path or run_ids is required, and only one of them',
            '{"path": "path"}', 'Name the sessions, or the runs whose checkpoints go.'
        );
    end if;
    if p_run_ids is null then
        perform strongroom_private.check_framework_path('path', p_path);
        v_ids := array(
            select s.id
            from strongroom.framework_sessions as s
            where s.tenant_id = p_tenant_id
                and s.framework = p_framework
                and s.path_text >= v_text
                and s.path_text < v_text_end
                and s.path >= p_path
                and s.path < p_path[:v_depth - 1] || (p_path[v_depth] || chr(1))
        );
    else
        perform strongroom_private.check_ids('run_ids', p_run_ids);
        v_ids := array(
            select distinct r.session_id
            from strongroom.framework_records as r
            where r.tenant_id = p_tenant_id
                and r.collection = 'checkpoints'
                and r.run_digest = any (v_digests)
        );
    end if;
    for v_session in
        select
            s.id,
            s.path,
            s.principal_id
        from strongroom.framework_sessions as s
        where s.tenant_id = p_tenant_id
            and s.framework = p_framework
            and s.id = any (v_ids)
        order by s.path
        -- A put of a checkpoint with its channels holds the session: it is there, or comes later.
        for update
    loop
        perform strongroom_private.check_framework_principal(
            p_principal_id, v_session.principal_id
        );
        if p_run_ids is not null then
            v_gone := array(
                select r.key
                from strongroom.framework_records as r
                where r.tenant_id = p_tenant_id
                    and r.session_id = v_session.id
                    and r.collection = 'checkpoints'
                    and r.metadata ->> 'run_id' = any (p_run_ids)
            );
        else
            -- The newest stays. Where channels are kept as deltas, so do its ancestors, from which
            -- its values are made.
            v_gone := array(
                with recursive kept as (
                    (
                        select
                            r.key,
                            r.content ->> 'parent' as parent,
                            r.metadata ?| '{counters_since_delta_snapshot,delta_writes_versioned}'
                                as has_deltas
                        from strongroom.framework_records as r
                        where r.tenant_id = p_tenant_id
                            and r.session_id = v_session.id
                            and r.collection = 'checkpoints'
                        order by r.key desc
                        limit 1
                    )
                    union all
                    select
                        r.key,
                        r.content ->> 'parent',
                        true
                    from kept as k
                    inner join strongroom.framework_records as r
                        on r.tenant_id = p_tenant_id
                        and r.session_id = v_session.id
                        and r.collection = 'checkpoints'
                        and r.key = k.parent
                    where k.has_deltas
                )

                select r.key
                from strongroom.framework_records as r
                where r.tenant_id = p_tenant_id
                    and r.session_id = v_session.id
                    and r.collection = 'checkpoints'
                    and r.key not in (select k.key from kept as k)
            );
        end if;
        continue when cardinality(v_gone) = 0;
        v_pruned := v_pruned + cardinality(v_gone);
        delete from strongroom.framework_records as r
        where r.tenant_id = p_tenant_id
            and r.session_id = v_session.id
            and (
                (r.collection = 'checkpoints' and r.key = any (v_gone))
                or (r.collection = 'writes' and split_part(r.key, ':', 1) = any (v_gone))
            );
        delete from strongroom.framework_records as r
        where r.tenant_id = p_tenant_id
            and r.session_id = v_session.id
            and r.collection = 'channels'
            and r.key not in (
                select v.version || ':' || v.channel
                from strongroom.framework_records as c
                cross join lateral jsonb_each_text(c.content -> 'channels') as v (channel, version)
                where c.tenant_id = p_tenant_id
                    and c.session_id = v_session.id
                    and c.collection = 'checkpoints'
            );
        delete from strongroom.framework_records as r
        where r.tenant_id = p_tenant_id
            and r.session_id = v_session.id
            and r.collection = 'parts'
            and r.key not in (
                select n.key
                from strongroom.framework_records as c
                cross join lateral jsonb_array_elements_text(
                    case jsonb_typeof(c.content -> 'parts')
                        when 'array' then c.content -> 'parts'
                    end
                ) as n (key)
                where c.tenant_id = p_tenant_id
                    and c.session_id = v_session.id
                    and c.collection = 'channels'
            );
        perform strongroom_private.record_audit(
            p_tenant_id, 'framework_checkpoints.prune', 'framework_session', v_session.id,
            jsonb_build_object('framework', p_framework, 'count', cardinality(v_gone))
        );
    end loop;
    return query select v_pruned;
end
$$;
comment on function strongroom.prune_framework_checkpoints(text, text, text[], text[], text) is
    'Delete all but the newest checkpoint of each session whose path begins with p_path, or those'
    ' of some runs, with their writes and the channel values that no checkpoint names any more;'
    ' says how many checkpoints. Where channels are kept as deltas, the ancestors of the newest'
    ' stay. Where one is in another principal''s session than p_principal_id''s, nothing is'
    ' deleted. Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- What has expired, of all kinds and tenants
-- ---------------------------------------------------------------------------------------------
-- Here, since this is the last migration that adds a table whose rows may have an expires_at of
-- their own, and are of no use after it: memories, tool_outputs, framework_records.

-- SECURITY DEFINER: a sweep serves every tenant. It says the ids of active tenants in which
-- something has expired, what, and since when; whoever deletes it then does so bound to one of
-- them.
create function strongroom_private.list_tenants_to_expire(p_tenant_id text default null)
returns table (tenant_id text, kind text, oldest_at timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_kind text;
    v_found jsonb;
    v_due jsonb := jsonb '[]';
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true) then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts sweep', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform set_config('strongroom.dispatching', 'on', true);
    -- From tenant to tenant along the index of what may expire, however much a tenant has.
    foreach v_kind in array '{framework_records,memories,tool_outputs}'::text[] loop
        execute format(
            $query$
                with recursive owners as (
                    (
                        select t.tenant_id
                        from strongroom.%1$I as t
                        where t.expires_at is not null
                            and ($1 is null or t.tenant_id = $1)
                        order by t.tenant_id
                        limit 1
                    )
                    union all
                    select n.tenant_id
                    from owners as o
                    cross join lateral (
                        select t.tenant_id
                        from strongroom.%1$I as t
                        where t.expires_at is not null
                            and $1 is null
                            and t.tenant_id > o.tenant_id
                        order by t.tenant_id
                        limit 1
                    ) as n
                )
                select jsonb_agg(jsonb_build_object(
                    'tenant_id', o.tenant_id, 'kind', %1$L, 'oldest_at', e.expires_at
                ))
                from owners as o
                cross join lateral (
                    select t.expires_at
                    from strongroom.%1$I as t
                    where t.tenant_id = o.tenant_id
                        and t.expires_at <= now()
                        and %2$s
                    order by t.expires_at
                    limit 1
                ) as e
            $query$,
            v_kind,
            case v_kind
                when 'tool_outputs' then
                    'not exists (select from strongroom.runs as r where r.tenant_id = t.tenant_id'
                    ' and r.conversation_id = t.conversation_id'
                    ' and r.status not in (''completed'', ''failed'', ''cancelled''))'
                else 'true'
            end
        )
        into v_found
        using p_tenant_id;
        v_due := v_due || coalesce(v_found, jsonb '[]');
    end loop;
    for tenant_id, kind, oldest_at in
        select
            d.tenant_id,
            d.kind,
            d.oldest_at
        from jsonb_to_recordset(v_due) as d (tenant_id text, kind text, oldest_at timestamptz)
        order by
            d.oldest_at,
            d.tenant_id,
            d.kind
    loop
        perform strongroom_private.enter_tenant(tenant_id);
        if strongroom_private.is_active_tenant(tenant_id) then
            return next;
        end if;
    end loop;
    perform set_config('strongroom.dispatching', '', true);
end
$$;
comment on function strongroom_private.list_tenants_to_expire(text) is
    'The active tenants in which something has expired, by kind, and since when; the longest'
    ' waiting first. SECURITY DEFINER, see its comment in the migration. Errors: SR020. Callers:'
    ' hosts.';

create function strongroom.expire_records(
    p_tenant_id text default null,
    p_limit integer default 500
)
returns table (kind text, expired bigint, has_more boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_bound text := coalesce(current_setting('strongroom.tenant_id', true), '');
    v_due record;
    v_count bigint;
    v_left bigint := p_limit;
    v_counts jsonb := jsonb '{}';
begin
    perform strongroom_private.check_limit(p_limit);
    if p_tenant_id is not null then
        perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    end if;
    for v_due in
        select
            t.tenant_id,
            t.kind
        from strongroom_private.list_tenants_to_expire(p_tenant_id) as t
    loop
        exit when v_left <= 0;
        continue when not strongroom_private.hold_active_tenant(v_due.tenant_id);
        case v_due.kind
            when 'framework_records' then
                select e.expired
                into v_count
                from strongroom.expire_framework_records(
                    v_due.tenant_id, v_left::integer
                ) as e;
            when 'memories' then
                select e.expired
                into v_count
                from strongroom.expire_memories(v_due.tenant_id, v_left::integer) as e;
            when 'tool_outputs' then
                select e.expired
                into v_count
                from strongroom.expire_tool_outputs(v_due.tenant_id, v_left::integer) as e;
        end case;
        v_left := v_left - v_count;
        v_counts := v_counts || jsonb_build_object(
            v_due.kind, coalesce((v_counts ->> v_due.kind)::bigint, 0) + v_count
        );
    end loop;
    return query
    select
        k.kind,
        coalesce((v_counts ->> k.kind)::bigint, 0),
        k.kind in (
            select t.kind
            from strongroom_private.list_tenants_to_expire(p_tenant_id) as t
        )
    from unnest('{framework_records,memories,tool_outputs}'::text[]) as k (kind);
    perform set_config('strongroom.tenant_id', v_bound, true);
end
$$;
comment on function strongroom.expire_records(text, integer) is
    'One bounded step: delete up to p_limit records whose expires_at has passed, of one tenant or'
    ' of all, the longest waiting first. Returns per kind how many, and whether more is left. Tool'
    ' outputs of a conversation with an unfinished run wait for its end. Passes over suspended'
    ' tenants, one that is being purged, and what others have locked: when a step deletes nothing,'
    ' what is left is theirs. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.read_expiry_queue(p_tenant_id text)
returns table (expired bigint, oldest_at timestamptz)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    return query
    select
        coalesce(sum(e.expired), 0)::bigint,
        min(e.oldest_at)
    from (
        select
            count(*) as expired,
            min(r.expires_at) as oldest_at
        from strongroom.framework_records as r
        where r.tenant_id = p_tenant_id
            and r.expires_at <= now()
        union all
        select
            count(*),
            min(m.expires_at)
        from strongroom.memories as m
        where m.tenant_id = p_tenant_id
            and m.expires_at <= now()
        union all
        select
            count(*),
            min(o.expires_at)
        from strongroom.tool_outputs as o
        where o.tenant_id = p_tenant_id
            and o.expires_at <= now()
            and not exists (
                select
                from strongroom.runs as r
                where r.tenant_id = o.tenant_id
                    and r.conversation_id = o.conversation_id
                    and r.status not in ('completed', 'failed', 'cancelled')
            )
    ) as e;
end
$$;
comment on function strongroom.read_expiry_queue(text) is
    'How many of a tenant''s records have expired and are still there, and since when the oldest of'
    ' them waits: is anybody calling expire_records? Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom_private.schedule_expiry(p_schedule text default '*/5 * * * *')
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select strongroom_private.schedule_call(
        'strongroom expiry',
        p_schedule,
        'select * from strongroom.expire_records(null, 500)',
        'strongroom retention expire'
    )
$$;
comment on function strongroom_private.schedule_expiry(text) is
    'Where the server has pg_cron: delete what has expired, of all tenants, on this schedule, as'
    ' the schema''s owner; returns the job''s id. A repeat changes the schedule. Errors: SR040.'
    ' Callers: the owner.';


-- ---------------------------------------------------------------------------------------------
-- Grants
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.framework_sessions,strongroom.framework_records}',
    '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.framework_record_details}', '{select}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.path_digest,
        strongroom_private.path_text,
        strongroom_private.path_text_end,
        strongroom_private.check_word,
        strongroom_private.check_framework_path,
        strongroom_private.read_framework_path,
        strongroom_private.check_framework_record,
        strongroom_private.check_framework_records,
        strongroom_private.check_framework_principal,
        strongroom_private.find_framework_owner,
        strongroom_private.hold_framework_session,
        strongroom.find_framework_session,
        strongroom.put_framework_session,
        strongroom.list_framework_sessions,
        strongroom.delete_framework_sessions,
        strongroom.fork_framework_session,
        strongroom.append_framework_records,
        strongroom.list_framework_records,
        strongroom.delete_framework_records,
        strongroom.put_framework_records,
        strongroom.find_framework_records,
        strongroom.search_framework_records,
        strongroom.expire_framework_records,
        strongroom.read_framework_checkpoints,
        strongroom.prune_framework_checkpoints,
        strongroom_private.list_tenants_to_expire,
        strongroom.expire_records,
        strongroom.read_expiry_queue
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(16, 'frameworks');
