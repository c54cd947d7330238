"""The servers, templates and the pooler that all other tests stand on do what those believe."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from tests.servers import (
    Database,
    LocalServer,
    PgBouncer,
    Server,
    ServerPark,
    Templates,
    eventually,
    require,
)
from tests.servers.databases import OWNER, VARIANTS, migration_files
from tests.servers.ports import ReservedPort
from tests.servers.requirements import _KNOWN

# What the real migrations do as far as roles are concerned, with a failure where one must be seen.
_FIRST = """
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'strongroom_host')
        and (select rolsuper or rolcreaterole from pg_catalog.pg_roles where rolname = current_user)
    then
        create role strongroom_host nologin;
    end if;
end;
$$;
create schema probe;
create table probe.notes (id int primary key, made_by text not null default current_user);
"""
_SECOND = """
insert into probe.notes (id) values (1), (2);
do $$
begin
    if exists (select from pg_catalog.pg_roles where rolname = 'strongroom_host') then
        grant usage on schema probe to strongroom_host;
        grant select on probe.notes to strongroom_host;
    end if;
end;
$$;
"""


@pytest.fixture(scope="module")
def probe_templates(servers: ServerPark, tmp_path_factory: pytest.TempPathFactory) -> Templates:
    folder = tmp_path_factory.mktemp("migrations")
    (folder / "0002_second.up.sql").write_text(_SECOND)
    (folder / "0001_first.up.sql").write_text(_FIRST)
    (folder / "0002_second.down.sql").write_text("drop table probe.notes;")
    return Templates(servers, migrations=folder)


@pytest.fixture
def probe_database(probe_templates: Templates) -> Iterator[Callable[..., Database]]:
    made: list[Database] = []

    def make(variant: str = "superuser", server: str | None = None) -> Database:
        made.append(probe_templates.copy(variant, server))
        return made[-1]

    yield make
    for database in made:
        database.drop()


def test_each_server_is_the_version_that_its_name_says(every_server: Server) -> None:
    if every_server.name == "outside":
        assert every_server.major >= 15
    else:
        assert every_server.name == f"pg{every_server.major}"
    with every_server.connect() as connection:
        settings = connection.execute(
            "select current_setting('wal_level'), current_setting('max_connections')"
        ).fetchone()
        role = connection.execute("select rolsuper from pg_roles where rolname = current_user")
        assert role.fetchone() == (True,)
    if isinstance(every_server, LocalServer):
        assert settings == ("logical", "200")


def test_a_local_server_runs_without_root_and_listens_on_one_address(
    every_server: Server,
) -> None:
    if not isinstance(every_server, LocalServer):
        pytest.skip("the server is not ours")
    postmaster = psutil.Process(every_server.pid)
    assert postmaster.uids().real != 0
    addresses = {
        connection.laddr.ip
        for connection in postmaster.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}


@pytest.mark.parametrize("variant", ["superuser", "owner", "owner_bare", "supabase"])
def test_a_copy_has_what_the_migrations_made_and_is_alone(
    variant: str, probe_database: Callable[..., Database]
) -> None:
    first = probe_database(variant)
    second = probe_database(variant)
    migrator = VARIANTS[variant].migrator or first.server.superuser
    with first.connect(user=first.migrator) as connection:
        rows = connection.execute("select id, made_by from probe.notes order by id").fetchall()
        assert rows == [(1, migrator), (2, migrator)]
        connection.execute("delete from probe.notes")
    with second.connect(user=second.host) as connection:
        assert connection.execute("select count(*) from probe.notes").fetchone() == (2,)


@pytest.mark.parametrize("variant", ["superuser", "owner", "owner_bare", "supabase"])
def test_no_host_role_can_bypass_row_security(
    variant: str, probe_database: Callable[..., Database]
) -> None:
    database = probe_database(variant)
    with database.connect(user=database.host) as connection:
        assert connection.execute(
            "select rolsuper, rolbypassrls from pg_roles where rolname = current_user"
        ).fetchone() == (False, False)


def test_the_plain_owner_has_no_privilege_that_a_dba_would_not_give(
    probe_database: Callable[..., Database],
) -> None:
    for variant in ("owner", "owner_bare"):
        database = probe_database(variant)
        with database.connect(user=OWNER) as connection:
            assert connection.execute(
                """select r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolcreatedb,
                    d.datdba = r.oid,
                    exists (select from pg_roles where rolname = 'strongroom_host')
                from pg_roles as r, pg_database as d
                where r.rolname = current_user and d.datname = current_database()"""
            ).fetchone() == (False, False, False, False, True, variant == "owner")


def test_a_copy_keeps_the_settings_of_its_template(
    probe_database: Callable[..., Database],
) -> None:
    database = probe_database("supabase")
    with database.connect(user="postgres") as connection:
        assert connection.execute("show search_path").fetchone() == ('"$user", public, extensions',)


def test_the_authenticator_gets_nothing_before_it_sets_a_role(
    probe_database: Callable[..., Database],
) -> None:
    database = probe_database()
    with database.connect(user="authenticator") as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select from probe.notes")
        for role in ("anon", "authenticated", "service_role"):
            connection.execute(f"set role {role}")
    options = "-c role=anon -c request.jwt.claims={}"
    with database.connect(user="authenticator", options=options) as connection:
        assert connection.execute(
            "select current_user, current_setting('request.jwt.claims')"
        ).fetchone() == ("anon", "{}")


def test_a_failing_migration_is_named_and_fails_every_test_that_needs_it(
    servers: ServerPark, tmp_path: Path
) -> None:
    (tmp_path / "0001_good.up.sql").write_text("create schema good;")
    (tmp_path / "0002_bad.up.sql").write_text("create schema bad; select 1 / 0;")
    templates = Templates(servers, migrations=tmp_path)
    with pytest.raises(psycopg.errors.DivisionByZero) as caught:
        templates.copy()
    assert "0002_bad.up.sql" in caught.value.__notes__[0]
    with pytest.raises(pytest.fail.Exception, match="division by zero"):
        templates.copy()


def test_a_folder_without_migrations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no migration"):
        migration_files(tmp_path)


def test_committed_rows_survive_sigkill_and_open_transactions_do_not(
    durable_server: LocalServer,
) -> None:
    server = durable_server
    name = server.create_database()
    with server.connect(name) as connection:
        assert connection.execute("show fsync").fetchone() == ("on",)
        connection.execute("create table rows (id int)")
        connection.execute("insert into rows select generate_series(1, 1000)")
    with closing(psycopg.connect(server.url(name))) as open_transaction:
        open_transaction.execute("insert into rows values (-1)")
        server.kill_hard()
        assert not server.is_running
        with pytest.raises(psycopg.OperationalError):
            server.connect()
        with pytest.raises(psycopg.OperationalError):
            open_transaction.commit()

    server.start()
    with server.connect(name) as connection:
        assert connection.execute("select count(*), min(id) from rows").fetchone() == (1000, 1)
    server.restart()
    with server.connect(name) as connection:
        assert connection.execute("select count(*) from rows").fetchone() == (1000,)
    assert "was not properly shut down" in server.log


def test_pgbouncer_shares_connections_between_transactions(
    probe_database: Callable[..., Database], make_pgbouncer: Callable[..., PgBouncer]
) -> None:
    database = probe_database()
    bouncer = make_pgbouncer(database.server, pool_size=1)
    with (
        psycopg.connect(bouncer.url(database), prepare_threshold=None) as one,
        psycopg.connect(bouncer.url(database), prepare_threshold=None) as other,
    ):
        where = "select pg_backend_pid(), current_user, count(*) from probe.notes"
        found = one.execute(where).fetchone()
        one.commit()  # only now may the other client have the single connection
        assert other.execute(where).fetchone() == found
        other.commit()
        assert found is not None
        assert found[1:] == ("app_host", 2)
    with psycopg.connect(bouncer.url("pgbouncer"), autocommit=True) as console:
        config = {row[0]: row[1] for row in console.execute("show config").fetchall()}
    assert config["pool_mode"] == "transaction"


def test_a_reserved_port_is_not_given_twice() -> None:
    first, second = ReservedPort(), ReservedPort()
    assert first.number != second.number
    first.release()
    second.release()


def test_a_killed_test_run_leaves_no_server_and_no_folder() -> None:
    script = (
        "from tests.servers import ServerPark\n"
        "park = ServerPark()\n"
        "server = park.launch('pg18')\n"
        "print(server.home, server.pid, flush=True)\n"
        "input()\n"
    )
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        home_text, pid = run.stdout.readline().split()
        home = Path(os.fsdecode(home_text))
        postmaster = psutil.Process(int(pid))
        run.send_signal(signal.SIGKILL)
    postmaster.wait(timeout=30)
    eventually(lambda: not home.exists(), f"{home} is removed")


def test_a_missing_system_package_is_a_skip_here_and_a_failure_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(_KNOWN, "a-tool", (["no-such-program"], "apt-get install a-tool"))
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="a-tool is missing: apt-get install a-tool"):
        require("a-tool")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="a-tool is missing: apt-get install a-tool"):
        require("a-tool")
