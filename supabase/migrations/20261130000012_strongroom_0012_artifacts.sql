-- GENERATED from strongroom's migration 0012_artifacts: do not edit this copy.

-- strongroom 0012: artifacts
--
-- Purpose     What runs make: artifacts with immutable versions and their exports, and tool outputs
--             that are too large for a message.
-- Artifacts   An artifact hangs on a conversation and has its reading rule, or it has an owner, who
--             alone reads it. Its versions are 1, 2, 3, ... without gaps; none is ever changed.
-- Outputs     A tool output is known by its content: kind and sha256, within its conversation. The
--             database computes the digest, so the same content is stored once there, and what
--             another conversation or tenant has stored shows in nothing.
-- Content     Inline (text, JSON; for tool outputs also bytes) up to a limit, else an opaque key of
--             the blob store. A row that goes, by a cascade too, schedules its bytes' removal.
-- Provenance  Runs, messages, tool calls and source versions are named without foreign keys: the
--             names stay when what they name is gone.
-- Locks       Always the conversation's row first, then the run's (a write under a claim), then the
--             artifact's. A sweep of expired outputs locks one conversation at a time, in the order
--             of their ids. Nothing that tenants or conversations share is locked.

select strongroom_private.begin_migration(12, 'artifacts');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '12';
select strongroom_private.require_transaction(12);


-- ---------------------------------------------------------------------------------------------
-- Content
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.check_content(
    p_text text,
    p_value jsonb,
    p_data text,
    p_blob_key text,
    p_sha256 text,
    p_size_bytes bigint,
    p_media_type text,
    p_limit_bytes integer
)
returns table (
    kind text,
    body text,
    bytes bytea,
    size_bytes bigint,
    sha256 text,
    media_type text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if num_nonnulls(p_text, p_value, p_data, p_blob_key) <> 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'exactly one kind of content is required',
            '{"path": "text"}',
            'Give a text, a JSON value, bytes, or the key of a blob.'
        );
    end if;
    if p_sha256 is not null and p_sha256 !~ '^[0-9a-f]{64}$' then
        perform strongroom_private.fail(
            'invalid_argument',
            'sha256 must be 64 hexadecimal digits in lower case',
            '{"path": "sha256"}',
            'Give the SHA-256 of the bytes, as hexadecimal text.'
        );
    end if;
    perform strongroom_private.check_optional_id('media_type', p_media_type);
    if p_blob_key is not null then
        perform strongroom_private.check_blob_key('blob_key', p_blob_key);
        if p_sha256 is null then
            perform strongroom_private.fail(
                'invalid_argument', 'sha256 is required with a blob', '{"path": "sha256"}',
                'Give the SHA-256 that the blob store computed.'
            );
        end if;
        if p_size_bytes is null or p_size_bytes not between 0 and 9007199254740991 then
            perform strongroom_private.fail(
                'invalid_argument',
                'size_bytes must be between 0 and 9007199254740991',
                jsonb_build_object('path', 'size_bytes', 'actual', p_size_bytes),
                'Give the size that the blob store counted.'
            );
        end if;
        kind := 'blob';
        size_bytes := p_size_bytes;
        sha256 := p_sha256;
        media_type := coalesce(p_media_type, 'application/octet-stream');
        return next;
        return;
    end if;
    if p_data is not null then
        kind := 'bytes';
        media_type := coalesce(p_media_type, 'application/octet-stream');
        begin
            bytes := decode(p_data, 'base64');
        exception
            when data_exception then
                perform strongroom_private.fail(
                    'invalid_argument', 'data is not base64', '{"path": "data"}',
                    'Encode the bytes.'
                );
        end;
        size_bytes := octet_length(bytes);
        sha256 := encode(sha256(bytes), 'hex');
    else
        kind := case when p_text is null then 'json' else 'text' end;
        media_type := coalesce(
            p_media_type, case when p_text is null then 'application/json' else 'text/plain' end
        );
        body := coalesce(p_text, p_value::text);
        size_bytes := octet_length(body);
        sha256 := encode(sha256(convert_to(body, 'UTF8')), 'hex');
    end if;
    if size_bytes > p_limit_bytes then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('the content has %s bytes; at most %s are allowed inline',
                size_bytes, p_limit_bytes),
            jsonb_build_object(
                'path', case kind when 'json' then 'value' when 'text' then 'text' else 'data' end,
                'limit', p_limit_bytes, 'actual', size_bytes
            ),
            'Put it into the blob store, and give its key, size and SHA-256.'
        );
    end if;
    if sha256 <> coalesce(p_sha256, sha256) then
        perform strongroom_private.fail(
            'invalid_argument', 'sha256 is not that of the content',
            jsonb_build_object('path', 'sha256', 'actual', p_sha256),
            'The content was changed on its way, or it is other content.'
        );
    end if;
    return next;
end
$$;
comment on function strongroom_private.check_content(
    text, jsonb, text, text, text, bigint, text, integer
) is
    'One row: what kind of content this is, its size, digest and media type. JSON is measured and'
    ' hashed as jsonb writes it. A digest that is given is verified. Errors: SR001, SR004.';

create function strongroom_private.hold_run_claim(
    p_tenant_id text,
    p_conversation_id text,
    p_run_id text,
    p_claim_token bigint
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_conversation_id text;
begin
    perform strongroom_private.check_id('run_id', p_run_id);
    select r.conversation_id
    into v_conversation_id
    from strongroom.runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id;
    -- Before any lock, so that no call ever locks two conversations.
    if v_conversation_id <> p_conversation_id then
        perform strongroom_private.fail(
            'invalid_argument', 'run_id is a run of another conversation', '{"path": "run_id"}',
            'A run writes to its own conversation.'
        );
    end if;
    perform strongroom_private.lock_claimed_run(p_tenant_id, p_run_id, p_claim_token);
end
$$;
comment on function strongroom_private.hold_run_claim(text, text, text, bigint) is
    'Lock the conversation and the run that a write is made on behalf of; the claim must be the'
    ' newest one. Without a conversation any run will do. Errors: SR001, SR010, SR031.';


-- ---------------------------------------------------------------------------------------------
-- Artifacts
-- ---------------------------------------------------------------------------------------------
-- Invariants: an artifact has at least one version, and its latest_version is how many. A name
-- names one living artifact of a conversation, or of an owner.

create table strongroom.artifacts (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    conversation_id text collate "C",
    owner_id text collate "C",
    name text collate "C" not null,
    title text,
    metadata jsonb not null default '{}',
    latest_version integer not null default 1,
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    deleted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint artifacts_pkey primary key (tenant_id, id),
    constraint artifact_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint artifact_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint an_artifact_has_a_conversation_or_an_owner
        check (num_nonnulls(conversation_id, owner_id) = 1),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint owner_id_has_1_to_255_characters check (char_length(owner_id) between 1 and 255),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint title_has_1_to_255_characters check (char_length(title) between 1 and 255),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint latest_version_is_positive check (latest_version > 0),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.artifacts is
    'Documents, programs, pictures that runs and people make, each with its versions.';
comment on column strongroom.artifacts.tenant_id is 'The tenant.';
comment on column strongroom.artifacts.id is 'The artifact''s id.';
comment on column strongroom.artifacts.conversation_id is
    'The conversation that it hangs on, whose reading rule it has; null for one with an owner.';
comment on column strongroom.artifacts.owner_id is
    'The principal who alone reads it; null for one of a conversation.';
comment on column strongroom.artifacts.name is
    'What programs call it; slashes make segments: reports/2026.md.';
comment on column strongroom.artifacts.title is 'What people call it.';
comment on column strongroom.artifacts.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.artifacts.latest_version is 'Its newest version, and how many it has.';
comment on column strongroom.artifacts.version is
    'One more at every change of the record itself; a new version of the content is none.';
comment on column strongroom.artifacts.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.artifacts.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.artifacts.deleted_at is 'When it was soft-deleted.';
comment on column strongroom.artifacts.created_at is 'When it was created.';
comment on column strongroom.artifacts.updated_at is
    'When it last changed, or got its newest version.';

create unique index a_name_names_one_living_artifact_of_a_conversation
    on strongroom.artifacts (tenant_id, conversation_id, name)
    where deleted_at is null and conversation_id is not null;
comment on index strongroom.a_name_names_one_living_artifact_of_a_conversation is
    'A soft-deleted artifact''s name is free again.';
create unique index a_name_names_one_living_artifact_of_an_owner
    on strongroom.artifacts (tenant_id, owner_id, name)
    where deleted_at is null and owner_id is not null;
comment on index strongroom.a_name_names_one_living_artifact_of_an_owner is
    'A soft-deleted artifact''s name is free again.';
create index artifacts_by_creation
    on strongroom.artifacts (tenant_id, created_at, id);
comment on index strongroom.artifacts_by_creation is 'Pages of a tenant''s artifacts.';
create index artifacts_by_conversation
    on strongroom.artifacts (tenant_id, conversation_id, created_at, id);
comment on index strongroom.artifacts_by_conversation is 'Pages of a conversation''s artifacts.';
create index artifacts_by_owner
    on strongroom.artifacts (tenant_id, owner_id, created_at, id);
comment on index strongroom.artifacts_by_owner is
    'Pages of an owner''s artifacts, and what their erasure finds.';

alter table strongroom.artifacts enable row level security;
alter table strongroom.artifacts force row level security;
create policy readers_read on strongroom.artifacts
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or (
                deleted_at is null
                and (
                    owner_id = (select strongroom_private.current_principal())
                    or (
                        conversation_id is not null
                        and strongroom_private.may_read_conversation(tenant_id, conversation_id)
                    )
                )
            )
        )
    );
