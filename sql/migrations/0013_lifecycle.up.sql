-- strongroom 0013: lifecycle
--
-- Purpose     How records end: a person is erased, a tenant purged, and what is older than a policy
--             says is swept. Each says what it did; the first two leave a receipt.
-- Erasure     works from the registry of erasure rules, and so from whatever tables there are. It
--             is one transaction. The person's conversations, and those in which anything names
--             them, are locked first, in the order of their ids: a writer that is under way is
--             waited for and what it wrote goes along, one that comes later finds its conversation
--             gone. Live runs of their conversations are no reason to wait: they go, and their
--             workers' next write is refused.
-- Receipts    Rows say table, action and count. A receipt names no person: it has a salted hash,
--             with which whoever knows the name can tell that it is theirs. It outlives its tenant.
--             The counts are the server's own, of the rows that this transaction has deleted,
--             cascades included: no estimate, and right under concurrency.
-- Dry run     does it all, counts, and takes it back: the same counts, and nothing has changed.
-- Retention   A policy says how long a tenant keeps one kind of record. A sweep ends a bounded
--             number of records of each kind, one transaction a call, and says whether more is
--             left: it can be stopped anywhere, and goes on with the next call. It touches no live
--             run, no pending interaction and no conversation that has one, and skips what others
--             have locked. A dry run of it is one such step, taken back.
-- Locks       The tenant, which writers share and a purge has alone. Then the turn of the tenant's
--             audit, conversations by id, the principal's row in memory_settings, and what hangs
--             on them (erasure). A sweep locks its tenant's policies, and skips every other row
--             that is locked.
-- Tenants     One definer function looks across tenants: list_tenants_to_sweep says their ids.

select strongroom_private.begin_migration(13, 'lifecycle');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '13';
select strongroom_private.require_transaction(13);


-- ---------------------------------------------------------------------------------------------
-- Receipts
-- ---------------------------------------------------------------------------------------------

create table strongroom.deletion_receipts (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    kind text collate "C" not null,
    subject_salt text collate "C",
    subject_digest text collate "C",
    created_at timestamptz not null default now(),
    constraint deletion_receipts_pkey primary key (tenant_id, id),
    constraint tenant_id_has_1_to_255_characters check (char_length(tenant_id) between 1 and 255),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint kind_is_principal_or_tenant check (kind in ('principal', 'tenant')),
    constraint only_a_person_has_a_digest check (
        (kind = 'principal') = (subject_salt is not null)
        and (kind = 'principal') = (subject_digest is not null)
    )
);
comment on table strongroom.deletion_receipts is
    'That a person was erased, or a tenant purged. Insert-only, and of no tenant: it outlives it.';
comment on column strongroom.deletion_receipts.tenant_id is 'The tenant; it may be gone.';
comment on column strongroom.deletion_receipts.id is
    'The receipt''s id: a repeat of the call is known by it.';
comment on column strongroom.deletion_receipts.kind is 'principal or tenant.';
comment on column strongroom.deletion_receipts.subject_salt is 'A random salt.';
comment on column strongroom.deletion_receipts.subject_digest is
    'SHA-256 of salt, tenant and principal: who knows the person can tell that this is about them;'
    ' nobody can read from it who it was.';
comment on column strongroom.deletion_receipts.created_at is 'When it was done.';

create index deletion_receipts_by_creation
    on strongroom.deletion_receipts (tenant_id, created_at, id);
comment on index strongroom.deletion_receipts_by_creation is 'Pages of all receipts.';

create table strongroom.deletion_receipt_items (
    tenant_id text collate "C" not null,
    receipt_id text collate "C" not null,
    table_name text collate "C" not null,
    action text collate "C" not null,
    row_count bigint not null,
    constraint deletion_receipt_items_pkey
        primary key (tenant_id, receipt_id, table_name, action),
    constraint item_belongs_to_a_receipt
        foreign key (tenant_id, receipt_id)
        references strongroom.deletion_receipts (tenant_id, id)
        on delete cascade,
    constraint action_is_known check (action in ('delete', 'clear', 'erase')),
    constraint row_count_is_positive_and_safe_in_javascript
        check (row_count between 1 and 9007199254740991)
);
comment on table strongroom.deletion_receipt_items is
    'What a receipt is about: how many rows of which table.';
comment on column strongroom.deletion_receipt_items.tenant_id is 'The tenant; it may be gone.';
comment on column strongroom.deletion_receipt_items.receipt_id is 'The receipt.';
comment on column strongroom.deletion_receipt_items.table_name is 'The table.';
comment on column strongroom.deletion_receipt_items.action is
    'delete: rows that are gone. clear: rows that no longer name the person. erase: rows that have'
    ' lost the person and their words, as the rule of the table says.';
comment on column strongroom.deletion_receipt_items.row_count is 'How many rows.';

create trigger receipts_are_insert_only
    before update or delete on strongroom.deletion_receipts
    for each row
    -- A receipt belongs to nothing but itself, and stays.
    execute function strongroom_private.keep_history('strongroom.deletion_receipts', 'id', 'id');
comment on trigger receipts_are_insert_only on strongroom.deletion_receipts is 'See keep_history.';
create trigger receipts_are_never_truncated
    before truncate on strongroom.deletion_receipts
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger receipts_are_never_truncated on strongroom.deletion_receipts is
    'See keep_history.';
create trigger items_are_insert_only
    before update or delete on strongroom.deletion_receipt_items
    for each row
    execute function strongroom_private.keep_history(
        'strongroom.deletion_receipts', 'id', 'receipt_id'
    );
comment on trigger items_are_insert_only on strongroom.deletion_receipt_items is
    'See keep_history.';
create trigger items_are_never_truncated
    before truncate on strongroom.deletion_receipt_items
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger items_are_never_truncated on strongroom.deletion_receipt_items is
    'See keep_history.';

alter table strongroom.deletion_receipts enable row level security;
alter table strongroom.deletion_receipts force row level security;
create policy hosts_read on strongroom.deletion_receipts
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_read on strongroom.deletion_receipts is 'Hosts.';
create policy hosts_insert on strongroom.deletion_receipts
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.deletion_receipts is
    'Hosts, through erase_principal and purge_tenant.';
