"""Real PostgreSQL servers for tests, without containers and without root.

A test asks for a fixture of ``fixtures.py``; the servers start when first asked for and stop with
the session. They live by the embedded server's own machinery (``strongroom.embedded_cluster``), so
a killed pytest leaves nothing behind.

    STRONGROOM_TEST_SERVER=pg16                         another one of ours as the main server
    STRONGROOM_TEST_SERVER=testcontainers               a container (pgvector/pgvector:pg17)
    STRONGROOM_TEST_SERVER=postgresql://superuser@host  yours; databases are made and dropped

Tests log in as several roles without a password, so a server of yours has to trust local logins.
"""

from .catalog import NEWEST_AND_OLDEST, SERVER_NAMES, ServerPark, main_server_name
from .databases import Database, Templates, Variant
from .pgbouncer import PgBouncer
from .requirements import require
from .server import LocalServer, Server
from .waiting import eventually

__all__ = [
    "NEWEST_AND_OLDEST",
    "SERVER_NAMES",
    "Database",
    "LocalServer",
    "PgBouncer",
    "Server",
    "ServerPark",
    "Templates",
    "Variant",
    "eventually",
    "main_server_name",
    "require",
]
