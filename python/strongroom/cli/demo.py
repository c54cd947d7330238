"""``strongroom demo``: a server of its own, a recorded conversation, and every claim checked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import psycopg
import typer
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from strongroom.cli import demo_story as story_of
from strongroom.cli import options
from strongroom.cli.demo_knowledge import look_things_up
from strongroom.cli.demo_ledgers import keep_the_books
from strongroom.cli.demo_run import run_with_approval
from strongroom.cli.demo_story import Claim, Story
from strongroom.cli.exits import Exit, command
from strongroom.cli.migrate import apply_showing
from strongroom.cli.output import console, line_width, printable, progress_bar, write_json
from strongroom.cli.transcript import print_messages
from strongroom.cli.wrapping import wrap
from strongroom.connecting import connect
from strongroom.embedded import EmbeddedServer
from strongroom.importing import FileSummary
from strongroom.migrations import load_migrations
from strongroom.models.messages import Message
from strongroom.postgres import owner_connection
from strongroom.schema import SqlSchemaManager


class Narrator:
    """Tells what happens, on a console or to nobody."""

    def __init__(self, out: Console | None) -> None:
        """Speak to a console; None is silent."""
        self._out = out
        self._step = 0

    def say(self, text: str = "", style: str = "") -> None:
        """Print a line."""
        if self._out is None:
            return
        indent = text[: len(text) - len(text.lstrip())]
        width = line_width(self._out)
        for line in wrap(Text(printable(text[len(indent) :])), width and width - len(indent)):
            self._out.print(Text(indent).append(line.plain, style=style), soft_wrap=True)

    def show(self, made: RenderableType) -> None:
        """Print a table."""
        if self._out is not None:
            self._out.print(Padding(made, (1, 0, 0, 3)))

    def title(self, text: str) -> None:
        """Begin a step."""
        self._step += 1
        self.say()
        self.say(f"{self._step}  {text}", style="bold")

    def claim(self, claim: Claim) -> None:
        """Tell a claim and what was seen."""
        if self._out is None:
            return
        mark, style = ("✓", "green") if claim.holds else ("✗", "bold red")
        self._out.print(Text.assemble((f"   {mark} ", style), claim.text), soft_wrap=True)
        self.say(f"     {claim.found}", style="dim" if claim.holds else "red")

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Say what was done and how long it took."""
        start = time.perf_counter()
        yield
        self.say(f"   {what} ({time.perf_counter() - start:.1f} s)")

    def transcript(self, messages: list[Message]) -> None:
        """Print the conversation."""
        if self._out is not None:
            print_messages(self._out, messages)


@command
async def demo(
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the data in this folder. (Default: nothing is kept.)",
            show_default=False,
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> Exit:
    """Show what strongroom does, in a few seconds, on a PostgreSQL of its own.

    Needs `pip install 'strongroom[embedded]'`. Every claim is checked; exit code 1 when one is wrong.
    """
    start = time.perf_counter()
    narrator = Narrator(None if as_json else console())
    story = Story(narrator.claim)
    url = "embedded:" if keep is None else f"embedded://{quote(str(keep.expanduser().resolve()))}"
    narrator.say("strongroom: a conversation that cannot be lost", style="bold")
    narrator.title("A PostgreSQL of its own")
    server_start = time.perf_counter()
    async with await EmbeddedServer.start_async(url) as server:
        async with await psycopg.AsyncConnection.connect(server.admin_url) as connection:
            version = connection.info.parameter_status("server_version")
        narrator.say(
            f"   PostgreSQL {version} in {server.folder}"
            f" ({time.perf_counter() - server_start:.1f} s); no network port, no root, no container"
        )
        await _set_up(narrator, server)
        async with (
            connect(server.host_url, pool_max=4) as store,
            story_of.recorded_conversation() as recording,
        ):
            narrator.title("A recorded agent conversation goes in")
            with progress_bar("Importing") as bar:
                summary = await story_of.import_recorded(story, store, recording, bar.done)
            narrator.title("It comes out in pages")
            messages = await story_of.page_through(story, store, summary)
            narrator.title("A repeated append is harmless")
            await story_of.repeat_append(story, store, recording, messages)
            narrator.title("Nobody else sees it")
            await story_of.look_from_outside(story, server, store, summary.conversation_id)
            narrator.title("A run survives its worker, and asks before it acts")
            await run_with_approval(story, store)
            narrator.title("Documents are searched, each reader's own")
            narrator.show(await look_things_up(story, store))
            narrator.title("The books: usage by day, and an audit that shows what was changed")
            narrator.show(await keep_the_books(story, store))
    narrator.title(f"The conversation: {summary.title}")
    narrator.say()
    narrator.transcript(messages)
    seconds = time.perf_counter() - start
    _end(narrator, story, summary, seconds, keep)
    if as_json:
        write_json(
            {
                "ok": story.true,
                "server_version": version,
                "schema_version": load_migrations()[-1].version,
                "tenant_id": story_of.TENANT,
                "conversation_id": summary.conversation_id,
                "messages": len(messages),
                "parts": summary.parts,
                "claims": story.to_json(),
                "kept_in": keep and str(keep.expanduser().resolve()),
                "seconds": round(seconds, 2),
            }
        )
    return Exit.OK if story.true else Exit.FOUND


async def _set_up(narrator: Narrator, server: EmbeddedServer) -> None:
    narrator.title("The schema")
    await story_of.prepare_roles(server)
    manager = SqlSchemaManager(owner_connection(server.admin_url))
    before = await manager.current_version()
    names = ", ".join(f"{m.version:04d} {m.name}" for m in load_migrations())
    done = "are there already" if before == manager.target_version() else "applied"
    with narrator.timed(f"migrations {names} {done}"), progress_bar("Applying migrations") as bar:
        await apply_showing(manager, bar)
    await story_of.publish_grants(server)


def _end(
    narrator: Narrator, story: Story, summary: FileSummary, seconds: float, keep: Path | None
) -> None:
    held = sum(claim.holds for claim in story.claims)
    style = "bold green" if story.true else "bold red"
    narrator.say(
        f"{held} of {len(story.claims)} claims hold; {summary.messages} messages,"
        f" {sum(summary.parts.values())} parts, {seconds:.1f} s in all.",
        style=style,
    )
    narrator.say("What to try next", style="bold")
    if keep is None:
        narrator.say("   strongroom demo --keep ./memory      the same, and the data stays")
    else:
        url = f"embedded://{quote(str(keep.expanduser().resolve()))}"
        narrator.say(f"   export STRONGROOM_URL={url} STRONGROOM_TENANT={story_of.TENANT}")
        narrator.say("   strongroom conversations list")
        narrator.say(f"   strongroom conversations show {summary.conversation_id}")
    narrator.say("   strongroom import FILE --help        a recorded conversation of your own")
    narrator.say("   strongroom ingest FOLDER --help      documents of your own, then: search")
    narrator.say("   strongroom doctor --url postgresql://...  what is wrong with a database")
    narrator.say('   strongroom.connect("embedded:")      the same from Python')
