-- GENERATED from strongroom's migration 0004_runs: do not edit this copy.

-- strongroom 0004: runs
--
-- Purpose     Durable runs: the state machine, leased claims, run events, checkpoints, questions
--             and approvals, approval grants, and the one transaction that ends a turn.
-- Order       A conversation's runs are numbered under the lock of the conversation's row. The
--             oldest one that has not ended is the head; only a head is ever claimable, so a
--             conversation has at most one running run, first in first out: also when the head is
--             for later. Ending the head makes the next one head.
-- Claims      A claim is a lease with a token from a sequence: strictly growing, whatever is
--             deleted. Every write on behalf of a run names the token, and is refused when it is
--             not the run's newest, or the run is not running. An expired lease is claimed like any
--             other run, as long as attempts are left.
-- Deletion    Runs of a soft-deleted conversation are held: neither ready nor due. Every write of a
--             worker that has one is refused; restoring the conversation brings them back.
-- Locks       Always the conversation's row first, then the run's, then its interactions'. A claim
--             locks only the run's row, and skips rows that are locked; a heartbeat too locks only
--             the run's. Nothing that tenants or conversations share is locked.
-- Plans       A connection keeps its plans, also those made while a table was small: functions on
--             the way of every step never scan a table (enable_seqscan).
-- Tenants     Workers serve all tenants, so claiming looks across them. Two definer functions do
--             that, dispatch_runs and list_overdue_tenants: they return ids, and the caller goes on
--             bound to one tenant.

select strongroom_private.begin_migration(4, 'runs');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '4';
select strongroom_private.require_transaction(4);


-- ---------------------------------------------------------------------------------------------
-- Runs
-- ---------------------------------------------------------------------------------------------

create sequence strongroom.claim_tokens as bigint maxvalue 9007199254740991;
comment on sequence strongroom.claim_tokens is
    'Claim tokens of runs: strictly growing, also when the run of an earlier one is gone. Safe as a'
    ' JavaScript number.';

create function strongroom_private.list_run_transitions()
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
        ('running', 'waiting_for_question'),
        ('running', 'waiting_for_approval'),
        ('running', 'retry_pending'),
        ('running', 'completed'),
        ('running', 'failed'),
        ('running', 'cancelled'),
        ('waiting_for_question', 'queued'),
        ('waiting_for_question', 'cancelled'),
        ('waiting_for_approval', 'queued'),
        ('waiting_for_approval', 'cancelled'),
        ('retry_pending', 'queued'),
        ('retry_pending', 'cancelled')
    ) as v (from_status, to_status)
$$;
comment on function strongroom_private.list_run_transitions() is
    'The state machine of runs: every step that there is. completed, failed and cancelled are'
    ' final.';

create function strongroom_private.is_final_run_status(p_status text)
returns boolean
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select p_status in ('completed', 'failed', 'cancelled')
$$;
comment on function strongroom_private.is_final_run_status(text) is 'Whether a run has ended.';

create table strongroom.runs (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    conversation_id text collate "C" not null,
    number bigint not null,
    status text collate "C" not null default 'queued',
    is_head boolean not null,
    is_ready boolean not null,
    priority integer not null default 0,
    agent_id text collate "C",
    agent_version integer,
    input jsonb not null default '{}',
    error jsonb,
    attempt integer not null default 0,
    max_attempts integer not null default 3,
    available_at timestamptz,
    lease_expires_at timestamptz,
    claimable_at timestamptz,
    claim_token bigint,
    worker_id text collate "C",
    cancel_requested_at timestamptz,
    last_event_sequence bigint not null default 0,
    last_checkpoint_sequence bigint not null default 0,
    checkpointed_event_sequence bigint not null default 0,
    resumes_after bigint not null default 0,
    message_id text collate "C",
    creation_digest text collate "C" not null,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz not null default now(),
    constraint a_run_has_one_number_in_its_conversation unique (tenant_id, conversation_id, number),
    constraint run_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint number_is_positive check (number > 0),
    constraint status_is_known check (status in (
        'queued', 'running', 'waiting_for_question', 'waiting_for_approval', 'retry_pending',
        'completed', 'failed', 'cancelled'
    )),
    constraint a_finished_run_is_no_head check (
        not is_head or status not in ('completed', 'failed', 'cancelled')
    ),
    constraint only_a_head_has_left_the_queue check (
        is_head or status in ('queued', 'completed', 'failed', 'cancelled')
    ),
    constraint only_a_waiting_head_is_ready check (
        not is_ready or (is_head and status in ('queued', 'running', 'retry_pending'))
    ),
    constraint a_running_run_has_a_claim check (
        status <> 'running'
        or (
            claim_token is not null
            and worker_id is not null
            and lease_expires_at is not null
            and started_at is not null
        )
    ),
    constraint only_a_running_run_has_a_lease
        check (lease_expires_at is null or status = 'running'),
    constraint a_finished_run_knows_when check (
        (finished_at is not null) = (status in ('completed', 'failed', 'cancelled'))
    ),
    constraint a_failed_run_says_why check (status <> 'failed' or error is not null),
    constraint a_finished_run_is_not_claimable check (
        claimable_at is null or status not in ('completed', 'failed', 'cancelled')
    ),
    constraint agent_id_has_1_to_255_characters check (char_length(agent_id) between 1 and 255),
    constraint agent_version_is_positive check (agent_version > 0),
    constraint only_an_agent_has_a_version check (agent_version is null or agent_id is not null),
    constraint attempt_is_not_negative check (attempt >= 0),
    constraint max_attempts_is_positive check (max_attempts > 0),
    constraint worker_id_has_1_to_255_characters check (char_length(worker_id) between 1 and 255),
    constraint input_is_an_object check (jsonb_typeof(input) = 'object'),
    constraint input_has_at_most_1_mib check (octet_length(input::text) <= 1048576),
    constraint error_is_an_object check (jsonb_typeof(error) = 'object')
)
-- A run is updated often: room for it on its page.
with (
    fillfactor = 70,
    -- A claim walks the index pages that earlier ones have left behind, until a vacuum frees them.
    -- The few dead rows of a long history would not start one, nor make it clean the indexes.
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.01,
    vacuum_index_cleanup = on
);
-- After the other one, because of two indexes that look equally good, the planner takes the newer
-- one; and while the table is small, or its statistics are old, they do.
alter table strongroom.runs add constraint runs_pkey primary key (tenant_id, id);
comment on table strongroom.runs is
    'A run: one turn of an agent in a conversation, durable across workers.';
comment on column strongroom.runs.tenant_id is 'The tenant.';
comment on column strongroom.runs.id is 'The run''s id, unique in the tenant.';
comment on column strongroom.runs.conversation_id is 'The conversation.';
comment on column strongroom.runs.number is
    'Its place among the conversation''s runs: 1, 2, 3, ...';
comment on column strongroom.runs.status is 'Where it stands; see list_run_transitions.';
comment on column strongroom.runs.is_head is
    'Whether it is the conversation''s oldest run that has not ended.';
comment on column strongroom.runs.is_ready is 'Whether a worker may claim it now.';
comment on column strongroom.runs.priority is 'Higher ones are claimed first within the tenant.';
comment on column strongroom.runs.agent_id is 'The agent that runs.';
comment on column strongroom.runs.agent_version is 'The agent''s version.';
comment on column strongroom.runs.input is 'What the run was started with, at most 1 MiB.';
comment on column strongroom.runs.error is 'Why it failed, or why it is being retried.';
comment on column strongroom.runs.attempt is
    'How often it has been claimed anew: 1 for the first time.';
comment on column strongroom.runs.max_attempts is 'How many attempts it has.';
comment on column strongroom.runs.available_at is 'Not before this time; null for at once.';
comment on column strongroom.runs.lease_expires_at is
    'Until when the claim holds without a heartbeat.';
comment on column strongroom.runs.claimable_at is
    'When to look whether it has become claimable: at its due time, or the end of its lease, which'
    ' may have been prolonged since. Null and not ready: not before something else happens.';
comment on column strongroom.runs.claim_token is 'The newest claim''s token; every write names it.';
comment on column strongroom.runs.worker_id is 'Who holds the newest claim.';
comment on column strongroom.runs.cancel_requested_at is 'When somebody asked to cancel it.';
comment on column strongroom.runs.last_event_sequence is 'Sequence of the newest run event.';
comment on column strongroom.runs.last_checkpoint_sequence is 'Sequence of the newest checkpoint.';
comment on column strongroom.runs.checkpointed_event_sequence is
    'The newest event when the newest checkpoint was saved.';
comment on column strongroom.runs.resumes_after is
    'The event after which the newest claim goes on: that of the checkpoint it started from.';
comment on column strongroom.runs.message_id is 'The assistant message that ended it.';
comment on column strongroom.runs.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.runs.created_at is 'When it was created.';
comment on column strongroom.runs.started_at is 'When it was first claimed.';
comment on column strongroom.runs.finished_at is 'When it ended.';
comment on column strongroom.runs.updated_at is 'When it last changed.';

create unique index a_conversation_has_one_head
    on strongroom.runs (tenant_id, conversation_id)
    where is_head;
comment on index strongroom.a_conversation_has_one_head is
    'At most one run of a conversation runs, waits or is next.';
create index ready_runs
    on strongroom.runs (tenant_id, priority desc, created_at, id)
    where is_ready;
comment on index strongroom.ready_runs is
    'What can be claimed, tenant by tenant. Finished, waiting and future runs are not in it.';
create index runs_by_due_time
    on strongroom.runs (claimable_at)
    where claimable_at is not null;
comment on index strongroom.runs_by_due_time is
    'Runs that become claimable by time, and leases that end.';
-- The condition of the next two is true of every row. It keeps them for queries that repeat it,
-- that is, for pages: otherwise a plan that was made while the table was small looks up a single
-- run in one of them, by walking all of the tenant's.
create index runs_by_creation
    on strongroom.runs (tenant_id, created_at, id)
    where created_at > '-infinity';
comment on index strongroom.runs_by_creation is
    'Pages of a tenant''s runs, and of nothing else: a query uses it by repeating its condition.';
create index runs_by_conversation
    on strongroom.runs (tenant_id, conversation_id, created_at, id)
    where created_at > '-infinity';
comment on index strongroom.runs_by_conversation is
    'Pages of a conversation''s runs, and of nothing else, see runs_by_creation.';
create index unfinished_runs
    on strongroom.runs (tenant_id, conversation_id, number)
    where status not in ('completed', 'failed', 'cancelled');
comment on index strongroom.unfinished_runs is
    'What has not ended: the queue''s figures, and the next head.';

create function strongroom_private.check_run_transition()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (
        select
        from strongroom_private.list_run_transitions() as t
        where t.from_status = old.status
            and t.to_status = new.status
    ) then
        perform strongroom_private.fail(
            'invalid_transition',
            format('a run cannot go from %s to %s', old.status, new.status),
            jsonb_build_object('record', 'run', 'from', old.status, 'to', new.status),
            'Read the run; completed, failed and cancelled runs are final.'
        );
    end if;
    return new;
end
$$;
comment on function strongroom_private.check_run_transition() is
    'For the trigger of runs: the status takes only the steps of list_run_transitions, whoever'
    ' writes.';

create trigger runs_follow_the_state_machine
    before update of status on strongroom.runs
    for each row
    when (old.status is distinct from new.status)
    execute function strongroom_private.check_run_transition();
comment on trigger runs_follow_the_state_machine on strongroom.runs is 'See check_run_transition.';

alter table strongroom.runs enable row level security;
alter table strongroom.runs force row level security;
create policy readers_read on strongroom.runs
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
comment on policy readers_read on strongroom.runs is 'As the conversation; and the dispatcher.';
create policy trusted_inserts on strongroom.runs
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.runs is 'Hosts.';
create policy trusted_updates on strongroom.runs
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
comment on policy trusted_updates on strongroom.runs is 'Hosts, and the dispatcher.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.runs',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It goes with its conversation, which alone says whose it is.'
);

create view strongroom.run_details
with (security_invoker = true)
as
select
    r.tenant_id,
    r.id,
    r.conversation_id,
    r.number,
    r.status,
    r.priority,
    r.agent_id,
    r.agent_version,
    r.input,
    r.error,
    r.attempt,
    r.max_attempts,
    r.available_at,
    r.lease_expires_at,
    r.claim_token,
    r.worker_id,
    r.cancel_requested_at,
    r.last_event_sequence,
    r.last_checkpoint_sequence,
    r.message_id,
    r.created_at,
    r.started_at,
    r.finished_at,
    r.updated_at
from strongroom.runs as r;
comment on view strongroom.run_details is
    'A run as the functions return it, without bookkeeping columns. Under the row security of the'
    ' reader.';

create type strongroom.created_run as (
    tenant_id text,
    id text,
    conversation_id text,
    number bigint,
    status text,
    priority integer,
    agent_id text,
    agent_version integer,
    input jsonb,
    error jsonb,
    attempt integer,
    max_attempts integer,
    available_at timestamptz,
    lease_expires_at timestamptz,
    claim_token bigint,
    worker_id text,
    cancel_requested_at timestamptz,
    last_event_sequence bigint,
    last_checkpoint_sequence bigint,
    message_id text,
    created_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.created_run is
    'run_details, and what became of the call: inserted or duplicate.';

create function strongroom_private.wake_workers()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- A hint and no more: workers also poll. No ids, so equal notifications of a transaction are
    -- one. As is_notifying says of jobs: it can be turned off, and stops before the server's queue
    -- is full, because then a COMMIT would fail.
    if coalesce(current_setting('strongroom.notify', true), '') <> 'off'
        and pg_notification_queue_usage() < 0.5
    then
        perform pg_notify('strongroom_work', 'run');
    end if;
end
$$;
comment on function strongroom_private.wake_workers() is
    'Tell listening workers that there is something to claim, when this transaction commits.';

create function strongroom_private.promote_next_run(p_tenant_id text, p_conversation_id text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_is_ready boolean;
begin
    -- Under the conversation's lock, and after the old head has ended.
    update strongroom.runs as r
    set is_head = true,
        is_ready = r.available_at is null or r.available_at <= clock_timestamp(),
        claimable_at = case when r.available_at > clock_timestamp() then r.available_at end,
        updated_at = now()
    where r.tenant_id = p_tenant_id
        and r.id = (
            select n.id
            from strongroom.runs as n
            where n.tenant_id = p_tenant_id
                and n.conversation_id = p_conversation_id
                and n.status = 'queued'
                -- The condition of unfinished_runs.
                and n.status not in ('completed', 'failed', 'cancelled')
            order by n.number
            limit 1
        )
    returning r.is_ready
    into v_is_ready;
    if v_is_ready then
        perform strongroom_private.wake_workers();
    end if;
end
$$;
comment on function strongroom_private.promote_next_run(text, text) is
    'Promote the conversation''s oldest queued run, when the head has ended.';

create function strongroom.create_run(
    p_tenant_id text,
    p_conversation_id text,
    p_run_id text default null,
    p_input jsonb default '{}',
    p_agent_id text default null,
    p_agent_version integer default null,
    p_priority integer default 0,
    p_max_attempts integer default 3,
    p_available_at timestamptz default null
)
returns setof strongroom.created_run
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id text := coalesce(p_run_id, gen_random_uuid()::text);
    v_digest text;
    v_is_head boolean;
    v_is_due boolean := p_available_at is null or p_available_at <= clock_timestamp();
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    perform strongroom_private.check_id('run_id', v_id);
    perform strongroom_private.check_object('input', p_input, 1048576);
    perform strongroom_private.check_optional_id('agent_id', p_agent_id);
    perform strongroom_private.check_moment('available_at', p_available_at);
    if p_agent_version < 1 or (p_agent_version is not null and p_agent_id is null) then
        perform strongroom_private.fail(
            'invalid_argument',
            'agent_version is a version of agent_id; versions start at 1',
            '{"path": "agent_version"}',
            'Give the agent and its version, the agent alone, or neither.'
        );
    end if;
    if coalesce(p_max_attempts, 0) < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'max_attempts must be at least 1',
            '{"path": "max_attempts"}',
            'Give how often the run may be tried in all.'
        );
    end if;
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_conversation_id,
        p_input,
        p_agent_id,
        p_agent_version,
        coalesce(p_priority, 0),
        p_max_attempts
    ));
    perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    v_is_head := not exists (
        select
        from strongroom.runs as r
        where r.tenant_id = p_tenant_id
            and r.conversation_id = p_conversation_id
            and r.is_head
    );
    insert into strongroom.runs (
        tenant_id, id, conversation_id, number, is_head, is_ready, priority, agent_id,
        agent_version, input, max_attempts, available_at, claimable_at, creation_digest
    )
    select
        p_tenant_id,
        v_id,
        p_conversation_id,
        coalesce(max(r.number), 0) + 1,
        v_is_head,
        v_is_head and v_is_due,
        coalesce(p_priority, 0),
        p_agent_id,
        p_agent_version,
        p_input,
        p_max_attempts,
        p_available_at,
        case when v_is_head and not v_is_due then p_available_at end,
        v_digest
    from strongroom.runs as r
    where r.tenant_id = p_tenant_id
        and r.conversation_id = p_conversation_id
    on conflict on constraint runs_pkey do nothing;
    if found then
        v_outcome := 'inserted';
        if v_is_head and v_is_due then
            perform strongroom_private.wake_workers();
        end if;
    end if;
    return query
    select
        d.*,
        v_outcome
    from strongroom.run_details as d
    inner join strongroom.runs as r
        on r.tenant_id = d.tenant_id
        and r.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_id
        and r.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'a run with this id was created with other content',
            jsonb_build_object('path', 'run_id', 'record', 'run'),
            'Use a new id for a new run.'
        );
    end if;