alter table strongroom.deletion_receipt_items enable row level security;
alter table strongroom.deletion_receipt_items force row level security;
create policy hosts_read on strongroom.deletion_receipt_items
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_read on strongroom.deletion_receipt_items is 'Hosts.';
create policy hosts_insert on strongroom.deletion_receipt_items
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.deletion_receipt_items is
    'Hosts, through erase_principal and purge_tenant.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.deletion_receipts',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It proves the erasure, and names nobody: a salted hash stands for the person.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.deletion_receipt_items',
    p_column => '',
    p_action => 'keep',
    p_reason => 'Tables and counts.'
);

create function strongroom_private.digest_subject(
    p_salt text,
    p_tenant_id text,
    p_principal_id text
)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_principal_id is not null
        then strongroom_private.digest(jsonb_build_array(p_salt, p_tenant_id, p_principal_id))
    end
$$;
comment on function strongroom_private.digest_subject(text, text, text) is
    'What stands for an erased person in a receipt; null where there is none.';

create function strongroom_private.find_receipt(
    p_tenant_id text,
    p_receipt_id text,
    p_kind text,
    p_principal_id text
)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_receipt strongroom.deletion_receipts;
begin
    perform strongroom_private.check_optional_id('receipt_id', p_receipt_id);
    select r.*
    into v_receipt
    from strongroom.deletion_receipts as r
    where r.tenant_id = p_tenant_id
        and r.id = p_receipt_id;
    if v_receipt.id is null then
        return false;
    end if;
    if v_receipt.kind <> p_kind
        or v_receipt.subject_digest is distinct from strongroom_private.digest_subject(
            v_receipt.subject_salt, p_tenant_id, p_principal_id
        )
    then
        perform strongroom_private.fail(
            'already_exists',
            'this receipt is about another deletion',
            '{"path": "receipt_id", "record": "deletion_receipt"}',
            'Give every deletion an id of its own, and repeat a call with its own.'
        );
    end if;
    return true;
end
$$;
comment on function strongroom_private.find_receipt(text, text, text, text) is
    'Whether this deletion has happened already under this receipt''s id. Errors: SR001, SR004,'
    ' SR011 when the id is that of another deletion.';

