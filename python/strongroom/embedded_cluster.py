"""One PostgreSQL cluster in a folder: made, started, joined, stopped, whatever died in between."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from . import embedded_watch
from .embedded_system import run_program
from .embedded_watch import SOCKET_PREFIX, LockFile
from .errors import InvalidArgument, Unavailable

_PACE = 0.01
_SOCKET_PATH_MAX = 100  # bytes; the kernel's limit is 107 on Linux and 103 on macOS
_LOCKS = {"start.lock", "users.lock", "server.lock", "watch.lock"}
_OURS = {"data", "data.new", "log", "sockets"} | _LOCKS


class Cluster:
    """A PostgreSQL cluster in a home folder, shared by all processes that open it.

    Attributes:
        home: the folder: ``data``, ``log`` and the lock files of ``embedded_watch``.
        user: the system user that the server runs as; None for the present one.
    """

    def __init__(
        self,
        home: Path,
        binaries: Path,
        *,
        user: pwd.struct_passwd | None,
        superuser: str = "postgres",
        initdb_options: Sequence[str] = (),
        settings: Mapping[str, str | int] | None = None,
        temporary: bool = False,
    ) -> None:
        """Describe a cluster; nothing happens yet.

        Args:
            home: its folder. Made when missing; must else be empty or hold such a cluster.
            binaries: the folder with initdb, pg_ctl and postgres.
            user: the system user for the server, as from ``service_user``.
            superuser: the name of the first database role.
            initdb_options: for initdb, used when the cluster is made.
            settings: lines of postgresql.conf, written at every start.
            temporary: remove the folder when the last user has gone.
        """
        self.home = home
        self.user = user
        self._binaries = binaries
        self._superuser = superuser
        self._initdb_options = list(initdb_options)
        self._settings = dict(settings or {})
        self._temporary = temporary
        self._users: LockFile | None = None
        self._opened_by = 0

    @property
    def pid(self) -> int:
        """The process id of the running server (its postmaster)."""
        return int(embedded_watch.read_pid_file(self.home)[0])

    @property
    def address(self) -> dict[str, str]:
        """Where the running server listens: host (its socket folder, where it has one) and port."""
        lines = embedded_watch.read_pid_file(self.home)
        return {"host": lines[4] or lines[5], "port": lines[3]}

    def conninfo(self, **parameters: str) -> str:
        """Return a connection string for the superuser, with other parameters on top."""
        return make_conninfo(
            "", **{"user": self._superuser, "dbname": "postgres", **self.address, **parameters}
        )

    def start(self, timeout: float = 60.0) -> None:
        """Start the server, or join the one that runs in this folder.

        Args:
            timeout: seconds to wait for the server, and for others who are starting or stopping it.

        Raises:
            InvalidArgument: the folder cannot hold a cluster of this version.
            Unavailable: the server did not start, or another process keeps the folder busy.
        """
        deadline = time.monotonic() + timeout
        try:
            self._open_home()
            lock = LockFile(self.home, "start.lock")
        except OSError as error:
            raise self._bad_home(error) from error
        try:
            if not lock.seize(timeout):
                raise Unavailable(
                    f"another process keeps starting or stopping the server in {self.home}",
                    detail={"path": str(self.home), "waited_seconds": timeout},
                    hint="Try again, or end that process.",
                )
            users = self._users or LockFile(self.home, "users.lock")
            users.share()
            self._users, self._opened_by = users, os.getpid()
            try:
                self._ensure_running(deadline)
                self._ensure_watched()
            except BaseException:
                self._users = None
                embedded_watch.stop_if_unused(self.home, users, temporary=self._temporary)
                raise
        except OSError as error:
            raise self._bad_home(error) from error
        finally:
            lock.close()

    def stop(self, timeout: float = 60.0) -> None:
        """Leave the server, and stop it when no other process uses it."""
        users, self._users = self._users, None
        if (
            users is None or self._opened_by != os.getpid()
        ):  # a forked child leaves its parent's server alone
            return
        try:
            lock = LockFile(self.home, "start.lock")
        except OSError:  # somebody removed the folder
            users.close()
            return
        if lock.seize(timeout):
            embedded_watch.stop_if_unused(self.home, users, temporary=self._temporary)
        else:
            users.close()  # the watcher will stop it
        lock.close()

    def _open_home(self) -> None:
        if not self.home.exists():
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.user:
                os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        there = {entry.name for entry in self.home.iterdir()}
        if there and not there & _OURS:
            raise InvalidArgument(
                f"{self.home} is not empty and holds no embedded server",
                detail={"path": str(self.home), "found": sorted(there)[:5]},
                hint="Name a new or empty folder, or one that an embedded: URL has made.",
            )
        if self.user and self.home.stat().st_uid == 0 and not there:
            os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        if self.user and not self._reaches_home():
            raise InvalidArgument(
                f"{self.user.pw_name}, who runs PostgreSQL for root, cannot enter {self.home}",
                detail={"path": str(self.home), "user": self.user.pw_name},
                hint="Choose a folder outside private ones such as /root: one below /var/lib, say.",
            )

    def _reaches_home(self) -> bool:
        try:
            run_program(["/bin/sh", "-c", 'cd "$1" && test -w .', "sh", str(self.home)], self.user)
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    def _bad_home(self, error: OSError) -> InvalidArgument:
        return InvalidArgument(
            f"{self.home} cannot hold an embedded server: {error.strerror or error}",
            detail={"path": str(self.home), "errno": error.errno},
            hint="Name a folder that this user may create and write, such as embedded:///home/me/strongroom.",
        )

    def _ensure_running(self, deadline: float) -> None:
        server = LockFile(self.home, "server.lock")
        try:
            # Held: a server runs, or one that was killed is still losing its last processes.
            while not server.seize():
                if self._answers():
                    return
                self._check_time(deadline)
            self._ensure_made()
            self._launch(server)
        finally:
            server.close()
        while not self._answers():
            if not embedded_watch.is_held(self.home, "server.lock"):
                raise self._failed("stopped while it was starting")
            self._check_time(deadline)

    def _check_time(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise self._failed("did not answer in time")
        time.sleep(_PACE)

    def _answers(self) -> bool:
        lines = embedded_watch.read_pid_file(self.home)
        if not lines or lines[-1] != "ready":
            return False
        try:
            psycopg.connect(self.conninfo(connect_timeout="5")).close()
        except psycopg.OperationalError:
            return False
        return True

    def _ensure_made(self) -> None:
        data, new = self.home / "data", self.home / "data.new"
        if not (data / "PG_VERSION").exists():
            if data.exists():
                raise InvalidArgument(
                    f"{data} is not the data folder of a PostgreSQL server",
                    detail={"path": str(data)},
                    hint="Restore it from a backup, or name another folder.",
                )
            shutil.rmtree(new, ignore_errors=True)  # of an initdb that was killed
            self._tool("initdb", "-D", str(new), "-U", self._superuser, *self._initdb_options)
            with (new / "postgresql.conf").open("a") as file:
                file.write("include 'strongroom.conf'\n")
            new.rename(data)
        made_by = (data / "PG_VERSION").read_text().strip()
        version = run_program([str(self._binaries / "postgres"), "--version"], self.user).stdout
        if version.split()[2].split(".")[0] != made_by:
            raise InvalidArgument(
                f"{self.home} was made by PostgreSQL {made_by}, and this is {version.split()[2]}",
                detail={"path": str(self.home), "made_by": made_by},
                hint=f"Move the data with pg_dump and pg_restore, or use PostgreSQL {made_by}.",
            )

    def _launch(self, server: LockFile) -> None:
        data = self.home / "data"
        # server.lock is ours, so these are stale. PostgreSQL would believe the pids that they name.
        for stale in (data / "postmaster.pid", *data.glob(".s.PGSQL.*")):
            stale.unlink(missing_ok=True)
        embedded_watch.remove_sockets(self.home)
        settings = {"unix_socket_directories": str(data), **self._settings}
        # The kernel limits the length of a socket's path, and in a list of hosts a comma divides.
        unfit = "," in str(data) or len(os.fsencode(data / ".s.PGSQL.65535")) > _SOCKET_PATH_MAX
        if unfit and "unix_socket_directories" not in self._settings:
            folder = Path(tempfile.mkdtemp(prefix=SOCKET_PREFIX))
            (self.home / "sockets").symlink_to(folder)
            if self.user:
                os.chown(folder, self.user.pw_uid, self.user.pw_gid)
            settings["unix_socket_directories"] = str(folder)
        if settings["unix_socket_directories"]:
            # The setting is a list of folders, and each may be quoted by itself.
            quoted = str(settings["unix_socket_directories"]).replace('"', '""')
            settings["unix_socket_directories"] = f'"{quoted}"'
        lines = [
            f"{name} = '{str(value).replace(chr(39), chr(39) * 2)}'\n"
            for name, value in settings.items()
        ]
        (data / "strongroom.conf").write_text("".join(lines))
        (data / "strongroom.conf").chmod(0o644)
        self._tool(
            "pg_ctl",
            "-W",
            "-D",
            str(data),
            "-l",
            str(self.home / "log"),
            "start",
            pass_fds=[server.fd],
        )

    def _tool(self, name: str, *arguments: str, pass_fds: Sequence[int] = ()) -> None:
        try:
            run_program([str(self._binaries / name), *arguments], self.user, pass_fds=pass_fds)
        except (OSError, subprocess.CalledProcessError) as error:
            output = getattr(error, "stdout", None) or str(error)
            raise self._failed(f"could not be made or started by {name}", output) from error

    def _failed(self, what: str, output: str | None = None) -> Unavailable:
        if output is None:
            with contextlib.suppress(OSError):
                output = (self.home / "log").read_text(errors="replace")
        last = (output or "").strip().splitlines()[-8:]
        fatal = [line for line in last if "FATAL" in line or "PANIC" in line]
        why = (fatal or last or [""])[-1]
        return Unavailable(
            f"the embedded server in {self.home} {what}" + (f": {why}" if why else ""),
            detail={"path": str(self.home), "output": last},
            hint=f"Look at {self.home / 'log'}, and for a full disk or missing memory.",
            retryable=False,
        )

    def _ensure_watched(self) -> None:
        if sys.executable and not embedded_watch.is_held(self.home, "watch.lock"):
            kind = "temporary" if self._temporary else "kept"
            watcher = subprocess.run(  # noqa: S603
                [sys.executable, "-I", "-S", embedded_watch.__file__, str(self.home), kind],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                cwd="/",
            )
            if watcher.returncode:
                raise self._failed("has no watcher", f"{sys.executable} cannot be run")
