-- strongroom 0011: files
--
-- Purpose     Files and their versions as metadata, and the durable list of bytes to remove. The
--             bytes lie in a blob store, outside of the database, under opaque keys.
-- Removals    Bytes cannot join a transaction. Whatever lets go of a key writes it to
--             blob_removals, in the same transaction and by trigger, so that cascades are caught; a
--             sweep claims keys, removes the bytes, and confirms. A store that fails loses nothing:
--             the key is due again, later and later. The list outlives its tenant.
-- References  publish_blob_reference says which column refers to bytes, and makes its triggers,
--             which are the catalog of references, too. A key that any living row refers to is not
--             handed out but taken off the list; one that is being removed cannot be referred to.
-- The race    A key is referred to again while a sweep looks. A writer holds a shared lock on the
--             key until its transaction ends; a claim needs the key's exclusive lock, does not wait
--             for it, and looks for references after it has it. So either the claim sees the
--             reference, or the writer sees the claim.
-- Files       A file hangs on a conversation, or is its owner's alone. Its versions are numbered
--             without gaps; their state machine is one table of transitions.
-- Row locks   A writer: the conversation, the file, its version, the keys, their removals. A claim:
--             removals, skipping what is locked.

select strongroom_private.begin_migration(11, 'files');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '11';
select strongroom_private.require_transaction(11);

create sequence strongroom.blob_removal_tokens as bigint maxvalue 9007199254740991;
comment on sequence strongroom.blob_removal_tokens is
    'Claim tokens of blob removals: strictly growing. Safe as a JavaScript number.';


-- ---------------------------------------------------------------------------------------------
-- Blob removals
-- ---------------------------------------------------------------------------------------------
-- Invariant: a key stands here from the commit that let it go until its bytes are gone. No foreign
-- key leads to the tenant: the bytes of a purged tenant must still go.

create function strongroom_private.check_blob_key(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or p_value = '' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s is required', p_field),
            jsonb_build_object('path', p_field),
            'Give a text of 1 to 1,024 bytes.'
        );
    elsif octet_length(p_value) > 1024 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s bytes; at most 1024 are allowed', p_field, octet_length(p_value)),
            jsonb_build_object('path', p_field, 'limit', 1024, 'actual', octet_length(p_value)),
            'Use a shorter key; it needs no meaning.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_blob_key(text, text) is
    'The key of bytes must be there and have 1 to 1,024 bytes: what every blob store takes. Errors:'
    ' SR001, SR004.';

create table strongroom.blob_removals (
    tenant_id text collate "C" not null,
    blob_key text collate "C" not null,
    requested_at timestamptz not null default clock_timestamp(),
    due_at timestamptz not null default clock_timestamp(),
    attempts integer not null default 0,
    last_error text,
    claim_token bigint,
    worker_id text collate "C",
    claimed_at timestamptz,
    constraint blob_removals_pkey primary key (tenant_id, blob_key),
    constraint tenant_id_has_1_to_255_characters check (char_length(tenant_id) between 1 and 255),
    constraint blob_key_has_1_to_1024_bytes check (octet_length(blob_key) between 1 and 1024),
    constraint attempts_is_not_negative check (attempts >= 0),
    constraint last_error_has_at_most_4096_characters check (char_length(last_error) <= 4096),
    constraint a_claim_is_whole check (
        (claim_token is null) = (worker_id is null) and (claim_token is null) = (claimed_at is null)
    )
);
comment on table strongroom.blob_removals is
    'Keys whose bytes are to be removed from the blob store. A row outlives its tenant.';
comment on column strongroom.blob_removals.tenant_id is
    'The tenant that the bytes belong to; it may be gone.';
comment on column strongroom.blob_removals.blob_key is 'The key in the blob store.';
comment on column strongroom.blob_removals.requested_at is 'When the key was last let go.';
comment on column strongroom.blob_removals.due_at is
    'Not before this time; while it is claimed, the end of the lease.';
comment on column strongroom.blob_removals.attempts is 'How often it has been claimed.';
comment on column strongroom.blob_removals.last_error is 'Why the last attempt failed.';
comment on column strongroom.blob_removals.claim_token is
    'The claim''s token: somebody may be removing the bytes now.';
comment on column strongroom.blob_removals.worker_id is 'Who claimed it.';
comment on column strongroom.blob_removals.claimed_at is 'When it was claimed.';

create index blob_removals_by_due_time on strongroom.blob_removals (due_at);
comment on index strongroom.blob_removals_by_due_time is 'What a sweep takes next.';

alter table strongroom.blob_removals enable row level security;
alter table strongroom.blob_removals force row level security;
create policy hosts_read on strongroom.blob_removals
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy hosts_read on strongroom.blob_removals is 'Hosts, and the dispatcher.';
create policy hosts_insert on strongroom.blob_removals
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.blob_removals is
    'Hosts, and the triggers that a host''s deletion sets off.';
create policy hosts_update on strongroom.blob_removals
    for update
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    )
    with check (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy hosts_update on strongroom.blob_removals is 'Hosts, and the dispatcher.';
create policy hosts_delete on strongroom.blob_removals
    for delete
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy hosts_delete on strongroom.blob_removals is
    'Hosts, and the dispatcher, when the bytes are gone or wanted again.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.blob_removals',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It is how the bytes of an erased person leave the blob store; keys name nobody.'
);

