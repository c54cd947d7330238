-- strongroom 0015: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '15', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '15';
select strongroom_private.require_transaction(15);
select strongroom_private.begin_reversal(
    15,
    '{
        strongroom.transcripts,
        strongroom.transcript_messages,
        strongroom.transcript_errors
    }'
);

drop function strongroom.find_memory_session;
drop function strongroom.list_memory_sessions;
drop function strongroom.list_memory_session_errors;
drop function strongroom.find_memory_session_error;
drop function strongroom.record_memory_session_error;
drop function strongroom.clear_memory_session;
drop function strongroom.append_memory_session;
drop function strongroom_private.write_session_transcript;
drop function strongroom.read_memory_session;
drop function strongroom_private.find_session_transcript;
drop function strongroom.list_transcripts;
drop function strongroom.delete_transcript;
drop function strongroom.copy_transcript;
drop function strongroom.save_transcript;
drop function strongroom.read_transcript;
drop function strongroom.find_transcript;
drop function strongroom_private.list_transcripts_of_kind;
drop function strongroom_private.delete_named_transcript;
drop function strongroom_private.lock_transcript;
drop function strongroom_private.check_raw_messages;
drop function strongroom_private.find_own_message_id;

drop table strongroom.transcript_errors;
drop table strongroom.transcript_messages;
drop table strongroom.transcripts;

select strongroom_private.finish_reversal(15);
