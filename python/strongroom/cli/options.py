"""The options that many commands share, each defined once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

_DATABASE = "Database"


PoolerChoice = Literal["transaction"]

Url = Annotated[
    str | None,
    typer.Option(
        envvar="STRONGROOM_URL",
        help="postgresql://... of a role that is a member of strongroom_host,"
        " or embedded:///some/folder.",
        rich_help_panel=_DATABASE,
        show_default=False,
    ),
]
SchemaUrl = Annotated[
    str | None,
    typer.Option(
        envvar="STRONGROOM_SCHEMA_URL",
        help="postgresql://... of the role that owns the schema, where --url is another one.",
        rich_help_panel=_DATABASE,
        show_default=False,
    ),
]
Pooler = Annotated[
    PoolerChoice | None,
    typer.Option(
        envvar="STRONGROOM_POOLER",
        help="Say so behind PgBouncer or Supavisor in transaction mode.",
        rich_help_panel=_DATABASE,
        show_default=False,
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        envvar="STRONGROOM_TIMEOUT",
        min=0.1,
        help="Seconds that connecting, and each call, may take.",
        rich_help_panel=_DATABASE,
    ),
]
Tenant = Annotated[
    str | None,
    typer.Option(
        envvar="STRONGROOM_TENANT",
        help="The tenant whose data it is.",
        rich_help_panel=_DATABASE,
        show_default=False,
    ),
]
Blobs = Annotated[
    str | None,
    typer.Option(
        envvar="STRONGROOM_BLOBS",
        help="Where the bytes of files lie: file:///absolute/folder.",
        rich_help_panel=_DATABASE,
        show_default=False,
    ),
]
Embed = Annotated[
    str | None,
    typer.Option(
        help="What embeds: wordllama, minilm, or module:function."
        " (Default: what the collection is embedded with.)",
        rich_help_panel="Embeddings",
        show_default=False,
    ),
]
EmbedVersion = Annotated[
    str | None,
    typer.Option(
        help="The version of module:function; another one is another model.",
        rich_help_panel="Embeddings",
        show_default=False,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON document on standard output, and nothing else there;"
        ' an error is {"error": {...}}.',
        rich_help_panel="Output",
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel="Output"),
]