create function strongroom_private.schedule_blob_removal(p_tenant_id text, p_blob_key text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    -- Being removed already: whoever does it finds that it was let go once more, and does it again.
    insert into strongroom.blob_removals as r (tenant_id, blob_key)
    values (p_tenant_id, p_blob_key)
    on conflict on constraint blob_removals_pkey do update
    set requested_at = clock_timestamp()
    where r.claim_token is not null;
end
$$;
comment on function strongroom_private.schedule_blob_removal(text, text) is
    'Put a key on the list of bytes to remove, in the transaction that lets it go. A repeat changes'
    ' nothing. For triggers, and for functions that drop a reference; the tenant is bound.';

create function strongroom_private.blob_lock_number(p_tenant_id text, p_blob_key text)
returns bigint
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select hashtextextended(concat_ws(chr(31), 'strongroom.blob', p_tenant_id, p_blob_key), 0)
$$;
comment on function strongroom_private.blob_lock_number(text, text) is
    'The number of a key''s advisory lock. Two keys of one number only wait for each other.';

create function strongroom_private.keep_blob(p_tenant_id text, p_blob_key text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    -- Until the end of the transaction no sweep claims this key.
    perform pg_advisory_xact_lock_shared(
        strongroom_private.blob_lock_number(p_tenant_id, p_blob_key)
    );
    delete from strongroom.blob_removals as r
    where r.tenant_id = p_tenant_id
        and r.blob_key = p_blob_key
        and r.claim_token is null;
    if exists (
        select
        from strongroom.blob_removals as r
        where r.tenant_id = p_tenant_id
            and r.blob_key = p_blob_key
    ) then
        perform strongroom_private.fail(
            'invalid_transition',
            'the bytes under this blob_key are being removed',
            jsonb_build_object('path', 'blob_key', 'record', 'blob_removal'),
            'Put the bytes under a new key, and name that one.'
        );
    end if;
end
$$;
comment on function strongroom_private.keep_blob(text, text) is
    'Keep the bytes of a key that is being referred to: take it off the list, or refuse when they'
    ' are being removed. For triggers. Errors: SR030.';

create function strongroom_private.hold_referenced_blob()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_blob_key text;
begin
    execute format('select ($1).%I', tg_argv[0]) into v_blob_key using new;
    if v_blob_key is not null then
        perform strongroom_private.keep_blob(new.tenant_id, v_blob_key);
    end if;
    return new;
end
$$;
comment on function strongroom_private.hold_referenced_blob() is
    'For the triggers that publish_blob_reference makes: a living row refers to bytes.';

create function strongroom_private.release_referenced_blob()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_blob_key text;
begin
    execute format('select ($1).%I', tg_argv[0]) into v_blob_key using old;
    if v_blob_key is not null then
        perform strongroom_private.schedule_blob_removal(old.tenant_id, v_blob_key);
    end if;
    return null;
end
$$;
comment on function strongroom_private.release_referenced_blob() is
    'For the triggers that publish_blob_reference makes: a row no longer refers to bytes.';

create function strongroom_private.publish_blob_reference(
    p_table text,
    p_column text,
    p_living text default 'true',
    p_pending text default 'false'
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text := split_part(p_table, '.', 2) || '_' || p_column;
    v_lives_now text := replace(p_living, 'row.', 'new.');
    v_lived text := replace(p_living, 'row.', 'old.');
    v_trigger record;
begin
    for v_trigger in
        select
            t.name,
            t.event,
            t.condition,
            t.body
        from (values
            (
                'hold_%s_when_added',
                'before insert',
                v_lives_now,
                'hold_referenced_blob'
            ),
            (
                'hold_%s_when_changed',
                'before update',
                format(
                    '(%1$s) and (not (%2$s) or old.%3$I is distinct from new.%3$I)',
                    v_lives_now, v_lived, p_column
                ),
                'hold_referenced_blob'
            ),
            (
                'release_%s_when_changed',
                'after update',
                format(
                    '(%2$s) and (not (%1$s) or old.%3$I is distinct from new.%3$I)',
                    v_lives_now, v_lived, p_column
                ),
                'release_referenced_blob'
            ),
            (
                'release_%s_when_deleted',
                'after delete',
                v_lived,
                'release_referenced_blob'
            )
        ) as t (name, event, condition, body)
    loop
        execute format(
            'create trigger %1$I %2$s on %3$s for each row when (%4$s)'
            ' execute function strongroom_private.%5$I(%6$L, %7$L, %8$L)',
            format(v_trigger.name, v_name),
            v_trigger.event,
            p_table,
            v_trigger.condition,
            v_trigger.body,
            p_column,
            p_living,
            p_pending
        );
        execute format(
            'comment on trigger %1$I on %2$s is ''See publish_blob_reference.''',
            format(v_trigger.name, v_name),
            p_table
        );
    end loop;
end
$$;
comment on function strongroom_private.publish_blob_reference(text, text, text, text) is
    'Say that a column of a table with tenant_id refers to bytes, for the rows where p_living'
    ' holds, and that they may still be on their way where p_pending does (expressions on'
    ' row.<column>). Makes the triggers that keep and schedule the bytes; list_reference_columns'
    ' reads them. The column needs an index that starts with tenant_id and it. For migrations.';

create function strongroom_private.list_reference_columns()
returns table (relation regclass, column_name text, living text, pending text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    -- The arguments of a trigger are stored one after the other, a zero byte behind each.
    select distinct
        t.tgrelid::regclass,
        a.arguments[1],
        replace(a.arguments[2], 'row.', 'r.'),
        replace(a.arguments[3], 'row.', 'r.')
    from pg_trigger as t
    cross join lateral (
        select string_to_array(encode(t.tgargs, 'escape'), E'\\000')
    ) as a (arguments)
    where t.tgfoid = 'strongroom_private.hold_referenced_blob'::regproc
$$;
comment on function strongroom_private.list_reference_columns() is
    'The columns that refer to bytes, as publish_blob_reference has published them, with the'
    ' conditions on a row r.';

create function strongroom_private.is_referenced_blob(p_tenant_id text, p_blob_key text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_reference record;
    v_found boolean := false;
begin
    for v_reference in
        select c.*
        from strongroom_private.list_reference_columns() as c
    loop
        execute format(
            'select exists (select from %s as r where r.tenant_id = $1 and r.%I = $2 and (%s))',
            v_reference.relation,
            v_reference.column_name,
            v_reference.living
        )
        into v_found
        using p_tenant_id, p_blob_key;
        exit when v_found;
    end loop;
    return v_found;
end
$$;
comment on function strongroom_private.is_referenced_blob(text, text) is
    'Whether a living row of any table refers to these bytes: every column that has been published'
    ' by publish_blob_reference is asked. The tenant is bound.';

-- SECURITY DEFINER: a sweep serves every tenant, purged ones too, and row security binds a host to
-- one. This function sees which keys are due, takes off the list what is referred to again, writes
-- the claims, and returns the claimed keys and nothing else. Only a host may call it.
create function strongroom_private.dispatch_blob_removals(
    p_worker_id text,
    p_lease_seconds double precision,
    p_limit integer,
    p_tenant_id text
)
returns setof strongroom.blob_removals
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_bound text := coalesce(current_setting('strongroom.tenant_id', true), '');
    v_due strongroom.blob_removals;
    v_seen integer := -1;
    v_taken integer := 0;
    v_now timestamptz := clock_timestamp();
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true) then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts sweep', '{}', 'Connect as strongroom_host.'
        );
    end if;
    if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        -- A snapshot from before would not show who refers to a key by now.
        perform strongroom_private.fail(
            'invalid_argument',
            'blob removals are claimed in transactions of read committed isolation only',
            jsonb_build_object('isolation', current_setting('transaction_isolation')),
            'Set default_transaction_isolation to read committed for this role.'
        );
    end if;
    perform set_config('strongroom.dispatching', 'on', true);
    while v_taken < p_limit and v_seen <> 0 loop
        v_seen := 0;
        for v_due in
            select r.*
            from strongroom.blob_removals as r
            where r.due_at <= v_now
                and (p_tenant_id is null or r.tenant_id = p_tenant_id)
            order by r.due_at
            limit p_limit - v_taken
            for update skip locked
        loop
            v_seen := v_seen + 1;
            perform set_config('strongroom.tenant_id', v_due.tenant_id, true);
            if not pg_try_advisory_xact_lock(
                strongroom_private.blob_lock_number(v_due.tenant_id, v_due.blob_key)
            ) then
                -- Somebody is writing a reference to it at this moment: look again soon.
                update strongroom.blob_removals as r
                set due_at = v_now + interval '1 second'
                where r.tenant_id = v_due.tenant_id
                    and r.blob_key = v_due.blob_key;
            elsif strongroom_private.is_referenced_blob(v_due.tenant_id, v_due.blob_key) then
                delete from strongroom.blob_removals as r
                where r.tenant_id = v_due.tenant_id
                    and r.blob_key = v_due.blob_key;
            else
                return query
                update strongroom.blob_removals as r
                set attempts = r.attempts + 1,
                    claim_token = greatest(
                        nextval('strongroom.blob_removal_tokens'), r.claim_token + 1
                    ),
                    worker_id = p_worker_id,
                    claimed_at = clock_timestamp(),
                    due_at = clock_timestamp() + make_interval(secs => p_lease_seconds)
                where r.tenant_id = v_due.tenant_id
                    and r.blob_key = v_due.blob_key
                returning r.*;
                v_taken := v_taken + 1;
            end if;
        end loop;
    end loop;
    perform set_config('strongroom.dispatching', '', true);
    perform set_config('strongroom.tenant_id', v_bound, true);
end
$$;
comment on function strongroom_private.dispatch_blob_removals(
    text, double precision, integer, text
) is
    'Choose and claim due removals, of all tenants or of one. SECURITY DEFINER, see its comment in'
    ' the migration. Errors: SR001, SR020.';

create function strongroom_private.check_blob_removals(p_removals jsonb, p_keys text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_item jsonb;
    v_path text;
    v_place integer := 0;
begin
    if p_removals is null or jsonb_typeof(p_removals) <> 'array' then
        perform strongroom_private.fail(
            'invalid_argument',
            'removals must be a JSON array',
            jsonb_build_object('path', 'removals', 'actual', jsonb_typeof(p_removals)),
            'Give the claims that claim_blob_removals returned.'
        );
    elsif jsonb_array_length(p_removals) > 500 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format(
                'removals has %s entries; at most 500 are allowed', jsonb_array_length(p_removals)
            ),
            jsonb_build_object(
                'path', 'removals', 'limit', 500, 'actual', jsonb_array_length(p_removals)
            ),
            'Send several batches.'
        );
    end if;
    for v_item in select e.value from jsonb_array_elements(p_removals) as e (value) loop
        v_path := format('removals[%s]', v_place);
        perform strongroom_private.check_keys(v_path, v_item, p_keys);
        perform strongroom_private.check_text(v_path || '.tenant_id', v_item -> 'tenant_id');
        perform strongroom_private.check_id(v_path || '.tenant_id', v_item ->> 'tenant_id');
        perform strongroom_private.check_text(v_path || '.blob_key', v_item -> 'blob_key');
        perform strongroom_private.check_blob_key(v_path || '.blob_key', v_item ->> 'blob_key');
        if not strongroom_private.is_whole_number(v_item -> 'claim_token', 1) then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.claim_token must be a whole number from 1 on', v_path),
                jsonb_build_object('path', v_path || '.claim_token'),
                'Give the token of the claim.'
            );
        end if;
        if 'error' = any (p_keys) then
            perform strongroom_private.check_text(v_path || '.error', v_item -> 'error');
            if coalesce(v_item ->> 'error', '') = '' then
                perform strongroom_private.fail(
                    'invalid_argument',
                    format('%s.error is required', v_path),
                    jsonb_build_object('path', v_path || '.error'),
                    'Say why the bytes could not be removed.'
                );
            elsif char_length(v_item ->> 'error') > 4096 then
                perform strongroom_private.fail(
                    'limit_exceeded',
                    format(
                        '%s.error has %s characters; at most 4096 are allowed',
                        v_path, char_length(v_item ->> 'error')
                    ),
                    jsonb_build_object(
                        'path', v_path || '.error',
                        'limit', 4096,
                        'actual', char_length(v_item ->> 'error')
                    ),
                    'Keep the beginning.'
                );
            end if;
        end if;
        v_place := v_place + 1;
    end loop;
end
$$;
comment on function strongroom_private.check_blob_removals(jsonb, text[]) is
    'A batch of at most 500 claimed removals. Errors: SR001, SR004.';

create function strongroom.schedule_blob_removal(p_tenant_id text, p_blob_key text)
returns setof strongroom.blob_removals
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_blob_key('blob_key', p_blob_key);
    if strongroom_private.is_referenced_blob(p_tenant_id, p_blob_key) then
        perform strongroom_private.fail(
            'invalid_transition',
            'a record refers to the bytes under this blob_key',
            jsonb_build_object('path', 'blob_key', 'record', 'blob_removal'),
            'Delete what refers to them; that schedules their removal.'
        );
    end if;
    perform strongroom_private.schedule_blob_removal(p_tenant_id, p_blob_key);
    return query
    select r.*
    from strongroom.blob_removals as r
    where r.tenant_id = p_tenant_id
        and r.blob_key = p_blob_key;
end
$$;
comment on function strongroom.schedule_blob_removal(text, text) is
    'Put a key that nothing refers to on the list of bytes to remove, also of a tenant that is'
    ' gone. A repeat changes nothing. Errors: SR001, SR004, SR020, SR030. Callers: hosts.';

create function strongroom.find_blob_removal(p_tenant_id text, p_blob_key text)
returns setof strongroom.blob_removals
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_blob_key('blob_key', p_blob_key);
    return query
    select r.*
    from strongroom.blob_removals as r
    where r.tenant_id = p_tenant_id
        and r.blob_key = p_blob_key;
end
$$;
comment on function strongroom.find_blob_removal(text, text) is
    'A key that waits for its bytes to be removed, or no row. Errors: SR001, SR004, SR020. Callers:'
    ' hosts.';

create function strongroom.claim_blob_removals(
    p_worker_id text,
    p_lease_seconds double precision default 60,
    p_limit integer default 100,
    p_tenant_id text default null
)
returns setof strongroom.blob_removals
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_lease(p_worker_id, p_lease_seconds);
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.check_optional_id('tenant_id', p_tenant_id);
    return query
    select d.*
    from strongroom_private.dispatch_blob_removals(
        p_worker_id, p_lease_seconds, p_limit, p_tenant_id
    ) as d;
end
$$;
comment on function strongroom.claim_blob_removals(text, double precision, integer, text) is
    'Claim up to p_limit keys whose bytes are due to be removed, the longest due first, of any'
    ' tenant (or of one), those of purged tenants too; also claimed ones whose lease has ended. A'
    ' key that something refers to again is taken off the list and not handed out. Errors: SR001,'
    ' SR004, SR020. Callers: hosts.';

create function strongroom.complete_blob_removals(p_removals jsonb)
returns table (tenant_id text, blob_key text, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_item record;
begin
    perform strongroom_private.check_blob_removals(p_removals, '{tenant_id,blob_key,claim_token}');
    for v_item in
        select
            c.tenant_id,
            c.blob_key,
            c.claim_token
        from jsonb_to_recordset(p_removals) as c (
            tenant_id text, blob_key text, claim_token bigint
        )
        order by
            c.tenant_id,
            c.blob_key
    loop
        perform strongroom_private.enter_tenant(v_item.tenant_id);
        tenant_id := v_item.tenant_id;
        blob_key := v_item.blob_key;
        outcome := 'stale';
        delete from strongroom.blob_removals as r
        where r.tenant_id = v_item.tenant_id
            and r.blob_key = v_item.blob_key
            and r.claim_token = v_item.claim_token
            and r.requested_at <= r.claimed_at;
        if found then
            outcome := 'removed';
        else
            update strongroom.blob_removals as r
            set claim_token = null,
                worker_id = null,
                claimed_at = null,
                due_at = clock_timestamp()
            where r.tenant_id = v_item.tenant_id
                and r.blob_key = v_item.blob_key
                and r.claim_token = v_item.claim_token;
            if found then
                outcome := 'requested_again';
            end if;
        end if;
        return next;
    end loop;
end
$$;
comment on function strongroom.complete_blob_removals(jsonb) is
    'The bytes of claimed removals [{tenant_id, blob_key, claim_token}] of any tenants are gone.'
    ' Per key: removed; requested_again, when it was let go once more meanwhile: it is due again;'
    ' stale, when another claim has taken over or a repeat finds it done. Errors: SR001, SR004,'
    ' SR020. Callers: hosts.';

create function strongroom.retry_blob_removals_later(
    p_removals jsonb,
    p_delay_seconds double precision default null
)
returns table (tenant_id text, blob_key text, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_item record;
begin
    perform strongroom_private.check_blob_removals(
        p_removals, '{tenant_id,blob_key,claim_token,error}'
    );
    if p_delay_seconds is not null then
        perform strongroom_private.check_seconds('delay_seconds', p_delay_seconds, 0, 31536000);
    end if;
    for v_item in
        select
            c.tenant_id,
            c.blob_key,
            c.claim_token,
            c.error
        from jsonb_to_recordset(p_removals) as c (
            tenant_id text, blob_key text, claim_token bigint, error text
        )
        order by
            c.tenant_id,
            c.blob_key
    loop
        perform strongroom_private.enter_tenant(v_item.tenant_id);
        update strongroom.blob_removals as r
        set claim_token = null,
            worker_id = null,
            claimed_at = null,
            last_error = v_item.error,
            -- Doubling from ten seconds to an hour, and half of it by chance.
            due_at = clock_timestamp() + make_interval(secs => coalesce(
                p_delay_seconds,
                least(10 * power(2, least(r.attempts - 1, 20)), 3600) * (0.5 + random() / 2)
            ))
        where r.tenant_id = v_item.tenant_id
            and r.blob_key = v_item.blob_key
            and r.claim_token = v_item.claim_token;
        tenant_id := v_item.tenant_id;
        blob_key := v_item.blob_key;
        outcome := case when found then 'waiting' else 'stale' end;
        return next;
    end loop;
end
$$;
comment on function strongroom.retry_blob_removals_later(jsonb, double precision) is
    'Give claimed removals [{tenant_id, blob_key, claim_token, error}] back with the reason, to be'
    ' claimed again after the delay, or after one that doubles with each attempt. Per key: waiting,'
    ' or stale when another claim has taken over. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom.list_blob_removals(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    blob_key text,
    requested_at timestamptz,
    due_at timestamptz,
    attempts integer,
    last_error text,
    claim_token bigint,
    worker_id text,
    claimed_at timestamptz,
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
    v_scope text := strongroom_private.cursor_scope('blob_removals', '{}', p_direction);
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
                s.blob_key,
                s.requested_at,
                s.due_at,
                s.attempts,
                s.last_error,
                s.claim_token,
                s.worker_id,
                s.claimed_at,
                strongroom_private.encode_cursor($3, array[s.blob_key]),
                s.total > $4
            from (
                select
                    r.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select r.*
                    from strongroom.blob_removals as r
                    where r.tenant_id = $1
                        and ($2 is null or r.blob_key %1$s $2)
                    order by r.blob_key %2$s
                    limit $4 + 1
                ) as r
            ) as s
            where s.place <= $4
            order by s.blob_key %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_blob_removals(text, integer, text, text, text) is
    'A page of the keys of a tenant, also of one that is gone, whose bytes are to be removed, by'
    ' key. has_more: whether rows follow in the paging direction. Errors: SR001, SR002, SR004,'
    ' SR020. Callers: hosts.';

create function strongroom.list_blob_references(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    blob_key text,
    table_name text,
    is_pending boolean,
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
    v_scope text := strongroom_private.cursor_scope('blob_references', '{}', p_direction);
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
    v_union text;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    -- As many of each column as a page has, from its index, whatever rows share a key.
    select
        string_agg(
            format(
                $part$
                    (
                        select
                            r.%2$I as blob_key,
                            %3$L as table_name,
                            bool_and(%5$s) as is_pending
                        from %1$s as r
                        where r.tenant_id = $1
                            and r.%2$I is not null
                            and ($2 is null or r.%2$I %6$s $2)
                            and (%4$s)
                        group by r.%2$I
                        order by r.%2$I %7$s
                        limit $4 + 1
                    )
                $part$,
                c.relation,
                c.column_name,
                split_part(c.relation::text, '.', 2),
                c.living,
                c.pending,
                case when v_descending then '<' else '>' end,
                case when v_descending then 'desc' else 'asc' end
            ),
            ' union all '
        )
    into v_union
    from strongroom_private.list_reference_columns() as c;
    return query execute format(
        $query$
            select
                $1,
                s.blob_key,
                s.table_name,
                s.is_pending,
                strongroom_private.encode_cursor($3, array[s.blob_key]),
                s.total > $4
            from (
                select
                    k.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select
                        u.blob_key,
                        min(u.table_name) as table_name,
                        bool_and(u.is_pending) as is_pending
                    from (%1$s) as u
                    group by u.blob_key
                    order by u.blob_key %2$s
                    limit $4 + 1
                ) as k
            ) as s
            where s.place <= $4
            order by s.blob_key %3$s
        $query$,
        v_union,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_blob_references(text, integer, text, text, text) is
    'A page of the keys that living records of a tenant refer to, in whatever table, by key, and'
    ' whether the bytes may still be on their way: to compare with what a blob store has.'
    ' has_more: whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020.'
    ' Callers: hosts.';

create function strongroom.read_blob_removal_queue(p_tenant_id text)
returns table (
    waiting bigint,
    claimed bigint,
    failing bigint,
    oldest_requested_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    return query
    select
        count(*) filter (where r.claim_token is null),
        count(*) filter (where r.claim_token is not null),
        count(*) filter (where r.last_error is not null),
        min(r.requested_at)
    from strongroom.blob_removals as r
    where r.tenant_id = p_tenant_id;
end
$$;
comment on function strongroom.read_blob_removal_queue(text) is
    'How many keys of a tenant wait for their bytes to be removed, how many of them have failed'
    ' before, and since when the oldest waits. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom_private.settle_removed_blob()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    update strongroom.file_versions as v
    set state = 'deleted',
        state_changed_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where v.tenant_id = old.tenant_id
        and v.blob_key = old.blob_key
        and v.state = 'deleting';
    return null;
end
$$;
comment on function strongroom_private.settle_removed_blob() is
    'For the trigger of blob_removals: a version whose key has left the list is deleted.';

create trigger removed_blobs_settle_their_versions
    after delete on strongroom.blob_removals
    for each row
    execute function strongroom_private.settle_removed_blob();
comment on trigger removed_blobs_settle_their_versions on strongroom.blob_removals is
    'See settle_removed_blob.';


-- ---------------------------------------------------------------------------------------------
-- Files
-- ---------------------------------------------------------------------------------------------
-- Invariants: versions are numbered 1, 2, 3, ... without gaps, under the file's lock. A version is
-- pending while its bytes are on their way, stored when they are whole, deleting when they are on
-- the list of bytes to remove, deleted when they are gone. What hangs on a conversation has its
-- rule, and goes with it; a file without one is its owner's.
-- Locks: the conversation, the file, the version, the keys of its bytes.

create function strongroom_private.list_file_transitions()
returns table (from_state text, to_state text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select
        v.from_state,
        v.to_state
    from (values
        ('pending', 'stored'),
        ('pending', 'deleting'),
        ('stored', 'deleting'),
        ('deleting', 'deleted')
    ) as v (from_state, to_state)
$$;
comment on function strongroom_private.list_file_transitions() is
    'The state machine of file versions: every step that there is. deleted is final.';

create table strongroom.files (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    conversation_id text collate "C",
    owner_id text collate "C" not null,
    path text collate "C" not null,
    metadata jsonb not null default '{}',
    latest_version integer not null default 1,
    creation_digest text collate "C" not null,
    deleted_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    path_start text collate "C" generated always as (left(path, 128)) stored,
    constraint files_pkey primary key (tenant_id, id),
    constraint file_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint file_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint owner_id_has_1_to_255_characters check (char_length(owner_id) between 1 and 255),
    constraint path_has_1_to_1024_characters check (char_length(path) between 1 and 1024),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint metadata_has_at_most_16_kib check (octet_length(metadata::text) <= 16384),
    constraint latest_version_is_positive check (latest_version > 0)
);
comment on table strongroom.files is
    'Files: who owns them, where they belong, what they are called.';
comment on column strongroom.files.tenant_id is 'The tenant.';
comment on column strongroom.files.id is 'The file''s id, unique in the tenant.';
comment on column strongroom.files.conversation_id is
    'The conversation that it hangs on; null for one that is its owner''s alone.';
comment on column strongroom.files.owner_id is 'Whose it is.';
comment on column strongroom.files.path is
    'What it is called: segments with a slash between them. Several files may have the same.';
comment on column strongroom.files.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.files.latest_version is 'The number of its newest version.';
comment on column strongroom.files.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.files.deleted_at is 'When it was soft-deleted.';
comment on column strongroom.files.created_at is 'When it was created.';
comment on column strongroom.files.updated_at is 'When it last changed.';
comment on column strongroom.files.path_start is
    'How the path begins, by which it is looked up: below row security no index takes left(path).';

create index files_by_creation on strongroom.files (tenant_id, created_at, id);
comment on index strongroom.files_by_creation is 'Pages of a tenant''s files.';
create index files_by_conversation on strongroom.files (tenant_id, conversation_id, created_at);
comment on index strongroom.files_by_conversation is
    'A conversation''s files, also when it is purged.';
create index files_by_owner on strongroom.files (tenant_id, owner_id, created_at);
comment on index strongroom.files_by_owner is 'A person''s files.';
-- The beginning of a path is enough to find it, and fits into an index whatever its length.
create index files_by_path on strongroom.files (tenant_id, path_start);
comment on index strongroom.files_by_path is 'Files under a path.';

create table strongroom.file_versions (
    tenant_id text collate "C" not null,
    file_id text collate "C" not null,
    version integer not null,
    id text collate "C" not null,
    conversation_id text collate "C",
    state text collate "C" not null default 'pending',
    blob_key text collate "C" not null,
    media_type text collate "C" not null,
    size_bytes bigint,
    sha256 text collate "C",
    source text collate "C" not null default 'uploaded',
    run_id text collate "C",
    created_by text collate "C",
    extraction_status text collate "C" not null default 'none',
    extraction_summary text,
    extraction_blob_key text collate "C",
    extraction_error jsonb,
    creation_digest text collate "C" not null,
    created_at timestamptz not null default clock_timestamp(),
    state_changed_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint file_versions_pkey primary key (tenant_id, file_id, version),
    constraint a_version_id_names_one_version unique (tenant_id, id),
    constraint version_belongs_to_a_file
        foreign key (tenant_id, file_id)
        references strongroom.files (tenant_id, id)
        on delete cascade,
    constraint version_is_positive check (version > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint state_is_known check (state in ('pending', 'stored', 'deleting', 'deleted')),
    constraint blob_key_has_1_to_1024_bytes check (octet_length(blob_key) between 1 and 1024),
    constraint media_type_has_1_to_255_characters check (char_length(media_type) between 1 and 255),
    constraint size_is_not_negative check (size_bytes between 0 and 9007199254740991),
    constraint sha256_has_64_hexadecimal_digits check (sha256 ~ '^[0-9a-f]{64}$'),
    constraint a_stored_version_knows_its_bytes
        check (state <> 'stored' or (size_bytes is not null and sha256 is not null)),
    constraint a_pending_version_knows_no_bytes
        check (state <> 'pending' or (size_bytes is null and sha256 is null)),
    constraint source_is_known check (source in ('uploaded', 'generated')),
    constraint only_a_generated_version_has_a_run
        check ((source = 'generated') = (run_id is not null)),
    constraint run_id_has_1_to_255_characters check (char_length(run_id) between 1 and 255),
    constraint created_by_has_1_to_255_characters check (char_length(created_by) between 1 and 255),
    constraint extraction_status_is_known
        check (extraction_status in ('none', 'pending', 'done', 'failed', 'skipped')),
    constraint only_stored_bytes_are_extracted
        check (extraction_status = 'none' or state <> 'pending'),
    constraint only_a_done_extraction_has_text check (
        extraction_status = 'done'
        or (extraction_summary is null and extraction_blob_key is null)
    ),
    constraint only_a_failed_extraction_has_an_error
        check ((extraction_status = 'failed') = (extraction_error is not null)),
    constraint extraction_summary_has_at_most_16384_characters
        check (char_length(extraction_summary) <= 16384),
    constraint extraction_blob_key_has_1_to_1024_bytes
        check (octet_length(extraction_blob_key) between 1 and 1024),
    constraint extraction_error_has_at_most_16_kib
        check (octet_length(extraction_error::text) <= 16384)
);
comment on table strongroom.file_versions is
    'Versions of files: where the bytes are, what they are, how they came about, what was read from'
    ' them.';
comment on column strongroom.file_versions.tenant_id is 'The tenant.';
comment on column strongroom.file_versions.file_id is 'The file.';
comment on column strongroom.file_versions.version is '1, 2, 3, ... without gaps.';
comment on column strongroom.file_versions.id is
    'The version''s own id, to know a repeated add; unique in the tenant.';
comment on column strongroom.file_versions.conversation_id is 'The file''s conversation.';
comment on column strongroom.file_versions.state is
    'pending, stored, deleting or deleted; see list_file_transitions.';
comment on column strongroom.file_versions.blob_key is 'The key of the bytes in the blob store.';
comment on column strongroom.file_versions.media_type is 'What the bytes are, such as image/png.';
comment on column strongroom.file_versions.size_bytes is
    'How many there are. Safe as a JavaScript number.';
comment on column strongroom.file_versions.sha256 is 'Their hash, in hexadecimal digits.';
comment on column strongroom.file_versions.source is 'uploaded by somebody, or generated by a run.';
comment on column strongroom.file_versions.run_id is 'The run that generated it.';
comment on column strongroom.file_versions.created_by is 'Who added it.';
comment on column strongroom.file_versions.extraction_status is
    'What became of reading text from it: none, pending, done, failed or skipped.';
comment on column strongroom.file_versions.extraction_summary is 'The text, where it is short.';
comment on column strongroom.file_versions.extraction_blob_key is
    'The key of the text in the blob store, where it is long.';
comment on column strongroom.file_versions.extraction_error is 'Why no text could be read.';
comment on column strongroom.file_versions.creation_digest is
    'Hash of what it was added with, to know a repeated add.';
comment on column strongroom.file_versions.created_at is 'When it was added.';
comment on column strongroom.file_versions.state_changed_at is 'Since when it is in its state.';
comment on column strongroom.file_versions.updated_at is 'When it last changed.';

create index file_versions_by_blob_key on strongroom.file_versions (tenant_id, blob_key);
comment on index strongroom.file_versions_by_blob_key is 'Who refers to bytes.';
create index file_versions_by_extraction_blob_key
    on strongroom.file_versions (tenant_id, extraction_blob_key)
    where extraction_blob_key is not null;
comment on index strongroom.file_versions_by_extraction_blob_key is 'Who refers to extracted text.';
create index file_versions_by_state
    on strongroom.file_versions (tenant_id, state, state_changed_at, file_id, version);
comment on index strongroom.file_versions_by_state is
    'What has been in a state for how long: uploads that got stuck.';

create function strongroom_private.check_file_transition()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (
        select
        from strongroom_private.list_file_transitions() as t
        where t.from_state = old.state
            and t.to_state = new.state
    ) then
        perform strongroom_private.fail(
            'invalid_transition',
            format('a file version cannot go from %s to %s', old.state, new.state),
            jsonb_build_object('record', 'file_version', 'from', old.state, 'to', new.state),
            'Read the version; a deleted one is final, and new bytes are a new version.'
        );
    end if;
    return new;
end
$$;
comment on function strongroom_private.check_file_transition() is
    'For the trigger of file_versions: the state takes only the steps of list_file_transitions,'
    ' whoever writes.';

create trigger file_versions_follow_the_state_machine
    before update of state on strongroom.file_versions
    for each row
    when (old.state is distinct from new.state)
    execute function strongroom_private.check_file_transition();
comment on trigger file_versions_follow_the_state_machine on strongroom.file_versions is
    'See check_file_transition.';

select strongroom_private.publish_blob_reference(
    'strongroom.file_versions', 'blob_key', 'row.state in (''pending'', ''stored'')',
    'row.state = ''pending'''
);
select strongroom_private.publish_blob_reference(
    'strongroom.file_versions', 'extraction_blob_key', 'row.state in (''pending'', ''stored'')'
);

alter table strongroom.files enable row level security;
alter table strongroom.files force row level security;
create policy readers_read on strongroom.files
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or (
                deleted_at is null
                and case
                    when conversation_id is null
                    then owner_id = (select strongroom_private.current_principal())
                    else strongroom_private.may_read_conversation(tenant_id, conversation_id)
                end
            )
        )
    );
comment on policy readers_read on strongroom.files is
    'As the conversation; without one, its owner. A soft-deleted one is for hosts.';
create policy trusted_inserts on strongroom.files
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.files is 'Hosts.';
create policy trusted_updates on strongroom.files
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.files is 'Hosts.';
create policy trusted_deletes on strongroom.files
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.files is 'Hosts, through purge_file.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.files',
    p_column => 'owner_id',
    p_action => 'delete',
    p_reason => 'A file is its owner''s, with its versions; their bytes go by the list of removals.'
);

create function strongroom_private.may_read_file(p_tenant_id text, p_file_id text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- With the caller's rights: the policy of files decides.
    return exists (
        select
        from strongroom.files as f
        where f.tenant_id = p_tenant_id
            and f.id = p_file_id
    );
end
$$;
comment on function strongroom_private.may_read_file(text, text) is
    'Whether the policy of files shows this one to the caller. For the policy of its versions.';

alter table strongroom.file_versions enable row level security;
alter table strongroom.file_versions force row level security;
create policy readers_read on strongroom.file_versions
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_file(tenant_id, file_id)
        )
    );
comment on policy readers_read on strongroom.file_versions is 'As the file.';
create policy trusted_inserts on strongroom.file_versions
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.file_versions is 'Hosts.';
create policy trusted_updates on strongroom.file_versions
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.file_versions is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.file_versions',
    p_column => 'created_by',
    p_action => 'clear',
    p_reason => 'The version belongs to the file''s owner; who added it is forgotten.'
);

create view strongroom.file_details
with (security_invoker = true)
as
select
    f.tenant_id,
    f.id,
    f.conversation_id,
    f.owner_id,
    f.path,
    f.metadata,
    f.latest_version,
    v.state,
    v.blob_key,
    v.media_type,
    v.size_bytes,
    v.sha256,
    f.deleted_at,
    f.created_at,
    f.updated_at
from strongroom.files as f
-- By its whole key, however many versions a file has.
cross join lateral (
    select
        l.state,
        l.blob_key,
        l.media_type,
        l.size_bytes,
        l.sha256
    from strongroom.file_versions as l
    where l.tenant_id = f.tenant_id
        and l.file_id = f.id
        and l.version = f.latest_version
    order by l.version
    limit 1
) as v;
comment on view strongroom.file_details is
    'A file as the functions return it, with the state and bytes of its newest version. Under the'
    ' row security of the reader.';

create view strongroom.file_version_details
with (security_invoker = true)
as
select
    v.tenant_id,
    v.file_id,
    v.version,
    v.id,
    v.conversation_id,
    v.state,
    v.blob_key,
    v.media_type,
    v.size_bytes,
    v.sha256,
    v.source,
    v.run_id,
    v.created_by,
    v.extraction_status,
    v.extraction_summary,
    v.extraction_blob_key,
    v.extraction_error,
    v.created_at,
    v.state_changed_at,
    v.updated_at
from strongroom.file_versions as v;
comment on view strongroom.file_version_details is
    'A version of a file as the functions return it, without bookkeeping columns. Under the row'
    ' security of the reader.';

create type strongroom.created_file as (
    tenant_id text,
    id text,
    conversation_id text,
    owner_id text,
    path text,
    metadata jsonb,
    latest_version integer,
    state text,
    blob_key text,
    media_type text,
    size_bytes bigint,
    sha256 text,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.created_file is
    'file_details, and whether the create inserted it or was a duplicate.';

create type strongroom.added_file_version as (
    tenant_id text,
    file_id text,
    version integer,
    id text,
    conversation_id text,
    state text,
    blob_key text,
    media_type text,
    size_bytes bigint,
    sha256 text,
    source text,
    run_id text,
    created_by text,
    extraction_status text,
    extraction_summary text,
    extraction_blob_key text,
    extraction_error jsonb,
    created_at timestamptz,
    state_changed_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.added_file_version is
    'file_version_details, and whether the add inserted it or was a duplicate.';

create function strongroom_private.check_file_path(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or p_value = '' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s is required', p_field),
            jsonb_build_object('path', p_field),
            'Give a name, or segments with a slash between them.'
        );
    elsif char_length(p_value) > 1024 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s characters; at most 1024 are allowed', p_field, char_length(p_value)),
            jsonb_build_object('path', p_field, 'limit', 1024, 'actual', char_length(p_value)),
            'Use a shorter path, and keep the long one in metadata.'
        );
    elsif p_value ~ E'(^|/)\\.{0,2}(/|$)' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s has a segment that is empty, . or ..', p_field),
            jsonb_build_object('path', p_field),
            'Write it without a slash at either end, and without . and .. between them.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_file_path(text, text) is
    'A path of a file has 1 to 1,024 characters, in segments that are neither empty nor . nor ..;'
    ' every other character is fine. Errors: SR001, SR004.';

create function strongroom_private.check_new_version(
    p_media_type text,
    p_blob_key text,
    p_source text,
    p_run_id text,
    p_created_by text
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_id('media_type', p_media_type);
    if p_blob_key is not null then
        perform strongroom_private.check_blob_key('blob_key', p_blob_key);
    end if;
    perform strongroom_private.check_choice('source', p_source, '{uploaded,generated}');
    perform strongroom_private.check_optional_id('run_id', p_run_id);
    perform strongroom_private.check_optional_id('created_by', p_created_by);
    if (p_source = 'generated') <> (p_run_id is not null) then
        perform strongroom_private.fail(
            'invalid_argument',
            'run_id is needed when the source is generated, and only then',
            '{"path": "run_id"}',
            'Name the run that generated the file, or say that it was uploaded.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_new_version(text, text, text, text, text) is
    'What every new version of a file is described by. Errors: SR001, SR004.';

create function strongroom_private.require_readable_file(
    p_tenant_id text,
    p_file_id text,
    p_viewer_id text
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('file_id', p_file_id);
    if not exists (
        select
        from strongroom.files as f
        where f.tenant_id = p_tenant_id
            and f.id = p_file_id
            and f.deleted_at is null
            and case
                when f.conversation_id is null
                then v_viewer_id is null or f.owner_id = v_viewer_id
                else strongroom_private.is_readable_conversation(
                    f.tenant_id, f.conversation_id, v_viewer_id
                )
            end
    ) then
        perform strongroom_private.fail_missed_write('file', null, null);
    end if;
end
$$;
comment on function strongroom_private.require_readable_file(text, text, text) is
    'Enter the tenant, and one check per call for whatever hangs on a file. Errors: SR001, SR004,'
    ' SR010, SR020, SR021.';

create function strongroom_private.lock_file(
    p_tenant_id text,
    p_file_id text,
    p_deleted boolean default false
)
returns strongroom.files
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_file strongroom.files;
begin
    perform strongroom_private.check_id('file_id', p_file_id);
    select f.*
    into v_file
    from strongroom.files as f
    where f.tenant_id = p_tenant_id
        and f.id = p_file_id;
    if v_file.conversation_id is not null then
        -- The conversation first: it may be deleted in this moment, and then nothing may be added
        -- to it. An absent file and one of a deleted conversation are the same.
        perform
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = v_file.conversation_id
            and c.deleted_at is null
        for no key update;
        if not found then
            perform strongroom_private.fail_missed_write('file', null, null);
        end if;
    end if;
    select f.*
    into v_file
    from strongroom.files as f
    where f.tenant_id = p_tenant_id
        and f.id = p_file_id
        and (p_deleted or f.deleted_at is null)
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('file', null, null);
    end if;
    return v_file;
end
$$;
comment on function strongroom_private.lock_file(text, text, boolean) is
    'Lock a file and the living conversation that it hangs on: the first step of every write on it.'
    ' p_deleted: also a soft-deleted one. Errors: SR001, SR004, SR010.';

create function strongroom.create_file(
    p_tenant_id text,
    p_owner_id text,
    p_path text,
    p_media_type text,
    p_conversation_id text default null,
    p_file_id text default null,
    p_blob_key text default null,
    p_source text default 'uploaded',
    p_run_id text default null,
    p_created_by text default null,
    p_metadata jsonb default '{}'
)
returns setof strongroom.created_file
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id text := coalesce(p_file_id, gen_random_uuid()::text);
    v_digest text;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('file_id', v_id);
    perform strongroom_private.check_id('owner_id', p_owner_id);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_file_path('path', p_path);
    perform strongroom_private.check_new_version(
        p_media_type, p_blob_key, p_source, p_run_id, p_created_by
    );
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_owner_id, p_path, p_media_type, p_conversation_id, p_blob_key, p_source, p_run_id,
        p_created_by, p_metadata
    ));
    if p_conversation_id is not null then
        perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    end if;
    insert into strongroom.files (
        tenant_id, id, conversation_id, owner_id, path, metadata, creation_digest
    )
    values (p_tenant_id, v_id, p_conversation_id, p_owner_id, p_path, p_metadata, v_digest)
    on conflict on constraint files_pkey do nothing;
    if found then
        v_outcome := 'inserted';
        insert into strongroom.file_versions (
            tenant_id, file_id, version, id, conversation_id, blob_key, media_type, source, run_id,
            created_by, creation_digest
        )
        values (
            p_tenant_id, v_id, 1, gen_random_uuid()::text, p_conversation_id,
            coalesce(p_blob_key, gen_random_uuid()::text), p_media_type, p_source, p_run_id,
            p_created_by, v_digest
        );
    elsif not exists (
        select
        from strongroom.files as f
        where f.tenant_id = p_tenant_id
            and f.id = v_id
            and f.creation_digest = v_digest
            and f.deleted_at is null
    ) then
        perform strongroom_private.fail(
            'already_exists',
            'a file with this id was created with other content, or is deleted',
            jsonb_build_object('path', 'file_id', 'record', 'file'),
            'Add a version to it, or choose another id.'
        );
    end if;
    return query
    select
        d.*,
        v_outcome
    from strongroom.file_details as d
    where d.tenant_id = p_tenant_id
        and d.id = v_id;
end
$$;
comment on function strongroom.create_file(
    text, text, text, text, text, text, text, text, text, text, jsonb
) is
    'Create a file with its first version, whose bytes are pending: put them under the blob_key'
    ' that is returned, then set the version stored. A repeat with the same id and arguments'
    ' changes nothing and returns the file as it is. Errors: SR001, SR004, SR010, SR011, SR020,'
    ' SR030. Callers: hosts.';

create function strongroom.find_file(
    p_tenant_id text,
    p_file_id text,
    p_viewer_id text default null,
    p_deleted boolean default false
)
returns setof strongroom.file_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('file_id', p_file_id);
    return query
    select d.*
    from strongroom.file_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_file_id
        and case
            when coalesce(p_deleted, false) then d.deleted_at is not null and v_viewer_id is null
            when d.deleted_at is not null then false
            when d.conversation_id is null
            then v_viewer_id is null or d.owner_id = v_viewer_id
            else strongroom_private.is_readable_conversation(
                d.tenant_id, d.conversation_id, v_viewer_id
            )
        end;
end
$$;
comment on function strongroom.find_file(text, text, text, boolean) is
    'The file with the state of its newest version, or no row. p_deleted: a soft-deleted one, for'
    ' hosts. Errors: SR001, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_files(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_conversation_id text default null,
    p_owner_id text default null,
    p_path_prefix text default null,
    p_deleted boolean default false
)
returns table (
    tenant_id text,
    id text,
    conversation_id text,
    owner_id text,
    path text,
    metadata jsonb,
    latest_version integer,
    state text,
    blob_key text,
    media_type text,
    size_bytes bigint,
    sha256 text,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
-- @plpgsql_check_options: extra_warnings = off
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text := strongroom_private.cursor_scope(
        'files',
        jsonb_build_array(v_viewer_id, p_conversation_id, p_owner_id, p_path_prefix, p_deleted),
        p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
    v_page text;
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('owner_id', p_owner_id);
    if p_path_prefix is not null then
        perform strongroom_private.check_file_path('path_prefix', p_path_prefix);
    end if;
    if p_conversation_id is not null then
        perform strongroom_private.require_readable_conversation(
            p_tenant_id, p_conversation_id, v_viewer_id
        );
    end if;
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    v_page := format(
        $query$
            select
                f.id,
                f.created_at
            from strongroom.files as f
            where f.tenant_id = $1
                and ($2 is null or (f.created_at, f.id) %1$s ($2, $3))
                %3$s
                %%s
            order by
                f.created_at %2$s,
                f.id %2$s
            limit $5 + 1
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        concat_ws(
            ' ',
            case
                when coalesce(p_deleted, false)
                then 'and f.deleted_at is not null and $6::text is null'
                else 'and f.deleted_at is null'
            end,
            case when p_conversation_id is not null then 'and f.conversation_id = $7' end,
            case when p_owner_id is not null then 'and f.owner_id = $8' end,
            case
                -- The path itself, or what is under it: a segment ends where the prefix does, and
                -- every character means itself. The first line is for the index.
                when p_path_prefix is not null then
                    'and f.path_start >= left($9, 128) and f.path_start <= left($9, 128) || $10'
                    ' and (f.path = $9 or starts_with(f.path, $9 || ''/''))'
            end
        )
    );
    -- For a viewer one branch per reason to read, so that the cost follows what they may read.
    v_page := case
        when p_conversation_id is not null or coalesce(p_deleted, false) then format(v_page, '')
        else concat_ws(
            ' union ',
            format(
                '(' || v_page || ')',
                'and f.conversation_id is null and ($6::text is null or f.owner_id = $6)'
            ),
            strongroom_private.readable_branches(
                replace(v_page, '%s', 'and %s'), 'f.conversation_id', v_viewer_id, '$6'
            )
        )
    end;
    return query execute format(
        $query$
            select
                d.tenant_id,
                d.id,
                d.conversation_id,
                d.owner_id,
                d.path,
                d.metadata,
                d.latest_version,
                d.state,
                d.blob_key,
                d.media_type,
                d.size_bytes,
                d.sha256,
                d.deleted_at,
                d.created_at,
                d.updated_at,
                strongroom_private.encode_cursor(
                    $4, array[strongroom_private.to_microseconds(d.created_at), d.id]
                ),
                s.total > $5
            from (
                select
                    f.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select p.*
                    from (%3$s) as p
                    order by
                        p.created_at %1$s,
                        p.id %1$s
                    limit $5 + 1
                ) as f
            ) as s
            cross join lateral (
                select d.*
                from strongroom.file_details as d
                where d.tenant_id = $1
                    and d.id = s.id
                offset 0
            ) as d
            where s.place <= $5
            order by
                d.created_at %2$s,
                d.id %2$s
        $query$,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end,
        v_page
    )
    using
        p_tenant_id,
        strongroom_private.from_microseconds(v_keys[1]),
        v_keys[2],
        v_scope,
        p_limit,
        v_viewer_id,
        p_conversation_id,
        p_owner_id,
        p_path_prefix,
        chr(1114111);
end
$$;
comment on function strongroom.list_files(
    text, integer, text, text, text, text, text, text, text, boolean
) is
    'A page of files, forward newest first: of one conversation, of one owner, or with a path that'
    ' is p_path_prefix or lies under it. p_deleted: the soft-deleted ones, for hosts. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom.add_file_version(
    p_tenant_id text,
    p_file_id text,
    p_expected_latest integer,
    p_media_type text,
    p_version_id text default null,
    p_blob_key text default null,
    p_source text default 'uploaded',
    p_run_id text default null,
    p_created_by text default null
)
returns setof strongroom.added_file_version
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_file strongroom.files;
    v_known strongroom.file_versions;
    v_id text := coalesce(p_version_id, gen_random_uuid()::text);
    v_digest text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('version_id', v_id);
    if p_expected_latest is null or p_expected_latest < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'expected_latest must be at least 1',
            jsonb_build_object('path', 'expected_latest', 'actual', p_expected_latest),
            'Give the number of the newest version that you know.'
        );
    end if;
    perform strongroom_private.check_new_version(
        p_media_type, p_blob_key, p_source, p_run_id, p_created_by
    );
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_file_id, p_expected_latest, p_media_type, p_blob_key, p_source, p_run_id, p_created_by
    ));
    v_file := strongroom_private.lock_file(p_tenant_id, p_file_id);
    select v.*
    into v_known
    from strongroom.file_versions as v
    where v.tenant_id = p_tenant_id
        and v.id = v_id;
    if found and v_known.creation_digest <> v_digest then
        perform strongroom_private.fail(
            'already_exists',
            'a file version with this id was added with other content',
            jsonb_build_object('path', 'version_id', 'record', 'file_version'),
            'Use a new id for a new version.'
        );
    elsif not found then
        if v_file.latest_version <> p_expected_latest then
            perform strongroom_private.fail_missed_write(
                'file', p_expected_latest, v_file.latest_version
            );
        end if;
        insert into strongroom.file_versions (
            tenant_id, file_id, version, id, conversation_id, blob_key, media_type, source, run_id,
            created_by, creation_digest
        )
        values (
            p_tenant_id, p_file_id, p_expected_latest + 1, v_id, v_file.conversation_id,
            coalesce(p_blob_key, gen_random_uuid()::text), p_media_type, p_source, p_run_id,
            p_created_by, v_digest
        );
        update strongroom.files as f
        set latest_version = p_expected_latest + 1,
            updated_at = clock_timestamp()
        where f.tenant_id = p_tenant_id
            and f.id = p_file_id;
    end if;
    return query
    select
        d.*,
        case when v_known.id is null then 'inserted' else 'duplicate' end
    from strongroom.file_version_details as d
    where d.tenant_id = p_tenant_id
        and d.file_id = p_file_id
        and d.version = p_expected_latest + 1;
