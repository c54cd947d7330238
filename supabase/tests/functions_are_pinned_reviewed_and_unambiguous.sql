-- Every function has a fixed search_path and one signature; those that run with the owner's rights
-- are on the list below, each with its reason.
begin;
\ir support/stories.psql

create table stories.functions as
select
    p.oid,
    format('%s.%s', p.pronamespace::regnamespace, p.proname) as name,
    p.proconfig,
    p.prosecdef,
    p.prosrc,
    p.proargnames,
    p.proargmodes,
    p.pronargs,
    p.proretset,
    p.prolang
from pg_proc as p
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private');

create table stories.reviewed_definers (name text, reason text);
insert into stories.reviewed_definers (name, reason)
values
    (
        'strongroom_private.is_active_tenant',
        'policies ask it of a table whose policies would ask it again'
    ),
    (
        'strongroom_private.is_participant',
        'the policies of conversations and of participants would ask each other for ever'
    ),
    (
        'strongroom_private.create_conversation_as_user',
        'a user has no right to insert: creates what is their own'
    ),
    (
        'strongroom_private.soft_delete_conversation_as_user',
        'a user has no right to update: deletes what is their own'
    ),
    (
        'strongroom_private.append_messages_as_user',
        'a user has no right to insert: appends as themselves'
    ),
    (
        'strongroom_private.list_messages_as_user',
        'the policy would be asked for every row: the function asks once'
    ),
    (
        'strongroom_private.answer_question_as_user',
        'a user has no right to update: answers what they are asked'
    ),
    (
        'strongroom_private.decide_approval_as_user',
        'a user has no right to update: decides what they are asked'
    ),
    (
        'strongroom_private.add_token_claims',
        'Supabase Auth has no token yet: reads the memberships of the one who signs in'
    ),
    (
        'strongroom_private.tell_of_messages',
        'writers have no right to broadcast: tells who may read of what was just written'
    ),
    (
        'strongroom_private.tell_of_run_events',
        'writers have no right to broadcast: tells who may read of what was just written'
    ),
    (
        'strongroom_private.tell_of_run',
        'writers have no right to broadcast: tells who may read of what was just written'
    ),
    (
        'strongroom_private.tell_of_interaction',
        'writers have no right to broadcast: tells who may read, and who is asked'
    ),
    (
        'strongroom_private.tell_of_conversation',
        'writers have no right to broadcast: tells who may read of what was just written'
    ),
    (
        'strongroom_private.tell_of_participant',
        'writers have no right to broadcast: tells who takes part from now on'
    ),
    (
        'strongroom_private.tell_of_topic_events',
        'writers have no right to broadcast: tells hosts that follow a topic'
    ),
    (
        'strongroom_private.put_memory_as_user',
        'a user has no right to insert: states facts about themselves'
    ),
    (
        'strongroom_private.update_memory_as_user',
        'a user has no right to update: corrects facts about themselves'
    ),
    (
        'strongroom_private.delete_memory_as_user',
        'a user has no right to delete: forgets a fact about themselves'
    ),
    (
        'strongroom_private.forget_memories_as_user',
        'a user has no right to delete: forgets all about themselves'
    ),
    (
        'strongroom_private.dispatch_runs',
        'a worker serves every tenant: claims the next ready runs, says their tenants and ids'
    ),
    (
        'strongroom_private.erase_person',
        'erasure deletes and changes what nobody else may, for hosts in the bound tenant'
    ),
    (
        'strongroom_private.sweep_records',
        'retention deletes what nobody else may, for hosts in the bound tenant'
    ),
    (
        'strongroom_private.list_retention_kinds',
        'nobody but the owner reads the registry: says the names of the kinds'
    ),
    (
        'strongroom_private.list_tenants_to_sweep',
        'a sweep serves every tenant: says in which ones a policy is due'
    ),
    (
        'strongroom_private.list_tenants_to_expire',
        'a sweep serves every tenant: says in which ones what has expired, and since when'
    ),
    (
        'strongroom_private.list_overdue_tenants',
        'a sweep serves every tenant: says in which ones an interaction is overdue'
    ),
    (
        'strongroom_private.dispatch_jobs',
        'a worker serves every tenant: claims the next ready jobs, returns the claimed ones'
    ),
    (
        'strongroom_private.search_chunks',
        'row security would keep its indexes from being used: names tenant and subjects itself'
    ),
    (
        'strongroom_private.read_found_chunks',
        'policies would be asked for every row: names tenant and subjects itself'
    ),
    (
        'strongroom_private.count_chunks_of_user',
        'policies would be asked for every chunk of a page of sources: names what a token admits to'
    ),
    (
        'strongroom_private.write_chunks',
        'terms are nobody''s to write, pgvector may be closed to hosts: writes one source''s chunks'
    ),
    (
        'strongroom_private.write_terms',
        'terms are nobody''s to write: writes one source''s'
    ),
    (
        'strongroom_private.write_embeddings',
        'pgvector may be closed to hosts: writes one source''s embeddings'
    ),
    (
        'strongroom_private.write_audit_seal',
        'hosts have no right to update events: writes their place in the chain, once'
    ),
    (
        'strongroom_private.list_tenants_to_seal',
        'a sweep serves every tenant: says whose audit waits to be sealed, and since when'
    ),
    (
        'strongroom_private.dispatch_blob_removals',
        'a sweep serves every tenant, purged ones too: claims due keys, returns the claimed ones'
    );

