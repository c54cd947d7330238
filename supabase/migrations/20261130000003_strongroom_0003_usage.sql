-- GENERATED from strongroom's migration 0003_usage: do not edit this copy.

-- strongroom 0003: usage
--
-- Purpose     The ledger of what models and tools have used and cost, event by event.
-- History     Events are never updated; a mistake is corrected by a compensating event with
--             negative amounts, which cannot exceed what it corrects. What was used stays used:
--             events stay when the conversation or run that they name is purged, and leave only
--             with their tenant. So they name these without foreign keys.
-- Amounts     Tokens by kind and cost are integers. A cost counts units of 10^-cost_decimals of its
--             currency (cents by default); amounts of several currencies are never added. Each
--             amount fits into a JSON number of a browser.
-- Reading     What names a conversation is readable by whoever may read that conversation, as long
--             as it is there; hosts read everything. A conversation that takes the id of a purged
--             one does not open the old one's usage.
-- Locks       None on what writers share.

select strongroom_private.begin_migration(3, 'usage');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '3';
select strongroom_private.require_transaction(3);


-- ---------------------------------------------------------------------------------------------
-- Usage
-- ---------------------------------------------------------------------------------------------

create table strongroom.usage_events (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    conversation_id text collate "C",
    run_id text collate "C",
    step_id text collate "C",
    tool_call_id text collate "C",
    principal_id text collate "C",
    agent_id text collate "C",
    agent_version integer,
    model text collate "C",
    input_tokens bigint not null default 0,
    output_tokens bigint not null default 0,
    cached_input_tokens bigint not null default 0,
    cache_write_tokens bigint not null default 0,
    reasoning_tokens bigint not null default 0,
    cost bigint,
    cost_decimals integer,
    currency text collate "C",
    corrects_id text collate "C",
    metadata jsonb not null default '{}',
    occurred_at timestamptz not null default now(),
    created_at timestamptz not null default clock_timestamp(),
    constraint usage_events_pkey primary key (tenant_id, id),
    constraint a_step_of_a_run_is_counted_once unique (tenant_id, run_id, step_id),
    constraint usage_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint what_it_names_has_1_to_255_characters
        check (
            char_length(conversation_id) between 1 and 255
            and char_length(run_id) between 1 and 255
            and char_length(step_id) between 1 and 255
            and char_length(tool_call_id) between 1 and 255
            and char_length(principal_id) between 1 and 255
            and char_length(agent_id) between 1 and 255
            and char_length(model) between 1 and 255
            and char_length(corrects_id) between 1 and 255
        ),
    constraint a_step_belongs_to_a_run check (step_id is null or run_id is not null),
    constraint a_version_belongs_to_an_agent check (agent_version is null or agent_id is not null),
    constraint agent_version_is_positive check (agent_version > 0),
    constraint only_amounts_of_a_correction_are_negative
        check (
            case
                when corrects_id is null
                then least(
                    input_tokens, output_tokens, cached_input_tokens, cache_write_tokens,
                    reasoning_tokens, cost
                ) >= 0
                else greatest(
                    input_tokens, output_tokens, cached_input_tokens, cache_write_tokens,
                    reasoning_tokens, cost
                ) <= 0
            end
        ),
    constraint a_correction_is_not_a_step check (corrects_id is null or step_id is null),
    constraint amounts_are_safe_json_numbers
        check (
            input_tokens between -9007199254740991 and 9007199254740991
            and output_tokens between -9007199254740991 and 9007199254740991
            and cached_input_tokens between -9007199254740991 and 9007199254740991
            and cache_write_tokens between -9007199254740991 and 9007199254740991
            and reasoning_tokens between -9007199254740991 and 9007199254740991
            and cost between -9007199254740991 and 9007199254740991
        ),
    constraint a_cost_has_a_currency_and_decimals
        check (
            (cost is null) = (currency is null)
            and (cost is null) = (cost_decimals is null)
        ),
    constraint currency_has_three_capitals check (currency ~ '^[A-Z]{3}$'),
    constraint cost_decimals_are_0_to_12 check (cost_decimals between 0 and 12),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint metadata_has_at_most_16_kib check (octet_length(metadata::text) <= 16384)
);
comment on table strongroom.usage_events is
    'What one call of a model or tool used and cost, or a correction of it. Insert-only; leaves'
    ' only with its tenant.';
comment on column strongroom.usage_events.tenant_id is 'The tenant.';
comment on column strongroom.usage_events.id is
    'The event''s id: a repeated record of it is known by it.';
