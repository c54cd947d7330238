-- strongroom 0006: catalog
--
-- Purpose     Agents and skills, each with immutable published versions; what a conversation's
--             agent binding stands for; and which version a run was made for.
-- Twins       Agents and skills are the same but for what names them, and so are the two halves of
--             this file, word for word; a test compares them. Skills also have a catalog to choose
--             from, and agents have the conversations that are bound to them.
-- Versions    Numbered 1..n without gaps, under the lock of the agent's or skill's row. A published
--             version is never changed and leaves only with what it belongs to: no grant, and a
--             trigger.
-- Names       An id is never used for a second agent or skill: a purge leaves a tombstone, so that
--             what still names the id resolves to "deleted", and never to a stranger's version.
-- Reading     Everyone in the tenant reads the living ones: secrets do not belong here.
--             Hosts alone write, and see what is soft-deleted.
-- Locks       A publication locks the one row of its agent or skill (FOR NO KEY UPDATE). Nothing
--             that they share is locked; a run reads the catalog and locks nothing of it.

select strongroom_private.begin_migration(6, 'catalog');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '6';
select strongroom_private.require_transaction(6);

create table strongroom.catalog_tombstones (
    tenant_id text collate "C" not null,
    kind text collate "C" not null,
    id text collate "C" not null,
    purged_at timestamptz not null default now(),
    constraint catalog_tombstones_pkey primary key (tenant_id, kind, id),
    constraint tombstone_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint kind_is_agent_or_skill check (kind in ('agent', 'skill')),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255)
);
comment on table strongroom.catalog_tombstones is
    'Ids of purged agents and skills, and nothing else of them: what names one still resolves to'
    ' deleted.';
comment on column strongroom.catalog_tombstones.tenant_id is 'The tenant.';
comment on column strongroom.catalog_tombstones.kind is 'agent or skill.';
comment on column strongroom.catalog_tombstones.id is 'The id that is not used again.';
comment on column strongroom.catalog_tombstones.purged_at is 'When it was purged.';

alter table strongroom.catalog_tombstones enable row level security;
alter table strongroom.catalog_tombstones force row level security;
create policy host_reads on strongroom.catalog_tombstones
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_reads on strongroom.catalog_tombstones is 'Hosts.';
create policy host_inserts on strongroom.catalog_tombstones
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.catalog_tombstones is 'Hosts, through the purges.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.catalog_tombstones',
    p_column => '',
    p_action => 'keep',
    p_reason => 'An id that was used, and nothing more.'
);

create function strongroom_private.check_description(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value = '' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must not be empty', p_field),
            jsonb_build_object('path', p_field),
            'Give a text of 1 to 4000 characters, or null.'
        );
    elsif char_length(p_value) > 4000 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s characters; at most 4000 are allowed', p_field, char_length(p_value)),
            jsonb_build_object('path', p_field, 'limit', 4000, 'actual', char_length(p_value)),
            'Describe it in short here; longer texts belong in the definition.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_description(text, text) is
    'A description, where there is one, has 1 to 4,000 characters. Errors: SR001, SR004.';

