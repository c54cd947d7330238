"""``strongroom worker MODULE:HANDLER``."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store
from strongroom.errors import InvalidArgument
from strongroom.worker import DurableWorker, Handler


@command
async def worker(
    handler: Annotated[str, typer.Argument(help="The handler, as MODULE:NAME.")],
    concurrency: Annotated[int, typer.Option(min=1, max=500, help="Runs at a time.")] = 4,
    lease: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a claim holds without a heartbeat.")
    ] = 30.0,
    poll: Annotated[
        float, typer.Option(min=0.05, help="The longest time between two looks for work.")
    ] = 2.0,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds that SIGTERM lets runs finish.")
    ] = 20.0,
    tenant: Annotated[
        str | None, typer.Option(help="Serve only this tenant.", show_default=False)
    ] = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="Leave when there is nothing to do.")
    ] = False,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
) -> Exit:
    """Run a handler for durable runs, until SIGTERM or Ctrl-C; then finish or give back."""
    found = load_handler(handler)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant) as store:
        working = DurableWorker(
            store=store,
            handler=found,
            concurrency=concurrency,
            lease_seconds=lease,
            poll_seconds=poll,
            grace_seconds=grace,
            tenant_id=tenant,
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, working.stop)
        showing = asyncio.create_task(_show_progress(working))
        try:
            if until_idle:
                await working.run_until_idle()
            else:
                await working.run_forever()
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
            sys.stderr.write(_line(working) + "\n")
    if working.unending:
        # The event loop would wait for them before it closes, and the process never end.
        sys.stderr.flush()
        os._exit(Exit.FOUND)
    return Exit.OK


def load_handler(name: str) -> Handler:
    """Return the handler that MODULE:NAME names; modules of the working folder are found.

    Raises:
        InvalidArgument: SR001, there is none.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise InvalidArgument(
            f"{name!r} is not MODULE:NAME",
            detail={"path": "handler"},
            hint="For example my_agents.support:handler.",
        )
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidArgument(
            f"the handler {name!r} cannot be loaded: {error}",
            detail={"path": "handler"},
            hint="Run the command in the folder of the module, or install its package.",
        ) from error
    handler: Handler = found
    return handler


async def _show_progress(working: DurableWorker) -> None:
    shown = ""
    while True:
        line = _line(working)
        if line != shown:
            sys.stderr.write(f"\r{line}" if sys.stderr.isatty() else f"{line}\n")
            sys.stderr.flush()
            shown = line
        await asyncio.sleep(1)


def _line(working: DurableWorker) -> str:
    counts = working.counts
    return (
        f"claimed {counts.claimed}  completed {counts.completed}  failed {counts.failed}"
        f"  cancelled {counts.cancelled}  paused {counts.paused}  retried {counts.retried}"
        f"  given back {counts.released}  lost {counts.lost}"
    )
