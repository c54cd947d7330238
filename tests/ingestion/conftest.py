"""Folders to ingest, and stores to ingest them into."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom import Strongroom
from strongroom.ingestion import Embedder, IngestReport, ingest_folder, make_embedder

WORDS = ("parcel", "refund", "invoice", "monday")


def by_words(texts: list[str]) -> list[list[float]]:
    """Embed by which of a few words are there."""
    return [[1.0, *(float(text.lower().count(word)) for word in WORDS)] for text in texts]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Markdown and text, and what is left out."""
    made = tmp_path / "docs"
    (made / "deep").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / "faq.md").write_text("# Delivery\n\nA parcel arrives on Monday.\n\n## Costs\n\nNone.\n")
    (made / "deep" / "refunds.txt").write_text("A refund takes a week.\n")
    (made / "empty.md").write_text("\n\n")
    (made / "logo.png").write_bytes(b"\x89PNG")
    (made / ".git" / "description.txt").write_text("hidden")
    return made


@pytest.fixture
async def memory() -> AsyncIterator[Strongroom]:
    """A store in memory, with the tenant."""
    async with strongroom.connect("memory:") as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        yield store


@pytest.fixture
async def embedder() -> Embedder:
    """An embedder of a few words."""
    return await make_embedder(by_words, name="by-words")


Ingest = Callable[..., Any]


@pytest.fixture
def ingest(memory: Strongroom, folder: Path) -> Ingest:
    """Ingest the folder into the collection ``docs``."""

    async def call(**options: Any) -> IngestReport:
        return await ingest_folder(
            memory, tenant_id="acme", path=folder, collection="docs", **options
        )

    return call
