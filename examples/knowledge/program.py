"""Ingest this project's own documents, and the specifications where they are; answer with citations.

Run it with `python -m examples.knowledge.program "May a tenant read another one's rows?"`.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import strongroom
from strongroom import SearchHit, Strongroom
from strongroom.ingestion import Embedder, Recipe, cite, ingest_folder, load_embedder, resolve

ROOT = Path(__file__).resolve().parents[2]
SPECIFICATIONS = ROOT.parent / "shared" / "spec"
"""Beside the checkout on some machines; the example does without it on others."""
QUESTION = "May a user of one tenant read the rows of another tenant?"


@dataclass(frozen=True)
class Passage:
    """What was found: where it stands, and what is written there."""

    file: Path
    hit: SearchHit
    text: str

    @property
    def label(self) -> str:
        return cite(self.hit).label


def folders() -> dict[str, Path]:
    """The folders to ingest, by the name that their sources begin with."""
    found = {"strongroom": ROOT, "spec": SPECIFICATIONS}
    return {name: path for name, path in found.items() if path.is_dir()}


async def ingest(store: Strongroom, embedder: Embedder | None) -> str:
    """Ingest what has changed; return the collection."""
    for name, path in folders().items():
        report = await ingest_folder(
            store,
            tenant_id="acme",
            path=path,
            collection="documents",
            recipe=Recipe(embedder=embedder),
            name=name,
            exclude=["node_modules", "out"],
            language="english",
        )
        print(f"{name}: {report.files} files, {len(report.inserted)} of them new")
    return report.collection_id


async def answer(
    store: Strongroom, collection_id: str, question: str, embedder: Embedder | None
) -> list[Passage]:
    """Return the passages that answer best, each read again where its citation leads."""
    found = await store.knowledge.search(
        tenant_id="acme",
        collection_id=collection_id,
        text=question,
        embedding=None if embedder is None else (await embedder.embed([question]))[0],
        limit=3,
    )
    passages = []
    for hit in found.items:
        name, _, inside = hit.external_ref.partition("/")
        folder = folders()[name]
        passages.append(Passage(folder / inside, hit, resolve(hit, folder)))
    return passages


async def main(question: str) -> None:
    async with strongroom.connect("embedded:", schema_mode="auto") as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        embedder = await load_embedder("wordllama")
        collection_id = await ingest(store, embedder)
        for passage in await answer(store, collection_id, question, embedder):
            print(f"\n[{passage.label}]\n{passage.text}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or QUESTION))
