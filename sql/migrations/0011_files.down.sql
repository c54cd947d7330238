-- strongroom 0011: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '11', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '11';
select strongroom_private.require_transaction(11);
select strongroom_private.begin_reversal(
    11,
    '{
        strongroom.blob_removals,
        strongroom.files,
        strongroom.file_versions
    }'
);

do $$
begin
    -- The bucket stays, with the bytes in it.
    if exists (
        select
        from pg_catalog.pg_policy as p
        inner join pg_catalog.pg_class as c on c.oid = p.polrelid
        inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = 'storage'
            and c.relname = 'objects'
            and p.polname = 'strongroom_readers_read'
    ) then
        execute 'drop policy strongroom_readers_read on storage.objects';
    end if;
end
$$;
drop function strongroom_private.apply_storage;
drop function strongroom_private.may_read_object;
drop function strongroom_private.storage_folder;

drop function strongroom.read_file_queue;
drop function strongroom.schedule_conversation_file_deletion;
drop function strongroom.purge_file;
drop function strongroom.restore_file;
drop function strongroom.soft_delete_file;
drop function strongroom.record_file_extraction;
drop function strongroom.set_file_version_state;
drop function strongroom.list_file_versions_by_state;
drop function strongroom.list_file_versions;
drop function strongroom.find_file_version;
drop function strongroom.add_file_version;
drop function strongroom.list_files;
drop function strongroom.find_file;
drop function strongroom.create_file;
drop function strongroom_private.lock_file;
drop function strongroom_private.require_readable_file;
drop function strongroom_private.check_new_version;
drop function strongroom_private.check_file_path;
drop type strongroom.added_file_version;
drop type strongroom.created_file;
drop view strongroom.file_version_details;
drop view strongroom.file_details;
drop trigger removed_blobs_settle_their_versions on strongroom.blob_removals;
drop function strongroom_private.settle_removed_blob;
drop table strongroom.file_versions;
drop function strongroom_private.may_read_file;
drop table strongroom.files;
drop function strongroom_private.check_file_transition;
drop function strongroom_private.list_file_transitions;

drop function strongroom.read_blob_removal_queue;
drop function strongroom.list_blob_references;
drop function strongroom.list_blob_removals;
drop function strongroom.retry_blob_removals_later;
drop function strongroom.complete_blob_removals;
drop function strongroom.claim_blob_removals;
drop function strongroom.find_blob_removal;
drop function strongroom.schedule_blob_removal;
drop function strongroom_private.check_blob_removals;
drop function strongroom_private.dispatch_blob_removals;
drop function strongroom_private.is_referenced_blob;
drop function strongroom_private.list_reference_columns;
drop function strongroom_private.publish_blob_reference;
drop function strongroom_private.release_referenced_blob;
drop function strongroom_private.hold_referenced_blob;
drop function strongroom_private.keep_blob;
drop function strongroom_private.blob_lock_number;
drop function strongroom_private.schedule_blob_removal;
drop table strongroom.blob_removals;
drop function strongroom_private.check_blob_key;
drop sequence strongroom.blob_removal_tokens;

delete from strongroom_private.grants as g
where g.object_kind = 'sequence'
    and to_regclass(g.object_name) is null;
select strongroom_private.finish_reversal(11);
