-- strongroom 0002: conversations
--
-- Purpose     Conversations with owner, participants and visibility; messages with typed parts;
--             session state; thread summaries.
-- Order       Each conversation has a gapless position. It is given under the lock of the
--             conversation's row, so commit order is position order: who has seen position N will
--             never see a lower one appear later. No clock, client counter or random id orders
--             anything.
-- History     Messages and thread summaries are never updated and leave only with their
--             conversation; triggers refuse anything else, whoever asks.
-- Locks       Every write on a conversation first locks that one row (FOR NO KEY UPDATE). Nothing
--             that conversations share is locked, so writers of different conversations never wait
--             for each other; a batch inserts in the order of its ids, so two of them cannot
--             deadlock.
-- Reading     A conversation is readable by its owner, its participants and, when its visibility is
--             tenant, everyone in the tenant. What hangs on it has its rule. Functions check once
--             per call; policies check per row for users who read tables directly.

select strongroom_private.begin_migration(2, 'conversations');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '2';
select strongroom_private.require_transaction(2);


-- ---------------------------------------------------------------------------------------------
-- Conversations
-- ---------------------------------------------------------------------------------------------

create table strongroom.conversations (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    owner_id text collate "C" not null,
    title text,
    external_ref text collate "C",
    visibility text collate "C" not null default 'private',
    agent_id text collate "C",
    agent_policy text collate "C",
    agent_version integer,
    metadata jsonb not null default '{}',
    forked_from_id text collate "C",
    forked_from_position bigint,
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    archived_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint conversations_pkey primary key (tenant_id, id),
    constraint conversation_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint owner_id_has_1_to_255_characters check (char_length(owner_id) between 1 and 255),
    constraint title_has_1_to_255_characters check (char_length(title) between 1 and 255),
    constraint external_ref_has_1_to_255_characters
        check (char_length(external_ref) between 1 and 255),
    constraint visibility_is_private_or_tenant check (visibility in ('private', 'tenant')),
    constraint agent_id_has_1_to_255_characters check (char_length(agent_id) between 1 and 255),
    constraint an_agent_is_bound_by_a_policy
        check ((agent_id is null) = (agent_policy is null)),
    constraint agent_policy_is_pinned_or_latest check (agent_policy in ('pinned', 'latest')),
    constraint only_a_pinned_agent_has_a_version
        check ((agent_policy is not distinct from 'pinned') = (agent_version is not null)),
    constraint agent_version_is_positive check (agent_version > 0),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint a_fork_knows_its_position
        check ((forked_from_id is null) = (forked_from_position is null)),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.conversations is 'A thread of messages between principals and agents.';
comment on column strongroom.conversations.tenant_id is 'The tenant.';
comment on column strongroom.conversations.id is 'The conversation''s id, unique in the tenant.';
comment on column strongroom.conversations.owner_id is 'The principal it belongs to.';
comment on column strongroom.conversations.title is 'A title for people.';
comment on column strongroom.conversations.external_ref is
    'The host''s own name for it, unique among the tenant''s living conversations.';
comment on column strongroom.conversations.visibility is
    'private (owner and participants) or tenant (everyone in it).';
comment on column strongroom.conversations.agent_id is 'The agent that answers.';
comment on column strongroom.conversations.agent_policy is 'pinned to agent_version, or latest.';
comment on column strongroom.conversations.agent_version is 'The pinned version.';
comment on column strongroom.conversations.metadata is
    'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.conversations.forked_from_id is
    'The conversation it was forked from, which may be gone.';
comment on column strongroom.conversations.forked_from_position is
    'Up to where messages were copied.';
comment on column strongroom.conversations.version is
    'One more at every change of the conversation itself; messages do not count.';
comment on column strongroom.conversations.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.conversations.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.conversations.archived_at is 'When it was archived.';
comment on column strongroom.conversations.deleted_at is
    'When it was soft-deleted: hidden, and restorable.';
comment on column strongroom.conversations.created_at is 'When it was created.';
comment on column strongroom.conversations.updated_at is
    'When it last changed; messages do not count.';

create unique index an_external_ref_names_one_living_conversation
    on strongroom.conversations (tenant_id, external_ref)
    where external_ref is not null
        and deleted_at is null;
comment on index strongroom.an_external_ref_names_one_living_conversation is
    'Soft deletion frees the name.';
create index conversations_by_creation
    on strongroom.conversations (tenant_id, created_at, id);
comment on index strongroom.conversations_by_creation is 'Pages of a tenant''s conversations.';
create index conversations_by_owner
    on strongroom.conversations (tenant_id, owner_id, created_at, id);
comment on index strongroom.conversations_by_owner is 'Pages of an owner''s conversations.';
create index deleted_conversations
    on strongroom.conversations (tenant_id, deleted_at, id)
    where deleted_at is not null;
comment on index strongroom.deleted_conversations is 'What retention may purge, oldest first.';
create index tenant_visible_conversations_by_creation
    on strongroom.conversations (tenant_id, created_at, id)
    where visibility = 'tenant';
comment on index strongroom.tenant_visible_conversations_by_creation is
    'Pages of what everyone in the tenant may read.';

create table strongroom.conversation_participants (
    tenant_id text collate "C" not null,
    conversation_id text collate "C" not null,
    principal_id text collate "C" not null,
    added_at timestamptz not null default now(),
    constraint conversation_participants_pkey
        primary key (tenant_id, conversation_id, principal_id),
    constraint participant_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255)
);
comment on table strongroom.conversation_participants is
    'Principals, besides the owner, who may read a conversation and write to it.';
comment on column strongroom.conversation_participants.tenant_id is 'The tenant.';
comment on column strongroom.conversation_participants.conversation_id is 'The conversation.';
comment on column strongroom.conversation_participants.principal_id is 'The participant.';
comment on column strongroom.conversation_participants.added_at is 'Since when.';

create index participants_by_principal
    on strongroom.conversation_participants (tenant_id, principal_id, conversation_id);
comment on index strongroom.participants_by_principal is 'The conversations of a participant.';

-- SECURITY DEFINER: the policy of conversations asks it, and the policy of participants asks
-- whether the conversation is readable; with the caller's rights the two would call each other for
-- ever. It answers only for the signed-in principal and the given tenant.
create function strongroom_private.is_participant(p_tenant_id text, p_conversation_id text)
returns boolean
language sql
stable
security definer
cost 2000
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select
        from strongroom.conversation_participants as p
        where p.tenant_id = p_tenant_id
            and p.tenant_id = (select strongroom_private.current_tenant())
            and p.conversation_id = p_conversation_id
            and p.principal_id = (select strongroom_private.current_principal())
    )
$$;
comment on function strongroom_private.is_participant(text, text) is
    'Whether the signed-in user takes part in this conversation. SECURITY DEFINER, see its comment'
    ' in the migration.';

alter table strongroom.conversations enable row level security;
alter table strongroom.conversations force row level security;
create policy readers_read on strongroom.conversations
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or (
                deleted_at is null
                and (
                    owner_id = (select strongroom_private.current_principal())
                    or visibility = 'tenant'
                    or strongroom_private.is_participant(tenant_id, id)
                )
            )
        )
    );
comment on policy readers_read on strongroom.conversations is
    'Hosts read the bound tenant''s; users what they own, take part in, or what is open to the'
    ' tenant.';
create policy trusted_inserts on strongroom.conversations
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.conversations is
    'Hosts, and users through create_conversation.';
create policy trusted_updates on strongroom.conversations
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.conversations is
    'Hosts, and users through the functions that they may call.';
create policy trusted_deletes on strongroom.conversations
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.conversations is
    'Hosts, through purge_conversation.';

create function strongroom_private.may_read_conversation(p_tenant_id text, p_conversation_id text)
returns boolean
language plpgsql
stable
-- So that no plan asks it of many rows where a join leaves few.
cost 2000
set search_path = pg_catalog, pg_temp
as $$
begin
    -- With the caller's rights: the policy of conversations decides.
    return exists (
        select
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = p_conversation_id
    );
end
$$;
comment on function strongroom_private.may_read_conversation(text, text) is
    'Whether the policy of conversations shows this one to the caller. For policies of what hangs'
    ' on it.';

alter table strongroom.conversation_participants enable row level security;
alter table strongroom.conversation_participants force row level security;
create policy readers_read on strongroom.conversation_participants
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_conversation(tenant_id, conversation_id)
        )
    );
comment on policy readers_read on strongroom.conversation_participants is 'As the conversation.';
create policy trusted_inserts on strongroom.conversation_participants
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.conversation_participants is
    'Hosts, and users through create_conversation.';
create policy trusted_deletes on strongroom.conversation_participants
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.conversation_participants is
    'Hosts, through share_conversation.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.conversations',
    p_column => 'owner_id',
    p_action => 'delete',
    p_reason => 'A conversation is its owner''s, with all that hangs on it.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.conversation_participants',
    p_column => 'principal_id',
    p_action => 'delete',
    p_reason => 'Who has been erased takes part in nothing.'
);

-- ---------------------------------------------------------------------------------------------
-- Messages
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.is_whole_number(p_value jsonb, p_least integer)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    return jsonb_typeof(p_value) = 'number'
        and scale(p_value::numeric) = 0
        and p_value::numeric between p_least and 9007199254740991;
end
$$;
comment on function strongroom_private.is_whole_number(jsonb, integer) is
    'Whether a JSON value is a whole number that every client can hold exactly, and is written as'
    ' one: 7.0 is none.';

-- The rules of the 13 part types. Fields stand in order, the required ones first.
create function strongroom_private.find_part_problem(p_part jsonb)
returns text[]
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_names text[];
    v_kinds text[];
    v_required integer := 1;
    v_name text;
    v_value jsonb;
    v_problem text;