create function strongroom_private.check_catalog_version(p_version integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_version < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'version must be at least 1',
            '{"path": "version"}',
            'Published versions start at 1; leave it out for the latest.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_catalog_version(integer) is
    'The number of a version, where one is named, is positive. Errors: SR001.';

create function strongroom_private.check_catalog_changes(p_changes jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_keys(
        'changes', p_changes, '{name,description,metadata,archived}'
    );
    perform strongroom_private.check_text('changes.name', p_changes -> 'name');
    perform strongroom_private.check_text('changes.description', p_changes -> 'description');
    perform strongroom_private.check_description(
        'changes.description', p_changes ->> 'description'
    );
    if p_changes ? 'name' then
        perform strongroom_private.check_name('changes.name', p_changes ->> 'name');
    end if;
    if p_changes ? 'metadata' then
        perform strongroom_private.check_object('changes.metadata', p_changes -> 'metadata', 16384);
    end if;
    if p_changes ? 'archived' then
        perform strongroom_private.check_choice(
            'changes.archived', (p_changes -> 'archived')::text, '{true,false}'
        );
    end if;
end
$$;
comment on function strongroom_private.check_catalog_changes(jsonb) is
    'What update_agent and update_skill may change. Errors: SR001, SR004.';


-- ---------------------------------------------------------------------------------------------
-- Agents
-- ---------------------------------------------------------------------------------------------

create table strongroom.agents (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    name text not null,
    description text,
    metadata jsonb not null default '{}',
    latest_version integer not null default 0,
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    archived_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint agents_pkey primary key (tenant_id, id),
    constraint agent_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint description_has_1_to_4000_characters
        check (char_length(description) between 1 and 4000),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint latest_version_is_not_negative check (latest_version >= 0),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.agents is
    'The agents that a tenant has published or is about to; others name one by its id.';
comment on column strongroom.agents.tenant_id is 'The tenant.';
comment on column strongroom.agents.id is 'The agent''s id, unique in the tenant for ever.';
comment on column strongroom.agents.name is 'A name for people.';
comment on column strongroom.agents.description is
    'What it is for, to choose by; at most 4,000 characters.';
comment on column strongroom.agents.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.agents.latest_version is
    'The number of its newest published version; 0 before the first.';
comment on column strongroom.agents.version is
    'One more at every change of the row itself; publishing does not count.';
comment on column strongroom.agents.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.agents.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.agents.archived_at is
    'When it was archived: it stays readable, and takes no new versions.';
comment on column strongroom.agents.deleted_at is
    'When it was soft-deleted: hidden, and restorable.';
comment on column strongroom.agents.created_at is 'When it was created.';
comment on column strongroom.agents.updated_at is 'When it last changed.';

alter table strongroom.agents enable row level security;
alter table strongroom.agents force row level security;
create policy tenant_reads on strongroom.agents
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and ((select strongroom_private.is_trusted()) or deleted_at is null)
    );
comment on policy tenant_reads on strongroom.agents is
    'Everyone in the tenant reads the living ones; hosts the soft-deleted ones, too.';
create policy host_inserts on strongroom.agents
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.agents is 'Hosts create them.';
create policy host_updates on strongroom.agents
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.agents is 'Hosts change and publish them.';
create policy host_deletes on strongroom.agents
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.agents is 'Hosts, through purge_agent.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.agents',
    p_column => '',
    p_action => 'keep',
    p_reason => 'Agents are the tenant''s and belong to nobody.'
);

create view strongroom.agent_details
with (security_invoker = true)
as
select
    a.tenant_id,
    a.id,
    a.name,
    a.description,
    a.metadata,
    a.latest_version,
    a.version,
    a.archived_at,
    a.deleted_at,
    a.created_at,
    a.updated_at
from strongroom.agents as a;
comment on view strongroom.agent_details is
    'An agent as the functions return it, without bookkeeping columns. Under the row security of'
    ' the reader.';

create type strongroom.created_agent as (
    tenant_id text,
    id text,
    name text,
    description text,
    metadata jsonb,
    latest_version integer,
    version bigint,
    archived_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.created_agent is
    'agent_details, and whether the create inserted it or was a duplicate.';

create table strongroom.agent_versions (
    tenant_id text collate "C" not null,
    agent_id text collate "C" not null,
    version integer not null,
    id text collate "C" not null,
    definition jsonb not null,
    content_digest text collate "C" not null,
    size_bytes integer not null,
    published_at timestamptz not null default now(),
    constraint agent_versions_pkey primary key (tenant_id, agent_id, version),
    constraint an_agent_version_id_is_used_once_in_a_tenant unique (tenant_id, id),
    constraint version_belongs_to_an_agent
        foreign key (tenant_id, agent_id)
        references strongroom.agents (tenant_id, id)
        on delete cascade,
    constraint version_is_positive check (version > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint definition_is_an_object check (jsonb_typeof(definition) = 'object'),
    constraint size_is_1_byte_to_1_mib check (size_bytes between 1 and 1048576)
);
comment on table strongroom.agent_versions is
    'Published versions of agents: 1..n without gaps, and never changed.';
comment on column strongroom.agent_versions.tenant_id is 'The tenant.';
comment on column strongroom.agent_versions.agent_id is 'The agent.';
comment on column strongroom.agent_versions.version is 'Its number: 1, 2, 3, ...';
comment on column strongroom.agent_versions.id is
    'Id of the publication, unique in the tenant: a repeated call is known by it.';
comment on column strongroom.agent_versions.definition is
    'What was published: the host''s own JSON object, at most 1 MiB. The whole tenant reads it.';
comment on column strongroom.agent_versions.content_digest is
    'SHA-256 of the definition in hexadecimal; the same for the same JSON, however it is written.';
comment on column strongroom.agent_versions.size_bytes is 'Bytes of the definition as text.';
comment on column strongroom.agent_versions.published_at is 'When it was published.';

create trigger agent_versions_are_insert_only
    before update or delete on strongroom.agent_versions
    for each row
    execute function strongroom_private.keep_history('strongroom.agents', 'id', 'agent_id');
comment on trigger agent_versions_are_insert_only on strongroom.agent_versions is
    'See keep_history.';
create trigger agent_versions_are_never_truncated
    before truncate on strongroom.agent_versions
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger agent_versions_are_never_truncated on strongroom.agent_versions is
    'See keep_history.';

create function strongroom_private.may_read_agent(p_tenant_id text, p_agent_id text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- With the caller's rights: the policy of agents decides.
    return exists (
        select
        from strongroom.agents as a
        where a.tenant_id = p_tenant_id
            and a.id = p_agent_id
    );
end
$$;
comment on function strongroom_private.may_read_agent(text, text) is
    'Whether the policy of agents shows this one to the caller. For the policy of agent_versions.';

alter table strongroom.agent_versions enable row level security;
alter table strongroom.agent_versions force row level security;
create policy tenant_reads on strongroom.agent_versions
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_agent(tenant_id, agent_id)
        )
    );
comment on policy tenant_reads on strongroom.agent_versions is 'As the agent.';
create policy host_inserts on strongroom.agent_versions
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.agent_versions is
    'Hosts, through publish_agent_version.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.agent_versions',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They are the tenant''s, and name nobody.'
);

create function strongroom.find_agent(
    p_tenant_id text,
    p_agent_id text,
    p_deleted boolean default false
)
returns setof strongroom.agent_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('agent_id', p_agent_id);
    return query
    select d.*
    from strongroom.agent_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_agent_id
        and (d.deleted_at is not null) = p_deleted;
end
$$;
comment on function strongroom.find_agent(text, text, boolean) is
    'The agent, or no row. With p_deleted, a soft-deleted one, which hosts alone see. Errors:'
    ' SR001, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.create_agent(
    p_tenant_id text,
    p_name text,
    p_agent_id text default null,
    p_description text default null,
    p_metadata jsonb default '{}'
)
returns setof strongroom.created_agent
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id text := coalesce(p_agent_id, gen_random_uuid()::text);
    v_digest text;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('agent_id', v_id);
    perform strongroom_private.check_name('name', p_name);
    perform strongroom_private.check_description('description', p_description);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    v_digest := strongroom_private.digest(jsonb_build_array(p_name, p_description, p_metadata));

    insert into strongroom.agents (
        tenant_id, id, name, description, metadata, creation_digest
    )
    values (p_tenant_id, v_id, p_name, p_description, p_metadata, v_digest)
    on conflict on constraint agents_pkey do nothing;
    if found then
        v_outcome := 'inserted';
        -- Looked for after the insert: where that had to wait for a purge, the tombstone is there
        -- now.
        if exists (
            select
            from strongroom.catalog_tombstones as t
            where t.tenant_id = p_tenant_id
                and t.kind = 'agent'
                and t.id = v_id
        ) then
            perform strongroom_private.fail(
                'already_exists',
                'the id was used by an agent that has been purged',
                jsonb_build_object('path', 'agent_id', 'record', 'agent', 'purged', true),
                'Choose another id: what still names the old one must not find the new one.'
            );
        end if;
    end if;

    return query
    select
        d.*,
        v_outcome
    from strongroom.agent_details as d
    inner join strongroom.agents as a
        on a.tenant_id = d.tenant_id
        and a.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_id
        and a.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'an agent with this id was created with other content',
            jsonb_build_object('path', 'agent_id', 'record', 'agent'),
            'Read it and update it, or choose another id.'
        );
    end if;
end
$$;
comment on function strongroom.create_agent(text, text, text, text, jsonb) is
    'Create an agent, without a published version. A repeat with the same id and arguments changes'
    ' nothing and returns the stored row with outcome duplicate, also after later changes. Errors:'
    ' SR001, SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.update_agent(
    p_tenant_id text,
    p_agent_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null,
    p_actor_id text default null
)
returns setof strongroom.agent_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_version bigint;
    v_last_write_id text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('agent_id', p_agent_id);
    perform strongroom_private.check_catalog_changes(p_changes);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);

    update strongroom.agents as a
    set name = coalesce(p_changes ->> 'name', a.name),
        description = case
            when p_changes ? 'description' then p_changes ->> 'description' else a.description
        end,
        metadata = coalesce(p_changes -> 'metadata', a.metadata),
        archived_at = case
            when not p_changes ? 'archived' then a.archived_at
            when (p_changes -> 'archived')::boolean then coalesce(a.archived_at, now())
        end,
        version = a.version + 1,
        last_write_id = p_write_id,
        updated_at = now()
    where a.tenant_id = p_tenant_id
        and a.id = p_agent_id
        and a.version = p_expected_version
        and a.deleted_at is null;
    if not found then
        select
            a.version,
            a.last_write_id
        into
            v_version,
            v_last_write_id
        from strongroom.agents as a
        where a.tenant_id = p_tenant_id
            and a.id = p_agent_id
            and a.deleted_at is null;
        -- A repeat of the very same call, whose answer was lost, has happened already.
        if v_last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write('agent', p_expected_version, v_version);
        end if;
    elsif p_changes ? 'archived' then
        perform strongroom_private.record_audit(
            p_tenant_id,
            case when (p_changes -> 'archived')::boolean
                then 'agent.archive' else 'agent.unarchive' end,
            'agent',
            p_agent_id,
            p_actor_id => p_actor_id
        );
    end if;
    return query
    select f.*
    from strongroom.find_agent(p_tenant_id, p_agent_id) as f;
