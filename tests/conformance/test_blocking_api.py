"""The suite on the blocking API over Supabase's, with the real blocking client.

What the ports do there is said by test_supabase.py, and that the blocking ones do the same by
test_blocking.py. So of each guarantee that the way itself could break a few tests run here: errors and their
kinds, pages and cursors, text, writers at once in threads, users and their tokens, what it cannot do. With
STRONGROOM_TEST_WHOLE_SUITE=1 all of it runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest_asyncio

import strongroom.conformance as suite
import strongroom.sync
from strongroom import client
from strongroom.conformance import Adapter
from tests.conformance.adapters import Project
from tests.conformance.blocking_store import entered, presented
from tests.conformance.test_supabase import project  # noqa: F401 (a fixture)

CHOSEN = {
    "session_state_(?!a_patch_is).*": "",
    "pagination_(pages_hold|ties|a_damaged|a_cursor_survives|a_limit).*": "messages]",
    "text_(keys|one_bad|text_that_looks|the_replacing).*": "",
    "text_text_that_cannot.*": "messages[0].parts[0].text]",
    "isolation_a_users_lists_show_their_tenant": "",
    "isolation_a_user_of_another_tenant_reads_nothing": "messages.list]",
    "isolation_row_security_shows_a_user.*": "",
    "realtime_a_subscriber_(sees|from_now).*": "",
    "transactions_without_the_capability.*": "",
    "schema_(the_schema_is_at|health).*": "",
}
"""Tests that run here -> what their parameters end in."""

IS_WHOLE = os.environ.get("STRONGROOM_TEST_WHOLE_SUITE") == "1"


def is_chosen(name: str) -> bool:
    """Whether a test runs here, by its name with or without parameters: see conftest.py."""
    function, _, parameters = name.partition("[")
    return IS_WHOLE or any(
        re.fullmatch(f"test_{chosen}", function) and (not parameters or parameters.endswith(end))
        for chosen, end in CHOSEN.items()
    )


for _section in suite.SECTIONS:
    globals().update(
        {name: test for name, test in suite.tests_of(_section).items() if is_chosen(name)}
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapter(project: Project) -> AsyncIterator[Adapter]:  # noqa: F811
    @asynccontextmanager
    async def opened(key: str = project.service_key, **more: Any) -> AsyncIterator[Any]:
        async with entered(
            strongroom.sync.connect_supabase(project.url, key, timeout=20, **more)
        ) as store:
            yield presented(store)

    @asynccontextmanager
    async def as_user(tenant_id: str, principal_id: str) -> AsyncIterator[client.Strongroom]:
        async with opened(
            project.anon_key, access_token=lambda: project.as_user(tenant_id, principal_id)
        ) as store:
            yield store

    async with opened() as store:
        yield Adapter(
            store=store,
            open_second=opened,
            open_replacing=lambda: opened(text_policy="replace"),
            as_user=as_user,
            visible_tenants=project.look,
        )