begin
    if jsonb_typeof(p_part) is distinct from 'object' then
        return array['invalid_argument', '', 'must be a JSON object'];
    end if;
    case p_part ->> 'type'
        when 'text', 'reasoning' then
            v_names := '{text}';
            v_kinds := '{text}';
        when 'tool-call' then
            v_names := '{tool_call_id,tool_name,input}';
            v_kinds := '{id,id,json}';
            v_required := 3;
        when 'tool-result' then
            v_names := '{tool_call_id,tool_name,output,is_error}';
            v_kinds := '{id,id,json,boolean}';
            v_required := 3;
        when 'question' then
            v_names := '{question_id,text,options}';
            v_kinds := '{id,text,texts}';
            v_required := 2;
        when 'approval' then
            v_names := '{approval_id,tool_call_id,tool_name,input,decision}';
            v_kinds := '{id,id,id,json,decision}';
            v_required := 4;
        when 'file' then
            v_names := '{media_type,file_id,url,name,size_bytes}';
            v_kinds := '{id,id,url,id,count}';
        when 'image' then
            v_names := '{media_type,file_id,url,alt,width,height}';
            v_kinds := '{id,id,url,text,count,count}';
        when 'citation' then
            v_names := '{source_id,quote,locator,start,end}';
            v_kinds := '{id,text,text,count,count}';
        when 'source' then
            v_names := '{source_id,source_type,title,url}';
            v_kinds := '{id,id,text,url}';
            v_required := 2;
        when 'artifact' then
            v_names := '{artifact_id,version,title,media_type}';
            v_kinds := '{id,version,text,id}';
            v_required := 2;
        when 'status' then
            v_names := '{status,text}';
            v_kinds := '{id,text}';
        when 'error' then
            v_names := '{code,message,retryable,detail}';
            v_kinds := '{id,text,boolean,json}';
            v_required := 2;
        else
            return array['invalid_argument', 'type', 'is not a known part type'];
    end case;

    if (p_part -> 'schema_version')::text is distinct from '1' then
        return array['invalid_argument', 'schema_version', 'must be 1'];
    end if;
    for v_index in 1 .. cardinality(v_names) loop
        v_name := v_names[v_index];
        v_value := p_part -> v_name;
        -- A field that has a default may be left out, but has no null.
        if v_value is null or (
            v_value = 'null'::jsonb and v_kinds[v_index] not in ('json', 'boolean', 'decision')
        ) then
            if v_index <= v_required then
                return array['invalid_argument', v_name, 'is required'];
            end if;
            continue;
        end if;
        v_problem := null;
        case v_kinds[v_index]
            when 'text' then
                if jsonb_typeof(v_value) <> 'string' then
                    v_problem := 'must be a text';
                end if;
            when 'id' then
                if jsonb_typeof(v_value) <> 'string' or v_value = '""'::jsonb then
                    v_problem := 'must be a text of 1 to 255 characters';
                elsif char_length(v_value #>> '{}') > 255 then
                    return array['limit_exceeded', v_name, 'has more than 255 characters'];
                end if;
            when 'url' then
                if jsonb_typeof(v_value) <> 'string' or v_value = '""'::jsonb then
                    v_problem := 'must be a text of 1 to 8192 characters';
                elsif char_length(v_value #>> '{}') > 8192 then
                    return array['limit_exceeded', v_name, 'has more than 8192 characters'];
                end if;
            when 'boolean' then
                if jsonb_typeof(v_value) <> 'boolean' then
                    v_problem := 'must be true or false';
                end if;
            when 'count' then
                if not strongroom_private.is_whole_number(v_value, 0) then
                    v_problem := 'must be a whole number from 0 to 2^53 - 1';
                end if;
            when 'version' then
                if not strongroom_private.is_whole_number(v_value, 1) then
                    v_problem := 'must be a whole number from 1 to 2^53 - 1';
                end if;
            when 'texts' then
                if jsonb_typeof(v_value) <> 'array'
                    or jsonb_path_exists(v_value, 'strict $[*] ? (@.type() != "string")')
                then
                    v_problem := 'must be a list of texts';
                end if;
            when 'decision' then
                if v_value not in (
                    '"pending"', '"allow-once"', '"allow-conversation"', '"allow-always"', '"deny"'
                ) then
                    v_problem :=
                        'must be pending, allow-once, allow-conversation, allow-always or deny';
                end if;
            else
                null;
        end case;
        if v_problem is not null then
            return array['invalid_argument', v_name, v_problem];
        end if;
    end loop;

    if p_part ->> 'type' in ('file', 'image')
        and coalesce(p_part ->> 'file_id', p_part ->> 'url') is null
    then
        return array['invalid_argument', 'file_id', 'or url is required'];
    end if;
    v_value := p_part -> 'provider_metadata';
    if v_value <> 'null'::jsonb and (
        jsonb_typeof(v_value) <> 'object'
        or jsonb_path_exists(v_value, 'strict $.* ? (@.type() != "object")')
        or exists (
            select
            from jsonb_object_keys(v_value) as k
            where char_length(k) not between 1 and 255
        )
    ) then
        return array[
            'invalid_argument', 'provider_metadata', 'must be an object with one object per'
            ' provider'
        ];
    end if;
    if p_part - v_names - '{type,schema_version,provider_metadata}'::text[] <> '{}'::jsonb then
        select min(k)
        into v_name
        from jsonb_object_keys(
            p_part - v_names - '{type,schema_version,provider_metadata}'::text[]
        ) as k;
        return array['invalid_argument', v_name, 'is not a field of this part type'];
    end if;
    return null;
end
$$;

comment on function strongroom_private.find_part_problem(jsonb) is
    'What is wrong with a message part: {error name, field, reason}, or null.';

create function strongroom_private.find_parts_problem(p_parts jsonb)
returns text[]
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_problem text[];
begin
    if jsonb_typeof(p_parts) is distinct from 'array' or p_parts = '[]'::jsonb then
        return array['invalid_argument', 'parts', 'must be a list of at least one part'];
    end if;
    if octet_length(p_parts::text) > 1048576 then
        return array[
            'limit_exceeded', 'parts', 'is larger than 1 MiB; large output belongs in the'
            ' tool-output store'
        ];
    end if;
    for v_index in 0 .. jsonb_array_length(p_parts) - 1 loop
        v_problem := strongroom_private.find_part_problem(p_parts -> v_index);
        if v_problem is not null then
            v_problem[2] := format('parts[%s]', v_index)
                || case v_problem[2] when '' then '' else '.' || v_problem[2] end;
            return v_problem;
        end if;
    end loop;
    return null;
end
$$;
comment on function strongroom_private.find_parts_problem(jsonb) is
    'What is wrong with a list of message parts: {error name, path, reason}, or null.';

create function strongroom_private.check_parts(p_parts jsonb)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_problem text[] := strongroom_private.find_parts_problem(p_parts);
begin
    if v_problem is not null then
        perform strongroom_private.fail(
            v_problem[1],
            format('%s %s', v_problem[2], v_problem[3]),
            jsonb_build_object('path', v_problem[2], 'reason', v_problem[3]),
            'See the part types in the reference; provider data belongs under provider_metadata.'
        );
    end if;
    return true;
end
$$;
comment on function strongroom_private.check_parts(jsonb) is
    'For the constraint of messages: true, or an error that names the part and field. Errors:'
    ' SR001, SR004.';

create function strongroom_private.find_message_problem(p_message jsonb)
returns text[]
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text;
    v_problem text[];
begin
    if jsonb_typeof(p_message) is distinct from 'object' then
        return array['invalid_argument', '', 'must be a JSON object'];
    end if;
    if p_message ->> 'role' is null
        or p_message ->> 'role' not in ('system', 'user', 'assistant', 'tool')
    then
        return array['invalid_argument', 'role', 'must be system, user, assistant or tool'];
    end if;
    v_problem := strongroom_private.find_parts_problem(p_message -> 'parts');
    if v_problem is not null then
        return v_problem;
    end if;
    foreach v_name in array '{id,author_id,run_id}'::text[] loop
        if coalesce(jsonb_typeof(p_message -> v_name), 'null') not in ('string', 'null')
            or p_message ->> v_name = ''
        then
            return array['invalid_argument', v_name, 'must be a text of 1 to 255 characters'];
        elsif char_length(p_message ->> v_name) > 255 then
            return array['limit_exceeded', v_name, 'has more than 255 characters'];
        elsif strongroom_private.is_wide(p_message ->> v_name) then
            return array[
                'limit_exceeded',
                v_name,
                'has more than 765 bytes of more than 60 different characters'
            ];
        end if;
    end loop;
    if coalesce(jsonb_typeof(p_message -> 'turn'), 'null') <> 'null' and not (
        strongroom_private.is_whole_number(p_message -> 'turn', 0)
        and (p_message ->> 'turn')::numeric <= 2147483647
    ) then
        return array['invalid_argument', 'turn', 'must be a whole number from 0 to 2147483647'];
    end if;
    if p_message ? 'metadata' then
        if jsonb_typeof(p_message -> 'metadata') <> 'object' then
            return array['invalid_argument', 'metadata', 'must be a JSON object'];
        elsif octet_length((p_message -> 'metadata')::text) > 16384 then
            return array['limit_exceeded', 'metadata', 'has more than 16384 bytes'];
        end if;
    end if;
    if p_message - '{id,role,parts,author_id,run_id,turn,metadata}'::text[] <> '{}'::jsonb then
        select min(k)
        into v_name
        from jsonb_object_keys(
            p_message - '{id,role,parts,author_id,run_id,turn,metadata}'::text[]
        ) as k;
        return array['invalid_argument', v_name, 'is not a field of a message'];
    end if;
    return null;
end
$$;
comment on function strongroom_private.find_message_problem(jsonb) is
    'What is wrong with a message to append: {error name, path, reason}, or null.';

create function strongroom_private.check_messages(p_messages jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer;
    v_index integer;
    v_other integer;
    v_problem text[];
begin
    if jsonb_typeof(p_messages) is distinct from 'array' or p_messages = '[]'::jsonb then
        perform strongroom_private.fail(
            'invalid_argument',
            'messages must be a list of at least one message',
            '{"path": "messages"}',
            'Give 1 to 500 messages.'
        );
    end if;
    v_count := jsonb_array_length(p_messages);
    if v_count > 500 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('messages has %s entries; a batch has at most 500', v_count),
            jsonb_build_object('path', 'messages', 'limit', 500, 'actual', v_count),
            'Append in batches of up to 500.'
        );
    end if;
    for v_index in 0 .. v_count - 1 loop
        v_problem := strongroom_private.find_message_problem(p_messages -> v_index);
        if v_problem is not null then
            v_problem[2] := format('messages[%s]', v_index)
                || case v_problem[2] when '' then '' else '.' || v_problem[2] end;
            perform strongroom_private.fail(
                v_problem[1],
                format('%s %s', v_problem[2], v_problem[3]),
                jsonb_build_object('path', v_problem[2], 'reason', v_problem[3]),
                'Mend it and repeat the whole batch; nothing was written.'
            );
        end if;
    end loop;
    if v_count > 1 then
        select
            r.places[1] - 1,
            r.places[2] - 1
        into
            v_other,
            v_index
        from (
            select array_agg(m.place order by m.place) as places
            from jsonb_array_elements(p_messages) with ordinality as m (value, place)
            where m.value ->> 'id' is not null
            group by m.value ->> 'id'
            having count(*) > 1
        ) as r
        order by r.places[2]
        limit 1;
        if found then
            perform strongroom_private.fail(
                'invalid_argument',
                format('messages[%s].id repeats messages[%s].id', v_index, v_other),
                jsonb_build_object('path', format('messages[%s].id', v_index)),
                'Each message of a batch has its own id.'
            );
        end if;
    end if;
end
$$;
comment on function strongroom_private.check_messages(jsonb) is
    'A batch of 1 to 500 well-formed messages, each with an id of its own or none. Errors: SR001,'
    ' SR004.';

create table strongroom.messages (
    tenant_id text collate "C" not null,
    conversation_id text collate "C" not null,
    position bigint not null,
    id text collate "C" not null,
    role text collate "C" not null,
    parts jsonb not null,
    author_id text collate "C",
    run_id text collate "C",
    turn integer,
    metadata jsonb not null default '{}',
    forked_from_id text collate "C",
    created_at timestamptz not null default now(),
    constraint messages_pkey primary key (tenant_id, conversation_id, position),
    constraint a_message_id_is_used_once_in_a_tenant unique (tenant_id, id),
    constraint message_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint position_is_positive check (position > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint role_is_known check (role in ('system', 'user', 'assistant', 'tool')),
    constraint parts_are_typed check (strongroom_private.check_parts(parts)),
    constraint author_id_has_1_to_255_characters check (char_length(author_id) between 1 and 255),
    constraint run_id_has_1_to_255_characters check (char_length(run_id) between 1 and 255),
    constraint turn_is_not_negative check (turn >= 0),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object')
);
comment on table strongroom.messages is
    'What was said, in order. Insert-only: a message is never changed, and leaves only with its'
    ' conversation.';
comment on column strongroom.messages.tenant_id is 'The tenant.';
comment on column strongroom.messages.conversation_id is 'The conversation.';
comment on column strongroom.messages.position is
    'Its place: 1, 2, 3, ... without gaps, in commit order. Safe as a JavaScript number.';
comment on column strongroom.messages.id is
    'The message''s id, unique in the tenant: a repeated append is known by it.';
comment on column strongroom.messages.role is 'system, user, assistant or tool.';
comment on column strongroom.messages.parts is 'The typed parts, in order; 1 MiB at most.';
comment on column strongroom.messages.author_id is
    'The principal who wrote it, where there is one.';
comment on column strongroom.messages.run_id is 'The run that produced it, where there is one.';
comment on column strongroom.messages.turn is 'The turn within the run.';
comment on column strongroom.messages.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.messages.forked_from_id is 'The message that a fork copied.';
comment on column strongroom.messages.created_at is 'When it was appended. It orders nothing.';

create trigger messages_are_insert_only
    before update or delete on strongroom.messages
    for each row
    execute function strongroom_private.keep_history(
        'strongroom.conversations', 'id', 'conversation_id', '{author_id,parts,metadata}'
    );
comment on trigger messages_are_insert_only on strongroom.messages is 'See keep_history.';
create trigger messages_are_never_truncated
    before truncate on strongroom.messages
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger messages_are_never_truncated on strongroom.messages is 'See keep_history.';

alter table strongroom.messages enable row level security;
alter table strongroom.messages force row level security;
create policy readers_read on strongroom.messages
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_conversation(tenant_id, conversation_id)
        )
    );
comment on policy readers_read on strongroom.messages is 'As the conversation.';
create policy trusted_inserts on strongroom.messages
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.messages is
    'Hosts, and users through append_messages.';
create policy erasure_updates on strongroom.messages
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
        and (select strongroom_private.is_erasing())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
        and (select strongroom_private.is_erasing())
    );
