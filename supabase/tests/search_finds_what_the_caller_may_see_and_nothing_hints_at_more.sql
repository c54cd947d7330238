-- Search runs with the owner's rights, so that it can use its indexes. It shows each caller what
-- their subjects admit to, and an invisible chunk changes no count, score or rank.
begin;
\ir support/stories.psql
select plan(40);
select stories.found_a_world();

create function stories.found(p_tenant_id text, p_text text, p_viewer_id text default null)
returns text
language sql
as $$
    select string_agg(
        format('%s %s %s', r.source_id, r.number, round(r.score::numeric, 4)), ', '
        order by r.place
    )
    from strongroom.search_knowledge(
        p_tenant_id, 'private', p_text => p_text, p_viewer_id => p_viewer_id
    ) as r
$$;
grant execute on function stories.found to public;

select stories.become_host();
select is(
    stories.found('acme', 'parcel'),
    'open 1 0.6079, private 1 0.6079',
    'a host finds everything of the tenant it names'
);
select is(
    stories.found('globex', 'acme'),
    null,
    'and nothing of another'
);
select is(
    stories.found('acme', 'parcel', 'bob'),
    'open 1 0.6079',
    'with a viewer what that one may see'
);
select is(
    stories.found('acme', 'parcel', 'ada'),
    'open 1 0.6079, private 1 0.6079',
    'each viewer'
);

-- As two signed-in users of one tenant, and as one of another.

select stories.become_user('ada', 'acme');
select is(
    stories.found('acme', 'parcel'),
    'open 1 0.6079, private 1 0.6079',
    'ada finds her own'
);
select is(
    (
        select array_agg(c.source_id order by c.source_id)
        from strongroom.chunks as c
    ),
    '{open,private}',
    'as the policies show it'
);
select is(
    stories.outcome(
        'select * from strongroom.search_knowledge(''globex'', ''private'', null, ''x'')'
    ),
    'SR021',
    'in no tenant but hers'
);
select is(
    stories.outcome(
        'select * from strongroom.search_knowledge(''acme'', ''private'', p_text => ''parcel'','
        ' p_viewer_id => ''bob'')'
    ),
    'SR020',
    'with no eyes but hers'
);
select is(
    stories.outcome(
        'select * from strongroom_private.search_chunks(''acme'', ''private'', null, ''parcel'','
        ' null, 10, null, null, null, null, ''{boss}'')'
    ),
    'SR020',
    'and no roles but hers, also when she calls the helper itself'
);
select stories.become_user('bob', 'acme');
select is(
    stories.found('acme', 'parcel'),
    'open 1 0.6079',
    'bob does not find what is ada''s'
);
select is(
    (select array_agg(c.source_id) from strongroom.chunks as c),
    '{open}',
    'as the policies show it'
);
select stories.become_user('ada', 'globex');
select is(
    stories.found('globex', 'acme globex'),
    'open 1 0.3040, private 1 0.3040',
    'a user of the same name in the other tenant finds that tenant''s'
);

-- What is added for others changes nothing for bob.

select stories.become_host();
select is(
    (
        select r.outcome
        from strongroom.replace_source(
            'acme', 'private', 'many.md',
            (
                select jsonb_agg(jsonb_build_object('content', 'parcel parcel parcel'))
                from generate_series(1, 50)
            ),
            'many', p_auth_subjects => '{principal:ada,role:admin}'
        ) as r
    ),
    'inserted',
    'fifty better chunks for ada and the admins'
);
select stories.become_user('bob', 'acme');
select is(
    stories.found('acme', 'parcel'),
    'open 1 0.6079',
    'bob''s result is the same, to the score'
);
select is(
    (select count(*) from strongroom.list_sources('acme', 'private')),
    1::bigint,
    'and his list'
);
select stories.become_user('ada', 'acme');
select is(
    (select count(*) from strongroom.search_knowledge('acme', 'private', p_text => 'parcel')),
    10::bigint,
    'ada''s is full'
);

-- Roles: of the membership, and of app_metadata; never of user_metadata.

select stories.become_host();
select is(
    (
        select u.version
        from strongroom.update_source(
            'acme', 'open', '{"auth_subjects": ["role:admin"]}', 1
        ) as u
    ),
    2::bigint,
    'the open source is for admins now'
);
select stories.become_user('ada', 'acme');
select is(
    stories.found('acme', 'open'),
    'open 1 0.6079',
    'ada is one, by her membership'
);
select stories.become_user('bob', 'acme');
select is(stories.found('acme', 'open'), null, 'bob is none');
select stories.become_claimant(
    '{"sub": "bob", "app_metadata": {"tenant_id": "acme", "role_ids": ["admin", 7, null]},'
    ' "user_metadata": {}}'
);
select is(stories.found('acme', 'open'), 'open 1 0.6079', 'unless the token says so');
select stories.become_claimant(
    '{"sub": "bob", "app_metadata": {"tenant_id": "acme", "role_ids": "admin"},'
    ' "user_metadata": {"role_ids": ["admin"]}, "role_ids": ["admin"]}'
);
select is(stories.found('acme', 'open'), null, 'in the right place and form');