comment on column strongroom.usage_events.conversation_id is
    'The conversation, whose reading rule it has; stays when that is purged.';
comment on column strongroom.usage_events.run_id is 'The run; stays when that is purged.';
comment on column strongroom.usage_events.step_id is
    'One attempt of one step of the run, counted once. Another attempt is another step.';
comment on column strongroom.usage_events.tool_call_id is 'The tool call that caused it.';
comment on column strongroom.usage_events.principal_id is
    'On whose behalf. Null also when the person was erased.';
comment on column strongroom.usage_events.agent_id is 'The agent.';
comment on column strongroom.usage_events.agent_version is 'And its version.';
comment on column strongroom.usage_events.model is 'The model, as the host calls it.';
comment on column strongroom.usage_events.input_tokens is
    'Tokens that the model read; as every amount at most 2^53 - 1, safe as a JavaScript number.';
comment on column strongroom.usage_events.output_tokens is 'Tokens that the model wrote.';
comment on column strongroom.usage_events.cached_input_tokens is
    'Tokens read from a cache. Kinds are never added to each other, so whether input_tokens'
    ' contains them is as the provider counts.';
comment on column strongroom.usage_events.cache_write_tokens is 'Tokens written to a cache.';
comment on column strongroom.usage_events.reasoning_tokens is 'Tokens of reasoning.';
comment on column strongroom.usage_events.cost is
    'What it cost, in units of 10^-cost_decimals of the currency.';
comment on column strongroom.usage_events.cost_decimals is
    'How many decimals of the currency cost counts: 2 for cents, 6 for millionths.';
comment on column strongroom.usage_events.currency is 'The currency''s three letters (ISO 4217).';
comment on column strongroom.usage_events.corrects_id is
    'The event that this one takes back, in whole or in part; its amounts are negative.';
comment on column strongroom.usage_events.metadata is
    'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.usage_events.occurred_at is
    'When it happened: what days are counted by.';
comment on column strongroom.usage_events.created_at is 'When it was recorded.';

create index usage_by_time
    on strongroom.usage_events (tenant_id, occurred_at, id);
comment on index strongroom.usage_by_time is 'For pages of all usage, and for days.';
create index usage_by_conversation
    on strongroom.usage_events (tenant_id, conversation_id, occurred_at, id)
    where conversation_id is not null;
comment on index strongroom.usage_by_conversation is 'For the usage of a conversation.';
create index usage_by_principal
    on strongroom.usage_events (tenant_id, principal_id, occurred_at, id)
    where principal_id is not null;
comment on index strongroom.usage_by_principal is
    'For the usage of a principal, and to forget one.';
create index corrections_of_usage
    on strongroom.usage_events (tenant_id, corrects_id)
    where corrects_id is not null;
comment on index strongroom.corrections_of_usage is 'What has been taken back of an event.';

create trigger usage_events_are_insert_only
    before update or delete on strongroom.usage_events
    for each row
    execute function strongroom_private.keep_ledger('clear principal_id');
comment on trigger usage_events_are_insert_only on strongroom.usage_events is 'See keep_ledger.';
create trigger usage_events_are_never_truncated
    before truncate on strongroom.usage_events
    for each statement
    execute function strongroom_private.keep_ledger();
comment on trigger usage_events_are_never_truncated on strongroom.usage_events is
    'See keep_ledger.';

alter table strongroom.usage_events enable row level security;
alter table strongroom.usage_events force row level security;
create policy readers_read on strongroom.usage_events
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            -- The conversation's own policy says who may read it.
            or exists (
                select
                from strongroom.conversations as c
                where c.tenant_id = usage_events.tenant_id
                    and c.id = usage_events.conversation_id
                    and c.created_at <= usage_events.created_at
            )
        )
    );
comment on policy readers_read on strongroom.usage_events is
    'As the conversation, which must be the one that was there when it was recorded.';
create policy trusted_inserts on strongroom.usage_events
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.usage_events is 'Hosts.';
create policy erasure_updates on strongroom.usage_events
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
comment on policy erasure_updates on strongroom.usage_events is 'Nobody but erasure.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.usage_events',
    p_column => 'principal_id',
    p_action => 'clear',
    p_reason => 'What was used and what it cost stays, without whose it was.'
);


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.usage_events}', '{select,insert}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.usage_events}', '{select}', '{authenticated}'
);

select strongroom_private.finish_migration(3, 'usage');
