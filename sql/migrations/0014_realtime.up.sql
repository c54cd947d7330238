-- strongroom 0014: realtime
--
-- Purpose     Tell subscribers of Supabase Realtime that there is something to read, from the
--             database itself: whoever writes, through whatever door, is heard.
-- What goes   Ids, a sequence and a kind; never content. A hint says "look"; the tables are the
--             truth, and who looks is asked again by row security.
-- Two ways    Broadcast, to private topics: strongroom:conversation:<tenant>:<conversation>,
--             strongroom:tenant:<tenant> (what every member may read),
--             strongroom:principal:<tenant>:<principal> (that person's conversations, and what they
--             are asked) and strongroom:topic:<tenant>:<topic> (hosts). In names, `%` is
--             %25 and `:` is %3A.
--             And postgres_changes, by one published table: conversation_changes, whose replica
--             identity is an opaque key. The event of a DELETE, which Realtime hands to subscribers
--             of every tenant, carries that key and no more.
-- Never       rolls a write back: a hint that cannot be sent is a warning, and is counted;
--             `strongroom doctor` and `health` show it. Where there is no schema realtime, nothing
--             is sent, and nothing but a look-up of a name is paid.
-- Locks       The rows of conversation_changes, after everything else: of messages, interactions
--             and conversations under the conversation's lock, of run events under the run's. What
--             is handed out across tenants (claims) touches none of them.

select strongroom_private.begin_migration(14, 'realtime');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '14';
select strongroom_private.require_transaction(14);


-- ---------------------------------------------------------------------------------------------
-- What is published
-- ---------------------------------------------------------------------------------------------

create table strongroom.conversation_changes (
    tenant_id text collate "C" not null,
    conversation_id text collate "C" not null,
    kind text collate "C" not null,
    change_key uuid not null default gen_random_uuid(),
    record_id text collate "C" not null,
    sequence bigint not null,
    changed_at timestamptz not null default now(),
    constraint conversation_changes_pkey primary key (tenant_id, conversation_id, kind),
    constraint change_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint kind_is_known
        check (kind in ('conversation', 'messages', 'run', 'run_events', 'interaction')),
    constraint record_id_has_1_to_255_characters check (char_length(record_id) between 1 and 255),
    constraint sequence_is_positive check (sequence > 0)
)
with (fillfactor = 50);
comment on table strongroom.conversation_changes is
    'What last changed in a conversation, one row per kind: for the publication supabase_realtime.'
    ' Written by triggers, where there is Supabase Realtime. A hint: read on where it belongs.';
comment on column strongroom.conversation_changes.tenant_id is 'The tenant.';
comment on column strongroom.conversation_changes.conversation_id is 'The conversation.';
comment on column strongroom.conversation_changes.kind is
    'conversation, messages, run, run_events or interaction.';
comment on column strongroom.conversation_changes.change_key is
    'Random, and the replica identity: all that the event of a DELETE says, whoever hears it.';
comment on column strongroom.conversation_changes.record_id is
    'The record: the newest message, the run, the interaction, or the conversation.';
comment on column strongroom.conversation_changes.sequence is
    'Position of the newest message, sequence of the newest event of the run, number of the run'
    ' (also for an interaction), or version of the conversation.';
comment on column strongroom.conversation_changes.changed_at is 'When. It orders nothing.';

create unique index change_keys on strongroom.conversation_changes (change_key);
comment on index strongroom.change_keys is
    'The replica identity. Random keys: nothing of one tenant can collide with another''s.';
alter table strongroom.conversation_changes replica identity using index change_keys;

alter table strongroom.conversation_changes enable row level security;
alter table strongroom.conversation_changes force row level security;
create policy readers_read on strongroom.conversation_changes
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_conversation(tenant_id, conversation_id)
        )
    );
comment on policy readers_read on strongroom.conversation_changes is 'As the conversation.';
create policy trusted_inserts on strongroom.conversation_changes
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.conversation_changes is
    'Triggers; nobody has the right.';