comment on policy erasure_updates on strongroom.messages is
    'Nobody but the erasure of their author: see erase_authored_messages.';

-- Somebody else's conversation keeps its positions, and loses who spoke and what they said. A later
-- append with the same id and the old words is a conflict: an erased message does not come back.
create function strongroom_private.erase_authored_messages(
    p_tenant_id text,
    p_principal_id text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count bigint;
begin
    update strongroom.messages as m
    set author_id = null,
        parts = '[{"type": "status", "schema_version": 1, "status": "erased"}]',
        metadata = '{}'
    where m.tenant_id = p_tenant_id
        and m.author_id = p_principal_id;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function strongroom_private.erase_authored_messages(text, text) is
    'Erasure: of what a person wrote in others'' conversations only the place is left, with one'
    ' status part `erased`. Returns how many messages.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.messages',
    p_column => 'author_id',
    p_action => 'handle',
    p_reason => 'A message in somebody else''s conversation keeps its position; author, parts and'
        ' metadata go.',
    p_handler => 'strongroom_private.erase_authored_messages'
);

create view strongroom.message_parts
with (security_invoker = true)
as
select
    m.tenant_id,
    m.conversation_id,
    m.position,
    m.id as message_id,
    p.place - 1 as part_index,
    p.part ->> 'type' as type,
    p.part
from strongroom.messages as m
cross join lateral jsonb_array_elements(m.parts) with ordinality as p (part, place);
comment on view strongroom.message_parts is
    'One row per message part, numbered from 0. Under the row security of the reader.';


-- ---------------------------------------------------------------------------------------------
-- Conversations, as the functions see them
-- ---------------------------------------------------------------------------------------------

create view strongroom.conversation_details
with (security_invoker = true)
as
select
    c.tenant_id,
    c.id,
    c.owner_id,
    array(
        select p.principal_id
        from strongroom.conversation_participants as p
        where p.tenant_id = c.tenant_id
            and p.conversation_id = c.id
        order by p.principal_id
    ) as participant_ids,
    c.title,
    c.external_ref,
    c.visibility,
    c.agent_id,
    c.agent_policy,
    c.agent_version,
    c.metadata,
    coalesce(l.position, 0) as last_position,
    l.created_at as last_message_at,
    c.forked_from_id,
    c.forked_from_position,
    c.version,
    c.archived_at,
    c.deleted_at,
    c.created_at,
    c.updated_at
from strongroom.conversations as c
left join lateral (
    select
        m.position,
        m.created_at
    from strongroom.messages as m
    where m.tenant_id = c.tenant_id
        and m.conversation_id = c.id
    order by m.position desc
    limit 1
) as l on true;
comment on view strongroom.conversation_details is
    'A conversation as the functions return it: with its participants and its last message''s'
    ' position and time, without bookkeeping columns. Under the row security of the reader.';

create type strongroom.created_conversation as (
    tenant_id text,
    id text,
    owner_id text,
    participant_ids text[],
    title text,
    external_ref text,
    visibility text,
    agent_id text,
    agent_policy text,
    agent_version integer,
    metadata jsonb,
    last_position bigint,
    last_message_at timestamptz,
    forked_from_id text,
    forked_from_position bigint,
    version bigint,
    archived_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.created_conversation is
    'conversation_details, and whether the create inserted it or was a duplicate.';

create function strongroom_private.lock_conversation(p_tenant_id text, p_conversation_id text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    -- The race: a conversation is soft-deleted between a writer's check and its insert. Both take
    -- this lock, so the writer either comes first, or finds the conversation gone.
    perform
    from strongroom.conversations as c
    inner join strongroom.tenants as t on t.tenant_id = c.tenant_id
    where c.tenant_id = p_tenant_id
        and c.id = p_conversation_id
        and c.deleted_at is null
        and t.status = 'active'
    for no key update of c;
    if not found then
        perform strongroom_private.enter_tenant_to_write(p_tenant_id);
        perform strongroom_private.fail(
            'not_found',
            'the conversation does not exist',
            jsonb_build_object('path', 'conversation_id', 'record', 'conversation'),
            'It may have been deleted, or this caller may not see it.'
        );
    end if;
end
$$;
comment on function strongroom_private.lock_conversation(text, text) is
    'Lock a living conversation of an active tenant until the end of the transaction: the first'
    ' step of every write on it. Errors: SR010, SR020.';

create function strongroom_private.find_last_position(p_tenant_id text, p_conversation_id text)
returns bigint
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    -- One probe of the end of the primary key. Positions have no gaps, so it is the count as well.
    return coalesce(
        (
            select max(m.position)
            from strongroom.messages as m
            where m.tenant_id = p_tenant_id
                and m.conversation_id = p_conversation_id
        ),
        0
    );
end
$$;
comment on function strongroom_private.find_last_position(text, text) is
    'The position of a conversation''s newest message; 0 before the first. A writer asks under the'
    ' conversation''s lock.';

create function strongroom_private.is_readable_conversation(
    p_tenant_id text,
    p_conversation_id text,
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
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = p_conversation_id
            and c.deleted_at is null
            and (
                p_viewer_id is null
                or c.owner_id = p_viewer_id
                or c.visibility = 'tenant'
                or exists (
                    select
                    from strongroom.conversation_participants as p
                    where p.tenant_id = c.tenant_id
                        and p.conversation_id = c.id
                        and p.principal_id = p_viewer_id
                )
            )
    );
end
$$;
comment on function strongroom_private.is_readable_conversation(text, text, text) is
    'Whether this viewer may read a living conversation; without a viewer, whether it lives.';

create function strongroom_private.readable_branches(
    p_branch text,
    p_conversation text,
    p_viewer_id text,
    p_parameter text
)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    -- As is_readable_conversation has it. A list that calls that one row by row pays a function
    -- call for each row that it passes over; these are joins, in whichever direction is cheaper.
    select string_agg(
        '(' || format(
            p_branch,
            format(
                'exists (select from strongroom.conversations as c where c.tenant_id = $1'
                ' and c.id = %s and c.deleted_at is null%s)',
                p_conversation,
                r.reason
            )
        ) || ')',
        ' union '
    )
    from (values
        ('', true),
        (format(' and c.owner_id = %s', p_parameter), false),
        (' and c.visibility = ''tenant''', false),
        (
            format(
                ' and exists (select from strongroom.conversation_participants as p'
                ' where p.tenant_id = $1 and p.conversation_id = c.id and p.principal_id = %s)',
                p_parameter
            ),
            false
        )
    ) as r (reason, is_for_hosts)
    where r.is_for_hosts = (p_viewer_id is null)
$$;
comment on function strongroom_private.readable_branches(text, text, text, text) is
    'A page''s query (whose $1 is the tenant, with %s for a condition) once for each reason why a'
    ' viewer may read the conversation of a row, or without a viewer for the living: so each walks'
    ' its own index, and the cost follows the page, not the tenant. The column and the parameter'
    ' that holds the viewer are SQL, never made of a caller''s text.';

create function strongroom_private.require_readable_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_viewer_id text
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    if not strongroom_private.is_readable_conversation(
        p_tenant_id, p_conversation_id, p_viewer_id
    ) then
        perform strongroom_private.fail(
            'not_found',
            'the conversation does not exist',
            jsonb_build_object('path', 'conversation_id', 'record', 'conversation'),
            'It may have been deleted, or this caller may not see it.'
        );
    end if;
end
$$;
comment on function strongroom_private.require_readable_conversation(text, text, text) is
    'One check per call for whatever hangs on a conversation. An unreadable conversation and an'
    ' absent one are the same. Errors: SR001, SR010.';

create function strongroom_private.check_agent_binding(
    p_agent_id text,
    p_agent_policy text,
    p_agent_version integer
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_agent_id is null and p_agent_policy is null and p_agent_version is null then
        return;
    end if;
    perform strongroom_private.check_id('agent_id', p_agent_id);
    perform strongroom_private.check_choice('agent_policy', p_agent_policy, '{pinned,latest}');
    if (p_agent_policy = 'pinned') <> (p_agent_version is not null) or p_agent_version < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'agent_version is needed when the policy is pinned, and only then; versions start at 1',
            '{"path": "agent_version"}',
            'Pin a version, or bind to latest without one.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_agent_binding(text, text, integer) is
    'An agent is bound with a policy, and with a version exactly when it is pinned. Errors: SR001,'
    ' SR004.';

create function strongroom.find_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_viewer_id text default null,
    p_deleted boolean default false
)
returns setof strongroom.conversation_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    if not p_deleted and not strongroom_private.is_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    ) then
        return;
    end if;
    return query
    select d.*
    from strongroom.conversation_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_conversation_id
        and (d.deleted_at is not null) = p_deleted
        and (not p_deleted or v_viewer_id is null);
end
$$;
comment on function strongroom.find_conversation(text, text, text, boolean) is
    'The conversation, or no row when it does not exist or the viewer may not read it. With'
    ' p_deleted, a soft-deleted one, which hosts alone see. Errors: SR001, SR020, SR021. Callers:'
    ' hosts, users.';

create function strongroom.create_conversation(
    p_tenant_id text,
    p_owner_id text,
    p_conversation_id text default null,
    p_title text default null,
    p_external_ref text default null,
    p_visibility text default 'private',
    p_participant_ids text[] default '{}',
    p_agent_id text default null,
    p_agent_policy text default null,
    p_agent_version integer default null,
    p_metadata jsonb default '{}'
)
returns setof strongroom.created_conversation
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id text := coalesce(p_conversation_id, gen_random_uuid()::text);
    v_digest text;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if not strongroom_private.is_trusted() then
        return query
        select c.*
        from strongroom_private.create_conversation_as_user(
            p_tenant_id, v_id, p_owner_id, p_title, p_external_ref, p_visibility, p_participant_ids,
            p_agent_id, p_agent_policy, p_agent_version, p_metadata
        ) as c;
        return;
    end if;
    perform strongroom_private.check_id('conversation_id', v_id);
    perform strongroom_private.check_id('owner_id', p_owner_id);
    perform strongroom_private.check_optional_name('title', p_title);
    perform strongroom_private.check_optional_id('external_ref', p_external_ref);
    perform strongroom_private.check_choice('visibility', p_visibility, '{private,tenant}');
    perform strongroom_private.check_ids('participant_ids', p_participant_ids);
    perform strongroom_private.check_agent_binding(p_agent_id, p_agent_policy, p_agent_version);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_owner_id, p_title, p_external_ref, p_visibility,
        array(select distinct i from unnest(p_participant_ids) as i order by i),
        p_agent_id, p_agent_policy, p_agent_version, p_metadata
    ));

    insert into strongroom.conversations (
        tenant_id, id, owner_id, title, external_ref, visibility,
        agent_id, agent_policy, agent_version, metadata, creation_digest
    )
    values (
        p_tenant_id, v_id, p_owner_id, p_title, p_external_ref, p_visibility,
        p_agent_id, p_agent_policy, p_agent_version, p_metadata, v_digest
    )
    on conflict do nothing;
    if found then
        v_outcome := 'inserted';
        insert into strongroom.conversation_participants (tenant_id, conversation_id, principal_id)
        select distinct
            p_tenant_id,
            v_id,
            i
        from unnest(p_participant_ids) as i;
    end if;

    return query
    select
        d.*,
        v_outcome
    from strongroom.conversation_details as d
    inner join strongroom.conversations as c
        on c.tenant_id = d.tenant_id
        and c.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_id
        and c.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            case
                when exists (
                    select
                    from strongroom.conversations as c
                    where c.tenant_id = p_tenant_id
                        and c.id = v_id
                )
                then 'a conversation with this id was created with other content'
                else 'another conversation has this external_ref'
            end,
            jsonb_build_object('record', 'conversation', 'id', v_id),
            'Read the existing one, or choose another id or external_ref.'
        );
    end if;
