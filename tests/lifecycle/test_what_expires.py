"""What has an end of its own is deleted by the sweep over all tenants, or a list says how it ends."""

from __future__ import annotations

from tests.servers import Database

ENDED_OTHERWISE = {
    "approval_grants": "one that has expired counts no more, and retention removes it",
    "interactions": "any worker, or interactions.expire_due, ends it: somebody waits for the answer",
    "locks": "a lock that has expired is free, of itself",
}


def test_the_sweep_knows_every_table_whose_rows_expire(database: Database) -> None:
    with database.connect() as connection:
        tables = {
            str(name)
            for (name,) in connection.execute(
                "select c.relname from pg_class as c inner join pg_attribute as a on a.attrelid = c.oid"
                " where c.relnamespace = 'strongroom'::regnamespace and c.relkind = 'r'"
                " and a.attname = 'expires_at' and not a.attisdropped"
            ).fetchall()
        }
        swept = {
            str(kind)
            for (kind,) in connection.execute(
                "select kind from strongroom.expire_records(null, 1)"
            ).fetchall()
        }
    assert swept
    assert tables - swept == set(ENDED_OTHERWISE)
    assert swept <= tables
