"""``strongroom artifacts list | show``."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import (
    console,
    facts,
    moment,
    one_line,
    print_page,
    printable,
    table,
    write_json,
)
from strongroom.models.artifacts import Artifact, ArtifactVersion, ArtifactVersionHead

app = typer.Typer(help="Look into artifacts.", no_args_is_help=True)


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="Only this conversation's.", show_default=False)
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="Only this owner's.", show_default=False)
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(help="Only this name, and names below it.", show_default=False),
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Soft-deleted ones.")] = False,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of artifacts, newest first."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.artifacts.list(
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            conversation_id=conversation,
            owner_id=owner,
            name_prefix=prefix,
            deleted=deleted,
        )
    listing = table("Artifact", "Name", "Versions", "Title", "Changed (UTC)")
    for artifact in page.items:
        listing.add_row(
            Text(printable(artifact.id), overflow="fold"),
            Text(one_line(artifact.name), overflow="fold"),
            str(artifact.latest_version),
            one_line(artifact.title or "-"),
            moment(artifact.updated_at),
        )
    print_page(page, listing, empty=f"No artifacts of {printable(tenant_id)}.", as_json=as_json)
    return Exit.OK


@app.command("show")
@command
async def show(
    artifact_id: Annotated[str, typer.Argument(help="The artifact's id.")],
    version: Annotated[
        int | None,
        typer.Option(min=1, help="This version; the newest without.", show_default=False),
    ] = None,
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Show an artifact: one version's content, and where every version comes from."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        artifact = await store.artifacts.get(tenant_id=tenant_id, artifact_id=artifact_id)
        shown = await store.artifacts.get_version(
            tenant_id=tenant_id, artifact_id=artifact_id, version=version
        )
        versions: list[ArtifactVersionHead] = []
        cursor: str | None = None
        while True:
            page = await store.artifacts.list_versions(
                tenant_id=tenant_id, artifact_id=artifact_id, limit=500, after=cursor
            )
            versions += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
    if as_json:
        write_json({"artifact": artifact, "version": shown, "versions": versions})
    else:
        _print_artifact(artifact, shown, versions)
    return Exit.OK


def _print_artifact(
    artifact: Artifact, shown: ArtifactVersion, versions: list[ArtifactVersionHead]
) -> None:
    out = console()
    out.print(
        facts(
            {
                "artifact": artifact.id,
                "name": one_line(artifact.name),
                "title": one_line(artifact.title or "-"),
                "conversation": artifact.conversation_id or "-",
                "owner": artifact.owner_id or "-",
                "created": moment(artifact.created_at),
            }
        )
    )
    listing = table("Version", "Size", "Media type", "Run", "Made from", "Added (UTC)")
    for version in versions:
        source = version.source_artifact_id
        listing.add_row(
            str(version.version),
            f"{version.size_bytes:,}",
            one_line(version.media_type),
            printable(version.run_id or "-"),
            printable(f"{source} {version.source_version}") if source else "-",
            moment(version.created_at),
        )
    out.print(listing)
    out.print(Text(f"Version {shown.version}:", style="bold"))
    if shown.kind == "blob":
        out.print(Text(f"in the blob store: {printable(shown.blob_key or '')}"), soft_wrap=True)
    elif shown.kind == "json":
        written = json.dumps(shown.value, ensure_ascii=False, indent=2)
        out.print(Text(printable(written)), soft_wrap=True)
    else:
        out.print(Text(printable(shown.text or "")), soft_wrap=True)