end
$$;
comment on function strongroom.update_agent(text, text, jsonb, bigint, text, text) is
    'Change name, description, metadata or archived (true, false), given the version that was read;'
    ' null clears the description, a missing key leaves a field alone. Errors: SR001, SR004, SR010,'
    ' SR012, SR020. Callers: hosts.';

create function strongroom.list_agents(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_archived boolean default null,
    p_deleted boolean default false
)
returns table (
    tenant_id text,
    id text,
    name text,
    description text,
    metadata jsonb,
    latest_version integer,
    version bigint,
    archived_at timestamptz,
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
    v_scope text := strongroom_private.cursor_scope(
        'agents', jsonb_build_array(p_archived, p_deleted), p_direction
    );
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
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
                s.name,
                s.description,
                s.metadata,
                s.latest_version,
                s.version,
                s.archived_at,
                s.deleted_at,
                s.created_at,
                s.updated_at,
                strongroom_private.encode_cursor($3, array[s.id]),
                s.total > $4
            from (
                select
                    d.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select d.*
                    from strongroom.agent_details as d
                    where d.tenant_id = $1
                        and (d.deleted_at is not null) = $6
                        and ($5 is null or (d.archived_at is not null) = $5)
                        and ($2 is null or d.id %1$s $2)
                    order by d.id %2$s
                    limit $4 + 1
                ) as d
            ) as s
            where s.place <= $4
            order by s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit, p_archived, p_deleted;
end
$$;
comment on function strongroom.list_agents(
    text, integer, text, text, text, boolean, boolean
) is
    'A page of agents by id. Filters: archived, deleted (which hosts alone see). has_more: whether'
    ' rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021. Callers:'
    ' hosts, users.';

create function strongroom.publish_agent_version(
    p_tenant_id text,
    p_agent_id text,
    p_definition jsonb,
    p_version_id text default null,
    p_actor_id text default null
)
returns table (
    tenant_id text,
    agent_id text,
    version integer,
    id text,
    content_digest text,
    size_bytes integer,
    published_at timestamptz,
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
    v_digest text;
    v_agent strongroom.agents;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('agent_id', p_agent_id);
    perform strongroom_private.check_id('version_id', v_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    perform strongroom_private.check_object('definition', p_definition, 1048576);
    v_digest := strongroom_private.digest(p_definition);

    -- The race: two publishers read the same latest version. The second one waits here, and reads
    -- what the first has written.
    select a.*
    into v_agent
    from strongroom.agents as a
    where a.tenant_id = p_tenant_id
        and a.id = p_agent_id
        and a.deleted_at is null
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('agent', null, null);
    end if;
    if not exists (
        select
        from strongroom.agent_versions as v
        where v.tenant_id = p_tenant_id
            and v.id = v_id
    ) then
        if v_agent.archived_at is not null then
            perform strongroom_private.fail(
                'invalid_transition',
                'the agent is archived and takes no new version',
                jsonb_build_object('path', 'agent_id', 'record', 'agent'),
                'Take it out of the archive first.'
            );
        end if;
        insert into strongroom.agent_versions (
            tenant_id, agent_id, version, id, definition, content_digest, size_bytes
        )
        values (
            p_tenant_id,
            p_agent_id,
            v_agent.latest_version + 1,
            v_id,
            p_definition,
            v_digest,
            octet_length(p_definition::text)
        )
        on conflict on constraint an_agent_version_id_is_used_once_in_a_tenant do nothing;
        if found then
            v_outcome := 'inserted';
            update strongroom.agents as a
            set latest_version = a.latest_version + 1,
                updated_at = now()
            where a.tenant_id = p_tenant_id
                and a.id = p_agent_id;
            perform strongroom_private.record_audit(
                p_tenant_id,
                'agent.publish',
                'agent',
                p_agent_id,
                jsonb_build_object(
                    'version', v_agent.latest_version + 1, 'content_digest', v_digest
                ),
                p_actor_id
            );
        end if;
    end if;
    return query
    select
        v.tenant_id,
        v.agent_id,
        v.version,
        v.id,
        v.content_digest,
        v.size_bytes,
        v.published_at,
        v_outcome
    from strongroom.agent_versions as v
    where v.tenant_id = p_tenant_id
        and v.id = v_id
        and v.agent_id = p_agent_id
        and v.content_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'a version with this id has other content or belongs to another agent',
            jsonb_build_object('path', 'version_id', 'record', 'agent version'),
            'Use a new id for a new version.'
        );
    end if;
end
$$;
comment on function strongroom.publish_agent_version(text, text, jsonb, text, text) is
    'Publish the next version of an agent: a JSON object of at most 1 MiB that is never changed'
    ' again. A repeat with the same version id and content changes nothing. Errors: SR001, SR004,'
    ' SR010, SR011, SR020, SR030. Callers: hosts.';

create function strongroom.find_agent_version(
    p_tenant_id text,
    p_agent_id text,
    p_version integer default null
)
returns table (
    tenant_id text,
    agent_id text,
    version integer,
    id text,
    content_digest text,
    size_bytes integer,
    published_at timestamptz,
    definition jsonb
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
    perform strongroom_private.check_id('agent_id', p_agent_id);
    perform strongroom_private.check_catalog_version(p_version);
    select coalesce(p_version, a.latest_version)
    into v_version
    from strongroom.agents as a
    where a.tenant_id = p_tenant_id
        and a.id = p_agent_id
        and a.deleted_at is null;
    -- By its whole key, however many versions there are; without the agent there is none.
    return query
    select
        v.tenant_id,
        v.agent_id,
        v.version,
        v.id,
        v.content_digest,
        v.size_bytes,
        v.published_at,
        v.definition
    from strongroom.agent_versions as v
    where v.tenant_id = p_tenant_id
        and v.agent_id = p_agent_id
        and v.version = v_version;
end
$$;
comment on function strongroom.find_agent_version(text, text, integer) is
    'One published version with its definition, the latest without a number; or no row, also when'
    ' the agent is deleted. Errors: SR001, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_agent_versions(
    p_tenant_id text,
    p_agent_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    agent_id text,
    version integer,
    id text,
    content_digest text,
    size_bytes integer,
    published_at timestamptz,
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
        'agent_versions', jsonb_build_array(p_agent_id), p_direction
    );
    v_key integer;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('agent_id', p_agent_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    if not exists (
        select
        from strongroom.agents as a
        where a.tenant_id = p_tenant_id
            and a.id = p_agent_id
            and a.deleted_at is null
    ) then
        perform strongroom_private.fail_missed_write('agent', null, null);
    end if;
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1]::integer;
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.agent_id,
                s.version,
                s.id,
                s.content_digest,
                s.size_bytes,
                s.published_at,
                strongroom_private.encode_cursor($4, array[s.version::text]),
                s.total > $5
            from (
                -- Definitions are not even read: large ones lie in TOAST.
                select
                    v.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select
                        v.tenant_id,
                        v.agent_id,
                        v.version,
                        v.id,
                        v.content_digest,
                        v.size_bytes,
                        v.published_at
                    from strongroom.agent_versions as v
                    where v.tenant_id = $1
                        and v.agent_id = $2
                        and ($3 is null or v.version %1$s $3)
                    order by v.version %2$s
                    limit $5 + 1
                ) as v
            ) as s
            where s.place <= $5
            order by s.version %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, p_agent_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_agent_versions(
    text, text, integer, text, text, text
) is
    'A page of an agent''s published versions, forward from 1 up, without definitions. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom_private.set_agent_deleted(
    p_tenant_id text,
    p_agent_id text,
    p_is_deleted boolean,
    p_actor_id text
)
returns setof strongroom.agent_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('agent_id', p_agent_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    update strongroom.agents as a
    set deleted_at = case when p_is_deleted then now() end,
        updated_at = now(),
        version = a.version + 1
    where a.tenant_id = p_tenant_id
        and a.id = p_agent_id
        and (a.deleted_at is not null) <> p_is_deleted;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id,
            case when p_is_deleted then 'agent.delete' else 'agent.restore' end,
            'agent',
            p_agent_id,
            p_actor_id => p_actor_id
        );
    end if;
    return query
    select d.*
    from strongroom.agent_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_agent_id;
    if not found then
        perform strongroom_private.fail_missed_write('agent', null, null);
    end if;
