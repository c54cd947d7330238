"""The example: this project's documents answer questions about it, and every citation resolves."""

from __future__ import annotations

import pytest
from examples.knowledge.program import ROOT, answer, folders, ingest

import strongroom
from strongroom.ingestion import cite, load_embedder
from tests.servers import Database

QUESTIONS = {
    "What happens to the bytes of a file when its row is gone?": {
        "ARCHITECTURE.md",
        "README.md",
        "CHANGELOG.md",
        "sql/README.md",
        "sql/snapshot/reference.md",
    },
    "How do I add a migration?": {"CONTRIBUTING.md", "sql/README.md"},
    "Which verbs may a public function begin with?": {"sql/README.md"},
}


async def test_documents_answer_with_citations_that_resolve(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    async with strongroom.connect(database.host_url) as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        embedder = (
            await load_embedder("wordllama") if "vector_search" in store.capabilities else None
        )
        collection_id = await ingest(store, embedder)
        for question, files in QUESTIONS.items():
            passages = await answer(store, collection_id, question, embedder)
            assert len(passages) == 3
            for passage in passages:
                citation = cite(passage.hit)
                assert citation.first_line is not None
                assert citation.last_line is not None
                assert passage.label.endswith(f":{citation.first_line}-{citation.last_line}")
                lines = passage.file.read_text().splitlines()
                cited = "\n".join(lines[citation.first_line - 1 : citation.last_line])
                assert passage.text in cited
            of_ours = {
                str(passage.file.relative_to(ROOT))
                for passage in passages
                if passage.file.is_relative_to(ROOT)
            }
            assert of_ours & files, (question, [passage.label for passage in passages])
        capsys.readouterr()
        assert await ingest(store, embedder) == collection_id
        assert capsys.readouterr().out.count(" 0 of them new") == len(folders())
