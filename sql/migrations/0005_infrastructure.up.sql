-- strongroom 0005: infrastructure
--
-- Purpose     What durable work stands on: jobs with leases, locks with fencing tokens, and the
--             change feed that subscribers follow.
-- Jobs        The state machine is one table of transitions. A job is claimed under a lease with a
--             token from a sequence: strictly growing, whatever is deleted. Only rows with is_ready
--             are ever looked at by a claim; ended, future and running ones are in no index that it
--             reads. An expired lease is claimed like any other job, and a job whose last attempt
--             lost its worker fails.
-- Locks       One row per name. A lock that is released or has expired keeps its row; the token
--             comes from a sequence, so it grows also when the row is gone.
-- Feed        Events of a topic are numbered without gaps under the topic's row, so commit order is
--             number order. NOTIFY only says that there is something new: it carries ids, it may be
--             missing, and nothing that it does can fail a write.
-- Row locks   A call locks jobs in the order of their ids, one topic, or one lock. Claims and
--             acquires skip what is locked. Nothing that tenants share is locked.
-- Tenants     Workers serve all tenants, so claiming looks across them, in dispatch_jobs alone.

select strongroom_private.begin_migration(5, 'infrastructure');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '5';
select strongroom_private.require_transaction(5);

create sequence strongroom.job_claim_tokens as bigint maxvalue 9007199254740991;
comment on sequence strongroom.job_claim_tokens is
    'Claim tokens of jobs: strictly growing, also when the job of an earlier one is gone. Safe as a'
    ' JavaScript number.';

create sequence strongroom.lock_tokens as bigint maxvalue 9007199254740991;
comment on sequence strongroom.lock_tokens is
    'Fencing tokens of locks: strictly growing over release, expiry and deletion. Safe as a'
    ' JavaScript number.';


-- ---------------------------------------------------------------------------------------------
-- Jobs
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.list_job_transitions()
returns table (from_status text, to_status text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select
        v.from_status,
        v.to_status
    from (values
        ('queued', 'running'),
        ('queued', 'cancelled'),
        ('running', 'queued'),
        ('running', 'retry_pending'),
        ('running', 'completed'),
        ('running', 'failed'),
        ('running', 'cancelled'),
        ('retry_pending', 'queued'),
        ('retry_pending', 'cancelled')
    ) as v (from_status, to_status)
$$;
comment on function strongroom_private.list_job_transitions() is
    'The state machine of jobs: every step that there is. completed, failed and cancelled are'
    ' final.';

create table strongroom.jobs (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    queue text collate "C" not null,
    kind text collate "C" not null,
    payload jsonb not null default '{}',
    dedupe_key text collate "C",
    priority integer not null default 0,
    status text collate "C" not null default 'queued',
    is_ready boolean not null,
    attempt integer not null default 0,
    max_attempts integer not null default 5,
    backoff_seconds double precision not null default 1,
    max_backoff_seconds double precision not null default 3600,
    available_at timestamptz not null,
    claimable_at timestamptz,
    lease_expires_at timestamptz,
    claim_token bigint,
    worker_id text collate "C",
    error jsonb,
    creation_digest text collate "C" not null,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz not null default now(),
    constraint jobs_pkey primary key (tenant_id, id),
    constraint job_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint queue_has_1_to_255_characters check (char_length(queue) between 1 and 255),
    constraint kind_has_1_to_255_characters check (char_length(kind) between 1 and 255),
    constraint dedupe_key_has_1_to_255_characters check (char_length(dedupe_key) between 1 and 255),
    constraint status_is_known check (status in (
        'queued', 'running', 'retry_pending', 'completed', 'failed', 'cancelled'
    )),
    constraint only_a_waiting_job_is_ready check (
        not is_ready or status in ('queued', 'running')
    ),
    constraint an_ended_job_is_not_claimable check (
        claimable_at is null or status in ('queued', 'running', 'retry_pending')
    ),
    constraint a_job_becomes_claimable_in_one_way check (not is_ready or claimable_at is null),
    constraint a_job_that_has_not_ended_is_found_again check (
        is_ready
        or claimable_at is not null
        or status not in ('queued', 'running', 'retry_pending')
    ),
    constraint a_running_job_has_a_claim check (
        status <> 'running'
        or (
            claim_token is not null
            and worker_id is not null
            and lease_expires_at is not null
            and started_at is not null
        )
    ),
    constraint only_a_running_job_has_a_lease check (
        lease_expires_at is null or status = 'running'
    ),
    constraint an_ended_job_knows_when check (
        (finished_at is not null) = (status in ('completed', 'failed', 'cancelled'))
    ),
    constraint a_failed_job_says_why check (status <> 'failed' or error is not null),
    constraint attempt_is_not_negative check (attempt >= 0),
    constraint max_attempts_is_positive check (max_attempts > 0),
    constraint backoff_is_not_negative check (backoff_seconds >= 0),
    constraint max_backoff_is_at_most_a_year check (max_backoff_seconds between 0 and 31536000),
    constraint payload_is_an_object check (jsonb_typeof(payload) = 'object'),
    constraint payload_has_at_most_64_kib check (octet_length(payload::text) <= 65536),
    constraint error_has_at_most_64_kib check (octet_length(error::text) <= 65536)
)
with (
    fillfactor = 70,
    -- A claim walks the index pages that earlier ones have left behind, until a vacuum frees them.
    -- The few dead rows of a long history would not start one, nor make it clean the indexes.
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.01,
    vacuum_index_cleanup = on
);
comment on table strongroom.jobs is 'Work to be done once, by any worker, with retries.';
comment on column strongroom.jobs.tenant_id is 'The tenant.';
comment on column strongroom.jobs.id is 'The job''s id, unique in the tenant.';
comment on column strongroom.jobs.queue is
    'The queue: workers claim from the queues that they name.';
comment on column strongroom.jobs.kind is 'What is to be done, for the worker to choose a handler.';
comment on column strongroom.jobs.payload is 'The particulars, at most 64 KiB.';
comment on column strongroom.jobs.dedupe_key is
    'A key that one job of the queue holds at a time, from enqueueing until it has ended.';
comment on column strongroom.jobs.priority is
    'Higher ones are claimed first within tenant and queue.';
comment on column strongroom.jobs.status is 'Where it stands; see list_job_transitions.';
comment on column strongroom.jobs.is_ready is 'Whether a worker may claim it now.';
comment on column strongroom.jobs.attempt is 'How often it has been claimed: 1 for the first time.';
comment on column strongroom.jobs.max_attempts is 'How many attempts it has.';
comment on column strongroom.jobs.backoff_seconds is
    'The wait before the second attempt; it doubles with each further one.';
comment on column strongroom.jobs.max_backoff_seconds is 'The longest such wait.';
comment on column strongroom.jobs.available_at is 'Not before this time.';
comment on column strongroom.jobs.claimable_at is
    'When it becomes ready by itself: its due time, or the end of its lease.';
comment on column strongroom.jobs.lease_expires_at is
    'Until when the claim holds without a heartbeat.';
comment on column strongroom.jobs.claim_token is 'The newest claim''s token; every write names it.';
comment on column strongroom.jobs.worker_id is 'Who holds or held the newest claim.';
comment on column strongroom.jobs.error is 'Why it failed, or why it is being retried.';
comment on column strongroom.jobs.creation_digest is
    'Hash of what it was enqueued with, to know a repeated call.';
comment on column strongroom.jobs.created_at is 'When it was enqueued.';
comment on column strongroom.jobs.started_at is 'When it was first claimed.';
comment on column strongroom.jobs.finished_at is 'When it ended.';
comment on column strongroom.jobs.updated_at is 'When it last changed.';

create unique index a_dedupe_key_is_held_by_one_job
    on strongroom.jobs (tenant_id, queue, dedupe_key)
    where dedupe_key is not null and status in ('queued', 'running', 'retry_pending');
comment on index strongroom.a_dedupe_key_is_held_by_one_job is
    'A key is held by a job until it has ended.';
create index jobs_by_dedupe_key
    on strongroom.jobs (tenant_id, queue, dedupe_key, created_at)
    where dedupe_key is not null;
comment on index strongroom.jobs_by_dedupe_key is 'The last job that had a key.';
create index ready_jobs
    on strongroom.jobs (queue, tenant_id, priority desc, created_at, id)
    where is_ready;
comment on index strongroom.ready_jobs is
    'What can be claimed, queue by queue and tenant by tenant. Ended, running and future jobs are'
    ' not in it.';
create index jobs_by_due_time
    on strongroom.jobs (claimable_at)
    where claimable_at is not null;
comment on index strongroom.jobs_by_due_time is
    'Jobs that become ready by time, and leases that end.';
create index jobs_by_creation
    on strongroom.jobs (tenant_id, created_at, id)
    -- True of every row. It keeps the index for queries that say so, that is, for pages: otherwise
    -- a plan that was made while the table was small looks up a single job in it, by walking all
    -- of the tenant's.
    where created_at > '-infinity';
comment on index strongroom.jobs_by_creation is
    'Pages of a tenant''s jobs, and of nothing else: a query uses it by repeating its condition.';
create index unfinished_jobs
    on strongroom.jobs (tenant_id, queue)
    where status in ('queued', 'running', 'retry_pending');
comment on index strongroom.unfinished_jobs is 'What has not ended: the figures of a queue.';

create function strongroom_private.check_job_transition()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- The two steps that nearly every job takes, without a query.
    if (old.status = 'queued' and new.status = 'running')
        or (old.status = 'running' and new.status = 'completed')
    then
        return new;
    end if;
    if not exists (
        select
        from strongroom_private.list_job_transitions() as t
        where t.from_status = old.status
            and t.to_status = new.status
    ) then
        perform strongroom_private.fail(
            'invalid_transition',
            format('a job cannot go from %s to %s', old.status, new.status),
            jsonb_build_object('record', 'job', 'from', old.status, 'to', new.status),
            'Read the job; completed, failed and cancelled jobs are final.'
        );
    end if;
    return new;
end
$$;
comment on function strongroom_private.check_job_transition() is
    'For the trigger of jobs: the status takes only the steps of list_job_transitions, whoever'
    ' writes.';

create trigger jobs_follow_the_state_machine
    before update of status on strongroom.jobs
    for each row
    when (old.status is distinct from new.status)
    execute function strongroom_private.check_job_transition();
comment on trigger jobs_follow_the_state_machine on strongroom.jobs is 'See check_job_transition.';

alter table strongroom.jobs enable row level security;
alter table strongroom.jobs force row level security;
create policy hosts_read on strongroom.jobs
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy hosts_read on strongroom.jobs is 'Hosts, and the dispatcher.';
create policy hosts_insert on strongroom.jobs
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_insert on strongroom.jobs is 'Hosts.';
create policy hosts_update on strongroom.jobs
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
comment on policy hosts_update on strongroom.jobs is 'Hosts, and the dispatcher.';
create policy hosts_delete on strongroom.jobs
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_delete on strongroom.jobs is 'Hosts prune ended jobs.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.jobs',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It is work to be done, not a person''s. Its payload should carry ids; it leaves'
        ' when it has ended, by prune_jobs or retention.'
);