comment on policy readers_read on strongroom.artifacts is
    'Hosts read the bound tenant''s; users as the conversation, or what they own.';
create policy trusted_inserts on strongroom.artifacts
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.artifacts is 'Hosts.';
create policy trusted_updates on strongroom.artifacts
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.artifacts is 'Hosts.';
create policy trusted_deletes on strongroom.artifacts
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.artifacts is 'Hosts, through purge_artifact.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.artifacts',
    p_column => 'owner_id',
    p_action => 'delete',
    p_reason => 'What a person owns is theirs alone. Others go with their conversation.'
);

create function strongroom_private.may_read_artifact(p_tenant_id text, p_artifact_id text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- With the caller's rights: the policy of artifacts decides.
    return exists (
        select
        from strongroom.artifacts as a
        where a.tenant_id = p_tenant_id
            and a.id = p_artifact_id
    );
end
$$;
comment on function strongroom_private.may_read_artifact(text, text) is
    'Whether the policy of artifacts shows this one to the caller. For policies of what hangs on'
    ' it.';

create table strongroom.artifact_versions (
    tenant_id text collate "C" not null,
    artifact_id text collate "C" not null,
    version integer not null,
    id text collate "C" not null,
    conversation_id text collate "C",
    kind text collate "C" not null,
    content text,
    blob_key text collate "C",
    size_bytes bigint not null,
    sha256 text collate "C" not null,
    media_type text collate "C" not null,
    run_id text collate "C",
    message_id text collate "C",
    tool_call_id text collate "C",
    source_artifact_id text collate "C",
    source_version integer,
    created_at timestamptz not null default now(),
    constraint artifact_versions_pkey primary key (tenant_id, artifact_id, version),
    constraint a_version_id_names_one_version_of_an_artifact unique (tenant_id, artifact_id, id),
    constraint version_belongs_to_an_artifact
        foreign key (tenant_id, artifact_id)
        references strongroom.artifacts (tenant_id, id)
        on delete cascade,
    constraint version_is_positive check (version > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint kind_is_known check (kind in ('text', 'json', 'blob')),
    constraint content_is_inline_or_a_blob
        check (
            (kind = 'blob') = (blob_key is not null)
            and (kind = 'blob') = (content is null)
        ),
    constraint inline_content_has_at_most_4_mib
        check (octet_length(content) <= 4194304),
    constraint blob_key_has_1_to_1024_bytes
        check (octet_length(blob_key) between 1 and 1024),
    constraint size_is_a_whole_number_of_bytes
        check (size_bytes between 0 and 9007199254740991),
    constraint sha256_is_hexadecimal check (sha256 ~ '^[0-9a-f]{64}$'),
    constraint media_type_has_1_to_255_characters check (char_length(media_type) between 1 and 255),
    constraint a_source_is_a_version_of_an_artifact
        check ((source_artifact_id is null) = (source_version is null) and source_version > 0)
);
comment on table strongroom.artifact_versions is
    'The versions of artifacts: 1, 2, 3, ... Insert-only; they leave only with their artifact.';
comment on column strongroom.artifact_versions.tenant_id is 'The tenant.';
comment on column strongroom.artifact_versions.artifact_id is 'The artifact.';
comment on column strongroom.artifact_versions.version is '1, 2, 3, ... without gaps.';
comment on column strongroom.artifact_versions.id is
    'The version''s id: a repeated add is known by it.';
comment on column strongroom.artifact_versions.conversation_id is
    'The artifact''s conversation, where it has one.';
comment on column strongroom.artifact_versions.kind is 'text, json, or blob.';
comment on column strongroom.artifact_versions.content is
    'The text, or the JSON as jsonb writes it; at most 4 MiB.';
comment on column strongroom.artifact_versions.blob_key is 'Where the blob store has the bytes.';
comment on column strongroom.artifact_versions.size_bytes is
    'How many bytes the content has. Safe as a JavaScript number.';
comment on column strongroom.artifact_versions.sha256 is 'The SHA-256 of the content.';
comment on column strongroom.artifact_versions.media_type is 'What the content is.';
comment on column strongroom.artifact_versions.run_id is 'The run that made it.';
comment on column strongroom.artifact_versions.message_id is 'The message that it came with.';
comment on column strongroom.artifact_versions.tool_call_id is 'The tool call that made it.';
comment on column strongroom.artifact_versions.source_artifact_id is
    'The artifact that it was made from.';
comment on column strongroom.artifact_versions.source_version is 'Which version of that one.';
comment on column strongroom.artifact_versions.created_at is 'When it was added.';

create index artifact_versions_by_blob
    on strongroom.artifact_versions (tenant_id, blob_key)
    where blob_key is not null;
comment on index strongroom.artifact_versions_by_blob is 'Whether a blob is still in use.';

create trigger artifact_versions_are_insert_only
    before update or delete on strongroom.artifact_versions
    for each row
    execute function strongroom_private.keep_history('strongroom.artifacts', 'id', 'artifact_id');
comment on trigger artifact_versions_are_insert_only on strongroom.artifact_versions is
    'See keep_history.';
create trigger artifact_versions_are_never_truncated
    before truncate on strongroom.artifact_versions
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger artifact_versions_are_never_truncated on strongroom.artifact_versions is
    'See keep_history.';

alter table strongroom.artifact_versions enable row level security;
alter table strongroom.artifact_versions force row level security;
create policy readers_read on strongroom.artifact_versions
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_artifact(tenant_id, artifact_id)
        )
    );
comment on policy readers_read on strongroom.artifact_versions is 'As the artifact.';
create policy trusted_inserts on strongroom.artifact_versions
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.artifact_versions is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.artifact_versions',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They go with their artifact, which says whose it is.'
);

create table strongroom.artifact_exports (
    tenant_id text collate "C" not null,
    artifact_id text collate "C" not null,
    version integer not null,
    format text collate "C" not null,
    conversation_id text collate "C",
    status text collate "C" not null,
    attempt integer not null,
    claim_token bigint not null,
    worker_id text collate "C" not null,
    lease_expires_at timestamptz,
    blob_key text collate "C",
    size_bytes bigint,
    sha256 text collate "C",
    media_type text collate "C",
    error jsonb,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint artifact_exports_pkey primary key (tenant_id, artifact_id, version, format),
    constraint export_belongs_to_a_version
        foreign key (tenant_id, artifact_id, version)
        references strongroom.artifact_versions (tenant_id, artifact_id, version)
        on delete cascade,
    constraint format_has_1_to_255_characters check (char_length(format) between 1 and 255),
    constraint status_is_known check (status in ('claimed', 'finished', 'failed')),
    constraint attempt_is_positive check (attempt > 0),
    constraint claim_token_is_positive check (claim_token > 0),
    constraint worker_id_has_1_to_255_characters check (char_length(worker_id) between 1 and 255),
    constraint only_a_claimed_export_has_a_lease
        check ((status = 'claimed') = (lease_expires_at is not null)),
    constraint only_a_finished_export_has_a_blob
        check (
            num_nonnulls(blob_key, size_bytes, sha256, media_type)
            = case status when 'finished' then 4 else 0 end
        ),
    constraint only_a_failed_export_has_an_error
        check ((status = 'failed') = (error is not null)),
    constraint blob_key_has_1_to_1024_bytes
        check (octet_length(blob_key) between 1 and 1024),
    constraint size_is_a_whole_number_of_bytes
        check (size_bytes between 0 and 9007199254740991),
    constraint sha256_is_hexadecimal check (sha256 ~ '^[0-9a-f]{64}$'),
    constraint media_type_has_1_to_255_characters check (char_length(media_type) between 1 and 255),
    constraint error_is_an_object check (jsonb_typeof(error) = 'object')
);
comment on table strongroom.artifact_exports is
    'Versions turned into other formats: each is claimed by one exporter at a time.';
comment on column strongroom.artifact_exports.tenant_id is 'The tenant.';
comment on column strongroom.artifact_exports.artifact_id is 'The artifact.';
comment on column strongroom.artifact_exports.version is 'Its version.';
comment on column strongroom.artifact_exports.format is 'The format, for example pdf.';
comment on column strongroom.artifact_exports.conversation_id is
    'The artifact''s conversation, where it has one.';
comment on column strongroom.artifact_exports.status is 'claimed, finished or failed.';
comment on column strongroom.artifact_exports.attempt is 'How often it was claimed.';
comment on column strongroom.artifact_exports.claim_token is
    'The newest claim: strictly growing. Safe as a JavaScript number.';
comment on column strongroom.artifact_exports.worker_id is 'Who claimed it last.';
comment on column strongroom.artifact_exports.lease_expires_at is
    'After this moment another exporter may take a claimed one over.';
comment on column strongroom.artifact_exports.blob_key is 'Where the blob store has the result.';
comment on column strongroom.artifact_exports.size_bytes is
    'How many bytes the result has. Safe as a JavaScript number.';
comment on column strongroom.artifact_exports.sha256 is 'The SHA-256 of the result.';
comment on column strongroom.artifact_exports.media_type is 'What the result is.';
comment on column strongroom.artifact_exports.error is 'Why it failed; it may be claimed again.';
comment on column strongroom.artifact_exports.created_at is 'When it was first claimed.';
comment on column strongroom.artifact_exports.updated_at is 'When it last changed.';

