"""No port method without a conformance test that calls it."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

import strongroom
from strongroom.client import Ports
from strongroom.conformance.ledger import PORTS, all_methods, missing
from strongroom.ports import MessageStore

ROOT = Path(__file__).resolve().parents[2]


def run_pytest(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *arguments],
        cwd=ROOT,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_port_method_is_called_by_a_test_that_passes(tmp_path: Path) -> None:
    file = tmp_path / "ledger.json"
    run = run_pytest(
        "-p",
        "strongroom.conformance.ledger",
        "tests/conformance/test_in_memory.py",
        "tests/conformance/test_blob_stores.py",
        STRONGROOM_LEDGER=str(file),
        STRONGROOM_EXAMPLES="1",
    )
    calls = json.loads(file.read_text())
    assert missing(calls) == [], "add a test to strongroom.conformance that calls them"
    assert run.returncode == 0, run.stdout[-4000:]


def test_the_ledger_knows_every_port() -> None:
    attributes = {field.name for field in dataclasses.fields(Ports)} | {"schema", "blobs"}
    assert set(PORTS) == attributes
    protocols = {
        name
        for name, member in vars(strongroom.ports).items()
        if isinstance(member, type) and Protocol in member.__bases__
    }
    assert {port.__name__ for port in PORTS.values()} == protocols
    assert "messages.append" in all_methods()
    assert len(all_methods()) >= 40


def test_a_new_method_of_a_port_is_missed() -> None:
    class Grown(MessageStore, Protocol):
        async def translate(self, *, tenant_id: str) -> None: ...

    called = all_methods()
    assert missing(called) == []
    assert missing(called, {**PORTS, "messages": Grown}) == ["messages.translate"]


ADAPTER = """
import pytest, strongroom
from strongroom.conformance import Adapter
from strongroom.conformance.test_session_state import test_put_patch_clear as test_it

@pytest.fixture
async def adapter():
    async with strongroom.connect("memory:") as store:
        yield Adapter(store=store)

async def test_calls_of_a_failing_test_do_not_count(adapter):
    await adapter.store.tenants.create(tenant_id="a", name="A")
    {end}
"""


@pytest.mark.parametrize("end", ["assert False", "pytest.skip('not today')", "pass"])
def test_only_calls_of_passing_tests_count(tmp_path: Path, end: str) -> None:
    file, module = tmp_path / "ledger.json", tmp_path / "test_adapter.py"
    module.write_text(ADAPTER.format(end=end))
    run = run_pytest(
        "-p",
        "strongroom.conformance.ledger",
        "-c",
        str(ROOT / "pyproject.toml"),
        f"--rootdir={tmp_path}",
        str(module),
        STRONGROOM_LEDGER=str(file),
    )
    calls = json.loads(file.read_text())
    assert {name for name in calls if name.startswith("session_state.")} == {
        "session_state.put",
        "session_state.patch",
        "session_state.clear",
        "session_state.get",
        "session_state.find",
    }
    # One create by the first test, and one by the second when it passes.
    assert calls["tenants.create"] == (2 if end == "pass" else 1)
    assert "NEVER CALLED  conversations.purge" in run.stdout
    assert run.returncode == 1, "the session must fail while a method is missing"