select plan((select 2 * count(*)::integer from stories.functions) + 11);

select is(
    f.proconfig,
    array['search_path=pg_catalog, pg_temp'] || case
        -- On the path of every call: a plan kept from a small table must not scan a large one.
        -- Nor may it be compiled for what a forbidden plan is said to cost.
        when f.name in (
            'strongroom_private.lock_conversation',
            'strongroom_private.find_last_position',
            'strongroom_private.is_readable_conversation',
            'strongroom.append_messages',
            'strongroom.list_messages',
            'strongroom.create_run',
            'strongroom.claim_next_runs',
            'strongroom.claim_run',
            'strongroom_private.lock_run',
            'strongroom.heartbeat_run',
            'strongroom.append_run_events',
            'strongroom_private.require_readable_run',
            'strongroom.list_run_events',
            'strongroom.save_checkpoint',
            'strongroom.find_checkpoint',
            'strongroom.create_interaction',
            'strongroom_private.queue_waiting_run',
            'strongroom_private.lock_interaction',
            'strongroom.finish_run',
            'strongroom.put_framework_session',
            'strongroom.list_framework_sessions',
            'strongroom.delete_framework_sessions',
            'strongroom.fork_framework_session',
            'strongroom.search_framework_records',
            'strongroom.expire_framework_records',
            'strongroom_private.list_tenants_to_expire',
            'strongroom.read_expiry_queue',
            'strongroom_private.is_idle_framework_session',
            'strongroom_private.may_end_framework_session',
            'strongroom.prune_framework_checkpoints',
            'strongroom.find_evaluation_case',
            'strongroom.record_evaluation_results',
            'strongroom.find_run',
            'strongroom.pause_run',
            'strongroom.retry_run_later',
            'strongroom.release_run',
            'strongroom.request_run_cancel',
            'strongroom.answer_question',
            'strongroom.decide_approval',
            'strongroom.claim_approval',
            'strongroom.list_checkpoints',
            'strongroom.find_interaction',
            'strongroom.enqueue_job',
            'strongroom.find_job',
            'strongroom.list_jobs',
            'strongroom.claim_job',
            'strongroom_private.complete_claimed_jobs',
            'strongroom.complete_and_claim_jobs',
            'strongroom.heartbeat_job',
            'strongroom.retry_job_later',
            'strongroom.fail_job',
            'strongroom.release_job',
            'strongroom.cancel_job',
            'strongroom.check_lock',
            'strongroom.find_lock',
            'strongroom.publish_events',
            'strongroom.find_topic',
            'strongroom.list_topic_events',
            'strongroom.trim_topic',
            'strongroom_private.write_usage',
            'strongroom.record_usage',
            'strongroom_private.write_audit_seal',
            'strongroom_private.list_tenants_to_seal',
            'strongroom.read_audit_queue',
            'strongroom.verify_audit',
            'strongroom.publish_agent_version',
            'strongroom.find_agent_version',
            'strongroom.publish_skill_version',
            'strongroom.find_skill_version',
            'strongroom.resolve_agent',
            'strongroom.resolve_skill',
            'strongroom_private.bind_run_agent',
            'strongroom_private.is_forgotten',
            'strongroom_private.lock_memory',
            'strongroom_private.lift_tombstones',
            'strongroom_private.forget_facts',
            'strongroom_private.switch_memory',
            'strongroom_private.compare_embeddings',
            'strongroom.find_memory',
            'strongroom.put_memory',
            'strongroom.update_memory',
            'strongroom.touch_memories',
            'strongroom.forget_memories',
            'strongroom.expire_memories',
            'strongroom.read_memory_status',
            'strongroom.list_memories',
            'strongroom.search_memories',
            'strongroom_private.read_found_chunks',
            'strongroom_private.count_candidates',
            'strongroom_private.count_chunks_shown',
            'strongroom_private.count_chunks_of_user',
            'strongroom_private.settle_removed_blob',
            'strongroom_private.schedule_blob_removal',
            'strongroom_private.keep_blob',
            'strongroom_private.is_referenced_blob',
            'strongroom_private.dispatch_blob_removals',
            'strongroom.find_blob_removal',
            'strongroom.complete_blob_removals',
            'strongroom.retry_blob_removals_later',
            'strongroom.list_blob_removals',
            'strongroom.list_blob_references',
            'strongroom.list_files',
            'strongroom.list_file_versions',
            'strongroom.list_file_versions_by_state',
            'strongroom.purge_file',
            'strongroom_private.require_readable_file',
            'strongroom_private.lock_file',
            'strongroom.create_file',
            'strongroom.find_file',
            'strongroom.add_file_version',
            'strongroom.find_file_version',
            'strongroom.set_file_version_state',
            'strongroom.record_file_extraction',
            'strongroom.soft_delete_file',
            'strongroom.restore_file',
            'strongroom.schedule_conversation_file_deletion',
            'strongroom_private.hold_run_claim',
            'strongroom_private.is_readable_artifact',
            'strongroom_private.lock_artifact',
            'strongroom_private.lock_claimed_export',
            'strongroom.find_artifact',
            'strongroom.create_artifact',
            'strongroom.add_artifact_version',
            'strongroom.find_artifact_version',
            'strongroom.update_artifact',
            'strongroom.soft_delete_artifact',
            'strongroom.restore_artifact',
            'strongroom.purge_artifact',
            'strongroom.find_artifact_export',
            'strongroom.claim_artifact_export',
            'strongroom.finish_artifact_export',
            'strongroom.fail_artifact_export',
            'strongroom.put_tool_output',
            'strongroom.find_tool_output',
            'strongroom.find_tool_output_head',
            'strongroom.find_tool_output_slice',
            'strongroom_private.write_change',
            'strongroom_private.lock_transcript',
            'strongroom_private.delete_named_transcript',
            'strongroom_private.find_session_transcript',
            'strongroom.find_transcript',
            'strongroom.read_transcript',
            'strongroom.save_transcript',
            'strongroom.copy_transcript',
            'strongroom.read_memory_session',
            'strongroom.append_memory_session',
            'strongroom.record_memory_session_error',
            'strongroom.find_memory_session_error',
            'strongroom.find_memory_session',
            'strongroom.find_active_grant',
            'strongroom_private.keep_history',
            'strongroom_private.keep_ledger'
        )
        then array['enable_seqscan=off', 'jit=off']
        -- A page walks its index.
        when f.name in ('strongroom.list_members', 'strongroom.list_collections')
        then array['enable_bitmapscan=off', 'jit=off']
        -- Nor is it planned anew for each call: for these that took longer than the work.
        when f.name in (
            'strongroom.complete_jobs',
            'strongroom_private.write_job_claims',
            'strongroom.acquire_lock',
            'strongroom.renew_lock',
            'strongroom.release_lock',
            'strongroom_private.find_framework_owner',
            'strongroom_private.hold_framework_session',
            'strongroom.find_framework_session',
            'strongroom.append_framework_records',
            'strongroom.put_framework_records',
            'strongroom.find_framework_records',
            'strongroom.read_framework_checkpoints',
            'strongroom.list_framework_records',
            'strongroom.delete_framework_records'
        )
        then array['enable_seqscan=off', 'plan_cache_mode=force_generic_plan', 'jit=off']
        -- Asks the catalog once per migration, which is not worth compiling.
        when f.name in (
            'strongroom_private.apply_grants',
            'strongroom_private.list_grant_differences'
        )
        then array['jit=off']
        -- Nor may it do anything but walk the indexes that are made for claims.
        when f.name ~ '_private\.dispatch_(runs|jobs)$'
        then array[
            'enable_seqscan=off', 'enable_bitmapscan=off', 'enable_hashjoin=off',
            'enable_mergejoin=off', 'plan_cache_mode=force_generic_plan', 'jit=off'
        ]
        -- Joins sets that are made on the way, of which nobody has statistics.
        when f.name = 'strongroom_private.rank_memories'
        then array['enable_seqscan=off', 'enable_nestloop=off', 'jit=off']
        -- How many chunks hold the words decides the way.
        when f.name = 'strongroom_private.rank_by_words'
        then array['enable_seqscan=off', 'jit=off', 'plan_cache_mode=force_custom_plan']
        -- Every embedding is compared once: there is nothing to memoise.
        when f.name = 'strongroom_private.rank_by_scan'
        then array['enable_seqscan=off', 'enable_memoize=off', 'jit=off']
        -- Only the index on nearness gives rows in its order.
        when f.name = 'strongroom_private.rank_by_index'
        then array[
            'enable_seqscan=off', 'enable_bitmapscan=off', 'enable_hashjoin=off',
            'enable_mergejoin=off', 'enable_sort=off', 'jit=off'
        ]
        else '{}'
    end,
    format('%s has a fixed search_path and no other setting but a known one', f.name)
)
from stories.functions as f;
select is(
    (
        select count(*)
        from stories.functions as o
        where o.name = f.name
    ),
    1::bigint,
    format('%s has one signature', f.name)
)
from stories.functions as f;

