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
            char_length(conversation_id) >= 1
            and char_length(conversation_id) <= 255
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
            input_tokens >= -9007199254740991
            and input_tokens <= 9007199254740991
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

create function strongroom_private.is_readable_usage(
    p_tenant_id text,
    p_conversation_id text,
    p_created_at timestamptz,
    p_viewer_id text
)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select strongroom_private.is_readable_conversation(p_tenant_id, p_conversation_id, p_viewer_id)
        and exists (
            select
            from strongroom.conversations as c
            where c.tenant_id = p_tenant_id
                and c.id = p_conversation_id
                and c.created_at <= p_created_at
        )
$$;
comment on function strongroom_private.is_readable_usage(text, text, timestamptz, text) is
    'Whether this viewer may read usage of this conversation, recorded then: as the conversation,'
    ' which must be the one that was there.';

create function strongroom_private.readable_usage_condition(p_viewer_id text, p_parameter text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    -- A sum reads all that the viewer may read, so the conversations are found first.
    select case
        when p_viewer_id is null then 'true'
        else format(
            'u.conversation_id in ('
            'select own.id from strongroom.conversations as own where own.tenant_id = $1'
            ' and own.owner_id = %1$s and own.deleted_at is null'
            ' union '
            'select shared.id from strongroom.conversations as shared where shared.tenant_id = $1'
            ' and shared.visibility = ''tenant'' and shared.deleted_at is null'
            ' union '
            'select joined.id from strongroom.conversation_participants as p'
            ' inner join strongroom.conversations as joined on joined.tenant_id = p.tenant_id'
            ' and joined.id = p.conversation_id'
            ' where p.tenant_id = $1 and p.principal_id = %1$s and joined.deleted_at is null)'
            ' and exists (select from strongroom.conversations as recorded'
            ' where recorded.tenant_id = $1 and recorded.id = u.conversation_id'
            ' and recorded.created_at <= u.created_at)',
            p_parameter
        )
    end
$$;
comment on function strongroom_private.readable_usage_condition(text, text) is
    'As is_readable_usage, as the condition of a query on usage_events as u (whose $1 is the'
    ' tenant): a viewer, and the parameter that holds it.';

create function strongroom_private.find_usage_problem(p_event jsonb, p_of_run boolean)
returns text[]
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_field text;
    v_value jsonb;
    v_is_correction boolean;
    v_moment timestamptz;
begin
    if jsonb_typeof(p_event) is distinct from 'object' then
        return array['invalid_argument', '', 'must be a JSON object'];
    end if;
    v_is_correction := coalesce(jsonb_typeof(p_event -> 'corrects_id'), 'null') <> 'null';
    for v_field, v_value in
        select
            f.key,
            f.value
        from jsonb_each(p_event) as f
        where f.value <> 'null'
        order by f.key
    loop
        if v_field in (
            'id', 'corrects_id', 'conversation_id', 'run_id', 'step_id', 'tool_call_id',
            'principal_id', 'agent_id', 'model'
        ) then
            if jsonb_typeof(v_value) <> 'string' then
                return array['invalid_argument', v_field, 'must be a text'];
            elsif v_value = '""' then
                return array['invalid_argument', v_field, 'is empty'];
            elsif char_length(v_value #>> '{}') > 255 then
                return array['limit_exceeded', v_field, 'has more than 255 characters'];
            elsif strongroom_private.is_wide(v_value #>> '{}') then
                return array[
                    'limit_exceeded',
                    v_field,
                    'has more than 765 bytes of more than 60 different characters'
                ];
            elsif p_of_run and v_field in ('run_id', 'conversation_id') then
                return array['invalid_argument', v_field, 'comes from the run'];
            elsif v_is_correction and v_field not in ('id', 'corrects_id') then
                return array[
                    'invalid_argument', v_field, 'comes from the event that is corrected'
                ];
            end if;
        elsif v_field in (
            'input_tokens', 'output_tokens', 'cached_input_tokens', 'cache_write_tokens',
            'reasoning_tokens', 'cost'
        ) then
            if jsonb_typeof(v_value) <> 'number' or scale(v_value::numeric) <> 0 then
                return array['invalid_argument', v_field, 'must be a whole number'];
            elsif abs(v_value::numeric) > 9007199254740991 then
                return array['limit_exceeded', v_field, 'is more than 2^53 - 1'];
            elsif v_is_correction and v_value::numeric > 0 then
                return array['invalid_argument', v_field, 'of a correction must not be positive'];
            elsif not v_is_correction and v_value::numeric < 0 then
                return array['invalid_argument', v_field, 'must not be negative'];
            end if;
        elsif v_field in ('currency', 'cost_decimals', 'agent_version') and v_is_correction then
            return array['invalid_argument', v_field, 'comes from the event that is corrected'];
        elsif v_field = 'currency' then
            if jsonb_typeof(v_value) <> 'string' or v_value #>> '{}' !~ '^[A-Z]{3}$' then
                return array['invalid_argument', v_field, 'must be three capital letters'];
            end if;
        elsif v_field = 'cost_decimals' then
            if not strongroom_private.is_whole_number(v_value, 0) or v_value::numeric > 12 then
                return array['invalid_argument', v_field, 'must be between 0 and 12'];
            end if;
        elsif v_field = 'agent_version' then
            if not strongroom_private.is_whole_number(v_value, 1)
                or v_value::numeric > 2147483647
            then
                return array['invalid_argument', v_field, 'must be a version: 1, 2, 3, ...'];
            end if;
        elsif v_field = 'metadata' then
            if jsonb_typeof(v_value) <> 'object' then
                return array['invalid_argument', v_field, 'must be a JSON object'];
            elsif octet_length(v_value::text) > 16384 then
                return array['limit_exceeded', v_field, 'has more than 16384 bytes'];
            end if;
        elsif v_field = 'occurred_at' then
            v_moment := strongroom_private.find_moment(v_value);
            if v_moment is null then
                return array[
                    'invalid_argument',
                    v_field,
                    'must be a moment in ISO 8601 with its distance from UTC, such as'
                    ' 2030-01-31T12:00:00Z'
                ];
            elsif v_moment < '0001-01-02 00:00:00+00'::timestamptz then
                return array['invalid_argument', v_field, 'is before 0001-01-02'];
            elsif v_moment > clock_timestamp() + interval '5 minutes' then
                return array[
                    'invalid_argument', v_field, 'is more than 5 minutes in the future'
                ];
            end if;
        else
            return array['invalid_argument', v_field, 'is not a known field'];
        end if;
    end loop;
    if coalesce(jsonb_typeof(p_event -> 'step_id'), 'null') <> 'null'
        and coalesce(jsonb_typeof(p_event -> 'run_id'), 'null') = 'null'
        and not p_of_run
    then
        return array['invalid_argument', 'run_id', 'is required with step_id'];
    elsif coalesce(jsonb_typeof(p_event -> 'agent_version'), 'null') <> 'null'
        and coalesce(jsonb_typeof(p_event -> 'agent_id'), 'null') = 'null'
    then
        return array['invalid_argument', 'agent_id', 'is required with agent_version'];
    elsif not v_is_correction
        and (coalesce(jsonb_typeof(p_event -> 'cost'), 'null') = 'null')
        <> (coalesce(jsonb_typeof(p_event -> 'currency'), 'null') = 'null')
    then
        return array['invalid_argument', 'currency', 'is given exactly when there is a cost'];
    elsif not v_is_correction
        and coalesce(jsonb_typeof(p_event -> 'cost_decimals'), 'null') <> 'null'
        and coalesce(jsonb_typeof(p_event -> 'cost'), 'null') = 'null'
    then
        return array['invalid_argument', 'cost', 'is required with cost_decimals'];
    end if;
    return null;
end
$$;
comment on function strongroom_private.find_usage_problem(jsonb, boolean) is
    'What is wrong with a usage event: the error''s name, the field and the reason; null when it is'
    ' sound.';

create function strongroom_private.check_usage(
    p_field text, p_events jsonb, p_least integer, p_of_run boolean
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer;
    v_problem text[];
    v_repeated text;
begin
    if jsonb_typeof(p_events) is distinct from 'array'
        or jsonb_array_length(p_events) < p_least
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a list of at least %s', p_field, p_least),
            jsonb_build_object('path', p_field),
            'Give up to 500 usage events.'
        );
    end if;
    v_count := jsonb_array_length(p_events);
    if v_count > 500 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s entries; a batch has at most 500', p_field, v_count),
            jsonb_build_object('path', p_field, 'limit', 500, 'actual', v_count),
            'Record in batches of up to 500.'
        );
    end if;
    for v_index in 0 .. v_count - 1 loop
        v_problem := strongroom_private.find_usage_problem(p_events -> v_index, p_of_run);
        if v_problem is not null then
            v_problem[2] := format('%s[%s]', p_field, v_index)
                || case v_problem[2] when '' then '' else '.' || v_problem[2] end;
            perform strongroom_private.fail(
                v_problem[1],
                format('%s %s', v_problem[2], v_problem[3]),
                jsonb_build_object('path', v_problem[2], 'reason', v_problem[3]),
                'Mend it and repeat the whole batch; nothing was written.'
            );
        end if;
    end loop;
    select e.value ->> 'id'
    into v_repeated
    from jsonb_array_elements(p_events) as e
    where e.value ->> 'id' is not null
    group by e.value ->> 'id'
    having count(*) > 1
    limit 1;
    if found then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s names an id twice', p_field),
            jsonb_build_object('path', p_field, 'id', v_repeated),
            'Each event of a batch has its own id.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_usage(text, jsonb, integer, boolean) is
    'A batch of usage events is sound; of a run, it leaves run and conversation out. Errors: SR001,'
    ' SR004.';

create function strongroom_private.write_correction(
    p_tenant_id text,
    p_event jsonb,
    p_id text
)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_corrected strongroom.usage_events;
    v_known strongroom.usage_events;
    v_given strongroom.usage_events;
    v_least numeric;
begin
    -- Corrections of one event take turns, so that together they never exceed it.
    perform pg_advisory_xact_lock(hashtextextended(
        concat_ws(chr(31), 'strongroom.usage', p_tenant_id, p_event ->> 'corrects_id'), 0
    ));
    v_given := jsonb_populate_record(null::strongroom.usage_events, p_event);
    select u.*
    into v_known
    from strongroom.usage_events as u
    where u.tenant_id = p_tenant_id
        and u.id = p_id;
    if found then
        return case
            when v_known.corrects_id = v_given.corrects_id
                and v_known.input_tokens = coalesce(v_given.input_tokens, 0)
                and v_known.output_tokens = coalesce(v_given.output_tokens, 0)
                and v_known.cached_input_tokens = coalesce(v_given.cached_input_tokens, 0)
                and v_known.cache_write_tokens = coalesce(v_given.cache_write_tokens, 0)
                and v_known.reasoning_tokens = coalesce(v_given.reasoning_tokens, 0)
                and coalesce(v_known.cost, 0) = coalesce(v_given.cost, 0)
                and v_known.metadata = coalesce(v_given.metadata, '{}')
                and v_known.occurred_at = coalesce(v_given.occurred_at, v_known.occurred_at)
            then 'duplicate'
            else 'conflict'
        end;
    end if;
    select u.*
    into v_corrected
    from strongroom.usage_events as u
    where u.tenant_id = p_tenant_id
        and u.id = v_given.corrects_id;
    if not found then
        perform strongroom_private.fail(
            'not_found',
            'the usage event that is to be corrected does not exist',
            jsonb_build_object('path', 'corrects_id', 'record', 'usage'),
            'Name an event of this tenant.'
        );
    elsif v_corrected.corrects_id is not null then
        perform strongroom_private.fail(
            'invalid_argument',
            'a correction cannot be corrected',
            jsonb_build_object('path', 'corrects_id', 'record', 'usage'),
            'Record what was used as an event of its own.'
        );
    end if;
    select least(
        v_corrected.input_tokens + coalesce(v_given.input_tokens, 0)
        + coalesce(sum(u.input_tokens), 0),
        v_corrected.output_tokens + coalesce(v_given.output_tokens, 0)
        + coalesce(sum(u.output_tokens), 0),
        v_corrected.cached_input_tokens + coalesce(v_given.cached_input_tokens, 0)
        + coalesce(sum(u.cached_input_tokens), 0),
        v_corrected.cache_write_tokens + coalesce(v_given.cache_write_tokens, 0)
        + coalesce(sum(u.cache_write_tokens), 0),
        v_corrected.reasoning_tokens + coalesce(v_given.reasoning_tokens, 0)
        + coalesce(sum(u.reasoning_tokens), 0),
        coalesce(v_corrected.cost, 0) + coalesce(v_given.cost, 0) + coalesce(sum(u.cost), 0)
    )
    into v_least
    from strongroom.usage_events as u
    where u.tenant_id = p_tenant_id
        and u.corrects_id = v_given.corrects_id;
    if v_least < 0 then
        perform strongroom_private.fail(
            'invalid_argument',
            'the corrections would exceed what they correct',
            jsonb_build_object('path', 'corrects_id', 'record', 'usage'),
            'Take back at most what is left of the event.'
        );
    end if;
    insert into strongroom.usage_events (
        tenant_id, id, conversation_id, run_id, tool_call_id, principal_id, agent_id,
        agent_version, model, input_tokens, output_tokens, cached_input_tokens,
        cache_write_tokens, reasoning_tokens, cost, cost_decimals, currency, corrects_id,
        metadata, occurred_at
    )
    values (
        p_tenant_id, p_id, v_corrected.conversation_id, v_corrected.run_id,
        v_corrected.tool_call_id, v_corrected.principal_id, v_corrected.agent_id,
        v_corrected.agent_version, v_corrected.model, coalesce(v_given.input_tokens, 0),
        coalesce(v_given.output_tokens, 0), coalesce(v_given.cached_input_tokens, 0),
        coalesce(v_given.cache_write_tokens, 0), coalesce(v_given.reasoning_tokens, 0),
        case when v_corrected.cost is not null then coalesce(v_given.cost, 0) end,
        v_corrected.cost_decimals, v_corrected.currency, v_given.corrects_id,
        coalesce(v_given.metadata, '{}'), coalesce(v_given.occurred_at, now())
    )
    on conflict on constraint usage_events_pkey do nothing;
    if not found then
        perform strongroom_private.fail_raced_record();
    end if;
    return 'inserted';
end
$$;
comment on function strongroom_private.write_correction(text, jsonb, text) is
    'Write one correction, with what it shares with the event that it corrects; returns the'
    ' outcome. Errors: SR001, SR010, SR050.';

create function strongroom_private.fail_raced_record()
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.fail(
        'unavailable',
        'another transaction records the same id or step, or has since this one began',
        '{"path": "events"}',
        'Repeat the call: the outcome will say which of the two was first.'
    );
end
$$;
comment on function strongroom_private.fail_raced_record() is
    'Two transactions record the same, and this one cannot see the other''s yet. Errors: SR050.';

create function strongroom_private.write_usage(p_tenant_id text, p_events jsonb)
returns table (place bigint, id text, outcome text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_event record;
    v_given strongroom.usage_events;
    v_known strongroom.usage_events;
begin
    for v_event in
        select
            e.value,
            e.place
        from jsonb_array_elements(p_events) with ordinality as e (value, place)
        -- One order for all writers, so that two batches of the same cannot deadlock; what is
        -- corrected comes before its corrections.
        order by
            coalesce(e.value ->> 'corrects_id', '') collate "C",
            coalesce(e.value ->> 'run_id', '') collate "C",
            coalesce(e.value ->> 'step_id', '') collate "C",
            (e.value ->> 'id') collate "C"
    loop
        place := v_event.place;
        id := coalesce(v_event.value ->> 'id', gen_random_uuid()::text);
        if v_event.value ->> 'corrects_id' is not null then
            outcome := strongroom_private.write_correction(p_tenant_id, v_event.value, id);
            return next;
            continue;
        end if;
        v_given := jsonb_populate_record(null::strongroom.usage_events, v_event.value);
        insert into strongroom.usage_events (
            tenant_id, id, conversation_id, run_id, step_id, tool_call_id, principal_id, agent_id,
            agent_version, model, input_tokens, output_tokens, cached_input_tokens,
            cache_write_tokens, reasoning_tokens, cost, cost_decimals, currency, metadata,
            occurred_at
        )
        values (
            p_tenant_id, id, v_given.conversation_id, v_given.run_id, v_given.step_id,
            v_given.tool_call_id, v_given.principal_id, v_given.agent_id, v_given.agent_version,
            v_given.model, coalesce(v_given.input_tokens, 0), coalesce(v_given.output_tokens, 0),
            coalesce(v_given.cached_input_tokens, 0), coalesce(v_given.cache_write_tokens, 0),
            coalesce(v_given.reasoning_tokens, 0), v_given.cost,
            case when v_given.cost is not null then coalesce(v_given.cost_decimals, 2) end,
            v_given.currency, coalesce(v_given.metadata, '{}'),
            coalesce(v_given.occurred_at, now())
        )
        on conflict do nothing;
        if found then
            outcome := 'inserted';
            return next;
            continue;
        end if;
        -- Known by its id, or by its step.
        select u.*
        into v_known
        from strongroom.usage_events as u
        where u.tenant_id = p_tenant_id
            and u.id = v_event.value ->> 'id';
        if not found then
            select u.*
            into v_known
            from strongroom.usage_events as u
            where u.tenant_id = p_tenant_id
                and u.run_id = v_given.run_id
                and u.step_id = v_given.step_id;
            if not found then
                perform strongroom_private.fail_raced_record();
            end if;
        end if;
        id := v_known.id;
        outcome := case
            when v_known.corrects_id is null
                and v_known.conversation_id is not distinct from v_given.conversation_id
                and v_known.run_id is not distinct from v_given.run_id
                and v_known.step_id is not distinct from v_given.step_id
                and v_known.tool_call_id is not distinct from v_given.tool_call_id
                -- Erasure has forgotten the person, and not what was used.
                and coalesce(v_known.principal_id = v_given.principal_id, true)
                and (v_known.principal_id is null or v_given.principal_id is not null)
                and v_known.agent_id is not distinct from v_given.agent_id
                and v_known.agent_version is not distinct from v_given.agent_version
                and v_known.model is not distinct from v_given.model
                and v_known.input_tokens = coalesce(v_given.input_tokens, 0)
                and v_known.output_tokens = coalesce(v_given.output_tokens, 0)
                and v_known.cached_input_tokens = coalesce(v_given.cached_input_tokens, 0)
                and v_known.cache_write_tokens = coalesce(v_given.cache_write_tokens, 0)
                and v_known.reasoning_tokens = coalesce(v_given.reasoning_tokens, 0)
                and v_known.cost is not distinct from v_given.cost
                and v_known.currency is not distinct from v_given.currency
                and coalesce(v_known.cost_decimals, 2) = coalesce(v_given.cost_decimals, 2)
                and v_known.metadata = coalesce(v_given.metadata, '{}')
                and v_known.occurred_at = coalesce(v_given.occurred_at, v_known.occurred_at)
            then 'duplicate'
            else 'conflict'
        end;
        return next;
    end loop;
end
$$;
comment on function strongroom_private.write_usage(text, jsonb) is
    'Write checked usage events; one row per event: its place in the batch, the id under which it'
    ' is known, and the outcome. Errors: SR001, SR010, SR050.';

create function strongroom.record_usage(p_tenant_id text, p_events jsonb)
returns table (
    tenant_id text,
    id text,
    conversation_id text,
    run_id text,
    step_id text,
    tool_call_id text,
    principal_id text,
    agent_id text,
    agent_version integer,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    cached_input_tokens bigint,
    cache_write_tokens bigint,
    reasoning_tokens bigint,
    cost bigint,
    cost_decimals integer,
    currency text,
    corrects_id text,
    metadata jsonb,
    occurred_at timestamptz,
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
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_usage('events', p_events, 1, false);
    return query
    with written as materialized (
        select
            w.place,
            w.id,
            w.outcome
        from strongroom_private.write_usage(p_tenant_id, p_events) as w
    )
    select
        f.*,
        w.outcome
    from written as w
    cross join lateral strongroom_private.read_usage(p_tenant_id, w.id) as f
    order by w.place;
end
$$;
comment on function strongroom.record_usage(text, jsonb) is
    'Record 1 to 500 usage events, all or none, in the order given: {id, conversation_id, run_id,'
    ' step_id, tool_call_id, principal_id, agent_id, agent_version, model, input_tokens,'
    ' output_tokens, cached_input_tokens, cache_write_tokens, reasoning_tokens, cost,'
    ' cost_decimals, currency, metadata, occurred_at}. An event is known by its id, and by its run'
    ' and step: another attempt is another step. A duplicate changes nothing and returns the first'
    ' row; the same key with other content is a conflict, which changes nothing either. With'
    ' corrects_id it takes back a part of that event: negative amounts, the rest as there. What'
    ' occurred more than 5 minutes in the future is refused. The conversation and run may be gone.'
    ' Errors: SR001, SR004, SR010, SR020, SR050. Callers: hosts.';

create function strongroom_private.read_usage(p_tenant_id text, p_usage_id text)
returns table (
    tenant_id text,
    id text,
    conversation_id text,
    run_id text,
    step_id text,
    tool_call_id text,
    principal_id text,
    agent_id text,
    agent_version integer,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    cached_input_tokens bigint,
    cache_write_tokens bigint,
    reasoning_tokens bigint,
    cost bigint,
    cost_decimals integer,
    currency text,
    corrects_id text,
    metadata jsonb,
    occurred_at timestamptz,
    created_at timestamptz
)
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select
        u.tenant_id,
        u.id,
        u.conversation_id,
        u.run_id,
        u.step_id,
        u.tool_call_id,
        u.principal_id,
        u.agent_id,
        u.agent_version,
        u.model,
        u.input_tokens,
        u.output_tokens,
        u.cached_input_tokens,
        u.cache_write_tokens,
        u.reasoning_tokens,
        u.cost,
        u.cost_decimals,
        u.currency,
        u.corrects_id,
        u.metadata,
        u.occurred_at,
        u.created_at
    from strongroom.usage_events as u
    where u.tenant_id = p_tenant_id
        and u.id = p_usage_id
$$;
comment on function strongroom_private.read_usage(text, text) is
    'One usage event, also one that this statement has written.';

create function strongroom.find_usage(
    p_tenant_id text,
    p_usage_id text,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    id text,
    conversation_id text,
    run_id text,
    step_id text,
    tool_call_id text,
    principal_id text,
    agent_id text,
    agent_version integer,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    cached_input_tokens bigint,
    cache_write_tokens bigint,
    reasoning_tokens bigint,
    cost bigint,
    cost_decimals integer,
    currency text,
    corrects_id text,
    metadata jsonb,
    occurred_at timestamptz,
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
    perform strongroom_private.check_id('usage_id', p_usage_id);
    return query
    select
        u.tenant_id,
        u.id,
        u.conversation_id,
        u.run_id,
        u.step_id,
        u.tool_call_id,
        u.principal_id,
        u.agent_id,
        u.agent_version,
        u.model,
        u.input_tokens,
        u.output_tokens,
        u.cached_input_tokens,
        u.cache_write_tokens,
        u.reasoning_tokens,
        u.cost,
        u.cost_decimals,
        u.currency,
        u.corrects_id,
        u.metadata,
        u.occurred_at,
        u.created_at
    from strongroom.usage_events as u
    where u.tenant_id = p_tenant_id
        and u.id = p_usage_id
        and (
            v_viewer_id is null
            or strongroom_private.is_readable_usage(
                u.tenant_id, u.conversation_id, u.created_at, v_viewer_id
            )
        );
end
$$;
comment on function strongroom.find_usage(text, text, text) is
    'One usage event, or no row. Errors: SR001, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_usage(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_conversation_id text default null,
    p_run_id text default null,
    p_principal_id text default null,
    p_agent_id text default null,
    p_model text default null,
    p_since timestamptz default null,
    p_until timestamptz default null
)
returns table (
    tenant_id text,
    id text,
    conversation_id text,
    run_id text,
    step_id text,
    tool_call_id text,
    principal_id text,
    agent_id text,
    agent_version integer,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    cached_input_tokens bigint,
    cache_write_tokens bigint,
    reasoning_tokens bigint,
    cost bigint,
    cost_decimals integer,
    currency text,
    corrects_id text,
    metadata jsonb,
    occurred_at timestamptz,
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
    v_scope text;
    v_keys text[];
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
    v_page text;
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_moment('since', p_since);
    perform strongroom_private.check_moment('until', p_until);
    v_scope := strongroom_private.cursor_scope(
        'usage',
        jsonb_build_array(
            v_viewer_id, p_conversation_id, p_run_id, p_principal_id, p_agent_id, p_model,
            strongroom_private.to_microseconds(p_since), strongroom_private.to_microseconds(p_until)
        ),
        p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    v_page := format(
        $query$
            select u.*
            from strongroom.usage_events as u
            where u.tenant_id = $1
                and ($2 is null or (u.occurred_at, u.id) %1$s (
                    strongroom_private.from_microseconds($2[1]), $2[2]
                ))
                and ($5 is null or u.conversation_id = $5)
                and ($6 is null or u.run_id = $6)
                and ($7 is null or u.principal_id = $7)
                and ($8 is null or u.agent_id = $8)
                and ($9 is null or u.model = $9)
                and ($10 is null or u.occurred_at >= $10)
                and ($11 is null or u.occurred_at < $11)
                and %%s
            order by u.occurred_at %2$s, u.id %2$s
            limit $4 + 1
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end
    );
    v_page := case
        when v_viewer_id is null then format(v_page, 'true')
        else strongroom_private.readable_branches(
            replace(
                v_page,
                '%s',
                '%s and exists (select from strongroom.conversations as recorded'
                ' where recorded.tenant_id = $1 and recorded.id = u.conversation_id'
                ' and recorded.created_at <= u.created_at)'
            ),
            'u.conversation_id',
            v_viewer_id,
            '$12'
        )
    end;
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.id,
                s.conversation_id,
                s.run_id,
                s.step_id,
                s.tool_call_id,
                s.principal_id,
                s.agent_id,
                s.agent_version,
                s.model,
                s.input_tokens,
                s.output_tokens,
                s.cached_input_tokens,
                s.cache_write_tokens,
                s.reasoning_tokens,
                s.cost,
                s.cost_decimals,
                s.currency,
                s.corrects_id,
                s.metadata,
                s.occurred_at,
                s.created_at,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(s.occurred_at), s.id]
                ),
                s.total > $4
            from (
                select
                    u.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select p.*
                    from (%3$s) as p
                    order by p.occurred_at %1$s, p.id %1$s
                    limit $4 + 1
                ) as u
            ) as s
            where s.place <= $4
            order by s.occurred_at %2$s, s.id %2$s
        $query$,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end,
        v_page
    )
    using
        p_tenant_id, v_keys, v_scope, p_limit, p_conversation_id, p_run_id, p_principal_id,
        p_agent_id, p_model, p_since, p_until, v_viewer_id;
end
$$;
comment on function strongroom.list_usage(
    text, integer, text, text, text, text, text, text, text, text, text, timestamptz, timestamptz
) is
    'A page of usage events by the time they occurred, since (inclusive) and until (exclusive).'
    ' Users see those of conversations that they may read. Errors: SR001, SR002, SR004, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom_private.sum_usage(
    p_tenant_id text,
    p_by text,
    p_time_zone text,
    p_viewer_id text,
    p_conversation_id text,
    p_run_id text,
    p_principal_id text,
    p_agent_id text,
    p_model text,
    p_since timestamptz,
    p_until timestamptz
)
returns table (
    key text,
    event_count bigint,
    input_tokens text,
    output_tokens text,
    cached_input_tokens text,
    cache_write_tokens text,
    reasoning_tokens text,
    costs jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
begin
    return query execute format(
        $query$
            with parts as (
                select
                    %1$s as key,
                    u.currency,
                    u.cost_decimals,
                    count(*) as events,
                    sum(u.input_tokens) as input_tokens,
                    sum(u.output_tokens) as output_tokens,
                    sum(u.cached_input_tokens) as cached_input_tokens,
                    sum(u.cache_write_tokens) as cache_write_tokens,
                    sum(u.reasoning_tokens) as reasoning_tokens,
                    sum(u.cost) as cost
                from strongroom.usage_events as u
                where u.tenant_id = $1
                    and ($3 is null or u.conversation_id = $3)
                    and ($4 is null or u.run_id = $4)
                    and ($5 is null or u.principal_id = $5)
                    and ($6 is null or u.agent_id = $6)
                    and ($7 is null or u.model = $7)
                    and ($8 is null or u.occurred_at >= $8)
                    and ($9 is null or u.occurred_at < $9)
                    and %2$s
                group by 1, 2, 3
            ),
            -- Amounts of one currency, counted in its finest unit; integers all the way.
            scaled as (
                select
                    p.*,
                    max(p.cost_decimals) over (partition by p.key, p.currency) as decimals
                from parts as p
            ),
            money as (
                select
                    p.key,
                    p.currency,
                    p.decimals,
                    sum(p.events) as events,
                    sum(p.input_tokens) as input_tokens,
                    sum(p.output_tokens) as output_tokens,
                    sum(p.cached_input_tokens) as cached_input_tokens,
                    sum(p.cache_write_tokens) as cache_write_tokens,
                    sum(p.reasoning_tokens) as reasoning_tokens,
                    sum(
                        p.cost * ('1' || repeat('0', p.decimals - p.cost_decimals))::numeric
                    ) as cost
                from scaled as p
                group by 1, 2, 3
            )
            select
                m.key,
                sum(m.events)::bigint,
                sum(m.input_tokens)::text,
                sum(m.output_tokens)::text,
                sum(m.cached_input_tokens)::text,
                sum(m.cache_write_tokens)::text,
                sum(m.reasoning_tokens)::text,
                coalesce(
                    jsonb_agg(
                        jsonb_build_object(
                            'currency', m.currency,
                            'cost', m.cost::text,
                            'decimals', m.decimals
                        )
                        order by m.currency
                    ) filter (where m.currency is not null),
                    '[]'
                )
            from money as m
            group by 1
        $query$,
        case p_by
            when 'day' then
                'to_char(u.occurred_at at time zone $2, ''YYYY-MM-DD'') collate "C"'
            when 'model' then 'u.model'
            when 'agent' then 'u.agent_id'
            when 'principal' then 'u.principal_id'
            when 'conversation' then 'u.conversation_id'
            else 'null::text'
        end,
        strongroom_private.readable_usage_condition(p_viewer_id, '$10')
    )
    using
        p_tenant_id, p_time_zone, p_conversation_id, p_run_id, p_principal_id, p_agent_id, p_model,
        p_since, p_until, p_viewer_id;
end
$$;
comment on function strongroom_private.sum_usage(
    text, text, text, text, text, text, text, text, text, timestamptz, timestamptz
) is
    'Sums of usage, one row per key of p_by, or one in all. Amounts are texts of whole numbers:'
    ' sums may be larger than a browser''s numbers.';

create function strongroom.read_usage_totals(
    p_tenant_id text,
    p_viewer_id text default null,
    p_conversation_id text default null,
    p_run_id text default null,
    p_principal_id text default null,
    p_agent_id text default null,
    p_model text default null,
    p_since timestamptz default null,
    p_until timestamptz default null
)
returns table (
    event_count bigint,
    input_tokens text,
    output_tokens text,
    cached_input_tokens text,
    cache_write_tokens text,
    reasoning_tokens text,
    costs jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_moment('since', p_since);
    perform strongroom_private.check_moment('until', p_until);
    return query
    select
        coalesce(s.event_count, 0),
        coalesce(s.input_tokens, '0'),
        coalesce(s.output_tokens, '0'),
        coalesce(s.cached_input_tokens, '0'),
        coalesce(s.cache_write_tokens, '0'),
        coalesce(s.reasoning_tokens, '0'),
        coalesce(s.costs, '[]')
    from (select) as one
    left join strongroom_private.sum_usage(
        p_tenant_id, null, 'UTC', v_viewer_id, p_conversation_id, p_run_id, p_principal_id,
        p_agent_id, p_model, p_since, p_until
    ) as s on true;
end
$$;
comment on function strongroom.read_usage_totals(
    text, text, text, text, text, text, text, timestamptz, timestamptz
) is
    'The sum of the usage events that the filters leave, as texts of whole numbers; costs are'
    ' [{currency, cost, decimals}], one per currency, never added to each other. Errors: SR001,'
    ' SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom_private.check_time_zone(p_time_zone text)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_time_zone is distinct from 'UTC' and not exists (
        select
        from pg_timezone_names as z
        where z.name = p_time_zone
    ) then
        perform strongroom_private.fail(
            'invalid_argument',
            'time_zone is not known',
            '{"path": "time_zone"}',
            'Give an IANA name: UTC, Europe/Lisbon, America/New_York.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_time_zone(text) is
    'A time zone is an IANA name that this server knows. Errors: SR001.';

create function strongroom.list_usage_rollup(
    p_tenant_id text,
    p_by text,
    p_time_zone text default 'UTC',
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_conversation_id text default null,
    p_run_id text default null,
    p_principal_id text default null,
    p_agent_id text default null,
    p_model text default null,
    p_since timestamptz default null,
    p_until timestamptz default null
)
returns table (
    key text,
    event_count bigint,
    input_tokens text,
    output_tokens text,
    cached_input_tokens text,
    cache_write_tokens text,
    reasoning_tokens text,
    costs jsonb,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text;
    v_key text;
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.check_choice(
        'by', p_by, '{day,model,agent,principal,conversation}'
    );
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_moment('since', p_since);
    perform strongroom_private.check_moment('until', p_until);
    perform strongroom_private.check_time_zone(p_time_zone);
    v_scope := strongroom_private.cursor_scope(
        'usage_rollup',
        jsonb_build_array(
            p_by, p_time_zone, v_viewer_id, p_conversation_id, p_run_id, p_principal_id,
            p_agent_id, p_model, strongroom_private.to_microseconds(p_since),
            strongroom_private.to_microseconds(p_until)
        ),
        p_direction
    );
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    return query execute format(
        $query$
            select
                nullif(s.place_key, ''),
                s.event_count,
                s.input_tokens,
                s.output_tokens,
                s.cached_input_tokens,
                s.cache_write_tokens,
                s.reasoning_tokens,
                s.costs,
                strongroom_private.encode_cursor($3, array[s.place_key]),
                s.total > $4
            from (
                select
                    u.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select
                        coalesce(u.key, '') collate "C" as place_key,
                        u.*
                    from strongroom_private.sum_usage(
                        $1, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
                    ) as u
                    where $2 is null
                        or coalesce(u.key, '') collate "C" %1$s $2
                    order by place_key %2$s
                    limit $4 + 1
                ) as u
            ) as s
            where s.place <= $4
            order by s.place_key %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id, v_key, v_scope, p_limit, p_by, p_time_zone, v_viewer_id, p_conversation_id,
        p_run_id, p_principal_id, p_agent_id, p_model, p_since, p_until;
end
$$;
comment on function strongroom.list_usage_rollup(
    text, text, text, integer, text, text, text, text, text, text, text, text, text, timestamptz,
    timestamptz
) is
    'Sums of usage by day (of p_time_zone, an IANA name), model, agent, principal or conversation,'
    ' a page of them by key; the key is null for events that name none. Amounts as in'
    ' read_usage_totals. Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.usage_events}', '{select,insert}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.usage_events}', '{select}', '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.is_readable_usage,
        strongroom_private.readable_usage_condition,
        strongroom_private.sum_usage,
        strongroom_private.check_time_zone,
        strongroom.find_usage,
        strongroom.list_usage,
        strongroom.read_usage_totals,
        strongroom.list_usage_rollup
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.find_usage_problem,
        strongroom_private.check_usage,
        strongroom_private.write_correction,
        strongroom_private.fail_raced_record,
        strongroom_private.write_usage,
        strongroom.record_usage,
        strongroom_private.read_usage
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(3, 'usage');
