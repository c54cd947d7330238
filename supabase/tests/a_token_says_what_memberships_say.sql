-- Supabase's hook puts tenant and roles of a membership into app_metadata of the token, and takes
-- out what no membership says. user_metadata is never looked at.
begin;
\ir support/stories.psql
select plan(9);
select stories.found_a_world();
select stories.become_host();
select strongroom.add_member('acme', 'one', '{admin,sales}', 'm-one');
select stories.become_owner();

create function stories.claims(
    p_user text,
    p_app_metadata jsonb,
    p_user_metadata jsonb default '{}'
)
returns jsonb
language sql
as $$
    select strongroom_private.add_token_claims(
        jsonb_build_object(
            'user_id', p_user,
            'claims', jsonb_build_object(
                'sub', p_user, 'app_metadata', p_app_metadata, 'user_metadata', p_user_metadata
            )
        )
    ) #> '{claims,app_metadata}'
$$;
select set_config('role', 'supabase_auth_admin', true);
select is(
    stories.claims('one', '{"provider": "email"}'),
    '{"provider": "email", "tenant_id": "acme", "role_ids": ["admin", "sales"]}',
    'the only membership is taken'
);
select is(
    stories.claims('ada', '{"tenant_id": "globex"}'),
    '{"tenant_id": "globex", "role_ids": ["admin"]}',
    'of several, the one that a host has named'
);
select is(stories.claims('ada', '{}'), '{}', 'of several, and none named: no tenant');
select is(
    stories.claims('one', '{"tenant_id": "globex", "role_ids": ["admin"]}'),
    '{}',
    'a tenant without a membership is taken out, and its roles'
);
select is(
    stories.claims('ada', '{}', '{"tenant_id": "acme"}'),
    '{}',
    'what users write about themselves counts for nothing'
);
select is(stories.claims('nobody', '{"tenant_id": "acme"}'), '{}', 'a stranger gets no tenant');
select is(
    strongroom_private.add_token_claims('{"user_id": "one"}') #>> '{claims,app_metadata,tenant_id}',
    'acme',
    'whatever else is in the event'
);
select is(
    stories.outcome('select * from strongroom.memberships'),
    '42501',
    'Auth itself reads no table'
);
select stories.become_host();
select set_config('strongroom.signing_principal', 'ada', true);
select is_empty(
    $$ select * from strongroom.memberships $$,
    'and the setting alone shows nothing'
);

select * from finish();
rollback;