end
$$;
comment on function strongroom.add_file_version(
    text, text, integer, text, text, text, text, text, text
) is
    'Add version p_expected_latest + 1 to a file, whose bytes are pending. Another newest version'
    ' is a conflict. A repeat with the same version id and arguments changes nothing. Errors:'
    ' SR001, SR004, SR010, SR011, SR012, SR020, SR030. Callers: hosts.';

create function strongroom.find_file_version(
    p_tenant_id text,
    p_file_id text,
    p_version integer default null,
    p_viewer_id text default null
)
returns setof strongroom.file_version_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    -- A range is a condition of the index, with a version and without one.
    v_low integer := coalesce(p_version, 1);
    v_high integer := coalesce(p_version, 2147483647);
begin
    perform strongroom_private.require_readable_file(p_tenant_id, p_file_id, p_viewer_id);
    return query
    select d.*
    from strongroom.file_version_details as d
    where d.tenant_id = p_tenant_id
        and d.file_id = p_file_id
        and d.version between v_low and v_high
        and (p_version is not null or d.state = 'stored')
    order by d.version desc
    limit 1;
end
$$;
comment on function strongroom.find_file_version(text, text, integer, text) is
    'A version of a file, or no row; without a number the newest one whose bytes are stored.'
    ' Errors: SR001, SR004, SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_file_versions(
    p_tenant_id text,
    p_file_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    file_id text,
    version integer,
    id text,
    conversation_id text,
    state text,
    blob_key text,
    media_type text,
    size_bytes bigint,
    sha256 text,
    source text,
    run_id text,
    created_by text,
    extraction_status text,
    extraction_summary text,
    extraction_blob_key text,
    extraction_error jsonb,
    created_at timestamptz,
    state_changed_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'file_versions', jsonb_build_array(p_file_id), p_direction
    );
    v_key bigint;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.require_readable_file(p_tenant_id, p_file_id, p_viewer_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1]::bigint;
    return query execute format(
        $query$
            select
                s.*,
                strongroom_private.encode_cursor($4, array[s.version::text]),
                c.total > $5
            from (
                select d.*
                from strongroom.file_version_details as d
                where d.tenant_id = $1
                    and d.file_id = $2
                    and ($3 is null or d.version %1$s $3)
                order by d.version %2$s
                limit $5
            ) as s
            cross join (
                select count(*) as total
                from (
                    select
                    from strongroom.file_versions as v
                    where v.tenant_id = $1
                        and v.file_id = $2
                        and ($3 is null or v.version %1$s $3)
                    limit $5 + 1
                ) as v
            ) as c
            order by s.version %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, p_file_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_file_versions(
    text, text, integer, text, text, text, text
) is
    'A page of a file''s versions, forward from the first. has_more: whether rows follow in the'
    ' paging direction. Errors: SR001, SR002, SR004, SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_file_versions_by_state(
    p_tenant_id text,
    p_state text,
    p_older_than_seconds double precision default 0,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    file_id text,
    version integer,
    id text,
    conversation_id text,
    state text,
    blob_key text,
    media_type text,
    size_bytes bigint,
    sha256 text,
    source text,
    run_id text,
    created_by text,
    extraction_status text,
    extraction_summary text,
    extraction_blob_key text,
    extraction_error jsonb,
    created_at timestamptz,
    state_changed_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'file_versions_by_state', jsonb_build_array(p_state, p_older_than_seconds), p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_choice('state', p_state, '{pending,stored,deleting,deleted}');
    perform strongroom_private.check_seconds(
        'older_than_seconds', p_older_than_seconds, 0, 3153600000
    );
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
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
                    $6,
                    array[
                        strongroom_private.to_microseconds(d.state_changed_at),
                        d.file_id,
                        d.version::text
                    ]
                ),
                s.total > $7
            from (
                select
                    v.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select
                        v.file_id,
                        v.version
                    from strongroom.file_versions as v
                    where v.tenant_id = $1
                        and v.state = $2
                        and v.state_changed_at <= $8
                        and (
                            $3 is null
                            or (v.state_changed_at, v.file_id, v.version) %1$s ($3, $4, $5)
                        )
                    order by
                        v.state_changed_at %2$s,
                        v.file_id %2$s,
                        v.version %2$s
                    limit $7 + 1
                ) as v
            ) as s
            cross join lateral (
                select d.*
                from strongroom.file_version_details as d
                where d.tenant_id = $1
                    and d.file_id = s.file_id
                    and d.version = s.version
                offset 0
            ) as d
            where s.place <= $7
            order by
                d.state_changed_at %3$s,
                d.file_id %3$s,
                d.version %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id,
        p_state,
        strongroom_private.from_microseconds(v_keys[1]),
        v_keys[2],
        v_keys[3]::integer,
        v_scope,
        p_limit,
        clock_timestamp() - make_interval(secs => p_older_than_seconds);
