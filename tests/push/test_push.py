"""`supabase db push` with the real CLI: the same migrations, all the ways a user's project goes."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

import strongroom
from strongroom.supabase_project import emit
from tests.push.releases import (
    NOW,
    complete,
    everything,
    history,
    next_release,
    package,
    pushed,
    rows,
)
from tests.push.supabase_cli import ROOT, VERSION, Project, run_cli
from tests.servers import Database


def test_the_pinned_cli_is_the_one_that_runs(tmp_path: Path) -> None:
    assert run_cli("--version", home=tmp_path).out.strip() == VERSION


def test_a_dry_run_names_the_files_and_writes_nothing(hosted: Database, project: Project) -> None:
    emit(project.folder, now=NOW, migrations=package())
    before = everything(hosted)
    done = project.push(hosted, "--dry-run")
    for name in project.names():
        assert name in done.text
    assert everything(hosted) == before


def test_push_installs_and_pushing_again_does_nothing(hosted: Database, project: Project) -> None:
    emit(project.folder, now=NOW, migrations=package())
    project.push(hosted)
    assert pushed(hosted) == project.names()
    assert history(hosted) == complete(hosted, package())
    before = everything(hosted)
    done = project.push(hosted)
    assert "up to date" in done.text
    assert everything(hosted) == before


def test_the_schema_is_owned_by_postgres_who_is_no_superuser(
    hosted_18: Database, project: Project
) -> None:
    emit(project.folder, now=NOW, migrations=package())
    project.push(hosted_18)
    assert rows(
        hosted_18,
        """
        select distinct r.rolname::text, r.rolsuper
        from pg_namespace as n
        join pg_roles as r on r.oid = n.nspowner
        where n.nspname like 'strongroom%'
        """,
    ) == [("postgres", False)]


def test_a_failing_file_in_the_middle_leaves_nothing_of_itself_and_the_fix_resumes(
    hosted: Database, project: Project
) -> None:
    first, second = package()[0], next_release(package()[:1])
    emit(project.folder, now=NOW, migrations=[first])
    middle = project.write(
        "20270601000000_own.sql", "create table public.half (id int primary key);\nselect 1 / 0;\n"
    )
    emit(project.folder, now=NOW, migrations=[first, second])

    failed = project.push(hosted, expect=None)
    assert failed.code != 0
    assert "division by zero" in failed.text
    assert history(hosted) == complete(hosted, [first])
    assert rows(hosted, "select to_regclass('public.half')") == [(None,)]
    assert len(pushed(hosted)) == 1

    middle.write_text("create table public.half (id int primary key);\n")
    done = project.push(hosted)
    assert project.names()[0] not in done.text
    assert history(hosted) == complete(hosted, [first, second])
    assert pushed(hosted) == project.names()


def test_a_migration_of_ours_that_fails_at_its_end_leaves_nothing(
    hosted: Database, project: Project
) -> None:
    path = emit(project.folder, now=NOW, migrations=package()).written[-1]
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole + "\nselect 1 / 0;\n", encoding="utf-8")
    assert project.push(hosted, expect=None).code != 0
    if len(package()) == 1:
        assert rows(hosted, "select to_regnamespace('strongroom')") == [(None,)]
    else:
        assert history(hosted) == complete(hosted, package()[:-1])

    path.write_text(whole, encoding="utf-8")
    project.push(hosted)
    assert history(hosted) == complete(hosted, package())


def test_emit_into_a_project_with_later_dated_migrations(
    hosted: Database, project: Project
) -> None:
    project.write("20991231235959_own.sql", "create table public.own (id int primary key);")
    project.push(hosted)
    emit(project.folder, now=NOW, migrations=package())
    project.push(hosted)
    assert history(hosted) == complete(hosted, package())
    assert pushed(hosted) == project.names()


def test_the_plain_name_of_today_would_have_been_refused_there(
    hosted_18: Database, project: Project
) -> None:
    """The fault that fresh timestamps avoid is real."""
    project.write("20991231235959_own.sql", "create table public.own (id int primary key);")
    project.push(hosted_18)
    project.write("20270101000000_strongroom_0001_foundation.sql", package()[0].up)
    refused = project.push(hosted_18, expect=None)
    assert refused.code != 0
    assert "--include-all" in refused.text


def test_an_upgrade_pushes_only_what_is_new(hosted: Database, project: Project) -> None:
    released = package()
    emit(project.folder, now=NOW, migrations=released)
    project.push(hosted)
    project.write("20270301000000_own.sql", "create table public.own (id int primary key);")
    project.push(hosted)

    upgrade = [*released, next_release(released)]
    result = emit(project.folder, now=NOW + timedelta(days=1), migrations=upgrade)
    assert len(result.written) == 1
    done = project.push(hosted)
    assert result.written[0].name in done.text
    assert result.present[0].name not in done.text
    assert history(hosted) == complete(hosted, upgrade)
    assert pushed(hosted) == project.names()


def test_one_migration_first_and_the_others_later(hosted: Database, project: Project) -> None:
    everything_released = [*package(), next_release(package())]
    for count in range(1, len(everything_released) + 1):
        emit(project.folder, now=NOW, migrations=everything_released[:count])
        project.push(hosted)
    assert history(hosted) == complete(hosted, everything_released)


async def test_the_schema_manager_sees_what_was_pushed_and_has_nothing_to_do(
    hosted: Database, project: Project
) -> None:
    emit(project.folder, now=NOW, migrations=package())
    async with strongroom.connect(hosted.url(user="postgres"), schema_mode="off") as store:
        assert await store.schema.current_version() == 0
        assert [(c.action, c.version) for c in await store.schema.plan()] == [
            ("apply", migration.version) for migration in package()
        ]
        project.push(hosted)
        assert await store.schema.current_version() == store.schema.target_version()
        assert await store.schema.plan() == ()


async def test_apply_continues_where_a_push_has_ended(hosted: Database, project: Project) -> None:
    emit(project.folder, now=NOW, migrations=package()[:1])
    project.push(hosted)
    async with strongroom.connect(hosted.url(user="postgres"), schema_mode="off") as store:
        assert await store.schema.current_version() == 1
        assert [change.version for change in await store.schema.plan()] == [
            migration.version for migration in package()[1:]
        ]
        await store.schema.apply()
        assert await store.schema.plan() == ()
    assert history(hosted) == complete(hosted, package())


async def test_pushing_where_apply_has_been_says_what_to_do_and_that_works(
    hosted: Database, project: Project
) -> None:
    async with strongroom.connect(hosted.url(user="postgres"), schema_mode="auto"):
        pass
    emit(project.folder, now=NOW, migrations=package())
    before = history(hosted)
    refused = project.push(hosted, expect=None)
    assert refused.code != 0
    assert "strongroom 0001 (foundation) is applied already" in refused.text
    assert "SR041" in refused.text
    assert history(hosted) == before

    command = re.search(r"migration repair --status applied", refused.text)
    assert command, refused.text
    versions = [name.split("_")[0] for name in project.names()]
    project.run(hosted, *command[0].split(), *versions)
    assert "up to date" in project.push(hosted).text
    assert history(hosted) == before


def test_the_database_can_be_reset_and_gets_everything_again(
    hosted_18: Database, project: Project
) -> None:
    emit(project.folder, now=NOW, migrations=package())
    project.push(hosted_18)
    project.run(hosted_18, "db", "reset")
    assert history(hosted_18) == complete(hosted_18, package())


def test_postgrest_is_told_about_every_migration(hosted: Database, project: Project) -> None:
    """A signature that PostgREST has not seen answers PGRST202 until it reloads."""
    released = package()
    with hosted.connect() as listener:
        listener.execute("listen pgrst")
        for known in range(1, len(released) + 2):
            emit(project.folder, now=NOW, migrations=[*released, next_release(released)][:known])
            project.push(hosted)
            told = [n.payload for n in listener.notifies(timeout=10, stop_after=1)]
            assert told == ["reload schema"]


# Without the Supabase CLI: transactions and names.


def test_every_file_runs_between_begin_and_commit(hosted: Database) -> None:
    with psycopg.connect(hosted.url(user="postgres"), autocommit=True) as connection:
        for migration in package():
            connection.execute(f"begin;\n{migration.up};\ncommit;".encode())
    assert history(hosted) == complete(hosted, package())


def test_all_files_run_in_one_transaction(hosted: Database) -> None:
    with psycopg.connect(hosted.url(user="postgres")) as connection:
        assert not connection.autocommit
        for migration in package():
            connection.execute(migration.up.encode())
        connection.rollback()
        assert rows(hosted, "select to_regnamespace('strongroom')") == [(None,)]
        for migration in package():
            connection.execute(migration.up.encode())
    assert history(hosted) == complete(hosted, package())


def test_statement_by_statement_is_refused_before_anything_is_made(hosted: Database) -> None:
    with hosted.connect(user="postgres") as connection:
        start, guard = re.split(r"(?<=;)\n\n", package()[0].up, maxsplit=2)[:2]
        connection.execute(start.encode())
        with pytest.raises(psycopg.Error, match="not being run in one transaction"):
            connection.execute(guard.encode())
    assert rows(hosted, "select to_regnamespace('strongroom')") == [(None,)]


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("sql/migrations", r"(\d{4})_[a-z]+\.up\.sql"),
        ("sql/migrations", r"(\d{4})_[a-z]+\.down\.sql"),
        ("supabase/migrations", r"(\d{14})_strongroom_\d{4}_[a-z]+\.sql"),
    ],
)
def test_names_have_unique_prefixes_of_one_length(folder: str, pattern: str) -> None:
    kind = pattern.rsplit("]+", 1)[1].replace("\\", "")
    names = sorted(path.name for path in (ROOT / folder).glob("*.sql") if path.name.endswith(kind))
    assert len(names) == len(package())
    matches = [re.fullmatch(pattern, name) for name in names]
    assert all(matches), names
    prefixes = [match[1] for match in matches if match]
    assert len(set(prefixes)) == len(prefixes)
    assert sorted(prefixes, key=int) == prefixes  # lexical order is numeric order


def test_there_is_no_down_file_where_the_cli_would_apply_it_as_an_up() -> None:
    assert not list((ROOT / "supabase/migrations").glob("*down*"))


# The seed.

SEEDED = """
    select t.tenant_id, t.name, t.version,
        (select count(*) from strongroom.memberships),
        (select string_agg(m.role, ' ' order by m.position) from strongroom.messages as m)
    from strongroom.tenants as t
"""


def test_the_seed_makes_a_demo_tenant_and_running_it_again_changes_nothing(
    hosted: Database, project: Project
) -> None:
    for name in ("seed.sql", "config.toml"):
        (project.folder / "supabase" / name).write_bytes((ROOT / "supabase" / name).read_bytes())
    emit(project.folder, now=NOW, migrations=package())
    project.push(hosted, "--include-seed")
    wanted = [("demo", "Demo tenant", 1, 2, "user assistant tool assistant")]
    assert rows(hosted, SEEDED) == wanted

    with hosted.connect(user="postgres") as connection:
        connection.execute((ROOT / "supabase/seed.sql").read_bytes())
    assert rows(hosted, SEEDED) == wanted