end
$$;
comment on function strongroom_private.set_agent_deleted(text, text, boolean, text) is
    'Soft-delete an agent or restore it; a repeat changes nothing. Errors: SR001, SR004, SR010,'
    ' SR020.';

create function strongroom.soft_delete_agent(
    p_tenant_id text,
    p_agent_id text,
    p_actor_id text default null
)
returns setof strongroom.agent_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select d.*
    from strongroom_private.set_agent_deleted(p_tenant_id, p_agent_id, true, p_actor_id) as d;
end
$$;
comment on function strongroom.soft_delete_agent(text, text, text) is
    'Hide an agent and its versions, restorably; what names it resolves to deleted. A repeat'
    ' changes nothing. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.restore_agent(
    p_tenant_id text,
    p_agent_id text,
    p_actor_id text default null
)
returns setof strongroom.agent_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select d.*
    from strongroom_private.set_agent_deleted(p_tenant_id, p_agent_id, false, p_actor_id) as d;
end
$$;
comment on function strongroom.restore_agent(text, text, text) is
    'Bring a soft-deleted agent back. A repeat changes nothing. Errors: SR001, SR004, SR010, SR020.'
    ' Callers: hosts.';

create function strongroom.purge_agent(
    p_tenant_id text,
    p_agent_id text,
    p_actor_id text default null
)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('agent_id', p_agent_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    -- Locked first, so that nothing is published between the count and the deletion.
    perform
    from strongroom.agents as a
    where a.tenant_id = p_tenant_id
        and a.id = p_agent_id
    for update;
    table_name := 'agents';
    row_count := case when found then 1 else 0 end;
    return next;
    table_name := 'agent_versions';
    select count(*)
    into row_count
    from strongroom.agent_versions as v
    where v.tenant_id = p_tenant_id
        and v.agent_id = p_agent_id;
    return next;
    delete from strongroom.agents as a
    where a.tenant_id = p_tenant_id
        and a.id = p_agent_id;
    if found then
        insert into strongroom.catalog_tombstones (tenant_id, kind, id)
        values (p_tenant_id, 'agent', p_agent_id);
        perform strongroom_private.record_audit(
            p_tenant_id, 'agent.purge', 'agent', p_agent_id, p_actor_id => p_actor_id
        );
    end if;
end
$$;
comment on function strongroom.purge_agent(text, text, text) is
    'Delete an agent and its versions for good, in one transaction; returns how many rows each'
    ' table lost. Only the id stays, as a tombstone. A repeat, and an id that does not exist,'
    ' delete nothing. Errors: SR001, SR004, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Skills
-- ---------------------------------------------------------------------------------------------

create table strongroom.skills (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    name text not null,
    description text,
    metadata jsonb not null default '{}',
    latest_version integer not null default 0,
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    archived_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint skills_pkey primary key (tenant_id, id),
    constraint skill_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint description_has_1_to_4000_characters
        check (char_length(description) between 1 and 4000),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint latest_version_is_not_negative check (latest_version >= 0),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.skills is
    'The skills that a tenant has published or is about to; others name one by its id.';
comment on column strongroom.skills.tenant_id is 'The tenant.';
comment on column strongroom.skills.id is 'The skill''s id, unique in the tenant for ever.';
comment on column strongroom.skills.name is 'A name for people.';
comment on column strongroom.skills.description is
    'What it is for, to choose by; at most 4,000 characters.';
comment on column strongroom.skills.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.skills.latest_version is
    'The number of its newest published version; 0 before the first.';
comment on column strongroom.skills.version is
    'One more at every change of the row itself; publishing does not count.';
comment on column strongroom.skills.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.skills.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.skills.archived_at is
    'When it was archived: it stays readable, and takes no new versions.';
comment on column strongroom.skills.deleted_at is
    'When it was soft-deleted: hidden, and restorable.';
comment on column strongroom.skills.created_at is 'When it was created.';
comment on column strongroom.skills.updated_at is 'When it last changed.';

alter table strongroom.skills enable row level security;
alter table strongroom.skills force row level security;
create policy tenant_reads on strongroom.skills
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and ((select strongroom_private.is_trusted()) or deleted_at is null)
    );
comment on policy tenant_reads on strongroom.skills is
    'Everyone in the tenant reads the living ones; hosts the soft-deleted ones, too.';
create policy host_inserts on strongroom.skills
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.skills is 'Hosts create them.';
create policy host_updates on strongroom.skills
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.skills is 'Hosts change and publish them.';
create policy host_deletes on strongroom.skills
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.skills is 'Hosts, through purge_skill.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.skills',
    p_column => '',
    p_action => 'keep',
    p_reason => 'Skills are the tenant''s and belong to nobody.'
);