end
$$;
comment on function strongroom.list_file_versions_by_state(
    text, text, double precision, integer, text, text, text
) is
    'A page of a tenant''s versions that have been in a state for so long, forward the longest'
    ' first: uploads that got stuck. Those of soft-deleted files and conversations are among them.'
    ' Errors: SR001, SR002, SR004, SR020. Callers: hosts.';

create function strongroom.set_file_version_state(
    p_tenant_id text,
    p_file_id text,
    p_version integer,
    p_from_state text,
    p_to_state text,
    p_size_bytes bigint default null,
    p_sha256 text default null
)
returns setof strongroom.file_version_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_current strongroom.file_versions;
    v_is_step boolean := exists (
        select
        from strongroom_private.list_file_transitions() as t
        where t.from_state = p_from_state
            and t.to_state = p_to_state
    );
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_choice(
        'from_state', p_from_state, '{pending,stored,deleting,deleted}'
    );
    perform strongroom_private.check_choice(
        'to_state', p_to_state, '{pending,stored,deleting,deleted}'
    );
    if (p_to_state = 'stored') <> (p_size_bytes is not null and p_sha256 is not null)
        or (p_size_bytes is null) <> (p_sha256 is null)
    then
        perform strongroom_private.fail(
            'invalid_argument',
            'size_bytes and sha256 are needed when the version becomes stored, and only then',
            '{"path": "size_bytes"}',
            'Give what the blob store counted while it read the bytes.'
        );
    elsif p_size_bytes not between 0 and 9007199254740991 then
        perform strongroom_private.fail(
            'invalid_argument',
            'size_bytes must be between 0 and 9007199254740991',
            jsonb_build_object('path', 'size_bytes', 'actual', p_size_bytes),
            'Give the number of bytes.'
        );
    elsif p_sha256 !~ '^[0-9a-f]{64}$' then
        perform strongroom_private.fail(
            'invalid_argument',
            'sha256 must have 64 hexadecimal digits, in lower case',
            '{"path": "sha256"}',
            'Give the hash that the blob store computed.'
        );
    end if;
    perform strongroom_private.lock_file(p_tenant_id, p_file_id);
    select v.*
    into v_current
    from strongroom.file_versions as v
    where v.tenant_id = p_tenant_id
        and v.file_id = p_file_id
        and v.version = p_version
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('file version', null, null);
    end if;
    if v_is_step and v_current.state = p_from_state then
        update strongroom.file_versions as v
        set state = p_to_state,
            size_bytes = coalesce(p_size_bytes, v.size_bytes),
            sha256 = coalesce(p_sha256, v.sha256),
            state_changed_at = clock_timestamp(),
            updated_at = clock_timestamp()
        where v.tenant_id = p_tenant_id
            and v.file_id = p_file_id
            and v.version = p_version;
        update strongroom.files as f
        set updated_at = clock_timestamp()
        where f.tenant_id = p_tenant_id
            and f.id = p_file_id;
    elsif not v_is_step
        or v_current.state <> p_to_state
        or (
            p_to_state = 'stored'
            and (v_current.size_bytes, v_current.sha256) is distinct from (p_size_bytes, p_sha256)
        )
    then
        perform strongroom_private.fail(
            'invalid_transition',
            format(
                'the file version is %s and cannot go from %s to %s',
                v_current.state, p_from_state, p_to_state
            ),
            jsonb_build_object(
                'record', 'file_version',
                'from', p_from_state,
                'to', p_to_state,
                'current_state', v_current.state
            ),
            'Read the version; a deleted one is final, and new bytes are a new version.'
        );
    end if;
    return query
    select d.*
    from strongroom.file_version_details as d
    where d.tenant_id = p_tenant_id
        and d.file_id = p_file_id
        and d.version = p_version;
