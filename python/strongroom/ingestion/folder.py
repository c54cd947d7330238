"""Ingesting a folder: everything looked at first, then what has changed, file by file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from strongroom.client import Strongroom
from strongroom.errors import InvalidArgument, MissingCapability
from strongroom.handlers import check_options
from strongroom.ingestion.files import Folder, FoundFile, find_files
from strongroom.ingestion.report import IngestReport, Recipe, Vanished, all_of, told
from strongroom.ingestion.source_writing import SourceWriter
from strongroom.ingestion.work import Task, run_tasks
from strongroom.models.knowledge import Source


async def ingest_folder(
    store: Strongroom,
    *,
    tenant_id: str,
    path: Path | str,
    collection: str,
    recipe: Recipe | None = None,
    name: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    language: str | None = None,
    change_model: bool = False,
    skip_unreadable: bool = False,
    vanished: Vanished = "report",
    concurrency: int = 2,
    lease_seconds: float = 30.0,
    on_progress: Callable[[int, int], None] | None = None,
) -> IngestReport:
    r"""Make a collection hold what a folder of Markdown and text holds.

    Every file is read and cut before anything is written, so what cannot be ingested is named first. A
    file whose bytes and recipe are those of its source is skipped. The others are jobs where the store
    has them: whatever is interrupted, a repeat goes on, and several processes share the work.

    Args:
        store: opened as a host.
        tenant_id: the tenant.
        path: a folder, or one file.
        collection: the collection's name; it is made when it does not exist.
        recipe: how files become sources.
        name: what the sources' external_ref begin with; None: the folder's own name.
        include: only files that match one of these patterns.
        exclude: none that match one of these.
        language: of a new collection; None is ``simple``.
        change_model: let the collection have the embedder's model from now on, and embed all anew.
        skip_unreadable: ingest the others, and report what cannot be read.
        vanished: what becomes of sources of this folder whose files are gone.
        concurrency: files at a time.
        lease_seconds: how long another process waits for a file of one that was killed.
        on_progress: is told how many of the files that need it are done, and how many these are.

    Returns:
        What happened.

    Raises:
        InvalidArgument: SR001 and below, a file cannot be read, or collection and embedder do not fit.
            Nothing was written.
        NotFound: SR010, there is no such tenant.
        MissingCapability: SR040, an embedder where the server has no vector search; an extra is missing.

    Example:
        >>> import asyncio, tempfile, strongroom
        >>> from pathlib import Path
        >>> from strongroom.ingestion import cite, ingest_folder
        >>> async def main(folder: Path) -> str:
        ...     async with strongroom.connect("memory:") as store:
        ...         await store.tenants.create(tenant_id="acme", name="Acme")
        ...         report = await ingest_folder(
        ...             store, tenant_id="acme", path=folder, collection="docs", name="docs"
        ...         )
        ...         found = await store.knowledge.search(
        ...             tenant_id="acme", collection_id=report.collection_id, text="parcels"
        ...         )
        ...         return cite(found.items[0]).label
        >>> with tempfile.TemporaryDirectory() as place:
        ...     _ = Path(place, "faq.md").write_text("# Delivery\n\nParcels arrive on Monday.\n")
        ...     asyncio.run(main(Path(place)))
        'docs/faq.md:1-3'
    """
    check_options(concurrency=concurrency, lease_seconds=lease_seconds, above_zero={})
    work = SourceWriter(store, tenant_id, Path(path), name, recipe or Recipe())
    report = IngestReport(str(path), tenant_id, collection)
    if work.recipe.embedder is not None and "vector_search" not in store.capabilities:
        raise MissingCapability(
            "embeddings need vector search, which this server does not have",
            detail={"capability": "vector_search"},
            hint="Install pgvector and run `strongroom migrate apply`, or ingest without --embed.",
        )
    existing = await work.find_collection(collection, language=language)
    work.check_model(existing, change=change_model)
    folder = await asyncio.to_thread(
        find_files, work.path, name=name, include=include, exclude=exclude
    )
    known = {} if existing is None else await work.sources(existing.id)
    changed = await _look_at_all(work, folder, known, report)
    if folder.problems and not skip_unreadable:
        raise all_of(folder.problems)
    made, report.collection_created = await work.ensure_collection(collection, existing, language)
    report.collection_id, report.embedding_model = made.id, made.embedding_model
    gone = {} if report.collection_created else await work.sources(made.id, deleted=True)
    tasks = [Task(file.ref, digest) for file, digest in changed]
    places = {file.ref: file for file, _ in changed}

    async def store_file(ref: str) -> None:
        file = places.get(ref) or work.file_of(ref)
        if file is not None:
            await work.store_file(made, file)

    failures = await run_tasks(
        store,
        tenant_id=tenant_id,
        queue=f"ingest-{work.recipe.digest(made.id, str(work.root), repr(made.model))[:32]}",
        tasks=tasks,
        work=store_file,
        concurrency=concurrency,
        lease_seconds=lease_seconds,
        on_progress=on_progress or (lambda _done, _total: None),
    )
    report.failed = [{"line": None, **failure} for failure in failures]
    failed = {failure["file"] for failure in failures}
    for file, _ in changed:
        if file.ref not in failed:
            (report.replaced if file.ref in known else report.inserted).append(file.ref)
    report.deleted_before = sorted({*report.inserted} & {*gone})
    if work.path.is_dir():
        kept = {file.ref for file in folder.found} | {one["file"] for one in report.unreadable}
        await work.end_vanished(report, known, kept, vanished)
    return report


async def _look_at_all(
    work: SourceWriter, folder: Folder, known: dict[str, Source], report: IngestReport
) -> list[tuple[FoundFile, str]]:
    """Read and cut every file; return those to store, with the digest of each."""
    changed: list[tuple[FoundFile, str]] = []
    unchanged = 0
    for file in folder.found:
        try:
            digest = await asyncio.to_thread(work.look_at, file, known.get(file.ref))
        except InvalidArgument as problem:
            folder.problems.append(problem)
            continue
        if digest is None:
            unchanged += 1
        else:
            changed.append((file, digest))
    report.files = len(changed) + unchanged + len(folder.problems)
    report.ignored, report.unchanged = folder.ignored, unchanged
    report.unreadable = [told(problem, "") for problem in folder.problems]
    return changed
