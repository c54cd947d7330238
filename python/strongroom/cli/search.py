"""``strongroom search "words" --collection NAME``: what a collection has to say, with citations."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import console, one_line, printable, table, write_json
from strongroom.errors import InvalidArgument, NotFound
from strongroom.ingestion import cite, load_embedder, spec_of
from strongroom.models.context import Viewer
from strongroom.models.knowledge import Collection, SearchMode, SearchResult


@command
async def search(
    words: Annotated[str, typer.Argument(help="What to look for, in any words.")],
    collection: Annotated[str, typer.Option("--collection", "-c", help="The collection's name.")],
    mode: Annotated[
        SearchMode | None,
        typer.Option(
            help="(Default: hybrid where the collection has embeddings, else keyword.)",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="Hits.")] = 5,
    min_score: Annotated[
        float | None, typer.Option(help="Leave out what scores less.", show_default=False)
    ] = None,
    source_type: Annotated[
        list[str] | None, typer.Option(help="Only sources of this type.", show_default=False)
    ] = None,
    neighbours: Annotated[
        int, typer.Option(min=0, max=10, help="Chunks before and after each hit.")
    ] = 0,
    viewer: Annotated[
        str | None,
        typer.Option(help="Find what this principal may see, with --role.", show_default=False),
    ] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="A role of the viewer's.", show_default=False)
    ] = None,
    embed: options.Embed = None,
    embed_version: options.EmbedVersion = None,
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Search a collection. Exit code 1 when nothing is found."""
    tenant_id = require_tenant(tenant)
    if role and not viewer:
        raise InvalidArgument(
            "--role needs --viewer",
            detail={"path": "--role"},
            hint="Roles are a principal's: name it with --viewer.",
        )
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.knowledge.list_collections(tenant_id=tenant_id, name=collection, limit=1)
        if not page.items:
            raise NotFound(
                f"there is no collection {collection}",
                detail={"path": "--collection", "record": "collection"},
                hint="Make it with `strongroom ingest PATH --collection NAME`.",
            )
        found_in = page.items[0]
        wanted = mode or (
            "hybrid" if found_in.model and "vector_search" in store.capabilities else "keyword"
        )
        embedding = None
        if wanted != "keyword":
            embedding = await _embedding(found_in, words, embed, embed_version)
        found = await store.knowledge.search(
            tenant_id=tenant_id,
            collection_id=found_in.id,
            text=None if wanted == "vector" else words,
            embedding=embedding,
            mode=wanted,
            limit=limit,
            min_score=min_score,
            source_types=source_type,
            neighbours=neighbours,
            viewer=None
            if viewer is None
            else Viewer(principal_id=viewer, role_ids=tuple(role or ())),
        )
    if as_json:
        write_json(
            {
                "mode": wanted,
                "vector_method": found.vector_method,
                "items": [
                    {"citation": cite(hit).label, **hit.model_dump(mode="json")}
                    for hit in found.items
                ],
            }
        )
    else:
        _print_hits(found)
    return Exit.OK if found.items else Exit.FOUND


async def _embedding(
    collection: Collection, words: str, embed: str | None, version: str | None
) -> tuple[float, ...]:
    model = collection.model
    spec = embed or (None if model is None else spec_of(model))
    if model is None or spec is None:
        raise InvalidArgument(
            f"the collection {collection.name} has no embeddings"
            if model is None
            else f"the collection {collection.name} is embedded with {model.name},"
            " which no package of ours has",
            detail={"path": "--embed", "expected": model and model.name},
            hint="Search by words: --mode keyword."
            + ("" if model is None else " Or give --embed module:function."),
        )
    embedder = await load_embedder(spec, version=version)
    if embedder.model != model:
        raise InvalidArgument(
            f"the collection {collection.name} is embedded with {model.name} {model.version},"
            f" not with {embedder.model.name} {embedder.model.version}",
            detail={"path": "--embed", "expected": model.name, "actual": embedder.model.name},
            hint="Give --embed (and --embed-version) with that model, ingest again with"
            " --change-model, or search with --mode keyword.",
        )
    return (await embedder.embed([words]))[0]


def _print_hits(found: SearchResult) -> None:
    out = console()
    if not found.items:
        out.print(Text("Nothing found."))
        return
    shown = table("score", "where", "what")
    for hit in found.items:
        text = textwrap.shorten(one_line(hit.content), 300, placeholder=" ...")
        shown.add_row(Text(f"{hit.score:.3f}"), Text(printable(cite(hit).label)), Text(text))
    out.print(shown)
