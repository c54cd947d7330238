"""Calling what embeds, in the thread that asks."""

from __future__ import annotations

import inspect
from typing import Any

from strongroom import blocking
from strongroom.errors import InvalidArgument
from strongroom.ingestion.calling import Embed, is_asynchronous


def call_embedder(call: Embed, texts: list[str], turn: blocking.Lock) -> Any:
    """Return what it makes of the texts.

    Raises:
        InvalidArgument: SR001, it is asynchronous.
    """
    if not is_asynchronous(call):
        with turn:
            made = call(texts)
        if not inspect.isawaitable(made):
            return made
        if inspect.iscoroutine(made):
            made.close()
    raise InvalidArgument(
        "the embedder is an async function",
        detail={"path": "embed"},
        hint="Give strongroom.sync a plain one, or use strongroom.ingestion.",
    )