end
$$;
comment on function strongroom.create_conversation(
    text, text, text, text, text, text, text[], text, text, integer, jsonb
) is
    'Create a conversation. A repeat with the same id and arguments changes nothing and returns the'
    ' stored row with outcome duplicate, also after later changes. A user creates their own.'
    ' Errors: SR001, SR004, SR010, SR011, SR020, SR021. Callers: hosts, users.';

-- SECURITY DEFINER: a user has no right to insert; this function is their only way, and it lets
-- them create nothing but a conversation of their own in the tenant of their claims.
create function strongroom_private.create_conversation_as_user(
    p_tenant_id text,
    p_conversation_id text,
    p_owner_id text,
    p_title text,
    p_external_ref text,
    p_visibility text,
    p_participant_ids text[],
    p_agent_id text,
    p_agent_policy text,
    p_agent_version integer,
    p_metadata jsonb
)
returns setof strongroom.created_conversation
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_principal_id text := strongroom_private.enter_tenant(p_tenant_id);
begin
    if p_external_ref is not null then
        -- It is unique in the tenant: a user could learn which exist, and take them from the host.
        perform strongroom_private.fail(
            'permission_denied',
            'only hosts give a conversation an external_ref',
            '{"path": "external_ref"}',
            'Leave external_ref out.'
        );
    end if;
    if p_owner_id is distinct from v_principal_id then
        perform strongroom_private.fail(
            'permission_denied',
            'a user creates only conversations of their own',
            '{"path": "owner_id"}',
            'Give the signed-in user''s id as owner_id.'
        );
    end if;
    return query
    select c.*
    from strongroom.create_conversation(
        p_tenant_id => p_tenant_id,
        p_owner_id => p_owner_id,
        p_conversation_id => p_conversation_id,
        p_title => p_title,
        p_external_ref => p_external_ref,
        p_visibility => p_visibility,
        p_participant_ids => p_participant_ids,
        p_agent_id => p_agent_id,
        p_agent_policy => p_agent_policy,
        p_agent_version => p_agent_version,
        p_metadata => p_metadata
    ) as c
    -- An id that is taken by a conversation which this user may not read must not show it.
    where c.owner_id = v_principal_id;
end
$$;
comment on function strongroom_private.create_conversation_as_user(
    text, text, text, text, text, text, text[], text, text, integer, jsonb
) is
    'The way of users into create_conversation. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR020.';

create function strongroom_private.update_living_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text
)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_version bigint;
    v_last_write_id text;
begin
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    update strongroom.conversations as c
    set title = case when p_changes ? 'title' then p_changes ->> 'title' else c.title end,
        external_ref = case
            when p_changes ? 'external_ref' then p_changes ->> 'external_ref' else c.external_ref
        end,
        metadata = case
            when p_changes ? 'metadata' then p_changes -> 'metadata' else c.metadata
        end,
        archived_at = case
            when not p_changes ? 'archived' then c.archived_at
            when (p_changes -> 'archived')::boolean then coalesce(c.archived_at, now())
        end,
        visibility = case
            when p_changes ? 'visibility' then p_changes ->> 'visibility' else c.visibility
        end,
        agent_id = case
            when p_changes ? 'agent_id' then p_changes ->> 'agent_id' else c.agent_id
        end,
        agent_policy = case
            when p_changes ? 'agent_policy' then p_changes ->> 'agent_policy' else c.agent_policy
        end,
        agent_version = case
            when p_changes ? 'agent_version' then (p_changes ->> 'agent_version')::integer
            else c.agent_version
        end,
        version = c.version + 1,
        last_write_id = p_write_id,
        updated_at = now()
    where c.tenant_id = p_tenant_id
        and c.id = p_conversation_id
        and c.version = p_expected_version
        and c.deleted_at is null;
    if found then
        return true;
    end if;
    select
        c.version,
        c.last_write_id
    into
        v_version,
        v_last_write_id
    from strongroom.conversations as c
    where c.tenant_id = p_tenant_id
        and c.id = p_conversation_id
        and c.deleted_at is null;
    -- A repeat of the very same call, whose answer was lost, has happened already.
    if v_last_write_id is distinct from p_write_id or p_write_id is null then
        perform strongroom_private.fail_missed_write('conversation', p_expected_version, v_version);
    end if;
    return false;
exception
    when unique_violation then
        perform strongroom_private.fail(
            'already_exists',
            'another conversation has this external_ref',
            '{"path": "changes.external_ref", "record": "conversation"}',
            'Choose another external_ref, or delete the other conversation.'
        );
        return false;
end
$$;
comment on function strongroom_private.update_living_conversation(
    text, text, jsonb, bigint, text
) is
    'The one versioned change of a conversation''s row; the public functions check what may change.'
    ' Errors: SR001, SR010, SR011, SR012.';

create function strongroom.update_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns setof strongroom.conversation_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_keys(
        'changes', p_changes, '{title,external_ref,metadata,archived}'
    );
    perform strongroom_private.check_text('changes.title', p_changes -> 'title');
    perform strongroom_private.check_text('changes.external_ref', p_changes -> 'external_ref');
    perform strongroom_private.check_optional_name('changes.title', p_changes ->> 'title');
    perform strongroom_private.check_optional_id(
        'changes.external_ref', p_changes ->> 'external_ref'
    );
    if p_changes ? 'metadata' then
        perform strongroom_private.check_object('changes.metadata', p_changes -> 'metadata', 16384);
    end if;
    if p_changes ? 'archived' then
        perform strongroom_private.check_choice(
            'changes.archived', (p_changes -> 'archived')::text, '{true,false}'
        );
    end if;
    perform strongroom_private.update_living_conversation(
        p_tenant_id, p_conversation_id, p_changes, p_expected_version, p_write_id
    );
    return query
    select f.*
    from strongroom.find_conversation(p_tenant_id, p_conversation_id) as f;
end
$$;
comment on function strongroom.update_conversation(text, text, jsonb, bigint, text) is
    'Change title, external_ref, metadata or archived (true, false), given the version that was'
    ' read; null clears title and external_ref, a missing key leaves a field alone. Errors: SR001,'
    ' SR004, SR010, SR011, SR012, SR020. Callers: hosts.';

create function strongroom.bind_agent(
    p_tenant_id text,
    p_conversation_id text,
    p_expected_version bigint,
    p_agent_id text default null,
    p_agent_policy text default null,
    p_agent_version integer default null,
    p_write_id text default null
)
returns setof strongroom.conversation_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_agent_binding(p_agent_id, p_agent_policy, p_agent_version);
    if strongroom_private.update_living_conversation(
        p_tenant_id,
        p_conversation_id,
        jsonb_build_object(
            'agent_id', p_agent_id,
            'agent_policy', p_agent_policy,
            'agent_version', p_agent_version
        ),
        p_expected_version,
        p_write_id
    ) then
        perform strongroom_private.record_audit(
            p_tenant_id,
            'conversation.bind_agent',
            'conversation',
            p_conversation_id,
            jsonb_build_object(
                'agent_id', p_agent_id,
                'agent_policy', p_agent_policy,
                'agent_version', p_agent_version,
                'version', p_expected_version + 1
            )
        );
    end if;
    return query
    select f.*
    from strongroom.find_conversation(p_tenant_id, p_conversation_id) as f;
end
$$;
comment on function strongroom.bind_agent(text, text, bigint, text, text, integer, text) is
    'Bind an agent, pinned to a version or to its latest one, given the version that was read; all'
    ' null unbinds. Errors: SR001, SR004, SR010, SR012, SR020. Callers: hosts.';

create function strongroom.share_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_visibility text,
    p_participant_ids text[],
    p_expected_version bigint,
    p_write_id text default null
)
returns setof strongroom.conversation_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_changed boolean;
    v_person record;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_choice('visibility', p_visibility, '{private,tenant}');
    perform strongroom_private.check_ids('participant_ids', p_participant_ids);
    -- The versioned update locks the row, so participants change under one writer at a time.
    v_changed := strongroom_private.update_living_conversation(
        p_tenant_id,
        p_conversation_id,
        jsonb_build_object('visibility', p_visibility),
        p_expected_version,
        p_write_id
    );
    if v_changed then
        perform strongroom_private.record_audit(
            p_tenant_id,
            'conversation.share',
            'conversation',
            p_conversation_id,
            jsonb_build_object('visibility', p_visibility, 'version', p_expected_version + 1)
        );
        -- Each on their own, so that a person can be forgotten.
        for v_person in
            select
                coalesce(n.principal_id, p.principal_id) as principal_id,
                case when p.principal_id is null then 'add' else 'remove' end as verb
            from (
                select distinct i as principal_id
                from unnest(p_participant_ids) as i
            ) as n
            full join (
                select k.principal_id
                from strongroom.conversation_participants as k
                where k.tenant_id = p_tenant_id
                    and k.conversation_id = p_conversation_id
            ) as p on p.principal_id = n.principal_id
            where n.principal_id is null
                or p.principal_id is null
            order by 1
        loop
            perform strongroom_private.record_audit(
                p_tenant_id,
                format('conversation.%s_participant', v_person.verb),
                'conversation',
                p_conversation_id,
                p_principal_id => v_person.principal_id
            );
        end loop;
    end if;
    delete from strongroom.conversation_participants as p
    where p.tenant_id = p_tenant_id
        and p.conversation_id = p_conversation_id
        and p.principal_id <> all (p_participant_ids);
    insert into strongroom.conversation_participants (tenant_id, conversation_id, principal_id)
    select distinct
        p_tenant_id,
        p_conversation_id,
        i
    from unnest(p_participant_ids) as i
    on conflict on constraint conversation_participants_pkey do nothing;
    return query
    select f.*
    from strongroom.find_conversation(p_tenant_id, p_conversation_id) as f;
end
$$;
comment on function strongroom.share_conversation(text, text, text, text[], bigint, text) is
    'Set the visibility and the whole list of participants, given the version that was read.'
    ' Errors: SR001, SR004, SR010, SR012, SR020. Callers: hosts.';

create function strongroom_private.require_own_conversation(
    p_tenant_id text,
    p_conversation_id text
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (
        select
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = p_conversation_id
            and c.owner_id = strongroom_private.current_principal()
    ) then
        perform strongroom_private.fail(
            'not_found',
            'the conversation does not exist',
            jsonb_build_object('path', 'conversation_id', 'record', 'conversation'),
            'A user may do this with conversations of their own.'
        );
    end if;
end
$$;
comment on function strongroom_private.require_own_conversation(text, text) is
    'The signed-in user must own the conversation. Errors: SR010.';

create function strongroom.soft_delete_conversation(p_tenant_id text, p_conversation_id text)
returns setof strongroom.conversation_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    if not strongroom_private.is_trusted() then
        return query
        select d.*
        from strongroom_private.soft_delete_conversation_as_user(
            p_tenant_id, p_conversation_id
        ) as d;
        return;
    end if;
    update strongroom.conversations as c
    set deleted_at = now(),
        updated_at = now(),
        version = c.version + 1
    where c.tenant_id = p_tenant_id
        and c.id = p_conversation_id
        and c.deleted_at is null;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'conversation.soft_delete', 'conversation', p_conversation_id
        );
    end if;
    return query
    select d.*
    from strongroom.conversation_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_conversation_id;
    if not found then
        perform strongroom_private.fail_missed_write('conversation', null, null);
    end if;
end
$$;
comment on function strongroom.soft_delete_conversation(text, text) is
    'Hide a conversation and all that hangs on it, restorably, and free its external_ref. A repeat'
    ' changes nothing. Errors: SR001, SR010, SR020. Callers: hosts, users for their own.';

-- SECURITY DEFINER: a user has no right to update, and the policy for reading would hide the row
-- that their own UPDATE had just deleted. This lets an owner, and nobody else, delete a
-- conversation.
create function strongroom_private.soft_delete_conversation_as_user(
    p_tenant_id text,
    p_conversation_id text
)
returns setof strongroom.conversation_details
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_own_conversation(p_tenant_id, p_conversation_id);
    return query
    select d.*
    from strongroom.soft_delete_conversation(p_tenant_id, p_conversation_id) as d;