create index artifact_exports_by_blob
    on strongroom.artifact_exports (tenant_id, blob_key)
    where blob_key is not null;
comment on index strongroom.artifact_exports_by_blob is 'Whether a blob is still in use.';

alter table strongroom.artifact_exports enable row level security;
alter table strongroom.artifact_exports force row level security;
create policy readers_read on strongroom.artifact_exports
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_artifact(tenant_id, artifact_id)
        )
    );
comment on policy readers_read on strongroom.artifact_exports is 'As the artifact.';
create policy trusted_inserts on strongroom.artifact_exports
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.artifact_exports is 'Hosts.';
create policy trusted_updates on strongroom.artifact_exports
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.artifact_exports is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.artifact_exports',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They go with their artifact, which says whose it is.'
);

create view strongroom.artifact_details
with (security_invoker = true)
as
select
    a.tenant_id,
    a.id,
    a.conversation_id,
    a.owner_id,
    a.name,
    a.title,
    a.metadata,
    a.latest_version,
    a.version,
    a.deleted_at,
    a.created_at,
    a.updated_at
from strongroom.artifacts as a;
comment on view strongroom.artifact_details is
    'An artifact as the functions return it, without bookkeeping columns. Under the row security of'
    ' the reader.';

create type strongroom.created_artifact as (
    tenant_id text,
    id text,
    conversation_id text,
    owner_id text,
    name text,
    title text,
    metadata jsonb,
    latest_version integer,
    version bigint,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.created_artifact is
    'artifact_details, and whether the create inserted it or was a duplicate.';

create view strongroom.artifact_version_details
with (security_invoker = true)
as
select
    v.tenant_id,
    v.artifact_id,
    v.version,
    v.id,
    v.kind,
    v.size_bytes,
    v.sha256,
    v.media_type,
    v.blob_key,
    v.run_id,
    v.message_id,
    v.tool_call_id,
    v.source_artifact_id,
    v.source_version,
    v.created_at
from strongroom.artifact_versions as v;
comment on view strongroom.artifact_version_details is
    'A version without its content. Under the row security of the reader.';

create function strongroom_private.is_readable_artifact(
    p_tenant_id text,
    p_artifact_id text,
    p_viewer_id text
)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return exists (
        select
        from strongroom.artifacts as a
        where a.tenant_id = p_tenant_id
            and a.id = p_artifact_id
            and a.deleted_at is null
            and case
                when a.conversation_id is null
                then p_viewer_id is null or a.owner_id = p_viewer_id
                else strongroom_private.is_readable_conversation(
                    a.tenant_id, a.conversation_id, p_viewer_id
                )
            end
    );
end
$$;
comment on function strongroom_private.is_readable_artifact(text, text, text) is
    'Whether this viewer may read a living artifact; without a viewer, whether it lives.';

create function strongroom_private.require_readable_artifact(
    p_tenant_id text,
    p_artifact_id text,
    p_viewer_id text
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('artifact_id', p_artifact_id);
    if not strongroom_private.is_readable_artifact(p_tenant_id, p_artifact_id, v_viewer_id) then
        perform strongroom_private.fail_missed_write('artifact', null, null);
    end if;
end
$$;
comment on function strongroom_private.require_readable_artifact(text, text, text) is
    'Enter the tenant, and one check per call for whatever hangs on an artifact. Errors: SR001,'
    ' SR004, SR010, SR020, SR021.';

create function strongroom_private.lock_artifact(
    p_tenant_id text,
    p_artifact_id text,
    p_deleted boolean default false,
    p_run_id text default null,
    p_claim_token bigint default null
)
returns strongroom.artifacts
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_artifact strongroom.artifacts;
    v_conversation_id text;
begin
    perform strongroom_private.check_id('artifact_id', p_artifact_id);
    select a.conversation_id
    into v_conversation_id
    from strongroom.artifacts as a
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id;
    if not found then
        perform strongroom_private.fail_missed_write('artifact', null, null);
    end if;
    -- The conversation first: it may be deleted in this moment, and then nothing may be added to
    -- what hangs on it. An absent artifact and one of a deleted conversation are the same.
    if p_claim_token is not null then
        perform strongroom_private.hold_run_claim(
            p_tenant_id, v_conversation_id, p_run_id, p_claim_token
        );
    elsif v_conversation_id is not null then
        perform
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = v_conversation_id
            and c.deleted_at is null
        for no key update;
        if not found then
            perform strongroom_private.fail_missed_write('artifact', null, null);
        end if;
    end if;
    select a.*
    into v_artifact
    from strongroom.artifacts as a
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id
        and (p_deleted or a.deleted_at is null)
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('artifact', null, null);
    end if;
    return v_artifact;
end
$$;
comment on function strongroom_private.lock_artifact(text, text, boolean, text, bigint) is
    'The first step of every write to an artifact: lock its living conversation, the run that the'
    ' write is made for, and the artifact. p_deleted: also a soft-deleted one. Errors: SR001,'
    ' SR004, SR010, SR031.';

create function strongroom_private.check_provenance(p_provenance jsonb, p_claim_token bigint)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text;
begin
    perform strongroom_private.check_keys(
        'provenance', p_provenance,
        '{run_id,message_id,tool_call_id,source_artifact_id,source_version}'
    );
    foreach v_name in array '{run_id,message_id,tool_call_id,source_artifact_id}'::text[] loop
        perform strongroom_private.check_text('provenance.' || v_name, p_provenance -> v_name);
        perform strongroom_private.check_optional_id(
            'provenance.' || v_name, p_provenance ->> v_name
        );
    end loop;
    if (p_provenance ->> 'source_artifact_id' is null)
        <> (p_provenance ->> 'source_version' is null)
        or not coalesce(
            strongroom_private.is_whole_number(
                nullif(p_provenance -> 'source_version', 'null'), 1
            )
            and (p_provenance ->> 'source_version')::numeric <= 2147483647,
            true
        )
    then
        perform strongroom_private.fail(
            'invalid_argument',
            'provenance.source_version is a version of provenance.source_artifact_id, from 1 up',
            '{"path": "provenance.source_version"}',
            'Give the source artifact and its version, or neither.'
        );
    end if;
    if p_claim_token is not null and p_provenance ->> 'run_id' is null then
        perform strongroom_private.fail(
            'invalid_argument', 'a claim token needs provenance.run_id',
            '{"path": "provenance.run_id"}', 'Say which run the claim is of.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_provenance(jsonb, bigint) is
    'Where a version comes from: run, message, tool call, source version; a write under a claim'
    ' names its run. Errors: SR001, SR004.';

create function strongroom_private.write_artifact_version(
    p_artifact strongroom.artifacts,
    p_version integer,
    p_version_id text,
    p_kind text,
    p_body text,
    p_blob_key text,
    p_size_bytes bigint,
    p_sha256 text,
    p_media_type text,
    p_provenance jsonb
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into strongroom.artifact_versions (
        tenant_id, artifact_id, version, id, conversation_id, kind, content, blob_key, size_bytes,
        sha256, media_type, run_id, message_id, tool_call_id, source_artifact_id, source_version
    )
    values (
        p_artifact.tenant_id, p_artifact.id, p_version, p_version_id, p_artifact.conversation_id,
        p_kind, p_body, p_blob_key, p_size_bytes, p_sha256, p_media_type,
        p_provenance ->> 'run_id', p_provenance ->> 'message_id', p_provenance ->> 'tool_call_id',
        p_provenance ->> 'source_artifact_id', (p_provenance ->> 'source_version')::integer
    )
$$;
comment on function strongroom_private.write_artifact_version(
    strongroom.artifacts, integer, text, text, text, text, bigint, text, text, jsonb
) is
    'Insert a version, under the artifact''s lock or with the artifact itself.';

create function strongroom.find_artifact(
    p_tenant_id text,
    p_artifact_id text,
    p_viewer_id text default null,
    p_deleted boolean default false
)
returns setof strongroom.artifact_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('artifact_id', p_artifact_id);
    if not p_deleted and not strongroom_private.is_readable_artifact(
        p_tenant_id, p_artifact_id, v_viewer_id
    ) then
        return;
    end if;
    return query
    select d.*
    from strongroom.artifact_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_artifact_id
        and (d.deleted_at is not null) = p_deleted
        and (not p_deleted or v_viewer_id is null);
end
$$;
comment on function strongroom.find_artifact(text, text, text, boolean) is
    'The artifact, or no row when it does not exist or the viewer may not read it. With p_deleted,'
    ' a soft-deleted one, which hosts alone see. Errors: SR001, SR004, SR020, SR021. Callers:'
    ' hosts, users.';

create function strongroom.create_artifact(
    p_tenant_id text,
    p_name text,
    p_conversation_id text default null,
    p_owner_id text default null,
    p_artifact_id text default null,
    p_title text default null,
    p_metadata jsonb default '{}',
    p_text text default null,
    p_value jsonb default null,
    p_blob_key text default null,
    p_sha256 text default null,
    p_size_bytes bigint default null,
    p_media_type text default null,
    p_provenance jsonb default '{}',
    p_claim_token bigint default null
)
returns setof strongroom.created_artifact
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id text := coalesce(p_artifact_id, gen_random_uuid()::text);
    v_content record;
    v_digest text;
    v_outcome text := 'duplicate';
    v_artifact strongroom.artifacts;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('artifact_id', v_id);
    perform strongroom_private.check_id('name', p_name);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_optional_id('owner_id', p_owner_id);
    perform strongroom_private.check_optional_name('title', p_title);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    perform strongroom_private.check_provenance(p_provenance, p_claim_token);
    if num_nonnulls(p_conversation_id, p_owner_id) <> 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'an artifact has a conversation or an owner, and not both',
            '{"path": "conversation_id"}',
            'Give the conversation that it hangs on, or the one principal whose it is.'
        );
    end if;
    select c.*
    into strict v_content
    from strongroom_private.check_content(
        p_text, p_value, null, p_blob_key, p_sha256, p_size_bytes, p_media_type, 4194304
    ) as c;
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_conversation_id, p_owner_id, p_name, p_title, p_metadata, v_content.kind,
        v_content.sha256, v_content.size_bytes, v_content.media_type, p_blob_key,
        jsonb_strip_nulls(p_provenance)
    ));
    if p_claim_token is not null then
        perform strongroom_private.hold_run_claim(
            p_tenant_id, p_conversation_id, p_provenance ->> 'run_id', p_claim_token
        );
    elsif p_conversation_id is not null then
        perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    end if;

    insert into strongroom.artifacts (
        tenant_id, id, conversation_id, owner_id, name, title, metadata, creation_digest
    )
    values (
        p_tenant_id, v_id, p_conversation_id, p_owner_id, p_name, p_title, p_metadata, v_digest
    )
    on conflict do nothing
    returning * into v_artifact;
    if found then
        v_outcome := 'inserted';
        perform strongroom_private.write_artifact_version(
            v_artifact, 1, v_id, v_content.kind, v_content.body, p_blob_key,
            v_content.size_bytes, v_content.sha256, v_content.media_type, p_provenance
        );
    end if;

    return query
    select
        d.*,
        v_outcome
    from strongroom.artifact_details as d
    inner join strongroom.artifacts as a
        on a.tenant_id = d.tenant_id
        and a.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_id
        and a.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            case
                when exists (
                    select
                    from strongroom.artifacts as a
                    where a.tenant_id = p_tenant_id
                        and a.id = v_id
                )
                then 'an artifact with this id was created with other content'
                else 'another artifact has this name'
            end,
            jsonb_build_object('path', 'name', 'record', 'artifact', 'id', v_id),
            'Add a version to the existing one, or choose another id or name.'
        );
    end if;