create view strongroom.skill_details
with (security_invoker = true)
as
select
    a.tenant_id,
    a.id,
    a.name,
    a.description,
    a.metadata,
    a.latest_version,
    a.version,
    a.archived_at,
    a.deleted_at,
    a.created_at,
    a.updated_at
from strongroom.skills as a;
comment on view strongroom.skill_details is
    'A skill as the functions return it, without bookkeeping columns. Under the row security of'
    ' the reader.';

create type strongroom.created_skill as (
    tenant_id text,
    id text,
    name text,
    description text,
    metadata jsonb,
    latest_version integer,
    version bigint,
    archived_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.created_skill is
    'skill_details, and whether the create inserted it or was a duplicate.';

create table strongroom.skill_versions (
    tenant_id text collate "C" not null,
    skill_id text collate "C" not null,
    version integer not null,
    id text collate "C" not null,
    definition jsonb not null,
    content_digest text collate "C" not null,
    size_bytes integer not null,
    published_at timestamptz not null default now(),
    constraint skill_versions_pkey primary key (tenant_id, skill_id, version),
    constraint a_skill_version_id_is_used_once_in_a_tenant unique (tenant_id, id),
    constraint version_belongs_to_a_skill
        foreign key (tenant_id, skill_id)
        references strongroom.skills (tenant_id, id)
        on delete cascade,
    constraint version_is_positive check (version > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint definition_is_an_object check (jsonb_typeof(definition) = 'object'),
    constraint size_is_1_byte_to_1_mib check (size_bytes between 1 and 1048576)
);
comment on table strongroom.skill_versions is
    'Published versions of skills: 1..n without gaps, and never changed.';
comment on column strongroom.skill_versions.tenant_id is 'The tenant.';
comment on column strongroom.skill_versions.skill_id is 'The skill.';
comment on column strongroom.skill_versions.version is 'Its number: 1, 2, 3, ...';
comment on column strongroom.skill_versions.id is
    'Id of the publication, unique in the tenant: a repeated call is known by it.';
comment on column strongroom.skill_versions.definition is
    'What was published: the host''s own JSON object, at most 1 MiB. The whole tenant reads it.';
comment on column strongroom.skill_versions.content_digest is
    'SHA-256 of the definition in hexadecimal; the same for the same JSON, however it is written.';
comment on column strongroom.skill_versions.size_bytes is 'Bytes of the definition as text.';
comment on column strongroom.skill_versions.published_at is 'When it was published.';

create trigger skill_versions_are_insert_only
    before update or delete on strongroom.skill_versions
    for each row
    execute function strongroom_private.keep_history('strongroom.skills', 'id', 'skill_id');
comment on trigger skill_versions_are_insert_only on strongroom.skill_versions is
    'See keep_history.';
create trigger skill_versions_are_never_truncated
    before truncate on strongroom.skill_versions
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger skill_versions_are_never_truncated on strongroom.skill_versions is
    'See keep_history.';

create function strongroom_private.may_read_skill(p_tenant_id text, p_skill_id text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- With the caller's rights: the policy of skills decides.
    return exists (
        select
        from strongroom.skills as a
        where a.tenant_id = p_tenant_id
            and a.id = p_skill_id
    );
end
$$;
comment on function strongroom_private.may_read_skill(text, text) is
    'Whether the policy of skills shows this one to the caller. For the policy of skill_versions.';

alter table strongroom.skill_versions enable row level security;
alter table strongroom.skill_versions force row level security;
create policy tenant_reads on strongroom.skill_versions
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_skill(tenant_id, skill_id)
        )
    );
comment on policy tenant_reads on strongroom.skill_versions is 'As the skill.';
create policy host_inserts on strongroom.skill_versions
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.skill_versions is
    'Hosts, through publish_skill_version.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.skill_versions',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They are the tenant''s, and name nobody.'
);

create function strongroom.find_skill(
    p_tenant_id text,
    p_skill_id text,
    p_deleted boolean default false
)
returns setof strongroom.skill_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('skill_id', p_skill_id);
    return query
    select d.*
    from strongroom.skill_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_skill_id
        and (d.deleted_at is not null) = p_deleted;
end
$$;
comment on function strongroom.find_skill(text, text, boolean) is
    'The skill, or no row. With p_deleted, a soft-deleted one, which hosts alone see. Errors:'
    ' SR001, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.create_skill(
    p_tenant_id text,
    p_name text,
    p_skill_id text default null,
    p_description text default null,
    p_metadata jsonb default '{}'
)
returns setof strongroom.created_skill
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id text := coalesce(p_skill_id, gen_random_uuid()::text);
    v_digest text;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('skill_id', v_id);
    perform strongroom_private.check_name('name', p_name);
    perform strongroom_private.check_description('description', p_description);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    v_digest := strongroom_private.digest(jsonb_build_array(p_name, p_description, p_metadata));

    insert into strongroom.skills (
        tenant_id, id, name, description, metadata, creation_digest
    )
    values (p_tenant_id, v_id, p_name, p_description, p_metadata, v_digest)
    on conflict on constraint skills_pkey do nothing;
    if found then
        v_outcome := 'inserted';
        -- Looked for after the insert: where that had to wait for a purge, the tombstone is there
        -- now.
        if exists (
            select
            from strongroom.catalog_tombstones as t
            where t.tenant_id = p_tenant_id
                and t.kind = 'skill'
                and t.id = v_id
        ) then
            perform strongroom_private.fail(
                'already_exists',
                'the id was used by a skill that has been purged',
                jsonb_build_object('path', 'skill_id', 'record', 'skill', 'purged', true),
                'Choose another id: what still names the old one must not find the new one.'
            );
        end if;
    end if;

    return query
    select
        d.*,
        v_outcome
    from strongroom.skill_details as d
    inner join strongroom.skills as a
        on a.tenant_id = d.tenant_id
        and a.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_id
        and a.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'a skill with this id was created with other content',
            jsonb_build_object('path', 'skill_id', 'record', 'skill'),
            'Read it and update it, or choose another id.'
        );
    end if;