end
$$;
comment on function strongroom_private.soft_delete_conversation_as_user(text, text) is
    'The way of users into soft_delete_conversation. SECURITY DEFINER, see its comment in the'
    ' migration. Errors: SR010, SR020.';

create function strongroom.restore_conversation(p_tenant_id text, p_conversation_id text)
returns setof strongroom.conversation_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    update strongroom.conversations as c
    set deleted_at = null,
        updated_at = now(),
        version = c.version + 1
    where c.tenant_id = p_tenant_id
        and c.id = p_conversation_id
        and c.deleted_at is not null;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'conversation.restore', 'conversation', p_conversation_id
        );
    end if;
    return query
    select d.*
    from strongroom.conversation_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_conversation_id;
    if not found then
        perform strongroom_private.fail_missed_write('conversation', null, null);
    end if;
exception
    when unique_violation then
        perform strongroom_private.fail(
            'already_exists',
            'another conversation has taken the external_ref meanwhile',
            '{"path": "external_ref", "record": "conversation"}',
            'Change the other conversation''s external_ref, or delete it, and restore again.'
        );
end
$$;
comment on function strongroom.restore_conversation(text, text) is
    'Bring a soft-deleted conversation back. A repeat changes nothing. Errors: SR001, SR010, SR011,'
    ' SR020. Callers: hosts.';

create function strongroom.purge_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_dry_run boolean default false
)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_before jsonb;
    v_lost jsonb;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    begin
        -- A writer that is under way has the conversation's row locked, and is waited for.
        v_before := strongroom_private.count_deletions();
        delete from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = p_conversation_id;
        select coalesce(jsonb_agg(to_jsonb(d)), '[]')
        into v_lost
        from strongroom_private.list_deletions(v_before) as d;
        if v_lost <> '[]' then
            perform strongroom_private.record_audit(
                p_tenant_id, 'conversation.purge', 'conversation', p_conversation_id
            );
        end if;
        if p_dry_run then
            perform strongroom_private.undo_dry_run();
        end if;
    exception
        when sqlstate 'SR099' then
            null;
    end;
    return query
    select
        split_part(d.table_name, '.', 2),
        d.row_count
    from jsonb_to_recordset(v_lost) as d (table_name text, row_count bigint)
    order by d.table_name;
end
$$;
comment on function strongroom.purge_conversation(text, text, boolean) is
    'Delete a conversation and all that hangs on it for good, in one transaction; live runs are no'
    ' reason to wait. Returns how many rows each table lost. A repeat, and an id that does not'
    ' exist, delete nothing and return no row. With p_dry_run the same counts, and nothing has'
    ' changed. Errors: SR001, SR010, SR020, SR040. Callers: hosts.';

