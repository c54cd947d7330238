"""examples/chat-web in Chromium: two tenants in two contexts, against the stand-ins for Supabase."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tests.platform.postgrest import make_token, user_token
from tests.platform.realtime import Platform, platform
from tests.servers import Database, Templates, require
from tests.servers.databases import ROOT, dropped_after

EXAMPLE = ROOT / "examples" / "chat-web"
MODULES = ROOT / "node_modules"
SCREENSHOT = EXAMPLE / "screenshot.png"


def _run(*command: str | Path, **more: Any) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        check=False,
        text=True,
        timeout=240,
        **more,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def node() -> Path:
    found = require("node")
    if not (MODULES / "playwright-core").exists():
        from tests.servers.requirements import missing

        missing("playwright-core", "make setup (npm ci)")
    return found


class Agent:
    """What the host does in the background, one step at a time, as the browser's driver asks."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tokens: dict[str, int] = {}

    def call(self, function: str, *arguments: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self._database.host_url, autocommit=True) as connection:
            places = ", ".join(["%s"] * len(arguments))
            cursor = connection.execute(
                f"select to_json(r) from strongroom.{function}({places}) as r".encode(), arguments
            )
            return [row[0] for row in cursor.fetchall()]

    def start(self, tenant: str, talk: str, run: str) -> None:
        self.call("create_run", tenant, talk, run)
        (claimed,) = self.call("claim_run", tenant, run, "agent", 600)
        self._tokens[run] = claimed["claim_token"]

    def say(self, tenant: str, talk: str, name: str, text: str) -> None:
        self.call("append_messages", tenant, talk, json.dumps([_message(name, text)]))

    def delta(self, tenant: str, run: str, name: str, text: str) -> None:
        event = {"id": name, "kind": "text-delta", "data": {"text": text}}
        self.call("append_run_events", tenant, run, self._tokens[run], json.dumps([event]))

    def approval(self, tenant: str, run: str, name: str) -> None:
        with psycopg.connect(self._database.host_url, autocommit=True) as connection:
            connection.execute(
                "select strongroom.create_interaction(%s, %s, %s, 'approval', %s, 'ada',"
                " p_prompt => 'May I refund parcel 7?', p_tool_name => 'refund',"
                " p_input => '{\"parcel\": 7}')",
                [tenant, run, self._tokens[run], name],
            )
            connection.execute(
                "select strongroom.pause_run(%s, %s, %s, 'waiting_for_approval')",
                [tenant, run, self._tokens[run]],
            )

    def decision(self, tenant: str, name: str) -> str | None:
        (found,) = self.call("find_interaction", tenant, name)
        return str(found["decision"]) if found["decision"] else None

    def finish(self, tenant: str, run: str, name: str, text: str) -> None:
        (claimed,) = self.call("claim_run", tenant, run, "agent", 600)
        self.call(
            "finish_run", tenant, run, claimed["claim_token"], "completed",
            json.dumps([_message(name, text)]),
        )  # fmt: skip


def _message(name: str, text: str) -> dict[str, Any]:
    part = {"type": "text", "schema_version": 1, "text": text}
    return {"id": name, "role": "assistant", "parts": [part]}


@pytest.fixture(scope="module")
def page(
    node: Path, templates: Templates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Platform, Agent]]:
    """The built page, served beside the stand-ins, with what its driver may ask for."""
    assert node
    site = tmp_path_factory.mktemp("site")
    _run(
        MODULES / ".bin" / "esbuild", EXAMPLE / "main.ts", "--bundle", "--format=esm",
        "--target=es2022", f"--outfile={site / 'app.js'}",
    )  # fmt: skip
    shutil.copy(EXAMPLE / "index.html", site)
    with dropped_after(templates.copy("supabase")) as database:
        agent = Agent(database)
        running: list[Platform] = []

        async def control(request: Request) -> JSONResponse:
            name, arguments = request.path_params["name"], await request.json()
            if name == "drop_sockets":
                await run_in_threadpool(running[0].realtime.drop_sockets)
                return JSONResponse(None)
            return JSONResponse(await run_in_threadpool(getattr(agent, name), *arguments))

        async def config(request: Request) -> JSONResponse:
            return JSONResponse(
                {"url": str(request.base_url).rstrip("/"), "key": make_token("anon")}
            )

        routes = (
            Route("/control/{name}", control, methods=["POST"]),
            Route("/config.json", config),
            Mount("/", StaticFiles(directory=site, html=True)),
        )
        with platform(database, routes) as started:
            running.append(started)
            yield started, agent


def test_the_page_in_a_browser(page: tuple[Platform, Agent], node: Path, tmp_path: Path) -> None:
    started, agent = page
    for tenant in ("acme", "globex"):
        agent.call("create_tenant", tenant, tenant.title())
        agent.call("create_conversation", tenant, "ada", "talk", f"{tenant} parcels")
        agent.call("create_conversation", tenant, "bob", "his", f"{tenant} secret of bob")
        for number in range(1, 46):
            agent.say(tenant, "talk", f"old-{number}", f"{tenant} message {number}")
    settings = {
        "url": started.url,
        "chromium": str(require("chromium")),
        "tokens": {tenant: user_token(tenant, "ada") for tenant in ("acme", "globex")},
        "screenshot": str(tmp_path / "screenshot.png"),
    }
    _run(
        node, ROOT / "tests" / "web" / "drive.mjs", cwd=ROOT,
        env={**os.environ, "STRONGROOM_WEB": json.dumps(settings)},
    )  # fmt: skip
    assert (tmp_path / "screenshot.png").stat().st_size > 10_000
    assert SCREENSHOT.exists(), "a screenshot is kept beside the example"
    if os.environ.get("STRONGROOM_KEEP_SCREENSHOT"):
        shutil.copy(tmp_path / "screenshot.png", SCREENSHOT)


def test_the_types_are_those_of_the_schema(
    page: tuple[Platform, Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    started, _ = page
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import generate_types  # type: ignore[import-not-found]

    assert generate_types.generate(started.database.admin_url) == generate_types.TYPES.read_text()
    _run(MODULES / ".bin" / "tsc", "--project", EXAMPLE / "tsconfig.json")


def test_a_wrong_name_does_not_compile(node: Path, tmp_path: Path) -> None:
    """Else the types would check nothing."""
    assert node
    for file in EXAMPLE.glob("*.ts"):
        shutil.copy(file, tmp_path)
    shutil.copy(EXAMPLE / "tsconfig.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(MODULES)
    api = (tmp_path / "api.ts").read_text()
    (tmp_path / "api.ts").write_text(api.replace("p_resolved_by:", "p_resolver:"))
    done = subprocess.run(
        [str(MODULES / ".bin" / "tsc"), "--project", str(tmp_path / "tsconfig.json")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "p_resolver" in done.stdout