create policy trusted_updates on strongroom.conversation_changes
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.conversation_changes is
    'Triggers; nobody has the right.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.conversation_changes',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It holds ids of records, and goes with the conversation.'
);


-- ---------------------------------------------------------------------------------------------
-- Sending
-- ---------------------------------------------------------------------------------------------

create sequence strongroom_private.failed_hints as bigint maxvalue 9007199254740991;
comment on sequence strongroom_private.failed_hints is
    'How many hints could not be sent. A sequence: it counts where the transaction is rolled back,'
    ' too, and nobody waits for it.';

create function strongroom_private.is_realtime_there()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- From the catalog: to_regprocedure is an error for who may not use the schema.
    return exists (
        select
        from pg_proc as p
        inner join pg_namespace as n on n.oid = p.pronamespace
        where n.nspname = 'realtime'
            and p.proname = 'send'
    );
end
$$;
comment on function strongroom_private.is_realtime_there() is
    'Whether this database has Supabase Realtime.';

create function strongroom_private.encode_topic(p_names text[])
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_topic text := 'strongroom';
    v_name text;
begin
    foreach v_name in array p_names loop
        v_topic := v_topic || ':' || replace(replace(v_name, '%', '%25'), ':', '%3A');
    end loop;
    return v_topic;
end
$$;
comment on function strongroom_private.encode_topic(text[]) is
    'The name of a topic of Realtime: strongroom, and the names, joined by colons.';