end
$$;
comment on function strongroom.create_run(
    text, text, text, jsonb, text, integer, integer, integer, timestamptz
) is
    'Queue a run in a conversation, behind the runs that it has. A repeat with the same id and'
    ' arguments (available_at does not count) changes nothing and says duplicate. Errors: SR001,'
    ' SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.find_run(
    p_tenant_id text,
    p_run_id text,
    p_viewer_id text default null
)
returns setof strongroom.run_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('run_id', p_run_id);
    return query
    select d.*
    from strongroom.run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id
        and strongroom_private.is_readable_conversation(
            d.tenant_id, d.conversation_id, v_viewer_id
        );
end
$$;
comment on function strongroom.find_run(text, text, text) is
    'The run, or no row when it does not exist or the viewer may not read its conversation. Errors:'
    ' SR001, SR020, SR021. Callers: hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- Claims
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.check_lease(p_worker_id text, p_lease_seconds double precision)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_id('worker_id', p_worker_id);
    if p_lease_seconds is null or p_lease_seconds <= 0 or p_lease_seconds > 86400 then
        perform strongroom_private.fail(
            'invalid_argument',
            'lease_seconds must be above 0 and at most 86400',
            jsonb_build_object('path', 'lease_seconds', 'actual', p_lease_seconds),
            'Give a lease of a few heartbeats, for example 30 seconds.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_lease(text, double precision) is
    'A claim names its worker and a lease of up to a day. Errors: SR001, SR004.';

create function strongroom_private.mature_runs()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- A variable, because an index cannot be searched for a volatile function.
    v_now timestamptz := clock_timestamp();
begin
    -- Bounded, and skipping what others are working on: each claim moves on a little. Materialized,
    -- so that no plan can run the limited part more than once.
    with due as materialized (
        select
            d.tenant_id,
            d.id
        from strongroom.runs as d
        where d.claimable_at <= v_now
        order by d.claimable_at
        limit 100
        for update skip locked
    )
    update strongroom.runs as r
    set is_ready = coalesce(r.lease_expires_at <= v_now, true),
        claimable_at = case when r.lease_expires_at > v_now then r.lease_expires_at end,
        status = case r.status when 'retry_pending' then 'queued' else r.status end,
        updated_at = now()
    from due
    where r.tenant_id = due.tenant_id
        and r.id = due.id;
end
$$;
comment on function strongroom_private.mature_runs() is
    'Make ready what has become due: runs for later, retries, and running ones whose lease has'
    ' ended. A lease that was prolonged comes up again at its new end.';

create function strongroom_private.take_claim(
    p_tenant_id text,
    p_run_id text,
    p_worker_id text,
    p_lease_seconds double precision
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    update strongroom.runs as r
    set status = 'running',
        is_ready = false,
        -- Going on after an answer is no new attempt; a first start, a retry and a lost lease are.
        attempt = r.attempt + case
            when r.started_at is null or r.status = 'running' or r.error is not null then 1
            else 0
        end,
        resumes_after = r.checkpointed_event_sequence,
        claim_token = greatest(nextval('strongroom.claim_tokens'), r.claim_token + 1),
        worker_id = p_worker_id,
        lease_expires_at = clock_timestamp() + make_interval(secs => p_lease_seconds),
        claimable_at = clock_timestamp() + make_interval(secs => p_lease_seconds),
        available_at = null,
        started_at = coalesce(r.started_at, now()),
        updated_at = now()
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
$$;
comment on function strongroom_private.take_claim(text, text, text, double precision) is
    'Write a claim on a ready run that the caller has locked.';

-- SECURITY DEFINER: workers serve every tenant, and row security binds a host to one. This function
-- sees which tenants have ready runs, takes the next one after p_after_tenant_id in turn, and
-- returns nothing but the claimed run's tenant and id; the caller reads the run bound to its
-- tenant.
create function strongroom_private.dispatch_runs(
    p_worker_id text,
    p_lease_seconds double precision,
    p_limit integer,
    p_after_tenant_id text,
    p_tenant_id text
)
returns table (tenant_id text, id text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- See dispatch_jobs: a claim walks the indexes that are made for it, row by row, in the one way
-- that there is.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_tenant_id text;
    v_passed text := coalesce(p_after_tenant_id, '');
    -- A first pass that starts in the middle is followed by one from the beginning in any case.
    v_go_round boolean := v_passed <> '';
    v_id text;
    v_taken integer := 0;
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true) then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts claim runs', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform set_config('strongroom.dispatching', 'on', true);
    perform strongroom_private.mature_runs();
    while v_taken < p_limit loop
        -- One probe of the index of ready runs finds the next tenant that has any.
        select min(r.tenant_id)
        into v_tenant_id
        from strongroom.runs as r
        where r.is_ready
            and r.tenant_id > v_passed
            and (p_tenant_id is null or r.tenant_id = p_tenant_id);
        if v_tenant_id is null then
            exit when not v_go_round;
            v_go_round := false;
            v_passed := '';
            continue;
        end if;
        v_passed := v_tenant_id;

        -- A suspended tenant takes no writes, so a worker could do nothing with its runs.
        perform strongroom_private.enter_tenant(v_tenant_id);
        perform
        from strongroom.tenants as t
        where t.tenant_id = v_tenant_id
            and t.status = 'active';
        continue when not found;

        select r.id
        into v_id
        from strongroom.runs as r
        where r.tenant_id = v_tenant_id
            and r.is_ready
        order by
            r.priority desc,
            r.created_at,
            r.id
        limit 1
        for update skip locked;
        if found then
            perform strongroom_private.take_claim(v_tenant_id, v_id, p_worker_id, p_lease_seconds);
            v_taken := v_taken + 1;
            v_go_round := true;
            tenant_id := v_tenant_id;
            id := v_id;
            return next;
        end if;
    end loop;
    perform set_config('strongroom.dispatching', '', true);
end
$$;
comment on function strongroom_private.dispatch_runs(
    text, double precision, integer, text, text
) is
    'Choose and claim ready runs, tenant after tenant. SECURITY DEFINER, see its comment in the'
    ' migration. Errors: SR020.';

create function strongroom.claim_next_runs(
    p_worker_id text,
    p_lease_seconds double precision default 30,
    p_limit integer default 1,
    p_after_tenant_id text default null,
    p_tenant_id text default null
)
returns setof strongroom.run_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_claim record;
    v_run strongroom.runs;
    v_passed text := p_after_tenant_id;
    v_given integer := 0;
    v_is_empty boolean;
begin
    perform strongroom_private.check_lease(p_worker_id, p_lease_seconds);
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.check_optional_id('tenant_id', p_tenant_id);
    perform strongroom_private.check_optional_id('after_tenant_id', p_after_tenant_id);
    while v_given < p_limit loop
        v_is_empty := true;
        for v_claim in
            select
                d.tenant_id,
                d.id
            from strongroom_private.dispatch_runs(
                p_worker_id, p_lease_seconds, p_limit - v_given, v_passed, p_tenant_id
            ) as d
        loop
            v_is_empty := false;
            v_passed := v_claim.tenant_id;
            perform strongroom_private.enter_tenant(v_claim.tenant_id);
            select r.*
            into v_run
            from strongroom.runs as r
            where r.tenant_id = v_claim.tenant_id
                and r.id = v_claim.id;
            if v_run.attempt > v_run.max_attempts or v_run.cancel_requested_at is not null then
                -- Its last worker is gone. Nobody else gets it: it ends here, in place of the
                -- worker that would have ended it, and the claim on it was no attempt.
                v_run.attempt := least(v_run.attempt - 1, v_run.max_attempts);
                perform strongroom_private.end_lost_run(v_run);
                continue;
            end if;
            v_given := v_given + 1;
            return query
            select d.*
            from strongroom.run_details as d
            where d.tenant_id = v_claim.tenant_id
                and d.id = v_claim.id;
        end loop;
        exit when v_is_empty;
    end loop;
end
$$;
comment on function strongroom.claim_next_runs(
    text, double precision, integer, text, text
) is
    'Claim up to p_limit ready runs of any active tenant (or of one) for a worker, tenants in turn'
    ' after p_after_tenant_id, within a tenant by priority and age; also running ones whose lease'
    ' has ended. Of those, one without an attempt left is ended as failed, and one that was to be'
    ' cancelled as cancelled. Rows that others are claiming are skipped. Errors: SR001, SR004,'
    ' SR020. Callers: hosts.';

create function strongroom.claim_run(
    p_tenant_id text,
    p_run_id text,
    p_worker_id text,
    p_lease_seconds double precision default 30
)
returns setof strongroom.run_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_run strongroom.runs;
    v_now timestamptz;
    v_is_free boolean;
begin
    perform strongroom_private.check_lease(p_worker_id, p_lease_seconds);
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    select r.*
    into v_run
    from strongroom.runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
        and strongroom_private.is_readable_conversation(r.tenant_id, r.conversation_id, null)
    for update of r;
    if not found then
        perform strongroom_private.fail_missed_write('run', null, null);
    end if;
    v_now := clock_timestamp();
    v_is_free := v_run.is_ready or (
        v_run.claimable_at <= v_now
        and coalesce(v_run.lease_expires_at <= v_now, true)
    );
    if not coalesce(v_is_free, false)
        or (
            v_run.status = 'running'
            and (v_run.attempt >= v_run.max_attempts or v_run.cancel_requested_at is not null)
        )
    then
        return;
    end if;
    if v_run.status = 'retry_pending' then
        update strongroom.runs as r
        set status = 'queued'
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id;
    end if;
    perform strongroom_private.take_claim(p_tenant_id, p_run_id, p_worker_id, p_lease_seconds);
    return query
    select d.*
    from strongroom.run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.claim_run(text, text, text, double precision) is
    'Claim this run for a worker; no row when it is not claimable now: not the head, running with a'
    ' lease, waiting, ended, not due, or lost for good by its last worker. Errors: SR001, SR004,'
    ' SR010, SR020. Callers: hosts.';

create function strongroom_private.fail_stale_claim(
    p_run_id text,
    p_claim_token bigint,
    p_status text
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.fail(
        'stale_claim',
        format('the claim of run %s is no longer valid; the run is %s', p_run_id, p_status),
        jsonb_build_object('record', 'run', 'claim_token', p_claim_token, 'status', p_status),
        'Stop working on the run: nothing of this call was written.'
    );
end
$$;
comment on function strongroom_private.fail_stale_claim(text, bigint, text) is
    'Refuse a write by somebody who does not hold the run (any more). Errors: SR031.';

create function strongroom_private.lock_run(p_tenant_id text, p_run_id text)
returns strongroom.runs
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_run strongroom.runs;
    v_conversation_id text;
begin
    perform strongroom_private.check_id('run_id', p_run_id);
    select r.conversation_id
    into v_conversation_id
    from strongroom.runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id;
    -- The conversation first: it may be deleted in this moment, and then nothing may be added to
    -- it. An absent run and one of a deleted conversation are the same.
    perform
    from strongroom.conversations as c
    where c.tenant_id = p_tenant_id
        and c.id = v_conversation_id
        and c.deleted_at is null
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('run', null, null);
    end if;
    select r.*
    into v_run
    from strongroom.runs as r
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
    for update;
    return v_run;
end
$$;
comment on function strongroom_private.lock_run(text, text) is
    'Lock a run''s living conversation, and the run. Errors: SR001, SR010.';

create function strongroom_private.lock_claimed_run(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint
)
returns strongroom.runs
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_run strongroom.runs;
begin
    v_run := strongroom_private.lock_run(p_tenant_id, p_run_id);
    if v_run.status <> 'running' or v_run.claim_token is distinct from p_claim_token then
        perform strongroom_private.fail_stale_claim(p_run_id, p_claim_token, v_run.status);
    end if;
    return v_run;
end
$$;
comment on function strongroom_private.lock_claimed_run(text, text, bigint) is
    'The first step of every write on behalf of a run: lock conversation and run, and make sure'
    ' that the caller holds the newest claim. Errors: SR001, SR010, SR031.';

create function strongroom.heartbeat_run(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_lease_seconds double precision default 30
)
returns table (lease_expires_at timestamptz, cancel_requested boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_end timestamptz;
    v_status text;
begin
    perform strongroom_private.check_lease('heartbeat', p_lease_seconds);
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    -- A lease that has ended may still be renewed while nobody else has claimed the run: the token
    -- is what counts. A running run that is neither ready nor due is held, see
    -- hold_runs_of_deleted_conversation: a heartbeat must not bring it back into the queue. A
    -- heartbeat that prolongs changes no indexed column; mature_runs looks at the new end when the
    -- old one comes up.
    v_end := clock_timestamp() + make_interval(secs => p_lease_seconds);
    return query
    update strongroom.runs as r
    set lease_expires_at = v_end,
        claimable_at = least(r.claimable_at, v_end),
        is_ready = false,
        updated_at = now()
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
        and r.status = 'running'
        and r.claim_token = p_claim_token
        and (r.is_ready or r.claimable_at is not null)
    returning
        r.lease_expires_at,
        r.cancel_requested_at is not null;
    if not found then
        select r.status
        into v_status
        from strongroom.runs as r
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id
            and strongroom_private.is_readable_conversation(
                r.tenant_id, r.conversation_id, null
            );
        if v_status is null then
            perform strongroom_private.fail_missed_write('run', null, null);
        end if;
        perform strongroom_private.fail_stale_claim(p_run_id, p_claim_token, v_status);
    end if;
end
$$;
comment on function strongroom.heartbeat_run(text, text, bigint, double precision) is
    'Prolong the lease from now on, and learn whether somebody asked to cancel; refused once the'
    ' claim is lost. Errors: SR001, SR010, SR020, SR031. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Run events
-- ---------------------------------------------------------------------------------------------

create table strongroom.run_events (
    tenant_id text collate "C" not null,
    run_id text collate "C" not null,
    sequence bigint not null,
    conversation_id text collate "C" not null,
    id text collate "C" not null,
    kind text collate "C" not null,
    data jsonb not null default '{}',
    claim_token bigint not null,
    resumes_after bigint not null,
    created_at timestamptz not null default now(),
    constraint run_events_pkey primary key (tenant_id, run_id, sequence),
    constraint an_event_id_is_used_once_in_a_run unique (tenant_id, run_id, id),
    constraint event_belongs_to_a_run
        foreign key (tenant_id, run_id)
        references strongroom.runs (tenant_id, id)
        on delete cascade,
    constraint sequence_is_positive check (sequence > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint kind_has_1_to_255_characters check (char_length(kind) between 1 and 255),
    constraint data_is_an_object check (jsonb_typeof(data) = 'object'),
    constraint resumes_after_is_before_the_event
        check (resumes_after between 0 and greatest(sequence, 1) - 1),
    constraint data_has_at_most_1_mib check (octet_length(data::text) <= 1048576)
);
comment on table strongroom.run_events is
    'What a run streamed and did, in order. Insert-only; leaves only with its run.';
comment on column strongroom.run_events.tenant_id is 'The tenant.';
comment on column strongroom.run_events.run_id is 'The run.';
comment on column strongroom.run_events.sequence is
    'Its place in the run: 1, 2, 3, ... without gaps, in commit order.';
comment on column strongroom.run_events.conversation_id is
    'The run''s conversation, whose reading rule it has.';
comment on column strongroom.run_events.id is 'The event''s id: a repeated append is known by it.';
comment on column strongroom.run_events.kind is
    'What happened; text-delta is text that a person saw streaming.';
comment on column strongroom.run_events.data is 'The particulars; for text-delta {"text": ...}.';
comment on column strongroom.run_events.claim_token is 'The claim under which it was written.';
comment on column strongroom.run_events.resumes_after is
    'The event after which its claim went on. What earlier claims streamed after that one has been'
    ' streamed anew.';
comment on column strongroom.run_events.created_at is 'When it was written. It orders nothing.';

create trigger run_events_are_insert_only
    before update or delete on strongroom.run_events
    for each row
    execute function strongroom_private.keep_history('strongroom.runs', 'id', 'run_id');
comment on trigger run_events_are_insert_only on strongroom.run_events is 'See keep_history.';
create trigger run_events_are_never_truncated
    before truncate on strongroom.run_events
    for each statement
    execute function strongroom_private.keep_history();
comment on trigger run_events_are_never_truncated on strongroom.run_events is
    'See keep_history.';

alter table strongroom.run_events enable row level security;
alter table strongroom.run_events force row level security;
create policy readers_read on strongroom.run_events
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_conversation(tenant_id, conversation_id)
        )
    );
comment on policy readers_read on strongroom.run_events is 'As the conversation.';
create policy trusted_inserts on strongroom.run_events
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.run_events is 'Hosts.';
create policy erasure_deletes on strongroom.run_events
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
        and (select strongroom_private.is_erasing())
    );
comment on policy erasure_deletes on strongroom.run_events is 'Nobody but retention.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.run_events',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They are the agent''s, and go with the run.'
);

create function strongroom.append_run_events(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_events jsonb
)
returns table (id text, outcome text, sequence bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_run strongroom.runs;
    v_event jsonb;
    v_ids text[] := array[]::text[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if jsonb_typeof(p_events) is distinct from 'array'
        or jsonb_array_length(p_events) not between 1 and 500
    then
        perform strongroom_private.fail(
            'invalid_argument',
            'events must be a list of 1 to 500 events',
            '{"path": "events"}',
            'Append in batches.'
        );
    end if;
    for v_index in 0 .. jsonb_array_length(p_events) - 1 loop
        v_event := p_events -> v_index;
        perform strongroom_private.check_keys(
            format('events[%s]', v_index), v_event, '{id,kind,data}'
        );
        perform strongroom_private.check_text(
            format('events[%s].kind', v_index), v_event -> 'kind'
        );
        perform strongroom_private.check_text(
            format('events[%s].id', v_index), v_event -> 'id'
        );
        perform strongroom_private.check_id(format('events[%s].kind', v_index), v_event ->> 'kind');
        perform strongroom_private.check_optional_id(
            format('events[%s].id', v_index), v_event ->> 'id'
        );
        if v_event ->> 'id' = any (v_ids) then
            perform strongroom_private.fail(
                'invalid_argument',
                format('events[%s].id stands in the batch already', v_index),
                jsonb_build_object('path', format('events[%s].id', v_index)),
                'Each event of a batch has its own id.'
            );
        end if;
        v_ids := array_append(v_ids, v_event ->> 'id');
        if v_event ? 'data' then
            perform strongroom_private.check_object(
                format('events[%s].data', v_index), v_event -> 'data', 1048576
            );
        end if;
    end loop;
    v_run := strongroom_private.lock_claimed_run(p_tenant_id, p_run_id, p_claim_token);

    return query
    with input as materialized (
        select
            i.place,
            coalesce(i.value ->> 'id', gen_random_uuid()::text) as id,
            i.value ->> 'kind' as kind,
            coalesce(i.value -> 'data', '{}') as data
        from jsonb_array_elements(p_events) with ordinality as i (value, place)
    ),
    judged as materialized (
        select
            i.place,
            i.id,
            e.sequence,
            case
                when e.id is null then 'inserted'
                when e.kind = i.kind and e.data = i.data then 'duplicate'
                else 'conflict'
            end as outcome
        from input as i
        left join strongroom.run_events as e
            on e.tenant_id = p_tenant_id
            and e.run_id = p_run_id
            and e.id = i.id
    ),
    inserted as (
        insert into strongroom.run_events (
            tenant_id, run_id, sequence, conversation_id, id, kind, data, claim_token, resumes_after
        )
        select
            p_tenant_id,
            p_run_id,
            v_run.last_event_sequence + row_number() over (order by i.place),
            v_run.conversation_id,
            i.id,
            i.kind,
            i.data,
            p_claim_token,
            v_run.resumes_after
        from input as i
        inner join judged as j on j.place = i.place
        where j.outcome = 'inserted'
        order by i.place
        returning
            run_events.id,
            run_events.sequence
    ),
    advanced as (
        update strongroom.runs as r
        set last_event_sequence = v_run.last_event_sequence + n.inserted
        from (select count(*) as inserted from inserted) as n
        where n.inserted > 0
            and r.tenant_id = p_tenant_id
            and r.id = p_run_id
    )
    select
        j.id,
        j.outcome,
        coalesce(n.sequence, case j.outcome when 'duplicate' then j.sequence end)
    from judged as j
    left join inserted as n on n.id = j.id
    order by j.place;
end
$$;
comment on function strongroom.append_run_events(text, text, bigint, jsonb) is
    'Append 1 to 500 events {id, kind, data} of a run, in order, under its claim. One row per'
    ' event: inserted, duplicate or conflict. Errors: SR001, SR004, SR010, SR020, SR031. Callers:'
    ' hosts.';

create function strongroom_private.require_readable_run(
    p_tenant_id text,
    p_run_id text,
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
    perform strongroom_private.check_id('run_id', p_run_id);
    if not exists (
        select
        from strongroom.runs as r
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id
            and strongroom_private.is_readable_conversation(
                r.tenant_id, r.conversation_id, v_viewer_id
            )
    ) then
        perform strongroom_private.fail_missed_write('run', null, null);
    end if;
end
$$;
comment on function strongroom_private.require_readable_run(text, text, text) is
    'Enter the tenant, and one check per call for whatever hangs on a run. Errors: SR001, SR010,'
    ' SR020, SR021.';

create function strongroom.list_run_events(
    p_tenant_id text,
    p_run_id text,
    p_limit integer default 50,
    p_after_sequence bigint default 0,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    run_id text,
    sequence bigint,
    id text,
    kind text,
    data jsonb,
    claim_token bigint,
    resumes_after bigint,
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
    -- Not in the query: coalesce is no condition of an index below row security.
    v_after bigint := coalesce(p_after_sequence, 0);
begin
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.require_readable_run(p_tenant_id, p_run_id, p_viewer_id);
    return query
    select
        s.tenant_id,
        s.run_id,
        s.sequence,
        s.id,
        s.kind,
        s.data,
        s.claim_token,
        s.resumes_after,
        s.created_at,
        s.sequence::text,
        s.total > p_limit
    from (
        select
            e.*,
            count(*) over () as total
        from (
            select e.*
            from strongroom.run_events as e
            where e.tenant_id = p_tenant_id
                and e.run_id = p_run_id
                and e.sequence > v_after
            order by e.sequence
            limit p_limit + 1
        ) as e
    ) as s
    order by s.sequence
    limit p_limit;
end
$$;
comment on function strongroom.list_run_events(text, text, integer, bigint, text) is
    'A run''s events after a sequence, oldest first: resume with the last sequence seen. Errors:'
    ' SR001, SR004, SR010, SR020, SR021. Callers: hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- Checkpoints
-- ---------------------------------------------------------------------------------------------
-- Invariant: a run's checkpoints are a chain 1, 2, 3, ...: each is saved on top of the one the
-- worker knows. Of two that are saved on the same one, exactly one succeeds.

create table strongroom.checkpoints (
    tenant_id text collate "C" not null,
    run_id text collate "C" not null,
    sequence bigint not null,
    conversation_id text collate "C" not null,
    id text collate "C" not null,
    state jsonb,
    data bytea,
    size_bytes integer not null,
    event_sequence bigint not null,
    claim_token bigint not null,
    created_at timestamptz not null default now(),
    constraint checkpoints_pkey primary key (tenant_id, run_id, sequence),
    constraint a_checkpoint_id_is_used_once_in_a_run unique (tenant_id, run_id, id),
    constraint checkpoint_belongs_to_a_run
        foreign key (tenant_id, run_id)
        references strongroom.runs (tenant_id, id)
        on delete cascade,
    constraint sequence_is_positive check (sequence > 0),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint a_checkpoint_has_state_or_data check (state is not null or data is not null),
    constraint a_checkpoint_has_at_most_16_mib check (size_bytes between 0 and 16777216)
);
comment on table strongroom.checkpoints is
    'Where a run can go on after a crash: JSON state, bytes, or both.';
comment on column strongroom.checkpoints.tenant_id is 'The tenant.';
comment on column strongroom.checkpoints.run_id is 'The run.';
comment on column strongroom.checkpoints.sequence is
    '1, 2, 3, ... within the run; its parent is the one before.';
comment on column strongroom.checkpoints.conversation_id is
    'The run''s conversation, whose reading rule it has.';
comment on column strongroom.checkpoints.id is
    'The checkpoint''s id: a repeated save is known by it.';
comment on column strongroom.checkpoints.state is 'JSON state.';
comment on column strongroom.checkpoints.data is 'State as bytes.';
comment on column strongroom.checkpoints.size_bytes is 'Size of both, at most 16 MiB.';
comment on column strongroom.checkpoints.event_sequence is
    'The run''s newest event when it was saved.';
comment on column strongroom.checkpoints.claim_token is 'The claim under which it was saved.';
comment on column strongroom.checkpoints.created_at is 'When it was saved. It orders nothing.';

-- lz4 halves the time to save where the server was built with it.
do $$
begin
    alter table strongroom.checkpoints
        alter column state set compression lz4,
        alter column data set compression lz4;
exception
    when feature_not_supported then
        null;
end
$$;

alter table strongroom.checkpoints enable row level security;
alter table strongroom.checkpoints force row level security;
create policy readers_read on strongroom.checkpoints
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or strongroom_private.may_read_conversation(tenant_id, conversation_id)
        )
    );
comment on policy readers_read on strongroom.checkpoints is 'As the conversation.';
create policy trusted_inserts on strongroom.checkpoints
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.checkpoints is 'Hosts.';
create policy trusted_deletes on strongroom.checkpoints
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.checkpoints is 'Hosts, through prune_checkpoints.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.checkpoints',
    p_column => '',
    p_action => 'keep',
    p_reason => 'They are the agent''s, and go with the run.'
);

create function strongroom.save_checkpoint(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_expected_sequence bigint,
    p_state jsonb default null,
    p_data text default null,
    p_checkpoint_id text default null
)
returns table (
    tenant_id text,
    run_id text,
    sequence bigint,
    conversation_id text,
    id text,
    size_bytes integer,
    event_sequence bigint,
    claim_token bigint,
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
    v_id text := coalesce(p_checkpoint_id, gen_random_uuid()::text);
    v_data bytea;
    v_size bigint;
    v_run strongroom.runs;
    v_stored strongroom.checkpoints;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('checkpoint_id', v_id);
    if coalesce(p_expected_sequence, -1) < 0 then
        perform strongroom_private.fail(
            'invalid_argument', 'expected_sequence is required', '{"path": "expected_sequence"}',
            'Give the sequence of the newest checkpoint that you know, 0 before the first.'
        );
    end if;
    if p_state is null and p_data is null then
        perform strongroom_private.fail(
            'invalid_argument', 'state or data is required', '{"path": "state"}',
            'Give the JSON state, the bytes, or both.'
        );
    end if;
    begin
        v_data := decode(p_data, 'base64');
    exception
        when data_exception then
            perform strongroom_private.fail(
                'invalid_argument', 'data is not base64', '{"path": "data"}', 'Encode the bytes.'
            );
    end;
    v_size := coalesce(octet_length(p_state::text), 0) + coalesce(octet_length(v_data), 0);
    if v_size > 16777216 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('the checkpoint has %s bytes; at most 16777216 are allowed', v_size),
            jsonb_build_object('path', 'state', 'limit', 16777216, 'actual', v_size),
            'Keep large data in a file or tool output, and its id in the checkpoint.'
        );
    end if;
    v_run := strongroom_private.lock_claimed_run(p_tenant_id, p_run_id, p_claim_token);
    select c.*
    into v_stored
    from strongroom.checkpoints as c
    where c.tenant_id = p_tenant_id
        and c.run_id = p_run_id
        and c.id = v_id;
    if not found then
        if p_expected_sequence <> v_run.last_checkpoint_sequence then
            perform strongroom_private.fail_missed_write(
                'checkpoint', p_expected_sequence, v_run.last_checkpoint_sequence
            );
        end if;
        insert into strongroom.checkpoints (
            tenant_id, run_id, sequence, conversation_id, id, state, data, size_bytes,
            event_sequence, claim_token
        )
        values (
            p_tenant_id, p_run_id, v_run.last_checkpoint_sequence + 1, v_run.conversation_id, v_id,
            p_state, v_data, v_size, v_run.last_event_sequence, p_claim_token
        );
        update strongroom.runs as r
        set last_checkpoint_sequence = v_run.last_checkpoint_sequence + 1,
            checkpointed_event_sequence = v_run.last_event_sequence
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id;
        v_outcome := 'inserted';
    elsif v_stored.state is distinct from p_state or v_stored.data is distinct from v_data then
        perform strongroom_private.fail(
            'already_exists', 'a checkpoint with this id was saved with other content',
            jsonb_build_object('path', 'checkpoint_id', 'record', 'checkpoint'),
            'Use a new id for a new checkpoint.'
        );
    end if;
    return query
    select
        c.tenant_id,
        c.run_id,
        c.sequence,
        c.conversation_id,
        c.id,
        c.size_bytes,
        c.event_sequence,
        c.claim_token,
        c.created_at,
        v_outcome
    from strongroom.checkpoints as c
    where c.tenant_id = p_tenant_id
        and c.run_id = p_run_id
        and c.id = v_id;
end
$$;
comment on function strongroom.save_checkpoint(text, text, bigint, bigint, jsonb, text, text) is
    'Save a checkpoint on top of the sequence that the worker knows (0 before the first): SR012'
    ' when there is a newer one. A repeat with the same id changes nothing. Errors: SR001, SR004,'
    ' SR010, SR011, SR012, SR020, SR031. Callers: hosts.';

create function strongroom.find_checkpoint(
    p_tenant_id text,
    p_run_id text,
    p_sequence bigint default null,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    run_id text,
    sequence bigint,
    conversation_id text,
    id text,
    size_bytes integer,
    event_sequence bigint,
    claim_token bigint,
    created_at timestamptz,
    state jsonb,
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
    -- A range is a condition of the index, with a sequence and without one.
    v_low bigint := coalesce(p_sequence, 1);
    v_high bigint := coalesce(p_sequence, 9223372036854775807);
begin
    perform strongroom_private.require_readable_run(p_tenant_id, p_run_id, p_viewer_id);
    return query
    select
        c.tenant_id,
        c.run_id,
        c.sequence,
        c.conversation_id,
        c.id,
        c.size_bytes,
        c.event_sequence,
        c.claim_token,
        c.created_at,
        c.state,
        translate(encode(c.data, 'base64'), E'\n', '')
    from strongroom.checkpoints as c
    where c.tenant_id = p_tenant_id
        and c.run_id = p_run_id
        and c.sequence between v_low and v_high
    order by c.sequence desc
    limit 1;
end
$$;
comment on function strongroom.find_checkpoint(text, text, bigint, text) is
    'One checkpoint with its payload, the newest without a sequence; or no row. Errors: SR001,'
    ' SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_checkpoints(
    p_tenant_id text,
    p_run_id text,
    p_limit integer default 50,
    p_after_sequence bigint default 0,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    run_id text,
    sequence bigint,
    conversation_id text,
    id text,
    size_bytes integer,
    event_sequence bigint,
    claim_token bigint,
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
    -- Not in the query: coalesce is no condition of an index below row security.
    v_after bigint := coalesce(p_after_sequence, 0);
begin
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.require_readable_run(p_tenant_id, p_run_id, p_viewer_id);
    return query
    select
        s.tenant_id,
        s.run_id,
        s.sequence,
        s.conversation_id,
        s.id,
        s.size_bytes,
        s.event_sequence,
        s.claim_token,
        s.created_at,
        s.sequence::text,
        s.total > p_limit
    from (
        -- Payloads are not even read: they lie in TOAST.
        select
            c.*,
            count(*) over () as total
        from (
            select
                c.tenant_id,
                c.run_id,
                c.sequence,
                c.conversation_id,
                c.id,
                c.size_bytes,
                c.event_sequence,
                c.claim_token,
                c.created_at
            from strongroom.checkpoints as c
            where c.tenant_id = p_tenant_id
                and c.run_id = p_run_id
                and c.sequence > v_after
            order by c.sequence
            limit p_limit + 1
        ) as c
    ) as s
    order by s.sequence
    limit p_limit;
end
$$;
comment on function strongroom.list_checkpoints(text, text, integer, bigint, text) is
    'A run''s checkpoints after a sequence, oldest first, without payloads. Errors: SR001, SR004,'
    ' SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.prune_checkpoints(
    p_tenant_id text,
    p_run_id text,
    p_keep integer
)
returns table (pruned bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_run strongroom.runs;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if coalesce(p_keep, 0) < 1 then
        perform strongroom_private.fail(
            'invalid_argument', 'keep must be at least 1', '{"path": "keep"}',
            'A run without a checkpoint cannot recover; keep the newest.'
        );
    end if;
    v_run := strongroom_private.lock_run(p_tenant_id, p_run_id);
    delete from strongroom.checkpoints as c
    where c.tenant_id = p_tenant_id
        and c.run_id = p_run_id
        and c.sequence <= v_run.last_checkpoint_sequence - p_keep;
    get diagnostics pruned = row_count;
    return next;
end
$$;
comment on function strongroom.prune_checkpoints(text, text, integer) is
    'Delete all but the newest checkpoints of a run; returns how many went. Errors: SR001, SR010,'
    ' SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Interactions: questions and approvals
-- ---------------------------------------------------------------------------------------------
-- Invariants: an interaction is resolved once. Its run is queued once, after the last pending one.
-- An approved tool call is claimed once, with the stored input. Whatever is unclear is not
-- approved.

create table strongroom.interactions (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    run_id text collate "C" not null,
    conversation_id text collate "C" not null,
    kind text collate "C" not null,
    status text collate "C" not null default 'pending',
    addressee_id text collate "C",
    prompt text,
    options jsonb,
    tool_call_id text collate "C",
    tool_name text collate "C",
    input jsonb,
    risk text collate "C",
    expires_at timestamptz,
    answer jsonb,
    decision text collate "C",
    resolved_by text collate "C",
    resolved_at timestamptz,
    claimed_at timestamptz,
    claim_token bigint,
    claim_id text collate "C",
    creation_digest text collate "C" not null,
    created_at timestamptz not null default now(),
    constraint interactions_pkey primary key (tenant_id, id),
    constraint interaction_belongs_to_a_run
        foreign key (tenant_id, run_id)
        references strongroom.runs (tenant_id, id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint kind_is_question_or_approval check (kind in ('question', 'approval')),
    constraint status_is_known
        check (status in ('pending', 'answered', 'approved', 'denied', 'expired', 'cancelled')),
    constraint a_question_has_a_prompt check (kind <> 'question' or prompt is not null),
    constraint an_approval_names_tool_and_input
        check (kind <> 'approval' or (tool_name is not null and input is not null)),
    constraint a_question_is_answered_not_decided
        check (kind <> 'question' or (status not in ('approved', 'denied') and decision is null)),
    constraint an_approval_is_decided_not_answered
        check (kind <> 'approval' or (status <> 'answered' and answer is null)),
    constraint an_answered_question_has_an_answer
        check ((status = 'answered') = (answer is not null)),
    constraint decision_is_known
        check (decision in ('allow-once', 'allow-conversation', 'allow-always', 'deny')),
    constraint a_decision_is_that_of_its_status check (
        (status = 'approved') = coalesce(
            decision in ('allow-once', 'allow-conversation', 'allow-always'), false
        )
        and (status = 'denied') = coalesce(decision = 'deny', false)
    ),
    constraint a_resolved_interaction_knows_when
        check ((status = 'pending') = (resolved_at is null)),
    constraint only_an_approved_call_is_claimed check (claimed_at is null or status = 'approved'),
    constraint a_claimed_call_knows_its_claim check (
        (claimed_at is null) = (claim_token is null)
        and (claimed_at is null) = (claim_id is null)
    ),
    constraint tool_name_has_1_to_255_characters check (char_length(tool_name) between 1 and 255),
    constraint prompt_has_at_most_64_kib check (octet_length(prompt) <= 65536),
    constraint options_are_a_list check (jsonb_typeof(options) = 'array'),
    constraint options_have_at_most_64_kib check (octet_length(options::text) <= 65536),
    constraint input_has_at_most_1_mib check (octet_length(input::text) <= 1048576),
    constraint answer_has_at_most_64_kib check (octet_length(answer::text) <= 65536)
);
comment on table strongroom.interactions is
    'What a run waits for from a person: questions, and approvals of exactly one tool call.';
comment on column strongroom.interactions.tenant_id is 'The tenant.';
comment on column strongroom.interactions.id is
    'The interaction''s id: a repeated create is known by it.';
comment on column strongroom.interactions.run_id is 'The run that waits.';
comment on column strongroom.interactions.conversation_id is
    'The run''s conversation, whose reading rule it has.';
comment on column strongroom.interactions.kind is 'question or approval.';
comment on column strongroom.interactions.status is
    'pending, answered, approved, denied, expired or cancelled.';
comment on column strongroom.interactions.addressee_id is
    'The principal who is asked; null for the conversation''s owner and participants.';
comment on column strongroom.interactions.prompt is 'The question, or what an approval is about.';
comment on column strongroom.interactions.options is 'Answers to choose from.';
comment on column strongroom.interactions.tool_call_id is 'The call that needs approval.';
comment on column strongroom.interactions.tool_name is 'The exact tool.';
comment on column strongroom.interactions.input is
    'The exact input: what is run after approval, not something generated anew.';
comment on column strongroom.interactions.risk is 'The host''s word for how dangerous the call is.';
comment on column strongroom.interactions.expires_at is 'After this it counts as not given.';
comment on column strongroom.interactions.answer is 'The answer to a question.';
comment on column strongroom.interactions.decision is
    'allow-once, allow-conversation, allow-always or deny.';
comment on column strongroom.interactions.resolved_by is 'Who answered or decided.';
comment on column strongroom.interactions.resolved_at is 'When it was resolved.';
comment on column strongroom.interactions.claimed_at is
    'When the approved call was taken, to run it once.';
comment on column strongroom.interactions.claim_token is 'The run''s claim that took it.';
comment on column strongroom.interactions.claim_id is
    'Id of the call that took it: a repeat of that call is known by it.';
comment on column strongroom.interactions.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.interactions.created_at is 'When it was created.';

create index interactions_by_run
    on strongroom.interactions (tenant_id, run_id, created_at, id);
comment on index strongroom.interactions_by_run is 'A run''s interactions.';
create index interactions_by_conversation
    on strongroom.interactions (tenant_id, conversation_id, created_at, id);
comment on index strongroom.interactions_by_conversation is 'A conversation''s interactions.';
create index interactions_by_creation
    on strongroom.interactions (tenant_id, created_at, id);
comment on index strongroom.interactions_by_creation is 'Pages of all interactions.';
create index pending_interactions
    on strongroom.interactions (tenant_id, created_at, id)
    where status = 'pending';
comment on index strongroom.pending_interactions is 'What somebody has to answer.';
create index pending_interactions_by_expiry
    on strongroom.interactions (tenant_id, expires_at)
    where status = 'pending'
        and expires_at is not null;
comment on index strongroom.pending_interactions_by_expiry is 'What is about to expire.';

alter table strongroom.interactions enable row level security;
alter table strongroom.interactions force row level security;
create policy readers_read on strongroom.interactions
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
comment on policy readers_read on strongroom.interactions is
    'As the conversation; and the look for what is overdue.';
create policy trusted_inserts on strongroom.interactions
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.interactions is 'Hosts.';
create policy trusted_updates on strongroom.interactions
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.interactions is 'Hosts.';
create policy erasure_deletes on strongroom.interactions
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
        and (select strongroom_private.is_erasing())
    );
comment on policy erasure_deletes on strongroom.interactions is 'Nobody but retention.';

create function strongroom_private.erase_resolved_interactions(
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
    -- The decision stays: what ran because of it has run.
    update strongroom.interactions as i
    set resolved_by = null,
        answer = case when i.answer is not null then '{"erased": true}'::jsonb end
    where i.tenant_id = p_tenant_id
        and i.resolved_by = p_principal_id;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function strongroom_private.erase_resolved_interactions(text, text) is
    'Erasure: of an answer or decision of the person only the outcome is left. Returns how many'
    ' interactions.';

create function strongroom_private.erase_addressed_interactions(
    p_tenant_id text,
    p_principal_id text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_interaction_id text;
    v_count bigint;
begin
    -- Nobody else may answer for them: what they were asked and have not answered counts as not
    -- given, and the run goes on with that. Conversations are locked first, as everywhere.
    perform
    from strongroom.conversations as c
    where c.tenant_id = p_tenant_id
        and c.id in (
            select i.conversation_id
            from strongroom.interactions as i
            where i.tenant_id = p_tenant_id
                and i.addressee_id = p_principal_id
        )
    order by c.id
    for no key update;
    for v_interaction_id in
        select i.id
        from strongroom.interactions as i
        where i.tenant_id = p_tenant_id
            and i.addressee_id = p_principal_id
            and i.status = 'pending'
        order by i.id
    loop
        perform strongroom_private.expire_interaction(p_tenant_id, v_interaction_id);
    end loop;
    update strongroom.interactions as i
    set addressee_id = null
    where i.tenant_id = p_tenant_id
        and i.addressee_id = p_principal_id;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function strongroom_private.erase_addressed_interactions(text, text) is
    'Erasure: what a person was asked and has not answered expires, and their name goes. Returns'
    ' how many interactions.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.interactions',
    p_column => 'addressee_id',
    p_action => 'handle',
    p_reason => 'What they have not answered expires; who was asked is forgotten.',
    p_handler => 'strongroom_private.erase_addressed_interactions'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.interactions',
    p_column => 'resolved_by',
    p_action => 'handle',
    p_reason => 'The outcome stays, without who gave it and without their words.',
    p_handler => 'strongroom_private.erase_resolved_interactions'
);

create view strongroom.interaction_details
with (security_invoker = true)
as
select
    i.tenant_id,
    i.id,
    i.run_id,
    i.conversation_id,
    i.kind,
    i.status,
    i.addressee_id,
    i.prompt,
    i.options,
    i.tool_call_id,
    i.tool_name,
    i.input,
    i.risk,
    i.expires_at,
    i.answer,
    i.decision,
    i.resolved_by,
    i.resolved_at,
    i.claimed_at,
    i.created_at
from strongroom.interactions as i;
comment on view strongroom.interaction_details is
    'An interaction as the functions return it, without bookkeeping columns. Under the row'
    ' security of the reader.';

create type strongroom.resolved_interaction as (
    tenant_id text,
    id text,
    run_id text,
    conversation_id text,
    kind text,
    status text,
    addressee_id text,
    prompt text,
    options jsonb,
    tool_call_id text,
    tool_name text,
    input jsonb,
    risk text,
    expires_at timestamptz,
    answer jsonb,
    decision text,
    resolved_by text,
    resolved_at timestamptz,
    claimed_at timestamptz,
    created_at timestamptz,
    outcome text
);
comment on type strongroom.resolved_interaction is
    'interaction_details, and what became of the call: inserted, duplicate, resolved,'
    ' already_resolved, claimed, already_claimed or not_approved.';

create function strongroom_private.read_resolved_interaction(
    p_tenant_id text,
    p_interaction_id text,
    p_outcome text
)
returns setof strongroom.resolved_interaction
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select
        d.*,
        p_outcome
    from strongroom.interaction_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_interaction_id
$$;
comment on function strongroom_private.read_resolved_interaction(text, text, text) is
    'The interaction, and what became of a call.';

create function strongroom.create_interaction(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_kind text,
    p_interaction_id text default null,
    p_addressee_id text default null,
    p_prompt text default null,
    p_options jsonb default null,
    p_tool_call_id text default null,
    p_tool_name text default null,
    p_input jsonb default null,
    p_risk text default null,
    p_expires_at timestamptz default null
)
returns setof strongroom.resolved_interaction
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_id text := coalesce(p_interaction_id, gen_random_uuid()::text);
    v_run strongroom.runs;
    v_digest text;
    v_stored text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('interaction_id', v_id);
    perform strongroom_private.check_choice('kind', p_kind, '{question,approval}');
    perform strongroom_private.check_optional_id('addressee_id', p_addressee_id);
    perform strongroom_private.check_optional_id('tool_call_id', p_tool_call_id);
    perform strongroom_private.check_optional_id('risk', p_risk);
    perform strongroom_private.check_moment('expires_at', p_expires_at);
    if octet_length(p_prompt) > 65536 or octet_length(p_options::text) > 65536 then
        perform strongroom_private.fail(
            'limit_exceeded', 'prompt and options have at most 65536 bytes each',
            jsonb_build_object(
                'path', case when octet_length(p_prompt) > 65536 then 'prompt' else 'options' end,
                'limit', 65536
            ),
            'Keep large data in a file, and its id here.'
        );
    end if;
    if p_kind = 'question' then
        if coalesce(p_prompt, '') = '' or p_tool_name is not null or p_input is not null then
            perform strongroom_private.fail(
                'invalid_argument', 'a question has a prompt, and no tool or input',
                '{"path": "prompt"}', 'Give the question''s text.'
            );
        end if;
    else
        perform strongroom_private.check_id('tool_name', p_tool_name);
        if p_input is null or p_options is not null then
            perform strongroom_private.fail(
                'invalid_argument',
                'an approval has the exact input of the tool call, and no options',
                '{"path": "input"}', 'Give the normalised input: it is what will be run.'
            );
        elsif octet_length(p_input::text) > 1048576 then
            perform strongroom_private.fail(
                'limit_exceeded', 'input has more than 1048576 bytes',
                '{"path": "input", "limit": 1048576}', 'Keep large data in a file, and its id here.'
            );
        end if;
    end if;
    if p_options is not null and (
        jsonb_typeof(p_options) <> 'array'
        or jsonb_path_exists(p_options, 'strict $[*] ? (@.type() != "string")')
    ) then
        perform strongroom_private.fail(
            'invalid_argument', 'options must be a list of texts', '{"path": "options"}',
            'Give the answers to choose from.'
        );
    end if;
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_run_id, p_kind, p_addressee_id, p_prompt, p_options, p_tool_call_id, p_tool_name, p_input,
        p_risk
    ));
    v_run := strongroom_private.lock_claimed_run(p_tenant_id, p_run_id, p_claim_token);
    insert into strongroom.interactions (
        tenant_id, id, run_id, conversation_id, kind, addressee_id, prompt, options, tool_call_id,
        tool_name, input, risk, expires_at, creation_digest
    )
    values (
        p_tenant_id, v_id, p_run_id, v_run.conversation_id, p_kind, p_addressee_id, p_prompt,
        p_options, p_tool_call_id, p_tool_name, p_input, p_risk, p_expires_at, v_digest
    )
    on conflict on constraint interactions_pkey do nothing;
    if found then
        return query
        select c.*
        from strongroom_private.read_resolved_interaction(p_tenant_id, v_id, 'inserted') as c;
        return;
    end if;
    select i.creation_digest
    into v_stored
    from strongroom.interactions as i
    where i.tenant_id = p_tenant_id
        and i.id = v_id;
    if v_stored is distinct from v_digest then
        perform strongroom_private.fail(
            'already_exists', 'an interaction with this id was created with other content',
            jsonb_build_object('path', 'interaction_id', 'record', 'interaction'),
            'Use a new id for a new interaction.'
        );
    end if;
    return query
    select c.*
    from strongroom_private.read_resolved_interaction(p_tenant_id, v_id, 'duplicate') as c;
end
$$;
comment on function strongroom.create_interaction(
    text, text, bigint, text, text, text, text, jsonb, text, text, jsonb, text, timestamptz
) is
    'Ask a question, or for the approval of one exact tool call, on behalf of a claimed run; then'
    ' pause the run. A repeat with the same id (expires_at does not count) changes nothing. Errors:'
    ' SR001, SR004, SR010, SR011, SR020, SR031. Callers: hosts.';

create function strongroom.find_interaction(
    p_tenant_id text,
    p_interaction_id text,
    p_viewer_id text default null
)
returns setof strongroom.interaction_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('interaction_id', p_interaction_id);
    return query
    select d.*
    from strongroom.interaction_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_interaction_id
        and strongroom_private.is_readable_conversation(
            d.tenant_id, d.conversation_id, v_viewer_id
        );
end
$$;
comment on function strongroom.find_interaction(text, text, text) is
    'The interaction, or no row when it does not exist or the viewer may not read its conversation.'
    ' Errors: SR001, SR020, SR021. Callers: hosts, users.';

create function strongroom_private.queue_waiting_run(p_tenant_id text, p_run_id text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    -- Under the conversation's lock, as every resolution and every pause: so the last answer and
    -- the pause cannot miss each other, and only one of two answers finds that it was the last.
    update strongroom.runs as r
    set status = 'queued',
        is_ready = true,
        error = null,
        updated_at = now()
    where r.tenant_id = p_tenant_id
        and r.id = p_run_id
        and r.status in ('waiting_for_question', 'waiting_for_approval')
        and not exists (
            select
            from strongroom.interactions as i
            where i.tenant_id = p_tenant_id
                and i.run_id = p_run_id
                and i.status = 'pending'
        );
    if found then
        perform strongroom_private.wake_workers();
    end if;
end
$$;
comment on function strongroom_private.queue_waiting_run(text, text) is
    'Queue a waiting run when none of its interactions is pending any more.';

create function strongroom_private.lock_interaction(p_tenant_id text, p_interaction_id text)
returns strongroom.interactions
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_interaction strongroom.interactions;
    v_conversation_id text;
begin
    perform strongroom_private.check_id('interaction_id', p_interaction_id);
    select i.conversation_id
    into v_conversation_id
    from strongroom.interactions as i
    where i.tenant_id = p_tenant_id
        and i.id = p_interaction_id;
    -- An absent interaction and one of a deleted conversation are the same.
    perform
    from strongroom.conversations as c
    where c.tenant_id = p_tenant_id
        and c.id = v_conversation_id
        and c.deleted_at is null
    for no key update;
    if not found then
        perform strongroom_private.fail_missed_write('interaction', null, null);
    end if;
    select i.*
    into v_interaction
    from strongroom.interactions as i
    where i.tenant_id = p_tenant_id
        and i.id = p_interaction_id
    for update;
    return v_interaction;
end
$$;
comment on function strongroom_private.lock_interaction(text, text) is
    'Lock an interaction''s conversation and the interaction. Errors: SR001, SR010.';

create function strongroom.answer_question(
    p_tenant_id text,
    p_interaction_id text,
    p_answer jsonb,
    p_resolved_by text
)
returns setof strongroom.resolved_interaction
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_interaction strongroom.interactions;
    v_outcome text := 'already_resolved';
    -- PostgREST hands over JSON's null as SQL's: here they mean the same.
    v_answer jsonb := coalesce(p_answer, 'null');
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('resolved_by', p_resolved_by);
    if not strongroom_private.is_trusted() then
        return query
        select c.*
        from strongroom_private.answer_question_as_user(
            p_tenant_id, p_interaction_id, p_answer, p_resolved_by
        ) as c;
        return;
    end if;
    if octet_length(v_answer::text) > 65536 then
        perform strongroom_private.fail(
            'limit_exceeded', 'answer must be a JSON value of at most 65536 bytes',
            '{"path": "answer", "limit": 65536}', 'Give a shorter answer, or the id of a file.'
        );
    end if;
    v_interaction := strongroom_private.lock_interaction(p_tenant_id, p_interaction_id);
    if v_interaction.kind <> 'question' then
        perform strongroom_private.fail(
            'invalid_argument', 'this interaction is an approval: it is decided, not answered',
            '{"path": "interaction_id"}', 'Call decide_approval.'
        );
    end if;
    if v_interaction.status = 'pending'
        and coalesce(v_interaction.expires_at > clock_timestamp(), true)
    then
        update strongroom.interactions as i
        set status = 'answered',
            answer = v_answer,
            resolved_by = p_resolved_by,
            resolved_at = now()
        where i.tenant_id = p_tenant_id
            and i.id = p_interaction_id;
        v_outcome := 'resolved';
        perform strongroom_private.queue_waiting_run(p_tenant_id, v_interaction.run_id);
    elsif v_interaction.status = 'pending' then
        v_outcome := 'expired';
        perform strongroom_private.expire_interaction(p_tenant_id, p_interaction_id);
    end if;
    return query
    select c.*
    from strongroom_private.read_resolved_interaction(
        p_tenant_id, p_interaction_id, v_outcome
    ) as c;
end
$$;
comment on function strongroom.answer_question(text, text, jsonb, text) is
    'Answer a question; its run is queued with the last answer. Outcome resolved, already_resolved'
    ' (a repeat changes nothing) or expired. Errors: SR001, SR004, SR010, SR020. Callers: hosts,'
    ' users who are asked.';

create function strongroom_private.require_asked_user(
    p_tenant_id text,
    p_interaction_id text,
    p_resolved_by text
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_principal_id text := strongroom_private.current_principal();
    v_is_asked boolean;
begin
    perform strongroom_private.check_id('interaction_id', p_interaction_id);
    if p_resolved_by is distinct from v_principal_id then
        perform strongroom_private.fail(
            'permission_denied',
            'resolved_by is not the signed-in user',
            '{"path": "resolved_by"}',
            'A user answers and decides only as themselves.'
        );
    end if;
    select
        case
            when i.addressee_id is not null then i.addressee_id = v_principal_id
            else c.owner_id = v_principal_id
                or strongroom_private.is_participant(c.tenant_id, c.id)
        end
    into v_is_asked
    from strongroom.interactions as i
    inner join strongroom.conversations as c
        on c.tenant_id = i.tenant_id
        and c.id = i.conversation_id
    where i.tenant_id = p_tenant_id
        and i.id = p_interaction_id
        and strongroom_private.is_readable_conversation(c.tenant_id, c.id, v_principal_id);
    if v_is_asked is null then
        perform strongroom_private.fail_missed_write('interaction', null, null);
    elsif not v_is_asked then
        perform strongroom_private.fail(
            'permission_denied',
            'the signed-in user is not the one who is asked',
            '{"path": "interaction_id"}',
            'The addressee answers; where there is none, the conversation''s owner or a'
            ' participant.'
        );
    end if;
end
$$;
comment on function strongroom_private.require_asked_user(text, text, text) is
    'The signed-in user must be the addressee of the interaction, or where it has none the owner or'
    ' a participant of its conversation, and resolve it as themselves. Errors: SR001, SR010,'
    ' SR020.';

-- SECURITY DEFINER: a user has no right to update interactions, and none to queue runs. This lets
-- the one who is asked, and nobody else, answer.
create function strongroom_private.answer_question_as_user(
    p_tenant_id text,
    p_interaction_id text,
    p_answer jsonb,
    p_resolved_by text
)
returns setof strongroom.resolved_interaction
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_asked_user(p_tenant_id, p_interaction_id, p_resolved_by);
    return query
    select c.*
    from strongroom.answer_question(p_tenant_id, p_interaction_id, p_answer, p_resolved_by) as c;
end
$$;
comment on function strongroom_private.answer_question_as_user(text, text, jsonb, text) is
    'The way of users into answer_question. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR001, SR004, SR010, SR020.';

create function strongroom_private.expire_interaction(p_tenant_id text, p_interaction_id text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_run_id text;
begin
    update strongroom.interactions as i
    set status = 'expired',
        resolved_at = now()
    where i.tenant_id = p_tenant_id
        and i.id = p_interaction_id
        and i.status = 'pending'
    returning i.run_id
    into v_run_id;
    if v_run_id is null then
        return false;
    end if;
    perform strongroom_private.queue_waiting_run(p_tenant_id, v_run_id);
    return true;
end
$$;
comment on function strongroom_private.expire_interaction(text, text) is
    'Let a pending interaction expire: it counts as not given, and its run goes on with that. Says'
    ' whether it was pending.';

create table strongroom.approval_grants (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    principal_id text collate "C" not null,
    tool_name text collate "C" not null,
    scope text collate "C" not null,
    conversation_id text collate "C",
    interaction_id text collate "C",
    granted_by text collate "C" not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz not null default now(),
    constraint approval_grants_pkey primary key (tenant_id, id),
    constraint grant_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint grant_belongs_to_a_conversation
        foreign key (tenant_id, conversation_id)
        references strongroom.conversations (tenant_id, id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255),
    constraint tool_name_has_1_to_255_characters check (char_length(tool_name) between 1 and 255),
    constraint granted_by_has_1_to_255_characters check (char_length(granted_by) between 1 and 255),
    constraint scope_is_conversation_or_always check (scope in ('conversation', 'always')),
    constraint only_a_conversation_grant_names_one
        check ((scope = 'conversation') = (conversation_id is not null))
);
comment on table strongroom.approval_grants is
    'Standing approvals: a tool that a principal''s runs may call without asking again.';
comment on column strongroom.approval_grants.tenant_id is 'The tenant.';
comment on column strongroom.approval_grants.id is
    'The grant''s id; that of the approval which minted it.';
comment on column strongroom.approval_grants.principal_id is
    'The owner of the conversations that it holds for.';
comment on column strongroom.approval_grants.tool_name is 'The exact tool.';
comment on column strongroom.approval_grants.scope is 'conversation, or always.';
comment on column strongroom.approval_grants.conversation_id is
    'The one conversation that it holds for.';
comment on column strongroom.approval_grants.interaction_id is 'The approval that minted it.';
comment on column strongroom.approval_grants.granted_by is 'Who gave it.';
comment on column strongroom.approval_grants.expires_at is 'Until when it holds.';
comment on column strongroom.approval_grants.revoked_at is 'Since when it holds no more.';
comment on column strongroom.approval_grants.created_at is 'When it was given.';

-- Not for one conversation, too: four ids of 255 characters are more than an index takes.
create index active_grants
    on strongroom.approval_grants (tenant_id, principal_id, tool_name)
    where revoked_at is null
    and conversation_id is null;
comment on index strongroom.active_grants is 'Whether a call needs to ask, in any conversation.';
create index grants_by_conversation
    on strongroom.approval_grants (tenant_id, conversation_id);
comment on index strongroom.grants_by_conversation is
    'Whether a call needs to ask in this one, and deletion with the conversation.';
create index grants_by_creation
    on strongroom.approval_grants (tenant_id, created_at, id);
comment on index strongroom.grants_by_creation is 'Pages of a tenant''s grants.';
create index grants_by_principal
    on strongroom.approval_grants (tenant_id, principal_id, created_at, id);
comment on index strongroom.grants_by_principal is 'Pages of what holds for a principal.';

alter table strongroom.approval_grants enable row level security;
alter table strongroom.approval_grants force row level security;
create policy principals_read_their_own on strongroom.approval_grants
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or principal_id = (select strongroom_private.current_principal())
        )
    );
comment on policy principals_read_their_own on strongroom.approval_grants is
    'Hosts, and users what holds for them.';
create policy trusted_inserts on strongroom.approval_grants
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.approval_grants is 'Hosts.';
create policy trusted_updates on strongroom.approval_grants
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.approval_grants is 'Hosts, to revoke.';
create policy erasure_deletes on strongroom.approval_grants
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
        and (select strongroom_private.is_erasing())
    );
comment on policy erasure_deletes on strongroom.approval_grants is
    'Nobody but erasure and retention.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.approval_grants',
    p_column => 'principal_id',
    p_action => 'delete',
    p_reason => 'It lets this person''s runs act.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.approval_grants',
    p_column => 'granted_by',
    p_action => 'delete',
    p_reason => 'What nobody any more answers for is not allowed: runs ask again.'
);

create function strongroom.decide_approval(
    p_tenant_id text,
    p_interaction_id text,
    p_decision text,
    p_resolved_by text
)
returns setof strongroom.resolved_interaction
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_interaction strongroom.interactions;
    v_outcome text := 'already_resolved';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('resolved_by', p_resolved_by);
    perform strongroom_private.check_choice(
        'decision', p_decision, '{allow-once,allow-conversation,allow-always,deny}'
    );
    if not strongroom_private.is_trusted() then
        return query
        select c.*
        from strongroom_private.decide_approval_as_user(
            p_tenant_id, p_interaction_id, p_decision, p_resolved_by
        ) as c;
        return;
    end if;
    v_interaction := strongroom_private.lock_interaction(p_tenant_id, p_interaction_id);
    if v_interaction.kind <> 'approval' then
        perform strongroom_private.fail(
            'invalid_argument', 'this interaction is a question: it is answered, not decided',
            '{"path": "interaction_id"}', 'Call answer_question.'
        );
    end if;
    if v_interaction.status = 'pending'
        and coalesce(v_interaction.expires_at > clock_timestamp(), true)
    then
        update strongroom.interactions as i
        set status = case p_decision when 'deny' then 'denied' else 'approved' end,
            decision = p_decision,
            resolved_by = p_resolved_by,
            resolved_at = now()
        where i.tenant_id = p_tenant_id
            and i.id = p_interaction_id;
        if p_decision in ('allow-conversation', 'allow-always') then
            insert into strongroom.approval_grants (
                tenant_id, id, principal_id, tool_name, scope, conversation_id, interaction_id,
                granted_by
            )
            select
                c.tenant_id,
                p_interaction_id,
                c.owner_id,
                v_interaction.tool_name,
                case p_decision when 'allow-always' then 'always' else 'conversation' end,
                case p_decision when 'allow-conversation' then c.id end,
                p_interaction_id,
                p_resolved_by
            from strongroom.conversations as c
            where c.tenant_id = p_tenant_id
                and c.id = v_interaction.conversation_id
            on conflict on constraint approval_grants_pkey do nothing;
        end if;
        perform strongroom_private.record_audit(
            p_tenant_id,
            'approval.decide',
            'interaction',
            p_interaction_id,
            jsonb_build_object(
                'decision', p_decision,
                'tool_name', v_interaction.tool_name,
                'run_id', v_interaction.run_id
            ),
            p_resolved_by
        );
        v_outcome := 'resolved';
        perform strongroom_private.queue_waiting_run(p_tenant_id, v_interaction.run_id);
    elsif v_interaction.status = 'pending' then
        v_outcome := 'expired';
        perform strongroom_private.expire_interaction(p_tenant_id, p_interaction_id);
    end if;
    return query
    select c.*
    from strongroom_private.read_resolved_interaction(
        p_tenant_id, p_interaction_id, v_outcome
    ) as c;
end
$$;
comment on function strongroom.decide_approval(text, text, text, text) is
    'Decide an approval: allow-once, allow-conversation or allow-always (which also mint a grant),'
    ' or deny; its run is queued with the last decision. Outcome resolved, already_resolved (a'
    ' repeat changes nothing) or expired. Errors: SR001, SR010, SR020. Callers: hosts, users who'
    ' are asked; allow-always, for all conversations of the owner, by the owner or hosts alone.';

-- SECURITY DEFINER: a user has no right to update interactions, to queue runs or to mint grants.
-- This lets the one who is asked, and nobody else, decide.
create function strongroom_private.decide_approval_as_user(
    p_tenant_id text,
    p_interaction_id text,
    p_decision text,
    p_resolved_by text
)
returns setof strongroom.resolved_interaction
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_asked_user(p_tenant_id, p_interaction_id, p_resolved_by);
    if p_decision = 'allow-always'
        and not exists (
            select
            from strongroom.interactions as i
            inner join strongroom.conversations as c
                on c.tenant_id = i.tenant_id
                and c.id = i.conversation_id
            where i.tenant_id = p_tenant_id
                and i.id = p_interaction_id
                and c.owner_id = p_resolved_by
        )
    then
        perform strongroom_private.fail(
            'permission_denied',
            'allow-always holds for all of the owner''s conversations, and this user is not the'
            ' owner',
            '{"path": "decision"}',
            'Decide allow-once or allow-conversation.'
        );
    end if;
    return query
    select c.*
    from strongroom.decide_approval(p_tenant_id, p_interaction_id, p_decision, p_resolved_by) as c;
end
$$;
comment on function strongroom_private.decide_approval_as_user(text, text, text, text) is
    'The way of users into decide_approval. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR001, SR010, SR020.';

create function strongroom.claim_approval(
    p_tenant_id text,
    p_interaction_id text,
    p_claim_token bigint,
    p_claim_id text default null
)
returns setof strongroom.resolved_interaction
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_interaction strongroom.interactions;
    v_claim_id text := coalesce(p_claim_id, gen_random_uuid()::text);
    v_outcome text := 'claimed';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('claim_id', v_claim_id);
    v_interaction := strongroom_private.lock_interaction(p_tenant_id, p_interaction_id);
    perform strongroom_private.lock_claimed_run(p_tenant_id, v_interaction.run_id, p_claim_token);
    if v_interaction.status <> 'approved' then
        v_outcome := 'not_approved';
    elsif v_interaction.claimed_at is null then
        update strongroom.interactions as i
        set claimed_at = now(),
            claim_token = p_claim_token,
            claim_id = v_claim_id
        where i.tenant_id = p_tenant_id
            and i.id = p_interaction_id;
        perform strongroom_private.record_audit(
            p_tenant_id,
            'approval.claim',
            'interaction',
            p_interaction_id,
            jsonb_build_object(
                'tool_name', v_interaction.tool_name, 'run_id', v_interaction.run_id
            )
        );
    elsif v_interaction.claim_id <> v_claim_id then
        v_outcome := 'already_claimed';
    end if;
    return query
    select c.*
    from strongroom_private.read_resolved_interaction(
        p_tenant_id, p_interaction_id, v_outcome
    ) as c;
end
$$;
comment on function strongroom.claim_approval(text, text, bigint, text) is
    'Take an approved tool call, once, to run its stored input: outcome claimed (also for a repeat'
    ' with the same claim id), already_claimed or not_approved (pending, denied, expired or'
    ' cancelled: do not run it). Errors: SR001, SR004, SR010, SR020, SR031. Callers: hosts.';

-- SECURITY DEFINER: whoever sweeps serves every tenant, and row security binds a host to one. This
-- function returns the ids of active tenants that have an overdue interaction, and nothing else;
-- the caller goes on bound to one of them.
create function strongroom_private.list_overdue_tenants(p_limit integer)
returns table (tenant_id text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_tenant_id text := '';
    v_found integer := 0;
    v_now timestamptz := clock_timestamp();
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true) then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts sweep', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform set_config('strongroom.dispatching', 'on', true);
    while v_found < p_limit loop
        select min(i.tenant_id)
        into v_tenant_id
        from strongroom.interactions as i
        where i.status = 'pending'
            and i.expires_at <= v_now
            and i.tenant_id > v_tenant_id;
        exit when v_tenant_id is null;
        perform strongroom_private.enter_tenant(v_tenant_id);
        if exists (
            select
            from strongroom.interactions as i
            inner join strongroom.conversations as c
                on c.tenant_id = i.tenant_id
                and c.id = i.conversation_id
            inner join strongroom.tenants as t on t.tenant_id = i.tenant_id
            where i.tenant_id = v_tenant_id
                and i.status = 'pending'
                and i.expires_at <= v_now
                and c.deleted_at is null
                and t.status = 'active'
        ) then
            v_found := v_found + 1;
            tenant_id := v_tenant_id;
            return next;
        end if;
    end loop;
    perform set_config('strongroom.dispatching', '', true);
end
$$;
comment on function strongroom_private.list_overdue_tenants(integer) is
    'Tenants that have an interaction to expire. SECURITY DEFINER, see its comment in the'
    ' migration. Errors: SR020.';

create function strongroom.expire_interactions(
    p_tenant_id text default null,
    p_limit integer default 100
)
returns table (expired bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tenant_id text;
    v_due record;
    v_now timestamptz := clock_timestamp();
begin
    perform strongroom_private.check_limit(p_limit);
    expired := 0;
    for v_tenant_id in
        select p_tenant_id
        where p_tenant_id is not null
        union all
        select o.tenant_id
        from strongroom_private.list_overdue_tenants(
            case when p_tenant_id is null then p_limit else 0 end
        ) as o
    loop
        if p_tenant_id is null then
            continue when not strongroom_private.hold_active_tenant(v_tenant_id);
        else
            perform strongroom_private.enter_tenant_to_write(v_tenant_id);
        end if;
        for v_due in
            select
                i.id,
                i.conversation_id
            from strongroom.interactions as i
            inner join strongroom.conversations as c
                on c.tenant_id = i.tenant_id
                and c.id = i.conversation_id
            where i.tenant_id = v_tenant_id
                and i.status = 'pending'
                and i.expires_at <= v_now
                and c.deleted_at is null
            order by
                i.conversation_id,
                i.id
            limit p_limit - expired
        loop
            -- It may have been deleted, answered or expired in this moment.
            perform
            from strongroom.conversations as c
            where c.tenant_id = v_tenant_id
                and c.id = v_due.conversation_id
                and c.deleted_at is null
            for no key update;
            continue when not found;
            if strongroom_private.expire_interaction(v_tenant_id, v_due.id) then
                expired := expired + 1;
            end if;
        end loop;
        exit when expired >= p_limit;
    end loop;
    return next;
end
$$;
comment on function strongroom.expire_interactions(text, integer) is
    'Expire what is overdue, of one tenant or of all, at most p_limit; runs that waited for nothing'
    ' else go on. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.list_interactions(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_run_id text default null,
    p_conversation_id text default null,
    p_status text default null
)
returns table (
    tenant_id text,
    id text,
    run_id text,
    conversation_id text,
    kind text,
    status text,
    addressee_id text,
    prompt text,
    options jsonb,
    tool_call_id text,
    tool_name text,
    input jsonb,
    risk text,
    expires_at timestamptz,
    answer jsonb,
    decision text,
    resolved_by text,
    resolved_at timestamptz,
    claimed_at timestamptz,
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
        'interactions',
        jsonb_build_array(v_viewer_id, p_run_id, p_conversation_id, p_status),
        p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
    v_page text;
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    v_page := strongroom_private.readable_branches(
        format(
            $query$
                select i.id, i.created_at
                from strongroom.interactions as i
                where i.tenant_id = $1
                    and ($5 is null or i.run_id = $5)
                    and ($6 is null or i.conversation_id = $6)
                    and ($7 is null or i.status = $7)
                    and ($2 is null or (i.created_at, i.id) %1$s (
                        strongroom_private.from_microseconds($2[1]), $2[2]
                    ))
                    and %%s
                order by i.created_at %2$s, i.id %2$s
                limit $4 + 1
            $query$,
            case when v_descending then '<' else '>' end,
            case when v_descending then 'desc' else 'asc' end
        ),
        'i.conversation_id',
        v_viewer_id,
        '$8'
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
                    i.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select p.id
                    from (%3$s) as p
                    order by p.created_at %1$s, p.id %1$s
                    limit $4 + 1
                ) as i
            ) as s
            cross join lateral (
                select d.*
                from strongroom.interaction_details as d
                where d.tenant_id = $1
                    and d.id = s.id
                offset 0
            ) as d
            where s.place <= $4
            order by d.created_at %2$s, d.id %2$s
        $query$,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end,
        v_page
    )
    using
        p_tenant_id, v_keys, v_scope, p_limit, p_run_id, p_conversation_id, p_status, v_viewer_id;