-- The table of terms is nobody's.

select is(
    stories.outcome('select * from strongroom_private.chunk_terms'),
    '42501',
    'a user has no right on the table of terms'
);
select stories.become_host('acme');
select is(
    stories.outcome('select * from strongroom_private.chunk_terms'),
    '42501',
    'a host neither'
);
select is(
    stories.outcome('select * from strongroom_private.rank_by_words('
        '''acme'', ''private'', ''parcel'', 1, 0, null, null, null, null)'),
    '42501',
    'nor on what ranks without asking'
);
select stories.become_owner('acme');
select is(
    stories.outcome(
        'select * from strongroom_private.write_terms((select s from strongroom.sources as s'
        ' where s.tenant_id = ''acme'' and s.id = ''open''), ''english'')'
    ),
    '1 row',
    'the owner writes terms of the bound tenant'
);
select stories.become_host('globex');
select is(
    stories.outcome(
        'select strongroom_private.write_terms(row(''acme'', ''open'', ''private'', ''x'', ''x'','
        ' null, null, null, ''{}'', ''{}'', null, null, null, null, 0, 1, null, null, null, now(),'
        ' now())::strongroom.sources, null)'
    ),
    'SR021',
    'a host not those of another, whatever row it makes up'
);
select stories.become_host();
select is(
    stories.found('acme', 'open'),
    'open 1 0.6079',
    'which are still there'
);

-- Who may see what is recorded; erasing a person takes what is theirs alone.

select is(
    (
        select r.outcome
        from strongroom.replace_source(
            'acme', 'private', 'mixed.md',
            '[
                {"content": "for all"},
                {"content": "for ada", "auth_subjects": ["principal:ada"]},
                {"content": "for two", "auth_subjects": ["principal:ada", "principal:bob"]}
            ]',
            'mixed'
        ) as r
    ),
    'inserted',
    'a source with chunks for one and for two'
);
select is(
    (select f.chunk_count from strongroom.find_source('acme', 'mixed') as f),
    3,
    'a host counts all of them'
);
select stories.become_user('bob', 'acme');
select is(
    (
        select d.chunk_count
        from strongroom.source_details as d
        where d.id = 'mixed'
    ),
    2,
    'a user those that they may see'
);
select stories.become_user('cleo', 'acme');
select is(
    (
        select d.chunk_count
        from strongroom.source_details as d
        where d.id = 'mixed'
    ),
    1,
    'and no more'
);
select ok(
    not to_jsonb(s) @? '$.* ? (@ == 3)',
    'nor does any column of the source say how many there are'
)
from strongroom.sources as s
where s.id = 'mixed';
select is(
    strongroom_private.count_chunks_of_user('acme', 'private', 'mixed'),
    0,
    'nor a function'
);
select stories.become_host('acme');
select is(
    (select s.chunk_count from strongroom.soft_delete_source('acme', 'mixed') as s),
    3,
    'it is deleted'
);
select is(
    (select s.version from strongroom.restore_source('acme', 'mixed') as s),
    3::bigint,
    'and comes back'
);
select stories.become_owner('acme');
select set_eq(
    'select a.action, a.record_id from strongroom.audit_events as a where a.record = ''source''',
    $$
        values
            ('source.share', 'open'),
            ('source.delete', 'mixed'),
            ('source.restore', 'mixed')
    $$,
    'what changed who may see a source is in the audit'
);
select is(
    strongroom_private.erase_chunk_subjects('acme', 'ada'),
    2::bigint,
    'one chunk was ada''s alone, one no longer names her'
);
select is(
    (
        select string_agg(format('%s %s', c.number, c.auth_subjects), ', ' order by c.number)
        from strongroom.chunks as c
        where c.tenant_id = 'acme'
            and c.source_id = 'mixed'
    ),
    '1 , 3 {principal:bob}',
    'the others keep their numbers'
);
select is(
    strongroom_private.erase_source_subjects('acme', 'ada'),
    2::bigint,
    'so with sources'
);
select is(
    (
        select string_agg(
            format('%s %s %s', s.id, s.auth_subjects, s.chunk_count), ', ' order by s.id
        )
        from strongroom.source_details as s
        where s.tenant_id = 'acme'
    ),
    'many {role:admin} 50, mixed {tenant} 2, open {role:admin} 1',
    'what was hers alone is gone, and nothing else'
);

select * from finish();
rollback;