end
$$;
comment on function strongroom.create_artifact(
    text, text, text, text, text, text, jsonb, text, jsonb, text, text, bigint, text, jsonb, bigint
) is
    'Create an artifact with its version 1: of a conversation, or of an owner. Content is a text, a'
    ' JSON value (4 MiB inline), or a blob with its digest and size. A repeat with the same id and'
    ' arguments changes nothing and returns the stored row with outcome duplicate. Errors: SR001,'
    ' SR004, SR010, SR011, SR020, SR030, SR031. Callers: hosts.';

create function strongroom.add_artifact_version(
    p_tenant_id text,
    p_artifact_id text,
    p_expected_latest integer,
    p_version_id text default null,
    p_text text default null,
    p_value jsonb default null,
    p_blob_key text default null,
    p_sha256 text default null,
    p_size_bytes bigint default null,
    p_media_type text default null,
    p_provenance jsonb default '{}',
    p_claim_token bigint default null
)
returns table (
    tenant_id text,
    artifact_id text,
    version integer,
    id text,
    kind text,
    size_bytes bigint,
    sha256 text,
    media_type text,
    blob_key text,
    run_id text,
    message_id text,
    tool_call_id text,
    source_artifact_id text,
    source_version integer,
    created_at timestamptz,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_id text := coalesce(p_version_id, gen_random_uuid()::text);
    v_content record;
    v_artifact strongroom.artifacts;
    v_stored strongroom.artifact_versions;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('version_id', v_id);
    perform strongroom_private.check_provenance(p_provenance, p_claim_token);
    if coalesce(p_expected_latest, 0) < 1 then
        perform strongroom_private.fail(
            'invalid_argument', 'expected_latest is required', '{"path": "expected_latest"}',
            'Give the newest version that you know.'
        );
    end if;
    select c.*
    into strict v_content
    from strongroom_private.check_content(
        p_text, p_value, null, p_blob_key, p_sha256, p_size_bytes, p_media_type, 4194304
    ) as c;
    -- The race: two add on top of the same version. Both take this lock; the second finds a newer.
    v_artifact := strongroom_private.lock_artifact(
        p_tenant_id, p_artifact_id, false, p_provenance ->> 'run_id', p_claim_token
    );
    select v.*
    into v_stored
    from strongroom.artifact_versions as v
    where v.tenant_id = p_tenant_id
        and v.artifact_id = p_artifact_id
        and v.id = v_id;
    if not found then
        if p_expected_latest <> v_artifact.latest_version then
            perform strongroom_private.fail_missed_write(
                'artifact', p_expected_latest, v_artifact.latest_version
            );
        end if;
        perform strongroom_private.write_artifact_version(
            v_artifact, v_artifact.latest_version + 1, v_id, v_content.kind, v_content.body,
            p_blob_key, v_content.size_bytes, v_content.sha256, v_content.media_type, p_provenance
        );
        update strongroom.artifacts as a
        set latest_version = a.latest_version + 1,
            updated_at = now()
        where a.tenant_id = p_tenant_id
            and a.id = p_artifact_id;
        v_outcome := 'inserted';
    elsif (
        v_stored.kind, v_stored.sha256, v_stored.size_bytes, v_stored.media_type,
        v_stored.blob_key
    ) is distinct from (
        v_content.kind, v_content.sha256, v_content.size_bytes, v_content.media_type, p_blob_key
    ) or (
        v_stored.run_id, v_stored.message_id, v_stored.tool_call_id,
        v_stored.source_artifact_id, v_stored.source_version
    ) is distinct from (
        p_provenance ->> 'run_id', p_provenance ->> 'message_id', p_provenance ->> 'tool_call_id',
        p_provenance ->> 'source_artifact_id', (p_provenance ->> 'source_version')::integer
    ) then
        perform strongroom_private.fail(
            'already_exists', 'a version with this id was added with other content',
            jsonb_build_object('path', 'version_id', 'record', 'artifact version'),
            'Use a new id for a new version.'
        );
    end if;
    return query
    select
        d.*,
        v_outcome
    from strongroom.artifact_version_details as d
    where d.tenant_id = p_tenant_id
        and d.artifact_id = p_artifact_id
        and d.id = v_id;
end
$$;
comment on function strongroom.add_artifact_version(
    text, text, integer, text, text, jsonb, text, text, bigint, text, jsonb, bigint
) is
    'Add a version on top of the newest one that the caller knows: SR012 when there is a newer one.'
    ' A repeat with the same version id changes nothing. Errors: SR001, SR004, SR010, SR011, SR012,'
    ' SR020, SR030, SR031. Callers: hosts.';

create function strongroom.find_artifact_version(
    p_tenant_id text,
    p_artifact_id text,
    p_version integer default null,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    artifact_id text,
    version integer,
    id text,
    kind text,
    size_bytes bigint,
    sha256 text,
    media_type text,
    blob_key text,
    run_id text,
    message_id text,
    tool_call_id text,
    source_artifact_id text,
    source_version integer,
    created_at timestamptz,
    text text,
    value jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_version integer := p_version;
begin
    perform strongroom_private.require_readable_artifact(p_tenant_id, p_artifact_id, p_viewer_id);
    if v_version is null then
        select a.latest_version
        into v_version
        from strongroom.artifacts as a
        where a.tenant_id = p_tenant_id
            and a.id = p_artifact_id;
    end if;
    return query
    select
        d.*,
        case v.kind when 'text' then v.content end,
        case v.kind when 'json' then v.content::jsonb end
    from strongroom.artifact_version_details as d
    inner join strongroom.artifact_versions as v
        on v.tenant_id = d.tenant_id
        and v.artifact_id = d.artifact_id
        and v.version = d.version
    where d.tenant_id = p_tenant_id
        and d.artifact_id = p_artifact_id
        and d.version = v_version;
end
$$;
comment on function strongroom.find_artifact_version(text, text, integer, text) is
    'One version with its content, the newest without a number; or no row. Errors: SR001, SR004,'
    ' SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_artifact_versions(
    p_tenant_id text,
    p_artifact_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    artifact_id text,
    version integer,
    id text,
    kind text,
    size_bytes bigint,
    sha256 text,
    media_type text,
    blob_key text,
    run_id text,
    message_id text,
    tool_call_id text,
    source_artifact_id text,
    source_version integer,
    created_at timestamptz,
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
        'artifact_versions', jsonb_build_array(p_artifact_id), p_direction
    );
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.require_readable_artifact(p_tenant_id, p_artifact_id, p_viewer_id);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    return query execute format(
        $query$
            select
                d.*,
                strongroom_private.encode_cursor($3, array[d.version::text]),
                s.total > $4
            from (
                select
                    v.version,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select v.version
                    from strongroom.artifact_versions as v
                    where v.tenant_id = $1
                        and v.artifact_id = $5
                        and ($2 is null or v.version %1$s $2::integer)
                    order by v.version %2$s
                    limit $4 + 1
                ) as v
            ) as s
            cross join lateral (
                select d.*
                from strongroom.artifact_version_details as d
                where d.tenant_id = $1
                    and d.artifact_id = $5
                    and d.version = s.version
                offset 0
            ) as d
            where s.place <= $4
            order by d.version %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit, p_artifact_id;
end
$$;
comment on function strongroom.list_artifact_versions(
    text, text, integer, text, text, text, text
) is
    'A page of an artifact''s versions without their content, forward oldest first. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom.list_artifacts(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_conversation_id text default null,
    p_owner_id text default null,
    p_name text default null,
    p_name_prefix text default null,
    p_deleted boolean default false
)
returns table (
    tenant_id text,
    id text,
    conversation_id text,
    owner_id text,
    name text,
    title text,
    metadata jsonb,
    latest_version integer,
    version bigint,
    deleted_at timestamptz,
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
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text;
    v_keys text[];
    v_descending boolean;
    v_page text;
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_optional_id('owner_id', p_owner_id);
    perform strongroom_private.check_optional_id('name', p_name);
    perform strongroom_private.check_optional_id('name_prefix', p_name_prefix);
    v_scope := strongroom_private.cursor_scope(
        'artifacts',
        jsonb_build_array(
            v_viewer_id, p_conversation_id, p_owner_id, p_name, p_name_prefix, p_deleted
        ),
        p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    -- Forward is newest first.
    v_descending := (p_direction = 'forward') <> (p_before is not null);
    -- A prefix is literal, and ends where a segment ends: a/b has a/b itself and a/b/c, not a/bc.
    v_page := format(
        $query$
            select a.id, a.created_at
            from strongroom.artifacts as a
            where a.tenant_id = $1
                and (a.deleted_at is not null) = $9
                and ($6 is null or a.conversation_id = $6)
                and ($7 is null or a.owner_id = $7)
                and ($10 is null or a.name = $10)
                and (
                    $8 is null
                    or a.name = $8
                    or left(a.name, char_length($11)) = $11
                )
                and ($2 is null or (a.created_at, a.id) %1$s (
                    strongroom_private.from_microseconds($2[1]), $2[2]
                ))
                and %%s
            order by a.created_at %2$s, a.id %2$s
            limit $4 + 1
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end
    );
    -- For a viewer one branch per reason to read, so that the cost follows what they may read.
    v_page := case
        when v_viewer_id is null
        then concat_ws(
            ' union all ',
            format('(' || v_page || ')', 'a.conversation_id is null'),
            strongroom_private.readable_branches(v_page, 'a.conversation_id', null, '$5')
        )
        when p_deleted then format(v_page, 'false')
        else concat_ws(
            ' union ',
            format('(' || v_page || ')', 'a.conversation_id is null and a.owner_id = $5'),
            strongroom_private.readable_branches(v_page, 'a.conversation_id', v_viewer_id, '$5')
        )
    end;
    return query execute format(
        $query$
            select
                d.*,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(d.created_at), d.id]
                ),
                s.total > $4
            from (
                select
                    a.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select p.id
                    from (%3$s) as p
                    order by p.created_at %1$s, p.id %1$s
                    limit $4 + 1
                ) as a
            ) as s
            cross join lateral (
                select d.*
                from strongroom.artifact_details as d
                where d.tenant_id = $1
                    and d.id = s.id
                offset 0
            ) as d
            where s.place <= $4
            order by d.created_at %2$s, d.id %2$s
        $query$,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end,
        v_page
    )
    using
        p_tenant_id, v_keys, v_scope, p_limit, v_viewer_id,
        p_conversation_id, p_owner_id, p_name_prefix, p_deleted, p_name,
        rtrim(p_name_prefix, '/') || '/';