create function strongroom_private.decode_topic(p_topic text)
returns text[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_topic like 'strongroom:%' then array(
            select replace(replace(n.name, '%3A', ':'), '%25', '%')
            from unnest(string_to_array(substr(p_topic, 12), ':'))
                with ordinality as n (name, place)
            order by n.place
        )
    end
$$;
comment on function strongroom_private.decode_topic(text) is
    'The names in a topic of Realtime; null when it is not one of ours.';

create function strongroom_private.broadcast_hint(
    p_topic text[],
    p_kind text,
    p_conversation_id text,
    p_record_id text,
    p_sequence bigint
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform realtime.send(
        jsonb_build_object(
            'kind', p_kind,
            'conversation_id', p_conversation_id,
            'record_id', p_record_id,
            'sequence', p_sequence
        ),
        p_kind,
        strongroom_private.encode_topic(p_topic),
        true
    );
end
$$;
comment on function strongroom_private.broadcast_hint(text[], text, text, text, bigint) is
    'Broadcast one hint.';

create function strongroom_private.send_hint(
    p_topic text[],
    p_kind text,
    p_conversation_id text,
    p_record_id text,
    p_sequence bigint
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.broadcast_hint(
        p_topic, p_kind, p_conversation_id, p_record_id, p_sequence
    );
exception
    when others then
        perform nextval('strongroom_private.failed_hints');
        raise warning 'strongroom: a hint to Realtime was not sent: % (%)', sqlerrm, sqlstate
            using hint = 'The write stands. Subscribers see it when they look again.';
end
$$;
comment on function strongroom_private.send_hint(text[], text, text, text, bigint) is
    'Broadcast one hint. Whatever goes wrong is a warning, and counted, and fails nothing.';

create function strongroom_private.write_change(
    p_tenant_id text,
    p_conversation_id text,
    p_kind text,
    p_record_id text,
    p_sequence bigint
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    update strongroom.conversation_changes as c
    set record_id = p_record_id,
        sequence = p_sequence,
        changed_at = now()
    where c.tenant_id = p_tenant_id
        and c.conversation_id = p_conversation_id
        and c.kind = p_kind;
    if not found then
        -- A conversation that is being purged is not waited for: the purge may wait for this.
        insert into strongroom.conversation_changes (
            tenant_id, conversation_id, kind, record_id, sequence
        )
        select
            o.tenant_id,
            o.id,
            p_kind,
            p_record_id,
            p_sequence
        from strongroom.conversations as o
        where o.tenant_id = p_tenant_id
            and o.id = p_conversation_id
        for key share skip locked
        on conflict on constraint conversation_changes_pkey do update
            set record_id = excluded.record_id,
                sequence = excluded.sequence,
                changed_at = excluded.changed_at;
    end if;
end
$$;
comment on function strongroom_private.write_change(text, text, text, text, bigint) is
    'Write the published row of one kind.';

create function strongroom_private.tell_readers(
    p_tenant_id text,
    p_conversation_id text,
    p_kind text,
    p_record_id text,
    p_sequence bigint
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_topic text[] := array['conversation', p_tenant_id, p_conversation_id];
begin
    -- Claims are handed out without the conversation's lock, so they wait for no row here.
    if strongroom_private.is_dispatching() then
        perform strongroom_private.send_hint(
            v_topic, p_kind, p_conversation_id, p_record_id, p_sequence
        );
        return;
    end if;
    perform strongroom_private.broadcast_hint(
        v_topic, p_kind, p_conversation_id, p_record_id, p_sequence
    );
    perform strongroom_private.write_change(
        p_tenant_id, p_conversation_id, p_kind, p_record_id, p_sequence
    );
exception
    when others then
        -- One of the two has failed: each on its own, so that the other is told.
        perform strongroom_private.send_hint(
            v_topic, p_kind, p_conversation_id, p_record_id, p_sequence
        );
        begin
            perform strongroom_private.write_change(
                p_tenant_id, p_conversation_id, p_kind, p_record_id, p_sequence
            );
        exception
            when others then
                perform nextval('strongroom_private.failed_hints');
                raise warning 'strongroom: a change was not published: % (%)', sqlerrm, sqlstate
                    using hint = 'The write stands. Subscribers see it when they look again.';
        end;
end
$$;
comment on function strongroom_private.tell_readers(text, text, text, text, bigint) is
    'Tell those who may read a conversation what changed in it, both ways. Whatever goes wrong is a'
    ' warning, and counted, and fails nothing.';


-- ---------------------------------------------------------------------------------------------
-- Who is told of what
-- ---------------------------------------------------------------------------------------------

-- SECURITY DEFINER: writers have no right to broadcast, nor to write what is published. It looks at
-- the rows of its own statement, in the bound tenant.
create function strongroom_private.tell_of_messages()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_newest record;
begin
    if strongroom_private.is_realtime_there() then
        for v_newest in
            select distinct on (a.conversation_id)
                a.tenant_id,
                a.conversation_id,
                a.id,
                a.position
            from added as a
            where a.tenant_id = (select strongroom_private.current_tenant())
            order by
                a.conversation_id,
                a.position desc
        loop
            perform strongroom_private.tell_readers(
                v_newest.tenant_id, v_newest.conversation_id, 'messages', v_newest.id,
                v_newest.position
            );
        end loop;
    end if;
    return null;
end
$$;
comment on function strongroom_private.tell_of_messages() is
    'Tell readers of new messages. SECURITY DEFINER, see its comment in the migration.';
create trigger readers_are_told
    after insert on strongroom.messages
    referencing new table as added
    for each statement
    execute function strongroom_private.tell_of_messages();
comment on trigger readers_are_told on strongroom.messages is 'See tell_of_messages.';

-- SECURITY DEFINER: writers have no right to broadcast, nor to write what is published. It looks at
-- the rows of its own statement, in the bound tenant.
create function strongroom_private.tell_of_run_events()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_newest record;
begin
    if strongroom_private.is_realtime_there() then
        for v_newest in
            select
                r.tenant_id,
                r.conversation_id,
                r.id,
                n.sequence
            from (
                select
                    a.tenant_id,
                    a.run_id,
                    max(a.sequence) as sequence
                from added as a
                where a.tenant_id = (select strongroom_private.current_tenant())
                group by
                    a.tenant_id,
                    a.run_id
            ) as n
            inner join strongroom.runs as r
                on r.tenant_id = n.tenant_id
                and r.id = n.run_id
        loop
            perform strongroom_private.tell_readers(
                v_newest.tenant_id, v_newest.conversation_id, 'run_events', v_newest.id,
                v_newest.sequence
            );
        end loop;
    end if;
    return null;
end
$$;
comment on function strongroom_private.tell_of_run_events() is
    'Tell readers of what a run streams. SECURITY DEFINER, see its comment in the migration.';
create trigger readers_are_told
    after insert on strongroom.run_events
    referencing new table as added
    for each statement
    execute function strongroom_private.tell_of_run_events();
comment on trigger readers_are_told on strongroom.run_events is 'See tell_of_run_events.';

-- SECURITY DEFINER: writers have no right to broadcast, nor to write what is published. It looks at
-- its own row, of the bound tenant or, inside the dispatcher, of the run that is claimed.
create function strongroom_private.tell_of_run()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if strongroom_private.is_realtime_there()
        and (
            new.tenant_id = strongroom_private.current_tenant()
            or strongroom_private.is_dispatching()
        )
    then
        perform strongroom_private.tell_readers(
            new.tenant_id, new.conversation_id, 'run', new.id, new.number
        );
    end if;
    return null;
end
$$;
comment on function strongroom_private.tell_of_run() is
    'Tell readers of a new run, and of its next state. SECURITY DEFINER, see its comment in the'
    ' migration.';
create trigger readers_are_told_of_new_ones
    after insert on strongroom.runs
    for each row
    execute function strongroom_private.tell_of_run();
comment on trigger readers_are_told_of_new_ones on strongroom.runs is 'See tell_of_run.';
create trigger readers_are_told_of_changes
    after update of status, cancel_requested_at on strongroom.runs
    for each row
    when (
        old.status is distinct from new.status
        or old.cancel_requested_at is distinct from new.cancel_requested_at
    )
    execute function strongroom_private.tell_of_run();
comment on trigger readers_are_told_of_changes on strongroom.runs is 'See tell_of_run.';

-- SECURITY DEFINER: writers have no right to broadcast, nor to write what is published. It looks at
-- its own row, and its run's number, in the bound tenant.
create function strongroom_private.tell_of_interaction()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_number bigint;
begin
    if strongroom_private.is_realtime_there()
        and new.tenant_id = strongroom_private.current_tenant()
    then
        select r.number
        into v_number
        from strongroom.runs as r
        where r.tenant_id = new.tenant_id
            and r.id = new.run_id;
        perform strongroom_private.tell_readers(
            new.tenant_id, new.conversation_id, 'interaction', new.id, v_number
        );
        if new.addressee_id is not null then
            perform strongroom_private.send_hint(
                array['principal', new.tenant_id, new.addressee_id],
                'interaction', new.conversation_id, new.id, v_number
            );
        end if;
    end if;
    return null;
end
$$;
comment on function strongroom_private.tell_of_interaction() is
    'Tell readers, and who is asked, of a question or approval and of its end. SECURITY DEFINER,'
    ' see its comment in the migration.';
create trigger readers_are_told_of_new_ones
    after insert on strongroom.interactions
    for each row
    execute function strongroom_private.tell_of_interaction();
comment on trigger readers_are_told_of_new_ones on strongroom.interactions is
    'See tell_of_interaction.';
create trigger readers_are_told_of_changes
    after update of status on strongroom.interactions
    for each row
    when (old.status is distinct from new.status)
    execute function strongroom_private.tell_of_interaction();
comment on trigger readers_are_told_of_changes on strongroom.interactions is
    'See tell_of_interaction.';

-- SECURITY DEFINER: writers have no right to broadcast, nor to write what is published. It looks at
-- its own row, and who takes part, in the bound tenant.
create function strongroom_private.tell_of_conversation()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_talk strongroom.conversations := case tg_op when 'DELETE' then old else new end;
    v_reader text;
begin
    if not strongroom_private.is_realtime_there()
        or v_talk.tenant_id is distinct from strongroom_private.current_tenant()
    then
        return null;
    end if;
    if tg_op = 'DELETE' then
        perform strongroom_private.send_hint(
            array['conversation', v_talk.tenant_id, v_talk.id],
            'conversation', v_talk.id, v_talk.id, v_talk.version
        );
    else
        perform strongroom_private.tell_readers(
            v_talk.tenant_id, v_talk.id, 'conversation', v_talk.id, v_talk.version
        );
    end if;
    -- What only some may read is not told to all: not even that it is there.
    if v_talk.visibility = 'tenant'
        or (tg_op = 'UPDATE' and old.visibility = 'tenant')
    then
        perform strongroom_private.send_hint(
            array['tenant', v_talk.tenant_id],
            'conversation', v_talk.id, v_talk.id, v_talk.version
        );
    end if;
    for v_reader in
        select v_talk.owner_id
        union
        select p.principal_id
        from strongroom.conversation_participants as p
        where p.tenant_id = v_talk.tenant_id
            and p.conversation_id = v_talk.id
    loop
        perform strongroom_private.send_hint(
            array['principal', v_talk.tenant_id, v_reader],
            'conversation', v_talk.id, v_talk.id, v_talk.version
        );
    end loop;
    return null;
end
$$;
comment on function strongroom_private.tell_of_conversation() is
    'Tell those who may read it of a new, changed, hidden or purged conversation. SECURITY DEFINER,'
    ' see its comment in the migration.';
create trigger readers_are_told_of_new_ones
    after insert on strongroom.conversations
    for each row
    execute function strongroom_private.tell_of_conversation();
comment on trigger readers_are_told_of_new_ones on strongroom.conversations is
    'See tell_of_conversation.';
create trigger readers_are_told_of_changes
    after update of version on strongroom.conversations
    for each row
    when (old.version is distinct from new.version)
    execute function strongroom_private.tell_of_conversation();
comment on trigger readers_are_told_of_changes on strongroom.conversations is
    'See tell_of_conversation.';
create trigger readers_are_told_of_the_end
    after delete on strongroom.conversations
    for each row
    -- Not when all of a tenant goes: nobody is there to hear.
    when (pg_trigger_depth() = 0)
    execute function strongroom_private.tell_of_conversation();
comment on trigger readers_are_told_of_the_end on strongroom.conversations is
    'See tell_of_conversation.';

-- SECURITY DEFINER: writers have no right to broadcast. It looks at its own row, in the bound
-- tenant.
create function strongroom_private.tell_of_participant()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if strongroom_private.is_realtime_there()
        and new.tenant_id = strongroom_private.current_tenant()
    then
        perform strongroom_private.send_hint(
            array['principal', new.tenant_id, new.principal_id],
            'conversation', new.conversation_id, new.conversation_id, 1
        );
    end if;
    return null;
end
$$;
comment on function strongroom_private.tell_of_participant() is
    'Tell who takes part from now on. SECURITY DEFINER, see its comment in the migration.';
create trigger newcomers_are_told
    after insert on strongroom.conversation_participants
    for each row
    execute function strongroom_private.tell_of_participant();
comment on trigger newcomers_are_told on strongroom.conversation_participants is
    'See tell_of_participant.';

-- SECURITY DEFINER: writers have no right to broadcast. It looks at the rows of its own statement,
-- in the bound tenant.
create function strongroom_private.tell_of_topic_events()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_newest record;
begin
    if strongroom_private.is_realtime_there() then
        for v_newest in
            select
                a.tenant_id,
                a.topic,
                max(a.sequence) as sequence
            from added as a
            where a.tenant_id = (select strongroom_private.current_tenant())
            group by
                a.tenant_id,
                a.topic
        loop
            perform strongroom_private.send_hint(
                array['topic', v_newest.tenant_id, v_newest.topic],
                'topic_events', null, v_newest.topic, v_newest.sequence
            );
        end loop;
    end if;
    return null;
end
$$;
comment on function strongroom_private.tell_of_topic_events() is
    'Tell hosts that follow a topic. SECURITY DEFINER, see its comment in the migration.';
create trigger followers_are_told
    after insert on strongroom.topic_events
    referencing new table as added
    for each statement
    execute function strongroom_private.tell_of_topic_events();
comment on trigger followers_are_told on strongroom.topic_events is 'See tell_of_topic_events.';


-- ---------------------------------------------------------------------------------------------
-- Who may receive
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.may_receive(p_topic text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_names text[] := strongroom_private.decode_topic(p_topic);
begin
    if v_names[2] is distinct from strongroom_private.current_tenant() or v_names[2] is null then
        return false;
    end if;
    return case
        when v_names[1] = 'tenant' and cardinality(v_names) = 2
        then true
        when v_names[1] = 'principal' and cardinality(v_names) = 3
        then coalesce(v_names[3] = strongroom_private.current_principal(), false)
        when v_names[1] = 'conversation' and cardinality(v_names) = 3
        then strongroom_private.may_read_conversation(v_names[2], v_names[3])
        else false
    end;
end
$$;
comment on function strongroom_private.may_receive(text) is
    'Whether the signed-in user may join this private topic of Realtime. The policy on'
    ' realtime.messages asks it, at the join and whenever the token is renewed.';

create function strongroom_private.apply_realtime()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (
        select
        from pg_class as c
        inner join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = 'realtime'
            and c.relname = 'messages'
            and not exists (
                select
                from pg_policy as p
                where p.polrelid = c.oid
                    and p.polname = 'strongroom_readers_receive'
            )
    ) then
        begin
            execute
                'create policy strongroom_readers_receive on realtime.messages'
                ' for select to authenticated'
                ' using (extension = ''broadcast'''
                ' and (select strongroom_private.may_receive((select realtime.topic()))))';
        exception
            when insufficient_privilege or undefined_function or undefined_object then
                raise warning 'strongroom: no policy on realtime.messages: %', sqlerrm
                    using hint = 'Run select strongroom_private.apply_realtime() as postgres.';
        end;
    end if;
    if exists (
        select
        from pg_publication as p
        where p.pubname = 'supabase_realtime'
            and not p.puballtables
            and not exists (
                select
                from pg_publication_rel as r
                where r.prpubid = p.oid
                    and r.prrelid = 'strongroom.conversation_changes'::regclass
            )
    ) then
        begin
            alter publication supabase_realtime add table strongroom.conversation_changes;
        exception
            when insufficient_privilege then
                raise warning 'strongroom: conversation_changes is not published: %', sqlerrm
                    using hint = 'Run select strongroom_private.apply_realtime() as postgres.';
        end;
    end if;
end
$$;
comment on function strongroom_private.apply_realtime() is
    'Let readers receive, and publish conversation_changes, where there is Supabase Realtime. The'
    ' migration runs it; run it again, as the schema''s owner, after Realtime was added or the'
    ' publication made anew. A repeat changes nothing.';

create function strongroom.diagnose_realtime()
returns table (check_name text, object_name text, problem text, hint text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with messages as (
        select
            c.oid,
            c.relkind
        from pg_class as c
        inner join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = 'realtime'
            and c.relname = 'messages'
    ),
    publication as (
        select
            p.oid,
            p.puballtables
        from pg_publication as p
        where p.pubname = 'supabase_realtime'
    ),
    published as (
        select r.prrelid
        from pg_publication_rel as r
        inner join publication as p on p.oid = r.prpubid
        inner join pg_class as c on c.oid = r.prrelid
        where c.relnamespace = 'strongroom'::regnamespace
    ),
    findings as (
        select
            'realtime.messages' as object_name,
            'no policy lets readers receive broadcasts' as problem,
            'As the schema''s owner: select strongroom_private.apply_realtime()' as hint
        from messages as m
        where not exists (
            select
            from pg_policy as p
            where p.polrelid = m.oid
                and p.polname = 'strongroom_readers_receive'
        )
        union all
        select
            'realtime.messages',
            'there is no partition for now, so broadcasts are lost: the Realtime server, which'
            ' makes them, was here and is gone',
            'See that the Realtime service runs; it makes them when a client subscribes.'
        from messages as m
        -- Without any, nobody has ever subscribed, and nobody misses a thing.
        where exists (
                select
                from pg_inherits as i
                where i.inhparent = m.oid
            )
            and not exists (
                select
                from pg_inherits as i
                inner join pg_class as d on d.oid = i.inhrelid
                cross join regexp_match(
                    pg_get_expr(d.relpartbound, d.oid),
                    'FROM [(]''([^'']+)''[)] TO [(]''([^'']+)''[)]'
                ) as b (bounds)
                where i.inhparent = m.oid
                    and localtimestamp >= b.bounds[1]::timestamp
                    and localtimestamp < b.bounds[2]::timestamp
            )
        union all
        select
            'supabase_realtime',
            'the publication does not exist, so subscribers of postgres_changes hear nothing',
            'create publication supabase_realtime; then, as the schema''s owner:'
            ' select strongroom_private.apply_realtime()'
        where not exists (select from publication)
        union all
        select
            'supabase_realtime',
            'the publication is FOR ALL TABLES: the event of a DELETE shows the keys of any table'
            ' to subscribers of every tenant',
            'Drop it and create it empty; then, as the schema''s owner:'
            ' select strongroom_private.apply_realtime()'
        from publication as p
        where p.puballtables
        union all
        select
            'supabase_realtime',
            'strongroom.conversation_changes is not published',
            'As the schema''s owner: select strongroom_private.apply_realtime()'
        from publication as p
        where not p.puballtables
            and 'strongroom.conversation_changes'::regclass not in (
                select t.prrelid
                from published as t
            )
        union all
        select
            'supabase_realtime',
            format('%s is published: the event of a DELETE shows its key to subscribers of every'
                ' tenant', t.prrelid::regclass),
            format('alter publication supabase_realtime drop table %s', t.prrelid::regclass)
        from published as t
        where t.prrelid <> 'strongroom.conversation_changes'::regclass
        union all
        select
            'strongroom.conversation_changes',
            'its replica identity is not the opaque key',
            'alter table strongroom.conversation_changes replica identity using index change_keys'
        from pg_class as c
        where c.oid = 'strongroom.conversation_changes'::regclass
            and not exists (
                select
                from pg_index as i
                where i.indexrelid = to_regclass('strongroom.change_keys')
                    and i.indisreplident
                    and c.relreplident = 'i'
            )
        union all
        select
            'strongroom_private.failed_hints',
            format('%s hints could not be sent; what they were about was written', s.last_value),
            'The warnings in the server''s log say why. Afterwards, as the schema''s owner:'
            ' alter sequence strongroom_private.failed_hints restart'
        from strongroom_private.failed_hints as s
        where s.is_called
    )
    select
        'realtime',
        f.object_name,
        f.problem,
        f.hint
    from findings as f
    where strongroom_private.is_realtime_there()
$$;
comment on function strongroom.diagnose_realtime() is
    'What keeps subscribers of Supabase Realtime from being told: one row per finding, none when'
    ' all is well or there is no Realtime. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.conversation_changes}', '{select}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'sequence', '{strongroom_private.failed_hints}', '{select}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.encode_topic,
        strongroom_private.decode_topic,
        strongroom_private.may_receive
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function', '{strongroom_private.is_realtime_there,strongroom.diagnose_realtime}', '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.apply_realtime();

select strongroom_private.finish_migration(14, 'realtime');