end
$$;
comment on function strongroom.set_file_version_state(
    text, text, integer, text, text, bigint, text
) is
    'Take a version from one state to the next, if it is still in the first: stored with the size'
    ' and sha256 of its bytes; deleting puts its keys on the list of bytes to remove; the sweep'
    ' makes it deleted. A repeat changes nothing. Errors: SR001, SR004, SR010, SR020, SR030.'
    ' Callers: hosts.';

create function strongroom.record_file_extraction(
    p_tenant_id text,
    p_file_id text,
    p_version integer,
    p_status text,
    p_expected_status text default 'none',
    p_summary text default null,
    p_blob_key text default null,
    p_error jsonb default null
)
returns setof strongroom.file_version_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_current strongroom.file_versions;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_choice(
        'status', p_status, '{none,pending,done,failed,skipped}'
    );
    perform strongroom_private.check_choice(
        'expected_status', p_expected_status, '{none,pending,done,failed,skipped}'
    );
    if p_blob_key is not null then
        perform strongroom_private.check_blob_key('blob_key', p_blob_key);
    end if;
    if char_length(p_summary) > 16384 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('summary has %s characters; at most 16384 are allowed', char_length(p_summary)),
            jsonb_build_object('path', 'summary', 'limit', 16384, 'actual', char_length(p_summary)),
            'Put the text into the blob store, and give its key.'
        );
    elsif p_status <> 'done' and (p_summary is not null or p_blob_key is not null) then
        perform strongroom_private.fail(
            'invalid_argument',
            'summary and blob_key are for a status of done',
            '{"path": "status"}',
            'Leave them out, or say that it is done.'
        );
    elsif (p_status = 'failed') <> (p_error is not null) then
        perform strongroom_private.fail(
            'invalid_argument',
            'error is needed when the status is failed, and only then',
            '{"path": "error"}',
            'Say why no text could be read.'
        );
    end if;
    if p_error is not null then
        perform strongroom_private.check_object('error', p_error, 16384);
    end if;
    perform strongroom_private.lock_file(p_tenant_id, p_file_id);
    select v.*
    into v_current
    from strongroom.file_versions as v
    where v.tenant_id = p_tenant_id
        and v.file_id = p_file_id
        and v.version = p_version
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('file version', null, null);
    end if;
    if row(
        v_current.extraction_status, v_current.extraction_summary, v_current.extraction_blob_key,
        v_current.extraction_error
    ) is distinct from row(p_status, p_summary, p_blob_key, p_error) then
        if v_current.state <> 'stored' or v_current.extraction_status <> p_expected_status then
            perform strongroom_private.fail(
                'invalid_transition',
                format(
                    'the file version is %s and its extraction %s, not %s',
                    v_current.state, v_current.extraction_status, p_expected_status
                ),
                jsonb_build_object(
                    'record', 'file_version',
                    'current_state', v_current.state,
                    'current_status', v_current.extraction_status
                ),
                'Read the version; only stored bytes are extracted.'
            );
        end if;
        update strongroom.file_versions as v
        set extraction_status = p_status,
            extraction_summary = p_summary,
            extraction_blob_key = p_blob_key,
            extraction_error = p_error,
            updated_at = clock_timestamp()
        where v.tenant_id = p_tenant_id
            and v.file_id = p_file_id
            and v.version = p_version;
    end if;
    return query
    select d.*
    from strongroom.file_version_details as d
    where d.tenant_id = p_tenant_id
        and d.file_id = p_file_id
        and d.version = p_version;