end
$$;
comment on function strongroom.list_artifacts(
    text, integer, text, text, text, text, text, text, text, text, boolean
) is
    'A page of artifacts, forward newest first, by creation. Filters: viewer, conversation, owner,'
    ' name, name prefix (literal; the name itself and what follows it after a slash), deleted.'
    ' has_more: whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom.update_artifact(
    p_tenant_id text,
    p_artifact_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns setof strongroom.artifact_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_artifact strongroom.artifacts;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_keys('changes', p_changes, '{title,metadata}');
    perform strongroom_private.check_text('changes.title', p_changes -> 'title');
    perform strongroom_private.check_optional_name('changes.title', p_changes ->> 'title');
    if p_changes ? 'metadata' then
        perform strongroom_private.check_object('changes.metadata', p_changes -> 'metadata', 16384);
    end if;
    v_artifact := strongroom_private.lock_artifact(p_tenant_id, p_artifact_id);
    if v_artifact.version = p_expected_version then
        update strongroom.artifacts as a
        set title = case when p_changes ? 'title' then p_changes ->> 'title' else a.title end,
            metadata = case
                when p_changes ? 'metadata' then p_changes -> 'metadata' else a.metadata
            end,
            version = a.version + 1,
            last_write_id = p_write_id,
            updated_at = now()
        where a.tenant_id = p_tenant_id
            and a.id = p_artifact_id;
    -- A repeat of the very same call, whose answer was lost, has happened already.
    elsif v_artifact.last_write_id is distinct from p_write_id or p_write_id is null then
        perform strongroom_private.fail_missed_write(
            'artifact', p_expected_version, v_artifact.version
        );
    end if;
    return query
    select d.*
    from strongroom.artifact_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_artifact_id;
end
$$;
comment on function strongroom.update_artifact(text, text, jsonb, bigint, text) is
    'Change title or metadata, given the version of the record that was read; null clears the'
    ' title, a missing key leaves a field alone. Errors: SR001, SR004, SR010, SR012, SR020.'
    ' Callers: hosts.';

create function strongroom.soft_delete_artifact(p_tenant_id text, p_artifact_id text)
returns setof strongroom.artifact_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.lock_artifact(p_tenant_id, p_artifact_id, true);
    update strongroom.artifacts as a
    set deleted_at = now(),
        updated_at = now(),
        version = a.version + 1
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id
        and a.deleted_at is null;
    return query
    select d.*
    from strongroom.artifact_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_artifact_id;
end
$$;
comment on function strongroom.soft_delete_artifact(text, text) is
    'Hide an artifact with its versions, restorably, and free its name. A repeat changes nothing.'
    ' Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.restore_artifact(p_tenant_id text, p_artifact_id text)
returns setof strongroom.artifact_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.lock_artifact(p_tenant_id, p_artifact_id, true);
    update strongroom.artifacts as a
    set deleted_at = null,
        updated_at = now(),
        version = a.version + 1
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id
        and a.deleted_at is not null;
    return query
    select d.*
    from strongroom.artifact_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_artifact_id;
exception
    when unique_violation then
        perform strongroom_private.fail(
            'already_exists',
            'another artifact has taken the name meanwhile',
            '{"path": "name", "record": "artifact"}',
            'Delete the other artifact, and restore again.'
        );
end
$$;
comment on function strongroom.restore_artifact(text, text) is
    'Bring a soft-deleted artifact back. A repeat changes nothing. Errors: SR001, SR004, SR010,'
    ' SR011, SR020. Callers: hosts.';

create function strongroom.purge_artifact(p_tenant_id text, p_artifact_id text)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_conversation_id text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('artifact_id', p_artifact_id);
    select a.conversation_id
    into v_conversation_id
    from strongroom.artifacts as a
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id;
    -- Locked first, so that nothing is added between the count and the deletion.
    perform
    from strongroom.conversations as c
    where c.tenant_id = p_tenant_id
        and c.id = v_conversation_id
    for no key update;
    perform
    from strongroom.artifacts as a
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id
    for update;
    return query
    select
        'artifacts',
        count(*)
    from strongroom.artifacts as a
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id
    union all
    select
        'artifact_versions',
        count(*)
    from strongroom.artifact_versions as v
    where v.tenant_id = p_tenant_id
        and v.artifact_id = p_artifact_id
    union all
    select
        'artifact_exports',
        count(*)
    from strongroom.artifact_exports as e
    where e.tenant_id = p_tenant_id
        and e.artifact_id = p_artifact_id;
    delete from strongroom.artifacts as a
    where a.tenant_id = p_tenant_id
        and a.id = p_artifact_id;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'artifact.purge', 'artifact', p_artifact_id
        );
    end if;
end
$$;
comment on function strongroom.purge_artifact(text, text) is
    'Delete an artifact, soft-deleted or not, with its versions and exports for good, and schedule'
    ' the removal of their blobs; returns how many rows each table lost. A repeat, and an id that'
    ' does not exist, delete nothing. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Exports
-- ---------------------------------------------------------------------------------------------
-- Invariant: at most one exporter holds the newest token of a (version, format), and only that one
-- ends it. A finished export is never made again.

