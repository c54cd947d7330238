-- Every refusal has a code of class SR with machine-readable detail and a hint; bodies and comments
-- name only what the registry has.
begin;
\ir support/stories.psql
select plan((select 4 * count(*)::integer from strongroom_private.error_codes()) + 8);

create table stories.bodies as
select
    p.oid::regprocedure::text as function,
    p.prosrc as body,
    obj_description(p.oid, 'pg_proc') as comment
from pg_proc as p
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private');

create function stories.raised(p_name text)
returns text[]
language plpgsql
as $$
declare
    v_detail text;
    v_hint text;
begin
    perform strongroom_private.fail(p_name, 'what happened', '{"path": "x"}', 'what to do');
    return null;
exception
    when others then
        get stacked diagnostics
            v_detail = pg_exception_detail,
            v_hint = pg_exception_hint;
        return array[sqlstate, sqlerrm, v_detail, v_hint];
end
$$;

select matches(e.code, '^SR[0-9]{3}$', format('%s has a code of class SR', e.name))
from strongroom_private.error_codes() as e;
select matches(e.name, '^[a-z]+(_[a-z]+)*$', format('%s has a name in snake case', e.code))
from strongroom_private.error_codes() as e;
select matches(e.meaning, '^[A-Z].*[.]$', format('%s has a meaning that is a sentence', e.code))
from strongroom_private.error_codes() as e;
select is(
    stories.raised(e.name),
    array[e.code, 'what happened', '{"path": "x"}', 'what to do'],
    format('%s is raised with its code, detail and hint', e.name)
)
from strongroom_private.error_codes() as e;

select is(
    (select count(distinct e.code) from strongroom_private.error_codes() as e),
    (select count(*) from strongroom_private.error_codes()),
    'codes are unique'
);
select is(
    (select count(distinct e.name) from strongroom_private.error_codes() as e),
    (select count(*) from strongroom_private.error_codes()),
    'names are unique'
);
select results_eq(
    'select e.name from strongroom_private.error_codes() as e where e.retryable',
    array['unavailable'],
    'one error may be retried as it is'
);
select is(
    (
        select array_agg(b.function || ' ' || r.found[1])
        from stories.bodies as b
        cross join lateral regexp_matches(
            b.body, 'strongroom_private\.fail\(\s*''([a-z_]+)''', 'g'
        ) as r (found)
        where r.found[1] not in (select e.name from strongroom_private.error_codes() as e)
    ),
    null,
    'bodies fail with known names only'
);
select is(
    (
        select array_agg(b.function || ' ' || r.found[1])
        from stories.bodies as b
        cross join lateral regexp_matches(b.comment, '(SR[0-9]{3})', 'g') as r (found)
        where r.found[1] not in (select e.code from strongroom_private.error_codes() as e)
    ),
    null,
    'comments name known codes only'
);
select is(
    (
        select array_agg(b.function || ' ' || e.code)
        from stories.bodies as b
        cross join lateral regexp_matches(
            b.body, 'strongroom_private\.fail\(\s*''([a-z_]+)''', 'g'
        ) as r (found)
        inner join strongroom_private.error_codes() as e on e.name = r.found[1]
        where b.comment ~ 'Errors:'
            and b.comment !~ e.code
    ),
    null,
    'a comment that lists errors lists what the body raises itself'
);
select is(
    (
        select count(*)
        from stories.bodies as b
        where b.body ~ 'strongroom_private\.fail\('
    ) > 20,
    true,
    'and there are bodies to look at'
);
select is(
    stories.outcome('select strongroom_private.fail(''no_such_error'', ''x'', ''{}'', ''x'')'),
    'P0002',
    'an unknown name is a bug that shows at once'
);

select * from finish();
rollback;
