"""Making sources of files: one collection, one source a file, and nothing over what others wrote."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from strongroom.client import Strongroom
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from strongroom.ingestion.files import FoundFile, read_text
from strongroom.ingestion.report import MARK, IngestReport, Recipe, Vanished
from strongroom.ingestion.splitting import title_of
from strongroom.models.knowledge import Collection, NewChunk, Source

MAX_CHUNKS = 5000
_PAGE = 500


@dataclass
class SourceWriter:
    """What one ingestion does with a collection and its sources.

    Attributes:
        path: the folder, or the one file.
        name: what refs begin with; None: the folder's own name.
    """

    store: Strongroom
    tenant_id: str
    path: Path
    name: str | None
    recipe: Recipe

    @property
    def root(self) -> Path:
        """The folder."""
        place = self.path.resolve()
        return place if place.is_dir() else place.parent

    @property
    def prefix(self) -> str:
        """What refs begin with, before the slash."""
        return self.name or self.root.name

    def file_of(self, ref: str) -> FoundFile | None:
        """A file that another process has planned; None when it is gone."""
        path = self.root / ref.removeprefix(f"{self.prefix}/")
        return FoundFile(ref, path) if path.is_file() else None

    async def find_collection(self, name: str, *, language: str | None) -> Collection | None:
        """Return the collection of this name; InvalidArgument where it is in another language."""
        page = await self.store.knowledge.list_collections(
            tenant_id=self.tenant_id, name=name, limit=1
        )
        if not page.items:
            await self.store.tenants.get(tenant_id=self.tenant_id)
            return None
        found = page.items[0]
        if language is not None and found.language != language:
            raise InvalidArgument(
                f"the collection {name} is in {found.language}, not in {language}",
                detail={"path": "language", "expected": found.language, "actual": language},
                hint="A collection's language never changes: leave --language out, or make another.",
            )
        return found

    def check_model(self, collection: Collection | None, *, change: bool) -> None:
        """Refuse an embedder that is not the collection's, unless that is to change."""
        embedder = self.recipe.embedder
        wanted = None if embedder is None else embedder.model
        if collection is None or collection.model == wanted or (change and wanted is not None):
            return
        have = _named(collection)
        raise InvalidArgument(
            f"the collection {collection.name} is embedded with {have}"
            + (f", not with {wanted.name} {wanted.version}" if wanted else ""),
            detail={"path": "embed", "expected": have, "actual": wanted and wanted.name},
            hint="Give --embed with that model"
            + (", or --change-model to embed everything anew." if wanted else "."),
        )

    async def ensure_collection(
        self, name: str, existing: Collection | None, language: str | None
    ) -> tuple[Collection, bool]:
        """Make sure of the collection and its model; return it, and whether it is new."""
        model = None if self.recipe.embedder is None else self.recipe.embedder.model
        if existing is None:
            try:
                return (
                    await self.store.knowledge.create_collection(
                        tenant_id=self.tenant_id,
                        name=name,
                        language=language or "simple",
                        embedding_model=model,
                    ),
                    True,
                )
            except AlreadyExists:  # another process was quicker
                existing = await self.find_collection(name, language=language)
                if existing is None:
                    raise
                self.check_model(existing, change=False)
        if existing.model != model:
            existing = await self.store.knowledge.update_collection(
                tenant_id=self.tenant_id,
                collection_id=existing.id,
                expected_version=existing.version,
                embedding_model=model,
            )
        return existing, False

    async def sources(self, collection_id: str, *, deleted: bool = False) -> dict[str, Source]:
        """Return the sources of this folder, by ref."""
        found = self._list(collection_id, deleted)
        return {
            source.external_ref: source
            async for source in found
            if source.external_ref.startswith(f"{self.prefix}/")
        }

    async def _list(self, collection_id: str, deleted: bool) -> AsyncIterator[Source]:
        after: str | None = None
        while True:
            page = await self.store.knowledge.list_sources(
                tenant_id=self.tenant_id,
                collection_id=collection_id,
                limit=_PAGE,
                after=after,
                deleted=deleted,
            )
            for source in page.items:
                yield source
            after = page.next_cursor
            if after is None:
                return

    def look_at(self, file: FoundFile, source: Source | None) -> str | None:
        """The digest of what is to be stored, or None where it is stored so."""
        read = read_text(file, text_policy=self.recipe.text_policy)
        digest = self._digest(read.sha256)
        if source is not None and self.recipe.is_up_to_date(source, digest):
            return None
        self._cut(file, read.text)
        return digest

    def _digest(self, sha256: str) -> str:
        return self.recipe.digest(sha256, self.recipe.text_policy)

    def _cut(self, file: FoundFile, text: str) -> list[NewChunk]:
        chunks = self.recipe.splitter.split(text, markdown=file.is_markdown)
        if len(chunks) > MAX_CHUNKS:
            raise LimitExceeded(
                f"{file.ref}: makes {len(chunks)} chunks; at most {MAX_CHUNKS} are allowed",
                detail={"file": file.ref, "limit": MAX_CHUNKS, "actual": len(chunks)},
                hint="Give a larger --size, or cut the file into several.",
            )
        return chunks

    async def store_file(self, collection: Collection, file: FoundFile) -> None:
        """Store what the file holds now."""
        read = await asyncio.to_thread(read_text, file, text_policy=self.recipe.text_policy)
        digest = self._digest(read.sha256)
        chunks = await asyncio.to_thread(self._cut, file, read.text)
        embedder = self.recipe.embedder
        title = title_of(chunks, file.path.name)
        source = await self._source(collection.id, file.ref)
        if source is not None and self.recipe.is_up_to_date(source, digest):
            return
        if embedder is not None and chunks:
            embeddings = await embedder.embed([_embedded(title, chunk) for chunk in chunks])
            chunks = [
                chunk.model_copy(update={"embedding": embedding})
                for chunk, embedding in zip(chunks, embeddings, strict=True)
            ]
        subjects = self.recipe.auth_subjects
        if subjects is None:
            subjects = ("tenant",) if source is None else source.auth_subjects
        inside = file.ref.removeprefix(f"{self.prefix}/")
        prefix = self.recipe.uri_prefix
        try:
            await self.store.knowledge.replace_source(
                tenant_id=self.tenant_id,
                collection_id=collection.id,
                external_ref=file.ref,
                chunks=chunks,
                source_type=self.recipe.source_type,
                title=title,
                uri=None if prefix is None else prefix + quote(inside),
                metadata={
                    **({} if source is None else source.metadata),
                    MARK: {"name": self.prefix},
                },
                auth_subjects=subjects,
                content_digest=digest,
                embedding_model=None if embedder is None or not chunks else embedder.model,
                expected_version=0 if source is None else source.version,
            )
        except VersionConflict:
            # Somebody wrote it meanwhile: another ingestion of the same file is as good as ours.
            source = await self._source(collection.id, file.ref)
            if source is None or not self.recipe.is_up_to_date(source, digest):
                raise

    async def _source(self, collection_id: str, ref: str) -> Source | None:
        page = await self.store.knowledge.list_sources(
            tenant_id=self.tenant_id, collection_id=collection_id, external_ref=ref, limit=1
        )
        return page.items[0] if page.items else None

    async def end_vanished(
        self, report: IngestReport, known: dict[str, Source], kept: set[str], vanished: Vanished
    ) -> None:
        """Name the sources of this folder whose files are gone, and delete them where asked to."""
        gone = [
            known[ref]
            for ref in sorted(known)
            if MARK in known[ref].metadata and ref not in kept and self.file_of(ref) is None
        ]
        report.vanished = [source.external_ref for source in gone]
        if vanished != "delete":
            return
        for source in gone:
            try:
                await self.store.knowledge.soft_delete_source(
                    tenant_id=self.tenant_id, source_id=source.id
                )
            except NotFound:  # somebody else has deleted it
                continue
        report.deleted = True


def _named(collection: Collection) -> str:
    model = collection.model
    return "nothing, for words alone" if model is None else f"{model.name} {model.version}"


def _embedded(title: str, chunk: NewChunk) -> str:
    """A chunk with what it stands under, which says what its words are about."""
    headings = chunk.locator.get("headings")
    above = headings if isinstance(headings, list) else [title]
    return f"{' / '.join(map(str, above))}\n\n{chunk.content}"