end
$$;
comment on function strongroom.list_interactions(
    text, integer, text, text, text, text, text, text, text
) is
    'A page of interactions, forward oldest first. Filters: viewer, run, conversation, status.'
    ' has_more: whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom.grant_approval(
    p_tenant_id text,
    p_principal_id text,
    p_tool_name text,
    p_granted_by text,
    p_grant_id text default null,
    p_conversation_id text default null,
    p_expires_at timestamptz default null
)
returns table (
    tenant_id text,
    id text,
    principal_id text,
    tool_name text,
    scope text,
    conversation_id text,
    interaction_id text,
    granted_by text,
    expires_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_id text := coalesce(p_grant_id, gen_random_uuid()::text);
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('grant_id', v_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_id('tool_name', p_tool_name);
    perform strongroom_private.check_id('granted_by', p_granted_by);
    perform strongroom_private.check_moment('expires_at', p_expires_at);
    if p_conversation_id is not null then
        perform strongroom_private.lock_conversation(p_tenant_id, p_conversation_id);
    end if;
    insert into strongroom.approval_grants (
        tenant_id, id, principal_id, tool_name, scope, conversation_id, granted_by, expires_at
    )
    values (
        p_tenant_id, v_id, p_principal_id, p_tool_name,
        case when p_conversation_id is null then 'always' else 'conversation' end,
        p_conversation_id, p_granted_by, p_expires_at
    )
    on conflict on constraint approval_grants_pkey do nothing;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id,
            'grant.grant',
            'grant',
            v_id,
            jsonb_build_object('tool_name', p_tool_name, 'conversation_id', p_conversation_id),
            p_granted_by,
            p_principal_id
        );
    end if;
    return query
    select
        g.tenant_id,
        g.id,
        g.principal_id,
        g.tool_name,
        g.scope,
        g.conversation_id,
        g.interaction_id,
        g.granted_by,
        g.expires_at,
        g.revoked_at,
        g.created_at
    from strongroom.approval_grants as g
    where g.tenant_id = p_tenant_id
        and g.id = v_id
        and g.principal_id = p_principal_id
        and g.tool_name = p_tool_name
        and g.conversation_id is not distinct from p_conversation_id
        and g.granted_by is not distinct from p_granted_by
        and g.expires_at is not distinct from p_expires_at;
    if not found then
        perform strongroom_private.fail(
            'already_exists', 'a grant with this id has other content',
            jsonb_build_object('path', 'grant_id', 'record', 'grant'),
            'Use a new id for a new grant.'
        );
    end if;
end
$$;
comment on function strongroom.grant_approval(
    text, text, text, text, text, text, timestamptz
) is
    'Allow a principal''s runs to call a tool without asking, in one conversation or always. A'
    ' repeat with the same id changes nothing. Errors: SR001, SR004, SR010, SR011, SR020. Callers:'
    ' hosts.';

create function strongroom.find_active_grant(
    p_tenant_id text,
    p_principal_id text,
    p_tool_name text,
    p_conversation_id text
)
returns table (
    tenant_id text,
    id text,
    principal_id text,
    tool_name text,
    scope text,
    conversation_id text,
    interaction_id text,
    granted_by text,
    expires_at timestamptz,
    revoked_at timestamptz,
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
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_id('tool_name', p_tool_name);
    perform strongroom_private.check_id('conversation_id', p_conversation_id);
    return query
    select
        g.tenant_id,
        g.id,
        g.principal_id,
        g.tool_name,
        g.scope,
        g.conversation_id,
        g.interaction_id,
        g.granted_by,
        g.expires_at,
        g.revoked_at,
        g.created_at
    from (
        -- One after the other, each from an index of its own: not all of the principal's.
        (
            select g.*
            from strongroom.approval_grants as g
            where g.tenant_id = p_tenant_id
                and g.principal_id = p_principal_id
                and g.tool_name = p_tool_name
                and g.conversation_id is null
                and g.revoked_at is null
                and (g.expires_at is null or g.expires_at > clock_timestamp())
            order by
                g.created_at,
                g.id
            limit 1
        )
        union all
        (
            select g.*
            from (
                select c.*
                from strongroom.approval_grants as c
                where c.tenant_id = p_tenant_id
                    and c.conversation_id = p_conversation_id
                offset 0
            ) as g
            where g.principal_id = p_principal_id
                and g.tool_name = p_tool_name
                and g.revoked_at is null
                and (g.expires_at is null or g.expires_at > clock_timestamp())
            order by
                g.created_at,
                g.id
            limit 1
        )
    ) as g
    order by g.scope
    limit 1;
end
$$;
comment on function strongroom.find_active_grant(text, text, text, text) is
    'A grant that allows this principal''s runs the tool in this conversation now, or no row: then'
    ' ask. Errors: SR001, SR020, SR021. Callers: hosts.';

create function strongroom.revoke_grant(p_tenant_id text, p_grant_id text)
returns table (revoked boolean, others bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_grant strongroom.approval_grants;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('grant_id', p_grant_id);
    update strongroom.approval_grants as g
    set revoked_at = now()
    where g.tenant_id = p_tenant_id
        and g.id = p_grant_id
        and g.revoked_at is null
    returning g.* into v_grant;
    revoked := found;
    if revoked then
        perform strongroom_private.record_audit(
            p_tenant_id, 'grant.revoke', 'grant', p_grant_id,
            p_principal_id => v_grant.principal_id
        );
    else
        select g.*
        into v_grant
        from strongroom.approval_grants as g
        where g.tenant_id = p_tenant_id
            and g.id = p_grant_id;
    end if;
    select count(*)
    into others
    from strongroom.approval_grants as g
    where g.tenant_id = p_tenant_id
        and g.principal_id = v_grant.principal_id
        and g.tool_name = v_grant.tool_name
        and g.revoked_at is null
        and (g.expires_at is null or g.expires_at > clock_timestamp())
        and (
            g.scope = 'always'
            or v_grant.scope = 'always'
            or g.conversation_id = v_grant.conversation_id
        );
    return next;
end
$$;
comment on function strongroom.revoke_grant(text, text) is
    'End a grant; says whether it was not revoked yet, and how many others still allow the'
    ' principal''s runs this tool where it held: list_grants has them, and while there are any,'
    ' nobody is asked. Errors: SR001, SR010, SR020. Callers: hosts.';

create function strongroom.list_grants(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_principal_id text default null,
    p_tool_name text default null,
    p_conversation_id text default null,
    p_is_active boolean default null
)
returns table (
    tenant_id text,
    id text,
    principal_id text,
    tool_name text,
    scope text,
    conversation_id text,
    interaction_id text,
    granted_by text,
    expires_at timestamptz,
    revoked_at timestamptz,
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
    perform strongroom_private.check_optional_id('tool_name', p_tool_name);
    perform strongroom_private.check_optional_id('conversation_id', p_conversation_id);
    v_scope := strongroom_private.cursor_scope(
        'approval_grants',
        jsonb_build_array(p_principal_id, p_tool_name, p_conversation_id, p_is_active),
        p_direction
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
                s.principal_id,
                s.tool_name,
                s.scope,
                s.conversation_id,
                s.interaction_id,
                s.granted_by,
                s.expires_at,
                s.revoked_at,
                s.created_at,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(s.created_at), s.id]
                ),
                s.total > $4
            from (
                select
                    g.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select g.*
                    from strongroom.approval_grants as g
                    where g.tenant_id = $1
                        and ($5 is null or g.principal_id = $5)
                        and ($6 is null or g.tool_name = $6)
                        and ($7 is null or g.scope = 'always' or g.conversation_id = $7)
                        and ($8 is null or $8 = (
                            g.revoked_at is null
                            and (g.expires_at is null or g.expires_at > clock_timestamp())
                        ))
                        and ($2 is null or (g.created_at, g.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by g.created_at %2$s, g.id %2$s
                    limit $4 + 1
                ) as g
            ) as s
            where s.place <= $4
            order by s.created_at %3$s, s.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id, v_keys, v_scope, p_limit, p_principal_id, p_tool_name, p_conversation_id,
        p_is_active;
end
$$;
comment on function strongroom.list_grants(
    text, integer, text, text, text, text, text, text, boolean
) is
    'A page of standing approvals, forward newest first. Filters: for whom, the tool, those that'
    ' hold in a conversation (those for always, too), and whether they hold now. has_more: whether'
    ' rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021. Callers:'
    ' hosts.';


-- ---------------------------------------------------------------------------------------------
-- The steps of a run
-- ---------------------------------------------------------------------------------------------

create function strongroom.pause_run(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_status text
)
returns setof strongroom.run_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_run strongroom.runs;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_choice(
        'status', p_status, '{waiting_for_question,waiting_for_approval}'
    );
    v_run := strongroom_private.lock_run(p_tenant_id, p_run_id);
    if v_run.claim_token is distinct from p_claim_token
        or v_run.status not in ('running', p_status, 'queued', 'cancelled')
    then
        perform strongroom_private.fail_stale_claim(p_run_id, p_claim_token, v_run.status);
    elsif v_run.status = 'running' then
        if not exists (
            select
            from strongroom.interactions as i
            where i.tenant_id = p_tenant_id
                and i.run_id = p_run_id
                and p_status = 'waiting_for_' || i.kind
        ) then
            perform strongroom_private.fail(
                'invalid_transition', 'the run has asked nothing that it could wait for',
                '{"path": "status", "record": "run"}', 'Create the interaction first.'
            );
        end if;
        if v_run.cancel_requested_at is not null then
            perform strongroom_private.end_run(v_run, 'cancelled', '[]', null, false);
        else
            update strongroom.runs as r
            set status = p_status,
                lease_expires_at = null,
                claimable_at = null,
                is_ready = false,
                updated_at = now()
            where r.tenant_id = p_tenant_id
                and r.id = p_run_id;
            -- The answer may have come before the pause.
            perform strongroom_private.queue_waiting_run(p_tenant_id, p_run_id);
        end if;
    end if;
    -- Otherwise this is a repeat of the very same call, whose answer was lost.
    return query
    select d.*
    from strongroom.run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.pause_run(text, text, bigint, text) is
    'Give a claimed run back until its interactions are resolved: queued at once when they are, and'
    ' cancelled when somebody had asked for that. A pause carries no message. A repeat changes'
    ' nothing. Errors: SR001, SR010, SR020, SR030, SR031. Callers: hosts.';

create function strongroom.retry_run_later(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_delay_seconds double precision,
    p_error jsonb
)
returns setof strongroom.run_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_run strongroom.runs;
    v_due timestamptz;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_object('error', p_error, 65536);
    if coalesce(p_delay_seconds, -1) not between 0 and 31536000 then
        perform strongroom_private.fail(
            'invalid_argument', 'delay_seconds must be between 0 and 31536000',
            '{"path": "delay_seconds"}', 'Give the seconds to wait.'
        );
    end if;
    v_run := strongroom_private.lock_run(p_tenant_id, p_run_id);
    if v_run.claim_token is distinct from p_claim_token
        or v_run.status not in ('running', 'retry_pending', 'cancelled')
    then
        perform strongroom_private.fail_stale_claim(p_run_id, p_claim_token, v_run.status);
    elsif v_run.status = 'running' and v_run.cancel_requested_at is not null then
        perform strongroom_private.end_run(v_run, 'cancelled', '[]', null, false);
    elsif v_run.status = 'running' then
        if v_run.attempt >= v_run.max_attempts then
            perform strongroom_private.fail(
                'invalid_transition',
                format('the run has had %s of %s attempts', v_run.attempt, v_run.max_attempts),
                jsonb_build_object('record', 'run', 'attempt', v_run.attempt),
                'Finish it as failed.'
            );
        end if;
        v_due := clock_timestamp() + make_interval(secs => p_delay_seconds);
        update strongroom.runs as r
        set status = 'retry_pending',
            error = p_error,
            lease_expires_at = null,
            available_at = v_due,
            claimable_at = v_due,
            is_ready = false,
            updated_at = now()
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id;
    end if;
    -- Otherwise this is a repeat of the very same call, whose answer was lost.
    return query
    select d.*
    from strongroom.run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.retry_run_later(
    text, text, bigint, double precision, jsonb
) is
    'Give a claimed run back, to be claimed again after a delay, with the reason; refused when it'
    ' has no attempts left, and cancelled instead when somebody had asked for that. A repeat'
    ' changes nothing. Errors: SR001, SR004, SR010, SR020, SR030, SR031. Callers: hosts.';

create function strongroom.release_run(p_tenant_id text, p_run_id text, p_claim_token bigint)
returns setof strongroom.run_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_run strongroom.runs;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    v_run := strongroom_private.lock_claimed_run(p_tenant_id, p_run_id, p_claim_token);
    if v_run.cancel_requested_at is not null then
        perform strongroom_private.end_run(v_run, 'cancelled', '[]', null, true);
    else
        -- The lease ends now, and the token with it; the run itself stays running until the next
        -- claim.
        update strongroom.runs as r
        set lease_expires_at = clock_timestamp(),
            claimable_at = null,
            is_ready = true,
            claim_token = greatest(nextval('strongroom.claim_tokens'), r.claim_token + 1),
            attempt = greatest(r.attempt - 1, 0),
            updated_at = now()
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id;
        perform strongroom_private.wake_workers();
    end if;
    return query
    select d.*
    from strongroom.run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.release_run(text, text, bigint) is
    'Give a claimed run back at once, unfinished, for another worker to go on from its last'
    ' checkpoint; it costs no attempt. Cancelled instead when somebody had asked for that. For'
    ' workers that shut down. Errors: SR001, SR010, SR020, SR031. Callers: hosts.';

create function strongroom_private.read_streamed_parts(p_tenant_id text, p_run_id text)
returns jsonb
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_text text;
begin
    -- A claim goes on after the event of the checkpoint that it started from: what earlier claims
    -- had streamed after that one was streamed again.
    select string_agg(s.text, '' order by s.sequence)
    into v_text
    from (
        select
            e.sequence,
            case when e.kind = 'text-delta' and jsonb_typeof(e.data -> 'text') = 'string'
                then e.data ->> 'text'
            end as text,
            min(e.resumes_after) over (
                order by e.claim_token
                groups between 1 following and unbounded following
            ) as later_claims_resume_after
        from strongroom.run_events as e
        where e.tenant_id = p_tenant_id
            and e.run_id = p_run_id
    ) as s
    where coalesce(s.sequence <= s.later_claims_resume_after, true);
    if coalesce(v_text, '') = '' then
        return null;
    end if;
    -- A message holds 1 MiB: nothing that was streamed may keep a run from ending. The events have
    -- it all.
    while octet_length(to_jsonb(v_text)::text) > 1000000 loop
        v_text := left(v_text, (char_length(v_text)::bigint * 9 / 10)::integer);
    end loop;
    return jsonb_build_array(
        jsonb_build_object('type', 'text', 'schema_version', 1, 'text', v_text)
    );
end
$$;
comment on function strongroom_private.read_streamed_parts(text, text) is
    'The text that a run streamed and a person has seen, as message parts; null when there is'
    ' none.';

create function strongroom_private.write_run_usage(p_run strongroom.runs, p_usage jsonb)
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_usage jsonb;
    v_items jsonb;
begin
    if p_usage = '[]'::jsonb then
        return p_usage;
    end if;
    select jsonb_agg(
        case when u.value ->> 'corrects_id' is not null then u.value else
            jsonb_build_object(
                'agent_id', p_run.agent_id,
                'agent_version',
                case when u.value ->> 'agent_id' is null then p_run.agent_version end,
                'principal_id', c.owner_id
            )
            || jsonb_strip_nulls(u.value - 'metadata')
            || jsonb_build_object(
                'run_id', p_run.id,
                'conversation_id', p_run.conversation_id,
                'metadata', u.value -> 'metadata'
            )
        end
        order by u.place
    )
    into v_usage
    from jsonb_array_elements(p_usage) with ordinality as u (value, place)
    cross join strongroom.conversations as c
    where c.tenant_id = p_run.tenant_id
        and c.id = p_run.conversation_id;
    select jsonb_agg(jsonb_build_object('id', w.id, 'outcome', w.outcome) order by w.place)
    into v_items
    from strongroom_private.write_usage(p_run.tenant_id, v_usage) as w;
    if v_items @? '$[*] ? (@.outcome == "conflict")' then
        perform strongroom_private.fail(
            'already_exists',
            'usage with one of these ids or steps exists with other content',
            jsonb_build_object(
                'path', 'usage',
                'id', jsonb_path_query_first(v_items, '$[*] ? (@.outcome == "conflict").id')
            ),
            'Another attempt of a step is another step: give it an id of its own.'
        );
    end if;
    return v_items;
end
$$;
comment on function strongroom_private.write_run_usage(strongroom.runs, jsonb) is
    'Write checked usage of a locked run: conversation and run are its own, agent and principal'
    ' (the conversation''s owner) where the event names none. Errors: SR001, SR010, SR011.';

create function strongroom.record_run_usage(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_usage jsonb
)
returns table (id text, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_items jsonb;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    perform strongroom_private.check_usage('usage', p_usage, 1, true);
    v_items := strongroom_private.write_run_usage(
        strongroom_private.lock_claimed_run(p_tenant_id, p_run_id, p_claim_token), p_usage
    );
    return query
    select
        i.value ->> 'id',
        i.value ->> 'outcome'
    from jsonb_array_elements(v_items) with ordinality as i (value, place)
    order by i.place;
end
$$;
comment on function strongroom.record_run_usage(text, text, bigint, jsonb) is
    'Record usage of a run that is being worked on, as finish_run does at its end; one row per'
    ' event, in order: its id and whether it was inserted or a duplicate. Errors: SR001, SR004,'
    ' SR010, SR011, SR020, SR031. Callers: hosts.';

create function strongroom_private.end_run(
    p_run strongroom.runs,
    p_status text,
    p_messages jsonb,
    p_error jsonb,
    p_voids_claim boolean,
    p_usage jsonb default '[]'
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_messages jsonb := coalesce(p_messages, '[]');
    v_parts jsonb;
    v_item record;
    v_message_id text;
begin
    -- A failed or cancelled run that wrote no message of its own still said something: what it
    -- streamed.
    if v_messages = '[]'::jsonb and p_status <> 'completed' then
        v_parts := strongroom_private.read_streamed_parts(p_run.tenant_id, p_run.id);
        if v_parts is not null then
            v_messages := jsonb_build_array(jsonb_build_object(
                'role', 'assistant',
                'parts', v_parts || jsonb_build_array(jsonb_build_object(
                    'type', 'status', 'schema_version', 1, 'status', p_status
                ))
            ));
        end if;
    end if;
    if v_messages <> '[]'::jsonb then
        -- Ids follow from the run's, so that a turn is written once.
        select jsonb_agg(
            m.value
            || jsonb_build_object(
                'run_id', p_run.id,
                'id', coalesce(
                    m.value ->> 'id',
                    md5(concat_ws(chr(31), 'run', p_run.id, m.place))::uuid::text
                )
            )
            order by m.place
        )
        into v_messages
        from jsonb_array_elements(v_messages) with ordinality as m (value, place);
        for v_item in
            select
                a.id,
                a.outcome
            from strongroom.append_messages(p_run.tenant_id, p_run.conversation_id, v_messages) as a
        loop
            if v_item.outcome = 'conflict' then
                perform strongroom_private.fail(
                    'already_exists',
                    format(
                        'message %s exists with other content, so the turn was not written',
                        v_item.id
                    ),
                    jsonb_build_object('path', 'messages', 'id', v_item.id),
                    'Give the run''s messages ids of their own, or none.'
                );
            end if;
        end loop;
        select m.value ->> 'id'
        into v_message_id
        from jsonb_array_elements(v_messages) with ordinality as m (value, place)
        where m.value ->> 'role' = 'assistant'
        order by m.place desc
        limit 1;
    end if;
    update strongroom.interactions as i
    set status = 'cancelled',
        resolved_at = now()
    where i.tenant_id = p_run.tenant_id
        and i.run_id = p_run.id
        and i.status = 'pending';
    perform strongroom_private.write_run_usage(p_run, p_usage);
    perform strongroom_private.record_audit(
        p_run.tenant_id,
        'run.finish',
        'run',
        p_run.id,
        jsonb_build_object(
            'status', p_status,
            'attempt', p_run.attempt,
            'conversation_id', p_run.conversation_id
        )
    );
    update strongroom.runs as r
    set status = p_status,
        attempt = p_run.attempt,
        is_head = false,
        is_ready = false,
        error = p_error,
        lease_expires_at = null,
        claimable_at = null,
        claim_token = case
            when p_voids_claim and r.claim_token is not null
            then greatest(nextval('strongroom.claim_tokens'), r.claim_token + 1)
            else r.claim_token
        end,
        message_id = v_message_id,
        finished_at = now(),
        updated_at = now()
    where r.tenant_id = p_run.tenant_id
        and r.id = p_run.id;
    if p_run.is_head then
        perform strongroom_private.promote_next_run(p_run.tenant_id, p_run.conversation_id);
    end if;
end
$$;
comment on function strongroom_private.end_run(
    strongroom.runs, text, jsonb, jsonb, boolean, jsonb
) is
    'The end of a run whose conversation and row are locked: the turn''s messages and usage, open'
    ' interactions, the status, the audit event, and the conversation''s next run. When somebody'
    ' else than its worker ends it, its claim is void. Errors: SR001, SR004, SR011, SR030.';

create function strongroom_private.end_lost_run(p_run strongroom.runs)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- The caller has locked the run already, so waiting for the conversation could be waiting for
    -- somebody who waits for the run. Who works on the conversation in this moment goes first; the
    -- run comes up again when the claim on it has run out.
    perform
    from strongroom.conversations as c
    where c.tenant_id = p_run.tenant_id
        and c.id = p_run.conversation_id
        and c.deleted_at is null
    for no key update skip locked;
    if not found then
        return;
    end if;
    if p_run.cancel_requested_at is not null then
        perform strongroom_private.end_run(p_run, 'cancelled', '[]', null, true);
    else
        perform strongroom_private.end_run(
            p_run,
            'failed',
            '[]',
            jsonb_build_object(
                'code', 'worker_lost',
                'message',
                format('no worker finished the run in %s attempts', p_run.max_attempts)
            ),
            true
        );
    end if;
end
$$;
comment on function strongroom_private.end_lost_run(strongroom.runs) is
    'End a locked run whose last worker is gone: cancelled where that was asked for, else failed.';

create function strongroom.finish_run(
    p_tenant_id text,
    p_run_id text,
    p_claim_token bigint,
    p_status text,
    p_messages jsonb default '[]',
    p_error jsonb default null,
    p_state jsonb default null,
    p_state_expected_version bigint default null,
    p_usage jsonb default '[]'
)
returns setof strongroom.created_run
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_run strongroom.runs;
    v_outcome text := 'inserted';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('run_id', p_run_id);
    perform strongroom_private.check_choice('status', p_status, '{completed,failed,cancelled}');
    if (p_status = 'failed') <> (p_error is not null) then
        perform strongroom_private.fail(
            'invalid_argument', 'error is given exactly when the run failed', '{"path": "error"}',
            'Give {"code": ..., "message": ...} with failed.'
        );
    end if;
    if p_error is not null then
        perform strongroom_private.check_object('error', p_error, 65536);
    end if;
    if jsonb_typeof(p_messages) is distinct from 'array' then
        perform strongroom_private.fail(
            'invalid_argument', 'messages must be a list', '{"path": "messages"}',
            'Give the turn''s messages; an empty list is fine.'
        );
    end if;
    for v_index in 0 .. jsonb_array_length(p_messages) - 1 loop
        if coalesce(p_messages -> v_index ->> 'role', '') not in ('assistant', 'tool') then
            perform strongroom_private.fail(
                'invalid_argument',
                format('messages[%s].role must be assistant or tool', v_index),
                jsonb_build_object('path', format('messages[%s].role', v_index)),
                'A run writes its own turn; what people say is appended by append_messages.'
            );
        end if;
    end loop;
    perform strongroom_private.check_usage('usage', p_usage, 0, true);
    v_run := strongroom_private.lock_run(p_tenant_id, p_run_id);
    if v_run.claim_token = p_claim_token and v_run.status = p_status then
        -- A repeat of the very same call, whose answer was lost, has happened already.
        v_outcome := 'duplicate';
    elsif v_run.claim_token is distinct from p_claim_token or v_run.status <> 'running' then
        perform strongroom_private.fail_stale_claim(p_run_id, p_claim_token, v_run.status);
    else
        if p_state is not null then
            perform strongroom_private.check_object('state', p_state, 65536);
            perform strongroom_private.write_session_state(
                p_tenant_id, v_run.conversation_id, p_state, null, p_state_expected_version, null
            );
        end if;
        perform strongroom_private.end_run(
            v_run, p_status, p_messages, p_error, false, p_usage
        );
    end if;
    return query
    select
        d.*,
        v_outcome
    from strongroom.run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.finish_run(
    text, text, bigint, text, jsonb, jsonb, jsonb, bigint, jsonb
) is
    'End a claimed run, all in one transaction: the turn''s messages (of role assistant and tool;'
    ' a failed or cancelled run without any keeps what it streamed), the session state with its'
    ' expected version, usage (as record_usage takes it; run, conversation, agent and principal'
    ' come from the run), open interactions, the status, an audit event, and the promotion of the'
    ' conversation''s next run. A repeat with the same claim changes nothing and says duplicate.'
    ' Errors: SR001, SR004, SR010, SR011, SR012, SR020, SR031. Callers: hosts.';

create function strongroom.request_run_cancel(p_tenant_id text, p_run_id text)
returns setof strongroom.run_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_run strongroom.runs;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    v_run := strongroom_private.lock_run(p_tenant_id, p_run_id);
    if not strongroom_private.is_final_run_status(v_run.status) then
        update strongroom.runs as r
        set cancel_requested_at = coalesce(r.cancel_requested_at, now()),
            updated_at = now()
        where r.tenant_id = p_tenant_id
            and r.id = p_run_id;
        -- A worker that holds it learns it at the next heartbeat, and ends the run with what it has
        -- said so far.
        if v_run.status <> 'running'
            or v_run.is_ready
            or v_run.lease_expires_at <= clock_timestamp()
        then
            perform strongroom_private.end_run(v_run, 'cancelled', '[]', null, true);
        end if;
    end if;
    return query
    select d.*
    from strongroom.run_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_run_id;
end
$$;
comment on function strongroom.request_run_cancel(text, text) is
    'Cancel a run: at once when no worker holds it (it keeps what it streamed), else by asking its'
    ' worker. A run that has ended stays as it is. Errors: SR001, SR010, SR020. Callers: hosts.';

create function strongroom.reap_expired_runs(p_tenant_id text, p_limit integer default 100)
returns table (reaped bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_due record;
    v_run strongroom.runs;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    reaped := 0;
    for v_due in
        select
            r.id,
            r.conversation_id
        from strongroom.runs as r
        inner join strongroom.conversations as c
            on c.tenant_id = r.tenant_id
            and c.id = r.conversation_id
        where r.tenant_id = p_tenant_id
            and r.status = 'running'
            and r.lease_expires_at <= clock_timestamp()
            and (r.attempt >= r.max_attempts or r.cancel_requested_at is not null)
            and c.deleted_at is null
        order by
            r.conversation_id,
            r.id
        limit p_limit
    loop
        -- It may have been deleted, claimed, prolonged or ended in this moment.
        perform
        from strongroom.conversations as c
        where c.tenant_id = p_tenant_id
            and c.id = v_due.conversation_id
            and c.deleted_at is null
        for no key update;
        continue when not found;
        select r.*
        into v_run
        from strongroom.runs as r
        where r.tenant_id = p_tenant_id
            and r.id = v_due.id
            and r.status = 'running'
            and r.lease_expires_at <= clock_timestamp()
        for update;
        continue when not found;
        perform strongroom_private.end_lost_run(v_run);
        reaped := reaped + 1;
    end loop;
    return next;
end
$$;
comment on function strongroom.reap_expired_runs(text, integer) is
    'End runs whose lease has ended and that nobody may claim again: as failed without an attempt'
    ' left, as cancelled where that was asked for. They keep what they streamed. claim_next_runs'
    ' does the same on its way; this is for tenants that no worker serves. Errors: SR001, SR004,'
    ' SR010, SR020. Callers: hosts.';

create function strongroom.list_runs(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_conversation_id text default null,
    p_status text default null
)
returns table (
    tenant_id text,
    id text,
    conversation_id text,
    number bigint,
    status text,
    priority integer,
    agent_id text,
    agent_version integer,
    input jsonb,
    error jsonb,
    attempt integer,
    max_attempts integer,
    available_at timestamptz,
    lease_expires_at timestamptz,
    claim_token bigint,
    worker_id text,
    cancel_requested_at timestamptz,
    last_event_sequence bigint,
    last_checkpoint_sequence bigint,
    message_id text,
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
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text := strongroom_private.cursor_scope(
        'runs', jsonb_build_array(v_viewer_id, p_conversation_id, p_status), p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
    v_page text;
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    v_page := strongroom_private.readable_branches(
        format(
            $query$
                select r.id, r.created_at
                from strongroom.runs as r
                where r.tenant_id = $1
                    and r.created_at > '-infinity'
                    and ($5 is null or r.conversation_id = $5)
                    and ($6 is null or r.status = $6)
                    and ($2 is null or (r.created_at, r.id) %1$s (
                        strongroom_private.from_microseconds($2[1]), $2[2]
                    ))
                    and %%s
                order by r.created_at %2$s, r.id %2$s
                limit $4 + 1
            $query$,
            case when v_descending then '<' else '>' end,
            case when v_descending then 'desc' else 'asc' end
        ),
        'r.conversation_id',
        v_viewer_id,
        '$7'
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
                    r.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select p.id
                    from (%3$s) as p
                    order by p.created_at %1$s, p.id %1$s
                    limit $4 + 1
                ) as r
            ) as s
            cross join lateral (
                select d.*
                from strongroom.run_details as d
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
    using p_tenant_id, v_keys, v_scope, p_limit, p_conversation_id, p_status, v_viewer_id;
end
$$;
comment on function strongroom.list_runs(
    text, integer, text, text, text, text, text, text
) is
    'A page of runs, forward newest first. Filters: viewer, conversation, status. has_more:'
    ' whether rows follow in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021.'
    ' Callers: hosts, users.';

create function strongroom.read_run_queue(p_tenant_id text)
returns table (
    ready bigint,
    queued bigint,
    running bigint,
    waiting bigint,
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
    return query
    select
        count(*) filter (where r.is_ready),
        count(*) filter (where r.status = 'queued'),
        count(*) filter (where r.status = 'running'),
        count(*) filter (where r.status in ('waiting_for_question', 'waiting_for_approval')),
        count(*) filter (where r.status = 'retry_pending'),
        count(*) filter (where r.status = 'running' and r.lease_expires_at <= clock_timestamp()),
        min(r.created_at) filter (where r.is_ready)
    from strongroom.runs as r
    where r.tenant_id = p_tenant_id
        and r.status not in ('completed', 'failed', 'cancelled');
end
$$;
comment on function strongroom.read_run_queue(text) is
    'How many of a tenant''s runs stand where, and since when the oldest ready one waits. Errors:'
    ' SR001, SR020, SR021. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Deleted conversations
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.hold_runs_of_deleted_conversation()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Runs of a deleted conversation cannot be claimed, and every write of a worker that holds one
    -- is refused, because it locks a living conversation first. Restoring brings them back.
    update strongroom.runs as r
    set is_ready = new.deleted_at is null
            and r.is_head
            and r.status = 'queued'
            and (r.available_at is null or r.available_at <= clock_timestamp()),
        claimable_at = case
            when new.deleted_at is not null or not r.is_head then null
            when r.status = 'running' then r.lease_expires_at
            when r.status in ('queued', 'retry_pending') and r.available_at > clock_timestamp()
                then r.available_at
            when r.status = 'retry_pending' then clock_timestamp()
        end
    where r.tenant_id = new.tenant_id
        and r.conversation_id = new.id
        and r.status not in ('completed', 'failed', 'cancelled');
    if found and new.deleted_at is null then
        perform strongroom_private.wake_workers();
    end if;
    return null;
end
$$;
comment on function strongroom_private.hold_runs_of_deleted_conversation() is
    'For the trigger of conversations: a soft-deleted conversation''s runs rest, a restored one''s'
    ' go on.';

create trigger deleted_conversations_hold_their_runs
    after update of deleted_at on strongroom.conversations
    for each row
    when ((old.deleted_at is null) <> (new.deleted_at is null))
    execute function strongroom_private.hold_runs_of_deleted_conversation();
comment on trigger deleted_conversations_hold_their_runs on strongroom.conversations is
    'See hold_runs_of_deleted_conversation.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'sequence', '{strongroom.claim_tokens}', '{usage}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.runs,strongroom.interactions,strongroom.approval_grants}',
    '{select,insert,update}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.run_events}', '{select,insert}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.checkpoints}', '{select,insert,delete}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table',
    '{
        strongroom.runs,
        strongroom.run_events,
        strongroom.checkpoints,
        strongroom.interactions,
        strongroom.approval_grants
    }',
    '{select}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.run_details,strongroom.interaction_details}', '{select}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.require_readable_run,
        strongroom.find_run,
        strongroom.list_runs,
        strongroom.list_run_events,
        strongroom.find_checkpoint,
        strongroom.list_checkpoints,
        strongroom.find_interaction,
        strongroom.list_interactions,
        strongroom.answer_question,
        strongroom.decide_approval
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.answer_question_as_user,
        strongroom_private.decide_approval_as_user
    }',
    '{execute}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.list_run_transitions,
        strongroom_private.is_final_run_status,
        strongroom_private.check_run_transition,
        strongroom_private.wake_workers,
        strongroom_private.promote_next_run,
        strongroom_private.check_lease,
        strongroom_private.mature_runs,
        strongroom_private.take_claim,
        strongroom_private.dispatch_runs,
        strongroom_private.fail_stale_claim,
        strongroom_private.lock_run,
        strongroom_private.lock_claimed_run,
        strongroom_private.read_resolved_interaction,
        strongroom_private.queue_waiting_run,
        strongroom_private.lock_interaction,
        strongroom_private.expire_interaction,
        strongroom_private.list_overdue_tenants,
        strongroom_private.read_streamed_parts,
        strongroom_private.end_run,
        strongroom_private.write_run_usage,
        strongroom.record_run_usage,
        strongroom_private.end_lost_run,
        strongroom.create_run,
        strongroom.claim_next_runs,
        strongroom.claim_run,
        strongroom.heartbeat_run,
        strongroom.append_run_events,
        strongroom.save_checkpoint,
        strongroom.prune_checkpoints,
        strongroom.create_interaction,
        strongroom_private.require_asked_user,
        strongroom.claim_approval,
        strongroom.expire_interactions,
        strongroom.grant_approval,
        strongroom.find_active_grant,
        strongroom.revoke_grant,
        strongroom.list_grants,
        strongroom.pause_run,
        strongroom.retry_run_later,
        strongroom.release_run,
        strongroom.finish_run,
        strongroom.request_run_cancel,
        strongroom.reap_expired_runs,
        strongroom.read_run_queue
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(4, 'runs');
