-- strongroom 0003: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '3', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '3';
select strongroom_private.require_transaction(3);
select strongroom_private.begin_reversal(3, '{strongroom.usage_events}');

drop table strongroom.usage_events;

select strongroom_private.finish_reversal(3);