create type strongroom.claimed_artifact_export as (
    tenant_id text,
    artifact_id text,
    version integer,
    format text,
    status text,
    attempt integer,
    claim_token bigint,
    worker_id text,
    lease_expires_at timestamptz,
    blob_key text,
    size_bytes bigint,
    sha256 text,
    media_type text,
    error jsonb,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.claimed_artifact_export is
    'artifact_export_details, and whether the caller has claimed it.';

create view strongroom.artifact_export_details
with (security_invoker = true)
as
select
    e.tenant_id,
    e.artifact_id,
    e.version,
    e.format,
    e.status,
    e.attempt,
    e.claim_token,
    e.worker_id,
    e.lease_expires_at,
    e.blob_key,
    e.size_bytes,
    e.sha256,
    e.media_type,
    e.error,
    e.created_at,
    e.updated_at
from strongroom.artifact_exports as e;
comment on view strongroom.artifact_export_details is
    'An export as the functions return it. Under the row security of the reader.';

create function strongroom.find_artifact_export(
    p_tenant_id text,
    p_artifact_id text,
    p_version integer,
    p_format text,
    p_viewer_id text default null
)
returns setof strongroom.artifact_export_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.require_readable_artifact(p_tenant_id, p_artifact_id, p_viewer_id);
    perform strongroom_private.check_id('format', p_format);
    return query
    select d.*
    from strongroom.artifact_export_details as d
    where d.tenant_id = p_tenant_id
        and d.artifact_id = p_artifact_id
        and d.version = p_version
        and d.format = p_format;
end
$$;
comment on function strongroom.find_artifact_export(text, text, integer, text, text) is
    'The export of a version in a format, or no row when nobody has claimed it yet. Errors: SR001,'
    ' SR004, SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.claim_artifact_export(
    p_tenant_id text,
    p_artifact_id text,
    p_version integer,
    p_format text,
    p_worker_id text,
    p_lease_seconds double precision default 300
)
returns setof strongroom.claimed_artifact_export
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_artifact strongroom.artifacts;
    v_outcome text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('format', p_format);
    perform strongroom_private.check_lease(p_worker_id, p_lease_seconds);
    v_artifact := strongroom_private.lock_artifact(p_tenant_id, p_artifact_id);
    if coalesce(p_version, 0) not between 1 and v_artifact.latest_version then
        perform strongroom_private.fail_missed_write('artifact version', null, null);
    end if;
    -- The race: two exporters at once. The artifact's lock makes them take turns, and the second
    -- one finds a lease that has not ended.
    insert into strongroom.artifact_exports as e (
        tenant_id, artifact_id, version, format, conversation_id, status, attempt, claim_token,
        worker_id, lease_expires_at
    )
    values (
        p_tenant_id, p_artifact_id, p_version, p_format, v_artifact.conversation_id, 'claimed', 1,
        nextval('strongroom.claim_tokens'), p_worker_id,
        clock_timestamp() + make_interval(secs => p_lease_seconds)
    )
    on conflict on constraint artifact_exports_pkey do update
    set status = 'claimed',
        attempt = e.attempt + 1,
        claim_token = greatest(excluded.claim_token, e.claim_token + 1),
        worker_id = excluded.worker_id,
        lease_expires_at = excluded.lease_expires_at,
        error = null,
        updated_at = now()
    where e.status = 'failed'
        or (e.status = 'claimed' and e.lease_expires_at <= clock_timestamp());
    v_outcome := case when found then 'claimed' end;
    return query
    select
        d.*,
        coalesce(
            v_outcome,
            case d.status when 'finished' then 'already_finished' else 'already_claimed' end
        )
    from strongroom.artifact_export_details as d
    where d.tenant_id = p_tenant_id
        and d.artifact_id = p_artifact_id
        and d.version = p_version
        and d.format = p_format;
end
$$;
comment on function strongroom.claim_artifact_export(
    text, text, integer, text, text, double precision
) is
    'Claim the export of a version in a format: outcome claimed, already_claimed (another''s lease'
    ' has not ended) or already_finished (use its blob). A failed one, and one whose lease has'
    ' ended, is claimed anew with a higher token. Errors: SR001, SR004, SR010, SR020. Callers:'
    ' hosts.';

create function strongroom_private.lock_claimed_export(
    p_tenant_id text,
    p_artifact_id text,
    p_version integer,
    p_format text,
    p_claim_token bigint
)
returns strongroom.artifact_exports
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_export strongroom.artifact_exports;
begin
    perform strongroom_private.check_id('format', p_format);
    perform strongroom_private.lock_artifact(p_tenant_id, p_artifact_id);
    select e.*
    into v_export
    from strongroom.artifact_exports as e
    where e.tenant_id = p_tenant_id
        and e.artifact_id = p_artifact_id
        and e.version = p_version
        and e.format = p_format
    for update;
    if not found then
        perform strongroom_private.fail_missed_write('artifact export', null, null);
    end if;
    if v_export.claim_token is distinct from p_claim_token then
        perform strongroom_private.fail(
            'stale_claim',
            format('the claim of the export is no longer valid; the export is %s', v_export.status),
            jsonb_build_object(
                'record', 'artifact export',
                'claim_token', p_claim_token,
                'status', v_export.status
            ),
            'Stop exporting, and delete what you put into the blob store.'
        );
    end if;
    return v_export;
end
$$;
comment on function strongroom_private.lock_claimed_export(text, text, integer, text, bigint) is
    'Lock an artifact and an export of it, and make sure that the caller holds the newest claim.'
    ' Errors: SR001, SR004, SR010, SR031.';

create function strongroom.finish_artifact_export(
    p_tenant_id text,
    p_artifact_id text,
    p_version integer,
    p_format text,
    p_claim_token bigint,
    p_blob_key text,
    p_sha256 text,
    p_size_bytes bigint,
    p_media_type text default null
)
returns setof strongroom.artifact_export_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_content record;
    v_export strongroom.artifact_exports;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    select c.*
    into strict v_content
    from strongroom_private.check_content(
        null, null, null, p_blob_key, p_sha256, p_size_bytes, p_media_type, 0
    ) as c;
    v_export := strongroom_private.lock_claimed_export(
        p_tenant_id, p_artifact_id, p_version, p_format, p_claim_token
    );
    if v_export.status = 'claimed' then
        update strongroom.artifact_exports as e
        set status = 'finished',
            lease_expires_at = null,
            blob_key = p_blob_key,
            size_bytes = v_content.size_bytes,
            sha256 = v_content.sha256,
            media_type = v_content.media_type,
            updated_at = now()
        where e.tenant_id = p_tenant_id
            and e.artifact_id = p_artifact_id
            and e.version = p_version
            and e.format = p_format;
    elsif (v_export.blob_key, v_export.size_bytes, v_export.sha256, v_export.media_type)
        is distinct from
        (p_blob_key, v_content.size_bytes, v_content.sha256, v_content.media_type)
    then
        perform strongroom_private.fail(
            'invalid_transition',
            format('the export has ended already: it is %s', v_export.status),
            jsonb_build_object('record', 'artifact export', 'status', v_export.status),
            'Claim it again, if it failed.'
        );
    end if;
    return query
    select d.*
    from strongroom.artifact_export_details as d
    where d.tenant_id = p_tenant_id
        and d.artifact_id = p_artifact_id
        and d.version = p_version
        and d.format = p_format;
end
$$;
comment on function strongroom.finish_artifact_export(
    text, text, integer, text, bigint, text, text, bigint, text
) is
    'End a claimed export with its blob. A repeat changes nothing. Errors: SR001, SR004, SR010,'
    ' SR020, SR030, SR031. Callers: hosts.';

create function strongroom.fail_artifact_export(
    p_tenant_id text,
    p_artifact_id text,
    p_version integer,
    p_format text,
    p_claim_token bigint,
    p_error jsonb
)
returns setof strongroom.artifact_export_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_export strongroom.artifact_exports;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_object('error', p_error, 65536);
    v_export := strongroom_private.lock_claimed_export(
        p_tenant_id, p_artifact_id, p_version, p_format, p_claim_token
    );
    if v_export.status = 'claimed' then
        update strongroom.artifact_exports as e
        set status = 'failed',
            lease_expires_at = null,
            error = p_error,
            updated_at = now()
        where e.tenant_id = p_tenant_id
            and e.artifact_id = p_artifact_id
            and e.version = p_version
            and e.format = p_format;
    elsif v_export.error is distinct from p_error then
        perform strongroom_private.fail(
            'invalid_transition',
            format('the export has ended already: it is %s', v_export.status),
            jsonb_build_object('record', 'artifact export', 'status', v_export.status),
            'Claim it again, if it failed.'
        );
    end if;
    return query
    select d.*
    from strongroom.artifact_export_details as d
    where d.tenant_id = p_tenant_id
        and d.artifact_id = p_artifact_id
        and d.version = p_version
        and d.format = p_format;
end
$$;
comment on function strongroom.fail_artifact_export(
    text, text, integer, text, bigint, jsonb
) is
    'End a claimed export without a result; it may be claimed again. A repeat changes nothing.'
    ' Errors: SR001, SR004, SR010, SR020, SR030, SR031. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Tool outputs
-- ---------------------------------------------------------------------------------------------
-- Invariants: the id is the kind and the SHA-256 of the content, so a conversation has each content
-- once. Content is never changed; only when it may go may be put off.

create table strongroom.tool_outputs (
    tenant_id text collate "C" not null,
    conversation_id text collate "C" not null,
    id text collate "C" not null,
    kind text collate "C" not null,
    sha256 text collate "C" not null,
    size_bytes bigint not null,
    characters integer,
    media_type text collate "C" not null,
    content text,
    data bytea,
    blob_key text collate "C",
    run_id text collate "C",
    tool_call_id text collate "C",
    tool_name text collate "C",
    expires_at timestamptz,
    created_at timestamptz not null default now(),
    constraint tool_outputs_pkey primary key (tenant_id, conversation_id, id),
    constraint tool_output_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint the_id_is_kind_and_sha256 check (id = kind || ':' || sha256),
    constraint kind_is_known check (kind in ('text', 'json', 'bytes', 'blob')),
    constraint sha256_is_hexadecimal check (sha256 ~ '^[0-9a-f]{64}$'),
    constraint content_is_of_its_kind
        check (
            num_nonnulls(content, data, blob_key) = 1
            and (kind in ('text', 'json')) = (content is not null)
            and (kind = 'bytes') = (data is not null)
        ),
    constraint only_text_has_characters
        check ((characters is not null) = (content is not null) and characters >= 0),
    constraint inline_content_has_at_most_16_mib
        check (coalesce(octet_length(content), octet_length(data)) <= 16777216),
    constraint size_is_a_whole_number_of_bytes
        check (size_bytes between 0 and 9007199254740991),
    constraint media_type_has_1_to_255_characters check (char_length(media_type) between 1 and 255),
    constraint blob_key_has_1_to_1024_bytes
        check (octet_length(blob_key) between 1 and 1024)
);
comment on table strongroom.tool_outputs is
    'Outputs of tools that are too large for a message, each once in its conversation.';
