-- strongroom 0015: transcripts
--
-- Purpose     Lists of raw provider messages (any JSON), for frameworks that bring their own form.
--             Two kinds: a scope's transcript is saved as a whole; a memory session's is appended
--             to, run by run, and also keeps what failed.
-- Invariants  A transcript is named once: kind, name, and the user for a session. Its messages have
--             the positions 1, 2, 3, ... without gaps; message_count and size_bytes are theirs.
--             What it is bound to is decided when it is made: a conversation, or nothing.
-- Save        Only what follows the longest common beginning is deleted and written. A caller that
--             knows how many messages are stored, and their digest, sends only the rest; where that
--             no longer fits, nothing is written and the answer says so.
-- Append      An append id that is known inserts nothing, and neither does a message id that is.
--             Equal content alone is never taken for a repeat.
-- Deletion    A transcript that is bound to a conversation goes with it, and while that is
--             soft-deleted it can neither be read nor written. A user's sessions go with the user.
-- Locks       The conversation's row first, where there is one, then the transcript's. Nothing that
--             transcripts share is locked.

select strongroom_private.begin_migration(15, 'transcripts');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '15';
select strongroom_private.require_transaction(15);


-- ---------------------------------------------------------------------------------------------
-- Tables
-- ---------------------------------------------------------------------------------------------

create table strongroom.transcripts (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    kind text collate "C" not null,
    name text collate "C" not null,
    user_id text collate "C" not null default '',
    conversation_id text collate "C",
    metadata jsonb not null default '{}',
    message_count integer not null default 0,
    size_bytes integer not null default 0,
    digest text collate "C",
    version bigint not null default 0,
    last_write_id text collate "C",
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint transcripts_pkey primary key (tenant_id, id),
    constraint a_transcript_is_named_once unique (tenant_id, kind, name, user_id),
    constraint transcript_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint transcript_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint kind_is_scope_or_session check (kind in ('scope', 'session')),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint user_id_has_at_most_255_characters check (char_length(user_id) <= 255),
    constraint only_a_session_has_a_user check (kind = 'session' or user_id = ''),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint a_transcript_has_at_most_100000_messages
        check (message_count between 0 and 100000),
    constraint a_transcript_has_at_most_64_mib check (size_bytes between 0 and 67108864),
    constraint version_is_not_negative check (version >= 0)
);
comment on table strongroom.transcripts is
    'Lists of raw provider messages: of scopes, saved as a whole, and of sessions, appended to.';
comment on column strongroom.transcripts.tenant_id is 'The tenant.';
comment on column strongroom.transcripts.id is
    'The transcript''s id: what an inspector refers to it by.';
comment on column strongroom.transcripts.kind is 'scope or session.';
comment on column strongroom.transcripts.name is 'The memory scope, or the session''s id.';
comment on column strongroom.transcripts.user_id is
    'The user whose session it is; empty for none. Part of the name.';
comment on column strongroom.transcripts.conversation_id is
    'The conversation that it is bound to and goes with; null for none. Never changes.';
comment on column strongroom.transcripts.metadata is
    'The session''s own JSON object as the host last gave it, at most 16 KiB.';
comment on column strongroom.transcripts.message_count is
    'How many messages it has, which is the last one''s position.';
comment on column strongroom.transcripts.size_bytes is
    'The bytes of its messages as text, at most 64 MiB.';
comment on column strongroom.transcripts.digest is
    'What the last save computed over all messages, in its own way; null where it gave none.';
comment on column strongroom.transcripts.version is 'One more at every change.';
comment on column strongroom.transcripts.last_write_id is
    'Id of the last save or copy, to know a repeated one.';
comment on column strongroom.transcripts.created_at is 'When it was made.';
comment on column strongroom.transcripts.updated_at is 'When it last changed.';

create index transcripts_by_creation
    on strongroom.transcripts (tenant_id, kind, created_at, id);
comment on index strongroom.transcripts_by_creation is 'Pages of a tenant''s scopes or sessions.';
create index transcripts_by_user
    on strongroom.transcripts (tenant_id, user_id, kind, created_at, id);
comment on index strongroom.transcripts_by_user is
    'Pages of a user''s sessions, and what their erasure finds.';
create index transcripts_by_conversation
    on strongroom.transcripts (tenant_id, conversation_id);
comment on index strongroom.transcripts_by_conversation is 'What goes with a conversation.';

create table strongroom.transcript_messages (
    tenant_id text collate "C" not null,
    transcript_id text collate "C" not null,
    position integer not null,
    message jsonb not null,
    message_id text collate "C",
    run_id text collate "C",
    turn integer,
    append_id text collate "C",
    append_index integer,
    created_at timestamptz not null default now(),
    constraint transcript_messages_pkey primary key (tenant_id, transcript_id, position),
    constraint message_belongs_to_a_transcript
        foreign key (tenant_id, transcript_id)
        references strongroom.transcripts (tenant_id, id)
        on delete cascade,
    constraint position_is_positive check (position > 0),
    constraint message_has_at_most_1_mib check (octet_length(message::text) <= 1048576),
    constraint message_id_has_1_to_255_characters
        check (char_length(message_id) between 1 and 255),
    constraint run_id_has_1_to_255_characters check (char_length(run_id) between 1 and 255),
    constraint append_id_has_1_to_255_characters check (char_length(append_id) between 1 and 255),
    constraint turn_is_not_negative check (turn >= 0),
    constraint an_appended_message_says_run_turn_and_append
        check (num_nonnulls(run_id, turn, append_id, append_index) in (0, 4))
);
comment on table strongroom.transcript_messages is
    'The messages of transcripts, as their frameworks wrote them.';
comment on column strongroom.transcript_messages.tenant_id is 'The tenant.';
comment on column strongroom.transcript_messages.transcript_id is 'The transcript.';
comment on column strongroom.transcript_messages.position is
    'Its place: 1, 2, 3, ... without gaps.';
