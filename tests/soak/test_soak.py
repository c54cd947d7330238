"""A minute of it in CI; `make soak SECONDS=600` for longer."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.servers.server import LocalServer
from tests.soak.soak import Soak

SECONDS = float(os.environ.get("STRONGROOM_SOAK_SECONDS", "60"))


@pytest.mark.timeout(SECONDS + 300)
def test_runs_survive_killed_workers_and_a_killed_server(
    durable_server: LocalServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = asyncio.run(Soak(durable_server, tmp_path, SECONDS).run())
    with capsys.disabled():
        print(f"\nsoak: {vars(counts)}")
    assert counts.created > SECONDS / 2
    assert counts.workers_killed >= 5
    assert counts.server_restarts == 1