comment on column strongroom.tool_outputs.tenant_id is 'The tenant.';
comment on column strongroom.tool_outputs.conversation_id is
    'The conversation, whose reading rule it has.';
comment on column strongroom.tool_outputs.id is 'kind:sha256.';
comment on column strongroom.tool_outputs.kind is 'text, json, bytes or blob.';
comment on column strongroom.tool_outputs.sha256 is
    'The SHA-256 of the content; the blob store computed that of a blob.';
comment on column strongroom.tool_outputs.size_bytes is
    'How many bytes the content has. Safe as a JavaScript number.';
comment on column strongroom.tool_outputs.characters is 'How many characters a text has.';
comment on column strongroom.tool_outputs.media_type is 'What the content is.';
comment on column strongroom.tool_outputs.content is
    'The text, or the JSON as jsonb writes it; at most 16 MiB.';
comment on column strongroom.tool_outputs.data is 'The bytes; at most 16 MiB.';
comment on column strongroom.tool_outputs.blob_key is 'Where the blob store has the bytes.';
comment on column strongroom.tool_outputs.run_id is 'The run that stored it first.';
comment on column strongroom.tool_outputs.tool_call_id is 'The tool call that returned it first.';
comment on column strongroom.tool_outputs.tool_name is 'The tool.';
comment on column strongroom.tool_outputs.expires_at is
    'After this moment a sweep may delete it, once no run of the conversation is unfinished.';
comment on column strongroom.tool_outputs.created_at is 'When it was first stored.';

-- lz4 halves the time to save where the server was built with it.
do $$
begin
    alter table strongroom.artifact_versions
        alter column content set compression lz4;
    alter table strongroom.tool_outputs
        alter column content set compression lz4,
        alter column data set compression lz4;
exception
    when feature_not_supported then
        null;
end
$$;

create index tool_outputs_by_creation
    on strongroom.tool_outputs (tenant_id, conversation_id, created_at, id);
comment on index strongroom.tool_outputs_by_creation is 'Pages of a conversation''s tool outputs.';
create index tool_outputs_by_expiry
    on strongroom.tool_outputs (tenant_id, expires_at)
    where expires_at is not null;
comment on index strongroom.tool_outputs_by_expiry is 'What a sweep finds.';
create index tool_outputs_by_blob
    on strongroom.tool_outputs (tenant_id, blob_key)
    where blob_key is not null;
comment on index strongroom.tool_outputs_by_blob is 'Whether a blob is still in use.';

alter table strongroom.tool_outputs enable row level security;
alter table strongroom.tool_outputs force row level security;
create policy readers_read on strongroom.tool_outputs
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (
                (select strongroom_private.is_trusted())
                or strongroom_private.may_read_conversation(tenant_id, conversation_id)
            )
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy readers_read on strongroom.tool_outputs is
    'As the conversation; and the dispatcher.';
create policy trusted_inserts on strongroom.tool_outputs
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.tool_outputs is 'Hosts.';
create policy trusted_updates on strongroom.tool_outputs
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.tool_outputs is 'Hosts: when it may go.';
create policy trusted_deletes on strongroom.tool_outputs
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.tool_outputs is
    'Hosts, through expire_tool_outputs.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.tool_outputs',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They go with their conversation, which alone says whose they are.'
);

create function strongroom_private.keep_tool_output()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.fail(
        'permission_denied',
        'a tool output is never changed: only expires_at is',
        '{"table": "strongroom.tool_outputs"}',
        'Put the other content: it has another id.'
    );
    return null;
end
$$;
comment on function strongroom_private.keep_tool_output() is
    'For the trigger of tool outputs: nothing but expires_at may stand in an update.';
create trigger tool_outputs_keep_their_content
    before update of
        tenant_id, conversation_id, id, kind, sha256, size_bytes, characters, media_type, content,
        data, blob_key, run_id, tool_call_id, tool_name, created_at
    on strongroom.tool_outputs
    for each row
    execute function strongroom_private.keep_tool_output();
comment on trigger tool_outputs_keep_their_content on strongroom.tool_outputs is
    'See keep_tool_output.';

create view strongroom.tool_output_details
with (security_invoker = true)
as
select
    o.tenant_id,
    o.conversation_id,
    o.id,
    o.kind,
    o.sha256,
    o.size_bytes,
    o.characters,
    o.media_type,
    o.blob_key,
    o.run_id,
    o.tool_call_id,
    o.tool_name,
    o.expires_at,
    o.created_at
from strongroom.tool_outputs as o;
comment on view strongroom.tool_output_details is
    'A tool output without its content. Under the row security of the reader.';