end
$$;
comment on function strongroom.create_skill(text, text, text, text, jsonb) is
    'Create a skill, without a published version. A repeat with the same id and arguments changes'
    ' nothing and returns the stored row with outcome duplicate, also after later changes. Errors:'
    ' SR001, SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.update_skill(
    p_tenant_id text,
    p_skill_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null,
    p_actor_id text default null
)
returns setof strongroom.skill_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_version bigint;
    v_last_write_id text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('skill_id', p_skill_id);
    perform strongroom_private.check_catalog_changes(p_changes);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);

    update strongroom.skills as a
    set name = coalesce(p_changes ->> 'name', a.name),
        description = case
            when p_changes ? 'description' then p_changes ->> 'description' else a.description
        end,
        metadata = coalesce(p_changes -> 'metadata', a.metadata),
        archived_at = case
            when not p_changes ? 'archived' then a.archived_at
            when (p_changes -> 'archived')::boolean then coalesce(a.archived_at, now())
        end,
        version = a.version + 1,
        last_write_id = p_write_id,
        updated_at = now()
    where a.tenant_id = p_tenant_id
        and a.id = p_skill_id
        and a.version = p_expected_version
        and a.deleted_at is null;
    if not found then
        select
            a.version,
            a.last_write_id
        into
            v_version,
            v_last_write_id
        from strongroom.skills as a
        where a.tenant_id = p_tenant_id
            and a.id = p_skill_id
            and a.deleted_at is null;
        -- A repeat of the very same call, whose answer was lost, has happened already.
        if v_last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write('skill', p_expected_version, v_version);
        end if;
    elsif p_changes ? 'archived' then
        perform strongroom_private.record_audit(
            p_tenant_id,
            case when (p_changes -> 'archived')::boolean
                then 'skill.archive' else 'skill.unarchive' end,
            'skill',
            p_skill_id,
            p_actor_id => p_actor_id
        );
    end if;
    return query
    select f.*
    from strongroom.find_skill(p_tenant_id, p_skill_id) as f;
end
$$;
comment on function strongroom.update_skill(text, text, jsonb, bigint, text, text) is
    'Change name, description, metadata or archived (true, false), given the version that was read;'
    ' null clears the description, a missing key leaves a field alone. Errors: SR001, SR004, SR010,'
    ' SR012, SR020. Callers: hosts.';

create function strongroom.list_skills(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_archived boolean default null,
    p_deleted boolean default false
)
returns table (
    tenant_id text,
    id text,
    name text,
    description text,
    metadata jsonb,
    latest_version integer,
    version bigint,
    archived_at timestamptz,
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
    v_scope text := strongroom_private.cursor_scope(
        'skills', jsonb_build_array(p_archived, p_deleted), p_direction
    );
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
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
                s.name,
                s.description,
                s.metadata,
                s.latest_version,
                s.version,
                s.archived_at,
                s.deleted_at,
                s.created_at,
                s.updated_at,
                strongroom_private.encode_cursor($3, array[s.id]),
                s.total > $4
            from (
                select
                    d.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select d.*
                    from strongroom.skill_details as d
                    where d.tenant_id = $1
                        and (d.deleted_at is not null) = $6
                        and ($5 is null or (d.archived_at is not null) = $5)
                        and ($2 is null or d.id %1$s $2)
                    order by d.id %2$s
                    limit $4 + 1
                ) as d
            ) as s
            where s.place <= $4
            order by s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit, p_archived, p_deleted;
end
$$;
comment on function strongroom.list_skills(
    text, integer, text, text, text, boolean, boolean
) is
    'A page of skills by id. Filters: archived, deleted (which hosts alone see). has_more: whether'
    ' rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021. Callers:'
    ' hosts, users.';

create function strongroom.publish_skill_version(
    p_tenant_id text,
    p_skill_id text,
    p_definition jsonb,
    p_version_id text default null,
    p_actor_id text default null
)
returns table (
    tenant_id text,
    skill_id text,
    version integer,
    id text,
    content_digest text,
    size_bytes integer,
    published_at timestamptz,
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
    v_digest text;
    v_skill strongroom.skills;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('skill_id', p_skill_id);
    perform strongroom_private.check_id('version_id', v_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    perform strongroom_private.check_object('definition', p_definition, 1048576);
    v_digest := strongroom_private.digest(p_definition);

    -- The race: two publishers read the same latest version. The second one waits here, and reads
    -- what the first has written.
    select a.*
    into v_skill
    from strongroom.skills as a
    where a.tenant_id = p_tenant_id
        and a.id = p_skill_id
        and a.deleted_at is null
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('skill', null, null);
    end if;
    if not exists (
        select
        from strongroom.skill_versions as v
        where v.tenant_id = p_tenant_id
            and v.id = v_id
    ) then
        if v_skill.archived_at is not null then
            perform strongroom_private.fail(
                'invalid_transition',
                'the skill is archived and takes no new version',
                jsonb_build_object('path', 'skill_id', 'record', 'skill'),
                'Take it out of the archive first.'
            );
        end if;
        insert into strongroom.skill_versions (
            tenant_id, skill_id, version, id, definition, content_digest, size_bytes
        )
        values (
            p_tenant_id,
            p_skill_id,
            v_skill.latest_version + 1,
            v_id,
            p_definition,
            v_digest,
            octet_length(p_definition::text)
        )
        on conflict on constraint a_skill_version_id_is_used_once_in_a_tenant do nothing;
        if found then
            v_outcome := 'inserted';
            update strongroom.skills as a
            set latest_version = a.latest_version + 1,
                updated_at = now()
            where a.tenant_id = p_tenant_id
                and a.id = p_skill_id;
            perform strongroom_private.record_audit(
                p_tenant_id,
                'skill.publish',
                'skill',
                p_skill_id,
                jsonb_build_object(
                    'version', v_skill.latest_version + 1, 'content_digest', v_digest
                ),
                p_actor_id
            );
        end if;
    end if;
    return query
    select
        v.tenant_id,
        v.skill_id,
        v.version,
        v.id,
        v.content_digest,
        v.size_bytes,
        v.published_at,
        v_outcome
    from strongroom.skill_versions as v
    where v.tenant_id = p_tenant_id
        and v.id = v_id
        and v.skill_id = p_skill_id
        and v.content_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'a version with this id has other content or belongs to another skill',
            jsonb_build_object('path', 'version_id', 'record', 'skill version'),
            'Use a new id for a new version.'
        );
    end if;
end
$$;
comment on function strongroom.publish_skill_version(text, text, jsonb, text, text) is
    'Publish the next version of a skill: a JSON object of at most 1 MiB that is never changed'
    ' again. A repeat with the same version id and content changes nothing. Errors: SR001, SR004,'
    ' SR010, SR011, SR020, SR030. Callers: hosts.';

create function strongroom.find_skill_version(
    p_tenant_id text,
    p_skill_id text,
    p_version integer default null
)
returns table (
    tenant_id text,
    skill_id text,
    version integer,
    id text,
    content_digest text,
    size_bytes integer,
    published_at timestamptz,
    definition jsonb
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
    perform strongroom_private.check_id('skill_id', p_skill_id);
    perform strongroom_private.check_catalog_version(p_version);
    select coalesce(p_version, a.latest_version)
    into v_version
    from strongroom.skills as a
    where a.tenant_id = p_tenant_id
        and a.id = p_skill_id
        and a.deleted_at is null;
    -- By its whole key, however many versions there are; without the skill there is none.
    return query
    select
        v.tenant_id,
        v.skill_id,
        v.version,
        v.id,
        v.content_digest,
        v.size_bytes,
        v.published_at,
        v.definition
    from strongroom.skill_versions as v
    where v.tenant_id = p_tenant_id
        and v.skill_id = p_skill_id
        and v.version = v_version;
end
$$;
comment on function strongroom.find_skill_version(text, text, integer) is
    'One published version with its definition, the latest without a number; or no row, also when'
    ' the skill is deleted. Errors: SR001, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_skill_versions(
    p_tenant_id text,
    p_skill_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    skill_id text,
    version integer,
    id text,
    content_digest text,
    size_bytes integer,
    published_at timestamptz,
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
        'skill_versions', jsonb_build_array(p_skill_id), p_direction
    );
    v_key integer;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('skill_id', p_skill_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    if not exists (
        select
        from strongroom.skills as a
        where a.tenant_id = p_tenant_id
            and a.id = p_skill_id
            and a.deleted_at is null
    ) then
        perform strongroom_private.fail_missed_write('skill', null, null);
    end if;
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1]::integer;
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.skill_id,
                s.version,
                s.id,
                s.content_digest,
                s.size_bytes,
                s.published_at,
                strongroom_private.encode_cursor($4, array[s.version::text]),
                s.total > $5
            from (
                -- Definitions are not even read: large ones lie in TOAST.
                select
                    v.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select
                        v.tenant_id,
                        v.skill_id,
                        v.version,
                        v.id,
                        v.content_digest,
                        v.size_bytes,
                        v.published_at
                    from strongroom.skill_versions as v
                    where v.tenant_id = $1
                        and v.skill_id = $2
                        and ($3 is null or v.version %1$s $3)
                    order by v.version %2$s
                    limit $5 + 1
                ) as v
            ) as s
            where s.place <= $5
            order by s.version %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, p_skill_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_skill_versions(
    text, text, integer, text, text, text
) is
    'A page of a skill''s published versions, forward from 1 up, without definitions. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom_private.set_skill_deleted(
    p_tenant_id text,
    p_skill_id text,
    p_is_deleted boolean,
    p_actor_id text
)
returns setof strongroom.skill_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('skill_id', p_skill_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    update strongroom.skills as a
    set deleted_at = case when p_is_deleted then now() end,
        updated_at = now(),
        version = a.version + 1
    where a.tenant_id = p_tenant_id
        and a.id = p_skill_id
        and (a.deleted_at is not null) <> p_is_deleted;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id,
            case when p_is_deleted then 'skill.delete' else 'skill.restore' end,
            'skill',
            p_skill_id,
            p_actor_id => p_actor_id
        );
    end if;
    return query
    select d.*
    from strongroom.skill_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_skill_id;
    if not found then
        perform strongroom_private.fail_missed_write('skill', null, null);
    end if;
