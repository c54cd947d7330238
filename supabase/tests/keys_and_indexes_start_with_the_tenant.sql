-- A key that starts with the tenant cannot point or collide across tenants, finds its rows without
-- an index on the tenant alone, and lets the schema be distributed by tenant.
begin;
\ir support/stories.psql

create table stories.exempt (relation regclass, reason text);
insert into stories.exempt (relation, reason)
values
    ('strongroom.schema_history', 'the history of the schema belongs to no tenant'),
    ('strongroom_private.grants', 'the grant matrix belongs to no tenant'),
    ('strongroom_private.erasure_rules', 'what tables there are belongs to no tenant'),
    ('strongroom_private.retention_kinds', 'what kinds there are belongs to no tenant');

-- Indexes of dispatchers, which hand out the work of all tenants, and of words, among which the
-- tenant stands: none is unique but that of random keys, so nothing of one tenant can collide with
-- another's.
create table stories.across_tenants (name text, first_column text);
insert into stories.across_tenants (name, first_column)
values
    ('strongroom.runs_by_due_time', 'claimable_at'),
    ('strongroom.memberships_by_principal', 'principal_id'),
    ('strongroom.jobs_by_due_time', 'claimable_at'),
    ('strongroom.change_keys', 'change_key'),
    ('strongroom.ready_jobs', 'queue'),
    ('strongroom.blob_removals_by_due_time', 'due_at'),
    ('strongroom.policies_by_sweep', 'swept_at'),
    ('strongroom_private.chunks_by_term', 'terms');

-- Where the server has pgvector, one for each number of dimensions.
insert into stories.across_tenants (name, first_column)
select
    format('strongroom.%s', c.relname),
    pg_get_indexdef(c.oid, 1, true)
from pg_class as c
where c.relnamespace = 'strongroom'::regnamespace
    and c.relname ~ '^chunks_near_in_[0-9]+_dimensions$';

create table stories.keys as
select
    k.conrelid::regclass as relation,
    k.conname as name,
    k.contype as kind,
    (
        select array_agg(a.attname::text order by c.place)
        from unnest(k.conkey) with ordinality as c (attnum, place)
        inner join pg_attribute as a
            on a.attrelid = k.conrelid
            and a.attnum = c.attnum
    ) as columns,
    k.confrelid::regclass as parent,
    (
        select array_agg(a.attname::text order by c.place)
        from unnest(k.confkey) with ordinality as c (attnum, place)
        inner join pg_attribute as a
            on a.attrelid = k.confrelid
            and a.attnum = c.attnum
    ) as parent_columns
from pg_constraint as k
where k.connamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and k.contype in ('p', 'u', 'f', 'x')
    and k.conrelid::regclass not in (select e.relation from stories.exempt as e);

create table stories.indexes as
select
    i.indrelid::regclass as relation,
    i.indexrelid::regclass as name,
    i.indpred is not null as is_partial,
    i.indisunique as is_unique,
    (
        select array_agg(pg_get_indexdef(i.indexrelid, p, true) order by p)
        from generate_series(1, i.indnkeyatts) as p
    ) as columns
from pg_index as i
inner join pg_class as c on c.oid = i.indrelid
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and i.indrelid::regclass not in (select e.relation from stories.exempt as e);

select plan(
    (select count(*)::integer from stories.keys)
    + (
        select 2 * count(*)::integer
        from stories.keys as k
        where k.kind = 'f'
    )
    + (select 2 * count(*)::integer from stories.indexes)
    + 5
);

select is(
    k.columns[1],
    'tenant_id',
    format('%s: %s starts with the tenant', k.relation, k.name)
)
from stories.keys as k;
select is(
    k.parent_columns[1],
    'tenant_id',
    format('%s: %s leads to the parent of the same tenant', k.relation, k.name)
)
from stories.keys as k
where k.kind = 'f';
select ok(
    exists (
        select
        from stories.indexes as i
        where i.relation = k.relation
            and not i.is_partial
            and i.columns[1:cardinality(k.columns)] = k.columns
    ),
    format('%s: %s is covered by an index', k.relation, k.name)
)
from stories.keys as k
where k.kind = 'f';
select is(
    i.columns[1],
    coalesce(
        (
            select a.first_column
            from stories.across_tenants as a
            where a.name::regclass = i.name
        ),
        'tenant_id'
    ),
    format('%s: %s starts with the tenant, or is known to look across tenants', i.relation, i.name)
)
from stories.indexes as i;
select ok(
    cardinality(i.columns) > 1
    or i.relation = 'strongroom.tenants'::regclass
    or i.columns[1] <> 'tenant_id',
    format('%s: %s has more than the tenant', i.relation, i.name)
)
from stories.indexes as i;

select is(
    (
        select array_agg(i.name)
        from stories.indexes as i
        where i.is_unique
            and i.columns[1] <> 'tenant_id'
            -- Random: the replica identity, which DELETE events show to everybody.
            and i.name <> 'strongroom.change_keys'::regclass
    ),
    null,
    'no rule holds across tenants'
);
select is(
    (
        select array_agg(a.name || ' = ' || b.name)
        from stories.indexes as a
        inner join stories.indexes as b
            on b.relation = a.relation
            and b.name::oid > a.name::oid
            and b.columns = a.columns
            and b.is_partial = a.is_partial
    ),
    null,
    'no index is there twice'
);
select is(
    (
        select array_agg(c.oid::regclass)
        from pg_class as c
        where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and c.relkind in ('r', 'p')
            and not exists (
                select
                from pg_constraint as k
                where k.conrelid = c.oid
                    and k.contype = 'p'
            )
    ),
    null,
    'every table has a primary key'
);
select is(
    (
        select array_agg(a.attrelid::regclass || '.' || a.attname)
        from pg_attribute as a
        inner join pg_class as c on c.oid = a.attrelid
        where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and c.relkind in ('r', 'p')
            and a.attnum > 0
            and a.attname ~ '(^|_)id$'
            and (a.atttypid, a.attcollation::regcollation::text) <> ('text'::regtype, '"C"')
    ),
    null,
    'ids are text in the collation "C"'
);
select is(
    (
        select array_agg(a.attrelid::regclass || '.' || a.attname)
        from pg_attribute as a
        inner join pg_class as c on c.oid = a.attrelid
        where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
            and c.relkind in ('r', 'p')
            and a.attnum > 0
            and (a.attname ~ '_at$') <> (a.atttypid = 'timestamptz'::regtype)
    ),
    null,
    'what is called _at is a timestamptz, and the other way round'
);

select * from finish();
rollback;
