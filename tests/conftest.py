"""What every test can use."""

from tests.servers.fixtures import (
    database,
    durable_server,
    empty_database,
    every_database,
    every_install,
    every_server,
    make_database,
    make_pgbouncer,
    pytest_report_header,
    server,
    servers,
    templates,
)

__all__ = [
    "database",
    "durable_server",
    "empty_database",
    "every_database",
    "every_install",
    "every_server",
    "make_database",
    "make_pgbouncer",
    "pytest_report_header",
    "server",
    "servers",
    "templates",
]
