-- The reference is generated from COMMENT ON: first a sentence, then, for functions that callers
-- may use, which errors to expect and who may call.
begin;
\ir support/stories.psql

create table stories.objects as
select
    'schema ' || n.nspname as object,
    obj_description(n.oid, 'pg_namespace') as comment
from pg_namespace as n
where n.nspname in ('strongroom', 'strongroom_private')
union all
select
    case c.relkind
        when 'v' then 'view ' when 'i' then 'index ' when 'c' then 'type ' else 'table '
    end || c.oid::regclass,
    case c.relkind
        when 'c' then obj_description(c.reltype, 'pg_type')
        else obj_description(c.oid, 'pg_class')
    end
from pg_class as c
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    -- The index of a constraint is told by the constraint's name.
    and not exists (
        select
        from pg_constraint as k
        where k.conindid = c.oid
    )
union all
select
    'column ' || a.attrelid::regclass || '.' || a.attname,
    col_description(a.attrelid, a.attnum)
from pg_attribute as a
inner join pg_class as c on c.oid = a.attrelid
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and c.relkind in ('r', 'p')
    and a.attnum > 0
    and not a.attisdropped
union all
select
    'function ' || p.oid::regprocedure,
    obj_description(p.oid, 'pg_proc')
from pg_proc as p
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
union all
select
    format('policy %s on %s', p.polname, p.polrelid::regclass),
    obj_description(p.oid, 'pg_policy')
from pg_policy as p
inner join pg_class as c on c.oid = p.polrelid
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
union all
select
    format('trigger %s on %s', t.tgname, t.tgrelid::regclass),
    obj_description(t.oid, 'pg_trigger')
from pg_trigger as t
inner join pg_class as c on c.oid = t.tgrelid
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and not t.tgisinternal
union all
select
    'type ' || t.oid::regtype,
    obj_description(t.oid, 'pg_type')
from pg_type as t
where t.typnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and t.typtype in ('d', 'e', 'r');

select plan((select count(*)::integer from stories.objects) + 3);

select matches(
    o.comment,
    '^\S.*[.](\s|$)',
    format('%s has a comment that is a sentence', o.object)
)
from stories.objects as o;

select is(
    (
        select array_agg(p.proname order by p.proname)
        from pg_proc as p
        where p.pronamespace = 'strongroom'::regnamespace
            and obj_description(p.oid, 'pg_proc') !~ 'Callers: (hosts|the owner)'
    ),
    null,
    'every public function says who may call it'
);
select is(
    (
        select array_agg(p.proname order by p.proname)
        from pg_proc as p
        where p.pronamespace = 'strongroom'::regnamespace
            and has_function_privilege('authenticated', p.oid, 'execute')
            <> (obj_description(p.oid, 'pg_proc') ~ 'Callers: .*users')
    ),
    null,
    'and what it says is what the grants say'
);
select is(
    (
        select array_agg(p.proname order by p.proname)
        from pg_proc as p
        where p.pronamespace = 'strongroom'::regnamespace
            and p.pronargs > 0
            and obj_description(p.oid, 'pg_proc') !~ 'Errors: SR[0-9]{3}(, SR[0-9]{3})*[.]'
    ),
    null,
    'and which errors to expect'
);

select * from finish();
rollback;
