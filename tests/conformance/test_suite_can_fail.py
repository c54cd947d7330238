"""The suite finds what it is made to find: adapters with one mistake each do not pass it."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.conformance.broken_adapters import FAULTS, SECTIONS
from tests.conformance.test_ledger import ROOT, run_pytest


def test_every_broken_adapter_fails(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    run = run_pytest(
        "tests/conformance/broken_adapters.py",
        f"--junit-xml={report}",
        STRONGROOM_EXAMPLES="5",
    )
    assert run.returncode == 1, run.stdout[-3000:]
    ends: dict[str, set[str]] = {"failure": set(), "error": set()}
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 (pytest wrote it)
        for child in case:
            ends.setdefault(child.tag, set()).add(str(case.get("name")))
    # A test that has failed in the middle may leave a coroutine that nobody awaits.
    assert ends["error"] <= ends["failure"], "a test could not even be set up"
    words = {word for name in ends["failure"] for word in re.split(r"[][-]", name)}
    found = set(FAULTS) & words
    assert set(SECTIONS) == set(FAULTS)
    assert set(FAULTS) - found == set(), "nothing finds these faults"


STRANGER = """
import pytest_asyncio, strongroom
from strongroom.conformance import *
from strongroom.conformance import Adapter

@pytest_asyncio.fixture
async def adapter():
    async with strongroom.connect("memory:") as store:
        yield Adapter(store=store)
"""


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_the_suite_runs_in_a_project_that_is_not_ours(tmp_path: Path, mode: str) -> None:
    (tmp_path / "test_mine.py").write_text(STRANGER)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\nasyncio_mode = {mode}\naddopts = --strict-markers\nfilterwarnings = error\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    run = run_pytest(
        "-c",
        str(tmp_path / "pytest.ini"),
        f"--rootdir={tmp_path}",
        str(tmp_path),
        "-k",
        "session_state or transactions_without",
        "-rs",
        STRONGROOM_EXAMPLES="2",
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
    assert "SKIPPED" in run.stdout, "a skip must show its reason"
    assert "this adapter has transactions" in run.stdout
    assert ROOT not in tmp_path.parents
