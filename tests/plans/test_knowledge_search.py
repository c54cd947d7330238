"""Search uses its indexes as the row-secured role, is exact where that is right, and is never short."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.servers.databases import Database, Templates, dropped_after

DIMENSIONS = 16
LARGE, SMALL, OTHERS = 12_000, 1_000, 7_000
PER_SOURCE = 50
ROOM = "100, 100"
LOAD = (
    "select strongroom.create_tenant(t, t) from unnest('{large,small,others}'::text[]) as t",
    f"""
    select strongroom.create_collection(
        t, 'docs', 'docs', 'simple', 'model', '1', {DIMENSIONS}
    )
    from unnest('{{large,small,others}}'::text[]) as t
    """,
    # Foreign keys are right by construction; everything else is checked as always.
    "set session_replication_role = replica",
    "select setseed(0.5)",
    f"""
    insert into strongroom.sources (
        tenant_id, id, collection_id, external_ref, source_type, auth_subjects, embedding_model,
        embedding_version, embedding_dimensions, open_chunk_count
    )
    select v.tenant_id, 's' || i, 'docs', 's' || i, 't' || i % 10,
        case when i % 2 = 0 then '{{tenant}}'::text[] else '{{role:staff}}' end,
        'model', '1', {DIMENSIONS}, {PER_SOURCE}
    from (values ('large', {LARGE}), ('small', {SMALL}), ('others', {OTHERS})) as v (tenant_id, n)
    cross join lateral generate_series(1, v.n / {PER_SOURCE}) as i
    """,
    f"""
    insert into strongroom.chunks (tenant_id, collection_id, source_id, number, content, embedding)
    select s.tenant_id, 'docs', s.id, n, 'word' || hashtext(s.id || n) % 3000 || ' common',
        public.l2_normalize((
            select array_agg(random() - 0.5 + 0 * (n + d))::real[]
            from generate_series(1, {DIMENSIONS}) as d
        )::public.vector)
    from strongroom.sources as s
    cross join generate_series(1, {PER_SOURCE}) as n
    """,
    """
    insert into strongroom_private.chunk_terms (tenant_id, collection_id, source_id, number, terms)
    select c.tenant_id, c.collection_id, c.source_id, c.number, format(
        '''%s'':1 ''%s'':1 ''common'':2',
        strongroom_private.encode_scope('c', c.tenant_id, c.collection_id),
        split_part(replace(c.content, '-', ''), ' ', 1)
    )::tsvector
    from strongroom.chunks as c
    """,
    f"select strongroom_private.create_vector_index({DIMENSIONS})",
    "set session_replication_role = origin",
    "vacuum analyze strongroom.sources",
    "vacuum analyze strongroom.chunks",
    "vacuum analyze strongroom_private.chunk_terms",
)
NEARNESS = f"chunks_near_in_{DIMENSIONS}_dimensions"


def load(database: Database) -> None:
    """Fill three tenants; the terms are what encode_terms would make of the contents."""
    with database.connect() as connection:
        for statement in LOAD:
            connection.execute(statement.encode())


@pytest.fixture(scope="module")
def filled(templates: Templates) -> Iterator[Database]:
    with dropped_after(templates.copy()) as database:
        load(database)
        yield database


@pytest.fixture
def host(filled: Database) -> Iterator[psycopg.Connection]:
    """The row-secured role: neither superuser nor BYPASSRLS."""
    with filled.connect(user=filled.host) as connection:
        yield connection


def vector(seed: int) -> str:
    source = random.Random(seed)
    return json.dumps([source.gauss(0, 1) for _ in range(DIMENSIONS)])


def search(
    connection: psycopg.Connection, tenant: str, **options: Any
) -> list[tuple[str, int, float, str | None]]:
    arguments = {"p_tenant_id": tenant, "p_collection_id": "docs", **options}
    names = ", ".join(f"{name} => %s" for name in arguments)
    return connection.execute(
        f"select source_id, number, score, vector_method from strongroom.search_index({names})".encode(),
        [*arguments.values()],
    ).fetchall()


def uses(database: Database) -> dict[str, int]:
    """How often each index of chunks and their terms, and each table as a whole, has been read."""
    with database.connect() as connection:
        connection.execute("select pg_stat_force_next_flush()")
        rows = connection.execute(
            "select indexrelname::text, idx_scan from pg_stat_user_indexes"
            " where relname in ('chunks', 'chunk_terms')"
            " union all select 'scan of ' || relname, seq_scan from pg_stat_user_tables"
            " where relname in ('chunks', 'chunk_terms', 'sources')"
        ).fetchall()
    return dict(rows)


def used_by(
    database: Database, connection: psycopg.Connection, *searches: dict[str, Any]
) -> set[str]:
    before = uses(database)
    for one in searches:
        search(connection, **one)
    connection.execute("select pg_stat_force_next_flush()")
    after = uses(database)
    return {name for name, count in after.items() if count > before[name]}


def test_a_large_collection_is_searched_by_the_index(
    filled: Database, host: psycopg.Connection
) -> None:
    used = used_by(filled, host, {"tenant": "large", "p_embedding": vector(1)})
    assert NEARNESS in used
    assert not [name for name in used if name.startswith("scan of")]
    recalls = []
    for seed in range(20):
        found = search(host, "large", p_embedding=vector(seed))
        assert {method for *_, method in found} == {"index"}
        assert len(found) == 10
        scores = [score for _, _, score, _ in found]
        assert scores == sorted(scores, reverse=True)
        with filled.connect() as connection:
            exact = connection.execute(
                "select c.source_id, c.number from strongroom.chunks as c"
                " where c.tenant_id = 'large'"
                " order by c.embedding::text::vector <#> l2_normalize(%s::vector) limit 10",
                [vector(seed)],
            ).fetchall()
        recalls.append(len({(s, n) for s, n, *_ in found} & {*exact}) / 10)
    assert sum(recalls) / len(recalls) >= 0.95


def test_a_small_collection_is_searched_exactly(filled: Database, host: psycopg.Connection) -> None:
    used = used_by(filled, host, {"tenant": "small", "p_embedding": vector(1)})
    assert NEARNESS not in used
    assert not [name for name in used if name.startswith("scan of")]
    for seed in range(5):
        found = search(host, "small", p_embedding=vector(seed), p_limit=500)
        assert (len(found), {method for *_, method in found}) == (500, {"exact"})


@pytest.mark.parametrize(
    ("options", "count", "method"),
    [
        ({"p_limit": 10}, 10, "index"),
        ({"p_source_types": ["t3"], "p_limit": 50}, 50, "exact"),
        # A reader is not told, since it depends on what they may not see.
        ({"p_viewer_id": "ada", "p_limit": 10}, 10, None),
        ({"p_viewer_id": "ada", "p_viewer_role_ids": ["staff"], "p_limit": 10}, 10, None),
        # Of the metadata no statistics are kept: the index finds nothing, so all are looked at.
        ({"p_metadata": '{"rare": 1}', "p_limit": 10}, 2, "index, then exact"),
        ({"p_min_score": 0.99, "p_limit": 10}, 0, None),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_it_is_never_short(
    filled: Database,
    host: psycopg.Connection,
    options: dict[str, Any],
    count: int,
    method: str | None,
) -> None:
    with filled.connect() as connection:
        connection.execute(
            "update strongroom.chunks set metadata = '{\"rare\": 1}' where tenant_id = 'large'"
            " and source_id = 's9' and number in (7, 8)"
        )
    found = search(host, "large", p_embedding=vector(77), **options)
    assert len(found) == count
    assert {one for *_, one in found} == ({method} if count else set())
    by_index = NEARNESS in used_by(
        filled, host, {**options, "tenant": "large", "p_embedding": vector(77)}
    )
    assert by_index == (method != "exact")


def test_the_settings_are_given_back(filled: Database, host: psycopg.Connection) -> None:
    with host.transaction():
        host.execute("select '[1]'::public.vector")
        host.execute("set local hnsw.ef_search = 77")
        found = search(host, "large", p_embedding=vector(3))
        assert found[0][3] == "index"
        names = ("hnsw.ef_search", "hnsw.iterative_scan", "enable_sort")
        shown = [host.execute(f"show {name}".encode()).fetchone() for name in names]
    assert shown == [("77",), ("off",), ("on",)]


@pytest.fixture(scope="module")
def plainly_owned(templates: Templates) -> Iterator[Database]:
    """Owned by a plain role, whom row security binds, too."""
    with dropped_after(templates.copy("owner_bare")) as database:
        load(database)
        yield database


@pytest.mark.parametrize("whose", ["filled", "plainly_owned"])
def test_words_are_looked_up_in_their_index(whose: str, request: pytest.FixtureRequest) -> None:
    """Also where the owner is bound by row security, which forbids that for ordinary conditions."""
    database: Database = request.getfixturevalue(whose)
    with database.connect(user=database.host) as connection:
        used = used_by(
            database,
            connection,
            {"tenant": "large", "p_text": "word7"},
            {"tenant": "large", "p_text": "word8 word9 nothing"},
        )
        assert "chunks_by_term" in used
        assert not [name for name in used if name.startswith("scan of")]
        plan = connection.execute(
            "explain (analyze, buffers, format json)"
            " select * from strongroom.search_index('large', 'docs', 'word7')"
        ).fetchone()
        assert plan is not None
        measured = plan[0][0]["Plan"]
        # Of 12,000 chunks of the tenant and 20,000 in the table.
        assert measured["Shared Hit Blocks"] + measured["Shared Read Blocks"] < 250
        assert len(search(connection, "large", p_text="common", p_limit=500)) == 500
