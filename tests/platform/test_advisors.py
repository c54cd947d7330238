"""The full list of Supabase's advisors is clean, and each of them can fail."""

from __future__ import annotations

import pytest

from tests.platform.advisors import ADVISORS, Advisor
from tests.servers import Database

each = pytest.mark.parametrize("advisor", ADVISORS, ids=lambda advisor: advisor.name)


@each
def test_nothing_is_found(hosted: Database, advisor: Advisor) -> None:
    with hosted.connect() as connection:
        assert connection.execute(advisor.query).fetchall() == []


@each
def test_an_offence_is_found(hosted: Database, advisor: Advisor) -> None:
    with hosted.connect() as connection:
        connection.execute(advisor.violation)
        found = [text for (text,) in connection.execute(advisor.query)]
    assert any(advisor.expects in text for text in found), found