end
$$;
comment on function strongroom_private.set_skill_deleted(text, text, boolean, text) is
    'Soft-delete a skill or restore it; a repeat changes nothing. Errors: SR001, SR004, SR010,'
    ' SR020.';

create function strongroom.soft_delete_skill(
    p_tenant_id text,
    p_skill_id text,
    p_actor_id text default null
)
returns setof strongroom.skill_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select d.*
    from strongroom_private.set_skill_deleted(p_tenant_id, p_skill_id, true, p_actor_id) as d;
end
$$;
comment on function strongroom.soft_delete_skill(text, text, text) is
    'Hide a skill and its versions, restorably; what names it resolves to deleted. A repeat'
    ' changes nothing. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.restore_skill(
    p_tenant_id text,
    p_skill_id text,
    p_actor_id text default null
)
returns setof strongroom.skill_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select d.*
    from strongroom_private.set_skill_deleted(p_tenant_id, p_skill_id, false, p_actor_id) as d;
end
$$;
comment on function strongroom.restore_skill(text, text, text) is
    'Bring a soft-deleted skill back. A repeat changes nothing. Errors: SR001, SR004, SR010, SR020.'
    ' Callers: hosts.';

create function strongroom.purge_skill(
    p_tenant_id text,
    p_skill_id text,
    p_actor_id text default null
)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('skill_id', p_skill_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    -- Locked first, so that nothing is published between the count and the deletion.
    perform
    from strongroom.skills as a
    where a.tenant_id = p_tenant_id
        and a.id = p_skill_id
    for update;
    table_name := 'skills';
    row_count := case when found then 1 else 0 end;
    return next;
    table_name := 'skill_versions';
    select count(*)
    into row_count
    from strongroom.skill_versions as v
    where v.tenant_id = p_tenant_id
        and v.skill_id = p_skill_id;
    return next;
    delete from strongroom.skills as a
    where a.tenant_id = p_tenant_id
        and a.id = p_skill_id;
    if found then
        insert into strongroom.catalog_tombstones (tenant_id, kind, id)
        values (p_tenant_id, 'skill', p_skill_id);
        perform strongroom_private.record_audit(
            p_tenant_id, 'skill.purge', 'skill', p_skill_id, p_actor_id => p_actor_id
        );
    end if;
end
$$;
comment on function strongroom.purge_skill(text, text, text) is
    'Delete a skill and its versions for good, in one transaction; returns how many rows each'
    ' table lost. Only the id stays, as a tombstone. A repeat, and an id that does not exist,'
    ' delete nothing. Errors: SR001, SR004, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- What a reference stands for
-- ---------------------------------------------------------------------------------------------
-- Invariant: a reference that has nothing behind it says why. deleted: soft-deleted or purged;
-- uncatalogued: the catalog has never had it, so it lives in the host's own code; unpublished: the
-- version that is asked for is not there (yet).

create function strongroom.resolve_agent(p_tenant_id text, p_conversation_id text)
returns table (
    tenant_id text,
    conversation_id text,
    agent_id text,
    agent_policy text,
    status text,
    version integer,
    name text,
    definition jsonb,
    content_digest text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_readable_conversation(p_tenant_id, p_conversation_id, null);
    return query
    select
        c.tenant_id,
        c.id,
        c.agent_id,
        c.agent_policy,
        case
            when c.agent_id is null then 'unbound'
            when a.deleted_at is not null or t.id is not null then 'deleted'
            when a.id is null then 'uncatalogued'
            when v.version is null then 'unpublished'
            when a.archived_at is not null then 'archived'
            else 'active'
        end,
        coalesce(c.agent_version, v.version),
        a.name,
        v.definition,
        v.content_digest
    from strongroom.conversations as c
    left join strongroom.agents as a
        on a.tenant_id = c.tenant_id
        and a.id = c.agent_id
    -- By its whole key, however many versions there are.
    left join lateral (
        select d.*
        from strongroom.agent_versions as d
        where d.tenant_id = a.tenant_id
            and d.agent_id = a.id
            and d.version = case
                when c.agent_version is null then a.latest_version
                else c.agent_version
            end
            and a.deleted_at is null
        order by d.version
        limit 1
    ) as v on true
    left join strongroom.catalog_tombstones as t
        on t.tenant_id = c.tenant_id
        and t.kind = 'agent'
        and t.id = c.agent_id
    where c.tenant_id = p_tenant_id
        and c.id = p_conversation_id;
end
$$;
comment on function strongroom.resolve_agent(text, text) is
    'What a conversation''s agent binding stands for now: the exact version, and its definition. A'
    ' pinned one stays, whatever is published later; latest moves. status: active, archived,'
    ' deleted, unpublished, uncatalogued, or unbound. Errors: SR001, SR004, SR010, SR020. Callers:'
    ' hosts.';

create function strongroom.resolve_skill(
    p_tenant_id text,
    p_skill_id text,
    p_version integer default null
)
returns table (
    tenant_id text,
    skill_id text,
    status text,
    version integer,
    name text,
    definition jsonb,
    content_digest text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('skill_id', p_skill_id);
    perform strongroom_private.check_catalog_version(p_version);
    return query
    select
        p_tenant_id,
        p_skill_id,
        case
            when s.deleted_at is not null or t.id is not null then 'deleted'
            when s.id is null then 'uncatalogued'
            when v.version is null then 'unpublished'
            when s.archived_at is not null then 'archived'
            else 'active'
        end,
        coalesce(p_version, v.version),
        s.name,
        v.definition,
        v.content_digest
    from (values (p_skill_id)) as r (id)
    left join strongroom.skills as s
        on s.tenant_id = p_tenant_id
        and s.id = r.id
    -- By its whole key, however many versions there are.
    left join lateral (
        select d.*
        from strongroom.skill_versions as d
        where d.tenant_id = s.tenant_id
            and d.skill_id = s.id
            and d.version = case when p_version is null then s.latest_version else p_version end
            and s.deleted_at is null
        order by d.version
        limit 1
    ) as v on true
    left join strongroom.catalog_tombstones as t
        on t.tenant_id = p_tenant_id
        and t.kind = 'skill'
        and t.id = r.id;
end
$$;
comment on function strongroom.resolve_skill(text, text, integer) is
    'What a reference to a skill stands for now: the version, the latest without a number, and its'
    ' definition. status: active, archived, deleted, unpublished or uncatalogued. Errors: SR001,'
    ' SR004, SR020. Callers: hosts.';

create function strongroom.list_skill_catalog(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    id text,
    name text,
    description text,
    metadata jsonb,
    version integer,
    content_digest text,
    size_bytes integer,
    published_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope('skill_catalog', '{}', p_direction);
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
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
                s.name,
                s.description,
                s.metadata,
                v.version,
                v.content_digest,
                v.size_bytes,
                v.published_at,
                strongroom_private.encode_cursor($3, array[s.id]),
                s.total > $4
            from (
                select
                    s.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select s.*
                    from strongroom.skills as s
                    where s.tenant_id = $1
                        and s.deleted_at is null
                        and s.archived_at is null
                        and s.latest_version > 0
                        and ($2 is null or s.id %1$s $2)
                    order by s.id %2$s
                    limit $4 + 1
                ) as s
            ) as s
            inner join strongroom.skill_versions as v
                on v.tenant_id = s.tenant_id
                and v.skill_id = s.id
                and v.version = s.latest_version
            where s.place <= $4
            order by s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_skill_catalog(text, integer, text, text, text) is
    'A page of what can be used: each living skill that has a published version and is not'
    ' archived, with its latest version, by id, without definitions. has_more: whether rows follow'
    ' in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- The agent of a run
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.bind_run_agent()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_bound_id text;
    v_bound_version integer;
begin
    -- create_run holds the conversation's lock, so the binding cannot change meanwhile.
    select
        c.agent_id,
        c.agent_version
    into
        v_bound_id,
        v_bound_version
    from strongroom.conversations as c
    where c.tenant_id = new.tenant_id
        and c.id = new.conversation_id;
    new.agent_id := coalesce(new.agent_id, v_bound_id);
    if new.agent_id = v_bound_id then
        new.agent_version := v_bound_version;
    end if;
    if new.agent_version is null then
        select nullif(a.latest_version, 0)
        into new.agent_version
        from strongroom.agents as a
        where a.tenant_id = new.tenant_id
            and a.id = new.agent_id
            and a.deleted_at is null;
    end if;
    return new;
end
$$;
comment on function strongroom_private.bind_run_agent() is
    'For the trigger of runs: a run that names no version records its conversation''s agent and the'
    ' exact version that this stands for now; none where the catalog has none.';

create trigger runs_record_their_agent
    before insert on strongroom.runs
    for each row
    when (new.agent_version is null)
    execute function strongroom_private.bind_run_agent();
comment on trigger runs_record_their_agent on strongroom.runs is 'See bind_run_agent.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

-- Published versions have no update and no delete; they leave with what they belong to.
select strongroom_private.publish_grant(
    'table', '{strongroom.agents,strongroom.skills}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table',
    '{strongroom.agent_versions,strongroom.skill_versions,strongroom.catalog_tombstones}',
    '{select,insert}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.agent_details,strongroom.skill_details}', '{select}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'table',
    '{strongroom.agents,strongroom.agent_versions,strongroom.skills,strongroom.skill_versions}',
    '{select}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.check_catalog_version,
        strongroom_private.may_read_agent,
        strongroom_private.may_read_skill,
        strongroom.find_agent,
        strongroom.list_agents,
        strongroom.find_agent_version,
        strongroom.list_agent_versions,
        strongroom.find_skill,
        strongroom.list_skills,
        strongroom.find_skill_version,
        strongroom.list_skill_versions,
        strongroom.list_skill_catalog
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.check_description,
        strongroom_private.check_catalog_changes,
        strongroom_private.set_agent_deleted,
        strongroom_private.set_skill_deleted,
        strongroom.create_agent,
        strongroom.update_agent,
        strongroom.publish_agent_version,
        strongroom.soft_delete_agent,
        strongroom.restore_agent,
        strongroom.purge_agent,
        strongroom.resolve_agent,
        strongroom.create_skill,
        strongroom.update_skill,
        strongroom.publish_skill_version,
        strongroom.soft_delete_skill,
        strongroom.restore_skill,
        strongroom.purge_skill,
        strongroom.resolve_skill
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(6, 'catalog');
