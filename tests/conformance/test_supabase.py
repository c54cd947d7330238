"""The suite over Supabase's API, with the real client.

tests/platform/postgrest.py stands in for the API. Against a real project (with the migrations, and nothing
else that matters) the same tests run when these are set: STRONGROOM_TEST_SUPABASE_URL, _SERVICE_KEY,
_ANON_KEY, _JWT_SECRET, and _DB_URL (the URL of its ``postgres``).
"""

import os
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from strongroom.conformance import *  # noqa: F403
from strongroom.conformance import Adapter
from tests.conformance.adapters import LookAt, Project, open_api_adapter
from tests.conformance.opened import Opened
from tests.platform.postgrest import postgrest
from tests.servers import Templates


@pytest.fixture(scope="session", params=["service-key-and-users"])
def project(templates: Templates) -> Iterator[Project]:
    if "STRONGROOM_TEST_SUPABASE_URL" in os.environ:
        given = {
            name: os.environ[f"STRONGROOM_TEST_SUPABASE_{name}"]
            for name in ("URL", "SERVICE_KEY", "ANON_KEY", "JWT_SECRET", "DB_URL")
        }
        yield Project(
            given["URL"],
            LookAt(owner_url=given["DB_URL"]),
            given["SERVICE_KEY"],
            given["ANON_KEY"],
            given["JWT_SECRET"],
        )
        return
    database = templates.copy("supabase")
    with postgrest(database.url(user="authenticator")) as api:
        yield Project(api.url, LookAt(database))
    database.drop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(project: Project) -> AsyncIterator[Opened]:
    opened = Opened(lambda: open_api_adapter(project))
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def adapter(request: pytest.FixtureRequest, opened: Opened) -> AsyncIterator[Adapter]:
    async for adapter in opened.lend(request):
        yield adapter
