"""The catalog query of drift detection: one row (kind, name, definition) for each object.

Any role may run it, in any transaction, without parameters (it holds percent signs). It sets
search_path and the settings of spelling for the rest of that transaction.

Left out on purpose: grants (``strongroom_private.list_grant_differences()`` judges them by the
roles that the server has), ownership, and what a DBA tunes (storage parameters, statistics, which
numbers of dimensions have an index on nearness).
"""

QUERY = r"""
-- How definitions are spelled depends on settings, so they are set first, for the transaction: each
-- definition is computed from a row that is joined with this one.
with fixed as materialized (
    select
        set_config('search_path', 'pg_catalog, pg_temp', true)
            || set_config('quote_all_identifiers', 'off', true)
            || set_config('standard_conforming_strings', 'on', true)
            || set_config('bytea_output', 'hex', true)
            || set_config('timezone', 'UTC', true)
            || set_config('datestyle', 'ISO, MDY', true)
            || set_config('intervalstyle', 'postgres', true) as settings
),
schemas as (
    select
        n.oid,
        n.nspname,
        f.settings is not null as ready
    from pg_catalog.pg_namespace as n
    cross join fixed as f
    where n.nspname in ('strongroom', 'strongroom_private')
),
relations as (
    select
        c.oid,
        c.relkind,
        c.relpersistence,
        c.relreplident,
        c.relrowsecurity,
        c.relforcerowsecurity,
        c.reloptions,
        c.reltype,
        pg_catalog.format('%s.%s', s.nspname, c.relname) as name,
        s.ready
    from pg_catalog.pg_class as c
    inner join schemas as s on s.oid = c.relnamespace
),
columns as (
    select
        a.attrelid,
        a.attnum,
        a.attname::text as name,
        pg_catalog.concat_ws(
            ' ',
            -- The type of an extension, in whatever schema that lives, is its name alone.
            case when r.ready then coalesce(
                (
                    select y.typname::text
                    from pg_catalog.pg_depend as p
                    inner join pg_catalog.pg_type as y on y.oid = p.objid
                    where p.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
                        and p.objid = a.atttypid
                        and p.deptype = 'e'
                ),
                pg_catalog.format_type(a.atttypid, a.atttypmod)
            ) end,
            (
                select pg_catalog.format('collate %I.%I', n.nspname, l.collname)
                from pg_catalog.pg_collation as l
                inner join pg_catalog.pg_namespace as n on n.oid = l.collnamespace
                inner join pg_catalog.pg_type as t on t.oid = a.atttypid
                where l.oid = a.attcollation
                    and a.attcollation <> t.typcollation
            ),
            case when a.attnotnull then 'not null' end,
            'identity ' || nullif(a.attidentity::text, ''),
            'generated ' || nullif(a.attgenerated::text, ''),
            'default ' || case when r.ready then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end
        ) as definition
    from relations as r
    inner join pg_catalog.pg_attribute as a on a.attrelid = r.oid
    left join pg_catalog.pg_attrdef as d
        on d.adrelid = a.attrelid
        and d.adnum = a.attnum
    where a.attnum > 0
        and not a.attisdropped
),
described as (
    select
        'schema' as kind,
        s.nspname::text as name,
        '' as definition,
        pg_catalog.obj_description(s.oid, 'pg_namespace') as remark
    from schemas as s
    union all
    select
        case r.relkind
            when 'v' then 'view'
            when 'r' then 'table'
            when 'c' then 'type'
            when 'S' then 'sequence'
            else 'relation'
        end,
        r.name,
        pg_catalog.concat_ws(
            e'\n',
            pg_catalog.format('%s %s', r.relkind, r.relpersistence),
            case
                when r.relkind in ('r', 'p') then pg_catalog.format(
                    'row security %s, forced %s, replica identity %s',
                    r.relrowsecurity, r.relforcerowsecurity, r.relreplident
                )
            end,
            case
                when r.relkind in ('v', 'm') then pg_catalog.array_to_string(r.reloptions, ', ')
            end,
            (
                select pg_catalog.format(
                    'as %s start %s increment %s from %s to %s cycle %s',
                    pg_catalog.format_type(q.seqtypid, null),
                    q.seqstart,
                    q.seqincrement,
                    q.seqmin,
                    q.seqmax,
                    q.seqcycle
                )
                from pg_catalog.pg_sequence as q
                where q.seqrelid = r.oid
            ),
            case
                when r.relkind not in ('r', 'p', 'S') then (
                    select pg_catalog.string_agg(
                        pg_catalog.format('%s %s', a.name, a.definition), e',\n' order by a.attnum
                    )
                    from columns as a
                    where a.attrelid = r.oid
                )
            end,
            -- PostgreSQL 15 writes c.id where later ones write id, so qualifiers are left out of
            -- the text, and what it reads is listed beside it.
            case
                when r.relkind in ('v', 'm') and r.ready then pg_catalog.regexp_replace(
                    pg_catalog.pg_get_viewdef(r.oid), e'\\m[a-z_0-9]+\\.(?=[a-z_])', '', 'g'
                )
            end,
            case
                when r.relkind in ('v', 'm') then (
                    select pg_catalog.string_agg(distinct i.identity collate "C", ', ')
                    from pg_catalog.pg_rewrite as u
                    inner join pg_catalog.pg_depend as p on p.objid = u.oid
                    cross join pg_catalog.pg_identify_object(
                        p.refclassid, p.refobjid, p.refobjsubid
                    ) as i
                    where u.ev_class = r.oid
                        and p.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
                        and p.deptype = 'n'
                        and p.refobjid <> r.oid
                )
            end
        ),
        case r.relkind
            when 'c' then pg_catalog.obj_description(r.reltype, 'pg_type')
            else pg_catalog.obj_description(r.oid, 'pg_class')
        end
    from relations as r
    where r.relkind not in ('i', 'I', 't')
    union all
    select
        'column',
        pg_catalog.format('%s.%s', r.name, a.name),
        a.definition,
        pg_catalog.col_description(r.oid, a.attnum)
    from relations as r
    inner join columns as a on a.attrelid = r.oid
    -- A view's columns are part of it; what is said of them stands here.
    where r.relkind in ('r', 'p')
        or pg_catalog.col_description(r.oid, a.attnum) is not null
    union all
    select
        'constraint',
        pg_catalog.format('%s.%s', r.name, k.conname),
        pg_catalog.pg_get_constraintdef(k.oid)
            || case when k.convalidated then '' else ' (not validated)' end,
        pg_catalog.obj_description(k.oid, 'pg_constraint')
    from relations as r
    inner join pg_catalog.pg_constraint as k on k.conrelid = r.oid
    -- PostgreSQL 18 lists NOT NULL as constraints; here it belongs to the column everywhere.
    where r.ready
        and k.contype <> 'n'
    union all
    select
        'index',
        r.name,
        pg_catalog.pg_get_indexdef(r.oid) || case when i.indisvalid then '' else ' (not valid)' end,
        pg_catalog.obj_description(r.oid, 'pg_class')
    from relations as r
    inner join pg_catalog.pg_index as i on i.indexrelid = r.oid
    -- Which numbers of dimensions are indexed is the administrator's choice.
    where r.ready
        and r.name !~ '^strongroom[.]chunks_near_in_[0-9]+_dimensions$'
        and not exists (
            select
            from pg_catalog.pg_constraint as k
            where k.conindid = r.oid
                and k.contype <> 'f'
        )
    union all
    select
        'policy',
        pg_catalog.format('%s.%s', r.name, p.polname),
        pg_catalog.format(
            '%s permissive %s to %s using %s check %s',
            p.polcmd,
            p.polpermissive,
            case
                when p.polroles = '{0}' then 'public'
                else (
                    select pg_catalog.string_agg(o.rolname, ', ' order by o.rolname)
                    from pg_catalog.pg_roles as o
                    where o.oid = any (p.polroles)
                )
            end,
            pg_catalog.pg_get_expr(p.polqual, p.polrelid),
            pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)
        ),
        pg_catalog.obj_description(p.oid, 'pg_policy')
    from relations as r
    inner join pg_catalog.pg_policy as p on p.polrelid = r.oid
    where r.ready
    union all
    select
        'trigger',
        pg_catalog.format('%s.%s', r.name, t.tgname),
        pg_catalog.format('%s enabled %s', pg_catalog.pg_get_triggerdef(t.oid), t.tgenabled),
        pg_catalog.obj_description(t.oid, 'pg_trigger')
    from relations as r
    inner join pg_catalog.pg_trigger as t on t.tgrelid = r.oid
    where r.ready
        and not t.tgisinternal
    union all
    select
        'rule',
        pg_catalog.format('%s.%s', r.name, u.rulename),
        pg_catalog.pg_get_ruledef(u.oid),
        pg_catalog.obj_description(u.oid, 'pg_rewrite')
    from relations as r
    inner join pg_catalog.pg_rewrite as u on u.ev_class = r.oid
    where r.ready
        and u.rulename <> '_RETURN'
    union all
    select
        'function',
        pg_catalog.format(
            '%s.%s(%s)', s.nspname, p.proname, pg_catalog.oidvectortypes(p.proargtypes)
        ),
        case
            when p.prokind = 'a' then 'aggregate'
            else pg_catalog.pg_get_functiondef(p.oid)
        end,
        pg_catalog.obj_description(p.oid, 'pg_proc')
    from schemas as s
    inner join pg_catalog.pg_proc as p on p.pronamespace = s.oid
    where s.ready
    union all
    select
        'type',
        pg_catalog.format('%s.%s', s.nspname, t.typname),
        t.typtype::text,
        pg_catalog.obj_description(t.oid, 'pg_type')
    from schemas as s
    inner join pg_catalog.pg_type as t on t.typnamespace = s.oid
    where t.typtype in ('d', 'e', 'r')
)
select
    d.kind,
    d.name,
    d.definition
from described as d
union all
select
    'comment',
    pg_catalog.format('%s %s', d.kind, d.name),
    d.remark
from described as d
where d.remark is not null
order by 1, 2
"""