create function strongroom.list_conversations(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_owner_id text default null,
    p_external_ref text default null,
    p_archived boolean default null,
    p_deleted boolean default false
)
returns table (
    tenant_id text,
    id text,
    owner_id text,
    participant_ids text[],
    title text,
    external_ref text,
    visibility text,
    agent_id text,
    agent_policy text,
    agent_version integer,
    metadata jsonb,
    last_position bigint,
    last_message_at timestamptz,
    forked_from_id text,
    forked_from_position bigint,
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
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text;
    v_keys text[];
    v_descending boolean;
    v_page text;
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('owner_id', p_owner_id);
    perform strongroom_private.check_optional_id('external_ref', p_external_ref);
    v_scope := strongroom_private.cursor_scope(
        'conversations',
        jsonb_build_array(v_viewer_id, p_owner_id, p_external_ref, p_archived, p_deleted),
        p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    -- Forward is newest first.
    v_descending := (p_direction = 'forward') <> (p_before is not null);

    -- One branch for a host that sees all; for a viewer, one per reason to see a conversation, so
    -- that each walks its own index and the cost follows the page, not the tenant.
    v_page := format(
        $query$
            select c.id, c.created_at
            from strongroom.conversations as c
            %%1$s
            where c.tenant_id = $1
                and (c.deleted_at is not null) = $9
                and ($6 is null or c.owner_id = $6)
                and ($7 is null or c.external_ref = $7)
                and ($8 is null or (c.archived_at is not null) = $8)
                and ($2 is null or (c.created_at, c.id) %1$s (
                    strongroom_private.from_microseconds($2[1]), $2[2]
                ))
                %%2$s
            order by c.created_at %2$s, c.id %2$s
            limit $4 + 1
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end
    );
    if v_viewer_id is null then
        v_page := format(v_page, '', '');
    else
        v_page := concat_ws(
            ' union ',
            '(' || format(v_page, '', 'and c.owner_id = $5 and c.deleted_at is null') || ')',
            '(' || format(
                v_page, '', 'and c.visibility = ''tenant'' and c.deleted_at is null'
            ) || ')',
            '(' || format(
                v_page,
                'inner join strongroom.conversation_participants as p'
                ' on p.tenant_id = c.tenant_id and p.conversation_id = c.id',
                'and p.tenant_id = $1 and p.principal_id = $5 and c.deleted_at is null'
            ) || ')'
        );
    end if;

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
                    v.id,
                    row_number() over (order by v.created_at %1$s, v.id %1$s) as place,
                    count(*) over () as total
                from (
                    select u.id, u.created_at
                    from (%3$s) as u
                    order by u.created_at %1$s, u.id %1$s
                    limit $4 + 1
                ) as v
            ) as s
            cross join lateral (
                select d.*
                from strongroom.conversation_details as d
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
        p_owner_id, p_external_ref, p_archived, p_deleted;
end
$$;
comment on function strongroom.list_conversations(
    text, integer, text, text, text, text, text, text, boolean, boolean
) is
    'A page of conversations, forward newest first, by creation. Filters: viewer, owner,'
    ' external_ref, archived, deleted. has_more: whether rows follow in the paging direction.'
    ' Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- Appending and reading messages
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.fail_raced_append()
returns bigint
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.fail(
        'unavailable',
        'another transaction appends the same message id, or has appended since this one began',
        '{"path": "messages"}',
        'Repeat the call: the outcome will say which of the two the id belongs to.'
    );
    return null;
end
$$;
comment on function strongroom_private.fail_raced_append() is
    'Refuse an append that lost an id to another conversation in the same moment. Errors: SR050.';

create function strongroom.append_messages(
    p_tenant_id text,
    p_conversation_id text,
    p_messages jsonb
)
returns table (id text, outcome text, "position" bigint, created_at timestamptz, conflict text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- A connection keeps its plans; one made while the table was small must not scan it when large.
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_ids text[];
    v_last_position bigint;
    v_inserted bigint;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    if not strongroom_private.is_trusted() then
        return query
        select
            a.id,
            a.outcome,
            a.position,
            a.created_at,
            a.conflict
        from strongroom_private.append_messages_as_user(
            p_tenant_id, p_conversation_id, p_messages
        ) as a;
        return;
    end if;
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_messages(p_messages);
    v_ids := array(
        select coalesce(i.value ->> 'id', gen_random_uuid()::text)
        from jsonb_array_elements(p_messages) with ordinality as i (value, place)
        order by i.place
    );
    -- As enter_tenant_to_write does.
    perform pg_advisory_xact_lock_shared(strongroom_private.tenant_lock_number(p_tenant_id));
    perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    v_last_position := strongroom_private.find_last_position(p_tenant_id, p_conversation_id);

    -- Under the lock no other writer of this conversation can come between judging and inserting.
    -- The same id may still arrive in another conversation at this moment: `on conflict` waits for
    -- that transaction, and if it wins, the positions here would have a gap, so the whole call is
    -- refused.
    insert into strongroom.messages (
        tenant_id, conversation_id, position, id, role, parts, author_id, run_id, turn, metadata
    )
    select
        p_tenant_id,
        p_conversation_id,
        v_last_position + i.place,
        v_ids[i.place],
        i.value ->> 'role',
        i.value -> 'parts',
        i.value ->> 'author_id',
        i.value ->> 'run_id',
        (i.value ->> 'turn')::integer,
        coalesce(i.value -> 'metadata', '{}')
    from jsonb_array_elements(p_messages) with ordinality as i (value, place)
    -- All are new, as in all but a repeated call; else nothing is inserted here.
    where not exists (
        select
        from strongroom.messages as m
        where m.tenant_id = p_tenant_id
            and m.id = any (v_ids)
    )
    order by v_ids[i.place]
    on conflict do nothing;
    get diagnostics v_inserted = row_count;
    if v_inserted = cardinality(v_ids) then
        return query
        select
            n.id,
            'inserted',
            v_last_position + n.place,
            now(),
            null::text
        from unnest(v_ids) with ordinality as n (id, place);
        return;
    elsif v_inserted > 0 then
        perform strongroom_private.fail_raced_append();
    end if;

    -- Some are known already: judge each one.
    return query
    with input as materialized (
        select
            i.place,
            v_ids[i.place] as id,
            i.value ->> 'role' as role,
            i.value -> 'parts' as parts,
            i.value ->> 'author_id' as author_id,
            i.value ->> 'run_id' as run_id,
            (i.value ->> 'turn')::integer as turn,
            coalesce(i.value -> 'metadata', '{}') as metadata
        from jsonb_array_elements(p_messages) with ordinality as i (value, place)
    ),
    judged as materialized (
        select
            i.place,
            i.id,
            m.position,
            m.created_at,
            case
                when m.id is null then 'inserted'
                when m.conversation_id = p_conversation_id
                    and m.role = i.role
                    and m.parts = i.parts
                    and m.author_id is not distinct from i.author_id
                    and m.run_id is not distinct from i.run_id
                    and m.turn is not distinct from i.turn
                    and m.metadata = i.metadata
                then 'duplicate'
                else 'conflict'
            end as outcome,
            case
                when m.conversation_id <> p_conversation_id then 'other-conversation'
                else 'other-content'
            end as conflict
        from input as i
        -- `limit 1` keeps this one probe of the index of ids per message, whatever statistics say.
        left join lateral (
            select
                m.id,
                m.conversation_id,
                m.position,
                m.role,
                m.parts,
                m.author_id,
                m.run_id,
                m.turn,
                m.metadata,
                m.created_at
            from strongroom.messages as m
            where m.tenant_id = p_tenant_id
                and m.id = i.id
            limit 1
        ) as m on true
    ),
    inserted as (
        insert into strongroom.messages (
            tenant_id, conversation_id, position, id, role, parts, author_id, run_id, turn, metadata
        )
        select
            p_tenant_id,
            p_conversation_id,
            v_last_position + row_number() over (order by i.place),
            i.id,
            i.role,
            i.parts,
            i.author_id,
            i.run_id,
            i.turn,
            i.metadata
        from input as i
        inner join judged as j on j.place = i.place
        where j.outcome = 'inserted'
        order by i.id
        on conflict do nothing
        returning
            messages.id,
            messages.position,
            messages.created_at
    )
    select
        j.id,
        j.outcome,
        case j.outcome
            when 'inserted' then coalesce(n.position, strongroom_private.fail_raced_append())
            when 'duplicate' then j.position
        end,
        case j.outcome
            when 'inserted' then n.created_at
            when 'duplicate' then j.created_at
        end,
        case j.outcome when 'conflict' then j.conflict end
    from judged as j
    left join inserted as n on n.id = j.id
    order by j.place;
end
$$;
comment on function strongroom.append_messages(text, text, jsonb) is
    'Append 1 to 500 messages {id, role, parts, author_id, run_id, turn, metadata}: all or none, in'
    ' order, at contiguous positions. One row per message, in the order given: outcome inserted,'
    ' duplicate (same id and content: nothing changes) or conflict (same id with other-content or'
    ' in an other-conversation: nothing changes either). A user appends as themselves with role'
    ' user. Errors: SR001, SR004, SR010, SR020, SR021, SR050. Callers: hosts, users.';

-- SECURITY DEFINER: a user has no right to insert messages or to advance the conversation's
-- position; this function is their only way. It lets an owner or participant append messages of
-- role user, written by themselves, that belong to no run.
create function strongroom_private.append_messages_as_user(
    p_tenant_id text,
    p_conversation_id text,
    p_messages jsonb
)
returns table (id text, outcome text, "position" bigint, created_at timestamptz, conflict text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_principal_id text := strongroom_private.enter_tenant(p_tenant_id);
    v_message jsonb;
    v_field text;
begin
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_messages(p_messages);
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_principal_id
    );
    if not exists (
        select
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = p_conversation_id
            and (
                c.owner_id = v_principal_id
                or strongroom_private.is_participant(p_tenant_id, p_conversation_id)
            )
    ) then
        perform strongroom_private.fail(
            'permission_denied',
            'only the owner and participants write to a conversation',
            '{"path": "conversation_id"}',
            'Ask the owner to add you as a participant.'
        );
    end if;
    for v_index in 0 .. jsonb_array_length(p_messages) - 1 loop
        v_message := p_messages -> v_index;
        v_field := case
            when v_message ->> 'role' <> 'user' then 'role'
            when v_message ->> 'author_id' <> v_principal_id then 'author_id'
            when v_message ->> 'run_id' is not null then 'run_id'
            when v_message ->> 'turn' is not null then 'turn'
        end;
        if v_field is not null then
            perform strongroom_private.fail(
                'permission_denied',
                format('messages[%s].%s: a user appends only as themselves, with role user and'
                    ' no run',
                    v_index, v_field),
                jsonb_build_object('path', format('messages[%s].%s', v_index, v_field)),
                'Leave author_id, run_id and turn out, and use role user.'
            );
        end if;
        p_messages := jsonb_set(
            p_messages, array[v_index::text, 'author_id'], to_jsonb(v_principal_id)
        );
    end loop;
    return query
    select
        a.id,
        a.outcome,
        a.position,
        a.created_at,
        a.conflict
    from strongroom.append_messages(p_tenant_id, p_conversation_id, p_messages) as a;
end
$$;
comment on function strongroom_private.append_messages_as_user(text, text, jsonb) is
    'The way of users into append_messages. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR001, SR004, SR010, SR020.';

create function strongroom.list_messages(
    p_tenant_id text,
    p_conversation_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_after_position bigint default null,
    p_latest boolean default false,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    "position" bigint,
    id text,
    role text,
    parts jsonb,
    author_id text,
    run_id text,
    turn integer,
    metadata jsonb,
    forked_from_id text,
    created_at timestamptz,
    cursor text,
    has_more boolean
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
    v_scope text;
    v_low bigint := coalesce(p_after_position, 0);
    v_high bigint := 9223372036854775807;
    v_key bigint;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null or p_latest);
begin
    if not strongroom_private.is_trusted() then
        return query
        select m.*
        from strongroom_private.list_messages_as_user(
            p_tenant_id, p_conversation_id, p_limit, p_after, p_before, p_direction,
            p_after_position, p_latest, p_viewer_id
        ) as m;
        return;
    end if;
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    if p_latest and (p_after is not null or p_before is not null or p_direction <> 'forward') then
        perform strongroom_private.fail(
            'invalid_argument',
            'latest excludes after, before and direction backward',
            '{"path": "latest"}',
            'Page back from the first row''s cursor with `before`.'
        );
    end if;
    if p_after_position < 0 then
        perform strongroom_private.fail(
            'invalid_argument',
            'after_position must not be negative',
            '{"path": "after_position"}',
            'Positions start at 1; 0 means from the beginning.'
        );
    end if;
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    v_scope := strongroom_private.cursor_scope(
        'messages', jsonb_build_array(p_conversation_id, p_after_position), p_direction
    );
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1]::bigint;
    if v_key is not null and v_descending then
        v_high := v_key;
    elsif v_key is not null then
        v_low := greatest(v_low, v_key);
    end if;

    -- Both branches walk the primary key from one end of (v_low, v_high), and stop after the page.
    if v_descending then
        return query
        select
            s.tenant_id,
            s.conversation_id,
            s.position,
            s.id,
            s.role,
            s.parts,
            s.author_id,
            s.run_id,
            s.turn,
            s.metadata,
            s.forked_from_id,
            s.created_at,
            strongroom_private.encode_cursor(v_scope, array[s.position::text]),
            s.total > p_limit
        from (
            select
                m.*,
                row_number() over () as place,
                count(*) over () as total
            from (
                select m.*
                from strongroom.messages as m
                where m.tenant_id = p_tenant_id
                    and m.conversation_id = p_conversation_id
                    and m.position > v_low
                    and m.position < v_high
                order by m.position desc
                limit p_limit + 1
            ) as m
        ) as s
        where s.place <= p_limit
        order by case when p_direction = 'backward' then -s.position else s.position end;
    else
        return query
        select
            s.tenant_id,
            s.conversation_id,
            s.position,
            s.id,
            s.role,
            s.parts,
            s.author_id,
            s.run_id,
            s.turn,
            s.metadata,
            s.forked_from_id,
            s.created_at,
            strongroom_private.encode_cursor(v_scope, array[s.position::text]),
            s.total > p_limit
        from (
            select
                m.*,
                row_number() over () as place,
                count(*) over () as total
            from (
                select m.*
                from strongroom.messages as m
                where m.tenant_id = p_tenant_id
                    and m.conversation_id = p_conversation_id
                    and m.position > v_low
                    and m.position < v_high
                order by m.position
                limit p_limit + 1
            ) as m
        ) as s
        where s.place <= p_limit
        order by case when p_direction = 'backward' then -s.position else s.position end;
    end if;
end
$$;
comment on function strongroom.list_messages(
    text, text, integer, text, text, text, bigint, boolean, text
) is
    'A page of a conversation''s messages, forward oldest first. p_latest: the newest rows, still'
    ' oldest first. p_after_position: only later positions, for readers who poll. has_more: whether'
    ' rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020, SR021.'
    ' Callers: hosts, users.';

-- SECURITY DEFINER: the policy of messages asks for every row whether its conversation is readable,
-- which doubles the cost of a page. list_messages asks once, of the signed-in principal.
create function strongroom_private.list_messages_as_user(
    p_tenant_id text,
    p_conversation_id text,
    p_limit integer,
    p_after text,
    p_before text,
    p_direction text,
    p_after_position bigint,
    p_latest boolean,
    p_viewer_id text
)
returns table (
    tenant_id text,
    conversation_id text,
    "position" bigint,
    id text,
    role text,
    parts jsonb,
    author_id text,
    run_id text,
    turn integer,
    metadata jsonb,
    forked_from_id text,
    created_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    return query
    select m.*
    from strongroom.list_messages(
        p_tenant_id, p_conversation_id, p_limit, p_after, p_before, p_direction,
        p_after_position, p_latest, v_viewer_id
    ) as m;
end
$$;
comment on function strongroom_private.list_messages_as_user(
    text, text, integer, text, text, text, bigint, boolean, text
) is
    'The way of users into list_messages. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR001, SR002, SR004, SR010, SR020, SR021.';

create function strongroom.find_message(
    p_tenant_id text,
    p_message_id text,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    "position" bigint,
    id text,
    role text,
    parts jsonb,
    author_id text,
    run_id text,
    turn integer,
    metadata jsonb,
    forked_from_id text,
    created_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('message_id', p_message_id);
    return query
    select
        m.tenant_id,
        m.conversation_id,
        m.position,
        m.id,
        m.role,
        m.parts,
        m.author_id,
        m.run_id,
        m.turn,
        m.metadata,
        m.forked_from_id,
        m.created_at
    from strongroom.messages as m
    where m.tenant_id = p_tenant_id
        and m.id = p_message_id
        and strongroom_private.is_readable_conversation(
            m.tenant_id, m.conversation_id, v_viewer_id
        );
end
$$;
comment on function strongroom.find_message(text, text, text) is
    'The message, or no row when it does not exist or the viewer may not read its conversation.'
    ' Errors: SR001, SR020, SR021. Callers: hosts, users.';

create function strongroom.count_messages(
    p_tenant_id text,
    p_conversation_id text,
    p_viewer_id text default null
)
returns table (message_count bigint)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    -- Positions have no gaps, so the last one is the count.
    return query
    select strongroom_private.find_last_position(p_tenant_id, p_conversation_id);
end
$$;
comment on function strongroom.count_messages(text, text, text) is
    'How many messages a conversation has. Errors: SR001, SR010, SR020, SR021. Callers: hosts,'
    ' users.';


-- ---------------------------------------------------------------------------------------------
-- Session state
-- ---------------------------------------------------------------------------------------------
-- Invariant: one JSON object per conversation; before the first write it is {} at version 0.

create table strongroom.session_states (
    tenant_id text collate "C" not null,
    conversation_id text collate "C" not null,
    state jsonb not null,
    version bigint not null,
    last_write_id text collate "C",
    updated_at timestamptz not null default now(),
    constraint session_states_pkey primary key (tenant_id, conversation_id),
    constraint session_state_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint state_is_an_object check (jsonb_typeof(state) = 'object'),
    constraint state_has_at_most_64_kib check (octet_length(state::text) <= 65536),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.session_states is
    'Working memory of a conversation across runs: one versioned JSON object.';
comment on column strongroom.session_states.tenant_id is 'The tenant.';
comment on column strongroom.session_states.conversation_id is 'The conversation.';
comment on column strongroom.session_states.state is 'The object, at most 64 KiB.';
comment on column strongroom.session_states.version is 'One more at every change.';
comment on column strongroom.session_states.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.session_states.updated_at is 'When it last changed.';

alter table strongroom.session_states enable row level security;
alter table strongroom.session_states force row level security;
create policy readers_read on strongroom.session_states
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_conversation(tenant_id, conversation_id)
        )
    );
comment on policy readers_read on strongroom.session_states is 'As the conversation.';
create policy trusted_inserts on strongroom.session_states
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.session_states is 'Hosts.';
create policy trusted_updates on strongroom.session_states
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.session_states is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.session_states',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It is the conversation''s working memory and goes with it; nothing says whose'
        ' it is.'
);

create function strongroom_private.merge_json(p_target jsonb, p_patch jsonb)
returns jsonb
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key text;
    v_value jsonb;
begin
    if jsonb_typeof(p_patch) <> 'object' then
        return p_patch;
    end if;
    if p_target is null or jsonb_typeof(p_target) <> 'object' then
        p_target := '{}';
    end if;
    for v_key, v_value in
        select
            e.key,
            e.value
        from jsonb_each(p_patch) as e
    loop
        if v_value = 'null'::jsonb then
            p_target := p_target - v_key;
        else
            p_target := p_target || jsonb_build_object(
                v_key, strongroom_private.merge_json(p_target -> v_key, v_value)
            );
        end if;
    end loop;
    return p_target;
end
$$;
comment on function strongroom_private.merge_json(jsonb, jsonb) is
    'JSON merge patch (RFC 7396): objects merge, null removes, anything else replaces.';

create function strongroom.find_session_state(
    p_tenant_id text,
    p_conversation_id text,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    state jsonb,
    version bigint,
    updated_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    if not strongroom_private.is_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    ) then
        return;
    end if;
    return query
    select
        p_tenant_id,
        p_conversation_id,
        coalesce(s.state, '{}'),
        coalesce(s.version, 0),
        s.updated_at
    from (values (true)) as one (row)
    left join strongroom.session_states as s
        on s.tenant_id = p_tenant_id
        and s.conversation_id = p_conversation_id;
end
$$;
comment on function strongroom.find_session_state(text, text, text) is
    'The session state; {} at version 0 before the first write; no row when the conversation does'
    ' not exist or the viewer may not read it. Errors: SR001, SR020, SR021. Callers: hosts, users.';

create function strongroom_private.write_session_state(
    p_tenant_id text,
    p_conversation_id text,
    p_replacement jsonb,
    p_patch jsonb,
    p_expected_version bigint,
    p_write_id text
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_state jsonb;
    v_version bigint;
    v_last_write_id text;
begin
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    -- Under the conversation's lock, so reading and writing below cannot be interleaved.
    perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    select
        s.state,
        s.version,
        s.last_write_id
    into
        v_state,
        v_version,
        v_last_write_id
    from strongroom.session_states as s
    where s.tenant_id = p_tenant_id
        and s.conversation_id = p_conversation_id;
    if v_last_write_id = p_write_id and v_version - 1 = p_expected_version then
        -- A repeat of the very same call, whose answer was lost, has happened already.
        return;
    end if;
    if coalesce(v_version, 0) <> p_expected_version then
        perform strongroom_private.fail_missed_write(
            'session state', p_expected_version, coalesce(v_version, 0)
        );
    end if;
    v_state := coalesce(
        p_replacement,
        strongroom_private.merge_json(coalesce(v_state, '{}'), p_patch)
    );
    perform strongroom_private.check_object('state', v_state, 65536);
    insert into strongroom.session_states (
        tenant_id, conversation_id, state, version, last_write_id
    )
    values (p_tenant_id, p_conversation_id, v_state, p_expected_version + 1, p_write_id)
    on conflict on constraint session_states_pkey do update
    set state = excluded.state,
        version = excluded.version,
        last_write_id = excluded.last_write_id,
        updated_at = now();
end
$$;
comment on function strongroom_private.write_session_state(
    text, text, jsonb, jsonb, bigint, text
) is
    'The one versioned change of a session state: replaced, or merged with a patch. Errors: SR001,'
    ' SR004, SR010, SR012.';

create function strongroom.put_session_state(
    p_tenant_id text,
    p_conversation_id text,
    p_state jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    state jsonb,
    version bigint,
    updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_object('state', p_state, 65536);
    perform strongroom_private.write_session_state(
        p_tenant_id, p_conversation_id, p_state, null, p_expected_version, p_write_id
    );
    return query
    select f.*
    from strongroom.find_session_state(p_tenant_id, p_conversation_id) as f;
end
$$;
comment on function strongroom.put_session_state(text, text, jsonb, bigint, text) is
    'Replace the session state, given the version that was read (0 before the first write). Errors:'
    ' SR001, SR004, SR010, SR012, SR020. Callers: hosts.';

create function strongroom.patch_session_state(
    p_tenant_id text,
    p_conversation_id text,
    p_patch jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    state jsonb,
    version bigint,
    updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_object('patch', p_patch, 65536);
    perform strongroom_private.write_session_state(
        p_tenant_id, p_conversation_id, null, p_patch, p_expected_version, p_write_id
    );
    return query
    select f.*
    from strongroom.find_session_state(p_tenant_id, p_conversation_id) as f;
end
$$;
comment on function strongroom.patch_session_state(text, text, jsonb, bigint, text) is
    'Merge a JSON merge patch (RFC 7396) into the session state, given the version that was read.'
    ' Errors: SR001, SR004, SR010, SR012, SR020. Callers: hosts.';

create function strongroom.clear_session_state(
    p_tenant_id text,
    p_conversation_id text,
    p_expected_version bigint,
    p_write_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    state jsonb,
    version bigint,
    updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.write_session_state(
        p_tenant_id, p_conversation_id, '{}', null, p_expected_version, p_write_id
    );
    return query
    select f.*
    from strongroom.find_session_state(p_tenant_id, p_conversation_id) as f;
end
$$;
comment on function strongroom.clear_session_state(text, text, bigint, text) is
    'Empty the session state, given the version that was read; the version goes on counting.'
    ' Errors: SR001, SR010, SR012, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Thread summaries
-- ---------------------------------------------------------------------------------------------
-- Invariant: each summary covers the messages up to a position, and coverage never goes back.

create table strongroom.thread_summaries (
    tenant_id text collate "C" not null,
    conversation_id text collate "C" not null,
    version bigint not null,
    id text collate "C" not null,
    covers_to_position bigint not null,
    text text not null,
    metadata jsonb not null default '{}',
    created_at timestamptz not null default now(),
    constraint thread_summaries_pkey primary key (tenant_id, conversation_id, version),
    constraint a_summary_id_is_used_once_in_a_tenant unique (tenant_id, id),
    constraint summary_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint version_is_positive check (version > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint covers_to_position_is_positive check (covers_to_position > 0),
    constraint text_has_at_most_1_mib check (octet_length(text) between 1 and 1048576),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object')
);
comment on table strongroom.thread_summaries is
    'Compacted history: each one stands for the messages up to a position. Insert-only.';
comment on column strongroom.thread_summaries.tenant_id is 'The tenant.';
comment on column strongroom.thread_summaries.conversation_id is 'The conversation.';
comment on column strongroom.thread_summaries.version is '1, 2, 3, ... within the conversation.';
comment on column strongroom.thread_summaries.id is
    'The summary''s id: a repeated append is known by it.';
comment on column strongroom.thread_summaries.covers_to_position is
    'The last position that it stands for.';
comment on column strongroom.thread_summaries.text is 'The summary, at most 1 MiB.';
comment on column strongroom.thread_summaries.metadata is
    'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.thread_summaries.created_at is
    'When it was appended. It orders nothing.';

create trigger summaries_are_insert_only
    before update or delete on strongroom.thread_summaries
    for each row
    execute function strongroom_private.keep_history(
        'strongroom.conversations', 'id', 'conversation_id'
    );
comment on trigger summaries_are_insert_only on strongroom.thread_summaries is 'See keep_history.';
create trigger summaries_are_never_truncated
    before truncate on strongroom.thread_summaries
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger summaries_are_never_truncated on strongroom.thread_summaries is
    'See keep_history.';

alter table strongroom.thread_summaries enable row level security;
alter table strongroom.thread_summaries force row level security;
create policy readers_read on strongroom.thread_summaries
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_conversation(tenant_id, conversation_id)
        )
    );
comment on policy readers_read on strongroom.thread_summaries is 'As the conversation.';
create policy trusted_inserts on strongroom.thread_summaries
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.thread_summaries is 'Hosts.';
create policy erasure_deletes on strongroom.thread_summaries
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
        and (select strongroom_private.is_erasing())
    );
comment on policy erasure_deletes on strongroom.thread_summaries is
    'Nobody but erasure: see erase_covering_summaries.';

create function strongroom_private.erase_covering_summaries(
    p_tenant_id text,
    p_principal_id text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count bigint;
begin
    delete from strongroom.thread_summaries as s
    using (
        select
            m.conversation_id,
            min(m.position) as first_position
        from strongroom.messages as m
        where m.tenant_id = p_tenant_id
            and m.author_id = p_principal_id
        group by m.conversation_id
    ) as w
    where s.tenant_id = p_tenant_id
        and s.conversation_id = w.conversation_id
        and s.covers_to_position >= w.first_position;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function strongroom_private.erase_covering_summaries(text, text) is
    'Erasure: a summary that covers a message of the person may repeat it, so it goes; an earlier'
    ' one, or the messages themselves, take its place. Returns how many summaries.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.thread_summaries',
    p_column => '',
    p_action => 'handle',
    p_reason => 'A summary that covers a message of the person may repeat it. It can be made anew.',
    p_handler => 'strongroom_private.erase_covering_summaries'
);

create function strongroom.append_thread_summary(
    p_tenant_id text,
    p_conversation_id text,
    p_text text,
    p_covers_to_position bigint,
    p_summary_id text default null,
    p_metadata jsonb default '{}'
)
returns table (
    tenant_id text,
    conversation_id text,
    version bigint,
    id text,
    covers_to_position bigint,
    text text,
    metadata jsonb,
    created_at timestamptz,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_id text := coalesce(p_summary_id, gen_random_uuid()::text);
    v_last_position bigint;
    v_latest_version bigint;
    v_latest_coverage bigint;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_id('summary_id', v_id);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    if p_text is null or p_text = '' then
        perform strongroom_private.fail(
            'invalid_argument', 'text is required', '{"path": "text"}', 'Give the summary''s text.'
        );
    elsif octet_length(p_text) > 1048576 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('text has %s bytes; at most 1048576 are allowed', octet_length(p_text)),
            jsonb_build_object('path', 'text', 'limit', 1048576, 'actual', octet_length(p_text)),
            'A summary should be shorter than what it stands for.'
        );
    end if;
    perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    v_last_position := strongroom_private.find_last_position(p_tenant_id, p_conversation_id);
    if not exists (
        select
        from strongroom.thread_summaries as s
        where s.tenant_id = p_tenant_id
            and s.id = v_id
    ) then
        if p_covers_to_position is null
            or p_covers_to_position not between 1 and v_last_position
        then
            perform strongroom_private.fail(
                'invalid_argument',
                format(
                    'covers_to_position must be between 1 and the last position, %s',
                    v_last_position
                ),
                jsonb_build_object('path', 'covers_to_position', 'last_position', v_last_position),
                'Summarise messages that the conversation has.'
            );
        end if;
        select
            s.version,
            s.covers_to_position
        into
            v_latest_version,
            v_latest_coverage
        from strongroom.thread_summaries as s
        where s.tenant_id = p_tenant_id
            and s.conversation_id = p_conversation_id
        order by s.version desc
        limit 1;
        if p_covers_to_position < v_latest_coverage then
            perform strongroom_private.fail(
                'invalid_transition',
                format('the latest summary covers up to %s already', v_latest_coverage),
                jsonb_build_object('path', 'covers_to_position', 'latest', v_latest_coverage),
                'Read the latest summary and go on from there; coverage never goes back.'
            );
        end if;
        insert into strongroom.thread_summaries (
            tenant_id, conversation_id, version, id, covers_to_position, text, metadata
        )
        values (
            p_tenant_id, p_conversation_id, coalesce(v_latest_version, 0) + 1, v_id,
            p_covers_to_position, p_text, p_metadata
        )
        on conflict on constraint a_summary_id_is_used_once_in_a_tenant do nothing;
        if found then
            v_outcome := 'inserted';
        end if;
    end if;
    return query
    select
        s.tenant_id,
        s.conversation_id,
        s.version,
        s.id,
        s.covers_to_position,
        s.text,
        s.metadata,
        s.created_at,
        v_outcome
    from strongroom.thread_summaries as s
    where s.tenant_id = p_tenant_id
        and s.id = v_id
        and s.conversation_id = p_conversation_id
        and s.covers_to_position = p_covers_to_position
        and s.text = p_text
        and s.metadata = p_metadata;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'a summary with this id has other content or belongs to another conversation',
            jsonb_build_object('path', 'summary_id', 'record', 'thread summary'),
            'Use a new id for a new summary.'
        );
    end if;
end
$$;
comment on function strongroom.append_thread_summary(text, text, text, bigint, text, jsonb) is
    'Append a summary of the messages up to a position. A repeat with the same id and content'
    ' changes nothing. Errors: SR001, SR004, SR010, SR011, SR020, SR030. Callers: hosts.';

create function strongroom.find_latest_thread_summary(
    p_tenant_id text,
    p_conversation_id text,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    version bigint,
    id text,
    covers_to_position bigint,
    text text,
    metadata jsonb,
    created_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    return query
    select
        s.tenant_id,
        s.conversation_id,
        s.version,
        s.id,
        s.covers_to_position,
        s.text,
        s.metadata,
        s.created_at
    from strongroom.thread_summaries as s
    where s.tenant_id = p_tenant_id
        and s.conversation_id = p_conversation_id
    order by s.version desc
    limit 1;
end
$$;
comment on function strongroom.find_latest_thread_summary(text, text, text) is
    'The newest summary of a conversation, or no row before the first. Errors: SR001, SR010, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom.list_thread_summaries(
    p_tenant_id text,
    p_conversation_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    conversation_id text,
    version bigint,
    id text,
    covers_to_position bigint,
    text text,
    metadata jsonb,
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
        'thread_summaries', jsonb_build_array(p_conversation_id), p_direction
    );
    v_key bigint;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1]::bigint;
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.conversation_id,
                s.version,
                s.id,
                s.covers_to_position,
                s.text,
                s.metadata,
                s.created_at,
                strongroom_private.encode_cursor($4, array[s.version::text]),
                s.total > $5
            from (
                select
                    t.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select t.*
                    from strongroom.thread_summaries as t
                    where t.tenant_id = $1
                        and t.conversation_id = $2
                        and ($3 is null or t.version %1$s $3)
                    order by t.version %2$s
                    limit $5 + 1
                ) as t
            ) as s
            where s.place <= $5
            order by s.version %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, p_conversation_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_thread_summaries(
    text, text, integer, text, text, text, text
) is
    'A page of a conversation''s summaries, forward oldest first. has_more: whether rows follow in'
    ' the paging direction. Errors: SR001, SR002, SR004, SR010, SR020, SR021. Callers: hosts,'
    ' users.';

create function strongroom_private.find_history_start(
    p_tenant_id text,
    p_conversation_id text,
    p_covers_to_position bigint
)
returns bigint
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_start bigint := p_covers_to_position + 1;
    v_unmatched text[];
    v_earlier bigint;
begin
    -- A tool result is worth nothing to a model without its call. When a summary ends between the
    -- two, the verbatim part starts at the call instead, which may lead further back once more.
    while v_start > 1 loop
        -- One pass over the verbatim part: the calls whose first result there comes before, or
        -- without, a call there. An id may be used again, so places count and not only ids.
        select array_agg(t.tool_call_id)
        into v_unmatched
        from (
            select
                p.part ->> 'tool_call_id' as tool_call_id,
                min(m.position) filter (where p.part ->> 'type' = 'tool-call') as first_call,
                min(m.position) filter (where p.part ->> 'type' = 'tool-result') as first_result
            from strongroom.messages as m
            cross join lateral jsonb_array_elements(m.parts) as p (part)
            where m.tenant_id = p_tenant_id
                and m.conversation_id = p_conversation_id
                and m.position >= v_start
                and p.part ->> 'type' in ('tool-call', 'tool-result')
            group by p.part ->> 'tool_call_id'
        ) as t
        where t.first_result < coalesce(t.first_call, t.first_result + 1);

        select min(c.position)
        into v_earlier
        from (
            select max(m.position) as position
            from strongroom.messages as m
            cross join lateral jsonb_array_elements(m.parts) as p (part)
            where m.tenant_id = p_tenant_id
                and m.conversation_id = p_conversation_id
                and m.position < v_start
                and p.part ->> 'type' = 'tool-call'
                and p.part ->> 'tool_call_id' = any (v_unmatched)
            group by p.part ->> 'tool_call_id'
        ) as c;
        exit when v_earlier is null;
        v_start := v_earlier;
    end loop;
    -- A result whose call is nowhere cannot start the history either.
    while exists (
        select
        from strongroom.messages as m
        where m.tenant_id = p_tenant_id
            and m.conversation_id = p_conversation_id
            and m.position = v_start
            and (
                m.role = 'tool'
                or not jsonb_path_exists(m.parts, 'strict $[*] ? (@.type != "tool-result")')
            )
    ) loop
        v_start := v_start + 1;
    end loop;
    return v_start;
end
$$;
comment on function strongroom_private.find_history_start(text, text, bigint) is
    'Where the verbatim messages after a summary start, so that no tool result stands without its'
    ' call.';

create function strongroom.read_history(
    p_tenant_id text,
    p_conversation_id text,
    p_limit integer default 500,
    p_after text default null,
    p_viewer_id text default null
)
returns table (
    kind text,
    tenant_id text,
    conversation_id text,
    "position" bigint,
    id text,
    role text,
    parts jsonb,
    author_id text,
    run_id text,
    turn integer,
    metadata jsonb,
    forked_from_id text,
    created_at timestamptz,
    version bigint,
    covers_to_position bigint,
    text text,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text := strongroom_private.cursor_scope(
        'history', jsonb_build_array(p_conversation_id), 'forward'
    );
    v_keys text[];
    v_summary_version bigint;
    v_covers_to bigint := 0;
    v_start bigint;
begin
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.require_readable_conversation(
        p_tenant_id, p_conversation_id, v_viewer_id
    );
    v_keys := strongroom_private.decode_cursor('after', p_after, v_scope);
    if v_keys is null then
        select
            s.version,
            s.covers_to_position
        into
            v_summary_version,
            v_covers_to
        from strongroom.thread_summaries as s
        where s.tenant_id = p_tenant_id
            and s.conversation_id = p_conversation_id
        order by s.version desc
        limit 1;
        v_covers_to := coalesce(v_covers_to, 0);
        v_start := strongroom_private.find_history_start(
            p_tenant_id, p_conversation_id, v_covers_to
        );
    else
        -- The following pages go on from the position, whatever summary has been added meanwhile.
        v_start := v_keys[1]::bigint + 1;
    end if;

    return query
    select
        'summary',
        s.tenant_id,
        s.conversation_id,
        null::bigint,
        s.id,
        null::text,
        null::jsonb,
        null::text,
        null::text,
        null::integer,
        s.metadata,
        null::text,
        s.created_at,
        s.version,
        s.covers_to_position,
        s.text,
        null::text,
        false
    from strongroom.thread_summaries as s
    where s.tenant_id = p_tenant_id
        and s.conversation_id = p_conversation_id
        and s.version = v_summary_version;

    return query
    select
        'message',
        s.tenant_id,
        s.conversation_id,
        s.position,
        s.id,
        s.role,
        s.parts,
        s.author_id,
        s.run_id,
        s.turn,
        s.metadata,
        s.forked_from_id,
        s.created_at,
        null::bigint,
        null::bigint,
        null::text,
        strongroom_private.encode_cursor(v_scope, array[s.position::text]),
        s.total > p_limit
    from (
        select
            m.*,
            count(*) over () as total
        from (
            select m.*
            from strongroom.messages as m
            where m.tenant_id = p_tenant_id
                and m.conversation_id = p_conversation_id
                and m.position >= v_start
            order by m.position
            limit p_limit + 1
        ) as m
    ) as s
    order by s.position
    limit p_limit;
end
$$;
comment on function strongroom.read_history(text, text, integer, text, text) is
    'What a model needs to go on: the latest summary (a row of kind summary) and the messages after'
    ' it (kind message), starting earlier where a tool result would stand without its call, and'
    ' never with an orphaned one. Page on with the last row''s cursor while has_more. Errors:'
    ' SR001, SR002, SR004, SR010, SR020, SR021. Callers: hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- Forks
-- ---------------------------------------------------------------------------------------------

create function strongroom.fork_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_fork_id text default null,
    p_up_to_position bigint default null,
    p_owner_id text default null,
    p_title text default null
)
returns setof strongroom.created_conversation
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fork_id text := coalesce(p_fork_id, gen_random_uuid()::text);
    v_digest text;
    v_last_position bigint;
    v_up_to bigint;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_id('fork_id', v_fork_id);
    perform strongroom_private.check_optional_id('owner_id', p_owner_id);
    perform strongroom_private.check_optional_name('title', p_title);
    v_digest := strongroom_private.digest(jsonb_build_array(
        'fork', p_conversation_id, p_up_to_position, p_owner_id, p_title
    ));
    if not exists (
        select
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = v_fork_id
    ) then
        -- Messages up to a position never change, so the lock only keeps the source from being
        -- deleted while it is copied.
        perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
        v_last_position := strongroom_private.find_last_position(p_tenant_id, p_conversation_id);
        v_up_to := coalesce(p_up_to_position, v_last_position);
        if v_up_to not between 0 and v_last_position then
            perform strongroom_private.fail(
                'invalid_argument',
                format(
                    'up_to_position must be between 0 and the last position, %s', v_last_position
                ),
                jsonb_build_object('path', 'up_to_position', 'last_position', v_last_position),
                'Fork at a message that the conversation has.'
            );
        end if;
        insert into strongroom.conversations (
            tenant_id, id, owner_id, title, visibility, agent_id, agent_policy, agent_version,
            metadata, forked_from_id, forked_from_position, creation_digest
        )
        select
            c.tenant_id,
            v_fork_id,
            coalesce(p_owner_id, c.owner_id),
            coalesce(p_title, c.title),
            'private',
            c.agent_id,
            c.agent_policy,
            c.agent_version,
            c.metadata,
            c.id,
            v_up_to,
            v_digest
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = p_conversation_id
        on conflict on constraint conversations_pkey do nothing;
        if found then
            v_outcome := 'inserted';
            -- A message id is used once in a tenant, so copies get ids of their own, made from the
            -- fork's id and the original's.
            insert into strongroom.messages (
                tenant_id, conversation_id, position, id, role, parts, author_id, run_id, turn,
                metadata, forked_from_id
            )
            select
                m.tenant_id,
                v_fork_id,
                m.position,
                md5(v_fork_id || chr(31) || m.id)::uuid::text,
                m.role,
                m.parts,
                m.author_id,
                m.run_id,
                m.turn,
                m.metadata,
                m.id
            from strongroom.messages as m
            where m.tenant_id = p_tenant_id
                and m.conversation_id = p_conversation_id
                and m.position <= v_up_to
            order by m.position;
            insert into strongroom.thread_summaries (
                tenant_id, conversation_id, version, id, covers_to_position, text, metadata
            )
            select
                s.tenant_id,
                v_fork_id,
                s.version,
                md5(v_fork_id || chr(31) || s.id)::uuid::text,
                s.covers_to_position,
                s.text,
                s.metadata
            from strongroom.thread_summaries as s
            where s.tenant_id = p_tenant_id
                and s.conversation_id = p_conversation_id
                and s.covers_to_position <= v_up_to
            order by s.version;
        end if;
    end if;
    return query
    select
        d.*,
        v_outcome
    from strongroom.conversation_details as d
    inner join strongroom.conversations as c
        on c.tenant_id = d.tenant_id
        and c.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_fork_id
        and c.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'a conversation with this id was created otherwise',
            jsonb_build_object('path', 'fork_id', 'record', 'conversation'),
            'Choose another id for the fork.'
        );
    end if;