create view strongroom.job_details
with (security_invoker = true)
as
select
    j.tenant_id,
    j.id,
    j.queue,
    j.kind,
    j.payload,
    j.dedupe_key,
    j.priority,
    j.status,
    j.attempt,
    j.max_attempts,
    j.backoff_seconds,
    j.max_backoff_seconds,
    j.available_at,
    j.lease_expires_at,
    j.claim_token,
    j.worker_id,
    j.error,
    j.created_at,
    j.started_at,
    j.finished_at,
    j.updated_at
from strongroom.jobs as j;
comment on view strongroom.job_details is
    'A job as the functions return it, without bookkeeping columns. Under the row security of the'
    ' reader.';

create type strongroom.enqueued_job as (
    tenant_id text,
    id text,
    queue text,
    kind text,
    payload jsonb,
    dedupe_key text,
    priority integer,
    status text,
    attempt integer,
    max_attempts integer,
    backoff_seconds double precision,
    max_backoff_seconds double precision,
    available_at timestamptz,
    lease_expires_at timestamptz,
    claim_token bigint,
    worker_id text,
    error jsonb,
    created_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz,
    outcome text,
    ended_job_id text
);
comment on type strongroom.enqueued_job is
    'job_details, and what became of the call: created, or duplicate of the job that is returned;'
    ' and for a created one the ended job that had its dedupe key before.';

create function strongroom_private.is_notifying()
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- NOTIFY lets the transactions that use it commit one after the other, and a COMMIT fails when
    -- the server's queue of notifications is full. So it can be turned off, and stops in time.
    return coalesce(current_setting('strongroom.notify', true), '') <> 'off'
        and pg_notification_queue_usage() < 0.5;
end
$$;
comment on function strongroom_private.is_notifying() is
    'Whether to use NOTIFY: not when the setting strongroom.notify is off (for a role, a database'
    ' or a transaction), and not when the server''s queue is half full.';

create function strongroom_private.wake_job_workers(p_queue text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if strongroom_private.is_notifying() then
        -- A hint and no more: workers also poll. Equal notifications of a transaction are one.
        perform pg_notify('strongroom_jobs', p_queue);
    end if;
exception
    when others then
        raise warning 'strongroom: no NOTIFY for queue %: %', p_queue, sqlerrm;
end
$$;
comment on function strongroom_private.wake_job_workers(text) is
    'Tell listening workers that a queue has something to claim, when this transaction commits.'
    ' Never fails.';

create function strongroom_private.check_seconds(
    p_field text,
    p_value double precision,
    p_least double precision,
    p_most double precision
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- NaN is greater than every number, so it is refused, too.
    if p_value is null or p_value < p_least or p_value > p_most then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be between %s and %s', p_field, p_least, p_most),
            jsonb_build_object('path', p_field, 'actual', p_value::text),
            'Give seconds.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_seconds(
    text, double precision, double precision, double precision
) is 'A duration in seconds within its limits. Errors: SR001.';

create function strongroom.enqueue_job(
    p_tenant_id text,
    p_kind text,
    p_payload jsonb default '{}',
    p_queue text default 'default',
    p_job_id text default null,
    p_dedupe_key text default null,
    p_priority integer default 0,
    p_delay_seconds double precision default 0,
    p_max_attempts integer default 5,
    p_backoff_seconds double precision default 1,
    p_max_backoff_seconds double precision default 3600
)
returns setof strongroom.enqueued_job
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id text := coalesce(p_job_id, gen_random_uuid()::text);
    v_now timestamptz := clock_timestamp();
    v_digest text;
    v_is_due boolean;
    v_holder text;
    v_ended text;
    v_other record;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('kind', p_kind);
    perform strongroom_private.check_id('queue', p_queue);
    perform strongroom_private.check_id('job_id', v_id);
    perform strongroom_private.check_optional_id('dedupe_key', p_dedupe_key);
    perform strongroom_private.check_object('payload', p_payload, 65536);
    perform strongroom_private.check_seconds('delay_seconds', p_delay_seconds, 0, 31536000);
    perform strongroom_private.check_seconds('backoff_seconds', p_backoff_seconds, 0, 31536000);
    perform strongroom_private.check_seconds(
        'max_backoff_seconds', p_max_backoff_seconds, 0, 31536000
    );
    if coalesce(p_max_attempts, 0) < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'max_attempts must be at least 1',
            '{"path": "max_attempts"}',
            'Give how often the job may be tried in all.'
        );
    end if;
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_kind, p_payload, p_queue, p_dedupe_key, coalesce(p_priority, 0), p_delay_seconds,
        p_max_attempts, p_backoff_seconds, p_max_backoff_seconds
    ));
    v_is_due := p_delay_seconds = 0;
    -- A job that holds the key may end between the two statements; then the key is free, and the
    -- next turn takes it.
    for v_turn in 1 .. 20 loop
        insert into strongroom.jobs (
            tenant_id, id, queue, kind, payload, dedupe_key, priority, is_ready, max_attempts,
            backoff_seconds, max_backoff_seconds, available_at, claimable_at, creation_digest,
            created_at
        )
        values (
            p_tenant_id,
            v_id,
            p_queue,
            p_kind,
            p_payload,
            p_dedupe_key,
            coalesce(p_priority, 0),
            v_is_due,
            p_max_attempts,
            p_backoff_seconds,
            p_max_backoff_seconds,
            v_now + make_interval(secs => p_delay_seconds),
            case when not v_is_due then v_now + make_interval(secs => p_delay_seconds) end,
            v_digest,
            v_now
        )
        on conflict do nothing;
        if found then
            -- NOTIFY is not free, and where others wait already, workers are awake or all busy.
            if v_is_due and not exists (
                select
                from strongroom.jobs as j
                where j.is_ready
                    and j.queue = p_queue
                    and j.tenant_id = p_tenant_id
                    and j.id <> v_id
            ) then
                perform strongroom_private.wake_job_workers(p_queue);
            end if;
            if p_dedupe_key is not null then
                select j.id
                into v_ended
                from strongroom.jobs as j
                where j.tenant_id = p_tenant_id
                    and j.queue = p_queue
                    and j.dedupe_key = p_dedupe_key
                    and j.id <> v_id
                order by j.created_at desc
                limit 1;
            end if;
            return query
            select
                d.*,
                'created'::text,
                v_ended
            from strongroom.job_details as d
            where d.tenant_id = p_tenant_id
                and d.id = v_id;
            return;
        end if;

        select
            j.id,
            j.creation_digest
        into v_other
        from strongroom.jobs as j
        where j.tenant_id = p_tenant_id
            and j.id = v_id;
        if found and v_other.creation_digest <> v_digest then
            perform strongroom_private.fail(
                'already_exists',
                'a job with this id was enqueued with other content',
                jsonb_build_object('path', 'job_id', 'record', 'job'),
                'Use a new id for a new job.'
            );
        end if;
        v_holder := coalesce(v_other.id, (
            select j.id
            from strongroom.jobs as j
            where j.tenant_id = p_tenant_id
                and j.queue = p_queue
                and j.dedupe_key = p_dedupe_key
                and j.status in ('queued', 'running', 'retry_pending')
        ));
        return query
        select
            d.*,
            'duplicate'::text,
            null::text
        from strongroom.job_details as d
        where d.tenant_id = p_tenant_id
            and d.id = v_holder;
        if found then
            return;
        end if;
    end loop;
    perform strongroom_private.fail(
        'unavailable',
        'the jobs that hold this dedupe key keep ending while the call asks for them',
        jsonb_build_object('path', 'dedupe_key'),
        'Call again.'
    );
