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
            and k.conname !~ '(^|_)(is|are|has|have|knows|belongs|names|says|leads)(_|$)'
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
