"""The shared conformance suite: what every adapter must pass.

Write a test module with an ``adapter`` fixture, sync or async, and import everything:

    import pytest, strongroom
    from strongroom.conformance import *
    from strongroom.conformance import Adapter

    @pytest.fixture
    async def adapter():
        async with strongroom.connect("memory:") as store:
            yield Adapter(store=store)

It needs ``pip install 'strongroom[conformance]'`` (pytest, pytest-asyncio, hypothesis). A test that needs
a capability which the store does not advertise, or a hook which the fixture does not give, is skipped
with the reason. Names of tests end in the reported faults that they are about: ``pytest -k b41``.
"""

import importlib
import inspect

import pytest

SECTIONS = (
    "isolation",
    "tenants",
    "catalog",
    "conversations",
    "forks",
    "messages",
    "session_state",
    "summaries",
    "runs",
    "run_claims",
    "run_events",
    "run_endings",
    "late_workers",
    "checkpoints",
    "principal_memory",
    "interactions",
    "approvals",
    "usage",
    "audit",
    "artifacts",
    "artifact_versions",
    "artifact_exports",
    "artifact_blobs",
    "tool_outputs",
    "transcripts",
    "memory_sessions",
    "pagination",
    "permissions",
    "deletion",
    "transactions",
    "text",
    "arguments",
    "repeats",
    "evaluations",
    "frameworks",
    "knowledge",
    "knowledge_readers",
    "knowledge_search",
    "knowledge_vectors",
    "jobs",
    "locks",
    "realtime",
    "files",
    "blob_removals",
    "lifecycle",
    "schema",
)
"""One module each, ``test_<section>``; any of them can be imported alone."""

pytest.register_assert_rewrite(
    "strongroom.conformance.helpers",
    "strongroom.conformance.run_helpers",
    *(f"{__name__}.test_{section}" for section in SECTIONS),
)

from strongroom.conformance.adapter import Adapter as Adapter  # noqa: E402 (after the rewriting)
from strongroom.conformance.adapter import LookAtTables as LookAtTables  # noqa: E402


def tests_of(section: str) -> dict[str, object]:
    """Return a section's tests by name, marked for pytest-asyncio in whatever mode it runs."""
    module = importlib.import_module(f"{__name__}.test_{section}")
    tests = {}
    for name, test in vars(module).items():
        if name.startswith("test_"):
            inner = getattr(getattr(test, "hypothesis", None), "inner_test", test)
            if inspect.iscoroutinefunction(inner):
                pytest.mark.asyncio(test)
            tests[f"test_{section}_{name.removeprefix('test_')}"] = test
    return tests


_TESTS = {name: test for section in SECTIONS for name, test in tests_of(section).items()}
globals().update(_TESTS)

__all__ = ["Adapter", "LookAtTables", *_TESTS]  # noqa: PLE0604 (names of tests)
