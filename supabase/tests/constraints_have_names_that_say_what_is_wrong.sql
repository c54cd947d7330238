-- Every constraint of every table is violated once, and names itself; a constraint without a
-- violation here fails the last test.
begin;
\ir support/stories.psql

create table stories.violations (constraint_name text, statement text);
insert into stories.violations (constraint_name, statement)
select
    format('%s: %s', v.table_name, v.constraint_name),
    case
        when v.statement like '!%' then
            'insert into strongroom.conversations'
            ' (tenant_id, id, owner_id, creation_digest) values '
            || substr(v.statement, 2)
        when v.table_name = 'strongroom_private.grants' then
            'insert into strongroom_private.grants'
            ' (object_kind, object_name, column_name, privilege, role_name) values '
            || v.statement
        when v.table_name = 'strongroom_private.erasure_rules' then
            'insert into strongroom_private.erasure_rules'
            ' (table_name, column_name, action, reason, handler) values '
            || v.statement
        when v.table_name = 'strongroom.schema_history' then
            'insert into strongroom.schema_history (version, name, status, reason) values '
            || v.statement
        when v.table_name = 'strongroom.tenants' then
            'insert into strongroom.tenants'
            ' (tenant_id, name, status, metadata, version, creation_digest) values '
            || v.statement
        when v.table_name = 'strongroom.memberships' then
            'insert into strongroom.memberships'
            ' (tenant_id, id, principal_id, version, creation_digest) values '
            || v.statement
        when v.table_name = 'strongroom.conversation_participants' then
            'insert into strongroom.conversation_participants'
            ' (tenant_id, conversation_id, principal_id) values '
            || v.statement
        when v.table_name = 'strongroom.session_states' then
            'insert into strongroom.session_states'
            ' (tenant_id, conversation_id, state, version) values '
            || v.statement
        when v.table_name = 'strongroom.thread_summaries' then
            'insert into strongroom.thread_summaries'
            ' (tenant_id, conversation_id, version, id, covers_to_position, text, metadata) values '
            || v.statement
        when v.table_name = 'strongroom.messages' then
            'insert into strongroom.messages'
            ' (tenant_id, conversation_id, position, id, role, author_id, run_id, turn, metadata,'
            ' parts)'
            ' select v.*, ''[{"type": "text", "schema_version": 1, "text": "x"}]'''
            ' from (values ' || v.statement || ') as v'
        when v.table_name = 'strongroom.conversations' then
            format(
                'insert into strongroom.conversations'
                ' (tenant_id, id, owner_id, creation_digest, %s)'
                ' values (''acme'', ''x'', ''ada'', '''', %s)',
                split_part(v.statement, ' = ', 1),
                split_part(v.statement, ' = ', 2)
            )
    end
from (
    values
        (
            'strongroom_private.erasure_rules', 'erasure_rules_pkey',
            '(''strongroom.memberships'', ''principal_id'', ''delete'', ''x'', null)'
        ),
        (
            'strongroom_private.erasure_rules', 'action_is_known',
            '(''x'', ''x'', ''forget'', ''x'', null)'
        ),
        (
            'strongroom_private.erasure_rules', 'what_is_deleted_or_cleared_has_a_column',
            '(''x'', '''', ''clear'', ''x'', null)'
        ),
        (
            'strongroom_private.erasure_rules', 'only_a_handled_rule_has_a_handler',
            '(''x'', ''x'', ''handle'', ''x'', null)'
        ),
        (
            'strongroom_private.erasure_rules', 'a_rule_says_why',
            '(''x'', ''x'', ''keep'', '''', null)'
        ),
        (
            'strongroom_private.grants', 'grants_pkey',
            '(''schema'', ''strongroom'', '''', ''usage'', ''service_role'')'
        ),
        (
            'strongroom_private.grants', 'object_kind_is_known',
            '(''view'', ''v'', '''', ''select'', ''service_role'')'
        ),
        (
            'strongroom_private.grants', 'privilege_is_known',
            '(''table'', ''t'', '''', ''truncate'', ''service_role'')'
        ),
        (
            'strongroom_private.grants', 'role_is_a_published_one',
            '(''table'', ''t'', '''', ''select'', ''anon'')'
        ),
        ('strongroom.schema_history', 'schema_history_pkey', '(1, ''again'', ''applied'', null)'),
        ('strongroom.schema_history', 'version_is_positive', '(0, ''zero'', ''applied'', null)'),
        ('strongroom.schema_history', 'status_is_known', '(1001, ''x'', ''half'', ''because'')'),
        (
            'strongroom.schema_history', 'a_skipped_migration_says_why',
            '(1001, ''x'', ''skipped'', null)'
        ),
        ('strongroom.tenants', 'tenants_pkey', '(''acme'', ''n'', ''active'', ''{}'', 1, '''')'),
        (
            'strongroom.tenants', 'tenant_id_has_1_to_255_characters',
            '('''', ''n'', ''active'', ''{}'', 1, '''')'
        ),
        (
            'strongroom.tenants', 'name_has_1_to_255_characters',
            '(''x'', repeat(''n'', 256), ''active'', ''{}'', 1, '''')'
        ),
        (
            'strongroom.tenants', 'status_is_active_or_suspended',
            '(''x'', ''n'', ''deleted'', ''{}'', 1, '''')'
        ),
        (
            'strongroom.tenants', 'metadata_is_an_object',
            '(''x'', ''n'', ''active'', ''[]'', 1, '''')'
        ),
        (
            'strongroom.tenants', 'version_is_positive',
            '(''x'', ''n'', ''active'', ''{}'', 0, '''')'
        ),
        ('strongroom.memberships', 'memberships_pkey', '(''acme'', ''m-ada'', ''x'', 1, '''')'),
        (
            'strongroom.memberships', 'a_principal_is_a_member_once',
            '(''acme'', ''x'', ''ada'', 1, '''')'
        ),
        (
            'strongroom.memberships', 'membership_belongs_to_a_tenant',
            '(''none'', ''x'', ''x'', 1, '''')'
        ),
        (
            'strongroom.memberships', 'id_has_1_to_255_characters',
            '(''acme'', '''', ''x'', 1, '''')'
        ),
        (
            'strongroom.memberships', 'principal_id_has_1_to_255_characters',
            '(''acme'', ''x'', '''', 1, '''')'
        ),
        ('strongroom.memberships', 'version_is_positive', '(''acme'', ''x'', ''x'', 0, '''')'),
        ('strongroom.conversations', 'conversations_pkey', '!(''acme'', ''open'', ''ada'', '''')'),
        (
            'strongroom.conversations', 'conversation_belongs_to_a_tenant',
            '!(''none'', ''x'', ''ada'', '''')'
        ),
        (
            'strongroom.conversations', 'id_has_1_to_255_characters',
            '!(''acme'', '''', ''ada'', '''')'
        ),
        (
            'strongroom.conversations', 'owner_id_has_1_to_255_characters',
            '!(''acme'', ''x'', '''', '''')'
        ),
        ('strongroom.conversations', 'title_has_1_to_255_characters', 'title = '''''),
        ('strongroom.conversations', 'external_ref_has_1_to_255_characters', 'external_ref = '''''),
        ('strongroom.conversations', 'visibility_is_private_or_tenant', 'visibility = ''public'''),
        (
            'strongroom.conversations', 'agent_id_has_1_to_255_characters',
            'agent_policy, agent_id = ''latest'', '''''
        ),
        ('strongroom.conversations', 'an_agent_is_bound_by_a_policy', 'agent_id = ''helper'''),
        (
            'strongroom.conversations', 'agent_policy_is_pinned_or_latest',
            'agent_id, agent_policy = ''helper'', ''newest'''
        ),
        (
            'strongroom.conversations', 'only_a_pinned_agent_has_a_version',
            'agent_id, agent_policy = ''helper'', ''pinned'''
        ),
        (
            'strongroom.conversations', 'agent_version_is_positive',
            'agent_id, agent_policy, agent_version = ''helper'', ''pinned'', 0'
        ),
        ('strongroom.conversations', 'metadata_is_an_object', 'metadata = ''7'''),
        ('strongroom.conversations', 'a_fork_knows_its_position', 'forked_from_id = ''open'''),
        ('strongroom.conversations', 'version_is_positive', 'version = 0'),
        (
            'strongroom.conversation_participants', 'conversation_participants_pkey',
            '(''acme'', ''shared'', ''bob'')'
        ),
        (
            'strongroom.conversation_participants', 'participant_belongs_to_a_conversation',
            '(''acme'', ''none'', ''bob'')'
        ),
        (
            'strongroom.conversation_participants', 'principal_id_has_1_to_255_characters',
            '(''acme'', ''open'', '''')'
        ),
        (
            'strongroom.messages', 'messages_pkey',
            '(''acme'', ''open'', 2, ''x'', ''user'', null, null, null::integer, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'a_message_id_is_used_once_in_a_tenant',
            '(''acme'', ''open'', 3, ''private-1'', ''user'', null, null, null::integer,'
            ' ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'message_belongs_to_a_conversation',
            '(''acme'', ''none'', 1, ''x'', ''user'', null, null, null::integer, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'position_is_positive',
            '(''acme'', ''open'', 0, ''x'', ''user'', null, null, null::integer, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'id_has_1_to_255_characters',
            '(''acme'', ''open'', 3, '''', ''user'', null, null, null::integer, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'role_is_known',
            '(''acme'', ''open'', 3, ''x'', ''robot'', null, null, null::integer, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'author_id_has_1_to_255_characters',
            '(''acme'', ''open'', 3, ''x'', ''user'', '''', null, null::integer, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'run_id_has_1_to_255_characters',
            '(''acme'', ''open'', 3, ''x'', ''user'', null, '''', null::integer, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'turn_is_not_negative',
            '(''acme'', ''open'', 3, ''x'', ''user'', null, null, -1, ''{}''::jsonb)'
        ),
        (
            'strongroom.messages', 'metadata_is_an_object',
            '(''acme'', ''open'', 3, ''x'', ''user'', null, null, null::integer, ''[]''::jsonb)'
        ),
        ('strongroom.session_states', 'session_states_pkey', '(''acme'', ''open'', ''{}'', 2)'),
        (
            'strongroom.session_states', 'session_state_belongs_to_a_conversation',
            '(''acme'', ''none'', ''{}'', 1)'
        ),
        ('strongroom.session_states', 'state_is_an_object', '(''acme'', ''stateless'', ''[]'', 1)'),
        (
            'strongroom.session_states', 'state_has_at_most_64_kib',
            '(''acme'', ''stateless'', jsonb_build_object(''x'', repeat(''x'', 65536)), 1)'
        ),
        (
            'strongroom.session_states', 'version_is_positive',
            '(''acme'', ''stateless'', ''{}'', 0)'
        ),
        (
            'strongroom.thread_summaries', 'thread_summaries_pkey',
            '(''acme'', ''open'', 1, ''x'', 1, ''x'', ''{}'')'
        ),
        (
            'strongroom.thread_summaries', 'a_summary_id_is_used_once_in_a_tenant',
            '(''acme'', ''open'', 2, ''private-s'', 1, ''x'', ''{}'')'
        ),
        (
            'strongroom.thread_summaries', 'summary_belongs_to_a_conversation',
            '(''acme'', ''none'', 1, ''x'', 1, ''x'', ''{}'')'
        ),
        (
            'strongroom.thread_summaries', 'version_is_positive',
            '(''acme'', ''open'', 0, ''x'', 1, ''x'', ''{}'')'
        ),
        (
            'strongroom.thread_summaries', 'id_has_1_to_255_characters',
            '(''acme'', ''open'', 2, '''', 1, ''x'', ''{}'')'
        ),
        (
            'strongroom.thread_summaries', 'covers_to_position_is_positive',
            '(''acme'', ''open'', 2, ''x'', 0, ''x'', ''{}'')'
        ),
        (
            'strongroom.thread_summaries', 'text_has_at_most_1_mib',
            '(''acme'', ''open'', 2, ''x'', 1, '''', ''{}'')'
        ),
        (
            'strongroom.thread_summaries', 'metadata_is_an_object',
            '(''acme'', ''open'', 2, ''x'', 1, ''x'', ''null'')'
        )
) as v (table_name, constraint_name, statement);