end
$$;
comment on function strongroom.record_file_extraction(
    text, text, integer, text, text, text, text, jsonb
) is
    'Say what became of reading text from a stored version, given the status that was known: a'
    ' short text as summary, a long one in the blob store under a key, or why there is none. An'
    ' earlier text''s bytes are put on the list of those to remove. A repeat changes nothing.'
    ' Errors: SR001, SR004, SR010, SR020, SR030. Callers: hosts.';

create function strongroom.soft_delete_file(p_tenant_id text, p_file_id text)
returns setof strongroom.file_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_file strongroom.files;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    v_file := strongroom_private.lock_file(p_tenant_id, p_file_id, p_deleted => true);
    if v_file.deleted_at is null then
        update strongroom.files as f
        set deleted_at = clock_timestamp(),
            updated_at = clock_timestamp()
        where f.tenant_id = p_tenant_id
            and f.id = p_file_id;
    end if;
    return query
    select d.*
    from strongroom.file_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_file_id;
end
$$;
comment on function strongroom.soft_delete_file(text, text) is
    'Hide a file, restorably; its bytes stay. A repeat changes nothing. Errors: SR001, SR004,'
    ' SR010, SR020. Callers: hosts.';

create function strongroom.restore_file(p_tenant_id text, p_file_id text)
returns setof strongroom.file_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_file strongroom.files;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    v_file := strongroom_private.lock_file(p_tenant_id, p_file_id, p_deleted => true);
    if v_file.deleted_at is not null then
        if not exists (
            select
            from strongroom.file_versions as v
            where v.tenant_id = p_tenant_id
                and v.file_id = p_file_id
                and v.state in ('pending', 'stored')
        ) then
            perform strongroom_private.fail(
                'invalid_transition',
                'the bytes of every version of the file are gone, or about to go',
                jsonb_build_object('record', 'file'),
                'Create the file anew.'
            );
        end if;
        update strongroom.files as f
        set deleted_at = null,
            updated_at = clock_timestamp()
        where f.tenant_id = p_tenant_id
            and f.id = p_file_id;
    end if;
    return query
    select d.*
    from strongroom.file_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_file_id;
