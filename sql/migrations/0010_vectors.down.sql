-- strongroom 0010: the way back. Refuses while chunks may have embeddings, unless data loss is
-- allowed. pgvector itself stays.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '10', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '10';
select strongroom_private.require_transaction(10);
select strongroom_private.begin_reversal(
    10,
    case
        when strongroom_private.find_vector_schema() is not null
        then '{
            strongroom.chunks
        }'::text[]
        else '{}'
    end
);

-- Its indexes go with the column. Sources no longer say that they are embedded.
alter table strongroom.chunks drop column if exists embedding;
alter table strongroom.sources no force row level security;
update strongroom.sources
set embedding_model = null,
    embedding_version = null,
    embedding_dimensions = null,
    stored_digest = null
where embedding_model is not null;
alter table strongroom.sources force row level security;

select strongroom_private.finish_reversal(10);