create function strongroom_private.write_receipt(
    p_tenant_id text,
    p_receipt_id text,
    p_kind text,
    p_principal_id text,
    p_items jsonb
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_salt text := case p_kind when 'principal' then gen_random_uuid()::text end;
begin
    insert into strongroom.deletion_receipts (tenant_id, id, kind, subject_salt, subject_digest)
    values (
        p_tenant_id,
        p_receipt_id,
        p_kind,
        v_salt,
        strongroom_private.digest_subject(v_salt, p_tenant_id, p_principal_id)
    );
    insert into strongroom.deletion_receipt_items (
        tenant_id, receipt_id, table_name, action, row_count
    )
    select
        p_tenant_id,
        p_receipt_id,
        i.table_name,
        i.action,
        i.row_count
    from jsonb_to_recordset(p_items) as i (table_name text, action text, row_count bigint);
end
$$;
comment on function strongroom_private.write_receipt(text, text, text, text, jsonb) is
    'Store what was deleted, under a salted hash of the person.';

create function strongroom.list_deletion_receipts(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_principal_id text default null
)
returns table (
    tenant_id text,
    id text,
    kind text,
    items jsonb,
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
    v_scope text;
    v_keys text[];
    v_descending boolean;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('principal_id', p_principal_id);
    -- The filter is part of what a cursor is bound to, as a hash: a cursor names no person.
    v_scope := strongroom_private.cursor_scope(
        'deletion_receipts', jsonb_build_array(p_principal_id), p_direction
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
                s.kind,
                (
                    select coalesce(jsonb_agg(jsonb_build_object(
                        'table_name', i.table_name, 'action', i.action, 'row_count', i.row_count
                    ) order by i.table_name, i.action), '[]')
                    from strongroom.deletion_receipt_items as i
                    where i.tenant_id = $1
                        and i.receipt_id = s.id
                ),
                s.created_at,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(s.created_at), s.id]
                ),
                s.total > $4
            from (
                select
                    r.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select r.*
                    from strongroom.deletion_receipts as r
                    where r.tenant_id = $1
                        and ($5 is null or r.subject_digest = strongroom_private.digest_subject(
                            r.subject_salt, $1, $5
                        ))
                        and ($2 is null or (r.created_at, r.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by r.created_at %2$s, r.id %2$s
                    limit $4 + 1
                ) as r
            ) as s
            where s.place <= $4
            order by s.created_at %3$s, s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_keys, v_scope, p_limit, p_principal_id;
end
$$;
comment on function strongroom.list_deletion_receipts(text, integer, text, text, text, text) is
    'A page of receipts, forward newest first, also of a tenant that is gone. Filter: those about'
    ' one person, whom the caller must know. has_more: whether rows follow in the paging direction.'
    ' Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Erasing a person
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.lock_conversations_of(p_tenant_id text, p_principal_id text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_named text;
begin
    -- Whatever names both a conversation and the person.
    select string_agg(
        format(
            'select t.%I from %s as t where t.tenant_id = $1 and t.%I = $2',
            a.attname,
            r.table_name::regclass,
            r.column_name
        ),
        ' union '
        order by r.table_name, r.column_name
    )
    into v_named
    from strongroom_private.erasure_rules as r
    inner join pg_attribute as a
        on a.attrelid = to_regclass(r.table_name)
        and a.attname = case r.table_name
            when 'strongroom.conversations' then 'id'
            else 'conversation_id'
        end
        and not a.attisdropped
    inner join pg_attribute as p
        on p.attrelid = a.attrelid
        and p.attname = r.column_name
        and p.atttypid = 'text'::regtype;
    execute format(
        'select from strongroom.conversations as c where c.tenant_id = $1 and c.id in (%s)'
        ' order by c.id for update',
        v_named
    )
    using p_tenant_id, p_principal_id;
end
$$;
comment on function strongroom_private.lock_conversations_of(text, text) is
    'Lock, in the order of their ids, the conversations in which anything names this person. Their'
    ' writers are waited for; what they have written by then is seen.';

-- SECURITY DEFINER: erasure deletes from tables in which nobody else may, and changes messages,
-- which nobody else can. It works in the bound tenant alone, for hosts alone, and the triggers of
-- insert-only tables let it do no more than the rules need.
create function strongroom_private.erase_person(
    p_tenant_id text,
    p_principal_id text,
    p_dry_run boolean
)
returns table (table_name text, action text, row_count bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_rule record;
    v_before jsonb;
    v_mark jsonb;
    v_count bigint;
    v_items jsonb := jsonb '[]';
    v_handled jsonb := jsonb '[]';
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true)
        or p_tenant_id is distinct from strongroom_private.bound_tenant()
    then
        perform strongroom_private.fail(
            'permission_denied',
            'only hosts erase, in the bound tenant',
            '{}',
            'Call erase_principal, connected as strongroom_host.'
        );
    end if;
    begin
        perform set_config('strongroom.erasing', 'on', true);
        -- Erasures of a tenant take turns, also with the sealing of its audit, since both write to
        -- what is about a person: in whatever order their rows come, neither waits for the other.
        perform pg_advisory_xact_lock(strongroom_private.audit_lock_number(p_tenant_id));
        perform strongroom_private.lock_conversations_of(p_tenant_id, p_principal_id);
        -- Whoever stores or forgets facts holds this row, and is waited for: what it wrote goes
        -- along.
        perform
        from strongroom.memory_settings as s
        where s.tenant_id = p_tenant_id
            and s.principal_id = p_principal_id
        for update;
        v_before := strongroom_private.count_deletions();
        -- What is the person's goes first: of what is left, handlers of whole tables find whose
        -- rows they are before those of columns forget it.
        for v_rule in
            select
                r.table_name,
                r.table_name::regclass as relation,
                r.column_name,
                r.action,
                r.handler::regproc as handler
            from strongroom_private.erasure_rules as r
            where r.action <> 'keep'
            order by
                case r.action when 'delete' then 1 when 'handle' then 2 else 3 end,
                r.column_name <> '',
                r.table_name,
                r.column_name
        loop
            if v_rule.action = 'delete' then
                execute format(
                    'delete from %s as t where t.tenant_id = $1 and t.%I = $2',
                    v_rule.relation,
                    v_rule.column_name
                )
                using p_tenant_id, p_principal_id;
            elsif v_rule.action = 'clear' then
                execute format(
                    'update %1$s as t set %2$I = null where t.tenant_id = $1 and t.%2$I = $2',
                    v_rule.relation,
                    v_rule.column_name
                )
                using p_tenant_id, p_principal_id;
                get diagnostics v_count = row_count;
                v_items := v_items || jsonb_build_object(
                    'table_name', v_rule.table_name, 'action', 'clear', 'row_count', v_count
                );
            else
                v_mark := strongroom_private.count_deletions();
                execute format('select %s($1, $2)', v_rule.handler)
                into v_count
                using p_tenant_id, p_principal_id;
                v_items := v_items || jsonb_build_object(
                    'table_name', v_rule.table_name, 'action', 'erase', 'row_count', v_count
                );
                -- What a handler has deleted from its own table it has counted.
                select v_handled || coalesce(
                    jsonb_agg(to_jsonb(d)) filter (where d.table_name = v_rule.table_name), '[]'
                )
                into v_handled
                from strongroom_private.list_deletions(v_mark) as d;
            end if;
        end loop;
        select v_items || coalesce(
            jsonb_agg(jsonb_build_object(
                'table_name', d.table_name, 'action', 'delete', 'row_count', d.row_count
            )),
            '[]'
        )
        into v_items
        from (
            select
                u.table_name,
                sum(u.row_count) as row_count
            from (
                select
                    d.table_name,
                    d.row_count
                from strongroom_private.list_deletions(v_before) as d
                union all
                select
                    h.table_name,
                    -h.row_count
                from jsonb_to_recordset(v_handled) as h (table_name text, row_count bigint)
            ) as u
            group by u.table_name
        ) as d;
        if p_dry_run then
            perform strongroom_private.undo_dry_run();
        end if;
    exception
        when sqlstate 'SR099' then
            null;
    end;
    perform set_config('strongroom.erasing', '', true);
    return query
    select
        split_part(i.table_name, '.', 2),
        i.action,
        sum(i.row_count)::bigint
    from jsonb_to_recordset(v_items) as i (table_name text, action text, row_count bigint)
    group by
        i.table_name,
        i.action
    having sum(i.row_count) > 0
    order by
        i.table_name,
        i.action;
end
$$;
comment on function strongroom_private.erase_person(text, text, boolean) is
    'Do to every table what its erasure rules say; returns what was done, and for a dry run takes'
    ' it back. SECURITY DEFINER, see its comment in the migration. Errors: SR020, SR040.';

create function strongroom.erase_principal(
    p_tenant_id text,
    p_principal_id text,
    p_dry_run boolean default false,
    p_receipt_id text default null
)
returns table (receipt_id text, table_name text, action text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_receipt_id text := coalesce(p_receipt_id, gen_random_uuid()::text);
    v_items jsonb;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    -- As enter_tenant_to_write does.
    perform pg_advisory_xact_lock_shared(strongroom_private.tenant_lock_number(p_tenant_id));
    -- A suspended tenant's people have rights, too.
    if not exists (select from strongroom.tenants as t where t.tenant_id = p_tenant_id) then
        perform strongroom_private.fail(
            'not_found',
            'the tenant does not exist',
            '{"path": "tenant_id", "record": "tenant"}',
            'It may have been purged: then nothing of anybody is left in it.'
        );
    end if;
    if not strongroom_private.find_receipt(
        p_tenant_id, p_receipt_id, 'principal', p_principal_id
    ) then
        select coalesce(jsonb_agg(to_jsonb(e)), '[]')
        into v_items
        from strongroom_private.erase_person(
            p_tenant_id, p_principal_id, coalesce(p_dry_run, false)
        ) as e;
        if coalesce(p_dry_run, false) then
            return query
            select
                null::text,
                i.table_name,
                i.action,
                i.row_count
            from jsonb_to_recordset(v_items) as i (table_name text, action text, row_count bigint);
            return;
        end if;
        if v_items <> '[]' then
            perform strongroom_private.write_receipt(
                p_tenant_id, v_receipt_id, 'principal', p_principal_id, v_items
            );
            -- That somebody was erased, never who: the receipt has the salted hash.
            perform strongroom_private.record_audit(
                p_tenant_id, 'principal.erase', 'deletion_receipt', v_receipt_id
            );
        end if;
    end if;
    return query
    select
        i.receipt_id,
        i.table_name,
        i.action,
        i.row_count
    from strongroom.deletion_receipt_items as i
    where i.tenant_id = p_tenant_id
        and i.receipt_id = v_receipt_id
    order by
        i.table_name,
        i.action;
end
$$;
comment on function strongroom.erase_principal(text, text, boolean, text) is
    'Erase a person: everything that is theirs in every table, in one transaction, as the erasure'
    ' rules say; also in a suspended tenant. Conversations they own go with all that hangs on'
    ' them, live runs included. Returns the receipt: rows by table and action; it is stored under'
    ' a salted hash of the person. A repeat erases nothing, returns no row and stores no receipt;'
    ' one with the same receipt id returns the stored receipt. With p_dry_run the same counts, and'
    ' nothing has changed. Take the person''s access away first: what they write later is new.'
    ' Errors: SR001, SR004, SR010, SR011, SR020, SR040. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Purging a tenant
-- ---------------------------------------------------------------------------------------------

create function strongroom.purge_tenant(
    p_tenant_id text,
    p_dry_run boolean default false,
    p_receipt_id text default null
)
returns table (receipt_id text, table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_receipt_id text := coalesce(p_receipt_id, gen_random_uuid()::text);
    v_before jsonb;
    v_items jsonb;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    -- Whoever writes in the tenant is waited for; who comes later finds it gone.
    perform pg_advisory_xact_lock(strongroom_private.tenant_lock_number(p_tenant_id));
    if not strongroom_private.find_receipt(p_tenant_id, p_receipt_id, 'tenant', null) then
        begin
            -- Rows go by cascading foreign keys, which all lead to the tenant's row. Whoever is
            -- adding one holds it, and is waited for.
            v_before := strongroom_private.count_deletions();
            delete from strongroom.tenants as t
            where t.tenant_id = p_tenant_id;
            select coalesce(
                jsonb_agg(jsonb_build_object(
                    'table_name', split_part(d.table_name, '.', 2),
                    'action', 'delete',
                    'row_count', d.row_count
                )),
                '[]'
            )
            into v_items
            from strongroom_private.list_deletions(v_before) as d;
            if p_dry_run then
                perform strongroom_private.undo_dry_run();
            end if;
        exception
            when sqlstate 'SR099' then
                null;
        end;
        if p_dry_run then
            return query
            select
                null::text,
                i.table_name,
                i.row_count
            from jsonb_to_recordset(v_items) as i (table_name text, row_count bigint)
            order by i.table_name;
            return;
        end if;
        if v_items <> '[]' then
            perform strongroom_private.write_receipt(
                p_tenant_id, v_receipt_id, 'tenant', null, v_items
            );
        end if;
    end if;
    return query
    select
        i.receipt_id,
        i.table_name,
        i.row_count
    from strongroom.deletion_receipt_items as i
    where i.tenant_id = p_tenant_id
        and i.receipt_id = v_receipt_id
    order by i.table_name;
end
$$;
comment on function strongroom.purge_tenant(text, boolean, text) is
    'Delete a tenant and everything that is its, in one transaction. Returns the receipt: how many'
    ' rows each table lost; it is stored, and outlives the tenant. So does what is only about'
    ' deleting: receipts, and bytes that are still to be removed. A repeat deletes nothing, returns'
    ' no row and stores no receipt; one with the same receipt id returns the stored receipt. With'
    ' p_dry_run the same counts, and nothing has changed. Errors: SR001, SR004, SR011, SR020,'
    ' SR040. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Retention policies
-- ---------------------------------------------------------------------------------------------

create table strongroom.retention_policies (
    tenant_id text collate "C" not null,
    kind text collate "C" not null,
    keep_seconds bigint not null,
    version bigint not null default 1,
    last_write_id text collate "C",
    swept_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint retention_policies_pkey primary key (tenant_id, kind),
    constraint policy_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint kind_has_1_to_255_characters check (char_length(kind) between 1 and 255),
    constraint keep_seconds_are_at_most_a_century
        check (keep_seconds between 0 and 3155760000),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.retention_policies is
    'How long a tenant keeps records of a kind. Without a policy they stay.';
comment on column strongroom.retention_policies.tenant_id is 'The tenant.';
comment on column strongroom.retention_policies.kind is
    'Which records; the registry of retention kinds knows what that means.';
comment on column strongroom.retention_policies.keep_seconds is
    'How many seconds they are kept, counted from the moment that the kind says.';
comment on column strongroom.retention_policies.version is 'One more at every change.';
comment on column strongroom.retention_policies.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.retention_policies.swept_at is
    'When a sweep last left nothing to do. Null: not yet, with this policy.';
comment on column strongroom.retention_policies.created_at is 'When it was first set.';
comment on column strongroom.retention_policies.updated_at is 'When it was last set.';

create index policies_by_sweep
    on strongroom.retention_policies (swept_at nulls first);
comment on index strongroom.policies_by_sweep is 'Which tenants are due for a sweep.';

alter table strongroom.retention_policies enable row level security;
alter table strongroom.retention_policies force row level security;
create policy hosts_read on strongroom.retention_policies
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy hosts_read on strongroom.retention_policies is 'Hosts; and the dispatcher.';
create policy hosts_insert on strongroom.retention_policies
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.retention_policies is 'Hosts set policies.';
create policy hosts_update on strongroom.retention_policies
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_update on strongroom.retention_policies is 'Hosts set policies, and sweep.';
create policy hosts_delete on strongroom.retention_policies
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_delete on strongroom.retention_policies is 'Hosts remove policies.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.retention_policies',
    p_column => '',
    p_action => 'keep',
    p_reason => 'A rule of the tenant.'
);

-- SECURITY DEFINER: nobody but the owner reads the registry; its names are no secret to a host.
create function strongroom_private.list_retention_kinds()
returns table (kind text)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
    select k.kind
    from strongroom_private.retention_kinds as k
    where strongroom_private.bound_tenant() is not null
    order by k.kind
$$;
comment on function strongroom_private.list_retention_kinds() is
    'The kinds that a policy can be about. SECURITY DEFINER, see its comment in the migration.';

create function strongroom.set_retention_policy(
    p_tenant_id text,
    p_kind text,
    p_keep_seconds bigint,
    p_expected_version bigint,
    p_write_id text default null
)
returns table (
    tenant_id text,
    kind text,
    keep_seconds bigint,
    version bigint,
    swept_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_current strongroom.retention_policies;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_choice(
        'kind', p_kind, array(select k.kind from strongroom_private.list_retention_kinds() as k)
    );
    if p_keep_seconds is null or p_keep_seconds not between 0 and 3155760000 then
        perform strongroom_private.fail(
            case when p_keep_seconds > 3155760000 then 'limit_exceeded' else 'invalid_argument' end,
            'keep_seconds must be between 0 and 3155760000, a hundred years',
            jsonb_build_object(
                'path', 'keep_seconds', 'limit', 3155760000, 'actual', p_keep_seconds
            ),
            'A day has 86400 seconds. To keep for ever, remove the policy.'
        );
    end if;
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    if p_expected_version = 0 then
        insert into strongroom.retention_policies (tenant_id, kind, keep_seconds, last_write_id)
        values (p_tenant_id, p_kind, p_keep_seconds, p_write_id)
        on conflict on constraint retention_policies_pkey do nothing;
    else
        update strongroom.retention_policies as p
        set keep_seconds = p_keep_seconds,
            version = p.version + 1,
            last_write_id = p_write_id,
            swept_at = null,
            updated_at = now()
        where p.tenant_id = p_tenant_id
            and p.kind = p_kind
            and p.version = p_expected_version;
    end if;
    if not found then
        select p.*
        into v_current
        from strongroom.retention_policies as p
        where p.tenant_id = p_tenant_id
            and p.kind = p_kind;
        if v_current.last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write(
                'retention policy', p_expected_version, v_current.version
            );
        end if;
    else
        perform strongroom_private.record_audit(
            p_tenant_id,
            'retention.set',
            'retention_policy',
            p_kind,
            jsonb_build_object(
                'keep_seconds', p_keep_seconds, 'version', p_expected_version + 1
            )
        );
    end if;
    return query
    select
        p.tenant_id,
        p.kind,
        p.keep_seconds,
        p.version,
        p.swept_at,
        p.created_at,
        p.updated_at
    from strongroom.retention_policies as p
    where p.tenant_id = p_tenant_id
        and p.kind = p_kind;
end
$$;
comment on function strongroom.set_retention_policy(text, text, bigint, bigint, text) is
    'Say how many seconds a tenant keeps records of a kind, given the version of the policy that'
    ' was read, or 0 where there is none. Errors: SR001, SR004, SR010, SR012, SR020. Callers:'
    ' hosts.';

create function strongroom.remove_retention_policy(p_tenant_id text, p_kind text)
returns table (removed boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('kind', p_kind);
    delete from strongroom.retention_policies as p
    where p.tenant_id = p_tenant_id
        and p.kind = p_kind;
    removed := found;
    if removed then
        perform strongroom_private.record_audit(
            p_tenant_id, 'retention.remove', 'retention_policy', p_kind
        );
    end if;
    return next;
end
$$;
comment on function strongroom.remove_retention_policy(text, text) is
    'Keep records of a kind for ever; says whether there was a policy. Errors: SR001, SR004, SR010,'
    ' SR020. Callers: hosts.';

create function strongroom.list_retention_policies(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    kind text,
    keep_seconds bigint,
    version bigint,
    swept_at timestamptz,
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
    v_scope text := strongroom_private.cursor_scope('retention_policies', '{}', p_direction);
    v_key text;
    v_descending boolean;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    v_descending := (p_direction = 'backward') <> (p_before is not null);
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.kind,
                s.keep_seconds,
                s.version,
                s.swept_at,
                s.created_at,
                s.updated_at,
                strongroom_private.encode_cursor($3, array[s.kind]),
                s.total > $4
            from (
                select
                    p.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select p.*
                    from strongroom.retention_policies as p
                    where p.tenant_id = $1
                        and ($2 is null or p.kind %1$s $2)
                    order by p.kind %2$s
                    limit $4 + 1
                ) as p
            ) as s
            where s.place <= $4
            order by s.kind %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_retention_policies(text, integer, text, text, text) is
    'A page of a tenant''s policies by kind. has_more: whether rows follow in the paging direction.'
    ' Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The sweep
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.is_held_conversation(p_tenant_id text, p_conversation_id text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from strongroom.runs as r
        where r.tenant_id = p_tenant_id
            and r.conversation_id = p_conversation_id
            and r.status not in ('completed', 'failed', 'cancelled')
    )
    or exists (
        select
        from strongroom.interactions as i
        where i.tenant_id = p_tenant_id
            and i.conversation_id = p_conversation_id
            and i.status = 'pending'
    );
end
$$;
comment on function strongroom_private.is_held_conversation(text, text) is
    'Whether a conversation has a run that has not ended, or an interaction that is pending:'
    ' retention does not touch it.';

create function strongroom_private.is_idle_conversation(
    p_tenant_id text,
    p_conversation_id text,
    p_before timestamptz
)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = p_conversation_id
            and c.deleted_at is null
            and c.updated_at < p_before
            and not exists (
                select
                from (
                    select m.created_at
                    from strongroom.messages as m
                    where m.tenant_id = p_tenant_id
                        and m.conversation_id = p_conversation_id
                    order by m.position desc
                    limit 1
                ) as m
                where m.created_at >= p_before
            )
            and not exists (
                select
                from strongroom.runs as r
                where r.tenant_id = p_tenant_id
                    and r.conversation_id = p_conversation_id
                    and r.updated_at >= p_before
            )
    );
end
$$;
comment on function strongroom_private.is_idle_conversation(text, text, timestamptz) is
    'Whether nothing has happened in a conversation since: no change of it, no message, no run.';

create function strongroom_private.sweep_conversations(
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
    v_conversation_id text;
begin
    row_count := 0;
    held := 0;
    for v_conversation_id in
        select c.id
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.created_at < p_before
            and c.deleted_at is null
            and strongroom_private.is_idle_conversation(c.tenant_id, c.id, p_before)
        order by
            c.created_at,
            c.id
    loop
        if strongroom_private.is_held_conversation(p_tenant_id, v_conversation_id) then
            held := held + 1;
            continue;
        end if;
        exit when row_count >= p_limit;
        -- A writer that is at it is left alone. Under the lock nobody writes: look again.
        perform
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = v_conversation_id
        for update skip locked;
        continue when not found;
        if strongroom_private.is_idle_conversation(p_tenant_id, v_conversation_id, p_before)
            and not strongroom_private.is_held_conversation(p_tenant_id, v_conversation_id)
        then
            update strongroom.conversations as c
            set deleted_at = now(),
                updated_at = now(),
                version = c.version + 1
            where c.tenant_id = p_tenant_id
                and c.id = v_conversation_id;
            row_count := row_count + 1;
        end if;
    end loop;
    return next;
end
$$;
comment on function strongroom_private.sweep_conversations(text, timestamptz, integer) is
    'Retention: soft-delete conversations in which nothing has happened since. held: how many stay'
    ' because of a run or an interaction, of those looked at.';

create function strongroom_private.sweep_deleted_conversations(
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
    v_conversation_id text;
begin
    row_count := 0;
    held := 0;
    for v_conversation_id in
        select c.id
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.deleted_at < p_before
        order by
            c.deleted_at,
            c.id
    loop
        if strongroom_private.is_held_conversation(p_tenant_id, v_conversation_id) then
            held := held + 1;
            continue;
        end if;
        exit when row_count >= p_limit;
        -- It may have been restored in this moment.
        perform
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = v_conversation_id
            and c.deleted_at < p_before
        for update skip locked;
        continue when not found;
        if not strongroom_private.is_held_conversation(p_tenant_id, v_conversation_id) then
            delete from strongroom.conversations as c
            where c.tenant_id = p_tenant_id
                and c.id = v_conversation_id;
            row_count := row_count + 1;
        end if;
    end loop;
    return next;
end
$$;
comment on function strongroom_private.sweep_deleted_conversations(text, timestamptz, integer) is
    'Retention: purge conversations that were soft-deleted before, with all that hangs on them.'
    ' held: how many stay because of a run or an interaction, of those looked at.';

create function strongroom_private.sweep_run_events(
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
    v_run_id text;
    v_count bigint;
begin
    row_count := 0;
    held := 0;
    for v_run_id in
        select r.id
        from strongroom.runs as r
        where r.tenant_id = p_tenant_id
            and r.finished_at < p_before
            and exists (
                select
                from strongroom.run_events as e
                where e.tenant_id = r.tenant_id
                    and e.run_id = r.id
            )
        -- Under the run's lock nobody else deletes them, and who has it goes on: no sweep waits.
        for no key update of r skip locked
    loop
        delete from strongroom.run_events as e
        where e.tenant_id = p_tenant_id
            and e.run_id = v_run_id
            and e.sequence in (
                select o.sequence
                from strongroom.run_events as o
                where o.tenant_id = p_tenant_id
                    and o.run_id = v_run_id
                order by o.sequence
                limit p_limit - row_count
            );
        get diagnostics v_count = row_count;
        row_count := row_count + v_count;
        exit when row_count >= p_limit;
    end loop;
    return next;
end
$$;
comment on function strongroom_private.sweep_run_events(text, timestamptz, integer) is
    'Retention: delete the events of runs that ended before. Their messages stay.';

create function strongroom_private.sweep_checkpoints(
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
    v_run_id text;
    v_count bigint;
begin
    row_count := 0;
    held := 0;
    for v_run_id in
        select r.id
        from strongroom.runs as r
        where r.tenant_id = p_tenant_id
            and r.finished_at < p_before
            and exists (
                select
                from strongroom.checkpoints as k
                where k.tenant_id = r.tenant_id
                    and k.run_id = r.id
            )
        -- Under the run's lock nobody else deletes them, and who has it goes on: no sweep waits.
        for no key update of r skip locked
    loop
        delete from strongroom.checkpoints as k
        where k.tenant_id = p_tenant_id
            and k.run_id = v_run_id
            and k.sequence in (
                select o.sequence
                from strongroom.checkpoints as o
                where o.tenant_id = p_tenant_id
                    and o.run_id = v_run_id
                order by o.sequence
                limit p_limit - row_count
            );
        get diagnostics v_count = row_count;
        row_count := row_count + v_count;
        exit when row_count >= p_limit;
    end loop;
    return next;
end
$$;
comment on function strongroom_private.sweep_checkpoints(text, timestamptz, integer) is
    'Retention: delete the checkpoints of runs that ended before.';

create function strongroom_private.sweep_topic_events(
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
    v_topic text;
    v_sequence bigint;
    v_trimmed bigint;
begin
    row_count := 0;
    held := 0;
    for v_topic in
        select t.id
        from strongroom.topics as t
        where t.tenant_id = p_tenant_id
            and t.trimmed_to_sequence < t.last_sequence
        order by t.id
    loop
        exit when row_count >= p_limit;
        -- From the beginning up to the first that is not old enough.
        select coalesce(
            min(e.sequence) filter (where e.created_at >= p_before) - 1,
            max(e.sequence)
        )
        into v_sequence
        from (
            select
                e.sequence,
                e.created_at
            from strongroom.topic_events as e
            where e.tenant_id = p_tenant_id
                and e.topic = v_topic
            order by e.sequence
            limit p_limit - row_count
        ) as e;
        continue when coalesce(v_sequence, 0) < 1;
        -- Who publishes to the topic at this moment goes on: no sweep waits.
        perform
        from strongroom.topics as t
        where t.tenant_id = p_tenant_id
            and t.id = v_topic
        for no key update skip locked;
        continue when not found;
        select t.trimmed
        into v_trimmed
        from strongroom.trim_topic(
            p_tenant_id, v_topic, v_sequence, (p_limit - row_count)::integer
        ) as t;
        row_count := row_count + v_trimmed;
    end loop;
    return next;
end
$$;
comment on function strongroom_private.sweep_topic_events(text, timestamptz, integer) is
    'Retention: trim topics, from their beginning, up to the first event that is not old enough.';

-- SECURITY DEFINER: retention deletes from tables in which nobody else may. It works in the bound
-- tenant alone, for hosts alone, and on what a registered kind says.
create function strongroom_private.sweep_records(
    p_tenant_id text,
    p_kind text,
    p_before timestamptz,
    p_limit integer
)
returns table (row_count bigint, held bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kind strongroom_private.retention_kinds;
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true)
        or p_tenant_id is distinct from strongroom_private.bound_tenant()
    then
        perform strongroom_private.fail(
            'permission_denied',
            'only hosts sweep, in the bound tenant',
            '{}',
            'Call sweep_retention, connected as strongroom_host.'
        );
    end if;
    select k.*
    into strict v_kind
    from strongroom_private.retention_kinds as k
    where k.kind = p_kind;
    perform set_config('strongroom.erasing', 'on', true);
    if v_kind.handler is not null then
        execute format('select h.row_count, h.held from %s($1, $2, $3) as h', v_kind.handler)
        into row_count, held
        using p_tenant_id, p_before, p_limit;
    else
        execute format(
            'delete from %1$s as d where d.ctid = any (array('
            ' select t.ctid from %1$s as t'
            ' where t.tenant_id = $1 and %2$s < $2 and (%3$s)'
            ' order by %2$s limit $3 for update of t skip locked))',
            v_kind.table_name,
            v_kind.moment,
            coalesce(v_kind.condition, 'true')
        )
        using p_tenant_id, p_before, p_limit;
        get diagnostics row_count = row_count;
        held := 0;
    end if;
    perform set_config('strongroom.erasing', '', true);
    return next;
end
$$;
comment on function strongroom_private.sweep_records(text, text, timestamptz, integer) is
    'End up to p_limit records of a kind whose moment is before; returns how many, and how many had'
    ' to stay. SECURITY DEFINER, see its comment in the migration. Errors: SR020.';

-- SECURITY DEFINER: a sweep serves every tenant. It says the ids of tenants that have a policy
-- which is due, and nothing else; whoever sweeps then does so bound to one of them.
create function strongroom_private.list_tenants_to_sweep(p_limit integer)
returns table (tenant_id text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_candidates text[];
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true) then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts sweep', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform set_config('strongroom.dispatching', 'on', true);
    v_candidates := array(
        select p.tenant_id
        from strongroom.retention_policies as p
        where p.swept_at is null
            or p.swept_at < now() - interval '1 hour'
        group by p.tenant_id
        order by
            min(coalesce(p.swept_at, '-infinity')),
            p.tenant_id
    );
    foreach tenant_id in array v_candidates loop
        exit when p_limit <= 0;
        perform strongroom_private.enter_tenant(tenant_id);
        if strongroom_private.is_active_tenant(tenant_id) then
            p_limit := p_limit - 1;
            return next;
        end if;
    end loop;
    perform set_config('strongroom.dispatching', '', true);
end
$$;
comment on function strongroom_private.list_tenants_to_sweep(integer) is
    'The tenants with a policy that no sweep has finished for an hour, the longest waiting first.'
    ' SECURITY DEFINER, see its comment in the migration. Errors: SR020.';

create function strongroom.sweep_retention(
    p_tenant_id text default null,
    p_limit integer default 100,
    p_dry_run boolean default false
)
returns table (tenant_id text, kind text, row_count bigint, held bigint, has_more boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_tenant_id text;
    v_policy record;
    v_swept jsonb;
begin
    perform strongroom_private.check_limit(p_limit);
    if p_dry_run then
        begin
            select coalesce(jsonb_agg(to_jsonb(s)), '[]')
            into v_swept
            from strongroom.sweep_retention(p_tenant_id, p_limit) as s;
            perform strongroom_private.undo_dry_run();
        exception
            when sqlstate 'SR099' then
                null;
        end;
        return query
        select
            s.tenant_id,
            s.kind,
            s.row_count,
            s.held,
            s.has_more
        from jsonb_to_recordset(v_swept) as s (
            tenant_id text, kind text, row_count bigint, held bigint, has_more boolean
        );
        return;
    end if;
    for v_tenant_id in
        select p_tenant_id
        where p_tenant_id is not null
        union all
        select s.tenant_id
        from strongroom_private.list_tenants_to_sweep(
            case when p_tenant_id is null then p_limit else 0 end
        ) as s
    loop
        if p_tenant_id is null then
            continue when not strongroom_private.hold_active_tenant(v_tenant_id);
        else
            perform strongroom_private.enter_tenant_to_write(v_tenant_id);
        end if;
        -- Two sweeps of one tenant take turns; the policies are their lock.
        for v_policy in
            select
                p.kind,
                p.keep_seconds
            from strongroom.retention_policies as p
            where p.tenant_id = v_tenant_id
            order by p.kind
            for update
        loop
            tenant_id := v_tenant_id;
            kind := v_policy.kind;
            select
                s.row_count,
                s.held
            into
                row_count,
                held
            from strongroom_private.sweep_records(
                v_tenant_id,
                v_policy.kind,
                now() - v_policy.keep_seconds * interval '1 second',
                p_limit
            ) as s;
            has_more := row_count >= p_limit;
            update strongroom.retention_policies as p
            set swept_at = case when has_more then p.swept_at else now() end
            where p.tenant_id = v_tenant_id
                and p.kind = v_policy.kind;
            return next;
        end loop;
    end loop;
end
$$;
comment on function strongroom.sweep_retention(text, integer, boolean) is
    'One bounded step of retention: for each policy of the tenant end up to p_limit records that'
    ' are older than it says. Returns per kind how many it ended, how many conversations had to'
    ' stay because of a run or an interaction, and whether more is left. Without a tenant: for up'
    ' to p_limit tenants that are due. Never touches a live run, a pending interaction or a'
    ' conversation that has one; skips what others have locked. With p_dry_run the same counts, and'
    ' nothing has changed. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom_private.schedule_call(
    p_name text,
    p_schedule text,
    p_call text,
    p_instead text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_job bigint;
    v_function regproc := to_regprocedure('cron.schedule(text, text, text)')::regproc;
begin
    if v_function is null then
        perform strongroom_private.fail(
            'missing_capability',
            'this database has no pg_cron',
            '{"capability": "pg_cron"}',
            format('Create the extension pg_cron, or run `%s` from a scheduler.', p_instead)
        );
    end if;
    execute format('select %s($1, $2, $3)', v_function)
    into v_job
    using p_name, p_schedule, p_call;
    return v_job;
end
$$;
comment on function strongroom_private.schedule_call(text, text, text, text) is
    'Where the server has pg_cron: make this call on this schedule, as the schema''s owner; returns'
    ' the job''s id. p_instead is what a scheduler runs elsewhere. Errors: SR040.';

create function strongroom_private.schedule_retention(p_schedule text default '*/5 * * * *')
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select strongroom_private.schedule_call(
        'strongroom retention',
        p_schedule,
        'select * from strongroom.sweep_retention(null, 100)',
        'strongroom retention sweep'
    )
$$;
comment on function strongroom_private.schedule_retention(text) is
    'Where the server has pg_cron: sweep on this schedule, as the schema''s owner; returns the'
    ' job''s id. A repeat changes the schedule. Errors: SR040. Callers: the owner.';

create function strongroom_private.schedule_audit_seals(p_schedule text default '*/5 * * * *')
returns bigint
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select strongroom_private.schedule_call(
        'strongroom audit seals',
        p_schedule,
        'select * from strongroom.seal_audits(200)',
        'strongroom audit seal'
    )
$$;
comment on function strongroom_private.schedule_audit_seals(text) is
    'Where the server has pg_cron: seal the audit of all tenants on this schedule, as the schema''s'
    ' owner; returns the job''s id. A repeat changes the schedule. Errors: SR040. Callers: the'
    ' owner.';


-- ---------------------------------------------------------------------------------------------
-- What can be kept for a time only
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_retention_kind(
    p_kind => 'conversations',
    p_table => 'strongroom.conversations',
    p_description => 'Living conversations, by their last activity: they are soft-deleted.',
    p_handler => 'strongroom_private.sweep_conversations'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'deleted_conversations',
    p_table => 'strongroom.conversations',
    p_description => 'Soft-deleted conversations, by their deletion: they are purged.',
    p_handler => 'strongroom_private.sweep_deleted_conversations'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'run_events',
    p_table => 'strongroom.run_events',
    p_description => 'Events of ended runs, by the end of the run. Its messages stay.',
    p_handler => 'strongroom_private.sweep_run_events'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'checkpoints',
    p_table => 'strongroom.checkpoints',
    p_description => 'Checkpoints of ended runs, by the end of the run.',
    p_handler => 'strongroom_private.sweep_checkpoints'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'interactions',
    p_table => 'strongroom.interactions',
    p_description => 'Resolved interactions of ended runs, by their resolution.',
    p_moment => 't.resolved_at',
    p_condition => 'exists (select from strongroom.runs as r where r.tenant_id = t.tenant_id'
        ' and r.id = t.run_id and r.finished_at < $2)'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'approval_grants',
    p_table => 'strongroom.approval_grants',
    p_description => 'Grants that are revoked or have expired, by that moment.',
    p_moment => 'least(t.revoked_at, t.expires_at)'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'jobs',
    p_table => 'strongroom.jobs',
    p_description => 'Ended jobs, by their end.',
    p_moment => 't.finished_at'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'memories',
    p_table => 'strongroom.memories',
    p_description => 'Facts about people, by their last change or use. No tombstone is left.',
    p_moment => 'greatest(t.updated_at, t.last_used_at)'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'tool_outputs',
    p_table => 'strongroom.tool_outputs',
    p_description => 'Outputs of tools, by their creation, where no run is unfinished.',
    p_moment => 't.created_at',
    p_condition => 'not exists (select from strongroom.runs as r where r.tenant_id = t.tenant_id'
        ' and r.conversation_id = t.conversation_id and r.finished_at is null)'
);
select strongroom_private.publish_retention_kind(
    p_kind => 'topic_events',
    p_table => 'strongroom.topic_events',
    p_description => 'Events of topics, by their age, from the beginning of the topic.',
    p_handler => 'strongroom_private.sweep_topic_events'
);


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table',
    '{strongroom.deletion_receipts,strongroom.deletion_receipt_items}',
    '{select,insert}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.retention_policies}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
-- The handlers run inside erase_person and sweep_records, with the owner's rights.
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.digest_subject,
        strongroom_private.find_receipt,
        strongroom_private.write_receipt,
        strongroom_private.erase_person,
        strongroom_private.list_retention_kinds,
        strongroom_private.sweep_records,
        strongroom_private.list_tenants_to_sweep,
        strongroom.erase_principal,
        strongroom.purge_tenant,
        strongroom.list_deletion_receipts,
        strongroom.set_retention_policy,
        strongroom.remove_retention_policy,
        strongroom.list_retention_policies,
        strongroom.sweep_retention
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(13, 'lifecycle');
