-- A token without a sound tenant shows no rows and may write nothing: not a default tenant, not a
-- cast error. Also on a connection that has served a sound token before.
begin;
select set_config('strongroom.tenant_id', 'acme', true);
select set_config(
    'request.jwt.claims', '{"sub": "ada", "app_metadata": {"tenant_id": "acme"}}', true
);
rollback;

begin;
\ir support/stories.psql

create table stories.damaged_claims (claims text, meaning text);
insert into stories.damaged_claims (claims, meaning)
values
    (null, 'no claims'),
    ('', 'empty claims'),
    ('{}', 'claims that say nothing'),
    ('{"sub": "ada"}', 'claims without a tenant'),
    ('{"sub": "ada", "tenant_id": "acme"}', 'a tenant outside app_metadata'),
    ('{"sub": "ada", "user_metadata": {"tenant_id": "acme"}}', 'a tenant in user_metadata'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": ""}}', 'an empty tenant'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": null}}', 'a null tenant'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": 7}}', 'a number as tenant'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": ["acme"]}}', 'an array of tenants'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": {"id": "acme"}}}', 'an object as tenant'),
    ('{"sub": "ada", "app_metadata": "acme"}', 'app_metadata that is a text'),
    ('{"sub": "ada", "app_metadata": [{"tenant_id": "acme"}]}', 'app_metadata that is an array'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": "not-a-tenant"}}', 'a tenant that is none'),
    (
        format('{"sub": "ada", "app_metadata": {"tenant_id": %s}}', to_json(repeat('a', 256))),
        'a tenant that is too long'
    ),
    ('[{"sub": "ada", "app_metadata": {"tenant_id": "acme"}}]', 'an array of claims'),
    ('"acme"', 'claims that are a text'),
    ('7', 'claims that are a number'),
    ('null', 'claims that are null'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": "acme"}', 'claims that are cut off'),
    ('acme', 'claims that are not JSON'),
    ('{"sub": "ada", "app_metadata": {"tenant_id": "\u0000"}}', 'a tenant with a null character');

-- Nor does a tenant without a principal make a caller.
insert into stories.damaged_claims (claims, meaning)
values
    ('{"app_metadata": {"tenant_id": "acme"}}', 'no sub'),
    ('{"sub": "", "app_metadata": {"tenant_id": "acme"}}', 'an empty sub'),
    ('{"sub": null, "app_metadata": {"tenant_id": "acme"}}', 'a null sub'),
    ('{"sub": ["ada"], "app_metadata": {"tenant_id": "acme"}}', 'an array as sub'),
    ('{"sub": 7, "app_metadata": {"tenant_id": "acme"}}', 'a number as sub');
grant select on stories.damaged_claims to public;

select plan(
    (
        select (4 * count(*))::integer
        from stories.damaged_claims
        cross join stories.tables()
    )
    + (
        select (3 * count(*))::integer
        from stories.damaged_claims
    )
    + 1
);
select stories.found_a_world();

select stories.become_user('ada', 'acme');
select isnt_empty(
    'select * from strongroom.conversations',
    'a sound token sees rows, on this very connection'
);

select is(
    stories.outcome_for(c.claims, format('select * from %s', t)),
    case when stories.is_for_hosts_alone(t) then '42501' else '0 rows' end,
    format('%s: no rows in %s', c.meaning, t)
)
from stories.damaged_claims as c
cross join stories.tables() as t;
select is(
    stories.outcome_for(c.claims, stories.insertion(t, 'acme')),
    '42501',
    format('%s: no insert into %s', c.meaning, t)
)
from stories.damaged_claims as c
cross join stories.tables() as t;
select is(
    stories.outcome_for(c.claims, format('update %s set tenant_id = tenant_id where true', t)),
    '42501',
    format('%s: no update of %s', c.meaning, t)
)
from stories.damaged_claims as c
cross join stories.tables() as t;
select is(
    stories.outcome_for(c.claims, format('delete from %s where true', t)),
    '42501',
    format('%s: no delete from %s', c.meaning, t)
)
from stories.damaged_claims as c
cross join stories.tables() as t;

select is(
    stories.outcome_for(
        c.claims,
        'select * from strongroom.list_conversations(''acme'')'
    ),
    case c.meaning when 'a tenant that is none' then 'SR021' else 'SR020' end,
    format('%s: lists are refused with a typed error', c.meaning)
)
from stories.damaged_claims as c;
select is(
    stories.outcome_for(
        c.claims,
        'select * from strongroom.create_conversation(''acme'', ''ada'', ''stolen'')'
    ),
    case c.meaning when 'a tenant that is none' then 'SR021' else 'SR020' end,
    format('%s: creating is refused with a typed error', c.meaning)
)
from stories.damaged_claims as c;
select is(
    stories.outcome_for(
        c.claims,
        'select * from strongroom.list_conversations(''not-a-tenant'')'
    ),
    'SR020',
    format('%s: nor is there a tenant of that name', c.meaning)
)
from stories.damaged_claims as c;

select * from finish();
rollback;