end
$$;
comment on function strongroom.fork_conversation(text, text, text, bigint, text, text) is
    'Copy a conversation up to a position (default: all) into a new, private one: messages with new'
    ' ids and the same positions, and the summaries that cover no more; session state and'
    ' participants stay behind. A repeat with the same fork id and arguments changes nothing.'
    ' Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

-- Hosts write tables with their own rights, under row security. Messages and summaries have no
-- update and no delete; conversations are deleted by purge only, and take along what hangs on them.
select strongroom_private.publish_grant(
    'table', '{strongroom.conversations}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.conversation_participants}', '{select,insert,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.messages,strongroom.thread_summaries}', '{select,insert}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.session_states}', '{select,insert,update}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.conversation_details,strongroom.message_parts}', '{select}',
    '{strongroom_host,service_role,authenticated}'
);
-- Users read under row security, and write through functions only.
select strongroom_private.publish_grant(
    'table',
    '{
        strongroom.conversations,
        strongroom.conversation_participants,
        strongroom.messages,
        strongroom.session_states,
        strongroom.thread_summaries
    }',
    '{select}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.is_participant,
        strongroom_private.may_read_conversation,
        strongroom_private.is_readable_conversation,
        strongroom_private.readable_branches,
        strongroom_private.require_readable_conversation,
        strongroom_private.find_history_start,
        strongroom_private.find_last_position,
        strongroom.find_conversation,
        strongroom.list_conversations,
        strongroom.create_conversation,
        strongroom.soft_delete_conversation,
        strongroom.append_messages,
        strongroom.list_messages,
        strongroom.find_message,
        strongroom.count_messages,
        strongroom.find_session_state,
        strongroom.find_latest_thread_summary,
        strongroom.list_thread_summaries,
        strongroom.read_history
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.create_conversation_as_user,
        strongroom_private.soft_delete_conversation_as_user,
        strongroom_private.append_messages_as_user,
        strongroom_private.list_messages_as_user
    }',
    '{execute}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.lock_conversation,
        strongroom_private.check_agent_binding,
        strongroom_private.update_living_conversation,
        strongroom_private.find_part_problem,
        strongroom_private.find_parts_problem,
        strongroom_private.is_whole_number,
        strongroom_private.check_parts,
        strongroom_private.find_message_problem,
        strongroom_private.check_messages,
        strongroom_private.fail_raced_append,
        strongroom_private.merge_json,
        strongroom_private.write_session_state,
        strongroom.update_conversation,
        strongroom.bind_agent,
        strongroom.share_conversation,
        strongroom.restore_conversation,
        strongroom.purge_conversation,
        strongroom.fork_conversation,
        strongroom.put_session_state,
        strongroom.patch_session_state,
        strongroom.clear_session_state,
        strongroom.append_thread_summary
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(2, 'conversations');