insert into stories.violations (constraint_name, statement)
values
    (
        'strongroom.runs: runs_pkey',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''open-run'','
        ' ''private'', 2, false, false, '''')'
    ),
    (
        'strongroom.runs: a_run_has_one_number_in_its_conversation',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''x'', ''private'','
        ' 1, false, false, '''')'
    ),
    (
        'strongroom.runs: a_conversation_has_one_head',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''x'', ''private'','
        ' 2, true, false, '''')'
    ),
    (
        'strongroom.runs: run_belongs_to_a_conversation',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''x'', ''none'', 1,'
        ' false, false, '''')'
    ),
    (
        'strongroom.runs: id_has_1_to_255_characters',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, creation_digest) values (''acme'', '''', ''private'', 2,'
        ' false, false, '''')'
    ),
    (
        'strongroom.runs: number_is_positive',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''x'', ''private'','
        ' 0, false, false, '''')'
    ),
    (
        'strongroom.runs: status_is_known',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number, status,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''x'', ''stateless'','
        ' 1, ''asleep'', true, false, '''')'
    ),
    (
        'strongroom.runs: a_finished_run_is_no_head',
        'update strongroom.runs set status = ''completed'', finished_at = now(),'
        ' lease_expires_at = null, claimable_at = null where tenant_id = ''acme'' and'
        ' id = ''private-run'''
    ),
    (
        'strongroom.runs: only_a_head_has_left_the_queue',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number, status,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''x'', ''private'','
        ' 2, ''waiting_for_question'', false, false, '''')'
    ),
    (
        'strongroom.runs: only_a_waiting_head_is_ready',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, creation_digest) values (''acme'', ''x'', ''private'','
        ' 2, false, true, '''')'
    ),
    (
        'strongroom.runs: a_running_run_has_a_claim',
        'update strongroom.runs set worker_id = null where tenant_id = ''acme'' and'
        ' id = ''private-run'''
    ),
    (
        'strongroom.runs: only_a_running_run_has_a_lease',
        'insert into strongroom.runs (tenant_id, id, conversation_id, number,'
        ' is_head, is_ready, lease_expires_at, creation_digest) values (''acme'','
        ' ''x'', ''private'', 2, false, false, now(), '''')'
    ),
    (
        'strongroom.runs: a_finished_run_knows_when',
        'update strongroom.runs set finished_at = now() where tenant_id = ''acme'''
        ' and id = ''private-run'''
    ),
    (
        'strongroom.runs: a_failed_run_says_why',
        'update strongroom.runs set status = ''failed'', is_head = false, finished_at'
        ' = now(), lease_expires_at = null, claimable_at = null where tenant_id ='
        ' ''acme'' and id = ''private-run'''
    ),
    (
        'strongroom.runs: a_finished_run_is_not_claimable',
        'update strongroom.runs set status = ''completed'', is_head = false,'
        ' finished_at = now(), lease_expires_at = null where tenant_id = ''acme'' and'
        ' id = ''private-run'''
    ),
    (
        'strongroom.runs: agent_id_has_1_to_255_characters',
        'update strongroom.runs set agent_id = '''' where tenant_id = ''acme'' and id'
        ' = ''private-run'''
    ),
    (
        'strongroom.runs: agent_version_is_positive',
        'update strongroom.runs set agent_id = ''a'', agent_version = 0 where'
        ' tenant_id = ''acme'' and id = ''private-run'''
    ),
    (
        'strongroom.runs: only_an_agent_has_a_version',
        'update strongroom.runs set agent_version = 1 where tenant_id = ''acme'' and'
        ' id = ''private-run'''
    ),
    (
        'strongroom.runs: attempt_is_not_negative',
        'update strongroom.runs set attempt = -1 where tenant_id = ''acme'' and id ='
        ' ''private-run'''
    ),
    (
        'strongroom.runs: max_attempts_is_positive',
        'update strongroom.runs set max_attempts = 0 where tenant_id = ''acme'' and'
        ' id = ''private-run'''
    ),
    (
        'strongroom.runs: worker_id_has_1_to_255_characters',
        'update strongroom.runs set worker_id = '''' where tenant_id = ''acme'' and'
        ' id = ''private-run'''
    ),
    (
        'strongroom.runs: input_is_an_object',
        'update strongroom.runs set input = ''[]'' where tenant_id = ''acme'' and id'
        ' = ''private-run'''
    ),
    (
        'strongroom.runs: input_has_at_most_1_mib',
        'update strongroom.runs set input = jsonb_build_object(''x'', repeat(''x'','
        ' 1048576)) where tenant_id = ''acme'' and id = ''private-run'''
    ),
    (
        'strongroom.runs: error_is_an_object',
        'update strongroom.runs set error = ''7'' where tenant_id = ''acme'' and id ='
        ' ''private-run'''
    ),
    (
        'strongroom.run_events: run_events_pkey',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 1, ''private'', ''x'', ''x'', ''{}'', 1, 0)'
    ),
    (
        'strongroom.run_events: an_event_id_is_used_once_in_a_run',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''e1'', ''x'', ''{}'', 1, 0)'
    ),
    (
        'strongroom.run_events: event_belongs_to_a_run',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''none'', 1, ''private'', ''x'', ''x'', ''{}'', 1, 0)'
    ),
    (
        'strongroom.run_events: sequence_is_positive',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 0, ''private'', ''x'', ''x'', ''{}'', 1, 0)'
    ),
    (
        'strongroom.run_events: id_has_1_to_255_characters',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 2, ''private'', '''', ''x'', ''{}'', 1, 0)'
    ),
    (
        'strongroom.run_events: kind_has_1_to_255_characters',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''x'', '''', ''{}'', 1, 0)'
    ),
    (
        'strongroom.run_events: data_is_an_object',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''x'', ''x'', ''[]'', 1, 0)'
    ),
    (
        'strongroom.run_events: data_has_at_most_1_mib',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''x'', ''x'','
        ' jsonb_build_object(''x'', repeat(''x'', 1048576)), 1, 0)'
    ),
    (
        'strongroom.run_events: resumes_after_is_before_the_event',
        'insert into strongroom.run_events (tenant_id, run_id, sequence,'
        ' conversation_id, id, kind, data, claim_token, resumes_after) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''x'', ''x'', ''{}'', 1, 2)'
    ),
    (
        'strongroom.checkpoints: checkpoints_pkey',
        'insert into strongroom.checkpoints (tenant_id, run_id, sequence,'
        ' conversation_id, id, state, size_bytes, event_sequence, claim_token) values'
        ' (''acme'', ''private-run'', 1, ''private'', ''x'', ''{}'', 2, 0, 1)'
    ),
    (
        'strongroom.checkpoints: a_checkpoint_id_is_used_once_in_a_run',
        'insert into strongroom.checkpoints (tenant_id, run_id, sequence,'
        ' conversation_id, id, state, size_bytes, event_sequence, claim_token) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''k1'', ''{}'', 2, 0, 1)'
    ),
    (
        'strongroom.checkpoints: checkpoint_belongs_to_a_run',
        'insert into strongroom.checkpoints (tenant_id, run_id, sequence,'
        ' conversation_id, id, state, size_bytes, event_sequence, claim_token) values'
        ' (''acme'', ''none'', 1, ''private'', ''x'', ''{}'', 2, 0, 1)'
    ),
    (
        'strongroom.checkpoints: sequence_is_positive',
        'insert into strongroom.checkpoints (tenant_id, run_id, sequence,'
        ' conversation_id, id, state, size_bytes, event_sequence, claim_token) values'
        ' (''acme'', ''private-run'', 0, ''private'', ''x'', ''{}'', 2, 0, 1)'
    ),
    (
        'strongroom.checkpoints: id_has_1_to_255_characters',
        'insert into strongroom.checkpoints (tenant_id, run_id, sequence,'
        ' conversation_id, id, state, size_bytes, event_sequence, claim_token) values'
        ' (''acme'', ''private-run'', 2, ''private'', '''', ''{}'', 2, 0, 1)'
    ),
    (
        'strongroom.checkpoints: a_checkpoint_has_state_or_data',
        'insert into strongroom.checkpoints (tenant_id, run_id, sequence,'
        ' conversation_id, id, state, size_bytes, event_sequence, claim_token) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''x'', null, 2, 0, 1)'
    ),
    (
        'strongroom.checkpoints: a_checkpoint_has_at_most_16_mib',
        'insert into strongroom.checkpoints (tenant_id, run_id, sequence,'
        ' conversation_id, id, state, size_bytes, event_sequence, claim_token) values'
        ' (''acme'', ''private-run'', 2, ''private'', ''x'', ''{}'', 16777217, 0, 1)'
    ),
    (
        'strongroom.interactions: interactions_pkey',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt) values (''acme'', ''open-approval'','
        ' ''private-run'', ''private'', '''', ''question'', ''?'')'
    ),
    (
        'strongroom.interactions: interaction_belongs_to_a_run',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt) values (''acme'', ''x'', ''none'','
        ' ''private'', '''', ''question'', ''?'')'
    ),
    (
        'strongroom.interactions: id_has_1_to_255_characters',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt) values (''acme'', '''', ''private-run'','
        ' ''private'', '''', ''question'', ''?'')'
    ),
    (
        'strongroom.interactions: kind_is_question_or_approval',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt) values (''acme'', ''x'', ''private-run'','
        ' ''private'', '''', ''wish'', ''?'')'
    ),
    (
        'strongroom.interactions: status_is_known',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt, status, resolved_at) values (''acme'','
        ' ''x'', ''private-run'', ''private'', '''', ''question'', ''?'', ''lost'','
        ' now())'
    ),
    (
        'strongroom.interactions: a_question_has_a_prompt',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, status) values (''acme'', ''x'', ''private-run'','
        ' ''private'', '''', ''question'', ''pending'')'
    ),
    (
        'strongroom.interactions: an_approval_names_tool_and_input',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, tool_name) values (''acme'', ''x'', ''private-run'','
        ' ''private'', '''', ''approval'', ''refund'')'
    ),
    (
        'strongroom.interactions: a_question_is_answered_not_decided',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt, status, decision, resolved_at) values'
        ' (''acme'', ''x'', ''private-run'', ''private'', '''', ''question'', ''?'','
        ' ''denied'', ''deny'', now())'
    ),
    (
        'strongroom.interactions: an_approval_is_decided_not_answered',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, tool_name, input, status, answer, resolved_at)'
        ' values (''acme'', ''x'', ''private-run'', ''private'', '''', ''approval'','
        ' ''refund'', ''{}'', ''answered'', ''1'', now())'
    ),
    (
        'strongroom.interactions: an_answered_question_has_an_answer',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt, status, resolved_at) values (''acme'','
        ' ''x'', ''private-run'', ''private'', '''', ''question'', ''?'','
        ' ''answered'', now())'
    ),
    (
        'strongroom.interactions: decision_is_known',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, tool_name, input, decision) values (''acme'', ''x'','
        ' ''private-run'', ''private'', '''', ''approval'', ''refund'', ''{}'','
        ' ''maybe'')'
    ),
    (
        'strongroom.interactions: a_decision_is_that_of_its_status',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, tool_name, input, status, decision, resolved_at)'
        ' values (''acme'', ''x'', ''private-run'', ''private'', '''', ''approval'','
        ' ''refund'', ''{}'', ''approved'', ''deny'', now())'
    ),
    (
        'strongroom.interactions: a_resolved_interaction_knows_when',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt, resolved_at) values (''acme'', ''x'','
        ' ''private-run'', ''private'', '''', ''question'', ''?'', now())'
    ),
    (
        'strongroom.interactions: only_an_approved_call_is_claimed',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, tool_name, input, claimed_at, claim_token, claim_id)'
        ' values (''acme'', ''x'', ''private-run'', ''private'', '''', ''approval'','
        ' ''refund'', ''{}'', now(), 1, ''x'')'
    ),
    (
        'strongroom.interactions: a_claimed_call_knows_its_claim',
        'update strongroom.interactions set claimed_at = now() where tenant_id ='
        ' ''acme'' and id = ''private-approval'''
    ),
    (
        'strongroom.interactions: tool_name_has_1_to_255_characters',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, tool_name, input) values (''acme'', ''x'','
        ' ''private-run'', ''private'', '''', ''approval'', '''', ''{}'')'
    ),
    (
        'strongroom.interactions: prompt_has_at_most_64_kib',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt) values (''acme'', ''x'', ''private-run'','
        ' ''private'', '''', ''question'', repeat(''x'', 65537))'
    ),
    (
        'strongroom.interactions: options_are_a_list',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt, options) values (''acme'', ''x'','
        ' ''private-run'', ''private'', '''', ''question'', ''?'', ''{}'')'
    ),
    (
        'strongroom.interactions: options_have_at_most_64_kib',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt, options) values (''acme'', ''x'','
        ' ''private-run'', ''private'', '''', ''question'', ''?'','
        ' jsonb_build_array(repeat(''x'', 65536)))'
    ),
    (
        'strongroom.interactions: input_has_at_most_1_mib',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, tool_name, input) values (''acme'', ''x'','
        ' ''private-run'', ''private'', '''', ''approval'', ''refund'','
        ' to_jsonb(repeat(''x'', 1048576)))'
    ),
    (
        'strongroom.interactions: answer_has_at_most_64_kib',
        'insert into strongroom.interactions (tenant_id, id, run_id, conversation_id,'
        ' creation_digest, kind, prompt, status, answer, resolved_at) values'
        ' (''acme'', ''x'', ''private-run'', ''private'', '''', ''question'', ''?'','
        ' ''answered'', to_jsonb(repeat(''x'', 65536)), now())'
    ),
    (
        'strongroom.approval_grants: approval_grants_pkey',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'','
        ' ''open-approval'', ''ada'', ''x'', ''always'', null, ''ada'')'
    ),
    (
        'strongroom.approval_grants: grant_belongs_to_a_tenant',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''none'', ''x'','
        ' ''ada'', ''x'', ''always'', null, ''ada'')'
    ),
    (
        'strongroom.approval_grants: grant_belongs_to_a_conversation',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'', ''x'','
        ' ''ada'', ''x'', ''conversation'', ''none'', ''ada'')'
    ),
    (
        'strongroom.approval_grants: id_has_1_to_255_characters',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'', '''','
        ' ''ada'', ''x'', ''always'', null, ''ada'')'
    ),
    (
        'strongroom.approval_grants: principal_id_has_1_to_255_characters',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'', ''x'','
        ' '''', ''x'', ''always'', null, ''ada'')'
    ),
    (
        'strongroom.approval_grants: tool_name_has_1_to_255_characters',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'', ''x'','
        ' ''ada'', '''', ''always'', null, ''ada'')'
    ),
    (
        'strongroom.approval_grants: granted_by_has_1_to_255_characters',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'', ''x'','
        ' ''ada'', ''x'', ''always'', null, '''')'
    ),
    (
        'strongroom.approval_grants: scope_is_conversation_or_always',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'', ''x'','
        ' ''ada'', ''x'', ''never'', null, ''ada'')'
    ),
    (
        'strongroom.approval_grants: only_a_conversation_grant_names_one',
        'insert into strongroom.approval_grants (tenant_id, id, principal_id,'
        ' tool_name, scope, conversation_id, granted_by) values (''acme'', ''x'','
        ' ''ada'', ''x'', ''always'', ''open'', ''ada'')'
    );

insert into stories.violations (constraint_name, statement)
values
    (
        'strongroom.jobs: jobs_pkey',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest) values (''acme'', ''job'', ''x'', ''x'','
        ' true, now(), '''')'
    ),
    (
        'strongroom.jobs: job_belongs_to_a_tenant',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest) values (''none'', ''x'', ''x'', ''x'', true,'
        ' now(), '''')'
    ),
    (
        'strongroom.jobs: id_has_1_to_255_characters',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest) values (''acme'', '''', ''x'', ''x'', true,'
        ' now(), '''')'
    ),
    (
        'strongroom.jobs: queue_has_1_to_255_characters',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest) values (''acme'', ''x'', '''', ''x'', true,'
        ' now(), '''')'
    ),
    (
        'strongroom.jobs: kind_has_1_to_255_characters',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest) values (''acme'', ''x'', ''x'', '''', true,'
        ' now(), '''')'
    ),
    (
        'strongroom.jobs: dedupe_key_has_1_to_255_characters',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, dedupe_key) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', '''')'
    ),
    (
        'strongroom.jobs: status_is_known',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, status) values (''acme'', ''x'', ''x'','
        ' ''x'', false, now(), '''', ''asleep'')'
    ),
    (
        'strongroom.jobs: only_a_waiting_job_is_ready',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, status) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', ''retry_pending'')'
    ),
    (
        'strongroom.jobs: an_ended_job_is_not_claimable',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, status, claimable_at, finished_at) values'
        ' (''acme'', ''x'', ''x'', ''x'', false, now(), '''', ''completed'', now(),'
        ' now())'
    ),
    (
        'strongroom.jobs: a_job_becomes_claimable_in_one_way',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, claimable_at) values (''acme'', ''x'','
        ' ''x'', ''x'', true, now(), '''', now())'
    ),
    (
        'strongroom.jobs: a_job_that_has_not_ended_is_found_again',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest) values (''acme'', ''x'', ''x'', ''x'','
        ' false, now(), '''')'
    ),
    (
        'strongroom.jobs: a_running_job_has_a_claim',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, status) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', ''running'')'
    ),
    (
        'strongroom.jobs: only_a_running_job_has_a_lease',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, lease_expires_at) values (''acme'', ''x'','
        ' ''x'', ''x'', true, now(), '''', now())'
    ),
    (
        'strongroom.jobs: an_ended_job_knows_when',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, finished_at) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', now())'
    ),
    (
        'strongroom.jobs: a_failed_job_says_why',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, status, finished_at) values (''acme'','
        ' ''x'', ''x'', ''x'', false, now(), '''', ''failed'', now())'
    ),
    (
        'strongroom.jobs: attempt_is_not_negative',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, attempt) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', -1)'
    ),
    (
        'strongroom.jobs: max_attempts_is_positive',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, max_attempts) values (''acme'', ''x'','
        ' ''x'', ''x'', true, now(), '''', 0)'
    ),
    (
        'strongroom.jobs: backoff_is_not_negative',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, backoff_seconds) values (''acme'', ''x'','
        ' ''x'', ''x'', true, now(), '''', -1)'
    ),
    (
        'strongroom.jobs: max_backoff_is_at_most_a_year',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, max_backoff_seconds) values (''acme'','
        ' ''x'', ''x'', ''x'', true, now(), '''', 31536001)'
    ),
    (
        'strongroom.jobs: payload_is_an_object',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, payload) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', ''[]'')'
    ),
    (
        'strongroom.jobs: payload_has_at_most_64_kib',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, payload) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', jsonb_build_object(''x'', repeat(''x'', 65536)))'
    ),
    (
        'strongroom.jobs: error_has_at_most_64_kib',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, error) values (''acme'', ''x'', ''x'','
        ' ''x'', true, now(), '''', to_jsonb(repeat(''x'', 65536)))'
    ),
    (
        'strongroom.jobs: a_dedupe_key_is_held_by_one_job',
        'insert into strongroom.jobs (tenant_id, id, queue, kind, is_ready,'
        ' available_at, creation_digest, dedupe_key) values (''acme'', ''x'','
        ' ''default'', ''x'', true, now(), '''', ''once'')'
    ),
    (
        'strongroom.locks: locks_pkey',
        'insert into strongroom.locks (tenant_id, name, token) values (''acme'','
        ' ''lock'', 1)'
    ),
    (
        'strongroom.locks: lock_belongs_to_a_tenant',
        'insert into strongroom.locks (tenant_id, name, token) values (''none'','
        ' ''x'', 1)'
    ),
    (
        'strongroom.locks: name_has_1_to_255_characters',
        'insert into strongroom.locks (tenant_id, name, token) values (''acme'','
        ' '''', 1)'
    ),
    (
        'strongroom.locks: token_is_positive',
        'insert into strongroom.locks (tenant_id, name, token) values (''acme'','
        ' ''x'', 0)'
    ),
    (
        'strongroom.locks: a_free_lock_has_no_owner',
        'insert into strongroom.locks (tenant_id, name, token, owner_id) values'
        ' (''acme'', ''x'', 1, ''x'')'
    ),
    (
        'strongroom.topics: topics_pkey',
        'insert into strongroom.topics (tenant_id, id) values (''acme'', ''private'')'
    ),
    (
        'strongroom.topics: topic_belongs_to_a_tenant',
        'insert into strongroom.topics (tenant_id, id) values (''none'', ''x'')'
    ),
    (
        'strongroom.topics: id_has_1_to_255_characters',
        'insert into strongroom.topics (tenant_id, id) values (''acme'', '''')'
    ),
    (
        'strongroom.topics: only_what_was_published_is_trimmed',
        'insert into strongroom.topics (tenant_id, id, trimmed_to_sequence) values'
        ' (''acme'', ''x'', 1)'
    ),
    (
        'strongroom.deletion_receipts: deletion_receipts_pkey',
        'insert into strongroom.deletion_receipts'
        ' (tenant_id, id, kind, subject_salt, subject_digest)'
        ' values (''acme'', ''private'', ''tenant'', null, null)'
    ),
    (
        'strongroom.deletion_receipts: tenant_id_has_1_to_255_characters',
        'insert into strongroom.deletion_receipts'
        ' (tenant_id, id, kind, subject_salt, subject_digest)'
        ' values ('''', ''x'', ''tenant'', null, null)'
    ),
    (
        'strongroom.deletion_receipts: id_has_1_to_255_characters',
        'insert into strongroom.deletion_receipts'
        ' (tenant_id, id, kind, subject_salt, subject_digest)'
        ' values (''acme'', '''', ''tenant'', null, null)'
    ),
    (
        'strongroom.deletion_receipts: kind_is_principal_or_tenant',
        'insert into strongroom.deletion_receipts'
        ' (tenant_id, id, kind, subject_salt, subject_digest)'
        ' values (''acme'', ''x'', ''file'', null, null)'
    ),
    (
        'strongroom.deletion_receipts: only_a_person_has_a_digest',
        'insert into strongroom.deletion_receipts'
        ' (tenant_id, id, kind, subject_salt, subject_digest)'
        ' values (''acme'', ''x'', ''tenant'', ''x'', null)'
    ),
    (
        'strongroom.deletion_receipt_items: deletion_receipt_items_pkey',
        'insert into strongroom.deletion_receipt_items (tenant_id, receipt_id, table_name, action,'
        ' row_count)'
        ' values (''acme'', ''private'', ''conversations'', ''delete'', 1)'
    ),
    (
        'strongroom.deletion_receipt_items: item_belongs_to_a_receipt',
        'insert into strongroom.deletion_receipt_items (tenant_id, receipt_id, table_name, action,'
        ' row_count)'
        ' values (''acme'', ''none'', ''x'', ''delete'', 1)'
    ),
    (
        'strongroom.deletion_receipt_items: action_is_known',
        'insert into strongroom.deletion_receipt_items (tenant_id, receipt_id, table_name, action,'
        ' row_count)'
        ' values (''acme'', ''private'', ''x'', ''forget'', 1)'
    ),
    (
        'strongroom.deletion_receipt_items: row_count_is_positive_and_safe_in_javascript',
        'insert into strongroom.deletion_receipt_items (tenant_id, receipt_id, table_name, action,'
        ' row_count)'
        ' values (''acme'', ''private'', ''x'', ''delete'', 0)'
    ),
    (
        'strongroom.conversation_changes: conversation_changes_pkey',
        'insert into strongroom.conversation_changes (tenant_id, conversation_id, kind, record_id,'
        ' sequence)'
        ' values (''acme'', ''private'', ''messages'', ''x'', 1)'
    ),
    (
        'strongroom.conversation_changes: change_belongs_to_a_conversation',
        'insert into strongroom.conversation_changes (tenant_id, conversation_id, kind, record_id,'
        ' sequence)'
        ' values (''acme'', ''none'', ''messages'', ''x'', 1)'
    ),
    (
        'strongroom.conversation_changes: kind_is_known',
        'insert into strongroom.conversation_changes (tenant_id, conversation_id, kind, record_id,'
        ' sequence)'
        ' values (''acme'', ''stateless'', ''rumour'', ''x'', 1)'
    ),
    (
        'strongroom.conversation_changes: record_id_has_1_to_255_characters',
        'insert into strongroom.conversation_changes (tenant_id, conversation_id, kind, record_id,'
        ' sequence)'
        ' values (''acme'', ''stateless'', ''run_events'', '''', 1)'
    ),
    (
        'strongroom.conversation_changes: sequence_is_positive',
        'insert into strongroom.conversation_changes (tenant_id, conversation_id, kind, record_id,'
        ' sequence)'
        ' values (''acme'', ''stateless'', ''run_events'', ''x'', 0)'
    ),
    (
        'strongroom.retention_policies: retention_policies_pkey',
        'insert into strongroom.retention_policies (tenant_id, kind, keep_seconds, version)'
        ' values (''acme'', ''jobs'', 1, 1)'
    ),
    (
        'strongroom.retention_policies: policy_belongs_to_a_tenant',
        'insert into strongroom.retention_policies (tenant_id, kind, keep_seconds, version)'
        ' values (''none'', ''jobs'', 1, 1)'
    ),
    (
        'strongroom.retention_policies: kind_has_1_to_255_characters',
        'insert into strongroom.retention_policies (tenant_id, kind, keep_seconds, version)'
        ' values (''acme'', '''', 1, 1)'
    ),
    (
        'strongroom.retention_policies: keep_seconds_are_at_most_a_century',
        'insert into strongroom.retention_policies (tenant_id, kind, keep_seconds, version)'
        ' values (''acme'', ''x'', -1, 1)'
    ),
    (
        'strongroom.retention_policies: version_is_positive',
        'insert into strongroom.retention_policies (tenant_id, kind, keep_seconds, version)'
        ' values (''acme'', ''x'', 1, 0)'
    ),
    (
        'strongroom.transcripts: transcripts_pkey',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''private'', ''scope'', ''x'', '''', null, ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: a_transcript_is_named_once',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', ''private'', '''', null, ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: transcript_belongs_to_a_tenant',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''none'', ''x'', ''scope'', ''x'', '''', null, ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: transcript_belongs_to_a_conversation',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', ''x'', '''', ''none'', ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: kind_is_scope_or_session',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''x'', ''x'', '''', null, ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: name_has_1_to_255_characters',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', '''', '''', null, ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: user_id_has_at_most_255_characters',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''session'', ''x'', repeat(''x'', 256), null, ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: only_a_session_has_a_user',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', ''x'', ''ada'', null, ''{}'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: metadata_is_an_object',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', ''x'', '''', null, ''[]'', 0, 0, 1)'
    ),
    (
        'strongroom.transcripts: a_transcript_has_at_most_100000_messages',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', ''x'', '''', null, ''{}'', 100001, 0, 1)'
    ),
    (
        'strongroom.transcripts: a_transcript_has_at_most_64_mib',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', ''x'', '''', null, ''{}'', 0, 67108865, 1)'
    ),
    (
        'strongroom.transcripts: version_is_not_negative',
        'insert into strongroom.transcripts (tenant_id, id, kind, name, user_id,'
        ' conversation_id, metadata, message_count, size_bytes, version)'
        ' values (''acme'', ''x'', ''scope'', ''x'', '''', null, ''{}'', 0, 0, -1)'
    ),
    (
        'strongroom.transcript_messages: transcript_messages_pkey',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 1, ''1'', null, ''r'', 0, ''a'', 1)'
    ),
    (
        'strongroom.transcript_messages: message_belongs_to_a_transcript',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''none'', 9, ''1'', null, ''r'', 0, ''a'', 1)'
    ),
    (
        'strongroom.transcript_messages: position_is_positive',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 0, ''1'', null, ''r'', 0, ''a'', 1)'
    ),
    (
        'strongroom.transcript_messages: message_has_at_most_1_mib',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 9, to_jsonb(repeat(''x'', 1048576)), null, ''r'', 0,'
        ' ''a'', 1)'
    ),
    (
        'strongroom.transcript_messages: message_id_has_1_to_255_characters',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 9, ''1'', '''', ''r'', 0, ''a'', 1)'
    ),
    (
        'strongroom.transcript_messages: run_id_has_1_to_255_characters',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 9, ''1'', null, '''', 0, ''a'', 1)'
    ),
    (
        'strongroom.transcript_messages: append_id_has_1_to_255_characters',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 9, ''1'', null, ''r'', 0, '''', 1)'
    ),
    (
        'strongroom.transcript_messages: turn_is_not_negative',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 9, ''1'', null, ''r'', -1, ''a'', 1)'
    ),
    (
        'strongroom.transcript_messages: an_appended_message_says_run_turn_and_append',
        'insert into strongroom.transcript_messages (tenant_id, transcript_id, position,'
        ' message, message_id, run_id, turn, append_id, append_index)'
        ' values (''acme'', ''session'', 9, ''1'', null, null, 0, ''a'', 1)'
    ),
    (
        'strongroom.transcript_errors: transcript_errors_pkey',
        'insert into strongroom.transcript_errors (tenant_id, transcript_id, id, run_id, error,'
        ' messages)'
        ' values (''acme'', ''session'', ''private'', ''r'', ''1'', ''[]'')'
    ),
    (
        'strongroom.transcript_errors: error_belongs_to_a_transcript',
        'insert into strongroom.transcript_errors (tenant_id, transcript_id, id, run_id, error,'
        ' messages)'
        ' values (''acme'', ''none'', ''x'', ''r'', ''1'', ''[]'')'
    ),
    (
        'strongroom.transcript_errors: id_has_1_to_255_characters',
        'insert into strongroom.transcript_errors (tenant_id, transcript_id, id, run_id, error,'
        ' messages)'
        ' values (''acme'', ''session'', '''', ''r'', ''1'', ''[]'')'
    ),
    (
        'strongroom.transcript_errors: run_id_has_1_to_255_characters',
        'insert into strongroom.transcript_errors (tenant_id, transcript_id, id, run_id, error,'
        ' messages)'
        ' values (''acme'', ''session'', ''x'', '''', ''1'', ''[]'')'
    ),
    (
        'strongroom.transcript_errors: messages_are_a_list',
        'insert into strongroom.transcript_errors (tenant_id, transcript_id, id, run_id, error,'
        ' messages)'
        ' values (''acme'', ''session'', ''x'', ''r'', ''1'', ''{}'')'
    ),
    (
        'strongroom_private.retention_kinds: retention_kinds_pkey',
        'insert into strongroom_private.retention_kinds (kind, table_name, description, moment,'
        ' condition, handler)'
        ' values (''jobs'', ''x'', ''x'', ''x'', null, null)'
    ),
    (
        'strongroom_private.retention_kinds: kind_has_1_to_255_characters',
        'insert into strongroom_private.retention_kinds (kind, table_name, description, moment,'
        ' condition, handler)'
        ' values ('''', ''x'', ''x'', ''x'', null, null)'
    ),
    (
        'strongroom_private.retention_kinds: a_kind_has_a_moment_or_a_handler',
        'insert into strongroom_private.retention_kinds (kind, table_name, description, moment,'
        ' condition, handler)'
        ' values (''x'', ''x'', ''x'', null, null, null)'
    ),
    (
        'strongroom_private.retention_kinds: only_a_moment_has_a_condition',
        'insert into strongroom_private.retention_kinds (kind, table_name, description, moment,'
        ' condition, handler)'
        ' values (''x'', ''x'', ''x'', null, ''x'', ''x'')'
    ),
    (
        'strongroom.topic_events: topic_events_pkey',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind)'
        ' values (''acme'', ''private'', 1, ''x'', ''x'')'
    ),
    (
        'strongroom.memory_settings: memory_settings_pkey',
        'insert into strongroom.memory_settings (tenant_id, principal_id)'
        ' values (''acme'', ''ada'')'
    ),
    (
        'strongroom.memory_settings: memory_settings_belongs_to_a_tenant',
        'insert into strongroom.memory_settings (tenant_id, principal_id)'
        ' values (''none'', ''x'')'
    ),
    (
        'strongroom.memory_settings: principal_id_has_1_to_255_characters',
        'insert into strongroom.memory_settings (tenant_id, principal_id) values (''acme'', '''')'
    ),
    (
        'strongroom.memory_settings: only_disabled_memory_has_a_disabler',
        'insert into strongroom.memory_settings (tenant_id, principal_id, disabled_by)'
        ' values (''acme'', ''x'', ''x'')'
    ),
    (
        'strongroom.memory_settings: generation_is_not_negative',
        'insert into strongroom.memory_settings (tenant_id, principal_id, generation)'
        ' values (''acme'', ''x'', -1)'
    ),
    (
        'strongroom.memory_tombstones: memory_tombstones_pkey',
        'insert into strongroom.memory_tombstones (tenant_id, principal_id, digest)'
        ' select t.tenant_id, t.principal_id, t.digest from strongroom.memory_tombstones as t'
    ),
    (
        'strongroom.memory_tombstones: tombstone_belongs_to_a_tenant',
        'insert into strongroom.memory_tombstones (tenant_id, principal_id, digest)'
        ' values (''none'', ''x'', repeat(''0'', 64))'
    ),
    (
        'strongroom.memory_tombstones: principal_id_has_1_to_255_characters',
        'insert into strongroom.memory_tombstones (tenant_id, principal_id, digest)'
        ' values (''acme'', '''', repeat(''0'', 64))'
    ),
    (
        'strongroom.memory_tombstones: digest_has_64_characters',
        'insert into strongroom.memory_tombstones (tenant_id, principal_id, digest)'
        ' values (''acme'', ''x'', ''likes tea'')'
    ),
    (
        'strongroom.memories: memories_pkey',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, version)'
        ' values (''acme'', ''ada'', ''fact'', ''x'', ''extracted'', '''', 1)'
    ),
    (
        'strongroom.memories: memory_belongs_to_a_tenant',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, version)'
        ' values (''none'', ''ada'', ''x'', ''x'', ''extracted'', '''', 1)'
    ),
    (
        'strongroom.memories: principal_id_has_1_to_255_characters',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, version)'
        ' values (''acme'', '''', ''x'', ''x'', ''extracted'', '''', 1)'
    ),
    (
        'strongroom.memories: id_has_1_to_255_characters',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, version)'
        ' values (''acme'', ''ada'', '''', ''x'', ''extracted'', '''', 1)'
    ),
    (
        'strongroom.memories: text_has_1_to_4000_characters',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, version)'
        ' values (''acme'', ''ada'', ''x'', '''', ''extracted'', '''', 1)'
    ),
    (
        'strongroom.memories: source_is_known',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, version)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''guessed'', '''', 1)'
    ),
    (
        'strongroom.memories: a_key_names_one_fact_of_a_namespace',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, key)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''k'')'
    ),
    (
        'strongroom.memories: namespace_is_a_path',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, namespace)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''a/'')'
    ),
    (
        'strongroom.memories: key_has_1_to_255_characters',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, key)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', '''')'
    ),
    (
        'strongroom.memories: confidence_is_between_0_and_1',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, confidence)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''NaN'')'
    ),
    (
        'strongroom.memories: sensitivity_is_known',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, sensitivity)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''secret'')'
    ),
    (
        'strongroom.memories: metadata_is_an_object',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, metadata)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''[]'')'
    ),
    (
        'strongroom.memories: version_is_positive',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, version)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', 0)'
    ),
    (
        'strongroom.memories: an_embedding_names_its_model',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, embedding)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''{1}'')'
    ),
    (
        'strongroom.memories: an_embedding_has_1_to_4000_dimensions',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, embedding_model, embedding)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''m'', ''{}'')'
    ),
    (
        'strongroom.memories: embedding_model_has_1_to_255_characters',
        'insert into strongroom.memories'
        ' (tenant_id, principal_id, id, text, source, creation_digest, embedding, embedding_model)'
        ' values (''acme'', ''ada'', ''x'', ''x'', ''extracted'', '''', ''{1}'', '''')'
    ),
    (
        'strongroom.topic_events: an_event_id_is_used_once_in_a_topic',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind)'
        ' values (''acme'', ''private'', 2, ''private-t'', ''x'')'
    ),
    (
        'strongroom.topic_events: event_belongs_to_a_topic',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind)'
        ' values (''acme'', ''none'', 2, ''x'', ''x'')'
    ),
    (
        'strongroom.topic_events: sequence_is_positive',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind)'
        ' values (''acme'', ''private'', 0, ''x'', ''x'')'
    ),
    (
        'strongroom.topic_events: id_has_1_to_255_characters',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind)'
        ' values (''acme'', ''private'', 2, '''', ''x'')'
    ),
    (
        'strongroom.topic_events: kind_has_1_to_255_characters',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind)'
        ' values (''acme'', ''private'', 2, ''x'', '''')'
    ),
    (
        'strongroom.topic_events: payload_is_an_object',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind,'
        ' payload) values (''acme'', ''private'', 2, ''x'', ''x'', ''[]'')'
    ),
    (
        'strongroom.topic_events: payload_has_at_most_4_kib',
        'insert into strongroom.topic_events (tenant_id, topic, sequence, id, kind,'
        ' payload) values (''acme'', ''private'', 2, ''x'', ''x'','
        ' jsonb_build_object(''x'', repeat(''x'', 4096)))'
    ),
    (
        'strongroom.blob_removals: blob_removals_pkey',
        'insert into strongroom.blob_removals (tenant_id, blob_key)'
        ' values (''acme'', ''orphan'')'
    ),
    (
        'strongroom.blob_removals: tenant_id_has_1_to_255_characters',
        'insert into strongroom.blob_removals (tenant_id, blob_key)'
        ' values (repeat(''x'', 256), ''x'')'
    ),
    (
        'strongroom.blob_removals: blob_key_has_1_to_1024_bytes',
        'insert into strongroom.blob_removals (tenant_id, blob_key)'
        ' values (''acme'', repeat(''ä'', 513))'
    ),
    (
        'strongroom.blob_removals: attempts_is_not_negative',
        'insert into strongroom.blob_removals (tenant_id, blob_key, attempts)'
        ' values (''acme'', ''x'', -1)'
    ),
    (
        'strongroom.blob_removals: last_error_has_at_most_4096_characters',
        'insert into strongroom.blob_removals (tenant_id, blob_key, last_error)'
        ' values (''acme'', ''x'', repeat(''x'', 4097))'
    ),
    (
        'strongroom.blob_removals: a_claim_is_whole',
        'insert into strongroom.blob_removals (tenant_id, blob_key, claim_token)'
        ' values (''acme'', ''x'', 1)'
    ),
    (
        'strongroom.files: files_pkey',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest)'
        ' values (''acme'', ''own'', ''ada'', ''x'', '''')'
    ),
    (
        'strongroom.files: file_belongs_to_a_tenant',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest)'
        ' values (''none'', ''x'', ''ada'', ''x'', '''')'
    ),
    (
        'strongroom.files: file_belongs_to_a_conversation',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest, conversation_id)'
        ' values (''acme'', ''x'', ''ada'', ''x'', '''', ''none'')'
    ),
    (
        'strongroom.files: id_has_1_to_255_characters',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest)'
        ' values (''acme'', '''', ''ada'', ''x'', '''')'
    ),
    (
        'strongroom.files: owner_id_has_1_to_255_characters',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest)'
        ' values (''acme'', ''x'', '''', ''x'', '''')'
    ),
    (
        'strongroom.files: path_has_1_to_1024_characters',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest)'
        ' values (''acme'', ''x'', ''ada'', repeat(''x'', 1025), '''')'
    ),
    (
        'strongroom.files: metadata_is_an_object',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest, metadata)'
        ' values (''acme'', ''x'', ''ada'', ''x'', '''', ''[]'')'
    ),
    (
        'strongroom.files: metadata_has_at_most_16_kib',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest, metadata)'
        ' values (''acme'', ''x'', ''ada'', ''x'', '''', jsonb_build_object(''x'','
        ' repeat(''x'', 16384)))'
    ),
    (
        'strongroom.files: latest_version_is_positive',
        'insert into strongroom.files'
        ' (tenant_id, id, owner_id, path, creation_digest, latest_version)'
        ' values (''acme'', ''x'', ''ada'', ''x'', '''', 0)'
    ),
    (
        'strongroom.file_versions: file_versions_pkey',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest)'
        ' values (''acme'', ''own'', 1, ''x'', ''x'', ''x'', '''')'
    ),
    (
        'strongroom.file_versions: a_version_id_names_one_version',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest)'
        ' select ''acme'', ''own'', 2, v.id, ''x'', ''x'', '''''
        ' from strongroom.file_versions as v'
        ' where v.tenant_id = ''acme'' and v.file_id = ''own'''
    ),
    (
        'strongroom.file_versions: version_belongs_to_a_file',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest)'
        ' values (''acme'', ''none'', 2, ''x'', ''x'', ''x'', '''')'
    ),
    (
        'strongroom.file_versions: version_is_positive',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest)'
        ' values (''acme'', ''own'', 0, ''x'', ''x'', ''x'', '''')'
    ),
    (
        'strongroom.file_versions: id_has_1_to_255_characters',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest)'
        ' values (''acme'', ''own'', 2, '''', ''x'', ''x'', '''')'
    ),
    (
        'strongroom.file_versions: state_is_known',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''x'')'
    ),
    (
        'strongroom.file_versions: blob_key_has_1_to_1024_bytes',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest)'
        ' values (''acme'', ''own'', 2, ''x'', repeat(''x'', 1025), ''x'', '''')'
    ),
    (
        'strongroom.file_versions: media_type_has_1_to_255_characters',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', '''', '''')'
    ),
    (
        'strongroom.file_versions: size_is_not_negative',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', -1,'
        ' repeat(''0'', 64))'
    ),
    (
        'strongroom.file_versions: sha256_has_64_hexadecimal_digits',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', 1, repeat(''A'','
        ' 64))'
    ),
    (
        'strongroom.file_versions: a_stored_version_knows_its_bytes',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'')'
    ),
    (
        'strongroom.file_versions: a_pending_version_knows_no_bytes',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, size_bytes,'
        ' sha256)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', 1, repeat(''0'', 64))'
    ),
    (
        'strongroom.file_versions: source_is_known',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, source)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''x'')'
    ),
    (
        'strongroom.file_versions: only_a_generated_version_has_a_run',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, run_id)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''x'')'
    ),
    (
        'strongroom.file_versions: run_id_has_1_to_255_characters',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, source, run_id)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''generated'', '''')'
    ),
    (
        'strongroom.file_versions: created_by_has_1_to_255_characters',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, created_by)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', '''')'
    ),
    (
        'strongroom.file_versions: extraction_status_is_known',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256, extraction_status)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', 1, repeat(''0'','
        ' 64), ''x'')'
    ),
    (
        'strongroom.file_versions: only_stored_bytes_are_extracted',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest,'
        ' extraction_status)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''pending'')'
    ),
    (
        'strongroom.file_versions: only_a_done_extraction_has_text',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256, extraction_summary)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', 1, repeat(''0'','
        ' 64), ''x'')'
    ),
    (
        'strongroom.file_versions: only_a_failed_extraction_has_an_error',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256, extraction_status)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', 1, repeat(''0'','
        ' 64), ''failed'')'
    ),
    (
        'strongroom.file_versions: extraction_summary_has_at_most_16384_characters',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256, extraction_status, extraction_summary)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', 1, repeat(''0'','
        ' 64), ''done'', repeat(''x'', 16385))'
    ),
    (
        'strongroom.file_versions: extraction_blob_key_has_1_to_1024_bytes',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256, extraction_status, extraction_blob_key)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', 1, repeat(''0'','
        ' 64), ''done'', '''')'
    ),
    (
        'strongroom.file_versions: extraction_error_has_at_most_16_kib',
        'insert into strongroom.file_versions'
        ' (tenant_id, file_id, version, id, blob_key, media_type, creation_digest, state,'
        ' size_bytes, sha256, extraction_status, extraction_error)'
        ' values (''acme'', ''own'', 2, ''x'', ''x'', ''x'', '''', ''stored'', 1, repeat(''0'','
        ' 64), ''failed'', to_jsonb(repeat(''x'', 16384)))'
    );

insert into stories.violations (constraint_name, statement)
values
    (
        'strongroom.agents: agents_pkey',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''private'', ''n'', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.agents: agent_belongs_to_a_tenant',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''none'', ''x'', ''n'', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.agents: id_has_1_to_255_characters',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', '''', ''n'', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.agents: name_has_1_to_255_characters',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', '''', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.agents: description_has_1_to_4000_characters',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', repeat(''x'', 4001), ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.agents: metadata_is_an_object',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, ''[]'', 0, 1, '''')'
    ),
    (
        'strongroom.agents: latest_version_is_not_negative',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, ''{}'', -1, 1, '''')'
    ),
    (
        'strongroom.agents: version_is_positive',
        'insert into strongroom.agents'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, ''{}'', 0, 0, '''')'
    ),
    (
        'strongroom.agent_versions: agent_versions_pkey',
        'insert into strongroom.agent_versions'
        ' (tenant_id, agent_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 1, ''x'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.agent_versions: an_agent_version_id_is_used_once_in_a_tenant',
        'insert into strongroom.agent_versions'
        ' (tenant_id, agent_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, ''private-a'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.agent_versions: version_belongs_to_an_agent',
        'insert into strongroom.agent_versions'
        ' (tenant_id, agent_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''none'', 9, ''x'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.agent_versions: version_is_positive',
        'insert into strongroom.agent_versions'
        ' (tenant_id, agent_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 0, ''x'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.agent_versions: id_has_1_to_255_characters',
        'insert into strongroom.agent_versions'
        ' (tenant_id, agent_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, '''', ''{}'', '''', 2)'
    ),
    (
        'strongroom.agent_versions: definition_is_an_object',
        'insert into strongroom.agent_versions'
        ' (tenant_id, agent_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, ''x'', ''[]'', '''', 2)'
    ),
    (
        'strongroom.agent_versions: size_is_1_byte_to_1_mib',
        'insert into strongroom.agent_versions'
        ' (tenant_id, agent_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, ''x'', ''{}'', '''', 0)'
    ),
    (
        'strongroom.skills: skills_pkey',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''private'', ''n'', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.skills: skill_belongs_to_a_tenant',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''none'', ''x'', ''n'', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.skills: id_has_1_to_255_characters',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', '''', ''n'', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.skills: name_has_1_to_255_characters',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', '''', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.skills: description_has_1_to_4000_characters',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', repeat(''x'', 4001), ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.skills: metadata_is_an_object',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, ''[]'', 0, 1, '''')'
    ),
    (
        'strongroom.skills: latest_version_is_not_negative',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, ''{}'', -1, 1, '''')'
    ),
    (
        'strongroom.skills: version_is_positive',
        'insert into strongroom.skills'
        ' (tenant_id, id, name, description, metadata, latest_version, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, ''{}'', 0, 0, '''')'
    ),
    (
        'strongroom.skill_versions: skill_versions_pkey',
        'insert into strongroom.skill_versions'
        ' (tenant_id, skill_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 1, ''x'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.skill_versions: a_skill_version_id_is_used_once_in_a_tenant',
        'insert into strongroom.skill_versions'
        ' (tenant_id, skill_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, ''private-s'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.skill_versions: version_belongs_to_a_skill',
        'insert into strongroom.skill_versions'
        ' (tenant_id, skill_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''none'', 9, ''x'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.skill_versions: version_is_positive',
        'insert into strongroom.skill_versions'
        ' (tenant_id, skill_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 0, ''x'', ''{}'', '''', 2)'
    ),
    (
        'strongroom.skill_versions: id_has_1_to_255_characters',
        'insert into strongroom.skill_versions'
        ' (tenant_id, skill_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, '''', ''{}'', '''', 2)'
    ),
    (
        'strongroom.skill_versions: definition_is_an_object',
        'insert into strongroom.skill_versions'
        ' (tenant_id, skill_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, ''x'', ''[]'', '''', 2)'
    ),
    (
        'strongroom.skill_versions: size_is_1_byte_to_1_mib',
        'insert into strongroom.skill_versions'
        ' (tenant_id, skill_id, version, id, definition, content_digest, size_bytes)'
        ' values (''acme'', ''private'', 9, ''x'', ''{}'', '''', 0)'
    ),
    (
        'strongroom.catalog_tombstones: catalog_tombstones_pkey',
        'insert into strongroom.catalog_tombstones (tenant_id, kind, id)'
        ' values (''acme'', ''agent'', ''purged'')'
    ),
    (
        'strongroom.catalog_tombstones: tombstone_belongs_to_a_tenant',
        'insert into strongroom.catalog_tombstones (tenant_id, kind, id)'
        ' values (''none'', ''agent'', ''x'')'
    ),
    (
        'strongroom.catalog_tombstones: kind_is_agent_or_skill',
        'insert into strongroom.catalog_tombstones (tenant_id, kind, id)'
        ' values (''acme'', ''tool'', ''x'')'
    ),
    (
        'strongroom.catalog_tombstones: id_has_1_to_255_characters',
        'insert into strongroom.catalog_tombstones (tenant_id, kind, id)'
        ' values (''acme'', ''agent'', '''')'
    );

insert into stories.violations (constraint_name, statement)
values
    (
        'strongroom.audit_events: audit_events_pkey',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id)'
        ' select a.tenant_id, a.id, ''x.x'', ''x'', ''x'' from strongroom.audit_events as a'
        ' where a.tenant_id = ''acme'' limit 1'
    ),
    (
        'strongroom.audit_events: a_place_in_the_chain_is_taken_once',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' position, chain_digest) select ''acme'', n::text, ''x.x'', ''x'', ''x'', 99, ''x'' from'
        ' generate_series(1, 2) as n'
    ),
    (
        'strongroom.audit_events: audit_event_belongs_to_a_tenant',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id)'
        ' values (''none'', ''x'', ''x.x'', ''x'', ''x'')'
    ),
    (
        'strongroom.audit_events: id_has_1_to_255_characters',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id)'
        ' values (''acme'', '''', ''x.x'', ''x'', ''x'')'
    ),
    (
        'strongroom.audit_events: action_is_a_noun_and_a_verb',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id)'
        ' values (''acme'', ''x'', ''Share'', ''x'', ''x'')'
    ),
    (
        'strongroom.audit_events: record_has_1_to_255_characters',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id)'
        ' values (''acme'', ''x'', ''x.x'', '''', ''x'')'
    ),
    (
        'strongroom.audit_events: record_id_has_1_to_255_characters',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id)'
        ' values (''acme'', ''x'', ''x.x'', ''x'', '''')'
    ),
    (
        'strongroom.audit_events: details_are_an_object',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' details) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', ''[]'')'
    ),
    (
        'strongroom.audit_events: details_have_at_most_16_kib',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' details) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', jsonb_build_object(''x'','
        ' repeat(''x'', 16384)))'
    ),
    (
        'strongroom.audit_events: source_is_strongroom_or_host',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' source) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', ''x'')'
    ),
    (
        'strongroom.audit_events: actor_id_has_1_to_255_characters',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' actor_id, actor_salt, actor_digest) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', '''','
        ' gen_random_uuid(), ''x'')'
    ),
    (
        'strongroom.audit_events: principal_id_has_1_to_255_characters',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' principal_id, principal_salt, principal_digest) values (''acme'', ''x'', ''x.x'','
        ' ''x'', ''x'', '''', gen_random_uuid(), ''x'')'
    ),
    (
        'strongroom.audit_events: a_person_has_a_salt',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' actor_id, actor_digest) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', ''x'', ''x'')'
    ),
    (
        'strongroom.audit_events: a_person_has_a_digest',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' actor_id, actor_salt) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', ''x'','
        ' gen_random_uuid())'
    ),
    (
        'strongroom.audit_events: position_is_positive',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' position, chain_digest) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', 0, ''x'')'
    ),
    (
        'strongroom.audit_events: a_sealed_event_has_a_digest',
        'insert into strongroom.audit_events (tenant_id, id, action, record, record_id,'
        ' position) values (''acme'', ''x'', ''x.x'', ''x'', ''x'', 99)'
    ),
    (
        'strongroom.audit_seals: audit_seals_pkey',
        'insert into strongroom.audit_seals (tenant_id, number, first_position,'
        ' last_position, previous_digest, digest) values (''acme'', 1, 1, 1, '''', '''')'
    ),
    (
        'strongroom.audit_seals: seal_belongs_to_a_tenant',
        'insert into strongroom.audit_seals (tenant_id, number, first_position,'
        ' last_position, previous_digest, digest) values (''none'', 1, 1, 1, '''', '''')'
    ),
    (
        'strongroom.audit_seals: number_is_positive',
        'insert into strongroom.audit_seals (tenant_id, number, first_position,'
        ' last_position, previous_digest, digest) values (''acme'', 0, 1, 1, '''', '''')'
    ),
    (
        'strongroom.audit_seals: a_seal_has_events',
        'insert into strongroom.audit_seals (tenant_id, number, first_position,'
        ' last_position, previous_digest, digest) values (''acme'', 9, 2, 1, '''', '''')'
    ),
    (
        'strongroom.usage_events: usage_events_pkey',
        'insert into strongroom.usage_events (tenant_id, id) values (''acme'', ''private-u'')'
    ),
    (
        'strongroom.usage_events: a_step_of_a_run_is_counted_once',
        'insert into strongroom.usage_events (tenant_id, id, run_id, step_id) select'
        ' ''acme'', n::text, ''x'', ''x'' from generate_series(1, 2) as n'
    ),
    (
        'strongroom.usage_events: usage_belongs_to_a_tenant',
        'insert into strongroom.usage_events (tenant_id, id) values (''none'', ''x'')'
    ),
    (
        'strongroom.usage_events: id_has_1_to_255_characters',
        'insert into strongroom.usage_events (tenant_id, id) values (''acme'', '''')'
    ),
    (
        'strongroom.usage_events: what_it_names_has_1_to_255_characters',
        'insert into strongroom.usage_events (tenant_id, id, model) values (''acme'', ''x'','
        ' '''')'
    ),
    (
        'strongroom.usage_events: a_step_belongs_to_a_run',
        'insert into strongroom.usage_events (tenant_id, id, step_id) values (''acme'','
        ' ''x'', ''x'')'
    ),
    (
        'strongroom.usage_events: a_version_belongs_to_an_agent',
        'insert into strongroom.usage_events (tenant_id, id, agent_version) values'
        ' (''acme'', ''x'', 1)'
    ),
    (
        'strongroom.usage_events: agent_version_is_positive',
        'insert into strongroom.usage_events (tenant_id, id, agent_id, agent_version)'
        ' values (''acme'', ''x'', ''x'', 0)'
    ),
    (
        'strongroom.usage_events: only_amounts_of_a_correction_are_negative',
        'insert into strongroom.usage_events (tenant_id, id, input_tokens) values'
        ' (''acme'', ''x'', -1)'
    ),
    (
        'strongroom.usage_events: a_correction_is_not_a_step',
        'insert into strongroom.usage_events (tenant_id, id, run_id, step_id,'
        ' corrects_id) values (''acme'', ''x'', ''x'', ''x'', ''private-u'')'
    ),
    (
        'strongroom.usage_events: amounts_are_safe_json_numbers',
        'insert into strongroom.usage_events (tenant_id, id, output_tokens) values'
        ' (''acme'', ''x'', 9007199254740992)'
    ),
    (
        'strongroom.usage_events: a_cost_has_a_currency_and_decimals',
        'insert into strongroom.usage_events (tenant_id, id, cost) values (''acme'', ''x'','
        ' 1)'
    ),
    (
        'strongroom.usage_events: currency_has_three_capitals',
        'insert into strongroom.usage_events (tenant_id, id, cost, cost_decimals,'
        ' currency) values (''acme'', ''x'', 1, 2, ''eur'')'
    ),
    (
        'strongroom.usage_events: cost_decimals_are_0_to_12',
        'insert into strongroom.usage_events (tenant_id, id, cost, cost_decimals,'
        ' currency) values (''acme'', ''x'', 1, 13, ''EUR'')'
    ),
    (
        'strongroom.usage_events: metadata_is_an_object',
        'insert into strongroom.usage_events (tenant_id, id, metadata) values (''acme'','
        ' ''x'', ''[]'')'
    ),
    (
        'strongroom.usage_events: metadata_has_at_most_16_kib',
        'insert into strongroom.usage_events (tenant_id, id, metadata) values (''acme'','
        ' ''x'', jsonb_build_object(''x'', repeat(''x'', 16384)))'
    ),
    (
        'strongroom.collections: collections_pkey',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''private'', ''n'', null, null, null, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: a_collection_has_a_name_of_its_own',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', ''Private'', null, null, null, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: collection_belongs_to_a_tenant',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''none'', ''x'', ''n'', null, null, null, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: id_has_1_to_255_characters',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', '''', ''n'', null, null, null, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: name_has_1_to_255_characters',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', '''', null, null, null, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: an_embedding_model_is_described_in_full',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', ''m'', ''1'', null, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: embedding_model_has_1_to_255_characters',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', '''', ''1'', 3, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: embedding_version_has_1_to_255_characters',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', ''m'', '''', 3, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: an_embedding_has_1_to_4000_dimensions',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', ''m'', ''1'', 4001, ''{}'', 1, '''')'
    ),
    (
        'strongroom.collections: metadata_is_an_object',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, null, null, ''[]'', 1, '''')'
    ),
    (
        'strongroom.collections: version_is_positive',
        'insert into strongroom.collections (tenant_id, id, name, embedding_model,'
        ' embedding_version, embedding_dimensions, metadata, version, creation_digest)'
        ' values (''acme'', ''x'', ''n'', null, null, null, ''{}'', 0, '''')'
    ),
    (
        'strongroom.sources: sources_pkey',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref)'
        ' values (''acme'', ''private'', ''private'', ''x'')'
    ),
    (
        'strongroom.sources: a_source_id_is_used_once_in_a_tenant',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref)'
        ' values (''acme'', ''private'', ''none'', ''x'')'
    ),
    (
        'strongroom.sources: source_belongs_to_a_collection',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref)'
        ' values (''acme'', ''x'', ''none'', ''x'')'
    ),
    (
        'strongroom.sources: id_has_1_to_255_characters',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref)'
        ' values (''acme'', '''', ''private'', ''x'')'
    ),
    (
        'strongroom.sources: external_ref_has_1_to_255_characters',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref)'
        ' values (''acme'', ''x'', ''private'', '''')'
    ),
    (
        'strongroom.sources: source_type_has_1_to_255_characters',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref, source_type)'
        ' values (''acme'', ''x'', ''private'', ''x'', '''')'
    ),
    (
        'strongroom.sources: title_has_1_to_255_characters',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref, title)'
        ' values (''acme'', ''x'', ''private'', ''x'', '''')'
    ),
    (
        'strongroom.sources: uri_has_1_to_8192_characters',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref, uri)'
        ' values (''acme'', ''x'', ''private'', ''x'', '''')'
    ),
    (
        'strongroom.sources: file_id_has_1_to_255_characters',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref, file_id)'
        ' values (''acme'', ''x'', ''private'', ''x'', '''')'
    ),
    (
        'strongroom.sources: metadata_is_an_object',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref, metadata)'
        ' values (''acme'', ''x'', ''private'', ''x'', ''[]'')'
    ),
    (
        'strongroom.sources: a_source_has_at_most_100_subjects',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref, auth_subjects)'
        ' values (''acme'', ''x'', ''private'', ''x'', array_fill(''tenant''::text, ''{101}''))'
    ),
    (
        'strongroom.sources: content_digest_has_1_to_255_characters',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref,'
        ' content_digest)'
        ' values (''acme'', ''x'', ''private'', ''x'', '''')'
    ),
    (
        'strongroom.sources: an_embedding_model_is_described_in_full',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref,'
        ' embedding_model)'
        ' values (''acme'', ''x'', ''private'', ''x'', ''m'')'
    ),
    (
        'strongroom.sources: open_chunk_count_is_not_negative',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref,'
        ' open_chunk_count)'
        ' values (''acme'', ''x'', ''private'', ''x'', -1)'
    ),
    (
        'strongroom.sources: version_is_positive',
        'insert into strongroom.sources (tenant_id, id, collection_id, external_ref, version)'
        ' values (''acme'', ''x'', ''private'', ''x'', 0)'
    ),
    (
        'strongroom.chunks: chunks_pkey',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content)'
        ' values (''acme'', ''private'', ''private'', 1, ''x'')'
    ),
    (
        'strongroom.chunks: chunk_belongs_to_a_source',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content)'
        ' values (''acme'', ''private'', ''none'', 9, ''x'')'
    ),
    (
        'strongroom.chunks: number_is_positive',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content)'
        ' values (''acme'', ''private'', ''private'', 0, ''x'')'
    ),
    (
        'strongroom.chunks: content_has_1_byte_to_1_mebibyte',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content)'
        ' values (''acme'', ''private'', ''private'', 9, '''')'
    ),
    (
        'strongroom.chunks: locator_is_an_object',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content,'
        ' locator)'
        ' values (''acme'', ''private'', ''private'', 9, ''x'', ''[]'')'
    ),
    (
        'strongroom.chunks: token_count_is_not_negative',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content,'
        ' token_count)'
        ' values (''acme'', ''private'', ''private'', 9, ''x'', -1)'
    ),
    (
        'strongroom.chunks: a_chunk_has_at_most_100_subjects',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content,'
        ' auth_subjects)'
        ' values (''acme'', ''private'', ''private'', 9, ''x'', array_fill(''tenant''::text,'
        ' ''{101}''))'
    ),
    (
        'strongroom.chunks: metadata_is_an_object',
        'insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content,'
        ' metadata)'
        ' values (''acme'', ''private'', ''private'', 9, ''x'', ''[]'')'
    ),
    (
        'strongroom_private.chunk_terms: chunk_terms_pkey',
        'insert into strongroom_private.chunk_terms'
        ' (tenant_id, collection_id, source_id, number, terms)'
        ' values (''acme'', ''private'', ''private'', 1, ''x'')'
    ),
    (
        'strongroom_private.chunk_terms: search_vector_belongs_to_a_chunk',
        'insert into strongroom_private.chunk_terms'
        ' (tenant_id, collection_id, source_id, number, terms)'
        ' values (''acme'', ''private'', ''private'', 9, ''x'')'
    ),
    (
        'strongroom.artifacts: artifacts_pkey',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'','
        ' ''open-artifact'', ''open'', null, ''x'', null, ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: artifact_belongs_to_a_tenant',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''none'', ''x'','
        ' null, ''ada'', ''x'', null, ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: artifact_belongs_to_a_conversation',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' ''none'', null, ''x'', null, ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: an_artifact_has_a_conversation_or_an_owner',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' ''open'', ''ada'', ''x'', null, ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: id_has_1_to_255_characters',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', '''','
        ' ''open'', null, ''x'', null, ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: owner_id_has_1_to_255_characters',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' null, '''', ''x'', null, ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: name_has_1_to_255_characters',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' ''open'', null, '''', null, ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: title_has_1_to_255_characters',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' ''open'', null, ''x'', '''', ''{}'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: metadata_is_an_object',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' ''open'', null, ''x'', null, ''[]'', 1, 1, '''')'
    ),
    (
        'strongroom.artifacts: latest_version_is_positive',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' ''open'', null, ''x'', null, ''{}'', 0, 1, '''')'
    ),
    (
        'strongroom.artifacts: version_is_positive',
        'insert into strongroom.artifacts (tenant_id, id, conversation_id, owner_id, name,'
        ' title, metadata, latest_version, version, creation_digest) values (''acme'', ''x'','
        ' ''open'', null, ''x'', null, ''{}'', 1, 0, '''')'
    ),
    (
        'strongroom.artifact_versions: artifact_versions_pkey',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 1, ''x'', ''text'', ''x'','
        ' null, 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: a_version_id_names_one_version_of_an_artifact',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''open-artifact'','
        ' ''text'', ''x'', null, 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: version_belongs_to_an_artifact',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''none'', 2, ''x'', ''text'', ''x'', null, 1,'
        ' repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: version_is_positive',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 0, ''x'', ''text'', ''x'','
        ' null, 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: id_has_1_to_255_characters',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, '''', ''text'', ''x'','
        ' null, 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: kind_is_known',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''bytes'', ''x'','
        ' null, 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: content_is_inline_or_a_blob',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''text'', ''x'','
        ' ''x'', 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: inline_content_has_at_most_4_mib',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''text'','
        ' repeat(''x'', 4194305), null, 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: blob_key_has_1_to_1024_bytes',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''blob'', null,'
        ' '''', 1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: size_is_a_whole_number_of_bytes',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''text'', ''x'','
        ' null, -1, repeat(''0'', 64), ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: sha256_is_hexadecimal',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''text'', ''x'','
        ' null, 1, ''x'', ''x'', null, null)'
    ),
    (
        'strongroom.artifact_versions: media_type_has_1_to_255_characters',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''text'', ''x'','
        ' null, 1, repeat(''0'', 64), '''', null, null)'
    ),
    (
        'strongroom.artifact_versions: a_source_is_a_version_of_an_artifact',
        'insert into strongroom.artifact_versions (tenant_id, artifact_id, version, id, kind,'
        ' content, blob_key, size_bytes, sha256, media_type, source_artifact_id,'
        ' source_version) values (''acme'', ''open-artifact'', 2, ''x'', ''text'', ''x'','
        ' null, 1, repeat(''0'', 64), ''x'', null, 1)'
    ),
    (
        'strongroom.artifact_exports: artifact_exports_pkey',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''pdf'','
        ' ''claimed'', 1, 1, ''x'', now(), null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: export_belongs_to_a_version',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 9, ''x'','
        ' ''claimed'', 1, 1, ''x'', now(), null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: format_has_1_to_255_characters',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, '''','
        ' ''claimed'', 1, 1, ''x'', now(), null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: status_is_known',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'', ''open'','
        ' 1, 1, ''x'', null, null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: attempt_is_positive',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''claimed'', 0, 1, ''x'', now(), null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: claim_token_is_positive',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''claimed'', 1, 0, ''x'', now(), null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: worker_id_has_1_to_255_characters',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''claimed'', 1, 1, '''', now(), null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: only_a_claimed_export_has_a_lease',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''claimed'', 1, 1, ''x'', null, null, null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: only_a_finished_export_has_a_blob',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''claimed'', 1, 1, ''x'', now(), ''x'', null, null, null, null)'
    ),
    (
        'strongroom.artifact_exports: only_a_failed_export_has_an_error',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''claimed'', 1, 1, ''x'', now(), null, null, null, null, ''{}'')'
    ),
    (
        'strongroom.artifact_exports: blob_key_has_1_to_1024_bytes',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''finished'', 1, 1, ''x'', null, '''', 1, repeat(''0'', 64), ''x'', null)'
    ),
    (
        'strongroom.artifact_exports: size_is_a_whole_number_of_bytes',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''finished'', 1, 1, ''x'', null, ''x'', -1, repeat(''0'', 64), ''x'', null)'
    ),
    (
        'strongroom.artifact_exports: sha256_is_hexadecimal',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''finished'', 1, 1, ''x'', null, ''x'', 1, ''x'', ''x'', null)'
    ),
    (
        'strongroom.artifact_exports: media_type_has_1_to_255_characters',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''finished'', 1, 1, ''x'', null, ''x'', 1, repeat(''0'', 64), '''', null)'
    ),
    (
        'strongroom.artifact_exports: error_is_an_object',
        'insert into strongroom.artifact_exports (tenant_id, artifact_id, version, format,'
        ' status, attempt, claim_token, worker_id, lease_expires_at, blob_key, size_bytes,'
        ' sha256, media_type, error) values (''acme'', ''open-artifact'', 1, ''x'','
        ' ''failed'', 1, 1, ''x'', null, null, null, null, null, ''[]'')'
    ),
    (
        'strongroom.tool_outputs: tool_outputs_pkey',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''text:'' || encode(sha256(''long''), ''hex''), ''text'','
        ' encode(sha256(''long''), ''hex''), 1, 1, ''x'', ''x'', null, null)'
    ),
    (
        'strongroom.tool_outputs: tool_output_belongs_to_a_conversation',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''none'', ''text:'' || repeat(''0'', 64), ''text'', repeat(''0'', 64), 1, 1, ''x'','
        ' ''x'', null, null)'
    ),
    (
        'strongroom.tool_outputs: the_id_is_kind_and_sha256',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''x'', ''text'', repeat(''0'', 64), 1, 1, ''x'', ''x'', null, null)'
    ),
    (
        'strongroom.tool_outputs: kind_is_known',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''x:'' || repeat(''0'', 64), ''x'', repeat(''0'', 64), 1, null, ''x'','
        ' null, null, ''x'')'
    ),
    (
        'strongroom.tool_outputs: sha256_is_hexadecimal',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''text:x'', ''text'', ''x'', 1, 1, ''x'', ''x'', null, null)'
    ),
    (
        'strongroom.tool_outputs: content_is_of_its_kind',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''text:'' || repeat(''0'', 64), ''text'', repeat(''0'', 64), 1, 1, ''x'','
        ' ''x'', ''x'', null)'
    ),
    (
        'strongroom.tool_outputs: only_text_has_characters',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''text:'' || repeat(''0'', 64), ''text'', repeat(''0'', 64), 1, null,'
        ' ''x'', ''x'', null, null)'
    ),
    (
        'strongroom.tool_outputs: inline_content_has_at_most_16_mib',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''text:'' || repeat(''0'', 64), ''text'', repeat(''0'', 64), 1, 1, ''x'','
        ' repeat(''x'', 16777217), null, null)'
    ),
    (
        'strongroom.tool_outputs: size_is_a_whole_number_of_bytes',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''text:'' || repeat(''0'', 64), ''text'', repeat(''0'', 64), -1, 1,'
        ' ''x'', ''x'', null, null)'
    ),
    (
        'strongroom.tool_outputs: media_type_has_1_to_255_characters',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''text:'' || repeat(''0'', 64), ''text'', repeat(''0'', 64), 1, 1, '''','
        ' ''x'', null, null)'
    ),
    (
        'strongroom.tool_outputs: blob_key_has_1_to_1024_bytes',
        'insert into strongroom.tool_outputs (tenant_id, conversation_id, id, kind, sha256,'
        ' size_bytes, characters, media_type, content, data, blob_key) values (''acme'','
        ' ''open'', ''blob:'' || repeat(''0'', 64), ''blob'', repeat(''0'', 64), 1, null,'
        ' ''x'', null, null, '''')'
    );

insert into stories.violations (constraint_name, statement)
values
    (
        'strongroom.framework_sessions: framework_sessions_pkey',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', (select s.id from'
        ' strongroom.framework_sessions as s where s.tenant_id = ''acme'' and s.path ='
        ' ''{private}''), ''x'', ''{x}'', null, ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: a_path_is_used_once_by_a_framework',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''stories'','
        ' ''{private}'', null, ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: framework_session_belongs_to_a_tenant',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''none'', ''x'', ''x'','
        ' ''{x}'', null, ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: id_has_1_to_255_characters',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', '''', ''x'', ''{x}'','
        ' null, ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: framework_is_a_short_word',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''X'','
        ' ''{x}'', null, ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: path_has_1_to_20_labels',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''x'', ''{}'','
        ' null, ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: path_has_at_most_1000_bytes',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''x'','
        ' array[repeat(''x'', 1001)], null, ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: principal_id_has_1_to_255_characters',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''x'','
        ' ''{x}'', '''', ''{}'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: state_is_an_object',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''x'','
        ' ''{x}'', null, ''[]'', 1, 0)'
    ),
    (
        'strongroom.framework_sessions: version_is_positive_and_safe_in_javascript',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''x'','
        ' ''{x}'', null, ''{}'', 0, 0)'
    ),
    (
        'strongroom.framework_sessions: last_position_is_safe_in_javascript',
        'insert into strongroom.framework_sessions (tenant_id, id, framework, path,'
        ' principal_id, state, version, last_position) values (''acme'', ''x'', ''x'','
        ' ''{x}'', null, ''{}'', 1, -1)'
    ),
    (
        'strongroom.framework_records: framework_records_pkey',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''a'', 9, ''1'','
        ' null, ''{}'', null, null, null, 1)'
    ),
    (
        'strongroom.framework_records: a_position_is_used_once',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''x'', 1, ''1'','
        ' null, ''{}'', null, null, null, 1)'
    ),
    (
        'strongroom.framework_records: record_belongs_to_a_framework_session',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', ''none'', ''items'', ''x'', null, ''1'', null, ''{}'', null, null,'
        ' null, 1)'
    ),
    (
        'strongroom.framework_records: collection_is_a_short_word',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), '''', ''x'', null, ''1'', null,'
        ' ''{}'', null, null, null, 1)'
    ),
    (
        'strongroom.framework_records: key_has_1_to_255_characters',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', '''', null, ''1'','
        ' null, ''{}'', null, null, null, 1)'
    ),
    (
        'strongroom.framework_records: position_is_positive_and_safe_in_javascript',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''x'', 0, ''1'','
        ' null, ''{}'', null, null, null, 1)'
    ),
    (
        'strongroom.framework_records: a_record_has_content_or_data',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''x'', null, null,'
        ' null, ''{}'', null, null, null, 1)'
    ),
    (
        'strongroom.framework_records: metadata_is_an_object',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''x'', null, ''1'','
        ' null, ''[]'', null, null, null, 1)'
    ),
    (
        'strongroom.framework_records: embeddings_are_a_list_of_lists',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''x'', null, ''1'','
        ' null, ''{}'', ''{1}'', null, null, 1)'
    ),
    (
        'strongroom.framework_records: what_expires_has_a_time_to_live',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''x'', null, ''1'','
        ' null, ''{}'', null, 1, null, 1)'
    ),
    (
        'strongroom.framework_records: version_is_positive_and_safe_in_javascript',
        'insert into strongroom.framework_records (tenant_id, session_id, collection, key,'
        ' position, content, data, metadata, embeddings, ttl_seconds, expires_at, version)'
        ' values (''acme'', (select s.id from strongroom.framework_sessions as s where'
        ' s.tenant_id = ''acme'' and s.path = ''{private}''), ''items'', ''x'', null, ''1'','
        ' null, ''{}'', null, null, null, 0)'
    );

insert into stories.violations (constraint_name, statement)
values
    (
        'strongroom.evaluation_cases: evaluation_cases_pkey',
        'insert into strongroom.evaluation_cases'
        ' (tenant_id, id, suite, latest_version, creation_digest)'
        ' values (''acme'', ''private'', null, 1, '''')'
    ),
    (
        'strongroom.evaluation_cases: case_belongs_to_a_tenant',
        'insert into strongroom.evaluation_cases'
        ' (tenant_id, id, suite, latest_version, creation_digest)'
        ' values (''none'', ''x'', null, 1, '''')'
    ),
    (
        'strongroom.evaluation_cases: id_has_1_to_255_characters',
        'insert into strongroom.evaluation_cases'
        ' (tenant_id, id, suite, latest_version, creation_digest)'
        ' values (''acme'', '''', null, 1, '''')'
    ),
    (
        'strongroom.evaluation_cases: suite_has_1_to_255_characters',
        'insert into strongroom.evaluation_cases'
        ' (tenant_id, id, suite, latest_version, creation_digest)'
        ' values (''acme'', ''x'', '''', 1, '''')'
    ),
    (
        'strongroom.evaluation_cases: latest_version_is_positive',
        'insert into strongroom.evaluation_cases'
        ' (tenant_id, id, suite, latest_version, creation_digest)'
        ' values (''acme'', ''x'', null, 0, '''')'
    ),
    (
        'strongroom.evaluation_case_versions: evaluation_case_versions_pkey',
        'insert into strongroom.evaluation_case_versions'
        ' (tenant_id, case_id, version, name, input, expected, metadata, content_digest)'
        ' values (''acme'', ''private'', 1, ''n'', ''1'', null, ''{}'', '''')'
    ),
    (
        'strongroom.evaluation_case_versions: version_belongs_to_a_case',
        'insert into strongroom.evaluation_case_versions'
        ' (tenant_id, case_id, version, name, input, expected, metadata, content_digest)'
        ' values (''acme'', ''none'', 9, ''n'', ''1'', null, ''{}'', '''')'
    ),
    (
        'strongroom.evaluation_case_versions: version_is_positive',
        'insert into strongroom.evaluation_case_versions'
        ' (tenant_id, case_id, version, name, input, expected, metadata, content_digest)'
        ' values (''acme'', ''private'', 0, ''n'', ''1'', null, ''{}'', '''')'
    ),
    (
        'strongroom.evaluation_case_versions: name_has_1_to_255_characters',
        'insert into strongroom.evaluation_case_versions'
        ' (tenant_id, case_id, version, name, input, expected, metadata, content_digest)'
        ' values (''acme'', ''private'', 9, '''', ''1'', null, ''{}'', '''')'
    ),
    (
        'strongroom.evaluation_case_versions: input_has_at_most_1_mib',
        'insert into strongroom.evaluation_case_versions'
        ' (tenant_id, case_id, version, name, input, expected, metadata, content_digest)'
        ' values (''acme'', ''private'', 9, ''n'','
        ' to_jsonb(repeat(''x'', 1048577)), null, ''{}'', '''')'
    ),
    (
        'strongroom.evaluation_case_versions: expected_has_at_most_1_mib',
        'insert into strongroom.evaluation_case_versions'
        ' (tenant_id, case_id, version, name, input, expected, metadata, content_digest)'
        ' values (''acme'', ''private'', 9, ''n'', ''1'','
        ' to_jsonb(repeat(''x'', 1048577)), ''{}'', '''')'
    ),
    (
        'strongroom.evaluation_case_versions: metadata_is_an_object',
        'insert into strongroom.evaluation_case_versions'
        ' (tenant_id, case_id, version, name, input, expected, metadata, content_digest)'
        ' values (''acme'', ''private'', 9, ''n'', ''1'', null, ''[]'', '''')'
    ),
    (
        'strongroom.evaluation_runs: evaluation_runs_pkey',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''private'', null, ''running'', null, null,'
        ' ''{}'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: evaluation_run_belongs_to_a_tenant',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''none'', ''x'', null, ''running'', null, null,'
        ' ''{}'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: id_has_1_to_255_characters',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', '''', null, ''running'', null, null,'
        ' ''{}'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: name_has_1_to_255_characters',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', '''', ''running'', null, null,'
        ' ''{}'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: status_is_known',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''paused'', null, null,'
        ' ''{}'', 1, 1, 1, 1, now(), '''')'
    ),
    (
        'strongroom.evaluation_runs: agent_id_has_1_to_255_characters',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''running'', '''', null,'
        ' ''{}'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: only_an_agent_has_a_version',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''running'', null, 1,'
        ' ''{}'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: agent_version_is_positive',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''running'', ''a'', 0,'
        ' ''{}'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: metadata_is_an_object',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''running'', null, null,'
        ' ''[]'', 1, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: case_count_is_positive',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''running'', null, null,'
        ' ''{}'', 0, null, null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: a_finished_run_knows_when',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''failed'', null, null,'
        ' ''{}'', 1, 1, 1, 1, null, '''')'
    ),
    (
        'strongroom.evaluation_runs: a_finished_run_has_its_counts',
        'insert into strongroom.evaluation_runs'
        ' (tenant_id, id, name, status, agent_id, agent_version,'
        ' metadata, case_count, result_count, passed_count, failed_count, finished_at,'
        ' creation_digest) values (''acme'', ''x'', null, ''failed'', null, null,'
        ' ''{}'', 1, null, null, null, now(), '''')'
    ),
    (
        'strongroom.evaluation_run_cases: evaluation_run_cases_pkey',
        'insert into strongroom.evaluation_run_cases (tenant_id, run_id, case_id, case_version)'
        ' values (''acme'', ''private'', ''private'', 1)'
    ),
    (
        'strongroom.evaluation_run_cases: case_belongs_to_an_evaluation_run',
        'insert into strongroom.evaluation_run_cases (tenant_id, run_id, case_id, case_version)'
        ' values (''acme'', ''none'', ''private-other'', 1)'
    ),
    (
        'strongroom.evaluation_run_cases: a_run_names_cases_that_there_are',
        'insert into strongroom.evaluation_run_cases (tenant_id, run_id, case_id, case_version)'
        ' values (''acme'', ''private'', ''none'', 1)'
    ),
    (
        'strongroom.evaluation_run_cases: case_version_is_positive',
        'insert into strongroom.evaluation_run_cases (tenant_id, run_id, case_id, case_version)'
        ' values (''acme'', ''private'', ''private-other'', 0)'
    ),
    (
        'strongroom.evaluation_results: evaluation_results_pkey',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 1, ''x'','
        ' null, ''{}'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: a_result_id_is_used_once_in_a_tenant',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest)'
        ' values (1, ''acme'', ''private'', ''private'', 9, ''private'','
        ' null, ''{}'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: result_belongs_to_an_evaluation_run',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest)'
        ' values (1, ''acme'', ''none'', ''private'', 9, ''x'','
        ' null, ''{}'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: result_belongs_to_a_case',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest)'
        ' values (1, ''acme'', ''private'', ''none'', 9, ''x'','
        ' null, ''{}'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: case_version_is_positive',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest)'
        ' values (0, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''{}'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: a_source_is_a_conversation_that_there_is',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''{}'', null, null, ''{}'', ''none'', null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: repeat_is_positive',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 0, ''x'','
        ' null, ''{}'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: id_has_1_to_255_characters',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, '''','
        ' null, ''{}'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: scores_is_an_object',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''[]'', null, null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: output_has_at_most_1_mib',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''{}'', to_jsonb(repeat(''x'', 1048577)), null, ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: error_is_an_object',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''{}'', null, ''7'', ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: a_result_with_an_error_has_not_passed',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' true, ''{}'', null, ''{}'', ''{}'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: metadata_is_an_object',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''{}'', null, null, ''[]'', null, null, null, '''')'
    ),
    (
        'strongroom.evaluation_results: usage_event_id_has_1_to_255_characters',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''{}'', null, null, ''{}'', null, null, '''', '''')'
    ),
    (
        'strongroom.evaluation_results: a_purged_source_says_nothing',
        'insert into strongroom.evaluation_results'
        ' (case_version, tenant_id, run_id, case_id, repeat, id, passed, scores,'
        ' output, error, metadata, source_conversation_id, source_purged_at,'
        ' usage_event_id, content_digest) values (1, ''acme'', ''private'', ''private'', 9, ''x'','
        ' null, ''{}'', ''1'', null, ''{}'', null, now(), null, '''')'
    );

select plan((select count(*)::integer from stories.violations) + 6);
select stories.found_a_world();
select stories.become_owner('acme');

select is(stories.constraint_of(v.statement), v.constraint_name, v.constraint_name)
from stories.violations as v;

-- One index that is a rule, and one constraint that raises a typed error of its own.

insert into strongroom.conversations (tenant_id, id, owner_id, external_ref, creation_digest)
values ('acme', 'named', 'ada', 'ticket-7', '');
select is(
    stories.constraint_of(
        'insert into strongroom.conversations'
        ' (tenant_id, id, owner_id, external_ref, creation_digest)'
        ' values (''acme'', ''other'', ''ada'', ''ticket-7'', '''')'
    ),
    'strongroom.conversations: an_external_ref_names_one_living_conversation',
    'an external_ref names one living conversation'
);
select is(
    stories.message_of(
        'insert into strongroom.messages'
        ' (tenant_id, conversation_id, position, id, role, parts)'
        ' values (''acme'', ''open'', 3, ''x'', ''user'', ''[{"type": "text"}]'')'
    ),
    'parts[0].schema_version must be 1',
    'parts_are_typed names the part and the field, also for a plain insert'
);

select is(
    (
        select array_agg(k.conrelid::regclass || ': ' || k.conname order by k.conname)
        from pg_constraint as k
        where k.connamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and k.contype in ('c', 'f', 'p', 'u', 'x')
            and k.conname <> 'parts_are_typed'
            and not exists (
                select
                from stories.violations as v
                where v.constraint_name = format('%s: %s', k.conrelid::regclass, k.conname)
            )
    ),
    null,
    'every constraint has been violated above'
);
select is(
    (
        select array_agg(k.conrelid::regclass || ': ' || k.conname)
        from pg_constraint as k
        where k.connamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and k.contype in ('c', 'f', 'u', 'x')
            and k.conname !~ '(^|_)(is|are|has|have|knows|belongs|names|says|leads|becomes)(_|$)'
    ),
    null,
    'and reads as a sentence'
);
select is(
    (
        select array_agg(k.conrelid::regclass || ': ' || k.conname)
        from pg_constraint as k
        where k.connamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and not k.convalidated
    ),
    null,
    'and holds for all rows'
);
select is(
    (
        select array_agg(k.conrelid::regclass || ': ' || k.conname)
        from pg_constraint as k
        where k.connamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and k.condeferrable
    ),
    null,
    'at once'
);

select * from finish();
rollback;