create function strongroom.put_tool_output(
    p_tenant_id text,
    p_conversation_id text,
    p_text text default null,
    p_value jsonb default null,
    p_data text default null,
    p_blob_key text default null,
    p_sha256 text default null,
    p_size_bytes bigint default null,
    p_media_type text default null,
    p_run_id text default null,
    p_tool_call_id text default null,
    p_tool_name text default null,
    p_expires_at timestamptz default null,
    p_claim_token bigint default null
)
returns table (
    tenant_id text,
    conversation_id text,
    id text,
    kind text,
    sha256 text,
    size_bytes bigint,
    characters integer,
    media_type text,
    blob_key text,
    run_id text,
    tool_call_id text,
    tool_name text,
    expires_at timestamptz,
    created_at timestamptz,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_content record;
    v_id text;
    v_outcome text := 'inserted';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_optional_id('run_id', p_run_id);
    perform strongroom_private.check_optional_id('tool_call_id', p_tool_call_id);
    perform strongroom_private.check_optional_name('tool_name', p_tool_name);
    perform strongroom_private.check_moment('expires_at', p_expires_at);
    select c.*
    into strict v_content
    from strongroom_private.check_content(
        p_text, p_value, p_data, p_blob_key, p_sha256, p_size_bytes, p_media_type, 16777216
    ) as c;
    v_id := v_content.kind || ':' || v_content.sha256;
    if p_claim_token is null then
        perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    else
        perform strongroom_private.hold_run_claim(
            p_tenant_id, p_conversation_id, p_run_id, p_claim_token
        );
    end if;
    -- Whoever puts it again needs it as long as they say; who says nothing needs it for ever.
    update strongroom.tool_outputs as o
    set expires_at = case
            when p_expires_at is not null then greatest(o.expires_at, p_expires_at)
        end
    where o.tenant_id = p_tenant_id
        and o.conversation_id = p_conversation_id
        and o.id = v_id
        and o.expires_at is not null
        and coalesce(p_expires_at > o.expires_at, true);
    insert into strongroom.tool_outputs (
        tenant_id, conversation_id, id, kind, sha256, size_bytes, characters, media_type, content,
        data, blob_key, run_id, tool_call_id, tool_name, expires_at
    )
    values (
        p_tenant_id, p_conversation_id, v_id, v_content.kind, v_content.sha256,
        v_content.size_bytes, char_length(v_content.body), v_content.media_type, v_content.body,
        v_content.bytes, p_blob_key, p_run_id, p_tool_call_id, p_tool_name, p_expires_at
    )
    on conflict on constraint tool_outputs_pkey do nothing;
    if not found then
        v_outcome := 'duplicate';
    end if;
    return query
    select
        d.*,
        v_outcome
    from strongroom.tool_output_details as d
    where d.tenant_id = p_tenant_id
        and d.conversation_id = p_conversation_id
        and d.id = v_id;
end
$$;
comment on function strongroom.put_tool_output(
    text, text, text, jsonb, text, text, text, bigint, text, text, text, text, timestamptz, bigint
) is
    'Store a text, a JSON value, bytes (base64; 16 MiB inline), or a blob with its digest and size,'
    ' for a conversation. Content that is there already is a duplicate: the stored row stays, with'
    ' the later of both expiries. Errors: SR001, SR004, SR010, SR020, SR030, SR031. Callers:'
    ' hosts.';

create function strongroom.find_tool_output(
    p_tenant_id text,
    p_conversation_id text,
    p_output_id text,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    id text,
    kind text,
    sha256 text,
    size_bytes bigint,
    characters integer,
    media_type text,
    blob_key text,
    run_id text,
    tool_call_id text,
    tool_name text,
    expires_at timestamptz,
    created_at timestamptz,
    text text,
    value jsonb,
    data_base64 text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    perform strongroom_private.check_id('output_id', p_output_id);
    return query
    select
        d.*,
        case o.kind when 'text' then o.content end,
        case o.kind when 'json' then o.content::jsonb end,
        translate(encode(o.data, 'base64'), E'\n', '')
    from strongroom.tool_output_details as d
    inner join strongroom.tool_outputs as o
        on o.tenant_id = d.tenant_id
        and o.conversation_id = d.conversation_id
        and o.id = d.id
    where d.tenant_id = p_tenant_id
        and d.conversation_id = p_conversation_id
        and d.id = p_output_id;
end
$$;
comment on function strongroom.find_tool_output(text, text, text, text) is
    'A tool output with its whole content, or no row. Errors: SR001, SR004, SR010, SR020, SR021.'
    ' Callers: hosts, users.';

create function strongroom.find_tool_output_head(
    p_tenant_id text,
    p_conversation_id text,
    p_output_id text,
    p_viewer_id text default null
)
returns setof strongroom.tool_output_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    perform strongroom_private.check_id('output_id', p_output_id);
    return query
    select d.*
    from strongroom.tool_output_details as d
    where d.tenant_id = p_tenant_id
        and d.conversation_id = p_conversation_id
        and d.id = p_output_id;
end
$$;
comment on function strongroom.find_tool_output_head(text, text, text, text) is
    'A tool output without its content, which is not even read; or no row. Errors: SR001, SR004,'
    ' SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.find_tool_output_slice(
    p_tenant_id text,
    p_conversation_id text,
    p_output_id text,
    p_start integer default 0,
    p_length integer default 65536,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    id text,
    kind text,
    start integer,
    total integer,
    next_start bigint,
    text text,
    data_base64 text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_end bigint := p_start::bigint + p_length;
    -- Nothing is longer; so that no sum below can leave the integers.
    v_start integer := least(p_start, 16777216);
begin
    if coalesce(p_start, -1) < 0 then
        perform strongroom_private.fail(
            'invalid_argument', 'start must be at least 0',
            jsonb_build_object('path', 'start', 'actual', p_start),
            'Start at 0, and go on at next_start.'
        );
    end if;
    if coalesce(p_length, 0) < 1 then
        perform strongroom_private.fail(
            'invalid_argument', 'length must be at least 1',
            jsonb_build_object('path', 'length', 'actual', p_length),
            'Ask for 1 to 1048576 characters or bytes, and go on at next_start.'
        );
    elsif p_length > 1048576 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('length is %s; a slice has at most 1048576 characters or bytes', p_length),
            jsonb_build_object('path', 'length', 'limit', 1048576, 'actual', p_length),
            'Ask for 1 to 1048576 characters or bytes, and go on at next_start.'
        );
    end if;
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    perform strongroom_private.check_id('output_id', p_output_id);
    return query
    select
        s.tenant_id,
        s.conversation_id,
        s.id,
        s.kind,
        p_start,
        s.total,
        case when s.total > v_end then v_end end,
        substr(s.content, v_start + 1, p_length),
        translate(encode(substr(s.data, v_start + 1, p_length), 'base64'), E'\n', '')
    from (
        select
            o.tenant_id,
            o.conversation_id,
            o.id,
            o.kind,
            o.content,
            o.data,
            coalesce(o.characters, o.size_bytes::integer) as total
        from strongroom.tool_outputs as o
        where o.tenant_id = p_tenant_id
            and o.conversation_id = p_conversation_id
            and o.id = p_output_id
            and o.kind <> 'blob'
    ) as s;
    if not found and exists (
        select
        from strongroom.tool_outputs as o
        where o.tenant_id = p_tenant_id
            and o.conversation_id = p_conversation_id
            and o.id = p_output_id
    ) then
        perform strongroom_private.fail(
            'invalid_argument', 'the content of this output is in the blob store',
            jsonb_build_object('path', 'output_id', 'kind', 'blob'),
            'Read a range of the blob.'
        );
    end if;
end
$$;
comment on function strongroom.find_tool_output_slice(
    text, text, text, integer, integer, text
) is
    'A slice of a tool output: characters of a text or of JSON as jsonb writes it, bytes of bytes;'
    ' next_start is null at the end. No row when there is no such output. Errors: SR001, SR004,'
    ' SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_tool_outputs(
    p_tenant_id text,
    p_conversation_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_run_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    id text,
    kind text,
    sha256 text,
    size_bytes bigint,
    characters integer,
    media_type text,
    blob_key text,
    run_id text,
    tool_call_id text,
    tool_name text,
    expires_at timestamptz,
    created_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text := strongroom_private.cursor_scope(
        'tool_outputs', jsonb_build_array(p_conversation_id, p_run_id), p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('run_id', p_run_id);
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    return query execute format(
        $query$
            select
                d.*,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(d.created_at), d.id]
                ),
                s.total > $4
            from (
                select
                    o.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select o.id
                    from strongroom.tool_outputs as o
                    where o.tenant_id = $1
                        and o.conversation_id = $5
                        and ($6 is null or o.run_id = $6)
                        and ($2 is null or (o.created_at, o.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by o.created_at %2$s, o.id %2$s
                    limit $4 + 1
                ) as o
            ) as s
            cross join lateral (
                select d.*
                from strongroom.tool_output_details as d
                where d.tenant_id = $1
                    and d.conversation_id = $5
                    and d.id = s.id
                offset 0
            ) as d
            where s.place <= $4
            order by d.created_at %3$s, d.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_keys, v_scope, p_limit, p_conversation_id, p_run_id;
end
$$;
comment on function strongroom.list_tool_outputs(
    text, text, integer, text, text, text, text, text
) is
    'A page of a conversation''s tool outputs without their content, forward newest first. Filter:'
    ' the run that stored it. has_more: whether rows follow in the paging direction. Errors: SR001,'
    ' SR002, SR004, SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.expire_tool_outputs(p_tenant_id text, p_limit integer default 100)
returns table (expired bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_conversation_id text;
    v_now timestamptz := clock_timestamp();
    v_count bigint;
begin
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    expired := 0;
    for v_conversation_id in
        select o.conversation_id
        from strongroom.tool_outputs as o
        where o.tenant_id = p_tenant_id
            and o.expires_at <= v_now
            and not exists (
                select
                from strongroom.runs as r
                where r.tenant_id = o.tenant_id
                    and r.conversation_id = o.conversation_id
                    and r.status not in ('completed', 'failed', 'cancelled')
            )
        group by o.conversation_id
        order by o.conversation_id
        limit p_limit
    loop
        -- The race: a run begins, or an output is put again, in this moment. Both take this lock,
        -- and who has it already goes on. Nobody waits, so no sweep is part of a deadlock.
        perform
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = v_conversation_id
        for no key update skip locked;
        continue when not found;
        delete from strongroom.tool_outputs as o
        where o.tenant_id = p_tenant_id
            and o.conversation_id = v_conversation_id
            and o.id in (
                select e.id
                from strongroom.tool_outputs as e
                where e.tenant_id = p_tenant_id
                    and e.conversation_id = v_conversation_id
                    and e.expires_at <= v_now
                    and not exists (
                        select
                        from strongroom.runs as r
                        where r.tenant_id = e.tenant_id
                            and r.conversation_id = e.conversation_id
                            and r.status not in ('completed', 'failed', 'cancelled')
                    )
                order by e.id
                limit p_limit - expired
            );
        get diagnostics v_count = row_count;
        expired := expired + v_count;
        exit when expired >= p_limit;
    end loop;
    return next;
end
$$;
comment on function strongroom.expire_tool_outputs(text, integer) is
    'Delete what has expired, at most p_limit, and schedule the removal of its blobs; returns how'
    ' many. Nothing goes from a conversation that has an unfinished run: its messages may still'
    ' point at it. Passes over conversations that somebody else is writing to. Errors: SR001,'
    ' SR004, SR010, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- References to bytes
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_blob_reference('strongroom.artifact_versions', 'blob_key');
select strongroom_private.publish_blob_reference('strongroom.artifact_exports', 'blob_key');
select strongroom_private.publish_blob_reference('strongroom.tool_outputs', 'blob_key');


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.artifacts,strongroom.tool_outputs}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.artifact_versions}', '{select,insert}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.artifact_exports}', '{select,insert,update}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table',
    '{
        strongroom.artifacts,
        strongroom.artifact_versions,
        strongroom.artifact_exports,
        strongroom.tool_outputs
    }',
    '{select}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'table',
    '{
        strongroom.artifact_details,
        strongroom.artifact_version_details,
        strongroom.artifact_export_details,
        strongroom.tool_output_details
    }',
    '{select}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.may_read_artifact,
        strongroom_private.is_readable_artifact,
        strongroom_private.require_readable_artifact,
        strongroom.find_artifact,
        strongroom.list_artifacts,
        strongroom.find_artifact_version,
        strongroom.list_artifact_versions,
        strongroom.find_artifact_export,
        strongroom.find_tool_output,
        strongroom.find_tool_output_head,
        strongroom.find_tool_output_slice,
        strongroom.list_tool_outputs
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.check_content,
        strongroom_private.hold_run_claim,
        strongroom_private.lock_artifact,
        strongroom_private.check_provenance,
        strongroom_private.write_artifact_version,
        strongroom_private.lock_claimed_export,
        strongroom.create_artifact,
        strongroom.add_artifact_version,
        strongroom.update_artifact,
        strongroom.soft_delete_artifact,
        strongroom.restore_artifact,
        strongroom.purge_artifact,
        strongroom.claim_artifact_export,
        strongroom.finish_artifact_export,
        strongroom.fail_artifact_export,
        strongroom.put_tool_output,
        strongroom.expire_tool_outputs
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(12, 'artifacts');
