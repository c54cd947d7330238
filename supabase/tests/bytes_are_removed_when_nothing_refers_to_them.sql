-- Whatever lets go of bytes puts their key on a list, in the same transaction; a key that something
-- refers to leaves the list, and one that is being removed cannot be referred to.
begin;
\ir support/stories.psql
select plan(25);
select stories.found_a_world();

create function stories.keys(p_tenant_id text)
returns text[]
language sql
as $$
    select array_agg(r.blob_key order by r.blob_key)
    from strongroom.list_blob_removals(p_tenant_id) as r
$$;

-- By a purge of whatever kind

select stories.become_host();
select is(stories.keys('acme'), '{orphan}', 'nothing that is referred to is on the list');
select lives_ok(
    $$ select * from strongroom.purge_file('acme', 'shared-file') $$,
    'a file is purged'
);
select is(stories.keys('acme'), '{orphan,shared-file}', 'and its bytes are on the list');
select lives_ok(
    $$ select * from strongroom.purge_conversation('acme', 'open') $$,
    'a conversation is purged'
);
select is(
    stories.keys('acme'),
    '{open-file,orphan,shared-file}',
    'and the bytes of its files are on the list'
);
select lives_ok(
    $$ select * from strongroom.purge_tenant('globex') $$,
    'a tenant is purged'
);
select is(
    stories.keys('globex'),
    '{open-file,orphan,own,private-file,shared-file}',
    'and all of its bytes are on the list, which is still there'
);
select is(
    (select q.waiting from strongroom.read_blob_removal_queue('globex') as q),
    5::bigint,
    'they can be counted'
);

-- By a step of the state machine

select is(
    (
        select v.state
        from strongroom.set_file_version_state(
            'acme', 'private-file', 1, 'stored', 'deleting'
        ) as v
    ),
    'deleting',
    'a version is deleted'
);
select ok('private-file' = any(stories.keys('acme')), 'and its bytes are on the list');
select set_eq(
    $$
        select c.blob_key
        from strongroom.claim_blob_removals('sweep', p_tenant_id => 'acme') as c
    $$,
    array['open-file', 'orphan', 'private-file', 'shared-file'],
    'a sweep claims them'
);
select is(
    stories.message_of(
        $$
            select * from strongroom.create_file(
                'acme', 'ada', 'x', 'x', p_blob_key => 'private-file'
            )
        $$
    ),
    'the bytes under this blob_key are being removed',
    'and nobody can refer to what is being removed'
);
select is(
    (
        select d.outcome
        from strongroom.complete_blob_removals((
            select
                jsonb_agg(jsonb_build_object(
                    'tenant_id', r.tenant_id,
                    'blob_key', r.blob_key,
                    'claim_token', r.claim_token
                ))
            from strongroom.list_blob_removals('acme') as r
            where r.blob_key = 'private-file'
        )) as d
    ),
    'removed',
    'when the bytes are gone'
);
select is(
    (select f.state from strongroom.find_file('acme', 'private-file') as f),
    'deleted',
    'the version is deleted'
);
select is(
    stories.outcome(
        $$
            select * from strongroom.set_file_version_state(
                'acme', 'private-file', 1, 'deleted', 'deleting'
            )
        $$
    ),
    'SR030',
    'and stays so'
);
select stories.become_owner('acme');
select is(
    stories.outcome(
        $$
            update strongroom.file_versions
            set state = 'pending',
                size_bytes = null,
                sha256 = null
            where file_id = 'own'
        $$
    ),
    'SR030',
    'the state machine holds for the owner, too'
);

-- Two that refer to the same bytes

select stories.become_host();
select is(
    (
        select f.state
        from strongroom.create_file(
            'acme', 'ada', 'copy', 'text/plain', p_file_id => 'copy', p_blob_key => 'own'
        ) as f
    ),
    'pending',
    'another file refers to the same bytes'
);
select lives_ok($$ select * from strongroom.purge_file('acme', 'own') $$, 'one of them is purged');
select ok('own' = any(stories.keys('acme')), 'so the key is on the list');
select is_empty(
    $$ select * from strongroom.claim_blob_removals('sweep', p_tenant_id => 'acme') $$,
    'but no sweep is handed it'
);
select ok(not 'own' = any(stories.keys('acme')), 'and it has left the list');
select is(
    stories.outcome('select * from strongroom.schedule_blob_removal(''acme'', ''own'')'),
    'SR030',
    'nobody puts it there by hand'
);
select lives_ok(
    $$
        select * from strongroom.purge_file('acme', 'copy');
        select * from strongroom.create_file(
            'acme', 'ada', 'third', 'text/plain', p_file_id => 'third', p_blob_key => 'own'
        );
    $$,
    'the other one is purged, and a third file refers to the bytes'
);
select ok(not 'own' = any(stories.keys('acme')), 'so the key has left the list again');

-- What a column of another table refers to

select stories.become_owner('acme');
create table stories.pictures (tenant_id text, blob_key text);
select strongroom_private.publish_blob_reference('stories.pictures', 'blob_key');
insert into stories.pictures (tenant_id, blob_key)
values ('acme', 'one');
update stories.pictures
set blob_key = 'two'
where blob_key = 'one';
insert into stories.pictures (tenant_id, blob_key)
values ('acme', null);
delete from stories.pictures
where blob_key = 'two';
select ok(
    stories.keys('acme') @> '{one,two}',
    'one call makes a column refer to bytes'
);

select * from finish();
rollback;
