"""The schema gets in by every way of installing, on every server, and is the same schema."""

from collections.abc import Callable

import pytest

from tests.servers import Database, Server

# Everything that can differ by who installed it, without the names of the owners.
_WHAT_IS_THERE = """
select 'function' as kind, p.oid::regprocedure::text as name, p.prosecdef::text as detail
from pg_catalog.pg_proc as p
where p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
union all
select 'relation', c.oid::regclass::text, c.relkind::text || c.relrowsecurity || c.relforcerowsecurity
from pg_catalog.pg_class as c
where c.relnamespace::regnamespace::text in ('strongroom', 'strongroom_private')
union all
select 'constraint', k.conrelid::regclass::text || ' ' || k.conname, k.contype::text
from pg_catalog.pg_constraint as k
where k.connamespace::regnamespace::text in ('strongroom', 'strongroom_private')
    and k.contype <> 'n'
order by 1, 2
"""


@pytest.mark.parametrize("variant", ["owner", "owner_bare", "supabase"])
def test_the_schema_is_the_same_however_it_is_installed(
    variant: str, every_server: Server, make_database: Callable[..., Database]
) -> None:
    found = []
    for way in ("superuser", variant):
        database = make_database(way, server=every_server.name)
        with database.connect() as connection:
            found.append(connection.execute(_WHAT_IS_THERE).fetchall())
    assert found[1] == found[0]
    assert {row[0] for row in found[0]} == {"function", "relation", "constraint"}


def test_the_host_role_can_use_the_schema(every_install: Database) -> None:
    with every_install.connect(user=every_install.host) as connection:
        assert connection.execute(
            "select pg_catalog.has_schema_privilege(current_user, 'strongroom', 'usage')"
        ).fetchone() == (True,)
