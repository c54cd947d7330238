-- strongroom 0008: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '8', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '8';
select strongroom_private.require_transaction(8);
select strongroom_private.begin_reversal(
    8,
    '{
        strongroom.evaluation_cases,
        strongroom.evaluation_case_versions,
        strongroom.evaluation_runs,
        strongroom.evaluation_run_cases,
        strongroom.evaluation_results
    }'
);

drop function strongroom.purge_evaluation_run;
drop function strongroom.purge_evaluation_case;
drop function strongroom.list_evaluation_comparison;
drop function strongroom.compare_evaluation_runs;
drop function strongroom_private.read_mean_scores;
drop function strongroom_private.compare_evaluation_cases;
drop function strongroom.finish_evaluation_run;
drop function strongroom.list_evaluation_results;
drop function strongroom.record_evaluation_results;
drop function strongroom_private.check_result;
drop table strongroom.evaluation_results;
drop function strongroom_private.keep_evaluation_results;
drop function strongroom.list_evaluation_run_cases;
drop function strongroom_private.require_evaluation_run;
drop function strongroom.list_evaluation_runs;
drop function strongroom.start_evaluation_run;
drop function strongroom_private.check_case_references;
drop function strongroom.find_evaluation_run;
drop table strongroom.evaluation_run_cases;
drop view strongroom.evaluation_run_details;
drop table strongroom.evaluation_runs;

drop function strongroom.list_evaluation_cases;
drop function strongroom.set_evaluation_case_archived;
drop function strongroom.update_evaluation_case;
drop function strongroom.create_evaluation_case;
drop function strongroom_private.write_case_version;
drop function strongroom.find_evaluation_case;
drop table strongroom.evaluation_case_versions;
drop table strongroom.evaluation_cases;
drop function strongroom_private.check_payload;

select strongroom_private.finish_reversal(8);
