"""What the tests of `supabase db push` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.push.supabase_cli import Project
from tests.servers import Database


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty Supabase project of this test's own."""
    return Project.create(tmp_path / "app")


@pytest.fixture(params=["pg18", "pg15"])
def hosted(request: pytest.FixtureRequest, make_database: Callable[..., Database]) -> Database:
    """A database like a hosted project's, without strongroom, on PostgreSQL 18 and 15 in turn."""
    return make_database("supabase", server=request.param, installed=False)


@pytest.fixture
def hosted_18(make_database: Callable[..., Database]) -> Database:
    """The same, on PostgreSQL 18 only, for what does not depend on the server."""
    return make_database("supabase", server="pg18", installed=False)
