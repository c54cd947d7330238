"""How the suite is run here: one event loop a module, and word of what has failed."""

from collections.abc import Generator

import pytest

KEPT_OPEN = {
    *("test_postgresql.py", "test_supabase.py", "test_blocking.py", "test_blocking_api.py"),
    "isolation_on_a_given_database.py",
}
"""Modules whose store stays open from test to test, as it does in a program."""

HAS_FAILED = pytest.StashKey[bool]()
"""Whether the test itself has failed, for the teardown of its fixtures."""


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Let the tests on servers share a loop, and with it an open store; leave out what runs elsewhere."""
    others = [item for item in items if not _is_chosen(item)]
    items[:] = [item for item in items if _is_chosen(item)]
    config.hook.pytest_deselected(items=others)
    for item in items:
        if item.path.name in KEPT_OPEN and item.get_closest_marker("asyncio"):
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)


def _is_chosen(item: pytest.Item) -> bool:
    """Whether a test is one of those that its module has chosen of the suite."""
    is_chosen = getattr(getattr(item, "module", None), "is_chosen", None)
    return is_chosen is None or bool(is_chosen(item.name))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember a failure."""
    report = yield
    if report.when == "call":
        item.stash[HAS_FAILED] = report.failed
    return report