comment on column strongroom.transcript_messages.message is
    'The message: any JSON, at most 1 MiB.';
comment on column strongroom.transcript_messages.message_id is
    'The id that a session''s message carries itself, or a hash of a longer one; unique in the'
    ' session.';
comment on column strongroom.transcript_messages.run_id is
    'The run that appended it. A name, without a foreign key.';
comment on column strongroom.transcript_messages.turn is 'The turn of that run.';
comment on column strongroom.transcript_messages.append_id is
    'The call that appended it, to know a repeated one.';
comment on column strongroom.transcript_messages.append_index is
    'Its place in that call: 1, 2, ...';
comment on column strongroom.transcript_messages.created_at is 'When it was stored.';

create unique index a_message_id_is_used_once_in_a_session
    on strongroom.transcript_messages (tenant_id, transcript_id, message_id)
    where message_id is not null;
comment on index strongroom.a_message_id_is_used_once_in_a_session is
    'What knows a repeated message.';
create unique index a_call_appends_a_message_once
    on strongroom.transcript_messages (tenant_id, transcript_id, append_id, append_index)
    where append_id is not null;
comment on index strongroom.a_call_appends_a_message_once is 'What knows a repeated append.';

create table strongroom.transcript_errors (
    tenant_id text collate "C" not null,
    transcript_id text collate "C" not null,
    id text collate "C" not null,
    run_id text collate "C" not null,
    error jsonb not null,
    messages jsonb not null,
    created_at timestamptz not null default now(),
    constraint transcript_errors_pkey primary key (tenant_id, transcript_id, id),
    constraint error_belongs_to_a_transcript
        foreign key (tenant_id, transcript_id)
        references strongroom.transcripts (tenant_id, id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint run_id_has_1_to_255_characters check (char_length(run_id) between 1 and 255),
    constraint messages_are_a_list check (jsonb_typeof(messages) = 'array')
);
comment on table strongroom.transcript_errors is
    'Runs of memory sessions that failed, with the messages that they had got to.';
comment on column strongroom.transcript_errors.tenant_id is 'The tenant.';
comment on column strongroom.transcript_errors.transcript_id is 'The session.';
comment on column strongroom.transcript_errors.id is
    'The record''s id, made before the first try: a repeat is known by it.';
comment on column strongroom.transcript_errors.run_id is
    'The run that failed. A name, without a foreign key.';
comment on column strongroom.transcript_errors.error is
    'What was raised: any JSON, at most 64 KiB.';
comment on column strongroom.transcript_errors.messages is
    'The run''s messages up to the failure; this alone makes none of them part of the transcript.';
comment on column strongroom.transcript_errors.created_at is 'When it was recorded.';

create index transcript_errors_by_creation
    on strongroom.transcript_errors (tenant_id, transcript_id, created_at, id);
comment on index strongroom.transcript_errors_by_creation is 'Pages of a session''s errors.';

alter table strongroom.transcripts enable row level security;
alter table strongroom.transcripts force row level security;
create policy hosts_read on strongroom.transcripts
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_read on strongroom.transcripts is 'Hosts: raw messages are for programs.';
create policy hosts_insert on strongroom.transcripts
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.transcripts is 'Hosts.';
create policy hosts_update on strongroom.transcripts
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_update on strongroom.transcripts is 'Hosts.';
create policy hosts_delete on strongroom.transcripts
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_delete on strongroom.transcripts is 'Hosts, and erasure and retention.';

alter table strongroom.transcript_messages enable row level security;
alter table strongroom.transcript_messages force row level security;
create policy hosts_read on strongroom.transcript_messages
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_read on strongroom.transcript_messages is
    'Hosts: raw messages are for programs.';
create policy hosts_insert on strongroom.transcript_messages
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.transcript_messages is 'Hosts.';
create policy hosts_delete on strongroom.transcript_messages
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_delete on strongroom.transcript_messages is
    'Hosts, and erasure and retention.';

alter table strongroom.transcript_errors enable row level security;
alter table strongroom.transcript_errors force row level security;
create policy hosts_read on strongroom.transcript_errors
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_read on strongroom.transcript_errors is
    'Hosts: raw messages are for programs.';
create policy hosts_insert on strongroom.transcript_errors
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.transcript_errors is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.transcripts',
    p_column => 'user_id',
    p_action => 'delete',
    p_reason => 'A session is its user''s. A scope names nobody: it goes with the conversation that'
        ' it is bound to.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.transcript_messages',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They go with their transcript; nothing says whose a raw message is.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.transcript_errors',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They go with their transcript.'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'transcripts',
    p_table => 'strongroom.transcripts',
    p_description => 'Transcripts that are bound to no conversation, from their last change: they'
        ' go, with their messages and errors.',
    p_moment => 't.updated_at',
    p_condition => 't.conversation_id is null'
);


-- ---------------------------------------------------------------------------------------------
-- Helpers
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.find_own_message_id(p_message jsonb)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when jsonb_typeof(p_message) <> 'object'
            or jsonb_typeof(p_message -> 'id') is distinct from 'string'
            or p_message ->> 'id' = ''
            then null
        when octet_length(p_message ->> 'id') <= 255 then p_message ->> 'id'
        else 'sha256:' || encode(sha256(convert_to(p_message ->> 'id', 'UTF8')), 'hex')
    end
$$;
comment on function strongroom_private.find_own_message_id(jsonb) is
    'The id that a raw message carries: its text field id, a long one as its hash; null without.';

create function strongroom_private.check_raw_messages(
    p_field text,
    p_messages jsonb,
    p_most integer,
    p_most_bytes integer,
    p_bytes_before integer default 0,
    p_count_before integer default 0
)
returns integer
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer;
    v_bytes bigint;
    v_place integer;
    v_size integer;
