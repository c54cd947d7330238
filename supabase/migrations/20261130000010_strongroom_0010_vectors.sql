-- GENERATED from strongroom's migration 0010_vectors: do not edit this copy.

-- strongroom 0010: vectors
--
-- Purpose     The part of knowledge that needs pgvector: the embeddings of chunks, and an index on
--             nearness for each common number of dimensions.
-- Without it  Where pgvector 0.8 or newer is missing and cannot be created, this is recorded as
--             skipped, with the reason. Everything else works; search by words, too. Once pgvector
--             is there, `strongroom migrate apply` runs this again, whatever came after it.
-- Where       pgvector may live in any schema; a new one is made in extensions where there is such
--             a schema (Supabase), else in public. The way back leaves it: others may use it.
-- Indexes     Which there are is the administrator's choice: strongroom_private.create_vector_index
--             adds one, and search compares one by one where there is none.

select strongroom_private.begin_migration(10, 'vectors');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '10';
select strongroom_private.require_transaction(10);

do $$
declare
    v_schema text;
    v_version text;
    v_reason text;
    v_dimensions integer;
begin
    if not exists (select from pg_catalog.pg_extension as e where e.extname = 'vector') then
        begin
            execute pg_catalog.format(
                'create extension vector with schema %I',
                case
                    when pg_catalog.to_regnamespace('extensions') is null then 'public'
                    else 'extensions'
                end
            );
        exception
            when insufficient_privilege or feature_not_supported or undefined_file
                or undefined_object or invalid_schema_name
            then
                v_reason := case
                    when exists (
                        select
                        from pg_catalog.pg_available_extensions as a
                        where a.name = 'vector'
                    )
                    then 'this role may not create the extension vector (pgvector) here: '
                        || sqlerrm
                    else 'the server has no pgvector'
                end;
        end;
    end if;
    select
        n.nspname,
        e.extversion
    into
        v_schema,
        v_version
    from pg_catalog.pg_extension as e
    inner join pg_catalog.pg_namespace as n on n.oid = e.extnamespace
    where e.extname = 'vector';
    if v_version is not null
        and pg_catalog.string_to_array(
            pg_catalog.regexp_replace(v_version, '[^0-9.].*$', ''), '.'
        )::integer[] < '{0,8}'
    then
        v_reason := pg_catalog.format('pgvector is %s here, and 0.8 is needed', v_version);
    end if;

    if v_reason is null then
        execute pg_catalog.format(
            'alter table strongroom.chunks add column embedding %I.vector', v_schema
        );
        comment on column strongroom.chunks.embedding is
            'The direction of its content: an embedding of length 1, by the model that the source'
            ' names.';
        -- In the row as long as it fits into a page, where comparing one by one finds it at once.
        alter table strongroom.chunks alter column embedding set storage main;
        foreach v_dimensions in array
            array[256, 384, 512, 768, 1024, 1536, 2048, 2560, 3072]
        loop
            perform strongroom_private.create_vector_index(v_dimensions);
        end loop;
    end if;
    perform strongroom_private.finish_migration(10, 'vectors', v_reason);
end
$$;
