-- strongroom 0014: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '14', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '14';
select strongroom_private.require_transaction(14);
select strongroom_private.begin_reversal(
    14,
    '{
        strongroom.conversation_changes
    }'
);

drop function strongroom.diagnose_realtime;

do $$
begin
    if exists (
        select
        from pg_catalog.pg_policy as p
        where p.polrelid = pg_catalog.to_regclass('realtime.messages')
            and p.polname = 'strongroom_readers_receive'
    ) then
        execute 'drop policy strongroom_readers_receive on realtime.messages';
    end if;
end
$$;

drop trigger followers_are_told on strongroom.topic_events;
drop trigger newcomers_are_told on strongroom.conversation_participants;
drop trigger readers_are_told_of_the_end on strongroom.conversations;
drop trigger readers_are_told_of_changes on strongroom.conversations;
drop trigger readers_are_told_of_new_ones on strongroom.conversations;
drop trigger readers_are_told_of_changes on strongroom.interactions;
drop trigger readers_are_told_of_new_ones on strongroom.interactions;
drop trigger readers_are_told_of_changes on strongroom.runs;
drop trigger readers_are_told_of_new_ones on strongroom.runs;
drop trigger readers_are_told on strongroom.run_events;
drop trigger readers_are_told on strongroom.messages;
drop function strongroom_private.tell_of_topic_events;
drop function strongroom_private.tell_of_participant;
drop function strongroom_private.tell_of_conversation;
drop function strongroom_private.tell_of_interaction;
drop function strongroom_private.tell_of_run;
drop function strongroom_private.tell_of_run_events;
drop function strongroom_private.tell_of_messages;
drop function strongroom_private.apply_realtime;
drop function strongroom_private.may_receive;
drop function strongroom_private.tell_readers;
drop function strongroom_private.write_change;
drop function strongroom_private.send_hint;
drop function strongroom_private.broadcast_hint;
drop function strongroom_private.decode_topic;
drop function strongroom_private.encode_topic;
drop function strongroom_private.is_realtime_there;
drop sequence strongroom_private.failed_hints;
drop table strongroom.conversation_changes;

select strongroom_private.finish_reversal(14);