end
$$;
comment on function strongroom.restore_file(text, text) is
    'Bring a soft-deleted file back, while it has bytes. A repeat changes nothing. Errors: SR001,'
    ' SR004, SR010, SR020, SR030. Callers: hosts.';

create function strongroom.purge_file(p_tenant_id text, p_file_id text)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('file_id', p_file_id);
    -- Locked first, so that nothing is added between the count and the deletion.
    perform
    from strongroom.files as f
    where f.tenant_id = p_tenant_id
        and f.id = p_file_id
    for update;
    table_name := 'file_versions';
    select count(*)
    into row_count
    from strongroom.file_versions as v
    where v.tenant_id = p_tenant_id
        and v.file_id = p_file_id;
    return next;
    delete from strongroom.files as f
    where f.tenant_id = p_tenant_id
        and f.id = p_file_id;
    get diagnostics row_count = row_count;
    table_name := 'files';
    if row_count > 0 then
        perform strongroom_private.record_audit(p_tenant_id, 'file.purge', 'file', p_file_id);
    end if;
    return next;
end
$$;
comment on function strongroom.purge_file(text, text) is
    'Delete a file and its versions for good, also one of a soft-deleted conversation; their bytes'
    ' are put on the list of those to remove. Returns how many rows each table lost. A repeat, and'
    ' an id that does not exist, delete nothing. Errors: SR001, SR004, SR010, SR020. Callers:'
    ' hosts.';

