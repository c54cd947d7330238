"""The tree of commands. Each command stands in a module of its own name."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated

import typer

from strongroom.cli import (
    agents,
    artifacts,
    audit,
    blobs,
    conversations,
    demo,
    diagnosis,
    endings,
    files,
    imports,
    ingest,
    migrate,
    runs,
    search,
    sessions,
    supabase,
    transcripts,
    usage,
    workers,
)
from strongroom.cli.exits import EPILOG

app = typer.Typer(
    name="strongroom",
    help="Everything an AI agent platform must remember, in your own PostgreSQL or Supabase.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("import")(imports.import_)
app.command("ingest")(ingest.ingest)
app.command("search")(search.search)
app.add_typer(conversations.app, name="conversations")
app.add_typer(runs.app, name="runs")
app.add_typer(agents.app, name="agents")
app.add_typer(transcripts.app, name="transcripts")
app.add_typer(sessions.app, name="sessions")
app.command("usage")(usage.usage)
app.add_typer(audit.app, name="audit")
app.add_typer(files.app, name="files")
app.add_typer(blobs.app, name="blobs")
app.add_typer(artifacts.app, name="artifacts")
app.command("worker")(workers.worker)
app.command("erase-principal")(endings.erase_principal)
app.command("purge-tenant")(endings.purge_tenant)
app.add_typer(endings.app, name="retention")
app.add_typer(migrate.app, name="migrate")
app.add_typer(supabase.app, name="supabase")
app.command("health")(diagnosis.health)
app.command("doctor")(diagnosis.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"strongroom {importlib.metadata.version('strongroom')}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Everything an AI agent platform must remember, in your own PostgreSQL or Supabase."""


def main() -> None:
    """Run the command that the arguments name, and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # Text that the terminal's encoding lacks is shown by its number instead of ending the run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app()