begin
    if p_messages is null or jsonb_typeof(p_messages) <> 'array' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a list', p_field),
            jsonb_build_object('path', p_field, 'actual', jsonb_typeof(p_messages)),
            'Give a list of JSON values; an empty list is fine.'
        );
    end if;
    v_count := jsonb_array_length(p_messages) + p_count_before;
    if v_count > p_most then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s entries; at most %s are allowed', p_field, v_count, p_most),
            jsonb_build_object('path', p_field, 'limit', p_most, 'actual', v_count),
            'Store less at a time, or begin a new transcript.'
        );
    end if;
    select
        sum(s.size),
        min(s.place) filter (where s.size > 1048576)
    into
        v_bytes,
        v_place
    from (
        select
            m.place,
            octet_length(m.message::text) as size
        from jsonb_array_elements(p_messages) with ordinality as m (message, place)
    ) as s;
    if v_place is not null then
        v_size := octet_length((p_messages -> (v_place - 1))::text);
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s[%s] has %s bytes; at most 1048576 are allowed',
                p_field, p_count_before + v_place - 1, v_size),
            jsonb_build_object(
                'path', format('%s[%s]', p_field, p_count_before + v_place - 1),
                'limit', 1048576,
                'actual', v_size
            ),
            'Keep large output in the tool-output store, and its id here.'
        );
    end if;
    v_bytes := coalesce(v_bytes, 0) + p_bytes_before;
    if v_bytes > p_most_bytes then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s bytes; at most %s are allowed', p_field, v_bytes, p_most_bytes),
            jsonb_build_object('path', p_field, 'limit', p_most_bytes, 'actual', v_bytes),
            'Store less at a time, or begin a new transcript.'
        );
    end if;
    return v_bytes;
end
$$;
comment on function strongroom_private.check_raw_messages(
    text, jsonb, integer, integer, integer, integer
) is
    'A list of raw messages, with what there is before it, within its limits; returns all bytes.'
    ' Errors: SR001, SR004.';

create function strongroom_private.lock_transcript(
    p_tenant_id text,
    p_kind text,
    p_name text,
    p_user_id text,
    p_conversation_id text,
    p_create boolean
)
returns strongroom.transcripts
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_transcript strongroom.transcripts;
    v_id text;
begin
    loop
        select t.*
        into v_transcript
        from strongroom.transcripts as t
        where t.tenant_id = p_tenant_id
            and t.kind = p_kind
            and t.name = p_name
            and t.user_id = p_user_id;
        v_id := v_transcript.id;
        if v_id is null and not p_create then
            return v_transcript;
        end if;
        if v_id is not null and p_conversation_id <> coalesce(v_transcript.conversation_id, '') then
            perform strongroom_private.fail(
                'invalid_argument',
                'conversation_id is not the conversation that the transcript is bound to',
                '{"path": "conversation_id"}',
                'What a transcript is bound to is decided when it is made. Leave it out.'
            );
        end if;
        -- What it is bound to never changes, so the order of locks can be kept.
        if coalesce(v_transcript.conversation_id, p_conversation_id) is not null then
            perform strongroom_private.lock_conversation(
                p_tenant_id, coalesce(v_transcript.conversation_id, p_conversation_id)
            );
        end if;
        if v_id is null then
            insert into strongroom.transcripts (
                tenant_id, id, kind, name, user_id, conversation_id
            )
            values (
                p_tenant_id, gen_random_uuid()::text, p_kind, p_name, p_user_id, p_conversation_id
            )
            on conflict on constraint a_transcript_is_named_once do nothing;
            -- The race: another writer makes it, or deletes it. Look again, and lock what is there.
            continue;
        end if;
        select t.*
        into v_transcript
        from strongroom.transcripts as t
        where t.tenant_id = p_tenant_id
            and t.id = v_id
        for no key update;
        if found then
            return v_transcript;
        end if;
    end loop;
    return v_transcript;
end
$$;
comment on function strongroom_private.lock_transcript(text, text, text, text, text, boolean) is
    'Lock a transcript until the end of the transaction, with the conversation that it is bound to'
    ' before it, and make it first where it is missing and that is wanted; without an id when it is'
    ' not there. Errors: SR001, SR010.';

create function strongroom_private.delete_named_transcript(
    p_tenant_id text,
    p_kind text,
    p_name text,
    p_user_id text
)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_transcript strongroom.transcripts := strongroom_private.lock_transcript(
        p_tenant_id, p_kind, p_name, p_user_id, null, false
    );
begin
    delete from strongroom.transcripts as t
    where t.tenant_id = p_tenant_id
        and t.id = v_transcript.id;
    return found;
end
$$;
comment on function strongroom_private.delete_named_transcript(text, text, text, text) is
    'Delete a transcript with its messages and errors; says whether there was one. Errors: SR010.';


