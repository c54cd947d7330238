"""``strongroom import FILE``: recorded conversations into the database, as often as one likes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.file_import import FileImport, ImportReport
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import console, facts, printable, progress_bar, write_json
from strongroom.importing import TextPolicy, check_file


@command
async def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines in the chat-completions message form, or a pydantic-ai history."
        ),
    ],
    tenant: options.Tenant = None,
    create_tenant: Annotated[
        bool, typer.Option("--create-tenant", help="Create the tenant when it does not exist.")
    ] = False,
    conversation: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Import into this conversation. (Default: derived from the file.)",
            show_default=False,
        ),
    ] = None,
    owner: Annotated[
        str,
        typer.Option(metavar="PRINCIPAL", help="Whom a new conversation belongs to."),
    ] = "importer",
    title: Annotated[
        str | None,
        typer.Option(
            help="Title of a new conversation. (Default: the user's first words.)",
            show_default=False,
        ),
    ] = None,
    batch: Annotated[
        int, typer.Option(min=1, max=500, help="Messages that are written at a time.")
    ] = 100,
    text_policy: Annotated[
        TextPolicy,
        typer.Option(help="What to do with text that PostgreSQL cannot hold."),
    ] = "reject",
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Import a recorded conversation.

    The whole file is checked first, so a fault in it is named before anything is written. Importing
    it again inserts nothing; after an interruption, or when the file has grown, the rest is inserted.
    """
    tenant_id = require_tenant(tenant)
    with progress_bar(f"Checking {file.name}"):
        summary = check_file(file, conversation_id=conversation, text_policy=text_policy)
    async with open_store(url, pooler=pooler, timeout=timeout) as store:
        importer = FileImport(
            store,
            tenant_id=tenant_id,
            file=file,
            summary=summary,
            text_policy=text_policy,
            batch=batch,
        )
        await importer.ensure_tenant(create=create_tenant)
        await importer.ensure_conversation(owner_id=owner, title=title)
        with progress_bar(f"Importing {file.name}", total=summary.messages) as bar:
            report = await importer.run(bar.done)
    if as_json:
        write_json(report.to_json())
    else:
        _print_report(report)
    return Exit.FOUND if report.conflicts else Exit.OK


def _print_report(report: ImportReport) -> None:
    out = console()
    out.print(
        facts(
            {
                "file": f"{report.file} ({report.form})",
                "tenant": report.tenant_id + (" (created)" if report.tenant_created else ""),
                "conversation": report.conversation_id
                + (" (created)" if report.conversation_created else ""),
            }
        )
    )
    if report.conflicts:
        out.print(
            Text(f"{len(report.conflicts)} messages are in conflict with what is stored:", "red")
        )
        for conflict in report.conflicts:
            line = f"  message {conflict['number']} ({conflict['id']}): {conflict['conflict']}"
            out.print(Text(printable(line)), soft_wrap=True)
        out.print(Text("Nothing of theirs was changed. Another --conversation ID takes the file."))
    elif not report.inserted:
        newer = f", and {report.newer} newer ones" if report.newer else ""
        out.print(
            Text(f"Nothing to insert: all {report.messages} messages are there already{newer}.")
        )
    else:
        there = f"; {report.already_stored} were there already" if report.already_stored else ""
        out.print(
            Text(f"Inserted {report.inserted} of {report.messages} messages{there}.", style="green")
        )
