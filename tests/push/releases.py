"""The package's migrations as a user's project meets them: this release, and the next one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from strongroom.migrations import Migration, load_migrations
from tests.servers import Database

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def package() -> list[Migration]:
    """The migrations of this checkout, in order."""
    return list(load_migrations())


def next_release(migrations: Sequence[Migration]) -> Migration:
    """One more migration, such as a later release brings: a table with its policy and grants."""
    version = len(migrations) + 1
    return Migration(
        version,
        "novelty",
        f"""
select strongroom_private.begin_migration({version}, 'novelty');
select strongroom_private.require_transaction({version});
create table strongroom.novelties (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    primary key (tenant_id, id)
);
alter table strongroom.novelties enable row level security;
alter table strongroom.novelties force row level security;
create policy tenant_reads on strongroom.novelties for select
using (tenant_id = (select strongroom_private.bound_tenant()));
create function strongroom.count_novelties(p_tenant_id text, p_prefix text default '')
returns table (total bigint) language sql stable set search_path = pg_catalog, pg_temp as $$
    select count(*) from strongroom.novelties as n
    where n.tenant_id = p_tenant_id and starts_with(n.id, p_prefix)
$$;
select strongroom_private.publish_grant(
    'table', '{{strongroom.novelties}}', '{{select}}',
    '{{strongroom_host,service_role,authenticated}}'
);
select strongroom_private.publish_grant(
    'function', '{{strongroom.count_novelties}}', '{{execute}}', '{{strongroom_host,service_role}}'
);
select strongroom_private.publish_erasure_rule(
    'strongroom.novelties', '', 'keep', 'No column names a person.'
);
select strongroom_private.finish_migration({version}, 'novelty');
""",
        down="",
    )


def rows(database: Database, query: str) -> list[tuple[object, ...]]:
    with database.connect() as connection:
        return connection.execute(query).fetchall()


def everything(database: Database) -> list[tuple[object, ...]]:
    """Every row of the catalogs that a migration could touch, with the writing transaction."""
    return rows(
        database,
        """
        select 'class', c.oid, c.xmin::text, c.relname::text from pg_class as c
        union all select 'function', p.oid, p.xmin::text, p.proname::text from pg_proc as p
        union all select 'schema', n.oid, n.xmin::text, n.nspname::text from pg_namespace as n
        union all select 'policy', p.oid, p.xmin::text, p.polname::text from pg_policy as p
        order by 1, 2
        """,
    )


def history(database: Database) -> list[tuple[object, ...]]:
    return rows(
        database, "select version, name, status from strongroom.schema_history order by version"
    )


def complete(database: Database, migrations: Sequence[Migration]) -> list[tuple[object, ...]]:
    """What is recorded when all is done: without pgvector, vectors is recorded as skipped."""
    has_pgvector = bool(rows(database, "select from pg_extension where extname = 'vector'"))
    return [
        (
            migration.version,
            migration.name,
            "applied" if has_pgvector or migration.name != "vectors" else "skipped",
        )
        for migration in migrations
    ]


def pushed(database: Database) -> list[str]:
    found = rows(
        database,
        "select concat(version, '_', name, '.sql')"
        " from supabase_migrations.schema_migrations order by 1",
    )
    return [str(name) for (name,) in found]