create function strongroom_private.list_transcripts_of_kind(
    p_tenant_id text,
    p_kind text,
    p_limit integer,
    p_after text,
    p_before text,
    p_direction text,
    p_user_id text
)
returns table (
    tenant_id text,
    id text,
    name text,
    user_id text,
    conversation_id text,
    metadata jsonb,
    message_count integer,
    digest text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text;
    v_keys text[];
    v_descending boolean;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('user_id', p_user_id);
    v_scope := strongroom_private.cursor_scope(
        'transcripts', jsonb_build_array(p_kind, p_user_id), p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    -- Forward is newest first.
    v_descending := (p_direction = 'forward') <> (p_before is not null);
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.id,
                s.name,
                nullif(s.user_id, ''),
                s.conversation_id,
                s.metadata,
                s.message_count,
                s.digest,
                s.version,
                s.created_at,
                s.updated_at,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(s.created_at), s.id]
                ),
                s.total > $4
            from (
                select
                    t.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select t.*
                    from strongroom.transcripts as t
                    where t.tenant_id = $1
                        and t.kind = $5
                        and ($6 is null or t.user_id = $6)
                        and ($2 is null or (t.created_at, t.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                        and (
                            t.conversation_id is null
                            or strongroom_private.is_readable_conversation(
                                t.tenant_id, t.conversation_id, null
                            )
                        )
                    order by t.created_at %2$s, t.id %2$s
                    limit $4 + 1
                ) as t
            ) as s
            where s.place <= $4
            order by s.created_at %3$s, s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_keys, v_scope, p_limit, p_kind, p_user_id;
end
$$;
comment on function strongroom_private.list_transcripts_of_kind(
    text, text, integer, text, text, text, text
) is
    'A page of the scopes or sessions of a tenant, newest first; not those of a conversation that'
    ' is deleted. Errors: SR001, SR002, SR004, SR020, SR021.';


-- ---------------------------------------------------------------------------------------------
-- Transcripts of scopes
-- ---------------------------------------------------------------------------------------------

create function strongroom.find_transcript(p_tenant_id text, p_scope text)
returns table (
    tenant_id text,
    scope text,
    conversation_id text,
    message_count integer,
    digest text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_transcript strongroom.transcripts;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('scope', p_scope);
    select t.*
    into v_transcript
    from strongroom.transcripts as t
    where t.tenant_id = p_tenant_id
        and t.kind = 'scope'
        and t.name = p_scope
        and t.user_id = '';
    if v_transcript.conversation_id is not null then
        perform strongroom_private.require_readable_conversation(
            p_tenant_id, v_transcript.conversation_id, null
        );
    end if;
    return query
    select
        v_transcript.tenant_id,
        v_transcript.name,
        v_transcript.conversation_id,
        v_transcript.message_count,
        v_transcript.digest,
        v_transcript.version,
        v_transcript.created_at,
        v_transcript.updated_at
    where v_transcript.id is not null;
end
$$;
comment on function strongroom.find_transcript(text, text) is
    'A scope''s transcript without its messages, or no row. While the conversation that it is bound'
    ' to is deleted that is an error, and not an empty history. Errors: SR001, SR004, SR010, SR020,'
    ' SR021. Callers: hosts.';

create function strongroom.read_transcript(p_tenant_id text, p_scope text)
returns table (
    tenant_id text,
    scope text,
    message_count integer,
    version bigint,
    messages json
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    -- All of it in one row: a server that cuts long answers cannot cut this one.
    return query
    select
        f.tenant_id,
        f.scope,
        f.message_count,
        f.version,
        coalesce(
            (
                select json_agg(m.message order by m.position)
                from strongroom.transcripts as t
                inner join strongroom.transcript_messages as m
                    on m.tenant_id = t.tenant_id
                    and m.transcript_id = t.id
                where t.tenant_id = p_tenant_id
                    and t.kind = 'scope'
                    and t.name = p_scope
                    and t.user_id = ''
            ),
            '[]'
        )
    from strongroom.find_transcript(p_tenant_id, p_scope) as f;
end
$$;
comment on function strongroom.read_transcript(text, text) is
    'A scope''s transcript with all its messages, in order, as one list; no row when there is none.'
    ' Errors: SR001, SR004, SR010, SR020, SR021. Callers: hosts.';

create function strongroom.save_transcript(
    p_tenant_id text,
    p_scope text,
    p_messages jsonb,
    p_digest text default null,
    p_keep integer default 0,
    p_keep_digest text default null,
    p_expected_version bigint default null,
    p_conversation_id text default null,
    p_write_id text default null
)
returns table (
    tenant_id text,
    scope text,
    outcome text,
    version bigint,
    message_count integer,
    kept integer,
    inserted integer,
    deleted integer
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_transcript strongroom.transcripts;
    v_bytes integer;
    v_keep integer := coalesce(p_keep, 0);
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('scope', p_scope);
    perform strongroom_private.check_optional_id('digest', p_digest);
    perform strongroom_private.check_optional_id('keep_digest', p_keep_digest);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    if p_expected_version is not null then
        perform strongroom_private.check_expected_version(p_expected_version);
    end if;
    if p_keep not between 0 and 100000 then
        perform strongroom_private.fail(
            'invalid_argument',
            'keep must be between 0 and 100000',
            jsonb_build_object('path', 'keep', 'actual', p_keep),
            'Give the number of messages that are stored.'
        );
    end if;
    v_bytes := strongroom_private.check_raw_messages(
        'messages', p_messages, 100000, 67108864, 0, v_keep
    );
    v_transcript := strongroom_private.lock_transcript(
        p_tenant_id, 'scope', p_scope, '', p_conversation_id, v_keep = 0
    );
    tenant_id := p_tenant_id;
    scope := p_scope;
    inserted := 0;
    deleted := 0;
    kept := v_transcript.message_count;
    message_count := v_transcript.message_count;
    version := v_transcript.version;
    if v_transcript.last_write_id = p_write_id then
        -- A repeat of the very same call, whose answer was lost, has happened already.
        outcome := 'duplicate';
        return next;
        return;
    end if;
    if p_expected_version <> coalesce(v_transcript.version, 0) then
        perform strongroom_private.fail_missed_write(
            'transcript', p_expected_version, coalesce(v_transcript.version, 0)
        );
    end if;
    if v_keep > 0 then
        if v_transcript.id is null
            or v_transcript.message_count <> v_keep
            or v_transcript.digest is distinct from p_keep_digest
        then
            kept := 0;
            message_count := coalesce(message_count, 0);
            version := coalesce(version, 0);
            outcome := 'stale';
            return next;
            return;
        end if;
        v_bytes := strongroom_private.check_raw_messages(
            'messages', p_messages, 100000, 67108864, v_transcript.size_bytes, v_keep
        );
    else
        select coalesce(min(m.position) - 1, v_transcript.message_count)
        into kept
        from strongroom.transcript_messages as m
        left join jsonb_array_elements(p_messages) with ordinality as g (message, place)
            on g.place = m.position
        where m.tenant_id = p_tenant_id
            and m.transcript_id = v_transcript.id
            and m.message is distinct from g.message;
        delete from strongroom.transcript_messages as m
        where m.tenant_id = p_tenant_id
            and m.transcript_id = v_transcript.id
            and m.position > kept;
        get diagnostics deleted = row_count;
    end if;
    insert into strongroom.transcript_messages (tenant_id, transcript_id, position, message)
    select
        p_tenant_id,
        v_transcript.id,
        v_keep + g.place,
        g.message
    from jsonb_array_elements(p_messages) with ordinality as g (message, place)
    where v_keep + g.place > kept
    order by g.place;
    get diagnostics inserted = row_count;
    message_count := kept + inserted;
    if inserted + deleted > 0 or v_transcript.version = 0 then
        outcome := 'saved';
        version := v_transcript.version + 1;
    else
        outcome := 'duplicate';
    end if;
    update strongroom.transcripts as t
    set message_count = save_transcript.message_count,
        size_bytes = v_bytes,
        digest = p_digest,
        version = save_transcript.version,
        last_write_id = p_write_id,
        updated_at = case when save_transcript.outcome = 'saved' then now() else t.updated_at end
    where t.tenant_id = p_tenant_id
        and t.id = v_transcript.id;
    return next;
end
$$;
comment on function strongroom.save_transcript(
    text, text, jsonb, text, integer, text, bigint, text, text
) is
    'Make a scope''s transcript these messages; only what follows the common beginning is written.'
    ' With keep, the messages follow that many stored ones, which must be all there are, with this'
    ' digest: else the outcome is stale, and nothing is written. saved: it has changed; duplicate:'
    ' it was so already, or the write id is known. Errors: SR001, SR004, SR010, SR012, SR020.'
    ' Callers: hosts.';

create function strongroom.copy_transcript(
    p_tenant_id text,
    p_from_scope text,
    p_to_scope text,
    p_conversation_id text default null,
    p_write_id text default null
)
returns table (copied integer)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_source strongroom.transcripts;
    v_target strongroom.transcripts;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('from_scope', p_from_scope);
    perform strongroom_private.check_id('to_scope', p_to_scope);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    if p_from_scope = p_to_scope then
        return query values (0);
        return;
    end if;
    select t.*
    into v_source
    from strongroom.transcripts as t
    where t.tenant_id = p_tenant_id
        and t.kind = 'scope'
        and t.name = p_from_scope
        and t.user_id = '';
    if v_source.id is null then
        perform strongroom_private.fail(
            'not_found',
            'the transcript does not exist',
            '{"path": "from_scope", "record": "transcript"}',
            'Save one to this scope first.'
        );
    end if;
    if v_source.conversation_id is not null then
        perform strongroom_private.require_readable_conversation(
            p_tenant_id, v_source.conversation_id, null
        );
    end if;
    -- A copy goes with what its source goes with, unless it is said otherwise.
    v_target := strongroom_private.lock_transcript(
        p_tenant_id, 'scope', p_to_scope, '', null, false
    );
    if v_target.id is null then
        v_target := strongroom_private.lock_transcript(
            p_tenant_id, 'scope', p_to_scope, '',
            coalesce(p_conversation_id, v_source.conversation_id), true
        );
    end if;
    if v_target.version > 0 then
        if v_target.last_write_id = p_write_id then
            return query values (v_target.message_count);
            return;
        end if;
        perform strongroom_private.fail(
            'already_exists',
            'the target scope has a transcript',
            '{"path": "to_scope", "record": "transcript"}',
            'Copy to a scope without one, or delete that first.'
        );
    end if;
    -- One statement, one state of the source: nobody need wait for its writers.
    with source as (
        select t.message_count, t.size_bytes, t.digest
        from strongroom.transcripts as t
        where t.tenant_id = p_tenant_id
            and t.id = v_source.id
    ),
    target as (
        update strongroom.transcripts as t
        set message_count = s.message_count,
            size_bytes = s.size_bytes,
            digest = s.digest,
            version = 1,
            last_write_id = p_write_id
        from source as s
        where t.tenant_id = p_tenant_id
            and t.id = v_target.id
        returning t.message_count
    ),
    messages as (
        insert into strongroom.transcript_messages (tenant_id, transcript_id, position, message)
        select
            p_tenant_id,
            v_target.id,
            m.position,
            m.message
        from strongroom.transcript_messages as m
        where m.tenant_id = p_tenant_id
            and m.transcript_id = v_source.id
    )
    select t.message_count
    into copied
    from target as t;
    if copied is null then
        perform strongroom_private.fail(
            'not_found',
            'the transcript does not exist',
            '{"path": "from_scope", "record": "transcript"}',
            'Save one to this scope first.'
        );
    end if;
    return next;
end
$$;
comment on function strongroom.copy_transcript(text, text, text, text, text) is
    'Copy a scope''s transcript to a scope that has none; says how many messages. The same scope:'
    ' nothing happens. No source is SR010, a target SR011. The copy is bound as its source is,'
    ' unless a conversation is given. Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.delete_transcript(p_tenant_id text, p_scope text)
returns table (deleted boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('scope', p_scope);
    deleted := strongroom_private.delete_named_transcript(p_tenant_id, 'scope', p_scope, '');
    return next;
end
$$;
comment on function strongroom.delete_transcript(text, text) is
    'Delete a scope''s transcript; says whether there was one. Errors: SR001, SR004, SR010, SR020.'
    ' Callers: hosts.';

create function strongroom.list_transcripts(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    scope text,
    conversation_id text,
    message_count integer,
    digest text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select
        l.tenant_id,
        l.name,
        l.conversation_id,
        l.message_count,
        l.digest,
        l.version,
        l.created_at,
        l.updated_at,
        l.cursor,
        l.has_more
    from strongroom_private.list_transcripts_of_kind(
        p_tenant_id, 'scope', p_limit, p_after, p_before, p_direction, null
    ) as l;
end
$$;
comment on function strongroom.list_transcripts(text, integer, text, text, text) is
    'A page of the scopes that have a transcript, forward newest first, by creation. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021.'
    ' Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Memory sessions
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.find_session_transcript(
    p_tenant_id text,
    p_session_id text,
    p_user_id text
)
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_transcript strongroom.transcripts;
    -- Not in the query: coalesce is no condition of an index below row security.
    v_user_id text := coalesce(p_user_id, '');
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('session_id', p_session_id);
    perform strongroom_private.check_optional_id('user_id', p_user_id);
    select t.*
    into v_transcript
    from strongroom.transcripts as t
    where t.tenant_id = p_tenant_id
        and t.kind = 'session'
        and t.name = p_session_id
        and t.user_id = v_user_id;
    if v_transcript.conversation_id is not null then
        perform strongroom_private.require_readable_conversation(
            p_tenant_id, v_transcript.conversation_id, null
        );
    end if;
    return v_transcript.id;
end
$$;
comment on function strongroom_private.find_session_transcript(text, text, text) is
    'Enter the tenant, and the id of a session''s transcript; null when there is none. Errors:'
    ' SR001, SR004, SR010 while its conversation is deleted, SR020, SR021.';

create function strongroom.read_memory_session(
    p_tenant_id text,
    p_session_id text,
    p_user_id text default null
)
returns table (messages json)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_id text := strongroom_private.find_session_transcript(p_tenant_id, p_session_id, p_user_id);
begin
    return query
    select coalesce(json_agg(m.message order by m.position), '[]')
    from strongroom.transcript_messages as m
    where m.tenant_id = p_tenant_id
        and m.transcript_id = v_id;
end
$$;
comment on function strongroom.read_memory_session(text, text, text) is
    'All messages of a session, in order, as one list; an empty one when there is no such session.'
    ' Errors: SR001, SR004, SR010, SR020, SR021. Callers: hosts.';

create function strongroom_private.write_session_transcript(
    p_tenant_id text,
    p_session_id text,
    p_user_id text,
    p_metadata jsonb,
    p_conversation_id text
)
returns strongroom.transcripts
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_transcript strongroom.transcripts := strongroom_private.lock_transcript(
        p_tenant_id, 'session', p_session_id, coalesce(p_user_id, ''), p_conversation_id, true
    );
begin
    if v_transcript.version = 0 or p_metadata <> v_transcript.metadata then
        update strongroom.transcripts as t
        set metadata = coalesce(p_metadata, t.metadata),
            version = t.version + 1,
            updated_at = now()
        where t.tenant_id = p_tenant_id
            and t.id = v_transcript.id;
    end if;
    return v_transcript;
end
$$;
comment on function strongroom_private.write_session_transcript(text, text, text, jsonb, text) is
    'Lock a session''s transcript, made where it is missing, with the metadata that was given.'
    ' Errors: SR001, SR010.';

create function strongroom.append_memory_session(
    p_tenant_id text,
    p_session_id text,
    p_run_id text,
    p_turn integer,
    p_messages jsonb,
    p_append_id text,
    p_user_id text default null,
    p_metadata jsonb default null,
    p_conversation_id text default null
)
returns table (item integer, outcome text, message_position integer)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_transcript strongroom.transcripts;
    v_bytes integer;
    v_inserted integer;
    v_is_known boolean;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('session_id', p_session_id);
    perform strongroom_private.check_optional_id('user_id', p_user_id);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    perform strongroom_private.check_id('append_id', p_append_id);
    if p_turn is null or p_turn < 0 then
        perform strongroom_private.fail(
            'invalid_argument',
            'turn must be a whole number, 0 or more',
            jsonb_build_object('path', 'turn', 'actual', p_turn),
            'Count the turns of a run: 0, 1, 2, ...'
        );
    end if;
    if p_metadata is not null then
        perform strongroom_private.check_object('metadata', p_metadata, 16384);
    end if;
    perform strongroom_private.check_raw_messages('messages', p_messages, 500, 67108864);
    if jsonb_array_length(p_messages) = 0 then
        return;
    end if;
    v_transcript := strongroom_private.write_session_transcript(
        p_tenant_id, p_session_id, p_user_id, p_metadata, p_conversation_id
    );
    v_is_known := exists (
        select
        from strongroom.transcript_messages as m
        where m.tenant_id = p_tenant_id
            and m.transcript_id = v_transcript.id
            and m.append_id = p_append_id
    );
    if not v_is_known then
        insert into strongroom.transcript_messages (
            tenant_id, transcript_id, position, message, message_id, run_id, turn, append_id,
            append_index
        )
        select
            p_tenant_id,
            v_transcript.id,
            v_transcript.message_count + row_number() over (order by g.place),
            g.message,
            g.message_id,
            p_run_id,
            p_turn,
            p_append_id,
            g.place
        from (
            select
                e.message,
                e.place,
                strongroom_private.find_own_message_id(e.message) as message_id,
                row_number() over (
                    partition by strongroom_private.find_own_message_id(e.message)
                    order by e.place
                ) as turn_of_id
            from jsonb_array_elements(p_messages) with ordinality as e (message, place)
        ) as g
        left join strongroom.transcript_messages as m
            on m.tenant_id = p_tenant_id
            and m.transcript_id = v_transcript.id
            and m.message_id = g.message_id
        where g.message_id is null
            or (g.turn_of_id = 1 and m.position is null);
        get diagnostics v_inserted = row_count;
        if v_inserted > 0 then
            select sum(octet_length(m.message::text))
            into v_bytes
            from strongroom.transcript_messages as m
            where m.tenant_id = p_tenant_id
                and m.transcript_id = v_transcript.id
                and m.position > v_transcript.message_count;
            if v_transcript.message_count + v_inserted > 100000
                or v_transcript.size_bytes + v_bytes > 67108864
            then
                perform strongroom_private.fail(
                    'limit_exceeded',
                    'the session would have more than 100000 messages or 67108864 bytes',
                    jsonb_build_object(
                        'path', 'messages',
                        'limit', 67108864,
                        'actual', v_transcript.size_bytes + v_bytes,
                        'message_count', v_transcript.message_count + v_inserted
                    ),
                    'Begin a new session.'
                );
            end if;
            update strongroom.transcripts as t
            set message_count = t.message_count + v_inserted,
                size_bytes = t.size_bytes + v_bytes,
                version = t.version + 1,
                updated_at = now()
            where t.tenant_id = p_tenant_id
                and t.id = v_transcript.id;
        end if;
    end if;
    -- What stands under this call and place; else what has the message's own id.
    return query
    select
        g.place::integer - 1,
        case
            when coalesce(a.message, i.message) is distinct from g.message then 'conflict'
            when (a.run_id, a.turn) <> (p_run_id, p_turn) then 'conflict'
            when a.position is not null and not v_is_known then 'inserted'
            else 'duplicate'
        end,
        coalesce(a.position, i.position)
    from jsonb_array_elements(p_messages) with ordinality as g (message, place)
    left join strongroom.transcript_messages as a
        on a.tenant_id = p_tenant_id
        and a.transcript_id = v_transcript.id
        and a.append_id = p_append_id
        and a.append_index = g.place
    left join strongroom.transcript_messages as i
        on i.tenant_id = p_tenant_id
        and i.transcript_id = v_transcript.id
        and i.message_id = strongroom_private.find_own_message_id(g.message)
    order by g.place;
end
$$;
comment on function strongroom.append_memory_session(
    text, text, text, integer, jsonb, text, text, jsonb, text
) is
    'Append messages to a session; one row a message. inserted: it is new; duplicate: this call or'
    ' this message''s id has stored it; conflict: they have stored another, which stays. A known'
    ' append id inserts nothing, and is a conflict with another run or turn. Errors: SR001, SR004,'
    ' SR010, SR020. Callers: hosts.';

create function strongroom.clear_memory_session(
    p_tenant_id text,
    p_session_id text,
    p_user_id text default null
)
returns table (deleted boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('session_id', p_session_id);
    perform strongroom_private.check_optional_id('user_id', p_user_id);
    deleted := strongroom_private.delete_named_transcript(
        p_tenant_id, 'session', p_session_id, coalesce(p_user_id, '')
    );
    return next;
end
$$;
comment on function strongroom.clear_memory_session(text, text, text) is
    'Delete a session''s messages and errors; says whether there was anything. Errors: SR001,'
    ' SR004, SR010, SR020. Callers: hosts.';

create function strongroom.record_memory_session_error(
    p_tenant_id text,
    p_session_id text,
    p_run_id text,
    p_error jsonb,
    p_messages jsonb,
    p_error_id text,
    p_user_id text default null,
    p_metadata jsonb default null,
    p_conversation_id text default null
)
returns table (
    tenant_id text,
    session_id text,
    user_id text,
    id text,
    run_id text,
    error jsonb,
    message_count integer,
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
    v_transcript strongroom.transcripts;
    v_error strongroom.transcript_errors;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('session_id', p_session_id);
    perform strongroom_private.check_optional_id('user_id', p_user_id);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    perform strongroom_private.check_id('error_id', p_error_id);
    if p_metadata is not null then
        perform strongroom_private.check_object('metadata', p_metadata, 16384);
    end if;
    -- An API gives a JSON null as no value at all.
    p_error := coalesce(p_error, 'null');
    perform strongroom_private.check_raw_messages('error', jsonb_build_array(p_error), 1, 65536);
    perform strongroom_private.check_raw_messages('messages', p_messages, 500, 16777216);
    v_transcript := strongroom_private.write_session_transcript(
        p_tenant_id, p_session_id, p_user_id, p_metadata, p_conversation_id
    );
    outcome := 'duplicate';
    select e.*
    into v_error
    from strongroom.transcript_errors as e
    where e.tenant_id = p_tenant_id
        and e.transcript_id = v_transcript.id
        and e.id = p_error_id;
    if v_error.id is null then
        insert into strongroom.transcript_errors as e (
            tenant_id, transcript_id, id, run_id, error, messages
        )
        values (p_tenant_id, v_transcript.id, p_error_id, p_run_id, p_error, p_messages)
        returning e.* into v_error;
        outcome := 'inserted';
    elsif (v_error.run_id, v_error.error, v_error.messages) <> (p_run_id, p_error, p_messages) then
        perform strongroom_private.fail(
            'already_exists',
            'an error with this id is recorded, and it is another one',
            '{"path": "error_id", "record": "session error"}',
            'Give every failure an id of its own, and repeat a call with its own.'
        );
    end if;
    return query
    select
        p_tenant_id,
        p_session_id,
        p_user_id,
        v_error.id,
        v_error.run_id,
        v_error.error,
        jsonb_array_length(v_error.messages),
        v_error.created_at,
        outcome;
end
$$;
comment on function strongroom.record_memory_session_error(
    text, text, text, jsonb, jsonb, text, text, jsonb, text
) is
    'Record that a run failed, with the messages that it had got to, which do not become part of'
    ' the session. A repeat is known by the record''s id. Errors: SR001, SR004, SR010, SR011,'
    ' SR020. Callers: hosts.';

create function strongroom.find_memory_session_error(
    p_tenant_id text,
    p_session_id text,
    p_error_id text,
    p_user_id text default null
)
returns table (
    tenant_id text,
    session_id text,
    user_id text,
    id text,
    run_id text,
    error jsonb,
    message_count integer,
    created_at timestamptz,
    messages jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_id text := strongroom_private.find_session_transcript(p_tenant_id, p_session_id, p_user_id);
begin
    perform strongroom_private.check_id('error_id', p_error_id);
    return query
    select
        e.tenant_id,
        p_session_id,
        p_user_id,
        e.id,
        e.run_id,
        e.error,
        jsonb_array_length(e.messages),
        e.created_at,
        e.messages
    from strongroom.transcript_errors as e
    where e.tenant_id = p_tenant_id
        and e.transcript_id = v_id
        and e.id = p_error_id;
end
$$;
comment on function strongroom.find_memory_session_error(text, text, text, text) is
    'One recorded error of a session, with its messages, or no row. Errors: SR001, SR004, SR010,'
    ' SR020, SR021. Callers: hosts.';

create function strongroom.list_memory_session_errors(
    p_tenant_id text,
    p_session_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_user_id text default null
)
returns table (
    tenant_id text,
    session_id text,
    user_id text,
    id text,
    run_id text,
    error jsonb,
    message_count integer,
    created_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
-- @plpgsql_check_options: extra_warnings = off
declare
    v_id text := strongroom_private.find_session_transcript(p_tenant_id, p_session_id, p_user_id);
    v_scope text;
    v_keys text[];
    v_descending boolean;
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    v_scope := strongroom_private.cursor_scope(
        'memory_session_errors', jsonb_build_array(p_session_id, p_user_id), p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    -- Forward is newest first.
    v_descending := (p_direction = 'forward') <> (p_before is not null);
    return query execute format(
        $query$
            select
                s.tenant_id,
                $6,
                $7,
                s.id,
                s.run_id,
                s.error,
                jsonb_array_length(s.messages),
                s.created_at,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(s.created_at), s.id]
                ),
                s.total > $4
            from (
                select
                    e.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select e.*
                    from strongroom.transcript_errors as e
                    where e.tenant_id = $1
                        and e.transcript_id = $5
                        and ($2 is null or (e.created_at, e.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by e.created_at %2$s, e.id %2$s
                    limit $4 + 1
                ) as e
            ) as s
            where s.place <= $4
            order by s.created_at %3$s, s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_keys, v_scope, p_limit, v_id, p_session_id, p_user_id;
end
$$;
comment on function strongroom.list_memory_session_errors(
    text, text, integer, text, text, text, text
) is
    'A page of a session''s recorded errors without their messages, forward newest first. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020,'
    ' SR021. Callers: hosts.';

create function strongroom.list_memory_sessions(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_user_id text default null
)
returns table (
    tenant_id text,
    ref text,
    session_id text,
    user_id text,
    conversation_id text,
    metadata jsonb,
    message_count integer,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select
        l.tenant_id,
        l.id,
        l.name,
        l.user_id,
        l.conversation_id,
        l.metadata,
        l.message_count,
        l.created_at,
        l.updated_at,
        l.cursor,
        l.has_more
    from strongroom_private.list_transcripts_of_kind(
        p_tenant_id, 'session', p_limit, p_after, p_before, p_direction, p_user_id
    ) as l;
end
$$;
comment on function strongroom.list_memory_sessions(text, integer, text, text, text, text) is
    'A page of sessions, of one user or of all, forward newest first, by creation. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021.'
    ' Callers: hosts.';

create function strongroom.find_memory_session(p_tenant_id text, p_ref text)
returns table (
    tenant_id text,
    ref text,
    session_id text,
    user_id text,
    conversation_id text,
    metadata jsonb,
    message_count integer,
    created_at timestamptz,
    updated_at timestamptz,
    messages json
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
    perform strongroom_private.check_id('ref', p_ref);
    return query
    select
        t.tenant_id,
        t.id,
        t.name,
        nullif(t.user_id, ''),
        t.conversation_id,
        t.metadata,
        t.message_count,
        t.created_at,
        t.updated_at,
        coalesce(
            (
                select json_agg(
                    json_build_object(
                        'position', m.position,
                        'run_id', m.run_id,
                        'turn', m.turn,
                        'created_at', m.created_at,
                        'message', m.message
                    )
                    order by m.position
                )
                from strongroom.transcript_messages as m
                where m.tenant_id = t.tenant_id
                    and m.transcript_id = t.id
            ),
            '[]'
        )
    from strongroom.transcripts as t
    where t.tenant_id = p_tenant_id
        and t.id = p_ref
        and t.kind = 'session'
        and (
            t.conversation_id is null
            or strongroom_private.is_readable_conversation(t.tenant_id, t.conversation_id, null)
        );
end
$$;
comment on function strongroom.find_memory_session(text, text) is
    'A session by its reference, with all its messages in order of position, or no row. Errors:'
    ' SR001, SR004, SR020, SR021. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.transcripts}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.transcript_messages}', '{select,insert,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.transcript_errors}', '{select,insert}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.find_own_message_id,
        strongroom_private.check_raw_messages,
        strongroom_private.lock_transcript,
        strongroom_private.delete_named_transcript,
        strongroom_private.list_transcripts_of_kind,
        strongroom_private.find_session_transcript,
        strongroom_private.write_session_transcript,
        strongroom.find_transcript,
        strongroom.read_transcript,
        strongroom.save_transcript,
        strongroom.copy_transcript,
        strongroom.delete_transcript,
        strongroom.list_transcripts,
        strongroom.read_memory_session,
        strongroom.append_memory_session,
        strongroom.clear_memory_session,
        strongroom.record_memory_session_error,
        strongroom.find_memory_session_error,
        strongroom.list_memory_session_errors,
        strongroom.list_memory_sessions,
        strongroom.find_memory_session
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(15, 'transcripts');
