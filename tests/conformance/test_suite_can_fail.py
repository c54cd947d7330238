"""The suite finds what it is made to find: adapters with one mistake each do not pass it."""

from pathlib import Path

import pytest

from tests.conformance import broken_work
from tests.conformance.broken_adapters import FAULTS
from tests.conformance.test_ledger import ROOT, run_pytest

# Where to look first, so that each run is short; any failure would do.
SECTIONS = {
    **broken_work.SECTIONS,
    "viewer_is_ignored": "permissions or pagination",
    "viewer_is_ignored_in_lists": "permissions",
    "limit_is_clamped": "pagination and limit",
    "backward_is_forward": "pagination and summaries",
    "a_page_is_short": "pagination and members",
    "latest_is_oldest": "messages and latest",
    "last_writer_wins": "session_state",
    "last_writer_wins_on_tenants": "tenants and stale",
    "a_repeat_is_not_said": "messages and repeat",
    "a_conflict_is_not_said": "messages and conflict",
    "text_is_normalised": "text and well_formed or pieces",
    "a_batch_is_not_atomic": "messages and nothing",
    "a_purge_counts_nothing": "conversations and purge",
    "deleting_nothing_succeeds": "deletion",
    "a_fork_copies_everything": "forks",
    "a_history_starts_with_a_result": "summaries and history",
    "a_patch_is_shallow": "session_state and patch",
    "a_unit_saves_half": "transactions",
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_broken_adapter_fails(fault: str) -> None:
    run = run_pytest(
        "tests/conformance/broken_adapters.py",
        "-x",
        "-k",
        SECTIONS[fault],
        BROKEN_ADAPTER=fault,
        STRONGROOM_EXAMPLES="5",
    )
    assert run.returncode == 1, run.stdout[-3000:]
    assert "1 failed" in run.stdout, run.stdout[-3000:]


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
