"""``strongroom ingest PATH --collection NAME``: a folder of documents into knowledge, and again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import Bar, console, facts, printable, progress_bar, write_json
from strongroom.client import Strongroom
from strongroom.ingestion import (
    Embedder,
    IngestReport,
    Recipe,
    Splitter,
    Vanished,
    ingest_folder,
    load_embedder,
    spec_of,
)
from strongroom.ingestion.files import TextPolicy

_SHOWN = 20


@command
async def ingest(
    path: Annotated[Path, typer.Argument(help="A folder of Markdown and text, or one file.")],
    collection: Annotated[
        str,
        typer.Option("--collection", "-c", help="The collection's name; it is made if need be."),
    ],
    tenant: options.Tenant = None,
    create_tenant: Annotated[
        bool, typer.Option("--create-tenant", help="Create the tenant when it does not exist.")
    ] = False,
    embed: options.Embed = None,
    embed_version: options.EmbedVersion = None,
    change_model: Annotated[
        bool,
        typer.Option(
            "--change-model", help="Embed everything anew where the collection has another model."
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="What the names of the sources begin with. (Default: the folder's name.)",
            show_default=False,
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="Only files that match, such as '*.rst'. (Default: .md .markdown .mdx .txt .text)",
            show_default=False,
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="None that match, such as node_modules.", show_default=False),
    ] = None,
    size: Annotated[int, typer.Option(help="Characters of a chunk at most.")] = 1200,
    overlap: Annotated[int, typer.Option(help="Characters that it repeats.")] = 0,
    language: Annotated[
        str | None,
        typer.Option(
            help="Of a new collection, such as english. (Default: simple, which stems nothing.)",
            show_default=False,
        ),
    ] = None,
    source_type: Annotated[
        str, typer.Option(help="What the sources are, for filters.")
    ] = "document",
    subject: Annotated[
        list[str] | None,
        typer.Option(
            help="Who may see them: tenant, principal:ID, role:ID, conversation:ID."
            " (Default: new ones the tenant, others whoever might before.)",
            show_default=False,
        ),
    ] = None,
    uri_prefix: Annotated[
        str | None,
        typer.Option(
            help="Where they can be read: what comes before the path.", show_default=False
        ),
    ] = None,
    text_policy: Annotated[
        TextPolicy, typer.Option(help="What to do with text that PostgreSQL cannot hold.")
    ] = "reject",
    skip_unreadable: Annotated[
        bool,
        typer.Option("--skip-unreadable", help="Ingest the others, and name what cannot be read."),
    ] = False,
    vanished: Annotated[
        Vanished,
        typer.Option(help="Sources whose files are gone: a finding, kept, or (softly) deleted."),
    ] = "report",
    concurrency: Annotated[int, typer.Option(min=1, max=16, help="Files at a time.")] = 2,
    lease: Annotated[
        float, typer.Option(min=0.5, help="Seconds until the file of a killed process is free.")
    ] = 30.0,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Make a collection hold what a folder holds.

    Everything is read first, so a file that cannot be ingested is named before anything is written.
    What has not changed is skipped; after an interruption a repeat goes on with the rest.
    """
    tenant_id = require_tenant(tenant)
    splitter = Splitter(size, overlap)
    async with open_store(url, pooler=pooler, timeout=timeout) as store:
        if create_tenant and await store.tenants.find(tenant_id=tenant_id) is None:
            await store.tenants.create(tenant_id=tenant_id, name=tenant_id)
        embedder = await _embedder(store, tenant_id, collection, embed, embed_version)
        with progress_bar(f"Reading {path.name or path}") as bar:
            report = await ingest_folder(
                store,
                tenant_id=tenant_id,
                path=path,
                collection=collection,
                recipe=Recipe(
                    splitter=splitter,
                    embedder=embedder,
                    source_type=source_type,
                    auth_subjects=subject,
                    uri_prefix=uri_prefix,
                    text_policy=text_policy,
                ),
                name=name,
                include=include or (),
                exclude=exclude or (),
                language=language,
                change_model=change_model,
                skip_unreadable=skip_unreadable,
                vanished=vanished,
                concurrency=concurrency,
                lease_seconds=lease,
                on_progress=lambda done, total: _show(bar, path, done, total),
            )
    if as_json:
        write_json(report.to_json())
    else:
        _print_report(report)
    found = not report.is_complete or (bool(report.vanished) and vanished == "report")
    return Exit.FOUND if found else Exit.OK


async def _embedder(
    store: Strongroom, tenant_id: str, collection: str, embed: str | None, version: str | None
) -> Embedder | None:
    """The embedder that was asked for, else the one of the collection where a package has it."""
    if embed is None:
        page = await store.knowledge.list_collections(tenant_id=tenant_id, name=collection, limit=1)
        model = page.items[0].model if page.items else None
        embed = None if model is None else spec_of(model)
    return None if embed is None else await load_embedder(embed, version=version)


def _show(bar: Bar, path: Path, done: int, total: int) -> None:
    bar.label(f"Ingesting {path.name or path}")
    bar.total(total)
    bar.done(done)


def _print_report(report: IngestReport) -> None:
    out = console()
    out.print(
        facts(
            {
                "folder": f"{report.folder} ({report.files} files; {report.ignored} left out)",
                "tenant": report.tenant_id,
                "collection": report.collection
                + (" (created)" if report.collection_created else ""),
                "embedded with": report.embedding_model or "nothing: searched by words",
            }
        )
    )
    new, changed = len(report.inserted), len(report.replaced)
    if new or changed:
        out.print(
            Text(
                f"Ingested {new} new and {changed} changed files; {report.unchanged} unchanged.",
                "green",
            )
        )
    elif report.is_complete:
        out.print(Text(f"Nothing to ingest: all {report.unchanged} files are there already."))
    for said, names in (
        ("were deleted in the collection, and are new sources now", report.deleted_before),
        (
            "have no file any more"
            + (": deleted, restorably" if report.deleted else ": still found"),
            report.vanished,
        ),
    ):
        _print_names(f"{len(names)} sources {said}", names, "yellow")
    for said, problems in (("cannot be read", report.unreadable), ("failed", report.failed)):
        _print_names(
            f"{len(problems)} files {said}", [str(one["message"]) for one in problems], "red"
        )
    if report.vanished and not report.deleted:
        out.print(Text("Give --vanished delete to hide them, or --vanished keep."))


def _print_names(heading: str, names: list[str], style: str) -> None:
    if not names:
        return
    out = console()
    out.print(Text(f"{heading}:", style))
    for name in names[:_SHOWN]:
        out.print(Text(printable(f"  {name}")), soft_wrap=True)
    if len(names) > _SHOWN:
        out.print(Text(f"  and {len(names) - _SHOWN} more: --json names all"))
