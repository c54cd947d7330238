"""What every test can use."""

import importlib.util

import pytest

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


_HAS_FRAMEWORKS = importlib.util.find_spec("claude_agent_sdk") is not None
# They have an environment of their own: `make test-frameworks`.
collect_ignore = [] if _HAS_FRAMEWORKS else ["frameworks"]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say which tests of a parallel run belong together: those of a file, or of a place in it.

    The suite on all servers is one file and most of all tests: it is shared out by server.
    """
    parameters = (
        item.callspec.params
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        else {}
    )
    place = f"-{parameters['place']}" if "place" in parameters else ""
    item.add_marker(
        pytest.mark.xdist_group(f"{item.path.relative_to(item.config.rootpath)}{place}")
    )