select set_eq(
    'select f.name from stories.functions as f where f.prosecdef',
    'select d.name from stories.reviewed_definers as d',
    'these functions, and no others, run with the owner''s rights'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.prosecdef
            and f.name like 'strongroom.%'
    ),
    null,
    'none of them stands in the schema that APIs expose'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.prosecdef
            and obj_description(f.oid, 'pg_proc') !~ 'SECURITY DEFINER'
    ),
    null,
    'each says so in its comment'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.prosecdef
            and f.prosrc !~ case
                when f.name ~ '_private\.(dispatch_|list_overdue_|list_tenants_)'
                then 'if coalesce\(strongroom_private\.caller_kind\(\) <> ''host'', true\) then\s+'
                    'perform strongroom_private\.fail\(\s*''permission_denied'''
                when f.name = 'strongroom_private.add_token_claims'
                then 'm\.principal_id = \(select strongroom_private\.signing_principal\(\)\)'
                else 'enter_tenant\(|current_tenant\(\)|bound_tenant\(\)'
            end
    ),
    null,
    'each asks which tenant is bound, or where it serves all of them whether a host calls'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.proargnames is not null
            and exists (
                select
                from unnest(f.proargnames, coalesce(f.proargmodes, '{}')) as a (name, mode)
                where coalesce(a.mode, 'i') = 'i'
                    and a.name !~ '^p_[a-z][a-z0-9_]*$'
            )
    ),
    null,
    'every parameter is named p_something'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.pronargs > 0
            and f.proargnames is null
    ),
    null,
    'and has a name'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.name like 'strongroom.%'
            and f.name not in (
                'strongroom.diagnose',
                'strongroom.diagnose_realtime',
                'strongroom.read_health',
                'strongroom.list_capabilities',
                -- Workers and sweeps serve every tenant.
                'strongroom.seal_audits',
                'strongroom.claim_next_runs',
                'strongroom.claim_jobs',
                'strongroom.complete_and_claim_jobs',
                'strongroom.claim_blob_removals',
                'strongroom.complete_blob_removals',
                'strongroom.retry_blob_removals_later'
            )
            and f.proargnames[1] is distinct from 'p_tenant_id'
    ),
    null,
    'the first parameter of a public function is the tenant'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.name like 'strongroom.%'
            and not f.proretset
    ),
    null,
    'public functions return typed rows'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        inner join pg_language as l on l.oid = f.prolang
        where l.lanname not in ('sql', 'plpgsql')
    ),
    null,
    'nothing but SQL and PL/pgSQL'
);
select is(
    (
        select array_agg(f.name)
        from stories.functions as f
        where f.prosrc ~* 'raise\s+exception'
            and f.name <> 'strongroom_private.fail'
    ),
    null,
    'one function raises, so that every refusal has its code'
);
select set_eq(
    $$
        select split_part(split_part(f.name, '.', 2), '_', 1)
        from stories.functions as f
        where f.name like 'strongroom.%'
    $$,
    array[
        'acquire', 'add', 'answer', 'append', 'bind', 'cancel', 'check', 'claim', 'clear',
        'compare', 'complete', 'copy', 'count', 'create', 'decide', 'delete', 'diagnose', 'disable',
        'enable', 'enqueue', 'erase', 'expire', 'fail', 'find', 'finish', 'forget', 'fork', 'grant',
        'heartbeat', 'list', 'patch', 'pause', 'prune', 'publish', 'purge', 'put', 'read', 'reap',
        'record', 'release', 'remove', 'renew', 'replace', 'request', 'resolve', 'restore',
        'retry', 'revoke', 'save', 'schedule', 'seal', 'search', 'set', 'share', 'soft', 'start',
        'sweep',
        'touch', 'trim', 'update', 'verify'
    ],
    'public functions start with a verb of the closed list in sql/README.md'
);

select * from finish();
rollback;