end
$$;
comment on function strongroom.enqueue_job(
    text, text, jsonb, text, text, text, integer, double precision, integer, double precision,
    double precision
) is
    'Enqueue a job. outcome says created, or duplicate of the job that is returned with its'
    ' status: the same call before (same id and arguments), or the job of this queue that holds'
    ' the dedupe key. A key is held until its job has ended; with the key of an ended job a new'
    ' one is created, and ended_job_id names that one. Errors: SR001, SR004, SR010, SR011, SR020,'
    ' SR050. Callers: hosts.';

create function strongroom.find_job(p_tenant_id text, p_job_id text)
returns setof strongroom.job_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('job_id', p_job_id);
    return query
    select d.*
    from strongroom.job_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_job_id;
end
$$;
comment on function strongroom.find_job(text, text) is
    'The job, or no row. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom.list_jobs(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_queue text default null,
    p_status text default null
)
returns table (
    tenant_id text,
    id text,
    queue text,
    kind text,
    payload jsonb,
    dedupe_key text,
    priority integer,
    status text,
    attempt integer,
    max_attempts integer,
    backoff_seconds double precision,
    max_backoff_seconds double precision,
    available_at timestamptz,
    lease_expires_at timestamptz,
    claim_token bigint,
    worker_id text,
    error jsonb,
    created_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
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
    v_scope text := strongroom_private.cursor_scope(
        'jobs', jsonb_build_array(p_queue, p_status), p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_id('queue', p_queue);
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
                    j.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select j.id
                    from strongroom.jobs as j
                    where j.tenant_id = $1
                        and j.created_at > '-infinity'
                        and ($5 is null or j.queue = $5)
                        and ($6 is null or j.status = $6)
                        and ($2 is null or (j.created_at, j.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by j.created_at %2$s, j.id %2$s
                    limit $4 + 1
                ) as j
            ) as s
            cross join lateral (
                select d.*
                from strongroom.job_details as d
                where d.tenant_id = $1
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
    using p_tenant_id, v_keys, v_scope, p_limit, p_queue, p_status;
end
$$;
comment on function strongroom.list_jobs(text, integer, text, text, text, text, text) is
    'A page of jobs, forward newest first. Filters: queue, status. has_more: whether rows follow in'
    ' the paging direction. Errors: SR001, SR002, SR004, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Claims of jobs
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.mature_jobs()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- A value, not the function: a volatile call would be a filter on the whole index.
    v_now timestamptz := clock_timestamp();
begin
    -- Bounded, and skipping what others are working on: each claim moves on a little. Materialized,
    -- so that no plan can run the limited part more than once.
    with due as materialized (
        select
            d.tenant_id,
            d.id,
            d.status = 'running' and d.attempt >= d.max_attempts as is_lost
        from strongroom.jobs as d
        where d.claimable_at <= v_now
        order by d.claimable_at
        limit 100
        for update skip locked
    )
    update strongroom.jobs as j
    set is_ready = not due.is_lost,
        claimable_at = null,
        lease_expires_at = case when not due.is_lost then j.lease_expires_at end,
        status = case
            when due.is_lost then 'failed'
            when j.status = 'retry_pending' then 'queued'
            else j.status
        end,
        error = case
            when due.is_lost then jsonb_build_object(
                'code', 'worker_lost',
                'message', format('no worker finished the job in %s attempts', j.attempt)
            )
            else j.error
        end,
        finished_at = case when due.is_lost then v_now end,
        updated_at = v_now
    from due
    where j.tenant_id = due.tenant_id
        and j.id = due.id;
end
$$;
comment on function strongroom_private.mature_jobs() is
    'Make ready what has become due: jobs for later, retries, and running ones whose lease has'
    ' ended. One that has lost its worker in its last attempt fails.';

create function strongroom_private.find_next_ready_tenant(
    p_queues text[],
    p_after_tenant_id text
)
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- One probe of the index of ready jobs for each queue.
    return (
        select min(t.tenant_id)
        from unnest(p_queues) as q (queue)
        cross join lateral (
            select j.tenant_id
            from strongroom.jobs as j
            where j.is_ready
                and j.queue = q.queue
                and j.tenant_id > p_after_tenant_id
            order by j.tenant_id
            limit 1
        ) as t
    );
end
$$;
comment on function strongroom_private.find_next_ready_tenant(text[], text) is
    'The first tenant after this one with a ready job in one of these queues. For the dispatcher.';

create function strongroom_private.write_job_claims(
    p_tenant_id text,
    p_job_ids text[],
    p_worker_id text,
    p_lease_seconds double precision
)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
    return query
    update strongroom.jobs as j
    set status = 'running',
        is_ready = false,
        attempt = j.attempt + 1,
        claim_token = greatest(nextval('strongroom.job_claim_tokens'), j.claim_token + 1),
        worker_id = p_worker_id,
        lease_expires_at = clock_timestamp() + make_interval(secs => p_lease_seconds),
        claimable_at = clock_timestamp() + make_interval(secs => p_lease_seconds),
        started_at = coalesce(j.started_at, clock_timestamp()),
        updated_at = clock_timestamp()
    where j.tenant_id = p_tenant_id
        and j.id = any (p_job_ids)
    returning
        j.tenant_id,
        j.id,
        j.queue,
        j.kind,
        j.payload,
        j.dedupe_key,
        j.priority,
        j.status,
        j.attempt,
        j.max_attempts,
        j.backoff_seconds,
        j.max_backoff_seconds,
        j.available_at,
        j.lease_expires_at,
        j.claim_token,
        j.worker_id,
        j.error,
        j.created_at,
        j.started_at,
        j.finished_at,
        j.updated_at;
end
$$;
comment on function strongroom_private.write_job_claims(
    text, text[], text, double precision
) is
    'Write the claims of jobs that the caller has locked, each with a new token, and return them:'
    ' what a claim is stands here alone.';

create function strongroom_private.take_jobs(
    p_tenant_id text,
    p_queues text[],
    p_worker_id text,
    p_lease_seconds double precision,
    p_limit integer
)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue text;
    v_taken integer := 0;
    v_count integer;
begin
    perform set_config('strongroom.tenant_id', p_tenant_id, true);
    if not exists (
        select
        from strongroom.tenants as t
        where t.tenant_id = p_tenant_id
            and t.status = 'active'
    ) then
        -- Its jobs rest until it is resumed: their workers could write nothing.
        return;
    end if;
    foreach v_queue in array p_queues loop
        -- An array, not a join: the rows to lock are chosen once, in the order of the index.
        return query
        select c.*
        from strongroom_private.write_job_claims(
            p_tenant_id,
            array(
                select r.id
                from strongroom.jobs as r
                where r.is_ready
                    and r.queue = v_queue
                    and r.tenant_id = p_tenant_id
                order by
                    r.priority desc,
                    r.created_at,
                    r.id
                limit p_limit - v_taken
                for update skip locked
            ),
            p_worker_id,
            p_lease_seconds
        ) as c
        -- An update returns its rows in no order, and a worker begins with the first.
        order by
            c.priority desc,
            c.created_at,
            c.id;
        get diagnostics v_count = row_count;
        v_taken := v_taken + v_count;
        exit when v_taken >= p_limit;
    end loop;
end
$$;
comment on function strongroom_private.take_jobs(
    text, text[], text, double precision, integer
) is
    'Claim up to p_limit ready jobs of one tenant, queue after queue in the order that is given,'
    ' skipping what is locked. For the dispatcher.';

-- SECURITY DEFINER: workers serve every tenant, and row security binds a host to one. This function
-- sees which tenants have ready jobs, takes the next ones after p_after_tenant_id in turn, writes
-- the claims, and returns the claimed jobs and nothing else. Only a host may call it.
create function strongroom_private.dispatch_jobs(
    p_worker_id text,
    p_queues text[],
    p_lease_seconds double precision,
    p_limit integer,
    p_after_tenant_id text,
    p_tenant_id text
)
returns setof strongroom.job_details
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- A claim walks the two indexes that are made for it, row by row. A plan that was made while the
-- table was small would read all of it, or of another index; and only this walk marks the entries
-- of earlier claims as dead, so that the next one does not go to their rows again.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- There is one way: planning it anew for each claim, which took most of its time, is wasted.
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_bound text := coalesce(current_setting('strongroom.tenant_id', true), '');
    v_tenant_id text;
    v_passed text := coalesce(p_after_tenant_id, '');
    v_tenants integer := 0;
    v_share integer := p_limit;
    v_taken integer := 0;
    -- The first round starts in the middle; it is followed by one from the beginning in any case.
    v_go_round boolean := v_passed <> '';
    v_count integer;
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true) then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts claim jobs', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform set_config('strongroom.dispatching', 'on', true);
    perform strongroom_private.mature_jobs();
    if p_tenant_id is not null then
        return query
        select t.*
        from strongroom_private.take_jobs(
            p_tenant_id, p_queues, p_worker_id, p_lease_seconds, p_limit
        ) as t;
    else
        if p_limit > 1 then
            -- The tenants that have ready jobs share the claim evenly.
            v_tenant_id := '';
            while v_tenants < p_limit loop
                v_tenant_id := strongroom_private.find_next_ready_tenant(p_queues, v_tenant_id);
                exit when v_tenant_id is null;
                v_tenants := v_tenants + 1;
            end loop;
            v_share := (p_limit + v_tenants - 1) / greatest(v_tenants, 1);
        end if;
        while v_taken < p_limit loop
            v_tenant_id := strongroom_private.find_next_ready_tenant(p_queues, v_passed);
            if v_tenant_id is null then
                exit when not v_go_round;
                v_passed := '';
                v_go_round := false;
                continue;
            end if;
            v_passed := v_tenant_id;
            return query
            select t.*
            from strongroom_private.take_jobs(
                v_tenant_id,
                p_queues,
                p_worker_id,
                p_lease_seconds,
                least(v_share, p_limit - v_taken)
            ) as t;
            get diagnostics v_count = row_count;
            v_taken := v_taken + v_count;
            -- Whoever gave its share may have more, so there is another round.
            v_go_round := v_go_round or v_count = v_share;
        end loop;
    end if;
    perform set_config('strongroom.dispatching', '', true);
    perform set_config('strongroom.tenant_id', v_bound, true);
end
$$;
comment on function strongroom_private.dispatch_jobs(
    text, text[], double precision, integer, text, text
) is
    'Choose and claim ready jobs, tenant after tenant. SECURITY DEFINER, see its comment in the'
    ' migration. Errors: SR020.';

create function strongroom_private.check_claim(
    p_worker_id text,
    p_queues text[],
    p_lease_seconds double precision,
    p_after_tenant_id text,
    p_tenant_id text
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_lease(p_worker_id, p_lease_seconds);
    perform strongroom_private.check_ids('queues', p_queues);
    if cardinality(p_queues) not between 1 and 100 then
        perform strongroom_private.fail(
            'invalid_argument',
            'queues must name 1 to 100 queues',
            jsonb_build_object('path', 'queues', 'actual', cardinality(p_queues)),
            'Give the queues that this worker serves, the preferred ones first.'
        );
    end if;
    perform strongroom_private.check_optional_id('after_tenant_id', p_after_tenant_id);
    perform strongroom_private.check_optional_id('tenant_id', p_tenant_id);
end
$$;
comment on function strongroom_private.check_claim(
    text, text[], double precision, text, text
) is 'The arguments that every claim of jobs has. Errors: SR001, SR004.';

create function strongroom.claim_jobs(
    p_worker_id text,
    p_queues text[] default '{default}',
    p_lease_seconds double precision default 30,
    p_limit integer default 1,
    p_after_tenant_id text default null,
    p_tenant_id text default null
)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_claim(
        p_worker_id, p_queues, p_lease_seconds, p_after_tenant_id, p_tenant_id
    );
    perform strongroom_private.check_limit(p_limit);
    return query
    select d.*
    from strongroom_private.dispatch_jobs(
        p_worker_id, p_queues, p_lease_seconds, p_limit, p_after_tenant_id, p_tenant_id
    ) as d;
end
$$;
comment on function strongroom.claim_jobs(
    text, text[], double precision, integer, text, text
) is
    'Claim up to p_limit ready jobs of any tenant (or of one) for a worker: tenants in turn after'
    ' p_after_tenant_id, each an even share; within a tenant the queues in the order given, within'
    ' a queue by priority and age, and in that order they are returned; also running ones whose'
    ' lease has ended. Rows that others are claiming are skipped. Errors: SR001, SR004, SR020.'
    ' Callers: hosts.';

create function strongroom.claim_job(
    p_tenant_id text,
    p_job_id text,
    p_worker_id text,
    p_lease_seconds double precision default 30
)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_job strongroom.jobs;
    v_now timestamptz;
begin
    perform strongroom_private.check_lease(p_worker_id, p_lease_seconds);
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('job_id', p_job_id);
    select j.*
    into v_job
    from strongroom.jobs as j
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id
    for update;
    if not found then
        perform strongroom_private.fail_missed_write('job', null, null);
    end if;
    v_now := clock_timestamp();
    if not (v_job.is_ready or coalesce(v_job.claimable_at <= v_now, false))
        or (v_job.status = 'running' and v_job.attempt >= v_job.max_attempts)
    then
        return;
    end if;
    if v_job.status = 'retry_pending' then
        update strongroom.jobs as j
        set status = 'queued'
        where j.tenant_id = p_tenant_id
            and j.id = p_job_id;
    end if;
    return query
    select c.*
    from strongroom_private.write_job_claims(
        p_tenant_id, array[p_job_id], p_worker_id, p_lease_seconds
    ) as c;
end
$$;
comment on function strongroom.claim_job(text, text, text, double precision) is
    'Claim this job for a worker, to whom something else has brought its id; no row when it is not'
    ' claimable now: running with a lease, not due, ended, or lost for good by its last worker.'
    ' Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom_private.fail_stale_job_claim(p_tenant_id text, p_jobs jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_stale jsonb;
begin
    select jsonb_agg(
        jsonb_build_object(
            'id', c.id, 'claim_token', c.claim_token, 'status', coalesce(j.status, 'absent')
        )
        order by c.id
    )
    into v_stale
    from jsonb_to_recordset(p_jobs) as c (id text, claim_token bigint)
    left join strongroom.jobs as j
        on j.tenant_id = p_tenant_id
        and j.id = c.id
    where j.claim_token is distinct from c.claim_token
        or j.status not in ('running', 'completed');
    perform strongroom_private.fail(
        'stale_claim',
        format(
            'the claim of job %s is no longer valid; the job is %s',
            v_stale -> 0 ->> 'id', v_stale -> 0 ->> 'status'
        ),
        jsonb_build_object('record', 'job', 'tenant_id', p_tenant_id, 'jobs', v_stale),
        'Stop working on these jobs: nothing of this call was written.'
    );
end
$$;
comment on function strongroom_private.fail_stale_job_claim(text, jsonb) is
    'Refuse a write by somebody who does not hold the jobs (any more), naming them. Errors: SR031.';

create function strongroom_private.fail_missed_job(
    p_tenant_id text,
    p_job_id text,
    p_claim_token bigint
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_status text;
begin
    select j.status
    into v_status
    from strongroom.jobs as j
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id;
    if v_status is null then
        perform strongroom_private.fail_missed_write('job', null, null);
    end if;
    perform strongroom_private.fail(
        'stale_claim',
        format('the claim of job %s is no longer valid; the job is %s', p_job_id, v_status),
        jsonb_build_object(
            'record', 'job',
            'tenant_id', p_tenant_id,
            'jobs', jsonb_build_array(jsonb_build_object(
                'id', p_job_id, 'claim_token', p_claim_token, 'status', v_status
            ))
        ),
        'Stop working on the job: nothing of this call was written.'
    );
end
$$;
comment on function strongroom_private.fail_missed_job(text, text, bigint) is
    'Say why a write under a claim touched no row: the job is gone (SR010) or the claim is'
    ' (SR031).';

create function strongroom_private.check_job_claims(p_jobs jsonb, p_keys text[], p_least integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_path text;
    v_key text;
begin
    if jsonb_typeof(p_jobs) is distinct from 'array'
        or jsonb_array_length(p_jobs) not between p_least and 500
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('jobs must be a list of %s to 500 claims', p_least),
            '{"path": "jobs"}',
            'Give id and claim_token of each.'
        );
    end if;
    for v_index in 0 .. jsonb_array_length(p_jobs) - 1 loop
        v_path := format('jobs[%s]', v_index);
        perform strongroom_private.check_keys(v_path, p_jobs -> v_index, p_keys);
        foreach v_key in array p_keys loop
            if v_key <> 'claim_token' then
                perform strongroom_private.check_id(
                    v_path || '.' || v_key, p_jobs -> v_index ->> v_key
                );
            elsif not coalesce(
                p_jobs -> v_index ->> v_key ~ '^[1-9][0-9]{0,15}$'
                and jsonb_typeof(p_jobs -> v_index -> v_key) = 'number',
                false
            ) then
                perform strongroom_private.fail(
                    'invalid_argument',
                    format('%s.claim_token must be a positive number', v_path),
                    jsonb_build_object('path', v_path || '.claim_token'),
                    'Give the token that the claim returned.'
                );
            end if;
        end loop;
    end loop;
end
$$;
comment on function strongroom_private.check_job_claims(jsonb, text[], integer) is
    'A list of claims, each with these keys and no others. Errors: SR001, SR004.';

create function strongroom_private.complete_claimed_jobs(p_tenant_id text, p_jobs jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_ids text[];
    v_tokens bigint[];
    v_count integer;
    v_repeated integer;
begin
    select
        array_agg(c.id order by c.place),
        array_agg(c.claim_token order by c.place)
    into
        v_ids,
        v_tokens
    from (
        select
            i.place,
            i.value ->> 'id' as id,
            (i.value ->> 'claim_token')::bigint as claim_token
        from jsonb_array_elements(p_jobs) with ordinality as i (value, place)
    ) as c;
    -- Arrays, not a join: the rows are found one by one through the primary key, in the order of
    -- their ids, whatever size the table had when the plan was made. A job that is named twice has
    -- one token, or one of the two is stale.
    update strongroom.jobs as j
    set status = 'completed',
        is_ready = false,
        claimable_at = null,
        lease_expires_at = null,
        error = null,
        finished_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where j.tenant_id = p_tenant_id
        and j.id = any (v_ids)
        and j.claim_token = v_tokens[array_position(v_ids, j.id)]
        and j.status = 'running';
    get diagnostics v_count = row_count;
    if v_count < jsonb_array_length(p_jobs) then
        -- What the same claim has completed before is a repeat; everything else is stale.
        select count(*)
        into v_repeated
        from jsonb_to_recordset(p_jobs) as c (id text, claim_token bigint)
        inner join strongroom.jobs as j
            on j.tenant_id = p_tenant_id
            and j.id = c.id
            and j.claim_token = c.claim_token
        where j.status = 'completed';
        if v_repeated < jsonb_array_length(p_jobs) then
            perform strongroom_private.fail_stale_job_claim(p_tenant_id, p_jobs);
        end if;
    end if;
end
$$;
comment on function strongroom_private.complete_claimed_jobs(text, jsonb) is
    'Complete jobs of one tenant under their claims, all or none. Errors: SR031.';

create function strongroom.complete_jobs(p_tenant_id text, p_jobs jsonb)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_job_claims(p_jobs, '{id,claim_token}', 1);
    perform strongroom_private.complete_claimed_jobs(p_tenant_id, p_jobs);
    return query
    select d.*
    from strongroom.job_details as d
    where d.tenant_id = p_tenant_id
        and d.id = any (array(
            select c.id
            from jsonb_to_recordset(p_jobs) as c (id text)
        ))
    order by d.id;
end
$$;
comment on function strongroom.complete_jobs(text, jsonb) is
    'Complete 1 to 500 claimed jobs [{id, claim_token}] of a tenant, all or none. A repeat by the'
    ' same claim changes nothing. A lost claim refuses all, naming the jobs. Errors: SR001, SR004,'
    ' SR010, SR020, SR031. Callers: hosts.';

create function strongroom.complete_and_claim_jobs(
    p_jobs jsonb,
    p_worker_id text,
    p_queues text[] default '{default}',
    p_lease_seconds double precision default 30,
    p_limit integer default 1,
    p_after_tenant_id text default null,
    p_claim_tenant_id text default null
)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_done record;
begin
    perform strongroom_private.check_claim(
        p_worker_id, p_queues, p_lease_seconds, p_after_tenant_id, p_claim_tenant_id
    );
    if p_limit is distinct from 0 then
        perform strongroom_private.check_limit(p_limit);
    end if;
    perform strongroom_private.check_job_claims(p_jobs, '{tenant_id,id,claim_token}', 0);
    for v_done in
        select
            c.tenant_id,
            jsonb_agg(jsonb_build_object('id', c.id, 'claim_token', c.claim_token)) as jobs
        from jsonb_to_recordset(p_jobs) as c (tenant_id text, id text, claim_token bigint)
        group by c.tenant_id
        order by c.tenant_id
    loop
        perform strongroom_private.enter_tenant_to_write(v_done.tenant_id);
        perform strongroom_private.complete_claimed_jobs(v_done.tenant_id, v_done.jobs);
    end loop;
    if p_limit = 0 then
        return;
    end if;
    return query
    select d.*
    from strongroom_private.dispatch_jobs(
        p_worker_id, p_queues, p_lease_seconds, p_limit, p_after_tenant_id, p_claim_tenant_id
    ) as d;
end
$$;
comment on function strongroom.complete_and_claim_jobs(
    jsonb, text, text[], double precision, integer, text, text
) is
    'Complete claimed jobs [{tenant_id, id, claim_token}] of any tenants, all or none, and claim'
    ' the next ones as claim_jobs does (none with p_limit 0), in one transaction. A lost claim'
    ' refuses all, naming the jobs. Errors: SR001, SR004, SR010, SR020, SR031. Callers: hosts.';

create function strongroom.heartbeat_job(
    p_tenant_id text,
    p_job_id text,
    p_claim_token bigint,
    p_lease_seconds double precision default 30
)
returns table (lease_expires_at timestamptz)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('job_id', p_job_id);
    perform strongroom_private.check_lease('heartbeat', p_lease_seconds);
    -- A lease that has ended may still be renewed while nobody else has claimed the job: the token
    -- is what counts.
    return query
    update strongroom.jobs as j
    set lease_expires_at = clock_timestamp() + make_interval(secs => p_lease_seconds),
        claimable_at = clock_timestamp() + make_interval(secs => p_lease_seconds),
        is_ready = false,
        updated_at = clock_timestamp()
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id
        and j.status = 'running'
        and j.claim_token = p_claim_token
    returning j.lease_expires_at;
    if not found then
        perform strongroom_private.fail_missed_job(p_tenant_id, p_job_id, p_claim_token);
    end if;
end
$$;
comment on function strongroom.heartbeat_job(text, text, bigint, double precision) is
    'Prolong the lease from now on. Refused with SR031 once the claim is lost or the job is'
    ' cancelled. Errors: SR001, SR004, SR010, SR020, SR031. Callers: hosts.';

create function strongroom.retry_job_later(
    p_tenant_id text,
    p_job_id text,
    p_claim_token bigint,
    p_error jsonb,
    p_delay_seconds double precision default null
)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_job strongroom.jobs;
    v_delay double precision := p_delay_seconds;
    v_due timestamptz;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('job_id', p_job_id);
    perform strongroom_private.check_object('error', p_error, 65536);
    if p_delay_seconds is not null then
        perform strongroom_private.check_seconds('delay_seconds', p_delay_seconds, 0, 31536000);
    end if;
    select j.*
    into v_job
    from strongroom.jobs as j
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id
        and j.claim_token = p_claim_token
    for update;
    if v_job.status in ('retry_pending', 'queued', 'failed') and v_job.error = p_error then
        -- The same claim has given it back with the same reason before: a repeat.
        return query
        select d.*
        from strongroom.job_details as d
        where d.tenant_id = p_tenant_id
            and d.id = p_job_id;
        return;
    end if;
    if coalesce(v_job.status, '') <> 'running' then
        perform strongroom_private.fail_missed_job(p_tenant_id, p_job_id, p_claim_token);
    end if;
    if v_delay is null then
        -- Doubling, bounded, and half of it by chance, so that many do not come back at once.
        v_delay := least(
            v_job.backoff_seconds * power(2, least(v_job.attempt - 1, 40)),
            v_job.max_backoff_seconds
        ) * (0.5 + random() / 2);
    end if;
    v_due := clock_timestamp() + make_interval(secs => v_delay);
    update strongroom.jobs as j
    set status = case when j.attempt < j.max_attempts then 'retry_pending' else 'failed' end,
        is_ready = false,
        error = p_error,
        lease_expires_at = null,
        available_at = case when j.attempt < j.max_attempts then v_due else j.available_at end,
        claimable_at = case when j.attempt < j.max_attempts then v_due end,
        finished_at = case when j.attempt >= j.max_attempts then clock_timestamp() end,
        updated_at = clock_timestamp()
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id;
    return query
    select d.*
    from strongroom.job_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_job_id;
end
$$;
comment on function strongroom.retry_job_later(
    text, text, bigint, jsonb, double precision
) is
    'Give a claimed job back with the reason, to be claimed again after a delay: the given one, or'
    ' the job''s own backoff with jitter. Without attempts left it fails, which the returned status'
    ' says. A repeat changes nothing. Errors: SR001, SR004, SR010, SR020, SR031. Callers: hosts.';

create function strongroom.fail_job(
    p_tenant_id text,
    p_job_id text,
    p_claim_token bigint,
    p_error jsonb
)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('job_id', p_job_id);
    perform strongroom_private.check_object('error', p_error, 65536);
    update strongroom.jobs as j
    set status = 'failed',
        is_ready = false,
        claimable_at = null,
        lease_expires_at = null,
        error = p_error,
        finished_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id
        and j.status = 'running'
        and j.claim_token = p_claim_token;
    if not found and not exists (
        -- The same claim has failed it with the same reason before: a repeat.
        select
        from strongroom.jobs as j
        where j.tenant_id = p_tenant_id
            and j.id = p_job_id
            and j.status = 'failed'
            and j.claim_token = p_claim_token
            and j.error = p_error
    ) then
        perform strongroom_private.fail_missed_job(p_tenant_id, p_job_id, p_claim_token);
    end if;
    return query
    select d.*
    from strongroom.job_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_job_id;
end
$$;
comment on function strongroom.fail_job(text, text, bigint, jsonb) is
    'End a claimed job as failed, whatever attempts it has left. A repeat by the same claim changes'
    ' nothing. Errors: SR001, SR004, SR010, SR020, SR031. Callers: hosts.';

create function strongroom.release_job(p_tenant_id text, p_job_id text, p_claim_token bigint)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_queue text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('job_id', p_job_id);
    update strongroom.jobs as j
    set status = 'queued',
        is_ready = true,
        claimable_at = null,
        lease_expires_at = null,
        attempt = j.attempt - 1,
        updated_at = clock_timestamp()
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id
        and j.status = 'running'
        and j.claim_token = p_claim_token
    returning j.queue into v_queue;
    if found then
        perform strongroom_private.wake_job_workers(v_queue);
    elsif not exists (
        -- The same claim has given it back before, and nobody has taken it since: a repeat.
        select
        from strongroom.jobs as j
        where j.tenant_id = p_tenant_id
            and j.id = p_job_id
            and j.status = 'queued'
            and j.claim_token = p_claim_token
    ) then
        perform strongroom_private.fail_missed_job(p_tenant_id, p_job_id, p_claim_token);
    end if;
    return query
    select d.*
    from strongroom.job_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_job_id;
end
$$;
comment on function strongroom.release_job(text, text, bigint) is
    'Give a claimed job back at once, undone, for another worker; it costs no attempt. For workers'
    ' that shut down. Errors: SR001, SR004, SR010, SR020, SR031. Callers: hosts.';

create function strongroom.cancel_job(p_tenant_id text, p_job_id text)
returns setof strongroom.job_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('job_id', p_job_id);
    update strongroom.jobs as j
    set status = 'cancelled',
        is_ready = false,
        claimable_at = null,
        lease_expires_at = null,
        finished_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where j.tenant_id = p_tenant_id
        and j.id = p_job_id
        and j.status in ('queued', 'running', 'retry_pending');
    return query
    select d.*
    from strongroom.job_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_job_id;
    if not found then
        perform strongroom_private.fail_missed_write('job', null, null);
    end if;
end
$$;
comment on function strongroom.cancel_job(text, text) is
    'Cancel a job at once, also while a worker holds it: every write of that worker, and its next'
    ' heartbeat, is refused with SR031. A job that has ended stays as it is, which the returned'
    ' status says. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.read_job_queue(p_tenant_id text, p_queue text default null)
returns table (
    ready bigint,
    queued bigint,
    running bigint,
    retry_pending bigint,
    expired_leases bigint,
    oldest_ready_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_optional_id('queue', p_queue);
    return query
    select
        count(*) filter (where j.is_ready or j.claimable_at <= clock_timestamp()),
        count(*) filter (where j.status = 'queued'),
        count(*) filter (where j.status = 'running'),
        count(*) filter (where j.status = 'retry_pending'),
        count(*) filter (where j.status = 'running' and j.lease_expires_at <= clock_timestamp()),
        min(j.available_at) filter (where j.is_ready or j.claimable_at <= clock_timestamp())
    from strongroom.jobs as j
    where j.tenant_id = p_tenant_id
        and (p_queue is null or j.queue = p_queue)
        and j.status in ('queued', 'running', 'retry_pending');
end
$$;
comment on function strongroom.read_job_queue(text, text) is
    'How many of a tenant''s jobs stand where, and since when the oldest ready one waits. Errors:'
    ' SR001, SR004, SR020. Callers: hosts.';

create function strongroom.prune_jobs(
    p_tenant_id text,
    p_ended_before timestamptz,
    p_limit integer default 500
)
returns table (pruned bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    if p_ended_before is null then
        perform strongroom_private.fail(
            'invalid_argument', 'ended_before is required', '{"path": "ended_before"}',
            'Give the moment before which a job must have ended.'
        );
    end if;
    delete from strongroom.jobs as j
    where j.tenant_id = p_tenant_id
        and j.id = any (array(
            select e.id
            from strongroom.jobs as e
            where e.tenant_id = p_tenant_id
                and e.created_at > '-infinity'
                and e.created_at < p_ended_before
                and e.finished_at < p_ended_before
            order by
                e.created_at,
                e.id
            limit p_limit
            for update skip locked
        ));
    get diagnostics pruned = row_count;
    return next;
end
$$;
comment on function strongroom.prune_jobs(text, timestamptz, integer) is
    'Delete up to p_limit jobs that ended before a moment, oldest first, and say how many. A'
    ' job''s id and dedupe key are forgotten with it. Errors: SR001, SR004, SR010, SR020. Callers:'
    ' hosts.';


-- ---------------------------------------------------------------------------------------------
-- Locks
-- ---------------------------------------------------------------------------------------------

create table strongroom.locks (
    tenant_id text collate "C" not null,
    name text collate "C" not null,
    token bigint not null,
    owner_id text collate "C",
    acquisition_id text collate "C",
    acquired_at timestamptz,
    expires_at timestamptz,
    constraint locks_pkey primary key (tenant_id, name),
    constraint lock_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint token_is_positive check (token > 0),
    constraint a_free_lock_has_no_owner check (
        num_nulls(owner_id, acquisition_id, acquired_at, expires_at) in (0, 4)
    )
)
with (fillfactor = 50);
comment on table strongroom.locks is
    'Leases on names, with fencing tokens. Free and expired ones keep their row until prune_locks.';
comment on column strongroom.locks.tenant_id is 'The tenant.';
comment on column strongroom.locks.name is 'What is locked.';
comment on column strongroom.locks.token is
    'The newest acquisition''s token: greater than every earlier one of any lock.';
comment on column strongroom.locks.owner_id is 'Who holds it; null when it is free.';
comment on column strongroom.locks.acquisition_id is
    'The acquiring call, to know a repeat whose answer was lost.';
comment on column strongroom.locks.acquired_at is 'Since when.';
comment on column strongroom.locks.expires_at is 'Until when, without a renewal.';

alter table strongroom.locks enable row level security;
alter table strongroom.locks force row level security;
create policy hosts_do_all on strongroom.locks
    for all
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_do_all on strongroom.locks is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.locks',
    p_column => 'owner_id',
    p_action => 'keep',
    p_reason => 'A lock is held by a program, and taking it away would let two work at once. It is'
        ' forgotten by prune_locks.'
);

create function strongroom.acquire_lock(
    p_tenant_id text,
    p_name text,
    p_owner_id text,
    p_ttl_seconds double precision default 30,
    p_acquisition_id text default null
)
returns table (
    tenant_id text,
    name text,
    token bigint,
    owner_id text,
    acquired_at timestamptz,
    expires_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_acquisition_id text := coalesce(p_acquisition_id, gen_random_uuid()::text);
    v_now timestamptz;
    v_lock strongroom.locks;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('name', p_name);
    perform strongroom_private.check_id('owner_id', p_owner_id);
    perform strongroom_private.check_id('acquisition_id', v_acquisition_id);
    perform strongroom_private.check_seconds('ttl_seconds', p_ttl_seconds, 0.001, 86400);

    -- Whoever is at the row in this moment has it; nobody waits for them here.
    select l.*
    into v_lock
    from strongroom.locks as l
    where l.tenant_id = p_tenant_id
        and l.name = p_name
    for no key update skip locked;
    if not found and exists (
        select
        from strongroom.locks as l
        where l.tenant_id = p_tenant_id
            and l.name = p_name
    ) then
        return;
    end if;
    v_now := clock_timestamp();
    if v_lock.token is null then
        return query
        insert into strongroom.locks as l (
            tenant_id, name, token, owner_id, acquisition_id, acquired_at, expires_at
        )
        values (
            p_tenant_id,
            p_name,
            nextval('strongroom.lock_tokens'),
            p_owner_id,
            v_acquisition_id,
            v_now,
            v_now + make_interval(secs => p_ttl_seconds)
        )
        on conflict on constraint locks_pkey do nothing
        returning
            l.tenant_id,
            l.name,
            l.token,
            l.owner_id,
            l.acquired_at,
            l.expires_at;
    elsif v_lock.expires_at is null or v_lock.expires_at <= v_now then
        return query
        update strongroom.locks as l
        set token = greatest(nextval('strongroom.lock_tokens'), l.token + 1),
            owner_id = p_owner_id,
            acquisition_id = v_acquisition_id,
            acquired_at = v_now,
            expires_at = v_now + make_interval(secs => p_ttl_seconds)
        where l.tenant_id = p_tenant_id
            and l.name = p_name
        returning
            l.tenant_id,
            l.name,
            l.token,
            l.owner_id,
            l.acquired_at,
            l.expires_at;
    elsif v_lock.acquisition_id = v_acquisition_id and v_lock.owner_id = p_owner_id then
        tenant_id := p_tenant_id;
        name := p_name;
        token := v_lock.token;
        owner_id := v_lock.owner_id;
        acquired_at := v_lock.acquired_at;
        expires_at := v_lock.expires_at;
        return next;
    end if;
end
$$;
comment on function strongroom.acquire_lock(text, text, text, double precision, text) is
    'Take a lock that is free or has expired; no row when somebody has it. It is not re-entrant:'
    ' the same owner gets it twice only as a repeat of one call, by its acquisition id. Waits for'
    ' nobody but another first taker of the name. Errors: SR001, SR004, SR010, SR020. Callers:'
    ' hosts.';

create function strongroom_private.fail_lost_lock(p_tenant_id text, p_name text, p_token bigint)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.fail(
        'stale_claim',
        format('the lock %s is no longer held with this token', p_name),
        jsonb_build_object(
            'record', 'lock',
            'token', p_token,
            'current_token', (
                select l.token
                from strongroom.locks as l
                where l.tenant_id = p_tenant_id
                    and l.name = p_name
            )
        ),
        'Stop what the lock protects: nothing of this call was written.'
    );
end
$$;
comment on function strongroom_private.fail_lost_lock(text, text, bigint) is
    'Refuse somebody who does not hold the lock (any more). Errors: SR031.';

create function strongroom.renew_lock(
    p_tenant_id text,
    p_name text,
    p_owner_id text,
    p_token bigint,
    p_ttl_seconds double precision default 30
)
returns table (
    tenant_id text,
    name text,
    token bigint,
    owner_id text,
    acquired_at timestamptz,
    expires_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('name', p_name);
    perform strongroom_private.check_id('owner_id', p_owner_id);
    perform strongroom_private.check_seconds('ttl_seconds', p_ttl_seconds, 0.001, 86400);
    -- One that has expired may still be renewed while nobody else has taken it.
    return query
    update strongroom.locks as l
    set expires_at = clock_timestamp() + make_interval(secs => p_ttl_seconds)
    where l.tenant_id = p_tenant_id
        and l.name = p_name
        and l.owner_id = p_owner_id
        and l.token = p_token
    returning
        l.tenant_id,
        l.name,
        l.token,
        l.owner_id,
        l.acquired_at,
        l.expires_at;
    if not found then
        perform strongroom_private.fail_lost_lock(p_tenant_id, p_name, p_token);
    end if;
end
$$;
comment on function strongroom.renew_lock(text, text, text, bigint, double precision) is
    'Hold a lock longer, from now on. Refused with SR031 when somebody else has taken it, or it was'
    ' released. Errors: SR001, SR004, SR010, SR020, SR031. Callers: hosts.';

create function strongroom.release_lock(
    p_tenant_id text,
    p_name text,
    p_owner_id text,
    p_token bigint
)
returns table (released boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('name', p_name);
    perform strongroom_private.check_id('owner_id', p_owner_id);
    update strongroom.locks as l
    set owner_id = null,
        acquisition_id = null,
        acquired_at = null,
        expires_at = null
    where l.tenant_id = p_tenant_id
        and l.name = p_name
        and l.owner_id = p_owner_id
        and l.token = p_token;
    released := found;
    return next;
end
$$;
comment on function strongroom.release_lock(text, text, text, bigint) is
    'Give a lock back. By anybody but its present owner with its present token it changes nothing'
    ' and says false. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.check_lock(p_tenant_id text, p_name text, p_token bigint)
returns table (
    tenant_id text,
    name text,
    token bigint,
    owner_id text,
    acquired_at timestamptz,
    expires_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('name', p_name);
    -- The share lock keeps everybody from taking the lock over before this transaction has ended.
    return query
    select
        l.tenant_id,
        l.name,
        l.token,
        l.owner_id,
        l.acquired_at,
        l.expires_at
    from strongroom.locks as l
    where l.tenant_id = p_tenant_id
        and l.name = p_name
        and l.token = p_token
        and l.expires_at > clock_timestamp()
    for share;
    if not found then
        perform strongroom_private.fail_lost_lock(p_tenant_id, p_name, p_token);
    end if;
end
$$;
comment on function strongroom.check_lock(text, text, bigint) is
    'Guard the writes of this transaction: refuse unless the lock is held with this token, and'
    ' keep it from being taken over until the transaction ends. Errors: SR001, SR004, SR010,'
    ' SR020, SR031. Callers: hosts.';

create function strongroom.find_lock(p_tenant_id text, p_name text)
returns table (
    tenant_id text,
    name text,
    token bigint,
    owner_id text,
    acquired_at timestamptz,
    expires_at timestamptz
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
    perform strongroom_private.check_id('name', p_name);
    return query
    select
        l.tenant_id,
        l.name,
        l.token,
        l.owner_id,
        l.acquired_at,
        l.expires_at
    from strongroom.locks as l
    where l.tenant_id = p_tenant_id
        and l.name = p_name
        and l.expires_at > clock_timestamp();
end
$$;
comment on function strongroom.find_lock(text, text) is
    'Who holds a lock, or no row when nobody does. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom.prune_locks(p_tenant_id text, p_limit integer default 500)
returns table (pruned bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    delete from strongroom.locks as l
    where l.tenant_id = p_tenant_id
        and l.name = any (array(
            select f.name
            from strongroom.locks as f
            where f.tenant_id = p_tenant_id
                and (f.expires_at is null or f.expires_at <= clock_timestamp())
            order by f.name
            limit p_limit
            for update skip locked
        ));
    get diagnostics pruned = row_count;
    return next;
end
$$;
comment on function strongroom.prune_locks(text, integer) is
    'Delete up to p_limit rows of locks that nobody holds, and say how many. Tokens go on growing.'
    ' An owner whose lock has expired can no longer renew it. Errors: SR001, SR004, SR010, SR020.'
    ' Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The change feed
-- ---------------------------------------------------------------------------------------------
-- The table is the truth, and NOTIFY a hint: a subscriber reads on after the last sequence it has,
-- whenever it is told, has reconnected, or some seconds have passed.

create table strongroom.topics (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    last_sequence bigint not null default 0,
    trimmed_to_sequence bigint not null default 0,
    created_at timestamptz not null default now(),
    constraint topics_pkey primary key (tenant_id, id),
    constraint topic_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint only_what_was_published_is_trimmed check (
        trimmed_to_sequence between 0 and last_sequence
    )
)
with (fillfactor = 50);
comment on table strongroom.topics is
    'What can be subscribed to: one row per topic, made by the first event.';
comment on column strongroom.topics.tenant_id is 'The tenant.';
comment on column strongroom.topics.id is 'The topic''s name.';
comment on column strongroom.topics.last_sequence is 'Sequence of its newest event.';
comment on column strongroom.topics.trimmed_to_sequence is
    'Events up to this sequence have been deleted; all later ones are there.';
comment on column strongroom.topics.created_at is 'When its first event came.';

create table strongroom.topic_events (
    tenant_id text collate "C" not null,
    topic text collate "C" not null,
    sequence bigint not null,
    id text collate "C" not null,
    kind text collate "C" not null,
    payload jsonb not null default '{}',
    created_at timestamptz not null default now(),
    constraint topic_events_pkey primary key (tenant_id, topic, sequence),
    constraint an_event_id_is_used_once_in_a_topic unique (tenant_id, topic, id),
    constraint event_belongs_to_a_topic
        foreign key (tenant_id, topic)
        references strongroom.topics (tenant_id, id)
        on delete cascade,
    constraint sequence_is_positive check (sequence > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint kind_has_1_to_255_characters check (char_length(kind) between 1 and 255),
    constraint payload_is_an_object check (jsonb_typeof(payload) = 'object'),
    constraint payload_has_at_most_4_kib check (octet_length(payload::text) <= 4096)
);
comment on table strongroom.topic_events is
    'What has changed, in order. Insert-only; old ones leave by trim_topic, the rest with the'
    ' topic.';
comment on column strongroom.topic_events.tenant_id is 'The tenant.';
comment on column strongroom.topic_events.topic is 'The topic.';
comment on column strongroom.topic_events.sequence is
    'Its place in the topic: 1, 2, 3, ... without gaps, in commit order.';
comment on column strongroom.topic_events.id is
    'The event''s id: a repeated publication is known by it.';
comment on column strongroom.topic_events.kind is 'What happened.';
comment on column strongroom.topic_events.payload is
    'Ids of what changed, at most 4 KiB; the content is read from where it belongs.';
comment on column strongroom.topic_events.created_at is 'When it was written. It orders nothing.';

create trigger topic_events_are_insert_only
    before update or delete on strongroom.topic_events
    for each row
    -- trim_topic first says in the topic's row how far it goes.
    execute function strongroom_private.keep_history(
        'strongroom.topics', 'id', 'topic', '{}', 'trimmed_to_sequence', 'sequence'
    );
comment on trigger topic_events_are_insert_only on strongroom.topic_events is 'See keep_history.';
create trigger topic_events_are_never_truncated
    before truncate on strongroom.topic_events
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger topic_events_are_never_truncated on strongroom.topic_events is
    'See keep_history.';

alter table strongroom.topics enable row level security;
alter table strongroom.topics force row level security;
create policy hosts_do_all on strongroom.topics
    for all
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_do_all on strongroom.topics is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.topics',
    p_column => '',
    p_action => 'keep',
    p_reason => 'A topic is named after a record. Its events carry ids, and leave by trim_topic or'
        ' retention.'
);

alter table strongroom.topic_events enable row level security;
alter table strongroom.topic_events force row level security;
create policy hosts_do_all on strongroom.topic_events
    for all
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_do_all on strongroom.topic_events is 'Hosts; a trigger refuses changes.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.topic_events',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They carry ids of records, and leave by trim_topic or retention.'
);

create function strongroom_private.notify_topic(
    p_tenant_id text,
    p_topic text,
    p_sequence bigint
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- At most 255 + 255 characters and a number: below the 8,000 bytes that NOTIFY takes, even
    -- where every character is escaped.
    perform pg_notify(
        'strongroom_topics',
        json_build_object('tenant_id', p_tenant_id, 'topic', p_topic, 'sequence', p_sequence)::text
    );
end
$$;
comment on function strongroom_private.notify_topic(text, text, bigint) is
    'Tell listening subscribers that a topic has events up to this sequence, when this transaction'
    ' commits.';

create function strongroom.publish_events(p_tenant_id text, p_topic text, p_events jsonb)
returns table (id text, outcome text, sequence bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_path text;
    v_events jsonb := jsonb_build_array();
    v_event jsonb;
    v_ids text[];
    v_last bigint;
    v_inserted bigint;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('topic', p_topic);
    if jsonb_typeof(p_events) is distinct from 'array'
        or jsonb_array_length(p_events) not between 1 and 500
    then
        perform strongroom_private.fail(
            'invalid_argument',
            'events must be a list of 1 to 500 events',
            '{"path": "events"}',
            'Publish in batches.'
        );
    end if;
    for v_index in 0 .. jsonb_array_length(p_events) - 1 loop
        v_path := format('events[%s]', v_index);
        v_event := p_events -> v_index;
        perform strongroom_private.check_keys(v_path, v_event, '{id,kind,payload}');
        perform strongroom_private.check_id(v_path || '.kind', v_event ->> 'kind');
        perform strongroom_private.check_optional_id(v_path || '.id', v_event ->> 'id');
        if v_event ? 'payload' then
            perform strongroom_private.check_object(
                v_path || '.payload', v_event -> 'payload', 4096
            );
        end if;
        v_events := v_events || jsonb_build_array(
            jsonb_build_object('id', gen_random_uuid(), 'payload', '{}'::jsonb)
            || jsonb_strip_nulls(jsonb_build_object('id', v_event -> 'id'))
            || (v_event - 'id')
        );
        v_ids := array_append(v_ids, v_events -> v_index ->> 'id');
    end loop;

    -- The topic's row is the turn of its publishers: commit order is the order of sequences.
    insert into strongroom.topics (tenant_id, id)
    values (p_tenant_id, p_topic)
    on conflict on constraint topics_pkey do nothing;
    select t.last_sequence
    into v_last
    from strongroom.topics as t
    where t.tenant_id = p_tenant_id
        and t.id = p_topic
    for no key update;
    if not found then
        -- The tenant has been purged between the two statements.
        perform strongroom_private.fail_missed_write('tenant', null, null);
    end if;

    return query
    with input as materialized (
        select
            i.place,
            i.value ->> 'id' as id,
            i.value ->> 'kind' as kind,
            i.value -> 'payload' as payload,
            row_number() over (partition by i.value ->> 'id' order by i.place) as turn
        from jsonb_array_elements(v_events) with ordinality as i (value, place)
    ),
    known as materialized (
        -- By ids: a join with what is read from JSON reads the whole topic.
        select
            e.id,
            e.kind,
            e.payload,
            e.sequence
        from strongroom.topic_events as e
        where e.tenant_id = p_tenant_id
            and e.topic = p_topic
            and e.id = any (v_ids)
    ),
    numbered as materialized (
        select
            i.id,
            i.kind,
            i.payload,
            v_last + row_number() over (order by i.place) as sequence
        from input as i
        where i.turn = 1
            and not exists (
                select
                from known as e
                where e.id = i.id
            )
    ),
    inserted as (
        insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind, payload)
        select
            p_tenant_id,
            p_topic,
            n.sequence,
            n.id,
            n.kind,
            n.payload
        from numbered as n
    )
    select
        i.id,
        case
            when n.id is not null and i.turn = 1 then 'inserted'
            when i.kind = coalesce(n.kind, e.kind) and i.payload = coalesce(n.payload, e.payload)
                then 'duplicate'
            else 'conflict'
        end,
        case
            when i.kind = coalesce(n.kind, e.kind) and i.payload = coalesce(n.payload, e.payload)
                then coalesce(n.sequence, e.sequence)
        end
    from input as i
    left join numbered as n on n.id = i.id
    left join known as e on e.id = i.id
    order by i.place;

    select max(e.sequence)
    into v_inserted
    from strongroom.topic_events as e
    where e.tenant_id = p_tenant_id
        and e.topic = p_topic
        and e.sequence > v_last;
    if v_inserted is null then
        return;
    end if;
    update strongroom.topics as t
    set last_sequence = v_inserted
    where t.tenant_id = p_tenant_id
        and t.id = p_topic;
    if strongroom_private.is_notifying() then
        begin
            perform strongroom_private.notify_topic(p_tenant_id, p_topic, v_inserted);
        exception
            when others then
                raise warning 'strongroom: no NOTIFY for topic %: %', p_topic, sqlerrm;
        end;
    end if;
end
$$;
comment on function strongroom.publish_events(text, text, jsonb) is
    'Publish 1 to 500 events {id, kind, payload} in order, and tell subscribers when the'
    ' transaction commits. One row per event: inserted, duplicate (the sequence it has), or'
    ' conflict (same id, other content: nothing was published). Errors: SR001, SR004, SR010,'
    ' SR020. Callers: hosts.';

create function strongroom.find_topic(p_tenant_id text, p_topic text)
returns table (
    tenant_id text,
    id text,
    last_sequence bigint,
    trimmed_to_sequence bigint,
    created_at timestamptz
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
    perform strongroom_private.check_id('topic', p_topic);
    return query
    select
        t.tenant_id,
        t.id,
        t.last_sequence,
        t.trimmed_to_sequence,
        t.created_at
    from strongroom.topics as t
    where t.tenant_id = p_tenant_id
        and t.id = p_topic;
end
$$;
comment on function strongroom.find_topic(text, text) is
    'How far a topic goes, or no row before its first event. Errors: SR001, SR004, SR020. Callers:'
    ' hosts.';

create function strongroom.list_topic_events(
    p_tenant_id text,
    p_topic text,
    p_after_sequence bigint default 0,
    p_limit integer default 50
)
returns table (
    tenant_id text,
    topic text,
    sequence bigint,
    id text,
    kind text,
    payload jsonb,
    created_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_trimmed bigint;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('topic', p_topic);
    perform strongroom_private.check_limit(p_limit);
    if coalesce(p_after_sequence, -1) < 0 then
        perform strongroom_private.fail(
            'invalid_argument',
            'after_sequence must be at least 0',
            '{"path": "after_sequence"}',
            'Give the last sequence that you have, or 0 for the beginning.'
        );
    end if;
    return query
    select
        e.tenant_id,
        e.topic,
        e.sequence,
        e.id,
        e.kind,
        e.payload,
        e.created_at
    from strongroom.topic_events as e
    where e.tenant_id = p_tenant_id
        and e.topic = p_topic
        and e.sequence > p_after_sequence
    order by e.sequence
    limit p_limit;

    -- In the same snapshot as the events: what is missing is never passed over in silence.
    select t.trimmed_to_sequence
    into v_trimmed
    from strongroom.topics as t
    where t.tenant_id = p_tenant_id
        and t.id = p_topic;
    if v_trimmed > p_after_sequence then
        perform strongroom_private.fail(
            'not_found',
            format('the events up to %s of the topic have been trimmed', v_trimmed),
            jsonb_build_object(
                'path', 'after_sequence',
                'record', 'topic event',
                'after_sequence', p_after_sequence,
                'trimmed_to_sequence', v_trimmed
            ),
            'Read the present state anew, and go on after trimmed_to_sequence.'
        );
    end if;
end
$$;
comment on function strongroom.list_topic_events(text, text, bigint, integer) is
    'A topic''s events after a sequence, oldest first; none for a topic without events. Refused'
    ' with SR010 when events after that sequence have been trimmed. Errors: SR001, SR004, SR010,'
    ' SR020. Callers: hosts.';

create function strongroom.trim_topic(
    p_tenant_id text,
    p_topic text,
    p_up_to_sequence bigint,
    p_limit integer default 500
)
returns table (trimmed bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_trimmed_to bigint;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('topic', p_topic);
    perform strongroom_private.check_limit(p_limit);
    if coalesce(p_up_to_sequence, -1) < 0 then
        perform strongroom_private.fail(
            'invalid_argument',
            'up_to_sequence must be at least 0',
            '{"path": "up_to_sequence"}',
            'Give the sequence of the last event to delete.'
        );
    end if;
    update strongroom.topics as t
    set trimmed_to_sequence = least(
        p_up_to_sequence, t.last_sequence, t.trimmed_to_sequence + p_limit
    )
    where t.tenant_id = p_tenant_id
        and t.id = p_topic
        and t.trimmed_to_sequence < least(p_up_to_sequence, t.last_sequence);
    select t.trimmed_to_sequence
    into v_trimmed_to
    from strongroom.topics as t
    where t.tenant_id = p_tenant_id
        and t.id = p_topic;
    delete from strongroom.topic_events as e
    where e.tenant_id = p_tenant_id
        and e.topic = p_topic
        and e.sequence <= v_trimmed_to;
    get diagnostics trimmed = row_count;
    return next;
end
$$;
comment on function strongroom.trim_topic(text, text, bigint, integer) is
    'Delete up to p_limit of a topic''s oldest events, none after a sequence, and say how many.'
    ' Their ids are forgotten with them. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'sequence', '{strongroom.job_claim_tokens,strongroom.lock_tokens}', '{usage}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.jobs,strongroom.locks}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.topics}', '{select,insert,update}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.topic_events}', '{select,insert,delete}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.job_details}', '{select}', '{strongroom_host,service_role}'
);
-- mature_jobs, find_next_ready_tenant and take_jobs run inside dispatch_jobs, with the owner's
-- rights.
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.list_job_transitions,
        strongroom_private.check_job_transition,
        strongroom_private.is_notifying,
        strongroom_private.wake_job_workers,
        strongroom_private.check_seconds,
        strongroom_private.dispatch_jobs,
        strongroom_private.check_claim,
        strongroom_private.write_job_claims,
        strongroom_private.fail_stale_job_claim,
        strongroom_private.fail_missed_job,
        strongroom_private.check_job_claims,
        strongroom_private.complete_claimed_jobs,
        strongroom_private.fail_lost_lock,
        strongroom_private.notify_topic,
        strongroom.enqueue_job,
        strongroom.find_job,
        strongroom.list_jobs,
        strongroom.claim_jobs,
        strongroom.claim_job,
        strongroom.complete_jobs,
        strongroom.complete_and_claim_jobs,
        strongroom.heartbeat_job,
        strongroom.retry_job_later,
        strongroom.fail_job,
        strongroom.release_job,
        strongroom.cancel_job,
        strongroom.read_job_queue,
        strongroom.prune_jobs,
        strongroom.acquire_lock,
        strongroom.renew_lock,
        strongroom.release_lock,
        strongroom.check_lock,
        strongroom.find_lock,
        strongroom.prune_locks,
        strongroom.publish_events,
        strongroom.find_topic,
        strongroom.list_topic_events,
        strongroom.trim_topic
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(5, 'infrastructure');
