"""PgBouncer in transaction mode before any of the servers."""

import os
import subprocess
import tempfile
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote

import psycopg

from strongroom.embedded_system import service_user

from .databases import Database
from .ports import ReservedPort
from .requirements import require
from .server import Server
from .waiting import eventually

_USERS = ("app_host", "authenticator", "plain_owner", "postgres", "strongroom_host")

# The shell ends PgBouncer when our end of the pipe closes, whatever closed it.
_LEASH = '"$@" <&- & read -r _; kill -TERM $!; wait $!'


class PgBouncer:
    """A running PgBouncer: a small pool per user and database, so that clients share connections.

    Attributes:
        server: the PostgreSQL server behind it.
        port: where it listens on 127.0.0.1.
    """

    def __init__(self, server: Server, *, pool_size: int = 4, **settings: str | int) -> None:
        """Start it.

        Args:
            server: the server behind it.
            pool_size: server connections for each user and database.
            **settings: more lines of its configuration, or other values for those below.
        """
        program = require("pgbouncer")
        self.server = server
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self.home = Path(tempfile.mkdtemp(prefix="strongroom-pgbouncer-"))
        user = service_user()
        lines = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": self.home / "users.txt",
            "admin_users": server.superuser,
            "logfile": self.home / "log",
            "pool_mode": "transaction",
            "default_pool_size": pool_size,
            "max_client_conn": 200,
            "server_tls_sslmode": "disable",
            **settings,
        }
        users = {*_USERS, server.superuser}
        (self.home / "users.txt").write_text("".join(f'"{name}" ""\n' for name in sorted(users)))
        (self.home / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={server.host} port={server.port}\n[pgbouncer]\n"
            + "".join(f"{name} = {value}\n" for name, value in lines.items())
        )
        if user:
            for path in (self.home, *self.home.iterdir()):
                os.chown(path, user.pw_uid, user.pw_gid)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _LEASH, "sh", str(program), "-q", str(self.home / "pgbouncer.ini")],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
        )
        try:
            self._await_ready()
        except BaseException:
            self.close()
            raise

    def url(self, database: Database | str, *, user: str | None = None) -> str:
        """Return a URL through the pooler; without a user, the host's (a name: the superuser's)."""
        if isinstance(database, Database):
            name, default = database.name, database.host
        else:
            name, default = database, self.server.superuser
        return f"postgresql://{quote(user or default)}@127.0.0.1:{self.port}/{quote(name)}"

    def _await_ready(self) -> None:
        log = self.home / "log"
        try:
            eventually(self._answers, "pgbouncer answers", timeout=15)
        except AssertionError as error:
            error.add_note(log.read_text() if log.exists() else "it wrote no log")
            raise

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("pgbouncer"), autocommit=True).close()
        except psycopg.OperationalError:
            return False
        return True

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait(timeout=15)
        self._reserved.release()
        rmtree(self.home, ignore_errors=True)
