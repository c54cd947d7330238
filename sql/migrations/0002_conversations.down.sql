-- strongroom 0002: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '2', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '2';
select strongroom_private.require_transaction(2);
select strongroom_private.begin_reversal(
    2,
    '{
        strongroom.conversations,
        strongroom.conversation_participants,
        strongroom.messages,
        strongroom.session_states,
        strongroom.thread_summaries
    }'
);

drop function strongroom.fork_conversation;
drop function strongroom.read_history;
drop function strongroom_private.find_history_start;
drop function strongroom.list_thread_summaries;
drop function strongroom.find_latest_thread_summary;
drop function strongroom.append_thread_summary;
drop function strongroom.clear_session_state;
drop function strongroom.patch_session_state;
drop function strongroom.put_session_state;
drop function strongroom_private.write_session_state;
drop function strongroom.find_session_state;
drop function strongroom_private.merge_json;
drop function strongroom.count_messages;
drop function strongroom.find_message;
drop function strongroom_private.list_messages_as_user;
drop function strongroom.list_messages;
drop function strongroom_private.append_messages_as_user;
drop function strongroom.append_messages;
drop function strongroom_private.fail_raced_append;
drop function strongroom.list_conversations;
drop function strongroom.purge_conversation;
drop function strongroom.restore_conversation;
drop function strongroom_private.soft_delete_conversation_as_user;
drop function strongroom.soft_delete_conversation;
drop function strongroom_private.require_own_conversation;
drop function strongroom.share_conversation;
drop function strongroom.bind_agent;
drop function strongroom.update_conversation;
drop function strongroom_private.update_living_conversation;
drop function strongroom_private.create_conversation_as_user;
drop function strongroom.create_conversation;
drop function strongroom.find_conversation;
drop function strongroom_private.check_agent_binding;
drop function strongroom_private.require_readable_conversation;
drop function strongroom_private.readable_branches;
drop function strongroom_private.is_readable_conversation;
drop function strongroom_private.find_last_position;
drop function strongroom_private.lock_conversation;

drop type strongroom.created_conversation;
drop view strongroom.conversation_details;
drop view strongroom.message_parts;
drop table strongroom.thread_summaries;
drop function strongroom_private.erase_covering_summaries;
drop table strongroom.session_states;
drop table strongroom.messages;
drop function strongroom_private.erase_authored_messages;
drop function strongroom_private.check_messages;
drop function strongroom_private.find_message_problem;
drop function strongroom_private.check_parts;
drop function strongroom_private.find_parts_problem;
drop function strongroom_private.find_part_problem;
drop function strongroom_private.is_whole_number;

drop policy readers_read on strongroom.conversation_participants;
drop policy readers_read on strongroom.conversations;
drop function strongroom_private.may_read_conversation;
drop function strongroom_private.is_participant;
drop table strongroom.conversation_participants;
drop table strongroom.conversations;

select strongroom_private.finish_reversal(2);
