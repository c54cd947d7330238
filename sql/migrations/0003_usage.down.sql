-- strongroom 0003: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '3', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '3';
select strongroom_private.require_transaction(3);
select strongroom_private.begin_reversal(3, '{strongroom.usage_events}');

drop function strongroom.list_usage_rollup;
drop function strongroom_private.check_time_zone;
drop function strongroom.read_usage_totals;
drop function strongroom_private.sum_usage;
drop function strongroom.list_usage;
drop function strongroom.find_usage;
drop function strongroom_private.read_usage;
drop function strongroom.record_usage;
drop function strongroom_private.write_usage;
drop function strongroom_private.fail_raced_record;
drop function strongroom_private.write_correction;
drop function strongroom_private.check_usage;
drop function strongroom_private.find_usage_problem;
drop function strongroom_private.readable_usage_condition;
drop function strongroom_private.is_readable_usage;

drop table strongroom.usage_events;

select strongroom_private.finish_reversal(3);