create function strongroom.schedule_conversation_file_deletion(
    p_tenant_id text,
    p_conversation_id text
)
returns table (files bigint, versions bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    -- Also a soft-deleted one: its files are what is being deleted.
    perform
    from strongroom.conversations as c
    where c.tenant_id = p_tenant_id
        and c.id = p_conversation_id
    for no key update;
    if not found then
        perform strongroom_private.fail(
            'not_found',
            'the conversation does not exist',
            jsonb_build_object('path', 'conversation_id', 'record', 'conversation'),
            'It may have been deleted, or this caller may not see it.'
        );
    end if;
    perform
    from strongroom.files as f
    where f.tenant_id = p_tenant_id
        and f.conversation_id = p_conversation_id
    order by f.id
    for no key update;
    update strongroom.file_versions as v
    set state = 'deleting',
        state_changed_at = clock_timestamp(),
        updated_at = clock_timestamp()
    from strongroom.files as f
    where f.tenant_id = p_tenant_id
        and f.conversation_id = p_conversation_id
        and v.tenant_id = f.tenant_id
        and v.file_id = f.id
        and v.state in ('pending', 'stored');
    get diagnostics versions = row_count;
    update strongroom.files as f
    set deleted_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where f.tenant_id = p_tenant_id
        and f.conversation_id = p_conversation_id
        and f.deleted_at is null;
    get diagnostics files = row_count;
    return next;
end
$$;
comment on function strongroom.schedule_conversation_file_deletion(text, text) is
    'Delete the files of a conversation and keep their records: every file is soft-deleted, and'
    ' the bytes of every version are put on the list of those to remove. Says how many files and'
    ' versions that were; a repeat finds none. Purging the conversation does it by itself. Errors:'
    ' SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.read_file_queue(
    p_tenant_id text,
    p_overdue_seconds double precision default 3600
)
returns table (
    pending bigint,
    overdue bigint,
    deleting bigint,
    oldest_pending_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_seconds(
        'overdue_seconds', p_overdue_seconds, 0, 3153600000
    );
    return query
    select
        count(*) filter (where v.state = 'pending'),
        count(*) filter (
            where v.state = 'pending'
                and v.state_changed_at
                <= clock_timestamp() - make_interval(secs => p_overdue_seconds)
        ),
        count(*) filter (where v.state = 'deleting'),
        min(v.state_changed_at) filter (where v.state = 'pending')
    from strongroom.file_versions as v
    where v.tenant_id = p_tenant_id
        and v.state in ('pending', 'deleting');
end
$$;
comment on function strongroom.read_file_queue(text, double precision) is
    'How many versions of a tenant wait for their bytes, how many of them for longer than'
    ' p_overdue_seconds, and how many for their removal. Errors: SR001, SR004, SR020. Callers:'
    ' hosts.';


-- ---------------------------------------------------------------------------------------------
-- Supabase Storage
-- ---------------------------------------------------------------------------------------------
-- Where there is Storage, hosts keep bytes in the private bucket strongroom, an object per key at
-- <tenant>/<key in hexadecimal digits>. Users read the bytes of files that they may read. Nobody
-- but hosts writes or deletes, and that through the API, never with SQL.

create function strongroom_private.storage_folder(p_tenant_id text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select trim(
        both '-'
        from left(regexp_replace(lower(p_tenant_id collate "C"), '[^a-z0-9]+', '-', 'g'), 24)
    ) || '-' || left(encode(sha256(convert_to(p_tenant_id, 'UTF8')), 'hex'), 40)
$$;
comment on function strongroom_private.storage_folder(text) is
    'A tenant''s folder in the bucket: something to recognise it by, and its hash.';

create function strongroom_private.may_read_object(p_name text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tenant_id text := strongroom_private.current_tenant();
    v_digits text := replace(rtrim(substr(p_name, strpos(p_name, '/') + 1), '-'), '/', '');
begin
    -- Of a very long key the name is a hash: no user reads its bytes but through a host.
    if v_tenant_id is null
        or strpos(p_name, strongroom_private.storage_folder(v_tenant_id) || '/') <> 1
        or v_digits !~ '^([0-9a-f]{2})+$'
    then
        return false;
    end if;
    -- With the caller's rights: the policy of versions decides.
    return exists (
        select
        from strongroom.file_versions as v
        where v.tenant_id = v_tenant_id
            and v.blob_key = convert_from(decode(v_digits, 'hex'), 'UTF8')
            and v.state = any ('{pending,stored}')
    );
exception
    when data_exception then
        return false;
end
$$;
comment on function strongroom_private.may_read_object(text) is
    'Whether an object of the bucket has the bytes of a file that the signed-in user may read. The'
    ' policy on storage.objects asks it.';

create function strongroom_private.apply_storage()
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
        where n.nspname = 'storage'
            and c.relname = 'objects'
            and not exists (
                select
                from pg_policy as p
                where p.polrelid = c.oid
                    and p.polname = 'strongroom_readers_read'
            )
    ) then
        insert into storage.buckets (id, name, public)
        values ('strongroom', 'strongroom', false)
        on conflict do nothing;
        execute
            'create policy strongroom_readers_read on storage.objects'
            ' for select to authenticated'
            ' using (bucket_id = ''strongroom'' and strongroom_private.may_read_object(name))';
    end if;
exception
    when insufficient_privilege or undefined_object or undefined_table then
        raise warning 'strongroom: no bucket and policy in Supabase Storage: %', sqlerrm
            using hint = 'Run select strongroom_private.apply_storage() as postgres.';
end
$$;
comment on function strongroom_private.apply_storage() is
    'Make the private bucket and let readers read, where there is Supabase Storage. The migration'
    ' runs it; run it again, as the schema''s owner, after Storage was added. A repeat changes'
    ' nothing.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.check_blob_key,
        strongroom_private.check_blob_removals,
        strongroom_private.schedule_blob_removal,
        strongroom_private.blob_lock_number,
        strongroom_private.keep_blob,
        strongroom_private.list_reference_columns,
        strongroom_private.is_referenced_blob,
        strongroom_private.dispatch_blob_removals,
        strongroom.schedule_blob_removal,
        strongroom.find_blob_removal,
        strongroom.claim_blob_removals,
        strongroom.complete_blob_removals,
        strongroom.retry_blob_removals_later,
        strongroom.list_blob_removals,
        strongroom.list_blob_references,
        strongroom.read_blob_removal_queue
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.blob_removals,strongroom.files}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.file_versions}', '{select,insert,update}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.file_details,strongroom.file_version_details}', '{select}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.files,strongroom.file_versions}', '{select}', '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.may_read_file,
        strongroom_private.require_readable_file,
        strongroom_private.check_file_path,
        strongroom.find_file,
        strongroom.list_files,
        strongroom.find_file_version,
        strongroom.list_file_versions
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.list_file_transitions,
        strongroom_private.check_new_version,
        strongroom_private.lock_file,
        strongroom.create_file,
        strongroom.add_file_version,
        strongroom.list_file_versions_by_state,
        strongroom.set_file_version_state,
        strongroom.record_file_extraction,
        strongroom.soft_delete_file,
        strongroom.restore_file,
        strongroom.purge_file,
        strongroom.schedule_conversation_file_deletion,
        strongroom.read_file_queue
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.publish_grant(
    'function',
    '{strongroom_private.storage_folder,strongroom_private.may_read_object}',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);

select strongroom_private.apply_storage();

select strongroom_private.finish_migration(11, 'files');
