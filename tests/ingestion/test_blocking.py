"""What is ingested is found without an event loop, by words and by what they mean."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom.sync
from strongroom import InvalidArgument, NewChunk
from strongroom.sync.ingestion.embedding import load_embedder, make_embedder


def test_a_question_is_embedded_and_finds_what_means_the_same() -> None:
    embedder = load_embedder("wordllama")
    texts = ["The cat sleeps on the sofa.", "Invoices are paid within thirty days."]
    with strongroom.sync.connect("memory:") as store:
        store.tenants.create(tenant_id="acme", name="Acme")
        collection = store.knowledge.create_collection(
            tenant_id="acme", name="docs", embedding_model=embedder.model
        )
        chunks = [
            NewChunk(content=text, embedding=embedding)
            for text, embedding in zip(texts, embedder.embed(texts), strict=True)
        ]
        store.knowledge.replace_source(
            tenant_id="acme",
            collection_id=collection.id,
            external_ref="a.md",
            chunks=chunks,
            embedding_model=embedder.model,
        )
        (question,) = embedder.embed(["When do I have to pay a bill?"])
        found = store.knowledge.search(
            tenant_id="acme", collection_id=collection.id, embedding=question, limit=1
        )
    assert [hit.content for hit in found.items] == [texts[1]]


def test_an_async_embedder_is_refused_with_what_to_do() -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        raise AssertionError(texts)

    def returns_one(texts: list[str]) -> Any:
        return embed(texts)

    for call in (embed, returns_one):
        with pytest.raises(InvalidArgument, match="async function") as caught:
            make_embedder(call, name="mine")
        assert "plain" in str(caught.value.hint)
